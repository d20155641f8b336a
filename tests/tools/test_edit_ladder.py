"""The ladder of matching methods: which one an edit matches by, what it writes, and when it is refused."""

from typing import NamedTuple

import pytest

from clio.tools.files.edit_search import EditMatch, EditRefused, match_edit
from tests.support.rows import each_row


class Case(NamedTuple):
    rung: str
    text: str
    old: str
    new: str
    after: str


CASES = {
    "exact": Case("exact", "a = 1\nb = 2\n", "b = 2", "b = 3", "a = 1\nb = 3\n"),
    "exact inside a line": Case("exact", "call(a, b)\n", "a, b", "b, a", "call(b, a)\n"),
    "exact in a CRLF file brings CRLF": Case("exact", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
    "exact takes a torn CRLF whole": Case("exact", "a\r\nb", "\nb", "b", "ab"),
    "deletion": Case("exact", "a\nb\nc\n", "b\n", "", "a\nc\n"),
    "CRLF": Case("line endings", "a\r\nb\r\nc\r\n", "a\nb", "a\nX\nb", "a\r\nX\r\nb\r\nc\r\n"),
    "CR only": Case("line endings", "a\rb\rc", "a\nb", "a\nX", "a\rX\rc"),
    "CRLF in the search, LF in the file": Case("line endings", "a\nb\n", "a\r\nb", "a\r\nc", "a\nc\n"),
    "mixed endings stay line by line": Case("line endings", "a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\n"),
    "blanks at the end in the file": Case("line endings", "a  \nb\t\nc\n", "a\nb\n", "a\nB\n", "a  \nB\nc\n"),
    "blanks at the end in the search": Case("line endings", "if x:\n    y\n", "if x:  \n    y  ", "if z:", "if z:\n"),
    "blank lines with blanks in them": Case("line endings", "a\n   \nb\n", "a\n\nb", "a\n\nc", "a\n   \nc\n"),
    "no final newline in the file": Case("line endings", "a\nb", "a\nb\n", "a\nc\n", "a\nc"),
    "no final newline, lines added": Case("line endings", "a\nb", "b\n", "b\nc\n", "a\nb\nc"),
    "line numbers": Case(
        "line numbers", "x\ndef f():\n    y\n", " 2|def f():\n 3|    y", "def f():\n    z", "x\ndef f():\n    z\n"
    ),
    "line numbers in both": Case("line numbers", "x\ny\n", "1|x\n2|y", "1|x\n2|z", "x\nz\n"),
    "line numbers with a tab": Case("line numbers", "x\ny\n", "1\tx\n2\ty", "x\nz", "x\nz\n"),
    "line numbers and CRLF": Case("line numbers", "x\r\ny\r\n", "1|x\n2|y", "x\nz", "x\r\nz\r\n"),
    "deeper in the file": Case(
        "indent shift",
        "class A:\n        def f(self):\n            return 1\n",
        "def f(self):\n    return 1",
        "def f(self):\n    x = 1\n\n    return x",
        "class A:\n        def f(self):\n            x = 1\n\n            return x\n",
    ),
    "shallower in the file": Case(
        "indent shift",
        "  if a:\n    b\n",
        "      if a:\n        b\n",
        "      if a:\n        b\n      else:\n        c\n",
        "  if a:\n    b\n  else:\n    c\n",
    ),
    "shallower than any line searched": Case(
        "indent shift", "        a\n        b\n", "    a \n    b", "    a\nb", "        a\n    b\n"
    ),
    "tabs in the file": Case(
        "indent shift",
        "def f():\n\tif x:\n\t\treturn 1\n",
        "    if x:\n        return 1\n",
        "    if y:\n        return 1\n            deep\n",
        "def f():\n\tif y:\n\t\treturn 1\n\t\t\tdeep\n",
    ),
    "tabs in the search": Case(
        "indent shift",
        "def f():\n    if x:\n        return 1\n",
        "\tif x:\n\t\treturn 1\n",
        "\tif x:\n\t\treturn 2\n",
        "def f():\n    if x:\n        return 2\n",
    ),
    "tabs against two spaces": Case("indent shift", "\ta:\n\t\tb\n", "  a:\n    b\n", "  a:\n    c\n", "\ta:\n\t\tc\n"),
    "curly quotes stay where they were": Case(
        "punctuation", "say(“it’s”) # — a\n", 'say("it\'s") # - a', 'say("it\'s ok") # - b', "say(“it’s ok”) # — b\n"
    ),
    "no-break space": Case("punctuation", "a\u00a0= 1\nb = 2\n", "a = 1\nb", "a = 1\nc", "a\u00a0= 1\nc = 2\n"),
    "typography in the search only": Case(
        "punctuation", "x = 'a' - b\n", "x = ‘a’ – b", "x = ‘c’ – b", "x = 'c' - b\n"
    ),
    "typography and indentation": Case(
        "punctuation", "\tsay(“a”)\n\tb\n", 'say("a")\nb', 'say("a")\nc', "\tsay(“a”)\n\tc\n"
    ),
    "a byte invalid in UTF-8": Case(
        "punctuation", "caf\udce9 = 1\nb\n", "caf\ufffd = 1", "caf\ufffd = 2", "caf\udce9 = 2\nb\n"
    ),
    "white space inside lines": Case(
        "whitespace", "x  =  1\ny = 2\n", "x = 1\ny = 2", "x = 1\nz = 2", "x  =  1\nz = 2\n"
    ),
    "uneven indentation": Case(
        "whitespace",
        "if a:\n  b:\n     c\n",
        "if a:\n    b:\n        c",
        "if a:\n    b:\n        d",
        "if a:\n  b:\n     d\n",
    ),
    "lines broken elsewhere": Case(
        "whitespace", "foo(a,  b,\n    c)\nbar()\n", "foo(a, b, c)", "foo(a, b)", "foo(a, b)\nbar()\n"
    ),
    "a blank line too many": Case("whitespace", "\ta\n\n\n\tb\n", "a\nb\n", "a\nc\n", "\ta\n\tc\n"),
}


@each_row("name", CASES)
def test_the_method_by_which_an_edit_matches(name: str) -> None:
    case = CASES[name]
    outcome = match_edit(case.text, case.old, case.new)
    assert isinstance(outcome, EditMatch), outcome
    assert (outcome.apply(case.text), outcome.match_kind) == (case.after, case.rung)


REFUSALS = {
    "empty": ("a\n", "", "b", "empty"),
    "same": ("a\n", "a", "a", "same"),
    "same but for its endings": ("a\r\nb\r\n", "a\nb", "a\r\nb", "no change"),
    "nothing": ("alpha\n", "omega", "b", "not found"),
    "several, exact": ("a\na\n", "a", "b", "ambiguous"),
    "several, overlapping": ("aaa", "aa", "b", "ambiguous"),
    "several, line endings": ("a\r\nb\r\na\r\nb\r\n", "a\nb", "c", "ambiguous"),
    "several, indent shift": ("  a\n  b\n    a\n    b\n", "a\nb", "c\nd", "ambiguous"),
    "several, whitespace": ("a  b\na   b\n", "a b", "c", "ambiguous"),
    "white space only": ("a\nb\n", "  \n ", "c", "not found"),
    "words inside words": ("xa  bx\n", "a b", "c", "not found"),
    "numbers that do not count up": ("x\ny\n", "1|x\n5|y", "z", "not found"),
}


@each_row("name", REFUSALS)
def test_edits_that_are_refused(name: str) -> None:
    text, old, new, reason = REFUSALS[name]
    outcome = match_edit(text, old, new)
    assert isinstance(outcome, EditRefused), outcome
    assert outcome.reason == reason


@each_row(
    ("text", "old", "new", "after"),
    [
        ("a\na\n", "a", "b", "b\nb\n"),
        ("aaa", "aa", "b", "ba"),
        ("a\r\nb\r\na\r\nb\r\n", "a\nb", "a\nc", "a\r\nc\r\na\r\nc\r\n"),
        ("a:\n  b\n    a:\n      b\n", "a:\n  b\n", "a:\n  c\n", "a:\n  c\n    a:\n      b\n"),
        ("  x(1)\n\tx(1)\n", "x(1)", "y(2)", "  y(2)\n\ty(2)\n"),
    ],
)
def test_replace_all_changes_every_place(text: str, old: str, new: str, after: str) -> None:
    outcome = match_edit(text, old, new, replace_all=True)
    assert isinstance(outcome, EditMatch)
    assert outcome.apply(text) == after


def test_replace_all_does_not_use_the_last_method() -> None:
    outcome = match_edit("a  b\na   b\n", "a b", "c", replace_all=True)
    assert isinstance(outcome, EditRefused)
    assert outcome.reason == "ambiguous"


def test_a_stricter_match_hides_looser_ones() -> None:
    """Only the exact place counts, although the other would match with whitespace normalized."""
    outcome = match_edit("a  b\na b\n", "a b", "c")
    assert isinstance(outcome, EditMatch)
    assert (outcome.match_kind, outcome.apply("a  b\na b\n")) == ("exact", "a  b\nc\n")


def test_several_matches_are_listed_by_line() -> None:
    outcome = match_edit("x\n\tsame\ny\n\tsame \n", "same", "other")
    assert isinstance(outcome, EditRefused)
    assert "2 places, on lines 2, 4" in outcome.message
    assert "1|x\n2|\tsame\n" in outcome.message and "4|\tsame " in outcome.message


def test_without_a_match_the_closest_lines_are_shown() -> None:
    outcome = match_edit("x\r\ndef f():\r\n\treturn total + 1\r\n", "def f():\n    return totl + 1", "y")
    assert isinstance(outcome, EditRefused)
    assert "2|def f():\n3|\treturn total + 1\n" in outcome.message
    assert "first difference, line 3:\nyours | ····return totl + 1\nfile  | →return total + 1␍" in outcome.message


def test_without_similar_lines_none_are_shown() -> None:
    outcome = match_edit("alpha\n", "qqqq wwww", "y")
    assert isinstance(outcome, EditRefused)
    assert "nor anything like it" in outcome.message


def test_whole_lines_do_not_match_inside_lines() -> None:
    outcome = match_edit("xab\nab\n", "ab\n", "c\n", whole_lines=True)
    assert isinstance(outcome, EditMatch)
    assert outcome.apply("xab\nab\n") == "xab\nc\n"


def test_unchanged_lines_of_a_loose_match_are_kept() -> None:
    """Only the line the model changed is rewritten; the others keep blanks, quotes and tabs."""
    text = "\tone = “1”   \r\n\ttwo = 2\r\n\tthree  \r\n"
    outcome = match_edit(text, '  one = "1"\n  two = 2\n  three\n', '  one = "1"\n  two = 22\n  three\n')
    assert isinstance(outcome, EditMatch)
    assert outcome.apply(text) == "\tone = “1”   \r\n\ttwo = 22\r\n\tthree  \r\n"


def test_a_large_file_takes_little_time() -> None:
    """Ten thousand lines, most of them similar, with the slowest methods."""
    lines = [f"    value_{number} = compute({number})" if number % 3 else "    }" for number in range(10_000)]
    text = "\n".join(lines)
    outcome = match_edit(text, "value_5000  =  compute(5000)\nvalue_5002 = x", "y")
    assert isinstance(outcome, EditRefused)
    assert "value_5000" in outcome.message


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("}", "}\n\t", "]\n\t", "]"),
        ("a {\n}\nb\n", "}\n\t", "]\n\t", "a {\n]\nb\n"),
        ("a {\r\n}\r\nb\r\n", "}\n  ", "]\n  ", "a {\r\n]\r\nb\r\n"),
        ("}\r\n\tfoo\r\n", "}\n\t", "x\n}\n\t", "x\r\n}\r\n\tfoo\r\n"),
    ],
)
def test_blanks_after_the_last_newline_are_tolerated(text: str, old: str, new: str, after: str) -> None:
    outcome = match_edit(text, old, new)
    assert isinstance(outcome, EditMatch)
    assert outcome.apply(text) == after


@each_row("form", ["{}→", "{}|", "{}\t", "{}: ", " {}|"])
def test_an_emptied_numbered_line_is_empty(form: str) -> None:
    first, second = form.format(1), form.format(2)
    for old, new, after in [
        (f"{first}foo", first, "\nbar\n"),
        (f"{first}foo\n{second}bar", f"{first}\n{second}x", "\nx\n"),
        (f"{first}foo\nbar", f"{first}x\nbar", "x\nbar\n"),
        (f"{first}foo\n{second}bar", f"{first}foo\n{second}\n{form.format(3)}bar", "foo\n\nbar\n"),
    ]:
        outcome = match_edit("foo\nbar\n", old, new)
        assert isinstance(outcome, EditMatch)
        assert outcome.apply("foo\nbar\n") == after


@each_row("pad", ["    ", "\t", "\t  "])
@each_row("ending", ["\n", "\r\n"])
def test_further_lines_of_a_replacement_are_indented_like_the_first(pad: str, ending: str) -> None:
    text = f"def f():{ending}{pad}old(){ending}{pad}rest(){ending}"
    for new, lines in [
        ("a()\nb()", ["a()", "b()"]),
        ("if x:\n    a()\n\nb()", ["if x:", "    a()", "", "b()"]),
        (f"a()\n{pad}b()", ["a()", "b()"]),
    ]:
        outcome = match_edit(text, "old()", new)
        assert isinstance(outcome, EditMatch)
        block = "".join(f"{pad if line else ''}{line}{ending}" for line in lines)
        assert outcome.apply(text) == f"def f():{ending}{block}{pad}rest(){ending}"


def test_quoted_line_numbers_match_whole_lines_only() -> None:
    assert isinstance(match_edit("        x = 1\n", "1→    ", "1→\t", replace_all=True), EditRefused)
