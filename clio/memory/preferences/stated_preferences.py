"""Find rules, likes, dislikes, complaints and "remember that …" in a user's message, without a language model.

Precision comes before recall. A sentence counts if it begins with an order or an opinion. It does not count if it only
refers to something ("don't do that"), asks, quotes, reports about others, or is meant for now. If a rule could be meant
for the current task only, `certain` is false and the user is asked. English only.

Patterns find where an order or opinion begins and what it is about; the classifier of `intents` decides whether an
opinion lasts. The patterns are in the section "preferences" of `languages/en.json`.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

from msgspec import Struct, structs

from clio.memory.preferences.intents import INTENTS, LASTING, classify
from clio.memory.preferences.own_sentences import FILLER, WrittenSentence, read_own_sentences, strip_asides
from clio.memory.preferences.rule_files import english_rules, load_rule_file
from clio.memory.preferences.task_types import TaskTypes, detect_task_type
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("preferences")

VERBS = _EN.word_set("verbs")
"""Base forms of verbs that begin an order. An order with another verb is not certain."""
NOT_VERBS = _EN.word_set("not_verbs")
LEAD = _EN.pattern("lead")
STANDING = _EN.pattern("standing")
STANDING_END = _EN.pattern("standing_end")
NOW = _EN.pattern("now")
POINTS = _EN.pattern("points")
TAIL = _EN.pattern("tail")
"""It can match a run of blanks in only one way. With two ways, a sentence whose code was replaced by blanks would take
exponential time.
"""
FINITE = _EN.pattern("finite")
JOKE = _EN.pattern("joke")
_NAME = _EN.pattern("capitalized")
"""A word that is always written with a capital letter."""


def is_pointing(words: str) -> bool:
    """Whether a text only refers to something not named in it, such as "that" or "it like this"."""
    rest = words.strip(" .,!")
    while rest:
        found = POINTS.match(rest)
        if not found:
            return False
        rest = rest[found.end() :]
    return True


def list_about_user(text: str) -> list[str]:
    """Return what a text says about the user, which holds in all projects: "my name is Jonas", "ich heiße Jonas".

    The rules are in `languages/about_user.json`, of all languages together. Returns nothing if it says more.
    """
    joint, states = _about_user()
    parts = joint.split(text.replace("’", "'").rstrip(" .!。！"))
    if not all(states.fullmatch(part) for part in parts):
        return []
    return [] if english_rules("facts").pattern("doubt").search(text) else parts


@cache
def _about_user() -> tuple[re.Pattern[str], re.Pattern[str]]:
    rules = load_rule_file("about_user", _AboutUserRules)
    states = "|".join(pattern for patterns in rules.states.values() for pattern in patterns)
    for name, part in rules.parts.items():
        states = states.replace(f"{{{name}}}", part)
    return re.compile(rules.joint, re.I), re.compile(states, re.I)


class _AboutUserRules(Struct, frozen=True, kw_only=True):
    """The content of `about_user.json`, as regular expressions.

    Attributes:
        joint: what may be between two statements.
        parts: by name, the pattern that replaces `{name}` in the statements.
        states: by language, the statements about the user.
    """

    joint: str
    parts: dict[str, str]
    states: dict[str, tuple[str, ...]]


def is_order(word: str) -> bool | None:
    """Whether a word begins an order: True for a known verb, False for a word that is no verb, None if unknown."""
    word = word.lower().strip(",")
    if word in VERBS:
        return True
    if not word or word in NOT_VERBS or not word[0].isalpha():
        return False
    return False if word.endswith(("ed", "ing", "ly", "s")) and not word.endswith("ss") else None


Kind = Literal["rule", "preference", "dislike", "praise", "complaint", "fact"]
NEVER, ALWAYS, LIKED, DISLIKED, HATED = 0.5, 10.0, 9.0, 2.5, 2.0


class StatedPreference(Struct, frozen=True, kw_only=True):
    """One statement of the user.

    Attributes:
        content: the statement in a form that is understandable alone, such as "never use tabs".
        score: 0 to 10; None for a fact.
        certain: whether to save it at once; otherwise the user is asked.
        quote: the sentence as written.
        scenario: the task type to which the sentence limits itself, if it does.
        in_project: whether it is meant for this project, and not for all of the user's work.
    """

    kind: Kind
    content: str
    score: float | None
    certain: bool
    quote: str
    scenario: str | None = None
    in_project: bool = False


class Sentence(Struct, frozen=True, kw_only=True):
    """The part of a sentence that is still to be read.

    Attributes:
        text, masked: the part as written, and with code replaced by placeholders of the same length.
        sure: whether a statement found in it may be certain.
        standing: it contains words such as "from now on".
        scoped: it is limited to certain work by words such as "when writing tests".
        beside_rule: it is beside a lasting rule or another opinion, so that a liking is meant to last too.
    """

    text: str
    masked: str
    sure: bool = True
    standing: bool = False
    scoped: bool = False
    beside_rule: bool = False

    def after(self, end: int, **changes: bool) -> "Sentence":
        """Return the rest of the sentence from an offset on, with changed attributes."""
        rest = self.masked[end:]
        end += len(rest) - len(rest.lstrip())
        return structs.replace(self, text=self.text[end:], masked=self.masked[end:], **changes)

    def before(self, end: int) -> "Sentence":
        """Return the sentence up to an offset."""
        return structs.replace(self, text=self.text[:end], masked=self.masked[:end])

    def replace(self, start: int, end: int, new: str) -> "Sentence":
        """Return the sentence with a part of it replaced."""
        text, masked = (f"{one[:start]}{new}{one[end:]}" for one in (self.text, self.masked))
        return structs.replace(self, text=text, masked=masked)

    def without_tail(self, tail: LazyRegex) -> "Sentence":
        """Return the sentence without an ending that matches, such as ", please"."""
        found = tail.search(self.masked)
        return self.before(found.start()) if found else self


def first(part: Sentence, rules: tuple[Callable[[Sentence], StatedPreference | None], ...]) -> StatedPreference | None:
    """Return the result of the first rule that applies to a sentence, or None."""
    return next((found for rule in rules if (found := rule(part)) is not None), None)


def make_stated(kind: Kind, content: str, score: float | None, *, certain: bool) -> StatedPreference:
    """Return a statement, with its content without meaningless words at the end. The caller sets the quote."""
    content = strip_asides(TAIL.sub("", " ".join(content.split())))
    content = cut_order_behind(content) if kind == "rule" else content
    return StatedPreference(kind=kind, content=content, score=score, certain=certain, quote="")


_TASK_BEHIND = _EN.pattern("task_behind")


def cut_order_behind(limit: str) -> str:
    """Return a limit or rule without an order for the current task behind it: "never touch _re.py, fix the parser"."""
    order = _TASK_BEHIND.match(limit)
    return order["limit"] if order else limit


def lower_first_letter(text: str) -> str:
    """Return the text with a lower-case first letter, unless its first word is a name: "API", "MAX_X", "Tuesday"."""
    word = text.split(" ", 1)[0].rstrip(",:;")
    is_name = _NAME.match(word) or (len(word) > 1 and not word[1:].islower())
    return text if is_name else text[:1].lower() + text[1:]


_CHANGED_NOW = _EN.pattern("changed_now")
_OUR_OUTPUT = _EN.pattern("our_output")
_MANNERS = _EN.word_set("manners")
_OUTPUTS = _MANNERS | _EN.word_set("outputs")
"""What clio itself writes, of which "the terse answers" means all, and not certain ones."""
_HERE = _EN.pattern("here")
_REACTIONS: tuple[tuple[LazyRegex, Kind, float], ...] = (
    (_EN.pattern("complaint"), "complaint", HATED),
    (_EN.pattern("praise"), "praise", LIKED),
)
_REACTION_WORDS = {
    "talk": _EN.maps["talk"],
    "good": _EN.maps["good"],
    "things": _EN.maps["things"],
    "deeds": _EN.maps["deeds"],
}
"""By group of `_REACTIONS`, the words that may match it, and what they say about answers."""


def _find_reaction(whole: Sentence) -> StatedPreference | None:
    """Return what a reaction to an answer says about all answers, or None: "too verbose", "nice and short"."""
    for reaction, kind, score in _REACTIONS:
        if found := reaction.match(whole.masked):
            for group, words in _REACTION_WORDS.items():
                content = words.get((found.groupdict().get(group) or "").lower())
                if content is not None:
                    return make_stated(kind, content, score, certain=True)
    return None


_SUBJECT = _EN.pattern("subject")
_SCOPE = _EN.pattern("scope")
ASKED_TO_STOP = _EN.pattern("asked_to_stop")
"""Questions that are orders, such as "could you stop …?"."""


def order(part: Sentence) -> StatedPreference | None:
    """Return the order that a sentence begins with, or None."""
    scope = _SCOPE.match(part.masked)
    prefix = ""
    scenario = None
    if scope is not None:
        if NOW.search(scope[0]):
            return None
        prefix = f"{part.text[: scope.end('scope')].strip()} "
        scenario = detect_task_type(scope["scope"], TaskTypes())
        general = not scope["when"] or (scope["who"] and scope["when"].lower() != "if")
        part = part.after(scope.end(), scoped=True, sure=part.sure and bool(general))
    part = _strip_standing(part)
    noticed = _find_order(part)
    if noticed is None:
        return None
    return structs.replace(noticed, content=lower_first_letter(prefix) + noticed.content, scenario=scenario)


_ORDER = _EN.pattern("order")
_STOP = _EN.pattern("stop_order")
_NO_THING = _EN.pattern("no_thing")
_NO_ORDER = _EN.pattern("no_order")
_STATE = _EN.pattern("state")
_ASK_AGAIN = _EN.pattern("ask_again")
_AGAIN_END = _EN.pattern("again_end")
_IN_THIS = _EN.pattern("in_this")
_DEFINITE = _EN.pattern("definite_thing")
_BEHAVIOUR, _MANNER = _EN.word_set("behaviour"), _EN.word_set("manner")
"""Verbs of orders that may be about the program of the task, and verbs of orders that are about how clio works."""


def _find_order(part: Sentence) -> StatedPreference | None:
    """Return "never …", "always …", "stop …", "no …", or an order after words such as "from now on", or None."""
    line = part.without_tail(TAIL)
    if stop := _STOP.match(line.masked):
        rest = line.masked[stop.end() :].strip()
        if (rest and is_pointing(rest)) or NOW.search(rest) or _HERE.search(rest):
            return None
        return make_stated("rule", lower_first_letter(line.text), NEVER, certain=part.sure)
    if (thing := _NO_THING.match(line.masked)) and thing["thing"].lower() in _MANNERS:
        return make_stated("rule", lower_first_letter(line.text), NEVER, certain=False)
    found = _ORDER.match(part.masked)
    if found is None and not part.standing:
        return None
    start = found.end() if found else 0
    order = line.after(start).without_tail(STANDING_END).without_tail(TAIL)
    verb, _, rest = order.masked.partition(" ")
    known = is_order(verb)
    if known is False or NOW.search(order.masked) or _NO_ORDER.match(order.masked):
        return None
    if known is None and (not found or not rest or _STATE.search(order.masked)):
        return None
    if rest and not part.scoped and is_pointing(rest):
        return None
    certain = part.sure and known is True and verb.lower() not in _BEHAVIOUR and not _HERE.search(rest)
    if found is None:
        return make_stated("rule", lower_first_letter(order.text), ALWAYS, certain=certain)
    if found["always"]:
        return make_stated("rule", f"always {order.text}", ALWAYS, certain=certain)
    if _ASK_AGAIN.match(order.masked):
        return None
    behind = part.masked[start:]
    if found["never"] or part.standing or _AGAIN_END.search(behind):
        return make_stated("rule", f"never {order.text}", NEVER, certain=certain)
    if (verb.lower() in _MANNER and not _DEFINITE.search(behind)) or _IN_THIS.search(behind):
        return make_stated("rule", f"don't {order.text}", NEVER, certain=False)
    return None


def _strip_standing(part: Sentence) -> Sentence:
    """Return the sentence without words such as "from now on", which set `standing`, and "please" or "you"."""
    if asked := ASKED_TO_STOP.match(part.masked):
        part = part.after(asked.end())
    changed = True
    while changed:
        changed = False
        if begun := STANDING.match(part.masked):
            part, changed = part.after(begun.end(), standing=True), True
        if late := re.match(r"next time,?\s+", part.masked, re.I):
            part, changed = part.after(late.end(), standing=True, sure=False), True
        if please := re.match(r"(?:please|clio|then|just)[\s,]+", part.masked, re.I):
            part, changed = part.after(please.end()), True
    if STANDING_END.search(part.masked):
        part = structs.replace(part.without_tail(STANDING_END), standing=True)
    subject = _SUBJECT.match(part.masked)
    if subject and re.match(r"(?:always|never|do(?:n't| not))\b", part.masked[subject.end() :], re.I):
        part = part.after(subject.end())
    return part


_POINTED = _EN.pattern("pointed")
_PREFER_IN_PROJECT = _EN.pattern("prefer_in_project")
_PREFERRED = _EN.pattern("preferred")
_PROJECT_LEAD = _EN.pattern("project_lead")
_PROJECT_END = _EN.pattern("project_end")
_GUESS = _EN.pattern("guess")
_ONE_OF_MANY = _EN.pattern("one_of_many")
_MOST_WORDS = 8
"""Maximum number of words of a preference for a project; longer ones describe the current task."""


def taste(part: Sentence) -> StatedPreference | None:
    """Return the liking or dislike that a sentence begins with, or None."""
    part = part.without_tail(STANDING_END)
    return _prefers_in_project(part) or _find_opinion(part) or _find_habit(part)


ASKED, ASKED_BESIDE, SAVED = 0.55, 0.3, 0.7
"""Least probability that an opinion lasts: to ask about it, to ask beside a rule or another opinion, and to save it."""
_OPINION = _EN.pattern("opinion")
_BARE_OPINION = _EN.pattern("bare_opinion")
_GENERAL = _EN.pattern("general")
_GENERAL_THING = _EN.pattern("general_thing")
_HABIT = _EN.pattern("habit")
_NO_HABITS = _EN.word_set("no_habits")
_CHOICE = _EN.pattern("choice")


def phrase_opinion(opinion: Sentence) -> StatedPreference | None:
    """Return the liking or dislike that a text begins with, or None: "I prefer …", "not a fan of …".

    Whether it lasts is for the caller to decide; `certain` is false if the grammar suggests a remark or a single case.
    """
    line = opinion.without_tail(TAIL)
    found = _OPINION.match(line.masked)
    if found is None or (not found["i"] and FINITE.search(line.masked)):
        return None
    if found["would"] and not found["prefer"] and not (found["rather"] and " than " in line.masked):
        return None  # "I'd like to see the diff"
    thing = line.after(found.end())
    if change := _CHANGED_NOW.search(thing.masked):
        thing = thing.replace(change.start(), change.end(), "")
    if not thing.masked or is_pointing(thing.masked) or NOW.search(thing.masked) or _HERE.search(thing.masked):
        return None
    if found["prefer"]:
        is_clear = not found["would"] or _GENERAL.search(opinion.masked, found.end()) is not None
        return make_stated("preference", f"prefer {thing.text}", LIKED, certain=is_clear)
    if found["rather"]:
        return make_stated("preference", f"rather {thing.text}", LIKED, certain=False)
    if found["unwanted"]:
        return make_stated("dislike", f"don't want {thing.text}", HATED, certain=True)
    output = _OUR_OUTPUT.match(thing.masked)
    if output and output["thing"].lower() in _OUTPUTS:
        thing = thing.after(len(thing.masked.partition(" ")[0]))  # "terse answers" for "the terse answers"
    text = re.sub(
        r"^it (?=(?:when|how|that)\b)", "", thing.text, flags=re.I
    )  # "when you guess" for "it when you guess"
    if found["dislike"]:
        return make_stated("dislike", text, HATED if found["hate"] else DISLIKED, certain=True)
    # "I like static typing" may be a remark.
    return make_stated("preference", text, LIKED, certain=_GENERAL_THING.fullmatch(thing.masked) is not None)


def _find_opinion(part: Sentence) -> StatedPreference | None:
    """Return the liking or dislike that a sentence begins with, if the classifier finds that it lasts."""
    opinion = phrase_opinion(part)
    if opinion is None:
        return None
    probabilities = classify(_CHANGED_NOW.sub("", part.without_tail(TAIL).masked))
    lasting = sum(probabilities[INTENTS.index(one)] for one in LASTING)
    if lasting < (ASKED_BESIDE if part.beside_rule else ASKED):
        return None
    is_clear = opinion.certain and lasting >= SAVED
    return structs.replace(opinion, certain=part.sure and (is_clear or part.beside_rule))


def _find_habit(part: Sentence) -> StatedPreference | None:
    """Return what the user or the team always or never does, which is asked about: "I always write tests first"."""
    line = part.without_tail(TAIL)
    found = _HABIT.match(line.masked)
    if found is None or is_order(found["verb"]) is not True or found["verb"].lower() in _NO_HABITS:
        return None
    rest = line.masked[found.end() :].strip()
    if is_pointing(rest) or NOW.search(rest) or _HERE.search(rest) or _POINTED.search(rest):
        return None
    if found["we"]:
        score = NEVER if found["we"].lower() == "never" else ALWAYS
        return make_stated("rule", lower_first_letter(line.text), score, certain=False)
    return make_stated("preference", lower_first_letter(line.text[2:]), LIKED, certain=False)


def _find_choice(part: Sentence) -> StatedPreference | None:
    """Return the choice of one of two named things, or None: "use httpx instead of requests"."""
    line = part.without_tail(TAIL)
    found = _CHOICE.match(line.masked)
    if found is None or NOW.search(line.masked) or _HERE.search(line.masked):
        return None
    if is_pointing(found["this"]) or is_pointing(found["that"]):
        return None
    return make_stated("preference", lower_first_letter(line.text), LIKED, certain=part.sure)


def _prefers_in_project(part: Sentence) -> StatedPreference | None:
    """Return the preference that names this project as its scope: "I'd prefer tabs in this repo", "… tabs here".

    "here" may also mean one place in the code, so such a preference is never certain.
    """
    if guess := _GUESS.match(part.masked):
        part = part.after(guess.end(), sure=False)
    place = lead = _PROJECT_LEAD.match(part.masked)
    rest = part.after(lead.end()) if lead else part
    rest = rest.without_tail(TAIL)
    if lead is None and (place := _PROJECT_END.search(rest.masked)):
        rest = rest.before(place.start())
    if place is None:
        return None
    if found := _PREFER_IN_PROJECT.match(rest.masked):
        thing = rest.after(found.end())
    elif found := _PREFERRED.fullmatch(rest.masked):
        thing = rest.before(found.end("what"))
    else:
        return None
    if not thing.masked or _ONE_OF_MANY.match(thing.masked) or is_pointing(thing.masked) or NOW.search(thing.masked):
        return None
    if len(thing.masked.split()) > _MOST_WORDS or re.search(r"[,;:]", thing.masked):
        return None
    certain = part.sure and not place["here"]
    text = re.sub(r"\s+than\s+", " over ", lower_first_letter(thing.text), count=1)
    return structs.replace(make_stated("preference", f"prefer {text}", LIKED, certain=certain), in_project=True)


MAX_NOTICED = 8
"""Maximum number of statements in one message; a message with more is a document."""
_RULES = (order, taste, _find_choice)
_ONE_THING = _EN.pattern("one_thing")
"""Rules about "the …", which may concern only the task named before them."""
_TURN = _EN.pattern("turn")
_THANKS = _EN.pattern("thanks")


def find_preferences(text: str) -> tuple[StatedPreference, ...]:
    """Return the rules, preferences and facts that a message states, in its order and without repetitions.

    Empty if there are more than `MAX_NOTICED`.
    """
    found: dict[str, StatedPreference] = {}
    earlier: list[WrittenSentence] = []
    sentences = read_own_sentences(text)
    for said in sentences:
        # "them" refers to the opinion of the sentence before.
        before = _without_lead(Sentence(text=earlier[-1].text, masked=earlier[-1].masked)) if earlier else None
        is_beside = any(one.kind == "rule" and one.certain for one in found.values())
        is_joke = JOKE.search(said.masked.lower())
        is_alone = not any(one is not said and (one.is_question or _is_task(one)) for one in sentences)
        read = () if is_joke else _read_sentence(said, before, is_alone=is_alone, beside_rule=is_beside)
        for noticed in read:
            is_uncertain = noticed.kind == "rule" and _ONE_THING.search(noticed.content) and any(map(_is_task, earlier))
            is_asked = noticed.kind in ("preference", "dislike") and _asks_to_remember(said)
            certain = (noticed.certain or is_asked) and not is_uncertain
            found.setdefault(noticed.content.casefold(), structs.replace(noticed, quote=said.text, certain=certain))
        earlier.append(said)
    return tuple(found.values()) if len(found) <= MAX_NOTICED else ()


def _asks_to_remember(said: WrittenSentence) -> bool:
    asked = _ASKED.match(said.masked)
    return not (asked and asked["fyi"]) and (asked or _ASKED_BY_LABEL.match(said.masked)) is not None


def _is_task(said: WrittenSentence) -> bool:
    """Whether a sentence requests work, so that the next one may be about that work."""
    if said.is_question:
        return False
    lead = LEAD.match(said.masked)
    words = said.masked[lead.end() if lead else 0 :].split()
    return len(words) > 1 and is_order(words[0]) is True


def _read_sentence(
    said: WrittenSentence, before: Sentence | None, *, is_alone: bool, beside_rule: bool
) -> Iterator[StatedPreference]:
    whole = Sentence(text=said.text, masked=said.masked, beside_rule=beside_rule)
    fact = _fact(whole, said, is_alone=is_alone)
    if fact is not None:
        yield from _divide_fact(fact)
        return
    asked = _ASKED_INSIDE.search(whole.masked)
    if asked is not None and _begins_order(whole.before(asked.start()).masked):
        fact = _fact(whole.after(asked.end()), structs.replace(said, is_question=False), is_alone=False)
        if fact is not None:
            yield from _divide_fact(fact)
            whole = whole.before(asked.start())
    if said.is_question and not ASKED_TO_STOP.match(whole.masked):
        return
    style = _find_reaction(whole)
    if style is not None:
        yield style
        return
    asked = _ASKED.match(whole.masked) or _ASKED_BY_LABEL.match(whole.masked)
    told = whole.after(asked.end()) if asked else _without_lead(whole)
    opinions = _split_opinions(told)
    if opinions:
        found = [_read_opinion(opinions[0], part, is_first=not number) for number, part in enumerate(opinions)]
        noticed = [one for one in found if one is not None]
        # What the user says beside a lasting rule or a dislike is meant to last as well.
        is_lasting = any(one.kind in ("rule", "dislike") and one.certain for one in noticed)
        yield from (structs.replace(one, certain=one.certain or is_lasting) for one in noticed)
        return
    for part in _list_parts(_resolve_pronoun(before, whole) if before else whole):
        noticed = first(part, _RULES)
        if noticed is not None:
            yield noticed
            return


def _begins_order(masked: str) -> bool:
    lead = LEAD.match(masked)
    rest = masked[lead.end() if lead else 0 :]
    return is_order(rest.split(" ", 1)[0]) is True or bool(_BEGINS_ORDER.match(rest) or _BEGINS_ORDER.match(masked))


def _divide_fact(fact: StatedPreference) -> Iterator[StatedPreference]:
    """Yield the two facts of "remember that A is red and that B is blue", or the fact itself."""
    parts = re.split(r",? and that (?=\S+ )", fact.content)
    if len(parts) == 1 or not all(FINITE.search(part) for part in parts):
        parts = [fact.content]
    yield from (structs.replace(fact, content=part) for part in parts)


def _without_lead(whole: Sentence) -> Sentence:
    lead = LEAD.match(whole.masked)
    return whole.after(lead.end()) if lead else whole


_RATHER_HAVE = _EN.pattern("rather_have")
"""A wish that is a preference beside a limit; alone it is about the current task."""
_ORDER_START = _EN.pattern("order_start")
_PRAISED = _EN.pattern("praised")
_THEN_OPINION = _EN.pattern("then_opinion")
_NEXT_OPINION = _EN.pattern("next_opinion")
_EXCEPTION = _EN.pattern("exception")


def _split_opinions(whole: Sentence) -> list[Sentence]:
    """Split a sentence of an opinion and another one or a limit, in any order; empty for any other sentence.

    An opinion without "I" counts only beside another opinion or a limit: "love fixtures, hate mocks". So does praise:
    "short functions are nice, but never split a test helper".
    """
    rest = _without_lead(whole)
    praised = _PRAISED.match(rest.masked)
    turn = _NEXT_OPINION.match(rest.masked, praised.end()) if praised else None
    if praised and turn and _ORDER_START.match(rest.masked, turn.end()):
        thing, others = rest.text[: praised.end("thing")], rest.text[praised.end() :]
        masked, masked_others = rest.masked[: praised.end("thing")], rest.masked[praised.end() :]
        rest = structs.replace(
            rest, text=f"i like {lower_first_letter(thing)}{others}", masked=f"i like {masked}{masked_others}"
        )
    is_order = _ORDER_START.match(rest.masked) is not None
    if not is_order and not _OPINION.match(rest.masked):
        opinion = _BARE_OPINION.match(rest.masked)
        turn = _NEXT_OPINION.search(rest.masked, 3) if opinion else None
        if (
            opinion is None
            or turn is None
            or not any(one.match(rest.masked, turn.end()) for one in (_BARE_OPINION, _ORDER_START))
        ):
            return []
        if FINITE.search(rest.masked, opinion.end(), turn.start()):
            return []  # "love letters are stored in …"
        rest = rest.replace(0, 0, "i ")
    parts: list[Sentence] = []
    while (turn := (_THEN_OPINION if is_order else _NEXT_OPINION).search(rest.masked, 3)) is not None:
        parts.append(rest.before(turn.start()))
        rest = rest.after(turn.end())
        if _BARE_OPINION.match(rest.masked) and not rest.masked.lower().startswith(("don't ", "do not ")):
            rest = rest.replace(0, 0, "i ")
    if is_order and parts and first(parts[0], _RULES) is None:
        return []  # "never mind the tests, i prefer …"
    return [*parts, rest] if parts else []


def _read_opinion(liked: Sentence, part: Sentence, *, is_first: bool) -> StatedPreference | None:
    """Return what one part of a sentence of opinions and limits states."""
    if (wish := _RATHER_HAVE.match(part.masked)) is not None:
        part = part.replace(0, wish.end(), "i prefer ")
    part = structs.replace(part if is_first else _resolve_pronoun(liked, part), beside_rule=True)
    noticed = first(part, _RULES)
    return noticed if noticed is not None else _exception(liked, part)


def _exception(liked: Sentence, part: Sentence) -> StatedPreference | None:
    """Return the limit in "I like tabs, but never in YAML", which is "never tabs in YAML", or None."""
    opinion, exception = _OPINION.match(liked.masked), _EXCEPTION.match(part.masked)
    if opinion is None or exception is None or NOW.search(part.masked):
        return None
    thing = _get_opinion_subject(liked)
    place = part.after(exception.end()).without_tail(TAIL)
    if not thing or is_pointing(place.masked):
        return None
    return make_stated("rule", f"never {thing} {place.text}", NEVER, certain=exception[0].lower().startswith("never"))


def _get_opinion_subject(liked: Sentence) -> str:
    """Return the subject of an opinion in at most five words, without a place; empty if it is only a pronoun."""
    opinion = _OPINION.match(liked.masked)
    if opinion is None:
        return ""
    thing = liked.after(opinion.end()).without_tail(TAIL)
    place = _PLACE.search(thing.masked)
    text = thing.text[: place.start()] if place else thing.text
    named = re.sub(r"^the ", "", text, flags=re.I)
    return "" if is_pointing(named) or len(text.split()) > 5 or _COMPARED.search(text) else text.strip(" ,")


_PLACE = _EN.pattern("place")
_COMPARED = _EN.pattern("compared")
_PRONOUN_END = _EN.pattern("pronoun_end")


def _resolve_pronoun(liked: Sentence, part: Sentence) -> Sentence:
    """Return the part with the subject of the opinion in place of a final pronoun: "don't use mocks" for "… them"."""
    thing, pronoun = _get_opinion_subject(liked), _PRONOUN_END.search(part.masked)
    if not thing or FILLER in thing or pronoun is None:
        return part
    return part.replace(pronoun.start(), pronoun.end(), thing)


def _list_parts(whole: Sentence) -> Iterator[Sentence]:
    """Yield the sentence without its introduction, and the part after the comma that follows an order."""
    begun = _without_lead(whole)
    yield begun
    verb = begun.masked.split(" ", 1)[0]
    turn = _TURN.search(begun.masked)
    if turn is None:
        return
    before = begun.masked[: turn.start()]
    if is_order(verb) and not NOW.search(before) and FILLER not in before:
        yield begun.after(turn.end(), sure=False)
    elif _THANKS.fullmatch(before.strip(" ,")):
        yield begun.after(turn.end())


_ASKED, _ASKED_BY_LABEL = _EN.pattern("asked"), _EN.pattern("asked_by_label")
"""The beginning of a request to remember, and words that are one only before a statement: "note: …", "for later: …"."""
_CLAUSE = _EN.pattern("clause")
_NO_FACT = _EN.pattern("no_fact")
_LABELLED = _EN.pattern("labelled")
"""A name with its value: "the header: X-Id"."""
_THAT_NOUN = _EN.pattern("that_noun")
"""A thing that is only pointed at: "that file", "that function from yesterday"."""
_NO_NOUN = _EN.pattern("no_noun")
"""Beginnings that "that" can only introduce as a clause: a path, a number or a name is its first or second word."""
_UNKNOWN_VERB = _EN.pattern("unknown_verb")
"""A word that can only be a verb after a singular: "the flag overrides the file"."""
_SINGULAR_AND_VERB = _EN.pattern("singular_and_verb")
"""A word that is no plural, and a third person behind it: "the parser rejects tabs"."""
_NAME_AND_PAST = _EN.pattern("name_and_past")
"""What somebody did: "Maria designed the website"."""
_PLAIN_COMPLEMENT = _EN.pattern("plain_complement")
"""What shows that the word before it is a verb and no plural: a value, or words such as "to", "via" and "every"."""
_PLURAL_AND_VERB = _EN.pattern("plural_and_verb")
"""A plural, maybe with a word before it, and the word that may be its verb."""
_BEFORE_RELATIVE = _EN.pattern("before_relative")
"""The beginning of a noun with a relative clause: "bug users reported"."""
_POINTED_AT = _EN.pattern("pointed_at")
"""A noun with a relative clause and nothing behind it: "bug we had"."""
_VERB_COMPLEMENT = _EN.pattern("verb_complement")
"""What follows verbs only: "log in via SSO", "dump to /tmp"."""
_QUESTION_TAG = _EN.pattern("question_tag")
"""The end of an order to remember that makes it a polite one: ", can you?"."""
_ASKED_INSIDE = _EN.pattern("asked_inside")
"""What is between a task and a request to remember: "fix it and remember that …"."""
_BEGINS_ORDER = re.compile(r"(?:(?:can|could|would) you|let's|look (?:at|into|for)|never|always|don't|do not)\s", re.I)
_ASKED_BEHIND = _EN.pattern("asked_behind")
"""A request to remember that follows the fact: "the codename is Heron, keep that in mind"."""
_AND_A_TASK = _EN.pattern("and_a_task")
_STATED_OF_ONE = _EN.pattern("stated_of_one")
"""A statement of a state or with a third person singular, so that a bare verb behind it is an order."""
_ORDER_BEHIND = _EN.pattern("order_behind")
"""An order for the current task behind a statement: ", so update the config"."""
_LASTING_NOW = _EN.pattern("lasting_now")
_EACH_TIME = _EN.pattern("each_time")
_STATED_BEHIND = _EN.pattern("stated_behind")
"""A clause, and no thing or task, behind "remember" or "don't forget": "we ship on Fridays"."""


def _fact(whole: Sentence, said: WrittenSentence, *, is_alone: bool) -> StatedPreference | None:
    """Return what the sentence asks to remember, or None. is_alone: no other sentence asks for work."""
    if (behind := _ASKED_BEHIND.search(whole.masked)) is not None and not said.is_question:
        stated = _without_lead(whole.before(behind.start()))
        if (
            (FINITE.search(stated.masked) or _STATED_BEHIND.search(stated.masked))
            and not _NO_FACT.match(stated.masked)
            and first(stated, _RULES) is None
        ):
            return make_stated("fact", stated.text, None, certain=not NOW.search(_LASTING_NOW.sub("", stated.masked)))
    found = _ASKED.match(whole.masked)
    label = _ASKED_BY_LABEL.match(whole.masked) if found is None else None
    found = found or label
    tag = _QUESTION_TAG.search(whole.masked) if said.is_question else None
    if found is None or (said.is_question and not found["ask"] and not tag):
        return None
    whole = whole.before(tag.start()) if tag else whole
    rest = whole.after(found.end()).without_tail(TAIL)
    if label and (again := _ASKED.match(rest.masked)) is not None:
        rest = rest.after(again.end())  # "for next time, remember that …"
    if label and label["note"] and (not is_alone or _AND_A_TASK.search(rest.masked)):
        return None  # "note that the test …" describes the task
    rest = rest.before(find_order_behind(rest.masked))
    to = re.match(r"to\b\s*", rest.masked, re.I)
    forget = "forget" in found[0].lower()
    is_stated = _STATED_BEHIND.match(rest.masked) or _LABELLED.match(rest.masked)
    if forget and not found["that"] and not found["colon"] and not is_stated:
        return None
    inner = rest.after(to.end()) if to and not found["that"] else rest
    if _split_opinions(inner):
        return None  # read as opinions
    demanded = first(inner, _RULES)
    if demanded is not None:
        return None if label and label["note"] and demanded.kind == "rule" else demanded  # read as a limit
    if to and not found["that"] and is_order(inner.masked.partition(" ")[0]) and _EACH_TIME.search(inner.masked):
        return make_stated("rule", f"always {inner.text}", ALWAYS, certain=not NOW.search(inner.masked))
    # "the port is 9090 now" is a change that lasts.
    is_lasting = found["that"] or found["colon"] or _CLAUSE.match(rest.masked)
    timeless = _LASTING_NOW.sub("", rest.masked) if is_lasting else rest.masked
    if not rest.masked or is_pointing(rest.masked) or NOW.search(timeless):
        return None
    is_recipe = found["colon"] and _LABELLED.match(rest.masked)
    is_condition = found["that"] and re.match(r"(?:when|where|if)\b", rest.masked, re.I)
    if (_NO_FACT.match(rest.masked) and not is_condition) or (to is not None and not found["that"] and not is_recipe):
        return None
    if label and not found["that"] and not is_stated and is_order(rest.masked.partition(" ")[0]):
        return None  # "note: fix the imports" is a task
    is_clause = not (found["that"] and _POINTED_AT.match(rest.masked)) and (
        (found["colon"] and (not label or rest.masked.count(" ") > 1))
        or FINITE.search(rest.masked)
        or is_stated
        or (found["that"] and _is_clause(rest, whole.masked[found.start("that") :]))
        or _has_verb_behind_singular(rest.masked)
        or _NAME_AND_PAST.match(rest.masked)
    )
    is_fyi = not label and found["fyi"]
    sure = bool(is_clause) and not is_fyi
    if not sure and not found["that"] and not is_fyi:
        return None
    if not sure and found["that"]:
        rest = whole.after(found.start("that")).without_tail(TAIL)
    return make_stated("fact", rest.text, None, certain=sure)


def find_order_behind(masked: str) -> int:
    """Return where an order for the current task begins behind a statement; the length of the text if none does."""
    order = _ORDER_BEHIND.search(masked)
    if order is None or not _STATED_OF_ONE.fullmatch(masked[: order.start()]):
        return len(masked)
    return order.start()


def _is_bare_clause(rest: Sentence) -> bool:
    return _CLAUSE.match(rest.masked) is not None or _has_verb(rest.masked)


def _has_verb(masked: str) -> bool:
    """Whether words that follow "that" begin with a plural and its verb: "webhooks retry thrice".

    A plural cannot follow the demonstrative "that", but may be part of a noun as in "that settings page", or begin a
    relative clause as in "that bug users reported".
    """
    found = _PLURAL_AND_VERB.match(masked)
    if found is None or found["plural"] in _EN.word_set("no_plurals"):
        return False
    verb, behind = found["verb"], found["behind"]
    if verb in _EN.word_set("things_after_plurals"):
        return False
    return verb not in _EN.word_set("things_or_verbs") or _VERB_COMPLEMENT.match(behind.lstrip()) is not None


def _has_verb_behind_singular(masked: str) -> bool:
    """Whether words begin with a singular and its verb, and are not a noun such as "the deploy scripts in tools"."""
    found = _SINGULAR_AND_VERB.match(masked)
    if found is None:
        return False
    is_plural = found["subject"].endswith("s") and found["subject"] not in _EN.word_set("no_plurals")
    base = found["verb"][:-1]
    if is_plural and not found["subject"].endswith(("ss", "us", "is")):
        return False
    if base in _EN.word_set("things_or_verbs") or is_order(base) is not True:
        return _PLAIN_COMPLEMENT.match(found["behind"]) is not None
    return True


def _is_clause(rest: Sentence, with_that: str) -> bool:
    """Whether the words after "remember that" are a clause, and not a noun as in "remember that file"."""
    if _BEFORE_RELATIVE.match(rest.masked):
        return False
    if _is_bare_clause(rest):
        return True
    if _THAT_NOUN.match(with_that):
        return False
    return bool(_NO_NOUN.match(rest.masked) or _UNKNOWN_VERB.match(rest.masked))
