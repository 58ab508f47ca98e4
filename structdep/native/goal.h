// The goal of filled charts, and its derivatives.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "chart.h"

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

// The goal of one sentence after the other.
template <typename T>
class Goal {
 public:
  explicit Goal(const Chart<T>& chart) : program_(chart.frame().program), chart_(chart.cells()) {}

  // Turns to that in a lane, with so many words.
  void turn_to(int lane, int words) { cells_ = chart_ + lane, nodes_.at[kLast] = words + program_.last; }

  T value(bool adds) {
    T best = -kInf<T>, sum = 0;
    for_each_product([&](const Product&, T value) { best = std::max(best, value); });
    if (!adds || !std::isfinite(best)) return best;
    for_each_product([&](const Product&, T value) { sum += std::exp2(value - best); });
    return best + std::log2(sum);
  }

  // Adds the derivative of the goal's value to those of what it is made of, which are here.
  void share(T value, T* shares) {
    for_each_product([&](const Product& product, T own) {
      for (const Address& factor : product.addresses) shares[factor.share_of(nodes_)] += std::exp2(own - value);
    });
  }

 private:
  template <typename Visit>
  void for_each_product(Visit visit) {
    for (const Product& product : program_.goal)
      for (Odometer at(product.nest, product.nest.loops.size(), nodes_); at.is_at(); at.go_on()) {
        T value = 0;
        for (const Address& own : product.addresses) value += cells_[own.of(nodes_)];
        visit(product, value);
      }
  }

  const Program& program_;
  const T* const chart_;
  const T* cells_ = nullptr;  // of this sentence
  Nodes nodes_;               // of what is looked at
};

}  // namespace structdep
