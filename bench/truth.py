"""Read what happened in a transcript from its raw file.

Shares no code with `clio.context` or `bench.transcripts` on purpose: a mistake in shared code would go unnoticed.
"""

import json
import re
from pathlib import Path

from msgspec import Struct

_BLOCK = re.compile(r"^<tool-use .*?^</details></tool-use>$", re.M | re.S)
_SIDE_CONVERSATION = re.compile(r"^_\*\*Agent - sidechain.*?(?=^_\*\*(?:User|Agent)(?! - side)|\Z)", re.M | re.S)
_USER_MESSAGE = re.compile(r"^_\*\*User \([^)]*\)\*\*_\n(?P<words>.*?)(?=^---$|^_\*\*|\Z)", re.M | re.S)
_CONFIRMATIONS = {
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
    """What a summary must state. files: created or edited."""

    requests: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    last_command: str = ""


def read_truth(path: Path) -> Truth:
    """Read a transcript file in SpecStory's Markdown or SWE-agent's JSON."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return _read_markdown(text) if path.suffix == ".md" else _read_trajectory(json.loads(text))


def _read_markdown(text: str) -> Truth:
    text = _SIDE_CONVERSATION.sub("", text)
    blocks = _BLOCK.findall(text)
    requests = [" ".join(text.split()) for text in _USER_MESSAGE.findall(_BLOCK.sub("", text))]
    shell_blocks = [block for block in blocks if 'data-tool-name="Bash"' in block]
    commands = [found[1] for block in shell_blocks if (found := re.search(r"^\s?`([^`\n]+)`\s*$", block, re.M))]
    created_files = [
        found[1]
        for block in blocks
        if 'data-tool-type="write"' in block
        and (found := re.search(r"^(?:The file|File created successfully at:) (\S+?)(?: has been .*)?$", block, re.M))
    ]
    commits = [
        hash
        for block in shell_blocks
        if re.search(r"`[^`\n]*git [^`\n]*commit", block)
        for hash in re.findall(r"^\[\S+ (?:\(root-commit\) )?([0-9a-f]{7,})\] ", block, re.M)
    ]
    answers = [found[1] for block in blocks if (found := re.search(r"^\*\*Answer:\*\* (.+)", block, re.M))]
    return Truth(
        requests=tuple(request for request in requests if _is_request(request)),
        commits=tuple(dict.fromkeys(commits)),
        files=tuple(dict.fromkeys(created_files)),
        decisions=tuple(answers),
        last_command=commands[-1] if commands else "",
    )


def _read_trajectory(document: dict[str, object]) -> Truth:
    """Read the user's requests, the files that were created or edited, and the last command."""
    entries: list[dict[str, object]] = document.get("history") or []  # type: ignore[assignment]
    requests = [
        str(e["content"]) for e in entries if e["role"] == "user" and "solving the following issue" in str(e["content"])
    ]
    open_file, files, last_action = "", list[str](), ""
    for entry in entries:
        text = str(entry.get("content"))
        if entry["role"] == "assistant":
            action = str(entry.get("action") or "").strip()
            last_action = action or last_action
        else:
            is_edit = re.match(r"(edit|insert)\b", last_action)
            if is_edit and re.search(r"File updated|Text replaced|Inserted text", text):
                files.append(open_file)
            if last_action.startswith("create ") and "[File: " in text:
                files.append(last_action.split()[1])
            open_files = re.findall(r"\(Open file: ([^)\n]+)\)", text)
            open_file = open_files[-1] if open_files else open_file
    tools = ("open", "create", "edit", "insert", "find_file", "search", "submit", "goto", "scroll", "set_cursors")
    actions = [str(entry.get("action") or "").strip() for entry in entries if entry["role"] == "assistant"]
    commands = [action for action in actions if action and not action.startswith(tools)]
    return Truth(
        requests=tuple(" ".join(request.split()) for request in requests if "demonstration" not in request[:80]),
        files=tuple(dict.fromkeys(files)),
        last_command=commands[-1] if commands else "",
    )


def _is_request(text: str) -> bool:
    return (
        bool(text) and not text.startswith("[Request interrupted") and text.strip(" .!").lower() not in _CONFIRMATIONS
    )
