// Powers of two, and logarithms of base 2, of vectors.
#pragma once

#include <cmath>

#include "vectors.h"

namespace structdep {

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

STRUCTDEP_INLINE Vec<double> log2(Vec<double> x) {
  Vec<double> result;
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = std::log2(x[lane]);
  return result;
}

}  // namespace structdep
