// What XLA calls: values of charts, and how often scores are used, for all sentences of a batch.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "trace.h"
#include "xla/ffi/api/ffi.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace ffi = xla::ffi;

namespace structdep {
namespace {

enum Want { kValue, kUses, kBest, kSample };

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

// The rows of an array whose axes in front are those of the results, or have size 1, as `jax.vmap` leaves them.
class Rows {
 public:
  Rows() = default;
  Rows(const std::vector<int64_t>& axes, const std::vector<int64_t>& results) : results_(results), steps_(axes.size()) {
    size_ = 1;
    for (size_t m = axes.size(); m-- > 0;) {
      steps_[m] = axes[m] == 1 ? 0 : size_;
      size_ *= axes[m];
    }
  }

  int64_t size() const { return size_; }
  int64_t of(int64_t result) const {
    int64_t row = 0;
    for (size_t m = results_.size(); m-- > 0; result /= results_[m]) row += steps_[m] * (result % results_[m]);
    return row;
  }

 private:
  std::vector<int64_t> results_, steps_;
  int64_t size_ = 0;
};

template <typename T>
struct Given {  // an array of the batch
  const T* data = nullptr;
  Rows rows;
};

// A sentence is what is parsed once; results are those of sentences, or of several draws from each.
template <typename T>
struct Batch {
  Program program;
  bool adds;
  Want want;
  int words;  // that there is room for
  std::vector<Given<T>> scores;
  Given<int32_t> lengths;
  Given<uint32_t> seeds;
  T* values;
  std::vector<T*> uses;
  std::vector<std::vector<int64_t>> results;  // of each sentence

  size_t nodes() const { return words + 1 + program.last; }
  int length(int sentence) const { return lengths.data[lengths.rows.of(results[sentence][0])]; }
  size_t size_of(int score) const {
    size_t size = 1;
    for (int m = 0; m < program.scores[score]; ++m) size *= nodes();
    return size;
  }
};

// Calls visit(place in the table of a sentence, place in a table with fewer nodes, size) for pieces of both.
template <typename Visit>
void for_each_piece(int positions, size_t nodes, size_t fewer, Visit visit) {
  size_t rows = 1;
  for (int m = 1; m < positions; ++m) rows *= fewer;
  for (size_t row = 0; row < rows; ++row) {
    size_t from = 0;
    if (positions == 2) from = row * nodes;
    if (positions == 3) from = (row / fewer * nodes + row % fewer) * nodes;
    visit(from, row * fewer, fewer);
  }
}

// Sentences side by side, from their scores to their values and uses.
template <typename T>
class Group {
 public:
  Group(const Batch<T>& batch, const int* sentences, int count)
      : batch_(batch),
        sentences_(sentences),
        count_(count),
        chart_(batch.program, widest(), batch.adds, batch.want >= kBest, batch.want == kUses) {}

  void parse() {
    read();
    chart_.fill();
    for (int lane = 0; lane < count_; ++lane) finish(lane);
    if (batch_.want == kUses) {
      chart_.share();
      write_shares();
    }
  }

 private:
  int widest() const {
    int words = 0;
    for (int lane = 0; lane < count_; ++lane) words = std::max(words, batch_.length(sentences_[lane]));
    return std::min(words, batch_.words) + 1 + batch_.program.last;
  }

  const T* scores(int number, int lane) const {
    const Given<T>& own = batch_.scores[number];
    return own.data + batch_.size_of(number) * own.rows.of(batch_.results[sentences_[lane]][0]);
  }

  void read() {
    for (size_t number = 0; number < batch_.program.tables.size(); ++number) {
      const Table& table = batch_.program.tables[number];
      for (int lane = 0; lane < kLanes; ++lane) {
        T* const to = reinterpret_cast<T*>(chart_.cells() + chart_.table(number)) + lane;
        for (size_t m = 0; m < table.scores.size(); ++m) {
          const T* const from = lane < count_ ? scores(table.scores[m], lane) : nullptr;
          for_each_piece(table.positions, batch_.nodes(), chart_.nodes(), [&](size_t start, size_t place, size_t size) {
            if (!from) {
              for (size_t n = 0; n < size; ++n) to[(place + n) * kLanes] = -kInf<T>;
              return;
            }
            bool unsound = false;
            for (size_t n = 0; n < size; ++n) {
              const T own = from[start + n];
              unsound |= own != own;
              to[(place + n) * kLanes] = m ? to[(place + n) * kLanes] + own : own;
            }
            unsound_[lane] |= unsound;
          });
        }
      }
    }
  }

  void finish(int lane) {
    Sentence<T> sentence(chart_, lane, batch_.length(sentences_[lane]));
    const T value = unsound_[lane] ? std::numeric_limits<T>::quiet_NaN() : sentence.value(batch_.adds);
    for (const int64_t result : batch_.results[sentences_[lane]]) {
      batch_.values[result] = value;
      if (std::isfinite(value) && batch_.want >= kBest) trace(sentence, result);
    }
    if (std::isfinite(value) && batch_.want == kUses) sentence.share(value);
  }

  void trace(Sentence<T>& sentence, int64_t result) const {
    std::unique_ptr<Random> random;
    if (batch_.want == kSample) {
      const uint32_t* const seed = batch_.seeds.data + 2 * batch_.seeds.rows.of(result);
      random = std::make_unique<Random>(uint64_t{seed[0]} << 32 | seed[1]);
    }
    sentence.trace(random.get(), [&](const Table& table, const Factor& factor, const Nodes& nodes) {
      size_t place = 0;
      for (const Place& p : factor.places) place = place * batch_.nodes() + p.of(nodes);
      for (int score : table.scores) batch_.uses[score][batch_.size_of(score) * result + place] += 1;
    });
  }

  void write_shares() {
    for (size_t number = 0; number < batch_.program.tables.size(); ++number) {
      const Table& table = batch_.program.tables[number];
      Vec<T>* const shares = chart_.shares() + chart_.table(number);
      for_each_piece(table.positions, batch_.nodes(), chart_.nodes(), [&](size_t start, size_t place, size_t size) {
        for (int lane = 0; lane < count_; ++lane) {
          if (unsound_[lane]) continue;
          const T* const from = reinterpret_cast<const T*>(shares + place) + lane;
          for (int score : table.scores)
            for (const int64_t result : batch_.results[sentences_[lane]]) {
              T* const to = batch_.uses[score] + batch_.size_of(score) * result + start;
              for (size_t n = 0; n < size; ++n) to[n] += from[n * kLanes];
            }
        }
        std::fill_n(shares + place, size, Vec<T>{});
      });
    }
  }

  const Batch<T>& batch_;
  const int* sentences_;
  const int count_;
  Chart<T> chart_;
  bool unsound_[kLanes] = {};
};

// Calls work(0), .., work(count - 1), in threads of the pool, and in this one.
void in_threads(ffi::ThreadPool& pool, int count, std::function<void(int)> work) {
  struct State {
    std::function<void(int)> work;
    int count;
    std::atomic<int> next{0};
    int finished = 0;
    std::mutex mutex;
    std::condition_variable all;

    void run() {
      int done = 0;
      for (int number; (number = next++) < count; ++done) work(number);
      std::lock_guard<std::mutex> lock(mutex);
      finished += done;
      if (finished == count) all.notify_all();
    }
  };
  auto state = std::make_shared<State>();
  state->work = std::move(work), state->count = count;
  const int others = std::min<int64_t>(count, pool.num_threads()) - 1;
  for (int m = 0; m < others; ++m) pool.Schedule([state] { state->run(); });
  state->run();
  std::unique_lock<std::mutex> lock(state->mutex);
  state->all.wait(lock, [&] { return state->finished == state->count; });
}

template <typename T>
ffi::Error parse(ffi::ThreadPool& pool, const Batch<T>& batch) {
  std::vector<int> sentences(batch.results.size());
  std::iota(sentences.begin(), sentences.end(), 0);  // those of like length beside each other, the longest first
  std::stable_sort(sentences.begin(), sentences.end(), [&](int a, int b) { return batch.length(a) > batch.length(b); });
  const int count = sentences.size();
  std::atomic<bool> fits{true};
  in_threads(pool, (count + kLanes - 1) / kLanes, [&](int number) {
    const FlushToZero scope;
    const int first = number * kLanes;
    try {
      Group<T>(batch, sentences.data() + first, std::min(kLanes, count - first)).parse();
    } catch (const std::bad_alloc&) {
      fits = false;
    }
  });
  if (fits) return ffi::Error::Success();
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
ffi::Error run(ffi::ThreadPool& pool, ffi::Span<const int32_t> numbers, bool adds, Want want, ffi::RemainingArgs& args,
               ffi::RemainingRets& rets) {
  Batch<T> batch;
  batch.program = ProgramReader(numbers.begin()).program();
  batch.adds = adds, batch.want = want;
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
    const int own = batch.program.scores[score];
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
    batch.uses.push_back(reinterpret_cast<T*>((*rets.get<ffi::AnyBuffer>(m))->untyped_data()));
    std::fill_n(batch.uses.back(), batch.size_of(m - 1) * count, T{0});
  }
  const Rows sentences(parsed, results);
  batch.results.resize(count ? sentences.size() : 0);
  for (int64_t result = 0; result < count; ++result) batch.results[sentences.of(result)].push_back(result);
  return parse(pool, batch);
}

ffi::Error chart(ffi::ThreadPool pool, ffi::Span<const int32_t> program, bool adds, int32_t want,
                 ffi::RemainingArgs args, ffi::RemainingRets rets) {
  const Want wanted = static_cast<Want>(want);
  if (args.get<ffi::AnyBuffer>(0)->element_type() == ffi::DataType::F64)
    return run<double>(pool, program, adds, wanted, args, rets);
  return run<float>(pool, program, adds, wanted, args, rets);
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
                                  .RemainingArgs()
                                  .RemainingRets());
