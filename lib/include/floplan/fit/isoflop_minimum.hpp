// SPDX-License-Identifier: BSD-3-Clause
//
// The work behind a profile: its runs made ready, the minimum of the curve along N or along D, and the verdict.
//
// Runs are sorted by N (then D and loss) so that no result depends on the order of rows, exact repetitions of (N, D,
// loss) are one run with the sum of their weights, and sizes within `same_size` of the one before are one size. The
// parabola takes all runs; akima and lowest take the best run of each size, as an interpolation needs one value a size.
//
// A bound follows from one minimum alone: with falling losses on its left and rising ones on its right, N* lies below
// the run next above the lowest one, and above the run next below it.
//
// Noise: resample r of the profile with index p draws from RandomStream(seed, p 2^32 + r), one normal a run by the
// inverse of its distribution function, the same for N and D.
//
// Pitfall: statuses are decided on N; D differs from it only by the jitter of the rows' C. Weights count in the
// parabola and, where zero, leave a row out; akima and lowest have no use for others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/akima.hpp"
#include "floplan/fit/detail/normal.hpp"
#include "floplan/fit/isoflop_parabola.hpp"
#include "floplan/fit/isoflop_profile.hpp"

namespace floplan::fit::detail {

using IsoflopRows = std::vector<runs::Observation>;

struct ProfileRuns {
  IsoflopRows rows;  // sorted, distinct, of positive weight
  IsoflopRows best;  // the lowest of each size
};

[[nodiscard]] inline ProfileRuns prepare_profile(const BudgetRuns& budget, double same_size) {
  ProfileRuns out;
  for (std::size_t i = 0; i < budget.rows.size(); ++i) {
    check(budget.rows[i], i);
    if (budget.rows[i].weight > 0) out.rows.push_back(budget.rows[i]);
  }
  const auto key = [](const runs::Observation& o) { return std::tie(o.parameters, o.tokens, o.loss); };
  std::sort(out.rows.begin(), out.rows.end(), [&](const auto& a, const auto& b) {
    return std::tie(a.parameters, a.tokens, a.loss, a.weight) < std::tie(b.parameters, b.tokens, b.loss, b.weight);
  });
  IsoflopRows distinct;
  for (const runs::Observation& row : out.rows) {
    if (!distinct.empty() && key(distinct.back()) == key(row)) {
      distinct.back().weight += row.weight;
    } else {
      distinct.push_back(row);
    }
  }
  out.rows = std::move(distinct);
  double previous = 0;
  for (const runs::Observation& row : out.rows) {
    if (out.best.empty() || row.parameters > previous * (1 + same_size)) {
      out.best.push_back(row);
    } else if (row.loss < out.best.back().loss) {
      out.best.back() = row;
    }
    previous = row.parameters;
  }
  return out;
}

// The minimum of a profile's curve along one axis; x* and the interval are in logarithms.
struct AxisMinimum {
  bool found = false;
  bool inside = false;  // within the sampled range
  double log_x = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
  double log_sd = std::numeric_limits<double>::quiet_NaN();
  std::optional<Interval> interval;
  double rise = 0;  // of the curve, from its lowest to its highest point in the sampled range, in units of loss
  double interior_share = 1;
  std::vector<double> draws;  // x* of each resample of the noise; nan where it is not between the runs
  std::optional<Parabola> parabola;
};

[[nodiscard]] inline std::vector<double> log_axis(const IsoflopRows& rows, bool tokens) {
  std::vector<double> out;
  for (const runs::Observation& row : rows) out.push_back(std::log(tokens ? row.tokens : row.parameters));
  return out;
}

[[nodiscard]] inline AxisMinimum parabola_minimum(const ProfileRuns& runs, const IsoflopOptions& options, bool tokens) {
  AxisMinimum out;
  const bool log_scale = options.scale.value_or(Residual::raw) == Residual::log;
  const std::vector<double> x = log_axis(runs.rows, tokens);
  std::vector<double> y, weight;
  for (const runs::Observation& row : runs.rows) {
    y.push_back(log_scale ? std::log(row.loss) : row.loss);
    weight.push_back(row.weight);
  }
  if (x.empty()) return out;
  out.parabola = fit_parabola(x, y, weight, x.size());
  if (!out.parabola) return out;
  const Parabola& p = *out.parabola;
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const auto loss = [&](double at) { return log_scale ? std::exp(p(at)) : p(at); };
  const double vertex = p.vertex();
  const double lowest = p.c2 > 0 ? std::clamp(vertex, *low, *high) : (p(*low) < p(*high) ? *low : *high);
  const double highest = p.c2 < 0 ? std::clamp(vertex, *low, *high) : (p(*low) > p(*high) ? *low : *high);
  out.rise = loss(highest) - loss(lowest);
  // Beyond e^200 of either sign there are no models; the curvature is rounding.
  if (!(p.c2 > 0) || !(std::abs(vertex) < 200)) return out;
  out.found = true;
  out.inside = vertex > *low && vertex < *high;
  out.log_x = vertex;
  out.loss = loss(vertex);
  out.log_sd = p.vertex_error();
  out.interval = p.vertex_interval(options.level);
  return out;
}

[[nodiscard]] inline AxisMinimum lowest_minimum(const ProfileRuns& runs, bool tokens) {
  AxisMinimum out;
  if (runs.best.empty()) return out;
  const auto [low, high] = std::minmax_element(runs.best.begin(), runs.best.end(),
                                               [](const auto& a, const auto& b) { return a.loss < b.loss; });
  const std::vector<double> x = log_axis(runs.best, tokens);
  const auto [left, right] = std::minmax_element(x.begin(), x.end());
  out.found = true;
  out.log_x = std::log(tokens ? low->tokens : low->parameters);
  out.inside = out.log_x > *left && out.log_x < *right;
  out.loss = low->loss;
  out.rise = high->loss - low->loss;
  return out;
}

// Points along one axis in rising order of x, as akima needs them; fewer than two where x repeats throughout.
struct AkimaPoints {
  std::vector<double> x;
  std::vector<std::size_t> run;  // of ProfileRuns::best
};

[[nodiscard]] inline AkimaPoints akima_points(const IsoflopRows& best, bool tokens) {
  const std::vector<double> x = log_axis(best, tokens);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::tie(x[a], best[a].loss) < std::tie(x[b], best[b].loss); });
  AkimaPoints out;
  for (const std::size_t i : order) {
    if (!out.x.empty() && !(x[i] > out.x.back())) continue;
    out.x.push_back(x[i]);
    out.run.push_back(i);
  }
  return out;
}

[[nodiscard]] inline AxisMinimum akima_minimum(const ProfileRuns& runs, const IsoflopOptions& options, bool tokens,
                                               std::uint64_t index) {
  AxisMinimum out;
  const bool log_scale = options.scale.value_or(Residual::log) == Residual::log;
  const AkimaPoints points = akima_points(runs.best, tokens);
  const std::size_t n = points.x.size();
  if (n < 2) return out;
  const auto loss_of = [log_scale](double y) { return log_scale ? std::exp(y) : y; };
  const auto minimum = [&](const std::vector<double>& losses) {
    std::vector<double> y;
    for (const std::size_t i : points.run) y.push_back(log_scale ? std::log(losses[i]) : losses[i]);
    const Akima curve(points.x, std::move(y));
    return options.grid_per_interval > 0 ? curve.lowest_on_grid(options.grid_per_interval) : curve.lowest();
  };
  std::vector<double> losses;
  for (const runs::Observation& row : runs.best) losses.push_back(row.loss);
  const Akima::Point lowest = minimum(losses);
  out.found = true;
  out.inside = !lowest.at_end;
  out.log_x = lowest.x;
  out.loss = loss_of(lowest.y);
  out.rise = *std::max_element(losses.begin(), losses.end()) - out.loss;
  if (!(options.noise_sd > 0) || options.resamples == 0) return out;
  std::vector<double> drawn_x, drawn_loss;
  out.draws.assign(options.resamples, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t r = 0; r < options.resamples; ++r) {
    RandomStream random(options.seed, (index << 32) + r);
    std::vector<double> noisy = losses;
    for (double& loss : noisy) loss += options.noise_sd * normal_quantile(random.uniform());
    if (log_scale && !(*std::min_element(noisy.begin(), noisy.end()) > 0)) continue;
    const Akima::Point point = minimum(noisy);
    if (point.at_end) continue;
    out.draws[r] = point.x;
    drawn_x.push_back(point.x);
    drawn_loss.push_back(loss_of(point.y));
  }
  const double count = static_cast<double>(drawn_x.size());
  out.interior_share = count / static_cast<double>(options.resamples);
  if (out.interior_share < 0.5) return out;
  double mean = 0, squares = 0;
  for (const double x : drawn_x) mean += x / count;
  for (const double x : drawn_x) squares += (x - mean) * (x - mean);
  // Porian's floor is in steps of his grid, which has one step fewer than it has points.
  const double steps = options.grid_per_interval > 0
                           ? static_cast<double>(n - 1) - 1 / static_cast<double>(options.grid_per_interval)
                           : static_cast<double>(n - 1);
  const double floor = options.smallest_spacing * (points.x.back() - points.x.front()) / steps;
  out.log_sd = std::max(std::sqrt(squares / count), floor) / out.interior_share;
  std::sort(drawn_x.begin(), drawn_x.end());
  std::sort(drawn_loss.begin(), drawn_loss.end());
  out.log_x = quantile_of_sorted(drawn_x, 0.5);
  out.loss = quantile_of_sorted(drawn_loss, 0.5);
  out.interval = Interval{quantile_of_sorted(drawn_x, (1 - options.level) / 2),
                          quantile_of_sorted(drawn_x, (1 + options.level) / 2), options.level};
  return out;
}

[[nodiscard]] inline AxisMinimum axis_minimum(const ProfileRuns& runs, const IsoflopOptions& options, bool tokens,
                                              std::uint64_t index) {
  switch (options.method) {
    case IsoflopMethod::lowest: return lowest_minimum(runs, tokens);
    case IsoflopMethod::akima: return akima_minimum(runs, options, tokens, index);
    default: return parabola_minimum(runs, options, tokens);
  }
}

// Where the lowest loss is among the sizes, and what that alone says about N*.
struct Bracket {
  std::size_t first = 0, last = 0;  // of the runs in `best` that share the lowest loss
  bool below = false, above = false;
};

[[nodiscard]] inline Bracket bracket(const IsoflopRows& best) {
  Bracket out;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (best[i].loss < lowest) {
      lowest = best[i].loss;
      out.first = i;
    }
    if (best[i].loss == lowest) out.last = i;
  }
  out.below = out.first > 0;
  out.above = out.last + 1 < best.size();
  return out;
}

[[nodiscard]] inline std::string print_size(double parameters) { return print(Parameters(parameters), 3); }

// An end of the range is all that the runs reach to; the words for it and the bound it leaves.
inline void judge_edge(Profile& profile, const IsoflopRows& best, const Bracket& at, const AxisMinimum& found,
                       const std::string& method) {
  profile.status = ProfileStatus::edge;
  if (!at.below && !at.above) {
    profile.reason = "the lowest loss, " + print_number(best[at.first].loss, 4) + ", is at both ends of the sizes";
    return;
  }
  std::string why;
  const bool low_end = !at.below && at.above;
  bool at_most = low_end;
  if (!at.below || !at.above) {
    why = "the lowest loss, " + print_number(best[at.first].loss, 4) + ", is at the " +
          (low_end ? "smallest" : "largest") + " of " + std::to_string(best.size()) + " sizes, " +
          print_size(low_end ? best.front().parameters : best.back().parameters) + ", with no higher run " +
          (low_end ? "below" : "above") + " it";
  } else {
    at_most = found.found && found.log_x < std::log(best[at.first].parameters);
  }
  if (found.found && !found.inside) {
    const double x = std::exp(found.log_x);
    const bool beyond = x < best.front().parameters || x > best.back().parameters;
    if (!why.empty()) why += ", and ";
    why += "the " + method + "'s minimum is " + (beyond ? "beyond the runs, at " : "at the end of the runs, ") +
           print_size(x);
  }
  const runs::Observation& next =
      at_most ? best[std::min(at.last + 1, best.size() - 1)] : best[at.first - (at.first > 0 ? 1 : 0)];
  profile.bound = ProfileBound{at_most, next.parameters, next.tokens};
  profile.reason = why + "; N* is at " + (at_most ? "most " : "least ") + print_size(next.parameters);
}

// Status, reason and bound from what was found along N. shape: the parabola through the runs, whatever the method.
inline void judge(Profile& profile, const IsoflopRows& best, const AxisMinimum& found,
                  const std::optional<Parabola>& shape, const IsoflopOptions& options) {
  const auto number = [](double value) { return print_number(value, 3); };
  if (best.size() < options.fewest_sizes) {
    profile.status = ProfileStatus::too_few;
    profile.reason = std::to_string(best.size()) + " different sizes, and at least " +
                     std::to_string(options.fewest_sizes) + " are needed";
    return;
  }
  const Bracket at = bracket(best);
  const std::optional<Parabola>& p = found.parabola;
  const bool log_scale = options.scale.value_or(Residual::raw) == Residual::log;
  const double residual = p && p->degrees_of_freedom > 0 ? p->residual_sd * (log_scale ? best[at.first].loss : 1) : 0;
  const double noise = std::max(residual, options.noise_sd);
  const std::string level = number(100 * options.level) + "%";
  // What akima or the lowest run finds between the runs stands, and so does the bound that falling losses leave.
  const auto higher = [](const auto& a, const auto& b) { return a.loss < b.loss; };
  const double highest = std::max_element(best.begin(), best.end(), higher)->loss;
  const bool humped = (!at.below || !at.above) && highest > std::max(best.front().loss, best.back().loss);
  const bool may_be_concave = p || humped;
  if (may_be_concave && shape && shape->c2 < 0 && shape->curved(options.level)) {
    profile.status = ProfileStatus::concave;
    profile.reason = std::string(p ? "the" : "a") + " parabola " + (p ? "" : "through the runs ") +
                     "opens downwards: curvature " + number(shape->c2) +
                     (shape->degrees_of_freedom > 0 ? ", standard error " + number(shape->curvature_error()) : "");
  } else if (!(found.rise > 2 * noise)) {
    profile.status = ProfileStatus::flat;
    profile.reason =
        "the curve rises by " + number(found.rise) + " over its runs, within twice the noise, " + number(2 * noise);
  } else if (!at.below || !at.above) {
    judge_edge(profile, best, at, found, to_text(options.method));
  } else if (p && !p->curved(options.level)) {
    profile.status = ProfileStatus::flat;
    profile.reason = "curvature " + number(p->c2) + " does not differ from zero at " + level;
    if (p->degrees_of_freedom > 0) {
      profile.reason += ": standard error " + number(p->curvature_error()) + " on " +
                        std::to_string(p->degrees_of_freedom) + " degrees of freedom";
    }
  } else if (!found.inside) {
    judge_edge(profile, best, at, found, to_text(options.method));
  } else if (found.interior_share < 0.5) {
    profile.status = ProfileStatus::edge;
    profile.reason = "only " + number(100 * found.interior_share) +
                     "% of resamples of the noise have their minimum between the runs";
  } else if (std::min(profile.runs_below, profile.runs_above) < options.fewest_each_side) {
    profile.status = ProfileStatus::edge;
    profile.reason = std::to_string(profile.runs_below) + " higher runs below and " +
                     std::to_string(profile.runs_above) + " above the minimum, and at least " +
                     std::to_string(options.fewest_each_side) + " are needed on either side";
  } else {
    profile.status = ProfileStatus::interior;
  }
}

}  // namespace floplan::fit::detail
