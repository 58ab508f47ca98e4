// Where cells are in memory, and how far it is from one to the next.
#pragma once

#include <cstddef>
#include <vector>

#include "loops.h"

namespace structdep {

// Cells of an item with a third position at one span: where that of node 0 would be, and how far it is to that of the next.
struct Row {
  int at = 0, step = 0;
};

// Where the cells of an item on one side, or of a table, are: a step for each position, and the rows of all spans if the
// item has a third position.
struct Storage {
  ptrdiff_t base = 0, steps[3] = {};
  const Row* rows = nullptr;  // of all spans: the row of span [start, end] is rows[start * spans + end]
  int spans = 0;              // how many spans have one start

  int third_step(int start, int end) const { return row(start * spans + end)->step; }
  ptrdiff_t at(int start, int end) const { return base + steps[0] * start + steps[1] * end + row(start * spans + end)->at; }

 protected:
  const Row* row(int span) const {
    static constexpr Row kNone;
    return rows ? rows + span : &kNone;
  }
};

// From one node of a slot to the next: by equal steps, from row to row, and along a row.
struct Stride {
  ptrdiff_t step = 0;
  int rows = 0, along = 0;
  bool moves() const { return step || rows || along; }
};

// Where a factor is, as the nodes of a loop go on.
struct Walk {
  ptrdiff_t start;  // at node 0, but for its row
  const Row* row;
  int third;
  Stride stride;

  ptrdiff_t at(ptrdiff_t node) const {
    const Row& own = row[stride.rows * node];
    return start + stride.step * node + own.at + own.step * (third + stride.along * node);
  }
  ptrdiff_t even_step() const { return stride.step + stride.along * row->step; }  // where it stays in its row
};

// Where a factor is: its positions are nodes of slots.
struct Address : Storage {
  int slot[3] = {}, span_shift = 0, third_shift = 0;
  Stride inner, middle;  // of the loops of `TwoLoops`

  Address(const Storage& storage, const std::vector<Position>& positions) : Storage(storage) {
    for (size_t m = 0; m < positions.size(); ++m) {
      slot[m] = positions[m].slot, base += steps[m] * positions[m].shift;
      (m == 2 ? third_shift : span_shift) += (m == 0 ? spans : 1) * positions[m].shift;
    }
  }

  Stride stride(int with) const {
    Stride result;
    for (int m = 0; m < 3; ++m) result.step += slot[m] == with ? steps[m] : 0;
    if (rows) result.rows = spans * (slot[0] == with) + (slot[1] == with), result.along = slot[2] == with;
    return result;
  }

  // Along the nodes of a slot that goes on from its node.
  Walk walk(const Nodes& nodes, const Stride& stride) const {
    const int* const at = nodes.at;
    return {base + steps[0] * at[slot[0]] + steps[1] * at[slot[1]] + steps[2] * at[slot[2]],
            row(spans * at[slot[0]] + at[slot[1]] + span_shift), rows ? at[slot[2]] + third_shift : 0, stride};
  }
  ptrdiff_t of(const Nodes& nodes) const { return walk(nodes, {}).at(0); }
};

}  // namespace structdep
