// SPDX-License-Identifier: BSD-3-Clause
//
// The layouts that a search found, as tables and as JSON.
//
//   std::cout << layout_table(search, report).text();      Json j = layouts_json(search, report);
//
// JSON: layouts [{tp, cp, pp, dp, ep, vp, microbatch, sharding, recompute, memory_bytes, fits, and all of step_json}], pareto
// [{the same degrees, step_time_s, memory_bytes {total, capacity}, fits}], evaluated, feasible, alike, refused {rule: ways}.
// The frontier is of all layouts that can be run: those that do not fit say what more memory would buy.
//
// Pitfall: differences within the band of the step-time model are no differences; a measurement decides.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "floplan/cluster/layout_search.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/memory_text.hpp"
#include "floplan/report/step_text.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline Json layout_json(const cluster::RankedLayout& l) {
  return {{"tp", l.layout.tensor},
          {"cp", l.layout.context},
          {"pp", l.layout.pipeline},
          {"dp", l.layout.data},
          {"ep", l.layout.expert},
          {"etp", l.layout.expert_tensor_ranks()},
          {"vp", l.layout.interleave},
          {"microbatch", l.microbatch},
          {"sharding", architecture::to_text(l.sharding)},
          {"recompute", architecture::to_text(l.recompute)},
          {"fits", l.fits}};
}

[[nodiscard]] inline std::vector<Cell> layout_cells(const cluster::RankedLayout& l) {
  const auto whole = [](std::int64_t n) { return Cell(static_cast<double>(n), 9); };
  return {whole(l.layout.tensor),
          whole(l.layout.context),
          whole(l.layout.pipeline),
          whole(l.layout.interleave),
          whole(l.layout.data),
          whole(l.layout.expert),
          whole(l.microbatch),
          architecture::to_text(l.sharding),
          architecture::to_text(l.recompute)};
}

}  // namespace detail

// Of the best ones; known_stack: the software is a publisher's.
[[nodiscard]] inline Json layouts_json(const cluster::LayoutSearch& search, const cluster::LayoutSearchReport& report,
                                       bool known_stack = false) {
  Json best = Json::array();
  for (const cluster::RankedLayout& l : report.best) {
    const cluster::StepRequest r = cluster::request_of(search, l);
    Json entry = detail::layout_json(l);
    entry.update(step_json(cluster::step_time(r), cluster::step_band(r, known_stack)));
    Json memory =
        memory_json(architecture::training_memory(r.shape, r.layout, cluster::memory_options(r)).worst_stage());
    memory["capacity"] = json(search.capacity);
    entry["memory_bytes"] = std::move(memory);
    best.push_back(std::move(entry));
  }
  Json frontier = Json::array();
  for (const cluster::RankedLayout& l : report.frontier) {
    Json entry = detail::layout_json(l);
    entry["step_time_s"] = l.step.value;
    entry["memory_bytes"] = {{"total", l.memory.value}, {"capacity", json(search.capacity)}};
    frontier.push_back(std::move(entry));
  }
  Json refused = Json::object();
  for (const auto& [rule, ways] : report.refused) refused[rule] = ways;
  return {{"layouts", std::move(best)},  {"pareto", std::move(frontier)}, {"evaluated", report.evaluated},
          {"feasible", report.feasible}, {"alike", report.alike},         {"refused", std::move(refused)}};
}

[[nodiscard]] inline Table layout_table(const cluster::LayoutSearch& search,
                                        const cluster::LayoutSearchReport& report) {
  Table t({"TP", "CP", "PP", "VP", "DP", "EP", "microbatch", "sharding", "recomputed", "step (s)", "slower (%)",
           "TFLOP/s", "MFU (%)", "bubble (%)", "memory (GB)"});
  for (const cluster::RankedLayout& l : report.best) {
    const cluster::StepReport s = cluster::step_time(cluster::request_of(search, l));
    std::vector<Cell> cells = detail::layout_cells(l);
    for (const Cell& cell : {Cell(l.step.value, 4), Cell(100 * (l.step / report.best.front().step - 1), 3),
                             Cell(s.model_rate.value / 1e12, 4), Cell(100 * s.mfu, 3), Cell(100 * s.bubble_fraction, 3),
                             Cell(l.memory.value / 1e9, 3)})
      cells.push_back(cell);
    t.add(std::move(cells));
  }
  return t;
}

// What memory buys in time, from the fastest to the leanest; those at most `slowest` times as slow as the fastest.
[[nodiscard]] inline Table frontier_table(const cluster::LayoutSearchReport& report, double slowest = 2) {
  Table t(
      {"memory (GB)", "step (s)", "fits", "TP", "CP", "PP", "VP", "DP", "EP", "microbatch", "sharding", "recomputed"});
  for (const cluster::RankedLayout& l : report.frontier) {
    if (l.step > slowest * report.frontier.front().step) break;
    std::vector<Cell> cells{{l.memory.value / 1e9, 3}, {l.step.value, 4}, l.fits ? "yes" : "no"};
    for (Cell& cell : detail::layout_cells(l)) cells.push_back(std::move(cell));
    t.add(std::move(cells));
  }
  return t;
}

}  // namespace floplan::report
