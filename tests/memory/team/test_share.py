"""Turning sharing on and off loses nothing, even if it is interrupted at any point."""

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clio.memory.store.record import MemoryRecord
from clio.memory.team.share import Sharing, add_ignore_lines, find_ignore_problem
from tests.memory.store.ltm_support import read_json, write_json
from tests.memory.team.simulation import git
from tests.memory.team.team_support import Member

DOCUMENT = {
    "patterns": {
        "discoveries": [
            {"fact": "Config is YAML", "confidence": 0.9, "count": 3, "timestamp": 1795229466, "odd": {"a": [1]}},
            {"fact": "The key is hunter2", "confidence": 0.5},
            "no entry",
        ],
        "problem_solutions": [{"error": "save fails", "solution": "chown", "solved_count": 2, "examples": ["a.py"]}],
        "code_patterns": [{"pattern": "atomic writes", "confidence": 1}],
        "workflows": [{"sequence": ["read", "fix"], "success_rate": 0.5, "count": 2, "name": "mend"}],
        "failures": [
            {"what": "changed an API", "impact": "errors", "prevention": "grep", "other_preventions": ["ask"]}
        ],
        "context_rules": {"lib/": ["use strict"], "*": ["no tabs"], "empty/": []},
        "inventions": [{"of": "another program"}],
    },
    "metadata": {
        "created": 1795229466,
        "version": "1.0",
        "context_rule_details": {"lib/": {"use strict": {"count": 4}}},
    },
    "another": {"program": True},
}
PROVENANCE = {"session": "s", "message": "m", "asserted_by": "user"}


@pytest.fixture
def member(tmp_path: Path) -> Member:
    found = Member(tmp_path / "project", begun=False)
    document = json.loads(json.dumps(DOCUMENT))
    document["patterns"]["code_patterns"][0]["provenance"] = PROVENANCE
    write_json(found.ltm, document)
    return found


def unnamed(entry: MemoryRecord) -> str:
    """Return all of an entry except its owner."""
    return repr(structs.replace(entry, by=""))


def same(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without what a rewrite may change, with its sections unordered."""
    plain: dict[str, Any] = json.loads(json.dumps(document))
    plain["metadata"].pop("last_updated", None)
    sections: list[Any] = list(plain["patterns"].values())
    for section in sections:
        for entry in section if isinstance(section, list) else ():  # pyright: ignore[reportUnknownVariableType]
            if isinstance(entry, dict):
                entry.pop("id", None)  # pyright: ignore[reportUnknownMemberType]
    for details in plain["metadata"]["context_rule_details"].values():
        for name in list(details):
            details[name].pop("id", None)
            if not details[name]:
                del details[name]
    plain["metadata"]["context_rule_details"] = {
        path: details for path, details in plain["metadata"]["context_rule_details"].items() if details
    }
    discoveries: list[Any] = plain["patterns"]["discoveries"]
    plain["patterns"]["discoveries"] = sorted(discoveries, key=lambda one: json.dumps(one, sort_keys=True))
    return plain


def test_turning_sharing_on_and_off_loses_no_entry_and_no_field(member: Member) -> None:
    before = member.memory.read()
    original = json.loads(member.ltm.read_text(encoding="utf-8"))
    assert member.sharing.turn_on() == 8
    left = read_json(member.ltm)
    assert left["patterns"]["discoveries"] == ["no entry"]
    assert (left["patterns"]["inventions"], left["another"]) == ([{"of": "another program"}], {"program": True})
    assert left["patterns"]["context_rules"] == {"empty/": []}
    shared = member.memory.read()
    assert sorted(map(unnamed, shared.entries)) == sorted(map(unnamed, before.entries))
    assert "hunter2" in "".join(data.decode() for data in member.files().values())  # the `clean` of this member is str
    assert member.sharing.turn_off() == 8
    assert not member.folder.path.exists()
    assert same(read_json(member.ltm)) == same(original)
    assert not list(member.ltm.parent.glob("ltm.gone*"))


def test_secrets_are_redacted_before_they_are_shown_or_shared(member: Member) -> None:
    def clean(text: str) -> str:
        return text.replace("hunter2", "[redacted]")

    sharing = Sharing(member.ltm, project=member.project, home=member.home, clock=lambda: member.now, redact=clean)
    assert "The key is [redacted]" in [entry.content for entry in sharing.list_shareable()]
    sharing.turn_on()
    everything = [*member.files().values(), *(path.read_bytes() for path in member.ltm.parent.glob("ltm.*"))]
    assert not [data for data in everything if b"hunter2" in data]
    assert "The key is [redacted]" in member.texts()
    assert b'"session"' not in b"".join(member.files().values())


def cut_short(member: Member, after: int, *, off: bool) -> bool:
    """Convert in a process that is killed before its n-th rename; return False if it finished."""
    child = os.fork()
    if child == 0:
        count = 0

        def hook(event: str, arguments: object) -> None:
            nonlocal count
            if event in ("os.rename", "os.remove", "os.rmdir"):
                count += 1
                if count > after:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            member.sharing.turn_off() if off else member.sharing.turn_on()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] != 0


def _no_sync(fd: int) -> None:
    """Do nothing, because tests need not survive power cuts."""


@pytest.mark.parametrize("off", [False, True])
def test_a_conversion_killed_at_any_point_opens_completely_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: bool
) -> None:
    monkeypatch.setattr(os, "fsync", _no_sync)  # the process is killed, but there is no power cut
    after, killed = 0, True
    while killed:
        member = Member(tmp_path / f"{after}", begun=False)
        write_json(member.ltm, DOCUMENT)
        wanted = member.texts()
        if off:
            member.sharing.turn_on()
        killed = cut_short(member, after, off=off)
        assert member.other_process().read().entries
        assert member.texts() == wanted
        if off and member.folder.exists():
            member.sharing.turn_off()
        elif not off:
            member.sharing.turn_on()
            assert read_json(member.ltm)["patterns"]["discoveries"] == ["no entry"]
        assert member.texts() == wanted
        after += 1
    assert after > 8


REPOSITORY_RULES = [
    {},
    {".gitignore": ".clio/\n"},
    {".gitignore": "/.clio\n*.log\n"},
    {".gitignore": ".clio/*\n"},
    {".gitignore": "*.json\r\n"},
    {".git/info/exclude": ".clio/\n"},
    {".gitignore": ".*\n", ".clio/.gitignore": "*\n"},
    {".clio/.gitignore": "*"},
    {".clio/.gitignore": "*\n!.gitignore\n!ltm/\n!ltm/**\n"},
]


@pytest.fixture(scope="module")
def bare_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty repository that the tests copy."""
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "--quiet")
    return folder


@pytest.mark.parametrize("rules", REPOSITORY_RULES)
def test_the_gitignore_lines_show_git_the_shared_folder_and_nothing_else(
    bare_project: Path, tmp_path: Path, rules: dict[str, str]
) -> None:
    shutil.copytree(bare_project, tmp_path / "project")
    member = Member(tmp_path / "project")
    for name, text in rules.items():
        (member.project / name).write_bytes(text.encode())
    write_json(member.ltm, {})
    (member.ltm.parent / "memories.json").write_text("{}", encoding="utf-8")
    before = {name: (member.project / name).read_bytes() for name in rules}
    rule = find_ignore_problem(member.project)
    assert {name: (member.project / name).read_bytes() for name in rules} == before  # not yet changed
    added = add_ignore_lines(member.project)
    assert (rule is None) == (added == ())
    assert find_ignore_problem(member.project) is None
    seen = git(member.project, "status", "--porcelain", "--untracked-files=all").split()[1::2]
    assert set(seen) - {".gitignore", ".clio/.gitignore"} == {".clio/ltm/format.json"}
    assert add_ignore_lines(member.project) == ()


def test_without_git_nothing_prevents_sharing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(tmp_path / "project")
    assert find_ignore_problem(member.project) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ignore_problem(member.project) is None
    assert member.sharing.status().uncommitted == 0
