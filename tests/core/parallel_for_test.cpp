// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/parallel_for.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "floplan/core/random.hpp"

namespace {

using floplan::parallel_for;

std::vector<double> replicates(unsigned threads) {
  std::vector<double> out(1003);
  const bool finished = parallel_for(out.size(), threads, [&](std::size_t i) {
    floplan::RandomStream random(11, i);
    double sum = 0;
    for (std::size_t k = 0; k <= i % 50; ++k) sum += random.uniform();
    out[i] = sum;
  });
  CHECK(finished);
  return out;
}

}  // namespace

TEST_CASE("results are the same bits at 1, 2 and 5 threads and at all cores") {
  const std::vector<double> one = replicates(1);
  CHECK(replicates(2) == one);
  CHECK(replicates(5) == one);
  CHECK(replicates(0) == one);
}

TEST_CASE("every index runs exactly once, whatever the number of threads") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{37}, std::size_t{1000}}) {
    for (const unsigned threads : {1U, 2U, 5U, 64U}) {
      CAPTURE(count);
      CAPTURE(threads);
      std::vector<std::atomic<int>> runs(count);
      CHECK(parallel_for(count, threads, [&](std::size_t i) { ++runs[i]; }));
      bool once = true;
      for (const auto& n : runs) once = once && n == 1;
      CHECK(once);
    }
  }
}

TEST_CASE("the exception of the lowest index is the one that arrives") {
  for (const unsigned threads : {1U, 2U, 5U}) {
    CAPTURE(threads);
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::string caught;
      try {
        parallel_for(500, threads, [](std::size_t i) {
          if (i >= 37) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
      CHECK(caught == "37");
    }
  }
}

TEST_CASE("of two exceptions the lower index arrives, whichever was thrown first") {
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    CAPTURE(first);
    std::atomic<int> running{0};
    std::atomic<bool> thrown{false};
    std::string caught;
    try {
      parallel_for(2, 2, [&](std::size_t i) {
        for (++running; running < 2;) std::this_thread::yield();
        if (i != first) {
          while (!thrown) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for the first to be recorded
        }
        thrown = true;
        throw std::runtime_error(std::to_string(i));
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    CHECK(caught == "0");
  }
}

TEST_CASE("an exception ends the loop before the work is done") {
  for (const unsigned threads : {1U, 2U}) {
    std::atomic<std::size_t> runs{0};
    CHECK_THROWS_AS(parallel_for(1000000, threads,
                                 [&](std::size_t i) {
                                   ++runs;
                                   if (i == 0) throw std::runtime_error("stop");
                                 }),
                    std::runtime_error);
    CHECK(runs < 1000000);
  }
}

TEST_CASE("a stop request ends the loop, says so, and leaves the rest untouched") {
  for (const unsigned threads : {1U, 2U, 5U}) {
    CAPTURE(threads);
    std::stop_source stop;
    std::vector<std::atomic<int>> runs(100000);
    const bool finished = parallel_for(
        runs.size(), threads,
        [&](std::size_t i) {
          ++runs[i];
          if (i == 10) stop.request_stop();
        },
        stop.get_token());
    CHECK_FALSE(finished);
    std::size_t touched = 0;
    for (const auto& n : runs) touched += static_cast<std::size_t>(n.load());
    CHECK(touched > 10);
    CHECK(touched < runs.size());
  }
}

TEST_CASE("a loop that was stopped before it began does nothing") {
  std::stop_source stop;
  stop.request_stop();
  for (const unsigned threads : {1U, 3U}) {
    int runs = 0;
    CHECK_FALSE(parallel_for(
        10, threads, [&](std::size_t) { ++runs; }, stop.get_token()));
    CHECK(runs == 0);
  }
}

// Whether the loop finished must not depend on the thread count: every body ran, so it did.
TEST_CASE("a stop request inside the last body comes too late to stop anything") {
  for (const unsigned threads : {1U, 2U}) {
    CAPTURE(threads);
    std::stop_source stop;
    std::atomic<int> runs{0};
    const bool finished = parallel_for(
        2, threads,
        [&](std::size_t) {
          if (++runs == 2) stop.request_stop();
        },
        stop.get_token());
    CHECK(finished == (runs == 2));
  }
}

TEST_CASE("a request for no particular number of threads is at least one") {
  CHECK(floplan::thread_count(0) >= 1);
  CHECK(floplan::thread_count(3) == 3);
}
