// The kinds of numbers that charts hold: how they are multiplied and added.
#pragma once

#include "exponentials.h"
#include "vectors.h"

namespace structdep {

// Scores, the largest of which counts.
template <typename T>
struct MaxPlus {
  using Number = T;
  static constexpr bool kReal = false, kLogs = false;
  static constexpr T kOne = 0, kZero = -kInf<T>;

  template <typename V>
  static STRUCTDEP_INLINE V times(V a, V b) { return a + b; }
  static STRUCTDEP_INLINE Vec<T> plus(Vec<T> a, Vec<T> b) { return larger<T>(a, b); }
};

// Logarithms, of base 2, of what is added.
template <typename T>
struct LogSum : MaxPlus<T> {
  static constexpr bool kLogs = true;

  // Adds logarithms to a sum of exponentials that are relative to a reference: `each` calls its argument with one after the
  // other. The reference is raised where a term is far greater, so that no sum is too large.
  template <typename Each>
  static STRUCTDEP_INLINE void add(T* reference_at, T* sum_at, Each each) {
    constexpr T kFar = 10;
    Vec<T> most = all(-kInf<T>), reference = load(reference_at), sum = load(sum_at);
    each([&](Vec<T> term) { most = larger<T>(most, term); });
    if (const Mask<T> far = most > reference + kFar; !none<T>(far)) {
      const Vec<T> raised = far ? most : reference;
      if (!none<T>(far & (sum != 0))) sum *= exp2(reference - raised);
      store(reference_at, reference = raised);
    }
    each([&](Vec<T> term) { sum += exp2(term - reference); });
    store(sum_at, sum);
  }
};

// What is added, as it is.
template <typename T>
struct RealSum {
  using Number = T;
  static constexpr bool kReal = true, kLogs = false;
  static constexpr T kOne = 1, kZero = 0;

  template <typename V>
  static STRUCTDEP_INLINE V times(V a, V b) { return a * b; }
  static STRUCTDEP_INLINE Vec<T> plus(Vec<T> a, Vec<T> b) { return a + b; }
};

}  // namespace structdep
