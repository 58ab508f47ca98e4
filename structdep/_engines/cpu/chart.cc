// What XLA calls: the answers of a query for all sentences of a batch.
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

Cache<std::vector<int32_t>, LoadedProgram> programs;

// The axes of an array without those of a sentence.
std::vector<int64_t> axes_in_front(const ffi::AnyBuffer& array, int own) {
  const auto axes = array.dimensions();
  return {axes.begin(), axes.end() - own};
}

template <typename T>
void run(ffi::ThreadPool& pool, const LoadedProgram& loaded, bool adds, Query query, int arc, const Arrays& arrays) {
  Batch<T> batch{loaded.program, adds, query};
  const int scores = batch.program.scores.size();
  const ffi::AnyBuffer values = arrays.result(0);
  const std::vector<int64_t> results = axes_in_front(values, 0);
  std::vector<int64_t> parsed(results.size(), 1);  // the axes along which there is more to parse than one sentence
  const auto give = [&](auto& given, size_t argument, int own, bool joins = true) {
    const ffi::AnyBuffer array = arrays.argument(argument);
    const std::vector<int64_t> axes = axes_in_front(array, own);
    given = {reinterpret_cast<decltype(given.data)>(array.untyped_data()), Rows(axes, results)};
    for (size_t m = 0; m < axes.size() && joins; ++m) parsed[m] = std::max(parsed[m], axes[m]);
  };
  batch.words = static_cast<int>(arrays.argument(0).dimensions().back()) - 1 - batch.program.last;
  for (int score = 0; score < scores; ++score) give(batch.scores.emplace_back(), score, batch.program.scores[score].positions);
  give(batch.lengths, scores, 0);
  if (query == Query::kSample) give(batch.seeds, scores + 1, 1, false);
  batch.values = reinterpret_cast<T*>(values.untyped_data());
  if (arc >= 0) batch.heads = static_cast<int32_t*>(arrays.result(1).untyped_data());
  for (int score = 0; score < scores && query != Query::kValue && arc < 0; ++score)
    batch.counts.push_back(static_cast<T*>(arrays.result(1 + score).untyped_data()));
  for (const Table& table : batch.program.tables)
    batch.has_arcs.push_back(std::find(table.scores.begin(), table.scores.end(), arc) != table.scores.end());
  const Rows sentences(parsed, results);
  const int64_t count = values.element_count();
  batch.results.resize(count ? sentences.size() : 0);
  for (int64_t result = 0; result < count; ++result) batch.results[sentences.of(result)].push_back(result);
  parse(pool, loaded, batch);
}

ffi::Error chart(ffi::ThreadPool pool, ffi::Span<const int32_t> program, bool adds, int32_t want, int32_t arc,
                 ffi::RemainingArgs args, ffi::RemainingRets rets) try {
  const std::vector<int32_t> numbers(program.begin(), program.end());
  const auto loaded = programs.get(numbers, [&] { return std::make_shared<LoadedProgram>(numbers); });
  const Query query = static_cast<Query>(want);
  const Arrays arrays(args, rets);
  arrays.check(loaded->program, query, arc);
  const bool is_double = arrays.argument(0).element_type() == ffi::DataType::F64;
  (is_double ? run<double> : run<float>)(pool, *loaded, adds, query, arc, arrays);
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
extern "C" size_t structdep_most_bytes() { return structdep::memory_pool.most(); }

// Sets how many bytes all charts may take at once.
extern "C" void structdep_limit_memory(size_t bytes) { structdep::memory_pool.limit(bytes); }

// Frees what is kept between calls. Returns how many bytes of charts that were.
extern "C" size_t structdep_free_memory() {
  structdep::programs.clear();
  return structdep::memory_pool.clear();
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
