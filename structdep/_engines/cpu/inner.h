// What is done in the innermost loop: products of a conclusion along a row of it, or summed, in vectors of cells.
#pragma once

#include <algorithm>
#include <cstddef>

#include "loops.h"
#include "numbers.h"

namespace structdep {

// The last three are of real numbers, the others of logarithms, or of scores, whose greatest is looked for.
enum class Work { kAssign, kMax, kSum, kShare, kPass, kAssignReal, kAddReal, kShareReal };

constexpr bool is_real(Work work) { return work >= Work::kAssignReal; }
constexpr bool assigns(Work work) { return work == Work::kAssign || work == Work::kAssignReal; }
constexpr bool shares(Work work) { return work >= Work::kShare && (!is_real(work) || work == Work::kShareReal); }

// The product of the factors that stay the same in the inner loop.
template <bool kReal, typename F, typename T, typename R>
STRUCTDEP_INLINE Vec<T> fixed(const Loops<T>& loops, const R& run) {
  Vec<T> result = all(kOne<kReal, T>);
  for (int f = F::varying(loops); f < F::factors(loops); ++f) result = product<kReal>(result, load(run.factor[f]));
  return result;
}

template <bool kReal, typename F, typename T, typename R>
STRUCTDEP_INLINE Vec<T> times(const Loops<T>& loops, const R& run, ptrdiff_t m, Vec<T> result) {
  for (int f = 0; f < F::varying(loops); ++f) result = product<kReal>(result, load(run.factor[f] + m * run.step[f]));
  return result;
}

// The greatest product, or the sum of real ones.
template <bool kReal, typename F, typename T, typename R>
STRUCTDEP_INLINE void add_up(const Loops<T>& loops, const R& run) {
  const Vec<T> rest = fixed<kReal, F>(loops, run);
  T* const value = loops.value + run.place;
  const auto term = [&](ptrdiff_t m) { return times<kReal, F>(loops, run, m, rest); };
  if (loops.along) {
    for (ptrdiff_t m = 0; m < run.size; ++m) {
      T* const own = value + m * loops.step;
      store(own, plus<kReal, T>(load(own), term(m)));
    }
    return;
  }
  Vec<T> whole = load(value);
  ptrdiff_t m = 0;
  if (run.size > 3) {  // four, as each waits for itself
    Vec<T> other[3];
    std::fill_n(other, 3, all(kZero<kReal, T>));
    for (; m + 3 < run.size; m += 4) {
      whole = plus<kReal, T>(whole, term(m));
      for (int n = 0; n < 3; ++n) other[n] = plus<kReal, T>(other[n], term(m + n + 1));
    }
    whole = plus<kReal, T>(plus<kReal, T>(whole, other[0]), plus<kReal, T>(other[1], other[2]));
  }
  for (; m < run.size; ++m) whole = plus<kReal, T>(whole, term(m));
  store(value, whole);
}

// Raises what a sum of exponentials is relative to where a term is far greater, so that no sum is too large. Where sums are
// often empty still, it pays to look whether there is anything to scale.
template <bool kOftenEmpty, typename T>
STRUCTDEP_INLINE void raise(Vec<T>& reference, Vec<T>& sum, Vec<T> most, T* place) {
  constexpr T kFar = 10;
  const Mask<T> far = most > reference + kFar;
  if (none<T>(far)) return;
  const Vec<T> raised = far ? most : reference;
  if (!kOftenEmpty || !none<T>(far & (sum != 0))) sum *= exp2(reference - raised);
  reference = raised;
  store(place, reference);
}

template <typename F, typename T, typename R>
STRUCTDEP_INLINE void sum(const Loops<T>& loops, const R& run) {
  const Vec<T> rest = fixed<false, F>(loops, run);
  T *const total = loops.sum + run.place, *const value = loops.value + run.place;
  if (loops.along) {
    for (ptrdiff_t m = 0; m < run.size; ++m) {
      T* const own = total + m * loops.step;
      const Vec<T> term = times<false, F>(loops, run, m, rest);
      Vec<T> reference = load(value + m * loops.step), sum = load(own);
      raise<false, T>(reference, sum, term, value + m * loops.step);
      store(own, sum + exp2(term - reference));
    }
    return;
  }
  Vec<T> most = all(-kInf<T>), reference = load(value), own = load(total);
  for (ptrdiff_t m = 0; m < run.size; ++m) most = larger<T>(most, times<false, F>(loops, run, m, rest));
  raise<false, T>(reference, own, most, value);
  const Vec<T> relative = rest - reference;
  for (ptrdiff_t m = 0; m < run.size; ++m) own += exp2(times<false, F>(loops, run, m, relative));
  store(total, own);
}

// The value of a conclusion that has a share, else more than any product: some beyond the last span are none of its own.
template <typename T>
STRUCTDEP_INLINE Vec<T> whole(const T* value, Vec<T> share) {
  return share == 0 ? all(kInf<T>) : load(value);
}

// Adds the conclusion's share to those of its factors: all of it where it is one product, else by the product's weight.
template <Work kWork, typename F, typename T, typename R>
STRUCTDEP_INLINE void share(const Loops<T>& loops, const R& run) {
  const Vec<T> rest = fixed<false, F>(loops, run);
  const T *const value = loops.value + run.place, *const own = loops.share + run.place;
  if (!loops.along && none<T>(load(own) != 0)) return;
  T* to[R::kSize];
  for (int f = 0; f < F::factors(loops); ++f) to[f] = const_cast<T*>(run.factor[f]) + loops.walk[f].to_share;
  Vec<T> total{};
  for (ptrdiff_t m = 0; m < run.size; ++m) {
    Vec<T> weight = load(own + m * loops.step);
    if (kWork == Work::kShare) weight *= exp2(times<false, F>(loops, run, m, rest) - whole(value + m * loops.step, weight));
    for (int f = 0; f < F::varying(loops); ++f) add(to[f] + m * run.step[f], weight);
    total += weight;
  }
  for (int f = F::varying(loops); f < F::factors(loops); ++f) add(to[f], total);
}

// The product of some factors but for one of them, at a node of the inner loop.
template <typename T, typename R>
STRUCTDEP_INLINE Vec<T> others(const R& run, int from, int to, int but, ptrdiff_t m, Vec<T> result) {
  for (int f = from; f < to; ++f)
    if (f != but) result *= load(run.factor[f] + m * run.step[f]);
  return result;
}

// Adds to the derivatives by factors of a real product: that by the conclusion, times the other factors.
template <typename F, typename T, typename R>
STRUCTDEP_INLINE void share_real(const Loops<T>& loops, const R& run) {
  const T* const own = loops.share + run.place;
  if (!loops.along && none<T>(load(own) != 0)) return;
  const int varying = F::varying(loops), factors = F::factors(loops);
  const auto to = [&](int f) { return const_cast<T*>(run.factor[f]) + loops.walk[f].to_share; };
  const Vec<T> rest = fixed<true, F>(loops, run);
  Vec<T> total{};
  for (ptrdiff_t m = 0; m < run.size; ++m) {
    const Vec<T> share = load(own + m * loops.step), part = share * rest;
    total += times<true, F>(loops, run, m, share);
    for (int f = 0; f < varying; ++f) add(to(f) + m * run.step[f], others<T>(run, 0, varying, f, m, part));
  }
  for (int f = varying; f < factors; ++f) add(to(f), others<T>(run, varying, factors, f, 0, total));
}

template <Work kWork, typename F, typename T, typename R>
STRUCTDEP_INLINE void inner(const Loops<T>& loops, const R& run) {
  constexpr bool kReal = is_real(kWork);
  if constexpr (assigns(kWork)) {
    const Vec<T> rest = fixed<kReal, F>(loops, run);
    for (ptrdiff_t m = 0; m < run.size; ++m)
      store(loops.value + run.place + m * loops.step, times<kReal, F>(loops, run, m, rest));
  }
  if constexpr (kWork == Work::kMax || kWork == Work::kAddReal) add_up<kReal, F>(loops, run);
  if constexpr (kWork == Work::kSum) sum<F>(loops, run);
  if constexpr (kWork == Work::kShareReal) share_real<F>(loops, run);
  if constexpr (shares(kWork) && !kReal) share<kWork, F>(loops, run);
}

}  // namespace structdep
