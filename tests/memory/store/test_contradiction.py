"""Of two contradicting statements the more certain one is active; the other is kept as a variant."""

from pathlib import Path

import pytest

from clio.memory.store.record import AssertedBy, Kind, MemoryDraft
from tests.memory.store.versions_support import Time, by

AT = "the dev server listens on port {}"


@pytest.fixture
def time(tmp_path: Path) -> Time:
    return Time(tmp_path)


def active_facts(time: Time) -> list[str]:
    return [record.content[-4:] for record in time.memories.project.index.of_kind("fact")]


def variants(time: Time, id: str) -> list[str]:
    return [record.content[-4:] for record in time.memories.variants(id)]


@pytest.mark.parametrize(
    ("known", "new", "action"),
    [
        (("user", None), ("user", None), "superseded"),
        (("user", 1.0), ("user", 0.3), "superseded"),
        (("model", None), ("model", None), "superseded"),
        (("tool", None), ("tool", None), "superseded"),
        (("tool", None), ("model", None), "superseded"),
        (("model", None), ("user", None), "superseded"),
        (("model", 0.5), ("tool", None), "superseded"),
        (("model", 0.6), ("tool", 0.6), "variant"),
        (("user", None), ("model", None), "variant"),
        (("model", None), ("tool", None), "variant"),
        (("model", 0.9), ("model", 0.5), "variant"),
    ],
)
def test_author_and_confidence_decide(
    time: Time, known: tuple[AssertedBy, float | None], new: tuple[AssertedBy, float | None], action: str
) -> None:
    time.say(AT.format(8080), *known)
    done = time.say(AT.format(8081), *new)
    assert (done.action, done.other and done.other.content) == (action, AT.format(8080))
    assert active_facts(time) == ["8081" if action == "superseded" else "8080"]


@pytest.mark.parametrize(("who", "sure"), [("user", 1.0), ("model", 0.8), ("tool", 0.6)])
def test_confidence_depends_on_the_author(time: Time, who: AssertedBy, sure: float) -> None:
    assert time.say("a zebra", who).record.confidence == sure


@pytest.mark.parametrize(("days", "action"), [(280, "variant"), (300, "superseded")])
def test_a_memory_not_used_for_long_yields_to_a_less_certain_one(time: Time, days: float, action: str) -> None:
    """0.8 × 0.999^287 is 0.6, the confidence of a tool."""
    time.say(AT.format(8080), "model")
    time.passes(days)
    assert time.say(AT.format(8081), "tool").action == action


@pytest.mark.parametrize("who", ["model", "tool"])
def test_a_statement_of_the_user_yields_only_to_the_user(time: Time, who: AssertedBy) -> None:
    time.say(AT.format(8080))
    time.passes(400)
    assert time.say(AT.format(8081), who).action == "variant"
    assert time.say(AT.format(8082)).action == "superseded"


def test_three_variants_are_kept_then_the_weakest_is_dropped(time: Time) -> None:
    id = time.say(AT.format(8080)).record.id
    for port, sure in ((8081, 0.5), (8082, 0.4), (8083, 0.6)):
        assert time.say(AT.format(port), "tool", sure).action == "variant"
    done = time.say(AT.format(8084), "tool", 0.45)
    assert done.action == "replaced_variant"
    assert done.outweighed is not None and done.outweighed.content == AT.format(8082)
    before = time.logs.last()
    assert time.say(AT.format(8085), "tool", 0.1).action == "dropped"
    assert time.logs.last() == before, "there is no change to undo"
    assert (active_facts(time), variants(time, id)) == (["8080"], ["8081", "8083", "8084"])
    endings = {version.record.content[-4:] for version in time.memories.history(id)}
    assert endings == {"8080", "8081", "8082", "8083", "8084", "8085"}, "no statement is lost"


def test_a_variant_is_never_recalled_automatically_and_is_labelled_in_searches(time: Time) -> None:
    time.say(AT.format(8080))
    variant = time.say(AT.format(8081), "tool").record
    [hit] = time.memories.matching("which port does the dev server listen on?", 10)
    assert hit.record.content == AT.format(8080)
    assert variant.id in {hit.record.id for hit in time.memories.recall("port")}
    assert time.memories.describe_variant(variant) == f"other sources say; surer is: {AT.format(8080)}"


def test_a_variant_confirmed_by_the_user_becomes_active_and_the_others_its_variants(time: Time) -> None:
    old = time.say(AT.format(8080), "model").record
    time.say(AT.format(8081), "tool")
    time.say(AT.format(8082), "tool")
    done = time.say(AT.format(8081))
    assert (done.action, done.other and done.other.id) == ("superseded", old.id)
    assert (active_facts(time), variants(time, done.record.id)) == (["8081"], ["8082"])


def test_a_variant_repeated_by_no_better_source_stays_a_variant(time: Time) -> None:
    id = time.say(AT.format(8080)).record.id
    first = time.say(AT.format(8081), "tool").record
    again = time.say(AT.format(8081), "model")
    assert (again.action, again.record.id, again.record.confidence) == ("variant", first.id, 0.8)
    assert (active_facts(time), variants(time, id)) == (["8080"], ["8081"])


def test_variants_pass_to_the_replacement_of_their_memory(time: Time) -> None:
    time.say(AT.format(8080))
    time.say(AT.format(8081), "tool")
    new = time.say(AT.format(8090)).record
    assert variants(time, new.id) == ["8081"]


def test_variants_are_forgotten_and_restored_with_their_memory(time: Time) -> None:
    id = time.say(AT.format(8080)).record.id
    time.say(AT.format(8081), "tool")
    time.memories.forget(id)
    assert time.memories.count()["project"] == 0
    change = time.logs.last()
    assert change is not None
    time.memories.revert(change)
    assert (active_facts(time), variants(time, id)) == (["8080"], ["8081"])


@pytest.mark.parametrize("who", ["user", "model", "tool"])
def test_each_outcome_is_undone_exactly(time: Time, who: AssertedBy) -> None:
    time.say(AT.format(8080), "model")
    for port in (8081, 8082, 8083):
        time.say(AT.format(port), "tool", 0.3)
    before = time.memories.project.records(superseded=True)
    time.say(AT.format(8084), who, 0.7)
    change = time.logs.last()
    assert change is not None
    time.memories.revert(change)
    assert time.memories.project.records(superseded=True) == before


def test_a_record_made_elsewhere_is_compared_too(time: Time, tmp_path: Path) -> None:
    time.say(AT.format(8080))
    record = (
        Time(tmp_path / "other")
        .memories.add(MemoryDraft(content=AT.format(8081), kind="fact"), provenance=by("tool"))
        .record
    )
    assert time.memories.project.reconsolidate(record).action == "variant"


KINDS = ("discovery", "fact", "note")


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the fixtures live in tests/data", "the fixtures live in tests/samples"),
        ("the sprint ends on wednesday", "the sprint ends on friday"),
        ("max upload size is 10 MB", "max upload size is 25 MB"),
    ],
)
def test_a_statement_of_the_user_replaces_an_earlier_value_of_any_kind(
    time: Time, first: Kind, second: Kind, old: str, new: str
) -> None:
    time.memories.add(MemoryDraft(kind=first, content=old), by("user"))
    done = time.memories.add(MemoryDraft(kind=second, content=new), by("user"))
    assert (done.action, done.other and done.other.content) == ("superseded", old)
    assert [record.content for record in time.memories.records(KINDS)] == [new]
    time.memories.undo()  # all in one change
    assert [record.content for record in time.memories.records(KINDS)] == [old]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_statements_about_different_subjects_are_kept_whatever_their_kinds(
    time: Time, first: Kind, second: Kind
) -> None:
    statements = ("exit code 3 means the config is missing", "exit code 4 means the lock is held")
    for kind, text in zip((first, second), statements, strict=True):
        time.memories.add(MemoryDraft(kind=kind, content=text), by("user"))
    assert sorted(record.content for record in time.memories.records(KINDS)) == sorted(statements)


@pytest.mark.parametrize("who", ["model", "tool"])
@pytest.mark.parametrize("kind", ["discovery", "fact"])
def test_what_a_model_or_tool_states_beside_a_discovery_of_the_user_is_a_variant(
    time: Time, who: AssertedBy, kind: Kind
) -> None:
    stated = time.memories.add(MemoryDraft(kind="discovery", content=AT.format(8080)), by("user")).record
    for _ in range(2):
        done = time.memories.add(MemoryDraft(kind=kind, content=AT.format(8081)), by(who))
        assert done.other == stated
        [variant] = time.memories.variants(stated.id)
        assert AT.format(8080) in time.memories.describe_variant(variant)
        assert [one.content for one in time.memories.records(KINDS) if not one.is_variant] == [AT.format(8080)]
        time.memories.undo()
        assert time.memories.variants(stated.id) == ()


def test_what_a_model_states_beside_its_own_discovery_is_another_discovery(time: Time) -> None:
    for port in (8080, 8081):
        time.memories.add(MemoryDraft(kind="discovery", content=AT.format(port)), by("model"))
    assert len(time.memories.records(("discovery",))) == 2


def test_a_variant_of_a_discovery_that_the_user_confirms_replaces_it(time: Time) -> None:
    time.memories.add(MemoryDraft(kind="discovery", content=AT.format(8080)), by("user"))
    time.memories.add(MemoryDraft(kind="discovery", content=AT.format(8081)), by("model"))
    time.memories.add(MemoryDraft(kind="fact", content=AT.format(8081)), by("user"))
    [record] = time.memories.records(KINDS)
    assert record.content == AT.format(8081) and not record.is_variant


def test_variants_of_a_discovery_are_forgotten_with_it_and_one_undo_restores_both(time: Time) -> None:
    stated = time.memories.add(MemoryDraft(kind="discovery", content=AT.format(8080)), by("user")).record
    time.memories.add(MemoryDraft(kind="fact", content=AT.format(8081)), by("model"))
    assert time.memories.forget(stated.id) == (stated,)
    assert time.memories.records(KINDS) == ()
    time.memories.undo()
    assert len(time.memories.records(KINDS)) == 2
    assert [variant.content for variant in time.memories.variants(stated.id)] == [AT.format(8081)]


LONG = "the rota is in docs/oncall.md, the release manager is Jonas and releases go out on Tuesdays"


@pytest.mark.parametrize("said", ["releases go out on Thursdays", "the release manager is Ida"])
def test_what_the_model_says_against_a_clause_of_the_user_is_a_variant(time: Time, said: str) -> None:
    time.say(LONG, "user")
    done = time.say(said, "model")
    assert (done.action, done.other and done.other.content) == ("variant", LONG)


@pytest.mark.parametrize("said", ["releases need two approvals", "the retro is on Thursdays"])
def test_what_the_model_says_of_something_else_stays_beside_it(time: Time, said: str) -> None:
    time.say(LONG, "user")
    assert time.say(said, "model").action == "new"
