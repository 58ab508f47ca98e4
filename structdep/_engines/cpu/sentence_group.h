// Sentences of a batch that share a chart, from their scores to the answers of a query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

#include "goal.h"
#include "score_tables.h"
#include "traceback.h"

namespace structdep {

template <typename S>
class SentenceGroup {
 public:
  using T = typename S::Number;

  SentenceGroup(const Batch<T>& batch, const Layout& layout, const int* sentences, int count)
      : batch_(batch),
        layout_(layout),
        sentences_(sentences),
        count_(count),
        nodes_(batch.length(*std::max_element(sentences, sentences + count, [&](int a, int b) { return batch.length(a) < batch.length(b); })) +
               1 + layout.program.last),
        tables_(batch, layout, sentences, count, nodes_) {}

  // Returns whether answers are as they should be: of real numbers, some may be too small, or too large.
  bool run() {
    if ((S::kReal || (batch_.query != Query::kValue && batch_.has_one_arc_a_word())) && !scale()) return false;
    const bool counts = batch_.query == Query::kExpectedCounts;
    Chart<S> chart(layout_, nodes_, counts);
    Goal<S> goal(chart);
    Traceback<S> traceback(chart, batch_);
    tables_.read(chart.values(), scalings_);
    chart.fill();
    for (int s = 0; s < count_; ++s) {
      goal.turn_to(s, words(s));
      values_[s] = goal.value(), valid_[s] = tables_.are_valid(s);
      if (S::kReal && valid_[s] && !is_exact(s)) return false;
    }
    for (int s = 0; s < count_; ++s) {
      const T value = valid_[s] ? score(s) : std::numeric_limits<T>::quiet_NaN();
      for (const int64_t result : results(s)) write(result, s, value, traceback);
      if (!std::isfinite(value) || !counts) continue;
      goal.turn_to(s, words(s));
      goal.differentiate(values_[s], chart.derivatives() + s);
    }
    traceback.finish();
    if (!counts) return true;
    chart.differentiate();
    if (S::kReal && !chart.is_exact()) return false;
    for (int s = 0; s < count_; ++s)
      if (valid_[s]) tables_.write_counts(s, chart.values(), chart.derivatives());
    return true;
  }

 private:
  // Bits of real numbers. Where the sum of all trees is so far from 1, it may well be that parts of it are too small.
  static constexpr T kFar = std::numeric_limits<T>::max_exponent / 2;
  // Where it is so much smaller than that of all choices of heads, parts of it are of some account: of 2^28 products, each too
  // small to be normal, and times choices of heads for the other words, they are 2^-20 of it at most.
  static constexpr T kSmall = std::numeric_limits<T>::min_exponent + 48;
  // Where the logarithm of the sum of all choices of heads is larger, the sum of trees is usually smaller than kSmall allows.
  static constexpr T kMany = -kSmall * 3 / 4;

  int words(int s) const { return batch_.length(sentences_[s]); }
  const std::vector<int64_t>& results(int s) const { return batch_.results[sentences_[s]]; }

  // Takes off the scores of arcs what all trees have. Returns whether sums can be expected to be neither too small nor too large.
  bool scale() {
    const auto& scores = batch_.program.scores;
    const int arcs = std::find_if(scores.begin(), scores.end(), [](const Score& score) { return score.arcs; }) - scores.begin();
    bool result = true;
    for (int s = 0; s < count_; ++s) {
      const T* const from = tables_.scores(s, arcs);
      const int last = tables_.last(s, arcs);
      if (S::kLogs) scalings_[s] = ArcScaling<T>(from, batch_.nodes(), last, nodes_);
      if (S::kReal) scalings_[s] = ArcScaling<T>(from, batch_.nodes(), last, nodes_, batch_.unit());
      result &= !S::kReal || batch_.query == Query::kExpectedCounts || !(scalings_[s].left > kMany);
    }
    return result;
  }

  // Whether the value is, as far as can be told.
  bool is_exact(int s) const {
    const T size = std::log2(values_[s]);
    return batch_.query == Query::kExpectedCounts ? std::abs(size) < kFar : values_[s] < kInf<T> && size - scalings_[s].left > kSmall;
  }

  // The logarithm of the sum of all trees, or the score of the best one, with what was taken off the scores of arcs.
  T score(int s) const {
    const auto total = [](const std::vector<T>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); };
    const double value = S::kReal ? std::log2(values_[s]) : values_[s];
    return (value + total(scalings_[s].taken)) / batch_.unit() + total(scalings_[s].best);
  }

  void write(int64_t result, int s, T value, Traceback<S>& traceback) const {
    const bool is_finite = std::isfinite(value);
    batch_.values[result] = value;
    for (size_t score = 0; score < batch_.counts.size(); ++score)
      std::fill_n(batch_.counts[score] + batch_.size_of(score) * result, batch_.size_of(score), T{0});
    if (batch_.heads) {
      int32_t* const heads = batch_.heads + batch_.words * result;
      std::fill_n(heads, batch_.words, 0);
      std::fill_n(heads, words(s), is_finite ? 0 : -1);
    }
    if (!is_finite || batch_.query < Query::kBest) return;
    std::optional<Random> random;
    if (batch_.query == Query::kSample) random.emplace(batch_.seed(result));
    traceback.begin(result, s, words(s), random);
  }

  const Batch<T>& batch_;
  const Layout& layout_;
  const int* const sentences_;
  const int count_, nodes_;
  ScoreTables<S> tables_;
  ArcScaling<T> scalings_[kLanes];  // of real numbers
  T values_[kLanes];
  bool valid_[kLanes];  // whether all scores are numbers
};

}  // namespace structdep
