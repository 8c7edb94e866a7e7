// SPDX-License-Identifier: BSD-3-Clause
//
// How large should a mixture of experts be in all and per token, with how many active experts and how many shared ones?
//
//   L(N, Na, D, G, S) = (e G + f / G + m S^2 + n S) (1 / N^alpha + k / Na^alpha + h Na / N)
//                       + a / N^alpha + b / D^beta + c / Na^alpha + eps          [nats/token]
//
//   N all parameters, Na those that one token uses (at most N), D tokens, G active experts, S shared experts over active
//   ones. The best G and S do not depend on the rest: G* = sqrt(f / e), S* = -n / (2 m). The best Na / N falls with N.
//
// Source: Zhao et al. 2025 (arXiv 2509.23678), 446 runs. Its coefficients give the paper's own optima: G* near 7, S* .31
// (13 to 31% is flat), Na / N .40 at 30B and .22 at 671B.
//
// Holds: within those runs. The paper itself advises 5 to 9% for Na / N, since a token's FLOP cost money.
// Pitfall: the optimum of Na / N is at a fixed N and D, not at a fixed budget 6 Na D.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct JointMoe {
  Scalar granularity_linear{};            // e
  Scalar granularity_inverse{};           // f
  Scalar shared_square{};                 // m
  Scalar shared_linear{};                 // n
  Scalar active_weight{};                 // k
  Scalar ratio_weight{};                  // h
  Scalar parameter_coefficient{};         // a
  Scalar parameter_exponent{};            // alpha
  Scalar token_coefficient{};             // b
  Scalar token_exponent{};                // beta
  Scalar active_parameter_coefficient{};  // c
  Scalar irreducible_loss{};              // eps

  static constexpr std::string_view name = "joint-moe";
  static constexpr std::string_view formula =
      "(e G + f/G + m S^2 + n S)(1/N^alpha + k/Na^alpha + h Na/N) + a/N^alpha + b/D^beta + c/Na^alpha + eps";
  static constexpr std::array inputs = {Input::parameters, Input::active_parameters, Input::tokens, Input::granularity,
                                        Input::shared_share};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<JointMoe>{"e", &JointMoe::granularity_linear, 1e-6, 1e3},
                      Coefficient<JointMoe>{"f", &JointMoe::granularity_inverse, 1e-6, 1e6},
                      Coefficient<JointMoe>{"m", &JointMoe::shared_square, 1e-6, 1e6},
                      Coefficient<JointMoe>{"n", &JointMoe::shared_linear, -1e3, 1e3},
                      Coefficient<JointMoe>{"k", &JointMoe::active_weight, 1e-9, 1e3},
                      Coefficient<JointMoe>{"h", &JointMoe::ratio_weight, 1e-9, 1e3},
                      Coefficient<JointMoe>{"a", &JointMoe::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<JointMoe>{"alpha", &JointMoe::parameter_exponent, 1e-3, 20},
                      Coefficient<JointMoe>{"b", &JointMoe::token_coefficient, 1e-3, 1e15},
                      Coefficient<JointMoe>{"beta", &JointMoe::token_exponent, 1e-3, 20},
                      Coefficient<JointMoe>{"c", &JointMoe::active_parameter_coefficient, 1e-3, 1e15},
                      Coefficient<JointMoe>{"eps", &JointMoe::irreducible_loss, 0, 100}};
  }

  // The first factor: what the arrangement of the experts costs.
  template <class T>
  [[nodiscard]] auto arrangement(const T& g, const T& s) const {
    return granularity_linear * g + granularity_inverse / g + (shared_square * s + shared_linear) * s;
  }
  [[nodiscard]] Scalar best_granularity() const {
    using std::sqrt;
    return sqrt(granularity_inverse / granularity_linear);
  }
  [[nodiscard]] Scalar best_shared_share() const { return -shared_linear / (2.0 * shared_square); }
  // Na / N of the lowest loss at n parameters and any D, with the best G and S; above 1 where that is a dense model.
  [[nodiscard]] Scalar best_active_share(double n) const {
    using std::exp;
    using std::log;
    const Scalar cost = arrangement(best_granularity(), best_shared_share());
    const Scalar falling = parameter_exponent * (cost * active_weight + active_parameter_coefficient);
    return exp((log(falling / (cost * ratio_weight)) - parameter_exponent * std::log(n)) / (1.0 + parameter_exponent));
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& active, const T& d, const T& g, const T& s) const {
    using std::exp;
    using std::log;
    const auto all = exp(-parameter_exponent * log(n));
    const auto used = exp(-parameter_exponent * log(active));
    return arrangement(g, s) * (all + active_weight * used + ratio_weight * (active / n)) +
           parameter_coefficient * all + token_coefficient * exp(-token_exponent * log(d)) +
           active_parameter_coefficient * used + irreducible_loss;
  }

  [[nodiscard]] std::string refusal(std::span<const double> values) const {
    if (values[1] <= values[0]) return {};
    return "active_parameters must not exceed parameters, got " + print_number(values[1], 6) + " of " +
           print_number(values[0], 6);
  }
};

static_assert(Form<JointMoe<>>);

}  // namespace floplan::law
