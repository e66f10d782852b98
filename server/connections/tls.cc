// Conversations under TLS, where gRPC asks OpenSSL for what clients say. The
// linker takes these functions before those of OpenSSL, for gRPC too.
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/handover.h"
#include "server/connections/conversation.h"

namespace {

void End(void*, void* conversation, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<axis::Conversation*>(conversation);
}

// Of a connection, which owns it.
axis::Conversation& ConversationOf(SSL* ssl) {
  static const int index =
      SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, End);
  void* conversation = SSL_get_ex_data(ssl, index);
  if (conversation == nullptr) {
    conversation = new axis::Conversation;
    SSL_set_ex_data(ssl, index, conversation);
  }
  return *static_cast<axis::Conversation*>(conversation);
}

std::span<const uint8_t> Bytes(const void* data, size_t size) {
  return {static_cast<const uint8_t*>(data), size};
}

}  // namespace

extern "C" {

int SSL_read(SSL* ssl, void* data, int size) {
  const axis::InTurn turn(ssl);
  size_t read = 0;
  if (SSL_read_ex(ssl, data, static_cast<size_t>(size), &read) != 1) return -1;
  if (!ConversationOf(ssl).Hear(Bytes(data, read))) {
    // Which makes it an error that ends the connection.
    ERR_raise(ERR_LIB_USER, ERR_R_DISABLED);
    return -1;
  }
  return static_cast<int>(read);
}

int SSL_write(SSL* ssl, const void* data, int size) {
  const axis::InTurn turn(ssl);
  size_t written = 0;
  if (SSL_write_ex(ssl, data, static_cast<size_t>(size), &written) != 1)
    return -1;
  ConversationOf(ssl).Say(Bytes(data, written));
  return static_cast<int>(written);
}

}  // extern "C"
