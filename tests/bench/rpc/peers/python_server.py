#!/usr/bin/python3
"""What one would write in Python: grpcio, generated messages, NumPy.

The op is kindly left out: NumPy only copies the payload.

Usage: python_server.py FOLDER ADDRESS...
FOLDER holds the generated modules of the contract.
"""

import concurrent.futures
import os
import sys

import grpc
import numpy

sys.path.insert(0, sys.argv[1])
from axis.v1 import tensor_service_pb2 as pb  # noqa: E402
from axis.v1 import tensor_service_pb2_grpc as pb_grpc  # noqa: E402


class Service(pb_grpc.TensorServiceServicer):
    def Transpose(self, request, context):
        tensor = request.input
        array = numpy.frombuffer(tensor.data, numpy.float32)
        array = array.reshape(tensor.shape).copy()
        response = pb.TransposeResponse()
        response.output.data_type = tensor.data_type
        response.output.shape.extend(
            tensor.shape[axis] for axis in request.op.order)
        response.output.data = array.tobytes()
        return response


def main():
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(4 * (os.cpu_count() or 1)),
        options=[("grpc.max_receive_message_length", -1),
                 ("grpc.max_send_message_length", -1)])
    pb_grpc.add_TensorServiceServicer_to_server(Service(), server)
    for address in sys.argv[2:]:
        server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()  # until killed


if __name__ == "__main__":
    main()
