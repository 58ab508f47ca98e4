// Items that are sums of others at their own positions, all of them at once: no exponential is computed twice.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frame.h"
#include "vectors.h"

namespace structdep {

template <typename T>
class Sums {
 public:
  // Of a family, at a span, on one side.
  Sums(const Frame& frame, const Family& family, int side, const Nodes& nodes)
      : family_(family),
        size_(family.items.size()),
        leaves_(family.leaves),
        step_(frame.home(family.items[0], side).step(nodes.at[kStart], nodes.at[kEnd])) {
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    for (size_t m = 0; m < size_; ++m) {
      const int number = family.items[m];
      const Home& home = frame.home(number, side);
      row_[m] = home.at(start, end), share_[m] = home.share_at(start, end);
      for (const Region& region : frame.program.items[number].cells)
        if (region.side == side) there_[m] = region.thirds(nodes);
      if (!there_[m].size()) continue;
      begin_ = std::min(begin_, there_[m].first), end_ = std::max(end_, there_[m].last);
    }
  }

  template <bool kAdds>
  void compute(T* cells, int blocks) const {
    for_each_cell(blocks, [&](ptrdiff_t at, Cell& cell) {
      Vec<T>* const value = cell.value;
      const Vec<T> reference = look(cells + at, cell);
      Mask<T> few{};
      if (kAdds) raise(cell, reference);
      for (int n = cell.leaves; n < cell.size; ++n) {
        const size_t k = cell.here[n];
        value[k] = kAdds ? reference + logarithm(cell.power[k]) : greatest(k, value);
        if (kAdds) few |= cell.power[k] < kTiny;
        store(cells + row_[k] + at, value[k]);
      }
      if (kAdds && !none<T>(few)) compute_exactly(cells + at, cell);
    });
  }

  // From the shares of sums, which are zero again, to those of leaves.
  void share(const T* cells, T* shares, int blocks) const {
    Vec<T> own[Family::kMost], rise[Family::kMost];
    for_each_cell(blocks, [&](ptrdiff_t at, Cell& cell) {
      Mask<T> any{};
      for (int n = cell.leaves; n < cell.size; ++n) {
        T* const from = shares + share_[cell.here[n]] + at;
        own[cell.here[n]] = load(from), any |= own[cell.here[n]] != 0;
        __builtin_prefetch(from + kPrefetch, 1);
        store(from, Vec<T>{});
      }
      if (none<T>(any)) return;
      raise(cell, look(cells + at, cell));
      std::fill_n(rise, size_, Vec<T>{});
      for (int n = cell.size; n-- > cell.leaves;) {
        const size_t k = cell.here[n];
        Mask<T> has = own[k] != 0;
        if (const Mask<T> direct = has & !(cell.power[k] >= kTiny); !none<T>(direct)) {
          share_exactly(k, cells + at, shares + at, cell, direct, own);
          has &= ~direct;
        }
        rise[k] += where<T>(has, own[k] / cell.power[k]);
        for (const size_t m : members(k)) rise[m] += rise[k];
      }
      for (int n = 0; n < cell.leaves; ++n) {
        const size_t m = cell.here[n];
        add(shares + share_[m] + at, where<T>(rise[m] != 0, cell.power[m] * rise[m]));
      }
    });
  }

 private:
  static constexpr int kPrefetch = 32;  // numbers ahead: there are more rows than the processor foresees
  static constexpr T kTiny = T(1e-20);  // what is less, relative to the greatest leaf, is computed for itself

  // What is there, first the leaves; the values, and their exponentials relative to the greatest.
  struct Cell {
    int leaves = 0, size = 0;
    uint8_t here[Family::kMost];
    Vec<T> value[Family::kMost], power[Family::kMost];

    bool has(size_t m) const { return std::find(here, here + size, m) != here + size; }
  };

  const std::vector<uint8_t>& members(size_t k) const { return family_.members[k - leaves_]; }

  template <typename Visit>
  STRUCTDEP_INLINE void for_each_cell(int blocks, Visit visit) const {
    Cell cell;
    for (int x = begin_; x <= end_; ++x) {
      cell.leaves = cell.size = 0;
      for (size_t m = 0; m < size_; ++m) {
        const bool is_here = there_[m].has(x);
        cell.here[cell.size] = m;
        cell.size += is_here, cell.leaves += is_here && m < leaves_;
        if (!is_here) cell.value[m] = all(-kInf<T>), cell.power[m] = Vec<T>{};
      }
      for (int block = 0; block < blocks; ++block) visit(x * step_ + block * kLanes, cell);
    }
  }

  // The values of leaves. Returns the greatest, or 0 where that is -inf.
  STRUCTDEP_INLINE Vec<T> look(const T* cells, Cell& cell) const {
    Vec<T> best = all(-kInf<T>);
    for (int n = 0; n < cell.leaves; ++n) {
      const size_t m = cell.here[n];
      best = larger<T>(best, cell.value[m] = load(cells + row_[m]));
      __builtin_prefetch(cells + row_[m] + kPrefetch);
    }
    return finite<T>(best);
  }

  // The exponentials of leaves, and their sums.
  STRUCTDEP_INLINE void raise(Cell& cell, Vec<T> reference) const {
    for (int n = 0; n < cell.leaves; ++n) cell.power[cell.here[n]] = exponential(cell.value[cell.here[n]] - reference);
    for (int n = cell.leaves; n < cell.size; ++n) {
      Vec<T> sum{};
      for (const size_t m : members(cell.here[n])) sum += cell.power[m];
      cell.power[cell.here[n]] = sum;
    }
  }

  STRUCTDEP_INLINE Vec<T> greatest(size_t k, const Vec<T>* value) const {
    Vec<T> best = all(-kInf<T>);
    for (const size_t m : members(k)) best = larger<T>(best, value[m]);
    return best;
  }

  // Those of the sums that are small.
  void compute_exactly(T* cells, Cell& cell) const {
    for (int n = cell.leaves; n < cell.size; ++n) {
      const size_t k = cell.here[n];
      const Vec<T> best = greatest(k, cell.value);
      if (none<T>((cell.power[k] < kTiny) & (best > -kInf<T>))) continue;
      store(cells + row_[k], cell.value[k] = exactly(k, best, cell.value));
    }
  }

  Vec<T> exactly(size_t k, Vec<T> best, const Vec<T>* value) const {
    const Vec<T> reference = finite<T>(best);
    Vec<T> sum{};
    for (const size_t m : members(k)) sum += exponential(value[m] - reference);
    return best + logarithm(sum);
  }

  void share_exactly(size_t k, const T* cells, T* shares, const Cell& cell, Mask<T> direct, Vec<T>* own) const {
    for (const size_t m : members(k)) {
      if (!cell.has(m)) continue;
      const Vec<T> weight = exponential(load(cells + row_[m]) - load(cells + row_[k]));
      const Vec<T> part = where<T>(direct, weight * own[k]);
      if (m < leaves_)
        add(shares + share_[m], part);
      else
        own[m] += part;
    }
  }

  const Family& family_;
  const size_t size_, leaves_;
  const ptrdiff_t step_;
  ptrdiff_t row_[Family::kMost], share_[Family::kMost];
  Range there_[Family::kMost];           // where each is
  int begin_ = INT_MAX, end_ = INT_MIN;  // and any
};

}  // namespace structdep
