"""The conversation as HTML: what was said, what was called, and where the window was trimmed."""

from html import escape

from clio.export.call_html import Calls
from clio.export.document import Cut, Entry, Said
from clio.export.prose_html import Prose
from clio.export.wording import clock, cut_line, machine_time, minute, tokens

_ORIGINS = {
    "continue": "clio, to go on",
    "recovery": "clio, after a shortening",
    "interrupt": "clio, after an interruption",
}
_FINISHES = {
    "interrupted": "interrupted",
    "length": "cut off by the output limit",
    "content_filter": "ended by the server's content filter",
}


class Talk:
    """Renders the entries of one page, in their order."""

    def __init__(self, prose: Prose, calls: Calls) -> None:
        self._prose = prose
        self._calls = calls
        self._turn = 0
        self._day = ""

    def html(self, entry: Entry) -> str:
        """One message or trim."""
        if isinstance(entry, Cut):
            return self._cut(entry)
        match entry.role:
            case "user" if entry.origin == "user":
                return self._user(entry)
            case "user":
                return self._aside(entry, _ORIGINS[entry.origin], "note")
            case "system":
                return self._aside(entry, "system prompt", "note")
            case "assistant":
                return self._answer(entry)
            case "tool":
                return self._tool(entry)

    def _user(self, entry: Said) -> str:
        self._turn += 1
        return (
            f'<article class="m user" id="{entry.anchor}"><h2><span class="who">User</span>'
            f'<span class="number">{self._turn}</span>{self._time(entry)}{_link(entry)}</h2>'
            f"{_folded('what clio told the model beside these words', entry.context)}"
            f'<div class="words" dir="auto">{self._prose.as_written(entry.text)}</div></article>\n'
        )

    def _answer(self, entry: Said) -> str:
        words = f'<div class="words" dir="auto">{self._prose.markdown(entry.text)}</div>' if entry.text.strip() else ""
        finish = _FINISHES.get(entry.finish_reason, "")
        about = [f"step {entry.step}", tokens(entry.usage) if entry.usage else "", finish]
        return (
            f'<article class="m clio{" first" if entry.step == 1 else ""}" id="{entry.anchor}">'
            f'<h3><span class="who">clio</span><span class="model">{escape(entry.model)}</span>'
            f'<span class="about">{" · ".join(filter(None, about))}</span>{self._time(entry)}{_link(entry)}</h3>'
            f"{_folded('thinking', entry.reasoning)}{words}{''.join(map(self._calls.html, entry.calls))}</article>\n"
        )

    def _tool(self, entry: Said) -> str:
        calls = "".join(map(self._calls.html, entry.calls))
        return f'<article class="m clio" id="{entry.anchor}">{calls}</article>\n'

    def _aside(self, entry: Said, label: str, kind: str) -> str:
        return (
            f'<article class="m {kind}" id="{entry.anchor}"><details><summary>{label}'
            f"{self._time(entry)}{_link(entry)}</summary>"
            f'<div class="said" dir="auto">{escape(entry.text)}</div></details></article>\n'
        )

    def _cut(self, cut: Cut) -> str:
        handle = f' <span class="handle">{escape(cut.handle)}</span>'
        line = f"{escape(cut_line(cut))}{handle}{self._time(cut)}{_link(cut)}"
        ends = ""
        if cut.first_anchor:
            ends = (
                f'<p class="ends">From <a href="#{cut.first_anchor}">the first</a> to '
                f'<a href="#{cut.last_anchor}">the last</a> of them; they stay in the session and in this page. '
                "From here on the model read a summary of them:</p>"
            )
        body = f'{ends}<div class="said" dir="auto">{escape(cut.summary)}</div>' if cut.summary else ends
        inner = f"<details><summary>{line}</summary>{body}</details>" if body else f"<p>{line}</p>"
        return f'<aside class="m trim" id="{cut.anchor}">{inner}</aside>\n'

    def _time(self, entry: Entry) -> str:
        """The time of the day; the first of a day has its date."""
        when = minute(entry.created)
        if not when:
            return ""
        shown = clock(entry.created) if when[:10] == self._day else when
        self._day = when[:10]
        return f'<time datetime="{machine_time(entry.created)}" title="{when} UTC">{shown}</time>'


def _folded(label: str, text: str) -> str:
    if not text.strip():
        return ""
    return (
        f'<details class="more"><summary>{label}</summary><div class="said" dir="auto">{escape(text)}</div></details>'
    )


def _link(entry: Entry) -> str:
    return f'<a class="link" href="#{entry.anchor}" aria-label="Link to this place">#</a>'
