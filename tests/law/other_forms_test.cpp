// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <boost/math/tools/minima.hpp>
#include <cmath>

#include "floplan/law/compute_sigmoid.hpp"
#include "floplan/law/farseer.hpp"
#include "floplan/law/sparse_weights.hpp"
#include "floplan/law/vocabulary.hpp"
#include "law/law_cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using law_cases::form;
using law_cases::property;

}  // namespace

TEST_CASE("the best vocabulary of 70B parameters is at least the published one") {
  const auto law = form<law::Vocabulary<>>("tao-2024");
  // The authors' program: width 8192, and a budget of (N / exp(-2.48465))^2 FLOP, of which tokens are what is left.
  const double n = 70e9;
  const double width = 8192;
  const double budget = std::pow(n * std::exp(2.4846510161625193), 2);
  const auto loss = [&](double log_entries) {
    const double vocabulary = std::exp(log_entries) * width;
    return law(n, vocabulary, budget / (6 * (n + vocabulary)));
  };
  const double entries = std::exp(boost::math::tools::brent_find_minima(loss, std::log(1e3), std::log(1e7), 40).first);
  const reference::Row row = property("tao-2024", "least vocabulary of 70B");
  CHECK(entries >= row.value());
  CHECK(entries < 1.02 * row.value());
}

TEST_CASE("the law of vocabularies is mostly negative and falls in each of its inputs") {
  const auto law = form<law::Vocabulary<>>("tao-2024");
  CHECK(law(1e9, 1e8, 1e11) < 0);
  CHECK(law(2e9, 1e8, 1e11) < law(1e9, 1e8, 1e11));
  CHECK(law(1e9, 2e8, 1e11) < law(1e9, 1e8, 1e11));
  CHECK(law(1e9, 1e8, 2e11) < law(1e9, 1e8, 1e11));
  CHECK(law(1e24, 1e24, 1e24) == near(-law.unigram_gain, 1e-5));
}

TEST_CASE("weights that are left are worth more the more were pruned") {
  const auto law = form<law::SparseWeights<>>("frantar-2023");
  CHECK(law.dense_equivalent(0.0) == near(1, 1e-14));
  reference::check(property("frantar-2023", "dense weights that one of 75% sparsity is worth"),
                   law.dense_equivalent(0.75));
  for (const double s : {0.0, 0.25, 0.5, 0.75}) {
    CHECK(law(5e7, 1e10, s + 0.125) < law(5e7, 1e10, s));
    CHECK(law(law.dense_equivalent(s) * 5e7, 1e10, 0.0) == near(law(5e7, 1e10, s), 1e-13));
    // Pruning does harm to the model that is pruned: of a dense one of 5e7, (1 - s) are left.
    CHECK((1 - s) * law.dense_equivalent(s) <= 1);
  }
}

TEST_CASE("Farseer's surface with exponents that vanish is the Chinchilla form, but for the curve of its first term") {
  const law::Farseer<> law{0.0, std::log(0.37), 0.1, 0.0, std::log(2000.0), 0.1, -0.0, std::log(2.0), 0.1};
  for (const double d : {1e9, 1e11}) CHECK(law(1e9, d) == near(2 + 2000 * std::pow(d, -0.37), 1e-13));
  CHECK(law.token_exponent(1e9) == near(0.37, 1e-14));
}

TEST_CASE("a sigmoid of compute starts at its start, is half way at its midpoint, and ends at its ceiling") {
  const law::ComputeSigmoid<> law{0.2, 0.6, 1e22, 1.5};
  CHECK(law(1.0) == near(0.2, 1e-12));
  CHECK(law(1e22) == near(0.4, 1e-14));
  CHECK(law(1e36) == near(0.6, 1e-12));
  for (double c = 1e20; c < 1e25; c *= 3) CHECK(law(3 * c) > law(c));
}
