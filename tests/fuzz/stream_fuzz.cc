// Streams: messages one after the other, well or ill formed, read whenever it
// pleases; answered or refused by name, in bounded steps, nothing held.
#include "kernels/status.h"
#include "server/elements/types.h"
#include "server/process/admission.h"
#include "server/stream/stream.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/oracle.h"
#include "tests/server/wire_oracle.h"

namespace axis::fuzz {
namespace {

constexpr int64_t kMaxMessage = 1 << 20;

void Test(Choices& choices) {
  Admission admission(256 << 20);
  const auto pool = std::make_shared<BufferPool>(0);
  {
    Admission::Lease lease(admission);
    CallReport report;
    Stream stream({kMaxMessage, lease, *pool, report, [] { return false; }},
                  admission);
    absl::Status status;
    std::vector<std::string> outputs;
    std::vector<int64_t> wanted;
    const auto take = [&] {
      for (auto message = stream.NextMessage(); message;
           message = stream.NextMessage()) {
        grpc::Slice slice;
        pb::StreamPipelineResponse response;
        FUZZ_CHECK(message->Length() <= kMaxMessage);
        FUZZ_CHECK(message->DumpToSingleSlice(&slice).ok());
        FUZZ_CHECK(response.ParseFromArray(slice.begin(),
                                           static_cast<int>(slice.size())));
        const pb::Tensor& piece = response.output();
        if (piece.data_type() != 0) {
          outputs.emplace_back();
          wanted.push_back(
              PackedBytes(Elements({piece.shape().data(),
                                    static_cast<size_t>(piece.shape_size())}),
                          BitsOf(piece.data_type())));
          if (piece.layout() > pb::LAYOUT_NCX) wanted.back() = -1;
        }
        FUZZ_CHECK(!outputs.empty());
        outputs.back() += piece.data();
      }
    };
    for (int n = 0; n < 64 && !choices.empty() && status.ok(); ++n) {
      const size_t size = static_cast<size_t>(choices.In(0, 400));
      const std::string bytes = choices.Rest(size);
      grpc::ByteBuffer message = Cut(bytes, 1 + size / 3);
      pb::StreamPipelineRequest parsed;
      if (n == 0 && parsed.ParseFromString(bytes) &&
          Elements({parsed.input().shape().data(),
                    static_cast<size_t>(parsed.input().shape_size())}) >
              (1 << 20))
        return;  // right, but slow
      status = stream.Receive(message);
      for (int k = 0; k < 8 && status.ok(); ++k) {
        const auto moved = stream.Work();
        status = moved.status();
        if (!moved.ok() || !*moved) break;
        take();
      }
    }
    if (status.ok()) status = stream.HalfClose();
    for (int k = 0; k < 100000 && status.ok() && !stream.IsDone(); ++k) {
      const auto moved = stream.Work();
      status = moved.status();
      take();
    }
    if (status.ok()) {
      FUZZ_CHECK(stream.IsDone());
      for (size_t i = 0; i < outputs.size(); ++i)
        FUZZ_CHECK(wanted[i] < 0 ||
                   static_cast<int64_t>(outputs[i].size()) == wanted[i]);
    } else {
      FUZZ_CHECK(absl::IsInvalidArgument(status) ||
                 absl::IsResourceExhausted(status));
    }
  }
  FUZZ_CHECK(admission.held_bytes() == 0);
  FUZZ_CHECK(pool->GetStats().live_bytes == 0);
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axis::fuzz::Choices choices(data, size);
  axis::fuzz::Test(choices);
  return 0;
}
