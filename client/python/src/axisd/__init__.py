"""axisd: tensor rearrangement over gRPC, for people who think in NumPy.

    import axisd

    with axisd.connect("localhost:8001") as client:
        nhwc = client.transpose(nchw, (0, 2, 3, 1))
        left, right = client.variadic_split(x, (64, -1), axis=1)
        mixed, = client.pipeline().shuffle_channels(4).transpose().run(x)
"""

from axisd.aio import AsyncClient, AsyncPipeline
from axisd.client import Client, Pipeline
from axisd.errors import (DeadlineExceeded, Error, InvalidArgument,
                          ResourceExhausted, Unavailable)
from axisd.picture import Picture
from axisd.tensors import Raw

#: `connect(target, **options)`: see `Client` and `AsyncClient`.
connect = Client
connect_async = AsyncClient

__all__ = ["AsyncClient", "AsyncPipeline", "Client", "DeadlineExceeded",
           "Error", "InvalidArgument", "Picture", "Pipeline", "Raw",
           "ResourceExhausted", "Unavailable", "connect", "connect_async"]
