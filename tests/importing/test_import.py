"""From a source file to a session of this project: once, complete, without secrets, and after interruptions."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clio.importing.intake import UNANSWERED, Importer, ImportLedger, ImportReport, ResultOrder, make_session_id
from clio.importing.places import SourceFile, SourceFinder
from clio.importing.reading import Agent, Tally
from clio.memory.consolidation.consolidation import Sessions
from clio.memory.transcripts.session_search import SessionSync
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.security.redaction.redactor import Redactor
from clio.sessions.store import SessionStore
from clio.storage.locks import FileLock
from tests.importing.homes import (
    CLAUDE_ID,
    claude_conversation,
    claude_file,
    claude_line,
    codex_file,
    shape,
    write_lines,
)

SECRET = "sk-" + "proj-" + "Zx8vQ2mNp4Rt7Yk1Wd9Lc3Hb5Jf6Gs0A"
ID = make_session_id("claude", CLAUDE_ID)


class Place:
    """A project, and a home folder with data of other agents."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.store = SessionStore(self.project / ".clio" / "sessions")

    def looker(self) -> SourceFinder:
        return SourceFinder(self.project, {"HOME": str(self.home)})

    def files(self, agent: Agent = "claude", *, every: bool = False) -> list[SourceFile]:
        return [file for file in self.looker().find_files(agent, None, every=every).files if file.ours]

    def run(self, files: Sequence[SourceFile] | None = None, **options: Any) -> ImportReport:
        ledger = ImportLedger(self.project / ".clio" / "cache")
        redactor = Redactor()
        importer = Importer(self.store.folder, ledger, lambda text: redactor.redact(text).text, 2_000)
        return importer.run(self.files() if files is None else files, **options)

    def contents(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.store.folder.rglob("*")) if path.is_file()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_conversation_becomes_a_session_once(place: Place) -> None:
    claude_file(
        place.home, place.project, *claude_conversation(str(place.project)), {"type": "ai-title", "aiTitle": "Clock"}
    )
    report = place.run()
    assert (report.fates["new"], report.messages, report.stopped) == (1, 5, False)
    (info,) = place.store.list()
    assert (info.id, info.name, info.messages, info.first_words) == (ID, "Clock", 5, "Why does the login test hang?")
    assert info.imported is not None and info.imported.agent == "claude"
    assert info.updated_at == pytest.approx(1764500973.123)
    before = place.contents()
    assert place.run().unchanged == 1
    assert place.run(again=True).fates == {"known": 1}
    assert place.contents() == before


def test_results_follow_their_calls_in_the_order_of_the_calls(place: Place) -> None:
    claude_file(place.home, place.project)
    place.run()
    messages = place.store.read(ID)
    assert [message.tool_call_id for message in messages if isinstance(message, ToolMessage)] == ["t1", "t2"]
    assert [message.name for message in messages if isinstance(message, ToolMessage)] == ["Bash", "Read"]


def test_a_source_that_grew_replaces_the_session_and_keeps_its_name(place: Place) -> None:
    conversation = claude_conversation(str(place.project))
    claude_file(place.home, place.project, *conversation)
    place.run()
    assert place.store.rename(ID, "The hanging test") is None
    claude_file(place.home, place.project, *conversation, claude_line("user", "u9", "And on Friday?"))
    assert place.run().fates == {"grown": 1}
    (info,) = place.store.list()
    assert (info.name, info.messages) == ("The hanging test", 6)
    claude_file(place.home, place.project, *conversation[:2])
    assert place.run().fates == {"known": 1}, "an older copy replaces nothing"
    assert place.store.list()[0].messages == 6


def test_secrets_are_not_imported(place: Place) -> None:
    claude_file(
        place.home,
        place.project,
        claude_line("user", "u1", f"my key is {SECRET}", cwd=str(place.project)),
        claude_line(
            "assistant",
            "a1",
            [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"login {SECRET}", "n": 1}}],
        ),
        claude_line(
            "user", "u2", [{"type": "tool_result", "tool_use_id": "t", "content": f"{SECRET}\n" + "word " * 1000}]
        ),
        {"type": "custom-title", "customTitle": f"Key {SECRET}"},
    )
    place.run()
    stored = b"".join(place.contents().values())
    assert (SECRET.encode() in stored, stored.count(b"[REDACTED")) == (False, 6), "two texts, call, output twice, name"
    call = place.store.read(ID)[1]
    assert isinstance(call, AssistantMessage)
    assert json.loads(call.tool_calls[0].arguments)["n"] == 1, "the arguments are still JSON"


def test_long_outputs_and_pictures_are_saved_next_to_the_session(place: Place) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    odd = {"type": "base64", "media_type": "image/svg+xml", "data": "aGVsbG8="}
    shown = [{"type": "image", "source": one} for one in (source, odd)]
    claude_file(
        place.home,
        place.project,
        claude_line("user", "u1", [{"type": "text", "text": "see"}, *shown], cwd=str(place.project)),
        claude_line("assistant", "a1", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
        claude_line("user", "u2", [{"type": "tool_result", "tool_use_id": "t", "content": "row\n" * 5000}]),
    )
    place.run()
    session = place.store.open(ID, persist=False)
    words, _, result = session.messages
    assert isinstance(words, UserMessage) and isinstance(result, ToolMessage) and result.blob
    assert session.read_data(words.images[0].blob) == b"hello"
    assert words.content == "see\n\n[image of type 'image/svg+xml']"
    assert (len(result.content) <= 2_000, session.read_blob(result.blob)) == (True, "row\n" * 5000)


def test_a_session_of_another_agent_is_continued_in_a_copy(place: Place) -> None:
    claude_file(place.home, place.project)
    place.run()
    before = (place.store.folder / f"{ID}.json").read_bytes()
    assert place.store.latest() is None, "-c continues clio's own sessions"
    session = place.store.open(ID)
    assert (session.id != ID, session.parent, session.imported) == (True, ID, None)
    assert "claude" in session.warnings[0]
    session.append(UserMessage(content="go on"))
    session.close()
    assert (place.store.folder / f"{ID}.json").read_bytes() == before
    assert place.store.latest() == session.id


def test_consolidation_saves_nothing_from_it(place: Place) -> None:
    claude_file(place.home, place.project)
    place.run()
    assert list(Sessions(place.store, {}, {}).waiting(1e10, lambda: False)) == []
    sync = SessionSync(place.store.folder)
    sync.scan()
    assert sync.ids, "while recall reads it"


def test_only_this_project_is_imported_by_default(place: Place, tmp_path: Path) -> None:
    inside = place.project / "lib"
    elsewhere = tmp_path / "project-two"
    for number, folder in enumerate((place.project, inside, elsewhere)):
        conversation = claude_conversation(str(folder.resolve()))
        claude_file(place.home, folder, *conversation, name=f"{number}c073d8e-2bb1-45cb-90bc-a28ce44da090")
        codex_file(place.home, folder, number)
    assert [len(place.files(agent)) for agent in ("claude", "codex")] == [2, 2]
    assert [len(place.files(agent, every=True)) for agent in ("claude", "codex")] == [3, 3]


def test_unreadable_files_are_named_and_the_rest_is_imported(place: Place) -> None:
    conversation = claude_conversation(str(place.project.resolve()))
    good = claude_file(place.home, place.project, *conversation)
    (good.parent / "gone.jsonl").symlink_to(good.parent / "nowhere")
    os.mkfifo(good.parent / "pipe.jsonl")
    (good.parent / "again.jsonl").symlink_to(good)
    found = place.looker().find_files("claude", None)
    assert sorted(Path(path).name for path, _ in found.unusable) == ["gone.jsonl", "pipe.jsonl"]
    report = place.run(found.files)
    assert report.fates == {"new": 1, "known": 1}


def test_a_dry_run_writes_nothing_and_reports_the_same(place: Place) -> None:
    claude_file(place.home, place.project)
    report = place.run(dry_run=True)
    assert (report.fates["new"], report.messages) == (1, 5)
    assert not (place.project / ".clio").exists()
    assert place.run().fates["new"] == 1


def test_since_skips_older_conversations_for_a_later_import(place: Place) -> None:
    path = claude_file(place.home, place.project)
    assert place.run(since=1_764_600_000).fates == {"old": 1}
    assert place.store.list() == []
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert place.run(since=1_764_600_000).files == 0, "files unchanged since then are not even read"
    assert place.run().fates == {"new": 1}


def test_a_session_being_written_is_left_for_the_next_import(place: Place) -> None:
    claude_file(place.home, place.project)
    place.store.folder.mkdir(parents=True)
    with FileLock(place.store.folder / f"{ID}.lock"):
        assert place.run().fates == {"busy": 1}
    assert place.run().fates == {"new": 1}


def test_an_interrupted_import_continues_where_it_stopped(place: Place) -> None:
    for number in range(4):
        conversation = claude_conversation(str(place.project.resolve()), f"Question {number}")
        claude_file(place.home, place.project, *conversation, name=f"{number}c073d8e-2bb1-45cb-90bc-a28ce44da090")
    reported: list[int] = []

    def tell(done: int, total: int) -> None:
        reported.append(done)

    report = place.run(stop=lambda: len(reported) > 4, progress=tell)
    assert report.stopped and 0 < report.fates["new"] < 4
    assert [path for path in place.store.folder.iterdir() if path.suffix in (".tmp", ".lock")] == []
    rest = place.run()
    assert (rest.fates["new"] + report.fates["new"], rest.unchanged) == (4, report.files)


def test_a_kill_in_the_middle_loses_nothing(place: Place) -> None:
    for number in range(30):
        conversation = claude_conversation(str(place.project.resolve()), f"Question {number}")
        claude_file(place.home, place.project, *conversation, name=f"{number:08x}-2bb1-45cb-90bc-a28ce44da090")
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from clio.importing.intake import ImportLedger; from clio.importing.places import SourceFinder\n"
        "from clio.importing.intake import Importer\n"
        "project, home = map(Path, sys.argv[1:])\n"
        "files = SourceFinder(project, {'HOME': str(home)}).find_files('claude', None).files\n"
        "def redact(text):\n"
        "    if len(os.listdir(project / '.clio/sessions')) > 9: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return text\n"
        "Importer(project / '.clio/sessions', ImportLedger(project / '.clio/cache'), redact, 2000).run(files)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, place.project, place.home], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    done = len(place.store.list())
    assert 0 < done < 30
    report = place.run()
    assert (report.fates["known"], report.fates["new"]) == (done, 30 - done)
    assert len(place.store.list()) == 30


def test_two_simultaneous_imports_do_no_harm(place: Place) -> None:
    for number in range(12):
        conversation = claude_conversation(str(place.project.resolve()), f"Question {number}")
        conversation[6]["message"]["content"][0]["content"] = "row\n" * 5000
        claude_file(place.home, place.project, *conversation, name=f"{number:08x}-2bb1-45cb-90bc-a28ce44da090")
    files = place.files()
    reports: list[ImportReport] = []
    threads = [threading.Thread(target=lambda: reports.append(place.run(files))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.fates["new"] for report in reports) == 12
    for info in place.store.list():
        session = place.store.open(info.id, persist=False)
        assert all(session.read_blob(one.blob) for one in session.messages if isinstance(one, ToolMessage) and one.blob)


def test_a_conversation_without_messages_is_not_imported(place: Place) -> None:
    claude_file(
        place.home,
        place.project,
        claude_line("user", "u1", "<command-name>/clear</command-name>", cwd=str(place.project)),
        claude_line("user", "u2", "<local-command-stdout></local-command-stdout>"),
    )
    assert place.run().fates == {"empty": 1}


# ResultOrder, in every order in which two calls and other messages can arrive


def paired(messages: Sequence[Message]) -> tuple[list[str], Tally]:
    counts = Tally()
    order = ResultOrder(counts)
    out = [found for message in messages for found in order.feed(message)]
    return shape([*out, *order.end()]), counts


def call(*ids: str) -> AssistantMessage:
    return AssistantMessage(content="do", tool_calls=tuple(ToolCall(id=id, name="f") for id in ids), id=ids[0])


def result(id: str) -> ToolMessage:
    return ToolMessage(tool_call_id=id, content="out", id=f"r{id}")


def test_messages_between_a_call_and_its_result_wait() -> None:
    conversation = [
        call("a", "b"),
        result("b"),
        AssistantMessage(content="meanwhile"),
        result("a"),
        UserMessage(content="so"),
    ]
    assert paired(conversation)[0] == [
        "answer: do [f a {}] [f b {}]",
        "a ok: out",
        "b ok: out",
        "answer: meanwhile",
        "user: so",
    ]


def test_nested_calls_each_get_their_own_result() -> None:
    shown, counts = paired([call("a"), call("b"), result("b"), result("a")])
    assert shown == ["answer: do [f a {}]", "a ok: out", "answer: do [f b {}]", "b ok: out"]
    assert counts.unanswered == 0


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    shown, counts = paired([call("a"), UserMessage(content="stop"), result("a")])
    assert shown == ["answer: do [f a {}]", f"a failed: {UNANSWERED}", "user: stop"]
    assert (counts.unanswered, counts.unasked) == (1, 1)


def test_a_copy_of_a_source_elsewhere_is_the_same_conversation(place: Place, tmp_path: Path) -> None:
    claude_file(place.home, place.project)
    place.run()
    copy = write_lines(tmp_path / "copy" / f"{CLAUDE_ID}.jsonl", *claude_conversation(str(place.project.resolve())))
    found = place.looker().find_files("claude", copy)
    assert place.run(found.files).fates == {"known": 1}


def test_a_file_read_while_it_grew_is_read_again(place: Place) -> None:
    claude_file(place.home, place.project)
    (file,) = place.files()
    place.run([structs.replace(file, size=file.size - 1)])
    assert place.run().unchanged == 0


def test_a_conversation_copied_under_a_new_key_is_imported_once(place: Place) -> None:
    conversation = claude_conversation(str(place.project.resolve()))
    copied = [line | {"uuid": f"new-{line.get('uuid')}"} for line in conversation]
    copied.append(claude_line("user", "more", "Go on"))
    claude_file(place.home, place.project, *conversation)
    place.run()
    claude_file(place.home, place.project, *copied, name=CLAUDE_ID.replace("6c", "7d"))
    assert place.run().fates == {"grown": 1}
    assert [info.messages for info in place.store.list()] == [6]
    assert place.run(again=True).fates == {"known": 2}, "the shorter one is not restored"
    other = [
        claude_line("user", "u1", "Why does the login test hang?", timestamp="2026-01-01T00:00:00Z"),
        *conversation[2:],
    ]
    claude_file(place.home, place.project, *other, name=CLAUDE_ID.replace("6c", "8e"))
    assert place.run().fates == {"new": 1}, "the same text at another time is another conversation"
