"""A person decides about a plan: carry it out, and how; change it; or say what is wrong with it."""

from typing import Literal

from msgspec import Struct

from clio.config.schema import ApprovalMode
from clio.sessions.state import Todo
from clio.ui.asking.describe import MAX_ROWS
from clio.ui.asking.desk import Desk
from clio.ui.footer.status import plural
from clio.ui.plain import clean_line

_STAYS = "/plan shows it again, /plan off leaves plan mode"


class PlanAnswer(Struct, frozen=True, kw_only=True):
    """What a person said of a plan.

    "go": it is carried out in `mode`. "no": not like this; `reason` goes to the model, unless it is empty. "later": the
    plan and plan mode stay as they are.
    """

    kind: Literal["go", "edit", "no", "later"]
    mode: ApprovalMode = "ask"
    reason: str = ""


class PlanReviewer:
    """Shows a plan and asks for one key."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, todos: tuple[Todo, ...], before: ApprovalMode, width: int) -> PlanAnswer:
        """The person's answer; Esc and Ctrl-C mean "later". before: the mode "y" goes back to. width: in columns."""
        async with self._desk.suspended():
            rows = self._desk.todos(todos, width)
            hidden = len(rows) > MAX_ROWS
            heading = self._desk.title("plan", plural(len(todos), "item"))
            self._desk.say([heading, *(self._desk.excerpt(rows, MAX_ROWS, ", d shows all") if hidden else rows)])
            while True:
                key = await self._desk.questions.key(_choices(before, hidden), guarded=self._desk.is_typing())
                if key != "d":
                    break
                hidden = False
                self._desk.say(rows)
            answer = await self._answer(key, before)
            self._desk.remark(_said(answer))
        return answer

    async def _answer(self, key: str | None, before: ApprovalMode) -> PlanAnswer:
        match key:
            case "y":
                return PlanAnswer(kind="go", mode=before)
            case "a":
                return PlanAnswer(kind="go", mode="edits")
            case "e":
                return PlanAnswer(kind="edit")
            case "n":
                reason = await self._desk.questions.line("  what should be different (Enter for nothing): ")
                return PlanAnswer(kind="later") if reason is None else PlanAnswer(kind="no", reason=clean_line(reason))
            case _:
                return PlanAnswer(kind="later")


def _choices(before: ApprovalMode, hidden: bool) -> dict[str, str]:
    choices = {"y": f"carry it out, mode {before}"}
    if before == "ask":
        choices["a"] = "with edits allowed"
    choices |= {"e": "edit", "n": "no"}
    if hidden:
        choices["d"] = "show all"
    return choices


def _said(answer: PlanAnswer) -> str:
    """The answer as it stays in the scrollback."""
    match answer.kind:
        case "go":
            return f"approved, mode {answer.mode}"
        case "edit":
            return "in the editor"
        case "no":
            return f"no: {answer.reason}" if answer.reason else f"no; {_STAYS}"
        case "later":
            return f"later; {_STAYS}"
