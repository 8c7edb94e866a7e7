// SPDX-License-Identifier: BSD-3-Clause
//
// Reading a plan request from TOML, with overrides, by the names of a catalog.
//
//   Request r = read_request(text, "llama3_405b.toml", {{"stage[*].count", "100000", "--count"}}, catalog);
//
// Fields: title, model or parameters, tokens or target_loss, law (a name, or a FIT.json beside the plan), attention, accelerator,
// precision, peak, achieved_spread, deadline, draws, seed; [[stage]] name, tokens, count, sequence_length, global_batch,
// achieved or mfu, layout ("search", or {tp, cp, pp, dp, ep, vp, microbatch, sharding, recompute}); [stack] the software's facts
// (cluster/stack_words.hpp), or a publisher's by name; efficiencies and [machine] the cluster, where the catalog is not
// right; [reliability] rate_from (a record, a failure log with its facts under `log`, or a RATE.json) or rate_per_node_day or
// mtbf with mtbf_count, restart, wait, manual_per_day, manual_wait, planned_per_day, planned_duration, team or
// unexplained_stops; [checkpoint] stall, interval, memory (stall, share, restart, wait, interval); [price] accelerator_hour;
// [power] accelerator, node, pue, carbon, basis. data/plans/README.md has the unit, default and meaning of each.
//
// What a request leaves out and a plan cannot do without is filled in and named in Request::assumptions.
// Pitfall: an override that contradicts the file (--params beside a model, --count beside a layout) wins, and says so.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/plan/planner_checks.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_document.hpp"
#include "floplan/plan/request_reader.hpp"
#include "floplan/plan/tokens_to_loss.hpp"

namespace floplan::plan {

struct Override {
  std::string path;  // as Document::set takes it
  std::string value;
  std::string origin;  // the option's name, for errors
};

// place: the file's name, for errors; empty where there is none, and overrides give the whole request.
[[nodiscard]] inline Request read_request(std::string_view text, const std::string& place,
                                          const std::vector<Override>& overrides, const catalog::Catalog& catalog) {
  Document document(text, place);
  for (const Override& o : overrides) document.set(o.path, o.value, o.origin);
  Request request = detail::RequestReader(document, catalog, std::filesystem::path(place).parent_path()).read();
  document.refuse_unknown_keys();
  if (request.target_loss) {
    const Value target = *document.root().value("target_loss");
    try {
      fit_stages_to_loss(request);
    } catch (const Error& error) {
      const std::string rule = std::string(error.what()).substr(error.where().size() + 2);
      throw Error(error.failure() == Failure::usage ? target.failure : error.failure(), error.code(), target.where,
                  rule);
    }
  }
  // make_plan() checks again; here a wrong value still has its place.
  const bool total_given = document.root().value("tokens").has_value();
  check(request, [&](std::string_view path) {
    return document.place(total_given && path.ends_with(".tokens") ? "tokens" : path);
  });
  return request;
}

}  // namespace floplan::plan
