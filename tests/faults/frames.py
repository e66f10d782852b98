"""Bytes that are not HTTP/2, or nearly: every frame cut short, sent twice, out
of order, too long, or with a bit turned.

Source: RFC 9113.
"""

import random
import socket
import struct

import http2
from http2 import (DATA, END_HEADERS, END_STREAM, HEADERS, MAGIC, PREFACE,
                   SETTINGS, frame)
from patient import SMALL, TRANSPOSE, Patient

CONTINUATION, PRIORITY, PUSH_PROMISE = 9, 2, 5
MESSAGE = SMALL.SerializeToString()
BLOCK = b"".join(http2.literal(k, v) for k, v in [
    (":method", "POST"), (":scheme", "http"), (":path", TRANSPOSE),
    (":authority", "axisd"), ("te", "trailers"),
    ("content-type", "application/grpc")])
OPEN = frame(HEADERS, END_HEADERS, 1, BLOCK)
GOOD = [MAGIC, frame(SETTINGS, 0, 0, b""), OPEN,
        frame(DATA, END_STREAM, 1, http2.message(len(MESSAGE)) + MESSAGE)]


def throw(server: Patient, data: bytes, seconds: float = 0.02) -> None:
    """Sends `data` on a connection of its own and looks what comes."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as link:
        link.settimeout(seconds)
        try:
            link.sendall(data)
            while link.recv(65536):
                pass
        except OSError:
            pass


def word(n: int) -> bytes:
    return struct.pack(">I", n)


def truncated(server: Patient) -> None:
    whole = b"".join(GOOD)
    cuts = range(0, len(whole), 3)
    for at in cuts:
        throw(server, whole[:at], 0.005)
    server.check(len(cuts))


def duplicated(server: Patient) -> None:
    tried = 0
    for k in range(1, len(GOOD)):
        for times in (2, 3, 50):
            throw(server, b"".join(GOOD[:k] + GOOD[k:k + 1] * times +
                                   GOOD[k + 1:]))
            tried += 1
    for order in ([0, 1, 3, 2], [0, 2, 1, 3], [1, 0, 2, 3], [0, 3], [0, 2, 2]):
        throw(server, b"".join(GOOD[k] for k in order))
        tried += 1
    server.check(tried)


def wrong_frames() -> list:
    """What each frame must not be, one of each kind."""
    start = PREFACE
    bad = [
        frame(SETTINGS, 0, 0, b"12345"), frame(SETTINGS, 0, 1, b""),
        frame(SETTINGS, 1, 0, b"123456"),
        frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 31)),
        frame(SETTINGS, 0, 0, struct.pack(">HI", 5, 1)),
        frame(SETTINGS, 0, 0, struct.pack(">HI", 2, 7)),
        frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 1) * 2000),
        frame(http2.PING, 0, 0, b"1234567"), frame(http2.PING, 0, 3, bytes(8)),
        frame(http2.PING, 0, 0, bytes(8)) * 2000,
        frame(http2.GOAWAY, 0, 0, b"123"), frame(http2.GOAWAY, 0, 1, bytes(8)),
        frame(http2.WINDOW_UPDATE, 0, 0, word(0)),
        frame(http2.WINDOW_UPDATE, 0, 0, word(0x7FFFFFFF)) * 3,
        frame(http2.WINDOW_UPDATE, 0, 7, b"12"),
        frame(http2.RST_STREAM, 0, 0, word(8)),
        frame(http2.RST_STREAM, 0, 9, word(8)),
        frame(PRIORITY, 0, 1, word(1) + b"\0"), frame(PRIORITY, 0, 1, b"1"),
        frame(PUSH_PROMISE, END_HEADERS, 1, word(2) + BLOCK),
        frame(CONTINUATION, END_HEADERS, 1, BLOCK),
        frame(DATA, 0, 0, b"x"), frame(DATA, 0, 5, b"x"),
        frame(HEADERS, END_HEADERS, 0, BLOCK),
        frame(HEADERS, END_HEADERS, 2, BLOCK),
        frame(HEADERS, END_HEADERS | 8, 1, b"\xff" + BLOCK),
        frame(HEADERS, END_HEADERS | 0x20, 1, b"123"),
        frame(HEADERS, 0, 1, BLOCK) + frame(DATA, 0, 1, b"x"),
        frame(HEADERS, 0, 1, BLOCK) + frame(CONTINUATION, 0, 3, BLOCK),
        frame(HEADERS, END_HEADERS, 1, b"\x80"),
        frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff\xff\x0f"),
        frame(HEADERS, END_HEADERS, 1, b"\x3f\xff\xff\xff\x7f" + BLOCK),
        frame(HEADERS, END_HEADERS, 1, b"\0\x7f\xff\xff\xff\x0fx"),
        frame(HEADERS, END_HEADERS, 1, b"\0\x85\xff\xff\xff\xff\xff\x01x"),
        frame(99, 255, 1, b"unknown"), b"\xff\xff\xff" + bytes(6),
        b"\0\0\0\0\0\0\0\0\0" * 500,
        OPEN + frame(DATA, 8, 1, b"\xff"), OPEN + OPEN,
        OPEN + frame(DATA, 0, 1, b"\2" + word(5) + b"12345"),
        OPEN + frame(DATA, END_STREAM, 1, b"\0\0"),
        OPEN + frame(DATA, END_STREAM, 1, b"\1" + word(5) + b"12345"),
        OPEN + frame(DATA, END_STREAM, 1, http2.message(2**32 - 1)),
        OPEN + frame(DATA, 0, 1, b"") * 5000,
        OPEN + frame(DATA, END_STREAM, 1, b"") +
        frame(DATA, END_STREAM, 1, b"x"),
    ]
    methods = [b"".join(http2.literal(k, v) for k, v in fields) for fields in (
        [(":method", "GET"), (":path", TRANSPOSE), (":scheme", "http")],
        [(":method", "POST"), (":scheme", "http")],
        [(":path", TRANSPOSE)], [],
        [(":method", "POST"), (":path", "/nope/No"), (":scheme", "http"),
         ("content-type", "application/grpc")],
        [(":method", "POST"), (":path", TRANSPOSE), (":scheme", "http"),
         ("content-type", "text/html")],
        [(":method", "POST"), (":path", TRANSPOSE), (":scheme", "http"),
         ("content-type", "application/grpc"), ("grpc-timeout", "-1S"),
         ("grpc-encoding", "br")],
        [(":method", "POST"), (":path", TRANSPOSE), (":scheme", "http"),
         ("content-type", "application/grpc"),
         ("grpc-timeout", "99999999H")])]
    bad += [frame(HEADERS, END_HEADERS | END_STREAM, 1, block)
            for block in methods]
    return [start + data for data in bad]


def malformed(server: Patient) -> None:
    for data in wrong_frames():
        throw(server, data)
    server.check(len(wrong_frames()))


def mutated(server: Patient) -> None:
    """Good calls with some bytes changed after the preface."""
    rng = random.Random(5)
    for _ in range(400):
        data = bytearray(b"".join(GOOD))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(MAGIC), len(data))
            if rng.random() < 0.7:
                data[at] = rng.randrange(256)
            else:
                del data[at:at + rng.randint(1, 9)]
        throw(server, bytes(data), 0.005)
    server.check(400)


def header_floods(server: Patient) -> None:
    start = PREFACE
    fields = b"".join(http2.literal(f"x{k}", "y" * 100) for k in range(100))
    indexed = b"".join(b"\x40" + http2.literal(f"k{k}", "v" * 100)[1:]
                       for k in range(100))
    floods = [
        # One block of 1 MiB, of many headers, or of many small frames.
        start + frame(HEADERS, 0, 1, BLOCK) +
        frame(CONTINUATION, 0, 1, fields) * 100 +
        frame(CONTINUATION, END_HEADERS, 1, b""),
        start + frame(HEADERS, 0, 1, BLOCK) +
        frame(CONTINUATION, 0, 1, b"") * 20000,
        start + frame(HEADERS, 0, 1, BLOCK) +
        frame(CONTINUATION, 0, 1, http2.literal("a", "b")) * 20000,
        start + frame(HEADERS, END_HEADERS, 1, BLOCK + indexed),
        # References to one large header: a bomb.
        start + frame(HEADERS, END_HEADERS, 1, BLOCK + b"\x40\x01a\x7f\xa1\x1e"
                      + b"v" * 4000 + b"\xbe" * 12000),
        *(start + b"".join(frame(HEADERS, END_HEADERS, s, BLOCK + fields)
                           for s in range(1, 400, 2)) for _ in range(3)),
    ]
    for data in floods * 3:
        throw(server, data, 0.5)
    server.check(len(floods) * 3)


ROWS = {"calls cut short at every third byte": truncated,
        "frames sent twice or out of order": duplicated,
        "malformed HTTP/2, one of each kind": malformed,
        "calls with random bytes changed": mutated,
        "header floods": header_floods}
