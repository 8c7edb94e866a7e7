// SPDX-License-Identifier: BSD-3-Clause
//
// How much loss does rounding the weights of a finished model add?
//
//   delta L = C_T D^gamma_D / N^gamma_N exp(b - P / gamma_post)          [nats/token, to be added to the model's loss]
//
//   N parameters, D tokens it was trained on, P bits a weight after training (GPTQ in the source).
//
// Source: Kumar et al. 2024 (arXiv 2411.04330), equation 2 and appendix K, Table 2.
// OPEN: the appendix lists b = 1.1277 and does not write out where it stands. Here it is read as an offset like those of
// precision.hpp, which multiplies the increase by 3.09; with b = 0 the form is equation 2 as printed. Both are in the
// catalog (kumar-2024-ptq, kumar-2024-ptq-printed).
//
// Holds: N 30M to 1.7B, D up to 26B, R^2 = .90.
// Pitfall: it grows with D. From some D on, more training makes the rounded model worse, and far beyond the range of the
// fit this says absurd things of models trained on trillions of tokens.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct PostTrainingQuantisation {
  Scalar coefficient{};         // C_T
  Scalar token_exponent{};      // gamma_D
  Scalar parameter_exponent{};  // gamma_N
  Scalar bit_scale{};           // gamma_post, bits
  Scalar offset{};              // b

  static constexpr std::string_view name = "post-training-quantisation";
  static constexpr std::string_view formula = "C_T D^gamma_D/N^gamma_N exp(b - Pw/gamma_post)";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::weight_bits};
  static constexpr Output output = Output::loss_increase;
  [[nodiscard]] static constexpr auto coefficients() {
    using Form = PostTrainingQuantisation;
    return std::array{Coefficient<Form>{"C_T", &Form::coefficient, 1e-9, 1e9},
                      Coefficient<Form>{"gamma_D", &Form::token_exponent, 0, 5},
                      Coefficient<Form>{"gamma_N", &Form::parameter_exponent, 0, 5},
                      Coefficient<Form>{"gamma_post", &Form::bit_scale, 0.05, 10},
                      Coefficient<Form>{"b", &Form::offset, -20, 20}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& bits) const {
    using std::exp;
    using std::log;
    return coefficient * exp(token_exponent * log(d) - parameter_exponent * log(n) + offset - bits / bit_scale);
  }
};

static_assert(Form<PostTrainingQuantisation<>>);

}  // namespace floplan::law
