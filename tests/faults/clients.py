"""Clients that go, stall, or do not read: at every stage of a call."""

import random
import socket
import struct
import time

import http2
from patient import MIB, STREAM, TRANSPOSE, Patient, pb, transpose

BIG, BIG_ANSWER = transpose(2048, 4096)  # 8 MiB each way
BIG_BYTES = BIG.SerializeToString()


def reset(link: socket.socket) -> None:
    """Ends a connection with RST, as a machine that crashed would."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    link.close()


def begin(server: Patient, path: str = TRANSPOSE) -> http2.Call:
    call = http2.Call(server.port, path)
    call.socket.settimeout(30)
    return call


def send_part(call: http2.Call, size: int) -> None:
    """The first `size` bytes of a big request, as far as it is let."""
    whole = http2.message(len(BIG_BYTES)) + BIG_BYTES
    for at in range(0, size, http2.FRAME_BYTES):
        part = whole[at:min(size, at + http2.FRAME_BYTES)]
        while min(call.room.values()) < len(part) and not call.ended:
            call.take_frame()
        if call.ended:
            return
        call.socket.sendall(http2.frame(http2.DATA, 0, 1, part))
        call.room[0] -= len(part)
        call.room[1] -= len(part)


def give_room(call: http2.Call, size: int = 1 << 30) -> None:
    for stream in (0, 1):
        call.socket.sendall(http2.frame(http2.WINDOW_UPDATE, 0, stream,
                                        struct.pack(">I", size)))


def gone_during_send(server: Patient) -> None:
    rng = random.Random(1)
    for k in range(40):
        call = begin(server)
        send_part(call, rng.randrange(1, len(BIG_BYTES)))
        reset(call.socket) if k % 2 else call.socket.close()
    server.check(40)


def gone_in_queue(server: Patient) -> None:
    """More calls than there are workers, all of them left at once."""
    for how in (reset, socket.socket.close):
        calls = [begin(server) for _ in range(12)]
        for call in calls:
            call.send([http2.message(len(BIG_BYTES)) + BIG_BYTES])
        for call in calls:
            how(call.socket)
        server.check(12)


def gone_in_compute(server: Patient) -> None:
    rng = random.Random(2)
    for _ in range(30):
        call = begin(server)
        call.send([http2.message(len(BIG_BYTES)) + BIG_BYTES])
        time.sleep(rng.random() * 0.02)
        reset(call.socket)
    server.check(30)


def gone_during_receive(server: Patient) -> None:
    rng = random.Random(3)
    for k in range(30):
        call = begin(server)
        give_room(call, 1 << 20)
        call.send([http2.message(len(BIG_BYTES)) + BIG_BYTES])
        try:
            call.read(rng.randrange(1, 1 << 20))
        except ConnectionError:
            pass
        reset(call.socket) if k % 2 else call.socket.close()
    server.check(30)


def half_closed(server: Patient) -> None:
    """The sending side of the connection ends, the other one stays open."""
    links = []
    for size in (0, 3, 5, 100, 1 << 16, 1 << 20, len(BIG_BYTES)):
        for path in (TRANSPOSE, STREAM):
            call = begin(server, path)
            send_part(call, size)
            call.socket.shutdown(socket.SHUT_WR)
            links.append(call.socket)
    time.sleep(0.5)
    for link in links:
        link.close()
    server.check(len(links))


def stalled(server: Patient) -> None:
    """Streams and calls that begin and then say nothing more."""
    header = pb.StreamPipelineRequest(
        input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[2048, 4096]),
        ops=[pb.Op(transpose=pb.Transpose())]).SerializeToString()
    calls = []
    for _ in range(10):
        call = begin(server, STREAM)
        call.socket.sendall(http2.frame(
            http2.DATA, 0, 1, http2.message(len(header)) + header))
        calls.append(call)
    for _ in range(20):
        call = begin(server)
        send_part(call, 1000)
        calls.append(call)
    flaw = server.ask()  # while they stall
    for call in calls:
        call.socket.close()
    server.check(30, f"while others stall: {flaw}", flaw is None)


def slow_readers(server: Patient) -> None:
    """Clients that ask for much and read nothing, or a byte at a time."""
    calls = [begin(server) for _ in range(8)]
    for call in calls:
        call.send([http2.message(len(BIG_BYTES)) + BIG_BYTES])
    flaw = server.ask()
    for call in calls[:4]:
        for _ in range(20):
            call.socket.sendall(http2.frame(http2.WINDOW_UPDATE, 0, 1,
                                            struct.pack(">I", 1)))
            call.socket.recv(1)
    for call in calls:
        call.socket.close()
    server.check(8, f"beside slow readers: {flaw}", flaw is None)


def is_right(answers: dict) -> bool:
    return all(data == BIG_ANSWER for data in answers.values())


def rapid_reset(server: Patient) -> None:
    """Streams that are opened and reset at once, thousands on a connection."""
    for rounds in range(4):
        call = begin(server)
        block = b"".join(http2.literal(k, v) for k, v in [
            (":method", "POST"), (":scheme", "http"), (":path", TRANSPOSE),
            (":authority", "axisd"), ("te", "trailers"),
            ("content-type", "application/grpc")])
        try:
            for stream in range(3, 2003, 2):
                call.socket.sendall(
                    http2.frame(http2.HEADERS, http2.END_HEADERS, stream,
                                block) +
                    http2.frame(http2.RST_STREAM, 0, stream,
                                struct.pack(">I", 8)))
        except ConnectionError:
            pass  # it may well hang up on that
        call.socket.close()
    server.check(4000)


def cancelled(server: Patient) -> None:
    """Calls and streams that their client cancels, at any time."""
    rng = random.Random(4)
    stub = server.server.stub
    for _ in range(60):
        future = stub.Transpose.future(BIG, timeout=20)
        time.sleep(rng.random() * 0.02)
        future.cancel()
    for _ in range(30):
        def pieces():
            yield pb.StreamPipelineRequest(
                input=pb.Tensor(data_type="DATA_TYPE_U8", shape=[64, MIB]),
                ops=[pb.Op(transpose=pb.Transpose())] if rng.random() < .5
                else [])
            while True:
                yield pb.StreamPipelineRequest(
                    input=pb.Tensor(data=bytes(64 << 10)))
        answers = stub.StreamPipeline(pieces(), timeout=20)
        time.sleep(rng.random() * 0.02)
        answers.cancel()
    server.check(90)


ROWS = {"client gone during send": gone_during_send,
        "client gone in the queue": gone_in_queue,
        "client gone in compute": gone_in_compute,
        "client gone during receive": gone_during_receive,
        "half-closed connections": half_closed,
        "stalled calls and streams": stalled,
        "slow readers": slow_readers,
        "streams opened and reset at once": rapid_reset,
        "calls and streams cancelled": cancelled}
