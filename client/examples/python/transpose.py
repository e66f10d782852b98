"""Transposes a 2 x 3 tensor with nothing but grpcio: transpose.py HOST:PORT"""

import struct
import sys

import grpc
from axis.v1 import ops_pb2, tensor_pb2, tensor_service_pb2
from axis.v1 import tensor_service_pb2_grpc


def main() -> None:
    # One channel for the whole program; it may be shared by threads.
    with grpc.insecure_channel(sys.argv[1], options=[
            ("grpc.max_receive_message_length", -1)]) as channel:
        service = tensor_service_pb2_grpc.TensorServiceStub(channel)
        request = tensor_service_pb2.TransposeRequest(
            input=tensor_pb2.Tensor(
                data_type=tensor_pb2.DATA_TYPE_F32, shape=[2, 3],
                data=struct.pack("<6f", 1, 2, 3, 4, 5, 6)),
            op=ops_pb2.Transpose(order=[1, 0]))
        try:
            reply = service.Transpose(request, timeout=60,
                                      wait_for_ready=True)
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")
    numbers = struct.unpack("<6f", reply.output.data)
    print(list(reply.output.shape), *map(int, numbers))


if __name__ == "__main__":
    main()
