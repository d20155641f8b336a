"""`clio jobs` with real processes: they survive their parent, the terminal and kill -9, and wait for the user."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.jobs.job_store import (
    OUTPUT_NAME,
    RECORD_NAME,
    Job,
    JobEvent,
    JobRecord,
    Journal,
    create_job,
    list_jobs,
    read_job,
    stop_job,
)
from clio.threads import read_process_start
from tests.entrypoints.repl_support import ROOT, Place, at_prompt, clio, make_place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.processes import find_survivors, is_alive
from tests.support.waiting import wait_until
from tests.support.wording import mentions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="jobs of these tests are ended by POSIX signals")
WAITS = "python3 -c \"import time; open('begun', 'w').close(); time.sleep(300)\""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([]) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Iterator[Place]:
    place = make_place(tmp_path, server)
    yield place
    left = [job for job in jobs(place) if job.owner is not None]
    for job in left:
        stop_job(job)
    pids = [event.pid for job in jobs(place) for event in job.events if event.pid]
    assert find_survivors(pids) == []


def jobs(place: Place) -> list[Job]:
    return list_jobs(place.home / ".clio")


def start(place: Place, *arguments: str, mode: str = "ask") -> int:
    """mode: the user's own approval mode."""
    done = clio(place, "jobs", "start", *arguments, "--json", CLIO_APPROVE=mode)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["id"]


def show_job(place: Place, number: int) -> dict[str, Any]:
    return json.loads(clio(place, "jobs", "show", str(number), "--json").stdout)


def question_of(place: Place, number: int) -> str:
    question = show_job(place, number)["question"]
    return question["id"] if question else ""


def job_of(place: Place, number: int) -> Job:
    job = read_job(place.home / ".clio" / "jobs" / str(number))
    assert job is not None
    return job


def wait_for_state(place: Place, number: int, state: str) -> Job:
    wait_until(lambda: job_of(place, number).state == state, 60)
    return job_of(place, number)


def pid_of(job: Job) -> int:
    assert job.owner is not None
    return job.owner.pid


def test_a_job_answers_in_an_ordinary_session(place: Place, server: ChatServer) -> None:
    server.add(text("Counted: 7."), text("Still 7."))
    number = start(place, "count the files")
    job = wait_for_state(place, number, "done")
    assert not job.is_active
    assert show_job(place, number)["answer"] == "Counted: 7."
    assert "Counted: 7." in clio(place, "jobs", "logs", str(number)).stdout
    assert "Counted: 7." in clio(place, "sessions", "export", job.session_id, "-").stdout
    again = clio(place, "-r", job.session_id, "-p", "and now?")
    assert "Still 7." in again.stdout
    assert "count the files" in str(server.requests[-1].body["messages"])
    assert [row["state"] for row in json.loads(clio(place, "jobs", "--json").stdout)] == ["done"]


def test_a_job_survives_its_terminal_and_the_clio_that_started_it(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("run_command", {"command": WAITS})]), text("The end."))
    with place.clio("--approve", "all") as session:
        at_prompt(session)
        session.line('/jobs start "wait for it"')
        session.wait_for("Started job 1")
        wait_until((place.project / "begun").exists, 60)
        job = job_of(place, 1)
        assert os.getsid(pid_of(job)) != session.pid
    # The terminal is closed and the clio in it has ended.
    assert is_alive(pid_of(job)) and job_of(place, 1).state == "running"
    assert mentions(clio(place, "jobs", "stop", "1").stdout, "stopped")
    assert job_of(place, 1).state == "stopped"
    with place.clio() as session:
        at_prompt(session)
        session.line("/session list")
        session.wait_for("job 1")


def test_a_killed_job_is_interrupted_and_its_commands_are_ended(place: Place, server: ChatServer) -> None:
    command = "echo $$ > pid; sleep 300"
    server.add(tool_calls([("run_command", {"command": command})]))
    number = start(place, "wait", mode="all")
    wait_until(lambda: (place.project / "pid").exists() and (place.project / "pid").read_text().strip(), 60)
    job = job_of(place, number)
    os.kill(pid_of(job), signal.SIGKILL)
    wait_for_state(place, number, "interrupted")
    assert find_survivors([int((place.project / "pid").read_text())]) == []
    assert mentions(clio(place, "jobs", "stop", str(number)).stderr, "is not running")
    # Messages before the kill are in the session, which can be opened.
    server.add(text("Going on."))
    assert "Going on." in clio(place, "-r", job.session_id, "-p", "go on").stdout


def test_killing_parent_and_job_together_leaves_no_process(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("run_command", {"command": WAITS})]))
    parent = subprocess.Popen(
        [sys.executable, "-m", "clio", "jobs", "start", "wait"],
        cwd=place.project,
        env=place.env(CLIO_APPROVE="all"),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    wait_until(lambda: bool(jobs(place)) and jobs(place)[0].owner is not None, 60)
    if parent.poll() is None:
        parent.kill()
    parent.wait()
    job = job_of(place, 1)
    os.kill(pid_of(job), signal.SIGKILL)
    assert find_survivors([pid_of(job), parent.pid]) == []
    assert wait_for_state(place, 1, "interrupted").state == "interrupted"


def test_a_job_that_needs_approval_waits_for_the_answer_to_its_question(place: Place, server: ChatServer) -> None:
    edit = ("write_file", {"path": "a.txt", "content": "new\n"})
    server.add(tool_calls([edit]), tool_calls([("run_command", {"command": "rm a.txt"})]), text("Both decided."))
    number = start(place, "write a file")
    wait_for_state(place, number, "needs you")
    question = show_job(place, number)["question"]
    assert question["id"] == f"{number}.1" and "+new" in question["detail"]
    assert not (place.project / "a.txt").exists()
    with place.clio() as session:
        session.wait_for(f"job {number} needs you")
    assert clio(place, "jobs", "answer", f"{number}.1", "yes").returncode == 0
    wait_until(lambda: question_of(place, number) == f"{number}.2", 60)
    assert (place.project / "a.txt").read_text() == "new\n"
    # A second answer to the first question does not answer the second.
    assert mentions(clio(place, "jobs", "answer", f"{number}.1", "yes").stderr, f"{number}.2")
    assert clio(place, "jobs", "answer", f"{number}.2", "no", "keep it").returncode == 0
    wait_for_state(place, number, "done")
    assert (place.project / "a.txt").exists()
    assert "keep it" in str(server.requests[-1].body["messages"])


def test_a_job_told_not_to_ask_has_the_call_refused(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]), text("Not written."))
    number = start(place, "write", "--on-question", "refuse")
    job = wait_for_state(place, number, "failed")
    end = job.get_last("finished")
    assert end is not None and end.status == "approval_needed"
    assert not (place.project / "a.txt").exists()


def test_a_killed_job_that_waited_asks_no_longer(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]))
    number = start(place, "write")
    os.kill(pid_of(wait_for_state(place, number, "needs you")), signal.SIGKILL)
    wait_for_state(place, number, "interrupted")
    assert mentions(clio(place, "jobs", "answer", f"{number}.1", "yes").stderr, "asks nothing")


def test_the_time_limit_ends_a_job(place: Place, server: ChatServer) -> None:
    server.add(tool_calls([("run_command", {"command": WAITS})]))
    number = start(place, "wait", "--minutes", "0.05", mode="all")
    end = wait_for_state(place, number, "failed").get_last("finished")
    assert end is not None and end.status == "time_limit"


def test_a_conversation_starts_no_job_with_a_wider_mode(place: Place) -> None:
    with place.clio() as session:
        at_prompt(session)
        session.line('/jobs start "x" --approve all')
        session.wait_for("wider")
    assert jobs(place) == []


def test_a_wider_mode_on_the_command_line_needs_an_answer_in_a_terminal(place: Place, server: ChatServer) -> None:
    """Otherwise any program that may run a command line, such as the model, could grant itself more rights."""
    for mode, options in (("ask", ("--approve", "all")), ("ask", ("--approve=edits",)), ("plan", ("--approve", "ask"))):
        for more in ((), ("--json",)):
            refused = clio(place, "jobs", "start", "x", *options, *more, CLIO_APPROVE=mode)
            assert refused.returncode == 2 and "terminal" in refused.stderr, refused
    assert clio(place, "jobs", "start", "x", "--approve", "all", "--yes").returncode == 2
    assert jobs(place) == []
    for answer, show_job in (("n", "nothing was changed"), ("y", "Started job 1")):
        with place.clio("jobs", "start", "x", "--approve", "all") as session:
            session.wait_for("y/N")
            server.add(text("Done."))
            session.line(answer)
            session.wait_for(show_job)
    assert wait_for_state(place, 1, "done").record.approve == "all"
    # A narrower mode needs no answer.
    server.add(text("Done."))
    assert job_of(place, start(place, "x", "--approve", "plan", mode="all")).record.approve == "plan"
    wait_for_state(place, 2, "done")


def test_a_log_is_followed_until_the_job_ends(place: Place, server: ChatServer) -> None:
    edit = ("write_file", {"path": "a.txt", "content": "new\n"})
    server.add(tool_calls([edit], "First I write."), text("Then I am done."))
    number = start(place, "write a file")
    wait_for_state(place, number, "needs you")
    follower = subprocess.Popen(
        [sys.executable, "-m", "clio", "jobs", "logs", str(number), "--follow"],
        cwd=place.project,
        env=place.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert follower.stdout is not None
    assert "First I write." in follower.stdout.readline()
    assert clio(place, "jobs", "answer", f"{number}.1", "yes").returncode == 0
    rest, errors = follower.communicate(timeout=60)
    assert follower.returncode == 0
    assert "Then I am done." in rest and "First I write." not in rest
    assert f"clio jobs show {number}" in errors and mentions(errors, "done")
    # For a job that has ended, everything at once.
    again = clio(place, "jobs", "logs", str(number), "--follow")
    assert "First I write." in again.stdout and "Then I am done." in again.stdout
    assert clio(place, "jobs", "logs", str(number), "--follow", "--json").returncode == 2
    with place.clio() as session:
        at_prompt(session)
        session.line(f"/jobs logs {number} --follow")
        session.wait_for("in a shell")


def add_ended_job(place: Place, days: float, status: str = "done") -> Job:
    then = time.time() - days * 86_400
    record = JobRecord(
        id=0, task="t", folder=".", project=".", approve="ask", max_cost=1.0, minutes=1.0, created=then - 60
    )
    job = create_job(place.home / ".clio", record)
    journal = Journal(job.folder, now=lambda: then)
    journal.add(JobEvent(kind="started", at=0))
    if status:
        journal.add(JobEvent(kind="finished", at=0, status=status))
    (job.folder / "output.log").write_text("x" * 1000)
    return job


def test_gc_shows_and_deletes_old_jobs_that_have_ended(place: Place, server: ChatServer) -> None:
    for days, status in ((40, "done"), (40, "failed"), (40, ""), (20, "done"), (0.1, "")):
        add_ended_job(place, days, status)
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]))
    waiting = wait_for_state(place, start(place, "write"), "needs you")
    # It waits, but its record is old.
    record = json.loads((waiting.folder / RECORD_NAME).read_text())
    (waiting.folder / RECORD_NAME).write_text(json.dumps(record | {"created": 0}))
    # A repository's folder of that name is no list of jobs.
    brought = place.project / ".clio" / "jobs" / "1"
    brought.mkdir(parents=True)
    (brought / RECORD_NAME).write_text(json.dumps(record | {"id": 1, "created": 0}))
    rows = json.loads(clio(place, "gc", "--json").stdout)["usages"]
    (row,) = [row for row in rows if row["kind"] == "jobs" and row["folder"] == str(place.home / ".clio")]
    assert row["can_be_freed"]["count"] == 3 and row["can_be_freed"]["bytes"] > 3_000
    assert len(jobs(place)) == 6
    assert clio(place, "gc", "--yes").returncode == 0
    assert [job.record.id for job in jobs(place)] == [4, 5, 6]
    assert (brought / RECORD_NAME).is_file()
    (place.home / ".clio" / "config.yaml").write_text("job_days: 10\n")
    assert clio(place, "gc", "--yes").returncode == 0
    assert [job.record.id for job in jobs(place)] == [5, 6]


def test_numbers_of_jobs_and_questions_are_completed(place: Place, server: ChatServer) -> None:
    add_ended_job(place, 1)
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]))
    number = start(place, "write a file")
    wait_for_state(place, number, "needs you")
    assert [line.split("\t")[0] for line in clio(place, "__complete", "jobs").stdout.splitlines()] == ["2", "1"]
    assert clio(place, "__complete", "questions").stdout.startswith("2.1\t")


def test_a_job_takes_over_the_flags_of_a_conversation_in_any_language(place: Place, server: ChatServer) -> None:
    server.add(text("Fertig."))
    with place.clio("--model", "other-model", "--allow", "make *", CLIO_LANGUAGE="de") as session:
        session.wait_for("clio fragen")
        session.line('/jobs start "x"')
        session.wait_for("/jobs show 1")
        wait_for_state(place, 1, "done")
    assert job_of(place, 1).record.overrides == {"model": "other-model", "allow": ("make *",)}
    assert server.requests[-1].body["model"] == "other-model"


def test_two_clios_number_their_jobs_apart(place: Place) -> None:
    record = JobRecord(
        id=0, task="t", folder=".", project=".", approve="ask", max_cost=1.0, minutes=1.0, created=time.time()
    )
    code = f"""
import msgspec
from pathlib import Path
from clio.jobs.job_store import JobRecord, create_job
record = msgspec.json.decode({msgspec_text(record)!r}, type=JobRecord)
for _ in range(20):
    create_job(Path({str(place.home / ".clio")!r}), record)
"""
    both = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert [job.record.id for job in jobs(place)] == list(range(1, 41))


def msgspec_text(record: JobRecord) -> str:
    import msgspec

    return msgspec.json.encode(record).decode()


def test_after_a_reboot_a_job_is_interrupted_and_its_pid_is_left_alone(place: Place) -> None:
    """The journal names a pid that now belongs to another process: this one."""
    record = JobRecord(
        id=0, task="t", folder=".", project=".", approve="ask", max_cost=1.0, minutes=1.0, created=time.time()
    )
    job = create_job(place.home / ".clio", record)
    Journal(job.folder).add(JobEvent(kind="started", at=0, pid=os.getpid(), process_start="12345678-1"))
    assert read_process_start(os.getpid()) != "12345678-1"
    (job.folder / "lock").write_text(json.dumps({"pid": os.getpid(), "hostname": "", "timestamp": 0}))
    assert job_of(place, 1).state == "interrupted"
    assert clio(place, "jobs", "stop", "1").returncode != 0
    assert clio(place, "jobs", "remove", "1").returncode == 0
    assert jobs(place) == []
    assert mentions(clio(place, "jobs", "remove", "--ended").stdout, "No job has ended")


def test_a_damaged_record_or_journal_hides_no_other_job(place: Place) -> None:
    record = JobRecord(
        id=0, task="t", folder=".", project=".", approve="ask", max_cost=1.0, minutes=1.0, created=time.time()
    )
    first, second = (create_job(place.home / ".clio", record) for _ in range(2))
    (first.folder / RECORD_NAME).write_bytes(b'{"id": 1, "ta')
    (second.folder / "journal.jsonl").write_bytes(b'\0\0{"kind": "sta')
    assert [job.record.id for job in jobs(place)] == [2]
    assert mentions(clio(place, "jobs", "show", "1").stderr, "no job")


def test_a_full_disk_loses_no_event_that_fits_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    record = JobRecord(
        id=0, task="t", folder=".", project=".", approve="ask", max_cost=1.0, minutes=1.0, created=time.time()
    )
    job = create_job(place.home / ".clio", record)
    code = f"""
import resource, signal
from pathlib import Path
from clio.jobs.job_store import JobEvent, Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path({str(job.folder)!r}))
assert journal.add(JobEvent(kind="started", at=0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
assert not journal.add(JobEvent(kind="notice", at=0, text="x" * 200))
assert journal.problem
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert journal.add(JobEvent(kind="finished", at=0, status="done"))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [event.kind for event in job_of(place, 1).events] == ["started", "notice", "finished"]


def test_secrets_of_a_task_are_not_stored(place: Place, server: ChatServer) -> None:
    server.add(text("Done."))
    secret = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8x" * 2
    number = start(place, f"use {secret} here")
    wait_for_state(place, number, "done")
    stored = b"".join(path.read_bytes() for path in job_of(place, number).folder.iterdir())
    assert secret.encode() not in stored


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_the_output_of_a_job_is_read_only_from_a_regular_file(tmp_path: Path, kind: str) -> None:
    record = JobRecord(id=0, task="t", folder="", project="", approve="ask", max_cost=1.0, minutes=1.0, created=0.0)
    job = create_job(tmp_path, record)
    path = job.folder / OUTPUT_NAME
    if kind == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "secret").write_text("secret", encoding="utf-8")
        path.symlink_to(tmp_path / "secret")
    # A separate process, because reading from a pipe without a writer never ends.
    code = (
        "import sys, pathlib; from clio.jobs import job_store as s; "
        "f = pathlib.Path(sys.argv[1]); print(repr(s.read_output(s.read_job(f), 100)), s.read_output_from(f, 0))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(job.folder)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "'' b''\n", done.stderr
