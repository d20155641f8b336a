"""/memory open: the content of the page, where it is written, and when it is refused."""

import re
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clio.commands.memory.portability import collect_memory
from clio.text.translation import choose_language, set_catalog
from tests.commands.harness import Harness, data, make_harness, ok, refused


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path)
    yield harness
    harness.session.close()


def find(harness: Harness, text: str) -> dict[str, Any]:
    [found] = [one for one in collect_memory(harness)["memories"] if text in one["text"]]
    return found


def test_every_kind_of_memory_is_collected(harness: Harness, tmp_path: Path) -> None:
    harness.talk("count the money")
    for name in ("same.py", "changed.py", "gone.py"):
        (tmp_path / name).write_text("x = 1\n", encoding="utf-8")
    for line in (
        "/memory add discovery Money is in cents --example same.py --example changed.py --example gone.py",
        "/memory add solution No module named shop => run pip install -e .",
        "/memory remember The server listens on port 8080 --type fact",
        "/memory remember The server listens on port 9090 --type fact",
        "/memory add discovery Penguins sign the releases",
        "/prefs add never wake the quokka --score 0",
        "/prefs add short answers --score 9",
        "/note set plan On Friday",
    ):
        ok(harness, line)
    ok(harness, f"/memory forget {find(harness, 'Penguins')['id']} --yes")
    (tmp_path / "changed.py").write_text("x = 2\n", encoding="utf-8")
    (tmp_path / "gone.py").unlink()

    cents = find(harness, "cents")
    assert (cents["kind"], cents["scope"], cents["state"], cents["by"]) == ("discovery", "project", "live", "you")
    assert f"({harness.session.id[:8]})" in cents["session"], "as the list of sessions shows it"
    assert {file["path"]: file["state"] for file in cents["files"]} == {
        "same.py": "fresh", "changed.py": "drifted", "gone.py": "gone",
    }  # fmt: skip
    assert find(harness, "shop")["kind"] == "solution"
    old, new = find(harness, "8080"), find(harness, "9090")
    assert (old["state"], old["replaced_by"]) == ("superseded", {"id": new["id"], "text": new["text"]})
    assert (find(harness, "Penguins")["state"], find(harness, "Penguins")["because"]) == ("archived", "forgotten")
    assert (find(harness, "quokka")["kind"], find(harness, "quokka")["scope"]) == ("limit", "user")
    assert find(harness, "short answers")["kind"] == "preference"
    assert (find(harness, "On Friday")["id"], find(harness, "On Friday")["kind"]) == ("plan", "keyed note")
    changes = {(change["what"], change["text"]) for change in collect_memory(harness)["changes"]}
    assert {("superseded", "The server listens on port 9090"), ("archived", "Penguins sign the releases")} <= changes
    assert ("learned", "short answers (liked, 9 of 10)") in changes


def test_an_edited_entry_has_its_earlier_version(harness: Harness) -> None:
    ok(harness, "/memory add discovery Money is in cents")
    ok(harness, f"/memory edit {find(harness, 'cents')['id']} Money is in whole cents")
    assert [version["text"] for version in find(harness, "whole cents")["versions"]] == [
        "Money is in whole cents",
        "Money is in cents",
    ]


def test_a_forgotten_typed_memory_is_marked(harness: Harness) -> None:
    ok(harness, "/memory remember The build takes an hour --type fact")
    ok(harness, f"/memory forget {find(harness, 'hour')['id']} --yes")
    assert (find(harness, "hour")["state"], find(harness, "hour")["scope"]) == ("archived", "project")


def test_the_page_is_private_and_in_the_cache(harness: Harness, tmp_path: Path) -> None:
    ok(harness, "/memory add discovery Money is in cents")
    path = Path(data(harness, "/memory open")["path"])
    assert path == tmp_path / ".clio" / "cache" / "memory.html"
    assert "Money is in cents" in path.read_text(encoding="utf-8")
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600
    assert str(path) in ok(harness, "/memory open --no-browser").text


@pytest.fixture
def in_german() -> Iterator[None]:
    choose_language({}, "de")
    yield
    set_catalog(None)


@pytest.mark.usefixtures("in_german")
def test_the_page_is_german_as_a_whole(harness: Harness) -> None:
    ok(harness, "/memory remember Das Haus hat Nummer 5 --type fact")
    ok(harness, f"/memory edit {find(harness, 'Nummer')['id']} Das Haus hat Nummer 6")
    ok(harness, "/memory remember Der Kaffee ist alle")
    ok(harness, f"/memory forget {find(harness, 'Kaffee')['id']} --yes")
    ok(harness, "/note set plan Erst dies")
    page = Path(data(harness, "/memory open")["path"]).read_text(encoding="utf-8").rpartition("<main")[2]
    shown = " ".join(re.sub("<[^>]+>", " ", page).split())
    english = "learned forgotten archived edited stored before you unknown project user keyed note confirmed".split()
    assert not [word for word in english if re.search(rf"\b{word}\b", shown)], shown
    for word in ("gelernt", "vergessen", "bearbeitet", "gespeichert", "vorher", "Schlüsselnotiz"):
        assert word in shown
    assert "unbekannt" not in shown, "a keyed note has no author"


def test_an_existing_file_is_replaced_only_with_force(harness: Harness, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert data(harness, f"/memory open {page}") == {"path": str(page)}
    assert "--force" in refused(harness, f"/memory open {page}")
    ok(harness, f"/memory open {page} --force")
    assert "folder" in refused(harness, f"/memory open {tmp_path / 'none' / 'page.html'}")
    assert ".html" in refused(harness, f"/memory open {tmp_path / 'notes.txt'}")


@pytest.mark.parametrize(
    ("tty", "option", "opened"), [(True, "", 1), (False, "", 0), (True, " --no-browser", 0), (True, " (json)", 0)]
)
def test_a_browser_opens_only_from_a_terminal(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, tty: bool, option: str, opened: int
) -> None:
    urls: list[str] = []

    class Window(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            urls.append(url)
            return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "get", Window)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    harness.is_json = option == " (json)"
    path = Path(data(harness, f"/memory open{'' if harness.is_json else option}")["path"])
    assert urls == [path.as_uri()] * opened


def test_the_page_is_refused_in_incognito(tmp_path: Path) -> None:
    assert "incognito" in refused(make_harness(tmp_path, incognito=True), "/memory open")
    assert not (tmp_path / ".clio" / "cache" / "memory.html").exists()


def test_memory_of_the_repository_is_labelled(harness: Harness) -> None:
    ok(harness, "/memory add discovery Money is in cents")
    harness.loaded = msgspec.structs.replace(harness.loaded, has_foreign_memory=True)
    result = data(harness, "/memory open")
    assert result["came_with_repository"] is True
    page = Path(result["path"]).read_text(encoding="utf-8")
    assert "memory came with the repository" in page
