// One node after the other in the outer loops of a product.
#pragma once

#include <cstddef>

#include "program.h"

namespace structdep {

// All nodes of the first so many loops, those of the innermost fastest.
class LoopIterator {
 public:
  LoopIterator(const LoopNest& nest, size_t loops, Nodes& nodes)
      : loops_(nest.loops.data()), size_(loops), nodes_(nodes), is_there_(nest.is_possible(nodes) && (!loops || begin(0))) {}

  bool is_there() const { return is_there_; }
  void next() { is_there_ = size_ && advance(size_); }

 private:
  // To the first nodes of the loops within the first so many, whose nodes are set.
  bool begin(size_t set) {
    for (; set < size_; ++set) {
      const Loop& loop = loops_[set];
      nodes_.at[loop.slot] = loop.first(nodes_);
      if (nodes_.at[loop.slot] > loop.last(nodes_)) return advance(set);
    }
    return true;
  }
  // To the next nodes of the first so many loops.
  bool advance(size_t set) {
    while (set--) {
      const Loop& loop = loops_[set];
      if (nodes_.at[loop.slot]++ < loop.last(nodes_)) return begin(set + 1);
    }
    return false;
  }

  const Loop* const loops_;
  const size_t size_;
  Nodes& nodes_;
  bool is_there_;
};

}  // namespace structdep
