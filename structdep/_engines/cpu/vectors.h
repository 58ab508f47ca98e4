// Vectors of numbers of cells beside each other, and their exponentials and logarithms.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#define STRUCTDEP_INLINE inline __attribute__((always_inline))

namespace structdep {

// Cells in a vector: as many numbers as an instruction takes.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif

template <typename T>
struct Types;
template <>
struct Types<float> {
  using Integer = int32_t;
  using Natural = uint32_t;
};
template <>
struct Types<double> {
  using Integer = int64_t;
  using Natural = uint64_t;
};

template <typename T>
using Integer = typename Types<T>::Integer;
// Where vectors are several registers, GCC takes them apart, and believes that the parts are not where the whole is, unless
// it is told that they may.
template <typename T>
struct Vectors {
  typedef T Number __attribute__((vector_size(kLanes * sizeof(T)), may_alias));
  typedef T Anywhere __attribute__((vector_size(kLanes * sizeof(T)), aligned(sizeof(T)), may_alias));
  typedef Integer<T> Whole __attribute__((vector_size(kLanes * sizeof(T)), may_alias));
  typedef typename Types<T>::Natural Natural __attribute__((vector_size(kLanes * sizeof(T)), may_alias));
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

// 2^x for x <= 0, or little more; 0 where that is hardly a normal number, and where x is none. Charts have logarithms of
// base 2, whose exponentials take fewer multiplications.
STRUCTDEP_INLINE Vec<float> exp2(Vec<float> x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to whole numbers
  const Vec<float> shifted = x + kRound;
  const Vec<float> rest = x - (shifted - kRound);
  Vec<float> p = rest * 1.326442346e-3f + 9.671487845e-3f;  // of 2^rest, |rest| <= 1/2: errors of 9e-8, none at 0
  p = p * rest + 5.550734699e-2f;
  p = p * rest + 2.402224243e-1f;
  p = p * rest + 6.931470037e-1f;
  p = p * rest + 1.0f;
  const Natural<float> scaled = bits<Natural<float>>(p) + (bits<Natural<float>>(shifted) << 23);
  return where<float>(x > -125.0f, bits<Vec<float>>(scaled));
}

STRUCTDEP_INLINE Vec<double> exp2(Vec<double> x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  const Vec<double> shifted = x + kRound;
  const Vec<double> rest = (x - (shifted - kRound)) * 0.69314718055994531;
  Vec<double> p = all(1.6059043836821613e-10);  // 1 / 13!
  constexpr double kFactors[] = {2.0876756987868099e-9, 2.5052108385441719e-8, 2.7557319223985891e-7,
                                 2.7557319223985893e-6, 2.4801587301587302e-5, 1.9841269841269841e-4,
                                 1.3888888888888889e-3, 8.3333333333333332e-3, 4.1666666666666664e-2,
                                 1.6666666666666666e-1, 0.5, 1.0, 1.0};
  for (double factor : kFactors) p = p * rest + factor;
  const Natural<double> scaled = bits<Natural<double>>(p) + (bits<Natural<double>>(shifted) << 52);
  return where<double>(x > -1021.0, bits<Vec<double>>(scaled));
}

// Logarithm, of base 2; of 0, -inf.
#if defined(__AVX512F__)
STRUCTDEP_INLINE Vec<float> log2(Vec<float> x) {
  // By sixteen parts of [1, 2): about the inverse of each, and its logarithm, less than which log2(1 + rest) is small.
  constexpr Vec<float> kInverse = {1.0f,         0.914285719f, 0.864864886f, 0.820512831f, 0.780487776f, 0.744186044f,
                                   0.711111128f, 0.680851042f, 0.653061211f, 0.627451003f, 0.603773594f, 0.581818163f,
                                   0.561403513f, 0.542372882f, 0.524590135f, 0.507936537f};
  constexpr Vec<float> kLog = {0.0f,         0.129283011f, 0.209453329f, 0.285402209f, 0.357552052f, 0.426264763f,
                               0.491853058f, 0.554588914f, 0.614709854f, 0.672425270f, 0.727920413f, 0.781359732f,
                               0.832889974f, 0.882643044f, 0.930737436f, 0.977279842f};
  const __m512 mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
  const __m512i part = _mm512_srli_epi32(_mm512_castps_si512(mantissa), 19);
  const Vec<float> whole = _mm512_getexp_ps(x) + _mm512_permutexvar_ps(part, kLog);
  const Vec<float> rest = mantissa * _mm512_permutexvar_ps(part, kInverse) - 1.0f;
  Vec<float> p = rest * -3.389175453e-1f + 4.808588940e-1f;  // of log2(1 + rest) / rest: errors of 4e-9
  p = p * rest - 7.213654177e-1f;
  p = p * rest + 1.442695120f;
  return p * rest + whole;
}
#else
STRUCTDEP_INLINE Vec<float> log2(Vec<float> x) {
  const Mask<float> raw = bits<Mask<float>>(x) - 0x3f3504f3;  // of sqrt(1/2)
  const Vec<float> exponent = __builtin_convertvector(raw >> 23, Vec<float>);
  const Vec<float> rest = bits<Vec<float>>((raw & 0x007fffff) + 0x3f3504f3) - 1.0f;
  Vec<float> p = rest * 1.256962399e-1f - 2.100604267e-1f;  // of log2(1 + rest) / rest: errors of 7e-9, hardly any at 0
  p = p * rest + 2.171332991e-1f;
  p = p * rest - 2.385506212e-1f;
  p = p * rest + 2.876938682e-1f;
  p = p * rest - 3.607201525e-1f;
  p = p * rest + 4.809206331e-1f;
  p = p * rest - 7.213471335e-1f;
  p = p * rest + 1.442694869f;
  return x > 0.0f ? p * rest + exponent : all(-kInf<float>);
}
#endif

STRUCTDEP_INLINE Vec<double> log2(Vec<double> x) {
  Vec<double> result;
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = std::log2(x[lane]);
  return result;
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
