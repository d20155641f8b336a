"""What is true of the session, in the order of its importance. All pure.

The facts are the same below a prompt and below a running turn; a narrow terminal drops the last ones.
"""

from msgspec import Struct

from clio.ui.footer.status import format_tokens
from clio.ui.plain import clean_line

_BAR_CELLS = 5
_FULL, _EMPTY = "▰", "▱"


class Facts(Struct, frozen=True, kw_only=True):
    """What is true of the session; "" and None are left out.

    sandbox: such as "sandbox bwrap". silent: such as "incognito". context: the share of the window the last request
    took, 0 to 1. todo: the item in work. work: what goes on in the background. cost: of the session, in money.
    tokens: of the session, in and out.
    """

    model: str = ""
    effort: str = ""
    mode: str = ""
    sandbox: str = ""
    silent: str = ""
    context: float | None = None
    todo: str = ""
    work: str = ""
    branch: str = ""
    cost: str = ""
    tokens: int = 0
    style: str = ""
    name: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """For the line, most important first. Names of branches, sessions and models are other people's words."""
        parts = (
            f"{self.model} {self.effort}".strip(),
            self.mode,
            self.sandbox,
            self.silent,
            context_bar(self.context) if self.context is not None else "",
            self.todo,
            self.work,
            self.branch,
            self.cost,
            f"{format_tokens(self.tokens)} tokens" if self.tokens else "",
            self.style,
            self.name,
        )
        return tuple(map(clean_line, parts))

    @property
    def spoken(self) -> tuple[str, ...]:
        """The same for a reader aloud, each with what it is."""
        named = (
            ("model", self.model),
            ("effort", self.effort),
            ("approval mode", self.mode),
            ("", self.sandbox),
            ("", self.silent),
            ("", f"window {round(self.context * 100)} percent full" if self.context is not None else ""),
            ("item", self.todo.replace("/", " of ", 1)),
            ("", self.work),
            ("branch", self.branch),
            ("cost", self.cost),
            ("", f"{format_tokens(self.tokens)} tokens" if self.tokens else ""),
            ("style", self.style),
            ("session", self.name),
        )
        return tuple(f"{name} {clean_line(value)}".strip() for name, value in named if value)


def context_bar(share: float) -> str:
    """A share of the window as five cells and a number: "▰▰▱▱▱ 38 %"."""
    full = min(max(round(share * _BAR_CELLS), int(share > 0)), _BAR_CELLS)
    return f"{_FULL * full}{_EMPTY * (_BAR_CELLS - full)} {round(share * 100)} %"
