"""What was found, as an answer: passages with `path:line`, nothing that is not in them."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.algorithms.markdown_code import block
from clio.providers import offline_memory
from clio.providers.offline_memory import Found
from clio.providers.offline_plan import Lookup, Plan, forget_entry, name_stem

INTRODUCTION = (
    "*clio is offline: no language model is connected, so this is looked up and quoted, not reasoned. "
    "To connect one, set `OPENAI_API_KEY`, start a local server such as Ollama, or give `--base-url` and `--model`.*"
)
_HIT = LatePattern(r"^(?P<line>\d+):(?P<text>.*)$")
_NUMBER = LatePattern(r"^\s*\d+[|→]")
_DEFINITION = 1.5  # a place that defines the name says more than one that uses it
_IN_NAME = 0.8  # the file is named after it
_TEST = -0.75  # tests repeat the names of what they test
_MAX_HITS, _MAX_HITS_A_FILE, _MAX_PASSAGES = 6, 2, 2
_PASSAGE_BEFORE, _PASSAGE_LINES = 1, 12
_MAX_SHOWN_CHARS = 6_000


class Hit(Struct, frozen=True, kw_only=True):
    """A line of code that may be the answer."""

    path: str
    line: int
    text: str
    score: float


def further_lookups(plan: Plan, found: Sequence[Found]) -> tuple[Lookup, ...]:
    """Read the passages around the best hits; forget the entry that is meant, where that is only one."""
    if plan.kind == "forget":
        meant = [id for id, _ in offline_memory.entries_meant(plan, found)]
        return (forget_entry(meant[0]),) if len(meant) == 1 else ()
    if plan.kind != "search":
        return ()
    return tuple(
        Lookup(
            tool="read_file",
            arguments={"path": hit.path, "offset": max(1, hit.line - _PASSAGE_BEFORE), "limit": _PASSAGE_LINES},
        )
        for hit in rank(plan.subject, found)[:_MAX_PASSAGES]
    )


def rank(subject: str, found: Iterable[Found]) -> list[Hit]:
    """The hits of all text searches, best first; those that hold less than half of the words are left out."""
    stems = [name_stem(word).casefold() for word in subject.split()]
    lines = [
        (order == 0, *hit)
        for order, item in enumerate(item for item in found if item.lookup.tool == "search_text")
        for hit in _hits(item.result.content)
    ]
    weights = _weights(stems, [text for _, _, _, text in lines])
    best: dict[tuple[str, int], Hit] = {}
    for defines, path, line, text in lines:
        score = _score(weights, path, text, defines=defines)
        if sum(stem in text.casefold() or stem in path.casefold() for stem in stems) * 2 >= len(stems):
            best.setdefault((path, line), Hit(path=path, line=line, text=text.strip(), score=score))
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.path, hit.line))
    taken: dict[str, int] = {}
    kept: list[Hit] = []
    for hit in ranked:
        taken[hit.path] = taken.get(hit.path, 0) + 1
        if taken[hit.path] <= _MAX_HITS_A_FILE:
            kept.append(hit)
    return kept[:_MAX_HITS]


def _weights(stems: list[str], texts: list[str]) -> dict[str, float]:
    """How much each word says: 1.0 for one in every line found, up to 1.5 for a rare one."""
    total = max(len(texts), 1)
    return {stem: 1.5 - 0.5 * sum(stem in text.casefold() for text in texts) / total for stem in stems}


def _score(weights: dict[str, float], path: str, text: str, *, defines: bool) -> float:
    line, place, name = text.casefold(), path.casefold(), PurePosixPath(path).name.casefold()
    score = sum(weight for stem, weight in weights.items() if stem in line)
    score += _IN_NAME * sum(weight for stem, weight in weights.items() if stem in name)
    if defines:
        score += _DEFINITION
    if "test" in place and "test" not in weights:
        score += _TEST
    return score


def _hits(content: str) -> Iterable[tuple[str, int, str]]:
    path = ""
    for row, line in enumerate(lines := content.splitlines()):
        match = _HIT.match(line) if path else None
        if match is not None:
            yield path, int(match["line"]), match["text"]
        elif row == 0 or not lines[row - 1]:  # a path heads the lines of its file, after an empty line
            path = line


def compose(plan: Plan, rounds: Sequence[Sequence[Found]], *, introduce: bool) -> str:
    """The answer as Markdown."""
    found = [item for each in rounds for item in each]
    match plan.kind:
        case "remember":
            body = offline_memory.remembered(plan, found)
        case "forget":
            body = offline_memory.forgotten(plan, found)
        case "show":
            body = "\n\n".join(_shown(item) for item in found)
        case "search":
            body = _searched(plan, found)
        case _:
            body = "Name something to look for: a word, a name from the code, a file, or `git status`."
    return f"{INTRODUCTION}\n\n{body}" if introduce else body


def _shown(item: Found) -> str:
    text = item.result.content
    if not item.result.ok and item.lookup.tool != "run_command":
        return text
    if item.lookup.tool == "read_file":
        text = plain_lines(text)
    cut = text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "\n…"
    return _fenced(cut, _language(str(item.lookup.arguments.get("path", ""))))


def _searched(plan: Plan, found: Sequence[Found]) -> str:
    sections = [
        _section("Project memory", offline_memory.answered(found, "search")),
        _section("Remembered", offline_memory.memories(found)),
        _section("Code", _code(plan, found)),
        _section("Files", _files(found)),
        _section("Earlier sessions", offline_memory.said_before(plan, found)),
    ]
    body = "\n\n".join(section for section in sections if section)
    if body:
        return body
    return f"Nothing found for *{plan.subject}* in memory, earlier sessions or the code. Try other words."


def _section(title: str, body: str) -> str:
    return f"**{title}**\n\n{body}" if body else ""


def _code(plan: Plan, found: Sequence[Found]) -> str:
    passages = [item for item in found if item.lookup.tool == "read_file" and item.result.ok]
    quoted = [_passage(item) for item in passages]
    read = {(str(item.lookup.arguments["path"]), int(item.lookup.arguments["offset"])) for item in passages}
    others = [
        f"- `{hit.path}:{hit.line}` {_inline(hit.text)}"
        for hit in rank(plan.subject, found)
        if (hit.path, max(1, hit.line - _PASSAGE_BEFORE)) not in read
    ]
    return "\n\n".join([*quoted, *(["\n".join(others)] if others else [])])


def _passage(item: Found) -> str:
    path, offset = str(item.lookup.arguments["path"]), int(item.lookup.arguments["offset"])
    line = offset + _PASSAGE_BEFORE if offset > 1 else 1
    return f"`{path}:{line}`\n{_fenced(plain_lines(item.result.content), _language(path))}"


def _files(found: Sequence[Found]) -> str:
    names: dict[str, None] = {}
    for item in found:
        if item.lookup.tool == "find_files" and item.result.ok and not offline_memory.is_empty(item):
            names.update((line, None) for line in item.result.content.splitlines() if _is_path(line))
    return "\n".join(f"- `{name}`" for name in list(names)[:_MAX_HITS])


def plain_lines(numbered: str) -> str:
    """What read_file answers, as the file has it: without line numbers and without the notice of where it stopped."""
    lines = [_NUMBER.sub("", line) for line in numbered.splitlines() if _NUMBER.match(line)]
    return "\n".join(lines).strip("\n") if lines else numbered


def _is_path(line: str) -> bool:
    return bool(line) and not line.startswith("[") and " " not in line


def _fenced(text: str, language: str) -> str:
    return block(text.rstrip(), language)


def _inline(text: str) -> str:
    return f"`{text[:120]}`" if text and "`" not in text else text[:120]


def _language(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".")
