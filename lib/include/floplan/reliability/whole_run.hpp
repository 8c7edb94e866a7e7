// SPDX-License-Identifier: BSD-3-Clause
//
// Published whole runs against the failure model: what each should have taken, and what it took.
//
//   for (const WholeRun& r : whole_runs(catalog)) if (r.can_test()) back_test(r).residual      published over predicted
//
//   predicted = ideal x (1 / ETTR by one_tier.hpp + the share of other known stops, such as evaluation)
//   ideal     = work / steady rate, in the unit of the published figure (accelerator-hours or days)
//
// Published hours come in kinds, and only one can test goodput: `occupancy`, measured from begin to end. `computed` ones
// are tokens over the steady rate, so that their goodput of 1.00 is arithmetic; `more_than_the_run` hold several passes;
// `part` is a stretch of a run that is in the list as a whole; `unknown` says so. back_test() refuses all but occupancy and
// part by name. Facts that a run did not publish are listed in `assumed`.
// Source: data/catalog/whole_runs.csv. Holds: failures that the run's own rate describes.
// Pitfall: the steady rate must be that of the same job; an "up to" rate makes any run look slow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/reliability/one_tier.hpp"
#include "floplan/reliability/unexplained_loss.hpp"

namespace floplan::reliability {

struct WholeRun {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;
  std::string hours_kind;  // occupancy | part | computed | more_than_the_run | unknown
  std::string team;        // practised | first_run, as its story tells it; blank where it cannot test
  std::string unit;        // accelerator_hours | days
  std::optional<double> ideal;
  double published = 0;
  std::optional<Seconds> mtbf;  // absent: no failure data, and `other_share` is all that is known
  Conditions conditions;
  double other_share = 0;  // of the ideal time: known stops that are no failures
  std::vector<std::string> assumed;
  Provenance provenance;

  [[nodiscard]] bool can_test() const { return hours_kind == "occupancy"; }
};

[[nodiscard]] inline std::vector<WholeRun> read_whole_runs(const CsvTable& table) {
  return catalog::detail::read_rows(
      table,
      {"name", "title", "hours_kind", "team", "unit", "ideal", "published", "mtbf_hours", "interval_s", "stall_s",
       "restart_s", "wait_s", "manual_share", "manual_wait_s", "planned_per_day", "planned_s", "other_share",
       "assumed"},
      [](const catalog::RecordReader& r) {
        const auto one_of = [&r](const char* column, std::initializer_list<const char*> allowed) {
          const std::string text = r.text(column);
          std::string all;
          for (const char* a : allowed) {
            if (text == a) return text;
            all += (all.empty() ? "" : ", ") + (*a ? std::string(a) : "blank");
          }
          throw r.fail(column, "must be one of " + all + ", got \"" + shown(text) + "\"");
        };
        const auto seconds = [&r](const char* column) { return r.quantity<Seconds>(column).value_or(Seconds(0)); };
        WholeRun run;
        run.title = r.text("title");
        run.hours_kind = one_of("hours_kind", {"occupancy", "part", "computed", "more_than_the_run", "unknown"});
        run.team = one_of("team", {"practised", "first_run", ""});
        run.unit = one_of("unit", {"accelerator_hours", "days"});
        run.ideal = r.positive("ideal");
        run.published = r.required_positive("published");
        run.mtbf = r.quantity<Seconds>("mtbf_hours", 3600);
        Conditions& c = run.conditions;
        c.mtbf = run.mtbf.value_or(Seconds(0));
        c.interval = seconds("interval_s");
        c.stall = seconds("stall_s");
        c.restart = seconds("restart_s");
        c.wait = seconds("wait_s");
        c.manual_share = r.positive("manual_share").value_or(0);
        c.manual_wait = seconds("manual_wait_s");
        c.planned_per_day = r.positive("planned_per_day").value_or(0);
        c.planned_duration = seconds("planned_s");
        run.other_share = r.positive("other_share").value_or(0);
        run.assumed = r.list("assumed");
        run.provenance = r.provenance();
        return run;
      });
}

[[nodiscard]] inline std::vector<WholeRun> whole_runs(const catalog::Catalog& catalog) {
  return catalog.read("whole_runs.csv", read_whole_runs);
}

struct BackTest {
  double predicted = 0;  // in the run's unit, without unexplained losses
  double residual = 0;   // published over predicted
  Interval band;         // 80%: predicted times the band of the unexplained losses, of the usual team
  [[nodiscard]] bool covered(double published) const { return published >= band.low && published <= band.high; }
};

[[nodiscard]] inline BackTest back_test(const WholeRun& run,
                                        const UnexplainedLoss& loss = unexplained_loss(Team::usual)) {
  if ((!run.can_test() && run.hours_kind != "part") || !run.ideal) {
    throw Error(Failure::no_answer, "not_a_test", "back_test: " + run.name,
                "hours must be measured occupancy to test a run time, got " + run.hours_kind +
                    (run.provenance.note.empty() ? "" : ": " + run.provenance.note));
  }
  double factor = 1;
  if (run.mtbf) factor = 1 / one_tier(days(30), process_of(run.conditions)).ettr;
  BackTest out;
  out.predicted = *run.ideal * (factor + run.other_share);
  out.residual = run.published / out.predicted;
  out.band = {out.predicted * loss.quantile(0.1), out.predicted * loss.quantile(0.9), 0.8};
  return out;
}

}  // namespace floplan::reliability
