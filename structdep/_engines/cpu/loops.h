// Nodes of a sentence in slots, and loops over them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

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

struct Condition {  // a least distance from the node of one slot to that of another
  int start, end, least;
};

struct Loop {  // the node of a slot, from the greatest of some positions to the least of others
  int slot;
  std::vector<Position> least, most;

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

struct LoopNest {
  std::vector<Condition> conditions;
  std::vector<Loop> loops;  // the outermost first

  bool is_possible(const Nodes& nodes) const {
    for (const Condition& c : conditions)
      if (nodes.at[c.end] - nodes.at[c.start] < c.least) return false;
    return true;
  }
};

// Iterates over the nodes of a nest's first `loops` loops; the innermost changes fastest.
class LoopIterator {
 public:
  LoopIterator(const LoopNest& nest, size_t loops, Nodes& nodes)
      : loops_(nest.loops.data()), size_(loops), nodes_(nodes), is_there_(nest.is_possible(nodes) && (!loops || begin(0))) {}

  bool is_there() const { return is_there_; }
  void next() { is_there_ = size_ && advance(size_); }

 private:
  // Sets the loops from number `set` on to their first nodes; the nodes of the loops before are set.
  bool begin(size_t set) {
    for (; set < size_; ++set) {
      const Loop& loop = loops_[set];
      nodes_.at[loop.slot] = loop.first(nodes_);
      if (nodes_.at[loop.slot] > loop.last(nodes_)) return advance(set);
    }
    return true;
  }
  // Moves the loops before number `set` to their next nodes.
  bool advance(size_t set) {
    while (set--) {
      const Loop& loop = loops_[set];
      if (nodes_.at[loop.slot]++ < loop.last(nodes_)) return begin(set + 1);
    }
    return false;
  }

  const Loop* const loops_;
  const size_t size_;
  Nodes& nodes_;
  bool is_there_;
};

}  // namespace structdep
