"""Read and write gettext's .po files: the catalogue of messages, and its translations."""

import json
import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

_LINE = re.compile(r'(?:(msgid_plural|msgid|msgstr)(?:\[(\d)\])? )?("(?:[^"\\]|\\.)*")')
_PLURAL_FORMS = re.compile(r"plural=([^;\n]+)")
_USUAL_PLURAL = "(n != 1)"
THOUSANDS = "X-Thousands"
"""The field of the header with the separator of thousands."""
_MAX_LINE_CHARS = 110


class Entry(Struct, kw_only=True):
    """One message.

    Attributes:
        plural: the English plural; "" for a sentence without a number.
        translations: one text, or each plural form; empty if it is not translated.
        files: the files that contain it.
        comments: what a translator should know, such as where the user sees it.
        is_fuzzy: the English text changed after it was translated, so the translation is not used.
    """

    message: str
    plural: str = ""
    translations: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    is_fuzzy: bool = False


def parse_po(text: str) -> Iterator[Entry]:
    """Yield the entries of a file, the header first, whose message is ""."""
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        files: list[str] = []
        comments: list[str] = []
        is_fuzzy, key = False, ""
        for line in block.splitlines():
            if line.startswith("#"):
                if line.startswith("#: "):
                    files += line[3:].split()
                elif line.startswith("#. "):
                    comments.append(line[3:])
                is_fuzzy = is_fuzzy or (line.startswith("#,") and "fuzzy" in line)
            elif found := _LINE.fullmatch(line):
                if found[1]:
                    key = found[1] + (found[2] or "")
                fields[key] = fields.get(key, "") + json.loads(found[3])
        if "msgid" not in fields:
            continue
        texts = [value for name, value in sorted(fields.items()) if name.startswith("msgstr")]
        yield Entry(
            message=fields["msgid"],
            plural=fields.get("msgid_plural", ""),
            translations=tuple(texts) if all(texts) else (),
            files=tuple(files),
            comments=tuple(comments),
            is_fuzzy=is_fuzzy,
        )


def format_po(header: str, entries: Iterable[Entry]) -> str:
    """Return the text of a file; header: its lines such as "Language: de", each with its newline."""
    return "\n".join((_format_entry(Entry(message="", translations=(header,))), *map(_format_entry, entries)))


def _format_entry(entry: Entry) -> str:
    lines = [f"#. {comment}" for comment in entry.comments]
    lines += [f"#: {file}" for file in entry.files]
    if entry.is_fuzzy:
        lines.append("#, fuzzy")
    elif "{" in entry.message:
        lines.append("#, python-brace-format")
    lines += _format_field("msgid", entry.message)
    if entry.plural:
        lines += _format_field("msgid_plural", entry.plural)
        for index, text in enumerate(entry.translations or ("", "")):
            lines += _format_field(f"msgstr[{index}]", text)
    else:
        lines += _format_field("msgstr", entry.translations[0] if entry.translations else "")
    return "\n".join(lines) + "\n"


def _format_field(name: str, text: str) -> Iterator[str]:
    """Yield a text as gettext writes it: a long one in several strings, each ending at a space or a newline."""
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        for word in re.findall(r"\S*\s*", line):
            if pieces and not pieces[-1].endswith("\n") and len(pieces[-1]) + len(word) <= _MAX_LINE_CHARS:
                pieces[-1] += word
            elif word:
                pieces.append(word)
    if len(pieces) < 2:
        yield f"{name} {json.dumps(text, ensure_ascii=False)}"
        return
    yield f'{name} ""'
    yield from (json.dumps(piece, ensure_ascii=False) for piece in pieces)


class Translation(Struct, kw_only=True):
    """What a file translates; see `clio.text.translation.Catalog`."""

    sentences: dict[str, str] = {}
    forms: dict[str, tuple[str, ...]] = {}
    select_form: Callable[[int], int]
    thousands: str = ","


def parse_translation(text: str) -> Translation:
    """Return the translations of a file; those that are missing or fuzzy are left out."""
    sentences: dict[str, str] = {}
    forms: dict[str, tuple[str, ...]] = {}
    header = ""
    for entry in parse_po(text):
        if not entry.message:
            header = "".join(entry.translations)
        elif entry.plural and entry.translations and not entry.is_fuzzy:
            forms[entry.message] = entry.translations
        elif entry.translations and not entry.is_fuzzy:
            sentences[entry.message] = entry.translations[0]
    thousands = next((line.partition(": ")[2] for line in header.splitlines() if line.startswith(THOUSANDS)), ",")
    return Translation(sentences=sentences, forms=forms, select_form=_parse_plural_rule(header), thousands=thousands)


def _parse_plural_rule(header: str) -> Callable[[int], int]:
    found = _PLURAL_FORMS.search(header)
    rule = found[1].strip() if found else _USUAL_PLURAL
    if rule == _USUAL_PLURAL:
        return lambda number: int(number != 1)
    import gettext

    return gettext.c2py(rule)  # pyright: ignore[reportAttributeAccessIssue]
