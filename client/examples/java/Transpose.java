import com.google.protobuf.UnsafeByteOperations;
import dev.axis.v1.DataType;
import dev.axis.v1.Tensor;
import dev.axis.v1.TensorServiceGrpc;
import dev.axis.v1.TransposeRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Transposes a 2 x 3 tensor: Transpose HOST:PORT */
public final class Transpose {
  public static void main(String[] args) {
    // One channel for the whole program; threads may share it.
    ManagedChannel channel =
        Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create())
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .build();
    ByteBuffer data = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
    data.asFloatBuffer().put(new float[] {1, 2, 3, 4, 5, 6});
    Tensor.Builder input =
        Tensor.newBuilder()
            .setDataType(DataType.DATA_TYPE_F32)
            .addAllShape(List.of(2L, 3L))
            .setData(UnsafeByteOperations.unsafeWrap(data)); // no copy
    TransposeRequest.Builder request = TransposeRequest.newBuilder().setInput(input);
    request.getOpBuilder().addAllOrder(List.of(1L, 0L));
    try {
      Tensor output =
          TensorServiceGrpc.newBlockingStub(channel)
              .withDeadlineAfter(60, TimeUnit.SECONDS)
              .withWaitForReady()
              .transpose(request.build())
              .getOutput();
      FloatBuffer numbers =
          output.getData().asReadOnlyByteBuffer()
              .order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
      System.out.print(output.getShapeList());
      while (numbers.hasRemaining()) System.out.printf(" %.0f", numbers.get());
      System.out.println();
    } catch (StatusRuntimeException error) {
      System.err.println(error.getStatus());
      System.exit(1);
    } finally {
      channel.shutdown();
    }
  }
}
