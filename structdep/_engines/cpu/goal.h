// The goals of filled charts, and derivatives by their factors.
#pragma once

#include <algorithm>
#include <cmath>

#include "chart.h"

namespace structdep {

// The goal of one sentence after the other.
template <typename S>
class Goal {
 public:
  using T = typename S::Number;

  explicit Goal(const Chart<S>& chart) : program_(chart.layout().program), chart_(chart) {}

  // Selects a sentence of the chart.
  void turn_to(int sentence, int words) { values_ = chart_.values() + sentence, nodes_.at[kLast] = words + program_.last; }

  T value() {
    T best = S::kZero, sum = 0;
    for_each_product([&](const Product& product) { best = std::max(best, value_of(product)), sum += value_of(product); });
    if (S::kReal) return sum;
    if (!S::kLogs || !std::isfinite(best)) return best;
    sum = 0;
    for_each_product([&](const Product& product) { sum += std::exp2(value_of(product) - best); });
    return best + std::log2(sum);
  }

  // Adds the derivatives of the value's logarithm by factors to these: by numbers as they are.
  void differentiate(T value, T* derivatives) {
    for_each_product([&](const Product& product) {
      for (const Address& factor : product.addresses)
        derivatives[factor.of(nodes_)] += S::kReal ? value_of(product, &factor) / value : std::exp2(value_of(product) - value);
    });
  }

 private:
  template <typename Visit>
  void for_each_product(Visit visit) {
    for (const Product& product : program_.goal)
      for (LoopIterator at(product.nest, product.nest.loops.size(), nodes_); at.is_there(); at.next()) visit(product);
  }

  // That of a product, but for one of its factors.
  T value_of(const Product& product, const Address* but = nullptr) const {
    T value = S::kOne;
    for (const Address& factor : product.addresses)
      if (&factor != but) value = S::times(value, values_[factor.of(nodes_)]);
    return value;
  }

  const Program& program_;
  const Chart<S>& chart_;
  const T* values_ = nullptr;  // of the sentence
  Nodes nodes_;
};

}  // namespace structdep
