// Claims of kernels/copy/partition/exchange.h: which copies are exchanges, and
// that each byte of them goes where it belongs.
#include "kernels/copy/partition/exchange.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/copy/block.h"
#include "tests/kernels/copy_checker.h"
#include "tests/kernels/random_copy.h"

namespace axis {
namespace {

using testing::Bytes;
using testing::EveryTarget;
using testing::GuardedBuffer;
using testing::Random;

// (g, h, p, n, q) items to (h, g, q, n, p).
struct Pixels {
  int64_t item, p = 1, n = 1, q = 1, g = 1, h = 1, gap = 0;

  int64_t image() const { return n * q * item + gap; }
  int64_t channel() const { return n * p * item + gap; }
  int64_t src_bytes() const { return g * h * p * image(); }
  int64_t dst_bytes() const { return g * h * q * channel(); }

  ByteCopy Copy() const {
    ByteCopy copy{item,
                  {{h, p * image(), g * q * channel()},
                   {g, h * p * image(), q * channel()},
                   {q, item, channel()},
                   {n, q * item, p * item},
                   {p, image(), item}}};
    Canonicalize(copy);
    return copy;
  }

  void Expect(const std::byte* src, std::byte* dst) const {
    for (int64_t r = 0; r < g * h; ++r)
      for (int64_t j = 0; j < q; ++j)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t k = 0; k < p; ++k)
            std::memcpy(dst + (r * q + j) * channel() + (i * p + k) * item,
                        src + ((r % g * h + r / g) * p + k) * image() +
                            (i * q + j) * item,
                        static_cast<size_t>(item));
  }
};

bool IsExchange(const Pixels& pixels, int64_t total_bytes = 1 << 10) {
  const auto exchange = FindExchange(pixels.Copy());
  return exchange && GainsFromScratch(*exchange, total_bytes, {});
}

TEST(ExchangeTest, BothSidesAreShorterThanAPieceAndPixelsAreMany) {
  EXPECT_TRUE(IsExchange({2, 3, 128, 4}));
  EXPECT_FALSE(IsExchange({2, 3, 127, 4}));
  EXPECT_TRUE(IsExchange({2, 3, 128, 7}));
  EXPECT_FALSE(IsExchange({2, 3, 128, 8}));  // rows of 16 bytes
  EXPECT_TRUE(IsExchange({2, 7, 128, 3}));
  EXPECT_FALSE(IsExchange({2, 8, 128, 3}));
  EXPECT_FALSE(IsExchange({3, 3, 128, 4}));  // nothing transposes such items
  // Neither a matrix nor pixels that do not follow one another.
  EXPECT_FALSE(FindExchange({2, {{900, 2, 6}, {3, 1800, 2}}}));
  ByteCopy apart = Pixels{2, 3, 128, 4}.Copy();
  for (Loop& loop : apart.loops)
    if (loop.extent == 128) loop.dst_stride += 2;
  EXPECT_FALSE(FindExchange(apart));
}

TEST(ExchangeTest, MoreImagesThanAreInterleavedAreExchangedInCacheAlone) {
  constexpr int64_t kL2 = Machine().l2;
  EXPECT_TRUE(IsExchange({2, 4, 128, 5}, kL2));
  EXPECT_TRUE(IsExchange({2, 5, 128, 4}, kL2 - 1));
  EXPECT_FALSE(IsExchange({2, 5, 128, 4}, kL2));
  // Of bytes, only if channels are few.
  EXPECT_TRUE(IsExchange({1, 5, 128, 4}));
  EXPECT_FALSE(IsExchange({1, 5, 128, 5}));
  EXPECT_TRUE(IsExchange({1, 4, 128, 5}));
}

TEST(ExchangeTest, EveryByteGoesWhereItBelongsAndNothingElseIsTouched) {
  const GuardedBuffer src(8 << 20), dst(8 << 20);
  Random random(5);
  EveryTarget target;
  int64_t exchanged = 0, in_parts = 0;
  for (int64_t i = 0; i < 3000; ++i) {
    target.Use(static_cast<size_t>(i));
    Pixels pixels{.item = int64_t{1} << random.In(0, 2)};
    const int64_t most = std::min<int64_t>(15, 15 / pixels.item);
    pixels.p = random.In(2, std::max<int64_t>(2, most));
    pixels.q = random.In(2, std::max<int64_t>(2, most));
    pixels.n = random.OneIn(4) ? random.In(2000, 9000) : random.In(128, 2000);
    if (random.OneIn(3)) pixels.g = random.In(2, 3);
    if (random.OneIn(3)) pixels.h = random.In(2, 3);
    if (random.OneIn(2)) pixels.gap = random.In(1, 40) * pixels.item;
    // Past the caches now and then.
    const int64_t total = random.OneIn(2) ? int64_t{1} << 30 : 1 << 10;
    const Move move{pixels.Copy(), nullptr, nullptr, {}};
    const auto exchange = FindExchange(move.copy);
    if (!exchange || !GainsFromScratch(*exchange, total, ThisMachine()))
      continue;
    ++exchanged;
    in_parts += pixels.p * pixels.n * pixels.q * pixels.item > 16 << 10;
    ASSERT_TRUE(testing::MovesAsExpected(
        random, src, pixels.src_bytes(), dst, pixels.dst_bytes(),
        [&](const std::byte* from, std::byte* to) {
          MoveExchange({move.copy, Bytes(from), Bytes(to), {}}, *exchange,
                       Bytes(from) + pixels.src_bytes(), total);
        },
        [&](const std::byte* from, std::byte* to) { pixels.Expect(from, to); }))
        << "exchange " << i << ": items of " << pixels.item << ", " << pixels.p
        << " x " << pixels.n << " x " << pixels.q << ", " << pixels.g
        << " times, gap " << pixels.gap;
  }
  EXPECT_GE(exchanged, 1000);
  EXPECT_GE(in_parts, 300);
}

}  // namespace
}  // namespace axis
