"""The manual page clio(1), from the tables of flags, commands, exit codes and variables; make_reference writes it."""

import textwrap
from collections.abc import Iterator, Mapping

from clio.agent.user_interface import EXIT_CODES
from clio.cli import PIPE_CLOSED
from clio.commands.command import list_usages
from clio.config.command_line import COMMANDS, FLAGS, SUBCOMMANDS
from clio.config.schema import ENVIRONMENT_VARIABLES
from clio.entrypoints.completions.scripts import get_subcommand
from clio.entrypoints.headless_json import SCHEMA_MISFIT

_HEAD = """\
.\\" Made by docs/make_reference.py; change the tables in clio/config/command_line.py and its like instead.
.TH CLIO 1 2026-11-22 "clio" "User Commands"
.SH NAME
clio \\- a terminal coding agent that remembers
.SH SYNOPSIS
.B clio
.RI [ options ]
.br
.B clio
.BR \\-p " [" \\fITEXT\\fR "] [" \\fIoptions\\fR ]
.br
.B clio
.I command
.RI [ words ]
.SH DESCRIPTION
Without
.B \\-p
and without a command, clio begins a conversation in the current project: an
agent reads, edits, runs and commits, and what it learns, what was said and what
was trimmed stay on this machine as plain files.
Type
.B /help
there.
With
.B \\-p
it answers one prompt and leaves; piped text is appended to the prompt."""
_FILES = (
    ("~/.clio/config.yaml", "your settings; CLIO_HOME names another folder"),
    ("~/.clio/", "what is remembered of you, prices, themes, skills, hooks.yaml, mcp.yaml"),
    (".clio/config.yaml", "the project's settings; what widens your rights counts once the folder is trusted"),
    (".clio/", "the project's sessions, knowledge, notes and indexes; cache/ may be deleted at any time"),
    ("AGENTS.md", "instructions of the project, with its like"),
)
_EXAMPLES = (
    ("git diff | clio -p 'review this change'", "one answer, with piped text"),
    ("clio -r 'retry policy'", "resume the session of that name"),
    ("clio doctor", "check your setup"),
)
_CODES: Mapping[int, str] = {
    0: "done",
    1: "the turn failed, or reached --max-steps",
    2: "wrong usage or configuration, the server refused, or a line of --input stream-json is invalid",
    3: "the context does not fit the model's window",
    4: "an approval was needed, but no one could be asked",
    5: "--max-cost was reached",
    6: "a hook refused the prompt",
    SCHEMA_MISFIT: "the answer does not fit the schema of --json-schema",
    130: "interrupted, by Ctrl-C or SIGTERM",
    PIPE_CLOSED: "the reader closed the output",
}


def man_page() -> str:
    """The whole page in man(7) macros."""
    parts = [_HEAD, ".SH COMMANDS"]
    parts += [_item(f"clio {' '.join(words)}", summary) for words, summary in COMMANDS.items()]
    parts += [
        _item(f"clio {subcommand.name}", f"{subcommand.summary}; see {subcommand.name.upper()} below")
        for subcommand in SUBCOMMANDS
    ]
    parts.append(".SH OPTIONS")
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        parts.append(f'.SS "{_text(group.capitalize())}"')
        parts += [_item(flag.usage, flag.summary) for flag in FLAGS if flag.group == group]
    for subcommand in SUBCOMMANDS:
        parts.append(f'.SH "{subcommand.name.upper()}"')
        parts += [
            _item(form, summary)
            for form, summary in list_usages(get_subcommand(subcommand.name), f"clio {subcommand.name}")
        ]
    parts += [".SH ENVIRONMENT", *(_item(name, what) for name, what in _variables())]
    parts += [".SH FILES", *(_item(name, what) for name, what in _FILES)]
    parts += [".SH EXIT STATUS", *(_item(str(code), what) for code, what in list_exit_codes())]
    parts.append(".SH EXAMPLES")
    parts += [f"{_text(what.capitalize())}:\n.PP\n.nf\n.RS 4\n{_text(line)}\n.RE\n.fi\n.PP" for line, what in _EXAMPLES]
    parts[-1] = parts[-1].removesuffix("\n.PP")
    parts.append(".SH SEE ALSO\n.BR git (1),\n.BR rg (1)")
    return "\n".join(parts) + "\n"


def _variables() -> Iterator[tuple[str, str]]:
    flags = {flag.field: flag.long_name for flag in FLAGS if flag.field}
    for variable in ENVIRONMENT_VARIABLES:
        what = f"the setting {variable.field}" + (", off by any value" if variable.switches_off else "")
        yield variable.name, f"{what}; as {flags[variable.field]}" if variable.field in flags else what
    yield "CLIO_HOME", "the folder of clio's own files, ~/.clio if not set"


def list_exit_codes() -> Iterator[tuple[int, str]]:
    """Yield every exit code and its meaning. Raises KeyError for a code without a meaning here."""
    return ((code, _CODES[code]) for code in sorted({*EXIT_CODES.values(), SCHEMA_MISFIT, PIPE_CLOSED}))


def _item(term: str, what: str) -> str:
    return f".TP\n.B {_text(term)}\n{textwrap.fill(_text(what), 80, break_long_words=False, break_on_hyphens=False)}"


def _text(text: str) -> str:
    """The text with nothing in it that roff would take for an order."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "\\&...").replace('"', "\\(dq")
    text = text.replace("`", "").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith((".", "\\(aq")) else text
