// SPDX-License-Identifier: BSD-3-Clause
//
// People's measured serving throughputs, one row a run, as questions to the serving model with their measured answers.
//
//   const MeasuredServing rows = read_measured_serving(parse_csv(text, "rows.csv"), catalog);
//
// Columns (other titles in parentheses): model and accelerator (gpu), names of the catalog; accelerators (n_gpus), tp,
// attention_data_parallel, precision, kv_precision, arithmetic, mode, batch (batch_or_concurrency), requests, input_tokens
// (input_len), output_tokens (output_len), and the answer: output_tokens_per_s of all accelerators.
//
// A mode with "bench", or requests, is a finite run: its schedule is made, under trtllm-bench's limits and, where requests
// are blank, its published number of requests for these lengths. Any other mode is a full engine in steady state. Experts
// are taken as spread with attention data parallel, as these benchmarks run them. What was taken for granted is in
// `assumptions`; a row that cannot be asked (a latency, a prompt without output) is skipped with its place and the reason.
//
// Source of the numbers of requests: TensorRT-LLM, performance overview 1.0. Errors: data, where a needed column is missing.
// Pitfall: a rate of one batch without its prompts ("decode", "latency") is not a throughput and is skipped.
#pragma once

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/serving/benchmark_run.hpp"
#include "floplan/serving/serving_request.hpp"

namespace floplan::serving {

struct MeasuredRate {
  std::string place;
  std::string model, accelerator;
  ServedModel shape;
  Device device;
  Cut cut;
  NumberFormats formats;
  RequestTokens tokens;
  double batch = 0;               // of the replica, on average where it is a whole run's limit
  double requests = 0;            // of a finite run; 0: steady state
  double replicas = 1;            // that the rate is of
  double measured = 0;            // output tokens/s, of one replica
  std::vector<EngineLoad> loads;  // of one replica's rank, whose price is the time
  double written = 0;             // tokens of the replica in that time
  std::vector<Warning> assumptions;
};

struct SkippedRate {
  std::string place;
  std::string reason;
};

struct MeasuredServing {
  std::vector<MeasuredRate> rows;
  std::vector<SkippedRate> skipped;
};

// Output tokens a second of a replica.
template <class T>
[[nodiscard]] T rate_of(const MeasuredRate& row, const BasicEfficiencies<T>& e) {
  return row.written / seconds_of(row.loads, row.shape, row.device, row.cut, row.formats, e);
}

// Of trtllm-bench's published tables, by lengths; 0 for others.
[[nodiscard]] inline double published_requests(const RequestTokens& r) {
  static const std::map<std::pair<double, double>, double> all{
      {{128, 128}, 30000}, {{128, 2048}, 3000},  {{2048, 128}, 3000},  {{1000, 1000}, 3000}, {{500, 2000}, 3000},
      {{128, 4096}, 1500}, {{2048, 2048}, 1500}, {{1000, 2000}, 1500}, {{5000, 500}, 1500},  {{20000, 2000}, 1000}};
  const auto found = all.find({r.input, r.output});
  return found == all.end() ? 0 : found->second;
}

namespace detail {

using RateTitles = std::initializer_list<std::string_view>;

class RateCells {
 public:
  RateCells(const CsvTable& table, const CsvRow& row) : table_(table), row_(row) {}

  [[nodiscard]] static std::optional<std::size_t> column(const CsvTable& table, RateTitles titles) {
    for (const std::string_view title : titles) {
      if (const auto found = table.find_column(title)) return found;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string text(RateTitles titles) const {
    const auto found = column(table_, titles);
    std::string_view cell = found ? row_[*found] : std::string_view();
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    return lower_case(cell);
  }
  [[nodiscard]] Error fail(RateTitles titles, const std::string& rule) const {
    return Error(Failure::data, "bad_cell", table_.place(row_, column(table_, titles).value_or(table_.header().size())),
                 std::string(*titles.begin()) + " " + rule + ", got \"" + text(titles) + "\"");
  }
  [[nodiscard]] std::optional<double> number(RateTitles titles) const {
    const std::string cell = text(titles);
    if (cell.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !(value > 0) || !std::isfinite(value))
      throw fail(titles, "must be a positive number");
    return value;
  }
  [[nodiscard]] double required(RateTitles titles) const {
    if (const auto value = number(titles)) return *value;
    throw fail(titles, "must be given");
  }
  [[nodiscard]] std::optional<bool> yes_no(RateTitles titles) const {
    const std::string cell = text(titles);
    if (cell.empty()) return std::nullopt;
    if (cell == "1" || cell == "yes" || cell == "true") return true;
    if (cell == "0" || cell == "no" || cell == "false") return false;
    throw fail(titles, "must be yes or no");
  }
  [[nodiscard]] std::string place() const { return table_.place(row_, 0); }

 private:
  const CsvTable& table_;
  const CsvRow& row_;
};

// fp16 is bf16 in bytes and FLOP, int8 and int4 are 8 and 4 bits in memory.
[[nodiscard]] inline std::optional<catalog::Precision> precision_of(const RateCells& cells, RateTitles titles) {
  using catalog::Precision;
  const std::string cell = cells.text(titles);
  if (cell.empty()) return std::nullopt;
  if (cell == "bf16" || cell == "fp16") return Precision::bf16;
  if (cell == "fp8" || cell == "int8") return Precision::fp8;
  if (cell == "fp4" || cell == "nvfp4" || cell == "mxfp4" || cell == "int4") return Precision::fp4;
  throw cells.fail(titles, "must be bf16, fp16, fp8, int8, fp4, nvfp4, mxfp4 or int4");
}

inline void read_formats(const RateCells& cells, MeasuredRate& out) {
  auto weights = precision_of(cells, {"precision"});
  if (!weights) {
    out.assumptions.push_back({"precision", "16 bits are assumed"});
    weights = catalog::Precision::bf16;
  }
  out.formats = formats_of(*weights, out.device);
  const std::string word = cells.text({"precision"});
  if (word == "int8" || word == "int4") out.formats.arithmetic = catalog::Precision::bf16;
  if (const auto cache = precision_of(cells, {"kv_precision"})) out.formats.cache_bytes = stored_bytes(*cache);
  if (const auto arithmetic = precision_of(cells, {"arithmetic"})) out.formats.arithmetic = *arithmetic;
}

inline void read_cut(const RateCells& cells, MeasuredRate& out) {
  const double n = cells.required({"accelerators", "n_gpus"});
  const auto spread = cells.yes_no({"attention_data_parallel"});
  if (!spread && out.shape.has_experts() && n > 1)
    out.assumptions.push_back({"attention_data_parallel", "experts are taken as spread, attention as data parallel"});
  out.cut.attention_data_parallel = spread.value_or(out.shape.has_experts() && n > 1);
  const double tp = cells.number({"tp"}).value_or(n);
  out.cut.accelerators = out.cut.attention_data_parallel ? n : tp;
  out.replicas = n / out.cut.accelerators;
  if (out.replicas < 1 || out.replicas != std::floor(out.replicas))
    throw cells.fail({"tp"}, "must divide the accelerators, " + std::to_string(static_cast<long>(n)));
}

inline void read_loads(const RateCells& cells, MeasuredRate& out) {
  const std::string mode = cells.text({"mode"});
  for (const char* word : {"latency", "decode", "prefill"}) {
    if (mode.find(word) != std::string::npos)
      throw cells.fail({"mode"}, "must be a throughput with prompts and outputs");
  }
  const std::string batch = cells.text({"batch", "batch_or_concurrency"});
  const bool full = batch.empty() || batch == "max";
  const auto given = cells.number({"requests"});
  const bool bench = given.has_value() || mode.find("bench") != std::string::npos;
  const double requests = given.value_or(bench && full ? published_requests(out.tokens) : 0);
  ServingRequest r;
  r.model = out.shape;
  r.device = out.device;
  r.cut = out.cut;
  r.formats = out.formats;
  r.tokens = out.tokens;
  check(r);
  BenchmarkRun run = trtllm_bench_run(out.shape, out.shape.total(), out.device, out.cut, out.formats, out.tokens,
                                      requests / out.replicas);
  const double ranks = out.cut.ranks();
  if (run.limits.sequences < 1)
    throw Error(Failure::infeasible, "does_not_fit", cells.place(), "the model does not fit");
  if (!full) {
    const double batch_of_rank = cells.required({"batch", "batch_or_concurrency"}) / out.replicas / ranks;
    run.limits.sequences = std::max(1.0, std::floor(batch_of_rank));
  }
  if (requests > 0) {
    out.requests = requests / out.replicas;
    out.batch = std::min(run.limits.sequences, run.requests) * ranks;
    out.loads = merged(schedule(run, out.shape));
    out.written = out.requests * out.tokens.output;
    if (!given)
      out.assumptions.push_back({"requests", "trtllm-bench's published number of requests is taken for these lengths"});
    return;
  }
  const double most = run.limits.tokens_a_step / (1 + out.tokens.input / out.tokens.output);
  const double own = std::max(1.0, std::min(run.limits.sequences, most));
  out.batch = own * ranks;
  out.loads = {steady_load(own, out.tokens, out.shape)};
  out.written = out.batch;
}

// As repositories name checkpoints: without the owner, what it was tuned for, and the type of its numbers.
[[nodiscard]] inline std::string model_name(std::string name) {
  if (const auto slash = name.rfind('/'); slash != std::string::npos) name = name.substr(slash + 1);
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (const std::string_view ending : {"-instruct", "-it", "-chat", "-hf", "-fp8", "-fp4", "-nvfp4", "-bf16"}) {
      if (!name.ends_with(ending)) continue;
      name.resize(name.size() - ending.size());
      shorter = true;
    }
  }
  return name;
}

[[nodiscard]] inline MeasuredRate read_measured_rate(const RateCells& cells, const catalog::Catalog& catalog) {
  MeasuredRate out;
  out.place = cells.place();
  out.model = model_name(cells.text({"model"}));
  out.shape = served_model(catalog.model(out.model, cells.place()).shape);
  const catalog::Accelerator a = catalog.accelerator(cells.text({"accelerator", "gpu"}), cells.place());
  out.accelerator = a.name;
  out.device = device_of(a);
  out.tokens = {cells.required({"input_tokens", "input_len"}), cells.required({"output_tokens", "output_len"})};
  read_cut(cells, out);
  read_formats(cells, out);
  out.measured = cells.required({"output_tokens_per_s"}) / out.replicas;
  read_loads(cells, out);
  return out;
}

}  // namespace detail

[[nodiscard]] inline MeasuredServing read_measured_serving(const CsvTable& table, const catalog::Catalog& catalog) {
  for (const detail::RateTitles& titles : {detail::RateTitles{"model"},
                                           {"accelerator", "gpu"},
                                           {"accelerators", "n_gpus"},
                                           {"input_tokens", "input_len"},
                                           {"output_tokens", "output_len"},
                                           {"output_tokens_per_s"}}) {
    if (!detail::RateCells::column(table, titles)) static_cast<void>(table.column(*titles.begin()));
  }
  MeasuredServing out;
  for (const CsvRow& row : table.rows()) {
    const detail::RateCells cells(table, row);
    try {
      out.rows.push_back(detail::read_measured_rate(cells, catalog));
    } catch (const Error& error) {
      out.skipped.push_back({cells.place(), error.what()});
    }
  }
  return out;
}

}  // namespace floplan::serving
