"""Completion of commands and paths."""

from pathlib import Path

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from clio.ui.completer import LineCompleter, list_disk_entries, match_paths
from tests.support.rows import each_row

FILES = ["README.md", "clio/app.py", "clio/ui/screen.py", "clio/ui/keys.py", "tests/ui/test_keys.py"]


def offered(text: str, *, tab: bool = False, files: list[str] | None = None) -> list[str]:
    completer = LineCompleter(lambda: None, lambda: FILES if files is None else files)
    event = CompleteEvent(completion_requested=tab, text_inserted=not tab)
    whole: list[str] = []
    for completion in completer.get_completions(Document(text), event):
        keep = text[: len(text) + completion.start_position]
        whole.append(keep + completion.text)
    return whole


@each_row(
    ("typed", "expected"),
    [
        ("/se", ["/session"]),
        ("/session s", ["/session show", "/session search", "/session switch"]),
        ("/quit", ["/quit"]),
        ("/nothing", []),
        ("/nothing x", []),
        ("/nothing x @READ", ["/nothing x @README.md"]),
        ("a plain sentence", []),
        ("see @clio/ui/", ["see @clio/ui/keys.py", "see @clio/ui/screen.py"]),
        ("see @READ", ["see @README.md"]),
    ],
)
def test_completion_while_typing(typed: str, expected: list[str]) -> None:
    assert offered(typed) == expected


def test_a_slash_offers_all_commands_once_each() -> None:
    assert {"/help", "/model", "/approve", "/session", "/todo", "/clear", "/exit", "/trust"} <= set(offered("/"))
    assert "/quit" not in offered("/")
    assert offered("/q") == ["/quit"]


def test_tab_offers_paths() -> None:
    assert offered("read cl", tab=True) == ["read clio/"]
    assert offered("read clio/a", tab=True) == ["read clio/app.py"]
    assert offered("read keys", tab=True) == ["read clio/ui/keys.py"]
    assert offered("read ", tab=True) == []


def test_of_a_large_project_some_files_are_offered() -> None:
    assert len(offered("see @", files=[f"file{number}" for number in range(20_000)])) <= 60


def test_folders_come_before_other_names() -> None:
    assert match_paths(["keys/a", "ui/keys.py", "keys.md"], "ke") == ["keys.md", "keys/", "ui/keys.py"]
    assert match_paths(FILES, "./clio/a") == ["clio/app.py"]


def test_absolute_paths_are_read_from_disk(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inside.txt").touch()
    (tmp_path / ".hidden").touch()
    assert list_disk_entries(f"{tmp_path}/in") == [f"{tmp_path}/inner/", f"{tmp_path}/inside.txt"]
    assert f"{tmp_path}/.hidden" not in list_disk_entries(f"{tmp_path}/")
    assert list_disk_entries(f"{tmp_path}/missing/x") == []
