// A batch of sentences, as it is given: what is wanted of it, and from where to where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "program.h"

namespace structdep {

// Whether it is among them.
template <typename Number>
bool has(const std::vector<Number>& numbers, size_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

enum Want { kValue, kUses, kBest, kSample };

// The rows of an array whose axes in front are those of the results, or have size 1, as `jax.vmap` leaves them.
class Rows {
 public:
  Rows() = default;
  Rows(const std::vector<int64_t>& axes, const std::vector<int64_t>& results) : results_(results), steps_(axes.size()) {
    size_ = 1;
    for (size_t m = axes.size(); m-- > 0;) {
      steps_[m] = axes[m] == 1 ? 0 : size_;
      size_ *= axes[m];
    }
  }

  int64_t size() const { return size_; }
  int64_t of(int64_t result) const {
    int64_t row = 0;
    for (size_t m = results_.size(); m-- > 0; result /= results_[m]) row += steps_[m] * (result % results_[m]);
    return row;
  }

 private:
  std::vector<int64_t> results_, steps_;
  int64_t size_ = 0;
};

template <typename T>
struct Given {  // an array of the batch
  const T* data = nullptr;
  Rows rows;
};

// A sentence is what is parsed once; results are those of sentences, or of several draws from each.
template <typename T>
struct Batch {
  const Program& program;
  bool adds;
  Want want;
  int words;  // that there is room for
  std::vector<Given<T>> scores;
  Given<int32_t> lengths;
  Given<uint32_t> seeds;
  T* values;
  std::vector<T*> uses;        // of scores
  int32_t* heads = nullptr;    // wanted instead
  std::vector<char> has_arcs;  // of each table, whether the scores are in it that tell of heads
  std::vector<std::vector<int64_t>> results;  // of each sentence

  // Whether sums can be of real numbers: of trees by their arcs alone, as of these it is known about how large they are, and
  // where it takes long to find them.
  bool has_reals() const {
    const auto is_large = [](const Item& item) { return item.positions == 3; };
    return adds && program.unambiguous && program.scores.size() == 1 && program.scores[0].arcs &&
           std::any_of(program.items.begin(), program.items.end(), is_large);
  }
  size_t nodes() const { return words + 1 + program.last; }
  int length(int sentence) const { return std::clamp(lengths.data[lengths.rows.of(results[sentence][0])], 0, words); }
  size_t size_of(int score) const {
    size_t size = 1;
    for (int m = 0; m < program.scores[score].positions; ++m) size *= nodes();
    return size;
  }
};

}  // namespace structdep
