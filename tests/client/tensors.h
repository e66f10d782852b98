// A tensor to send, and what came back as text.
#pragma once

#include <string>

#include "client/tensor.h"

namespace axis {

inline Tensor Small() {
  return MakeTensor<uint8_t>({2, 3}, {'a', 'b', 'c', 'd', 'e', 'f'});
}

inline std::string Text(const Bytes& bytes) {
  std::string text(bytes.size(), '\0');
  bytes.CopyTo(text.data());
  return text;
}

}  // namespace axis
