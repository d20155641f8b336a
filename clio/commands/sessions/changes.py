"""Naming, copying and deleting sessions."""

from typing import TYPE_CHECKING

from clio.commands.arguments import read
from clio.commands.command import Shell
from clio.commands.follow_ups import Confirm, SwitchSession
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, refuse
from clio.commands.sessions.table import count_messages, id_length, short_title, title_of

if TYPE_CHECKING:
    from clio.sessions.state import SessionInfo

_CHANGES_NOTHING = "An incognito clio changes nothing on disk; start without --incognito to {}."


def name_running(shell: Shell, argument: str) -> CommandResult:
    """Call the running session something a person remembers."""
    title = _title(shell, read(argument).text)
    if not title:
        return refuse("A name needs words: write /session name TEXT")
    shell.session.rename(title)
    return CommandResult(text=f"This session is now {code(title)}.")


def name_stored(shell: Shell, argument: str) -> CommandResult:
    """Give a stored session a name, or another one. Raises SessionLocked where a clio has it open."""
    words = read(argument).words
    if len(words) < 2:
        return refuse("Which session, and what is it called? Write clio sessions name ID TEXT")
    if shell.config.incognito:
        return refuse(_CHANGES_NOTHING.format("name a session"))
    title = _title(shell, " ".join(words[1:]))
    session_id = shell.store.find(words[0])
    if unsaved := shell.store.rename(session_id, title):
        return refuse(f"The name is not saved: {unsaved}")
    return CommandResult(text=f"The session is now {code(title)}.", data={"id": session_id, "name": title})


def fork_running(shell: Shell, argument: str) -> CommandResult:
    """Copy the running session as it is now, and go on in the copy."""
    session = shell.session
    if not session.persistent:
        return refuse(_CHANGES_NOTHING.format("copy a session"))
    if not session.messages:
        return refuse("Nothing has been said in this session yet, so there is nothing to copy; it is a new one already")
    copied = _fork(shell, session.id, read(argument).text)
    known = [info.id for info in shell.store.list()]
    stays = f"The session before stays as it is: /session switch {session.id[: id_length(known)]} goes back."
    return CommandResult(text=stays, follow_up=SwitchSession(session_id=copied), data=_copied(session.id, copied))


def fork_stored(shell: Shell, argument: str) -> CommandResult:
    """Copy a stored session, running or not."""
    words = read(argument).words
    if not words:
        return refuse("Which session? Write clio sessions fork ID [NAME]; clio sessions list shows them")
    if shell.config.incognito:
        return refuse(_CHANGES_NOTHING.format("copy a session"))
    session_id = shell.store.find(words[0])
    copied = _fork(shell, session_id, " ".join(words[1:]))
    return CommandResult(text=f"Copied; clio -r {copied} goes on in the copy.", data=_copied(session_id, copied))


def delete(shell: Shell, argument: str) -> CommandResult:
    """Remove a stored session for good; asks unless `--yes` is given."""
    given = read(argument, switches=("--yes",))
    if not given.words:
        return refuse("Which session? Write /session delete with a number, an id or a name; /session list shows them")
    if shell.config.incognito:
        return refuse(_CHANGES_NOTHING.format("delete a session"))
    session_id = shell.store.find(given.text)
    if session_id == shell.session.id:
        return refuse("The running session cannot be deleted; start another one with /session new first")
    info = _info(shell, session_id)
    called = f"{short_title(info, 60)!r} ({count_messages(info.messages)})" if info else repr(session_id)
    if "--yes" not in given.options:
        question = f"Delete the session {called} for good?"
        return CommandResult(follow_up=Confirm(question=question, then=f"/session delete {session_id} --yes"))
    shell.store.delete(session_id)
    return CommandResult(text=f"Deleted {code(called)}.", data={"deleted": session_id})


def _fork(shell: Shell, session_id: str, name: str) -> str:
    info = _info(shell, session_id)
    title = f"{title_of(info)} (copy)" if info else None
    return shell.store.fork(session_id, upto=None, name=_title(shell, name) or title)


def _copied(source: str, copy: str) -> dict[str, str]:
    return {"id": copy, "parent": source}


def _info(shell: Shell, session_id: str) -> "SessionInfo | None":
    """What the list says; None where the session was deleted this instant."""
    return next((info for info in shell.store.list() if info.id == session_id), None)


def _title(shell: Shell, text: str) -> str:
    return " ".join(shell.redactor.redact(text).text.split())
