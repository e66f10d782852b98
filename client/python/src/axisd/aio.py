"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

import grpc

from axisd import channel, errors, ops, picture, wire
from axisd.tensors import Tensor, TensorLike

_NOT_SENT = "Internal error from Core"


class _Ending:
    """Why a stream ended.

    Where the server ends it while a message is on its way, grpcio (1.85) says
    twice how: as the server put it, and that the message could not be sent. The
    later one, whichever that is, takes the place of the other.
    """

    def __init__(self, call: grpc.aio.StreamStreamCall):
        self._told: asyncio.Future[grpc.RpcError] = asyncio.Future()
        call.add_done_callback(self._take)

    def _take(self, call: grpc.aio.StreamStreamCall) -> None:
        code, metadata, details = map(
            _value, (call.code(), call.trailing_metadata(), call.details()))
        if details != _NOT_SENT and not self._told.done():
            self._told.set_result(grpc.aio.AioRpcError(
                code, grpc.aio.Metadata(), metadata, details))

    async def reason(self, error: grpc.RpcError) -> grpc.RpcError:
        """What the server said, where `error` says only what became of it."""
        if error.details() != _NOT_SENT:
            return error
        done, _ = await asyncio.wait([self._told], timeout=1)
        return self._told.result() if done else error


def _value(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine comes to that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the call has not ended")


class AsyncClient:
    """As `axisd.Client`, for one event loop; every method is a coroutine.

    An async context manager. Calls run at the same time as far as the caller
    lets them: `await asyncio.gather(*(client.transpose(x) for x in batch))`.
    """

    def __init__(self, target: str, *, timeout: float = 60.0,
                 credentials: grpc.ChannelCredentials | None = None,
                 wait_for_ready: bool = True, stream_above: int = 192 << 20,
                 options: Sequence[tuple[str, Any]] = ()):
        """As `axisd.Client`."""
        self._timeout = timeout
        self._wait = wait_for_ready
        self._stream_above = stream_above

        def connect(*more: tuple[str, Any]) -> grpc.aio.Channel:
            if credentials is None:
                return grpc.aio.insecure_channel(target, [*more, *options])
            return grpc.aio.secure_channel(target, credentials,
                                           [*more, *options])

        self._channel = connect(*channel.OPTIONS)
        self._health = connect(*channel.HEALTH_OPTIONS)
        self._methods = {
            name: self._channel.unary_unary(channel.SERVICE + name)
            for name in [*channel.METHODS.values(), "RunPipeline"]}
        self._stream = self._channel.stream_stream(
            channel.SERVICE + "StreamPipeline")
        self._check = self._health.unary_unary(channel.HEALTH)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections. Outputs stay valid."""
        await self._channel.close()
        await self._health.close()

    async def transpose(self, x: TensorLike,
                        order: Iterable[int] = ()) -> Tensor:
        """As `Client.transpose`: [s0, s1, ...] to [s[order[0]], ...]."""
        return await self._one(x, ops.transpose(order))

    async def shuffle_channels(self, x: TensorLike, group: int,
                               axis: int = 1) -> Tensor:
        """As `Client.shuffle_channels`: [..., C, ...] to the same shape."""
        return await self._one(x, ops.shuffle_channels(group, axis))

    async def shuffle(self, x: TensorLike, group_size: int, axis: int = 1, *,
                      backward: bool = False) -> Tensor:
        """As `Client.shuffle`: [..., C, ...] to the same shape."""
        return await self._one(
            x, ops.shuffle(group_size, axis, backward=backward))

    async def variadic_split(self, x: TensorLike,
                             split_lengths: Iterable[int],
                             axis: int = 0) -> list[Tensor]:
        """As `Client.variadic_split`: one [..., length, ...] for each."""
        op = ops.variadic_split(split_lengths, axis)
        return await self._run([x], (op,), True)

    async def split(self, x: TensorLike, num_splits: int,
                    axis: int = 0) -> list[Tensor]:
        """As `Client.split`: `num_splits` of [..., C / num_splits, ...]."""
        return await self._run([x], (ops.split(x, num_splits, axis),), True)

    def pipeline(self) -> AsyncPipeline:
        """Several ops in one call, fused into one pass over memory."""
        return AsyncPipeline(self, ())

    async def healthy(self, service: str = "readiness") -> bool:
        """Whether the server takes calls; "" is the server as a whole."""
        try:
            return channel.is_serving(await self._check(
                channel.health_request(service), timeout=self._timeout))
        except grpc.RpcError as error:
            raise errors.of(error) from None

    async def _one(self, x: TensorLike, op: wire.Op) -> Tensor:
        return channel.only(await self._run([x], (op,), True))

    async def _run(self, inputs: Sequence[TensorLike],
                   chain: tuple[wire.Op, ...], single: bool) -> list[Tensor]:
        call = channel.call(inputs, chain, single, self._stream_above)
        try:
            if call.method == "StreamPipeline":
                return await self._run_stream(call)
            answer = await self._methods[call.method](
                wire.request(call.inputs, call.ops), timeout=self._timeout,
                wait_for_ready=self._wait)
        except grpc.RpcError as error:
            raise errors.of(error) from None
        return wire.outputs(answer, call.inputs)

    async def _run_stream(self, call: channel.Call) -> list[Tensor]:
        attempts = channel.Attempts(self._timeout)
        while True:
            found = wire.StreamOutputs(call.inputs[0])
            answers = self._stream(
                call.stream_requests(), timeout=attempts.seconds_left(),
                wait_for_ready=self._wait)
            ending = _Ending(answers)
            try:
                async for answer in answers:
                    found.take(answer)
                return found.finish()
            except grpc.RpcError as error:
                pause = attempts.pause_after(await ending.reason(error),
                                             found.begun)
            finally:
                answers.cancel()
            await asyncio.sleep(pause)


class AsyncPipeline(ops.Chain):
    """As `axisd.Pipeline`; `run` and `show` are coroutines."""

    def __init__(self, client: AsyncClient, chain: tuple[wire.Op, ...]):
        self._client, self._ops = client, chain

    def _and(self, op: wire.Op) -> AsyncPipeline:
        return AsyncPipeline(self._client, (*self._ops, op))

    async def run(self, *inputs: TensorLike) -> list[Tensor]:
        """As `Pipeline.run`."""
        return await self._client._run(inputs, self._ops, False)

    async def show(self, shape: Sequence[int]) -> picture.Picture:
        """As `Pipeline.show`."""
        before = picture.numbers(shape)
        return picture.Picture(before, *await self.run(before))
