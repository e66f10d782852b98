"""The defects of how transpositions are planned, as defects.py has them."""

PLANS = [
    # Long blocks in cache.
    ("kernels/copy/plan/transpose_plan.cc", "kCachedBlock / row,",
     "kCachedBlock / plan.b.extent,", ["block_plan_test"]),
    ("kernels/copy/plan/transpose_plan.cc",
     "WritesLines(plan, spacing) ? kCachedRun : runs.b_bytes",
     "runs.b_bytes", ["block_plan_test"]),
    ("kernels/copy/plan/transpose_plan.cc",
     "return spacing.halves && plan.item >= 4 &&", "return plan.item >= 4 &&",
     ["block_plan_test"]),
    # Rows that compete.
    ("kernels/copy/plan/spacing.h", "item == 1 && !wide ? way / 2 : way",
     "item == 1 ? way / 2 : way", ["transpose_plan_test"]),
    ("kernels/copy/plan/transpose_runs.cc", "return plan.a.extent >= 2 *",
     "return plan.a.extent >", ["transpose_plan_test"]),
    ("kernels/copy/plan/transpose_runs.cc", "return !t.in_l2 || plan.a.extent",
     "return plan.a.extent", ["transpose_plan_test"]),
    ("kernels/copy/plan/transpose_runs.cc", "!t.stream && spacing.ColumnsWait",
     "spacing.ColumnsWait", ["transpose_plan_test"]),
    # Short rows.
    ("kernels/copy/plan/block_plan.cc", "plan.a.extent * item >= kPiece &&",
     "plan.a.extent * item > kPiece &&", ["transpose_plan_test"]),
    ("kernels/copy/plan/block_plan.cc", "(few == 2 || few * item < kPiece)",
     "(few * item < kPiece)", ["transpose_plan_test"]),
    ("kernels/copy/plan/transpose_plan.cc",
     "item <= 2 && plan.b.extent * item <", "item <= 2 && plan.b.extent <",
     ["transpose_plan_test"]),
    # Tiles of rows that compete, and what lies beyond padded items.
    ("kernels/copy/plan/block_plan.cc", "places <= kFewPlaces / 2;",
     "places <= kFewPlaces;", ["transpose_plan_test"]),
    ("kernels/copy/plan/block_plan.cc", " && !IsPadded(plan.item))", ")",
     ["transpose_plan_test"]),
    ("kernels/copy/block/rows/padded-inl.h",
     "(block.num_a - Tile::kSlack) / Tile::kRows",
     "block.num_a / Tile::kRows", ["blocks_test"]),
    ("kernels/copy/plan/block_plan.cc", ") && RepeatOften(loops);", ");",
     ["transpose_plan_test"]),
    ("kernels/copy/plan/block_plan.cc", "plan.b.extent * plan.item < kLongRow)",
     "false)", ["transpose_plan_test"]),
]
