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

// x in the lanes from the first to the end, counted from that of this vector, else -inf.
template <typename T>
STRUCTDEP_INLINE Vec<T> within(int first, int end, Vec<T> x) {
  if (first <= 0 && end >= kLanes) return x;
  Mask<T> lane;
  for (int m = 0; m < kLanes; ++m) lane[m] = m;
  return ((lane >= first) & (lane < end)) ? x : all(-kInf<T>);
}

// An item joined to what is beside it at a few distances at once, in so many vectors from one on.
template <typename F, bool kShares, typename T>
class Joined {
 public:
  Joined(const Loops<T>& loops, const Lanes& lanes, int node, int from, int blocks)
      : loops_(loops), offset_(from * kLanes), all_end_(blocks), some_first_(blocks) {
    for (int b = 0; b < kBeside; ++b) find(b, lanes, node + b, blocks);
    if (all_first_ >= all_end_) all_first_ = all_end_ = some_first_;
  }

  void share() {
    if (some_first_ >= some_end_) return;
    for (ptrdiff_t m = loops_.first[0]; m <= loops_.last[0]; ++m) share(m);
    for (int b = 0; b < kBeside; ++b)
      for (int f = F::varying(loops_); f < F::factors(loops_); ++f)
        if (!loops_.walk[f].is_outside)
          for (int block = first_[b]; block < end_[b]; ++block)
            add(const_cast<T*>(factor_[b][f]) + block * kLanes + loops_.walk[f].to_share, total_[block][b]);
  }

 private:
  static constexpr int kMoving = F::kVarying > 0 ? F::kVarying : kFactors;

  // Where it is joined at one of the distances, and the product of what stays the same there.
  STRUCTDEP_INLINE void find(int b, const Lanes& lanes, int node, int blocks) {
    const int own = std::min(node, loops_.to);
    const int lane = lanes.first(loops_.side, own) - offset_;
    const int last = node > loops_.to ? lane : lanes.end(loops_.side, own) - offset_;
    first_[b] = std::max(lane, 0) / kLanes, end_[b] = std::clamp((last + kLanes - 1) / kLanes, first_[b], blocks);
    all_first_ = std::max(all_first_, first_[b]), all_end_ = std::min(all_end_, end_[b]);
    some_first_ = std::min(some_first_, first_[b]), some_end_ = std::max(some_end_, end_[b]);
    for (int f = 0; f < F::factors(loops_); ++f) {
      const Walk<T>& walk = loops_.walk[f];
      factor_[b][f] = walk.of(own) + offset_;
      if (f < F::varying(loops_)) step_[b][f] = walk.step(own);
    }
    for (int block = first_[b]; block < end_[b]; ++block) {
      Vec<T> fixed{};
      for (int f = F::varying(loops_); f < F::factors(loops_); ++f) fixed += load(factor_[b][f] + block * kLanes);
      rest_[block][b] = within<T>(lane - block * kLanes, last - block * kLanes, fixed), total_[block][b] = Vec<T>{};
    }
  }

  // At a node of its third position.
  STRUCTDEP_INLINE void share(ptrdiff_t m) {
    const ptrdiff_t place = loops_.place + m * loops_.step + offset_;
    const T* at[kBeside][kMoving];
    for (int b = 0; b < kBeside; ++b)
      for (int f = 0; f < F::varying(loops_); ++f) at[b][f] = factor_[b][f] + m * step_[b][f];
    const auto join = [&](int block, auto has) {
      const Vec<T> value = load(loops_.value + place + block * kLanes);
      Vec<T> sum{};
      for (int b = 0; b < kBeside; ++b) {
        if (!has(b)) continue;
        Vec<T> term = rest_[block][b] + value;
        for (int f = 0; f < F::varying(loops_); ++f) term += load(at[b][f] + block * kLanes);
        const Vec<T> weight = exp2(term);
        if constexpr (kShares)
          for (int f = 0; f < F::varying(loops_); ++f)
            if (F::kVarying == 1 || !loops_.walk[f].is_outside)
              add(const_cast<T*>(at[b][f]) + block * kLanes + loops_.walk[f].to_share, weight);
        sum += weight, total_[block][b] += weight;
      }
      add(const_cast<T*>(loops_.share) + place + block * kLanes, sum);
    };
    const auto some = [&](int block) { join(block, [&](int b) { return first_[b] <= block && block < end_[b]; }); };
    for (int block = some_first_; block < all_first_; ++block) some(block);
    for (int block = all_first_; block < all_end_; ++block) join(block, [](int) { return true; });
    for (int block = all_end_; block < some_end_; ++block) some(block);
  }

  const Loops<T>& loops_;
  const int offset_;
  int first_[kBeside], end_[kBeside];  // the vectors at each of the distances, at all of them, and at any
  int all_first_ = 0, all_end_, some_first_, some_end_ = 0;
  const T* factor_[kBeside][F::kCount];
  ptrdiff_t step_[kBeside][kMoving];
  Vec<T> rest_[kBlocks][kBeside], total_[kBlocks][kBeside];
};

template <typename F, bool kShares, typename T>
void share_joined(const Loops<T>& loops, const Lanes& lanes) {
  const int blocks = (lanes.size + kLanes - 1) / kLanes;
  for (int node = loops.from; node <= loops.to; node += kBeside)
    for (int from = 0; from < blocks; from += kBlocks)
      Joined<F, kShares, T>(loops, lanes, node, from, std::min(blocks - from, kBlocks)).share();
}

template <typename T>
void share_by_reading(const Loops<T>& loops, const Lanes& lanes) {
  const bool shares = loops.varying != 1 || !loops.walk[0].is_outside;
  if (loops.varying == 1 && loops.factors == 2 && !shares) return share_joined<Form<2, 1>, false>(loops, lanes);
  if (loops.varying == 1 && loops.factors == 3 && !shares) return share_joined<Form<3, 1>, false>(loops, lanes);
  if (loops.varying == 1 && loops.factors == 3) return share_joined<Form<3, 1>, true>(loops, lanes);
  return share_joined<Form<0, -1>, true>(loops, lanes);
}

}  // namespace structdep
