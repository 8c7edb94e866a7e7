// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "floplan/fit/allocation.hpp"
#include "floplan/law/experts.hpp"
#include "floplan/law/granularity.hpp"
#include "floplan/law/joint_moe.hpp"
#include "floplan/law/leverage.hpp"
#include "floplan/law/routed.hpp"
#include "floplan/law/saturation.hpp"
#include "floplan/law/sparsity.hpp"
#include "law/law_cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using law_cases::form;
using law_cases::property;
using law_cases::rounding_slack;

}  // namespace

TEST_CASE("a saturated count runs from its start to its maximum") {
  CHECK(law::saturated(0.0, 1.8, 300.0) == near(1.8, 1e-14));
  CHECK(law::saturated(1e12, 1.8, 300.0) == near(300, 1e-6));
  double last = 0;
  for (double x = 0; x < 1e4; x = 2 * x + 1) {
    const double y = law::saturated(x, 1.8, 300.0);
    CHECK(y > last);
    CHECK(y <= x + 1.9);
    last = y;
  }
}

TEST_CASE("effective experts are those of the papers") {
  const auto clark = form<law::Routed<>>("clark-2022");
  for (const int experts : {1, 64, 128}) {
    reference::check(property("clark-2022", "effective experts of " + std::to_string(experts)),
                     clark.effective_experts(static_cast<double>(experts)));
  }
  reference::check(property("ludziejewski-2025", "effective experts of 1"),
                   form<law::Experts<>>("ludziejewski-2025").effective_experts(1.0));
}

TEST_CASE("routing stops to help where the paper says, to the digits of its coefficients") {
  for (const std::string name : {"clark-2022", "clark-2022-rl-r", "clark-2022-hash"}) {
    const auto cutoff = [](const law::Routed<>& law) { return std::log10(law.cutoff_parameters()); };
    reference::check(property(name, "log10 of the cutoff"), cutoff(form<law::Routed<>>(name)),
                     rounding_slack<law::Routed<>>(name, cutoff));
  }
}

TEST_CASE("more experts lower a routed law's loss below its cutoff and raise it above") {
  for (const std::string name : {"clark-2022", "clark-2022-rl-r", "clark-2022-hash"}) {
    const auto law = form<law::Routed<>>(name);
    const double cutoff = law.cutoff_parameters();
    for (const double experts : {1.0, 8.0, 64.0, 512.0}) {
      CHECK(law(0.5 * cutoff, 2 * experts) < law(0.5 * cutoff, experts));
      CHECK(law(cutoff, 2 * experts) == near(law(cutoff, experts), 1e-12));
      CHECK(law(2 * cutoff, 2 * experts) > law(2 * cutoff, experts));
    }
  }
}

TEST_CASE("finer experts lower the loss, ever less, towards the law without the granular term") {
  const auto law = form<law::Granularity<>>("krajewski-2024");
  for (double g = 1; g < 64; g *= 2) {
    CHECK(law(1e9, 1e11, 2 * g) < law(1e9, 1e11, g));
    CHECK(law(1e9, 1e11, g) - law(1e9, 1e11, 2 * g) > law(1e9, 1e11, 2 * g) - law(1e9, 1e11, 4 * g));
  }
  CHECK(law.section(1e30).parameter_coefficient == near(law.parameter_coefficient, 1e-12));
  CHECK(law.section(1.0).parameter_coefficient == near(law.parameter_coefficient + law.granularity_coefficient, 1e-14));
}

TEST_CASE("at equal FLOP the law of sparsity prefers sparser models, and at equal size denser ones") {
  const auto law = form<law::Sparsity<>>("abnar-2025");
  for (const double s : {0.0, 0.5, 0.75, 0.9}) {
    const double denser = 1 - s;
    CHECK(law(1e10, 1e11, s) < law(1e10, 1e11, 1 - denser / 2));
    CHECK(law(1e10 / denser, 1e11, s) > law(2e10 / denser, 1e11, 1 - denser / 2));
  }
}

TEST_CASE(
    "a section of the law of experts has the exponents of the paper's own table, to the digits of its coefficients") {
  for (const reference::Row& row : reference::rows("experts_sections.csv")) {
    const auto exponent = [&row](const law::Experts<>& law) {
      const auto section = law.section(row.number("experts"));
      return row.text("coefficient") == "alpha" ? section.parameter_exponent : section.token_exponent;
    };
    reference::check(row, exponent(form<law::Experts<>>("ludziejewski-2025")),
                     rounding_slack<law::Experts<>>("ludziejewski-2025", exponent));
  }
}

TEST_CASE("the best split at a number of experts is the paper's, to the digits of its coefficients") {
  for (const reference::Row& row : reference::rows("experts_optimum.csv")) {
    const auto best = [&row](const law::Experts<>& law) {
      const fit::Allocation split = fit::allocation(law.section(row.number("experts")));
      const Flop budget(row.number("flop"));
      return row.text("quantity") == "tokens" ? split.tokens(budget).value : split.parameters(budget).value;
    };
    reference::check(row, best(form<law::Experts<>>("ludziejewski-2025")),
                     rounding_slack<law::Experts<>>("ludziejewski-2025", best));
  }
}

TEST_CASE("more experts lower the loss at the same active size and tokens, within the law's range") {
  const auto law = form<law::Experts<>>("ludziejewski-2025");
  for (const double n : {1e8, 1e9, 1e10}) {
    for (double experts = 1; experts < 32; experts *= 2) CHECK(law(n, 20 * n, 2 * experts) < law(n, 20 * n, experts));
  }
}

TEST_CASE("a law of experts whose exponents turn over refuses instead of praising fewer parameters") {
  law::Experts<> law = form<law::Experts<>>("ludziejewski-2025");
  law.parameter_expert_exponent = 0.1;
  const Error error = thrown::by([&] { law::check(law, std::vector<double>{1e9, 1e10, 32}, "test"); });
  CHECK(error.code() == "out_of_range");
  CHECK(thrown::says(error, "experts must leave the exponents of N and D negative, got 32"));
  CHECK_NOTHROW(law::check(law, std::vector<double>{1e9, 1e10, 1}, "test"));
}

TEST_CASE("saturated laws whose start is not below their maximum refuse") {
  law::Routed<> routed = form<law::Routed<>>("clark-2022");
  routed.start = routed.saturation;
  CHECK(thrown::says(thrown::by([&] { law::check(routed, std::vector<double>{1e9, 8}, "test"); }), "below Em"));
  law::Leverage<> leverage = form<law::Leverage<>>("ling-2025-leverage");
  leverage.saturation = leverage.start / 2;
  CHECK(thrown::says(thrown::by([&] { law::check(leverage, std::vector<double>{0.1, 8, 1e20}, "test"); }), "below Am"));
  law::Experts<> experts = form<law::Experts<>>("ludziejewski-2025");
  experts.start = 0;
  CHECK(thrown::says(thrown::by([&] { law::check(experts, std::vector<double>{1e9, 1e10, 8}, "test"); }), "below Em"));
}

TEST_CASE("the joint law's own optima are those of its paper, and nothing beside them is better") {
  const auto law = form<law::JointMoe<>>("zhao-2025");
  const double g = law.best_granularity();
  const double s = law.best_shared_share();
  reference::check(property("zhao-2025", "best granularity"), g);
  reference::check(property("zhao-2025", "best shared share"), s);
  reference::check(property("zhao-2025", "best active share at 30B"), law.best_active_share(30e9));
  reference::check(property("zhao-2025", "best active share at 671B"), law.best_active_share(671e9));
  for (const double n : {3e9, 30e9, 671e9}) {
    const double share = law.best_active_share(n);
    const double best = law(n, share * n, 1e12, g, s);
    for (const double factor : {0.9, 1.1}) {
      CHECK(law(n, factor * share * n, 1e12, g, s) > best);
      CHECK(law(n, share * n, 1e12, factor * g, s) > best);
      CHECK(law(n, share * n, 1e12, g, factor * s) > best);
    }
    CHECK(law.best_active_share(2 * n) < share);
  }
}

TEST_CASE("the joint law refuses more active parameters than there are") {
  const auto law = form<law::JointMoe<>>("zhao-2025");
  const Error error = thrown::by([&] { law::check(law, std::vector<double>{1e9, 2e9, 1e11, 8, 0.1}, "test"); });
  CHECK(error.failure() == Failure::usage);
  CHECK(thrown::says(error, "active_parameters must not exceed parameters"));
  CHECK_NOTHROW(law::check(law, std::vector<double>{1e9, 1e9, 1e11, 8, 0.1}, "test"));
}

TEST_CASE("leverage grows with budget and with fewer active experts, and is largest at its best granularity") {
  const auto law = form<law::Leverage<>>("ling-2025-leverage");
  const double g = law.best_granularity();
  reference::check(property("ling-2025-leverage", "best granularity"), g);
  for (const double ratio : {0.02, 0.1, 0.5}) {
    CHECK(law(ratio, 8.0, 1e23) > law(ratio, 8.0, 1e22));
    CHECK(law(0.5 * ratio, 8.0, 1e22) > law(ratio, 8.0, 1e22));
    CHECK(law(ratio, g, 1e22) > law(ratio, 1.1 * g, 1e22));
    CHECK(law(ratio, g, 1e22) > law(ratio, 0.9 * g, 1e22));
  }
}
