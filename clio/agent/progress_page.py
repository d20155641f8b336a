"""How the work stands, as a page: written when messages leave the window, read when a trimmed session goes on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from clio.context.summary import ThreadSummary
from clio.errors import StorageError
from clio.memory.system import MemorySystem
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session
from clio.storage.locks import cause
from clio.tokens import TokenEstimator


class ProgressPage:
    """Of one session. project: whose git tells what was done. warn: says a sentence to the person."""

    def __init__(
        self,
        project: Path,
        session: Session,
        memory: MemorySystem,
        redactor: Redactor,
        *,
        now: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        self._project = project
        self._session = session
        self._memory = memory
        self._redactor = redactor
        self._now = now
        self._warn = warn

    def write(self, summary: ThreadSummary, task: str) -> None:
        """Note how the work stands; where that fails, the trim goes on all the same."""
        from clio.context.recovery_notes import checkpoint_text, git_activity

        self._memory.window_trimmed()
        git = git_activity(self._project)
        page = checkpoint_text(
            session=self._session.id,
            now=self._now(),
            summary=summary,
            todos=self._session.todos,
            task=task,
            git=git.text if git else "",
        )
        try:
            self._memory.write_progress(page)
        except (StorageError, OSError) as error:
            self._warn(f"the progress note was not written: {cause(error)}")

    async def recovery(self, estimator: TokenEstimator, budget_tokens: int) -> str:
        """What the model is told of it and of git, in at most so many tokens; secrets replaced."""
        from clio.context.recovery_notes import git_activity, recovery_note

        git = await asyncio.to_thread(git_activity, self._project)
        try:
            progress = self._memory.read_progress()
        except (StorageError, OSError):
            progress = ""  # the summary says most of it
        note = recovery_note(
            estimator=estimator,
            budget_tokens=budget_tokens,
            git=git,
            progress=progress,
            session=self._session.id,
            now=self._now(),
        )
        return self._redactor.redact(note).text
