// Programs and frames of earlier calls: to read and to lay them out takes longer than to parse a short sentence.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "frame.h"
#include "validation.h"

namespace structdep {

// A few of what was asked for last, each made once.
template <typename Key, typename Made>
class Kept {
 public:
  template <typename Make>
  std::shared_ptr<const Made> get(const Key& key, Make make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one.first == key; });
    if (found == kept_.end()) {
      if (kept_.size() == kMost) kept_.pop_back();
      found = kept_.insert(kept_.end(), {key, make()});
    }
    std::rotate(kept_.begin(), found, found + 1);
    return kept_.front().second;
  }
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.clear();
  }

 private:
  static constexpr size_t kMost = 16;
  std::mutex mutex_;
  std::vector<std::pair<Key, std::shared_ptr<const Made>>> kept_;
};

// Whether the rules of a program hold wherever they are shifted to, and each item lies within its span.
inline bool can_be_skewed(const Program& program) {
  const auto is_edge = [](const Place& place) { return place.slot == kRoot || place.slot == kLast; };
  const auto has_edge = [&](const std::vector<Place>& places) { return std::any_of(places.begin(), places.end(), is_edge); };
  const auto shifts = [&](const Nest& nest) {
    return std::none_of(nest.conditions.begin(), nest.conditions.end(), [&](const Condition& c) {
             const bool always = c.least <= 0 && (c.start == kRoot || c.end == kLast);
             return !always && is_edge({c.start, 0}) != is_edge({c.end, 0});
           }) &&
           std::none_of(nest.loops.begin(), nest.loops.end(), [&](const Loop& l) { return has_edge(l.least) || has_edge(l.most); });
  };
  const auto region_shifts = [&](const Region& region) { return shifts(region.nest); };
  const auto product_shifts = [&](const Product& product) {
    return shifts(product.nest) && std::none_of(product.factors.begin(), product.factors.end(),
                                                [&](const Factor& factor) { return has_edge(factor.places); });
  };
  return std::all_of(program.items.begin(), program.items.end(), [&](const Item& item) {
           return !item.exterior && std::all_of(item.cells.begin(), item.cells.end(), region_shifts) &&
                  std::all_of(item.axioms.begin(), item.axioms.end(), region_shifts) &&
                  std::all_of(item.products.begin(), item.products.end(), product_shifts) &&
                  std::all_of(item.rules.begin(), item.rules.end(), product_shifts);
         }) &&
         std::all_of(program.tables.begin(), program.tables.end(), [](const Table& t) { return t.positions < 3 || t.ordered; });
}

// What a program is for, and how it is laid out for sentences of some lengths.
class Rules {
 public:
  // Throws BadProgram where they are no program.
  explicit Rules(const std::vector<int32_t>& numbers)
      : program(validated(ProgramReader(numbers.data(), numbers.size()).program())),
        shifts_(can_be_skewed(program)),
        cubes_(std::count_if(program.items.begin(), program.items.end(),
                             [](const Item& item) { return item.positions == 3 && !item.passing; }) +
               std::count_if(program.tables.begin(), program.tables.end(),
                             [](const Table& table) { return table.positions == 3; })) {}

  const Program program;

  // The frame for so many sentences, the longest of which has so many nodes: fewer lie beside each other where there is
  // not enough for all threads, or where their charts would take too much memory, if spans fill vectors, too.
  std::shared_ptr<const Frame> frame(int nodes, int sentences, int threads, bool traced, bool differentiated) const {
    int beside = kLanes;
    const double numbers = cubes_ * std::pow(nodes, 3) / 6 * (differentiated ? 2 : 1);
    while (shifts_ && beside > 1 && (sentences < 2 * beside * threads || numbers * beside * beside > kMost)) beside /= 2;
    return frames_.get({nodes, beside, traced, differentiated},
                       [&] { return std::make_shared<Frame>(program, nodes, beside, shifts_, traced, differentiated); });
  }

 private:
  static Program validated(Program program) {
    Validation(program).run();
    return program;
  }

  static constexpr double kMost = 9e7;  // numbers of all tables, times how many lie beside each other
  const bool shifts_;
  const int cubes_;  // how many items and tables have three positions
  mutable Kept<std::tuple<int, int, bool, bool>, Frame> frames_;
};

}  // namespace structdep
