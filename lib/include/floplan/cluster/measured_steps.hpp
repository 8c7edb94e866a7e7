// SPDX-License-Identifier: BSD-3-Clause
//
// People's measured training steps, one row a run, as questions to the step-time model with their measured answers.
//
//   const MeasuredSteps rows = read_measured_steps(parse_csv(text, "rows.csv"), catalog);
//
// Columns (other titles in parentheses): id (name), group (publisher), model, accelerator, accelerators (n_accel, n_gpus),
// tp, cp, pp, vp, ep, dp, sharding, microbatch (mbs), global_batch (gbs_seqs, gbs), sequence_length (seq_len, seq),
// precision, recompute, and the answer: step_s (iter_time_s), or tokens_per_s_per_accel, or tflops_per_accel
// with tflops_kind (published_rate.hpp). The shape: layers, width (d_model,
// hidden), heads, kv_heads, head_width (head_dim), ffn_width (ffn), vocabulary (vocab), gated, tied; where layers is blank,
// the catalog's model of that name. The stack, blank where not known: attention, elementwise, host, sequence_parallel,
// overlap, scatter_gather, gradient_bytes, data_parallel, selective; and network_gbps, GB/s an accelerator. What is blank
// comes from the publisher's record (step_cells.hpp).
//
// A row that cannot be asked is skipped with its place and the reason; a blank fact is assumed, and the row says so.
// Throws Error(data) where a needed column is not there at all.
// Pitfall: TFLOP/s without a convention is no measurement of time, and is not read. A microbatch that is not given is taken
// as the model's fastest, which flatters the model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/machine.hpp"
#include "floplan/cluster/published_rate.hpp"
#include "floplan/cluster/step_cells.hpp"
#include "floplan/cluster/step_request.hpp"
#include "floplan/cluster/step_terms.hpp"
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
  bool known_stack = false;          // its publisher has a record in the catalog's stacks
  bool guessed_layout = false;       // what moves its time stands neither in the row nor in its publisher's record

  void guess(const char* code, std::string text) {
    assumptions.push_back({code, std::move(text)});
    guessed_layout = true;
  }
};

struct SkippedStep {
  std::string place;
  std::string reason;
};

struct MeasuredSteps {
  std::vector<MeasuredStep> steps;
  std::vector<SkippedStep> skipped;
};

struct MeasuredStepOptions {
  bool known_stacks = true;  // false: publishers' records are not looked at, and every fact is guessed
};

namespace detail {

inline void read_sharding(const StepCells& cells, MeasuredStep& out) {
  using architecture::Sharding;
  const std::string text = cells.text({"sharding"});
  StepRequest& r = out.request;
  const auto zero = [&text](const std::string& stage) {
    return has(text, "zero-" + stage) || has(text, "zero" + stage) || has(text, "zero " + stage) ||
           has(text, "stage " + stage);
  };
  if (text.empty()) {
    out.guess("sharding", "a distributed optimizer is assumed");
  } else if (text.starts_with("none") || text == "ddp" || text == "dp") {
    r.sharding = Sharding::none;
  } else if (zero("2")) {
    r.sharding = Sharding::zero2;
  } else if (has(text, "shard_grad_op") || has(text, "no_reshard")) {
    r.sharding = Sharding::zero3_no_reshard;
  } else if (zero("3") || has(text, "fsdp") || has(text, "full_shard")) {
    r.sharding = Sharding::zero3;
  } else if (!zero("1") && !has(text, "dist-opt") && !has(text, "distributed")) {
    throw cells.fail({"sharding"}, "must be none, zero1, zero2, zero3, FSDP, SHARD_GRAD_OP or a distributed optimizer");
  }
}

inline void read_recompute(const StepCells& cells, MeasuredStep& out) {
  using architecture::Recompute;
  const std::string text = cells.text({"recompute"});
  if (cells.assumed({"recompute"})) out.assumptions.push_back({"recompute", text + " recomputation is assumed"});
  if (text.empty()) {
    out.guess("recompute", "no recomputation is assumed");
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
    out.request.block_scaled = true;
  } else if (has(text, "fp8")) {
    out.request.precision = Precision::fp8;
    out.request.block_scaled = has(text, "mx") && !has(text, "cs");
  } else if (text.empty()) {
    out.guess("precision", "bf16 is assumed");
  } else if (!has(text, "bf16") && !has(text, "fp16")) {
    throw cells.fail({"precision"}, "must be bf16, fp16, fp8 or fp4");
  }
}

// Publishers write one name in many ways: "DeepSeekV3", "LLAMA3_70B". Letters and digits decide where no name is exact.
[[nodiscard]] inline architecture::Transformer named_shape(const catalog::Catalog& catalog, const std::string& name,
                                                           const std::string& place) {
  const auto bare = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
    }
    return out;
  };
  const std::string wanted = bare(lower_case(name));
  std::vector<std::string> found;
  for (const catalog::Model& model : catalog.models()) {
    if (model.name == name || std::find(model.aliases.begin(), model.aliases.end(), name) != model.aliases.end())
      return model.shape;
    bool same = bare(model.name) == wanted;
    for (const std::string& alias : model.aliases) same = same || bare(alias) == wanted;
    if (same) found.push_back(model.name);
  }
  return catalog.model(found.size() == 1 ? found.front() : name, place).shape;
}

inline const Titles accelerator_titles = {"accelerators", "n_accel", "n_gpus", "gpus", "count"};
inline const Titles batch_titles = {"global_batch", "gbs_seqs", "gbs", "global_batch_size"};
inline const Titles microbatch_titles = {"microbatch", "mbs", "micro_batch_size", "micro_batch"};
inline const Titles second_titles = {"step_s", "iter_time_s"};

// Of a mixture of experts whose shape stands in the row.
inline void read_experts(const StepCells& cells, architecture::Transformer& t) {
  const auto count = cells.whole({"experts", "num_experts"});
  if (!count && !has(cells.cell({"arch"}), "moe")) return;
  architecture::Experts x;
  x.count = cells.required({"experts", "num_experts"});
  x.active = cells.required({"active_experts", "top_k"});
  x.width = cells.required({"expert_width", "moe_ffn"});
  x.shared_width = cells.whole({"shared_width"}).value_or(0);
  const std::int64_t dense = cells.whole({"dense_layers"}).value_or(0);
  if (x.active > x.count)
    throw cells.fail({"active_experts", "top_k"}, "must be at most the " + std::to_string(x.count) + " experts");
  if (dense >= t.layers)
    throw cells.fail({"dense_layers"}, "must be fewer than the " + std::to_string(t.layers) + " layers");
  x.layers = architecture::LayerPattern::from(dense, t.layers);
  t.experts = std::move(x);
}

[[nodiscard]] inline architecture::Transformer read_shape(const StepCells& cells, const catalog::Catalog& catalog,
                                                          MeasuredStep& out) {
  if (cells.text({"layers"}).empty()) {
    const std::string model = cells.text({"model"});
    if (model.empty()) throw cells.fail({"layers"}, "must be given, or a model of the catalog");
    return named_shape(catalog, model, cells.place());
  }
  architecture::Transformer t;
  t.layers = cells.required({"layers"});
  t.width = cells.required({"width", "d_model", "hidden"});
  t.heads = cells.required({"heads"});
  const auto kv_heads = cells.whole({"kv_heads"});
  t.kv_heads = kv_heads.value_or(t.heads);
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
  if (!kv_heads && t.gated) out.guess("kv_heads", "as many key-value heads as heads are assumed");
  if (!inner) out.assumptions.push_back({"ffn_width", "a feed-forward block of 4 times the width is assumed"});
  read_experts(cells, t);
  if (cells.text({"gated"}).empty())
    out.assumptions.push_back({"gated", t.gated ? "a gated block is assumed" : "a plain block is assumed"});
  return t;
}

[[nodiscard]] inline Seconds read_time(const StepCells& cells, const StepRequest& r) {
  const double tokens = static_cast<double>(r.global_batch) * static_cast<double>(r.sequence_length);
  const double share = tokens / r.layout.accelerators().value;
  const auto seconds = cells.number(second_titles);
  const auto rate = cells.number({"tokens_per_s_per_accel"});
  if (seconds && !has(cells.cell({"iter_time_kind"}), "tok/s")) {
    if (rate && std::abs(std::log(share / *rate / *seconds)) > 0.1) {
      throw cells.fail(second_titles, "must agree with tokens_per_s_per_accel, by which a step takes " +
                                          print(Seconds(share / *rate), 4));
    }
    return Seconds(*seconds);
  }
  const auto tflops = cells.number({"tflops_per_accel"});
  const auto flop = tflops ? flop_per_token(r, cells.cell({"tflops_kind"})) : std::nullopt;
  // Rates that were rounded to whole blocks of 16 tokens are less precise than the TFLOP/s beside them.
  const bool rounded = rate && std::fmod(*rate, 16) == 0;
  if (flop && (!rate || rounded)) {
    const double by_flop = flop->value * share / (*tflops * 1e12);
    if (!rate || std::abs(std::log(by_flop * *rate / share)) < 0.03) return Seconds(by_flop);
  }
  if (rate) return Seconds(share / *rate);
  if (seconds) return Seconds(*seconds);
  if (tflops) throw cells.fail({"tflops_kind"}, "must be a known convention where TFLOP/s are all that was measured");
  throw cells.fail(second_titles, "or tokens_per_s_per_accel, or tflops_per_accel must be given");
}

// DP, or what the other degrees leave of the accelerators where they are given.
[[nodiscard]] inline std::int64_t data_ranks(const StepCells& cells, const StepRequest& r) {
  const std::int64_t others = r.layout.tensor * r.layout.context * r.layout.pipeline;
  const std::int64_t all = cells.required(accelerator_titles);
  if (!cells.whole({"dp"}) && cells.whole({"tp"}) && cells.whole({"pp"}) && all % others == 0) return all / others;
  return cells.required({"dp"});
}

inline void read_interleave(const StepCells& cells, MeasuredStep& out) {
  if (out.request.layout.pipeline == 1) return;
  const auto chunks = cells.whole({"interleave", "vp"});
  const bool given = chunks.has_value();
  out.request.layout.interleave = chunks.value_or(1);
  const std::string text = out.request.layout.interleave == 1
                               ? "a pipeline that is not interleaved is assumed"
                               : "an interleaving of " + std::to_string(out.request.layout.interleave) + " is assumed";
  if (!given) {
    out.guess("interleave", text);
  } else if (cells.cell({"interleave", "vp"}).empty() && cells.assumed({"interleave"})) {
    out.assumptions.push_back({"interleave", text});
  }
}

// The fastest one that the model knows, of the powers of two that divide the batch: what a tuned run would have chosen.
inline void assume_microbatch(MeasuredStep& out) {
  StepRequest& r = out.request;
  double best = 0;
  std::int64_t chosen = 1;
  for (std::int64_t b = 1; b <= 16 && r.global_batch % (r.layout.data * b) == 0; b *= 2) {
    r.microbatch = b;
    const double seconds = step_terms(r).step;
    if (best == 0 || seconds < best) {
      best = seconds;
      chosen = b;
    }
  }
  r.microbatch = chosen;
  out.guess("microbatch", "the fastest microbatch is assumed");
}

// By 6 N FLOP a token, the least that a convention counts.
[[nodiscard]] inline double measured_mfu(const MeasuredStep& s) {
  const StepRequest& r = s.request;
  const Tokens sequence(static_cast<double>(r.sequence_length));
  const double flop = architecture::training_flop_per_token(r.shape, sequence).by(law::FlopConvention::six_n).value *
                      static_cast<double>(r.global_batch) * static_cast<double>(r.sequence_length);
  return flop / (s.measured.value * r.layout.accelerators().value * r.machine.peak(r.precision).value);
}

[[nodiscard]] inline MeasuredStep read_measured_step(const StepCells& cells, const catalog::Catalog& catalog,
                                                     std::map<std::string, catalog::Accelerator>& known) {
  MeasuredStep out;
  out.id = cells.text({"id", "name"});
  out.group = cells.cell({"group", "publisher"});
  if (out.group.empty() && cells.known_publisher()) out.group = cells.stack()->name;
  StepRequest& r = out.request;
  r.shape = read_shape(cells, catalog, out);
  const std::string part = cells.text({"accelerator"});
  if (!known.contains(part)) known.emplace(part, catalog.accelerator(part, cells.place()));
  MachineOptions options;
  if (const auto network = cells.number({"network_gbps"})) options.network = BytesPerSecond(*network * 1e9);
  r.machine = machine_of(known.at(part), options);
  r.accelerators = Count(static_cast<double>(cells.required(accelerator_titles)));
  r.layout.tensor = cells.whole({"tp"}).value_or(1);
  r.layout.context = cells.whole({"cp"}).value_or(1);
  r.layout.pipeline = cells.whole({"pp"}).value_or(1);
  if (r.shape.experts && !cells.whole({"ep"})) throw cells.fail({"ep"}, "must be given of a mixture of experts");
  r.layout.expert = cells.whole({"ep"}).value_or(1);
  r.layout.data = data_ranks(cells, r);
  r.global_batch = cells.required(batch_titles);
  const auto microbatch = cells.whole(microbatch_titles);
  r.microbatch = microbatch.value_or(1);
  read_interleave(cells, out);
  r.sequence_length = cells.required({"sequence_length", "seq_len", "seq"});
  r.uneven_stages = true;  // it was run, so it can be
  read_precision(cells, out);
  read_sharding(cells, out);
  read_recompute(cells, out);
  read_stack(cells, r.stack);
  check(r);
  if (!microbatch) assume_microbatch(out);
  out.measured = read_time(cells, r);
  const double mfu = measured_mfu(out);
  if (mfu > 1) {
    throw cells.fail(second_titles, "is impossible: MFU would be " + print_number(mfu, 3) + " of " +
                                        print(r.machine.peak(r.precision), 4) + " (6 N FLOP a token)");
  }
  out.known_stack = cells.known_publisher();
  return out;
}

}  // namespace detail

[[nodiscard]] inline MeasuredSteps read_measured_steps(const CsvTable& table, const catalog::Catalog& catalog,
                                                       const MeasuredStepOptions& options = {}) {
  const std::vector<catalog::Stack> stacks =
      options.known_stacks ? catalog::stacks(catalog) : std::vector<catalog::Stack>{};
  detail::StepCells cells(table, stacks);
  cells.require(detail::accelerator_titles);
  cells.require(detail::batch_titles);
  cells.require({"sequence_length", "seq_len", "seq"});
  std::map<std::string, catalog::Accelerator> known;
  MeasuredSteps out;
  for (const CsvRow& row : table.rows()) {
    cells.at(row);
    try {
      out.steps.push_back(detail::read_measured_step(cells, catalog, known));
    } catch (const Error& error) {
      // The place of the cell, where the error has it, and not the row's beside it.
      const std::string text = error.what();
      const std::string row_place = cells.place();
      const bool cell = error.where().starts_with(row_place.substr(0, row_place.rfind(':') + 1));
      out.skipped.push_back(cell ? SkippedStep{error.where(), text.substr(error.where().size() + 2)}
                                 : SkippedStep{row_place, text});
    }
  }
  return out;
}

}  // namespace floplan::cluster
