// SPDX-License-Identifier: BSD-3-Clause
//
// What may be asked of a law, and what it answers: plain data. The answering is buy() in purchase.hpp.
//
//   Question q;  q.budget = Flop(5.76e23);  q.demand.output = Tokens(2e12);
//
//   budget            the lowest loss for C = 6 active_share N D; with a demand, that loss for the least training and serving
//   loss              the least training (and serving) that reaches it
//   parameters or tokens given: the other follows from the budget or the loss
//   most_parameters, machine    no more than these, or than fit on the machine that will serve
//   setting           the law's other inputs: unique tokens, experts, bits, ...
//
// Errors: check throws usage for a question that has neither budget nor loss, or both, or fixes N and D.
// Pitfall: with a budget and a demand the training alone may take more or less than the budget: what is held is the loss.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/downstream.hpp"
#include "floplan/optimum/lifetime.hpp"
#include "floplan/optimum/limits.hpp"
#include "floplan/optimum/setting.hpp"

namespace floplan::optimum {

struct Question {
  std::optional<Flop> budget;  // or else
  std::optional<double> loss;
  Demand demand;
  std::optional<Parameters> parameters;       // as many as these
  std::optional<Parameters> most_parameters;  // or no more than these
  std::optional<Tokens> tokens;               // on as many as these
  std::optional<Tokens> unique_tokens;        // that there are; more than these are repeated
  std::optional<ServingMachine> machine;      // that must hold the weights
  Setting setting;
};

enum class Method { closed_form, numeric, allocation_law };

[[nodiscard]] inline std::string to_text(Method m) {
  return m == Method::closed_form ? "closed form" : m == Method::numeric ? "numeric" : "allocation law";
}

// What kept N below the best.
enum class Limit { none, most_parameters, serving_memory };

[[nodiscard]] inline std::string to_text(Limit limit) {
  return limit == Limit::none ? "none" : limit == Limit::most_parameters ? "max_parameters" : "serving_memory";
}

struct Purchase {
  Split split;
  double active_share = 1;     // of N, that a token uses
  std::optional<double> loss;  // an allocation law knows none
  Method method = Method::closed_form;
  std::string allocation_law;                 // that split the budget, where it is not the law that was asked
  std::optional<Parameters> most_parameters;  // of the limits, the lower
  Limit binds = Limit::none;
  Flop serving_flop;
  double total_cost = 0;           // in the unit of the demand's prices; FLOP without
  Split training_only;             // the compute-optimal split for the same budget or loss, as if nothing were served
  double training_only_cost = 0;   // of it, its serving included
  std::optional<double> overhead;  // training FLOP beyond those of the best split for the same loss, as a share of them
  double epochs = 1;
  std::optional<Tokens>
      effective_tokens;                 // fresh tokens that the repeated ones are worth, where unique tokens are given
  std::optional<double> repeated_loss;  // of a law of fresh data only, at the effective tokens
  std::vector<law::Outside> outside;    // inputs outside what the law was fitted on
  double extrapolation_decades = 0;
  // Where the law has replicates. The loss has no interval where it was asked for, nor the training where the budget was.
  std::optional<Estimate> parameters, tokens, loss_estimate, training_estimate;
  std::size_t without_answer = 0;  // replicates that cannot reach the loss
  std::vector<TaskForecast> tasks;
  std::vector<Warning> warnings;

  [[nodiscard]] Flop training_flop() const { return split.training_flop() * active_share; }
  [[nodiscard]] Flop total_flop() const { return training_flop() + serving_flop; }
  // Of the total cost, by not taking the compute-optimal split.
  [[nodiscard]] double saving_fraction() const { return 1 - total_cost / training_only_cost; }
};

inline void check(const Question& q) {
  if (q.budget.has_value() == q.loss.has_value())
    throw Error(Failure::usage, "bad_question", "optimum", "needs either a budget or a loss, and not both");
  if (q.budget) detail::require_positive(q.budget->value, "the budget", print(*q.budget));
  if (int(q.parameters.has_value()) + int(q.most_parameters.has_value()) + int(q.tokens.has_value()) > 1)
    throw Error(Failure::usage, "bad_question", "optimum",
                "takes one of: parameters, the most parameters, tokens; the other count follows");
  if (q.parameters) detail::require_positive(q.parameters->value, "parameters", print(*q.parameters));
  if (q.most_parameters) detail::require_positive(q.most_parameters->value, "parameters", print(*q.most_parameters));
  if (q.tokens) detail::require_positive(q.tokens->value, "tokens", print(*q.tokens));
  if (q.unique_tokens) detail::require_positive(q.unique_tokens->value, "unique tokens", print(*q.unique_tokens));
  if (q.machine) check(*q.machine);
  if (const auto share = q.setting.active_share; share && !(*share > 0 && *share <= 1)) {
    throw Error(Failure::usage, "out_of_range", "--active-share",
                "must be above 0 and at most 1, got " + print_number(*share, 6));
  }
  detail::check(q.demand);
}

}  // namespace floplan::optimum
