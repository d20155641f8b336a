"""Response styles in whole turns over real HTTP: what the model gets, what ratings change, and nothing else."""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.memory.styles.feedback import Trajectories
from clio.memory.styles.selection import load_built_in_styles
from clio.memory.styles.styles import Styles
from tests.support.chat_server import Recorded, text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness
from tests.turns.traces import snapshot

TEXTS = {skill.id: skill.text for skill in load_built_in_styles()}
FIX = "fix the failing test in calc.py"
OTHERS = ("explain how the parser works", "add a flag for colours to the command line", "review this function")
TURNS, FEWER = 1_000, 300


def ok(harness: Harness, line: str) -> str:
    result = run_command(harness.app, line)
    assert result.ok, result.text
    return result.text


def last_words(request: Recorded) -> str:
    """Return the last message of a request: the user's, with the context that clio added."""
    message = request.body["messages"][-1]
    assert message["role"] == "user"
    return message["content"]


def styles_in(words: str) -> list[str]:
    return [id for id, template in TEXTS.items() if template in words]


def seeded(harness: Harness, seed: int) -> Styles:
    """Return the harness's styles with another random seed."""
    return Styles(harness.project, harness.loaded.home, rng=random.Random(seed))


def shares(styles: Styles, question: str, turns: int = TURNS) -> Counter[str]:
    """Return how often each style is chosen for a question."""
    chosen = (styles.choose(question) for _ in range(turns))
    return Counter(one.skill.id for one in chosen if one)


def test_the_chosen_style_is_in_the_request_after_a_prompt_that_never_changes(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two"), text("three"), text("four")])

    async def go() -> None:
        await harness.turn("why does it fail?")
        ok(harness, "/style use concise")
        await harness.turn("why does it fail?")
        ok(harness, "/style use teaching")
        await harness.turn("and now?")
        ok(harness, "/style off")
        await harness.turn("and now?")

    asyncio.run(go())
    requests = harness.server.requests
    assert [styles_in(last_words(request)) for request in requests] == [[], ["concise"], ["teaching"], []]
    assert len({request.body["messages"][0]["content"] for request in requests}) == 1
    for request in requests[1:3]:
        words = last_words(request)
        assert words.index("For the wording of this answer:") < words.index("?")
    earlier = [request.body["messages"][:-1] for request in requests]
    assert all(after[: len(before)] == before for before, after in pairwise(earlier))


def test_the_style_stays_the_same_during_the_steps_of_a_turn(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("read_file", {"path": "calc.py"})]), text("done")])
    ok(harness, "/style on")
    asyncio.run(harness.turn(FIX))
    first, second = (request.body["messages"] for request in harness.server.requests)
    assert second[: len(first)] == first
    assert len(styles_in(str(second[len(first) - 1]["content"]))) == 1


async def teach(harness: Harness) -> None:
    """Rate twenty detailed answers to one kind of request as bad, and twenty concise ones as good."""
    for style, sign in (("detailed", "-"), ("concise", "+")):
        ok(harness, f"/style use {style}")
        for _ in range(20):
            await harness.turn(FIX)
            ok(harness, f"/feedback {sign}")
        harness.app.new_session()
    ok(harness, "/style auto")


def test_well_rated_styles_are_chosen_for_that_intent_and_nothing_changes_for_others(
    make_harness: MakeHarness, tmp_path: Path
) -> None:
    harness = make_harness([text("An answer.")] * 70)

    async def go() -> None:
        await teach(harness)
        harness.app.memory.styles._rng = random.Random(6)  # pyright: ignore[reportPrivateUsage]
        for _ in range(30):
            await harness.turn(FIX)

    asyncio.run(go())
    given = Counter(id for request in harness.server.requests[40:] for id in styles_in(last_words(request)))
    assert given.total() == 30
    assert given["concise"] >= 27

    found = shares(seeded(harness, 7), FIX)
    assert found["concise"] > 0.9 * TURNS
    assert found["detailed"] < 0.05 * TURNS
    for question in OTHERS:
        untaught = Styles(harness.project, tmp_path / "elsewhere", rng=random.Random(8))
        untaught.turn_on()
        assert shares(seeded(harness, 8), question, FEWER) == shares(untaught, question, FEWER)


def test_without_ratings_all_matching_styles_are_tried(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    ok(harness, "/style on")
    found = shares(seeded(harness, 9), FIX, FEWER)
    assert len([count for count in found.values() if count > 0.05 * FEWER]) >= 3
    assert found["concise"] < 0.5 * FEWER


def test_a_rating_refers_to_the_answer_before_and_its_style(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two"), text("three")])

    async def go() -> None:
        ok(harness, "/style use detailed")
        await harness.turn(FIX)
        ok(harness, "/style use concise")
        assert "`detailed`" in ok(harness, "/feedback -")
        await harness.turn("no, that's wrong")
        assert "`concise`" in ok(harness, "/feedback + better")

    asyncio.run(go())
    kept = Trajectories(harness.project / ".clio" / "trajectories.jsonl").all()
    assert [(one.turn.style, [rating.reward for rating in one.ratings]) for one in kept] == [
        ("detailed", [-1]),
        ("concise", [1]),
    ]


def test_a_signal_counts_if_the_user_gave_no_rating(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two")])

    async def go() -> None:
        ok(harness, "/style use detailed")
        await harness.turn(FIX)
        await harness.turn("no, use the other file")

    asyncio.run(go())
    arms = harness.app.memory.styles.state().contexts["fix"]
    assert (arms["detailed"].ups, arms["detailed"].downs) == (0.0, pytest.approx(0.25))
    [notice] = [event.text for event in harness.seen(Notice) if "use the other file" in event.text]
    assert notice.startswith("−")


def test_with_styles_off_nothing_is_sent_or_saved(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two")])

    async def go() -> None:
        await harness.turn(FIX)
        await harness.turn("no, that's wrong")

    asyncio.run(go())
    assert [styles_in(last_words(request)) for request in harness.server.requests] == [[], []]
    assert not (harness.project / ".clio" / "trajectories.jsonl").exists()
    assert not (harness.loaded.home / "styles.json").exists()


def test_incognito_uses_no_style_and_saves_nothing(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one")])
    ok(harness, "/style use concise")
    before = trees(harness)
    hidden = make_harness([text("two"), text("three")], incognito=True)

    async def go() -> None:
        await hidden.turn(FIX)
        await hidden.turn("perfect, thanks")
        await hidden.app.close()

    asyncio.run(go())
    assert [styles_in(last_words(request)) for request in hidden.server.requests] == [[], []]
    assert not run_command(hidden.app, "/feedback +").ok
    assert trees(harness) == before


def trees(harness: Harness) -> Sequence[Any]:
    return [snapshot(harness.project), snapshot(harness.loaded.home)]


def test_a_one_shot_run_names_its_style_in_json(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one")])
    ok(harness, "/style use concise")
    done = subprocess.run(
        [sys.executable, "-m", "clio", "-p", FIX, "--output", "json", "--cwd", str(harness.project)],
        env=os.environ | harness.env | {"OPENAI_BASE_URL": harness.server.url, "CLIO_MODEL": "test-model"},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["style"] == "concise"
    assert styles_in(last_words(harness.server.requests[-1])) == ["concise"]
