// The charts of a few sentences: filled from the narrowest spans up, and differentiated from the widest down.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "inner_loop.h"
#include "memory.h"

namespace structdep {

// The cells of an item at a span, in pieces of cells at equal distances: one for each side.
class SpanCells {
 public:
  // Those of regions, at most one for each side.
  SpanCells(const Layout& layout, int item, const Region* regions, size_t count, const Nodes& nodes) : vectors_(layout.vectors(nodes)) {
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    for (const Region* region = regions; region != regions + count; ++region)
      if (const Range thirds = region->thirds(nodes); thirds.size()) {
        const Storage& own = layout.item(item, region->side);
        const ptrdiff_t step = own.third_step(start, end);
        pieces_[count_++] = {own.at(start, end) + step * thirds.first, thirds.size(), step};
      }
  }

  bool is_empty() const { return !count_; }
  ptrdiff_t first() const { return pieces_[0].first; }

  // Calls visit(address) for all vectors.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (int m = 0; m < count_; ++m)
      for (int n = 0; n < pieces_[m].size; ++n)
        for (int v = 0; v < vectors_; ++v) visit(pieces_[m].first + n * pieces_[m].step + v * kLanes);
  }

 private:
  struct Piece {
    ptrdiff_t first;
    int size;
    ptrdiff_t step;
  };

  const int vectors_;  // of each cell
  int count_ = 0;
  Piece pieces_[kSides];
};

template <typename S>
class Chart {
 public:
  using T = typename S::Number;

  // A chart of sentences with at most `nodes` nodes, with memory for derivatives if `differentiated`.
  Chart(const Layout& layout, int nodes, bool differentiated)
      : layout_(layout), items_(layout.program.items), nodes_(nodes), values_(layout.size(), S::kReal && differentiated) {
    cells_.values = values_.data();
    if (S::kLogs) cells_.sums = sums_.emplace(layout.span_size(), true).data();
    if (differentiated) cells_.derivatives = derivatives_.emplace(layout.size(), true).data();
  }

  const Layout& layout() const { return layout_; }
  T* values() const { return cells_.values; }
  T* derivatives() const { return cells_.derivatives; }

  void fill() {
    for (const Span& span : order()) {
      Nodes nodes = at(span);
      for (size_t item = 0; item < items_.size(); ++item) compute(item, nodes);
    }
  }

  // From the derivatives by the factors of goals to those by tables.
  void differentiate() {
    const std::vector<Span> spans = order();
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      Nodes nodes = at(*span);
      for (size_t item = items_.size(); item-- > 0;) differentiate(item, nodes);
    }
  }

  // Whether all products of real numbers that are too small to be normal are of no account: what the value's logarithm has of
  // each is at most its own size, times numbers of items and derivatives by these.
  bool is_exact() const {
    constexpr int kSpare = 34;  // bits of precision, and of how many products there are
    constexpr double kMost = 1 / (std::numeric_limits<T>::min() * double{1ull << kSpare});
    double sizes = 0, derivatives = 0;
    for (int lane = 0; lane < kLanes; ++lane) sizes += all_values_[lane], derivatives += all_derivatives_[lane];
    return sizes * derivatives < kMost;
  }

 private:
  struct Span {
    int start, end;
  };

  // Spans behind all those within them; in skewed layouts, the first of each width.
  std::vector<Span> order() const {
    std::vector<Span> result;
    for (int start = layout_.skewed ? 0 : nodes_ - 1; start >= 0; --start)
      for (int end = start; end < nodes_; ++end) result.push_back({start, end});
    return result;
  }

  Nodes at(Span span) {
    Nodes nodes;
    nodes.at[kLast] = nodes_ - 1, nodes.at[kStart] = span.start, nodes.at[kEnd] = span.end;
    vectors_ = layout_.vectors(nodes);
    return nodes;
  }

  SpanCells cells_of(int number, const Nodes& nodes) const {
    return {layout_, number, items_[number].cells.data(), items_[number].cells.size(), nodes};
  }
  SpanCells cells_of(int number, const Region& axiom, const Nodes& nodes) const { return {layout_, number, &axiom, 1, nodes}; }

  static bool has_axiom(const Item& item, const Nodes& nodes) {
    return std::any_of(item.axioms.begin(), item.axioms.end(), [&](const Region& axiom) { return axiom.thirds(nodes).size(); });
  }

  // Sets all of them to one number.
  void set(const SpanCells& own, T x) const {
    own.for_each([&](ptrdiff_t at) { store(values() + at, all(x)); });
  }

  void compute(int number, Nodes& nodes) const {
    const Item& item = items_[number];
    const SpanCells own = cells_of(number, nodes);
    if (own.is_empty()) return;
    set(own, S::kZero);
    if (has_axiom(item, nodes)) {
      for (const Region& axiom : item.axioms) set(cells_of(number, axiom, nodes), S::kOne);
      return;
    }
    Cells<T> cells = cells_;
    if (S::kLogs) cells.sums -= own.first();
    item.assigned ? execute_all<Work::kAssign>(number, nodes, cells) : execute_all<Work::kAdd>(number, nodes, cells);
    if (S::kLogs && !item.assigned) add_logarithms(own, cells.sums);
  }

  // Sums of exponentials become part of the values that they are relative to, and are 0 again.
  void add_logarithms(const SpanCells& own, T* sums) const {
    own.for_each([&](ptrdiff_t at) {
      add(values() + at, log2(load(sums + at)));
      store(sums + at, Vec<T>{});
    });
  }

  void differentiate(int number, Nodes& nodes) {
    const SpanCells own = cells_of(number, nodes);
    Mask<T> any{};
    own.for_each([&](ptrdiff_t at) {
      const Vec<T> derivative = load(derivatives() + at);
      any |= derivative != 0;
      if (S::kReal) all_derivatives_ += derivative, all_values_ += load(values() + at);
    });
    if (none<T>(any) || has_axiom(items_[number], nodes)) return;
    items_[number].assigned ? execute_all<Work::kDifferentiateOne>(number, nodes, cells_)
                            : execute_all<Work::kDifferentiateSum>(number, nodes, cells_);
  }

  template <Work kWork>
  void execute_all(int number, Nodes& nodes, const Cells<T>& cells) const {
    for_each_two_loops(layout_, number, nodes, [&](const TwoLoops& loops) { execute<kWork, S>(loops, cells, vectors_); });
  }

  const Layout& layout_;
  const std::vector<Item>& items_;
  const int nodes_;
  const Room<T> values_;
  std::optional<Room<T>> sums_, derivatives_;
  Cells<T> cells_{};
  Vec<T> all_values_{}, all_derivatives_{};  // the sums of all, where numbers are real
  int vectors_ = 1;                          // of the span that is computed
};

}  // namespace structdep
