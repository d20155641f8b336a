"""/jobs: tasks in processes of their own that continue after clio and its terminal are closed."""

import os
import time
from collections.abc import Callable, Iterable, Sequence

from clio.commands.arguments import parse_cost, parse_number, parse_options, parse_text
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    FollowJob,
    Suggestion,
    Table,
    make_refusal,
    quote_code,
)
from clio.config.loaded import LoadedConfig
from clio.config.paths import home_config, project_config
from clio.errors import ClioError, UsageError, UserError
from clio.jobs.job_store import (
    STATE_NAMES,
    Job,
    JobRecord,
    QuestionRule,
    answer_job,
    create_job,
    find_job,
    launch_job,
    list_jobs,
    measure_output,
    read_output,
    remove_job,
    stop_job,
)
from clio.text.formatting import (
    MICROS_PER_DOLLAR,
    describe_steps,
    format_ago,
    format_money,
    format_tokens,
    truncate_line,
)
from clio.text.translation import mark, tr

DEFAULT_MAX_COST = 5.0
"""US dollars that a job may spend if neither --max-cost nor the setting `max_cost` says otherwise."""
DEFAULT_MINUTES = 60.0
_MAX_MINUTES = 10_080.0
_TASK_CHARS = 120
_LOG_CHARS = 20_000
MODES = ("plan", "ask", "edits", "all")
"""Approval modes, from the most to the least restrictive."""
START_OPTIONS = ("--approve", "--max-cost", "--minutes", "--model", "--on-question")


def list_all_jobs(ctx: CommandContext, argument: str) -> CommandResult:
    """List the jobs of all projects, the newest first."""
    if argument:
        return make_refusal(tr("/jobs list takes no argument, not {argument!r}", argument=argument))
    jobs = list(reversed(list_jobs(ctx.loaded.home)))
    if not jobs:
        return CommandResult(text=tr('No jobs. `/jobs start "TASK"` starts one.'), data=[])
    now = time.time()
    rows = tuple(
        (
            str(job.record.id),
            tr(STATE_NAMES[job.state]),
            format_ago(now - job.record.created),
            _describe_use(job),
            truncate_line(" ".join(job.record.plain_task.split()), _TASK_CHARS),
        )
        for job in jobs
    )
    table = Table(
        columns=("#", tr("state"), tr("started"), tr("used"), tr("task")), rows=rows, wide_column=4, is_truncated=True
    )
    waiting = [job for job in jobs if job.state == "needs you"]
    text = "\n".join(
        tr("Job {id} needs you: {command}", id=job.record.id, command=quote_code(f"/jobs show {job.record.id}"))
        for job in waiting
    )
    return CommandResult(text=text, table=table, data=[make_job_data(job) for job in jobs])


def show_job(ctx: CommandContext, argument: str) -> CommandResult:
    """Show one job: its state, its limits, its question or its answer."""
    job = _find(ctx, argument, "show")
    record, step, end, question = job.record, job.get_last("step"), job.get_last("finished"), job.open_question
    rows = [
        (tr("task"), record.plain_task),
        (tr("state"), tr(STATE_NAMES[job.state]) + (f" ({end.status})" if end and job.state == "failed" else "")),
        (tr("folder"), record.folder),
        (tr("schedule"), str(record.schedule or "")),
        (tr("approval mode"), record.approve),
        (
            tr("limits"),
            tr(
                "{money}, {minutes:g} minutes",
                money=format_money(round(record.max_cost * MICROS_PER_DOLLAR)),
                minutes=record.minutes,
            ),
        ),
        (tr("used"), _describe_use(job)),
        (tr("session"), job.session_id),
        (tr("process"), str(job.owner.pid) if job.owner else ""),
        (tr("error"), end.error if end else ""),
        *_list_next_steps(ctx, job),
    ]
    table = Table(columns=("", ""), rows=tuple(row for row in rows if row[1]), wide_column=1)
    text = [event.text for event in job.events if event.kind == "notice"]
    if question is not None:
        reason = f" ({question.reason})" if question.reason else ""
        text.append(tr("It asks: {title}", title=f"{question.title}{reason}"))
    elif end and end.text:
        text.append(tr("It answered:"))
    return CommandResult(
        text="\n\n".join(text),
        table=table,
        verbatim=question.detail if question is not None else end.text if end else "",
        data=make_job_data(job) | {"steps": step.step if step else 0, "answer": end.text if end else None},
    )


def _list_next_steps(ctx: CommandContext, job: Job) -> Iterable[tuple[str, str]]:
    """Yield what the user can do about a job, each with the command."""
    if (question := job.open_question) is not None:
        called = "clio jobs" if _find_conversation_mode(ctx) is None else "/jobs"
        handle = f"{job.record.id}.{question.question}"
        yield tr("approve with"), f"{called} answer {handle} yes"
        yield tr("decline with"), f"{called} answer {handle} no REASON"
    elif not job.is_active and job.session_id:
        yield tr("continue with"), f"clio -r {job.session_id}"


def show_log(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the end of what a job printed; with --follow also what it prints from now on."""
    given = parse_options(argument, switches=("--follow",))
    job = _find(ctx, " ".join(given.words), "logs")
    size = measure_output(job.folder)
    text = read_output(job, _LOG_CHARS)
    if "--follow" in given.options:
        return CommandResult(verbatim=text, follow_up=FollowJob(folder=job.folder, offset=size))
    return CommandResult(
        text="" if text else tr("Job {id} has printed nothing yet.", id=job.record.id),
        verbatim=text,
        data={"id": job.record.id, "output": text},
    )


def start_job(ctx: CommandContext, argument: str) -> CommandResult:
    """Start a job in this project."""
    given = parse_text(argument, valued=START_OPTIONS)
    task = given.text.strip()
    if not task:
        return make_refusal(tr('What is it to do? Write /jobs start "TASK"'))
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode stores nothing; start without --incognito."))
    record = make_job_record(ctx, task, given.get_single)
    if (question := ask_about_wider_mode(ctx, record.approve)) is None:
        return _launch(ctx, record)
    return CommandResult(
        follow_up=Confirm(
            question=f"{question} {tr('Start it?')}",
            then=lambda: _launch(ctx, record),
            unasked=tell_to_configure_mode(record.approve),
        )
    )


def make_job_record(ctx: CommandContext, task: str, get_option: Callable[[str], str | None]) -> JobRecord:
    """Return what a new job is to do, from the options START_OPTIONS. Raises UsageError."""
    cost, minutes = get_option("--max-cost"), get_option("--minutes")
    return JobRecord(
        id=0,
        task=ctx.redactor.redact(task).text,
        folder=str(ctx.loaded.start_folder or ctx.loaded.project),
        project=str(ctx.loaded.project),
        approve=_choose_mode(ctx, get_option("--approve")),
        max_cost=parse_cost(cost) if cost else ctx.config.max_cost or DEFAULT_MAX_COST,
        is_cost_required=bool(cost or ctx.config.max_cost),
        minutes=parse_number(minutes, "--minutes", low=0.01, high=_MAX_MINUTES) if minutes else DEFAULT_MINUTES,
        on_question=_choose_question_rule(ctx, get_option("--on-question")),
        created=time.time(),
        config_file=_find_config_file(ctx.loaded),
        overrides=_list_flags(ctx.loaded, get_option("--model")),
    )


def _launch(ctx: CommandContext, record: JobRecord) -> CommandResult:
    job = launch_job(create_job(ctx.loaded.home, record), os.environ)
    return CommandResult(
        text=tr(
            "Started job {id} (approval mode {mode}, at most {money} and {minutes:g} minutes). It continues after "
            "clio and this terminal are closed: {command}",
            id=job.record.id,
            mode=record.approve,
            money=format_money(round(record.max_cost * MICROS_PER_DOLLAR)),
            minutes=record.minutes,
            command=quote_code(f"/jobs show {job.record.id}"),
        ),
        data=make_job_data(job),
    )


def _choose_mode(ctx: CommandContext, wanted: str | None) -> str:
    """Return the approval mode of a new job. Raises UsageError if it is none, or wider than the conversation's."""
    own = _find_conversation_mode(ctx)
    if wanted is None:
        return own or ctx.config.approve
    if wanted not in MODES:
        raise UsageError(
            tr(
                "--approve must be one of {modes}, not {wanted!r}",
                modes=", ".join(MODES),
                wanted=wanted,
            )
        )
    if own is not None and MODES.index(wanted) > MODES.index(own):
        raise UsageError(
            tr(
                "--approve {wanted} is wider than this conversation's mode {own}; change that with /approve first",
                wanted=wanted,
                own=own,
            )
        )
    return wanted


def _find_conversation_mode(ctx: CommandContext) -> str | None:
    """Return the approval mode of the conversation; None on the command line."""
    try:
        return ctx.policy.mode
    except UserError:
        return None


def ask_about_wider_mode(ctx: CommandContext, mode: str) -> str | None:
    """Return the beginning of a question if a job's mode is wider than the configured one; None if it is not.

    A program that only runs a command line, such as the model's own commands, must not get rights in this way that its
    user has not given.
    """
    own: str = ctx.config.approve
    if _find_conversation_mode(ctx) is not None or MODES.index(mode) <= MODES.index(own):
        return None
    meaning = {
        "ask": tr("asks you before it changes files or runs commands"),
        "edits": tr("changes files without asking you"),
        "all": tr("changes files and runs commands without asking you"),
    }
    return tr(
        "It would go further than in your approval mode {own}: with {mode} it {meaning}.",
        own=own,
        mode=mode,
        meaning=meaning[mode],
    )


def tell_to_configure_mode(mode: str) -> str:
    """Return what to do instead of answering that question."""
    return tr("run it in a terminal, or set `approve: {mode}` in your configuration", mode=mode)


def _choose_question_rule(ctx: CommandContext, wanted: str | None) -> QuestionRule:
    match wanted:
        case None:
            return "refuse" if ctx.config.background_approvals == "refuse" else "wait"
        case "wait":
            return "wait"
        case "refuse":
            return "refuse"
        case _:
            raise UsageError(tr("--on-question must be wait or refuse, not {wanted!r}", wanted=wanted))


_FLAG_SETTINGS = ("model", "provider", "base_url", "api", "effort", "sandbox", "max_steps", "context_window")
"""Settings that a job takes over if they were given as flags; all others it reads itself."""
_FLAG_LISTS = ("allow", "deny")


def _list_flags(loaded: LoadedConfig, model: str | None) -> dict[str, str | bool | tuple[str, ...]]:
    """Return the flags that this clio was started with and a job of it needs."""
    config = loaded.config
    flags: dict[str, str | bool | tuple[str, ...]] = {}
    for name in _FLAG_SETTINGS:
        value = getattr(config, name)
        if value is not None and name in loaded.flags:
            flags[name] = str(value)
    for name in _FLAG_LISTS:
        if name in loaded.flags:
            flags[name] = tuple(getattr(config, name))
    return flags | ({"model": model} if model else {})


def _find_config_file(loaded: LoadedConfig) -> str:
    """Return the file given with --config; "" for the user's own."""
    usual = (home_config(loaded.home), project_config(loaded.main_project))
    return next((str(path) for path in loaded.files if path not in usual), "")


def stop_running_job(ctx: CommandContext, argument: str) -> CommandResult:
    """End a job; its session keeps what was done."""
    job = stop_job(_find(ctx, argument, "stop"))
    return CommandResult(
        text=tr("Job {id} has ended: {state}.", id=job.record.id, state=tr(STATE_NAMES[job.state])),
        data=make_job_data(job),
    )


def answer_question(ctx: CommandContext, argument: str) -> CommandResult:
    """Approve or decline what a job asks."""
    given = parse_text(argument, heads=2)
    if len(given.heads) < 2 or given.heads[1].lower() not in ("yes", "no"):
        return make_refusal(tr("Write /jobs answer N.QUESTION yes, or no and why; /jobs show N shows the question"))
    handle, verdict = given.heads
    number, _, question = handle.partition(".")
    job = find_job(ctx.loaded.home, number)
    asked = job.open_question
    # The user answers what was shown, not a question that the job has asked since.
    if asked is not None and question != str(asked.question):
        return make_refusal(
            tr(
                "Job {number} now asks question {asked}: /jobs show {number} shows it",
                number=number,
                asked=f"{number}.{asked.question}",
            )
        )
    answered = answer_job(job, approved=verdict.lower() == "yes", reason=ctx.redactor.redact(given.text).text)
    done = tr("approved") if verdict.lower() == "yes" else tr("declined")
    return CommandResult(text=tr("{done}: {title}", done=done, title=answered.title), data={"question": handle})


def remove_jobs(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete the records of jobs that have ended."""
    if argument.strip() == "--ended":
        jobs = [job for job in list_jobs(ctx.loaded.home) if not job.is_active]
    else:
        jobs = [_find(ctx, argument, "remove")]
    if not jobs:
        return CommandResult(text=tr("No job has ended."), data={"removed": []})
    for job in jobs:
        remove_job(job)
    return CommandResult(
        text=tr("Removed: {names}. Their sessions stay.", names=", ".join(str(job.record.id) for job in jobs)),
        data={"removed": [job.record.id for job in jobs]},
    )


def _find(ctx: CommandContext, argument: str, name: str) -> Job:
    words = argument.split()
    if len(words) != 1:
        raise UsageError(tr("Write /jobs {name} N; /jobs list shows the numbers", name=name))
    return find_job(ctx.loaded.home, words[0])


def _describe_use(job: Job) -> str:
    step, end = job.get_last("step"), job.get_last("finished")
    if step is None:
        return ""
    cost = (end or step).micro_dollars
    parts = [
        describe_steps(step.step, is_running=end is None),
        tr("{tokens} tokens", tokens=format_tokens(step.tokens)) if step.tokens else "",
    ]
    return " · ".join(filter(None, [*parts, format_money(cost) if cost else ""]))


def make_job_data(job: Job) -> dict[str, object]:
    """Return a job in JSON types."""
    step, end, question = job.get_last("step"), job.get_last("finished"), job.open_question
    newest = end or step
    return {
        "id": job.record.id,
        "state": job.state,
        "task": job.record.plain_task,
        "folder": job.record.folder,
        "schedule": job.record.schedule or None,
        "approve": job.record.approve,
        "session": job.session_id or None,
        "pid": job.owner.pid if job.owner else None,
        "tokens": step.tokens if step else 0,
        "micro_dollars": newest.micro_dollars if newest else 0,
        "status": end.status if end else None,
        "error": (end.error or None) if end else None,
        "question": {"id": f"{job.record.id}.{question.question}", "title": question.title, "detail": question.detail}
        if question
        else None,
    }


def _suggest_jobs(ctx: CommandContext) -> Iterable[Suggestion]:
    try:
        jobs: Sequence[Job] = list_jobs(ctx.loaded.home)
    except (ClioError, OSError):
        return ()
    return [
        Suggestion(text=str(job.record.id), note=f"{tr(STATE_NAMES[job.state])} · {job.record.plain_task[:50]}")
        for job in reversed(jobs)
    ]


JOBS: tuple[Command, ...] = (
    Command(
        name="jobs",
        summary=mark("tasks that go on after clio and the terminal are closed"),
        handler=list_all_jobs,
        subcommands=(
            Command(name="list", summary=mark("list all jobs and their states"), handler=list_all_jobs),
            Command(
                name="start",
                argument='"TASK" [--approve MODE] [--max-cost USD] [--minutes N] [--model NAME] '
                "[--on-question wait|refuse]",
                summary=mark("start a job in this project"),
                handler=start_job,
                sends_argument=True,
            ),
            Command(
                name="show",
                argument="N",
                summary=mark("show a job, its question and its answer"),
                handler=show_job,
                suggest=_suggest_jobs,
            ),
            Command(
                name="logs",
                argument="N [--follow]",
                summary=mark("show the end of what a job printed; --follow goes on until it ends"),
                handler=show_log,
                suggest=_suggest_jobs,
            ),
            Command(
                name="answer",
                argument="N.QUESTION yes|no [REASON]",
                summary=mark("approve or decline what a job asks"),
                handler=answer_question,
            ),
            Command(
                name="stop",
                argument="N",
                summary=mark("end a job; its session keeps what was done"),
                handler=stop_running_job,
                suggest=_suggest_jobs,
            ),
            Command(
                name="remove",
                argument="N|--ended",
                summary=mark("delete the records of ended jobs; their sessions stay"),
                handler=remove_jobs,
                suggest=_suggest_jobs,
            ),
        ),
    ),
)
