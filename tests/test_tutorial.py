"""The tutorial works as written: one shell and one clio in a terminal get what the page says to type.

A block of `sh` is typed in the shell. In a block of `text`, each line that begins with "❯ " is typed at clio's prompt;
the other lines must appear on the screen, in order, with "…" for anything. "Press `x`" at the beginning of a paragraph
presses that key.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pty_session import PtySession

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the commands are a POSIX shell's"),
    pytest.mark.timeout(300),
]
ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
_STEP = re.compile(r"^```(?P<language>sh|text)\n(?P<lines>.*?)^```$|^Press `(?P<key>[^`]+)`", re.M | re.S)
_PROMPT = "tutorial$ "
_AT_CLIOS_PROMPT = r"\A(?![\s\S]*to interrupt)[\s\S]*❯ Ask[^\n]*\n[^\n❯]*\w · \w[^\n]*\Z"
_AT_SHELLS_PROMPT = rf"(?:\A|\n){re.escape(_PROMPT.rstrip())}\Z"
_CONVERSATION = re.compile(r"^clio(?: --context-window \d+)?(?:\s+#.*)?\Z", re.M)
_KEYS = {"Ctrl-D": "\x04", "Ctrl-C": "\x03", "Esc": "\x1b"}


def read_steps(page: str) -> Iterator[tuple[str, str]]:
    """Yield what to do, "sh", "say", "press" or "see", with the lines."""
    for step in _STEP.finditer(page):
        if step["key"]:
            yield "press", step["key"]
        elif step["language"] == "sh":
            yield "sh", step["lines"]
        else:
            for part in re.split(r"^(?=❯ )", step["lines"], flags=re.M):
                typed, _, seen = part.partition("\n")
                if typed.startswith("❯ "):
                    yield "say", typed.removeprefix("❯ ")
                    yield "see", seen
                elif part.strip():
                    yield "see", part


def squeeze(text: str) -> str:
    """Return the text with single spaces and without line breaks, because clio may break lines elsewhere."""
    return " ".join(text.split())


def expect(shown: str) -> re.Pattern[str]:
    """Return a pattern of these lines, in order, with anything between them."""
    lines = (squeeze(line).strip("… ") for line in shown.splitlines())
    return re.compile(
        ".*?".join(".*?".join(re.escape(part.strip()) for part in line.split("…")) for line in lines if line), re.S
    )


class Reader:
    """A new user with a terminal of 80 columns."""

    def __init__(self, terminal: PtySession) -> None:
        self._terminal = terminal
        self._seen = 0
        self._message = ""
        self._blocks = 0

    def follow(self, step: str, text: str) -> None:
        """Do one step, and wait until the shell or clio is ready for the next."""
        if step == "see":
            everything = self._terminal.everything
            # A question hides rows above it until it is answered, so the message then has another place.
            message = everything.rfind(self._message) if self._message else -1
            shown = everything[message if message >= 0 else self._seen :]
            assert expect(text).search(squeeze(shown)), f"the page shows\n{text}\nthe screen shows\n{shown}"
            return
        if step == "press":
            self._press(text)
            return
        everything = self._terminal.everything
        line = everything.rfind("❯ Ask")  # clio's own line moves down, and output takes its place
        self._seen = line if line >= 0 and not re.search(_AT_SHELLS_PROMPT, everything) else len(everything)
        self._message = f"❯ {text[:20].rstrip()}" if step == "say" else ""
        if step == "say":
            self._terminal.send(text)
            self._terminal.wait_for_screen(rf"❯ {re.escape(text[:20])}")
            self._terminal.key("enter")
            self._terminal.wait_for_screen(rf"{_AT_CLIOS_PROMPT}|y yes|{_AT_SHELLS_PROMPT}")
        else:
            self._type_in_shell(text)

    def _press(self, key: str) -> None:
        self._terminal.send(_KEYS.get(key, key))
        if key == "Ctrl-D":
            self._terminal.wait_for_screen(_AT_SHELLS_PROMPT)
        else:
            self._terminal.wait_gone("y yes")
            self._terminal.wait_for_screen(_AT_CLIOS_PROMPT)

    def _type_in_shell(self, lines: str) -> None:
        for line in lines.rstrip("\n").split("\n"):
            self._terminal.line(line)
        if _CONVERSATION.search(lines.rstrip("\n")):
            self._terminal.wait_for_screen(_AT_CLIOS_PROMPT)
        else:
            self._blocks += 1
            self._terminal.line(f"echo block {self._blocks}")
            self._terminal.wait_for_screen(rf"\nblock {self._blocks}\n{_PROMPT.rstrip()}\Z".replace("$", r"\$"))


def test_everything_in_the_tutorial_happens(tmp_path: Path) -> None:
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "PS1": _PROMPT,
        "PS2": "",
        "HISTFILE": "/dev/null",
    }
    with PtySession(["bash", "--norc", "--noprofile", "-i"], cwd=tmp_path, env=env, lines=60, timeout_s=60) as terminal:
        terminal.wait_for_screen(_AT_SHELLS_PROMPT)
        reader = Reader(terminal)
        for step, text in read_steps(PAGE):
            if "rm -rf" in text:
                assert find_unlisted_files(tmp_path / "clio-tutorial") == []
            reader.follow(step, text)
    assert list(tmp_path.iterdir()) == []


def find_unlisted_files(tutorial: Path) -> list[str]:
    """Return the files and folders that clio created here, and that the page about files does not name."""
    page = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    named = {part for name in re.findall(r"`([^`\s]+)`", page) for part in name.split("/")}
    made = [*(tutorial / "home").iterdir(), *(tutorial / "shop" / ".clio").iterdir()]
    return [
        path.name
        for path in made
        if path.name not in named | {".gitignore"} and not path.name.endswith((".lock", ".journal.jsonl"))
    ]
