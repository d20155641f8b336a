"""Detects the task type of a request by rule, without a model.

Each task type has cues, regular expressions with a weight; a keyword that only `scenarios.yaml` names weighs 2. The
task type with the highest sum wins where the sum is high enough and unique. Pasted text counts only for its form: a
traceback means debugging, whatever words are in it.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath

from clio.memory.preferences.task_types import BUILT_IN, ScenarioBook
from clio.text.vocabulary import stem_word, tokenize

TRACE = (
    r"Traceback \(most recent|^\s+at \S+ ?\(|^\s*File \".+\", line \d|panicked at|^E  +\w+(?:Error|Exception)|segfault"
    r"|^\w*(?:Error|Exception): |^\s*(?:FAILED|ERROR) \S+::"
)
"""What a pasted failure looks like, line by line."""

_OPENING = r"^(?:\W|please|now|then|ok|and|can you|could you)*"
_TESTS = r"(?:(?:unit|integration|regression|e2e|property)[ -])*tests?(?: ?cases?| suites?| files?)?\b"
_PROSE = (
    r"(?:docs?|documentation|readme|docstrings?|guides?|tutorials?|changelog|manual|release notes|blog ?posts?|faq"
    r"|articles?|paragraphs?|chapters?|essays?|wording|prose|introduction|man ?page)\b"
)
_BROKEN = (
    r"(?:crash\w*|hang\w*|leak\w*|broken|fail(?:s|ed|ing|ure|ures)?|bug\w*|wrong|error\w*|exception\w*|stuck|flaky)"
)
_LETTERS = (
    r"(?:e-?mails?|(?<!commit )messages? (?:to|for)|slack|announcements?|letters?|tweets?|invitations?|status updates?"
    r"|posts? for the team)\b"
)
_PARTS = (
    r"(?:functions?|class(?:es)?|methods?|modules?|variables?|parameters?|arguments?|fields?|columns?|types?|endpoints?"
    r"|handlers?|packages?|dependenc(?:y|ies)|files?|configs?|flags?|options?|imports?|interfaces?|structs?|code"
    r"|quer(?:y|ies)|tables?|schemas?|components?|hooks?|helpers?)\b"
)
_WHOLES = (
    r"(?:features?|commands?|scripts?|parsers?|apis?|decorators?|buttons?|pages?|cli|servers?|clients?|migrations?"
    r"|middleware|regex|apps?|programs?|librar(?:y|ies)|cache|logging|retr(?:y|ies)|timeouts?|pagination|validation"
    r"|dockerfile|makefile|pipelines?|workflows?)\b"
)
_SOURCE = r"\.(?:py|pyi|jsx?|tsx?|go|rs|java|kt|cc?|cpp|h|hpp|rb|php|swift|cs|scala|sql|sh|lua|pm|pl)\b"
_MINE = r"(?:my|this|the|our|these|that|his|her|their)"

_CUES: dict[str, tuple[tuple[float, str], ...]] = {
    "git": (
        (4, r"\bgit (?:add|bisect|blame|checkout|clone|diff|fetch|log|merge|pull|push|rebase|reset|stash|tag)\b"),
        (4, r"\b(?:rebase|cherry-?pick|unstage|force-?push|squash|bisect|amend)\b"),
        (4, _OPENING + r"(?:commit|push|stash|revert|tag|branch|merge|checkout|undo the last commit)\b"),
        (3, r"\b(?:commit|push|stash|revert|merge)(?: it| this| that| them| all| everything| the| these| my|$)"),
        (3, r"\b(?:merge conflicts?|conflict markers|commit messages?|detached head|upstream|the remote|new branch)\b"),
        (3, r"\b(?:create|delete|switch|open|make|name)\w* (?:to )?(?:a |the )?(?:new |feature )*(?:branch|tag)\b"),
        (2, r"\b(?:branch(?:es)?|commits?|git|origin/\w+|HEAD~?\d*)\b"),
    ),
    "debugging": (
        (4, r"\b(?:debug|traceback|stack ?trace|segfault|root cause|core dump|breakpoint|reproduce|repro)\w*\b"),
        (4, rf"\bwhy (?:is|are|do|does|did|am|was|would|has|have)(?:n't)?\b.*\b(?:{_BROKEN}|not|never|slow|empty)\b"),
        (4, rf"\b(?:fix|find|solve|investigate|track down|look into|figure out|diagnose)\b.*\b{_BROKEN}"),
        (3, rf"\b(?:it|this|that|server|app|build|page|script|command|process) (?:(?:just|now|still) )?{_BROKEN}"),
        (
            3,
            r"\b(?:doesn't|does not|don't|isn't|won't|no longer|stopped|can't) (?:\w+ )?"
            r"(?:work|start|load|run|respond|compile|return|show)",
        ),
        (4, r"\b[A-Z]\w+(?:Error|Exception)\b|\bfind out why\b|\binvestigate\b"),
        (2, rf"\b{_BROKEN}\b"),
        (2, r"\bfix\b|\bwhat(?:'s| is) (?:going on|wrong)\b"),
    ),
    "testing": (
        (
            4,
            rf"\b(?:write|add|create|make|extend|generate|improve|need|want|missing) .{{0,40}}?"
            rf"\b(?:{_TESTS}|pytest|suite)",
        ),
        (
            4,
            rf"\b(?:run|rerun|re-run|execute) .{{0,30}}?\b(?:{_TESTS}|suite|e2e|pytest|jest|vitest|go test|cargo test)",
        ),
        (4, r"\b(?:coverage|fixtures?|parametri[sz]e|mock(?:s|ed|ing)?|unit-?test|tdd|snapshots? tests?)\b"),
        (3, rf"\b(?:no|without|have|has|more) {_TESTS}"),
        (3, r"\b(?:cover|test|assert) (?:the|that|this|it|all|every|edge|what|how|for|with|also)\b"),
        (2, r"\b(?:pytest|unittest|jest|vitest|tox|assert(?:s|ion|ions)?)\b"),
        (1.5, rf"\b{_TESTS}"),
    ),
    "review": (
        (4, r"\b(?:code )?review(?:ing|s)?\b(?! comment)"),
        (4, r"\b(?:critique|audit|look over|go over|second opinion|nitpicks?|lgtm|sanity[- ]check)\b"),
        (4, rf"\bwhat do you think (?:of|about) {_MINE} (?:\w+ )?(?:change|diff|patch|pr|code|branch|design|approach)"),
        (3, rf"\b(?:check|look at|read|inspect) (?:through )?{_MINE} (?:\w+ )?(?:change|diff|patch|pr|pull|branch)"),
        (3, rf"\bany(?:thing)? (?:issues?|problems?|concerns?|smells?|wrong) (?:with|in) {_MINE}\b"),
        (3, r"\b(?:pull request|PR) ?#?\d*\b"),
        (2, r"\b(?:diff|patch|feedback)\b"),
    ),
    "writing": (
        (
            4,
            rf"\b(?:write|update|add|improve|draft|edit|rewrite|translate|shorten|polish|fix) .{{0,40}}?\b{_PROSE}",
        ),
        (4, _OPENING + r"(?:document|proofread|rephrase|reword)\b"),
        (3, r"\b(?:proofread|rephrase|reword|typos?|spelling|grammar|copy-?edit)\b"),
        (2, rf"\b{_PROSE}|\bdocument(?:ing|ed)? (?:the|this|how|what|all|every|our)\b|\.(?:md|rst|adoc)\b"),
    ),
    "communication": (
        (4, rf"\b(?:write|draft|send|compose|answer|reply to|respond to|phrase) .{{0,30}}?\b{_LETTERS}"),
        (3, r"\b(?:e-?mails?|slack|newsletter|stand-?up|meeting (?:notes|minutes|agenda)|agenda|announce\w*)\b"),
        (3, r"\b(?:reply|respond|write back) to (?:the|this|him|her|them|my|our|a)\b"),
        (2, r"\b(?:tell|inform|thank|ask) (?:the|my|our) (?:team|boss|manager|customers?|client|colleagues?)\b"),
    ),
    "biz-analyze": (
        (4, r"\b(?:revenue|pricing|go-to-market|churn|market (?:size|share|analysis)|unit economics|competitors?)\b"),
        (4, r"\b(?:business (?:case|model|plan|value)|stakeholders?|roadmap|kpis?|okrs?|roi)\b"),
        (2, r"\b(?:customers?|customer segments?|sales|profit|budget|cost-?benefit|market)\b"),
    ),
    "coding": (
        (
            3.5,
            r"\b(?:implement|refactor|rewrite|port|inline|optimi[sz]e|vectori[sz]e|simplify|deduplicate|scaffold"
            r"|hard-?code|prototype)\w*\b",
        ),
        (
            3,
            r"\b(?:extract|rename|move|split|replace|remove|delete|convert|migrate|upgrade|bump|wrap|expose|support"
            rf"|parse|cache|validate|log) .{{0,50}}?\b{_PARTS}",
        ),
        (3, rf"\b(?:add|create|write|make|build|introduce|define|generate) .{{0,50}}?\b(?:{_PARTS}|{_WHOLES})"),
        (2.5, _OPENING + r"(?:rename|migrate|extract|inline|deprecate|bump|upgrade|downgrade|wire|hook)\b"),
        (2, rf"\b(?:in|of|to|from|into) \S+{_SOURCE}|\b\w+\(\)"),
        (1.5, r"\b(?:function|class|method|module|endpoint|api|type hints?|async|algorithm|loop|library|code)\b"),
    ),
}


@cache
def cues() -> dict[str, tuple[tuple[float, re.Pattern[str]], ...]]:
    """The cues by the scenario's name, compiled when the first request is looked at."""
    flags = re.IGNORECASE | re.MULTILINE
    return {name: tuple((weight, re.compile(cue, flags)) for weight, cue in found) for name, found in _CUES.items()}


@cache
def trace() -> re.Pattern[str]:
    """The pattern of a pasted failure."""
    return re.compile(TRACE, re.MULTILINE)


MAX_CHARS = 4_000
"""Of a request, so that a pasted file costs nothing; what is asked stands before it, or in its last lines."""
_ENOUGH = 2.0
_OPENING_CHARS, _OPENING_BONUS = 40, 1.5
_FILES_CAP = 1.0

_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_SUFFIXES = {
    "coding": frozenset("py js ts tsx jsx go rs java kt c h cc cpp hpp rb php swift cs sql sh pm pl".split()),
    "writing": frozenset("md rst adoc txt tex".split()),
}


def infer(text: str, book: ScenarioBook, recent_files: Sequence[str] = ()) -> str | None:
    """The scenario of a request, by its name in the book; None where its words say nothing clear.

    recent_files: paths the last steps read or changed; they break a tie and never decide alone.
    """
    points = _points(text, book)
    for name, more in _of_files(recent_files).items():
        if name in points:
            points[name] += more
    ranked = sorted(points.items(), key=lambda pair: -pair[1])
    if not ranked or ranked[0][1] < _ENOUGH or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _points(text: str, book: ScenarioBook) -> dict[str, float]:
    pasted = len(text) > MAX_CHARS
    text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}" if pasted else text
    points: dict[str, float] = {}
    if trace().search(text):
        points["debugging"] = 4.0
    asked = _FENCED.sub(" ", text).strip()
    for name, known in cues().items():
        found = [(weight, match.start()) for weight, cue in known if (match := cue.search(asked))]
        if found:
            best, place = max(found, key=lambda pair: (pair[0], -pair[1]))
            rest = sum(weight for weight, _ in found) - best
            opens = _OPENING_BONUS if place < _OPENING_CHARS else 0.0
            points[name] = points.get(name, 0.0) + best + opens + rest / 4
    said = {stem_word(word) for word in tokenize(asked)}
    for name in book.names:
        built_in = BUILT_IN.get(name)
        own = set(book.keywords(name)) - set(built_in.keywords if built_in else ())
        # The words of a built-in kind are for matching preferences; its cues above say more about a request.
        hits = len(said & {stem_word(word.casefold()) for word in own}) + (built_in is None and stem_word(name) in said)
        if hits:
            points[name] = points.get(name, 0.0) + 2.0 * hits
    return points


def _of_files(paths: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for path in paths[-10:]:
        pure = PurePath(path)
        suffix = pure.suffix.lstrip(".").lower()
        is_test = "test" in pure.name.lower() or any(part.lower() in ("test", "tests") for part in pure.parts[:-1])
        kinds = [name for name, suffixes in _SUFFIXES.items() if suffix in suffixes]
        for name in ["testing"] if is_test and kinds == ["coding"] else kinds:
            found[name] = min(found.get(name, 0.0) + 0.25, _FILES_CAP)
    return found
