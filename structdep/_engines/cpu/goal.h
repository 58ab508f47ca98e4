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

  T value(Numbers numbers) {
    T best = -kInf<T>, sum = 0;
    if (numbers == kReals) {
      for_each_product([&](const Product& product) { sum += real(product); });
      return sum;
    }
    for_each_product([&](const Product& product) { best = std::max(best, logarithm(product)); });
    if (numbers == kScores || !std::isfinite(best)) return best;
    for_each_product([&](const Product& product) { sum += std::exp2(logarithm(product) - best); });
    return best + std::log2(sum);
  }

  // Adds the derivative of the value's logarithm to those of what the goal is made of, which are here: by numbers as they are.
  void share(Numbers numbers, T value, T* shares) {
    for_each_product([&](const Product& product) {
      for (const Address& factor : product.addresses) {
        const T own = numbers == kReals ? real(product, &factor) / value : std::exp2(logarithm(product) - value);
        shares[factor.share_of(nodes_)] += own;
      }
    });
  }

 private:
  template <typename Visit>
  void for_each_product(Visit visit) {
    for (const Product& product : program_.goal)
      for (Odometer at(product.nest, product.nest.loops.size(), nodes_); at.is_at(); at.go_on()) visit(product);
  }

  T logarithm(const Product& product) const {
    T value = 0;
    for (const Address& own : product.addresses) value += cells_[own.of(nodes_)];
    return value;
  }

  // The product of real numbers, but for one of them.
  T real(const Product& product, const Address* but = nullptr) const {
    T value = 1;
    for (const Address& own : product.addresses)
      if (&own != but) value *= cells_[own.of(nodes_)];
    return value;
  }

  const Program& program_;
  const T* const chart_;
  const T* cells_ = nullptr;  // of this sentence
  Nodes nodes_;               // of what is looked at
};

}  // namespace structdep
