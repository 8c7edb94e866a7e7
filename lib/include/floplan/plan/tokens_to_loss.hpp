// SPDX-License-Identifier: BSD-3-Clause
//
// How many tokens a plan's loss takes, and how sure that is: where the uncertainty of the fit enters the finish date.
//
//   tokens = (B / (L - E - A / N^alpha))^(1 / beta)         by the request's law, and by each of its replicates
//
// A request with a target_loss gives the stages' shares; fit_stages_to_loss() scales them to the tokens that its law asks
// for. Each draw of a plan then takes one replicate's tokens: the law's draw, whatever else is drawn.
//
// Errors: infeasible for a loss that N parameters never reach by the law; usage for a target without a law.
// Holds: fresh tokens, and a run that follows the curve: the noise of the run itself does not move the date.
// Pitfall: the nearer the target is to what N parameters can reach at all, the longer the tail: a replicate that never
// gets there is no long run but none, and is counted as such.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/plan/model_size.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::plan {

// Scales the stages so that together they have the tokens of the target, if there is one.
inline void fit_stages_to_loss(Request& r) {
  if (!r.target_loss) return;
  const auto refuse = [](const char* code, const std::string& rule) {
    return Error(Failure::usage, code, "plan: target_loss", rule);
  };
  if (!r.law) throw refuse("no_law", "a loss to reach needs a law that says how many tokens it takes");
  if (!r.shape && (!r.parameters || law::leaves_out_embeddings(r.law->parameter_convention)))
    throw refuse("no_model", "a loss to reach needs a model, or the parameters as the law counts them");
  if (!law_covers(r)) {
    throw refuse("dense_law", r.law->name +
                                  " is a law of dense models and says nothing of a mixture of experts, here " +
                                  print_short(model_size(r).active) + " of " + print_short(model_size(r).total) +
                                  " parameters: give tokens instead");
  }
  const Tokens needed = optimum::tokens_for_loss(r.law->form, counted_parameters(r), *r.target_loss);
  if (!std::isfinite(needed.value)) throw refuse("out_of_range", "the loss is too near what the model can reach");
  double sum = 0;
  for (const Stage& stage : r.stages) sum += stage.tokens.value;
  if (!(sum > 0)) throw refuse("no_stage", "a loss to reach needs stages with tokens, which are their shares");
  for (Stage& stage : r.stages) stage.tokens = stage.tokens * (needed.value / sum);
}

struct TokensToLoss {
  std::vector<double> factors;  // of each replicate that reaches the loss: its tokens over the law's own
  std::size_t never = 0;        // replicates that do not
};

[[nodiscard]] inline TokensToLoss tokens_to_loss(const Request& r) {
  TokensToLoss out;
  if (!r.target_loss || !r.law) return out;
  const Parameters n = counted_parameters(r);
  const Tokens own = optimum::tokens_for_loss(r.law->form, n, *r.target_loss);
  for (const law::Chinchilla<double>& law : r.law->replicates) {
    const double gap = *r.target_loss - law.irreducible_loss - law.terms(n.value, 1.0).parameters;
    const double factor = gap > 0 ? std::pow(law.token_coefficient / gap, 1 / law.token_exponent) / own.value : -1;
    if (factor > 0 && factor < 1e6) {
      out.factors.push_back(factor);
    } else {
      ++out.never;
    }
  }
  return out;
}

}  // namespace floplan::plan
