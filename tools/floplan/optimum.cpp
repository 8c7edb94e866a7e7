// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/purchase.hpp"

namespace floplan::cli {
namespace {

struct Options {
  std::string laws = "besiroglu-2024";
  Text flop, loss, params, max_params, tokens, unique_tokens;
  Text inference_tokens, input_tokens, output_tokens;
  Text train_accelerator, train_precision, train_price, train_mfu;
  Text serve_accelerator, serve_precision, serve_price, input_mfu, output_mfu;
  std::string level = "0.9";
};

template <class Q>
std::optional<Q> given(const Text& text, const char* option) {
  return text ? std::optional(parse<Q>(*text, option)) : std::nullopt;
}

catalog::Precision precision_of(const Text& text, const char* option) {
  if (!text || *text == "bf16") return catalog::Precision::bf16;
  if (*text == "fp8") return catalog::Precision::fp8;
  if (*text == "fp4") return catalog::Precision::fp4;
  throw Error(Failure::usage, "bad_value", option, "must be bf16, fp8 or fp4, got \"" + *text + "\"");
}

// USD a useful FLOP on an accelerator: its price, its dense peak, and the share of it that is used.
double usd_per_flop(const Session& session, const std::string& accelerator, const char* accelerator_option,
                    catalog::Precision precision, const Text& price, const char* price_option, Fraction mfu) {
  const catalog::Accelerator on = session.catalog.accelerator(accelerator, accelerator_option);
  const auto peak = on.dense_peak(precision);
  if (!peak) {
    throw Error(Failure::usage, "no_peak", accelerator_option,
                "the catalog has no dense " + catalog::to_text(precision) + " peak for " + on.name);
  }
  if (price) return optimum::usd_per_flop(parse<DollarsPerHour>(*price, price_option), *peak, mfu);
  const auto known = session.catalog.latest_price(on.name);
  if (!known)
    throw Error(Failure::usage, "missing_option", price_option, "is needed: no price is known for " + on.name);
  return optimum::usd_per_flop(*known->typical, *peak, mfu);
}

optimum::Demand demand_of(const Session& session, const Options& o) {
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
  const bool priced = o.train_accelerator || o.train_price || o.serve_accelerator || o.serve_price;
  for (const auto& [text, option] : {std::pair(&o.train_precision, "--train-precision"),
                                     {&o.train_mfu, "--train-mfu"},
                                     {&o.serve_precision, "--serve-precision"},
                                     {&o.input_mfu, "--input-mfu"},
                                     {&o.output_mfu, "--output-mfu"}}) {
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

report::Json split_json(const optimum::Split& s) {
  return {{"parameters", report::count_json(s.parameters)}, {"tokens", report::count_json(s.tokens)}};
}

report::Json purchase_json(const catalog::Law& law, const optimum::Purchase& p, bool priced) {
  report::Json out = split_json(p.split);
  const double per_parameter = p.split.tokens.value / p.split.parameters.value;
  out.update({{"law", law.name},
              {"tokens_per_parameter", per_parameter},
              {"loss", p.loss},
              {"loss_unit", law.loss_unit},
              {"training_flop", p.training_flop().value},
              {"inference_flop", p.serving_flop.value},
              {"total_flop", p.total_flop().value},
              {"cost_usd", priced ? report::Json(p.total_cost) : report::Json(nullptr)},
              {"epochs", p.epochs},
              {"overhead", p.overhead},
              {"extrapolation_decades", p.extrapolation_decades}});
  out["interval"] = {{"parameters", nullptr}, {"tokens", nullptr}};
  out["loss_estimate"] = nullptr;
  if (p.parameters) {
    out["interval"] = {{"parameters", report::to_json(p.parameters->interval)},
                       {"tokens", report::to_json(p.tokens->interval)}};
    out["loss_estimate"] = report::to_json(*p.loss_estimate);
  }
  out["training_only"] = split_json(p.training_only);
  out["training_only"]["training_flop"] = p.training_only.training_flop().value;
  out["training_only"]["total_flop"] = p.training_only.training_flop().value + p.serving_flop.value /
                                                                                   p.split.parameters.value *
                                                                                   p.training_only.parameters.value;
  out["training_only"]["cost_usd"] = priced ? report::Json(p.training_only_cost) : report::Json(nullptr);
  out["saving_fraction"] = p.saving_fraction();
  out["parameter_convention"] = law::to_text(law.parameter_convention);
  out["flop_convention"] = "6N";
  return out;
}

Answer answer_optimum(const Session& session, const Options& o) {
  optimum::Question q;
  q.budget = given<Flop>(o.flop, "--flop");
  if (o.loss) q.loss = parse_number(*o.loss, "--loss");
  if (q.budget.has_value() == q.loss.has_value())
    throw Error(Failure::usage, "missing_option", "--flop", "needs either --flop or --loss, and not both");
  q.parameters = given<Parameters>(o.params, "--params");
  q.most_parameters = given<Parameters>(o.max_params, "--max-params");
  q.tokens = given<Tokens>(o.tokens, "--tokens");
  q.unique_tokens = given<Tokens>(o.unique_tokens, "--unique-tokens");
  q.demand = demand_of(session, o);
  const bool priced = q.demand.prices.training != 1;
  const double level = level_of(o.level);

  Answer answer;
  report::Table table({"law", "N", "N low", "N high", "D", "D low", "D high", "D/N", "loss", "training FLOP",
                       "serving FLOP", "cost (USD)", "saving (%)", "decades beyond"});
  report::Json all = report::Json::array();
  const std::vector<std::string> names = names_of(o.laws);
  for (const std::string& name : names) {
    const catalog::Law law = fit::find_law(name, "--law", session.catalog);
    const optimum::Purchase p = optimum::buy(law, q, level);
    all.push_back(purchase_json(law, p, priced));
    for (const Warning& w : p.warnings)
      answer.warnings.push_back({w.code, names.size() > 1 ? law.name + ": " + w.message : w.message});
    if (law.replicates.empty()) {
      answer.warnings.push_back(
          {"no_interval", law.name + " was published without a covariance of its coefficients; the spread of several "
                                     "laws (--law a,b,c) says more than none"});
    }
    const auto end = [](const std::optional<Estimate>& e, double Interval::*side) {
      return e ? report::Cell(e->interval.*side, 4) : report::Cell();
    };
    table.add({law.name,
               {p.split.parameters.value, 4},
               end(p.parameters, &Interval::low),
               end(p.parameters, &Interval::high),
               {p.split.tokens.value, 4},
               end(p.tokens, &Interval::low),
               end(p.tokens, &Interval::high),
               {p.split.tokens.value / p.split.parameters.value, 3},
               {p.loss, 5},
               {p.training_flop().value, 4},
               {p.serving_flop.value, 4},
               priced ? report::Cell(p.total_cost, 4) : report::Cell(),
               {100 * p.saving_fraction(), 3},
               {p.extrapolation_decades, 2}});
    answer.text += (answer.text.empty() ? "" : "\n") + law.title + "\n  " + print(p.split.parameters, 4) +
                   " parameters on " + print(p.split.tokens, 4) + " tokens, " +
                   print_number(p.split.tokens.value / p.split.parameters.value, 3) + " a parameter: loss " +
                   print_number(p.loss, 5) + " " + law.loss_unit + "\n";
    if (p.parameters) {
      const auto interval = [](const Estimate& e) {
        return print(Parameters(e.interval.low), 4) + " to " + print(Parameters(e.interval.high), 4);
      };
      answer.text +=
          "  " + print_number(100 * level) + "%: N " + interval(*p.parameters) + ", D " + interval(*p.tokens) + "\n";
    }
    answer.text += "  training " + print(p.training_flop(), 4);
    if (p.serving_flop.value > 0) {
      answer.text += ", serving " + print(p.serving_flop, 4) + ", in all " + print(p.total_flop(), 4) +
                     (priced ? " or $" + report::grouped(p.total_cost, 4) : "") +
                     "\n  for training alone: " + print(p.training_only.parameters, 4) + " on " +
                     print(p.training_only.tokens, 4) + "; this saves " + print_number(100 * p.saving_fraction(), 3) +
                     "% of the whole";
    }
    answer.text += "\n";
    if (p.overhead > 1e-6) {
      answer.text += "  " + print_number(100 * p.overhead, 3) +
                     "% more training than the compute-optimal split for the same loss\n";
    }
  }
  answer.inputs = {{"law", o.laws},
                   {"flop", report::json(q.budget)},
                   {"loss", report::json(q.loss)},
                   {"parameters", report::count_json(q.parameters)},
                   {"max_parameters", report::count_json(q.most_parameters)},
                   {"tokens", report::count_json(q.tokens)},
                   {"unique_tokens", report::count_json(q.unique_tokens)},
                   {"input_tokens", report::count_json(q.demand.input)},
                   {"output_tokens", report::count_json(q.demand.output)},
                   {"level", level}};
  answer.result = all.front();
  if (all.size() > 1) answer.result["laws"] = std::move(all);
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_optimum(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("optimum", "The N and D to buy for a budget or a loss, serving included",
                               [o](const Session& s) { return answer_optimum(s, *o); });
  sub.option("--law", o->laws,
             "A law of the catalog or a FIT.json; several, with commas between, are set side by side");
  sub.option("--flop", o->flop, "The training budget, 6ND, as 3.8e25");
  sub.option("--loss", o->loss, "Or the loss to reach");
  sub.option("--params", o->params, "With so many parameters; the tokens follow");
  sub.option("--max-params", o->max_params, "With no more parameters than these, as serving may ask");
  sub.option("--tokens", o->tokens, "On so many tokens; the parameters follow");
  sub.option("--unique-tokens", o->unique_tokens, "Tokens that there are: more means epochs");
  sub.option("--inference-tokens", o->inference_tokens, "Tokens of a lifetime of serving, in and out");
  sub.option("--input-tokens", o->input_tokens, "Or those read");
  sub.option("--output-tokens", o->output_tokens, "and those written, whose FLOP may cost more");
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
