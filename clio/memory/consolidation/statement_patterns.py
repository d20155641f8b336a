"""The turns of phrase by which what stays true of a project is told from talk about the work at hand. English only."""

import re

from clio.memory.preferences.sentences import FILLER
from clio.text.lazy_regex import LazyRegex

_I = re.IGNORECASE
LEAD = LazyRegex(
    r"(?:(?:ok(?:ay)?|right|alright|great|good|thanks?(?: you)?|yes|yeah|yep|no(?=[,.!])|nope|hey|hi|well|so|and|but"
    r"|also"
    r"|btw|by the way|fyi|for (?:your information|the record|(?:future|later) reference|context)|as a (?:reminder"
    r"|heads[- ]up)"
    r"|reminder|heads[- ]up|(?:(?:quick|side|small|just a|one) )?note(?: that)?|nb|actually|important"
    r"|just so you know|you should know(?: that)?"
    r"|(?:please )?(?:remember|keep in mind|bear in mind|be aware|note)(?: that)?|don't forget that|correction|careful"
    r"|one (?:more )?thing|to be clear|in (?:our|this) (?:project|repo|repository|codebase|team|company)|here|yes(?=,))"
    r"\b[\s,:!.–—-]*)+",
    _I,
)
"""What stands before a statement and says nothing of it."""
ADVERB = (
    r"(?:(?:always|only|still|now|mostly|generally|usually|normally|typically|also|strictly|deliberately|all|both) )*"
)
HABITS = (
    r"use|deploy|release|ship|run|host|store|keep|target|support|pin|build|test|lint|format|publish|tag|branch"
    r"|squash|follow"
    r"|write|rely on|depend on|log|version|name|track|vendor|generate|manage|mirror|cache|serve|enforce|require|review"
    r"|rebase|sign|cut|document|bump|back up|migrate with|talk to|authenticate|cross-compile|translate"
)
"""What a team does again and again."""
WE = LazyRegex(
    rf"(?:we|our team|the team|everyone|everybody|nobody|no one|no-one)(?:'ve (?:always )?| have always )? ?{ADVERB}"
    rf"(?P<not>(?:don't|do not|never|no longer|cannot|can't|must not|may not|are not allowed to) (?:ever )?)?{ADVERB}"
    rf"(?P<verb>(?:{HABITS}|touch|edit|commit|push|merge|change|mock|check in|allow|accept)(?:s|es)?)\b(?P<rest>.*)",
    _I,
)
ONLY_NOT = frozenset("touch edit commit push merge change mock allow accept".split()) | {"check in"}
"""Verbs that say something lasting of a team only with never, always or only; a task has them as well."""
_DETERMINER = r"(?:the|our|my|all(?: the| our)?|every|each|both(?: the)?|any)"
_WORD = rf"[\w{FILLER}./@+#'-]+"
_NOT_A_NAME = r"(?!(?:that|which|who|when|where|if|is|are|was|were|has|have)\b)"
_PLACED = rf"(?: (?:of|for|in|on|under|from) (?:the |our )?{_WORD}(?: {_WORD})?)?"
SUBJECT = rf"(?P<subject>(?:{_DETERMINER} )?{_WORD}(?: {_NOT_A_NAME}{_WORD}){{0,5}}?{_PLACED})"
_LASTING = (
    r"listens? (?:on|at)|runs? (?:on|in|at|under|behind|as|every|only on|nightly|daily|weekly|hourly|inside)"
    r"|lives? (?:in|at|under|on|behind)|lies? (?:in|at|under)|sits? (?:in|at|under|behind)|resides? (?:in|at|on)"
    r"|goes? (?:in|into|to|through|under)|belongs? (?:in|to|under)|stays? (?:in|on|at|under)"
    r"|points? (?:to|at)|speaks?|depends? on|relies on|rely on|requires?|defaults? to|inherits? from|talks? to"
    r"|ships? (?:with|as|every|on)|comes? from|is owned by|owns|maintains|is responsible for|starts? with"
    r"|ends? (?:with|in)"
    r"|targets?|supports? only|only supports?|only works? (?:on|with|in|under)|expires? (?:after|in)"
    r"|rotates? (?:every|on)"
    r"|caps? (?:at|to)|is capped at|is limited to|are limited to|deploys? (?:from|to|on|via|with|through|every)"
    r"|uses?|must (?:never|not|always)|may (?:never|not)|can(?:not|'t) be (?:changed|edited|touched|restarted"
    r"|renamed|upgraded)"
)
_STATES = (
    r"hosted|deployed|stored|pushed to|published (?:to|on)|sent (?:to|through|via)|written to|read from|loaded from"
    r"|uploaded to"
    r"|synced (?:to|with|from)|rebuilt|refreshed|cleaned|purged|compressed|rate-limited|numbered|prefixed with"
    r"|sorted by|named after"
    r"|tagged|rolled out|released|merged (?:by|into|through|with)|reviewed by|approved by|installed (?:by|with|from"
    r"|via)|"
    r"kept|generated|auto-?generated|written in|built (?:with|by|on|from|in)|released|published"
    r"|owned|maintained|managed|served|mirrored|vendored|pinned|encrypted|signed|versioned|read-only|readonly"
    r"|write-only"
    r"|append-only|off[ -]limits|immutable|deprecated|frozen|protected|locked|private|public|internal|case-sensitive"
    r"|mounted|proxied|based on|configured (?:in|by|through|via)|defined in|documented in|checked in|git-?ignored"
    r"|ignored by"
    r"|in|at|under|behind|on|from|called|named|licensed|shared (?:by|with|between|across)|required|mandatory"
    r"|optional|cached"
    r"|UTC|one-based|zero-based|two-factor|append|rotated|backed (?:by|up)|restricted|limited|tested (?:on|with|in|by)"
)
LASTING = LazyRegex(
    rf"{SUBJECT} {ADVERB}(?P<verb>(?:does not|do not|doesn't|don't|never) (?:use|support|run|allow|need|require)"
    rf"|{_LASTING}"
    rf"|runs?|(?:is|are)(?: not|n't)? {ADVERB}(?:{_STATES}))\b(?P<rest>.*)",
    _I,
)
_SLOT = (
    r"branch|url|port|host|event bus|message bus|message broker|message queue|hostname|database|db|schema|version"
    r"|convention|conventions|package manager|registry"
    r"|bucket|region"
    r"|time ?zone|licen[cs]e|owner|maintainer|channel|endpoint|domain|runtime|framework|linter|formatter|test runner"
    r"|build tool|ci|style guide|code style|naming scheme|encoding|charset|line length|indentation|deadline|release day"
    r"|release date|freeze|cluster|namespace|queue|topic|prefix|suffix|limit|timeout|retention|budget|threshold|format"
    r"|entry point|main module|root|folder|directory|path|target|platform|server|orm|language|compiler|toolchain"
    r"|interpreter"
    r"|currency|locale|unit|units|backend|frontend|source of truth|default|minimum|maximum|id|project id|account|repo"
    r"|repository|remote|upstream|workflow|environment|stack|broker|store|cache|proxy|tracker|primary key"
)
SLOT = LazyRegex(
    rf"(?P<subject>(?:the|our|my) (?:{_NOT_A_NAME}{_WORD} ){{0,4}}?(?:{_SLOT}){_PLACED}) "
    rf"{ADVERB}(?P<verb>is|are)(?: not|n't)? (?P<rest>.+)",
    _I,
)
NAMED = LazyRegex(
    rf"(?P<subject>[\w{FILLER}./@-]+(?: [\w{FILLER}./@-]+)?) {ADVERB}(?P<verb>is|are) "
    rf"(?P<rest>(?:our|the (?:default|main|base|only|primary|production|staging|official|canonical|single|source"
    rf"|minimum|maximum|lowest|oldest"
    rf"|highest|supported|preferred|reference|public|internal)) .+"
    rf"|(?:protected|read-only|off[ -]limits|append-only|immutable|deprecated|frozen)\b.*)",
    _I,
)
NO_SUBJECT = LazyRegex(
    r"(?:i|you|he|she|it|its|this|that|these|those|they|there|here|what|which|who|why|how|where|when|if|unless"
    r"|whether|let|let's"
    r"|one|some|someone|something|nothing|maybe|perhaps|suppose|assuming|assume|imagine|say|pretend|given|once|while"
    r"|until"
    r"|after|before|because|since|although|though|as|for|in|on|at|with|without|from|to|not|don't|do|does|did|can"
    r"|could|would"
    r"|should|will|please|make|add|use|run|fix|write|create|ensure|check|see|look|try|give|get|set|put|show|tell"
    r"|explain"
    r"|the (?:first|second|third|last|next|previous|other|same|latter|former|above|below|following|current|latest"
    r"|new|old|failing|broken|reason|problem|issue|bug|error|question|idea|plan|fix|diff|patch|pr|pull request|thing"
    r"|point"
    r"|task|goal|change|changes|output|result|results|answer|message|log|logs|trace|stack trace|user|button"
    r"|function|method|line|variable|test|tests fail|screenshot|list|page|popup|modal|dialog|header|footer|table"
    r"|form|field|menu|sidebar|navbar|toggle|icon|row|column|cell|counter|value|text|label|title|status|card|tab"
    r"|link|image|logo|input|checkbox|dropdown|tooltip|comment|comments|finding|findings|linter issue))\b",
    _I,
)
"""How something begins that does not stand alone, or is about the work at hand."""
DOUBT = LazyRegex(
    r"\b(?:broken|wrong|fail(?:s|ed|ing|ure)?|errors?|crash\w*|bugs?|bugg?y|issues?|problems?|doesn't work"
    r"|does not work"
    r"|flaky|(?:is|are|so|too|very|really|feels?|gets?) slow|weird|odd|strange|unexpected|missing|hangs?|stuck"
    r"|breaks?|blank|empty|twice|wrongly|incorrect\w*"
    r"|should|shouldn't|would|could|might|maybe|perhaps|probably|possibly|seems?|looks like|appears?|i think|i guess"
    r"|i believe"
    r"|i suppose|not sure|unsure|apparently|supposedly|allegedly|afaik|iirc|presumably|hopefully|wonder|"
    r"says?|said|claims?|claimed|according to|was|were|been|had|did|didn't|went|got|tried|trying|just|yet|already"
    r"|currently"
    r"|at the moment|for now|right now|now|today|tonight|tomorrow|yesterday|this (?:time|morning|week|afternoon)"
    r"|last \w+"
    r"|temporar\w+|so far|until|for the time being|in the meantime|meanwhile|for this|what if|e\.g|for example"
    r"|for instance"
    r"|imagine|suppose|pretend|hypothetical\w*|assum\w+|instead of what|i want|i need|i'd|we'd|we'll|you'll|we should"
    r"|we need|we want|expected|actual|reproduce|steps?|can you|could you|please|thoughts|too|anyway|lol|haha|wtf)\b"
    r"|\?|!!",
    _I,
)
"""What makes a sentence a complaint, a guess, a story, a wish, a report of others, or something for today alone."""
NOW_IS_FINE = LazyRegex(
    r"\b(?:we|is|are|now) now (?:use|on|deploy|run|release|target|in|at)\b|\bno longer\b|\bfrom now on\b"
    r"|\b(?:is|are) now (?:called(?! (?:\d|from|with|by|when|on|in)\b)|named|hosted|deployed|stored|published|kept"
    r"|owned|maintained|based|pinned|written in)\b"
    r"|\bnow (?:listens?|lives?|points? to|depends? on|requires?|targets?|defaults? to|owns|expires?|belongs? to)\b"
    r"|\b(?:is|are) now (?=\S*\d)|\b(?:is|are) \S*\d\S*(?: \w+)? now$",
    _I,
)
"""Where "now" is said of what has changed for good: another name, place or number of something."""
POINTING_REST = LazyRegex(
    r"\s*(?:and|or|it|this|that|these|those|them|him|her|here|there|so|as|like|you|me|the (?:same|other|new|old"
    r"|above|below"
    r"|following|first|second|latter|former|current|wrong|right) )\b"
    r"|.*\b(?:this one|that one|above|below|like (?:this|that)|line \d+|this (?:file|function|method|class|test|line"
    r"|branch"
    r"|pr|change|commit|code|component|page|case|module|script|bug)|in here|these|those)\b",
    _I,
)
CREDENTIAL = LazyRegex(
    r"\b(?:passwords?|passwd|passphrase|secret|token|api[ -]?key|credentials?|private key|pin)\b", _I
)
CUT = LazyRegex(
    r"(?:,| -| –| —)? (?:so (?:please |that )?(?=you|we|can|use|don't|do|make|let|i|the|it|keep|run|please|be)"
    r"|please\b|can you\b"
    r"|could you\b|then\b|but (?=please|can|don't|the|this|it|i\b)|and (?=please|can you|could you|then|i\b|now\b"
    r"|add|fix|make|run|update|change|write|create|check|remove|let's)).*$"
    r"|, (?:right|ok|okay|yes|thanks|fyi|btw|by the way|remember|you know)\b.*$",
    _I,
)
"""Where a statement ends and the request that rests on it begins."""
PASTED_ISSUE = LazyRegex(
    r"^\W*(?:steps to reproduce|expected (?:behaviou?r|result|output)|actual (?:behaviou?r|result|output)"
    r"|describe the bug"
    r"|to reproduce|acceptance criteria|implement the following|issue:|here is the (?:issue|plan|spec|ticket)"
    r"|here's the (?:issue|plan|spec|ticket)|user story|context$|background$|overview$)",
    _I | re.MULTILINE,
)
DECISION = LazyRegex(
    r"(?:(?:let's|let us|we'll|we will|i'll|we're going to|we are going to|i'd say(?: we)?|i say we) "
    r"(?P<how>go with|stick (?:with|to)|settle on|standardi[sz]e on|use|keep)"
    r"|(?:we|i|we've|i've|we have|i have|the team(?: has)?) (?:have )?(?P<late>decided (?:to (?:use|go with|keep"
    r"|drop|stay (?:on|with))"
    r"|on|against|for|that)|agreed (?:on|to use|to keep|to|that)|settled on|chose|picked|standardi[sz]ed on)"
    r"|(?:decision|decided|agreed)(?P<noted>:)|we(?:'re| are) (?P<going>going with|sticking (?:with|to)"
    r"|staying (?:on|with)"
    r"|moving to|dropping|standardi[sz]ing on))\s+(?P<what>.+)",
    _I,
)
NO_CHOICE = LazyRegex(
    r"\s*(?:it|this|that|these|those|them|both|neither|either|all|none|your|you|option|choice|number|variant"
    r"|approach|plan"
    r"|proposal|#?\d+\b|\(?[a-f1-9]\)?(?:$|[\s,.)])|the (?:first|second|third|last|former|latter|other|same|simpler"
    r"|simple"
    r"|easier|easy|minimal|smaller|safer|quick|quicker|faster|above|option|approach|way|plan|idea|suggestion"
    r"|proposal|one|fix"
    r"|recommended|recommendation|conservative|cleaner|clean|new|old|current|existing)|a (?:simple|simpler|quick"
    r"|minimal|new)"
    r"|for (?:now|\()|what|whatever|something|one|two)\b",
    _I,
)
"""What a decision names that means nothing outside of its conversation."""
REASON = LazyRegex(r"\b(?:because|since|as it|as we|so that|due to)\b", _I)
PROCEDURE = LazyRegex(
    r"\b(?:shall i|should i|may i|can i|do you want me|would you like me|want me|could i|ok (?:to|if)|okay (?:to|if)"
    r"|go ahead"
    r"|proceed|continue|next|right now|first\b.*\bor|do you mean|did you mean|are you sure|is (?:that|this) (?:ok"
    r"|right|fine)"
    r"|look (?:ok|right|good)|commit (?:this|these|now)|which (?:file|one|option|finding|error|test|of these"
    r"|function|approach)"
    r"|what would you like|how (?:shall|should|can|would you like) i|how would you like|what (?:shall|should) i|confirm"
    r"|approve|this (?:file|function|change|bug|error|pr|diff)|password|token|api key|secret|your name|paste|share"
    r"|describe)\b",
    _I,
)
"""Questions about how to go on, which say nothing once they are answered."""
NO_CHOICE_AT_ALL = LazyRegex(r"\(\d+\)|#\d+|\b(?:here|finding|if|for now|for the moment|this|these|first|next)\b", _I)
NAMES = LazyRegex(r"[A-Z][\w.+#-]+|`[^`]+`|\w\d|\b(?:over|instead of|rather than)\b")
"""What makes a choice one of the project: a name, or what was not chosen."""
NO_ANSWER = LazyRegex(
    r"\b(?:don't know|do not know|not sure|no idea|up to you|you (?:decide|choose|pick)|your (?:call|choice)"
    r"|whatever|whichever"
    r"|either|no preference|doesn't matter|don't care|skip|later|stop|never mind|nevermind|forget it|cancel|no answer"
    r"|as you (?:like|think)|for now|what do you|sounds|looks|why)\b|\?",
    _I,
)
NOTICEABLE = LazyRegex(
    r"\b(?:remember|in mind|don't forget|do not forget|make a note|note for later|take note|memori[sz]e|reference"
    r"|record"
    r"|fyi|for your information|always|never|from now on|in (?:the )?future)\b",
    _I,
)
"""Without one of these the live noticing finds nothing that the rules here could take for a statement as well."""
STATEMENT_LIKE = LazyRegex(
    r"\b(?:we|our|team|everyone|everybody|nobody|no one|no-one|is|are|decided|decision|agreed|let's|let us|must|may"
    r"|never"
    r"|does not|do not|doesn't|don't|cannot|can't|i've|i'll|chose)\b"
    r"|\b(?:listens?|runs?|lives?|lies?|sits?|resides?|goes?|belongs?|stays?|points?|speaks?|depends|relies|rely"
    r"|requires?"
    r"|defaults?|inherits?|talks?|ships?|comes?|owns|maintains|starts?|ends?|targets?|supports?|works?|expires?"
    r"|rotates?|caps?"
    r"|deploys?|uses?)\b",
    _I,
)
"""A quick look that spares most messages the long one."""
OF_THE_TEAM = LazyRegex(r"(?:in .{1,40}, )?(?:we|our team|the team|everyone|nobody|no one) ", _I)
NOBODY = LazyRegex(r"(?:nobody|no one|no-one)\b", _I)
ONLY = LazyRegex(r"\b(?:only|never)\b", _I)
RULE = LazyRegex(
    r"\b(?:never|always|must|may not|not allowed|cannot be|can't be|nobody|no one|no-one|off[ -]limits)\b", _I
)
NEEDS_PLACE = LazyRegex(
    r"^(?:is|are)\b.* (?:in|at|on|under|behind|from)$|^(?:starts?|ends?|goes?|comes?|stays?|sits?) "
)
PLACE = LazyRegex(rf"[/\d{FILLER}A-Z@]|\.\w|\b(?:main|master|develop|production|staging|cloud|memory|docker|utc)\b")
NEEDS_PROJECT = LazyRegex(
    r"uses?$|requires?$|must|speaks?$|supports? only|only supports?|never (?:use|run|allow|need|require)"
    r"|do(?:es)?(?: not|n't)",
    _I,
)
OF_PROJECT = LazyRegex(
    r"(?:our|all|every|each|both|any)\b|(?:the |my )?(?:[\w-]+ )?(?:projects?|repo|repository|code ?base|apps?"
    r"|application|api"
    r"|services?|back-?end|front-?end|servers?|clients?|tests?|e2e tests|ci|build|pipeline|staging|production|prod"
    r"|website"
    r"|site|library|package|packages|cli|db|database|deployment|deploys?|releases?|commits?|commit messages|branches"
    r"|migrations?"
    r"|scripts?|docs|documentation|worker|workers|gateway|firmware|sdk|plugin|schema|monorepo|config|environment"
    r"|dates|times"
    r"|timestamps|prices|amounts|ids|strings|logs|queue|cluster|cache|handlers|endpoints|components|modules|models"
    r"|queries)$",
    _I,
)
COMPLETE = LazyRegex(
    r"(?:read-?only|write-only|append-only|limits|immutable|deprecated|frozen|protected|locked|private|public|internal"
    r"|case-sensitive|generated|auto-?generated|vendored|encrypted|signed|versioned|git-?ignored|checked in|utc"
    r"|one-based"
    r"|zero-based|mandatory|required|optional|pinned|nightly|weekly|daily|hourly)$",
    _I,
)


def base(verb: str) -> str:
    """A verb as the tables have it: "pushes" is "push"."""
    verb = verb.casefold()
    return next((one for one in (verb, verb.removesuffix("s"), verb.removesuffix("es")) if one in ONLY_NOT), verb)


def going(how: str | None, late: str | None, going_on: str | None) -> str:
    """What stands between "decided:" and what was chosen, where the choice is not simply to use it."""
    said = (how or late or going_on or "").casefold()
    if "against" in said or "drop" in said:
        return "against "
    if said.startswith(("keep", "stick", "stay")) or said.endswith(("keep", "stay with", "stay on")):
        return "keep "
    return ""


TURNED = LazyRegex(
    r"\b(?:but|though|although|however)\b.*\b(?:should|shouldn't|must|wrong|isn't|doesn't|not|fails?)\b", _I
)
"""What is cut off and takes the statement before it for what is to be changed."""
POINTS_AT_CHOICE = LazyRegex(
    r"\W*(?:(?:option|choice|number|variant|approach|plan|proposal) \w+\b|#?\d\W*$|[a-f]\W*$|(?:the )?(?:first"
    r"|second|third|last"
    r"|former|latter|other|same|both|all|neither|none|recommended)(?: \w+)?\W*$|(?:it|this|that|these|those|as above"
    r"|your)\b)",
    _I,
)
"""An answer that means nothing without the list it was chosen from."""
ALL_OF = LazyRegex(r"(?:our|all|every|each|both|everything)\b", _I)

AND_DO = LazyRegex(r"(?:,| -| –| —)(?: and| then| so)?(?: please| just)? (?P<verb>[a-z]+) (?:it|them|that|this)\b", _I)
CALLED = LazyRegex(
    rf"(?P<subject>(?:the|our|all|{_WORD}) {_NOT_A_NAME}{_WORD}(?: {_WORD}){{0,3}}?) (?:is|are) (?P<rest>.{{2,80}})", _I
)
PROPER = LazyRegex(r"[A-Z][\w+#]*[a-zA-Z0-9+#](?![\w'])")
"""A name, which what is called by it keeps."""
LISTED = LazyRegex(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]", re.MULTILINE)
TO_BUILD = LazyRegex(r"\b(?:implement|build|create|develop|make|write|design|add)\b", _I)
"""A list in a message that asks for something to be made is what is to be made."""
OPEN_QUESTION = LazyRegex(r"\b(?:which|what|where|who|whose|how|when|why|or)\b", _I)
"""A question that a yes or a no does not answer."""
THAT_THING = LazyRegex(r"(?:that|this|the) (?:\w+ )?(?:\w+)(?: from| we| you| i\b|$)", _I)
"""A thing that is pointed at, of which nothing is said."""
CHOOSES = LazyRegex(r"(?:let's|let us|i|i'll|i've|i'd)\b", _I)
