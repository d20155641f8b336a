"""Writes the catalogue of the sentences that users see, and the pages made from it.

    python docs/make_messages.py            rewrite the catalogue, and bring the translations up to date with it
    python docs/make_messages.py --check    exit 1 if any of these files is stale
    python docs/make_messages.py --missing  print what is not translated yet

Reads all calls of `tr`, `mark` and `tr_count` in clio/ (see clio/text/translation.py) and writes

- clio/locale/clio.pot, the catalogue, with the place where the user sees each message,
- clio/locale/LANGUAGE.po, in which new messages are added and removed ones deleted,
- docs/reference/messages.md, the catalogue as a page to be read as a whole.
"""

import ast
import difflib
import string
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from clio.text.po_file import Entry, format_po, parse_po  # noqa: E402 the path must be set first
from clio.text.translation import make_count_forms  # noqa: E402

LOCALE = ROOT / "clio" / "locale"
CATALOG = LOCALE / "clio.pot"
PAGE = ROOT / "docs" / "reference" / "messages.md"
_HEADER = "Project-Id-Version: clio\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
_SIMILAR = 0.85
"""From this similarity of the English texts on, a translation is kept for review as fuzzy."""

# The first that is the beginning of a file's path; a message is listed where it is first found.
AREAS: Mapping[str, str] = {
    "clio/cli.py": "Command line",
    "clio/config/command_line.py": "Command line: `clio --help`",
    "clio/config/": "Configuration and trust",
    "clio/entrypoints/repl/welcome.py": "First screen",
    "clio/ui/approval_dialog.py": "Questions and approvals",
    "clio/ui/commit_dialog.py": "Questions and approvals",
    "clio/ui/plan_dialog.py": "Questions and approvals",
    "clio/security/": "Reasons for asking and refusing",
    "clio/sandbox/": "Reasons for asking and refusing",
    "clio/ui/footer.py": "Status line and working line",
    "clio/ui/turn_display.py": "Rows of a turn",
    "clio/tools/": "Rows of a turn",
    "clio/agent/": "Notices of a turn",
    "clio/context/": "Notices of a turn",
    "clio/hooks/": "Notices of a turn",
    "clio/lsp/": "Notices of a turn",
    "clio/checks/": "Notices of a turn",
    "clio/ui/reader/": "Screen reader",
    "clio/ui/": "Prompt line, lists and editors",
    "clio/providers/": "Servers and models",
    "clio/mcp/": "Servers and models",
    "clio/commands/registry.py": "Slash commands: `/help`",
    "clio/commands/memory/": "Slash commands: memory",
    "clio/commands/": "Slash commands",
    "clio/memory/": "Memory",
    "clio/entrypoints/doctor/": "`clio doctor`",
    "clio/entrypoints/acp/": "Editors",
    "clio/entrypoints/": "Sub-commands and one-shot runs",
    "clio/export/": "Exported pages",
    "clio/importing/": "Imports",
    "clio/git/": "Git",
    "clio/": "Files and storage",
}


class Message(Struct, kw_only=True):
    """One message in the code. plural: the English plural of a number with its noun."""

    text: str
    plural: str = ""
    file: str


def _parse(source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except SystemError:  # CPython before 3.11.8, by chance, if another thread parses (CPython issue 106905)
        return ast.parse(source)


def find_messages() -> Iterator[Message]:
    """Yield every message of the code, file by file."""
    for path in sorted((ROOT / "clio").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(_parse(path.read_bytes())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            if node.func.id in ("tr", "mark"):
                yield from (Message(text=text, file=name) for text in _find_texts(node.args[0]) if text)
            elif node.func.id == "tr_count" and len(node.args) > 1:
                plurals = list(_find_texts(node.args[2])) if len(node.args) > 2 else []
                for index, noun in enumerate(_find_texts(node.args[1])):
                    one, other = make_count_forms(noun, plurals[index] if index < len(plurals) else "")
                    yield Message(text=one, plural=other, file=name)


def _find_texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts of an argument: a constant, or both branches of a condition."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _find_texts(node.body)
        yield from _find_texts(node.orelse)


def make_catalog_entries() -> list[Entry]:
    """Return the catalogue, area by area, in the order of the files."""
    entries: dict[str, Entry] = {}
    for message in find_messages():
        entry = entries.get(message.text)
        if entry is None:
            entries[message.text] = Entry(
                message=message.text, plural=message.plural, files=(message.file,), comments=(get_area(message.file),)
            )
        elif message.file not in entry.files:
            entries[message.text] = replace(
                entry, files=(*entry.files, message.file), plural=entry.plural or message.plural
            )
    order = list(dict.fromkeys(AREAS.values()))
    return sorted(entries.values(), key=lambda entry: order.index(entry.comments[0]))


def get_area(file: str) -> str:
    """Return where the user sees the messages of a file."""
    return next(area for prefix, area in AREAS.items() if file.startswith(prefix))


def update_translation(text: str, catalog: list[Entry]) -> str:
    """Return a translation with exactly the messages of the catalogue; the translation of a similar text is fuzzy."""
    header, *old = parse_po(text)
    known = {entry.message: entry for entry in old}
    removed = {entry.message: entry for entry in old if entry.translations} | {}
    current = {entry.message for entry in catalog}
    removed = {message: entry for message, entry in removed.items() if message not in current}
    entries: list[Entry] = []
    for entry in catalog:
        found = known.get(entry.message)
        if found is None or not found.translations:
            near = difflib.get_close_matches(entry.message, removed, 1, _SIMILAR)
            found = replace(removed[near[0]], is_fuzzy=True) if near else None
        if found is None or bool(found.plural) != bool(entry.plural):
            entries.append(entry)
        else:
            entries.append(replace(entry, translations=found.translations, is_fuzzy=found.is_fuzzy))
    return format_po(header.translations[0], entries)


def list_fields(text: str) -> set[str]:
    """Return the names in braces, with conversion and format."""
    return {f"{name}!{conversion}:{form}" for _, name, form, conversion in string.Formatter().parse(text) if name}


def make_page(catalog: list[Entry]) -> str:
    """Return the page with all messages."""
    lines = [
        "# Messages",
        "",
        "Read every sentence that clio shows, by where it is shown. Generated from the code by",
        "`python docs/make_messages.py`; names in braces stand for values. How to change or translate them:",
        "[translations](../development/translations.md).",
        "",
        f"{len(catalog):,} messages.",
    ]
    area = ""
    for entry in catalog:
        if entry.comments[0] != area:
            area = entry.comments[0]
            lines += ["", f"## {area}", ""]
        text = f"{entry.message} | {entry.plural}" if entry.plural else entry.message
        first, *others = text.strip("\n").split("\n")
        lines += [f"- {_escape(first)}", *(f"  {_escape(line)}" if line.strip() else "" for line in others)]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """Return a line of a message as Markdown code, in which no markup means anything."""
    if not text.strip():
        return text
    ticks = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def main() -> int:
    """Write or check the files."""
    catalog = make_catalog_entries()
    files = {CATALOG: format_po(_HEADER, catalog), PAGE: make_page(catalog)}
    for path in sorted(LOCALE.glob("*.po")):
        files[path] = update_translation(path.read_text("utf-8"), catalog)
    if "--missing" in sys.argv:
        for path, text in files.items():
            if path.suffix == ".po":
                for entry in parse_po(text):
                    if not entry.translations or entry.is_fuzzy:
                        sys.stdout.write(f"{path.name}: {entry.message!r}\n")
        return 0
    stale = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        for path in stale:
            sys.stderr.write(f"{path.relative_to(ROOT)} is stale: run python docs/make_messages.py\n")
        return bool(stale)
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], "utf-8")
        sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
