// From a filled chart down: a best derivation of one sentence, or one drawn at random.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// Calls visit(nodes) for all nodes of the first so many loops of a product, those of the first loop slowest.
template <typename Visit>
void for_each(const Nest& nest, size_t loops, Nodes& nodes, Visit visit, size_t depth = 0) {
  if (depth == 0 && !nest.possible(nodes)) return;
  if (depth == loops) return visit(nodes);
  const Loop& loop = nest.loops[depth];
  const int last = loop.last(nodes);
  for (int node = loop.first(nodes); node <= last; ++node) {
    nodes.at[loop.slot] = node;
    for_each(nest, loops, nodes, visit, depth + 1);
  }
}

template <typename T>
class Sentence {
 public:
  Sentence(Chart<T>& chart, int lane, int words) : program_(chart.program()), chart_(chart), lane_(lane) {
    goal_.at[kLast] = words + program_.last;
  }

  T value(bool adds) {
    T best = -kInf<T>, sum = 0;
    for_each_goal([&](const Product&, T value) { best = std::max(best, value); });
    if (!adds || !std::isfinite(best)) return best;
    for_each_goal([&](const Product&, T value) { sum += std::exp(value - best); });
    return best + std::log(sum);
  }

  // Adds the derivative of the goal's value to those of what it is made of.
  void share(T value) {
    Vec<T>* const shares = chart_.shares();
    for_each_goal([&](const Product& product, T own) {
      for (const Address& factor : product.addresses)
        shares[factor.of(goal_) + factor.to_share][lane_] += std::exp(own - value);
    });
  }

  // Calls use(score's table, nodes) for each that the derivation uses. The best one without `random`.
  template <typename Use>
  void trace(Random* random, Use use) {
    std::vector<Cell> stack;
    choose(program_.goal, kInner, goal_, random, stack, use);
    while (!stack.empty()) {
      const Cell cell = stack.back();
      stack.pop_back();
      if (Chart<T>::is_axiom(program_.items[cell.item], cell.side, cell.nodes)) continue;
      choose(program_.items[cell.item].rules, cell.side, cell.nodes, random, stack, use);
    }
  }

 private:
  struct Cell {
    int item, side;
    Nodes nodes;
  };
  // Products that differ in the node of one slot alone, from `first` on, and where their values begin in `values_`.
  struct Segment {
    const Product* product;
    Nodes nodes;
    int slot, first;
    size_t begin;
  };

  T value_of(const Product& product, const Nodes& nodes) const {
    T result = 0;
    for (const Address& own : product.addresses) result += chart_.cells()[own.of(nodes)][lane_];
    return result;
  }

  template <typename Visit>
  void for_each_goal(Visit visit) {
    for (const Product& product : program_.goal)
      for_each(product.nest, product.nest.loops.size(), goal_,
               [&](const Nodes& nodes) { visit(product, value_of(product, nodes)); });
  }

  template <typename Use>
  void choose(const std::vector<Product>& products, int side, const Nodes& at, Random* random, std::vector<Cell>& stack,
              Use use) {
    values_.clear(), segments_.clear();
    for (const Product& product : products)
      if (product.side == side) {
        Nodes nodes = at;
        const size_t outer = product.nest.loops.size() - !product.nest.loops.empty();
        for_each(product.nest, outer, nodes, [&](Nodes& own) { list(product, own); });
      }
    if (values_.empty()) return;
    const T most = *std::max_element(values_.begin(), values_.end());
    const size_t chosen = random ? draw(most, *random) : std::find(values_.begin(), values_.end(), most) - values_.begin();
    follow(random ? at_place(chosen) : leftmost(chosen, most), stack, use);
  }

  // Appends the values of a product for all nodes of its last loop, the others given.
  void list(const Product& product, Nodes& nodes) {
    if (product.nest.loops.empty()) {
      segments_.push_back({&product, nodes, kLast, nodes.at[kLast], values_.size()});
      return values_.push_back(value_of(product, nodes));
    }
    const Loop& loop = product.nest.loops.back();
    const int first = loop.first(nodes), size = loop.last(nodes) - first + 1;
    if (size <= 0) return;
    chart_.walk(loops_, product, nodes, loop.slot, nullptr);
    segments_.push_back({&product, nodes, loop.slot, first, values_.size()});
    values_.resize(values_.size() + size);
    T* const to = values_.data() + segments_.back().begin;
    for (int f = 0; f < loops_.factors; ++f) {
      const Walk<T>& walk = loops_.walk[f];
      const T* const from = reinterpret_cast<const T*>(walk.at) + lane_;
      for (int m = 0; m < size; ++m) {
        const T own = from[(walk.middle * (first + m) + walk.span[walk.span_step * (first + m)]) * kLanes];
        to[m] = f ? to[m] + own : own;
      }
    }
  }

  struct Chosen {
    const Product* product;
    Nodes nodes;
    bool before(const Chosen& other) const {
      return std::lexicographical_compare(nodes.at + kSummed, nodes.at + kSlots, other.nodes.at + kSummed,
                                          other.nodes.at + kSlots);
    }
  };

  Chosen at_place(size_t place) const {
    size_t m = segments_.size() - 1;
    while (segments_[m].begin > place) --m;
    Chosen result{segments_[m].product, segments_[m].nodes};
    result.nodes.at[segments_[m].slot] = segments_[m].first + static_cast<int>(place - segments_[m].begin);
    return result;
  }

  // Of the products with a value, and with the number of the first of these, the one whose sums split leftmost.
  Chosen leftmost(size_t place, T value) const {
    Chosen best = at_place(place);
    while ((place = std::find(values_.begin() + place + 1, values_.end(), value) - values_.begin()) < values_.size()) {
      const Chosen other = at_place(place);
      if (other.product->number != best.product->number) break;
      if (other.before(best)) best = other;
    }
    return best;
  }

  // The place of a product, drawn in proportion to e^value.
  size_t draw(T most, Random& random) const {
    const auto weight = [&](T value) { return std::exp(static_cast<double>(value - most)); };
    double total = 0;
    for (const T value : values_) total += weight(value);
    double left = random.uniform() * total;
    size_t last = 0;
    for (size_t place = 0; place < values_.size(); ++place) {
      const double own = weight(values_[place]);
      if (own == 0) continue;
      last = place;
      if ((left -= own) < 0) break;
    }
    return last;
  }

  template <typename Use>
  void follow(const Chosen& chosen, std::vector<Cell>& stack, Use use) const {
    for (const Factor& factor : chosen.product->factors) {
      if (!factor.is_item) {
        use(program_.tables[factor.number], factor, chosen.nodes);
        continue;
      }
      Cell cell{factor.number, factor.side, {}};
      cell.nodes.at[kLast] = chosen.nodes.at[kLast];
      for (size_t m = 0; m < factor.places.size(); ++m) cell.nodes.at[kStart + m] = factor.places[m].of(chosen.nodes);
      stack.push_back(cell);
    }
  }

  const Program& program_;
  Chart<T>& chart_;
  const int lane_;
  Nodes goal_;
  std::vector<T> values_;
  std::vector<Segment> segments_;
  Loops<T> loops_;
};

}  // namespace structdep
