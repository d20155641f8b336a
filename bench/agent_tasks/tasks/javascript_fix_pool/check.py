"""Check the order, the errors and the limit, and that tests were added."""

from bench.agent_tasks.result import Result

HIDDEN = """
import assert from "node:assert";
import { runAll } from "./src/pool.js";

const guard = setTimeout(() => { console.log("runAll never ends"); process.exit(9); }, 3000);
const later = (value, ms) => () => new Promise((resolve) => setTimeout(resolve, ms, value));
assert.deepEqual(await runAll([later(1, 30), later(2, 1), later(3, 10)], 3), [1, 2, 3], "order");
assert.deepEqual(await runAll([]), []);
const ran = [];
const note = (value) => async () => { ran.push(value); };
const fail = (name) => async () => { ran.push(name); throw new Error(name); };
await assert.rejects(runAll([note(1), fail("first"), note(3), fail("second"), note(5)], 2), /first/);
assert.deepEqual(ran.length, 5, "not every job ran");
let running = 0, most = 0;
const count = async () => { most = Math.max(most, ++running); await later(0, 3)(); running--; };
await runAll(Array(9).fill(count), 3);
assert.equal(most, 3, "the limit");
clearTimeout(guard);
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("runAll is still wrong", ["node", "hidden.mjs"], files={"hidden.mjs": HIDDEN})
    tests = sorted(path.relative_to(result.tree).as_posix() for path in result.tree.glob("test/**/*.*js"))
    result.expect_success("the project's tests fail", ["node", "--test", *tests])
    text = "".join(map(result.read, tests))
    result.expect(text.count("test(") + text.count("it(") >= 2, "no test was added")
    result.expect_only_changed("src", "test")
