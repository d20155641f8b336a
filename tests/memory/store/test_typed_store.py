"""A store of typed memories: saving, ranking, changing, undoing."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clio.errors import UserError
from clio.memory.store.change_log import LOG_NAME, Change, ChangeLog
from clio.memory.store.record import MAX_CHARS, MemoryRecord, Provenance
from clio.memory.store.typed_store import TypedStore
from tests.memory.store.typed_support import recall
from tests.support.clock import Clock

DAY = 86_400.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> TypedStore:
    return TypedStore(tmp_path / "memories.json", clock=clock)


def changes(store: TypedStore) -> tuple[Change, ...]:
    return ChangeLog(store.path.with_name(LOG_NAME)).undoable()


def contents(store: TypedStore) -> list[str]:
    return [record.content for record in store.records()]


@pytest.mark.parametrize("content", ["", "   ", "\n\t", "\u200b\u200b", "\x00"])
def test_an_empty_text_is_refused(store: TypedStore, content: str) -> None:
    with pytest.raises(UserError, match="needs a text"):
        store.remember(content)
    assert store.count() == 0
    assert not store.path.exists()


def test_a_megabyte_is_refused_with_a_hint_how_to_save_it(store: TypedStore) -> None:
    with pytest.raises(UserError, match="/docs add"):
        store.remember("word " * 200_000)
    assert store.remember("w" * MAX_CHARS).record.content == "w" * MAX_CHARS


@pytest.mark.parametrize("importance", [float("nan"), float("inf"), float("-inf")])
def test_an_importance_must_be_a_number(store: TypedStore, importance: float) -> None:
    with pytest.raises(UserError, match="importance"):
        store.remember("words", importance=importance)


@pytest.mark.parametrize("score", [11, -0.1, float("nan")])
def test_a_score_must_be_between_zero_and_ten(store: TypedStore, score: float) -> None:
    with pytest.raises(UserError, match="score"):
        store.remember("words", "preference", score=score)


def test_an_unknown_type_gives_an_error_that_lists_the_types(store: TypedStore) -> None:
    with pytest.raises(UserError, match="fact, preference, event, note"):
        store.remember("words", "wish")
    with pytest.raises(UserError, match="fact, preference, event, note"):
        recall(store, "words", type="!wish")


@pytest.mark.parametrize(
    "content",
    ["漢字 and ひらがな", "не использовать эмодзи", "🎉🎉", "نص عربي", "a\u0301 combined", "half \ud800 a pair"],
)
def test_text_in_any_script_is_saved_and_read_back(store: TypedStore, content: str) -> None:
    record = store.remember(content, "fact").record
    again = TypedStore(store.path)
    assert again.find(record.id).content == record.content
    assert store.remember(content, "fact").action == "merged"


def test_recalling_counts_as_use_and_peeking_does_not(store: TypedStore, clock: Clock) -> None:
    store.remember("the gate code is blue", "fact")
    clock.now += 5 * DAY
    [peeked] = store.peek("gate")
    assert peeked.record.access_count == 0
    [hit] = recall(store, "gate")
    assert (hit.record.access_count, hit.record.accessed) == (1, clock.now)
    assert TypedStore(store.path).find(hit.record.id).access_count == 1


def test_a_query_finds_by_any_form_of_a_word_and_by_keywords(store: TypedStore) -> None:
    store.remember("deploys run from the release branch", "fact", keywords=["shipping"])
    assert len(recall(store, "deploying")) == 1
    assert len(recall(store, "how does shipping work")) == 1
    assert recall(store, "weather") == ()


def test_types_can_be_included_and_excluded(store: TypedStore) -> None:
    for kind in ("fact", "event", "preference", "note"):
        store.remember(f"a zebra as {kind}", kind)
    assert [hit.record.kind for hit in recall(store, "zebra", type="event")] == ["event"]
    assert {hit.record.kind for hit in recall(store, "zebra", type="!event")} == {"fact", "preference", "note"}


def test_a_changed_value_replaces_the_old_one_which_stays_in_the_history(store: TypedStore) -> None:
    old = store.remember("the dev server listens on port 8080", "fact", keywords=["devbox"]).record
    new = store.remember("the dev server listens on port 8081", "fact")
    assert new.action == "superseded" and new.other is not None and new.other.id == old.id
    assert contents(store) == ["the dev server listens on port 8081"]
    assert [hit.record.content for hit in recall(store, "devbox")] == ["the dev server listens on port 8081"]
    assert [record.content for record in store.history(old.id)] == [
        "the dev server listens on port 8081",
        "the dev server listens on port 8080",
    ]


def test_three_changes_make_one_history(store: TypedStore, clock: Clock) -> None:
    for port in (1, 2, 3):
        clock.now += 60
        last = store.remember(f"the dev server listens on port {port}", "fact").record
    assert [record.content[-1] for record in store.history(last.id)] == ["3", "2", "1"]


@pytest.mark.parametrize("answer", ["no idea", '{"action": "merge"}', "", "{", '{"action": "sing"}'])
def test_both_memories_are_kept_if_the_model_gives_no_answer(store: TypedStore, answer: str) -> None:
    store.remember("the office wants short commit messages", "fact")
    longer = "the office wants short commit messages please always"
    assert store.remember(longer, "fact", decide=lambda prompt: answer).action == "kept_both"
    assert store.count() == 2


def test_both_memories_are_kept_if_the_model_fails(store: TypedStore) -> None:
    def decide(prompt: str) -> str:
        raise OSError("no server")

    store.remember("the office wants short commit messages", "fact")
    longer = "the office wants short commit messages please always"
    assert store.remember(longer, "fact", decide=decide).action == "kept_both"


def test_the_model_gets_both_texts_as_data(store: TypedStore) -> None:
    prompts: list[str] = []
    store.remember('the office wants "short" commit messages', "fact")
    store.remember(
        "the office wants short commit messages please always", "fact", decide=lambda p: prompts.append(p) or ""
    )
    [prompt] = prompts
    assert '"the office wants \\"short\\" commit messages"' in prompt


def test_a_forgotten_memory_is_archived_once(store: TypedStore) -> None:
    id = store.remember("a zebra").record.id
    assert store.forget(id) and not store.forget(id)
    assert [record.content for record in store.archived()] == ["a zebra"]
    assert store.restore(id).content == "a zebra"
    assert contents(store) == ["a zebra"]


def test_faded_memories_are_removed_and_hard_limits_and_rules_are_kept(store: TypedStore, clock: Clock) -> None:
    store.remember("an old note", "note", 0.5)
    store.remember("never force push", "preference", score=0.5)
    store.remember("tabs please", "preference", score=9.0, explicit=True)
    store.remember("likes jokes", "preference", score=8.0)
    clock.now += 400 * DAY
    assert store.compact().removed == 2
    assert set(contents(store)) == {"never force push", "tabs please"}
    assert {record.content for record in store.archived()} == {"an old note", "likes jokes"}


def test_compacting_merges_memories_with_the_same_meaning(store: TypedStore, clock: Clock) -> None:
    store.put("", [record("one", "Use RUFF to format", 1.0), record("two", "use ruff to format.", 2.0, 0.9)])
    done = store.compact()
    assert (done.removed, done.merged, done.remaining) == (1, 1, 1)
    [left] = store.records()
    assert (left.id, left.importance) == ("one", 0.9)


def record(id: str, content: str, created: float, importance: float = 0.5) -> MemoryRecord:
    now = 1_800_000_000.0
    return MemoryRecord(
        id=id, kind="fact", content=content, importance=importance, created=created, updated=now, accessed=now, seen=now
    )


def test_every_change_is_undone_exactly(store: TypedStore, clock: Clock) -> None:
    store.remember("the dev server listens on port 8080", "fact")
    store.remember("a note to forget", "note")
    steps = [
        lambda: store.remember("the dev server listens on port 8081", "fact"),
        lambda: store.remember("The dev server listens on port 8081.", "fact", 0.9),
        lambda: store.update(store.records()[0].id, importance=0.1),
        lambda: store.forget(store.records()[0].id),
        lambda: store.put("added", [record("x", "some words here", 0.0), record("y", "quite other ones", 0.0)]),
        store.compact,
    ]
    for step in steps:
        made = len(changes(store))
        before = {one.id: one for one in store.records(superseded=True)}
        step()
        clock.now += 60
        for change in reversed(changes(store)[made:]):
            store.revert(change)
        assert {one.id: one for one in store.records(superseded=True)} == before
        step()


def test_a_memory_changed_since_is_not_undone(store: TypedStore) -> None:
    id = store.remember("a zebra", "fact").record.id
    store.update(id, content="a giraffe")
    with pytest.raises(UserError, match="changed since"):
        store.revert(changes(store)[0])
    assert contents(store) == ["a giraffe"]


def test_a_use_alone_does_not_prevent_undo(store: TypedStore) -> None:
    store.remember("a zebra", "fact")
    recall(store, "zebra")
    store.revert(changes(store)[0])
    assert contents(store) == []


def test_a_memory_moves_with_its_history(store: TypedStore, tmp_path: Path, clock: Clock) -> None:
    other = TypedStore(tmp_path / "home" / "memories.json", "user", clock=clock)
    store.remember("the dev server listens on port 8080", "fact")
    id = store.remember("the dev server listens on port 8081", "fact").record.id
    store.move(id, other)
    assert (store.count(), len(other.history(id))) == (0, 2)


def test_ids_are_found_by_their_beginning_or_end(store: TypedStore) -> None:
    id = store.remember("a zebra").record.id
    assert store.find(id[-8:]).id == store.find(id[:13]).id == id
    with pytest.raises(UserError, match="no memory"):
        store.find("zzzz")


def test_provenance_is_saved(store: TypedStore) -> None:
    said = Provenance(session="s", message="m", asserted_by="tool")
    assert store.remember("quoted", provenance=said).record.provenance == said
    by_user = Provenance(session="s2", message="m2", asserted_by="user")
    assert store.remember("quoted", provenance=by_user).record.provenance == by_user


WORDS = st.lists(
    st.sampled_from("deploy port staging zebra test ruff 8080 8081 never always code".split()), min_size=1, max_size=6
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 9), WORDS, st.sampled_from(["fact", "note"])), max_size=25))
def test_a_reopened_store_equals_the_closed_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, list[str], str]]
) -> None:
    """After any changes another process reads the same, and no text ever remembered is lost."""
    path = tmp_path_factory.mktemp("model") / "memories.json"
    store, texts = TypedStore(path), set[str]()
    for action, words, kind in steps:
        live = store.records()
        if action < 6 or not live:
            store.remember(" ".join(words), kind)
            texts.add(" ".join(words))
        elif action == 6:
            store.forget(live[0].id)
        elif action == 7:
            recall(store, words[0])
        elif action == 8:
            store.compact()
        else:
            store = TypedStore(path)
        fresh = TypedStore(path)
        assert fresh.records(superseded=True) == store.records(superseded=True)
        assert fresh.count() == store.count() == len(store.records())
        assert {hit.record.id for hit in fresh.peek(words[0], -1)} == {
            hit.record.id for hit in store.peek(words[0], -1)
        }
    kept = {
        " ".join(sorted(set(record.content.split()))) for record in (*store.records(superseded=True), *store.archived())
    }
    assert {" ".join(sorted(set(text.split()))) for text in texts} <= kept
