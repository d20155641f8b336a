"""/memory history and /memory changes, and the same on the command line."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clio.commands.registry import complete_command_line, run_command
from clio.memory.store.record import MemoryDraft, MemoryRecord, Provenance
from tests.commands.harness import Harness, data, make_harness, ok
from tests.entrypoints.repl_support import make_place

AT = "The server listens on port "


def rows(harness: Harness, line: str) -> list[tuple[str, ...]]:
    table = ok(harness, line).table
    return list(table.rows) if table else []


def keep(harness: Harness, words: str) -> str:
    """Remember a text; return its id."""
    return data(harness, f"/memory remember {words}")["memory"]["id"]


def test_history_lists_each_version_with_its_end_and_its_author(harness: Harness) -> None:
    id = keep(harness, "The server listens on port 8080 --type fact")
    harness.memory.store.project.update(id, content="The server listens on port 8081")
    tool = Provenance(asserted_by="tool")
    harness.memory.store.add(MemoryDraft(content="The server listens on port 9090", kind="fact"), provenance=tool)
    keep(harness, "The server listens on port 8082 --type fact")
    found = [(row[1][-4:], row[3], row[4]) for row in rows(harness, f"/memory history {id[-8:]}")]
    assert found == [
        ("8082", "", "you"), ("9090", "others say", "a tool"), ("8081", "replaced", "you"), ("8080", "edited", "you"),
    ]  # fmt: skip
    versions = data(harness, f"/memory history {id}")
    assert [version["because"] for version in versions] == ["", "", "superseded", "edited"]
    assert versions[-1]["until"] == versions[-2]["from"]


def test_history_of_a_forgotten_memory_is_still_available(harness: Harness) -> None:
    id = keep(harness, "A zebra --type fact")
    ok(harness, f"/memory forget {id}")
    [row] = rows(harness, f"/memory history {id}")
    assert (row[1], row[3].split()[0]) == ("A zebra", "forgotten")


def test_history_of_a_preference_shows_its_scores(harness: Harness) -> None:
    for score in (9, 3):
        ok(harness, f"/prefs add tabs --score {score}")
    id = harness.memory.preferences.find("tabs").id
    assert [(row[1], row[3]) for row in rows(harness, f"/memory history {id}")] == [
        ("tabs (neutral, 5.4 of 10)", ""), ("tabs (liked, 9 of 10)", "reinforced"),
    ]  # fmt: skip


def test_history_of_an_entry_of_the_project_knowledge(harness: Harness) -> None:
    id = data(harness, "/memory add discovery Config is YAML")["entry"]["id"]
    ok(harness, f"/memory edit {id} Config is TOML")
    assert [(row[0], row[1], row[3]) for row in rows(harness, f"/memory history {id[:4]}")] == [
        (id, "Config is TOML", ""), (id, "Config is YAML", "changed"),
    ]  # fmt: skip
    assert data(harness, f"/memory history {id}")[0]["entry"]["version"] == 2
    ok(harness, f"/memory forget {id}")
    assert rows(harness, f"/memory history {id}")[0][3].split()[0] == "forgotten"


def test_showing_an_entry_counts_as_using_it(harness: Harness) -> None:
    id = data(harness, "/memory add discovery Config is YAML")["entry"]["id"]
    before = (harness.loaded.project / ".clio" / "ltm.json").read_bytes()
    assert data(harness, f"/memory show {id}")["access_count"] == 0
    ok(harness, "/memory search yaml")
    shown = data(harness, f"/memory show {id}")
    assert shown["access_count"] == 2
    assert shown["accessed"] > 0
    assert (harness.loaded.project / ".clio" / "ltm.json").read_bytes() == before


def test_changes_list_what_was_saved_and_changed(harness: Harness) -> None:
    id = keep(harness, "The server listens on port 8080 --type fact")
    keep(harness, "The server listens on port 8081 --type fact")
    entry = data(harness, "/memory add discovery Config is YAML")["entry"]["id"]
    ok(harness, f"/memory forget {entry}")
    result = ok(harness, "/memory changes --since today")
    assert result.text.startswith("4 changes since ")
    assert [(row[1], row[2], row[3], row[4]) for row in rows(harness, "/memory changes")] == [
        ("forgotten", entry, "Config is YAML", "you"),
        ("learned", entry, "Config is YAML", "you"),
        ("replaced", keep_tail(harness), f"{AT}8081 (before: {AT}8080)", "you"),
        ("learned", id[-8:], f"{AT}8080", "you"),
    ]
    for name in ("replaced", "superseded"):
        assert [one["what"] for one in data(harness, f"/memory changes --kind {name}")] == ["superseded"]
    assert {one["kind"] for one in data(harness, "/memory changes --kind discoveries")} == {"discovery"}
    assert ok(harness, "/memory changes --kind event").text.startswith("No change of memory of the kind 'event' since")


def keep_tail(harness: Harness) -> str:
    [record] = harness.memory.store.project.index.of_kind("fact")
    return record.id[-8:]


def test_many_changes_are_shortened_and_all_can_be_listed(harness: Harness) -> None:
    for number in range(65):
        harness.memory.store.project.remember(f"{number}alpha {number}beta {number}gamma", "fact")
    assert len(rows(harness, "/memory changes")) == 60
    assert "65 changes" in ok(harness, "/memory changes").text
    assert len(rows(harness, "/memory changes --all")) == len(data(harness, "/memory changes")) == 65


def test_a_variant_is_reported_and_labelled(harness: Harness) -> None:
    keep(harness, "The server listens on port 8080 --type fact")
    tool = Provenance(asserted_by="tool")
    harness.memory.store.add(MemoryDraft(content="The server listens on port 9090", kind="fact"), provenance=tool)
    found = [row[3] for row in rows(harness, "/memory recall port")]
    assert sorted(found) == [
        "The server listens on port 8080", "other sources say: The server listens on port 9090",
    ]  # fmt: skip
    assert [row[1] for row in rows(harness, "/memory changes")] == ["others say", "learned"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/memory history", "Which memory?"),
        ("/memory history 0a1b2c3d", "There is no memory '0a1b2c3d'"),
        ("/memory history d-000000", "There is no memory 'd-000000'"),
        ("/memory changes now", "/memory changes takes --since WHEN, --kind K and --all, not 'now'"),
        ("/memory changes --since soon", "'soon' is no time clio understands; write 2026-05-01"),
        ("/memory changes --kind learnd", "did you mean 'learned'?"),
    ],
)
def test_invalid_arguments_are_reported_with_the_valid_ones(harness: Harness, line: str, message: str) -> None:
    result = run_command(harness, line)
    assert not result.ok
    assert message in result.text


def test_incognito_refuses(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, incognito=True)
    for line in ("history 0a1b2c3d", "changes"):
        assert "Memory is off with --incognito" in run_command(harness, f"/memory {line}").text


def test_ids_and_options_are_completed(harness: Harness) -> None:
    id = keep(harness, "A zebra --type fact")[-8:]
    entry = data(harness, "/memory add discovery Config is YAML")["entry"]["id"]
    assert [one.text for one, _ in complete_command_line(harness, f"/memory history {id[:4]}")] == [id]
    assert [one.text for one, _ in complete_command_line(harness, f"/memory history {entry[:4]}")] == [entry]
    assert [one.text for one, _ in complete_command_line(harness, "/memory changes --s")] == ["--since"]
    assert "replaced" in [one.text for one, _ in complete_command_line(harness, "/memory changes --kind r")]


def test_the_same_on_the_command_line(tmp_path: Path) -> None:
    place = make_place(tmp_path)

    def clio(*arguments: str) -> str:
        command = [sys.executable, "-m", "clio", "memory", *arguments]
        done = subprocess.run(
            command, input="", capture_output=True, encoding="utf-8", cwd=place.project, env=place.env(), timeout=60,
            check=True,
        )  # fmt: skip
        return done.stdout

    id = json.loads(clio("remember", "A zebra", "--type", "fact", "--json"))["memory"]["id"]
    assert [one["text"] for one in json.loads(clio("changes", "--since", "1d", "--json"))] == ["A zebra"]
    assert "A zebra" in clio("history", id)


def test_a_duplicate_merged_by_compaction_is_labelled_so_everywhere(harness: Harness) -> None:
    now = time.time()
    twins = [
        MemoryRecord(
            id="1" * 32, kind="fact", content="Use RUFF to format", created=now - 9, updated=now, accessed=now
        ),
        MemoryRecord(
            id="2" * 32, kind="fact", content="use ruff to format.", created=now - 8, updated=now, accessed=now
        ),
    ]
    harness.memory.store.project.put("", twins)
    assert "merged" in ok(harness, "/memory compact").text
    assert rows(harness, f"/memory history {'2' * 32}")[0][3].startswith("merged")
    assert any(row[1] == "merged" for row in rows(harness, "/memory changes"))
    assert "merged" in ok(harness, "/memory undo").text
