// SPDX-License-Identifier: BSD-3-Clause
#include <floplan/floplan.hpp>
#include <iostream>

int main() {
  const auto answer = floplan::training_flop(floplan::Parameters(405e9), floplan::Tokens(15.6e12));
  std::cout << floplan::print(answer, 4) << '\n';
  return answer.value > 0 ? 0 : 1;
}
