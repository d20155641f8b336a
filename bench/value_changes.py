"""Train the models that find changed values, and measure them with pairs that they were not trained with.

    python bench/value_changes.py              # measure clio/memory/consolidation/value_changes.bin
    python bench/value_changes.py --train      # train it, write it, and measure it
    python bench/value_changes.py --wrong      # also print each pair that is read wrong

`bench/data/value_changes.jsonl` has pairs of a statement and a message that writers made up who had not seen clio's
rules, with the former and the new value if the message changes one. The half "test" is never trained with. Pairs are
also made of the cases of `memory_phrasings.jsonl`, except those of its test halves and "hard negatives", and by putting
the statement of one pair beside the message of another.
"""

import argparse
import json
import multiprocessing
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.training import fit
from clio.memory.consolidation.value_changes import MODEL, ValuePair, find_change, find_values, list_value_pairs
from clio.memory.preferences.foreign_statements import list_foreign_texts, read_requests
from clio.memory.preferences.stated_preferences import find_preferences

DATA = Path(__file__).parent / "data"
TABLES = Path(__file__).parent.parent / "tests" / "memory"
THINGS = ("billing", "the parser", "staging", "search", "the worker")
OTHER_ROWS = 12
"""Number of other properties with which each statement about a property is paired."""
LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95)
TESTS = ("everyday test", "words test", "seventh test", "hard negatives", "second independent test")
EPOCHS, FOLDS = 8, 4
CHANGED = frozenset(("corrected", "corrected later", "changed", "replaced", "new value only", "not X but Y"))
SAME = frozenset(("unchanged", "both stay", "told again", "nothing changed", "not corrected"))
CASE_WEIGHT, MIXED_WEIGHT = 0.7, 0.5


TrainingRow = tuple[list[int], bool, float]
"""Features, whether it is so, and the weight of the example."""
Places = tuple[range, range]
"""The places of the tokens of the former and the new value."""


class Example(Struct, frozen=True):
    """A statement, a message, and the former and the new value; "?" if only known to change, "" if it does not."""

    statement: str
    message: str
    is_reply: bool
    old: str
    new: str
    weight: float = 1.0
    ended: bool | None = False


def read_pairs(half: str) -> list[Example]:
    """Return the labelled pairs of a half."""
    lines = (DATA / "value_changes.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Example(
            one["memory"],
            one["message"],
            one["when"] == "reply",
            one["old"] or "",
            one["new"] or "",
            ended=one["effect"] == "ended" if "effect" in one else False if one["new"] else None,
        )
        for one in map(json.loads, lines)
        if one["half"] == half
    ]


def read_cases(*halves: str) -> Iterator[Example]:
    """Yield pairs of the cases of these halves, or of all halves that are not in `TESTS`."""
    for line in (DATA / "memory_phrasings.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if (case["half"] not in halves) if halves else (case["half"] in (*TESTS, "independent test")):
            continue
        messages = [(at, one) for at, said in enumerate(case["sessions"]) for one in said if one[:1] != "("]
        first, later = _read_fact(messages[0][1]), messages[1:]
        patterns: list[str] = case.get("remembered", []) if case["class"] in CHANGED else []
        places = [at for at, (_, one) in enumerate(later) if any(re.search(two, one, re.I) for two in patterns)]
        if case["class"] not in CHANGED | SAME or (patterns and not places):
            continue
        for at, (session, message) in enumerate(later):
            value = "?" if places and at == places[-1] else ""
            yield Example(first, message, not at and not session, value, value, CASE_WEIGHT, None)


def read_tables() -> Iterator[Example]:
    """Yield pairs of the tables with which the comparison of statements is tested, without their test halves."""
    for line in (
        *_read_table(TABLES / "consolidation" / "data" / "changed_values.tsv"),
        *_read_table(DATA / "changed_values.tsv"),
    ):
        _, old, said, new = line.split("\t")
        yield Example(old, said, True, *_find_difference(old, said, new), CASE_WEIGHT, None)
        yield Example(old, said, False, *_find_difference(old, said, new), CASE_WEIGHT, None)
    for half in ("", "_blind_development", "_owners_development", "_relations_development"):
        for line in _read_table(TABLES / "data" / f"statement_pairs{half}.tsv"):
            relation, old, new = line.split("\t")
            value = "?" if relation == "supersedes" else ""
            yield Example(old, new, False, value, value, CASE_WEIGHT)
    random = np.random.default_rng(0)
    for half in ("development", "second", "third"):
        rows = [line.split("\t") for line in _read_table(TABLES / "data" / f"statement_properties_{half}.tsv")]
        for at, (old, new) in enumerate(rows):
            thing = str(random.choice(THINGS))
            yield Example(old.format(thing), new.format(thing), False, "?", "?", CASE_WEIGHT)
            places: list[int] = random.permutation(len(rows))[:OTHER_ROWS].tolist()
            for other in places:
                if other != at:
                    yield Example(old.format(thing), rows[other][1].format(thing), False, "", "", MIXED_WEIGHT)
            others = [one for one in THINGS if one != thing]
            yield Example(old.format(thing), new.format(random.choice(others)), False, "", "", MIXED_WEIGHT)
    for line in (TABLES / "consolidation" / "corrections.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        value = "?" if case["refutes"] else ""
        if case["half"] == "development":
            yield Example(case["old"], case["later"], False, value, value, CASE_WEIGHT, None)


def _read_table(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def _find_difference(old: str, message: str, new: str) -> tuple[str, str]:
    """Return the value that a statement has in place of another one; "?" if the message has it in other words."""
    if not new:
        return "", ""
    before, after = old.split(" "), new.split(" ")
    start = next((at for at, pair in enumerate(zip(before, after, strict=False)) if len(set(pair)) > 1), 0)
    end = next((at for at, pair in enumerate(zip(before[::-1], after[::-1], strict=False)) if len(set(pair)) > 1), 0)
    former, value = " ".join(before[start : len(before) - end]), " ".join(after[start : len(after) - end])
    place = message.casefold().find(value.casefold())
    is_known = former and value and place >= 0
    return (former, message[place : place + len(value)]) if is_known else ("?", "?")


def _read_fact(message: str) -> str:
    """Return what a message asks to remember, as it is saved."""
    english = [one.content for one in find_preferences(message) if one.kind == "fact"]
    texts = list_foreign_texts(message)
    other = [one.content for code, text in texts for one in read_requests(text, code)]
    return next(iter((*other, *english)), message)


def mix(examples: Sequence[Example]) -> Iterator[Example]:
    """Yield the statement of one pair with the message of another, half as many as there are pairs."""
    random = np.random.default_rng(0)
    first: list[int] = random.permutation(len(examples)).tolist()
    second: list[int] = random.permutation(len(examples)).tolist()
    for one, other in zip(first, second, strict=True):
        if one % 2 == 0 and examples[one].statement != examples[other].statement:
            yield Example(examples[one].statement, examples[other].message, False, "", "", MIXED_WEIGHT)


def list_corrected(pairs: Sequence[Example]) -> Iterator[Example]:
    """Yield every second statement that a message changes, as it is afterwards: the message changes it no more."""
    for one in pairs[::2]:
        if one.new:
            corrected = one.statement.replace(one.old, one.new, 1)
            yield Example(corrected, one.message, one.is_reply, "", "", MIXED_WEIGHT)


def train() -> bytes:
    """Return the weights fitted to the pairs. The folds run in as many processes as there are processors."""
    tables = list(read_tables())
    pairs = [*read_pairs("training"), *(one for one in tables if one.new not in ("", "?"))]
    examples = [*pairs, *read_cases(), *(one for one in tables if one.new in ("", "?"))]
    examples += mix(examples)
    corrected = list(list_corrected(pairs))
    values = [_list_token_rows(one) for one in pairs]
    context = multiprocessing.get_context("fork")
    with context.Pool() as pool:  # the values that the models find in pairs that they were not fitted to
        folds = pool.starmap(_list_options, [(fold, pairs, values) for fold in range(FOLDS)])
        options: list[list[TrainingRow]] = [[] for _ in pairs]
        for fold, found in enumerate(folds):
            options[fold::FOLDS] = found
        parts = (*values, *options)
        asked = [(fold, examples, parts, corrected if fold == 0 else []) for fold in range(FOLDS)]
        found_places = pool.starmap(_find_values, asked)
    places: list[Places] = [(range(0), range(0))] * len(examples)
    for fold, (found, _) in enumerate(found_places):
        places[fold::FOLDS] = found
    rows = [row for part in parts for row in part]
    for at, one in enumerate(examples):
        change, end = _make_pair(one).list_change_features(places[at])
        rows.append((change, bool(one.new), one.weight))
        if one.ended is not None:
            rows.append((end, one.ended, one.weight))
    for one, place in zip(corrected, found_places[0][1], strict=True):
        rows.append((_make_pair(one).list_change_features(place)[1], False, one.weight))
    return _fit(rows)


def _list_options(
    fold: int, pairs: Sequence[Example], values: Sequence[Sequence[TrainingRow]]
) -> list[list[TrainingRow]]:
    """Return the rows of likely values of the pairs of a fold, by a model fitted to the others."""
    MODEL.use(_fit([row for at, rows in enumerate(values) if at % FOLDS != fold for row in rows]))
    return [_list_option_rows(one) for one in pairs[fold::FOLDS]]


def _find_values(
    fold: int,
    examples: Sequence[Example],
    parts: Sequence[Sequence[TrainingRow]],
    corrected: Sequence[Example],
) -> tuple[list[Places], list[Places]]:
    """Return the places of the values in the examples of a fold, and in some of all folds.

    parts: rows of tokens of all pairs, followed by rows of their likely values.
    """
    number = len(parts) // 2
    MODEL.use(_fit([row for at, rows in enumerate(parts) if at % number % FOLDS != fold for row in rows]))
    return [find_values(_make_pair(one))[:2] for one in examples[fold::FOLDS]], [
        find_values(_make_pair(one))[:2] for one in corrected
    ]


def _fit(rows: Sequence[TrainingRow]) -> bytes:
    allowed = np.array([[not is_so, is_so] for _, is_so, _ in rows], float)
    return fit([one for one, _, _ in rows], allowed, [weight for _, _, weight in rows], EPOCHS)


def _make_pair(one: Example) -> ValuePair:
    return ValuePair(one.statement, one.message, is_reply=one.is_reply)


def _list_token_rows(one: Example) -> list[TrainingRow]:
    """Return a row for each token of both texts: whether it belongs to the value; none if nothing changes."""
    if not one.new:
        return []
    pair = _make_pair(one)
    rows: list[TrainingRow] = []
    for of_new, place in zip((False, True), _find_places(one, pair), strict=True):
        features = pair.list_value_features(of_new=of_new)
        rows += [(row, at in place, 1.0) for at, row in enumerate(features)]
    return rows


def _list_option_rows(one: Example) -> list[TrainingRow]:
    """Return a row for each combination of likely values: whether it is the right one; none if nothing changes."""
    if not one.new:
        return []
    pair = _make_pair(one)
    right = _find_places(one, pair)
    return [(row, (former, value) == right, 1.0) for former, value, row in list_value_pairs(pair)]


def _find_places(one: Example, pair: ValuePair) -> tuple[range, range]:
    """Return the places of the tokens of both values."""
    places: list[range] = []
    for tokens, text, value in ((pair.old, one.statement, one.old), (pair.new, one.message, one.new)):
        start = text.index(value)
        at = [at for at, token in enumerate(tokens) if token.start < start + len(value) and token.end > start]
        places.append(range(at[0], at[-1] + 1))
    return places[0], places[1]


def measure(title: str, examples: Sequence[Example], *, shows: bool = False) -> None:
    """Print which part of the changes is found at each level of probability, and how often their values are right."""
    found = [find_change(one.statement, one.message, is_reply=one.is_reply) for one in examples]
    changed = sum(bool(one.new) for one in examples)
    print(f"{title}: {len(examples)} pairs, {changed} changed")
    for level in LEVELS:
        hits = sum(one.probability >= level and bool(pair.new) for one, pair in zip(found, examples, strict=True))
        wrong = sum(one.probability >= level and not pair.new for one, pair in zip(found, examples, strict=True))
        print(f"  {level:.2f}  found {hits / max(changed, 1):.3f}  wrong {wrong} of {len(examples) - changed}")
    right = [0, 0, 0]
    for one, pair in zip(found, examples, strict=True):
        values = pair.statement[slice(*one.old)], pair.message[slice(*one.new)]
        is_right = [
            mine.casefold() == value.casefold() for mine, value in zip(values, (pair.old, pair.new), strict=True)
        ]
        if pair.new and pair.new != "?":
            right = [count + yes for count, yes in zip(right, (*is_right, all(is_right)), strict=True)]
        if shows and ((one.probability >= LEVELS[1]) is not bool(pair.new) or (pair.new and not all(is_right))):
            print(f"    {one.probability:.2f} {pair.statement} | {pair.message} | {pair.old} {pair.new} | {values}")
    is_ended = [bool(pair.ended) for pair in examples]
    for level in LEVELS if any(is_ended) else ():
        hits = [is_so for is_so, one in zip(is_ended, found, strict=True) if one.ended >= level]
        print(f"  {level:.2f}  ended {sum(hits)} of {sum(is_ended)}, wrong {len(hits) - sum(hits)}")
    if any(pair.new not in ("", "?") for pair in examples):
        print(f"  values right: former {right[0]}, new {right[1]}, both {right[2]} of {changed}")


def main() -> None:
    """Train the models if asked to, and measure them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    if options.train:
        MODEL.path.write_bytes(weights := train())
        MODEL.use(weights)
    for half in ("test", "endings test", "classes test"):
        measure(half, read_pairs(half), shows=options.wrong)
    for half in TESTS:
        measure(half, list(read_cases(half)), shows=options.wrong)


if __name__ == "__main__":
    main()
