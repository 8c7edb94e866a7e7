// SPDX-License-Identifier: BSD-3-Clause
//
// What a scaling law is: a value that maps parameters N and tokens D to a loss.
//
//   L(N, D) = irreducible + a term that falls with N + a term that falls with D      [loss unit of the law, e.g. nats/token]
//
// A law is any type with `loss(n, d)` and `terms(n, d)` for a scalar n and d (double or a ceres::Jet). Each form has a
// header of its own. What the numbers mean (which parameters are counted, which FLOP, which loss unit, over what range it
// was fitted, how far its coefficients were rounded, how uncertain they are) is not part of the form but of a LawRecord,
// which carries both: from a paper (data/laws) or from a fit of one's own runs (fit/fit_file.hpp).
//
// Source of the conventions: Pearce and Song 2024 (arXiv 2406.12907): most of the Kaplan-Chinchilla gap is the count.
// Pitfall: a law asked outside its FitRange extrapolates; extrapolation_decades says how far, and callers must warn.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/provenance.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/input.hpp"

namespace floplan::law {

template <class Scalar>
struct LossTerms {
  Scalar irreducible;
  Scalar parameters;
  Scalar tokens;
  [[nodiscard]] Scalar total() const { return irreducible + parameters + tokens; }
};

template <class L>
concept ScalingLaw = requires(const L law, double n, double d) {
  { law.loss(n, d) } -> std::convertible_to<double>;
  { law.terms(n, d) } -> std::convertible_to<LossTerms<double>>;
};

// without_input_embedding: the output head counts and the input embedding does not (OLMo, and Porian's "with head").
enum class ParameterConvention { total, active, non_embedding, without_input_embedding };
inline constexpr std::array parameter_conventions = {ParameterConvention::total, ParameterConvention::active,
                                                     ParameterConvention::non_embedding,
                                                     ParameterConvention::without_input_embedding};
// Such a count follows from a total one only where the shape is known.
[[nodiscard]] constexpr bool leaves_out_embeddings(ParameterConvention c) {
  return c == ParameterConvention::non_embedding || c == ParameterConvention::without_input_embedding;
}
enum class FlopConvention { six_n, causal, full };  // 6N; 6N + causal attention; 6N + full attention

[[nodiscard]] inline std::string to_text(ParameterConvention c) {
  switch (c) {
    case ParameterConvention::active: return "active";
    case ParameterConvention::non_embedding: return "non_embedding";
    case ParameterConvention::without_input_embedding: return "without_input_embedding";
    case ParameterConvention::total: break;
  }
  return "total";
}
[[nodiscard]] inline std::string to_text(FlopConvention c) {
  switch (c) {
    case FlopConvention::causal: return "6N + causal attention";
    case FlopConvention::full: return "6N + full attention";
    case FlopConvention::six_n: break;
  }
  return "6N";
}

struct InputRange {
  Input input;
  std::optional<double> low, high;
};

// The observations a law was fitted on; an end that is not known is absent.
struct FitRange {
  std::optional<double> parameters_low, parameters_high;
  std::optional<double> tokens_low, tokens_high;
  std::optional<double> flop_low, flop_high;
  std::vector<InputRange> others{};  // of the inputs that are none of these
};

// How far outside [low, high], in powers of ten; 0 inside, at an unknown end, or within rounding (1e-12) of an end.
[[nodiscard]] inline double decades_outside(double x, std::optional<double> low, std::optional<double> high) {
  const double above = high ? std::log10(x / *high) : 0;
  const double below = low ? std::log10(*low / x) : 0;
  const double out = std::max(above, below);
  return out > 1e-12 ? out : 0;
}

// " (N 57.3M to 16.2B, D 819M to 318B, C 1.4e18 to 1.3e22)", of the ends that are known.
[[nodiscard]] inline std::string range_text(const FitRange& range) {
  std::string out;
  const auto add = [&out]<class Q>(const char* what, Q, std::optional<double> low, std::optional<double> high) {
    if (!low && !high) return;
    out += (out.empty() ? " (" : ", ") + std::string(what) + (low && !high ? " from" : "");
    if (low) out += " " + print(Q(*low), 3);
    if (high) out += " to " + print(Q(*high), 3);
  };
  add("N", Parameters(), range.parameters_low, range.parameters_high);
  add("D", Tokens(), range.tokens_low, range.tokens_high);
  add("C", Flop(), range.flop_low, range.flop_high);
  return out.empty() ? out : out + ")";
}

// The farthest of N, D and C = 6 N D: a run of common N and common D may still be a budget that nobody fitted.
[[nodiscard]] inline double extrapolation_decades(const FitRange& range, Parameters n, Tokens d) {
  return std::max({decades_outside(n.value, range.parameters_low, range.parameters_high),
                   decades_outside(d.value, range.tokens_low, range.tokens_high),
                   decades_outside(6 * n.value * d.value, range.flop_low, range.flop_high)});
}

template <class Form>
struct LawRecord {
  std::string name;  // author-year[-variant], as the command line takes it, or the file of a fit
  std::vector<std::string> aliases;
  std::string title;  // for people
  Form form;
  ParameterConvention parameter_convention = ParameterConvention::total;
  FlopConvention flop_convention = FlopConvention::six_n;
  std::string loss_unit = "nats/token";
  bool rounded = false;  // the published digits move the answer; the record's note says by how much
  std::string trust;     // when to believe it, in a sentence
  FitRange range;
  // Other laws that the same runs might have given, each as likely (a bootstrap's refits); empty where none were published.
  std::vector<Form> replicates;
  // ln(L_observed / L) of runs about the law, ascending, scaled to one run's noise; empty where it is not known.
  std::vector<double> residuals;
  Provenance provenance;
  bool own_fit = false;  // of a user's runs, from the file of a fit; else published
};

}  // namespace floplan::law
