// Parses by programs in several threads at once, for the thread sanitizer (make sanitize): threads.cc PROGRAM...
#include <cstdio>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "parse.cc"

using namespace structdep;

namespace {

constexpr int kCallers = 4, kThreads = 3, kSentences = 20, kWords = 9;

std::mutex mutex;
std::vector<std::thread> tasks;

XLA_FFI_Error* schedule(XLA_FFI_ThreadPool_Schedule_Args* args) {
  const std::lock_guard<std::mutex> lock(mutex);
  tasks.emplace_back(args->task, args->data);
  return nullptr;
}

XLA_FFI_Error* count(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  *args->num_threads = kThreads;
  return nullptr;
}

// The values of some sentences, whatever else the query asks for.
std::vector<float> values(ffi::ThreadPool& pool, const LoadedProgram& loaded, Query query, bool adds) {
  const Program& program = loaded.program;
  Batch<float> batch{program, adds, query, kWords};
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> scores, counts;
  for (size_t m = 0; m < program.scores.size(); ++m) {
    std::vector<float>& own = scores.emplace_back(kSentences * batch.size_of(m));
    for (float& score : own) score = normal(random);
    counts.emplace_back(own.size());
  }
  for (size_t m = 0; m < scores.size(); ++m) {
    batch.scores.push_back({scores[m].data(), Rows({kSentences}, {kSentences})});
    if (query != Query::kValue) batch.counts.push_back(counts[m].data());
  }
  const std::vector<uint32_t> seeds(2 * kSentences, 5);
  std::vector<int32_t> lengths(kSentences);
  for (int m = 0; m < kSentences; ++m) lengths[m] = m % (kWords + 1), batch.results.push_back({m});
  batch.lengths = {lengths.data(), Rows({kSentences}, {kSentences})};
  batch.seeds = {seeds.data(), Rows({kSentences}, {kSentences})};
  batch.has_arcs.resize(program.tables.size());
  std::vector<float> result(kSentences);
  batch.values = result.data();
  parse(pool, loaded, batch);
  return result;
}

std::vector<int32_t> read(const char* name) {
  std::ifstream file(name, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<int32_t> numbers(bytes.size() / sizeof(int32_t));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(numbers.data()));
  return numbers;
}

}  // namespace

int main(int size, char** names) {
  XLA_FFI_Api api{};
  api.XLA_FFI_ThreadPool_Schedule = schedule, api.XLA_FFI_ThreadPool_NumThreads = count;
  ffi::DiagnosticEngine diagnostic;
  ffi::ThreadPool threads = *ffi::CtxDecoding<ffi::ThreadPool>::Decode(&api, nullptr, diagnostic);
  Cache<std::vector<int32_t>, LoadedProgram> programs;
  int wrong = 0;
  for (int m = 1; m < size; ++m) {
    const std::vector<int32_t> numbers = read(names[m]);
    for (const bool adds : {false, true})
      for (const Query query : {Query::kValue, Query::kExpectedCounts, Query::kBest, Query::kSample}) {
        if ((query == Query::kExpectedCounts || query == Query::kSample) && !adds) continue;
        std::vector<std::vector<float>> found(kCallers);
        std::vector<std::thread> callers;
        for (std::vector<float>& own : found)
          callers.emplace_back([&] {
            own = values(threads, *programs.get(numbers, [&] { return std::make_shared<LoadedProgram>(numbers); }), query, adds);
            memory_pool.clear();
          });
        for (std::thread& caller : callers) caller.join();
        for (const std::vector<float>& own : found) wrong += own != found[0];
      }
    for (std::thread& task : tasks) task.join();
    tasks.clear();
    std::printf("%s: %s\n", names[m], wrong ? "threads differ" : "threads agree");
  }
  return wrong != 0;
}
