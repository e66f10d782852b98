#include "server/call/recipe.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "kernels/status.h"
#include "server/call/corridor.h"
#include "server/call/light.h"

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

bool IsAsciiAt(std::span<const grpc::Slice> slices, size_t begin, size_t size) {
  return ForEachPiece(slices, begin, size, [](absl::string_view piece) {
    return absl::c_all_of(piece, absl::ascii_isascii);
  });
}

// Whether the message that `slices` make up begins and ends as `envelope`.
bool IsIn(const Envelope& envelope, std::span<const grpc::Slice> slices,
          int64_t message_bytes) {
  const absl::string_view head = envelope.head, tail = envelope.tail;
  const size_t id_end = envelope.id_begin + envelope.id_bytes;
  return AreAt(slices, 0, head.substr(0, envelope.id_begin)) &&
         IsAsciiAt(slices, envelope.id_begin, envelope.id_bytes) &&
         AreAt(slices, id_end, head.substr(id_end)) &&
         AreAt(slices, static_cast<size_t>(message_bytes) - tail.size(), tail);
}

// Whether requests of `recipe` are light: nothing of them has to be parsed.
bool IsLight(const Recipe& recipe) {
  const Program& program = recipe.program;
  const Work work = {
      .ops = std::max<int64_t>(1, static_cast<int64_t>(program.passes.size()))};
  bool is_uneven = false;
  for (const Program::Pass& pass : program.passes)
    for (const Program::Write& write : pass.writes)
      is_uneven = is_uneven || write.plan.item_bits % 8 != 0;
  return work.IsLight(std::max(recipe.message_bytes,
                               *absl::c_max_element(program.buffer_bytes)),
                      is_uneven);
}

// What is in the response before the first output.
grpc::Slice FirstPrefix(const Recipe& recipe, absl::string_view id) {
  const grpc::Slice& prefix = recipe.prefixes.front();
  if (id.empty()) return prefix;
  std::string named(prefix.begin(), prefix.end());
  named.replace(recipe.prefix_id_begin, id.size(), id.data(), id.size());
  return grpc::Slice(named);
}

}  // namespace

std::optional<Envelope> EnvelopeOf(const grpc::ByteBuffer& message,
                                   int64_t begin, int64_t end) {
  const auto bytes = static_cast<int64_t>(message.Length());
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

bool RecipeBook::HasLight(const google::protobuf::Descriptor* type,
                          const grpc::ByteBuffer& request) const {
  std::vector<grpc::Slice> slices;
  slices.reserve(4);
  if (!request.Dump(&slices).ok()) return false;
  const auto recipe = Find(type, slices);
  return recipe != nullptr && recipe->is_light;
}

std::shared_ptr<const Recipe> RecipeBook::Keep(Recipe recipe) {
  recipe.is_light = IsLight(recipe);
  const auto kept = std::make_shared<const Recipe>(std::move(recipe));
  if (kept->program.buffer_bytes.size() > kMaxBuffers) return kept;
  auto replaced = kept;
  const std::lock_guard lock(mutex_);
  Shelf& shelf = shelves_[PlaceOf(kept->type, kept->message_bytes)];
  shelf.recipes[shelf.oldest].swap(replaced);
  shelf.oldest = (shelf.oldest + 1) % shelf.recipes.size();
  return kept;
}

absl::Status Follow(const Recipe& recipe, absl::string_view id, Payload data,
                    grpc::ByteBuffer& response, const CallContext& call) {
  AXIS_RETURN_IF_ERROR(call.lease.Take(recipe.program.peak_bytes));
  std::vector<Payload> buffers;
  buffers.reserve(recipe.program.buffer_bytes.size());
  buffers.push_back(std::move(data));
  {
    const Phase phase(call, CallReport::kCopy);
    AXIS_RETURN_IF_ERROR(Execute(recipe.program, buffers, call));
  }
  const Phase phase(call, CallReport::kPack);
  absl::InlinedVector<grpc::Slice, 4> slices;
  for (size_t i = 0; i < recipe.prefixes.size(); ++i) {
    slices.push_back(i == 0 ? FirstPrefix(recipe, id) : recipe.prefixes[i]);
    const auto buffer = static_cast<size_t>(recipe.program.outputs[i].buffer);
    const std::vector<grpc::Slice>& bytes = buffers[buffer].slices();
    slices.insert(slices.end(), bytes.begin(), bytes.end());
  }
  grpc::ByteBuffer packed(slices.data(), slices.size());
  response.Swap(&packed);
  return absl::OkStatus();
}

Served ServeByRecipe(const google::protobuf::Descriptor* type,
                     grpc::ByteBuffer& request, grpc::ByteBuffer& response,
                     const CallContext& call) {
  Served served;
  if (call.recipes == nullptr) return served;
  Payload data;
  {
    const Phase phase(call, CallReport::kUnpack);
    std::vector<grpc::Slice> slices;
    slices.reserve(4);
    if (!request.Dump(&slices).ok()) return served;
    served.recipe = call.recipes->Find(type, slices);
    if (served.recipe == nullptr) return served;
    const Envelope& envelope = served.recipe->envelope;
    served.id = BytesAt(slices, envelope.id_begin, envelope.id_bytes);
    if (call.report.wants_shapes) call.report.shapes = served.recipe->shapes;
    data = Payload(std::move(slices));
    data.Narrow(static_cast<int64_t>(envelope.head.size()),
                served.recipe->message_bytes - envelope.size());
    request.Clear();
  }
  served.status =
      Follow(*served.recipe, served.id, std::move(data), response, call);
  return served;
}

}  // namespace axis
