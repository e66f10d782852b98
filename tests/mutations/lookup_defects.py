"""The defects of what only CPUs with AVX-512 VBMI run, as defects.py has them."""

from copy_defects import ENGINE

LOOKUP = [
    ("kernels/copy/block/lookup/lookup-inl.h",
     ": hn::BlendedStore(x, last, Bytes(), to);",
     ": hn::StoreU(x, Bytes(), to);", ENGINE),
    # What is not streamed again.
    ("kernels/copy/block/stores-inl.h", "if (kStream && i < again_) return;",
     "if (kStream && i <= again_) return;", ENGINE),
    ("kernels/copy/block/squares-inl.h",
     "c = EveryOtherBlock<true>(even_ab, even_cd);",
     "c = EveryOtherBlock<true>(odd_ab, even_cd);", ENGINE),
    ("kernels/copy/block/squares-inl.h",
     "column(piece * kItems + i));", "column(i * 4 + piece));", ENGINE),
    # Lines that are put together from strip to strip.
    ("kernels/copy/block/stores-inl.h",
     "return;\n    uint8_t* const kept = kept_at_",
     ";\n    uint8_t* const kept = kept_at_", ENGINE),
    ("kernels/copy/block/stores-inl.h", "~uint64_t{0} << shift", "~uint64_t{0}",
     ENGINE),
    ("kernels/copy/block/lookup/line_stream-inl.h", "+\n      kLineBytes - bytes);",
     "+\n      bytes);", ENGINE),
    # Rows that are interleaved to lines.
    ("kernels/copy/block/lookup/line_stream-inl.h", "which_ & ((uint64_t{1} << shift_) - 1)",
     "(uint64_t{1} << shift_) - 1", ENGINE),
    ("kernels/copy/block/lookup/line_stream-inl.h", "which_(~uint64_t{0} << shift_)",
     "which_(~uint64_t{0})", ENGINE),
    ("kernels/copy/block/lookup/line_stream-inl.h", "if (shift_ + bytes >= kLineBytes) Put",
     "if (shift_ + bytes > kLineBytes) Put", ENGINE),
    ("kernels/copy/block/lookup/lines-inl.h", "MaskedLoad(rest, Bytes(), src",
     "LoadU(Bytes(), src", ENGINE),
    # Columns that are taken apart to them, shuffled runs, and rows.
    ("kernels/copy/block/lookup/lines-inl.h",
     "bytes * kRows - i * kLineBytes, 0,", "bytes * kRows, 0,", ENGINE),
    ("kernels/copy/block/lookup/lines-inl.h",
     "for (const Stream& stream : streams) stream.End();", "", ENGINE),
    ("kernels/copy/block/lookup/lines-inl.h",
     "shuffle.One(b, rest.From(src)), rest.bytes()",
     "shuffle.One(b, rest.From(begin)), rest.bytes()", ENGINE),
    ("kernels/copy/block/lookup/lines-inl.h",
     "const int64_t part = std::min(bytes, step);",
     "const int64_t part = step;", ENGINE),
    ("kernels/copy/block/lookup/lines-inl.h",
     "if (whole < item)\n", "if (whole == 0)\n", ENGINE),
    ("kernels/copy/block/stores-inl.h", "(uint64_t{1} << shift) - 1",
     "~uint64_t{0}", ENGINE),
    # Lines that are streamed two at a time.
    ("kernels/copy/block/stores-inl.h", "d, to - kLineBytes);", "d, to);",
     ENGINE),
    ("kernels/copy/block/stores-inl.h", "keeps_ = strip + 1 < strips;",
     "keeps_ = strip == 0;", ENGINE),
    ("kernels/copy/block/squares-inl.h", "return row(i) + piece * kPieceBytes;",
     "return row(i);", ENGINE),
]
