"""/schedule: tasks that cron or systemd starts at set times, as jobs."""

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clio.commands.arguments import parse_options
from clio.commands.command import Command, CommandContext, CommandResult, Confirm, Suggestion, Table, make_refusal
from clio.commands.job_commands import START_OPTIONS, ask_about_wider_mode, make_job_record, tell_to_configure_mode
from clio.errors import ConfigError, UsageError, UserError
from clio.installation import find_installation
from clio.jobs.job_store import STATE_NAMES, Job, list_jobs
from clio.providers.lesson_book import LessonBook
from clio.providers.profiles import find_preset
from clio.providers.registry import DEFAULT_KEY_VARIABLE, make_provider
from clio.text.formatting import MICROS_PER_DOLLAR, format_money, truncate_line
from clio.text.translation import mark, tr

if TYPE_CHECKING:
    from clio.jobs.schedules import Schedule, ScheduleProblem, ServiceName, TimerService, WrittenText

_TASK_CHARS = 120
_NEXT_SHOWN = 3
_CLOCK = "%Y-%m-%d %H:%M"
_SHORT_CLOCK = "%m-%d %H:%M"
_WHEN_CHARS = 24
_CRON_NAMES = ("cron", "crond")


def list_all_schedules(ctx: CommandContext, argument: str) -> CommandResult:
    """List the schedules, with what is wrong with them."""
    from clio.jobs.schedules import find_problems, list_schedules, read_skipped_run

    if argument:
        return make_refusal(tr("/schedule list takes no argument, not {argument!r}", argument=argument))
    home = ctx.loaded.home
    schedules = list_schedules(home)
    problems = find_problems(home, os.environ)
    if not schedules and not problems:
        return CommandResult(text=tr('No schedules. `/schedule add "weekdays 9:00" "TASK"` adds one.'), data=[])
    runs = _find_last_runs(list_jobs(home))
    notes = [_describe_problem(problem) for problem in problems]
    for schedule in schedules:
        if (skipped := read_skipped_run(home, schedule.id)) is not None:
            notes.append(
                tr(
                    "Schedule {number}: no run on {time}, because job {job} had not ended.",
                    number=schedule.id,
                    time=datetime.fromtimestamp(skipped.at).strftime(_SHORT_CLOCK),
                    job=skipped.job,
                )
            )
    stopped = {problem.number for problem in problems}
    rows = tuple(
        (
            str(schedule.id),
            truncate_line(schedule.when, _WHEN_CHARS),
            "" if schedule.id in stopped else _format_next(schedule, _SHORT_CLOCK),
            _describe_run(runs.get(schedule.id)),
            truncate_line(" ".join(schedule.job.plain_task.split()), _TASK_CHARS),
        )
        for schedule in schedules
    )
    columns = ("#", tr("when"), tr("next run"), tr("last run"), tr("task"))
    table = Table(columns=columns, rows=rows, wide_column=4, is_truncated=True) if rows else None
    data = [
        make_schedule_data(schedule, runs.get(schedule.id), [one for one in problems if one.number == schedule.id])
        for schedule in schedules
    ]
    return CommandResult(text="\n\n".join(notes), table=table, data=data)


def _find_last_runs(jobs: Sequence[Job]) -> dict[int, Job]:
    return {job.record.schedule: job for job in jobs if job.record.schedule}


def _describe_problem(problem: "ScheduleProblem") -> str:
    text = tr("Schedule {number}: {text}", number=problem.number, text=problem.text)
    return f"{text}; {problem.todo}." if problem.todo else f"{text}."


def _describe_run(job: Job | None) -> str:
    return "" if job is None else tr("job {id}, {state}", id=job.record.id, state=tr(STATE_NAMES[job.state]))


def _format_next(schedule: "Schedule", form: str = _CLOCK) -> str:
    try:
        found = schedule.parse_times().list_next(datetime.now(), 1)
    except UserError:
        return "–"
    return found[0].strftime(form) if found else "–"


def make_schedule_data(
    schedule: "Schedule", last: Job | None, problems: Sequence["ScheduleProblem"]
) -> dict[str, object]:
    """Return a schedule in JSON types."""
    return {
        "id": schedule.id,
        "times": schedule.times,
        "when": schedule.when,
        "service": schedule.service,
        "next": None if problems else _format_next(schedule),
        "task": schedule.job.plain_task,
        "folder": schedule.job.folder,
        "approve": schedule.job.approve,
        "max_cost": schedule.job.max_cost,
        "minutes": schedule.job.minutes,
        "last_job": last.record.id if last else None,
        "problems": [problem.text for problem in problems],
    }


def add_new_schedule(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what will be written, ask, and add a schedule of this project."""
    from clio.jobs.schedule_times import parse_schedule_times
    from clio.jobs.schedules import (
        Schedule,
        choose_environment,
        choose_service,
        find_place,
        find_program,
        open_services,
        suggest_number,
    )

    given = parse_options(argument, switches=("--yes", "--print"), valued=(*START_OPTIONS, "--with"))
    if len(given.words) != 2 or not given.words[1].strip():
        return make_refusal(tr('Write /schedule add "WHEN" "TASK", such as "weekdays 9:00" or "0 9 * * 1-5"'))
    when, task = given.words
    times = parse_schedule_times(when)
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing; start without --incognito."))
    home = ctx.loaded.home
    service = choose_service(open_services(home, os.environ), _parse_service(given.options.get("--with")))
    program, package = find_program()
    job = make_job_record(ctx, task.strip(), given.options.get)
    schedule = Schedule(
        id=suggest_number(home, service),
        times=times.cron,
        when=" ".join(when.split()),
        service=service.name,
        job=job,
        program=program,
        package=package,
        env=choose_environment(home, os.environ, lambda text: ctx.redactor.redact(text).text),
        place=find_place(job.folder),
    )
    texts = service.render(schedule)
    text = "\n\n".join([*_list_warnings(ctx, schedule), _introduce(schedule)])
    verbatim = "\n".join(_show_text(written) for written in texts)
    table = _describe_schedule(schedule, home)
    data = make_schedule_data(schedule, None, ()) | {
        "written": [{"place": written.place, "text": written.text} for written in texts]
    }
    if "--print" in given.options:
        return CommandResult(text=text, verbatim=verbatim, table=table, data=data)

    def add() -> CommandResult:
        return _add(ctx, schedule, service, data)

    wider = ask_about_wider_mode(ctx, schedule.job.approve)
    if "--yes" in given.options and wider is None:
        return add()
    question = tr("Add it?") if wider is None else f"{wider} {tr('Add it?')}"
    unasked = "" if wider is None else tell_to_configure_mode(schedule.job.approve)
    return CommandResult(
        text=text, verbatim=verbatim, table=table, follow_up=Confirm(question=question, then=add, unasked=unasked)
    )


def _add(ctx: CommandContext, schedule: "Schedule", service: "TimerService", data: dict[str, object]) -> CommandResult:
    from clio.jobs.schedules import add_schedule

    add_schedule(ctx.loaded.home, schedule, service)
    number = schedule.id
    return CommandResult(
        text=tr(
            "Added schedule {number}; its next run is on {next}. `/schedule list` shows it, "
            "`/schedule remove {number}` removes it.",
            number=number,
            next=_format_next(schedule),
        ),
        data=data,
    )


def _parse_service(wanted: str | None) -> "ServiceName | None":
    match wanted:
        case None | "cron" | "systemd":
            return wanted
        case _:
            raise UsageError(tr("--with must be cron or systemd, not {wanted!r}", wanted=wanted))


def _introduce(schedule: "Schedule") -> str:
    if schedule.service == "cron":
        return tr("Schedule {number} adds these lines to your crontab:", number=schedule.id)
    return tr("Schedule {number} writes these files, and starts the timer:", number=schedule.id)


def _show_text(written: "WrittenText") -> str:
    return written.text if written.place == "crontab" else f"{written.place}\n\n{written.text}"


def _describe_schedule(schedule: "Schedule", home: Path) -> Table:
    from clio.jobs.schedules import get_schedules_folder

    job = schedule.job
    following = schedule.parse_times().list_next(datetime.now(), _NEXT_SHOWN)
    money = format_money(round(job.max_cost * MICROS_PER_DOLLAR))
    asks = tr("waits for you") if job.on_question == "wait" else tr("is refused")
    rows = (
        (tr("task"), job.plain_task),
        (tr("folder"), job.folder),
        (tr("next runs"), ", ".join(time.strftime(_CLOCK) for time in following)),
        (
            tr("approval mode"),
            tr("{mode}; what needs approval {asks}", mode=job.approve, asks=asks),
        ),
        (tr("limits"), tr("{money} and {minutes:g} minutes for each run", money=money, minutes=job.minutes)),
        (tr("missed runs"), _describe_missed_runs(schedule)),
        (tr("variables"), ", ".join(schedule.env)),
        (tr("stored in"), str(get_schedules_folder(home) / str(schedule.id))),
    )
    return Table(columns=("", ""), rows=rows, wide_column=1)


def _describe_missed_runs(schedule: "Schedule") -> str:
    if schedule.service == "cron":
        return tr("left out: cron starts nothing for times at which the computer was off")
    return tr("one run follows as soon as the computer is on and you are logged in again")


def _list_warnings(ctx: CommandContext, schedule: "Schedule") -> Iterable[str]:
    """Yield what may keep the runs from working."""
    if schedule.service == "cron" and not _may_cron_run():
        yield tr("No cron service seems to run here; the lines have no effect until one does.")
    if schedule.service == "systemd" and not _lingers():
        yield tr("It runs only while you are logged in; `loginctl enable-linger` changes that.")
    if os.environ.get("TZ"):
        yield tr("The times are those of the computer's time zone, not of the variable TZ.")
    if find_installation().installer == "uvx":
        yield tr("`uvx` may delete this clio from its cache; install it with `uv tool install` for scheduled runs.")
    if source := _find_lost_key(ctx, schedule):
        yield tr(
            "The API key is only in the variable {source} of this terminal, which scheduled runs do not have: "
            "`clio auth login` stores it in the keyring, or set `api_key_command`.",
            source=source,
        )


def _find_lost_key(ctx: CommandContext, schedule: "Schedule") -> str:
    """Return the variable with the API key if a scheduled run cannot find the key; "" otherwise."""
    config = ctx.config
    if config.api_key_command:
        return ""
    if config.api_key:
        return ctx.loaded.variables.get("api_key", "")
    try:
        preset = find_preset(make_provider(config, os.environ, book=LessonBook(ctx.loaded.home)).name)
    except ConfigError:
        return ""  # no model is configured; the first run says so
    if preset is None:
        return DEFAULT_KEY_VARIABLE if os.environ.get(DEFAULT_KEY_VARIABLE, "").strip() else ""
    variable, key = preset.find_key(os.environ)
    return variable if key else ""


def _may_cron_run() -> bool:
    """Whether a cron service runs, or cannot be seen."""
    processes = Path("/proc")
    if not (processes / "self" / "comm").exists():
        return True
    for path in processes.glob("[0-9]*/comm"):
        try:
            name = path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue  # it has just ended, or belongs to another user
        if name in _CRON_NAMES:
            return True
    return False


def _lingers() -> bool:
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or ""
    return bool(user) and (Path("/var/lib/systemd/linger") / user).exists()


def remove_one_schedule(ctx: CommandContext, argument: str) -> CommandResult:
    """Remove a schedule and everything that was written for it."""
    from clio.jobs.schedules import open_services, remove_schedule

    word = argument.strip().removeprefix("#")
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        raise UsageError(tr("Write /schedule remove N; /schedule list shows the numbers"))
    number, home = int(word), ctx.loaded.home
    if not remove_schedule(home, number, open_services(home, os.environ)):
        raise UserError(tr("there is no schedule {number}; /schedule list shows them", number=number))
    active = [job.record.id for job in list_jobs(home) if job.record.schedule == number and job.is_active]
    text = tr("Removed schedule {number}; nothing starts it any more.", number=number)
    if active:
        text += " " + tr("Job {id} of it goes on; `/jobs stop {id}` ends it.", id=active[-1])
    return CommandResult(text=text, data={"removed": number, "active_jobs": active})


def _suggest_schedules(ctx: CommandContext) -> Iterable[Suggestion]:
    from clio.jobs.schedules import list_schedules

    return [
        Suggestion(text=str(schedule.id), note=f"{schedule.when} · {schedule.job.plain_task[:50]}")
        for schedule in list_schedules(ctx.loaded.home)
    ]


SCHEDULE: tuple[Command, ...] = (
    Command(
        name="schedule",
        summary=mark("tasks that cron or systemd starts at set times"),
        handler=list_all_schedules,
        subcommands=(
            Command(name="list", summary=mark("list all schedules, and what is wrong"), handler=list_all_schedules),
            Command(
                name="add",
                argument='"WHEN" "TASK" [--print] [--yes] [--with cron|systemd] [--approve MODE] [--max-cost USD] '
                "[--minutes N] [--model NAME] [--on-question wait|refuse]",
                summary=mark("show what would be written, ask, and run a task of this project at these times"),
                handler=add_new_schedule,
                sends_argument=True,
            ),
            Command(
                name="remove",
                argument="N",
                summary=mark("remove a schedule, and its crontab lines or timer"),
                handler=remove_one_schedule,
                suggest=_suggest_schedules,
            ),
        ),
    ),
)
