"""What a person and a project ask of every agent, as fragments of the prompt."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.context.instruction_files import (
    OWN_FILE,
    InstructionFile,
    Reader,
    folders_between,
    repository_above,
)
from clio.fragments import Fragment

CAP_TOKENS = 4_000
"""Of one file."""
TOTAL_TOKENS = 10_000
"""Of all together, on any window."""
WINDOW_SHARE = 12
"""All together take at most this part of the window."""
_LEAST_TOKENS = 50


class Instructions(Struct, frozen=True, kw_only=True):
    """The files in the order in which they are read, the nearest last. problems: what was not read, and why."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[str, ...] = ()


def find_instructions(
    project: Path,
    *,
    person: Path,
    home: Path | None = None,
    start: Path | None = None,
    links: Sequence[Path] = (),
) -> Instructions:
    """What `~/.clio/instructions.md`, `.clio/instructions.md` and the files of the folders say, imports behind each.

    The folders are those from the repository's top down to where clio was started. person: the person's home folder.
    home: clio's own folder; None leaves the person's file out. start: a folder in the project; None for the project.
    links: the places outside of the project that its links may lead to.
    """
    personal = Reader(None, project, person)
    mine = list(personal.own(home / OWN_FILE.name)) if home else []
    top = repository_above(project)
    reader = Reader(top, project, person, links)
    files = [*mine, *reader.own(project / OWN_FILE)]
    inside = start if start is not None and start.is_relative_to(project) else project
    for folder in folders_between(top, inside):
        files.extend(reader.of_folder(folder))
    return Instructions(files=tuple(files), problems=(*personal.problems, *reader.problems))


def instruction_fragments(found: Instructions, window_tokens: int, count: Callable[[str], int]) -> list[Fragment]:
    """One fragment a file. Where there is not room for all, the nearest are whole and the farthest are cut or left out.

    The user's own file takes its place first, so that no project displaces it; its imports come after the project's.
    count: the tokens of a text.
    """
    left = min(TOTAL_TOKENS, window_tokens // WINDOW_SHARE)
    fragments: dict[int, Fragment] = {}
    nearest_first = sorted(range(len(found.files)), key=lambda at: (not _is_users_own(found.files[at]), -at))
    for at in nearest_first:
        cap = min(CAP_TOKENS, left)
        if cap < _LEAST_TOKENS:
            break
        file = found.files[at]
        fragments[at] = _fragment(file, cap)
        left -= min(count(file.text), cap)
    return [fragments[at] for at in sorted(fragments)]


def _is_users_own(file: InstructionFile) -> bool:
    return file.personal and not file.imported_by


def left_out(found: Instructions, fragments: Sequence[Fragment]) -> list[str]:
    """A sentence for each file there was no room for."""
    taken = {part.source for part in fragments}
    return [
        f"{file.source} was left out: instructions take at most {TOTAL_TOKENS:,} tokens, a twelfth of a small window"
        for file in found.files
        if file.source not in taken
    ]


def _fragment(file: InstructionFile, cap_tokens: int) -> Fragment:
    reason = "your own instructions to agents" if file.personal else "the project's instructions to agents"
    return Fragment(
        name="user_instructions" if file.personal else "project_instructions",
        text=file.text,
        source=file.source,
        reason=f"imported by {file.imported_by}" if file.imported_by else reason,
        cap_tokens=cap_tokens,
    )
