// What XLA calls: values of charts, and how often scores are used, for all sentences of a batch.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory.h"
#include "parse.h"

namespace structdep {
namespace {

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
extern "C" size_t structdep_most_bytes() {
  return structdep::value_pool.most() + structdep::real_pool.most() + structdep::share_pool.most();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(structdep_chart, structdep::chart,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Attr<ffi::Span<const int32_t>>("program")
                                  .Attr<bool>("adds")
                                  .Attr<int32_t>("want")
                                  .Attr<int32_t>("arc")
                                  .RemainingArgs()
                                  .RemainingRets());
