"""Ctrl-T at any time while a model thinks and answers, in a real terminal: nothing is broken, moved or shown twice."""

import random
import sys
import time
from collections.abc import Iterator

import pytest

from tests.entrypoints.repl_support import Place, without_header
from tests.support.chat_server import DONE, ChatServer, Part, Pause, Recorded, Reply, chunk, pieces_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
THOUGHTS = [f"thought{number} considers case {number} with care." for number in range(6)]
ANSWER = [f"answer{number} is one whole paragraph." for number in range(4)]
CTRL_T = "\x14"


def thinking(*, both: int, size: int = 9, pause_s: float = 0.02) -> Reply:
    """Return an answer whose last `both` pieces of reasoning each arrive together with a piece of text."""
    thoughts, words = pieces_of("\n".join(THOUGHTS), size), pieces_of("\n\n".join(ANSWER), size)

    def render(request: Recorded) -> Iterator[Part]:
        del request
        first = len(thoughts) - both
        deltas = [{"reasoning_content": piece} for piece in thoughts[:first]]
        deltas += [
            {"reasoning_content": thought, "content": text}
            for thought, text in zip(thoughts[first:], words, strict=False)
        ]
        deltas += [{"content": piece} for piece in words[both:]]
        for delta in deltas:
            yield chunk(delta)
            yield Pause(pause_s)
        yield chunk({}, "stop")
        yield DONE

    return Reply(render)


def assert_order_kept(shown: list[str]) -> None:
    """Check that reasoning comes before the answer, each line complete and at most once, and the answer is complete."""
    shown = [line.strip().removeprefix("◆ ") for line in shown]  # the answer has a lead sign and an indent
    lines = [line for line in shown if line in THOUGHTS or line in ANSWER]
    broken = [line for line in shown if line not in lines and ("thought" in line or "answer" in line)]
    assert not [line for line in broken if not line.startswith("thought for ")], shown
    thoughts, answer = lines[: -len(ANSWER)], lines[-len(ANSWER) :]
    assert answer == ANSWER, shown
    assert thoughts == [line for line in THOUGHTS if line in thoughts], shown


@pytest.mark.parametrize("both", [0, 1, 3])
def test_reasoning_shown_from_the_start_comes_before_the_answer(place: Place, server: ChatServer, both: int) -> None:
    server.add(thinking(both=both))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("go")
        clio.wait_for("thinking")
        clio.send(CTRL_T)
        clio.wait_for("1 request")
        shown = without_header(clio.everything).splitlines()
    assert_order_kept(shown)
    assert THOUGHTS[-1] in shown


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_reasoning_switched_at_random_times_is_never_broken(place: Place, server: ChatServer, seed: int) -> None:
    rng = random.Random(seed)
    server.add(thinking(both=rng.randrange(4)))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("go")
        clio.wait_for("thinking")
        for _ in range(rng.randrange(2, 9)):
            clio.send(CTRL_T)
            end = time.monotonic() + rng.random() * 0.3
            while time.monotonic() < end:
                clio.take_in(0.01)
        clio.wait_for("1 request")
        assert_order_kept(without_header(clio.everything).splitlines())
