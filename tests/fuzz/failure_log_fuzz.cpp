// SPDX-License-Identifier: BSD-3-Clause
//
// Failure logs of any bytes under any options: the first two bytes choose them, the rest is the file. tests/fuzz/sound.hpp
// has the commands; the corpus is tests/fuzz/corpus/failures.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "floplan/reliability/failure_log_reader.hpp"
#include "floplan/reliability/failure_study.hpp"
#include "fuzz/sound.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace floplan;
  using namespace floplan::reliability;
  if (size < 2) return 0;
  const unsigned choice = data[0];
  LogOptions options;
  if ((choice & 1) != 0) options.accelerators = Count(64);
  if ((choice & 2) != 0) options.nodes = Count(8);
  if ((choice & 4) != 0) options.window = days(30);
  if ((choice & 8) != 0) options.start = "2024-05-01T00:00:00Z";
  if ((choice & 16) != 0) options.clock.zone = TimeZone::fixed(7200, "+02:00");
  if ((choice & 32) != 0) options.format = static_cast<LogFormat>(data[1] % log_format_names.size());
  if ((choice & 64) != 0) options.end = "2024-06-01";
  const std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  try {
    StudyOptions study_options;
    study_options.project = {Count(100000)};
    const FailureStudy study = study_failures(read_failure_log(text, "fuzz.log", options), study_options);
    const Exposure& e = study.log.exposure;
    fuzz::require(std::isfinite(e.accelerator_hours) && e.accelerator_hours > 0, "exposure is positive and finite");
    fuzz::require(std::isfinite(e.node_days) && e.node_days > 0, "exposure in node-days too");
    const RatePosterior& r = study.per_node_day;
    fuzz::require(std::isfinite(r.value) && r.value >= 0, "the rate is finite");
    fuzz::require(r.interval.low >= 0 && r.interval.low <= r.interval.high && std::isfinite(r.interval.high),
                  "the interval is in order");
    double all = 0;
    for (const CategoryRate& c : study.by_category) all += c.counted.events;
    fuzz::require(all <= study.failures * (1 + 1e-12), "no failure is of two categories");
  } catch (const Error& error) {
    fuzz::require(error.failure() != Failure::internal && error.failure() != Failure::infeasible,
                  "errors are of data, usage or no answer");
  }
  return 0;
}
