// Checks that all that a program reads and writes lies within its arrays, for sentences of any length.
//
// Its conditions and loops must imply that each factor lies within the sentence, and within its item. `ranges.py` writes all
// that this takes.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>
#include <vector>

#include "distances.h"
#include "program.h"
#include "loop_bounds.h"

namespace structdep {

class Validation {
 public:
  explicit Validation(const Program& program) : program_(program) {}

  // Throws BadProgram if it cannot be run.
  void run() const {
    check_number(program_.last, 0);
    require(!program_.scores.empty(), "number of scores");
    for (const Score& score : program_.scores) {
      require(score.arcs ? score.positions == 2 : 1 <= score.positions && score.positions <= 3, "number of positions of a score");
      require(score.sentinel <= program_.last, "last node of a score");
    }
    for (const Table& table : program_.tables) check(table);
    for (const Item& item : program_.items) check_cells(item);
    for (const Item& item : program_.items) check_rules(item);
    for (const Product& product : program_.goal) {
      Distances known({});
      check(product, kInner, product.even, kSummed, known);
      check_traced(product, known);
    }
  }

 private:
  static constexpr Position kFirst{kRoot, 0}, kFinal{kLast, 0};

  static void require(bool holds, const char* what) {
    if (!holds) throw BadProgram(what);
  }

  static void check_number(int number, int least) {
    constexpr int kMost = 1 << 20;
    require(least <= number && number <= kMost, "size of a number");
  }
  static void check_shift(int number) { check_number(std::abs(std::max(number, -INT_MAX)), 0); }

  void check(const Table& table) const {
    require(!table.scores.empty(), "number of scores of a table");
    for (const int score : table.scores) {
      require(0 <= score && score < static_cast<int>(program_.scores.size()), "number of a score");
      require(program_.scores[score].positions == table.positions, "number of positions of a table");
    }
  }

  static void check_cells(const Item& item) {
    require(item.positions == 3 || (item.positions == 2 && !item.exterior), "number of positions of an item");
    bool has_side[kSides] = {};
    for (const Region& region : item.cells) {
      known_of(item, region);
      require(!std::exchange(has_side[region.side], true), "side of an item's cells");
    }
    for (const Region& region : item.axioms) known_of(item, region);
  }

  void check_rules(const Item& item) const {
    const int first = item.positions == 3 ? kThird : kSummed;
    for (const Product& product : item.products) {
      Distances known({kStart, kEnd});
      check(product, product.side, product.even, first, known);
      check_cell(item, product.side, known);
    }
    for (const Product& product : item.rules) {
      const Region* const region = find(item, product.side);
      require(region, "side of a rule");
      Distances known = known_of(item, *region);
      known.demand(kStart, kEnd, std::clamp(item.narrowest, 0, 1 << 20));
      check(product, kInner, product.even, kSummed, known);
      check_traced(product, known);
    }
  }

  static const Region* find(const Item& item, int side) {
    const auto is_there = [&](const Region& region) { return region.side == side; };
    const auto found = std::find_if(item.cells.begin(), item.cells.end(), is_there);
    return found == item.cells.end() ? nullptr : &*found;
  }

  // What is known of the nodes of a region's cells.
  static Distances known_of(const Item& item, const Region& region) {
    Distances known({kStart, kEnd});
    add_conditions(region.nest, known);
    require(region.nest.loops.size() == (item.positions == 3), "number of loops of an item's cells");
    for (const Loop& loop : region.nest.loops) add(loop, kThird, known);
    check_cell(item, region.side, known);
    return known;
  }

  // Those of an item at the ends, and the third position, that slots are named after.
  static void check_cell(const Item& item, int side, Distances& known) {
    known.close();
    require(!known.is_impossible(), "distances");
    require(item.positions < 3 || known.is_bound(kThird), "loops of a conclusion");
    check_cell(item, side, {{kStart, 0}, {kEnd, 0}, {kThird, 0}}, known);
  }

  // Those of a side, where ends are nodes: all positions are nodes, and in order.
  static void check_cell(const Item& item, int side, const std::vector<Position>& at, const Distances& known) {
    require(item.exterior ? side == kBefore || side == kBehind : side == kInner, "side of an item");
    require(known.has(at[0], at[1]), "ends of an item");
    if (item.positions < 3) return;
    const Position &least = side == kInner ? at[0] : side == kBefore ? kFirst : at[1];
    const Position &most = side == kInner ? at[1] : side == kBefore ? at[0] : kFinal;
    require(known.has(least, at[2]) && known.has(at[2], most), "third position of an item");
  }

  static void check_slot(const Position& place, const Distances& known) {
    require(known.is_bound(place.slot), "slot");
    check_shift(place.shift);
  }

  static void add_conditions(const LoopNest& nest, Distances& known) {
    for (const Condition& c : nest.conditions) {
      check_slot({c.start, 0}, known), check_slot({c.end, 0}, known), check_shift(c.least);
      known.demand(c.start, c.end, c.least);
    }
  }

  static void add(const Loop& loop, int first, Distances& known) {
    require(first <= loop.slot && loop.slot < kSlots && !known.is_bound(loop.slot), "slot of a loop");
    require(!loop.least.empty() && !loop.most.empty(), "number of bounds of a loop");
    for (const Position& place : loop.least) check_slot(place, known), known.demand(place, {loop.slot, 0});
    for (const Position& place : loop.most) check_slot(place, known), known.demand({loop.slot, 0}, place);
    known.bind(loop.slot);
  }

  // Adds what is known of a product of a conclusion on a side. Factors are found before the inner loop, if there is one, though it
  // may have no node.
  void check(const Product& own, int side, bool has_inner, int first, Distances& known) const {
    require(!own.factors.empty() && own.factors.size() <= kFactors, "number of factors");
    require(!has_inner || !own.nest.loops.empty(), "number of loops");
    add_conditions(own.nest, known);
    for (const Loop& loop : own.nest.loops) {
      const bool is_inner = has_inner && &loop == &own.nest.loops.back();
      if (is_inner) check_factors(own, false, known), check_row(loop, side, known);
      add(loop, first, known);
      if (is_inner) check_distances(own, loop.slot);
    }
    check_factors(own, true, known);
  }

  // An inner loop along a row of conclusions begins and ends in the row, whatever the other products are that it meets there.
  static void check_row(const Loop& loop, int side, const Distances& known) {
    if (loop.slot != kThird) return;
    const Position first = side == kBefore ? kFirst : Position{side == kBehind ? kEnd : kStart, 0};
    const Position last = side == kBehind ? kFinal : Position{side == kBefore ? kStart : kEnd, 0};
    const auto begins = [&](const Position& place) { return known.is_bound(place.slot) && known.has(first, place); };
    const auto ends = [&](const Position& place) { return known.is_bound(place.slot) && known.has(place, last); };
    require(std::any_of(loop.least.begin(), loop.least.end(), begins), "first node of a loop");
    require(std::any_of(loop.most.begin(), loop.most.end(), ends), "last node of a loop");
  }

  // Loops go over the nodes of a sentence, and a few beside it.
  void check_factors(const Product& own, bool all, Distances& known) const {
    constexpr int kBeyond = 64;
    known.close();
    require(!known.is_impossible(), "distances");
    for (const Loop& loop : own.nest.loops)
      if (known.is_bound(loop.slot))
        require(known.has({kRoot, -kBeyond}, {loop.slot, 0}) && known.has({loop.slot, 0}, {kLast, kBeyond}), "nodes of a loop");
    for (const Factor& factor : own.factors) check(factor, all, known);
  }

  // Of all positions, or of those that have a node.
  void check(const Factor& factor, bool all, const Distances& known) const {
    const size_t count = factor.is_item ? program_.items.size() : program_.tables.size();
    require(0 <= factor.number && static_cast<size_t>(factor.number) < count, "number of a factor");
    const int positions = factor.is_item ? item_of(factor).positions : program_.scores[table_of(factor).scores[0]].positions;
    require(factor.positions.size() == static_cast<size_t>(positions), "number of positions of a factor");
    for (const Position& place : factor.positions) {
      if (!all && !known.is_bound(place.slot)) return;
      check_slot(place, known);
      require(known.has(kFirst, place) && known.has(place, kFinal), "node of a factor");
    }
    if (factor.is_item) return check_cell(item_of(factor), factor.side, factor.positions, known);
    for (int m = 1; m < positions && table_of(factor).ordered; ++m)
      require(known.has(factor.positions[m - 1], factor.positions[m]), "order of a factor's nodes");
  }

  // Along an inner loop, items with a third position lie at equal distances where their span stays.
  void check_distances(const Product& own, int slot) const {
    for (const Factor& factor : own.factors)
      if (factor.is_item && factor.positions.size() == 3)
        require(factor.positions[0].slot != slot && factor.positions[1].slot != slot, "inner loop");
  }

  // Items that a derivation goes on to exist there, as their own rules take that for granted.
  void check_traced(const Product& product, const Distances& known) const {
    for (const Factor& factor : product.factors) {
      if (!factor.is_item) continue;
      const Region* const region = find(item_of(factor), factor.side);
      if (!region) continue;
      const auto at = [&](const Position& place) {
        if (place.slot < kStart) return place;
        const Position& own = factor.positions[place.slot - kStart];
        return Position{own.slot, own.shift + place.shift};
      };
      for (const Condition& c : region->nest.conditions)
        require(known.has(at({c.start, 0}), at({c.end, 0}), c.least), "cell of a factor");
      for (const Loop& loop : region->nest.loops) {
        for (const Position& place : loop.least) require(known.has(at(place), at({kThird, 0})), "cell of a factor");
        for (const Position& place : loop.most) require(known.has(at({kThird, 0}), at(place)), "cell of a factor");
      }
    }
  }

  const Item& item_of(const Factor& factor) const { return program_.items[factor.number]; }
  const Table& table_of(const Factor& factor) const { return program_.tables[factor.number]; }

  const Program& program_;
};

}  // namespace structdep
