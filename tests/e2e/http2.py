"""Just enough of HTTP/2 to send what no gRPC client would.

Source: RFC 9113; RFC 7541 for the headers, sent as literals without tables.
"""

import socket
import struct
import typing

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = (
    0, 1, 3, 4, 6, 7, 8)
END_STREAM, END_HEADERS, ACK = 1, 4, 1
FRAME_BYTES = 16384


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) +
            struct.pack(">I", stream) + payload)


def literal(name: str, value: str) -> bytes:
    assert len(name) < 127 and len(value) < 127
    return (b"\0" + bytes([len(name)]) + name.encode() +
            bytes([len(value)]) + value.encode())


# What a client says first.
MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PREFACE = MAGIC + frame(SETTINGS, 0, 0, b"")


class Call:
    """One gRPC call on a connection of its own."""

    def __init__(self, port: int, path: str, **headers: str):
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.room = {0: 65535, 1: 65535}  # of the connection, of the stream
        self.frame_room = 65535           # a new stream's, by their settings
        self.ended = False
        self.trailers = b""               # as they came, packed
        block = b"".join(literal(k, v) for k, v in [
            (":method", "POST"), (":scheme", "http"), (":path", path),
            (":authority", "axisd"), ("te", "trailers"),
            ("content-type", "application/grpc"),
            *((k.replace("_", "-"), v) for k, v in headers.items())])
        self.socket.sendall(
            PREFACE + frame(HEADERS, END_HEADERS, 1, block))

    def __enter__(self) -> "Call":
        return self

    def __exit__(self, *_) -> None:
        self.socket.close()

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("closed by the server")
            data += part
        return data

    def take_frame(self) -> None:
        """Reads one frame and does what it asks for."""
        try:
            head = self.read(9)
            payload = self.read(int.from_bytes(head[:3], "big"))
        except ConnectionError:
            self.ended = True
            return
        kind, flags = head[3], head[4]
        stream = int.from_bytes(head[5:9], "big") & 0x7FFFFFFF
        if kind == WINDOW_UPDATE and stream in self.room:
            self.room[stream] += int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == 4:  # INITIAL_WINDOW_SIZE
                    self.room[1] += value - self.frame_room
                    self.frame_room = value
            self.socket.sendall(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind in (RST_STREAM, GOAWAY):
            self.ended = True
        elif kind in (DATA, HEADERS) and flags & END_STREAM:
            self.trailers, self.ended = payload, True

    def send(self, chunks: typing.Iterable[bytes]) -> int:
        """Sends data as it is let; stops when the server has answered."""
        sent = 0
        try:
            for chunk in chunks:
                for at in range(0, len(chunk), FRAME_BYTES):
                    part = chunk[at:at + FRAME_BYTES]
                    while min(self.room.values()) < len(part):
                        if self.ended:
                            return sent
                        self.take_frame()
                    self.socket.sendall(frame(DATA, 0, 1, part))
                    self.room[0] -= len(part)
                    self.room[1] -= len(part)
                    sent += len(part)
            self.socket.sendall(frame(DATA, END_STREAM, 1, b""))
        except ConnectionError:
            self.ended = True
        return sent

    def wait(self) -> None:
        """Until the server has answered, in whatever way."""
        while not self.ended:
            self.take_frame()


def message(size: int, compressed: bool = False) -> bytes:
    """What stands before a gRPC message of `size` bytes."""
    return bytes([compressed]) + struct.pack(">I", size)
