"""The turns of phrase by which a request is told to be of one kind of work, each with its weight from 1.5 to 4."""

import re
from functools import cache

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
