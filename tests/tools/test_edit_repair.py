"""Failed edits, and a reader that does exactly what the message says: the next edit must be the intended one.

The corpus is generated: each class of error occurs in five files, with edit_file and with apply_patch.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from clio.errors import ToolRetry
from tests.tools.file_support import Bench, run

PYTHON = '''"""Shapes."""

import math


class Shape:
    def __init__(self, name):
        self.name = name
        self.parts = []

    def area(self):
        total = 0
        for part in self.parts:
            total += part.area()
        return total

    def describe(self):
        label = "shape: “" + self.name + "”"
        return label.strip()


class Circle(Shape):
    def __init__(self, radius):
        super().__init__("circle")
        self.radius = radius

    def area(self):
        square = self.radius * self.radius
        return math.pi * square


def largest(shapes):
    best = None
    for shape in shapes:
        if best is None or shape.area() > best.area():
            best = shape
    return best
'''
TABBED = """package stock

import "fmt"

type Item struct {
\tName  string
\tCount int
}

func (i *Item) Take(n int) error {
\tif n > i.Count {
\t\treturn fmt.Errorf("only %d of %s left", i.Count, i.Name)
\t}
\ti.Count -= n
\treturn nil
}

func (i *Item) Put(n int) error {
\tif n < 0 {
\t\treturn fmt.Errorf("cannot put %d of %s", n, i.Name)
\t}
\ti.Count += n
\treturn nil
}

func Total(items []Item) int {
\tsum := 0
\tfor _, item := range items {
\t\tsum += item.Count
\t}
\treturn sum
}
"""
SCRIPT = """import { open } from './store';

export class Cart {
  constructor(user) {
    this.user = user;
    this.lines = [];
  }

  add(product, count) {
    const line = { product, count };
    this.lines.push(line);
    return this;
  }

  remove(product) {
    this.lines = this.lines.filter((line) => line.product !== product);
    return this;
  }
}

export async function load(id) {
  const store = await open('carts');
  const found = await store.get(id);
  if (!found) {
    throw new Error(`no cart ${id}`);
  }
  return found;
}
"""
SETTINGS = """server:
  host: 127.0.0.1
  port: 8080
  timeout: 30

database:
  host: db.internal
  port: 5432
  timeout: 30
  pool:
    size: 10
    recycle: 3600

logging:
  level: info
  file: /var/log/app.log
  rotate: daily
"""
FILES = {
    "shapes.py": PYTHON,
    "stock.go": TABBED,
    "cart.js": SCRIPT,
    "settings.yaml": SETTINGS,
    "windows.py": PYTHON.replace("\n", "\r\n"),
}
OTHER = "notes.txt"
BLOCKS = {  # first and last line of a block, what to change in it, and what an outdated copy has instead
    "shapes.py": [
        (28, 30, "square", "sq", "def area(self)"),
        (32, 37, "best = shape", "best = s", "for shape in shapes"),
    ],
    "stock.go": [
        (18, 23, "i.Count += n", "i.Count += m", "n < 0"),
        (26, 32, "sum += item.Count", "sum++", "range items"),
    ],
    "cart.js": [
        (9, 13, "this.lines.push", "this.rows.push", "product, count };"),
        (21, 28, "no cart", "none", "open('carts')"),
    ],
    "settings.yaml": [(6, 12, "size: 10", "size: 20", "db.internal"), (14, 17, "daily", "weekly", "level: info")],
}
BLOCKS["windows.py"] = BLOCKS["shapes.py"]


class Case(Struct, frozen=True, kw_only=True):
    """A failing edit. `meant`: the text to change, on which line, and its replacement."""

    label: str
    tool: str
    path: str
    old: list[str]
    line: int
    meant: str
    becomes: str
    in_file: str = ""
    hunks: tuple[tuple[list[str], str, str], ...] = ()


Mistake = Callable[[list[str], str], list[str]]


def stale(lines: list[str], word: str) -> list[str]:
    return [line.replace(word, word.upper() + "_OLD") for line in lines]


def wrong_indent(lines: list[str], word: str) -> list[str]:
    return ["      " + line.strip() for line in stale(lines, word)]


def spaces_for_tabs(lines: list[str], word: str) -> list[str]:
    return [line.replace("\t", "    ").replace("  ", "\t") for line in stale(lines, word)]


def trailing_blanks(lines: list[str], word: str) -> list[str]:
    return [line + "   " for line in stale(lines, word)]


def half_lines(lines: list[str], word: str) -> list[str]:
    kept = [("   " + line if at else line.strip()) for at, line in enumerate(stale(lines, word))]
    return [*kept[:-1], kept[-1][: max(4, len(kept[-1]) * 2 // 3)]]


def look_alikes(lines: list[str], word: str) -> list[str]:
    return [line.replace('"', "“").replace("'", "’").replace("-", "–") for line in stale(lines, word)]


def missing_line(lines: list[str], word: str) -> list[str]:
    return [lines[0], *lines[2:]]


def omitted_lines(lines: list[str], word: str) -> list[str]:
    return [lines[0], "    ...", lines[-1]]


def comment_for_lines(lines: list[str], word: str) -> list[str]:
    return [lines[0], "    # ... existing code ...", *lines[-2:]]


def numbered_stale(lines: list[str], word: str) -> list[str]:
    return [f"{at}|{line}" for at, line in enumerate(stale(lines, word), 7)]


def numbered_wide(lines: list[str], word: str) -> list[str]:
    return [f"{at:>4} | {line}" for at, line in enumerate(stale(lines, word), 7)]


def escaped(lines: list[str], word: str) -> list[str]:
    return [r"\n".join(lines).replace("\t", r"\t").replace('"', r"\"")]


def extra_line(lines: list[str], word: str) -> list[str]:
    return [*lines[:1], "    # checked twice", *lines[1:]]


def joined_lines(lines: list[str], word: str) -> list[str]:
    return [lines[0], lines[1] + " " + stale(lines, word)[0].strip(), *lines[2:]]


MISTAKES: list[Mistake] = [
    stale,
    wrong_indent,
    spaces_for_tabs,
    trailing_blanks,
    half_lines,
    look_alikes,
    missing_line,
    omitted_lines,
    comment_for_lines,
    numbered_stale,
    numbered_wide,
    escaped,
    extra_line,
    joined_lines,
]


def cases() -> Iterator[Case]:
    for path, blocks in BLOCKS.items():
        lines = FILES[path].replace("\r\n", "\n").split("\n")
        for first, last, meant, becomes, word in blocks:
            block = lines[first - 1 : last]
            line = next(at for at, text in enumerate(lines, 1) if at >= first and meant in text)
            for mistake in MISTAKES:
                for tool in ("edit_file", "apply_patch"):
                    yield Case(
                        label=f"{mistake.__name__} {tool} {path}:{first}",
                        tool=tool,
                        path=path,
                        old=mistake(block, word),
                        line=line,
                        meant=meant,
                        becomes=becomes,
                    )
            for tool in ("edit_file", "apply_patch"):
                yield Case(
                    label=f"wrong file {tool} {path}:{first}",
                    tool=tool, path=OTHER, old=block, line=line, meant=meant, becomes=becomes, in_file=path,
                )  # fmt: skip
    for path, line, meant, becomes in (
        ("shapes.py", 8, "self.name", "self.title"),
        ("shapes.py", 27, "def area(self)", "def area(self, unit)"),
        ("stock.go", 22, "return nil", "return err"),
        ("stock.go", 11, "\t}", "\t} // full"),
        ("cart.js", 12, "return this;", "return line;"),
        ("settings.yaml", 9, "timeout: 30", "timeout: 60"),
        ("settings.yaml", 7, "host:", "hosts:"),
        ("windows.py", 23, "def __init__(self", "def __init__(this"),
    ):
        lines = FILES[path].replace("\r\n", "\n").split("\n")
        where = next(at for at, text in enumerate(lines, 1) if at >= line and meant in text)
        for tool in ("edit_file", "apply_patch"):
            old = [meant] if tool == "edit_file" else [lines[where - 1]]
            label = f"ambiguous {tool} {path}:{where}"
            yield Case(label=label, tool=tool, path=path, old=old, line=where, meant=meant, becomes=becomes)
    for path, blocks in BLOCKS.items():  # hunks in the wrong order, so that the last of them is the intended one
        lines = FILES[path].replace("\r\n", "\n").split("\n")
        chosen = [(lines[first - 1 : last], meant, becomes) for first, last, meant, becomes, _ in blocks]
        yield Case(
            label=f"wrong order {path}", tool="apply_patch", path=path, old=[], line=0, meant="", becomes="",
            hunks=tuple(reversed(chosen)),
        )  # fmt: skip


def expected(case: Case) -> str:
    """Return the text of the file with the intended edit."""
    path = case.in_file or case.path
    lines = FILES[path].split("\n")
    if case.hunks:
        text = FILES[path]
        for block, meant, becomes in case.hunks:
            newline = "\r\n" if "\r\n" in text else "\n"
            part = newline.join(block)
            assert text.count(part) == 1
            text = text.replace(part, part.replace(meant, becomes, 1))
        return text
    lines[case.line - 1] = lines[case.line - 1].replace(case.meant, case.becomes, 1)
    return "\n".join(lines)


def hunk_of(old: list[str], meant: str, becomes: str) -> str:
    rows: list[str] = []
    done = False
    for line in old:
        if meant in line and not done:
            rows += ["-" + line, "+" + line.replace(meant, becomes, 1)]
            done = True
        else:
            rows.append(" " + line)
    if not done:
        rows = [*rows[:-1], "-" + old[-1], "+" + old[-1] + " changed"]
    return "@@\n" + "\n".join(rows) + "\n"


def attempt(bench: Bench, case: Case, path: str, old: list[str], hunks: tuple[tuple[list[str], str, str], ...]) -> str:
    """Try the edit with these lines; return "" if it was made, else the message."""
    try:
        if case.tool == "edit_file":
            text = "\n".join(old)
            new = text.replace(case.meant, case.becomes, 1)
            new = new if new != text else text + " changed"
            run(bench.prepare("edit_file", path=path, old_string=text, new_string=new))
        else:
            chosen = hunks or ((old, case.meant, case.becomes),)
            body = "".join(hunk_of(*one) for one in chosen)
            run(bench.prepare("apply_patch", patch=f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n"))
    except ToolRetry as error:
        return str(error)
    return ""


def rows_of(text: str) -> list[str]:
    return [match[1] for line in text.split("\n") if (match := re.fullmatch(r" *\d+\|(.*)", line))]


def follow(bench: Bench, case: Case, message: str) -> str:
    """Do exactly what the message says; return the answer of the next edit."""
    if moved := re.search(r"it is in '([^']+)', line \d+.*Edit that file", message):
        return attempt(bench, case, moved[1], case.old, ())
    if case.hunks and "move this one up" in message:
        number = int(re.search(r"hunk (\d+) of", message)[1]) - 1  # type: ignore[index]
        others = [hunk for at, hunk in enumerate(case.hunks) if at != number]
        return attempt(bench, case, case.path, [], (case.hunks[number], *others))
    if "Each of these blocks occurs once" in message:
        parts = re.split(r"^the one on line (\d+):$", message, flags=re.M)
        for line, part in zip(parts[1::2], parts[2::2], strict=True):
            if int(line) == case.line:
                return exact_edit(bench, case, part)
        return f"no block for line {case.line}: {message}"
    return exact_edit(bench, case, message) if "copy from here" in message else message


def exact_edit(bench: Bench, case: Case, shown: str) -> str:
    """Make the intended edit with the lines shown in the message."""
    numbers = [int(line.split("|")[0]) for line in shown.split("\n") if re.fullmatch(r" *\d+\|.*", line)]
    rows = rows_of(shown)
    if case.line not in numbers:
        return f"line {case.line} is not shown: {shown}"
    at = numbers.index(case.line)
    changed = [row.replace(case.meant, case.becomes, 1) if number == at else row for number, row in enumerate(rows)]
    try:
        if case.tool == "edit_file":
            old, new = "\n".join(rows), "\n".join(changed)
            run(bench.prepare("edit_file", path=case.path, old_string=old, new_string=new))
        else:
            body = "".join(f"-{row}\n" for row in rows) + "".join(f"+{row}\n" for row in changed)
            patch = f"*** Begin Patch\n*** Update File: {case.path}\n@@\n{body}*** End Patch\n"
            run(bench.prepare("apply_patch", patch=patch))
    except ToolRetry as error:
        return str(error)
    return ""


def test_the_message_of_a_failed_edit_leads_to_the_intended_one(tmp_path: Path) -> None:
    failed = repaired = 0
    unmended: list[str] = []
    for number, case in enumerate(cases()):
        root = (tmp_path / str(number)).resolve()
        root.mkdir()
        bench = Bench(root)
        for name, content in FILES.items():
            if name != "windows.py" or case.path == name or case.in_file == name:
                if name == "shapes.py" and "windows.py" in (case.path, case.in_file):
                    continue  # the same text in two files would be two answers
                bench.write(name, content)
        bench.write(OTHER, "Nothing that matters here.\nOnly a few words.\n")
        before = {name.name: name.read_bytes() for name in root.iterdir()}
        message = attempt(bench, case, case.path, case.old, case.hunks)
        if not message:
            continue  # the tool made it at once, which other tests check
        assert {name.name: name.read_bytes() for name in root.iterdir()} == before, case.label
        failed += 1
        answer = follow(bench, case, message)
        after = (root / (case.in_file or case.path)).read_bytes().decode("utf-8")
        if not answer and after == expected(case):
            repaired += 1
        else:
            unmended.append(f"{case.label}\n  first: {message}\n  then: {answer or 'another text than meant'}")
    assert failed >= 100
    assert repaired >= 0.98 * failed, f"{repaired} of {failed}\n" + "\n".join(unmended)


@pytest.mark.parametrize("marked", [True, False])
def test_lines_are_shown_unchanged_and_marked_ones_are_accepted_again(tmp_path: Path, marked: bool) -> None:
    bench = Bench(tmp_path.resolve())
    bench.write("a.py", "def f():\n\tif x:\n\t\treturn value\n")
    with pytest.raises(ToolRetry) as raised:
        bench.prepare("edit_file", path="a.py", old_string="    if x:\n        return valeu", new_string="y")
    message = str(raised.value)
    assert "2|\tif x:\n3|\t\treturn value" in message
    assert "file  | →→return value" in message
    old = "→→return value" if marked else "\t\treturn value"
    run(bench.prepare("edit_file", path="a.py", old_string=old, new_string=old.replace("value", "2")))
    assert (tmp_path / "a.py").read_text() == "def f():\n\tif x:\n\t\treturn 2\n"


def test_every_hunk_names_lines_of_the_current_file(tmp_path: Path) -> None:
    bench = Bench(tmp_path.resolve())
    lines = [f"line {number} is here" for number in range(1, 60)]
    bench.write("a.txt", "\n".join(lines) + "\n")
    grown = "".join(f"+new {number}\n" for number in range(9))
    body = f"@@\n line 5 is here\n{grown}@@\n-line 20 is here\n@@\n-line 40 is her\n line 41 is here\n"
    with pytest.raises(ToolRetry) as raised:
        bench.prepare("apply_patch", patch=f"*** Begin Patch\n*** Update File: a.txt\n{body}*** End Patch\n")
    assert "hunk 3 of 3" in str(raised.value)
    assert "40|line 40 is here\n41|line 41 is here" in str(raised.value)
    assert "first difference, line 40" in str(raised.value)


def test_a_partial_last_line_is_named_and_not_the_indentation(tmp_path: Path) -> None:
    bench = Bench(tmp_path.resolve())
    bench.write("a.py", "class A:\n    def f(self):\n        return self.value_of(1)\n")
    with pytest.raises(ToolRetry) as raised:
        bench.prepare("edit_file", path="a.py", old_string="  def f(self):\n      return self.val", new_string="x")
    assert "ends in the middle of line 3" in str(raised.value)


def test_hunks_may_share_the_lines_between_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path.resolve())
    bench.write("a.py", "one\ntwo\nthree\nfour\nfive\n")
    body = "@@\n one\n-two\n+2\n three\n@@\n three\n-four\n+4\n five\n"
    output = bench.call("apply_patch", patch=f"*** Begin Patch\n*** Update File: a.py\n{body}*** End Patch\n")
    assert (tmp_path / "a.py").read_text() == "one\n2\nthree\n4\nfive\n"
    assert "2|2\n3|three\n4|4" in output.text


def test_a_moved_definition_is_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path.resolve())
    bench.write("a.py", "import b\n\nprint(b)\n")
    bench.write("b.py", "# shapes\n\n\ndef area(shape, unit):\n    side = shape.side\n    return side * side * unit\n")
    with pytest.raises(ToolRetry, match=r"def area in 'b\.py', line 4"):
        bench.prepare("edit_file", path="a.py", old_string="def area(shape):\n    return 1", new_string="x")


def test_without_similar_lines_those_containing_the_first_one_are_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path.resolve())
    bench.write("a.txt", "alpha\nsee also: load_all(names, quick) and what it does with every one of them\nbeta\n")
    with pytest.raises(ToolRetry, match="nor anything like it") as raised:
        bench.prepare("edit_file", path="a.txt", old_string="load_all(\n  zzzz\n", new_string="x")
    assert "2|see also" in str(raised.value)


def test_of_a_long_line_the_closest_part_is_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path.resolve())
    bench.write("a.js", "let a=1\n" + "var x=" + "q" * 3_000 + ";function foo(){return 1};" + "z" * 3_000 + "\n")
    with pytest.raises(ToolRetry) as raised:
        bench.prepare("edit_file", path="a.js", old_string="function foo() { return 11 }", new_string="x")
    part = str(raised.value).rpartition("2|")[2]
    assert "function foo(){return 1};" in part and len(part) < 300
    run(bench.prepare("edit_file", path="a.js", old_string=part, new_string="gone"))
    assert "foo" not in (tmp_path / "a.js").read_text()
