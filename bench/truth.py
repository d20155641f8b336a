"""What really happened in a transcript, read from the raw file with other eyes than clio's.

On purpose nothing here is shared with `clio.context` or with the adapters: one mistake in both would look like success.
"""

import json
import re
from pathlib import Path

from msgspec import Struct

_BLOCK = re.compile(r"^<tool-use .*?^</details></tool-use>$", re.M | re.S)
_SIDE = re.compile(r"^_\*\*Agent - sidechain.*?(?=^_\*\*(?:User|Agent)(?! - side)|\Z)", re.M | re.S)
_ASK = re.compile(r"^_\*\*User \([^)]*\)\*\*_\n(?P<words>.*?)(?=^---$|^_\*\*|\Z)", re.M | re.S)
_NODS = {
    "yes",
    "ok",
    "continue",
    "proceed",
    "go",
    "y",
    "thanks",
    "go ahead",
    "go ahead and do it",
    "sure",
    "please continue",
}


class Truth(Struct, frozen=True, kw_only=True):
    """What a summary has to state. `outcome` is the last command that was run."""

    asks: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    outcome: str = ""


def read_truth(path: Path) -> Truth:
    """The truth of a transcript file."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return _of_markdown(text) if path.suffix == ".md" else _of_trajectory(json.loads(text))


def _of_markdown(text: str) -> Truth:
    text = _SIDE.sub("", text)
    blocks = _BLOCK.findall(text)
    asks = [" ".join(words.split()) for words in _ASK.findall(_BLOCK.sub("", text))]
    shells = [block for block in blocks if 'data-tool-name="Bash"' in block]
    commands = [found[1] for block in shells if (found := re.search(r"^\s?`([^`\n]+)`\s*$", block, re.M))]
    made = [
        found[1]
        for block in blocks
        if 'data-tool-type="write"' in block
        and (found := re.search(r"^(?:The file|File created successfully at:) (\S+?)(?: has been .*)?$", block, re.M))
    ]
    commits = [
        hash
        for block in shells
        if re.search(r"`[^`\n]*git [^`\n]*commit", block)
        for hash in re.findall(r"^\[\S+ (?:\(root-commit\) )?([0-9a-f]{7,})\] ", block, re.M)
    ]
    answers = [found[1] for block in blocks if (found := re.search(r"^\*\*Answer:\*\* (.+)", block, re.M))]
    return Truth(
        asks=tuple(ask for ask in asks if _is_ask(ask)),
        commits=tuple(dict.fromkeys(commits)),
        written=tuple(dict.fromkeys(made)),
        decisions=tuple(answers),
        outcome=commands[-1] if commands else "",
    )


def _of_trajectory(document: dict[str, object]) -> Truth:
    """The first words of the user, the files that were created or edited, the last line that was run."""
    entries: list[dict[str, object]] = document.get("history") or []  # type: ignore[assignment]
    asks = [
        str(e["content"]) for e in entries if e["role"] == "user" and "solving the following issue" in str(e["content"])
    ]
    shown, written, last = "", list[str](), ""
    for entry in entries:
        text = str(entry.get("content"))
        if entry["role"] == "assistant":
            line = str(entry.get("action") or "").strip()
            last = line or last
        else:
            if re.match(r"(edit|insert)\b", last) and re.search(r"File updated|Text replaced|Inserted text", text):
                written.append(shown)
            if last.startswith("create ") and "[File: " in text:
                written.append(last.split()[1])
            files = re.findall(r"\(Open file: ([^)\n]+)\)", text)
            shown = files[-1] if files else shown
    tools = ("open", "create", "edit", "insert", "find_file", "search", "submit", "goto", "scroll", "set_cursors")
    lines = [str(entry.get("action") or "").strip() for entry in entries if entry["role"] == "assistant"]
    runs = [line for line in lines if line and not line.startswith(tools)]
    return Truth(
        asks=tuple(" ".join(ask.split()) for ask in asks if "demonstration" not in ask[:80]),
        written=tuple(dict.fromkeys(written)),
        outcome=runs[-1] if runs else "",
    )


def _is_ask(words: str) -> bool:
    return bool(words) and not words.startswith("[Request interrupted") and words.strip(" .!").lower() not in _NODS
