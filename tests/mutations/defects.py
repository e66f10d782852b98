"""The defects of kernels/ without copy/ that mutations/run.py plants: (file,
what stands there, what is planted instead, the tests that must notice).

A test is a target of tests/ ("plan_test"), or a script and its arguments
("e2e/errors.py"). What stands there must be found once, or the defect is out
of date, which is an error.
"""

GEOMETRY = ["view_test", "ops_test", "plan_test", "program_test", "chains_test",
            "graph_test"]

KERNELS = [
    # Views.
    ("kernels/view.cc", "stride *= std::max<int64_t>(shape[i], 1);",
     "stride = std::max<int64_t>(shape[i], 1);", GEOMETRY),
    ("kernels/view.cc", "outer[1] = blocks + (rest > 0);",
     "outer[1] = blocks;", GEOMETRY),
    ("kernels/view.cc", "    begin -= first * inner;\n", "", GEOMETRY),
    ("kernels/view.cc", "if (begin + extent > inner) return std::nullopt;",
     "", GEOMETRY),
    ("kernels/view.cc", "mode = {wanted, mode.stride * inner.extent};",
     "mode = {wanted, mode.stride};", GEOMETRY),
    ("kernels/view.cc", "if (mode.extent % wanted != 0) return std::nullopt;",
     "if (mode.extent < wanted) return std::nullopt;", GEOMETRY),
    ("kernels/view.cc", "i < view.rank(); ++i) ++view.ends[i];",
     "i <= axis; ++i) ++view.ends[i];", GEOMETRY),
    ("kernels/view.cc", "*to++ = from[m];", "*to++ = from[axis];", GEOMETRY),
    ("kernels/view.cc", "if (ends[i] != i + 1) return false;", "", GEOMETRY),
    # Ops: swapped groups, dropped checks, pieces that begin elsewhere.
    ("kernels/ops.cc", "Split(view, axis, op.group);",
     "Split(view, axis, ShapeOf(view)[axis] / op.group);", GEOMETRY),
    ("kernels/ops.cc", "op.backward ? op.group_size : extent / op.group_size;",
     "op.backward ? extent / op.group_size : op.group_size;", GEOMETRY),
    ("kernels/ops.cc", "    begin += length;\n", "", GEOMETRY),
    ("kernels/ops.cc", "rest -= length == -1 ? 0 : length;",
     "rest -= length;", GEOMETRY),
    ("kernels/ops.cc", "    seen[static_cast<size_t>(axis)] = true;\n", "",
     GEOMETRY),
    ("kernels/ops.cc",
     "if (op.group >= 1 && extent % op.group == 0) return",
     "if (op.group >= 1) return", GEOMETRY),
    ("kernels/ops.cc", "if (rest != 0 && !open)", "if (rest < 0 && !open)",
     GEOMETRY),
    # Plans.
    ("kernels/plan.cc",
     "if (s_left % extent != 0 || d_left % extent != 0) return false;",
     "if (s_left % extent != 0) return false;", GEOMETRY),
    ("kernels/plan.cc",
     "outer.src_stride == inner.extent * inner.src_stride &&\n"
     "         outer.dst_stride == inner.extent * inner.dst_stride;",
     "outer.src_stride == inner.extent * inner.src_stride;", GEOMETRY),
    ("kernels/plan.cc", "      extent *= mode.extent;\n", "", GEOMETRY),
    ("kernels/plan.cc", "if (extent > 1 && stride != 1) {",
     "if (stride != 1) {", GEOMETRY),
    ("kernels/plan.cc", "(elements / per_unit + (elements % per_unit != 0))",
     "(elements / per_unit)", GEOMETRY),
    ("kernels/plan.cc", "plan.run / 8 == dst_bytes &&\n"
     "         plan.src_offset % UnitBits(plan.item_bits) == 0;",
     "plan.run / 8 == dst_bytes;", GEOMETRY),
    ("kernels/plan.cc", "item_bits % 3 == 0 ? 24 : 8; }",
     "item_bits % 3 == 0 ? 8 : 8; }", GEOMETRY),
    ("kernels/plan.cc", "    part_.dst_offset += skip;\n", "",
     ["plan_test", "pieces_test"]),
    # Programs: missing padding, memory that dies or is counted wrongly.
    ("kernels/program.cc",
     "  std::optional<Views> views = Apply(op, tensor.view);\n",
     "  name(k);\n  std::optional<Views> views = Apply(op, tensor.view);\n",
     ["program_test"]),
    ("kernels/program.cc", "if (PackedBytes(written, item_bits) < bytes) {",
     "if (false) {", GEOMETRY),
    ("kernels/program.cc", "if (last_read[src] == p && !kept[src])",
     "if (!kept[src])", GEOMETRY),
    ("kernels/program.cc",
     "program.peak_bytes = std::max(program.peak_bytes, live);",
     "program.peak_bytes = live;", GEOMETRY),
    ("kernels/program.cc", "made.size() + views->size() > size_t{kMaxOutputs}",
     "made.size() + views->size() >= size_t{kMaxOutputs}",
     [*GEOMETRY, "e2e/errors.py"]),
    ("kernels/program.cc", "        live += program.buffer_bytes[b];\n",
     "        live += 0;\n", GEOMETRY),
    # Units that are shared.
    ("kernels/plan.cc", "whole(plan.dst_offset) && whole(plan.run) &&",
     "whole(plan.dst_offset) &&", ["copy_test"]),
    ("kernels/plan.cc", "} else if (plan->loops != all->loops) {",
     "} else if (false) {", GEOMETRY),
    ("kernels/plan.cc", "plan.loops.empty() && plan.places.empty() &&",
     "plan.loops.empty() &&", GEOMETRY),
]
