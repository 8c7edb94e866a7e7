// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/reliability/improvement.hpp"
#include "floplan/report/reliability_json.hpp"

namespace floplan::cli {
namespace {

constexpr Seconds longest_time = days(36500);

struct ProjectOptions {
  Text rate, per_node, rate_from, memory_share, memory_stall, memory_restart, work;
  std::string count = "16384";
  std::string sizes = "1024,4096,16384,65536,100000,262144,1000000";
  std::string stall, restart;
  std::string wait = "0s";
  std::string target = "0.9";
};

reliability::InterruptionRate rate_of(const Session& session, const ProjectOptions& o, std::vector<Warning>& warnings) {
  if (o.rate && o.rate_from)
    throw Error(Failure::usage, "conflict", "--rate", "a rate is given once: --rate or --rate-from");
  const Count per_node =
      o.per_node ? parse_between(*o.per_node, "--accelerators-per-node", Count(1), Count(1e6)) : Count(8);
  if (o.rate) return reliability::rate_from_node_days(parse_number(*o.rate, "--rate"), per_node);
  if (!o.rate_from) warnings.push_back({"assumed", "the failure rate of Llama 3 405B (llama3-2024)"});
  const catalog::InterruptionWindow w =
      session.catalog.interruption_window(o.rate_from.value_or("llama3-2024"), "--rate-from");
  const Count node = w.accelerators_per_node.value_or(per_node);
  return w.rate_per_node_day
             ? reliability::rate_from_node_days(*w.rate_per_node_day, node)
             : reliability::rate_from_events(w.unexpected.value_or(0), *w.accelerators, *w.duration, node);
}

std::vector<Count> sizes_of(const std::string& text) {
  std::vector<Count> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(parse_between(text.substr(begin, end - begin), "--sizes", Count(1), Count(1e9)));
    begin = end + 1;
  }
  return out;
}

reliability::RunProcess process_of_options(const ProjectOptions& o, Seconds mtbf) {
  const auto time = [](const std::string& text, const char* option, Seconds least) {
    return parse_between(text, option, least, longest_time);
  };
  reliability::RunProcess p;
  p.failures.mtbf = mtbf;
  p.checkpoints.storage_stall = time(o.stall, "--stall", Seconds(1e-6));
  p.storage = {reliability::TimeLaw::fixed(time(o.wait, "--wait", Seconds(0))),
               reliability::TimeLaw::fixed(time(o.restart, "--restart", Seconds(0)))};
  p.memory = p.storage;
  if (o.memory_stall || o.memory_share || o.memory_restart) {
    if (!o.memory_stall)
      throw Error(Failure::usage, "missing_option", "--memory-stall", "a memory tier needs its stall, as 0.3s");
    p.checkpoints.memory_stall = time(*o.memory_stall, "--memory-stall", Seconds(1e-6));
    p.memory_share = parse<Fraction>(o.memory_share.value_or("0.9"), "--memory-share").value;
    if (o.memory_restart)
      p.memory.restart = reliability::TimeLaw::fixed(time(*o.memory_restart, "--memory-restart", Seconds(0)));
  }
  return p;
}

Answer project_command(const Session& session, const ProjectOptions& o) {
  Answer answer;
  const Count count = parse_between(o.count, "--count", Count(1), Count(1e9));
  const reliability::InterruptionRate rate = rate_of(session, o, answer.warnings);
  const reliability::RunProcess p = process_of_options(o, rate.mtbf(count));
  const double target = parse<Fraction>(o.target, "--target").value;
  answer.inputs = {{"count", report::count_json(count)},
                   {"rate_per_node_day", rate.per_node_day()},
                   {"stall_s", p.checkpoints.storage_stall.value},
                   {"restart_s", p.storage.restart.mean()},
                   {"wait_s", p.storage.wait.mean()},
                   {"memory_share", p.memory_share},
                   {"memory_stall_s", p.checkpoints.memory_stall.value},
                   {"memory_restart_s", p.memory.restart.mean()},
                   {"target", target}};
  report::Table table({"accelerators", "MTBF (h)", "checkpoint every (s)", "to storage every", "ETTR", "first order",
                       "effective accelerators", "restart for the target (s)"});
  report::Json sizes = report::Json::array();
  for (const reliability::SizePoint& s : reliability::goodput_by_size(p, count, sizes_of(o.sizes))) {
    report::Json entry = report::to_json(s);
    const auto longest = reliability::longest_restart(reliability::process_at(p, count, s.accelerators), target);
    entry["longest_restart_s"] = longest ? report::Json(longest->value) : report::Json(nullptr);
    sizes.push_back(std::move(entry));
    if (!s.ends) {
      table.add({{s.accelerators.value, 7}, {in_hours(s.mtbf), 4}, "never ends"});
      continue;
    }
    const report::Cell allowed = longest ? report::Cell(longest->value, 4) : report::Cell("none");
    table.add({{s.accelerators.value, 7},
               {in_hours(s.mtbf), 4},
               {s.tiers.interval.value, 4},
               {static_cast<double>(s.tiers.storage_every), 0},
               {s.ettr, 4},
               {s.ettr_first_order, 4},
               {s.effective_accelerators(), 5},
               allowed});
  }
  answer.result["sizes"] = std::move(sizes);
  const reliability::SizePoint most = reliability::most_useful_size(p, count);
  answer.result["most_useful"] = report::to_json(most);
  answer.text = table.text() + "\nBeyond " + print_short(most.accelerators, 3) +
                " accelerators more of them do less: there ETTR is " + print_number(most.ettr, 3) + ".\n";
  if (o.work) {
    const Seconds work = parse_between(*o.work, "--work", Seconds(1), Seconds(1e15));
    report::Table worth({"improvement", "ETTR", "days saved", "accelerator-hours saved"});
    report::Json list = report::Json::array();
    reliability::RunProcess known = p;
    known.checkpoints = reliability::best_checkpoints(p).tiers;
    for (const reliability::Improvement& i : reliability::improvements(work, known, count)) {
      list.push_back({{"name", i.name},
                      {"ettr", i.ettr},
                      {"days_saved", i.days_saved},
                      {"accelerator_hours_saved", i.hours_saved}});
      worth.add({i.name, {i.ettr, 5}, {i.days_saved, 3}, {i.hours_saved, 4}});
    }
    answer.result["improvements"] = std::move(list);
    answer.text +=
        "\nOn " + print(count) + " accelerators, for " + print(work, 4) + " of useful work:\n\n" + worth.text();
  }
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_reliability_project(Program& program) {
  const auto o = std::make_shared<ProjectOptions>();
  Subcommand sub = program.add(
      "reliability project", "Goodput by cluster size, the size beyond which more do less, what improvements are worth",
      [o](const Session& s) { return project_command(s, *o); });
  sub.option("--count", o->count, "Accelerators of the job that improvements are for");
  sub.option("--sizes", o->sizes, "Cluster sizes, separated by commas");
  sub.option("--rate", o->rate, "Failures a node-day, as 3.79e-3");
  sub.option("--accelerators-per-node", o->per_node, "With --rate; 8 if not given");
  sub.option("--rate-from", o->rate_from,
             "A record of the catalog (see: floplan catalog interruptions); llama3-2024 if no rate is given");
  sub.required("--stall", o->stall, "Time that a checkpoint to storage stops the job, as 10s");
  sub.required("--restart", o->restart, "Restart that a failure can cut short, as 5min");
  sub.option("--wait", o->wait, "Wait before it, in which nothing runs, as 2min");
  sub.option("--memory-stall", o->memory_stall,
             "Time that a checkpoint to memory stops the job, as 0.3s: a second tier");
  sub.option("--memory-share", o->memory_share, "Of the failures, those that memory mends; 0.9 if not given");
  sub.option("--memory-restart", o->memory_restart, "Their restart; --restart if not given");
  sub.option("--target", o->target, "ETTR for which the longest restart is sought");
  sub.option("--work", o->work, "Useful work, as 70d: what each improvement saves of it");
}

}  // namespace floplan::cli
