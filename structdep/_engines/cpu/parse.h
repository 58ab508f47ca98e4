// What `parse.cc` does, which takes long to compile, for each kind of numbers.
#pragma once

#include "batch.h"
#include "frames.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace structdep {

// Values and uses of a batch by these rules. Throws std::bad_alloc.
template <typename T>
void parse(ffi::ThreadPool& pool, const Rules& rules, const Batch<T>& batch);

}  // namespace structdep
