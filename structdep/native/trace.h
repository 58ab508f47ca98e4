// From filled charts down: a best derivation of one sentence after the other, or some drawn at random.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "chart.h"

namespace structdep {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  double uniform() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

// All nodes of the first so many loops of a product, those of the first loop slowest.
class Odometer {
 public:
  STRUCTDEP_INLINE Odometer(const Nest& nest, size_t loops, Nodes& nodes)
      : loops_(nest.loops.data()), size_(loops), nodes_(nodes), is_at_(nest.possible(nodes) && (!loops || settle(0))) {}

  bool is_at() const { return is_at_; }
  STRUCTDEP_INLINE void go_on() { is_at_ = size_ && step(size_); }

 private:
  // To the first nodes of the loops behind the first so many, which are set.
  bool settle(size_t set) {
    for (; set < size_; ++set) {
      const Loop& loop = loops_[set];
      nodes_.at[loop.slot] = loop.first(nodes_);
      if (nodes_.at[loop.slot] > loop.last(nodes_)) return step(set);
    }
    return true;
  }
  // On to the next nodes of the first so many loops.
  bool step(size_t set) {
    while (set--) {
      const Loop& loop = loops_[set];
      if (nodes_.at[loop.slot]++ < loop.last(nodes_)) return settle(set + 1);
    }
    return false;
  }

  const Loop* const loops_;
  const size_t size_;
  Nodes& nodes_;
  bool is_at_;
};

template <typename T>
class Sentence {
 public:
  explicit Sentence(const Chart<T>& chart) : frame_(chart.frame()), program_(frame_.program), chart_(chart.cells()) {}

  // Turns to that in a lane, with so many words.
  void turn_to(int lane, int words) { cells_ = chart_ + lane, nodes_.at[kLast] = words + program_.last; }

  T value(bool adds) {
    T best = -kInf<T>, sum = 0;
    for_each_goal([&](const Product&, T value) { best = std::max(best, value); });
    if (!adds || !std::isfinite(best)) return best;
    for_each_goal([&](const Product&, T value) { sum += std::exp2(value - best); });
    return best + std::log2(sum);
  }

  // Adds the derivative of the goal's value to those of what it is made of, which are here.
  void share(T value, T* shares) {
    for_each_goal([&](const Product& product, T own) {
      for (const Address& factor : product.addresses) shares[factor.share_of(nodes_)] += std::exp2(own - value);
    });
  }

  // Calls use(factor that is no item, nodes) for each that the derivation uses. The best one without `random`.
  template <typename Use>
  void trace(Random* random, Use use) {
    const auto step = [&](const std::vector<Product>& products, int side, T value) {
      if (random ? draw(products, side, *random) : find_best(products, side, value)) follow(use);
    };
    step(program_.goal, kInner, kInf<T>);
    while (!stack_.empty()) {
      const Cell cell = stack_.back();
      stack_.pop_back();
      nodes_.at[kStart] = cell.start, nodes_.at[kEnd] = cell.end, nodes_.at[kThird] = cell.third;
      const Item& item = program_.items[cell.item];
      if (cell.end - cell.start <= item.widest_axiom && Chart<T>::is_axiom(item, cell.side, nodes_)) continue;
      step(item.rules, cell.side, item.rules.size() > 1 ? value_of(cell) : kInf<T>);
    }
  }

 private:
  struct Cell {
    int item, side, start, end, third;
  };
  // A product at a node of each of its loops, or, if that is the first of the last loop, all of these.
  struct Choice {
    const Product* product = nullptr;
    int node[kSlots - kSummed];

    void take(const Product& own, const Nodes& nodes, int places) {
      product = &own;
      for (size_t m = 0; m < own.nest.loops.size(); ++m) node[m] = nodes.at[own.nest.loops[m].slot];
      go_on(places);
    }
    void go_on(int places) {
      if (places) node[product->nest.loops.size() - 1] += places;
    }
    bool before(const Choice& other) const {
      const size_t loops = product->nest.loops.size();
      return std::lexicographical_compare(node, node + loops, other.node, other.node + loops);
    }
  };

  T value_of(const Cell& cell) const {
    const Home& home = frame_.home(cell.item, cell.side);
    return cells_[home.at(cell.start, cell.end) + home.step(cell.start, cell.end) * cell.third];
  }

  T value_of(const Product& product) const {
    T result = 0;
    for (const Address& own : product.addresses) result += cells_[own.of(nodes_)];
    return result;
  }

  template <typename Visit>
  void for_each_goal(Visit visit) {
    for (const Product& product : program_.goal)
      for (Odometer at(product.nest, product.nest.loops.size(), nodes_); at.is_at(); at.go_on()) visit(product, value_of(product));
  }

  // Calls visit(product, size) where products begin that differ in the node of the last loop alone, until what
  // is wanted is found.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_line(const std::vector<Product>& products, int side, Visit visit) {
    for (const Product& product : products) {
      if (product.side != side) continue;
      if (found_ && product.number != chosen_.product->number) return;
      const std::vector<Loop>& loops = product.nest.loops;
      for (Odometer at(product.nest, loops.size() - !loops.empty(), nodes_); at.is_at(); at.go_on()) {
        int size = 1;
        if (!loops.empty()) {
          const Loop& last = loops.back();
          const int first = last.first(nodes_);
          size = last.last(nodes_) - first + 1;
          nodes_.at[last.slot] = first;
        }
        if (size > 0) visit(product, size);
      }
    }
  }

  // Calls visit(place, value) along such a line.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_value(const Product& product, int size, Visit visit) const {
    if (!product.linear) return walk(product, size, visit);
    switch (product.varying) {
      case 0:
        return walk_evenly<0>(product, size, visit);
      case 1:
        return walk_evenly<1>(product, size, visit);
      case 2:
        return walk_evenly<2>(product, size, visit);
      case 3:
        return walk_evenly<3>(product, size, visit);
      default:
        return walk(product, size, visit);
    }
  }

  // Where factors lie at equal distances, and so many of them vary.
  template <int kCount, typename Visit>
  STRUCTDEP_INLINE void walk_evenly(const Product& product, int size, Visit visit) const {
    const T* at[kFactors];
    ptrdiff_t step[kFactors];
    for (int f = 0; f < kCount; ++f) {
      const Address& own = product.addresses[f];
      at[f] = cells_ + own.in_box(nodes_), step[f] = own.inner.box;
      if (own.rows) {
        const Row& row = *own.row(nodes_);
        at[f] += row.at + row.step * own.third(nodes_), step[f] += own.inner.along * row.step;
      }
    }
    T fixed = 0;
    for (size_t f = kCount; f < product.addresses.size(); ++f) fixed += cells_[product.addresses[f].of(nodes_)];
    for (ptrdiff_t m = 0; m < size; ++m) {
      T value = fixed;
      for (int f = 0; f < kCount; ++f) value += at[f][m * step[f]];
      visit(m, value);
    }
  }

  template <typename Visit>
  STRUCTDEP_INLINE void walk(const Product& product, int size, Visit visit) const {
    const int factors = product.addresses.size();
    Walk<T> walk[kFactors];
    for (int f = 0; f < factors; ++f) {
      const Address& own = product.addresses[f];
      walk[f] = walk_of(own, cells_, nodes_, {}, own.inner);
    }
    for (int m = 0; m < size; ++m) {
      T value = *walk[0].of(m);
      for (int f = 1; f < factors; ++f) value += *walk[f].of(m);
      visit(m, value);
    }
  }

  // Of the products with the greatest value, and with the number of the first of these, the one whose sums split leftmost.
  // Those behind one that reaches the value in the chart, up to rounding, are not looked at.
  bool find_best(const std::vector<Product>& products, int side, T value) {
    T best = -kInf<T>;
    chosen_.product = nullptr;
    for_each_line(products, side, [&](const Product& product, int size) {
      T own = -kInf<T>;
      int place = 0;
      if (size > 1 || products.size() > 1)
        for_each_value(product, size, [&](int m, T value) {
          const T most = std::max(own, value);
          place = most > own ? m : place;
          own = most;
        });
      if (!chosen_.product || own > best) {
        chosen_.take(product, nodes_, place), best = own;
      } else if (own == best && product.number == chosen_.product->number) {
        Choice other;
        other.take(product, nodes_, place);
        if (other.before(chosen_)) chosen_ = other;
      }
      found_ = best >= value;
    });
    found_ = false;
    return chosen_.product;
  }

  // A product, drawn in proportion to 2^value.
  bool draw(const std::vector<Product>& products, int side, Random& random) {
    values_.clear(), lines_.clear();
    T most = -kInf<T>;
    for_each_line(products, side, [&](const Product& product, int size) {
      lines_.emplace_back(Choice{}, size);
      lines_.back().first.take(product, nodes_, 0);
      for_each_value(product, size, [&](int, T value) { values_.push_back(value), most = std::max(most, value); });
    });
    if (values_.empty()) return false;
    const auto weight = [&](T value) { return std::exp2(static_cast<double>(value - most)); };
    double total = 0;
    for (const T value : values_) total += weight(value);
    double left = random.uniform() * total;
    int last = 0;
    for (size_t place = 0; place < values_.size(); ++place) {
      const double own = weight(values_[place]);
      if (own == 0) continue;
      last = place;
      if ((left -= own) < 0) break;
    }
    size_t line = 0;
    for (; last >= lines_[line].second; ++line) last -= lines_[line].second;
    chosen_ = lines_[line].first;
    chosen_.go_on(last);
    return true;
  }

  // On to the premises of the chosen product, but those that are too narrow to be concluded by rules.
  template <typename Use>
  void follow(Use use) {
    const std::vector<Loop>& loops = chosen_.product->nest.loops;
    for (size_t m = 0; m < loops.size(); ++m) nodes_.at[loops[m].slot] = chosen_.node[m];
    for (const Factor& factor : chosen_.product->factors) {
      if (!factor.is_item) {
        use(factor, nodes_);
        continue;
      }
      const std::vector<Place>& places = factor.places;
      const int start = places[0].of(nodes_), end = places[1].of(nodes_);
      if (end - start >= program_.items[factor.number].narrowest)
        stack_.push_back({factor.number, factor.side, start, end, places.size() > 2 ? places[2].of(nodes_) : 0});
    }
  }

  const Frame& frame_;
  const Program& program_;
  const T* const chart_;
  const T* cells_ = nullptr;  // of this sentence
  Nodes nodes_;               // of what is looked at
  Choice chosen_;
  bool found_ = false;        // whether no other product is greater
  std::vector<Cell> stack_;
  std::vector<T> values_;
  std::vector<std::pair<Choice, int>> lines_;  // with their sizes
};

}  // namespace structdep
