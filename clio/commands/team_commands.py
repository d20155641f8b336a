"""`clio team-server`: set up and look after the memory of a team in PostgreSQL, which `clio mcp --http` serves."""

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from clio.commands.arguments import ParsedArguments, parse_options
from clio.commands.command import Command, CommandContext, CommandResult, Table, make_refusal
from clio.memory.store.record import PROJECT_KINDS
from clio.text.formatting import format_stored_time
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.memory.database.connection import Connection, Database
    from clio.memory.database.store import DatabaseMemoryStore

T = TypeVar("T")
_PASSWORD = re.compile(r"^\w+://[^/?#@]*:[^/?#@]+@|\bpassword\s*=")


def open_database(address: str) -> "Database":
    """Return the database that `--database` names, with an open connection. Raises UsageError, ClioError.

    Its tables may be missing.
    """
    from clio.memory.database.connection import Database, parse_database_address

    database = Database(parse_database_address(address, os.environ))
    database.open()
    return database


def describe_visible_password(words: Sequence[str]) -> str:
    """Return a warning if a command line has an address with a password; "" otherwise."""
    addresses = [
        word.removeprefix("--database=")
        for before, word in zip(["", *words], words, strict=False)
        if before == "--database" or word.startswith("--database=")
    ]
    if not any(_PASSWORD.search(address) for address in addresses):
        return ""
    return tr(
        "warning: other users of this machine can see the password in --database; put it in ~/.pgpass, or the whole "
        "address in a variable and write --database env:NAME"
    )


def _with_database(given: ParsedArguments, work: "Callable[[Database], T]") -> T:
    from clio.memory.database.connection import migrate

    database = open_database(given.options.get("--database", ""))
    try:
        database.read(migrate)
        return work(database)
    finally:
        database.close()


def _with_store(given: ParsedArguments, ctx: CommandContext, work: "Callable[[DatabaseMemoryStore], T]") -> T:
    """Run work on the memories, in one transaction; those of the project, and a member's own with --member."""
    from clio.memory.database.search import TermStatistics
    from clio.memory.database.store import DatabaseMemory

    def run(connection: "Connection") -> T:
        memory = DatabaseMemory(
            connection,
            TermStatistics(),
            given.options.get("--member", ""),
            redact=ctx.memory.redacted,
            clock=time.time,
        )
        return work(memory.store)

    return _with_database(given, lambda database: database.write(run))


def show_status(ctx: CommandContext, argument: str) -> CommandResult:
    """Show what the database holds."""
    given = parse_options(argument, valued=("--database",))
    if given.words:
        return make_refusal(tr("clio team-server status takes no argument {word!r}", word=given.words[0]))

    def read(connection: "Connection") -> tuple[int, int, int, int, int]:
        row = connection.execute(
            "select (select live from clio.scope where owner = ''), "
            "(select coalesce(sum(live), 0)::bigint from clio.scope where owner <> ''), "
            "(select count(*) from clio.member where revoked is null), "
            "(select count(*) from clio.change), pg_total_relation_size('clio.memory')"
        ).fetchone()
        return row or (0, 0, 0, 0, 0)

    shared, own, members, changes, size = _with_database(given, lambda database: database.read(read))
    text = tr(
        "{shared} shared, {own} of members alone; {members}; {changes} in the change log; {size:,.0f} MB",
        shared=tr_count(shared, "memory"),
        own=f"{own:,}",
        members=tr_count(members, "member"),
        changes=tr_count(changes, "change"),
        size=size / 1e6,
    )
    data = {"shared": shared, "own": int(own), "members": members, "changes": changes, "bytes": size}
    return CommandResult(text=text, data=data)


def manage_tokens(ctx: CommandContext, argument: str) -> CommandResult:
    """Add, list or revoke the tokens of members."""
    from clio.memory.database.administration import add_member, list_members, revoke_member

    given = parse_options(argument, switches=("--read-only",), valued=("--database",))
    verb, names = (given.words[0] if given.words else "list"), given.words[1:]
    if verb == "list" and not names:
        members = _with_database(given, lambda database: database.read(list_members))
        rows = tuple(
            (
                one.name,
                tr("revoked") if one.revoked else tr("read and write") if one.may_write else tr("read-only"),
                format_stored_time("%Y-%m-%d", one.created.timestamp()) if one.created else "",
            )
            for one in members
        )
        data = {
            "members": [
                {"name": one.name, "write": one.may_write, "revoked": one.revoked is not None} for one in members
            ]
        }
        if not rows:
            return CommandResult(
                text=tr("No one has a token yet; `clio team-server token add NAME` makes one"), data=data
            )
        return CommandResult(table=Table(columns=(tr("member"), tr("rights"), tr("since")), rows=rows), data=data)
    if verb not in ("add", "revoke") or len(names) != 1:
        return make_refusal(tr("Write clio team-server token add NAME, list, or revoke NAME"))
    name = names[0]
    if verb == "revoke":
        _with_database(given, lambda database: database.write(lambda connection: revoke_member(connection, name)))
        return CommandResult(
            text=tr("{name}'s token ends in five seconds; the memories stay", name=name), data={"revoked": name}
        )
    may_write = "--read-only" not in given.options
    token = _with_database(
        given, lambda database: database.write(lambda connection: add_member(connection, name, may_write=may_write))
    )
    return CommandResult(
        text=tr("{name}'s token, shown only now; pass it on in private:", name=name),
        verbatim=token,
        data={"name": name, "token": token, "write": may_write},
    )


def import_project(ctx: CommandContext, argument: str) -> CommandResult:
    """Add the memories of this project, or the user's own ones."""
    from clio.memory.database.administration import import_records, list_members

    given = parse_options(argument, valued=("--database", "--own"))
    if given.words:
        return make_refusal(tr("clio team-server import reads the project of --cwd, and takes no argument"))
    store, owner = ctx.memory.store, given.options.get("--own", "")
    if owner:
        records = store.user.records(superseded=True)
    else:
        records = [*store.project.records(superseded=True), *store.records(PROJECT_KINDS)]

    def add(database: "Database") -> CommandResult:
        if owner and owner not in [one.name for one in database.read(list_members)]:
            return make_refusal(tr("no member is called {name!r}; clio team-server token list shows them", name=owner))
        done = import_records(database, records, owner=owner, redact=ctx.memory.redacted, clock=time.time)
        text = tr(
            "Imported {added}, {known} known already.", added=tr_count(done.added, "memory"), known=f"{done.known:,}"
        )
        return CommandResult(text=text, data={"added": done.added, "known": done.known})

    return _with_database(given, add)


def export_memories(ctx: CommandContext, argument: str) -> CommandResult:
    """Write everything as files of clio's."""
    from clio.memory.database.administration import export_all

    given = parse_options(argument, valued=("--database",))
    if len(given.words) != 1:
        return make_refusal(tr("Write clio team-server export FOLDER, with a new folder"))
    folder = Path(given.words[0]).expanduser().absolute()
    done = _with_database(given, lambda database: export_all(database, folder))
    text = tr(
        "Exported {memories} to {folder}: `.clio` is that of a project, `members` has what belongs to one member.",
        memories=tr_count(done.memories, "memory"),
        folder=str(folder),
    )
    return CommandResult(text=text, data={"memories": done.memories, "members": done.members, "changes": done.changes})


def show_history(ctx: CommandContext, argument: str) -> CommandResult:
    """Show every version of a memory, and who wrote it."""
    given = parse_options(argument, valued=("--database", "--member"))
    if len(given.words) != 1:
        return make_refusal(tr("Write clio team-server history ID"))
    versions = _with_store(given, ctx, lambda store: store.history(given.words[0]))
    rows = tuple(
        (
            format_stored_time("%Y-%m-%d %H:%M", one.since) if one.since else "",
            one.record.by,
            one.because,
            one.record.line if one.record.kind in PROJECT_KINDS else one.record.content,
        )
        for one in versions
    )
    data = {
        "versions": [
            {
                "id": one.record.id,
                "since": one.since,
                "until": one.until,
                "because": one.because,
                "by": one.record.by,
                "content": one.record.content,
            }
            for one in versions
        ]
    }
    table = Table(columns=(tr("since"), tr("member"), tr("ended"), tr("text")), rows=rows, wide_column=3)
    return CommandResult(table=table, data=data)


def undo_change(ctx: CommandContext, argument: str) -> CommandResult:
    """Undo the last change, or the last one of a member."""
    given = parse_options(argument, valued=("--database", "--member"))
    if given.words:
        return make_refusal(tr("clio team-server undo takes no argument {word!r}", word=given.words[0]))
    text = _with_store(given, ctx, lambda store: store.undo(given.options.get("--member")))
    return CommandResult(text=text, data={"undone": text})


def restore_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Bring a forgotten memory back."""
    given = parse_options(argument, valued=("--database", "--member"))
    if len(given.words) != 1:
        return make_refusal(tr("Write clio team-server restore ID"))
    record = _with_store(given, ctx, lambda store: store.restore(given.words[0]))
    return CommandResult(text=tr("Restored: {content}", content=record.content), data={"restored": record.id})


_DATABASE = "[--database ADDRESS]"
TEAM_SERVER = Command(
    name="team-server",
    summary=mark("look after a team's memory in PostgreSQL, which clio mcp --http serves"),
    handler=show_status,
    subcommands=(
        Command(
            name="status",
            argument=_DATABASE,
            summary=mark("what the database holds; without tables it creates them"),
            handler=show_status,
        ),
        Command(
            name="token",
            argument=f"add NAME [--read-only] | list | revoke NAME {_DATABASE}",
            summary=mark("the members' tokens: give one, list who has one, end one"),
            handler=manage_tokens,
        ),
        Command(
            name="import",
            argument=f"[--own MEMBER] {_DATABASE}",
            summary=mark("add the memories of this project; --own adds your own ones as those of a member"),
            handler=import_project,
        ),
        Command(
            name="export",
            argument=f"FOLDER {_DATABASE}",
            summary=mark("write everything into a new folder, as the files clio keeps in a project"),
            handler=export_memories,
        ),
        Command(
            name="history",
            argument=f"ID [--member NAME] {_DATABASE}",
            summary=mark("every version of a memory, and who wrote it"),
            handler=show_history,
        ),
        Command(
            name="undo",
            argument=f"[--member NAME] {_DATABASE}",
            summary=mark("undo the last change, or the last one of a member"),
            handler=undo_change,
        ),
        Command(
            name="restore",
            argument=f"ID [--member NAME] {_DATABASE}",
            summary=mark("bring a forgotten memory back"),
            handler=restore_memory,
        ),
    ),
)
