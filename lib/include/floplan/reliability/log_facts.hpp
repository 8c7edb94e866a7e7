// SPDX-License-Identifier: BSD-3-Clause
//
// What a user knows of a failure log and the log does not say, by name: its format, its window, what was watched, the zone.
//
//   LogOptions options;
//   give(options, "window", "54d", "--window");          --window stands for the fact in errors
//   for (std::string_view fact : log_facts) ...          every name
//
//   format        list, counts, trace, jobs, goodput or training      start, end    times, as the log writes them
//   accelerators, nodes, per_node    what was watched                 window        a time, in place of one of them
//   timezone      of times that name none                             repeated_hour earlier or later
//
// Where options contradict the log its reader refuses them by the name of an option of `reliability fit`; in_words_of() says
// the same in the words of another place, such as a plan's file.
// Source: failure_log_reader.hpp. Pitfall: a zone is looked up in the machine's database of zones (time_zone_file.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/reliability/time_zone_file.hpp"

namespace floplan::reliability {

inline constexpr std::array<std::string_view, 9> log_facts = {
    "format", "accelerators", "nodes", "per_node", "start", "end", "window", "timezone", "repeated_hour"};

// where: what an error calls it.
inline void give(LogOptions& options, std::string_view fact, std::string_view text, std::string_view where) {
  const auto refuse = [&](const std::string& rule) {
    return Error(Failure::usage, "unknown_name", std::string(where), rule + ", got \"" + shown(text) + "\"");
  };
  if (fact == "format") {
    const auto found = std::find(log_format_names.begin(), log_format_names.end(), text);
    if (found == log_format_names.end()) throw refuse("must be list, counts, trace, jobs, goodput or training");
    options.format = static_cast<LogFormat>(found - log_format_names.begin());
  } else if (fact == "accelerators" || fact == "nodes" || fact == "per_node") {
    const Count count = parse<Count>(text, where);
    if (!(count.value >= 1 && count.value <= 1e9 && count.value == std::floor(count.value)))
      throw Error(Failure::usage, "out_of_range", std::string(where),
                  "must be a whole number from 1 to 1e9, got " + print(count));
    (fact == "accelerators" ? options.accelerators
     : fact == "nodes"      ? options.nodes
                            : options.accelerators_per_node) = count;
  } else if (fact == "start") {
    options.start = std::string(text);
  } else if (fact == "end") {
    options.end = std::string(text);
  } else if (fact == "window") {
    const Seconds window = parse<Seconds>(text, where);
    if (!(window >= Seconds(1e-3) && window <= days(36500)))
      throw Error(Failure::usage, "out_of_range", std::string(where),
                  "must be from 1 ms to 36500 d, got " + print(window));
    options.window = window;
  } else if (fact == "timezone") {
    options.clock.zone = find_time_zone(text, where);
  } else if (fact == "repeated_hour") {
    if (text != "earlier" && text != "later") throw refuse("must be earlier or later");
    options.clock.repeated = text == "earlier" ? RepeatedHour::earlier : RepeatedHour::later;
  } else {
    throw Error(Failure::internal, "unknown_fact", std::string(where), "is no fact of a log");
  }
}

// Options of `reliability fit` in a text (--per-node) as another place writes the facts: prefix + per_node.
[[nodiscard]] inline std::string in_words_of(std::string text, std::string_view prefix) {
  for (const std::string_view fact : log_facts) {
    std::string option = "--" + std::string(fact);
    std::replace(option.begin(), option.end(), '_', '-');
    const std::string name = std::string(prefix) + std::string(fact);
    for (std::size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + name.size()))
      text.replace(at, option.size(), name);
  }
  return text;
}

}  // namespace floplan::reliability
