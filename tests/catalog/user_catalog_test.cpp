// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/catalog/user_catalog.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <tuple>

#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::catalog;

Error error_of(const TemporaryFolder& folder) {
  return thrown::by([&] {
    Catalog catalog;
    add_folder(catalog, folder.path());
  });
}

}  // namespace

TEST_CASE("a user's folder adds entries and replaces those of the same name") {
  const TemporaryFolder folder;
  (void)folder.file("prices.csv",
                    "name,accelerator,kind,usd_typical,date\n"
                    "our-contract,H100-SXM,contract-1y,1.80,2030-01\n");
  (void)folder.file("accelerators.csv", "name,bf16_dense_tflops\nmy-chip,500\nh100-sxm,900\n");
  (void)folder.file("README.txt", "not a catalog, and not a CSV file");
  Catalog catalog;
  add_folder(catalog, folder.path());
  CHECK(catalog.price("our-contract").typical == DollarsPerHour(1.8));
  REQUIRE(catalog.latest_price("h100-sxm").has_value());
  CHECK(catalog.latest_price("h100-sxm")->name == "our-contract");
  CHECK(catalog.accelerator("my-chip").bf16_dense == FlopPerSecond(500e12));
  CHECK(catalog.accelerator("h100-sxm").bf16_dense == FlopPerSecond(900e12));
  CHECK(catalog.accelerators().size() == Catalog().accelerators().size() + 1);
  CHECK(catalog.model("llama-3.1-405b").name == "llama-3.1-405b");
}

TEST_CASE("every kind of catalog can be added to, with the header that data has") {
  const TemporaryFolder folder;
  for (const std::string& name : file_names()) {
    // A form to be fitted has no file: no law of it is published.
    for (const char* sub : {"laws", "catalog"}) {
      const auto file = std::filesystem::path(FLOPLAN_SOURCE_DIR) / "data" / sub / name;
      if (std::filesystem::exists(file)) std::filesystem::copy_file(file, folder / name);
    }
  }
  Catalog catalog;
  add_folder(catalog, folder.path());
  const Catalog plain;
  CHECK(catalog.accelerators().size() == plain.accelerators().size());
  CHECK(catalog.models().size() == plain.models().size());
  CHECK(catalog.prices().size() == plain.prices().size());
  CHECK(catalog.interruption_windows().size() == plain.interruption_windows().size());
  CHECK(catalog.interruption_categories("llama3-2024").size() == plain.interruption_categories("llama3-2024").size());
  CHECK(catalog.runs().size() == plain.runs().size());
  CHECK(any_laws(catalog).size() == any_laws(plain).size());
}

TEST_CASE("a file of another name is refused with the nearest name") {
  const TemporaryFolder folder;
  (void)folder.file("accelerator.csv", "name\nx\n");
  const Error error = error_of(folder);
  CHECK(error.failure() == Failure::data);
  CHECK(error.exit_status() == 4);
  CHECK(thrown::says(error, (folder / "accelerator.csv").string()));
  CHECK(thrown::says(error, "accelerators.csv"));
}

TEST_CASE("a bad cell in a user's file is refused at file, line and column when the folder is added") {
  const TemporaryFolder folder;
  (void)folder.file("prices.csv", "name,accelerator,usd_typical\np,h100-sxm,2.10\nq,h100-sxm,cheap\n");
  CHECK(error_of(folder).where() == (folder / "prices.csv").string() + ":3:3");
}

TEST_CASE("an unknown column and a name given twice in a user's file are refused by place") {
  const TemporaryFolder folder;
  (void)folder.file("prices.csv", "name,accelerator,usd_typicall\np,h100-sxm,2.10\n");
  const Error column = error_of(folder);
  CHECK(column.where() == (folder / "prices.csv").string() + ":1:3");
  CHECK(thrown::says(column, "usd_typical"));
  (void)folder.file("prices.csv", "name,accelerator,usd_typical\np,h100-sxm,2\np,h100-sxm,3\n");
  CHECK(error_of(folder).where() == (folder / "prices.csv").string() + ":3:1");
}

TEST_CASE("causes of a failure are checked too when the folder is added") {
  const TemporaryFolder folder;
  (void)folder.file("interruption_categories.csv", "window,component,count\nours,GPU,many\n");
  CHECK(error_of(folder).where() == (folder / "interruption_categories.csv").string() + ":2:3");
}

TEST_CASE("a folder that is missing, is a file, or holds no catalog is refused") {
  const TemporaryFolder folder;
  Catalog catalog;
  const Error missing = thrown::by([&] { add_folder(catalog, folder / "none"); });
  CHECK(missing.failure() == Failure::data);
  CHECK(thrown::says(missing, "none"));
  CHECK(thrown::by([&] { add_folder(catalog, folder.file("file", "x")); }).failure() == Failure::data);
  CHECK(error_of(folder).code() == "empty_catalog");
}

TEST_CASE("a cell that speaks of a part the model is not given is refused, and not lost") {
  const std::string head = "name,layers,width,heads,kv_heads,head_width,ffn_width,vocabulary,tied_embeddings,verified,";
  const std::string row = "mine,2,64,4,4,16,256,1000,no,no,";
  for (const auto& [title, cell, part] :
       {std::tuple("experts_active", "2", "experts"), std::tuple("local_layers", "[1]*2", "window"),
        std::tuple("value_width", "8", "kv_rank")}) {
    const std::string text = head + title + "\n" + row + cell + "\n";
    const Error error = thrown::by([&] { (void)catalog::read_models(parse_csv(text, "models.csv")); });
    CHECK(error.failure() == Failure::data);
    CHECK(thrown::says(error, std::string(part) + " must be given, as " + title + " is"));
  }
}
