"""What to look up for a question, decided by rules: the offline provider's half that asks."""

import re

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.algorithms.lexical import STOP_WORDS


class Lookup(Struct, frozen=True, kw_only=True):
    """One tool call to make: `arguments` are plain values of the tool's own parameters."""

    tool: str
    arguments: dict[str, str | int | bool]


class Plan(Struct, frozen=True, kw_only=True):
    """What to do with the user's words. kind: how the answer is put together from the results."""

    kind: str
    lookups: tuple[Lookup, ...]
    subject: str = ""


_GREETING = LatePattern(
    r"^\s*(?:hi|hello|hey|good (?:morning|day|evening)|thanks?|thank you|ok(?:ay)?)(?:[ ,]+(?:there|clio))?[\s.!]*$",
    re.I,
)
_REMEMBER = LatePattern(
    r"^\s*(?:please\s+|and\s+)?(?:remember|note|keep in mind|learn|don't forget)(?:\s+that|\s*[:,])?\s+(?P<fact>.+)$",
    re.I | re.S,
)
_FORGET = LatePattern(
    r"^\s*(?:please\s+)?(?:forget|unlearn)(?:\s+(?:that|about|what you (?:know|remember) about))?\s*:?\s+"
    r"(?P<what>.+?)\s*[.!]?\s*$",
    re.I | re.S,
)
_ENTRY_ID = LatePattern(r"[a-z]-[0-9a-f]{4,}", re.I)
_RUN = LatePattern(r"^\s*(?:please\s+)?run\s*:?\s+`?(?P<command>[^`]+?)`?\s*$", re.I | re.S)
_READ = LatePattern(
    r"^\s*(?:please\s+)?(?:read|show|open|cat|print|view)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?"
    r"`?(?P<path>[\w./\\~-]*[\w-](?:\.\w+|/[\w.-]+))`?"
    r"(?:\s*:\s*(?P<start>\d+)(?:\s*-\s*(?P<end>\d+))?)?\s*[.?!]?\s*$",
    re.I,
)
_GIT: tuple[tuple[LatePattern, str], ...] = (
    (LatePattern(r"\b(?:git\s+log|recent commits?|last commits?|commit history|which commits?)\b", re.I), "log"),
    (LatePattern(r"\b(?:git\s+diff|show (?:me )?the diff|what (?:did i|has) changed?)\b", re.I), "diff"),
    (
        LatePattern(
            r"\b(?:git\s+(?:status|state)|which branch|what branch|uncommitted|working tree|current branch)\b", re.I
        ),
        "status",
    ),
)
_LIST = LatePattern(
    r"^\s*(?:please\s+)?(?:list|show)\s+(?:me\s+)?(?:all\s+|the\s+)*files\b|^\s*(?:what|which) files\b", re.I
)
_SESSIONS = LatePattern(
    r"\b(?:(?:earlier|previous|last|past|other) (?:session|conversation|chat|time)s?"
    r"|did (?:we|i|you) (?:say|talk|discuss|decide))\b",
    re.I,
)
_WORD = LatePattern(r"[^\W_]+")
_IDENTIFIER = LatePattern(r"`([^`]+)`|\b([A-Za-z_]\w*(?:_\w+|[a-z][A-Z]\w*)|[A-Za-z_]\w*(?=\(\)))")
# Words of definitions in the languages people keep in repositories; the name follows.
_DEFINES = r"(?:def|class|fn|func|function|struct|enum|trait|interface|type|module|impl|sub|package|const|let|var)"
# Words of the question that are about asking, not about the code.
_ASKING = frozenset("find search look locate tell show explain defined definition implemented code file files".split())
_MAX_WORDS = 6
_MOST_MEMORIES = 3
_ENDINGS = LatePattern(r"(?:ies|y|es|s|ing|ed)$")


def plan(question: str) -> Plan:
    """The look-ups that may answer a question; the first rule that fits decides."""
    if _GREETING.match(question):
        return Plan(kind="nothing", lookups=())
    for rule in (_remember, _forget, _run, _read, _git, _list):
        found = rule(question)
        if found is not None:
            return found
    return _search(question)


def _remember(question: str) -> Plan | None:
    match = _REMEMBER.match(question)
    if match is None:
        return None
    fact = match["fact"].strip()
    call = Lookup(tool="memory_operations", arguments={"operation": "add_discovery", "fact": fact})
    return Plan(kind="remember", lookups=(call,), subject=fact)


def _forget(question: str) -> Plan | None:
    """An entry named by its id is forgotten at once, one named by its words is looked for first."""
    match = _FORGET.match(question)
    if match is None:
        return None
    what = match["what"].strip()
    if _ENTRY_ID.fullmatch(what):
        return Plan(kind="forget", lookups=(forget_entry(what.lower()),), subject=what)
    wanted = " ".join(search_words(what))
    if not wanted:
        return None
    call = Lookup(tool="memory_operations", arguments={"operation": "search", "query": wanted})
    return Plan(kind="forget", lookups=(call,), subject=wanted)


def forget_entry(entry_id: str) -> Lookup:
    """The call that moves an entry of the project knowledge to the archive."""
    return Lookup(tool="memory_operations", arguments={"operation": "forget_ltm", "id": entry_id})


def _run(question: str) -> Plan | None:
    match = _RUN.match(question)
    if match is None:
        return None
    command = match["command"].strip()
    return Plan(kind="show", lookups=(Lookup(tool="run_command", arguments={"command": command}),), subject=command)


def _read(question: str) -> Plan | None:
    match = _READ.match(question)
    if match is None:
        return None
    arguments: dict[str, str | int | bool] = {"path": match["path"]}
    if match["start"]:
        start, end = int(match["start"]), int(match["end"] or match["start"])
        arguments |= {"offset": start, "limit": max(end - start + 1, 1)}
    return Plan(kind="show", lookups=(Lookup(tool="read_file", arguments=arguments),), subject=match["path"])


def _git(question: str) -> Plan | None:
    for pattern, operation in _GIT:
        if pattern.search(question):
            call = Lookup(tool="git", arguments={"operation": operation})
            return Plan(kind="show", lookups=(call,), subject=f"git {operation}")
    return None


def _list(question: str) -> Plan | None:
    if _LIST.match(question) is None:
        return None
    return Plan(kind="show", lookups=(Lookup(tool="list_files", arguments={}),), subject="files")


def _search(question: str) -> Plan:
    """Memory, earlier sessions, definitions, lines with several of the words, file names."""
    wanted = search_words(question)
    if not wanted:
        return Plan(kind="nothing", lookups=())
    asked = " ".join(wanted)
    memory = (
        Lookup(tool="memory_operations", arguments={"operation": "search", "query": asked}),
        Lookup(tool="memory_operations", arguments={"operation": "recall", "query": asked, "limit": _MOST_MEMORIES}),
        Lookup(tool="memory_operations", arguments={"operation": "recall_sessions", "query": asked}),
    )
    if _SESSIONS.search(question):
        return Plan(kind="search", lookups=memory, subject=asked)
    return Plan(kind="search", lookups=memory + _code(wanted), subject=asked)


def _code(wanted: list[str]) -> tuple[Lookup, ...]:
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


def search_words(question: str) -> list[str]:
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
