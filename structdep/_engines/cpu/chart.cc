// What XLA calls: values of charts, and how often scores are used, for all sentences of a batch.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "memory.h"
#include "parse.h"

namespace structdep {
namespace {

using Axes = std::vector<int64_t>;

Kept<std::vector<int32_t>, Rules> known;

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
void run(ffi::ThreadPool& pool, const Rules& rules, bool adds, Want want, int arc, const Arrays& arrays) {
  Batch<T> batch{rules.program, adds, want};
  for (const Table& table : batch.program.tables) batch.has_arcs.push_back(has(table.scores, arc));
  const ffi::AnyBuffer values = arrays.result(0);
  const Axes results = in_front(values, 0);
  Axes parsed(results.size(), 1);  // the axes along which there is more to parse than one sentence
  const auto join = [&](const ffi::AnyBuffer& array, int own) {
    const Axes axes = in_front(array, own);
    for (size_t m = 0; m < axes.size(); ++m) parsed[m] = std::max(parsed[m], axes[m]);
  };
  const int scores = batch.program.scores.size();
  for (int score = 0; score < scores; ++score) {
    const ffi::AnyBuffer array = arrays.argument(score);
    const int own = batch.program.scores[score].positions;
    batch.scores.push_back(given<T>(array, own, results));
    batch.words = static_cast<int>(array.dimensions().back()) - 1 - batch.program.last;
    join(array, own);
  }
  const ffi::AnyBuffer lengths = arrays.argument(scores);
  batch.lengths = given<int32_t>(lengths, 0, results);
  join(lengths, 0);
  if (want == kSample) batch.seeds = given<uint32_t>(arrays.argument(scores + 1), 1, results);
  batch.values = reinterpret_cast<T*>(values.untyped_data());
  const int64_t count = values.element_count();
  if (arc >= 0) batch.heads = static_cast<int32_t*>(arrays.result(1).untyped_data());
  for (int score = 0; score < scores && want != kValue && arc < 0; ++score)
    batch.uses.push_back(static_cast<T*>(arrays.result(1 + score).untyped_data()));
  const Rows sentences(parsed, results);
  batch.results.resize(count ? sentences.size() : 0);
  for (int64_t result = 0; result < count; ++result) batch.results[sentences.of(result)].push_back(result);
  parse(pool, rules, batch);
}

ffi::Error chart(ffi::ThreadPool pool, ffi::Span<const int32_t> program, bool adds, int32_t want, int32_t arc,
                 ffi::RemainingArgs args, ffi::RemainingRets rets) try {
  const std::vector<int32_t> numbers(program.begin(), program.end());
  const auto rules = known.get(numbers, [&] { return std::make_shared<Rules>(numbers); });
  const Want wanted = static_cast<Want>(want);
  const Arrays arrays(args, rets);
  arrays.check(rules->program, wanted, arc);
  if (arrays.argument(0).element_type() == ffi::DataType::F64)
    run<double>(pool, *rules, adds, wanted, arc, arrays);
  else
    run<float>(pool, *rules, adds, wanted, arc, arrays);
  return ffi::Error::Success();
} catch (const NoMemory& error) {
  return ffi::Error(ffi::ErrorCode::kResourceExhausted,
                    "there is no memory for charts, which need " + std::to_string(error.bytes) +
                        " bytes more: parse shorter sentences, or fewer at once, or allow more (structdep.set_chart_memory)");
} catch (const std::bad_alloc&) {
  return ffi::Error(ffi::ErrorCode::kResourceExhausted, "there is no memory for charts: parse shorter sentences, or fewer at once");
} catch (const std::exception& error) {
  return ffi::Error(ffi::ErrorCode::kInvalidArgument, error.what());
}

}  // namespace
}  // namespace structdep

// The most bytes that charts have taken at once since this was asked last.
extern "C" size_t structdep_most_bytes() { return structdep::pool.most(); }

// Sets how many bytes all charts may take at once.
extern "C" void structdep_limit_memory(size_t bytes) { structdep::pool.limit(bytes); }

// Frees what is kept between calls. Returns how many bytes of charts that were.
extern "C" size_t structdep_free_memory() {
  structdep::known.clear();
  return structdep::pool.clear();
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
