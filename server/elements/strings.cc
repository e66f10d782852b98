#include "server/elements/strings.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"

namespace axis {
namespace {

constexpr int64_t kLengthBytes = sizeof(uint32_t);
constexpr int64_t kPlaceBytes = kPlaceBits / 8;

// The bytes of a payload of one piece; null if it is empty.
const uint8_t* BytesOf(const Payload& payload) {
  return payload.slices().empty() ? nullptr : payload.slices()[0].begin();
}

// The bytes that follow the length at `string`.
int64_t LengthAt(const uint8_t* string) {
  uint32_t length;
  std::memcpy(&length, string, sizeof length);
  return length;
}

// Nothing here is aligned: pieces of a few bytes lie inside their slice.
int64_t PlaceAt(const uint8_t* places, int64_t i) {
  int64_t place;
  std::memcpy(&place, places + i * kPlaceBytes, sizeof place);
  return place;
}

Payload Joined(const Payload& payload, BufferPool& pool) {
  Buffer buffer = NewBuffer(pool, payload.size());
  std::byte* next = buffer.data;
  for (const auto span : payload.Spans()) {
    std::memcpy(next, span.data(), span.size());
    next += span.size();
  }
  return std::move(buffer.payload);
}

}  // namespace

absl::StatusOr<Payload> FindStrings(Payload& packed, int64_t elements,
                                    Admission::Lease& lease, BufferPool& pool) {
  const int64_t size = packed.size();
  if (elements > size / kLengthBytes)
    return FieldError(
        "data", absl::StrCat("must hold ", elements,
                             " strings, a 4-byte length and the bytes each; "
                             "holds ",
                             size, " bytes, too few for so many"));
  const bool in_pieces = packed.slices().size() > 1;
  AXIS_RETURN_IF_ERROR(
      lease.Take(elements * kPlaceBytes + (in_pieces ? 2 : 1) * size));
  if (in_pieces) packed = Joined(packed, pool);
  const uint8_t* const strings = BytesOf(packed);
  Buffer places = NewBuffer(pool, elements * kPlaceBytes);
  int64_t at = 0;
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t left = size - at - kLengthBytes;
    const int64_t length = left < 0 ? 0 : LengthAt(strings + at);
    if (length > left)
      return FieldError(
          "data", left < 0
                      ? absl::StrCat("ends within the length of string ", i,
                                     " of ", elements)
                      : absl::StrCat("string ", i, " says that it has ", length,
                                     " bytes, but only ", left, " are left"));
    std::memcpy(places.data + i * kPlaceBytes, &at, sizeof at);
    at += kLengthBytes + length;
  }
  if (at != size)
    return FieldError("data", absl::StrCat("must end with string ", elements,
                                           ", at byte ", at, "; holds ", size));
  return std::move(places.payload);
}

Payload GatherStrings(const Payload& packed, const Payload& places,
                      BufferPool& pool) {
  const int64_t count = places.size() / kPlaceBytes;
  if (count == 0) return {};
  const uint8_t* const strings = BytesOf(packed);
  const uint8_t* const order = BytesOf(places);
  const int64_t first = PlaceAt(order, 0);
  int64_t total = 0;
  bool shared = true;  // each begins where the one before ends
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = PlaceAt(order, i);
    shared &= place == first + total;
    total += kLengthBytes + LengthAt(strings + place);
  }
  if (shared) return packed.Sub(first, total);
  Buffer buffer = NewBuffer(pool, total);
  std::byte* next = buffer.data;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* const string = strings + PlaceAt(order, i);
    const int64_t bytes = kLengthBytes + LengthAt(string);
    std::memcpy(next, string, static_cast<size_t>(bytes));
    next += bytes;
  }
  return std::move(buffer.payload);
}

}  // namespace axis
