// SPDX-License-Identifier: BSD-3-Clause
#include "cluster_source.hpp"

#include "floplan/cluster/efficiencies_file.hpp"
#include "floplan/cluster/known_stack.hpp"
#include "floplan/cluster/stack_words.hpp"
#include "floplan/core/file.hpp"

namespace floplan::cli {

namespace {

cluster::MachineOptions machine_options(const ClusterOptions& o) {
  cluster::MachineOptions out;
  const auto take = [](const Text& text, const char* option, auto& target) {
    using Value = typename std::remove_reference_t<decltype(target)>::value_type;
    if (text) target = parse<Value>(*text, option);
  };
  take(o.gemm_ceiling, "--gemm-ceiling", out.gemm_ceiling);
  take(o.memory_bandwidth, "--memory-bandwidth", out.memory_bandwidth);
  take(o.scale_up, "--scale-up", out.scale_up);
  take(o.scale_up_domain, "--scale-up-domain", out.scale_up_domain);
  take(o.network, "--network", out.network);
  if (o.pod) out.pod = Count(static_cast<double>(whole_number(o.pod, "--pod", 1)));
  if (o.oversubscription) {
    if (!o.pod) throw Error(Failure::usage, "missing_option", "--pod", "is needed with --oversubscription");
    out.oversubscription = parse_between(*o.oversubscription, "--oversubscription", Count(1), Count(1000)).value;
  }
  return out;
}

// A fact of the software stack (cluster/stack_words.hpp) as an option.
struct StackOption {
  const char* option;
  const char* fact;
  Text ClusterOptions::*text;
  const char* help;
};

constexpr StackOption stack_options[] = {
    {"--attention", "attention", &ClusterOptions::attention,
     "Attention kernels: current, early (the first fused ones) or unfused"},
    {"--elementwise", "elementwise", &ClusterOptions::elementwise, "Elementwise kernels: fused or eager"},
    {"--host", "host", &ClusterOptions::host, "How long a layer keeps the host: graphs, fast or slow"},
    {"--sequence-parallel", "sequence_parallel", &ClusterOptions::sequence_parallel, "yes or no"},
    {"--overlap", "overlap", &ClusterOptions::overlap, "Whether communication overlaps with products: yes or no"},
    {"--scatter-gather", "scatter_gather", &ClusterOptions::scatter_gather,
     "Whether pipeline sends are cut over tensor ranks: yes or no"},
    {"--gradient-bytes", "gradient_bytes", &ClusterOptions::gradient_bytes,
     "Of a gradient value in the reduction: 2 or 4"},
    {"--data-parallel", "data_parallel", &ClusterOptions::data_parallel,
     "The engine of ZeRO and FSDP: current, or early (DeepSpeed of 2021)"},
    {"--selective", "selective", &ClusterOptions::selective,
     "What selective recomputation redoes: attention_core, or operators (every other product too)"},
    {"--context-exchange", "context_exchange", &ClusterOptions::context_exchange,
     "How context-parallel ranks share keys and values: all_gather or ring"},
    {"--schedule", "schedule", &ClusterOptions::schedule,
     "Of the pipeline: 1f1b (interleaved with VP above 1) or zero_bubble (ZB-H1)"},
};

}  // namespace

std::optional<std::string> ClusterOptions::given() const {
  for (const auto& [text, option] :
       {std::pair(&gemm_ceiling, "--gemm-ceiling"), std::pair(&memory_bandwidth, "--memory-bandwidth"),
        std::pair(&scale_up, "--scale-up"), std::pair(&scale_up_domain, "--scale-up-domain"),
        std::pair(&network, "--network"), std::pair(&pod, "--pod"), std::pair(&oversubscription, "--oversubscription"),
        std::pair(&stack, "--stack"), std::pair(&scaling, "--scaling")}) {
    if (*text) return option;
  }
  for (const StackOption& o : stack_options) {
    if (this->*o.text) return o.option;
  }
  return std::nullopt;
}

void add_cluster(Subcommand& sub, ClusterOptions& o) {
  sub.group("The machine, where it is not as the catalog says");
  sub.option("--gemm-ceiling", o.gemm_ceiling, "The best bf16 matrix product measured on the part, as 794TFLOP/s");
  sub.option("--memory-bandwidth", o.memory_bandwidth, "Of the part's memory, as 3.35TB/s");
  sub.option("--scale-up", o.scale_up, "One direction of one accelerator's fast links, as 450GB/s");
  sub.option("--scale-up-domain", o.scale_up_domain, "Accelerators that those links join, as 8 or 72");
  sub.option("--network", o.network, "One direction of one accelerator's network card, as 400Gb/s");
  sub.option("--pod", o.pod, "Accelerators that the network joins at full bandwidth; all, if not given");
  sub.option("--oversubscription", o.oversubscription, "Above a pod, as 7 for 1:7");
  sub.group("The software, where it is known: what is not given is assumed, and widens the band");
  sub.option("--stack", o.stack,
             "A publisher's software as a whole, as nvidia-bridge or llama3-2024 (see: floplan catalog stacks)");
  sub.option("--scaling", o.scaling, "Of values in 8 and 4 bits: tensor, or block (MXFP8, NVFP4)");
  for (const StackOption& option : stack_options) sub.option(option.option, o.*option.text, option.help);
  sub.option("--efficiencies", o.efficiencies, "A TOML file of step calibrate; the published ones where none is given");
  sub.group("");
}

cluster::Efficiencies efficiencies_of(const ClusterOptions& o) {
  return o.efficiencies ? cluster::read_efficiencies(read_text_file(*o.efficiencies), *o.efficiencies)
                        : cluster::Efficiencies();
}

bool take_cluster(const Session& session, const ClusterOptions& o, const catalog::Accelerator& on,
                  cluster::StepRequest& r) {
  if (o.scaling && *o.scaling != "block" && *o.scaling != "tensor")
    throw Error(Failure::usage, "bad_value", "--scaling", "must be tensor or block, got \"" + *o.scaling + "\"");
  r.machine = cluster::machine_of(on, machine_options(o));
  r.block_scaled = o.scaling ? *o.scaling == "block" : r.precision == catalog::Precision::fp4;
  bool publishers = false;
  if (o.stack) {
    const catalog::Stack record = catalog::stack_named(session.catalog, *o.stack, "--stack");
    r.stack = cluster::known_stack(record);
    publishers = record.is_publishers();
  }
  for (const StackOption& option : stack_options) {
    if (const Text& word = o.*option.text) cluster::give(r.stack, option.fact, *word, option.option);
  }
  r.efficiencies = efficiencies_of(o);
  return publishers;
}

law::FlopConvention attention_convention(const std::string& word) {
  return word == "causal" ? law::FlopConvention::causal
         : word == "full" ? law::FlopConvention::full
                          : law::FlopConvention::six_n;
}

}  // namespace floplan::cli
