"""Determine the situation of a message by rule: intent, sentiment, time of day and topic."""

import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from clio.memory.preferences.rule_files import RuleSection
from clio.memory.preferences.sentences import Said, own_sentences
from clio.memory.preferences.task_types import trace
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import tokenize

_MOST_WORDS = 9
_CORE = """
hello hi hey hiya yo morning evening afternoon night tomorrow thanks thank thx ty cheers bye goodbye ok okay k yes yeah
yep yup no nope sure great good awesome nice cool perfect excellent lovely amazing brilliant wow lol haha sorry welcome
congrats right alright fine nevermind mind understood agreed exactly correct
hallo moin tschüss danke ja nein gut super merci bonjour salut oui non gracias hola adiós sí vale
"""
_AROUND = """
there how are you so much very a lot for the your help day see later it is its that s was all again really work job
well done today never too me i m back guys everyone friend buddy mate clio please this just and to my of have weekend
what up sup got one dir sehr vielen guten tag morgen beaucoup bien ça va qué tal muchas buenos días
"""
_POLITE = frozenset(
    "hello hi hey haha lol thanks thank thx ty cheers bye sorry wow danke merci gracias hallo salut hola".split()
)
_CORES = frozenset(_CORE.split())
_ALL = _CORES | frozenset(_AROUND.split())


def is_small_talk(said: Sequence[str]) -> bool:
    """Whether a message consists only of a greeting, thanks or a short answer."""
    return 0 < len(said) <= _MOST_WORDS and _ALL.issuperset(said) and not _CORES.isdisjoint(said)


def is_polite(said: Sequence[str]) -> bool:
    """Whether a message is short and contains a greeting, thanks or an apology."""
    return len(said) <= _MOST_WORDS and not _POLITE.isdisjoint(said)


Sentiment: TypeAlias = Literal["frustrated", "neutral", "pleased"]
SENTIMENTS: tuple[Sentiment, ...] = get_args(Sentiment)

_BROKEN = r"(?:broken|breaks?|fail\w*|errors?|crash\w*|wrong|bugs?|stuck|not work\w*|down|red)"
_FRUSTRATED = LazyRegex(
    rf"\b(?!still can't (?:see|tell|understand|figure))still (?:not|isn't|doesn't|does not|can't"
    rf"|won't|don't|getting|get|seeing|see|says?|saying|shows?|showing|there|happening|happens"
    rf"|having|have the|the (?:exact )?same|no|nothing|wrong|{_BROKEN})\b"
    rf"|\b{_BROKEN} again\b|\bagain\b.{{0,20}}\b{_BROKEN}|\b(?:not|yet) again\b|^again$"
    r"|\b(?:wtf|wth|ffs|omg|damn\w*|dammit|ugh+|argh+|fuck\w*|shit\w*|crap|bloody|hell no"
    r"|what the (?:hell|heck|fuck))\b"
    r"|\bfor the (?:second|third|fourth|fifth|last|tenth|hundredth|nth|umpteenth|\d+(?:nd|rd"
    r"|th)) time\b|\bhow many times\b"
    r"|\b(?:made|making|makes) (?:it|things|everything) (?:even )?worse\b|\b(?:didn't|doesn't"
    r"|did not) (?:change|help|fix|solve) (?:a thing|anything)\b"
    r"|\bwhy (?:does|do|is|are|did|would) (?:this|it|you|that|the \w+) (?:still|always|keep"
    r"|again|constantly)\b"
    r"|\byou (?:just |have |already |again |totally |completely )?(?:broke|keep|kept|ignored"
    r"|messed|ruined|always|never|still|deleted my"
    r"|lost me|are losing|aren't listening|didn't (?:read|listen|even|do what))\b|\byou(?:'re"
    r"| are) (?:not listening|wrong|losing)\b"
    r"|\bnot what i (?:asked|meant|wanted|said|need)\w*\b|\bi (?:already |just |have )*(?:told"
    r"|said|asked) (?:you|this|that|it|not|to)\b|\blike i said\b"
    r"|\b(?:ridiculous|annoying|frustrat\w+|useless|nonsense|terrible|awful|garbage|sucks|stupid"
    r"|fed up|sick of|tired of|insane|hopeless"
    r"|waste of (?:my )?time|makes no sense|are you kidding|unbelievable|unacceptable"
    r"|what a mess|driving me|pulling my hair|going in circles)\b"
    r"|\bwhat are you (?:talking about|doing)\b|\bnothing (?:works|helps)\b|\bgive up\b"
    r"|^(?:no|nope)[,.]? (?:no|man|that's|that is|this is|it's|you|wrong|not|stop)\b|^(?:come on"
    r"|seriously|stop (?:it|doing|adding|changing|asking|guessing))\b"
    rf"|^(?:great|nice|perfect|awesome|wonderful|fantastic|super)\W+(?:now|another|more|and now"
    rf"|yet)\b.{{0,40}}\b{_BROKEN}"
    r"|\b(?:immer noch (?:nicht|kaputt|falsch|der)|schon wieder|verdammt|mist|scheiße|nervt"
    r"|blödsinn|so ein quatsch)\b"
    r"|\b(?:toujours (?:pas|cassé|le même|la même)|encore une fois|putain|merde|n'importe quoi"
    r"|ras le bol)\b"
    r"|\b(?:sigue (?:sin|fallando|roto|igual)|otra vez|mierda|joder|estoy harto|qué asco)\b",
    re.IGNORECASE,
)
_SHOUTING = LazyRegex(r"\b[A-Z]{2,}(?:'[A-Z]+)?(?:[ ,]+[A-Z]{1,}(?:'[A-Z]+)?\b){2,}")
_SHOUTED = frozenset(
    "WHY STOP NOT NEVER AGAIN STILL WRONG THIS WHAT DO DON'T IT IS YOU THE DOES DOESN'T WORK PLEASE KEEP".split()
)
_STATEMENT = frozenset("SELECT NULL FROM TABLE WHERE SET KEY INSERT EXISTS UPDATE DELETE JOIN".split())
_MARKS = LazyRegex(r"!{2,}|\?!|!\?|\?{3,}")
_PLEASED = LazyRegex(
    r"^(?:\W|(?:ok(?:ay)?|oh|wow|haha|lol|yes|yeah|yep|ah|and|that's|thats|that is|it's|it is"
    r"|this is|looks|very|really|so|just|absolutely|cool|das ist|c'est)\b)*"
    r"(?:great|perfect(?:ly)?|awesome|excellent|amazing|brilliant|fantastic|wonderful|beautiful"
    r"|lovely|superb|nice|neat|sweet|impressive|cool"
    r"|well done|good (?:job|work|stuff|catch|one|call)|nicely done|love (?:it|this|that)"
    r"|i (?:really )?(?:love|like) (?:it|this|that|how)|lgtm|bravo|kudos|yay"
    r"|danke\w*|merci|gracias|perfekt|klasse|toll|parfait|génial|perfecto|genial|estupendo"
    r"|sehr gut|super)"
    r"(?:$|\W+$|[,;:–—-]|\.|\b (?:job|work|stuff|thanks|thank|now|that|so|and|catch|start|dir"
    r"|euch|beaucoup|it|this|exactly|one|idea|how|progress)\b)"
    r"|^(?:\W|(?:ok(?:ay)?|oh|wow|great|perfect|cool|yes|many|and)\b)*(?:thanks|thank you|thx|ty"
    r"|cheers)\b(?! (?:in advance|for nothing))"
    r"|\b(?:thanks|thank you)(?: (?:so much|a lot|very much|clio|man|buddy))?$"
    r"|\b(?:(?:it|that|this|everything|all) (?:all )?(?:now )?works?(?: (?:now|great|perfectly"
    r"|like a charm|beautifully|nicely|fine))\b|works like a charm|(?:that|this) (?:did it"
    r"|fixed it|did the trick|is exactly what i)"
    r"|(?:looks?|looking|sounds?) (?:good|great|perfect|nice|amazing|awesome|fantastic)"
    r"|exactly what i (?:wanted|needed|asked)|much better|you're the best|happy with)\b",
    re.IGNORECASE,
)


def infer_sentiment(sentences: Sequence[Said]) -> Sentiment:
    """Return the user's sentiment. Signs of frustration count before signs of pleasure; "neutral" without either."""
    if any(_is_frustrated(one) for one in sentences):
        return "frustrated"
    pleased = [one for one in sentences if _PLEASED.search(one.masked)]
    if pleased:
        return "pleased"
    return "frustrated" if any(_MARKS.search(one.mark) for one in sentences) else "neutral"


def _is_frustrated(one: Said) -> bool:
    return _FRUSTRATED.search(one.masked) is not None or _is_shouted(one.masked)


def _is_shouted(masked: str) -> bool:
    """Whether a text contains three words in capitals in a row, one of them common, that are no SQL statement."""
    for run in _SHOUTING.finditer(masked):
        said = set(re.findall(r"[A-Z']+", run[0]))
        if said & _SHOUTED and not said & _STATEMENT:
            return True
    return False


Intent: TypeAlias = Literal["question", "explain", "fix", "build", "review", "plan", "write", "run", "chat"]
Cue: TypeAlias = tuple[float, re.Pattern[str], bool]
"""A weight, a pattern, and whether a clause must begin with it."""
INTENTS: tuple[Intent, ...] = get_args(Intent)
# Where two have as much, the one that is more to do.
_RANK: tuple[Intent, ...] = ("fix", "write", "review", "plan", "build", "run", "explain", "question")

# What may stand before the word a clause really opens with, in any language: people mix them.
_OPENING = LazyRegex(
    r"^(?:\W|(?:please|pls|now|then|ok(?:ay)?|k|so|and|but|or|hmm+|uh+|well|great|perfect|cool|nice|awesome"
    r"|alright|right"
    r"|actually|also|just|simply|next|first|second|finally|lastly|hey|hi|hello|thanks|yes|yeah|yep|sure|no"
    r"|claude|clio|let'?s"
    r"|let us|lets|can we|could we|we should|you should|we (?:need|have) to|you (?:need|have) to|(?:can"
    r"|could|would|will) you"
    r"|i(?: want|'d like| would like| need) you to|i(?: want|'d like| would like| need) to|i wanna"
    r"|go ahead and|try to|try and"
    r"|help me(?: to)?|make sure to|don'?t forget to|looks good|sounds good|lgtm|good|wait|i think we should"
    r"|maybe|again|quickly"
    r"|bitte|jetzt|dann|kannst du|könntest du|s'il te plaît|peux-tu|pouvez-vous|por favor|puedes|podrías"
    r"|ahora)\b)*"
)
_TAG = LazyRegex(
    r"[,.;]\s*(?:does (?:that|this) make sense|make sense|no|yes|yeah|yep|right|ok(?:ay)?|correct)$"
    r"|^does (?:that|this) make sense$"
)
_CLAUSE = LazyRegex(
    r"[,;]\s+(?=(?:just|please|so|then|now|and then|and please|and now)\b|\w+ (?:it|this|that|them)\b)|\s[-–—]\s"
)
_PASTED_FAILURE, _COMPLAINT, _ASKED = 3.0, 1.5, 1.0
_CLEAR = 3.0
_FEW_WORDS = 2
_PASTED_LINES = 20
_MOST_CLAUSES, _LONGEST = 40, 400


def infer_intent(sentences: Sequence[tuple[str, bool]], raw: str, *, frustrated: bool = False) -> Intent:
    """Return the intent of a message.

    Args:
        sentences: sentences that the user wrote, each with whether it is a question.
        raw: the whole message including pasted text; its first lines are used if there are no sentences.
        frustrated: the user complains, which makes the intent "fix" more likely.
    """
    sentences = sentences or [(line, False) for line in raw.splitlines()[:_PASTED_LINES]]
    said = tokenize("\n".join(text for text, _ in sentences))
    if is_small_talk(said):
        return "chat"
    clauses = [clause for text, asked in sentences for clause in _clauses(text, asked)]
    if len(clauses) > _MOST_CLAUSES:
        clauses = clauses[: _MOST_CLAUSES // 2] + clauses[-_MOST_CLAUSES // 2 :]
    points = {intent: _points(found, clauses) for intent, found in _cues().items()}
    if trace().search("\n".join(line for line in raw.splitlines() if line.strip())):
        points["fix"] += _PASTED_FAILURE
    if frustrated:
        points["fix"] += _COMPLAINT
    if any(asked for _, asked in sentences):
        points["question"] += _ASKED
    best = max(_RANK, key=lambda intent: points[intent])
    if points[best] < _CLEAR and is_polite(said):
        return "chat"
    if points[best] > 0.0:
        return best
    return "build" if len(said) > _FEW_WORDS else "chat"


def _points(cues: Sequence[Cue], clauses: Sequence[str]) -> float:
    whole = "\n".join(clauses)
    found = [weight for weight, cue, opens in cues if (any(map(cue.match, clauses)) if opens else cue.search(whole))]
    return max(found) + (sum(found) - max(found)) / 4 if found else 0.0


def _clauses(sentence: str, asked: bool) -> list[str]:
    """Return the clauses of a sentence in lower case, without leading words such as "ok, please"."""
    clauses = _CLAUSE.sub("\n", _TAG.sub("", f"{sentence.lower()[:_LONGEST]}")).split("\n")
    clauses = [_OPENING.sub("", clause, 1) or clause for clause in clauses]
    return [*clauses[:-1], clauses[-1] + "?" * asked]


@cache
def _cues() -> dict[Intent, tuple[Cue, ...]]:
    """Return the cues of `intents.json` by intent, in English and other languages. Compiled on first use."""
    rules = msgspec.json.decode(Path(__file__).with_name("intents.json").read_bytes(), type=RuleSection)
    cues = rules.cue_patterns()
    return {
        intent: tuple(
            (weight, re.compile(cue.pattern, cue.flags), cue.pattern.startswith("^")) for weight, cue in cues[intent]
        )
        for intent in _RANK
    }


TimeOfDay: TypeAlias = Literal["night", "morning", "afternoon", "evening"]
TIMES: tuple[TimeOfDay, ...] = get_args(TimeOfDay)
MAX_CHARS = 4_000
"""Characters of a message that are examined, half from its beginning and half from its end."""
MAX_TOPIC_CHARS = 1_000
_LONGEST_SENTENCE = 1_000
_HOURS = 24 // len(TIMES)


class Situation(Struct, frozen=True, kw_only=True):
    """The situation of a turn. text: the user's own words, cut to MAX_TOPIC_CHARS, for comparison with topics."""

    intent: Intent
    sentiment: Sentiment = "neutral"
    time_of_day: TimeOfDay = "morning"
    text: str = ""

    @property
    def bucket(self) -> str:
        """The context that ratings are stored for, such as "fix/neutral/morning"."""
        return f"{self.intent}/{self.sentiment}/{self.time_of_day}"


def situation_of(text: str, now: float) -> Situation:
    """Return the situation of a message. now: seconds since the epoch; the time of day is local."""
    half = MAX_CHARS // 2
    seen = text if len(text) <= MAX_CHARS else f"{text[:half]}\n{text[-half:]}"
    sentences = own_sentences(seen, longest=_LONGEST_SENTENCE)
    sentiment = infer_sentiment(sentences)
    said = [(one.masked, one.is_question) for one in sentences]
    return Situation(
        intent=infer_intent(said, seen, frustrated=sentiment == "frustrated"),
        sentiment=sentiment,
        time_of_day=time_of_day(now),
        text="\n".join(one.text for one in sentences)[:MAX_TOPIC_CHARS],
    )


def time_of_day(now: float) -> TimeOfDay:
    """Return the local time of day: night from 0 to 6, morning to 12, afternoon to 18, evening to 24 o'clock."""
    return TIMES[time.localtime(now).tm_hour // _HOURS]
