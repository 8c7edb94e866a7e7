# SPDX-License-Identifier: BSD-3-Clause
# floplan_header_checks(<header>...): target header_checks, which compiles every public header alone (and twice, which
# finds a missing #pragma once), then all of them in alphabetical and in reverse order. Names are as one includes them;
# the caller links what they need.
function(floplan_header_checks)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/header_checks")
  list(SORT ARGN)
  set(sources "")
  set(all_includes "")
  set(reverse_includes "")
  foreach(header IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "${header}" name)
    set(include "#include <${header}>\n")
    file(CONFIGURE OUTPUT "${folder}/${name}.cpp" CONTENT "${include}${include}" @ONLY)
    list(APPEND sources "${folder}/${name}.cpp")
    string(APPEND all_includes "${include}")
    string(PREPEND reverse_includes "${include}")
  endforeach()
  file(CONFIGURE OUTPUT "${folder}/all_in_order.cpp" CONTENT "${all_includes}" @ONLY)
  file(CONFIGURE OUTPUT "${folder}/all_in_reverse.cpp" CONTENT "${reverse_includes}" @ONLY)

  add_library(header_checks OBJECT ${sources} "${folder}/all_in_order.cpp" "${folder}/all_in_reverse.cpp")
  floplan_own(header_checks)
  target_compile_options(header_checks PRIVATE -O0)  # nothing is run: only whether it compiles matters
endfunction()
