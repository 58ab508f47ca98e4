// Values of a product along a line: where the node of its last loop alone goes on.
#pragma once

#include <cstddef>

#include "address.h"
#include "loops.h"
#include "numbers.h"
#include "program.h"

namespace structdep {

// Calls visit(place, value) where so many factors go on by steps, times the others.
template <bool kReal, typename T, typename Visit>
STRUCTDEP_INLINE void multiply_along(int varying, T fixed, const T* const* at, ptrdiff_t shift, const ptrdiff_t* step, int size,
                                     Visit visit) {
  for (ptrdiff_t m = 0; m < size; ++m) {
    T value = fixed;
    for (int f = 0; f < varying; ++f) value = product<kReal>(value, at[f][shift + m * step[f]]);
    visit(m, value);
  }
}

template <typename T>
STRUCTDEP_INLINE Walk<T> walk_along(const Address& own, const T* cells, const Nodes& nodes) {
  return walk_of(own, cells, nodes, {}, own.inner);
}

// Where so many factors vary, the first of them from row to row, if one does, others by equal distances.
template <bool kReal, int kRows, int kCount, typename T, typename Visit>
STRUCTDEP_INLINE void walk_evenly(const Product& own, int size, const T* cells, const Nodes& nodes, Visit visit) {
  const T* at[kFactors];
  ptrdiff_t step[kFactors];
  for (int f = kRows; f < kCount; ++f) {
    const Address& factor = own.addresses[f];
    at[f] = cells + factor.in_box(nodes), step[f] = factor.inner.box;
    if (factor.rows) {
      const Row& row = *factor.row(nodes);
      at[f] += row.at + row.step * factor.third(nodes), step[f] += factor.inner.along * row.step;
    }
  }
  T fixed = kOne<kReal, T>;
  for (size_t f = kCount; f < own.addresses.size(); ++f) fixed = product<kReal>(fixed, cells[own.addresses[f].of(nodes)]);
  if (!kRows) return multiply_along<kReal>(kCount, fixed, at, 0, step, size, visit);
  const Walk<T> first = walk_along(own.addresses[0], cells, nodes);
  multiply_along<kReal>(kCount - 1, fixed, at + 1, 0, step + 1, size,
                        [&](int m, T value) { visit(m, product<kReal>(*first.of(m), value)); });
}

template <bool kReal, typename T, typename Visit>
STRUCTDEP_INLINE void walk(const Product& own, int size, const T* cells, const Nodes& nodes, Visit visit) {
  const int factors = own.addresses.size();
  Walk<T> walks[kFactors];
  for (int f = 0; f < factors; ++f) walks[f] = walk_along(own.addresses[f], cells, nodes);
  for (int m = 0; m < size; ++m) {
    T value = *walks[0].of(m);
    for (int f = 1; f < factors; ++f) value = product<kReal>(value, *walks[f].of(m));
    visit(m, value);
  }
}

// Calls visit(place, value) for so many places from these nodes on.
template <bool kReal, typename T, typename Visit>
STRUCTDEP_INLINE void for_each_value(const Product& own, int size, const T* cells, const Nodes& nodes, Visit visit) {
  switch (own.rows < 2 ? 2 * own.varying + own.rows : -1) {
    case 0:
      return walk_evenly<kReal, 0, 0>(own, size, cells, nodes, visit);
    case 2:
      return walk_evenly<kReal, 0, 1>(own, size, cells, nodes, visit);
    case 3:
      return walk_evenly<kReal, 1, 1>(own, size, cells, nodes, visit);
    case 4:
      return walk_evenly<kReal, 0, 2>(own, size, cells, nodes, visit);
    case 5:
      return walk_evenly<kReal, 1, 2>(own, size, cells, nodes, visit);
    case 6:
      return walk_evenly<kReal, 0, 3>(own, size, cells, nodes, visit);
    case 7:
      return walk_evenly<kReal, 1, 3>(own, size, cells, nodes, visit);
    default:
      return walk<kReal>(own, size, cells, nodes, visit);
  }
}

}  // namespace structdep
