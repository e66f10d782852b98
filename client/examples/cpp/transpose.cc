// Transposes a 2 x 3 tensor with the C++ client: transpose HOST:PORT
#include <cstdint>
#include <iostream>
#include <vector>

#include "client/client.h"
#include "client/tune.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  axis::TuneProcess();
  // One client for the whole program; threads may share it.
  axis::Client client(argv[1]);

  const auto input = axis::MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  axis::pb::Transpose op;
  for (const int64_t axis : {1, 0}) op.add_order(axis);
  const absl::StatusOr<axis::Tensor> output = client.Transpose(input, op);
  if (!output.ok()) {
    std::cerr << axis::Client::FieldOf(output.status())
              << " is wrong: " << output.status() << "\n";
    return 1;
  }
  const auto numbers = axis::Elements<float>(*output);
  if (!numbers.ok()) return 1;
  std::cout << "[" << output->shape[0] << ", " << output->shape[1] << "]";
  for (const float number : *numbers) std::cout << " " << number;
  std::cout << "\n";
}
