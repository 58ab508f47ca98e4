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
    for_each_cell(blocks, [&](ptrdiff_t at, auto& cell) {
      look(cells + at, cell);
      if (kAdds) raise(cell);
      Mask<T> few{};
      for (int n = cell.leaves; n < cell.size; ++n) {
        const size_t k = cell.here[n];
        for (int w = 0; w < cell.kWide; ++w) {
          cell.value[k][w] = kAdds ? cell.reference[w] + logarithm(cell.power[k][w]) : cell.greatest(members(k), w);
          if (kAdds) few |= cell.power[k][w] < kTiny;
          store(cells + row_[k] + at + w * kLanes, cell.value[k][w]);
        }
      }
      if (kAdds && !none<T>(few)) compute_exactly(cells + at, cell);
    });
  }

  // From the shares of sums, which are zero again, to those of leaves.
  void share(const T* cells, T* shares, int blocks) const {
    for_each_cell(blocks, [&](ptrdiff_t at, auto& cell) {
      Mask<T> any{};
      for (int n = cell.leaves; n < cell.size; ++n) {
        const size_t k = cell.here[n];
        T* const from = shares + share_[k] + at;
        __builtin_prefetch(from + kPrefetch, 1);
        for (int w = 0; w < cell.kWide; ++w) {
          cell.own[k][w] = load(from + w * kLanes), any |= cell.own[k][w] != 0;
          store(from + w * kLanes, Vec<T>{});
        }
      }
      if (none<T>(any)) return;
      look(cells + at, cell);
      raise(cell);
      share_to_leaves(cells + at, shares + at, cell);
    });
  }

 private:
  static constexpr int kPrefetch = 32;  // numbers ahead: there are more rows than the processor foresees
  static constexpr T kTiny = T(1e-20);  // what is less, relative to the greatest leaf, is computed for itself

  // What is there, first the leaves; in a few vectors the values, their exponentials relative to the greatest, and the shares.
  template <int kVectors>
  struct Cell {
    static constexpr int kWide = kVectors;
    int leaves = 0, size = 0;
    uint8_t here[Family::kMost];
    Vec<T> value[Family::kMost][kWide], power[Family::kMost][kWide], own[Family::kMost][kWide], rise[Family::kMost][kWide];
    Vec<T> reference[kWide];

    bool has(size_t m) const { return std::find(here, here + size, m) != here + size; }

    STRUCTDEP_INLINE Vec<T> greatest(const std::vector<uint8_t>& members, int w) const {
      Vec<T> best = all(-kInf<T>);
      for (const size_t m : members) best = larger<T>(best, value[m][w]);
      return best;
    }
  };

  const std::vector<uint8_t>& members(size_t k) const { return family_.members[k - leaves_]; }

  // Two vectors at once, so that what is where is looked up half as often.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_cell(int blocks, Visit visit) const {
    Cell<2> two;
    Cell<1> one;
    for (int x = begin_; x <= end_; ++x) {
      if (blocks > 1) find(x, two);
      if (blocks % 2) find(x, one);
      for (int block = 0; block + 1 < blocks; block += 2) visit(x * step_ + block * kLanes, two);
      if (blocks % 2) visit(x * step_ + (blocks - 1) * kLanes, one);
    }
  }

  template <int kWide>
  void find(int x, Cell<kWide>& cell) const {
    cell.leaves = cell.size = 0;
    for (size_t m = 0; m < size_; ++m) {
      const bool is_here = there_[m].has(x);
      cell.here[cell.size] = m;
      cell.size += is_here, cell.leaves += is_here && m < leaves_;
      if (is_here) continue;
      std::fill_n(cell.value[m], kWide, all(-kInf<T>));
      std::fill_n(cell.power[m], kWide, Vec<T>{});
    }
  }

  // The values of leaves, and the greatest, or 0 where that is -inf.
  template <int kWide>
  STRUCTDEP_INLINE void look(const T* cells, Cell<kWide>& cell) const {
    Vec<T> best[kWide];
    std::fill_n(best, kWide, all(-kInf<T>));
    for (int n = 0; n < cell.leaves; ++n) {
      const size_t m = cell.here[n];
      const T* const from = cells + row_[m];
      __builtin_prefetch(from + kPrefetch);
      for (int w = 0; w < kWide; ++w) best[w] = larger<T>(best[w], cell.value[m][w] = load(from + w * kLanes));
    }
    for (int w = 0; w < kWide; ++w) cell.reference[w] = finite<T>(best[w]);
  }

  // The exponentials of leaves, and their sums.
  template <int kWide>
  STRUCTDEP_INLINE void raise(Cell<kWide>& cell) const {
    for (int n = 0; n < cell.leaves; ++n) {
      const size_t m = cell.here[n];
      for (int w = 0; w < kWide; ++w) cell.power[m][w] = exponential(cell.value[m][w] - cell.reference[w]);
    }
    for (int n = cell.leaves; n < cell.size; ++n) {
      Vec<T> sum[kWide] = {};
      for (const size_t m : members(cell.here[n]))
        for (int w = 0; w < kWide; ++w) sum[w] += cell.power[m][w];
      std::copy_n(sum, kWide, cell.power[cell.here[n]]);
    }
  }

  template <int kWide>
  STRUCTDEP_INLINE void share_to_leaves(const T* cells, T* shares, Cell<kWide>& cell) const {
    for (size_t m = 0; m < size_; ++m) std::fill_n(cell.rise[m], kWide, Vec<T>{});
    for (int n = cell.size; n-- > cell.leaves;) {
      const size_t k = cell.here[n];
      Vec<T>* const rise = cell.rise[k];
      for (int w = 0; w < kWide; ++w) {
        Mask<T> has = cell.own[k][w] != 0;
        if (const Mask<T> direct = has & !(cell.power[k][w] >= kTiny); !none<T>(direct)) {
          share_exactly(k, w, cells, shares, direct, cell);
          has &= ~direct;
        }
        rise[w] += where<T>(has, cell.own[k][w] / cell.power[k][w]);
      }
      for (const size_t m : members(k))
        for (int w = 0; w < kWide; ++w) cell.rise[m][w] += rise[w];
    }
    for (int n = 0; n < cell.leaves; ++n) {
      const size_t m = cell.here[n];
      for (int w = 0; w < kWide; ++w)
        add(shares + share_[m] + w * kLanes, where<T>(cell.rise[m][w] != 0, cell.power[m][w] * cell.rise[m][w]));
    }
  }

  // Those of the sums that are small.
  template <int kWide>
  void compute_exactly(T* cells, Cell<kWide>& cell) const {
    for (int n = cell.leaves; n < cell.size; ++n)
      for (int w = 0; w < kWide; ++w) {
        const size_t k = cell.here[n];
        const Vec<T> best = cell.greatest(members(k), w), reference = finite<T>(best);
        if (none<T>((cell.power[k][w] < kTiny) & (best > -kInf<T>))) continue;
        Vec<T> sum{};
        for (const size_t m : members(k)) sum += exponential(cell.value[m][w] - reference);
        store(cells + row_[k] + w * kLanes, cell.value[k][w] = best + logarithm(sum));
      }
  }

  template <int kWide>
  void share_exactly(size_t k, int w, const T* cells, T* shares, Mask<T> direct, Cell<kWide>& cell) const {
    const ptrdiff_t at = w * kLanes;
    for (const size_t m : members(k)) {
      if (!cell.has(m)) continue;
      const Vec<T> weight = exponential(load(cells + row_[m] + at) - load(cells + row_[k] + at));
      const Vec<T> part = where<T>(direct, weight * cell.own[k][w]);
      if (m < leaves_)
        add(shares + share_[m] + at, part);
      else
        cell.own[m][w] += part;
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
