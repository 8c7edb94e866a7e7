// SPDX-License-Identifier: BSD-3-Clause
//
// What to buy: one question in, N and D out, with what it costs, what it saves and how sure it is.
//
//   Question q;  q.budget = Flop(5.76e23);  q.demand.output = Tokens(2e12);
//   const Purchase p = optimum::buy(catalog.law("besiroglu-2024"), q);
//
//   budget            the lowest loss for C = 6 N D; with a demand, that loss for the least training and serving
//   loss              the least training (and serving) that reaches it
//   parameters or tokens given, or at most so many parameters: the other follows from the budget or the loss
//
// A law that comes with replicates (a fit's file) gives the interval of N, D and the loss: the same question put to each.
//
// Errors: usage for a question that has neither budget nor loss, or both, or fixes N and D; those of compute_optimal.hpp
// and lifetime.hpp.
// Pitfall: with a budget and a demand the training alone may take more or less than the budget: what is held is the loss.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "floplan/catalog/records.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/lifetime.hpp"

namespace floplan::optimum {

struct Question {
  std::optional<Flop> budget;  // or else
  std::optional<double> loss;
  Demand demand;
  std::optional<Parameters> parameters;       // as many as these
  std::optional<Parameters> most_parameters;  // or no more than these
  std::optional<Tokens> tokens;               // on as many as these
  std::optional<Tokens> unique_tokens;        // that there are; more than these are repeated
};

struct Purchase {
  Split split;
  double loss = 0;
  Flop serving_flop;
  double total_cost = 0;          // in the unit of the demand's prices; FLOP without
  Split training_only;            // the compute-optimal split for the same budget or loss, as if nothing were served
  double training_only_cost = 0;  // of it, its serving included
  double overhead = 0;  // training FLOP beyond those of the compute-optimal split for the same loss, as a share of them
  double epochs = 1;
  double extrapolation_decades = 0;
  std::optional<Estimate> parameters, tokens, loss_estimate;  // where the law has replicates
  std::size_t without_answer = 0;                             // replicates that cannot reach the loss
  std::vector<Warning> warnings;

  [[nodiscard]] Flop training_flop() const { return split.training_flop(); }
  [[nodiscard]] Flop total_flop() const { return training_flop() + serving_flop; }
  // Of the total cost, by not taking the compute-optimal split.
  [[nodiscard]] double saving_fraction() const { return 1 - total_cost / training_only_cost; }
};

namespace detail {

inline void check(const Question& q) {
  if (q.budget.has_value() == q.loss.has_value())
    throw Error(Failure::usage, "bad_question", "optimum", "needs either a budget or a loss, and not both");
  if (int(q.parameters.has_value()) + int(q.most_parameters.has_value()) + int(q.tokens.has_value()) > 1)
    throw Error(Failure::usage, "bad_question", "optimum",
                "takes one of: parameters, the most parameters, tokens; the other count follows");
  if (q.unique_tokens) require_positive(q.unique_tokens->value, "unique tokens", print(*q.unique_tokens));
}

[[nodiscard]] inline Split answer(const law::Chinchilla<double>& law, const Question& q) {
  const Split best = q.budget ? for_budget(law, *q.budget) : for_loss(law, *q.loss);
  const bool fixed = q.parameters || q.tokens;
  const bool serves = q.demand.equivalent_tokens() > 0;
  if (q.budget && fixed) {
    if (q.tokens) return {Parameters(q.budget->value / (6 * q.tokens->value)), *q.tokens};
    return {*q.parameters, Tokens(q.budget->value / (6 * q.parameters->value))};
  }
  const double loss = q.loss ? *q.loss : law.loss(best.parameters.value, best.tokens.value);
  if (q.parameters) return {*q.parameters, tokens_for_loss(law, *q.parameters, loss)};
  if (q.tokens) return {parameters_for_loss(law, *q.tokens, loss), *q.tokens};
  const Split out = serves ? for_lifetime(law, loss, q.demand) : best;
  if (!q.most_parameters || out.parameters <= *q.most_parameters) return out;
  if (q.budget && !serves) return {*q.most_parameters, Tokens(q.budget->value / (6 * q.most_parameters->value))};
  return {*q.most_parameters, tokens_for_loss(law, *q.most_parameters, loss)};
}

inline void add_intervals(Purchase& out, const catalog::Law& record, const Question& q, double level) {
  if (record.replicates.empty()) return;
  const auto has_no_answer = [&q](const law::Chinchilla<double>& law) {
    try {
      (void)answer(law, q);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  fit::BootstrapReport boot = fit::replicates_of(record);
  out.without_answer = std::erase_if(boot.laws, has_no_answer);
  const auto of = [&](const auto& quantity) {
    return fit::estimate(
        boot, [&](const auto& law) { return quantity(law, answer(law, q)); }, level);
  };
  using Law = law::Chinchilla<double>;
  out.parameters = of([](const Law&, const Split& s) { return s.parameters.value; });
  out.tokens = of([](const Law&, const Split& s) { return s.tokens.value; });
  out.loss_estimate = of([](const Law& law, const Split& s) { return law.loss(s.parameters.value, s.tokens.value); });
}

inline void add_warnings(Purchase& out, const catalog::Law& record, const Question& q) {
  const auto warn = [&out](const char* code, const std::string& text) { out.warnings.push_back({code, text}); };
  if (out.extrapolation_decades > 0.01) {
    warn("extrapolation", print_number(out.extrapolation_decades, 2) + " powers of ten beyond what " + record.name +
                              " was fitted on" + law::range_text(record.range));
  }
  if (record.rounded) warn("rounded_law", record.name + " has rounded coefficients: " + record.provenance.note);
  if (out.without_answer > 0) {
    warn("unreachable_in_resamples", std::to_string(out.without_answer) + " of " +
                                         std::to_string(record.replicates.size()) +
                                         " resampled laws never reach this loss; the intervals leave them out");
  }
  // The largest public training run is near 5e26 FLOP (Epoch AI's database, 2025).
  if (out.training_flop().value > 1e28) {
    warn("absurd_budget", print(out.training_flop(), 3) + " of training, " +
                              print_number(out.training_flop().value / 5e26, 2) +
                              " times the largest run known to the public: the loss is too near the irreducible " +
                              print_number(record.form.irreducible_loss, 5));
  }
  if (q.unique_tokens && out.epochs > 1) {
    warn("repeated_tokens", print_number(out.epochs, 3) + " epochs over " + print(*q.unique_tokens, 4) +
                                " tokens, and the law knows only fresh ones: up to four epochs are nearly as good, "
                                "beyond some forty nothing is gained (Muennighoff 2023)");
  }
}

}  // namespace detail

[[nodiscard]] inline Purchase buy(const catalog::Law& record, const Question& q, double level = 0.9) {
  detail::check(q);
  detail::check(q.demand);
  const law::Chinchilla<double>& law = record.form;
  Purchase out;
  out.split = detail::answer(law, q);
  const Split& s = out.split;
  out.loss = law.loss(s.parameters.value, s.tokens.value);
  out.training_only = q.budget ? for_budget(law, *q.budget) : for_loss(law, *q.loss);
  out.serving_flop = q.demand.serving_flop(s);
  out.total_cost = q.demand.training_cost(s) + q.demand.serving_cost(s);
  out.training_only_cost = q.demand.training_cost(out.training_only) + q.demand.serving_cost(out.training_only);
  out.overhead = s.training_flop().value / for_loss(law, out.loss).training_flop().value - 1;
  if (q.unique_tokens) out.epochs = std::max(1.0, s.tokens / *q.unique_tokens);
  out.extrapolation_decades = law::extrapolation_decades(record.range, s.parameters, s.tokens);
  detail::add_intervals(out, record, q, level);
  detail::add_warnings(out, record, q);
  return out;
}

}  // namespace floplan::optimum
