// Memory that is kept between calls: new pages would take a good part of the time.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace structdep {

class Pool {
 public:
  struct Block {
    void* data;  // as it was allocated, zero
    size_t size;
    size_t owner;
  };

  // A block in which so much is zero, or as its owner left it last: who always takes the same size.
  Block take(size_t size, size_t owner) {
    Block found{};
    {
      std::lock_guard<std::mutex> lock(mutex_);
      lent_ += size;
      most_ = std::max(most_, lent_);
      const auto end = kept_.end(), fits = std::find_if(kept_.begin(), end, [&](const Block& b) { return b.size >= size; });
      const auto own = std::find_if(fits, end, [&](const Block& b) { return b.size >= size && b.owner == owner; });
      if (fits != end) {
        std::swap(own != end ? *own : *fits, kept_.back());
        found = kept_.back();
        kept_.pop_back();
        total_ -= found.size;
      }
    }
    if (found.data) {
      if (found.owner != owner) std::memset(found.data, 0, size);
      return {found.data, found.size, owner};
    }
    if (void* data = std::calloc(size, 1)) return {data, size, owner};
    std::lock_guard<std::mutex> lock(mutex_);
    lent_ -= size;
    throw std::bad_alloc();
  }

  // Takes back a block of which so much was wanted.
  void give(Block block, size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    lent_ -= size;
    while (!kept_.empty() && total_ + block.size > kMost) {
      total_ -= kept_.back().size;
      std::free(kept_.back().data);
      kept_.pop_back();
    }
    if (block.size > kMost) return std::free(block.data);
    kept_.push_back(block);
    total_ += block.size;
  }

  // The most that was lent at once since this was asked last.
  size_t most() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(most_, lent_);
  }

 private:
  static constexpr size_t kMost = size_t{1} << 30;
  std::mutex mutex_;
  std::vector<Block> kept_;
  size_t total_ = 0, lent_ = 0, most_ = 0;
};

// Room for numbers, from a pool.
template <typename T>
class Room {
 public:
  Room(Pool& pool, size_t numbers, size_t owner = 0)
      : pool_(pool), size_(numbers * sizeof(T) + kAlign), block_(pool.take(size_, owner)) {}
  ~Room() { pool_.give(block_, size_); }
  Room(const Room&) = delete;

  T* data() const {
    const size_t address = reinterpret_cast<size_t>(block_.data);
    return reinterpret_cast<T*>((address + kAlign - 1) / kAlign * kAlign);
  }
  void clear() const { std::memset(block_.data, 0, size_); }

 private:
  static constexpr size_t kAlign = 128;
  Pool& pool_;
  const size_t size_;
  Pool::Block block_;
};

// Of values; of real ones, which an owner finds finite everywhere; and of derivatives, which are zero again when they are given
// back.
inline Pool value_pool, real_pool, share_pool;

}  // namespace structdep
