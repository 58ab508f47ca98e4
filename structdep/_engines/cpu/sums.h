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
  // Of a family, at a span, on one side. What is not there is nothing: a number of its kind.
  Sums(const Frame& frame, const Family& family, int side, const Nodes& nodes, T nothing)
      : family_(family),
        nothing_(nothing),
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

  template <Numbers kNumbers>
  void compute(T* cells, int blocks) const {
    constexpr bool kAdds = kNumbers == kLogs;
    for_each_cell(blocks, [&](ptrdiff_t at, auto& cell) {
      look(cells + at, cell);
      if (kNumbers == kReals) return add_up(cells + at, cell);
      if (kAdds) raise(cell);
      Mask<T> few{};
      for (int n = cell.leaves; n < cell.size; ++n) {
        const size_t k = cell.here[n];
        __builtin_prefetch(cells + row_[k] + at + kPrefetch, 1);
        for (int w = 0; w < cell.kWide; ++w) {
          cell.value[k][w] = kAdds ? cell.reference[w] + log2(cell.power[k][w]) : cell.greatest(members(k), w);
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

  void share_real(T* shares, int blocks) const {
    for_each_cell(blocks, [&](ptrdiff_t at, auto& cell) {
      for (int n = cell.size; n-- > 0;) {
        const size_t k = cell.here[n];
        T* const own = shares + share_[k] + at;
        __builtin_prefetch(own + kPrefetch, 1);
        for (int w = 0; w < cell.kWide; ++w) cell.rise[k][w] = load(own + w * kLanes);
        add_owners(k, cell, cell.rise[k]);
        for (int w = 0; w < cell.kWide; ++w) store(own + w * kLanes, k < leaves_ ? cell.rise[k][w] : Vec<T>{});
      }
    });
  }

 private:
  static constexpr int kMany = 16 / kLanes;  // vectors of a cell
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

    // Where a sum is small that has a share.
    STRUCTDEP_INLINE Mask<T> small(size_t k, int w) const { return (own[k][w] != 0) & ~(power[k][w] >= kTiny); }
    bool has(size_t m) const { return std::find(here, here + size, m) != here + size; }

    STRUCTDEP_INLINE Vec<T> greatest(const std::vector<uint8_t>& members, int w) const {
      Vec<T> best = all(-kInf<T>);
      for (const size_t m : members) best = larger<T>(best, value[m][w]);
      return best;
    }
  };

  const std::vector<uint8_t>& members(size_t k) const { return family_.members[k - leaves_]; }

  // A few vectors at once, so that what is where is looked up less often.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_cell(int blocks, Visit visit) const {
    Cell<kMany> many;
    Cell<1> one;
    const int rest = blocks % kMany;
    for (int x = begin_; x <= end_; ++x) {
      if (blocks > rest) find(x, many);
      if (rest) find(x, one);
      for (int block = 0; block < blocks - rest; block += kMany) visit(x * step_ + block * kLanes, many);
      for (int block = blocks - rest; block < blocks; ++block) visit(x * step_ + block * kLanes, one);
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
      std::fill_n(cell.value[m], kWide, all(nothing_));
      std::fill_n(cell.power[m], kWide, Vec<T>{});
      std::fill_n(cell.rise[m], kWide, Vec<T>{});
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

  // Sums of real numbers.
  template <int kWide>
  STRUCTDEP_INLINE void add_up(T* cells, Cell<kWide>& cell) const {
    for (int n = cell.leaves; n < cell.size; ++n) {
      const size_t k = cell.here[n];
      __builtin_prefetch(cells + row_[k] + kPrefetch, 1);
      Vec<T> sum[kWide] = {};
      for (const size_t m : members(k))
        for (int w = 0; w < kWide; ++w) sum[w] += cell.value[m][w];
      for (int w = 0; w < kWide; ++w) store(cells + row_[k] + w * kLanes, cell.value[k][w] = sum[w]);
    }
  }

  // The exponentials of leaves, and their sums.
  template <int kWide>
  STRUCTDEP_INLINE void raise(Cell<kWide>& cell) const {
    for (int n = 0; n < cell.leaves; ++n) {
      const size_t m = cell.here[n];
      for (int w = 0; w < kWide; ++w) {
        const Vec<T> less = cell.value[m][w] - cell.reference[w];  // but where there is no cell, and anything in memory
        cell.power[m][w] = exp2(less < 0 ? less : Vec<T>{});
      }
    }
    for (int n = cell.leaves; n < cell.size; ++n) {
      Vec<T> sum[kWide] = {};
      for (const size_t m : members(cell.here[n]))
        for (int w = 0; w < kWide; ++w) sum[w] += cell.power[m][w];
      for (int w = 0; w < kWide; ++w) cell.power[cell.here[n]][w] = sum[w];
    }
  }

  // What rises from an item is its share over its exponential: that of a sum its own, and all that rises from sums it is in.
  template <int kWide>
  STRUCTDEP_INLINE void share_to_leaves(const T* cells, T* shares, Cell<kWide>& cell) const {
    Mask<T> few{};
    for (int n = cell.leaves; n < cell.size; ++n)
      for (int w = 0; w < kWide; ++w) few |= cell.small(cell.here[n], w);
    const bool exact = !none<T>(few);
    for (int n = cell.size; n-- > cell.leaves;) {
      const size_t k = cell.here[n];
      if (exact) share_exactly(k, cells, shares, cell);
      Vec<T> rise[kWide];
      for (int w = 0; w < kWide; ++w) rise[w] = cell.own[k][w] / larger<T>(cell.power[k][w], all(kTiny));
      add_owners(k, cell, rise);
      for (int w = 0; w < kWide; ++w) cell.rise[k][w] = rise[w];
    }
    for (int n = 0; n < cell.leaves; ++n) {
      const size_t k = cell.here[n];
      Vec<T> rise[kWide] = {};
      add_owners(k, cell, rise);
      for (int w = 0; w < kWide; ++w) add(shares + share_[k] + w * kLanes, cell.power[k][w] * rise[w]);
    }
  }

  template <int kWide>
  STRUCTDEP_INLINE void add_owners(size_t k, const Cell<kWide>& cell, Vec<T>* rise) const {
    for (const size_t m : family_.owners[k])
      for (int w = 0; w < kWide; ++w) rise[w] += cell.rise[m][w];
  }

  // Those of the sums that are small.
  template <int kWide>
  void compute_exactly(T* cells, Cell<kWide>& cell) const {
    for (int n = cell.leaves; n < cell.size; ++n)
      for (int w = 0; w < kWide; ++w) {
        const size_t k = cell.here[n];
        const Vec<T> best = cell.greatest(members(k), w), reference = finite<T>(best);
        const Mask<T> small = (cell.power[k][w] < kTiny) & (best > -kInf<T>);
        if (none<T>(small)) continue;
        Vec<T> sum{};
        for (const size_t m : members(k)) sum += exp2(cell.value[m][w] - reference);
        cell.value[k][w] = small ? best + log2(sum) : cell.value[k][w];
        store(cells + row_[k] + w * kLanes, cell.value[k][w]);
      }
  }

  // That of a sum where it is small: it has none then.
  template <int kWide>
  void share_exactly(size_t k, const T* cells, T* shares, Cell<kWide>& cell) const {
    for (int w = 0; w < kWide; ++w) {
      Vec<T>& own = cell.own[k][w];
      const ptrdiff_t at = w * kLanes;
      const Mask<T> direct = cell.small(k, w);
      for (const size_t m : members(k)) {
        if (none<T>(direct) || !cell.has(m)) continue;
        const Vec<T> weight = exp2(load(cells + row_[m] + at) - load(cells + row_[k] + at));
        const Vec<T> part = where<T>(direct, weight * own);
        if (m < leaves_)
          add(shares + share_[m] + at, part);
        else
          cell.own[m][w] += part;
      }
      own = where<T>(~direct, own);
    }
  }

  const Family& family_;
  const T nothing_;
  const size_t size_, leaves_;
  const ptrdiff_t step_;
  ptrdiff_t row_[Family::kMost], share_[Family::kMost];
  Range there_[Family::kMost];           // where each is
  int begin_ = INT_MAX, end_ = INT_MIN;  // and any
};

}  // namespace structdep
