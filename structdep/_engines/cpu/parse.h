// What `parse.cc` does, which takes long to compile, for each kind of numbers.
#pragma once

#include "batch.h"
#include "loaded_program.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace structdep {

// The answers of a batch's query. Throws std::bad_alloc.
template <typename T>
void parse(ffi::ThreadPool& pool, const LoadedProgram& program, const Batch<T>& batch);

}  // namespace structdep
