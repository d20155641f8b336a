"""Documents: split into overlapping windows, found by their content, read again when they change."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import CorruptDocument, UserError
from clio.memory.vectors.semantic_index import MAX_FILE_BYTES, TOKEN, Documents, split_document
from clio.memory.vectors.vector_store import VectorStore
from clio.text.embedding import HashedEmbedder, compute_windows
from tests.memory.vectors.support import Counting, Failing

STAGING = "# Staging\n\nThe staging database listens on port 5433.\nIts password is in the vault.\n"
ASKED = "which port does staging listen on"


def same(text: str) -> str:
    return text


def documents(project: Path, embedder: HashedEmbedder | None = None, redact: Callable[[str], str] = same) -> Documents:
    vectors = VectorStore(project / ".clio" / "cache" / "documents", embedder or HashedEmbedder())
    return Documents(project, vectors, redact=redact, clock=lambda: 1_800_000_000.0)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def touch_later(path: Path, text: str) -> None:
    """Write again with a later time, whatever the resolution of the file system's clock."""
    write(path, text)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 5))


def a_manual(sentences: int = 400) -> str:
    return "".join(
        f"Sentence number {number} of the manual speaks of matter {number % 37}.\n" for number in range(sentences)
    )


@pytest.mark.usefixtures("engine")
def test_a_file_is_found_by_its_content(tmp_path: Path) -> None:
    path = write(tmp_path / "docs" / "staging.md", STAGING)
    found = documents(tmp_path)
    report = found.add(path, [path])
    assert (report.source.path, report.source.files, report.read, report.passages) == ("docs/staging.md",) * 1 + (
        ("docs/staging.md",),
        1,
        1,
    )
    [hit] = documents(tmp_path).search(ASKED)
    assert (hit.path, hit.line, hit.text) == ("docs/staging.md", 1, STAGING.strip("\n"))
    assert hit.distance < 1.0 and not hit.changed


STEPS = [(1, "stop the workers"), (2, "copy the database"), (3, "rotate the certificates"), (4, "start the workers")]


def test_a_hit_is_shown_with_its_line_and_surrounding_text(tmp_path: Path) -> None:
    path = write(tmp_path / "manual.md", a_manual() + STAGING + a_manual())
    found = documents(tmp_path)
    found.add(path, [path])
    hit = found.search(ASKED)[0]
    assert "port 5433" in hit.text and "Sentence number" in hit.text and len(hit.text) <= 1_000
    lines = path.read_text(encoding="utf-8").splitlines()
    assert hit.text.splitlines() == lines[hit.line - 1 : hit.line - 1 + len(hit.text.splitlines())]
    assert len(hit.text) > 600  # several pieces; the nearest alone is too short


def test_a_short_document_is_shown_whole_whichever_piece_is_the_nearest(tmp_path: Path) -> None:
    lines = [f"Step {number}: {what} before the next one, and write down how long it took." for number, what in STEPS]
    path = write(tmp_path / "steps.md", "\n".join(lines))
    found = documents(tmp_path)
    found.add(path, [path])
    for _, what in STEPS:
        assert [(hit.line, hit.text) for hit in found.search(what)] == [(1, "\n".join(lines))]


@pytest.mark.usefixtures("engine")
def test_only_hits_near_the_best_are_returned(tmp_path: Path) -> None:
    texts = {
        "a.md": "The zebra eats grass in the morning and the zebra sleeps at night.",
        "b.md": "The zebra eats grass in the morning and a giraffe sleeps at night.",
        "c.md": "Configuration of the build server is stored in another repository.",
    }
    paths = [write(tmp_path / name, text) for name, text in texts.items()]
    found = documents(tmp_path)
    found.add(tmp_path, paths)
    hits = found.search("what does the zebra eat in the morning")
    assert hits[0].path in ("a.md", "b.md") and "c.md" not in [hit.path for hit in hits]
    assert all(hit.distance <= 1.10 * hits[0].distance + 1e-9 for hit in hits)


def test_text_shared_by_two_windows_is_one_hit(tmp_path: Path) -> None:
    path = write(tmp_path / "manual.md", a_manual(60))
    found = documents(tmp_path)
    assert found.add(path, [path]).passages > 1
    for number in range(60):
        hits = found.search(f"sentence number {number} of the manual")
        assert len({hit.text for hit in hits}) == len(hits)


def test_a_very_short_text_is_not_indexed(tmp_path: Path) -> None:
    path = write(tmp_path / "short.md", "x" * 50 + "  \n")
    longer = write(tmp_path / "long.md", "word " * 11)
    found = documents(tmp_path)
    assert found.add(path, [path]).passages == 0
    assert found.add(longer, [longer]).passages == 1


def test_files_that_are_not_text_are_skipped_and_named(tmp_path: Path) -> None:
    good = write(tmp_path / "d" / "good.md", STAGING)
    binary = write(tmp_path / "d" / "picture.png", b"\x89PNG\0\0" + b"a" * 100)
    large = write(tmp_path / "d" / "large.log", b"a" * (MAX_FILE_BYTES + 1))
    missing_file = tmp_path / "d" / "gone.md"
    report = documents(tmp_path).add(tmp_path / "d", [good, binary, large, missing_file])
    assert report.source.files == ("d/good.md",)
    assert dict(report.left_out) == {
        "d/picture.png": "not text",
        "d/large.log": "over 1 MB",
        "d/gone.md": "No such file or directory",
    }
    with pytest.raises(UserError, match=r"picture\.png' is not text"):
        documents(tmp_path).add(binary, [binary])
    assert [source.path for source in documents(tmp_path).sources()] == ["d"]


def test_a_document_outside_the_project_keeps_its_absolute_path(tmp_path: Path) -> None:
    path = write(tmp_path / "elsewhere" / "staging.md", STAGING)
    project = tmp_path / "project"
    project.mkdir()
    found = documents(project)
    found.add(path, [path])
    assert [hit.path for hit in found.search(ASKED)] == [str(path)]
    assert found.remove(str(path)).path == str(path)


def test_secrets_are_removed_before_anything_is_saved(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", STAGING + "key: sk-live-0123456789\n")
    found = documents(tmp_path, redact=lambda text: text.replace("sk-live-0123456789", "[secret]"))
    found.add(path, [path])
    assert "[secret]" in found.search("the key of staging")[0].text
    saved_bytes = b"".join(path.read_bytes() for path in (tmp_path / ".clio").rglob("*") if path.is_file())
    assert b"sk-live" not in saved_bytes


def test_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    embedder = Counting()
    path = write(tmp_path / "a.md", STAGING)
    documents(tmp_path, embedder).add(path, [path])
    before = len(embedder.texts)
    assert documents(tmp_path, embedder).add(path, [path]).read == 0
    os.utime(path, (1, 1))  # only its time differs
    assert documents(tmp_path, embedder).catch_up() == 1
    assert documents(tmp_path, embedder).catch_up() == 0
    assert len(embedder.texts) == before


def test_a_changed_file_is_found_by_its_current_content(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", STAGING)
    found = documents(tmp_path)
    found.add(path, [path])
    touch_later(path, STAGING.replace("5433", "5544"))
    assert found.state(found.sources()[0]) == (1, 0)
    [hit] = found.search(ASKED)
    assert "5544" in hit.text and not hit.changed
    assert found.state(found.sources()[0]) == (0, 0)
    assert "5433" not in str(documents(tmp_path).search(ASKED))


def test_a_large_changed_file_is_searched_at_once_and_reported_as_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", STAGING)
    found = documents(tmp_path)
    found.add(path, [path])
    touch_later(path, STAGING + "\n" * 250_000)
    [hit] = found.search(ASKED)
    assert hit.changed and "5433" in hit.text
    assert found.catch_up() == 1
    assert not found.search(ASKED)[0].changed


def test_a_deleted_file_is_not_found(tmp_path: Path) -> None:
    path = write(tmp_path / "d" / "a.md", STAGING)
    other = write(tmp_path / "d" / "b.md", "Something else that is long enough to be kept as a chunk of its own.\n")
    found = documents(tmp_path)
    found.add(tmp_path / "d", [path, other])
    path.unlink()
    assert "d/a.md" not in [hit.path for hit in found.search(ASKED)]
    report = found.refresh(found.sources()[0])
    assert report.source.files == ("d/b.md",)
    other.unlink()
    assert found.refresh(report.source).source.files == ()


def test_a_refresh_adds_new_files_of_a_folder(tmp_path: Path) -> None:
    first = write(tmp_path / "d" / "a.md", "Something that is long enough to be kept as a chunk of its own, I think.\n")
    found = documents(tmp_path)
    found.add(tmp_path / "d", [first])
    second = write(tmp_path / "d" / "b.md", STAGING)
    report = found.refresh(found.sources()[0], [first, second])
    assert (report.read, report.source.files) == (1, ("d/a.md", "d/b.md"))
    assert found.search(ASKED)[0].path == "d/b.md"


def test_a_removed_document_leaves_no_text_unless_another_source_has_it(tmp_path: Path) -> None:
    path = write(tmp_path / "d" / "a.md", STAGING)
    other = write(tmp_path / "d" / "b.md", "The confidential zebra lives behind the second fence, on the left side.\n")
    found = documents(tmp_path)
    found.add(tmp_path / "d", [path, other])
    found.add(path, [path])
    found.remove("d/")
    assert [hit.path for hit in found.search(ASKED)] == ["d/a.md"]
    saved_bytes = b"".join(path.read_bytes() for path in (tmp_path / ".clio").rglob("*") if path.is_file())
    assert b"confidential" not in saved_bytes
    found.remove("d/a.md")
    assert found.search(ASKED) == [] and found.sources() == ()
    with pytest.raises(UserError, match=r"no document .d/a\.md. was added; added: none"):
        found.remove("d/a.md")


def test_a_deleted_cache_is_rebuilt_from_the_list(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", STAGING)
    documents(tmp_path).add(path, [path])
    shutil.rmtree(tmp_path / ".clio" / "cache")
    found = documents(tmp_path)
    assert found.state(found.sources()[0]) == (0, 1)
    assert found.search(ASKED) == []
    assert found.catch_up() == 1
    assert [hit.path for hit in found.search(ASKED)] == ["a.md"]


def test_catching_up_can_be_stopped(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{number}.md", f"{STAGING} {number}") for number in range(3)]
    documents(tmp_path).add(tmp_path, paths)
    shutil.rmtree(tmp_path / ".clio" / "cache")
    asked = iter([False, True])
    assert documents(tmp_path).catch_up(lambda: next(asked)) == 1
    assert documents(tmp_path).catch_up() == 2


def test_a_damaged_list_is_moved_aside_and_reported(tmp_path: Path) -> None:
    write(tmp_path / ".clio" / "documents.json", "{")
    with pytest.raises(CorruptDocument):
        documents(tmp_path).sources()
    assert documents(tmp_path).sources() == ()


def test_fields_of_a_later_version_are_kept_in_the_list(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", STAGING)
    documents(tmp_path).add(path, [path])
    file = tmp_path / ".clio" / "documents.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"later": 1}), encoding="utf-8")
    documents(tmp_path).add(tmp_path, [path])
    assert json.loads(file.read_text(encoding="utf-8"))["later"] == 1


def test_a_failing_server_does_not_affect_a_search(tmp_path: Path) -> None:
    path = write(tmp_path / "a.md", STAGING)
    found = documents(tmp_path, Failing(answers=1))
    found.add(path, [path])
    assert [hit.path for hit in found.search(ASKED)] == ["a.md"]


TEXTS = st.text(alphabet="ab .,\n\tä漢1_{}", max_size=3_000) | st.lists(
    st.sampled_from(["word", "token_of_code", "\n", "if x:", "    return 1\n", "漢字", "…"]), max_size=900
).map(" ".join)


@given(TEXTS, st.integers(min_value=1, max_value=60))
def test_pieces_make_up_the_window_and_windows_the_text(text: str, words: int) -> None:
    pieces = list(split_document(text, words))
    assert all(len(piece.text.split()) <= words for piece in pieces)
    for piece in pieces:
        assert text.splitlines(keepends=True)[piece.line - 1 :] or not text
    piece_at: dict[int, str] = {}
    for piece in pieces:
        piece_at[piece.passage] = piece_at.get(piece.passage, "") + piece.text
    assert all(window in text for window in piece_at.values())
    assert all(len(window.strip()) > 0 for window in piece_at.values())
    count = len(list(TOKEN.finditer(text)))
    assert len(piece_at) <= len(compute_windows(count))
    if len(text.strip()) > 50 and count and count <= 512:
        assert [window.rstrip() for window in piece_at.values()] == [text.rstrip()]


@given(st.integers(min_value=0, max_value=3_000))
def test_each_token_is_in_a_window_of_512_that_shares_128_with_the_one_before(count: int) -> None:
    text = " ".join(f"w{number % 10}" for number in range(count // 2))
    pieces = list(split_document(text, 24))
    sizes = {
        window: len(list(TOKEN.finditer("".join(p.text for p in pieces if p.passage == window))))
        for window in {p.passage for p in pieces}
    }
    assert all(size <= 512 for size in sizes.values())
    assert all(sizes[window] == 512 for window in sorted(sizes)[:-1])
