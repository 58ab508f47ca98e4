// The loop program of a chart: its items, the products that make them, and the loops over the nodes of these.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "address.h"

namespace structdep {

struct Factor {
  bool is_item;
  int number, side;  // the number of the item, or of the table
  std::vector<Position> positions;
};

struct Product {
  int number, side;  // of the product among those of its conclusion, and of the conclusion
  bool even;         // whether its factors lie at equal distances in the innermost loop, in every layout
  LoopNest nest;
  std::vector<Factor> factors;
  std::vector<Address> addresses;  // of the factors, in a layout: first of those that vary in the innermost loop
  int varying = 0;                 // how many do
};

struct Region {  // where an item exists, or an axiom holds, on one side
  int side;
  LoopNest nest;

  // The third positions at a span; that of an item of two positions is 0.
  Range thirds(const Nodes& nodes) const {
    if (!nest.is_possible(nodes)) return {};
    return nest.loops.empty() ? Range{0, 0} : Range{nest.loops[0].first(nodes), nest.loops[0].last(nodes)};
  }
};

struct Item {
  int positions;
  bool exterior;                // whether its third position is outside of its span
  int narrowest, widest_axiom;  // the least width of what rules conclude, and the most of axioms
  std::vector<Region> cells, axioms;
  bool assigned;                  // whether it is one product without a sum
  std::vector<Product> products;  // that are summed to compute it
  std::vector<Product> rules;     // that a traceback chooses from

  // Whether an axiom gives a cell on this side.
  bool is_axiom(int side, const Nodes& nodes) const {
    return std::any_of(axioms.begin(), axioms.end(), [&](const Region& axiom) {
      return axiom.side == side && axiom.thirds(nodes).has(nodes.at[kThird]);
    });
  }
};

struct Score {
  int positions;
  bool sentinel;  // whether there is a node behind the last word
  bool arcs;      // whether its positions are a head and a dependent, which differ; the root is no dependent

  int last(int words) const { return words + sentinel; }  // its last node
};

struct Table {
  int positions;
  bool ordered;             // whether it is read only at positions that stand in order
  std::vector<int> scores;  // of which it is the sum
};

struct Program {
  int last;          // how far the last node is behind the last word
  bool each_tree_once;  // whether each derivation is another tree, with one arc to each word
  std::vector<Score> scores;
  std::vector<Table> tables;
  std::vector<Item> items;
  std::vector<Product> goal;
};

// What is wrong with a program.
struct BadProgram : std::runtime_error {
  explicit BadProgram(const char* what)
      : runtime_error("a chart's program cannot be read (" + std::string(what) + "): it was made by another version, or changed") {}
};

}  // namespace structdep
