"""Gathers the facts of the running session for the status line. Looked at for every frame, so it only looks."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clio.agent.events import Event, StepFinished, StepStarted
from clio.config.schema import Config
from clio.providers.base import AUTO, OFFLINE
from clio.ui.footer.facts import Facts
from clio.ui.footer.git_branch import GitBranch

if TYPE_CHECKING:
    from clio.commands.command import Shell
    from clio.sessions.session import Session


class SessionFacts:
    """shell_of: None until it is loaded; `config` is shown meanwhile."""

    def __init__(self, config: Config, project: Path, shell_of: "Callable[[], Shell | None]") -> None:
        self.work = ""
        """What goes on in the background, such as "indexing 40 %"."""
        self._config = config
        self._shell_of = shell_of
        self._branch = GitBranch(project)
        self._session_id = ""
        self._asked_tokens = 0
        self._billed_tokens = 0
        self._bills = 0

    def hear(self, event: Event) -> None:
        """Follow the loop's events: they tell how full the window is."""
        if (shell := self._shell_of()) is not None:
            self._follow(shell.session)  # first: a turn may be over before the line is drawn once
        if isinstance(event, StepStarted):
            self._asked_tokens = event.prompt_tokens
        elif isinstance(event, StepFinished) and event.usage is not None and event.usage.prompt_tokens:
            self._asked_tokens = event.usage.prompt_tokens + event.usage.completion_tokens

    def facts(self) -> Facts:
        """How things are now."""
        shell = self._shell_of()
        if shell is None:
            silent = "incognito" if self._config.incognito else ""
            held = "sandbox" if self._config.sandbox != "off" else ""
            return Facts(model=self._config.model or "", mode=self._config.approve, sandbox=held, silent=silent)
        from clio.commands.style_commands import style_word
        from clio.ui.footer.todo_view import active_words

        self._follow(shell.session)
        window = shell.context.limits.context_window if shell.context is not None else 0
        silent = "incognito" if shell.config.incognito else "memory off" if shell.memory.is_off else ""
        return Facts(
            model=shell.answering.model,
            effort=_effort(shell),
            mode=shell.policy.mode,
            sandbox=shell.sandbox.word,
            silent=silent,
            context=self._asked_tokens / window if window and self._asked_tokens else None,
            todo=active_words(shell.session.todos),
            work=self.work,
            branch=self._branch.name,
            cost=_money(shell),
            tokens=self._billed_tokens,
            style=style_word(shell),
            name=shell.session.name or "",
        )

    def parts(self) -> tuple[str, ...]:
        """The facts for the line, most important first."""
        return self.facts().parts

    def spoken(self) -> tuple[str, ...]:
        """The same in words."""
        return self.facts().spoken

    def _follow(self, session: "Session") -> None:
        """Count the bills that came since; another session begins anew."""
        if session.id != self._session_id:
            self._session_id = session.id
            self._asked_tokens = self._billed_tokens = self._bills = 0
        bills = session.bills
        for bill in bills[self._bills :]:
            self._billed_tokens += bill.prompt_tokens + bill.completion_tokens
        self._bills = len(bills)


def _effort(shell: "Shell") -> str:
    """The effort the model is asked with; "" where that is left to its server, or there is no model."""
    effort = shell.efforts.effort_of(shell.provider.model)
    return "" if effort == AUTO or shell.provider.name == OFFLINE else effort


def _money(shell: "Shell") -> str:
    """What the session cost; "" where it cost nothing, or nobody knows."""
    cost = shell.spending.of_session(shell.session)
    return cost.text if cost is not None and cost.micro_dollars else ""
