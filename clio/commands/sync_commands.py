"""`clio sync`: keep the memory of several machines in a private git repository of the user's."""

import re
import shutil
from datetime import datetime
from pathlib import Path

from msgspec import structs

from clio.commands.arguments import parse_options
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    LongWork,
    Table,
    make_refusal,
    quote_code,
)
from clio.errors import ClioError, UsageError, UserError
from clio.sync.engine import (
    OFF,
    ChosenProject,
    Report,
    SyncFiles,
    Synchronizer,
    check_format,
    explain_unusable,
)
from clio.sync.records import Sealer, make_identity, read_key_file, write_key_file
from clio.sync.repository import SyncRepository, check_remote, find_project_identity, is_public
from clio.text.translation import mark, tr, tr_count

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")


def init_sync(ctx: CommandContext, argument: str) -> CommandResult:
    """Turn synchronization on: check the remote, make or take the key, and synchronize for the first time."""
    given = parse_options(argument, switches=("--encrypt", "--yes"), valued=("--key",))
    if len(given.words) != 1:
        return make_refusal(tr("clio sync init takes the address of one git repository"))
    files = SyncFiles(ctx.loaded.home)
    remote, before = check_remote(given.words[0]), files.settings()
    if before.remote and before.remote != remote:
        return make_refusal(
            tr("synchronization already uses {remote}; clio sync off first", remote=quote_code(before.remote))
        )
    encrypts = "--encrypt" in given.options or "--key" in given.options or before.encrypted
    if is_public(remote) and not encrypts:
        return make_refusal(
            tr(
                "everybody can read {remote}, and your memories would be in it; use a private repository, or add "
                "--encrypt",
                remote=quote_code(remote),
            )
        )
    if "--yes" not in given.options:
        question = tr("Is {remote} private, so that only you can read and write it?", remote=remote)
        if encrypts:
            question = tr("Can only you write to {remote}?", remote=remote)
        return CommandResult(
            text=tr(
                "clio can't know who has access to this repository. Your memories and response styles will be in it, "
                "and what others write into it would count as yours."
            ),
            follow_up=Confirm(question=question, then=f"/sync init {argument} --yes"),
        )
    identity = _choose_key(files, given.options.get("--key"), encrypts=encrypts)
    repository = SyncRepository(files.repository_path, remote)
    repository.create()
    check_format(repository, repository.fetch(), Sealer(identity))
    if identity and not files.key_path.exists():
        write_key_file(files.key_path, identity)  # after the check: a wrong one would be in the way of the right one
    files.save_settings(structs.replace(before, remote=remote, encrypted=encrypts))
    told = tr("Synchronizes with {remote}.", remote=quote_code(remote))
    if encrypts:
        path = quote_code(str(files.key_path))
        told += " " + tr("The key is in {path}: copy it to your other machines, and keep a copy elsewhere.", path=path)
    told += " " + tr("In a project, `clio sync project` adds its memory.")
    return _run(ctx, files, push=True, before=told)


def _choose_key(files: SyncFiles, given: str | None, *, encrypts: bool) -> str:
    """Return the identity of this machine, a new one if it has none; "" without encryption."""
    if not encrypts:
        return ""
    if given is not None:
        identity = read_key_file(Path(given).expanduser())
        Sealer(identity)  # raises UserError for an invalid one
        if files.key_path.exists() and read_key_file(files.key_path) != identity:
            raise UserError(tr("{path} has another key; move it away first", path=quote_code(str(files.key_path))))
        return identity
    return read_key_file(files.key_path) if files.key_path.exists() else make_identity()


def show_status(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what is synchronized, and how the last run ended. Contacts no server."""
    if argument:
        return make_refusal(tr("clio sync status takes no argument, not {argument!r}", argument=argument))
    files = SyncFiles(ctx.loaded.home)
    settings = files.settings()
    if not settings.remote:
        return CommandResult(text=tr(OFF), data={"on": False})
    state = files.state()
    last = datetime.fromtimestamp(state.at).strftime("%Y-%m-%d %H:%M") if state.at else tr("never")
    alive = sum(not one.deleted for one in state.local.values())
    lines = [
        tr("remote: {remote}", remote=quote_code(settings.remote)),
        tr("encrypted: {answer}", answer=tr("yes") if settings.encrypted else tr("no")),
        tr("last run: {last}", last=last),
        tr("records: {count}", count=f"{alive:,}"),
    ]
    if state.error:
        lines.append(tr("the last run failed: {error}", error=state.error))
    rows = tuple(
        (
            chosen.identity,
            tr("memory and sessions") if chosen.sessions else tr("memory"),
            explain_unusable(Path(folder), files.home) or tr("ready"),
            folder,
        )
        for folder, chosen in settings.projects.items()
    )
    columns = (tr("project"), tr("what"), tr("state"), tr("folder"))
    projects = {
        folder: {"identity": chosen.identity, "sessions": chosen.sessions}
        for folder, chosen in settings.projects.items()
    }
    return CommandResult(
        text="\n".join(f"- {line}" for line in lines),
        table=Table(columns=columns, rows=rows, wide_column=3) if rows else None,
        data={
            "on": True,
            "remote": settings.remote,
            "encrypted": settings.encrypted,
            "at": state.at,
            "error": state.error,
            "records": alive,
            "projects": projects,
        },
    )


def push_changes(ctx: CommandContext, argument: str) -> CommandResult:
    """Send this machine's changes after taking those of the others."""
    return _synchronize(ctx, argument, push=True)


def pull_changes(ctx: CommandContext, argument: str) -> CommandResult:
    """Take the changes of the other machines, and send nothing."""
    return _synchronize(ctx, argument, push=False)


def _synchronize(ctx: CommandContext, argument: str, *, push: bool) -> CommandResult:
    if argument:
        return make_refusal(tr("clio sync push and pull take no argument, not {argument!r}", argument=argument))
    return _run(ctx, SyncFiles(ctx.loaded.home), push=push)


def _run(ctx: CommandContext, files: SyncFiles, *, push: bool, before: str = "") -> CommandResult:
    synchronizer = Synchronizer(files, lambda text: ctx.redactor.redact(text).text)

    def work(_: object) -> CommandResult:
        report = synchronizer.run(push=push)
        return CommandResult(text=f"{before} {describe_report(report)}".strip(), data=structs.asdict(report))

    return CommandResult(follow_up=LongWork(label=tr("synchronizing"), work=work))


def describe_report(report: Report) -> str:
    """Return the result of a run in sentences."""
    parts = [
        tr("{count} sent", count=f"{report.sent:,}"),
        tr("{count} received", count=f"{report.received:,}"),
        tr("{count} deleted here", count=f"{report.deleted:,}"),
    ]
    text = tr("Records: {parts}.", parts=", ".join(parts))
    if report.waiting:
        text += " " + tr("{records} could not be stored here.", records=tr_count(report.waiting, "record"))
    if report.restored:
        text += " " + tr(
            "{records} had left a damaged or missing file without being deleted, and came back.",
            records=tr_count(report.restored, "record"),
        )
    for problem in report.problems:
        text += "\n" + tr("- left out: {what}: {why}", what=quote_code(problem.what), why=problem.why)
    return text


def choose_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Add the memory of this project, and with --sessions its sessions; --off ends that."""
    given = parse_options(argument, switches=("--sessions", "--off"), valued=("--as",))
    if given.words:
        word = given.words[0]
        return make_refusal(
            tr("clio sync project takes only options, not {word!r}; --cwd FOLDER names another project", word=word)
        )
    files, project = SyncFiles(ctx.loaded.home), ctx.loaded.main_project
    settings = files.settings()
    if not settings.remote:
        return make_refusal(tr(OFF))
    projects = dict(settings.projects)
    if "--off" in given.options:
        if projects.pop(str(project), None) is None:
            return make_refusal(tr("this project is not synchronized"))
        files.save_settings(structs.replace(settings, projects=projects))
        return CommandResult(
            text=tr("This project is no longer synchronized. What was sent stays in the repository."),
            data={"project": str(project), "on": False},
        )
    why = tr("its .clio is not trusted") if ctx.loaded.is_folder_blocked else explain_unusable(project, files.home)
    if why:
        return make_refusal(tr("this project cannot be synchronized: {reason}", reason=why))
    name = given.options.get("--as")
    if name is not None and not _NAME.fullmatch(name):
        raise UsageError(tr("--as takes a name of letters, digits and . _ - /, not {name!r}", name=name))
    identity = name or find_project_identity(project)
    if not identity:
        return make_refusal(
            tr("this project has no git remote by which your other machines would know it; add --as NAME")
        )
    chosen = ChosenProject(identity=identity, sessions="--sessions" in given.options)
    files.save_settings(structs.replace(settings, projects=projects | {str(project): chosen}))
    name = quote_code(identity)
    told = tr("The memory of this project is synchronized as {name}.", name=name)
    if chosen.sessions:
        told = tr("Memory and sessions of this project are synchronized as {name}.", name=name)
    return _run(ctx, files, push=True, before=told)


def turn_off(ctx: CommandContext, argument: str) -> CommandResult:
    """Turn synchronization off: all memories stay on this machine, and in the repository."""
    given = parse_options(argument, switches=("--yes",))
    if given.words:
        return make_refusal(tr("clio sync off takes no argument, not {argument!r}", argument=argument))
    files = SyncFiles(ctx.loaded.home)
    settings = files.settings()
    if not settings.remote:
        return make_refusal(tr(OFF))
    lock = files.lock()
    if not lock.acquire(10.0):
        raise ClioError(tr("another clio is synchronizing; try again when it is done"))
    try:
        files.settings_path.unlink(missing_ok=True)
        files.state_path.unlink(missing_ok=True)
        shutil.rmtree(files.repository_path, ignore_errors=True)
    finally:
        lock.release()
    told = tr("Synchronization is off. Your memories stay here and in {remote}.", remote=quote_code(settings.remote))
    if files.key_path.exists():
        told += " " + tr("The key stays in {path}.", path=quote_code(str(files.key_path)))
    return CommandResult(
        text=told,
        data={"on": False, "remote": settings.remote},
    )


SYNC = Command(
    name="sync",
    summary=mark("keep the memory of several machines in a private git repository"),
    handler=show_status,
    subcommands=(
        Command(
            name="init",
            argument="REMOTE [--encrypt] [--key FILE] [--yes]",
            summary=mark("turn it on with an empty private repository, or that of your other machines"),
            handler=init_sync,
        ),
        Command(name="status", summary=mark("what is synchronized, and how the last run ended"), handler=show_status),
        Command(
            name="push",
            summary=mark("get the changes of other machines and send those of this one"),
            handler=push_changes,
        ),
        Command(name="pull", summary=mark("get the changes of other machines and send nothing"), handler=pull_changes),
        Command(
            name="project",
            argument="[--sessions] [--as NAME] [--off]",
            summary=mark("add the memory of this project, and its sessions if you ask; --off ends that"),
            handler=choose_project,
        ),
        Command(name="off", summary=mark("turn it off; nothing is deleted but the local clone"), handler=turn_off),
    ),
)
