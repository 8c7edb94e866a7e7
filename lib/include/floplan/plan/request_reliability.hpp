// SPDX-License-Identifier: BSD-3-Clause
//
// Reads what stops a plan's run: [reliability], how often and for how long, and [checkpoint], what is lost.
//
//   read_reliability(top, catalog, folder, request, assumed);      read_checkpoint(top, request, assumed);
//
//   the rate of failures   rate_from, rate_per_node_day, or mtbf with mtbf_count: one of them
//   rate_from              a record of the catalog, a failure log (its facts under [reliability.log]), or the RATE.json that
//                          `reliability fit` made of one; a file lies relative to the plan
//   the times              restart, wait; manual_wait for manual_per_day of them; planned_duration for planned_per_day
//   [checkpoint]           stall, interval; [checkpoint.memory] is a second, cheaper tier: stall, share, restart, wait, interval
//
// An option is the later word: a rate by an option replaces the file's by another key. Defaults stand in request.hpp, and each
// that is used is named.
// Source: data/plans/README.md, which describes every key and its default.
// Pitfall: what is not given is none of it (no planned stops, no waits), and said: a plan without stops is too good.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/file.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_document.hpp"
#include "floplan/plan/request_values.hpp"
#include "floplan/reliability/failure_log_reader.hpp"
#include "floplan/reliability/failure_study.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/log_facts.hpp"
#include "floplan/reliability/rate_file.hpp"

namespace floplan::plan::detail {

inline void take_rate(const catalog::InterruptionWindow& window, Count per_node, Request& r) {
  Reliability& out = r.reliability;
  const Count node = window.accelerators_per_node.value_or(per_node);
  out.rate = window.rate_per_node_day ? reliability::rate_from_node_days(*window.rate_per_node_day, node)
                                      : reliability::rate_from_events(window.unexpected.value_or(0),
                                                                      *window.accelerators, *window.duration, node);
  out.observed_on = window.accelerators;
  out.rate_source = window.name;
  if (window.accelerator != r.accelerator.name) {
    r.assumptions.push_back({"rate_of_another_accelerator", "the failure rate was counted on " + window.accelerator +
                                                                " and is used for " + r.accelerator.name});
  }
  remark_unverified(r, "unverified_rate", window.name, window.provenance);
}

// A record of the catalog has neither a dot nor a slash in its name.
[[nodiscard]] inline bool names_log_file(std::string_view rate_from) {
  return rate_from.find_first_of("./\\") != std::string_view::npos;
}

// What the user knows of the log, under [reliability.log].
[[nodiscard]] inline reliability::LogOptions read_log_facts(const Section& s) {
  reliability::LogOptions out;
  for (const std::string_view fact : reliability::log_facts) {
    const auto value = s.value(fact);
    if (!value) continue;
    (void)named(*value, [&](auto text, auto where) {
      reliability::give(out, fact, text, where);
      return true;
    });
  }
  return out;
}

// A failure log of the user's, or the RATE.json that was made of one: the causes that scale and the run's own apart, and the
// uncertainty that it has at the size of the largest stage.
inline void take_log(const Value& from, const std::filesystem::path& folder, const Section& facts,
                     const reliability::LogOptions& options, Request& r) {
  const bool of_option = from.failure == Failure::usage;
  const std::filesystem::path path = (of_option ? std::filesystem::path() : folder) / std::filesystem::path(from.text);
  const std::string name = path.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw from.refuse("must be a record of the catalog, a failure log or a RATE.json, and there is no file " +
                      shown(name, 200));
  }
  Count most(1);
  for (const Stage& stage : r.stages) most = std::max(most, stage.accelerators);
  const std::string text = read_text_file(path);
  Reliability& out = r.reliability;
  out.rate_source = from.text;
  if (reliability::is_rate_file(text)) {
    const reliability::RateFile file = reliability::read_rate_file(text, name);
    out.rate = file.rate(most);
    out.observed_on = file.observed_on;
    if (facts.present())
      r.assumptions.push_back({"log_facts_unused", "the facts under reliability.log are of a log, and " + name +
                                                       " is the rate that was made of one"});
    return;
  }
  const auto words = [](const std::string& said) { return reliability::in_words_of(said, "reliability.log."); };
  try {
    reliability::StudyOptions sizes;
    sizes.project = {most};
    const reliability::FailureStudy study =
        reliability::study_failures(reliability::read_failure_log(text, name, options), sizes);
    out.rate = study.rate(most);
    for (const Warning& w : study.warnings) r.assumptions.push_back({w.code, name + ": " + words(w.message)});
  } catch (const Error& e) {
    if (e.failure() != Failure::usage) throw Error(e.failure(), e.code(), e.where(), words(rule_of(e)));
    // A fact that is missing, or that contradicts the log: at the fact where it was given.
    const std::string where = words(e.where());
    const std::string fact = where.substr(where.rfind('.') + 1);
    const auto given = facts.place_of(fact);
    if (Error mistyped = facts.missing(fact, "this fact"); !given && mistyped.code() == "unknown_key") throw mistyped;
    throw Error(given ? given->failure : from.failure, e.code(), given ? given->where : from.where,
                name + ": " + words(rule_of(e)));
  }
}

inline void read_rate(const Section& s, const catalog::Catalog& catalog, const std::filesystem::path& folder,
                      Request& r, Assumed& assumed) {
  Reliability& out = r.reliability;
  const Count per_node = r.accelerator.accelerators_per_node.value_or(Count(8));
  const auto from = s.value("rate_from");
  const auto rate = s.number("rate_per_node_day");
  const auto mtbf = s.quantity<Seconds>("mtbf");
  const auto mtbf_count = s.quantity<Count>("mtbf_count");
  const Section facts = s.section("log");
  const reliability::LogOptions options = read_log_facts(facts);
  if (mtbf_count && !mtbf)
    throw s.value("mtbf_count")->refuse("is the size of the job that an mtbf was observed on: needs mtbf beside it");
  if (mtbf_count && mtbf_count->value < 1)
    throw s.value("mtbf_count")->refuse("must be at least 1, got " + print(*mtbf_count));
  // The last word among the three is an option's; two from the same place contradict each other.
  const auto rank = [&s](std::string_view key) {
    const auto value = s.value(key);
    return !value ? 0 : value->failure == Failure::usage ? 2 : 1;
  };
  const int best = std::max({rank("rate_from"), rank("rate_per_node_day"), rank("mtbf")});
  std::optional<Value> given;
  for (const char* key : {"rate_from", "rate_per_node_day", "mtbf"}) {
    if (best == 0 || rank(key) != best) continue;
    if (given)
      throw s.value(key)->refuse("contradicts " + given->where +
                                 ": a rate of failures is given once: rate_from, rate_per_node_day or mtbf");
    given = s.value(key);
  }
  const auto guarded = [&](const char* key, auto make) {
    return s.value(key)->as([&](std::string_view, std::string_view) { return make(); });
  };
  if (best > 0 && rank("mtbf") == best) {
    if (!mtbf_count)
      throw s.value("mtbf")->refuse("needs mtbf_count beside it: the accelerators of the job that it was observed on");
    out.rate = guarded("mtbf", [&] { return reliability::rate_from_mtbf(*mtbf, *mtbf_count, per_node); });
    out.observed_on = mtbf_count;
    out.rate_source = "MTBF of " + print(*mtbf, 3) + " on " + print_short(*mtbf_count);
  } else if (best > 0 && rank("rate_per_node_day") == best) {
    out.rate = guarded("rate_per_node_day", [&] { return reliability::rate_from_node_days(*rate, per_node); });
    out.rate_source = print_number(*rate, 4) + " a node-day";
  } else if (from && names_log_file(from->text)) {
    take_log(*from, folder, facts, options, r);
    return;
  } else {
    const catalog::InterruptionWindow window =
        from ? named(*from, [&catalog](auto text, auto where) { return catalog.interruption_window(text, where); })
             : catalog.interruption_window("llama3-2024");
    if (!from) assumed.failures.push_back("the failure rate of " + window.title + " (" + window.name + ")");
    take_rate(window, per_node, r);
  }
  if (facts.present())
    r.assumptions.push_back(
        {"log_facts_unused", "the facts under reliability.log are of a failure log, and rate_from names none"});
}

// By the kind of team or by a mean share of stops: an option's word replaces the file's, two from one place contradict.
inline void read_unexplained(const Section& s, Reliability& out) {
  const auto team = s.value("team");
  const auto stops = s.quantity<Fraction>("unexplained_stops");
  const bool none = team && team->text == "none";
  if (team && !none) {
    out.team = named(*team, [](auto text, auto where) { return reliability::team_of(text, where); });
  }
  if (!stops) return;
  out.unexplained_stops = stops->value;
  if (!out.team || stops->value == 0) return;
  const auto by_option = [](const Value& v) { return v.failure == Failure::usage; };
  const Value share = *s.value("unexplained_stops");
  if (by_option(share) == by_option(*team))
    throw team->refuse("contradicts " + share.where +
                       ": what no failure rate explains is given once, by the kind of "
                       "team or by unexplained_stops");
  if (by_option(*team)) {
    out.unexplained_stops = 0;
  } else {
    out.team.reset();
  }
}

inline void read_reliability(const Section& top, const catalog::Catalog& catalog, const std::filesystem::path& folder,
                             Request& r, Assumed& assumed) {
  const Section s = top.section("reliability");
  Reliability& out = r.reliability;
  read_rate(s, catalog, folder, r, assumed);
  if (const auto restart = s.range<Seconds>("restart")) {
    out.restart = *restart;
  } else {
    out.restart = Uncertain<Seconds>::range(defaults::restart_low, defaults::restart_high);
    assumed.failures.push_back("a restart of 5 to 10 min");
  }
  // What is not given is none of it, and said: a plan without stops is too good to be left unremarked.
  const auto or_none = [&assumed](const auto& value, const char* none) {
    if (!value) assumed.failures.push_back(none);
  };
  const auto wait = s.range<Seconds>("wait");
  const auto manual = s.number("manual_per_day");
  const auto manual_wait = s.quantity<Seconds>("manual_wait");
  const auto planned = s.number("planned_per_day");
  const auto duration = s.quantity<Seconds>("planned_duration");
  or_none(wait, "no wait before it");
  or_none(manual, "no failure that waits for a person");
  if (manual.value_or(0) > 0) or_none(manual_wait, "a person who comes at once");
  or_none(planned, "no planned stops");
  if (planned.value_or(0) > 0) or_none(duration, "planned stops that take no time");
  out.wait = wait.value_or(Seconds(0));
  out.manual_per_day = manual.value_or(0);
  out.manual_wait = manual_wait.value_or(Seconds(0));
  out.planned_per_day = planned.value_or(0);
  out.planned_duration = duration.value_or(Seconds(0));
  read_unexplained(s, out);
}

inline void read_memory_tier(const Section& s, Request& r, Assumed& assumed) {
  const auto stall = s.range<Seconds>("stall");
  const auto share = s.quantity<Fraction>("share");
  const auto restart = s.range<Seconds>("restart");
  const auto wait = s.range<Seconds>("wait");
  const auto interval = s.value("interval");
  if (!s.present()) return;
  if (!stall) {
    const std::string rule = "what a checkpoint to memory stops the job for: checkpoint.memory.stall, as \"0.3s\"";
    for (const char* key : {"share", "restart", "wait", "interval"}) {
      if (const auto given = s.values(key); !given.empty()) throw given.front().refuse("needs " + rule);
    }
    throw s.missing("stall", rule);
  }
  MemoryCheckpoint out;
  out.stall = *stall;
  if (!share) {
    assumed.failures.push_back("memory that mends " + print_number(100 * out.share.value, 3) +
                               "% of the failures handled automatically");
  }
  out.share = share.value_or(out.share);
  if (!restart) assumed.failures.push_back("a restart from memory as long as from the store");
  out.restart = restart.value_or(r.reliability.restart);
  out.wait = wait.value_or(r.reliability.wait);
  if (interval && interval->text != "auto") out.interval = s.quantity<Seconds>("interval");
  r.checkpoint.memory = out;
}

inline void read_checkpoint(const Section& top, Request& r, Assumed& assumed) {
  const Section s = top.section("checkpoint");
  if (const auto stall = s.range<Seconds>("stall")) {
    r.checkpoint.stall = *stall;
  } else {
    r.checkpoint.stall = defaults::stall;
    assumed.failures.push_back("a checkpoint that stalls the job 30 s");
  }
  const auto interval = s.value("interval");
  if (interval && interval->text != "auto") r.checkpoint.interval = s.quantity<Seconds>("interval");
  read_memory_tier(s.section("memory"), r, assumed);
}

}  // namespace floplan::plan::detail
