#include "server/call/recipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace axis {
namespace {

// A recipe of the largest size takes about 100 KiB.
constexpr int64_t kMaxEnvelopeBytes = 4 << 10;
constexpr size_t kMaxBuffers = 64;

// Calls f(bytes) for what `slices` hold in [begin, begin + size), piece by
// piece, until it returns false.
template <class F>
bool ForEachPiece(std::span<const grpc::Slice> slices, size_t begin,
                  size_t size, F f) {
  for (const grpc::Slice& slice : slices) {
    if (size == 0) break;
    if (begin >= slice.size()) {
      begin -= slice.size();
      continue;
    }
    const size_t n = std::min(size, slice.size() - begin);
    if (!f(absl::string_view(
            reinterpret_cast<const char*>(slice.begin()) + begin, n)))
      return false;
    size -= n;
    begin = 0;
  }
  return true;
}

std::string BytesAt(std::span<const grpc::Slice> slices, size_t begin,
                    size_t size) {
  std::string bytes;
  ForEachPiece(slices, begin, size, [&](absl::string_view piece) {
    bytes.append(piece.data(), piece.size());
    return true;
  });
  return bytes;
}

bool AreAt(std::span<const grpc::Slice> slices, size_t begin,
           absl::string_view bytes) {
  return ForEachPiece(slices, begin, bytes.size(),
                      [&](absl::string_view piece) {
                        return absl::ConsumePrefix(&bytes, piece);
                      });
}

// Whether the message that `slices` make up begins and ends as `envelope`.
bool IsIn(const Envelope& envelope, std::span<const grpc::Slice> slices,
          int64_t message_bytes) {
  const auto& [head, tail] = envelope;
  return AreAt(slices, 0, head) &&
         AreAt(slices, static_cast<size_t>(message_bytes) - tail.size(), tail);
}

}  // namespace

Recipe MakeRecipe(const google::protobuf::Descriptor* type, Envelope envelope,
                  int64_t data, const Program& program,
                  const std::vector<pb::Tensor>& headers) {
  Recipe recipe{type, envelope.size() + data, std::move(envelope), program, {},
                {}};
  for (size_t i = 0; i < headers.size(); ++i) {
    const auto buffer = static_cast<size_t>(program.outputs[i].buffer);
    recipe.prefixes.emplace_back(
        DataPrefix(headers[i], program.buffer_bytes[buffer]));
  }
  return recipe;
}

std::optional<Envelope> EnvelopeOf(const grpc::ByteBuffer& message,
                                   const std::vector<WireTensor>& tensors) {
  if (tensors.size() != 1 || !tensors[0].data) return std::nullopt;
  const auto bytes = static_cast<int64_t>(message.Length());
  const int64_t end = tensors[0].data_end;
  const int64_t begin = end - tensors[0].data->size();
  std::vector<grpc::Slice> slices;
  if (begin + bytes - end > kMaxEnvelopeBytes || !message.Dump(&slices).ok())
    return std::nullopt;
  return Envelope{BytesAt(slices, 0, static_cast<size_t>(begin)),
                  BytesAt(slices, static_cast<size_t>(end),
                          static_cast<size_t>(bytes - end))};
}

size_t RecipeBook::PlaceOf(const google::protobuf::Descriptor* type,
                           int64_t message_bytes) {
  const size_t key = static_cast<size_t>(message_bytes) * 64 +
                     static_cast<size_t>(type->index());
  return (key * 0x9E3779B97F4A7C15u) >> 60;
}

std::shared_ptr<const Recipe> RecipeBook::Find(
    const google::protobuf::Descriptor* type,
    std::span<const grpc::Slice> slices) const {
  int64_t bytes = 0;
  for (const grpc::Slice& slice : slices)
    bytes += static_cast<int64_t>(slice.size());
  const std::lock_guard lock(mutex_);
  for (const auto& recipe : shelves_[PlaceOf(type, bytes)].recipes)
    if (recipe != nullptr && recipe->type == type &&
        recipe->message_bytes == bytes && IsIn(recipe->envelope, slices, bytes))
      return recipe;
  return nullptr;
}

void RecipeBook::Keep(Recipe recipe) {
  if (recipe.program.buffer_bytes.size() > kMaxBuffers) return;
  const size_t place = PlaceOf(recipe.type, recipe.message_bytes);
  auto kept = std::make_shared<const Recipe>(std::move(recipe));
  const std::lock_guard lock(mutex_);
  Shelf& shelf = shelves_[place];
  shelf.recipes[shelf.oldest].swap(kept);
  shelf.oldest = (shelf.oldest + 1) % shelf.recipes.size();
}

}  // namespace axis
