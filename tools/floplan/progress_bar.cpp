// SPDX-License-Identifier: BSD-3-Clause
#include "progress_bar.hpp"

#include <iostream>
#include <utility>

#include "floplan/core/quantity_text.hpp"

namespace floplan::cli {

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
}

void ProgressBar::show(std::size_t done, std::size_t of) {
  const Clock::time_point now = Clock::now();
  if (drawn_ && now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  std::cerr << "\r" << progress_line(what_, done, of, seconds) << "\033[K" << std::flush;
}

std::string progress_line(const std::string& what, std::size_t done, std::size_t of, double seconds) {
  constexpr std::size_t width = 40;
  const double share = of == 0 ? 1 : static_cast<double>(done) / static_cast<double>(of);
  const auto filled = static_cast<std::size_t>(share * width);
  const std::string percent = std::to_string(static_cast<int>(100 * share));
  std::string out = what + "  [" + std::string(filled, '=') + std::string(width - filled, ' ') + "] " +
                    std::string(3 - percent.size(), ' ') + percent + "%  " + std::to_string(done) + " of " +
                    std::to_string(of);
  if (done > 0 && done < of) out += ", " + print_short(Seconds(seconds * (1 / share - 1)), 2) + " left";
  return out;
}

}  // namespace floplan::cli
