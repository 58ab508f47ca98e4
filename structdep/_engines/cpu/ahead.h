// Spans of some widths at once, joined to what is narrower than all of them: where charts fit no cache, what is narrower is
// read once for all of these widths, not once for each.
#pragma once

#include <algorithm>
#include <climits>

#include "cells.h"
#include "frame.h"
#include "kernels.h"
#include "preparation.h"
#include "readings.h"

namespace structdep {

template <typename T>
class Ahead {
 public:
  Ahead(const Frame& frame, int nodes, Numbers numbers) : frame_(frame), nodes_(nodes), numbers_(numbers), products_(frame) {}

  // The narrowest of the widths at which an item was last joined so: 0 where it was not.
  int width(const Item& item) const { return item.ahead ? width_ : 0; }

  // Where the sums of an item at a width are, as seen from its values.
  T* sums(int number, int width, T* cells) const {
    return cells + frame_.sums(items()[number], width) - frame_.home(number, kInner).at(0, width);
  }

  // Before spans of a width, if that is the narrowest of some: values of all of these, and sums of exponentials, as far as
  // they come from what is narrower.
  void fill(int width, T* cells) {
    if (!begins(width)) return;
    width_ = width;
    if (!width) return;
    for (size_t number = 0; number < items().size(); ++number) {
      const Item& item = items()[number];
      if (!item.ahead) continue;
      for_each_span([&](Nodes& nodes) { store_all(Cells(frame_, number, item.cells, nodes), cells, nothing<T>(numbers_)); });
      for_each_product(item, number, cells, nullptr, [&](Loops<T>& loops) {
        if (numbers_ == kLogs) loops.sum = sums(number, loops.width, cells);
        add_up(numbers_, loops, blocks(loops));
      });
    }
  }

  // After spans of a width, if that is the narrowest of some: from what is outside of all of these to the derivatives by
  // what is narrower.
  void share(int width, T* cells, T* shares) {
    if (!begins(width) || !width) return;
    for (size_t number = 0; number < items().size(); ++number)
      if (items()[number].ahead)
        for_each_product(items()[number], number, cells, shares, [&](Loops<T>& loops) {
          loops.share = cells + frame_.home(number, kInner).to_outside;
          is_real() ? execute<Work::kShareReal>(loops, blocks(loops)) : execute<Work::kOutside>(loops, blocks(loops));
        });
  }

  // Before spans of a width, if that is the widest of some: the derivatives by all of these, as far as they come from what
  // is wider.
  void read(int width, T* cells, T* shares) {
    if (!frame_.large || !(begins(width + 1) || width + 1 == nodes_)) return;
    width_ = width - width % Frame::kWidths;
    const int wider = width_ + Frame::kWidths;
    for (size_t number = 0; number < items().size(); ++number)
      for (const Reading& reading : items()[number].readings) {
        products_.begin(cells, shares);
        for_each_span([&](Nodes& nodes) { products_.add(number, reading, nodes, {wider - nodes.at[kEnd], INT_MAX}); });
        for (int first = wider; first < nodes_; first += kBeside)
          for (const Loops<T>& loops : products_)
            run(loops, first - loops.width, [&](Loops<T>& some) { read(number, some, shares); });
      }
  }

  // The derivatives by an item at a span, as far as they come from what is wider, but one of the widths.
  void read_rest(int number, Nodes& nodes, T* cells, T* shares) {
    products_.begin(cells, shares);
    for (const Reading& reading : items()[number].readings)
      products_.add(number, reading, nodes, {0, width_ + Frame::kWidths - 1 - nodes.at[kEnd]});
    for (Loops<T>& loops : products_) read(number, loops, shares);
  }

 private:
  bool is_real() const { return numbers_ == kReals; }
  bool begins(int width) const { return frame_.large && width % Frame::kWidths == 0; }

  const std::vector<Item>& items() const { return frame_.program.items; }

  Nodes at(int width) const {
    Nodes nodes;
    nodes.at[kLast] = nodes_ - 1, nodes.at[kEnd] = width;
    return nodes;
  }

  int blocks(const Loops<T>& loops) const { return frame_.blocks(at(loops.width)); }

  template <typename Visit>
  void for_each_span(Visit visit) const {
    for (int width = width_; width < std::min(width_ + Frame::kWidths, nodes_); ++width) {
      Nodes nodes = at(width);
      visit(nodes);
    }
  }

  // A few widths of what is joined in turn, at each of the spans.
  template <typename Visit>
  void for_each_product(const Item& item, int number, T* cells, T* shares, Visit visit) {
    for (const Product& product : item.products) {
      if (!product.beyond) continue;
      products_.begin(cells, shares);
      for_each_span([&](Nodes& nodes) { products_.add(number, product, nodes, Preparation<T>::narrower(nodes, width_)); });
      for (int first = 0; first < width_; first += kBeside)
        for (const Loops<T>& loops : products_)
          run(loops, product.beyond == kBehind ? first : loops.width - first - kBeside + 1, visit);
    }
  }

  void read(int number, Loops<T>& loops, T* shares) const {
    loops.share = shares + frame_.home(number, kInner).to_share(0, loops.width);
    const Lanes lanes{frame_.sentences, (nodes_ - loops.width) * frame_.sentences};
    is_real() ? share_by_reading<true>(loops, lanes) : share_by_reading<false>(loops, lanes);
  }

  // Some nodes of the middle loop.
  template <typename Visit>
  static void run(const Loops<T>& loops, int first, Visit visit) {
    Loops<T> some = loops;
    some.from = std::max(some.from, first), some.to = std::min(some.to, first + kBeside - 1);
    if (some.from <= some.to) visit(some);
  }

  const Frame& frame_;
  const int nodes_;
  const Numbers numbers_;
  Preparation<T> products_;
  int width_ = 0;
};

}  // namespace structdep
