// The two innermost loops over products of a conclusion.
#pragma once

#include <algorithm>
#include <cstddef>

#include "beside.h"

namespace structdep {

constexpr int kAhead = 6;  // nodes for which memory is asked in advance

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
  if constexpr (!assigns(kWork) && kWork != Work::kPass && F::kVarying == 1) {
    if (loops.along && !loops.across) {
      for (; node + kBeside - 1 <= loops.to; node += kBeside)
        for (int block = 0; block < blocks; block += kBlocks) {
          Own runs[kBeside];
          for (int b = 0; b < kBeside; ++b) {
            runs[b] = at(node + b, block * kLanes);
            runs[b].size = std::max(runs[b].size, 0);
          }
          Beside<F, T>(loops, runs, std::min(blocks - block, kBlocks)).template work<kWork>();
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
        if constexpr (shares(kWork)) __builtin_prefetch(next + loops.walk[f].to_share, 1);
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

// Adds products to what there is, whatever the numbers are.
template <typename T>
void add_up(Numbers numbers, const Loops<T>& loops, int blocks) {
  if (numbers == kReals) return execute<Work::kAddReal>(loops, blocks);
  numbers == kLogs ? execute<Work::kSum>(loops, blocks) : execute<Work::kMax>(loops, blocks);
}

}  // namespace structdep
