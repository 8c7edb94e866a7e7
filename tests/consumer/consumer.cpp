// SPDX-License-Identifier: BSD-3-Clause
#include <floplan/floplan.hpp>
#include <iostream>

int main() {
  using namespace floplan;
  const catalog::Catalog catalog;
  const double loss = law::predict(catalog.law("besiroglu-2024").form, Parameters(70e9), Tokens(1.4e12)).total();
  plan::Request run;
  run.shape = catalog.model("llama-3.1-8b").shape;
  run.accelerator = catalog.accelerator("h100-sxm");
  run.reliability.rate = reliability::rate_from_node_days(3.79e-3, Count(8));
  run.reliability.restart = Seconds(300);
  run.checkpoint.stall = Seconds(10);
  run.stages = {{.tokens = Tokens(1e12), .accelerators = Count(1024), .mfu = Fraction(0.4)}};
  const plan::Plan p = plan::make_plan(run);
  std::cout << print_number(loss, 10) << ' ' << p.wall_clock_days.p50 << '\n';
  return loss > 1.973 && loss < 1.974 && p.ettr > 0.9 && p.ettr < 1 ? 0 : 1;
}
