// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/report/catalog_json.hpp"
#include "floplan/report/forecast_text.hpp"

namespace floplan::cli {
namespace {

// Lines of at most 100 characters, the second and further ones indented by 16.
std::string wrapped(const std::string& title, const std::string& text) {
  constexpr std::size_t indent = 16, width = 100;
  std::string out = title;
  out.resize(std::max(indent, title.size() + 1), ' ');
  std::size_t column = out.size();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (column > indent && column + 1 + length > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent && begin > 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, length);
    column += length;
    begin = end + 1;
  }
  return out + "\n";
}

Answer show(const Session& session, const std::string& name) {
  const law::AnyLaw law = fit::find_any_law(name, "law", session.catalog);
  const law::OutputInfo& output = law::info(law::output(law.form));
  std::vector<std::string> companions;
  for (const law::AnyLaw& other : catalog::any_laws(session.catalog)) {
    if (other.name.starts_with(law.name + "-")) companions.push_back(other.name);
  }
  Answer answer;
  answer.inputs = {{"law", law.name}};
  answer.result = report::to_json(law);
  answer.result["companions"] = companions;

  std::string coefficients, inputs, related;
  report::Table table({"law", "coefficient", "value"});
  for (const auto& [symbol, value] : law::coefficients_of(law.form)) {
    coefficients += (coefficients.empty() ? "" : ", ") + symbol + " = " + print_number(value, 10);
    table.add({law.name, symbol, {value, 10}});
  }
  for (const law::Input input : law::inputs(law.form))
    inputs += (inputs.empty() ? "" : "; ") + std::string(law::info(input).symbol) + " " + law::info(input).meaning;
  for (const std::string& companion : companions) related += (related.empty() ? "" : ", ") + companion;
  std::string ranges = law::range_text(law.range);
  if (ranges.size() > 3) ranges = ranges.substr(2, ranges.size() - 3);
  for (const law::InputRange& other : law.range.others) {
    ranges += (ranges.empty() ? "" : ", ") + std::string(law::info(other.input).symbol) +
              (other.low ? " from " + print_number(*other.low, 6) : "") +
              (other.high ? " to " + print_number(*other.high, 6) : "");
  }
  const bool loss = law::is_loss(law::output(law.form));
  answer.text =
      law.title + "\n" + wrapped("formula", std::string(output.symbol) + " = " + law::formula_of(law.form)) +
      wrapped("gives", output.meaning + (loss ? " in " + law.loss_unit : std::string())) + wrapped("from", inputs) +
      wrapped("with", coefficients) +
      wrapped("counts", law::to_text(law.parameter_convention) + " parameters, " + law::to_text(law.flop_convention) +
                            " FLOP a token" + (law.rounded ? "; coefficients are rounded" : "")) +
      wrapped("fitted on", ranges.empty() ? "a range that is not known" : ranges);
  if (!law.trust.empty()) answer.text += wrapped("trust it", law.trust);
  if (!law.provenance.note.empty()) answer.text += wrapped("note", law.provenance.note);
  answer.text +=
      wrapped("source", law.provenance.source + (law.provenance.verified ? "" : "; not confirmed by a second source"));
  if (!related.empty()) answer.text += wrapped("see also", related);
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_law(Program& program) {
  const auto name = std::make_shared<std::string>();
  Subcommand sub =
      program.add("law show", "Its formula, coefficients, conventions, range, source, and when to trust it",
                  [name](const Session& s) { return show(s, *name); });
  sub.positional("law", *name, "A law of the catalog (see: floplan catalog laws), or a FIT.json");
}

}  // namespace floplan::cli
