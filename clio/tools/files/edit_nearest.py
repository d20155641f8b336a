"""What to tell the model when an edit has no place, or several: the closest lines, with white space made visible."""

from collections import Counter, defaultdict

from clio.tools.files.text_lines import LEGEND, body, line_number, split_lines, visible

_MAX_SHOWN = 12
_MAX_PLACES = 10
_MAX_LINES_COMPARED = 20_000
_MAX_CHARS = 200
_ENOUGH = 0.5
"""Share of three-letter sequences a line must have in common to be called close."""


def show_places(text: str, offsets: list[int], how: str, first_line: int) -> str:
    """The message for a search that several places answer."""
    numbers = [line_number(text, offset) + first_line - 1 for offset in offsets[:_MAX_PLACES]]
    listed = ", ".join(map(str, numbers)) + (", …" if len(offsets) > _MAX_PLACES else "")
    lines = text.split("\n")
    shown = [_row(number, lines[number - first_line]) for number in numbers[:3]]
    return (
        f"the text to find stands in {len(offsets):,} places{how}, on lines {listed}; "
        f"add lines around it until only one is meant, or replace all of them\n{LEGEND}:\n" + "\n".join(shown)
    )


def show_nearest(text: str, old: str, first_line: int) -> str:
    """The message for a search that nothing answers."""
    lines, searched = split_lines(text), split_lines(old)
    at = _closest(lines, searched)
    if at is None:
        return "the text to find is not there, nor anything like it; read the file again and copy the lines exactly"
    window = lines[at : at + min(len(searched), _MAX_SHOWN)]
    rows = [_row(at + number + first_line, line) for number, line in enumerate(window)]
    return (
        "the text to find is not there; these lines are the closest, copy them exactly"
        f"\n{LEGEND}:\n" + "\n".join(rows) + _difference(lines, searched, at, first_line)
    )


def _difference(lines: list[str], searched: list[str], at: int, first_line: int) -> str:
    """Both sides of the first line that differs."""
    for number, wanted in enumerate(searched):
        there = lines[at + number] if at + number < len(lines) else None
        if there is None:
            return f"\nthe file ends before: {_short(wanted)}"
        if body(there).rstrip() != body(wanted).rstrip():
            where = at + number + first_line
            return f"\nfirst difference, line {where}:\nyours | {_short(wanted)}\nfile  | {_short(there)}"
    return ""


def _closest(lines: list[str], searched: list[str]) -> int | None:
    """The index of the line where the best matching window begins: by equal lines, else by the most alike one."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        places[line.strip()].append(number)
    votes: Counter[int] = Counter()
    for number, line in enumerate(searched):
        key = line.strip()
        for place in places[key][:100] if key else ():
            votes[place - number] += 1000 // len(places[key]) + len(key)
    if votes:
        best = max(votes.items(), key=lambda vote: (vote[1], -vote[0]))[0]
        return max(0, best)
    return _most_alike(lines[:_MAX_LINES_COMPARED], searched)


def _most_alike(lines: list[str], searched: list[str]) -> int | None:
    number, wanted = max(enumerate(searched), key=lambda item: len(item[1].strip()))
    goal = _grams(wanted)
    best, score = None, _ENOUGH
    for place, line in enumerate(lines):
        grams = _grams(line)
        alike = 2 * len(goal & grams) / (len(goal) + len(grams) or 1)
        if alike > score:
            best, score = place, alike
    return None if best is None else max(0, best - number)


def _grams(line: str) -> set[str]:
    text = line.strip().lower()[:400]
    return {text[at : at + 3] for at in range(max(1, len(text) - 2))} if text else set()


def _row(number: int, line: str) -> str:
    return f"{number} | {_short(line)}"


def _short(line: str) -> str:
    text = visible(line)
    return text if len(text) <= _MAX_CHARS else text[:_MAX_CHARS] + "…"
