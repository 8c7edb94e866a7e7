// SPDX-License-Identifier: BSD-3-Clause
//
// Random numbers that are the same at any thread count and on any machine.
//
// RandomStream is Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as
// easy as 1, 2, 3"): number k of stream i under seed s is a pure function of (s, i, k). Replicate i of a simulation takes
// RandomStream(seed, i); nothing is shared and nothing is skipped ahead. It is a uniform random bit generator of 32-bit
// words and so drives Boost.Random's distributions, whose algorithms are fixed (std:: ones differ between libraries).
//
// Range: 2^64 streams a seed, 2^64 blocks of four words a stream.
// Pitfall: two uses of one stream index under one seed are the same numbers, not independent ones; give each purpose
// its own seed or its own range of indices.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace floplan {

class RandomStream {
 public:
  using result_type = std::uint32_t;

  explicit constexpr RandomStream(std::uint64_t seed, std::uint64_t stream = 0)
      : key_{low(seed), high(seed)}, stream_(stream) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  constexpr result_type operator()() {
    if (used_ == 4) {
      words_ = block({low(counter_), high(counter_), low(stream_), high(stream_)}, key_);
      ++counter_;
      used_ = 0;
    }
    return words_[used_++];
  }

  // Uniform on (0, 1): 52 bits, never 0 or 1, so that a logarithm or a quantile of it is finite.
  constexpr double uniform() {
    const result_type first = (*this)();
    return uniform_of(first, (*this)());
  }
  // The centres of 2^52 equal cells; with 53 bits the last centre would round to 1. Public for the tests of its ends.
  static constexpr double uniform_of(result_type first, result_type second) {
    return (static_cast<double>((std::uint64_t{first} >> 6) * 67108864 + (second >> 6)) + 0.5) / 4503599627370496.0;
  }

  // Uniform on 0 .. count-1 without bias (Lemire 2019: multiply, and reject the few words that would favour low values).
  // count must be at least 1.
  constexpr std::uint32_t below(std::uint32_t count) {
    std::uint64_t product = std::uint64_t{(*this)()} * count;
    if (low(product) < count) {
      const std::uint32_t floor = (0U - count) % count;
      while (low(product) < floor) product = std::uint64_t{(*this)()} * count;
    }
    return high(product);
  }

  // The block function itself, ten rounds; exposed for the published test vectors.
  static constexpr std::array<std::uint32_t, 4> block(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1], low(p0)};
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    return counter;
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
  static constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

  std::array<std::uint32_t, 2> key_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> words_{};
  unsigned used_ = 4;
};

}  // namespace floplan
