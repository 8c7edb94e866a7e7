// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/recovery.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/csv.hpp"

using namespace floplan;
using fit::RecoveryVerdict;

namespace {

void check_none_missed(const std::vector<law::Chinchilla<double>>& laws, const fit::ChinchillaOptions& options,
                       double least_recovered) {
  std::size_t recovered = 0;
  for (const fit::RecoveryReport& one : fit::recover(laws, options, 2)) {
    const law::Chinchilla<double>& l = one.planted;
    INFO("E " << l.irreducible_loss << " A " << l.parameter_coefficient << " B " << l.token_coefficient << " alpha "
              << l.parameter_exponent << " beta " << l.token_exponent << ": error " << one.error << ", possible "
              << one.possible << " " << one.reason);
    CHECK(one.verdict() != RecoveryVerdict::missed);
    recovered += one.verdict() == RecoveryVerdict::recovered ? 1 : 0;
  }
  CHECK(static_cast<double>(recovered) >= least_recovered * static_cast<double>(laws.size()));
}

}  // namespace

TEST_CASE("planted laws are found to 1e-8 wherever rounding of the losses allows it") {
  const std::vector<law::Chinchilla<double>> all = fit::recovery_lattice();
  REQUIRE(all.size() == 784);
  std::vector<law::Chinchilla<double>> some;
  for (std::size_t i = 0; i < all.size(); i += 5) some.push_back(all[i]);
  check_none_missed(some, {}, 0.97);
}

TEST_CASE("the law is also found where E is a ten-thousandth of the losses and small exponents are nearly alike") {
  std::vector<law::Chinchilla<double>> laws;
  const CsvTable table = fit_data::reference("narrow_valleys.csv");
  for (const CsvRow row : table.rows()) {
    const auto number = [&](const char* column) { return fit_data::number(row[table.column(column)]); };
    laws.push_back({number("E"), number("A"), number("B"), number("alpha"), number("beta")});
  }
  for (const fit::Loss loss : {fit::Loss::huber, fit::Loss::least_squares}) {
    fit::ChinchillaOptions options;
    options.estimator.loss = loss;
    check_none_missed(laws, options, 0.8);
  }
}

TEST_CASE("what rounding allows is worse where terms cannot be told apart, and a law beyond it is out of reach") {
  const law::Chinchilla<double> usual{1.72, 480, 2100, 0.35, 0.37};
  const fit::RecoveryReport easy = fit::recovery(usual);
  CHECK(easy.verdict() == RecoveryVerdict::recovered);
  CHECK(easy.possible < 1e-11);
  // A hundredth as far as the error that it allows.
  CHECK(easy.verdict(easy.error / 100) != RecoveryVerdict::recovered);
  const fit::RecoveryReport hard = fit::recovery({1.72, 1, 1e7, 1, 0.05});
  CHECK(hard.possible > 1000 * easy.possible);
}
