// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/moments.hpp"
#include "support/reference.hpp"

namespace {

using floplan::RandomStream;

static_assert(std::uniform_random_bit_generator<RandomStream>);
static_assert(RandomStream::min() == 0 && RandomStream::max() == 0xFFFFFFFF);

std::uint32_t word(const reference::Row& row, const std::string& column) {
  const std::string text = row.text(column);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  REQUIRE(error == std::errc());
  REQUIRE(end == text.data() + text.size());
  return value;
}

std::vector<std::uint32_t> first_words(RandomStream stream, std::size_t count) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(stream());
  return out;
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the published known answers") {
  for (const reference::Row& row : reference::rows("philox.csv")) {
    CAPTURE(row.name());
    const auto block = RandomStream::block(
        {word(row, "counter0"), word(row, "counter1"), word(row, "counter2"), word(row, "counter3")},
        {word(row, "key0"), word(row, "key1")});
    CHECK(block == std::array{word(row, "word0"), word(row, "word1"), word(row, "word2"), word(row, "word3")});
  }
}

TEST_CASE("stream 0 under seed 0 begins with the known answer of counter and key zero") {
  const reference::Row row = reference::row("philox.csv", "zero");
  const auto words = first_words(RandomStream(0), 4);
  CHECK(words == std::vector{word(row, "word0"), word(row, "word1"), word(row, "word2"), word(row, "word3")});
}

TEST_CASE("a number depends on seed, stream and position alone, in whatever order streams are drawn") {
  std::vector<std::vector<std::uint32_t>> expected;
  for (std::uint64_t i = 0; i < 8; ++i) expected.push_back(first_words(RandomStream(42, i), 11));
  std::vector<RandomStream> streams;
  for (std::uint64_t i = 0; i < 8; ++i) streams.emplace_back(42, i);
  std::vector<std::vector<std::uint32_t>> drawn(8);
  for (std::size_t k = 0; k < 11; ++k) {
    for (std::size_t i = 8; i-- > 0;) drawn[i].push_back(streams[i]());
  }
  CHECK(drawn == expected);
}

TEST_CASE("all 64 bits of seed and stream count") {
  const auto base = first_words(RandomStream(1, 1), 4);
  for (int bit = 0; bit < 64; ++bit) {
    CAPTURE(bit);
    const std::uint64_t flip = std::uint64_t{1} << bit;
    CHECK(first_words(RandomStream(1 ^ flip, 1), 4) != base);
    CHECK(first_words(RandomStream(1, 1 ^ flip), 4) != base);
  }
  CHECK(first_words(RandomStream(1, 2), 4) != first_words(RandomStream(2, 1), 4));
}

TEST_CASE("uniform lies strictly between 0 and 1 with mean 1/2 and variance 1/12") {
  RandomStream random(3);
  std::vector<double> sample(200000);
  bool inside = true;
  for (double& x : sample) {
    x = random.uniform();
    inside = inside && x > 0 && x < 1;
  }
  CHECK(inside);
  const Moments m = moments(sample);
  CHECK(std::abs(m.mean - 0.5) <= 4 * m.mean_error);
  CHECK(std::abs(m.standard_deviation - std::sqrt(1.0 / 12)) <= 4 * m.deviation_error);
}

TEST_CASE("uniform's ends are inside the interval even for the extreme words") {
  CHECK(RandomStream::uniform_of(0, 0) > 0);
  CHECK(RandomStream::uniform_of(0xFFFFFFFF, 0xFFFFFFFF) < 1);
  CHECK(RandomStream::uniform_of(0, 0) == 1 - RandomStream::uniform_of(0xFFFFFFFF, 0xFFFFFFFF));
}

TEST_CASE("uniform fills the interval evenly") {
  RandomStream random(4, 17);
  constexpr int cells = 100;
  constexpr int draws = 100000;
  std::vector<double> counts(cells);
  for (int i = 0; i < draws; ++i) counts[static_cast<std::size_t>(random.uniform() * cells)] += 1;
  double chi_square = 0;
  for (const double count : counts) {
    const double expected = static_cast<double>(draws) / cells;
    chi_square += (count - expected) * (count - expected) / expected;
  }
  // Chi-square with 99 degrees of freedom: mean 99, standard deviation sqrt(198).
  CHECK(std::abs(chi_square - 99) <= 4 * std::sqrt(198.0));
}

TEST_CASE("neighbouring streams and seeds are not correlated") {
  constexpr int draws = 20000;
  const auto correlation = [](RandomStream a, RandomStream b) {
    double sum = 0;
    for (int i = 0; i < draws; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
    return 12 * sum / draws;
  };
  const double allowed = 4 / std::sqrt(static_cast<double>(draws));
  for (std::uint64_t i = 0; i < 10; ++i) {
    CHECK(std::abs(correlation(RandomStream(5, i), RandomStream(5, i + 1))) <= allowed);
    CHECK(std::abs(correlation(RandomStream(i, 5), RandomStream(i + 1, 5))) <= allowed);
  }
  RandomStream one(6);
  double sum = 0;
  double previous = one.uniform();
  for (int i = 0; i < draws; ++i) {
    const double next = one.uniform();
    sum += (previous - 0.5) * (next - 0.5);
    previous = next;
  }
  CHECK(std::abs(12 * sum / draws) <= allowed);
}

TEST_CASE("below draws every value of a small range equally often") {
  RandomStream random(8);
  for (const std::uint32_t count : {1U, 2U, 3U, 7U, 10U}) {
    CAPTURE(count);
    constexpr int draws = 70000;
    std::vector<double> seen(count);
    for (int i = 0; i < draws; ++i) {
      const std::uint32_t x = random.below(count);
      REQUIRE(x < count);
      seen[x] += 1;
    }
    const double expected = static_cast<double>(draws) / count;
    double chi_square = 0;
    for (const double n : seen) chi_square += (n - expected) * (n - expected) / expected;
    const double freedom = count - 1.0;
    CHECK(std::abs(chi_square - freedom) <= 4.5 * std::sqrt(2 * freedom + 1));
  }
}

// A remainder of 2^32 by 3 x 2^30 would favour the lowest third two to one, and a product without Lemire's rejection every
// third value.
TEST_CASE("below is unbiased where a remainder or a bare product is not") {
  constexpr std::uint32_t count = 3U << 30;
  RandomStream random(9);
  std::array<double, 3> thirds{};
  std::array<double, 3> residues{};
  constexpr int draws = 60000;
  for (int i = 0; i < draws; ++i) {
    const std::uint32_t x = random.below(count);
    REQUIRE(x < count);
    thirds[x >> 30] += 1;
    residues[x % 3] += 1;
  }
  const double allowed = 4 * std::sqrt(draws * 2.0 / 9);
  for (const double n : thirds) CHECK(std::abs(n - draws / 3.0) <= allowed);
  for (const double n : residues) CHECK(std::abs(n - draws / 3.0) <= allowed);
}
