"""What /pr gives: the title and the text of a pull request, from commits, diff and what was asked for."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from clio.agent.git_words import pr_prompt, task_of
from clio.agent.side_question import SideQuestion
from clio.commands.command import Shell
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult
from clio.errors import ProviderError, UserError
from clio.git.commits import extract_message, format_count, format_stat, read_text, truncate_subject
from clio.git.diffs import Difference, diff_between
from clio.git.repository import read_state, run_git
from clio.prompt_files import load_prompt
from clio.providers.base import OFFLINE
from clio.storage.files import write_atomic

MOST_COMMITS = 100
_ANSWER_TOKENS = 2_000
_USUAL = ("main", "master", "trunk", "develop")
_TEMPLATES = (".github/pull_request_template.md", ".github/PULL_REQUEST_TEMPLATE.md", "docs/pull_request_template.md")


async def describe_branch(shell: Shell, base: str, file: str) -> CommandResult:
    """The text, shown or written. base: "" for the branch this one most likely goes into. file: "" shows it.

    Raises UserError where there is nothing to describe, or the file is there already.
    """
    project = shell.loaded.project
    target = _target(project, file) if file else None
    found = await asyncio.to_thread(_collect, project, base)
    text, note, notices = await _text(shell, found)
    text = shell.redactor.redact(text).text
    number = len(found.commits)
    since = f"{number} commit{'s' * (number != 1)} since {found.base}"
    told = " ".join([f"{since}, {format_stat(found.difference.counts)}{note}.", *(f"{one}." for one in notices)])
    if target is None:
        return CommandResult(text=told, verbatim=text, copy=text, data={"base": found.base, "text": text})
    await asyncio.to_thread(write_atomic, target, f"{text}\n".encode(), 0o644)
    return CommandResult(text=f"{told} Written to {code(file)}.", data={"base": found.base, "file": str(target)})


class _Found:
    """What a branch holds. commits: their messages, oldest first."""

    def __init__(self, base: str, commits: Sequence[str], difference: Difference, template: str) -> None:
        self.base = base
        self.commits = commits
        self.difference = difference
        self.template = template


def _collect(project: Path, wanted: str) -> _Found:
    state = read_state(project)
    if state.unborn:
        raise UserError("there is no commit yet, so there is nothing to describe; /commit makes one")
    base = wanted or _base_of(state.root, state.branch)
    start = _merge_base(state.root, base)
    messages = run_git(state.root, "log", "--reverse", "--no-merges", "--no-show-signature", "--format=%B%x00",
                   f"--max-count={MOST_COMMITS}", f"{start}..HEAD", "--")  # fmt: skip
    commits = [one.strip() for one in messages.split("\0") if one.strip()]
    if not commits:
        here = state.branch or "HEAD"
        raise UserError(
            f"{here} has no commit that {base} does not have; commit first, or name another base: /pr BRANCH"
        )
    template = next(filter(None, (read_text(state.root / name, state.root) for name in _TEMPLATES)), "")
    return _Found(base, commits, diff_between(state.root, start, "HEAD"), template)


def _base_of(root: Path, branch: str) -> str:
    """The remote's own branch, else the usual name that is not this branch. Raises UserError where there is none."""
    named = run_git(root, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD", wrong=(1,))
    candidates = [*([named] if named else []), *(f"origin/{name}" for name in _USUAL), *_USUAL]
    for name in candidates:
        if name != branch and run_git(root, "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}", wrong=(1,)):
            return name
    raise UserError("which branch this one goes into is not clear; name it: /pr BRANCH")


def _merge_base(root: Path, base: str) -> str:
    if base.startswith("-") or not run_git(
        root, "rev-parse", "--quiet", "--verify", f"{base}^{{commit}}", wrong=(1, 128)
    ):
        raise UserError(f"{base!r} is no branch and no commit git knows here; `git branch -a` lists what there is")
    start = run_git(root, "merge-base", base, "HEAD", wrong=(1,))
    if not start:
        raise UserError(f"{base} and this branch have no commit in common; name another base: /pr BRANCH")
    return start.splitlines()[0]


async def _text(shell: Shell, found: _Found) -> tuple[str, str, list[str]]:
    """The text, a remark on how it came about, and how the request was changed so that the server took it."""
    if shell.provider.name == OFFLINE:
        return _by_rule(found), ", by rule: no model is there", []
    prompt = pr_prompt(
        found.difference,
        found.commits,
        task=task_of(shell.session.messages[shell.session.own_from :]),
        clean=lambda text: shell.redactor.redact(text).text,
    )
    if found.template:
        prompt += f"\n\nThe repository's template for the description; keep its headings:\n{found.template[:4_000]}"
    notices: list[str] = []
    side = SideQuestion(
        lambda: shell.light_provider,
        asyncio.get_running_loop(),
        shell.spending,
        shell.efforts.effort_of,
        tell=notices.append,
    )
    try:
        answer = await side.answer(prompt, system=load_prompt("git/pr"), max_tokens=_ANSWER_TOKENS)
    except ProviderError as error:
        return _by_rule(found), f", by rule: {error}", notices
    text = extract_message(answer)
    if not text:
        return _by_rule(found), ", by rule: the model gave no answer", notices
    return text, "", notices


def _by_rule(found: _Found) -> str:
    """The commits' first lines and the files."""
    subjects = [message.partition("\n")[0] for message in found.commits]
    title = subjects[0] if len(subjects) == 1 else f"{subjects[-1]}"
    body = found.commits[0].partition("\n")[2].strip() if len(found.commits) == 1 else ""
    files = [f"- `{count.path}` ({format_count(count)})" for count in found.difference.counts[:50]]
    more = len(found.difference.counts) - len(files)
    return "\n".join(
        [
            truncate_subject(title),
            "",
            *([body, ""] if body else []),
            *(["Commits:", "", *(f"- {subject}" for subject in subjects), ""] if len(subjects) > 1 else []),
            "Files:",
            "",
            *files,
            *([f"- and {more:,} more"] if more > 0 else []),
        ]
    )


def _target(project: Path, file: str) -> Path:
    """Where to write. Raises UserError where something is there, or the folder is missing."""
    path = project / Path(file).expanduser()
    if path.exists():
        raise UserError(f"{file!r} is there already; give another name, or delete it first")
    if not path.parent.is_dir():
        raise UserError(f"the folder of {file!r} does not exist; make it first, or give another name")
    return path
