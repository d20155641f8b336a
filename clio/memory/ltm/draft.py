"""What an entry must have before it is written, said in a sentence where it has not."""

from typing import Any

import msgspec
from msgspec import structs

from clio.errors import UserError
from clio.memory.ltm.kinds import Json, to_entry, to_raw
from clio.memory.records import Entry, Kind

MAX_CHARS = 10_000
"""Of each text of an entry; what is longer is a note."""
MAX_EXAMPLES = 50
_CHANGEABLE = (
    "text",
    "solution",
    "also",
    "impact",
    "steps",
    "context",
    "confidence",
    "success_rate",
    "examples",
    "provenance",
)
_MAIN = {
    "discovery": "fact",
    "solution": "error",
    "pattern": "pattern",
    "workflow": "workflow",
    "failure": "failure",
    "rule": "rule",
}


def checked(draft: Entry) -> Entry:
    """The draft in valid Unicode, without blanks round its texts. Raises UserError for one that lacks what it needs."""
    clean = structs.replace(
        draft,
        text=unsurrogated(draft.text).strip(),
        solution=unsurrogated(draft.solution).strip(),
        impact=unsurrogated(draft.impact).strip(),
        context=unsurrogated(draft.context).strip(),
        also=_cleaned(draft.also),
        steps=_cleaned(draft.steps),
        examples=_cleaned(draft.examples),
    )
    name = _MAIN[clean.kind]
    if not clean.text and not (clean.kind == "workflow" and clean.steps):
        raise UserError(f"The {name} is empty; say in a sentence what is to be remembered.")
    if clean.kind == "solution" and not clean.solution:
        raise UserError("The solution is empty; say what helped against the error.")
    texts = (clean.text, clean.solution, clean.impact, clean.context, *clean.also, *clean.steps, *clean.examples)
    longest = max(map(len, texts))
    if longest > MAX_CHARS:
        raise UserError(
            f"The {name} has {longest:,} characters and an entry holds {MAX_CHARS:,}; store a note, and say here where."
        )
    if len(clean.examples) > MAX_EXAMPLES:
        raise UserError(f"{len(clean.examples)} examples are too many; give the {MAX_EXAMPLES} that show it best.")
    return clean


def changed_raw(kind: Kind, raw: Json, handle: str, changes: dict[str, Any]) -> Json:
    """The object with those fields changed and all others as they were. Raises UserError for a field there is not."""
    unknown = [name for name in changes if name not in _CHANGEABLE]
    if unknown:
        raise UserError(f"{', '.join(unknown)} cannot be changed; what can is {', '.join(_CHANGEABLE)}.")
    now = to_entry(kind, raw, handle)
    new = checked(structs.replace(now, **changes))
    if new.kind == "workflow" and "steps" in changes and "text" not in changes and now.text == " → ".join(now.steps):
        new = structs.replace(new, text=" → ".join(new.steps))
    was, will = to_raw(now), to_raw(new)
    fields = {name: value for name, value in will.items() if value != was.get(name)}
    dropped = was.keys() - will.keys()
    if changes.get("provenance"):
        fields["provenance"] = msgspec.to_builtins(changes["provenance"])
    return {name: value for name, value in (raw | fields).items() if name not in dropped}


def unsurrogated(text: str) -> str:
    """The text in valid Unicode, with a question mark for what no file could hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _cleaned(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean for text in texts if (clean := unsurrogated(text).strip())))
