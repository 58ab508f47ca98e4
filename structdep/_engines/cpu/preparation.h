// The loops of an item's products at a span.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <vector>

#include "frame.h"
#include "loops.h"

namespace structdep {

template <typename T>
class Preparation {
 public:
  explicit Preparation(const Frame& frame) : frame_(frame) {}

  // Finds them for an item at a span, where there are these cells and derivatives: without what is joined ahead, if it is,
  // to all that is narrower than that width.
  void find(int number, Nodes& nodes, T* cells, T* shares, int ahead) {
    begin(cells, shares);
    for (const Product& product : frame_.program.items[number].products) {
      if (!ahead || !product.beyond) {
        add(number, product, nodes, {INT_MIN, INT_MAX});
        continue;
      }
      const Range done = narrower(nodes, ahead);
      add(number, product, nodes, {INT_MIN, done.first - 1});
      add(number, product, nodes, {done.last + 1, INT_MAX});
    }
  }

  void begin(T* cells, T* shares) { size_ = 0, cells_ = cells, shares_ = shares; }

  // Where both of what a product joins, the first from node 0 on, are narrower than that.
  static Range narrower(const Nodes& nodes, int width) { return {nodes.at[kEnd] - width + 1, width - 1}; }

  // Those of a product, with some nodes of its middle loop.
  void add(int number, const Product& product, Nodes& nodes, Range middle) {
    if (product.nest.possible(nodes)) prepare(number, product, nodes, 0, middle);
  }

  // Those of a reading, where an item is joined to what is narrower: a node of the middle loop is how far the wider item
  // reaches.
  void add(int number, const Reading& reading, Nodes& nodes, Range distances) {
    const int width = nodes.at[kEnd] - nodes.at[kStart];
    const int from = std::max(reading.least, distances.first);
    const int to = std::min({width - 1, nodes.at[kLast] - width, distances.last});
    if (from > to || !reading.nest.possible(nodes)) return;
    nodes.at[kSummed] = nodes.at[reading.side == kBehind ? kEnd : kStart];
    Loops<T>& loops = next(nodes);
    loops.from = from, loops.to = to, loops.side = reading.side, loops.nested = true;
    walk(loops, reading, nodes, kNone, &reading.nest.loops[0]);
    place(loops, number, kInner, nodes, kNone);
  }

  int size() const { return size_; }
  Loops<T>* begin() { return loops_.data(); }
  Loops<T>* end() { return loops_.data() + size_; }
  const Loops<T>* begin() const { return loops_.data(); }
  const Loops<T>* end() const { return loops_.data() + size_; }

 private:
  static constexpr int kNone = -1;

  // The loops of a product but for the last two are taken here; one that varies at unequal distances is no inner loop.
  void prepare(int number, const Product& product, Nodes& nodes, size_t depth, Range only) {
    const std::vector<Loop>& nest = product.nest.loops;
    const size_t outer = nest.size() - (product.even && !nest.empty());
    if (depth + 1 < outer) {
      const int last = nest[depth].last(nodes);
      for (int node = nest[depth].first(nodes); node <= last; ++node) {
        nodes.at[nest[depth].slot] = node;
        prepare(number, product, nodes, depth + 1, only);
      }
      return;
    }
    const Loop* const middle = outer ? &nest[outer - 1] : nullptr;
    const Loop* const inner = outer < nest.size() ? &nest[outer] : nullptr;
    int from = std::max(middle ? middle->first(nodes) : 0, only.first);
    int to = std::min(middle ? middle->last(nodes) : 0, only.last);
    if (shares_ && frame_.reads && product.beyond) leave_to_readings(product.beyond, nodes, from, to);
    if (from > to) return;
    Loops<T>& loops = next(nodes);
    loops.from = from, loops.to = to, loops.nested = middle;
    walk(loops, product, nodes, middle ? middle->slot : kNone, inner);
    place(loops, number, product.side, nodes, middle ? middle->slot : kNone);
  }

  // What joins a premise to what is narrower than that is taken off the middle loop.
  static void leave_to_readings(int beyond, const Nodes& nodes, int& from, int& to) {
    const int start = nodes.at[kStart], end = nodes.at[kEnd], most = (end - start) / 2;
    beyond == kBehind ? to = std::min(to, start + most) : from = std::max(from, end - most);
  }

  Loops<T>& next(const Nodes& nodes) {
    if (size_ == static_cast<int>(loops_.size())) loops_.emplace_back();
    Loops<T>& loops = loops_[size_++];
    loops.value = cells_, loops.width = nodes.at[kEnd] - nodes.at[kStart];
    return loops;
  }

  // Where the conclusions are.
  void place(Loops<T>& loops, int number, int side, const Nodes& nodes, int middle) const {
    const Home& home = frame_.home(number, side);
    const ptrdiff_t step = home.step(nodes.at[kStart], nodes.at[kEnd]);
    loops.step = loops.along ? step : 0, loops.across = middle == kThird ? step : 0;
    loops.place = home.at(nodes.at[kStart], nodes.at[kEnd]) + step * nodes.at[kThird];
  }

  // How the factors of a product lie along the nodes in the slot of its middle loop, and along those of the inner one.
  void walk(Loops<T>& loops, const Factors& product, Nodes& nodes, int middle, const Loop* inner) const {
    const int slot = inner ? inner->slot : kNone;
    if (middle != kNone) nodes.at[middle] = 0;
    if (inner) {
      nodes.at[slot] = 0;
      loops.first[0] = loops.first[1] = INT_MIN / 2, loops.last[0] = loops.last[1] = INT_MAX / 2;
      for (const Place& p : inner->least) {
        int& bound = loops.first[p.slot == middle];
        bound = std::max(bound, p.of(nodes));
      }
      for (const Place& p : inner->most) {
        int& bound = loops.last[p.slot == middle];
        bound = std::min(bound, p.of(nodes));
      }
    }
    loops.alone = !inner, loops.along = slot == kThird;
    loops.factors = product.addresses.size(), loops.varying = product.varying;
    for (int f = 0; f < loops.factors; ++f) {
      const Address& own = product.addresses[f];
      Walk<T>& walk = loops.walk[f] = walk_of<T>(own, cells_, nodes, inner ? own.inner : Stride{}, own.middle);
      if (!shares_) continue;
      walk.to_share = shares_ + own.share_in_box(nodes) - walk.at;
      if (own.share_rows != own.rows) walk.to_share += own.share_row(nodes)->at - walk.row->at;
    }
  }

  const Frame& frame_;
  T *cells_ = nullptr, *shares_ = nullptr;
  std::vector<Loops<T>> loops_;  // kept, if there are fewer than before
  int size_ = 0;
};

}  // namespace structdep
