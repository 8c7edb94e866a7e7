# SPDX-License-Identifier: BSD-3-Clause
# floplan_embed_data(<header> <data folder> <pattern>...): writes a header that holds the files, byte for byte.
#
# The text of a file is only ever passed inside quotes, where CMake leaves ';' '[' '\' '@' and '$' alone, and its hash is
# compared with the file's. A changed, new or removed file makes CMake run again.
function(floplan_embed_data header folder)
  list(TRANSFORM ARGN PREPEND "${folder}/")
  file(GLOB files CONFIGURE_DEPENDS RELATIVE "${folder}" ${ARGN})
  list(LENGTH files count)
  set(entries "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${file}")
    file(READ "${folder}/${file}" text)
    file(SHA256 "${folder}/${file}" digest)
    string(SHA256 read_digest "${text}")
    if(NOT read_digest STREQUAL digest)  # CMake reads "\r\n" as "\n": put it back
      string(REPLACE "\n" "\r\n" text "${text}")
      string(SHA256 read_digest "${text}")
    endif()
    string(FIND "${text}" ")floplan_data\"" delimiter)
    if(NOT read_digest STREQUAL digest OR NOT delimiter EQUAL -1)
      message(FATAL_ERROR "${folder}/${file} cannot be embedded byte for byte: "
        "it mixes line ends, holds a NUL byte, or holds the text )floplan_data\"")
    endif()
    # A compiler may fold the line ends of a raw string, so a carriage return gets an ordinary string of its own.
    string(REPLACE "\r" ")floplan_data\" \"\\r\" R\"floplan_data(" text "${text}")
    string(APPEND entries "    EmbeddedFile{\"${file}\", R\"floplan_data(${text})floplan_data\"},\n")
  endforeach()

  set(content [[
// SPDX-License-Identifier: BSD-3-Clause
//
// The files of data/ that floplan carries inside itself: catalog, laws and ready plans.
//
// Written by CMake (lib/cmake/embed_data.cmake) from the files themselves, byte for byte, so that the library and the
// installed command need no data folder at run time. `path` is the file's place under data/.
//
// Pitfall: do not edit. Change the file under data/ and build again.
#pragma once

#include <array>
#include <string_view>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"

namespace floplan::catalog {

struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};

]])
  string(APPEND content "inline constexpr std::array<EmbeddedFile, ${count}> embedded_files{{\n${entries}}};\n" [[

}  // namespace floplan::catalog

#pragma GCC diagnostic pop
]])
  # Written only when it differs, so that a plain re-configure compiles nothing again. Not configure_file or
  # file(GENERATE): they would expand '@x@', '${x}' and '$<x>' found in the data.
  set(previous "")
  if(EXISTS "${header}.sha256")
    file(READ "${header}.sha256" previous)
  endif()
  string(SHA256 digest "${content}")
  if(NOT EXISTS "${header}" OR NOT previous STREQUAL digest)
    file(WRITE "${header}" "${content}")
    file(WRITE "${header}.sha256" "${digest}")
  endif()
endfunction()
