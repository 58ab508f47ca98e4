// The charts of a few sentences: filled span by span, and, from the widest span down, the derivatives.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels.h"
#include "memory.h"
#include "program.h"

namespace structdep {

template <typename T>
class Chart {
 public:
  Chart(const Program& program, int nodes, bool adds) : program_(program), nodes_(nodes), adds_(adds) {
    spans_[0].resize(nodes * nodes), spans_[1].resize(nodes * nodes);
    int inner = 0, outer = 0;
    for (int start = 0; start < nodes; ++start)
      for (int end = start; end < nodes; ++end) {
        spans_[0][start * nodes + end] = inner, inner += end - start + 1;
        spans_[1][start * nodes + end] = outer, outer += nodes - end + start + 1;
      }
    size_t size = 0;
    for (const Table& table : program.tables) {
      tables_.push_back(size);
      size += table.positions == 1 ? nodes : table.positions == 2 ? nodes * nodes : nodes * nodes * nodes;
    }
    for (const Item& item : program.items) {
      items_.push_back(size);
      size += item.positions == 2 ? nodes * nodes : item.exterior ? outer : inner;
    }
    size_ = size;
    static Pool values, shares;  // a block of shares is zero again when it is given back
    share_pool_ = &shares;
    values_ = std::make_unique<Room<Vec<T>>>(values, size + 3 * (nodes + 2));
    scratch_ = cells() + size;
  }

  int nodes() const { return nodes_; }
  size_t table(int number) const { return tables_[number]; }
  Vec<T>* cells() const { return values_->data(); }
  Vec<T>* shares() {
    if (!shares_) shares_ = std::make_unique<Room<Vec<T>>>(*share_pool_, size_);
    return shares_->data();
  }

  // Where the value of a factor is.
  size_t address(const Factor& factor, const Nodes& nodes) const {
    const Place* place = factor.places.data();
    if (!factor.is_item) {
      size_t index = 0;
      for (const Place& p : factor.places) index = index * nodes_ + p.of(nodes);
      return tables_[factor.number] + index;
    }
    const int third = factor.places.size() > 2 ? place[2].of(nodes) : 0;
    return cell(factor.number, factor.side, place[0].of(nodes), place[1].of(nodes), third);
  }

  size_t cell(int item, int side, int start, int end, int third) const {
    const int span = start * nodes_ + end;
    if (program_.items[item].positions == 2) return items_[item] + span;
    const size_t row = items_[item] + spans_[program_.items[item].exterior][span];
    return row + (side == kInner ? third - start : side == kBefore ? third : third - end + start + 1);
  }

  void fill() {
    for (int width = 0; width < nodes_; ++width)
      for (int start = 0; start + width < nodes_; ++start) {
        Nodes nodes = of_span(start, start + width);
        for (size_t item = 0; item < program_.items.size(); ++item) compute(item, nodes);
      }
  }

  // From the shares of goals to those of tables; those of items are zero again.
  void share() {
    for (int width = nodes_ - 1; width >= 0; --width)
      for (int start = 0; start + width < nodes_; ++start) {
        Nodes nodes = of_span(start, start + width);
        for (size_t item = program_.items.size(); item-- > 0;) pull_back(item, nodes);
      }
  }

  // Whether an axiom gives a cell on this side.
  static bool is_axiom(const Item& item, int side, const Nodes& nodes) {
    for (const Region& axiom : item.axioms) {
      if (axiom.side != side || !axiom.nest.possible(nodes)) continue;
      if (axiom.nest.loops.empty()) return true;
      const Loop& third = axiom.nest.loops[0];
      if (third.first(nodes) <= nodes.at[kThird] && nodes.at[kThird] <= third.last(nodes)) return true;
    }
    return false;
  }

 private:
  static constexpr int kPieces = 16;  // of an item and a span: one for each side and axiom
  struct Piece {  // cells beside each other
    size_t first;
    int size;
  };

  Nodes of_span(int start, int end) const {
    Nodes nodes;
    nodes.at[kLast] = nodes_ - 1, nodes.at[kStart] = start, nodes.at[kEnd] = end;
    return nodes;
  }

  Piece piece(int item, const Region& region, const Nodes& nodes) const {
    if (!region.nest.possible(nodes)) return {0, 0};
    int first = 0, size = 1;
    if (!region.nest.loops.empty()) {
      first = region.nest.loops[0].first(nodes);
      size = std::max(region.nest.loops[0].last(nodes) - first + 1, 0);
    }
    return {cell(item, region.side, nodes.at[kStart], nodes.at[kEnd], first), size};
  }

  // The cells of an item that exist at a span.
  int pieces(int number, const std::vector<Region>& regions, const Nodes& nodes, Piece* found) const {
    int count = 0;
    for (const Region& region : regions)
      if (const Piece own = piece(number, region, nodes); own.size) found[count++] = own;
    return count;
  }

  // Scratch memory for what lies beside each cell of the current item and span.
  Vec<T>* beside(int which, size_t cell) const {
    return scratch_ + which * (nodes_ + 2) + (cell - row_);
  }

  void compute(int number, Nodes& nodes) {
    const Item& item = program_.items[number];
    Piece own[kPieces], given[kPieces];
    const int count = pieces(number, item.cells, nodes, own);
    if (!count) return;
    Vec<T>* const values = cells();
    for (int m = 0; m < count; ++m) std::fill_n(values + own[m].first, own[m].size, all(-kInf<T>));
    if (const int axioms = item.axioms.empty() ? 0 : pieces(number, item.axioms, nodes, given)) {
      for (int m = 0; m < axioms; ++m) std::fill_n(values + given[m].first, given[m].size, Vec<T>{});
      return;
    }
    if (item.assigned) return run_all<Work::kAssign>(number, nodes);
    run_all<Work::kMax>(number, nodes);
    if (!adds_) return;
    row_ = own[0].first;
    for (int m = 0; m < count; ++m)
      for (int n = 0; n < own[m].size; ++n) {
        const Vec<T> best = values[own[m].first + n];
        *beside(0, own[m].first + n) = best == -kInf<T> ? Vec<T>{} : best;
        *beside(1, own[m].first + n) = Vec<T>{};
      }
    run_all<Work::kSum>(number, nodes);
    for (int m = 0; m < count; ++m)
      for (int n = 0; n < own[m].size; ++n)
        values[own[m].first + n] += logarithm(*beside(1, own[m].first + n));
  }

  void pull_back(int number, Nodes& nodes) {
    const Item& item = program_.items[number];
    Piece own[kPieces];
    const int count = pieces(number, item.cells, nodes, own);
    if (!count) return;
    row_ = own[0].first;
    Mask<T> any{};
    for (int m = 0; m < count; ++m)
      for (int n = 0; n < own[m].size; ++n) {
        const size_t at = own[m].first + n;
        const Vec<T> value = cells()[at], share = shares()[at];
        any |= share != 0;
        *beside(0, at) = value == -kInf<T> ? all(kInf<T>) : value;
        *beside(2, at) = share;
        shares()[at] = Vec<T>{};
      }
    if (none<T>(any)) return;
    Piece given[kPieces];
    if (!item.axioms.empty() && pieces(number, item.axioms, nodes, given)) return;
    return item.assigned ? run_all<Work::kPass>(number, nodes) : run_all<Work::kShare>(number, nodes);
  }

  template <Work kWork>
  void run_all(int number, Nodes& nodes) {
    for (const Product& product : program_.items[number].products)
      if (product.nest.possible(nodes)) loop<kWork>(number, product, nodes, 0);
  }

  template <Work kWork>
  void loop(int number, const Product& product, Nodes& nodes, size_t depth) {
    const std::vector<Loop>& loops = product.nest.loops;
    if (loops.empty()) return run<kWork>(number, product, nodes, -1, 1);
    const Loop& own = loops[depth];
    const int first = own.first(nodes), last = own.last(nodes);
    if (last < first) return;
    nodes.at[own.slot] = first;
    if (depth + 1 == loops.size() && product.kind != kCells)
      return run<kWork>(number, product, nodes, own.slot, last - first + 1);
    for (int node = first; node <= last; ++node) {
      nodes.at[own.slot] = node;
      if (depth + 1 == loops.size())
        run<kWork>(number, product, nodes, -1, 1);
      else
        loop<kWork>(number, product, nodes, depth + 1);
    }
  }

  // The innermost loop, over the nodes of a slot, or of a single product.
  template <Work kWork>
  void run(int number, const Product& product, const Nodes& nodes, int slot, int size) {
    const size_t at = cell(number, product.side, nodes.at[kStart], nodes.at[kEnd], nodes.at[kThird]);
    Run<T> own;
    own.size = size;
    own.step = slot == kThird;
    own.value = cells() + at;
    own.varying = own.fixed = 0;
    if constexpr (kWork != Work::kAssign && kWork != Work::kMax) {
      own.reference = beside(0, at), own.sum = beside(1, at), own.share = beside(2, at);
      if constexpr (kWork != Work::kSum) {
        own.to_share = shares() - cells();
        if (!own.step && none<T>(*own.share != 0)) return;
      }
    }
    const Vec<T>* fixed[kFactors];
    for (const Factor& factor : product.factors) {
      const Vec<T>* place = cells() + address(factor, nodes);
      if (const ptrdiff_t stride = slot < 0 ? 0 : this->stride(factor, slot)) {
        own.factor[own.varying] = place;
        own.stride[own.varying++] = stride;
      } else {
        fixed[own.fixed++] = place;
      }
    }
    std::copy_n(fixed, own.fixed, own.factor + own.varying);
    execute<kWork>(own);
  }

  // How far apart the values of a factor are as the node in a slot changes.
  ptrdiff_t stride(const Factor& factor, int slot) const {
    if (factor.is_item && factor.places.size() > 2) return factor.places[2].slot == slot;
    ptrdiff_t result = 0;
    for (const Place& place : factor.places) result = result * nodes_ + (place.slot == slot);
    return result;
  }

  const Program& program_;
  const int nodes_;
  const bool adds_;
  std::vector<int> spans_[2];  // where the cells of a span begin, of items with a third position inside, or outside
  std::vector<size_t> tables_, items_;
  size_t size_, row_ = 0;
  std::unique_ptr<Room<Vec<T>>> values_, shares_;
  Pool* share_pool_;
  Vec<T>* scratch_;
};

}  // namespace structdep
