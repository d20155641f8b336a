"""Measure the checks after edits: the same steps with `checks: off` and with checks, over HTTP.

    python bench/checks.py [--turns 15]

Each turn has three edits of one file of 400 lines. ruff must be on the PATH. The first edit of a turn includes the
check of the file before the change.
"""

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.agent.user_interface import ComposedInterface, Event, StepFinished, ToolStarted
from clio.app import build_app
from clio.config.layers import load_config
from clio.config.options import Options
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import Asker, ScriptedUser

EDITS = 3


async def time_edits(name: str, body: str, turns: int, *, checked: bool) -> list[list[float]]:
    """Return the seconds from the start of each edit to its result on disk, by the position of the edit in its turn."""
    seconds: list[list[float]] = [[] for _ in range(EDITS)]
    started = 0.0
    place = 0

    def emit(event: Event) -> None:
        nonlocal started, place
        if isinstance(event, ToolStarted):
            started = time.perf_counter()
        elif isinstance(event, StepFinished) and started:
            seconds[place].append(time.perf_counter() - started)
            place, started = place + 1, 0.0

    with tempfile.TemporaryDirectory() as folder, ChatServer([]) as server:
        project = Path(folder) / "project"
        project.mkdir()
        (project / name).write_text(body, encoding="utf-8")
        overrides: dict[str, str | bool] = {"base_url": server.url, "model": "test-model", "approve": "all"}
        if not checked:
            (Path(folder) / "home").mkdir()
            (Path(folder) / "home" / "config.yaml").write_text("checks: off\n", encoding="utf-8")
        env = {"CLIO_HOME": str(Path(folder) / "home"), "OPENAI_API_KEY": "bench"}
        loaded = load_config(Options(cwd=project, overrides=overrides), env)
        app = build_app(loaded, ComposedInterface(ScriptedUser(), Asker(ScriptedUser()), emit), env=env)
        number = 0
        for _ in range(turns + 1):
            place = 0
            for _ in range(EDITS):
                call = {"path": name, "old_string": f"value_{number}", "new_string": f"value_{number + 1}"}
                server.add(tool_calls([("edit_file", call)]))
                number += 1
            server.add(text("done"))
            finished = await app.run_turn("go")
            assert finished.status == "done", finished.error
        await app.close()
    return [times[1:] for times in seconds]  # without the first turn, which loads modules


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    if shutil.which("ruff") is None:
        print("ruff is not on the PATH; Python files are parsed only")
    python = "".join(f"def f_{line}(a):\n    return a + {line}\n\n\n" for line in range(100)) + "value_0 = 1\n"
    values = "".join(f'  "k{line}": {line},\n' for line in range(400))
    for name, body in (("a.py", python), ("a.json", "{\n" + values + '  "last": "value_0"\n}\n')):
        for checked in (False, True):
            seconds = asyncio.run(time_edits(name, body, turns, checked=checked))
            first, later = statistics.median(seconds[0]), statistics.median([*seconds[1], *seconds[2]])
            setting = "checked" if checked else "off"
            print(f"{name:8} {setting:8} first edit of a turn {first * 1e3:6.1f} ms, later {later * 1e3:6.1f} ms")


if __name__ == "__main__":
    main()
