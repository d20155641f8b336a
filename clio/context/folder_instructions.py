"""What the files of single folders say to agents, told when work reaches the folder.

The prompt never changes in a session, so what holds for `packages/api/` comes below the result of the first call that
reads or changes a file there, and again after a trim, which may have let go of it.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from clio.context.fragments import render_fragment
from clio.context.instruction_files import InstructionFile, Reader, folders_between, repository_above
from clio.context.instructions import WINDOW_SHARE
from clio.fragments import Fragment
from clio.git_looking import answer
from clio.prompt_files import fill_prompt
from clio.security.actions import Action, ChangeFiles, ReadFiles
from clio.tokens import TokenEstimator

CAP_TOKENS = 2_000
"""Of what one call tells, all folders together."""
_OTHERS = frozenset("node_modules site-packages .venv venv .git .clio".split())
"""Folders of other people's work, whose instructions are not meant for this."""
_ANY_FILE = "clio-any-file"
"""Stands for whatever else may be in a folder: where git ignores it, git ignores the folder's files."""
_GIT_TIMEOUT_S = 5
_TAG = "folder_instructions"
_REASON = "the folder's instructions to agents"


class FolderInstructions:
    """Tells each folder's instructions once, but for those from the project down to `start`, which the prompt holds.

    Of a folder that git ignores and of a dependency's nothing is told. clean: replaces secrets.
    links: the places outside of the project that its links may lead to.
    """

    def __init__(
        self,
        project: Path,
        person: Path,
        estimator: TokenEstimator,
        *,
        start: Path | None = None,
        clean: Callable[[str], str] = str,
        window_tokens: int = WINDOW_SHARE * CAP_TOKENS,
        links: Sequence[Path] = (),
    ) -> None:
        self._links = links
        self._project = project
        self._top = repository_above(project)
        self._person = person
        self._estimator = estimator
        self._known = set(folders_between(project, start or project))
        self._clean = clean
        self._cap_tokens = min(CAP_TOKENS, window_tokens // WINDOW_SHARE)
        self._lock = threading.Lock()
        self._told: set[Path] = set()
        self._silent: set[Path] = set()

    def forget(self) -> None:
        """After a trim: what was told may have left the window."""
        self._told.clear()

    def note(self, action: Action) -> str:
        """What is to be said below the result of this action; "" for nearly all. Reads files."""
        paths = _paths(action)
        folders = {folder for path in paths for folder in self._folders_of(path)} - self._known - self._silent
        if not folders:
            return ""
        with self._lock:  # calls that only read run side by side
            files = [file for folder in sorted(folders - self._told) for file in self._new_in(folder)]
        told = self._rendered([file for file in files if file.path not in paths])
        return "\n".join([fill_prompt("context/folder_instructions"), *told]) if told else ""

    def _new_in(self, folder: Path) -> list[InstructionFile]:
        files = list(Reader(self._top, self._project, self._person, self._links).of_folder(folder))
        if not files or self._is_in_ignored_folder(files[0].path):
            self._silent.add(folder)
            return []
        self._told.add(folder)
        return files

    def _rendered(self, files: Sequence[InstructionFile]) -> list[str]:
        """From the farthest to the nearest, of which the nearest have the room."""
        rendered: list[str] = []
        left = self._cap_tokens
        for file in reversed(files):
            if left > 0:
                text = self._clean(file.text)
                part = Fragment(name=_TAG, text=text, source=file.source, reason=_REASON, cap_tokens=left)
                rendered.append(render_fragment(part, self._estimator))
                left -= self._estimator.text(text)
            else:
                rendered.append(f"There was no room for {file.source}; read it before you work there.")
        return rendered[::-1]

    def _folders_of(self, path: Path) -> Iterator[Path]:
        """The folders below the project's that hold the path, and the path itself, which may be one."""
        if path.is_relative_to(self._project) and not _OTHERS & set(path.relative_to(self._project).parts):
            yield from takewhile(lambda folder: folder != self._project, (path, *path.parents))

    def _is_in_ignored_folder(self, path: Path) -> bool:
        """Whether git ignores the file together with all else of its folder.

        A file that is ignored by its own name in a folder that is not is the user's own instruction, kept out of the
        repository. Without git nothing is ignored.
        """
        if not (self._top / ".git").exists():
            return False
        paths = (str(path), str(path.with_name(_ANY_FILE)))
        asked = "".join(f"{one}\0" for one in paths)
        listed = answer(self._project, "check-ignore", "-z", "--stdin", timeout_s=_GIT_TIMEOUT_S, given=asked) or ""
        return listed.count("\0") == len(paths)


def _paths(action: Action) -> tuple[Path, ...]:
    match action:
        case ReadFiles(paths=paths):
            return paths
        case ChangeFiles(changes=changes):
            return tuple(change.path for change in changes)
        case _:
            return ()
