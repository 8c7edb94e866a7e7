// SPDX-License-Identifier: BSD-3-Clause
//
// Whole files in, whole files out.
//
// read_text_file gives a file's bytes or says which file could not be read and why. write_text_file never leaves half a
// file: it writes a temporary file in the same folder and renames it over the target, which POSIX makes
// atomic. A failed write removes the temporary file and leaves the target as it was.
//
// Range: files up to max_bytes (1 GiB unless told otherwise), so that a wrong path to a device or a dump is refused
// rather than read for ever.
//
// Pitfall: nothing is flushed to the disk itself: a power failure may still lose what was just renamed.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <random>
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

// A file that is not regular (a pipe, a device) is written to; a link's target is replaced, and the link stays.
inline void write_text_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool exists = std::filesystem::exists(status);
  const auto fail = [&path](const std::string& why) {
    return Error(Failure::data, "unwritable_file", path.string(), "cannot be written: " + why);
  };
  const auto write = [&fail, text](const std::filesystem::path& to) {
    std::ofstream out(to, std::ios::binary | std::ios::trunc);
    if (!out) throw fail(std::strerror(errno));
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.flush();
    if (!out) throw fail("the disk is full or the device failed");
  };
  if (exists && !std::filesystem::is_regular_file(status) && !std::filesystem::is_directory(status)) return write(path);
  const std::filesystem::path target = exists ? std::filesystem::canonical(path, error) : path;
  // A name that no other writer has: two programs may write one target at once, and "x.part" may be somebody's file.
  std::filesystem::path temporary = target;
  temporary += "." + std::to_string(std::random_device{}()) + ".part";
  try {
    write(temporary);
    std::filesystem::rename(temporary, target, error);
    if (error) throw fail(error.message());
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
}

}  // namespace floplan
