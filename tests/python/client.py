#!/usr/bin/python3
"""Does the Python client say what NumPy says, and name what is wrong?

Usage: client.py AXISD
"""

import asyncio
import html.parser
import sys

import package  # noqa: F401  makes `import axisd` work
import axisd
import numpy as np
from axisd import tensors, wire
from harness import MIB, Axisd, Checks

RNG = np.random.default_rng(7)
DTYPES = ["?", "u1", "i1", "<u2", "<i2", "<f2", "<u4", "<i4", "<f4", "<u8",
          "<i8", "<f8", "<c8", "<c16", ">f4", ">i8"]


def random(dtype: str, *shape: int) -> np.ndarray:
    """Random bits; but no NaN, which is not equal to itself."""
    return (RNG.random(shape) * 100).astype(dtype)


def same(found, wanted) -> bool:
    return (found.shape == wanted.shape and
            found.dtype == wanted.dtype.newbyteorder("<") and
            np.array_equal(found, wanted))


def raises(kind: type, act, *args, **kwargs):
    try:
        act(*args, **kwargs)
    except kind as error:
        return error
    return None


def check_ops(check: Checks, client) -> None:
    for dtype in DTYPES:
        x = random(dtype, 2, 6, 3)
        check(f"transpose of {dtype}",
              same(client.transpose(x, (2, 0, 1)), x.transpose(2, 0, 1)))
    x = random("<f4", 2, 6, 3)
    check("no order", same(client.transpose(x), x.T))
    check("numpy integers", same(client.transpose(x, np.array([1, 0, 2])),
                                 x.swapaxes(0, 1)))
    shuffled = x.reshape(2, 2, 3, 3).swapaxes(1, 2).reshape(x.shape)
    check("shuffle_channels", same(client.shuffle_channels(x, 2), shuffled))
    check("its axis", same(client.shuffle_channels(x, 2, axis=-2), shuffled))
    check("shuffle", same(client.shuffle(x, 3), shuffled))
    check("backward", same(client.shuffle(client.shuffle(x, 3), 3,
                                          backward=True), x))
    pieces = client.variadic_split(x, (1, -1), axis=1)
    check("variadic_split", len(pieces) == 2 and same(pieces[0], x[:, :1])
          and same(pieces[1], x[:, 1:]))
    check("split", [p.shape for p in client.split(x, 3, axis=-1)] ==
          [(2, 6, 1)] * 3)
    check("split that leaves a rest", raises(ValueError, client.split, x, 4))
    many = client.pipeline().transpose().variadic_split((1, -1))
    found = many.run(x, x.astype("u1"))
    check("pipeline", len(found) == 4 and same(found[1], x.T[1:]) and
          same(found[2], x.astype("u1").T[:1]), found)
    check("empty pipeline", same(client.pipeline().run(x)[0], x))


def check_arrays(check: Checks, client) -> None:
    for name, x in {
            "scalar": np.float32(3.5), "list": [[1, 2], [3, 4]],
            "no elements": np.zeros((2, 0, 3), "<i2"),
            "strided": random("<f8", 8, 9)[::2, ::-3],
            "strided vector": random("<i4", 9)[::2],
            "Fortran order": np.asfortranarray(random("<f4", 5, 7)),
            "rank 32": random("u1", *[1] * 31, 2)}.items():
        check(name, same(client.transpose(x), np.asarray(x).T))
    words = np.array([["a", "bé"], ["", "d"]])
    check("strings", client.transpose(words).tolist() ==
          [[b"a", b""], ["bé".encode(), b"d"]])
    check("bytes", client.transpose(np.array([b"x", b"yz"])).tolist() ==
          [b"x", b"yz"])
    out = client.transpose(random("u1", 3, 4))
    check("outputs lie in the answer", not out.flags.owndata and
          not out.flags.writeable)
    raw = axisd.Raw(b"\x21\x03", "U4", (3, 1))
    found = client.transpose(raw)
    check("Raw", isinstance(found, axisd.Raw) and found.shape == (1, 3) and
          bytes(found.data) == b"\x21\x03")
    x = random("<f4", 1, 2, 2, 5)
    found = client.shuffle_channels(
        axisd.Raw(x, "F32", (1, 5, 2, 2), "NXC"), 5)
    check("a layout", found.layout == "NXC" and
          np.array_equal(np.frombuffer(found.data, "<f4"), x.reshape(-1)))
    check("an unknown dtype", raises(TypeError, client.transpose,
                                     np.zeros(1, "M8[s]")))
    check("an unknown type", raises(ValueError, client.transpose,
                                    axisd.Raw(b"", "F7", (0,))))


def check_ml_dtypes(check: Checks, client) -> None:
    try:
        import ml_dtypes
    except ImportError:
        print("SKIPPED types of ml_dtypes: it is not installed")
        return
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4",
                 "float8_e8m0fnu", "float4_e2m1fn", "uint2"):
        if not hasattr(ml_dtypes, name):
            print(f"SKIPPED {name}: too new for this ml_dtypes")
            continue
        x = np.arange(15).reshape(3, 5) % (3 if name == "uint2" else 7) + 1
        x = (-x if name == "int4" else x).astype(getattr(ml_dtypes, name))
        check(name, same(client.transpose(x), x.T))


def check_errors(check: Checks, client, address: str) -> None:
    error = raises(axisd.InvalidArgument, client.transpose, np.zeros((2, 3)),
                   (0, 7))
    check("an error names its field", error and error.field == "op.order[1]"
          and "must lie in [0, 2), is 7" in str(error), error)
    check("and is a ValueError", isinstance(error, ValueError))
    error = raises(axisd.Error, client.pipeline().run)
    check("no inputs", error and error.field == "inputs", error)
    with axisd.connect("127.0.0.1:1", timeout=0.2) as nobody:
        check("nobody there", raises(TimeoutError, nobody.transpose, [1]))
    with axisd.connect(address, wait_for_ready=False) as other:
        check("health", other.healthy() and other.healthy(""))
        error = raises(axisd.Error, other.healthy, "nothing")
        check("unknown service", error and error.code == "NOT_FOUND", error)
    big = np.zeros(2 * MIB, "u1")
    error = raises(axisd.ResourceExhausted, client.transpose, big)
    check("too large", error and "max_message_bytes" in str(error) and
          error.retry_after is None, error)


def check_streams(check: Checks, address: str) -> None:
    with axisd.connect(address, stream_above=1000) as client:
        x = random("<f4", 700, 1300)
        check("streamed", same(client.transpose(x), x.T))
        found = client.variadic_split(x, (0, 300, -1), axis=1)
        check("streamed pieces", len(found) == 3 and
              same(found[0], x[:, :0]) and same(found[2], x[:, 300:]))
        error = raises(axisd.InvalidArgument, client.transpose, x, (0, 0))
        check("streamed errors", error and
              error.field == "ops[0].transpose.order[1]", error)
        blocks = axisd.Raw(random("<f4", 1, 2, 50, 8), "F32", (1, 12, 50),
                           "NCX8C")
        found = client.shuffle(blocks, 12)
        check("streamed blocks", len(found.data) == 2 * 50 * 8 * 4)


async def check_async(check: Checks, address: str) -> None:
    x = random("<f4", 64, 48)
    async with axisd.connect_async(address) as client:
        found = await asyncio.gather(
            *(client.transpose(x + k) for k in range(64)))
        check("64 at the same time",
              all(same(y, (x + k).T) for k, y in enumerate(found)))
        check("async split", len(await client.split(x, 2)) == 2)
        check("async pipeline",
              same((await client.pipeline().transpose().run(x))[0], x.T))
        check("async health", await client.healthy())
        try:
            await client.shuffle(x, 5)
            check("async errors", False)
        except axisd.InvalidArgument as error:
            check("async errors", error.field == "op.group_size", error)
    async with axisd.connect_async(address, stream_above=10) as client:
        check("async stream", same(await client.transpose(x), x.T))


def check_answers(check: Checks) -> None:
    """Answers of a server that is none: an error, never another."""
    sent = tensors.encode(np.zeros((2, 3), "<f4"))
    whole = wire.request([sent], b"")
    check("an answer", len(wire.outputs(whole, [sent])) == 1)
    strange = 0
    for k in range(2000):
        broken = bytearray(whole[:RNG.integers(1, len(whole) + 1)])
        broken[RNG.integers(len(broken))] = RNG.integers(256)
        try:
            wire.outputs(bytes(broken), [sent])
            taken = wire.StreamOutputs(sent)
            taken.take(bytes(broken))
            taken.finish()
        except axisd.Error:
            pass
        except Exception as error:  # noqa: BLE001  that is the claim
            strange += 1
            print(bytes(broken).hex(), repr(error))
    check("2000 broken answers", strange == 0)


def check_picture(check: Checks, client) -> None:
    drawn = client.pipeline().transpose().show((2, 3))._repr_html_()
    parser = html.parser.HTMLParser()
    parser.feed(drawn)
    check("a picture", drawn.count("<rect") == 12 and "[3, 2]" in drawn)
    check("one too large", raises(ValueError, client.pipeline().show,
                                  (100, 100)))


def main() -> None:
    check = Checks()
    with Axisd(sys.argv[1], "--max_message_bytes=2000000") as server:
        with axisd.connect(server.address) as client:
            check_ops(check, client)
            check_arrays(check, client)
            check_ml_dtypes(check, client)
            check_errors(check, client, server.address)
            check_picture(check, client)
        check_streams(check, server.address)
        asyncio.run(check_async(check, server.address))
    check_answers(check)
    check.finish("Python client")


if __name__ == "__main__":
    main()
