// CompilePlan(), ForEachPart() and Copy() between any view and any layout,
// against a copy element by element.
#include "tests/fuzz/oracle.h"

namespace axis::fuzz {
namespace {

constexpr int64_t kMaxReach = 1 << 14;  // elements of a buffer

Shape AnyShape(Choices& choices) {
  Shape shape;
  int64_t left = choices.OneIn(4) ? 4096 : 512;
  for (int64_t rank = choices.In(1, 5); rank > 0; --rank) {
    shape.push_back(std::min(left, choices.In(1, 70)));
    left = std::max<int64_t>(1, left / shape.back());
  }
  return shape;
}

View Permuted(const View& view, Choices& choices) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < view.rank(); ++i) order.push_back(int64_t(i));
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[size_t(choices.In(0, int64_t(i) - 1))]);
  return Permute(view, order);
}

// What ops make of a dense tensor.
View AnyView(const Shape& shape, Choices& choices) {
  View view = Dense(shape);
  for (int64_t steps = choices.In(0, 4); steps > 0; --steps) {
    const size_t axis = size_t(choices.In(0, int64_t(view.rank()) - 1));
    const int64_t extent = ShapeOf(view)[axis];
    if (choices.OneIn(3)) {
      const int64_t keep = choices.In(1, extent);
      if (auto cut = Slice(view, axis, choices.In(0, extent - keep), keep))
        view = *cut;
    } else if (choices.OneIn(2)) {
      int64_t group = choices.In(1, extent);
      while (extent % group != 0) --group;
      if (auto split = Split(view, axis, group)) view = *split;
    }
    view = Permuted(view, choices);
    if (view.rank() > 1 && choices.OneIn(4)) view = Merge(view, 0);
  }
  return view;
}

// The same shape with its axes in any order and gaps between them.
View AnyLayout(const Shape& shape, Choices& choices) {
  View numbered = Dense(shape);
  View order = Permuted(numbered, choices), out = numbered;
  out.offset = choices.In(0, 5);
  int64_t stride = choices.OneIn(3) ? choices.In(1, 3) : 1;
  for (const Mode& mode : order.modes)
    for (size_t i = 0; i < out.rank(); ++i)
      if (numbered.modes[i] == mode && out.modes[i] == mode) {
        out.modes[i].stride = -stride;  // taken; the sign goes below
        stride *= shape[i];
        if (choices.OneIn(4)) stride += choices.In(1, 9);
        break;
      }
  for (Mode& mode : out.modes) mode.stride = std::abs(mode.stride);
  return out;
}

void Test(Choices& choices) {
  static constexpr int64_t kBits[] = {8, 16, 32, 64, 128, 4, 3, 6, 2, 1};
  const int64_t bits = kBits[choices.In(0, 9)];
  const View src = AnyView(AnyShape(choices), choices);
  const View dst =
      choices.OneIn(2) ? Dense(ShapeOf(src)) : AnyLayout(ShapeOf(src), choices);
  if (testing::Reach(dst) > kMaxReach) return;
  const auto plan = CompilePlan(src, dst, bits);
  if (!plan) {
    FUZZ_CHECK(dst != Dense(ShapeOf(src)));  // that always works
    return;
  }
  FUZZ_CHECK(BitsOf(*plan) == SizeOf(src) * bits);
  for (size_t i = 0; i < plan->loops.size(); ++i) {
    FUZZ_CHECK(plan->loops[i].extent > 1);
    FUZZ_CHECK(i == 0 ||
               plan->loops[i - 1].dst_stride >= plan->loops[i].dst_stride);
  }
  // All of the buffer that the view was made of may be read.
  const Memory from = Junk(PackedBytes(testing::Reach(src), bits));
  Memory wanted(size_t(PackedBytes(testing::Reach(dst), bits)));
  testing::CopyElements(src, dst, bits, from.data(), wanted.data());
  Memory got(wanted.size());
  const Target target{&*plan, got.data()};
  std::vector<Memory> pieces;
  size_t begin = 0;
  for (const size_t end : choices.Ends(from.size())) {
    pieces.emplace_back(from.begin() + ptrdiff_t(begin),
                        from.begin() + ptrdiff_t(end));
    begin = end;
  }
  const std::vector<std::span<const std::byte>> spans(pieces.begin(),
                                                      pieces.end());
  Copy(spans, {&target, 1});
  FUZZ_CHECK(got == wanted);
  // In parts, as streams have it.
  const int64_t all = testing::Reach(src) * bits;
  const int64_t cut = choices.In(0, testing::Reach(src)) * bits;
  int64_t moved = 0;
  const auto take = [&](int64_t first, int64_t last) {
    ForEachPart(*plan, first, last, [&](const Plan& part) {
      moved += BitsOf(part);
      FUZZ_CHECK(part.src_offset >= first);
      int64_t end = part.src_offset + part.run;
      for (const Loop& loop : part.loops)
        end += (loop.extent - 1) * loop.src_stride;
      FUZZ_CHECK(end <= last);
    });
  };
  take(0, cut);
  take(cut, all);
  FUZZ_CHECK(moved == BitsOf(*plan));
}

}  // namespace
}  // namespace axis::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  axis::fuzz::Choices choices(data, size);
  axis::fuzz::Test(choices);
  return 0;
}
