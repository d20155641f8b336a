import assert from "node:assert";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { main } from "../src/main.js";

const file = join(mkdtempSync(join(tmpdir(), "report-")), "rows.json");
writeFileSync(file, JSON.stringify([{ name: "Ada", city: "London", total: 3 }]));

function run(...words) {
  const written = { out: "", err: "" };
  const stream = (name) => ({ write: (text) => (written[name] += text) });
  return { code: main(words, stream("out"), stream("err")), ...written };
}

test("a table", () => {
  assert.equal(run(file).out, "name  city    total\nAda   London  3\n");
});

test("JSON", () => {
  assert.deepEqual(JSON.parse(run(file, "--format", "json").out), [{ name: "Ada", city: "London", total: 3 }]);
});
