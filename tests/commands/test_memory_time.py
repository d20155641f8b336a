"""/memory history and /memory changes, and the same on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clio.commands.registry import complete, run_command
from clio.memory.store.record import Provenance
from tests.commands.desk import Desk, data, make_desk, ok
from tests.entrypoints.repl_support import make_place

AT = "The server listens on port "


def rows(desk: Desk, line: str) -> list[tuple[str, ...]]:
    table = ok(desk, line).table
    return list(table.rows) if table else []


def keep(desk: Desk, words: str) -> str:
    """The id of what was remembered."""
    return data(desk, f"/memory remember {words}")["memory"]["id"]


def test_history_shows_each_version_with_what_became_of_it_and_who_said_it(desk: Desk) -> None:
    id = keep(desk, "The server listens on port 8080 --type fact")
    desk.memory.memories.project.update(id, content="The server listens on port 8081")
    tool = Provenance(asserted_by="tool")
    desk.memory.memories.remember("The server listens on port 9090", "fact", provenance=tool)
    keep(desk, "The server listens on port 8082 --type fact")
    found = [(row[1][-4:], row[3], row[4]) for row in rows(desk, f"/memory history {id[-8:]}")]
    assert found == [
        ("8082", "", "you"), ("9090", "others say", "a tool"), ("8081", "replaced", "you"), ("8080", "edited", "you"),
    ]  # fmt: skip
    versions = data(desk, f"/memory history {id}")
    assert [version["because"] for version in versions] == ["", "", "superseded", "edited"]
    assert versions[-1]["until"] == versions[-2]["from"]


def test_history_of_what_was_forgotten_still_tells_it(desk: Desk) -> None:
    id = keep(desk, "A zebra --type fact")
    ok(desk, f"/memory forget {id}")
    [row] = rows(desk, f"/memory history {id}")
    assert (row[1], row[3].split()[0]) == ("A zebra", "forgotten")


def test_history_of_a_preference_shows_its_scores(desk: Desk) -> None:
    for score in (9, 3):
        ok(desk, f"/prefs add tabs --score {score}")
    id = desk.memory.preferences.find("tabs").id
    assert [(row[1], row[3]) for row in rows(desk, f"/memory history {id}")] == [
        ("tabs (5.4 of 10)", ""), ("tabs (9 of 10)", "rated anew"),
    ]  # fmt: skip


def test_history_of_an_entry_of_the_project_knowledge(desk: Desk) -> None:
    id = data(desk, "/memory add discovery Config is YAML")["entry"]["id"]
    ok(desk, f"/memory edit {id} Config is TOML")
    assert [(row[0], row[1], row[3]) for row in rows(desk, f"/memory history {id[:4]}")] == [
        (id, "Config is TOML", ""), (id, "Config is YAML", "changed"),
    ]  # fmt: skip
    assert data(desk, f"/memory history {id}")[0]["entry"]["version"] == 2
    ok(desk, f"/memory forget {id}")
    assert rows(desk, f"/memory history {id}")[0][3].split()[0] == "forgotten"


def test_looking_at_an_entry_counts_as_using_it(desk: Desk) -> None:
    id = data(desk, "/memory add discovery Config is YAML")["entry"]["id"]
    before = (desk.loaded.project / ".clio" / "ltm.json").read_bytes()
    assert data(desk, f"/memory show {id}")["access_count"] == 0
    ok(desk, "/memory search yaml")
    shown = data(desk, f"/memory show {id}")
    assert shown["access_count"] == 2
    assert shown["accessed"] > 0
    assert (desk.loaded.project / ".clio" / "ltm.json").read_bytes() == before


def test_changes_tell_what_was_learned_and_what_became_of_it(desk: Desk) -> None:
    id = keep(desk, "The server listens on port 8080 --type fact")
    keep(desk, "The server listens on port 8081 --type fact")
    entry = data(desk, "/memory add discovery Config is YAML")["entry"]["id"]
    ok(desk, f"/memory forget {entry}")
    result = ok(desk, "/memory changes --since today")
    assert result.text.startswith("4 changes since ")
    assert [(row[1], row[2], row[3], row[4]) for row in rows(desk, "/memory changes")] == [
        ("forgotten", entry, "Config is YAML", "you"),
        ("learned", entry, "Config is YAML", "you"),
        ("superseded", keep_tail(desk), f"{AT}8081 (before: {AT}8080)", "you"),
        ("learned", id[-8:], f"{AT}8080", "you"),
    ]
    assert [one["what"] for one in data(desk, "/memory changes --kind superseded")] == ["superseded"]
    assert {one["kind"] for one in data(desk, "/memory changes --kind discoveries")} == {"discovery"}
    assert ok(desk, "/memory changes --kind event").text.startswith("Nothing of 'event' was learned or changed since")


def keep_tail(desk: Desk) -> str:
    [record] = desk.memory.memories.project.each("fact")
    return record.id[-8:]


def test_many_changes_are_cut_and_all_can_be_asked_for(desk: Desk) -> None:
    for number in range(65):
        desk.memory.memories.project.remember(f"{number}alpha {number}beta {number}gamma", "fact")
    assert len(rows(desk, "/memory changes")) == 60
    assert "65 changes" in ok(desk, "/memory changes").text
    assert len(rows(desk, "/memory changes --all")) == len(data(desk, "/memory changes")) == 65


def test_what_is_kept_as_a_variant_is_reported_and_labelled(desk: Desk) -> None:
    keep(desk, "The server listens on port 8080 --type fact")
    tool = Provenance(asserted_by="tool")
    desk.memory.memories.remember("The server listens on port 9090", "fact", provenance=tool)
    found = [row[3] for row in rows(desk, "/memory recall port")]
    assert sorted(found) == [
        "The server listens on port 8080", "other sources say: The server listens on port 9090",
    ]  # fmt: skip
    assert [row[1] for row in rows(desk, "/memory changes")] == ["others say", "learned"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/memory history", "Which memory?"),
        ("/memory history 0a1b2c3d", "there is no memory '0a1b2c3d'"),
        ("/memory history d-000000", "There is no entry 'd-000000'"),
        ("/memory changes now", "/memory changes takes only options, not 'now'"),
        ("/memory changes --since soon", "'soon' is no time clio understands; write 2026-05-01"),
        ("/memory changes --kind learnd", "did you mean 'learned'?"),
    ],
)
def test_what_is_wrong_is_reported_with_what_would_be_right(desk: Desk, line: str, said: str) -> None:
    result = run_command(desk, line)
    assert not result.ok
    assert said in result.text


def test_incognito_refuses(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, incognito=True)
    for line in ("history 0a1b2c3d", "changes"):
        assert "Memory is off in an incognito clio" in run_command(desk, f"/memory {line}").text


def test_ids_and_options_are_completed(desk: Desk) -> None:
    id = keep(desk, "A zebra --type fact")[-8:]
    entry = data(desk, "/memory add discovery Config is YAML")["entry"]["id"]
    assert [one.text for one, _ in complete(desk, f"/memory history {id[:4]}")] == [id]
    assert [one.text for one, _ in complete(desk, f"/memory history {entry[:4]}")] == [entry]
    assert [one.text for one, _ in complete(desk, "/memory changes --s")] == ["--since"]
    assert "superseded" in [one.text for one, _ in complete(desk, "/memory changes --kind s")]


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
