// The service, loaded from the proto files at run time: no generated code.
import * as grpc from "@grpc/grpc-js";
import * as loader from "@grpc/proto-loader";

// 64-bit integers are strings and `data` is a Buffer, in both directions.
export function connect(target: string, bytes?: StringConstructor): any {
  const definition = loader.loadSync("axis/v1/tensor_service.proto", {
    includeDirs: [process.env.PROTO!], keepCase: true,
    longs: String, enums: String, bytes,
  });
  const contract: any = grpc.loadPackageDefinition(definition);
  return new contract.axis.v1.TensorService(
    target, grpc.credentials.createInsecure(),
    { "grpc.max_receive_message_length": -1 });
}

// A call that must be answered within a minute, as a promise.
export function call(service: any, method: string, request: object): Promise<any> {
  const options = { deadline: Date.now() + 60_000 };
  return new Promise((resolve, reject) =>
    service[method](request, options, (error: grpc.ServiceError | null, reply: any) =>
      error ? reject(error) : resolve(reply)));
}
