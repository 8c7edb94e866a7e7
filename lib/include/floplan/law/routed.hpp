// SPDX-License-Identifier: BSD-3-Clause
//
// What loss does a routed model reach with E experts, at a fixed number of training tokens?
//
//   log10 L(N, E) = a log10 N + b log10 Eh + c log10 N log10 Eh + d          [nats/token]
//   1 / Eh = 1 / (E - 1 + 1 / (1/Es - 1/Em)) + 1 / Em                         effective experts (saturation.hpp)
//
//   N parameters that one token uses, which is the whole dense model of the same width and depth; E experts a layer.
//   b is negative and c positive: experts help less the larger the model, and not at all from N = 10^(-b/c).
//
// Source: Clark et al. 2022 (arXiv 2202.01169), equations 1 and 10, Table 3: three ways of routing, 130B tokens, N 15M to
// 1.3B, up to 512 experts. The base of the logarithm is inferred: base 10 gives 3.48 nats for 5M, base e would give .87.
//
// Pitfall: tokens are no input: all runs read 130B. Laws that vary them (granularity.hpp, experts.hpp) find that experts
// help more as models grow, not less; do not carry the cutoff to other token counts.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/saturation.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Routed {
  Scalar parameter_exponent{};  // a
  Scalar expert_exponent{};     // b
  Scalar interaction{};         // c
  Scalar offset{};              // d
  Scalar start{};               // Es, effective experts of one expert
  Scalar saturation{};          // Em, the most effective experts there can be

  static constexpr std::string_view name = "routed";
  static constexpr std::string_view formula =
      "10^(a log N + b log Eh + c log N log Eh + d), 1/Eh = 1/(E - 1 + 1/(1/Es - 1/Em)) + 1/Em, log to base 10";
  static constexpr std::array inputs = {Input::active_parameters, Input::experts};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Routed>{"a", &Routed::parameter_exponent, -1, 1},
                      Coefficient<Routed>{"b", &Routed::expert_exponent, -2, 2},
                      Coefficient<Routed>{"c", &Routed::interaction, -0.5, 0.5},
                      Coefficient<Routed>{"d", &Routed::offset, -10, 10},
                      Coefficient<Routed>{"Es", &Routed::start, 0.1, 100},
                      Coefficient<Routed>{"Em", &Routed::saturation, 2, 1e6}};
  }

  template <class T>
  [[nodiscard]] auto effective_experts(const T& experts) const {
    return saturated(experts - 1.0, start, saturation);
  }
  // The size from which one expert is as good as many.
  [[nodiscard]] Scalar cutoff_parameters() const {
    using std::exp;
    return exp(-expert_exponent / interaction * std::log(10.0));
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& experts) const {
    using std::exp;
    using std::log;
    const double ten = std::log(10.0);
    const auto log_experts = log(effective_experts(experts));
    return exp((parameter_exponent + interaction / ten * log_experts) * log(n) + expert_exponent * log_experts +
               offset * ten);
  }

  [[nodiscard]] std::string refusal(std::span<const double>) const {
    if (start > 0 && start < saturation) return {};
    return "the law's Es must be positive and below Em, got " + print_number(start, 6) + " and " +
           print_number(saturation, 6);
  }
};

static_assert(Form<Routed<>>);

}  // namespace floplan::law
