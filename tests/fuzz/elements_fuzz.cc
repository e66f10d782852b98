// Values, typed contents and STRING payloads: refused by name, or packed into
// exactly the bytes announced and spelled again the same.
#include "axis/v1/tensor.pb.h"
#include "inference/infer.pb.h"
#include "kernels/status.h"
#include "server/elements/strings.h"
#include "server/elements/types.h"
#include "server/elements/values.h"
#include "server/oip/message/contents.h"
#include "server/oip/message/wire.h"
#include "tests/fuzz/oracle.h"
#include "tests/server/wire_oracle.h"

namespace axis::fuzz {
namespace {

constexpr int64_t kQuota = 1 << 24;

void TestValues(pb::DataType type, int64_t elements, const std::string& bytes) {
  pb::Values values;
  if (!values.ParseFromString(bytes)) return;
  const auto size = ValuesBytes(values, type, elements);
  if (!size.ok()) {
    FUZZ_CHECK(!FieldOf(size.status()).empty());
    return;
  }
  Memory packed(static_cast<size_t>(*size)), again(packed.size());
  const absl::Status status = PackValues(values, type, packed);
  if (!status.ok()) {
    FUZZ_CHECK(!FieldOf(status).empty());
    return;
  }
  pb::Values spelled;
  UnpackValues(type, elements, packed, spelled);
  FUZZ_CHECK(ValuesBytes(spelled, type, elements).ok());
  FUZZ_CHECK(PackValues(spelled, type, again).ok());
  pb::Values twice;
  UnpackValues(type, elements, again, twice);
  // NaNs may become others once.
  FUZZ_CHECK(PackValues(twice, type, packed).ok());
  FUZZ_CHECK(packed == again);
}

void TestContents(pb::DataType type, int64_t elements, const std::string& bytes,
                  Choices& choices) {
  Admission admission(kQuota);
  const auto pool = std::make_shared<BufferPool>(0);
  {
    Admission::Lease lease(admission);
    Payload payload;
    size_t begin = 0;
    for (const size_t end : choices.Ends(bytes.size())) {
      payload.Append(grpc::Slice(bytes.data() + begin, end - begin));
      begin = end;
    }
    const auto packed = PackContents(payload, type, elements, lease, *pool);
    inference::InferTensorContents parsed;
    if (packed.ok()) FUZZ_CHECK(parsed.ParseFromString(bytes));
  }
  FUZZ_CHECK(admission.held_bytes() == 0);
  FUZZ_CHECK(pool->GetStats().live_bytes == 0);
}

// The strings of `bytes`; false if there are not `elements` of them.
bool Strings(const std::string& bytes, int64_t elements,
             std::vector<std::string>& out) {
  size_t at = 0;
  for (int64_t i = 0; i < elements; ++i) {
    uint32_t length;
    if (bytes.size() - at < sizeof length) return false;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (bytes.size() - at - sizeof length < length) return false;
    out.push_back(bytes.substr(at, sizeof length + length));
    at += sizeof length + length;
  }
  return at == bytes.size();
}

void TestStrings(int64_t elements, const std::string& bytes, Choices& choices) {
  Admission admission(kQuota);
  const auto pool = std::make_shared<BufferPool>(0);
  {
    Admission::Lease lease(admission);
    Payload packed;
    size_t begin = 0;
    for (const size_t end : choices.Ends(bytes.size())) {
      packed.Append(grpc::Slice(bytes.data() + begin, end - begin));
      begin = end;
    }
    std::vector<std::string> strings;
    const bool valid = Strings(bytes, elements, strings);
    const auto places = FindStrings(packed, elements, lease, *pool);
    FUZZ_CHECK(places.ok() == valid);
    if (!valid) return;
    // Their places in another order, some twice left out.
    std::string order, wanted;
    const std::string found = Bytes(*places);
    for (int64_t i = 0; i < elements; ++i) {
      const int64_t k = choices.OneIn(8) ? i : elements - 1 - i;
      order += found.substr(static_cast<size_t>(k) * 8, 8);
      wanted += strings[static_cast<size_t>(k)];
    }
    FUZZ_CHECK(Bytes(GatherStrings(packed, Payload(grpc::Slice(order)),
                                   *pool)) == wanted);
  }
  FUZZ_CHECK(admission.held_bytes() == 0);
  FUZZ_CHECK(pool->GetStats().live_bytes == 0);
}

void TestShape(pb::DataType type, Choices& choices) {
  std::vector<int64_t> shape;
  for (int64_t rank = choices.In(0, 34); rank > 0; --rank)
    shape.push_back(choices.Number());
  const auto size = SizeOf(type, shape);
  if (!size.ok()) {
    FUZZ_CHECK(!FieldOf(size.status()).empty());
    return;
  }
  FUZZ_CHECK(size->elements == Elements(shape) && size->bytes >= 0);
  // No bytes are lost: 128 bits do not overflow where 63 do not.
  if (type != pb::DATA_TYPE_STRING)
    FUZZ_CHECK(static_cast<__int128>(size->bytes) * 8 >=
               static_cast<__int128>(size->elements) * BitsOf(type));
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace axis::fuzz;
  Choices choices(data, size);
  const int64_t what = choices.In(0, 3);
  const auto type = static_cast<axis::pb::DataType>(choices.In(0, 28));
  const int64_t elements = choices.In(0, 20);
  if (what == 0) {
    TestShape(type, choices);
    return 0;
  }
  const size_t left = size > 11 ? size - 11 : 0;
  Choices cuts(data + 3, size > 3 ? std::min<size_t>(size - 3, 8) : 0);
  const std::string bytes(reinterpret_cast<const char*>(data) + size - left,
                          left);
  if (what == 1 && axis::BitsOf(type) > 0) TestValues(type, elements, bytes);
  if (what == 2) TestContents(type, elements, bytes, cuts);
  if (what == 3) TestStrings(elements, bytes, cuts);
  return 0;
}
