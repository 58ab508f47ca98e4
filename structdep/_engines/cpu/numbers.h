// What numbers charts have: how they are multiplied and added.
#pragma once

#include <type_traits>

#include "vectors.h"

namespace structdep {

// Scores, the best of which counts; logarithms of what is added; or that itself.
enum Numbers { kScores, kLogs, kReals };

// Returns visit(these numbers, as a constant).
template <typename Visit>
STRUCTDEP_INLINE auto with_constant(Numbers numbers, Visit visit) {
  if (numbers == kReals) return visit(std::integral_constant<Numbers, kReals>{});
  if (numbers == kLogs) return visit(std::integral_constant<Numbers, kLogs>{});
  return visit(std::integral_constant<Numbers, kScores>{});
}

// Products, and sums of real numbers, or else the larger.
template <bool kReal, typename V>
STRUCTDEP_INLINE V product(V a, V b) {
  return kReal ? a * b : a + b;
}

template <bool kReal, typename T>
STRUCTDEP_INLINE Vec<T> plus(Vec<T> a, Vec<T> b) {
  return kReal ? a + b : larger<T>(a, b);
}

template <bool kReal, typename T>
constexpr T kOne = kReal ? 1 : 0;
template <bool kReal, typename T>
constexpr T kZero = kReal ? 0 : -kInf<T>;
template <typename T>
constexpr T nothing(Numbers numbers) {
  return numbers == kReals ? kZero<true, T> : kZero<false, T>;
}

}  // namespace structdep
