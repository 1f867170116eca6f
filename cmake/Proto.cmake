# The code that protoc makes of the worker protocol. Only wire/ sees it.
find_package(Protobuf REQUIRED)
set(proto_folder ${CMAKE_BINARY_DIR}/proto)
file(MAKE_DIRECTORY ${proto_folder})
add_custom_command(
  OUTPUT ${proto_folder}/worker.pb.cc ${proto_folder}/worker.pb.h
  COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/src/wire --cpp_out=${proto_folder} worker.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/src/wire/worker.proto
  VERBATIM)
add_library(drover_worker_proto STATIC ${proto_folder}/worker.pb.cc ${proto_folder}/worker.pb.h)
target_include_directories(drover_worker_proto SYSTEM PUBLIC ${proto_folder})
target_link_libraries(drover_worker_proto PUBLIC protobuf::libprotobuf-lite)
