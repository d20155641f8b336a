"""Find the value of a statement in memory that a sentence of the user replaces, in seven languages.

"Actually 9464" and "no, pnpm" name no subject, "Mondays, not Fridays" names the former value, "the staging port is 9090
now" a part of the subject. What denies a value is read here (`languages/values.json`); for other sentences `alignment`
compares the words of both. A sentence that says anything else corrects nothing.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from itertools import pairwise

from msgspec import Struct, structs

from clio.memory.consolidation.alignment import ValueChange, align
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_reader import find_family, read_said_words, word_tables

MAX_SENTENCE = 120
"""Characters of a sentence that may be such a correction."""
_TOKEN = re.compile(r"[^\s,;:!?()\"“”„«»…]+(?:[:.,/][^\s,;:!?()\"“”„«»…]+)*")
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_CONTENT_RUN = re.compile(r"[\u30a0-\u30ff]+|[\u3400-\u9fff]+|[A-Za-z0-9_./-]+")
_ASCII_TOKEN = re.compile(r"/?[A-Za-z0-9_][A-Za-z0-9_./:-]*[A-Za-z0-9_/]|[A-Za-z0-9]")
_IDENTIFIER = re.compile(r"[~.]?/?[\w-]*(?:[./_-]\w[\w-]*)+/?|[a-z]+\d+\w*|\w*[a-z]\w*[A-Z]\w*")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_PRONOUN_END = re.compile(r"-(?:se|lo|la|los|las|o|a)$")
_UNIT = frozenset(
    "ms s sec second seconds sekunde sekunden seconde secondes segundo segundos min minute minutes minuten minuto"
    " minutos h hour hours stunden heures horas kb mb gb kib mib gib mo go ko % percent prozent days day tage jours"
    " días dias 秒 分 次 回 件 条 个 個".split()
)


class _ValueRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `languages/values.json`, of all languages together: a short sentence does not show its language.

    Attributes:
        wish: searched anywhere; words that make a sentence a wish: "we should use pnpm instead of npm".
        negation, instead: words before a value that no longer holds.
        joining: words that belong to a negation.
        no_value: everyday words, which are no names of anything: "no, later".
        linking_cjk: words that may stand between a value and the rest in Chinese and Japanese.
    """

    wish: str
    negation: str
    instead: str
    joining: str
    no_value: tuple[str, ...]
    linking_cjk: tuple[str, ...]


class _Patterns(Struct, frozen=True, kw_only=True):
    wish: re.Pattern[str]
    negation: re.Pattern[str]
    joining: frozenset[str]
    no_value: frozenset[str]
    linking_cjk: tuple[str, ...]


@cache
def _patterns() -> _Patterns:
    rules = load_rule_file("values", _ValueRules)
    return _Patterns(
        wish=re.compile(rules.wish, re.IGNORECASE),
        negation=re.compile(f"{rules.negation}|{rules.instead}", re.IGNORECASE),
        joining=frozenset(rules.joining.split()),
        no_value=frozenset(" ".join(rules.no_value).split()),
        linking_cjk=tuple(sorted(rules.linking_cjk, key=len, reverse=True)),
    )


def read_value_corrections(text: str) -> list[str]:
    """Return the user's own sentences that may correct a value, in order, without those that ask something.

    If one ends after a word such as "sorry", the next belongs to it: "Sorry. 9090".
    """
    found: list[str] = []
    for said in read_own_sentences(re.sub(r"([。！？])(?=\S)", r"\1\n", text), MAX_SENTENCE):
        if (
            said.is_question
            or _QUESTION_WORD.match(said.text)
            or FILLER in said.masked
            or said.text.rstrip(" 。").endswith(("？", "吗", "か"))
        ):
            continue
        if found and _is_only_sign(found[-1]):
            found[-1] = f"{found[-1].rstrip('。 ')}, {said.text}"
        else:
            found.append(said.text)
        if len(found) > 1 and _is_only_sign(found[-1]):  # "3100. Sorry"
            found[-2:] = [f"{found[-2]}, {found[-1]}"]
    sentences = [one for one in found if not _is_only_sign(one)]
    # "I misremembered who maintains the driver. Beatriz does."
    sentences += [f"{one}. {other}" for one, other in pairwise(sentences) if read_said_words(one).is_corrected]
    own = [said.text for said in read_own_sentences(text, MAX_SENTENCE)]
    if not sentences and len(own) == 2 and _is_only_sign(own[1]):
        sentences = [f"{own[0]}, {own[1]}"]
    return sentences


_QUESTION_WORD = re.compile(
    r"(?:(?:ok|and|but|so|wait),? )*(?:which|why|how|who|whose|what(?! (?:i|we) (?:meant|mean|said)))\b", re.IGNORECASE
)
"""The beginning of a question, which may lack its mark."""


def _is_only_sign(text: str) -> bool:
    lead = word_tables().lead.match(f"{text} ")
    return lead is not None and lead.end() >= len(text)


def find_corrected_value(old: str, sentence: str) -> ValueChange | None:
    """Return the value of a statement in memory that a sentence replaces; None if it does not clearly replace one."""
    is_cjk = _CJK.search(old) or _CJK.search(sentence)
    denied = _find_denied_cjk(old, sentence) if is_cjk else _find_denied(old, sentence)
    return denied or _find_new_value(old, sentence)


def find_corrected_choice(old: str, sentence: str) -> ValueChange | None:
    """Return what a sentence replaces of what a preference or limit asks for: "npm" in "we use npm here, not yarn".

    None for a prohibition: "no, pnpm" after "never use npm" does not prohibit pnpm.
    """
    if _CJK.search(old) or _CJK.search(sentence):
        return None  # its negations have no fixed place
    ends = [found.start() for one in (_patterns().negation, _PROHIBITS) if (found := one.search(old))]
    chosen = old[: min(ends, default=len(old))].rstrip(" ,;–—-")
    return find_corrected_value(chosen, sentence) if chosen else None


_PROHIBITS = re.compile(r"\b(?:never|avoid|without|nie|niemals|ohne|jamais|sans|nunca|jamás|jamais|sin|sem)\b", re.I)
"""Words that exclude what follows them, beside the negations of corrections."""


def list_content_words(text: str) -> frozenset[str]:
    """Return the words of a text that tell what it is about, in lower case and without the plural "s"."""
    if _CJK.search(text):
        return frozenset(run.casefold() for run in _CONTENT_RUN.findall(text) if run not in _patterns().linking_cjk)
    return frozenset(list_repeated_words(text))


def list_repeated_words(text: str) -> list[str]:
    """Return the words of `list_content_words` as often as they occur; none in Chinese and Japanese."""
    if _CJK.search(text):
        return []
    return [_fold(token).removesuffix("s") or token for token in _content(_tokenize(text))]


def is_already_said(old: str, sentence: str) -> bool:
    """Whether a statement in memory already says what a sentence with a negation puts in place of something else."""
    if _CJK.search(old) or _CJK.search(sentence):
        return _is_already_said_cjk(old, sentence)
    known = set(map(_fold, _tokenize(old)))
    for negation in _find_negations(sentence, known):
        denied = _content(_tokenize(re.split(_CONTRAST, sentence[negation.end() :], maxsplit=1)[0]))
        absent = [_fold(token) for token in denied if _fold(token) not in known]
        if denied and not absent:  # "Dana is not our scrum master, it's Luis"
            named = (one for one in _tokenize(sentence[: negation.start()]) if one[0].isupper())
            absent = [_fold(token) for token in named if _fold(token) not in known]
        lead = word_tables().lead.match(sentence)
        rest = _content(_tokenize(sentence[lead.end() if lead else 0 :]))
        others = [token for token in rest if _fold(token) not in absent]
        if absent and others and all(_fold(token) in known for token in others):
            return True
    return False


_NEGATION_CJK = re.compile(
    r"(?:不是|不叫|不在|不用|不由|不再是|并非)\s*(?P<zh>[^，,。]+?)(?=[，,。]|而|$)"
    r"|(?P<ja>[^はがをも、,。]+?)\s*(?:では|じゃ)(?:な|あり)"
)


def _is_already_said_cjk(old: str, sentence: str) -> bool:
    denied = [_CONTENT_RUN.findall(found["zh"] or found["ja"]) for found in _NEGATION_CJK.finditer(sentence)]
    absent = {run for runs in denied for run in runs if run not in old}
    named = [token for token in _ASCII_TOKEN.findall(sentence) if token not in absent]
    new = [token for token in named if token in old]
    return bool(absent) and bool(new) and len(new) == len(named)


def is_said_before(old: str, context: str) -> bool:
    """Whether a statement is in the conversation before a correction: most of its words, in any order."""
    if _CJK.search(old):
        runs = _CONTENT_RUN.findall(old)
        return bool(runs) and sum(run in context for run in runs) * 4 >= len(runs) * 3
    words = _content(_tokenize(old))
    said = set(map(_fold, _tokenize(context)))
    return bool(words) and sum(_fold(word) in said for word in words) * 4 >= len(words) * 3


def has_rival(change: ValueChange, old: str, context: str) -> bool:
    """Whether the conversation has another value of the same form, which a correction may be about."""
    form = _form(change.old.split()[0])
    tokens = _ASCII_TOKEN.findall(context) if _CJK.search(context) else _tokenize(context)
    known = set(map(_fold, [*_tokenize(old), *_ASCII_TOKEN.findall(old)]))
    return any(_form(token) == form and _fold(token) not in known for token in tokens if form != "word")


def _tokenize(text: str) -> list[str]:
    plain = _ELISION.sub("", text.replace("’", "'"))
    found = (token.strip(".,'-–—`*") for token in _TOKEN.findall(plain))
    return [_PRONOUN_END.sub("", token) for token in found if token]


def _fold(token: str) -> str:
    return token.casefold()


def _is_linking(token: str) -> bool:
    tables = word_tables()
    return _fold(token) in tables.linking or _fold(token) in tables.relations


def _content(tokens: Sequence[str]) -> list[str]:
    joining = _patterns().joining
    return [one for one in tokens if not _is_linking(one) and _fold(one) not in joining]


def _form(token: str) -> str:
    """Return the form of a value: "time", "version", "number", "name" for a path or identifier, or "word"."""
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?", token):
        return "time"
    if re.fullmatch(r"v?\d+(?:\.\d+)+|v\d+", token):
        return "version"
    if re.fullmatch(r"\d[\d.,]*%?", token):
        return "number"
    if _IDENTIFIER.fullmatch(token) and not token.isdigit():
        return "name"
    return "word"


def _find_new_value(old: str, sentence: str) -> ValueChange | None:
    """As in "actually 9464", "sorry, the cache is Memcached"; the whole subject if nothing announces a change."""
    said = read_said_words(sentence)
    if not said.words or _patterns().wish.search(said.plain):
        return None
    if is_order(said.first) is True and said.first.strip(",.:;").casefold() not in old.casefold().split():
        return None
    if said.is_signed and not _CJK.search(sentence):
        mine, tokens = _tokenize(old), _tokenize(said.plain)
        if change := _find_value_after_same_word(mine, tokens):
            return change
    found = align(old, sentence)
    if found is None:
        return None
    words = found.new.split()
    if not _patterns().no_value.isdisjoint(map(_fold, words)) or not (found.shared or _may_be_value(words[0])):
        return None
    is_of_family = said.is_change and _fold(found.new) in find_family(_fold(found.old))
    return structs.replace(found, is_named=found.is_named or is_of_family)


def _find_value_after_same_word(mine: Sequence[str], tokens: Sequence[str]) -> ValueChange | None:
    """As in "actually we deploy with make deploy" of "we deploy with make ship": both end with a value of "make".

    The rest of the sentence is in the statement, so that also a word that could be a verb is the value.
    """
    if len(mine) < 3 or len(tokens) < 3 or _is_linking(mine[-2]) or _fold(tokens[-2]) != _fold(mine[-2]):
        return None
    gone, new = mine[-1], tokens[-1]
    others = set(map(_fold, tokens[:-1]))
    is_known = all(_is_linking(token) or _fold(token) in map(_fold, mine[:-1]) for token in tokens[:-2])
    if not is_known or _is_article(tokens[-3]) or _fold(gone) in others or _is_linking(new):
        return None
    if _fold(gone) == _fold(new) or _form(gone) != "word" or _form(new) != "word" or _fold(new) in _patterns().no_value:
        return None
    return ValueChange(old=f"{mine[-2]} {gone}", new=f"{mine[-2]} {new}", is_named=True)


def _may_be_value(word: str) -> bool:
    """Whether a word may name something: it is neither an everyday word nor one that begins an order."""
    return _form(word) != "word" or (_fold(word) not in _patterns().no_value and is_order(word) is not True)


def _find_negations(body: str, known: Collection[str]) -> list[re.Match[str]]:
    """Return the negations of a correction; "no" of a statement is a Portuguese preposition: "no Jenkins"."""
    return [found for found in _patterns().negation.finditer(body) if _fold(found[0]) not in known]


def _fits(gone: str, new: str) -> bool:
    """Whether two values are of the same form; a name may also be a plain word."""
    one, other = _form(gone), _form(new)
    return one == other or {one, other} <= {"name", "word"}


def _find_capitalized(mine: Sequence[str]) -> str | None:
    """Return the one proper name of a statement; None if there is none, or several.

    A capitalized word after an article is a German noun; one that begins the statement is a name if a verb follows.
    """
    found = [
        token
        for before, token in pairwise(mine)
        if token[0].isupper() and not token.isupper() and _fold(before) not in _GERMAN_ARTICLES
    ]
    first, following = mine[0], mine[1:2]
    if not found and first[0].isupper() and following and _fold(following[0]) not in _COPULAS and first[-1] != "s":
        found = [first]
    if first[0].isupper() and len(found) > 1:
        return None
    return found[0] if len(found) == 1 else None


_GERMAN_ARTICLES = frozenset("der die das den dem des ein eine einen einem einer zur zum im am vom beim".split())
_JOINED_ARTICLES = frozenset("ins ans au aux du al do da no na ao dos das nos nas".split())
_COPULAS = frozenset("is are was were ist sind war est sont es son está é são heißt lautet".split())
_ARTICLES = frozenset(
    "the a an der die das den dem des ein eine einen einem einer le la les l' un une el los las una o os as um"
    " uma".split()
)


def _is_article(token: str) -> bool:
    return _fold(token) in _ARTICLES


def _find_denied(old: str, sentence: str) -> ValueChange | None:
    """As in "Mondays, not Fridays", "not 7001 but 7002", "landing-events instead of raw-events"."""
    tables = word_tables()
    tail = tables.tail.search(sentence)
    whole = sentence[: tail.start()] if tail else sentence
    lead = tables.lead.match(whole)
    # "No, no es 7001 sino 7002" begins with a negation that is no introduction.
    bodies = dict.fromkeys((whole, whole[lead.end() :] if lead else whole))
    return next((change for body in bodies if (change := _find_denied_in(old, body)) is not None), None)


_IS_OPPOSED = re.compile(r"(?:[,;:(–—-]|(?<!\w)(?:and|und|et|y|e))\s*$", re.IGNORECASE)
"""Before a negation that comes after the new value: "Mondays, not Fridays"."""
_CONTRAST = re.compile(r"[,;]|:(?=\s)|\s[–—-]\s|(?<!\w)(?:but|sondern|mais|sino|mas|e sim)(?!\w)", re.IGNORECASE)


def _is_instead(negation: re.Match[str]) -> bool:
    return " " in negation[0] or _fold(negation[0]).endswith("statt")


def _find_denied_in(old: str, body: str) -> ValueChange | None:
    mine, tokens = _tokenize(old), _tokenize(word_tables().change.sub(" ", body))
    known = {_fold(token) for token in mine}
    rest = [token for token in _content(tokens) if _fold(token) not in known]
    if (
        len(rest) != 1
        or not _may_be_value(rest[0])
        or is_order(tokens[0]) is True
        or _patterns().negation.search(" ".join(one for one in mine if _fold(one) != "no"))
    ):
        return None
    if _patterns().wish.search(body):
        return None
    new = rest[0]
    before_new = tokens[max(tokens.index(new) - 1, 0)]
    for negation in _find_negations(body, known):
        clause = re.split(_CONTRAST, body[negation.end() :], maxsplit=1)[0]
        after = _tokenize(clause)
        is_first = body.find(new) < negation.start()
        if new in after or (
            is_first and not _IS_OPPOSED.search(body[: negation.start()]) and not _is_instead(negation)
        ):
            continue
        denied = [one for one in _content(after[:6]) if _fold(one) in known and _fold(one) not in _UNIT]
        alike = [one for one in denied if one in after[1:] and after[after.index(one) - 1] == before_new]
        if len(denied) > 1 and is_order(denied[0]) is True:
            denied = denied[1:]  # "we don't deploy from …"
        same_case = [one for one in denied if one[0].isupper() == new[0].isupper()]
        if denied and not same_case and new[0].isupper():
            # "Dana is not our scrum master any more, it's Luis" denies the role of a name.
            names = [one for one in _tokenize(body[: negation.start()]) if one in mine and one[0].isupper()]
            if not is_first and len(names) == 1 and mine.count(names[0]) == 1:
                return ValueChange(old=names[0], new=new, is_named=True)
        for one in (*alike, *(same_case or denied)[:1]):
            gone = [token for token in mine if _fold(token) == _fold(one)]
            if len(gone) == 1 and _fits(gone[0], new) and _may_be_denied(gone[0], new, mine, tokens):
                return ValueChange(old=gone[0], new=new, is_named=True)
    return None


def _may_be_denied(gone: str, new: str, mine: Sequence[str], tokens: Sequence[str]) -> bool:
    """Whether a denied word is a value of a statement, not its subject: "it's not the cache, it's the queue"."""
    family = find_family(_fold(new))
    if _form(gone) != "word" or gone == mine[-1] or gone == _find_capitalized(mine) or _fold(gone) in family:
        return True
    said = set(map(_fold, tokens))
    others = [_fold(token) for token in _content(mine) if token != gone]
    shared = sum(other in said for other in others)
    place = next((number for number, token in enumerate(tokens) if _fold(token) == _fold(gone)), 0)
    before = _fold(tokens[place - 1]) if place else ""
    is_thing = before in _ARTICLES or before in _GERMAN_ARTICLES or before in _JOINED_ARTICLES
    return bool(shared) and shared * 10 >= len(others) * (6 if is_thing else 5)


_DENIED_FIRST_ZH = re.compile(
    r"^(?P<before>.*?)(?:并|已经|而)?(?:不是|不叫|不在|不用|不由|不再是|并非)\s*(?P<old>.+?)"
    r"(?:[，,]\s*(?:而是|而在|而用|而叫|而由|而|是|叫|用|在|由|改为|改成|应该是)|而是|而在|而用|而叫)\s*(?P<new>.+)$"
)
_DENIED_LAST_ZH = re.compile(r"^(?P<new>.+?)[，,]?\s*(?:而)?(?:不是|不叫|不在|不用|并非)\s*(?P<old>.+)$")
_DENIED_FIRST_JA = re.compile(
    r"^(?P<before>.*?)(?:では|じゃ)(?:なくて?|ありません|ない(?:です)?)[、,。]?\s*(?P<new>.+)$"
)
_DENIED_LAST_JA = re.compile(r"^(?P<new>.+?)[、,]\s*(?P<old>\S.*?)\s*(?:では|じゃ)(?:ありません|ない(?:です)?|なく)$")
_PARTICLE = re.compile(r"[はがをも、,]")
_COPULA_JA = re.compile(r"\s*(?:です|でした|だ|である|に変わりました|になりました|にしてください|に変更しました)$")
_END = re.compile(r"[\s。！!.]+$")


def _find_denied_cjk(old: str, sentence: str) -> ValueChange | None:
    lead = word_tables().lead.match(sentence)
    plain = _END.sub("", old)
    for text in dict.fromkeys((sentence, sentence[lead.end() :] if lead else sentence)):
        body = _END.sub("", text)
        for pattern in (_DENIED_LAST_JA, _DENIED_FIRST_JA, _DENIED_FIRST_ZH, _DENIED_LAST_ZH):
            found = pattern.match(body)
            if found is None:
                continue
            parts = found.groupdict()
            before, gone = parts.get("before") or "", parts.get("old") or ""
            if not gone:  # Japanese names the old value before the negation
                gone = _PARTICLE.split(before)[-1].strip()
                before = before[: len(before) - len(gone)] if gone else before
            change = _align_cjk(plain, gone.strip(), parts["new"].strip())
            if change is not None and _is_all_in(before, plain):
                return change
    return None


def _is_all_in(text: str, old: str) -> bool:
    """Whether all content of a text is in a statement, apart from words that join."""
    for run in _CONTENT_RUN.findall(text):
        left = run
        for word in _patterns().linking_cjk if run not in old else ():
            left = left.replace(word, " ")
        if run not in old and not all(part in old for part in left.split()):
            return False
    return True


def _align_cjk(old: str, gone: str, new: str) -> ValueChange | None:
    """Return the change of a statement from one value to another, each with a few words of the statement around it."""
    known = _ASCII_TOKEN.findall(old)
    named = [token for token in _ASCII_TOKEN.findall(gone) if token in known]
    instead = [token for token in _ASCII_TOKEN.findall(new) if token not in known]
    if len(named) == 1 and len(instead) == 1 and _fits(named[0], instead[0]):
        if old.count(named[0]) == 1 and _is_all_in(new.replace(instead[0], " "), old):
            return ValueChange(old=named[0], new=instead[0], is_named=True)
        return None
    if named or instead or not gone:
        return None
    gone = gone if gone in old else _COPULA_JA.sub("", gone)
    if old.count(gone) != 1:
        return None
    before, after = old.split(gone)
    if not before and not new.endswith(after):
        return None  # the topic of a statement is not its value
    value = new.removesuffix(after) if after else new
    value = _COPULA_JA.sub("", value.removeprefix(before))
    if before and gone[0] != "是":
        value = value.removeprefix("是")  # "部署在周五" and "是周一，不是周五"
    if not value or len(value) > 2 * len(gone) + 2 or value in old or re.search(r"[，,、\s]", value):
        return None
    return ValueChange(old=gone, new=value, is_named=True)
