// Shuffle against oneDNN itself, byte for byte: forward and backward, every
// layout and type that it shuffles, padding included.
#include <gtest/gtest.h>

#include <dnnl.hpp>
#include <map>
#include <random>
#include <vector>

#include "kernels/copy.h"
#include "kernels/program.h"

namespace axis {
namespace {

using dnnl::memory;
using Bytes = std::vector<std::byte>;

// A tensor of oneDNN: its channels in blocks of so many, 0 for channels last.
memory::desc Desc(const memory::dims& shape, memory::data_type type,
                  int64_t block) {
  using tag = memory::format_tag;
  const tag tags[][3] = {{tag::aBc4b, tag::aBc8b, tag::aBc16b},
                         {tag::aBcd4b, tag::aBcd8b, tag::aBcd16b},
                         {tag::aBcde4b, tag::aBcde8b, tag::aBcde16b}};
  if (block > 1)
    return {shape, type,
            tags[shape.size() - 3][block == 4   ? 0
                                   : block == 8 ? 1
                                                : 2]};
  memory::dims strides(shape.size());
  memory::dim stride = 1;
  if (block == 0) stride = shape[1];
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (i != 1 || block == 1) stride *= shape[i];
  }
  if (block == 0) strides[1] = 1;
  return {shape, type, strides};
}

class OneDnn {
 public:
  // What oneDNN makes of `src`; empty if it does not offer the combination.
  Bytes Shuffle(const memory::desc& desc, dnnl::prop_kind kind, int axis,
                int group_size, const Bytes& src) {
    Bytes in = src, out(src.size());
    memory from(desc, engine_, in.data()), to(desc, engine_, out.data());
    try {
      const bool backward = kind == dnnl::prop_kind::backward;
      const auto forward_kind =
          backward ? dnnl::prop_kind::forward_training : kind;
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::shuffle_forward::primitive_desc forward(
          engine_, forward_kind, desc, desc, axis, group_size);
      const auto way_back = [&] {
        return dnnl::shuffle_backward(
            {engine_, desc, desc, axis, group_size, forward});
      };
#else
      const dnnl::shuffle_forward::primitive_desc forward(
          {forward_kind, desc, axis, group_size}, engine_);
      const auto way_back = [&] {
        return dnnl::shuffle_backward(
            {{desc, axis, group_size}, engine_, forward});
      };
#endif
      if (backward) {
        way_back().execute(
            stream_, {{DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, to}});
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

Bytes Ours(const InputSpec& spec, const Shuffle& shuffle, const Bytes& src) {
  const Op op = shuffle;
  const Program program =
      *CompileProgram({&spec, 1}, {&op, 1}, [](size_t) { return "op"; });
  std::vector<Bytes> buffers = {src};
  for (size_t i = 1; i < program.buffer_bytes.size(); ++i)
    buffers.emplace_back(static_cast<size_t>(program.buffer_bytes[i]),
                         std::byte{0x5A});
  for (const Program::Pass& pass : program.passes) {
    std::vector<Target> targets;
    for (const Program::Write& write : pass.writes) {
      Bytes& dst = buffers[static_cast<size_t>(write.buffer)];
      Zero(write.zeros, dst.data());
      targets.push_back({&write.plan, dst.data()});
    }
    const std::span<const std::byte> from =
        buffers[static_cast<size_t>(pass.src)];
    Copy({&from, 1}, targets);
  }
  return buffers[static_cast<size_t>(program.outputs[0].buffer)];
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
  const memory::dims shapes[] = {
      {1, 12, 5, 7}, {2, 24, 3, 4}, {1, 36, 9},      {3, 16, 36, 9},
      {2, 10, 3, 3}, {1, 17, 4, 2}, {4, 6, 2, 2, 3}, {24},
      {7, 6},        {1, 3, 8, 6},  {2, 20, 4, 2, 3}};
  // The AVX-512 kernels of oneDNN 2.6 write past their output where bf16 is in
  // blocks of 4, so that they are no oracle.
  dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  OneDnn onednn;
  std::mt19937 rng(1);
  int absent = 0;
  std::map<int64_t, int> compared;  // by layout
  for (const Type& type : types)
    for (const memory::dims& shape : shapes)
      for (const int64_t block : {1, 0, 4, 8, 16}) {
        if (block != 1 && (shape.size() < 2 || (block > 1 && shape.size() < 3)))
          continue;
        const InputSpec spec{
            {shape.begin(), shape.end()}, type.bytes * 8, {block}};
        const memory::desc desc = Desc(shape, type.type, block);
        Bytes src(desc.get_size());
        ASSERT_EQ(StoredBytes(spec.shape, spec.layout, spec.item_bits),
                  static_cast<int64_t>(src.size()));
        // Padding, too, is anything: neither side may read it.
        for (std::byte& b : src) b = static_cast<std::byte>(rng());
        for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
          for (memory::dim g = 1; g <= shape[static_cast<size_t>(axis)]; ++g) {
            if (shape[static_cast<size_t>(axis)] % g != 0) continue;
            for (const dnnl::prop_kind kind :
                 {dnnl::prop_kind::forward_training,
                  dnnl::prop_kind::forward_inference,
                  dnnl::prop_kind::backward}) {
              const Bytes theirs =
                  onednn.Shuffle(desc, kind, axis, static_cast<int>(g), src);
              if (theirs.empty()) {
                ++absent;
                continue;
              }
              const bool backward = kind == dnnl::prop_kind::backward;
              ASSERT_EQ(Ours(spec, {axis, g, backward}, src), theirs)
                  << "rank " << shape.size() << ", channels " << shape[1]
                  << ", blocks of " << block << ", axis " << axis
                  << ", group_size " << g << ", backward " << backward;
              ++compared[block];
            }
          }
      }
  std::printf(
      "summary: oneDNN shuffles that agree byte for byte, forward and "
      "backward: %d row-major, %d channels last, %d in blocks of 4, %d of 8, "
      "%d of 16; %d combinations that oneDNN lacks\n",
      compared[1], compared[0], compared[4], compared[8], compared[16], absent);
  for (const int64_t block : {1, 0, 4, 8, 16})
    EXPECT_GT(compared[block], 500) << block;
}

}  // namespace
}  // namespace axis
