// SPDX-License-Identifier: BSD-3-Clause
//
// What the runs of one budget say about its best N and D, and whether they say anything.
//
//   parabola  vertex of the parabola of L (or ln L) in ln x                        (Hoffmann 2022, approach 2)
//   lowest    the run with the lowest loss                  (approach 1 on final losses: nothing is interpolated)
//   akima     lowest point of Akima's curve of ln L against ln x; with a noise sd, the median of its lowest points over
//             losses drawn again, and the sd of their logarithms                                   (Porian 2024)
//
//   x is N, and again D: each has a curve of its own, and N* D* = C / 6 holds only as far as the rows' C = 6 N D does
//
// interior  the minimum is bracketed: runs with a higher loss on either side, and a curve that differs from a flat one
// edge      the lowest loss is at an end of the range, or the curve's minimum beyond it; N* is then known as a bound
// concave   the parabola opens downwards (akima, lowest: one through the runs, which are higher between than at the ends)
// flat      the curve spans less than twice the noise, or its curvature does not differ from zero
// too_few   fewer different sizes than asked for
//
// Pitfall: a minimum at the edge looks like any other number in a table, and bends the power law; look at the status.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/estimator.hpp"
#include "floplan/fit/isoflop_power_law.hpp"
#include "floplan/fit/isoflop_runs.hpp"

namespace floplan::fit {

enum class IsoflopMethod { parabola, lowest, akima, surface };
enum class ProfileStatus { interior, edge, concave, flat, too_few };

[[nodiscard]] inline std::string to_text(IsoflopMethod method) {
  switch (method) {
    case IsoflopMethod::lowest: return "lowest";
    case IsoflopMethod::akima: return "akima";
    case IsoflopMethod::surface: return "surface";
    case IsoflopMethod::parabola: break;
  }
  return "parabola";
}
[[nodiscard]] inline std::string to_text(ProfileStatus status) {
  switch (status) {
    case ProfileStatus::edge: return "edge";
    case ProfileStatus::concave: return "concave";
    case ProfileStatus::flat: return "flat";
    case ProfileStatus::too_few: return "too_few";
    case ProfileStatus::interior: break;
  }
  return "interior";
}

struct IsoflopOptions {
  IsoflopMethod method = IsoflopMethod::parabola;
  // The curve is of L (raw) or of ln L (log); unset: raw for the parabola, log for akima.
  std::optional<Residual> scale = std::nullopt;
  // Only interior profiles enter the power law. Without it every profile whose curve has a minimum does, as in the
  // published analyses.
  bool quality_control = true;
  std::size_t fewest_sizes = 4;      // a parabola through three points leaves nothing to judge it by
  std::size_t fewest_each_side = 1;  // higher runs that an interior minimum needs on either side
  double same_size = 1e-3;           // sizes closer than this (relative) are one
  double level = 0.9;
  double noise_sd = 0;           // of a loss, in its own unit, from repeated runs; 0: not known
  std::size_t resamples = 1000;  // of the noise (akima with a noise sd)
  std::uint64_t seed = 1;
  std::size_t grid_per_interval = 0;  // akima: search on this many points an interval; 0: the exact minimum
  bool weighted = false;              // power law weighted by 1 / (sd of ln x*)^2
  double smallest_spacing = 0.33;     // that sd is at least this share of the mean spacing of ln x (akima)
};

// N* is at most, or at least, this.
struct ProfileBound {
  bool at_most = true;
  double parameters = 0;
  double tokens = 0;  // the other way round: at least where N* is at most
};

struct Profile {
  double flop = 0;
  std::size_t points = 0;                                            // distinct runs
  std::size_t sizes = 0;                                             // different N
  double parameters_opt = std::numeric_limits<double>::quiet_NaN();  // nan where quality control refuses it
  double tokens_opt = std::numeric_limits<double>::quiet_NaN();
  double loss_min = std::numeric_limits<double>::quiet_NaN();
  std::optional<Interval> parameters_interval, tokens_interval;
  double parameters_log_sd = std::numeric_limits<double>::quiet_NaN();  // standard error of ln N*
  double tokens_log_sd = std::numeric_limits<double>::quiet_NaN();
  double residual_sd = std::numeric_limits<double>::quiet_NaN();  // about the parabola, in units of its scale
  double interior_share = 1;                                      // of the noise resamples (akima)
  std::vector<double> parameters_draws, tokens_draws;             // their ln N* and ln D*; nan where there is none
  std::optional<ProfileBound> bound;                              // edge only
  double lowest_size = 0, highest_size = 0;                       // sampled N
  std::size_t runs_below = 0, runs_above = 0;                     // higher runs on either side of the minimum
  ProfileStatus status = ProfileStatus::too_few;
  std::string reason;  // empty when interior
  bool used = false;   // in the power law

  // "1e21 FLOP: 12 runs, N* 3.05B (2.95B to 3.16B at 90%), D* 54.6B, loss 0.736, interior"
  [[nodiscard]] std::string describe() const {
    std::string out = print(Flop(flop), 3) + " FLOP: " + std::to_string(points) + " runs, ";
    if (parameters_opt > 0) {
      out += "N* " + print(Parameters(parameters_opt), 3);
      if (parameters_interval) {
        out += " (" + print(Parameters(parameters_interval->low), 3) + " to " +
               print(Parameters(parameters_interval->high), 3) + " at " +
               print_number(100 * parameters_interval->level, 4) + "%)";
      }
      out += ", D* " + print(Tokens(tokens_opt), 3) + ", loss " + print_number(loss_min, 4) + ", ";
    } else if (bound) {
      out += std::string("N* at ") + (bound->at_most ? "most " : "least ") + print(Parameters(bound->parameters), 3) +
             ", ";
    }
    out += to_text(status);
    return reason.empty() ? out : out + ": " + reason;
  }
};

namespace detail {

inline void check_isoflop_options(const IsoflopOptions& options) {
  check_level(options.level, "isoflop");
  const auto refuse = [](const std::string& rule) { throw Error(Failure::usage, "out_of_range", "isoflop", rule); };
  if (options.fewest_sizes < 3) {
    refuse("fewest_sizes must be at least 3, got " + std::to_string(options.fewest_sizes));
  }
  if (!(options.noise_sd >= 0 && std::isfinite(options.noise_sd))) {
    refuse("the noise must be zero or positive, and finite, got " + print_number(options.noise_sd, 6));
  }
  if (!(options.same_size >= 0 && options.same_size < 1)) {
    refuse("same_size must be at least 0 and below 1, got " + print_number(options.same_size, 6));
  }
  if (!(options.smallest_spacing >= 0 && std::isfinite(options.smallest_spacing))) {
    refuse("smallest_spacing must be zero or positive, and finite, got " + print_number(options.smallest_spacing, 6));
  }
  if (options.method == IsoflopMethod::surface) {
    refuse("the surface's optimum needs a law: isoflop_surface(law, budgets)");
  }
  if (options.weighted && options.method == IsoflopMethod::lowest) {
    refuse("the lowest run has no standard error to weight by");
  }
  if (options.weighted && options.method == IsoflopMethod::akima && !(options.noise_sd > 0)) {
    refuse("weights of akima's minima need a noise sd");
  }
}

}  // namespace detail

}  // namespace floplan::fit
