// SPDX-License-Identifier: BSD-3-Clause
//
// A folder of one test's own, removed at the end of the test. Test programs run side by side, so its name is unique.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/file.hpp"

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> made{0};
    path_ = std::filesystem::temp_directory_path() /
            ("floplan-test-" + std::to_string(::getpid()) + "-" + std::to_string(made++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // The path of a new file with this text.
  [[nodiscard]] std::filesystem::path file(std::string_view name, std::string_view text) const {
    floplan::write_text_file(path_ / name, text);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};
