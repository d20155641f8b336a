"""The commands about sessions as `clio sessions` has them: no session runs there, so each names the one it means."""

from clio.commands.command import Command
from clio.commands.sessions.changes import delete, fork_stored, name_stored
from clio.commands.sessions.export import OPTIONS, export_stored
from clio.commands.sessions.looks import show_list, show_stored
from clio.commands.sessions.search import search

SESSIONS = Command(
    name="sessions",
    summary="the sessions of this project, newest first",
    handler=show_list,
    subcommands=(
        Command(
            name="list", argument="[--all]", summary="the sessions of this project, newest first", handler=show_list
        ),
        Command(
            name="search",
            argument="WORDS [in:output]",
            summary="what was said; on a terminal Enter then resumes the best",
            handler=search,
        ),
        Command(name="show", argument="ID", summary="one session: length, model, tokens, todos", handler=show_stored),
        Command(name="name", argument="ID TEXT", summary="give a session a name", handler=name_stored),
        Command(name="fork", argument="ID [NAME]", summary="copy a session", handler=fork_stored),
        Command(
            name="export",
            argument=f"ID PATH {OPTIONS}",
            summary="write a session to a file to hand on",
            handler=export_stored,
        ),
        Command(name="delete", argument="ID [--yes]", summary="remove a session for good", handler=delete),
    ),
)
