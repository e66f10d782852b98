"""The client that waits for its answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import grpc

from axisd import channel, errors, ops, picture, wire
from axisd.tensors import Tensor, TensorLike


class Client:
    """A connection to one axisd, or to many replicas behind one name.

    Thread-safe: make one and share it. It connects when first used, waits for
    a server that is not up yet, and sends a call again, up to 4 times in all,
    when a replica goes away. A context manager.

    Arrays of any dtype with a name in the contract go in from where they lie,
    copied once; strided and big-endian ones once more. Outputs are read-only
    arrays in the bytes that arrived, at any alignment: `.copy()` for one that
    can be written. Arrays of str and bytes are STRING and come back as arrays
    of bytes. Types of ml_dtypes work where it is installed. See also `Raw`.

    Every method raises `Error`; `Error.field` is what the server found wrong.
    """

    def __init__(self, target: str, *, timeout: float = 60.0,
                 credentials: grpc.ChannelCredentials | None = None,
                 wait_for_ready: bool = True, stream_above: int = 192 << 20,
                 options: Sequence[tuple[str, Any]] = ()):
        """Connects to `target`, "host:port" or "unix:PATH".

        Args:
            timeout: seconds that one call may take, retries and waiting for a
                server included.
            credentials: `grpc.ssl_channel_credentials(...)` for TLS.
            wait_for_ready: whether a call waits for a server to come up.
            stream_above: a call of one tensor with more bytes goes as a
                stream, which no limit for messages applies to. Its errors name
                fields as in a pipeline: "ops[0].transpose.order".
            options: more of gRPC's channel arguments.
        """
        self._timeout = timeout
        self._wait = wait_for_ready
        self._stream_above = stream_above

        def connect(*more: tuple[str, Any]) -> grpc.Channel:
            if credentials is None:
                return grpc.insecure_channel(target, [*more, *options])
            return grpc.secure_channel(target, credentials,
                                       [*more, *options])

        self._channel = connect(*channel.OPTIONS)
        self._health = connect(*channel.HEALTH_OPTIONS)
        # Without serializers: messages are bytes, see `wire`.
        self._methods = {
            name: self._channel.unary_unary(channel.SERVICE + name)
            for name in [*channel.METHODS.values(), "RunPipeline"]}
        self._stream = self._channel.stream_stream(
            channel.SERVICE + "StreamPipeline")
        self._check = self._health.unary_unary(channel.HEALTH)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections. Outputs stay valid."""
        self._channel.close()
        self._health.close()

    def transpose(self, x: TensorLike, order: Iterable[int] = ()) -> Tensor:
        """Permutes the axes, as `numpy.transpose`.

        Args:
            x: [s0, s1, ...].
            order: a permutation of [0, rank); empty reverses the axes.

        Returns:
            [s[order[0]], s[order[1]], ...].
        """
        return self._one(x, ops.transpose(order))

    def shuffle_channels(self, x: TensorLike, group: int,
                         axis: int = 1) -> Tensor:
        """Interleaves the channel groups: OpenVINO's ShuffleChannels-1.

        Args:
            x: [..., C, ...], C the extent of `axis`.
            group: the number of groups, which must divide C.
            axis: in [-rank, rank).

        Returns:
            [..., C, ...], channel k being channel
            (k % group) * (C / group) + k / group of `x`.
        """
        return self._one(x, ops.shuffle_channels(group, axis))

    def shuffle(self, x: TensorLike, group_size: int, axis: int = 1, *,
                backward: bool = False) -> Tensor:
        """Shuffles the channels as oneDNN does.

        Args:
            x: [..., C, ...], C the extent of `axis`.
            group_size: the channels in a group, in [1, C], dividing C.
            axis: in [0, rank); oneDNN knows no negative ones.
            backward: whether gradients are moved: the inverse.

        Returns:
            [..., C, ...]; forward, channel u + v * (C / group_size) is
            channel u * group_size + v of `x`.
        """
        return self._one(x, ops.shuffle(group_size, axis, backward=backward))

    def variadic_split(self, x: TensorLike, split_lengths: Iterable[int],
                       axis: int = 0) -> list[Tensor]:
        """Cuts an axis into pieces: OpenVINO's VariadicSplit-1.

        Args:
            x: [..., C, ...], C the extent of `axis`.
            split_lengths: the extents of the pieces, C in all; one may be -1
                for what remains. Lengths, not places as for `numpy.split`.
            axis: in [-rank, rank).

        Returns:
            one tensor [..., split_lengths[k], ...] for each length.
        """
        op = ops.variadic_split(split_lengths, axis)
        return self._run([x], (op,), True)

    def split(self, x: TensorLike, num_splits: int,
              axis: int = 0) -> list[Tensor]:
        """Cuts an axis into equal pieces: OpenVINO's Split-1.

        Args:
            x: [..., C, ...], C the extent of `axis`.
            num_splits: the number of pieces, which must divide C.
            axis: in [-rank, rank).

        Returns:
            `num_splits` tensors [..., C / num_splits, ...].
        """
        return self._run([x], (ops.split(x, num_splits, axis),), True)

    def pipeline(self) -> Pipeline:
        """Several ops in one call, fused into one pass over memory."""
        return Pipeline(self, ())

    def healthy(self, service: str = "readiness") -> bool:
        """Whether the server takes calls; "" is the server as a whole."""
        try:
            return channel.is_serving(self._check(
                channel.health_request(service), timeout=self._timeout))
        except grpc.RpcError as error:
            raise errors.of(error) from None

    def _one(self, x: TensorLike, op: wire.Op) -> Tensor:
        return channel.only(self._run([x], (op,), True))

    def _run(self, inputs: Sequence[TensorLike], chain: tuple[wire.Op, ...],
             single: bool) -> list[Tensor]:
        call = channel.call(inputs, chain, single, self._stream_above)
        try:
            if call.method == "StreamPipeline":
                return self._run_stream(call)
            answer = self._methods[call.method](
                wire.request(call.inputs, call.ops), timeout=self._timeout,
                wait_for_ready=self._wait)
        except grpc.RpcError as error:
            raise errors.of(error) from None
        return wire.outputs(answer, call.inputs)

    def _run_stream(self, call: channel.Call) -> list[Tensor]:
        attempts = channel.Attempts(self._timeout)
        while True:
            found = wire.StreamOutputs(call.inputs[0])
            answers = self._stream(
                call.stream_requests(), timeout=attempts.seconds_left(),
                wait_for_ready=self._wait)
            try:
                for answer in answers:
                    found.take(answer)
                return found.finish()
            except grpc.RpcError as error:
                pause = attempts.pause_after(error, found.begun)
            finally:
                answers.cancel()
            time.sleep(pause)


class Pipeline(ops.Chain):
    """Ops to be run in one call. Made by `Client.pipeline`; reusable.

    >>> nhwc = client.pipeline().shuffle_channels(4).transpose((0, 2, 3, 1))
    >>> output, = nhwc.run(x)
    """

    def __init__(self, client: Client, chain: tuple[wire.Op, ...]):
        self._client, self._ops = client, chain

    def _and(self, op: wire.Op) -> Pipeline:
        return Pipeline(self._client, (*self._ops, op))

    def run(self, *inputs: TensorLike) -> list[Tensor]:
        """Applies the ops to every input, of any types and shapes.

        Returns:
            what the last op made, in the order of the inputs.
        """
        return self._client._run(inputs, self._ops, False)

    def show(self, shape: Sequence[int]) -> picture.Picture:
        """A picture of what the ops do to the numbers 0, 1, ... of `shape`."""
        before = picture.numbers(shape)
        return picture.Picture(before, *self.run(before))
