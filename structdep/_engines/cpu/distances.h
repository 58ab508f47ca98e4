// What is known of the nodes in slots: least distances from one to another, closed under paths.
#pragma once

#include <algorithm>
#include <vector>

#include "loops.h"

namespace structdep {

// Least distances between slots, and which slots have a node.
class Distances {
 public:
  // The root, the last node, and these in order between them.
  explicit Distances(const std::vector<int>& slots) {
    for (auto& row : least_) std::fill_n(row, kSlots, -kFar);
    for (int slot = 0; slot < kSlots; ++slot) demand(slot, slot, 0);
    bind(kRoot), bind(kLast);
    int before = kRoot;
    for (const int slot : slots) bind(slot), demand(before, slot, 0), before = slot;
    demand(before, kLast, 0);
  }

  void bind(int slot) { bound_[slot] = true; }
  bool is_bound(int slot) const { return 0 <= slot && slot < kSlots && bound_[slot]; }

  void demand(int start, int end, int least) { least_[start][end] = std::max(least_[start][end], least); }
  void demand(const Position& start, const Position& end, int least = 0) {
    demand(start.slot, end.slot, least + start.shift - end.shift);
  }
  void close() {
    for (int via = 0; via < kSlots; ++via)
      for (int start = 0; start < kSlots; ++start)
        for (int end = 0; end < kSlots; ++end)
          demand(start, end, std::clamp(least_[start][via] + least_[via][end], -kFar, kFar));
  }

  // Whether no nodes meet them. Distances are closed.
  bool is_impossible() const {
    for (int slot = 0; slot < kSlots; ++slot)
      if (least_[slot][slot] > 0) return true;
    return false;
  }

  // Whether one place lies at least so far behind another. Distances are closed.
  bool has(const Position& start, const Position& end, int least = 0) const {
    return least_[start.slot][end.slot] >= least + start.shift - end.shift;
  }

 private:
  static constexpr int kFar = 1 << 28;
  int least_[kSlots][kSlots];
  bool bound_[kSlots] = {};
};

}  // namespace structdep
