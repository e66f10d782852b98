"""Measures the peers that live in Python, as run.py tells it to.

usage: peers.py THREADS small|huge

Speaks the protocol of copy_bench, minus `latency`: one command a line on
standard input, one answer a line. Everybody writes into memory that is there
already, so that nobody pays for fresh pages or hands out views.
"""

import mmap
import sys
import time
import zlib

import numpy as np

SAMPLE_SECONDS = 1.5e-3
WARM_SECONDS = 20e-3
HUGE_PAGE = 2 << 20
TYPES = {8: np.uint8, 16: np.float16, 32: np.float32, 64: np.float64,
         128: np.complex128}


def product(dims):
    return int(np.prod(dims, dtype=np.int64))


def new_bytes(count, phase, huge):
    """`count` bytes, `phase` after the start of a page."""
    memory = mmap.mmap(-1, count + phase + HUGE_PAGE)
    memory.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    array = np.frombuffer(memory, np.uint8)
    begin = -array.ctypes.data % HUGE_PAGE + phase
    return array[begin:begin + count]


class Case:
    """A case and its memory: `src`, and for each output an array of `dsts`.

    A shuffle is a transpose after its axis is split; `shape`, `perm` and the
    outputs say it that way. `perm` is None for a split.
    """

    def __init__(self, words, huge):
        self.op, bits = words[0], int(words[1])
        self.shape = [int(n) for n in words[2].split(",")]
        self.axis = self.perm = self.lengths = None
        if self.op == "Transpose":
            self.perm = [int(n) for n in words[3].split(",")]
        elif self.op == "ShuffleChannels":
            self.axis, self.group = int(words[3]), int(words[4])
            self.op_shape = list(self.shape)
            self.shape[self.axis:self.axis + 1] = [
                self.group, self.shape[self.axis] // self.group]
            self.perm = list(range(len(self.shape)))
            self.perm[self.axis:self.axis + 2] = [self.axis + 1, self.axis]
        else:
            self.axis = int(words[3])
            self.lengths = [int(n) for n in words[4].split(",")]
        dtype = np.dtype(TYPES[bits])
        self.bytes = product(self.shape) * dtype.itemsize
        src = new_bytes(self.bytes, 0, huge)
        x = np.arange(self.bytes, dtype=np.uint32)
        x *= np.uint32(2654435761)
        x ^= x >> np.uint32(15)
        x *= np.uint32(2246822519)
        src[:] = (x >> np.uint32(26)) + np.uint32(0x20)
        self.src = src.view(dtype).reshape(self.shape)
        if self.perm:
            out_shapes = [[self.shape[i] for i in self.perm]]
        else:
            out_shapes = [[n if i == self.axis else d
                           for i, d in enumerate(self.shape)]
                          for n in self.lengths]
        ends, end = [], 0
        for shape in out_shapes:
            begin = -(-end // 64) * 64
            end = begin + product(shape) * dtype.itemsize
            ends.append((begin, end))
        self.dst = new_bytes(end, 33 * 64, huge)
        self.dsts = [self.dst[begin:end].view(dtype).reshape(shape)
                     for (begin, end), shape in zip(ends, out_shapes)]
        self.expected = [np.ascontiguousarray(view) for view in self.views()]

    def views(self):
        """The outputs as views of `src`."""
        if self.perm:
            return [self.src.transpose(self.perm)]
        return np.split(self.src, np.cumsum(self.lengths)[:-1], self.axis)


# Each of the functions below returns the callables of a library, by name, for
# one case and number of threads; they raise whatever the library raises if it
# cannot take the case.


def numpy_peers(case, threads):
    del threads  # it only ever uses one
    pairs = list(zip(case.dsts, case.views()))

    def run():
        for dst, view in pairs:
            np.copyto(dst, view)

    return {"NumPy": run}


def openvino_peers(case, threads):
    import openvino as ov
    from openvino import opset13 as ops
    shape = case.op_shape if case.op == "ShuffleChannels" else case.shape
    given = ops.parameter(shape, case.src.dtype)
    if case.op == "Transpose":
        node = ops.transpose(given, ops.constant(case.perm, np.int64))
    elif case.op == "ShuffleChannels":
        node = ops.shuffle_channels(given, case.axis, case.group)
    else:
        node = ops.variadic_split(given, ops.constant(case.axis, np.int64),
                                  ops.constant(case.lengths, np.int64))
    model = ov.Model([ops.result(out) for out in node.outputs()], [given])
    compiled = ov.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1",
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    request.set_input_tensor(
        ov.Tensor(case.src.reshape(shape), shared_memory=True))
    for i, dst in enumerate(case.dsts):
        out_shape = list(compiled.outputs[i].shape)
        request.set_output_tensor(
            i, ov.Tensor(dst.reshape(out_shape), shared_memory=True))
    return {"OpenVINO": lambda: request.infer(share_inputs=True,
                                              share_outputs=True)}


def torch_peers(case, threads):
    import torch
    torch.set_num_threads(threads)
    src = torch.from_numpy(case.src)
    dsts = [torch.from_numpy(dst) for dst in case.dsts]
    if case.perm:
        views = [src.permute(case.perm)]
    else:
        views = list(torch.split(src, case.lengths, case.axis))

    def copy():
        for dst, view in zip(dsts, views):
            dst.copy_(view)

    peers = {"PyTorch copy_": copy}
    if case.op == "ShuffleChannels" and len(case.op_shape) == 4:
        # Its own operator; it wants channels at axis 1, in either layout.
        whole = src.reshape(case.op_shape)
        out = dsts[0].reshape(case.op_shape)
        if case.axis == 3:
            whole, out = (t.permute(0, 3, 1, 2) for t in (whole, out))
        peers["PyTorch shuffle"] = lambda: out.copy_(
            torch.channel_shuffle(whole, case.group))
    return peers


def onnxruntime_peers(case, threads):
    import onnx
    import onnxruntime
    helper = onnx.helper
    dtype = helper.np_dtype_to_tensor_dtype(case.src.dtype)
    names = [f"out{k}" for k in range(len(case.dsts))]
    weights = []
    if case.perm:
        node = helper.make_node("Transpose", ["src"], names, perm=case.perm)
    else:
        weights = [helper.make_tensor("lengths", onnx.TensorProto.INT64,
                                      [len(names)], case.lengths)]
        node = helper.make_node("Split", ["src", "lengths"], names,
                                axis=case.axis)
    graph = helper.make_graph(
        [node], "case",
        [helper.make_tensor_value_info("src", dtype, case.shape)],
        [helper.make_tensor_value_info(name, dtype, dst.shape)
         for name, dst in zip(names, case.dsts)], weights)
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 13)])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options,
        providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_input("src", "cpu", 0, case.src.dtype, case.shape,
                       case.src.ctypes.data)
    for name, dst in zip(names, case.dsts):
        binding.bind_output(name, "cpu", 0, dst.dtype, dst.shape,
                            dst.ctypes.data)
    return {"ONNX Runtime": lambda: session.run_with_iobinding(binding)}


LIBRARIES = [numpy_peers, openvino_peers, torch_peers, onnxruntime_peers]


def seconds_of(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def warm(run):
    """Runs until caches, clock and threads are those of somebody at work."""
    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        run()


class Session:
    """A case under measurement, and who has proven able to run it."""

    def __init__(self, words, threads, huge):
        self.threads, self.rounds = threads, 0
        self.last = {}  # seconds in the last round
        self.case = case = Case(words, huge)
        flat_src = case.src.reshape(-1).view(np.uint8)
        flat_dst = case.dst[:case.bytes]
        self.peers = {"memcpy": lambda: np.copyto(flat_dst, flat_src)}
        for library in LIBRARIES:
            try:
                candidates = library(case, threads)
            except ImportError:
                continue  # run.py has said so already
            except Exception as error:  # whatever it calls "unsupported"
                why = str(error).strip().splitlines() or [repr(error)]
                print(f"  {library.__name__}: {why[0]:.90}", file=sys.stderr)
                continue
            for name, run in candidates.items():
                if self.verify(name, run):
                    self.peers[name] = run
        self.times = {name: self.times_for(run)
                      for name, run in self.peers.items()}

    def verify(self, name, run):
        self.case.dst[:] = 0xa5
        try:
            run()
        except Exception as error:
            print(f"  {name}: {error!r:.90}", file=sys.stderr)
            return False
        same = all(np.array_equal(a.reshape(-1).view(np.uint8),
                                  b.reshape(-1).view(np.uint8))
                   for a, b in zip(self.case.dsts, self.case.expected))
        if not same:
            print(f"  {name} is wrong here; left out", file=sys.stderr)
        return same

    @staticmethod
    def times_for(run):
        times = 1
        while (seconds := seconds_of(run, times)) * times < SAMPLE_SECONDS:
            times = min(times * 10, int(1.1 * SAMPLE_SECONDS / seconds) + 1)
        return times

    def describe(self):
        crc = 0
        for array in self.case.expected:
            crc = zlib.crc32(array.reshape(-1).view(np.uint8), crc)
        return "\t".join([str(crc), *self.peers])

    def round(self):
        names = list(self.peers)
        begin = self.rounds % len(names)
        self.rounds += 1
        for name in names[begin:] + names[:begin]:
            run = self.peers[name]
            if self.threads > 1 or self.last.get(name, 0) < WARM_SECONDS:
                warm(run)
            self.last[name] = seconds_of(run, self.times[name])
            if self.threads > 1:  # let other pools' threads fall asleep
                time.sleep(0.01)
        return "\t".join(repr(self.last[name]) for name in names)


def main():
    threads, huge = int(sys.argv[1]), sys.argv[2] == "huge"
    session = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "case":
            session = None  # first give the memory back
            session = Session(words, threads, huge)
            print(session.describe(), flush=True)
        else:
            print(session.round(), flush=True)


if __name__ == "__main__":
    main()
