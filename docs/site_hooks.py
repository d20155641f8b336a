"""Mends the pages of the site where they would differ from those a code host shows; mkdocs.yml names this file."""

import re

_CELL = re.compile(r"<td.*?</td>", re.DOTALL)
_SHORT_CODE = re.compile(r"<code>([^<\n]{1,32})</code>")


def on_page_content(html: str, **_: object) -> str:
    r"""Show `\|` in the code of a table's cell as "|", and keep short code in text, such as a flag, on one line."""
    html = _CELL.sub(lambda cell: cell[0].replace(r"\|", "|<wbr>"), html)
    return _SHORT_CODE.sub(r'<code class="short">\1</code>', html)
