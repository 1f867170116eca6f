# The code that protoc makes of what is sent and kept as protocol buffers. Only wire/ sees it.
find_package(Protobuf REQUIRED)
set(proto_folder ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${proto_folder})
set(proto_sources)
foreach(name worker message)
  add_custom_command(
    OUTPUT ${proto_folder}/${name}.pb.cc ${proto_folder}/${name}.pb.h
    COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/src/wire --cpp_out=${proto_folder} ${name}.proto
    DEPENDS ${CMAKE_SOURCE_DIR}/src/wire/${name}.proto
    VERBATIM)
  list(APPEND proto_sources ${proto_folder}/${name}.pb.cc ${proto_folder}/${name}.pb.h)
endforeach()
add_library(drover_proto STATIC ${proto_sources})
target_include_directories(drover_proto SYSTEM PUBLIC ${proto_folder})
target_link_libraries(drover_proto PUBLIC protobuf::libprotobuf-lite)
