// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/report/catalog_json.hpp"
#include "floplan/report/model_text.hpp"

namespace floplan::cli {
namespace {

const std::vector<std::string> kinds = {"laws", "models", "accelerators", "prices", "interruptions", "runs", "stacks"};

Answer list(const Session& session, const std::string& kind) {
  const catalog::Catalog& catalog = session.catalog;
  Answer answer;
  answer.inputs = {{"kind", kind}};
  report::Json entries = report::Json::array();
  std::size_t unverified = 0;
  const auto verified = [&unverified](const Provenance& p) {
    unverified += p.verified ? 0 : 1;
    return p.verified ? "yes" : "no";
  };
  const auto fill = [&](const auto& records, std::vector<std::string> header, auto row) {
    report::Table table(std::move(header));
    for (const auto& record : records) {
      if constexpr (requires { report::to_json(record); }) {
        entries.push_back(report::to_json(record));
      } else {
        entries.push_back(report::to_json(record, catalog.interruption_categories(record.name)));
      }
      table.add(row(record));
    }
    answer.text = table.text();
    answer.table = std::move(table);
  };
  if (kind == "laws") {
    fill(catalog::any_laws(catalog),
         {"name", "form", "gives", "from", "parameters counted", "loss unit", "fitted to N", "fitted to D", "rounded",
          "verified"},
         [&](const law::AnyLaw& l) -> std::vector<report::Cell> {
           std::string symbols;
           for (const law::Input input : law::inputs(l.form))
             symbols += (symbols.empty() ? "" : ", ") + std::string(law::info(input).symbol);
           return {l.name,
                   std::string(law::name_of(l.form)),
                   std::string(law::info(law::output(l.form)).key),
                   symbols,
                   law::to_text(l.parameter_convention),
                   l.loss_unit,
                   {l.range.parameters_high, 3},
                   {l.range.tokens_high, 3},
                   l.rounded ? "yes" : "no",
                   verified(l.provenance)};
         });
  } else if (kind == "models") {
    fill(catalog.models(),
         {"name", "parameters", "active", "layers", "width", "heads", "attention", "ffn width", "experts", "vocabulary",
          "tied", "sequence", "trained on (tokens)", "verified"},
         [&](const catalog::Model& m) -> std::vector<report::Cell> {
           const auto whole = [](std::int64_t x) { return report::Cell(static_cast<double>(x), 9); };
           const architecture::ParameterCount count = architecture::parameter_count(m.shape);
           return {m.name,
                   {count.total.value, 15},
                   {count.active.value, 15},
                   whole(m.shape.layers),
                   whole(m.shape.width),
                   whole(m.shape.heads),
                   report::attention_name(m.shape),
                   m.shape.dense_layers() > 0 ? whole(m.shape.ffn_width) : report::Cell(),
                   m.shape.experts ? report::Cell(std::to_string(m.shape.experts->active) + " of " +
                                                  std::to_string(m.shape.experts->count))
                                   : report::Cell(),
                   whole(m.shape.vocabulary),
                   m.shape.tied_embeddings ? "yes" : "no",
                   {m.sequence_length, 6},
                   {m.training_tokens, 4},
                   verified(m.provenance)};
         });
  } else if (kind == "accelerators") {
    fill(catalog.accelerators(),
         {"name", "BF16 dense (TFLOP/s)", "GEMM measured", "FP8 dense", "FP4 dense", "memory (GB)", "HBM (TB/s)",
          "scale-up (GB/s)", "domain", "network (GB/s)", "power (W)", "per node", "verified"},
         [&](const catalog::Accelerator& a) -> std::vector<report::Cell> {
           const auto tflops = [](const std::optional<FlopPerSecond>& x) {
             return x ? report::Cell(x->value / 1e12, 5) : report::Cell();
           };
           const auto scaled = [](const auto& x, double unit) {
             return x ? report::Cell(x->value / unit, 4) : report::Cell();
           };
           return {a.name,
                   tflops(a.bf16_dense),
                   tflops(a.bf16_gemm_measured),
                   tflops(a.fp8_dense),
                   tflops(a.fp4_dense),
                   scaled(a.memory, 1e9),
                   scaled(a.memory_bandwidth, 1e12),
                   scaled(a.scale_up, 1e9),
                   {a.scale_up_domain, 6},
                   scaled(a.network, 1e9),
                   {a.power, 4},
                   {a.accelerators_per_node, 4},
                   verified(a.provenance)};
         });
  } else if (kind == "prices") {
    fill(catalog.prices(),
         {"name", "accelerator", "kind", "date", "low (USD/h)", "typical (USD/h)", "high (USD/h)", "verified"},
         [&](const catalog::Price& p) -> std::vector<report::Cell> {
           return {p.name,     p.accelerator,  p.kind,      p.provenance.date,
                   {p.low, 4}, {p.typical, 4}, {p.high, 4}, verified(p.provenance)};
         });
  } else if (kind == "interruptions") {
    fill(catalog.interruption_windows(),
         {"name", "accelerator", "accelerators", "days", "unexpected", "planned", "manual", "rate (per node-day)",
          "verified"},
         [&](const catalog::InterruptionWindow& w) -> std::vector<report::Cell> {
           std::optional<double> rate = w.rate_per_node_day;
           if (!rate && w.unexpected && *w.unexpected > 0) {
             rate = reliability::rate_from_events(*w.unexpected, *w.accelerators, *w.duration,
                                                  w.accelerators_per_node.value_or(Count(8)))
                        .per_node_day();
           }
           return {w.name,
                   w.accelerator,
                   {w.accelerators, 6},
                   w.duration ? report::Cell(in_days(*w.duration), 4) : report::Cell(),
                   {w.unexpected, 4},
                   {w.planned, 4},
                   {w.manual, 4},
                   {rate, 3},
                   verified(w.provenance)};
         });
    // Categories of every window that has them, below the windows.
    for (const catalog::InterruptionWindow& w : catalog.interruption_windows()) {
      const auto categories = catalog.interruption_categories(w.name);
      if (categories.empty()) continue;
      double total = 0;
      for (const auto& c : categories) total += c.count;
      report::Table table({"component", "category", "count", "share (%)", "printed (%)"});
      for (const auto& c : categories)
        table.add({c.component, c.category, {c.count, 4}, {100 * c.count / total, 3}, {c.printed_percent, 3}});
      answer.text += "\n" + w.title + " (" + w.name +
                     ") by component; the printed shares do not follow from the counts\n" + table.text();
    }
  } else if (kind == "stacks") {
    fill(catalog::stacks(catalog),
         {"name", "attention", "elementwise", "host", "sequence parallel", "overlap", "scatter-gather",
          "gradient bytes", "engine", "interleaving", "sharding", "recomputation", "assumed", "verified"},
         [&](const catalog::Stack& s) -> std::vector<report::Cell> {
           const auto fact = [&s](const char* name) { return report::Cell(s.fact(name)); };
           std::string assumed;
           for (const std::string& name : s.assumed) assumed += (assumed.empty() ? "" : ", ") + name;
           return {s.name,
                   fact("attention"),
                   fact("elementwise"),
                   fact("host"),
                   fact("sequence_parallel"),
                   fact("overlap"),
                   fact("scatter_gather"),
                   fact("gradient_bytes"),
                   fact("data_parallel"),
                   fact("interleave"),
                   fact("sharding"),
                   fact("recompute"),
                   assumed,
                   verified(s.provenance)};
         });
  } else {
    fill(catalog.runs(),
         {"name", "accelerator", "accelerators", "accelerator-hours", "days", "tokens", "steady (TFLOP/s)", "CO2e (t)",
          "kind of hours", "verified"},
         [&](const catalog::Run& r) -> std::vector<report::Cell> {
           return {r.name,
                   r.accelerator,
                   {r.accelerators, 6},
                   {r.accelerator_hours, 4},
                   r.wall_clock ? report::Cell(in_days(*r.wall_clock), 4) : report::Cell(),
                   {r.tokens, 4},
                   r.steady_rate ? report::Cell(r.steady_rate->value / 1e12, 4) : report::Cell(),
                   {r.co2e_tonnes, 5},
                   r.hours_kind,
                   verified(r.provenance)};
         });
  }
  answer.result = {{"entries", std::move(entries)}};
  if (unverified > 0) {
    answer.warnings.push_back(
        {"unverified_entries", std::to_string(unverified) + " of " + std::to_string(answer.table->size()) +
                                   " entries rest on one unconfirmed source; --json shows each one's source"});
  }
  return answer;
}

}  // namespace

void add_catalog(Program& program) {
  const auto kind = std::make_shared<std::string>();
  Subcommand sub = program.add(
      "catalog", "What floplan knows: laws, models, accelerators, prices, interruptions, runs, software stacks",
      [kind](const Session& s) { return list(s, *kind); });
  sub.positional("kind", *kind, "What to list", kinds);
}

}  // namespace floplan::cli
