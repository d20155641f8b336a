"""Examples in the documentation work: each `<!-- tested -->` block of shell lines is run.

A block runs in a new git repository, with its own home folder, without a key or a server: commands that ask a model use
`--provider offline` themselves. A ```text block after it is the expected output, with "…" for anything.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"<!-- tested -->\n```sh\n(.*?)```\n(?:\s*```text\n(.*?)```\n)?", re.DOTALL)
EXAMPLES = [
    pytest.param(match[1], match[2], id=f"{page.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 2}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for text in [page.read_text(encoding="utf-8")]
    for match in _BLOCK.finditer(text)
]


def test_there_are_tested_examples() -> None:
    assert EXAMPLES


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("lines", "printed"), EXAMPLES)
def test_an_example_works_as_documented(tmp_path: Path, lines: str, printed: str | None) -> None:
    project, home = tmp_path / "shop", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(project)], check=True)
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "GIT_AUTHOR_NAME": "you",
        "GIT_AUTHOR_EMAIL": "you@localhost",
        "GIT_COMMITTER_NAME": "you",
        "GIT_COMMITTER_EMAIL": "you@localhost",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if printed is not None:
        wanted = ".*?".join(re.escape(part) for part in printed.rstrip().split("…"))
        assert re.fullmatch(wanted, done.stdout.rstrip(), re.DOTALL), done.stdout
