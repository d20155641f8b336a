"""A unified diff in sentences: how much of which file changes, then what becomes of each line."""

from collections.abc import Iterator

from clio.ui.diffs.parse import DiffRow, ParsedDiff, parse_diff
from clio.ui.footer.status import plural
from clio.ui.reader.spoken import Exact, spoken, undrawn

_MAX_CHARS = 2_000


def spoken_diff(diff: str, *, names: bool | None = None, max_lines: int | None = None, hint: str = "") -> list[str]:
    """The sentences. Lines that stay as they are are not said: their numbers tell where a change stands.

    names: whether files are named; None names them where there are several. max_lines: of so many changed lines no
    more are said, and how many are missing. hint: how to hear the rest.
    """
    parsed = parse_diff(diff)
    named = len(parsed.counts) > 1 if names is None else names
    lines = list(_lines(parsed, named))
    said = lines if max_lines is None or len(lines) <= max_lines + 1 else lines[: max_lines + 1]
    more = len(lines) - len(said)
    return [*said, f"{plural(more, 'more line')}{hint}"] if more else list(said)


def _lines(parsed: ParsedDiff, named: bool) -> Iterator[str]:
    if not parsed.rows:
        return
    if not named:
        kinds = [row.kind for row in parsed.rows]
        yield _counts(kinds.count("added"), kinds.count("removed"))
    for place, row in enumerate(parsed.rows):
        match row.kind:
            case "file" if named:
                yield f"{spoken(row.text)}: {_counts(*parsed.counts[place])}"
            case "added" | "removed":
                yield Exact(f"line {row.number} {row.kind}: {_content(row)}")
            case "note":
                yield spoken(row.text.removeprefix("\\ "))
            case _:
                pass


def _counts(added: int, removed: int) -> str:
    """ "2 lines added, 1 line removed"."""
    parts = [f"{plural(added, 'line')} added"] * bool(added) + [f"{plural(removed, 'line')} removed"] * bool(removed)
    return ", ".join(parts) or "no line changed"


def _content(row: DiffRow) -> str:
    """The line itself, its indentation kept; what nobody would hear is said."""
    text = row.text.expandtabs(4)
    bare = text.rstrip(" ")
    if not bare:
        return f"{plural(len(text), 'blank')} only" if text else "empty"
    left = f" ... {len(bare) - _MAX_CHARS:,} more characters" if len(bare) > _MAX_CHARS else ""
    blanks = f" (then {plural(len(text) - len(bare), 'blank')})" if len(text) > len(bare) else ""
    return undrawn(bare[:_MAX_CHARS]) + left + blanks
