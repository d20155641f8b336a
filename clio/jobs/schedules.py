"""Scheduled runs: what each is to do, and the crontab line or systemd timer that starts it.

A schedule has a folder `~/.clio/schedules/N` with its task and limits. The crontab and the units name only clio and
this folder, so that no text of a task is ever read by a shell, cron or systemd, and nothing that a project contains
can become a schedule. `clio __schedule FOLDER N` then starts a job; see `clio.entrypoints.job_process`.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from clio import __file__ as clio_file
from clio.config.schema import ENVIRONMENT_VARIABLES
from clio.errors import ClioError, UserError
from clio.jobs.job_store import JobRecord
from clio.jobs.schedule_times import ScheduleTimes, parse_schedule_times
from clio.storage.files import make_folder, read_regular, write_atomic
from clio.storage.locks import FileLock, error_cause
from clio.text.formatting import truncate
from clio.text.json_data import decode_json
from clio.text.translation import tr

SCHEDULES_FOLDER = "schedules"
_RECORD_NAME, _SKIPPED_NAME, _LOCK_NAME, _SAVED_TABLE_NAME = "schedule.json", "skipped.json", "lock", "crontab.saved"
_PROGRAM_LIMIT_S = 30.0
_READ_ATTEMPTS = 20
_TITLE_CHARS = 60

ServiceName = Literal["cron", "systemd"]


class FolderPlace(Struct, frozen=True, kw_only=True):
    """Where a folder really is, with its links resolved, and the user id of its owner; -1 on Windows."""

    real_path: str
    owner: int


def find_place(folder: str) -> FolderPlace:
    """Return the place of a folder. Raises OSError."""
    path = Path(folder).resolve()
    return FolderPlace(real_path=str(path), owner=path.stat().st_uid if os.name != "nt" else -1)


class Schedule(Struct, frozen=True, kw_only=True):
    """A task that is started at set times. Stored without secrets.

    Attributes:
        times: the five fields of a crontab line. when: the same as the user wrote it.
        service: what starts it.
        job: what each run is to do; its number and time are those of the run.
        program: the command that starts Python. package: the folder of the clio that it is to find.
        env: variables of its runs, because cron and systemd do not know those of a terminal.
        place: where its folder really is, and whose; None where it was added before this was stored.
    """

    id: int
    times: str
    when: str
    service: ServiceName
    job: JobRecord
    program: str
    package: str
    env: dict[str, str] = {}
    place: FolderPlace | None = None

    @property
    def title(self) -> str:
        """Its number and the beginning of its task, on one line without control characters."""
        task = " ".join("".join(char if char.isprintable() else " " for char in self.job.plain_task).split())
        return f"clio schedule {self.id}: {truncate(task, _TITLE_CHARS)}"

    def parse_times(self) -> ScheduleTimes:
        """Return its times. Raises UserError if the record was changed by hand."""
        return parse_schedule_times(self.times)


def explain_other_place(schedule: Schedule, opened: str = "") -> str:
    """Why the folder of a schedule is not the one it was added for, as a sentence; "" if it is. Raises OSError.

    In a folder that others can write to, someone could put another one in its place, which a run would then obey.

    opened: a path of the folder that a run has entered, if it has.
    """
    folder, known = schedule.job.folder, schedule.place
    if known is None or (now := find_place(opened or folder)) == known:
        return ""
    if now.real_path != known.real_path:
        return tr("{folder} is now a link to {path}", folder=folder, path=now.real_path)
    return tr("{folder} now belongs to another user", folder=folder)


class SkippedRun(Struct, frozen=True, kw_only=True):
    """The last run that was left out because the run before it, `job`, had not ended. at: seconds since the epoch."""

    at: float
    job: int


class WrittenText(Struct, frozen=True, kw_only=True):
    """A text that a schedule needs outside of clio's folder. place: a file, or "crontab"."""

    place: str
    text: str


class TimerService(Protocol):
    """What starts programs at set times."""

    name: ServiceName

    def render(self, schedule: Schedule) -> list[WrittenText]:
        """Return exactly what `install` writes. Raises UserError if a path cannot be written there."""
        ...

    def install(self, schedule: Schedule) -> None:
        """Have the schedule started from now on. Raises ClioError or OSError; nothing is changed then."""
        ...

    def remove(self, number: int) -> bool:
        """Remove everything that was written for a schedule, and return whether there was anything."""
        ...

    def list_installed(self) -> dict[int, str]:
        """Return the schedules of this home that it starts, with their times as cron writes them; "" if unknown."""
        ...

    def list_taken(self) -> set[int]:
        """Return the numbers that a new schedule cannot have, besides those of schedules of this home."""
        ...


def get_schedules_folder(home: Path) -> Path:
    """Return the folder that has all schedules of a user."""
    return home / SCHEDULES_FOLDER


def list_schedules(home: Path) -> list[Schedule]:
    """Return all schedules, oldest first."""
    try:
        names = [path for path in get_schedules_folder(home).iterdir() if path.name.isdecimal()]
    except OSError:
        return []
    found = map(read_schedule, sorted(names, key=lambda path: int(path.name)))
    return [schedule for schedule in found if schedule is not None]


def read_schedule(folder: Path) -> Schedule | None:
    """Return the schedule of a folder; None if it has none that this version can read."""
    try:
        return decode_json(read_regular(folder / _RECORD_NAME), type=Schedule)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def suggest_number(home: Path, service: TimerService) -> int:
    """Return the number that the next schedule gets, unless another clio adds one before. Raises ClioError."""
    taken = service.list_taken()
    with contextlib.suppress(FileNotFoundError):
        taken |= {int(path.name) for path in get_schedules_folder(home).iterdir() if path.name.isdecimal()}
    return max(taken, default=0) + 1


def add_schedule(home: Path, schedule: Schedule, service: TimerService) -> None:
    """Store a schedule and have it started from now on. Raises ClioError or OSError; nothing is changed then.

    UserError: if another clio took its number since `suggest_number`.
    """
    make_folder(get_schedules_folder(home))
    with _lock_schedules(home):
        folder = get_schedules_folder(home) / str(schedule.id)
        if schedule.id in service.list_taken():
            raise _make_number_error(schedule.id)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            raise _make_number_error(schedule.id) from None
        try:
            write_atomic(folder / _RECORD_NAME, msgspec.json.encode(schedule))
            service.install(schedule)
        except BaseException:
            _delete_folder(folder)
            raise


def remove_schedule(home: Path, number: int, services: Mapping[ServiceName, TimerService]) -> bool:
    """Remove a schedule and what starts it; return whether there was anything. Raises ClioError, OSError."""
    folder = get_schedules_folder(home) / str(number)
    make_folder(get_schedules_folder(home))
    with _lock_schedules(home):
        # What starts it first: a schedule without it does nothing, but a line without its folder fails at each time.
        was_installed = [service.remove(number) for service in services.values()]
        exists = folder.is_dir()
        if exists:
            _delete_folder(folder)
    return exists or any(was_installed)


def _lock_schedules(home: Path) -> FileLock:
    return FileLock(get_schedules_folder(home) / _LOCK_NAME)


def _delete_folder(folder: Path) -> None:
    for name in (_RECORD_NAME, _SKIPPED_NAME):
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
    folder.rmdir()


def _make_number_error(number: int) -> UserError:
    return UserError(tr("another clio has just added a schedule {number}; run the command again", number=number))


def note_skipped_run(folder: Path, skipped: SkippedRun) -> None:
    """Store that a run was left out. Raises OSError."""
    write_atomic(folder / _SKIPPED_NAME, msgspec.json.encode(skipped))


def read_skipped_run(home: Path, number: int) -> SkippedRun | None:
    """Return the last run of a schedule that was left out; None if there was none."""
    try:
        path = get_schedules_folder(home) / str(number) / _SKIPPED_NAME
        return decode_json(read_regular(path), type=SkippedRun)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


_KEPT_VARIABLES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ CLIO_HOME VIRTUAL_ENV XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME
    XDG_STATE_HOME SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
    """.split()
)


def choose_environment(home: Path, env: Mapping[str, str], redact: Callable[[str], str]) -> dict[str, str]:
    """Return the variables that a scheduled run needs: paths, language, proxies, settings of clio; never a secret."""
    settings = {variable.name for variable in ENVIRONMENT_VARIABLES if variable.field != "api_key"}
    # A relative path would mean another folder in the run.
    env = {**env, "CLIO_HOME": str(home.absolute())} if env.get("CLIO_HOME", "").strip() else env
    return {
        name: value
        for name, value in sorted(env.items())
        if (name.upper() in _KEPT_VARIABLES or name in settings or name.startswith("LC_"))
        and redact(value) == value
        and not ("proxy" in name.lower() and "@" in value)  # user and password
    }


def find_program() -> tuple[str, str]:
    """Return the Python that runs this clio, and the folder of its package. Raises UserError if there is none."""
    if not sys.executable:
        raise UserError(tr("the program that runs clio is not known, so that nothing can start it later"))
    return sys.executable, str(Path(clio_file).parent)


def list_words(schedule: Schedule, home: Path) -> list[str]:
    """Return the command of a schedule, word by word."""
    # -P: a module in the folder in which it begins must not be imported instead of clio's own.
    folder = str(get_schedules_folder(home).absolute())
    return [schedule.program, "-P", "-m", "clio", "__schedule", folder, str(schedule.id)]


def open_services(home: Path, env: Mapping[str, str]) -> dict[ServiceName, TimerService]:
    """Return what may start schedules of this home. The files of systemd's timers can be removed without it."""
    found: dict[ServiceName, TimerService] = {}
    if os.name != "nt":
        found["systemd"] = SystemdTimers(home, env)
    if find_tool("crontab", env):
        found["cron"] = Crontab(home, env)
    return found


def find_tool(name: str, env: Mapping[str, str]) -> str | None:
    """Return the path of a program; None if it is not installed. Nothing is searched on Windows."""
    return None if os.name == "nt" else shutil.which(name, path=env.get("PATH"))


def choose_service(services: Mapping[ServiceName, TimerService], wanted: ServiceName | None) -> TimerService:
    """Return the wanted service, or else systemd if its user timers run, or cron. Raises UserError if there is none."""
    if wanted is not None:
        service = services.get(wanted)
        if isinstance(service, SystemdTimers) and not service.is_running():
            raise UserError(tr("no systemd runs timers for you here; --with cron uses cron"))
        if service is None:
            raise UserError(tr("{place} is not available here", place=_name_place(wanted)))
        return service
    systemd = services.get("systemd")
    if isinstance(systemd, SystemdTimers) and systemd.is_running():
        return systemd
    if "cron" in services:
        return services["cron"]
    raise UserError(
        tr("nothing here starts programs at set times: install cron, or log in where systemd runs user timers")
    )


def _run_program(
    words: list[str], env: Mapping[str, str], data: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a program of the system and return what it printed, in English. Raises ClioError."""
    try:
        return subprocess.run(
            words,
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            env={**env, "LC_ALL": "C"},
            timeout=_PROGRAM_LIMIT_S,
            check=False,
        )
    except OSError as error:
        raise ClioError(tr("{program} cannot be run: {error}", program=words[0], error=error_cause(error))) from None
    except subprocess.TimeoutExpired:
        raise ClioError(
            tr("{program} did not end within {limit_s:g} seconds", program=words[0], limit_s=_PROGRAM_LIMIT_S)
        ) from None


def _describe_failure(done: subprocess.CompletedProcess[bytes]) -> str:
    printed = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
    return truncate(printed, 300) or tr("exit code {code}", code=done.returncode)


# A missing table is no error. busybox names the missing file instead.
_NO_TABLE = re.compile(r"no crontab for|can't open .*no such file", re.IGNORECASE)
_PLAIN_WORD = re.compile(r"[\w@+=:,./-]+", re.ASCII)


class Crontab:
    """The user's crontab, read and written with the program `crontab`; every line of others stays byte for byte."""

    name: ServiceName = "cron"

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self._home = home
        self._env = env
        folder = quote_for_cron(str(get_schedules_folder(home).absolute()))
        command = b" -m clio __schedule " + re.escape(os.fsencode(folder))
        self._own_line = re.compile(rb"(?P<times>.*)" + command + rb" (?P<number>\d+)[ \t\r]*\n?", re.DOTALL)

    def render(self, schedule: Schedule) -> list[WrittenText]:
        """Return the lines: a comment, and the line that starts it."""
        command = " ".join(map(quote_for_cron, list_words(schedule, self._home)))
        return [WrittenText(place="crontab", text=f"# {schedule.title}\n{schedule.times} {command}\n")]

    def install(self, schedule: Schedule) -> None:
        """Add the lines at the end of the crontab."""
        (written,) = self.render(schedule)
        old = self._read()
        end = b"" if not old or old.endswith(b"\n") else b"\n"
        self._write(old, old + end + os.fsencode(written.text))

    def remove(self, number: int) -> bool:
        """Remove the lines of a schedule; a crontab that has no line left is removed."""
        old = self._read()
        rest = self._without(old, number)
        if rest == old:
            return False
        self._write(old, rest)
        return True

    def list_installed(self) -> dict[int, str]:
        """Return the schedules in the crontab; lines that are commented out are none."""
        found: dict[int, str] = {}
        for line in _split_lines(self._read()):
            match = self._own_line.fullmatch(line)
            if match is not None and not line.lstrip().startswith(b"#"):
                fields = match["times"].decode("utf-8", "replace").split()
                count = 1 if fields[:1] and fields[0].startswith("@") else 5
                found[int(match["number"])] = " ".join(fields[:count])
        return found

    def list_taken(self) -> set[int]:
        """Return the numbers of all lines of this home, also of those that are commented out."""
        matches = map(self._own_line.fullmatch, _split_lines(self._read()))
        return {int(match["number"]) for match in matches if match is not None}

    def _without(self, table: bytes, number: int) -> bytes:
        lines = _split_lines(table)
        title = f"# clio schedule {number}:".encode()
        kept: list[bytes] = []
        for line in lines:
            match = self._own_line.fullmatch(line)
            if match is None or int(match["number"]) != number:
                kept.append(line)
            elif kept and kept[-1].startswith(title):
                kept.pop()
        return b"".join(kept)

    def _read(self) -> bytes:
        for _ in range(_READ_ATTEMPTS):
            done = _run_program(["crontab", "-l"], self._env)
            if done.returncode and _NO_TABLE.search(done.stderr.decode("utf-8", "replace")):
                return b""
            if done.returncode:
                raise ClioError(tr("your crontab cannot be read: {reason}", reason=_describe_failure(done)))
            if b"\\r" not in done.stdout and b"\\b" not in done.stdout:
                return done.stdout
            if (table := self._read_exactly(done.stdout)) is not None:
                return table
        raise ClioError(tr("your crontab changes while clio reads it; run the command again"))

    def _read_exactly(self, shown: bytes) -> bytes | None:
        """Return the table of which `crontab -l` shows this; None if it was changed meanwhile.

        Debian's `-l` shows a carriage return as a backslash and an r, so that the two cannot be told apart. An editor
        gets the table as it is; this one copies it and changes nothing.
        """
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "table")
            editor = f"cat > {shlex.quote(str(copy))} <"
            done = _run_program(["crontab", "-e"], {**self._env, "VISUAL": editor, "EDITOR": editor})
            try:
                table = copy.read_bytes()
            except OSError:
                raise ClioError(
                    tr("your crontab cannot be read exactly: {reason}", reason=_describe_failure(done))
                ) from None
        is_same = table == shown or table.replace(b"\r", b"\\r").replace(b"\b", b"\\b") == shown
        return table if is_same else None

    def _write(self, old: bytes, new: bytes) -> None:
        """Replace the table. If the program fails, or stores something else, the old table is there again."""
        saved = get_schedules_folder(self._home) / _SAVED_TABLE_NAME
        write_atomic(saved, old)
        reason = self._store(new)
        if reason and self._read_or_none() != old:
            self._store(old)
            if self._read_or_none() != old:
                raise ClioError(
                    tr(
                        "crontab failed and your table may be damaged: {reason}; the table from before is in {saved}",
                        reason=reason,
                        saved=saved,
                    )
                )
        saved.unlink()
        if reason:
            raise ClioError(tr("your crontab was not changed: {reason}", reason=reason))

    def _store(self, table: bytes) -> str:
        """Store a table and return why it is not stored; "" if it is."""
        words = ["crontab", "-"] if table else ["crontab", "-r"]
        try:
            done = _run_program(words, self._env, table)
        except ClioError as error:
            return str(error)
        if done.returncode:
            return _describe_failure(done)
        stored = self._read_or_none()
        # Some versions print a heading of their own before the table.
        is_stored = stored is not None and (stored == table or (bool(table) and stored.endswith(b"\n" + table)))
        return "" if is_stored else tr("the program crontab has stored something else")

    def _read_or_none(self) -> bytes | None:
        try:
            return self._read()
        except ClioError:
            return None


def _split_lines(table: bytes) -> list[bytes]:
    """Return the lines with their ends; only a newline ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+", table)


def quote_for_cron(word: str) -> str:
    """Return a word of a crontab line as cron and then its shell read it. Raises UserError for one that has no form.

    `%` ends the command for cron unless a backslash precedes it; the shell removes one that cron has left.
    """
    if not word.isprintable() or "\\" in word:
        raise UserError(tr("the path {word!r} cannot be written to a crontab", word=word))
    if _PLAIN_WORD.fullmatch(word):
        return word
    return shlex.quote(word).replace("%", "'\\%'")


class SystemdTimers:
    """Timers of the user's own systemd, in files of ~/.config/systemd/user."""

    name: ServiceName = "systemd"

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self._home = home
        self._env = env
        user_home = Path(env.get("HOME") or Path.home())
        self._folder = Path(env.get("XDG_CONFIG_HOME") or user_home / ".config") / "systemd" / "user"
        self._stamps = Path(env.get("XDG_DATA_HOME") or user_home / ".local" / "share") / "systemd" / "timers"

    def is_running(self) -> bool:
        """Whether this user's systemd runs and starts timers."""
        try:
            done = _run_program(["systemctl", "--user", "is-active", "timers.target"], self._env)
        except ClioError:
            return False
        return done.returncode == 0

    def render(self, schedule: Schedule) -> list[WrittenText]:
        """Return a service that runs once, and the timer that starts it."""
        words = list_words(schedule, self._home)
        # With a colon nothing that looks like a variable is replaced; before systemd 244 there was none.
        prefix = ":" if any("$" in word for word in words) else ""
        command = prefix + " ".join(map(_quote_for_systemd, words))
        title = schedule.title.replace("%", "%%").rstrip("\\")
        events = "".join(f"OnCalendar={event}\n" for event in schedule.parse_times().list_calendar_events())
        service = f"[Unit]\nDescription={title}\n\n[Service]\nExecStart={command}\n"
        timer = (
            f"[Unit]\nDescription={title}\n\n[Timer]\n{events}Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
        )
        texts = {f"{_name_unit(schedule.id)}.service": service, f"{_name_unit(schedule.id)}.timer": timer}
        return [WrittenText(place=str(self._folder / name), text=text) for name, text in texts.items()]

    def install(self, schedule: Schedule) -> None:
        """Write the units and start the timer."""
        texts = self.render(schedule)
        make_folder(self._folder)
        try:
            for written in texts:
                write_atomic(Path(written.place), os.fsencode(written.text))
            self._call("daemon-reload")
            self._call("enable", "--now", f"{_name_unit(schedule.id)}.timer")
        except BaseException:
            self._delete(schedule.id)
            raise

    def remove(self, number: int) -> bool:
        """Stop the timer and delete its files; a run that works goes on."""
        if not self._is_own(number):
            return False
        self._delete(number)
        return True

    def list_installed(self) -> dict[int, str]:
        """Return the schedules whose timer is enabled."""
        wanted = self._folder / "timers.target.wants"
        return {
            number: ""
            for number in sorted(self.list_taken())
            if self._is_own(number) and os.path.lexists(wanted / f"{_name_unit(number)}.timer")
        }

    def list_taken(self) -> set[int]:
        """Return the numbers of all units, also of those of another home."""
        numbers = (path.stem.rpartition("-")[2] for path in self._folder.glob(f"{_name_unit('*')}.*"))
        return {int(number) for number in numbers if number.isdecimal()}

    def _is_own(self, number: int) -> bool:
        """Whether the service of this number starts a schedule of this home, and not of another."""
        try:
            text = os.fsdecode(read_regular(self._folder / f"{_name_unit(number)}.service", 100_000))
        except OSError:
            return False
        folder = _quote_for_systemd(str(get_schedules_folder(self._home).absolute()))
        return f" __schedule {folder} {number}\n" in text

    def _delete(self, number: int) -> None:
        timer = f"{_name_unit(number)}.timer"
        # It may not run, or not know the timer; then its files are all there is.
        with contextlib.suppress(ClioError):
            self._call("disable", "--now", timer)
        for path in (
            self._folder / "timers.target.wants" / timer,
            self._folder / timer,
            self._folder / f"{_name_unit(number)}.service",
            self._stamps / f"stamp-{timer}",  # the time of the last run, for Persistent=true
        ):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        with contextlib.suppress(OSError):  # it has timers of others, or has never been
            (self._folder / "timers.target.wants").rmdir()
        for words in (("daemon-reload",), ("reset-failed", f"{_name_unit(number)}.service")):
            with contextlib.suppress(ClioError):
                self._call(*words)

    def _call(self, *words: str) -> None:
        done = _run_program(["systemctl", "--user", *words], self._env)
        if done.returncode:
            raise ClioError(
                tr("systemctl {words} failed: {reason}", words=" ".join(words), reason=_describe_failure(done))
            )


def _name_unit(number: int | str) -> str:
    return f"clio-schedule-{number}"


def _quote_for_systemd(word: str) -> str:
    """Return a word of `ExecStart=`. Raises UserError for one that has no form."""
    if not word.isprintable():
        raise UserError(tr("the path {word!r} cannot be written to a systemd unit", word=word))
    if _PLAIN_WORD.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


class ScheduleProblem(Struct, frozen=True, kw_only=True):
    """Why a schedule does not run as it should, and what to do."""

    number: int
    text: str
    todo: str


def find_problems(home: Path, env: Mapping[str, str]) -> list[ScheduleProblem]:
    """Return what is wrong with schedules: a clio or project that is gone, lines that are missing or left over."""
    services = open_services(home, env)
    schedules = list_schedules(home)
    if not schedules and not get_schedules_folder(home).is_dir():
        return []
    installed: dict[ServiceName, dict[int, str]] = {}
    problems: list[ScheduleProblem] = []
    for name, service in services.items():
        try:
            installed[name] = service.list_installed()
        except ClioError as error:
            numbers = [schedule.id for schedule in schedules if schedule.service == name]
            problems += [ScheduleProblem(number=number, text=str(error), todo="") for number in numbers]
    if "systemd" in installed and any(schedule.service == "systemd" for schedule in schedules):
        systemd = services["systemd"]
        if isinstance(systemd, SystemdTimers) and not systemd.is_running():
            del services["systemd"]
    for schedule in schedules:
        problems += _find_problems_of(schedule, installed, services)
    known = {(schedule.service, schedule.id) for schedule in schedules}
    for name, numbers in installed.items():
        for number in numbers:
            if (name, number) not in known:
                text = tr("{place} starts it, but its settings are gone", place=_name_place(name))
                problems.append(ScheduleProblem(number=number, text=text, todo=_tell_to_remove(number)))
    return problems


def _find_problems_of(
    schedule: Schedule,
    installed: Mapping[ServiceName, Mapping[int, str]],
    services: Mapping[ServiceName, TimerService],
) -> Iterator[ScheduleProblem]:
    number = schedule.id
    add_again = tr("remove it with `clio schedule remove {number}` and add it again", number=number)
    if not os.access(schedule.program, os.X_OK) or not Path(schedule.package, "__main__.py").is_file():
        text = tr("clio is no longer where it was: {program}", program=schedule.program)
        yield ScheduleProblem(number=number, text=text, todo=add_again)
    if not Path(schedule.job.folder).is_dir():
        text = tr("its folder is gone: {folder}", folder=schedule.job.folder)
        yield ScheduleProblem(number=number, text=text, todo=_tell_to_remove(number))
    elif text := explain_other_place(schedule):
        yield ScheduleProblem(number=number, text=text, todo=add_again)
    if schedule.service not in services:
        text = tr("{place} is not available here", place=_name_place(schedule.service))
        yield ScheduleProblem(number=number, text=text, todo=add_again)
    elif schedule.service in installed:
        times = installed[schedule.service].get(number)
        if times is None:
            text = tr("{place} no longer starts it", place=_name_place(schedule.service))
            yield ScheduleProblem(number=number, text=text, todo=add_again)
        elif times and times != schedule.times:
            text = tr("{place} has another time ({times})", place=_name_place(schedule.service), times=times)
            yield ScheduleProblem(number=number, text=text, todo=add_again)


def _name_place(name: ServiceName) -> str:
    return tr("your crontab") if name == "cron" else "systemd"


def _tell_to_remove(number: int) -> str:
    return tr("`clio schedule remove {number}` removes it", number=number)
