"""One decision of a person on one call: what it would do is shown, and a key says what becomes of it."""

from collections.abc import Iterator, Mapping, Sequence

from rich.padding import Padding
from rich.text import Text

from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.ui.asking.describe import Display
from clio.ui.asking.desk import Desk
from clio.ui.asking.hunk_walk import walk_hunks
from clio.ui.asking.proposal import Proposal
from clio.ui.asking.proposal_editor import edit_proposal
from clio.ui.painter import Part
from clio.ui.plain import clean_line
from clio.ui.spelling import spell_out_line

MAX_ROWS = 30
"""Rows that are printed without asking; more are scrolled over."""
KEPT_ROWS = 20
"""Rows of what was scrolled over that stay in the scrollback."""
_BELOW = 4


class Decision:
    """On a call that is done as it is or not at all."""

    def __init__(self, desk: Desk, request: ApprovalRequest, display: Display) -> None:
        self._desk = desk
        self._request = request
        self._display = display

    async def take(self, guarded: bool) -> Answer:
        """Ask until there is an answer, and print it. guarded: see `Questions.key`."""
        head = list(_heading(self._request, self._desk))
        self._desk.say(head)
        body = self._desk.action(self._request.action, self._display)
        answer = await self._decide(body, self._desk.rows_of(head), guarded)
        self._desk.remark(self._said(answer))
        return answer

    async def _decide(self, body: Sequence[Text], above: int, guarded: bool) -> Answer:
        return await self._settle(await self._key(self._choices(), body, above, guarded=guarded))

    async def _settle(self, key: str | None) -> Answer:
        match key:
            case "y":
                return Answer("once")
            case "s":
                return Answer("session")
            case "a":
                return Answer("always")
            case "n":
                reason = await self._desk.questions.line("  why not (Enter for no reason): ")
                return Answer("no", clean_line(reason or ""), interrupted=reason is None)
            case _:
                return Answer("no", interrupted=True)

    def _choices(self) -> dict[str, str]:
        choices = {"y": "once", "s": "this session"}
        if self._request.verdict.rule is not None:
            choices["a"] = f"always {spell_out_line(self._request.verdict.rule)}"
        return choices | {"n": "no"}

    def _said(self, answer: Answer) -> str:
        """The answer as it stays in the scrollback."""
        match answer.kind:
            case "once":
                return "allowed once"
            case "session":
                return "allowed for this session"
            case "always":
                return f"always allowed: {spell_out_line(self._request.verdict.rule or '')}"
            case "changed":
                return "allowed as changed"
            case "no":
                return f"no: {answer.reason}" if answer.reason else "no"

    async def _key(
        self, choices: Mapping[str, str], body: Sequence[Text], above: int, *, guarded: bool = False
    ) -> str | None:
        """Show the body and ask. What is too long is scrolled over, and only its beginning is kept.

        What will run can be approved only after its last row has been on the screen; a change, which can be undone,
        before as well.
        """
        desk, questions = self._desk, self._desk.questions
        room = max(desk.size()[1] - above - _BELOW, 1) if questions.live else MAX_ROWS
        if desk.fits(body, min(room, MAX_ROWS)):
            desk.say(body)
            return await questions.key(choices, guarded=guarded)
        yes: frozenset[str] = (
            frozenset() if isinstance(self._request.action, ChangeFiles) else frozenset(choices) - {"n"}
        )
        if not questions.live:
            desk.say(desk.excerpt(body, MAX_ROWS, ", d shows all"))
        page = desk.page(body) if questions.live else None
        offered = choices if questions.live else {key: choices[key] for key in choices if key not in yes}
        key = await questions.key({**offered, "d": "show all"}, guarded=guarded, page=page, above=above, after_end=yes)
        if key == "d":
            desk.say(body)
            return await questions.key(choices)
        if questions.live:
            desk.say(desk.excerpt(body, KEPT_ROWS))
        return key


class ChangeDecision(Decision):
    """On changes of files, which may be allowed in part or in the person's own version."""

    def __init__(self, desk: Desk, request: ApprovalRequest, display: Display, action: ChangeFiles) -> None:
        super().__init__(desk, request, display)
        self._proposal = Proposal(action)

    async def _decide(self, body: Sequence[Text], above: int, guarded: bool) -> Answer:
        proposal, desk = self._proposal, self._desk
        key = await self._key(self._choices(), body, above, guarded=guarded)
        while key == "e":
            if await edit_proposal(desk, proposal, self._display):
                head = [Part(body=Text("  your version:", desk.theme.strong))]
                desk.say(head)
                body = desk.changes(proposal.changes, self._display)
                key = await self._key(self._choices(), body, desk.rows_of(head))
            else:
                key = await desk.questions.key(self._choices())
        answer: Answer | None = None
        if key == "y":
            answer = proposal.whole()
        elif key == "h":
            answer = await walk_hunks(desk, proposal, self._display)
            key = "n"  # nothing was wanted: the model may be told why
        return answer or await self._settle(key)

    def _choices(self) -> dict[str, str]:
        choices = super()._choices()
        if self._proposal.is_edited:  # a yes is to this version only
            choices = {"y": "this version", "n": "no"} if self._proposal.changes_anything else {"n": "no"}
        if self._proposal.editable:
            choices["e"] = "edit"
        if self._proposal.has_pieces:
            choices["h"] = "by hunks"
        return choices

    def _said(self, answer: Answer) -> str:
        return self._proposal.said(answer) if answer.kind == "changed" else super()._said(answer)


def _heading(request: ApprovalRequest, desk: Desk) -> Iterator[Part]:
    verdict, theme = request.verdict, desk.theme
    risk = {"low": theme.good, "medium": theme.warning, "high": theme.bad}[verdict.risk]
    whole = not isinstance(request.action, RunCommand)  # a command stands below, every line of it
    yield desk.title(spell_out_line(request.title), f"{verdict.risk} risk", risk, whole=whole)
    if verdict.reason:
        reason = Text(spell_out_line(verdict.reason), theme.faint)
        yield Part(body=Padding(reason, (0, 0, 0, 2), expand=False))
