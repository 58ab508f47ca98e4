// Vectors of numbers: as many as one instruction takes.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#define STRUCTDEP_INLINE inline __attribute__((always_inline))

namespace structdep {

// Numbers in a vector: its lanes.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

template <typename T>
using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Where vectors are several registers, GCC takes them apart, and believes that the parts are not where the whole is, unless
// it is told that they may.
template <typename T>
struct Vectors {
  typedef T Number __attribute__((vector_size(kLanes * sizeof(T)), may_alias));
  typedef T Anywhere __attribute__((vector_size(kLanes * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef Integer<T> Whole __attribute__((vector_size(kLanes * sizeof(T)), may_alias));
  typedef std::make_unsigned_t<Integer<T>> Natural __attribute__((vector_size(kLanes * sizeof(T)), may_alias));
};
#if defined(__AVX__)
template <>
struct Vectors<float> {  // one register; what a store may have changed is read again less often so
  typedef float Number __attribute__((vector_size(kLanes * sizeof(float))));
  typedef float Anywhere __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float))));
  typedef int32_t Whole __attribute__((vector_size(kLanes * sizeof(float))));
  typedef uint32_t Natural __attribute__((vector_size(kLanes * sizeof(float))));
};
#endif
template <typename T>
using Vec = typename Vectors<T>::Number;
template <typename T>
using Mask = typename Vectors<T>::Whole;
template <typename T>
using Natural = typename Vectors<T>::Natural;  // whole numbers that may overflow

template <typename T>
STRUCTDEP_INLINE Vec<T> load(const T* from) {
  return *reinterpret_cast<const typename Vectors<T>::Anywhere*>(from);
}

template <typename T>
STRUCTDEP_INLINE void store(T* to, Vec<T> x) {
  *reinterpret_cast<typename Vectors<T>::Anywhere*>(to) = x;
}

template <typename T>
constexpr T kInf = std::numeric_limits<T>::infinity();

template <typename T>
STRUCTDEP_INLINE Vec<T> all(T x) {
  return Vec<T>{} + x;
}

template <typename T>
STRUCTDEP_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}

// Bits of a vector as those of another type.
template <typename To, typename From>
STRUCTDEP_INLINE To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  union {
    From from;
    To to;
  } both{x};
  return both.to;
}

template <typename T>
STRUCTDEP_INLINE void add(T* to, Vec<T> x) {
  store(to, load(to) + x);
}

// x, or 0 where that is -inf: what exponents can be relative to.
template <typename T>
STRUCTDEP_INLINE Vec<T> finite(Vec<T> x) {
  return x == -kInf<T> ? Vec<T>{} : x;
}

// x where the mask is set, else 0.
template <typename T>
STRUCTDEP_INLINE Vec<T> where(Mask<T> mask, Vec<T> x) {
  return bits<Vec<T>>(bits<Mask<T>>(x) & mask);
}

template <typename T>
STRUCTDEP_INLINE bool none(Mask<T> mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(mask) == sizeof(__m512i))
    return !_mm512_test_epi32_mask(bits<__m512i>(mask), bits<__m512i>(mask));
#elif defined(__AVX__)
  if constexpr (sizeof(mask) == sizeof(__m256i)) return _mm256_testz_si256(bits<__m256i>(mask), bits<__m256i>(mask));
#endif
  Integer<T> any = 0;
  for (int lane = 0; lane < kLanes; ++lane) any |= mask[lane];
  return any == 0;
}

}  // namespace structdep
