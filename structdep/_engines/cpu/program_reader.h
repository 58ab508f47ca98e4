// Reads a program from the numbers that program.py writes, in its order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program.h"

namespace structdep {

class ProgramReader {
 public:
  ProgramReader(const int32_t* numbers, size_t size) : size_(size), next_(numbers), end_(numbers + size) {}

  // Throws BadProgram where numbers are not as they were written.
  Program program() {
    if (number() != kVersion) throw BadProgram("version");
    if (static_cast<size_t>(number()) != size_) throw BadProgram("length");
    if (const int sum = number(); sum != check_sum()) throw BadProgram("check sum");
    Program result{number(), flag(), list(&ProgramReader::score), list(&ProgramReader::table), list(&ProgramReader::item),
                   list(&ProgramReader::product)};
    if (next_ != end_) throw BadProgram("length");
    return result;
  }

 private:
  static constexpr int kVersion = 3;  // of what the numbers mean: that of program.py

  int number() {
    if (next_ == end_) throw BadProgram("length");
    return *next_++;
  }
  bool flag() { return number() != 0; }

  // Of the numbers that follow.
  int32_t check_sum() const {
    uint32_t sum = 0, weight = 1;
    for (const int32_t* at = next_; at != end_; ++at, weight += 2) sum += weight * static_cast<uint32_t>(*at);
    return static_cast<int32_t>(sum);
  }

  template <typename Part>
  std::vector<Part> list(Part (ProgramReader::*read)()) {
    std::vector<Part> result;
    const int size = number();
    if (size < 0 || size > end_ - next_) throw BadProgram("length of a list");
    result.reserve(size);
    for (int m = 0; m < size; ++m) result.push_back((this->*read)());
    return result;
  }

  // Members are read in the order of their declarations.
  Score score() { return {number(), flag(), flag()}; }
  Table table() { return {number(), flag(), list(&ProgramReader::number)}; }
  Position position() { return {number(), number()}; }
  Condition condition() { return {number(), number(), number()}; }
  Loop loop() { return {number(), list(&ProgramReader::position), list(&ProgramReader::position)}; }
  LoopNest nest() { return {list(&ProgramReader::condition), list(&ProgramReader::loop)}; }
  Region region() { return {number(), nest()}; }
  Factor factor() { return {flag(), number(), number(), list(&ProgramReader::position)}; }
  Product product() { return {number(), number(), flag(), nest(), list(&ProgramReader::factor)}; }
  Item item() {
    return {number(), flag(), number(), number(), list(&ProgramReader::region), list(&ProgramReader::region),
            flag(),   list(&ProgramReader::product), list(&ProgramReader::product)};
  }

  const size_t size_;
  const int32_t *next_, *const end_;
};

}  // namespace structdep
