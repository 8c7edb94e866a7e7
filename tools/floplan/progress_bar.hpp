// SPDX-License-Identifier: BSD-3-Clause
//
// How far long work has come, as one line that is drawn over and gone in the end.
//
//   ProgressBar bar("runs");          bar.show(3000, 20000);
//   runs  [======                                  ]  15%  3000 of 20000, 12 s left
//
// It is for a terminal: who draws it knows that standard error is one (Session::progress does).
// Pitfall: what is left is told from the rate so far, which is no promise.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace floplan::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::size_t done, std::size_t of);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_;
  bool drawn_ = false;
};

// The line without what moves the cursor; seconds: how long it took so far.
[[nodiscard]] std::string progress_line(const std::string& what, std::size_t done, std::size_t of, double seconds);

}  // namespace floplan::cli
