"""Preferences in a real file."""

from pathlib import Path

import pytest

from clio.errors import UserError
from clio.memory.preferences.preferences import Fading, Preferences
from clio.memory.preferences.task_types import TaskType, TaskTypes
from clio.memory.store.change_log import LOG_NAME, Change, ChangeLog
from clio.memory.store.record import Provenance
from clio.memory.store.typed_store import TypedStore
from clio.text.scoring import DAY_S
from tests.support.clock import Clock

HOUR_S = 3_600.0


@pytest.fixture
def clock() -> Clock:
    return Clock(1_700_000_000.0)


@pytest.fixture
def preferences(tmp_path: Path, clock: Clock) -> Preferences:
    store = TypedStore(tmp_path / "memories.json", "user", clock=clock)
    return Preferences(store, TaskTypes(), Fading(), clock)


def changes(preferences: Preferences) -> tuple[Change, ...]:
    path = preferences._store.path  # pyright: ignore[reportPrivateUsage]
    return ChangeLog(path.with_name(LOG_NAME)).undoable()


def test_a_preference_is_read_by_the_next_process(preferences: Preferences, tmp_path: Path, clock: Clock) -> None:
    preferences.add("concise code", "said so", keywords=("brevity",), scenarios=("code",))
    again = Preferences(TypedStore(tmp_path / "memories.json", "user", clock=clock), TaskTypes(), Fading(), clock)
    [one] = again.all()
    record = one.record
    assert (record.content, record.reason, record.score) == ("concise code", "said so", 9.0)
    assert (record.keywords, record.scenarios) == (("brevity",), ("coding",))


@pytest.mark.parametrize("before", ["tabs", "Use tabs", "always use tabs", "never use tabs", "I prefer tabs", "TABS."])
def test_a_rule_replaces_an_earlier_one_about_the_same_thing(preferences: Preferences, before: str) -> None:
    first = preferences.add(before, score=9.0)
    done = preferences.add("never use tabs", score=0.5, explicit=True)
    assert (done.action, done.record.id) == ("merged", first.record.id)
    assert [(one.record.content, one.score) for one in preferences.all()] == [("never use tabs", 0.5)]
    assert [limit.content for limit in preferences.hard_limits()] == ["never use tabs"]


@pytest.mark.parametrize("later", ["use pip, not uv", "use uv instead of pip", "use pip rather than uv"])
def test_an_order_to_use_one_of_two_things_replaces_the_earlier_one(preferences: Preferences, later: str) -> None:
    for order in ("use uv, not pip", "use tabs, not spaces", later):
        preferences.add(order, score=0.5, explicit=True)
    assert {one.record.content for one in preferences.all()} == {later, "use tabs, not spaces"}


BY_USER = Provenance(session="s", asserted_by="user")


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ("always answer in English", "answer in German"),
        ("use double quotes", "use single quotes instead of double quotes"),
        ("keep commit messages under 60 characters", "keep commit messages under 72 characters"),
        ("réponds toujours en français", "réponds toujours en anglais"),
    ],
)
def test_a_rule_with_another_value_replaces_the_earlier_one_of_the_user(
    preferences: Preferences, before: str, later: str
) -> None:
    first = preferences.add(before, score=10.0, explicit=True, provenance=BY_USER)
    done = preferences.add(later, score=0.5, explicit=True, provenance=BY_USER)
    assert (done.record.id, done.other and done.other.content) == (first.record.id, before)
    assert [(one.record.content, one.score) for one in preferences.all()] == [(later, 0.5)]


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ("always answer in English", "write commit messages in German"),
        ("always answer in English", "always answer in one sentence"),
        ("never touch setup.py", "don't touch setup.py, fix the bug in a.py"),
        ("never push to main", "never push to release"),
        ("always run ruff before committing", "always run pytest before committing"),
        ("tests/ is read-only", "docs/ is read-only"),
        ("use httpx instead of requests", "use uv instead of pip"),
        ("ask me before pushing", "ask me before committing"),
    ],
)
def test_a_rule_about_another_thing_stays_beside_the_earlier_one(
    preferences: Preferences, before: str, later: str
) -> None:
    for rule in (before, later):
        preferences.add(rule, score=0.5, explicit=True, provenance=BY_USER)
    assert {one.record.content for one in preferences.all()} == {before, later}


def test_a_rule_of_the_model_replaces_none_of_the_user(preferences: Preferences) -> None:
    preferences.add("always answer in English", score=10.0, explicit=True, provenance=BY_USER)
    preferences.add("answer in German", score=10.0, explicit=True, provenance=Provenance(asserted_by="model"))
    assert {one.record.content for one in preferences.all()} == {"always answer in English", "answer in German"}


def test_a_rule_about_something_else_is_added(preferences: Preferences) -> None:
    preferences.add("tabs in Makefiles", score=9.0)
    preferences.add("never use tabs", score=0.5, explicit=True)
    assert len(preferences.all()) == 2


def test_the_last_rule_applies_and_can_be_undone(preferences: Preferences) -> None:
    preferences.add("never use tabs", score=0.5, explicit=True)
    preferences.add("always use tabs", score=10.0, explicit=True)
    assert [(one.record.content, one.score) for one in preferences.all()] == [("always use tabs", 10.0)]
    assert preferences.hard_limits() == []
    preferences._store.revert(changes(preferences)[-1])  # pyright: ignore[reportPrivateUsage]
    assert [limit.content for limit in preferences.hard_limits()] == ["never use tabs"]


def test_an_inferred_preference_neither_changes_nor_hides_a_rule(preferences: Preferences, clock: Clock) -> None:
    preferences.add("emojis", score=0.5, explicit=True)
    clock.now += 40 * DAY_S
    preferences.add("Emojis", score=9.0)
    [one] = preferences.all()
    assert (one.score, one.record.seen) == (0.5, clock.now)
    preferences.add("use emojis", score=9.0)
    assert [limit.content for limit in preferences.hard_limits()] == ["emojis"]


def test_inferred_scores_are_averaged_and_explicit_ones_are_set(preferences: Preferences) -> None:
    preferences.add("dark mode", score=8.0)
    assert preferences.add("Dark  Mode", score=10.0).record.score == pytest.approx(9.2)
    assert preferences.add("dark mode", score=3.0, explicit=True).record.score == 3.0


def test_preferences_fade_and_cool_down_on_separate_clocks(preferences: Preferences, clock: Clock) -> None:
    id = preferences.add("concise code", score=5.0).record.id
    clock.now += 30 * DAY_S
    [one] = preferences.recall("concise")
    assert one.coefficient == pytest.approx(0.55)
    assert preferences.recall("concise")[0].coefficient == pytest.approx(0.55)  # reading does not reinforce it
    assert preferences.recall("concise", touch=True)[0].record.id == id
    assert preferences.all()[0].coefficient == 1.0
    clock.now += 11.9 * HOUR_S
    assert preferences.apply([id, id, "gone"]) == [(id, "cooldown"), ("gone", "not_found")]
    clock.now += 0.1 * HOUR_S
    assert preferences.touch("Concise Code") == "touched"
    assert preferences.touch("concise code") == "cooldown"
    assert preferences.touch("something else") == "not_found"
    assert preferences.all()[0].record.touch_count == 2


def test_fading_is_configurable(preferences: Preferences, clock: Clock) -> None:
    preferences.add("concise code", score=5.0)
    clock.now += 14 * DAY_S
    preferences.fading = Fading(half_life_days=14, floor=0.0)
    assert preferences.all()[0].weight == pytest.approx(5.0 * 0.5**0.5)
    for wrong in ({"half_life_days": 0}, {"half_life_days": -1}, {"floor": 1.0}, {"floor": -0.1}):
        with pytest.raises(ValueError, match=r"is a number of days|is at least 0"):
            Fading(**wrong)


def test_preferences_are_filtered_by_band_scenario_and_score_together(preferences: Preferences) -> None:
    preferences.add("short functions", score=9.0, scenarios=("coding",))
    preferences.add("table driven tests", score=8.0, scenarios=("testing", "review"))
    preferences.add("pytest fixtures", score=5.0)
    preferences.add("british spelling", score=7.0)
    preferences.add("never use goto", score=0.5, explicit=True)

    def items(**wanted: object) -> list[str]:
        return [one.record.content for one in preferences.recall(**wanted)]  # type: ignore[arg-type]

    assert items(scenario="code") == ["short functions"]
    assert items(scenario="qa") == ["table driven tests", "pytest fixtures"]  # the second by its keyword
    assert items(types=("like",)) == ["short functions", "table driven tests", "british spelling"]
    assert items(types=("habit", "taboo"), min_score=5.5) == ["british spelling"]
    assert items(types=("taboo",), min_score=3) == []
    assert items(query="FIX") == ["pytest fixtures"]
    assert items(limit=1) == ["short functions"]
    assert [one.record.content for one in preferences.top(2)] == ["short functions", "table driven tests"]


def test_only_whole_words_assign_a_preference_to_a_scenario(preferences: Preferences) -> None:
    preferences.add("I prefer capital letters in stages", score=9.0)  # pr, api, tag: here each is only part of a word
    for scenario in ("review", "coding", "git"):
        assert preferences.recall(scenario=scenario) == []
    preferences.add("small commits", score=9.0)
    assert [one.record.content for one in preferences.recall(scenario="git")] == ["small commits"]


def test_keywords_list_the_scenarios_with_counts(preferences: Preferences) -> None:
    preferences.add("short prs", keywords=("review", "diff"))
    assert preferences.all()[0].record.scenarios == ("review",)
    preferences.add("x", keywords=("diff",))
    assert preferences.keywords() == {"diff": 2, "review": 1}
    assert preferences.scenarios()["review"] == 1
    assert preferences.scenarios()["git"] == 0


def test_a_hard_limit_never_expires(preferences: Preferences, clock: Clock) -> None:
    preferences.add("never force-push", score=0.5, explicit=True)
    for number in range(30):
        preferences.add(f"liking {number}", score=9.0)
    clock.now += 2_000 * DAY_S
    assert "never force-push" not in [one.record.content for one in preferences.top(20)]
    assert [limit.content for limit in preferences.hard_limits()] == ["never force-push"]
    preferences._store.compact()  # pyright: ignore[reportPrivateUsage]
    assert [limit.content for limit in preferences.hard_limits()] == ["never force-push"]


def test_clearing_is_one_change(preferences: Preferences) -> None:
    for number in range(5):
        preferences.add(f"liking {number}")
    preferences._store.remember("the port is 5433", "fact")  # pyright: ignore[reportPrivateUsage]
    before = len(changes(preferences))
    assert preferences.clear() == 5
    assert (len(changes(preferences)) - before, preferences.all()) == (1, [])
    assert preferences._store.count() == 1  # pyright: ignore[reportPrivateUsage]
    preferences._store.revert(changes(preferences)[-1])  # pyright: ignore[reportPrivateUsage]
    assert len(preferences.all()) == 5
    assert Preferences.clear(preferences) == 5
    assert preferences.clear() == 0


def test_invalid_values_are_refused(preferences: Preferences) -> None:
    for score in (11.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UserError, match="a score is a number from 0 to 10"):
            preferences.add("x", score=score)
    for item in ("", "  \n", "\u200b"):
        with pytest.raises(UserError, match="needs a text"):
            preferences.add(item)
    preferences.add("one")
    other = preferences.add("two").record
    with pytest.raises(UserError, match="nothing to change"):
        preferences.update(other.id)
    with pytest.raises(UserError, match="there is already a preference 'one'"):
        preferences.update(other.id, item="ONE")
    with pytest.raises(UserError, match="not a band of scores"):
        preferences.recall(types=("lukewarm",))
    fact = preferences._store.remember("the port is 5433", "fact").record  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(UserError, match="is a fact, not a preference"):
        preferences.find(fact.id)
    assert sorted(one.record.content for one in preferences.all()) == ["one", "two"]


@pytest.mark.parametrize("item", ["偏好简洁的代码", "🙂", "Ça & là", "a" * 16_000, "line\nbreak"])
def test_any_text_is_accepted(preferences: Preferences, item: str) -> None:
    preferences.add(item)
    assert preferences.find(item).content == item
    assert preferences.add(item).action == "merged"


def test_the_user_can_define_a_scenario(tmp_path: Path, clock: Clock) -> None:
    scenarios = TaskTypes({"infra": TaskType(keywords=("terraform", "helm"), aliases=("ops",))})
    preferences = Preferences(TypedStore(tmp_path / "m.json", "user", clock=clock), scenarios, Fading(), clock)
    preferences.add("plan before apply", scenarios=("ops",))
    preferences.add("pin helm charts")
    preferences.add("concise code")
    assert [one.record.content for one in preferences.recall(scenario="infra")] == [
        "pin helm charts",
        "plan before apply",
    ]
