"""Show a proposed commit, and let the user accept, edit or reject it."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from rich.text import Text

from clio.text.translation import tr
from clio.ui.hanging_text import indent_line
from clio.ui.painter import Part
from clio.ui.prompt_io import MAX_UNSCROLLED_ROWS, PromptIO
from clio.ui.questions import ENTER
from clio.ui.safe_text import clean, clean_line, spell_out_line

_MAX_LISTED_FILES = 12


class CommitFileRow(Struct, frozen=True):
    """One file of a commit. status_letter: as git shows it. line_counts: such as "+12 −3"."""

    status_letter: str
    path: str
    line_counts: str


class ProposedCommit(Struct, frozen=True, kw_only=True):
    """A proposed commit. target: such as "on main". trailer: the line that git adds at the end; "" for none."""

    message: str
    files: tuple[CommitFileRow, ...]
    stat: str
    target: str
    trailer: str = ""


class CommitAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer to a proposed commit.

    "go": commit. "edit": open the message in the editor. "again": let the model write another message, which should say
    `instructions`. "no": do not commit.
    """

    kind: Literal["go", "edit", "again", "no"]
    instructions: str = ""


class CommitReviewer:
    """Shows what would be committed and asks for one key."""

    def __init__(self, prompt_io: PromptIO) -> None:
        self._prompt_io = prompt_io

    async def choose_files(self, own: Sequence[str], tracked: Sequence[str]) -> Literal["own", "tracked"] | None:
        """Ask which files to commit: those this session changed, or all tracked ones. None for Esc."""
        prompt_io = self._prompt_io
        async with prompt_io.suspended():
            prompt_io.print_parts([prompt_io.make_title("commit", tr("nothing is staged; which files?"))])
            prompt_io.print_parts(self._format_file_names(tr("this session's"), own))
            prompt_io.print_parts(self._format_file_names(tr("all tracked"), tracked))
            choices = {ENTER: tr("this session's"), "a": tr("all tracked"), "n": tr("nothing")}
            key = await prompt_io.questions.ask_key(choices, guarded=prompt_io.is_typing())
        return {ENTER: "own", "a": "tracked"}.get(key or "")  # type: ignore[return-value]

    async def confirm_secrets(self, lines: Sequence[str]) -> bool:
        """Ask whether to commit although these lines contain what looks like secrets."""
        prompt_io = self._prompt_io
        async with prompt_io.suspended():
            prompt_io.print_parts(
                [prompt_io.make_title("commit", tr("these lines look like secrets:"), prompt_io.theme.bad)]
            )
            prompt_io.print_parts(Text(f"  {spell_out_line(line)}") for line in lines)
            prompt_io.print_remark(tr("the model does not see these lines"))
            key = await prompt_io.questions.ask_key(
                {"y": tr("commit anyway"), "n": tr("no")}, guarded=prompt_io.is_typing()
            )
        return key == "y"

    async def confirm_programs(self, lines: Sequence[str]) -> bool:
        """Ask whether git may start these programs with this commit and later ones."""
        prompt_io = self._prompt_io
        async with prompt_io.suspended():
            prompt_io.print_parts(
                [prompt_io.make_title("commit", "git would run programs that this repository configures:")]
            )
            prompt_io.print_parts(Text(f"  {spell_out_line(line)}") for line in lines)
            choices = {"y": tr("allow them"), "n": tr("don't commit")}
            key = await prompt_io.questions.ask_key(choices, guarded=prompt_io.is_typing())
            if key == "y":
                prompt_io.print_remark(tr("allowed in commits of this project until one of these lines changes"))
        return key == "y"

    async def ask_about_commit(self, proposed: ProposedCommit, diff: Callable[[], str]) -> CommitAnswer:
        """Return the user's answer; Esc and Ctrl-C are "no". diff: returns what would be committed, for display."""
        prompt_io = self._prompt_io
        async with prompt_io.suspended():
            self._show_proposal(proposed)
            choices = {
                ENTER: tr("commit"),
                "e": tr("edit"),
                "r": tr("reword"),
                "d": tr("show diff"),
                "n": tr("no"),
            }
            while (key := await prompt_io.questions.ask_key(choices, guarded=True)) == "d":
                prompt_io.print_parts(prompt_io.render_diff(clean(diff())))
            if key == "r":
                instructions = await prompt_io.questions.ask_line(
                    tr("  what should it say? (Enter lets the model decide): "), erase=True
                )
                return (
                    CommitAnswer(kind="no")
                    if instructions is None
                    else CommitAnswer(kind="again", instructions=clean_line(instructions))
                )
        match key:
            case "e":
                return CommitAnswer(kind="edit")
            case _:
                return CommitAnswer(kind="go" if key == ENTER else "no")

    def print_sentence(self, text: str, *, is_error: bool = False) -> None:
        """Print a sentence permanently."""
        self._prompt_io.print_remark(clean_line(text), self._prompt_io.theme.bad if is_error else "")

    def print_output(self, text: str) -> None:
        """Print the output of git and its hooks, at most one screen."""
        lines = [Text(f"  {line}") for line in clean(text).splitlines()]
        self._prompt_io.print_parts(self._prompt_io.render_excerpt(lines, MAX_UNSCROLLED_ROWS))

    def _show_proposal(self, proposed: ProposedCommit) -> None:
        prompt_io, theme = self._prompt_io, self._prompt_io.theme
        prompt_io.print_parts([prompt_io.make_title("commit", f"{proposed.stat} · {clean_line(proposed.target)}")])
        subject, *rest = clean(proposed.message).splitlines() or [""]
        prompt_io.print_parts([indent_line(subject, theme.strong), *(indent_line(line) for line in rest)])
        if proposed.trailer:
            prompt_io.print_parts([Text(""), indent_line(clean_line(proposed.trailer), theme.faint)])
        faint = theme.faint
        rows = [
            Text.assemble((f"  {file.status_letter} ", faint), clean_line(file.path), (f"  {file.line_counts}", faint))
            for file in proposed.files
        ]
        prompt_io.print_parts([Text(""), *prompt_io.render_excerpt(rows, _MAX_LISTED_FILES)])

    def _format_file_names(self, title: str, paths: Sequence[str]) -> list[Part]:
        shown = ", ".join(clean_line(path) for path in paths[:6])
        more = tr(" and {count} more", count=len(paths) - 6) if len(paths) > 6 else ""
        return [indent_line(f"{title}: {shown}{more}", columns=2)]
