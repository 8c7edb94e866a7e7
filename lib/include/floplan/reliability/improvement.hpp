// SPDX-License-Identifier: BSD-3-Clause
//
// What each improvement is worth: days and accelerator-hours of one run, one change at a time.
//
//   for (const Improvement& i : improvements(useful, process, count, options)) i.name, i.days_saved, i.hours_saved
//
//   restart a minute shorter (every class), waits half as long, twice the store's bandwidth (half the storage stall and
//   persistence), a memory tier where there is none, no manual stops, a spare more (where spares are given)
//
// Each run is the closed form at its own best checkpoints, before and after, so that a gain is not that of an interval
// which was badly chosen; `interval only` is the gain of choosing it well. Dollars are hours_saved times a price.
// Source: closed_form.hpp, best_checkpoints.hpp. Cost: some 30 ms with two tiers.
// Holds: where a closed form does. Pitfall: gains do not add up; two of them together are worth less than their sum.
#pragma once

#include <string>
#include <vector>

#include "floplan/reliability/best_checkpoints.hpp"

namespace floplan::reliability {

// A memory tier that a run does not have yet.
struct MemoryTier {
  double share = 0.9;  // of the automatic failures, what it mends
  Seconds stall = Seconds(0.3);
  Recovery recovery{TimeLaw::fixed(Seconds(60)), TimeLaw::fixed(Seconds(120))};
};

struct ImprovementOptions {
  Seconds restart_less = Seconds(60);
  MemoryTier memory_tier{};
};

struct Improvement {
  std::string name;
  RunProcess process;
  Seconds wall_clock;
  double ettr = 0;
  double days_saved = 0;   // against the run as it is, at its best checkpoints
  double hours_saved = 0;  // accelerator-hours
};

namespace detail {
[[nodiscard]] inline TimeLaw shorter(const TimeLaw& law, double seconds) {
  return law.mean() > 0 ? law.times(std::max(0.0, law.mean() - seconds) / law.mean()) : law;
}
[[nodiscard]] inline RunProcess at_best(RunProcess p) {
  p.checkpoints = best_checkpoints(p).tiers;
  return p;
}
}  // namespace detail

[[nodiscard]] inline std::vector<Improvement> improvements(Seconds useful, const RunProcess& process,
                                                           Count accelerators, const ImprovementOptions& options = {}) {
  detail::require_positive(accelerators.value, "improvements", "accelerators", print(accelerators));
  const RunProcess base = detail::at_best(process);
  const Seconds before = closed_form(useful, base).completion.wall_clock;
  std::vector<Improvement> out;
  const auto add = [&](const char* name, const RunProcess& p, const Seconds from) {
    const Completion c = closed_form(useful, p).completion;
    const Seconds saved = from - c.wall_clock;
    out.push_back({name, p, c.wall_clock, c.ettr, in_days(saved), in_hours(saved) * accelerators.value});
  };
  add("interval only", base, closed_form(useful, process).completion.wall_clock);
  const auto change = [&](const char* name, const auto& edit) {
    RunProcess p = base;
    edit(p);
    add(name, detail::at_best(p), before);
  };
  change("restart shorter", [&](RunProcess& p) {
    for (TimeLaw* r : {&p.memory.restart, &p.storage.restart}) *r = detail::shorter(*r, options.restart_less.value);
  });
  change("waits halved", [](RunProcess& p) {
    for (TimeLaw* w : {&p.memory.wait, &p.storage.wait}) *w = w->times(0.5);
  });
  change("store twice as fast", [](RunProcess& p) {
    p.checkpoints.storage_stall = p.checkpoints.storage_stall * 0.5;
    p.checkpoints.persist = p.checkpoints.persist * 0.5;
  });
  if (base.share_of_memory() == 0 && base.checkpoints.persist.value == 0) {
    change("memory tier", [&](RunProcess& p) {
      p.memory_share = options.memory_tier.share;
      p.memory = options.memory_tier.recovery;
      p.checkpoints.memory_stall = options.memory_tier.stall;
    });
  }
  if (base.manual_share > 0) {
    change("no manual stops", [](RunProcess& p) { p.manual_share = 0; });
  }
  if (base.spares) {
    change("one more spare", [](RunProcess& p) { ++p.spares->count; });
  }
  return out;
}

}  // namespace floplan::reliability
