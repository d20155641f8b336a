"""Slash commands: how they are declared, what they may access and return, and how an input line is run as a command."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from clio.commands.arguments import suggest_name
from clio.config.schema import ApprovalMode, Config
from clio.errors import ClioError, UsageError
from clio.messages import Fragment
from clio.prompt_files import load_prompt
from clio.storage.locks import format_os_error
from clio.text.formatting import begin_upper, format_code_span
from clio.text.translation import tr, tr_count
from clio.text.untrusted_text import unmark_pasted_text
from clio.threads import ProgressCallback, ignore_progress, never_stop

if TYPE_CHECKING:
    from clio.agent.background_agents import BackgroundAgents
    from clio.agent.model_choice import EffortChoices
    from clio.agent.planning import Planning
    from clio.agent.spending import Spending
    from clio.agent.turn_files import TurnFileRecorder
    from clio.config.loaded import LoadedConfig
    from clio.context.window import ContextWindow
    from clio.mcp.servers import McpServers
    from clio.memory.system import MemorySystem
    from clio.providers.base import Provider
    from clio.sandbox.sandbox import Sandbox
    from clio.security.approval import Policy
    from clio.security.redaction.redactor import Redactor
    from clio.sessions.session import Session
    from clio.sessions.state import Todo
    from clio.sessions.store import SessionStore
    from clio.skills.skills import SkillCatalog


_COMMAND = re.compile(r"/([A-Za-z][\w-]*(:[\w.-]+)*)?(?!\S)")  # "/etc/hosts is wrong" is a message, not a command


def is_command(line: str) -> bool:
    """Whether the line is a command for clio and not a message for the model."""
    return _COMMAND.match(line.strip()) is not None


class ExpandedCommand(Struct, frozen=True, kw_only=True):
    """The text that a command stands for.

    Attributes:
        text: sent to the model as what the user asks for.
        source: where the text is from: a file or a server.
        mention_text: the part of it whose "@" mentions are looked up as if the user had typed them.
        model: the model for this one turn; "" is the model of the session.
        tools: the only tools that may change or reach anything in this turn; None allows all.
        stop_words: used in this turn instead of the setting `stop_words`; empty for the setting.
        lead_prompt: name of the prompt that introduces the text to the model.
        cap_tokens: limit of the text that is sent, which is also at most a quarter of the window.
    """

    text: str
    source: str
    mention_text: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    stop_words: tuple[str, ...] = ()
    lead_prompt: str = "context/command"
    cap_tokens: int = 12_000


ExpandCommand = Callable[[], Awaitable[ExpandedCommand]]
"""Returns the text that a line stands for. Awaited as part of its turn, so it may take time, ask the user, and be
stopped with Esc. Raises ClioError to prevent the turn.
"""


class RunExpandedCommand(Struct, frozen=True, kw_only=True, tag="make_prompt"):
    """Begin a turn with `line`; `expand` returns the text that it stands for."""

    line: str
    expand: ExpandCommand


def make_command_fragment(expanded: ExpandedCommand, window_tokens: int) -> Fragment:
    """Return the text as the fragment that precedes the message calling it."""
    only = (
        ""
        if expanded.tools is None
        else f"\n\nIn this turn only {_join_tool_names(expanded.tools)} may change anything."
    )
    return Fragment(
        name=expanded.lead_prompt.rpartition("/")[2],
        text=f"{load_prompt(expanded.lead_prompt)}\n\n{expanded.text}{only}",
        source=expanded.source.replace('"', "'"),
        reason="the user called it",
        cap_tokens=min(expanded.cap_tokens, window_tokens // 4),
    )


def describe_expansion(line: str, expanded: ExpandedCommand) -> str:
    """Return the one line shown to the user in place of the text: "+ /review · 42 lines of
    .clio/commands/review.md".
    """
    lines = len(expanded.text.splitlines())
    model = tr(" · answered by {model}", model=expanded.model) if expanded.model else ""
    return tr(
        "+ {line} · {lines} of {source}{model}",
        line=line.split(maxsplit=1)[0],
        lines=tr_count(lines, "line"),
        source=expanded.source,
        model=model,
    )


def _join_tool_names(tools: tuple[str, ...]) -> str:
    return ", ".join(tools) or "no tool"


class WorkControl(Struct, frozen=True, kw_only=True):
    """How work in a thread learns that it should stop, and reports its progress.

    Attributes:
        is_stopped: whether to stop; called often, so it must be fast.
        report_progress: called with the amount done and the total.
    """

    is_stopped: Callable[[], bool] = never_stop
    report_progress: ProgressCallback = ignore_progress


def quote_code(text: str) -> str:
    """Return the text as Markdown code, so that nothing in it is parsed as markup; newlines become spaces."""
    return format_code_span(" ".join(text.split()))


class Table(Struct, frozen=True, kw_only=True):
    """Rows of plain text under headings.

    wide_column: the column that shrinks on a narrow terminal. is_truncated: it is truncated then, instead of wrapped.
    has_forms: the first of two columns has forms of commands: a long one gets a row of its own, its meaning below it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide_column: int = 0
    is_truncated: bool = False
    has_forms: bool = False


class BarPart(Struct, frozen=True, kw_only=True):
    """One part of a bar: its name, its amount, and the character it is drawn with."""

    name: str
    amount: int
    mark: str


class Bar(Struct, frozen=True, kw_only=True):
    """Amounts of a whole, drawn side by side and listed below. Amounts of zero or less are not drawn."""

    title: str
    parts: tuple[BarPart, ...]


ExportFormat = Literal["html", "md", "json"]


class Quit(Struct, frozen=True, kw_only=True, tag="quit"):
    """Exit clio."""


class ClearScreen(Struct, frozen=True, kw_only=True, tag="clear_screen"):
    """Clear the screen; the conversation continues."""


class SwitchSession(Struct, frozen=True, kw_only=True, tag="switch_session"):
    """Continue another stored session."""

    session_id: str


class NewSession(Struct, frozen=True, kw_only=True, tag="new_session"):
    """Start an empty session; the current one stays on disk."""

    name: str | None = None


class SetModel(Struct, frozen=True, kw_only=True, tag="set_model"):
    """Use another model from the next turn on."""

    name: str


class SetApproval(Struct, frozen=True, kw_only=True, tag="set_approval"):
    """Change when clio asks before writes and commands."""

    mode: ApprovalMode


class ReviewPlan(Struct, frozen=True, kw_only=True, tag="review_plan"):
    """Show the plan and let the user approve, edit or decline it."""


class RunPrompt(Struct, frozen=True, kw_only=True, tag="run_prompt"):
    """Send this text as if the user had typed it."""

    text: str


class GrantTrust(Struct, frozen=True, kw_only=True, tag="grant_trust"):
    """Apply the project's withheld settings from now on."""


class LoadWindow(Struct, frozen=True, kw_only=True, tag="load_window"):
    """Find out how large the model's window is, which may require a request to its server; then run the command
    `then`.
    """

    then: str


class Prefill(Struct, frozen=True, kw_only=True, tag="prefill"):
    """Put this text on the next prompt line; Enter runs it, any other key edits it."""

    text: str


class ExportSession(Struct, frozen=True, kw_only=True, tag="export_session"):
    """Export a stored session as one text.

    path: as the user wrote it; "-" is standard output; "" is a secret gist. form: None selects the format by the
    path's ending. force: overwrite an existing file.
    """

    session_id: str
    path: str
    form: ExportFormat | None = None
    force: bool = False


class ConsolidateNow(Struct, frozen=True, kw_only=True, tag="sleep_now"):
    """Run a consolidation; dry_run: only report what would be done."""

    dry_run: bool = False


class SetTheme(Struct, frozen=True, kw_only=True, tag="set_theme"):
    """Use this colour theme from now on, and save the choice; "" lists the themes."""

    name: str


class ApplySetting(Struct, frozen=True, kw_only=True, tag="apply_setting"):
    """Use the value of a setting that was just stored, from now on; see `App.apply_setting`."""

    name: str
    value: str | int | float | bool | None


class SetUpProject(Struct, frozen=True, kw_only=True, tag="set_up_project"):
    """Create `.clio/` in the project; yes: also add it to `.gitignore`."""

    yes: bool = False


class GitTask(Struct, frozen=True, kw_only=True, tag="git_work"):
    """Commit after the user has approved message and files, or describe a branch for a pull request; never pushes.

    instructions: for a commit, instructions for its message; for "pr", the branch to compare with; "" finds one.
    file: where the text of a pull request is written; "" shows it.
    """

    kind: Literal["commit", "pr"]
    instructions: str = ""
    file: str = ""


class Confirm(Struct, frozen=True, kw_only=True, tag="confirm"):
    """Ask yes or no; on yes, run `then`.

    Attributes:
        then: a command line with its slash; or a function, for what no command line may do without the question.
        required_word: must be typed to agree, if one key would be too little; "" if "y" is enough.
        unasked: what to do instead where no user can be asked; "" if the option --yes answers the question.
    """

    question: str
    then: "str | Callable[[], CommandResult]"
    required_word: str = ""
    unasked: str = ""


class Choose(Struct, frozen=True, kw_only=True, tag="choose"):
    """Let the user choose a row of a table; run the command `then` with the row's value appended.

    If no list can be drawn, the result's own text and table explain how to choose.

    Attributes:
        values: one for each row.
        start: the row selected first.
        preview: returns a text about a value, shown while its row is selected; or pieces of text with their styles.
    """

    title: str
    table: Table
    values: tuple[str, ...]
    then: str
    start: int = 0
    preview: Callable[[str], object] | None = None


class EditText(Struct, frozen=True, kw_only=True, tag="edit_text"):
    """Open the text in the user's editor; pass the saved text to `then` unless it is unchanged.

    suffix: of the file's name, such as ".md", for the editor's syntax highlighting.
    """

    text: str
    then: Callable[[str], "CommandResult"]
    suffix: str = ".md"


class WaitFor(Struct, frozen=True, kw_only=True, tag="wait_for"):
    """Await this, then show its result. label: what is awaited, for display. Ctrl-C stops it.

    work: raises ClioError.
    """

    label: str
    work: Callable[[], Awaitable["CommandResult"]]


class LongWork(Struct, frozen=True, kw_only=True, tag="long_work"):
    """Run this in a thread until it is done or the user stops it, with a progress bar if it takes long.

    label: what is done, such as "reading documents". work: keeps what it has done when it is stopped; raises ClioError.
    """

    label: str
    work: Callable[[WorkControl], "CommandResult"]


class FollowJob(Struct, frozen=True, kw_only=True, tag="follow_job"):
    """Print what the job in this folder prints, from the byte `offset` on, until it ends or the user stops it."""

    folder: Path
    offset: int


class RepeatMessage(Struct, frozen=True, kw_only=True, tag="repeat_message"):
    """Send a text again and again, as if the user typed it, until a limit is reached or the user stops it.

    Attributes:
        interval_s: from the end of one turn to the beginning of the next.
        limit_s: after this time no further turn begins. max_cost: US dollars that all turns together may cost.
    """

    text: str
    interval_s: float
    times: int
    limit_s: float
    max_cost: float


class StopRepeating(Struct, frozen=True, kw_only=True, tag="stop_repeating"):
    """Stop repeating a message."""


FollowUp = (
    Quit
    | ClearScreen
    | SwitchSession
    | NewSession
    | SetModel
    | SetApproval
    | ReviewPlan
    | RunPrompt
    | RunExpandedCommand
    | GrantTrust
    | LoadWindow
    | Prefill
    | EditText
    | ExportSession
    | ConsolidateNow
    | WaitFor
    | LongWork
    | FollowJob
    | RepeatMessage
    | StopRepeating
    | SetTheme
    | ApplySetting
    | SetUpProject
    | GitTask
    | Confirm
    | Choose
)


class CommandResult(Struct, frozen=True, kw_only=True):
    """The result of a command, shown in the order of the fields, and its follow-up.

    Attributes:
        text: Markdown.
        verbatim: shown without interpreting markup.
        diff: a unified diff, for the screen to colour.
        todos: a task list; todos_whole: show every item.
        ok: False if the command was not understood or was refused; `text` is then one plain sentence.
        data: the same in JSON types, for `--json`; None for a command that has only text.
        copy: also copied to the clipboard if the screen is a terminal.
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


def make_refusal(sentence: str) -> CommandResult:
    """Return a result that explains why nothing was done, and what would work."""
    return CommandResult(text=begin_upper(sentence), ok=False)


class Suggestion(Struct, frozen=True, kw_only=True):
    """One completion of the word before the cursor. `note` explains it in a few words."""

    text: str
    note: str = ""


class AdditionalCommands(Protocol):
    """The source of commands that are not built in; see `clio.commands.custom_commands`."""

    def all(self) -> "tuple[Command, ...]":
        """Return all such commands."""
        ...

    @property
    def problems(self) -> Callable[[], Sequence[str]]:
        """Return a function that describes files meant as commands that could not be read as such."""
        ...


class CommandContext(Protocol):
    """What commands may access; implemented by the running App."""

    @property
    def is_json(self) -> bool:
        """Whether a program reads the result, so that nothing may be shown or opened beside it."""
        ...

    @property
    def loaded(self) -> "LoadedConfig":
        """The configuration as it was read, including the values withheld until the project is trusted."""
        ...

    @property
    def config(self) -> Config:
        """The configuration in force."""
        ...

    @property
    def session(self) -> "Session":
        """The current session."""
        ...

    @property
    def window(self) -> "ContextWindow | None":
        """The context window; None until the size of the model's window is known, see `LoadWindow`."""
        ...

    @property
    def store(self) -> "SessionStore":
        """All sessions of this project."""
        ...

    @property
    def policy(self) -> "Policy":
        """Decides which writes and commands need approval."""
        ...

    @property
    def planning(self) -> "Planning":
        """Plan mode and the proposed plan."""
        ...

    @property
    def provider(self) -> "Provider":
        """The chosen model's provider."""
        ...

    @property
    def answering(self) -> "Provider":
        """The provider that would answer now: the chosen one, or a fallback while its server is unavailable."""
        ...

    @property
    def light_provider(self) -> "Provider":
        """The provider for requests outside the conversation."""
        ...

    @property
    def memory(self) -> "MemorySystem":
        """The memory system."""
        ...

    @property
    def turn_files(self) -> "TurnFileRecorder":
        """The files that turns changed, and how to restore them."""
        ...

    @property
    def spending(self) -> "Spending":
        """The cost of requests, and its limit."""
        ...

    @property
    def servers(self) -> "McpServers":
        """The MCP servers and what they offer."""
        ...

    @property
    def efforts(self) -> "EffortChoices":
        """The reasoning effort of each model."""
        ...

    async def reload_servers(self) -> None:
        """Restart the MCP servers; the next request offers the tools they have then."""
        ...

    @property
    def redactor(self) -> "Redactor":
        """Replaces secrets in what a command is about to store."""
        ...

    @property
    def sandbox(self) -> "Sandbox":
        """The sandbox of the model's commands."""
        ...

    @property
    def skills(self) -> "SkillCatalog":
        """Directories with instructions for certain kinds of work."""
        ...

    async def output_of(self, command: str) -> str:
        """Return the output of a shell command, or why it was not run; policy and approval apply as always."""
        ...

    @property
    def background(self) -> "BackgroundAgents":
        """The sub-agents that work beside the conversation."""
        ...

    @property
    def added(self) -> "AdditionalCommands":
        """The commands that are not built in."""
        ...


Handler = Callable[[CommandContext, str], CommandResult]
"""Called with the text after the command's name, stripped. May raise UserError; any other error is a bug."""
Suggest = Callable[[CommandContext], Iterable[Suggestion]]
"""Returns completions of the whole argument."""
SuggestWord = Callable[[CommandContext, str], Iterable[Suggestion]]
"""Returns completions of the last word of the argument, which is passed up to the cursor."""


def suggest_nothing(ctx: CommandContext) -> Iterable[Suggestion]:
    """Return no completions."""
    return ()


def suggest_no_words(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Return no completions."""
    return ()


class Command(Struct, frozen=True, kw_only=True):
    """One row of the command table, from which help, completion, dispatch and the docs are generated.

    Attributes:
        argument: the argument's syntax in help, such as "[NAME]"; empty if there is none.
        subcommands: first words of the argument with handlers of their own; `handler` runs if none is given.
        suggest: completes the whole argument; suggest_word: its last word, such as an option or a path.
        source: where a command that is not built in is from, for help; "" for a built-in one.
        is_for_conversations: not offered on the command line, because it changes the running conversation.
        sends_argument: the argument becomes part of a message to the model, so what the user pasted stays marked in it.
        is_users_own: the user wrote it. is_overridable: the user's own command of the same name takes precedence.
    """

    name: str
    summary: str
    handler: Handler
    argument: str = ""
    aliases: tuple[str, ...] = ()
    subcommands: tuple["Command", ...] = ()
    suggest: Suggest = suggest_nothing
    suggest_word: SuggestWord = suggest_no_words
    source: str = ""
    is_for_conversations: bool = False
    sends_argument: bool = False
    is_users_own: bool = False
    is_overridable: bool = False


def dispatch_command(ctx: CommandContext, command: Command, argument: str, called: str) -> CommandResult:
    """Run the command, or the sub-command that `argument` names; user errors become a result with one sentence.

    called: the command as it was written, such as "/session", for the sentence.
    """

    def run() -> CommandResult:
        selected, rest = select_subcommand(command, argument, called)
        return selected.handler(ctx, rest if selected.sends_argument else unmark_pasted_text(rest))

    return run_handler(run)


def run_handler(run: Callable[[], CommandResult]) -> CommandResult:
    """Return the result of a handler; user errors become a result with one sentence."""
    try:
        return run()
    except ClioError as error:
        return make_refusal(str(error))
    # A full disk or a folder without permission is a message; the session goes on.
    except OSError as error:
        return make_refusal(format_os_error(error))


def select_subcommand(command: Command, argument: str, called: str) -> tuple[Command, str]:
    """Return the command that is meant, itself or a sub-command, and its own argument.

    Raises UsageError for an unknown sub-command, with a similar one.
    """
    first, rest = split_first_word(argument)
    if not command.subcommands or not first:
        return command, argument
    found = find_by_name(command.subcommands, first)
    if found is None:
        known = [sub.name for sub in list_subcommands(command, called)]
        near = suggest_name(first, known, f"{called} ", tr("choose one of {known}", known=", ".join(known)))
        raise UsageError(tr("{called}: unknown argument {first!r}; {near}", called=called, first=first, near=near))
    return found, rest


def find_by_name(commands: tuple[Command, ...], name: str) -> Command | None:
    """Return the command of that name or alias, ignoring case."""
    wanted = name.lower()
    return next((command for command in commands if wanted == command.name or wanted in command.aliases), None)


def list_subcommands(command: Command, called: str) -> tuple[Command, ...]:
    """Return the sub-commands that are offered: on the command line without those that need a conversation."""
    is_slash_command = called.startswith("/")
    return tuple(sub for sub in command.subcommands if is_slash_command or not sub.is_for_conversations)


def list_usages(command: Command, called: str) -> tuple[tuple[str, str], ...]:
    """Return every form of a command and what it does."""
    offered = list_subcommands(command, called)
    subs = ((f"{called} {format_command_usage(sub.name, sub)}", tr(sub.summary)) for sub in offered)
    return ((format_command_usage(called, command), tr(command.summary)), *subs)


def format_command_usage(called: str, command: Command) -> str:
    """Return a command's name and argument syntax."""
    return f"{called} {command.argument}".rstrip()


def split_first_word(text: str) -> tuple[str, str]:
    """Split text into the first word and the rest, stripped."""
    words = text.split(maxsplit=1)
    return (words[0] if words else ""), (words[1].strip() if len(words) > 1 else "")
