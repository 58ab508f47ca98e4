// The best instruction set of this processor for which the engine is compiled.
#include <cstdio>

extern "C" const char* structdep_instruction_set() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx2 && avx512 ? "avx512" : avx2 ? "avx2" : "baseline";
#else
  return "baseline";
#endif
}

#if defined(STRUCTDEP_PRINT)
int main() { std::fputs(structdep_instruction_set(), stdout); }
#endif
