"""The defects that mutations/run.py plants: (file, what stands there, what is
planted instead, the tests that must notice).

A test is a target of tests/ ("plan_test"), or a script and its arguments
("e2e/errors.py"). What stands there must be found once, or the defect is out
of date, which is an error.
"""

GEOMETRY = ["view_test", "ops_test", "plan_test", "program_test", "graph_test"]
ENGINE = ["copy_test", "pieces_test"]

KERNELS = [
    # Views.
    ("kernels/view.cc", "stride *= std::max<int64_t>(shape[i], 1);",
     "stride = std::max<int64_t>(shape[i], 1);", GEOMETRY),
    ("kernels/view.cc", "outer[1] = blocks + (rest > 0);",
     "outer[1] = blocks;", GEOMETRY),
    ("kernels/view.cc", "    begin -= first * inner;\n", "", GEOMETRY),
    ("kernels/view.cc", "if (begin + extent > inner) return std::nullopt;",
     "", GEOMETRY),
    ("kernels/view.cc", "head.push_back({wanted, mode.stride * inner});",
     "head.push_back({wanted, mode.stride});", GEOMETRY),
    ("kernels/view.cc", "} else if (mode.extent % wanted == 0) {",
     "} else if (mode.extent >= wanted) {", GEOMETRY),
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
    # The pool.
    ("kernels/copy/buffer_pool.cc",
     "    live_bytes_ -= bytes;\n    if (bytes <=", "    if (bytes <=",
     ["buffer_pool_test"]),
    ("kernels/copy/buffer_pool.cc", "TakeOldest(max_idle_bytes_ - bytes);",
     "TakeOldest(max_idle_bytes_);", ["buffer_pool_test"]),
    # The engine: tails, units that are shared, pieces, vectors.
    ("kernels/copy.cc", "whole(plan.dst_offset) && whole(plan.run) &&",
     "whole(plan.dst_offset) &&", ENGINE),
    ("kernels/copy.cc", "    at_ += size;\n", "", ENGINE),
    ("kernels/copy.cc", "      begins.push_back(size);",
     "      begins.push_back(0);", ENGINE),
    ("kernels/copy/narrow/narrow.cc", "if ((to + items) % unit_items != 0)",
     "if (false)", ENGINE),
    ("kernels/copy/narrow/narrow.cc", "    if (filled != items_) {",
     "    if (filled > items_) {", ENGINE),
    ("kernels/copy/partition.cc",
     "plan_part(cut.extent - (parts - 1) * deal.grain);",
     "plan_part(deal.grain);", ENGINE),
    ("kernels/copy/byte_copy.cc",
     "if (outer.src_stride == loop.extent * loop.src_stride &&",
     "if (", ENGINE),
    ("kernels/copy/block_plan.cc", "if (last != bytes - 1) return 0;", "",
     ENGINE),
    ("kernels/copy/narrow/pack.cc",
     "packed[i] = static_cast<uint8_t>(items[2 * i] | items[2 * i + 1] << 4);",
     "packed[i] = static_cast<uint8_t>(items[2 * i + 1] | items[2 * i] << 4);",
     ENGINE),
    ("kernels/copy/block/runs-inl.h",
     "for (; i + kVectorBytes < bytes; i += kVectorBytes)",
     "for (; i + 2 * kVectorBytes < bytes; i += kVectorBytes)", ENGINE),
]

SERVER = [
    # The wire.
    ("server/wire/wire.cc", "if (tensors_.size() == kMaxInputs) {",
     "if (tensors_.size() == kMaxInputs + 1) {", ["wire_test"]),
    ("server/wire/wire.cc",
     "cost += fields * kEntryCost + in.position() - begin;", "",
     ["wire_test", "wire_mutation_test"]),
    ("server/wire/wire.cc",
     "        tensor.values.reset();\n        tensor.values_cost = 0;\n", "",
     ["wire_test", "wire_mutation_test"]),
    ("server/wire/wire.cc", "if (++values_parts > kMaxValuesParts) {",
     "if (++values_parts > kMaxValuesParts + 1) {", ["wire_test"]),
    ("server/wire/payload.cc", "    begin = 0;\n", "", ["payload_test"]),
    # Compression.
    ("server/wire/inflate.cc",
     "if (z.total_in != message.Length()) return Corrupt();", "",
     ["service_test", "guard/attacks.py"]),
    # A connection that is closed under its client's eyes.
    ("server/process/linger.cc",
     "if (axis::IsOpen(descriptor) && axis::waiter().Take(descriptor)) "
     "return 0;", "", ["guard/keepalive.py"]),
    # Admission: not returned, or returned twice.
    ("server/process/admission.cc", "  admission_.held_ -= held_;\n", "",
     ["service_test", "stream_test"]),
    ("server/process/admission.cc",
     "    admission_.held_ -= bytes;\n    refused_",
     "    refused_", ["service_test", "stream_test"]),
    # Shares, and who may come in.
    ("server/process/admission.cc", "own > held_ &&\n", "\n", ["guard_test"]),
    ("server/process/admission.cc", "own > 0 && ", "", ["guard_test"]),
    ("server/process/admission.cc", "client_->bytes -= held_;", "",
     ["guard_test"]),
    ("server/guard/guard.cc", "bits.s6_addr + 8, ", "bits.s6_addr + 9, ",
     ["guard_test"]),
    ("server/guard/access.cc", "knows &= !credentials.token.empty();", "",
     ["guard/access.py"]),
    ("server/guard/access.cc", "if (allowed) return *name;",
     "if (name != nullptr) return *name;", ["guard/access.py"]),
    ("server/call/corridor.cc",
     "    AXIS_RETURN_IF_ERROR(call.lease.Take(program.peak_bytes));\n", "",
     ["service_test"]),
    ("server/call/corridor.cc",
     "    AXIS_RETURN_IF_ERROR(CheckResponse(program, inputs, headers, call));"
     "\n", "", ["service_test"]),
    # Elements.
    ("server/elements/strings.cc", "    if (length > left)\n",
     "    if (left < 0)\n", ["strings_test"]),
    ("server/elements/strings.cc", "  if (at != size)\n", "  if (at > size)\n",
     ["strings_test"]),
    ("server/elements/values.cc",
     "if (value < range.min || value > range.max) return std::nullopt;",
     "if (value < range.min) return std::nullopt;", ["values_test"]),
    ("server/elements/values.cc",
     "if (spelling.bits < 8) std::fill(dst.begin(), dst.end(), std::byte{0});",
     "", ["values_test"]),
    # What messages mean.
    ("server/call/codec.cc", "return Shuffle{m.has_axis() ? m.axis() : 1,",
     "return Shuffle{m.has_axis() ? m.axis() : 0,",
     ["service_test", "conformance/run.py", "e2e/examples.py"]),
    ("server/call/codec.cc", "} else if (input.data.size() != size.bytes) {",
     "} else if (input.data.size() < size.bytes) {",
     ["service_test", "e2e/errors.py"]),
    # Streams.
    ("server/stream/stream.cc", "if (received_ == size) return",
     "if (received_ <= size) return", ["stream_test"]),
    ("server/stream/stream.cc", "if (data.size() > size - received_)",
     "if (data.size() > size)", ["stream_test"]),
    ("server/stream/route.cc",
     "ready = std::min(ready, o.dst_begin + part.dst_offset / 8);", "",
     ["stream_test"]),
    ("server/stream/window.cc",
     "group.dst_end, group.dst_end - before.dst_begin};",
     "group.dst_end, group.window};", ["window_test", "stream_test"]),
    # The Open Inference Protocol.
    ("server/oip/message/contents.cc",
     "if (out.count() != elements) return out.WrongCount("
     "absl::StrCat(out.count()));", "", ["infer_wire_test"]),
    ("server/shm/regions.cc",
     "if (offset + byte_size > static_cast<uint64_t>(info.st_size))",
     "if (offset > static_cast<uint64_t>(info.st_size))",
     ["oip/shared_memory.py", "conformance/oip_run.py"]),
]
