"""Learned response styles are found by questions about them."""

import random
from pathlib import Path

from clio.memory.retrieval.scoring import of_style
from clio.memory.styles.styles import Styles


def test_a_rated_style_is_a_result_and_an_unrated_one_is_none(tmp_path: Path) -> None:
    styles = Styles(tmp_path / "project", tmp_path / "home", rng=random.Random(1), clock=lambda: 1_780_000_000.0)
    styles.learn("fix/neutral/morning", "concise", 1)
    styles.learn("fix/neutral/night", "concise", -1, 0.25)

    [hit] = [of_style(view) for view in styles.views() if view.earned]

    assert hit.id == "concise"
    assert "fix: 1 up, 0.25 down" in hit.text
    assert hit.when == 1_780_000_000.0
