// SPDX-License-Identifier: BSD-3-Clause
//
// What loss when there is less data than the run reads, so that tokens are repeated?
//
//   L(N, D, U) = E + A / N'^alpha + B / D'^beta          [nats/token]
//
//   D' = U' + U' R_D* (1 - exp(-R_D / R_D*)),   U' = min(U, D),     R_D = D / U' - 1      repeats after the first epoch
//   N' = V + V R_N* (1 - exp(-R_N / R_N*)),     V = min(U_N, N),    R_N = N / V - 1       parameters beyond U_N
//   U_N = (alpha A / (beta B))^(1/alpha) U'^(beta/alpha): the N whose compute-optimal D would be U'
//
//   N parameters, D tokens read (repeats counted), U different tokens. One epoch gives the base law back. Repeating for
//   ever is worth at most R_D* more passes over fresh data.
//
// Source: Muennighoff et al. 2023 (arXiv 2305.16264), equations 16 to 20. There alpha = beta, so that U_N = .051 U.
// Holds: up to some ten epochs on web text; value and slope pass D = U and N = U_N without a jump.
// Pitfall: with the published coefficients the law is .1 to .3 nats below the authors' own losses on C4 (421M parameters,
// 32B tokens once: law 2.64, run 2.912), and their data for R* is not public. Fit all seven to runs of your own. R_D* also
// belongs to the recipe: weight decay 30 times the usual makes repeats worth far more (arXiv 2509.14786).
#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "floplan/law/chinchilla.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

namespace detail {

// total units of which `fresh` are worth their count and the others ever less, as multiples of fresh: continuous in value
// and slope at total = fresh.
template <class Total, class Fresh, class Decay>
[[nodiscard]] auto with_diminishing_excess(const Total& total, const Fresh& fresh, const Decay& decay) {
  using std::exp;
  using Value = std::decay_t<decltype(fresh * decay * total)>;
  if (!(total > fresh)) return Value(total);
  return Value(fresh + fresh * decay * (1.0 - exp((1.0 - total / fresh) / decay)));
}

}  // namespace detail

template <class Scalar = double>
struct RepeatedData {
  Scalar irreducible_loss{};       // E
  Scalar parameter_coefficient{};  // A
  Scalar token_coefficient{};      // B
  Scalar parameter_exponent{};     // alpha
  Scalar token_exponent{};         // beta
  Scalar token_decay{};            // R_D*, in passes over the data
  Scalar parameter_decay{};        // R_N*, in multiples of U_N

  static constexpr std::string_view name = "repeated-data";
  static constexpr std::string_view formula =
      "E + A/N'^alpha + B/D'^beta, D' = U + U RD (1 - exp(-(D/U - 1)/RD)), N' alike with RN beyond the N optimal for U";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::unique_tokens};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<RepeatedData>{"E", &RepeatedData::irreducible_loss, 0, 100},
                      Coefficient<RepeatedData>{"A", &RepeatedData::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<RepeatedData>{"B", &RepeatedData::token_coefficient, 1e-3, 1e15},
                      Coefficient<RepeatedData>{"alpha", &RepeatedData::parameter_exponent, 1e-3, 20},
                      Coefficient<RepeatedData>{"beta", &RepeatedData::token_exponent, 1e-3, 20},
                      Coefficient<RepeatedData>{"RD", &RepeatedData::token_decay, 1e-2, 1e5},
                      Coefficient<RepeatedData>{"RN", &RepeatedData::parameter_decay, 1e-2, 1e5}};
  }

  // The law of fresh data.
  [[nodiscard]] Chinchilla<Scalar> base() const {
    return {irreducible_loss, parameter_coefficient, token_coefficient, parameter_exponent, token_exponent};
  }

  // Passes over the data; 1 where it is not read to its end.
  template <class D, class U>
  [[nodiscard]] auto epochs(const D& d, const U& u) const {
    using Value = std::decay_t<decltype(d / u)>;
    return d > u ? Value(d / u) : Value(1);
  }
  // D': fresh tokens that would be worth the same.
  template <class D, class U>
  [[nodiscard]] auto effective_tokens(const D& d, const U& u) const {
    return detail::with_diminishing_excess(d, u, token_decay);
  }
  // U_N: the parameters for which u fresh tokens are compute-optimal.
  template <class U>
  [[nodiscard]] auto matched_parameters(const U& u) const {
    using std::exp;
    using std::log;
    return exp((log(parameter_exponent / token_exponent * parameter_coefficient / token_coefficient) +
                token_exponent * log(u)) /
               parameter_exponent);
  }
  // N': parameters that would be worth the same had they all the fresh data they want; u at most the tokens read.
  template <class N, class U>
  [[nodiscard]] auto effective_parameters(const N& n, const U& u) const {
    return detail::with_diminishing_excess(n, matched_parameters(u), parameter_decay);
  }

  template <class N, class D, class U>
  [[nodiscard]] auto terms(const N& n, const D& d, const U& u) const {
    using Unique = std::decay_t<decltype(d * u)>;
    const Unique unique = u < d ? Unique(u) : Unique(d);
    return base().terms(effective_parameters(n, unique), effective_tokens(d, unique));
  }
  template <class N, class D, class U>
  [[nodiscard]] auto operator()(const N& n, const D& d, const U& u) const {
    return terms(n, d, u).total();
  }
};

static_assert(Form<RepeatedData<>>);

}  // namespace floplan::law
