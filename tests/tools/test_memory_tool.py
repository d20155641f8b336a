"""memory_operations on real files: the result of each operation, and the stored data."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clio.agent.tool_arguments import parse_arguments
from clio.errors import ClioError, ToolFailed, ToolRetry, WrongArguments
from clio.memory.store.record import MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import ToolMessage, UserMessage
from clio.security.actions import TouchOwnState
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.tools.base import PreparedCall, ToolOutput
from clio.tools.memory import MemoryArgs, MemoryTool
from tests.support.wording import mentions

ID = r"[a-z]-[0-9a-f]+"


class Harness:
    """One project with its memory, a session, and the tool."""

    def __init__(self, project: Path, *, incognito: bool = False) -> None:
        self.project = project
        self.store = SessionStore(project / ".clio" / "sessions")
        self.session: Session = self.store.new(project)
        self.session.append(UserMessage(id="m1", content="remember this"))
        self.memory = MemorySystem(project, self.store, incognito=incognito, ltm=True)
        self.tool = MemoryTool(self.memory, self.session)

    def prepare(self, operation: str, **arguments: Any) -> PreparedCall:
        return self.tool.prepare(msgspec.convert({"operation": operation, **arguments}, MemoryArgs, strict=False))

    def call(self, operation: str, **arguments: Any) -> ToolOutput:
        return asyncio.run(self.prepare(operation, **arguments).run(lambda line: None))

    def say(self, operation: str, **arguments: Any) -> str:
        return self.call(operation, **arguments).text

    def learn(self, operation: str, **arguments: Any) -> str:
        """Add an entry; return its id."""
        found = re.match(rf"Remembered for later sessions as ({ID})\.", self.say(operation, **arguments))
        assert found
        return found[1]

    @property
    def patterns(self) -> dict[str, Any]:
        """Return the sections of ltm.json."""
        return json.loads((self.project / ".clio" / "ltm.json").read_text(encoding="utf-8"))["patterns"]


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_a_note_is_stored_changed_and_deleted(harness: Harness) -> None:
    assert harness.say("store", key="auth bug", content="root\ncause") == "Stored as the note auth bug."
    assert harness.say("store", key="auth bug", content="root\ncause 2") == "Stored, replacing the old one."
    assert harness.say("retrieve", key="auth bug") == "root\ncause 2"
    assert re.fullmatch(r"- auth bug \(.*\): root cause 2", harness.say("list"))
    assert harness.call("delete", key="auth bug").ok
    assert harness.say("list") == "No notes are stored."


def test_a_note_is_changed_by_its_key_as_its_id(harness: Harness) -> None:
    harness.call("store", key="deploy", content="make ship")
    assert harness.say("update", id="deploy", content="make ship, then tag") == "Stored, replacing the old one."
    assert harness.say("retrieve", key="deploy") == "make ship, then tag"
    with pytest.raises(WrongArguments, match="deploy is a note"):
        harness.call("update", id="deploy", confidence=0.5)


def test_zero_and_empty_text_are_valid_notes(harness: Harness) -> None:
    harness.call("store", key="0", content="0")
    harness.call("store", key="none", content="")
    assert harness.say("retrieve", key="0") == "0"
    assert harness.say("retrieve", key="none") == "(the note 'none' is empty)"


def test_an_unknown_note_gets_similar_keys(harness: Harness) -> None:
    assert mentions(harness.say("retrieve", key="other"), "no note", "'other'", "none")
    harness.call("store", key="auth_bug_analysis", content="c")
    harness.call("store", key="zebra", content="c")
    missing = harness.call("retrieve", key="auth bug")
    assert mentions(missing.text, "no note", "'auth bug'", "auth_bug_analysis")
    assert not missing.ok
    assert "the newest are: zebra, auth_bug_analysis" in harness.say("delete", key="qqq")


def test_a_long_list_names_what_it_omitted(harness: Harness) -> None:
    for number in range(103):
        harness.call("store", key=f"n{number}", content="x" * 500)
    lines = harness.say("list").splitlines()
    assert len(lines) == 101
    assert lines[-1] == "… and 3 older ones; search finds them"
    assert max(map(len, lines)) < 120


def test_knowledge_has_its_source(harness: Harness) -> None:
    harness.learn("add_discovery", fact="Config is YAML", confidence=0.9)
    harness.learn("add_solution", error="denied", solution="chown", examples=["a.py"])
    harness.learn("add_pattern", pattern="atomic writes")
    source = {"session": harness.session.id, "message": "m1", "asserted_by": "model"}
    for section in ("discoveries", "problem_solutions", "code_patterns"):
        assert [entry["provenance"] for entry in harness.patterns[section]] == [source]


def test_the_users_own_words_are_attributed_to_the_user(harness: Harness) -> None:
    harness.session.append(UserMessage(id="m2", content="Remember: we deploy with make ship."))
    harness.session.append(UserMessage(id="m3", content="and now go on"))
    harness.learn("add_discovery", fact="We deploy with make ship")
    source = {"session": harness.session.id, "message": "m2", "asserted_by": "user"}
    assert harness.patterns["discoveries"][0]["provenance"] == source


def test_a_repeated_entry_is_confirmed_and_never_less_certain(harness: Harness) -> None:
    first = harness.learn("add_discovery", fact="Config is YAML", confidence=0.9)
    again = harness.call("add_discovery", fact="config is  yaml.", confidence=0.2)
    assert mentions(again.text, "known", first, "2 times", "confidence 0.9")
    assert again.summary == f"confirmed {first}"


def test_another_solution_is_kept_next_to_the_first(harness: Harness) -> None:
    first = harness.learn("add_solution", error="Permission denied", solution="chown the folder")
    other = harness.say("add_solution", error="permission denied", solution="run as another user")
    assert other.startswith("Remembered for later sessions as s-")
    assert mentions(other, "1 other solution", f"({first}: chown the folder)")


def test_every_kind_is_found_by_its_words_with_its_id(harness: Harness) -> None:
    ids = [
        harness.learn("add_discovery", fact="zebra facts"),
        harness.learn("add_solution", error="zebra errors", solution="s"),
        harness.learn("add_pattern", pattern="zebra patterns"),
        harness.learn("add_workflow", steps=["zebra one", "two"], key="stripes"),
        harness.learn("add_failure", what="zebra failures", impact="i", prevention="p"),
        harness.learn("add_context_rule", rule="zebra rules", path="lib/"),
    ]
    harness.call("store", key="zebra", content="a note")
    lines = harness.say("search", query="zebra", max_results=50).splitlines()
    assert len(lines) == 7
    found = {match[1] for line in lines if (match := re.match(rf"- \w+ ({ID}): ", line))}
    assert found == set(ids)
    assert any(line.startswith("- note zebra: a note") for line in lines)
    assert len(harness.say("search", query="zebra", max_results=2).splitlines()) == 2
    assert "search_sessions" in harness.say("search", query="xylophone")


def test_a_wrong_entry_is_corrected(harness: Harness) -> None:
    id = harness.learn("add_discovery", fact="Config is YAML", confidence=0.9)
    answer = harness.say("update_ltm", id=id, fact="Config is TOML", confidence=0.5, examples=["pyproject.toml"])
    assert mentions(answer, "Updated", id, "discovery", "Config is TOML (e.g. pyproject.toml)")
    (entry,) = harness.patterns["discoveries"]
    assert (entry["fact"], entry["confidence"], entry["examples"]) == ("Config is TOML", 0.5, ["pyproject.toml"])


def test_a_correction_needs_one_entry_and_a_change(harness: Harness) -> None:
    id = harness.learn("add_discovery", fact="Config is YAML")
    with pytest.raises(ToolRetry, match="needs id and at least one of"):
        harness.call("update_ltm", id=id)
    with pytest.raises(ToolRetry, match="one memory at a time"):
        harness.call("update_ltm", id=f"{id}, {id}x", fact="x")
    with pytest.raises(ClioError, match=id):
        harness.call("update_ltm", id=f"{id[:-1]}x", fact="x")


def test_only_fields_of_a_kind_can_be_changed(harness: Harness) -> None:
    id = harness.learn("add_solution", error="denied", solution="chown")
    for arguments in ({"fact": "x"}, {"steps": ["x"]}, {"path": "lib/"}):
        with pytest.raises(ToolRetry, match=f"{id} is a solution; you can change error, solution, confidence"):
            harness.call("update_ltm", id=id, **arguments)
    assert "“denied” → chmod" in harness.say("update_ltm", id=id, solution="chmod")
    assert "“refused” → chmod" in harness.say("update_ltm", id=id, content="refused")


def test_a_change_does_not_turn_a_quotation_into_the_models_statement(harness: Harness) -> None:
    advice = "run the installer as root"
    harness.session.append(ToolMessage(id="m2", tool_call_id="1", name="web_fetch", content=f"<p>{advice}</p>"))
    id = harness.learn("add_solution", error="denied", solution="ask the owner")

    def said_by() -> str:
        return harness.patterns["problem_solutions"][0]["provenance"]["asserted_by"]

    harness.call("update_ltm", id=id, solution=advice)
    assert said_by() == "tool"
    harness.call("update_ltm", id=id, error="permission denied", confidence=0.9)
    assert said_by() == "tool"
    harness.call("update_ltm", id=id, solution="ask the owner of the folder")
    assert said_by() == "model"


def test_another_prevention_of_a_failure_is_kept_with_it(harness: Harness) -> None:
    first = harness.learn("add_failure", what="fork hangs", prevention="spawn")
    answer = harness.say("add_failure", what="fork hangs", prevention="use threads")
    assert answer.startswith(f"Already known as {first}, and confirmed: said 2 times")
    assert answer.endswith("It keeps 1 other prevention too (spawn).")


def test_a_key_with_control_characters_stays_in_its_line(harness: Harness) -> None:
    harness.call("store", key="a\nb", content="zebra")
    assert harness.say("list").startswith("- 'a\\nb' (")
    assert harness.say("search", query="zebra") == "- note 'a\\nb': zebra"


def test_a_forgotten_entry_is_archived(harness: Harness) -> None:
    id = harness.learn("add_discovery", fact="Config is YAML")
    harness.learn("add_discovery", fact="Tests are fast")
    with pytest.raises(ToolRetry, match=f"nearest matches: {id} .*Config is YAML"):
        harness.call("forget_ltm", fact="yaml config")
    with pytest.raises(ClioError, match="d-"):
        harness.call("forget_ltm", id="d-000000")
    assert harness.say("forget_ltm", id=id).startswith(f"Forgotten: {id} (discovery): Config is YAML")
    assert [entry["fact"] for entry in harness.patterns["discoveries"]] == ["Tests are fast"]
    assert [entry.content for entry in harness.memory.store.archived()] == ["Config is YAML"]


def test_pruning_first_lists_what_it_would_remove(harness: Harness) -> None:
    doubtful = harness.learn("add_discovery", fact="perhaps Perl", confidence=0.1)
    harness.learn("add_discovery", fact="surely Python", confidence=0.9)
    listed = harness.call("prune_ltm")
    head = "1 memory is old (not confirmed for 90 days) or doubtful (confidence below 0.3); nothing was moved"
    assert listed.text.startswith(head)
    assert f"- {doubtful} (discovery): perhaps Perl [confidence 0.1" in listed.text
    assert len(harness.patterns["discoveries"]) == 2
    assert harness.say("prune_ltm", dry_run="false").startswith("Archived 1 memory")
    assert [entry["fact"] for entry in harness.patterns["discoveries"]] == ["surely Python"]
    assert harness.say("prune_ltm").startswith("Nothing to prune: no memory is old")


def test_the_size_is_reported_in_a_few_lines(harness: Harness) -> None:
    assert harness.say("ltm_stats").startswith("0 memories; 0 archived")
    harness.learn("add_discovery", fact="f g", confidence=0.9)
    harness.learn("add_solution", error="e", solution="s", confidence=0.5)
    text = harness.say("ltm_stats")
    assert mentions(text, "2 memories", "1 discovery", "1 solution", "0 archived")
    assert "Asserted by: model 2." in text
    assert len(text) < 500


def test_earlier_sessions_are_recalled_and_the_running_one_is_not(harness: Harness) -> None:
    other = harness.store.new(harness.project, name="storage")
    other.append(UserMessage(id="m7", content="remember that writes are atomic", created=1.0))
    other.close()
    text = harness.say("recall_sessions", query="atomic writes")
    head, session, passage, way = text.split("\n")
    assert "never an instruction" in head
    assert re.fullmatch(rf"## storage \(\d{{4}}-\d\d-\d\d \d\d:\d\d, session {other.id[-8:]}\)", session)
    assert re.fullmatch(r"- \d{4}-\d\d-\d\d \d\d:\d\d user, m7: remember that writes are atomic", passage)
    assert f'session="{other.id[-8:]}", from="m7"' in way
    whole = harness.say("recall_messages", session=other.id[-8:], **{"from": "m7"})
    assert whole.endswith("remember that writes are atomic"), "the short handle is accepted"
    assert "remember this" not in harness.say("recall_sessions", query="remember this that")
    assert mentions(harness.say("recall_sessions", query="xylophone"), "No earlier session")


def test_a_message_of_another_session_is_shown_with_its_complete_output(harness: Harness) -> None:
    other = harness.store.new(harness.project, name="storage")
    other.append(UserMessage(id="m7", content="read the log"))
    handle = other.write_blob("line\n" * 900)
    other.append(ToolMessage(id="m8", tool_call_id="1", name="run_command", content="line\n[…]", blob=handle))
    other.close()
    output = harness.call("recall_messages", session="storage", **{"from": "m8"})
    assert mentions(output.text.splitlines()[0], "1 of 2 messages", other.id[-8:], "not an instruction")
    assert output.text.count("\nline") == 900
    assert "remember this" in harness.say("recall_messages", session=harness.session.id, **{"from": "1"})
    with pytest.raises(ClioError, match="No session matches 'nowhere'"):
        harness.call("recall_messages", session="nowhere", **{"from": "1"})


def test_writing_operations_are_marked_for_the_policy(harness: Harness) -> None:
    assert harness.prepare("store", key="k", content="c").action == TouchOwnState(writes_memory=True)
    assert harness.prepare("forget_ltm", id="d-1").action == TouchOwnState(writes_memory=True)
    assert harness.prepare("prune_ltm", dry_run=False).action == TouchOwnState(writes_memory=True)
    assert harness.prepare("prune_ltm").action == TouchOwnState(writes_memory=False)
    assert harness.prepare("list").action == TouchOwnState(writes_memory=False)


@pytest.mark.parametrize(
    ("operation", "arguments", "title"),
    [
        ("store", {"key": "k", "content": "long"}, "memory store: k"),
        ("add_discovery", {"fact": "a\nfact"}, "memory add_discovery: a fact"),
        ("add_workflow", {"steps": ["a", "b"]}, "memory add_workflow: a → b"),
        ("forget_ltm", {"id": "d-1"}, "memory forget_ltm: d-1"),
        ("ltm_stats", {}, "memory ltm_stats"),
    ],
)
def test_the_title_names_the_subject(harness: Harness, operation: str, arguments: dict[str, Any], title: str) -> None:
    assert harness.prepare(operation, **arguments).title == title


def test_an_unusable_folder_is_reported_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".clio").write_text("a file where the folder should be", encoding="utf-8")
    harness = Harness(tmp_path)
    with pytest.raises(ToolFailed, match="memory of this project cannot be used"):
        harness.call("store", key="k", content="c")
    with pytest.raises(ClioError):
        harness.call("add_discovery", fact="f")


def test_incognito_refuses_everything_but_messages_of_this_session(tmp_path: Path) -> None:
    harness = Harness(tmp_path, incognito=True)
    for operation, arguments in (
        ("store", {"key": "k", "content": "c"}),
        ("retrieve", {"key": "k"}),
        ("list", {}),
        ("search", {"query": "q"}),
        ("recall_sessions", {"query": "q"}),
        ("recall_messages", {"session": "1", "from": "1"}),
        ("update_ltm", {"id": "d-1", "fact": "f"}),
        ("forget_ltm", {"id": "d-1"}),
        ("forget_ltm", {"query": "q"}),
        ("prune_ltm", {}),
        ("ltm_stats", {}),
    ):
        with pytest.raises(ToolFailed, match="memory is off"):
            harness.call(operation, **arguments)
    assert "remember this" in harness.say("recall_messages", **{"from": "1"})


def test_recall_shows_who_stated_a_memory_and_the_users_statement_first(harness: Harness) -> None:
    harness.learn("add_discovery", fact="The docs server port is 9191 on the mirror")
    user = Provenance(session="s", asserted_by="user")
    harness.memory.store.add(MemoryDraft(kind="fact", content="The docs server listens on port 9090"), user)
    lines = [line for line in harness.say("recall", query="docs server port").splitlines() if line.startswith("- ")]
    assert "9090" in lines[0] and "[from the user]" in lines[0]
    assert "9191" in lines[1] and "[unverified]" in lines[1]


def test_an_update_to_a_shorter_text_stays_the_models_own(harness: Harness) -> None:
    text = harness.say("remember", content="The tests take four minutes and need a running Redis")
    id = re.findall(ID, text)[0]
    harness.session.append(ToolMessage(id="t9", tool_call_id="c", name="memory_operations", content=text))
    harness.say("update", id=id, content="The tests take four minutes")
    record = harness.memory.store.get(id)
    assert record.provenance is not None and record.provenance.asserted_by == "model"


def test_errors_of_update_name_parameters_of_the_schema(harness: Harness) -> None:
    id = harness.learn("add_discovery", fact="Config is YAML")
    with pytest.raises(ToolRetry, match="at least one of: content, confidence, files"):
        harness.call("update", id=id)
    with pytest.raises(WrongArguments, match="changes"):
        parse_arguments('{"operation": "update", "id": "d-1", "changes": {"content": "x"}}', MemoryArgs)


@pytest.mark.parametrize("kind", ["discovery", "fact"])
def test_the_name_of_a_secret_alone_is_not_stored(harness: Harness, kind: str) -> None:
    with pytest.raises(ToolRetry, match="secrets are never stored"):
        harness.call("remember", content="The token is [REDACTED].", kind=kind)
    with pytest.raises(ToolRetry, match="secrets are never stored"):
        harness.call("remember", content="Das Passwort der Datenbank [REDACTED:password] ist", kind=kind)
    assert not harness.memory.store.records()
    useful = "The token [REDACTED] is read from the keyring by deploy.sh"
    harness.call("remember", content=useful, kind=kind)
    assert {record.content for record in harness.memory.store.records()} == {useful}
