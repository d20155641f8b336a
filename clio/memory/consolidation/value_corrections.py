"""Find the value of a statement in memory that a sentence of the user replaces, in seven languages.

"Actually 9464" and "no, pnpm" name no subject, "Mondays, not Fridays" names the former value, "the staging port is 9090
now" a part of the subject. What denies a value is read here (`languages/values.json`); for other sentences `alignment`
compares the words of both. A sentence that says anything else corrects nothing.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise

from msgspec import Struct, structs

from clio.memory.consolidation.alignment import ValueChange, align
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_parser import normalize_word, parse_statement
from clio.memory.statement_reader import PREPOSITIONS, find_family, read_said_words, read_statement_words, word_tables

MAX_SENTENCE = 220
"""Characters of a sentence that may be such a correction."""
_TOKEN = re.compile(r"[^\s,;:!?()\"“”„«»…]+(?:[:.,/][^\s,;:!?()\"“”„«»…]+)*")
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_CONTENT_RUN = re.compile(r"[\u30a0-\u30ff]+|[\u3400-\u9fff]+|[A-Za-z0-9_./-]+")
_ASCII_TOKEN = re.compile(r"/?[A-Za-z0-9_][A-Za-z0-9_./:-]*[A-Za-z0-9_/]|[A-Za-z0-9]")
_IDENTIFIER = re.compile(r"[~.]?/?[\w-]*(?:[./_-]\w[\w-]*)+/?|[a-z]+\d+\w*|\w*[a-z]\w*[A-Z]\w*")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_PRONOUN_END = re.compile(r"-(?:se|lo|la|los|las|o|a)$")


class _ValueRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `languages/values.json`, of all languages together: a short sentence does not show its language.

    Attributes:
        wish: searched anywhere; words that make a sentence a wish: "we should use pnpm instead of npm".
        joining: words that belong to a negation.
        no_value: everyday words, which are no names of anything: "no, later".
        linking_cjk: words that may stand between a value and the rest in Chinese and Japanese.
    """

    wish: str
    joining: str
    no_value: tuple[str, ...]
    linking_cjk: tuple[str, ...]


class _Patterns(Struct, frozen=True, kw_only=True):
    wish: re.Pattern[str]
    joining: frozenset[str]
    no_value: frozenset[str]
    linking_cjk: tuple[str, ...]


@cache
def _patterns() -> _Patterns:
    rules = load_rule_file("values", _ValueRules)
    return _Patterns(
        wish=re.compile(rules.wish, re.IGNORECASE),
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
    # "I misremembered who maintains the driver. Beatriz does.", "Not Priya. Marguerite."
    denial = word_tables().denials
    sentences += [
        f"{one}. {other}"
        for one, other in pairwise(sentences)
        if is_order(other.split(" ", 1)[0]) is not True  # "Ola left. Update CODEOWNERS"
        if read_said_words(one).is_corrected or any(map(denial.match, (one, other))) or word_tables().ended.search(one)
    ]
    own = [said.text for said in read_own_sentences(text, MAX_SENTENCE)]
    if not sentences and len(own) == 2 and _is_only_sign(own[1]):
        sentences = [f"{own[0]}, {own[1]}"]
    return sentences


_QUESTION_WORD = re.compile(
    r"(?:(?:ok|and|but|so|wait),? )*(?:which|why|how|who|whose|what(?! (?:i|we) (?:meant|mean|said))"
    r"|did (?!i (?:say|write|tell))(?:we|i|you|it|the|he|she|they)|do(?:es)? (?:we|i|it|the)"
    r"|(?:is|are|was|were) (?:we|it|the))\b",
    re.IGNORECASE,
)
"""The beginning of a question, which may lack its mark."""


def _is_only_sign(text: str) -> bool:
    lead = word_tables().lead.match(f"{text},")
    return lead is not None and lead.end() >= len(text)


def find_corrected_value(old: str, sentence: str) -> ValueChange | None:
    """Return the value of a statement in memory that a sentence replaces; None if it does not clearly replace one.

    As in "actually 9464", "Mondays, not Fridays"; the whole subject if nothing announces a change. A clause that says
    all this alone counts whatever the others say, unless they limit it: "ops called, the port is 9464, fix the test".
    """
    clauses = _divide_sentence(sentence)
    stated = sentence[: sentence.find(clauses[-1]) + len(clauses[-1])] if clauses else sentence
    for text in dict.fromkeys((stated, sentence)):
        if found := _find_in_sentence(old, text):
            return None if found.is_named and is_limited(sentence) else found
    if not shares_word(old, sentence):
        return None
    free = [clause for clause in list_free_clauses(sentence) if clause != sentence]
    if any(read_said_words(one).is_corrected and not read_said_words(one).words for one in free):
        free = [f"sorry, {one}" for one in free]  # "confundi, quem revisa é a Luana"
    readings = (_find_in_sentence(old, clause) or _find_flipped(old, clause, sentence) for clause in free)
    return max((one for one in readings if one and one.is_named), key=lambda one: one.shared, default=None)


@lru_cache(maxsize=4_096)
def _list_keys(text: str) -> frozenset[str]:
    words = read_statement_words(text)
    families = (min(find_family(word.text.casefold()), default="") for word in words.words)  # "Webpack", "Vite"
    return words.relations.union((word.key for word in words.words), filter(None, families))


def shares_word(old: str, sentence: str) -> bool:
    """Whether a sentence names anything of a statement: a fast test for most memories."""
    return _CJK.search(old) is not None or not _list_keys(old).isdisjoint(_list_keys(sentence))


_FLIPS = tuple(frozenset(pair.split()) for pair in ("mit ohne", "avec sans", "con sin", "com sem", "with without"))


def _find_flipped(old: str, clause: str, sentence: str) -> ValueChange | None:
    """Return the preposition that a sentence puts in place of its opposite: "o cpf vem com pontuação", for "sem"."""
    said = [_fold(word) for word in _tokenize(clause)]
    for word in _tokenize(old):
        pair = next((pair for pair in _FLIPS if _fold(word) in pair), None)
        [other] = pair - {_fold(word)} if pair else ("",)
        if other in said and (read_said_words(sentence).is_signed or read_said_words(clause).is_signed):
            flipped = [other if one == word else one for one in _tokenize(old)]
            if set(map(_fold, flipped)) <= set(said):
                return ValueChange(old=word, new=other, is_named=True, shared=len(flipped) - 1)
    return None


def find_implied_value(old: str, sentence: str, message: str, *, is_answer: bool) -> ValueChange | None:
    """Return the value that a clause gives to a part of a statement's subject; the message tells what it is about.

    "The workers run on atlas, hermes is the web box" names the former value. An answer comes directly after the
    statement, and may say only a value of the same form: "the board says 0x49".
    """
    if _CJK.search(old) or _CJK.search(sentence):
        return None
    for clause in list_free_clauses(sentence):
        found = _find_in_sentence(old, f"{clause} instead")
        if found is None or word_tables().past.search(clause):
            continue
        others = {_fold(word).removesuffix("'s") for word in _tokenize(message.replace(clause, " "))}
        is_contrast = not others.isdisjoint(_fold(word).lstrip("#@") for word in _content(_tokenize(found.old)))
        if is_answer and not found.is_named and (found.is_alike or found.is_resembling):
            return found
        relations = read_said_words(clause).relations & read_statement_words(old).relations
        is_about = (found.is_named and (is_answer or is_contrast)) or (
            is_contrast and (relations or (is_answer and clause == found.new.split()[0]))
        )
        if is_about and _is_same_kind(old, clause, found):
            return structs.replace(found, is_named=True)
    return None


def _is_same_kind(old: str, clause: str, change: ValueChange) -> bool:
    """Whether both values are at a place of the same kind: a plain word behind one such as "on", not "eu-1 is full"."""
    gone, new = change.old.split()[0], change.new.split()[0]
    if normalize_word(change.old) in parse_statement(old).topic_ids and not old.rstrip(" .").endswith(change.old):
        return False
    if _form(new) != "word" or clause == change.new or find_family(_fold(new)) or new[0].isupper():
        return True
    before = [text[: text.casefold().find(word.casefold())].split()[-1:] for text, word in ((old, gone), (clause, new))]
    return before[0] == before[1] or not PREPOSITIONS.isdisjoint(map(_fold, before[1]))


def _divide_sentence(sentence: str) -> list[str]:
    """Return the clauses of a sentence without a request behind them; that before a colon ends with it."""
    clauses: list[str] = []
    start = lead.end() if (lead := word_tables().lead.match(sentence)) else 0
    for end in (*_CLAUSE_END.finditer(sentence, start), None):
        clause = _SINCE.sub("", sentence[start : end.start() if end else len(sentence)].strip(" ,"))
        start = end.end() if end else len(sentence)
        if clauses and _is_request(clause):
            break
        remark = _AND.search(clause) if word_tables().remarks.match(clause) else None
        clause = clause[remark.end() :] if remark else clause  # "I asked finance and the port is 9464"
        if clause and not clause.endswith(" there"):
            clauses.append(f"{clause}:" if end and ":" in end[0] else clause)
    return clauses


@lru_cache(maxsize=256)
def list_free_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence that no other one limits, without a request behind them."""
    clauses = _divide_sentence(sentence)
    limits = {place for place, clause in enumerate(clauses) if _limits(clause)}
    limits -= {0} if _TOPIC.match(sentence) else set()
    return [clause.rstrip(":") for place, clause in enumerate(clauses) if not limits - {place}]


def is_limited(sentence: str) -> bool:
    """Whether a clause of a sentence tells or asks where the others hold: "staging only: …", "…, right"."""
    return any(map(_is_only, _divide_sentence(sentence)))


def _is_only(clause: str) -> bool:
    """Whether a clause tells or asks where the others hold: "staging only: …", "…, right"."""
    return len(clause.split()) < 4 and _ONLY.search(clause) is not None


def _is_request(clause: str) -> bool:
    """Whether a clause is an order or a question, so that it and what follows do not tell what is so."""
    is_ordered = is_order(clause.split(" ", 1)[0]) is True and not _NOUNS_FIRST.match(clause)
    return is_ordered or _QUESTION.match(clause) is not None


def _limits(clause: str) -> bool:
    """Whether a clause may tell where or when another one holds: "staging:", "if we move"."""
    tables = word_tables()
    plain = clause[lead.end() :] if (lead := tables.lead.match(f"{clause},")) else clause
    if tables.limiting_starts.match(plain) or _is_only(clause) or _MAKES_NEW.match(plain):
        return not tables.remarks.match(plain)
    is_remark = _is_request(plain) or tables.remarks.match(plain) or tables.corrected.search(plain)
    return plain.endswith(":") and not is_remark and len(plain.split()) < (5 if plain.startswith("the ") else 3)


_CLAUSE_END = re.compile(
    r"\s*[,;–—()…，；、。（）]\s*(?:but\s)?|:\s+|\s-\s|[.!]+\s+|\s(?:but|so|because|cause|cuz|cos|bc|hence|therefore)\s"
    r"|\s(?:weil|denn|deshalb|donc|du coup|parce que|así que|porque|por eso|então|por isso|pq)\s"
    r"|(?<=[ただるい])(?:ので|から|けど)"
    r"|\ssince\s(?=(?:we|i|it|they|you|he|she|(?!the|last|this)\w+ \w+s)\b)"
    r"|\s(?=(?:please|(?:can|could|would|will) (?:you|we|i)|i (?:think|guess|meant|mixed)) )",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:so |and |now |please )*(?:(?:what|when|where|which|who|how|why)(?:'?s)?\b"
    r"|(?:can|could|would|will|do|does|did|should|is|are) (?:you|we|i|the|our)\b|please\b)",
    re.IGNORECASE,
)
_TOPIC = re.compile(r"(?:about|re|regarding|concerning|zu|wegen|à propos|sobre|quanto) ", re.IGNORECASE)
"""The beginning of a clause that says what the next one is about: "about the mic: it samples at 48000"."""
_ONLY = re.compile(
    r"^(?:only|i (?:think|guess))\b|(?<![\w.-])(?:only|example|sample):?$|\b(?:locally|temporar(?:y|ily)|for now)\b"
    r"|\bthis (?:week|month|time)\b"
    r"|^(?:right|correct|or not|is(?:n'?t)? (?:it|that)|are(?:n'?t)? they|does(?:n'?t)? it)$",
    re.IGNORECASE,
)
_MAKES_NEW = re.compile(
    r"(?:add|create|write|make|build|generate|draft|mock|spin up|set up|start) (?:an?|another|some|[\w-]+ new)\b",
    re.IGNORECASE,
)
_NOUNS_FIRST = re.compile(r"[\w-]+ (?:(?!the|that|an?|what|if|whether)[\w-]+ ){0,2}(?:is|are) ", re.IGNORECASE)
"""A statement whose first word may also be a verb: "release manager is Pedro"."""
_SINCE = re.compile(r" since (?:(?:the|last|this|early|late|mid) )?[\w.]{2,9}(?: (?:19|20)\d\d)?$", re.IGNORECASE)
"""Since when a value holds, behind it: "since april"."""
_AND = re.compile(r" and (?!\S+$)", re.IGNORECASE)


def _find_in_sentence(old: str, sentence: str) -> ValueChange | None:
    said = read_said_words(sentence)
    if not said.words or _patterns().wish.search(said.plain):
        return None
    if is_order(said.first) is True and said.first.strip(",.:;").casefold() not in old.casefold().split():
        return None
    found = align(old, sentence)
    if found is None:
        return None
    words = found.new.split()
    is_order_only = not found.shared and _form(words[0]) == "word" and is_order(words[0]) is True
    if is_order_only or not _patterns().no_value.isdisjoint(map(_fold, words)):
        return None
    gone = found.old.split()
    is_of_family = said.is_change and len(words) == len(gone) and _fold(words[0]) in find_family(_fold(gone[0]))
    return structs.replace(found, is_named=found.is_named or is_of_family)


def find_corrected_choice(old: str, sentence: str) -> ValueChange | None:
    """Return what a sentence replaces of what a preference or limit asks for: "npm" in "we use npm here, not yarn".

    None for a prohibition: "no, pnpm" after "never use npm" does not prohibit pnpm.
    """
    if _CJK.search(old) or _CJK.search(sentence):
        return None  # its negations have no fixed place
    ends = [
        found.start() for one in (word_tables().denials, word_tables().denied, _PROHIBITS) if (found := one.search(old))
    ]
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
