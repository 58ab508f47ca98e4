// From filled charts down: best derivations of sentences, or some drawn at random.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "batch.h"
#include "chart.h"
#include "random.h"

namespace structdep {

template <typename S>
class Traceback {
 public:
  using T = typename S::Number;

  Traceback(const Chart<S>& chart, const Batch<T>& batch)
      : chart_(chart), batch_(batch), layout_(chart.layout()), program_(layout_.program) {}

  // Begins a derivation of a sentence, for one of its results: a random one with `random`, else the best one.
  void begin(int64_t result, int sentence, int words, std::optional<Random> random) {
    constexpr size_t kMany = 64;
    if (derivations_.size() == kMany) finish();
    if (first_.empty()) first_.resize(layout_.nodes * program_.items.size() * kSides, kNone);
    derivations_.push_back({result, sentence, words + program_.last, random});
    turn_to(derivations_.size() - 1);
    if (choose(program_.goal, kInner, kInf<T>)) follow();
  }

  // Traces all derivations that have begun, from the widest cells to the narrowest, those of an item together.
  void finish() {
    for (int width = layout_.nodes - 1; width >= 0 && !derivations_.empty(); --width)
      for (int item = program_.items.size(); item-- > 0;)
        for (int side = 0; side < kSides; ++side)
          for (int next = std::exchange(first(width, item, side), kNone); next != kNone;) {
            const Cell cell = cells_[next];
            next = cell.next;
            trace(cell, program_.items[item], item, side, width);
          }
    std::fill(first_.begin(), first_.end(), kNone);  // those of wrong programs, whose items are made of wider ones
    derivations_.clear(), cells_.clear();
  }

 private:
  static constexpr int kNone = -1;

  struct Derivation {
    int64_t result;
    int sentence, last;
    std::optional<Random> random;
  };
  struct Cell {
    int derivation, start, third, next;  // the next of its width, item and side
  };
  // A product at a node of each of its loops. What is not in a loop stays: to copy vectors just after they are written stalls.
  struct Choice {
    const Product* product = nullptr;
    int node[kSlots - kSummed];

    void set(const Product& own, const Nodes& nodes, int place) {
      product = &own;
      const std::vector<Loop>& loops = own.nest.loops;
      for (size_t m = 0; m < loops.size(); ++m) node[m] = nodes.at[loops[m].slot];
      go_on(place);
    }
    void go_on(int places) {
      if (places) node[product->nest.loops.size() - 1] += places;
    }
    bool is_before(const Choice& other) const {
      const size_t loops = product->nest.loops.size();
      return std::lexicographical_compare(node, node + loops, other.node, other.node + loops);
    }
  };

  void turn_to(int derivation) {
    derivation_ = &derivations_[derivation];
    values_ = chart_.values() + derivation_->sentence, nodes_.at[kLast] = derivation_->last;
  }

  int& first(int width, int item, int side) { return first_[(width * program_.items.size() + item) * kSides + side]; }

  void trace(const Cell& cell, const Item& item, int number, int side, int width) {
    turn_to(cell.derivation);
    const int start = nodes_.at[kStart] = cell.start, end = nodes_.at[kEnd] = start + width;
    nodes_.at[kThird] = cell.third;
    if (width <= item.widest_axiom && item.is_axiom(side, nodes_)) return;
    const Storage& own = layout_.item(number, side);
    if (choose(item.rules, side, values_[own.at(start, end) + own.third_step(start, end) * cell.third])) follow();
  }

  // Whether there is one among the products of a cell with this value.
  bool choose(const std::vector<Product>& products, int side, T value) {
    chosen_.product = nullptr;
    derivation_->random ? draw(products, side, *derivation_->random) : find_best(products, side, value);
    return chosen_.product;
  }

  // Calls visit(choice, size) where products begin that differ in the node of the last loop alone, until it returns true, and
  // a product of another number comes.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_line(const std::vector<Product>& products, int side, Visit visit) {
    bool is_found = false;
    for (const Product& product : products) {
      if (product.side != side) continue;
      if (is_found && product.number != chosen_.product->number) return;
      const std::vector<Loop>& loops = product.nest.loops;
      for (LoopIterator at(product.nest, loops.size() - !loops.empty(), nodes_); at.is_there(); at.next()) {
        int size = 1;
        if (!loops.empty()) {
          const int first = nodes_.at[loops.back().slot] = loops.back().first(nodes_);
          size = loops.back().last(nodes_) - first + 1;
        }
        if (size > 0) is_found = visit(product, size) || is_found;
      }
    }
  }

  // Calls visit(place, value) for `size` products from these nodes on.
  template <typename Visit>
  STRUCTDEP_INLINE void for_each_value(const Product& product, int size, Visit visit) const {
    const int varying = product.varying;
    Walk walks[kFactors];
    T fixed = S::kOne;
    bool even = true;
    for (size_t f = varying; f < product.addresses.size(); ++f) fixed = S::times(fixed, values_[product.addresses[f].of(nodes_)]);
    for (int f = 0; f < varying; ++f) {
      walks[f] = product.addresses[f].walk(nodes_, product.addresses[f].inner);
      even &= !walks[f].stride.rows;
    }
    if (even && varying == 1) return multiply_even<1>(walks, fixed, size, visit);
    if (even && varying == 2) return multiply_even<2>(walks, fixed, size, visit);
    if (even && varying == 3) return multiply_even<3>(walks, fixed, size, visit);
    for (int m = 0; m < size; ++m) {
      T value = fixed;
      for (int f = 0; f < varying; ++f) value = S::times(value, values_[walks[f].at(m)]);
      visit(m, value);
    }
  }

  // The same for products with `kVarying` varying factors whose addresses grow by equal steps.
  template <int kVarying, typename Visit>
  STRUCTDEP_INLINE void multiply_even(const Walk* walks, T fixed, int size, Visit visit) const {
    const T* at[kVarying];
    ptrdiff_t step[kVarying];
    for (int f = 0; f < kVarying; ++f) at[f] = values_ + walks[f].at(0), step[f] = walks[f].even_step();
    for (ptrdiff_t m = 0; m < size; ++m) {
      T value = fixed;
      for (int f = 0; f < kVarying; ++f) value = S::times(value, at[f][m * step[f]]);
      visit(m, value);
    }
  }

  // Of the products with the greatest value, and with the number of the first of these, the one whose sums split leftmost.
  // Those behind one that reaches the value in the chart, up to rounding, are not looked at.
  void find_best(const std::vector<Product>& products, int side, T value) {
    T best = -kInf<T>;
    for_each_line(products, side, [&](const Product& product, int size) {
      T most = -kInf<T>;
      int place = 0;
      for_each_value(product, size, [&](int m, T own) {
        const T more = std::max(most, own);
        place = more > most ? m : place;
        most = more;
      });
      if (!chosen_.product || most > best) {
        chosen_.set(product, nodes_, place), best = most;
      } else if (most == best && product.number == chosen_.product->number) {
        Choice other;
        other.set(product, nodes_, place);
        if (other.is_before(chosen_)) chosen_ = other;
      }
      return best >= value;
    });
  }

  // A product, with probability in proportion to what it is.
  void draw(const std::vector<Product>& products, int side, Random& random) {
    lines_.clear(), terms_.clear();
    T most = -kInf<T>;
    for_each_line(products, side, [&](const Product& product, int size) {
      lines_.emplace_back(Choice{}, size);
      lines_.back().first.set(product, nodes_, 0);
      for_each_value(product, size, [&](int, T value) { terms_.push_back(value), most = std::max(most, value); });
      return false;
    });
    const auto weight = [&](T value) -> double { return S::kReal ? value : std::exp2(static_cast<double>(value - most)); };
    double left = 0;
    for (const T value : terms_) left += weight(value);
    left *= random.uniform();
    int drawn = 0;
    for (size_t m = 0; m < terms_.size() && left >= 0; ++m)
      if (const double own = weight(terms_[m]); own > 0) drawn = m, left -= own;
    for (const auto& [first, size] : lines_) {
      if (drawn < size) {
        chosen_ = first;
        return chosen_.go_on(drawn);
      }
      drawn -= size;
    }
  }

  // Counts the scores of the chosen product; its premises wait, but those that are too narrow to be concluded by rules.
  void follow() {
    const std::vector<Loop>& loops = chosen_.product->nest.loops;
    for (size_t m = 0; m < loops.size(); ++m) nodes_.at[loops[m].slot] = chosen_.node[m];
    const int derivation = derivation_ - derivations_.data();
    for (const Factor& factor : chosen_.product->factors) {
      if (!factor.is_item) {
        batch_.count(derivation_->result, factor, nodes_);
        continue;
      }
      const std::vector<Position>& own = factor.positions;
      const int start = own[0].of(nodes_), width = own[1].of(nodes_) - start, third = own.size() > 2 ? own[2].of(nodes_) : 0;
      if (width < program_.items[factor.number].narrowest) continue;
      int& next = first(width, factor.number, factor.side);
      Cell& cell = cells_.emplace_back();
      cell.derivation = derivation, cell.start = start, cell.third = third, cell.next = next;
      next = cells_.size() - 1;
    }
  }

  const Chart<S>& chart_;
  const Batch<T>& batch_;
  const Layout& layout_;
  const Program& program_;
  std::vector<Derivation> derivations_;
  std::vector<Cell> cells_;           // of these
  std::vector<int> first_;            // of those that wait, for each width, item and side
  Derivation* derivation_ = nullptr;     // whose cell is looked at
  const T* values_ = nullptr;            // of its sentence
  Nodes nodes_;                          // of the cell, and of what is looked at
  Choice chosen_;
  std::vector<std::pair<Choice, int>> lines_;  // what a product is drawn from: the first product of each line, and its size
  std::vector<T> terms_;                       // their values
};

}  // namespace structdep
