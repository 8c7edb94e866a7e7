// SPDX-License-Identifier: BSD-3-Clause
//
// Turning catalog CSV tables into records: one function a file of data/catalog.
//
// Columns and units are those of data/README.md. Every function throws Error(data) at file:line:column for an unknown
// column, a cell that is no number, a value out of range, or a name given twice in one file.
//
// Models are read by read_models.hpp, laws by read_laws.hpp.
// Pitfall: a blank cell is not zero but not known; the column of a count that must be there says required.
#pragma once

#include <string>
#include <vector>

#include "floplan/catalog/record_reader.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/core/csv.hpp"

namespace floplan::catalog {

namespace detail {

// Calls read(reader) for each row and gathers what it returns; names must be unique within the file.
template <class Read>
auto read_rows(const CsvTable& table, std::vector<std::string> columns, Read read) {
  RecordReader reader(table, std::move(columns));
  std::vector<decltype(read(reader))> out;
  for (const CsvRow row : table.rows()) {
    reader.at(row);
    auto record = read(reader);
    if constexpr (requires { record.name; }) {
      record.name = lower_case(reader.required_text("name"));
      for (std::string& alias : record.aliases) alias = lower_case(alias);
      for (const auto& other : out) {
        if (other.name == record.name)
          throw reader.fail("name", "must be unique in the file, got \"" + record.name + "\" again");
      }
    }
    out.push_back(std::move(record));
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Accelerator> read_accelerators(const CsvTable& table) {
  return detail::read_rows(
      table,
      {"name", "aliases", "title", "vendor", "year", "bf16_dense_tflops", "fp8_dense_tflops", "fp4_dense_tflops",
       "bf16_gemm_tflops_measured", "memory_gb", "memory_bandwidth_tbps", "scale_up_gbps", "scale_up_domain",
       "network_gbps", "power_w", "power_term", "accelerators_per_node"},
      [](const RecordReader& r) {
        Accelerator a;
        a.aliases = r.list("aliases");
        a.title = r.text("title");
        a.vendor = r.text("vendor");
        a.year = r.positive("year");
        a.bf16_dense = r.quantity<FlopPerSecond>("bf16_dense_tflops", 1e12);
        a.fp8_dense = r.quantity<FlopPerSecond>("fp8_dense_tflops", 1e12);
        a.fp4_dense = r.quantity<FlopPerSecond>("fp4_dense_tflops", 1e12);
        a.bf16_gemm_measured = r.quantity<FlopPerSecond>("bf16_gemm_tflops_measured", 1e12);
        a.memory = r.quantity<Bytes>("memory_gb", 1e9);
        a.memory_bandwidth = r.quantity<BytesPerSecond>("memory_bandwidth_tbps", 1e12);
        a.scale_up = r.quantity<BytesPerSecond>("scale_up_gbps", 1e9);
        a.scale_up_domain = r.quantity<Count>("scale_up_domain");
        a.network = r.quantity<BytesPerSecond>("network_gbps", 1e9);
        a.power = r.quantity<Watts>("power_w");
        a.power_term = r.text("power_term");
        a.accelerators_per_node = r.quantity<Count>("accelerators_per_node");
        a.provenance = r.provenance();
        return a;
      });
}

[[nodiscard]] inline std::vector<Price> read_prices(const CsvTable& table) {
  return detail::read_rows(table, {"name", "aliases", "accelerator", "kind", "usd_low", "usd_typical", "usd_high"},
                           [](const RecordReader& r) {
                             Price p;
                             p.aliases = r.list("aliases");
                             p.accelerator = lower_case(r.required_text("accelerator"));
                             p.kind = r.text("kind");
                             p.low = r.quantity<DollarsPerHour>("usd_low");
                             p.typical = r.quantity<DollarsPerHour>("usd_typical");
                             p.high = r.quantity<DollarsPerHour>("usd_high");
                             p.provenance = r.provenance();
                             if (!p.low && !p.typical && !p.high)
                               throw r.fail("usd_typical", "must be given, or usd_low, or usd_high");
                             return p;
                           });
}

[[nodiscard]] inline std::vector<InterruptionWindow> read_interruption_windows(const CsvTable& table) {
  return detail::read_rows(table,
                           {"name", "aliases", "title", "accelerator", "accelerators", "accelerators_per_node", "days",
                            "unexpected", "planned", "manual", "rate_per_node_day"},
                           [](const RecordReader& r) {
                             InterruptionWindow w;
                             w.aliases = r.list("aliases");
                             w.title = r.text("title");
                             w.accelerator = lower_case(r.text("accelerator"));
                             w.accelerators = r.quantity<Count>("accelerators");
                             w.accelerators_per_node = r.quantity<Count>("accelerators_per_node");
                             w.duration = r.quantity<Seconds>("days", seconds_per_day);
                             w.unexpected = r.number("unexpected");
                             w.planned = r.number("planned");
                             w.manual = r.number("manual");
                             w.rate_per_node_day = r.positive("rate_per_node_day");
                             w.provenance = r.provenance();
                             if (!w.rate_per_node_day && !(w.unexpected && w.accelerators && w.duration)) {
                               throw r.fail("rate_per_node_day", "must be given, or unexpected, accelerators and days");
                             }
                             return w;
                           });
}

[[nodiscard]] inline std::vector<InterruptionCategory> read_interruption_categories(const CsvTable& table) {
  return detail::read_rows(table, {"window", "component", "category", "count", "printed_percent"},
                           [](const RecordReader& r) {
                             InterruptionCategory c;
                             c.window = lower_case(r.required_text("window"));
                             c.component = r.required_text("component");
                             c.category = r.text("category");
                             c.count = r.required_positive("count");
                             c.printed_percent = r.number("printed_percent");
                             c.provenance = r.provenance();
                             return c;
                           });
}

[[nodiscard]] inline std::vector<Run> read_runs(const CsvTable& table) {
  return detail::read_rows(
      table,
      {"name", "aliases", "title", "model", "parameters", "active_parameters", "tokens", "accelerator", "accelerators",
       "accelerator_hours", "wall_clock_days", "steady_tflops", "training_flop", "flop_convention", "hours_kind",
       "unexpected_interruptions", "planned_interruptions", "energy_mwh", "co2e_tonnes"},
      [](const RecordReader& r) {
        Run run;
        run.aliases = r.list("aliases");
        run.title = r.text("title");
        run.model = r.text("model");
        run.parameters = r.quantity<Parameters>("parameters");
        run.active_parameters = r.quantity<Parameters>("active_parameters");
        run.tokens = r.quantity<Tokens>("tokens");
        run.accelerator = r.text("accelerator");
        run.accelerators = r.quantity<Count>("accelerators");
        run.accelerator_hours = r.quantity<AcceleratorHours>("accelerator_hours");
        run.wall_clock = r.quantity<Seconds>("wall_clock_days", seconds_per_day);
        run.steady_rate = r.quantity<FlopPerSecond>("steady_tflops", 1e12);
        run.training_flop = r.quantity<Flop>("training_flop");
        run.flop_convention = r.text("flop_convention");
        run.hours_kind = r.text("hours_kind");
        run.unexpected_interruptions = r.number("unexpected_interruptions");
        run.planned_interruptions = r.number("planned_interruptions");
        run.energy = r.quantity<WattHours>("energy_mwh", 1e6);
        run.co2e_tonnes = r.number("co2e_tonnes");
        run.provenance = r.provenance();
        return run;
      });
}

}  // namespace floplan::catalog
