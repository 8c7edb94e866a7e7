// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <memory>

#include "command.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct Options {
  RunOptions runs;
  std::string law = "chinchilla";
  std::string residual = "log";
  std::string loss = "huber";
  std::string delta = "1e-3";
  std::string resamples = "1000";
  std::string unit = "rows";
  std::string starts = "global";
  std::string seed = "1";
  std::string level = "0.9";
  Text threads;
};

fit::ChinchillaOptions estimator(const Options& o, unsigned threads) {
  fit::ChinchillaOptions out;
  out.estimator.residual = o.residual == "raw" ? fit::Residual::raw : fit::Residual::log;
  out.estimator.loss = o.loss == "mse"   ? fit::Loss::least_squares
                       : o.loss == "lad" ? fit::Loss::least_absolute_deviations
                                         : fit::Loss::huber;
  if (o.delta == "auto") {
    out.automatic_delta = true;
  } else {
    out.estimator.delta = parse_number(o.delta, "--delta");
  }
  out.start = o.starts == "hoffmann" ? fit::StartPolicy::hoffmann_grid : fit::StartPolicy::global;
  out.threads = threads;
  return out;
}

struct Coefficient {
  const char* name;
  double law::Chinchilla<>::*field;
};
constexpr Coefficient coefficients[] = {{"E", &law::Chinchilla<>::irreducible_loss},
                                        {"A", &law::Chinchilla<>::parameter_coefficient},
                                        {"B", &law::Chinchilla<>::token_coefficient},
                                        {"alpha", &law::Chinchilla<>::parameter_exponent},
                                        {"beta", &law::Chinchilla<>::token_exponent}};

Answer answer_fit(const Session& session, const Options& o) {
  const double level = parse<Fraction>(o.level, "--level").value;
  if (!(level > 0 && level < 1))
    throw Error(Failure::usage, "out_of_range", "--level", "must be between 0 and 1, got " + o.level);
  const unsigned threads = whole_option<unsigned>(o.threads.value_or("0"), "--threads", 1024);
  const auto resamples = whole_option<std::size_t>(o.resamples, "--bootstrap", 1000000);
  Answer answer;
  const runs::RunTable table = o.runs.read(answer.warnings, o.unit == "budgets");
  const fit::ChinchillaReport report = fit::chinchilla(table.observations, estimator(o, threads));
  for (const Warning& w : report.warnings) answer.warnings.push_back(w);

  fit::BootstrapReport boot;
  boot.estimate = report.law;
  if (resamples > 0) {
    fit::BootstrapOptions options;
    options.resamples = resamples;
    options.seed = whole_option<std::uint64_t>(o.seed, "--seed", 9e15);
    options.threads = threads;
    options.unit = o.unit == "budgets" ? fit::ResampleUnit::groups : fit::ResampleUnit::rows;
    options.stop = session.interruptible();
    boot = fit::bootstrap(table.observations, report, options);
    for (const Warning& w : boot.warnings) answer.warnings.push_back(w);
    answer.interrupted = boot.stopped;
  }
  const auto uncertain = [&](const auto& quantity) {
    const Estimate e = fit::estimate(boot, quantity, level);
    report::Json out = {{"value", e.value}};
    const bool known = boot.available && std::isfinite(e.standard_error);
    out["se"] = known ? report::Json(e.standard_error) : report::Json(nullptr);
    out["low"] = known ? report::Json(e.interval.low) : report::Json(nullptr);
    out["high"] = known ? report::Json(e.interval.high) : report::Json(nullptr);
    out["level"] = level;
    return out;
  };
  report::Table coefficients_table({"coefficient", "value", "standard error", "low", "high"});
  const auto add_row = [&coefficients_table](const std::string& name, const report::Json& e) {
    const auto cell = [&e](const char* key, int digits) {
      return e[key].is_null() ? report::Cell() : report::Cell(e[key].get<double>(), digits);
    };
    coefficients_table.add({name, cell("value", 7), cell("se", 3), cell("low", 5), cell("high", 5)});
  };
  report::Json parameters;
  for (const Coefficient& c : coefficients) {
    parameters[c.name] = uncertain([&c](const law::Chinchilla<>& law) { return law.*c.field; });
    add_row(c.name, parameters[c.name]);
  }
  const auto exponent =
      uncertain([](const law::Chinchilla<>& law) { return fit::allocation(law).exponent_parameters; });
  add_row("exponent of N*(C)", exponent);
  const fit::Allocation allocation = fit::allocation(report.law);
  const auto range = [](std::optional<double> low, std::optional<double> high) {
    return report::Json{{"low", report::json(low)}, {"high", report::json(high)}};
  };
  const fit::Estimator& used = report.options.estimator;
  answer.inputs = o.runs.inputs();
  answer.inputs["law"] = o.law;
  answer.inputs["bootstrap"] = resamples;
  answer.inputs["resample_unit"] = o.unit;
  answer.inputs["seed"] = o.seed;
  answer.result = {
      {"law", o.law},
      {"form", "E + A/N^alpha + B/D^beta"},
      {"estimator",
       {{"residual", fit::to_text(used.residual)},
        {"loss", fit::to_text(used.loss)},
        {"delta", used.loss == fit::Loss::huber ? report::Json(used.delta) : report::Json(nullptr)}}},
      {"objective", report.objective},
      {"parameters", std::move(parameters)},
      {"allocation",
       {{"exponent_parameters", allocation.exponent_parameters},
        {"exponent_tokens", allocation.exponent_tokens},
        {"coefficient", allocation.coefficient},
        {"exponent_parameters_estimate", exponent}}},
      {"rows", rows_json(table)},
      {"search",
       {{"starts", report.search.starts},
        {"agreeing", report.search.agreeing},
        {"evaluations", report.search.evaluations},
        {"converged", report.search.converged}}},
      {"identifiable", report.identifiability.identifiable},
      {"at_bound", report.at_bound},
      {"fit_range",
       {{"parameters", range(report.range.parameters_low, report.range.parameters_high)},
        {"tokens", range(report.range.tokens_low, report.range.tokens_high)},
        {"flop", range(report.range.flop_low, report.range.flop_high)}}},
      {"degrees_of_freedom", report.degrees_of_freedom},
      {"residual_sd", std::isfinite(report.residual_sd) ? report::Json(report.residual_sd) : report::Json(nullptr)},
      {"robust_residual_sd",
       std::isfinite(report.robust_residual_sd) ? report::Json(report.robust_residual_sd) : report::Json(nullptr)},
      {"bootstrap",
       {{"resamples", boot.resamples},
        {"answered", boot.laws.size()},
        {"failed", boot.failed},
        {"available", boot.available}}}};
  if (used.loss == fit::Loss::huber && std::isfinite(report.robust_residual_sd) && report.robust_residual_sd > 0) {
    const double ratio = used.delta / report.robust_residual_sd;
    answer.result["delta_over_residual_sd"] = ratio;
  }
  answer.text = table.describe() + "\n" + report.describe() + "\n\n" + coefficients_table.text() + "\n" +
                (boot.available ? print_number(100 * level) + "% intervals from " + std::to_string(boot.laws.size()) +
                                      " resamples of " + o.unit + ", bias-corrected\n"
                                : "no interval is available\n") +
                "compute-optimal: N* = " + print_number(allocation.coefficient, 5) + " (C/6)^" +
                print_number(allocation.exponent_parameters, 5) + ", D* = (C/6)^" +
                print_number(allocation.exponent_tokens, 5) + " / " + print_number(allocation.coefficient, 5) + "\n";
  answer.table = std::move(coefficients_table);
  return answer;
}

}  // namespace

void add_fit(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("fit", "The law that training runs support, with its uncertainty, or a refusal",
                               [o](const Session& s) { return answer_fit(s, *o); });
  o->runs.add_to(sub);
  sub.option("--law", o->law, "The form to fit", {"chinchilla"});
  sub.option("--residual", o->residual, "Of ln L or of L", {"log", "raw"});
  sub.option("--loss", o->loss, "What is summed over the rows", {"huber", "mse", "lad"});
  sub.option("--delta", o->delta, "Huber's threshold, or auto for 1.345 residual sd");
  sub.option("--bootstrap", o->resamples, "Resamples behind the intervals; 0 for none");
  sub.option("--resample", o->unit, "What is resampled", {"rows", "budgets"});
  sub.option("--starts", o->starts, "The exact search, or also Hoffmann's 4,500 starts", {"global", "hoffmann"});
  sub.option("--level", o->level, "Level of the intervals");
  sub.option("--seed", o->seed, "Seed of the resamples");
  sub.option("--threads", o->threads, "Threads; all cores if not given. The answer does not depend on it");
}

}  // namespace floplan::cli
