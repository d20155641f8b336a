"""How a person sounds in a message: only what they wrote themselves counts, never code, quotations or pasted logs."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from clio.memory.preferences.own_words import Said
from clio.text.lazy_regex import LazyRegex

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
    """frustrated before pleased; neutral where nothing says how they feel."""
    if any(_is_frustrated(one) for one in sentences):
        return "frustrated"
    pleased = [one for one in sentences if _PLEASED.search(one.masked)]
    if pleased:
        return "pleased"
    return "frustrated" if any(_MARKS.search(one.mark) for one in sentences) else "neutral"


def _is_frustrated(one: Said) -> bool:
    return _FRUSTRATED.search(one.masked) is not None or _is_shouted(one.masked)


def _is_shouted(masked: str) -> bool:
    """Three words in capitals one after the other, everyday ones among them and not a statement for a database."""
    for run in _SHOUTING.finditer(masked):
        said = set(re.findall(r"[A-Z']+", run[0]))
        if said & _SHOUTED and not said & _STATEMENT:
            return True
    return False
