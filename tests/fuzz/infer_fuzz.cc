// ModelInfer requests: taken apart as the generated parsers have it and served
// by the models that are always there: answered or refused, nothing held, and
// with recipes as without.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "inference/infer.pb.h"
#include "kernels/status.h"
#include "server/models/repository.h"
#include "server/oip/infer.h"
#include "server/oip/message/wire.h"
#include "tests/fuzz/choices.h"
#include "tests/server/wire_oracle.h"

namespace axis::fuzz {
namespace {

constexpr int64_t kMaxMessage = 1 << 20;

// With the entries of maps in order.
std::string Canonical(google::protobuf::Message& message) {
  message.DiscardUnknownFields();
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  FUZZ_CHECK(message.SerializeToCodedStream(&coded));
  coded.Trim();
  return out;
}

bool Reassemble(const InferRequest& request, oip::ModelInferRequest& out) {
  out = request.head;
  for (size_t i = 0; i < request.contents.size(); ++i)
    if (request.contents[i] &&
        !out.mutable_inputs(static_cast<int>(i))
             ->mutable_contents()
             ->ParseFromString(Bytes(*request.contents[i])))
      return false;
  for (const Payload& raw : request.raw) out.add_raw_input_contents(Bytes(raw));
  return true;
}

void Test(const std::string& bytes, const grpc::ByteBuffer& message) {
  static const Log log(Log::Format::kText);
  static const Repository repository("", log);
  static const Regions regions(false);
  Admission admission(8 * kMaxMessage);
  const auto pool = std::make_shared<BufferPool>(0);
  oip::ModelInferRequest expected, got;
  const bool valid = expected.ParseFromString(bytes);
  {
    Admission::Lease lease(admission);
    CallReport report;
    InferRequest request;
    const absl::Status unpacked = UnpackInfer(message, lease, request);
    // Small messages are within every limit but that of parts and counts,
    // which name a field.
    const bool refused = !FieldOf(unpacked).empty();
    if (!refused) {
      FUZZ_CHECK((unpacked.ok() && Reassemble(request, got)) == valid);
      if (valid) FUZZ_CHECK(Canonical(got) == Canonical(expected));
    }
  }
  static RecipeBook book;
  std::string answer;
  for (RecipeBook* const recipes : {static_cast<RecipeBook*>(nullptr), &book}) {
    Admission::Lease lease(admission);
    CallReport report;
    InferRequest request;
    grpc::ByteBuffer copy = message, response;
    const absl::Status status = Infer(
        copy, request, response,
        {kMaxMessage, lease, *pool, report, [] { return false; }, recipes},
        repository, regions);
    FUZZ_CHECK(status.code() != absl::StatusCode::kInternal &&
               status.code() != absl::StatusCode::kUnknown);
    std::string bytes_of_answer = status.ToString();
    if (status.ok()) {
      grpc::Slice slice;
      oip::ModelInferResponse parsed;
      FUZZ_CHECK(response.DumpToSingleSlice(&slice).ok());
      FUZZ_CHECK(
          parsed.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
      FUZZ_CHECK(parsed.raw_output_contents_size() == parsed.outputs_size());
      bytes_of_answer = Canonical(parsed);
    }
    if (recipes != nullptr) FUZZ_CHECK(bytes_of_answer == answer);
    answer = std::move(bytes_of_answer);
  }
  FUZZ_CHECK(admission.held_bytes() == 0);
  FUZZ_CHECK(pool->GetStats().live_bytes == 0);
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  axis::fuzz::Test(bytes, axis::Cut(bytes, size_t{data[0]} + 1));
  return 0;
}
