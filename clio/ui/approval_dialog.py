"""Ask the user whether a call of the model may be run, and the model's own questions."""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct, structs
from rich.padding import Padding
from rich.text import Text

from clio.errors import ToolFailed, UserError
from clio.security.actions import CallServer, ChangeFiles, FetchUrl, FileChange, ReadFiles, RunCommand, TouchOwnState
from clio.security.approval import Answer, ApprovalRequest, Declined
from clio.text.translation import mark, tr, tr_count
from clio.tools.files.diff import DiffHunk, apply_diff_hunks, diff_change, split_hunks
from clio.tools.files.text_file import find_main_ending
from clio.ui.diff_view import FormatPath
from clio.ui.hanging_text import HangingText, indent_line
from clio.ui.painter import Part, count_cells, truncate_to_cells
from clio.ui.prompt_io import MAX_UNSCROLLED_ROWS, PromptIO
from clio.ui.safe_text import clean, clean_line, escape_controls, spell_out_line, spell_out_lines
from clio.ui.terminal_handoff import edit_text, hand_over_terminal


class ChangePiece(Struct, frozen=True, kw_only=True):
    """A part of a change that can be accepted on its own: a hunk, or a whole file that is created, deleted or moved.

    hunk_number, hunk_count: which hunk of how many; 0 for a whole file.
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
            own_pieces = [
                (place in accepted, piece.hunk) for place, piece in enumerate(pieces) if piece.change is change
            ]
            if change.kind == "move" and (False, None) in own_pieces:
                continue
            is_any_accepted = any(is_wanted for is_wanted, _ in own_pieces)
            declined_hunks = [hunk for is_wanted, hunk in own_pieces if hunk is not None and not is_wanted]
            if declined_hunks:
                accepted_hunks = [hunk for is_wanted, hunk in own_pieces if hunk is not None and is_wanted]
                diff = "".join(hunk.text for hunk in declined_hunks)
                declined.append(
                    Declined(
                        path=change.path,
                        hunks=len(declined_hunks),
                        of=len(declined_hunks) + len(accepted_hunks),
                        diff=diff,
                    )
                )
                change = structs.replace(
                    change, after=apply_diff_hunks(change.before or "", change.after or "", accepted_hunks)
                )
            if is_any_accepted and not _has_no_effect(change):
                changes.append(change)
        if not changes:
            return None
        if tuple(changes) == self._proposed.changes:
            return Answer("once")
        changed_paths = {change.path for change in changes}
        return Answer(
            "changed",
            changes=tuple(changes),
            edited=tuple(sorted(self._edited & changed_paths)),
            declined=tuple(one for one in declined if one.path in changed_paths),
        )

    def approve_all(self) -> Answer | None:
        """Accept everything as it is; None if that leaves every file unchanged."""
        pieces = self.list_pieces()
        return self.approve_pieces(pieces, range(len(pieces)))

    def describe_answer(self, answer: Answer) -> str:
        """Describe a partial answer: "approved: your version, 2 hunks left out"."""
        hunks = sum(one.hunks for one in answer.declined)
        files = len(self._proposed.changes) - len(answer.changes)
        parts = [tr("your version")] if answer.edited else []
        parts += [tr("{hunks} left out", hunks=tr_count(hunks, "hunk"))] if hunks else []
        parts += [tr("{files} left out", files=tr_count(files, "file"))] if files else []
        return tr("approved: {parts}", parts=", ".join(parts))


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


async def edit_proposal(prompt_io: PromptIO, proposal: EditableProposal, display: FormatPath) -> bool:
    """Let the user edit a proposed text; return whether it was changed. Errors are printed and change nothing."""
    change = await _choose_change(prompt_io, proposal, display)
    if change is None or change.after is None:
        return False
    try:
        edited = await _edit_with_user_editor(change.after, (change.moved_to or change.path).suffix)
    except UserError as error:
        prompt_io.print_remark(clean_line(escape_controls(str(error))), prompt_io.theme.bad)
        return False
    if edited is None:
        prompt_io.print_remark("unchanged")
        return False
    proposal.set_text(change.path, edited)
    if not proposal.changes_anything:
        prompt_io.print_remark(tr("your version no longer changes anything"), prompt_io.theme.warning)
    return True


async def _edit_with_user_editor(text: str, suffix: str) -> str | None:
    """Edit the text in the user's editor, which has the terminal until it exits, even if the caller is cancelled."""
    async with hand_over_terminal():
        running = asyncio.ensure_future(asyncio.to_thread(edit_text, text, suffix))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait({running})
            raise


async def _choose_change(prompt_io: PromptIO, proposal: EditableProposal, display: FormatPath) -> FileChange | None:
    files = proposal.editable_changes
    if len(files) == 1:
        return files[0]
    names = [clean_line(escape_controls(display(change.moved_to or change.path))) for change in files]
    if len(files) <= len(_FILE_KEYS):
        key = await prompt_io.questions.ask_key(dict(zip(_FILE_KEYS, names, strict=False)))
        return files[_FILE_KEYS.index(key)] if key else None
    prompt_io.print_parts(Text(f"  {number} {name}") for number, name in enumerate(names, 1))
    answer = (await prompt_io.questions.ask_line(tr("  file number: ")) or "").strip()
    return files[int(answer) - 1] if answer.isdecimal() and 1 <= int(answer) <= len(files) else None


RISK_LABELS = {"low": mark("low"), "medium": mark("medium"), "high": mark("high")}
_HUNK_CHOICES = {"y": mark("yes"), "n": mark("no"), "a": mark("yes to all remaining"), "q": mark("no to all remaining")}
_MAX_HUNK_ROWS = 30


async def ask_about_hunks(prompt_io: PromptIO, proposal: EditableProposal, display: FormatPath) -> Answer | None:
    """Ask yes or no for each hunk and return the resulting answer; None if no hunk was accepted.

    Each decision leaves one line in the scrollback. Esc and Ctrl-C decline everything.
    """
    pieces = proposal.list_pieces()
    accepted: set[int] = set()
    declined_moves: set[int] = set()
    answer_for_rest: bool | None = None
    for place, piece in enumerate(pieces):
        if id(piece.change) in declined_moves:  # the move was declined, so the file stays where it is
            continue
        if answer_for_rest is None:
            key = await _ask_about_piece(prompt_io, piece, _describe_piece(piece, display))
            if key is None:
                return Answer("no", interrupted=True)
            answer_for_rest = {"a": True, "q": False}.get(key)
            is_accepted = key in ("y", "a")
            decision = f"{tr('yes') if is_accepted else tr('no')}: {_describe_piece(piece, display)}"
            prompt_io.print_remark(decision + (tr(", and all remaining") if answer_for_rest is not None else ""))
        else:
            is_accepted = answer_for_rest
        if is_accepted:
            accepted.add(place)
        elif piece.change.kind == "move" and piece.hunk is None:
            declined_moves.add(id(piece.change))
    return proposal.approve_pieces(pieces, accepted)


async def _ask_about_piece(prompt_io: PromptIO, piece: ChangePiece, name: str) -> str | None:
    title = Text(f"  {name}", prompt_io.theme.strong)
    rows = prompt_io.render_diff(piece.diff_text, piece.change.path.name)
    if prompt_io.questions.is_live:
        return await prompt_io.questions.ask_key(
            {key: tr(label) for key, label in _HUNK_CHOICES.items()},
            page=prompt_io.make_page(rows),
            head=prompt_io.render_head([Part(body=title, gap=True)]),
        )
    prompt_io.print_parts([title, *prompt_io.render_excerpt(rows, _MAX_HUNK_ROWS)])
    return await prompt_io.questions.ask_key({key: tr(label) for key, label in _HUNK_CHOICES.items()})


def _describe_piece(piece: ChangePiece, display: FormatPath) -> str:
    change = piece.change
    name = clean_line(escape_controls(display(change.path)))
    if piece.hunk is not None:
        return tr(
            "{name}, hunk {hunk_number} of {hunk_count}",
            name=name,
            hunk_number=piece.hunk_number,
            hunk_count=piece.hunk_count,
        )
    if change.moved_to is not None:
        return tr("move {name} → {target}", name=name, target=clean_line(escape_controls(display(change.moved_to))))
    return f"{(tr('new file') if change.kind == 'add' else tr('delete'))} {name}"


_ROWS_AROUND = 9  # the title, the reason, a blank row, the choices, and the status below
_MAX_RULE_ROWS = 2
_DETAILS = "?"
"""The choice that shows a long reason whole."""


class ApprovalQuestion:
    """A question about a call that is run unchanged or not at all."""

    def __init__(self, prompt_io: PromptIO, request: ApprovalRequest, display: FormatPath) -> None:
        self._prompt_io = prompt_io
        self._request = request
        self._display = display

    async def ask(self, guarded: bool) -> Answer:
        """Ask until there is an answer. guarded: see `Questions.ask_key`.

        On a live terminal the question disappears with its answer, because the row of the call tells what became of
        it; only an answer that applies to later calls too is printed.
        """
        prompt_io = self._prompt_io
        body = self._describe_action(brief=prompt_io.questions.is_live)
        answer = await self._decide(body, guarded)
        if not prompt_io.questions.is_live or answer.kind in ("session", "always") or answer.declined or answer.edited:
            prompt_io.print_remark(self._describe_answer(answer), mark="✗" if answer.kind == "no" else "✓")
        return answer

    def _describe_action(self, *, brief: bool) -> Sequence[Text]:
        """Return the rows that tell what the call would do: all of it that the title, which is one row, does not.

        brief: leave out what the text of a command tells, too.
        """
        request, prompt_io = self._request, self._prompt_io
        action = request.action
        is_whole = _is_told_by_title(request, prompt_io)
        body = prompt_io.render_action(action, self._display, named=not is_whole, brief=brief)
        match action:
            case RunCommand():
                return body[1:] if is_whole else body
            case FetchUrl() if is_whole:
                return [line for line in body if line.plain.strip() not in spell_out_line(request.title)]
            case ReadFiles() | TouchOwnState() if not is_whole:
                return [*(HangingText(f"  {line}", hang=4) for line in spell_out_lines(request.title)), *body]
            case _:
                return body

    async def _decide(self, body: Sequence[Text], guarded: bool) -> Answer:
        return await self._answer_for_key(await self._ask_key(self._list_choices(), body, guarded=guarded))

    async def _answer_for_key(self, key: str | None) -> Answer:
        match key:
            case "y":
                return Answer("once")
            case "s":
                return Answer("session")
            case "a":
                return Answer("always")
            case "n":
                question, prompt_io = tr("  why not? (Enter to skip): "), self._prompt_io
                if prompt_io.questions.is_live:  # the row of the question is gone
                    title = truncate_to_cells(spell_out_line(self._request.title), prompt_io.width - 2)
                    question = f"\n✗ {title}\n{question}"
                reason = await prompt_io.questions.ask_line(question, erase=True)
                return Answer("no", clean_line(reason or ""), interrupted=reason is None)
            case _:
                return Answer("no", interrupted=True)

    def _list_choices(self) -> dict[str, str]:
        choices = {"y": tr("yes"), "s": tr("yes, for this session")}
        if self._request.verdict.rule is not None:
            always = tr("always allow {rule}", rule=spell_out_line(self._request.verdict.rule))
            # A rule that fills the screen would push away what it is about.
            if count_cells(always) <= _MAX_RULE_ROWS * self._prompt_io.width:
                choices["a"] = always
        return choices | {"n": tr("no, and say why")}

    def _describe_answer(self, answer: Answer) -> str:
        """Return the answer as it is printed in the scrollback."""
        match answer.kind:
            case "once":
                return tr("approved")
            case "session":
                return tr("approved for this session")
            case "always":
                return tr("always allowed: {rule}", rule=spell_out_line(self._request.verdict.rule or ""))
            case "changed":
                return tr("approved with your changes")
            case "no":
                return tr("declined: {reason}", reason=answer.reason) if answer.reason else tr("declined")

    async def _ask_key(
        self, choices: Mapping[str, str], body: Sequence[Text], *, note: str = "", guarded: bool = False
    ) -> str | None:
        """Display the question and return the answer's letter; None to interrupt. note: a line above the body.

        A command can be approved only after its last row has been on the screen; a change of files, which can be
        undone, at any time.
        """
        prompt_io, questions, request = self._prompt_io, self._prompt_io.questions, self._request
        after_end: frozenset[str] = (
            frozenset() if isinstance(request.action, ChangeFiles) else frozenset(choices) - {"n", _DETAILS}
        )
        heading, faint = _render_heading(request, prompt_io), prompt_io.theme.faint
        reason = spell_out_line(request.verdict.reason)
        notes = [Part(body=Padding(Text(note, prompt_io.theme.strong), (0, 0, 0, 2), expand=False))] if note else []
        if not questions.is_live:
            prompt_io.print_parts(notes or [heading, *([indent_line(reason, faint, 2)] if reason else [])])
            if prompt_io.fits_in_rows(body, MAX_UNSCROLLED_ROWS):
                prompt_io.print_parts(body)
                return await questions.ask_key(choices, guarded=guarded)
            prompt_io.print_parts(prompt_io.render_excerpt(body, MAX_UNSCROLLED_ROWS, tr(", d to show all")))
            offered = {key: choices[key] for key in choices if key not in after_end}
            key = await questions.ask_key({**offered, "d": tr("show all")}, guarded=guarded)
            if key == "d":
                prompt_io.print_parts(body)
                return await questions.ask_key(choices)
            return key
        room = prompt_io.width - 2
        most = room * max(prompt_io.size()[1] // 4, 1)  # a longer reason would push away what it is about
        is_cut = count_cells(reason) > room
        whole = self._describe_action(brief=False) if isinstance(request.action, RunCommand) else body
        while True:
            is_long = not prompt_io.fits_in_rows(body, max(prompt_io.size()[1] - _ROWS_AROUND, 1))
            reasons = [truncate_to_cells(reason, room if is_cut else most)] if reason else []
            head = prompt_io.render_head([heading, *notes, *(indent_line(text, faint, 2) for text in reasons)])
            further = ({_DETAILS: tr("details")} if is_cut or len(whole) > len(body) else {}) | (
                {"d": tr("show all")} if is_long else {}
            )
            key = await questions.ask_key(
                {**choices, **further}, guarded=guarded, page=prompt_io.make_page(body), head=head, after_end=after_end,
                default="n" if request.verdict.risk == "high" else "y",
            )  # fmt: skip
            if key == "d":
                prompt_io.print_parts([heading, *notes])
                prompt_io.print_parts(body)
                return await questions.ask_key(choices)
            if key != _DETAILS:
                return key
            is_cut, body = False, whole


class ChangeApprovalQuestion(ApprovalQuestion):
    """A question about changes of files, which may be approved in part or in the user's own version."""

    def __init__(self, prompt_io: PromptIO, request: ApprovalRequest, display: FormatPath, action: ChangeFiles) -> None:
        super().__init__(prompt_io, request, display)
        self._proposal = EditableProposal(action)

    async def _decide(self, body: Sequence[Text], guarded: bool) -> Answer:
        proposal, prompt_io = self._proposal, self._prompt_io
        key = await self._ask_key(self._list_choices(), body, guarded=guarded)
        note = ""
        while key == "e":
            if await edit_proposal(prompt_io, proposal, self._display):
                note = tr("your version:")
                body = prompt_io.render_changes(proposal.changes, self._display)
            elif not prompt_io.questions.is_live:
                key = await prompt_io.questions.ask_key(self._list_choices())
                continue
            key = await self._ask_key(self._list_choices(), body, note=note)
        answer: Answer | None = None
        if key == "y":
            answer = proposal.approve_all()
        elif key == "h":
            answer = await ask_about_hunks(prompt_io, proposal, self._display)
            key = "n"  # no hunk was accepted: the user may tell the model why
        return answer or await self._answer_for_key(key)

    def _list_choices(self) -> dict[str, str]:
        choices = super()._list_choices()
        if self._proposal.is_edited:  # the approval covers this version only, not future calls
            choices = {"n": tr("no, and say why")}
            if self._proposal.changes_anything:
                choices = {"y": tr("yes, this version"), **choices}
        if self._proposal.editable_changes:
            choices["e"] = "edit"
        if self._proposal.has_pieces:
            choices["h"] = tr("by hunks")
        return choices

    def _describe_answer(self, answer: Answer) -> str:
        return self._proposal.describe_answer(answer) if answer.kind == "changed" else super()._describe_answer(answer)


def _render_heading(request: ApprovalRequest, prompt_io: PromptIO) -> Part:
    """Return the title on one row: one of several could hold a row that looks like another question.

    If it does not tell all, what is shown below is left out of it.
    """
    verdict, theme, title = request.verdict, prompt_io.theme, request.title
    style = {"low": theme.good, "medium": theme.warning, "high": theme.bad}[verdict.risk]
    risk = tr("{risk} risk", risk=tr(RISK_LABELS[verdict.risk]))
    is_whole = _is_told_by_title(request, prompt_io)
    title = title if is_whole else _leave_out_content(request)
    return prompt_io.make_title(spell_out_line(title), risk, style, whole=is_whole)


def _leave_out_content(request: ApprovalRequest) -> str:
    """Return the title without the command, address or arguments."""
    title = request.title
    match request.action:
        case RunCommand(command=command):
            beginning = command.strip().partition("\n")[0][:_MIN_COMMAND_CHARS]
            before, found, after = title.partition(beginning)
            return (before.rstrip() + "".join(_TITLE_REMARK.findall(after))) if found else title
        case FetchUrl(url=url, query=query):
            return title.partition(query or url)[0].rstrip(" :") or title
        case CallServer(server=server, tool=tool):
            before, found, _ = title.partition(f"{server}: {tool}")
            return before + found if found else title
        case _:
            return title


_MIN_COMMAND_CHARS = 100  # of a command, by which it is found in its title
_TITLE_REMARK = re.compile(r" \([^()]*\)(?=(?: \([^()]*\))*\Z)")
"""What follows the command in a title, such as "(background)"."""


def _is_told_by_title(request: ApprovalRequest, prompt_io: PromptIO) -> bool:
    """Whether the title is shown whole and, if the action is a command, tells all of it.

    The risk after a title may be on a row of its own, but not after a command.
    """
    cells = count_cells(f"? {spell_out_line(request.title)}")
    if isinstance(request.action, RunCommand):
        command = request.action.command
        if "\n" in command or not request.title.endswith(command):
            return False
        cells += count_cells(" · " + tr("{risk} risk", risk=tr(RISK_LABELS[request.verdict.risk])))
    return cells <= prompt_io.width


class TerminalApprover:
    """Shows what a call would do and asks for one key. `display` names a path in diffs, relative to the workspace."""

    def __init__(self, prompt_io: PromptIO, display: FormatPath = str) -> None:
        self._prompt_io = prompt_io
        self._display = display

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Return the user's answer. Esc and Ctrl-C call `on_interrupt` and mean no."""
        guarded = self._prompt_io.is_typing()
        async with self._prompt_io.suspended():
            if isinstance(request.action, ChangeFiles):
                decision = ChangeApprovalQuestion(self._prompt_io, request, self._display, request.action)
            else:
                decision = ApprovalQuestion(self._prompt_io, request, self._display)
            answer = await decision.ask(guarded)
        if answer.interrupted:
            self._prompt_io.on_interrupt()
        return answer


class TerminalAsker:
    """Asks the user the model's question: a number that is no option chooses one, other text is the answer itself."""

    def __init__(self, prompt_io: PromptIO) -> None:
        self._prompt_io = prompt_io

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Return the chosen option or the user's own text; "" for a bare Enter.

        Raises ToolFailed after Esc or Ctrl-C, which call `on_interrupt`.
        """
        guarded = self._prompt_io.is_typing()
        async with self._prompt_io.suspended():
            parts = self._prompt_io.render_question(clean(question))
            if self._prompt_io.questions.is_live:
                answer = await self._ask_below(parts, options, guarded)
            else:
                answer = await self._ask_line(parts, options)
        if answer is None:
            self._prompt_io.on_interrupt()
            raise ToolFailed("the user interrupted instead of answering")
        # An option may be a number itself: what equals one is that option, not the number of another.
        if (text := answer.strip()) in options:
            return text
        chosen = text.rstrip(".)")
        if chosen.isdecimal() and 1 <= int(chosen) <= len(options):
            return options[int(chosen) - 1]
        return text

    async def _ask_below(self, question: Sequence[Part], options: tuple[str, ...], guarded: bool) -> str | None:
        """Ask where the answer erases the question: the row of the call tells both.

        A question too long for the screen is printed instead, so that it can be read.
        """
        prompt_io = self._prompt_io
        head = prompt_io.render_head(question)
        rows = prompt_io.count_rows([Part(body=f"    {clean_line(option)}") for option in options])
        if len(head) + rows + _ROWS_AROUND > prompt_io.size()[1]:
            prompt_io.print_parts(question)
            head = []
        if rows + _ROWS_AROUND > prompt_io.size()[1]:
            return await self._ask_line([], options)
        return await prompt_io.questions.ask_answer(head, options, guarded=guarded)

    async def _ask_line(self, question: Sequence[Part], options: tuple[str, ...]) -> str | None:
        self._prompt_io.print_parts(question)
        for number, option in enumerate(options, 1):
            row = HangingText(hang=4)
            row.append(f"  {number} ", self._prompt_io.theme.accent).append(clean_line(option))
            self._prompt_io.print_parts([Part(body=row)])
        return await self._prompt_io.questions.ask_line(tr("  number or answer: ") if options else tr("  answer: "))
