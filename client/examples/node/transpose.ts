// Transposes a 2 x 3 tensor: transpose HOST:PORT
import { call, connect } from "./contract.js";

const service = connect(process.argv[2]);
const input = Float32Array.of(1, 2, 3, 4, 5, 6);
try {
  const { output } = await call(service, "Transpose", {
    input: {
      data_type: "DATA_TYPE_F32",
      shape: [2, 3],
      data: Buffer.from(input.buffer),
    },
    op: { order: [1, 0] },
  });
  // A Buffer lies anywhere in its memory: copy it to where floats may begin.
  const numbers = new Float32Array(Uint8Array.from(output.data).buffer);
  console.log(`[${output.shape.join(", ")}] ${numbers.join(" ")}`);
} finally {
  service.close();
}
