// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/interruption_rate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "floplan/catalog/catalog.hpp"
#include "reliability/cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

}  // namespace

TEST_CASE("Table 5's rate is the published one in every unit and at every size") {
  const InterruptionRate rate = cases::table5();
  for (const reference::Row& row : reference::rows("interruption_rate.csv")) {
    const Count accelerators(row.number("accelerators"));
    const std::string quantity = row.text("quantity");
    if (quantity == "mtbf_hours") {
      reference::check(row, in_hours(rate.mtbf(accelerators)));
    } else if (quantity == "mtbf_seconds") {
      reference::check(row, rate.mtbf(accelerators).value);
    } else if (quantity == "per_day") {
      reference::check(row, rate.per_day(accelerators));
    } else if (quantity == "hours_between_events") {
      reference::check(row, rate.hours_between_events(accelerators).value);
    } else if (quantity == "per_node_day") {
      reference::check(row, rate.per_node_day());
    } else {
      REQUIRE(quantity == "per_accelerator_hour");
      reference::check(row, rate.per_accelerator_hour);
    }
  }
  const reference::Row window = reference::row("table5_window.csv", "Llama 3 405B");
  CHECK(rate.events == window.number("events"));
}

TEST_CASE("the catalog's windows give the published rates and MTBF") {
  const catalog::Catalog catalog;
  const catalog::InterruptionWindow llama = catalog.interruption_window("llama3-2024");
  const InterruptionRate rate = rate_from_events(llama.unexpected.value(), llama.accelerators.value(),
                                                 llama.duration.value(), llama.accelerators_per_node.value());
  CHECK(rate.per_accelerator_hour == cases::table5().per_accelerator_hour);
  for (const reference::Row& row : reference::rows("node_rates.csv")) {
    const catalog::InterruptionWindow window = catalog.interruption_window(row.text("window"));
    const InterruptionRate r =
        rate_from_node_days(window.rate_per_node_day.value(), window.accelerators_per_node.value());
    reference::check(row, in_hours(r.mtbf(Count(row.number("accelerators")))));
  }
}

TEST_CASE("one rate said in events, in node-days and as an MTBF is the same rate") {
  const InterruptionRate rate = cases::table5();
  const InterruptionRate by_nodes = rate_from_node_days(rate.per_node_day(), Count(8));
  CHECK(by_nodes.per_accelerator_hour == near(rate.per_accelerator_hour, 1e-14));
  const InterruptionRate by_mtbf = rate_from_mtbf(rate.mtbf(Count(5000)), Count(5000), Count(8));
  CHECK(by_mtbf.per_accelerator_hour == near(rate.per_accelerator_hour, 1e-14));
  CHECK_FALSE(by_nodes.events.has_value());
  CHECK_FALSE(by_mtbf.events.has_value());
}

TEST_CASE("the MTBF falls as one over the size, and the rate does not depend on how it is watched") {
  const InterruptionRate rate = cases::table5();
  CHECK(rate.mtbf(Count(1000)) / rate.mtbf(Count(4000)) == near(4, 1e-14));
  CHECK(rate.per_day(Count(1000)) * in_days(rate.mtbf(Count(1000))) == near(1, 1e-14));
  const InterruptionRate twice = rate_from_events(20, Count(100), days(10), Count(8));
  CHECK(rate_from_events(10, Count(50), days(10), Count(8)).per_accelerator_hour ==
        near(twice.per_accelerator_hour, 1e-14));
  CHECK(rate_from_events(10, Count(100), days(5), Count(4)).per_accelerator_hour ==
        near(twice.per_accelerator_hour, 1e-14));
  CHECK(rate_from_events(10, Count(100), days(5), Count(4)).per_node_day() == near(twice.per_node_day() / 2, 1e-14));
}

TEST_CASE("zero, negative, nan and infinite inputs are refused by name") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, std::nan(""), inf}) {
    CAPTURE(bad);
    const auto refused = [](const auto& call, const char* what) {
      const Error error = thrown::by(call);
      CHECK(error.failure() == Failure::usage);
      CHECK(thrown::says(error, std::string(what) + " must be positive and finite, got "));
    };
    const Count some(8);
    refused([&] { (void)rate_from_events(bad, some, days(1), some); }, "events");
    refused([&] { (void)rate_from_events(1, Count(bad), days(1), some); }, "accelerators");
    refused([&] { (void)rate_from_events(1, some, Seconds(bad), some); }, "window");
    refused([&] { (void)rate_from_events(1, some, days(1), Count(bad)); }, "accelerators a node");
    refused([&] { (void)rate_from_node_days(bad, some); }, "rate a node-day");
    refused([&] { (void)rate_from_node_days(1, Count(bad)); }, "accelerators a node");
    refused([&] { (void)rate_from_mtbf(Seconds(bad), some, some); }, "MTBF");
    refused([&] { (void)rate_from_mtbf(hours(1), Count(bad), some); }, "accelerators");
    refused([&] { (void)rate_from_mtbf(hours(1), some, Count(bad)); }, "accelerators a node");
  }
}
