// Eigen: TensorShuffling, and TensorSlicing for splits.
#define EIGEN_USE_THREADS
#include <array>
#include <complex>
#include <memory>
#include <thread>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

#include "tests/bench/peers/peer.h"

namespace axis::bench {
namespace {

template <size_t rank>
using Index = std::array<int, rank>;  // 32 bits: what it is fastest with

template <class T, size_t rank>
using Tensor = Eigen::TensorMap<Eigen::Tensor<T, rank, Eigen::RowMajor, int>>;

template <size_t rank>
Index<rank> IndexOf(const Dims& dims) {
  Index<rank> index;
  for (size_t i = 0; i < rank; ++i) index[i] = static_cast<int>(dims[i]);
  return index;
}

template <class T, size_t rank>
Tensor<T, rank> TensorOf(const std::byte* data, const Dims& dims) {
  return {reinterpret_cast<T*>(const_cast<std::byte*>(data)),
          IndexOf<rank>(dims)};
}

// The threads of a pool of Eigen's, and the device that runs on them.
struct Threads {
  explicit Threads(int n) : pool(n), device(&pool, n) {}
  Eigen::ThreadPool pool;
  Eigen::ThreadPoolDevice device;
};

// A peer that calls assign(device) for each of `assigns`.
template <class Assign>
Peer PeerOf(std::vector<Assign> assigns, int threads) {
  if (threads == 1)
    return {"Eigen", [assigns = std::move(assigns)]() mutable {
              Eigen::DefaultDevice device;
              for (Assign& assign : assigns) assign(device);
            }};
  return {"Eigen", [assigns = std::move(assigns),
                    threads = std::make_shared<Threads>(threads)]() mutable {
            for (Assign& assign : assigns) assign(threads->device);
          }};
}

template <class T, size_t rank>
Peer Shuffling(const Dims& shape, const Dims& perm, Buffers buffers,
               int threads) {
  Dims out(rank);
  for (size_t i = 0; i < rank; ++i)
    out[i] = shape[static_cast<size_t>(perm[i])];
  auto assign = [src = TensorOf<T, rank>(buffers.src, shape),
                 dst = TensorOf<T, rank>(buffers.dst, out),
                 order = IndexOf<rank>(perm)](auto& device) mutable {
    dst.device(device) = src.shuffle(order);
  };
  return PeerOf(std::vector{assign}, threads);
}

template <class T, size_t rank>
Peer Slicing(const Case& c, Buffers buffers, int threads) {
  auto assign_of = [&](const Piece& piece, const Dims& begin) {
    return [src = TensorOf<T, rank>(buffers.src, c.shape),
            dst = TensorOf<T, rank>(buffers.dst + piece.dst_offset, piece.dims),
            from = IndexOf<rank>(begin),
            extents = IndexOf<rank>(piece.dims)](auto& device) mutable {
      dst.device(device) = src.slice(from, extents);
    };
  };
  std::vector<decltype(assign_of({}, {}))> assigns;
  Dims begin(rank);
  for (const Piece& piece : c.pieces) {
    assigns.push_back(assign_of(piece, begin));
    begin[c.axis] += piece.dims[c.axis];
  }
  return PeerOf(std::move(assigns), threads);
}

// `c` as a permutation of axes: a shuffle is one after its axis is split.
std::pair<Dims, Dims> PermutationOf(const Case& c) {
  if (c.op == "Transpose") return {c.shape, c.perm};
  Dims shape = c.shape, perm;
  shape[c.axis] = c.group;
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(c.axis) + 1,
               c.shape[c.axis] / c.group);
  for (size_t i = 0; i < shape.size(); ++i)
    perm.push_back(static_cast<int64_t>(i));
  std::swap(perm[c.axis], perm[c.axis + 1]);
  return {shape, perm};
}

template <class T>
std::vector<Peer> PeersOf(const Case& c, Buffers buffers, int threads) {
  if (c.op == "VariadicSplit") {
    switch (c.shape.size()) {
      case 2:
        return {Slicing<T, 2>(c, buffers, threads)};
      case 3:
        return {Slicing<T, 3>(c, buffers, threads)};
      case 4:
        return {Slicing<T, 4>(c, buffers, threads)};
      default:
        return {};
    }
  }
  const auto [shape, perm] = PermutationOf(c);
  switch (shape.size()) {
    case 2:
      return {Shuffling<T, 2>(shape, perm, buffers, threads)};
    case 3:
      return {Shuffling<T, 3>(shape, perm, buffers, threads)};
    case 4:
      return {Shuffling<T, 4>(shape, perm, buffers, threads)};
    case 5:
      return {Shuffling<T, 5>(shape, perm, buffers, threads)};
    case 6:
      return {Shuffling<T, 6>(shape, perm, buffers, threads)};
    default:
      return {};
  }
}

}  // namespace

std::vector<Peer> EigenPeers(const Case& c, Buffers buffers, int threads) {
  if (c.op == "Shuffle") return {};
  switch (c.item_bits) {
    case 8:
      return PeersOf<uint8_t>(c, buffers, threads);
    case 16:
      return PeersOf<uint16_t>(c, buffers, threads);
    case 32:
      return PeersOf<float>(c, buffers, threads);
    case 64:
      return PeersOf<double>(c, buffers, threads);
    case 128:
      return PeersOf<std::complex<double>>(c, buffers, threads);
    default:
      return {};
  }
}

}  // namespace axis::bench
