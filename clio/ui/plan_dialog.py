"""Show a proposed plan, and let the user accept it in an approval mode, or reject it."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from rich.text import Text

from clio.config.schema import ApprovalMode
from clio.sessions.state import Todo
from clio.text.translation import mark, tr, tr_count
from clio.ui.painter import Part
from clio.ui.prompt_io import MAX_UNSCROLLED_ROWS, PromptIO
from clio.ui.safe_text import clean_line

_LATER_HINT = mark("/plan shows it again, /plan off exits plan mode")


class PlanAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer to a plan.

    "go": carry it out in `mode`. "edit": open it in the editor. "no": decline it; `reason` is sent to the model unless
    it is empty. "later": leave the plan and plan mode unchanged.
    """

    kind: Literal["go", "edit", "no", "later"]
    mode: ApprovalMode = "ask"
    reason: str = ""


class PlanReviewer:
    """Shows a plan and asks for one key."""

    def __init__(self, prompt_io: PromptIO) -> None:
        self._prompt_io = prompt_io

    async def ask_about_plan(self, todos: tuple[Todo, ...], mode_before: ApprovalMode, width: int) -> PlanAnswer:
        """Return the user's answer; Esc and Ctrl-C mean "later".

        Args:
            mode_before: the approval mode that "y" returns to.
            width: available columns.
        """
        guarded = self._prompt_io.is_typing()
        async with self._prompt_io.suspended():
            rows = self._prompt_io.render_todos(todos, width)
            size = tr_count(len(todos), "item")
            heading = self._prompt_io.make_title("plan", size)
            if self._prompt_io.questions.is_live:
                key = await self._prompt_io.questions.ask_key(
                    _list_plan_choices(mode_before, hidden=False),
                    guarded=guarded,
                    page=self._prompt_io.make_page(rows),
                    head=self._prompt_io.render_head([heading]),
                    default="y",
                )
            else:
                key = await self._print_and_ask(heading, rows, mode_before)
            answer = await self._answer_for_key(key, mode_before)
            mark = {"go": "✓", "no": "✗"}.get(answer.kind, "")
            self._prompt_io.print_remark(_describe_plan_answer(answer, size), mark=mark)
        return answer

    async def _print_and_ask(self, heading: Part, rows: Sequence[Text], mode_before: ApprovalMode) -> str | None:
        hidden = len(rows) > MAX_UNSCROLLED_ROWS
        shown = self._prompt_io.render_excerpt(rows, MAX_UNSCROLLED_ROWS, tr(", d to show all")) if hidden else rows
        self._prompt_io.print_parts([heading, *shown])
        key = await self._prompt_io.questions.ask_key(_list_plan_choices(mode_before, hidden))
        if key == "d":
            self._prompt_io.print_parts(rows)
            key = await self._prompt_io.questions.ask_key(_list_plan_choices(mode_before, hidden=False))
        return key

    async def _answer_for_key(self, key: str | None, before: ApprovalMode) -> PlanAnswer:
        match key:
            case "y":
                return PlanAnswer(kind="go", mode=before)
            case "a":
                return PlanAnswer(kind="go", mode="edits")
            case "e":
                return PlanAnswer(kind="edit")
            case "n":
                question = tr("  what should change? (Enter to skip): ")
                reason = await self._prompt_io.questions.ask_line(question, erase=True)
                return PlanAnswer(kind="later") if reason is None else PlanAnswer(kind="no", reason=clean_line(reason))
            case _:
                return PlanAnswer(kind="later")


def _list_plan_choices(before: ApprovalMode, hidden: bool) -> dict[str, str]:
    choices = {"y": tr("yes, approval mode {before}", before=before)}
    if before == "ask":
        choices["a"] = tr("yes, and allow edits")
    choices |= {"e": tr("edit"), "n": tr("no")}
    if hidden:
        choices["d"] = tr("show all")
    return choices


def _describe_plan_answer(answer: PlanAnswer, size: str) -> str:
    """Return the answer as it is printed in the scrollback. size: such as "4 items"."""
    match answer.kind:
        case "go":
            return tr("plan of {size} approved, approval mode {mode}", size=size, mode=answer.mode)
        case "edit":
            return tr("plan of {size} opened in the editor", size=size)
        case "no":
            return (
                tr("plan of {size} declined: {reason}", size=size, reason=answer.reason)
                if answer.reason
                else tr("plan of {size} declined; {later_hint}", size=size, later_hint=tr(_LATER_HINT))
            )
        case "later":
            return tr("plan of {size} kept for later; {later_hint}", size=size, later_hint=tr(_LATER_HINT))
