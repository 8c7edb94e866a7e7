// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/file.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>

#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

std::size_t entries(const TemporaryFolder& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++count;
  return count;
}

}  // namespace

TEST_CASE("a file's bytes come back as they were written") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  std::string long_text;
  while (long_text.size() < 200000) long_text += bytes;
  for (const std::string& text : {std::string(), std::string("a\r\nb"), bytes, long_text}) {
    write_text_file(folder / "file", text);
    CHECK(read_text_file(folder / "file") == text);
  }
  CHECK(entries(folder) == 1);
}

TEST_CASE("a missing file, a folder and a file that is too large are refused by name") {
  const TemporaryFolder folder;
  const Error missing = thrown::by([&] { (void)read_text_file(folder / "none.csv"); });
  CHECK(missing.failure() == Failure::data);
  CHECK(missing.exit_status() == 4);
  CHECK(missing.code() == "no_such_file");
  CHECK(missing.where() == (folder / "none.csv").string());
  const Error is_folder = thrown::by([&] { (void)read_text_file(folder.path()); });
  CHECK(is_folder.failure() == Failure::data);
  CHECK(is_folder.code() == "not_a_file");
  const auto file = folder.file("five", "12345");
  CHECK(read_text_file(file, 5) == "12345");
  const Error large = thrown::by([&] { (void)read_text_file(file, 4); });
  CHECK(large.code() == "file_too_large");
  CHECK(thrown::says(large, "4 bytes"));
}

TEST_CASE("an endless device is refused and not read for ever") {
  if (!std::filesystem::exists("/dev/zero")) return;
  CHECK(thrown::by([] { (void)read_text_file("/dev/zero", 1000000); }).failure() == Failure::data);
}

TEST_CASE("a write that fails half-way leaves the old file as it was and nothing beside it") {
  const TemporaryFolder folder;
  const auto file = folder.file("plan.csv", "old");
  // A limit on the size of files makes the kernel refuse the rest of a write, as a full disk does.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Error error = thrown::by([&] { write_text_file(file, std::string(100000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(error.failure() == Failure::data);
  CHECK(error.where() == file.string());
  CHECK(read_text_file(file) == "old");
  CHECK(entries(folder) == 1);
}

TEST_CASE("a device is written to and stays one, and a link's target is replaced") {
  write_text_file("/dev/null", "nothing");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  if (std::filesystem::exists("/dev/full")) {
    CHECK(thrown::by([] { write_text_file("/dev/full", std::string(100000, 'x')); }).code() == "unwritable_file");
    CHECK(std::filesystem::is_character_file("/dev/full"));
  }
  const TemporaryFolder folder;
  const auto file = folder.file("plan.csv", "old");
  std::filesystem::create_symlink(file, folder / "link.csv");
  write_text_file(folder / "link.csv", "new");
  CHECK(std::filesystem::is_symlink(folder / "link.csv"));
  CHECK(read_text_file(file) == "new");
}

TEST_CASE("a write that cannot begin or end says so and changes nothing") {
  const TemporaryFolder folder;
  CHECK(thrown::by([&] { write_text_file(folder / "none/plan.csv", "new"); }).code() == "unwritable_file");
  CHECK_FALSE(std::filesystem::exists(folder / "none"));

  std::filesystem::create_directory(folder / "taken");
  const Error error = thrown::by([&] { write_text_file(folder / "taken", "new"); });
  CHECK(error.code() == "unwritable_file");
  CHECK(std::filesystem::is_directory(folder / "taken"));
  CHECK(entries(folder) == 1);
}

TEST_CASE("a longer file is replaced whole by a shorter one") {
  const TemporaryFolder folder;
  const auto file = folder.file("plan.csv", std::string(1000, 'x'));
  write_text_file(file, "short");
  CHECK(read_text_file(file) == "short");
  CHECK(entries(folder) == 1);
}
