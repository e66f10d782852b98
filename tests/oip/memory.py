"""POSIX shared memory for tests, as a file of /dev/shm."""

import mmap
import os
import pathlib
import uuid


class SharedMemory:
    """An object that holds `data`; gone after close()."""

    def __init__(self, data: bytes):
        self.key = f"/axisd-test-{uuid.uuid4().hex}"
        self.path = pathlib.Path("/dev/shm" + self.key)
        self.path.write_bytes(data)

    def read(self, size: int = -1, offset: int = 0) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def write(self, data: bytes, offset: int = 0) -> None:
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def map(self) -> mmap.mmap:
        with open(self.path, "r+b") as file:
            return mmap.mmap(file.fileno(), 0)

    def resize(self, size: int) -> None:
        os.truncate(self.path, size)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
