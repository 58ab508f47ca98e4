// The charts of a few sentences: filled span by span, and, from the widest span down, the derivatives.
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "kernels.h"
#include "memory.h"
#include "program.h"

namespace structdep {

template <typename T>
class Chart {
 public:
  // To be traced, it keeps all items that rules name; to be differentiated, those that take long to compute.
  Chart(Program program, int nodes, bool adds, bool traced, bool differentiated)
      : program_(std::move(program)), nodes_(nodes), adds_(adds) {
    pairs_ = std::all_of(program_.items.begin(), program_.items.end(), is_pair);
    for (Item& item : program_.items) {
      item.lent = item.passing && item.positions > 2;
      item.passing &= !pairs_ && !(traced && item.ruled) && !(differentiated && has_sums(item));
      item.lent &= !item.passing;
    }
    size_ = lay_out();
    beside_ = pairs_ ? nodes * nodes : nodes + 2;
    values_ = std::make_unique<Room<Vec<T>>>(value_pool, size_ + kRows * beside_);
    cells_ = values_->data();
    for (Product& product : program_.goal) resolve(product);
    for (Item& item : program_.items) {
      for (Product& product : item.products) resolve(product);
      for (Product& product : item.rules) resolve(product);
    }
  }

  const Program& program() const { return program_; }
  int nodes() const { return nodes_; }
  size_t table(int number) const { return tables_[number]; }
  Vec<T>* cells() const { return cells_; }
  Vec<T>* shares() {
    if (!shares_) shares_ = std::make_unique<Room<Vec<T>>>(share_pool, share_size_);
    return shares_->data();
  }

  void fill() {
    for (const Span& span : order()) {
      Nodes nodes = of_span(span.start, span.end);
      for (size_t item = 0; item < program_.items.size(); ++item) compute(item, nodes);
    }
  }

  // From the shares of goals to those of tables; those of items are zero again.
  void share() {
    const std::vector<Span> spans = order();
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      fill_passing(span->start, span->end);
      Nodes nodes = of_span(span->start, span->end);
      for (size_t item = program_.items.size(); item-- > 0;) pull_back(item, nodes);
    }
  }

  // Again the items that are read at their own span alone, which share their memory with those of other spans.
  void fill_passing(int start, int end) {
    Nodes nodes = of_span(start, end);
    for (size_t item = 0; item < program_.items.size(); ++item)
      if (program_.items[item].passing) compute(item, nodes);
  }

  // Whether an axiom gives a cell on this side.
  static bool is_axiom(const Item& item, int side, const Nodes& nodes) {
    for (const Region& axiom : item.axioms) {
      if (axiom.side != side || !axiom.nest.possible(nodes)) continue;
      if (axiom.nest.loops.empty()) return true;
      const Loop& third = axiom.nest.loops[0];
      if (third.first(nodes) <= nodes.at[kThird] && nodes.at[kThird] <= third.last(nodes)) return true;
    }
    return false;
  }

 private:
  static constexpr int kPieces = 16;  // of an item and a span: one for each side and axiom
  static constexpr int kRows = 3;     // that lie beside the cells of an item while it is computed
  struct Piece {                      // cells, or nodes, at equal distances
    size_t first;
    int size;
    ptrdiff_t step;
  };

  static bool is_pair(const Item& item) {
    const auto simple = [](const Product& product) { return product.nest.loops.size() < 2; };
    return item.positions == 2 && std::all_of(item.products.begin(), item.products.end(), simple);
  }

  static bool has_sums(const Item& item) {
    const auto is_sum = [](const Loop& loop) { return loop.slot != kThird; };
    return std::any_of(item.products.begin(), item.products.end(), [&](const Product& product) {
      return std::any_of(product.nest.loops.begin(), product.nest.loops.end(), is_sum);
    });
  }

  struct Span {
    int start, end;
  };

  // Spans behind all those within them; of pairs, the first of each width. What begins alike is read together.
  std::vector<Span> order() const {
    std::vector<Span> result;
    for (int start = pairs_ ? 0 : nodes_ - 1; start >= 0; --start)
      for (int end = start; end < nodes_; ++end) result.push_back({start, end});
    return result;
  }

  // Whether the third position is outside, and whether cells with one end lie together, not those with one start.
  static int kind_of(const Item& item) { return item.exterior + 2 * item.by_end; }

  // Finds places for tables and items. Returns how many vectors there are; throws if they cannot be counted.
  size_t lay_out() {
    const auto is_large = [](const auto& one) { return one.positions > 2; };
    const bool large = std::any_of(program_.items.begin(), program_.items.end(), is_large) ||
                       std::any_of(program_.tables.begin(), program_.tables.end(), is_large);
    if (std::pow(nodes_, large ? 3 : 2) > INT_MAX / 2) throw std::bad_alloc();
    for (std::vector<int>& spans : spans_) spans.resize(nodes_ * nodes_);
    int sizes[4] = {};
    const auto add = [&](int kind, int start, int end) {
      spans_[kind][start * nodes_ + end] = sizes[kind];
      sizes[kind] += kind % 2 ? nodes_ - end + start + 1 : end - start + 1;
    };
    for (int one = 0; one < nodes_; ++one)
      for (int other = 0; other < nodes_; ++other)
        for (int kind = 0; kind < 2; ++kind) {
          if (one <= other) add(kind, one, other);
          if (other <= one) add(2 + kind, other, one);
        }
    size_t size = 0;
    for (const Table& table : program_.tables) {
      tables_.push_back(size);
      size += table.positions == 1 ? nodes_ : table.positions == 2 ? nodes_ * nodes_ : nodes_ * nodes_ * nodes_;
    }
    share_size_ = size;
    for (const Item& item : program_.items) {
      items_.push_back(size), shares_of_.push_back(share_size_);
      const int one = item.positions == 2 ? 1 : nodes_ + 1;
      const int every = item.positions == 2 ? nodes_ * nodes_ : sizes[kind_of(item)];
      size += item.passing ? one : every;
      share_size_ += item.passing || item.lent ? one : every;
    }
    if (size > INT_MAX / 2) throw std::bad_alloc();
    return size;
  }

  void resolve(Product& product) const {
    for (const Factor& factor : product.factors) product.addresses.push_back(place(factor));
    if (!product.even || product.nest.loops.empty()) return;
    const int slot = product.nest.loops.back().slot;
    const auto fixed = std::stable_partition(product.addresses.begin(), product.addresses.end(),
                                             [&](const Address& own) { return own.stride(slot) != 0; });
    product.varying = static_cast<int>(fixed - product.addresses.begin());
  }

  Address place(const Factor& factor) const {
    const std::vector<Place>& places = factor.places;
    Address own;
    own.spans = &kNowhere;
    own.base = factor.is_item ? items_[factor.number] : tables_[factor.number];
    if (factor.is_item) {
      own.to_share = static_cast<int>(shares_of_[factor.number]) - own.base;
      own.lent = program_.items[factor.number].lent;
    }
    if (factor.is_item && places.size() > 2) {
      const Place start = places[0], end = places[1];
      own.add(0, places[2], 1);
      if (factor.side != kBefore) own.add(1, start, factor.side == kInner ? -1 : 1);
      if (factor.side == kBehind) own.add(2, end, -1), ++own.base;
      if (program_.items[factor.number].passing) return own;
      own.spans = spans_[kind_of(program_.items[factor.number])].data();
      own.span_slot[0] = start.slot, own.span_slot[1] = end.slot;
      own.span_weight[0] = nodes_, own.span_weight[1] = 1;
      own.span_shift = start.shift * nodes_ + end.shift;
    } else if (!factor.is_item || !program_.items[factor.number].passing) {
      int times = 1;
      for (int m = places.size() - 1; m >= 0; --m, times *= nodes_) own.add(m, places[m], times);
    }
    return own;
  }

  // Where an item's cells at a span are: that of a third position on this side is so many further.
  ptrdiff_t row(int number, int side, int start, int end) const {
    const Item& item = program_.items[number];
    const int span = start * nodes_ + end;
    if (item.positions == 2) return items_[number] + (item.passing ? 0 : span);
    const ptrdiff_t first = items_[number] + (item.passing ? 0 : spans_[kind_of(item)][span]);
    return first + (side == kInner ? -start : side == kBefore ? 0 : start + 1 - end);
  }

  Nodes of_span(int start, int end) const {
    Nodes nodes;
    nodes.at[kLast] = nodes_ - 1, nodes.at[kStart] = start, nodes.at[kEnd] = end;
    return nodes;
  }

  // The starts of the spans that are computed at once, where a nest is possible: one, or, of pairs, all of a width.
  Piece starts(const Nest& nest, const Nodes& nodes) const {
    int from = nodes.at[kStart];
    if (!pairs_) return {static_cast<size_t>(from), nest.possible(nodes), 1};
    int to = nodes_ - 1 - nodes.at[kEnd];
    for (const Condition& c : nest.conditions) {
      const int spare = nodes.at[c.end] - nodes.at[c.start] - c.least;  // at the first of them
      const bool start_moves = moves(c.start, kStart), end_moves = moves(c.end, kStart);
      if (start_moves == end_moves)
        to = spare < 0 ? from - 1 : to;
      else if (end_moves)
        from = std::max(from, -spare);
      else
        to = std::min(to, spare);
    }
    return {static_cast<size_t>(from), to - from + 1, 1};
  }

  // Whether the node in a slot changes with that in another.
  static bool moves(int slot, int with) { return slot == with || (with == kStart && slot == kEnd); }

  // The cells of an item in these regions. Returns in how many pieces they lie.
  int pieces(int number, const std::vector<Region>& regions, const Nodes& nodes, Piece* found) const {
    int count = 0;
    for (const Region& region : regions) {
      const Piece at = starts(region.nest, nodes);
      if (at.size <= 0) continue;
      Piece own{static_cast<size_t>(row(number, region.side, nodes.at[kStart], nodes.at[kEnd])), 1, 1};
      if (pairs_) {
        own = {own.first + at.first * (nodes_ + 1), at.size, nodes_ + 1};
      } else if (!region.nest.loops.empty()) {
        const int first = region.nest.loops[0].first(nodes);
        own = {own.first + first, region.nest.loops[0].last(nodes) - first + 1, 1};
      }
      if (own.size > 0) found[count++] = own;
    }
    return count;
  }

  template <typename Visit>
  static void for_each_cell(const Piece* pieces, int count, Visit visit) {
    for (int m = 0; m < count; ++m)
      for (int n = 0; n < pieces[m].size; ++n) visit(pieces[m].first + n * pieces[m].step);
  }

  // Rows that lie beside the cells of the current item: what exponents are relative to, their sums, the shares.
  Vec<T>* beside(int which) const { return cells_ + size_ + which * beside_ - row_; }

  void compute(int number, Nodes& nodes) {
    const Item& item = program_.items[number];
    Piece own[kPieces], given[kPieces];
    const int count = pieces(number, item.cells, nodes, own);
    if (!count) return;
    if (!item.axioms.empty())
      if (const int axioms = pieces(number, item.axioms, nodes, given)) {
        for_each_cell(own, count, [&](size_t at) { cells_[at] = all(-kInf<T>); });
        return for_each_cell(given, axioms, [&](size_t at) { cells_[at] = Vec<T>{}; });
      }
    prepare(number, nodes);
    if (count == 1 && Alternatives<T>::fit(loops_.data(), products_)) {
      const Alternatives<T> products(loops_.data(), products_);
      if (products.place() == own[0].first && products.size() == own[0].size)
        return adds_ ? products.template compute<true>(cells_) : products.template compute<false>(cells_);
    }
    for_each_cell(own, count, [&](size_t at) { cells_[at] = all(-kInf<T>); });
    if (item.assigned) return run_all<Work::kAssign>();
    run_all<Work::kMax>();
    if (adds_) add_up(own, count);
  }

  // From the greatest of its products, an item's values to their sum.
  void add_up(const Piece* own, int count) {
    row_ = own[0].first;
    Vec<T>*const reference = beside(0), *const sum = beside(1);
    for_each_cell(own, count, [&](size_t at) {
      reference[at] = cells_[at] == -kInf<T> ? Vec<T>{} : cells_[at];
      sum[at] = Vec<T>{};
    });
    run_all<Work::kSum>();
    for_each_cell(own, count, [&](size_t at) { cells_[at] += logarithm(sum[at]); });
  }

  void pull_back(int number, Nodes& nodes) {
    const Item& item = program_.items[number];
    Piece own[kPieces], given[kPieces];
    const int count = pieces(number, item.cells, nodes, own);
    if (!count) return;
    row_ = own[0].first;
    Vec<T>*const reference = beside(0), *const share = beside(2);
    Vec<T>* const shares = this->shares() + shares_of_[number] - items_[number] -
                           (item.lent ? spans_[kind_of(item)][nodes.at[kStart] * nodes_ + nodes.at[kEnd]] : 0);
    Mask<T> any{};
    for_each_cell(own, count, [&](size_t at) {
      any |= shares[at] != 0;
      reference[at] = cells_[at] == -kInf<T> ? all(kInf<T>) : cells_[at];
      share[at] = shares[at];
      shares[at] = Vec<T>{};
    });
    if (none<T>(any) || (!item.axioms.empty() && pieces(number, item.axioms, nodes, given))) return;
    prepare(number, nodes);
    if (Alternatives<T>::fit(loops_.data(), products_))
      return Alternatives<T>(loops_.data(), products_).share(reference, share);
    return item.assigned ? run_all<Work::kPass>() : run_all<Work::kShare>();
  }

  template <Work kWork>
  void run_all() {
    for (int m = 0; m < products_; ++m) {
      loops_[m].reference = beside(0), loops_[m].sum = beside(1), loops_[m].share = beside(2);
      execute<kWork>(loops_[m]);
    }
  }

  // Finds the loops of an item's products at a span.
  void prepare(int number, Nodes& nodes) {
    products_ = 0;
    for (const Product& product : program_.items[number].products)
      if (const Piece spans = starts(product.nest, nodes); spans.size > 0)
        prepare(number, product, nodes, spans, 0);
  }

  // The loops of a product but for the last two are taken here; one that varies at unequal distances is no inner loop.
  void prepare(int number, const Product& product, Nodes& nodes, const Piece& spans, size_t depth) {
    const std::vector<Loop>& nest = product.nest.loops;
    const size_t outer = nest.size() - (product.even && !nest.empty());
    if (depth + 1 < outer) {
      const int last = nest[depth].last(nodes);
      for (int node = nest[depth].first(nodes); node <= last; ++node) {
        nodes.at[nest[depth].slot] = node;
        prepare(number, product, nodes, spans, depth + 1);
      }
      return;
    }
    const Loop* const middle = outer ? &nest[outer - 1] : nullptr;
    const Loop* const inner = outer < nest.size() ? &nest[outer] : nullptr;
    int from = 0, to = 0;
    if (pairs_) from = spans.first, to = from + spans.size - 1;
    if (middle) from = middle->first(nodes), to = middle->last(nodes);
    if (from > to) return;
    if (products_ == static_cast<int>(loops_.size())) loops_.emplace_back();
    Loops<T>& loops = loops_[products_++];
    loops.value = cells_, loops.from = from, loops.to = to;
    walk(loops, product, nodes, middle ? middle->slot : pairs_ ? int{kStart} : kNone, inner);
    loops.place = row(number, product.side, nodes.at[kStart], nodes.at[kEnd]) + nodes.at[kThird];
  }

 public:
  static constexpr int kNone = -1;

  // How the factors of a product lie along the nodes in the slot of its middle loop, and along those of the inner one.
  void walk(Loops<T>& loops, const Product& product, Nodes& nodes, int middle, const Loop* inner) const {
    const int slot = inner ? inner->slot : kNone;
    if (middle != kNone && middle != kStart) nodes.at[middle] = 0;
    if (inner) {
      nodes.at[slot] = 0;
      loops.first[0] = loops.first[1] = INT_MIN / 2, loops.last[0] = loops.last[1] = INT_MAX / 2;
      for (const Place& p : inner->least) {
        int& bound = loops.first[moves(p.slot, middle)];
        bound = std::max(bound, p.of(nodes));
      }
      for (const Place& p : inner->most) {
        int& bound = loops.last[moves(p.slot, middle)];
        bound = std::min(bound, p.of(nodes));
      }
    }
    loops.alone = !inner, loops.along = slot == kThird;
    loops.across = middle == kThird ? 1 : middle == kStart ? nodes_ + 1 : 0;
    loops.factors = product.addresses.size(), loops.varying = product.varying;
    for (int f = 0; f < loops.factors; ++f) {
      const Address& own = product.addresses[f];
      const ptrdiff_t step = own.stride(middle) + (middle == kStart ? own.stride(kEnd) : 0);
      const int* const span = own.span(nodes);
      const ptrdiff_t to_share = shares_ ? shares_->data() - cells_ + own.to_share - (own.lent ? *span : 0) : 0;
      loops.walk[f] = {cells_ + own.linear(nodes), own.stride(slot), step, span, own.span_stride(middle), to_share};
    }
  }

 private:
  static constexpr int kNowhere = 0;

  Program program_;
  const int nodes_;
  const bool adds_;
  bool pairs_;  // whether all items have two positions: then those of one width are computed at once
  std::vector<int> spans_[4];  // where the cells of a span begin, of each kind of items with three positions
  std::vector<size_t> tables_, items_, shares_of_;
  std::vector<Loops<T>> loops_;  // of the products of the current item at its span, so many as these are
  int products_ = 0;
  size_t size_, share_size_, beside_, row_ = 0;
  std::unique_ptr<Room<Vec<T>>> values_, shares_;
  Vec<T>* cells_;
};

}  // namespace structdep
