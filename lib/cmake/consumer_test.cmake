# SPDX-License-Identifier: BSD-3-Clause
# Installs `build` under `scratch`, builds the project `source` against that prefix alone, and runs what it made.
file(REMOVE_RECURSE "${scratch}")
set(prefix "${scratch}/prefix")

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY / RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}" --config "${config}")
run("${CMAKE_COMMAND}" -S "${source}" -B "${scratch}/build" -G "${generator}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_FLAGS=${flags}"
  "-DCMAKE_BUILD_TYPE=${config}" "-DFLOPLAN_CONSUMER_FIT=${with_fit}")
run("${CMAKE_COMMAND}" --build "${scratch}/build" --config "${config}")

set(programs consumer)
if(with_fit)
  list(APPEND programs consumer_fit)
endif()
foreach(program IN LISTS programs)
  find_program(found_${program} ${program} PATHS "${scratch}/build" PATH_SUFFIXES "${config}" NO_DEFAULT_PATH NO_CACHE REQUIRED)
  run("${found_${program}}")
  message("${program}: ${output}")
endforeach()
if(with_cli)  # from the root folder, where no data folder is near
  run("${prefix}/bin/floplan" catalog models --json)
endif()
