// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/names.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/report/figures.hpp"
#include "floplan/report/runs_json.hpp"
#include "plan_source.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct ExportOptions {
  std::string figure;
  std::string folder;
  std::string jitter = "10%";
  std::string steps;  // a file; empty: none
  Text hold_out;
  RunOptions runs;
  PlanOptions source;
};

Answer list() {
  Answer answer;
  report::Table table({"figure", "input", "column", "meaning"});
  report::Json figures = report::Json::array();
  for (const report::Figure& figure : report::figures()) {
    const std::string input = report::to_text(figure.input);
    answer.text += figure.name + " (" + input + ")\n    " + figure.title + "\n";
    report::Json columns = report::Json::array();
    for (const report::FigureColumn& c : figure.columns) {
      columns.push_back({{"name", c.name}, {"meaning", c.meaning}});
      table.add({figure.name, input, c.name, c.meaning});
    }
    figures.push_back(
        {{"name", figure.name}, {"input", input}, {"title", figure.title}, {"columns", std::move(columns)}});
  }
  answer.text +=
      "in brackets what a figure is computed from: what is built in (catalog), a plan (Llama 3.1 405B if none is "
      "given), training "
      "runs (--runs; a simulated sweep if none are given), or measured steps (--steps)\n";
  answer.result = {{"figures", std::move(figures)}};
  answer.table = std::move(table);
  return answer;
}

std::vector<report::Figure> figures_named(const std::string& name) {
  std::vector<report::Figure> all = report::figures();
  if (name == "all") return all;
  std::vector<std::string> names;
  for (report::Figure& figure : all) {
    if (figure.name == name) return {std::move(figure)};
    names.push_back(figure.name);
  }
  throw Error(Failure::usage, "unknown_name", "export",
              "must be a figure, all or list, got \"" + name + "\"" + nearest_names_text(name, names));
}

// The runs of the context, from the table of a file if one is given.
report::FigureRuns runs_of(const ExportOptions& o, const std::optional<runs::RunTable>& table) {
  report::FigureRuns out = report::FigureRuns::example();
  out.jitter = parse_between<Fraction>(o.jitter, "--jitter", Fraction(0), Fraction(1)).value;
  if (o.hold_out) {
    const Flop cut = parse<Flop>(*o.hold_out, "--hold-out-above");
    if (!(cut.value > 0)) {
      throw Error(Failure::usage, "out_of_range", "--hold-out-above", "must be positive, got " + *o.hold_out);
    }
    out.hold_out = cut;
  }
  if (table) {
    out.name = o.runs.name();
    out.rows = table->observations;
    out.flop = budgets_of(*table);
  }
  return out;
}

// Why `all` leaves a figure out; empty where it does not.
std::string no_input(const report::Figure& figure, const ExportOptions& o) {
  if (figure.input == report::FigureInput::steps)
    return o.steps.empty() ? "needs measured steps, and no --steps were given" : "";
  if (o.runs.files.empty()) return "";
  if (figure.input == report::FigureInput::plan && !o.source.given()) return "needs a plan, and runs alone were given";
  return figure.name == "example_runs" ? "the simulated example, and runs were given" : "";
}

// What the fit that most figures of runs rest on has to say. A refusal is each figure's own.
void add_fit_warnings(const runs::RunTable& table, std::vector<Warning>& warnings) {
  try {
    for (const Warning& w : fit::chinchilla(table.observations).warnings) warnings.push_back(w);
  } catch (const Error& error) {
    if (error.failure() != Failure::no_answer) throw;
  }
}

Answer write(const Session& session, const ExportOptions& o) {
  if (o.figure == "list") return list();
  const std::vector<report::Figure> wanted = figures_named(o.figure);
  if (o.folder.empty()) throw Error(Failure::usage, "missing_option", "--out", "needs the folder to write to");
  PlanOptions source = o.source;
  if (!source.file) source.file = "llama3_405b";
  Answer answer;
  std::optional<runs::RunTable> given;
  if (!o.runs.files.empty()) given = o.runs.read(answer.warnings, false);
  report::FigureContext context{session.catalog, source.read(session.catalog), runs_of(o, given)};
  if (!o.steps.empty())
    context.steps = cluster::read_measured_steps(parse_csv(read_text_file(o.steps), o.steps), session.catalog);
  std::error_code error;
  std::filesystem::create_directories(o.folder, error);
  if (error) throw Error(Failure::data, "unwritable_file", o.folder, "cannot be made: " + error.message());
  answer.inputs = given ? o.runs.inputs() : report::Json{{"runs", nullptr}};
  answer.inputs["figure"] = o.figure;
  answer.inputs["plan"] = *source.file;
  answer.inputs["out"] = o.folder;
  report::Json files = report::Json::array();
  report::Json left_out = report::Json::array();
  report::Table table({"figure", "file", "rows"});
  bool simulated = false;
  for (const report::Figure& figure : wanted) {
    std::string reason = o.figure == "all" ? no_input(figure, o) : "";
    std::optional<report::Table> data;
    try {
      const auto make = [&] { return figure.make(context); };
      if (reason.empty()) data = given ? naming_rows(*given, make) : make();
    } catch (const Error& refusal) {
      if (o.figure != "all" || refusal.failure() != Failure::no_answer) throw;
      reason = refusal.what();
      answer.warnings.push_back({"figure_left_out", figure.name + ": " + reason});
    }
    if (!data) {
      left_out.push_back({{"figure", figure.name}, {"reason", reason}});
      continue;
    }
    const std::filesystem::path path = std::filesystem::path(o.folder) / (figure.name + ".csv");
    write_text_file(path, data->csv());
    files.push_back({{"figure", figure.name}, {"path", path.string()}, {"rows", data->size()}});
    table.add({figure.name, path.string(), {static_cast<double>(data->size()), 6}});
    simulated = simulated || (figure.input == report::FigureInput::runs && o.runs.files.empty());
  }
  answer.text = (given ? given->describe() + "\n" : "") + table.text();
  if (simulated)
    answer.text += "figures of runs are of the simulated example, not of measured runs; --runs gives them yours\n";
  for (const report::Json& one : left_out) {
    answer.text += "left out: " + one["figure"].get<std::string>() + ": " + one["reason"].get<std::string>() + "\n";
  }
  answer.result = {{"files", std::move(files)}, {"left_out", std::move(left_out)}, {"simulated_runs", simulated}};
  if (given) {
    answer.result["rows"] = report::rows_json(*given);
    add_fit_warnings(*given, answer.warnings);
    name_places(answer.warnings, *given);
  }
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_export(Program& program) {
  const auto o = std::make_shared<ExportOptions>();
  Subcommand sub = program.add(
      "export", "The data behind figures, as tidy CSV with documented columns",
      [o](const Session& s) { return write(s, *o); }, Program::Out::folder);
  sub.positional("figure", o->figure, "A figure, all, or list (with --json or --csv: every column's meaning)");
  sub.option("--out", o->folder, "The folder to write to");
  sub.option("--steps", o->steps, "Measured training steps, for step_validation: a CSV as step --validate reads");
  sub.group("Training runs, for figures of runs");
  sub.option("--runs", o->runs.files, std::string(runs_help) + "; may be repeated");
  o->runs.add_options(sub);
  sub.option("--jitter", o->jitter, "Runs within this of each other's budget are of one");
  sub.option("--hold-out-above", o->hold_out,
             "Runs above this budget are predicted from the others; a tenth of the largest if not given");
  sub.group("");
  o->source.add_to(sub, "--runs");
}

}  // namespace floplan::cli
