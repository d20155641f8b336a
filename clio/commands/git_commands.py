"""/commit, /review and /pr: describe, review and commit changes with git."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from clio.agent.model_request import SideQuestion
from clio.commands.arguments import parse_options
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    ExpandedCommand,
    GitTask,
    RunExpandedCommand,
    Suggestion,
    make_refusal,
    quote_code,
)
from clio.errors import ProviderError, UsageError, UserError
from clio.git.commits import (
    CommitDiff,
    FittedDiff,
    diff_between,
    diff_staged,
    diff_unstaged,
    extract_message,
    fit_diff,
    format_line_counts,
    format_stat,
    get_empty_tree,
    is_conventional,
    read_text,
    truncate_subject,
)
from clio.git.repository import RepositoryState, read_state, run_git
from clio.messages import Message, UserMessage
from clio.prompt_files import load_prompt
from clio.providers.base import NO_MODEL, OFFLINE
from clio.storage.files import write_atomic
from clio.text.translation import english, mark, tr, tr_count

MAX_DIFF_CHARS = 30_000
_MAX_PROMPT_FILES = 100  # files named in a request; the others are counted
_MAX_QUOTED_REQUESTS = 3  # user requests quoted as the task of a commit
_MAX_REQUEST_CHARS = 600

Redact = Callable[[str], str]


def quote_latest_requests(messages: Sequence[Message]) -> list[str]:
    """Return the user's latest requests in a session, oldest first, each shortened to one line."""
    # Only text that the user typed: a commit message must not quote clio's notes or the contents of files.
    said = [one.content for one in messages if isinstance(one, UserMessage) and one.origin == "user"]
    words = [" ".join(text.split()) for text in said if text.strip() and not text.startswith("/")]
    return [text[:_MAX_REQUEST_CHARS] for text in words[-_MAX_QUOTED_REQUESTS:]]


def build_commit_prompt(
    difference: CommitDiff,
    *,
    task: Sequence[str],
    subjects: Sequence[str],
    words: str = "",
    template: str = "",
    before: str = "",
    redact: Redact,
) -> str:
    """Build the request for a commit message.

    Args:
        subjects: first lines of earlier commits.
        words: the user's instructions for the message.
        template: the repository's template.
        before: a message the user has rejected.
    """
    style = (
        'They follow Conventional Commits ("feat: …", "fix(scope): …"); so does the new one.'
        if is_conventional(subjects)
        else "Write in the same language and the same form."
    )
    parts = [
        *([f"The user's instructions for it: {words}"] if words else []),
        *([f"The user rejected this message:\n{before}"] if before else []),
        *([f"First lines of earlier commits:\n{_format_list(subjects)}\n{style}"] if subjects else []),
        *([f"The repository's template for messages:\n{template}"] if template else []),
        *([f"The user's requests in the conversation, latest last:\n{_format_list(task)}"] if task else []),
        _format_files(difference),
        # Redacted before it is shortened: a secret that is cut in half would not be recognized any more.
        render_fitted_diff(fit_diff(redact(difference.text), MAX_DIFF_CHARS)),
    ]
    # Once more as a whole: file names and earlier commits may contain secrets too.
    return redact("\n\n".join(parts))


def build_pr_prompt(
    difference: CommitDiff,
    commits: Sequence[str],
    *,
    task: Sequence[str],
    redact: Redact,
) -> str:
    """Build the request for a pull request's title and description. commits: their messages, oldest first."""
    parts = [
        f"The commits, oldest first:\n{_format_list(commits)}",
        *([f"The user's requests in the conversation, latest last:\n{_format_list(task)}"] if task else []),
        _format_files(difference),
        render_fitted_diff(fit_diff(redact(difference.text), MAX_DIFF_CHARS)),
    ]
    return redact("\n\n".join(parts))


def render_fitted_diff(fitted: FittedDiff) -> str:
    """Return a truncated diff with a sentence on what is missing."""
    missing = "" if fitted.is_complete else f", of which {fitted.omission}"
    return f"The diff{missing}:\n{fitted.text}"


def _format_files(difference: CommitDiff) -> str:
    lines = [f"{count.path} {format_line_counts(count)}" for count in difference.counts[:_MAX_PROMPT_FILES]]
    more = len(difference.counts) - len(lines)
    return "Files:\n" + "\n".join([*lines, *([tr("and {more:,} more", more=more)] if more > 0 else [])])


def _format_list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


_CHARS_PER_TOKEN = 2.5  # diffs consist of short words and symbols
_WINDOW_SHARE = 4
"""The change may take a quarter of the window: the files around it are read, too."""
_MAX_REVIEW_TOKENS = 24_000
_MAX_REVIEW_FILES = 200


def expand_review(
    ctx: CommandContext, words: Sequence[str], *, staged_only: bool, window_tokens: int
) -> ExpandedCommand:
    """Return the request of a review. Raises UserError if there is no change to review, or for an unknown argument."""
    state = read_state(ctx.loaded.project)
    what, difference = _find_difference(state, words, staged_only=staged_only)
    if not difference.text.strip():
        raise UserError(tr("there is nothing to review in {what}", what=what))
    budget_tokens = min(_MAX_REVIEW_TOKENS, window_tokens // _WINDOW_SHARE)
    listed = [f"{count.path} {format_line_counts(count)}" for count in difference.counts[:_MAX_REVIEW_FILES]]
    more = len(difference.counts) - len(listed)
    files = "\n".join([*listed, *([f"and {more:,} more"] if more > 0 else [])])
    head = f"To review: {english(what)} ({format_stat(difference.counts)})\n{files}"
    room = max(int(budget_tokens * _CHARS_PER_TOKEN) - len(head) - 600, 1_000)
    fitted = fit_diff(ctx.redactor.redact(difference.text).text, room)
    note = (
        (
            "\n"
            "\n"
            f"Of the diff {fitted.omission}, marked where they are. Look at the missing parts with the git "
            "tool (operation diff or show, with path) where they matter, and say which parts you did "
            "not review."
        )
        if not fitted.is_complete
        else ""
    )
    return ExpandedCommand(
        text=f"{head}\n\n{fitted.text}{note}",
        source=f"git, {what}",
        tools=(),
        lead_prompt="context/review",
        cap_tokens=_MAX_REVIEW_TOKENS,
    )


def _find_difference(state: RepositoryState, words: Sequence[str], *, staged_only: bool) -> tuple[str, CommitDiff]:
    if staged_only:
        if words:
            raise UsageError(tr("/review --staged takes no argument: it reviews all staged changes"))
        return tr("the staged changes"), diff_staged(state)
    revisions = [word for word in words if _is_revision(state, word)]
    paths = [word for word in words if word not in revisions]
    if len(revisions) > 2:
        raise UsageError(tr("/review takes one range, such as main..HEAD, not {count} revisions", count=len(revisions)))
    for path in paths:
        if path.startswith("-"):
            raise UsageError(tr("/review: unknown argument {path!r}; it takes a range, --staged, or files", path=path))
        if not os.path.lexists(state.root / state.prefix / path) and not _was_tracked(state, path):
            raise UserError(
                tr("{path!r} is neither a revision nor a file; give main..HEAD, --staged, or a file", path=path)
            )
    if not revisions:
        return _diff_uncommitted(state, paths)
    # A single commit means its own changes; `git diff COMMIT` would compare it with the working tree.
    span = revisions if len(revisions) > 1 or ".." in revisions[0] else [f"{revisions[0]}^!"]
    if span[0].endswith("^!") and not _has_parent(state, revisions[0]):
        # The first commit has no parent to compare with.
        span = [get_empty_tree(state.root), revisions[0]]
    return " ".join([*revisions, *paths]), diff_between(
        state.root, *span, paths=[state.prefix + path for path in paths]
    )


def _diff_uncommitted(state: RepositoryState, paths: Sequence[str]) -> tuple[str, CommitDiff]:
    """Return all uncommitted changes below the project's directory, staged or not; with paths, only theirs."""
    folders = [f"{state.prefix}{path}".rstrip("/") for path in paths]
    files = [
        file
        for file in state.files
        if not file.is_submodule_dirty
        and file.path.startswith(state.prefix)
        and (not folders or any(file.path == one or file.path.startswith(f"{one}/") for one in folders))
    ]
    what = ", ".join(paths) or tr("the uncommitted changes")
    return what, diff_unstaged(state, files) if files else CommitDiff(text="", counts=())


def _is_revision(state: RepositoryState, word: str) -> bool:
    """Whether git resolves the word to commits: a branch, a hash, a range; an existing file takes precedence."""
    if word.startswith("-") or (".." not in word and os.path.lexists(state.root / state.prefix / word)):
        return False
    try:
        # A word that begins with a dash must not be taken for an option of git.
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


MAX_COMMITS = 100
_MAX_ANSWER_TOKENS = 2_000
_USUAL_BASES = ("main", "master", "trunk", "develop")
_TEMPLATES = (".github/pull_request_template.md", ".github/PULL_REQUEST_TEMPLATE.md", "docs/pull_request_template.md")


async def describe_branch(ctx: CommandContext, base: str, file: str) -> CommandResult:
    """Describe a branch for a pull request. base: "" selects the most likely target branch. file: "" shows the text.

    Raises UserError if there is nothing to describe, or the file exists already.
    """
    project = ctx.loaded.project
    # Before the model is asked, so that no request is paid for a text that cannot be saved.
    target = _check_target_file(project, file) if file else None
    found = await asyncio.to_thread(_collect_branch_changes, project, base)
    text, note, notices = await _write_description(ctx, found)
    text = ctx.redactor.redact(text).text
    number = len(found.commits)
    since = tr("{commits} since {base}", commits=tr_count(number, "commit"), base=found.base)
    summary = " ".join([f"{since}, {format_stat(found.difference.counts)}{note}.", *(f"{one}." for one in notices)])
    if target is None:
        return CommandResult(text=summary, verbatim=text, copy=text, data={"base": found.base, "text": text})
    await asyncio.to_thread(write_atomic, target, f"{text}\n".encode(), 0o644)
    return CommandResult(
        text=tr("{summary} Written to {file}.", summary=summary, file=quote_code(file)),
        data={"base": found.base, "file": str(target)},
    )


class _BranchChanges:
    """The changes of a branch. commits: their messages, oldest first."""

    def __init__(self, base: str, commits: Sequence[str], difference: CommitDiff, template: str) -> None:
        self.base = base
        self.commits = commits
        self.difference = difference
        self.template = template


def _collect_branch_changes(project: Path, wanted: str) -> _BranchChanges:
    state = read_state(project)
    if state.has_no_commit:
        raise UserError(tr("there is no commit yet, so there is nothing to describe; /commit creates one"))
    base = wanted or _find_base(state.root, state.branch)
    start = _find_merge_base(state.root, base)
    # Signatures are not shown, because that starts gpg; %x00 separates messages that contain blank lines.
    messages = run_git(state.root, "log", "--reverse", "--no-merges", "--no-show-signature", "--format=%B%x00",
                   f"--max-count={MAX_COMMITS}", f"{start}..HEAD", "--")  # fmt: skip
    commits = [one.strip() for one in messages.split("\0") if one.strip()]
    if not commits:
        here = state.branch or "HEAD"
        raise UserError(
            tr(
                "{here} has no commit that {base} does not have; commit first, or name another base: /pr BRANCH",
                here=here,
                base=base,
            )
        )
    template = next(filter(None, (read_text(state.root / name, state.root) for name in _TEMPLATES)), "")
    return _BranchChanges(base, commits, diff_between(state.root, start, "HEAD"), template)


def _find_base(root: Path, branch: str) -> str:
    """Return the remote's default branch, else a usual name other than this branch.

    Raises UserError if there is none.
    """
    # Set by `git clone`; a repository without a remote does not have it.
    named = run_git(root, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD", accepted_codes=(1,))
    candidates = [*([named] if named else []), *(f"origin/{name}" for name in _USUAL_BASES), *_USUAL_BASES]
    for name in candidates:
        if name != branch and run_git(
            root, "rev-parse", "--quiet", "--verify", f"{name}^{{commit}}", accepted_codes=(1,)
        ):
            return name
    raise UserError(tr("the target branch is not clear; name it: /pr BRANCH"))


def _find_merge_base(root: Path, base: str) -> str:
    if base.startswith("-") or not run_git(
        root, "rev-parse", "--quiet", "--verify", f"{base}^{{commit}}", accepted_codes=(1, 128)
    ):
        raise UserError(
            tr("{base!r} is not a branch or commit of this repository; `git branch -a` lists the branches", base=base)
        )
    start = run_git(root, "merge-base", base, "HEAD", accepted_codes=(1,))
    if not start:
        raise UserError(tr("{base} and this branch have no commit in common; name another base: /pr BRANCH", base=base))
    return start.splitlines()[0]


async def _write_description(ctx: CommandContext, found: _BranchChanges) -> tuple[str, str, list[str]]:
    """Return the text, a note on how it was made, and the changes needed for the server to accept the request."""
    if ctx.provider.name == OFFLINE:
        return _describe_without_model(found), tr(", without a model: {no_model}", no_model=tr(NO_MODEL)), []
    prompt = build_pr_prompt(
        found.difference,
        found.commits,
        # Requests in a session that came with the repository are not the user's.
        task=quote_latest_requests(ctx.session.messages[ctx.session.own_from :]),
        redact=lambda text: ctx.redactor.redact(text).text,
    )
    if found.template:
        prompt += f"\n\nThe repository's template for the description; keep its headings:\n{found.template[:4000]}"
    notices: list[str] = []
    # Outside the conversation, so that the session's prompt cache stays whole and the model has no tools.
    side = SideQuestion(
        lambda: ctx.light_provider,
        asyncio.get_running_loop(),
        ctx.spending,
        ctx.efforts.get_effort,
        tell=notices.append,
    )
    try:
        answer = await side.answer(prompt, system=load_prompt("git/pr"), max_tokens=_MAX_ANSWER_TOKENS)
    except ProviderError as error:
        return _describe_without_model(found), tr(", without a model: {error}", error=error), notices
    text = extract_message(answer)
    if not text:
        return _describe_without_model(found), tr(", without a model: it gave no answer"), notices
    return text, "", notices


def _describe_without_model(found: _BranchChanges) -> str:
    """Return the commits' first lines and the files, without a model."""
    subjects = [message.partition("\n")[0] for message in found.commits]
    title = subjects[0] if len(subjects) == 1 else f"{subjects[-1]}"
    body = found.commits[0].partition("\n")[2].strip() if len(found.commits) == 1 else ""
    files = [f"- `{count.path}` ({format_line_counts(count)})" for count in found.difference.counts[:50]]
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
            *([tr("- and {more:,} more", more=more)] if more > 0 else []),
        ]
    )


def _check_target_file(project: Path, file: str) -> Path:
    """Return the path to write. Raises UserError if it exists, or its directory is missing."""
    path = project / Path(file).expanduser()
    if path.exists():
        raise UserError(tr("{file!r} already exists; give another name, or delete it first", file=file))
    if not path.parent.is_dir():
        raise UserError(tr("the folder of {file!r} does not exist; create it first, or give another name", file=file))
    return path


_STAGED, _FILE = "--staged", "--file"


def start_commit(ctx: CommandContext, argument: str) -> CommandResult:
    """Commit what is staged, or what the session changed, after the user has seen the message."""
    return CommandResult(follow_up=GitTask(kind="commit", instructions=argument.strip()))


def start_pull_request(ctx: CommandContext, argument: str) -> CommandResult:
    """Write title and text of a pull request for this branch."""
    given = parse_options(argument, valued=(_FILE,))
    if len(given.words) > 1:
        return make_refusal(
            tr("/pr takes one branch to compare with, not {count}; for example /pr main", count=len(given.words))
        )
    base = given.words[0] if given.words else ""
    return CommandResult(follow_up=GitTask(kind="pr", instructions=base, file=given.options.get(_FILE, "")))


def start_review(ctx: CommandContext, argument: str) -> CommandResult:
    """Review a diff in a read-only turn."""
    given = parse_options(argument, switches=(_STAGED,))

    async def make() -> ExpandedCommand:
        limits = await ctx.provider.limits()
        work = partial(
            expand_review,
            ctx,
            tuple(given.words),
            staged_only=_STAGED in given.options,
            window_tokens=limits.context_window,
        )
        return await asyncio.to_thread(work)

    return CommandResult(follow_up=RunExpandedCommand(line=f"/review {argument}".rstrip(), expand=make))


def _suggest_branches(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the branches."""
    try:
        names = run_git(ctx.loaded.project, "for-each-ref", "--format=%(refname:short)", "--count=200", "refs/heads")
    except UserError:
        return ()
    return (Suggestion(text=name) for name in names.splitlines())


def _suggest_review_arguments(ctx: CommandContext) -> Iterable[Suggestion]:
    yield Suggestion(text=_STAGED, note=tr("the staged changes"))
    for branch in _suggest_branches(ctx):
        yield Suggestion(text=f"{branch.text}..HEAD", note=tr("the changes since {text}", text=branch.text))


GIT = (
    Command(
        name="commit",
        argument="[TEXT]",
        summary=mark("commit the staged changes, or this session's; shows the message first"),
        handler=start_commit,
        is_overridable=True,
    ),
    Command(
        name="review",
        argument="[RANGE | --staged | FILE ...]",
        summary=mark("review uncommitted changes or a range of commits; read-only"),
        handler=start_review,
        suggest=_suggest_review_arguments,
        is_overridable=True,
    ),
    Command(
        name="pr",
        argument="[BASE] [--file PATH]",
        summary=mark("write title and text of a pull request for this branch; pushes nothing"),
        handler=start_pull_request,
        is_overridable=True,
        suggest=_suggest_branches,
    ),
)
