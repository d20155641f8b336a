"""A translation in which every letter has an accent, so that text missing from the catalogue is noticed."""

import string
from collections.abc import Iterable
from pathlib import Path

from clio.text.po_file import Entry, format_po
from docs.make_messages import make_catalog_entries

_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ACCENTED = "áƀçđéƒǧħíĵķłɱñóþǫŕšŧúṽŵẋýžÁƁÇĐÉƑǦĦÍĴĶŁṀÑÓÞǪŔŠŦÚṼŴẊÝŽ"
_TO_ACCENTS = str.maketrans(_PLAIN, _ACCENTED)
LETTERS = frozenset(_ACCENTED)
_HEADER = "Language: pseudo\nContent-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"


def accent(message: str) -> str:
    """Return the message with accents on all letters except those of names in braces."""
    parts: list[str] = []
    for text, name, form, conversion in string.Formatter().parse(message):
        parts.append(text.translate(_TO_ACCENTS).replace("{", "{{").replace("}", "}}"))
        if name is not None:
            parts.append("{" + name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "") + "}")
    return "".join(parts)


def is_template(message: str) -> bool:
    """Whether the message has placeholders; other braces are text."""
    try:
        return any(name for _, name, _, _ in string.Formatter().parse(message))
    except ValueError:
        return False


def write_pseudo_language(path: Path, entries: Iterable[Entry] | None = None) -> Path:
    """Write the translation of the whole catalogue, or of these entries; the setting `language` accepts its path."""
    translated: list[Entry] = []
    for entry in entries or make_catalog_entries():
        texts = (entry.message, entry.plural) if entry.plural else (entry.message,)
        accented = tuple(accent(text) if is_template(text) else text.translate(_TO_ACCENTS) for text in texts)
        translated.append(Entry(message=entry.message, plural=entry.plural, translations=accented))
    path.write_text(format_po(_HEADER, translated), "utf-8")
    return path
