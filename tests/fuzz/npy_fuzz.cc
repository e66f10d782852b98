// .npy files: refused, or read into a tensor that written again and read again
// is the same.
#include "client/npy/npy.h"
#include "tests/fuzz/choices.h"

namespace axis::fuzz {
namespace {

std::string Text(const Bytes& bytes) {
  std::string text(bytes.size(), '\0');
  bytes.CopyTo(text.data());
  return text;
}

void Test(const std::string& file, const NpyReading& reading) {
  const auto header = ParseNpyHeader(file);
  const auto tensor = ReadNpy(file, reading);
  if (!tensor.ok()) return;
  FUZZ_CHECK(header.ok());
  FUZZ_CHECK(header->data_offset + static_cast<size_t>(header->data_bytes) ==
             file.size());
  FUZZ_CHECK(tensor->data.size() == static_cast<size_t>(header->data_bytes));
  const auto written = NpyHeaderOf(*tensor);
  if (!written.ok()) return;
  NpyReading same = reading;
  same.data_type = tensor->data_type;
  const auto again = ReadNpy(*written + Text(tensor->data), same);
  if (tensor->data_type == pb::DATA_TYPE_STRING) return;  // not all have bytes
  if (!again.ok()) {
    // A reading of another shape or in blocks may not fit what was written.
    FUZZ_CHECK(reading.shape || reading.layout != pb::LAYOUT_UNSPECIFIED ||
               reading.data_type != pb::DATA_TYPE_UNSPECIFIED);
    return;
  }
  FUZZ_CHECK(again->data_type == tensor->data_type);
  if (!reading.shape) FUZZ_CHECK(again->shape == tensor->shape);
  FUZZ_CHECK(Text(again->data) == Text(tensor->data));
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace pb = axis::pb;
  axis::fuzz::Choices choices(data, size);
  axis::NpyReading reading;
  const uint8_t how = choices.Byte();
  if (how & 1) reading.data_type = pb::DataType(choices.In(0, 28));
  if (how & 2) reading.layout = pb::Layout(choices.In(0, 6));
  if (how & 4) {
    reading.shape.emplace();
    for (int64_t rank = choices.In(0, 5); rank > 0; --rank)
      reading.shape->push_back(choices.Number());
  }
  axis::fuzz::Test(choices.Rest(), reading);
  return 0;
}
