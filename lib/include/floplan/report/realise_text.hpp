// SPDX-License-Identifier: BSD-3-Clause
//
// Proposed shapes for a number of parameters, as a table, as sentences and as JSON.
//
//   std::cout << realise_text(report);      Table t = realise_table(report);      Json j = realise_json(report);
//
// JSON: proposals, best first, each with the keys of a shape (model_json.hpp), parameters, relative_gap, aspect, ffn_ratio,
// pipeline_slots, why, and warnings; examined, the number of shapes that were looked at.
//
// Pitfall: a proposal comes near a count; which of them learns best is not asked here.
#pragma once

#include <string>
#include <utility>

#include "floplan/architecture/realise.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/model_json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

[[nodiscard]] inline Table realise_table(const architecture::RealiseReport& r) {
  const bool experts = r.request.given.experts.has_value();
  Table table({"parameters", "active", "gap (%)", "layers", "width", "heads", "kv heads",
               experts ? "expert width" : "ffn width", "width / layers", "ffn / width", "vocabulary"});
  for (const architecture::Realised& p : r.proposals) {
    const auto whole = [](std::int64_t n) { return Cell(static_cast<double>(n), 12); };
    table.add({{p.count.total.value, 15},
               {p.count.active.value, 15},
               {100 * p.relative_gap, 3},
               whole(p.shape.layers),
               whole(p.shape.width),
               whole(p.shape.heads),
               p.shape.latent ? Cell() : whole(p.shape.kv_heads),
               whole(experts ? p.shape.experts->width : p.shape.ffn_width),
               {p.aspect, 4},
               {p.ffn_ratio, 4},
               whole(p.shape.vocabulary)});
  }
  return table;
}

[[nodiscard]] inline std::string realise_text(const architecture::RealiseReport& r) {
  std::string out = "Shapes of about " + print_short(r.request.target) + " parameters, " +
                    std::to_string(r.proposals.size()) + " of " + print_number(static_cast<double>(r.examined), 9) +
                    " that were examined\n\n" + realise_table(r).text() + "\nThe first: " + r.proposals[0].why + "\n";
  return out;
}

[[nodiscard]] inline Json realise_json(const architecture::RealiseReport& r) {
  Json proposals = Json::array();
  for (const architecture::Realised& p : r.proposals) {
    Json one = {{"parameters", to_json(p.count)}, {"relative_gap", p.relative_gap}, {"aspect", p.aspect},
                {"ffn_ratio", p.ffn_ratio},       {"pipeline_slots", p.slots},      {"why", p.why},
                {"warnings", to_json(p.warnings)}};
    one.update(shape_json(p.shape));
    proposals.push_back(std::move(one));
  }
  return {{"target", count_json(r.request.target)}, {"proposals", std::move(proposals)}, {"examined", r.examined}};
}

}  // namespace floplan::report
