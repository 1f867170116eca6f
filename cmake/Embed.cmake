# drover_embed(LIBRARY NAME FILE): the file as it stands becomes read-only data of the library, from drover_NAME_begin to
# drover_NAME_end.
function(drover_embed library name file)
  set(assembly ${CMAKE_BINARY_DIR}/embedded/${name}.S)
  set(EMBEDDED_NAME ${name})
  set(EMBEDDED_FILE ${file})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/embedded.S.in ${assembly} @ONLY)
  add_library(drover_embedded_${name} STATIC ${assembly})
  set_property(SOURCE ${assembly} APPEND PROPERTY OBJECT_DEPENDS ${file})
  target_link_libraries(${library} PRIVATE drover_embedded_${name})
endfunction()
