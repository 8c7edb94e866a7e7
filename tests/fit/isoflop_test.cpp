// SPDX-License-Identifier: BSD-3-Clause
//
// isoFLOP profiles and their power laws: published minima and exponents, the bias of the method, what is refused.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/akima.hpp"
#include "floplan/fit/isoflop.hpp"
#include "floplan/fit/isoflop_bias.hpp"
#include "floplan/fit/isoflop_surface.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using Budgets = std::vector<fit::BudgetRuns>;
using Law = law::Chinchilla<double>;

const Law truth{1.72, 480, 2100, 0.35, 0.37};

// Published data grouped by their column C; "unflagged" leaves out the rows that the file marks as outliers.
std::optional<Budgets> published(const std::string& file, const std::string& selection) {
  const auto table = fit_data::table(file);
  if (!table) return std::nullopt;
  const auto rows = fit_data::rows(*table, selection == "unflagged" ? "outlier=0" : "");
  std::vector<double> flop;
  for (const CsvRow row : table->rows()) {
    if (selection == "unflagged" && row[table->column("outlier")] == "1") continue;
    flop.push_back(fit_data::number(row[table->column("C")]));
  }
  return fit::group_by_budget(rows, flop, {.tolerance = 1e-9}).budgets;
}

fit::IsoflopMethod method_of(const std::string& name) {
  for (const auto method : {fit::IsoflopMethod::lowest, fit::IsoflopMethod::akima}) {
    if (fit::to_text(method) == name) return method;
  }
  REQUIRE(name == "parabola");
  return fit::IsoflopMethod::parabola;
}

// Every profile that has a minimum, as the published analyses take them.
fit::IsoflopOptions as_published(fit::IsoflopMethod method = fit::IsoflopMethod::parabola) {
  fit::IsoflopOptions options;
  options.method = method;
  options.quality_control = false;
  return options;
}

double quantity_of(const fit::IsoflopReport& report, const std::string& quantity) {
  const bool tokens = quantity.starts_with("tokens");
  const fit::PowerLaw& line = tokens ? report.tokens : report.parameters;
  if (quantity.ends_with("_exponent")) return line.exponent;
  if (quantity.ends_with("_log10_coefficient")) return std::log10(line.coefficient);
  if (quantity.ends_with("_coefficient")) return line.coefficient;
  const std::size_t at = quantity.find("_at_");
  REQUIRE(at != std::string::npos);
  return line.at(fit_data::number(quantity.substr(at + 4)));
}

// Sizes in N* / factor ... N* factor (log-spaced) about a centre that is `offset` times below N*, at each budget.
fit::BudgetRuns profile_near(const Law& law, double flop, double factor, int sizes, double offset = 1) {
  const double centre = fit::allocation(law).parameters(Flop(flop)).value / offset;
  fit::BudgetRuns out{flop, {}};
  for (int i = 0; i < sizes; ++i) {
    const double n = centre * std::pow(factor, -1 + 2.0 * i / (sizes - 1));
    out.rows.push_back({n, flop / (6 * n), law.loss(n, flop / (6 * n)), 1, 0});
  }
  return out;
}

Budgets sampled(const Law& law, double factor = 4, int sizes = 15, double offset = 1, double drift = 1) {
  Budgets out;
  for (int i = 0; i < 5; ++i) {
    out.push_back(profile_near(law, std::pow(10.0, 17 + i), factor, sizes, offset * std::pow(drift, i / 4.0)));
  }
  return out;
}

// One profile whose losses are given, at equally spaced ln N.
fit::BudgetRuns given(const std::vector<double>& losses) {
  fit::BudgetRuns out{1e19, {}};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double n = 1e8 * std::pow(2.0, static_cast<double>(i));
    out.rows.push_back({n, 1e19 / (6 * n), losses[i], 1, 0});
  }
  return out;
}

fit::Profile profile_of(const fit::BudgetRuns& budget, const fit::IsoflopOptions& options = {}) {
  return fit::isoflop_profiles(std::vector{budget}, options).front();
}

double normal(RandomStream& random) { return fit::detail::normal_quantile(random.uniform()); }

void add_noise(Budgets& budgets, double sd, RandomStream& random) {
  for (fit::BudgetRuns& budget : budgets) {
    for (runs::Observation& row : budget.rows) row.loss += sd * normal(random);
  }
}

struct PorianPoints {
  Budgets budgets;
  std::map<double, std::pair<double, double>> optimum, log_sd;  // of N and D, by budget
};

// One of the settings of Porian 2024; only budgets with a published optimum.
std::optional<PorianPoints> porian(const reference::Row& setting) {
  const auto pairs = fit_data::table("porian_optimal_pairs_rw.csv");
  const auto points = fit_data::table("porian_isoflop_points_rw.csv");
  if (!pairs || !points) return std::nullopt;
  const auto wanted = [&](const CsvTable& table, const CsvRow& row) {
    for (const char* column : {"hparams", "warmup", "decay", "count", "val"}) {
      if (row[table.column(column)] != setting.text(column)) return false;
    }
    return true;
  };
  PorianPoints out;
  std::map<double, fit::BudgetRuns> groups;
  for (const CsvRow row : pairs->rows()) {
    if (!wanted(*pairs, row) || row[pairs->column("Nstar")].empty()) continue;
    const auto cell = [&](const char* column) { return fit_data::number(row[pairs->column(column)]); };
    out.optimum[cell("C")] = {cell("Nstar"), cell("Dstar")};
    out.log_sd[cell("C")] = {cell("Nstar_logstd"), cell("Dstar_logstd")};
  }
  for (const CsvRow row : points->rows()) {
    if (!wanted(*points, row)) continue;
    const auto cell = [&](const char* column) { return fit_data::number(row[points->column(column)]); };
    if (!out.optimum.contains(cell("C"))) continue;
    groups[cell("C")].flop = cell("C");
    groups[cell("C")].rows.push_back({cell("N"), cell("D"), cell("loss"), 1, 0});
  }
  for (const auto& [flop, budget] : groups) out.budgets.push_back(budget);
  return out;
}

}  // namespace

TEST_CASE("the minima of Llama 3's ten profiles are those of approach 2") {
  for (const reference::Row& row : reference::rows("isoflop_llama3.csv")) {
    const auto budgets = published("isoflop_llama_3_raw_loss.csv", row.text("selection"));
    if (!budgets) return;
    const auto profiles = fit::isoflop_profiles(*budgets, as_published());
    const auto found = std::find_if(profiles.begin(), profiles.end(),
                                    [&](const fit::Profile& p) { return p.flop == row.number("flop"); });
    REQUIRE(found != profiles.end());
    CHECK(found->points == static_cast<std::size_t>(row.number("runs")));
    const std::string quantity = row.text("quantity");
    reference::check(row, quantity == "loss"     ? found->loss_min
                          : quantity == "tokens" ? found->tokens_opt
                                                 : found->parameters_opt);
  }
}

TEST_CASE("exponents and coefficients of the public isoFLOP sets are those of the published analyses") {
  for (const reference::Row& row : reference::rows("isoflop_exponents.csv")) {
    const auto budgets = published(row.text("file"), row.text("selection"));
    if (!budgets) return;
    fit::IsoflopOptions options = as_published(method_of(row.text("method")));
    options.scale = row.text("scale") == "log" ? fit::Residual::log : fit::Residual::raw;
    reference::check(row, quantity_of(fit::isoflop(*budgets, options), row.text("quantity")));
  }
}

TEST_CASE("two analyses of Llama 3's points differ by 6T tokens, and the difference is explained by its budgets") {
  const auto all = published("isoflop_llama_3_raw_loss.csv", "all");
  const auto unflagged = published("isoflop_llama_3_raw_loss.csv", "unflagged");
  if (!all || !unflagged) return;
  const fit::IsoflopReport first = fit::isoflop(*all, as_published());
  const fit::IsoflopReport second = fit::isoflop(*unflagged);
  CHECK(first.profiles_used() == 10);
  CHECK(second.profiles_used() == 8);
  const fit::IsoflopDifference why = fit::difference(first, second);
  CHECK(why.only_first == std::vector<double>{3e21, 1e22});
  CHECK(why.only_second.empty());
  CHECK(std::abs(why.common_tokens_exponent - why.tokens_exponent_second) <
        std::abs(why.tokens_exponent_first - why.tokens_exponent_second) / 2);
  REQUIRE(why.moved.size() == 2);
  CHECK(why.moved[1].first == 6e19);
  MESSAGE(why.describe());
  CHECK(why.describe().find("only the first uses 3e21, 1e22") != std::string::npos);
  // One budget decides most of it.
  const auto largest = std::max_element(first.leave_one_out.begin(), first.leave_one_out.end(),
                                        [&](const fit::LeftOut& a, const fit::LeftOut& b) {
                                          return std::abs(a.tokens_exponent - first.tokens.exponent) <
                                                 std::abs(b.tokens_exponent - first.tokens.exponent);
                                        });
  CHECK(largest->flop == 1e22);
  CHECK(warned(first.warnings, "one_sided"));
  // Four decades on, their intervals overlap, which is what intervals are for.
  const auto low = first.at(Flop(3.8e25)).tokens_interval;
  const auto high = second.at(Flop(3.8e25)).tokens_interval;
  REQUIRE(low);
  REQUIRE(high);
  CHECK(low->low < high->high);
  CHECK(high->low < second.at(Flop(3.8e25)).tokens.value);
}

TEST_CASE("Chinchilla's profiles at 1e20 and 3e21 FLOP are found to be one-sided without anyone marking them") {
  for (const char* file : {"isoflop_epochai_chinchilla.csv", "isoflop_ml_scalefit.csv"}) {
    const auto budgets = published(file, "all");
    if (!budgets) return;
    const fit::IsoflopReport report = fit::isoflop(*budgets);
    for (const fit::Profile& profile : report.profiles) {
      CAPTURE(profile.describe());
      const bool edge = profile.flop == 1e20 || profile.flop == 3e21;
      CHECK(profile.status == (edge ? fit::ProfileStatus::edge : fit::ProfileStatus::interior));
      CHECK(profile.used == !edge);
      CHECK(std::isnan(profile.parameters_opt) == edge);
      CHECK(profile.bound.has_value() == edge);
      if (edge) CHECK(profile.bound->at_most);
    }
    CHECK(warned(report.warnings, "no_interior_minimum"));
  }
}

TEST_CASE("sizes that all lie above the optimum give a bound and never a point (K04)") {
  fit::BudgetRuns edge{1e19, {}};
  for (const reference::Row& row : reference::rows("isoflop_k04_edge.csv")) {
    edge.rows.push_back({row.number("parameters"), row.number("tokens"), row.number("loss"), 1, 0});
  }
  const double optimum = fit::allocation(truth).parameters(Flop(1e19)).value;
  for (const auto method : {fit::IsoflopMethod::parabola, fit::IsoflopMethod::lowest, fit::IsoflopMethod::akima}) {
    fit::IsoflopOptions options;
    options.method = method;
    const fit::Profile profile = profile_of(edge, options);
    CAPTURE(profile.describe());
    CHECK(profile.status == fit::ProfileStatus::edge);
    CHECK(std::isnan(profile.parameters_opt));
    CHECK_FALSE(profile.used);
    REQUIRE(profile.bound);
    CHECK(profile.bound->at_most);
    CHECK(profile.bound->parameters > optimum);
    CHECK(profile.bound->parameters == edge.rows[1].parameters);
    CHECK(profile.reason.find("358M") != std::string::npos);
    // Alone it is refused with exit status 5; among others it stays out of the power law.
    const Error error = thrown::by([&] { (void)fit::isoflop(std::vector{edge}, options); });
    CHECK(error.exit_status() == 5);
    CHECK(thrown::says(error, "no higher run below"));
    Budgets budgets = sampled(truth, 4, 9);
    const fit::IsoflopReport without = fit::isoflop(budgets, options);
    std::erase_if(budgets, [](const fit::BudgetRuns& b) { return b.flop == 1e19; });
    const fit::IsoflopReport four = fit::isoflop(budgets, options);
    budgets.push_back(edge);
    const fit::IsoflopReport with = fit::isoflop(budgets, options);
    CHECK(with.parameters.exponent == four.parameters.exponent);
    CHECK(with.profiles_used() == 4);
    CHECK(without.profiles_used() == 5);
  }
  // The other way round: all sizes below the optimum.
  fit::BudgetRuns low = profile_near(truth, 1e19, 2, 6, 6);
  const fit::Profile profile = profile_of(low);
  CHECK(profile.status == fit::ProfileStatus::edge);
  REQUIRE(profile.bound);
  CHECK_FALSE(profile.bound->at_most);
  CHECK(profile.bound->parameters == low.rows[4].parameters);
}

TEST_CASE("the bias of the parabola is that of the published simulation") {
  for (const reference::Row& row : reference::rows("isoflop_bias.csv")) {
    const Law law{row.number("E"), row.number("A"), row.number("B"), row.number("alpha"), row.number("beta")};
    const Budgets budgets = sampled(law, row.number("factor"), 15, row.number("offset"), row.number("drift"));
    const fit::IsoflopBias bias = fit::isoflop_bias(law, budgets, Flop(1e24), as_published());
    reference::check(row, row.text("quantity") == "tokens_exponent" ? bias.tokens_exponent : 100 * bias.tokens_error);
    // With C = 6 N D the two errors are one.
    CHECK((1 + bias.parameters_error) * (1 + bias.tokens_error) == doctest::Approx(1).epsilon(1e-10));
    CHECK(bias.profiles.size() == 5);
  }
}

TEST_CASE("akima has less bias than the parabola on a fine grid, and the bias of an analysis is that of its profiles") {
  const Budgets budgets = sampled(truth, 8, 15, 1.3);
  fit::IsoflopOptions akima;
  akima.method = fit::IsoflopMethod::akima;
  const double with_akima = std::abs(fit::isoflop_bias(truth, budgets, Flop(1e24), akima).tokens_error);
  const double with_parabola = std::abs(fit::isoflop_bias(truth, budgets, Flop(1e24)).tokens_error);
  CHECK(with_akima < 0.002);
  CHECK(with_parabola > 3 * with_akima);
  Budgets more = budgets;
  more.push_back(profile_near(truth, 1e22, 1.5, 8, 4));
  const fit::IsoflopReport analysis = fit::isoflop(more);
  REQUIRE(analysis.profiles_used() == 5);
  CHECK(fit::isoflop_bias(truth, more, Flop(1e24), analysis).tokens_error ==
        doctest::Approx(fit::isoflop_bias(truth, budgets, Flop(1e24)).tokens_error).epsilon(1e-12));
  CHECK(fit::isoflop_bias(truth, budgets, Flop(1e24)).describe().find("parabola") != std::string::npos);
}

TEST_CASE("symmetric noise-free losses give back the planted optimum and exponents") {
  for (const double exponent : {0.05, 0.2, 0.31, 0.6, 1.0}) {
    for (const double ratio : {1e-3, 1.0, 1e4}) {
      const Law law{1.5, 300 * ratio, 300, exponent, exponent};
      for (const auto scale : {fit::Residual::raw, fit::Residual::log}) {
        fit::IsoflopOptions options;
        options.scale = scale;
        const fit::IsoflopReport report = fit::isoflop(sampled(law), options);
        const fit::Allocation split = fit::allocation(law);
        CHECK(report.profiles_used() == 5);
        CHECK(report.parameters.exponent == doctest::Approx(0.5).epsilon(1e-9));
        CHECK(report.at(Flop(1e24)).parameters / split.parameters(Flop(1e24)) == doctest::Approx(1).epsilon(1e-8));
        CHECK(report.at(Flop(1e24)).tokens / split.tokens(Flop(1e24)) == doctest::Approx(1).epsilon(1e-8));
        CHECK(report.at(Flop(1e24)).extrapolation_decades == doctest::Approx(3));
      }
    }
  }
  // A loss that is a parabola is met to the digits, whatever the grid.
  for (const double centre : {0.7, 2.2, 3.9}) {
    std::vector<double> losses;
    for (int i = 0; i < 6; ++i) losses.push_back(2 + 0.03 * std::pow((i - centre) * std::log(2.0), 2));
    const fit::Profile profile = profile_of(given(losses));
    CHECK(std::log2(profile.parameters_opt / 1e8) == doctest::Approx(centre).epsilon(1e-9));
    CHECK(profile.loss_min == doctest::Approx(2).epsilon(1e-12));
  }
}

TEST_CASE("the power laws of Porian 2024 follow from its optima, weighted and not") {
  for (const reference::Row& row : reference::rows("isoflop_porian.csv")) {
    const auto data = porian(row);
    if (!data) return;
    std::vector<double> flop, value, log_sd;
    const bool tokens = row.text("quantity").starts_with("tokens");
    for (const auto& [c, optimum] : data->optimum) {
      flop.push_back(c);
      value.push_back(tokens ? optimum.second : optimum.first);
      if (row.number("weighted") == 1) {
        log_sd.push_back(tokens ? data->log_sd.at(c).second : data->log_sd.at(c).first);
      }
    }
    fit::IsoflopReport report;
    (tokens ? report.tokens : report.parameters) = fit::fit_power_law(flop, value, log_sd);
    reference::check(row, quantity_of(report, row.text("quantity")));
  }
}

TEST_CASE("akima on Porian's grid finds Porian's optima, and the exact minimum is within its steps") {
  std::size_t same = 0, all = 0;
  for (const reference::Row& row : reference::rows("isoflop_porian.csv")) {
    if (!row.name().ends_with("equal weights exponent")) continue;
    const auto data = porian(row);
    if (!data) return;
    fit::IsoflopOptions options = as_published(fit::IsoflopMethod::akima);
    options.grid_per_interval = 25;
    const fit::IsoflopReport grid = fit::isoflop(data->budgets, options);
    options.grid_per_interval = 0;
    const fit::IsoflopReport exact = fit::isoflop(data->budgets, options);
    for (std::size_t i = 0; i < grid.profiles.size(); ++i) {
      const auto [n, d] = data->optimum.at(grid.profiles[i].flop);
      // Theirs are medians over 1,000 draws of noise; most medians are the grid point itself.
      CHECK(grid.profiles[i].parameters_opt == doctest::Approx(n).epsilon(0.05));
      CHECK(exact.profiles[i].parameters_opt == doctest::Approx(grid.profiles[i].parameters_opt).epsilon(0.012));
      same += std::abs(grid.profiles[i].parameters_opt / n - 1) < 1e-12 ? 1 : 0;
      ++all;
    }
    CHECK(std::abs(grid.parameters.exponent - row.value()) < 0.002);
    CHECK(std::abs(exact.parameters.exponent - row.value()) < 0.004);
    // In the last setting every optimum is the grid point.
    if (row.name().starts_with("tuned")) reference::check(row, grid.parameters.exponent);
  }
  CHECK(all == 58);
  CHECK(same == 52);
}

TEST_CASE("the noise bootstrap of akima gives Porian's standard errors and weighted exponents") {
  for (const reference::Row& row : reference::rows("isoflop_porian.csv")) {
    if (!row.name().ends_with("weighted exponent")) continue;
    const auto data = porian(row);
    if (!data) return;
    fit::IsoflopOptions options = as_published(fit::IsoflopMethod::akima);
    options.grid_per_interval = 25;
    options.noise_sd = 0.002;  // configs.py; ln of the loss never reaches the threshold above which it would grow
    options.weighted = true;
    const fit::IsoflopReport report = fit::isoflop(data->budgets, options);
    CHECK(std::abs(report.parameters.exponent - row.value()) < 0.003);
    CAPTURE(row.name());
    std::size_t at_floor = 0;
    for (const fit::Profile& profile : report.profiles) {
      const double theirs = data->log_sd.at(profile.flop).first;
      CHECK(profile.parameters_log_sd == doctest::Approx(theirs).epsilon(0.15));
      at_floor += std::abs(profile.parameters_log_sd / theirs - 1) < 1e-9 ? 1 : 0;
    }
    CHECK(at_floor >= report.profiles.size() - 4);
    // The same seed gives the same bits, another seed about the same answer.
    const fit::IsoflopReport again = fit::isoflop(data->budgets, options);
    CHECK(again.parameters.exponent == report.parameters.exponent);
    options.seed = 2;
    CHECK(std::abs(fit::isoflop(data->budgets, options).parameters.exponent - report.parameters.exponent) < 0.002);
  }
}

TEST_CASE("neither the unit of N and D nor the order of rows and budgets changes an answer") {
  Budgets budgets = sampled(truth, 5, 9);
  RandomStream random(7);
  add_noise(budgets, 0.002, random);
  for (const auto method : {fit::IsoflopMethod::parabola, fit::IsoflopMethod::lowest, fit::IsoflopMethod::akima}) {
    fit::IsoflopOptions options;
    options.method = method;
    options.noise_sd = 0.002;
    options.resamples = 50;
    const fit::IsoflopReport report = fit::isoflop(budgets, options);
    Budgets shuffled = budgets;
    std::reverse(shuffled.begin(), shuffled.end());
    for (fit::BudgetRuns& budget : shuffled) {
      for (std::size_t i = budget.rows.size(); i > 1; --i) {
        std::swap(budget.rows[i - 1], budget.rows[random.below(static_cast<std::uint32_t>(i))]);
      }
    }
    const fit::IsoflopReport other = fit::isoflop(shuffled, options);
    CHECK(other.parameters.exponent == report.parameters.exponent);
    CHECK(other.tokens.coefficient == report.tokens.coefficient);
    for (std::size_t i = 0; i < report.profiles.size(); ++i) {
      CHECK(other.profiles[i].describe() == report.profiles[i].describe());
    }
    Budgets millions = budgets;
    for (fit::BudgetRuns& budget : millions) {
      for (runs::Observation& row : budget.rows) {
        row.parameters /= 1e6;
        row.tokens /= 1e9;
      }
    }
    const fit::IsoflopReport scaled = fit::isoflop(millions, options);
    CHECK(scaled.parameters.exponent == doctest::Approx(report.parameters.exponent).epsilon(1e-10));
    CHECK(scaled.parameters.coefficient * 1e6 == doctest::Approx(report.parameters.coefficient).epsilon(1e-8));
    CHECK(scaled.tokens.coefficient * 1e9 == doctest::Approx(report.tokens.coefficient).epsilon(1e-8));
    for (std::size_t i = 0; i < report.profiles.size(); ++i) {
      CHECK(scaled.profiles[i].status == report.profiles[i].status);
      CHECK(scaled.profiles[i].parameters_opt * 1e6 ==
            doctest::Approx(report.profiles[i].parameters_opt).epsilon(1e-10));
    }
  }
}

TEST_CASE("a loss in another unit moves no minimum") {
  Budgets budgets = sampled(truth, 5, 9);
  RandomStream random(8);
  add_noise(budgets, 0.002, random);
  const fit::IsoflopReport nats = fit::isoflop(budgets);
  for (fit::BudgetRuns& budget : budgets) {
    for (runs::Observation& row : budget.rows) row.loss /= std::log(2.0);
  }
  const fit::IsoflopReport bits = fit::isoflop(budgets);
  CHECK(bits.parameters.exponent == doctest::Approx(nats.parameters.exponent).epsilon(1e-10));
  CHECK(bits.profiles[2].loss_min * std::log(2.0) == doctest::Approx(nats.profiles[2].loss_min).epsilon(1e-12));
}

TEST_CASE("each status is given for its reason") {
  const auto status = [](const std::vector<double>& losses, const fit::IsoflopOptions& options = {}) {
    const fit::Profile profile = profile_of(given(losses), options);
    CAPTURE(profile.describe());
    CHECK(profile.reason.empty() == (profile.status == fit::ProfileStatus::interior));
    CHECK(profile.used == (profile.status == fit::ProfileStatus::interior));
    return profile.status;
  };
  using enum fit::ProfileStatus;
  CHECK(status({3.10, 3.02, 3.00, 3.02, 3.11}) == interior);
  CHECK(status({3.10, 3.02, 3.00}) == too_few);
  CHECK(status({3.00, 3.01, 3.04, 3.09, 3.16}) == edge);
  CHECK(status({3.16, 3.09, 3.04, 3.01, 3.00}) == edge);
  CHECK(status({3.40, 3.30, 3.20, 3.10, 3.00}) == edge);  // falling without end
  CHECK(status({3.00, 3.04, 3.05, 3.04, 3.00}) == concave);
  CHECK(status({3.00, 3.00, 3.00, 3.00, 3.00}) == flat);
  CHECK(status({3.02, 3.00, 3.03, 2.99, 3.02, 3.00}) == flat);
  CHECK(status({3.01, 3.00, 3.03, 2.98, 3.02, 3.01, 3.00, 3.02}) == flat);
  fit::IsoflopOptions options;
  options.noise_sd = 0.06;
  CHECK(status({3.10, 3.02, 3.00, 3.02, 3.11}, options) == flat);  // known noise
  options = {};
  options.fewest_sizes = 3;
  CHECK(status({3.10, 3.00, 3.11}, options) == interior);
  options.fewest_each_side = 2;
  CHECK(status({3.20, 3.10, 3.02, 3.00, 3.04}, options) == edge);
  for (const auto method : {fit::IsoflopMethod::lowest, fit::IsoflopMethod::akima}) {
    options = {};
    options.method = method;
    CHECK(status({3.10, 3.02, 3.00, 3.02, 3.11}, options) == interior);
    CHECK(status({3.00, 3.02, 3.05, 3.12, 3.21}, options) == edge);
    CHECK(status({3.00, 3.00, 3.00, 3.00}, options) == flat);
    CHECK(status({3.00, 3.04, 3.05, 3.04, 3.00}, options) == concave);
    CHECK(status({3.00, 3.04, 3.05, 3.04, 3.01}, options) == concave);
    CHECK(status({3.00, 2.99, 2.97, 2.94, 2.90}, options) == edge);  // falls ever faster: the end is a bound
    CHECK(status({3.00, 3.01, 3.00, 3.01, 3.00}, options) == edge);
    CHECK(status({3.02, 3.00, 3.01}, options) == too_few);
    options.noise_sd = 0.06;
    CHECK(status({3.10, 3.02, 3.00, 3.02, 3.11}, options) == flat);
  }
}

TEST_CASE("akima with noise takes a minimum only if most draws of the noise have it between the runs") {
  fit::IsoflopOptions options;
  options.method = fit::IsoflopMethod::akima;
  options.noise_sd = 0.02;
  options.resamples = 50;
  // The first and the third run are alike: about half of the draws have their minimum at the first.
  const fit::BudgetRuns torn = given({3.0, 3.2, 2.9999, 3.2, 3.3});
  int edges = 0;
  for (options.seed = 1; options.seed <= 30; ++options.seed) {
    const fit::Profile profile = profile_of(torn, options);
    const bool edge = profile.status == fit::ProfileStatus::edge;
    CHECK(edge == (profile.interior_share < 0.5));
    CHECK(profile.interior_share == doctest::Approx(0.5).epsilon(0.6));
    edges += edge ? 1 : 0;
  }
  CHECK(edges > 0);
  CHECK(edges < 30);
  const fit::Profile sure = profile_of(given({3.2, 3.05, 3.0, 3.06, 3.2}), options);
  CHECK(sure.status == fit::ProfileStatus::interior);
  CHECK(sure.interior_share == 1);
  REQUIRE(sure.parameters_interval);
  CHECK(sure.parameters_interval->low < sure.parameters_opt);
  CHECK(sure.parameters_interval->high > sure.parameters_opt);
}

TEST_CASE("noise that is known gives akima's exponents an interval that covers the truth, also from two profiles") {
  fit::IsoflopOptions options;
  options.method = fit::IsoflopMethod::akima;
  const Budgets exact = sampled(truth, 5, 9);
  CHECK_FALSE(fit::isoflop(exact, options).parameters.noise_interval);
  options.noise_sd = 0.003;
  options.resamples = 200;
  const double exponent = fit::allocation(truth).exponent_parameters;
  RandomStream random(21);
  int sets = 0, covered = 0;
  for (int repeat = 0; repeat < 100; ++repeat) {
    Budgets budgets = exact;
    for (fit::BudgetRuns& budget : budgets) {
      for (runs::Observation& row : budget.rows)
        row.loss += options.noise_sd * fit::detail::normal_quantile(random.uniform());
    }
    options.seed = static_cast<std::uint64_t>(repeat);
    const fit::IsoflopReport report = fit::isoflop(budgets, options);
    if (!report.parameters.noise_interval) continue;
    const Interval& interval = *report.parameters.noise_interval;
    ++sets;
    covered += interval.low <= exponent && exponent <= interval.high ? 1 : 0;
    CHECK(report.tokens.noise_interval->low == doctest::Approx(1 - interval.high).epsilon(1e-6));
  }
  CHECK(sets > 90);
  CHECK(covered > 0.8 * sets);
  const fit::IsoflopReport two = fit::isoflop(Budgets(exact.begin(), exact.begin() + 2), options);
  CHECK_FALSE(two.parameters.exponent_interval);
  CHECK(two.parameters.noise_interval);
}

TEST_CASE("90 percent intervals of a vertex and of an exponent cover the truth as often") {
  // Losses that are parabolas of ln N with the vertex off the middle, and normal noise.
  RandomStream random(11);
  const double slope = 0.55;
  int profiles = 0, covered = 0, bounded = 0, lines = 0, exponents = 0, predictions = 0;
  for (int repeat = 0; repeat < 1500; ++repeat) {
    Budgets budgets;
    for (int b = 0; b < 5; ++b) {
      const double flop = 1e18 * std::pow(10.0, b);
      const double optimum = 0.1 * std::pow(flop, slope);
      fit::BudgetRuns& budget = budgets.emplace_back();
      budget.flop = flop;
      for (int i = 0; i < 7; ++i) {
        const double u = -1.6 + 0.6 * i;
        const double n = optimum * std::exp(u);
        budget.rows.push_back({n, flop / (6 * n), 2.5 + 0.03 * u * u + 0.006 * normal(random), 1, 0});
      }
    }
    for (const fit::Profile& profile : fit::isoflop_profiles(budgets, as_published())) {
      ++profiles;
      if (!profile.parameters_interval) continue;
      ++bounded;
      const double optimum = 0.1 * std::pow(profile.flop, slope);
      covered += profile.parameters_interval->low <= optimum && optimum <= profile.parameters_interval->high ? 1 : 0;
    }
    const fit::IsoflopReport report = fit::isoflop(budgets, as_published());
    REQUIRE(report.parameters.exponent_interval);
    ++lines;
    const Interval exponent = *report.parameters.exponent_interval;
    exponents += exponent.low <= slope && slope <= exponent.high ? 1 : 0;
    const Interval there = *report.at(Flop(1e25)).parameters_interval;
    const double optimum = 0.1 * std::pow(1e25, slope);
    predictions += there.low <= optimum && optimum <= there.high ? 1 : 0;
  }
  // Four standard errors of a share of .9.
  CHECK(bounded > 0.99 * profiles);
  CHECK(std::abs(static_cast<double>(covered) / bounded - 0.9) < 4 * std::sqrt(0.09 / bounded));
  CHECK(std::abs(static_cast<double>(exponents) / lines - 0.9) < 4 * std::sqrt(0.09 / lines));
  CHECK(std::abs(static_cast<double>(predictions) / lines - 0.9) < 4 * std::sqrt(0.09 / lines));
}

TEST_CASE(
    "the parabola, its errors and Fieller's ends are those of the normal equations, on uneven and weighted points") {
  const std::vector<double> x{17.1, 17.2, 17.9, 18.0, 19.7, 20.4};
  const std::vector<double> y{3.11, 3.07, 2.93, 2.94, 2.99, 3.16};
  const std::vector<double> weight{1, 2, 1, 0.5, 3, 1};
  const auto fitted = fit::fit_parabola(x, y, weight, x.size());
  REQUIRE(fitted);
  Eigen::MatrixXd design(6, 3);
  Eigen::VectorXd observed(6), w(6);
  for (int i = 0; i < 6; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double u = x[k] - 18;
    design.row(i) << 1, u, u * u;
    observed[i] = y[k];
    w[i] = weight[k];
  }
  const Eigen::Matrix3d inverse = (design.transpose() * w.asDiagonal() * design).inverse();
  const Eigen::Vector3d c = inverse * design.transpose() * w.asDiagonal() * observed;
  const Eigen::VectorXd residual = observed - design * c;
  const Eigen::Matrix3d covariance = inverse * residual.dot(w.asDiagonal() * residual) / 3;
  const double vertex = -c[1] / (2 * c[2]);
  CHECK(fitted->vertex() == doctest::Approx(18 + vertex).epsilon(1e-12));
  CHECK(fitted->c2 == doctest::Approx(c[2]).epsilon(1e-10));
  CHECK((*fitted)(18) == doctest::Approx(c[0]).epsilon(1e-12));
  CHECK(fitted->curvature_error() == doctest::Approx(std::sqrt(covariance(2, 2))).epsilon(1e-10));
  const Eigen::Vector3d slope(0, -1 / (2 * c[2]), c[1] / (2 * c[2] * c[2]));
  CHECK(fitted->vertex_error() == doctest::Approx(std::sqrt(slope.dot(covariance * slope))).epsilon(1e-10));
  for (const double level : {0.5, 0.9}) {
    const auto interval = fitted->vertex_interval(level);
    REQUIRE(interval);
    CHECK(interval->low < fitted->vertex());
    CHECK(interval->high > fitted->vertex());
    for (const double end : {interval->low, interval->high}) {
      const Eigen::Vector3d gradient(0, 1, 2 * (end - 18));
      CHECK(std::abs(gradient.dot(c)) / std::sqrt(gradient.dot(covariance * gradient)) ==
            doctest::Approx(fit::detail::student_reach(level, 3)).epsilon(1e-8));
    }
  }
  // At a level at which the curvature may be zero there is no bounded interval.
  CHECK_FALSE(fitted->curved(0.9999));
  CHECK_FALSE(fitted->vertex_interval(0.9999));
  const std::vector<double> two{1, 2, 2};
  CHECK_FALSE(fit::fit_parabola(two, two, std::vector<double>(3, 1.0), 3));
}

TEST_CASE("sizes that agree to a thousandth are one, and its best run counts") {
  fit::IsoflopOptions options;
  options.method = fit::IsoflopMethod::akima;
  const fit::BudgetRuns once = given({3.10, 3.02, 3.00, 3.02, 3.11});
  fit::BudgetRuns again = once;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    // A worse run at a slightly smaller size, and one at a slightly larger.
    again.rows.push_back(again.rows[i]);
    again.rows.back().parameters *= i == 1 ? 1 - 1e-6 : 1 + 1e-6;
    again.rows.back().loss += 0.1;
  }
  const fit::Profile profile = profile_of(again, options);
  CHECK(profile.points == 7);
  CHECK(profile.sizes == 5);
  CHECK(profile.parameters_opt == profile_of(once, options).parameters_opt);
  options.same_size = 0;
  CHECK(profile_of(again, options).sizes == 7);
}

TEST_CASE("the bound of an edge lies beyond all runs that share the lowest loss") {
  const fit::BudgetRuns tied = given({3.00, 3.00, 3.04, 3.12, 3.21});
  const fit::Profile most = profile_of(tied);
  REQUIRE(most.bound);
  CHECK(most.bound->at_most);
  CHECK(most.bound->parameters == tied.rows[2].parameters);
  CHECK(most.bound->tokens == tied.rows[2].tokens);
  const fit::BudgetRuns reversed = given({3.21, 3.12, 3.04, 3.00, 3.00});
  const fit::Profile least = profile_of(reversed);
  REQUIRE(least.bound);
  CHECK_FALSE(least.bound->at_most);
  CHECK(least.bound->parameters == reversed.rows[2].parameters);
  CHECK(least.describe().find("N* at least") != std::string::npos);
}

TEST_CASE("each profile has noise of its own") {
  fit::BudgetRuns second = given({3.10, 3.02, 3.00, 3.03, 3.11});
  fit::BudgetRuns first = second;
  first.flop = 1e18;
  fit::IsoflopOptions options;
  options.method = fit::IsoflopMethod::akima;
  options.noise_sd = 0.005;
  options.smallest_spacing = 0;
  const auto profiles = fit::isoflop_profiles(std::vector{first, second}, options);
  CHECK(profiles[0].parameters_log_sd != profiles[1].parameters_log_sd);
  CHECK(profiles[0].parameters_log_sd == doctest::Approx(profiles[1].parameters_log_sd).epsilon(0.2));
  // More noise, less sure.
  options.noise_sd = 0.01;
  CHECK(profile_of(first, options).parameters_log_sd > 1.3 * profiles[0].parameters_log_sd);
}

TEST_CASE("Student's quantiles are those of the tables") {
  for (const reference::Row& row : reference::rows("isoflop_student.csv")) {
    reference::check(row, fit::detail::student_reach(row.number("level"),
                                                     static_cast<std::size_t>(row.number("degrees_of_freedom"))));
  }
}

TEST_CASE("two profiles give a power law without an interval, and one gives none") {
  Budgets two = {profile_near(truth, 1e18, 4, 9), profile_near(truth, 1e20, 4, 9)};
  const fit::IsoflopReport report = fit::isoflop(two);
  CHECK_FALSE(report.parameters.exponent_interval);
  CHECK_FALSE(report.at(Flop(1e22)).tokens_interval);
  CHECK(report.leave_one_out.empty());
  CHECK(warned(report.warnings, "interval_not_available"));
  CHECK(report.describe().find("no interval") != std::string::npos);
  two.pop_back();
  const Error one = thrown::by([&] { (void)fit::isoflop(two); });
  CHECK(one.failure() == Failure::no_answer);
  CHECK(one.code() == "too_few_profiles");
  CHECK(thrown::by([] { (void)fit::isoflop({}); }).failure() == Failure::no_answer);
}

TEST_CASE("a row written twice counts twice in the parabola and once in its interval") {
  Budgets budgets = sampled(truth, 4, 9);
  RandomStream random(9);
  add_noise(budgets, 0.003, random);
  const fit::BudgetRuns once = budgets[2];
  fit::BudgetRuns twice = once;
  twice.rows.insert(twice.rows.end(), once.rows.begin(), once.rows.end());
  fit::BudgetRuns heavy = once;
  for (runs::Observation& row : heavy.rows) row.weight = 2;
  const fit::Profile first = profile_of(once);
  for (const fit::BudgetRuns& other : {twice, heavy}) {
    const fit::Profile second = profile_of(other);
    CHECK(second.points == 9);
    CHECK(second.parameters_opt == doctest::Approx(first.parameters_opt).epsilon(1e-12));
    CHECK(second.parameters_interval->low == doctest::Approx(first.parameters_interval->low).epsilon(1e-10));
    CHECK(second.parameters_log_sd == doctest::Approx(first.parameters_log_sd).epsilon(1e-9));
    CHECK(second.residual_sd == doctest::Approx(first.residual_sd).epsilon(1e-9));
  }
  fit::BudgetRuns one_twice = once, one_heavy = once, left_out = once;
  one_twice.rows.push_back(once.rows[1]);
  one_heavy.rows[1].weight = 2;
  CHECK(profile_of(one_twice).parameters_opt == doctest::Approx(profile_of(one_heavy).parameters_opt).epsilon(1e-12));
  left_out.rows.push_back({1e9, 1e9, 99, 0, 0});
  CHECK(profile_of(left_out).describe() == first.describe());
}

TEST_CASE("runs are grouped by budget within the jitter, by found or by given budgets") {
  std::vector<runs::Observation> rows;
  std::vector<double> given_flop;
  RandomStream random(5);
  for (const double flop : {3e19, 1e18, 3e18, 1e19}) {
    for (int i = 0; i < 7; ++i) {
      const double c = flop * std::pow(1.09, 2 * random.uniform() - 1);
      const double n = std::sqrt(flop / 120) * std::pow(1.4, i - 3);
      rows.push_back({n, c / (6 * n), truth.loss(n, c / (6 * n)), 1, i});
      given_flop.push_back(flop);
    }
  }
  const fit::BudgetGroups found = fit::group_by_budget(rows);
  REQUIRE(found.budgets.size() == 4);
  CHECK(found.left_out.empty());
  CHECK(found.largest_jitter < 0.2);
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(found.budgets[k].rows.size() == 7);
    CHECK(found.budgets[k].flop == doctest::Approx(std::vector{1e18, 3e18, 1e19, 3e19}[k]).epsilon(0.09));
    if (k > 0) CHECK(found.budgets[k].flop > found.budgets[k - 1].flop);
  }
  const fit::BudgetGroups exact = fit::group_by_budget(rows, given_flop);
  CHECK(exact.budgets[2].flop == 1e19);
  CHECK(exact.largest_jitter < 1e-12);
  const fit::BudgetGroups named = fit::group_by_budget(rows, {}, {.tolerance = 0.1, .nominal = {1e19, 1e18, 3e19}});
  REQUIRE(named.budgets.size() == 3);
  CHECK(named.budgets[1].flop == 1e19);
  CHECK(named.left_out.size() == 7);
  CHECK(named.describe().find("21 runs in 3 budgets") != std::string::npos);
  // C that drifts without a gap is cut, not chained into one budget.
  std::vector<double> drifting;
  for (std::size_t i = 0; i < rows.size(); ++i) drifting.push_back(1e19 * std::pow(1.02, static_cast<double>(i)));
  const fit::BudgetGroups cut = fit::group_by_budget(rows, drifting, {.tolerance = 0.1});
  CHECK(cut.budgets.size() == 3);
  CHECK(cut.largest_jitter < 0.11);
  CHECK(fit::group_by_budget({}).budgets.empty());
}

TEST_CASE("the 6 N D of ml-scalefit's rows finds their nine nominal budgets") {
  const auto table = fit_data::table("isoflop_ml_scalefit.csv");
  if (!table) return;
  const std::vector<double> nominal{6e18, 1e19, 3e19, 6e19, 1e20, 3e20, 6e20, 1e21, 3e21};
  const auto rows = fit_data::rows(*table);
  const fit::BudgetGroups named = fit::group_by_budget(rows, {}, {.tolerance = 0.12, .nominal = nominal});
  CHECK(named.left_out.empty());
  const auto by_column = published("isoflop_ml_scalefit.csv", "all");
  REQUIRE(named.budgets.size() == 9);
  for (std::size_t k = 0; k < 9; ++k) CHECK(named.budgets[k].rows.size() == (*by_column)[k].rows.size());
  const fit::BudgetGroups found = fit::group_by_budget(rows, {}, {.tolerance = 0.12});
  REQUIRE(found.budgets.size() == 9);
  for (std::size_t k = 0; k < 9; ++k) CHECK(found.budgets[k].flop == doctest::Approx(nominal[k]).epsilon(0.12));
}

TEST_CASE("rows, budgets and options that cannot be used are refused by name") {
  const Budgets good = sampled(truth, 4, 9);
  for (const double bad : {0.0, -1.2, std::nan(""), HUGE_VAL}) {
    for (int field = 0; field < 3; ++field) {
      Budgets budgets = good;
      runs::Observation& row = budgets[1].rows[3];
      (field == 0 ? row.parameters : field == 1 ? row.tokens : row.loss) = bad;
      const Error error = thrown::by([&] { (void)fit::isoflop(budgets); });
      CHECK(error.failure() == Failure::data);
      CHECK(error.where() == "row 4");
      CHECK(thrown::by([&] { (void)fit::group_by_budget(budgets[1].rows); }).failure() == Failure::data);
    }
    Budgets budgets = good;
    budgets[1].flop = bad;
    CHECK(thrown::by([&] { (void)fit::isoflop(budgets); }).failure() == Failure::data);
    CHECK(thrown::by([&] { (void)fit::isoflop(good).at(Flop(bad)); }).failure() == Failure::usage);
  }
  Budgets repeated = good;
  repeated.push_back(good[0]);
  CHECK(thrown::by([&] { (void)fit::isoflop(repeated); }).code() == "repeated_budget");
  const auto refused = [&](const fit::IsoflopOptions& options) {
    return thrown::by([&] { (void)fit::isoflop(good, options); }).failure() == Failure::usage;
  };
  CHECK(refused({.level = 1}));
  CHECK(refused({.level = std::nan("")}));
  CHECK(refused({.fewest_sizes = 2}));
  CHECK(refused({.noise_sd = -1}));
  CHECK(refused({.noise_sd = std::nan("")}));
  CHECK(refused({.same_size = 1}));
  CHECK(refused({.method = fit::IsoflopMethod::surface}));
  CHECK(refused({.method = fit::IsoflopMethod::lowest, .weighted = true}));
  CHECK(refused({.method = fit::IsoflopMethod::akima, .weighted = true}));
  CHECK(thrown::by([&] { (void)fit::group_by_budget(good[0].rows, std::vector{1e19}); }).failure() == Failure::usage);
  CHECK(thrown::by([&] { (void)fit::group_by_budget(good[0].rows, {}, {.tolerance = -1}); }).failure() ==
        Failure::usage);
}

TEST_CASE("profiles without variety are too few or flat, and never a crash or a number") {
  for (const auto method : {fit::IsoflopMethod::parabola, fit::IsoflopMethod::lowest, fit::IsoflopMethod::akima}) {
    for (const bool control : {true, false}) {
      fit::IsoflopOptions options;
      options.method = method;
      options.quality_control = control;
      fit::BudgetRuns same{1e19, {}};
      for (int i = 0; i < 6; ++i) same.rows.push_back({1e9, 1e19 / 6e9, 2.5 + 0.01 * i, 1, 0});
      const fit::Profile one_size = profile_of(same, options);
      CHECK(one_size.status == fit::ProfileStatus::too_few);
      CHECK(one_size.used == (!control && method == fit::IsoflopMethod::lowest));
      CHECK(profile_of({1e19, {}}, options).status == fit::ProfileStatus::too_few);
      CHECK(profile_of({1e19, {{1e9, 1e10, 2.5, 0, 0}}}, options).points == 0);
      fit::BudgetRuns two_sizes = same;
      for (std::size_t i = 0; i < 3; ++i) two_sizes.rows[i].parameters = 2e9;
      CHECK(profile_of(two_sizes, options).status == fit::ProfileStatus::too_few);
      // Losses that repeat to the bit, and sizes that differ in the last digit only.
      const fit::Profile level = profile_of(given(std::vector<double>(7, 2.5)), options);
      CHECK(level.status == fit::ProfileStatus::flat);
      fit::BudgetRuns close{1e19, {}};
      for (int i = 0; i < 6; ++i) close.rows.push_back({1e9 * (1 + 1e-12 * i), 1e19 / 6e9, 2.5 + 0.01 * i, 1, 0});
      CHECK(profile_of(close, options).sizes == 1);
      fit::BudgetRuns extreme = given({1e90, 1e-90, 1e-90, 1e90, 3});
      CHECK_NOTHROW((void)profile_of(extreme, options));
    }
  }
}

TEST_CASE("runs of one D are no profile along D, and do not enter the power law") {
  fit::BudgetRuns one_d = given({3.10, 3.02, 3.00, 3.02, 3.11});
  for (runs::Observation& row : one_d.rows) row.tokens = 2e10;
  const fit::Profile profile = profile_of(one_d);
  CAPTURE(profile.describe());
  CHECK(profile.status == fit::ProfileStatus::edge);
  CHECK_FALSE(profile.used);
  CHECK(profile.reason.find("along D") != std::string::npos);
  CHECK_FALSE(profile_of(one_d, as_published()).used);
}

TEST_CASE("akima passes through its points, repeats a parabola of even points, and finds the exact lowest point") {
  std::vector<double> x, y;
  for (int i = 0; i < 7; ++i) {
    x.push_back(0.5 * i);
    y.push_back(1 + std::pow(x.back() - 1.3, 2));
  }
  const fit::Akima even(x, y);
  for (double at = 0; at <= 3; at += 0.07) CHECK(even(at) == doctest::Approx(1 + std::pow(at - 1.3, 2)).epsilon(1e-12));
  CHECK(even.lowest().x == doctest::Approx(1.3).epsilon(1e-12));
  CHECK(even.lowest().y == doctest::Approx(1).epsilon(1e-12));
  CHECK_FALSE(even.lowest().at_end);
  RandomStream random(3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> px{0}, py{random.uniform()};
    const int n = 2 + static_cast<int>(random.below(9));
    for (int i = 1; i < n; ++i) {
      px.push_back(px.back() + 0.05 + random.uniform());
      py.push_back(random.uniform());
    }
    const fit::Akima curve(px, py);
    for (std::size_t i = 0; i < px.size(); ++i) CHECK(curve(px[i]) == doctest::Approx(py[i]).epsilon(1e-12));
    const fit::Akima::Point lowest = curve.lowest();
    const fit::Akima::Point grid = curve.lowest_on_grid(400);
    CHECK(lowest.y <= grid.y + 1e-12);
    CHECK(lowest.y > grid.y - 1e-3);
    CHECK(curve(lowest.x) == doctest::Approx(lowest.y).epsilon(1e-12));
    CHECK(lowest.at_end == (lowest.x == px.front() || lowest.x == px.back()));
    // Slopes are continuous at the points.
    for (std::size_t i = 1; i + 1 < px.size(); ++i) {
      const double h = 1e-6;
      CHECK(std::abs((curve(px[i]) - curve(px[i] - h)) / h - curve.slopes()[i]) < 5e-3);
      CHECK(std::abs((curve(px[i] + h) - curve(px[i])) / h - curve.slopes()[i]) < 5e-3);
    }
  }
  // One point that is off leaves a straight stretch three points away as it was.
  std::vector<double> line_x, line_y;
  for (int i = 0; i < 11; ++i) {
    line_x.push_back(i);
    line_y.push_back(i == 5 ? 50.0 : 2.0 * i);
  }
  const fit::Akima off(line_x, line_y);
  CHECK(off(1.5) == doctest::Approx(3).epsilon(1e-12));
  CHECK(off(8.5) == doctest::Approx(17).epsilon(1e-12));
  CHECK(thrown::by([] { fit::Akima({1}, {1}); }).failure() == Failure::usage);
  CHECK(thrown::by([] { fit::Akima({1, 1}, {1, 2}); }).failure() == Failure::usage);
  CHECK(thrown::by([] { fit::Akima({1, 2}, {1, std::nan("")}); }).failure() == Failure::usage);
}

TEST_CASE("the surface's optimum is the closed form, and stands beside the other methods") {
  Budgets budgets = sampled(truth, 4, 11);
  RandomStream random(21);
  add_noise(budgets, 0.002, random);
  std::vector<double> flop;
  for (const fit::BudgetRuns& budget : budgets) flop.push_back(budget.flop);
  const fit::IsoflopReport surface = fit::isoflop_surface(truth, flop);
  const fit::Allocation split = fit::allocation(truth);
  CHECK(surface.parameters.exponent == split.exponent_parameters);
  CHECK(surface.at(Flop(3.8e25)).parameters / split.parameters(Flop(3.8e25)) == doctest::Approx(1).epsilon(1e-12));
  CHECK(surface.at(Flop(3.8e25)).tokens / split.tokens(Flop(3.8e25)) == doctest::Approx(1).epsilon(1e-12));
  CHECK_FALSE(surface.parameters.exponent_interval);
  const fit::MethodComparison comparison = fit::compare_methods(budgets, {}, &truth);
  REQUIRE(comparison.reports.size() == 4);
  for (const fit::IsoflopReport& report : comparison.reports) {
    CAPTURE(report.describe());
    CHECK(std::abs(report.parameters.exponent - split.exponent_parameters) < 0.03);
  }
  CHECK(comparison.describe().find("\nsurface, 5 of 5 budgets") != std::string::npos);
  budgets.resize(1);
  const fit::MethodComparison alone = fit::compare_methods(budgets);
  CHECK(alone.reports.empty());
  CHECK(alone.refused.size() == 3);
  // Intervals of the surface are those of its refits.
  std::vector<runs::Observation> rows = fit_data::planned(truth);
  fit_data::add_noise(rows, 0.004, random);
  fit::BootstrapOptions resampling;
  resampling.resamples = 200;
  resampling.threads = 1;
  const fit::BootstrapReport boot = fit::bootstrap(rows, fit::chinchilla(rows), resampling);
  const fit::IsoflopReport refits = fit::isoflop_surface(boot, flop);
  REQUIRE(refits.profiles[3].parameters_interval);
  CHECK(refits.profiles[3].parameters_interval->low < refits.profiles[3].parameters_opt);
  CHECK(refits.profiles[3].parameters_interval->high > refits.profiles[3].parameters_opt);
  CHECK(refits.parameters.exponent_interval->low < split.exponent_parameters);
  CHECK(refits.parameters.exponent_interval->high > split.exponent_parameters);
  const fit::IsoflopReport single = fit::isoflop_surface(truth, std::vector{1e20});
  CHECK(single.at(Flop(1e24)).tokens / split.tokens(Flop(1e24)) == doctest::Approx(1).epsilon(1e-12));
  CHECK_FALSE(single.at(Flop(1e24)).tokens_interval);
  CHECK(thrown::by([] { (void)fit::isoflop_surface(truth, {}); }).failure() == Failure::usage);
  Law no_tokens = truth;
  no_tokens.token_coefficient = 0;
  CHECK(thrown::by([&] { (void)fit::isoflop_surface(no_tokens, flop); }).exit_status() == 5);
}
