// The tables of a chart: scores are read from a batch, and their expected counts written to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "arc_scaling.h"
#include "batch.h"
#include "layout.h"
#include "semirings.h"

namespace structdep {

// The score tables of some sentences of a batch, for charts of `nodes` nodes.
template <typename S>
class ScoreTables {
 public:
  using T = typename S::Number;

  ScoreTables(const Batch<T>& batch, const Layout& layout, const int* sentences, int count, int nodes)
      : batch_(batch), layout_(layout), sentences_(sentences), count_(count), nodes_(nodes) {}

  int last(int sentence, int score) const { return batch_.program.scores[score].last(batch_.length(sentences_[sentence])); }
  const T* scores(int sentence, int score) const {
    const Given<T>& own = batch_.scores[score];
    return own.data + batch_.size_of(score) * own.rows.of(batch_.results[sentences_[sentence]][0]);
  }

  // Whether all scores of a sentence are numbers, or -inf.
  bool are_valid(int sentence) const {
    bool result = true;
    for (size_t score = 0; score < batch_.scores.size(); ++score) {
      const auto [positions, _, arcs] = batch_.program.scores[score];
      const size_t all = batch_.nodes(), last = this->last(sentence, score);
      for (size_t one = 0; one <= (positions > 2 ? last : 0); ++one)
        for (size_t other = 0; other <= (positions > 1 ? last : 0); ++other) {
          const T* const row = scores(sentence, score) + (one * all + other) * all;
          result &= arcs ? are_numbers(row + 1, row + other) & are_numbers(row + other + 1, row + last + 1) : are_numbers(row, row + last + 1);
        }
    }
    return result;
  }

  // Sets all tables: real numbers are scaled so.
  void read(T* values, const ArcScaling<T>* scalings) {
    for (size_t number = 0; number < layout_.tables.size(); ++number) {
      const Table& table = layout_.program.tables[number];
      for (const int& score : table.scores) {
        const T* from[kLanes];
        int last[kLanes];
        for (int s = 0; s < count_; ++s) from[s] = scores(s, score), last[s] = this->last(s, score);
        for_each_row(number, [&](const TableRow& row) {
          for (int s = 0; s < count_; ++s)
            read(score, row, from[s] + row.from, last[s], &score != &table.scores[0], values + row.to + s, scalings[s]);
        });
      }
    }
  }

  // Adds the expected counts of a sentence to its results, by what derivatives there are by tables.
  void write_counts(int sentence, const T* values, const T* derivatives) const {
    for (size_t number = 0; number < layout_.tables.size(); ++number)
      for (const int score : layout_.program.tables[number].scores)
        for (const int64_t result : batch_.results[sentences_[sentence]])
          for_each_row(number, [&](const TableRow& row) {
            T* const to = batch_.counts[score] + batch_.size_of(score) * result + row.from;
            const T *const derivative = derivatives + row.to + sentence, *const value = values + row.to + sentence;
            for (int n = 0; n < row.size; ++n) to[n] += derivative[n * row.step] * (S::kReal ? value[n * row.step] : T{1});
          });
  }

 private:
  struct TableRow {      // cells that differ in the last position alone
    int one, other;      // the nodes of the positions before
    int first, size;     // nodes of the last
    ptrdiff_t from;      // the first of them in an array of scores
    ptrdiff_t to, step;  // and in a chart, and from one to the next there
  };

  // Calls visit(row) for all rows that a table has.
  template <typename Visit>
  void for_each_row(int number, Visit visit) const {
    const Table& table = layout_.program.tables[number];
    const Storage& own = layout_.tables[number];
    const int all = batch_.nodes(), before = table.positions - 1;
    const bool halved = layout_.skewed && before == 2;  // it has positions in order alone
    const ptrdiff_t step = own.steps[before], other_step = before > 0 ? own.steps[before - 1] : 0;
    for (int one = 0; one < (before > 1 ? nodes_ : 1); ++one)
      for (int other = halved ? one : 0; other < (before > 0 ? nodes_ : 1); ++other) {
        const int first = halved ? other : 0;
        const ptrdiff_t to = own.base + (before > 1 ? own.steps[0] * one : 0) + other_step * other + step * first;
        visit(TableRow{one, other, first, nodes_ - first, (ptrdiff_t{one} * all + other) * all + first, to, step});
      }
  }

  // Sets a row of a sentence, or adds to it: nodes behind the last have no scores.
  void read(int score, const TableRow& row, const T* from, int last, bool adds, T* to, const ArcScaling<T>& scaling) {
    const int size = row.one > last || row.other > last ? 0 : std::clamp(last + 1 - row.first, 0, row.size);
    const T* const best = batch_.program.scores[score].arcs && !scaling.best.empty() ? scaling.best.data() + row.first : nullptr;
    if (S::kReal)
      copy(exponentials(from, size, best, scaling.taken.data() + row.first), nullptr, size, 1, adds, to, row.step);
    else
      copy(from, best, size, batch_.unit(), adds, to, row.step);
    for (int n = size; n < row.size; ++n) to[n * row.step] = S::kZero;
    if (batch_.program.scores[score].arcs) to[0] = to[row.other * row.step] = S::kZero;
  }

  const T* exponentials(const T* from, int size, const T* best, const T* taken) {
    row_.resize(size + kLanes);
    copy(from, best, size, batch_.unit(), false, row_.data(), 1);
    for (int n = 0; n < size; n += kLanes) store(&row_[n], exp2(load(&row_[n]) - load(taken + n)));
    return row_.data();
  }

  // Numbers, without those of `less` if there are any. Apart, so that the unit is no number that what is written might change.
  static void copy(const T* from, const T* less, int size, T unit, bool adds, T* to, ptrdiff_t step) {
    if (less && !adds)
      for (int n = 0; n < size; ++n) to[n * step] = unit * (from[n] - less[n]);
    else if (less)
      for (int n = 0; n < size; ++n) to[n * step] += unit * (from[n] - less[n]);
    else if (!adds)
      for (int n = 0; n < size; ++n) to[n * step] = unit * from[n];
    else
      for (int n = 0; n < size; ++n) to[n * step] += unit * from[n];
  }

  static bool are_numbers(const T* from, const T* to) {
    Integer<T> wrong = 0;
    for (; from < to; ++from) wrong |= !(*from < kInf<T>);
    return !wrong;
  }

  const Batch<T>& batch_;
  const Layout& layout_;
  const int* const sentences_;
  const int count_, nodes_;
  std::vector<T> row_;
};

}  // namespace structdep
