# version.cc, written again before each build but only when it would change: version, commit, build.
set(version_dir ${CMAKE_BINARY_DIR}/version)
add_custom_target(
  drover_version_file
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${version_dir}/build_info.h
          -DVERSION=${PROJECT_VERSION} "-DBUILD=${CMAKE_BUILD_TYPE} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR}"
          -P ${CMAKE_SOURCE_DIR}/cmake/write_version.cmake
  BYPRODUCTS ${version_dir}/build_info.h)
