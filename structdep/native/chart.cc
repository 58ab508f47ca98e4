// What XLA calls: values of charts, and how often scores are used, for all sentences of a batch.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "frames.h"
#include "group.h"
#include "xla/ffi/api/ffi.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ffi = xla::ffi;

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

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// To wake a thread takes about 50 microseconds: none is woken for less work, nor slept for by one that soon goes on.
constexpr double kWorthWaking = 80, kWorthSleeping = 200;

// Calls work(0), .., work(count - 1), which take so many microseconds, in threads of the pool, and in this one.
void in_threads(ffi::ThreadPool& pool, int count, double microseconds, std::function<void(int)> work) {
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
  for (int m = 0; m < others; ++m) pool.Schedule([state] { state->run(); });
  state->run();
  const auto start = Clock::now();
  while (!state->is_done() && microseconds_since(start) < kWorthSleeping) std::this_thread::yield();
  std::unique_lock<std::mutex> lock(state->mutex);
  state->all.wait(lock, [&] { return state->is_done(); });
}

template <typename T>
ffi::Error parse(ffi::ThreadPool& pool, const Rules& rules, const Batch<T>& batch) try {
  std::vector<int> sentences(batch.results.size());
  std::iota(sentences.begin(), sentences.end(), 0);  // those of like length beside each other, the longest first
  std::stable_sort(sentences.begin(), sentences.end(), [&](int a, int b) { return batch.length(a) > batch.length(b); });
  const int count = sentences.size();
  if (!count) return ffi::Error::Success();
  const int nodes = batch.length(sentences[0]) + 1 + batch.program.last;
  const auto frame = rules.frame(nodes, count, pool.num_threads(), batch.want >= kBest, batch.want == kUses);
  const int beside = frame->sentences;
  std::atomic<bool> fits{true};
  const int groups = (count + beside - 1) / beside;
  in_threads(pool, groups, groups * frame->microseconds, [&](int number) {
    const FlushToZero scope;
    const int first = number * beside;
    const auto start = Clock::now();
    try {
      Group<T>(batch, *frame, sentences.data() + first, std::min(beside, count - first)).parse();
    } catch (const std::bad_alloc&) {
      fits = false;
    }
    frame->microseconds = microseconds_since(start);
  });
  if (!fits) throw std::bad_alloc();
  return ffi::Error::Success();
} catch (const std::bad_alloc&) {
  return ffi::Error(ffi::ErrorCode::kResourceExhausted,
                    "there is no memory for charts of " + std::to_string(batch.words) + " words: parse shorter sentences");
}

using Axes = std::vector<int64_t>;

// The axes of an array without those of a sentence.
Axes in_front(const ffi::AnyBuffer& array, int own) {
  const auto axes = array.dimensions();
  return Axes(axes.begin(), axes.end() - own);
}

template <typename T>
Given<T> given(const ffi::AnyBuffer& array, int own, const Axes& results) {
  return {reinterpret_cast<const T*>(array.untyped_data()), Rows(in_front(array, own), results)};
}

template <typename T>
ffi::Error run(ffi::ThreadPool& pool, ffi::Span<const int32_t> numbers, bool adds, Want want, int arc,
               ffi::RemainingArgs& args, ffi::RemainingRets& rets) {
  static Kept<std::vector<int32_t>, Rules> known;
  const auto rules = known.get({numbers.begin(), numbers.end()}, [&] { return std::make_shared<Rules>(numbers.begin()); });
  Batch<T> batch{rules->program, adds, want};
  for (const Table& table : batch.program.tables) batch.has_arcs.push_back(has(table.scores, arc));
  const ffi::AnyBuffer values = **rets.get<ffi::AnyBuffer>(0);
  const Axes results = in_front(values, 0);
  Axes parsed(results.size(), 1);  // the axes along which there is more to parse than one sentence
  const auto join = [&](const ffi::AnyBuffer& array, int own) {
    const Axes axes = in_front(array, own);
    for (size_t m = 0; m < axes.size(); ++m) parsed[m] = std::max(parsed[m], axes[m]);
  };
  const int scores = batch.program.scores.size();
  for (int score = 0; score < scores; ++score) {
    const ffi::AnyBuffer array = *args.get<ffi::AnyBuffer>(score);
    const int own = batch.program.scores[score].positions;
    batch.scores.push_back(given<T>(array, own, results));
    batch.words = static_cast<int>(array.dimensions().back()) - 1 - batch.program.last;
    join(array, own);
  }
  const ffi::AnyBuffer lengths = *args.get<ffi::AnyBuffer>(scores);
  batch.lengths = given<int32_t>(lengths, 0, results);
  join(lengths, 0);
  if (want == kSample) batch.seeds = given<uint32_t>(*args.get<ffi::AnyBuffer>(scores + 1), 1, results);
  batch.values = reinterpret_cast<T*>(values.untyped_data());
  const int64_t count = values.element_count();
  for (size_t m = 1; m < rets.size(); ++m) {
    void* const data = (*rets.get<ffi::AnyBuffer>(m))->untyped_data();
    if (arc < 0)
      batch.uses.push_back(static_cast<T*>(data));
    else
      batch.heads = static_cast<int32_t*>(data);
  }
  const Rows sentences(parsed, results);
  batch.results.resize(count ? sentences.size() : 0);
  for (int64_t result = 0; result < count; ++result) batch.results[sentences.of(result)].push_back(result);
  return parse(pool, *rules, batch);
}

ffi::Error chart(ffi::ThreadPool pool, ffi::Span<const int32_t> program, bool adds, int32_t want, int32_t arc,
                 ffi::RemainingArgs args, ffi::RemainingRets rets) {
  const Want wanted = static_cast<Want>(want);
  if (args.get<ffi::AnyBuffer>(0)->element_type() == ffi::DataType::F64)
    return run<double>(pool, program, adds, wanted, arc, args, rets);
  return run<float>(pool, program, adds, wanted, arc, args, rets);
}

}  // namespace
}  // namespace structdep

// The most bytes that charts have taken at once since this was asked last.
extern "C" size_t structdep_most_bytes() { return structdep::value_pool.most() + structdep::share_pool.most(); }

XLA_FFI_DEFINE_HANDLER_SYMBOL(structdep_chart, structdep::chart,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Attr<ffi::Span<const int32_t>>("program")
                                  .Attr<bool>("adds")
                                  .Attr<int32_t>("want")
                                  .Attr<int32_t>("arc")
                                  .RemainingArgs()
                                  .RemainingRets());
