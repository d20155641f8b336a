"""The three completion scripts in their shells; each shell is started once for many lines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from clio.config.command_line import COMMANDS, FLAGS, SUBCOMMANDS
from clio.entrypoints.completions.scripts import (
    LISTED,
    SHELLS,
    collect_places,
    get_subcommand,
    list_switches,
    list_valued_options,
    make_completion_script,
)

# A command line up to the cursor, and the completions: all of them, or with "…" first, some of them.
LINES: dict[str, str] = {
    "clio do": "doctor docs",
    "clio --outp": "--output",
    "clio --output ": "text json stream-json",
    "clio --output=": "text json stream-json",
    "clio --output=js": "json",
    "clio -p x --approve a": "ask all",
    "clio --provider o": "openai openrouter ollama offline",
    "clio config ": "show path trust get set unset",
    "clio completions ": "bash zsh fish",
    "clio session sh": "show",
    "clio note show ": "deploy-steps",
    "clio notes show d": "deploy-steps",
    "clio memory forget d-1 ": "d-3f9a12",
    "clio --incognito memory wipe --scope ": "project user styles all",
    "clio memory wipe --se": "--sessions",
    "clio sessions export id x.md --format ": "html md json",
    "clio recall --layer L": "L0 L1 L2",
    "clio recall words --fu": "--fusion",
    "clio import claude --facts ": "yes no",
    "clio style use con": "concise",
    "clio -m gpt-6-l": "gpt-6-luna",
    "clio -r --ne": "--new",
    "clio doctor --fetch": "--fetch-encodings",
    "clio --fetch-e": "",
    "clio init --j": "",
    "clio nonsense words ": "",
    "clio -p ": "",
    "clio --json-schema fil": "file.json",
    "clio docs add fil": "file.json",
    "clio mcp add x -- fil": "file.json",
    "clio --cwd fol": "folder",
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with a note, an entry, a file, a folder, and the scripts; `clio` is on PATH."""
    folder = tmp_path_factory.mktemp("completions")
    (folder / "project" / ".clio" / "memory").mkdir(parents=True)
    (folder / "bin").mkdir()
    project, clio = folder / "project", folder / "bin" / "clio"
    for name, key in (("deploy-steps", "deploy-steps"), ("other", "$(touch ran)")):
        (project / ".clio" / "memory" / f"{name}.json").write_text(
            f'{{"key": "{key}", "content": "x", "timestamp": 1}}', encoding="utf-8"
        )
    entry = '{"patterns": {"discoveries": [{"id": "d-3f9a12", "fact": "uses sqlite", "confidence": 0.8}]}}'
    (project / ".clio" / "ltm.json").write_text(entry, encoding="utf-8")
    (project / "file.json").touch()
    (project / "folder").mkdir()
    clio.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m clio "$@"\n', encoding="utf-8")
    clio.chmod(0o755)
    for shell in SHELLS:
        (folder / f"clio.{shell}").write_text(make_completion_script(shell), encoding="utf-8")
    return folder


def environment(here: Path) -> dict[str, str]:
    return {
        "PATH": f"{here / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "HOME": str(here),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


def ask(shell: str, here: Path, body: str) -> list[list[str]]:
    """Return the output of the shell for each of LINES: the completions on one line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *flags, "-c", body, shell, *LINES] if shell != "fish" else [shell, *flags, "-c", body, *LINES],
        cwd=here / "project", env=environment(here), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split() for line in done.stdout.splitlines()]


def wanted() -> list[list[str]]:
    return [offered.split() for offered in LINES.values()]


BASH = r"""
source ../clio.bash
for line in "$@"; do   # the words as readline hands them over: "=" and ":" stand alone
    read -ra COMP_WORDS <<< "$(sed 's/[=:]/ & /g' <<< "$line")"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _clio
    echo "${COMPREPLY[*]}"
done
"""
FISH = r"""
source ../clio.fish
for line in $argv
    echo (complete -C "$line" | string replace -r '\t.*' '' | string replace -r '^--[^=]*=' '' | string trim -rc /)
end
"""


def test_bash_completes(here: Path) -> None:
    found = ask("bash", here, BASH)
    assert dict(zip(LINES, found, strict=True)) == dict(zip(LINES, wanted(), strict=True))
    assert not (here / "project" / "ran").exists()


def test_fish_completes(here: Path) -> None:
    found = ask("fish", here, FISH)
    sorted_ = [sorted(words) for words in found]
    assert dict(zip(LINES, sorted_, strict=True)) == {line: sorted(words.split()) for line, words in LINES.items()}


def _at_a_prompt(shell: str, here: Path, setup: str, typed: str) -> str:
    """Return the line after a Tab, in a real terminal."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    child = pexpect.spawn(
        shell, flags, cwd=str(here / "project"), env=environment(here), encoding="utf-8", timeout=30,
        dimensions=(40, 120),
    )  # fmt: skip
    try:
        child.sendline(f"{setup}; PS1='> '; echo rea''dy")
        child.expect("ready")
        child.send(f"{typed}\t\x01echo \x05 END\r")  # Tab, then "echo " before the line and a word after it
        child.expect(r"[\r\n](clio [^\r\n]*) END[\r\n]")  # the output, not what was typed
        return " ".join(child.match[1].split())
    finally:
        child.close(force=True)


def test_bash_at_a_prompt(here: Path) -> None:
    assert _at_a_prompt("bash", here, "source ../clio.bash", "clio --output=js") == "clio --output=json"


@pytest.mark.parametrize(("typed", "becomes"), [("clio --output=js", "clio --output=json"),
                                                ("clio notes sh\t d", "clio notes show deploy-steps")])  # fmt: skip
def test_zsh_at_a_prompt(here: Path, typed: str, becomes: str) -> None:
    setup = "autoload -Uz compinit; compinit -u -C -d ../zcompdump; source ../clio.zsh"
    assert _at_a_prompt("zsh", here, setup, typed) == becomes


def test_zsh_finds_the_installed_file(here: Path) -> None:
    """An installed file is loaded by its name, and completes at the first Tab."""
    (here / "site").mkdir()
    shutil.copy(here / "clio.zsh", here / "site" / "_clio")
    setup = "fpath=($PWD/../site $fpath); autoload -Uz compinit; compinit -u -D"
    assert _at_a_prompt("zsh", here, setup, "clio doct") == "clio doctor"


def test_every_flag_and_every_subcommand_is_completed() -> None:
    known = collect_places()
    offered = {row.word for place in known.values() for row in place.rows}
    assert {flag.long_name for flag in FLAGS} <= offered
    assert {words[-1] for words in COMMANDS} | {subcommand.name for subcommand in SUBCOMMANDS} <= offered
    for subcommand in SUBCOMMANDS:
        verbs = known.get(f"verbs {subcommand.name}")
        rows = verbs.rows if verbs else ()
        usable = [sub for sub in get_subcommand(subcommand.name).subcommands if not sub.is_for_conversations]
        assert [row.word for row in rows] == [sub.name for sub in usable]


def test_a_flag_takes_a_value_in_all_commands_or_in_none() -> None:
    """The scripts distinguish a flag's value from the next word only by the flag's name."""
    assert set(list_valued_options()[0]) & list_switches() == set()


def test_no_placeholder_is_completed() -> None:
    for shell in SHELLS:
        assert "@" not in make_completion_script(shell).replace("$@", "").replace("[@]", "").replace("(@)", "")
    kinds = {place.kind for place in collect_places().values()} - {"", "files", "folders"}
    assert kinds == set(LISTED)
