// Where cells are in memory, and how far from one to the next.
#pragma once

#include <cstddef>
#include <vector>

#include "nest.h"

namespace structdep {

// How far from one cell to the next, for each position.
struct Box {
  ptrdiff_t base = 0, weight[3] = {};
  ptrdiff_t at(int start, int end) const { return base + weight[0] * start + weight[1] * end; }
};

// Cells of an item with a third position at one span: where that of node 0 would be, and how far it is to that of the next.
struct Row {
  int at = 0, step = 0;
};

// Where the cells of an item on one side, or of a table, are, and the derivatives by them: what a box tells, and, for items
// with a third position, the row of a span.
struct Home {
  Box value, share;
  const Row *rows = nullptr, *share_rows = nullptr;  // of all spans; those with one start lie beside each other
  int spans = 0;                                     // so many

  int step(int start, int end) const { return find(rows, start * spans + end)->step; }
  ptrdiff_t at(int start, int end) const { return value.at(start, end) + find(rows, start * spans + end)->at; }
  ptrdiff_t share_at(int start, int end) const { return share.at(start, end) + find(share_rows, start * spans + end)->at; }
  ptrdiff_t to_share(int start, int end) const { return share_at(start, end) - at(start, end); }

 protected:
  static const Row* find(const Row* rows, int span) {
    static constexpr Row kNone;
    return rows ? rows + span : &kNone;
  }
};

// From one node of a slot to the next: in the box, from row to row, and along a row.
struct Stride {
  ptrdiff_t box = 0;
  int rows = 0, along = 0;
  bool moves() const { return box || rows || along; }
};

// Where a factor is: positions are nodes of slots; shifts of those that are in the box are part of it.
struct Address : Home {
  int slot[3] = {}, span_shift = 0, third_shift = 0;
  Stride inner, middle;  // of the last loop, and of the middle one of `Loops`

  ptrdiff_t in_box(const Nodes& nodes) const { return sum(value, nodes); }
  ptrdiff_t share_in_box(const Nodes& nodes) const { return sum(share, nodes); }
  const Row* row(const Nodes& nodes) const { return find(rows, span(nodes)); }
  const Row* share_row(const Nodes& nodes) const { return find(share_rows, span(nodes)); }
  int third(const Nodes& nodes) const { return rows ? nodes.at[slot[2]] + third_shift : 0; }
  ptrdiff_t of(const Nodes& nodes) const { return in_box(nodes) + row(nodes)->at + row(nodes)->step * third(nodes); }
  ptrdiff_t share_of(const Nodes& nodes) const {
    return share_in_box(nodes) + share_row(nodes)->at + share_row(nodes)->step * third(nodes);
  }

  // Now that homes, slots and loops are known.
  void set_strides(const Nest& nest, bool even) {
    const std::vector<Loop>& loops = nest.loops;
    if (loops.empty()) return;
    inner = stride(loops.back().slot);
    if (loops.size() > even) middle = stride(loops[loops.size() - 1 - even].slot);
  }

 private:
  int span(const Nodes& nodes) const { return spans * nodes.at[slot[0]] + nodes.at[slot[1]] + span_shift; }

  ptrdiff_t sum(const Box& own, const Nodes& nodes) const {
    ptrdiff_t result = own.base;
    for (int m = 0; m < 3; ++m) result += own.weight[m] * nodes.at[slot[m]];
    return result;
  }

  Stride stride(int with) const {
    Stride result;
    for (int m = 0; m < 3; ++m) result.box += slot[m] == with ? value.weight[m] : 0;
    if (rows) result.rows = spans * (slot[0] == with) + (slot[1] == with), result.along = slot[2] == with;
    return result;
  }
};

}  // namespace structdep
