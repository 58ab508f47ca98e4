// Derivatives by an item of three positions, found where the item is: from what is outside of the wider items that are made of it
// and of what is beside it. Where charts fit no cache, it takes less time to read that than to write to narrower items.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels.h"
#include "loops.h"
#include "vectors.h"

namespace structdep {

// The numbers of an item's cells beside each other: spans of one width, each in some sentences.
struct Lanes {
  int sentences, size;

  // Those with a node so far away on a side.
  int first(int side, int distance) const { return side == kBefore ? distance * sentences : 0; }
  int end(int side, int distance) const { return side == kBehind ? size - distance * sentences : size; }
};

// x in the lanes from the first to the end, counted from that of this vector, else nothing.
template <bool kReal, typename T>
STRUCTDEP_INLINE Vec<T> within(int first, int end, Vec<T> x) {
  if (first <= 0 && end >= kLanes) return x;
  Mask<T> lane;
  for (int m = 0; m < kLanes; ++m) lane[m] = m;
  return ((lane >= first) & (lane < end)) ? x : all(kZero<kReal, T>);
}

// An item joined to what is beside it at a few distances at once, in so many vectors from one on.
template <typename F, bool kShares, bool kReal, typename T>
class Joined {
 public:
  Joined(const Loops<T>& loops, const Lanes& lanes, int node, int from, int blocks)
      : loops_(loops), offset_(from * kLanes), all_end_(blocks), some_first_(blocks) {
    for (int b = 0; b < kBeside; ++b) find(b, lanes, node + b, blocks);
    if (all_first_ >= all_end_) all_first_ = all_end_ = some_first_;
  }

  void share() {
    if (some_first_ >= some_end_) return;
    if constexpr (kReal) return for_each_vector([&](int block, auto has) { share_real(block, has); });
    for (ptrdiff_t m = loops_.first[0]; m <= loops_.last[0]; ++m)
      for_each_vector([&](int block, auto has) { share(m, block, has); });
    for (int b = 0; b < kBeside; ++b)
      for (int block = first_[b]; block < end_[b]; ++block) add_fixed(b, block, [&](int) { return total_[block][b]; });
  }

 private:
  static constexpr int kMoving = F::kVarying > 0 ? F::kVarying : kFactors;

  // Where it is joined at one of the distances, and the product of what stays the same there.
  STRUCTDEP_INLINE void find(int b, const Lanes& lanes, int node, int blocks) {
    const int own = std::min(node, loops_.to);
    const int lane = lane_[b] = lanes.first(loops_.side, own) - offset_;
    const int last = last_[b] = node > loops_.to ? lane : lanes.end(loops_.side, own) - offset_;
    first_[b] = std::max(lane, 0) / kLanes, end_[b] = std::clamp((last + kLanes - 1) / kLanes, first_[b], blocks);
    all_first_ = std::max(all_first_, first_[b]), all_end_ = std::min(all_end_, end_[b]);
    some_first_ = std::min(some_first_, first_[b]), some_end_ = std::max(some_end_, end_[b]);
    for (int f = 0; f < F::factors(loops_); ++f) {
      const Walk<T>& walk = loops_.walk[f];
      factor_[b][f] = walk.of(own) + offset_;
      if (f < F::varying(loops_)) step_[b][f] = walk.step(own);
    }
    for (int block = first_[b]; block < end_[b]; ++block) {
      rest_[block][b] = only(b, block, fixed(b, block, all(kOne<kReal, T>))), total_[block][b] = Vec<T>{};
    }
  }

  // x where it is joined at that distance, else nothing.
  STRUCTDEP_INLINE Vec<T> only(int b, int block, Vec<T> x) const {
    return within<kReal, T>(lane_[b] - block * kLanes, last_[b] - block * kLanes, x);
  }

  // The product of what stays the same, but for one of it.
  STRUCTDEP_INLINE Vec<T> fixed(int b, int block, Vec<T> result, int but = -1) const {
    for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
      if (f != but) result = product<kReal>(result, load(factor_[b][f] + block * kLanes));
    return result;
  }

  // Adds to the derivatives by what stays the same.
  template <typename Whole>
  STRUCTDEP_INLINE void add_fixed(int b, int block, Whole whole) const {
    for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
      if (!loops_.walk[f].is_outside)
        add(const_cast<T*>(factor_[b][f]) + block * kLanes + loops_.walk[f].to_share, whole(f));
  }

  // Adds to the derivatives by what varies, if it has some, at a node of the third position.
  template <typename Weight>
  STRUCTDEP_INLINE void add_varying(int b, int block, ptrdiff_t m, Weight weight) const {
    if constexpr (!kShares) return;
    for (int f = 0; f < F::varying(loops_); ++f)
      if (F::kVarying == 1 || !loops_.walk[f].is_outside)
        add(const_cast<T*>(factor_[b][f]) + m * step_[b][f] + block * kLanes + loops_.walk[f].to_share, weight(f));
  }

  // Calls visit(block, has) for all vectors, where has(b) tells at which distances it is joined there.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_vector(Visit visit) const {
    const auto some = [&](int block) { visit(block, [&](int b) { return first_[b] <= block && block < end_[b]; }); };
    for (int block = some_first_; block < all_first_; ++block) some(block);
    for (int block = all_first_; block < all_end_; ++block) visit(block, [](int) { return true; });
    for (int block = all_end_; block < some_end_; ++block) some(block);
  }

  ptrdiff_t place(int block, ptrdiff_t m) const { return loops_.place + m * loops_.step + offset_ + block * kLanes; }

  // The product of what varies, but for one of it, at a node of the third position.
  STRUCTDEP_INLINE Vec<T> varying(int b, int block, ptrdiff_t m, Vec<T> result, int but = -1) const {
    for (int f = 0; f < F::varying(loops_); ++f)
      if (f != but) result = product<kReal>(result, load(factor_[b][f] + m * step_[b][f] + block * kLanes));
    return result;
  }

  // At a node of the third position, in a vector.
  template <typename Has>
  STRUCTDEP_INLINE void share(ptrdiff_t m, int block, Has has) {
    const Vec<T> value = load(loops_.value + place(block, m));
    Vec<T> sum{};
    for (int b = 0; b < kBeside; ++b) {
      if (!has(b)) continue;
      const Vec<T> weight = exp2(varying(b, block, m, rest_[block][b] + value));
      add_varying(b, block, m, [&](int) { return weight; });
      sum += weight, total_[block][b] += weight;
    }
    add(const_cast<T*>(loops_.share) + place(block, m), sum);
  }

  // Real numbers at all nodes of the third position, in a vector.
  template <typename Has>
  STRUCTDEP_INLINE void share_real(int block, Has has) const {
    Vec<T> rest[kBeside], total[kBeside] = {};
    for (int b = 0; b < kBeside; ++b) rest[b] = rest_[block][b];
    for (ptrdiff_t m = loops_.first[0]; m <= loops_.last[0]; ++m) {
      const ptrdiff_t own = place(block, m);
      const Vec<T> value = load(loops_.value + own);
      __builtin_prefetch(loops_.value + own + kLanes), __builtin_prefetch(loops_.share + own + kLanes, 1);
      Vec<T> sum{};
      for (int b = 0; b < kBeside; ++b) {
        if (!has(b)) continue;
        const Vec<T> outside = varying(b, block, m, all(T{1}));
        add_varying(b, block, m, [&](int f) { return varying(b, block, m, value * rest[b], f); });
        sum += outside * rest[b];
        total[b] += outside * value;
      }
      add(const_cast<T*>(loops_.share) + own, sum);
    }
    for (int b = 0; b < kBeside; ++b)
      if (has(b)) add_fixed(b, block, [&](int f) { return only(b, block, fixed(b, block, total[b], f)); });
  }

  const Loops<T>& loops_;
  const int offset_;
  int lane_[kBeside], last_[kBeside];  // the first lane at each of the distances, and that behind the last
  int first_[kBeside], end_[kBeside];  // the vectors there, at all of them, and at any
  int all_first_ = 0, all_end_, some_first_, some_end_ = 0;
  const T* factor_[kBeside][F::kCount];
  ptrdiff_t step_[kBeside][kMoving];
  Vec<T> rest_[kBlocks][kBeside], total_[kBlocks][kBeside];
};

template <typename F, bool kShares, bool kReal, typename T>
void share_joined(const Loops<T>& loops, const Lanes& lanes) {
  const int blocks = (lanes.size + kLanes - 1) / kLanes;
  for (int node = loops.from; node <= loops.to; node += kBeside)
    for (int from = 0; from < blocks; from += kBlocks)
      Joined<F, kShares, kReal, T>(loops, lanes, node, from, std::min(blocks - from, kBlocks)).share();
}

template <bool kReal, typename T>
void share_by_reading(const Loops<T>& loops, const Lanes& lanes) {
  const bool shares = loops.varying != 1 || !loops.walk[0].is_outside;
  if (loops.varying == 1 && loops.factors == 2 && !shares) return share_joined<Form<2, 1>, false, kReal>(loops, lanes);
  if (loops.varying == 1 && loops.factors == 3 && !shares) return share_joined<Form<3, 1>, false, kReal>(loops, lanes);
  if (loops.varying == 1 && loops.factors == 3) return share_joined<Form<3, 1>, true, kReal>(loops, lanes);
  return share_joined<Form<0, -1>, true, kReal>(loops, lanes);
}

}  // namespace structdep
