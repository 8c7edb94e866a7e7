// SPDX-License-Identifier: BSD-3-Clause
#include <floplan/floplan.hpp>
#include <floplan/report/table.hpp>
#include <iostream>

using namespace floplan;

int main() {
  const catalog::Catalog catalog;
  cluster::StepRequest step{.shape = catalog.model("llama-3.1-405b").shape,
                            .machine = cluster::machine_of(catalog.accelerator("h100-sxm")),
                            .sequence_length = 8192};
  step.stack.overlap = false;
  report::Table table({"H100s", "VP", "step (s)", "TFLOP/s", "MFU (%)", "bubble (%)", "data (s)"});
  for (const std::int64_t data : {64, 128}) {
    for (const std::int64_t interleave : {1, 8}) {
      step.layout = {.tensor = 8, .pipeline = 16, .data = data, .interleave = interleave};
      step.global_batch = 2048;
      const cluster::StepReport s = cluster::step_time(step);
      table.add({{s.accelerators.value, 6},
                 {static_cast<double>(interleave), 2},
                 {s.step.value, 3},
                 {s.model_rate.value / 1e12, 3},
                 {100 * s.mfu, 3},
                 {100 * s.bubble_fraction, 3},
                 {s.terms.data, 2}});
    }
  }
  std::cout << table.text();
}
