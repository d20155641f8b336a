"""What a slash command is, may see and returns; which typed lines are commands; and carrying one out."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from clio.commands.arguments import nearest
from clio.config.schema import ApprovalMode, Config
from clio.errors import ClioError, UsageError
from clio.messages import Fragment
from clio.prompt_files import load_prompt
from clio.storage.locks import sentence
from clio.text.formatting import span
from clio.text.listeners import Tell, never, to_nobody

if TYPE_CHECKING:
    from clio.agent.model_choice import EffortChoices
    from clio.agent.planning import Planning
    from clio.agent.spending import Spending
    from clio.agent.turn_files import TurnFiles
    from clio.config.loaded import Loaded
    from clio.context.window import ContextWindow
    from clio.mcp.servers import Servers
    from clio.memory.system import MemorySystem
    from clio.providers.base import Provider
    from clio.sandbox.sandbox import Sandbox
    from clio.security.approval import Policy
    from clio.security.redaction.redactor import Redactor
    from clio.sessions.session import Session
    from clio.sessions.state import Todo
    from clio.sessions.store import SessionStore
    from clio.skills.skills import SkillShelf


_COMMAND = re.compile(r"/([A-Za-z][\w-]*(:[\w.-]+)*)?(?!\S)")  # "/etc/hosts is wrong" is a prompt, not a command


def is_command(line: str) -> bool:
    """Whether the line is meant for clio and not for the model."""
    return _COMMAND.match(line.strip()) is not None


class Meaning(Struct, frozen=True, kw_only=True):
    """What a command that was typed stands for.

    text: what the model is told the person asks for. source: who wrote it: a file, a server.
    named: the part of it whose "@" mentions are looked up, as if they had been typed.
    model: answers this one turn; "" is the model of the session.
    tools: of the tools that change or reach something, only these may be called in the turn; None leaves all.
    lead: the prompt that says what the text is to the words.
    cap_tokens: the most of the text that is sent; it never takes more than a quarter of the window.
    """

    text: str
    source: str
    named: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    lead: str = "context/command"
    cap_tokens: int = 12_000


MakeMeaning = Callable[[], Awaitable[Meaning]]
"""Finds out what a line stands for. Awaited as a part of its turn, so it may take its time, ask the person, and be
stopped with Esc. Raises ClioError where there is to be no turn."""


class MakePrompt(Struct, frozen=True, kw_only=True, tag="make_prompt"):
    """Begin a turn with the line `said`, once `make` has found out what it stands for."""

    said: str
    make: MakeMeaning


def meant_fragment(meaning: Meaning, window_tokens: int) -> Fragment:
    """The text as it stands before the words that call it."""
    only = "" if meaning.tools is None else f"\n\nIn this turn only {_listed(meaning.tools)} may change anything."
    return Fragment(
        name=meaning.lead.rpartition("/")[2],
        text=f"{load_prompt(meaning.lead)}\n\n{meaning.text}{only}",
        source=meaning.source.replace('"', "'"),
        reason="the user called it",
        cap_tokens=min(meaning.cap_tokens, window_tokens // 4),
    )


def chip(said: str, meaning: Meaning) -> str:
    """The one line a person is shown instead of the text: "+ /review · 42 lines of .clio/commands/review.md"."""
    lines = len(meaning.text.splitlines())
    model = f" · answered by {meaning.model}" if meaning.model else ""
    return f"+ {said.split(maxsplit=1)[0]} · {lines:,} line{'s' * (lines != 1)} of {meaning.source}{model}"


def _listed(tools: tuple[str, ...]) -> str:
    return ", ".join(tools) or "no tool"


class Track(Struct, frozen=True, kw_only=True):
    """The two ends of a line to work in a thread.

    stop: whether it is to end; asked often, so it is quick. tell: told of how much is done, and of how much there is.
    """

    stop: Callable[[], bool] = never
    tell: Tell = to_nobody


def code(text: str) -> str:
    """The text as Markdown code, so that nothing in it is taken for markup; newlines become spaces."""
    return span(" ".join(text.split()))


class Table(Struct, frozen=True, kw_only=True):
    """Rows of plain text under headings.

    wide: the column that gives way when the terminal is narrow. cut: it is shortened then, instead of wrapped.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: int = 0
    cut: bool = False


class BarPart(Struct, frozen=True, kw_only=True):
    """One amount of a bar, its name, and the character it is drawn with."""

    name: str
    amount: int
    mark: str


class Bar(Struct, frozen=True, kw_only=True):
    """Amounts that make a whole, drawn beside each other and listed below. What is zero or less takes no room."""

    title: str
    parts: tuple[BarPart, ...]


ExportForm = Literal["html", "md", "json"]


class Quit(Struct, frozen=True, kw_only=True, tag="quit"):
    """Leave clio."""


class ClearScreen(Struct, frozen=True, kw_only=True, tag="clear_screen"):
    """Empty the terminal; the conversation stays."""


class SwitchSession(Struct, frozen=True, kw_only=True, tag="switch_session"):
    """Go on with another stored session."""

    session_id: str


class NewSession(Struct, frozen=True, kw_only=True, tag="new_session"):
    """Start an empty session; the one before stays on disk."""

    name: str | None = None


class SetModel(Struct, frozen=True, kw_only=True, tag="set_model"):
    """Talk to another model from the next turn on."""

    name: str


class SetApproval(Struct, frozen=True, kw_only=True, tag="set_approval"):
    """Decide anew who says yes to writes and commands."""

    mode: ApprovalMode


class ReviewPlan(Struct, frozen=True, kw_only=True, tag="review_plan"):
    """Show the plan and let the person approve, edit or decline it."""


class RunPrompt(Struct, frozen=True, kw_only=True, tag="run_prompt"):
    """Send this text as if the person had typed it."""

    text: str


class GrantTrust(Struct, frozen=True, kw_only=True, tag="grant_trust"):
    """Let the project's withheld settings count from now on."""


class LoadWindow(Struct, frozen=True, kw_only=True, tag="load_window"):
    """Find out how large the model's window is, which may mean to ask its server; then run `then`, a command line."""

    then: str


class Prefill(Struct, frozen=True, kw_only=True, tag="prefill"):
    """Put this text on the next prompt line, where Enter runs it and everything else edits it."""

    text: str


class ExportSession(Struct, frozen=True, kw_only=True, tag="export_session"):
    """Write a stored session as one text to hand on.

    path: as the person gave it; "-" is standard output. form: None goes by the path's ending.
    force: what is there already is replaced.
    """

    session_id: str
    path: str
    form: ExportForm | None = None
    force: bool = False


class SleepNow(Struct, frozen=True, kw_only=True, tag="sleep_now"):
    """Learn from earlier sessions; dry_run: only find out what would be done."""

    dry_run: bool = False


class SetTheme(Struct, frozen=True, kw_only=True, tag="set_theme"):
    """Draw everything in the colours of this theme from now on, and remember it; "" shows what there is."""

    name: str


class GitWork(Struct, frozen=True, kw_only=True, tag="git_work"):
    """Commit with the person's yes to message and files, or put into words what a branch holds; nothing is pushed.

    words: for a commit what its message is to say, for "pr" the branch to compare with; "" leaves it to be found out.
    file: where the text of a pull request is written; "" shows it.
    """

    kind: Literal["commit", "pr"]
    words: str = ""
    file: str = ""


class Confirm(Struct, frozen=True, kw_only=True, tag="confirm"):
    """Ask yes or no; on yes, run `then`, itself a command line with its slash.

    word: what must be typed to agree, for what nobody should do by one key; empty where a "y" will do.
    """

    question: str
    then: str
    word: str = ""


class Choose(Struct, frozen=True, kw_only=True, tag="choose"):
    """Let the user choose a row of a table; run the command `then` with its value behind it.

    values: one for each row. start: the row to begin on. Where no list can be drawn, the result's own text and table
    say how to choose.
    """

    title: str
    table: Table
    values: tuple[str, ...]
    then: str
    start: int = 0


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


class Suggestion(Struct, frozen=True, kw_only=True):
    """One way to complete the word before the cursor. `note` explains it in a few words."""

    text: str
    note: str = ""


class Additions(Protocol):
    """Where commands that are not built in come from; see `clio.commands.custom_commands`."""

    def all(self) -> "tuple[Command, ...]":
        """Every one there is now."""
        ...

    @property
    def problems(self) -> Callable[[], Sequence[str]]:
        """Gives sentences on what was meant as one and is none."""
        ...


class Shell(Protocol):
    """What commands may look at; the running App is one."""

    @property
    def loaded(self) -> "Loaded":
        """The configuration as it was read, with the values withheld until the folder is trusted."""
        ...

    @property
    def config(self) -> Config:
        """The configuration in force."""
        ...

    @property
    def session(self) -> "Session":
        """The running session."""
        ...

    @property
    def context(self) -> "ContextWindow | None":
        """What the model is shown of the session; None until the size of its window is known, see `LoadWindow`."""
        ...

    @property
    def store(self) -> "SessionStore":
        """All sessions of this project."""
        ...

    @property
    def policy(self) -> "Policy":
        """Who decides about writes and commands."""
        ...

    @property
    def planning(self) -> "Planning":
        """Plan mode, and what it has come to."""
        ...

    @property
    def provider(self) -> "Provider":
        """The model that answers."""
        ...

    @property
    def answering(self) -> "Provider":
        """The model that would take the next step: the chosen one, or a fallback model while its server is away."""
        ...

    @property
    def light_provider(self) -> "Provider":
        """The model for questions beside the conversation."""
        ...

    @property
    def memory(self) -> "MemorySystem":
        """Everything that is remembered."""
        ...

    @property
    def turn_files(self) -> "TurnFiles":
        """What turns did to files, and the ways back."""
        ...

    @property
    def spending(self) -> "Spending":
        """What requests cost, and the most they may."""
        ...

    @property
    def servers(self) -> "Servers":
        """The MCP servers, and what they offer."""
        ...

    @property
    def efforts(self) -> "EffortChoices":
        """How hard each model is asked to think."""
        ...

    async def reload_servers(self) -> None:
        """Start the MCP servers anew; the next request has the tools they offer then."""
        ...

    @property
    def redactor(self) -> "Redactor":
        """Takes secrets out of what a command is about to store."""
        ...

    @property
    def sandbox(self) -> "Sandbox":
        """What holds the model's commands."""
        ...

    @property
    def skills(self) -> "SkillShelf":
        """Folders with instructions for certain kinds of work."""
        ...

    async def output_of(self, command: str) -> str:
        """What a shell command prints, or why it was not run: policy judges it and the person is asked as always."""
        ...

    @property
    def added(self) -> "Additions":
        """The commands that are not built in."""
        ...


Handler = Callable[[Shell, str], CommandResult]
"""Called with the text after the command's name, stripped. May raise UserError; nothing else on purpose."""
Suggest = Callable[[Shell], Iterable[Suggestion]]
"""What may stand in the place of the argument."""
SuggestWord = Callable[[Shell, str], Iterable[Suggestion]]
"""What may stand in the place of the last word of the argument, which is given up to the cursor."""


def no_suggestions(shell: Shell) -> Iterable[Suggestion]:
    """Nothing to offer."""
    return ()


def no_words(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """Nothing to offer."""
    return ()


class Command(Struct, frozen=True, kw_only=True):
    """One row of the table that help, completion, dispatch and the docs are read from.

    argument: how the argument is written in help, such as "[NAME]"; empty where none is taken.
    subcommands: first words of the argument with handlers of their own; `handler` answers when none is given.
    suggest: completes the whole argument; suggest_word: its last word, such as an option or a path.
    source: where one that is not built in comes from, for help; "" for those that are.
    own: the person wrote it. yields: one of the same name that the person wrote goes before it.
    """

    name: str
    summary: str
    handler: Handler
    argument: str = ""
    aliases: tuple[str, ...] = ()
    subcommands: tuple["Command", ...] = ()
    suggest: Suggest = no_suggestions
    suggest_word: SuggestWord = no_words
    source: str = ""
    own: bool = False
    yields: bool = False


def carry_out(shell: Shell, command: Command, argument: str, called: str) -> CommandResult:
    """Run the command, or the one below it that `argument` names; what a person got wrong comes back as a sentence.

    called: how the command was written, such as "/session", for the sentence.
    """
    try:
        command, argument = choose(command, argument, called)
        return command.handler(shell, argument)
    except ClioError as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(sentence(error))


def choose(command: Command, argument: str, called: str) -> tuple[Command, str]:
    """The command that is meant, itself or one below it, and its own argument.

    Raises UsageError for a word that is none below it, naming a near one.
    """
    first, rest = split(argument)
    if not command.subcommands or not first:
        return command, argument
    found = among(command.subcommands, first)
    if found is None:
        known = [sub.name for sub in command.subcommands]
        near = nearest(first, known, f"{called} ", f"choose one of {', '.join(known)}")
        raise UsageError(f"{called} does not know {first!r}; {near}")
    return found, rest


def among(commands: tuple[Command, ...], name: str) -> Command | None:
    """The command of that name or alias, in any case."""
    wanted = name.lower()
    return next((command for command in commands if wanted == command.name or wanted in command.aliases), None)


def forms(command: Command, called: str) -> tuple[tuple[str, str], ...]:
    """Every way to write a command that is called so, with what it does."""
    subs = ((f"{called} {usage(sub.name, sub)}", sub.summary) for sub in command.subcommands)
    return ((usage(called, command), command.summary), *subs)


def usage(called: str, command: Command) -> str:
    """How a command is written, with its argument."""
    return f"{called} {command.argument}".rstrip()


def split(text: str) -> tuple[str, str]:
    """The first word and the rest, stripped."""
    words = text.split(maxsplit=1)
    return (words[0] if words else ""), (words[1].strip() if len(words) > 1 else "")
