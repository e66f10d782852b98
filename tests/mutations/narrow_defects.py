"""The defects of kernels/copy/narrow/, as defects.py has them."""

from copy_defects import ENGINE

SKEWED = ["skewed_test", "copy_test"]

NARROW = [
    ("kernels/copy/narrow/narrow.cc", "if ((to + items) % unit_items != 0)",
     "if (false)", ENGINE),
    ("kernels/copy/narrow/narrow.cc", "    if (filled != items_) {",
     "    if (filled > items_) {", ENGINE),
    ("kernels/copy/narrow/pack.cc",
     "packed[i] = static_cast<uint8_t>(items[2 * i] | items[2 * i + 1] << 4);",
     "packed[i] = static_cast<uint8_t>(items[2 * i + 1] | items[2 * i] << 4);",
     ENGINE),
    # Rows that begin inside bytes: what shares a byte with them, the last
    # vector, the last byte; and matrices of them that are cut into blocks.
    ("kernels/copy/narrow/shift.cc", "(*dst & ~mask) |", "", SKEWED),
    ("kernels/copy/narrow/shift.cc", "src[from + bits > 8], 8 - from);",
     "src[1], 8 - from);", SKEWED),
    ("kernels/copy/narrow/shift.cc", "hn::BitCast(d, later), late)",
     "hn::BitCast(d, later), soon)", SKEWED),
    ("kernels/copy/narrow/shift.cc", "    if (at == last) return;\n",
     "    if (at + static_cast<int64_t>(hn::Lanes(d)) > last) return;\n",
     SKEWED),
    ("kernels/copy/narrow/shift.cc", "(bits - 1) >> 3", "bits >> 3", SKEWED),
    ("kernels/copy/narrow/shift.cc", "(item_bits == 4)", "(item_bits != 1)",
     SKEWED),
    ("kernels/copy/narrow/skewed.cc", "d + i + j * b.dst_stride",
     "d + i + j", SKEWED),
    ("kernels/copy/narrow/skewed.cc", "s + i * a.src_stride + j",
     "s + i * a.src_stride", SKEWED),
    ("kernels/copy/narrow/skewed.cc",
     "&& a * b >= kLeastMatrix", "", ["skewed_test"]),
    ("kernels/copy/narrow/skewed.cc", "a >= kLeastRow", "true",
     ["skewed_test"]),
    ("kernels/copy/narrow/squares.cc",
     "dst + (d + k * batch.dst_stride) / items + i", "dst + i", ENGINE),
    ("kernels/copy/narrow/squares.cc", "scratch + k * block_bytes, pitch",
     "scratch, pitch", ["skewed_test"]),
    ("kernels/copy/narrow/squares.cc", "std::min(most, batch.extent - k)",
     "most", ["skewed_test"]),
    ("kernels/copy/narrow/squares.cc",
     "b.extent < LeastRow(item_bits) * items", "b.extent < 0",
     ["skewed_test"]),
    ("kernels/copy/narrow/squares.cc",
     "if (outer.back().extent < least) return std::nullopt;", "",
     ["skewed_test"]),
    ("kernels/copy/narrow/squares.cc", "return x.extent < y.extent;",
     "return false;", ["skewed_test"]),
]
