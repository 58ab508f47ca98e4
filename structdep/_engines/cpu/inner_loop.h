// The arithmetic of a product in its two innermost loops: the only code that computes vectors of items, and their derivatives.
#pragma once

#include <algorithm>
#include <cstddef>

#include "semirings.h"
#include "loop_bounds.h"

namespace structdep {

// To set conclusions to products, or to add products to them; and to add the derivatives of either to those of factors.
enum class Work { kAssign, kAdd, kDifferentiateOne, kDifferentiateSum };

// Numbers of a chart by their addresses, in one vector.
template <typename T>
struct Cells {
  T* values;       // of tables and items
  T* sums;         // of exponentials, relative to values
  T* derivatives;  // by values; where these are logarithms, by them
};

// How many factors a product has, and how many of them vary in the inner loop, where the compiler knows: else kAny.
constexpr int kAny = -1;
template <int kFactorsKnown, int kVaryingKnown>
struct Form {
  static bool is_of(const TwoLoops& loops) {
    return (kFactorsKnown == kAny || loops.factors == kFactorsKnown) && (kVaryingKnown == kAny || loops.varying == kVaryingKnown);
  }
  static STRUCTDEP_INLINE int factors(const TwoLoops& loops) { return kFactorsKnown == kAny ? loops.factors : kFactorsKnown; }
  static STRUCTDEP_INLINE int varying(const TwoLoops& loops) { return kVaryingKnown == kAny ? loops.varying : kVaryingKnown; }
};

// The inner loop at one node of the middle one: its nodes, and the addresses of the conclusion and of factors at node 0.
template <typename F>
struct InnerLoop {
  STRUCTDEP_INLINE InnerLoop(const TwoLoops& loops, int node)
      : first(std::max(loops.first[0], loops.first[1] + node)),
        last(std::min(loops.last[0], loops.last[1] + node)),
        conclusion(loops.conclusion + loops.across * node) {
    for (int f = 0; f < F::factors(loops); ++f) {
      const Walk& walk = loops.walks[f];
      const Stride& inner = loops.inner[f];
      at[f] = walk.at(node), step[f] = inner.step + inner.along * walk.row[walk.stride.rows * node].step;
    }
  }

  int first, last;
  ptrdiff_t conclusion, at[kFactors], step[kFactors];
};

// An inner loop in one vector.
template <typename S, typename F>
class Kernel {
 public:
  using T = typename S::Number;

  STRUCTDEP_INLINE Kernel(const TwoLoops& loops, const InnerLoop<F>& inner, Cells<T> cells)
      : loops_(loops), inner_(inner), cells_(cells), fixed_(fixed(all(S::kOne))) {}

  template <Work kWork>
  STRUCTDEP_INLINE void run() const {
    if constexpr (kWork == Work::kAssign) {
      for (int m = inner_.first; m <= inner_.last; ++m) store(cells_.values + conclusion(m), varying(m, fixed_));
    } else if constexpr (kWork == Work::kAdd) {
      if (!loops_.along) return add(inner_.first, inner_.last);
      for (int m = inner_.first; m <= inner_.last; ++m) add(m, m);
    } else {
      Vec<T> sum{};
      for (int m = inner_.first; m <= inner_.last; ++m) sum += differentiate<kWork>(m);
      for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
        structdep::add(cells_.derivatives + inner_.at[f], S::kReal ? fixed(sum, f) : sum);
    }
  }

 private:
  STRUCTDEP_INLINE ptrdiff_t conclusion(int m) const { return inner_.conclusion + m * loops_.step; }

  // The product of the factors that stay the same in the inner loop, but for one of them.
  STRUCTDEP_INLINE Vec<T> fixed(Vec<T> result, int but = -1) const {
    for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
      if (f != but) result = S::times(result, load(cells_.values + inner_.at[f]));
    return result;
  }

  // The product of the others at a node of the inner loop, but for one of them.
  STRUCTDEP_INLINE Vec<T> varying(int m, Vec<T> result, int but = -1) const {
    for (int f = 0; f < F::varying(loops_); ++f)
      if (f != but) result = S::times(result, load(cells_.values + inner_.at[f] + m * inner_.step[f]));
    return result;
  }

  // The products at these nodes to the conclusion of the first.
  STRUCTDEP_INLINE void add(int first, int last) const {
    T* const value = cells_.values + conclusion(first);
    if constexpr (S::kLogs) {
      S::add(value, cells_.sums + conclusion(first), [&](auto visit) {
        for (int m = first; m <= last; ++m) visit(varying(m, fixed_));
      });
    } else {
      Vec<T> sum = load(value);
      for (int m = first; m <= last; ++m) sum = S::plus(sum, varying(m, fixed_));
      store(value, sum);
    }
  }

  // Adds to the derivatives of factors that vary. Returns what is added to those of the others, which real numbers multiply.
  template <Work kWork>
  STRUCTDEP_INLINE Vec<T> differentiate(int m) const {
    const Vec<T> derivative = load(cells_.derivatives + conclusion(m));
    Vec<T> weight = derivative;
    if constexpr (S::kReal) {
      weight *= fixed_;
    } else if constexpr (kWork == Work::kDifferentiateSum) {
      // Cells behind the last span have no derivative, and may hold any values.
      const Vec<T> whole = derivative == 0 ? all(kInf<T>) : load(cells_.values + conclusion(m));
      weight *= exp2(varying(m, fixed_) - whole);
    }
    for (int f = 0; f < F::varying(loops_); ++f)
      structdep::add(cells_.derivatives + inner_.at[f] + m * inner_.step[f], S::kReal ? varying(m, weight, f) : weight);
    return S::kReal ? varying(m, derivative) : weight;
  }

  const TwoLoops& loops_;
  const InnerLoop<F>& inner_;
  const Cells<T> cells_;
  const Vec<T> fixed_;
};

// Both loops, in each of the vectors of a row.
template <Work kWork, typename S, typename F, typename T>
void execute_as(const TwoLoops& loops, Cells<T> cells, int vectors) {
  for (int node = loops.from; node <= loops.to; ++node) {
    const InnerLoop<F> inner(loops, node);
    if (inner.first > inner.last) continue;
    for (int shift = 0; shift < vectors * kLanes; shift += kLanes)
      Kernel<S, F>(loops, inner, {cells.values + shift, cells.sums + shift, cells.derivatives + shift}).template run<kWork>();
  }
}

// As the first of these forms that it has.
template <Work kWork, typename S, typename... Forms, typename T>
STRUCTDEP_INLINE void execute_first(const TwoLoops& loops, Cells<T> cells, int vectors) {
  static_cast<void>(((Forms::is_of(loops) && (execute_as<kWork, S, Forms>(loops, cells, vectors), true)) || ...));
}

template <Work kWork, typename S, typename T>
STRUCTDEP_INLINE void execute(const TwoLoops& loops, Cells<T> cells, int vectors) {
  execute_first<kWork, S, Form<2, 2>, Form<3, 2>, Form<1, 1>, Form<2, 1>, Form<3, 1>, Form<1, 0>, Form<2, 0>, Form<kAny, 1>,
                Form<kAny, 2>, Form<kAny, kAny>>(loops, cells, vectors);
}

}  // namespace structdep
