// What clients read from a failed call: code, message, google.rpc details.
#include "server/call/rpc_status.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "kernels/status.h"

namespace axis {
namespace {

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status rich;
  EXPECT_TRUE(rich.ParseFromString(status.error_details()));
  EXPECT_EQ(rich.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(rich.message(), status.error_message());
  return rich;
}

TEST(RpcStatusTest, OkIsOk) { EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok()); }

TEST(RpcStatusTest, NamesTheField) {
  const grpc::Status status =
      ToGrpc(InField("op", FieldError("order[1]", "must lie in [0, 4), is 7")));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "op.order[1]: must lie in [0, 4), is 7");
  const google::rpc::Status rich = DetailsOf(status);
  ASSERT_EQ(rich.details_size(), 1);
  google::rpc::BadRequest bad;
  ASSERT_TRUE(rich.details(0).UnpackTo(&bad));
  ASSERT_EQ(bad.field_violations_size(), 1);
  EXPECT_EQ(bad.field_violations(0).field(), "op.order[1]");
  EXPECT_EQ(bad.field_violations(0).description(), "must lie in [0, 4), is 7");
}

TEST(RpcStatusTest, KeepsTheCodeAndMessageOfOthers) {
  const grpc::Status status = ToGrpc(absl::UnimplementedError("not yet"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(), "not yet");
  EXPECT_EQ(DetailsOf(status).details_size(), 0);
}

TEST(RpcStatusTest, TellsWhenToRetry) {
  const grpc::Status status = ToGrpc(WithRetry(
      absl::ResourceExhaustedError("full"), absl::Milliseconds(2250)));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "full");
  const google::rpc::Status rich = DetailsOf(status);
  ASSERT_EQ(rich.details_size(), 1);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(rich.details(0).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 2);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
}

TEST(RpcStatusTest, FitsIntoTrailers) {
  // Three bytes a character, so that a careless cut would break one.
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "\xE2\x82\xAC";
  for (const std::string prefix : {"", "a", "ab"}) {
    const grpc::Status status = ToGrpc(FieldError(prefix + text, text));
    // gRPC sends the message percent-encoded, and the details in base64.
    EXPECT_LT(status.error_message().size() * 3 +
                  status.error_details().size() * 4 / 3,
              7u << 10);
    google::rpc::BadRequest bad;
    ASSERT_TRUE(DetailsOf(status).details(0).UnpackTo(&bad));
    const std::string& field = bad.field_violations(0).field();
    EXPECT_GT(field.size(), 700u);
    EXPECT_EQ((field.size() - prefix.size() - std::string("...").size()) % 3,
              0u);
  }
}

}  // namespace
}  // namespace axis
