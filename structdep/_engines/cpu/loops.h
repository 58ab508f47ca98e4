// The two innermost loops over a product, as they are found for an item at a span.
#pragma once

#include <algorithm>
#include <cstddef>

#include "address.h"
#include "vectors.h"

namespace structdep {

constexpr int kFactors = 8;  // of a product, at most

// Where a factor is when both loops are at node 0, and how far it goes with each node of them.
template <typename T>
struct Walk {
  const T* at;  // in its box
  const Row* row;
  int third;        // where it is along its row
  Stride inner, middle;
  ptrdiff_t to_share;  // from the factor to the derivative by it

  // At a node of the middle loop, and how far it goes there with each node of the inner one.
  STRUCTDEP_INLINE const T* of(ptrdiff_t node) const {
    const Row& own = row[middle.rows * node];
    return at + middle.box * node + own.at + own.step * (third + middle.along * node);
  }
  STRUCTDEP_INLINE ptrdiff_t step(ptrdiff_t node) const { return inner.box + inner.along * row[middle.rows * node].step; }
};

// That of a factor among these cells: the slots of the loops are at the nodes from which they count.
template <typename T>
STRUCTDEP_INLINE Walk<T> walk_of(const Address& own, const T* cells, const Nodes& nodes, Stride inner, Stride middle) {
  return {cells + own.in_box(nodes), own.row(nodes), own.third(nodes), inner, middle, 0};
}

// Two loops. The inner one begins at `first` and ends at `last`: the second of each is added to the middle node. If there is
// none, it has the one node 0, and so has the middle one.
template <typename T>
struct Loops {
  bool along;        // whether the inner loop goes along a row of conclusions; else it is a sum
  ptrdiff_t step, across;  // from one conclusion to the next in the inner and in the middle loop, 0 where that is a sum
  int from, to, first[2], last[2];
  ptrdiff_t place;                // of the conclusion at node 0
  T *value, *sum;  // of conclusions: the greatest product, then their sum, and the sum of exponentials relative to that
  const T* share;  // the derivative by conclusions
  int factors, varying;
  Walk<T> walk[kFactors];
};

// How many factors there are, and how many of them vary in the inner loop, if that is known to the compiler.
template <int kFactorsKnown, int kVaryingKnown>
struct Form {
  static constexpr int kCount = kFactorsKnown ? kFactorsKnown : kFactors;
  template <typename T>
  static STRUCTDEP_INLINE int factors(const Loops<T>& loops) {
    return kFactorsKnown ? kFactorsKnown : loops.factors;
  }
  static constexpr int kVarying = kVaryingKnown;
  template <typename T>
  static STRUCTDEP_INLINE int varying(const Loops<T>& loops) {
    return kVaryingKnown >= 0 ? kVaryingKnown : loops.varying;
  }
};

// The inner loop at one node of the middle one: its nodes, and the places of the conclusion and of factors at node 0.
template <typename F, typename T>
struct FactorRow {
  STRUCTDEP_INLINE FactorRow(const Loops<T>& loops, ptrdiff_t node)
      : first(std::max(loops.first[0], loops.first[1] + static_cast<int>(node))),
        last(std::min(loops.last[0], loops.last[1] + static_cast<int>(node))),
        conclusion(loops.place + loops.across * node) {
    for (int f = 0; f < F::factors(loops); ++f) factor[f] = loops.walk[f].of(node), step[f] = loops.walk[f].step(node);
  }

  int first, last;
  ptrdiff_t conclusion;
  const T* factor[F::kCount];
  ptrdiff_t step[F::kCount];
};

}  // namespace structdep
