"""Check that posts and links get the same plain addresses, and that vendor/ is unchanged."""

from bench.agent_tasks.result import Result

HIDDEN = """
import assert from "node:assert";
import { renderLinks } from "./src/links.js";
import { addressOf } from "./src/posts.js";

for (const [title, slug] of [["Crème brûlée", "creme-brulee"], ["Straße", "strasse"], ["ÅNGSTRÖM čaj", "angstrom-caj"],
    ["Cre\\u0300me", "creme"], ["Hello, World!", "hello-world"]]) {
  assert.equal(addressOf({ year: 2031, title }), `/2031/${slug}`);
  assert.equal(renderLinks(`a [[2031: ${title}]]`), `a <a href="/2031/${slug}">${title}</a>`);
}
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_unchanged("vendor")
    result.expect_success("addresses are wrong", ["node", "hidden.mjs"], files={"hidden.mjs": HIDDEN})
    tests = sorted(path.relative_to(result.tree).as_posix() for path in result.tree.glob("test/**/*.*js"))
    result.expect_success("the project's tests fail", ["node", "--test", *tests])
    result.expect("".join(map(result.read, tests)).count("test(") >= 3, "no test was added")
