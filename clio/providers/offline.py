"""The provider without a language model: it answers with tool calls and quotes their results."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage
from clio.providers.base import CONNECT_MODEL, NO_MODEL, ChatRequest, Chunk, ModelLimits, ToolCallDelta
from clio.text.formatting import capitalize, format_code_block
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import english, tr
from clio.text.vocabulary import STOP_WORDS, is_question


class Lookup(Struct, frozen=True, kw_only=True):
    """A tool call to make. arguments: plain values of the tool's parameters."""

    tool: str
    arguments: dict[str, str | int | bool]


class LookupPlan(Struct, frozen=True, kw_only=True):
    """The tool calls for a question. kind: how the answer is composed of their results."""

    kind: str
    lookups: tuple[Lookup, ...]
    subject: str = ""


_GREETING = LazyRegex(
    r"^\s*(?:hi|hello|hey|good (?:morning|day|evening)|thanks?|thank you|ok(?:ay)?)(?:[ ,]+(?:there|clio))?[\s.!]*$",
    re.I,
)
_REMEMBER = LazyRegex(
    r"^\s*(?:please\s+|and\s+)?(?:remember|note|keep in mind|learn|don't forget)(?:\s+that|\s*[:,])?\s+(?P<fact>.+)$",
    re.I | re.S,
)
_FORGET = LazyRegex(
    r"^\s*(?:please\s+)?(?:forget|unlearn)(?:\s+(?:that|about|what you (?:know|remember) about))?\s*:?\s+"
    r"(?P<what>.+?)\s*[.!]?\s*$",
    re.I | re.S,
)
_MEMORY_ID = LazyRegex(r"[a-z]-[0-9a-f]{4,}|[0-9a-f]{8}", re.I)
_RUN = LazyRegex(r"^\s*(?:please\s+)?run\s*:?\s+`?(?P<command>[^`]+?)`?\s*$", re.I | re.S)
_READ_REQUEST = LazyRegex(
    r"^\s*(?:please\s+)?(?:read|show|open|cat|print|view)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?"
    r"`?(?P<path>[\w./\\~-]*[\w-](?:\.\w+|/[\w.-]+))`?"
    r"(?:\s*:\s*(?P<start>\d+)(?:\s*-\s*(?P<end>\d+))?)?\s*[.?!]?\s*$",
    re.I,
)
_REPLACE = LazyRegex(
    r"^\s*(?:please\s+)?(?:replace|change)\s+(?P<quote>[`\"'])(?P<old>.+?)(?P=quote)\s+(?:with|by|to)\s+"
    r"(?P=quote)(?P<new>.*)(?P=quote)\s+in\s+(?:the\s+)?(?:file\s+)?`?(?P<path>[^`\s]+?)`?\s*[.!]?\s*$",
    re.I | re.S,
)
_GIT: tuple[tuple[LazyRegex, str], ...] = (
    (LazyRegex(r"\b(?:git\s+log|recent commits?|last commits?|commit history|which commits?)\b", re.I), "log"),
    (LazyRegex(r"\b(?:git\s+diff|show (?:me )?the diff|what (?:did i|has) changed?)\b", re.I), "diff"),
    (
        LazyRegex(
            r"\b(?:git\s+(?:status|state)|which branch|what branch|uncommitted|working tree|current branch)\b", re.I
        ),
        "status",
    ),
)
_LIST = LazyRegex(
    r"^\s*(?:please\s+)?(?:list|show)\s+(?:me\s+)?(?:all\s+|the\s+)*files\b|^\s*(?:what|which) files\b", re.I
)
_SESSIONS = LazyRegex(
    r"\b(?:(?:earlier|previous|last|past|other) (?:session|conversation|chat|time)s?"
    r"|did (?:we|i|you) (?:say|talk|discuss|decide))\b",
    re.I,
)
_WORD = LazyRegex(r"[^\W_]+")
_IDENTIFIER = LazyRegex(r"`([^`]+)`|\b([A-Za-z_]\w*(?:_\w+|[a-z][A-Z]\w*)|[A-Za-z_]\w*(?=\(\)))")
# Keywords of definitions in common languages; the defined name follows.
_DEFINES = r"(?:def|class|fn|func|function|struct|enum|trait|interface|type|module|impl|sub|package|const|let|var)"
# Words of the question that describe the search itself.
_SEARCH_VERBS = frozenset(
    "find search look locate tell show explain defined definition implemented code file files".split()
)
_MAX_WORDS = 6
_MAX_MEMORIES = 3
_ENDINGS = LazyRegex(r"(?:ies|y|es|s|ing|ed)$")


def plan_lookups(question: str) -> LookupPlan:
    """Return the tool calls that may answer a question. The first matching rule decides."""
    if _GREETING.match(question):
        return LookupPlan(kind="nothing", lookups=())
    for rule in (_plan_remember, _plan_forget, _plan_command, _plan_replace, _plan_read, _plan_git, _plan_list):
        plan = rule(question)
        if plan is not None:
            return plan
    return _plan_search(question)


def _plan_remember(question: str) -> LookupPlan | None:
    match = _REMEMBER.match(question)
    if match is None:
        return None
    fact = match["fact"].strip()
    calls = (  # clio saves the two facts of "… that A is red and that B is blue" separately
        Lookup(tool="memory_operations", arguments={"operation": "remember", "content": one})
        for one in re.split(r",? and that (?=\S+ \S)", fact)
    )
    return LookupPlan(kind="remember", lookups=tuple(calls), subject=fact)


def _plan_forget(question: str) -> LookupPlan | None:
    """Forget a memory named by its id; search first for one described by its content."""
    match = _FORGET.match(question)
    if match is None:
        return None
    description = match["what"].strip()
    if _MEMORY_ID.fullmatch(description):
        return LookupPlan(kind="forget", lookups=(make_forget_lookup(description.lower()),), subject=description)
    query = " ".join(find_search_words(description))
    if not query:
        return None
    calls = (
        Lookup(tool="memory_operations", arguments={"operation": "search", "query": query}),
        Lookup(tool="memory_operations", arguments={"operation": "recall", "query": query, "type": "!preference"}),
    )
    return LookupPlan(kind="forget", lookups=calls, subject=query)


def make_forget_lookup(memory_id: str) -> Lookup:
    """Return the tool call that moves a memory to the archive."""
    return Lookup(tool="memory_operations", arguments={"operation": "forget", "id": memory_id})


def _plan_command(question: str) -> LookupPlan | None:
    match = _RUN.match(question)
    if match is None:
        return None
    command = match["command"].strip()
    return LookupPlan(
        kind="show", lookups=(Lookup(tool="run_command", arguments={"command": command}),), subject=command
    )


def _plan_replace(question: str) -> LookupPlan | None:
    """Replace text that is quoted in the question; the tool refuses text that is not unique in the file."""
    match = _REPLACE.match(question)
    if match is None:
        return None
    arguments: dict[str, str | int | bool] = {
        "path": match["path"],
        "old_string": match["old"],
        "new_string": match["new"],
    }
    return LookupPlan(kind="edit", lookups=(Lookup(tool="edit_file", arguments=arguments),), subject=match["path"])


def _plan_read(question: str) -> LookupPlan | None:
    match = _READ_REQUEST.match(question)
    if match is None:
        return None
    arguments: dict[str, str | int | bool] = {"path": match["path"]}
    if match["start"]:
        start, end = int(match["start"]), int(match["end"] or match["start"])
        arguments |= {"offset": start, "limit": max(end - start + 1, 1)}
    return LookupPlan(kind="show", lookups=(Lookup(tool="read_file", arguments=arguments),), subject=match["path"])


def _plan_git(question: str) -> LookupPlan | None:
    for pattern, operation in _GIT:
        if pattern.search(question):
            call = Lookup(tool="git", arguments={"operation": operation})
            return LookupPlan(kind="show", lookups=(call,), subject=f"git {operation}")
    return None


def _plan_list(question: str) -> LookupPlan | None:
    if _LIST.match(question) is None:
        return None
    return LookupPlan(kind="show", lookups=(Lookup(tool="list_files", arguments={}),), subject="files")


def _plan_search(question: str) -> LookupPlan:
    """Plan a search of memories, earlier sessions, definitions, lines with several of the words, and file names."""
    words = find_search_words(question)
    if not words:
        return LookupPlan(kind="nothing", lookups=())
    query = " ".join(words)
    memory = (
        Lookup(tool="memory_operations", arguments={"operation": "search", "query": query}),
        Lookup(tool="memory_operations", arguments={"operation": "recall", "query": query, "limit": _MAX_MEMORIES}),
        Lookup(tool="memory_operations", arguments={"operation": "search_sessions", "query": query}),
    )
    if _SESSIONS.search(question):
        return LookupPlan(kind="search", lookups=memory, subject=query)
    return LookupPlan(kind="search", lookups=memory + _plan_code_search(words), subject=query)


def _plan_code_search(words: list[str]) -> tuple[Lookup, ...]:
    stems = [re.escape(find_stem(word)) for word in words]
    any_word = "|".join(stems)
    definition = (
        rf"^\s*(?:(?:export|pub|public|private|static|async|abstract|default)\s+)*{_DEFINES}\s+\w*(?:{any_word})"
    )
    lookups = [Lookup(tool="search_text", arguments={"pattern": definition, "ignore_case": True})]
    if len(words) > 1:
        pairs = "|".join(f"{a}.*{b}" for a in stems for b in stems if a != b)
        lookups.append(Lookup(tool="search_text", arguments={"pattern": pairs, "ignore_case": True}))
    else:
        lookups.append(Lookup(tool="search_text", arguments={"pattern": any_word, "ignore_case": True}))
    lookups += [Lookup(tool="find_files", arguments={"pattern": f"*{find_stem(word)}*"}) for word in words[:3]]
    return tuple(lookups)


def find_search_words(question: str) -> list[str]:
    """Return up to six different words to search for, identifiers first.

    A question of one word is searched for that word, and one of verbs of searching only, such as "show code", for them.
    """
    identifiers = [quoted or name for quoted, name in _IDENTIFIER.findall(question)]
    parts = {part for name in identifiers for part in _WORD.findall(name.lower())}
    typed = _WORD.findall(question.lower())
    plain = [word for word in typed if (word not in STOP_WORDS or len(typed) == 1) and word not in parts]
    words = dict.fromkeys([*(name.strip() for name in identifiers), *plain])
    long = [word for word in words if len(word) > 1 or len(words) == 1]
    return ([word for word in long if word not in _SEARCH_VERBS] or long)[:_MAX_WORDS]


def find_stem(word: str) -> str:
    """Return a word without variable endings ("retries", "retry" → "retr"), so that it is found in identifiers."""
    short = _ENDINGS.sub("", word) if word.islower() and len(word) > 4 else word
    return short if len(short) >= 3 else word


# The lines of results of memory_operations.
_MEMORY_LINE = LazyRegex(r"^- (?P<kind>[a-z]+) (?P<id>.+?): (?P<text>.*)$")
_SESSION = LazyRegex(
    r"^## (?P<title>.*) \((?P<when>[\d-]+|undated)[^(]*?, session [^\s,;)]+(?:, this session)?(?:; commits: .*)?\)$"
)
_PASSAGE = LazyRegex(
    r"^- (?P<when>\S+)(?: \S+)? (?P<role>user|assistant|tool)(?:, older)?, \S+(?: \[[^\]]*\])?: (?P<text>.*)$"
)
_RECALLED_LINE = LazyRegex(r"^- (?P<id>\S+) \((?P<kind>\w+), (?P<when>[\d-]+(?:, no longer so)?)\): (?P<text>.*)$")
_QUOTES_CODE = LazyRegex(r"`[^`\s]+:\d+`|\*\*Files\*\*")
_MAX_EARLIER = 3
_MIN_NEW_WORDS, _MIN_NEW_WORDS_OF_QUESTION = 1, 5
"""Number of words, without stop words, that a passage must add to the question; an earlier question must add more, or
it is the same question again.
"""


class LookupResult(Struct, frozen=True, kw_only=True):
    """A tool call and its result."""

    lookup: Lookup
    result: ToolMessage


def is_empty_result(item: LookupResult) -> bool:
    """Whether the tool call found nothing."""
    return english(item.result.summary).startswith(("nothing", "no "))


def join_results(results: Sequence[LookupResult], operation: str) -> str:
    """Return the results of one operation of memory_operations."""
    return "\n".join(item.result.content.strip() for item in _filter_results(results, operation) if item.result.ok)


def describe_remembered(plan: LookupPlan, results: Sequence[LookupResult]) -> str:
    """Say whether the fact is stored."""
    failed = [item.result.content for item in results if not item.result.ok]
    if failed or not results:
        return tr("Not saved: {failure}.", failure=_describe_failure(failed))
    if english(results[0].result.summary).startswith("saved already"):
        return tr("Remembered.")  # clio itself saved the user's statement before this call, and reported it
    is_known = english(results[0].result.summary).startswith("confirmed")
    saved = tr("Already in project memory, now confirmed") if is_known else tr("Saved to project memory")
    return f"{saved}: {plan.subject}"


def _describe_failure(failed: Sequence[str]) -> str:
    """Return the reason for the user: without the advice after the semicolon, which is for a model."""
    reason = failed[0].removeprefix("not allowed: ") if failed else tr("memory is off")
    return reason.partition(";")[0].strip().rstrip(".")


def format_memories(results: Sequence[LookupResult]) -> str:
    """Return the memories that were found, one per line, with their kind and the date or key."""
    found = map(_MEMORY_LINE.match, join_results(results, "search").splitlines())
    lines = [
        f"- {match['text']} ({tr(_KIND_LABELS.get(match['kind'], match['kind']))} {match['id']})"
        for match in found
        if match
    ]
    recalled = map(_RECALLED_LINE.match, join_results(results, "recall").splitlines())
    lines += [f"- {match['text']} ({match['kind']}, {match['when']})" for match in recalled if match]
    return "\n".join(lines)


_KIND_LABELS = {"discovery": "fact"}


def find_matching_memories(plan: LookupPlan, results: Sequence[LookupResult]) -> list[tuple[str, str]]:
    """Return id and text of each memory that contains every word of the subject."""
    stems = [find_stem(word).casefold() for word in plan.subject.split()]
    found = [_MEMORY_LINE.match(line) for line in join_results(results, "search").splitlines()]
    found = [match for match in found if match and match["kind"] != "note"]  # a note is deleted by its key
    found += [_RECALLED_LINE.match(line) for line in join_results(results, "recall").splitlines()]
    memories = [(match["id"], match["text"]) for match in found if match]
    return [(id, text) for id, text in memories if all(stem in text.casefold() for stem in stems)]


def describe_forgotten(plan: LookupPlan, results: Sequence[LookupResult]) -> str:
    """Say what was forgotten, or which memories match if there is not exactly one."""
    done = [item for item in _filter_results(results, "forget") if item.result.ok]
    if done:
        # The line names the memory: "Forgotten: d-3f9a12 (discovery): we deploy with make ship".
        forgotten = done[0].result.content.partition("\n")[0].removeprefix("Forgotten: ")
        return _describe_archived(forgotten.partition("): ")[2] or forgotten)
    failed = [item.result.content for item in results if not item.result.ok]
    if failed or not results:
        return tr("Nothing was forgotten: {failure}.", failure=_describe_failure(failed))
    matches = find_matching_memories(plan, results)
    if not matches and (gone := _FORGOTTEN_ALREADY.search("\n".join(item.result.content for item in results))):
        return _describe_archived(gone["text"])
    if not matches:
        return tr("No memory contains all of *{subject}*; nothing was forgotten.", subject=plan.subject)
    listed = "\n".join(tr("- `forget {id}`: {text}", id=id, text=text[:200]) for id, text in matches)
    return tr("Several memories match; name one by its id:\n\n{listed}", listed=listed)


_FORGOTTEN_ALREADY = LazyRegex(r"^Forgotten already, as the user's message asks: (?P<text>.+)", re.MULTILINE)


def _describe_archived(memory: str) -> str:
    return tr(
        "Moved to the archive: {memory}. `/memory undo`, or `clio memory undo` in a shell, restores it.", memory=memory
    )


def format_earlier_passages(plan: LookupPlan, results: Sequence[LookupResult]) -> str:
    """Return passages of users and models, except the question itself. Tool outputs may be outdated and are omitted."""
    stems = {find_stem(word).casefold() for word in plan.subject.split()}
    lines = [line for role, text, line in _iter_passages(results) if role != "tool" and _adds_information(text, stems)]
    return "\n".join(lines[:_MAX_EARLIER])


def _iter_passages(results: Sequence[LookupResult]) -> Iterator[tuple[str, str, str]]:
    """Yield the role, the text and the formatted line of each passage."""
    when = title = ""
    for line in join_results(results, "search_sessions").splitlines():
        if match := _SESSION.match(line):
            when, title = match["when"], match["title"]
        elif match := _PASSAGE.match(line):
            yield match["role"], match["text"], f"- {match['when'] or when}, *{title}*: {match['text'][:300]}"


def _adds_information(text: str, stems: set[str]) -> bool:
    """Whether a passage has enough words besides those of the question."""
    if _QUOTES_CODE.search(text):
        return False  # an answer that quoted code; the current code is searched anyway
    words = [word for word in re.findall(r"\w+", text.casefold()) if not any(stem in word for stem in stems)]
    if is_question(text) or text.rstrip().endswith("?"):
        return len(words) >= _MIN_NEW_WORDS_OF_QUESTION
    return sum(word not in STOP_WORDS for word in words) >= _MIN_NEW_WORDS


def _filter_results(results: Sequence[LookupResult], operation: str) -> list[LookupResult]:
    return [
        item for item in results if item.lookup.arguments.get("operation") == operation and not is_empty_result(item)
    ]


INTRODUCTION = tr(
    "*{no_model}, so these are search results, not answers from a model: {connect_model}.*",
    no_model=capitalize(tr(NO_MODEL)),
    connect_model=tr(CONNECT_MODEL),
)
_HIT = LazyRegex(r"^(?P<line>\d+):(?P<text>.*)$")
_NUMBER = LazyRegex(r"^\s*\d+[|→]")
# Weights of a hit.
_DEFINITION_BONUS = 1.5  # a definition is more likely to be the answer than a use
_FILE_NAME_BONUS = 0.8  # per word in the name of the file
_TEST_PENALTY = -0.75  # tests repeat the names in the code they test
_MAX_HITS, _MAX_HITS_PER_FILE, _MAX_PASSAGES = 6, 2, 2
_PASSAGE_BEFORE, _PASSAGE_LINES = 1, 12
_MAX_SHOWN_CHARS = 6_000


class CodeHit(Struct, frozen=True, kw_only=True):
    """A line of code that may be the answer."""

    path: str
    line: int
    text: str
    score: float


def plan_further_lookups(plan: LookupPlan, results: Sequence[LookupResult]) -> tuple[Lookup, ...]:
    """Plan to read passages around the best hits that do not overlap, or to forget a memory if exactly one matches."""
    if plan.kind == "forget":
        matches = [id for id, _ in find_matching_memories(plan, results)]
        return (make_forget_lookup(matches[0]),) if len(matches) == 1 else ()
    if plan.kind != "search":
        return ()
    starts: list[tuple[str, int]] = []
    for hit in rank_code_hits(plan.subject, results):
        start = max(1, hit.line - _PASSAGE_BEFORE)
        overlaps = any(hit.path == path and abs(start - other) < _PASSAGE_LINES for path, other in starts)
        if len(starts) < _MAX_PASSAGES and not overlaps:
            starts.append((hit.path, start))
    return tuple(
        Lookup(tool="read_file", arguments={"path": path, "offset": start, "limit": _PASSAGE_LINES})
        for path, start in starts
    )


def _is_in_passage(hit: CodeHit, starts: Iterable[tuple[str, int]]) -> bool:
    """Whether one of the passages, given by path and first line, contains the hit."""
    return any(hit.path == path and start <= hit.line < start + _PASSAGE_LINES for path, start in starts)


def rank_code_hits(subject: str, results: Iterable[LookupResult]) -> list[CodeHit]:
    """Return the hits of all text searches, best first, without those that contain less than half of the words."""
    stems = [find_stem(word).casefold() for word in subject.split()]
    lines = [
        (order == 0, *hit)
        for order, item in enumerate(item for item in results if item.lookup.tool == "search_text")
        for hit in _parse_hits(item.result.content)
    ]
    weights = _weigh_words(stems, [text for _, _, _, text in lines])
    best: dict[tuple[str, int], CodeHit] = {}
    for defines, path, line, text in lines:
        score = _score_hit(weights, path, text, defines=defines)
        if sum(stem in text.casefold() or stem in path.casefold() for stem in stems) * 2 >= len(stems):
            best.setdefault((path, line), CodeHit(path=path, line=line, text=text.strip(), score=score))
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.path, hit.line))
    per_file: dict[str, int] = {}
    chosen: list[CodeHit] = []
    for hit in ranked:
        per_file[hit.path] = per_file.get(hit.path, 0) + 1
        if per_file[hit.path] <= _MAX_HITS_PER_FILE:
            chosen.append(hit)
    return chosen[:_MAX_HITS]


def _weigh_words(stems: list[str], texts: list[str]) -> dict[str, float]:
    """Return a weight for each word: 1.0 if every line contains it, up to 1.5 for a rare one."""
    total = max(len(texts), 1)
    return {stem: 1.5 - 0.5 * sum(stem in text.casefold() for text in texts) / total for stem in stems}


def _score_hit(weights: dict[str, float], path: str, text: str, *, defines: bool) -> float:
    line, folded_path, name = text.casefold(), path.casefold(), PurePosixPath(path).name.casefold()
    score = sum(weight for stem, weight in weights.items() if stem in line)
    score += _FILE_NAME_BONUS * sum(weight for stem, weight in weights.items() if stem in name)
    if defines:
        score += _DEFINITION_BONUS
    if "test" in folded_path and "test" not in weights:
        score += _TEST_PENALTY
    return score


def _parse_hits(content: str) -> Iterable[tuple[str, int, str]]:
    path = ""
    for row, line in enumerate(lines := content.splitlines()):
        match = _HIT.match(line) if path else None
        if match is not None:
            yield path, int(match["line"]), match["text"]
        elif row == 0 or not lines[row - 1]:  # a path precedes the lines of its file, after an empty line
            path = line


def compose_answer(plan: LookupPlan, rounds: Sequence[Sequence[LookupResult]], *, introduce: bool) -> str:
    """Return the answer as Markdown."""
    results = [item for step in rounds for item in step]
    match plan.kind:
        case "remember":
            body = describe_remembered(plan, results)
        case "forget":
            body = describe_forgotten(plan, results)
        case "edit":
            body = "\n\n".join(_describe_edit(plan, item) for item in results)
        case "show":
            body = "\n\n".join(_format_result(item) for item in results)
        case "search":
            body = _format_search(plan, results)
        case _:
            body = tr("Name something to search for: a word, a name from the code, a file, or `git status`.")
    return f"{tr(INTRODUCTION)}\n\n{body}" if introduce else body


def _describe_edit(plan: LookupPlan, item: LookupResult) -> str:
    return (
        tr("Edited `{subject}`. `/undo` reverts it.", subject=plan.subject) if item.result.ok else item.result.content
    )


def _format_result(item: LookupResult) -> str:
    text = item.result.content
    if not item.result.ok and item.lookup.tool != "run_command":
        return text
    if item.lookup.tool == "read_file":
        text = strip_line_numbers(text)
    cut = text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "\n…"
    return _format_fenced(cut, _guess_language(str(item.lookup.arguments.get("path", ""))))


def _format_search(plan: LookupPlan, results: Sequence[LookupResult]) -> str:
    sections = [
        _format_section("Memory", format_memories(results)),
        _format_section("Code", _format_code(plan, results)),
        _format_section("Files", _format_files(results)),
        _format_section(tr("Earlier sessions"), format_earlier_passages(plan, results)),
    ]
    body = "\n\n".join(section for section in sections if section)
    if body:
        return body
    return tr(
        "Nothing found for *{subject}* in memory, earlier sessions or the code. Try other words.", subject=plan.subject
    )


def _format_section(title: str, body: str) -> str:
    return f"**{title}**\n\n{body}" if body else ""


def _format_code(plan: LookupPlan, results: Sequence[LookupResult]) -> str:
    passages = [item for item in results if item.lookup.tool == "read_file" and item.result.ok]
    quoted = [_format_passage(item) for item in passages]
    starts = [(str(item.lookup.arguments["path"]), int(item.lookup.arguments["offset"])) for item in passages]
    others = [
        f"- `{hit.path}:{hit.line}` {_quote_inline(hit.text)}"
        for hit in rank_code_hits(plan.subject, results)
        if not _is_in_passage(hit, starts)
    ]
    return "\n\n".join([*quoted, *(["\n".join(others)] if others else [])])


def _format_passage(item: LookupResult) -> str:
    path, offset = str(item.lookup.arguments["path"]), int(item.lookup.arguments["offset"])
    line = offset + _PASSAGE_BEFORE if offset > 1 else 1
    return f"`{path}:{line}`\n{_format_fenced(strip_line_numbers(item.result.content), _guess_language(path))}"


def _format_files(results: Sequence[LookupResult]) -> str:
    names: dict[str, None] = {}
    for item in results:
        if item.lookup.tool == "find_files" and item.result.ok and not is_empty_result(item):
            names.update((line, None) for line in item.result.content.splitlines() if _is_path(line))
    return "\n".join(f"- `{name}`" for name in list(names)[:_MAX_HITS])


def strip_line_numbers(numbered: str) -> str:
    """Return the text of a read_file result without line numbers and without the notice about its end."""
    lines = [_NUMBER.sub("", line) for line in numbered.splitlines() if _NUMBER.match(line)]
    return "\n".join(lines).strip("\n") if lines else numbered


def _is_path(line: str) -> bool:
    return bool(line) and not line.startswith("[") and " " not in line


def _format_fenced(text: str, language: str) -> str:
    return format_code_block(text.rstrip(), language)


def _quote_inline(text: str) -> str:
    return f"`{text[:120]}`" if text and "`" not in text else text[:120]


def _guess_language(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".")


_WINDOW = 1_000_000  # larger than any conversation, since no request is sent
_MAX_ROUNDS = 2


class OfflineProvider:
    """The provider that is used without a model; see `Provider`.

    window: a window size in tokens that the user set, so that trims can be tried out.
    """

    name = "offline"
    model = "offline"

    def __init__(self, window: int | None = None) -> None:
        self._window = window

    async def limits(self) -> ModelLimits:
        """Return the user's limits, else limits that are never reached."""
        if self._window is None:
            return ModelLimits(context_window=_WINDOW, max_output_tokens=_WINDOW, source="profile")
        return ModelLimits(context_window=self._window, max_output_tokens=max(1, self._window // 4), source="config")

    async def stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """Yield tool calls first, and the answer once their results are in the request."""
        offered = {tool.name for tool in request.tools}
        question, rounds = _read_turn(request.messages)
        plan = plan_lookups(question)
        lookups: Sequence[Lookup] = ()
        if not rounds:
            lookups = plan.lookups
        elif len(rounds) < _MAX_ROUNDS:
            lookups = plan_further_lookups(plan, rounds[0])
        calls = tuple(_make_call(index, lookup) for index, lookup in enumerate(lookups) if lookup.tool in offered)
        if calls:
            yield Chunk(tool_calls=calls, finish_reason="tool_calls", usage=Usage())
            return
        first = not any(isinstance(message, AssistantMessage) and message.content for message in request.messages)
        yield Chunk(text=compose_answer(plan, rounds, introduce=first), finish_reason="stop", usage=Usage())

    async def close(self) -> None:
        """See `Provider`; there is nothing to close."""


def _make_call(index: int, lookup: Lookup) -> ToolCallDelta:
    return ToolCallDelta(index=index, name=lookup.tool, arguments=msgspec.json.encode(lookup.arguments).decode(), id="")


def _read_turn(messages: Sequence[Message]) -> tuple[str, list[list[LookupResult]]]:
    """Return the newest user message, and the results of each later step."""
    last = max((i for i, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1)
    question = messages[last].content if last >= 0 else ""
    rounds: list[list[LookupResult]] = []
    calls: dict[str, ToolCall] = {}
    for message in messages[last + 1 :]:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = {call.id: call for call in message.tool_calls}
            rounds.append([])
        elif isinstance(message, ToolMessage) and message.tool_call_id in calls:
            call = calls[message.tool_call_id]
            arguments = decode_json(call.arguments, type=dict[str, str | int | bool])
            rounds[-1].append(LookupResult(lookup=Lookup(tool=call.name, arguments=arguments), result=message))
    return question, rounds
