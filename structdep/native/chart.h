// The charts of a few sentences: filled from the narrowest spans up, and, from the widest down, the derivatives.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "alternatives.h"
#include "frame.h"
#include "kernels.h"
#include "memory.h"
#include "preparation.h"
#include "program.h"
#include "readings.h"
#include "sums.h"

namespace structdep {

template <typename T>
class Chart {
 public:
  // Of sentences with up to so many nodes.
  Chart(const Frame& frame, int nodes, bool adds)
      : frame_(frame),
        nodes_(nodes),
        adds_(adds),
        values_(value_pool, frame.size() + frame.of_one_span()),
        products_(frame) {
    if (adds) std::fill_n(cells() + frame.size(), frame.of_one_span(), T{0});
  }

  const Frame& frame() const { return frame_; }
  T* cells() const { return values_.data(); }
  T* shares() {
    if (!shares_) shares_ = std::make_unique<Room<T>>(share_pool, frame_.share_size());
    return shares_->data();
  }

  void fill() {
    for (const Span& span : order()) {
      Nodes nodes = at(span);
      for (const Family& family : frame_.families) {
        if (family.members.empty()) {
          compute(family.items[0], nodes);
          continue;
        }
        for_each_side(family, nodes, [&](const Sums<T>& sums) {
          adds_ ? sums.template compute<true>(cells(), blocks_) : sums.template compute<false>(cells(), blocks_);
        });
      }
    }
  }

  // From the shares of goals to those of tables; those of items are zero again.
  void share() {
    const std::vector<Span> spans = order();
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      fill_passing(*span);
      Nodes nodes = at(*span);
      for (auto family = frame_.families.rbegin(); family != frame_.families.rend(); ++family) {
        if (frame_.reads)
          for (size_t m = family->first_made(); m < family->items.size(); ++m) read(family->items[m], nodes);
        if (family->members.empty()) {
          pull_back(family->items[0], nodes);
          continue;
        }
        for_each_side(*family, nodes, [&](const Sums<T>& sums) { sums.share(cells(), shares(), blocks_); });
      }
    }
  }

  // Whether an axiom gives a cell on this side.
  static bool is_axiom(const Item& item, int side, const Nodes& nodes) {
    return std::any_of(item.axioms.begin(), item.axioms.end(), [&](const Region& axiom) {
      return axiom.side == side && axiom.thirds(nodes).has(nodes.at[kThird]);
    });
  }

 private:
  static constexpr int kPieces = 16;  // of an item and a span: one for each side and axiom
  struct Piece {  // cells at equal distances
    ptrdiff_t first;
    int size;
    ptrdiff_t step;
  };
  struct Span {
    int start, end;
  };

  const std::vector<Item>& items() const { return frame_.program.items; }

  // Spans behind all those within them; if skewed, the first of each width. What begins alike is read together.
  std::vector<Span> order() const {
    std::vector<Span> result;
    for (int start = frame_.skewed ? 0 : nodes_ - 1; start >= 0; --start)
      for (int end = start; end < nodes_; ++end) result.push_back({start, end});
    return result;
  }

  Nodes at(Span span) {
    Nodes nodes;
    nodes.at[kLast] = nodes_ - 1, nodes.at[kStart] = span.start, nodes.at[kEnd] = span.end;
    blocks_ = frame_.skewed ? ((nodes_ - span.end) * frame_.sentences + kLanes - 1) / kLanes : 1;
    return nodes;
  }

  template <typename Visit>
  void for_each_side(const Family& family, const Nodes& nodes, Visit visit) const {
    const bool exterior = items()[family.items[0]].exterior;
    for (int side = exterior ? kBefore : kInner; side <= (exterior ? kBehind : kInner); ++side)
      visit(Sums<T>(frame_, family, side, nodes));
  }

  // Again the items that are read at their own span alone, which share their memory with those of other spans.
  void fill_passing(const Span& span) {
    Nodes nodes = at(span);
    for (size_t item = 0; item < items().size(); ++item)
      if (items()[item].passing) compute(item, nodes);
  }

  // The cells of an item in these regions. Returns in how many pieces they lie.
  int pieces(int number, const std::vector<Region>& regions, const Nodes& nodes, Piece* found) const {
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    int count = 0;
    for (const Region& region : regions)
      if (const Range thirds = region.thirds(nodes); thirds.size()) {
        const Home& home = frame_.home(number, region.side);
        const ptrdiff_t step = home.step(start, end);
        found[count++] = {home.at(start, end) + step * thirds.first, thirds.size(), step};
      }
    return count;
  }

  template <typename Visit>
  void for_each_cell(const Piece* pieces, int count, Visit visit) const {
    for (int m = 0; m < count; ++m)
      for (int n = 0; n < pieces[m].size; ++n)
        for (int block = 0; block < blocks_; ++block) visit(pieces[m].first + n * pieces[m].step + block * kLanes);
  }

  void compute(int number, Nodes& nodes) {
    const Item& item = items()[number];
    T* const cells = this->cells();
    Piece own[kPieces], given[kPieces];
    const int count = pieces(number, item.cells, nodes, own);
    if (!count) return;
    const auto clear = [&](ptrdiff_t at) { store(cells + at, all(-kInf<T>)); };
    if (!item.axioms.empty())
      if (const int axioms = pieces(number, item.axioms, nodes, given)) {
        for_each_cell(own, count, clear);
        return for_each_cell(given, axioms, [&](ptrdiff_t at) { store(cells + at, Vec<T>{}); });
      }
    products_.find(number, nodes, cells, nullptr);
    if (count == 1 && Alternatives<T>::fit(products_)) {
      const Alternatives<T> products(products_);
      if (products.place() == own[0].first && products.size() == own[0].size)
        return adds_ ? products.template compute<true>(cells, blocks_) : products.template compute<false>(cells, blocks_);
    }
    if (!(item.assigned && products_.size() == 1 && is_whole(own, count))) for_each_cell(own, count, clear);
    if (item.assigned) return run_all<Work::kAssign>();
    adds_ ? add_up(own, count) : run_all<Work::kMax>();
  }

  // Whether the only product has a value in all of these cells.
  bool is_whole(const Piece* own, int count) const {
    const Loops<T>& loops = *products_.begin();
    return count == 1 && own->size == 1 + (loops.alone ? loops.to - loops.from : loops.last[0] - loops.first[0]);
  }

  // The sum of its products. Sums of exponentials, relative to values so far, are 0 before and after.
  void add_up(const Piece* own, int count) {
    T *const cells = this->cells(), *const sum = cells + frame_.size() - own[0].first;
    run_all<Work::kSum>(sum);
    for_each_cell(own, count, [&](ptrdiff_t at) {
      add(cells + at, log2(load(sum + at)));
      store(sum + at, Vec<T>{});
    });
  }

  void pull_back(int number, Nodes& nodes) {
    const Item& item = items()[number];
    Piece own[kPieces], given[kPieces];
    const int count = pieces(number, item.cells, nodes, own);
    if (!count) return;
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    const Home& home = frame_.home(number, item.cells[0].side);
    T* const shares = this->shares() + home.share_at(start, end) - home.at(start, end);
    if (!home.has_outside && are_zero(shares, own, count)) return;
    if (item.axioms.empty() || !pieces(number, item.axioms, nodes, given)) share_out(number, nodes, shares);
    for_each_cell(own, count, [&](ptrdiff_t at) {
      if (home.has_outside) keep_outside(load(shares + at), cells() + at, home.to_outside);
      store(shares + at, Vec<T>{});
    });
  }

  bool are_zero(const T* shares, const Piece* own, int count) const {
    Mask<T> any{};
    for_each_cell(own, count, [&](ptrdiff_t at) { any |= load(shares + at) != 0; });
    return none<T>(any);
  }

  // What is outside of a cell: the logarithm of its derivative, relative to its value.
  static STRUCTDEP_INLINE void keep_outside(Vec<T> share, T* value, ptrdiff_t to_outside) {
    const Vec<T> outside = log2(share) - load(value);
    store(value + to_outside, share > 0 ? outside : all(-kInf<T>));
  }

  // Adds to the derivatives by an item what comes from products that read it with what is narrower, and to those by that.
  void read(int number, Nodes& nodes) {
    if (items()[number].readings.empty()) return;
    products_.find_readings(number, nodes, cells(), shares());
    if (!products_.size()) return;
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    const Home& home = frame_.home(number, kInner);
    const Lanes lanes{frame_.sentences, (nodes_ - (end - start)) * frame_.sentences};
    for (Loops<T>& loops : products_) {
      loops.share = shares() + home.share_at(start, end) - home.at(start, end);
      share_by_reading(loops, lanes);
    }
  }

  void share_out(int number, Nodes& nodes, const T* shares) {
    products_.find(number, nodes, cells(), this->shares());
    if (Alternatives<T>::fit(products_)) return Alternatives<T>(products_).share(cells(), shares, blocks_);
    return items()[number].assigned ? run_all<Work::kPass>(nullptr, shares) : run_all<Work::kShare>(nullptr, shares);
  }

  template <Work kWork>
  void run_all(T* sum = nullptr, const T* shares = nullptr) {
    for (Loops<T>& loops : products_) {
      loops.sum = sum, loops.share = shares;
      execute<kWork>(loops, blocks_);
    }
  }

  const Frame& frame_;
  const int nodes_;
  const bool adds_;
  Room<T> values_;
  std::unique_ptr<Room<T>> shares_;
  Preparation<T> products_;  // of the current item at its span
  int blocks_ = 1;
};

}  // namespace structdep
