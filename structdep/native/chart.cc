// What XLA calls: values of charts, and how often scores are used, for all sentences of a batch.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
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

template <typename T>
struct Batch {
  Program program;
  bool adds;
  Want want;
  int words;  // that there is room for
  std::vector<const T*> scores;
  const int32_t* lengths;
  const uint32_t* seeds;
  T* values;
  std::vector<T*> uses;

  size_t nodes() const { return words + 1 + program.last; }
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
  Group(const Batch<T>& batch, const int* rows, int count)
      : batch_(batch), rows_(rows), count_(count), chart_(batch.program, widest(), batch.adds, batch.want >= kBest, batch.want == kUses) {}

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
    for (int lane = 0; lane < count_; ++lane) words = std::max(words, batch_.lengths[rows_[lane]]);
    return std::min(words, batch_.words) + 1 + batch_.program.last;
  }

  const T* scores(int number, int lane) const {
    return batch_.scores[number] + batch_.size_of(number) * rows_[lane];
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
    const int row = rows_[lane];
    if (unsound_[lane]) {
      batch_.values[row] = std::numeric_limits<T>::quiet_NaN();
      return;
    }
    Sentence<T> sentence(chart_, lane, batch_.lengths[row]);
    const T value = batch_.values[row] = sentence.value(batch_.adds);
    if (batch_.want == kValue || !std::isfinite(value)) return;
    if (batch_.want == kUses) return sentence.share(value);
    std::unique_ptr<Random> random;
    if (batch_.want == kSample) {
      const uint64_t high = batch_.seeds[2 * row], low = batch_.seeds[2 * row + 1];
      random = std::make_unique<Random>(high << 32 | low);
    }
    sentence.trace(random.get(), [&](const Table& table, const Factor& factor, const Nodes& nodes) {
      size_t place = 0;
      for (const Place& p : factor.places) place = place * batch_.nodes() + p.of(nodes);
      for (int score : table.scores) batch_.uses[score][batch_.size_of(score) * row + place] += 1;
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
          for (int score : table.scores) {
            T* const to = batch_.uses[score] + batch_.size_of(score) * rows_[lane] + start;
            for (size_t n = 0; n < size; ++n) to[n] += from[n * kLanes];
          }
        }
        std::fill_n(shares + place, size, Vec<T>{});
      });
    }
  }

  const Batch<T>& batch_;
  const int* rows_;
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
ffi::Error parse(ffi::ThreadPool& pool, Batch<T>& batch, int sentences) {
  for (size_t score = 0; score < batch.uses.size(); ++score)
    std::fill_n(batch.uses[score], batch.size_of(score) * sentences, T{0});
  std::vector<int> rows(sentences);
  std::iota(rows.begin(), rows.end(), 0);  // those of like length beside each other, the longest first
  std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) { return batch.lengths[a] > batch.lengths[b]; });
  in_threads(pool, (sentences + kLanes - 1) / kLanes, [&](int number) {
    const FlushToZero scope;
    const int first = number * kLanes;
    Group<T>(batch, rows.data() + first, std::min(kLanes, sentences - first)).parse();
  });
  return ffi::Error::Success();
}

template <typename T>
ffi::Error run(ffi::ThreadPool& pool, ffi::Span<const int32_t> numbers, bool adds, Want want, ffi::RemainingArgs& args,
               ffi::RemainingRets& rets) {
  Batch<T> batch;
  batch.program = ProgramReader(numbers.begin()).program();
  batch.adds = adds, batch.want = want;
  const int scores = batch.program.scores.size();
  for (int score = 0; score < scores; ++score)
    batch.scores.push_back(reinterpret_cast<const T*>(args.get<ffi::AnyBuffer>(score)->untyped_data()));
  const auto dimensions = args.get<ffi::AnyBuffer>(0)->dimensions();
  batch.words = static_cast<int>(dimensions.back()) - 1 - batch.program.last;
  const auto lengths = args.get<ffi::AnyBuffer>(scores);
  batch.lengths = reinterpret_cast<const int32_t*>(lengths->untyped_data());
  if (want == kSample)
    batch.seeds = reinterpret_cast<const uint32_t*>(args.get<ffi::AnyBuffer>(scores + 1)->untyped_data());
  batch.values = reinterpret_cast<T*>((*rets.get<ffi::AnyBuffer>(0))->untyped_data());
  for (size_t m = 1; m < rets.size(); ++m)
    batch.uses.push_back(reinterpret_cast<T*>((*rets.get<ffi::AnyBuffer>(m))->untyped_data()));
  return parse(pool, batch, static_cast<int>(lengths->element_count()));
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
