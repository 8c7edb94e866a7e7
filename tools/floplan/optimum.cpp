// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "demand_source.hpp"
#include "estimator_source.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/optimum/purchase.hpp"
#include "floplan/report/optimum_json.hpp"
#include "floplan/report/optimum_text.hpp"
#include "law_source.hpp"

namespace floplan::cli {
namespace {

struct OptimumOptions {
  std::string laws = "besiroglu-2024";
  Text flop, loss, params, max_params, tokens, unique_tokens;
  Text inference_tokens, input_tokens, output_tokens;
  Text train_accelerator, train_precision, train_price, train_mfu;
  Text serve_accelerator, serve_precision, serve_price, input_mfu, output_mfu;
  Text serve_count, serve_usable;
  Text deadline, accelerator, count, precision, mfu;
  Text active_share;
  LawPoint others;  // the law's other inputs
  std::string level = "0.9";
  DemandOptions demand;
};

template <class Q>
std::optional<Q> given(const Text& text, const char* option) {
  return text ? std::optional(parse<Q>(*text, option)) : std::nullopt;
}

catalog::Precision precision_of(const Text& text, const char* option) {
  return text ? catalog::precision_named(*text, option) : catalog::Precision::bf16;
}

FlopPerSecond dense_peak(const catalog::Accelerator& on, catalog::Precision precision, const char* option) {
  if (const auto peak = on.dense_peak(precision)) return *peak;
  throw Error(Failure::usage, "no_peak", option,
              "the catalog has no dense " + catalog::to_text(precision) + " peak for " + on.name);
}

// USD a useful FLOP on an accelerator: its price, its dense peak, and the share of it that is used.
double usd_per_flop(const Session& session, const std::string& accelerator, const char* accelerator_option,
                    catalog::Precision precision, const Text& price, const char* price_option, Fraction mfu) {
  const catalog::Accelerator on = session.catalog.accelerator(accelerator, accelerator_option);
  const FlopPerSecond peak = dense_peak(on, precision, accelerator_option);
  if (price) return optimum::usd_per_flop(parse<DollarsPerHour>(*price, price_option), peak, mfu);
  const auto known = session.catalog.latest_price(on.name);
  if (!known)
    throw Error(Failure::usage, "missing_option", price_option, "is needed: no price is known for " + on.name);
  return optimum::usd_per_flop(*known->typical, peak, mfu);
}

// The inputs of laws that are neither chosen here nor the question itself.
std::vector<law::Input> other_inputs() {
  using law::Input;
  std::vector<Input> out;
  for (std::size_t i = 0; i < law::input_table.size(); ++i) {
    const auto input = static_cast<Input>(i);
    if (input != Input::parameters && input != Input::active_parameters && input != Input::tokens &&
        input != Input::unique_tokens && input != Input::flop && input != Input::loss)
      out.push_back(input);
  }
  return out;
}

optimum::Setting setting_of(const OptimumOptions& o) {
  optimum::Setting out;
  for (const law::Input input : other_inputs()) {
    if (const auto value = value_of(o.others, input)) out.set(input, *value);
  }
  if (o.active_share) out.active_share = parse<Fraction>(*o.active_share, "--active-share").value;
  return out;
}

std::optional<optimum::Deadline> deadline_of(const Session& session, const OptimumOptions& o) {
  if (!o.deadline) {
    for (const auto& [text, option] : {std::pair(&o.accelerator, "--accelerator"),
                                       {&o.count, "--count"},
                                       {&o.mfu, "--mfu"},
                                       {&o.precision, "--precision"}}) {
      if (*text) throw Error(Failure::usage, "missing_option", option, "is of a deadline: give --deadline too");
    }
    return std::nullopt;
  }
  if (!o.count) throw Error(Failure::usage, "missing_option", "--count", "is needed with --deadline");
  const catalog::Accelerator on = session.catalog.accelerator(o.accelerator.value_or("h100-sxm"), "--accelerator");
  return optimum::Deadline{
      parse<Count>(*o.count, "--count"), dense_peak(on, precision_of(o.precision, "--precision"), "--accelerator"),
      given<Fraction>(o.mfu, "--mfu").value_or(Fraction(0.4)), parse<Seconds>(*o.deadline, "--deadline")};
}

std::optional<optimum::ServingMachine> machine_of(const Session& session, const OptimumOptions& o) {
  if (!o.serve_count) {
    if (o.serve_usable)
      throw Error(Failure::usage, "missing_option", "--serve-usable", "is of a machine: give --serve-count too");
    return std::nullopt;
  }
  const catalog::Accelerator on =
      session.catalog.accelerator(o.serve_accelerator.value_or("h100-sxm"), "--serve-accelerator");
  if (!on.memory) {
    throw Error(Failure::usage, "no_memory", "--serve-accelerator",
                "the catalog does not know the memory of " + on.name);
  }
  return optimum::ServingMachine{
      on.name, parse<Count>(*o.serve_count, "--serve-count"), *on.memory,
      precision_of(o.serve_precision, "--serve-precision"),
      given<Fraction>(o.serve_usable, "--serve-usable").value_or(Fraction(optimum::usual_usable_memory))};
}

optimum::Demand demand_of(const Session& session, const OptimumOptions& o) {
  optimum::Demand out;
  if (o.inference_tokens && (o.input_tokens || o.output_tokens)) {
    throw Error(Failure::usage, "bad_question", "--inference-tokens",
                "is the sum of --input-tokens and --output-tokens: give it or those");
  }
  out.output = given<Tokens>(o.inference_tokens, "--inference-tokens").value_or(Tokens(0));
  if (o.input_tokens || o.output_tokens) {
    out.input = given<Tokens>(o.input_tokens, "--input-tokens").value_or(Tokens(0));
    out.output = given<Tokens>(o.output_tokens, "--output-tokens").value_or(Tokens(0));
  }
  // With --serve-count the accelerator may be there for its memory alone.
  const bool priced = o.train_accelerator || o.train_price || o.serve_price || (o.serve_accelerator && !o.serve_count);
  for (const auto& [text, option] : {std::pair(&o.train_precision, "--train-precision"),
                                     {&o.train_mfu, "--train-mfu"},
                                     {&o.serve_precision, "--serve-precision"},
                                     {&o.input_mfu, "--input-mfu"},
                                     {&o.output_mfu, "--output-mfu"}}) {
    if (text == &o.serve_precision && o.serve_count) continue;
    if (*text && !priced) {
      throw Error(Failure::usage, "missing_option", option,
                  "is of dollars: give --train-accelerator or --train-price too");
    }
  }
  if (!priced) return out;
  const std::string train = o.train_accelerator.value_or("h100-sxm");
  const std::string serve = o.serve_accelerator.value_or(train);
  const Text serve_price = o.serve_price || serve != train ? o.serve_price : o.train_price;
  const auto mfu = [](const Text& text, const char* option, double usual) {
    return given<Fraction>(text, option).value_or(Fraction(usual));
  };
  const catalog::Precision precision = precision_of(o.serve_precision, "--serve-precision");
  out.prices.training =
      usd_per_flop(session, train, "--train-accelerator", precision_of(o.train_precision, "--train-precision"),
                   o.train_price, "--train-price", mfu(o.train_mfu, "--train-mfu", 0.5));
  out.prices.input = usd_per_flop(session, serve, "--serve-accelerator", precision, serve_price, "--serve-price",
                                  mfu(o.input_mfu, "--input-mfu", 0.5));
  out.prices.output = usd_per_flop(session, serve, "--serve-accelerator", precision, serve_price, "--serve-price",
                                   mfu(o.output_mfu, "--output-mfu", 0.01));
  return out;
}

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> out(1);
  for (const char c : list) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// What a lifetime of requests is trained and served on; without a price it is the catalog's latest.
DemandMachines machines_of(const Session& session, const OptimumOptions& o) {
  DemandMachines on;
  on.train = session.catalog.accelerator(o.train_accelerator.value_or("h100-sxm"), "--train-accelerator");
  on.serve = session.catalog.accelerator(o.serve_accelerator.value_or(on.train.name), "--serve-accelerator");
  on.train_precision = precision_of(o.train_precision, "--train-precision");
  on.serve_precision = precision_of(o.serve_precision, "--serve-precision");
  static_cast<void>(dense_peak(on.train, on.train_precision, "--train-accelerator"));
  const auto price = [&session](const Text& text, const char* option, const catalog::Accelerator& a) {
    if (text) return parse<DollarsPerHour>(*text, option);
    if (const auto known = session.catalog.latest_price(a.name)) return *known->typical;
    throw Error(Failure::usage, "missing_option", option, "is needed: no price is known for " + a.name);
  };
  on.train_price = price(o.train_price, "--train-price", on.train);
  on.serve_price = !o.serve_price && on.serve.name == on.train.name ? on.train_price
                                                                    : price(o.serve_price, "--serve-price", on.serve);
  on.train_mfu = given<Fraction>(o.train_mfu, "--train-mfu").value_or(Fraction(0.5));
  return on;
}

Answer answer_lifetime(const Session& session, const OptimumOptions& o) {
  for (const auto& [text, option] : {std::pair(&o.params, "--params"),
                                     {&o.max_params, "--max-params"},
                                     {&o.tokens, "--tokens"},
                                     {&o.unique_tokens, "--unique-tokens"},
                                     {&o.inference_tokens, "--inference-tokens"},
                                     {&o.input_tokens, "--input-tokens"},
                                     {&o.output_tokens, "--output-tokens"},
                                     {&o.input_mfu, "--input-mfu"},
                                     {&o.output_mfu, "--output-mfu"},
                                     {&o.serve_count, "--serve-count"},
                                     {&o.serve_usable, "--serve-usable"},
                                     {&o.deadline, "--deadline"},
                                     {&o.active_share, "--active-share"}}) {
    if (*text)
      throw Error(Failure::usage, "conflict", option, "has no place beside --demand, whose serving is modelled");
  }
  if (!o.demand.requests)
    throw Error(Failure::usage, "missing_option", "--demand", "is needed with " + o.demand.given().value_or(""));
  if (o.flop.has_value() == o.loss.has_value())
    throw Error(Failure::usage, "bad_question", "--flop", "or --loss is needed with --demand, and one of them");
  if (names_of(o.laws).size() != 1)
    throw Error(Failure::usage, "bad_question", "--law", "must name one law with --demand, got " + o.laws);
  return answer_demand(fit::find_any_law(o.laws, "--law", session.catalog), o.demand, machines_of(session, o),
                       given<Flop>(o.flop, "--flop"),
                       o.loss ? std::optional(parse_number(*o.loss, "--loss")) : std::nullopt);
}

Answer answer_optimum(const Session& session, const OptimumOptions& o) {
  if (o.demand.given()) return answer_lifetime(session, o);
  optimum::Question q;
  q.budget = given<Flop>(o.flop, "--flop");
  if (o.loss) q.loss = parse_number(*o.loss, "--loss");
  const std::optional<optimum::Deadline> deadline = deadline_of(session, o);
  const int asked_for = int(q.budget.has_value()) + int(q.loss.has_value()) + int(deadline.has_value());
  if (asked_for == 0)
    throw Error(Failure::usage, "missing_option", "--flop", "or --loss or --deadline is needed: what is to be bought?");
  if (asked_for > 1)
    throw Error(Failure::usage, "bad_question", "--flop", "--loss and --deadline exclude each other: give one of them");
  if (deadline) q.budget = deadline->budget();
  Answer answer;
  q.parameters = given<Parameters>(o.params, "--params");
  q.most_parameters = given<Parameters>(o.max_params, "--max-params");
  q.tokens = given<Tokens>(o.tokens, "--tokens");
  q.unique_tokens = given<Tokens>(o.unique_tokens, "--unique-tokens");
  q.demand = demand_of(session, o);
  q.machine = machine_of(session, o);
  q.setting = setting_of(o);
  const bool priced = q.demand.prices.training != 1;
  const double level = level_of(o.level);

  std::vector<law::AnyLaw> laws;
  for (const std::string& name : names_of(o.laws)) laws.push_back(fit::find_any_law(name, "--law", session.catalog));
  optimum::require_used(laws, q.setting);
  for (const law::AnyLaw& law : laws) {
    if (!q.loss || law.loss_unit == laws.front().loss_unit) continue;
    throw Error(Failure::usage, "loss_units", "--loss",
                "means different things to these laws: " + laws.front().name + " speaks of " + laws.front().loss_unit +
                    ", " + law.name + " of " + law.loss_unit);
  }
  if (priced) {
    std::string assumed;
    const auto assume = [&assumed](const Text& text, const char* what) {
      if (!text) assumed += (assumed.empty() ? "" : ", ") + std::string(what);
    };
    assume(o.train_mfu, "50% of the dense peak in training (--train-mfu)");
    if (q.demand.input.value > 0) assume(o.input_mfu, "50% while reading (--input-mfu)");
    if (q.demand.output.value > 0) assume(o.output_mfu, "1% while writing (--output-mfu)");
    if (!assumed.empty()) answer.warnings.push_back({"assumed", "dollars assume a utilisation of " + assumed});
    if (o.inference_tokens)
      answer.warnings.push_back({"assumed",
                                 "every token served is taken as written, the dear kind: give --input-tokens "
                                 "and --output-tokens apart"});
  }
  std::vector<report::AskedLaw> asked;
  std::vector<optimum::Purchase> purchases;
  for (law::AnyLaw& law : laws) {
    optimum::Purchase p = optimum::buy(session.catalog, law, q, level);
    for (const Warning& w : p.warnings)
      answer.warnings.push_back(
          {w.code, laws.size() > 1 && !w.message.starts_with(law.name) ? law.name + ": " + w.message : w.message});
    if (deadline && p.training_flop().value > q.budget->value * (1 + 1e-9)) {
      throw Error(Failure::infeasible, "over_deadline", "--deadline",
                  law.name + ": with what is to be served, the loss that these FLOP reach takes " +
                      print(p.training_flop(), 4) + " FLOP of training, " +
                      print_short(deadline->duration * (p.training_flop() / *q.budget)) +
                      " on this cluster: give more time, a --loss, or ask without serving");
    }
    purchases.push_back(p);
    asked.push_back({std::move(law), std::move(p), priced});
  }
  if (asked.size() > 1) answer.warnings.push_back(optimum::law_choice(optimum::spread(purchases)));
  for (const report::AskedLaw& a : asked) {
    if (a.law.parameter_convention != asked.front().law.parameter_convention) {
      answer.warnings.push_back(
          {"mixed_conventions", "N is not one count here: " + asked.front().law.name + " counts " +
                                    optimum::counted_text(asked.front().law.parameter_convention) + ", " + a.law.name +
                                    " " + optimum::counted_text(a.law.parameter_convention)});
      break;
    }
  }
  answer.inputs = report::question_json(q);
  answer.inputs["law"] = o.laws;
  answer.inputs["level"] = level;
  answer.result = report::optimum_json(asked);
  answer.text = report::optimum_text(asked, level);
  if (deadline) {
    answer.result["deadline"] = report::deadline_json(*deadline);
    answer.text = print(*q.budget, 4) + " FLOP in " + print_short(deadline->duration) + " on " +
                  print_short(deadline->accelerators) + " accelerators at " + print(deadline->mfu) + " of " +
                  print(deadline->peak, 4) + "\n\n" + answer.text;
    answer.warnings.push_back(
        {"deadline_without_failures",
         "the deadline's FLOP are those of a cluster that never stops: floplan plan counts failures, "
         "restarts and checkpoints"});
  }
  answer.table = report::optimum_table(asked);
  return answer;
}

}  // namespace

void add_optimum(Program& program) {
  const auto o = std::make_shared<OptimumOptions>();
  Subcommand sub = program.add("optimum", "The N and D to buy for a budget or a loss, serving included",
                               [o](const Session& s) { return answer_optimum(s, *o); });
  sub.option("--law", o->laws,
             "A law of the catalog or a FIT.json; several, with commas between, are set side by side");
  sub.option("--flop", o->flop, "The training budget, 6ND, as 3.8e25");
  sub.option("--loss", o->loss, "Or the loss to reach");
  sub.option("--deadline", o->deadline, "Or the time that a cluster has, as 90d: see the options of the cluster");
  sub.option("--params", o->params, "With so many parameters; the tokens follow");
  sub.option("--max-params", o->max_params, "With no more parameters than these, as serving may ask");
  sub.option("--tokens", o->tokens, "On so many tokens; the parameters follow");
  sub.option("--unique-tokens", o->unique_tokens, "Tokens that there are: more means epochs");
  sub.option("--inference-tokens", o->inference_tokens, "Tokens of a lifetime of serving, in and out");
  sub.option("--input-tokens", o->input_tokens, "Or those read");
  sub.option("--output-tokens", o->output_tokens, "and those written, whose FLOP may cost more");
  sub.group("A lifetime of requests, served by the serving model");
  add_demand(sub, o->demand);
  sub.group("The machine that must hold the weights");
  sub.option("--serve-count", o->serve_count, "Accelerators of --serve-accelerator (h100-sxm if not given)");
  sub.option("--serve-usable", o->serve_usable, "Share of their memory that weights may take; 90% if not given");
  sub.group("The cluster of a deadline");
  sub.option("--accelerator", o->accelerator, "Its accelerator; h100-sxm if not given");
  sub.option("--count", o->count, "How many of them");
  sub.option("--precision", o->precision, "bf16 (if not given), fp8 or fp4: whose dense peak counts");
  sub.option("--mfu", o->mfu, "Useful FLOP over that peak; 40% if not given");
  sub.group("Other inputs of the law, where it has them");
  sub.option("--active-share", o->active_share,
             "Parameters that a token uses, as a share of those that the law counts");
  add_law_inputs(sub, o->others, other_inputs());
  sub.group("Dollars instead of FLOP");
  sub.option("--train-accelerator", o->train_accelerator, "Trained on; h100-sxm if only prices are given");
  sub.option("--train-precision", o->train_precision, "bf16 (if not given), fp8 or fp4");
  sub.option("--train-price", o->train_price, "An accelerator-hour, as '$2.10/h'; the catalog's latest if not given");
  sub.option("--train-mfu", o->train_mfu, "Utilisation in training; 50% if not given");
  sub.option("--serve-accelerator", o->serve_accelerator, "Served on; as trained if not given");
  sub.option("--serve-precision", o->serve_precision, "bf16 (if not given), fp8 or fp4");
  sub.option("--serve-price", o->serve_price, "An accelerator-hour");
  sub.option("--input-mfu", o->input_mfu, "Utilisation while reading; 50% if not given");
  sub.option("--output-mfu", o->output_mfu, "Utilisation while writing; 1% if not given");
  sub.option("--level", o->level, "Level of the intervals, of a law that has them");
}

}  // namespace floplan::cli
