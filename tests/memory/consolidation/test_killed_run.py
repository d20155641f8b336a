"""A killed consolidation: its results exist once, and the next one finishes it."""

import subprocess
import sys
from pathlib import Path

import pytest

from clio.errors import UserError
from clio.memory.system import MemorySystem
from tests.memory.consolidation.consolidation_support import Place, edited, ran, user_turn

KILLS = 24


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_consolidation_killed_at_any_point_duplicates_and_loses_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    facts: list[str] = []
    for number in range(40):
        facts.append(f"The service{number} listens on port 7{number:03}.")
        fixed = [
            *user_turn("make it pass", "I look."),
            *ran("pytest -q", f"E   KeyError: 'setting{number}'\n1 failed", 1),
            *edited(f"conf{number}.py"),
            *ran("pytest -q", "3 passed"),
        ]
        place.session(user_turn(facts[-1]), [*fixed, *user_turn("thanks", "Welcome.")])
    # ids of this process's sessions; the children open the same folder
    subprocess.run(
        [sys.executable, "-m", "tests.memory.consolidation.crash", str(tmp_path), str(KILLS), "7"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    last = place.sleep()
    assert last.errors == ()
    expected = [fact.rstrip(".") for fact in place.facts]
    assert sorted(expected) == sorted(fact.rstrip(".") for fact in facts)
    fixes = [line for line in place.knowledge if line.startswith("solution")]
    assert len(fixes) == len({line.partition("→")[0] for line in fixes})
    assert place.sleep().replayed == 0
    leftovers = [path.name for path in (place.project / ".clio").iterdir() if "corrupt" in path.name]
    assert leftovers == []
    undone = MemorySystem(place.project, place.store, incognito=False, ltm=True, home=place.user_home)
    with pytest.raises(UserError, match="nothing to undo"):
        while True:
            assert "the consolidation of" in undone.undo()  # each killed consolidation is a separate change
    assert len(place.facts) <= KILLS  # a kill between save and log leaves one more
