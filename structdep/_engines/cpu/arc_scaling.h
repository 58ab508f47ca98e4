// Factors of arcs that keep sums of trees in the range of real numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "exponentials.h"

namespace structdep {

// What is taken off the scores of all arcs to a dependent: the best of them, so that a constant that is added to all scores
// changes no rounding error. Where sums are real numbers, the logarithm of the sum by its heads is taken off as well, so that no
// sum of trees is large. But few choices of heads are compatible with those of other words, and sums of trees would be small:
// what their entropy has beyond that of compatible ones is left. (Words have 2.75 bits in the many projective trees of a long
// sentence, and a little more in those of other classes.)
template <typename T>
struct ArcScaling {
  std::vector<T> best;   // scores of arcs to each dependent; 0 if it has none
  std::vector<T> taken;  // off the rest, in the unit of charts: empty unless sums are real numbers
  T left = 0;            // the logarithm of the sum of all choices of a head for each word, and no less than that of some words

  ArcScaling() = default;
  // For the arcs between nodes 0 and `last`, whose scores are an array of `all` x `all` numbers. There is room for `nodes` nodes.
  ArcScaling(const T* scores, int all, int last, int nodes) : best(nodes + kLanes, -kInf<T>) {
    for (int head = 0; head <= last; ++head) {
      const T* const row = scores + static_cast<ptrdiff_t>(head) * all;
      raise(best.data(), row, head), raise(&best[head + 1], row + head + 1, last - head);
    }
    best[0] = 0;
    for (T& score : best) score = score == -kInf<T> ? T{0} : score;
  }

  // The same, and what real numbers take off, in this unit.
  ArcScaling(const T* scores, int all, int last, int nodes, T unit) : ArcScaling(scores, all, last, nodes) {
    constexpr T kCompatible = 3;
    std::vector<T> row(best.size(), -kInf<T>), sum(best.size()), mean(best.size());
    taken.resize(best.size());
    for (int head = 0; head <= last; ++head) {
      std::copy_n(scores + static_cast<ptrdiff_t>(head) * all, last + 1, row.data());
      row[head] = -kInf<T>;
      for (int n = 0; n <= last; n += kLanes) {
        const Vec<T> relative = (load(&row[n]) - load(&best[n])) * unit, power = exp2(relative);
        add(&sum[n], power), add(&mean[n], where<T>(power > 0, power * relative));
      }
    }
    for (int n = 1; n <= last; ++n) {
      if (sum[n] == 0) continue;
      const T whole = std::log2(sum[n]), entropy = whole - mean[n] / sum[n], rest = std::max(T{0}, entropy - kCompatible);
      taken[n] = whole - rest, left += rest;
    }
  }

 private:
  static void raise(T* to, const T* from, int size) {
    for (int n = 0; n < size; ++n) to[n] = from[n] > to[n] ? from[n] : to[n];
  }
};

}  // namespace structdep
