"""Parse a statement into its topic (subject and qualifiers such as "in staging"), its predicate and its value.

"The API listens on port 8080 in staging" is about the API in staging, and its value is port 8080. Pure functions,
English first, by the tables of `statement_words.json`; `statement_relation` compares what is parsed here.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct, structs

from clio.memory.statement_reader import (
    ADDITIVE_VERBS,
    ADJECTIVES,
    AGENTIVE,
    ATTRIBUTES,
    CHANGE_DE,
    CHANGE_ES_PT,
    CHANGE_FR,
    CHANGE_PHRASES,
    CHANGE_VERBS,
    DAYS,
    EXCLUSIVE_OWNERS,
    EXCLUSIVE_ROLES,
    FINAL_VERBS,
    GENERIC_TOOLS,
    IRREGULAR,
    LANGUAGES,
    LEADS,
    LOCATIVE,
    MULTIPLE_VERBS,
    NUMBER_WORDS,
    OBJECT_VERBS,
    OBJECTS_AT_ONCE,
    OPPOSITES,
    PARTICLES,
    POSITIONS,
    PREDICATE_GROUPS,
    PREPOSITIONS,
    REVOKED,
    SHARED_STATES,
    SINGLE_VERBS,
    STOP_WORDS,
    SYNONYMS,
    TAILS,
    TOOL_NOUNS,
    Words,
    find_base_verb,
    find_family,
)
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import stem_word

_MAX_CHARS = 1_000
"""Number of characters of a sentence that are read."""
_TOKEN = LazyRegex(r"[,;→]|->|=>|=|:(?=\s|$)|--?\w[\w=-]*|[~.]?/?\w(?:[\w./\\:@+#%*'-]*[\w/%*+#])?", re.UNICODE)
_CHANGE = LazyRegex(rf"\b(?:{CHANGE_PHRASES})\b", re.I)
_LEAD = LazyRegex(rf"^(?:{LEADS})+", re.I)
_TAIL = LazyRegex(TAILS, re.I)
_CONTRACTIONS = (
    (LazyRegex(r"\blet's\b", re.I), "let us"),
    (LazyRegex(r"\bcan'?t\b|\bcannot\b", re.I), "can not"),
    (LazyRegex(r"\bwon't\b", re.I), "will not"),
    (LazyRegex(r"n't\b", re.I), " not"),
    (LazyRegex(r"\b(do|does|did|is|are|was|were|has|have|should|could|would)nt\b", re.I), r"\1 not"),
    (LazyRegex(r"\b(it|that|there|he|she|who|what)'s\b", re.I), r"\1 is"),
    (LazyRegex(r"(\w)'s\b"), r"\1"),
    (LazyRegex(r"'(?:re)\b", re.I), " are"),
    (LazyRegex(r"\b(?:(i)'m|am|is|are) based (?=(?:in|at)\b)", re.I), r"\1 live "),
    (LazyRegex(r"'ve\b", re.I), " have"),
    (LazyRegex(r"'ll\b", re.I), " will"),
    (LazyRegex(r"\b(?:gets?|got|getting)(?= (?:not )?[a-z]+(?:ed|pt|nt|ilt|ut|wn)\b)", re.I), "is"),
    (LazyRegex(r"^(?:the )?((?:[\w-]+ ){1,3})(are|were) all\b", re.I), r"all \1\2"),
    (LazyRegex(r"(\d[\d.]*) (?:and|or) (?:up|later|newer|higher|above)\b", re.I), r"\1+"),
    (LazyRegex(r"\b(\d{1,2}(?::\d\d)?) ?([ap]m)\b", re.I), r"\1\2"),
    (LazyRegex(r"(\d)\s+%"), r"\1%"),
    (LazyRegex(r"(\d)\s*(ms|s|min|h|GB|MB|KB|GiB|MiB)\b"), r"\1 \2"),
)
_VERB = rf"(?:{CHANGE_VERBS})"
_FROM_TO = LazyRegex(rf"^(?P<before>.*?)\b{_VERB}\b(?P<object>.*?)\bfrom (?P<old>.+?) (?:to|into) (?P<new>.+)$", re.I)
_TO = LazyRegex(rf"^(?P<before>.*?)\b{_VERB}\b(?P<object>(?:(?! from ).)*?)\b(?:to|into) (?P<new>.+)$", re.I)
_REPLACED = LazyRegex(
    r"^(?P<before>.*?)\b(?:replaced|swapped|exchanged) (?P<old>.+?) (?:with|by|for) (?P<new>.+)$"
    r"|^(?P<old2>.+?) (?:was|were|is|are|has been|have been|got) replaced (?:with|by) (?P<new2>.+)$"
    r"|^(?P<new3>.+?) (?:replaces|replaced) (?P<old3>.+)$"
    r"|^(?P<before4>.*?)\b(?:dropped|ditched|abandoned) (?P<old4>.+?) (?:in favou?r of|for) (?P<new4>.+)$"
    r"|^(?P<new5>.+?) (?:(?:has|have) taken|takes?|took) over (?P<before5>.+?) from (?P<old5>.+)$",
    re.I,
)
_NOT_ANY_MORE = LazyRegex(
    r"^(?P<before>.*?\b(?:is|are|was|were|do|does|did|use|uses|on|in|at))?\s*\b(?:not|no longer) (?P<old>[^,;]+?)"
    r"(?: any ?more| any longer)?\s*(?:[,;]|\bbut\b)\s*(?:but |it is |they are |it |rather )?(?P<new>.+)$",
    re.I,
)
_NOT_ANY_MORE_IN_OTHER_LANGUAGES = LazyRegex(
    r"^(?P<before>.*?)\b(?:n(?:e |')\w+ plus|ya no \w+|já não \w+|não \w+ mais|nicht mehr) (?:d['eu] ?|l[ae] )?"
    r"(?P<old>[^,;]+?)\s*[,;]\s*(?:mais |sino |mas |sondern )?(?P<new>.+)$",
    re.I,
)
_COMMA_NOT = LazyRegex(r",\s*(?:and |but )?(?:not|nicht(?: mehr)?|pas|no|não) (?P<old>[^,;]+)$", re.I)
_INSTEAD_OF = LazyRegex(
    r"\s*,?\s*\b(?:instead of|rather than|in place of|\(was|\(formerly|, formerly) (?P<old>.+)$", re.I
)
_USED_TO = LazyRegex(r"[,;]?\s*(?:\(|it |they |and )?(?:used to|formerly|previously)\b(?P<old>.+)$", re.I)
_REASON = LazyRegex(
    r"[,;]?\s+(?:because|since (?=we|the|it|they)|so that"
    r"|as (?=(?:we|it|they)\b|the \S+ (?:is|are|was|were|has|have|do|does|can)\b))[^,;]*$",
    re.I,
)
_FRONTED_CLAUSE = LazyRegex(
    r"^(?:(?:if|when|whenever|while|once|on|in|for|with) |(?=without ))(?P<condition>[^,]+?),? "
    r"(?P<main>(?:the|our|an?|we|you|it|they|i) (?=\S+ )[^,]*)$",
    re.I,
)
_PURPOSE = LazyRegex(r"^to (?P<condition>\w+ .+?),? (?P<main>(?:use|run|call|execute|type|invoke) .+)$", re.I)
_AUXILIARY_END = LazyRegex(
    r"(?:\b(?:is|are|was|were|has|have|had|been|being|be|got|will|should|must|to|just|also)\s*)+$", re.I
)
_CHANGE_IN_OTHER_LANGUAGES = (
    LazyRegex(
        r"^(?P<before>.*?)\b(?:migramos|cambiamos|movimos|pasamos|mudamos|trocamos) "
        r"(?P<object>.*?)(?:\bde (?P<old>\S+) )?"
        r"(?:a|para|por) (?P<new>\S+(?: \S+)?)$",
        re.I,
    ),
    LazyRegex(r"^(?P<before>.*?)\bvon (?P<old>\S+) (?:auf|zu|nach) (?P<new>\S+) (?:um|ge|migr)\w+$", re.I),
    LazyRegex(
        rf"^(?P<before>.+?) (?:ist|sind|wurden?) (?:auf|nach|zu|in) (?P<new>.+?) (?:{CHANGE_DE})$",
        re.I,
    ),
    LazyRegex(
        r"^(?P<before>.*?)\b(?:avons|a été|ont) (?:remplacé|migré|déplacé)e?s? (?P<old>.*?) "
        r"(?:par|vers|sur) (?P<new>.+)$",
        re.I,
    ),
    LazyRegex(
        rf"^(?P<before>.+?) (?:est|sont|a été|ont été) (?:{CHANGE_FR})e?s? "
        r"(?:à|aux?|en|vers|sur) (?P<new>.+)$",
        re.I,
    ),
    LazyRegex(
        rf"^(?P<before>.+?) (?:(?:se|foi|foram) )?(?:{CHANGE_ES_PT}) "
        r"(?:al?|para|aos?|em|en) (?:[oa]s? |el |l[ao]s? )?(?P<new>.+)$",
        re.I,
    ),
)
_REVOKED = LazyRegex(
    rf"^(?P<subject>[^,;]+?) (?:is|are|was|were|has been|have been|got) (?:{REVOKED})\b"
    r"(?! (?:after|before|every|when|if|unless|until|once|within|by|per)\b)"
    rf"|^(?:(?:we|i|they|the team) )?(?:have |has |just )?(?:{REVOKED}) (?P<object>[^,;]+)",
    re.I,
)
_LATER_CLAUSE = LazyRegex(
    r"\s*(?:[;–]|,)\s+(?=(?:it|they|we|you|i|the|nobody|no one|usually|open|so|and|but|which|there)\b"
    rf"|\S+ (?:is|are|was|were|has been|have been|got) (?:{REVOKED})\b)",
    re.I,
)
_FRONTED = LazyRegex(r"(?:if|when|whenever|while|once|on|in|for|with|as|at)\b", re.I)
_LABEL = LazyRegex(r"^(?P<label>[\w./-]+): (?P<rest>\S+ .+)$")
_PERSON = r"(?P<who>(?-i:[A-Z])[\w-]*(?: (?-i:[A-Z])[\w-]*)?|the \S+ team|@?\w+[-_@]\w+)"
_OWNER = tuple(
    LazyRegex(rf"^(?:the )?{pattern}(?: (?:since|as of|from) .+)?$", re.I)
    for pattern in (
        rf"owners? of (?P<thing>.+?) is (?:now )?{_PERSON}",
        rf"(?!\S+ of |product )(?P<thing>.+?) owner is (?:now )?{_PERSON}",
        rf"{_PERSON} is (?:now )?the owner of (?P<thing>.+?)",
    )
)
"""Statements about who owns something, which are read as "Ann owns billing"."""
_HAS_ATTRIBUTE = LazyRegex(
    r"^(?P<subject>.+?) (?:has|have) (?:an? )?(?P<attribute>[^\d,][^,]*?) of (?P<value>\S+(?: \S+)?)$", re.I
)
_CHOSEN = LazyRegex(
    r"^(?:use|set|keep|increase|raise|lower|reduce|decrease|change|bump) (?:the|an?|our) (?P<attribute>[^,]+?) "
    r"(?:of|to|at) (?P<value>\d\S*(?: \S+)?)$",
    re.I,
)
_HAS_COUNT = LazyRegex(
    r"^(?P<subject>.+?) (?:has|have|gets?|runs? with|hat|haben|tienen?|tem|têm) "
    r"(?P<count>\d+|two|three|four|five|six|seven|eight|nine|ten) "
    r"(?P<things>\w+)$",
    re.I,
)
_ADVERBS = frozenset(
    "now already currently still always usually also only just generally normally typically really jetzt nun "
    "maintenant désormais ahora agora".split()
)
_WHEN_CHANGED = LazyRegex(
    r"(?<! to)(?<! until)[ ,]+(?:(?:since |as of )?"
    r"(?:yesterday|(?:last|this) (?:week|month|quarter|year|sprint|\w+day))"
    r"|(?:since|as of) (?:today|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?: \d{4})?|\d{4}|\w+day))$",
    re.I,
)
_INSTEAD = LazyRegex(r"\b(?:instead|stattdessen)\b", re.I)
_ADJECTIVE_END = LazyRegex(r"[a-z]{3,}(?:ed|ing|[ai]ble|ful|less|ous|ive|al|ish|ant|ent|ile|[^l]y)")
_STATE = LazyRegex(r"[a-z]{3,}(?:ed|ing|[ai]ble|ful|less|ous)")
_NO_LONGER = LazyRegex(r"\bno (?:longer|more(?! than))\b", re.I)
_ALLOWED = LazyRegex(r"^(?:it is |you (?:can|may) |it's )?(?:fine|ok(?:ay)?|allowed|safe|all right) to ", re.I)
_NUMBER = LazyRegex(r"v?\d[\d.,:]*%?|\d+(?:st|nd|rd|th)|\d[\d.,:]*(?:am|pm|ms|s|min|h|[kmgt]i?b)", re.I)
_COPULAS = frozenset("is are was were be been ist sind beträgt lautet est sont es está están é são fica ficam".split())
_NEGATIONS = frozenset("not never no nicht kein keine ne pas nunca jamais não".split())
_AUXILIARIES = frozenset("do does did must should can could will would may might shall have has had to always".split())
_NAMING_VERBS = frozenset(("heißt", "heisst"))
_ROLE_VERBS = frozenset(("use", "require", "need", "prefer"))
_DETERMINERS = frozenset("a an the this that these those our my your their its each every all".split())
_DEFINITE = frozenset("the our my".split())
_PRONOUNS = frozenset("we i you they it everyone people".split())


class Statement(Struct, frozen=True, kw_only=True):
    """One parsed statement. All words are stems.

    Attributes:
        topic, topic_ids: what it is about: words, and numbers, versions, paths and names with digits.
        predicate: verb group and kind of preposition; "*" for a verb of change, "" if none was found.
        kind: how many values the predicate has at a time: single, multiple, additive, role, definite ("is the …") or
            class ("is a …").
        value, head: words of what it says about its topic, and the last of them.
        numbers: quantities in the value.
        former: words of a value that it calls outdated ("not 8080", "from npm to pnpm").
        subject, qualifiers: the two parts of the topic: "the API" and "in staging".
        is_change: it says that something has changed.
        is_named: the value is a name, path or number.
        is_state: the value says how something is: "the main branch is protected".
        is_revoked: it says that its topic no longer exists.
        has_attribute: its subject is an attribute with one value at a time, such as "port", or a kind of tool whose
            name is the value.
        is_instead: it says that its value takes the place of another one: "instead".
    """

    topic: frozenset[str] = frozenset()
    topic_ids: frozenset[str] = frozenset()
    predicate: str = ""
    kind: str = "multiple"
    value: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    qualifiers: frozenset[str] = frozenset()
    head: str = ""
    preposition: str = ""
    is_negated: bool = False
    is_change: bool = False
    is_named: bool = False
    is_state: bool = False
    is_revoked: bool = False
    has_attribute: bool = False
    is_instead: bool = False

    @property
    def words(self) -> frozenset[str]:
        """All words of topic and value."""
        return self.topic | self.topic_ids | self.value


def announces_change(text: str) -> bool:
    """Whether a text says that something is no longer as it was: "now", "no longer", "moved to", "actually"."""
    return _CHANGE.search(text) is not None


def normalize_statement(text: str) -> str:
    """Return a statement without contractions, introduction and ending."""
    return _strip_edges(_normalize(text))


@lru_cache(maxsize=4_096)
def parse_statement(text: str) -> Statement:
    """Parse one statement into topic, predicate and value."""
    plain = _normalize(text)
    is_change = announces_change(plain)
    plain = _strip_edges(_WHEN_CHANGED.sub("", plain) if is_change else plain)
    revoked = _REVOKED.match(plain)
    if revoked:
        gone = tokenize_statement(_LATER_CLAUSE.split(revoked["subject"] or revoked["object"] or "")[0])
        return Statement(
            topic=extract_stems(gone) - extract_ids(gone),
            topic_ids=extract_ids(gone),
            is_negated=True,
            is_change=True,
            is_revoked=True,
        )
    changed = _parse_change(plain)
    if changed is not None:
        return changed
    former = frozenset[str]()
    for pattern in (_COMMA_NOT, _INSTEAD_OF, _USED_TO):
        found = pattern.search(plain)
        if found and found.start():
            former |= extract_stems(tokenize_statement(found["old"]))
            plain = plain[: found.start()]
    turned = _NOT_ANY_MORE.match(plain) or _NOT_ANY_MORE_IN_OTHER_LANGUAGES.match(plain)
    if turned and turned["new"]:
        former |= extract_stems(tokenize_statement(turned["old"]))
        plain = f"{turned['before'] or ''} {turned['new']}"
    label = _LABEL.match(plain)
    plain = label["rest"] if label else plain
    if not _FRONTED.match(plain):
        plain, *clauses = _LATER_CLAUSE.split(plain)
        for clause in clauses:
            if gone := _REVOKED.match(_strip_edges(clause)):  # "the queue is NATS, RabbitMQ is gone"
                former |= extract_stems(tokenize_statement(gone["subject"] or gone["object"] or ""))
    if owner := next((found for one in _OWNER if (found := one.match(plain))), None):
        plain = f"{owner['who']} owns {owner['thing']}"
    chosen = _CHOSEN.match(plain)
    counted, attribute = _HAS_COUNT.match(plain), _HAS_ATTRIBUTE.match(plain)
    if counted:
        plain = f"there are {counted['count']} {counted['things']} of {counted['subject']}"
    elif chosen:
        plain = f"the {chosen['attribute']} is {chosen['value']}"
    elif attribute:
        plain = f"the {attribute['attribute']} of {attribute['subject']} is {attribute['value']}"
    if label:
        plain = f"for {label['label']}, {plain}"
    statement = _parse_plain(_strip_edges(plain))
    is_instead = _INSTEAD.search(text) is not None
    return structs.replace(statement, former=former, is_change=is_change or bool(former), is_instead=is_instead)


def _normalize(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).replace("’", "'").replace("`", "").replace('"', "")
    plain = " ".join(plain[:_MAX_CHARS].split()).rstrip(".!; ")
    for pattern, replacement in _CONTRACTIONS:
        plain = pattern.sub(replacement, plain)
    return plain


def _strip_edges(text: str) -> str:
    text = _NO_LONGER.sub("not", _REASON.sub("", _LEAD.sub("", text))).strip()
    while True:
        shorter = _TAIL.sub("", text).strip(" ,;.")
        if shorter == text:
            return text
        text = shorter


def _parse_change(text: str) -> Statement | None:
    """Parse a statement with a verb of change, such as "moved the API to port 9090" or "a was replaced by b"."""
    found = _REPLACED.match(text)
    if found:
        old, new, subject = (_get_group(found, part) for part in ("old", "new", "before5"))
        old, _, role = old.partition(" as ")  # "Ann replaced Bob as team lead"
        return _build_change(f"{subject} {role}", old, new)
    found = _FROM_TO.match(text)
    if found:
        return _build_change(f"{found['before']} {found['object']}", found["old"], found["new"])
    for pattern in _CHANGE_IN_OTHER_LANGUAGES:
        found = pattern.match(text)
        if found:
            before, moved, old, new = (_get_group(found, part) for part in ("before", "object", "old", "new"))
            return _build_change(f"{before} {moved}", old, new)
    found = _TO.match(text)
    if found:
        before = _AUXILIARY_END.sub("", found["before"])
        if _find_predicate(tokenize_statement(before))[0] in (None, 0):
            return _build_change(f"{before} {found['object']}", "", found["new"])
    return None


def _get_group(found: re.Match[str], name: str) -> str:
    """Return the group with this name or one that begins with it, such as "old2"; "" if none matched."""
    return next((text for group, text in found.groupdict().items() if group.startswith(name) and text), "")


def _build_change(subject: str, old: str, new: str) -> Statement:
    value, quantities, qualifiers = _split_value(tokenize_statement(new))
    value += quantities
    topic = [*tokenize_statement(subject), *qualifiers]
    return Statement(
        topic=extract_stems(topic) - extract_ids(topic) - frozenset(map(stem_word, ("has", "have", "been"))),
        topic_ids=extract_ids(topic),
        predicate="*",
        kind="single",
        value=extract_stems(value),
        numbers=_extract_numbers(value),
        former=extract_stems(tokenize_statement(old)),
        subject=extract_stems(tokenize_statement(subject)),
        qualifiers=extract_stems(qualifiers),
        is_change=True,
        is_named=True,
    )


def _parse_plain(text: str) -> Statement:
    negated = False
    allowed = _ALLOWED.match(text)
    if allowed:
        text = text[allowed.end() :]
    text = " ".join(word for word in text.split() if word.casefold() not in _ADVERBS)
    fronted: list[str] = []
    clause = _FRONTED_CLAUSE.match(text) or _PURPOSE.match(text)
    if clause:
        fronted, text = tokenize_statement(clause["condition"]), clause["main"]
    tokens = tokenize_statement(text)
    if tokens and is_preposition(tokens[0]) and "," in tokens:
        end = tokens.index(",")
        fronted, tokens = [*fronted, *tokens[1:end]], tokens[end + 1 :]
    while tokens and tokens[0].casefold() in _NEGATIONS | {"do", "always", "please"}:
        negated |= tokens[0].casefold() in _NEGATIONS
        tokens = tokens[1:]
    if final := _find_final_verb(tokens):
        tokens, start = final
        place, verb, after, negates = start, tokens[start].casefold(), start + 1, False
    else:
        place, verb, after, negates = _find_predicate(tokens)
    negated |= negates
    if place is None:
        return _build_without_predicate([*tokens, *fronted], negated)
    subject, rest = tokens[:place], tokens[after:]
    if subject and subject[0].casefold() == "there" and verb == "be":
        return _build_existential(rest, fronted, negated)
    rest = [token for token in rest if token.casefold() not in ("only", "always", "usually", "still", "also")]
    while rest and rest[0].casefold() in _NEGATIONS:
        negated, rest = True, rest[1:]
    particle = ""
    if len(rest) > 2 and rest[0].casefold() in PARTICLES and is_preposition(rest[1]) and not is_preposition(rest[0]):
        # "goes out at 7am" says something else than "goes out to all customers".
        particle, rest = f" {rest[0].casefold()} {rest[1].casefold()}", rest[1:]
    preposition = ""
    if len(rest) > 1 and is_preposition(rest[0]) and rest[0].casefold() not in ("for", "when", "if"):
        preposition, rest = rest[0].casefold(), rest[1:]
    value, quantities, qualifiers = _split_value(rest)
    is_day = False
    if quantities and value and not any(map(is_number, value)):
        is_day = "until" not in rest and all(normalize_word(token) in DAYS for token in quantities)
        value, qualifiers, preposition = quantities, [*value, *qualifiers], preposition or "at"
    elif verb in OBJECT_VERBS and not preposition and value and qualifiers and not is_number(value[0]):
        named = next((token.casefold() for token in rest if is_preposition(token)), "")
        value, qualifiers, preposition = [*qualifiers, *quantities], value, named if named in AGENTIVE else "at"
    else:
        value = [*value, *quantities]
    statement = _build_from_parts(subject, verb, preposition, value, [*qualifiers, *fronted], negated)
    # "Closed on Sundays" and "closed on Mondays" may both be true.
    kind = "additive" if is_day else statement.kind
    return structs.replace(statement, predicate=statement.predicate + particle, preposition=preposition, kind=kind)


def _find_final_verb(tokens: list[str]) -> tuple[list[str], int] | None:
    """Return the words of a German subordinate clause in the order of a main clause, and the index of its verb.

    The value is a name, a number with its unit, or begins with a preposition. None for any other clause.
    """
    if len(tokens) < 3 or tokens[-1].casefold() not in FINAL_VERBS:
        return None
    *rest, verb = tokens
    places = [place for place, token in enumerate(rest) if place and (is_preposition(token) or is_number(token))]
    place = len(rest) - 1 if verb.casefold() in _NAMING_VERBS or not places else places[0]
    return [*rest[:place], verb, *rest[place:]], place


def _build_from_parts(
    subject: list[str], verb: str, preposition: str, value: list[str], qualifiers: list[str], negated: bool
) -> Statement:
    """Build a statement from its parts, also if its subject is the value ("Node 20 is the minimum")."""
    passive = verb.removeprefix("passive ")
    is_passive, verb = passive != verb, passive
    if is_passive and verb in _ROLE_VERBS and (not value or preposition in ("to", "with", "in", "on")):
        qualifiers = [*value, *qualifiers]
        if not qualifiers and not any(map(is_number, subject)):
            return _build_statement(subject, subject, [verb], [], "be", "single", negated)
        kind = "role" if verb in ("use", "prefer") and qualifiers else "versioned role"
        return _build_statement([*qualifiers, verb], [verb], subject, qualifiers, f"{verb} role", kind, negated)
    if verb == "be" and not preposition and _is_role(value):
        return _build_statement([*value, *qualifiers], value, subject, qualifiers, "role", "role", negated)
    article = value[0].casefold().rstrip("_") if verb == "be" and value and not preposition else ""
    if article in _DEFINITE | {"a", "an"}:
        kind = "definite" if article in _DEFINITE else "class"
    elif verb == "be" or verb in SINGLE_VERBS or (is_passive and preposition):
        kind = "single"
    elif verb in ADDITIVE_VERBS:
        kind = "additive"
    elif (preposition in AGENTIVE and verb not in ("use", "depend", "rely")) or (
        preposition and (verb not in MULTIPLE_VERBS or preposition in ("every", "until", "at"))
    ):
        kind = "single"
    else:
        kind = "multiple"
    if (verb in OBJECTS_AT_ONCE and not (preposition or is_passive)) or verb.endswith(" me"):
        kind = "multiple"
    group = PREDICATE_GROUPS.get(verb, verb) if preposition or verb not in ("run", "set", "log", "parse") else verb
    if verb == "be" and preposition in LOCATIVE:
        group = "be at"
    elif preposition in AGENTIVE:
        group = f"{group} by"
    topic = [*subject, *qualifiers]
    if verb == "retry" or (not subject and not qualifiers and verb not in ("be", "use")):
        topic.append(verb)
    return _build_statement(topic, subject, value, qualifiers, group, kind, negated)


def _build_statement(
    topic: Sequence[str],
    subject: Sequence[str],
    value: Sequence[str],
    qualifiers: Sequence[str],
    predicate: str,
    kind: str,
    negated: bool,
) -> Statement:
    head = [stem_word(token.casefold()) for token in subject if token.casefold() not in STOP_WORDS]
    quantities = [token for token in topic if token.startswith("-") and len(token) > 1]  # flags are values, not names
    topic = [token for token in topic if token not in quantities]
    value = [*value, *quantities]
    return Statement(
        topic=extract_stems(topic) - extract_ids(topic),
        topic_ids=extract_ids(topic),
        predicate=predicate,
        kind=kind,
        value=extract_stems(value),
        head=normalize_word(value[-1]) if value else "",
        numbers=_extract_numbers(value),
        subject=extract_stems(subject),
        qualifiers=extract_stems(qualifiers),
        is_negated=negated,
        is_named=_is_named(value),
        is_state=len(value) == 1 and (value[0] in _STATES or _STATE.fullmatch(value[0]) is not None),
        has_attribute=_has_attribute(head, value, kind, predicate),
    )


def _has_attribute(head: Sequence[str], value: Sequence[str], kind: str, predicate: str) -> bool:
    """Whether the subject is an attribute, or a kind of tool and the value its name, not how or what it is.

    head: the stems of the subject.
    """
    if predicate != "be" or not head or head[-1] not in _TOOL_STEMS:
        return any(one in _ATTRIBUTE_STEMS for one in head)
    is_word = len(value) == 1 and value[0].isalpha() and value[0].islower()
    if kind == "class" or (is_word and _is_adjective(value[0])):
        return False
    is_named = is_word and kind == "single" and (len(head) > 1 or head[-1] not in _GENERIC_TOOL_STEMS)
    return is_named or any(one in _ATTRIBUTE_STEMS for one in head)


def _is_adjective(word: str) -> bool:
    is_like_adjective = word in ADJECTIVES or word in _OPPOSITE_WORDS or _ADJECTIVE_END.fullmatch(word)
    return bool(is_like_adjective) and not find_family(word)


def _build_existential(rest: list[str], fronted: list[str], negated: bool) -> Statement:
    """Build a statement such as "there are 5 workers in production": the number is the value, the rest the topic."""
    counts = [token for token in rest[:1] if is_number(token)]
    topic = [*rest[len(counts) :], *fronted]
    return _build_statement(topic, [], counts, [], "exist", "single" if counts else "multiple", negated)


def _build_without_predicate(tokens: list[str], negated: bool) -> Statement:
    """Build a statement without a known verb: numbers at the end of the text are its value."""
    if len(tokens) > 2 and tokens[-2] in ("in", "auf", "en", "em") and normalize_word(tokens[-1]) in LANGUAGES:
        return _build_from_parts(tokens[:-2], "be", "in", tokens[-1:], [], negated)  # "commit messages in German"
    end = len(tokens)
    while end and (is_number(tokens[end - 1]) or stem_word(tokens[end - 1].casefold()) in _UNITS):
        end -= 1
    value = tokens[end:] if any(map(is_number, tokens[end:])) else []
    topic = tokens[: len(tokens) - len(value)]
    return _build_statement(topic, topic, value, [], "", "single" if value else "multiple", negated)


def _find_predicate(tokens: Sequence[str]) -> tuple[int | None, str, int, bool]:
    """Return index of the predicate (None without one), its verb, the index after it, and whether it is negated."""
    folded = [token.casefold() for token in tokens]
    if len(folded) > 2 and folded[1] in ("me", "us") and folded[0] not in STOP_WORDS | PREPOSITIONS:
        if folded[0] == "call" and folded[2] not in PREPOSITIONS:
            return 0, "name", 2, False
        if find_base_verb(folded[0]) is None:
            return 0, f"{stem_word(folded[0])} me", 2, False
    for place, token in enumerate(folded):
        if token in (":", "=", "→", "->", "=>") and place:
            return place, "be", place + 1, False
        if token in _COPULAS and place:
            return _parse_copula(folded, place)
        if not place:
            continue
        verb = find_base_verb(token)
        if verb is None:
            continue
        before, following = folded[place - 1], folded[place + 1] if place + 1 < len(folded) else ""
        if before in PREPOSITIONS or before in _DETERMINERS or following in _COPULAS:
            continue  # a noun or an infinitive: "for tests", "to build", "the payments lead is …"
        if token == verb and not _allows_base_form(before):
            continue
        if token.endswith("s") and folded[place - 2] == "to" and place > 2 and find_base_verb(folded[0]) == folded[0]:
            continue  # the object of an infinitive: "use npm to install packages"
        is_past = before in _PRONOUNS or is_number(before)
        if token != verb and token.endswith("ed") and not is_past and token not in IRREGULAR:
            continue  # a participle after a noun belongs to the noun
        is_verb = place + 2 < len(folded) and following and find_base_verb(following) == following
        if token.endswith("s") and (
            is_verb or following in _NEGATIONS or (following in _AUXILIARIES and following != "to")
        ):
            continue  # a plural noun before its verb: "the logs go to …"
        start, negated = _find_auxiliaries(folded, place)
        return start, verb, place + 1, negated
    verb = find_base_verb(folded[0]) if folded else None
    if verb is not None and folded[0] == verb:
        return 0, verb, 1, False  # an imperative
    found = _find_unknown_verb(tokens)
    if found is not None:
        return found
    if verb is not None and not folded[0].endswith("ed"):
        return 0, verb, 1, False  # a statement without a subject
    return None, "", 0, False


def _find_auxiliaries(folded: Sequence[str], place: int) -> tuple[int, bool]:
    """Return the index of the first of the auxiliaries and negations before a verb, and whether they negate it."""
    start, negated = place, False
    while start and folded[start - 1] in _AUXILIARIES | _NEGATIONS:
        start -= 1
        negated |= folded[start] in _NEGATIONS
    return start, negated


def _find_unknown_verb(tokens: Sequence[str]) -> tuple[int, str, int, bool] | None:
    """Find a verb that is in no table by its position: after a pronoun, or an s-form before an object or at the end.

    An s-form before a particle is a verb, too: "times out", "shuts down".
    """
    folded = [token.casefold() for token in tokens]
    for place, token in enumerate(folded):
        is_name = tokens[place][0].isupper() or normalize_word(token) in LANGUAGES
        if not place or not token.isalpha() or is_name or token in STOP_WORDS or token in PREPOSITIONS:
            continue
        before, following = folded[place - 1], folded[place + 1] if place + 1 < len(folded) else ""
        is_finite = token.endswith("s") and not token.endswith(("ss", "us", "is")) and before not in STOP_WORDS
        is_finite = is_finite and not is_number(before)  # the unit in "30 s"
        has_particle = following in PARTICLES
        has_object = not following or has_particle or following in _DETERMINERS | PREPOSITIONS or is_id(following)
        after_pronoun = before in _PRONOUNS and place == 1
        if not ((is_finite and has_object and before not in PREPOSITIONS) or after_pronoun or before in _NEGATIONS):
            continue
        start, negated = _find_auxiliaries(folded, place)
        verb = f"{stem_word(token)} {following}" if has_particle else stem_word(token)
        return start, verb, place + 1 + has_particle, negated
    return None


def _parse_copula(folded: Sequence[str], place: int) -> tuple[int | None, str, int, bool]:
    start, negated = _find_auxiliaries(folded, place)
    skipped = place + 1
    while skipped < len(folded) and folded[skipped] in _NEGATIONS | {"now", "only", "always", "still", "also", "been"}:
        negated |= folded[skipped] in _NEGATIONS
        skipped += 1
    participle = folded[skipped] if skipped < len(folded) else ""
    verb = IRREGULAR.get(participle) or (find_base_verb(participle) if participle.endswith("ed") else None)
    if verb is None and participle.endswith("ed") and len(participle) > 4 and skipped + 1 < len(folded):
        verb = stem_word(participle) if folded[skipped + 1] in PREPOSITIONS else None
    if verb is not None and (verb in _ROLE_VERBS or participle not in _OPPOSITE_WORDS):
        return start, f"passive {verb}", skipped + 1, negated
    return start, "be", skipped, negated


def _allows_base_form(before: str) -> bool:
    return before in _PRONOUNS | _AUXILIARIES | _NEGATIONS or (
        before.endswith("s") and not before.endswith("ss") and before not in STOP_WORDS
    )


def _split_value(tokens: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Split tokens into the value up to the next preposition, later quantities ("after 30 days"), and qualifiers.

    "of" continues the value. "after the merge" next to a quantity says when it was measured, and is left out.
    """
    value: list[str] = []
    quantities: list[str] = []
    qualifiers: list[str] = []
    place = 0
    while place < len(tokens) and tokens[place] not in (",", ";"):
        if is_preposition(tokens[place]) and tokens[place] != "of" and place < len(tokens) - 1:
            break
        value.append(tokens[place])
        place += 1
    while place < len(tokens):
        end = place + 1
        while end < len(tokens) and not is_preposition(tokens[end]):
            end += 1
        begin = place + (tokens[place].casefold() != "without")
        phrase = [token for token in tokens[begin:end] if token not in (",", ";")]
        known = [token for token in phrase if token.casefold() not in STOP_WORDS]
        is_end = tokens[place].casefold() == "until" and not set(map(str.casefold, phrase)).isdisjoint(DAYS)
        is_day = tokens[place].casefold() in ("on", "every") and all(normalize_word(token) in DAYS for token in known)
        if known and (is_end or is_day or is_number(known[0]) or known[0].startswith("-")):
            quantities.extend(phrase)
        elif tokens[place].casefold() == "to" and known and find_base_verb(known[0]) == known[0]:
            pass  # "to save storage" says why
        elif tokens[place].casefold() != "after" or not any(map(is_number, [*value, *quantities])):
            qualifiers.extend(phrase)
        place = end
    return value, quantities, qualifiers


def _is_role(value: Sequence[str]) -> bool:
    folded = [token.casefold().rstrip("_") for token in value]
    return (
        len(folded) > 1
        and folded[0] not in ("a", "an")
        and (folded[-1] in POSITIONS or (folded[0] in _DEFINITE and not EXCLUSIVE_ROLES.isdisjoint(folded)))
    )


def tokenize_statement(text: str) -> list[str]:
    """Return the words, numbers and separators of a statement; number words as digits."""
    matches: list[str] = _TOKEN.findall(text)
    found = [token.rstrip(".'") if len(token) > 1 else token for token in matches]
    for place, token in enumerate(found):
        following = found[place + 1].casefold() if place + 1 < len(found) else ""
        is_name = token == "a" and (not following or following in _COPULAS or find_base_verb(following))
        if place and (is_name or (len(token) == 1 and token.isupper() and token != "I")):
            # A name, as in "field a is required" or "topic B": the underscore keeps it from being a stop word.
            found[place] = f"{token}_"
    return [NUMBER_WORDS.get(token.casefold(), token) for token in found if token]


def is_preposition(token: str) -> bool:
    """Whether a token is a preposition, and not a name in capitals such as "ON"."""
    return token.casefold() in PREPOSITIONS and not (token.isupper() and len(token) > 1)


def is_number(token: str) -> bool:
    """Whether a token is a number, with or without a unit: "8080", "5th", "30s"."""
    return _NUMBER.fullmatch(token) is not None


def is_id(token: str) -> bool:
    """Whether a token names one thing: it has a digit, a slash, an underscore or a dot inside."""
    if any(char.isdigit() for char in token):
        return True
    return "/" in token or "\\" in token or "_" in token or ("." in token.strip(".") and len(token) > 2)


def _is_named(value: Sequence[str]) -> bool:
    kept = [token for token in value if token.casefold() not in STOP_WORDS]
    return bool(kept) and any(is_id(token) or any(char.isupper() for char in token) for token in kept)


# In this spelling they are names, not words that say nothing.
_NAMES_LIKE_STOP_WORDS = frozenset("US IT May".split())


def extract_stems(tokens: Iterable[str]) -> frozenset[str]:
    """Return the stems of the tokens that tell something: no separators, stop words and prepositions."""
    return frozenset(
        normalize_word(token)
        for token in tokens
        if token not in (",", ";", ":", "=", "→", "->", "=>")
        and (token.casefold() not in STOP_WORDS or token in _NAMES_LIKE_STOP_WORDS)
        and not (is_preposition(token) and token.casefold() not in ("on", "off", "under", "without"))
    )


def extract_ids(tokens: Iterable[str]) -> frozenset[str]:
    """Return the tokens that name one thing, see `is_id`."""
    return frozenset(normalize_word(token) for token in tokens if is_id(token))


def _extract_numbers(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(normalize_word(token) for token in tokens if any(char.isdigit() for char in token))


def normalize_word(token: str) -> str:
    """Return the stem of a word, or of the word that it is a synonym of; ids stay as they are."""
    folded = token.casefold()
    if is_id(folded):
        return folded
    folded = SYNONYMS.get(folded, folded)
    return SYNONYMS.get(stem_word(folded), stem_word(folded))


_ATTRIBUTE_STEMS = frozenset(map(stem_word, ATTRIBUTES))
_TOOL_STEMS = frozenset(map(stem_word, TOOL_NOUNS))
_GENERIC_TOOL_STEMS = frozenset(map(stem_word, GENERIC_TOOLS))
_OPPOSITE_WORDS = frozenset(word for pair in OPPOSITES for word in pair)
_STATES = _OPPOSITE_WORDS - {"green", "red"}
_UNITS = frozenset(
    map(
        stem_word,
        "second seconds s minute minutes min hour hours h day days week weeks month months ms kb mb gb %".split(),
    )
)


_NAMES_ACTOR = re.compile(
    r"\b(?:by(?! the way)|von|durch|par|por|what|who|wer|c['’]est|celle|celui|quien(?:es)?|quem)\b|由|によって", re.I
)
"""Words by which a sentence tells who does what is known: "it's Maëlle who runs the server now"."""
_OTHER_SUBJECT = re.compile(r"\b(?:instead|no longer|took over|takes over)\b", re.I)
_IS_THE = re.compile(r"\b(?:is|are) (?:the|our|my)\b", re.I)


def has_one_subject(mine: Words, theirs: Words) -> bool:
    """Whether what a statement says is true of one subject at a time, or a sentence says that its subject was wrong.

    "Tom owns billing" is true of one person, and so is "Tom runs the audits" if somebody else runs them now. "Berlin
    has a gateway" stays true beside "Paris has a gateway now".
    """
    if theirs.is_corrected or _OTHER_SUBJECT.search(theirs.text):
        return True
    both = mine, theirs
    if any(one.has_noun or "owner" in one.relations or _NAMES_ACTOR.search(one.text) for one in both):
        return True
    if not {stem_word(word.text.casefold()) for word in mine.words}.isdisjoint(EXCLUSIVE_OWNERS):
        return True
    is_task = mine.words[0].form == "proper" and SHARED_STATES.isdisjoint(re.findall(r"\w+", mine.text.casefold()))
    return (is_task and announces_change(theirs.text)) or _IS_THE.search(mine.text) is not None
