"""What the project asks of every agent that works in it."""

import re
from pathlib import Path

from clio.fragments import Fragment

# In this order; the first that exists speaks for the rest, which usually repeat it.
_SOURCES = (".clio/instructions.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md")
_MAX_BYTES = 64_000
_OWN_COMMENT = re.compile(r"\A\s*<!--.*?-->", re.DOTALL)  # as `clio init` writes it: words to the person
CAP_TOKENS = 2_000


def project_instructions(project: Path) -> Fragment | None:
    """The project's instruction file as a fragment; None where there is none, or none that can be read."""
    for name in _SOURCES:
        path = project / name
        try:
            with path.open("rb") as file:
                text = file.read(_MAX_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            continue  # absent, or not ours to read: the project simply gives no instructions there
        if name == _SOURCES[0]:
            text = _OWN_COMMENT.sub("", text).strip()
        if text:
            reason = "the project's instructions to agents"
            return Fragment(name="project_instructions", text=text, source=name, reason=reason, cap_tokens=CAP_TOKENS)
    return None
