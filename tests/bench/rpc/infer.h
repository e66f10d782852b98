// The Transpose of a workload through the Open Inference Protocol: sent, or in
// shared memory.
#pragma once

#include <memory>
#include <string>

#include "kernels/view.h"
#include "tests/bench/rpc/workload.h"

namespace axis::bench {

// A ModelInfer that carries the `bytes` of `payload`, a tensor of floats.
Exchange InferExchange(const Shape& shape, const std::byte* payload,
                       size_t bytes);

// A shared memory object: a tensor, and as much room behind it.
class SharedTensor {
 public:
  // Throws std::runtime_error.
  SharedTensor(const std::byte* payload, size_t bytes);
  ~SharedTensor();
  SharedTensor(const SharedTensor&) = delete;
  SharedTensor& operator=(const SharedTensor&) = delete;

  // What must be called once before: it registers the object.
  Exchange Registration() const;
  // A ModelInfer that names the tensor and the room.
  Exchange Infer(const Shape& shape) const;

  const std::byte* input() const { return data_; }
  std::byte* output() const { return data_ + bytes_; }

 private:
  const size_t bytes_;
  const std::string key_;
  std::byte* data_;
};

}  // namespace axis::bench
