// SPDX-License-Identifier: BSD-3-Clause
#include "plan_source.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "floplan/catalog/embedded_data.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/request_file.hpp"

namespace floplan::cli {
namespace {

struct NamedField {
  const char* option;
  const char* path;
  const char* help;
};

// Every one is a shorthand of --set PATH=VALUE.
constexpr NamedField fields[] = {
    {"--model", "model", "A model of the catalog, as llama-3.1-405b, or a config.json"},
    {"--params", "parameters", "A bare number of parameters instead, as 405B"},
    {"--active-params", "active_parameters", "Of them, what a token uses, where experts are mixed; all if not given"},
    {"--tokens", "tokens", "Training tokens in all, as 15.6T; several stages keep their shares"},
    {"--loss", "target_loss", "A loss to reach instead of tokens: the law says how many, with its uncertainty"},
    {"--law", "law", "The law that predicts the loss, or none; besiroglu-2024 if not given"},
    {"--attention", "attention", "Attention FLOP that count: none, causal or full; causal if not given"},
    {"--accelerator", "accelerator", "An accelerator of the catalog, as h100-sxm"},
    {"--precision", "precision", "Whose dense peak MFU refers to: bf16, fp8 or fp4; bf16 if not given"},
    {"--peak", "peak", "A peak of your own instead, as 989TFLOP/s"},
    {"--count", "stage[*].count", "Accelerators, in every stage"},
    {"--seq", "stage[*].sequence_length",
     "Sequence length in tokens, in every stage, as 8192 or 128Ki, which is 131072; the model's own, or 8192"},
    {"--global-batch", "stage[*].global_batch", "Sequences a step, in every stage"},
    {"--achieved", "stage[*].achieved",
     "Steady rate of one accelerator, as 400TFLOP/s, in every stage; or predicted, by the step time of its layout"},
    {"--mfu", "stage[*].mfu", "The same as a share of the peak, as 41%"},
    {"--layout", "stage[*].layout", "search: the layout with the shortest predicted step, in every stage"},
    {"--tp", "stage[*].layout.tp", "Tensor-parallel degree; without --achieved or --mfu the step time is predicted"},
    {"--cp", "stage[*].layout.cp", "Context-parallel degree"},
    {"--pp", "stage[*].layout.pp", "Pipeline-parallel degree"},
    {"--dp", "stage[*].layout.dp", "Data-parallel degree; what the others leave of the count if not given"},
    {"--ep", "stage[*].layout.ep", "Expert-parallel degree, within TP x CP x DP"},
    {"--vp", "stage[*].layout.vp", "Chunks of layers a pipeline rank; as many as divide them, up to 8, if not given"},
    {"--microbatch", "stage[*].layout.microbatch", "Sequences a microbatch; 1 if not given"},
    {"--sharding", "stage[*].layout.sharding",
     "What data ranks share: none, zero1, zero2, zero3 or zero3_no_reshard; zero1 if not given"},
    {"--recompute", "stage[*].layout.recompute", "What is computed again: none, selective or full; none if not given"},
    {"--stack", "stack.name",
     "Of predicted steps: a publisher's software as a whole, as llama3-2024 (see: floplan catalog stacks)"},
    {"--attention-kernel", "stack.attention",
     "Of predicted steps: current, early or unfused kernels; assumed if not given"},
    {"--elementwise", "stack.elementwise", "fused or eager elementwise kernels; assumed if not given"},
    {"--host", "stack.host", "How long a layer keeps the host: graphs, fast or slow; assumed if not given"},
    {"--sequence-parallel", "stack.sequence_parallel", "yes or no; assumed if not given"},
    {"--overlap", "stack.overlap",
     "Whether communication overlaps with products: yes or no; assumed not, if not given"},
    {"--scatter-gather", "stack.scatter_gather", "Whether pipeline sends are cut over tensor ranks: yes or no"},
    {"--gradient-bytes", "stack.gradient_bytes", "Of a gradient value in the reduction: 2 or 4"},
    {"--context-exchange", "stack.context_exchange",
     "How context-parallel ranks share keys and values: all_gather or ring"},
    {"--schedule", "stack.schedule", "Of the pipeline: 1f1b (interleaved with VP above 1) or zero_bubble (ZB-H1)"},
    {"--efficiencies", "efficiencies",
     "A file of step calibrate, for predicted steps; the published ones if not given"},
    {"--network", "machine.network", "One direction of one accelerator's network card, as 400Gb/s; the catalog's"},
    {"--pod", "machine.pod", "Accelerators that the network joins at full bandwidth; all, if not given"},
    {"--oversubscription", "machine.oversubscription", "Above a pod, as 7 for 1:7"},
    {"--achieved-spread", "achieved_spread", "Standard deviation of the achieved rate; 3% if not given"},
    {"--rate-from", "reliability.rate_from",
     "Failure rate of a record (see: floplan catalog interruptions), of a failure log as faults.csv, whose facts are "
     "--set reliability.log.accelerators=4096 and the like, or of a RATE.json; llama3-2024 if no rate is given"},
    {"--rate", "reliability.rate_per_node_day", "Failures a node-day, as 3.79e-3"},
    {"--mtbf", "reliability.mtbf", "Mean time between failures of a job of --mtbf-count accelerators"},
    {"--mtbf-count", "reliability.mtbf_count", "The size of that job"},
    {"--restart", "reliability.restart",
     "Restart that a failure can cut short, as 5min or 4min..8min; 5min..10min if not given"},
    {"--wait", "reliability.wait", "Wait before it, in which nothing runs, as 2min or 1min..4min; none if not given"},
    {"--manual-per-day", "reliability.manual_per_day", "Failures a day that wait for a person; 0 if not given"},
    {"--manual-wait", "reliability.manual_wait", "How long they wait, as 4h"},
    {"--planned-per-day", "reliability.planned_per_day", "Planned stops a day; 0 if not given"},
    {"--planned-duration", "reliability.planned_duration", "How long one takes, as 10min"},
    {"--team", "reliability.team",
     "What no failure rate explains, by the kind of team: practised, usual or first_run; left out if not given"},
    {"--unexplained-stops", "reliability.unexplained_stops",
     "Or as a mean extra share of the time, as 5%; 0 if not given"},
    {"--stall", "checkpoint.stall", "Time that a checkpoint stops the job, as 10s; 30s if not given"},
    {"--interval", "checkpoint.interval",
     "Useful time between checkpoints, as 20min, or auto for the exact optimum; auto if not given"},
    {"--memory-stall", "checkpoint.memory.stall",
     "Time that a checkpoint to memory or local disks stops the job, as 0.3s: a second, cheaper tier"},
    {"--memory-share", "checkpoint.memory.share", "Of the failures, those that memory mends; 90% if not given"},
    {"--memory-restart", "checkpoint.memory.restart", "Restart after those; --restart if not given"},
    {"--memory-wait", "checkpoint.memory.wait", "Wait before it; --wait if not given"},
    {"--memory-interval", "checkpoint.memory.interval",
     "Useful time between checkpoints to memory, as 60s, of which --interval is a whole number; auto if not given"},
    {"--price", "price.accelerator_hour",
     "Price an accelerator-hour, as '$2.10/h' in single quotes, 2.10USD/h, '$2/h..$3/h', or a name of the catalog; "
     "the accelerator's latest in the catalog if not given"},
    {"--accelerator-power", "power.accelerator", "Rated power of one accelerator, as 700W; the catalog's if not given"},
    {"--node-power", "power.node",
     "Measured power of its share of a node, as 970W; 1.39 times the rating if not given"},
    {"--pue", "power.pue", "Power usage effectiveness; 1.2 if not given"},
    {"--carbon", "power.carbon", "CO2e of the electricity, as 0.383kg/kWh; 0.385kg/kWh if not given"},
    {"--energy-basis", "power.basis", "Headline energy: tdp or node; node if not given"},
    {"--deadline", "deadline", "Ask for the probability to finish in this time, as 90d"},
    {"--runs", "draws", "Draws behind the distributions; 10000 if not given"},
    {"--seed", "seed", "Seed of the draws; 1 if not given"},
};

// The text of a plan: a file, or a ready plan that is compiled in, by name.
std::pair<std::string, std::string> load(const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(name, error)) return {read_text_file(name), name};
  std::vector<std::string> ready;
  for (const catalog::EmbeddedFile& file : catalog::embedded_files) {
    if (!file.path.starts_with("plans/")) continue;
    const std::string stem = std::filesystem::path(file.path).stem().string();
    if (name == stem || name == stem + ".toml") return {std::string(file.text), std::string(file.path)};
    ready.push_back(stem);
  }
  std::string known;
  for (const std::string& plan : ready) known += (known.empty() ? "" : ", ") + plan;
  throw Error(Failure::data, "no_such_file", name.empty() ? "plan" : name,
              "must be a plan file or the name of a ready plan (" + known + "), and there is none of this name");
}

}  // namespace

void PlanOptions::add_to(Subcommand& sub, std::string_view without) {
  sub.positional("plan", file, "A plan as TOML, or the name of a ready one, as llama3_405b");
  sub.option("--threads", threads, "Threads; all cores if not given. The answer does not depend on it");
  sub.group("Fields of the plan");
  named_.reserve(std::size(fields));
  for (const NamedField& field : fields) {
    if (field.option == without) continue;
    named_.push_back({field.option, field.path, std::nullopt});
    sub.option(field.option, named_.back().value, field.help);
  }
  sub.option("--set", set,
             "PATH=VALUE: any field, as reliability.restart=5min or stage[2].tokens=12T; may be repeated");
}

bool PlanOptions::given() const {
  return file || !set.empty() ||
         std::any_of(named_.begin(), named_.end(), [](const Named& field) { return field.value.has_value(); });
}

plan::Request PlanOptions::read(const catalog::Catalog& catalog) const {
  std::vector<plan::Override> overrides;
  for (const Named& field : named_) {
    if (field.value) overrides.push_back({field.path, *field.value, field.option});
  }
  for (const std::string& assignment : set) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(Failure::usage, "bad_path", "--set", "must be PATH=VALUE, got \"" + assignment + "\"");
    overrides.push_back(
        {assignment.substr(0, equals), assignment.substr(equals + 1), "--set " + assignment.substr(0, equals)});
  }
  if (!file && overrides.empty())
    throw Error(Failure::usage, "no_plan", "plan",
                "needs a plan file, or --model, --tokens, --accelerator, --count and --achieved, --mfu or a layout");
  const auto [text, place] = file ? load(*file) : std::pair<std::string, std::string>();
  plan::Request request = plan::read_request(text, place, overrides, catalog);
  if (threads) {
    const Count count = parse<Count>(*threads, "--threads");
    if (count.value != std::floor(count.value) || count.value < 1 || count.value > 1024) {
      throw Error(Failure::usage, "out_of_range", "--threads",
                  "must be a whole number from 1 to 1024, got " + *threads);
    }
    request.threads = static_cast<unsigned>(count.value);
  }
  return request;
}

}  // namespace floplan::cli
