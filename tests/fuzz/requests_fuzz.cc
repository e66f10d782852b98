// Every request of axis.v1: taken apart as the generated parsers have it,
// however it is cut, and served: answered or refused by name, nothing held.
#include <cstring>

#include "axis/v1/tensor_service.pb.h"
#include "kernels/status.h"
#include "server/call/corridor.h"
#include "tests/fuzz/choices.h"
#include "tests/server/wire_oracle.h"

namespace axis::fuzz {
namespace {

constexpr int64_t kMaxMessage = 1 << 20;

grpc::ByteBuffer AnyCut(const std::string& bytes, Choices& cuts) {
  std::vector<grpc::Slice> slices;
  size_t begin = 0;
  for (const size_t end : cuts.Ends(bytes.size())) {
    slices.emplace_back(bytes.data() + begin, end - begin);
    begin = end;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

template <class Request, class Response>
void TestServe(const std::string& bytes, Choices cuts) {
  Admission admission(8 * kMaxMessage);
  const auto pool = std::make_shared<BufferPool>(0);
  {
    Admission::Lease lease(admission);
    CallReport report;
    grpc::ByteBuffer message = AnyCut(bytes, cuts), response;
    const absl::Status status = Serve<Request>(
        message, response,
        {kMaxMessage, lease, *pool, report, [] { return false; }});
    if (status.ok()) {
      grpc::Slice slice;
      Response parsed;
      FUZZ_CHECK(response.Length() <= kMaxMessage);
      FUZZ_CHECK(response.DumpToSingleSlice(&slice).ok());
      FUZZ_CHECK(
          parsed.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    } else {
      FUZZ_CHECK(absl::IsInvalidArgument(status) ||
                 absl::IsResourceExhausted(status));
    }
  }
  FUZZ_CHECK(admission.held_bytes() == 0);
  FUZZ_CHECK(pool->GetStats().live_bytes == 0);
}

template <class Request>
void TestUnpack(const std::string& bytes, Choices cuts) {
  // Bounds that protobuf does not have are tested for by name elsewhere.
  std::vector<WireTensor> tensors;
  Request rest;
  const std::string field = FieldOf(Unpack(Cut(bytes, 4096), tensors, rest));
  if (!field.empty()) return;
  Check<Request>(bytes, AnyCut(bytes, cuts));
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace pb = axis::v1;
  using namespace axis::fuzz;
  testing::GTEST_FLAG(throw_on_failure) = true;
  if (size < 9) return 0;
  Choices choices(data, size);
  const int64_t method = choices.In(0, 4);
  const Choices cuts(data + 1, 8);
  const std::string bytes(reinterpret_cast<const char*>(data) + 9, size - 9);
  switch (method) {
    case 0:
      TestUnpack<pb::TransposeRequest>(bytes, cuts);
      TestServe<pb::TransposeRequest, pb::TransposeResponse>(bytes, cuts);
      break;
    case 1:
      TestServe<pb::ShuffleChannelsRequest, pb::ShuffleChannelsResponse>(bytes,
                                                                         cuts);
      break;
    case 2:
      TestServe<pb::VariadicSplitRequest, pb::VariadicSplitResponse>(bytes,
                                                                     cuts);
      break;
    case 3:
      TestServe<pb::ShuffleRequest, pb::ShuffleResponse>(bytes, cuts);
      break;
    default:
      TestUnpack<pb::RunPipelineRequest>(bytes, cuts);
      TestServe<pb::RunPipelineRequest, pb::RunPipelineResponse>(bytes, cuts);
  }
  return 0;
}
