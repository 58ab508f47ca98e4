// Factors of arcs that keep sums of trees in the range of real numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "exponentials.h"

namespace structdep {

// What is taken off the scores of all arcs to a dependent is the logarithm of the sum of them by its heads, so that no sum of
// trees is large. But few choices of heads are compatible with those of other words, and sums of trees would be small: what
// their entropy has beyond that of compatible ones is left. (Words have 2.75 bits in the many projective trees of a long
// sentence, and a little more in those of other classes.)
template <typename T>
struct ArcScaling {
  std::vector<T> taken;  // off the scores of arcs, for each dependent
  T left = 0;            // the logarithm of the sum of all choices of a head for each word, and no less than that of some words

  ArcScaling() = default;
  // For the arcs between nodes 0 and `last`, whose scores are an array of `all` x `all` numbers in this unit. `taken` has room
  // for `nodes` nodes.
  ArcScaling(const T* scores, int all, int last, int nodes, T unit) : taken(nodes + kLanes) {
    constexpr T kCompatible = 3;
    std::vector<T> row(taken.size()), best(taken.size(), -kInf<T>), sum(taken.size()), mean(taken.size());
    const auto for_each_vector = [&](auto visit) {
      for (int head = 0; head <= last; ++head) {
        std::copy_n(scores + static_cast<ptrdiff_t>(head) * all, last + 1, row.data());
        row[head] = -kInf<T>;
        for (int n = 0; n <= last; n += kLanes) visit(n, load(&row[n]) * unit);
      }
    };
    for_each_vector([&](int n, Vec<T> score) { store(&best[n], larger<T>(load(&best[n]), score)); });
    for_each_vector([&](int n, Vec<T> score) {
      const Vec<T> relative = score - finite<T>(load(&best[n])), power = exp2(relative);
      add(&sum[n], power), add(&mean[n], where<T>(power > 0, power * relative));
    });
    for (int n = 1; n <= last; ++n) {
      if (best[n] == -kInf<T>) continue;
      const T whole = std::log2(sum[n]), entropy = whole - mean[n] / sum[n], rest = std::max(T{0}, entropy - kCompatible);
      taken[n] = best[n] + whole - rest, left += rest;
    }
  }
};

}  // namespace structdep
