// Sentences of a batch that are parsed together, from their scores to their values and uses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "batch.h"
#include "goal.h"
#include "potentials.h"
#include "trace.h"

namespace structdep {

// Sentences that lie beside each other, from their scores to their values and uses.
template <typename T>
class Group {
 public:
  Group(const Batch<T>& batch, const Frame& frame, const int* sentences, int count)
      : batch_(batch), frame_(frame), sentences_(sentences), count_(count), nodes_(longest()) {}

  // Returns whether results are as they should be: of real numbers, some may be too small, or too large.
  bool parse(Numbers numbers) {
    numbers_ = numbers;
    if (is_real() && !find_potentials()) return false;
    chart_.emplace(frame_, nodes_, numbers), goal_.emplace(*chart_), traces_.emplace(*chart_, numbers);
    read();
    chart_->fill();
    for (int lane = 0; lane < count_; ++lane)
      if (!find_value(lane)) return give_up();
    for (int lane = 0; lane < count_; ++lane) finish(lane);
    end_traces();
    if (batch_.want == kUses) {
      chart_->share();
      if (is_real() && !chart_->is_exact()) return give_up();
      for (int lane = 0; lane < count_; ++lane) write_shares(lane);
      clear_shares();
    }
    return true;
  }

 private:
  // Bits of real numbers. Where the sum of all trees is so far from 1, it may well be that parts of it are too small.
  static constexpr T kFar = std::numeric_limits<T>::max_exponent / 2;
  // Where it is so much smaller than that of all choices of heads, parts of it are of some account: of 2^28 products, each too
  // small to be normal, and times choices of heads for the other words, they are 2^-20 of it at most.
  static constexpr T kSmall = std::numeric_limits<T>::min_exponent + 48;
  // Where there are so many such choices that are alike, it is that small in general.
  static constexpr T kMany = -kSmall * 3 / 4;

  bool is_real() const { return numbers_ == kReals; }

  bool give_up() {
    chart_->clear();
    return false;
  }

  // Returns whether sums can be expected to be neither too small nor too large.
  bool find_potentials() {
    bool result = true;
    for (int lane = 0; lane < count_; ++lane) {
      const int last = frame_.program.scores[0].last(batch_.length(sentences_[lane]));
      potentials_[lane] = potentials(scores(0, lane), batch_.nodes(), last, nodes_, unit_);
      result &= batch_.want == kUses || !(potentials_[lane].left > kMany);
    }
    return result;
  }

  int longest() const {  // nodes of the longest sentence
    int words = 0;
    for (int lane = 0; lane < count_; ++lane) words = std::max(words, batch_.length(sentences_[lane]));
    return words + 1 + frame_.program.last;
  }

  const T* scores(int number, int lane) const {
    const Given<T>& own = batch_.scores[number];
    return own.data + batch_.size_of(number) * own.rows.of(batch_.results[sentences_[lane]][0]);
  }

  struct Piece {  // cells that differ in the last position alone
    int one, other;          // the positions before
    int first, size;         // its nodes
    int start;               // where that of the first is in the scores of a sentence
    ptrdiff_t place, step;   // and in the table's box, and from one to the next there
  };

  // Calls visit(piece) for all cells of a table.
  template <typename Visit>
  void for_each_piece(const Table& table, const Box& box, Visit visit) const {
    const int nodes = nodes_, all = batch_.nodes();
    const ptrdiff_t step = box.weight[table.positions - 1];
    if (table.positions == 1) return visit(Piece{0, 0, 0, nodes, 0, box.base, step});
    for (int one = 0; one < nodes; ++one) {
      const ptrdiff_t row = box.base + box.weight[0] * one;
      if (table.positions == 2) {
        visit(Piece{one, 0, 0, nodes, one * all, row, step});
        continue;
      }
      for (int other = frame_.skewed ? one : 0; other < nodes; ++other) {
        const int third = frame_.skewed ? other : 0;
        visit(Piece{one, other, third, nodes - third, (one * all + other) * all + third,
                    row + box.weight[1] * other + step * third, step});
      }
    }
  }

  void read() {
    for (size_t number = 0; number < frame_.program.tables.size(); ++number) {
      const Table& table = frame_.program.tables[number];
      for (const int& score : table.scores) read(table, frame_.tables[number].value, score, &score != &table.scores[0]);
    }
  }

  // A score of all sentences, row by row, as they lie beside each other: -inf where there is none.
  void read(const Table& table, const Box& box, int number, bool adds) {
    const Score& score = frame_.program.scores[number];
    const T* from[kLanes];
    int last[kLanes];
    for (int lane = 0; lane < count_; ++lane)
      from[lane] = scores(number, lane), last[lane] = score.last(batch_.length(sentences_[lane]));
    for_each_piece(table, box, [&](const Piece& piece) {
      for (int lane = 0; lane < count_; ++lane)
        unsound_[lane] |= !read(score, lane, from[lane] + piece.start, last[lane], piece, adds);
    });
    if (frame_.skewed && table.positions == 3)  // not all was read
      for (int lane = 0; lane < count_; ++lane) unsound_[lane] |= !are_numbers(from[lane], last[lane] + 1);
  }

  // Of a row of arcs that begins at this dependent.
  const T* exponentials(const T* from, int size, int lane, int first) {
    row_.assign(from, from + size), row_.resize(size + kLanes);
    const T* const potential = potentials_[lane].taken.data() + first;
    for (int n = 0; n < size; n += kLanes) store(&row_[n], exp2(load(&row_[n]) * unit_ - load(potential + n)));
    return row_.data();
  }

  // Those of a sentence up to its last node. Returns whether all are numbers.
  bool read(const Score& score, int lane, const T* row, int last, const Piece& piece, bool adds) {
    T* const to = chart_->cells() + piece.place + lane;
    const int there = piece.one > last || piece.other > last ? 0 : std::clamp(last + 1 - piece.first, 0, piece.size);
    const ptrdiff_t step = piece.step;
    is_real() ? copy(exponentials(row, there, lane, piece.first), there, T{1}, adds, to, step)
              : copy(row, there, unit_, adds, to, step);
    const T none = nothing<T>(numbers_);
    for (int n = there, size = piece.size; n < size; ++n) to[n * step] = none;
    if (!score.arcs) return are_numbers(row, row + there);
    if (!there) return true;
    to[0] = to[piece.one * step] = none;
    return are_numbers(row + 1, row + piece.one) & are_numbers(row + piece.one + 1, row + there);
  }

  // Apart, so that the unit is no number that what is written might change.
  static void copy(const T* from, int size, T unit, bool adds, T* to, ptrdiff_t step) {
    if (!adds)
      for (int n = 0; n < size; ++n) to[n * step] = unit * from[n];
    else
      for (int n = 0; n < size; ++n) to[n * step] += unit * from[n];
  }

  // Scores of three positions, of so many nodes.
  bool are_numbers(const T* from, size_t nodes) const {
    const size_t all = batch_.nodes();
    if (nodes == all) return are_numbers(from, from + all * all * all);
    bool result = true;
    for (size_t one = 0; one < nodes; ++one)
      for (size_t other = 0; other < nodes; ++other) {
        const T* const row = from + (one * all + other) * all;
        result &= are_numbers(row, row + nodes);
      }
    return result;
  }

  static bool are_numbers(const T* from, const T* to) {
    bool result = true;
    if (to - from > 8 * kLanes) {
      Mask<T> unknown{};
      for (; to - from >= kLanes; from += kLanes) unknown |= ~(load(from) < kInf<T>);
      result = none<T>(unknown);
    }
    for (; from < to; ++from) result &= *from < kInf<T>;
    return result;
  }

  // Returns whether it is exact, as far as can be told.
  bool find_value(int lane) {
    goal_->turn_to(lane, batch_.length(sentences_[lane]));
    const T value = values_[lane] = goal_->value(numbers_);
    if (!is_real() || unsound_[lane]) return true;
    const T size = std::log2(value);
    return batch_.want == kUses ? std::abs(size) < kFar : value < kInf<T> && size - potentials_[lane].left > kSmall;
  }

  void finish(int lane) {
    const int length = batch_.length(sentences_[lane]);
    const T whole = values_[lane];
    const T value = unsound_[lane] ? std::numeric_limits<T>::quiet_NaN() : is_real() ? logarithm(lane, whole) : whole;
    for (const int64_t result : batch_.results[sentences_[lane]]) {
      batch_.values[result] = value / unit_;
      for (size_t score = 0; score < batch_.uses.size(); ++score)
        std::fill_n(batch_.uses[score] + batch_.size_of(score) * result, batch_.size_of(score), T{0});
      if (batch_.heads) {
        int32_t* const heads = batch_.heads + batch_.words * result;
        std::fill_n(heads, batch_.words, 0);
        std::fill_n(heads, length, std::isfinite(value) ? 0 : -1);
      }
      if (std::isfinite(value) && batch_.want >= kBest) trace(result, lane, length);
    }
    if (!std::isfinite(value) || batch_.want != kUses) return;
    goal_->turn_to(lane, length);
    goal_->share(numbers_, whole, chart_->shares() + lane);
  }

  // Of a sum of real numbers, and what was taken off them.
  T logarithm(int lane, T sum) const {
    const std::vector<T>& taken = potentials_[lane].taken;
    return std::log2(sum) + std::accumulate(taken.begin(), taken.end(), 0.0);
  }

  void trace(int64_t result, int lane, int length) {
    std::optional<Random> random;
    if (batch_.want == kSample) {
      const uint32_t* const seed = batch_.seeds.data + 2 * batch_.seeds.rows.of(result);
      random.emplace(uint64_t{seed[0]} << 32 | seed[1]);
    }
    if (traces_->are_many()) end_traces();
    traces_->begin(result, lane, length, random, use_);
  }

  void end_traces() { traces_->end(use_); }

  // A derivation's use of a table, at these nodes.
  struct Use {
    const Batch<T>& batch;
    STRUCTDEP_INLINE void operator()(int64_t result, const Factor& factor, const Nodes& nodes) const {
      if (batch.heads) {
        if (!batch.has_arcs[factor.number]) return;
        if (const int word = factor.places[1].of(nodes); word > 0 && word <= batch.words)
          batch.heads[batch.words * result + word - 1] = factor.places[0].of(nodes);
        return;
      }
      size_t place = 0;
      for (const Place& p : factor.places) place = place * batch.nodes() + p.of(nodes);
      for (int score : batch.program.tables[factor.number].scores) batch.uses[score][batch.size_of(score) * result + place] += 1;
    }
  };

  void write_shares(int lane) {
    if (unsound_[lane]) return;
    for (size_t number = 0; number < frame_.program.tables.size(); ++number) {
      const Table& table = frame_.program.tables[number];
      const Home& home = frame_.tables[number];
      const T* const from = chart_->shares() + lane;
      const T* const own = chart_->cells() + lane + home.value.base - home.share.base;
      for (int score : table.scores)
        for (const int64_t result : batch_.results[sentences_[lane]]) {
          T* const to = batch_.uses[score] + batch_.size_of(score) * result;
          for_each_piece(table, home.share, [&](const Piece& piece) {
            const T *const share = from + piece.place, *const value = own + piece.place;
            for (int n = 0; n < piece.size; ++n)
              to[piece.start + n] += share[n * piece.step] * (is_real() ? value[n * piece.step] : T{1});
          });
        }
    }
  }

  void clear_shares() {
    for (size_t number = 0; number < frame_.program.tables.size(); ++number)
      for_each_piece(frame_.program.tables[number], frame_.tables[number].share,
                     [&](const Piece& piece) {
                       for (int n = 0; n < piece.size; ++n)
                         std::fill_n(chart_->shares() + piece.place + n * piece.step, frame_.sentences, T{0});
                     });
  }

  const Batch<T>& batch_;
  const Frame& frame_;
  const int* sentences_;
  const int count_, nodes_;
  Numbers numbers_ = kScores;
  Potentials<T> potentials_[kLanes];  // of real numbers
  std::vector<T> row_;                // what is read
  const T unit_ = batch_.adds ? T(1.4426950408889634) : T(1);  // of scores in charts: logarithms of what is added have base 2
  std::optional<Chart<T>> chart_;
  std::optional<Goal<T>> goal_;
  std::optional<Traces<T>> traces_;
  const Use use_{batch_};
  T values_[kLanes];
  bool unsound_[kLanes] = {};
};

}  // namespace structdep
