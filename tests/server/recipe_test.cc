// Claims of recipes: with them a request of either service is answered as it is
// without, whatever came before, in whatever pieces it comes; and it is
// admitted and counted as ever.
#include "server/call/recipe.h"

#include <gtest/gtest.h>

#include <random>

#include "axis/v1/tensor_service.pb.h"
#include "server/call/corridor.h"
#include "server/models/repository.h"
#include "server/oip/infer.h"
#include "server/process/log.h"

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
  // What `serve` answers to the request `bytes`, with `book` or without (null).
  template <class Serve>
  std::string AnswerOf(Serve serve, const std::string& bytes,
                       RecipeBook* book) {
    grpc::ByteBuffer request = InPieces(bytes, random_), response;
    Admission::Lease lease(admission_);
    report_ = {};
    const CallContext call{
        1 << 20, lease, *pool_, report_, [] { return false; }, book};
    const absl::Status status = serve(request, response, call);
    if (!status.ok()) return status.ToString();
    std::vector<grpc::Slice> slices;
    EXPECT_TRUE(response.Dump(&slices).ok());
    std::string out;
    for (const grpc::Slice& slice : slices)
      out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return out;
  }

  template <class Request>
  std::string Answer(const std::string& bytes, RecipeBook* book) {
    return AnswerOf(Serve<Request>, bytes, book);
  }

  // Whether a recipe was found for the last request.
  bool Found() const {
    return report_.phases[CallReport::kCompile] == absl::ZeroDuration() &&
           report_.phases[CallReport::kCopy] > absl::ZeroDuration();
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
    found[is_op_last] += Found();
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
  ASSERT_TRUE(Found());
  Admission::Lease all(admission_);
  ASSERT_TRUE(all.Take((1 << 20) - 1).ok());
  EXPECT_NE(Answer<pb::TransposeRequest>(request, &book).find("server is full"),
            std::string::npos);
}

class InferRecipes : public Recipes {
 protected:
  InferRecipes() { SilenceProtobuf(); }  // of ids that are no text

  std::string Infer(const std::string& bytes, RecipeBook* book) {
    return AnswerOf(
        [this](grpc::ByteBuffer& message, grpc::ByteBuffer& response,
               const CallContext& call) {
          request_ = {};
          return axis::Infer(message, request_, response, call, repository_,
                             regions_);
        },
        bytes, book);
  }

  static void AddInput(const std::string& name, const std::string& type,
                       const std::vector<int64_t>& shape,
                       const std::string& raw,
                       oip::ModelInferRequest& request) {
    auto& input = *request.add_inputs();
    input.set_name(name);
    input.set_datatype(type);
    input.mutable_shape()->Assign(shape.begin(), shape.end());
    request.add_raw_input_contents(raw);
  }

  // A request for a transpose or a split of a few bytes, its inputs in either
  // order; some of them wrong, some with an id.
  oip::ModelInferRequest RandomRequest() {
    oip::ModelInferRequest request;
    const auto extent = static_cast<int64_t>(2 + random_() % 2);
    const std::string data = RandomBytes(static_cast<size_t>(extent) * 12);
    const bool is_split = random_() % 3 == 0, is_data_first = random_() % 2;
    request.set_model_name(is_split ? "VariadicSplit" : "Transpose");
    if (random_() % 4 == 0) request.set_model_version("1");
    if (random_() % 2 == 0) request.set_id(RandomId());
    auto add_data = [&] {
      const bool is_flat = random_() % 8 == 0;
      AddInput(is_split ? "data" : "arg", "UINT8",
               is_flat ? std::vector<int64_t>{extent * 12}
                       : std::vector<int64_t>{extent, 4, 3},
               data, request);
    };
    if (is_data_first) add_data();
    const std::string first(1, static_cast<char>(random_() % 3));
    if (is_split) {
      AddInput("axis", "INT8", {}, std::string(1, 1), request);
      AddInput("split_lengths", "INT8", {2}, first + "\xff", request);
    } else {
      AddInput("input_order", "INT8", {3}, first + "\1\2", request);
    }
    if (!is_data_first) add_data();
    if (random_() % 8 == 0)
      request.add_outputs()->set_name(is_split ? "output_1" : "output");
    return request;
  }

  // Two bytes; one in eight is not ASCII.
  std::string RandomId() {
    return random_() % 8 == 0 ? "\xc3\xa9"
                              : std::to_string(10 + random_() % 90);
  }

  // Another id, as protobuf has it: the last one counts. Half of them are no
  // text.
  std::string MoreId() {
    return "\x1a\2" + (random_() % 2 == 0 ? "\xff\xff" : RandomId());
  }

  uint64_t Answers() const {
    uint64_t sum = 0;
    for (const char* name : {"Transpose", "VariadicSplit"})
      sum += (*repository_.Find(name, "", ""))->stats().success.count;
    return sum;
  }

  InferRequest request_;  // what the last one said
  const Log log_{Log::Format::kText};
  const Repository repository_{"", log_};
  const Regions regions_{false};
};

TEST_F(InferRecipes, ChangeNoAnswer) {
  RecipeBook book;
  int found = 0, found_with_id = 0;
  for (int i = 0; i < 40000; ++i) {
    const oip::ModelInferRequest request = RandomRequest();
    std::string bytes = request.SerializeAsString();
    if (i % 31 == 0) bytes = MoreId() + bytes;
    if (i % 37 == 0) bytes += MoreId();
    const std::string want = Infer(bytes, nullptr);
    const uint64_t answers = Answers();
    ASSERT_EQ(Infer(bytes, &book), want) << request.DebugString();
    ASSERT_EQ(Answers() - answers,
              want.starts_with("INVALID_ARGUMENT: ") ? 0u : 1u);
    found += Found();
    found_with_id += Found() && !request.id().empty();
    EXPECT_FALSE(Found() && request.id() == "\xc3\xa9");
  }
  EXPECT_GT(found, 5000);
  EXPECT_GT(found_with_id, 1500);
}

// A stream tells its client which request it was that failed.
TEST_F(InferRecipes, AreAdmittedAndSayWhoseTheyAre) {
  RecipeBook book;
  oip::ModelInferRequest request;
  request.set_model_name("Transpose");
  request.set_id("its id");
  AddInput("arg", "UINT8", {2, 2}, "abcd", request);
  AddInput("input_order", "INT8", {2}, std::string("\1\0", 2), request);
  const std::string bytes = request.SerializeAsString();
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(Infer(bytes, &book).ends_with("acbd"));
  ASSERT_TRUE(Found());
  Admission::Lease all(admission_);
  ASSERT_TRUE(all.Take((1 << 20) - 1).ok());
  EXPECT_NE(Infer(bytes, &book).find("server is full"), std::string::npos);
  EXPECT_EQ(request_.head.model_name(), "Transpose");
  EXPECT_EQ(request_.head.id(), "its id");
}

// As many bytes as the order takes, which comes first.
TEST_F(InferRecipes, KnowWhatTheDataIs) {
  RecipeBook book;
  for (const char* order : {"\0\1\2", "\2\1\0", "\0\1\2", "\1\2\0"}) {
    oip::ModelInferRequest request;
    request.set_model_name("Transpose");
    AddInput("input_order", "INT8", {3}, std::string(order, 3), request);
    AddInput("arg", "UINT8", {3, 1, 1}, "abc", request);
    const std::string bytes = request.SerializeAsString();
    EXPECT_EQ(Infer(bytes, &book), Infer(bytes, nullptr));
  }
}

}  // namespace
}  // namespace axis
