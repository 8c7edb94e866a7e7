# SPDX-License-Identifier: BSD-3-Clause
# Runs `program` and compares its standard output with the file `expected`, byte for byte.
execute_process(COMMAND "${program}" OUTPUT_FILE "${actual}" RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${program} ended with status ${status}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${actual}" "${expected}"
  RESULT_VARIABLE differs ERROR_QUIET)
if(differs)
  set(wanted "(no such file)\n")
  if(EXISTS "${expected}")
    file(READ "${expected}" wanted)
  endif()
  file(READ "${actual}" got)
  message("expected:\n${wanted}got:\n${got}To accept it: cp ${actual} ${expected}")
  message(FATAL_ERROR "the output differs")
endif()
