// Nodes of a sentence in slots, and loops over them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace structdep {

enum Slot { kRoot, kLast, kStart, kEnd, kThird, kSummed, kSlots = 12 };
enum Side { kInner, kBefore, kBehind, kSides };

struct Nodes {  // the node in each slot
  int at[kSlots] = {};
};

struct Place {  // a node, counted from that of a slot
  int slot, shift;
  int of(const Nodes& nodes) const { return nodes.at[slot] + shift; }
  bool is(int other) const { return slot == other && shift == 0; }
};

struct Range {  // of nodes, both ends included
  int first = 0, last = -1;
  int size() const { return std::max(last - first + 1, 0); }
  bool has(int node) const { return first <= node && node <= last; }
};

struct Condition {
  int start, end, least;
};

struct Loop {
  int slot;
  std::vector<Place> least, most;

  int first(const Nodes& nodes) const {
    int node = least[0].of(nodes);
    for (size_t m = 1; m < least.size(); ++m) node = std::max(node, least[m].of(nodes));
    return node;
  }
  int last(const Nodes& nodes) const {
    int node = most[0].of(nodes);
    for (size_t m = 1; m < most.size(); ++m) node = std::min(node, most[m].of(nodes));
    return node;
  }
};

struct Nest {
  std::vector<Condition> conditions;
  std::vector<Loop> loops;

  bool possible(const Nodes& nodes) const {
    for (const Condition& c : conditions)
      if (nodes.at[c.end] - nodes.at[c.start] < c.least) return false;
    return true;
  }
};

}  // namespace structdep
