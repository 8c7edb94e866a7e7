// SPDX-License-Identifier: BSD-3-Clause
//
// A lifetime of requests on the command line, --demand 1e10 --request-input 1000 ..., and the model to buy for it.
#pragma once

#include <optional>
#include <string>

#include "command.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::cli {

struct DemandOptions {
  Text requests, input, output, samples, ttft, tpot;

  // The first option that was given, or nothing.
  [[nodiscard]] std::optional<std::string> given() const;
};

// What training and serving run on, as optimum's options say it.
struct DemandMachines {
  catalog::Accelerator train, serve;
  catalog::Precision train_precision = catalog::Precision::bf16, serve_precision = catalog::Precision::bf16;
  DollarsPerHour train_price, serve_price;
  Fraction train_mfu{0.5};
};

// `options` must outlive the program.
void add_demand(Subcommand& sub, DemandOptions& options);

// By one law, for a loss or for the loss of a budget.
[[nodiscard]] Answer answer_demand(const law::AnyLaw& law, const DemandOptions& options, const DemandMachines& on,
                                   std::optional<Flop> budget, std::optional<double> loss);

}  // namespace floplan::cli
