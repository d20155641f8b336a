"""The manual page clio(1): complete, matching the tables, and without warnings of mandoc."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clio.config.command_line import COMMANDS, FLAGS, SUBCOMMANDS
from clio.config.schema import ENVIRONMENT_VARIABLES

PAGE = Path(__file__).parent.parent / "share" / "man" / "man1" / "clio.1"


def rendered() -> str:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww", "-P-cbou", "-rLL=200n", str(PAGE)],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_it_documents_everything() -> None:
    text = " ".join(rendered().split())
    for words in (
        *(flag.usage for flag in FLAGS),
        *(" ".join(flag.summary.replace("`", "").split()) for flag in FLAGS),
        *(f"clio {' '.join(words)}" for words in COMMANDS),
        *(f"clio {subcommand.name}" for subcommand in SUBCOMMANDS),
        *(variable.name for variable in ENVIRONMENT_VARIABLES),
        "clio sessions export ID PATH [--format html|md|json] [--force]",
        "clio memory forget ID... [--yes]",
        "git diff | clio -p 'review this change'",
    ):
        assert words in text


def test_mandoc_has_no_warnings() -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-Tlint", str(PAGE)], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "")
