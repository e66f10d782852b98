"""Shared memory that its owner shrinks or rewrites while it is being read."""

import struct
import threading
import time

import numpy as np
from harness import MIB, Checks
from memory import SharedMemory
from region_client import Client, code, matrix


def while_busy(work, disturb, seconds: float) -> list:
    """Calls `work` from several threads while `disturb` runs; the answers."""
    answers, stop = [], threading.Event()

    def loop():
        while not stop.is_set():
            answers.append(work())

    threads = [threading.Thread(target=loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        disturb()
    stop.set()
    for thread in threads:
        thread.join()
    return answers


def check_shrinking(check: Checks, client: Client) -> None:
    size = 16 * MIB
    x = matrix(4096, 4096)
    shared = SharedMemory(x.tobytes() + bytes(size))
    shrunk = [0]

    def disturb():
        time.sleep(shrunk[0] % 10 * 0.003)
        shared.resize((0, 5000, size // 2, size + 4096)[shrunk[0] % 4])
        time.sleep(0.001)
        shared.resize(2 * size)
        client.unregister("r")
        client.register("r", shared.key, 2 * size)
        shrunk[0] += 1

    client.register("r", shared.key, 2 * size)
    for name, output in (("input", ()), ("output", ("r", size, size))):
        answers = while_busy(lambda: client.transpose(
            x.shape, "UINT8", ("r", 0, size), output), disturb, 2)
        codes = {c: [code(a) for a in answers].count(c)
                 for c in {code(a) for a in answers}}
        caught = sum("while it was in use" in getattr(a, "message", "")
                     for a in answers)
        print(f"{name} shrunk {shrunk[0]} times: {codes}, {caught} while the "
              "engine was at it")
        check(f"it happens while the engine is at the {name}", caught > 0)
        check(f"a shrinking {name} spoils its own answer alone",
              set(codes) <= {"OK", "FAILED_PRECONDITION", "NOT_FOUND"} and
              len(answers) > 5, codes)
    client.unregister()
    shared.write(x.tobytes())
    client.register("r", shared.key, 2 * size)
    answer = client.transpose(x.shape, "UINT8", ("r", 0, size),
                              ("r", size, size))
    check("a region that is whole works again", code(answer) == "OK" and
          shared.read(size, size) == x.T.tobytes(), answer)
    shared.resize(100)
    check("one that is not is FAILED_PRECONDITION", code(client.transpose(
        [2, 3], "UINT8", ("r", 0, 6))) == "FAILED_PRECONDITION")
    client.unregister()
    shared.close()


def check_rewriting(check: Checks, client: Client) -> None:
    """Lengths of strings that change while they are read."""
    count = 20000
    good = struct.pack("<I", 4) + b"abcd"
    shared = SharedMemory(good * count)
    client.register("r", shared.key, 8 * count)
    view = shared.map()
    random = np.random.default_rng(1)

    def disturb():
        at = 8 * int(random.integers(count))
        view[at:at + 4] = struct.pack("<I", int(random.integers(2**32)))
        time.sleep(0.0005)
        view[at:at + 8] = good

    answers = while_busy(lambda: client.transpose(
        [count], "BYTES", ("r", 0, 8 * count)), disturb, 2)
    codes = {code(a) for a in answers}
    check("strings that change are answered or refused",
          codes <= {"OK", "INVALID_ARGUMENT"} and len(answers) > 20, codes)
    answer = client.transpose([count], "BYTES", ("r", 0, 8 * count))
    check("strings at rest are right", code(answer) == "OK" and
          answer.raw_output_contents[0] == good * count)
    client.unregister()
    view.close()
    shared.close()
