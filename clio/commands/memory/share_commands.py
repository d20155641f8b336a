"""/memory share: keeping project memory in files that a team commits."""

import time
from collections.abc import Sequence

import msgspec

from clio.commands.arguments import parse_options, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    Suggestion,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import (
    find_memory,
    make_memory_table,
    make_project_memory_data,
    make_row,
    requires_memory,
    suggest_ids,
)
from clio.config.paths import FOLDER_NAME
from clio.config.project_links import SHARED_NAME
from clio.errors import UsageError
from clio.memory.store.record import PROJECT_KINDS, TYPED_KINDS, MemoryRecord, get_short_id, shorten_content
from clio.memory.team.knowledge import TIDY_DAYS
from clio.memory.team.share import Rule, Status
from clio.text.translation import mark, tr, tr_count

_FOLDER = f"{FOLDER_NAME}/{SHARED_NAME}"
_SHOWN, _PROBLEMS_SHOWN, _IDS_SHOWN = 40, 5, 3
_SHAREABLE = mark(
    "What `/memory add` saves, and what the model learns about the project, can be shared: facts, solutions, patterns, "
    "workflows, failures and rules. Notes, events and preferences never are"
)
_SHARE_VERBS = {
    "on": mark("share project memory, as files for git"),
    "add": mark("make facts that you told clio shareable, by their ids"),
    "off": mark("move all of it back into ltm.json"),
    "status": mark("shared memories, their authors, and whether git tracks them"),
    "tidy": mark("delete files without a memory"),
}


@requires_memory
def share_memory(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the state of sharing, or change it."""
    given = parse_options(argument, switches=("--yes", "--gitignore"), valued=("--days",))
    word, *ids = [*given.words] or ["status"]
    word = word.lower()
    if word not in _SHARE_VERBS:
        return make_refusal(
            tr(
                "/memory share: unknown argument {word!r}; {suggest_name}",
                word=word,
                suggest_name=suggest_name(word, _SHARE_VERBS),
            )
        )
    if ids and word != "add":
        return make_refusal(tr("/memory share {word} takes no argument, not {ids!r}", word=word, ids=" ".join(ids)))
    if "--gitignore" in given.options and word not in ("on", "status"):
        return make_refusal(tr("--gitignore can only be used with /memory share on"))
    if "--days" in given.options and word != "tidy":
        return make_refusal(tr("--days can only be used with /memory share tidy"))
    match word:
        case "on":
            return _turn_on(ctx, agreed="--yes" in given.options, gitignore="--gitignore" in given.options)
        case "off":
            return _turn_off(ctx, agreed="--yes" in given.options)
        case "add":
            return _make_shareable(ctx, ids)
        case "tidy":
            return _delete_empty_files(ctx, given.options.get("--days"))
        case _:
            return _show_status(ctx)


def _turn_on(ctx: CommandContext, *, agreed: bool, gitignore: bool) -> CommandResult:
    """Show what others would read, and share it after the user has agreed."""
    sharing = ctx.memory.sharing
    entries = sharing.list_shareable()
    data = {"on": False, "entries": [make_project_memory_data(entry) for entry in entries]}
    if not agreed:
        shown = entries[:_SHOWN]
        rest = (
            tr(", {count} shown here; `/memory list` shows all", count=len(shown)) if len(shown) < len(entries) else ""
        )
        text = tr(
            "{memories} would become files in `{folder}/`{rest}. Everyone with the repository can read them, and those "
            "you add from now on, with your git name. Secrets are replaced first. Notes, events, preferences, styles "
            "and sessions stay private. Memories shared by others are read from then on. {private_facts}",
            memories=tr_count(len(entries), "memory"),
            folder=_FOLDER,
            rest=rest,
            private_facts=_describe_private_facts(ctx),
        ).rstrip()
        then = f"/memory share on --yes{' --gitignore' if gitignore else ''}"
        table = make_memory_table([make_row(entry) for entry in shown], now=time.time()) if shown else None
        return CommandResult(
            text=text, table=table, data=data, follow_up=Confirm(question=tr("Share them?"), then=then)
        )
    number = sharing.turn_on()
    added = sharing.fix_ignore_rules() if gitignore else ()
    status = sharing.status()
    parts = [
        tr(
            "Moved {memories} to `{folder}/`; with those of others it has {count:,}.",
            memories=tr_count(number, "memory"),
            folder=_FOLDER,
            count=len(status.shared),
        )
    ]
    parts += [
        tr("Added to {file}: {lines}.", file=quote_code(rule.file), lines=", ".join(map(quote_code, rule.lines)))
        for rule in added
    ]
    parts += [_explain_ignore_rule(status.rule)] if status.rule else []
    parts.append(_explain_commit(ctx, status))
    data = {"on": True, "shared": number, "added": msgspec.to_builtins(added), **_make_share_data(status)}
    return CommandResult(text="\n".join(part for part in parts if part), data=data)


def _make_shareable(ctx: CommandContext, ids: Sequence[str]) -> CommandResult:
    """Store facts of `memories.json` with the memories that can be shared; undone as one change."""
    if not ids:
        return make_refusal(tr("Which facts? Write /memory share add ID, or several ids; /memory share lists them"))
    records = [find_memory(ctx, id, "/memory share add") for id in ids]
    known = [record for record in records if record.kind in PROJECT_KINDS]
    store = ctx.memory.store
    stale = [quote_code(shorten_content(record)) for record in records if store.describe_drift(record)]
    done = store.make_shareable(*(record.id for record in records if record not in known))
    is_on = ctx.memory.sharing.status().there
    data = {"entries": [make_project_memory_data(record) for record in done], "on": is_on}
    if not done:
        return CommandResult(
            text=tr("{memories} can be shared already.", memories=tr_count(len(known), "memory")), data=data
        )
    state = tr("shared from now on") if is_on else "shareable"
    step = "" if is_on else tr("; `/memory share on` shares them")
    texts = ", ".join(quote_code(f"{record.id} {shorten_content(record)}") for record in done)
    doubt = tr("Check the text of {stale}: its file has changed since. ", stale=", ".join(stale)) if stale else ""
    return CommandResult(
        text=tr(
            "{doubt}Made {state}: {texts}{step} · `/memory undo`", doubt=doubt, state=state, texts=texts, step=step
        ),
        data=data,
    )


def _describe_private_facts(ctx: CommandContext) -> str:
    """Return which facts are not shared, and how to share them; "" if there are none."""
    store = ctx.memory.store
    facts = [one for one in store.records(("fact",)) if store.scope_of(one.id) == "project" and not one.is_variant]
    if not facts:
        return ""
    ids = " ".join(get_short_id(one) for one in facts[:_IDS_SHOWN])
    rest = tr(" and {count} more", count=len(facts) - _IDS_SHOWN) if len(facts) > _IDS_SHOWN else ""
    if len(facts) == 1:
        return tr(
            "1 fact that you told clio stays private, as it may be meant for you alone; `/memory share add {id}` "
            "makes it shareable.",
            id=ids,
        )
    return tr(
        "{facts} that you told clio stay private, as they may be meant for you alone; `/memory share add {ids}`{rest} "
        "makes them shareable.",
        facts=tr_count(len(facts), "fact"),
        ids=ids,
        rest=rest,
    )


def _turn_off(ctx: CommandContext, *, agreed: bool) -> CommandResult:
    sharing = ctx.memory.sharing
    if not agreed:
        status = sharing.status()
        if status.there and status.trusted:
            text = tr(
                "{memories} would be moved into `{folder_name}/ltm.json`, and `{folder}/` deleted. If you "
                "commit that, it is deleted for everyone; agree with them first.",
                memories=tr_count(len(status.shared), "memory"),
                folder_name=FOLDER_NAME,
                folder=_FOLDER,
            )
            then = "/memory share off --yes"
            return CommandResult(
                text=text, data=_make_share_data(status), follow_up=Confirm(question=tr("Do it?"), then=then)
            )
    number = sharing.turn_off()
    return CommandResult(
        text=tr(
            "Moved {memories} back to `{folder_name}/ltm.json`; nothing is shared now.",
            memories=tr_count(number, "memory"),
            folder_name=FOLDER_NAME,
        ),
        data={"on": False, "taken_back": number},
    )


def _delete_empty_files(ctx: CommandContext, days: str | None) -> CommandResult:
    try:
        old = TIDY_DAYS if days is None else float(days)
    except ValueError:
        raise UsageError(tr("--days takes a number of days, not {days!r}", days=days)) from None
    if not old >= 0:
        raise UsageError(tr("--days takes a number of days of at least 0, not {days!r}", days=days))
    number = ctx.memory.sharing.tidy(old)
    return CommandResult(
        text=tr("Deleted {files} without a memory.", files=tr_count(number, "file")), data={"deleted": number}
    )


def _show_status(ctx: CommandContext) -> CommandResult:
    status = ctx.memory.sharing.status()
    if not status.there:
        own = tr_count(len(status.private), "memory")
        state = (
            tr("{own} can be shared: `/memory share on` lists them and asks first", own=own)
            if status.private
            else tr("there is no memory to share yet")
        )
        text = tr("Nothing is shared; {state}.", state=state)
        text = f"{text} {tr(_SHAREABLE)}. {_describe_private_facts(ctx)}".rstrip()
        return CommandResult(text=text, data=_make_share_data(status))
    if not status.trusted:
        text = tr(
            "`{folder}/` came with the project and is not read, because you do not trust it yet. "
            "Trust it with `/trust`; `/memory share on` trusts it and shares yours.",
            folder=_FOLDER,
        )
        return CommandResult(text=text, data=_make_share_data(status))
    by = ", ".join(f"{name or 'unnamed'} {number:,}" for name, number in status.by.items())
    parts = [
        tr(
            "{memories} shared in `{folder}/`{value}.",
            memories=tr_count(len(status.shared), "memory"),
            folder=_FOLDER,
            value=tr(" (by {by})", by=quote_code(by)) if by else "",
        )
    ]
    if status.private:
        parts.append(
            tr(
                "{memories} not shared yet; `/memory share on` shares them.",
                memories=tr_count(len(status.private), "memory"),
            )
        )
    parts.append(_describe_private_facts(ctx))
    parts += [
        _list_memories(
            status.rivals, tr("contradict someone else's memory; `/memory forget ID` with one of the two resolves it")
        )
    ]
    parts += [
        _list_memories(
            status.late, tr("changed while someone else forgot them; `/memory add` with the same text restores one")
        )
    ]
    if status.problems:
        rows = [f"- {quote_code(f'{one.path}: {one.why}')}" for one in status.problems[:_PROBLEMS_SHOWN]]
        parts.append("\n".join([tr("\n{files} left out:\n", files=tr_count(len(status.problems), "file")), *rows, ""]))
    if status.emptied:
        parts.append(
            tr(
                "{files} without a memory; `/memory share tidy` deletes the old ones.",
                files=tr_count(status.emptied, "file"),
            )
        )
    parts += [_explain_ignore_rule(status.rule)] if status.rule else []
    parts.append(_explain_commit(ctx, status))
    return CommandResult(text="\n".join(part for part in parts if part).strip(), data=_make_share_data(status))


def _list_memories(entries: tuple[MemoryRecord, ...], what: str) -> str:
    if not entries:
        return ""
    rows = [f"- {quote_code(f'{entry.id} {entry.content} ({entry.by})')}" for entry in entries[:_SHOWN]]
    return "\n".join([f"\n{tr_count(len(entries), 'memory')} {what}:\n", *rows, ""])


def _explain_ignore_rule(rule: Rule) -> str:
    lines = ", ".join(map(quote_code, rule.lines))
    begin = (
        f"git ignores it: {quote_code(rule.pattern)} in {quote_code(rule.where)}"
        if rule.where
        else f"git also tracks your private files in `{FOLDER_NAME}/`"
    )
    return tr(
        "{begin}. Put these lines at the end of {file}, or `/memory share on --gitignore` does: {lines}.",
        begin=begin,
        file=quote_code(rule.file),
        lines=lines,
    )


def _explain_commit(ctx: CommandContext, status: Status) -> str:
    if not status.uncommitted:
        return ""
    files = tr_count(status.uncommitted, "file is", "files are")
    ignoring = " .gitignore" if (ctx.loaded.main_project / ".gitignore").exists() else ""
    return tr(
        "{files} not committed: {value}, then commit.",
        files=files,
        value=quote_code(f"git add {FOLDER_NAME}{ignoring}"),
    )


def _make_share_data(status: Status) -> dict[str, object]:
    return {
        "there": status.there,
        "trusted": status.trusted,
        "shared": [make_project_memory_data(entry) for entry in status.shared],
        "private": len(status.private),
        "by": status.by,
        "rivals": [entry.id for entry in status.rivals],
        "late": [make_project_memory_data(entry) for entry in status.late],
        "emptied": status.emptied,
        "problems": msgspec.to_builtins(status.problems),
        "uncommitted": status.uncommitted,
        "rule": msgspec.to_builtins(status.rule),
    }


def _suggest_share(ctx: CommandContext, argument: str) -> list[Suggestion]:
    before, _, typed = argument.rpartition(" ")
    if not before:
        return [Suggestion(text=word, note=tr(note)) for word, note in _SHARE_VERBS.items() if word.startswith(typed)]
    if before.split(" ")[0] == "add":
        return list(suggest_ids(*TYPED_KINDS, several=True)(ctx, argument))
    options = {"on": [("--gitignore", tr("stop git from ignoring the folder")), ("--yes", tr("without asking"))]}
    return [Suggestion(text=text, note=note) for text, note in options.get(before.split(" ")[0], [])]


SHARE_ROWS: tuple[Command, ...] = (
    Command(
        name="share",
        argument="on|off|add|status|tidy [ID…] [--gitignore] [--yes]",
        summary=mark("share project memory with a team through git"),
        handler=share_memory,
        suggest_word=_suggest_share,
    ),
)
