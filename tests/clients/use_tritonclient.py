"""Every model with every datatype through an unmodified tritonclient.

Usage: use_tritonclient.py ADDRESS, in an environment that has it.
"""

import queue
import sys

import ml_dtypes
import numpy as np
import tritonclient.grpc as triton
import tritonclient.utils.shared_memory as shm
from expected import DATATYPES, Table, cases, numbers
from tritonclient.utils import InferenceServerException
from tritonclient.utils import serialize_byte_tensor

BF16 = np.arange(120).astype(ml_dtypes.bfloat16).reshape(2, 12, 5)


def tensor(name: str, x: np.ndarray):
    kinds = {np.dtype(v): k for k, v in DATATYPES.items()}
    out = triton.InferInput(name, list(x.shape), kinds.get(x.dtype, "BF16"))
    out.set_data_from_numpy(x)
    return out


def inputs_of(case, x) -> list:
    data, indices, _, _ = case
    return [tensor(data, x),
            *(tensor(name, v) for name, v in indices.items())]


def is_right(result, outputs) -> bool:
    return all(np.array_equal(result.as_numpy(name), wanted)
               for name, wanted in outputs)


def check_answers(table: Table, client) -> None:
    table("server", "live", client.is_server_live())
    table("server", "ready", client.is_server_ready())
    metadata = client.get_server_metadata()
    table("server", "metadata", metadata.name == "axisd", metadata)
    table("server", "extensions", "system_shared_memory" in
          metadata.extensions, metadata.extensions)
    index = {m.name for m in client.get_model_repository_index().models}
    for model in ("Transpose", "ShuffleChannels", "VariadicSplit", "Split",
                  "Shuffle", "nhwc_u8_to_nchw", "shuffled_halves"):
        table(model, "index", model in index, index)
        table(model, "ready", client.is_model_ready(model))
        metadata = client.get_model_metadata(model)
        table(model, "metadata", metadata.name == model and
              metadata.platform == "axisd" and metadata.inputs, metadata)
        config = client.get_model_config(model).config
        table(model, "config", config.name == model and
              len(config.input) == len(metadata.inputs), config)
    try:
        table("unknown model", "ready", not client.is_model_ready("nope"))
    except InferenceServerException as error:
        table("unknown model", "ready", "NOT_FOUND" in str(error), error)


def check_infer(table: Table, client) -> None:
    for datatype in DATATYPES:
        x = numbers(datatype)
        for name, case in cases(x).items():
            result = client.infer(name.split(",")[0], inputs_of(case, x),
                                  parameters=case[2] or None)
            table(name, datatype, is_right(result, case[3]))
    for name, case in cases(BF16).items():
        result = client.infer(name.split(",")[0], inputs_of(case, BF16),
                              parameters=case[2] or None)
        table(name, "BF16", is_right(result, case[3]))
    image = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    result = client.infer("nhwc_u8_to_nchw", [tensor("image", image)])
    table("nhwc_u8_to_nchw", "UINT8", np.array_equal(
        result.as_numpy("output"), image.transpose(0, 3, 1, 2)))


def check_specifications(table: Table, client) -> None:
    """OpenVINO IR with the layers that its specifications print."""
    for name, shape, work in (
            ("transpose_1", (2, 3, 4), lambda x: [x.transpose(2, 0, 1)]),
            ("transpose_2", (2, 3, 4), lambda x: [x.transpose()]),
            ("shuffle_channels", (5, 12, 200, 400),
             lambda x: [x.reshape(5, 3, 4, -1).swapaxes(1, 2)
                        .reshape(x.shape)]),
            ("variadic_split_1", (6, 12, 10, 24),
             lambda x: np.split(x, [1, 3])),
            ("variadic_split_2", (6, 12, 10, 24),
             lambda x: np.split(x, [4]))):
        names = [o.name for o in client.get_model_metadata(name).outputs]
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        result = client.infer(name, [tensor("data", x)])
        wanted = work(x)
        table("OpenVINO IR", name, len(names) == len(wanted) and
              is_right(result, zip(names, wanted)))


def check_described(table: Table, client) -> None:
    """Eight 4-bit numbers, 2 x 4, turned: a plain byte array to the client."""
    packed = np.array([0x10, 0x32, 0x54, 0x76], np.uint8)
    result = client.infer(
        "Transpose", [tensor("arg", packed),
                      tensor("input_order", np.array([1, 0], np.int64))],
        parameters={"arg.data_type": "U4", "arg.shape": "2,4"})
    table("Transpose", "U4", result.as_numpy("output").tolist() ==
          [0x40, 0x51, 0x62, 0x73], result.as_numpy("output"))
    try:
        client.infer("Shuffle", [tensor("src", numbers("FP32"))],
                     parameters={"group_size": 4, "layout": "BA8b4a2b"})
        table("Shuffle", "BA8b4a2b", False)
    except InferenceServerException as error:
        table("Shuffle", "BA8b4a2b", "UNIMPLEMENTED" in error.status(), error)


def check_compression(table: Table, client) -> None:
    x = numbers("FP32", (2, 12, 5000))
    for algorithm in ("gzip", "deflate"):
        for name, case in cases(x).items():
            result = client.infer(name.split(",")[0], inputs_of(case, x),
                                  parameters=case[2] or None,
                                  compression_algorithm=algorithm)
            table(name, algorithm, is_right(result, case[3]))


def check_stream(table: Table, client) -> None:
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    x = numbers("FP32")
    sent = []
    for k in range(20):
        for name, case in cases(x).items():
            client.async_stream_infer(
                name.split(",")[0], inputs_of(case, x),
                parameters=case[2] or None, request_id=str(len(sent)))
            sent.append(case)
        client.async_stream_infer("Transpose", [tensor("arg", x)],
                                  request_id=str(len(sent)))
        sent.append(None)
    for k, case in enumerate(sent):
        result, error = answers.get(timeout=20)
        if case is None:
            table("stream", "refusal", result is None and
                  "input_order" in str(error), error)
        else:
            table("stream", f"infer {k % 9}", error is None and
                  result.get_response().id == str(k) and
                  is_right(result, case[3]), error)
    client.stop_stream()


def in_region(name: str, x: np.ndarray, region: str, offset: int):
    size = x.nbytes
    kinds = {np.dtype(v): k for k, v in DATATYPES.items()}
    out = triton.InferInput(name, list(x.shape), kinds[x.dtype])
    out.set_shared_memory(region, size, offset)
    return out


def check_shared_memory(table: Table, client) -> None:
    handles = {name: shm.create_shared_memory_region(name, f"/axisd-{name}-t",
                                                     1 << 16)
               for name in ("in", "out")}
    try:
        for name in handles:
            client.register_system_shared_memory(name, f"/axisd-{name}-t",
                                                 1 << 16)
        status = client.get_system_shared_memory_status()
        table("shared memory", "status", set(status.regions) == set(handles),
              status)
        for datatype in set(DATATYPES) - {"BYTES"}:
            x = numbers(datatype)
            shm.set_shared_memory_region(handles["in"], [x], offset=64)
            for name, case in cases(x).items():
                data, indices, parameters, outputs = case
                wanted, at = [], 0
                for output, array in outputs:
                    wanted.append(triton.InferRequestedOutput(output))
                    wanted[-1].set_shared_memory("out", array.nbytes, at)
                    at += array.nbytes
                client.infer(
                    name.split(",")[0],
                    [in_region(data, x, "in", 64),
                     *(tensor(n, v) for n, v in indices.items())],
                    outputs=wanted, parameters=parameters or None)
                at, holds = 0, True
                for _, array in outputs:
                    got = shm.get_contents_as_numpy(
                        handles["out"], array.dtype, array.shape, at)
                    holds &= np.array_equal(got, array)
                    at += array.nbytes
                table(name, f"shm {datatype}", holds)
        x = numbers("BYTES", (3, 4))
        packed = np.frombuffer(serialize_byte_tensor(x).item(), np.uint8)
        shm.set_shared_memory_region(handles["in"], [packed])
        data = triton.InferInput("arg", [3, 4], "BYTES")
        data.set_shared_memory("in", packed.nbytes)
        result = client.infer("Transpose", [data, tensor(
            "input_order", np.array([1, 0], np.int64))])
        table("Transpose", "shm BYTES", np.array_equal(
            result.as_numpy("output"), x.T))
        client.unregister_system_shared_memory("in")
        client.unregister_system_shared_memory()
        status = client.get_system_shared_memory_status()
        table("shared memory", "unregister", not status.regions, status)
    finally:
        for handle in handles.values():
            shm.destroy_shared_memory_region(handle)


def check_statistics(table: Table, client) -> None:
    stats = client.get_inference_statistics("Transpose").model_stats[0]
    table("Transpose", "statistics", stats.inference_count > 10 and
          stats.inference_stats.success.ns > 0 and
          stats.inference_stats.fail.count > 0, stats)


def main() -> None:
    table = Table("tritonclient")
    with triton.InferenceServerClient(sys.argv[1]) as client:
        check_answers(table, client)
        check_infer(table, client)
        check_specifications(table, client)
        check_described(table, client)
        check_compression(table, client)
        check_stream(table, client)
        check_shared_memory(table, client)
        check_statistics(table, client)
    table.finish()


if __name__ == "__main__":
    main()
