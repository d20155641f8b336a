"""What is still to be done after a command, each as a value that names it; the entrypoint carries it out.

Those that end in a result of their own stand beside it, in `clio.commands.result`.
"""

from typing import Literal

from msgspec import Struct

from clio.commands.tables import Table
from clio.config.schema import ApprovalMode

ExportForm = Literal["html", "md", "json"]


class Quit(Struct, frozen=True, kw_only=True, tag="quit"):
    """Leave clio."""


class ClearScreen(Struct, frozen=True, kw_only=True, tag="clear_screen"):
    """Empty the terminal; the conversation stays."""


class SwitchSession(Struct, frozen=True, kw_only=True, tag="switch_session"):
    """Go on with another stored session."""

    session_id: str


class NewSession(Struct, frozen=True, kw_only=True, tag="new_session"):
    """Start an empty session; the one before stays on disk."""

    name: str | None = None


class SetModel(Struct, frozen=True, kw_only=True, tag="set_model"):
    """Talk to another model from the next turn on."""

    name: str


class SetApproval(Struct, frozen=True, kw_only=True, tag="set_approval"):
    """Decide anew who says yes to writes and commands."""

    mode: ApprovalMode


class ReviewPlan(Struct, frozen=True, kw_only=True, tag="review_plan"):
    """Show the plan and let the person approve, edit or decline it."""


class RunPrompt(Struct, frozen=True, kw_only=True, tag="run_prompt"):
    """Send this text as if the person had typed it."""

    text: str


class GrantTrust(Struct, frozen=True, kw_only=True, tag="grant_trust"):
    """Let the project's withheld settings count from now on."""


class LoadWindow(Struct, frozen=True, kw_only=True, tag="load_window"):
    """Find out how large the model's window is, which may mean to ask its server; then run `then`, a command line."""

    then: str


class Prefill(Struct, frozen=True, kw_only=True, tag="prefill"):
    """Put this text on the next prompt line, where Enter runs it and everything else edits it."""

    text: str


class ExportSession(Struct, frozen=True, kw_only=True, tag="export_session"):
    """Write a stored session as one text to hand on.

    path: as the person gave it; "-" is standard output. form: None goes by the path's ending.
    force: what is there already is replaced.
    """

    session_id: str
    path: str
    form: ExportForm | None = None
    force: bool = False


class SleepNow(Struct, frozen=True, kw_only=True, tag="sleep_now"):
    """Learn from earlier sessions; dry_run: only find out what would be done."""

    dry_run: bool = False


class SetTheme(Struct, frozen=True, kw_only=True, tag="set_theme"):
    """Draw everything in the colours of this theme from now on, and remember it; "" shows what there is."""

    name: str


class GitWork(Struct, frozen=True, kw_only=True, tag="git_work"):
    """Commit with the person's yes to message and files, or put into words what a branch holds; nothing is pushed.

    words: for a commit what its message is to say, for "pr" the branch to compare with; "" leaves it to be found out.
    file: where the text of a pull request is written; "" shows it.
    """

    kind: Literal["commit", "pr"]
    words: str = ""
    file: str = ""


class Confirm(Struct, frozen=True, kw_only=True, tag="confirm"):
    """Ask yes or no; on yes, run `then`, itself a command line with its slash.

    word: what must be typed to agree, for what nobody should do by one key; empty where a "y" will do.
    """

    question: str
    then: str
    word: str = ""


class Choose(Struct, frozen=True, kw_only=True, tag="choose"):
    """Let the user choose a row of a table; run the command `then` with its value behind it.

    values: one for each row. start: the row to begin on. Where no list can be drawn, the result's own text and table
    say how to choose.
    """

    title: str
    table: Table
    values: tuple[str, ...]
    then: str
    start: int = 0
