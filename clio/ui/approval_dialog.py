"""Dialogs in which the user approves a call, a plan or a commit, edits it, or accepts single hunks of a change."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs
from rich.padding import Padding
from rich.text import Text

from clio.config.schema import ApprovalMode
from clio.errors import ToolFailed, UserError
from clio.security.actions import ChangeFiles, FileChange, RunCommand
from clio.security.approval import Answer, ApprovalRequest, Declined
from clio.sessions.state import Todo
from clio.text.formatting import format_count
from clio.tools.files.diff import DiffHunk, apply_diff_hunks, diff_change, split_hunks
from clio.tools.files.text_file import find_main_ending
from clio.ui.diff_view import FormatPath
from clio.ui.painter import Part
from clio.ui.prompt_io import ENTER, PromptIO
from clio.ui.safe_text import clean, clean_line, escape_controls, spell_out_line
from clio.ui.terminal_handoff import edit_text, lend_terminal


class ChangePiece(Struct, frozen=True, kw_only=True):
    """A part of a change that can be accepted on its own: a hunk, or a whole file that is created, deleted or moved.

    number and of: which hunk of how many; 0 for a whole file.
    """

    change: FileChange
    hunk: DiffHunk | None
    hunk_number: int = 0
    hunk_count: int = 0

    @property
    def diff_text(self) -> str:
        """The diff of this piece; empty for a move."""
        if self.hunk is not None:
            return self.hunk.text
        return diff_change(self.change).text if self.change.kind != "move" else ""


class EditableProposal:
    """The proposed changes with the user's edits. Writes nothing."""

    def __init__(self, proposed: ChangeFiles) -> None:
        self._proposed = proposed
        self._edited: set[Path] = set()
        self.changes = proposed.changes

    @property
    def is_edited(self) -> bool:
        """Whether the user has replaced a proposed text."""
        return bool(self._edited)

    @property
    def editable_changes(self) -> tuple[FileChange, ...]:
        """The changes that result in a text, which can be edited."""
        return tuple(change for change in self.changes if change.after is not None)

    @property
    def has_pieces(self) -> bool:
        """Whether there is more than one piece to accept or decline."""
        return len(list(islice((piece for change in self.changes for piece in _split_change(change)), 2))) > 1

    @property
    def changes_anything(self) -> bool:
        """False if the user's texts leave every file unchanged."""
        return any(not _has_no_effect(change) for change in self.changes)

    def set_text(self, path: Path, text: str) -> None:
        """Set the user's text for a file. Restores CRLF line endings that an editor replaced with newlines."""
        change = next(change for change in self.changes if change.path == path)
        if "\r\n" not in text and find_main_ending(change.after or "") == "\r\n":
            text = text.replace("\n", "\r\n")
        changed = structs.replace(change, after=text)
        self.changes = tuple(changed if other is change else other for other in self.changes)
        original = next(proposed for proposed in self._proposed.changes if proposed.path == path)
        (self._edited.add if text != original.after else self._edited.discard)(path)

    def list_pieces(self) -> list[ChangePiece]:
        """Return the pieces to decide on, in order; a move comes before the hunks of its file."""
        return [piece for change in self.changes for piece in _split_change(change)]

    def approve_pieces(self, pieces: Collection[ChangePiece], accepted: Collection[int]) -> Answer | None:
        """Accept the pieces at these positions and decline the others; None if nothing would be changed."""
        changes: list[FileChange] = []
        declined: list[Declined] = []
        for change in self.changes:
            mine = [(place in accepted, piece.hunk) for place, piece in enumerate(pieces) if piece.change is change]
            if change.kind == "move" and (False, None) in mine:
                continue
            taken = any(is_wanted for is_wanted, _ in mine)
            left = [hunk for is_wanted, hunk in mine if hunk is not None and not is_wanted]
            if left:
                hunks = [hunk for is_wanted, hunk in mine if hunk is not None and is_wanted]
                diff = "".join(hunk.text for hunk in left)
                declined.append(Declined(path=change.path, hunks=len(left), of=len(left) + len(hunks), diff=diff))
                change = structs.replace(change, after=apply_diff_hunks(change.before or "", change.after or "", hunks))
            if taken and not _has_no_effect(change):
                changes.append(change)
        if not changes:
            return None
        if tuple(changes) == self._proposed.changes:
            return Answer("once")
        stay = {change.path for change in changes}
        return Answer(
            "changed",
            changes=tuple(changes),
            edited=tuple(sorted(self._edited & stay)),
            declined=tuple(one for one in declined if one.path in stay),
        )

    def approve_all(self) -> Answer | None:
        """Accept everything as it is; None if that leaves every file unchanged."""
        pieces = self.list_pieces()
        return self.approve_pieces(pieces, range(len(pieces)))

    def describe_answer(self, answer: Answer) -> str:
        """Describe a partial answer: "allowed: your version, 2 hunks left out"."""
        left = sum(one.hunks for one in answer.declined)
        files = len(self._proposed.changes) - len(answer.changes)
        parts = ["your version"] if answer.edited else []
        parts += [f"{format_count(left, 'hunk')} left out"] if left else []
        parts += [f"{format_count(files, 'file')} left out"] if files else []
        return f"allowed: {', '.join(parts)}"


def _split_change(change: FileChange) -> Iterator[ChangePiece]:
    if change.kind in ("add", "delete", "move"):
        yield ChangePiece(change=change, hunk=None)
    if change.kind in ("update", "move"):
        hunks = list(split_hunks(change.before or "", change.after or ""))
        for number, hunk in enumerate(hunks, 1):
            yield ChangePiece(change=change, hunk=hunk, hunk_number=number, hunk_count=len(hunks))


def _has_no_effect(change: FileChange) -> bool:
    return change.kind == "update" and change.before == change.after


_FILE_KEYS = "123456789"


async def edit_proposal(desk: PromptIO, proposal: EditableProposal, display: FormatPath) -> bool:
    """Let the user edit a proposed text; return whether it was changed. Errors are printed and change nothing."""
    change = await _choose_change(desk, proposal, display)
    if change is None or change.after is None:
        return False
    try:
        edited = await _edit_on_lent_terminal(change.after, (change.moved_to or change.path).suffix)
    except UserError as error:
        desk.print_remark(clean_line(escape_controls(str(error))), desk.theme.bad)
        return False
    if edited is None:
        desk.print_remark("left as it was")
        return False
    proposal.set_text(change.path, edited)
    if not proposal.changes_anything:
        desk.print_remark("your version changes nothing any more", desk.theme.warning)
    return True


async def _edit_on_lent_terminal(text: str, suffix: str) -> str | None:
    """Edit the text in the user's editor. The editor keeps the terminal until it exits, even if the caller is
    cancelled.
    """
    async with lend_terminal():
        running = asyncio.ensure_future(asyncio.to_thread(edit_text, text, suffix))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait({running})
            raise


async def _choose_change(desk: PromptIO, proposal: EditableProposal, display: FormatPath) -> FileChange | None:
    files = proposal.editable_changes
    if len(files) == 1:
        return files[0]
    names = [clean_line(escape_controls(display(change.moved_to or change.path))) for change in files]
    if len(files) <= len(_FILE_KEYS):
        key = await desk.questions.ask_key(dict(zip(_FILE_KEYS, names, strict=False)))
        return files[_FILE_KEYS.index(key)] if key else None
    desk.print_parts(Text(f"  {number} {name}") for number, name in enumerate(names, 1))
    answer = (await desk.questions.ask_line("  number of the file: ") or "").strip()
    return files[int(answer) - 1] if answer.isdecimal() and 1 <= int(answer) <= len(files) else None


_HUNK_CHOICES = {"y": "yes", "n": "no", "a": "yes to all the rest", "q": "no to all the rest"}
_MAX_HUNK_ROWS = 30


async def ask_about_hunks(desk: PromptIO, proposal: EditableProposal, display: FormatPath) -> Answer | None:
    """Ask yes or no for each hunk and return the resulting answer; None if no hunk was accepted.

    Each decision leaves one line in the scrollback. Esc and Ctrl-C decline everything.
    """
    pieces = proposal.list_pieces()
    wanted: set[int] = set()
    unmoved: set[int] = set()
    rest: bool | None = None
    for place, piece in enumerate(pieces):
        if id(piece.change) in unmoved:  # the move was declined, so the file stays where it is
            continue
        if rest is None:
            key = await _ask_about_piece(desk, piece, _describe_piece(piece, display))
            if key is None:
                return Answer("no", interrupted=True)
            rest = {"a": True, "q": False}.get(key)
            yes = key in ("y", "a")
            said = f"{'yes' if yes else 'no'}: {_describe_piece(piece, display)}"
            desk.print_remark(said + (", and so all the rest" if rest is not None else ""))
        else:
            yes = rest
        if yes:
            wanted.add(place)
        elif piece.change.kind == "move" and piece.hunk is None:
            unmoved.add(id(piece.change))
    return proposal.approve_pieces(pieces, wanted)


async def _ask_about_piece(desk: PromptIO, piece: ChangePiece, name: str) -> str | None:
    title = Text(f"  {name}", desk.theme.strong)
    rows = desk.render_diff(piece.diff_text)
    if desk.questions.live:
        return await desk.questions.ask_key(_HUNK_CHOICES, page=desk.make_page(rows, title))
    desk.print_parts([title, *desk.render_excerpt(rows, _MAX_HUNK_ROWS)])
    return await desk.questions.ask_key(_HUNK_CHOICES)


def _describe_piece(piece: ChangePiece, display: FormatPath) -> str:
    change = piece.change
    name = clean_line(escape_controls(display(change.path)))
    if piece.hunk is not None:
        return f"{name}, hunk {piece.hunk_number} of {piece.hunk_count}"
    if change.moved_to is not None:
        return f"move {name} → {clean_line(escape_controls(display(change.moved_to)))}"
    return f"{'new file' if change.kind == 'add' else 'delete'} {name}"


MAX_UNSCROLLED_ROWS = 30
"""Up to this many rows are printed directly; longer texts are displayed in a page to scroll."""
SCROLLBACK_ROWS = 20
"""Rows of a scrolled text that stay in the scrollback."""
_ROWS_BELOW = 4


class ApprovalQuestion:
    """A question about a call that is carried out as it is or not at all."""

    def __init__(self, desk: PromptIO, request: ApprovalRequest, display: FormatPath) -> None:
        self._desk = desk
        self._request = request
        self._display = display

    async def ask(self, guarded: bool) -> Answer:
        """Ask until there is an answer, and print it. guarded: see `Questions.key`."""
        head = list(_heading(self._request, self._desk))
        self._desk.print_parts(head)
        body = self._desk.render_action(self._request.action, self._display)
        answer = await self._decide(body, self._desk.count_rows(head), guarded)
        self._desk.print_remark(self._describe_answer(answer))
        return answer

    async def _decide(self, body: Sequence[Text], above: int, guarded: bool) -> Answer:
        return await self._answer_for_key(await self._ask_key(self._choices(), body, above, guarded=guarded))

    async def _answer_for_key(self, key: str | None) -> Answer:
        match key:
            case "y":
                return Answer("once")
            case "s":
                return Answer("session")
            case "a":
                return Answer("always")
            case "n":
                reason = await self._desk.questions.ask_line("  why not (Enter for no reason): ")
                return Answer("no", clean_line(reason or ""), interrupted=reason is None)
            case _:
                return Answer("no", interrupted=True)

    def _choices(self) -> dict[str, str]:
        choices = {"y": "once", "s": "this session"}
        if self._request.verdict.rule is not None:
            choices["a"] = f"always {spell_out_line(self._request.verdict.rule)}"
        return choices | {"n": "no"}

    def _describe_answer(self, answer: Answer) -> str:
        """Return the answer as it is printed in the scrollback."""
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

    async def _ask_key(
        self, choices: Mapping[str, str], body: Sequence[Text], above: int, *, guarded: bool = False
    ) -> str | None:
        """Display the body and ask. A body that is too long is scrolled, and only its beginning stays in the
        scrollback.

        A command can be approved only after its last row has been on the screen; a change of files, which can be
        undone, at any time.
        """
        desk, questions = self._desk, self._desk.questions
        room = max(desk.size()[1] - above - _ROWS_BELOW, 1) if questions.live else MAX_UNSCROLLED_ROWS
        if desk.fits_in_rows(body, min(room, MAX_UNSCROLLED_ROWS)):
            desk.print_parts(body)
            return await questions.ask_key(choices, guarded=guarded)
        yes: frozenset[str] = (
            frozenset() if isinstance(self._request.action, ChangeFiles) else frozenset(choices) - {"n"}
        )
        if not questions.live:
            desk.print_parts(desk.render_excerpt(body, MAX_UNSCROLLED_ROWS, ", d shows all"))
        page = desk.make_page(body) if questions.live else None
        offered = choices if questions.live else {key: choices[key] for key in choices if key not in yes}
        key = await questions.ask_key(
            {**offered, "d": "show all"}, guarded=guarded, page=page, above=above, after_end=yes
        )
        if key == "d":
            desk.print_parts(body)
            return await questions.ask_key(choices)
        if questions.live:
            desk.print_parts(desk.render_excerpt(body, SCROLLBACK_ROWS))
        return key


class ChangeApprovalQuestion(ApprovalQuestion):
    """A question about changes of files, which may be approved in part or in the user's own version."""

    def __init__(self, desk: PromptIO, request: ApprovalRequest, display: FormatPath, action: ChangeFiles) -> None:
        super().__init__(desk, request, display)
        self._proposal = EditableProposal(action)

    async def _decide(self, body: Sequence[Text], above: int, guarded: bool) -> Answer:
        proposal, desk = self._proposal, self._desk
        key = await self._ask_key(self._choices(), body, above, guarded=guarded)
        while key == "e":
            if await edit_proposal(desk, proposal, self._display):
                head = [Part(body=Text("  your version:", desk.theme.strong))]
                desk.print_parts(head)
                body = desk.render_changes(proposal.changes, self._display)
                key = await self._ask_key(self._choices(), body, desk.count_rows(head))
            else:
                key = await desk.questions.ask_key(self._choices())
        answer: Answer | None = None
        if key == "y":
            answer = proposal.approve_all()
        elif key == "h":
            answer = await ask_about_hunks(desk, proposal, self._display)
            key = "n"  # no hunk was accepted: the user may tell the model why
        return answer or await self._answer_for_key(key)

    def _choices(self) -> dict[str, str]:
        choices = super()._choices()
        if self._proposal.is_edited:  # the approval covers this version only, not future calls
            choices = {"y": "this version", "n": "no"} if self._proposal.changes_anything else {"n": "no"}
        if self._proposal.editable_changes:
            choices["e"] = "edit"
        if self._proposal.has_pieces:
            choices["h"] = "by hunks"
        return choices

    def _describe_answer(self, answer: Answer) -> str:
        return self._proposal.describe_answer(answer) if answer.kind == "changed" else super()._describe_answer(answer)


def _heading(request: ApprovalRequest, desk: PromptIO) -> Iterator[Part]:
    verdict, theme = request.verdict, desk.theme
    risk = {"low": theme.good, "medium": theme.warning, "high": theme.bad}[verdict.risk]
    whole = not isinstance(request.action, RunCommand)  # a command is shown below with every line of it
    yield desk.make_title(spell_out_line(request.title), f"{verdict.risk} risk", risk, whole=whole)
    if verdict.reason:
        reason = Text(spell_out_line(verdict.reason), theme.faint)
        yield Part(body=Padding(reason, (0, 0, 0, 2), expand=False))


class TerminalApprover:
    """Shows what a call would do and asks for one key. `display` names a path in diffs, relative to the workspace."""

    def __init__(self, desk: PromptIO, display: FormatPath = str) -> None:
        self._desk = desk
        self._display = display

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Return the user's answer. Esc and Ctrl-C call `on_interrupt` and mean no."""
        guarded = self._desk.is_typing()
        async with self._desk.suspended():
            if isinstance(request.action, ChangeFiles):
                decision = ChangeApprovalQuestion(self._desk, request, self._display, request.action)
            else:
                decision = ApprovalQuestion(self._desk, request, self._display)
            answer = await decision.ask(guarded)
        if answer.interrupted:
            self._desk.on_interrupt()
        return answer


class TerminalAsker:
    """Asks the user the model's question: a number chooses an option, any other text is the answer itself."""

    def __init__(self, desk: PromptIO) -> None:
        self._desk = desk

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Return the chosen option or the user's own text; "" for a bare Enter.

        Raises ToolFailed after Esc or Ctrl-C, which call `on_interrupt`.
        """
        async with self._desk.suspended():
            theme = self._desk.theme
            self._desk.print_parts(self._desk.render_question(clean(question)))
            for number, option in enumerate(options, 1):
                self._desk.print_parts([Part(body=Text.assemble((f"  {number} ", theme.accent), clean_line(option)))])
            prompt = "  number or answer: " if options else "  answer: "
            answer = await self._desk.questions.ask_line(prompt)
        if answer is None:
            self._desk.on_interrupt()
            raise ToolFailed("the user interrupted instead of answering")
        chosen = answer.strip().rstrip(".)")
        if chosen.isdecimal() and 1 <= int(chosen) <= len(options):
            return options[int(chosen) - 1]
        return answer.strip()


_MAX_LISTED_FILES = 12


class CommitFileRow(Struct, frozen=True):
    """One file of a commit. letter: git's status letter. lines: such as "+12 −3"."""

    status_letter: str
    path: str
    line_counts: str


class ProposedCommit(Struct, frozen=True, kw_only=True):
    """A proposed commit. where: such as "on main". trailer: the line that git adds at the end; "" for none."""

    message: str
    files: tuple[CommitFileRow, ...]
    stat: str
    target: str
    trailer: str = ""


class CommitAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer. words: for "again", instructions for the next message."""

    kind: Literal["go", "edit", "again", "no"]
    instructions: str = ""


class CommitReviewer:
    """Shows what would be committed and asks for one key."""

    def __init__(self, desk: PromptIO) -> None:
        self._desk = desk

    async def choose_files(self, own: Sequence[str], tracked: Sequence[str]) -> Literal["own", "tracked"] | None:
        """Ask which files to commit: those this session changed, or all tracked ones. None for Esc."""
        desk = self._desk
        async with desk.suspended():
            desk.print_parts([desk.make_title("commit", "nothing is staged; what is to go in?")])
            desk.print_parts(self._list_names("this session's", own))
            desk.print_parts(self._list_names("all tracked", tracked))
            choices = {ENTER: "this session's", "a": "all tracked", "n": "nothing"}
            key = await desk.questions.ask_key(choices, guarded=desk.is_typing())
        return {ENTER: "own", "a": "tracked"}.get(key or "")  # type: ignore[return-value]

    async def confirm_secrets(self, lines: Sequence[str]) -> bool:
        """Ask whether to commit although these lines contain what looks like secrets."""
        desk = self._desk
        async with desk.suspended():
            desk.print_parts([desk.make_title("commit", "what looks like a secret would go in:", desk.theme.bad)])
            desk.print_parts(Text(f"  {clean_line(line)}") for line in lines)
            desk.print_remark("the model is shown none of them")
            key = await desk.questions.ask_key({"y": "go on all the same", "n": "no"}, guarded=desk.is_typing())
        return key == "y"

    async def confirm_programs(self, lines: Sequence[str]) -> bool:
        """Ask whether git may start these programs with this commit and later ones."""
        desk = self._desk
        async with desk.suspended():
            desk.print_parts([desk.make_title("commit", "git would start programs that this repository itself names:")])
            desk.print_parts(
                desk.render_excerpt([Text(f"  {clean_line(line)}") for line in lines], MAX_UNSCROLLED_ROWS)
            )
            if len(lines) > MAX_UNSCROLLED_ROWS:
                desk.print_remark("/trust shows them all")
            choices = {"y": "run them, now and later", "n": "commit nothing"}
            key = await desk.questions.ask_key(choices, guarded=desk.is_typing())
            if key == "y":
                desk.print_remark("they may run with commits here, until one of them changes")
        return key == "y"

    async def ask_about_commit(self, proposed: ProposedCommit, diff: Callable[[], str]) -> CommitAnswer:
        """Return the user's answer; Esc and Ctrl-C are "no". diff: returns what would be committed, for display."""
        desk = self._desk
        async with desk.suspended():
            self._show_proposal(proposed)
            choices = {ENTER: "commit", "e": "edit", "r": "other words", "d": "the diff", "n": "no"}
            while (key := await desk.questions.ask_key(choices, guarded=True)) == "d":
                desk.print_parts(desk.render_diff(clean(diff())))
            if key == "r":
                words = await desk.questions.ask_line("  what should it say (Enter for any other words): ")
                return (
                    CommitAnswer(kind="no")
                    if words is None
                    else CommitAnswer(kind="again", instructions=clean_line(words))
                )
        match key:
            case "e":
                return CommitAnswer(kind="edit")
            case _:
                return CommitAnswer(kind="go" if key == ENTER else "no")

    def print_sentence(self, words: str, *, bad: bool = False) -> None:
        """Print a sentence permanently."""
        self._desk.print_remark(clean_line(words), self._desk.theme.bad if bad else "")

    def print_output(self, text: str) -> None:
        """Print the output of git and its hooks, at most one screen."""
        lines = [Text(f"  {line}") for line in clean(text).splitlines()]
        self._desk.print_parts(self._desk.render_excerpt(lines, MAX_UNSCROLLED_ROWS))

    def _show_proposal(self, proposed: ProposedCommit) -> None:
        desk, theme = self._desk, self._desk.theme
        desk.print_parts([desk.make_title("commit", f"{proposed.stat} · {clean_line(proposed.target)}")])
        subject, *rest = clean(proposed.message).splitlines() or [""]
        desk.print_parts([_indent_line(subject, theme.strong), *(_indent_line(line) for line in rest)])
        if proposed.trailer:
            desk.print_parts([Text(""), _indent_line(clean_line(proposed.trailer), theme.faint)])
        faint = theme.faint
        rows = [
            Text.assemble((f"  {one.status_letter} ", faint), clean_line(one.path), (f"  {one.line_counts}", faint))
            for one in proposed.files
        ]
        desk.print_parts([Text(""), *desk.render_excerpt(rows, _MAX_LISTED_FILES)])

    def _list_names(self, title: str, paths: Sequence[str]) -> list[Part]:
        shown = ", ".join(clean_line(path) for path in paths[:6])
        more = f" and {len(paths) - 6} more" if len(paths) > 6 else ""
        return [_indent_line(f"{title}: {shown}{more}", columns=2)]


def _indent_line(line: str, style: str = "", columns: int = 4) -> Part:
    return Part(body=Padding(Text(line, style), (0, 0, 0, columns), expand=False))


_LATER_HINT = "/plan shows it again, /plan off leaves plan mode"


class PlanAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer to a plan.

    "go": carry it out in `mode`. "no": decline it; `reason` goes to the model unless it is empty. "later": the plan
    and plan mode stay as they are.
    """

    kind: Literal["go", "edit", "no", "later"]
    mode: ApprovalMode = "ask"
    reason: str = ""


class PlanReviewer:
    """Shows a plan and asks for one key."""

    def __init__(self, desk: PromptIO) -> None:
        self._desk = desk

    async def ask_about_plan(self, todos: tuple[Todo, ...], mode_before: ApprovalMode, width: int) -> PlanAnswer:
        """Return the user's answer; Esc and Ctrl-C mean "later".

        Args:
            before: the approval mode that "y" returns to.
            width: available columns.
        """
        async with self._desk.suspended():
            rows = self._desk.render_todos(todos, width)
            hidden = len(rows) > MAX_UNSCROLLED_ROWS
            heading = self._desk.make_title("plan", format_count(len(todos), "item"))
            self._desk.print_parts(
                [heading, *(self._desk.render_excerpt(rows, MAX_UNSCROLLED_ROWS, ", d shows all") if hidden else rows)]
            )
            while True:
                key = await self._desk.questions.ask_key(
                    _list_plan_choices(mode_before, hidden), guarded=self._desk.is_typing()
                )
                if key != "d":
                    break
                hidden = False
                self._desk.print_parts(rows)
            answer = await self._answer_for_key(key, mode_before)
            self._desk.print_remark(_describe_plan_answer(answer))
        return answer

    async def _answer_for_key(self, key: str | None, before: ApprovalMode) -> PlanAnswer:
        match key:
            case "y":
                return PlanAnswer(kind="go", mode=before)
            case "a":
                return PlanAnswer(kind="go", mode="edits")
            case "e":
                return PlanAnswer(kind="edit")
            case "n":
                reason = await self._desk.questions.ask_line("  what should be different (Enter for nothing): ")
                return PlanAnswer(kind="later") if reason is None else PlanAnswer(kind="no", reason=clean_line(reason))
            case _:
                return PlanAnswer(kind="later")


def _list_plan_choices(before: ApprovalMode, hidden: bool) -> dict[str, str]:
    choices = {"y": f"carry it out, mode {before}"}
    if before == "ask":
        choices["a"] = "with edits allowed"
    choices |= {"e": "edit", "n": "no"}
    if hidden:
        choices["d"] = "show all"
    return choices


def _describe_plan_answer(answer: PlanAnswer) -> str:
    """Return the answer as it is printed in the scrollback."""
    match answer.kind:
        case "go":
            return f"approved, mode {answer.mode}"
        case "edit":
            return "in the editor"
        case "no":
            return f"no: {answer.reason}" if answer.reason else f"no; {_LATER_HINT}"
        case "later":
            return f"later; {_LATER_HINT}"
