// A plan of a chart, read from the numbers that program.py writes, in its order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace structdep {

enum Slot { kRoot, kLast, kStart, kEnd, kThird, kSummed, kSlots = 12 };
enum Side { kInner, kBefore, kBehind };

struct Nodes {  // the node in each slot
  int at[kSlots] = {};
};

struct Place {  // a node, counted from that of a slot
  int slot, shift;
  int of(const Nodes& nodes) const { return nodes.at[slot] + shift; }
  bool is(int other) const { return slot == other && shift == 0; }
};

struct Condition {
  int start, end, least;
};

struct Loop {
  int slot;
  std::vector<Place> least, most;

  int first(const Nodes& nodes) const {
    int node = least[0].of(nodes);
    for (size_t m = 1; m < least.size(); ++m) node = std::max(node, least[m].of(nodes));
    return node;
  }
  int last(const Nodes& nodes) const {
    int node = most[0].of(nodes);
    for (size_t m = 1; m < most.size(); ++m) node = std::min(node, most[m].of(nodes));
    return node;
  }
};

struct Nest {
  std::vector<Condition> conditions;
  std::vector<Loop> loops;

  bool possible(const Nodes& nodes) const {
    for (const Condition& c : conditions)
      if (nodes.at[c.end] - nodes.at[c.start] < c.least) return false;
    return true;
  }
};

struct Factor {
  bool is_item;
  int number, side;
  std::vector<Place> places;
};

// How far from one cell to the next, for each position.
struct Box {
  ptrdiff_t base = 0, weight[3] = {};
  ptrdiff_t at(int start, int end) const { return base + weight[0] * start + weight[1] * end; }
};

// Where the cells of an item on one side, or of a table, are, and the derivatives by them: `spans` says where those of a
// span begin, in rows of those with one start, if there are such.
struct Home {
  Box value, share;
  const int* spans = nullptr;
  int rows = 0;
  bool lent = false;  // whether the derivatives lie where those of all spans do
};

// Where a factor is: positions are nodes of slots, shifts are part of the home.
struct Address : Home {
  int slot[3] = {}, span_shift = 0;
  ptrdiff_t step = 0;  // between neighbours in the last loop
  int span_step = 0;

  ptrdiff_t linear(const Nodes& nodes) const { return sum(value, nodes); }
  ptrdiff_t share_linear(const Nodes& nodes) const { return sum(share, nodes); }
  const int* span(const Nodes& nodes) const {
    static constexpr int kNowhere = 0;
    return spans ? spans + rows * nodes.at[slot[0]] + nodes.at[slot[1]] + span_shift : &kNowhere;
  }
  ptrdiff_t of(const Nodes& nodes) const { return linear(nodes) + *span(nodes); }
  ptrdiff_t share_of(const Nodes& nodes) const { return share_linear(nodes) + (lent ? 0 : *span(nodes)); }

  ptrdiff_t stride(int with) const {  // between neighbours in a slot
    ptrdiff_t result = 0;
    for (int m = 0; m < 3; ++m) result += slot[m] == with ? value.weight[m] : 0;
    return result;
  }
  int span_stride(int with) const { return spans ? rows * (slot[0] == with) + (slot[1] == with) : 0; }

 private:
  ptrdiff_t sum(const Box& own, const Nodes& nodes) const {
    ptrdiff_t result = own.base;
    for (int m = 0; m < 3; ++m) result += own.weight[m] * nodes.at[slot[m]];
    return result;
  }
};

struct Product {
  int number, side;
  bool even;  // whether its factors lie at equal distances in the innermost loop, however spans are stored
  Nest nest;
  std::vector<Factor> factors;
  std::vector<Address> addresses;  // of the factors, in a frame: first of those that vary in the innermost loop
  int varying = 0;
};

struct Region {  // where an item exists, or an axiom holds, on one side
  int side;
  Nest nest;
};

struct Item {
  int positions;
  bool exterior, passing, ruled;  // whether it is read at its own span alone, and whether rules name it
  bool by_end;                    // whether it is read by spans with its end, not by those with its start
  std::vector<Region> cells, axioms;
  bool assigned;
  std::vector<Product> products, rules;
};

struct Table {
  int positions;
  bool ordered;  // whether it is read only at positions that stand in order
  std::vector<int> scores;  // of which it is the sum
};

struct Program {
  int last;  // the last node is so far behind the last word
  std::vector<int> scores;  // their numbers of positions
  std::vector<Table> tables;
  std::vector<Item> items;
  std::vector<Product> goal;
};

class ProgramReader {
 public:
  explicit ProgramReader(const int32_t* numbers) : next_(numbers) {}

  Program program() {
    Program p;
    p.last = number();
    p.scores = list([this] { return number(); });
    p.tables = list([this] {
      Table table;
      table.positions = number();
      table.ordered = number() != 0;
      table.scores = list([this] { return number(); });
      return table;
    });
    p.items = list([this] { return item(); });
    p.goal = list([this] { return product(); });
    return p;
  }

 private:
  int number() { return *next_++; }

  template <typename Read>
  auto list(Read read) -> std::vector<decltype(read())> {
    std::vector<decltype(read())> result;
    const int size = number();
    result.reserve(size);
    for (int m = 0; m < size; ++m) result.push_back(read());
    return result;
  }

  Place place() {
    const int slot = number();
    return {slot, number()};
  }

  std::vector<Place> places() {
    return list([this] { return place(); });
  }

  Nest nest() {
    Nest result;
    result.conditions = list([this] {
      const int start = number(), end = number();
      return Condition{start, end, number()};
    });
    result.loops = list([this] {
      Loop loop;
      loop.slot = number();
      loop.least = places();
      loop.most = places();
      return loop;
    });
    return result;
  }

  Region region() {
    Region result;
    result.side = number();
    result.nest = nest();
    return result;
  }

  Product product() {
    Product result;
    result.number = number();
    result.side = number();
    result.even = number() != 0;
    result.nest = nest();
    result.factors = list([this] {
      Factor factor;
      factor.is_item = number() != 0;
      factor.number = number();
      factor.side = number();
      factor.places = places();
      return factor;
    });
    return result;
  }

  Item item() {
    Item result;
    result.positions = number();
    result.exterior = number() != 0;
    result.passing = number() != 0;
    result.ruled = number() != 0;
    result.by_end = number() != 0;
    result.cells = list([this] { return region(); });
    result.axioms = list([this] { return region(); });
    result.assigned = number() != 0;
    result.products = list([this] { return product(); });
    result.rules = list([this] { return product(); });
    return result;
  }

  const int32_t* next_;
};

}  // namespace structdep
