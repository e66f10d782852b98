#include "server/connections/conversations.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "server/connections/conversation.h"

namespace axis {
namespace {

// By socket. Pages of it that no socket needs are never touched; a socket
// beyond it is not listened to.
std::array<std::atomic<Conversation*>, 1 << 20> g_conversations;

std::atomic<Conversation*>* FindPlace(int socket) {
  const auto i = static_cast<size_t>(socket);
  return i < g_conversations.size() ? &g_conversations[i] : nullptr;
}

// Null if it has none.
Conversation* Find(int socket) {
  std::atomic<Conversation*>* const place = FindPlace(socket);
  return place == nullptr ? nullptr : place->load(std::memory_order_acquire);
}

// Calls take(bytes) for the pieces of a message up to so many bytes, as long as
// it returns true; whether it always did.
template <class Take>
bool TakePieces(const msghdr& message, size_t bytes, const Take& take) {
  for (size_t i = 0; bytes > 0 && i < message.msg_iovlen; ++i) {
    const iovec& piece = message.msg_iov[i];
    const size_t size = std::min(bytes, piece.iov_len);
    if (!take(std::span(static_cast<const uint8_t*>(piece.iov_base), size)))
      return false;
    bytes -= size;
  }
  return true;
}

}  // namespace

void BeginConversation(int socket) {
  if (auto* const place = FindPlace(socket); place != nullptr)
    delete place->exchange(new Conversation);
}

void EndConversation(int socket) {
  if (Find(socket) != nullptr) delete FindPlace(socket)->exchange(nullptr);
}

bool HearFrom(int socket, const msghdr& message, size_t bytes) {
  Conversation* const conversation = Find(socket);
  return conversation == nullptr ||
         TakePieces(message, bytes, [=](std::span<const uint8_t> piece) {
           return conversation->Hear(piece);
         });
}

void SayTo(int socket, const msghdr& message, size_t bytes) {
  Conversation* const conversation = Find(socket);
  if (conversation == nullptr) return;
  TakePieces(message, bytes, [=](std::span<const uint8_t> piece) {
    conversation->Say(piece);
    return true;
  });
}

}  // namespace axis
