// The cells of an item at a span.
#pragma once

#include <cstddef>

#include "layout.h"

namespace structdep {

// In pieces of cells at equal distances, one for each side.
class SpanCells {
 public:
  // Those of regions, at most one for each side.
  SpanCells(const Layout& layout, int item, const Region* regions, size_t count, const Nodes& nodes) : vectors_(layout.vectors(nodes)) {
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    for (const Region* region = regions; region != regions + count; ++region)
      if (const Range thirds = region->thirds(nodes); thirds.size()) {
        const Storage& own = layout.item(item, region->side);
        const ptrdiff_t step = own.third_step(start, end);
        pieces_[count_++] = {own.at(start, end) + step * thirds.first, thirds.size(), step};
      }
  }

  bool is_empty() const { return !count_; }
  ptrdiff_t first() const { return pieces_[0].first; }

  // Calls visit(address) for all vectors.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (int m = 0; m < count_; ++m)
      for (int n = 0; n < pieces_[m].size; ++n)
        for (int v = 0; v < vectors_; ++v) visit(pieces_[m].first + n * pieces_[m].step + v * kLanes);
  }

 private:
  struct Piece {
    ptrdiff_t first;
    int size;
    ptrdiff_t step;
  };

  const int vectors_;  // of each cell
  int count_ = 0;
  Piece pieces_[kSides];
};

}  // namespace structdep
