// Products without sums that make one row of conclusions, all of them at once.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>

#include "kernels.h"
#include "preparation.h"

namespace structdep {

template <typename T>
class Alternatives {
 public:
  // Whether there are some such, and no other products.
  static bool fit(const Preparation<T>& products) {
    if (products.size() < 2 || products.size() > kMost) return false;
    const Loops<T>& first = *products.begin();
    return std::all_of(products.begin(), products.end(), [&](const Loops<T>& own) {
      return (own.along || own.alone) && !own.nested && own.place == first.place &&
             own.step == first.step && own.factors <= kMostFactors;
    });
  }

  explicit Alternatives(const Preparation<T>& products)
      : count_(products.size()), along_(products.begin()->step), place_(products.begin()->place) {
    for (int p = 0; p < count_; ++p) {
      const Loops<T>& own = products.begin()[p];
      for (int f = 0; f < own.factors; ++f) {
        at_[p][f] = own.walk[f].of(0), step_[p][f] = own.walk[f].step(0);
        to_[p][f] = const_cast<T*>(at_[p][f]) + own.walk[f].to_share;
      }
      factors_[p] = own.factors, first_[p] = own.alone ? 0 : own.first[0], last_[p] = own.alone ? 0 : own.last[0];
      begin_ = std::min(begin_, first_[p]), end_ = std::max(end_, last_[p] + 1);
      all_from_ = std::max(all_from_, first_[p]), all_to_ = std::min(all_to_, last_[p] + 1);
    }
    if (all_from_ >= all_to_) all_from_ = all_to_ = begin_;
  }

  ptrdiff_t place() const { return place_ + begin_ * along_; }
  int size() const { return end_ - begin_; }

  template <Numbers kNumbers>
  void compute(T* values, int blocks) const {
    constexpr bool kReal = kNumbers == kReals;
    for_each_cell(blocks, [&](ptrdiff_t m, ptrdiff_t block, auto has) {
      Vec<T> own[kMost], best = all(kZero<kReal, T>);
      for (int p = 0; p < count_; ++p)
        if (has(p)) best = plus<kReal, T>(best, own[p] = value<kReal>(p, m, block));
      if (kNumbers == kLogs) {
        const Vec<T> reference = finite<T>(best);
        Vec<T> sum{};
        for (int p = 0; p < count_; ++p)
          if (has(p)) sum += exp2(own[p] - reference);
        best += log2(sum);
      }
      store(values + place_ + m * along_ + block, best);
    });
  }

  void share(const T* values, const T* shares, int blocks) const {
    for_each_cell(blocks, [&](ptrdiff_t m, ptrdiff_t block, auto has) {
      const ptrdiff_t place = place_ + m * along_ + block;
      const Vec<T> share = load(shares + place), reference = whole(values + place, share);
      for (int p = 0; p < count_; ++p) {
        if (!has(p)) continue;
        const Vec<T> weight = exp2(value<false>(p, m, block) - reference) * share;
        for (int f = 0; f < factors_[p]; ++f) add(to_[p][f] + m * step_[p][f] + block, weight);
      }
    });
  }

  void share_real(const T* shares, int blocks) const {
    for_each_cell(blocks, [&](ptrdiff_t m, ptrdiff_t block, auto has) {
      const Vec<T> share = load(shares + place_ + m * along_ + block);
      for (int p = 0; p < count_; ++p) {
        if (!has(p)) continue;
        for (int f = 0; f < factors_[p]; ++f) add(to_[p][f] + m * step_[p][f] + block, value<true>(p, m, block, share, f));
      }
    });
  }

 private:
  static constexpr int kMost = 12, kMostFactors = 4;

  // The product of the factors, but for one of them.
  template <bool kReal>
  STRUCTDEP_INLINE Vec<T> value(int p, ptrdiff_t m, ptrdiff_t block, Vec<T> result = all(kOne<kReal, T>), int but = -1) const {
    for (int f = 0; f < factors_[p]; ++f)
      if (f != but) result = product<kReal>(result, load(at_[p][f] + m * step_[p][f] + block));
    return result;
  }

  // Calls visit(place in the row, block, whether a product is there).
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_cell(int blocks, Visit visit) const {
    for (ptrdiff_t block = 0; block < blocks * kLanes; block += kLanes) {
      const auto some = [&](ptrdiff_t m) { visit(m, block, [&](int p) { return first_[p] <= m && m <= last_[p]; }); };
      for (ptrdiff_t m = begin_; m < all_from_; ++m) some(m);
      for (ptrdiff_t m = all_from_; m < all_to_; ++m) visit(m, block, [](int) { return true; });
      for (ptrdiff_t m = all_to_; m < end_; ++m) some(m);
    }
  }

  int count_, factors_[kMost], first_[kMost], last_[kMost];
  int begin_ = INT_MAX, end_ = INT_MIN, all_from_ = INT_MIN, all_to_ = INT_MAX;
  ptrdiff_t along_, place_, step_[kMost][kMostFactors];
  const T* at_[kMost][kMostFactors];
  T* to_[kMost][kMostFactors];
};

}  // namespace structdep
