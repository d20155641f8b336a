"""What the first words of a message say of the answer before it: refused, praised, or nothing; in doubt nothing.

English, and the plainest words of German, French and Spanish.
"""

from typing import Literal

from clio.text.lazy_regex import LazyRegex

Verdict = Literal["refused", "praised"]
_OPENING_CHARS = 160
_ENDS = r"(?=\s*(?:[,.!?;:…]|\s[-–—]|$|\n))"

# "no" alone is an answer where clio has asked something.
_BARE_NO = LazyRegex(
    r"(?:no+|nope|nah|nein|nee|non)(?: (?:man|dude|wait|bro))?(?=\s*(?:[,.!;…]|\s[-–—]))"
    r"(?!\W+(?:thank|thanks|problem|worries|rush|need|danke|merci|gracias)\b)"
)
_REFUSED = LazyRegex(
    r"(?:(?:no+|nope|nein|non)\W+)?(?:"
    r"(?:that|this|it)(?:'s| is| was| looks| seems)(?: still| just| plain| completely| totally| all)? "
    r"(?:not (?:right|correct|it|true|what|how|the (?:right|best|one)|at all)|wrong|incorrect|"
    r"false|nonsense|garbage)\b|"
    r"(?:that|this|it) (?:isn't|wasn't|ain't) (?:right|correct|it|true|what|how|the (?:right|best|one))\b|"
    r"(?:that|this|it) (?:did not|didn't) (?:work|help|fix|change anything|solve)\b|"
    rf"(?:wrong|incorrect|totally wrong|completely wrong){_ENDS}|"
    r"wrong (?:file|one|way|place|function|branch|approach)\b|"
    r"still (?:wrong|broken|failing|fails|not (?:working|right|fixed|what))\b|"
    r"not (?:what|how|like) (?:i|that|this)\b|not (?:that|this) one\b|not (?:right|correct|good enough)\b|"
    r"i (?:didn't|did not|never) (?:ask|want|say|tell|mean)\b|i (?:asked|told you|said)\b(?=.{0,80}\bnot\b)|"
    r"you (?:misunderstood|broke|missed the point|got (?:it|that|this) wrong|ignored)\b|"
    r"(?:please )?(?:revert|undo|roll ?back)(?: (?:that|this|it|those|these|them|your|all|everything|both|the last)\b|"
    rf"{_ENDS})|take (?:that|it|this) back\b|(?:put|change) (?:it|that|them) back\b|don't do (?:that|this)\b|"
    r"(?:das|es) (?:ist|war) (?:falsch|nicht (?:richtig|was))|das stimmt nicht\b|falsch\b|"
    r"what are you talking about\b|mach das (?:wieder )?rückgängig\b|"
    r"c'est (?:faux|pas (?:ça|correct|ce que))|ce n'est pas (?:ça|correct|ce que)|annule (?:ça|cela)\b|"
    r"(?:eso )?(?:está mal|no es (?:lo que|correcto))|deshaz (?:eso|esto)\b"
    r")"
)
_PRAISE = (
    r"perfect|excellent|awesome|amazing|brilliant|fantastic|wonderful|superb|great|nice|cool|lovely|beautiful|"
    r"exactly(?: right| what i (?:wanted|needed|meant))?|spot on|well done|lgtm|ty|love it|much better|"
    r"(?:good|great|nice|excellent|fantastic) (?:job|work|one|stuff|catch|answer|idea|point)|"
    r"looks (?:good|great|perfect|right)|i (?:love|like) (?:it|this|that)|"
    r"(?:that|this|it)(?:'s| is) (?:perfect|great|excellent|exactly (?:it|right|what i (?:wanted|needed|meant))|"
    r"much better|better|it)|"
    r"(?:that|this|it)(?: now)? (?:works?|worked|helps?|helped|did it|fixed it)"
    r"(?: (?:great|perfectly|well|now|fine|a lot))?|"
    r"works (?:great|perfectly|now|well|like a charm|fine)|"
    r"vielen dank|perfekt|super|prima|klasse|parfait|génial|perfecto|genial"
)
_THANKS = r"(?:many |vielen |okay |ok )?(?:thanks|thank you|thx|danke|merci|gracias)\b(?! to\b)"
_PRAISED = LazyRegex(
    rf"(?:(?:oh|ah|wow|yes|yeah|yep|ok|okay|ja|oui|sí)\W+)?(?:{_THANKS}|(?:{_PRAISE})(?:\W{{1,3}}{_THANKS}|{_ENDS}))"
)
_THANKED = LazyRegex(_THANKS)
# "great, it broke again", "thanks, but …", "perfect. Now the tests fail": said all the same, and no praise.
_SPOILT = LazyRegex(
    r"\b(?:but|however|except|although|though|unfortunately|sadly|yet|still|again|instead|broke|broken|breaks?|"
    r"fail(?:s|ed|ing|ure)?|errors?|crash\w*|wrong|worse|worst|nothing|never|useless|slow\w*|bugs?|not|no|aber|"
    r"mais|pero|leider)\b|n't\b"
)
_SENTENCE = LazyRegex(r"\n|(?<=[.!?])\s")


def opening_verdict(text: str, *, after_question: bool) -> Verdict | None:
    """What a message's first words say of the answer before it.

    after_question: that answer ended with a question, so that a bare "no" may only answer it.
    """
    lines = (" ".join(line.split()) for line in text.strip()[:_OPENING_CHARS].splitlines())
    opening = "\n".join(lines).replace("’", "'").casefold()
    if _REFUSED.match(opening) or (not after_question and _BARE_NO.match(opening)):
        return "refused"
    if not _PRAISED.match(opening):
        return None
    first, *rest = _SENTENCE.split(opening, maxsplit=2)
    # Who thanks means it, and goes on with the next thing, which may well be about an error.
    meant = first if _THANKED.search(first) else " ".join([first, *rest[:1]])
    return None if _SPOILT.search(meant) else "praised"


def asks(text: str) -> bool:
    """Whether an answer of clio's ends with a question."""
    lines = [line.strip().strip("*_`) ") for line in text.strip()[-600:].splitlines() if line.strip()]
    if not lines:
        return False
    return any(line.endswith("?") for line in lines[-4:]) or "? " in lines[-1]
