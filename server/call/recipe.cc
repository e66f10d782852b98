#include "server/call/recipe.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace axis {
namespace {

// A recipe of the largest size takes about 100 KiB.
constexpr size_t kMaxHeadBytes = 4 << 10;
constexpr size_t kMaxBuffers = 64;

bool StartWith(std::span<const grpc::Slice> slices, const std::string& head) {
  size_t at = 0;
  for (const grpc::Slice& slice : slices) {
    const size_t n = std::min(slice.size(), head.size() - at);
    if (std::memcmp(slice.begin(), head.data() + at, n) != 0) return false;
    at += n;
    if (at == head.size()) return true;
  }
  return at == head.size();
}

}  // namespace

Recipe MakeRecipe(const google::protobuf::Descriptor* type, std::string head,
                  int64_t data, const Program& program,
                  const std::vector<pb::Tensor>& headers) {
  Recipe recipe{type,
                static_cast<int64_t>(head.size()) + data,
                std::move(head),
                program,
                {},
                {}};
  for (size_t i = 0; i < headers.size(); ++i) {
    const auto buffer = static_cast<size_t>(program.outputs[i].buffer);
    recipe.prefixes.emplace_back(
        DataPrefix(headers[i], program.buffer_bytes[buffer]));
  }
  return recipe;
}

std::optional<std::string> HeadOf(const grpc::ByteBuffer& message,
                                  const std::vector<WireTensor>& tensors) {
  const auto bytes = static_cast<int64_t>(message.Length());
  if (tensors.size() != 1 || !tensors[0].data || tensors[0].data_end != bytes)
    return std::nullopt;
  auto left = static_cast<size_t>(bytes - tensors[0].data->size());
  if (left > kMaxHeadBytes) return std::nullopt;
  std::string head;
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok()) return std::nullopt;
  for (const grpc::Slice& slice : slices) {
    const size_t n = std::min(left, slice.size());
    head.append(reinterpret_cast<const char*>(slice.begin()), n);
    left -= n;
  }
  return head;
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
        recipe->message_bytes == bytes && StartWith(slices, recipe->head))
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
