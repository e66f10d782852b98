// What is sent in a case, what must come back, and the same work in process.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "kernels/copy/memory/buffer_pool.h"
#include "kernels/program.h"
#include "kernels/view.h"

namespace axis::bench {

// One call: its method, what to send, and what should come back.
struct Exchange {
  std::string method;
  // More than one only for a method that streams. They lie over the memory of
  // the workload.
  std::vector<grpc::ByteBuffer> requests;
  bool streams = false;
  const std::byte* expected = nullptr;  // the bytes of all outputs
  // Where these come to lie, if they do not come back.
  const std::byte* output = nullptr;
};

class SharedTensor;

// A tensor of floats in NHWC, to be transposed to NCHW.
class Workload {
 public:
  // REQUIRES: `shape` is of rank 4, its first extent even.
  explicit Workload(Shape shape);
  ~Workload();

  const Shape& shape() const { return shape_; }
  int64_t bytes() const { return bytes_; }

  // The kinds of calls:
  //   echo       a Transpose request whose payload comes back as it is
  //   transpose  NHWC to NCHW
  //   identity   a Transpose that moves nothing
  //   split      a VariadicSplit of the outermost axis in two
  //   stream     NHWC to NCHW by StreamPipeline, in pieces of 1 MiB
  //   infer      NHWC to NCHW by ModelInfer
  //   shm        the same in shared memory
  //   register   what must be called once before
  // Throws std::invalid_argument.
  Exchange MakeExchange(const std::string& kind);

  // What is wrong with the answer to an exchange, or "".
  std::string Complaint(const Exchange& exchange,
                        const std::vector<grpc::ByteBuffer>& responses) const;

  // The passes over memory that all this is measured against, from the
  // payload into memory that is there already.
  void Memcpy();
  void Copy();        // with everything that the kernels do for one request
  void CopyShared();  // the same between the pages of shared memory

 private:
  void CopyBetween(const std::byte* src, std::byte* dst) const;
  size_t size() const { return static_cast<size_t>(bytes_); }

  const Shape shape_;
  const int64_t bytes_;
  const std::shared_ptr<BufferPool> pool_;
  const PooledBuffer payload_, transposed_, scratch_;
  std::unique_ptr<SharedTensor> shared_;  // once somebody wants it
};

}  // namespace axis::bench
