// Recipes: what has been found out about a request, kept for the next one that
// differs from it in nothing but the bytes of its tensor, and in its id.
//
// Clients send the same shapes over and over. For a small tensor it takes
// longer to read, check and compile what is asked for than to do it.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/program.h"
#include "server/wire/payload.h"

namespace axis {

struct CallContext;
class Model;

// What a message has before and after the data of its only tensor. Protobuf
// writes fields by number, an op after the data; others write it before.
struct Envelope {
  std::string head, tail;
  // Where in the head is the id, which any other text of ASCII may replace.
  size_t id_begin = 0, id_bytes = 0;

  int64_t size() const {
    return static_cast<int64_t>(head.size() + tail.size());
  }
};

// Serves requests of `type` of `message_bytes` bytes that lie in `envelope`.
// All else is the data of their only tensor, so whatever is read in them
// follows from the envelope and the length alone.
struct Recipe {
  const google::protobuf::Descriptor* type;
  int64_t message_bytes;
  Envelope envelope;
  Program program;
  std::vector<grpc::Slice> prefixes;  // of the response: before each output
  size_t prefix_id_begin = 0;         // where the first one has the id
  std::string shapes;                 // as of a CallReport
  const Model* model = nullptr;       // that counts it; of ModelInfer only
  bool is_light = false;              // see light.h
};

// What is in `message` but [begin, end), if that is little.
std::optional<Envelope> EnvelopeOf(const grpc::ByteBuffer& message,
                                   int64_t begin, int64_t end);

// The recipes used last, a few dozen. Thread-safe.
class RecipeBook {
 public:
  // The recipe for the request that `slices` make up; null if there is none.
  std::shared_ptr<const Recipe> Find(const google::protobuf::Descriptor* type,
                                     std::span<const grpc::Slice> slices) const;

  // Whether there is one for `request`, which is not compressed, and light.
  bool HasLight(const google::protobuf::Descriptor* type,
                const grpc::ByteBuffer& request) const;

  // Keeps `recipe`, unless it is too large to be worth its memory. Returns it.
  std::shared_ptr<const Recipe> Keep(Recipe recipe);

 private:
  // Those of a length share a shelf, where the newest replaces the oldest.
  struct Shelf {
    std::array<std::shared_ptr<const Recipe>, 4> recipes;
    size_t oldest = 0;
  };
  static size_t PlaceOf(const google::protobuf::Descriptor* type,
                        int64_t message_bytes);

  mutable std::mutex mutex_;
  std::array<Shelf, 16> shelves_;
};

// Serves the request of `recipe` that holds `data`, and has another `id` unless
// that is empty.
absl::Status Follow(const Recipe& recipe, absl::string_view id, Payload data,
                    grpc::ByteBuffer& response, const CallContext& call);

struct Served {
  std::shared_ptr<const Recipe> recipe;  // null: it was not
  std::string id;                        // of the request, if it has one
  absl::Status status;
};

// Serves `request` if `call` knows a recipe for it.
Served ServeByRecipe(const google::protobuf::Descriptor* type,
                     grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                     const CallContext& call);

}  // namespace axis
