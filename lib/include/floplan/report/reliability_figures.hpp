// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of what failures do to a plan at 16,384, 100,000 and 1,000,000 accelerators, and of whole runs that are over.
//
//   for (const Figure& f : reliability_figures()) f.make({catalog, request}).csv()
//
// The process is that of the plan's main stage at its median inputs (failure rate, stall, restart, waits, planned stops),
// carried to each size by reliability/cluster_size.hpp; "memory and store" is the plan's memory tier, or where it has none
// reliability/improvement.hpp's: 0.3 s to write, 9 of 10 failures mended, 60 s of wait and 120 s of restart. Work is the plan's
// useful accelerator-hours, spread over the accelerators of each size.
//
// Sources: those of reliability/ and of data/catalog/whole_runs.csv.
// Pitfall: stalls and restarts are kept while the cluster grows, so that what a size does is seen alone; a real store and a real
// restart get slower with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/reliability/cluster_size.hpp"
#include "floplan/reliability/improvement.hpp"
#include "floplan/reliability/whole_run.hpp"
#include "floplan/report/figure.hpp"

namespace floplan::report {

namespace detail {

inline constexpr double quoted_sizes[] = {16384, 100000, 1000000};

struct PlannedProcess {
  plan::Plan plan;
  Count accelerators;  // of its main stage

  explicit PlannedProcess(plan::Request request) : plan(plan::make_plan(few_draws(std::move(request)))) {
    accelerators = plan.main().request.accelerators;
  }
  [[nodiscard]] reliability::RunProcess at(Count size, bool memory) const {
    reliability::RunProcess p = reliability::process_of(plan.main().conditions);
    const reliability::MemoryTier tier;
    if (!memory) {
      p.memory_share = 0;
      p.memory = p.storage;
      p.checkpoints.memory_stall = Seconds(0);
      p.checkpoints.interval = plan.main().conditions.interval;
      p.checkpoints.storage_every = 1;
    } else if (!plan.main().conditions.memory) {
      p.memory_share = tier.share;
      p.memory = tier.recovery;
      p.checkpoints.memory_stall = tier.stall;
    }
    return reliability::process_at(p, accelerators, size);
  }
  // The plan's work on so many accelerators.
  [[nodiscard]] Seconds useful(Count size) const { return hours(plan.ideal_hours.value / size.value); }

 private:
  [[nodiscard]] static plan::Request few_draws(plan::Request r) {
    r.draws = 100;  // nothing here is drawn
    r.deadline.reset();
    return r;
  }
};

[[nodiscard]] inline const char* tiers_text(bool memory) { return memory ? "memory and store" : "store alone"; }

// Calls visit(size, memory, process) for each quoted size, with a store alone and with memory beside it.
template <class Visit>
void each_size_and_tiers(const FigureContext& context, Visit visit) {
  const PlannedProcess planned(context.request);
  for (const double size : quoted_sizes) {
    for (const bool memory : {false, true}) visit(size, memory, planned.at(Count(size), memory));
  }
}

[[nodiscard]] inline Table waste_by_size_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  each_size_and_tiers(context, [&](double size, bool memory, const reliability::RunProcess& p) {
    const reliability::SizePoint s = reliability::goodput_at(p, Count(size), Count(size));
    const auto longest = reliability::longest_restart(p, 0.9);
    const auto known = [&s](double x) { return s.ends ? Cell(x, 5) : Cell(); };
    out.add({{size, 7},
             tiers_text(memory),
             {in_hours(s.mtbf), 5},
             s.ends ? "yes" : "no",
             known(s.tiers.interval.value),
             s.ends ? Cell(static_cast<double>(s.tiers.storage_every), 7) : Cell(),
             known(s.ettr),
             known(s.ettr_first_order),
             known(s.waste.checkpoint),
             known(s.waste.lost_work),
             known(s.waste.restart),
             known(s.waste.maintenance),
             longest ? Cell(longest->value, 5) : Cell()});
  });
  return out;
}

[[nodiscard]] inline Table interval_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  each_size_and_tiers(context, [&](double size, bool memory, const reliability::RunProcess& p) {
    std::optional<reliability::BestCheckpoints> best;
    try {
      best = reliability::best_checkpoints(p);
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
      return;
    }
    // Sixteenfold to either side, eight to a doubling.
    for (int i = -32; i <= 32; ++i) {
      const double interval = best->tiers.interval.value * std::exp2(i / 8.0);
      const double stretch = reliability::detail::stretch_at(p, interval, best->tiers.storage_every);
      if (!std::isfinite(stretch)) continue;
      out.add({{size, 7},
               tiers_text(memory),
               {interval, 5},
               {1 / stretch, 5},
               {stretch * best->ettr, 6},
               {best->tiers.interval.value, 5},
               {best->flat_interval.low, 5},
               {best->flat_interval.high, 5},
               {static_cast<double>(best->tiers.storage_every), 7}});
    }
  });
  return out;
}

// Days of the draws in ascending order.
[[nodiscard]] inline std::vector<double> drawn_days(const plan::Plan& p, bool failures_alone) {
  std::vector<double> out(p.request.draws);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!failures_alone) {
      out[i] = plan::detail::draw(p, i).days;
      continue;
    }
    RandomStream stream(p.request.seed, i);
    double seconds = 0;
    for (const plan::StagePlan& stage : p.stages)
      seconds += reliability::draw_run(stream, stage.ideal, stage.conditions).wall_clock.value;
    out[i] = in_days(Seconds(seconds));
  }
  std::sort(out.begin(), out.end());
  return out;
}

[[nodiscard]] inline Table finish_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const auto add = [&](const char* what, const plan::Request& request, bool failures_alone) {
    const plan::Plan p = plan::make_plan(request);
    const std::vector<double> days = drawn_days(p, failures_alone);
    for (int percent = 1; percent <= 99; ++percent)
      out.add({what, {percent / 100.0, 3}, {quantile_of_sorted(days, percent / 100.0), 5}});
  };
  plan::Request r = context.request;
  r.deadline.reset();
  r.reliability.team.reset();
  r.reliability.unexplained_stops = 0;
  add("failures alone", r, true);
  add("uncertain inputs", r, false);
  r.reliability.team = reliability::Team::practised;
  add("and a practised team", r, false);
  r.reliability.team = reliability::Team::usual;
  add("and a team of unknown kind", r, false);
  return out;
}

[[nodiscard]] inline Table improvement_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const PlannedProcess planned(context.request);
  const auto& price = context.request.price;
  for (const double size : quoted_sizes) {
    const Seconds useful = planned.useful(Count(size));
    reliability::RunProcess p = planned.at(Count(size), planned.plan.main().conditions.memory.has_value());
    try {
      p.checkpoints = reliability::best_checkpoints(p).tiers;
      const double days = in_days(reliability::closed_form(useful, p).completion.wall_clock);
      for (const reliability::Improvement& i : reliability::improvements(useful, p, Count(size))) {
        if (i.name == "interval only") continue;  // it is the best already
        out.add({{size, 7},
                 i.name,
                 {days, 5},
                 {i.days_saved, 4},
                 {i.hours_saved, 4},
                 price ? Cell(cost(AcceleratorHours(i.hours_saved), price->accelerator_hour.central).value, 4) : Cell(),
                 {i.ettr, 5}});
      }
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
    }
  }
  return out;
}

[[nodiscard]] inline Table whole_run_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const reliability::WholeRun& run : reliability::whole_runs(context.catalog)) {
    std::vector<Cell> row = {run.name, run.title,      run.hours_kind,    run.team,
                             run.unit, {run.ideal, 6}, {run.published, 6}};
    if (run.ideal && (run.can_test() || run.hours_kind == "part")) {
      const reliability::BackTest t = reliability::back_test(run);
      row.insert(row.end(), {{t.predicted, 6},
                             {t.residual, 5},
                             {t.band.low, 6},
                             {t.band.high, 6},
                             t.covered(run.published) ? "yes" : "no"});
    } else {
      row.resize(figure.columns.size());
    }
    out.add(std::move(row));
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> reliability_figures() {
  std::vector<Figure> out;
  out.push_back(make_figure(
      "waste_by_size", FigureInput::plan,
      "Effective training time and where the rest goes at 16,384, 100,000 and 1,000,000 accelerators, with a store "
      "alone "
      "and with checkpoints to memory beside it",
      {{"accelerators", "size of the job"},
       {"tiers", "store alone, or memory and store"},
       {"mtbf_hours", "mean time between unplanned interruptions"},
       {"ends", "yes, or no where no interval lets the run end; what follows is blank then"},
       {"interval_s", "best useful time between checkpoints, to memory where there is one; may be blank"},
       {"storage_every", "checkpoints to memory for one to the store, 1 with a store alone; may be blank"},
       {"ettr", "useful share of the run time at the best intervals, planned and manual stops counted; may be blank"},
       {"ettr_first_order", "the same by the first-order form; negative where it has broken down; may be blank"},
       {"waste_checkpoint", "share of the run time writing checkpoints; may be blank"},
       {"waste_lost_work", "share lost and redone; may be blank"},
       {"waste_restart", "share waiting and restarting; may be blank"},
       {"waste_maintenance", "share of planned stops; may be blank"},
       {"longest_restart_90_s",
        "restart, the same of every class, at which ETTR is 0.90; blank where none reaches it"}},
      detail::waste_by_size_table));
  out.push_back(
      make_figure("interval_flatness", FigureInput::plan,
                  "Run time against the checkpoint interval, over the best, and the region that costs at most 1%",
                  {{"accelerators", "size of the job"},
                   {"tiers", "store alone, or memory and store"},
                   {"interval_s", "useful time between checkpoints, to memory where there is one"},
                   {"ettr", "useful share of the run time at that interval"},
                   {"run_time_over_best", "run time over that at the best interval"},
                   {"best_interval_s", "of this size and these tiers"},
                   {"flat_low_s", "shortest interval that costs at most 1% of the run time"},
                   {"flat_high_s", "longest one"},
                   {"storage_every", "checkpoints to memory for one to the store, kept at its best"}},
                  detail::interval_table));
  out.push_back(
      make_figure("finish_distribution", FigureInput::plan,
                  "When the plan's run ends: the scatter of failures alone, with its uncertain inputs, and "
                  "with what no failure rate explains",
                  {{"what", "failures alone, uncertain inputs, and a practised team, and a team of unknown kind"},
                   {"probability", "that the run has ended"},
                   {"days", "wall clock since its start"}},
                  detail::finish_table));
  out.push_back(make_figure("improvements_by_size", FigureInput::plan,
                            "What one change is worth for the plan's work at 16,384, 100,000 and 1,000,000 "
                            "accelerators, each at its own best "
                            "intervals",
                            {{"accelerators", "size of the job"},
                             {"improvement", "a restart one minute shorter, waits halved, a store twice as fast, ..."},
                             {"days", "of the run as it is"},
                             {"days_saved", "by the change"},
                             {"accelerator_hours_saved", "by the change"},
                             {"usd_saved", "at the plan's price; blank where it has none"},
                             {"ettr", "after it"}},
                            detail::improvement_table));
  out.push_back(
      make_figure("whole_runs", FigureInput::catalog,
                  "Published whole runs against the failure model; hours that are no measured occupancy test nothing "
                  "and have blanks",
                  {{"name", "of the run"},
                   {"title", "for people"},
                   {"hours_kind", "occupancy or part (measured), computed, more_than_the_run, unknown"},
                   {"team", "practised or first_run, as its story tells it; blank where the hours test nothing"},
                   {"unit", "accelerator_hours or days, of what follows"},
                   {"ideal", "work over the steady rate; blank where there is no rate"},
                   {"published", "what it took"},
                   {"predicted", "by the failure model on the run's own facts; may be blank"},
                   {"residual", "published over predicted; may be blank"},
                   {"band_low", "predicted times 0.95: with what no failure rate explains, 80%; may be blank"},
                   {"band_high", "predicted times 1.43; may be blank"},
                   {"inside", "whether the band holds what it took; may be blank"}},
                  detail::whole_run_table));
  return out;
}

}  // namespace floplan::report
