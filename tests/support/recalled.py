"""Parse the lines of automatic recall."""

import re

_LINE = re.compile(r"- (?P<when>[^,]+), (?P<source>[^:]+?): (?P<content>.*?)(?: \[(?P<note>[^\]]*)\])?")
_BY = (
    ", noted by the assistant, unverified",
    ", from the user",
    ", from the assistant",
    ", noted by the assistant",
    ", quoted from a tool, unverified",
)
_BY_DOCUMENT = ", quoted, unverified"


def recalled_lines(text: str) -> list[dict[str, str]]:
    """Return each line after the first as a dictionary: when, type, by, content, and note if there is one."""
    found: list[dict[str, str]] = []
    for line in text.splitlines()[1:]:
        match = _LINE.fullmatch(line)
        assert match, line
        by = next((one for one in (*_BY, _BY_DOCUMENT) if match["source"].endswith(one)), "")
        content = match["content"]
        quoted = "quoted" in by
        assert not quoted or (content[0], content[-1]) == ("“", "”"), line
        entry = {"when": match["when"], "type": match["source"].removesuffix(by), "by": by.removeprefix(", ")}
        entry["content"] = content[1:-1] if quoted else content
        entry["note"] = match["note"] or ""
        found.append({key: value for key, value in entry.items() if value})
    return found
