"""Writes the reference tables into the pages, such as flags, settings and tools, from the code that defines them.

    python docs/make_reference.py            rewrite the marked blocks
    python docs/make_reference.py --check    exit 1 if a page is stale

A block stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import ast
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from types import SimpleNamespace
from typing import Any, cast, get_args

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from clio.agent.user_interface import EXIT_CODES  # noqa: E402 the path must be set first
from clio.commands.command import Command, list_usages  # noqa: E402
from clio.commands.registry import COMMANDS as SLASH_COMMANDS  # noqa: E402
from clio.commands.registry import (  # noqa: E402
    find_command,
    make_command_table,
    make_key_table,
)
from clio.commands.session_commands import SESSIONS  # noqa: E402
from clio.config.command_line import COMMANDS, FLAGS, SUBCOMMANDS  # noqa: E402
from clio.config.project_rules import PROJECT_RULES  # noqa: E402
from clio.config.schema import (  # noqa: E402
    CONFIG_FIELDS,
    ENVIRONMENT_VARIABLES,
    LIST_WORDS,
    MODEL_FIELDS,
    SECTIONS,
    Config,
    ModelSettings,
    SettingField,
    TelemetrySettings,
    describe_limits,
)
from clio.config.trust import format_value  # noqa: E402
from clio.entrypoints.completions.scripts import get_subcommand, make_completion_script  # noqa: E402
from clio.entrypoints.headless_json import (  # noqa: E402
    SCHEMA_MISFIT,
    StreamEvent,
    StreamInput,
)
from clio.providers.http_provider import HttpProvider  # noqa: E402
from clio.providers.limits import takes_images  # noqa: E402
from clio.providers.model_facts import read_request_facts  # noqa: E402
from clio.providers.profiles import PRESETS, ServerPreset, find_preset_by_url  # noqa: E402
from clio.providers.registry import make_provider  # noqa: E402
from clio.security.readonly.judge import list_readonly_programs  # noqa: E402
from clio.telemetry.signals import ATTRIBUTES, CONTENT, METRICS, RESOURCE, SPANS  # noqa: E402
from clio.tools.base import Tool  # noqa: E402
from clio.tools.schemas import describe_arguments  # noqa: E402
from clio.tools.session_tools import DelegateTool  # noqa: E402
from clio.tools.toolbox import (  # noqa: E402
    make_file_tools,
    make_session_tools,
    make_use_skill_tool,
)
from clio.ui.palettes import MEANINGS, get_builtin_palette  # noqa: E402
from docs.make_decision_index import decision_index  # noqa: E402
from docs.make_man import list_exit_codes, man_page  # noqa: E402
from tests.support.python_source import parse_source  # noqa: E402

PAGES = (
    "README.md",
    "docs/install.md",
    "docs/index.md",
    "docs/formats/events.md",
    "docs/headless.md",
    "docs/sessions.md",
    "docs/preferences.md",
    "docs/reference/command-line.md",
    "docs/reference/slash-commands.md",
    "docs/reference/settings.md",
    "docs/reference/keys.md",
    "docs/reference/tools.md",
    "docs/reference/files.md",
    "docs/themes.md",
    "docs/approvals.md",
    "docs/configuration.md",
    "docs/providers.md",
    "docs/telemetry.md",
    "docs/decisions/README.md",
)
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def flags() -> str:
    """Every flag, then the sub-commands."""
    rows = [(f"`{flag.usage}`", flag.summary) for flag in FLAGS]
    rows += [(f"`clio {' '.join(words)}`", summary) for words, summary in COMMANDS.items()]
    rows += [(f"`clio {subcommand.name} ...`", subcommand.summary) for subcommand in SUBCOMMANDS]
    return table(("flag", "what it does"), rows)


def install() -> str:
    """How to install clio from its repository, whose address is in pyproject.toml and nowhere else."""
    address = f"git+{repository()}"
    rows = [
        (f"uv tool install {address}", ""),
        (f"pipx install {address}", "or"),
        (f"uvx --from {address} clio", "or: try it once, without installing"),
        ("pip install .", "or: in a checkout and a virtual environment"),
    ]
    width = max(len(line) for line, _ in rows)
    lines = [f"{line:<{width}}  # {note}" if note else line for line, note in rows]
    return "\n".join(["```sh", *lines, "```"])


def repository() -> str:
    """The address of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]


def commands() -> str:
    """Every slash command."""
    found = make_command_table()
    return table(found.columns, ((f"`{usage}`", summary) for usage, summary in found.rows))


def subcommand_forms() -> str:
    """A heading and every form of each sub-command of clio."""
    return "\n\n".join(
        f"### clio {subcommand.name}\n\n{form_table(get_subcommand(subcommand.name), f'clio {subcommand.name}')}"
        for subcommand in SUBCOMMANDS
    )


def command_forms() -> str:
    """A heading and every form of each slash command that has several."""
    return "\n\n".join(
        f"### /{command.name}\n\n{form_table(command, f'/{command.name}')}"
        for command in SLASH_COMMANDS
        if command.subcommands
    )


def exit_codes() -> str:
    """Every exit code of clio."""
    return table(("exit code", "meaning"), ((str(code), meaning) for code, meaning in list_exit_codes()))


def tools() -> str:
    """Every built-in tool of the model: arguments, and whether it only reads. Optional arguments end in "?"."""
    nothing = cast("Any", None)  # the tools are described, not run
    found: list[Tool] = [
        *make_file_tools(nothing, nothing, code_lookup=lambda: nothing),
        *make_session_tools(
            nothing, nothing, nothing, nothing, cast("Any", SimpleNamespace(is_sandboxed=False)),
            command_timeout_s=1, private_network=False, web_search=lambda: nothing,
        ),
        make_use_skill_tool(nothing, nothing),
    ]  # fmt: skip
    described = [(tool.name, tool.args, tool.read_only) for tool in found]
    described.append((DelegateTool.name, DelegateTool.args, DelegateTool.read_only))
    rows = [
        (f"`{name}`", _TOOL_USES[name], f"`{describe_arguments(args)}`", "yes" if read_only else "no")
        for name, args, read_only in described
    ]
    return table(("tool", "what it does", "arguments", "only reads"), rows)


_TOOL_USES = {
    "read_file": "reads a text file with line numbers, a picture, or a folder's listing",
    "write_file": "creates a file, or replaces all of it",
    "edit_file": "replaces one passage of a file ([how it is found](../edits.md))",
    "apply_patch": "changes several files at once",
    "list_files": "lists a folder",
    "find_files": "finds files by name",
    "search_text": "searches the text of files",
    "code_lookup": "finds definitions, references and symbols ([language servers](../code-intelligence.md))",
    "run_command": "runs a shell command, in the background if asked ([approvals](../approvals.md))",
    "job_output": "shows the new output of a background command",
    "job_stop": "stops a background command",
    "git": "runs common git operations; a push is always put to you",
    "web_fetch": "fetches a web page as text",
    "web_search": "searches the web with a service you set ([web search](../web-search.md))",
    "todo_operations": "maintains the session's task list",
    "ask_user": "asks you a question",
    "read_output": "shows more of a shortened result",
    "memory_operations": "remembers, recalls, changes and forgets ([memory](../memory.md))",
    "use_skill": "loads a [skill](../skills.md)",
    "delegate": "gives a task to a [sub-agent](../sub-agents.md)",
}


def files() -> str:
    """Every file that clio keeps, from the page that says how each is used."""
    text = page("docs/privacy.md").partition("| file | contents |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in _CELL.split(line.strip("|"))][:2] for line in text.splitlines()[2:]]
    return table(("file", "contents"), ((name, _LINK.sub(r"](../\1", what)) for name, what in rows))


_CELL = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"\]\(((?!https?:)[^)]*)")


def keys() -> str:
    """Every key, under where it works."""
    found = make_key_table()
    return table(found.columns, found.rows)


def session_commands() -> str:
    """Every form of /session."""
    command = find_command("session")
    assert command is not None
    return form_table(command, "/session")


def prefs_commands() -> str:
    """Every form of /prefs."""
    command = find_command("prefs")
    assert command is not None
    return form_table(command, "/prefs")


def sessions_subcommands() -> str:
    """Every form of `clio sessions`."""
    return form_table(SESSIONS, f"clio {SESSIONS.name}")


def settings() -> str:
    """Every key of config.yaml."""
    meanings = field_docstrings("Config")
    rows = [
        (f"`{name}`", kind(field), shown(getattr(Config(), name)), meanings[name])
        for name, field in CONFIG_FIELDS.items()
    ]
    meanings = field_docstrings("TelemetrySettings")
    rows += [
        (f"`telemetry.{name}`", kind(field), shown(getattr(TelemetrySettings(), name)), meanings[name])
        for name, field in SECTIONS["telemetry"].items()
    ]
    meanings = field_docstrings("ModelSettings")
    rows += [
        (f"`models.<name>.{name}`", kind(field), shown(getattr(ModelSettings(), name)), meanings[name])
        for name, field in MODEL_FIELDS.items()
    ]
    return table(("key", "value", "default", "meaning"), rows)


def restricting_settings() -> str:
    """The settings with which a project that is not trusted may restrict clio."""
    return table(
        ("setting", "reason"),
        ((f"`{name}`", rule.why) for name, rule in PROJECT_RULES.items() if rule.effect == "narrows"),
    )


def user_settings() -> str:
    """The settings that no project can set."""
    return table(
        ("setting", "because it"),
        ((f"`{name}`", rule.why) for name, rule in PROJECT_RULES.items() if rule.effect == "user"),
    )


def telemetry_spans() -> str:
    """Every kind of span of telemetry."""
    rows = [
        (f"`{span.name}`", span.meaning, ", ".join(f"`{name}`" for name in span.attributes if name not in CONTENT))
        for span in SPANS.values()
    ]
    return table(("span", "what it is", "attributes"), rows)


def telemetry_attributes() -> str:
    """The meaning of every attribute of telemetry."""
    used = {name for one in (*SPANS.values(), *METRICS.values()) for name in one.attributes}
    rows = [
        (f"`{name}`", meaning + (" (only with `content: true`)" if name in CONTENT else ""))
        for name, meaning in ATTRIBUTES.items()
        if name in used
    ]
    return table(("attribute", "value"), rows)


def telemetry_metrics() -> str:
    """Every metric of telemetry."""
    rows = [
        (f"`{one.name}`", one.kind, f"`{one.unit}`", one.meaning, ", ".join(f"`{name}`" for name in one.attributes))
        for one in METRICS.values()
    ]
    return table(("metric", "kind", "unit", "what it counts", "attributes"), rows)


def telemetry_resource() -> str:
    """The attributes of everything that telemetry sends."""
    return table(("attribute", "value"), [(f"`{name}`", meaning) for name, meaning in RESOURCE.items()])


def servers() -> str:
    """Every named server, in the order in which keys are looked for."""
    addresses = {
        "azure": "`https://RESOURCE.openai.azure.com/openai/v1`",
        "bedrock": "`https://bedrock-runtime.REGION.amazonaws.com/openai/v1`",
        "vertex": "`https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/endpoints/openapi`",
    }
    rows = [
        (
            f"`{preset.name}`",
            preset.protocol,
            f"`{preset.base_url}`" if preset.base_url else addresses[preset.name],
            ", ".join(f"`{name}`" for name in preset.key_variables),
            f"`{preset.default_model}`" if preset.default_model else "",
        )
        for preset in PRESETS
    ]
    return table(("`provider`", "protocol", "address", "key", "default model"), rows)


def variables() -> str:
    """Every environment variable and the flag for the same setting."""
    by_field = {flag.field: f"`{flag.long_name}`" for flag in FLAGS if flag.field}
    notes = {True: "; not for another named server", False: ""}
    rows = [
        (
            f"`{variable.name}`",
            f"`{variable.field}`" + (" off, by any value" if variable.switches_off else notes[variable.openai_only]),
            by_field.get(variable.field, ""),
        )
        for variable in ENVIRONMENT_VARIABLES
    ]
    rows.append(("`CLIO_HOME`", "the folder of clio's own files, `~/.clio` if not set", ""))
    return table(("variable", "sets", "flag"), rows)


def events() -> str:
    """Every line of `--output stream-json` with its fields."""
    return _tagged(StreamEvent)


def said() -> str:
    """Every line of `--input stream-json` with its fields."""
    return _tagged(StreamInput)


def statuses() -> str:
    """How a turn can end, and the exit code of a run that ends so."""
    rows = [(f"`{status}`", str(code)) for status, code in EXIT_CODES.items()]
    return table(("status", "exit code"), [*rows, ("`misfit`", str(SCHEMA_MISFIT))])


def event_schema() -> str:
    """The JSON Schema of one line of `--output stream-json`."""
    (schema,), parts = msgspec.json.schema_components([StreamEvent], ref_template="#/$defs/{name}")
    for part in parts.values():
        if "description" in part:  # a docstring, which Python 3.13 and later dedents by itself
            part["description"] = inspect.cleandoc(part["description"])
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": parts}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _tagged(union: object) -> str:
    rows: list[tuple[str, str, str]] = []
    for event in get_args(union):
        fields = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(event))
        rows.append((f"`{event.__struct_config__.tag}`", fields, " ".join(str(event.__doc__).split())))
    return table(("type", "fields", "meaning"), rows)


def meanings() -> str:
    """What a theme gives a look to, with the looks of two of clio's own."""
    dark, light = get_builtin_palette("dark").styles, get_builtin_palette("light").styles
    rows = [
        (f"`{name}`", what, f"`{dark[name].as_text}`", f"`{light[name].as_text}`") for name, what in MEANINGS.items()
    ]
    return table(("key", "what", "in `dark`", "in `light`"), rows)


FILES: dict[str, Callable[[], str]] = {
    "docs/formats/events.schema.json": event_schema,
    "share/man/man1/clio.1": man_page,
    "share/bash-completion/completions/clio": lambda: make_completion_script("bash"),
    "share/zsh/site-functions/_clio": lambda: make_completion_script("zsh"),
    "share/fish/vendor_completions.d/clio.fish": lambda: make_completion_script("fish"),
}
"""Files that are made whole; those in share/ are installed beside the program."""


def form_table(command: Command, called: str) -> str:
    """A command's forms."""
    return table(("form", "what it does"), [(f"`{form}`", summary) for form, summary in list_usages(command, called)])


def programs() -> str:
    """The programs of which some calls run without approval, as lines of text."""
    return "\n".join(wrap(", ".join(f"`{name}`" for name in list_readonly_programs()), 120, break_on_hyphens=False))


def providers() -> str:
    """Every named provider: what its requests hold, read from requests to its default model, and how it was checked."""
    columns = ("provider", "protocol", "key", "effort is sent as", "caching", "images", "checked how")
    return table(columns, [_provider_row(preset) for preset in PRESETS])


def _provider_row(preset: ServerPreset) -> tuple[str, ...]:
    key = f"`{preset.key_variable}`" if preset.key_required else "not needed"
    model = preset.default_model or "a-model"
    config = Config(provider=preset.name, model=model, base_url=None if preset.base_url else "https://example.com/v1")
    provider = make_provider(config, {preset.key_variable: "key"})
    assert isinstance(provider, HttpProvider)
    facts = read_request_facts(provider, "high")
    images = "by the model's name" if preset.default_model is None else "yes" if takes_images(config, model) else "no"
    kinds = _recorded().get(preset.name, [])
    recorded = f"recordings ({', '.join(kinds)}), loopback server" if kinds else "loopback server"
    return (
        f"`{preset.name}`",
        f"`{provider.protocol}`",
        key,
        "<br>".join(f"`{field}`" for field in facts.effort) or "not sent",
        ", ".join(f"`{field}`" if " " not in field else field for field in facts.cache) or "by the server alone",
        images,
        recorded,
    )


@cache
def _recorded() -> dict[str, list[str]]:
    """The protocols in which streams of a provider's own host were recorded, by its name."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests" / "fixtures" / "recorded_streams").glob("*.jsonl")):
        urls = {str(json.loads(line)["url"]) for line in path.read_text(encoding="utf-8").splitlines()}
        for name in {preset.name for url in urls if (preset := find_preset_by_url(url)) is not None}:
            found.setdefault(name, []).append(path.stem)
    return found


BLOCKS: dict[str, Callable[[], str]] = {
    "flags": flags,
    "commands": commands,
    "command_forms": command_forms,
    "exit_codes": exit_codes,
    "files": files,
    "subcommand_forms": subcommand_forms,
    "tools": tools,
    "decisions": decision_index,
    "events": events,
    "said": said,
    "statuses": statuses,
    "keys": keys,
    "meanings": meanings,
    "prefs_commands": prefs_commands,
    "session_commands": session_commands,
    "programs": programs,
    "install": install,
    "servers": servers,
    "providers": providers,
    "restricting_settings": restricting_settings,
    "sessions_subcommands": sessions_subcommands,
    "settings": settings,
    "telemetry_attributes": telemetry_attributes,
    "telemetry_metrics": telemetry_metrics,
    "telemetry_resource": telemetry_resource,
    "telemetry_spans": telemetry_spans,
    "user_settings": user_settings,
    "variables": variables,
}


def render(text: str) -> str:
    """The page with every block made anew. Raises KeyError for a block nobody makes."""
    return _BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]]()}\n{match[3]}", text)


def field_docstrings(struct: str) -> dict[str, str]:
    """The text below each field of a Struct in the schema's source, by the field's name."""
    tree = parse_source((ROOT / "clio" / "config" / "schema.py").read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == struct)
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[field.target.id] = " ".join(text.split()).rstrip(".")
                case _:
                    pass
    return found


def kind(field: SettingField) -> str:
    """What a value looks like."""
    words = {
        "text": "text",
        "count": "whole number ≥ 1",
        "switch": "true or false",
        "texts": "list",
        "models": "mapping",
        "keys": "mapping",
        "section": "mapping",
    }
    if field.kind == "number":
        return f"number {describe_limits(field.limits)}"
    if field.name in LIST_WORDS:
        return f"{', '.join(f'`{word}`' for word in LIST_WORDS[field.name])} or list"
    return ", ".join(f"`{choice}`" for choice in field.choices) or words[field.kind]


def shown(default: object) -> str:
    """A default as the file would say it."""
    plain = ", ".join(map(str, cast("tuple[object, ...]", default))) if isinstance(default, tuple) else default
    return "" if default in (None, (), {}, TelemetrySettings()) else f"`{format_value('', plain)}`"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """Rewrite the pages, or only look."""
    made = {name: render(page(name)) for name in PAGES} | {name: make() for name, make in FILES.items()}
    stale = [name for name, text in made.items() if page(name) != text]
    for name in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{name} is stale; run python docs/make_reference.py\n")
        else:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(made[name], encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


def page(name: str) -> str:
    """A page's text, "" where there is none yet."""
    return (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).exists() else ""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
