// The goal of filled charts, and its derivatives.
#pragma once

#include <algorithm>
#include <cmath>

#include "chart.h"
#include "odometer.h"

namespace structdep {

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
