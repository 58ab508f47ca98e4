// Nodes of a sentence, in slots.
#pragma once

#include <algorithm>

namespace structdep {

// The root, the last node, the start, end and third position of a conclusion, and the positions that a product sums.
enum Slot { kRoot, kLast, kStart, kEnd, kThird, kSummed, kSlots = 12 };
// Where the third position of an item is: inside of its span, before it, or behind it.
enum Side { kInner, kBefore, kBehind, kSides };

struct Nodes {  // the node in each slot
  int at[kSlots] = {};
};

struct Position {  // a node, counted from that of a slot
  int slot, shift;
  int of(const Nodes& nodes) const { return nodes.at[slot] + shift; }
  bool is(int other) const { return slot == other && shift == 0; }
};

struct Range {  // of nodes, both ends included
  int first = 0, last = -1;
  int size() const { return std::max(last - first + 1, 0); }
  bool has(int node) const { return first <= node && node <= last; }
};

}  // namespace structdep
