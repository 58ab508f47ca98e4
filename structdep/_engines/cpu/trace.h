// From filled charts down: best derivations of sentences, or some drawn at random.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "along.h"
#include "chart.h"
#include "odometer.h"
#include "random.h"

namespace structdep {

// Derivations that are traced together, from the widest cells to the narrowest: those of an item and width follow each
// other, as their products lie alike.
template <typename T>
class Traces {
 public:
  Traces(const Chart<T>& chart, Numbers numbers)
      : frame_(chart.frame()),
        program_(frame_.program),
        chart_(chart.cells()),
        is_real_(numbers == kReals) {}

  bool are_many() const { return derivations_.size() >= kMany; }

  // Begins one of the sentence in a lane, with so many words: the best one without `random`. Calls use(result, factor that
  // is no item, nodes) for each that it uses.
  template <typename Use>
  void begin(int64_t result, int lane, int words, std::optional<Random> random, Use use) {
    if (first_.empty()) first_.resize(frame_.nodes * program_.items.size() * kSides, kNone);
    derivations_.push_back({result, lane, words + program_.last, random});
    turn_to(derivations_.back());
    step(derivations_.size() - 1, program_.goal, kInner, kInf<T>, use);
  }

  // Ends all that have begun.
  template <typename Use>
  void end(Use use) {
    if (derivations_.empty()) return;
    for (int width = frame_.nodes - 1; width >= 0; --width)
      for (int item = program_.items.size(); item-- > 0;)
        for (int side = 0; side < kSides; ++side) trace(item, side, width, use);
    if (traced_ < waiting_.size()) std::fill(first_.begin(), first_.end(), kNone);  // no item is made of wider ones
    derivations_.clear(), waiting_.clear(), traced_ = 0;
  }

 private:
  static constexpr size_t kMany = 64;
  static constexpr int kNone = -1;

  struct Derivation {
    int64_t result;
    int lane, last;
    std::optional<Random> random;
  };
  struct Cell {
    int derivation, start, third, next;  // the next of its item, side and width
  };
  // A product with one loop at most, in all cells of a width: where its factors are in the first, and how far from one to the next.
  struct Line {
    const Product* product;
    int first, size;
    const T* at[kFactors];
    ptrdiff_t step[kFactors];
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

  int& first(int item, int side, int width) { return first_[(width * program_.items.size() + item) * kSides + side]; }

  void turn_to(const Derivation& own) { cells_ = chart_ + own.lane, nodes_.at[kLast] = own.last; }

  void turn_to(const Cell& cell, int width) {
    turn_to(derivations_[cell.derivation]);
    nodes_.at[kStart] = cell.start, nodes_.at[kEnd] = cell.start + width, nodes_.at[kThird] = cell.third;
  }

  template <typename Use>
  void trace(int number, int side, int width, Use use) {
    const Item& item = program_.items[number];
    int at = std::exchange(first(number, side, width), kNone);
    if (at == kNone) return;
    const bool alike = are_alike(item) && !derivations_[waiting_[at].derivation].random;
    if (alike) find_lines(item, width);
    while (at != kNone) {
      const Cell& cell = waiting_[at];
      const int derivation = cell.derivation;
      at = cell.next, ++traced_;
      turn_to(cell, width);
      if (width <= item.widest_axiom && Chart<T>::is_axiom(item, side, nodes_)) continue;
      if (alike) {
        if (find_best_line(item.rules.size() > 1)) follow(derivation, use);
        continue;
      }
      step(derivation, item.rules, side, item.rules.size() > 1 ? value_of(number, side) : kInf<T>, use);
    }
  }

  template <typename Use>
  void step(int number, const std::vector<Product>& products, int side, T value, Use use) {
    std::optional<Random>& random = derivations_[number].random;
    if (random ? draw(products, side, *random) : find_best(products, side, value)) follow(number, use);
  }

  T value_of(int item, int side) const {
    const Home& home = frame_.home(item, side);
    const int start = nodes_.at[kStart], end = nodes_.at[kEnd];
    return cells_[home.at(start, end) + home.step(start, end) * nodes_.at[kThird]];
  }

  // Whether its products are at the same distance from each cell of a width, with one loop at most.
  bool are_alike(const Item& item) const {
    return frame_.skewed && item.positions == 2 && std::all_of(item.rules.begin(), item.rules.end(), [](const Product& product) {
             return product.nest.loops.size() < 2 && !product.rows;
           });
  }

  // Of all cells of a width: where they would be if the span began at the root.
  void find_lines(const Item& item, int width) {
    nodes_.at[kStart] = 0, nodes_.at[kEnd] = width, nodes_.at[kLast] = frame_.nodes - 1;
    cells_ = chart_;
    lines_.clear();
    for_each_line(item.rules, kInner, [&](const Product& product, int size) {
      Line& line = lines_.emplace_back();
      line.product = &product, line.size = size;
      line.first = product.nest.loops.empty() ? 0 : nodes_.at[product.nest.loops[0].slot];
      for (size_t f = 0; f < product.addresses.size(); ++f) {
        const Address& own = product.addresses[f];
        line.at[f] = chart_ + own.of(nodes_), line.step[f] = own.inner.box + own.inner.along * own.row(nodes_)->step;
      }
    });
  }

  // `find_best` among these, for the cell that was turned to.
  bool find_best_line(bool are_several) {
    const int start = nodes_.at[kStart];
    const ptrdiff_t shift = cells_ - chart_ + start * frame_.sentences;
    T best = -kInf<T>;
    chosen_.product = nullptr;
    for (const Line& line : lines_) {
      const auto [own, place] = are_several || line.size > 1 ? greatest(line, shift) : Greatest{};
      const int node = line.first + place + start;
      const bool is_first = !chosen_.product || own > best;
      if (!is_first && !(own == best && line.product->number == chosen_.product->number && node < chosen_.node[0])) continue;
      chosen_.product = line.product, chosen_.node[0] = node, best = own;
    }
    return chosen_.product;
  }

  struct Greatest {
    T value = -kInf<T>;
    int place = 0;  // the first that has it

    void see(T own, int at) {
      const T most = std::max(value, own);
      place = most > value ? at : place;
      value = most;
    }
  };

  Greatest greatest(const Line& line, ptrdiff_t shift) const {
    switch (line.product->varying) {
      case 1:
        return greatest<1>(line, shift);
      case 2:
        return greatest<2>(line, shift);
      case 3:
        return greatest<3>(line, shift);
      default:
        return greatest<kFactors>(line, shift);
    }
  }

  // Where so many factors vary at most.
  template <int kCount>
  STRUCTDEP_INLINE Greatest greatest(const Line& line, ptrdiff_t shift) const {
    const int factors = line.product->addresses.size(), varying = kCount < kFactors ? kCount : line.product->varying;
    T fixed = 0;
    for (int f = varying; f < factors; ++f) fixed += line.at[f][shift];
    Greatest result;
    multiply_along<false>(varying, fixed, line.at, shift, line.step, line.size, [&](int m, T value) { result.see(value, m); });
    return result;
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

  // Of the products with the greatest value, and with the number of the first of these, the one whose sums split leftmost.
  // Those behind one that reaches the value in the chart, up to rounding, are not looked at.
  bool find_best(const std::vector<Product>& products, int side, T value) {
    T best = -kInf<T>;
    chosen_.product = nullptr;
    for_each_line(products, side, [&](const Product& product, int size) {
      Greatest found;
      if (size > 1 || products.size() > 1 || product.nest.loops.size() > 1)
        for_each_value<false>(product, size, cells_, nodes_, [&](int m, T value) { found.see(value, m); });
      const auto [own, place] = found;
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

  // A product, drawn in proportion to what it is, of which there are logarithms, or itself.
  bool draw(const std::vector<Product>& products, int side, Random& random) {
    values_.clear(), sizes_.clear();
    T most = -kInf<T>;
    for_each_line(products, side, [&](const Product& product, int size) {
      sizes_.emplace_back(Choice{}, size);
      sizes_.back().first.take(product, nodes_, 0);
      const auto see = [&](int, T value) { values_.push_back(value), most = std::max(most, value); };
      is_real_ ? for_each_value<true>(product, size, cells_, nodes_, see) : for_each_value<false>(product, size, cells_, nodes_, see);
    });
    if (values_.empty()) return false;
    const auto weight = [&](T value) -> double { return is_real_ ? value : std::exp2(static_cast<double>(value - most)); };
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
    for (; last >= sizes_[line].second; ++line) last -= sizes_[line].second;
    chosen_ = sizes_[line].first;
    chosen_.go_on(last);
    return true;
  }

  // On to the premises of the chosen product, but those that are too narrow to be concluded by rules.
  template <typename Use>
  void follow(int derivation, Use use) {
    const std::vector<Loop>& loops = chosen_.product->nest.loops;
    for (size_t m = 0; m < loops.size(); ++m) nodes_.at[loops[m].slot] = chosen_.node[m];
    for (const Factor& factor : chosen_.product->factors) {
      if (!factor.is_item) {
        use(derivations_[derivation].result, factor, nodes_);
        continue;
      }
      const std::vector<Place>& places = factor.places;
      const int start = places[0].of(nodes_), width = places[1].of(nodes_) - start;
      if (width < program_.items[factor.number].narrowest) continue;
      const int third = places.size() > 2 ? places[2].of(nodes_) : 0;
      int& next = first(factor.number, factor.side, width);
      Cell& cell = waiting_.emplace_back();
      cell.derivation = derivation, cell.start = start, cell.third = third, cell.next = next;
      next = waiting_.size() - 1;
    }
  }

  const Frame& frame_;
  const Program& program_;
  const T* const chart_;
  const bool is_real_;
  const T* cells_ = nullptr;  // of the sentence that was turned to
  Nodes nodes_;               // of what is looked at
  Choice chosen_;
  bool found_ = false;        // whether no other product is greater
  std::vector<int> first_;    // of what waits, for each item, side and width
  std::vector<Cell> waiting_;
  size_t traced_ = 0;         // of these
  std::vector<Derivation> derivations_;
  std::vector<Line> lines_;
  std::vector<T> values_;
  std::vector<std::pair<Choice, int>> sizes_;  // of lines
};

}  // namespace structdep
