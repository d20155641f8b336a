"""Notebooks and PDF files in the file tools: read as text, notebooks also edited, checked with other packages."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import v4
from pypdf import PdfWriter

from clio.errors import ToolFailed, ToolRetry
from clio.tools.files.notebook import BadNotebookText, NotANotebook, make_notebook, render_notebook, update_notebook
from tests.tools.file_support import Bench

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def notebook(*cells: Any, minor: int = 5) -> Any:
    made = v4.new_notebook(cells=list(cells), metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    if minor < 5:
        made.nbformat_minor = minor
        for cell in made.cells:
            del cell["id"]
    return made


def code(source: str, *outputs: Any, count: int = 1) -> Any:
    return v4.new_code_cell(source, outputs=list(outputs), execution_count=count)


def save(path: Path, made: Any) -> bytes:
    nbformat.write(made, path)
    return path.read_bytes()


@pytest.fixture
def tools(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


def test_a_notebook_is_read_as_cells_with_their_outputs(tools: Bench) -> None:
    shown = [
        v4.new_output("stream", text="3.14\n"),
        v4.new_output("display_data", data={"image/png": base64.b64encode(PNG).decode()}),
    ]
    failed = v4.new_output("error", ename="KeyError", evalue="'x'", traceback=["\x1b[31mKeyError\x1b[0m: 'x'"])
    save(
        tools.root / "a.ipynb",
        notebook(v4.new_markdown_cell("# Title"), code("print(pi)", *shown), code("d['x']", failed)),
    )
    read = tools.call("read_file", path="a.ipynb")
    assert "|# %% [markdown] id=" in read.text and "|# Title" in read.text and "|print(pi)" in read.text
    assert "3.14" in read.text and "KeyError: 'x'" in read.text and "\x1b" not in read.text
    assert len(read.images) == 1
    assert "iVBOR" not in read.text and '"cells"' not in read.text


@pytest.mark.parametrize("minor", [5, 4])
def test_an_edited_cell_loses_its_outputs_and_nothing_else_changes(tools: Bench, minor: int) -> None:
    path = tools.root / "a.ipynb"
    printed = v4.new_output("stream", text="kept\n")
    before = save(
        path, notebook(code("x = 1", printed), v4.new_markdown_cell("text"), code("y = 2", printed), minor=minor)
    )
    tools.call("read_file", path="a.ipynb")
    result = tools.call("edit_file", path="a.ipynb", old_string="y = 2", new_string="y = 3\nz = 4")
    assert result.ok
    after = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(after)
    was = json.loads(before)
    assert [cell["source"] for cell in after.cells] == ["x = 1", "text", "y = 3\nz = 4"]
    assert after.cells[0]["outputs"] and not after.cells[2]["outputs"]
    now = json.loads(path.read_bytes())
    assert now["cells"][:2] == was["cells"][:2] and now["metadata"] == was["metadata"]
    assert path.read_bytes().startswith(before[: before.index(b'"id"' if minor == 5 else b'"metadata"')])


def test_cells_are_added_moved_removed_and_change_kind(tools: Bench) -> None:
    path = tools.root / "a.ipynb"
    save(path, notebook(code("one = 1"), code("two = 2"), v4.new_markdown_cell("three")))
    text = render_notebook(path.read_bytes())
    first, second, third = text.removesuffix("\n").split("\n\n")
    changed = "\n\n".join([second, "# %% [code]\nnew = 0", third.replace("[markdown]", "[code]")]) + "\n"
    path.write_bytes(update_notebook(changed, path.read_bytes()))
    after = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(after)
    assert [(cell.cell_type, cell.source) for cell in after.cells] == [
        ("code", "two = 2"),
        ("code", "new = 0"),
        ("code", "three"),
    ]
    assert "one" in first


def test_a_patch_and_a_whole_new_text_change_a_notebook(tools: Bench) -> None:
    path = tools.root / "a.ipynb"
    save(path, notebook(code("x = 1")))
    tools.call("read_file", path="a.ipynb")
    patch = "*** Begin Patch\n*** Update File: a.ipynb\n@@\n-x = 1\n+x = 2\n*** End Patch"
    assert tools.call("apply_patch", patch=patch).ok
    assert nbformat.read(path, as_version=nbformat.NO_CONVERT).cells[0].source == "x = 2"
    assert tools.call("write_file", path="a.ipynb", content="# %% [markdown]\nhello\n").ok
    assert [cell.source for cell in nbformat.read(path, as_version=nbformat.NO_CONVERT).cells] == ["hello"]
    assert tools.call("write_file", path="new.ipynb", content="# %% [code]\nprint(1)\n").ok
    nbformat.validate(nbformat.read(tools.root / "new.ipynb", as_version=nbformat.NO_CONVERT))
    whole = json.dumps(notebook(code("as json")))
    assert tools.call("write_file", path="json.ipynb", content=whole).ok
    assert (tools.root / "json.ipynb").read_text() == whole


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("print(1)\n", "begins with a mark"),
        ("# %% [code] id=nope\nx\n", "no cell has id=nope"),
        ("# %% [code] id=abc\nx\n\n# %% [code] id=abc\ny\n", "two cells"),
    ],
)
def test_an_invalid_notebook_text_is_refused_and_nothing_is_written(tools: Bench, text: str, reason: str) -> None:
    made = notebook(code("x = 1"))
    made.cells[0]["id"] = "abc"
    before = save(tools.root / "a.ipynb", made)
    tools.call("read_file", path="a.ipynb")
    with pytest.raises(ToolRetry, match=reason):
        tools.call("write_file", path="a.ipynb", content=text)
    assert (tools.root / "a.ipynb").read_bytes() == before


def test_other_notebook_versions_are_read_as_json(tools: Bench) -> None:
    for name, content in [("old.ipynb", '{"nbformat": 3, "worksheets": []}'), ("bad.ipynb", "{nonsense")]:
        (tools.root / name).write_text(content)
        assert content in tools.call("read_file", path=name).text
        with pytest.raises(NotANotebook):
            render_notebook(content.encode())


SOURCES = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
        st.sampled_from(["", "# %% [code]", "# %%% [markdown] id=x", "    # %% [raw]", "%%time"]),
    ),
    max_size=4,
).map("\n".join)
CELLS = st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), SOURCES), max_size=5)


@given(CELLS, st.booleans(), st.sampled_from([1, 2, None]), st.booleans())
def test_a_notebook_converted_to_text_and_back_is_the_same(
    cells: list[tuple[str, str]], has_ids: bool, indent: int | None, escapes: bool
) -> None:
    made = notebook(*(getattr(v4, f"new_{kind}_cell")(source) for kind, source in cells), minor=5 if has_ids else 4)
    for cell in made.cells:
        cell["source"] = cell["source"].splitlines(keepends=True)
    data = json.dumps(made, indent=indent, ensure_ascii=escapes).encode()
    assert json.loads(update_notebook(render_notebook(data), data)) == json.loads(data)


def test_an_unchanged_notebook_is_written_byte_for_byte(tmp_path: Path) -> None:
    data = save(tmp_path / "a.ipynb", notebook(code("é = 1\n"), v4.new_markdown_cell("ü")))
    assert update_notebook(render_notebook(data), data) == data
    for separators in ((",", ":"), (", ", ": ")):  # on one line
        data = json.dumps(json.loads(data), ensure_ascii=False, separators=separators).encode()
        assert update_notebook(render_notebook(data), data) == data
    with pytest.raises(BadNotebookText):
        make_notebook("no mark")


def pdf(*pages: str, password: str = "") -> bytes:
    """Return a PDF file with a line of text on each page, as a text program writes it."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        if text:
            from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

            font = DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Font"),
                    NameObject("/Subtype"): NameObject("/Type1"),
                    NameObject("/BaseFont"): NameObject("/Helvetica"),
                }
            )
            fonts = DictionaryObject({NameObject("/F1"): font})
            page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
            stream = DecodedStreamObject()
            stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
            page[NameObject("/Contents")] = writer._add_object(stream)  # pyright: ignore[reportPrivateUsage]
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_is_read_page_by_page(tools: Bench) -> None:
    (tools.root / "paper.pdf").write_bytes(pdf("Attention is enough", "The end"))
    read = tools.call("read_file", path="paper.pdf")
    assert "--- page 1 of 2 ---" in read.text and "Attention is enough" in read.text and "The end" in read.text
    assert "The end" in tools.call("read_file", path="paper.pdf", offset=4).text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pdf(""), "no text"),
        (pdf("secret", password="x"), "password"),
        (b"%PDF-1.7\nnonsense \x00", "damaged"),
    ],
)
def test_a_pdf_without_text_gives_the_reason(tools: Bench, data: bytes, reason: str) -> None:
    (tools.root / "a.pdf").write_bytes(data)
    with pytest.raises(ToolFailed, match=reason):
        tools.call("read_file", path="a.pdf")


def test_a_pdf_cannot_be_edited(tools: Bench) -> None:
    (tools.root / "a.pdf").write_bytes(pdf("text"))
    tools.call("read_file", path="a.pdf")
    with pytest.raises((ToolFailed, ToolRetry)):
        tools.call("edit_file", path="a.pdf", old_string="text", new_string="other")


def test_a_part_of_a_notebook_has_the_outputs_of_its_cells_only(tools: Bench) -> None:
    cells = [code(f"x{n} = 1\nprint(x{n})", v4.new_output("stream", text=f"printed {n}\n")) for n in range(4)]
    save(tools.root / "a.ipynb", notebook(*cells))
    part = tools.call("read_file", path="a.ipynb", offset=5, limit=3).text
    assert "print(x1)" in part
    assert "printed 1" in part
    assert not any(f"printed {n}" in part for n in (0, 2, 3))
    assert "encoding" not in part


def test_a_shortened_output_names_how_to_get_all_of_it(tools: Bench) -> None:
    cells = [code("a"), code("b", v4.new_output("stream", text="x" * 4_000))]
    save(tools.root / "a.ipynb", notebook(*cells))
    read = tools.call("read_file", path="a.ipynb").text
    assert "2,500 characters left out, of cells[1]" in read
    assert "run_command" in read


def test_outputs_that_do_not_fit_are_mentioned(tools: Bench) -> None:
    cells = [code("x = 1  # " + "long " * 700, v4.new_output("stream", text="y" * 1_400)) for _ in range(10)]
    save(tools.root / "a.ipynb", notebook(*cells))
    read = tools.call("read_file", path="a.ipynb").text
    assert "yyy" not in read
    assert "no room for the outputs" in read


def test_a_search_in_a_notebook_has_the_lines_of_a_read(tools: Bench) -> None:
    save(tools.root / "a.ipynb", notebook(v4.new_markdown_cell("# Title"), code('name = "x"\nprint("pi")')))
    (tools.root / "b.py").write_text('print("pi")\n')
    read = tools.call("read_file", path="a.ipynb").text
    line = next(row.split("|")[0].strip() for row in read.splitlines() if row.endswith('|print("pi")'))
    for path in (".", "a.ipynb"):
        found = tools.call("search_text", pattern='^print\\("pi"\\)', path=path).text
        assert f'a.ipynb\n{line}:print("pi")' in found
    assert "b.py\n1:" in tools.call("search_text", pattern='^print\\("pi"\\)').text
    assert "no matches" in tools.call("search_text", pattern="cell_type").text
    assert f"{line}:" in tools.call("search_text", pattern="pi", glob="*.ipynb").text


def test_editing_a_pdf_says_that_it_is_read_only(tools: Bench) -> None:
    (tools.root / "a.pdf").write_bytes(pdf("text"))
    tools.call("read_file", path="a.pdf")
    with pytest.raises(ToolFailed, match="read-only"):
        tools.call("edit_file", path="a.pdf", old_string="text", new_string="other")
    with pytest.raises(ToolFailed, match="read-only"):
        tools.call("write_file", path="a.pdf", content="other")
