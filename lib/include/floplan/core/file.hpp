// SPDX-License-Identifier: BSD-3-Clause
//
// Whole files in, whole files out.
//
// read_text_file gives a file's bytes or says which file could not be read and why. write_text_file never leaves half a
// file: it writes a temporary file in the same folder, flushes it, and renames it over the target, which POSIX makes
// atomic. A failed write removes the temporary file and leaves the target as it was.
//
// Range: files up to max_bytes (1 GiB unless told otherwise), so that a wrong path to a device or a dump is refused
// rather than read for ever.
//
// Pitfall: the rename replaces a symbolic link by a file; write to the link's target if the link must stay.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/error.hpp"

namespace floplan {

[[nodiscard]] inline std::string read_text_file(const std::filesystem::path& path,
                                                std::uintmax_t max_bytes = 1073741824) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw Error(Failure::data, "no_such_file", path.string(), "the file must exist, and there is none of this name");
  }
  if (std::filesystem::is_directory(status))
    throw Error(Failure::data, "not_a_file", path.string(), "must be a file, got a folder");
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Error(Failure::data, "unreadable_file", path.string(),
                std::string("cannot be read: ") + std::strerror(errno));
  std::string text;
  char block[65536];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      throw Error(Failure::data, "file_too_large", path.string(),
                  "must be at most " + std::to_string(max_bytes) + " bytes, got more");
    }
  }
  if (in.bad()) throw Error(Failure::data, "unreadable_file", path.string(), "reading it failed half-way");
  return text;
}

inline void write_text_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path temporary = path;
  temporary += ".part";
  const auto fail = [&path, &temporary](const std::string& why) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return Error(Failure::data, "unwritable_file", path.string(), "cannot be written: " + why);
  };
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    if (!out)
      throw Error(Failure::data, "unwritable_file", path.string(),
                  std::string("cannot be written: ") + std::strerror(errno));
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.flush();
    if (!out) throw fail("the disk is full or the device failed");
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) throw fail(error.message());
}

}  // namespace floplan
