# How everything is compiled: warnings are errors, ccache where it is installed, one precompiled header for all modules.
# Clones of this repository share what ccache holds, wherever they are.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

add_library(drover_flags INTERFACE)
# The standard library checks its preconditions in what people run, too: front() of an empty vector ends the process.
target_compile_definitions(drover_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_compile_options(drover_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor
                                              -Woverloaded-virtual -Wno-missing-field-initializers
                                              -fno-omit-frame-pointer -g1)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 sees overflows in std::string's own code that are not there.
  target_compile_options(drover_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  # A source that is compiled together with others looks to g++ like a header, which should not use unnamed namespaces.
  target_compile_options(drover_flags INTERFACE -Wno-subobject-linkage)
else()
  # clang warns of a deprecated function that std::stable_sort of libstdc++ 12 calls.
  target_compile_options(drover_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(DROVER_SANITIZE)
  target_compile_options(drover_flags INTERFACE -fsanitize=${DROVER_SANITIZE} -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # With the sanitizer's checks in between, g++ loses sight of what the library initializes, and warns of it.
    target_compile_options(drover_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(drover_flags INTERFACE -fsanitize=${DROVER_SANITIZE})
endif()

# drover_precompile(NAME [headers of libraries...] [LIBS the libraries]): a precompiled header, the standard library's and these.
function(drover_precompile name)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${name} PRIVATE drover_flags ${arg_LIBS})
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${arg_UNPARSED_ARGUMENTS})
endfunction()
drover_precompile(drover_pch)

# Test programs are compiled often and run for seconds: less optimization, and gtest in their precompiled header.
drover_precompile(drover_test_pch <gtest/gtest.h> LIBS GTest::gtest)
target_compile_options(drover_test_pch PRIVATE -O1)

# Compiles a target's sources several at a time: nearly all of the time goes into what they include. So names in the
# unnamed namespaces of a module's sources must differ, and likewise those of its tests.
function(drover_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Gives a target of ours the common flags and a precompiled header, drover_pch or the one that is named.
function(drover_compile target)
  target_link_libraries(${target} PRIVATE drover_flags)
  if(ARGC GREATER 1)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} REUSE_FROM drover_pch)
  endif()
endfunction()
