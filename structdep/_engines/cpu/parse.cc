// The sentences of a batch, a few at a time. It is compiled for each kind of numbers by itself: STRUCTDEP_NUMBER.
#include "parse.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <vector>

#include "group.h"
#include "threads.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace structdep {
namespace {

// Numbers too small to be normal are 0 in this scope: they take long, and are of no account.
class FlushToZero {
#if defined(__SSE__)
 public:
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushToZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#endif
};

}  // namespace

template <typename T>
void parse(ffi::ThreadPool& pool, const Rules& rules, const Batch<T>& batch) {
  std::vector<int> sentences(batch.results.size());
  std::iota(sentences.begin(), sentences.end(), 0);  // those of like length beside each other, the longest first
  std::stable_sort(sentences.begin(), sentences.end(), [&](int a, int b) { return batch.length(a) > batch.length(b); });
  const int count = sentences.size();
  if (!count) return;
  const int nodes = batch.length(sentences[0]) + 1 + batch.program.last;
  const auto frame = rules.frame(nodes, count, pool.num_threads(), batch.want >= kBest, batch.want == kUses);
  const int beside = frame->sentences;
  std::mutex mutex;
  std::exception_ptr failed;
  const int groups = (count + beside - 1) / beside;
  in_threads(pool, groups, groups * frame->microseconds, [&](int number) {
    const FlushToZero scope;
    const int first = number * beside;
    const auto start = Clock::now();
    try {
      Group<T> group(batch, *frame, sentences.data() + first, std::min(beside, count - first));
      if (!batch.has_reals() || !group.parse(kReals)) group.parse(batch.adds ? kLogs : kScores);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failed = std::current_exception();
    }
    frame->microseconds = microseconds_since(start);
  });
  if (failed) std::rethrow_exception(failed);
}

template void parse(ffi::ThreadPool&, const Rules&, const Batch<STRUCTDEP_NUMBER>&);

}  // namespace structdep
