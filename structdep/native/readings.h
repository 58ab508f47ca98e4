// Derivatives by an item of three positions, from the products that read it with what is beside it: what is outside of the wider
// items that are made so lies in memory, and is read but once for all; derivatives are added up where the item is.
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

// Joins an item to what is beside it at a few distances at once, in so many vectors from this one on.
template <typename F, bool kShares, typename T>
void pull(const Loops<T>& loops, const Lanes& lanes, int node, int from, int blocks) {
  constexpr int kMoving = F::kVarying > 0 ? F::kVarying : kFactors;
  Vec<T> rest[kBlocks][kBeside], total[kBlocks][kBeside];
  const T* factor[kBeside][F::kCount];
  ptrdiff_t step[kBeside][kMoving];
  int first[kBeside], end[kBeside], all_first = 0, all_end = blocks, some_first = blocks, some_end = 0;  // vectors
  for (int b = 0; b < kBeside; ++b) {
    const int own = std::min(node + b, loops.to), offset = from * kLanes;
    const int lane = lanes.first(loops.side, own) - offset, last = node + b > loops.to ? lane : lanes.end(loops.side, own) - offset;
    first[b] = std::max(lane, 0) / kLanes, end[b] = std::clamp((last + kLanes - 1) / kLanes, first[b], blocks);
    all_first = std::max(all_first, first[b]), all_end = std::min(all_end, end[b]);
    some_first = std::min(some_first, first[b]), some_end = std::max(some_end, end[b]);
    for (int f = 0; f < F::factors(loops); ++f) {
      const Walk<T>& walk = loops.walk[f];
      factor[b][f] = walk.of(own) + offset;
      if (f < F::varying(loops)) step[b][f] = walk.step(own);
    }
    for (int block = first[b]; block < end[b]; ++block) {
      Vec<T> fixed{};
      for (int f = F::varying(loops); f < F::factors(loops); ++f) fixed += load(factor[b][f] + block * kLanes);
      rest[block][b] = within<T>(lane - block * kLanes, last - block * kLanes, fixed), total[block][b] = Vec<T>{};
    }
  }
  if (some_first >= some_end) return;
  if (all_first >= all_end) all_first = all_end = some_first;
  for (ptrdiff_t m = loops.first[0]; m <= loops.last[0]; ++m) {
    const ptrdiff_t place = loops.place + m * loops.step + from * kLanes;
    const T* at[kBeside][kMoving];
    for (int b = 0; b < kBeside; ++b)
      for (int f = 0; f < F::varying(loops); ++f) at[b][f] = factor[b][f] + m * step[b][f];
    const auto join = [&](int block, auto has) {
      const Vec<T> value = load(loops.value + place + block * kLanes);
      Vec<T> sum{};
      for (int b = 0; b < kBeside; ++b) {
        if (!has(b)) continue;
        Vec<T> term = rest[block][b] + value;
        for (int f = 0; f < F::varying(loops); ++f) term += load(at[b][f] + block * kLanes);
        const Vec<T> weight = exp2(term);
        if constexpr (kShares)
          for (int f = 0; f < F::varying(loops); ++f)
            if (F::kVarying == 1 || !loops.walk[f].is_outside)
              add(const_cast<T*>(at[b][f]) + block * kLanes + loops.walk[f].to_share, weight);
        sum += weight, total[block][b] += weight;
      }
      add(const_cast<T*>(loops.share) + place + block * kLanes, sum);
    };
    const auto some = [&](int block) { join(block, [&](int b) { return first[b] <= block && block < end[b]; }); };
    for (int block = some_first; block < all_first; ++block) some(block);
    for (int block = all_first; block < all_end; ++block) join(block, [](int) { return true; });
    for (int block = all_end; block < some_end; ++block) some(block);
  }
  for (int b = 0; b < kBeside; ++b)
    for (int f = F::varying(loops); f < F::factors(loops); ++f)
      if (!loops.walk[f].is_outside)
        for (int block = first[b]; block < end[b]; ++block)
          add(const_cast<T*>(factor[b][f]) + block * kLanes + loops.walk[f].to_share, total[block][b]);
}

template <typename F, bool kShares, typename T>
void pull_all(const Loops<T>& loops, const Lanes& lanes) {
  const int blocks = (lanes.size + kLanes - 1) / kLanes;
  for (int node = loops.from; node <= loops.to; node += kBeside)
    for (int from = 0; from < blocks; from += kBlocks) pull<F, kShares>(loops, lanes, node, from, std::min(blocks - from, kBlocks));
}

template <typename T>
void pull(const Loops<T>& loops, const Lanes& lanes) {
  const bool shares = loops.varying != 1 || !loops.walk[0].is_outside;
  if (loops.varying == 1 && loops.factors == 2 && !shares) return pull_all<Form<2, 1>, false>(loops, lanes);
  if (loops.varying == 1 && loops.factors == 3 && !shares) return pull_all<Form<3, 1>, false>(loops, lanes);
  if (loops.varying == 1 && loops.factors == 3) return pull_all<Form<3, 1>, true>(loops, lanes);
  return pull_all<Form<0, -1>, true>(loops, lanes);
}

}  // namespace structdep
