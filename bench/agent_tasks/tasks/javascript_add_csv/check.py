"""Check CSV output with special characters, the columns of each format, the help text and the tests."""

from bench.agent_tasks.result import Result

HIDDEN = r'''
import assert from "node:assert";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

writeFileSync("h.json", JSON.stringify([
  { name: 'Ada "the first"', city: "London, UK", total: 3 }, { name: "Bo\nb", city: "Ulm", total: 0 }]));
const run = (...words) => {
  const { status, stdout, stderr } = spawnSync("node", ["report.js", "h.json", ...words], { encoding: "utf8" });
  return { status, stdout, stderr };
};
assert.equal(run("--format", "csv").stdout,
  'name,city,total\r\n"Ada ""the first""","London, UK",3\r\n"Bo\nb",Ulm,0\r\n', "csv");
assert.equal(run("--format", "csv", "--columns", "total,city").stdout,
  'total,city\r\n3,"London, UK"\r\n0,Ulm\r\n', "columns");
const rows = run("--format", "json", "--columns", "total,city").stdout;
assert.deepEqual(JSON.parse(rows), [{ total: 3, city: "London, UK" }, { total: 0, city: "Ulm" }]);
assert.ok(rows.indexOf("total") < rows.indexOf("city"), "the order of columns in JSON");
assert.equal(run("--columns", "total,city").stdout, "total  city\n3      London, UK\n0      Ulm\n", "table");
const refused = run("--columns", "total,age");
assert.equal(refused.status, 2, "an unknown column is accepted");
for (const word of ["age", "name", "city", "total"]) assert.ok(refused.stderr.includes(word), refused.stderr);
assert.ok(!refused.stderr.includes("    at "), "a traceback");
const help = spawnSync("node", ["report.js", "--help"], { encoding: "utf8" }).stdout;
assert.ok(help.includes("csv") && help.includes("--columns"), "the help text");
'''


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("the report is not as asked", ["node", "hidden.mjs"], files={"hidden.mjs": HIDDEN})
    tests = sorted(path.relative_to(result.tree).as_posix() for path in result.tree.glob("test/**/*.*js"))
    result.expect_success("the project's tests fail", ["node", "--test", *tests])
    result.expect("csv" in "".join(map(result.read, tests)), "there is no test of CSV")
    formats = [path.name for path in result.tree.glob("src/formats/*.js")]
    result.expect("csv.js" in formats, "the format has no file of its own in src/formats/")
