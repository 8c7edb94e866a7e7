// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/precision.hpp"

#include <doctest/doctest.h>

#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/law/float_training.hpp"
#include "floplan/law/post_training_quantisation.hpp"
#include "floplan/law/quantisation_aware.hpp"
#include "law/law_cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using law_cases::form;
using law_cases::property;

}  // namespace

TEST_CASE("weights, keys and values of few bits leave the recomputed share of the parameters") {
  const auto law = form<law::Precision<>>("kumar-2024");
  reference::check(property("kumar-2024", "share left by 4-bit weights"), law.effective_share(4.0, 64.0, 64.0));
  reference::check(property("kumar-2024", "share left by 3-bit weights"), law.effective_share(3.0, 64.0, 64.0));
  reference::check(property("kumar-2024", "share left by 3-bit keys and values"), law.effective_share(64.0, 64.0, 3.0));
}

TEST_CASE("the best precision of all three together is the paper's 7 to 8 bits") {
  const auto law = form<law::Precision<>>("kumar-2024");
  // FLOP are worth their bits: what N D P buys at fixed D is N = C / P, of which the law counts the effective share.
  const auto waste = [&law](double bits) { return -law.effective_share(bits, bits, bits) / bits; };
  const auto found = boost::math::tools::brent_find_minima(waste, 3.2, 16.0, 40);
  reference::check(property("kumar-2024", "best bits of all three together"), found.first);
}

TEST_CASE("more bits lower the loss, towards that of the law without quantisation") {
  const auto law = form<law::Precision<>>("kumar-2024");
  for (double bits = 3.5; bits < 16; bits += 0.5) {
    CHECK(law(1e9, 2e10, bits + 1, 8.0, 8.0) < law(1e9, 2e10, bits, 8.0, 8.0));
    CHECK(law(1e9, 2e10, 8.0, bits + 1, 8.0) < law(1e9, 2e10, 8.0, bits, 8.0));
    CHECK(law(1e9, 2e10, 8.0, 8.0, bits + 1) < law(1e9, 2e10, 8.0, 8.0, bits));
  }
  CHECK(law.effective_share(64.0, 64.0, 64.0) == near(1, 1e-9));
  CHECK(law.section(64.0, 64.0, 64.0).parameter_coefficient == near(law.parameter_coefficient, 1e-9));
}

TEST_CASE("bits that leave no parameters are refused by name, and never give a number") {
  const auto law = form<law::Precision<>>("kumar-2024");
  const auto refused = [&law](double weight, double activation, double kv) {
    return thrown::by([&] { law::check(law, std::vector<double>{1e9, 2e10, weight, activation, kv}, "test"); });
  };
  CHECK(thrown::says(refused(0.8, 8, 8), "weight_bits must be above 0.812"));
  CHECK(thrown::says(refused(8, 3, 8), "activation_bits must be above 3.11"));
  CHECK(thrown::says(refused(8, 3, 8), "got 3"));
  CHECK(thrown::says(refused(8, 8, 2), "kv_bits must be above 2.32"));
  CHECK(refused(0.5, 3, 2).failure() == Failure::usage);
  CHECK_NOTHROW(law::check(law, std::vector<double>{1e9, 2e10, 0.9, 3.2, 2.4}, "test"));
  CHECK(std::isnan(law(1e9, 2e10, 8.0, 3.0, 8.0)));
  // Two negative factors make a positive product.
  CHECK(std::isnan(law(1e9, 2e10, 8.0, 3.0, 2.0)));
}

TEST_CASE("rounding after training costs more after more tokens, less for larger models, less with more bits") {
  for (const std::string name : {"kumar-2024-ptq", "kumar-2024-ptq-printed"}) {
    const auto law = form<law::PostTrainingQuantisation<>>(name);
    CHECK(law(1e9, 2e11, 4.0) > law(1e9, 1e11, 4.0));
    CHECK(law(2e9, 1e11, 4.0) < law(1e9, 1e11, 4.0));
    CHECK(law(1e9, 1e11, 5.0) < law(1e9, 1e11, 4.0));
  }
  reference::check(property("kumar-2024-ptq", "factor of the offset after training"),
                   form<law::PostTrainingQuantisation<>>("kumar-2024-ptq")(1e9, 1e11, 4.0) /
                       form<law::PostTrainingQuantisation<>>("kumar-2024-ptq-printed")(1e9, 1e11, 4.0));
}

TEST_CASE("a float's loss has its lowest point at the critical tokens, which grow with bits and model") {
  const auto law = form<law::FloatTraining<>>("sun-2025");
  for (const double n : {1e8, 1e9, 1e10}) {
    const double critical = law.critical_tokens(n, 2.0, 1.0, 32.0);
    const double best = law(n, critical, 2.0, 1.0, 32.0);
    CHECK(law(n, 0.9 * critical, 2.0, 1.0, 32.0) > best);
    CHECK(law(n, 1.1 * critical, 2.0, 1.0, 32.0) > best);
    CHECK(law.critical_tokens(2 * n, 2.0, 1.0, 32.0) > critical);
    CHECK(law.critical_tokens(n, 4.0, 3.0, 32.0) > critical);
    CHECK(law.critical_tokens(n, 2.0, 1.0, 128.0) < critical);
  }
}

TEST_CASE("blocks of one value cost nothing, and bits are best split as the law says, exponents a little ahead") {
  const auto law = form<law::FloatTraining<>>("sun-2025");
  const auto chinchilla = law::Chinchilla<>{law.irreducible_loss, law.parameter_coefficient, law.token_coefficient,
                                            law.parameter_exponent, law.token_exponent};
  CHECK(law(1e9, 1e11, 2.0, 1.0, 1.0) == near(chinchilla(1e9, 1e11), 1e-14));
  for (const double bits : {4.0, 6.0, 8.0}) {
    const double mantissa = law.best_mantissa_bits(bits);
    const double best = law(1e9, 1e11, bits - 1 - mantissa, mantissa, 128.0);
    CHECK(law(1e9, 1e11, bits - 1 - (mantissa + 0.1), mantissa + 0.1, 128.0) > best);
    CHECK(law(1e9, 1e11, bits - 1 - (mantissa - 0.1), mantissa - 0.1, 128.0) > best);
    CHECK(mantissa < bits - 1 - mantissa);
  }
}

TEST_CASE("training for 4 bits costs less for larger models and finer groups, and slowly more with tokens") {
  for (const std::string name : {"chen-2025-w4a4", "chen-2025-w4a16", "chen-2025-w16a4", "chen-2025-w4a4-fc2-8bit",
                                 "chen-2025-w16a4-fc2-8bit"}) {
    CAPTURE(name);
    const auto law = form<law::QuantisationAware<>>(name);
    CHECK(law(2e9, 1e11, 128.0) < law(1e9, 1e11, 128.0));
    CHECK(law(1e9, 1e11, 32.0) < law(1e9, 1e11, 128.0));
    CHECK(law(1e9, 2e11, 128.0) > law(1e9, 1e11, 128.0));
    CHECK(law(1e9, 2e11, 128.0) < 1.13 * law(1e9, 1e11, 128.0));
  }
  CHECK(form<law::QuantisationAware<>>("chen-2025-w4a4-fc2-8bit")(5e8, 5e10, 128.0) <
        form<law::QuantisationAware<>>("chen-2025-w4a4")(5e8, 5e10, 128.0));
}
