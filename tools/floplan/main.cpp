// SPDX-License-Identifier: BSD-3-Clause
#include "command.hpp"

int main(int argc, char** argv) {
  using namespace floplan::cli;
  Program program;
  add_plan(program);
  add_step(program);
  add_layout_search(program);
  add_serve(program);
  add_predict(program);
  add_optimum(program);
  add_hyperparameters(program);
  add_fit(program);
  add_isoflop(program);
  add_coverage(program);
  add_model(program);
  add_catalog(program);
  add_law(program);
  add_reliability(program);
  add_reliability_simulate(program);
  add_reliability_project(program);
  add_export(program);
  return program.run(argc, argv);
}
