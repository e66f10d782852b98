#include "server/wire/inflate.h"

#include <grpc/byte_buffer.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "kernels/status.h"
#include "server/wire/payload.h"

namespace axis {
namespace {

// What is inflated at a time: twice as much as before, within these bounds.
constexpr int64_t kFirstStep = 16 << 10;
constexpr int64_t kLastStep = 4 << 20;

// What gRPC holds; byte_buffer.h asserts that this is what a ByteBuffer is.
const grpc_byte_buffer* CoreBuffer(const grpc::ByteBuffer& message) {
  static_assert(sizeof(const grpc_byte_buffer*) == sizeof(grpc::ByteBuffer));
  return *reinterpret_cast<const grpc_byte_buffer* const*>(&message);
}

grpc_compression_algorithm AlgorithmOf(const grpc::ByteBuffer& message) {
  const grpc_byte_buffer* core = CoreBuffer(message);
  if (core == nullptr || core->type != GRPC_BB_RAW) return GRPC_COMPRESS_NONE;
  return core->data.raw.compression;
}

absl::Status Corrupt() {
  return absl::InvalidArgumentError(
      "the request is not one whole stream of its compression algorithm");
}

// zlib's state, given back in the end.
class Inflater {
 public:
  explicit Inflater(grpc_compression_algorithm algorithm) {
    // 15 is the largest window, and 16 asks for gzip's header.
    ok_ = inflateInit2(&stream_,
                       algorithm == GRPC_COMPRESS_GZIP ? 15 + 16 : 15) == Z_OK;
  }
  ~Inflater() {
    if (ok_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ok() const { return ok_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ok_;
};

}  // namespace

bool IsCompressed(const grpc::ByteBuffer& message) {
  return AlgorithmOf(message) != GRPC_COMPRESS_NONE;
}

absl::Status Inflate(grpc::ByteBuffer& message, const CallContext& call) {
  const grpc_compression_algorithm algorithm = AlgorithmOf(message);
  if (algorithm == GRPC_COMPRESS_NONE) return absl::OkStatus();
  Inflater inflater(algorithm);
  if (!inflater.ok()) throw std::bad_alloc();
  z_stream& z = inflater.stream();
  const grpc_slice_buffer& packed = CoreBuffer(message)->data.raw.slice_buffer;
  size_t next = 0;  // slice of `packed`
  Payload inflated;
  for (int64_t step = kFirstStep;; step = std::min(2 * step, kLastStep)) {
    if (call.is_over()) return absl::CancelledError("the client gave up");
    // One byte past the limit tells that it is passed.
    step = std::min(step, call.max_message_bytes + 1 - inflated.size());
    AXIS_RETURN_IF_ERROR(call.lease.Take(step));
    Buffer buffer = NewBuffer(call.pool, step);
    z.next_out = reinterpret_cast<Bytef*>(buffer.data);
    z.avail_out = static_cast<uInt>(step);
    int code = Z_OK;
    while (z.avail_out > 0 && code == Z_OK) {
      while (z.avail_in == 0 && next < packed.count) {
        grpc_slice& slice = packed.slices[next++];
        z.next_in = GRPC_SLICE_START_PTR(slice);
        z.avail_in = static_cast<uInt>(GRPC_SLICE_LENGTH(slice));
      }
      // Without input left there may still be output: zlib had no room for it.
      // If there is neither, it says Z_BUF_ERROR.
      code = inflate(&z, Z_NO_FLUSH);
    }
    const Payload filled = buffer.payload.Sub(0, step - z.avail_out);
    for (const grpc::Slice& slice : filled.slices()) inflated.Append(slice);
    AXIS_RETURN_IF_ERROR(CheckRequestBytes(inflated.size(), call));
    if (code == Z_STREAM_END) break;
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK) return Corrupt();
  }
  // By bytes: gRPC may end a message with an empty slice.
  if (z.total_in != message.Length()) return Corrupt();
  message =
      grpc::ByteBuffer(inflated.slices().data(), inflated.slices().size());
  return absl::OkStatus();
}

}  // namespace axis
