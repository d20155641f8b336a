"""Custom commands: prompts in Markdown files of the user and the project, and which of them need the user's trust."""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    ExpandedCommand,
    RunExpandedCommand,
    make_refusal,
    quote_code,
)
from clio.config.loaded import TrustRequest
from clio.config.paths import user_home
from clio.config.trust import TrustStore, shorten_asked_text
from clio.context.message_parts import find_mentions
from clio.skills.skills import (
    DefinitionFolder,
    FrontMatter,
    UnreadableFile,
    list_definition_folders,
    read_text,
    split_front_matter,
    split_tool_list,
    to_safe_line,
)
from clio.text.translation import tr
from clio.text.untrusted_text import PASTED_TEXT, unmark_pasted_text

MAX_BYTES = 64_000
MAX_FILES = 300
"""Limit of files read in one directory tree."""
_MAX_DEPTH = 4
_MAX_SUMMARY = 120
_NAME = re.compile(r"[A-Za-z][\w-]*(:[\w.-]+)*")  # what the prompt line recognizes as a command
_CLAUDE_FOLDER = ".claude/commands"
_READ_ONLY_TOOLS = (
    "read grep glob ls notebookread todowrite read_file search_text find_files list_files todo_operations".split()
)
_TOOL_ALIASES: dict[str, tuple[str, ...]] = dict.fromkeys(_READ_ONLY_TOOLS, ()) | {
    # Files written for other agents are used as they are, so their tool names must mean something here.
    "bash": ("run_command",),
    "edit": ("edit_file", "apply_patch"),
    "multiedit": ("edit_file", "apply_patch"),
    "write": ("write_file", "apply_patch"),
    "webfetch": ("web_fetch",),
}
"""Other agents' names for tools that change or reach something → clio's; read-only tools are never withheld."""


class CustomFile(Struct, frozen=True, kw_only=True):
    """One command file.

    Attributes:
        name: "folder:name".
        display_path: the path as the user would write it.
        is_users_own: it is in the user's own directory.
        is_trusted: it may run its programs without a further question: the user's own, or a trusted plugin's.
        model: "" if the file names none, or is written for another agent, whose model names do not apply here.
        tools: see `ExpandedCommand.tools`.
        stop_words: see `ExpandedCommand.stop_words`.
        problem: sentence about properties in its front matter that are not valid; "" if there are none.
    """

    name: str
    display_path: str
    is_users_own: bool
    template: str
    is_trusted: bool = False
    description: str = ""
    hint: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    stop_words: tuple[str, ...] = ()
    problem: str = ""


class CustomFolders:
    """Reads the command files; each is read again only if it has changed.

    Args:
        home: clio's own directory.
        shipped: the directory of the commands that clio brings.
        is_built_in: whether a command of that name is built in; a plugin's is then called `PLUGIN:COMMAND`.
    """

    def __init__(
        self,
        project: Path,
        home: Path,
        env: Mapping[str, str],
        shipped: Path | None = None,
        is_built_in: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._project = project
        self._user_home = user_home(env)
        self._shipped = shipped
        self._is_built_in = is_built_in
        places = list_definition_folders(
            (".clio/commands", _CLAUDE_FOLDER), project=project, home=home, user_home_folder=self._user_home
        )
        self._places = (
            *(place for place in places if not place.plugin),
            *([DefinitionFolder(folder=shipped)] if shipped else []),  # a file of the user's takes precedence
            *(place for place in places if place.plugin),
        )
        self._known: dict[Path, tuple[tuple[int, int], CustomFile | str]] = {}

    def read(self) -> tuple[tuple[CustomFile, ...], tuple[str, ...]]:
        """Return the commands, and sentences about files that could not be read as commands."""
        found: dict[str, CustomFile] = {}
        problems: list[str] = []
        known: dict[Path, tuple[tuple[int, int], CustomFile | str]] = {}
        for place in self._places:
            for path, name, stamp in list_command_files(place.folder):
                before = self._known.get(path)
                # Called at every keystroke to complete names, so an unchanged file is not read again.
                one = before[1] if before and before[0] == stamp else self._read(path, name, place)
                known[path] = (stamp, one)
                if isinstance(one, str):
                    problems.append(one)
                    continue
                if place.plugin and (one.name.lower() in found or self._is_built_in(one.name)):
                    one = replace(one, name=f"{place.plugin}:{one.name}")
                found.setdefault(one.name.lower(), one)
        self._known = known
        return tuple(found.values()), tuple(problems)

    def _read(self, path: Path, name: str, place: DefinitionFolder) -> CustomFile | str:
        shown = place.display(path, project=self._project, user_home_folder=self._user_home)
        if path.parent == self._shipped:
            shown = f"clio: {path.name}"
        try:
            if not _NAME.fullmatch(name):
                raise UnreadableFile(
                    tr(
                        "{name!r} is not a valid command name; use letters, digits and dashes, a letter first",
                        name=name,
                    )
                )
            front = split_front_matter(place.fill(read_text(path, inside=place.root, max_bytes=MAX_BYTES)), shown)
        except UnreadableFile as error:
            return tr("{shown} is not used: {error}", shown=shown, error=error)
        return make_custom_file(front, name=name, shown=shown, place=place)


def make_custom_file(front: FrontMatter, *, name: str, shown: str, place: DefinitionFolder) -> CustomFile:
    """Return the command that a file's properties and text describe."""
    values = front.values
    first = next((line.lstrip("# ") for line in front.body.split("\n") if line.strip()), "")
    return CustomFile(
        name=name,
        display_path=shown,
        is_users_own=place.root is None,
        is_trusted=place.is_own,
        template=front.body,
        description=to_safe_line(values.get("description", "") or first)[:_MAX_SUMMARY] or "an empty command",
        hint=to_safe_line(values.get("argument-hint", ""))[:_MAX_SUMMARY],
        model="" if _CLAUDE_FOLDER in shown or place.plugin else to_safe_line(values.get("model", "")),
        tools=_translate_tool_names(split_tool_list(to_safe_line(values["allowed-tools"])))
        if "allowed-tools" in values
        else None,
        stop_words=split_words(to_safe_line(values.get("stop-words", ""))),
        problem=front.problem,
    )


def _translate_tool_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return clio's names for the tools: "Bash(git add:*)" is `run_command(git add *)`."""
    found: list[str] = []
    for entry in given:
        name, bracket, rule = entry.partition("(")
        for tool in _TOOL_ALIASES.get(name.lower(), (name.replace("mcp__", "mcp_").replace("__", "_"),)):
            found.append(f"{tool}({rule.removesuffix(')').replace(':*', ' *')})" if bracket else tool)
    return tuple(dict.fromkeys(found))


def list_command_files(folder: Path) -> Iterator[tuple[Path, str, tuple[int, int]]]:
    """Yield the Markdown files below a directory, or the file itself: path, command name, and its time and size."""
    count = 0
    # Called at every keystroke of a slash command: reads only sizes and times, never a file.
    files = [(folder, folder.stem)] if folder.suffix == ".md" and folder.is_file() else None
    for path, name in files or _walk_folder(folder, "", _MAX_DEPTH, set()):
        try:
            status = path.stat()
        except OSError:
            continue
        count += 1
        if count > MAX_FILES:
            return
        yield path, name, (status.st_mtime_ns, status.st_size)


def _walk_folder(folder: Path, above: str, depth: int, seen: set[tuple[int, int]]) -> Iterator[tuple[Path, str]]:
    """Yield the Markdown files below a directory. seen: directories already visited, because a link may form a loop."""
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in seen:
            return
        seen.add((status.st_dev, status.st_ino))
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # missing or unreadable: it contains no commands
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and depth:
            yield from _walk_folder(Path(entry.path), f"{above}{entry.name}:", depth - 1, seen)
        elif entry.name.endswith(".md") and entry.name != "README.md":
            yield Path(entry.path), above + entry.name.removesuffix(".md")


_CODE_FENCE = re.compile(r"^```.*?(?:^```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_INLINE_COMMAND = re.compile(r"(?<![\w`!\\])!`([^`\n]+)`")
_PLACEHOLDER = re.compile(r"\\(\$)|\$(ARGUMENTS\b|[1-9](?!\d))")
_PASTED = "\ue000"
"""Stands for a pasted text while arguments are split: a character for private use."""
_MAX_INLINE_CHARS = 200


class TemplatePart(Struct, frozen=True, kw_only=True):
    """A part of a template: text, or a command to run. Arguments are not inserted yet."""

    text: str
    is_command: bool = False


def split_template(template: str) -> Iterator[TemplatePart]:
    """Split the template into its parts, in order."""
    # Inside a fence a command is an example for the model, not one to run.
    fences = [found.span() for found in _CODE_FENCE.finditer(template)]
    end = 0
    for found in _INLINE_COMMAND.finditer(template):
        if any(start <= found.start() < stop for start, stop in fences):
            continue
        yield TemplatePart(text=template[end : found.start()])
        yield TemplatePart(text=found[1].strip(), is_command=True)
        end = found.end()
    yield TemplatePart(text=template[end:])


def list_shell_commands(template: str) -> tuple[str, ...]:
    """Return the commands that a template runs, as they are written."""
    return tuple(piece.text for piece in split_template(template) if piece.is_command)


def insert_arguments(text: str, argument: str) -> str:
    """Insert the arguments into a text; a placeholder without an argument becomes empty."""
    words = split_words(argument)
    return _PLACEHOLDER.sub(lambda found: found[1] or _get_argument(found[2], argument, words), text)


def insert_quoted_arguments(command: str, argument: str) -> str:
    """Insert the arguments into a command, quoted so that they cannot become shell syntax."""
    words = split_words(argument)

    def value(found: re.Match[str]) -> str:
        # `\$` belongs to the shell here, and clio must not take the backslash away.
        if found[1]:
            return found[0]
        # Inside quotes `shlex.quote` would close them; the argument is escaped for the quotes it is in instead.
        quote = _find_open_quote(command[: found.start()])
        if quote == "'":
            return _get_argument(found[2], argument, words).replace("'", "'\"'\"'")
        if quote == '"':
            return re.sub(r'([\\"$`])', r"\\\1", _get_argument(found[2], argument, words))
        if found[2] == "ARGUMENTS":
            return shlex.join(words)
        return shlex.quote(_get_argument(found[2], argument, words))

    return _PLACEHOLDER.sub(value, command)


def format_output(output: str) -> str:
    """Format a command's output for insertion into the text: one line as it is, more lines in a fence.

    "@" mentions in it are not looked up: it is the output of a program, not the user's text.
    """
    text = output.strip("\n")
    if "\n" not in text and len(text) <= _MAX_INLINE_CHARS and not find_mentions(text):
        return text
    # An indented ``` does not end the fence, so output cannot pretend to be text of the command file.
    inert = "\n".join(f" {line}" if line.startswith("```") else line for line in text.split("\n"))
    return f"\n```\n{inert}\n```\n"


def split_words(argument: str) -> tuple[str, ...]:
    """Split into words quoted as in a shell; an unclosed quote is an ordinary character. A pasted text is one word."""
    pasted = [found[0] for found in PASTED_TEXT.finditer(argument)]
    line = PASTED_TEXT.sub(_PASTED, argument) if pasted else argument
    try:
        words = shlex.split(line)
    # An apostrophe, as in "don't", is not an opening quote.
    except ValueError:
        words = line.split()
    texts = iter(pasted)
    return tuple(re.sub(_PASTED, lambda _: next(texts, _PASTED), word) for word in words) if pasted else tuple(words)


def join_parts(parts: Iterable[str]) -> str:
    """Join the parts to one text, without blank lines at either end."""
    return "".join(parts).strip("\n")


def _get_argument(place: str, argument: str, words: tuple[str, ...]) -> str:
    if place == "ARGUMENTS":
        return argument
    number = int(place) - 1
    return words[number] if number < len(words) else ""


def _find_open_quote(text: str) -> str:
    """Return the quotation mark that is open at the end of a partial command; "" if there is none."""
    quote, escaped = "", False
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
    return quote


class CustomCommands:
    """A `CommandSource` for custom commands. The arguments are those of `CustomFolders`."""

    def __init__(
        self,
        project: Path,
        home: Path,
        env: Mapping[str, str],
        shipped: Path | None = None,
        is_built_in: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._folders = CustomFolders(project, home, env, shipped, is_built_in)
        self._project = project
        self._trust = TrustStore(home)

    def __call__(self) -> tuple[Command, ...]:
        """Return the current commands."""
        return tuple(self._command(file) for file in self._folders.read()[0])

    def problems(self) -> tuple[str, ...]:
        """Return sentences about files that could not be read as commands, or not completely."""
        files, problems = self._folders.read()
        return (*problems, *(file.problem for file in files if file.problem))

    def withheld(self) -> tuple[TrustRequest, ...]:
        """Return the project's commands that run programs or name a model and are not trusted yet."""
        wanted = [
            make_command_trust_request(file)
            for file in self._folders.read()[0]
            if not file.is_trusted and _needs_trust(file)
        ]
        known = self._trust.fingerprints(self._project) if wanted else frozenset[str]()
        return tuple(value for value in wanted if value.fingerprint not in known)

    def _command(self, file: CustomFile) -> Command:
        return Command(
            name=file.name,
            argument=file.hint,
            summary=file.description,
            handler=lambda ctx, argument: self._call(ctx, file, argument),
            source=file.display_path,
            sends_argument=True,
            is_users_own=file.is_users_own,
        )

    def _call(self, ctx: CommandContext, file: CustomFile, argument: str) -> CommandResult:
        if not file.template:
            return make_refusal(
                tr(
                    "{display_path} is empty; write the prompt that {command} sends",
                    display_path=file.display_path,
                    command=quote_code("/" + file.name),
                )
            )
        # Checked at each call: the file may have changed since the list of commands was shown.
        if any(value.where == file.display_path for value in self.withheld()):
            runs = ", ".join(quote_code(command) for command in list_shell_commands(file.template))
            does = [
                *([tr("runs {runs}", runs=runs)] if runs else []),
                *([tr("asks for the model {model}", model=quote_code(file.model))] if file.model else []),
            ]
            return make_refusal(
                tr(
                    "{value} belongs to the project and {does}, and the project is not trusted yet; review "
                    "it and allow it with `/trust`, or with `clio config trust` in a shell",
                    value=quote_code("/" + file.name),
                    does=tr(" and ").join(does),
                )
            )

        async def make() -> ExpandedCommand:
            return await _expand_template(ctx, file, argument)

        return CommandResult(follow_up=RunExpandedCommand(line=f"/{file.name} {argument}".rstrip(), expand=make))


def _needs_trust(file: CustomFile) -> bool:
    """Whether the command does more than insert text: it runs a program, or selects another model."""
    return bool(file.model or list_shell_commands(file.template))


def make_command_trust_request(file: CustomFile) -> TrustRequest:
    """Return the command in the form in which the user is asked to trust it: what it runs, its model and its file."""
    runs = (*list_shell_commands(file.template), *([tr("model: {model}", model=file.model)] if file.model else []))
    # The file's text is not part of it: rewording a prompt must not ask again, a changed command must.
    mark = hashlib.sha256(json.dumps([file.display_path, *runs]).encode("ascii")).hexdigest()
    value = "; ".join(" ".join(command.split()) for command in runs)
    shown = shorten_asked_text(value if value.isprintable() else json.dumps(value))
    return TrustRequest(
        key=f"command /{file.name}", value=shown, where=file.display_path, fingerprint=f"command:{mark}"
    )


async def _expand_template(ctx: CommandContext, file: CustomFile, argument: str) -> ExpandedCommand:
    """Return the file's text with arguments and command outputs inserted; the commands run one after the other."""
    parts: list[str] = []
    named: list[str] = []
    bare = unmark_pasted_text(argument)
    for piece in split_template(file.template):
        if piece.is_command:
            parts.append(format_output(await ctx.output_of(insert_quoted_arguments(piece.text, bare))))
        else:
            parts.append(insert_arguments(piece.text, argument))
            # Only text of the file and of the user may attach files, not the output of a command.
            named.append(parts[-1])
    return ExpandedCommand(
        text=join_parts(parts),
        source=file.display_path,
        mention_text="\n".join(named),
        model=file.model,
        tools=file.tools,
        stop_words=file.stop_words,
    )


CommandSource = Callable[[], Sequence[Command]]
"""Returns the current commands. Called at every key of a slash line, from any thread, so it must cache what is slow."""


class AddedCommands:
    """Combines the commands of all sources in order; of equal names the first source's is used."""

    def __init__(self, *sources: CommandSource, problems: Callable[[], Sequence[str]] = tuple) -> None:
        """problems: returns sentences about files that could not be read as commands."""
        self._sources = sources
        self.problems = problems

    def all(self) -> tuple[Command, ...]:
        """Return every command once."""
        found: dict[str, Command] = {}
        for source in self._sources:
            for command in source():
                found.setdefault(command.name.lower(), command)
        return tuple(found.values())
