"""`clio schedule`: what is written to crontab and systemd, how cron reads it, and the resulting runs.

The crontab is a program of the test on PATH, with a table in the test's folder, because the real one would change the
table of the user who runs the tests; one test runs the real one where it can have a separate table.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clio.jobs.job_store import Job, list_jobs, stop_job
from clio.jobs.schedules import Crontab, list_schedules, quote_for_cron
from tests.entrypoints.repl_support import ROOT, Place, at_prompt, clio, make_place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.processes import find_survivors
from tests.support.pty_session import PtySession
from tests.support.waiting import wait_until
from tests.support.wording import mentions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither crontab nor systemd")

FAKE_CRONTAB = """\
#!/bin/sh
# Stores a table as the program of Vixie cron does: whole, or not at all, unless the file `mode` says otherwise.
dir='{folder}'
mode=$(cat "$dir/mode" 2>/dev/null)
case "$1" in
-l) [ "$mode" = denied ] && {{ echo "You (me) are not allowed to use this program (crontab)" >&2; exit 1; }}
    [ -f "$dir/table" ] && exec sed 's/\\r/\\\\r/g; s/\\x08/\\\\b/g' "$dir/table"  # as Debian's
    echo "no crontab for me" >&2; exit 1;;
-r) rm -f "$dir/table";;
-e) [ -f "$dir/table" ] || exit 1
    cp "$dir/table" "$dir/edited.$$"; sh -c "$VISUAL $dir/edited.$$"; rm "$dir/edited.$$";;
-)  case "$mode" in
    full) cat >/dev/null; echo "crontab: write error: No space left on device" >&2; exit 1;;
    ruins) rm -f "$dir/mode"; cat >/dev/null; : > "$dir/table"; echo "died" >&2; exit 1;;
    loses) rm -f "$dir/mode"; sed 1d > "$dir/table"; exit 0;;
    esac
    cat > "$dir/table.$$" && mv "$dir/table.$$" "$dir/table";;
*)  exit 2;;
esac
"""
FAKE_SYSTEMCTL = """\
#!/bin/sh
dir='{folder}'
echo "$*" >> "$dir/calls"
mode=$(cat "$dir/mode" 2>/dev/null)
shift
units="$HOME/.config/systemd/user"
case "$1" in
is-active) [ "$mode" = off ] && exit 3; exit 0;;
enable) [ "$mode" = refuses ] && {{ echo "Failed to connect to bus" >&2; exit 1; }}
    mkdir -p "$units/timers.target.wants"; ln -sf "$units/$3" "$units/timers.target.wants/$3";;
disable) rm -f "$units/timers.target.wants/$3";;
esac
exit 0
"""
OTHERS = (
    b"# my own lines\nMAILTO=me@example.com\n\n*/5 * * * *\t/usr/bin/true % with input\n"
    b"@reboot echo 'na\xefve latin-1'  \r\n0 2 * * * grep '\\bx\\r' \x08y\n#0 1 * * * off\n"
    b"0 0 * * * clio schedule 3: not ours\n"
)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([]) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Iterator[Place]:
    place = make_place(tmp_path, server)
    (tmp_path / "bin").mkdir()
    for name, source in (("crontab", FAKE_CRONTAB), ("systemctl", FAKE_SYSTEMCTL)):
        folder = tmp_path / f"{name}-data"
        folder.mkdir()
        program = tmp_path / "bin" / name
        program.write_text(source.format(folder=folder), encoding="utf-8")
        program.chmod(0o755)
    set_mode(place, "systemctl", "off")
    yield place
    left = [job for job in jobs(place) if job.owner is not None]
    for job in left:
        stop_job(job)
    pids = [event.pid for job in jobs(place) for event in job.events if event.pid]
    assert find_survivors(pids) == []


def set_mode(place: Place, program: str, mode: str) -> None:
    path = place.home.parent / f"{program}-data" / "mode"
    path.write_text(mode, encoding="utf-8") if mode else path.unlink()


def table_of(place: Place) -> Path:
    return place.home.parent / "crontab-data" / "table"


def with_bin(place: Place, **more: str) -> dict[str, Any]:
    return {"PATH": f"{place.home.parent / 'bin'}{os.pathsep}{os.environ['PATH']}", **more}


def schedule(place: Place, *arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return clio(place, "schedule", *arguments, cwd=cwd, **with_bin(place, **env))


def add(place: Place, task: str, *options: str, when: str = "0 9 * * 1-5", **env: Any) -> dict[str, Any]:
    done = schedule(place, "add", when, task, "--yes", "--json", *options, **env)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def listed(place: Place) -> list[dict[str, Any]]:
    return json.loads(schedule(place, "list", "--json").stdout)


def jobs(place: Place) -> list[Job]:
    return list_jobs(place.home / ".clio")


def read_line_as_cron_does(line: str) -> tuple[str, str]:
    """Return the command and its input, as Vixie cron's do_command.c takes them from a line with five fields."""
    rest = line
    for _ in range(5):
        rest = rest.lstrip(" \t").partition(" ")[2]
    command, escaped = "", False
    for position, char in enumerate(rest):
        if escaped:
            command = command[:-1] + char if char == "%" else command + char
            escaped = False
            continue
        if char == "%":
            return command, rest[position + 1 :].replace("%", "\n")
        command, escaped = command + char, char == "\\"
    return command, ""


def run_lines(place: Place, *, is_busybox: bool = False) -> list[subprocess.CompletedProcess[str]]:
    """Run each of clio's lines as cron does: sh, the home folder, and almost no variables."""
    done: list[subprocess.CompletedProcess[str]] = []
    for line in table_of(place).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        if "__schedule" not in line or line.startswith("#"):
            continue
        command, given = read_line_as_cron_does(line)
        if is_busybox:  # it gives % no meaning
            command, given = line.split(" ", 5)[5], ""
        env = {"HOME": str(place.home), "LOGNAME": "me", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
        done.append(
            subprocess.run(
                ["/bin/sh", "-c", command],
                input=given,
                cwd=place.home,
                env=env | {"PYTHONPATH": str(ROOT)},  # what an installed clio has without it
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
        )
    return done


def test_cron_starts_a_job_of_the_project_that_is_listed(place: Place, server: ChatServer) -> None:
    added = add(place, "update the changelog", "--minutes", "7", "--max-cost", "2")
    assert listed(place)[0]["last_job"] is None
    server.add(text("Updated."))
    (run,) = run_lines(place)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")  # no output that cron would mail
    (job,) = jobs(place)
    assert (job.state, job.record.schedule, job.record.minutes, job.record.max_cost) == ("done", added["id"], 7, 2)
    assert job.record.folder == str(place.project) and job.record.approve == "ask"
    assert "Updated." in clio(place, "jobs", "logs", "1").stdout
    assert "Updated." in clio(place, "jobs", "show", "1").stdout
    assert listed(place)[0]["last_job"] == 1
    assert "update the changelog" in str(server.requests[-1].body["messages"])
    # An ordinary session of the project.
    assert "Updated." in clio(place, "sessions", "export", job.session_id, "-").stdout


@pytest.mark.parametrize(
    "task",
    [
        """say "it's 100%" for $HOME and `id` $(id) \\ ; rm -rf x # no comment""",
        "first line\nsecond line\n%n %h",
        "räume die Tests auf – 掃除 🧹",
        "--approve all is only text",
    ],
)
def test_no_text_of_a_task_is_interpreted_by_cron_or_a_shell(place: Place, server: ChatServer, task: str) -> None:
    table_of(place).write_bytes(OTHERS)
    done = schedule(place, "add", "--yes", "--", "hourly", task)
    assert done.returncode == 0, done
    lines = table_of(place).read_bytes().removeprefix(OTHERS).decode().splitlines()
    assert len(lines) == 2 and lines[0].startswith("# clio schedule 1:")
    server.add(text("Done."))
    assert [run.returncode for run in run_lines(place)] == [0]
    assert jobs(place)[0].record.task == task
    assert server.requests[-1].body["messages"][-1]["content"].endswith(task)


@pytest.mark.parametrize("is_busybox", [False, True])
def test_folders_with_unusual_names_are_found_by_cron(tmp_path: Path, server: ChatServer, is_busybox: bool) -> None:
    odd = tmp_path / '100% $HOME\'s "größe" `id`; &'
    place = make_place(odd, server)
    (odd / "bin").mkdir()
    data = tmp_path / "crontab-data"
    data.mkdir()
    program = tmp_path / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text(FAKE_CRONTAB.format(folder=data), encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = clio(place, "schedule", "add", "hourly", "count", "--yes", "--with", "cron", PATH=path)
    assert done.returncode == 0, done
    shutil.copytree(data, odd / "crontab-data")
    server.add(text("One."))
    (run,) = run_lines(place, is_busybox=is_busybox)
    assert (run.returncode, run.stderr) == (0, "")
    assert [(job.state, job.record.folder) for job in jobs(place)] == [("done", str(place.project))]


def test_a_path_that_cron_cannot_represent_is_refused() -> None:
    for path in ("/a\nb", "/a\\b", "/a\x1bb"):
        with pytest.raises(Exception, match="crontab"):
            quote_for_cron(path)


@pytest.mark.parametrize("others", [b"", OTHERS, OTHERS.rstrip(b"\n")])
def test_adding_and_removing_leaves_the_crontab_unchanged(place: Place, others: bytes) -> None:
    if others:
        table_of(place).write_bytes(others)
    for number in (1, 2, 3):
        assert add(place, f"task {number}")["id"] == number
    assert table_of(place).read_bytes().startswith(others)
    for number in (2, 1, 3):
        assert schedule(place, "remove", str(number)).returncode == 0
    if others:
        assert table_of(place).read_bytes().rstrip(b"\n") == others.rstrip(b"\n")
    else:
        assert not table_of(place).exists()
    assert list((place.home / ".clio" / "schedules").iterdir()) == []
    assert mentions(schedule(place, "remove", "1").stderr, "no schedule 1")


def test_the_text_is_shown_first_and_nothing_is_written_without_confirmation(place: Place) -> None:
    table_of(place).write_bytes(OTHERS)
    refused = schedule(place, "add", "hourly", "look")
    assert refused.returncode == 2 and "--yes" in refused.stderr
    printed = schedule(place, "add", "hourly", "look", "--print")
    assert printed.returncode == 0
    assert table_of(place).read_bytes() == OTHERS and not (place.home / ".clio" / "schedules").exists()
    with terminal(place, "schedule", "add", "hourly", "look") as session:
        session.wait_for("[y/N]")
        session.line("n")
        session.wait_for("nothing was changed")
    assert table_of(place).read_bytes() == OTHERS and listed(place) == []
    with terminal(place, "schedule", "add", "hourly", "look") as session:
        session.wait_for("[y/N]")
        session.line("y")
        session.wait_for("Added schedule 1")
    written = table_of(place).read_bytes().removeprefix(OTHERS).decode()
    assert written and written in printed.stdout


def terminal(place: Place, *arguments: str, **env: str) -> PtySession:
    return place.clio(*arguments, columns=200, lines=50, **with_bin(place, **env))


def test_two_clios_that_add_at_the_same_time_lose_nothing(place: Place) -> None:
    table_of(place).write_bytes(OTHERS)
    code = """
import os, sys
from pathlib import Path
from clio.errors import UserError
from clio.jobs.job_store import JobRecord
from clio.jobs.schedules import Crontab, Schedule, add_schedule, suggest_number
home = Path(sys.argv[1])
job = JobRecord(id=0, task="t", folder=".", project=".", approve="ask", max_cost=1.0, minutes=1.0, created=0.0)
crontab = Crontab(home, os.environ)
for _ in range(5):
    while True:
        number = suggest_number(home, crontab)
        new = Schedule(id=number, times="0 9 * * *", when="x", service="cron", job=job, program="/p", package="/q")
        try:
            add_schedule(home, new, crontab)
        except UserError:
            continue
        break
"""
    env = place.env(**with_bin(place))
    command = [sys.executable, "-c", code, str(place.home / ".clio")]
    both = [subprocess.Popen(command, cwd=ROOT, env=env) for _ in range(3)]
    assert [one.wait(120) for one in both] == [0, 0, 0]
    installed = Crontab(place.home / ".clio", env).list_installed()
    assert sorted(installed) == [one.id for one in list_schedules(place.home / ".clio")] == list(range(1, 16))
    assert table_of(place).read_bytes().startswith(OTHERS)


@pytest.mark.parametrize("mode", ["full", "ruins", "loses", "denied"])
def test_a_failing_crontab_program_leaves_the_old_table_and_no_schedule(place: Place, mode: str) -> None:
    table_of(place).write_bytes(OTHERS)
    add(place, "first")
    before = table_of(place).read_bytes()
    set_mode(place, "crontab", mode)
    failed = schedule(place, "add", "hourly", "second", "--yes")
    assert failed.returncode == 1 and "crontab" in failed.stderr
    assert table_of(place).read_bytes() == before
    assert [one.id for one in list_schedules(place.home / ".clio")] == [1]
    if mode in ("ruins", "loses"):
        set_mode(place, "crontab", mode)
    failed = schedule(place, "remove", "1")
    assert failed.returncode == 1
    assert table_of(place).read_bytes() == before
    assert [one.id for one in list_schedules(place.home / ".clio")] == [1]


def test_a_full_disk_leaves_the_old_table_and_no_schedule(place: Place) -> None:
    table_of(place).write_bytes(OTHERS * 40)
    code = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
from clio.cli import main
sys.exit(main(["schedule", "add", "hourly", "look", "--yes"]))
"""
    env = place.env(**with_bin(place))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=place.project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done
    assert table_of(place).read_bytes() == OTHERS * 40
    assert list_schedules(place.home / ".clio") == []


def test_a_wider_approval_mode_needs_an_answer_in_a_terminal(place: Place) -> None:
    for options in (("--yes",), (), ("--yes", "--json")):
        refused = schedule(place, "add", "hourly", "look", "--approve", "all", *options)
        assert refused.returncode == 2 and "terminal" in refused.stderr, refused
    assert listed(place) == []
    with terminal(place, "schedule", "add", "hourly", "look", "--approve", "all", "--yes") as session:
        session.wait_for("[y/N]")
        session.line("n")
        session.wait_for("nothing was changed")
    assert listed(place) == []
    with terminal(place, "schedule", "add", "hourly", "look", "--approve", "all") as session:
        session.wait_for("[y/N]")
        session.line("y")
        session.wait_for("Added schedule 1")
    # A narrower mode, and the user's own, need none.
    assert add(place, "plan", "--approve", "plan")["approve"] == "plan"
    assert add(place, "edit", "--approve", "edits", CLIO_APPROVE="edits")["approve"] == "edits"


def test_a_conversation_adds_no_schedule_with_a_wider_mode(place: Place) -> None:
    with terminal(place) as session:
        at_prompt(session)
        session.line('/schedule add "hourly" "look" --approve all --yes')
        session.wait_for("wider")
        session.line('/schedule add "hourly" "look"')
        session.wait_for("Add it?")
        session.send("y")
        session.wait_for("Added schedule 1")
        session.line("/schedule")
        session.wait_for("next run")
    assert [one["approve"] for one in listed(place)] == ["ask"]


def test_the_mode_is_that_of_the_time_it_was_added(place: Place, server: ChatServer) -> None:
    add(place, "write a file", CLIO_APPROVE="edits")
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]), text("Written."))
    assert [run.returncode for run in run_lines(place)] == [0]
    assert (place.project / "a.txt").read_text() == "x"


def test_a_run_that_needs_approval_waits_and_the_next_one_is_skipped(place: Place, server: ChatServer) -> None:
    add(place, "write a file", when="every minute")
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]), text("Written."))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(run_lines, place)
        wait_until(lambda: [job.state for job in jobs(place)] == ["needs you"], 60)
        (second,) = run_lines(place)
        assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
        assert len(jobs(place)) == 1
        assert mentions(schedule(place, "list").stdout, "job 1", "not ended")
        assert clio(place, "jobs", "answer", "1.1", "yes").returncode == 0
        assert [run.returncode for run in first.result(120)] == [0]
    assert (place.project / "a.txt").read_text() == "x"
    assert [job.state for job in jobs(place)] == ["done"]


def test_a_killed_run_does_not_prevent_the_next_one(place: Place, server: ChatServer) -> None:
    add(place, "write a file", when="every minute")
    server.add(tool_calls([("write_file", {"path": "a.txt", "content": "x"})]))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(run_lines, place)
        wait_until(lambda: [job.state for job in jobs(place)] == ["needs you"], 60)
        owner = jobs(place)[0].owner
        assert owner is not None
        os.kill(owner.pid, signal.SIGKILL)
        first.result(120)
    server.add(text("Again."))
    assert [run.returncode for run in run_lines(place)] == [0]
    assert [job.state for job in jobs(place)] == ["interrupted", "done"]


def test_a_deleted_project_is_a_failed_job_and_named_by_list_and_doctor(place: Place) -> None:
    other = place.home.parent / "other"
    other.mkdir()
    assert schedule(place, "add", "hourly", "look", "--yes", cwd=other).returncode == 0
    assert listed(place)[0]["problems"] == []
    other.rmdir()
    (run,) = run_lines(place)
    assert run.returncode == 1
    (job,) = jobs(place)
    end = job.get_last("finished")
    assert job.state == "failed" and end is not None and str(other) in end.error
    assert str(other) in schedule(place, "list").stdout
    found = clio(place, "doctor", "--json", **with_bin(place))
    assert str(other) in str([one for one in json.loads(found.stdout)["findings"] if one["about"] == "schedules"])


@pytest.mark.parametrize("change", ["link", "owner"])
def test_a_folder_replaced_by_another_is_not_used(place: Place, server: ChatServer, change: str) -> None:
    add(place, "tidy up")
    if change == "link":
        place.project.rename(place.project.with_name("other"))
        place.project.symlink_to("other")
    else:
        record = place.home / ".clio" / "schedules" / "1" / "schedule.json"
        data = json.loads(record.read_bytes())
        data["place"]["owner"] += 1
        record.write_text(json.dumps(data))
    run_lines(place)
    [job] = jobs(place)
    wanted = "is now a link to" if change == "link" else "belongs to another user"
    assert job.state == "failed" and wanted in job.events[-1].error
    assert server.requests == []
    assert wanted in " ".join(schedule(place, "list").stdout.split())


def test_a_moved_clio_is_named_by_list_and_doctor(place: Place) -> None:
    add(place, "look")
    record = place.home / ".clio" / "schedules" / "1" / "schedule.json"
    data = json.loads(record.read_text())
    assert Path(data["program"]).is_absolute() and (Path(data["package"]) / "__main__.py").is_file()
    missing_python = str(place.home / "old-venv" / "bin" / "python")
    record.write_text(json.dumps(data | {"program": missing_python}))
    assert missing_python in schedule(place, "list").stdout
    assert missing_python in clio(place, "doctor", "--json", **with_bin(place)).stdout
    record.write_text(json.dumps(data | {"package": str(place.home / "nowhere")}))
    assert mentions(schedule(place, "list").stdout, "no longer where it was")


def test_lines_removed_changed_or_left_over_are_named(place: Place) -> None:
    table_of(place).write_bytes(OTHERS)
    for _ in range(3):
        add(place, "look")
    shutil.rmtree(place.home / ".clio" / "schedules" / "3")
    lines = table_of(place).read_bytes().decode("latin-1").splitlines(keepends=True)
    one, two = (next(line for line in lines if line.endswith(f" {number}\n")) for number in (1, 2))
    lines[lines.index(one)] = "#" + one
    lines[lines.index(two)] = two.replace("0 9", "30 10", 1)
    table_of(place).write_bytes("".join(lines).encode("latin-1"))
    shown = schedule(place, "list").stdout
    assert mentions(shown, "Schedule 1", "no longer starts it")
    assert mentions(shown, "Schedule 2", "another time", "30 10 * * 1-5")
    assert mentions(shown, "Schedule 3", "settings are gone")
    (run, *_) = [run for run in run_lines(place) if "schedule 3" in run.stderr]
    assert run.returncode == 1
    # The next one does not take the number of a left-over line.
    assert add(place, "look")["id"] == 4
    for number in (1, 2, 3, 4):
        assert schedule(place, "remove", str(number)).returncode == 0
    assert table_of(place).read_bytes() == OTHERS


def test_a_repository_cannot_bring_a_schedule(place: Place) -> None:
    add(place, "look")
    folder = place.project / ".clio" / "schedules"
    folder.mkdir(parents=True)
    shutil.copytree(place.home / ".clio" / "schedules" / "1", folder / "7")
    (place.project / ".clio" / "config.yaml").write_text("schedules:\n  - hourly\n")
    before = table_of(place).read_bytes()
    # An unknown setting is an error, as everywhere; no command reads the folder.
    assert schedule(place, "list").returncode != 0
    (place.project / ".clio" / "config.yaml").unlink()
    assert [one["id"] for one in listed(place)] == [1]
    assert table_of(place).read_bytes() == before


def test_a_relative_home_is_the_same_in_a_run(place: Place, server: ChatServer) -> None:
    home = place.project / "mine"
    add(place, "look", CLIO_HOME="mine")
    assert [one.id for one in list_schedules(home)] == [1]
    server.add(text("Seen."))
    assert [run.returncode for run in run_lines(place)] == [0]
    assert [job.state for job in list_jobs(home)] == ["done"] and jobs(place) == []


def test_no_secret_is_saved(place: Place) -> None:
    secret = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8x" * 2
    proxy = "http://me:hunter2hunter2@proxy.example:3128"
    added = add(place, f"use {secret}", OPENAI_API_KEY=secret, HTTPS_PROXY=proxy, LC_NOTE=secret)
    stored = (place.home / ".clio" / "schedules" / "1" / "schedule.json").read_text() + table_of(place).read_text()
    assert secret not in stored and "hunter2" not in stored and secret not in json.dumps(added)
    assert "test-model" in stored
    # Before anything is written it is reported that the key is in no file that a run can read.
    assert "OPENAI_API_KEY" in schedule(place, "add", "hourly", "x", "--print").stdout


def test_incognito_adds_nothing(place: Place) -> None:
    assert schedule(place, "add", "hourly", "x", "--yes", "--incognito").returncode != 0
    assert listed(place) == []


# systemd -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def systemd(place: Place) -> Place:
    set_mode(place, "systemctl", "")
    return place


def units_of(place: Place) -> Path:
    return place.home / ".config" / "systemd" / "user"


def calls_of(place: Place) -> str:
    return (place.home.parent / "systemctl-data" / "calls").read_text()


def test_a_timer_is_written_and_started_if_systemd_runs_timers(systemd: Place) -> None:
    task = '50% of $HOME; "it\'s" done\n[Service]\nExecStart=/bin/false\\'
    printed = schedule(systemd, "add", "weekdays 9:00", task, "--print").stdout
    assert not units_of(systemd).exists()
    assert add(systemd, task, when="weekdays 9:00")["service"] == "systemd"
    service, timer = (units_of(systemd) / f"clio-schedule-1.{kind}" for kind in ("service", "timer"))
    assert service.read_text() in printed and timer.read_text() in printed
    assert service.read_text().count("[Service]\n") == 1 and service.read_text().count("\nExecStart=") == 1
    assert "OnCalendar=Mon,Tue,Wed,Thu,Fri *-*-* 09:00:00\n" in timer.read_text()
    assert "Persistent=true\n" in timer.read_text()
    assert "--user daemon-reload" in calls_of(systemd) and "--user enable --now clio-schedule-1.timer" in calls_of(
        systemd
    )
    assert not table_of(systemd).exists()
    assert listed(systemd)[0]["problems"] == []
    # Systemd saves the time of the last run in its own file.
    stamp = systemd.home / ".local/share/systemd/timers/stamp-clio-schedule-1.timer"
    stamp.parent.mkdir(parents=True)
    stamp.touch()
    assert schedule(systemd, "remove", "1").returncode == 0
    assert list(units_of(systemd).rglob("*")) == [] and not stamp.exists()
    assert list((systemd.home / ".clio" / "schedules").iterdir()) == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    place = make_place(tmp_path / '100% $HOME\'s "größe" a=b')
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(FAKE_SYSTEMCTL.format(folder=tmp_path), encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    task = "50% $HOME %h\n[Service]\nExecStart=/bin/false\\"
    done = clio(place, "schedule", "add", "0 9 1 * 5", task, "--yes", PATH=path)
    assert done.returncode == 0, done
    units = sorted(units_of(place).glob("clio-schedule-1.*"))
    assert len(units) == 2
    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", *map(str, units)],
        env={"PATH": os.environ["PATH"], "HOME": str(place.home), "XDG_RUNTIME_DIR": str(tmp_path), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    own = [line for line in (checked.stdout + checked.stderr).splitlines() if "clio-schedule" in line]
    assert own == []


def test_a_refusal_by_systemd_leaves_nothing(systemd: Place) -> None:
    others = units_of(systemd) / "timers.target.wants"
    others.mkdir(parents=True)
    (others / "mine.timer").touch()
    set_mode(systemd, "systemctl", "refuses")
    failed = schedule(systemd, "add", "hourly", "look", "--yes")
    assert failed.returncode == 1 and "bus" in failed.stderr
    assert [path.name for path in units_of(systemd).rglob("*") if path.is_file()] == ["mine.timer"]
    assert listed(systemd) == []


def test_cron_is_used_on_request_and_without_systemd(systemd: Place) -> None:
    assert add(systemd, "look", "--with", "cron")["service"] == "cron"
    set_mode(systemd, "systemctl", "off")
    assert add(systemd, "look")["service"] == "cron"
    assert schedule(systemd, "add", "hourly", "x", "--with", "systemd", "--yes").returncode != 0
    assert schedule(systemd, "add", "hourly", "x", "--with", "at", "--yes").returncode == 2


def test_a_timer_without_systemd_is_named_and_can_be_removed(systemd: Place) -> None:
    add(systemd, "look")
    set_mode(systemd, "systemctl", "off")
    (problem,) = listed(systemd)[0]["problems"]
    assert "systemd" in problem
    (systemd.home.parent / "bin" / "systemctl").unlink()
    env: dict[str, Any] = {"PATH": str(systemd.home.parent / "bin")}
    assert clio(systemd, "schedule", "remove", "1", **env).returncode == 0
    assert list(units_of(systemd).rglob("*")) == []


def test_units_of_another_home_keep_their_numbers(systemd: Place) -> None:
    add(systemd, "look")
    other = str(systemd.home.parent / "other-home")
    assert add(systemd, "look", CLIO_HOME=other)["id"] == 2
    assert [one["id"] for one in listed(systemd)] == [1]
    # Each removes only its own.
    assert schedule(systemd, "remove", "2").returncode != 0
    assert len(list(units_of(systemd).glob("clio-schedule-2.*"))) == 2
    assert schedule(systemd, "remove", "2", CLIO_HOME=other).returncode == 0
    assert list(units_of(systemd).glob("clio-schedule-2.*")) == []


# The real crontab ----------------------------------------------------------------------------------------------------


def explain_no_real_crontab() -> str:
    """Return why the real program cannot be used, "" if it can: its tables are then in a mount only the test sees."""
    if not shutil.which("crontab") or not shutil.which("unshare"):
        return "crontab is not installed"
    tried = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /var/spool/cron"], capture_output=True, check=False
    )
    return "" if tried.returncode == 0 else "needs a mount of its own for the tables of cron"


def test_the_real_crontab_stores_and_returns_every_line(place: Place) -> None:
    if reason := explain_no_real_crontab():
        pytest.skip(reason)
    (place.home.parent / "bin" / "crontab").unlink()
    folder = place.home.parent
    mine = OTHERS.replace(b"0 0 * * * clio", b"# clio")
    (folder / "mine").write_bytes(mine)
    command = f"{sys.executable} -m clio schedule"
    script = f"""
set -e
mount -t tmpfs none /var/spool/cron
mkdir -p -m 1730 /var/spool/cron/crontabs
chgrp crontab /var/spool/cron/crontabs || true
{command} add "0 9 * * 1-5" "100% 'quoted' größe" --yes --with cron
{command} remove 1
! crontab -l
crontab mine
{command} add hourly "first" --yes --with cron
{command} add "weekdays 9:00" "second" --yes --with cron
tail -n +4 /var/spool/cron/crontabs/* > with-two
{command} list --json > listed
{command} remove 1
{command} remove 2
tail -n +4 /var/spool/cron/crontabs/* > after
"""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        cwd=folder,
        env=place.env(**with_bin(place)),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done
    assert (folder / "after").read_bytes() == mine
    assert (folder / "with-two").read_bytes().startswith(mine)
    assert [one["problems"] for one in json.loads((folder / "listed").read_text())] == [[], []]
