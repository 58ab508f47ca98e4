// The arrays of a call, as XLA hands them over: their shapes and numbers are checked before they are read.
#pragma once

#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "batch.h"
#include "program.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace structdep {

struct BadArray : std::runtime_error {
  explicit BadArray(const std::string& what) : runtime_error("arrays that do not fit a chart's program: " + what) {}
};

class Arrays {
 public:
  Arrays(const ffi::RemainingArgs& arguments, const ffi::RemainingRets& results)
      : arguments_(arguments), results_(results), batch_(result(0).dimensions()) {}

  ffi::AnyBuffer argument(size_t number) const {
    const auto found = arguments_.get<ffi::AnyBuffer>(number);
    if (!found) throw BadArray("there are too few");
    return *found;
  }
  ffi::AnyBuffer result(size_t number) const {
    auto found = results_.get<ffi::AnyBuffer>(number);
    if (!found) throw BadArray("there are too few");
    return **found;
  }

  // Throws BadArray unless they are those of a program: scores, lengths, and seeds of samples; values, and expected counts or heads.
  void check(const Program& program, Query query, int arc) const {
    const int scores = program.scores.size(), counts = query == Query::kValue ? 0 : arc < 0 ? scores : 1;
    if (query < Query::kValue || query > Query::kSample || arc < -1 || arc >= scores || (arc >= 0 && (query < Query::kBest || !program.scores[arc].arcs)))
      throw BadArray("the query is unknown");
    if (arguments_.size() != scores + size_t{1} + (query == Query::kSample) || results_.size() != size_t{1} + counts)
      throw BadArray("there are " + std::to_string(arguments_.size()) + " and " + std::to_string(results_.size()));
    const ffi::DataType numbers = argument(0).element_type();
    const ffi::AnyBuffer::Dimensions axes = argument(0).dimensions();
    const int64_t nodes = axes.size() ? axes.back() : 0;
    if ((numbers != ffi::DataType::F32 && numbers != ffi::DataType::F64) || nodes <= program.last || nodes > kMostNodes)
      throw BadArray("scores");
    check("values", result(0), numbers, 0, 0, true);
    for (int score = 0; score < scores; ++score) {
      if (std::pow(nodes, program.scores[score].positions) > INT_MAX) throw BadArray("scores, too many of a sentence");
      check("scores", argument(score), numbers, program.scores[score].positions, nodes, false);
      if (counts && arc < 0) check("counts", result(1 + score), numbers, program.scores[score].positions, nodes, true);
    }
    check("lengths", argument(scores), ffi::DataType::S32, 0, 0, false);
    if (query == Query::kSample) check("seeds", argument(scores + 1), ffi::DataType::U32, 1, 2, false);
    if (arc >= 0) check("heads", result(1), ffi::DataType::S32, 1, nodes - 1 - program.last, true);
  }

 private:
  static constexpr int64_t kMostNodes = 1 << 20;

  // The axes of an array are those of the batch, then `own` axes of `size`. In arguments, an axis of the batch may have size 1.
  void check(const char* name, const ffi::AnyBuffer& array, ffi::DataType numbers, size_t own, int64_t size, bool is_result) const {
    const ffi::AnyBuffer::Dimensions axes = array.dimensions();
    bool fits = array.element_type() == numbers && axes.size() == batch_.size() + own;
    for (size_t m = 0; fits && m < axes.size(); ++m)
      fits = m < batch_.size() ? axes[m] == batch_[m] || (axes[m] == 1 && !is_result) : axes[m] == size;
    if (!fits) throw BadArray(name);
  }

  const ffi::RemainingArgs& arguments_;
  const ffi::RemainingRets& results_;
  const ffi::AnyBuffer::Dimensions batch_;
};

}  // namespace structdep
