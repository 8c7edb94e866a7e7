// SPDX-License-Identifier: BSD-3-Clause
//
// Runs body(0) ... body(count - 1) on several threads.
//
//   parallel_for(replicates, threads, [&](std::size_t i) { result[i] = simulate(RandomStream(seed, i)); });
//
// Results do not depend on the thread count as long as body(i) writes only to slot i. `threads` is 0 for all cores and 1
// for none but the caller's (then nothing here needs a thread at all). An exception stops the rest; the one of the
// lowest index that was seen is rethrown. A stop request ends the loop after the bodies under way: the return value is
// then false, and slots not reached are untouched.
//
// Cost: indices are handed out in chunks by one atomic counter; bodies of a microsecond and more scale.
// Pitfall: floating-point sums across i must be taken after the loop, in index order, never inside it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace floplan {

[[nodiscard]] inline unsigned thread_count(unsigned requested) {
  if (requested > 0) return requested;
  return std::max(1U, std::thread::hardware_concurrency());
}

template <class Body>
bool parallel_for(std::size_t count, unsigned threads, Body&& body, std::stop_token stop = {}) {
  const std::size_t workers = std::min<std::size_t>(thread_count(threads), count);
  if (workers <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      if (stop.stop_requested()) return false;
      body(i);
    }
    return true;
  }
  // At most so many that a stop request is soon seen, however slow the bodies.
  const std::size_t chunk = std::clamp<std::size_t>(count / (workers * 16), 1, 1024);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex guard;
  std::exception_ptr error;
  std::size_t error_index = count;
  const auto work = [&] {
    while (!failed.load(std::memory_order_relaxed) && !stop.stop_requested()) {
      const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count) return;
      const std::size_t end = std::min(count, begin + chunk);
      for (std::size_t i = begin; i < end; ++i) {
        try {
          body(i);
        } catch (...) {
          failed = true;
          const std::lock_guard lock(guard);
          if (i < error_index) {
            error_index = i;
            error = std::current_exception();
          }
          return;
        }
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    pool.reserve(workers - 1);
    for (std::size_t w = 1; w < workers; ++w) pool.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
  return next.load() >= count;  // a chunk that was handed out was finished
}

}  // namespace floplan
