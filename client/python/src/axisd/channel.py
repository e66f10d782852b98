"""What a channel is told, and what a call is: the same for both clients."""

from __future__ import annotations

import json
import random
import time
from typing import Any, NamedTuple, Union

import grpc

from axisd import _contract, errors, tensors, wire

SERVICE = "/axis.v1.TensorService/"
HEALTH = "/grpc.health.v1.Health/Check"
METHODS = {"transpose": "Transpose", "shuffle_channels": "ShuffleChannels",
           "variadic_split": "VariadicSplit", "shuffle": "Shuffle"}

_HEALTH_REQUEST = _contract.message("grpc.health.v1.HealthCheckRequest")
_HEALTH_RESPONSE = _contract.message("grpc.health.v1.HealthCheckResponse")

# Round robin over the replicas that are ready, and retries: then nothing is
# lost when a replica restarts. The ops are pure, so sending twice is safe.
# Streams are left to `Attempts`: where gRPC 1.51 sends one again, it loses
# messages that were on their way.
_SERVICE_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "healthCheckConfig": {"serviceName": "readiness"},
    "methodConfig": [{
        "name": [{"service": "axis.v1.TensorService"}],
        "retryPolicy": {
            "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]},
    }, {
        "name": [{"service": "axis.v1.TensorService",
                  "method": "StreamPipeline"}],
    }]}

OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    ("grpc.per_rpc_retry_buffer_size", 2**31 - 1),
    # Two minutes by default: too long to notice that a replica is back.
    ("grpc.max_reconnect_backoff_ms", 5000)]
# Questions of health must not go to replicas that are ready alone.
HEALTH_OPTIONS = [("grpc.use_local_subchannel_pool", 1)]


_TURNED_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class Call(NamedTuple):
    """A call about to be made."""

    method: str  # "Transpose"; "StreamPipeline" goes another way
    inputs: list[tensors.Sent]
    ops: bytes

    def stream_requests(self) -> Any:
        return wire.stream_requests(self.inputs[0], self.ops)


def call(inputs: Any, ops: tuple[wire.Op, ...], single: bool,
         stream_above: int) -> Call:
    """The call for `inputs`; a stream if it is one large tensor.

    `single` says that it is one op on one tensor, which has a method.
    """
    sent = [tensors.encode(x) for x in inputs]
    if (len(sent) == 1 and len(sent[0].data) > stream_above
            and tensors.parse_header(sent[0].header).data_type != "STRING"):
        method = "StreamPipeline"
    else:
        method = METHODS[ops[0].name] if single else "RunPipeline"
    return Call(method, sent, wire.ops_bytes(method + "Request", ops))


class Attempts:
    """When a stream that a server turned away is sent again, within a time.

    >>> attempts = Attempts(60.0)
    >>> while True:
    ...     try:
    ...         return run(timeout=attempts.seconds_left())
    ...     except grpc.RpcError as error:
    ...         time.sleep(attempts.pause_after(error, answered=False))
    """

    def __init__(self, timeout: float):
        self._end = time.monotonic() + timeout
        self._pauses = iter((0.1, 0.2, 0.4))

    def seconds_left(self) -> float:
        return max(self._end - time.monotonic(), 0)

    def pause_after(self, error: grpc.RpcError, answered: bool) -> float:
        """Seconds until the next attempt.

        Raises `error` if there is to be none: it says more than that the
        server is gone, or part of the answer was there already.
        """
        pause = next(self._pauses, None)
        if pause is None or answered or error.code() not in _TURNED_AWAY:
            raise error
        return min(pause * random.uniform(0.8, 1.2), self.seconds_left())


def only(outputs: list[tensors.Tensor]) -> tensors.Tensor:
    if len(outputs) != 1:
        raise errors.malformed(f"one output was due, {len(outputs)} came")
    return outputs[0]


def health_request(service: str) -> bytes:
    return _HEALTH_REQUEST(service=service).SerializeToString()


def is_serving(answer: Union[bytes, Any]) -> bool:
    return _HEALTH_RESPONSE.FromString(answer).status == 1
