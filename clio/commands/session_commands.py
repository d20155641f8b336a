"""/session and `clio sessions`: listing, searching, naming, copying and deleting sessions."""

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import structs, to_builtins

from clio.commands.arguments import parse_options
from clio.commands.command import (
    Choose,
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    NewSession,
    Prefill,
    Suggestion,
    SwitchSession,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.context_commands import trim_now
from clio.commands.session_table import (
    EXPORT_OPTIONS,
    compute_unique_id_length,
    export_running,
    export_stored,
    format_last_used,
    format_short_title,
    format_title,
    make_session_table,
    preview_session,
    suggest_export,
    suggest_sessions,
)
from clio.text.formatting import format_stored_time, truncate
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.memory.transcripts.session_text import Recall, RecalledPassage
    from clio.sessions.session import Session
    from clio.sessions.state import SessionInfo


_INCOGNITO_REFUSAL = mark("Incognito mode changes nothing on disk; start without --incognito to {}.")


def name_running_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Name the running session."""
    title = _clean_title(ctx, parse_options(argument).text)
    if not title:
        return make_refusal(tr("Which name? Write /session name TEXT"))
    ctx.session.rename(title)
    return CommandResult(text=tr("This session is now {title}.", title=quote_code(title)))


def name_stored_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Name or rename a stored session. Raises SessionLocked if a clio process has it open."""
    words = parse_options(argument).words
    if len(words) < 2:
        return make_refusal(tr("Which session, and which name? Write clio sessions name ID TEXT"))
    if ctx.config.incognito:
        return make_refusal(tr(_INCOGNITO_REFUSAL).format(tr("name a session")))
    title = _clean_title(ctx, " ".join(words[1:]))
    session_id = ctx.store.find(words[0])
    if unsaved := ctx.store.rename(session_id, title):
        return make_refusal(tr("The name is not saved: {unsaved}", unsaved=unsaved))
    return CommandResult(
        text=tr("The session is now {title}.", title=quote_code(title)), data={"id": session_id, "name": title}
    )


def fork_running(ctx: CommandContext, argument: str) -> CommandResult:
    """Copy the running session as it is now, and continue in the copy."""
    session = ctx.session
    if not session.is_persistent:
        return make_refusal(tr(_INCOGNITO_REFUSAL).format(tr("copy a session")))
    # A session without messages has no file.
    if not session.messages:
        return make_refusal(tr("This session has no messages yet, so there is nothing to copy"))
    copy_id = _copy_session(ctx, session.id, parse_options(argument).text)
    all_ids = [info.id for info in ctx.store.list()]
    text = tr(
        "The original is unchanged: /session switch {id} returns to it.",
        id=session.id[: compute_unique_id_length(all_ids)],
    )
    return CommandResult(
        text=text, follow_up=SwitchSession(session_id=copy_id), data=_make_copy_data(session.id, copy_id)
    )


def fork_stored(ctx: CommandContext, argument: str) -> CommandResult:
    """Copy a stored session, running or not."""
    words = parse_options(argument).words
    if not words:
        return make_refusal(tr("Which session? Write clio sessions fork ID [NAME]; clio sessions list shows them"))
    if ctx.config.incognito:
        return make_refusal(tr(_INCOGNITO_REFUSAL).format(tr("copy a session")))
    session_id = ctx.store.find(words[0])
    copy_id = _copy_session(ctx, session_id, " ".join(words[1:]))
    return CommandResult(
        text=tr("Copied; clio -r {copy_id} continues in the copy.", copy_id=copy_id),
        data=_make_copy_data(session_id, copy_id),
    )


def delete_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete a stored session permanently; ask the user first unless `--yes` is given."""
    given = parse_options(argument, switches=("--yes",))
    if not given.words:
        return make_refusal(
            tr("Which session? Write /session delete with a number, an id or a name; /session list shows them")
        )
    if ctx.config.incognito:
        return make_refusal(tr(_INCOGNITO_REFUSAL).format(tr("delete a session")))
    session_id = ctx.store.find(given.text)
    # Its next message would create the file again.
    if session_id == ctx.session.id:
        return make_refusal(tr("The running session cannot be deleted; start another one with /session new first"))
    info = _find_listed_session(ctx, session_id)
    description = (
        f"{format_short_title(info, 60)!r} ({tr_count(info.messages, 'message')})" if info else repr(session_id)
    )
    if "--yes" not in given.options:
        question = tr("Delete the session {description} permanently?", description=description)
        return CommandResult(follow_up=Confirm(question=question, then=f"/session delete {session_id} --yes"))
    ctx.store.delete(session_id)
    return CommandResult(
        text=tr("Deleted {description}.", description=quote_code(description)), data={"deleted": session_id}
    )


def _copy_session(ctx: CommandContext, session_id: str, name: str) -> str:
    info = _find_listed_session(ctx, session_id)
    title = tr("{title} (copy)", title=format_title(info)) if info else None
    return ctx.store.fork(session_id, upto=None, name=_clean_title(ctx, name) or title)


def _make_copy_data(source: str, copy: str) -> dict[str, str]:
    return {"id": copy, "parent": source}


def _find_listed_session(ctx: CommandContext, session_id: str) -> "SessionInfo | None":
    """Return the session's entry in the list; None if it was deleted just now."""
    return next((info for info in ctx.store.list() if info.id == session_id), None)


def _clean_title(ctx: CommandContext, text: str) -> str:
    """Return a session name on one line, with secrets replaced."""
    return " ".join(ctx.redactor.redact(text).text.split())


MAX_LISTED = 30
"""Number of sessions in a list unless `--all` is given."""


def show_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the details of one session, by default the running one."""
    given = parse_options(argument)
    session_id = ctx.store.find(given.text) if given.words else ctx.session.id
    if session_id == ctx.session.id:
        return _describe_session(ctx, ctx.session, None)
    info = next((info for info in ctx.store.list() if info.id == session_id), None)
    # In memory only: looking at a session must not take its lock or change a file of it.
    return _describe_session(ctx, ctx.store.open(session_id, persist=False), info)


def offer_sessions(ctx: CommandContext, argument: str) -> CommandResult:
    """Let the user choose a session to switch to; without a terminal to draw the list, show the running session."""
    shown = show_session(ctx, argument)
    return shown if argument else structs.replace(shown, follow_up=_offer_sessions(ctx))


def list_sessions(ctx: CommandContext, argument: str) -> CommandResult:
    """List the project's sessions, newest first; the numbers can be used with `switch`, `delete` and `-r`."""
    given = parse_options(argument, switches=("--all",))
    if given.words:
        return make_refusal(
            tr(
                "/session list takes no argument, not {words!r}; use /session search to find a session",
                words=given.words[0],
            )
        )
    infos = ctx.store.list()
    if not infos:
        return CommandResult(
            text=tr("No sessions yet in this project; a session is saved from its first message on."), data=[]
        )
    newest = None if "--all" in given.options or len(infos) <= MAX_LISTED else MAX_LISTED
    table = make_session_table(infos, running=ctx.session.id, now=time.time(), newest=newest)
    text = (
        tr(
            "The {newest} newest of {count:,} sessions; /session list --all shows all of them.",
            newest=newest,
            count=len(infos),
        )
        if newest
        else ""
    )
    return CommandResult(text=text, table=table, data=[_make_listed_data(info, ctx) for info in infos])


def show_stored_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Show one stored session."""
    if not parse_options(argument).words:
        return make_refusal(tr("Which session? Write clio sessions show ID; clio sessions list shows them"))
    return show_session(ctx, argument)


def suggest_list_options(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the option of `list`."""
    return (Suggestion(text="--all", note=tr("all, not only the newest {max_listed}", max_listed=MAX_LISTED)),)


def _describe_session(ctx: CommandContext, session: "Session", info: "SessionInfo | None") -> CommandResult:
    """Describe a session. info: its entry in the list; None for the running one."""
    billed_tokens = sum(bill.prompt_tokens + bill.completion_tokens for bill in session.bills)
    open_todos = sum(todo.status != "completed" for todo in session.todos)
    rows = [
        (tr("id"), session.id),
        (tr("name"), session.name or "–"),
        (tr("started"), _format_moment(session.created_at)),
        *([(tr("last used"), _format_moment(info.updated_at))] if info else []),
        (tr("messages"), str(len(session.messages))),
        (tr("tokens billed"), f"{billed_tokens:,}"),
        *([(tr("model"), model)] if (model := _find_model(session) if info else ctx.provider.model) else []),
        *([(tr("effort"), ctx.efforts.get_effort(ctx.provider.model))] if info is None else []),
        *([(tr("open todos"), str(open_todos))] if open_todos else []),
        *([(tr("trims"), str(len(session.trims)))] if session.trims else []),
        *([(tr("copied from"), session.parent)] if session.parent and not session.delegated else []),
        *(
            [
                (
                    tr("created by"),
                    tr("the sub-agent {delegated}, for {parent}", delegated=session.delegated, parent=session.parent),
                )
            ]
            if session.delegated
            else []
        ),
        *_make_import_rows(session),
        *([(tr("from"), tr("the repository, not written by clio on this machine"))] if session.is_foreign else []),
        (tr("folder"), str(session.working_directory)),
        (tr("on disk"), _describe_storage(ctx) if info is None else tr("yes, in use") if info.running else tr("yes")),
    ]
    return CommandResult(
        table=Table(columns=(tr("session"), ""), rows=tuple(rows), wide_column=1),
        todos=session.todos if info else (),
        data={
            "id": session.id,
            "name": session.name,
            "created_at": session.created_at,
            "updated_at": info.updated_at if info else None,
            "messages": len(session.messages),
            "tokens_billed": billed_tokens,
            "model": _find_model(session),
            "open_todos": open_todos,
            "todos": to_builtins(session.todos),
            "trims": len(session.trims),
            "parent": session.parent,
            "delegated": session.delegated,
            "came_with_repository": session.is_foreign,
            "imported": to_builtins(session.imported),
            "working_directory": str(session.working_directory),
            "running": info.running if info else True,
        },
    )


def _find_model(session: "Session") -> str | None:
    """Return the model that was chosen for the session, else the one that answered last."""
    return session.model or (session.bills[-1].model if session.bills else None)


def _make_import_rows(session: "Session") -> list[tuple[str, str]]:
    imported = session.imported
    if imported is None:
        return []
    within = [(tr("part of"), imported.within)] if imported.within else []
    return [
        (
            tr("imported"),
            tr(
                "{moment} from {agent}: {source}",
                moment=_format_moment(imported.at),
                agent=imported.agent,
                source=imported.source,
            ),
        ),
        *within,
    ]


def _make_listed_data(info: "SessionInfo", ctx: CommandContext) -> dict[str, object]:
    return {
        "id": info.id,
        "name": info.name,
        "first_words": info.first_words,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "messages": info.messages,
        "working_directory": info.working_directory,
        "running": info.running or info.id == ctx.session.id,
        "came_with_repository": info.came_with_project,
        "imported_from": info.imported.agent if info.imported else None,
    }


def _describe_storage(ctx: CommandContext) -> str:
    session = ctx.session
    if not session.is_persistent:
        return tr("no, incognito")
    if session.unsaved_reason:
        return f"NOT SAVED: {session.unsaved_reason}"
    return tr("yes") if session.messages else tr("from its first message on")


def _format_moment(seconds: float) -> str:
    return format_stored_time("%Y-%m-%d %H:%M", seconds) if seconds else "–"


MAX_MATCHES = 10
_TITLE_CHARS = 26
_SNIPPET_CHARS = 120
_WORD = re.compile(r"\w+")
_SCOPE = re.compile(r"(?<!\S)in:\w+(?!\S)", re.IGNORECASE)


def search_sessions(ctx: CommandContext, argument: str) -> CommandResult:
    """Search the sessions, best match first; the next prompt line then contains the command that resumes it."""
    given = parse_options(argument, switches=("--all", "--why"))
    # A query in double quotes is searched as a phrase, so the quotes must stay.
    query = given.words_as_typed if given.words_as_typed.startswith('"') else given.text
    if not query.strip():
        return make_refusal(tr("Search for what? Write /session search WORDS; in:output searches the tools' output"))
    if ctx.config.incognito:
        return make_refusal(tr("Incognito mode reads no earlier session; start without --incognito to search."))
    recall = ctx.memory.recall_sessions(
        query,
        current=ctx.session.id or None,
        include_current="--all" in given.options,
        max_sessions=MAX_MATCHES,
        max_results=MAX_MATCHES,
    )
    best_passages = [session.passages[0] for session in recall.sessions if session.passages]
    data = _make_result_data(query, recall)
    left_out = (
        tr(" This session is left out; --all searches it, too.")
        if ctx.session.id and "--all" not in given.options
        else ""
    )
    if not best_passages:
        found_none = tr(
            "No {other}session contains {query}.", other="earlier " * bool(left_out), query=quote_code(query)
        )
        text = f"{found_none}{left_out}{_describe_unsearched(recall)}"
        return CommandResult(text=text, data=data)
    infos = ctx.store.list()
    # The number of the list, not of the result, so that `/session switch 3` means the same everywhere.
    positions = {info.id: place for place, info in enumerate(infos)}
    best_other = next((hit for hit in best_passages if hit.session_id != ctx.session.id), None)
    # Without a running session there is no next prompt line.
    resume = (
        tr("Enter resumes “{result_title}”.", result_title=quote_code(_make_result_title(best_other)))
        if best_other and ctx.session.id
        else ""
    )
    score = _describe_score(best_passages[0]) if "--why" in given.options else ""
    return CommandResult(
        text=f"{score}{_describe_unsearched(recall)} {resume}{left_out}".strip(),
        table=Table(
            columns=("#", tr("session"), tr("last used"), tr("match"), tr("id")),
            rows=tuple(_make_result_row(hit, infos, positions, query, ctx.session.id) for hit in best_passages),
            wide_column=3,
        ),
        follow_up=Prefill(text=f"/session switch {best_other.session_id[: compute_unique_id_length(positions)]}")
        if best_other
        else None,
        data=data,
    )


def suggest_search_options(ctx: CommandContext, argument: str) -> "Iterable[Suggestion]":
    """Complete the options of a query."""
    yield Suggestion(text="in:output", note=tr("search the tools' full output"))
    yield Suggestion(text="in:title", note=tr("search the sessions' titles"))
    yield Suggestion(text="--all", note=tr("search the running session too"))
    yield Suggestion(text="--why", note=tr("show the score of the best match"))


def _make_result_row(
    passage: "RecalledPassage", infos: "list[SessionInfo]", positions: dict[str, int], query: str, running: str
) -> tuple[str, str, str, str, str]:
    position = positions.get(passage.session_id)
    length = compute_unique_id_length(positions)
    snippet = find_snippet(passage.snippet, query, _SNIPPET_CHARS)
    if position is None:  # deleted since it was indexed
        return ("–", truncate(_make_result_title(passage), _TITLE_CHARS), "–", snippet, passage.session_id[:length])
    info = infos[position]
    used = format_last_used(info, running, time.time())
    return (str(position + 1), format_short_title(info, _TITLE_CHARS), used, snippet, info.id[:length])


def find_snippet(text: str, query: str, chars: int) -> str:
    """Return at most about `chars` characters of a text, around the query's words if it contains them."""
    text = " ".join(text.split())
    if len(text) <= chars:
        return text
    match_start = _find_query_position(query, text.casefold())
    start = max(0, min(match_start - chars // 3, len(text) - chars))
    # Cut between words; the match itself stays inside.
    if start:
        start = text.find(" ", start - 1, match_start) + 1 or start
    end = start + chars
    if end < len(text) and " " in text[match_start + 1 : end]:
        end = text.rfind(" ", match_start + 1, end)
    before = "… " if start and not text[start:].startswith("…") else ""
    return before + text[start:end].strip() + ("…" if end < len(text) else "")


def _find_query_position(query: str, casefolded_text: str) -> int:
    """Return the position of the query in the text, else of its longest word found there; 0 if there is none.

    The last three letters of a word are ignored, because the text may contain it with another ending.
    """
    words = _WORD.findall(_SCOPE.sub(" ", query).casefold())
    searched_texts = [
        " ".join(words),
        *(word[: max(4, len(word) - 3)] for word in sorted(words, key=len, reverse=True)),
    ]
    return next((position for text in searched_texts if text and (position := casefolded_text.find(text)) >= 0), 0)


def _describe_score(passage: "RecalledPassage") -> str:
    """Return a sentence with the parts of a match's score; "" if all are 0."""
    signals = passage.signals
    named = {
        "exact words": signals.exact,
        "words": signals.keywords,
        "density": signals.density,
        "title": signals.title,
    }
    parts = ", ".join(f"{name} {round(points, 1):g}" for name, points in named.items() if round(points, 1))
    return tr("Score of the best match: {parts}.", parts=parts) if parts else ""


def _describe_unsearched(recall: "Recall") -> str:
    """Return how many sessions could not be searched, in parentheses; "" if none."""
    parts: list[str] = []
    if recall.unreadable:
        parts.append(tr("{sessions} cannot be read", sessions=tr_count(len(recall.unreadable), "session")))
    if recall.unsearched:
        parts.append(
            tr("{sessions} not indexed yet, search again in a moment", sessions=tr_count(recall.unsearched, "session"))
        )
    return f" ({'; '.join(parts)})" if parts else ""


def _make_result_title(passage: "RecalledPassage") -> str:
    return " ".join(passage.session_name.split()) or tr("(no messages yet)")


def _make_result_data(query: str, recall: "Recall") -> dict[str, object]:
    return {
        "query": query,
        "sessions": [
            {
                "id": session.session_id,
                "name": session.session_name,
                "updated_at": session.updated,
                "score": session.score,
                "passages": [_make_passage_data(passage) for passage in session.passages],
            }
            for session in recall.sessions
        ],
        "unreadable": list(recall.unreadable),
        "unsearched": recall.unsearched,
    }


def _make_passage_data(passage: "RecalledPassage") -> dict[str, object]:
    return {
        "message_id": passage.message_id,
        "role": passage.role,
        "created": passage.created,
        "score": passage.score,
        "exact": passage.signals.exact,
        "keywords": passage.signals.keywords,
        "density": passage.signals.density,
        "title": passage.signals.title,
        "snippet": passage.snippet,
    }


def _offer_sessions(ctx: CommandContext) -> Choose | None:
    """Return the list of sessions to switch to; None if there is no other one."""
    infos = ctx.store.list()
    by_id = {info.id: info for info in infos}
    if not by_id.keys() - {ctx.session.id}:
        return None
    ids = tuple(by_id)
    return Choose(
        title=tr("Switch to which session?"),
        table=make_session_table(infos, running=ctx.session.id, now=time.time()),
        values=ids,
        then="/session switch",
        start=ids.index(ctx.session.id) if ctx.session.id in by_id else 0,
        preview=lambda session_id: preview_session(by_id[session_id]),
    )


def switch_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Switch to another session."""
    given = parse_options(argument)
    if not given.words:
        return structs.replace(
            make_refusal(
                tr("Which session? Write /session switch with a number, an id or a name; /session list shows them")
            ),
            follow_up=_offer_sessions(ctx),
        )
    session_id = ctx.store.find(given.text)
    if session_id == ctx.session.id:
        return CommandResult(text=tr("That is the running session."))
    return CommandResult(follow_up=SwitchSession(session_id=session_id))


def new_session(ctx: CommandContext, argument: str) -> CommandResult:
    """Start an empty session; the current one stays on disk."""
    return CommandResult(follow_up=NewSession(name=parse_options(argument).text or None))


SESSION = (
    Command(
        name="session",
        aliases=("sessions",),
        summary=mark("the running session, and earlier ones"),
        handler=offer_sessions,
        subcommands=(
            Command(
                name="show",
                argument="[SESSION]",
                summary=mark("the running session, or another one"),
                handler=show_session,
                suggest=suggest_sessions,
            ),
            Command(
                name="list",
                argument="[--all]",
                summary=mark("the sessions of this project, newest first"),
                handler=list_sessions,
                suggest_word=suggest_list_options,
            ),
            Command(
                name="search",
                argument="WORDS [in:output] [--all] [--why]",
                summary=mark("search earlier sessions; Enter then resumes the best match"),
                handler=search_sessions,
                suggest_word=suggest_search_options,
            ),
            Command(
                name="switch",
                argument="SESSION",
                summary=mark("continue another session: number, id, start of an id or name"),
                handler=switch_session,
                suggest=suggest_sessions,
            ),
            Command(
                name="name", argument="TEXT", summary=mark("name the running session"), handler=name_running_session
            ),
            Command(name="new", argument="[NAME]", summary=mark("start an empty session"), handler=new_session),
            Command(
                name="fork", argument="[NAME]", summary=mark("continue in a copy of this session"), handler=fork_running
            ),
            Command(name="trim", summary=mark("trim the conversation now"), handler=trim_now),
            Command(
                name="delete",
                argument="SESSION [--yes]",
                summary=mark("delete a session permanently"),
                handler=delete_session,
                suggest=suggest_sessions,
            ),
            Command(
                name="export",
                argument=f"PATH {EXPORT_OPTIONS}",
                summary=mark("export this session to a file"),
                handler=export_running,
                suggest_word=suggest_export,
            ),
        ),
    ),
)


SESSIONS = Command(
    name="sessions",
    summary=mark("the sessions of this project, newest first"),
    handler=list_sessions,
    subcommands=(
        Command(
            name="list",
            argument="[--all]",
            summary=mark("the sessions of this project, newest first"),
            handler=list_sessions,
        ),
        Command(
            name="search",
            argument="WORDS [in:output] [--why]",
            summary=mark("search sessions; on a terminal Enter then resumes the best match"),
            handler=search_sessions,
        ),
        Command(
            name="show",
            argument="ID",
            summary=mark("one session: length, model, tokens, todos"),
            handler=show_stored_session,
        ),
        Command(name="name", argument="ID TEXT", summary=mark("rename a session"), handler=name_stored_session),
        Command(name="fork", argument="ID [NAME]", summary=mark("copy a session"), handler=fork_stored),
        Command(
            name="export",
            argument=f"ID PATH {EXPORT_OPTIONS}",
            summary=mark("export a session to a file"),
            handler=export_stored,
        ),
        Command(
            name="delete", argument="ID [--yes]", summary=mark("delete a session permanently"), handler=delete_session
        ),
    ),
)
