// The charts of a few sentences: filled from the narrowest spans up, and, from the widest down, the derivatives.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "cells.h"
#include "frame.h"
#include "kernels.h"
#include "memory.h"
#include "preparation.h"
#include "program.h"

namespace structdep {

template <typename T>
class Chart {
 public:
  // Of sentences with up to so many nodes.
  Chart(const Frame& frame, int nodes, Numbers numbers)
      : frame_(frame),
        nodes_(nodes),
        numbers_(numbers),
        values_(numbers == kReals ? Room<T>(kRealValues, frame.size(), owner())
                                  : Room<T>(kValues, frame.size_with_sums())),
        products_(frame) {
    if (numbers == kLogs) std::fill(cells() + frame.size(), cells() + frame.size_with_sums(), T{0});
  }

  const Frame& frame() const { return frame_; }
  T* cells() const { return values_.data(); }
  T* shares() {
    if (!shares_) shares_ = std::make_unique<Room<T>>(kShares, frame_.share_size(), owner());
    return shares_->data();
  }

  void fill() {
    for (const Span& span : order()) {
      Nodes nodes = at(span);
      for (size_t item = 0; item < items().size(); ++item) compute(item, nodes);
    }
  }

  // From the shares of goals to those of tables; those of items are zero again.
  void share() {
    const std::vector<Span> spans = order();
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      fill_passing(*span);
      Nodes nodes = at(*span);
      for (size_t item = items().size(); item-- > 0;) pull_back(item, nodes);
    }
  }

  // Whether all products of real numbers that are too small to be normal are of no account: what the value's logarithm has of
  // each is at most its own size, times numbers of items and derivatives by these.
  bool is_exact() const {
    constexpr int kSpare = 34;  // bits of precision, and of how many products there are
    constexpr double kMost = 1 / (std::numeric_limits<T>::min() * double{1ull << kSpare});
    double sizes = 0, derivatives = 0;
    for (int lane = 0; lane < kLanes; ++lane) sizes += sizes_[lane], derivatives += derivatives_[lane];
    return sizes * derivatives < kMost;
  }

  // Makes all numbers 0, where some may be none.
  void clear() {
    values_.clear();
    if (shares_) shares_->clear();
  }

  // Whether an axiom gives a cell on this side.
  static bool is_axiom(const Item& item, int side, const Nodes& nodes) {
    return std::any_of(item.axioms.begin(), item.axioms.end(), [&](const Region& axiom) {
      return axiom.side == side && axiom.thirds(nodes).has(nodes.at[kThird]);
    });
  }

 private:
  struct Span {
    int start, end;
  };

  bool is_real() const { return numbers_ == kReals; }

  // Of memory: charts of other programs may have left there what is none of theirs.
  size_t owner() const { return 2 * frame_.number + std::is_same_v<T, double>; }

  const std::vector<Item>& items() const { return frame_.program.items; }

  // Spans behind all those within them; if skewed, the first of each width. What begins alike is read together.
  std::vector<Span> order() const {
    std::vector<Span> result;
    for (int start = frame_.skewed ? 0 : nodes_ - 1; start >= 0; --start)
      for (int end = start; end < nodes_; ++end) result.push_back({start, end});
    return result;
  }

  Nodes at(Span span) {
    Nodes nodes;
    nodes.at[kLast] = nodes_ - 1, nodes.at[kStart] = span.start, nodes.at[kEnd] = span.end;
    blocks_ = frame_.blocks(nodes);
    return nodes;
  }

  // Again the items that are read at their own span alone, which share their memory with those of other spans.
  void fill_passing(const Span& span) {
    Nodes nodes = at(span);
    for (size_t item = 0; item < items().size(); ++item)
      if (items()[item].passing) compute(item, nodes);
  }

  void compute(int number, Nodes& nodes) {
    const Item& item = items()[number];
    T* const cells = this->cells();
    const Cells own(frame_, number, item.cells, nodes);
    if (own.is_empty()) return;
    if (has_axiom(item, nodes)) {
      store_all(own, cells, nothing<T>(numbers_));
      for (const Region& axiom : item.axioms)
        store_all(Cells(frame_, number, axiom, nodes), cells, is_real() ? kOne<true, T> : kOne<false, T>);
      return;
    }
    products_.find(number, nodes, cells, nullptr);
    store_all(own, cells, nothing<T>(numbers_));
    T* const sums = cells + frame_.sums() - own.first();
    for (Loops<T>& loops : products_) loops.sum = sums;
    item.assigned ? execute_all<Work::kAssign>() : execute_all<Work::kAdd>();
    if (numbers_ == kLogs && !item.assigned) add_logarithms(own, cells, sums);
  }

  void pull_back(int number, Nodes& nodes) {
    const Item& item = items()[number];
    const Cells own(frame_, number, item.cells, nodes);
    if (own.is_empty()) return;
    const Home& home = frame_.home(number, item.cells[0].side);
    T* const shares = this->shares() + home.to_share(nodes.at[kStart], nodes.at[kEnd]);
    if (is_real()) own.for_each([&](ptrdiff_t at) { derivatives_ += load(shares + at), sizes_ += load(cells() + at); });
    if (are_zero(shares, own)) return;
    if (!has_axiom(item, nodes)) share_out(number, nodes, shares);
    store_all(own, shares, T{0});
  }

  bool are_zero(const T* shares, const Cells& own) const {
    Mask<T> any{};
    own.for_each([&](ptrdiff_t at) { any |= load(shares + at) != 0; });
    return none<T>(any);
  }

  void share_out(int number, Nodes& nodes, const T* shares) {
    products_.find(number, nodes, cells(), this->shares());
    for (Loops<T>& loops : products_) loops.share = shares;
    items()[number].assigned ? execute_all<Work::kShareAll>() : execute_all<Work::kShare>();
  }

  template <Work kWork>
  void execute_all() const {
    for (const Loops<T>& loops : products_) execute<kWork>(numbers_, loops, blocks_);
  }

  const Frame& frame_;
  const int nodes_;
  const Numbers numbers_;
  Vec<T> sizes_{}, derivatives_{};  // the sums of real numbers of items, and of all derivatives by them
  Room<T> values_;
  std::unique_ptr<Room<T>> shares_;
  Preparation<T> products_;  // of the current item at its span
  int blocks_ = 1;
};

}  // namespace structdep
