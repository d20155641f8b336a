"""Properties of project knowledge that hold after any sequence of changes."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.store.change_log import LOG_NAME, ChangeLog
from clio.memory.store.ltm_codec import normalize_text, read_ltm
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import PROJECT_KINDS, AssertedBy, MemoryDraft, MemoryRecord
from clio.memory.store.versions import LtmArchive
from tests.memory.store.ltm_support import DAY, NOW, ltm, read_json, said_by

WORDS = ("alpha", "Alpha.", "beta", "src/A.py", "src/a.py", "naïve")
words = st.sampled_from(WORDS)
drafts = st.builds(
    MemoryDraft,
    kind=st.sampled_from(PROJECT_KINDS),
    content=words,
    solution=words,
    impact=st.sampled_from(("", "alpha")),
    steps=st.lists(words, max_size=2).map(tuple),
    context=st.sampled_from(("", "*", "lib", "lib/")),
    confidence=st.floats(0, 1),
    examples=st.lists(words, max_size=2).map(tuple),
    success_rate=st.none() | st.floats(0, 1),
)
sayers = st.sampled_from(("user", "model", "tool"))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), drafts, sayers),
        st.tuples(st.just("forget"), st.integers(0, 9), st.integers(1, 3)),
        st.tuples(st.just("update"), st.integers(0, 9), st.floats(0, 1)),
        st.tuples(st.just("prune"), st.floats(0, 1), st.floats(0, 40)),
        st.tuples(st.just("import"), st.lists(drafts, max_size=3), sayers),
    ),
    max_size=10,
)


def do(path: Path, number: int, step: tuple[Any, ...]) -> None:
    memory = ltm(path, NOW + number * DAY)
    entries = memory.read().entries
    match step:
        case ("add", draft, who):
            memory.add(draft, said_by(who))
        case ("forget", first, count):
            memory.forget([entry.id for entry in entries[first : first + count]])
        case ("update", place, confidence) if place < len(entries):
            memory.update(entries[place].id, confidence=confidence, impact="beta")
        case ("prune", doubt, days):
            memory.prune(min_confidence=doubt, max_age_days=days)
        case ("import", found, who):
            memory.import_(exported(found, who), said_by("model"))
        case _:
            pass


def exported(found: list[MemoryDraft], who: AssertedBy) -> str:
    with TemporaryDirectory() as folder:
        other = LongTermMemory(Path(folder) / "ltm.json", project=Path(folder), clock=lambda: NOW)
        for draft in found:
            other.add(draft, said_by(who))
        return other.export()


def state(path: Path) -> tuple[Any, ...]:
    document = read_json(path) if path.exists() else {"patterns": {}, "metadata": {}}
    patterns = {name: found for name, found in document["patterns"].items() if found}
    log = ChangeLog(path.with_name(LOG_NAME))
    kept = msgspec.to_builtins(LtmArchive(log).read(read_ltm(path)))
    return patterns, document["metadata"].get("context_rule_details"), sorted(kept, key=json.dumps)


@given(steps)
def test_undoing_everything_restores_the_initial_state(changes: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / ".clio" / "ltm.json"
        log = ChangeLog(path.with_name(LOG_NAME))
        before = [state(path)]
        for number, step in enumerate(changes):
            do(path, number, step)
            if len(log.undoable()) == len(before):
                before.append(state(path))
        while found := log.undoable():
            assert state(path) == before.pop()
            ltm(path).revert(found[-1])
            log.mark([found[-1].id], is_undone=True)
        assert [state(path)] == before


@given(steps)
def test_no_text_is_ever_lost_and_no_handle_names_two_entries(changes: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / ".clio" / "ltm.json"
        all_texts: set[str] = set()
        for number, step in enumerate(changes):
            do(path, number, step)
            known = ltm(path).read().entries
            assert len({entry.id for entry in known}) == len(known)
            if step[0] == "add":
                all_texts |= set(map(normalize_text, words_of(step[1])))
        assert all_texts <= set(map(normalize_text, leaves(state(path))))


def words_of(draft: MemoryRecord) -> tuple[str, ...]:
    """Return the texts of a draft that its kind can hold."""
    match draft.kind:
        case "solution" | "failure":
            return draft.content, draft.solution, *draft.examples
        case "workflow":
            return (*(draft.steps or (draft.content,)), *draft.examples)
        case _:
            return draft.content, *draft.examples


def leaves(value: object) -> Iterator[str]:
    """Return every text in a JSON value, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in cast(dict[str, object], value).items():
            yield name
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in cast(list[object], value):
            yield from leaves(item)
