// The innermost loops: products of a conclusion along a row of it, or summed, in vectors of sentences.
#pragma once

#include <cstddef>

#include "vectors.h"

namespace structdep {

constexpr int kFactors = 8;  // of a product, at most

enum class Work { kAssign, kMax, kSum, kShare, kPass };

template <typename T>
struct Run {
  int size;                       // of the loop
  ptrdiff_t step;                 // from one conclusion to the next, 0 where the loop is a sum
  Vec<T>* value;                  // of the conclusion
  const Vec<T>* reference;        // what exponents are relative to
  Vec<T>* sum;                    // of exponentials
  const Vec<T>* share;            // the derivative by the conclusion
  int varying, fixed;             // factors that change in the loop come first
  const Vec<T>* factor[kFactors];
  ptrdiff_t stride[kFactors];
  ptrdiff_t to_share;             // from a factor to the derivative by it
};

template <typename T>
inline Vec<T> constant(const Run<T>& run) {
  Vec<T> result{};
  for (int m = run.varying; m < run.varying + run.fixed; ++m) result += *run.factor[m];
  return result;
}

template <int kVarying, typename T>
inline Vec<T> term(const Run<T>& run, ptrdiff_t at, Vec<T> result) {
  for (int m = 0; m < (kVarying < 3 ? kVarying : run.varying); ++m) result += run.factor[m][at * run.stride[m]];
  return result;
}

template <int kVarying, typename T>
void assign(const Run<T>& run) {
  const Vec<T> fixed = constant(run);
  for (ptrdiff_t m = 0; m < run.size; ++m) run.value[m * run.step] = term<kVarying>(run, m, fixed);
}

template <int kVarying, typename T>
void maximize(const Run<T>& run) {
  const Vec<T> fixed = constant(run);
  if (run.step) {
    for (ptrdiff_t m = 0; m < run.size; ++m) run.value[m] = larger<T>(run.value[m], term<kVarying>(run, m, fixed));
    return;
  }
  Vec<T> best = *run.value, other = all(-kInf<T>);  // two, as each waits for itself
  ptrdiff_t m = 0;
  for (; m + 1 < run.size; m += 2) {
    best = larger<T>(best, term<kVarying>(run, m, fixed));
    other = larger<T>(other, term<kVarying>(run, m + 1, fixed));
  }
  if (m < run.size) best = larger<T>(best, term<kVarying>(run, m, fixed));
  *run.value = larger<T>(best, other);
}

template <int kVarying, typename T>
void sum(const Run<T>& run) {
  Vec<T> fixed = constant(run);
  if (run.step) {
    for (ptrdiff_t m = 0; m < run.size; ++m)
      run.sum[m] += exponential(term<kVarying>(run, m, fixed) - run.reference[m]);
    return;
  }
  fixed -= *run.reference;
  Vec<T> total = *run.sum;
  for (ptrdiff_t m = 0; m < run.size; ++m) total += exponential(term<kVarying>(run, m, fixed));
  *run.sum = total;
}

// Adds the conclusion's share to those of its factors: all of it where it is one product, else by the product's weight.
template <int kVarying, bool kWhole, typename T>
void share(const Run<T>& run) {
  const Vec<T> fixed = constant(run);
  Vec<T> total{};
  for (ptrdiff_t m = 0; m < run.size; ++m) {
    Vec<T> weight = run.share[m * run.step];
    if (!kWhole) weight *= exponential(term<kVarying>(run, m, fixed) - run.reference[m * run.step]);
    for (int f = 0; f < (kVarying < 3 ? kVarying : run.varying); ++f)
      const_cast<Vec<T>*>(run.factor[f])[run.to_share + m * run.stride[f]] += weight;
    total += weight;
  }
  for (int f = run.varying; f < run.varying + run.fixed; ++f)
    const_cast<Vec<T>*>(run.factor[f])[run.to_share] += total;
}

template <Work kWork, int kVarying, typename T>
void execute(const Run<T>& run) {
  if constexpr (kWork == Work::kAssign) assign<kVarying>(run);
  if constexpr (kWork == Work::kMax) maximize<kVarying>(run);
  if constexpr (kWork == Work::kSum) sum<kVarying>(run);
  if constexpr (kWork == Work::kShare) share<kVarying, false>(run);
  if constexpr (kWork == Work::kPass) share<kVarying, true>(run);
}

template <Work kWork, typename T>
void execute(const Run<T>& run) {
  switch (run.varying) {
    case 0:
      return execute<kWork, 0>(run);
    case 1:
      return execute<kWork, 1>(run);
    case 2:
      return execute<kWork, 2>(run);
    default:
      return execute<kWork, 3>(run);
  }
}

}  // namespace structdep
