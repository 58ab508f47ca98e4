// A plan of a chart, read from the numbers that program.py writes, in its order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "address.h"
#include "nest.h"

namespace structdep {

struct Factor {
  bool is_item;
  int number, side;
  std::vector<Place> places;
};

struct Factors {
  Nest nest;
  std::vector<Factor> factors;
  std::vector<Address> addresses;  // of the factors, in a frame: first of those that vary in the innermost loop
  int varying = 0;
};

struct Product : Factors {
  int number, side;
  bool even;   // whether its factors lie at equal distances in the innermost loop, however spans are laid out
  int rows = 0;  // how many factors go from row to row in the last loop: all others lie at equal distances
};

struct Region {  // where an item exists, or an axiom holds, on one side
  int side;
  Nest nest;

  // The third positions at a span; that of two positions is 0.
  Range thirds(const Nodes& nodes) const {
    if (!nest.possible(nodes)) return {};
    return nest.loops.empty() ? Range{0, 0} : Range{nest.loops[0].first(nodes), nest.loops[0].last(nodes)};
  }
};

struct Item {
  int positions;
  bool exterior, passing, ruled;  // whether it is read at its own span alone, and whether rules name it
  bool by_end;                    // whether it is read by spans with its end, not by those with its start
  int narrowest, widest_axiom;    // the least width of what rules conclude, and the most of axioms
  std::vector<Region> cells, axioms;
  bool assigned;
  std::vector<Product> products, rules;
};

struct Score {
  int positions;
  bool sentinel;  // whether there is a node behind the last word
  bool arcs;      // whether its positions are a head and a dependent, which differ; the root is no dependent

  int last(int words) const { return words + sentinel; }  // its last node
};

struct Table {
  int positions;
  bool ordered;  // whether it is read only at positions that stand in order
  std::vector<int> scores;  // of which it is the sum
};

struct Program {
  int last;          // the last node is so far behind the last word
  bool unambiguous;  // whether each tree has one derivation
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

class ProgramReader {
 public:
  ProgramReader(const int32_t* numbers, size_t size) : size_(size), next_(numbers), end_(numbers + size) {}

  // Throws BadProgram where numbers are not as they were written.
  Program program() {
    if (number() != kVersion) throw BadProgram("version");
    if (static_cast<size_t>(number()) != size_) throw BadProgram("length");
    if (const int sum = number(); sum != check_sum()) throw BadProgram("check sum");
    Program p;
    p.last = number();
    p.unambiguous = number() != 0;
    p.scores = list([this] {
      Score score;
      score.positions = number();
      score.sentinel = number() != 0;
      score.arcs = number() != 0;
      return score;
    });
    p.tables = list([this] {
      Table table;
      table.positions = number();
      table.ordered = number() != 0;
      table.scores = list([this] { return number(); });
      return table;
    });
    p.items = list([this] { return item(); });
    p.goal = list([this] { return product(); });
    if (next_ != end_) throw BadProgram("length");
    return p;
  }

 private:
  static constexpr int kVersion = 2;  // of what the numbers mean: that of program.py

  int number() {
    if (next_ == end_) throw BadProgram("length");
    return *next_++;
  }

  // Of the numbers that follow.
  int32_t check_sum() const {
    uint32_t sum = 0, weight = 1;
    for (const int32_t* at = next_; at != end_; ++at, weight += 2) sum += weight * static_cast<uint32_t>(*at);
    return static_cast<int32_t>(sum);
  }

  template <typename Read>
  auto list(Read read) -> std::vector<decltype(read())> {
    std::vector<decltype(read())> result;
    const int size = number();
    if (size < 0 || size > end_ - next_) throw BadProgram("length of a list");
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
    read(result);
    return result;
  }

  void read(Factors& product) {
    product.nest = nest();
    product.factors = list([this] {
      Factor factor;
      factor.is_item = number() != 0;
      factor.number = number();
      factor.side = number();
      factor.places = places();
      return factor;
    });
  }

  Item item() {
    Item result;
    result.positions = number();
    result.exterior = number() != 0;
    result.passing = number() != 0;
    result.ruled = number() != 0;
    result.by_end = number() != 0;
    result.narrowest = number();
    result.widest_axiom = number();
    result.cells = list([this] { return region(); });
    result.axioms = list([this] { return region(); });
    result.assigned = number() != 0;
    result.products = list([this] { return product(); });
    result.rules = list([this] { return product(); });
    return result;
  }

  const size_t size_;
  const int32_t *next_, *const end_;
};

}  // namespace structdep
