// One node after the other in all loops of a product.
#pragma once

#include <cstddef>

#include "nest.h"
#include "vectors.h"

namespace structdep {

// All nodes of the first so many loops of a product, those of the first loop slowest.
class Odometer {
 public:
  STRUCTDEP_INLINE Odometer(const Nest& nest, size_t loops, Nodes& nodes)
      : loops_(nest.loops.data()), size_(loops), nodes_(nodes), is_at_(nest.possible(nodes) && (!loops || settle(0))) {}

  bool is_at() const { return is_at_; }
  STRUCTDEP_INLINE void go_on() { is_at_ = size_ && step(size_); }

 private:
  // To the first nodes of the loops behind the first so many, which are set.
  bool settle(size_t set) {
    for (; set < size_; ++set) {
      const Loop& loop = loops_[set];
      nodes_.at[loop.slot] = loop.first(nodes_);
      if (nodes_.at[loop.slot] > loop.last(nodes_)) return step(set);
    }
    return true;
  }
  // On to the next nodes of the first so many loops.
  bool step(size_t set) {
    while (set--) {
      const Loop& loop = loops_[set];
      if (nodes_.at[loop.slot]++ < loop.last(nodes_)) return settle(set + 1);
    }
    return false;
  }

  const Loop* const loops_;
  const size_t size_;
  Nodes& nodes_;
  bool is_at_;
};

}  // namespace structdep
