// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/catalog/catalog.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "floplan/core/parallel_for.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::catalog;

Catalog with(const std::string& kind, const std::string& text) {
  Catalog catalog;
  catalog.add(kind, text, "mine/" + kind);
  return catalog;
}

Error accelerators_error(const std::string& text) {
  return thrown::by([&] { (void)with("accelerators.csv", text).accelerators(); });
}

}  // namespace

TEST_CASE("an unknown name is answered with its place, itself and the nearest names") {
  const Catalog catalog;
  const Error error = thrown::by([&] { (void)catalog.accelerator("h100-sxmm", "--accelerator"); });
  CHECK(error.failure() == Failure::usage);
  CHECK(error.exit_status() == 2);
  CHECK(error.where() == "--accelerator");
  CHECK(thrown::says(error, "\"h100-sxmm\""));
  CHECK(thrown::says(error, "nearest: h100-sxm"));
  CHECK(thrown::says(thrown::by([&] { (void)catalog.model("llama-3.1-450b"); }), "llama-3.1-405b"));
  CHECK(thrown::says(thrown::by([&] { (void)catalog.law("hofmann-2022"); }), "hoffmann-2022"));
  CHECK(thrown::says(thrown::by([&] { (void)catalog.interruption_window("llama3"); }), "llama3-2024"));
  CHECK(thrown::by([&] { (void)catalog.price("nothing like it"); }).failure() == Failure::usage);
  CHECK(thrown::by([&] { (void)catalog.run(""); }).failure() == Failure::usage);
  CHECK(thrown::by([&] { (void)catalog.accelerator(" "); }).failure() == Failure::usage);
}

TEST_CASE("an added row adds an entry, and one of a known name replaces the whole entry") {
  const Catalog plain;
  const Catalog mine = with("accelerators.csv",
                            "name,aliases,bf16_dense_tflops,memory_gb\n"
                            "my-chip,chip,500,64\n"
                            "H100-SXM,,900,\n");
  CHECK(mine.accelerators().size() == plain.accelerators().size() + 1);
  CHECK(mine.accelerator("chip").bf16_dense == FlopPerSecond(500e12));
  CHECK(mine.accelerator("my-chip").memory == Bytes(64e9));
  const Accelerator h100 = mine.accelerator("h100-sxm");
  CHECK(h100.bf16_dense == FlopPerSecond(900e12));
  CHECK_FALSE(h100.fp8_dense.has_value());
  CHECK_FALSE(h100.memory.has_value());
  CHECK(plain.accelerator("h100-sxm").memory.has_value());
}

TEST_CASE("of two additions the later one holds") {
  Catalog catalog = with("prices.csv", "name,accelerator,usd_typical\nhouse,h100-sxm,3\n");
  catalog.add("prices.csv", "name,accelerator,usd_typical\nhouse,h100-sxm,4\n", "second");
  CHECK(catalog.price("house").typical == DollarsPerHour(4));
}

TEST_CASE("names and aliases of an addition are found in any case") {
  const Catalog mine = with("accelerators.csv", "name,aliases,bf16_dense_tflops\nMy-Chip,MC1;Mc-One,500\n");
  for (const char* name : {"my-chip", "MY-CHIP", "My-Chip", "mc1", "MC1", "mc-one", "Mc-One"}) {
    CAPTURE(std::string(name));
    CHECK(mine.accelerator(name).bf16_dense == FlopPerSecond(500e12));
  }
}

TEST_CASE("blanks around the aliases of an addition do not matter") {
  const Catalog mine = with("accelerators.csv", "name,aliases,bf16_dense_tflops\nmy-chip, one ; two,500\n");
  CHECK(mine.accelerator("one").name == "my-chip");
  CHECK(mine.accelerator("two").name == "my-chip");
}

TEST_CASE("an added window speaks for its own causes") {
  Catalog catalog =
      with("interruption_windows.csv", "name,accelerators,accelerators_per_node,days,unexpected\nours,1024,8,10,5\n");
  catalog.add("interruption_categories.csv", "window,component,count\nours,Cable,3\nours,GPU,2\n", "mine");
  CHECK(catalog.interruption_window("ours").unexpected == 5);
  CHECK(catalog.interruption_categories("ours").size() == 2);
  CHECK(catalog.interruption_categories("llama3-2024").size() == 18);
  catalog.add("interruption_categories.csv", "window,component,count\nllama3-2024,All,419\n", "mine");
  CHECK(catalog.interruption_categories("llama3-2024").size() == 1);
}

TEST_CASE("an unknown column is refused at its place, with the nearest title") {
  const Error error = accelerators_error("name,bf16_dense_tflop\nx,1\n");
  CHECK(error.failure() == Failure::data);
  CHECK(error.exit_status() == 4);
  CHECK(error.where() == "mine/accelerators.csv:1:2");
  CHECK(thrown::says(error, "\"bf16_dense_tflop\""));
  CHECK(thrown::says(error, "bf16_dense_tflops"));
}

TEST_CASE("a column named twice is refused at the second, on the line that the header is on") {
  const Error error = accelerators_error("\n\nname,vendor,name\nx,a,y\n");
  CHECK(error.failure() == Failure::data);
  CHECK(error.where() == "mine/accelerators.csv:3:3");
  CHECK(thrown::says(error, "once"));
  CHECK(accelerators_error("\nname,vendr\n").where() == "mine/accelerators.csv:2:2");
}

TEST_CASE("a bad cell is refused at file, line and column, with its title and what it holds") {
  struct Case {
    const char* cell;
    const char* rule;
  };
  for (const Case& c :
       {Case{"fast", "plain finite number"}, Case{"1e400", "plain finite number"}, Case{"nan", "plain finite number"},
        Case{"inf", "plain finite number"}, Case{"989 TFLOP/s", "plain finite number"},
        Case{"\"1,979\"", "plain finite number"}, Case{"-1", "positive"}, Case{"0", "positive"}}) {
    CAPTURE(std::string(c.cell));
    const Error error = accelerators_error("name,title,bf16_dense_tflops\nfine,,1\n\nx,\"two\nlines\",1\ny,," +
                                           std::string(c.cell) + "\n");
    CHECK(error.failure() == Failure::data);
    CHECK(error.where() == "mine/accelerators.csv:6:3");
    CHECK(thrown::says(error, "bf16_dense_tflops"));
    CHECK(thrown::says(error, c.rule));
  }
}

TEST_CASE("a name given twice in one file is refused, also in another case") {
  const Error error = accelerators_error("name,vendor\nx,a\ny,b\nX,c\n");
  CHECK(error.failure() == Failure::data);
  CHECK(error.where() == "mine/accelerators.csv:4:1");
  CHECK(thrown::says(error, "unique"));
}

TEST_CASE("a row without a name, or with more cells than the header, is refused") {
  CHECK(accelerators_error("name,vendor\n,a\n").where() == "mine/accelerators.csv:2:1");
  CHECK(thrown::says(accelerators_error("vendor\na\n"), "name"));
  const Error ragged = accelerators_error("name,vendor\nx,a,b\n");
  CHECK(ragged.where() == "mine/accelerators.csv:2:3");
  CHECK(ragged.failure() == Failure::data);
}

TEST_CASE("a yes that is no yes, and a choice that is none, are refused") {
  const Error yes = accelerators_error("name,verified\nx,perhaps\n");
  CHECK(yes.where() == "mine/accelerators.csv:2:2");
  CHECK(thrown::says(yes, "yes or no"));
  const std::string header = "name,E,A,B,log_E,alpha,beta,parameter_convention,flop_convention,loss_unit,rounding\n";
  const auto law_error = [&](const std::string& row) {
    return thrown::by([&] { (void)with("chinchilla.csv", header + row + "\n").laws(); });
  };
  CHECK(with("chinchilla.csv", header + "mine,1.7,400,2000,,0.3,0.3,total,6N,nats/token,full\n")
            .law("mine")
            .form.irreducible_loss == 1.7);
  CHECK(thrown::says(law_error("mine,1.7,400,2000,,0.3,0.3,all,6N,nats/token,full"), "parameter_convention"));
  CHECK(thrown::says(law_error("mine,1.7,400,2000,,0.3,0.3,total,7N,nats/token,full"), "flop_convention"));
  CHECK(thrown::says(law_error("mine,1.7,400,2000,,0.3,0.3,total,6N,,full"), "loss_unit"));
  CHECK(thrown::says(law_error("mine,1.7,400,2000,,0.3,0.3,total,6N,nats/token,some"), "rounding"));
  CHECK(thrown::says(law_error("mine,1.7,400,2000,0.53,0.3,0.3,total,6N,nats/token,full"), "not both"));
  CHECK(thrown::says(law_error("mine,,400,2000,,0.3,0.3,total,6N,nats/token,full"), "must be given"));
  CHECK(thrown::says(law_error("mine,1.7,400,2000,,,0.3,total,6N,nats/token,full"), "alpha"));
  CHECK(thrown::says(law_error("mine,1.7,-400,2000,,0.3,0.3,total,6N,nats/token,full"), "must make A from"));
}

TEST_CASE("an impossible shape, a price without a price and a window without a rate are refused") {
  const std::string model = "name,layers,width,heads,kv_heads,head_width,ffn_width,vocabulary\n";
  const Error shape = thrown::by([&] { (void)with("models.csv", model + "m,2,64,4,3,16,128,1000\n").models(); });
  CHECK(shape.failure() == Failure::data);
  CHECK(thrown::says(shape, "mine/models.csv:2:"));
  CHECK(thrown::says(shape, "divide"));
  const Error half = thrown::by([&] { (void)with("models.csv", model + "m,2.5,64,4,2,16,128,1000\n").models(); });
  CHECK(half.where() == "mine/models.csv:2:2");
  CHECK(thrown::says(half, "whole"));
  const Error blank = thrown::by([&] { (void)with("models.csv", model + "m,,64,4,2,16,128,1000\n").models(); });
  CHECK(thrown::says(blank, "blank"));
  CHECK(thrown::by([] { (void)with("prices.csv", "name,accelerator\np,h100-sxm\n").prices(); }).failure() ==
        Failure::data);
  CHECK(thrown::by([] {
          (void)with("interruption_windows.csv", "name,days,accelerators\nw,54,16384\n").interruption_windows();
        }).failure() == Failure::data);
}

TEST_CASE("a broken file is refused where it breaks") {
  CHECK(accelerators_error("name,vendor\nx,\"open\n").where() == "mine/accelerators.csv:2:2");
  CHECK(accelerators_error("").failure() == Failure::data);
}

TEST_CASE("one catalog may be read from several threads") {
  const Catalog catalog;
  std::vector<double> peaks(64);
  parallel_for(peaks.size(), 4,
               [&](std::size_t i) { peaks[i] = catalog.accelerator("h100-sxm").bf16_dense.value().value; });
  for (const double peak : peaks) CHECK(peak == peaks.front());
}
