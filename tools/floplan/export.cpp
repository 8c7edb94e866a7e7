// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>

#include "command.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/names.hpp"
#include "floplan/report/figures.hpp"
#include "plan_source.hpp"

namespace floplan::cli {
namespace {

struct Options {
  std::string figure;
  std::string folder;
  PlanOptions source;
};

Answer list() {
  Answer answer;
  report::Table table({"figure", "column", "meaning"});
  report::Json figures = report::Json::array();
  for (const report::Figure& figure : report::figures()) {
    answer.text += figure.name + "\n    " + figure.title + "\n";
    report::Json columns = report::Json::array();
    for (const report::FigureColumn& c : figure.columns) {
      columns.push_back({{"name", c.name}, {"meaning", c.meaning}});
      table.add({figure.name, c.name, c.meaning});
    }
    figures.push_back({{"name", figure.name}, {"title", figure.title}, {"columns", std::move(columns)}});
  }
  answer.result = {{"figures", std::move(figures)}};
  answer.table = std::move(table);
  return answer;
}

Answer write(const Session& session, const Options& o) {
  if (o.figure == "list") return list();
  const std::vector<report::Figure> all = report::figures();
  std::vector<const report::Figure*> wanted;
  std::vector<std::string> names;
  for (const report::Figure& figure : all) {
    if (o.figure == "all" || o.figure == figure.name) wanted.push_back(&figure);
    names.push_back(figure.name);
  }
  if (wanted.empty()) {
    throw Error(Failure::usage, "unknown_name", "export",
                "must be a figure, all or list, got \"" + o.figure + "\"" + nearest_names_text(o.figure, names));
  }
  if (o.folder.empty()) throw Error(Failure::usage, "missing_option", "--out", "needs the folder to write to");
  PlanOptions source = o.source;
  if (!source.file) source.file = "llama3_405b";
  const report::FigureContext context{session.catalog, source.read(session.catalog)};
  std::error_code error;
  std::filesystem::create_directories(o.folder, error);
  if (error) throw Error(Failure::data, "unwritable_file", o.folder, "cannot be made: " + error.message());
  Answer answer;
  answer.inputs = {{"figure", o.figure}, {"plan", *source.file}, {"out", o.folder}};
  report::Json files = report::Json::array();
  report::Table table({"figure", "file", "rows"});
  for (const report::Figure* figure : wanted) {
    const report::Table data = figure->make(context);
    const std::filesystem::path path = std::filesystem::path(o.folder) / (figure->name + ".csv");
    write_text_file(path, data.csv());
    files.push_back({{"figure", figure->name}, {"path", path.string()}, {"rows", data.size()}});
    table.add({figure->name, path.string(), {static_cast<double>(data.size()), 6}});
  }
  answer.result = {{"files", std::move(files)}};
  answer.text = table.text();
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_export(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add(
      "export", "The data behind figures, as tidy CSV with documented columns",
      [o](const Session& s) { return write(s, *o); }, Program::Out::folder);
  sub.positional("figure", o->figure, "A figure, all, or list (with --json or --csv: every column's meaning)");
  sub.option("--out", o->folder, "The folder to write to");
  o->source.add_to(sub);
}

}  // namespace floplan::cli
