// A batch of sentences, as it is given: what is asked of it, and where the answers go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "program.h"

namespace structdep {

enum class Query { kValue, kExpectedCounts, kBest, kSample };

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

// A sentence is parsed once; it has one result, or several samples.
template <typename T>
struct Batch {
  const Program& program;
  bool adds;  // whether trees are summed, not compared
  Query query;
  int words;  // that there is room for
  std::vector<Given<T>> scores;
  Given<int32_t> lengths;
  Given<uint32_t> seeds;
  T* values;
  std::vector<T*> counts;                     // of scores in trees
  int32_t* heads = nullptr;                   // asked for instead
  std::vector<char> has_arcs;                 // of each table, whether the scores are in it that tell of heads
  std::vector<std::vector<int64_t>> results;  // of each sentence

  // Whether sums can be of real numbers: of trees by their arcs alone, as of these it is known about how large they are, and
  // where it takes long to find them.
  bool has_reals() const {
    const auto is_large = [](const Item& item) { return item.positions == 3; };
    return has_one_arc_a_word() && program.scores.size() == 1 && std::any_of(program.items.begin(), program.items.end(), is_large);
  }
  // Whether each tree has one arc to each word, so that the same number may be taken off the scores of all arcs to a word.
  bool has_one_arc_a_word() const {
    return adds && program.each_tree_once && std::any_of(program.scores.begin(), program.scores.end(), [](const Score& score) { return score.arcs; });
  }
  T unit() const { return adds ? T(1.4426950408889634) : T(1); }  // of scores in charts, whose logarithms have base 2
  size_t nodes() const { return words + 1 + program.last; }
  int length(int sentence) const { return std::clamp(lengths.data[lengths.rows.of(results[sentence][0])], 0, words); }
  size_t size_of(int score) const {
    size_t size = 1;
    for (int m = 0; m < program.scores[score].positions; ++m) size *= nodes();
    return size;
  }
  uint64_t seed(int64_t result) const {
    const uint32_t* const words = seeds.data + 2 * seeds.rows.of(result);
    return uint64_t{words[0]} << 32 | words[1];
  }

  // Counts the scores of a table, at these nodes, in a result's derivation.
  void count(int64_t result, const Factor& table, const Nodes& at) const {
    if (!heads) {
      size_t place = 0;
      for (const Position& p : table.positions) place = place * nodes() + p.of(at);
      for (const int score : program.tables[table.number].scores) counts[score][size_of(score) * result + place] += 1;
    } else if (has_arcs[table.number]) {
      if (const int word = table.positions[1].of(at); word > 0 && word <= words) heads[words * result + word - 1] = table.positions[0].of(at);
    }
  }
};

}  // namespace structdep
