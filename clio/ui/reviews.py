"""The user reviews a plan before it is carried out, and a commit before it is made."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from rich.padding import Padding
from rich.text import Text

from clio.config.schema import ApprovalMode
from clio.sessions.state import Todo
from clio.ui.approval_dialog import MAX_ROWS
from clio.ui.painter import Part
from clio.ui.prompt_io import ENTER, Desk
from clio.ui.safe_text import clean, clean_line
from clio.ui.status_text import plural

_MOST_FILES = 12


class FileRow(Struct, frozen=True):
    """One file of a commit. letter: as git has it. lines: such as "+12 −3"."""

    letter: str
    path: str
    lines: str


class Proposed(Struct, frozen=True, kw_only=True):
    """A commit as it would be. where: such as "on main". trailer: the line git adds below; "" for none."""

    message: str
    files: tuple[FileRow, ...]
    stat: str
    where: str
    trailer: str = ""


class CommitAnswer(Struct, frozen=True, kw_only=True):
    """What the person said. words: for "again", what the message is to say."""

    kind: Literal["go", "edit", "again", "no"]
    words: str = ""


class CommitReviewer:
    """Shows what would be committed and asks for one key."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def which(self, own: Sequence[str], tracked: Sequence[str]) -> Literal["own", "tracked"] | None:
        """Whose files: those this session changed, or all that git knows. Esc is None."""
        desk = self._desk
        async with desk.suspended():
            desk.say([desk.title("commit", "nothing is staged; what is to go in?")])
            desk.say(self._names("this session's", own))
            desk.say(self._names("all tracked", tracked))
            choices = {ENTER: "this session's", "a": "all tracked", "n": "nothing"}
            key = await desk.questions.key(choices, guarded=desk.is_typing())
        return {ENTER: "own", "a": "tracked"}.get(key or "")  # type: ignore[return-value]

    async def accept_leaks(self, lines: Sequence[str]) -> bool:
        """Whether the commit goes on although these lines hold what looks like secrets."""
        desk = self._desk
        async with desk.suspended():
            desk.say([desk.title("commit", "what looks like a secret would go in:", desk.theme.bad)])
            desk.say(Text(f"  {clean_line(line)}") for line in lines)
            desk.remark("the model is shown none of them")
            key = await desk.questions.key({"y": "go on all the same", "n": "no"}, guarded=desk.is_typing())
        return key == "y"

    async def accept_programs(self, lines: Sequence[str]) -> bool:
        """Whether git may start these with commits, now and later."""
        desk = self._desk
        async with desk.suspended():
            desk.say([desk.title("commit", "git would start programs that this repository itself names:")])
            desk.say(desk.excerpt([Text(f"  {clean_line(line)}") for line in lines], MAX_ROWS))
            if len(lines) > MAX_ROWS:
                desk.remark("/trust shows them all")
            choices = {"y": "run them, now and later", "n": "commit nothing"}
            key = await desk.questions.key(choices, guarded=desk.is_typing())
            if key == "y":
                desk.remark("they may run with commits here, until one of them changes")
        return key == "y"

    async def decide(self, proposed: Proposed, diff: Callable[[], str]) -> CommitAnswer:
        """The person's answer; Esc and Ctrl-C are "no". diff: what would be committed, to look at."""
        desk = self._desk
        async with desk.suspended():
            self._show(proposed)
            choices = {ENTER: "commit", "e": "edit", "r": "other words", "d": "the diff", "n": "no"}
            while (key := await desk.questions.key(choices, guarded=True)) == "d":
                desk.say(desk.diff(clean(diff())))
            if key == "r":
                words = await desk.questions.line("  what should it say (Enter for any other words): ")
                return CommitAnswer(kind="no") if words is None else CommitAnswer(kind="again", words=clean_line(words))
        match key:
            case "e":
                return CommitAnswer(kind="edit")
            case _:
                return CommitAnswer(kind="go" if key == ENTER else "no")

    def tell(self, words: str, *, bad: bool = False) -> None:
        """Print a sentence for good."""
        self._desk.remark(clean_line(words), self._desk.theme.bad if bad else "")

    def output(self, text: str) -> None:
        """Print what git and the hooks said, as far as a screen holds it."""
        lines = [Text(f"  {line}") for line in clean(text).splitlines()]
        self._desk.say(self._desk.excerpt(lines, MAX_ROWS))

    def _show(self, proposed: Proposed) -> None:
        desk, theme = self._desk, self._desk.theme
        desk.say([desk.title("commit", f"{proposed.stat} · {clean_line(proposed.where)}")])
        subject, *rest = clean(proposed.message).splitlines() or [""]
        desk.say([_indented(subject, theme.strong), *(_indented(line) for line in rest)])
        if proposed.trailer:
            desk.say([Text(""), _indented(clean_line(proposed.trailer), theme.faint)])
        rows = [Text.assemble((f"  {one.letter} ", theme.faint), clean_line(one.path), (f"  {one.lines}", theme.faint))
                for one in proposed.files]  # fmt: skip
        desk.say([Text(""), *desk.excerpt(rows, _MOST_FILES)])

    def _names(self, title: str, paths: Sequence[str]) -> list[Part]:
        shown = ", ".join(clean_line(path) for path in paths[:6])
        more = f" and {len(paths) - 6} more" if len(paths) > 6 else ""
        return [_indented(f"{title}: {shown}{more}", columns=2)]


def _indented(line: str, style: str = "", columns: int = 4) -> Part:
    return Part(body=Padding(Text(line, style), (0, 0, 0, columns), expand=False))


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
