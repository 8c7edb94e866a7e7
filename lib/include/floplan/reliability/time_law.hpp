// SPDX-License-Identifier: BSD-3-Clause
//
// How long a wait or a restart takes: always the same, or drawn anew each time from a law.
//
//   TimeLaw::fixed(Seconds(300))   TimeLaw::log_normal(Seconds(300), 0.5)   exponential(mean)   gamma(mean, cv)
//   TimeLaw::observed({120, 340, 95})                                   each listed time, in seconds, equally often
//
// cv is the coefficient of variation, standard deviation over mean. A restart R that failures of rate s = 1/M cut short and
// that is drawn anew at each attempt needs the tilted moments E[R^j e^(-sR)], j = 0, 1, 2:
//
//   expected time of a restart, cuts included   M (1 - phi) / phi,   phi = E[e^(-R/M)]
//   expected cuts a restart                     1/phi - 1
//
// Fixed, exponential, gamma and observed laws have them in closed form; the log-normal by the trapezium rule in its normal
// score, which converges exponentially there (Trefethen and Weideman 2014): 1e-13 relative.
// Source: Daly 2006 for a fixed restart, renewal for one drawn anew; a log-normal has no moment generating function, so M (E[e^(R/M)] - 1) diverges.
// Pitfall: E[e^(-R/M)] is not e^(-E[R]/M): with cv 1 and a mean of R = M/3 the fixed law overstates a restart by 16%.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"

namespace floplan::reliability {

// E[e^(-sR)], E[R e^(-sR)], E[R^2 e^(-sR)].
struct TiltedMoments {
  double zero = 1;
  double one = 0;
  double two = 0;
};

class TimeLaw {
 public:
  enum class Kind { fixed, log_normal, exponential, gamma, observed };

  TimeLaw() = default;  // no time at all
  [[nodiscard]] static TimeLaw fixed(Seconds time) { return {Kind::fixed, time.value, 0}; }
  [[nodiscard]] static TimeLaw log_normal(Seconds mean, double cv) { return {Kind::log_normal, mean.value, cv}; }
  [[nodiscard]] static TimeLaw exponential(Seconds mean) { return {Kind::exponential, mean.value, 1}; }
  [[nodiscard]] static TimeLaw gamma(Seconds mean, double cv) { return {Kind::gamma, mean.value, cv}; }
  [[nodiscard]] static TimeLaw observed(std::vector<double> seconds) {
    TimeLaw out(Kind::observed, 0, 0);
    out.seconds_ = std::move(seconds);
    out.measure();
    return out;
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool always_the_same() const { return cv_ == 0; }
  [[nodiscard]] double mean() const { return mean_; }  // seconds
  [[nodiscard]] double cv() const { return cv_; }
  [[nodiscard]] double variance() const { return mean_ * mean_ * cv_ * cv_; }

  // The same law with every time multiplied by `factor`, which must be positive or zero.
  [[nodiscard]] TimeLaw times(double factor) const {
    TimeLaw out = *this;
    out.mean_ *= factor;
    for (double& s : out.seconds_) s *= factor;
    out.prepare();
    return out;
  }

  [[nodiscard]] double draw(RandomStream& random) const {
    if (cv_ == 0) return mean_;
    switch (kind_) {
      case Kind::log_normal: return std::exp(location_ + scale_ * boost::random::normal_distribution<double>()(random));
      case Kind::exponential: return mean_ * boost::random::exponential_distribution<double>()(random);
      case Kind::gamma: return boost::random::gamma_distribution<double>(1 / (cv_ * cv_), mean_ * cv_ * cv_)(random);
      case Kind::observed: return seconds_[random.below(static_cast<std::uint32_t>(seconds_.size()))];
      case Kind::fixed: break;
    }
    return mean_;
  }

  [[nodiscard]] TiltedMoments tilted(double s) const {
    if (cv_ == 0) return at(mean_, s);
    switch (kind_) {
      case Kind::exponential:
      case Kind::gamma: {
        const double shape = 1 / (cv_ * cv_);
        const double scale = mean_ / shape / (1 + s * mean_ / shape);
        const double zero = std::exp(-shape * std::log1p(s * mean_ / shape));
        return {zero, zero * shape * scale, zero * shape * (shape + 1) * scale * scale};
      }
      case Kind::log_normal: {
        constexpr double step = 1.0 / 32;
        TiltedMoments sum{0, 0, 0};
        // R^2 moves the weight 2 scale_ up; 9 further on the normal density is 1e-18.
        for (double z = -9; z <= 9 + 2 * scale_; z += step) {
          const TiltedMoments m = at(std::exp(location_ + scale_ * z), s);
          const double weight = step * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
          sum.zero += weight * m.zero;
          sum.one += weight * m.one;
          sum.two += weight * m.two;
        }
        return sum;
      }
      case Kind::observed: {
        TiltedMoments sum{0, 0, 0};
        for (const double r : seconds_) {
          const TiltedMoments m = at(r, s);
          sum.zero += m.zero;
          sum.one += m.one;
          sum.two += m.two;
        }
        const double n = static_cast<double>(seconds_.size());
        return {sum.zero / n, sum.one / n, sum.two / n};
      }
      case Kind::fixed: break;
    }
    return at(mean_, s);
  }

  // "5 min", "5 min (log-normal, cv 0.5)"
  [[nodiscard]] std::string describe() const {
    const std::string mean = print(Seconds(mean_), 3);
    if (cv_ == 0) return mean;
    constexpr const char* names[] = {"fixed", "log-normal", "exponential", "gamma", "observed"};
    return mean + " (" + names[static_cast<int>(kind_)] + ", cv " + print_number(cv_, 3) + ")";
  }

 private:
  TimeLaw(Kind kind, double mean, double cv) : kind_(kind), mean_(mean), cv_(cv) {
    if (!(mean >= 0) || !std::isfinite(mean)) {
      throw Error(Failure::usage, "out_of_range", "TimeLaw",
                  "mean must be at least zero and finite, got " + print(Seconds(mean)));
    }
    // Beyond 30 a log-normal's mean is in draws that no simulation ever makes.
    if (!(cv >= 0) || !(cv <= 30)) {
      throw Error(Failure::usage, "out_of_range", "TimeLaw",
                  "coefficient of variation must be from 0 to 30, got " + print_number(cv, 6));
    }
    prepare();
  }

  static TiltedMoments at(double r, double s) {
    const double e = std::exp(-s * r);
    return {e, r * e, r * r * e};
  }
  void prepare() {
    if (mean_ == 0) cv_ = 0;
    if (kind_ != Kind::log_normal || cv_ == 0) return;
    scale_ = std::sqrt(std::log1p(cv_ * cv_));
    location_ = std::log(mean_) - scale_ * scale_ / 2;
  }
  void measure() {
    if (seconds_.empty()) throw Error(Failure::usage, "no_times", "TimeLaw", "observed times must be given, got none");
    if (seconds_.size() > 0xffffffff)
      throw Error(Failure::usage, "out_of_range", "TimeLaw", "observed times must be below 2^32");
    double sum = 0;
    for (const double s : seconds_) {
      if (!(s >= 0) || !std::isfinite(s)) {
        throw Error(Failure::usage, "out_of_range", "TimeLaw",
                    "an observed time must be at least zero and finite, got " + print_number(s, 6) + " s");
      }
      sum += s;
    }
    mean_ = sum / static_cast<double>(seconds_.size());
    double squares = 0;
    for (const double s : seconds_) squares += (s - mean_) * (s - mean_);
    cv_ = mean_ > 0 ? std::sqrt(squares / static_cast<double>(seconds_.size())) / mean_ : 0;
  }

  Kind kind_ = Kind::fixed;
  double mean_ = 0;
  double cv_ = 0;
  double location_ = 0, scale_ = 0;  // of the logarithm
  std::vector<double> seconds_;
};

}  // namespace floplan::reliability
