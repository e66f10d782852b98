# find_package(axisd): axisd::client, the C++ client, and axisd::proto, the
# contract. axisd_PROTO_DIR is where the .proto files lie.
include(CMakeFindDependencyMacro)
# As when it was built: gRPC's package wants protobuf's own, where there is one.
find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  find_dependency(Protobuf MODULE)
endif()
find_dependency(absl CONFIG)
find_dependency(gRPC CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/axisdTargets.cmake)
get_filename_component(axisd_PROTO_DIR
  ${CMAKE_CURRENT_LIST_DIR}/../../../share/axisd/proto ABSOLUTE)
if(NOT EXISTS ${axisd_PROTO_DIR})  # .../lib/MULTIARCH/cmake/axisd
  get_filename_component(axisd_PROTO_DIR
    ${CMAKE_CURRENT_LIST_DIR}/../../../../share/axisd/proto ABSOLUTE)
endif()
