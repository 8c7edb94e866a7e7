// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <utility>

#include "command.hpp"
#include "floplan/plan/plan_simulation.hpp"
#include "floplan/plan/request_file.hpp"
#include "floplan/report/plan_json.hpp"
#include "floplan/report/reliability_json.hpp"
#include "plan_source.hpp"

namespace floplan::cli {
namespace {

struct SimulateOptions {
  PlanOptions source;
  bool fixed_inputs = false;
};

Answer simulate_command(const Session& session, const SimulateOptions& o) {
  plan::Request asked = o.source.read(session.catalog);
  reliability::SimulationOptions options;
  options.runs = asked.draws;
  // The runs are simulated; of the planner's own draws only whether a deadline can be met at all is used.
  asked.draws = std::min<std::size_t>(asked.draws, 1000);
  const plan::Plan p = plan::make_plan(std::move(asked));
  const plan::Request& request = p.request;
  options.seed = request.seed;
  options.threads = request.threads;
  options.stop = session.interruptible();
  options.progress = session.progress;
  const reliability::SimulationReport r = plan::simulate_plan(p, options, !o.fixed_inputs);
  Answer answer;
  answer.inputs = report::inputs_json(request);
  answer.inputs["draws"] = options.runs;
  answer.inputs["plan"] = o.source.file.value_or("");
  answer.inputs["fixed_inputs"] = o.fixed_inputs;
  answer.result = report::to_json(r);
  const reliability::Conditions& main = p.main().conditions;
  answer.result["mtbf_hours"] = in_hours(main.mtbf);
  answer.result["interval_s"] = main.interval.value;
  answer.result["closed_form"] = {{"wall_clock_days", in_days(p.expected_wall_clock)}, {"ettr", p.ettr}};
  answer.warnings = p.warnings;
  answer.interrupted = !r.complete;
  if (!r.complete) {
    answer.warnings.push_back({"interrupted", "the simulation was interrupted: the answer rests on " +
                                                  std::to_string(r.runs) + " of " + std::to_string(r.asked) + " runs"});
  }
  report::Table table = report::simulation_table(r);
  answer.text = r.describe() + "\n\n" + table.text() +
                "\nIn closed form, at the median inputs: " + print_number(in_days(p.expected_wall_clock), 6) +
                " days\n";
  if (request.deadline) {
    const double met = r.probability_by(*request.deadline);
    answer.result["deadline"] = {{"days", in_days(*request.deadline)}, {"probability", met}};
    answer.text +=
        "Done within " + print(*request.deadline, 4) + " in " + print_number(100 * met, 4) + "% of the runs\n";
  }
  answer.table = std::move(table);
  return answer;
}

struct SpareOptions {
  std::string nodes, rate, repair;
  std::string level = "0.99";
  Text spares;
};

Answer spares_command(const Session&, const SpareOptions& o) {
  reliability::SpareQuestion q;
  q.nodes = parse_between(o.nodes, "--nodes", Count(1), Count(1e9)).value;
  q.rate_per_node_day = parse_number(o.rate, "--rate");
  if (!(q.rate_per_node_day >= 1e-12 && q.rate_per_node_day <= 1e6))
    throw Error(Failure::usage, "out_of_range", "--rate", "must be from 1e-12 to 1e6 a node-day, got " + o.rate);
  q.repair = parse_between(o.repair, "--repair", Seconds(1e-3), days(36500));
  q.level = parse<Fraction>(o.level, "--level").value;
  const reliability::SpareReport least = reliability::spares_for(q);
  Answer answer;
  answer.inputs = {{"nodes", report::count_json(q.nodes)},
                   {"rate_per_node_day", q.rate_per_node_day},
                   {"repair_s", q.repair.value},
                   {"level", q.level}};
  answer.result = report::to_json(least);
  report::Table table({"spares", "stands still (Erlang B)", "too few (Palm)"});
  const int shown = o.spares ? static_cast<int>(whole_number(o.spares, "--spares", 1)) : least.spares();
  for (int k = std::max(0, shown - 3); k <= shown + 3; ++k) {
    const reliability::SpareReport at = reliability::spares_at(q, k);
    table.add({{static_cast<double>(k), 0}, {at.erlang.stopped, 4}, {at.palm.stopped, 4}});
  }
  if (o.spares) {
    answer.inputs["spares"] = shown;
    answer.result["at"] = report::to_json(reliability::spares_at(q, shown));
  }
  answer.text = least.describe() + "\n\n" + table.text();
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_reliability_simulate(Program& program) {
  const auto simulate = std::make_shared<SimulateOptions>();
  Subcommand sub =
      program.add("reliability simulate", "A plan's runs event by event: finish dates and what interrupts them",
                  [simulate](const Session& s) { return simulate_command(s, *simulate); });
  sub.flag("--fixed-inputs", simulate->fixed_inputs,
           "Take every input at its median: the scatter of the failures alone");
  simulate->source.add_to(sub);
  const auto spares = std::make_shared<SpareOptions>();
  sub = program.add("reliability spares", "How many spare nodes a job needs",
                    [spares](const Session& s) { return spares_command(s, *spares); });
  sub.required("--nodes", spares->nodes, "Nodes of the job, as 2048");
  sub.required("--rate", spares->rate, "Failures a node-day, as 3.79e-3");
  sub.required("--repair", spares->repair, "Mean time to mend a node, as 24h");
  sub.option("--level", spares->level, "Share of the time that there must be enough");
  sub.option("--spares", spares->spares, "Also say what so many spares give");
}

}  // namespace floplan::cli
