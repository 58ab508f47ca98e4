// The two innermost loops over a product of a conclusion: the only code that computes values, and derivatives by them.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>

#include "loops.h"
#include "numbers.h"

namespace structdep {

// A conclusion has one product, or is the sum of what is added to it; and the same for its derivative, which goes to its factors.
enum class Work { kAssign, kAdd, kShareAll, kShare };

constexpr bool shares(Work work) { return work >= Work::kShareAll; }

// Raises what a sum of exponentials is relative to where a term is far greater, so that no sum is too large.
template <typename T>
STRUCTDEP_INLINE void raise(Vec<T>& reference, Vec<T>& sum, Vec<T> most, T* place) {
  constexpr T kFar = 10;
  const Mask<T> far = most > reference + kFar;
  if (none<T>(far)) return;
  const Vec<T> raised = far ? most : reference;
  if (!none<T>(far & (sum != 0))) sum *= exp2(reference - raised);
  reference = raised;
  store(place, reference);
}

// The loops over a product in one vector of cells.
template <Numbers kNumbers, typename F, typename T>
class Kernel {
 public:
  static constexpr bool kReal = kNumbers == kReals;
  using Row = FactorRow<F, T>;

  Kernel(const Loops<T>& loops, ptrdiff_t lane) : loops_(loops), lane_(lane) {}

  // The sum of a row.
  void sum(const Row& row) const {
    const Vec<T> rest = fixed(row);
    T* const value = loops_.value + row.conclusion + lane_;
    const auto term = [&](int m, Vec<T> x) { return times(row, m, x); };
    if constexpr (kNumbers == kLogs) {
      T* const total = loops_.sum + row.conclusion + lane_;
      Vec<T> most = all(-kInf<T>), reference = load(value), own = load(total);
      for (int m = row.first; m <= row.last; ++m) most = larger<T>(most, term(m, rest));
      raise<T>(reference, own, most, value);
      const Vec<T> relative = rest - reference;
      for (int m = row.first; m <= row.last; ++m) own += exp2(term(m, relative));
      store(total, own);
    } else {
      Vec<T> whole = load(value);
      int m = row.first;
      if (row.last - row.first > 2) {  // four, as each waits for itself
        Vec<T> other[3];
        std::fill_n(other, 3, all(kZero<kReal, T>));
        for (; m + 3 <= row.last; m += 4) {
          whole = plus<kReal, T>(whole, term(m, rest));
          for (int n = 0; n < 3; ++n) other[n] = plus<kReal, T>(other[n], term(m + n + 1, rest));
        }
        whole = plus<kReal, T>(plus<kReal, T>(whole, other[0]), plus<kReal, T>(other[1], other[2]));
      }
      for (; m <= row.last; ++m) whole = plus<kReal, T>(whole, term(m, rest));
      store(value, whole);
    }
  }

  // Some rows, each joined to the same row of conclusions.
  template <Work kWork, int kRows>
  STRUCTDEP_INLINE void join(const Row* rows) const {
    Vec<T> rest[kRows], total[kRows] = {};
    int first = INT_MAX, last = INT_MIN, all_first = INT_MIN, all_last = INT_MAX;  // of any row, and of all of them
    for (int b = 0; b < kRows; ++b) {
      rest[b] = fixed(rows[b]);
      first = std::min(first, rows[b].first), last = std::max(last, rows[b].last);
      all_first = std::max(all_first, rows[b].first), all_last = std::min(all_last, rows[b].last);
    }
    const auto some = [&](int from, int to) {
      for (int m = from; m <= to; ++m)
        cell<kWork, kRows>(rows, m, rest, total, [&](int b) { return rows[b].first <= m && m <= rows[b].last; });
    };
    if (all_first > all_last) {
      some(first, last);
    } else {
      some(first, all_first - 1);
      for (int m = all_first; m <= all_last; ++m) cell<kWork, kRows>(rows, m, rest, total, [](int) { return true; });
      some(all_last + 1, last);
    }
    if constexpr (shares(kWork))
      for (int b = 0; b < kRows; ++b)
        for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
          add_share(rows[b].factor[f] + lane_, f, kReal ? fixed(rows[b], total[b], f) : total[b]);
  }

 private:
  // The product of the factors that stay the same in the inner loop, but for one of them.
  STRUCTDEP_INLINE Vec<T> fixed(const Row& row, Vec<T> result = all(kOne<kReal, T>), int but = -1) const {
    for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
      if (f != but) result = product<kReal>(result, load(row.factor[f] + lane_));
    return result;
  }

  STRUCTDEP_INLINE const T* at(const Row& row, int f, int m) const { return row.factor[f] + m * row.step[f] + lane_; }

  // The product of the others at a node of the inner loop, but for one of them.
  STRUCTDEP_INLINE Vec<T> times(const Row& row, int m, Vec<T> result, int but = -1) const {
    for (int f = 0; f < F::varying(loops_); ++f)
      if (f != but) result = product<kReal>(result, load(at(row, f, m)));
    return result;
  }

  STRUCTDEP_INLINE void add_share(const T* factor, int f, Vec<T> share) const {
    add(const_cast<T*>(factor) + loops_.walk[f].to_share, share);
  }

  // A conclusion, at a node of the inner loop that these rows have.
  template <Work kWork, int kRows, typename Has>
  STRUCTDEP_INLINE void cell(const Row* rows, int m, const Vec<T>* rest, Vec<T>* total, Has has) const {
    const ptrdiff_t place = rows[0].conclusion + m * loops_.step + lane_;
    T* const value = loops_.value + place;
    if constexpr (kWork == Work::kAssign) {
      store(value, times(rows[0], m, rest[0]));
    } else if constexpr (kWork == Work::kAdd && kNumbers == kLogs) {
      Vec<T> terms[kRows], most = all(-kInf<T>), reference = load(value), sum = load(loops_.sum + place);
      for (int b = 0; b < kRows; ++b)
        if (has(b)) most = larger<T>(most, terms[b] = times(rows[b], m, rest[b]));
      raise<T>(reference, sum, most, value);
      for (int b = 0; b < kRows; ++b)
        if (has(b)) sum += exp2(terms[b] - reference);
      store(loops_.sum + place, sum);
    } else if constexpr (kWork == Work::kAdd) {
      Vec<T> whole = load(value);
      for (int b = 0; b < kRows; ++b)
        if (has(b)) whole = plus<kReal, T>(whole, times(rows[b], m, rest[b]));
      store(value, whole);
    } else {
      const Vec<T> share = load(loops_.share + place);
      // Some beyond the last span have no share, and no product that is theirs.
      const Vec<T> whole = kReal || kWork == Work::kShareAll ? share : share == 0 ? all(kInf<T>) : load(value);
      for (int b = 0; b < kRows; ++b) {
        if (!has(b)) continue;
        Vec<T> weight = share;
        if (kReal) weight *= rest[b];
        if (!kReal && kWork == Work::kShare) weight *= exp2(times(rows[b], m, rest[b]) - whole);
        for (int f = 0; f < F::varying(loops_); ++f)
          add_share(at(rows[b], f, m), f, kReal ? times(rows[b], m, weight, f) : weight);
        total[b] += kReal ? times(rows[b], m, share) : weight;
      }
    }
  }

  const Loops<T>& loops_;
  const ptrdiff_t lane_;
};

// Both loops, for so many vectors beside each other.
template <Work kWork, Numbers kNumbers, typename F, typename T>
void execute(const Loops<T>& loops, int blocks) {
  constexpr int kRows = 4;  // that are joined to one at once, so that it is read and written less often
  using Row = FactorRow<F, T>;
  int node = loops.from;
  if constexpr (kWork != Work::kAssign && kWork != Work::kShareAll && F::kVarying == 1)
    if (loops.along && !loops.across)
      for (; node + kRows - 1 <= loops.to; node += kRows) {
        const Row rows[kRows] = {{loops, node}, {loops, node + 1}, {loops, node + 2}, {loops, node + 3}};
        for (int block = 0; block < blocks; ++block)
          Kernel<kNumbers, F, T>(loops, block * kLanes).template join<kWork, kRows>(rows);
      }
  for (; node <= loops.to; ++node) {
    const Row row(loops, node);
    if (row.first > row.last) continue;
    for (int block = 0; block < blocks; ++block) {
      const Kernel<kNumbers, F, T> kernel(loops, block * kLanes);
      kWork == Work::kAdd && !loops.along ? kernel.sum(row) : kernel.template join<kWork, 1>(&row);
    }
  }
}

// For numbers of factors that the compiler knows.
template <Work kWork, Numbers kNumbers, typename T>
void execute(const Loops<T>& loops, int blocks) {
  switch (std::min(loops.factors, 4) * 4 + loops.varying) {
    case 4:
      return execute<kWork, kNumbers, Form<1, 0>>(loops, blocks);
    case 5:
      return execute<kWork, kNumbers, Form<1, 1>>(loops, blocks);
    case 8:
      return execute<kWork, kNumbers, Form<2, 0>>(loops, blocks);
    case 9:
      return execute<kWork, kNumbers, Form<2, 1>>(loops, blocks);
    case 10:
      return execute<kWork, kNumbers, Form<2, 2>>(loops, blocks);
    case 13:
      return execute<kWork, kNumbers, Form<3, 1>>(loops, blocks);
    case 14:
      return execute<kWork, kNumbers, Form<3, 2>>(loops, blocks);
    case 17:
      return execute<kWork, kNumbers, Form<0, 1>>(loops, blocks);
    case 18:
      return execute<kWork, kNumbers, Form<0, 2>>(loops, blocks);
    default:
      return execute<kWork, kNumbers, Form<0, -1>>(loops, blocks);
  }
}

template <Work kWork, typename T>
void execute(Numbers numbers, const Loops<T>& loops, int blocks) {
  if (numbers == kReals) return execute<kWork, kReals>(loops, blocks);
  if (kWork == Work::kAdd && numbers == kScores) return execute<Work::kAdd, kScores>(loops, blocks);
  execute<kWork, kLogs>(loops, blocks);
}

}  // namespace structdep
