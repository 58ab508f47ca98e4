// Programs of earlier calls, and their layouts: to read and to lay them out takes longer than to parse a short sentence.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "layout.h"
#include "program_reader.h"
#include "validation.h"

namespace structdep {

// A few of what was asked for last, each made once.
template <typename Key, typename Made>
class Cache {
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

class LoadedProgram {
 public:
  // Throws BadProgram where numbers are no program.
  explicit LoadedProgram(const std::vector<int32_t>& numbers) : program(ProgramReader(numbers.data(), numbers.size()).program()) {
    Validation(program).run();
    skewed_ = can_be_skewed();
    const auto has_third = [](const auto& one) { return one.positions == 3; };
    cubes_ = std::count_if(program.items.begin(), program.items.end(), has_third) +
             std::count_if(program.tables.begin(), program.tables.end(), has_third);
  }

  Program program;

  // The layout for a batch of sentences, the longest of which has `nodes` nodes. In skewed layouts, fewer sentences share a
  // chart if threads would be idle otherwise, or if the chart would take too much memory.
  std::shared_ptr<const Layout> layout(int nodes, int sentences, int threads, bool differentiated) const {
    constexpr double kMost = 9e7;  // numbers of all items and tables, times how many sentences lie beside each other
    const double numbers = cubes_ * std::pow(nodes, 3) / 6 * (differentiated ? 2 : 1);
    int beside = kLanes;
    while (skewed_ && beside > 1 && (sentences < 2 * beside * threads || numbers * beside * beside > kMost)) beside /= 2;
    return layouts_.get({nodes, beside}, [&] { return std::make_shared<Layout>(program, nodes, beside, skewed_); });
  }

 private:
  template <typename Many, typename Holds>
  static bool all_of(const Many& many, Holds holds) {
    return std::all_of(many.begin(), many.end(), holds);
  }

  // Whether rules hold wherever they are shifted to, and each item lies within its span.
  bool can_be_skewed() const {
    const auto is_edge = [](const Position& p) { return p.slot == kRoot || p.slot == kLast; };
    const auto are_inside = [&](const std::vector<Position>& positions) {
      return all_of(positions, [&](const Position& p) { return !is_edge(p); });
    };
    const auto nest_shifts = [&](const LoopNest& nest) {
      return all_of(nest.conditions, [&](const Condition& c) {
               const bool always = c.least <= 0 && (c.start == kRoot || c.end == kLast);
               return always || is_edge({c.start, 0}) == is_edge({c.end, 0});
             }) &&
             all_of(nest.loops, [&](const Loop& loop) { return are_inside(loop.least) && are_inside(loop.most); });
    };
    const auto region_shifts = [&](const Region& region) { return nest_shifts(region.nest); };
    const auto product_shifts = [&](const Product& product) {
      return nest_shifts(product.nest) && all_of(product.factors, [&](const Factor& f) { return are_inside(f.positions); });
    };
    return all_of(program.items, [&](const Item& item) {
             return !item.exterior && all_of(item.cells, region_shifts) && all_of(item.axioms, region_shifts) &&
                    all_of(item.products, product_shifts) && all_of(item.rules, product_shifts);
           }) &&
           all_of(program.tables, [](const Table& table) { return table.positions < 3 || table.ordered; });
  }

  bool skewed_;
  int cubes_;  // how many items and tables have three positions
  mutable Cache<std::pair<int, int>, Layout> layouts_;
};

}  // namespace structdep
