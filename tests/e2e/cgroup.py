"""A limit of memory that the kernel keeps."""

import contextlib
import os
import pathlib
import typing


class NoCgroup(Exception):
    """This process may not make one."""


class Cgroup(typing.NamedTuple):
    folder: pathlib.Path
    peak_file: pathlib.Path

    def join(self) -> None:
        """Puts the calling process under the limit, such as a preexec_fn."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> int:
        """The most bytes that were held at a time."""
        return int(self.peak_file.read_text())


@contextlib.contextmanager
def cgroup(limit: int) -> typing.Iterator[Cgroup]:
    v1 = pathlib.Path("/sys/fs/cgroup/memory")
    root = v1 if v1.is_dir() else pathlib.Path("/sys/fs/cgroup")
    folder = root / f"axisd-test-{os.getpid()}"
    limit_file, peak = (("memory.limit_in_bytes", "memory.max_usage_in_bytes")
                        if v1.is_dir() else ("memory.max", "memory.peak"))
    try:
        folder.mkdir()
        (folder / limit_file).write_text(str(limit))
        (folder / "cgroup.procs").read_text()
    except OSError as error:
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise NoCgroup(f"cannot make a cgroup: {error}") from error
    try:
        yield Cgroup(folder, folder / peak)
    finally:
        folder.rmdir()
