"""Output of linters and compilers is parsed: location, rule, message and severity."""

from pathlib import Path

import pytest

from clio.checks.diagnostics import Diagnostic, find_new_diagnostics, parse_lines
from tests.support.rows import each_row


@each_row(
    ("line", "number", "code", "message", "is_error"),
    [
        ("a.x:2:7: F821 Undefined name `foo`", 2, "F821", "Undefined name `foo`", True),
        ("a.x:1:8: F401 [*] `os` imported but unused", 1, "F401", "`os` imported but unused", True),
        ("a.x:1:1: D100 Missing docstring", 1, "D100", "Missing docstring", False),
        ("a.x:2:8: invalid-syntax: Expected `)`", 2, "invalid-syntax", "Expected `)`", True),
        ('a.x:3: error: Name "y" is not defined  [name-defined]', 3, "name-defined", 'Name "y" is not defined', True),
        ("a.x(3,5): error TS2304: Cannot find name 'y'.", 3, "TS2304", "Cannot find name 'y'.", True),
        ("a.x:1:5: error[E0425]: cannot find value `y`", 1, "E0425", "cannot find value `y`", True),
        ("a.x:1:5: warning: unused variable: `y`", 1, "", "unused variable: `y`", False),
        ("vet: ./a.x:4:2: undefined: y", 4, "", "undefined: y", True),
        ("a.x: line 3: syntax error: unexpected end of file", 3, "", "syntax error: unexpected end of file", True),
    ],
)
def test_a_line_is_read(tmp_path: Path, line: str, number: int, code: str, message: str, is_error: bool) -> None:
    (tmp_path / "a.x").touch()
    expected = Diagnostic(path="a.x", line=number, code=code, message=message, is_error=is_error)
    assert parse_lines(line, tmp_path.resolve()) == [expected]


@pytest.mark.parametrize(
    "line", ["a.x:1: note: see here", "missing.x:1:2: error: no such file", "12:30:45 started", ""]
)
def test_other_lines_are_skipped(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.x").touch()
    assert parse_lines(line, tmp_path) == []


def test_of_several_equal_ones_the_one_on_a_changed_line_is_new() -> None:
    def at(line: int) -> Diagnostic:
        return Diagnostic(path="a.py", line=line, code="F821", message="Undefined name `x`")

    assert find_new_diagnostics([at(1)], [at(2), at(9)], lambda each: each.line == 2) == [at(2)]


def test_a_location_in_a_message_does_not_make_it_new() -> None:
    before = Diagnostic(path="a.py", line=9, code="F811", message="Redefinition of unused `f` from line 3")
    after = Diagnostic(path="a.py", line=12, code="F811", message="Redefinition of unused `f` from line 6")
    assert find_new_diagnostics([before], [after], lambda each: False) == []
