#!/usr/bin/python3
"""Calls axisd knowing nothing but its address.

Usage: reflection.py AXISD

Learns every service from server reflection, builds the messages from what it
learned, and makes the calls of examples.py with them: what grpcurl does, but
everywhere. See grpcurl.py for the tool itself.
"""

import pathlib
import subprocess
import sys
import tempfile

import grpc
from examples import EXAMPLES, expected, joined
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from google.protobuf import message_factory
from harness import SKIP, Axisd, Checks

PROTOS = pathlib.Path("/usr/share/grpc-proto")  # Debian's grpc-proto
REFLECTION = "grpc.reflection.v1alpha"
SERVICES = {"axis.v1.TensorService", "inference.GRPCInferenceService",
            "grpc.health.v1.Health",
            f"{REFLECTION}.ServerReflection"}


def message_class(pool, name: str):
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName(name))


class Reflection:
    """The reflection service of a server, and all it tells."""

    def __init__(self, channel: grpc.Channel):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run(
                ["protoc", f"--proto_path={PROTOS}",
                 f"--descriptor_set_out={out.name}",
                 "grpc/reflection/v1alpha/reflection.proto"], check=True)
            files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
        own = descriptor_pool.DescriptorPool()
        for file in files.file:
            own.Add(file)
        self.request = message_class(own, f"{REFLECTION}."
                                          "ServerReflectionRequest")
        response = message_class(own, f"{REFLECTION}."
                                      "ServerReflectionResponse")
        self.method = channel.stream_stream(
            f"/{REFLECTION}.ServerReflection/ServerReflectionInfo",
            self.request.SerializeToString, response.FromString)
        self.pool = descriptor_pool.DescriptorPool()
        self.known = set()

    def ask(self, **question):
        answer, = self.method(iter([self.request(**question)]), timeout=5)
        if answer.HasField("error_response"):
            raise LookupError(f"{question}: {answer.error_response}")
        return answer

    def services(self) -> set:
        answer = self.ask(list_services="")
        return {s.name for s in answer.list_services_response.service}

    def learn(self, **question) -> None:
        """Adds the files that answer a question, and all they import."""
        answer = self.ask(**question).file_descriptor_response
        for data in answer.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            if file.name not in self.known:
                self.known.add(file.name)
                for name in file.dependency:
                    if name not in self.known:
                        self.learn(file_by_filename=name)
                self.pool.Add(file)


def call(channel, pool, method, example) -> bytes:
    """Makes a call by the method's descriptor, and returns the answer."""
    message = message_class(pool, method.input_type.full_name)
    answer = message_class(pool, method.output_type.full_name)
    path = f"/{method.containing_service.full_name}/{method.name}"
    if example.method != "StreamPipeline":
        request = json_format.ParseDict(example.request, message())
        return channel.unary_unary(path)(request.SerializeToString(),
                                         timeout=10)
    requests = [json_format.ParseDict(r, message()).SerializeToString()
                for r in example.request]
    pieces = channel.stream_stream(
        path, response_deserializer=answer.FromString)(iter(requests),
                                                       timeout=10)
    return joined(pieces).SerializeToString()


def main() -> None:
    if not PROTOS.exists():
        print("SKIPPED reflection: Debian's grpc-proto is not installed")
        sys.exit(SKIP)
    check, later = Checks(), 0
    with Axisd(sys.argv[1]) as server:
        reflection = Reflection(server.channel)
        found = reflection.services()
        check("the services are listed", SERVICES <= found, found)
        for name in sorted(found):
            try:
                reflection.learn(file_containing_symbol=name)
                service = reflection.pool.FindServiceByName(name)
                check(f"{name} has methods", bool(service.methods))
                print(f"described {name}: "
                      + ", ".join(m.name for m in service.methods))
            except (LookupError, TypeError) as error:
                check(f"{name} can be described", False, error)
        health = reflection.pool.FindServiceByName("grpc.health.v1.Health")
        answer = message_class(reflection.pool,
                               "grpc.health.v1.HealthCheckResponse")
        status = answer.FromString(server.channel.unary_unary(
            f"/{health.full_name}/Check")(b"", timeout=5)).status
        check("axisd is SERVING", status == 1, status)
        service = reflection.pool.FindServiceByName("axis.v1.TensorService")
        for example in EXAMPLES:
            method = service.methods_by_name[example.method]
            wanted = expected(example)
            try:
                data = call(server.channel, reflection.pool, method, example)
                got = type(wanted).FromString(data)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                    later += 1
                    continue
                got = f"{error.code().name}: {error.details()}"
            check(example.name, got == wanted, got)
    check.finish(f"calls by reflection alone, {later} later")


if __name__ == "__main__":
    main()
