// What is done with a few rows of conclusions' factors at once.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>

#include "inner.h"

namespace structdep {

constexpr int kBeside = 4;   // rows that are joined to one at once
constexpr int kBlocks = 16;  // vectors of each of them at once: as they lie in memory, one after the other

// Rows that are joined to the same conclusions, each where it has some.
template <typename F, typename T>
class Beside {
 public:
  using Own = Run<T, F::kCount>;
  Beside(const Loops<T>& loops, const Own* runs, int blocks) : loops_(loops), runs_(runs), blocks_(blocks) {
    for (int b = 0; b < kBeside; ++b) {
      along_[b] = runs[b].step[0], at_[b] = runs[b].factor[0] - runs[b].first * along_[b];
      const int end = runs[b].first + runs[b].size - 1;
      begin_ = std::min(begin_, runs[b].first), end_ = std::max(end_, end);
      first_ = std::max(first_, runs[b].first), last_ = std::min(last_, end);
    }
  }

  template <Work kWork>
  STRUCTDEP_INLINE void work() {
    if constexpr (is_real(kWork))
      for (int block = 0; block < blocks_; ++block) work_on_reals<kWork>(block * kLanes);
    else
      work_on_all<kWork>();
  }

 private:
  // Calls visit(m, has) for all nodes of the inner loop, where has(b) tells which rows have some there.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_node(Visit visit) const {
    const auto some = [&](int from, int to) {
      for (int m = from; m <= to; ++m)
        visit(m, [&](int b) { return static_cast<unsigned>(m - runs_[b].first) < static_cast<unsigned>(runs_[b].size); });
    };
    if (first_ > last_) return some(begin_, end_);
    some(begin_, first_ - 1);
    for (int m = first_; m <= last_; ++m) visit(m, [](int) { return true; });
    some(last_ + 1, end_);
  }

  // The product of what stays the same, but for one of it.
  template <bool kReal>
  STRUCTDEP_INLINE Vec<T> fixed(int b, ptrdiff_t lane, Vec<T> result = all(kOne<kReal, T>), int but = -1) const {
    for (int f = 1; f < F::factors(loops_); ++f)
      if (f != but) result = product<kReal>(result, load(runs_[b].factor[f] + lane));
    return result;
  }

  // Adds to the derivatives by what stays the same.
  template <typename Whole>
  STRUCTDEP_INLINE void add_fixed(ptrdiff_t lane, Whole whole) const {
    for (int b = 0; b < kBeside; ++b)
      for (int f = 1; f < F::factors(loops_); ++f)
        add(const_cast<T*>(runs_[b].factor[f]) + lane + loops_.walk[f].to_share, whole(b, f));
  }

  ptrdiff_t place(int m) const { return runs_[0].place + (m - runs_[0].first) * loops_.step; }

  // All vectors of a node, and then the next.
  template <Work kWork>
  STRUCTDEP_INLINE void work_on_all() const {
    Vec<T> rest[kBlocks][kBeside], total[kBlocks][kBeside];
    for (int block = 0; block < blocks_; ++block)
      for (int b = 0; b < kBeside; ++b)
        rest[block][b] = fixed<false>(b, block * kLanes), total[block][b] = Vec<T>{};
    const ptrdiff_t to_share = loops_.walk[0].to_share;
    for_each_node([&](int m, auto has) {
      const T* from[kBeside];
      for (int b = 0; b < kBeside; ++b) from[b] = at_[b] + m * along_[b];
      for (int block = 0; block < blocks_; ++block) {
        const ptrdiff_t own = place(m) + block * kLanes;
        if constexpr (kWork == Work::kMax) {
          Vec<T> best = load(loops_.value + own);
          for (int b = 0; b < kBeside; ++b)
            if (has(b)) best = larger<T>(best, rest[block][b] + load(from[b] + block * kLanes));
          store(loops_.value + own, best);
        } else if constexpr (kWork == Work::kSum) {
          Vec<T> term[kBeside], most = all(-kInf<T>), reference = load(loops_.value + own), sum = load(loops_.sum + own);
          for (int b = 0; b < kBeside; ++b)
            if (has(b)) most = larger<T>(most, term[b] = rest[block][b] + load(from[b] + block * kLanes));
          raise<true, T>(reference, sum, most, loops_.value + own);
          for (int b = 0; b < kBeside; ++b)
            if (has(b)) sum += exp2(term[b] - reference);
          store(loops_.sum + own, sum);
        } else {
          const Vec<T> share = load(loops_.share + own);
          const Vec<T> outside = -whole(loops_.value + own, share);
          for (int b = 0; b < kBeside; ++b) {
            if (!has(b)) continue;
            Vec<T> weight = exp2(rest[block][b] + load(from[b] + block * kLanes) + outside);
            if (kWork == Work::kShare) weight *= share;
            add(const_cast<T*>(from[b]) + block * kLanes + to_share, weight);
            total[block][b] += weight;
          }
        }
      }
    });
    if constexpr (shares(kWork))
      for (int block = 0; block < blocks_; ++block) add_fixed(block * kLanes, [&](int b, int) { return total[block][b]; });
  }

  // One vector of all nodes: what stays the same is in registers.
  template <Work kWork>
  STRUCTDEP_INLINE void work_on_reals(ptrdiff_t lane) const {
    Vec<T> rest[kBeside], total[kBeside] = {};
    for (int b = 0; b < kBeside; ++b) rest[b] = fixed<true>(b, lane);
    const ptrdiff_t to_share = loops_.walk[0].to_share;
    for_each_node([&](int m, auto has) {
      const ptrdiff_t own = place(m) + lane;
      if constexpr (kWork == Work::kAddReal) {
        Vec<T> sum = load(loops_.value + own);
        for (int b = 0; b < kBeside; ++b)
          if (has(b)) sum += rest[b] * load(at_[b] + m * along_[b] + lane);
        store(loops_.value + own, sum);
      } else {
        const Vec<T> share = load(loops_.share + own);
        for (int b = 0; b < kBeside; ++b) {
          if (!has(b)) continue;
          const T* const from = at_[b] + m * along_[b] + lane;
          total[b] += share * load(from);
          add(const_cast<T*>(from) + to_share, share * rest[b]);
        }
      }
    });
    if constexpr (shares(kWork)) add_fixed(lane, [&](int b, int f) { return fixed<true>(b, lane, total[b], f); });
  }

  const Loops<T>& loops_;
  const Own* const runs_;
  const int blocks_;
  const T* at_[kBeside];  // rows at node 0, and how far they go with each
  ptrdiff_t along_[kBeside];
  int begin_ = INT_MAX, end_ = INT_MIN, first_ = INT_MIN, last_ = INT_MAX;  // of any row, and of all of them
};

}  // namespace structdep
