// The bounds of a product's two innermost loops at a span, and the addresses of its conclusion and factors; no arithmetic.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>

#include "layout.h"

namespace structdep {

constexpr int kFactors = 8;  // of a product, at most

// The inner loop begins at `first` and ends at `last`: the second of each is added to the middle node. A loop that is not
// there has the one node 0.
struct TwoLoops {
  int from, to;            // of the middle loop
  int first[2], last[2];   // of the inner loop
  bool along;              // whether the inner loop goes along a row of conclusions; else it is a sum
  ptrdiff_t step, across;  // from one conclusion to the next in the inner and in the middle loop, 0 where that is a sum
  ptrdiff_t conclusion;    // at node 0 of both loops
  int factors, varying;    // how many factors there are, and how many of them vary in the inner loop
  Walk walks[kFactors];    // of the middle loop
  Stride inner[kFactors];

  static constexpr int kNone = -1;  // the slot of a loop that is not there

  void set_bounds(const Loop* inner, int middle, const Nodes& nodes) {
    constexpr int kFar = INT_MAX / 2;
    first[0] = inner ? -kFar : 0, last[0] = inner ? kFar : 0, first[1] = -kFar, last[1] = kFar;
    if (!inner) return;
    for (const Position& p : inner->least) {
      int& bound = first[p.slot == middle];
      bound = std::max(bound, p.of(nodes));
    }
    for (const Position& p : inner->most) {
      int& bound = last[p.slot == middle];
      bound = std::min(bound, p.of(nodes));
    }
  }

  void set_conclusion(const Storage& own, int inner, int middle, const Nodes& nodes) {
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    const ptrdiff_t third = own.third_step(start, end);
    along = inner == kThird;
    step = along ? third : 0, across = middle == kThird ? third : 0;
    conclusion = own.at(start, end) + third * nodes.at[kThird];
  }

  void set_factors(const Product& product, const Nodes& nodes) {
    factors = product.addresses.size(), varying = product.varying;
    for (int f = 0; f < factors; ++f) {
      const Address& own = product.addresses[f];
      walks[f] = own.walk(nodes, own.middle), inner[f] = own.inner;
    }
  }
};

// Calls visit(loops) for the products of an item at a span, at each node of their outer loops. A product whose factors lie at
// unequal distances in its innermost loop has no inner loop.
template <typename Visit>
STRUCTDEP_INLINE void for_each_two_loops(const Layout& layout, int item, Nodes& nodes, Visit visit) {
  TwoLoops loops;
  for (const Product& product : layout.program.items[item].products) {
    const std::vector<Loop>& nest = product.nest.loops;
    const size_t outer = nest.size() - (product.even && !nest.empty());
    const Loop* const middle = outer ? &nest[outer - 1] : nullptr;
    const Loop* const inner = outer < nest.size() ? &nest[outer] : nullptr;
    const int middle_slot = middle ? middle->slot : TwoLoops::kNone, inner_slot = inner ? inner->slot : TwoLoops::kNone;
    for (LoopIterator at(product.nest, outer ? outer - 1 : 0, nodes); at.is_there(); at.next()) {
      loops.from = middle ? middle->first(nodes) : 0, loops.to = middle ? middle->last(nodes) : 0;
      if (loops.from > loops.to) continue;
      if (middle) nodes.at[middle_slot] = 0;
      if (inner) nodes.at[inner_slot] = 0;
      loops.set_bounds(inner, middle_slot, nodes);
      loops.set_conclusion(layout.item(item, product.side), inner_slot, middle_slot, nodes);
      loops.set_factors(product, nodes);
      visit(static_cast<const TwoLoops&>(loops));
    }
  }
}

}  // namespace structdep
