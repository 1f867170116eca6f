# How every test is run: below tests/bounded.py, which ends it when it takes too long, says what each of its processes was doing, and
# lets none of them outlive it. ctest's own limit is larger, and only there for the case that this fails.
#
#   drover_test(NAME name  COMMAND program or target, arguments...  LABELS labels...
#               SECONDS bound (default: 600)  SOAK_SECONDS bound where DROVER_SOAK=1 (default: SECONDS)
#               LOCK what it does not share with other tests...  ENVIRONMENT NAME=value...)
function(drover_test)
  cmake_parse_arguments(arg "" "NAME;SECONDS;SOAK_SECONDS" "COMMAND;LABELS;LOCK;ENVIRONMENT" ${ARGN})
  if(NOT arg_SECONDS)
    set(arg_SECONDS 600)
  endif()
  if(NOT arg_SOAK_SECONDS)
    set(arg_SOAK_SECONDS ${arg_SECONDS})
  endif()
  if(DROVER_SANITIZE)
    math(EXPR arg_SECONDS "${arg_SECONDS} * 4")
  endif()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${arg_NAME} COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/tests/bounded.py ${arg_SECONDS} ${arg_SOAK_SECONDS}
                                    ${program} ${arg_COMMAND})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 9000 ENVIRONMENT "${arg_ENVIRONMENT}")
  if(arg_LOCK)
    set_tests_properties(${arg_NAME} PROPERTIES RESOURCE_LOCK "${arg_LOCK}")
  endif()
endfunction()
