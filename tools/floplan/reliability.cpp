// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/completion_draw.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/rate_file.hpp"
#include "floplan/report/plan_json.hpp"

namespace floplan::cli {
namespace {

constexpr Seconds century = days(36500);

// Where a job's MTBF comes from: given, or a rate and a size.
struct FailureOptions {
  Text mtbf, count, rate, rate_from, per_node;

  void add_to(Subcommand& sub) {
    sub.option("--mtbf", mtbf, "Mean time between failures of the job, as 6h");
    sub.option("--count", count, "Accelerators of the job, as 16384, with a rate");
    sub.option("--rate", rate, "Failures a node-day, as 3.79e-3");
    sub.option(
        "--rate-from", rate_from,
        "A record of the catalog (see: floplan catalog interruptions), or the RATE.json that reliability fit wrote; "
        "llama3-2024 if no rate is given");
    sub.option("--accelerators-per-node", per_node, "With --rate; 8 if not given");
  }
};

struct Failures {
  Seconds mtbf;
  std::optional<reliability::InterruptionRate> rate;
  std::optional<Count> count;
  std::string source;
};

Failures failures(const Session& session, const FailureOptions& o, std::vector<Warning>& warnings) {
  Failures out;
  if (o.count) {
    out.count = parse<Count>(*o.count, "--count");
    if (out.count->value < 1 || out.count->value != std::floor(out.count->value) || out.count->value > 1e9) {
      throw Error(Failure::usage, "out_of_range", "--count", "must be a whole number from 1 to 1e9, got " + *o.count);
    }
  }
  if (o.per_node && !o.rate)
    throw Error(Failure::usage, "conflict", "--accelerators-per-node", "belongs to --rate, which is not given");
  if (o.mtbf) {
    if (o.rate || o.rate_from)
      throw Error(Failure::usage, "conflict", "--mtbf", "is the job's own: no --rate or --rate-from beside it");
    out.mtbf = parse_between(*o.mtbf, "--mtbf", Seconds(1e-6), Seconds(1e15));
    out.source = "given";
    return out;
  }
  if (!out.count) throw Error(Failure::usage, "missing_option", "--mtbf", "needs --mtbf, or --count with a rate");
  if (o.rate && o.rate_from)
    throw Error(Failure::usage, "conflict", "--rate", "a rate is given once: --rate or --rate-from");
  const Count per_node =
      o.per_node ? parse_between(*o.per_node, "--accelerators-per-node", Count(1), Count(1e6)) : Count(8);
  if (o.rate) {
    const double rate = parse_number(*o.rate, "--rate");
    if (!(rate >= 1e-12 && rate <= 1e6))
      throw Error(Failure::usage, "out_of_range", "--rate", "must be from 1e-12 to 1e6 a node-day, got " + *o.rate);
    out.rate = reliability::rate_from_node_days(rate, per_node);
    out.source = "given";
  } else if (o.rate_from && o.rate_from->ends_with(".json")) {
    const reliability::RateFile file = reliability::read_rate_file(read_text_file(*o.rate_from), *o.rate_from);
    out.rate = file.rate(*out.count);
    out.source = *o.rate_from;
    for (Warning& warning : reliability::scale_cautions(file.observed_on, *out.count))
      warnings.push_back(std::move(warning));
  } else {
    const catalog::InterruptionWindow w =
        session.catalog.interruption_window(o.rate_from.value_or("llama3-2024"), "--rate-from");
    if (!o.rate_from) warnings.push_back({"assumed", "the failure rate of " + w.title + " (" + w.name + ")"});
    const Count node = w.accelerators_per_node.value_or(per_node);
    out.rate = w.rate_per_node_day
                   ? reliability::rate_from_node_days(*w.rate_per_node_day, node)
                   : reliability::rate_from_events(w.unexpected.value_or(0), *w.accelerators, *w.duration, node);
    out.source = w.name;
    if (w.accelerators) {
      for (Warning& warning : reliability::scale_cautions(*w.accelerators, *out.count))
        warnings.push_back(std::move(warning));
    }
  }
  out.mtbf = out.rate->mtbf(*out.count);
  return out;
}

report::Json failures_json(const Failures& f) {
  report::Json out = {{"mtbf_hours", in_hours(f.mtbf)}};
  out["rate_per_node_day"] = f.rate ? report::Json(f.rate->per_node_day(*f.count)) : report::Json(nullptr);
  out["accelerator_hours_per_interruption"] =
      f.rate ? report::Json(f.rate->hours_between_events(*f.count).value) : report::Json(nullptr);
  out["interruptions_per_day"] = seconds_per_day / f.mtbf.value;
  out["rate_source"] = f.source;
  return out;
}

struct Intervals {
  Seconds young, daly, exact;
};
Intervals intervals(Seconds write, Seconds mtbf) {
  return {reliability::young_interval(write, mtbf), reliability::daly_interval(write, mtbf),
          reliability::exact_interval(write, mtbf)};
}
void add_intervals(report::Json& result, const Intervals& i) {
  result["young_s"] = i.young.value;
  result["daly_s"] = i.daly.value;
  result["exact_s"] = i.exact.value;
}

struct IntervalOptions {
  FailureOptions failures;
  std::string write;
  Text restart;
};

Answer interval(const Session& session, const IntervalOptions& o) {
  Answer answer;
  const Failures f = failures(session, o.failures, answer.warnings);
  const Seconds write = parse_between(o.write, "--write", Seconds(1e-6), century);
  std::optional<Seconds> restart;
  if (o.restart) restart = parse_between(*o.restart, "--restart", Seconds(0), century);
  const Intervals i = intervals(write, f.mtbf);
  answer.inputs = {{"mtbf_s", f.mtbf.value}, {"write_s", write.value}};
  answer.result = {{"interval_s", i.exact.value}};
  add_intervals(answer.result, i);
  answer.result.update(failures_json(f));
  report::Table table({"rule", "interval (s)", "interval (min)", "ETTR", "ETTR first order", "run time over the best"});
  std::optional<reliability::Completion> best;
  const auto at = [&](Seconds tau) {
    reliability::Conditions c;
    c.mtbf = f.mtbf;
    c.interval = tau;
    c.stall = write;
    c.restart = *restart;
    return reliability::completion(days(1), c);
  };
  if (restart) {
    answer.inputs["restart_s"] = restart->value;
    best = at(i.exact);
    answer.result["ettr"] = best->ettr;
    answer.result["ettr_first_order"] = best->ettr_first_order;
    answer.result["waste"] = report::to_json(best->waste);
  }
  const auto row = [&](const char* name, Seconds tau) {
    if (!best) {
      table.add({name, {tau.value, 6}, {tau.value / 60, 5}});
      return;
    }
    const auto run = at(tau);
    table.add({name,
               {tau.value, 6},
               {tau.value / 60, 5},
               {run.ettr, 5},
               {run.ettr_first_order, 5},
               {run.wall_clock / best->wall_clock, 6}});
  };
  row("exact (Lambert W)", i.exact);
  row("Daly, higher order", i.daly);
  row("Young", i.young);
  if (best) {
    row("half the exact", i.exact * 0.5);
    row("twice the exact", i.exact * 2);
  }
  if (write >= f.mtbf) {
    answer.warnings.push_back({"checkpoint_exceeds_mtbf", "writing a checkpoint takes " + print(write, 3) +
                                                              ", as long as the mean time between failures, " +
                                                              print(f.mtbf, 3) + ": most of them never finish"});
  }
  answer.text = "A checkpoint that stalls the job " + print(write, 3) + ", an interruption every " + print(f.mtbf, 3) +
                " on average\n\n" + table.text();
  if (!best) answer.text += "\nGive --restart to see what each costs.\n";
  answer.table = std::move(table);
  return answer;
}

struct GoodputOptions {
  FailureOptions failures;
  std::string stall, restart;
  std::string wait = "0s";
  std::string interval = "auto";
  Text work;
};

Answer goodput(const Session& session, const GoodputOptions& o) {
  Answer answer;
  const Failures f = failures(session, o.failures, answer.warnings);
  reliability::Conditions c;
  c.mtbf = f.mtbf;
  c.stall = parse_between(o.stall, "--stall", Seconds(0), century);
  c.restart = parse_between(o.restart, "--restart", Seconds(0), century);
  c.wait = parse_between(o.wait, "--wait", Seconds(0), century);
  const Seconds work = o.work ? parse_between(*o.work, "--work", Seconds(1e-6), Seconds(1e15)) : days(1);
  if (!(c.stall.value > 0) && o.interval == "auto") {
    throw Error(Failure::usage, "out_of_range", "--stall",
                "a checkpoint that stalls nothing has no best interval: give --interval");
  }
  std::optional<Intervals> best;
  if (c.stall.value > 0) best = intervals(c.stall, c.mtbf);
  c.interval = o.interval == "auto" ? best->exact : parse_between(o.interval, "--interval", Seconds(1e-3), century);
  const reliability::Completion run = reliability::completion(work, c);
  for (Warning& w : reliability::cautions(c)) answer.warnings.push_back(std::move(w));
  answer.inputs = {{"count", report::count_json(f.count)},
                   {"stall_s", c.stall.value},
                   {"restart_s", c.restart.value},
                   {"wait_s", c.wait.value},
                   {"interval", o.interval},
                   {"work_s", o.work ? report::Json(work.value) : report::Json(nullptr)}};
  answer.result = failures_json(f);
  answer.result["interval_s"] = c.interval.value;
  if (best) add_intervals(answer.result, *best);
  answer.result["ettr"] = run.ettr;
  answer.result["ettr_first_order"] = run.ettr_first_order;
  answer.result["waste"] = report::to_json(run.waste);
  report::Table table({"quantity", "value", "unit"});
  const auto row = [&table](const std::string& what, double value, int digits, const char* unit) {
    table.add({what, {value, digits}, unit});
  };
  row("mean time between interruptions", in_hours(c.mtbf), 4, "h");
  row("interruptions", seconds_per_day / c.mtbf.value, 4, "a day");
  row(o.interval == "auto" ? "checkpoint every (exact optimum)" : "checkpoint every (given)", c.interval.value, 4, "s");
  row("effective training time (ETTR)", 100 * run.ettr, 5, "%");
  row("  first order", 100 * run.ettr_first_order, 5, "%");
  row("writing checkpoints", 100 * run.waste.checkpoint, 3, "%");
  row("work lost and redone", 100 * run.waste.lost_work, 3, "%");
  row("waiting and restarting", 100 * run.waste.restart, 3, "%");
  if (o.work) {
    answer.result["failures"] = run.failures;
    answer.result["wall_clock_hours"] = in_hours(run.wall_clock);
    // Mean and deviation are exact; the quantiles are those of draws, since few failures are far from a normal sum.
    std::vector<double> draws(10000);
    for (std::size_t i = 0; i < draws.size(); ++i) {
      RandomStream stream(1, i);
      draws[i] = in_days(reliability::draw_completion(stream, work, c).wall_clock);
    }
    Distribution distribution = summarise(std::move(draws));
    distribution.mean = in_days(run.wall_clock);
    distribution.standard_deviation = in_days(run.standard_deviation);
    answer.result["wall_clock_days"] = report::to_json(distribution);
    row("useful work", in_hours(work), 6, "h");
    row("expected run time", in_hours(run.wall_clock), 6, "h");
    row("  standard deviation", in_hours(run.standard_deviation), 3, "h");
    row("expected failures", run.failures, 4, "");
  }
  answer.text =
      (f.count ? print(*f.count) + " accelerators, failure rate " + f.source + "\n\n" : std::string()) + table.text();
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_reliability_fit(Program& program);

void add_reliability(Program& program) {
  add_reliability_fit(program);
  const auto i = std::make_shared<IntervalOptions>();
  Subcommand sub = program.add("reliability interval", "The best time between checkpoints",
                               [i](const Session& s) { return interval(s, *i); });
  i->failures.add_to(sub);
  sub.required("--write", i->write, "Time that writing a checkpoint stops the job, as 5min");
  sub.option("--restart", i->restart, "Time from failure to training again, as 10min: shows what each interval costs");
  const auto g = std::make_shared<GoodputOptions>();
  sub = program.add("reliability goodput", "The share of time that trains, and where the rest goes",
                    [g](const Session& s) { return goodput(s, *g); });
  g->failures.add_to(sub);
  sub.required("--stall", g->stall, "Time that a checkpoint stops the job, as 10s");
  sub.required("--restart", g->restart, "Restart that a failure can cut short, as 5min");
  sub.option("--wait", g->wait, "Wait before it, in which nothing runs, as 2min");
  sub.option("--interval", g->interval, "Useful time between checkpoints, or auto for the exact optimum");
  sub.option("--work", g->work, "Useful work, as 500h: also gives the run time");
}

}  // namespace floplan::cli
