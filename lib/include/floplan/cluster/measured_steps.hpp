// SPDX-License-Identifier: BSD-3-Clause
//
// People's measured training steps, one row a run, as questions to the step-time model with their measured answers.
//
//   const MeasuredSteps rows = read_measured_steps(parse_csv(text, "rows.csv"), catalog);
//
// Columns (other titles in parentheses): id (name), group (publisher), model, accelerator, accelerators (n_accel, n_gpus),
// tp, cp, pp, vp, ep, dp, sharding, microbatch (mbs), global_batch (gbs_seqs, gbs), sequence_length (seq_len, seq),
// precision, recompute, and the answer: step_s (iter_time_s), or tokens_per_s_per_accel. The shape: layers, width (d_model,
// hidden), heads, kv_heads, head_width (head_dim), ffn_width (ffn), vocabulary (vocab), gated, tied; where layers is blank,
// the catalog's model of that name. The stack, blank where not known: attention, elementwise, host, sequence_parallel,
// overlap, scatter_gather, gradient_bytes, data_parallel, selective; and network_gbps, GB/s an accelerator.
//
// A row that cannot be asked is skipped with its place and the reason; a blank fact is assumed, and the row says so.
// Throws Error(data) where a needed column is not there at all.
// Pitfall: TFLOP/s without a convention is no measurement of time, and is not read.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/machine.hpp"
#include "floplan/cluster/step_request.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"

namespace floplan::cluster {

struct MeasuredStep {
  std::string id;
  std::string group;
  StepRequest request;
  Seconds measured;
  std::vector<Warning> assumptions;  // of the row; the stack's are in request.stack
};

struct SkippedStep {
  std::string place;
  std::string reason;
};

struct MeasuredSteps {
  std::vector<MeasuredStep> steps;
  std::vector<SkippedStep> skipped;
};

namespace detail {

using Titles = std::initializer_list<std::string_view>;

class StepCells {
 public:
  explicit StepCells(const CsvTable& table) : table_(table) {}
  void at(const CsvRow& row) { row_ = row; }

  [[nodiscard]] std::optional<std::size_t> column(Titles titles) const {
    for (const std::string_view title : titles) {
      if (const auto found = table_.find_column(title)) return found;
    }
    return std::nullopt;
  }
  void require(Titles titles) const {
    if (!column(titles)) static_cast<void>(table_.column(*titles.begin()));
  }
  [[nodiscard]] std::string text(Titles titles) const {
    const auto found = column(titles);
    std::string_view cell = found ? row_[*found] : std::string_view();
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    return lower_case(cell);
  }
  [[nodiscard]] Error fail(Titles titles, const std::string& rule) const {
    return Error(Failure::data, "bad_cell", table_.place(row_, column(titles).value_or(table_.header().size())),
                 std::string(*titles.begin()) + " " + rule + ", got \"" + text(titles) + "\"");
  }
  [[nodiscard]] std::optional<double> number(Titles titles) const {
    const std::string cell = text(titles);
    if (cell.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !(value > 0) || !std::isfinite(value))
      throw fail(titles, "must be a positive number");
    return value;
  }
  [[nodiscard]] std::optional<std::int64_t> whole(Titles titles) const {
    const auto value = number(titles);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value) || *value > 1e15) throw fail(titles, "must be a whole number");
    return static_cast<std::int64_t>(*value);
  }
  [[nodiscard]] std::int64_t required(Titles titles) const {
    if (const auto value = whole(titles)) return *value;
    throw fail(titles, "must be given");
  }
  template <class Value>
  [[nodiscard]] Fact<Value> fact(Titles titles, const Fact<Value>& otherwise,
                                 std::initializer_list<std::pair<std::string_view, Value>> words) const {
    const std::string cell = text(titles);
    if (cell.empty()) return otherwise;
    std::string known;
    for (const auto& [word, value] : words) {
      if (cell == word) return Fact<Value>(value);
      known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw fail(titles, "must be one of " + known);
  }
  [[nodiscard]] Fact<bool> yes_no(Titles titles, const Fact<bool>& otherwise) const {
    return fact<bool>(titles, otherwise,
                      {{"1", true}, {"yes", true}, {"true", true}, {"0", false}, {"no", false}, {"false", false}});
  }
  [[nodiscard]] std::string place() const { return table_.place(row_, 0); }

 private:
  const CsvTable& table_;
  CsvRow row_{{}, 0};
};

[[nodiscard]] inline bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

inline void read_sharding(const StepCells& cells, MeasuredStep& out) {
  using architecture::Sharding;
  const std::string text = cells.text({"sharding"});
  StepRequest& r = out.request;
  if (text.empty()) {
    out.assumptions.push_back({"sharding", "a distributed optimizer is assumed"});
  } else if (text.starts_with("none")) {
    r.sharding = Sharding::none;
  } else if (has(text, "zero-2") || has(text, "zero2")) {
    r.sharding = Sharding::zero2;
  } else if (has(text, "shard_grad_op")) {
    r.sharding = Sharding::zero3;
    r.keeps_gathered_weights = true;
  } else if (has(text, "zero-3") || has(text, "zero3") || has(text, "fsdp") || has(text, "full_shard")) {
    r.sharding = Sharding::zero3;
  } else if (!has(text, "zero-1") && !has(text, "zero1") && !has(text, "dist-opt") && !has(text, "distributed")) {
    throw cells.fail({"sharding"}, "must be none, zero1, zero2, zero3, FSDP, SHARD_GRAD_OP or a distributed optimizer");
  }
}

inline void read_recompute(const StepCells& cells, MeasuredStep& out) {
  using architecture::Recompute;
  const std::string text = cells.text({"recompute"});
  if (text.empty()) {
    out.assumptions.push_back({"recompute", "no recomputation is assumed"});
  } else if (text.starts_with("full")) {
    out.request.recompute = Recompute::full;
  } else if (text.starts_with("selective")) {
    out.request.recompute = Recompute::selective;
  } else if (!text.starts_with("none")) {
    throw cells.fail({"recompute"}, "must be none, selective or full");
  }
}

inline void read_precision(const StepCells& cells, MeasuredStep& out) {
  using catalog::Precision;
  const std::string text = cells.text({"precision"});
  if (has(text, "fp4")) {
    out.request.precision = Precision::fp4;
  } else if (has(text, "fp8")) {
    out.request.precision = Precision::fp8;
  } else if (text.empty()) {
    out.assumptions.push_back({"precision", "bf16 is assumed"});
  } else if (!has(text, "bf16") && !has(text, "fp16")) {
    throw cells.fail({"precision"}, "must be bf16, fp16, fp8 or fp4");
  }
}

inline void read_stack(const StepCells& cells, SoftwareStack& s) {
  s.attention = cells.fact<AttentionKernel>({"attention"}, s.attention,
                                            {{"current", AttentionKernel::current},
                                             {"early", AttentionKernel::early},
                                             {"unfused", AttentionKernel::unfused}});
  s.elementwise = cells.fact<Elementwise>({"elementwise"}, s.elementwise,
                                          {{"fused", Elementwise::fused}, {"eager", Elementwise::eager}});
  s.host = cells.fact<Host>({"host"}, s.host, {{"graphs", Host::graphs}, {"fast", Host::fast}, {"slow", Host::slow}});
  s.data_parallel =
      cells.fact<DataParallelEngine>({"data_parallel"}, s.data_parallel,
                                     {{"current", DataParallelEngine::current}, {"early", DataParallelEngine::early}});
  s.selective = cells.fact<SelectiveRecompute>(
      {"selective"}, s.selective,
      {{"attention_core", SelectiveRecompute::attention_core}, {"operators", SelectiveRecompute::operators}});
  s.sequence_parallel = cells.yes_no({"sequence_parallel"}, s.sequence_parallel);
  s.overlap = cells.yes_no({"overlap"}, s.overlap);
  s.scatter_gather = cells.yes_no({"scatter_gather"}, s.scatter_gather);
  if (const auto bytes = cells.number({"gradient_bytes"})) s.gradient_bytes = *bytes;
}

[[nodiscard]] inline architecture::Transformer read_shape(const StepCells& cells, const catalog::Catalog& catalog,
                                                          MeasuredStep& out) {
  if (cells.text({"layers"}).empty()) {
    const std::string model = cells.text({"model"});
    if (model.empty()) throw cells.fail({"layers"}, "must be given, or a model of the catalog");
    return catalog.model(model, cells.place()).shape;
  }
  architecture::Transformer t;
  t.layers = cells.required({"layers"});
  t.width = cells.required({"width", "d_model", "hidden"});
  t.heads = cells.required({"heads"});
  t.kv_heads = cells.whole({"kv_heads"}).value_or(t.heads);
  t.vocabulary = cells.required({"vocabulary", "vocab"});
  const auto head_width = cells.whole({"head_width", "head_dim"});
  if (!head_width && t.width % t.heads != 0)
    throw cells.fail({"head_width", "head_dim"}, "must be given where heads do not divide the width");
  t.head_width = head_width.value_or(t.width / t.heads);
  const auto inner = cells.whole({"ffn_width", "ffn"});
  t.ffn_width = inner.value_or(4 * t.width);
  // Blocks of four times the width are plain ones in all public models; gated ones are narrower.
  const bool plain = t.ffn_width == 4 * t.width;
  t.gated = cells.yes_no({"gated"}, Fact<bool>::assume(!plain)).value;
  t.tied_embeddings = cells.yes_no({"tied"}, Fact<bool>::assume(plain)).value;
  if (!inner) out.assumptions.push_back({"ffn_width", "a feed-forward block of 4 times the width is assumed"});
  if (cells.text({"gated"}).empty())
    out.assumptions.push_back({"gated", t.gated ? "a gated block is assumed" : "a plain block is assumed"});
  return t;
}

[[nodiscard]] inline Seconds read_time(const StepCells& cells, const StepRequest& r) {
  if (const auto seconds = cells.number({"step_s", "iter_time_s"})) return Seconds(*seconds);
  if (const auto rate = cells.number({"tokens_per_s_per_accel"})) {
    return Seconds(static_cast<double>(r.global_batch) * static_cast<double>(r.sequence_length) /
                   (*rate * r.layout.accelerators().value));
  }
  throw cells.fail({"step_s", "iter_time_s"}, "or tokens_per_s_per_accel must be given");
}

[[nodiscard]] inline MeasuredStep read_measured_step(const StepCells& cells, const catalog::Catalog& catalog,
                                                     std::map<std::string, catalog::Accelerator>& known) {
  MeasuredStep out;
  out.id = cells.text({"id", "name"});
  out.group = cells.text({"group", "publisher"});
  StepRequest& r = out.request;
  r.shape = read_shape(cells, catalog, out);
  const std::string part = cells.text({"accelerator"});
  if (!known.contains(part)) known.emplace(part, catalog.accelerator(part, cells.place()));
  MachineOptions options;
  if (const auto network = cells.number({"network_gbps"})) options.network = BytesPerSecond(*network * 1e9);
  r.machine = machine_of(known.at(part), options);
  r.accelerators = Count(static_cast<double>(cells.required({"accelerators", "n_accel", "n_gpus"})));
  r.layout.tensor = cells.whole({"tp"}).value_or(1);
  r.layout.context = cells.whole({"cp"}).value_or(1);
  r.layout.pipeline = cells.whole({"pp"}).value_or(1);
  r.layout.expert = cells.whole({"ep"}).value_or(1);
  r.layout.interleave = cells.whole({"vp"}).value_or(1);
  if (r.layout.pipeline > 1 && !cells.whole({"vp"}))
    out.assumptions.push_back({"interleave", "a pipeline that is not interleaved is assumed"});
  r.layout.data = cells.required({"dp"});
  r.global_batch = cells.required({"global_batch", "gbs_seqs", "gbs"});
  if (const auto microbatch = cells.whole({"microbatch", "mbs"})) {
    r.microbatch = *microbatch;
  } else {
    out.assumptions.push_back({"microbatch", "a microbatch of 1 sequence is assumed"});
  }
  r.sequence_length = cells.required({"sequence_length", "seq_len", "seq"});
  r.uneven_stages = true;  // it was run, so it can be
  read_precision(cells, out);
  read_sharding(cells, out);
  read_recompute(cells, out);
  read_stack(cells, r.stack);
  check(r);
  out.measured = read_time(cells, r);
  return out;
}

}  // namespace detail

[[nodiscard]] inline MeasuredSteps read_measured_steps(const CsvTable& table, const catalog::Catalog& catalog) {
  detail::StepCells cells(table);
  cells.require({"accelerator"});
  cells.require({"accelerators", "n_accel", "n_gpus"});
  cells.require({"global_batch", "gbs_seqs", "gbs"});
  cells.require({"sequence_length", "seq_len", "seq"});
  std::map<std::string, catalog::Accelerator> known;
  MeasuredSteps out;
  for (const CsvRow& row : table.rows()) {
    cells.at(row);
    try {
      out.steps.push_back(detail::read_measured_step(cells, catalog, known));
    } catch (const Error& error) {
      out.skipped.push_back({cells.place(), error.what()});
    }
  }
  return out;
}

}  // namespace floplan::cluster
