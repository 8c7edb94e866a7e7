// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <floplan/catalog/embedded_data.hpp>
#include <string>

#include "tree.hpp"

TEST_CASE("the embedded catalog, laws and plans are the files of data, byte for byte") {
  std::size_t files = 0;
  for (const auto* folder : {"data/catalog", "data/laws", "data/plans"}) {
    for (const auto& path : house::files(folder, {".csv", ".toml"})) {
      const auto name = path.lexically_relative(house::root / "data").string();
      const auto& embedded = floplan::catalog::embedded_files;
      const auto found =
          std::find_if(embedded.begin(), embedded.end(), [&](const auto& file) { return file.path == name; });
      CAPTURE(name);
      REQUIRE(found != embedded.end());
      CHECK(std::string(found->text) == house::text(path));
      ++files;
    }
  }
  CHECK(files == floplan::catalog::embedded_files.size());
}
