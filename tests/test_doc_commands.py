"""Commands in the documentation exist: clio's flags, subcommands and slash commands, make targets, scripts.

Whether they do what the page says is checked by tests that run them: test_doc_examples, test_readme and test_tutorial.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.command import Command, list_usages
from clio.commands.registry import find_command
from clio.config.command_line import COMMANDS, FLAGS, SUBCOMMANDS
from clio.entrypoints.completions.scripts import get_subcommand, list_aliases
from clio.prompt_files import list_prompt_names

ROOT = Path(__file__).parent.parent
# Not the decision records, which describe past decisions, planned features and commands of other agents, and not the
# list of messages, whose commands have placeholders.
_OTHERS = {"decisions", "ROADMAP.md", "comparison.md", "messages.md"}
PAGES = [
    *(page for page in sorted(ROOT.glob("*.md")) if page.name not in _OTHERS),
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.parent.name != "decisions" and page.name not in _OTHERS
    ),
]
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.M | re.S)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_FLAGS = {name: flag.metavar for flag in FLAGS for name in re.findall(r"(?<![\w-])--?[a-z][\w-]*", flag.usage)}
_TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
_ENDS = ("|", ">", "&", ";", "·", "2>")
# Folders, URL paths, and commands that a page defines or that belong to other programs.
_NO_SLASH_COMMANDS = set(
    "dev etc opt proc run sys tmp usr var home anthropic responses embeddings chat name share clio merge".split()
) | {name.removeprefix("commands/") for name in list_prompt_names("commands")}
_NO_TARGETS = {"tag", "ship"}


def read_commands(page: Path) -> Iterator[str]:
    """Yield the lines of shell blocks, and inline code."""
    text = page.read_text(encoding="utf-8")
    for language, lines in _FENCE.findall(text):
        if language in ("", "sh"):
            yield from (re.sub(r"^\s*(?:❯ )?", "", line) for line in lines.splitlines())
        else:
            yield from (line[2:] for line in lines.splitlines() if line.startswith(("❯ ", "$ ")))
    yield from (" ".join(code.split()) for code in _INLINE.findall(_FENCE.sub("", text)))


def describe_problem(line: str) -> str:
    """Return what the line names that does not exist, "" if nothing."""
    if re.match(r"clio(?: |$)", line):
        return check_clio(line)
    if re.match(r"/[a-z]+(?: |$)", line):
        return check_slash_command(line)
    if (found := re.match(r"(?:nice )?make ([a-z][\w-]*)", line)) and found[1] not in _TARGETS | _NO_TARGETS:
        return f"no make target {found[1]}"
    if (found := re.match(r"(?:nice )?python3? ((?:bench|torture|tests|docs)/\S+\.py)", line)) and not (
        ROOT / found[1]
    ).exists():
        return f"no file {found[1]}"
    if found := re.match(r"(?:nice )?python3? -m ((?:bench|torture|tests)[\w.]*)", line):
        path = ROOT / found[1].replace(".", "/")
        return "" if path.is_dir() or path.with_suffix(".py").exists() else f"no module {found[1]}"
    return ""


def check_clio(line: str) -> str:
    """Return what a call of clio names that does not exist."""
    words: list[str] = []
    for word in shlex.split(line, comments=True)[1:]:
        if word.startswith(_ENDS):
            break
        words.append(word.rstrip(";,"))
        if word.endswith(";"):
            break
    while words and words[0].startswith("-") and words[0] != "--":
        flag, equals, _ = words.pop(0).partition("=")
        if flag not in _FLAGS:
            return f"no flag {flag}"
        metavar = _FLAGS[flag]
        if metavar is not None and not equals and words and not (metavar.startswith("[") and words[0].startswith("-")):
            words.pop(0)
    if not words or not re.fullmatch(r"[a-z]+", words[0]):
        return ""
    name = list_aliases().get(words[0], words[0])
    if name in {subcommand.name for subcommand in SUBCOMMANDS}:
        return check_form(get_subcommand(name), name, words[1:])
    if name not in {command[0] for command in COMMANDS}:
        return f"no sub-command {name}"
    return next(
        (f"no flag {word}" for word in words if word.startswith("--") and word.partition("=")[0] not in _FLAGS), ""
    )


def check_slash_command(line: str) -> str:
    """Return what a slash command names that does not exist."""
    name, *words = line.split()
    if name[1:] in _NO_SLASH_COMMANDS:
        return ""
    command = find_command(name[1:])
    return f"no command {name}" if command is None else check_form(command, name, words)


def check_form(command: Command, called: str, words: list[str]) -> str:
    """Return what the words after a command name that it does not have: a subcommand or an option."""
    verbs = {name for verb in command.subcommands for name in (verb.name, *verb.aliases)}
    if (
        verbs
        and words
        and re.fullmatch(r"[a-z]{2,}", words[0])
        and words[0] not in verbs | set(re.findall(r"\w+", command.argument))
    ):
        return f"{called} has no {words[0]}"
    if "=>" in words:
        return ""
    forms = " ".join(form for form, _ in list_usages(command, called))
    options = (word.partition("=")[0] for word in words[: words.index("--") if "--" in words else None])
    return next(
        (
            f"{called} has no {one}"
            for one in options
            if one.startswith("--") and one not in forms and one not in _FLAGS and one != "--help"
        ),
        "",
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_a_page_names_exist(page: Path) -> None:
    assert [f"{found}: {line}" for line in read_commands(page) if (found := describe_problem(line))] == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("clio --modell x", "no flag --modell"),
        ("clio -p 'hello' --output json | jq .", ""),
        ("clio -r -m gpt-5", ""),
        ("clio memroy list", "no sub-command memroy"),
        ("clio sessions lst", "sessions has no lst"),
        ("clio memory export all.json --fast", "memory has no --fast"),
        ("clio config show --json # a comment", ""),
        ("/memori list", "no command /memori"),
        ("/memory lits", "/memory has no lits"),
        ("/tmp", ""),
        ("make nothing", "no make target nothing"),
        ("python bench/nothing.py", "no file bench/nothing.py"),
        ("nice python -m bench.nothing", "no module bench.nothing"),
    ],
)
def test_a_command_that_does_not_exist_is_detected(line: str, problem: str) -> None:
    assert describe_problem(line) == problem
