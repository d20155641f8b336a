"""Properties of the state of a set of files: it does not depend on their order or on repetition."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from clio.memory.store.ltm_codec import Json, SharedMemory
from clio.memory.team.folder import (
    MAX_TIMES,
    Statement,
    copy_shared_entry,
    find_hidden_changes,
    find_valid_memories,
    format_month,
    get_month_start,
)
from tests.memory.team.team_support import NOW, again, make_file

NOTHING_FORGOTTEN: frozenset[str] = frozenset()


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Statement], frozenset[str]]:
    """Generate new, equal and successive statements of a few members, in branches, and the forgotten entries."""
    found: list[Statement] = []
    for number in range(draw(st.integers(1, 12))):
        former = draw(st.sampled_from([None, *found]))
        by = draw(st.sampled_from(["Ann", "Bob", ""]))
        text = f"fact {draw(st.integers(0, 5))}"
        found.append(again(*make_file(text, by=by, at=NOW + number, after=former, count=draw(st.integers(1, 9)))))
    firsts = [one.name for one in found if not one.origins]
    return found, frozenset(draw(st.lists(st.sampled_from(firsts), max_size=2)))


def known(statements: Sequence[Statement], forgotten: frozenset[str] = NOTHING_FORGOTTEN) -> list[SharedMemory]:
    return find_valid_memories(statements, forgotten, {})


def words(found: list[SharedMemory]) -> list[tuple[Json, tuple[str, ...]]]:
    return [(copy_shared_entry(one, NOW + 1_000), one.by) for one in found]


@given(histories(), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(
    history: tuple[list[Statement], frozenset[str]], rng: random.Random
) -> None:
    statements, forgotten = history
    mixed = [*statements, *rng.sample(statements, rng.randrange(len(statements) + 1))]
    rng.shuffle(mixed)
    assert known(mixed, forgotten) == known(statements, forgotten)


@given(histories())
def test_a_live_text_is_the_last_of_some_member_and_forgotten_by_none(
    history: tuple[list[Statement], frozenset[str]],
) -> None:
    statements, forgotten = history
    by_name = {one.name: one for one in statements}
    found = known(statements, forgotten)
    alive = {name for one in found for name in one.names}
    replaced = {name for one in statements for name in one.replaces}
    wanted = {
        name for name, one in by_name.items() if name not in replaced and not forgotten.issuperset(one.first_statements)
    }
    assert alive == wanted
    assert len({one.handle for one in found}) == len(found)
    late = {one.name for one in find_hidden_changes(statements, forgotten)}
    assert late == {
        name
        for name, one in by_name.items()
        if one.origins and name not in replaced and forgotten.issuperset(one.first_statements)
    }


@given(histories())
def test_rivals_began_as_one_entry(history: tuple[list[Statement], frozenset[str]]) -> None:
    found = known(*history)
    for one in found:
        wanted = [other.handle for other in found if other is not one and set(other.origins) & set(one.origins)]
        assert sorted(wanted) == list(one.rivals)


@given(histories())
def test_emptied_files_change_nothing_that_is_live(history: tuple[list[Statement], frozenset[str]]) -> None:
    statements, forgotten = history
    replaced = {name for one in statements for name in one.replaces}
    remaining = [one for one in statements if one.name not in replaced]
    assert words(known(remaining, forgotten)) == words(known(statements, forgotten))


def test_the_same_text_of_two_members_is_one_entry_under_both_names() -> None:
    one, two = (
        make_file("The port is 8080", by="Ann"),
        make_file("the port is 8080.", by="Bob", at=NOW + 1, examples=["a.py"]),
    )
    [found] = known([again(*two), again(*one)])
    assert (
        copy_shared_entry(found, NOW + 1_000)["fact"],
        found.by,
        copy_shared_entry(found, NOW + 1_000)["examples"],
    ) == (
        "The port is 8080",
        ("Ann", "Bob"),
        ["a.py"],
    )
    changed = again(*make_file("The port is 8081", by="Cy", at=NOW + 2, after=again(*one)))
    assert [copy_shared_entry(one, NOW + 1_000)["fact"] for one in known([again(*one), again(*two), changed])] == [
        "the port is 8080.",
        "The port is 8081",
    ]
    assert found.origins == (one[0].name, two[0].name)


def test_an_entry_of_two_origins_ends_when_both_are_forgotten() -> None:
    one, two = again(*make_file("a", by="Ann")), again(*make_file("a", by="Bob"))
    assert known([one, two], frozenset({one.name}))[0].by == ("Bob",)
    assert known([one, two], frozenset({one.name, two.name})) == []


def test_no_statement_can_claim_a_future_time_or_too_many_confirmations() -> None:
    one = again(*make_file("a", at=NOW + 10**9, count=10**9, updated=NOW + 10**9))
    [found] = known([one])
    assert (
        copy_shared_entry(found, NOW + 1_000)["timestamp"],
        copy_shared_entry(found, NOW + 1_000)["updated"],
        copy_shared_entry(found, NOW + 1_000)["count"],
    ) == (NOW + 1_000, NOW + 1_000, MAX_TIMES)


def test_a_confirmation_counts_from_its_month() -> None:
    one = again(*make_file("a", at=get_month_start("2026-11") + 100))
    later = get_month_start("2027-01")
    [found] = find_valid_memories([one], NOTHING_FORGOTTEN, {one.name: "2027-01"})
    assert copy_shared_entry(found, later + 5)["updated"] == later
    assert copy_shared_entry(found, later - 5)["updated"] == later - 5
    assert "updated" not in copy_shared_entry(
        find_valid_memories([one], NOTHING_FORGOTTEN, {one.name: "2026-11"})[0], later + 5
    )
    assert format_month(later) == "2027-01"
    assert format_month(later - 1) == "2026-12"
