"""The whole session as one HTML page: no network, no style or script but its own, readable with scripts off."""

import base64
import hashlib
from html import escape
from pathlib import Path

from clio.export.call_html import Calls
from clio.export.code_html import Colours
from clio.export.diff_html import Diffs
from clio.export.document import Export
from clio.export.head_html import contents, head, state
from clio.export.prose_html import Prose
from clio.export.talk_html import Talk
from clio.export.wording import minute, one_line

_TOOLS = (
    '<div class="tools" role="search">'
    '<input type="search" id="find" placeholder="Search this session" aria-label="Search this session" '
    'autocomplete="off" spellcheck="false">'
    '<output id="hits" aria-live="polite"></output>'
    '<span class="steps">'
    '<button type="button" id="previous" title="Previous (Shift+Enter)" aria-label="Previous hit">↑</button>'
    '<button type="button" id="next" title="Next (Enter)" aria-label="Next hit">↓</button>'
    '<label title="Hide what has no hit"><input type="checkbox" id="only"> only hits</label></span>'
    '<button type="button" id="fold" aria-pressed="false">Unfold</button>'
    '<button type="button" id="theme" aria-label="Light or dark" title="Light or dark">◑</button>'
    "</div>"
)


def page(export: Export) -> str:
    """The page. The same export gives the same bytes."""
    colours, diffs = Colours(), Diffs()
    prose = Prose(colours, diffs)
    talk = Talk(prose, Calls(prose, colours, diffs))
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
        f"<title>{escape(one_line(export.title, 120))}</title>\n",
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n",
        f'<a class="skip" href="#talk">To the conversation</a>\n{_TOOLS}\n<main class="page">\n',
        *head(export),
        *contents(export),
        *state(export),
        '<div id="talk">\n',
        *map(talk.html, export.entries),
        f"</div>\n{_foot(export)}</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _foot(export: Export) -> str:
    return (
        f"<footer><p>Session {escape(export.id)}, exported {minute(export.exported_at)} UTC by clio. Times are in UTC. "
        "Secrets clio knows are replaced; look through the page before you hand it on.</p></footer>\n"
    )
