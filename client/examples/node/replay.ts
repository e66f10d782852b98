// Replays golden calls: replay HOST:PORT GOLDEN.jsonl
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { status, type ServiceError } from "@grpc/grpc-js";
import { call, connect } from "./contract.js";

const [target, golden] = process.argv.slice(2);
const service = connect(target, String); // bytes in base64, as in JSON
// What proto-loader makes has prototypes, and undefined where JSON has nothing.
const plain = (message: object) => JSON.parse(JSON.stringify(message));
let passed = 0, failed = 0;
for (const line of readFileSync(golden, "utf8").trimEnd().split("\n")) {
  const { name, method, request, response, error } = JSON.parse(line);
  const found = await call(service, method, request).then(
    plain, (failure: ServiceError) => status[failure.code]);
  if (isDeepStrictEqual(found, error ?? response)) {
    passed++;
  } else {
    failed++;
    console.log("FAILED", name);
  }
}
service.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
