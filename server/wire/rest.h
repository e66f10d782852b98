// What a message says beside its raw data: how long it takes to serve shows
// there, before anything of it has been parsed.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace axis {

// All of `message` but the field at `path`, such as {1, 3}: field 3 of the
// messages in field 1. Nullopt if it takes more than `max_bytes`, of which each
// time that the field is there takes some, and if it is no message, or has
// groups. Takes time in proportion to `max_bytes`.
std::optional<std::string> RestOf(const grpc::ByteBuffer& message,
                                  std::span<const uint32_t> path,
                                  int64_t max_bytes);

// The string that is field `number` of `message`; of several the last, empty if
// there is none. Nullopt if it is no message, and if it has groups. Takes time
// in proportion to the message.
std::optional<std::string> StringIn(const grpc::ByteBuffer& message,
                                    uint32_t number);

}  // namespace axis
