"""Every model with every datatype through an unmodified KServe client.

Usage: use_kserve.py ADDRESS, in an environment that has it.

Its client raises on any answer of type BF16, whoever sends it, so that type
is sent as UINT16 here, as all KServe clients must.
"""

import asyncio
import sys

import grpc
import numpy as np
from expected import DATATYPES, Table, cases, numbers
from kserve import InferenceGRPCClient, InferInput, InferRequest


def tensor(name: str, x: np.ndarray):
    kinds = {np.dtype(v): k for k, v in DATATYPES.items()}
    out = InferInput(name, list(x.shape), kinds[x.dtype])
    out.set_data_from_numpy(x, binary_data=True)
    return out


async def check(table: Table, address: str) -> None:
    client = InferenceGRPCClient(url=address)
    table("server", "live", await client.is_server_live())
    table("server", "ready", await client.is_server_ready())
    for model in ("Transpose", "ShuffleChannels", "VariadicSplit", "Split",
                  "Shuffle", "nhwc_u8_to_nchw"):
        table(model, "ready", await client.is_model_ready(model))
    for datatype in DATATYPES:
        x = numbers(datatype)
        for name, (data, indices, parameters, outputs) in cases(x).items():
            request = InferRequest(
                model_name=name.split(",")[0], request_id="k",
                infer_inputs=[tensor(data, x),
                              *(tensor(n, v) for n, v in indices.items())],
                parameters=parameters)
            try:
                answer = await client.infer(request)
                found = {o.name: o.as_numpy() for o in answer.outputs}
                table(name, datatype, answer.id == "k" and all(
                    np.array_equal(found[n], wanted)
                    for n, wanted in outputs), found)
            except Exception as error:  # a client may raise anything
                table(name, datatype, False, repr(error))
    try:
        await client.infer(InferRequest("nope", infer_inputs=[]))
        table("unknown model", "infer", False)
    except grpc.RpcError as error:
        table("unknown model", "infer",
              error.code() == grpc.StatusCode.NOT_FOUND, error)
    await client.close()


def main() -> None:
    table = Table("kserve")
    asyncio.run(check(table, sys.argv[1]))
    table.finish()


if __name__ == "__main__":
    main()
