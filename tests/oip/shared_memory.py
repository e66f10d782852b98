#!/usr/bin/python3
"""Shared memory that is wrong, shrinks, changes, overlaps, or goes away.

Usage: shared_memory.py AXISD
"""

import pathlib
import re
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import MIB, Axisd, Checks, oip, outcome  # noqa: E402
from changing_memory import check_rewriting, check_shrinking  # noqa: E402
from memory import SharedMemory  # noqa: E402
from region_client import Client, code, matrix, place  # noqa: E402


def check_off(check: Checks, axisd: str) -> None:
    with Axisd(axisd) as server:
        client = Client(server)
        for name, answer in {
                "register": client.register("r", "/r", 1),
                "unregister": client.unregister(),
                "status": outcome(server.inference.SystemSharedMemoryStatus,
                                  oip.SystemSharedMemoryStatusRequest()),
                "infer": client.transpose([1, 1], "UINT8", ("r", 0, 1)),
        }.items():
            # gRPC's code for what is not enabled in a service. INVALID_ARGUMENT
            # would say that another request would do better, and none would.
            check(f"without the flag {name} is UNIMPLEMENTED",
                  code(answer) == "UNIMPLEMENTED", answer)
        announced = server.inference.ServerMetadata(
            oip.ServerMetadataRequest()).extensions
        check("and it is not announced",
              "system_shared_memory" not in announced, announced)


def check_bounds(check: Checks, client: Client) -> None:
    shared = SharedMemory(bytes(range(100)) * 100)
    wrong = {"INVALID_ARGUMENT": [
        ("", 1, 0), ("/", 1, 0), (".", 1, 0), ("..", 1, 0), ("a/b", 1, 0),
        ("/../etc/passwd", 1, 0), ("x" * 300, 1, 0), ("a\0b", 1, 0),
        (shared.key, 0, 0), (shared.key, 10001, 0), (shared.key, 1, 10000),
        (shared.key, 2**64 - 1, 1), (shared.key, 1, 2**64 - 1),
        (shared.key, 2**63, 2**63), (shared.key, 2**63 - 1, 1)],
        "NOT_FOUND": [("/axisd-nobody", 1, 0)]}
    for wanted, registrations in wrong.items():
        for key, size, offset in registrations:
            answer = client.register("wrong", key, size, offset)
            check(f"registering {size} bytes at {offset} of {key!r:.40} is "
                  f"{wanted}", code(answer) == wanted, answer)
    check("a region needs a name",
          code(client.register("", shared.key, 1)) == "INVALID_ARGUMENT")
    # Neither the key has its slash nor the offset the page it lies on.
    check("an odd offset is registered",
          code(client.register("odd", shared.key[1:], 5000, 4097)) == "OK")
    answer = client.transpose([2, 3], "UINT8", ("odd", 7, 6))
    begin = (4097 + 7) % 100
    wanted = np.arange(begin, begin + 6, dtype=np.uint8).reshape(2, 3).T
    check("and read where it lies", code(answer) == "OK" and
          answer.raw_output_contents[0] == wanted.tobytes(), answer)
    for offset, size in ((4996, 6), (-1, 6), (0, 5), (0, 7), (2**62, 6),
                         (2**63 - 1, 6), (0, -1), (0, 2**63 - 1)):
        answer = client.transpose([2, 3], "UINT8", ("odd", offset, size))
        check(f"{size} bytes at {offset} are refused",
              code(answer) == "INVALID_ARGUMENT" and answer.fields, answer)
    check("an unknown region is NOT_FOUND", code(client.transpose(
        [2, 3], "UINT8", ("nobody", 0, 6))) == "NOT_FOUND")
    for k in range(511):
        client.register(f"r{k}", shared.key, 1)
    check("there may be so many regions and no more", code(client.register(
        "more", shared.key, 1)) == "RESOURCE_EXHAUSTED")
    check("all are forgotten at once", code(client.unregister()) == "OK")
    shared.close()


def check_overlaps(check: Checks, client: Client) -> None:
    """The same memory by two names: nothing is read after it was written."""
    x = matrix(300, 200)
    size = x.nbytes
    shared = SharedMemory(bytes(3 * size))
    client.register("a", shared.key, 3 * size)
    client.register("b", shared.key, 2 * size, size)
    for name, offset in (("a", size), ("a", size + 77), ("a", 0), ("b", 0),
                         ("b", 77), ("a", 2 * size)):
        shared.write(x.tobytes(), size)
        answer = client.transpose(x.shape, "UINT8", ("a", size, size),
                                  (name, offset, size))
        at = offset + (size if name == "b" else 0)
        check(f"input at {size}, output at {at}: right", code(answer) == "OK"
              and shared.read(size, at) == x.T.tobytes(), answer)
    request = oip.ModelInferRequest(model_name="Split")
    request.inputs.add(name="data", datatype="UINT8", shape=[2, 4])
    request.inputs.add(name="axis", datatype="INT8", shape=[])
    request.raw_input_contents.extend([bytes(8), b"\0"])
    request.parameters["num_splits"].int64_param = 2
    place(request.outputs.add(name="output_0").parameters, "a", size, 4)
    place(request.outputs.add(name="output_1").parameters, "b", 3, 4)
    answer = outcome(client.stub.ModelInfer, request)
    check("outputs that overlap are refused",
          code(answer) == "INVALID_ARGUMENT", answer)
    client.unregister()
    shared.close()


def check_split_and_identity(check: Checks, client: Client) -> None:
    """What shares its memory elsewhere must be a copy here."""
    x = matrix(64, 64)
    shared = SharedMemory(x.tobytes() + bytes(x.nbytes))
    client.register("r", shared.key, 2 * x.nbytes)
    request = oip.ModelInferRequest(model_name="VariadicSplit")
    request.inputs.add(name="data", datatype="UINT8", shape=x.shape)
    place(request.inputs[0].parameters, "r", 0, x.nbytes)
    request.inputs.add(name="axis", datatype="INT64", shape=[])
    request.inputs.add(name="split_lengths", datatype="INT64", shape=[2])
    request.raw_input_contents.extend(
        [struct.pack("<q", 0), struct.pack("<2q", 10, -1)])
    request.outputs.add(name="output_1")
    place(request.outputs.add(name="output_0").parameters, "r", x.nbytes, 640)
    answer = outcome(client.stub.ModelInfer, request)
    check("pieces go into the answer and into the region",
          code(answer) == "OK" and
          list(answer.raw_output_contents) == [x[10:].tobytes(), b""] and
          shared.read(640, x.nbytes) == x[:10].tobytes(), answer)
    client.unregister()
    shared.close()


def check_again(check: Checks, client: Client) -> None:
    """A request like the one before goes into the region as that one did."""
    shared = SharedMemory(bytes(6))
    client.register("r", shared.key, 6)
    request = oip.ModelInferRequest(model_name="Transpose")
    request.inputs.add(name="arg", datatype="UINT8", shape=[2, 3])
    request.inputs.add(name="input_order", datatype="INT8", shape=[0])
    place(request.outputs.add(name="output").parameters, "r", 0, 6)
    for data, turned in (b"abcdef", b"adbecf"), (b"ghijkl", b"gjhkil"):
        request.raw_input_contents[:] = [data, b""]
        answer = outcome(client.stub.ModelInfer, request)
        check(f"{data} goes into the region", code(answer) == "OK" and
              list(answer.raw_output_contents) == [b""] and
              shared.read(6, 0) == turned, answer)
    client.unregister()
    shared.close()


def check_no_copies(check: Checks, client: Client) -> None:
    """Own memory must not grow with what lies in regions."""
    x = matrix(8192, 8192)
    shared = SharedMemory(x.tobytes() + bytes(x.nbytes))
    client.register("r", shared.key, 2 * x.nbytes)
    before = client.server.memory("RssAnon")
    joined = client.server.copies()["joined"]
    answer = client.transpose(x.shape, "UINT8", ("r", 0, x.nbytes),
                              ("r", x.nbytes, x.nbytes))
    grown = client.server.memory("RssAnon") - before
    print(f"64 MiB to 64 MiB in one object: own memory +{grown / MIB:.1f} MiB")
    check("the engine reads and writes the region itself",
          code(answer) == "OK" and
          shared.read(x.nbytes, x.nbytes) == x.T.tobytes(), answer)
    check("nothing is staged", grown < 8 * MIB and
          client.server.copies()["joined"] == joined, grown)
    client.unregister()
    shared.close()


def check_nothing_is_left(check: Checks, server: Axisd, files: int) -> None:
    maps = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()
    check("no region is still mapped",
          not re.search("axisd-test", maps), maps)
    left = len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))
    check("no object is still open", left <= files + 4, (files, left))


def main() -> None:
    check, axisd = Checks(), sys.argv[1]
    check_off(check, axisd)
    with Axisd(axisd, "--allow_shared_memory") as server:
        client = Client(server)
        files = len(list(
            pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))
        check_no_copies(check, client)
        check_bounds(check, client)
        check_overlaps(check, client)
        check_split_and_identity(check, client)
        check_again(check, client)
        check_shrinking(check, client)
        check_rewriting(check, client)
        check_nothing_is_left(check, server, files)
    check.finish("shared memory")


if __name__ == "__main__":
    main()
