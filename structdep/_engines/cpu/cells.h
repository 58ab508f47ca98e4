// The cells of an item at a span.
#pragma once

#include <cstddef>
#include <vector>

#include "frame.h"
#include "vectors.h"

namespace structdep {

// In pieces of cells at equal distances, one for each side.
class Cells {
 public:
  // All cells.
  Cells(const Frame& frame, int number, const std::vector<Region>& regions, const Nodes& nodes)
      : Cells(frame, number, regions.data(), regions.size(), nodes) {}
  // Those of an axiom.
  Cells(const Frame& frame, int number, const Region& axiom, const Nodes& nodes) : Cells(frame, number, &axiom, 1, nodes) {}

  bool is_empty() const { return !count_; }
  ptrdiff_t first() const { return pieces_[0].first; }
  bool are(int size) const { return count_ == 1 && pieces_[0].size == size; }  // whether they are one row of so many

  template <typename Visit>
  void for_each(Visit visit) const {
    for (int m = 0; m < count_; ++m)
      for (int n = 0; n < pieces_[m].size; ++n)
        for (int block = 0; block < blocks_; ++block) visit(pieces_[m].first + n * pieces_[m].step + block * kLanes);
  }

 private:
  STRUCTDEP_INLINE Cells(const Frame& frame, int number, const Region* regions, size_t size, const Nodes& nodes)
      : blocks_(frame.blocks(nodes)) {
    const int start = nodes.at[kStart], end = nodes.at[kEnd];
    for (const Region* region = regions; region != regions + size; ++region)
      if (const Range thirds = region->thirds(nodes); thirds.size()) {
        const Home& home = frame.home(number, region->side);
        const ptrdiff_t step = home.step(start, end);
        pieces_[count_++] = {home.at(start, end) + step * thirds.first, thirds.size(), step};
      }
  }

  struct Piece {
    ptrdiff_t first;
    int size;
    ptrdiff_t step;
  };

  const int blocks_;  // vectors of each cell
  int count_ = 0;
  Piece pieces_[kSides];
};

// Whether an axiom gives a cell at this span.
STRUCTDEP_INLINE bool has_axiom(const Item& item, const Nodes& nodes) {
  for (const Region& axiom : item.axioms)
    if (axiom.thirds(nodes).size()) return true;
  return false;
}

// The same number in all of them, and in what lies beside each.
template <typename T>
void store_all(const Cells& own, T* values, T x) {
  own.for_each([&](ptrdiff_t at) { store(values + at, all(x)); });
}

// Sums of exponentials become part of the values that they are relative to, and are 0 again.
template <typename T>
void add_logarithms(const Cells& own, T* values, T* sums) {
  own.for_each([&](ptrdiff_t at) {
    add(values + at, log2(load(sums + at)));
    store(sums + at, Vec<T>{});
  });
}

}  // namespace structdep
