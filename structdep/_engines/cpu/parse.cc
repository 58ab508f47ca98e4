// The sentences of a batch, a few at a time. It is compiled for each kind of numbers by itself: STRUCTDEP_NUMBER.
#include "parse.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <vector>

#include "sentence_group.h"
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

template <typename T>
void parse(const Batch<T>& batch, const Layout& layout, const int* sentences, int count) {
  if (!batch.adds)
    SentenceGroup<MaxPlus<T>>(batch, layout, sentences, count).run();
  else if (!batch.has_reals() || !SentenceGroup<RealSum<T>>(batch, layout, sentences, count).run())
    SentenceGroup<LogSum<T>>(batch, layout, sentences, count).run();
}

}  // namespace

template <typename T>
void parse(ffi::ThreadPool& pool, const LoadedProgram& program, const Batch<T>& batch) {
  std::vector<int> sentences(batch.results.size());
  std::iota(sentences.begin(), sentences.end(), 0);  // those of like length beside each other, the longest first
  std::stable_sort(sentences.begin(), sentences.end(), [&](int a, int b) { return batch.length(a) > batch.length(b); });
  const int count = sentences.size();
  if (!count) return;
  const int nodes = batch.length(sentences[0]) + 1 + batch.program.last;
  const auto layout = program.layout(nodes, count, pool.num_threads(), batch.query == Query::kExpectedCounts);
  const int beside = layout->sentences;
  std::mutex mutex;
  std::exception_ptr failed;
  const int groups = (count + beside - 1) / beside;
  in_threads(pool, groups, groups * layout->microseconds, [&](int number) {
    const FlushToZero scope;
    const int first = number * beside;
    const auto start = Clock::now();
    try {
      parse(batch, *layout, sentences.data() + first, std::min(beside, count - first));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      failed = std::current_exception();
    }
    layout->microseconds = microseconds_since(start);
  });
  if (failed) std::rethrow_exception(failed);
}

template void parse(ffi::ThreadPool&, const LoadedProgram&, const Batch<STRUCTDEP_NUMBER>&);

}  // namespace structdep
