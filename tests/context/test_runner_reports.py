"""Failed tests and their errors in reports of test runners of several languages; and what is no report."""

import sys
from pathlib import Path
from subprocess import run

import pytest

from clio.context.command_results import parse_test_report
from tests.support.rows import each_row

JEST = """\
FAIL src/sum.test.js
  ● sum › adds two numbers

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      at Object.toBe (src/sum.test.js:5:20)

Test Suites: 1 failed, 1 total
Tests:       1 failed, 2 passed, 3 total
"""
VITEST = """\
 FAIL  src/sum.test.ts > sum > adds
AssertionError: expected 3 to be 4 // Object.is equality
 ❯ src/sum.test.ts:5:20

 Test Files  1 failed (1)
      Tests  1 failed | 2 passed (3)
"""
MOCHA = """\
  1 passing (4ms)
  1 failing

  1) sum
       adds two numbers:

      AssertionError [ERR_ASSERTION]: 3 == 4
      at Context.<anonymous> (test/sum.js:6:10)
"""
GO = """\
=== RUN   TestSum
    sum_test.go:9: Sum(1, 2) = 4, want 3
--- FAIL: TestSum (0.00s)
=== RUN   TestOther
--- PASS: TestOther (0.00s)
FAIL
FAIL\texample.com/sum\t0.003s
"""
CARGO = """\
running 2 tests
test tests::adds ... FAILED
test tests::fine ... ok

failures:

---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:3:25:
assertion `left == right` failed
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
"""
RSPEC = """\
Failures:

  1) Sum adds two numbers
     Failure/Error: expect(Sum.new.add(1, 2)).to eq(4)

       expected: 4
            got: 3

       (compared using ==)
     # ./spec/sum_spec.rb:5:in `block (2 levels) in <top (required)>'

Finished in 0.01 seconds (files took 0.1 seconds to load)
2 examples, 1 failure

Failed examples:

rspec ./spec/sum_spec.rb:4 # Sum adds two numbers
"""
PHPUNIT = """\
There was 1 failure:

1) SumTest::testAdds
Failed asserting that 3 is identical to 4.

/app/tests/SumTest.php:10

FAILURES!
Tests: 2, Assertions: 2, Failures: 1.
"""
MAVEN = """\
[ERROR] Failures:
[ERROR]   SumTest.adds:12 expected: <4> but was: <3>
[INFO]
[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
"""
GRADLE = """\
SumTest > adds() FAILED
    org.opentest4j.AssertionFailedError: expected: <4> but was: <3>
        at SumTest.java:12

2 tests completed, 1 failed
"""
TAP = """\
TAP version 13
ok 1 - fine
not ok 2 - adds
  ---
  error: |-
    Expected values to be strictly equal:

    3 !== 4

  code: 'ERR_ASSERTION'
  ...
1..2
# fail 1
"""
NODE = """\
ℹ pass 1
ℹ fail 1

✖ failing tests:

test at sum.test.js:2:1
✖ adds (3.17ms)
  AssertionError [ERR_ASSERTION]: 3 == 4
      at TestContext.<anonymous> (sum.test.js:2:16)
"""
FAILING = {
    "jest": (JEST, "sum › adds two numbers", "Expected: 4, Received: 3"),
    "vitest": (VITEST, "src/sum.test.ts > sum > adds", "expected 3 to be 4"),
    "mocha": (MOCHA, "sum adds two numbers", "3 == 4"),
    "go test": (GO, "TestSum", "sum_test.go:9: Sum(1, 2) = 4, want 3"),
    "cargo test": (CARGO, "tests::adds", "left: 3 right: 4"),
    "RSpec": (RSPEC, "./spec/sum_spec.rb:4 Sum adds two numbers", "expected: 4, got: 3"),
    "PHPUnit": (PHPUNIT, "SumTest::testAdds", "Failed asserting that 3 is identical to 4."),
    "JUnit": (MAVEN, "SumTest.adds", "expected: <4> but was: <3>"),
    "Gradle": (GRADLE, "SumTest > adds()", "expected: <4> but was: <3>"),
    "TAP": (TAP, "adds", "Expected values to be strictly equal: 3 !== 4"),
    "node --test": (NODE, "adds", "3 == 4"),
}
PASSING = {
    "pytest": "....\n4 passed, 1 skipped in 0.12s\n",
    "unittest": "..\n----\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n",
    "jest": "PASS a.test.js\nTests:       2 passed, 2 total\n",
    "vitest": " ✓ a.test.ts (2)\n      Tests  2 passed (2)\n",
    "mocha": "  2 passing (4ms)\n",
    "go test": "ok  \texample.com/sum\t0.003s\nok  \texample.com/b\t(cached)\n",
    "cargo test": "test result: ok. 2 passed; 0 failed; 0 ignored\n",
    "RSpec": "2 examples, 0 failures\n",
    "PHPUnit": "OK (2 tests, 3 assertions)\n",
    "JUnit": "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n",
    "node --test": "ℹ pass 2\nℹ fail 0\n",
}


@each_row("runner", FAILING)
def test_a_failing_test_is_named_with_its_error(runner: str) -> None:
    output, name, error = FAILING[runner]
    report = parse_test_report(f"[exit 1 in 2.0 s]\n{output}")
    assert report is not None
    assert (report.runner, report.passed) == (runner, False)
    assert [test.name for test in report.failing] == [name]
    assert error in report.failing[0].error


@each_row("runner", PASSING)
def test_a_run_in_which_all_tests_passed(runner: str) -> None:
    report = parse_test_report(PASSING[runner])
    assert report is not None
    assert (report.runner, report.passed, report.failing) == (runner, True, ())


def test_colours_and_windows_line_endings_change_nothing() -> None:
    plain = parse_test_report(JEST)
    painted = "".join(f"\x1b[31m{line}\x1b[0m\r\n" for line in JEST.splitlines())
    assert parse_test_report(painted) == plain


@each_row(
    "output",
    ["", "ok", "Traceback (most recent call last):\nValueError: no\n", "FAILED to copy the file", "3 passed the exam"],
)
def test_other_output_is_no_report(output: str) -> None:
    assert parse_test_report(output) is None


MODULE = """
import unittest
import pytest

class TestSum:
    def test_adds(self):
        total = 3
        assert total == 4

@pytest.mark.parametrize("text", ["a b", "c"])
def test_reads(text):
    if text == "a b":
        raise ValueError(f"cannot read {text}")

class Cases(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(1, 2)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [["-q"], [], ["-v"], ["-rN"], ["--tb=short"]])
def test_a_real_run_of_pytest(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "test_made.py").write_text(MODULE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null"]
    done = run(
        [*command, "--rootdir", str(tmp_path), *options, "test_made.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    report = parse_test_report(done.stdout)
    assert report is not None
    errors = {test.name: test.error for test in report.failing}
    assert errors["test_made.py::TestSum::test_adds"] == "assert 3 == 4"
    assert errors["test_made.py::test_reads[a b]"] == "ValueError: cannot read a b"
    assert errors["test_made.py::Cases::test_equal"] == "AssertionError: 1 != 2"
    assert len(errors) == 3


def test_a_real_run_of_unittest(tmp_path: Path) -> None:
    (tmp_path / "test_made.py").write_text(
        MODULE.replace("import pytest", "").split("class TestSum")[0] + "class Cases" + MODULE.split("class Cases")[1],
        encoding="utf-8",
    )
    done = run(
        [sys.executable, "-m", "unittest", "test_made"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    report = parse_test_report(done.stderr)
    assert report is not None
    (failed,) = report.failing
    assert failed.name.startswith("test_equal (test_made.Cases")
    assert failed.error == "AssertionError: 1 != 2"
