// Where the tables and the items of a few sentences lie in memory: see docs/explanation/charts.md.
//
// Cells that are neighbours in memory are computed together, kLanes of them. In skewed layouts neighbours are spans of one
// width with neighbouring starts, so that one sentence fills vectors; all rules have to hold wherever they are shifted to.
// In other layouts neighbours are the cells of one span in several sentences.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "memory.h"
#include "program.h"
#include "vectors.h"

namespace structdep {

class Layout {
 public:
  Layout(Program given, int nodes, int sentences, bool skewed)
      : program(std::move(given)), nodes(nodes), sentences(sentences), skewed(skewed), row_(whole_vectors(nodes)), plane_(nodes * row_) {
    const auto has_third = [](const Item& item) { return item.positions == 3; };
    if (std::any_of(program.items.begin(), program.items.end(), has_third)) list_rows();
    for (const Table& table : program.tables) tables.push_back(place(table));
    for (const Item& item : program.items) place(item);
    for (Product& product : program.goal) resolve(product, true);
    for (Item& item : program.items) {
      for (Product& product : item.products) resolve(product, product.even);
      for (Product& product : item.rules) resolve(product, true);
    }
  }

  Program program;             // with the addresses of factors
  const int nodes, sentences;  // of a sentence, and beside each other
  const bool skewed;
  std::vector<Storage> tables;
  mutable std::atomic<double> microseconds{std::numeric_limits<double>::infinity()};  // that its last chart took

  size_t size() const { return size_ + kLanes; }  // of a chart, in numbers
  // The most cells that an item has at a span and in its vectors.
  size_t span_size() const { return span_size_ + kLanes; }

  // How many vectors the cells of a span and its neighbours have.
  int vectors(const Nodes& nodes) const {
    return skewed ? ((nodes.at[kLast] + 1 - nodes.at[kEnd]) * sentences + kLanes - 1) / kLanes : 1;
  }

  const Storage& item(int number, int side) const { return items_[number * kSides + side]; }

 private:
  // The numbers in whole vectors that hold one cell of each of the nodes in all sentences.
  int whole_vectors(int nodes) const { return (nodes * sentences + kLanes - 1) / kLanes * kLanes; }

  void list_rows() {
    if (const double cells = std::pow(nodes, 3) * sentences; cells > INT_MAX / 2) throw NoMemory(cells * sizeof(float));
    for (const bool exterior : {false, true}) rows_[exterior].resize(nodes * nodes);
    skewed ? list_widths() : list_spans();
  }

  // By the width, the distance of the third position from the start, and the start.
  void list_widths() {
    for (int width = 0; width < nodes; ++width) {
      const int step = whole_vectors(nodes - width), size = (width + 1) * step;
      for (int start = 0; start < nodes - width; ++start) rows_[false][start * nodes + start + width] = {cells_[false] - start * step, step};
      cells_[false] += size, span_size_ = std::max(span_size_, size);
    }
  }

  // By the start, the end, and the third position, inside of the span or outside.
  void list_spans() {
    for (int start = 0; start < nodes; ++start)
      for (int end = start; end < nodes; ++end)
        for (const bool exterior : {false, true}) {
          rows_[exterior][start * nodes + end] = {cells_[exterior], kLanes};
          cells_[exterior] += (exterior ? nodes - end + start + 1 : end - start + 1) * kLanes;
        }
    span_size_ += kLanes;
  }

  Storage take(ptrdiff_t size, Storage storage) {
    storage.base += size_;
    size_ += size;
    return storage;
  }

  Storage place(const Table& table) {
    if (table.positions == 2) return skewed ? take(2 * plane_, {plane_ - row_, {row_, sentences - row_}}) : take(plane_, {0, {row_, kLanes}});
    if (table.positions == 1) return take(row_, {0, {sentences}});
    return take(plane_ * nodes, skewed ? Storage{0, {sentences - row_ - plane_, plane_, row_}} : Storage{0, {plane_, row_, kLanes}});
  }

  void place(const Item& item) {
    const bool has_third = item.positions == 3;
    const Storage skewed_own = has_third ? Storage{0, {sentences}} : Storage{0, {sentences - row_, row_}};
    const Storage own = skewed ? skewed_own : has_third ? Storage{} : Storage{0, {row_, kLanes}};
    const Storage room = take(has_third ? cells_[item.exterior] : plane_, own);
    for (int side = 0; side < kSides; ++side) {
      Storage& storage = items_.emplace_back(room);
      if (!has_third) continue;
      storage.rows = rows_[item.exterior].data(), storage.spans = nodes;
      if (skewed) continue;
      // The first cell of a row is that of the start, if inside of the span, else of the root; nodes behind the end follow.
      if (side == kInner) storage.steps[0] = -kLanes;
      if (side == kBehind) storage.base += kLanes, storage.steps[0] = kLanes, storage.steps[1] = -kLanes;
    }
  }

  // Finds the addresses of factors. Whether there is an innermost loop, along which some of them vary.
  void resolve(Product& product, bool has_inner) const {
    const std::vector<Loop>& loops = product.nest.loops;
    for (const Factor& factor : product.factors) {
      Address own(factor.is_item ? item(factor.number, factor.side) : tables[factor.number], factor.positions);
      if (has_inner && !loops.empty()) own.inner = own.stride(loops.back().slot);
      if (loops.size() > has_inner) own.middle = own.stride(loops[loops.size() - 1 - has_inner].slot);
      product.addresses.push_back(own);
    }
    const auto varies = [](const Address& own) { return own.inner.moves(); };
    const auto fixed = std::stable_partition(product.addresses.begin(), product.addresses.end(), varies);
    product.varying = static_cast<int>(fixed - product.addresses.begin());
  }

  const ptrdiff_t row_, plane_;
  size_t size_ = 0;
  std::vector<Storage> items_;
  std::vector<Row> rows_[2];  // of items whose third position is inside of their spans, and outside
  int cells_[2] = {};         // how many they have
  int span_size_ = row_;  // cells of an item with two positions, or more of one with three
};

}  // namespace structdep
