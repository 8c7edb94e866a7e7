// SPDX-License-Identifier: BSD-3-Clause
//
// What an expert would remark on a purchase.
//
// Beside those of the law (law/cautions.hpp): a budget that the world does not have, data
// that is read more than once, resampled laws that never reach the loss, a split borrowed from a companion, a count of
// parameters that leaves some out, experts that must all be held.
//
// Sizes: the largest public training run is near 5e26 FLOP (Epoch AI's database, 2025); all of NVIDIA's chips in data
// centres had some 4e21 FLOP/s at their dense peak (Epoch AI, "The stock of computing power from NVIDIA chips is doubling
// every 10 months", February 2025).
// Pitfall: a remark never changes a number.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/cautions.hpp"
#include "floplan/optimum/question.hpp"
#include "floplan/optimum/repetition.hpp"
#include "floplan/optimum/surface.hpp"

namespace floplan::optimum {

inline constexpr double largest_public_run_flop = 5e26;
inline constexpr double flop_per_second_of_the_world = 4e21;
inline constexpr double absurd_flop = 1e28;

// "non-embedding parameters": what N is a count of.
[[nodiscard]] inline std::string counted_text(law::ParameterConvention convention) {
  switch (convention) {
    case law::ParameterConvention::active: return "active parameters";
    case law::ParameterConvention::non_embedding: return "non-embedding parameters";
    case law::ParameterConvention::without_input_embedding: return "parameters without the input embedding";
    case law::ParameterConvention::total: break;
  }
  return "parameters";
}

namespace detail {

[[nodiscard]] inline std::string absurd_text(const Purchase& p) {
  const double flop = p.training_flop().value;
  const double years = flop / flop_per_second_of_the_world / (365.25 * seconds_per_day);
  return print(Flop(flop), 3) + " FLOP of training is " + print_number(flop / largest_public_run_flop, 2) +
         " times the largest run known to the public, or " + print_number(years, 2) +
         " years of all of NVIDIA's chips of early 2025 at their peak (4e21 FLOP/s, Epoch AI)";
}

inline void add_data_cautions(std::vector<Warning>& out, const law::AnyLaw& law, const Purchase& p, const Question& q) {
  if (!q.unique_tokens || p.epochs <= 1) return;
  std::string text = print_number(p.epochs, 3) + " epochs over " + print(*q.unique_tokens, 4) + " tokens";
  if (p.effective_tokens) text += " are worth " + print(*p.effective_tokens, 4) + " fresh ones";
  if (!law::takes(law::inputs(law.form), law::Input::unique_tokens)) {
    text += " by Muennighoff 2023, and " + law.name + " takes all " + print(p.split.tokens, 4) + " as fresh";
    if (p.repeated_loss && p.loss) {
      text += ": expect a loss of " + print_number(*p.repeated_loss, 6) + " and not " + print_number(*p.loss, 6);
    }
    text += "; muennighoff-2023 chooses N and D with repetition in mind";
  }
  text += std::string("; ") + worth_of_epochs(p.epochs);
  out.push_back({"repeated_tokens", text});
}

inline void add_count_cautions(std::vector<Warning>& out, const law::AnyLaw& law, const Purchase& p,
                               const Question& q) {
  using law::ParameterConvention;
  const ParameterConvention counts = law.parameter_convention;
  if (counts != ParameterConvention::total) {
    out.push_back({"parameter_convention", law.name + " counts " + counted_text(counts) + ", and so does N here" +
                                               (counts == ParameterConvention::active
                                                    ? ": all experts together are more"
                                                    : ": the whole model is larger by what that leaves out")});
  }
  if (law.flop_convention != law::FlopConvention::six_n) {
    out.push_back({"flop_convention", law.name + " counts FLOP as " + law::to_text(law.flop_convention) +
                                          ", and N here is what 6ND makes of them: attention counts as parameters"});
  }
  if (p.active_share != 1 && !q.setting.active_share) {
    out.push_back({"active_share_estimated",
                   "a token is taken to use " + print_number(100 * p.active_share, 3) +
                       "% of the parameters, as if all of them were in experts; attention and embeddings are not: give "
                       "--active-share where it is known"});
  }
  if (q.machine && counts != ParameterConvention::total) {
    out.push_back({"weights_not_counted",
                   "the machine must hold all weights, and " + law.name + " does not count all: leave room"});
  }
}

inline void add_warnings(Purchase& p, const law::AnyLaw& law, const Question& q) {
  std::vector<Warning>& out = p.warnings;
  for (Warning& w : law::cautions(law, p.outside)) out.push_back(std::move(w));
  if (auto why = law::no_interval(law)) out.push_back(std::move(*why));
  if (!p.allocation_law.empty()) {
    out.push_back({"companion_law", law.name +
                                        " has no split of a budget of its own under C = 6ND; N and D are those of " +
                                        p.allocation_law + ", which says nothing of the loss"});
  } else if (p.method == Method::allocation_law) {
    out.push_back(
        {"no_loss", law.name + " says how to split a budget and nothing of the loss: " + law::formula_of(law.form)});
  }
  if (p.without_answer > 0) {
    out.push_back({"unreachable_in_resamples", std::to_string(p.without_answer) + " of " +
                                                   std::to_string(law.replicates.size()) +
                                                   " resampled laws have no answer; the intervals leave them out"});
  }
  if (p.training_flop().value > absurd_flop) {
    std::string text = absurd_text(p);
    if (q.loss) text += ": the loss is too near what no budget reaches";
    out.push_back({"absurd_budget", text});
  }
  if (q.budget && p.training_flop().value > 1.001 * q.budget->value) {
    out.push_back({"over_budget", "the training takes " + print(p.training_flop(), 4) + " FLOP, " +
                                      print_number(100 * (p.training_flop() / *q.budget - 1), 3) +
                                      "% above the budget: with serving, what is held is the loss that the budget "
                                      "alone would reach, at the least cost of both"});
  }
  if (p.binds == Limit::serving_memory) {
    out.push_back({"serving_memory_binds", "N is what fits on " + q.machine->describe() +
                                               "; without that limit the best model would be larger"});
  }
  add_data_cautions(out, law, p, q);
  add_count_cautions(out, law, p, q);
}

}  // namespace detail

// Of several laws asked the same.
struct Spread {
  Parameters fewest_parameters, most_parameters;
  Tokens fewest_tokens, most_tokens;
};

// purchases: not empty.
[[nodiscard]] inline Spread spread(const std::vector<Purchase>& purchases) {
  const Split& first = purchases.front().split;
  Spread out{first.parameters, first.parameters, first.tokens, first.tokens};
  for (const Purchase& p : purchases) {
    out.fewest_parameters = std::min(out.fewest_parameters, p.split.parameters);
    out.most_parameters = std::max(out.most_parameters, p.split.parameters);
    out.fewest_tokens = std::min(out.fewest_tokens, p.split.tokens);
    out.most_tokens = std::max(out.most_tokens, p.split.tokens);
  }
  return out;
}

[[nodiscard]] inline Warning law_choice(const Spread& s) {
  return {"law_choice", "the laws differ by a factor of " + print_number(s.most_parameters / s.fewest_parameters, 3) +
                            " in N (" + print(s.fewest_parameters, 4) + " to " + print(s.most_parameters, 4) +
                            ") and " + print_number(s.most_tokens / s.fewest_tokens, 3) + " in D (" +
                            print(s.fewest_tokens, 4) + " to " + print(s.most_tokens, 4) +
                            "): the choice of law is part of the doubt, beside each law's own interval"};
}

}  // namespace floplan::optimum
