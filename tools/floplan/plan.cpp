// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/plan/request_file.hpp"
#include "floplan/report/plan_explanation.hpp"
#include "floplan/report/plan_json.hpp"
#include "floplan/report/plan_text.hpp"
#include "plan_source.hpp"

namespace floplan::cli {
namespace {

struct PlanCommandOptions {
  PlanOptions source;
  bool explain = false;
};

Answer answer_plan(const Session& session, const PlanCommandOptions& o) {
  plan::Request request = o.source.read(session.catalog);
  const plan::Plan p = plan::make_plan(std::move(request), session.interruptible());
  Answer answer;
  answer.inputs = report::inputs_json(p.request);
  answer.inputs["plan"] = o.source.file.value_or("");
  answer.result = report::to_json(p);
  answer.warnings = p.warnings;
  answer.interrupted = !p.complete;
  if (o.explain) {
    answer.text = report::explain_text(p);
    answer.result["explanation"] = answer.text;
  } else {
    answer.text = report::plan_text(p);
    answer.table = report::stage_table(p);
  }
  return answer;
}

}  // namespace

void add_plan(Program& program) {
  const auto o = std::make_shared<PlanCommandOptions>();
  Subcommand sub = program.add("plan", "Days, accelerator-hours, dollars and energy of a training run",
                               [o](const Session& s) { return answer_plan(s, *o); });
  sub.flag("--explain", o->explain, "Show every formula with its numbers instead; with --json as `explanation`");
  sub.excludes("--explain", "--csv");
  o->source.add_to(sub);
}

}  // namespace floplan::cli
