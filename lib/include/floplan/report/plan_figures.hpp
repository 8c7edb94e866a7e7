// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of a plan: what interrupts it, what its size does to its effective time, and its stages on the calendar.
//
//   for (const Figure& f : plan_figures()) f.make({catalog, request}).csv()
//
// A figure is computed from a plan request (its run, its failure rates, its restart) and the catalogs; nothing is read
// from elsewhere, so that a figure of another run is the same call with another request.
//
// Sources: those of the records and of reliability/.
// Pitfall: days and hours here are expected values; a plan's distribution is not in these figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/plan/planner.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/report/figure.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline Table interruption_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const catalog::InterruptionWindow window = context.catalog.interruption_window("llama3-2024");
  const std::vector<catalog::InterruptionCategory> categories = context.catalog.interruption_categories(window.name);
  double total = 0, printed = 0;
  for (const auto& c : categories) {
    total += c.count;
    printed += c.printed_percent.value_or(0);
  }
  const double hours = accelerator_hours(*window.accelerators, *window.duration).value;
  const double node_days = in_days(*window.duration) * window.accelerators->value / window.accelerators_per_node->value;
  for (const auto& c : categories) {
    out.add({c.component,
             c.category,
             {c.count, 6},
             {100 * c.count / total, 3},
             {c.printed_percent, 3},
             {printed, 4},
             {1000 * c.count / node_days, 4},
             {1e6 * c.count / hours, 4}});
  }
  return out;
}

// Cluster sizes from 1,024 to 1,000,000, four to a doubling, with the sizes people quote.
[[nodiscard]] inline std::vector<double> cluster_sizes() {
  std::vector<double> out;
  for (int i = 0; i <= 40; ++i) out.push_back(std::round(1024 * std::exp2(i / 4.0)));
  for (const double quoted : {100000.0, 1000000.0}) out.push_back(quoted);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  while (out.back() > 1e6) out.pop_back();
  return out;
}

[[nodiscard]] inline Table ettr_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const plan::Request& r = context.request;
  const Seconds stall = r.checkpoint.stall.central;
  const Seconds u0 = r.reliability.restart.central + r.reliability.wait.central;
  for (const double size : cluster_sizes()) {
    const Seconds mtbf = r.reliability.rate.mtbf(Count(size));
    // Automatic, unplanned stops only, so that sizes compare: what a person or a calendar adds does not grow with the cluster.
    reliability::Conditions c;
    c.mtbf = mtbf;
    c.stall = stall;
    c.interval = reliability::exact_interval(stall, mtbf);
    c.restart = r.reliability.restart.central;
    c.wait = r.reliability.wait.central;
    const auto run = reliability::completion(days(30), c);
    const Seconds young = reliability::young_interval(stall, mtbf);
    out.add({{size, 7},
             {in_hours(mtbf), 4},
             {r.reliability.rate.per_day(Count(size)), 4},
             {young.value, 4},
             {reliability::daly_interval(stall, mtbf).value, 4},
             {c.interval.value, 4},
             {run.ettr, 4},
             {reliability::ettr_first_order(mtbf, c.interval, stall, u0), 4},
             {run.waste.checkpoint, 4},
             {run.waste.lost_work, 4},
             {run.waste.restart, 4}});
  }
  return out;
}

[[nodiscard]] inline Table timeline_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const plan::Plan p = plan::make_plan(context.request);
  double start = 0;
  double tokens = 0;
  for (const plan::StagePlan& s : p.stages) {
    const double length = in_days(s.expected_wall_clock);
    tokens += s.request.tokens.value;
    const auto& w = s.completion.waste;
    const double model = in_days(s.completion.wall_clock);
    out.add({s.request.name,
             {start, 4},
             {start + length, 4},
             {s.request.accelerators.value, 6},
             {s.request.tokens.value, 4},
             {tokens, 4},
             {s.achieved.value / 1e12, 4},
             {s.mfu, 4},
             {in_days(s.ideal), 4},
             {model * w.checkpoint, 4},
             {model * w.lost_work, 4},
             {model * w.restart, 4},
             {model * w.maintenance, 4},
             {length - model, 4},
             {s.ideal_hours.value, 5},
             {s.expected_hours.value, 5},
             {s.completion.failures, 4}});
    start += length;
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> plan_figures() {
  std::vector<Figure> out;
  out.push_back(make_figure(
      "interruptions_by_category", FigureInput::catalog,
      "Llama 3's unexpected interruptions by component (table 5), with the shares that follow from the counts",
      {{"component", "what failed, as the paper names it"},
       {"category", "the paper's category"},
       {"count", "interruptions in 54 days on 16,384 H100s"},
       {"share_percent", "share of all 419 by count"},
       {"printed_percent", "share as printed in the paper"},
       {"printed_total_percent", "sum of all printed shares; 100 if they were right"},
       {"per_1000_node_days", "rate per thousand node-days (8 GPUs a node)"},
       {"per_million_accelerator_hours", "rate per million accelerator-hours"}},
      detail::interruption_table));
  out.push_back(make_figure(
      "ettr_by_cluster_size", FigureInput::plan,
      "Effective training time and best checkpoint interval against cluster size, at the request's failure rate, "
      "stall, restart and wait",
      {{"accelerators", "size of the job"},
       {"mtbf_hours", "mean time between unplanned interruptions"},
       {"interruptions_per_day", "unplanned"},
       {"young_interval_s", "sqrt(2 w M)"},
       {"daly_interval_s", "Daly's higher-order interval"},
       {"exact_interval_s", "minimum of the exact run time"},
       {"ettr", "useful share of the run time at the exact interval, automatic unplanned stops only"},
       {"ettr_first_order", "the same by the first-order form of Kokolis et al.; negative where it has broken down"},
       {"waste_checkpoint", "share of the run time writing checkpoints"},
       {"waste_lost_work", "share lost and redone"},
       {"waste_restart", "share waiting and restarting"}},
      detail::ettr_table));
  out.push_back(make_figure("timeline_by_stage", FigureInput::plan,
                            "The run's stages on the calendar, with what each loses to what (expected values)",
                            {{"stage", "name"},
                             {"start_day", "from the start of the run"},
                             {"end_day", "from the start of the run"},
                             {"accelerators", "count"},
                             {"tokens", "of this stage"},
                             {"cumulative_tokens", "to the end of this stage"},
                             {"tflops_per_accelerator", "steady achieved rate"},
                             {"mfu", "share of the dense peak"},
                             {"useful_days", "without a single stop"},
                             {"checkpoint_days", "writing checkpoints"},
                             {"lost_work_days", "lost and redone"},
                             {"restart_days", "waiting and restarting"},
                             {"planned_days", "planned stops"},
                             {"unexplained_days", "stops that no failure rate explains, if the request has them"},
                             {"ideal_accelerator_hours", "without a single stop"},
                             {"accelerator_hours", "expected"},
                             {"failures", "expected, unplanned"}},
                            detail::timeline_table));
  return out;
}

}  // namespace floplan::report
