"""An edit never changes other bytes, whatever the file contains and however it was quoted."""

import codecs
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hypothesis import assume, given
from hypothesis import strategies as st

from clio.tools.files.edit_search import EditMatch, match_edit
from clio.tools.files.text_file import decode_file, encode_file
from tests.support.examples import examples
from tests.tools.file_support import Bench

WORDS = ["alpha", "beta(x)", "if y:", "“quoted”", "it’s", "a — b", "end;", "naïve"]
ENDINGS = ["\n", "\r\n"]


class Quoted(NamedTuple):
    """A file, a block of it as a model quotes it, and the line it wants to change."""

    lines: list[str]
    first: int
    quote: list[str]
    target: int


def plain(line: str) -> str:
    return line.translate(str.maketrans("“”’—", '""\'-'))


SLIPS: dict[str, Callable[[list[str]], list[str]]] = {
    "none": list,
    "blanks lost": lambda block: [line.rstrip() for line in block],
    "blanks added": lambda block: [line + "  " for line in block],
    "deeper": lambda block: ["   " + line if line.strip() else line for line in block],
    "tabs for spaces": lambda block: [line.replace("    ", "\t") for line in block],
    "numbered": lambda block: [f"{number:>4}|{line}" for number, line in enumerate(block, 7)],
    "plain typography": lambda block: [plain(line) for line in block],
    "blanks inside": lambda block: [line.replace(" ", "   ") for line in block],
    "everything": lambda block: ["  " + plain(line).rstrip() for line in block],
}


@st.composite
def files(draw: st.DrawFn) -> Quoted:
    """Generate distinct lines, with both kinds of endings, trailing blanks, and leading tabs and spaces."""
    count = draw(st.integers(1, 12))
    pad = st.sampled_from(["", "    ", "        ", "\t"])
    lines = [
        draw(pad)
        + f"{draw(st.sampled_from(WORDS))} <{number}>"
        + draw(st.sampled_from(["", " ", "\t"]))
        + draw(st.sampled_from(ENDINGS))
        for number in range(count)
    ]
    if draw(st.booleans()):
        lines[-1] = lines[-1].rstrip("\r\n")
    first = draw(st.integers(0, count - 1))
    last = draw(st.integers(first + 1, count))
    quote = SLIPS[draw(st.sampled_from(sorted(SLIPS)))]([line.rstrip("\r\n") for line in lines[first:last]])
    return Quoted(lines, first, quote, draw(st.integers(0, last - first - 1)))


@examples(120)
@given(files(), st.booleans())
def test_only_the_intended_line_changes(case: Quoted, final: bool) -> None:
    """A model quotes a block with an error and rewrites one line: every other line keeps every byte."""
    tail = "\n" if final else ""
    changed = list(case.quote)
    changed[case.target] = changed[case.target].replace("<", "<changed ")
    text = "".join(case.lines)
    outcome = match_edit(text, "\n".join(case.quote) + tail, "\n".join(changed) + tail)
    assert isinstance(outcome, EditMatch), outcome
    number = case.first + case.target
    after = outcome.apply(text)
    before_part, after_part = "".join(case.lines[:number]), "".join(case.lines[number + 1 :])
    assert after.startswith(before_part)
    assert after.endswith(after_part)
    middle = after[len(before_part) : len(after) - len(after_part)]
    assert f"<changed {number}>" in middle
    ending = case.lines[number][len(case.lines[number].rstrip("\r\n")) :]
    assert middle[len(middle.rstrip("\r\n")) :] == ending


@examples(100)
@given(st.text(alphabet="ab \t\n\r“é", max_size=40), st.data())
def test_exact_edits_are_slices(text: str, data: st.DataObject) -> None:
    """For any text and any slice that occurs once, the text before and after the slice is kept."""
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    end = data.draw(st.integers(start, len(text)))
    old, new = text[start:end], data.draw(st.text(alphabet="ab \n", max_size=10))
    assume(old and text.find(old) == text.rfind(old) and old != new)
    outcome = match_edit(text, old, new)
    if not isinstance(outcome, EditMatch):
        assert outcome.reason == "no change"
        return
    assert outcome.match_kind == "exact"
    (span,) = outcome.spans
    assert start - 1 <= span.start <= start
    assert end <= span.end <= end + 1
    assert outcome.apply(text) == text[: span.start] + span.text + text[span.end :]


@examples(60)
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30), st.booleans())
def test_any_edit_is_refused_or_applied_inside_the_text(text: str, old: str, new: str, everywhere: bool) -> None:
    """The result is a refusal, or spans in order inside the text."""
    outcome = match_edit(text, old, new, replace_all=everywhere)
    if isinstance(outcome, EditMatch):
        edges = [edge for span in outcome.spans for edge in (span.start, span.end)]
        assert edges == sorted(edges)
        assert edges[0] >= 0
        assert edges[-1] <= len(text)


ODDS = st.sampled_from(
    [
        "a",
        "}",
        "{",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "1",
        "12|",
        "1|",
        "2|",
        "1→",
        "1: ",
        "“",
        '"',
        "foo()\n",
        "    ",
    ]
)
ODD_TEXT = st.lists(ODDS, max_size=14).map("".join)


@examples(400)
@given(ODD_TEXT, st.data(), st.booleans())
def test_any_quotation_is_tolerated(text: str, data: st.DataObject, everywhere: bool) -> None:
    """However a slice of a file is changed, the edit is applied in the file or refused, and a CRLF file keeps CRLF."""
    start = data.draw(st.integers(0, len(text)))
    old = text[start : data.draw(st.integers(start, len(text)))]
    mangled = data.draw(
        st.sampled_from([old, old.strip(), old.rstrip() + "\n\t", old.replace("\r\n", "\n"), f"1|{old}", f"{old}\n  "])
    )
    outcome = match_edit(text, mangled, data.draw(ODD_TEXT), replace_all=everywhere)
    if isinstance(outcome, EditMatch):
        after = outcome.apply(text)
        if "\r\n" in text and not re.search(r"(?<!\r)\n|\r(?!\n)", text):
            assert not re.search(r"(?<!\r)\n|\r(?!\n)", after)


@examples(100)
@given(st.binary(max_size=60), st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE]))
def test_every_text_is_written_back_unchanged(data: bytes, bom: bytes) -> None:
    """Bytes accepted as text are written back the same, valid or not."""
    try:
        file = decode_file(bom + data)
    except ValueError:
        return
    assert encode_file(file.text, file, "f") == bom + data


ENCODED = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "broken"])


@given(ENCODED, st.sampled_from(ENDINGS), st.booleans(), st.sampled_from([0o600, 0o644, 0o755, 0o4750]))
def test_edits_keep_properties_of_the_file(encoding: str, ending: str, final: bool, mode: int) -> None:
    """Encoding, byte order mark, line endings, final newline and mode bits are kept by an edit on disk."""
    lines = ["premier", "café", "target", "fin"]
    codec = "utf-8" if encoding == "broken" else encoding
    parts = [(line + ending).encode(codec) for line in lines]
    if encoding in ("utf-16", "utf-8-sig"):
        parts = [lines[0].encode(codec) + ending.encode("utf-16-le" if encoding == "utf-16" else "utf-8")] + [
            (line + ending).encode("utf-16-le" if encoding == "utf-16" else "utf-8") for line in lines[1:]
        ]
    if encoding == "broken":
        parts[0] = b"prem\xffier" + ending.encode()
    if not final:
        parts[-1] = parts[-1][: -len(ending.encode("utf-16-le" if encoding == "utf-16" else "utf-8"))]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        path = bench.write("f.txt", b"".join(parts))
        path.chmod(mode)
        bench.call("edit_file", path="f.txt", old_string="café\ntarget\n", new_string="café\nchanged\n")
        wide = "utf-16-le" if encoding == "utf-16" else codec.removesuffix("-sig")
        parts[2] = ("changed" + ending).encode(wide)
        assert path.read_bytes() == b"".join(parts)
        assert path.stat().st_mode & 0o7777 == mode
