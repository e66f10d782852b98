// Claims of recipes: with them a request is answered as it is without, whatever
// came before, in whatever pieces it comes; and it is admitted as ever.
#include "server/call/recipe.h"

#include <gtest/gtest.h>

#include <random>

#include "axis/v1/tensor_service.pb.h"
#include "server/call/corridor.h"

namespace axis {

namespace pb = ::axis::v1;

namespace {

// `bytes` in slices of random sizes.
grpc::ByteBuffer InPieces(const std::string& bytes, std::mt19937& random) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = std::min<size_t>(1 + random() % 40, bytes.size() - at);
    slices.emplace_back(bytes.data() + at, n);
    at += n;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

class Recipes : public testing::Test {
 protected:
  // What the request `bytes` is answered, with `book` or without (null).
  template <class Request>
  std::string Answer(const std::string& bytes, RecipeBook* book) {
    grpc::ByteBuffer request = InPieces(bytes, random_), response;
    Admission::Lease lease(admission_);
    report_ = {};
    const CallContext call{
        1 << 20, lease, *pool_, report_, [] { return false; }, book};
    const absl::Status status = Serve<Request>(request, response, call);
    if (!status.ok()) return status.ToString();
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(response.Dump(&slices).ok());
    std::string out;
    for (const grpc::Slice& slice : slices)
      out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return out;
  }

  std::string RandomBytes(size_t n) {
    std::string bytes(n, 0);
    for (char& c : bytes) c = static_cast<char>(random_());
    return bytes;
  }

  // A request for one of a few shapes and orders of 24 bytes, its op before or
  // after the tensor; some of them wrong.
  std::string RandomTranspose(bool is_op_last) {
    static const std::vector<int64_t> kShapes[] = {
        {2, 3, 4}, {4, 3, 2}, {24, 1, 1}, {2, 2, 6}};
    static const std::vector<int64_t> kOrders[] = {
        {0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 0, 1}};
    pb::TransposeRequest op, input;
    const auto& order = kOrders[random_() % 4];
    op.mutable_op()->mutable_order()->Assign(order.begin(), order.end());
    pb::Tensor& tensor = *input.mutable_input();
    const auto& shape = kShapes[random_() % 4];
    tensor.mutable_shape()->Assign(shape.begin(), shape.end());
    tensor.set_data_type(pb::DATA_TYPE_U8);
    // Of what comes twice the last counts; 25 bytes are too many.
    if (random_() % 4 == 0) tensor.set_data(RandomBytes(24));
    std::string first = tensor.data().empty() ? "" : input.SerializeAsString();
    tensor.set_data(RandomBytes(random_() % 8 == 0 ? 25 : 24));
    if (!first.empty()) tensor.clear_shape();
    first += input.SerializeAsString();
    return is_op_last ? first + op.SerializeAsString()
                      : op.SerializeAsString() + first;
  }

  Admission admission_{1 << 20};
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>(0);
  CallReport report_;
  std::mt19937 random_{1};
};

TEST_F(Recipes, ChangeNoAnswer) {
  RecipeBook book;
  int found[2] = {};
  for (int i = 0; i < 20000; ++i) {
    const bool is_op_last = random_() % 2 == 0;
    const std::string request = RandomTranspose(is_op_last);
    const std::string want = Answer<pb::TransposeRequest>(request, nullptr);
    ASSERT_EQ(Answer<pb::TransposeRequest>(request, &book), want);
    found[is_op_last] +=
        report_.phases[CallReport::kCompile] == absl::ZeroDuration() &&
        report_.phases[CallReport::kCopy] > absl::ZeroDuration();
  }
  EXPECT_GT(found[false], 500);
  EXPECT_GT(found[true], 500);
}

TEST_F(Recipes, AreNotForAnotherMethod) {
  RecipeBook book;
  pb::TransposeRequest transpose;
  transpose.mutable_input()->set_data_type(pb::DATA_TYPE_U8);
  transpose.mutable_input()->add_shape(4);
  transpose.mutable_input()->set_data("abcd");
  transpose.mutable_op()->add_order(0);
  // The same bytes are a split into lengths of one, of which there is none.
  const std::string bytes = transpose.SerializeAsString();
  Answer<pb::TransposeRequest>(bytes, &book);
  EXPECT_EQ(Answer<pb::VariadicSplitRequest>(bytes, &book),
            Answer<pb::VariadicSplitRequest>(bytes, nullptr));
}

TEST_F(Recipes, LeaveStringsAlone) {
  RecipeBook book;
  for (const std::string data : {"\1a\1b", "\2ab\0", "\0\2ab"}) {
    pb::TransposeRequest request;
    request.mutable_input()->set_data_type(pb::DATA_TYPE_STRING);
    request.mutable_input()->add_shape(2);
    request.mutable_input()->set_data(data);
    request.mutable_op()->add_order(0);
    const std::string bytes = request.SerializeAsString();
    EXPECT_EQ(Answer<pb::TransposeRequest>(bytes, &book),
              Answer<pb::TransposeRequest>(bytes, nullptr));
  }
}

TEST_F(Recipes, TakeMemoryOfTheServer) {
  RecipeBook book;
  pb::TransposeRequest transpose;
  transpose.mutable_input()->set_data_type(pb::DATA_TYPE_U8);
  transpose.mutable_input()->add_shape(2);
  transpose.mutable_input()->add_shape(2);
  transpose.mutable_input()->set_data("abcd");
  transpose.mutable_op()->add_order(1);
  transpose.mutable_op()->add_order(0);
  const std::string request = transpose.SerializeAsString();
  ASSERT_TRUE(Answer<pb::TransposeRequest>(request, &book).ends_with("acbd"));
  ASSERT_TRUE(Answer<pb::TransposeRequest>(request, &book).ends_with("acbd"));
  ASSERT_EQ(report_.phases[CallReport::kCompile], absl::ZeroDuration());
  Admission::Lease all(admission_);
  ASSERT_TRUE(all.Take((1 << 20) - 1).ok());
  EXPECT_NE(Answer<pb::TransposeRequest>(request, &book).find("server is full"),
            std::string::npos);
}

}  // namespace
}  // namespace axis
