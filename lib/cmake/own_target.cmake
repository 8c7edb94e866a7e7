# SPDX-License-Identifier: BSD-3-Clause
# floplan_own(<target>): the compile options of our own code. They are private, so that no consumer inherits them.
function(floplan_own target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    # Never fuse a*b+c into one rounding behind our back: g++ does so by default as soon as the processor has FMA, and
    # results would then depend on the machine and on inlining. Bits never depend on the thread count in any build; a
    # native build may still differ from a portable one in the last digit of an Eigen sum, which adds in wider packets.
    -ffp-contract=off
    # g++ 12 sees overlapping copies in "text" + std::string at -O2 and above (GCC bug 105651); there are none.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    $<$<BOOL:${FLOPLAN_WERROR}>:-Werror>)
  if(FLOPLAN_NATIVE)
    # g++ 12 takes the undefined registers of its own AVX-512 intrinsics for uninitialised variables.
    target_compile_options(${target} PRIVATE -march=native $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    # AVX would raise Eigen's alignment to 32 bytes and with it change how Eigen allocates; Debian's libceres is built
    # for 16, and memory crosses that border. Eigen still uses the wide instructions, with unaligned loads.
    target_compile_definitions(${target} PRIVATE EIGEN_MAX_ALIGN_BYTES=16)
  endif()
endfunction()
