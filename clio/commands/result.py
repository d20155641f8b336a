"""What a slash command hands back: what is to be shown, and what is still to be done.

A handler neither prints nor raises to steer: where something must happen that only the entrypoint can do, its result
has a follow-up that names it.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.commands.called import MakePrompt
from clio.commands.follow_ups import (
    Choose,
    ClearScreen,
    Confirm,
    ExportSession,
    GitWork,
    GrantTrust,
    LoadWindow,
    NewSession,
    Prefill,
    Quit,
    ReviewPlan,
    RunPrompt,
    SetApproval,
    SetModel,
    SetTheme,
    SleepNow,
    SwitchSession,
)
from clio.commands.long_work import Track
from clio.commands.tables import Bar, Table

if TYPE_CHECKING:  # the commands' names must be known before this room is needed
    from clio.sessions.state import Todo


class EditText(Struct, frozen=True, kw_only=True, tag="edit_text"):
    """Open the text in the person's editor; hand what they saved to `then`, unless they changed nothing.

    suffix: of the file they see, such as ".md", for the editor's colours.
    """

    text: str
    then: Callable[[str], "CommandResult"]
    suffix: str = ".md"


class WaitFor(Struct, frozen=True, kw_only=True, tag="wait_for"):
    """Await this, then show what it gave. saying: what is waited for, for the person; may be stopped with Ctrl-C.

    work: raises ClioError.
    """

    saying: str
    work: Callable[[], Awaitable["CommandResult"]]


class LongWork(Struct, frozen=True, kw_only=True, tag="long_work"):
    """Carry this out in a thread, with a bar where it takes long, until it is done or a person stops it.

    label: what is done, such as "reading documents". work: keeps what is done when it is stopped; raises ClioError.
    """

    label: str
    work: Callable[[Track], "CommandResult"]


FollowUp = (
    Quit
    | ClearScreen
    | SwitchSession
    | NewSession
    | SetModel
    | SetApproval
    | ReviewPlan
    | RunPrompt
    | MakePrompt
    | GrantTrust
    | LoadWindow
    | Prefill
    | EditText
    | ExportSession
    | SleepNow
    | WaitFor
    | LongWork
    | SetTheme
    | GitWork
    | Confirm
    | Choose
)


class CommandResult(Struct, frozen=True, kw_only=True):
    """What a command gave, shown in the order of the fields, and what is still to be done.

    text: Markdown. verbatim: shown as it is, without markup. diff: a unified diff, for the screen to colour.
    todos: a list of work, drawn as one; todos_whole: nothing of it is folded.
    ok: False where the command was not understood or refused; `text` then is one plain sentence.
    data: the same in JSON's own types, for `--json`; None where a command has only words to give.
    copy: put on the clipboard too, where the screen is a terminal.
    """

    bar: Bar | None = None
    text: str = ""
    verbatim: str = ""
    diff: str = ""
    table: Table | None = None
    todos: "tuple[Todo, ...]" = ()
    todos_whole: bool = False
    ok: bool = True
    follow_up: FollowUp | None = None
    data: object = None
    copy: str = ""


def refuse(sentence: str) -> CommandResult:
    """A result that says why nothing was done, and what would work."""
    return CommandResult(text=sentence, ok=False)
