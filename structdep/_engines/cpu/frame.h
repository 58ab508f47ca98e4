// Where the tables and the items of a few sentences lie in memory.
//
// Cells that lie beside each other are looked at together, kLanes of them. In skewed frames these are those of spans of
// one width with neighbouring starts, so that a sentence alone has as many; rules have to hold wherever they are shifted
// to. In others these are those of one span in several sentences, and what belongs to a span lies as close as can be.
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

class Frame {
 public:
  // To be traced, charts keep all items that rules name; to be differentiated, those that take long to compute.
  Frame(Program given, int nodes, int sentences, bool skewed, bool traced, bool differentiated)
      : program(std::move(given)),
        nodes(nodes),
        sentences(sentences),
        skewed(skewed) {
    row_ = whole_vectors(nodes);
    plane_ = nodes * row_;
    cells_[kOneSpan] = row_;
    const auto has_third = [](const Item& item) { return item.positions == 3; };
    if (std::any_of(program.items.begin(), program.items.end(), has_third)) list_rows();
    for (const Table& table : program.tables) tables.push_back(lay_out(table));
    for (Item& item : program.items) {
      const bool lent = item.passing && item.positions > 2;  // the derivative is passed on at once, if not the value
      item.passing &= !(traced && item.ruled) && !(differentiated && (has_sums(item) || item.products.size() > 1));
      lay_out(item, lent);
    }
    for (Product& product : program.goal) resolve(product), put_varying_first(product), put_rows_first(product);
    for (Item& item : program.items) {
      for (Product& product : item.products) resolve(product);
      for (Product& product : item.rules) resolve(product), put_varying_first(product), put_rows_first(product);
    }
  }

  Program program;
  const size_t number = next();  // of all that were made, from 1 on
  const int nodes, sentences;  // of a sentence, and beside each other
  const bool skewed;           // whether neighbouring cells are spans with neighbouring starts, not sentences
  std::vector<Home> tables;
  mutable std::atomic<double> microseconds{std::numeric_limits<double>::infinity()};  // that charts laid out so last took

  size_t size() const { return size_ + kLanes; }
  size_t share_size() const { return share_size_ + kLanes; }

  // Behind these, room for sums of a span; and all of it.
  size_t sums() const { return size(); }
  size_t size_with_sums() const { return size() + cells_[kOneSpan] + kLanes; }

  // How many vectors lie beside each other at a span.
  int blocks(const Nodes& nodes) const {
    return skewed ? ((nodes.at[kLast] + 1 - nodes.at[kEnd]) * sentences + kLanes - 1) / kLanes : 1;
  }

  const Home& home(int number, int side) const { return homes_[number * kSides + side]; }  // of an item

 private:
  // Beside the kinds of items with three positions: those that are kept at one span.
  static constexpr int kOneSpan = 4;

  // Room for cells at so many nodes, in all sentences.
  int whole_vectors(int nodes) const { return (nodes * sentences + kLanes - 1) / kLanes * kLanes; }

  static size_t next() {
    static std::atomic<size_t> last{0};
    return ++last;
  }

  static bool has_sums(const Item& item) {
    const auto is_sum = [](const Loop& loop) { return loop.slot != kThird; };
    return std::any_of(item.products.begin(), item.products.end(), [&](const Product& product) {
      return std::any_of(product.nest.loops.begin(), product.nest.loops.end(), is_sum);
    });
  }

  // Whether the third position is outside, and whether cells with one end lie together, not those with one start.
  int kind_of(const Item& item) const { return skewed ? 0 : item.exterior + 2 * item.by_end; }

  void list_rows() {
    if (const double cells = std::pow(nodes, 3) * sentences; cells > INT_MAX / 2) throw NoMemory(cells * sizeof(float));
    skewed ? list_widths() : list_spans();
  }

  void list_spans() {
    for (int kind = 0; kind < kOneSpan; ++kind) rows_[kind].resize(nodes * nodes);
    const auto add = [&](int kind, int start, int end) {
      rows_[kind][start * nodes + end] = {cells_[kind], kLanes};
      cells_[kind] += (kind % 2 ? nodes - end + start + 1 : end - start + 1) * kLanes;
    };
    for (int one = 0; one < nodes; ++one)
      for (int other = 0; other < nodes; ++other)
        for (int kind = 0; kind < 2; ++kind) {
          if (one <= other) add(kind, one, other);
          if (other <= one) add(2 + kind, other, one);
        }
    rows_[kOneSpan].resize(nodes * nodes, {0, kLanes});
    cells_[kOneSpan] = row_ + kLanes;
  }

  // By the width, the distance of the third position from the first, and the first.
  void list_widths() {
    for (const int kind : {0, kOneSpan}) rows_[kind].resize(nodes * nodes);
    const auto row = [&](int width) { return whole_vectors(nodes - width); };
    for (int width = 0; width < nodes; ++width) cells_[kOneSpan] = std::max(cells_[kOneSpan], (width + 1) * row(width));
    for (int width = 0; width < nodes; ++width) {
      const int step = row(width);
      for (int start = 0; start < nodes - width; ++start) {
        const int span = start * nodes + start + width;
        rows_[0][span] = {cells_[0] - start * step, step};
        rows_[kOneSpan][span] = {-start * step, step};
      }
      cells_[0] += (width + 1) * step;
    }
  }

  static Box take(size_t& size, ptrdiff_t wanted, Box box) {
    box.base += size;
    size += wanted;
    return box;
  }

  Home lay_out(const Table& table) {
    ptrdiff_t size = row_;
    Box own{0, {sentences, 0, 0}};
    if (table.positions == 2 && skewed) own = {plane_ - row_, {row_, sentences - row_, 0}}, size = 2 * plane_;
    if (table.positions == 2 && !skewed) own = {0, {row_, kLanes, 0}}, size = plane_;
    if (table.positions == 3 && skewed) own = {0, {sentences - row_ - plane_, plane_, row_}}, size = plane_ * nodes;
    if (table.positions == 3 && !skewed) own = {0, {plane_, row_, kLanes}}, size = plane_ * nodes;
    Home result;
    result.value = take(size_, size, own), result.share = take(share_size_, size, own);
    return result;
  }

  void lay_out(const Item& item, bool lent) {
    for (int side = 0; side < kSides; ++side) {
      Home own;
      size_t size = size_, share_size = share_size_;
      const int kept = kind_of(item), values = item.passing ? kOneSpan : kept;
      const int shares = item.passing || lent ? kOneSpan : kept;
      own.value = lay_out(item, side, values, size), own.share = lay_out(item, side, shares, share_size);
      if (item.positions == 3) {
        own.rows = rows_[values].data(), own.share_rows = rows_[shares].data(), own.spans = nodes;
      }
      homes_.push_back(own);
      if (side == kSides - 1) size_ = size, share_size_ = share_size;
    }
  }

  Box lay_out(const Item& item, int side, int kind, size_t& size) const {
    const bool one_span = kind == kOneSpan;
    const ptrdiff_t start = !one_span * row_, end = !one_span * kLanes;
    if (item.positions == 2 && skewed) return take(size, one_span ? row_ : plane_, {0, {sentences - start, start, 0}});
    if (item.positions == 2) return take(size, one_span ? kLanes : plane_, {0, {start, end, 0}});
    const int cells = cells_[kind];
    if (skewed) return take(size, cells, {0, {sentences, 0, 0}});
    if (side == kInner) return take(size, cells, {0, {-kLanes, 0, 0}});
    if (side == kBefore) return take(size, cells, {});
    return take(size, cells, {kLanes, {kLanes, -kLanes, 0}});
  }

  Address address(const Factor& factor) const {
    Address own;
    static_cast<Home&>(own) = factor.is_item ? home(factor.number, factor.side) : tables[factor.number];
    for (size_t m = 0; m < factor.places.size(); ++m) {
      const int shift = factor.places[m].shift;
      own.slot[m] = factor.places[m].slot;
      for (Box* box : {&own.value, &own.share}) box->base += box->weight[m] * shift;
      if (m < 2) own.span_shift += (m ? 1 : own.spans) * shift;
      if (m == 2) own.third_shift = shift;
    }
    return own;
  }

  void resolve(Product& product) const {
    for (const Factor& factor : product.factors) {
      Address own = address(factor);
      own.set_strides(product.nest, product.even);
      product.rows += own.inner.rows != 0;
      product.addresses.push_back(own);
    }
    if (product.even) put_varying_first(product);
  }

  static void put_varying_first(Factors& product) {
    const auto fixed = std::stable_partition(product.addresses.begin(), product.addresses.end(),
                                             [](const Address& own) { return own.inner.moves(); });
    product.varying = static_cast<int>(fixed - product.addresses.begin());
  }

  static void put_rows_first(Factors& product) {
    std::stable_partition(product.addresses.begin(), product.addresses.end(), [](const Address& own) { return own.inner.rows; });
  }

  ptrdiff_t row_, plane_;
  size_t size_ = 0, share_size_ = 0;
  std::vector<Home> homes_;
  std::vector<Row> rows_[kOneSpan + 1];  // of each kind of items with three positions
  int cells_[kOneSpan + 1] = {};         // how many they have
};

}  // namespace structdep
