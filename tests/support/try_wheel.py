"""Install the wheel of a folder in an empty venv and ask it a question: `python -m tests.support.try_wheel dist`."""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

_SOURCE = '"""The retry policy: three tries, each wait twice as long as the one before."""\n\nMAX_TRIES = 3\n'


def try_wheel(folder: Path) -> None:
    """Install the only wheel in `folder` and check its answer. Raises SystemExit if one of the steps fails."""
    wheels, sdists = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        raise SystemExit(f"{folder} should have one wheel and one sdist, but has {len(wheels)} and {len(sdists)}")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        venv.create(place / "venv", with_pip=True)
        programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run([str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheels[0].resolve())], place)
        project = place / "shop"
        project.mkdir()
        (project / "retry.py").write_text(_SOURCE, encoding="utf-8")
        clio = str(programs / "clio")
        print(run([clio, "--version"], project).strip())
        question = [clio, "-p", "where is the retry policy?", "--provider", "offline", "--output", "json"]
        answer = json.loads(run(question, project))
        if answer["status"] != "done" or "retry.py" not in answer["text"]:
            raise SystemExit(f"unexpected answer: {answer}")
    print(f"{wheels[0].name}: installed alone, it answers")


def run(argv: list[str], cwd: Path) -> str:
    """Return the standard output of a program without API keys and with an empty home."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "CLIO_", "PYTHON"))}
    env |= {"HOME": str(cwd), "USERPROFILE": str(cwd)}
    done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{argv[0]} exited with code {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


if __name__ == "__main__":
    try_wheel(Path(sys.argv[1]))
