"""Split a sentence into clauses, remove the introductory words of each, and determine what it refers to."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.limit_sentences import OwnSentence, Word, is_interrogative
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex


class Clause(Struct, kw_only=True):
    """A clause to be examined.

    Attributes:
        first, end: indexes of its words in the sentence; `end` is exclusive.
        start: index of the word where its content begins, with the condition before it, if any.
        line: its normalized words, without introductory words such as "please note that".
        is_standing: whether the clause, or words before it, say that it applies permanently.
        is_contrast: whether it begins with "but", "and", "so" or "though".
        condition: the conditional clause right before it.
        in_project: whether the sentence or its heading names this project or a path.
        in_rules: whether it is in a list whose heading announces rules.
        is_demanded: whether words before it call it a demand ("my only condition:").
        is_reminded: whether the user asks to keep it in mind.
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
    is_demanded: bool = False
    is_reminded: bool = False


Strength = Literal["policy", "plain", "task"]


_SPLITTERS = frozenset(
    "and but so also then because since plus or though although however while please thx btw".split()
)


DASHES = frozenset(("-", "--", "–", "—", "→", "=>"))


_STARTS = LazyRegex(
    r"(?:(?:please|also|just|then|kindly|now) )*"
    r"(?:never|don't|no-longer|always|avoid|stop \w+ing|only (?:ever )?\w+|no (?!(?:one|idea)(?: |$))\w+|mustn't"
    r"|leave .*\b(?:alone|untouched|as|be|unchanged|out|on)\b|keep .*\b(?:as|unchanged|out|off|the same)\b|hands off"
    r"|nothing (?:with|that|using|from|but|more)|(?:the|all|its?|results?|behaviou?r) .*\b(?:mustn't|must (?:stay"
    r"|remain)|stays?|can't change)|stick (?:to|with)|refrain|ask (?:me|before|first)|wait (?:for"
    r"|until) (?:my|i)|hold off|from now on"
    r"|in future|without \w+ing"
    r"|(?:we|you|i|i'd|nobody|nothing) (?:use|never|don't|can't|mustn't|must|may|should|shouldn't|always|only|rather"
    r"|no-longer|want|prefer|goes|gets|expect|log|run|write|deploy)"
    r"|it's (?:not|forbidden|off)|use only|max |not \w+)\b"
)


_WE_USE = LazyRegex(
    r"we (?:use|only|don't|never|no-longer|always) .*\b(?:not|never|only|here|anymore|don't|no-longer)\b"
)


_LEAD_WORDS = frozenset(
    """ok okay right alright great good thanks thx perfect nice cool yes yeah yep hey hi hello clio hm hmm ah oh well so
    and but also btw please listen again actually important importantly nb note reminder ps p.s personally honestly
    finally lastly remember then plus seriously ffs jesus god man dude fyi careful attention warning sorry though
    however because sure kindly obviously absolutely definitely today tomorrow tonight
    lastly furthermore moreover additionally anyway just
    first second third thx lgtm hmmm wow ugh argh rule rules since or yet still pretty too""".split()
)


_LEADS = LazyRegex(
    r"(?:by the way|as (?:always|usual|ever)|one (?:more |last |other |small )?(?:thing|rule|remark|note|wish"
    r"|request)"
    r"(?: for (?:(?:the|all) future|(?:the )?next time|later))?"
    r"|(?:also )?(?:just )?(?:a|one) (?:\w+ )?reminder(?: that)?|reminder that|(?:please )?don't forget that"
    r"|let's keep it (?:so )?that(?! way)|be so (?:kind|good|nice)(?: as to| and)?|small thing"
    r"|to be clear|(?:please )?(?:keep|bear) in mind(?: that)?"
    r"|(?:please )?(?:note|remember|be aware)(?: that| to)?|just so you know|you should know(?: that)?"
    r"|for (?:the )?(?:future|later)(?: reference)?|for the record|for your information"
    r"|make sure(?: that)? you|make sure to|make sure(?= not| no\b| nothing)|be sure to|see to it that(?: you)?"
    r"|(?:please )?try (?:to (?=never|not|always|avoid)|(?=not to|never))|(?:watch|look) out(?= not| that)"
    r"|it's (?:company|team|our) policy that"
    r"|(?:be careful|take care)(?: to|(?= not| never))?|for the love of (?:god|christ)|for (?:god|fuck|christ"
    r"|pete)'s sake"
    r"|i(?:'ve)? (?:told|asked|said)(?: to)?(?: you)?(?: \w+){0,2}? (?:before|already|times|again)"
    r"|i(?:'ve)? asked you(?= not)"
    r"|i (?:really )?think(?= you (?:should|shouldn't|mustn't|must))|i repeat|i told you|how often (?:must i"
    r"|do i must) say it|whatever (?:you do|happens|comes out)"
    r"|needless to say"
    r"|(?:it )?goes without saying|and i mean it|it(?:'s| is) (?:very |really )?important(?: to me)? that"
    r"|as a (?:general |rule )?"
    r"(?:rule|principle|reminder|heads-up)|(?:in|as a) (?:general|principle)|generally|by default|rule of thumb"
    r"|if (?:at all )?possible|where possible|under any circumstances|i(?:'d"
    r"| would) (?:really )?(?:be (?:grateful|happier|glad)"
    r"|appreciate it"
    r"|like it|love it|be happy)(?= if)|it would be (?:great|nice|good|best)(?= if)|(?:one|another) wish"
    r"|company policy|house rules?|our rules?|my rules?|ground rules?|in my code|in our team|in this team"
    r"|(?:the )?(?:first|second|third|last|other) (?:thing|point)|on that note|that said|other than that|that's fine"
    r"|pretty please|first of all|to be honest|as said|once (?:more|again)|the thing is)\b[ ]?"
)


_DEMANDS = LazyRegex(
    r"(?:it(?:'s| is) (?:absolutely |really |very )?(?:essential|vital|crucial|critical|mandatory|imperative|key)"
    r"(?: (?:to me|for (?:us|me)))?(?: that)?"
    r"|(?:my|our|the) (?:only |one |first |general |golden |most important )?(?:condition|request|rule|requirement"
    r"|policy|convention|wish|constraint|limit|ask)(?: (?:here|for you|from me|in this \w+))? (?:is|are)(?: that"
    r"| to(?= not))?"
    r"|(?:(?:the|our|my) )?(?:team|project|house|company|repo|group)(?:'s)? (?:rule|policy|convention|standard)"
    r"(?: here)? (?:is|says)(?: that| to(?= not))?|the (?:rule|convention|policy|standard) (?:here|in \S+ \w+)"
    r" is(?: that)?"
    r"|(?:we|i) have (?:a|one) (?:rule|policy|convention|request|condition)(?: (?:here|in this \w+))?(?: that)?"
    r"|i (?:must |do )?insist that|i'd ask you(?: to)?|(?:what|the (?:one|only) thing) (?:i don't want"
    r"|you (?:must|should) never do)"
    r"(?: is)?|there's (?:one|a) thing (?:i don't want|you mustn't do)|(?:you'd |you had )?better(?= not| leave"
    r"| keep| stay"
    r"| ask| don't)|(?:it's )?best to(?= not| leave| keep| stay| ask| avoid)|mind that|beware(?: that| of)?"
    r"|be warned(?: that)?"
    r"|(?:the team|we|we've|we have)(?: have| has)? (?:agreed|decided) that|keep in mind that|i forbid you to"
    r"|i (?:strongly )?prefer that you)\b[ ]?"
)
_REQUESTS = LazyRegex(
    r"(?:(?:could|can|shall) we (?:please )?(?:agree|say)(?: that)?|i'd (?:really |very much )?like you to"
    r"(?= stay| not| never| leave| keep| avoid| stop| always| ask)|i (?:want|need|expect) you to"
    r"(?= stay| leave| keep| avoid| ask)"
    r"|(?:it(?:'d| would) be|would be) (?:\w+ )?(?:great|nice|good|best|cool|lovely|helpful|kind) if you"
    r"(?: (?:could|would|can))?(?= (?:always|never|not|only|in future|in the future|from now on|stop|stopped))"
    r"|(?:can|could|would|will) you (?:please |kindly )?(?=(?:in (?:the )?future|from now on|going forward)\b)"
    r")\b[ ]?"
)
_STANDING = LazyRegex(
    r"(?:from (?:now|here|this point|today|there) (?:on|onwards?|forward)|in (?:the )?future|going forward"
    r"|moving forward|henceforth|as of (?:now|today)|starting (?:today|now)|for all (?:future|my|our) \w+"
    r"|(?:for|in) (?:the future|all projects|every project)|as long as i(?:'m| am) working with you"
    r"|unless i say otherwise"
    r"|until further notice|(?:for )?(?:the )?next time|ab jetzt|ab sofort|desormais|a partir de ahora)\b[ ]?"
)


_REMINDER = LazyRegex(
    r"(?:(?:and|also|but|so|please|just|ok|as|a|one|small|quick|friendly) )*(?:remember|reminder|fyi|btw|nb"
    r"|(?:keep|bear) (?:it )?in mind|note(?: that|$| we)|just so you know|so you know|you should know|don't forget that"
    r"|for (?:your information|(?:the )?(?:future|later|record|next time)))\b"
)


_SCOPE_WORDS = (
    r"(?:repo|repository|project|codebase|code base|monorepo|package|service|app|application|module|library|lib|team"
    r"|company|organisation|organization|workspace|crate|gem|api|sdk|server|backend|frontend|cli|tool|plugin"
    r"|product|site"
    r"|website|firmware|system|stack|group|branch model|shop|projekt|dépôt|proyecto)"
)


IN_PROJECT = LazyRegex(
    rf"\b(?:this|our) (?:\w+ )?{_SCOPE_WORDS}\b|\bthe (?:repo|repository|project|codebase|code base|monorepo)\b"
    rf"|\bthis is an? (?:\S+ )?{_SCOPE_WORDS}\b|\b(?:in|across|throughout|for) our \w+|\b(?:here|around here) at \w+"
    r"|\b(?:in|under|inside|below|from|to) (?:third_party|third-party|vendor|vendored|legacy|dist|src|lib"
    r"|node_modules)\b|^our \w+"
    r"|\bin here\b|\b(?:in|bei) (?:diesem|unserem) (?:projekt|repo)\b|\bdans ce (?:projet|dépôt)\b"
    r"|\ben este proyecto\b"
    r"|\bfrom dev here\b"
)


HERE = LazyRegex(r"\bhere\b")


_RULES_HEADING = LazyRegex(
    r"\b(?:rules?|constraints?|conventions?|restrictions?|limits|boundaries|guidelines|don'ts?|donts)\b"
    r"|\b(?:things|points|bits) (?:\w+ )?to (?:know|remember|respect|observe|(?:keep|bear) in mind)\b|\bhow we work\b"
    r"|\bthings (?:are done|work) here\b"
)


TASK_HEADING = LazyRegex(r"\b(?:tasks?|todos?|constraints?|steps?|scope|goals?|plan|non-goals)\b")


_SCOPE_LEAD = LazyRegex(
    rf"(?:(?:in|for|within|inside|with|on|across) (?:this|our) (?:\w+ )?{_SCOPE_WORDS} (?=\S)"
    r"|(?:in|for|with|during|inside|within|across|under|on|at|due to|because of|thanks to|by) (?:\S+ ){0,4}?\S+ "
    r"(?=(?:please |you )?(?:never|don't|always|avoid|no|nobody|nothing|only|we|it's|mustn't|should|there|use"
    r"|write)\b))"
)


_CONDITION = LazyRegex(
    r"(?:if|when|whenever|while|since|because|due|as|before|after|once|unless|until|every time|each time|for|where"
    r"|in case|whatever|as long as|given|during)\b"
)


HEDGES = LazyRegex(
    r"(?:apparently|maybe|perhaps|probably|supposedly|allegedly|i (?:think|guess|believe|suppose|assume|wonder|feel"
    r"|was told|heard|read|know|hope|see|wish|noticed|found)|it (?:seems|looks|appears)|he|she|they|someone|somebody"
    r"|my colleague|the reviewer|the (?:client|customer|vendor|docs|doc|readme|comment|compiler|linter|linter)|qa"
    r"|marketing"
    r"|not sure|no idea|in the last|after the update|yesterday|it|this|that|these|those|you forgot|what if|as a user"
    r"|as an \w+|given a)\b"
)


_PATH = LazyRegex(
    r"(?<![\w/])(?:[\w.*@-]+/[\w./*@-]*|/[\w.-]+/[\w./*-]*|\.[a-z][\w.-]+|\*\.\w+"
    r"|[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|rb|java|kt|c|h|cpp|hpp|cs|php|sh|sql|md|rst|txt|json|ya?ml|toml|ini|cfg"
    r"|lock|xml"
    r"|html|css|scss|proto|graphql|env|gradle|tf|csv|conf|mod|sum|vue|svelte|lua|pl|ex|exs|swift|scala|bat|ps1)"
    r"|(?:Makefile|Dockerfile|LICENSE|CODEOWNERS|README|CHANGELOG|Jenkinsfile|Gemfile|Procfile))(?![\w])"
)


_NO_PATH = frozenset(
    "node.js next.js vue.js react.js moment.js three.js d3.js express.js chart.js nuxt.js alpine.js backbone.js "
    "ember.js underscore.js .net asp.net socket.io day.js and/or i/o n/a tcp/ip c/c++ read/write client/server "
    "red/green him/her he/she y/n w/o try/except try/catch".split()
)


def is_task(lows: Sequence[str]) -> bool:
    """Whether the words ask for work: they begin with an imperative, or a polite form such as "could you"."""
    at = 0
    if lows[:1] == ["i"] and lows[1:2] not in (["want"], ["need"], ["would"], ["must"]):
        return False
    while at < len(lows) and (
        lows[at] in _LEAD_WORDS
        or lows[at] in ("can", "could", "would", "you", "i", "want", "need", "i'd", "like", "to", "let's", "we")
    ):
        at += 1
    return at < len(lows) and (is_order(lows[at]) is True or lows[at] in TASK_VERBS) and lows[at] not in _NO_TASK


_NO_TASK = frozenset("stop avoid keep leave stick stay ask".split())


def split_clauses(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Return the clauses of a sentence as (first, end) indexes of its words."""
    cuts = [0]
    lows = [word.low for word in words]
    for at in range(1, len(words)):
        mark = words[at - 1].mark
        if (mark and mark[-1] in ",;:!?….") or lows[at] in DASHES or lows[at - 1] in DASHES:
            cuts.append(at)
        elif lows[at] in _SPLITTERS and not (
            lows[at] == "please" and lows[at - 1] in ("you", "to", "and", "but", "so")
        ):
            after = " ".join(lows[at + 1 : at + 12])
            if _STARTS.match(after):
                cuts.append(at)
        elif lows[at] == "we" and lows[at - 1] not in _BEFORE_WE and _WE_USE.match(" ".join(lows[at : at + 12])):
            cuts.append(at)
    spans = list(zip(cuts, [*cuts[1:], len(words)], strict=True))
    return [(first, end) for first, end in spans if not all(low in DASHES for low in lows[first:end])]


_BEFORE_WE = frozenset(
    "that which if what how why where when as than because since the do are can should must could whether where "
    "places things while and but so also then time".split()
)


def read_clause(sentence: OwnSentence, first: int, end: int, earlier: Sequence[tuple[int, int]]) -> Clause | None:
    """Return the clause with these words, without introductory words; None for a question or a guess."""
    lows = [word.low for word in sentence.words]
    at = first
    is_standing = bool(first) and _is_standing_lead(lows[:first])
    is_demanded = bool(first) and _is_demanding(lows[:first])
    is_reminded = bool(_REMINDER.match(" ".join(lows[first:end])))
    is_contrast = first > 0 and lows[first] in ("but", "and", "so", "though")
    while at < end:
        line = " ".join(lows[at:end]) + " "
        if found := _STANDING.match(line):
            is_standing = True
        elif (found := _DEMANDS.match(line) or _REQUESTS.match(line)) and found.end() < len(line):
            is_demanded = True
        else:
            found = _LEADS.match(line)
        if found and (found.end() < len(line) or is_standing):
            is_standing = is_standing or bool(re.search(r"\b(?:future|rule|rules|principle)\b", found[0]))
            at += len(found[0].split())
        elif (lows[at] in _LEAD_WORDS and (at + 1 < end or lows[at] in ("please", "so", "and", "but"))) or lows[
            at
        ] in DASHES:
            at += 1
        elif (scope := _SCOPE_LEAD.match(line)) and not re.search(r"^\w+ no\b|\b(?:where|which|who)\b", scope[0]):
            at += len(scope[0].split())
        else:
            break
    line = " ".join(low for low in lows[at:end] if low not in DASHES)
    line = re.sub(r"(?: (?:please|thanks|thx|though|period|thank you|will you))+$", "", line)
    if line.startswith("be ") and lows[at - 1 : at] == ["please"]:
        return None
    if is_interrogative(lows[at : at + 3]):
        return None
    whole = " ".join(lows)
    standing_behind = bool(
        re.search(
            r"\b(?:from now on|in (?:the )?future|going forward|henceforth|for all future \w+|always"
            r"|in all projects|ever again|every time|each time|without exception|no exceptions)$",
            whole,
        )
    )
    condition = ""
    if earlier:
        last = " ".join(lows[earlier[-1][0] : earlier[-1][1]])
        lead = re.sub(r"^(?:and|but|so|also|please|well|ok) ", "", last)
        condition = lead if _CONDITION.match(lead) else ""
    start = earlier[-1][0] if condition else at
    text = sentence.slice(0, len(lows))
    return Clause(
        sentence=sentence,
        first=first,
        end=end,
        start=start,
        line=line,
        is_standing=is_standing or standing_behind,
        is_demanded=is_demanded,
        is_reminded=is_reminded or bool(first and _REMINDER.match(" ".join(lows[:first]))),
        is_contrast=is_contrast,
        has_condition=bool(condition),
        condition=condition,
        in_project=bool(IN_PROJECT.search(whole) or IN_PROJECT.search(sentence.heading)) or has_path(text),
        in_rules=bool(_RULES_HEADING.search(sentence.heading)),
    )


def _is_demanding(lows: Sequence[str]) -> bool:
    """Whether the words before a clause call it a demand: "my only condition:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in DASHES) + " "
    found = _DEMANDS.match(
        re.sub(
            r"^((?:my|our|the|general|team|golden) .*(?:rule|policy|convention|condition|request"
            r"|constraint)(?: here| in \w+ \w+| for \w+)?) ?$",
            r"the rule is ",
            text,
        )
    )
    return found is not None and found.end() >= len(text) - 8


def _is_standing_lead(lows: Sequence[str]) -> bool:
    """Whether the words before a clause only say that it applies permanently: "from now on:"."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in DASHES) + " "
    found = _STANDING.match(text) or _LEADS.match(text)
    if found is None or len(text.split()) - len(found[0].split()) > 6:
        return False
    return bool(
        re.search(r"\b(?:future|rule|rules|principle|now on|next time|forward|henceforth|general)\b", found[0])
    ) and (found.end() >= len(text) or bool(re.match(r"(?:for|of|in|to) ", text[found.end() :])))


def is_lead(lows: Sequence[str]) -> bool:
    """Whether a clause consists of introductory words only."""
    text = " ".join(low for low in lows if low not in _LEAD_WORDS and low not in DASHES) + " "
    found = _LEADS.match(text) or _STANDING.match(text)
    return not text.strip() or (found is not None and found.end() >= len(text))


def has_path(text: str) -> bool:
    """Whether a text contains the path of a file or directory."""
    return any(found[0].lower() not in _NO_PATH for found in _PATH.finditer(text))


IDLE = frozenset(
    """worry mind know think understand get see bother remember forget hesitate care believe need have want like hurry
    panic you we they i he she it be feel recall agree work seem exist sweat rush even find expect despair recognise
    recognize matter let doubt wait hear die give listen sleep cry laugh hold fear miss regret quite really so as
    too at by of for if when until yet again ever the a an this that these those your our their its some more less
    such say said seem look hope stress sound fit apply match fail pass compile build start load happen stop""".split()
)
"""Words that form no limit after "don't" or "never": idioms, states, actions of software."""


LASTING_WORDS = LazyRegex(
    r"\b(?:never|ever|always|anymore|any more|again|no-longer|anywhere|at all|whatsoever|under no circumstances"
    r"|in no case|no exceptions?|period|every|each|whenever|under any circumstances|nobody|any (?:project|file"
    r"|code|of my)"
    r"|in general|generally|at all costs|like the plague|everything|nothing|strictly|absolutely|forbidden|prohibited"
    r"|banned|verboten|taboo|policy|for good|forever|nowhere)\b"
)


DEFINITE = LazyRegex(r"\b(?:the|its|their|this|these|those|that)\b")


_ARTEFACTS = frozenset(
    """code test commit file function method class module package import variable name comment docstring doc branch
    message pr mr migration dependency library header api interface signature schema contract format config
    configuration line indentation import query statement keyword endpoint route component service controller model
    view template page header script makefile dockerfile image container workflow pipeline job build release tag
    version changelog readme license lockfile fixture snapshot mock id timestamp date amount price error exception
    log logging output flag option argument parameter parameters param constant enum type time money filename
    handler view frontend backend subject logger client annotation decorator
    exception warning bundle binary artefact artifact resource secret key token password_file credential url string
    quote bracket paren semicolon space tab whitespace naming convention column table identifier folder directory
    layer domain infrastructure ui core db database logic bracket email emails sentence bug todo fixme feature hook
    plugin repo repository project codebase monorepo app application library crate team customer_data behaviour
    behavior results result functionality semantics pull diff patch refactoring helper util utils wrapper nesting
    hardcoded callback loop lambda ternary getter setter singleton global state inheritance object objects struct
    trait macro test_name spec specs assertion suite coverage length columns width size limit ci deploy deployment
    environment prod production staging server_side main master trunk develop vendor vendored css html sql yaml json
    python java rust go typescript javascript node product requirements amount amounts header headers rest routes
    translation translations locale locales bucket ids dates""".split()
)


_NOT_ARTEFACT = frozenset(
    "result results output job page table column customer image limit key token date number error string option".split()
)
"""Words of `_ARTEFACTS` that do not count after "the"."""


UNTIL_TOLD = LazyRegex(
    r"\b(?:until|unless|before|without) (?:i(?:'ve|'m| have)?(?: explicitly| clearly)? (?:say|said|tell|told|ok"
    r"|approve|approved|confirm|confirmed|give|gave"
    r"|given|ask|asked|looked|agree|agreed|signed|allow|want|request|reviewed|checked|seen|see)|asking"
    r"|checking with me|my (?:go|go-ahead|green light|blessing|confirmation|ok|okay|permission|approval|consent"
    r"|say-so|explicit))\b"
)


TURN_VERBS = frozenset(
    "show run list print give tell display explain check look test review return find search read summarise "
    "summarize output".split()
)


FINITE = LazyRegex(
    r"\b(?:is|was|were|has|had|ran|run|came|went|got|found|left|happens?|works?|fails?|failed|appears?|appeared"
    r"|shows?|exists?|remains?|seems?|matched|were found"
    r"|are|did|does|will|would|can|could|anymore thanks|gets|comes|seen|pass|passed|passes)\b"
)


def strength_of(clause: Clause, strength: Strength = "plain") -> Strength:
    """Return "policy" if the words of a demand or the heading of its list say that it is permanent, else `strength`."""
    if TASK_HEADING.search(clause.sentence.heading):
        return strength
    if clause.in_rules or clause.is_demanded:
        return "policy"
    return "policy" if clause.is_standing or LASTING_WORDS.search(clause.line) else strength


def text_before(clause: Clause) -> str:
    """Return the words of the sentence before a clause, in lower case."""
    return " ".join(word.low for word in clause.sentence.words[: clause.first] if word.low not in DASHES)


def is_generic(heads: Sequence[str]) -> bool:
    """Whether a subject means all things of a kind: "tests", "every function", "our commits"; not "the test"."""
    if heads[0] in ("the", "this", "that", "a", "an", "his", "her", "their", "its", "each", "every"):
        return heads[0] in ("every", "each")
    return True


def has_artefact(text: str) -> bool:
    """Whether a text contains a noun that developers have rules about: code, tests, commits."""
    words = text.split()
    definite = words[:1] == ["the"]
    for word in words:
        base = word.strip(".,`'")
        for form in (
            base,
            base[:-1] if base.endswith("s") else base,
            base[:-2] if base.endswith("es") else base,
            base[:-3] + "y" if base.endswith("ies") else base,
        ):
            if form in _ARTEFACTS and not (definite and form in _NOT_ARTEFACT):
                return True
    return False


TASK_VERBS = frozenset(
    """configure set setup make prevent forbid block implement build design port turn protect exclude deny speed solve
    do refactor reduce simplify extend improve optimise optimize get let help investigate debug profile bisect look
    figure
    rebuild prototype sketch adapt convert enforce guarantee teach allow extract invent program calculate
    compute""".split()
)
"""Verbs that begin a task, in addition to those of `stated_preferences.VERBS`."""


def starts_task(clause: Clause) -> bool:
    """Whether a clause begins with an imperative that the rest belongs to: "check that no file is …"."""
    if re.match(r"\w+ (?:is|are|isn't|aren't|mustn't|must) (?:\w+ )*\w+", clause.line):
        return False
    noun = re.match(r"\w+ (?P<second>[\w-]+) (?:is|are|isn't|aren't) ", clause.line)
    if noun is not None and noun["second"] not in (
        "the",
        "a",
        "that",
        "if",
        "whether",
        "what",
        "which",
        "who",
        "this",
        "it",
    ):
        return False
    head = clause.line.split()[0]
    if head in (
        "comments",
        "comment",
        "test",
        "tests",
        "name",
        "names",
        "names",
        "commits",
        "branch",
        "build",
        "file",
        "log",
        "link",
        "list",
        "format",
        "document",
        "package",
        "release",
        "log",
        "reference",
        "import",
        "tag",
        "mock",
        "mocks",
    ):
        following = clause.line.split()[1:2]
        if (
            head in ("commit", "comment", "test", "branch", "file", "release", "import", "tag", "package", "name")
            and following
            and following[0]
            in (
                "message",
                "messages",
                "names",
                "name",
                "files",
                "notes",
                "branches",
                "strings",
                "statements",
                "order",
                "style",
                "length",
                "data",
                "size",
            )
        ):
            return False
        if head.endswith("s"):
            return False
    return (is_order(head) is True or head in TASK_VERBS) and not re.match(
        r"(?:commit|test|branch|file|release|tag|package|log|error|api) (?:messages?|names?|files?|data|branches)\b",
        clause.line,
    )


def raw_text(clause: Clause) -> str:
    """Return the clause as the user wrote it."""
    return clause.sentence.slice(clause.first, clause.end)
