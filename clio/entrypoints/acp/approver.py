"""Questions to the person, put as the editor's permission requests: may this be done, and which of these is meant."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clio.entrypoints.acp.listener import CURRENT_CALL, fenced
from clio.entrypoints.acp.updates import Outbox, Place, Shown, Sides, Stand, UpdateMaker
from clio.errors import ToolFailed
from clio.ids import new_id
from clio.security.actions import CallServer, ChangeFiles, FetchUrl, FileChange, ReadFiles, RunCommand
from clio.security.approval import Answer, ApprovalRequest
from clio.ui.safe_text import clean_line
from clio.ui.spelling import spell_out, spell_out_line

if TYPE_CHECKING:
    from acp.schema import PermissionOption, RequestPermissionResponse, ToolCallUpdate

Ask = Callable[[str, "ToolCallUpdate", "list[PermissionOption]"], Awaitable["RequestPermissionResponse"]]
"""Puts a permission request of a session to the editor; raises ConnectionError where it has gone."""
Kind = Literal["allow_once", "allow_always", "reject_once"]


class EditorDesk:
    """Puts questions of one session to the user. session_id: set before the first question."""

    def __init__(self, make: UpdateMaker, outbox: Outbox, ask: Ask) -> None:
        self.make = make
        self.session_id = ""
        self._outbox = outbox
        self._ask = ask

    async def choose(
        self,
        title: str,
        options: Sequence[tuple[str, str, Kind]],
        *,
        id: str = "",
        kind: str = "other",
        shown: Shown | None = None,
        places: Sequence[Place] = (),
    ) -> str:
        """Ask, and return the id of the chosen option; "" where the question was closed without an answer.

        Args:
            title: the question.
            options: id, label and kind of each option.
            id: of the tool call the question is about; "" gives the question an entry of its own.
            kind: of that call, such as "edit".
            shown: what the call would do.
            places: the files it is about.
        """
        own = not id
        id = id or f"question_{new_id()}"
        shown = shown or Shown()
        if own:
            self._put(self.make.call_started(id, "", title, status="pending"))
        await self._outbox.flush()
        question = self.make.question(id, title, kind, shown, places)
        offered = [self.make.option(*option) for option in options]
        answer = await self._ask(self.session_id, question, offered)
        chosen = getattr(answer.outcome, "option_id", "")
        chosen = chosen if any(chosen == known for known, _, _ in options) else ""
        went_on = any(chosen == known and kind != "reject_once" for known, _, kind in options)
        stand: Stand = ("completed" if went_on else "failed") if own else ("in_progress" if went_on else "pending")
        self._put(self.make.call_news(id, status=stand))
        return chosen

    def _put(self, update: object) -> None:
        self._outbox.put(self.session_id, update)


class EditorApprover:
    """Shows what a call would do, and asks. `redact` and `editor_path` are set before the first question."""

    def __init__(self, desk: EditorDesk, editor_path: Callable[[Path], str]) -> None:
        self.redact: Callable[[str], str] = str
        self._desk = desk
        self._editor_path = editor_path

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask the user; a question closed without an answer counts as no."""
        rule = request.verdict.rule
        options: list[tuple[str, str, Kind]] = [("once", "Allow once", "allow_once")]
        if rule is not None:
            options.append(("always", f"Always allow: {spell_out_line(rule)}", "allow_always"))
        options.append(("session", "Allow in this session", "allow_always"))
        options.append(("no", "Reject", "reject_once"))
        kind, shown, places = self._describe(request)
        chosen = await self._desk.choose(
            spell_out_line(self.redact(request.title)),
            options,
            id=CURRENT_CALL.get(),
            kind=kind,
            shown=shown,
            places=places,
        )
        match chosen:
            case "once" | "always" | "session":
                return Answer(kind=chosen)
            case "no":
                return Answer(kind="no")
            case _:
                return Answer(kind="no", reason="the question was closed without an answer")

    def _describe(self, request: ApprovalRequest) -> tuple[str, Shown, list[Place]]:
        """The kind of the call, what it would do, and the files it is about."""
        why = f"{spell_out_line(request.verdict.reason)} (risk: {request.verdict.risk})"
        match request.action:
            case ChangeFiles(changes=changes):
                paths = [self._editor_path(change.path) for change in changes]
                both = tuple((path, self._sides(change)) for path, change in zip(paths, changes, strict=True))
                moved = [
                    f"{path} becomes {self._editor_path(change.moved_to)}"
                    for path, change in zip(paths, changes, strict=True)
                    if change.moved_to is not None
                ]
                kinds = {"delete": "delete", "move": "move"}
                kind = kinds.get(changes[0].kind, "edit") if len(changes) == 1 else "edit"
                text = "\n\n".join([*moved, why])
                return kind, Shown(text=text, changes=both), [Place(path) for path in paths]
            case RunCommand(command=command, note=note):
                why = f"{why}\n\n{note}" if note else why
                return "execute", Shown(text=f"{fenced(spell_out(self.redact(command)))}\n\n{why}"), []
            case FetchUrl(url=url):
                return "fetch", Shown(text=f"{fenced(spell_out(self.redact(url)))}\n\n{why}"), []
            case ReadFiles(paths=paths):
                names = [self._editor_path(path) for path in paths]
                return "read", Shown(text=f"{fenced(spell_out(chr(10).join(names)))}\n\n{why}"), []
            case CallServer(arguments=arguments):
                return "other", Shown(text=f"{fenced(spell_out(self.redact(arguments)))}\n\n{why}"), []
            case _:
                return "other", Shown(text=why), []

    def _sides(self, change: FileChange) -> Sides:
        old = self.redact(change.before) if change.before is not None else None
        return Sides(old=old, new=self.redact(change.after or ""), line=1)


class EditorAsker:
    """Puts the model's question to the user. Editors offer buttons but no text field, so it needs options."""

    def __init__(self, desk: EditorDesk) -> None:
        self._desk = desk

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Ask, and return the chosen option; "" where none was chosen.

        Raises ToolFailed for a question without options.
        """
        if not options:
            raise ToolFailed(
                "this editor can only show answers to choose from; call again with options, or ask in your answer and "
                "end the turn"
            )
        rows: list[tuple[str, str, Kind]] = [
            (str(number), clean_line(option), "allow_once") for number, option in enumerate(options)
        ]
        chosen = await self._desk.choose(
            clean_line(question), [*rows, ("none", "No answer", "reject_once")], id=CURRENT_CALL.get()
        )
        return options[int(chosen)] if chosen.isdecimal() else ""
