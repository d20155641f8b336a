import assert from "node:assert";
import test from "node:test";
import { runAll } from "../src/pool.js";

test("all jobs run", async () => {
  assert.deepEqual(await runAll([async () => 1, async () => 2]), [1, 2]);
});
