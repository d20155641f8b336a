"""/commit, /review and /pr: what lies in git put into words, looked at, and committed by the person's own hand."""

import asyncio
from collections.abc import Iterable
from functools import partial

from clio.commands.arguments import read
from clio.commands.called import MakePrompt, Meaning
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.follow_ups import GitWork
from clio.commands.git.review import review_meaning
from clio.commands.result import CommandResult, refuse
from clio.errors import UserError
from clio.git.repository import run_git

_STAGED, _FILE = "--staged", "--file"


def commit(shell: Shell, argument: str) -> CommandResult:
    """Commit what is staged, or what the session changed, with a message that is shown before."""
    return CommandResult(follow_up=GitWork(kind="commit", words=argument.strip()))


def describe(shell: Shell, argument: str) -> CommandResult:
    """The title and text of a pull request from this branch."""
    given = read(argument, valued=(_FILE,))
    if len(given.words) > 1:
        return refuse(f"/pr takes one branch to compare with, not {len(given.words)}; for example /pr main")
    base = given.words[0] if given.words else ""
    return CommandResult(follow_up=GitWork(kind="pr", words=base, file=given.options.get(_FILE, "")))


def review(shell: Shell, argument: str) -> CommandResult:
    """A turn that only reads, over a diff."""
    given = read(argument, switches=(_STAGED,))

    async def make() -> Meaning:
        limits = await shell.provider.limits()
        work = partial(
            review_meaning,
            shell,
            tuple(given.words),
            staged_only=_STAGED in given.options,
            window_tokens=limits.context_window,
        )
        return await asyncio.to_thread(work)

    return CommandResult(follow_up=MakePrompt(said=f"/review {argument}".rstrip(), make=make))


def _branches(shell: Shell) -> Iterable[Suggestion]:
    """The branches there are."""
    try:
        names = run_git(shell.loaded.project, "for-each-ref", "--format=%(refname:short)", "--count=200", "refs/heads")
    except UserError:
        return ()
    return (Suggestion(text=name) for name in names.splitlines())


def _review_words(shell: Shell) -> Iterable[Suggestion]:
    yield Suggestion(text=_STAGED, note="what is staged")
    for branch in _branches(shell):
        yield Suggestion(text=f"{branch.text}..HEAD", note=f"what {branch.text} does not have")


GIT = (
    Command(
        name="commit",
        argument="[WORDS]",
        summary="commit what is staged, or what this session changed; the message is shown before",
        handler=commit,
        yields=True,
    ),
    Command(
        name="review",
        argument="[RANGE | --staged | FILE ...]",
        summary="have a change looked at: what is not committed, or a range of commits; nothing is changed",
        handler=review,
        suggest=_review_words,
        yields=True,
    ),
    Command(
        name="pr",
        argument="[BASE] [--file PATH]",
        summary="title and text for a pull request of this branch; nothing is pushed",
        handler=describe,
        yields=True,
        suggest=_branches,
    ),
)
