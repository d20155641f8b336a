"""Skills and sub-agents that the project's and the user's Markdown files define, and which may be used."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clio.config.loaded import TrustRequest
from clio.config.paths import display_path, has_plugins, user_home
from clio.config.trust import TrustStore
from clio.config.yaml_file import Items, Node, Scalar, Table, parse_yaml
from clio.errors import ConfigError, UserError
from clio.messages import Fragment
from clio.prompt_files import load_prompt
from clio.text.formatting import format_count, truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr
from clio.text.untrusted_text import reveal_hidden_text

_FENCE = "---"
_PROPERTY_LINE = LazyRegex(r"([A-Za-z][\w-]*)\s*:\s*(.*)")
_MAX_PROPERTIES_CHARS = 16_384
"""Characters; a longer block at the top of a file is not read as properties."""


class UnreadableFile(Exception):
    """The reason, as the end of a sentence, why a file is not used."""


class FrontMatter(Struct, frozen=True, kw_only=True):
    """The properties at the top of a file, and the text below them.

    Attributes:
        values: text by key. A list is joined with spaces; a mapping below a key has one entry for each
            "key.name".
        problem: why the properties were not valid YAML and were read line by line; "" if they were valid.
    """

    values: dict[str, str]
    body: str
    problem: str = ""


def read_text(path: Path, *, inside: Path | None, max_bytes: int) -> str:
    """Return the text of a file; bytes that are not UTF-8 are replaced.

    Args:
        inside: folder that must contain the file after links are resolved; None allows any place.

    Raises:
        UnreadableFile: it cannot be read, is not a regular file, is too large, or is outside `inside`.
    """
    try:
        resolved = path.resolve(strict=True)
        if inside is not None and not resolved.is_relative_to(inside):
            raise UnreadableFile(tr("it is a link to a place outside the project"))
        status = resolved.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait forever
            raise UnreadableFile(tr("it is not a file"))
        with resolved.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of links
        raise UnreadableFile(
            tr("it cannot be read: {reason}", reason=getattr(error, "strerror", None) or error)
        ) from None
    if len(data) > max_bytes:
        raise UnreadableFile(tr("it is larger than {max_bytes:,} bytes", max_bytes=max_bytes))
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def split_front_matter(text: str, display_name: str) -> FrontMatter:
    """Split a text into its properties and the text below them. Never raises; a text without properties is all body.

    Invalid YAML, such as an unquoted "Use when: …", is read line by line.

    Args:
        display_name: name of the file, for `FrontMatter.problem`.
    """
    properties, body = _split_at_fences(text)
    if properties is None:
        return FrontMatter(values={}, body=text.strip())
    try:
        if len(properties) > _MAX_PROPERTIES_CHARS:
            raise ConfigError(
                tr(
                    "{display_name}: the properties have more than {max_properties_chars:,} characters",
                    display_name=display_name,
                    max_properties_chars=_MAX_PROPERTIES_CHARS,
                )
            )
        # An empty line replaces the first fence, so that line numbers in messages are those of the file.
        return FrontMatter(
            values=_table_to_texts(parse_yaml(f"\n{properties}".encode("utf-8", "replace"), display_name)), body=body
        )
    except ConfigError as error:
        lines = (_PROPERTY_LINE.fullmatch(line.rstrip()) for line in properties[:_MAX_PROPERTIES_CHARS].split("\n"))
        values = {found[1]: _strip_quotes(found[2]) for found in lines if found}
        return FrontMatter(values=values, body=body, problem=str(error))


def split_tool_list(value: str) -> tuple[str, ...]:
    """Split a list of tools such as `Read, Bash(git add:*)` at commas and spaces outside parentheses."""
    return tuple(found.strip() for found in re.findall(r"[^\s,()]+(?:\([^)]*\))?", value))


def _split_at_fences(text: str) -> tuple[str | None, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).strip()
    return None, text


def _table_to_texts(table: Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, entry in table.entries.items():
        if isinstance(entry.node, Table):
            found.update({f"{key}.{name}": _node_to_text(inner.node) for name, inner in entry.node.entries.items()})
        else:
            found[key] = _node_to_text(entry.node)
    return found


def _node_to_text(node: Node) -> str:
    match node:
        case Scalar():
            return "" if node.kind == "null" else node.text
        case Items():
            return " ".join(_node_to_text(item) for item in node.items)
        case Table():
            return ""


def _strip_quotes(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


class DefinitionFolder(Struct, frozen=True, kw_only=True):
    """A folder that may contain definitions.

    Attributes:
        root: folder that must contain its files after links are resolved, for a project's or a plugin's; None for the
            user's own.
        plugin: name of the plugin it belongs to; "" if none.
    """

    folder: Path
    root: Path | None = None
    plugin: str = ""

    @property
    def is_own(self) -> bool:
        """Whether its definitions need no trust: the user's own, and those of a plugin, trusted as a whole."""
        return self.root is None or bool(self.plugin)

    def display(self, path: Path, *, project: Path, user_home_folder: Path) -> str:
        """Return the path of one of its files for display."""
        if self.plugin and self.root is not None:
            return f"plugin {self.plugin}: {path.relative_to(self.root).as_posix()}"
        return display_path(path, project=project, user_home=user_home_folder)

    def fill(self, text: str) -> str:
        """Return a text of one of its files with what a plugin's files call the plugin's folder replaced."""
        return text.replace("${CLAUDE_PLUGIN_ROOT}", str(self.root)) if self.plugin else text


def list_definition_folders(
    names: Sequence[str], *, project: Path, home: Path, user_home_folder: Path
) -> tuple[DefinitionFolder, ...]:
    """Return the project's folders with these names, then the user's, then those of plugins.

    Args:
        names: paths below the project; the first is in `.clio`.
        home: clio's own folder, which replaces `.clio` for the user's folders.
        user_home_folder: the user's home directory, in which the user's other folders are.
    """
    root = project.resolve()
    user_folders = (home / Path(names[0]).name, *(user_home_folder / name for name in names[1:]))
    folders = [
        *(DefinitionFolder(folder=project / name, root=root) for name in names),
        *(DefinitionFolder(folder=user_folder) for user_folder in user_folders),
    ]
    found: dict[Path, DefinitionFolder] = {}
    for folder in folders:
        # If the project is the home directory, both are the user's own.
        if folder.root is None or folder.folder not in user_folders:
            found.setdefault(folder.folder, folder)
    return (*found.values(), *(_list_plugin_folders(Path(names[0]).name, project, home) if has_plugins(home) else ()))


def _list_plugin_folders(kind: str, project: Path, home: Path) -> Iterator[DefinitionFolder]:
    """Yield the folders and files of plugins that may contain definitions of a kind, such as "skills"."""
    from clio.config.installed_plugins import KINDS, find_plugins

    for plugin in find_plugins(home, project).plugins:
        for known in KINDS:
            if known == kind:
                for path in plugin.get_paths(known):
                    yield DefinitionFolder(folder=path, root=plugin.folder, plugin=plugin.name)


SKILL_FILE_NAME = "SKILL.md"
MAX_SKILL_BYTES = 200_000
MAX_NAME_CHARS = 64
MAX_SKILL_DESCRIPTION_CHARS = 1_024
_MAX_COMPATIBILITY_CHARS = 500
_SKILL_NAME = LazyRegex(r"[a-z0-9]+(-[a-z0-9]+)*")
_CONTROL_CHARS = LazyRegex(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")


class Skill(Struct, frozen=True, kw_only=True):
    """A skill as its properties describe it; its instructions are read when it is used.

    Attributes:
        folder: where it is, with links resolved.
        displayed_path: path of its `SKILL.md` for display.
        own: the user's own or a plugin's, not the project's.
        plugin_folder: the folder of the plugin it belongs to, which it may refer to; None if none.
        tools: the tools its author expects. They grant no permission.
        problems: sentences on violations of the format that do not prevent its use.
    """

    name: str
    description: str
    folder: Path
    displayed_path: str
    own: bool
    license: str = ""
    compatibility: str = ""
    metadata: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    plugin_folder: Path | None = None


def describe_name_problem(name: str) -> str:
    """Return why this cannot be the name of a skill, as the end of a sentence; "" if it can."""
    if len(name) <= MAX_NAME_CHARS and _SKILL_NAME.fullmatch(name):
        return ""
    return f"a name has up to {MAX_NAME_CHARS} lowercase letters, digits and single dashes between them"


def make_skill(front: FrontMatter, *, folder_name: str, folder: Path, displayed_path: str, own: bool) -> Skill:
    """Return the skill that these properties describe.

    Args:
        folder_name: name of its folder as found; `folder` may be the target of a link.

    Raises:
        UnreadableFile: it has no valid name or no description.
    """
    values = front.values
    stated_name = to_safe_line(values.get("name", ""))
    name = folder_name if describe_name_problem(stated_name) else stated_name
    description = to_safe_line(values.get("description", ""))
    if describe_name_problem(name):
        raise UnreadableFile(
            tr(
                "{stated_name!r} is not a valid name for a skill: {name_problem}",
                stated_name=(stated_name or name)[:MAX_NAME_CHARS],
                name_problem=describe_name_problem(name),
            )
        )
    if not description:
        raise UnreadableFile(tr("it has no description that says when to use the skill"))
    problems = [front.problem] if front.problem else []
    if not stated_name:
        problems.append(f"it has no name, and is called {name!r} like its folder")
    elif stated_name != name:
        problems.append(
            f"{stated_name[:MAX_NAME_CHARS]!r} is not a valid name for a skill; using its folder's name {name!r}"
        )
    elif name != folder_name:
        problems.append(f"its name {name!r} is not that of its folder, {folder_name[:MAX_NAME_CHARS]!r}")
    if len(description) > MAX_SKILL_DESCRIPTION_CHARS:
        problems.append(
            f"its description has {len(description):,} characters and is cut to {MAX_SKILL_DESCRIPTION_CHARS:,}"
        )
    compatibility = to_safe_line(values.get("compatibility", ""))
    if len(compatibility) > _MAX_COMPATIBILITY_CHARS:
        problems.append(f"its compatibility has more than {_MAX_COMPATIBILITY_CHARS} characters")
    return Skill(
        name=name,
        description=description[:MAX_SKILL_DESCRIPTION_CHARS],
        folder=folder,
        displayed_path=displayed_path,
        own=own,
        license=to_safe_line(values.get("license", "")),
        compatibility=compatibility[:_MAX_COMPATIBILITY_CHARS],
        metadata={key[9:]: to_safe_line(value) for key, value in values.items() if key.startswith("metadata.")},
        tools=split_tool_list(to_safe_line(values.get("allowed-tools", ""))),
        problems=tuple(
            f"{displayed_path}: {problem}" if not problem.startswith(displayed_path) else problem
            for problem in problems
        ),
    )


def to_safe_line(text: str) -> str:
    """Return the text on one line, without control characters and marks that reverse the reading direction.

    Invisible letters are spelled out, so that a user who trusts a description has seen what the model reads.
    """
    return " ".join(_CONTROL_CHARS.sub(" ", reveal_hidden_text(text)).split())


SKILL_FOLDERS = (".clio/skills", ".claude/skills", ".agents/skills")
MAX_SKILLS = 200
"""Maximum number of folders examined in one place."""
MAX_FILES = 100
"""Maximum number of files listed beside a SKILL.md."""
_MAX_DEPTH = 4


class SkillSet(Struct, frozen=True, kw_only=True):
    """Skills in the order they were found. problems: sentences on skills that are not used, or not as intended."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Skill | None:
        """Return the skill with that name in any case; None if there is none."""
        return next((skill for skill in self.skills if skill.name == name.lower()), None)


def list_skill_folders(project: Path, home: Path, user_home_folder: Path) -> tuple[DefinitionFolder, ...]:
    """Return the folders that may contain skills.

    Args:
        home: clio's own folder.
        user_home_folder: the user's home directory.
    """
    return list_definition_folders(SKILL_FOLDERS, project=project, home=home, user_home_folder=user_home_folder)


def find_skills(definition_folders: Sequence[DefinitionFolder], *, project: Path, user_home_folder: Path) -> SkillSet:
    """Read the properties of every skill in these folders; the first skill of a name is used.

    A plugin's skill whose name is in use is called `PLUGIN:SKILL`.
    """
    found: dict[str, Skill] = {}
    problems: list[str] = []
    for definition_folder in definition_folders:
        for folder in _list_subfolders(definition_folder.folder):
            displayed_path = definition_folder.display(
                folder / SKILL_FILE_NAME, project=project, user_home_folder=user_home_folder
            )
            try:
                skill = _read_skill(folder, displayed_path, definition_folder)
            except UnreadableFile as error:
                problems.append(f"{displayed_path} is not used: {error}")
                continue
            if skill is None:
                continue
            problems.extend(skill.problems)
            if definition_folder.plugin and skill.name in found:
                skill = replace(skill, name=f"{definition_folder.plugin}:{skill.name}")
            if (first := found.setdefault(skill.name, skill)) is not skill:
                problems.append(
                    f"{displayed_path} is not used: {skill.name!r} is also in {first.displayed_path}, which comes first"
                )
    return SkillSet(skills=tuple(found.values()), problems=tuple(problems))


def read_skill_body(skill: Skill, *, root: Path | None) -> str:
    """Return the skill's instructions. root: see `DefinitionFolder`. Raises UnreadableFile."""
    text = read_text(skill.folder / SKILL_FILE_NAME, inside=skill.plugin_folder or root, max_bytes=MAX_SKILL_BYTES)
    body = split_front_matter(text, skill.displayed_path).body
    return body.replace("${CLAUDE_PLUGIN_ROOT}", str(skill.plugin_folder)) if skill.plugin_folder else body


def list_skill_files(skill: Skill) -> tuple[str, ...]:
    """Return the other files in a skill's folder, sorted, with forward slashes; without links and hidden files."""
    return tuple(sorted(_iter_files(skill.folder, "", _MAX_DEPTH))[:MAX_FILES])


def _list_subfolders(folder: Path) -> Iterator[Path]:
    if (folder / SKILL_FILE_NAME).is_file():  # a plugin may name the folder of a single skill
        yield folder
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
    except OSError:
        return  # the folder is missing or not readable: it has no skills
    yield from (folder / name for name in names[:MAX_SKILLS])


def _read_skill(folder: Path, displayed_path: str, definition_folder: DefinitionFolder) -> Skill | None:
    """Return the skill in a folder; None if the folder contains no SKILL.md."""
    file = folder / SKILL_FILE_NAME
    if not os.path.lexists(file):
        return None
    front = split_front_matter(
        read_text(file, inside=definition_folder.root, max_bytes=MAX_SKILL_BYTES), displayed_path
    )
    skill = make_skill(
        front,
        folder_name=folder.name,
        folder=folder.resolve(),
        displayed_path=displayed_path,
        own=definition_folder.is_own,
    )
    return replace(skill, plugin_folder=definition_folder.root) if definition_folder.plugin else skill


def _iter_files(folder: Path, prefix: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries[: 4 * MAX_FILES]:  # a skill may contain a folder with very many files
        if entry.name.startswith(".") or entry.is_symlink() or entry.name == "__pycache__":
            continue
        if entry.is_dir() and depth:
            yield from _iter_files(Path(entry.path), f"{prefix}{entry.name}/", depth - 1)
        elif entry.is_file() and prefix + entry.name != SKILL_FILE_NAME:
            yield prefix + entry.name


CAP_TOKENS = 1_500
"""Limit for the list of skills in the prompt."""
_DESCRIPTION_LENGTHS_CHARS = (400, 200, 100, 50, 0)
"""If the descriptions do not fit, they are truncated to the first of these lengths at which they do."""


class OpenedSkill(Struct, frozen=True, kw_only=True):
    """A skill in use. body: its instructions. text: what the model reads: its path, its files and the body."""

    skill: Skill
    body: str
    text: str


class SkillCatalog:
    """The skills of the project and the user.

    The folders are read at each call, because they are few and skills may be edited while clio runs.

    home: clio's own folder.
    """

    def __init__(self, project: Path, home: Path, env: Mapping[str, str]) -> None:
        self._project = project
        self._root = project.resolve()
        self._home = home.resolve()
        self._user_home = user_home(env)
        self._definition_folders = list_skill_folders(project, home, self._user_home)
        self._trust = TrustStore(home)
        self._reported_names = ""

    def find(self) -> SkillSet:
        """Return every skill, whether it may be used or not."""
        return find_skills(self._definition_folders, project=self._project, user_home_folder=self._user_home)

    def list_usable(self, found: SkillSet) -> tuple[Skill, ...]:
        """Return the user's own skills, and those of the project that the user trusts; sorted by name."""
        trusted = self._trust.fingerprints(self._project) if any(not skill.own for skill in found.skills) else ()
        skills = (
            skill for skill in found.skills if skill.own or make_skill_trust_request(skill).fingerprint in trusted
        )
        return tuple(sorted(skills, key=lambda skill: skill.name))

    def list_readable_folders(self, skills: Iterable[Skill]) -> list[Path]:
        """Return the folders outside the project that may be read because they contain one of these skills.

        A folder that also contains the project, clio's folder or the user's home is left out.
        """
        # A skill in ~ itself would make the whole home directory readable.
        too_broad = (self._home, self._user_home.resolve(), self._root)
        folders = [skill.plugin_folder or skill.folder for skill in skills if skill.own]
        return [folder for folder in folders if not any(path.is_relative_to(folder) for path in too_broad)]

    def list_withheld(self, found: SkillSet) -> tuple[TrustRequest, ...]:
        """Return what the user must trust before the other skills may be used."""
        usable = self.list_usable(found)
        return tuple(make_skill_trust_request(skill) for skill in found.skills if skill not in usable)

    def pop_trust_notice(self, found: SkillSet) -> str:
        """Return a sentence on skills that wait for trust; "" if there are none, or they were reported before."""
        withheld = self.list_withheld(found)
        names = ", ".join(value.key.removeprefix("skill ") for value in withheld)
        reported, self._reported_names = self._reported_names, names
        if not names or names == reported or not self._trust.note_skills_once(self._project, withheld):
            return ""
        return f"skills of this project need your trust before they are used: {names} · /trust"

    def trust(self, skill: Skill) -> None:
        """Trust the skill from now on. Raises ConfigError if that cannot be stored."""
        if not skill.own:
            self._trust.add(self._project, make_skill_trust_request(skill))

    def open(self, skill: Skill) -> OpenedSkill:
        """Return the skill's instructions and files. Raises UserError if they cannot be read."""
        try:
            body = read_skill_body(skill, root=None if skill.own else self._root)
        except UnreadableFile as error:
            raise UserError(
                tr(
                    "the skill {skill!r} cannot be used: {error}; look at {displayed_path}",
                    skill=skill.name,
                    error=error,
                    displayed_path=skill.displayed_path,
                )
            ) from None
        folder = skill.folder.relative_to(self._root) if skill.folder.is_relative_to(self._root) else skill.folder
        lines = [f"Skill {skill.name}, in {folder.as_posix()}; paths in it are relative to that folder."]
        if files := ", ".join(map(to_safe_line, list_skill_files(skill))):
            lines.append(f"Files beside it: {files}. Read them with read_file; run scripts as commands.")
        if skill.tools:
            lines.append(f"It was written for the tools {', '.join(skill.tools)}; each still needs approval as usual.")
        if skill.compatibility:
            lines.append(f"It needs: {skill.compatibility}")
        return OpenedSkill(skill=skill, body=body, text="\n".join([*lines, "", body or "(no instructions)"]))


def make_skill_trust_request(skill: Skill) -> TrustRequest:
    """Return what the user is asked to trust: the part of the skill that is in the prompt, and its origin."""
    # Name, place and description are in every prompt. The body is read when used, and scripts need approval.
    digest = hashlib.sha256(
        json.dumps([skill.displayed_path, skill.name, skill.description]).encode("ascii")
    ).hexdigest()
    return TrustRequest(
        key=f"skill {skill.name}",
        value=skill.description,
        where=skill.displayed_path,
        fingerprint=f"skill:{digest}",
    )


def make_skills_fragment(skills: Sequence[Skill], cap_tokens: int, tokens: Callable[[str], int]) -> Fragment | None:
    """Return the list of skills for the prompt: names and descriptions, truncated to fit; None without skills.

    Args:
        tokens: returns the estimated tokens of a text.
    """
    if not skills:
        return None
    cap = min(CAP_TOKENS, cap_tokens)
    heading = load_prompt("context/skills")
    texts = (_format_list(heading, skills, chars) for chars in (None, *_DESCRIPTION_LENGTHS_CHARS))
    text = next((text for text in texts if tokens(text) <= cap), None) or _format_names_that_fit(
        heading, skills, cap, tokens
    )
    folders = dict.fromkeys(skill.displayed_path.rsplit("/", 2)[0] for skill in skills)
    reason = f"{format_count(len(skills), 'skill')} the model may load"
    return Fragment(name="skills", text=text, source=", ".join(folders), reason=reason, cap_tokens=cap)


def _format_list(heading: str, skills: Iterable[Skill], chars: int | None) -> str:
    return "\n".join([heading, *(_format_row(skill, chars) for skill in skills)])


def _format_row(skill: Skill, chars: int | None) -> str:
    description = skill.description if chars is None else truncate(skill.description, chars)
    return f"- {skill.name}: {description}" if description else f"- {skill.name}"


def _format_names_that_fit(heading: str, skills: Sequence[Skill], cap: int, tokens: Callable[[str], int]) -> str:
    """Return as many names as fit, and the number of the others."""
    for count in range(len(skills), 0, -max(len(skills) // 20, 1)):
        text = f"{_format_list(heading, skills[:count], 0)}\n[and {len(skills) - count} more]"
        if tokens(text) <= cap:
            return text
    return heading


MAX_SUBAGENT_BYTES = 64_000
MAX_SUBAGENT_DESCRIPTION_CHARS = 500
MAX_STEPS = 50
"""Default and maximum number of steps of a sub-agent."""
_CLAUDE_AGENTS_FOLDER = ".claude/agents"
_SUBAGENT_NAME = LazyRegex(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_TOOL_ALIASES = {
    "read": "read_file",
    "notebookread": "read_file",
    "grep": "search_text",
    "glob": "find_files",
    "ls": "list_files",
    "bash": "run_command",
    "edit": "edit_file",
    "multiedit": "edit_file",
    "write": "write_file",
    "webfetch": "web_fetch",
    "todowrite": "todo_operations",
}
"""Names that other agents use for clio's tools."""


class SubagentDefinition(Struct, frozen=True, kw_only=True):
    """The definition of one sub-agent.

    Attributes:
        text: its instructions besides the task.
        tools: the only tools it may use; None for all.
        model: "" for the model of the session.
        displayed_path: path of the file for display.
        own: the user's own, not the project's.
        problem: which of its properties were not understood.
    """

    name: str
    description: str
    text: str
    displayed_path: str
    own: bool
    tools: tuple[str, ...] | None = None
    model: str = ""
    max_steps: int = MAX_STEPS
    problem: str = ""


class SubagentCatalog:
    """The sub-agents defined by the project and the user. The folders are read at each call, because they are few.

    home: clio's own folder.
    """

    def __init__(self, project: Path, home: Path, env: Mapping[str, str]) -> None:
        self._project = project
        self._user_home = user_home(env)
        self._definition_folders = list_definition_folders(
            (".clio/agents", _CLAUDE_AGENTS_FOLDER), project=project, home=home, user_home_folder=self._user_home
        )
        self._trust = TrustStore(home)

    def find(self) -> tuple[tuple[SubagentDefinition, ...], tuple[str, ...]]:
        """Return every definition sorted by name, trusted or not; and sentences on files that are not definitions."""
        return find_subagents(self._definition_folders, project=self._project, user_home_folder=self._user_home)

    def list_usable(self) -> tuple[SubagentDefinition, ...]:
        """Return the user's own definitions, and those of the project that the user trusts; sorted by name."""
        definitions, _ = self.find()
        trusted = (
            self._trust.fingerprints(self._project) if any(not definition.own for definition in definitions) else ()
        )
        return tuple(
            definition
            for definition in definitions
            if definition.own or make_subagent_trust_request(definition).fingerprint in trusted
        )

    def list_withheld(self) -> tuple[TrustRequest, ...]:
        """Return what the user must trust before the other definitions may be used."""
        usable = self.list_usable()
        return tuple(
            make_subagent_trust_request(definition) for definition in self.find()[0] if definition not in usable
        )


def find_subagents(
    definition_folders: Sequence[DefinitionFolder], *, project: Path, user_home_folder: Path
) -> tuple[tuple[SubagentDefinition, ...], tuple[str, ...]]:
    """Return the definitions in these folders sorted by name, and sentences on files that are not definitions.

    The first of a name is used; a plugin's whose name is in use is called `PLUGIN:AGENT`.
    """
    found: dict[str, SubagentDefinition] = {}
    problems: list[str] = []
    for folder in definition_folders:
        for path in _list_definition_files(folder.folder):
            displayed_path = folder.display(path, project=project, user_home_folder=user_home_folder)
            try:
                text = read_text(path, inside=folder.root, max_bytes=MAX_SUBAGENT_BYTES)
                definition = parse_subagent_definition(
                    folder.fill(text), stem=path.stem, displayed_path=displayed_path, own=folder.is_own
                )
            except UnreadableFile as error:
                problems.append(f"{displayed_path} is not used: {error}")
                continue
            problems += [definition.problem] if definition.problem else []
            if folder.plugin:
                # Models in plugins' files are aliases of Claude Code, and a plugin should not choose the price.
                name = f"{folder.plugin}:{definition.name}" if definition.name in found else definition.name
                definition = replace(definition, name=name, model="")
            found.setdefault(definition.name, definition)
    return tuple(found[name] for name in sorted(found)), tuple(problems)


def make_subagent_trust_request(definition: SubagentDefinition) -> TrustRequest:
    """Return what the user is asked to trust; any change of the definition asks again."""
    # All of it is instructions, so any change asks again.
    content = [
        definition.displayed_path,
        definition.name,
        definition.description,
        definition.text,
        definition.tools,
        definition.model,
        definition.max_steps,
    ]
    digest = hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()
    return TrustRequest(
        key=f"agent {definition.name}",
        value=definition.description,
        where=definition.displayed_path,
        fingerprint=f"agent:{digest}",
    )


def _list_definition_files(folder: Path) -> Iterator[Path]:
    if folder.suffix == ".md" and folder.is_file():  # a plugin may name single files
        yield folder
        return
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".md"))
    except OSError:
        return  # the folder is missing or not readable: it defines nothing
    yield from (folder / name for name in names[:MAX_FILES] if not name.startswith("."))


def parse_subagent_definition(text: str, *, stem: str, displayed_path: str, own: bool) -> SubagentDefinition:
    """Return the sub-agent that a file's text defines. Raises UnreadableFile.

    Args:
        stem: the name to use if the text gives none.
    """
    front = split_front_matter(text, displayed_path)
    values = front.values
    name = to_safe_line(values.get("name", "") or stem).lower()
    if not _SUBAGENT_NAME.fullmatch(name) or len(name) > 64:
        raise UnreadableFile(
            tr(
                "{name!r} is not a valid name: up to 64 lowercase letters and digits, with dashes between them",
                name=name[:64],
            )
        )
    description = to_safe_line(values.get("description", ""))
    if not description:
        raise UnreadableFile(tr("it has no description that says when to use the sub-agent"))
    if not front.body:
        raise UnreadableFile(tr("it has no instructions for the sub-agent below its properties"))
    return SubagentDefinition(
        name=name,
        description=description[:MAX_SUBAGENT_DESCRIPTION_CHARS],
        text=front.body,
        displayed_path=displayed_path,
        own=own,
        tools=_translate_tool_names(split_tool_list(to_safe_line(values["tools"])))
        if values.get("tools", "").strip()
        else None,
        # Models in Claude Code's files are its own aliases, such as "sonnet".
        model="" if _CLAUDE_AGENTS_FOLDER in displayed_path else to_safe_line(values.get("model", "")),
        max_steps=_parse_max_steps(values),
        problem=front.problem,
    )


def _parse_max_steps(values: Mapping[str, str]) -> int:
    text = next((values[key] for key in ("max_steps", "max-steps", "maxTurns") if key in values), "").strip()
    if not text:
        return MAX_STEPS
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MAX_STEPS:
        raise UnreadableFile(
            tr("max_steps must be a number from 1 to {max_steps}, not {text!r}", max_steps=MAX_STEPS, text=text[:40])
        )
    return int(text)


def _translate_tool_names(tools: Sequence[str]) -> tuple[str, ...]:
    # "Bash(git add:*)" restricts arguments; only the tool's name is used here.
    names = (_TOOL_ALIASES.get(name.lower(), name) for name in (entry.partition("(")[0] for entry in tools))
    return tuple(dict.fromkeys(names))
