// Memory that is kept between calls: new pages would take a good part of the time.
#pragma once

#include <cstdlib>
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
  };

  Block take(size_t size) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (Block& kept : kept_)
        if (kept.size >= size) {
          std::swap(kept, kept_.back());
          const Block found = kept_.back();
          kept_.pop_back();
          total_ -= found.size;
          return found;
        }
    }
    void* data = std::calloc(size, 1);
    if (!data) throw std::bad_alloc();
    return {data, size};
  }

  void give(Block block) {
    std::lock_guard<std::mutex> lock(mutex_);
    while (!kept_.empty() && total_ + block.size > kMost) {
      total_ -= kept_.back().size;
      std::free(kept_.back().data);
      kept_.pop_back();
    }
    if (block.size > kMost) return std::free(block.data);
    kept_.push_back(block);
    total_ += block.size;
  }

 private:
  static constexpr size_t kMost = size_t{1} << 30;
  std::mutex mutex_;
  std::vector<Block> kept_;
  size_t total_ = 0;
};

// Room for vectors, from a pool.
template <typename Vector>
class Room {
 public:
  Room(Pool& pool, size_t vectors) : pool_(pool), block_(pool.take(vectors * sizeof(Vector) + kAlign)) {}
  ~Room() { pool_.give(block_); }
  Room(const Room&) = delete;

  Vector* data() const {
    const size_t address = reinterpret_cast<size_t>(block_.data);
    return reinterpret_cast<Vector*>((address + kAlign - 1) / kAlign * kAlign);
  }

 private:
  static constexpr size_t kAlign = 128;
  Pool& pool_;
  Pool::Block block_;
};

}  // namespace structdep
