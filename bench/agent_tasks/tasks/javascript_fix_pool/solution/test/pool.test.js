import assert from "node:assert";
import test from "node:test";
import { runAll } from "../src/pool.js";

test("all jobs run", async () => {
  assert.deepEqual(await runAll([async () => 1, async () => 2]), [1, 2]);
});

test("results are in the order of the jobs", async () => {
  const later = (value, ms) => () => new Promise((resolve) => setTimeout(resolve, ms, value));
  assert.deepEqual(await runAll([later("a", 20), later("b", 1)], 2), ["a", "b"]);
});

test("after an error the others still run", async () => {
  const ran = [];
  const jobs = [async () => ran.push(1), async () => Promise.reject(new Error("second")), async () => ran.push(3)];
  await assert.rejects(runAll(jobs, 1), /second/);
  assert.deepEqual(ran, [1, 3]);
});
