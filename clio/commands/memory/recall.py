"""/recall: one question to everything that is remembered."""

import time
from collections.abc import Iterable

from clio.commands.arguments import Given, read
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.free_text import count_of
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.memory.access import names_repository, remembers
from clio.commands.memory.recall_words import answer_data, first_because, hit_table, missing, nothing, opening
from clio.commands.memory.words import date
from clio.commands.result import CommandResult, refuse
from clio.errors import UsageError
from clio.memory.temporal.when import parse_when
from clio.memory.unified.hits import DEFAULT_LIMIT, FUSIONS, LAYERS, Fusion, Layer

_VALUED = ("--layer", "--at", "--limit", "--fusion")
_NAMED_LAYERS: dict[str, Layer] = {
    "sessions": "L0",
    "said": "L0",
    "memories": "L1",
    "knowledge": "L1",
    "preferences": "L2",
    "styles": "L2",
}


@remembers
@names_repository
def recall(shell: Shell, argument: str) -> CommandResult:
    """Sessions, documents, memories, project knowledge, notes, preferences and styles in one list, the best first."""
    given = read(argument, switches=("--why",), valued=_VALUED)
    query = given.typed if given.typed.startswith('"') else given.text  # double quotes: the words stand together
    if not query.strip():
        return refuse("Recall what? Write /recall with a few words; --layer, --at and --why narrow and explain")
    now = time.time()
    at = parse_when(given.options["--at"], now) if "--at" in given.options else None
    answer = shell.memory.unified.recall(
        query,
        layers=_layers(given),
        at=at,
        limit=count_of(given.options["--limit"], "--limit") if "--limit" in given.options else DEFAULT_LIMIT,
        fusion=_fusion(given),
        current=shell.session.id or None,
    )
    trims = shell.session.trims
    data = answer_data(query, answer, trims) | {"at": at}
    then = f"As of {date(at)}. " if at is not None else ""
    if not answer.hits:
        return CommandResult(text=f"{then}{nothing(query)}{missing(answer)}", data=data)
    best = answer.hits[0]
    command = opening(best, trims)
    way = f" Open it: {code(command)}." if command else ""
    return CommandResult(
        text=f"{then}{first_because(best)}{way}{missing(answer)}",
        table=hit_table(answer.hits, query, now, why="--why" in given.options),
        data=data,
    )


def suggest(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """Options, and what may stand behind one of them."""
    before = argument.split(" ")[:-1]
    match before[-1] if before else "":
        case "--layer":
            yield Suggestion(text="L0", note="what was said: sessions, trimmed turns, documents")
            yield Suggestion(text="L1", note="memories, project knowledge, notes")
            yield Suggestion(text="L2", note="preferences, hard limits, styles")
        case "--fusion":
            yield Suggestion(text="convex", note="by scores, weighed")
            yield Suggestion(text="rrf", note="by ranks only")
        case "--at":
            yield Suggestion(text="yesterday", note="or a date, or 30d")
        case _:
            for name, note in _NOTES.items():
                if name not in before:
                    yield Suggestion(text=name, note=note)


_NOTES = {
    "--layer": "L0 what was said, L1 what was kept, L2 what you like",
    "--at": "as of a date",
    "--limit": "so many at most",
    "--fusion": "convex, or rrf",
    "--why": "each with all its reasons",
}


def _layers(given: Given) -> tuple[Layer, ...]:
    """The layers asked for, commas between. Raises UsageError for one there is not."""
    said = [part.strip() for part in given.options.get("--layer", "").split(",") if part.strip()]
    names: dict[str, Layer] = {**_NAMED_LAYERS, "l0": "L0", "l1": "L1", "l2": "L2"}
    for part in said:
        if part.casefold() not in names:
            raise UsageError(f"There is no layer {part!r}; {nearest(part, [*LAYERS, *_NAMED_LAYERS])}")
    return tuple(dict.fromkeys(names[part.casefold()] for part in said)) or LAYERS


def _fusion(given: Given) -> Fusion:
    name = given.options.get("--fusion", "convex").casefold()
    if name not in FUSIONS:
        raise UsageError(f"--fusion is convex or rrf, not {name!r}")
    return name


RECALL: tuple[Command, ...] = (
    Command(
        name="recall",
        argument="WORDS [--layer L] [--at DATE] [--limit N] [--fusion F] [--why]",
        summary="everything that is remembered, in one list: what was said, kept, liked",
        handler=recall,
        suggest_word=suggest,
    ),
)
