// Memory that is kept between calls: new pages would take a good part of the time.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace structdep {

// A request for more bytes than there are.
struct NoMemory : std::bad_alloc {
  explicit NoMemory(size_t wanted) : bytes(wanted) {}
  size_t bytes;
};

class MemoryPool {
 public:
  struct Block {
    void* data;
    size_t size;
  };

  // A block of at least this size, which may hold anything.
  Block take(size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Block found;
    if (const auto kept = kept_.lower_bound(size); kept != kept_.end()) {
      found = {kept->second, kept->first};
      kept_.erase(kept), kept_size_ -= found.size;
    } else {
      found = {allocate(size), size};
    }
    lent_ += size, most_ = std::max(most_, lent_);
    return found;
  }

  // Takes back a block of which so much was wanted.
  void give(Block block, size_t size) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    lent_ -= size;
    try {
      kept_.emplace(block.size, block.data), kept_size_ += block.size;
    } catch (const std::bad_alloc&) {
      free(block);
    }
    free_until(limit_, kMostKept);
  }

  // Sets how much there may be of all blocks; 0: what the machine has.
  void limit(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    limit_ = bytes ? bytes : all_memory();
    free_until(limit_, kMostKept);
  }

  // Frees what is kept. Returns how many bytes that were.
  size_t clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t before = held_;
    free_until(0, 0);
    return before - held_;
  }

  // The most that was lent at once since this was asked last.
  size_t most() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(most_, lent_);
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kMostKept = 0;  // each block then ends where its room does
#else
  static constexpr size_t kMostKept = size_t{3} << 30;
#endif

  static size_t all_memory() { return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

  void* allocate(size_t size) {
    if (size > limit_) throw NoMemory(size);
    free_until(limit_ - size, kMostKept);
    if (held_ > limit_ - size) throw NoMemory(size);
    void* data = std::malloc(size);
    if (!data) free_until(0, 0), data = std::malloc(size);
    if (!data) throw NoMemory(size);
    held_ += size;
    return data;
  }

  void free(Block block) {
    held_ -= block.size;
    std::free(block.data);
  }

  // Until no more is held, and kept, or nothing is kept: the largest blocks first.
  void free_until(size_t held, size_t kept) {
    while (!kept_.empty() && (held_ > held || kept_size_ > kept)) {
      const auto last = std::prev(kept_.end());
      kept_size_ -= last->first;
      free({last->second, last->first});
      kept_.erase(last);
    }
  }

  std::mutex mutex_;
  std::multimap<size_t, void*> kept_;  // by their sizes
  size_t kept_size_ = 0, limit_ = all_memory();
  size_t held_ = 0, lent_ = 0, most_ = 0;  // held: lent or kept
};

inline MemoryPool memory_pool;

// Room for numbers, which are 0 if that is asked for.
template <typename T>
class Room {
 public:
  Room(size_t numbers, bool zero) : size_(numbers * sizeof(T) + kAlign), block_(memory_pool.take(size_)) {
    if (zero) std::memset(block_.data, 0, size_);
  }
  ~Room() { memory_pool.give(block_, size_); }
  Room(const Room&) = delete;

  T* data() const {
    const size_t address = reinterpret_cast<size_t>(block_.data);
    return reinterpret_cast<T*>((address + kAlign - 1) / kAlign * kAlign);
  }

 private:
  static constexpr size_t kAlign = 128;
  const size_t size_;
  const MemoryPool::Block block_;
};

}  // namespace structdep
