// Where the tables and the items of a few sentences lie in memory.
//
// Cells that lie beside each other are looked at together, kLanes of them. In skewed layouts these are those of spans of
// one width with neighbouring starts, so that a sentence alone has as many; rules have to hold wherever they are shifted
// to. In others these are those of one span in several sentences.
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
    for (const Table& table : program.tables) tables.push_back(lay_out(table));
    for (const Item& item : program.items) lay_out(item);
    for (Product& product : program.goal) resolve(product), put_varying_first(product), put_rows_first(product);
    for (Item& item : program.items) {
      for (Product& product : item.products) resolve(product);
      for (Product& product : item.rules) resolve(product), put_varying_first(product), put_rows_first(product);
    }
  }

  Program program;
  const size_t number = next();  // of all that were made, from 1 on
  const int nodes, sentences;  // of a sentence, and beside each other
  const bool skewed;           // how cells lie beside each other
  std::vector<Home> tables;
  mutable std::atomic<double> microseconds{std::numeric_limits<double>::infinity()};  // that charts laid out so last took

  size_t size() const { return size_ + kLanes; }
  // Behind these, room for sums of an item at a span; and all of it.
  size_t sums() const { return size(); }
  size_t size_with_sums() const { return size() + most_of_span_ + kLanes; }

  // How many vectors lie beside each other at a span.
  int blocks(const Nodes& nodes) const {
    return skewed ? ((nodes.at[kLast] + 1 - nodes.at[kEnd]) * sentences + kLanes - 1) / kLanes : 1;
  }

  const Home& home(int number, int side) const { return homes_[number * kSides + side]; }  // of an item

 private:
  // Room for cells at so many nodes, in all sentences.
  int whole_vectors(int nodes) const { return (nodes * sentences + kLanes - 1) / kLanes * kLanes; }

  static size_t next() {
    static std::atomic<size_t> last{0};
    return ++last;
  }

  void list_rows() {
    if (const double cells = std::pow(nodes, 3) * sentences; cells > INT_MAX / 2) throw NoMemory(cells * sizeof(float));
    for (const bool exterior : {false, true}) rows_[exterior].resize(nodes * nodes);
    skewed ? list_widths() : list_spans();
  }

  // By the start, the end, and the third position, inside of the span or outside.
  void list_spans() {
    for (int start = 0; start < nodes; ++start)
      for (int end = start; end < nodes; ++end)
        for (const bool exterior : {false, true}) {
          const int size = exterior ? nodes - end + start + 1 : end - start + 1;
          rows_[exterior][start * nodes + end] = {cells_[exterior], kLanes};
          cells_[exterior] += size * kLanes;
        }
    most_of_span_ = row_ + kLanes;
  }

  // By the width, the distance of the third position from the first, and the first.
  void list_widths() {
    for (int width = 0; width < nodes; ++width) {
      const int step = whole_vectors(nodes - width);
      for (int start = 0; start < nodes - width; ++start) rows_[false][start * nodes + start + width] = {cells_[false] - start * step, step};
      cells_[false] += (width + 1) * step, most_of_span_ = std::max(most_of_span_, (width + 1) * step);
    }
  }

  Home take(ptrdiff_t size, Home home) {
    home.base += size_;
    size_ += size;
    return home;
  }

  Home lay_out(const Table& table) {
    if (table.positions == 2) return skewed ? take(2 * plane_, {plane_ - row_, {row_, sentences - row_}}) : take(plane_, {0, {row_, kLanes}});
    if (table.positions < 2) return take(row_, {0, {sentences}});
    return take(plane_ * nodes, skewed ? Home{0, {sentences - row_ - plane_, plane_, row_}} : Home{0, {plane_, row_, kLanes}});
  }

  void lay_out(const Item& item) {
    // The first cells of a row: where the third position of items inside of their spans is the start, behind these the end.
    const Home on_side[kSides] = {{0, {-kLanes}}, {}, {kLanes, {kLanes, -kLanes}}};
    Home own = item.positions == 2 ? Home{0, {skewed ? sentences - row_ : row_, skewed ? row_ : kLanes}} : skewed ? Home{0, {sentences}} : Home{};
    const Home room = take(item.positions == 2 ? plane_ : cells_[item.exterior], own);
    for (int side = 0; side < kSides; ++side) {
      Home& home = homes_.emplace_back(room);
      if (item.positions == 2) continue;
      home.rows = rows_[item.exterior].data(), home.spans = nodes;
      if (skewed) continue;
      home.base += on_side[side].base;
      for (int m = 0; m < 2; ++m) home.weight[m] += on_side[side].weight[m];
    }
  }

  void resolve(Product& product) const {
    for (const Factor& factor : product.factors) {
      Address own(factor.is_item ? home(factor.number, factor.side) : tables[factor.number], factor.places);
      own.set_strides(product.nest, product.even);
      product.rows += own.inner.rows != 0;
      product.addresses.push_back(own);
    }
    if (product.even) put_varying_first(product);
  }

  static void put_varying_first(Product& product) {
    const auto fixed = std::stable_partition(product.addresses.begin(), product.addresses.end(),
                                             [](const Address& own) { return own.inner.moves(); });
    product.varying = static_cast<int>(fixed - product.addresses.begin());
  }

  static void put_rows_first(Product& product) {
    std::stable_partition(product.addresses.begin(), product.addresses.end(), [](const Address& own) { return own.inner.rows; });
  }

  const ptrdiff_t row_, plane_;
  size_t size_ = 0;
  std::vector<Home> homes_;
  std::vector<Row> rows_[2];  // of items whose third position is inside of their spans, and outside
  int cells_[2] = {};         // how many they have
  int most_of_span_ = 0;      // cells of an item at one span
};

}  // namespace structdep
