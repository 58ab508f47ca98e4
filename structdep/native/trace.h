// From a filled chart down: a best derivation of one sentence, or one drawn at random.
#pragma once

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
  struct Candidate {
    T value;
    const Product* product;
    Nodes nodes;
    bool before(const Candidate& other) const {  // among equals: by rule, then by splits
      if (product->number != other.product->number) return product->number < other.product->number;
      return std::lexicographical_compare(nodes.at + kSummed, nodes.at + kSlots, other.nodes.at + kSummed,
                                          other.nodes.at + kSlots);
    }
  };

  T value_of(const Product& product, const Nodes& nodes) const {
    T result = 0;
    for (const Address& own : product.addresses) result += chart_.cells()[own.of(nodes)][lane_];
    return result;
  }

  // Calls visit(value, node in the slot of the last loop) for the nodes of a product's last loop, the others given.
  template <typename Visit>
  void for_each_last(const Product& product, Nodes& nodes, Visit visit) const {
    const Loop& loop = product.nest.loops.back();
    const int first = loop.first(nodes), last = loop.last(nodes);
    if (first > last) return;
    Loops<T> loops;
    chart_.walk(loops, product, nodes, loop.slot, nullptr);
    for (int node = first; node <= last; ++node) {
      T value = 0;
      for (int f = 0; f < loops.factors; ++f) value += reinterpret_cast<const T*>(loops.walk[f].of(node))[lane_];
      visit(value, node);
    }
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
    Candidate best{-kInf<T>, nullptr, at};
    candidates_.clear();
    const auto consider = [&](const Product& product, Nodes& nodes, T value, int slot, int node) {
      const bool may_be_first = value == best.value && best.product;
      if (!(value > best.value || may_be_first || (random && value > -kInf<T>))) return;
      if (slot >= 0) nodes.at[slot] = node;
      const Candidate candidate{value, &product, nodes};
      if (random && value > -kInf<T>) candidates_.push_back(candidate);
      if (value > best.value || (may_be_first && candidate.before(best))) best = candidate;
    };
    for (const Product& product : products) {
      if (product.side != side) continue;
      Nodes nodes = at;
      for_each(product.nest, product.nest.loops.size() - !product.nest.loops.empty(), nodes, [&](Nodes& own) {
        if (product.nest.loops.empty()) return consider(product, own, value_of(product, own), -1, 0);
        const int slot = product.nest.loops.back().slot;
        for_each_last(product, own, [&](T value, int node) { consider(product, own, value, slot, node); });
      });
    }
    if (random && best.product) best = draw(best.value, *random);
    if (best.product) follow(best, stack, use);
  }

  // One of the candidates, with probability in proportion to e^value.
  Candidate draw(T most, Random& random) const {
    double total = 0;
    for (const Candidate& candidate : candidates_) total += std::exp(double(candidate.value - most));
    double left = random.uniform() * total;
    for (const Candidate& candidate : candidates_) {
      left -= std::exp(double(candidate.value - most));
      if (left < 0) return candidate;
    }
    return candidates_.back();
  }

  template <typename Use>
  void follow(const Candidate& chosen, std::vector<Cell>& stack, Use use) const {
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
  std::vector<Candidate> candidates_;
};

}  // namespace structdep
