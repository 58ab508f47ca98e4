// Work that is shared among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "xla/ffi/api/ffi.h"

namespace structdep {

using Clock = std::chrono::steady_clock;

inline double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// To wake a thread takes about 50 microseconds: none is woken for less work, nor slept for by one that soon goes on.
constexpr double kWorthWaking = 80, kWorthSleeping = 200;

// Calls work(0), .., work(count - 1) in this thread and in threads of the pool. `work` must not throw; `microseconds` is the
// time that all calls take. This thread does not wait for threads that have not begun.
inline void in_threads(xla::ffi::ThreadPool& pool, int count, double microseconds, std::function<void(int)> work) {
  struct State {
    std::function<void(int)> work;
    int count;
    std::atomic<int> next{0}, finished{0};
    std::mutex mutex;
    std::condition_variable all;

    bool is_done() const { return finished == count; }
    void run() {
      int done = 0;
      for (int number; (number = next++) < count; ++done) work(number);
      const std::lock_guard<std::mutex> lock(mutex);
      finished += done;
      if (is_done()) all.notify_all();
    }
  };
  auto state = std::make_shared<State>();
  state->work = std::move(work), state->count = count;
  const int others = microseconds < kWorthWaking ? 0 : std::min<int64_t>(count, pool.num_threads()) - 1;
  try {
    for (int m = 0; m < others; ++m) pool.Schedule([state] { state->run(); });
  } catch (const std::bad_alloc&) {  // the threads that there are do all of it
  }
  state->run();
  const auto start = Clock::now();
  while (!state->is_done() && microseconds_since(start) < kWorthSleeping) std::this_thread::yield();
  std::unique_lock<std::mutex> lock(state->mutex);
  state->all.wait(lock, [&] { return state->is_done(); });
}

}  // namespace structdep
