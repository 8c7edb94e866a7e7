// SPDX-License-Identifier: BSD-3-Clause
//
// From N and D to a loss to what a benchmark says: over-training, error by loss, accuracy by loss.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/law/exponential_error.hpp"
#include "floplan/law/over_training.hpp"
#include "floplan/law/sigmoid.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

template <class F>
F form(const std::string& name) {
  return std::get<F>(catalog::any_law(catalog::Catalog(), name).form);
}

struct GadreRun {
  double n, d, multiplier, loss, error;
};

std::vector<GadreRun> gadre_runs() {
  std::vector<GadreRun> out;
  const auto table = shared_data::table("gadre_rpj.csv");
  if (!table) return out;
  for (const CsvRow row : table->rows()) {
    const auto number = [&](const char* column) { return std::stod(std::string(row[table->column(column)])); };
    out.push_back({number("N"), number("D"), number("M"), number("loss_c4_val"), number("err_avg17")});
  }
  return out;
}

double percent_off(double found, double measured) { return 100 * std::abs(found / measured - 1); }

}  // namespace

TEST_CASE("the over-training law has the authors' sum of squares on the five runs that it was fitted to") {
  const auto law = form<law::OverTraining<>>("gadre-2024");
  double sum = 0;
  int used = 0;
  const std::vector<GadreRun> runs = gadre_runs();
  if (runs.empty()) return;
  for (const GadreRun& run : runs) {
    const bool chinchilla = run.multiplier == 1 && run.n < 5e8;
    const bool over_trained = run.multiplier == 16 && run.n < 2e7;
    if (!chinchilla && !over_trained) continue;
    ++used;
    sum += std::pow(law(run.n, run.d) - run.loss, 2);
  }
  CHECK(used == 5);
  reference::check(reference::row("gadre_fit.csv", "sum of squares over the five runs"), sum);
}

TEST_CASE("over-training and error together miss the two held-out models by the authors' percentages") {
  const auto law = form<law::OverTraining<>>("gadre-2024");
  const auto error = form<law::ExponentialError<>>("gadre-2024-error");
  for (const GadreRun& run : gadre_runs()) {
    const bool small = run.n > 1e9 && run.n < 2e9 && run.multiplier == 32;
    if (!small && !(run.n > 6e9 && run.multiplier == 1)) continue;
    const std::string which = small ? "1.4B at 640, percent" : "6.9B at 20, percent";
    const double loss = law(run.n, run.d);
    reference::check(reference::row("gadre_fit.csv", "relative error of " + which), percent_off(loss, run.loss));
    reference::check(reference::row("gadre_fit.csv", "relative error of the error of " + which),
                     percent_off(error(loss), run.error));
  }
}

TEST_CASE("an over-training law in C and M falls with C at one rate at every M") {
  const auto law = form<law::OverTraining<>>("gadre-2024");
  const auto excess = [&law](double flop, double m) {
    const double n = std::sqrt(flop / (6 * m));
    return law(n, m * n) - law.irreducible_loss;
  };
  const double eta = law.exponent / 2;
  for (const double m : {5.0, 20.0, 640.0}) {
    CHECK(excess(1e22, m) / excess(1e20, m) == near(std::pow(100, -eta), 1e-12));
    // The paper's own way to write it, with a' = a 6^eta and b' = b.
    const double paper =
        (law.parameter_coefficient * std::pow(6, eta) * std::pow(m, eta) + law.token_coefficient * std::pow(m, -eta)) *
        std::pow(1e21, -eta);
    CHECK(excess(1e21, m) == near(paper, 1e-12));
  }
}

TEST_CASE("over-training lowers the loss with either input, down to the irreducible loss") {
  const auto law = form<law::OverTraining<>>("gadre-2024");
  CHECK(law(1.01e9, 2e10) < law(1e9, 2e10));
  CHECK(law(1e9, 2.02e10) < law(1e9, 2e10));
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(law(endless, endless) == law.irreducible_loss);
}

TEST_CASE("the error rises with the loss from zero to that of chance") {
  const auto law = form<law::ExponentialError<>>("gadre-2024-error");
  CHECK(law(3.0) < law(3.1));
  CHECK(law(1e3) == near(law.chance_error, 1e-15));
  const double zero = std::log(law.coefficient / law.chance_error) / law.rate;
  CHECK(std::abs(law(zero)) < 1e-15);
}

TEST_CASE("a loss that would make an error rate negative is refused, and the limit named") {
  const law::AnyLaw law = catalog::any_law(catalog::Catalog(), "gadre-2024-error");
  const std::array low = {1.2};
  const Error error = thrown::by([&] { law::check(law.form, low, "predict"); });
  CHECK(error.failure() == Failure::usage);
  CHECK(thrown::says(error, "where this law's error reaches zero, got 1.2"));
  const std::array high = {2.5};
  law::check(law.form, high, "predict");
  CHECK(law::refusal(law.form, high).empty());
}

TEST_CASE("every task's accuracy falls with the loss, between its ceiling and its chance") {
  int tasks = 0;
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    const auto* sigmoid = std::get_if<law::Sigmoid<>>(&law.form);
    if (sigmoid == nullptr) continue;
    CAPTURE(law.name);
    ++tasks;
    CHECK(sigmoid->span < 0);
    CHECK((*sigmoid)(1e3) == near(sigmoid->span + sigmoid->ceiling, 1e-12));
    CHECK(sigmoid->ceiling <= 1);
    CHECK(sigmoid->span + sigmoid->ceiling >= 0);
    CHECK((*sigmoid)(sigmoid->midpoint) == near(sigmoid->ceiling + sigmoid->span / 2, 1e-14));
    CHECK((*sigmoid)(0.9) > (*sigmoid)(0.91));
    // The first step is the law of the name before "-accuracy", in the same unit.
    const std::string first = law.name.substr(0, law.name.rfind("-accuracy"));
    CHECK(catalog::any_law(catalog::Catalog(), first).loss_unit == law.loss_unit);
    // An upper end at its bound was imposed, and the note must say so.
    CHECK((sigmoid->ceiling > 0.99999) == (law.provenance.note.find("not identified") != std::string::npos));
  }
  CHECK(tasks == 8);
}

TEST_CASE("a task's companion takes the loss of its first step to the published forecast") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("law_values_downstream.csv")) {
    const std::string name = row.text("law");
    const std::string kind = "-accuracy";
    if (name.size() < kind.size() || name.substr(name.size() - kind.size()) != kind) continue;
    const law::AnyLaw first = catalog::any_law(catalog, name.substr(0, name.size() - kind.size()));
    const auto second = catalog::companion(catalog, first, "accuracy");
    REQUIRE(second);
    const reference::Row at =
        reference::row("law_values_downstream.csv", row.name().substr(0, row.name().find(' ')) + ", 13B on 5T");
    const std::array run = {at.number("parameters"), at.number("tokens")};
    const std::array loss = {law::evaluate(first.form, run)};
    CHECK(loss[0] == near(row.number("loss"), 1e-14));
    reference::check(row, law::evaluate(second->form, loss));
  }
}
