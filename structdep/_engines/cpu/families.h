// Which items are sums of others, and can be computed together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "program.h"

namespace structdep {

// Items that are sums of items at their own positions: members are numbers of `items`, first the leaves, then the sums.
// An item alone that is none is the only leaf.
struct Family {
  static constexpr size_t kMost = 80;
  std::vector<int> items;
  size_t leaves = 0;
  std::vector<std::vector<uint8_t>> members;  // of each sum
  std::vector<std::vector<uint8_t>> owners;   // of each item: the sums that it is a member of

  size_t first_made() const { return members.empty() ? 0 : leaves; }  // of the items that are computed with it
};

template <typename Number>
bool has(const std::vector<Number>& numbers, size_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// Whether it is a sum of others at its positions.
inline bool is_sum(const Program& program, const Item& item) {
  return item.positions == 3 && item.axioms.empty() && item.products.size() > 1 &&
         std::all_of(item.products.begin(), item.products.end(), [&](const Product& product) {
           if (product.factors.size() != 1) return false;
           const Factor& only = product.factors[0];
           const std::vector<Place>& at = only.places;
           return only.is_item && only.side == product.side && at.size() == 3 &&
                  at[0].is(kStart) && at[1].is(kEnd) && at[2].is(kThird) && product.nest.loops.size() == 1 &&
                  program.items[only.number].exterior == item.exterior;
         });
}

// The sums, from this item on, of what is done and of each other.
inline std::vector<int> sums_of(const Program& program, const std::vector<bool>& done, size_t first) {
  std::vector<int> sums;
  const auto is_known = [&](const Product& product) {
    const int number = product.factors[0].number;
    return done[number] || has(sums, number);
  };
  for (size_t number = first; number < program.items.size(); ++number) {
    const Item& item = program.items[number];
    if (!done[number] && is_sum(program, item) && std::all_of(item.products.begin(), item.products.end(), is_known))
      sums.push_back(number);
  }
  return sums;
}

inline Family family_of(const Program& program, const std::vector<int>& sums) {
  Family own;
  for (const int sum : sums)
    for (const Product& product : program.items[sum].products)
      if (const int number = product.factors[0].number; !has(sums, number) && !has(own.items, number))
        own.items.push_back(number);
  own.leaves = own.items.size();
  own.items.insert(own.items.end(), sums.begin(), sums.end());
  for (const int sum : sums) {
    std::vector<uint8_t>& members = own.members.emplace_back();
    for (const Product& product : program.items[sum].products) {
      const size_t member = std::find(own.items.begin(), own.items.end(), product.factors[0].number) - own.items.begin();
      if (!has(members, member)) members.push_back(member);
    }
  }
  own.owners.resize(own.items.size());
  for (size_t sum = 0; sum < own.members.size(); ++sum)
    for (const uint8_t member : own.members[sum]) own.owners[member].push_back(own.leaves + sum);
  return own;
}

// The families of a program, in the order in which they can be computed: sums with all others that can be computed then.
inline std::vector<Family> find_families(const Program& program) {
  std::vector<Family> families;
  std::vector<bool> done(program.items.size());
  for (size_t first = 0; first < program.items.size(); ++first) {
    if (done[first]) continue;
    Family own;
    if (const std::vector<int> sums = sums_of(program, done, first); sums.size() > 1 && sums[0] == static_cast<int>(first))
      own = family_of(program, sums);
    if (own.members.empty() || own.items.size() > Family::kMost) own = {{static_cast<int>(first)}, 1, {}};
    for (size_t m = own.first_made(); m < own.items.size(); ++m) done[own.items[m]] = true;
    families.push_back(own);
  }
  return families;
}

}  // namespace structdep
