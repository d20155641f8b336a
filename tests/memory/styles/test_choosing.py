"""The choice of a style, the effect of ratings, and what is saved of them."""

import multiprocessing
import random
from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from clio.errors import UserError
from clio.memory.styles.selection import Situation, choose_style, load_built_in_styles
from clio.memory.styles.style_state import DIMENSIONS, NEUTRAL, Earned, StyleSkill, StyleState, Trigger, parse_skill
from clio.memory.styles.styles import Styles
from clio.text.bandit import MIN_CONFIDENCE
from clio.text.scoring import DAY_S

NOW = 1_780_000_000.0
HERE = "explain/neutral/morning"
SITUATION = Situation(intent="explain", sentiment="neutral", time_of_day="morning", text="why is it slow")


def a_style(id: str, *intents: str, level: float = 0.5, confidence: float = 0.5) -> StyleSkill:
    return StyleSkill(
        id=id, name=id, text=f"Be {id}.", trigger=Trigger(intents=intents or ("any",)), dimensions=(level,) * 16
    )


def no_topics(topics: object) -> float | None:
    return None


def chosen(skills: list[StyleSkill], state: StyleState, seed: int = 0, times: int = 400) -> Counter[str | None]:
    rng = random.Random(seed)
    return Counter(choose_style(SITUATION, skills, state, rng, NOW, no_topics).chosen for _ in range(times))


def rated(state: StyleState, style: str, *rewards: int, place: str = HERE) -> StyleState:
    for reward in rewards:
        state = state.after(place, style, NEUTRAL, reward, 1.0, NOW)
    return state


def make(folder: Path, seed: int = 1) -> Styles:
    return Styles(folder / "project", folder / "home", rng=random.Random(seed), clock=lambda: NOW)


def test_unrated_styles_that_fit_are_all_tried() -> None:
    skills = [a_style(name) for name in "abcdefg"] + [a_style("other", "fix")]

    counts = chosen(skills, StyleState())

    assert set(counts) == set("abcdefg")


def test_the_account_lists_every_style_and_why_some_could_not_be_chosen() -> None:
    state = rated(StyleState(), "bad", -1, -1, -1, -1, -1)
    skills = [a_style("bad"), a_style("other", "fix"), *(a_style(name) for name in "abcdef")]

    choice = choose_style(SITUATION, skills, state, random.Random(3), NOW, no_topics)

    left_out = {arm.id: arm.left_out for arm in choice.arms if arm.left_out}
    assert len(choice.arms) == len(skills)
    assert "does not apply" in left_out["other"]
    assert "not among the 5" in left_out["bad"]
    assert choice.arms[0].score == max(arm.score for arm in choice.arms)
    best = choice.arms[0]
    assert best.trigger == pytest.approx(best.intent + best.time + best.sentiment + best.topic)
    assert best.score == pytest.approx(0.4 * best.trigger + 0.3 * best.sample + 0.3 * best.aligned)


def test_a_style_without_confidence_is_not_chosen() -> None:
    state = rated(StyleState(), "bad", -1, -1, -1, -1, -1)

    assert state.earned(HERE, "bad", NOW).confidence < MIN_CONFIDENCE
    assert set(chosen([a_style("bad"), a_style("good")], state)) == {"good"}


def test_exploration_chooses_any_candidate_one_time_in_ten_at_first() -> None:
    rng = random.Random(5)
    skills = [a_style("good", level=1.0), a_style("worse", "any", level=0.0)]
    state = structs.replace(StyleState(), vectors={HERE: (1.0,) * 16})

    choices = [choose_style(SITUATION, skills, state, rng, NOW, no_topics) for _ in range(2_000)]

    assert choices[0].epsilon == pytest.approx(0.1)
    explored = [choice for choice in choices if choice.explored]
    assert 140 <= len(explored) <= 260
    assert {choice.chosen for choice in explored} == {"good", "worse"}


def test_the_choice_is_reproducible_with_a_seed(tmp_path: Path) -> None:
    def run(folder: Path) -> list[str]:
        styles = make(folder)
        styles.turn_on()
        return [one.skill.id for _ in range(50) if (one := styles.choose("why is the parser slow?"))]

    assert run(tmp_path / "a") == run(tmp_path / "b")


def test_a_rating_counts_in_other_contexts_of_its_intent_and_nowhere_else() -> None:
    state = rated(StyleState(), "short", 1, 1, 1, 1)
    night = "explain/frustrated/night"

    assert state.earned(HERE, "short", NOW).ups == 4
    assert state.earned(night, "short", NOW).ups == 4
    state = rated(state, "short", *[-1] * 8, place=night)
    assert state.earned(night, "short", NOW).ups == 2
    assert state.earned(night, "short", NOW).downs == 8
    assert state.earned("fix/neutral/morning", "short", NOW) == Earned()


def test_a_rating_moves_the_vector_by_a_tenth() -> None:
    after = StyleState().after(HERE, "short", (0.0,) * 16, 1, 1.0, NOW)
    away = StyleState().after(HERE, "short", (0.0,) * 16, -1, 1.0, NOW)

    assert after.vector(HERE) == pytest.approx((0.45,) * 16)
    assert away.vector(HERE) == pytest.approx((0.55,) * 16)
    assert after.vector("explain/pleased/night") == pytest.approx((0.45,) * 16)
    assert after.vector("fix/neutral/morning") == NEUTRAL


def test_a_signal_counts_its_fraction() -> None:
    whole = StyleState().after(HERE, "short", (0.0,) * 16, -1, 1.0, NOW).earned(HERE, "short", NOW)
    sign = StyleState().after(HERE, "short", (0.0,) * 16, -1, 0.25, NOW)

    assert sign.earned(HERE, "short", NOW).downs == 0.25
    assert sign.earned(HERE, "short", NOW).confidence == pytest.approx(0.5 - 0.25 * (0.5 - whole.confidence))
    assert sign.vector(HERE) == pytest.approx((0.5125,) * 16)


def test_a_withdrawn_rating_has_no_effect() -> None:
    before = rated(StyleState(), "short", 1, -1, 1)

    after = before.after(HERE, "short", (0.2,) * 16, -1, 1.0, NOW).before(HERE, "short", (0.2,) * 16, -1, 1.0)

    assert after.vector(HERE) == pytest.approx(before.vector(HERE))
    assert after.earned(HERE, "short", NOW).confidence == pytest.approx(before.earned(HERE, "short", NOW).confidence)
    assert after.earned(HERE, "short", NOW).downs == before.earned(HERE, "short", NOW).downs


def test_ratings_fade_until_a_style_is_tried_again() -> None:
    state = rated(StyleState(), "bad", -1, -1, -1, -1, -1)
    later = NOW + 180 * DAY_S

    faded = state.earned(HERE, "bad", later)

    assert faded.downs == pytest.approx(2.5)
    assert faded.confidence > MIN_CONFIDENCE


def test_nothing_is_chosen_or_saved_while_styles_are_off(tmp_path: Path) -> None:
    styles = make(tmp_path)

    assert styles.fragment("why is it slow?") is None
    assert list(tmp_path.rglob("*")) == []


def test_incognito_uses_no_styles(tmp_path: Path) -> None:
    make(tmp_path).turn_on()
    before = sorted(tmp_path.rglob("*"))
    styles = Styles(tmp_path / "project", tmp_path / "home", persist=False)

    assert not styles.is_on
    assert styles.fragment("why is it slow?") is None
    assert sorted(tmp_path.rglob("*")) == before


def test_the_fragment_contains_the_style_and_its_source(tmp_path: Path) -> None:
    styles = make(tmp_path)
    styles.use("concise")

    fragment = styles.fragment("why is it slow?")

    assert fragment is not None
    assert styles.find("concise").text in fragment.text
    assert fragment.source == "prompts/styles/concise.md"
    assert fragment.reason.startswith("set by the user for ")
    assert styles.use(None) is None
    assert styles.pinned is None


def test_a_style_of_the_project_is_labelled_as_the_projects(tmp_path: Path) -> None:
    styles = make(tmp_path)
    projects, mine = tmp_path / "project" / ".clio" / "styles", tmp_path / "home" / "styles"
    for folder, id in ((projects, "brief"), (mine, "mine")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{id}.md").write_text(f"---\nid: {id}\nname: {id}\n---\nSpeak like {id}.\n", encoding="utf-8")

    fragments = {}
    for id in ("brief", "mine", "detailed"):
        styles.use(id)
        fragments[id] = styles.fragment("why is it slow?")

    assert "Speak like brief." in fragments["brief"].text and "the project's" in fragments["brief"].text
    assert "project" in fragments["brief"].reason
    for id in ("mine", "detailed"):
        assert "project" not in fragments[id].text + fragments[id].reason


def test_an_unknown_style_gives_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'concise'"):
        make(tmp_path).use("concice")


def test_a_style_of_the_project_replaces_no_other(tmp_path: Path) -> None:
    projects, mine = tmp_path / "project" / ".clio" / "styles", tmp_path / "home" / "styles"
    projects.mkdir(parents=True)
    mine.mkdir(parents=True)
    (mine / "m.md").write_text("---\nid: mine\nname: My own\n---\nAs I like it.\n")
    heads = {
        "a": "id: concise",
        "b": "id: mine",
        "c": "id: other\nname: Concise",
        "d": "id: my-own\nname: MY OWN",
        "e": "id: third\nname: mine",
        "f": "id: free",
        "z": "id: free",
    }
    for name, head in heads.items():
        (projects / f"{name}.md").write_text(f"---\n{head}\n---\nTheirs {name}.\n")
    styles = make(tmp_path)

    theirs = [skill.text for skill in styles.skills().skills if skill.text.startswith("Theirs")]
    assert theirs == ["Theirs f."]
    assert styles.find("concise").built_in
    assert styles.find("mine").text == styles.find("my own").text == "As I like it."
    assert all(f"{name}.md" in " ".join(styles.skills().problems) for name in "abcdez")


def test_a_style_of_the_user_replaces_a_built_in_one_while_its_file_exists(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "styles"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("---\nid: concise\nverbosity: 0.2\n---\nTwo lines at most.\n")
    (folder / "broken.md").write_text("no properties")
    styles = make(tmp_path)

    own = styles.find("concise")

    assert (own.text, own.built_in, own.dimensions[0]) == ("Two lines at most.", False, 0.2)
    assert "broken.md" in styles.skills().problems[0]
    styles.delete("concise")
    assert styles.find("concise").built_in
    with pytest.raises(UserError, match="built in"):
        styles.delete("concise")


def test_another_clio_can_read_the_account_of_the_last_turn(tmp_path: Path) -> None:
    styles = make(tmp_path)
    styles.turn_on()
    (tmp_path / "project").mkdir()
    styles.fragment("why is it slow?")

    other = make(tmp_path)

    assert other.why() == styles.why()
    assert other.why() is not None


def test_forgetting_one_style_leaves_the_others(tmp_path: Path) -> None:
    styles = make(tmp_path)
    styles.turn_on()
    for id in ("concise", "detailed"):
        styles.learn(HERE, id, 1)

    styles.reset("concise")

    assert styles.state().earned(HERE, "concise", NOW) == Earned()
    assert styles.state().earned(HERE, "detailed", NOW).ups == 1
    styles.reset()
    assert styles.state().contexts == {}
    assert styles.is_on


def _learn(home: str, times: int) -> None:
    styles = Styles(Path(home) / "project", Path(home) / "home", clock=lambda: NOW)
    for _ in range(times):
        styles.learn(HERE, "concise", 1)


def test_two_clios_that_learn_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_learn, args=(str(tmp_path), 50)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert make(tmp_path).state().earned(HERE, "concise", NOW).ups == 100


def test_the_built_in_styles_have_ten_different_ids_and_vectors() -> None:
    skills = load_built_in_styles()

    assert len(skills) == 10
    assert len({skill.dimensions for skill in skills}) == 10
    assert all(len(skill.dimensions) == len(DIMENSIONS) for skill in skills)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("hello", "properties between two lines"),
        ("---\nid: x\n---\n", "1 to 1,200 characters"),
        ("---\nid: X y\n---\nwords", "an id of lowercase letters"),
        ("---\nid: x\nverbosity: 2\n---\nwords", "from 0.0 to 1.0"),
        ("---\nid: x\nverbosty: 1\n---\nwords", "line 3.*did you mean 'verbosity'"),
    ],
)
def test_an_invalid_style_file_is_refused_with_the_reason(text: str, wrong: str) -> None:
    with pytest.raises(UserError, match=wrong):
        parse_skill(text, "mine.md")
