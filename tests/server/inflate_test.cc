// Claims of server/wire/inflate.h: what zlib packs comes out again however the
// message is cut, and what is not one whole stream is refused.
#include "server/wire/inflate.h"

#include <grpc/byte_buffer.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "tests/server/wire_oracle.h"

namespace axis {
namespace {

std::string Packed(const std::string& text, bool gzip) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// The message that gRPC makes of `bytes`, cut anywhere: slices may be empty,
// and the last one is.
grpc::ByteBuffer Message(const std::string& bytes, bool gzip, Rng& rng) {
  std::vector<grpc_slice> slices;
  for (size_t i = 0; i < bytes.size();) {
    const size_t piece =
        std::min(static_cast<size_t>(Pick(rng, 400)), bytes.size() - i);
    slices.push_back(grpc_slice_from_copied_buffer(bytes.data() + i, piece));
    i += piece;
  }
  slices.push_back(grpc_empty_slice());
  grpc_byte_buffer* core = grpc_raw_compressed_byte_buffer_create(
      slices.data(), slices.size(),
      gzip ? GRPC_COMPRESS_GZIP : GRPC_COMPRESS_DEFLATE);
  for (const grpc_slice& slice : slices) grpc_slice_unref(slice);
  grpc::ByteBuffer message;
  // byte_buffer.h asserts that this is what a ByteBuffer is.
  *reinterpret_cast<grpc_byte_buffer**>(&message) = core;
  return message;
}

class InflateTest : public testing::Test {
 protected:
  absl::Status Run(grpc::ByteBuffer& message, int64_t limit) {
    Admission::Lease lease(admission_);
    return Inflate(message,
                   {limit, lease, *pool_, report_, [] { return false; }});
  }

  Rng rng_{1};
  Admission admission_{int64_t{64} << 20};
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(0);
  CallReport report_;
};

TEST_F(InflateTest, EverySizeComesBackHoweverItIsCut) {
  // Steps end at 16 KiB, 48 KiB and so on; runs pack so well that the input is
  // used up long before the output.
  for (const size_t around : {0, 1000, 16 << 10, 48 << 10, 112 << 10, 1 << 20})
    for (size_t size = around; size < around + 8; ++size)
      for (const bool runs : {true, false})
        for (const bool gzip : {true, false}) {
          std::string text(size > 4 ? size - 4 : size, 'x');
          if (!runs)
            for (char& c : text) c = static_cast<char>(rng_());
          grpc::ByteBuffer message = Message(Packed(text, gzip), gzip, rng_);
          ASSERT_TRUE(IsCompressed(message));
          const absl::Status status = Run(message, int64_t{2} << 20);
          ASSERT_TRUE(status.ok()) << status << " " << text.size();
          EXPECT_FALSE(IsCompressed(message));
          Payload payload;
          std::vector<grpc::Slice> slices;
          ASSERT_TRUE(message.Dump(&slices).ok());
          for (const grpc::Slice& slice : slices) payload.Append(slice);
          EXPECT_TRUE(Bytes(payload) == text) << text.size();
        }
  EXPECT_EQ(admission_.held_bytes(), 0);
}

TEST_F(InflateTest, TheLimitIsExact) {
  for (const size_t size : {50000u, 50001u}) {
    grpc::ByteBuffer message =
        Message(Packed(std::string(size, 'x'), true), true, rng_);
    EXPECT_EQ(Run(message, 50000).code(),
              size == 50000 ? absl::StatusCode::kOk
                            : absl::StatusCode::kResourceExhausted);
  }
}

TEST_F(InflateTest, WhatIsNotOneWholeStreamIsRefused) {
  const std::string whole = Packed(std::string(100000, 'x'), false);
  for (size_t size = 0; size < whole.size(); ++size) {
    grpc::ByteBuffer message = Message(whole.substr(0, size), false, rng_);
    EXPECT_EQ(Run(message, 1 << 20).code(), absl::StatusCode::kInvalidArgument)
        << size;
  }
  for (const std::string& bytes : {whole + "x", whole + whole}) {
    grpc::ByteBuffer message = Message(bytes, false, rng_);
    EXPECT_EQ(Run(message, 1 << 20).code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace axis
