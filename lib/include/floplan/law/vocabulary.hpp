// SPDX-License-Identifier: BSD-3-Clause
//
// How large should a vocabulary be?
//
//   Lu = A1 / (N / 1e6)^alpha1 + A2 / (Nv / 1e6)^alpha2 + B / (D / 1e9)^beta - E
//
//   N parameters outside the vocabulary, Nv = V d those of a vocabulary of V entries and width d, D training tokens.
//   Lu is the loss less that of a unigram model with the same vocabulary, in nats a token and so mostly negative: the only
//   kind of loss that can be compared between vocabularies, and not one to compare with any other law.
//   E is positive and subtracted.
//
// Source: Tao et al. 2024 (arXiv 2407.13623), approach 3; units and full precision from the authors' program
// (sail-sg/scaling-with-vocab): millions of parameters, billions of tokens, alpha1 = beta.
//
// Holds: N 33M to 3B, data of up to 500B characters, vocabularies of 4K to 96K.
// Pitfall: transcriptions write B / H^beta with H in characters. The authors choose vocabularies with D = C / (6 (N + Nv))
// tokens, as here; their fit turned characters into tokens with the vocabulary in thousands, which gives about three times
// as many. So the best Nv is theirs; the level of Lu is not to be trusted to better than .1.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Vocabulary {
  Scalar unigram_gain{};            // E, subtracted
  Scalar parameter_coefficient{};   // A1, N in millions
  Scalar vocabulary_coefficient{};  // A2, Nv in millions
  Scalar token_coefficient{};       // B, D in billions
  Scalar parameter_exponent{};      // alpha1
  Scalar vocabulary_exponent{};     // alpha2
  Scalar token_exponent{};          // beta

  static constexpr std::string_view name = "vocabulary";
  static constexpr std::string_view formula = "A1/(N/1e6)^alpha1 + A2/(Nv/1e6)^alpha2 + B/(D/1e9)^beta - E";
  static constexpr std::array inputs = {Input::parameters, Input::vocabulary_parameters, Input::tokens};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Vocabulary>{"E", &Vocabulary::unigram_gain, 0, 100},
                      Coefficient<Vocabulary>{"A1", &Vocabulary::parameter_coefficient, 1e-6, 1e12},
                      Coefficient<Vocabulary>{"A2", &Vocabulary::vocabulary_coefficient, 1e-6, 1e12},
                      Coefficient<Vocabulary>{"B", &Vocabulary::token_coefficient, 1e-6, 1e12},
                      Coefficient<Vocabulary>{"alpha1", &Vocabulary::parameter_exponent, 1e-3, 20},
                      Coefficient<Vocabulary>{"alpha2", &Vocabulary::vocabulary_exponent, 1e-3, 20},
                      Coefficient<Vocabulary>{"beta", &Vocabulary::token_exponent, 1e-3, 20}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& vocabulary, const T& d) const {
    using std::exp;
    using std::log;
    return parameter_coefficient * exp(-parameter_exponent * log(n / 1e6)) +
           vocabulary_coefficient * exp(-vocabulary_exponent * log(vocabulary / 1e6)) +
           token_coefficient * exp(-token_exponent * log(d / 1e9)) - unigram_gain;
  }
};

static_assert(Form<Vocabulary<>>);

}  // namespace floplan::law
