// SPDX-License-Identifier: BSD-3-Clause
//
// Eight doubles at a time: the exponential and the logarithm that every loss of a fit needs, without a library call.
//
//   exp_pack(x, out)   x in [-700, 700]                     error below 1 ulp
//   log_pack(x, out)   x positive, finite, not subnormal    error below 1 ulp, relative, also near 1
//
// exp: x = k ln 2 + r, |r| <= ln 2 / 2, Taylor series of e^r to r^13 (remainder 4e-18), k added to the exponent's bits.
// log: x = 2^k m, m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh(s) with s = (m - 1) / (m + 1), series to s^21 (remainder
// 2e-18 of ln m). Both are textbook reductions (Muller, "Elementary Functions", 2016, chapters 9 and 11).
//
// Only + - * / and integer operations are used, lane by lane, so a lane's bits are the same on every machine, compiler
// and vector width as long as the compiler may not contract a * b + c (-ffp-contract=off).
//
// Pitfall: no range is checked here; outside it the bits are nonsense, not inf or nan. Packs are passed by reference
// because a 64-byte vector by value has no stable calling convention without AVX-512.
#pragma once

#include <cstddef>
#include <cstring>

namespace floplan::fit::detail {

inline constexpr std::size_t pack_size = 8;

using Pack = double __attribute__((vector_size(64)));
using PackBits = long long __attribute__((vector_size(64)));

inline void load_pack(const double* from, Pack& out) { std::memcpy(&out, from, sizeof out); }
inline void store_pack(const Pack& x, double* to) { std::memcpy(to, &x, sizeof x); }

[[gnu::always_inline]] inline void exp_pack(const Pack& x, Pack& out) {
  constexpr double shifter = 6755399441055744.0;     // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
  constexpr double ln2_high = 0x1.62e42fee00000p-1;  // 32 bits, so that k * ln2_high is exact
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  const Pack shifted = x * 0x1.71547652b82fep+0 + shifter;
  const Pack k = shifted - shifter;
  const Pack r = (x - k * ln2_high) - k * ln2_low;
  // Estrin's scheme: short dependency chains; the two leading terms are added last to keep the rounding below one ulp.
  const Pack r2 = r * r;
  const Pack r4 = r2 * r2;
  const Pack a = (r * (1.0 / 6) + 0.5) + r2 * (r * (1.0 / 120) + 1.0 / 24);
  const Pack b = (r * (1.0 / 5040) + 1.0 / 720) + r2 * (r * (1.0 / 362880) + 1.0 / 40320);
  const Pack c = (r * (1.0 / 39916800) + 1.0 / 3628800) + r2 * (r * (1.0 / 6227020800) + 1.0 / 479001600);
  const Pack series = 1.0 + (r + r2 * (a + r4 * (b + r4 * c)));
  // The low bits of `shifted` hold k; moving them to the exponent field multiplies by 2^k.
  out = (Pack)((PackBits)series + ((PackBits)shifted << 52));
}

[[gnu::always_inline]] inline void log_pack(const Pack& x, Pack& out) {
  constexpr double ln2_high = 0x1.62e42fee00000p-1;
  constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  constexpr long long sqrt_half_bits = 0x3fe6a09e667f3bcd;
  constexpr long long shifter_bits = 0x4338000000000000;  // of 1.5 * 2^52
  const PackBits bits = (PackBits)x;
  const PackBits k = (bits - sqrt_half_bits) >> 52;
  const Pack m = (Pack)(bits - (k << 52));
  const Pack kd = (Pack)(k + shifter_bits) - 6755399441055744.0;
  const Pack f = m - 1.0;
  const Pack s = f / (2.0 + f);
  const Pack z = s * s;
  const Pack z2 = z * z;
  const Pack z4 = z2 * z2;
  const Pack low = (z * (2.0 / 5) + 2.0 / 3) + z2 * (z * (2.0 / 9) + 2.0 / 7);
  const Pack middle = (z * (2.0 / 13) + 2.0 / 11) + z2 * (z * (2.0 / 17) + 2.0 / 15);
  const Pack high = z * (2.0 / 21) + 2.0 / 19;
  const Pack series = z * (low + z4 * (middle + z4 * high));
  // ln m = f - s (f - series): the exact f leads, so the result keeps its relative accuracy as m -> 1.
  out = kd * ln2_high + (f - (s * (f - series) - kd * ln2_low));
}

// Lanes are added in one fixed order, so that a sum has the same bits wherever it is taken.
[[nodiscard]] inline double sum_of_pack(const Pack& x) {
  double lane[pack_size];
  store_pack(x, lane);
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

}  // namespace floplan::fit::detail
