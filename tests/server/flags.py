#!/usr/bin/python3
"""Flags that are wrong: axisd says which, and what is allowed, and ends.

Usage: flags.py AXISD
"""

import pathlib
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from harness import Checks  # noqa: E402

BAD_FLAGS = 2  # the exit status; of what only the machine knows, it is 1
UNKNOWN = 1

WRONG = [  # (flags, exit status, what is said)
    (["--listen="], BAD_FLAGS, "--listen: must name an address"),
    (["--threads=-1"], BAD_FLAGS, "--threads: must lie in [0, 1024]"),
    (["--threads=1025"], BAD_FLAGS, "--threads: must lie in [0, 1024]"),
    (["--max_message_bytes=1023"], BAD_FLAGS,
     "--max_message_bytes: must lie in [1KiB, 2GiB)"),
    (["--max_message_bytes=2GiB", "--max_inflight_bytes=4GiB"], BAD_FLAGS,
     "--max_message_bytes: must lie in [1KiB, 2GiB)"),
    (["--max_message_bytes=2MiB", "--max_inflight_bytes=1MiB"], BAD_FLAGS,
     "--max_inflight_bytes: must be at least --max_message_bytes"),
    (["--max_connections=0"], BAD_FLAGS,
     "--max_connections: must lie in [1, 1048576]"),
    (["--max_connections=1048577"], BAD_FLAGS,
     "--max_connections: must lie in [1, 1048576]"),
    (["--max_inflight_calls=0"], BAD_FLAGS,
     "--max_inflight_calls: must be at least 1"),
    (["--drain_delay=-1s"], BAD_FLAGS, "must lie in [0, 1h]"),
    (["--drain_timeout=61m"], BAD_FLAGS, "must lie in [0, 1h]"),
    (["--max_connection_age=999ms"], BAD_FLAGS,
     "--max_connection_age: must lie in [1s, 24h]"),
    (["--max_connection_age=25h"], BAD_FLAGS,
     "--max_connection_age: must lie in [1s, 24h]"),
    (["--keepalive=0"], BAD_FLAGS, "--keepalive: must lie in [1s, 24h]"),
    (["--keepalive=25h"], BAD_FLAGS, "--keepalive: must lie in [1s, 24h]"),
    (["--tls_key=/dev/null"], BAD_FLAGS, "must be given together"),
    (["--tls_client_ca=/dev/null"], BAD_FLAGS,
     "must be given with --tls_certificate"),
    (["serve"], BAD_FLAGS, "serve"),
    (["--max_idle_bytes=12KB"], UNKNOWN, "must be a number of bytes"),
    (["--max_idle_bytes=-1"], UNKNOWN, "must be a number of bytes"),
    (["--max_idle_bytes=9999999999GiB"], UNKNOWN, "must be a number of bytes"),
    (["--log_format=xml"], UNKNOWN, "must be text or json"),
    (["--no_such_flag"], UNKNOWN, "no_such_flag"),
]


def run(axisd: str, flags: list) -> tuple:
    """The exit status, and all that was written."""
    ran = subprocess.run([axisd, *flags], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=20)
    return ran.returncode, ran.stdout


def check_taken(check: Checks, axisd: str) -> None:
    """Addresses that somebody else has: one line that names the flag."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        for flag in ("listen", "metrics", "health_listen"):
            flags = {"listen": "127.0.0.1:0", "metrics": "127.0.0.1:0",
                     flag: taken}
            status, said = run(axisd, [f"--{k}={v}" for k, v in flags.items()])
            check(f"--{flag} that is taken is named", status == 1 and
                  f"--{flag}={taken}" in said and "taken?" in said,
                  (status, said))


def main() -> None:
    check, axisd = Checks(), sys.argv[1]
    for flags, wanted, what in WRONG:
        status, said = run(axisd, flags)
        check(f"{' '.join(flags)} is refused", status == wanted and
              what in said and "listening" not in said, (status, said))
    check_taken(check, axisd)
    check.finish("flags")


if __name__ == "__main__":
    main()
