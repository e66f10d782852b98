#!/usr/bin/env python3
"""Measures axisd over the wire against a bare echo and what one would write.

./dev bench rpc: starts the servers, has rpc_load call them in turn, round by
round, and writes a table, build/bench/rpc.json and rpc.svg. README.md tells
the method and how to read the results.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))  # chart.py

import results  # noqa: E402
import servers  # noqa: E402

# bytes: NHWC, of floats
SHAPES = {1 << 10: "4,4,4,4", 1 << 16: "4,16,16,16", 1 << 20: "4,64,64,16",
          1 << 24: "4,128,128,64", 1 << 27: "32,128,128,64",
          1 << 30: "256,128,128,64"}
# name: kind of call, server; None for what rpc_load does by itself
RUNNERS = {"echo": ("echo", "echo"), "axisd": ("transpose", "axisd"),
           "axisd_identity": ("identity", "axisd"),
           "axisd_split": ("split", "axisd"), "stream": ("stream", "axisd"),
           "infer": ("infer", "axisd"), "shm": ("shm", "axisd"),
           "protobuf": ("echo", "protobuf"),
           "protobuf_tuned": ("echo", "protobuf_tuned"),
           "python": ("echo", "python"), "memcpy": ("memcpy", None),
           "copy": ("copy", None), "copy_shm": ("copy_shm", None)}
CONCURRENT = ["echo", "axisd", "protobuf", "protobuf_tuned", "python"]
LIMIT_SECONDS = 1800  # of the whole run, whatever happens


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build/release",
                        help="CMake build directory with target bench_rpc")
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "build/bench",
                        help="where rpc.json, rpc.txt and rpc.svg go")
    parser.add_argument("--quick", action="store_true",
                        help="fewer rounds and cases: a look, not a result")
    parser.add_argument("--large", action="store_true", help="1 GiB, too")
    return parser.parse_args()


def build(folder):
    """Builds what is needed; {name: path}."""
    subprocess.run(["cmake", "--build", folder, "--target", "bench_rpc"],
                   check=True)
    names = {"rpc_load": "rpc_load", "echo_server": "echo_server",
             "protobuf_server": "protobuf_server", "axisd": "axisd",
             "copy_counter": "libcopy_counter.so"}
    return {name: next(path for path in folder.glob(f"**/{file}")
                       if path.is_file()) for name, file in names.items()}


class Bench:
    """Servers that run, and what has been found out about them."""

    def __init__(self, args, started, load):
        self.quick, self.large = args.quick, args.large
        self.servers = started
        self.load = load
        self.skipped = set()

    def command(self, transport, size, names, in_flight=1, connections=1,
                rounds=1, seconds=0.0, gap=0.0):
        words = [f"measure shape={SHAPES[size]} in_flight={in_flight}",
                 f"connections={connections} rounds={rounds}",
                 f"seconds={seconds} gap={gap}"]
        for name in names:
            kind, server = RUNNERS[name]
            if server is None:
                words.append(f"{name}={kind}@0@")
            elif server in self.servers and name not in self.skipped:
                running = self.servers[server]
                words.append(f"{name}={kind}@{running.process.pid}@"
                             f"{running.addresses[transport]}")
        return " ".join(words)

    def ask(self, *case, **how):
        """Measures; {name: what it took}."""
        self.load.tell(self.command(*case, **how))
        found = self.load.answer()
        for name in [name for name in found if "error" in found[name]]:
            error = found.pop(name)["error"]
            if name != "stream" or not error.startswith("12 "):
                sys.exit(f"{name}, {case}: {error}")
            self.skipped.add(name)
            print("*** SKIPPED stream: this axisd has no StreamPipeline ***",
                  flush=True)
        return found

    def rows(self, transport, size, names, **how):
        """Measures; one row for each name."""
        rows = []
        answer = self.ask(transport, size, names, **how)
        for name in filter(answer.get, names):
            rows.append({"transport": transport, "bytes": size, "server": name,
                         "in_flight": how.get("in_flight", 1),
                         "connections": how.get("connections", 1), **answer[name],
                         "copies": {"memcpy": 1.0, "copy": 0.0}.get(name)})
            print(results.line(rows[-1]), flush=True)
        return rows

    def measure(self):
        """All rows, the smallest messages first: memory only grows."""
        sizes = [s for s in SHAPES if self.large or s < 1 << 30]
        rounds = 3 if self.quick else 7
        seconds = 0.05 if self.quick else 0.1
        loads = [(64, 64)] if self.quick else [(8, 1), (64, 1), (1, 64),
                                               (8, 64), (64, 64)]
        rows = []
        for size in sizes:
            for transport in ("tcp", "unix"):
                names = [name for name in RUNNERS
                         if size >= 1 << 20 or name != "stream"]
                rows += self.rows(
                    transport, size, names, seconds=seconds,
                    rounds=3 if size == 1 << 30 else rounds)
                for in_flight, connections in loads if size <= 1 << 20 else []:
                    rows += self.rows(transport, size, CONCURRENT,
                                      rounds=(rounds + 1) // 2,
                                      seconds=seconds, in_flight=in_flight,
                                      connections=connections)
        return rows

    def count_copies(self, rows):
        """Fills in "copies" of the rows with one call in flight."""
        for row in rows:
            server = RUNNERS[row["server"]][1]
            if (server not in self.servers or row["bytes"] == 1 << 30
                    or (row["in_flight"], row["connections"]) != (1, 1)
                    or (self.quick and row["transport"] == "tcp")):
                continue
            case = row["transport"], row["bytes"], [row["server"]]
            self.ask(*case)  # the buffers of a new connection are small
            before = self.servers[server].copied_bytes()
            calls = self.ask(*case, rounds=3)[row["server"]]["calls"]
            copied = self.servers[server].copied_bytes() - before
            row["copies"] = copied / calls / row["bytes"]

    def idle(self):
        """The rows of calls that each come after 1.1 s without any."""
        return [row for size in (1 << 10, 1 << 24)
                for transport in ("tcp", "unix") for name in ("echo", "axisd")
                for row in self.rows(transport, size, [name],
                                     rounds=3 if self.quick else 7, gap=1.1)]

    def beside_large(self, other):
        """The rows of 1 KiB calls while `other` sends 128 MiB each."""
        rows = []
        seconds = 1 if self.quick else 3
        for transport in ("tcp", "unix"):
            for name in ("echo", "axisd"):
                big = transport, 1 << 27, [name]
                other.tell(self.command(*big))  # makes itself ready
                other.answer()
                other.tell(self.command(*big, seconds=seconds + 2.0))
                time.sleep(1.0)
                rows += self.rows(transport, 1 << 10, [name], seconds=seconds)
                other.answer()
        return rows


def main():
    args = arguments()
    binaries = build(args.build)
    args.out.mkdir(parents=True, exist_ok=True)
    # Raises SystemExit in the main thread, which ends what was started.
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("cut short"))
    signal.alarm(LIMIT_SECONDS)
    start, load_before = time.monotonic(), os.getloadavg()[0]
    with servers.servers(binaries) as started, servers.load(binaries) as load:
        bench = Bench(args, started, load)
        rows = bench.measure()
        print("after 1.1 s of idleness:")
        idle = bench.idle()
        print("beside a client that sends 128 MiB a call:")
        with servers.load(binaries) as other:
            beside = bench.beside_large(other)
    print("counting copies", flush=True)
    with servers.servers(binaries, count_copies=True) as started:
        with servers.load(binaries) as load:
            Bench(args, started, load).count_copies(rows)
    text = "\n".join([
        results.table(rows), "", results.claims(rows, idle, beside), "",
        f"{time.monotonic() - start:.0f} s; {os.cpu_count()} CPUs; load "
        f"{load_before:.1f} before, {os.getloadavg()[0]:.1f} after (its own "
        "is 2 to 3)"])
    print(text)
    (args.out / "rpc.txt").write_text(text + "\n")
    (args.out / "rpc.json").write_text(
        json.dumps({"rows": results.plain(rows)}, indent=1) + "\n")
    (args.out / "rpc.svg").write_text(results.chart(rows))


if __name__ == "__main__":
    main()
