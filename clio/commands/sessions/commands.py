"""The table of the commands about sessions, and going from one to another."""

from clio.commands.arguments import read
from clio.commands.command import Command, Shell
from clio.commands.context_commands import trim_now
from clio.commands.follow_ups import NewSession, SwitchSession
from clio.commands.result import CommandResult, refuse
from clio.commands.sessions.changes import delete, fork_running, name_running
from clio.commands.sessions.export import OPTIONS, export_running, suggest_export
from clio.commands.sessions.looks import show, show_list, suggest_all
from clio.commands.sessions.search import search, suggest_scope
from clio.commands.sessions.table import suggest_sessions


def switch(shell: Shell, argument: str) -> CommandResult:
    """Go on with another session."""
    given = read(argument)
    if not given.words:
        return refuse("Which session? Write /session switch with a number, an id or a name; /session list shows them")
    session_id = shell.store.find(given.text)
    if session_id == shell.session.id:
        return CommandResult(text="That is the running session.")
    return CommandResult(follow_up=SwitchSession(session_id=session_id))


def new(shell: Shell, argument: str) -> CommandResult:
    """Start an empty session; the one before stays on disk."""
    return CommandResult(follow_up=NewSession(name=read(argument).text or None))


SESSION = (
    Command(
        name="session",
        summary="the running session and those before it",
        handler=show,
        subcommands=(
            Command(
                name="show",
                argument="[SESSION]",
                summary="the running session, or another one",
                handler=show,
                suggest=suggest_sessions,
            ),
            Command(
                name="list",
                argument="[--all]",
                summary="the sessions of this project, newest first",
                handler=show_list,
                suggest_word=suggest_all,
            ),
            Command(
                name="search",
                argument="WORDS [in:output] [--all]",
                summary="what was said in other sessions; Enter then resumes the best",
                handler=search,
                suggest_word=suggest_scope,
            ),
            Command(
                name="switch",
                argument="SESSION",
                summary="go on with another one: number, id, start of an id or name",
                handler=switch,
                suggest=suggest_sessions,
            ),
            Command(name="name", argument="TEXT", summary="name the running session", handler=name_running),
            Command(name="new", argument="[NAME]", summary="start an empty one", handler=new),
            Command(name="fork", argument="[NAME]", summary="go on in a copy of the running one", handler=fork_running),
            Command(name="trim", summary="make room in the model's window now", handler=trim_now),
            Command(
                name="delete",
                argument="SESSION [--yes]",
                summary="remove one for good",
                handler=delete,
                suggest=suggest_sessions,
            ),
            Command(
                name="export",
                argument=f"PATH {OPTIONS}",
                summary="write the running one to a file to hand on",
                handler=export_running,
                suggest_word=suggest_export,
            ),
        ),
    ),
)
