// What makes real numbers of arcs neither too small nor too large.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "vectors.h"

namespace structdep {

template <typename T>
struct Potentials {
  std::vector<T> taken;  // off the scores of arcs, for each dependent
  T left = 0;            // the logarithm of the sum of all choices of a head for each word, and no less than that of some words
};

// What is taken off, for each dependent up to the last, among so many nodes, is the logarithm of the sum of them by all heads,
// so that no sum of trees is large. But of many heads few are compatible with those of other words, and sums of trees would be
// small: what there is of heads beyond these few, by their entropy, is left. (Words have 2.75 bits in the many projective trees
// of a long sentence, and a little more in those of other classes.)
template <typename T>
Potentials<T> potentials(const T* scores, int all, int last, int nodes, T unit) {
  constexpr T kCompatible = 3;
  const size_t size = nodes + kLanes;
  std::vector<T> row(size), best(size, -kInf<T>), sum(size), mean(size);
  Potentials<T> result{std::vector<T>(size)};
  const auto for_each_row = [&](auto visit) {
    for (int head = 0; head <= last; ++head) {
      std::copy_n(scores + static_cast<ptrdiff_t>(head) * all, last + 1, row.data());
      row[head] = -kInf<T>;
      for (int n = 0; n <= last; n += kLanes) visit(n, load(&row[n]) * unit);
    }
  };
  for_each_row([&](int n, Vec<T> score) { store(&best[n], larger<T>(load(&best[n]), score)); });
  for_each_row([&](int n, Vec<T> score) {
    const Vec<T> relative = score - finite<T>(load(&best[n])), power = exp2(relative);
    store(&sum[n], load(&sum[n]) + power);
    store(&mean[n], load(&mean[n]) + where<T>(power > 0, power * relative));
  });
  for (int n = 1; n <= last; ++n) {
    if (best[n] == -kInf<T>) continue;
    const T whole = std::log2(sum[n]), entropy = whole - mean[n] / sum[n], left = std::max(T{0}, entropy - kCompatible);
    result.taken[n] = best[n] + whole - left, result.left += left;
  }
  return result;
}

}  // namespace structdep
