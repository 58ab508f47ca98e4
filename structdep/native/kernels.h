// What is done in the two innermost loops: products of a conclusion along a row of it, or summed, in vectors of cells.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>

#include "loops.h"
#include "vectors.h"

namespace structdep {

constexpr int kBeside = 4;   // rows that are joined to one at once
constexpr int kBlocks = 16;  // vectors of each of them at once: as they lie in memory, one after the other
constexpr int kAhead = 6;    // nodes for which memory is asked in advance

enum class Work { kAssign, kMax, kSum, kShare, kOutside, kPass };

// The product of the factors that stay the same in the inner loop.
template <typename F, typename T, typename R>
STRUCTDEP_INLINE Vec<T> fixed(const Loops<T>& loops, const R& run) {
  Vec<T> result{};
  for (int f = F::varying(loops); f < F::factors(loops); ++f) result += load(run.factor[f]);
  return result;
}

template <typename F, typename T, typename R>
STRUCTDEP_INLINE Vec<T> times(const Loops<T>& loops, const R& run, ptrdiff_t m, Vec<T> result) {
  for (int f = 0; f < F::varying(loops); ++f) result += load(run.factor[f] + m * run.step[f]);
  return result;
}

template <typename F, typename T, typename R>
STRUCTDEP_INLINE void maximize(const Loops<T>& loops, const R& run) {
  const Vec<T> rest = fixed<F>(loops, run);
  T* const value = loops.value + run.place;
  if (loops.along) {
    for (ptrdiff_t m = 0; m < run.size; ++m) {
      T* const own = value + m * loops.step;
      store(own, larger<T>(load(own), times<F>(loops, run, m, rest)));
    }
    return;
  }
  Vec<T> best = load(value);
  ptrdiff_t m = 0;
  if (run.size > 3) {  // four, as each waits for itself
    Vec<T> other[3] = {best, best, best};
    for (; m + 3 < run.size; m += 4) {
      best = larger<T>(best, times<F>(loops, run, m, rest));
      for (int n = 0; n < 3; ++n) other[n] = larger<T>(other[n], times<F>(loops, run, m + n + 1, rest));
    }
    best = larger<T>(larger<T>(best, other[0]), larger<T>(other[1], other[2]));
  }
  for (; m < run.size; ++m) best = larger<T>(best, times<F>(loops, run, m, rest));
  store(value, best);
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
  const Vec<T> rest = fixed<F>(loops, run);
  T *const total = loops.sum + run.place, *const value = loops.value + run.place;
  if (loops.along) {
    for (ptrdiff_t m = 0; m < run.size; ++m) {
      T* const own = total + m * loops.step;
      const Vec<T> term = times<F>(loops, run, m, rest);
      Vec<T> reference = load(value + m * loops.step), sum = load(own);
      raise<false, T>(reference, sum, term, value + m * loops.step);
      store(own, sum + exp2(term - reference));
    }
    return;
  }
  Vec<T> most = all(-kInf<T>), reference = load(value), own = load(total);
  for (ptrdiff_t m = 0; m < run.size; ++m) most = larger<T>(most, times<F>(loops, run, m, rest));
  raise<false, T>(reference, own, most, value);
  const Vec<T> relative = rest - reference;
  for (ptrdiff_t m = 0; m < run.size; ++m) own += exp2(times<F>(loops, run, m, relative));
  store(total, own);
}

// The value of a conclusion that has a share, else more than any product: some beyond the last span are none of its own.
template <typename T>
STRUCTDEP_INLINE Vec<T> whole(const T* value, Vec<T> share) {
  return share == 0 ? all(kInf<T>) : load(value);
}

// Adds the conclusion's share to those of its factors: all of it where it is one product, else by the product's weight, as its
// share or what is outside of it tells.
template <Work kWork, typename F, typename T, typename R>
STRUCTDEP_INLINE void share(const Loops<T>& loops, const R& run) {
  const Vec<T> rest = fixed<F>(loops, run);
  const T *const value = loops.value + run.place, *const own = loops.share + run.place;
  if (kWork != Work::kOutside && !loops.along && none<T>(load(own) != 0)) return;
  T* to[R::kSize];
  for (int f = 0; f < F::factors(loops); ++f) to[f] = const_cast<T*>(run.factor[f]) + loops.walk[f].to_share;
  Vec<T> total{};
  for (ptrdiff_t m = 0; m < run.size; ++m) {
    Vec<T> weight = load(own + m * loops.step);
    if (kWork == Work::kShare) weight *= exp2(times<F>(loops, run, m, rest) - whole(value + m * loops.step, weight));
    if (kWork == Work::kOutside) weight = exp2(times<F>(loops, run, m, rest) + weight);
    for (int f = 0; f < F::varying(loops); ++f) add(to[f] + m * run.step[f], weight);
    total += weight;
  }
  for (int f = F::varying(loops); f < F::factors(loops); ++f) add(to[f], total);
}

template <Work kWork, typename F, typename T, typename R>
STRUCTDEP_INLINE void inner(const Loops<T>& loops, const R& run) {
  if constexpr (kWork == Work::kAssign) {
    const Vec<T> rest = fixed<F>(loops, run);
    for (ptrdiff_t m = 0; m < run.size; ++m)
      store(loops.value + run.place + m * loops.step, times<F>(loops, run, m, rest));
  }
  if constexpr (kWork == Work::kMax) maximize<F>(loops, run);
  if constexpr (kWork == Work::kSum) sum<F>(loops, run);
  if constexpr (kWork >= Work::kShare) share<kWork, F>(loops, run);
}

// Rows that are joined to the same conclusions, each where it has some, for so many vectors beside each other.
template <Work kWork, typename F, typename T, typename R>
STRUCTDEP_INLINE void inner_beside(const Loops<T>& loops, const R* runs, int blocks) {
  Vec<T> rest[kBlocks][kBeside], total[kBlocks][kBeside];
  const T* at[kBeside];
  ptrdiff_t along[kBeside];
  int begin = INT_MAX, end = INT_MIN, first = INT_MIN, last = INT_MAX;  // of any row, and of all of them
  for (int b = 0; b < kBeside; ++b) {
    R run = runs[b];
    along[b] = run.step[0], at[b] = run.factor[0] - run.first * along[b];
    begin = std::min(begin, run.first), end = std::max(end, run.first + run.size - 1);
    first = std::max(first, run.first), last = std::min(last, run.first + run.size - 1);
    for (int block = 0; block < blocks; ++block) {
      rest[block][b] = fixed<F>(loops, run), total[block][b] = Vec<T>{};
      for (int f = 1; f < F::factors(loops); ++f) run.factor[f] += kLanes;
    }
  }
  const ptrdiff_t place = runs[0].place - runs[0].first * loops.step, to_share = loops.walk[0].to_share;
  const auto join = [&](int m, auto has) {
    const T* from[kBeside];
    for (int b = 0; b < kBeside; ++b) from[b] = at[b] + m * along[b];
    for (int block = 0; block < blocks; ++block) {
      const ptrdiff_t own = place + m * loops.step + block * kLanes;
      if constexpr (kWork == Work::kMax) {
        Vec<T> best = load(loops.value + own);
        for (int b = 0; b < kBeside; ++b)
          if (has(b)) best = larger<T>(best, rest[block][b] + load(from[b] + block * kLanes));
        store(loops.value + own, best);
      } else if constexpr (kWork == Work::kSum) {
        Vec<T> term[kBeside], most = all(-kInf<T>), reference = load(loops.value + own), sum = load(loops.sum + own);
        for (int b = 0; b < kBeside; ++b)
          if (has(b)) most = larger<T>(most, term[b] = rest[block][b] + load(from[b] + block * kLanes));
        raise<true, T>(reference, sum, most, loops.value + own);
        for (int b = 0; b < kBeside; ++b)
          if (has(b)) sum += exp2(term[b] - reference);
        store(loops.sum + own, sum);
      } else {
        const Vec<T> share = load(loops.share + own);
        const Vec<T> outside = kWork == Work::kOutside ? share : -whole(loops.value + own, share);
        for (int b = 0; b < kBeside; ++b) {
          if (!has(b)) continue;
          Vec<T> weight = exp2(rest[block][b] + load(from[b] + block * kLanes) + outside);
          if (kWork == Work::kShare) weight *= share;
          add(const_cast<T*>(from[b]) + block * kLanes + to_share, weight);
          total[block][b] += weight;
        }
      }
    }
  };
  const auto some = [&](int from, int to) {
    for (int m = from; m <= to; ++m)
      join(m, [&](int b) { return static_cast<unsigned>(m - runs[b].first) < static_cast<unsigned>(runs[b].size); });
  };
  if (first > last) {
    some(begin, end);
  } else {
    some(begin, first - 1);
    for (int m = first; m <= last; ++m) join(m, [](int) { return true; });
    some(last + 1, end);
  }
  if constexpr (kWork >= Work::kShare)
    for (int b = 0; b < kBeside; ++b)
      for (int f = 1; f < F::factors(loops); ++f)
        for (int block = 0; block < blocks; ++block)
          add(const_cast<T*>(runs[b].factor[f]) + block * kLanes + loops.walk[f].to_share, total[block][b]);
}

// Both loops, for so many vectors beside each other.
template <Work kWork, typename F, typename T>
void middle(const Loops<T>& loops, int blocks) {
  using Own = Run<T, F::kCount>;
  const auto at = [&](ptrdiff_t node, ptrdiff_t block) {
    Own run;
    run.first = std::max(loops.first[0], loops.first[1] + static_cast<int>(node));
    run.size = std::min(loops.last[0], loops.last[1] + static_cast<int>(node)) - run.first + 1;
    run.place = loops.place + block + loops.across * node + loops.step * run.first;
    for (int f = 0; f < F::factors(loops); ++f) {
      run.step[f] = loops.walk[f].step(node);
      run.factor[f] = loops.walk[f].of(node) + run.step[f] * run.first + block;
    }
    return run;
  };
  int node = loops.from;
  if constexpr (kWork != Work::kAssign && kWork != Work::kPass && F::kVarying == 1) {
    if (loops.along && !loops.across) {
      for (; node + kBeside - 1 <= loops.to; node += kBeside)
        for (int block = 0; block < blocks; block += kBlocks) {
          Own runs[kBeside];
          for (int b = 0; b < kBeside; ++b) {
            runs[b] = at(node + b, block * kLanes);
            runs[b].size = std::max(runs[b].size, 0);
          }
          inner_beside<kWork, F>(loops, runs, std::min(blocks - block, kBlocks));
        }
    }
  }
  for (; node <= loops.to; ++node) {
    Own run = at(node, 0);
    if (run.size <= 0) continue;
    for (int block = 0; block < blocks; ++block, run.go_on(kLanes, F::factors(loops))) inner<kWork, F>(loops, run);
  }
}

// Where there is no inner loop: the nodes of the middle one lie apart.
template <Work kWork, typename F, typename T>
void middle_alone(const Loops<T>& loops, int blocks) {
  Run<T, F::kCount> run;
  run.first = 0, run.size = 1;
  for (ptrdiff_t node = loops.from; node <= loops.to; ++node) {
    const ptrdiff_t ahead = std::min<ptrdiff_t>(node + kAhead, loops.to);
    for (ptrdiff_t block = 0; block < blocks * kLanes; block += kLanes) {
      run.place = loops.place + block + loops.across * node;
      for (int f = 0; f < F::factors(loops); ++f) {
        run.factor[f] = loops.walk[f].of(node) + block;
        const T* const next = loops.walk[f].of(ahead) + block;
        __builtin_prefetch(next);
        if constexpr (kWork >= Work::kShare) __builtin_prefetch(next + loops.walk[f].to_share, 1);
      }
      inner<kWork, F>(loops, run);
    }
  }
}

template <Work kWork, typename T>
void execute(const Loops<T>& loops, int blocks) {
  if (loops.alone) {
    switch (loops.factors) {
      case 1:
        return middle_alone<kWork, Form<1, 0>>(loops, blocks);
      case 2:
        return middle_alone<kWork, Form<2, 0>>(loops, blocks);
      default:
        return middle_alone<kWork, Form<0, 0>>(loops, blocks);
    }
  }
  switch (std::min(loops.factors, 4) * 4 + loops.varying) {
    case 4:
      return middle<kWork, Form<1, 0>>(loops, blocks);
    case 5:
      return middle<kWork, Form<1, 1>>(loops, blocks);
    case 8:
      return middle<kWork, Form<2, 0>>(loops, blocks);
    case 9:
      return middle<kWork, Form<2, 1>>(loops, blocks);
    case 10:
      return middle<kWork, Form<2, 2>>(loops, blocks);
    case 13:
      return middle<kWork, Form<3, 1>>(loops, blocks);
    case 14:
      return middle<kWork, Form<3, 2>>(loops, blocks);
    case 17:
      return middle<kWork, Form<0, 1>>(loops, blocks);
    case 18:
      return middle<kWork, Form<0, 2>>(loops, blocks);
    default:
      return middle<kWork, Form<0, -1>>(loops, blocks);
  }
}

}  // namespace structdep
