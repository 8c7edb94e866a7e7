// SPDX-License-Identifier: BSD-3-Clause
//
// Measured steps for the cluster's tests: the typed ones of tests/reference, and those of the shared tables, whose two files
// (shapes and layouts in one, what the trial took for the software in the other) are joined into one text that the library reads.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/measured_steps.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"

namespace steps {

inline floplan::catalog::Catalog catalog() {
  floplan::catalog::Catalog out;
  const std::string file = "step_time_models_cases.csv";
  out.add("models.csv", floplan::read_text_file(reference::folder() / file), file);
  return out;
}

inline floplan::cluster::MeasuredSteps typed() {
  const std::string file = "step_time_cases.csv";
  return floplan::cluster::read_measured_steps(
      floplan::parse_csv(floplan::read_text_file(reference::folder() / file), file), catalog());
}

inline floplan::cluster::MeasuredStep named(std::string_view id) {
  for (const floplan::cluster::MeasuredStep& step : typed().steps) {
    if (step.id == id) return step;
  }
  FAIL("no case is named " << std::string(id));
  return {};
}

// A row of a table by its titles.
class Cells {
 public:
  Cells(const floplan::CsvTable& table, const floplan::CsvRow& row) : table_(table), row_(row) {}
  std::string operator[](std::string_view title) const { return std::string(row_[table_.column(title)]); }
  bool is(std::string_view title) const { return (*this)[title] == "1"; }

 private:
  const floplan::CsvTable& table_;
  const floplan::CsvRow& row_;
};

struct Shared {
  floplan::CsvTable predictions;  // of the trial, term by term
  floplan::cluster::MeasuredSteps measured;
};

inline std::string with_stack(const Cells& shape, const Cells& trial) {
  const std::map<std::string, std::string> sharding{
      {"0", "none"}, {"1", "zero1"}, {"2", "SHARD_GRAD_OP"}, {"3", "FSDP"}, {"4", "zero3"}};
  const std::map<std::string, std::string> precision{{"0", "bf16"}, {"1", "fp8"}, {"2", "fp4"}};
  const std::map<std::string, std::string> recompute{{"0", "none"}, {"1", "selective"}, {"2", "full"}};
  std::string network;
  for (const reference::Row& row : reference::rows("step_time_networks.csv")) {
    if (row.name() == trial["group"]) network = row.text("value");
  }
  const bool dense = shape["arch"] == "dense";
  const std::vector<std::string> cells{trial["id"],
                                       trial["group"] + (trial["group"] == "nvidia-mbridge" && dense ? " dense" : ""),
                                       shape["model"],
                                       dense ? shape["layers"] : "",
                                       shape["d_model"],
                                       shape["heads"],
                                       shape["kv_heads"],
                                       shape["ffn"],
                                       shape["vocab"],
                                       trial["gated"],
                                       trial.is("gated") ? "no" : "yes",
                                       shape["accelerator"],
                                       trial["n"],
                                       network,
                                       trial["tp"],
                                       trial["cp"],
                                       trial["pp"],
                                       trial["vp"],
                                       trial["ep"],
                                       trial["dp"],
                                       trial["b"],
                                       trial["G"],
                                       trial["s"],
                                       precision.at(trial["prec"]),
                                       sharding.at(trial["shard"]),
                                       recompute.at(trial["rec"]),
                                       !trial.is("flash")  ? "unfused"
                                       : trial.is("oldfa") ? "early"
                                                           : "current",
                                       trial.is("eager") ? "eager" : "fused",
                                       trial.is("slow") ? "slow" : "fast",
                                       trial["sp"],
                                       trial["ovl"],
                                       trial["sg"],
                                       trial["gb"],
                                       trial["shard"] == "4" ? "early" : "current",
                                       trial["t_measured"]};
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + floplan::csv_cell(cell);
  return line + "\n";
}

inline std::optional<Shared> shared() {
  const auto predictions = shared_data::table("step_time_reference_predictions.csv");
  const auto runs = shared_data::table("measured_training_runs.csv");
  if (!predictions || !runs) return std::nullopt;
  std::map<std::string, floplan::CsvRow> shapes;
  for (const floplan::CsvRow& row : runs->rows()) shapes.emplace(row[runs->column("id")], row);
  std::string text =
      "id,group,model,layers,width,heads,kv_heads,ffn_width,vocabulary,gated,tied,accelerator,accelerators,network_"
      "gbps,tp,"
      "cp,pp,vp,ep,dp,microbatch,global_batch,sequence_length,precision,sharding,recompute,attention,elementwise,host,"
      "sequence_parallel,overlap,scatter_gather,gradient_bytes,data_parallel,step_s\n";
  for (const floplan::CsvRow& row : predictions->rows()) {
    const Cells trial(*predictions, row);
    text += with_stack(Cells(*runs, shapes.at(trial["id"])), trial);
  }
  return Shared{*predictions,
                floplan::cluster::read_measured_steps(floplan::parse_csv(text, "joined steps"), catalog())};
}

// 1,440 measured steps of one node of A100s, with what the trial took for their software.
inline std::optional<floplan::cluster::MeasuredSteps> single_node() {
  const auto table = shared_data::table("vtrain_single_node.csv");
  if (!table) return std::nullopt;
  const reference::Row facts = reference::row("step_time_single_node_cases.csv", "vtrain-single");
  const std::vector<std::string> more{"group",     "vocabulary",     "accelerator",   "precision", "sharding",
                                      "recompute", "attention",      "elementwise",   "host",      "sequence_parallel",
                                      "overlap",   "scatter_gather", "gradient_bytes"};
  std::string text;
  for (const std::string& title : table->header()) text += (text.empty() ? "" : ",") + title;
  for (const std::string& title : more) text += "," + title;
  for (const floplan::CsvRow& row : table->rows()) {
    for (std::size_t i = 0; i < table->header().size(); ++i) text += (i == 0 ? "\n" : ",") + floplan::csv_cell(row[i]);
    for (const std::string& title : more) text += "," + floplan::csv_cell(facts.text(title));
  }
  return floplan::cluster::read_measured_steps(floplan::parse_csv(text, "single nodes"), catalog());
}

}  // namespace steps
