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

  // Finds them for an item at a span, where there are these cells and derivatives.
  void find(int number, Nodes& nodes, T* cells, T* shares) {
    size_ = 0, cells_ = cells, shares_ = shares;
    for (const Product& product : frame_.program.items[number].products)
      if (product.nest.possible(nodes)) prepare(number, product, nodes, 0);
  }

  int size() const { return size_; }
  Loops<T>* begin() { return loops_.data(); }
  Loops<T>* end() { return loops_.data() + size_; }
  const Loops<T>* begin() const { return loops_.data(); }
  const Loops<T>* end() const { return loops_.data() + size_; }

 private:
  static constexpr int kNone = -1;

  // The loops of a product but for the last two are taken here; one that varies at unequal distances is no inner loop.
  void prepare(int number, const Product& product, Nodes& nodes, size_t depth) {
    const std::vector<Loop>& nest = product.nest.loops;
    const size_t outer = nest.size() - (product.even && !nest.empty());
    if (depth + 1 < outer) {
      const int last = nest[depth].last(nodes);
      for (int node = nest[depth].first(nodes); node <= last; ++node) {
        nodes.at[nest[depth].slot] = node;
        prepare(number, product, nodes, depth + 1);
      }
      return;
    }
    const Loop* const middle = outer ? &nest[outer - 1] : nullptr;
    const Loop* const inner = outer < nest.size() ? &nest[outer] : nullptr;
    const int from = middle ? middle->first(nodes) : 0, to = middle ? middle->last(nodes) : 0;
    if (from > to) return;
    Loops<T>& loops = next();
    loops.from = from, loops.to = to;
    walk(loops, product, nodes, middle ? middle->slot : kNone, inner);
    place(loops, number, product.side, nodes, middle ? middle->slot : kNone);
  }

  Loops<T>& next() {
    if (size_ == static_cast<int>(loops_.size())) loops_.emplace_back();
    Loops<T>& loops = loops_[size_++];
    loops.value = cells_;
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
    loops.first[0] = loops.last[0] = 0, loops.first[1] = INT_MIN / 2, loops.last[1] = INT_MAX / 2;
    if (inner) {
      nodes.at[slot] = 0;
      loops.first[0] = INT_MIN / 2, loops.last[0] = INT_MAX / 2;
      for (const Place& p : inner->least) {
        int& bound = loops.first[p.slot == middle];
        bound = std::max(bound, p.of(nodes));
      }
      for (const Place& p : inner->most) {
        int& bound = loops.last[p.slot == middle];
        bound = std::min(bound, p.of(nodes));
      }
    }
    loops.along = slot == kThird;
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
