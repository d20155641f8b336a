"""What /review is about: a range, what is staged, some files, or all that is not committed."""

import os
from collections.abc import Sequence

from clio.commands.called import Meaning
from clio.commands.command import Shell
from clio.errors import UsageError, UserError
from clio.git.commits import format_count, format_stat
from clio.git.diffs import Difference, diff_between, diff_staged, diff_unstaged, fit_diff, get_empty_tree
from clio.git.repository import RepositoryState, read_state, run_git

_CHARS_PER_TOKEN = 2.5  # diffs are short words and signs
_SHARE = 4
"""Of the window, for the change itself: the files around it are to be read, too."""
_MOST_TOKENS = 24_000
_MOST_FILES = 200


def review_meaning(shell: Shell, words: Sequence[str], *, staged_only: bool, window_tokens: int) -> Meaning:
    """The request a review is. Raises UserError where there is nothing to look at, or a word means nothing."""
    state = read_state(shell.loaded.project)
    what, difference = _difference(state, words, staged_only=staged_only)
    if not difference.text.strip():
        raise UserError(f"there is nothing to review: {what} changes nothing")
    budget_tokens = min(_MOST_TOKENS, window_tokens // _SHARE)
    listed = [f"{count.path} {format_count(count)}" for count in difference.counts[:_MOST_FILES]]
    more = len(difference.counts) - len(listed)
    files = "\n".join([*listed, *([f"and {more:,} more"] if more > 0 else [])])
    head = f"To review: {what} ({format_stat(difference.counts)})\n{files}"
    room = max(int(budget_tokens * _CHARS_PER_TOKEN) - len(head) - 600, 1_000)
    fitted = fit_diff(shell.redactor.redact(difference.text).text, room)
    note = (
        f"\n\nOf the diff {fitted.left_out}, marked where they are. Look at what is missing with the git tool "
        "(operation diff or show, with path), as far as it matters, and say what you did not look at."
        if not fitted.whole
        else ""
    )
    return Meaning(
        text=f"{head}\n\n{fitted.text}{note}",
        source=f"git, {what}",
        tools=(),
        lead="context/review",
        cap_tokens=_MOST_TOKENS,
    )


def _difference(state: RepositoryState, words: Sequence[str], *, staged_only: bool) -> tuple[str, Difference]:
    if staged_only:
        if words:
            raise UsageError("/review --staged takes no further words: what is staged is looked at as a whole")
        return "what is staged", diff_staged(state)
    revisions = [word for word in words if _is_revision(state, word)]
    paths = [word for word in words if word not in revisions]
    if len(revisions) > 2:
        raise UsageError(f"/review takes one range, such as main..HEAD, not {len(revisions)} revisions")
    for path in paths:
        if path.startswith("-"):
            raise UsageError(f"/review does not know {path!r}; it takes a range, --staged, or files")
        if not os.path.lexists(state.root / state.prefix / path) and not _was_tracked(state, path):
            raise UserError(f"{path!r} is no revision git knows and no file here; give main..HEAD, --staged, or a file")
    if not revisions:
        return _open_work(state, paths)
    span = revisions if len(revisions) > 1 or ".." in revisions[0] else [f"{revisions[0]}^!"]
    if span[0].endswith("^!") and not _has_parent(state, revisions[0]):
        span = [get_empty_tree(state.root), revisions[0]]
    return " ".join([*revisions, *paths]), diff_between(
        state.root, *span, paths=[state.prefix + path for path in paths]
    )


def _open_work(state: RepositoryState, paths: Sequence[str]) -> tuple[str, Difference]:
    """All that is not committed below the project's folder, staged or not; where paths are given, only theirs."""
    folders = [f"{state.prefix}{path}".rstrip("/") for path in paths]
    files = [
        file
        for file in state.files
        if not file.inside
        and file.path.startswith(state.prefix)
        and (not folders or any(file.path == one or file.path.startswith(f"{one}/") for one in folders))
    ]
    what = ", ".join(paths) or "what is not committed"
    return what, diff_unstaged(state, files) if files else Difference(text="", counts=())


def _is_revision(state: RepositoryState, word: str) -> bool:
    """Whether git takes the word for commits: a branch, a hash, a range; a file of that name goes before."""
    if word.startswith("-") or (".." not in word and os.path.lexists(state.root / state.prefix / word)):
        return False
    try:
        run_git(state.root, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{word}^{{commit}}")
    except UserError:
        ends = word.replace("...", "..").split("..")
        return len(ends) == 2 and all(not end or _is_revision(state, end) for end in ends)
    return True


def _was_tracked(state: RepositoryState, path: str) -> bool:
    return any(file.path == f"{state.prefix}{path}" for file in state.files)


def _has_parent(state: RepositoryState, revision: str) -> bool:
    try:
        run_git(state.root, "rev-parse", "--quiet", "--verify", f"{revision}^")
    except UserError:
        return False
    return True
