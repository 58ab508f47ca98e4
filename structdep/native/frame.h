// Where the tables and the items of a few sentences lie in memory.
//
// Cells that lie beside each other are looked at together, kLanes of them. In skewed frames these are those of spans of
// one width with neighbouring starts, so that a sentence alone has as many; rules have to hold wherever they are shifted
// to. In others these are those of one span in several sentences, and what belongs to a span lies as close as can be.
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "program.h"
#include "vectors.h"

namespace structdep {

// Items that are sums of items at their own positions: members are numbers of `items`, first the leaves, then the sums.
// An item alone that is none is the only leaf.
struct Family {
  static constexpr size_t kMost = 80;
  std::vector<int> items;
  size_t leaves = 0;
  std::vector<std::vector<uint8_t>> members;  // of each sum
};

class Frame {
 public:
  // To be traced, charts keep all items that rules name; to be differentiated, those that take long to compute.
  Frame(Program given, int nodes, int sentences, bool skewed, bool traced, bool differentiated)
      : program(std::move(given)), nodes(nodes), sentences(skewed ? sentences : kLanes), skewed(skewed) {
    row_ = (nodes * this->sentences + kLanes - 1) / kLanes * kLanes;
    plane_ = nodes * row_;
    if (!skewed) list_spans();
    for (const Table& table : program.tables) tables.push_back(lay_out(table));
    for (Item& item : program.items) {
      const bool lent = item.passing && item.positions > 2;  // the derivative is passed on at once, if not the value
      item.passing &= !(traced && item.ruled) && !(differentiated && (has_sums(item) || item.products.size() > 1));
      lay_out(item, lent);
    }
    for (Product& product : program.goal) resolve(product);
    for (Item& item : program.items) {
      for (Product& product : item.products) resolve(product);
      for (Product& product : item.rules) resolve(product);
    }
    find_families();
  }

  Program program;
  const int nodes, sentences;  // of a sentence, and beside each other
  const bool skewed;
  std::vector<Home> tables;
  std::vector<Family> families;  // in the order in which they can be computed

  size_t size() const { return size_ + kLanes; }
  size_t share_size() const { return share_size_ + kLanes; }
  size_t of_one_span() const { return (skewed ? plane_ : row_ + kLanes) + kLanes; }  // between cells of an item at most

  // Where an item's cells at a span are, and the derivatives: that of a third position is so many steps further.
  ptrdiff_t row(int number, int side, int start, int end) const {
    const Home& own = home(number, side);
    return own.value.at(start, end) + (own.spans ? own.spans[start * own.rows + end] : 0);
  }
  ptrdiff_t share_row(int number, int side, int start, int end) const {
    const Home& own = home(number, side);
    return own.share.at(start, end) + (own.spans && !own.lent ? own.spans[start * own.rows + end] : 0);
  }
  ptrdiff_t step(int number) const { return program.items[number].positions < 3 ? 0 : skewed ? row_ : kLanes; }

 private:
  static constexpr int kSides = 3;

  static bool has_sums(const Item& item) {
    const auto is_sum = [](const Loop& loop) { return loop.slot != kThird; };
    return std::any_of(item.products.begin(), item.products.end(), [&](const Product& product) {
      return std::any_of(product.nest.loops.begin(), product.nest.loops.end(), is_sum);
    });
  }

  // Whether it is a sum of others at its positions.
  bool is_sum(const Item& item) const {
    return item.positions == 3 && item.axioms.empty() && item.products.size() > 1 &&
           std::all_of(item.products.begin(), item.products.end(), [&](const Product& product) {
             const Factor& only = product.factors[0];
             const std::vector<Place>& at = only.places;
             return product.factors.size() == 1 && only.is_item && only.side == product.side && at.size() == 3 &&
                    at[0].is(kStart) && at[1].is(kEnd) && at[2].is(kThird) && product.nest.loops.size() == 1 &&
                    program.items[only.number].exterior == item.exterior;
           });
  }

  // Sums are computed as soon as the first of them can be, with all others that can be then.
  void find_families() {
    std::vector<bool> done(program.items.size());
    for (size_t first = 0; first < program.items.size(); ++first) {
      if (done[first]) continue;
      Family own;
      std::vector<int> sums;
      const auto is_ready = [&](const Product& product) {
        const int number = product.factors[0].number;
        return done[number] || has(sums, number);
      };
      for (size_t number = first; number < program.items.size(); ++number) {
        const Item& item = program.items[number];
        if (!done[number] && is_sum(item) && std::all_of(item.products.begin(), item.products.end(), is_ready))
          sums.push_back(number);
      }
      if (sums.size() < 2 || sums[0] != static_cast<int>(first)) sums.clear();
      for (const int sum : sums)
        for (const Product& product : program.items[sum].products)
          if (const int number = product.factors[0].number; done[number] && !has(own.items, number)) own.items.push_back(number);
      if (own.items.size() + sums.size() > Family::kMost) own.items.clear(), sums.clear();
      if (sums.empty()) own.items = {static_cast<int>(first)};
      own.leaves = own.items.size();
      own.items.insert(own.items.end(), sums.begin(), sums.end());
      for (const int sum : sums) {
        own.members.emplace_back();
        for (const Product& product : program.items[sum].products) {
          const size_t member = std::find(own.items.begin(), own.items.end(), product.factors[0].number) - own.items.begin();
          if (!has(own.members.back(), member)) own.members.back().push_back(member);
        }
        done[sum] = true;
      }
      done[first] = true;
      families.push_back(own);
    }
  }

  template <typename Number>
  static bool has(const std::vector<Number>& numbers, size_t number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  }

  // Whether the third position is outside, and whether cells with one end lie together, not those with one start.
  static int kind_of(const Item& item) { return item.exterior + 2 * item.by_end; }

  void list_spans() {
    if (std::pow(nodes, 3) * kLanes > INT_MAX / 2) throw std::bad_alloc();
    for (std::vector<int>& spans : spans_) spans.resize(nodes * nodes);
    const auto add = [&](int kind, int start, int end) {
      spans_[kind][start * nodes + end] = cells_[kind];
      cells_[kind] += (kind % 2 ? nodes - end + start + 1 : end - start + 1) * kLanes;
    };
    for (int one = 0; one < nodes; ++one)
      for (int other = 0; other < nodes; ++other)
        for (int kind = 0; kind < 2; ++kind) {
          if (one <= other) add(kind, one, other);
          if (other <= one) add(2 + kind, other, one);
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
    if (table.positions == 3) own = skewed ? in_order(true) : Box{0, {plane_, row_, kLanes}}, size = plane_ * nodes;
    Home result;
    result.value = take(size_, size, own), result.share = take(share_size_, size, own);
    return result;
  }

  // By the distances of the second and the third position from the first, which is not behind them, and by the first.
  Box in_order(bool every_span) const {
    return {0, {sentences - row_ - every_span * plane_, every_span * plane_, row_}};
  }

  void lay_out(const Item& item, bool lent) {
    for (int side = 0; side < kSides; ++side) {
      Home own;
      size_t size = size_, share_size = share_size_;
      own.value = lay_out(item, side, item.passing, size);
      own.share = lay_out(item, side, item.passing || lent, share_size);
      if (!skewed && item.positions == 3 && !item.passing)
        own.spans = spans_[kind_of(item)].data(), own.rows = nodes, own.lent = lent;
      homes_.push_back(own);
      if (side == kSides - 1) size_ = size, share_size_ = share_size;
    }
  }

  Box lay_out(const Item& item, int side, bool one_span, size_t& size) const {
    if (skewed && item.positions == 3) return take(size, one_span ? plane_ : plane_ * nodes, in_order(!one_span));
    if (skewed) return take(size, one_span ? row_ : plane_, {0, {sentences - !one_span * row_, !one_span * row_, 0}});
    if (item.positions == 2) return take(size, one_span ? kLanes : plane_, {0, {!one_span * row_, !one_span * kLanes, 0}});
    const int cells = one_span ? row_ + kLanes : cells_[kind_of(item)];
    if (side == kInner) return take(size, cells, {0, {-kLanes, 0, kLanes}});
    if (side == kBefore) return take(size, cells, {0, {0, 0, kLanes}});
    return take(size, cells, {kLanes, {kLanes, -kLanes, kLanes}});
  }

  void resolve(Product& product) const {
    for (const Factor& factor : product.factors) {
      Address own;
      static_cast<Home&>(own) = factor.is_item ? home(factor.number, factor.side) : tables[factor.number];
      for (size_t m = 0; m < factor.places.size(); ++m) {
        const int shift = factor.places[m].shift;
        own.slot[m] = factor.places[m].slot;
        for (Box* box : {&own.value, &own.share}) box->base += box->weight[m] * shift;
        if (m < 2) own.span_shift += (m ? 1 : own.rows) * shift;
      }
      if (!product.nest.loops.empty()) {
        own.step = own.stride(product.nest.loops.back().slot);
        own.span_step = own.span_stride(product.nest.loops.back().slot);
      }
      product.addresses.push_back(own);
    }
    product.even |= skewed;
    if (!product.even) return;
    const auto fixed = std::stable_partition(product.addresses.begin(), product.addresses.end(),
                                             [](const Address& own) { return own.step != 0; });
    product.varying = static_cast<int>(fixed - product.addresses.begin());
  }

  const Home& home(int number, int side) const { return homes_[number * kSides + side]; }

  ptrdiff_t row_, plane_;
  size_t size_ = 0, share_size_ = 0;
  std::vector<Home> homes_;
  std::vector<int> spans_[4];  // where the cells of a span begin, of each kind of items with three positions
  int cells_[4] = {};          // how many they have
};

// Whether the rules of a program hold wherever they are shifted to, and each item lies within its span.
inline bool can_be_skewed(const Program& program) {
  const auto is_edge = [](const Place& place) { return place.slot == kRoot || place.slot == kLast; };
  const auto has_edge = [&](const std::vector<Place>& places) { return std::any_of(places.begin(), places.end(), is_edge); };
  const auto shifts = [&](const Nest& nest) {
    return std::none_of(nest.conditions.begin(), nest.conditions.end(), [](const Condition& c) {
             return c.least > 0 && ((c.start == kRoot && c.end == kStart) || (c.start == kEnd && c.end == kLast));
           }) &&
           std::none_of(nest.loops.begin(), nest.loops.end(), [&](const Loop& l) { return has_edge(l.least) || has_edge(l.most); });
  };
  const auto region_shifts = [&](const Region& region) { return shifts(region.nest); };
  const auto product_shifts = [&](const Product& product) {
    return shifts(product.nest) && std::none_of(product.factors.begin(), product.factors.end(),
                                                [&](const Factor& factor) { return has_edge(factor.places); });
  };
  return std::all_of(program.items.begin(), program.items.end(), [&](const Item& item) {
           return !item.exterior && std::all_of(item.cells.begin(), item.cells.end(), region_shifts) &&
                  std::all_of(item.axioms.begin(), item.axioms.end(), region_shifts) &&
                  std::all_of(item.products.begin(), item.products.end(), product_shifts);
         }) &&
         std::all_of(program.tables.begin(), program.tables.end(), [](const Table& t) { return t.positions < 3 || t.ordered; });
}

}  // namespace structdep
