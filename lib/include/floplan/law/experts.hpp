// SPDX-License-Identifier: BSD-3-Clause
//
// What loss does a mixture of experts reach, and how should a budget be split when the number of experts is given?
//
//   L(N, D, E) = a Eh^delta N^(alpha + gamma ln Eh) + b Eh^omega D^(beta + zeta ln Eh) + c          [nats/token]
//   1 / Eh = 1 / (E - 1 + 1 / (1/Es - 1/Em)) + 1 / Em                                               (saturation.hpp)
//
//   N parameters that one token uses, embedding and unembedding counted; D tokens; E experts a layer, one of them active.
//   alpha and beta are negative, as the source prints them. At a fixed E this is the Chinchilla form, section(E), and
//   C = 6 N D has the closed-form optimum: more experts want fewer active parameters and more tokens.
//
// Source: Ludziejewski et al. 2025 (arXiv 2502.05172), equations 4 and 6, Table 3.
// Holds: up to 32 experts of the size of a whole feed-forward layer, top-1 routing.
//
// Pitfall: transcriptions give delta and omega the other sign or leave out Es and Em; loss then rises with E. The printed
// signs are -.2285 and +.5529, and E = 1 is Eh = 2.07.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/saturation.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Experts {
  Scalar parameter_coefficient{};      // a
  Scalar parameter_exponent{};         // alpha, negative
  Scalar parameter_expert_power{};     // delta
  Scalar parameter_expert_exponent{};  // gamma
  Scalar token_coefficient{};          // b
  Scalar token_exponent{};             // beta, negative
  Scalar token_expert_power{};         // omega
  Scalar token_expert_exponent{};      // zeta
  Scalar start{};                      // Es
  Scalar saturation{};                 // Em
  Scalar irreducible_loss{};           // c

  static constexpr std::string_view name = "experts";
  static constexpr std::string_view formula =
      "a Eh^delta N^(alpha + gamma ln Eh) + b Eh^omega D^(beta + zeta ln Eh) + c, "
      "1/Eh = 1/(E - 1 + 1/(1/Es - 1/Em)) + 1/Em";
  static constexpr std::array inputs = {Input::active_parameters, Input::tokens, Input::experts};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Experts>{"a", &Experts::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<Experts>{"alpha", &Experts::parameter_exponent, -5, 0},
                      Coefficient<Experts>{"delta", &Experts::parameter_expert_power, -5, 5},
                      Coefficient<Experts>{"gamma", &Experts::parameter_expert_exponent, -1, 1},
                      Coefficient<Experts>{"b", &Experts::token_coefficient, 1e-3, 1e15},
                      Coefficient<Experts>{"beta", &Experts::token_exponent, -5, 0},
                      Coefficient<Experts>{"omega", &Experts::token_expert_power, -5, 5},
                      Coefficient<Experts>{"zeta", &Experts::token_expert_exponent, -1, 1},
                      Coefficient<Experts>{"Es", &Experts::start, 0.1, 100},
                      Coefficient<Experts>{"Em", &Experts::saturation, 2, 1e6},
                      Coefficient<Experts>{"c", &Experts::irreducible_loss, 0, 100}};
  }

  template <class T>
  [[nodiscard]] auto effective_experts(const T& experts) const {
    return saturated(experts - 1.0, start, saturation);
  }
  template <class T>
  [[nodiscard]] auto section(const T& experts) const {
    using std::exp;
    using std::log;
    using Value = std::decay_t<decltype(start * experts)>;
    const Value log_experts = log(effective_experts(experts));
    return Chinchilla<Value>{Value(irreducible_loss), parameter_coefficient * exp(parameter_expert_power * log_experts),
                             token_coefficient * exp(token_expert_power * log_experts),
                             -(parameter_exponent + parameter_expert_exponent * log_experts),
                             -(token_exponent + token_expert_exponent * log_experts)};
  }
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& experts) const {
    return section(experts)(n, d);
  }

  // Where more parameters or more tokens would raise the loss, or where Eh has no meaning.
  [[nodiscard]] std::string refusal(std::span<const double> values) const {
    if (!(start > 0 && start < saturation)) {
      return "the law's Es must be positive and below Em, got " + print_number(start, 6) + " and " +
             print_number(saturation, 6);
    }
    const auto at = section(values[2]);
    if (at.parameter_exponent > 0 && at.token_exponent > 0) return {};
    return "experts must leave the exponents of N and D negative, got " + print_number(values[2], 6) + " with " +
           print_number(-at.parameter_exponent, 6) + " and " + print_number(-at.token_exponent, 6);
  }
};

static_assert(Form<Experts<>>);

}  // namespace floplan::law
