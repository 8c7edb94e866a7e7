// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/core/random.hpp"
#include "floplan/law/dual.hpp"
#include "floplan/optimum/contours.hpp"
#include "floplan/optimum/purchase.hpp"
#include "optimum/random_law.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using optimum::Purchase;
using optimum::Question;
using optimum::Split;
using optimum::Surface;

const catalog::Catalog& all() {
  static const catalog::Catalog catalog;
  return catalog;
}

law::AnyLaw law_named(const std::string& name) { return catalog::any_law(all(), name); }

Question of_budget(double flop) {
  Question q;
  q.budget = Flop(flop);
  return q;
}

bool warns(const Purchase& p, std::string_view code, std::string_view words = "") {
  return warned(p.warnings, code, words);
}

// A law as its numeric surface alone: the closed form hidden.
Surface numeric_only(const law::Chinchilla<>& law) {
  Surface out = optimum::surface(law);
  out.section.reset();
  return out;
}

double log_ratio(double a, double b) { return std::abs(std::log(a / b)); }

}  // namespace

TEST_CASE("the numeric optimum is the closed form's to 1e-10 over 10,000 random laws and budgets") {
  RandomStream random(14);
  int asked = 0;
  while (asked < 10000) {
    const law::Chinchilla<> law = random_law::draw(random);
    const Flop budget(std::pow(10.0, 15 + 15 * random.uniform()));
    const Split closed = optimum::for_budget(law, budget);
    if (closed.parameters.value < 2 || closed.tokens.value < 2) continue;  // no model
    ++asked;
    const Split found = optimum::for_budget(numeric_only(law), budget);
    CAPTURE(asked);
    CHECK(log_ratio(found.parameters.value, closed.parameters.value) <
          1e-10 * std::max(1.0, std::log(closed.parameters.value)));
    CHECK(found.training_flop().value == near(budget.value, 1e-12));
  }
}

TEST_CASE("the numeric search for a loss, with and without serving, is the closed form's") {
  RandomStream random(15);
  int asked = 0;
  while (asked < 150) {
    const law::Chinchilla<> law = random_law::draw(random);
    const double loss = law.irreducible_loss * (1.02 + random.uniform());
    optimum::Demand demand;
    if (asked % 2 == 1) demand.output = Tokens(std::pow(10.0, 8 + 8 * random.uniform()));
    const Surface with = optimum::surface(law);
    const Split closed = optimum::for_loss(with, loss, demand);
    if (closed.parameters.value < 2 || closed.tokens.value < 2 || closed.parameters.value > 1e38 ||
        closed.tokens.value > 1e38)
      continue;
    ++asked;
    const Surface without = numeric_only(law);
    const Split found = optimum::for_loss(without, loss, demand);
    CAPTURE(asked);
    // A loss in double is known to a few units in its last place, some 1e-15, which a small term turns into more of ln N or ln D.
    const auto terms = law.terms(closed.parameters.value, closed.tokens.value);
    const double of_n = 1e-10 + 1e-15 * loss / (law.parameter_exponent * terms.parameters);
    const double of_d = 1e-10 + 1e-15 * loss / (law.token_exponent * terms.tokens);
    CHECK(log_ratio(found.parameters.value, closed.parameters.value) < of_n + of_d);
    CHECK(log_ratio(found.tokens.value, closed.tokens.value) < of_n + of_d);
    const Parameters larger = closed.parameters * 1.5;
    CHECK(optimum::tokens_for_loss(without, larger, loss).value ==
          near(optimum::tokens_for_loss(with, larger, loss).value, 1e-9));
    const Tokens more = closed.tokens * 1.5;
    CHECK(optimum::parameters_for_loss(without, more, loss).value ==
          near(optimum::parameters_for_loss(with, more, loss).value, 1e-9));
    if (demand.output.value > 0) continue;  // De Vries' curve is that of training alone
    CHECK(optimum::overhead(without, found, 1.5) ==
          doctest::Approx(optimum::overhead(with, closed, 1.5)).epsilon(1e-7));
    // The search gives up at 1e40 tokens, which a small exponent still feels.
    if (law.token_exponent > 0.3 && closed.parameters.value * optimum::size_floor(law) > 2)
      CHECK(optimum::critical_size(without, found) == near(optimum::critical_size(with, closed), 1e-3));
  }
}

TEST_CASE("of two basins the lower is the optimum, and a kink does not disturb it") {
  const auto well = [](double depth_left, double depth_right) {
    Surface s;
    s.name = "two wells";
    s.at = [=](double x, double y) {
      // In ln N alone: -dL/d ln D cancels where the budget is held.
      const double left = depth_left * std::exp(-(x - 15) * (x - 15)),
                   right = depth_right * std::exp(-(x - 30) * (x - 30));
      (void)y;
      return optimum::SurfacePoint{5 + 0.01 * std::abs(x - 22) - left - right,
                                   (x < 22 ? -0.01 : 0.01) + 2 * (x - 15) * left + 2 * (x - 30) * right, 0};
    };
    return s;
  };
  CHECK(std::log(optimum::for_budget(well(2, 1), Flop(1e24)).parameters.value) == doctest::Approx(15).epsilon(1e-3));
  CHECK(std::log(optimum::for_budget(well(1, 2), Flop(1e24)).parameters.value) == doctest::Approx(30).epsilon(1e-3));
  CHECK(std::log(optimum::for_budget(well(0, 0), Flop(1e24)).parameters.value) == near(22, 1e-14));
  Surface falling;
  falling.name = "a law";
  falling.at = [](double x, double) { return optimum::SurfacePoint{100 - x, -1, 0}; };
  const Error error = thrown::by([&] { (void)optimum::for_budget(falling, Flop(1e24)); });
  CHECK(error.failure() == Failure::no_answer);
  CHECK(thrown::says(error, "one token"));
  CHECK(optimum::for_budget(falling, Flop(1e24), Parameters(1e9)).parameters.value == 1e9);
}

TEST_CASE("dual numbers carry the derivatives of every operation") {
  using law::Dual;
  const auto check = [](const auto& f, double x, double y) {
    const Dual found = f(Dual{x, 1, 0}, Dual{y, 0, 1});
    const double h = 1e-6;
    const auto value = [&f](double a, double b) { return f(Dual{a}, Dual{b}).value; };
    CHECK(found.value == near(value(x, y), 1e-15));
    CHECK(found.first == doctest::Approx((value(x + h, y) - value(x - h, y)) / (2 * h)).epsilon(1e-7));
    CHECK(found.second == doctest::Approx((value(x, y + h) - value(x, y - h)) / (2 * h)).epsilon(1e-7));
  };
  check([](Dual a, Dual b) { return a * b - 2.0 * a + b / a - 1.0 / b; }, 1.7, 0.6);
  check([](Dual a, Dual b) { return exp(-0.3 * log(a)) + expm1(b) * log1p(a); }, 1.7, 0.6);
  check([](Dual a, Dual b) { return pow(a, 2.5) + pow(2.0, b) + pow(a, b) + sqrt(a) * tanh(b); }, 1.7, 0.6);
  check([](Dual a, Dual b) { return log10(a) + log2(b) + abs(a - b) + fmin(a, b) * fmax(a, 3.0); }, 1.7, 0.6);
  check(
      [](Dual a, Dual b) {
        a += b;
        a *= b;
        a -= 1.0;
        a /= b;
        return -a;
      },
      1.7, 0.6);
}

TEST_CASE("every law of the catalog answers a budget, or says why it cannot") {
  int answered = 0, refused = 0;
  for (const law::AnyLaw& law : catalog::any_laws(all())) {
    CAPTURE(law.name);
    Question q = of_budget(1e22);
    for (const law::Input input : {law::Input::experts, law::Input::granularity}) q.setting.set(input, 8);
    q.setting.set(law::Input::sparsity, 0.5);
    q.setting.set(law::Input::shared_share, 0.2);
    const std::span<const law::Input> inputs = law::inputs(law.form);
    const auto asks = [&](law::Input input) { return std::find(inputs.begin(), inputs.end(), input) != inputs.end(); };
    // Of all experts' parameters: other laws refuse a share.
    const bool counts_all =
        asks(law::Input::parameters) && law.parameter_convention != law::ParameterConvention::active;
    if (counts_all && (asks(law::Input::active_parameters) || asks(law::Input::experts) ||
                       asks(law::Input::granularity) || asks(law::Input::sparsity)))
      q.setting.active_share = 0.5;
    for (const law::Input input : {law::Input::weight_bits, law::Input::activation_bits, law::Input::kv_bits})
      q.setting.set(input, 8);
    try {
      const Purchase p = optimum::buy(all(), law, q);
      ++answered;
      CHECK(p.split.parameters.value > 1);
      CHECK(p.split.tokens.value > 1);
      CHECK(p.training_flop().value == near(1e22, 1e-9));
      if (!p.loss) {
        CHECK(p.method == optimum::Method::allocation_law);
        continue;
      }
      // No neighbour on the line of equal FLOP is better.
      const Surface s = optimum::surface(law, q.setting);
      for (const double factor : {0.5, 0.9, 1.1, 2.0}) {
        const Split other{p.split.parameters * factor, p.split.tokens / factor};
        CHECK(optimum::loss_of(s, other) >= *p.loss * (1 - 1e-12));
      }
    } catch (const Error& error) {
      ++refused;
      CAPTURE(error.what());
      CHECK((error.failure() == Failure::no_answer || error.code() == "missing_option"));
      CHECK(std::string(error.what()).size() > 30);
    }
  }
  CHECK(answered >= 20);
  CHECK(refused >= 5);
}

TEST_CASE("laws of N and D by the budget give the published splits, and know no loss") {
  for (const reference::Row& row : reference::rows("optimum_allocation.csv")) {
    const Purchase p = optimum::buy(all(), law_named(row.text("law")), of_budget(row.number("flop")));
    const std::string quantity = row.text("quantity");
    reference::check(row, quantity == "tokens"       ? p.split.tokens.value
                          : quantity == "parameters" ? p.split.parameters.value
                                                     : 6 * p.split.parameters.value);
    CHECK_FALSE(p.loss.has_value());
    CHECK_FALSE(p.overhead.has_value());
    CHECK(p.training_flop().value == near(row.number("flop"), 1e-12));
  }
  CHECK(warns(optimum::buy(all(), law_named("llama3-2024-rounded"), of_budget(3.8e25)), "rounded_law", "16.55T"));
  const Purchase kaplan = optimum::buy(all(), law_named("kaplan-2020"), of_budget(8.64e21));
  CHECK(kaplan.allocation_law == "kaplan-2020-allocation");
  CHECK(warns(kaplan, "companion_law", "kaplan-2020-allocation"));
  CHECK(warns(kaplan, "parameter_convention", "non-embedding"));
  CHECK(warns(optimum::buy(all(), law_named("deepseek-2024"), of_budget(1e20)), "flop_convention", "attention"));
}

TEST_CASE("with 405B given and 3.8e25 FLOP a law of tokens leaves 15.6T") {
  Question q = of_budget(3.8e25);
  q.parameters = Parameters(405e9);
  CHECK(optimum::buy(all(), law_named("llama3-2024"), q).split.tokens.value == near(3.8e25 / 6 / 405e9, 1e-14));
}

TEST_CASE("what has no answer is refused with the reason") {
  const auto refusal = [](const std::string& name, const Question& q) {
    return thrown::by([&] { (void)optimum::buy(all(), law_named(name), q); });
  };
  CHECK(thrown::says(refusal("deepseek-2024-batch", of_budget(1e22)), "answers batch"));
  CHECK(thrown::says(refusal("kaplan-2020-parameters", of_budget(1e22)), "nothing of D"));
  CHECK(thrown::says(refusal("kaplan-2020-tokens", of_budget(1e22)), "nothing of N"));
  CHECK(thrown::says(refusal("cerebras-gpt-2023", of_budget(1e22)), "nothing of N and D"));
  CHECK(refusal("cerebras-gpt-2023", of_budget(1e22)).failure() == Failure::no_answer);
  Question of_loss;
  of_loss.loss = 2;
  CHECK(thrown::says(refusal("llama3-2024", of_loss), "knows no loss"));
  CHECK(thrown::says(refusal("kaplan-2020", of_loss), "knows no loss"));
  Question served = of_budget(1e24);
  served.demand.output = Tokens(1e12);
  CHECK(thrown::says(refusal("llama3-2024", served), "serve"));
  Question shared = of_budget(1e22);
  shared.setting.active_share = 1.5;
  CHECK(thrown::says(refusal("besiroglu-2024", shared), "--active-share"));
  optimum::Setting setting;
  CHECK(thrown::says(thrown::by([&] { setting.set(law::Input::experts, -1); }), "--experts"));
  setting.set(law::Input::experts, 8);
  CHECK(thrown::says(thrown::by([&] { optimum::require_used({law_named("besiroglu-2024")}, setting); }), "--experts"));
}

TEST_CASE("lines of equal loss and of equal FLOP touch on the frontier") {
  for (const bool closed : {true, false}) {
    const law::Chinchilla<> law{1.8172, 482.01, 2085.43, 0.3478, 0.3658};
    const Surface s = closed ? optimum::surface(law) : numeric_only(law);
    const optimum::Contour flop = optimum::iso_flop(s, Flop(1e23), {20, 21});
    REQUIRE(flop.points.size() == 21);
    for (const optimum::ContourPoint& p : flop.points) {
      CHECK(p.training_flop.value == near(1e23, 1e-12));
      CHECK(p.loss >= flop.best.loss * (1 - 1e-14));
    }
    const optimum::Contour loss = optimum::iso_loss(s, flop.best.loss, {20, 21});
    CHECK(loss.best.split.parameters.value == near(flop.best.split.parameters.value, 1e-6));
    CHECK(loss.points.size() < 21);  // too few parameters for it
    CHECK(loss.points.size() > 10);
    for (const optimum::ContourPoint& p : loss.points) {
      CHECK(p.loss == near(flop.best.loss, 1e-11));
      CHECK(p.training_flop.value >= 1e23 * (1 - 1e-9));
    }
    const auto frontier = optimum::frontier(s, Flop(1e20), Flop(1e24), 5);
    REQUIRE(frontier.size() == 5);
    CHECK(frontier[3].split.parameters.value == near(flop.best.split.parameters.value, 1e-9));
    for (std::size_t i = 1; i < 5; ++i) CHECK(frontier[i].loss < frontier[i - 1].loss);
  }
  const Surface s = optimum::surface(law_named("besiroglu-2024"));
  CHECK(thrown::by([&] { (void)optimum::iso_flop(s, Flop(1e23), {1, 5}); }).failure() == Failure::usage);
  CHECK(thrown::by([&] { (void)optimum::frontier(s, Flop(1e23), Flop(1e22)); }).failure() == Failure::usage);
}

TEST_CASE("a task's forecast comes with the law, its ends, and how far ladders missed") {
  Question q = of_budget(1e22);
  const Purchase p = optimum::buy(all(), law_named("bhagia-2024-piqa"), q);
  REQUIRE(p.tasks.size() == 1);
  const optimum::TaskForecast& task = p.tasks.front();
  CHECK(task.by.law.name == "bhagia-2024-piqa-accuracy");
  CHECK(task.by.value > task.at_high_loss);
  CHECK(task.by.value < task.at_low_loss);
  CHECK(task.low < task.by.value);
  CHECK(task.high > task.by.value);
  CHECK(warns(p, "downstream_error", "16 to 19%"));
  CHECK(warns(p, "parameter_convention", "without the input embedding"));
  // An error rate that the curve takes below zero.
  q.budget = Flop(1e28);
  const Purchase far = optimum::buy(all(), law_named("gadre-2024"), q);
  REQUIRE(far.tasks.size() == 1);
  CHECK(warns(far, "downstream_asymptote"));
  CHECK(warns(far, "extrapolation", "gadre-2024-error was fitted on loss"));
}

TEST_CASE("an absurd budget is put in terms of the world") {
  Question q;
  q.loss = 1.8171;
  const Purchase p = optimum::buy(all(), law_named("besiroglu-2024"), q);
  CHECK(p.training_flop().value > 1e30);
  CHECK(warns(p, "absurd_budget", "years of all of NVIDIA's chips"));
  q.loss = 1.81;
  CHECK(thrown::by([&] { (void)optimum::buy(all(), law_named("besiroglu-2024"), q); }).failure() ==
        Failure::infeasible);
  CHECK_FALSE(warns(optimum::buy(all(), law_named("besiroglu-2024"), of_budget(1e26)), "absurd_budget"));
}

TEST_CASE("the choice of law is measured") {
  std::vector<Purchase> purchases;
  for (const char* name : {"hoffmann-2022", "besiroglu-2024", "llama3-2024"})
    purchases.push_back(optimum::buy(all(), law_named(name), of_budget(1e25)));
  const optimum::Spread s = optimum::spread(purchases);
  CHECK(s.fewest_parameters == purchases[0].split.parameters);
  CHECK(s.most_tokens == purchases[0].split.tokens);
  CHECK(s.most_parameters > s.fewest_parameters);
  CHECK(optimum::law_choice(s).message.find("choice of law") != std::string::npos);
}
