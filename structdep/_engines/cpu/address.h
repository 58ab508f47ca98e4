// Where cells are in memory, and how far from one to the next.
#pragma once

#include <cstddef>
#include <vector>

#include "nest.h"

namespace structdep {

// Cells of an item with a third position at one span: where that of node 0 would be, and how far it is to that of the next.
struct Row {
  int at = 0, step = 0;
};

// Where the cells of an item on one side, or of a table, are: how far it is from one to the next for each position, and, for
// items with a third position, the row of a span.
struct Home {
  ptrdiff_t base = 0, weight[3] = {};
  const Row* rows = nullptr;  // of all spans; those with one start lie beside each other
  int spans = 0;              // so many

  int step(int start, int end) const { return row(start * spans + end)->step; }
  ptrdiff_t at(int start, int end) const { return base + weight[0] * start + weight[1] * end + row(start * spans + end)->at; }

 protected:
  const Row* row(int span) const {
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

  Address(const Home& home, const std::vector<Place>& places) : Home(home) {
    for (size_t m = 0; m < places.size(); ++m) {
      slot[m] = places[m].slot, base += weight[m] * places[m].shift;
      (m == 2 ? third_shift : span_shift) += (m == 0 ? spans : 1) * places[m].shift;
    }
  }

  ptrdiff_t in_box(const Nodes& nodes) const {
    return base + weight[0] * nodes.at[slot[0]] + weight[1] * nodes.at[slot[1]] + weight[2] * nodes.at[slot[2]];
  }
  const Row* row(const Nodes& nodes) const { return Home::row(spans * nodes.at[slot[0]] + nodes.at[slot[1]] + span_shift); }
  int third(const Nodes& nodes) const { return rows ? nodes.at[slot[2]] + third_shift : 0; }
  ptrdiff_t of(const Nodes& nodes) const { return in_box(nodes) + row(nodes)->at + row(nodes)->step * third(nodes); }

  // Now that the loops are known.
  void set_strides(const Nest& nest, bool even) {
    const std::vector<Loop>& loops = nest.loops;
    if (loops.empty()) return;
    inner = stride(loops.back().slot);
    if (loops.size() > even) middle = stride(loops[loops.size() - 1 - even].slot);
  }

 private:
  Stride stride(int with) const {
    Stride result;
    for (int m = 0; m < 3; ++m) result.box += slot[m] == with ? weight[m] : 0;
    if (rows) result.rows = spans * (slot[0] == with) + (slot[1] == with), result.along = slot[2] == with;
    return result;
  }
};

}  // namespace structdep
