// Shuffle against oneDNN itself, byte for byte: forward and backward, plain
// layouts, every type that it shuffles.
#include <gtest/gtest.h>

#include <dnnl.hpp>
#include <random>
#include <vector>

#include "kernels/copy.h"
#include "kernels/program.h"

namespace axis {
namespace {

using dnnl::memory;
using Bytes = std::vector<std::byte>;

class OneDnn {
 public:
  // What oneDNN makes of `src`; empty if it does not offer the combination.
  Bytes Shuffle(const memory::dims& shape, memory::data_type type, int axis,
                int group_size, bool backward, const Bytes& src) {
    memory::dims strides(shape.size());
    memory::dim stride = 1;
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
      strides[i] = stride;
    const memory::desc desc(shape, type, strides);
    Bytes in = src, out(src.size());
    memory from(desc, engine_, in.data()), to(desc, engine_, out.data());
    try {
      const dnnl::shuffle_forward::primitive_desc forward(
          {dnnl::prop_kind::forward_training, desc, axis, group_size}, engine_);
      if (backward) {
        dnnl::shuffle_backward({{desc, axis, group_size}, engine_, forward})
            .execute(stream_,
                     {{DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, to}});
      } else {
        dnnl::shuffle_forward(forward).execute(
            stream_, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
      }
      stream_.wait();
    } catch (const dnnl::error&) {
      return {};
    }
    return out;
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
};

Bytes Ours(const memory::dims& shape, int64_t bits, const Shuffle& shuffle,
           const Bytes& src) {
  const Op op = shuffle;
  const InputSpec spec{{shape.begin(), shape.end()}, bits};
  const Program program =
      *CompileProgram({&spec, 1}, {&op, 1}, [](size_t) { return "op"; });
  Bytes out(src.size());
  const Target target{&program.passes[0].writes[0].plan, out.data()};
  const std::span<const std::byte> from = src;
  Copy({&from, 1}, {&target, 1});
  return out;
}

TEST(OneDnnOracle, ShuffleAgreesByteForByte) {
  struct Type {
    memory::data_type type;
    int64_t bytes;
  };
  const Type types[] = {{memory::data_type::f32, 4},
                        {memory::data_type::bf16, 2},
                        {memory::data_type::s32, 4},
                        {memory::data_type::s8, 1},
                        {memory::data_type::u8, 1}};
  const memory::dims shapes[] = {{1, 12, 5, 7},   {2, 24, 3, 4}, {1, 36, 9},
                                 {3, 16, 36, 9},  {2, 10, 3, 3}, {1, 17, 4, 2},
                                 {4, 6, 2, 2, 3}, {24}};
  OneDnn onednn;
  std::mt19937 rng(1);
  int compared = 0, absent = 0;
  for (const Type& type : types)
    for (const memory::dims& shape : shapes) {
      memory::dim bytes = type.bytes;
      for (memory::dim e : shape) bytes *= e;
      Bytes src(static_cast<size_t>(bytes));
      for (std::byte& b : src) b = static_cast<std::byte>(rng());
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
        for (memory::dim g = 1; g <= shape[static_cast<size_t>(axis)]; ++g) {
          if (shape[static_cast<size_t>(axis)] % g != 0) continue;
          for (const bool backward : {false, true}) {
            const Bytes theirs = onednn.Shuffle(
                shape, type.type, axis, static_cast<int>(g), backward, src);
            if (theirs.empty()) {
              ++absent;
              continue;
            }
            ASSERT_EQ(Ours(shape, type.bytes * 8, {axis, g, backward}, src),
                      theirs)
                << "axis " << axis << " group_size " << g << " backward "
                << backward;
            ++compared;
          }
        }
    }
  std::printf(
      "summary: %d oneDNN shuffles agree byte for byte, forward and "
      "backward; %d combinations that oneDNN lacks\n",
      compared, absent);
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace axis
