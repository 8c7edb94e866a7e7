// SPDX-License-Identifier: BSD-3-Clause
//
// What does training with integers of few bits cost in loss?
//
//   L = E + A / N_eff^alpha + B / D^beta                                      [nats/token]
//   N_eff = N (1 - exp(n_w - P_w/gamma_w)) (1 - exp(n_a - P_a/gamma_a)) (1 - exp(n_kv - P_kv/gamma_kv))
//
//   P_w, P_a, P_kv bits of a weight, of an activation and of a key or value; 64 stands for no quantisation. At fixed bits
//   this is the Chinchilla form: section(P_w, P_a, P_kv).
//
// Source: Kumar et al. 2024 (arXiv 2411.04330), equation 4 and appendix K, Table 2. The appendix says that the printed
// exp(-P/gamma) is computed with an offset n without writing it out; its sign is inferred: this one gives the paper's best
// precision of 7 to 8 bits (7.00) and its unstable runs at 3 bits of activation, the other gives neither.
//
// Holds: N 30M to 1.7B, D up to 26B, one scale for a whole tensor of activations. The authors call the constants unlikely
// to be useful elsewhere, and with finer scales 4 bits do better than this (quantisation_aware.hpp).
// Pitfall: from n gamma bits down (.81, 3.11, 2.32) nothing is left of N: refused. Without the offsets, as the formula is
// mostly quoted, 4-bit weights would keep 78% of the parameters; with them it is 70%.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Precision {
  Scalar irreducible_loss{};       // E
  Scalar parameter_coefficient{};  // A
  Scalar token_coefficient{};      // B
  Scalar parameter_exponent{};     // alpha
  Scalar token_exponent{};         // beta
  Scalar weight_scale{};           // gamma_w, bits
  Scalar weight_offset{};          // n_w
  Scalar activation_scale{};       // gamma_a, bits
  Scalar activation_offset{};      // n_a
  Scalar kv_scale{};               // gamma_kv, bits
  Scalar kv_offset{};              // n_kv

  static constexpr std::string_view name = "precision";
  static constexpr std::string_view formula =
      "E + A/Neff^alpha + B/D^beta, Neff = N product of 1 - exp(n - P/gamma) over weights, activations, keys and "
      "values";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::weight_bits, Input::activation_bits,
                                        Input::kv_bits};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Precision>{"E", &Precision::irreducible_loss, 0, 100},
                      Coefficient<Precision>{"A", &Precision::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<Precision>{"B", &Precision::token_coefficient, 1e-3, 1e15},
                      Coefficient<Precision>{"alpha", &Precision::parameter_exponent, 1e-3, 20},
                      Coefficient<Precision>{"beta", &Precision::token_exponent, 1e-3, 20},
                      Coefficient<Precision>{"gamma_w", &Precision::weight_scale, 0.1, 10},
                      Coefficient<Precision>{"n_w", &Precision::weight_offset, -10, 10},
                      Coefficient<Precision>{"gamma_a", &Precision::activation_scale, 0.1, 10},
                      Coefficient<Precision>{"n_a", &Precision::activation_offset, -10, 10},
                      Coefficient<Precision>{"gamma_kv", &Precision::kv_scale, 0.1, 10},
                      Coefficient<Precision>{"n_kv", &Precision::kv_offset, -10, 10}};
  }

  // ln(N_eff / N). The logarithm of each factor, so that two negative ones do not pass for a positive product: nan.
  template <class T>
  [[nodiscard]] auto log_effective_share(const T& weight, const T& activation, const T& kv) const {
    using std::exp;
    using std::log;
    return log(1.0 - exp(weight_offset - weight / weight_scale)) +
           log(1.0 - exp(activation_offset - activation / activation_scale)) +
           log(1.0 - exp(kv_offset - kv / kv_scale));
  }
  template <class T>
  [[nodiscard]] auto effective_share(const T& weight, const T& activation, const T& kv) const {
    using std::exp;
    return exp(log_effective_share(weight, activation, kv));
  }

  template <class T>
  [[nodiscard]] auto section(const T& weight, const T& activation, const T& kv) const {
    using std::exp;
    using Value = std::decay_t<decltype(weight_scale * weight)>;
    return Chinchilla<Value>{
        Value(irreducible_loss),
        parameter_coefficient * exp(-parameter_exponent * log_effective_share(weight, activation, kv)),
        Value(token_coefficient), Value(parameter_exponent), Value(token_exponent)};
  }
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& weight, const T& activation, const T& kv) const {
    return section(weight, activation, kv)(n, d);
  }

  [[nodiscard]] std::string refusal(std::span<const double> values) const {
    const std::array<double, 3> limits = {static_cast<double>(weight_offset * weight_scale),
                                          static_cast<double>(activation_offset * activation_scale),
                                          static_cast<double>(kv_offset * kv_scale)};
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (values[i + 2] > limits[i]) continue;
      return std::string(info(inputs[i + 2]).key) + " must be above " + print_number(limits[i], 3) +
             ", where the law leaves no parameters, got " + print_number(values[i + 2], 6);
    }
    return {};
  }
};

static_assert(Form<Precision<>>);

}  // namespace floplan::law
