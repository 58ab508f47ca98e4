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

// Where the cells of an item on one side, or of a table, are, and the derivatives by them: `spans` says where those of a
// span begin, in rows of those with one start, if there are such.
struct Home {
  Box value, share;
  const int* spans = nullptr;
  int rows = 0;
  bool lent = false;  // whether the derivatives lie where those of all spans do

  // Those at a span: that of a third position is so many steps further.
  ptrdiff_t row(int start, int end) const { return value.at(start, end) + (spans ? spans[start * rows + end] : 0); }
  ptrdiff_t share_row(int start, int end) const {
    return share.at(start, end) + (spans && !lent ? spans[start * rows + end] : 0);
  }
};

// Where a factor is: positions are nodes of slots, shifts are part of the home.
struct Address : Home {
  int slot[3] = {}, span_shift = 0;
  ptrdiff_t step = 0, middle = 0;  // between neighbours in the last loop, and in the middle one of `Loops`
  int span_step = 0, span_middle = 0;

  ptrdiff_t linear(const Nodes& nodes) const { return sum(value, nodes); }
  ptrdiff_t share_linear(const Nodes& nodes) const { return sum(share, nodes); }
  const int* span(const Nodes& nodes) const {
    static constexpr int kNowhere = 0;
    return spans ? spans + rows * nodes.at[slot[0]] + nodes.at[slot[1]] + span_shift : &kNowhere;
  }
  ptrdiff_t of(const Nodes& nodes) const { return linear(nodes) + *span(nodes); }
  ptrdiff_t share_of(const Nodes& nodes) const { return share_linear(nodes) + (lent ? 0 : *span(nodes)); }

  ptrdiff_t stride(int with) const {  // between neighbours in a slot
    ptrdiff_t result = 0;
    for (int m = 0; m < 3; ++m) result += slot[m] == with ? value.weight[m] : 0;
    return result;
  }
  int span_stride(int with) const { return spans ? rows * (slot[0] == with) + (slot[1] == with) : 0; }

  // Now that homes, slots and loops are known.
  void set_steps(const Nest& nest, bool even) {
    const std::vector<Loop>& loops = nest.loops;
    if (loops.empty()) return;
    step = stride(loops.back().slot), span_step = span_stride(loops.back().slot);
    if (loops.size() == even) return;
    const int slot = loops[loops.size() - 1 - even].slot;
    middle = stride(slot), span_middle = span_stride(slot);
  }

 private:
  ptrdiff_t sum(const Box& own, const Nodes& nodes) const {
    ptrdiff_t result = own.base;
    for (int m = 0; m < 3; ++m) result += own.weight[m] * nodes.at[slot[m]];
    return result;
  }
};

}  // namespace structdep
