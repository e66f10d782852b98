// oneDNN: its reorder for every case that is strided, and its shuffle for
// ShuffleChannels and Shuffle.
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>

#include "tests/bench/peers/peer.h"

namespace axis::bench {
namespace {

using dnnl::memory;

// A primitive with its arguments, one for each output.
struct Execution {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

Dims DenseStrides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

// The type of an element, or of the `parts` that a wider one is made of.
struct ItemType {
  memory::data_type type;
  int64_t parts;
  int64_t part_bytes;
};

std::optional<ItemType> TypeOf(int64_t item_bits) {
  switch (item_bits) {
    case 8:
      return ItemType{memory::data_type::u8, 1, 1};
    case 16:
      return ItemType{memory::data_type::bf16, 1, 2};
    case 32:
      return ItemType{memory::data_type::f32, 1, 4};
    case 64:
      return ItemType{memory::data_type::f32, 2, 4};
    case 128:
      return ItemType{memory::data_type::f32, 4, 4};
    default:
      return std::nullopt;
  }
}

memory MemoryOf(const ItemType& item, Dims dims, Dims strides,
                const dnnl::engine& engine, const std::byte* data) {
  for (int64_t& stride : strides) stride *= item.parts;
  if (item.parts > 1) {
    dims.push_back(item.parts);
    strides.push_back(1);
  }
  return memory({dims, item.type, strides}, engine,
                const_cast<std::byte*>(data));
}

Execution Reorder(const Case& c, const ItemType& item, const Piece& piece,
                  Buffers buffers, const dnnl::engine& engine) {
  const memory src = MemoryOf(item, piece.dims, piece.src_strides, engine,
                              buffers.src + piece.src_offset * c.item_bits / 8);
  const memory dst = MemoryOf(item, piece.dims, DenseStrides(piece.dims),
                              engine, buffers.dst + piece.dst_offset);
  return {dnnl::reorder(src, dst), {{DNNL_ARG_FROM, src}, {DNNL_ARG_TO, dst}}};
}

// What it calls the layout of a Shuffle.
memory::format_tag TagOf(int64_t block) {
  switch (block) {
    case 0:
      return memory::format_tag::nhwc;
    case 1:
      return memory::format_tag::nchw;
    case 4:
      return memory::format_tag::nChw4c;
    case 8:
      return memory::format_tag::nChw8c;
    case 16:
      return memory::format_tag::nChw16c;
    default:
      return memory::format_tag::undef;
  }
}

Execution Shuffle(const Case& c, const ItemType& item, Buffers buffers,
                  const dnnl::engine& engine) {
  Dims dims = c.shape, strides = DenseStrides(c.shape);
  size_t axis = c.axis;
  // Its kernels look for channels at axis 1, however they lie in memory.
  for (; axis > 1; --axis) {
    std::swap(dims[axis], dims[axis - 1]);
    std::swap(strides[axis], strides[axis - 1]);
  }
  memory src = MemoryOf(item, dims, strides, engine, buffers.src);
  memory dst = MemoryOf(item, dims, strides, engine, buffers.dst);
  if (c.op == "Shuffle") {
    const memory::desc stored(dims, item.type, TagOf(c.block));
    src = memory(stored, engine, src.get_data_handle());
    dst = memory(stored, engine, dst.get_data_handle());
  }
  const dnnl::shuffle_forward::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, src.get_desc(),
       static_cast<int>(axis), static_cast<int>(c.shape[c.axis] / c.group)},
      engine);
  return {dnnl::shuffle_forward(desc),
          {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}}};
}

Peer PeerOf(std::string name, std::vector<Execution> executions,
            const dnnl::engine& engine) {
  return {std::move(name), [executions = std::move(executions),
                            stream = std::make_shared<dnnl::stream>(engine)] {
            for (const Execution& e : executions)
              e.primitive.execute(*stream, e.arguments);
            stream->wait();
          }};
}

}  // namespace

std::vector<Peer> DnnlPeers(const Case& c, Buffers buffers) {
  std::vector<Peer> peers;
  const std::optional<ItemType> item = TypeOf(c.item_bits);
  if (!item) return peers;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto offer = [&](const char* name, const auto& executions) {
    // An exception is how it says that it cannot.
    try {
      peers.push_back(PeerOf(name, executions(), engine));
    } catch (const dnnl::error&) {
    }
  };
  if (c.block <= 1)
    offer("oneDNN reorder", [&] {
      std::vector<Execution> reorders;
      for (const Piece& piece : c.pieces)
        reorders.push_back(Reorder(c, *item, piece, buffers, engine));
      return reorders;
    });
  if (c.group > 0)
    offer("oneDNN shuffle",
          [&] { return std::vector{Shuffle(c, *item, buffers, engine)}; });
  return peers;
}

}  // namespace axis::bench
