# Every module's test program.
add_custom_target(unit_tests)

# A module is one folder of src/: a library of its sources, a test program of its *_test.cc files, and an include root
# that shows this module alone. What a module does not name in MODULES is not on its include path, so a wrong include does
# not compile.
#
#   drover_module(NAME MODULES the modules it may include  LIBS libraries from outside  TEST_MODULES more modules for its tests
#               PCH its precompiled header, if it has one of its own  FOLDERS if its folders belong to it)
function(drover_module name)
  cmake_parse_arguments(arg "FOLDERS" "PCH" "MODULES;LIBS;TEST_MODULES" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/modules/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  if(arg_FOLDERS)
    file(GLOB below CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*/*.cc)
    list(APPEND sources ${below})
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")

  list(TRANSFORM arg_MODULES PREPEND drover_)
  list(TRANSFORM arg_TEST_MODULES PREPEND drover_)
  if(sources)
    add_library(drover_${name} STATIC EXCLUDE_FROM_ALL ${sources})
    target_include_directories(drover_${name} PUBLIC ${root})
    target_link_libraries(drover_${name} PUBLIC ${arg_MODULES} ${arg_LIBS})
    drover_compile(drover_${name} ${arg_PCH})
    if(NOT arg_APART)
      drover_unite(drover_${name})
    endif()
  else()
    add_library(drover_${name} INTERFACE)
    target_include_directories(drover_${name} INTERFACE ${root})
    target_link_libraries(drover_${name} INTERFACE ${arg_MODULES} ${arg_LIBS})
  endif()

  if(tests)
    add_executable(${name}_test EXCLUDE_FROM_ALL ${tests})
    target_link_libraries(${name}_test PRIVATE drover_${name} ${arg_TEST_MODULES} GTest::gtest_main)
    drover_compile(${name}_test drover_test_pch)
    target_compile_options(${name}_test PRIVATE -O1)
    drover_unite(${name}_test)
    add_dependencies(unit_tests ${name}_test)
    drover_test(NAME ${name} COMMAND ${name}_test LABELS unit)
  endif()
endfunction()
