// Memory that is kept between calls: new pages would take a good part of the time.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace structdep {

// A request for more bytes than there are.
struct NoMemory : std::bad_alloc {
  explicit NoMemory(size_t wanted) : bytes(wanted) {}
  size_t bytes;
};

// Values; real ones, which an owner finds finite everywhere; and derivatives, which an owner finds zero, as it leaves them.
enum Kind { kValues, kRealValues, kShares, kKinds };

class Pool {
 public:
  struct Block {
    void* data;  // as it was allocated, zero
    size_t size;
    size_t owner;
  };

  // A block in which so much is zero, or as its owner left it last, who always takes the same size; what owner 0 takes may
  // hold anything.
  Block take(Kind kind, size_t size, size_t owner) {
    Block found;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      found = find(kept_[kind], size, owner);
      if (!found.data) found = {allocate(size), size, owner};
      lent_ += size;
      most_ = std::max(most_, lent_);
    }
    if (found.owner != owner) std::memset(found.data, 0, size);
    return {found.data, found.size, owner};
  }

  // Takes back a block of which so much was wanted, to keep it if it is as the next one expects it.
  void give(Kind kind, Block block, size_t size, bool keeps) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    lent_ -= size;
    std::vector<Block>& own = kept_[kind];
    if (!keeps || block.size > kMost || held_ > limit_) return free(block);
    for (size_t total = block.size + size_of(own); total > kMost; total = block.size + size_of(own)) free_last(own);
    try {
      own.push_back(block);
    } catch (const std::bad_alloc&) {
      free(block);
    }
  }

  // Sets how much there may be of all blocks; 0: what the machine has.
  void limit(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    limit_ = bytes ? bytes : all_memory();
    free_until(limit_);
  }

  // Frees what is kept. Returns how many bytes that were.
  size_t clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t before = held_;
    free_until(0);
    return before - held_;
  }

  // The most that was lent at once since this was asked last.
  size_t most() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(most_, lent_);
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kMost = 0;  // each block then ends where its room does
#else
  static constexpr size_t kMost = size_t{1} << 30;  // that is kept of a kind
#endif

  static size_t all_memory() { return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

  static size_t size_of(const std::vector<Block>& kept) {
    size_t total = 0;
    for (const Block& block : kept) total += block.size;
    return total;
  }

  // One of those that are kept, if there is one: the owner's, if it has some.
  static Block find(std::vector<Block>& kept, size_t size, size_t owner) {
    const auto end = kept.end(), fits = std::find_if(kept.begin(), end, [&](const Block& b) { return b.size >= size; });
    if (fits == end) return {};
    const auto own = std::find_if(fits, end, [&](const Block& b) { return b.size >= size && b.owner == owner; });
    std::swap(own != end ? *own : *fits, kept.back());
    const Block found = kept.back();
    kept.pop_back();
    return found;
  }

  void* allocate(size_t size) {
    if (size > limit_) throw NoMemory(size);
    free_until(limit_ - size);
    if (held_ > limit_ - size) throw NoMemory(size);
    void* data = std::calloc(size, 1);
    if (!data) free_until(0), data = std::calloc(size, 1);
    if (!data) throw NoMemory(size);
    held_ += size;
    return data;
  }

  void free(const Block& block) {
    held_ -= block.size;
    std::free(block.data);
  }

  void free_last(std::vector<Block>& kept) {
    free(kept.back());
    kept.pop_back();
  }

  // Until no more is held, or nothing is kept.
  void free_until(size_t bytes) {
    for (std::vector<Block>& kept : kept_)
      while (held_ > bytes && !kept.empty()) free_last(kept);
  }

  std::mutex mutex_;
  std::array<std::vector<Block>, kKinds> kept_;
  size_t limit_ = all_memory(), held_ = 0, lent_ = 0, most_ = 0;  // held: lent or kept
};

inline Pool pool;

// Room for numbers. What an exception leaves in it is not kept.
template <typename T>
class Room {
 public:
  Room(Kind kind, size_t numbers, size_t owner = 0)
      : kind_(kind), size_(numbers * sizeof(T) + kAlign), block_(pool.take(kind, size_, owner)) {}
  ~Room() { pool.give(kind_, block_, size_, std::uncaught_exceptions() == exceptions_); }
  Room(const Room&) = delete;

  T* data() const {
    const size_t address = reinterpret_cast<size_t>(block_.data);
    return reinterpret_cast<T*>((address + kAlign - 1) / kAlign * kAlign);
  }
  void clear() const { std::memset(block_.data, 0, size_); }

 private:
  static constexpr size_t kAlign = 128;
  const Kind kind_;
  const size_t size_;
  const Pool::Block block_;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace structdep
