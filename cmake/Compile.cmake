# How everything is compiled: warnings are errors, ccache where it is installed, one precompiled header for all rooms.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  ${CCACHE})
endif()

add_library(drover_flags INTERFACE)
target_compile_options(drover_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor
                                              -Woverloaded-virtual -Wno-missing-field-initializers
                                              -fno-omit-frame-pointer -g1)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 sees overflows in std::string's own code that are not there.
  target_compile_options(drover_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(DROVER_SANITIZE)
  # With its checks in between, g++ loses sight of what the library initializes, and warns of it.
  target_compile_options(drover_flags INTERFACE -fsanitize=${DROVER_SANITIZE} -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  target_link_options(drover_flags INTERFACE -fsanitize=${DROVER_SANITIZE})
endif()

add_library(drover_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
target_link_libraries(drover_pch PRIVATE drover_flags)
target_precompile_headers(drover_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)

# Gives a target of ours the common flags and the precompiled header.
function(drover_compile target)
  target_link_libraries(${target} PRIVATE drover_flags)
  target_precompile_headers(${target} REUSE_FROM drover_pch)
endfunction()
