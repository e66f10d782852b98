// Claims of what is found out about a request: the next one like it is light,
// so that the polling thread serves it, if what it moves is little; nothing of
// it is parsed to tell.
#include "server/call/light.h"

#include <gtest/gtest.h>

#include "axis/v1/tensor_service.pb.h"
#include "server/call/corridor.h"

namespace axis {

namespace pb = ::axis::v1;

namespace {

class Light : public testing::Test {
 protected:
  // Whether the book knows that `request` is light, once it was served.
  template <class Request>
  bool IsLightOnceServed(const Request& request) {
    const grpc::Slice slice(request.SerializeAsString());
    grpc::ByteBuffer message(&slice, 1), served(&slice, 1), response;
    EXPECT_FALSE(book_.HasLight(Request::descriptor(), message));
    Admission::Lease lease(admission_);
    CallReport report;
    EXPECT_TRUE(Serve<Request>(served, response,
                               {int64_t{1} << 30, lease, *pool_, report,
                                [] { return false; }, &book_})
                    .ok());
    return book_.HasLight(Request::descriptor(), message);
  }

  static pb::Tensor Zeros(pb::DataType type,
                          std::initializer_list<int64_t> shape, size_t bytes) {
    pb::Tensor tensor;
    tensor.set_data_type(type);
    tensor.mutable_shape()->Assign(shape.begin(), shape.end());
    tensor.set_data(std::string(bytes, 0));
    return tensor;
  }

  static pb::TransposeRequest Transposed(pb::Tensor tensor) {
    pb::TransposeRequest request;
    for (int i = tensor.shape_size(); i-- > 0;)
      request.mutable_op()->add_order(i);
    *request.mutable_input() = std::move(tensor);
    return request;
  }

  // Two to eight passes: 12 channels, shuffled as 3 x 4, cannot be split at 2.
  static pb::RunPipelineRequest Chain(pb::Tensor tensor, int ops) {
    pb::RunPipelineRequest request;
    *request.add_inputs() = std::move(tensor);
    for (int i = 0; i < ops; ++i)
      request.add_ops()->mutable_shuffle_channels()->set_group(i % 2 ? 2 : 4);
    return request;
  }

  RecipeBook book_;
  Admission admission_{int64_t{1} << 30};
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(0);
};

TEST_F(Light, IsWhatMovesLittle) {
  EXPECT_TRUE(IsLightOnceServed(
      Transposed(Zeros(pb::DATA_TYPE_F32, {64, 16}, 64 * 16 * 4))));
  EXPECT_TRUE(IsLightOnceServed(
      Transposed(Zeros(pb::DATA_TYPE_F32, {512, 1000}, 512 * 1000 * 4))));
  EXPECT_FALSE(IsLightOnceServed(
      Transposed(Zeros(pb::DATA_TYPE_F32, {512, 1025}, 512 * 1025 * 4))));
}

TEST_F(Light, TakesLessOfElementsThatAreNoBytes) {
  EXPECT_TRUE(IsLightOnceServed(
      Transposed(Zeros(pb::DATA_TYPE_U4, {256, 256}, 32 << 10))));
  EXPECT_FALSE(IsLightOnceServed(
      Transposed(Zeros(pb::DATA_TYPE_U4, {512, 512}, 128 << 10))));
}

TEST_F(Light, TakesLessForEachPass) {
  const auto chain = [](int ops) {
    return Chain(Zeros(pb::DATA_TYPE_U8, {12, 50'000}, 600'000), ops);
  };
  EXPECT_TRUE(IsLightOnceServed(chain(2)));
  EXPECT_FALSE(IsLightOnceServed(chain(8)));
}

// Of each of 16 images a channel in a block of 16, for 16 channels of an image.
TEST_F(Light, CountsThePaddingOfItsResult) {
  const auto padded = [](int64_t height) {
    pb::Tensor tensor = Zeros(pb::DATA_TYPE_U8, {1, 16, height, 100},
                              static_cast<size_t>(16 * height * 100));
    tensor.set_layout(pb::LAYOUT_NCX16C);
    pb::TransposeRequest request;
    *request.mutable_input() = std::move(tensor);
    for (int axis : {1, 0, 2, 3}) request.mutable_op()->add_order(axis);
    return request;
  };
  EXPECT_TRUE(IsLightOnceServed(padded(64)));
  EXPECT_FALSE(IsLightOnceServed(padded(128)));
}

TEST_F(Light, IsNoOtherMethod) {
  const auto request =
      Transposed(Zeros(pb::DATA_TYPE_F32, {64, 16}, 64 * 16 * 4));
  ASSERT_TRUE(IsLightOnceServed(request));
  const grpc::Slice slice(request.SerializeAsString());
  EXPECT_FALSE(book_.HasLight(pb::ShuffleRequest::descriptor(),
                              grpc::ByteBuffer(&slice, 1)));
}

}  // namespace
}  // namespace axis
