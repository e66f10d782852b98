#include "tests/bench/rpc/infer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "inference/infer.pb.h"
#include "inference/shared_memory.pb.h"
#include "server/oip/message/wire.h"

namespace axis::bench {
namespace {

const std::string kService = "/inference.GRPCInferenceService/";
const int64_t kToNchw[] = {0, 3, 1, 2};

// A request whose first raw contents are the order; the tensor comes second.
oip::ModelInferRequest Request(const Shape& shape) {
  oip::ModelInferRequest request;
  request.set_model_name("Transpose");
  auto& order = *request.add_inputs();
  order.set_name("input_order");
  order.set_datatype("INT64");
  order.add_shape(4);
  request.add_raw_input_contents(kToNchw, sizeof kToNchw);
  auto& tensor = *request.add_inputs();
  tensor.set_name("arg");
  tensor.set_datatype("FP32");
  tensor.mutable_shape()->Add(shape.begin(), shape.end());
  return request;
}

grpc::ByteBuffer Message(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

void Place(const std::string& region, size_t offset, size_t bytes,
           google::protobuf::Map<std::string, oip::InferParameter>& out) {
  out["shared_memory_region"].set_string_param(region);
  out["shared_memory_offset"].set_int64_param(static_cast<int64_t>(offset));
  out["shared_memory_byte_size"].set_int64_param(static_cast<int64_t>(bytes));
}

}  // namespace

Exchange InferExchange(const Shape& shape, const std::byte* payload,
                       size_t bytes) {
  // What a response has in field 6, a request has in field 7.
  std::string head = Request(shape).SerializeAsString();
  head += '\x3A';
  for (size_t rest = bytes; true; rest >>= 7) {
    head += static_cast<char>(rest < 0x80 ? rest : rest | 0x80);
    if (rest < 0x80) break;
  }
  const grpc::Slice slices[] = {
      grpc::Slice(head),
      grpc::Slice(payload, bytes, grpc::Slice::STATIC_SLICE)};
  return {kService + "ModelInfer", {grpc::ByteBuffer(slices, 2)}};
}

SharedTensor::SharedTensor(const std::byte* payload, size_t bytes)
    : bytes_(bytes), key_(absl::StrCat("/axisd-bench-", getpid(), "-", bytes)) {
  const int file = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(2 * bytes)) != 0)
    throw std::runtime_error("no shared memory for " + key_);
  void* const memory =
      mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot map " + key_);
  data_ = static_cast<std::byte*>(memory);
  std::memcpy(data_, payload, bytes);
}

SharedTensor::~SharedTensor() {
  munmap(data_, 2 * bytes_);
  shm_unlink(key_.c_str());
}

Exchange SharedTensor::Registration() const {
  oip::SystemSharedMemoryRegisterRequest request;
  request.set_name(key_);
  request.set_key(key_);
  request.set_byte_size(2 * bytes_);
  return {kService + "SystemSharedMemoryRegister", {Message(request)}};
}

Exchange SharedTensor::Infer(const Shape& shape) const {
  oip::ModelInferRequest request = Request(shape);
  Place(key_, 0, bytes_, *request.mutable_inputs(1)->mutable_parameters());
  auto& output = *request.add_outputs();
  output.set_name("output");
  Place(key_, bytes_, bytes_, *output.mutable_parameters());
  return {kService + "ModelInfer", {Message(request)}};
}

}  // namespace axis::bench
