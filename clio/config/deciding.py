"""Which of a project's files decide what clio runs, whom it asks, or what later sessions are told to do: one list.

All of it waits until the person trusts the folder with it, and what a model would change there is asked in every mode.
"""

from collections.abc import Mapping, Sequence

from clio.config.paths import FOLDER_NAME

_MAY = "decides what clio may do"
_STARTS = "names programs that clio starts"
_SKILL = "belongs to a skill, which later sessions follow"
_AGENT = "says what a sub-agent is told"
_COMMAND = "belongs to a command, which may run others"

OWN_FILES: Mapping[str, str] = {
    "config.yaml": _MAY,
    "config.yml": _MAY,
    "mcp.yaml": _STARTS,
    "mcp.yml": _STARTS,
    "hooks.yaml": _STARTS,
}
"""Files directly in `.clio`, and in clio's home, where they need no trust."""
PLACES: Mapping[str, str] = {
    **{f"{FOLDER_NAME}/{name}": why for name, why in OWN_FILES.items()},
    ".mcp.json": _STARTS,
    f"{FOLDER_NAME}/commands": _COMMAND,
    ".claude/commands": _COMMAND,
    f"{FOLDER_NAME}/agents": _AGENT,
    ".claude/agents": _AGENT,
    f"{FOLDER_NAME}/skills": _SKILL,
    ".claude/skills": _SKILL,
    ".agents/skills": _SKILL,
}
"""Each file, and each folder with all in it, below a project; with why it counts, as the end of a sentence."""
_PLACES = {tuple(place.split("/")): why for place, why in PLACES.items()}
_HOLDERS = {parts[:1] for parts in _PLACES if len(parts) > 1}


def why_deciding(parts: Sequence[str]) -> str:
    """Why a path counts, as the end of a sentence; "" where it does not. Folders that hold such files count as well.

    parts: of a path below a project, in small letters. A project may lie in any folder of another one.
    """
    for start in range(len(parts)):
        for length in (1, 2):
            if why := _PLACES.get(tuple(parts[start : start + length])):
                return why
    return "holds what decides what clio does" if tuple(parts[-1:]) in _HOLDERS else ""
