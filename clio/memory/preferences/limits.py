"""Finds the limits a user states: what is never or always to be done, where nothing may be changed, when to ask first.

Each of the user's own sentences is split into clauses, each clause is stripped of what leads to it, and a grammar of
demands decides whether the rest is one: negated orders, modal verbs with their subject, predicates that forbid,
conventions of a team or a project, conditions ("ask before …"). What describes the program ("the name must not be
empty"), reports others, asks or quotes is none. A second step decides how long a limit lasts and whom it is for.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.memory.preferences.limit_clauses import (
    OwnSentence,
    Word,
    is_interrogative,
    is_told_of_others,
    read_sentences,
)
from clio.memory.preferences.notice_parts import small
from clio.memory.preferences.notice_words import is_order
from clio.memory.preferences.own_words import FILLER

Term = Literal["lasting", "unclear", "task"]
LimitScope = Literal["project", "user"]
MAX_LASTING = 12
"""Of one message. Who states more has pasted a document, and it holds for the task alone."""
MAX_CHARS = 240


class StatedLimit(Struct, frozen=True, kw_only=True):
    """One limit the user stated.

    content: in the user's words, standing alone. quote: the sentence as written.
    term: "lasting": meant for good; "unclear": the user is to be asked; "task": for the task at hand alone.
    scope: "project" where it names a path, this project or a team; else "user".
    """

    content: str
    quote: str
    term: Term
    scope: LimitScope


class _Clause(Struct, kw_only=True):
    """A clause under judgement. line: its normalised words, without what leads to them.

    first, end: its words in the sentence; start: where its content begins.
    """

    sentence: OwnSentence
    first: int
    end: int
    start: int
    line: str
    is_standing: bool = False
    is_contrast: bool = False
    has_condition: bool = False
    condition: str = ""
    in_project: bool = False
    in_rules: bool = False


Strength = Literal["policy", "plain", "task"]
_Rule = Callable[[_Clause], "Strength | None"]


def find_limits(text: str) -> tuple[StatedLimit, ...]:
    """The limits a message states, in its order; nothing twice. Costs time linear in the length of the text."""
    found: dict[str, tuple[_Clause, Strength, str]] = {}
    has_task = False
    sentences = list(read_sentences(text))
    for number, sentence in enumerate(sentences):
        limits, asks = _judge_sentence(sentence)
        if limits and number + 1 < len(sentences) and _is_repaired(limits, sentences[number + 1]):
            limits = []
        has_task = has_task or asks or (not limits and len(sentence.words) > 2 and not _THANKS.match(sentence.text))
        for clause, strength in limits:
            content = _content(clause)
            found.setdefault(content.casefold(), (clause, strength, content))
    made = [_make(clause, strength, content, has_task) for clause, strength, content in found.values()]
    if sum(one.term != "task" for one in made) > MAX_LASTING:
        made = [StatedLimit(content=one.content, quote=one.quote, term="task", scope=one.scope) for one in made]
    return tuple(made)


_THANKS = LatePattern(
    r"\W*(?:thank|thanks|thx|great|nice|good|perfect|lgtm|looks? good|well done|wow|cool|awesome|ok|okay|hi|hello|hey|sorry|sure|yes|no"
    r"|again|one |small |another |jesus|ffs|why do you)\b",
    re.IGNORECASE,
)


# Clauses

_SPLITTERS = frozenset("and but so also then because since plus or though although however while please thx btw".split())
_DASHES = frozenset(("-", "--", "–", "—", "→", "=>"))

_STARTS = LatePattern(
    r"(?:(?:please|also|just|then|kindly|now) )*"
    r"(?:never|don't|no-longer|always|avoid|stop \w+ing|only (?:ever )?\w+|no (?!(?:one|idea)\b)\w+|mustn't"
    r"|leave .*\b(?:alone|untouched|as|be|unchanged|out|on)\b|keep .*\b(?:as|unchanged|out|off|the same)\b|hands off"
    r"|nothing (?:with|that|using|from|but)|stick (?:to|with)|refrain|ask (?:me|before|first)|from now on|in future|without \w+ing"
    r"|(?:we|you|i|i'd|nobody|nothing) (?:use|never|don't|can't|mustn't|must|may|should|shouldn't|always|only|rather"
    r"|no-longer|want|prefer|goes|gets|expect|log|run|write|deploy)"
    r"|it's (?:not|forbidden|off)|use only|max |not \w+)\b"
)
_WE_USE = LatePattern(r"we (?:use|only|don't|never|no-longer|always) .*\b(?:not|never|only|here|anymore|don't|no-longer)\b")

_LEAD_WORDS = frozenset(
    """ok okay right alright great good thanks thx perfect nice cool yes yeah yep hey hi hello clio hm hmm ah oh well so
    and but also btw please look listen again actually important importantly nb note reminder ps p.s personally honestly
    finally lastly remember then plus seriously ffs jesus god man dude fyi careful attention warning sorry though
    however because sure kindly obviously absolutely definitely lastly furthermore moreover additionally anyway just
    first second third thx lgtm hmmm wow ugh argh rule rules since or yet still pretty too""".split()
)
_LEADS = LatePattern(
    r"(?:by the way|as (?:always|usual|ever)|one (?:more |last |other |small )?(?:thing|rule|remark|note|wish|request)"
    r"(?: for (?:the|all) future)?|small thing|to be clear|(?:please )?(?:keep|bear) in mind(?: that)?"
    r"|(?:please )?(?:note|remember|be aware)(?: that| to)?|just so you know|you should know(?: that)?"
    r"|for (?:the )?(?:future|later)(?: reference)?|for the record|for your information"
    r"|make sure(?: that)? you|make sure to|make sure(?= not| no\b| nothing)|be sure to|see to it that(?: you)?"
    r"|(?:please )?try (?:to (?=never|not|always|avoid)|(?=not to|never))|(?:watch|look) out(?= not| that)|it's (?:company|team|our) policy that"
    r"|(?:be careful|take care)(?: to|(?= not| never))?|for the love of (?:god|christ)|for (?:god|fuck|christ|pete)'s sake"
    r"|i(?:'ve)? (?:told|asked|said)(?: to)?(?: you)?(?: \w+){0,2}? (?:before|already|times|again)|i(?:'ve)? asked you(?= not)"
    r"|i repeat|i told you|how often (?:must i|do i must) say it|whatever (?:you do|happens|comes out)|needless to say"
    r"|(?:it )?goes without saying|and i mean it|it's (?:very |really )?important(?: to me)? that|as a (?:general |rule )?"
    r"(?:rule|principle|reminder|heads-up)|(?:in|as a) (?:general|principle)|generally|by default|rule of thumb"
    r"|if (?:at all )?possible|where possible|under any circumstances|i(?:'d| would) (?:really )?(?:be grateful|appreciate it"
    r"|like it|love it|be happy)(?= if)|it would be (?:great|nice|good|best)(?= if)|(?:one|another) wish"
    r"|company policy|house rules?|our rules?|my rules?|ground rules?|in my code|in our team|in this team"
    r"|(?:the )?(?:first|second|third|last|other) (?:thing|point)|on that note|that said|other than that|that's fine"
    r"|pretty please|first of all|to be honest|as said|once (?:more|again)|the thing is)\b[ ]?"
)
_STANDING = LatePattern(
    r"(?:from (?:now|here|this point|today|there) (?:on|onwards?|forward)|in (?:the )?future|going forward"
    r"|moving forward|henceforth|as of (?:now|today)|starting (?:today|now)|for all (?:future|my|our) \w+"
    r"|(?:for|in) (?:the future|all projects|every project)|as long as i(?:'m| am) working with you|unless i say otherwise"
    r"|until further notice|next time|ab jetzt|ab sofort|desormais|a partir de ahora)\b[ ]?"
)
_SCOPE_WORDS = (
    r"(?:repo|repository|project|codebase|code base|monorepo|package|service|app|application|module|library|lib|team"
    r"|company|organisation|organization|workspace|crate|gem|api|sdk|server|backend|frontend|cli|tool|plugin|product|site"
    r"|website|firmware|system|stack|group|branch model|shop|projekt|dépôt|proyecto)"
)
_IN_PROJECT = LatePattern(
    rf"\b(?:this|our) (?:\w+ )?{_SCOPE_WORDS}\b|\bthe (?:repo|repository|project|codebase|code base|monorepo)\b"
    rf"|\bthis is an? (?:\S+ )?{_SCOPE_WORDS}\b|\b(?:in|across|throughout|for) our \w+|\b(?:here|around here) at \w+"
    r"|\b(?:in|under|inside|below|from|to) (?:third_party|third-party|vendor|vendored|legacy|dist|src|lib|node_modules)\b|^our \w+"
    r"|\bin here\b|\b(?:in|bei) (?:diesem|unserem) (?:projekt|repo)\b|\bdans ce (?:projet|dépôt)\b|\ben este proyecto\b"
    r"|\bfrom dev here\b"
)
_HERE = LatePattern(r"\bhere\b")
_RULES_HEADING = LatePattern(r"\b(?:rules?|constraints?|conventions?|restrictions?|limits|boundaries|guidelines|don'ts?|donts)\b")
_TASK_HEADING = LatePattern(r"\b(?:tasks?|todos?|constraints?|steps?|scope|goals?|plan|non-goals)\b")
_SCOPE_LEAD = LatePattern(
    rf"(?:(?:in|for|within|inside|with|on|across) (?:this|our) (?:\w+ )?{_SCOPE_WORDS} (?=\S)"
    r"|(?:in|for|with|during|inside|within|across|under|on|at|due to|because of|thanks to|by) (?:\S+ ){0,4}?\S+ "
    r"(?=(?:please |you )?(?:never|don't|always|avoid|no|nobody|nothing|only|we|it's|mustn't|should|there|use|write)\b))"
)
_CONDITION = LatePattern(
    r"(?:if|when|whenever|while|since|because|due|as|before|after|once|unless|until|every time|each time|for|where"
    r"|in case|whatever|as long as|given|during)\b"
)
_HEDGES = LatePattern(
    r"(?:apparently|maybe|perhaps|probably|supposedly|allegedly|i (?:think|guess|believe|suppose|assume|wonder|feel"
    r"|was told|heard|read|know|hope|see|wish|noticed|found)|it (?:seems|looks|appears)|he|she|they|someone|somebody"
    r"|my colleague|the reviewer|the (?:client|customer|vendor|docs|doc|readme|comment|compiler|linter|linter)|qa|marketing"
    r"|not sure|no idea|in the last|after the update|yesterday|it|this|that|these|those|you forgot|what if|as a user"
    r"|as an \w+|given a)\b"
)
_PATH = re.compile(
    r"(?<![\w/])(?:[\w.*@-]+/[\w./*@-]*|/[\w.-]+/[\w./*-]*|\.[a-z][\w.-]+|\*\.\w+"
    r"|[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cpp|hpp|cs|php|sh|sql|md|rst|txt|json|ya?ml|toml|ini|cfg|lock|xml"
    r"|html|css|scss|proto|graphql|env|gradle|tf|csv|conf|mod|sum|vue|svelte|lua|pl|ex|exs|swift|scala|bat|ps1)"
    r"|(?:Makefile|Dockerfile|LICENSE|CODEOWNERS|README|CHANGELOG|Jenkinsfile|Gemfile|Procfile))(?![\w])"
)
_NO_PATH = frozenset("node.js next.js vue.js react.js moment.js three.js d3.js express.js chart.js nuxt.js alpine.js backbone.js ember.js underscore.js .net asp.net socket.io day.js and/or i/o n/a tcp/ip c/c++ read/write client/server red/green him/her he/she y/n w/o try/except try/catch".split())


def _judge_sentence(sentence: OwnSentence) -> tuple[list[tuple[_Clause, Strength]], bool]:
    """The limits of one sentence, and whether it asks for work."""
    words = sentence.words
    lows = [word.low for word in words]
    asks = sentence.is_question or _is_task(lows)
    if sentence.is_question and not _is_request(lows):
        return [], True
    found: list[tuple[_Clause, Strength]] = []
    spans = _split(words)
    asks = False
    for number, (first, end) in enumerate(spans):
        before = words[first - 1] if first else None
        if before is not None and ":" in before.mark and is_told_of_others(words[:first]):
            break
        if number + 1 < len(spans) and _is_lead(lows[first:end]):
            continue
        clause = _clause(sentence, first, end, spans[:number])
        if clause is None:
            if first == 0:
                asks = True
                break  # a question, a guess, a report: what follows belongs to it
            continue
        strength = _judge(clause)
        if strength is not None and _is_problem(clause, spans[number + 1 :]):
            return found, True
        if strength is None:
            asks = asks or _is_task(clause.line.split())
            if number == 0 and _HEDGES.match(clause.line) and not clause.has_condition:
                break
            continue
        if found and found[-1][0].end == first and not clause.is_standing and _joins(found[-1][0], clause):
            last, before_strength = found[-1]
            last.end = end
            found[-1] = (last, "policy" if "policy" in (before_strength, strength) else strength)
        else:
            found.append((clause, strength))
    return found, asks or (sentence.is_question and not found)


_REPAIR = LatePattern(
    r"(?:(?:and|so|please|can you|could you|then|but) )*(?:fix|add|move|rename|enforce|upgrade|implement|split|rebase|remove|convert|show|write|make|cherry-pick"
    r"|profile|look|check|find|delete|set|adjust|correct|repair|handle|create|solve|investigate|debug|increase|reduce|rewrite the|update the) "
    r"(?!.*\binstead\b)(?:it|them|one|that|this|the|an?|some|support|logging|those|into|up|out)\b"
)
_ASKS_WHY = LatePattern(r"(?:(?:and|but|so) )*(?:why|how|what|which|where|who|is|are|does|do|can|should)\b(?! (?:not|longer)\b)")


def _is_problem(clause: _Clause, later: Sequence[tuple[int, int]]) -> bool:
    """Whether a statement describes what is wrong: what follows in the sentence repairs it or asks about it."""
    head = clause.line.split()[0]
    if head in ("never", "don't", "always", "no", "avoid", "stop", "only", "leave", "keep", "nobody", "nothing", "you", "i", "i'd"):
        if head not in ("no", "nobody", "nothing") or not later:
            return False
    if is_order(head) is True and not _has_artefact(head):
        return False
    lows = [word.low for word in clause.sentence.words]
    for first, end in later:
        rest = " ".join(low for low in lows[first:end] if low not in _DASHES)
        if _REPAIR.match(rest) or _ASKS_WHY.match(rest):
            return True
    return False


def _is_repaired(limits: Sequence[tuple[_Clause, Strength]], following: OwnSentence) -> bool:
    """Whether statements describe what the next sentence asks to mend: "Our deploys take an hour. Make them faster." """
    lows = [word.low for word in following.words]
    if not re.match(r"(?:(?:and|so|please|can you|could you|then) )*(?:fix|make|change|speed|get|help) (?:it|them|that|this)\b", " ".join(lows)):
        return False
    return all(re.match(r"(?:our|the|it|this|we|there|all|every|\w+s)\b", clause.line) and is_order(clause.line.split()[0]) is not True for clause, _ in limits)


def _joins(one: _Clause, other: _Clause) -> bool:
    """Whether two clauses in a row say one thing: "no click, no typer", "we use uv, not pip"."""
    return other.line.startswith(("no ", "not ", "never ", "nor ")) or one.line.split(" ", 1)[0] == other.line.split(" ", 1)[0]


def _is_request(lows: Sequence[str]) -> bool:
    text = " ".join(lows)
    return bool(re.search(r"\b(?:can|could|would|will) you(?: please| kindly)? (?:not|never|stop|always|avoid|refrain|mind not)\b", text))


def _is_task(lows: Sequence[str]) -> bool:
    at = 0
    while at < len(lows) and (lows[at] in _LEAD_WORDS or lows[at] in ("can", "could", "would", "you", "i", "want", "need", "i'd", "like", "to", "let's", "we")):
        at += 1
    return at < len(lows) and (is_order(lows[at]) is True or lows[at] in _TASK_VERBS) and lows[at] not in _NO_TASK


_NO_TASK = frozenset("stop avoid keep leave stick stay ask".split())


def _split(words: Sequence[Word]) -> list[tuple[int, int]]:
    """The clauses of a sentence, as spans of its words."""
    cuts = [0]
    lows = [word.low for word in words]
    for at in range(1, len(words)):
        mark = words[at - 1].mark
        if mark and mark[-1] in ",;:!?…." or lows[at] in _DASHES or lows[at - 1] in _DASHES:
            cuts.append(at)
        elif lows[at] in _SPLITTERS and not (lows[at] == "please" and lows[at - 1] in ("you", "to", "and", "but", "so")):
            after = " ".join(lows[at + 1 : at + 12])
            if _STARTS.match(after):
                cuts.append(at)
        elif lows[at] == "we" and lows[at - 1] not in _BEFORE_WE and _WE_USE.match(" ".join(lows[at : at + 12])):
            cuts.append(at)
    spans = list(zip(cuts, [*cuts[1:], len(words)], strict=True))
    return [(first, end) for first, end in spans if not all(low in _DASHES for low in lows[first:end])]


_BEFORE_WE = frozenset(
    "that which if what how why where when as than because since the do are can should must could whether where places things while and but so also then time".split()
)


def _clause(
    sentence: OwnSentence, first: int, end: int, earlier: Sequence[tuple[int, int]]
) -> _Clause | None:
    """The clause of these words, without its leads; None where it is a question or a guess."""
    lows = [word.low for word in sentence.words]
    at = first
    is_standing = bool(first) and _is_standing_lead(lows[:first])
    is_contrast = first > 0 and lows[first] in ("but", "and", "so", "though")
    while at < end:
        line = " ".join(lows[at:end]) + " "
        if found := _STANDING.match(line):
            is_standing = True
        else:
            found = _LEADS.match(line)
        if found and (found.end() < len(line) or is_standing):
            is_standing = is_standing or bool(re.search(r"\b(?:future|rule|rules|principle)\b", found[0]))
            at += len(found[0].split())
        elif lows[at] in _LEAD_WORDS and (at + 1 < end or lows[at] in ("please", "so", "and", "but")):
            at += 1
        elif lows[at] in _DASHES:
            at += 1
        elif (scope := _SCOPE_LEAD.match(line)) and not re.match(r"\w+ no\b", line):
            at += len(scope[0].split())
        else:
            break
    line = " ".join(low for low in lows[at:end] if low not in _DASHES)
    if line.startswith("be ") and lows[at - 1 : at] == ["please"]:
        return None
    if is_interrogative(lows[at : at + 3]):
        return None
    whole = " ".join(lows)
    standing_behind = bool(
        re.search(r"\b(?:from now on|in (?:the )?future|going forward|henceforth|for all future \w+|always|in all projects|ever again)$", whole)
    )
    condition = ""
    if earlier:
        last = " ".join(lows[earlier[-1][0] : earlier[-1][1]])
        lead = re.sub(r"^(?:and|but|so|also|please|well|ok) ", "", last)
        condition = lead if _CONDITION.match(lead) else ""
    start = earlier[-1][0] if condition else at
    text = sentence.slice(0, len(lows))
    return _Clause(
        sentence=sentence,
        first=first,
        end=end,
        start=start,
        line=line,
        is_standing=is_standing or standing_behind,
        is_contrast=is_contrast,
        has_condition=bool(condition),
        condition=condition,
        in_project=bool(_IN_PROJECT.search(whole) or _IN_PROJECT.search(sentence.heading)) or has_path(text),
        in_rules=bool(_RULES_HEADING.search(sentence.heading)),
    )


def _is_standing_lead(lows: Sequence[str]) -> bool:
    """Whether the words before a clause only say that what follows holds for good: "from now on:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in _DASHES) + " "
    found = _STANDING.match(text) or _LEADS.match(text)
    if found is None or len(text.split()) - len(found[0].split()) > 6:
        return False
    return bool(re.search(r"\b(?:future|rule|rules|principle|now on|forward|henceforth|general)\b", found[0])) and (
        found.end() >= len(text) or bool(re.match(r"(?:for|of|in|to) ", text[found.end() :]))
    )


def _is_lead(lows: Sequence[str]) -> bool:
    """Whether a clause is nothing but words that lead to the next one."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in _DASHES) + " "
    found = _LEADS.match(text) or _STANDING.match(text)
    return not text.strip() or (found is not None and found.end() >= len(text))


def has_path(text: str) -> bool:
    """Whether a text names a file or a folder."""
    return any(found[0].lower() not in _NO_PATH for found in _PATH.finditer(text))


# What is a demand

_PROGRAM_VERBS = frozenset(
    """return close retry cache log send show poll call render load throw raise display fetch open render print emit wait
    block refresh reload animate scroll hide play trigger fire redirect submit save store delete update polling calling
    sending showing loading fetching rendering returning logging closing retrying refreshing""".split()
)
_OF_PROGRAM = LatePattern(
    r"\b(?:twice|on (?:mobile|desktop|every \w+|each \w+|page|load|start|startup|\d\w*)|when (?:the|a|no|it|there)|while (?:the|a|it)|if (?:the|a|no|it|there)|in the \w+"
    r"|from the \w+|until the|after the|too \w+)\b"
)
_IDENTIFIER = re.compile(r"\b(?:in|from|of|by|to) (?:[a-z]+[A-Z]\w*|[a-z]+_\w+|\w+\(\))|\b[a-z]+[a-z0-9]*\(\)")


def _is_of_code_to_write(clause: _Clause, verb: str, rest: str) -> bool:
    """Whether an order says what the program is to do: "don't send the email twice"."""
    if verb not in _PROGRAM_VERBS or clause.in_project or clause.is_standing:
        return False
    return bool(_OF_PROGRAM.search(rest) or _IDENTIFIER.search(_raw(clause)))


_IDLE = frozenset(
    """worry mind know think understand get see bother remember forget hesitate care believe need have want like hurry
    panic you we they i he she it be feel recall agree work seem exist sweat rush even find expect despair recognise
    recognize matter let doubt wait hear die give listen sleep cry laugh hold fear miss regret quite really so as
    too at by of for if when until yet again ever the a an this that these those your our their its some more less
    such say said seem look hope stress sound fit apply match fail pass compile build start load happen stop""".split()
)
"""Behind "don't" or "never" these make no limit: idioms, states, what software does."""
_ALLOWED_AFTER_NEVER = frozenset("stop build wait listen look let apply find want start hold give pass load say".split())
_SEE = frozenset("see be find have imagine believe expect notice know get reproduce tell run_it help seem need want hear".split())
_BUG_VERBS = frozenset(
    "call close free release check handle catch set reset clear await update return pass get see validate test cover "
    "reach hit find reproduce verify measure figure work win agree change_that know think".split()
)
_BUG_STATES = frozenset(
    """work works run runs pass passes finish finishes fail fails compile compiles start starts stop stops load loads
    match find exist exists terminate terminates return returns hang hangs happen happens seem appear render show
    close closes get gets reach exit exits disappear disappears show""".split()
)
_LASTING_WORDS = LatePattern(
    r"\b(?:never|ever|always|anymore|any more|again|no-longer|anywhere|at all|whatsoever|under no circumstances"
    r"|in no case|no exceptions?|period|every|each|whenever|under any circumstances|nobody|any (?:project|file|code|of my)"
    r"|in general|generally|at all costs|like the plague|everything|nothing|strictly|absolutely|forbidden|prohibited"
    r"|banned|verboten|taboo|policy|for good|forever|nowhere)\b"
)
_NOW = LatePattern(
    r"\b(?:yet|for now|right now|today|tonight|tomorrow|at the moment|for the moment|this time|so far|meanwhile"
    r"|in the meantime|for the time being|just yet|in this (?:function|method|class|file|pr|mr|commit|change|task|case"
    r"|step|branch|test|loop|patch|refactor\w*|module|migration)|for this (?:task|one|change|pr|case|function|file|step)"
    r"|while you're at it|still running|until i'm done|nothing else|one (?:file|step|thing) at a time|of this (?:function|file))\b"
)
_POINTS = LatePattern(
    r"\b(?:it|them|that file|this file|these files|those files|this function|its|their|there|the (?:rest|other|others|old|new"
    r"|footer|header|tests?|code|signature|response|index|second|first|release|file|function))\b"
)
_DEFINITE = LatePattern(r"\b(?:the|its|their|this|these|those|that)\b")
_ARTEFACTS = frozenset(
    """code test commit file function method class module package import variable name comment docstring doc branch
    message pr mr migration dependency library header api interface signature schema contract format config
    configuration line indentation import query statement keyword endpoint route component service controller model
    view template page header script makefile dockerfile image container workflow pipeline job build release tag
    version changelog readme license lockfile fixture snapshot mock id timestamp date amount price error exception
    log logging output flag option argument parameter parameters param constant enum type annotation decorator
    exception warning bundle binary artefact artifact resource secret key token password_file credential url string
    quote bracket paren semicolon space tab whitespace naming convention column table identifier folder directory
    layer domain infrastructure ui core db database logic bracket email emails sentence bug todo fixme feature hook
    plugin repo repository project codebase monorepo app application library crate team customer_data behaviour
    behavior results result functionality semantics pull diff patch refactoring helper util utils wrapper nesting
    hardcoded callback loop lambda ternary getter setter singleton global state inheritance object objects struct
    trait macro test_name spec specs assertion suite coverage length columns width size limit ci deploy deployment
    environment prod production staging server_side main master trunk develop vendor vendored css html sql yaml json
    python java rust go typescript javascript node product requirements amount amounts header headers rest routes
    translation translations locale locales number numbers_in ids dates""".split()
)
_NOT_ARTEFACT = frozenset("result results output job page table column customer image limit key token date number error string option".split())
"""Counts only where the word is plural or generic, not with "the"."""
_CHANGES = LatePattern(
    r"(?:ever )?(?:change|break|move|grow|be (?:changed|edited|touched|modified|renamed|moved|deleted|removed|upgraded|written"
    r"|committed|broken|reformatted|rebased|squashed|bumped|altered|restarted|dropped|checked in|reordered|public)|stay"
    r"|remain|keep|leak|use|depend|import|call|phone home|know|talk|contain|mutate|rely|exceed|be under|be below|be over"
    r"|go|come|have|need|live|hit|touch|access|write|read|log|throw|raise|swallow|block|sleep|run on|work (?:on|with)"
    r"|compile|build|be (?:reversible|pure|typed|documented|tested|async|sorted|small|short|in|at|a|one|full|written|named"
    r"|prefixed|signed|immutable|frozen|idempotent|deterministic|used|added|merged|pushed|published|skipped|mocked)"
    r"|end|start|begin|follow|support|take|introduce|add|create|show|include|carry|cost|fit|share|drop|require|mix|nest)\b"
)
_TOOL_VERBS = LatePattern(
    r"(?:ci|the ci|our ci|cd|pipeline|the pipeline|our pipeline|the build|build|pre-commit|pre-commit hooks?|the pre-commit hook.*"
    r"|the linter|linter|our linter|(?:our |the )?style ?guide|the licen[cs]e.*|security|compliance|legal|(?:our |company |the )*policy"
    r"|my boss|my team|our (?:clients?|customers?|reviewers?)|the (?:reviewers?|maintainers?)|github|gitlab|sonar|the hook|"
    r"the (?:ci|gate) check) (?:only |also |will )?(?:rejects?|forbids?|doesn't allow|requires?|enforces?|disallows?|doesn't want"
    r"|won't accept|doesn't accept|prohibits?|insists? on|blocks|refuses?|demands?|(?:fails?|breaks?|complains?) (?:on|about|if|for)"
    r" (?:any |every |all |a |an |single )?(?!main|master|windows|linux|macos|mac|friday|it|this|that|the)\w+)"
)
_NOT_TO_BE = LatePattern(r"(?P<subject>.+?) (?:isn't|aren't|is never|are never|is not|are not|not|never) to be \w+(?:ed|en|t|un)\b")
_FORBIDDEN = LatePattern(
    r"(?:(?P<subject>.+?) )?(?P<verb>is|are|it's|isn't|aren't|remains?|stays?|be|that's|was|were)(?: (?:strictly|absolutely|really|also|all|now|still|considered"
    r"|declared|simply|generally|always|currently))* (?:off limits|off-limits|taboo|forbidden|prohibited|banned|verboten|disallowed|illegal"
    r"|(?:a )?(?:absolute |hard |strict )?no-go|a no go|out of bounds|out of the question|untouchable|sacred|unacceptable|no option"
    r"|(?:not )?(?:allowed|permitted|ok(?:ay)?|acceptable|welcome|wanted|an option|a fix|fine|desired|tolerated|yours to \w+|for you"
    r"|(?:not )?your (?:job|business|call|responsibility|decision|task)|(?:not )?(?:a goal|in scope|up for (?:discussion|debate)|negotiable)|my (?:job|business|call|responsibility|decision|task)|on me)|too (?:much|deep|long) don't)\b"
)
_STATE = LatePattern(
    r"(?P<subject>.+?) (?:is|are|stays?|remains?|gets?|get|has been|have been|must (?:stay|be|remain)|should (?:stay|be|remain))"
    r"(?: \w+ly| all| also| build| now| still)* (?:frozen|read-only|readonly|immutable|generated|produced|put|owned|mine|hers|theirs|auto-?generated|machine-generated|output|managed"
    r"|protected|dangerous|personal|disposable|compiled|rendered|overwritten|(?:written|bumped|updated|done|handled|created|released|published|made|produced) by (?!me\b|us\b|him\b|her\b)\S+|maintained by|owned by|vendored|append-only"
    r"|as (?:it|they) (?:is|are)|byte-identical|untouched|unchanged|the same|identical|stable|backwards?[- ]compatible|compatible|private"
    r"|done by|checked in)\b"
)
_BELONGS = LatePattern(r"(?P<subject>.+?) (?:belongs?|don't belong|doesn't belong|goes|go|lives?) (?:to|in|into|under|on|below|next to|through)\b")
_ASK_FIRST = LatePattern(
    r"(?:always )?(?:ask|consult|warn|tell|notify|ping|inform) (?:me )?(?:before|first|instead|whenever|if in doubt|each time|every time|when)\b"
    r"|(?:always )?(?:check|confirm|clear it|clear this|verify|talk|discuss|align|sync)(?: it| back| in)* with me\b|(?:hold off|wait) (?:on|with|from|before) \w+ing|.*\bwithout (?:checking|talking|speaking|discussing|clearing|confirming) (?:it )?(?:with|to) me\b|.*\bwithout my \w+|if (?:in doubt|unsure) ask"
    r"|wait (?:for|until) (?:my|i)\b|(?:get|have|obtain|request) my (?:ok|okay|permission|approval|consent|go)\b|ask me\b.*\b(?:before|first)"
    r"|show me .*\b(?:before (?:you|every|each|any)|each time|every time)\b|.*\bonly (?:after|when|if|once) (?:i|my)\b"
    r"|.*\b(?:needs?|requires?|must have|must get) my (?:ok|okay|permission|approval|review|sign-off)\b|ask if (?:unsure|in doubt)"
    r"|ask instead\b|ask don't guess"
)
_UNTIL_TOLD = LatePattern(
    r"\b(?:until|unless|before|without) (?:i(?:'ve|'m| have)?(?: explicitly| clearly)? (?:say|said|tell|told|ok|approve|approved|confirm|confirmed|give|gave"
    r"|given|ask|asked|looked|agree|agreed|signed|allow|want|request|reviewed|checked|seen|see)|asking|checking with me|my (?:go|go-ahead|green light|blessing|confirmation|ok|okay|permission|approval|consent|say-so|explicit))\b"
)
_HABIT_TRIGGER = LatePattern(
    r"(?:(?:every|each) time|whenever)\b|(?:when|while) (?:committ|push|merg|deploy|releas|tagg|renam|refactor|writ|add|creat|delet|edit|review)ing\b|(?:before|after) (?:every|each|any|you (?:commit|push|merge|deploy|delete|edit|touch|change|release|tag|finish)"
    r"|committing|pushing|merging|deploying|deleting|editing|touching|changing|releasing)\b"
)
_HABIT_TAIL = LatePattern(r"\b(?:after|before|on|with) (?:every|each|any) (?:change|edit|commit|push|merge|step|task|file|session|release|save|turn)\b")
_QUANTITY = LatePattern(
    r"(?:(?:max(?:imum)?|at most|no more than|not more than|up to|under|below|less than)\.? (?:line length |file size |)?"
    r"(?:\d+|one|two|three|four|five|ten)\S* ?(?:\w+ )?(?:lines?|files?|commits?|functions?|params?|parameters?|columns?|chars?|characters?"
    r"|class(?:es)?|levels?|arguments?|methods?|words?|kb|mb|sentences?|indentation)|(?:\d+|two|four|eight)(?: |-)(?:columns?|chars?|spaces?|space)\b"
    r"|(?:max(?:imum)?|the max(?:imum)?|minimum|min)? ?(?:line|file|function|method|class|name) (?:length|size|width) .*\d|one \w+ per \w+"
    r"|line length \d+)(?P<rest>.*)"
)
_MODAL = LatePattern(
    r"(?P<subject>\S+(?: \S+){0,8}?) (?P<modal>mustn't|must never|may never|should never|shouldn't|can't|must always|should always"
    r"|must only|may only|can only|should only|must|may|should|shall|never|always|don't|doesn't|won't|no-longer|only)(?: (?:ever|even|also|all|both"
    r"|directly|really))* (?P<rest>\S.*)"
)
_CONVENTION = LatePattern(
    r"(?P<subject>\S+(?: \S+){0,6}?) (?:(?:always|only|usually|strictly|all|also) )?(?P<verb>is|are|start|starts|end|ends|follow|follows|mirror|mirrors|use|uses"
    r"|get|gets|need|needs|return|returns|have|has|carry|carries|take|takes)(?: (?:always|only|strictly|all|also))* (?P<rest>\S.*)"
)
_WE = LatePattern(
    r"(?:we|our team|this team|the team|this (?:project|repo|repository|codebase|app|service|package|team)|the (?:project|codebase))"
    r"(?: (?:also|still|all|really|strictly|generally|deliberately|currently|in \w+|as a team|here))*"
    r" (?P<verb>\S+)(?: (?:ever|really|also|all|even|only))*(?: (?P<rest>.*))?"
)
_YOU = LatePattern(
    r"(?:you|clio|you're|you are)(?: (?:really|please|also|ever|generally|simply))* (?P<modal>mustn't|shouldn't|can't|won't|don't get to|don't|never|must never|should never"
    r"|may never|may only|must only|should only|can only|must always|should always|may|must|should|aren't (?:allowed )?to|aren't to|(?:are )?(?:not )(?:allowed |permitted |supposed )?to"
    r"|are never to|are to|to|are|are never|always|only|can|have)(?: (?:ever|always|please|under any circumstances))*(?: (?P<rest>.*))?"
)
_NEGATIVE_MODALS = ("mustn't", "shouldn't", "can't", "won't", "never", "must never", "should never", "may never")
_TURN_VERBS = frozenset("show run list print give tell display explain check look test review return find search read summarise summarize output".split())
_NO_IDIOMS = LatePattern(
    r"no (?:thanks?|thank you|problems?|worries|worry|idea|clue|luck|rush|need|wonder|doubt|matter|way|sweat|hurry|biggie|such|one|offense|offence|comment$"
    r"|reason|difference|effect|response|reply|answer|progress|success|errors?|failures?|output|results?|change$|changes$|news|point|question|questions|sense"
    r"|use|good|yes|not|it|the|this|that|i|we|you|they|he|she|but|and|pressure|hard feelings|big deal|joke|kidding|stress|hits?|matches"
    r"|other|the|longer|more than|nothing|wait|sorry|please|don't|never|now|what|why|how|if|there|still|dice|can do|go$|\w+ly\b)\b"
)
_FINITE = LatePattern(
    r"\b(?:is|was|were|has|had|ran|run|came|went|got|found|left|happens?|works?|fails?|failed|appears?|appeared|shows?|exists?|remains?|seems?|matched|were found"
    r"|are|did|does|will|would|can|could|anymore thanks|gets|comes|seen|pass|passed|passes)\b"
)
_OTHER_LANGUAGES = LatePattern(
    r"(?:bitte )?(?:niemals|nie|nie wieder|nie mehr)\b|(?:verwende|nutze|benutze|mach|mache|schreib|schreibe|fass|rühr|ändere|lösche|lege|füge|committe|pushe"
    r"|nimm|installiere|importiere)\b.*\b(?:nie|niemals|nicht|kein|keine|keinen|nur|immer|ohne)\b|(?:bitte )?(?:keine?n?|kein)\s+(?!ahnung|problem|plan|idee|sorge|stress|zeit|lust|fehler|ding)\w+"
    r"|.*\bkein(?:e|en)? \w+ sondern\b|(?:immer|nur) \w+|frage? mich\b|.*\b(?:ist|sind) (?:tabu|verboten|gesperrt|eingefroren)\b|(?:wir (?:nutzen|verwenden|benutzen|schreiben|machen)|(?:nutzen|verwenden|benutzen|schreiben|machen) wir)\b.*\b(?:kein|nicht|nur|sondern)"
    r"|.*\b(?:darf|dürfen|darfst|sollst|soll) (?:\w+ ){0,6}?(?:nicht|nie|niemals|kein)\b|lass .*\b(?:in ruhe|unverändert)|(?:commit-nachrichten|kommentare|antworten?)\b.*\bauf (?:deutsch|englisch)"
    r"|(?:ne|n')\s?\S+ (?:jamais|pas)\b|n'\w+ (?:pas|jamais)\b|ne (?:jamais|pas) \w+|jamais \w+|toujours \w+|pas de \w+|sans \w+er\b|on n'utilise|n'utilise\w*"
    r"|nunca \w+|siempre \w+|no (?:hagas|uses|toques|cambies|modifiques|borres|edites|escribas|añadas|instales|ejecutes|hagáis|subas)\b|evita \w+|nada de \w+|usa siempre|solo usa"
)


def _judge(clause: _Clause) -> Strength | None:
    """Whether a clause is a demand, and how strongly it is meant for good."""
    line = clause.line
    if not line:
        return None
    for rule in _RULES:
        found = rule(clause)
        if found is not None:
            return found
    if clause.in_rules and not clause.has_condition and clause.first == 0 and len(line.split()) > 1:
        return _strength(clause)
    return None


def _strength(clause: _Clause, strength: Strength = "plain") -> Strength:
    if _TASK_HEADING.search(clause.sentence.heading):
        return strength
    if clause.in_rules:
        return "policy"
    return "policy" if clause.is_standing or _LASTING_WORDS.search(clause.line) else strength


_NEGATED = LatePattern(
    r"(?P<neg>never|don't|not|no-longer|do never|neither)(?: (?:ever|just|please|also|again|you dare(?: to)?|even|to|use:|under any circumstances|in any case))*"
    r" (?P<verb>\S+)(?: (?P<rest>.*))?$"
)


def _negated_order(clause: _Clause) -> Strength | None:
    """ "never push", "don't touch X", "not a single commit until …", "never tabs" behind what is wanted instead."""
    found = _NEGATED.match(clause.line)
    if found is None:
        if clause.line in ("don't", "never") and len(clause.sentence.words) > 2:
            clause.start = 0
            clause.end = clause.end if clause.first else len(clause.sentence.words)
            return "policy"
        return None
    neg, verb, rest = found["neg"], found["verb"], found["rest"] or ""
    is_again = clause.line.startswith("never again")
    if neg == "not":
        return _not_phrase(clause, verb, rest)
    if neg == "neither":
        return "plain" if " nor " in clause.line else None
    if is_again and len(clause.line.split()) < 4 and not rest:
        return None
    idle = verb in _IDLE and not (verb in _ALLOWED_AFTER_NEVER and rest)
    if _is_of_code_to_write(clause, verb, rest):
        return None
    if verb in ("work", "go", "look", "do", "think") and re.match(r"(?:on|in|near|into|at|outside|(?:it|this|that|them|\w+) (?:by hand|yourself|manually|on your own)|about \w+ing)\b", rest):
        return _strength(clause)
    if verb == "be" and re.match(r"(?:clever|smart|creative|verbose|lazy|cute|fancy|chatty|overly|too|polite|wordy)\b", rest):
        return _strength(clause)
    if verb == "let" and "down" in rest:
        return None
    if verb.startswith(FILLER):
        return _strength(clause)
    order = None if idle else is_order(verb)
    if order is None and not idle and not rest and neg == "don't":
        order = True if verb in ("commit", "push", "deploy") else None
    if verb in ("find", "wait", "stop", "look", "start", "pass", "load", "give", "hold", "say") and neg == "don't" and not rest:
        return None
    if neg in ("never", "no-longer") and not (order is True or (order is None and not idle and rest)):
        return _never_this(clause, verb, rest, neg)
    if neg == "don't" and (idle or order is False):
        if verb == "bother" and rest.startswith(("with ", "to ")):
            return "task"
        if verb == "be" and rest:
            return None
        if verb in ("have",) and rest:
            return "plain"
        return None
    if neg == "don't" and order is None and not rest:
        return None
    if rest in ("that", "so", "it like this", "this", "do that"):
        return "task" if neg == "don't" else None
    if clause.has_condition and neg == "don't" and _DEFINITE.search(rest or "it") and _is_of_program(clause.condition):
        return None
    if clause.has_condition and rest in ("it", "them", "") and _is_of_program(clause.condition) and neg == "don't":
        return None
    return _strength(clause, "policy" if neg in ("never", "no-longer") else "plain")


def _is_of_program(condition: str) -> bool:
    """Whether a condition is about the program ("as long as the token is valid") and not about the work."""
    return not re.search(r"\b(?:you|i|we|i'm|you're|test|tests|code|sql|unless i|whatever|repo|project|working|due|because|since)\b", condition)


def _not_phrase(clause: _Clause, verb: str, rest: str) -> Strength | None:
    """ "not X" behind what is used instead, "not a single …", "not without asking"."""
    line = clause.line
    if line.startswith(("not a single ", "not one ", "not without ")) or _UNTIL_TOLD.search(line):
        return _strength(clause, "policy" if _UNTIL_TOLD.search(line) else "plain")
    before = _text_before(clause)
    if (
        line.startswith("not to ")
        and is_order(verb) is True
        and re.search(r"\b(?:asked you|careful|care|sure|remember|try|out)\b", " ".join(word.low for word in clause.sentence.words))
    ):
        return _strength(clause)
    if not before or len(line.split()) > 7 or verb in ("sure", "yet", "bad", "only", "just", "really", "so", "that", "because", "all"):
        return None
    first = before.split()
    if line.startswith(("not to ",)) and clause.first == 0:
        return None
    if re.match(r"(?:(?:and|but|so|also|please|then|always) )*(?:we(?:'re)? (?:use|are|run|on|write|go)|use|it's|prefer|write|take|(?:edit|change|modify|touch|update) \S+|new tests|tests|docs|config|ids|amounts|call|return|import|[\w-]+(?: [\w-]+)?$)", before):
        if len(first) <= 2 and not clause.is_standing and not clause.in_project:
            if is_order(first[0]) is True or first[0] in ("no", "yes", "why"):
                return None
        clause.start = 0 if not clause.start or len(before.split()) <= 10 else clause.start
        if re.match(r"(?:return|write|sort|log|call|take|import) (?:the|a|an|by|to|in|from|\d)\b|(?:return|sort|log|write) \S+$", before) and not clause.in_project:
            return None
        if before.startswith(("use the", "use a", "use an")):
            return "task"
        return _strength(clause, "policy" if clause.is_standing or clause.in_project or before.startswith("we") else "plain")
    return None


def _never_this(clause: _Clause, verb: str, rest: str, neg: str) -> Strength | None:
    """ "never tabs", "never in euros" behind the wanted thing; "never ever", "never again without asking"."""
    if _UNTIL_TOLD.search(clause.line):
        clause.start = clause.first
        return "policy"
    if clause.is_standing:
        return "policy"
    before = _text_before(clause)
    said = frozenset(
        "mind seen heard had fear surrender happened happens worked works gets got knew a an late more better mind: been was is really too quite say".split()
    )
    if not before or verb in said or verb.endswith("ed"):
        return None
    if verb in ("in", "on", "at", "with", "without", "for", "by", "from", "to", "anywhere", "into") and not re.match(
        r"(?:\S+ ){0,7}(?:is|are|belong|belongs|go|goes|lives?|use|write|put|wrapped)\b", before
    ):
        return None
    if re.match(r"(?:\S+ ){0,4}(?:passes|fails|works|runs|happens|crashes)\b", before):
        return None
    clause.start = 0 if len(before.split()) <= 12 else clause.start
    return "policy"


def _text_before(clause: _Clause) -> str:
    return " ".join(word.low for word in clause.sentence.words[: clause.first] if word.low not in _DASHES)


def _stop_doing(clause: _Clause) -> Strength | None:
    found = re.match(r"stop (?:it with|\w+[-\w]*ing|all|with)\b ?(?P<rest>.*)", clause.line)
    if found is not None:
        if re.match(r"stop (?:looping|running|waiting|worrying|kidding|crying|joking|trying|here|everything)\b", clause.line):
            return None
        if _is_of_code_to_write(clause, clause.line.split()[1], found["rest"]):
            return None
        return "task" if re.match(r"(?:this|that|these|it)\b", found["rest"]) else "policy"
    if re.match(r"(?:cut (?:out )?|enough (?:with|of) |drop |lose |spare me |save (?:yourself|me) )the \w+", clause.line):
        is_manner = clause.line.startswith(("cut", "enough", "spare", "save"))
        return _strength(clause) if is_manner or clause.is_standing else None
    return None


def _avoid(clause: _Clause) -> Strength | None:
    found = re.match(r"(?:try to |you should |always )*avoid (?P<rest>.+)", clause.line)
    if found is not None:
        rest = found["rest"]
        if rest.split()[0] in ("the", "a", "an", "this", "that", "it", "these") and not _LASTING_WORDS.search(rest):
            return None
        if _is_of_code_to_write(clause, rest.split()[0], rest) or re.search(r"\bin the (?:output|result|list|response)\b", rest):
            return None
        return _strength(clause)
    if re.match(r"(?:refrain|abstain|desist) from \w+|(?:steer|stay|keep) (?:well )?(?:clear of|away from|out of|off)\b", clause.line):
        return _strength(clause, "policy")
    return None


_KEEP = LatePattern(
    r"(?:let's |please |while |but |always )*(?:keep|leave|leaving|keeping|preserve|retain|maintain|preserving) (?:(?P<object>.+?) )?"
    r"(?P<how>alone|untouched|unchanged|as is|as-is|as it is|as they are|as it was|be|intact|the way (?:it|they)|out\b|in place|on \S*\d|stable|identical|the same"
    r"|backwards?[- ]compatible|compatible|working|read-only|frozen|for (?:now|later)|to me\b|like that|that way|small|short|minimal|pure|simple|(?:under|below|within|at most) (?:\d|one|two|three|four|five|ten|a )\S*"
    r"|off\b|compatibility)(?: (?P<rest>.*))?$"
)


def _keep(clause: _Clause) -> Strength | None:
    line = clause.line
    if re.match(r"(?:keep )?(?:your |my )?hands off\b", line):
        return _strength(clause, "policy" if not re.search(r"while you're at it", line) else "task")
    found = _KEEP.match(line)
    if found is not None:
        what = found["object"] or ""
        if what in ("it", "me", "") or line.startswith(("leave it to", "leave it at", "keep it up", "keep me")):
            return "task" if what == "it" and found["how"] not in ("to me", "be", "simple", "short") else None
        if what.startswith("only ") or (found["how"] == "out" and line.startswith("leave") and not re.match(r"(?:step|the)\b.*$", what + (found["rest"] or "x"))):
            return None
        if found["how"] in ("small", "short", "minimal", "pure", "simple", "on", "working") and re.match(r"(?:the|a|it|this|that)\b", what):
            return None
        return _strength(clause)
    if re.match(r"keep (?!the |a |an |it |this |that |going|up|in |calm|on |me |trying|working|looking|an eye|your|an)\w+s \w+$|keep (?:the )?(?:backwards?|wire|public|existing)\b", line):
        return _strength(clause)
    if re.match(r"(?:while |by )?keeping (?:all |the |every |existing )", line) and clause.first:
        return "task"
    if re.search(r" while keeping (?:all|the|every)\b", f" {line}") and is_order(line.split()[0]) is True:
        return "task"
    return None


def _only(clause: _Clause) -> Strength | None:
    line = clause.line
    if re.match(r"use (?:only|nothing but|any .+ (?:but|except|apart from))\b", line):
        return _strength(clause)
    found = re.match(r"only (?:ever )?(?P<verb>\S+)(?: (?P<rest>.*))?$", line)
    if found:
        verb, rest = found["verb"], found["rest"] or ""
        if is_order(verb) is True and verb not in _TURN_VERBS:
            return _strength(clause, "policy" if _UNTIL_TOLD.search(line) or re.search(r"\bwhen i\b", rest) else "plain")
        if re.match(r"(?:that|this|these|those) (?:file|one|function|class|module|folder|files)\b", f"{verb} {rest}"):
            return "task"
        if verb == "the" and clause.is_contrast and has_path(_raw(clause)):
            return "task"
        if re.search(r" (?:may|can|should|edits?|touch(?:es)?|push(?:es)?|merges?|commits?|changes?|approves?|deploys?) ", f" {rest} ") and (
            clause.in_project or _has_artefact(rest)
        ):
            return "policy"
        if re.search(r" (?:in|for) (?:source|code|commit|test|doc)\w*", f" {rest}"):
            return _strength(clause)
        return None
    if re.match(r"(?:\S+ ){0,2}?\S+ only (?:when|after|if|once) (?:i|my)\b", line):
        return "policy"
    found = re.match(r"(?P<verb>\S+) only (?!one|two|a |an |the (?:first|last)|\d)(?P<rest>.+)$", line)
    if found and found["verb"] not in ("ensure", "keep", "make") and is_order(found["verb"]) is True and found["verb"] not in _TURN_VERBS:
        return _strength(clause)
    if re.match(r"(?:\S+ ){1,5}only$", line) and is_order(line.split()[0]) is not True and not _FINITE.search(line.split()[0]):
        if re.match(r"you have\b|read access", line):
            return "policy"
        return _strength(clause) if not re.match(r"(?:it|this|that|i|he|she|the)\b", line) else None
    return None


def _no_thing(clause: _Clause) -> Strength | None:
    """ "no emojis", "no more mocks", "zero tolerance", "nothing but plain CSS"."""
    line = clause.line
    if re.match(r"(?:zero (?:tolerance|dependencies|runtime)|nothing but|any .+ (?:but|except|apart from) |everything (?:but|except) .+ (?:is|are) (?:fine|ok|okay|allowed))", line):
        return _strength(clause, "policy")
    if re.match(r"(?:do|use|change|touch|edit) (?:whatever|anything|everything)\b.*\b(?:except|but|apart from)\b", line):
        return "policy"
    found = re.match(r"(?P<verb>\w+) (?:nothing|none|no(?! longer\b|-)|zero) ?(?P<rest>.*)", line)
    if found and is_order(found["verb"]) is True and found["verb"] not in _TURN_VERBS and not re.match(r"(?:error|errors|result|results|match)", found["rest"]):
        return _strength(clause)
    if re.match(r"do nothing (?:to|with|in|about)\b|make no \w+", line):
        return _strength(clause)
    if re.match(r"(?:zero|not (?:one|a)) (?:new |more |extra )?\w+", line) and _has_artefact(line) and not _FINITE.search(line):
        return _strength(clause)
    if re.match(r"(?:stay|remain|work) (?:within|inside|in) \S+|(?:limit|restrict|confine) (?:yourself|your\w* \w+|(?:all )?(?:changes|edits|work|the changes)) to\b|you're limited to\b|keep out$", line):
        if line == "keep out":
            clause.start = 0
        return _strength(clause)
    if clause.is_contrast and re.match(r"nothing (?:with|that|using|from|from|in|else|over|under|beyond) \w+", line):
        return "plain"
    if re.match(r"nothing else$|one \w+ at a time|no big bang", line):
        return "task"
    match = re.match(r"no (?P<what>.+)$", line)
    if match is None:
        return None
    what = match["what"]
    if (_NO_IDIOMS.match(line) and not re.match(r"no (?:more|other) \w+s?$", line)) or len(what.split()) > 12:
        return None
    head = re.split(r" (?:without|unless|until|in|on|to|from|for|of|when|please|whatsoever|at all|ever) ", what)[0]
    if re.match(r"\w+ (?:cover|use|call|test|handle|check|match|need|want|fit|exist|contain|show)s? ", what):
        return None
    if _FINITE.search(head) or what.endswith("anymore") or re.search(r"\b(?:was|were) \w+", what):
        return None
    if re.match(r"\w+ed\b", what) and len(what.split()) == 1:
        return None
    if clause.first and not clause.is_contrast and re.search(r"\b(?:with|has|have|there(?:'s| is| are))$", _text_before(clause)):
        return None
    return _strength(clause)


def _you(clause: _Clause) -> Strength | None:
    line = re.sub(r"^(?:can|could|would|will) you (?:please |kindly )?(?P<rest>not|never|stop|always|avoid|refrain|mind not)", r"you ask \g<rest>", clause.line)
    if line.startswith("you ask "):
        more = line[8:]
        if more.startswith(("stop ", "avoid ", "refrain")):
            verb = more.split()[1] if len(more.split()) > 1 else ""
            if verb in ("the", "a", "an", "that", "this"):
                return None
            return "policy" if verb.endswith("ing") or verb in ("from",) or more.startswith("avoid") else None
        return _strength(clause, "policy" if more.startswith(("never", "always")) else "plain")
    if re.match(r"you (?:can|may) .*\b(?:not|never|nothing)\b", line) and not re.match(r"you (?:can|may) (?:not|never) (?:see|be)\b", line):
        return "policy" if is_order(line.split()[2]) is True or line.split()[2] in ("look", "not") else None
    if re.search(r"^(?:you (?:can|may|have)|feel free|edit freely|read)\b.*\b(?:except|but (?:not|never)|but \w+ nothing|apart from)\b", line) or re.match(
        r"you have (?:my|no|only|read)\b", line
    ):
        return "policy"
    if re.match(r"if you (?:never|didn't|don't|stopped|could (?:stop|not|never)|always|would (?:stop|not|never))\b", line):
        return "policy" if "never" in line or "stop" in line or "always" in line else "plain"
    found = _YOU.match(line)
    if found is None:
        return None
    modal, rest = found["modal"], found["rest"] or ""
    verb = rest.split()[0] if rest else ""
    if modal in _NEGATIVE_MODALS or modal.startswith(("don't", "aren't", "not", "are not", "are never", "may only", "must only", "should only")):
        if modal == "don't":
            return "policy" if rest.startswith(("have permission", "have my", "get to", "have access")) else None
        if rest.startswith("have permission"):
            return "policy"
        if verb in _SEE or verb.endswith("ed") or rest.startswith(("be able", "have ")):
            return None
        if modal in ("can't", "won't", "never", "shouldn't") and is_order(verb) is not True:
            if not (modal == "shouldn't" and _UNTIL_TOLD.search(line)) and verb != "assume":
                return "policy" if "ever need" in clause.line or rest.startswith("need") and "don't" in clause.line else None
        if modal == "can't" and not (clause.in_project or _LASTING_WORDS.search(line) or is_order(verb) is True):
            return None
        return _strength(clause, "policy" if modal not in ("shouldn't", "can't", "won't") else "plain")
    if modal in ("must always", "should always", "always", "are to", "to") and is_order(verb) is True:
        return None if modal == "always" and verb in ("say", "get", "forget") else "policy"
    if modal == "must" and is_order(verb) is True:
        return _strength(clause)
    if modal in ("may", "can") and rest.startswith("not "):
        return "policy"
    return None


_I = LatePattern(
    r"(?:i|we)(?: (?:really|absolutely|just|definitely|explicitly|also|simply))* (?:"
    r"(?P<unwanted>don't want|never want|no-longer want|don't ever want|don't wanna|don't allow|won't accept|don't accept|don't tolerate|won't tolerate|refuse|forbid"
    r"|can't have|can't stand|don't permit|won't have|don't do|won't allow)"
    r"|(?P<wanted>only want|always want|insist on|insist that|demand|must approve|must review|must sign off|want no(?! more than)|want zero|want only|want you to never|want you not to"
    r"|want you to not|want you to always|want you to only|want you to stop|want you to leave|want you to ask|want you to avoid|need you to never|need you to stop"
    r"|expect zero|expect no|expect you (?:to|not)|expect every|want every|want all)"
    r"|do (?:the|all|my) (?P<mine>commits?|commit|pushes|releases?|deploys?|merges?|git|pushing|committing|tagging|deployments?)"
    r")(?: (?P<rest>.*))?$"
)
_I_WOULD = LatePattern(
    r"(?:i'd|i would|we'd|we would|i|we)(?: (?:really|much|strongly))* (?:"
    r"rather (?:you |that you |not have you |not have |have you not )|prefer (?:it |that )?(?:if )?(?:that )?you (?:not|never|didn't|don't|stopped|wouldn't|to not|left|kept|asked|always)"
    r"|like you to (?:stop|never|not|avoid|always|leave|refrain|ask)|hate it (?:when|if) you|appreciate (?:it )?if you|be grateful if you|don't like (?:it )?(?:when|if) you)"
)


def _i_want(clause: _Clause) -> Strength | None:
    line = clause.line
    if _I_WOULD.match(line):
        return _strength(clause, "plain" if not line.startswith(("i hate", "i don't like")) else "policy")
    if re.match(r"it (?:bugs|annoys|bothers) me (?:when|if) you\b|it drives me (?:mad|crazy|nuts)", line):
        return "policy"
    if re.match(r"i'll (?:handle|do|take care of|run|commit|push|deploy|merge) .*\b(?:myself|always)\b", line):
        return _strength(clause)
    if re.match(r"i (?:decide|choose|pick) \w*", line) and clause.first:
        return None
    found = _I.match(line)
    if found is None:
        return None
    rest = found["rest"] or ""
    if found["mine"]:
        return "policy"
    if found["wanted"]:
        if found["wanted"] == "only want" and re.match(r"(?:a|an|the|one|you to (?:show|tell|explain|look))\b", rest):
            return "task"
        if found["wanted"] in ("only want", "always want") and rest.startswith("to ") and not rest.startswith(("to see", "to review", "to approve", "to know", "to be asked")):
            return None
        return "policy"
    if re.match(r"to\b", rest) and found["unwanted"] != "refuse":
        if re.match(r"to (?:see|read|have|find)\b", rest) and not re.match(r"to see (?:the|this|that)\b", rest):
            return _strength(clause, "policy" if "never" in found["unwanted"] else "plain")
        return None
    if not rest or re.match(r"(?:this|that|it|these|those|the|them|its)\b(?! \w+ to\b)", rest):
        return None
    if re.search(r"\b(?:can't stand)\b", line) and not clause.is_contrast:
        return _strength(clause)
    return _strength(clause)


_MOVED = LatePattern(
    r"(?:we|we've|we have|the team|i|i've)(?: (?:just|recently|finally|now|all|completely|have|already))* (?:"
    r"(?:moved|migrated|switched|gone|went|got|changed|come) (?:off|away from|over from|from \S+ (?:\S+ )?to)\b|(?:abandoned|ditched|dropped|retired|banned|got rid of|deprecated|removed|"
    r"given up|stopped using|phased out|left) (?!the |a |an |it|this|that|by|support)\S+|stopped \w+ing)"
)
_HAVE_MOVED = LatePattern(r"(?:we've|we have)(?: \w+ly)? (?:moved|migrated|switched|standardi[sz]ed|settled) (?:to|on|over to) (?!the|a|an)\S+")


def _we(clause: _Clause) -> Strength | None:
    line = clause.line
    whole = " ".join(word.low for word in clause.sentence.words)
    let = re.match(r"let's (?P<how>never|not|always|keep|agree|stick|avoid|stop|leave)\b(?: (?P<rest>.*))?$", line)
    if let is not None:
        rest = let["rest"] or ""
        match let["how"]:
            case "never" | "always":
                return "policy"
            case "not":
                verb = rest.split()[0] if rest else ""
                return _strength(clause) if is_order(verb) is True and verb not in _IDLE else None
            case "keep":
                return _strength(clause) if re.search(r"\b(?:out of|as|to|under|below|small|unchanged|away|free)\b", rest) else None
            case "agree" | "avoid":
                return _strength(clause, "policy" if let["how"] == "agree" else "plain")
            case "stick":
                return "plain" if rest.startswith(("to ", "with ")) and not re.match(r"\w+ (?:it|that|this|the)\b", rest) else None
            case _:
                return None
    if _MOVED.match(line) and not re.search(r"\b(?:yesterday|by accident|before|but)\b", line):
        return "policy"
    if _HAVE_MOVED.match(line):
        return "policy"
    if re.match(r"(?:we're|we are)(?: still| stuck| all)* on \S+", line) and (clause.in_project or _HERE.search(whole) or re.search(r"\bno \w+|stuck|<", whole)):
        return "policy"
    if re.match(r"(?:we must|we promised|we still must|we can't|we mustn't|we may|we should(?:n't)? never)\b", line):
        rest = line.split(" ", 2)[2] if len(line.split()) > 2 else ""
        verb = rest.split()[0] if rest else ""
        if verb in _SEE or verb in ("use", "support", "keep", "vendor", "break", "stay", "rely", "depend", "change", "our") or line.startswith(("we mustn't", "we promised")) or is_order(verb) is True:
            if verb in ("reproduce", "see", "find", "figure", "tell", "get", "just", "wait", "be", "know", "log", "connect", "open", "start", "run"):
                return None
            if line.startswith(("we must", "we still", "we should")) and verb in ("get", "do", "make", "fix", "add", "write", "find", "check", "talk", "update"):
                return None
            return _strength(clause, "policy" if clause.in_project else "plain")
        return None
    if re.match(r"(?:we're (?:not|no-longer)|we aren't|we are no-longer|i'm not) (?:using|doing|supporting|adding|adopting|shipping|going|upgrading|touching|changing|rewriting|maintaining|taking|writing)\b", line):
        if not re.search(r"\b(?:there yet|yet|correctly|right)\b", line):
            return "policy"
    if re.match(r"we won't (?:support|use|add|ship|accept|take|upgrade|maintain|adopt|merge|have)\b|we're allergic to\b|we (?:gave up|have given up) on \w+", line):
        return "policy"
    found = _WE.match(line)
    if found is None:
        return None
    verb, rest = found["verb"], found["rest"] or ""
    scoped = clause.in_project or bool(_HERE.search(whole)) or bool(re.search(r"\banymore\b|any more\b", line))
    if verb in ("never", "don't", "no-longer", "won't", "doesn't", "can't", "mustn't"):
        head = rest.split()[0] if rest else ""
        if head in _IDLE - {"build", "start", "want", "stop", "apply"} or is_order(head) is False or not head:
            return "policy" if head == "have" and verb == "doesn't" and re.search(r"and won't", whole) else None
        if re.match(r"do \S+", rest) and verb == "don't":
            return "policy" if scoped else "plain"
        if head in _BUG_VERBS and (not scoped or re.search(r"\bthat (?:path|case|branch|function)\b", rest)):
            return None
        if re.search(r"\b(?:that path|this path|that case|the buffer|because|yesterday|last)\b", rest) and not scoped:
            return None
        if is_order(head) is None and not scoped and head not in ("throw", "backport", "mock", "squash", "vendor"):
            return "plain" if len(rest.split()) > 1 else None
        return "policy"
    if verb in ("always", "only", "strictly"):
        head = rest.split()[0] if rest else ""
        return "policy" if is_order(head) is True and not re.search(r"\b(?:get|see|have|had)\b", head) else None
    if verb in ("use", "uses", "run", "write", "log", "name", "follow", "build", "target", "support", "ship", "release", "deploy", "test", "indent", "format", "store", "return", "pin", "stick", "commit", "tag", "branch", "prefix"):
        behind = " ".join(word.low for word in clause.sentence.words[clause.end : clause.end + 6])
        contrast = re.search(r"\b(?:not|never|instead of|rather than|over|only|no|without|nothing but|exclusively)\b", f"{rest}") or re.match(
            r"(?:and |so |but )?(?:not|never|no|nothing|don't|instead of|rather than)\b", behind
        )
        if re.search(r"\bthis (?:function|method|class|file|variable|module)\b|\bin (?:two|three|four|\d+|many|several) places\b|\bhere for\b|\bused to\b", line):
            return None
        if rest.startswith("to ") or re.search(r"\b(?:is|are|was|does|but|because)\b", rest):
            return None
        if contrast or scoped:
            return "policy"
        if verb in ("name", "write", "follow", "indent", "log", "prefix", "stick", "pin"):
            return "plain"
    return None


_SOFT_SUBJECT = LatePattern(r"(?:(?:the|a|an|this|that|it|my|your|his|her|he|she|they|there|what|which) ?)\b")


def _forbidden(clause: _Clause) -> Strength | None:
    """ "X is off limits", "skipping hooks is a no-go", "poetry.lock: don't touch", "gen/ is generated"."""
    line = clause.line
    if _starts_task(clause):
        return None
    if re.match(r"(?:that's )?(?:a )?hard (?:no|pass)\b|\S+ (?:is a )?no-go$", line) or re.search(r"\b(?:off limits|off-limits|taboo|verboten)$", line):
        clause.start = 0 if clause.first and line.startswith(("hard", "a hard", "off")) else clause.start
        return "policy"
    if (to_be := _NOT_TO_BE.match(line)) and not re.match(r"(?:it|this|that|he|she)\b", to_be["subject"]):
        return "policy"
    found = _FORBIDDEN.match(line)
    if found is not None:
        said, subject = found[0], found["subject"] or ""
        positive = re.search(r"\b(?:allowed|permitted|ok|okay|acceptable|welcome|wanted|an option|a fix|fine|desired|tolerated|yours|for you|your (?:job|business|call|responsibility|decision|task)|a goal|in scope|up for|negotiable)\b", said)
        negative = re.search(r"\b(?:not|isn't|aren't|no|nobody|nothing|only|never)\b", said)
        if found["verb"] in ("was", "were"):
            return None
        if positive and not negative:
            return None
        if subject in ("it", "this", "that", "he", "she", "what", "the result", "the output", "the screen"):
            if not line.startswith(("it isn't", "it's", "it is", "that's a")):
                return None
            return "policy" if re.search(r"\bto \w+", line) else None
        if re.search(r"\b(?:not fine|isn't fine|not ok|isn't ok)$", line) and re.match(r"(?:the|this|that|it)\b", subject):
            return None
        if re.search(r"\b(?:my (?:job|business|call|responsibility|decision|task)|on me)\b", said) and re.match(r"(?:this|that|it)\b", subject):
            return None
        if re.search(r"\bis prod\b", line):
            return None
        return "policy"
    if re.match(r"(?:it's|it is|it isn't) (?:strictly |absolutely )?(?:not )?(?:forbidden|prohibited|banned|not ok|ok|okay|acceptable|allowed|permitted)\b.* to \w+", line):
        return "policy" if "not" in line or "isn't" in line or "forbidden" in line or "prohibited" in line else None
    if re.match(r"(?:there (?:must|should|may|shall|can) (?:only )?be no|there (?:mustn't|shouldn't|may) be|there's no place for|there is no place for|there's no need to ever)\b", line):
        thing = re.split(r" (?:in|between|at|on|of|from|for|left)\b", line.partition(" no ")[2] or line)[0]
        return _strength(clause, "policy") if clause.in_project or _has_artefact(thing) or "network" in thing else None
    if re.match(r"there (?:is|are) no \S+.*", line) and clause.in_project and (
        re.search(r"\bthere won't be\b|\bnever\b", " ".join(word.low for word in clause.sentence.words))
        or (clause.sentence.words[clause.first].low in ("in", "inside", "within") and not re.search(r"\b(?:tests?|docs?|documentation|licen[cs]e|readme|ci|examples?|types?|errors?)\b", line))
    ):
        return "policy"
    state = _STATE.match(line)
    if state is not None and not re.match(r"(?:it|this|that|what|which|he|she|they|i|you)\b", state["subject"]):
        project = clause.in_project or has_path(_raw(clause)) or bool(re.match(r"(?:the )?(?:main|master|develop|trunk|release|staging|prod|production)(?: branch)? (?:is|stays|remains)", line))
        behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
        told = re.search(r"\b(?:don't|never|edit|change|instead|hands|leave|only|not)\b", behind)
        if re.search(r"\b(?:as (?:it|they) (?:is|are)|byte-identical|untouched|unchanged)\b", line) and "must" not in line:
            return "policy"
        if project or (told and not re.match(r"the (?:screen|app|page|ui|window)\b", line)):
            if re.search(r"\b(?:where|why|how|since|during)\b", line):
                return None
            return "policy"
    return None


def _modal(clause: _Clause) -> Strength | None:
    """A subject with a modal verb: limits where the subject is what developers work on, requirements elsewhere."""
    line = clause.line
    if _starts_task(clause) or _HEDGES.match(line):
        return None
    nobody = re.match(r"(?:nobody|nothing)(?: (?:but|except|in|outside|under|else|personal|here|of)(?: \S+){0,5}?)? (?P<verb>may|must|should|can|is allowed|is|are|gets|goes|ever|ships|gets|(?!this\b|is\b|has\b)\w+s)\b(?P<rest>.*)", line)
    if nobody is not None:
        verb = nobody["verb"]
        if verb in ("knows", "has", "happens", "works", "uses", "cares", "told", "reads", "understands", "helps", "changes", "gets") and not (verb == "gets" and re.search(r"gets (?:merged|pushed|committed|deployed|released|deleted|changed|added|installed|shipped|tagged)", line)) and not (
            verb == "changes" and clause.in_project
        ):
            return None
        if verb == "is" and not re.search(r"\ballowed|permitted\b", line):
            return None
        base = verb[:-2] if verb.endswith("es") and is_order(verb[:-2]) is True else verb[:-1]
        if verb in ("may", "must", "should", "can", "is allowed", "ever", "is") or (verb in ("goes", "gets", "ships") and (clause.in_project or nobody["rest"])) or is_order(base) is True:
            return "policy"
        return None
    if _TOOL_VERBS.match(line):
        return "policy" if clause.in_project or not re.search(r"\b(?:main|master|yesterday|timeout)\b", line) else None
    found = _MODAL.match(line)
    if found is None:
        return None
    subject, modal, rest = found["subject"], found["modal"], found["rest"]
    heads = subject.split()
    if heads[0] in ("i", "you", "we", "it", "he", "she", "they", "this", "that", "there", "what", "users", "user", "one", "don't", "let's") and "this repo" not in line and "this project" not in line and not re.match(
        r"this (?:package|repo|project|service|module|app|codebase|crate|api)\b", line
    ):
        return None
    if heads[0] in ("let's", "who", "which", "whenever", "when", "if"):
        return None
    first = rest.split()[0]
    path = has_path(_raw(clause))
    finite = modal in ("never", "don't", "doesn't", "always", "no-longer", "only", "won't")
    changes = _CHANGES.match(rest)
    if re.match(r"(?:pass|be green|be fixed|be possible|be able|work$|exist|be visible|be shown)\b", rest):
        return None
    generic = _is_generic(heads)
    artefact = _has_artefact(subject)
    if finite and (first in _BUG_STATES and not (artefact and generic and first in ("start", "return", "fail", "close"))):
        return None
    if finite and modal == "always" and not (generic or clause.in_project):
        return None
    if finite and not (generic or path or clause.in_project or changes):
        return None
    if modal in ("may", "can only", "should", "shall", "must") and not artefact and not path:
        if modal == "may" and not re.match(r"not |at most|only|never", rest):
            return None
        if not (clause.in_project and changes):
            return None
    if modal == "may" and not re.match(r"(?:not|only|never|have at most|take at most|take|have|contain at most)\b", rest):
        return None
    if finite and (modal in ("don't", "doesn't")) and not (artefact or path or clause.in_project):
        return None
    if heads[0] in ("the", "this", "that") and not path:
        if re.match(r"(?:stay|remain|change|break|be (?:changed|edited|touched|modified|renamed|moved|rebased))\b", rest) and (artefact or clause.in_project):
            return _strength(clause)
        if re.match(r"the (?:code|build|app|binary|bundle|library|project|package|api|cli|program|tool|script|whole thing|public \w+)$", subject) and (
            changes or re.match(r"(?:run|work|build|compile) (?:on|with|in|under|without|offline)\b", rest)
        ):
            return _strength(clause)
        return "policy" if _IN_PROJECT.search(line) and changes and artefact else None
    if path and not changes and not re.search(r"\b(?:not|never|only|mustn't|shouldn't|can't|don't|no-longer|doesn't)\b", line):
        return None
    if path or (clause.in_project and (artefact or changes)):
        if re.match(r"be \d|contain|accept|produce", rest):
            return None
        return "policy"
    if heads[0] in ("every", "each", "all") and modal in ("must", "should", "shall") and re.search(r"\b(?:commits?|prs?|functions?|tests?|files?|branch(?:es)?|modules?|class(?:es)?|methods?|packages?|services?|migrations?|changes?|merges?|releases?|endpoints?)\b", subject):
        return _strength(clause)
    if artefact and generic and (changes or modal in ("mustn't", "shouldn't", "must never", "should never", "may never", "must always", "should always", "must only")):
        return _strength(clause, "policy" if modal in ("never", "must never", "should never", "always", "must always") else "plain")
    if re.match(r"(?:\w+ing)\b", heads[0]) and modal in ("mustn't", "shouldn't", "must never", "should never"):
        return _strength(clause)
    return None


def _is_generic(heads: Sequence[str]) -> bool:
    """Whether a subject speaks of a kind of things: "tests", "every function", "our commits"; not "the test"."""
    if heads[0] in ("the", "this", "that", "a", "an", "his", "her", "their", "its", "each", "every"):
        return heads[0] in ("every", "each")
    return True


def _has_artefact(text: str) -> bool:
    """Whether a text names something developers make rules about: code, tests, commits."""
    words = text.split()
    definite = words[:1] == ["the"]
    for word in words:
        base = word.strip(".,`'")
        for form in (base, base[:-1] if base.endswith("s") else base, base[:-2] if base.endswith("es") else base, base[:-3] + "y" if base.endswith("ies") else base):
            if form in _ARTEFACTS and not (definite and form in _NOT_ARTEFACT):
                return True
    return False


_DOUBT = LatePattern(
    r"\b(?:wrong|broken|fail(?:s|ed|ing)?|missing|slow|flaky|red|green|full|outdated|gone|empty|too|why|but|was|were|did|didn't|just|already|currently|weird|strange"
    r"|there|used|what|which|seems?|looks?|not found|unused|needed|no longer|also|down|up|ready|done|fine|good|ok|great|nice|bad|better|dead|red|same|different"
    r"|called|printed|shown|displayed|sent|created|loaded|parsed|executed|triggered)\b"
)
_LANGUAGES = "english|german|french|spanish|italian|dutch|polish|russian|portuguese|japanese|chinese|korean|swedish|danish|turkish|czech|british english|american english|simple english|plain english"
_VALUE = LatePattern(r"\d|\b(?:german|english|dutch|french|spanish|italian|british|american|utc|iso|unix|ascii|utf-8|uppercase|lowercase|snake_case|camelcase|kebab-case|strings?|ints?|cents|seconds|sentences|c89|c99|es5|es6|always|never|only|conventional|wrapped|named|prefixed|sorted|written|mandatory|required|optional|imperative|singular|plural|lower|upper|tests?|type|annotation|ticket|set|exactly|single|minimum|maximum|floor|standard)\b")


def _convention(clause: _Clause) -> Strength | None:
    """What a project or its user does by convention: "line length is 100 here", "tests live in spec/"."""
    line = clause.line
    if _starts_task(clause):
        return None
    whole = " ".join(word.low for word in clause.sentence.words)
    scoped = bool(_IN_PROJECT.search(whole)) or bool(_HERE.search(whole)) or bool(re.match(r"(?:all |and |our )", line))
    if clause.sentence.words[clause.end - 1].mark.endswith(":") and len(line.split()) <= 3 and _has_artefact(line):
        behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
        if _VALUE.match(behind) or re.match(r"(?:max|no|never|not|only|always|at most)\b", behind):
            return _strength(clause)
    quantity = _QUANTITY.match(line)
    if quantity is not None:
        if _DOUBT.search(line) or re.search(r"\b(?:retries|requests|results|attempts|rows|items|seconds)\b", line):
            return None
        return _strength(clause, "policy" if scoped else "plain")
    if re.match(r"(?:it's|it is|this is an?) \S+(?: \w+)?", line) and (_IN_PROJECT.search(whole) or re.search(r"\brepo\b", line)) and re.search(r"\bnot\b|\bbreaks\b|\bno\b", whole):
        return "policy"
    if re.match(r"(?:line length|max line length|maximum line length|the minimum supported|the minimum|minimum|indentation|indent|encoding|target|coverage|the target|the style|python|node|java) ", line):
        if re.search(r"\d", line) and not _DOUBT.search(line):
            return "policy" if scoped else "plain"
    if _HEDGES.match(line) or _DOUBT.search(line) or re.match(r"(?:i|you|he|she|it|they|there|what|this|that|let's|nothing|none|some|we|we're|here|please)\b", line):
        if not re.match(r"this (?:package|repo|project|service|module|app|codebase|crate)\b", line):
            return None
    belongs = _BELONGS.match(line)
    if belongs is not None and (clause.in_project or "belong" in line) and not re.match(r"the \w+ (?:live|go)", line):
        if (_has_artefact(belongs["subject"]) or "belong" in line) and (has_path(_raw(clause)) or scoped or "don't belong" in line or "doesn't belong" in line):
            return "policy" if scoped or has_path(_raw(clause)) else "plain"
    found = _CONVENTION.match(line)
    if found is None:
        return None
    subject, verb, rest = found["subject"], found["verb"], found["rest"]
    if not _has_artefact(subject) and not has_path(_raw(clause)) and not _IN_PROJECT.search(line):
        return None
    if subject.split()[0] in ("the", "a", "an", "his", "her", "only", "two", "three", "some", "many", "several", "which") and not (has_path(_raw(clause)) or _IN_PROJECT.search(line)):
        return None
    if verb in ("has", "have") and re.match(r"(?:no|a|an|the|any)\b", rest) and not re.search(r"\b(?:stay that way|zero|always)\b", whole):
        return None
    if _IN_PROJECT.search(line) or has_path(_raw(clause)):
        if verb in ("has", "is", "are") and re.match(r"(?:a|an|the|no|not|full|about|very|really)\b", rest) and not re.search(r"\b(?:never|not|only|always|zero)\b", rest):
            return None
        return "policy" if _VALUE.search(rest) or re.search(r"\b(?:never|not|no|only|always|must)\b", whole) or not has_path(_raw(clause)) or re.search(r"\bunder\b", rest) else None
    if subject.startswith("our ") and verb in ("take", "takes", "have", "get", "is", "are") and not re.search(r"\b(?:always|never|only|not|in|written|named)\b", line):
        return None
    if _is_generic(subject.split()) and (_VALUE.search(rest) or re.match(r"(?:every|each|our|all)\b", subject)) and verb not in ("take", "takes"):
        if re.match(r"(?:each|every) (?!public|function|method|class|module|file|commit|pr|test|package|service|component|endpoint|migration|query|feature|change|bug)", line):
            return None
        return _strength(clause)
    return None


def _manner(clause: _Clause) -> Strength | None:
    """How code and answers are to look: "use 4 spaces", "answer in French", "one commit per fix"."""
    line = clause.line
    if re.match(r"(?:(?:please )?(?:use|indent (?:with|by|using)) (?:\d+|two|four|three|eight|hard|soft)[ -]?\w* ?(?:spaces?|tabs?|columns?)|use (?:\w+ )?(?:spelling|indentation|double quotes|single quotes|conventional commits"
        r"|feature branches|semantic versioning|present tense|imperative mood|type hints|strict mode|\w+_case|camelcase|pascalcase|kebab-case))\b", line):
        return _strength(clause)
    if re.match(rf"(?:(?:always )?(?:talk|speak|answer|reply|respond|write|comment|explain)(?: to me| back| (?:your |all |the )?(?:commit messages|commits|comments|docs|answers|everything|docstrings))?|(?:all |your )?(?:answers|responses|replies|commit messages|comments|docs|docstrings|everything)(?: are)?) (?:in|on) (?:{_LANGUAGES})\b", line):
        return _strength(clause)
    if re.match(r"(?:this|it|the code|everything|the app|the tool|the script|must|the thing|the result)? ?(?:must|should)? ?(?:work|run|compile|build|start|install) (?:offline|without (?!the)|on (?:a |an )?\w+|under|with \w+ \d|in (?:a )?\w+)", line) and re.search(r"\bmust\b", line):
        return _strength(clause)
    if re.match(r"(?:\w+ )?(?:lines|functions|files|methods|classes|commits|prs|names|messages|modules|tests|subjects?)(?: (?:stay|remain|are|is|must be|should be))? (?:below|under|at most|within|shorter than|no longer than|smaller than|up to|max) ", line):
        return _strength(clause)
    if re.match(r"(?:one|a single|1|exactly one|only one) (?:\w+ )?\w+ per \w+$", line):
        return _strength(clause)
    if re.match(r"sign(?: off)? (?:all |your |every )?commits?\b", line):
        return _strength(clause)
    return None


def _ask_first(clause: _Clause) -> Strength | None:
    line = clause.line
    if clause.has_condition and _is_of_program(clause.condition) and not re.search(r"\bme\b|doubt|unsure|unclear", line + clause.condition):
        return None
    if re.match(r"(?:stop and )?ask(?: me)?$|stop and ask\b", line) and re.match(r"if (?:you|in doubt|unsure|unclear|anything|something|not sure)", clause.condition or ""):
        return "policy"
    if re.match(r"(?:if|when) (?:in doubt|unsure|unclear|not sure|you're (?:unsure|not sure)|you are (?:unsure|not sure))(?: \w+)*? (?:ask|stop|check)\b", line):
        return "policy"
    trigger = re.match(
        r"(?:before|after|when|while|whenever) (?:any|every|each|you|(?:committ|push|merg|deploy|releas|tagg|rebas|renam|delet|remov|chang|edit|touch|refactor|writ|add|creat|install"
        r"|upgrad|review|test|modify|finish)ing)\b(?P<rest>.*)",
        line,
    )
    if trigger is not None and any(is_order(low) is True and low not in ("commit", "push", "change", "test", "file", "release", "merge", "log", "edit") for low in trigger["rest"].split()[1:]):
        return "policy"
    if _ASK_FIRST.match(line) and not re.match(r"(?:ask|tell|warn|notify|inform) (?:the|him|her|them|a|an|git)\b", line):
        if re.search(r"\b(?:this time|for now)\b", line):
            return "task"
        return "policy"
    if is_order(line.split()[0]) is not False and _HABIT_TAIL.search(line) and is_order(line.split()[0]) is True:
        return "policy"
    if re.match(r"before .*\b(?:ask|always)\b|after (?:every|each) .*", line):
        tail = re.search(r"(?:before|after) (?:every |each )?\S+(?: \S+)? (?:always )?(?P<verb>\w+)", line)
        if tail is not None and is_order(tail["verb"]) is True:
            return "policy"
    if clause.has_condition and _HABIT_TRIGGER.match(clause.condition):
        head = line.split()[0]
        if is_order(head) is True:
            if re.match(r"before you \w+(?: (?:this|it|the)\b.*)?$", clause.condition) and "anything" not in clause.condition:
                return "plain"
            return "policy"
    return None


def _always(clause: _Clause) -> Strength | None:
    line = clause.line
    found = re.match(r"always (?P<verb>\S+)(?: (?P<rest>.*))?$", line)
    if found is not None and _is_of_code_to_write(clause, found["verb"], found["rest"] or ""):
        return None
    if found is not None:
        if is_order(found["verb"]) is not False and (found["rest"] or is_order(found["verb"])) and found["verb"] not in ("the", "a", "this", "great", "nice", "same"):
            return "policy"
        return None
    words = line.split()
    if is_order(words[0]) is True and words[0] not in ("wait",):
        if clause.is_standing or re.search(r"\balways$|\balways,|\bat all times\b", line):
            return None if re.search(r"\b(?:is|are|was|fails|passes|it's) always\b", line) else "policy"
        if re.match(r"(?:answer|reply|respond|write|comment|talk|speak|commit)\b.*\bin (?:german|english|dutch|french|spanish|italian|british english)\b.*\beven\b", line):
            return "policy"
    if clause.is_standing and len(words) > 1 and not _HEDGES.match(line) and not re.match(r"(?:the|a|an|is|are|it)\b", line) and clause.sentence.words:
        return "policy" if not re.search(r"\b(?:always|never)\b", " ".join(word.low for word in clause.sentence.words)) or not _FINITE.search(line) else None
    return None


def _instead(clause: _Clause) -> Strength | None:
    line = clause.line
    found = re.match(r"(?:stick|adhere|keep|hold) (?:to|with) (?P<what>.+)", line)
    if found:
        return None if re.match(r"(?:it|that|this|me|the plan|your plan|plan)\b", found["what"]) else _strength(clause)
    found = re.match(r"(?:use|take|write|prefer) (?P<this>.+?) (?:instead of|rather than|over|not) (?P<that>.+)", line)
    if found and (_plain_name(found["this"]) and _plain_name(found["that"])):
        return _strength(clause)
    found = re.match(r"prefer (?P<what>.+)", line)
    if found and not re.match(r"(?:the|a|this|that|it)\b", found["what"]):
        return _strength(clause)
    found = re.match(r"(?P<this>[\w.+#-]+(?: [\w.+#-]+)?) over (?P<that>[\w.+#-]+(?: [\w.+#-]+)?)$", line)
    if found and clause.is_standing:
        return "policy"
    if re.match(r"(?:treat|consider|regard) .+ (?:as )?(?:read-only|readonly|untouchable|frozen|off limits|off-limits|sacred|generated|immutable|private)\b", line):
        return "policy"
    if re.match(r"ignore (?:everything|anything|all files|all) (?:in|under|below|inside)\b", line) and has_path(_raw(clause)):
        return _strength(clause)
    if re.match(r"forget (?:about )?\S+(?: exists| existed)$", line) and "exist" in line:
        return "policy"
    return None


def _plain_name(text: str) -> bool:
    return len(text.split()) <= 3 and not re.match(r"(?:a|an|the|this|that|these|those|it|my|your|our|two|one|some|any|all|its|their|\d)\b", text)


_WITHOUT = LatePattern(
    r"(?P<verb>\S+)\b.*?\bwithout (?:any |ever |the )?(?:(?:touch|chang|modify|break|add|us|edit|renam|remov|introduc|alter|install|mov|rewrit|creat|delet|reformat|updat|bump|refactor|mock|affect|depend)ing"
    r"|(?:new |external |extra |third-party |third party |additional )?(?:dependencies|libraries|libs|frameworks|semicolons|comments|regexes|regex|classes|packages|plugins|jquery))\b(?P<rest>.*)"
)


def _without(clause: _Clause) -> Strength | None:
    line = clause.line
    if re.match(r"without (?:any |ever )?\w+ing\b", line) and clause.first:
        clause.start = 0 if len(_text_before(clause).split()) <= 12 else clause.start
        return "task"
    found = _WITHOUT.match(line)
    if found is None or not (is_order(found["verb"]) is True or found["verb"] in _TASK_VERBS) or found["verb"] in _TURN_VERBS - {"return"} or "in mind" in line:
        return None
    if re.match(r"(?:write|do|code|build) (?:everything|things|all)\b", line):
        return "policy"
    return "task"


def _other_language(clause: _Clause) -> Strength | None:
    line = clause.line
    if _OTHER_LANGUAGES.match(line) is None or re.match(r"no (?:hay|funciona|se|es)\b", line):
        return None
    if re.search(r"\b(?:niemals|nie|immer|nur|jamais|toujours|nunca|siempre|frage?|wir|tabu|verboten)\b", line):
        return "policy"
    return _strength(clause)


_TASK_VERBS = frozenset(
    """configure set setup make prevent forbid block implement build design port turn protect exclude deny speed solve do
    refactor reduce simplify extend improve optimise optimize get let help investigate debug profile bisect look figure
    rebuild prototype sketch adapt convert enforce guarantee teach allow extract invent program calculate compute""".split()
)
"""More verbs that begin a task, beyond those that begin an order about the work itself."""


def _starts_task(clause: _Clause) -> bool:
    """Whether a clause begins with an order, of which the rest is a part: "check that no file is …"."""
    head = clause.line.split()[0]
    if head in ("comments", "comment", "test", "tests", "name", "names", "names", "commits", "branch", "build", "file", "log", "link", "list", "format", "document", "package", "release", "log", "reference", "import", "tag", "mock", "mocks"):
        following = clause.line.split()[1:2]
        if head in ("commit", "comment", "test", "branch", "file", "release", "import", "tag", "package", "name") and following and following[0] in (
            "message", "messages", "names", "name", "files", "notes", "branches", "strings", "statements", "order", "style", "length", "data", "size"
        ):
            return False
        if head.endswith("s"):
            return False
    return (is_order(head) is True or head in _TASK_VERBS) and not re.match(r"(?:commit|test|branch|file|release|tag|package|log|error|api) (?:messages?|names?|files?|data|branches)\b", clause.line)


def _raw(clause: _Clause) -> str:
    return clause.sentence.slice(clause.first, clause.end)


def _no_way(clause: _Clause) -> Strength | None:
    """ "Under no circumstances may you …", "in no case should …"."""
    if re.match(r"(?:under no (?:circumstances?|conditions?)|in no (?:case|event)|at no (?:point|time)|on no account|by no means|nowhere|not under any circumstances) \S+ \S+", clause.line):
        return "policy"
    return None


_ENVIRONMENT = LatePattern(
    r"(?:our|my|the|this|production|prod|customers?|clients?) .*\b(?:have no|has no|don't have|doesn't have|lacks?|can't (?:show|reach|access|render|open)|without)"
    r" (?:\w+ )?(?:internet|network|root|sudo|access|gpu|shell|outbound|unicode|colou?rs?|docker|admin)\b"
)


def _environment(clause: _Clause) -> Strength | None:
    """What the machines the work runs on cannot do."""
    return "policy" if _ENVIRONMENT.match(clause.line) and not _starts_task(clause) else None


def _verbless(clause: _Clause) -> Strength | None:
    """ "All SQL keywords uppercase", "max line length in this repo: 79"."""
    line = clause.line
    if re.match(r"(?:all|every|each) ", line) and len(line.split()) <= 8 and _has_artefact(line) and not _FINITE.search(line):
        tail = line.split()[-2:]
        if re.search(r"\b(?:uppercase|lowercase|upper|lower|english|german|sorted|typed|tested|pinned|documented|async|private|public|snake_case|camelcase|capitali[sz]ed|singular|plural|signed|final|readonly|immutable|optional|required|mandatory|prefixed|kebab-case|utc)$", " ".join(tail)):
            return _strength(clause)
    if re.match(r"(?:the )?(?:max(?:imum)?|min(?:imum)?) (?:\w+ )?(?:line|file|function|method|class|name|commit|message|nesting|test|bundle|image)? ?(?:length|size|width|depth|version|runtime|coverage|lines|complexity)\b", line):
        behind = clause.sentence.words[clause.end : clause.end + 1]
        if re.search(r"\d", line) or (behind and re.match(r"\d", behind[0].low)):
            if behind and re.match(r"\d", behind[0].low):
                clause.end += 1
            return _strength(clause, "policy" if clause.in_project else "plain")
    return None


_RULES: tuple[_Rule, ...] = (
    _no_way,
    _environment,
    _verbless,
    _ask_first,
    _manner,
    _negated_order,
    _stop_doing,
    _avoid,
    _keep,
    _only,
    _no_thing,
    _i_want,
    _you,
    _we,
    _forbidden,
    _modal,
    _convention,
    _instead,
    _without,
    _always,
    _other_language,
)


# How long it lasts, and for whom

_TEAM = LatePattern(r"\b(?:we|we're|we've|our|team|nobody|everyone|style guide)\b")
_USERS_OWN = LatePattern(r"\b(?:my|i|me|i'd|i'll)\b")


def _make(clause: _Clause, strength: Strength, content: str, has_task: bool) -> StatedLimit:
    line = " ".join(word.low for word in clause.sentence.words[clause.start : clause.end])
    quote = clause.sentence.text[clause.sentence.words[0].start :].strip()
    term: Term
    if strength == "task" or (_NOW.search(line) and not clause.is_standing and not _IN_PROJECT.search(line) and not _LASTING_WORDS.search(line)):
        term = "task"
    elif strength == "policy":
        term = "lasting" if not re.search(r"\b(?:this time|in this (?:function|pr|commit|change|file|task))\b", line) else "unclear"
        if has_task and _POINTS.search(clause.line) and not re.search(r"\b(?:never|always|ever|nobody)\b", line) and not clause.in_project:
            term = "unclear"
    elif _TASK_HEADING.search(clause.sentence.heading) or has_task and (_POINTS.search(clause.line) or _DEFINITE.search(clause.line)):
        term = "task"
    elif has_task or _POINTS.search(clause.line):
        term = "unclear"
    else:
        term = "lasting" if not _DEFINITE.search(clause.line) else "unclear"
    return StatedLimit(content=content, quote=quote[:MAX_CHARS], term=term, scope=_scope(clause, content))


def _scope(clause: _Clause, content: str) -> LimitScope:
    line = " ".join(word.low for word in clause.sentence.words)
    if has_path(content) or clause.in_project or _HERE.search(line):
        return "project"
    return "project" if _TEAM.search(clause.line) else "user"


_PRONOUN = LatePattern(r"\b(?:it|them|those|these|that)$|\b(?:it|them)\b(?! (?:is|are|'s))")


def _content(clause: _Clause) -> str:
    """The limit in the user's words, from where it begins to the end of what belongs to it."""
    sentence = clause.sentence
    end = clause.end
    while end < len(sentence.words):
        mark = sentence.words[end - 1].mark
        following = sentence.words[end].low
        if following in ("and", "but", "so", "then", "also", "please") or (mark and mark[-1] in ".!?;"):
            break
        more = next((at for at in range(end + 1, len(sentence.words)) if sentence.words[at - 1].mark or sentence.words[at].low in _DASHES), len(sentence.words))
        if sentence.words[more - 1].end - sentence.words[clause.start].start > MAX_CHARS // 2:
            break
        end = more
    start = clause.start
    if start and _PRONOUN.search(clause.line) and sentence.words[end - 1].end - sentence.words[0].start <= MAX_CHARS // 2:
        start = 0
    while start < end - 1 and sentence.words[start].low in ("and", "but", "so", "also", "please", "then", "ok", "okay", "well", "-", "–", "—", "because"):
        start += 1
    text = " ".join(sentence.slice(start, end).split()).rstrip(" .,;:!-–—")
    return small(text[:MAX_CHARS])
