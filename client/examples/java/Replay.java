import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import dev.axis.v1.TensorServiceProto;
import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import java.nio.file.Files;
import java.nio.file.Path;

/** Replays golden calls: Replay HOST:PORT GOLDEN.jsonl */
public final class Replay {
  private static DynamicMessage message(Descriptor type, JsonObject spelled) throws Exception {
    DynamicMessage.Builder builder = DynamicMessage.newBuilder(type);
    JsonFormat.parser().merge(spelled.toString(), builder);
    return builder.build();
  }

  private static boolean passes(ManagedChannel channel, JsonObject call) throws Exception {
    String name = call.get("method").getAsString();
    var service = TensorServiceProto.getDescriptor().findServiceByName("TensorService");
    var types = service.findMethodByName(name);
    var method =
        MethodDescriptor.<DynamicMessage, DynamicMessage>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(service.getFullName() + "/" + name)
            .setRequestMarshaller(marshaller(types.getInputType()))
            .setResponseMarshaller(marshaller(types.getOutputType()))
            .build();
    var request = message(types.getInputType(), call.getAsJsonObject("request"));
    try {
      var found =
          ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, request);
      return call.has("response")
          && found.equals(message(types.getOutputType(), call.getAsJsonObject("response")));
    } catch (StatusRuntimeException error) {
      return call.has("error")
          && call.get("error").getAsString().equals(error.getStatus().getCode().name());
    }
  }

  private static MethodDescriptor.Marshaller<DynamicMessage> marshaller(Descriptor type) {
    return ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(type));
  }

  public static void main(String[] args) throws Exception {
    var channel =
        Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    int passed = 0;
    int failed = 0;
    for (String line : Files.readAllLines(Path.of(args[1]))) {
      JsonObject call = JsonParser.parseString(line).getAsJsonObject();
      if (passes(channel, call)) {
        ++passed;
      } else {
        ++failed;
        System.out.println("FAILED " + call.get("name").getAsString());
      }
    }
    channel.shutdown();
    System.out.printf("%d passed, %d failed%n", passed, failed);
    System.exit(failed > 0 ? 1 : 0);
  }
}
