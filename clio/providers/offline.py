"""Answers without a language model: looks things up with the same tools, and quotes what it finds."""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UserMessage
from clio.providers.base import ChatRequest, Chunk, ModelLimits, ToolCallDelta
from clio.text.formatting import format_code_block
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import STOP_WORDS


class Lookup(Struct, frozen=True, kw_only=True):
    """One tool call to make: `arguments` are plain values of the tool's own parameters."""

    tool: str
    arguments: dict[str, str | int | bool]


class LookupPlan(Struct, frozen=True, kw_only=True):
    """What to do with the user's words. kind: how the answer is put together from the results."""

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
_ENTRY_ID = LazyRegex(r"[a-z]-[0-9a-f]{4,}", re.I)
_RUN = LazyRegex(r"^\s*(?:please\s+)?run\s*:?\s+`?(?P<command>[^`]+?)`?\s*$", re.I | re.S)
_READ = LazyRegex(
    r"^\s*(?:please\s+)?(?:read|show|open|cat|print|view)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?"
    r"`?(?P<path>[\w./\\~-]*[\w-](?:\.\w+|/[\w.-]+))`?"
    r"(?:\s*:\s*(?P<start>\d+)(?:\s*-\s*(?P<end>\d+))?)?\s*[.?!]?\s*$",
    re.I,
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
# Words of definitions in the languages people keep in repositories; the name follows.
_DEFINES = r"(?:def|class|fn|func|function|struct|enum|trait|interface|type|module|impl|sub|package|const|let|var)"
# Words of the question that are about asking, not about the code.
_ASKING = frozenset("find search look locate tell show explain defined definition implemented code file files".split())
_MAX_WORDS = 6
_MOST_MEMORIES = 3
_ENDINGS = LazyRegex(r"(?:ies|y|es|s|ing|ed)$")


def plan_lookups(question: str) -> LookupPlan:
    """The look-ups that may answer a question; the first rule that fits decides."""
    if _GREETING.match(question):
        return LookupPlan(kind="nothing", lookups=())
    for rule in (_remember, _forget, _run, _read, _git, _list):
        found = rule(question)
        if found is not None:
            return found
    return _search(question)


def _remember(question: str) -> LookupPlan | None:
    match = _REMEMBER.match(question)
    if match is None:
        return None
    fact = match["fact"].strip()
    call = Lookup(tool="memory_operations", arguments={"operation": "add_discovery", "fact": fact})
    return LookupPlan(kind="remember", lookups=(call,), subject=fact)


def _forget(question: str) -> LookupPlan | None:
    """An entry named by its id is forgotten at once, one named by its words is looked for first."""
    match = _FORGET.match(question)
    if match is None:
        return None
    what = match["what"].strip()
    if _ENTRY_ID.fullmatch(what):
        return LookupPlan(kind="forget", lookups=(make_forget_lookup(what.lower()),), subject=what)
    wanted = " ".join(find_search_words(what))
    if not wanted:
        return None
    call = Lookup(tool="memory_operations", arguments={"operation": "search", "query": wanted})
    return LookupPlan(kind="forget", lookups=(call,), subject=wanted)


def make_forget_lookup(entry_id: str) -> Lookup:
    """The call that moves an entry of the project knowledge to the archive."""
    return Lookup(tool="memory_operations", arguments={"operation": "forget_ltm", "id": entry_id})


def _run(question: str) -> LookupPlan | None:
    match = _RUN.match(question)
    if match is None:
        return None
    command = match["command"].strip()
    return LookupPlan(
        kind="show", lookups=(Lookup(tool="run_command", arguments={"command": command}),), subject=command
    )


def _read(question: str) -> LookupPlan | None:
    match = _READ.match(question)
    if match is None:
        return None
    arguments: dict[str, str | int | bool] = {"path": match["path"]}
    if match["start"]:
        start, end = int(match["start"]), int(match["end"] or match["start"])
        arguments |= {"offset": start, "limit": max(end - start + 1, 1)}
    return LookupPlan(kind="show", lookups=(Lookup(tool="read_file", arguments=arguments),), subject=match["path"])


def _git(question: str) -> LookupPlan | None:
    for pattern, operation in _GIT:
        if pattern.search(question):
            call = Lookup(tool="git", arguments={"operation": operation})
            return LookupPlan(kind="show", lookups=(call,), subject=f"git {operation}")
    return None


def _list(question: str) -> LookupPlan | None:
    if _LIST.match(question) is None:
        return None
    return LookupPlan(kind="show", lookups=(Lookup(tool="list_files", arguments={}),), subject="files")


def _search(question: str) -> LookupPlan:
    """Memory, earlier sessions, definitions, lines with several of the words, file names."""
    wanted = find_search_words(question)
    if not wanted:
        return LookupPlan(kind="nothing", lookups=())
    asked = " ".join(wanted)
    memory = (
        Lookup(tool="memory_operations", arguments={"operation": "search", "query": asked}),
        Lookup(tool="memory_operations", arguments={"operation": "recall", "query": asked, "limit": _MOST_MEMORIES}),
        Lookup(tool="memory_operations", arguments={"operation": "recall_sessions", "query": asked}),
    )
    if _SESSIONS.search(question):
        return LookupPlan(kind="search", lookups=memory, subject=asked)
    return LookupPlan(kind="search", lookups=memory + _question_code(wanted), subject=asked)


def _question_code(wanted: list[str]) -> tuple[Lookup, ...]:
    stems = [re.escape(name_stem(word)) for word in wanted]
    any_word = "|".join(stems)
    definition = (
        rf"^\s*(?:(?:export|pub|public|private|static|async|abstract|default)\s+)*{_DEFINES}\s+\w*(?:{any_word})"
    )
    lookups = [Lookup(tool="search_text", arguments={"pattern": definition, "ignore_case": True})]
    if len(wanted) > 1:
        pairs = "|".join(f"{a}.*{b}" for a in stems for b in stems if a != b)
        lookups.append(Lookup(tool="search_text", arguments={"pattern": pairs, "ignore_case": True}))
    else:
        lookups.append(Lookup(tool="search_text", arguments={"pattern": any_word, "ignore_case": True}))
    lookups += [Lookup(tool="find_files", arguments={"pattern": f"*{name_stem(word)}*"}) for word in wanted[:3]]
    return tuple(lookups)


def find_search_words(question: str) -> list[str]:
    """The words worth looking for, identifiers first, without repetition; at most six."""
    identifiers = [quoted or name for quoted, name in _IDENTIFIER.findall(question)]
    parts = {part for name in identifiers for part in _WORD.findall(name.lower())}
    plain = [word for word in _WORD.findall(question.lower()) if word not in STOP_WORDS and word not in parts]
    wanted = dict.fromkeys([*(name.strip() for name in identifiers), *plain])
    return [word for word in wanted if len(word) > 1 and word not in _ASKING][:_MAX_WORDS]


def name_stem(word: str) -> str:
    """The word without the endings that vary (`retries` and `retry` give `retr`), to be found inside identifiers."""
    short = _ENDINGS.sub("", word) if word.islower() and len(word) > 4 else word
    return short if len(short) >= 3 else word


_ENTRY = LazyRegex(r"^- \w+ (?P<id>[a-z]-[0-9a-f]+): (?P<text>.*)$")
_SESSION = LazyRegex(
    r"^## (?P<title>.*) \((?P<when>[\d-]+|undated)[^(]*?, session [^\s,;)]+(?:, this session)?(?:; commits: .*)?\)$"
)
_PASSAGE = LazyRegex(
    r"^- (?P<when>\S+)(?: \S+)? (?P<role>user|assistant|tool)(?:, older)?, \S+(?: \[[^\]]*\])?: (?P<text>.*)$"
)
_MEMORY = LazyRegex(r"^- \S+ \(\w+, (?P<when>[\d-]+(?:, no longer so)?)\): (?P<text>.*)$")
_QUOTES_CODE = LazyRegex(r"`[^`\s]+:\d+`|\*\*Files\*\*")
_MAX_SAID, _FEW_WORDS = 3, 4


class LookupResult(Struct, frozen=True, kw_only=True):
    """One look-up and its result."""

    lookup: Lookup
    result: ToolMessage


def is_empty_result(item: LookupResult) -> bool:
    """Whether the look-up found nothing."""
    return item.result.summary.startswith(("nothing", "no "))


def join_results(found: Sequence[LookupResult], operation: str) -> str:
    """What one operation of memory_operations found."""
    return "\n".join(item.result.content.strip() for item in _of(found, operation) if item.result.ok)


def describe_remembered(plan: LookupPlan, found: Sequence[LookupResult]) -> str:
    """Whether the fact is stored now."""
    failed = [item.result.content for item in found if not item.result.ok]
    if failed or not found:
        return f"That could not be stored: {failed[0] if failed else 'memory is switched off'}."
    known = found[0].result.summary.startswith("confirmed")
    return f"{'Known already, and confirmed' if known else 'Remembered for this project'}: {plan.subject}"


def format_memories(found: Sequence[LookupResult]) -> str:
    """What was remembered in so many words (`#text`, preferences, events), with its day."""
    lines = map(_MEMORY.match, join_results(found, "recall").splitlines())
    return "\n".join(f"- {match['text']} ({match['when']})" for match in lines if match)


def find_meant_entries(plan: LookupPlan, found: Sequence[LookupResult]) -> list[tuple[str, str]]:
    """Id and words of each entry that holds every word of the subject."""
    stems = [name_stem(word).casefold() for word in plan.subject.split()]
    lines = join_results(found, "search").splitlines()
    entries = [(match["id"], match["text"]) for line in lines if (match := _ENTRY.match(line))]
    return [(id, text) for id, text in entries if all(stem in text.casefold() for stem in stems)]


def describe_forgotten(plan: LookupPlan, found: Sequence[LookupResult]) -> str:
    """What was forgotten; else which entries may be meant."""
    done = [item.result.content for item in _of(found, "forget_ltm")]
    if done:
        return done[0]
    refused = [item.result.content for item in found if not item.result.ok]
    if refused or not found:
        return f"Nothing could be forgotten: {refused[0] if refused else 'memory is switched off'}."
    meant = find_meant_entries(plan, found)
    if not meant:
        return f"No entry of the project memory holds all of *{plan.subject}*; nothing was forgotten."
    listed = "\n".join(f"- `forget {id}`: {text[:200]}" for id, text in meant)
    return f"More than one entry may be meant; say which:\n\n{listed}"


def format_earlier_passages(plan: LookupPlan, found: Sequence[LookupResult]) -> str:
    """What people and models said, without the question itself; what tools printed then is better looked up now."""
    stems = {name_stem(word).casefold() for word in plan.subject.split()}
    told = [line for role, text, line in _passages(found) if role != "tool" and _says_more(text, stems)]
    return "\n".join(told[:_MAX_SAID])


def _passages(found: Sequence[LookupResult]) -> Iterator[tuple[str, str, str]]:
    """Role, words, and the line to show of each passage."""
    when = title = ""
    for line in join_results(found, "recall_sessions").splitlines():
        if match := _SESSION.match(line):
            when, title = match["when"], match["title"]
        elif match := _PASSAGE.match(line):
            yield match["role"], match["text"], f"- {match['when'] or when}, *{title}*: {match['text'][:300]}"


def _says_more(text: str, stems: set[str]) -> bool:
    if _QUOTES_CODE.search(text):
        return False  # an answer that quoted code; the code itself is found above, as it is now
    words = [word for word in re.findall(r"\w+", text.casefold()) if not any(stem in word for stem in stems)]
    return len(words) > _FEW_WORDS


def _of(found: Sequence[LookupResult], operation: str) -> list[LookupResult]:
    return [item for item in found if item.lookup.arguments.get("operation") == operation and not is_empty_result(item)]


INTRODUCTION = (
    "*clio is offline: no language model is connected, so this is looked up and quoted, not reasoned. "
    "To connect one, set `OPENAI_API_KEY`, start a local server such as Ollama, or give `--base-url` and `--model`.*"
)
_HIT = LazyRegex(r"^(?P<line>\d+):(?P<text>.*)$")
_NUMBER = LazyRegex(r"^\s*\d+[|→]")
_DEFINITION = 1.5  # a place that defines the name says more than one that uses it
_IN_NAME = 0.8  # the file is named after it
_TEST = -0.75  # tests repeat the names of what they test
_MAX_HITS, _MAX_HITS_A_FILE, _MAX_PASSAGES = 6, 2, 2
_PASSAGE_BEFORE, _PASSAGE_LINES = 1, 12
_MAX_SHOWN_CHARS = 6_000


class CodeHit(Struct, frozen=True, kw_only=True):
    """A line of code that may be the answer."""

    path: str
    line: int
    text: str
    score: float


def plan_further_lookups(plan: LookupPlan, found: Sequence[LookupResult]) -> tuple[Lookup, ...]:
    """Read the passages around the best hits; forget the entry that is meant, where that is only one."""
    if plan.kind == "forget":
        meant = [id for id, _ in find_meant_entries(plan, found)]
        return (make_forget_lookup(meant[0]),) if len(meant) == 1 else ()
    if plan.kind != "search":
        return ()
    return tuple(
        Lookup(
            tool="read_file",
            arguments={"path": hit.path, "offset": max(1, hit.line - _PASSAGE_BEFORE), "limit": _PASSAGE_LINES},
        )
        for hit in rank_code_hits(plan.subject, found)[:_MAX_PASSAGES]
    )


def rank_code_hits(subject: str, found: Iterable[LookupResult]) -> list[CodeHit]:
    """The hits of all text searches, best first; those that hold less than half of the words are left out."""
    stems = [name_stem(word).casefold() for word in subject.split()]
    lines = [
        (order == 0, *hit)
        for order, item in enumerate(item for item in found if item.lookup.tool == "search_text")
        for hit in _hits(item.result.content)
    ]
    weights = _weights(stems, [text for _, _, _, text in lines])
    best: dict[tuple[str, int], CodeHit] = {}
    for defines, path, line, text in lines:
        score = _score(weights, path, text, defines=defines)
        if sum(stem in text.casefold() or stem in path.casefold() for stem in stems) * 2 >= len(stems):
            best.setdefault((path, line), CodeHit(path=path, line=line, text=text.strip(), score=score))
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.path, hit.line))
    taken: dict[str, int] = {}
    kept: list[CodeHit] = []
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


def compose_answer(plan: LookupPlan, rounds: Sequence[Sequence[LookupResult]], *, introduce: bool) -> str:
    """The answer as Markdown."""
    found = [item for each in rounds for item in each]
    match plan.kind:
        case "remember":
            body = describe_remembered(plan, found)
        case "forget":
            body = describe_forgotten(plan, found)
        case "show":
            body = "\n\n".join(_shown(item) for item in found)
        case "search":
            body = _searched(plan, found)
        case _:
            body = "Name something to look for: a word, a name from the code, a file, or `git status`."
    return f"{INTRODUCTION}\n\n{body}" if introduce else body


def _shown(item: LookupResult) -> str:
    text = item.result.content
    if not item.result.ok and item.lookup.tool != "run_command":
        return text
    if item.lookup.tool == "read_file":
        text = strip_line_numbers(text)
    cut = text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "\n…"
    return _fenced(cut, _language(str(item.lookup.arguments.get("path", ""))))


def _searched(plan: LookupPlan, found: Sequence[LookupResult]) -> str:
    sections = [
        _section("Project memory", join_results(found, "search")),
        _section("Remembered", format_memories(found)),
        _section("Code", _answer_code(plan, found)),
        _section("Files", _files(found)),
        _section("Earlier sessions", format_earlier_passages(plan, found)),
    ]
    body = "\n\n".join(section for section in sections if section)
    if body:
        return body
    return f"Nothing found for *{plan.subject}* in memory, earlier sessions or the code. Try other words."


def _section(title: str, body: str) -> str:
    return f"**{title}**\n\n{body}" if body else ""


def _answer_code(plan: LookupPlan, found: Sequence[LookupResult]) -> str:
    passages = [item for item in found if item.lookup.tool == "read_file" and item.result.ok]
    quoted = [_passage(item) for item in passages]
    read = {(str(item.lookup.arguments["path"]), int(item.lookup.arguments["offset"])) for item in passages}
    others = [
        f"- `{hit.path}:{hit.line}` {_inline(hit.text)}"
        for hit in rank_code_hits(plan.subject, found)
        if (hit.path, max(1, hit.line - _PASSAGE_BEFORE)) not in read
    ]
    return "\n\n".join([*quoted, *(["\n".join(others)] if others else [])])


def _passage(item: LookupResult) -> str:
    path, offset = str(item.lookup.arguments["path"]), int(item.lookup.arguments["offset"])
    line = offset + _PASSAGE_BEFORE if offset > 1 else 1
    return f"`{path}:{line}`\n{_fenced(strip_line_numbers(item.result.content), _language(path))}"


def _files(found: Sequence[LookupResult]) -> str:
    names: dict[str, None] = {}
    for item in found:
        if item.lookup.tool == "find_files" and item.result.ok and not is_empty_result(item):
            names.update((line, None) for line in item.result.content.splitlines() if _is_path(line))
    return "\n".join(f"- `{name}`" for name in list(names)[:_MAX_HITS])


def strip_line_numbers(numbered: str) -> str:
    """What read_file answers, as the file has it: without line numbers and without the notice of where it stopped."""
    lines = [_NUMBER.sub("", line) for line in numbered.splitlines() if _NUMBER.match(line)]
    return "\n".join(lines).strip("\n") if lines else numbered


def _is_path(line: str) -> bool:
    return bool(line) and not line.startswith("[") and " " not in line


def _fenced(text: str, language: str) -> str:
    return format_code_block(text.rstrip(), language)


def _inline(text: str) -> str:
    return f"`{text[:120]}`" if text and "`" not in text else text[:120]


def _language(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".")


_WINDOW = 1_000_000  # nothing is sent anywhere, so nothing has to fit
_MAX_ROUNDS = 2


class OfflineProvider:
    """The model that is none."""

    name = "offline"
    model = "offline"

    async def limits(self) -> ModelLimits:
        """A window that never fills."""
        return ModelLimits(context_window=_WINDOW, max_output_tokens=_WINDOW, source="profile")

    async def stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """Tool calls first, the answer when their results are there."""
        offered = {tool.name for tool in request.tools}
        question, rounds = _this_turn(request.messages)
        todo = plan_lookups(question)
        lookups: Sequence[Lookup] = ()
        if not rounds:
            lookups = todo.lookups
        elif len(rounds) < _MAX_ROUNDS:
            lookups = plan_further_lookups(todo, rounds[0])
        calls = tuple(_delta(index, lookup) for index, lookup in enumerate(lookups) if lookup.tool in offered)
        if calls:
            yield Chunk(tool_calls=calls, finish_reason="tool_calls", usage=Usage())
            return
        first = not any(isinstance(message, AssistantMessage) and message.content for message in request.messages)
        yield Chunk(text=compose_answer(todo, rounds, introduce=first), finish_reason="stop", usage=Usage())

    async def close(self) -> None:
        """Nothing to let go of."""


def _delta(index: int, lookup: Lookup) -> ToolCallDelta:
    return ToolCallDelta(index=index, name=lookup.tool, arguments=msgspec.json.encode(lookup.arguments).decode(), id="")


def _this_turn(messages: Sequence[Message]) -> tuple[str, list[list[LookupResult]]]:
    """The newest words of the user, and for each step since then what the calls found."""
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
