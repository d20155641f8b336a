"""Determine the situation of a message by rule: intent, sentiment, time of day and topic."""

import random
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from operator import mul
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct, structs

from clio.errors import UserError
from clio.memory.preferences.rule_files import RuleSection
from clio.memory.preferences.sentences import Said, own_sentences
from clio.memory.preferences.task_types import trace
from clio.memory.styles.style_state import StyleSkill, StyleState, parse_skill
from clio.memory.vectors.embedders import Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.prompt_files import load_prompt, prompt_names
from clio.storage.files import open_regular
from clio.text.bandit import (
    INTENT_WEIGHT,
    MAX_CANDIDATES,
    MIN_CONFIDENCE,
    MIN_TRIGGER_SCORE,
    SENTIMENT_WEIGHT,
    TIME_WEIGHT,
    TOPIC_WEIGHT,
    compute_exploration_rate,
    compute_hybrid_score,
    compute_trigger_score,
    is_applicable,
    is_trigger_match,
    select_candidates,
)
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import STOP_WORDS, has_phrase, stem_word, tokenize

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


MAX_FILES = 100
MAX_BYTES = 16_384


class SkillSet(Struct, frozen=True, kw_only=True):
    """Styles by id, built-in ones first. Of one id the user's own counts, else the built-in one, else the project's.

    problems: one sentence for each file that holds no style.
    """

    skills: tuple[StyleSkill, ...]
    problems: tuple[str, ...] = ()

    def get(self, id: str) -> StyleSkill | None:
        """The style of that id."""
        return next((skill for skill in self.skills if skill.id == id), None)


class SkillFolders:
    """Reads the user's styles and the project's; read again only where a file changed.

    A repository can bring the project's: one that takes the id or the name of another style is left out.
    """

    def __init__(self, own: Path, project: Path) -> None:
        self._own, self._project = own, project
        self._stamp: tuple[tuple[str, int, int], ...] | None = None
        self._found = SkillSet(skills=())

    def read(self) -> SkillSet:
        """All styles."""
        files = [*_files(self._own), *(() if self._project == self._own else _files(self._project))]
        stamp = tuple((str(path), size, changed) for path, size, changed in files)
        if stamp != self._stamp:
            self._found = _read((path for path, _, _ in files), self._own)
            self._stamp = stamp
        return self._found


@cache
def built_in() -> tuple[StyleSkill, ...]:
    """Return the built-in styles."""
    names = prompt_names("styles")
    return tuple(parse_skill(load_prompt(name), f"prompts/{name}.md", built_in=True) for name in names)


def _files(folder: Path) -> Iterable[tuple[Path, int, int]]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md")[:MAX_FILES]
    except OSError:
        return  # no such folder, or none that may be read: it has no styles
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        yield path, status.st_size, status.st_mtime_ns


def _read(paths: Iterable[Path], own: Path) -> SkillSet:
    found = {skill.id: skill for skill in built_in()}
    problems: list[str] = []
    for path in paths:
        try:
            with open_regular(path) as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise UserError(f"{str(path)!r}: a style has up to {MAX_BYTES:,} bytes; shorten it")
            skill = parse_skill(data.decode("utf-8", "replace"), str(path))
            if path.parent != own and (taken := _find_same(found.values(), skill)) is not None:
                raise UserError(
                    f"{str(path)!r}: the project's style {skill.id!r} is left out, since there is a style {taken.id!r} "
                    "already; give it another id and name, or copy it to ~/.clio/styles"
                )
            found[skill.id] = skill
        except (UserError, OSError) as error:
            problems.append(str(error))
    return SkillSet(skills=tuple(found.values()), problems=tuple(problems))


def _find_same(known: Iterable[StyleSkill], skill: StyleSkill) -> StyleSkill | None:
    """The style that has the id or the name of another, since styles are found by either."""
    taken = {skill.id.casefold(), skill.name.casefold()}
    return next((one for one in known if taken & {one.id.casefold(), one.name.casefold()}), None)


MAX_WORDS = 300
_MOST_KEPT = 2_000
_kept: dict[tuple[str, str], Row] = {}
_failed: set[tuple[str, str]] = set()


def topic_similarity(topics: Sequence[str], text: str, embedder: Embedder | None) -> float | None:
    """The best over all topics, 0.0 to 1.0; None where there are no topics or no words.

    A topic whose words stand in the text, stemmed and next to each other, is 1.0. Else it is the share of its words
    that are there, or, where an embedder of meaning is configured, the cosine, whichever is more. The default embedder
    compares words, as is done here already; one that fails is done without.
    """
    said = [stem_word(word) for word in tokenize(text)[:MAX_WORDS]]
    named = [topic for topic in topics if _stems(topic)]
    if not named or not said:
        return None
    heard = frozenset(said)
    best = max(_share(_stems(topic), said, heard) for topic in named)
    if best < 1.0 and embedder is not None and not isinstance(embedder, HashedEmbedder):
        best = max(best, _cosine(named, text, embedder))
    return min(best, 1.0)


@lru_cache(maxsize=_MOST_KEPT)
def _stems(topic: str) -> tuple[str, ...]:
    """Topics are the same at every turn: each is read once."""
    return tuple(stem_word(word) for word in tokenize(topic))


def _share(topic: Sequence[str], said: Sequence[str], heard: frozenset[str]) -> float:
    """The share of a topic's words that are said; words such as "the" count only where the whole topic is there."""
    if heard.issuperset(topic) and has_phrase(said, topic):
        return 1.0
    return sum(word in heard for word in topic if word not in STOP_WORDS) / len(topic)


def _cosine(topics: Sequence[str], text: str, embedder: Embedder) -> float:
    if (embedder.name, text) in _failed:
        return 0.0
    try:
        asked, *rows = _rows([text, *topics], embedder)
    except EmbeddingFailed:
        # Every style asks about the same text: none but the first one waits for a server that does not answer.
        _failed.clear()
        _failed.add((embedder.name, text))
        return 0.0
    return max(sum(map(mul, asked, row)) for row in rows)


def _rows(texts: Sequence[str], embedder: Embedder) -> list[Row]:
    """The vectors of texts, kept while clio runs: topics are the same at every turn, a turn's text for every style."""
    keys = [(embedder.name, text) for text in texts]
    missing = list(dict.fromkeys(key for key in keys if key not in _kept))
    if missing:
        if len(_kept) + len(missing) > _MOST_KEPT:
            _kept.clear()
            missing = list(dict.fromkeys(keys))
        _kept.update(zip(missing, embedder.embed([text for _, text in missing]), strict=True))
    return [_kept[key] for key in keys]


TopicSimilarity = Callable[[Sequence[str]], float | None]
"""Similarity of a style's topics to the text of the turn, 0.0 to 1.0; None without topics or text."""


class ArmAccount(Struct, frozen=True, kw_only=True):
    """One style as it was weighed. intent, time, sentiment, topic: the parts `trigger` is the sum of.

    ups, downs: what counts for it in this context, fractions included. sample: the draw from Beta(1 + ups, 1 + downs);
    aligned: how near it is to what the person likes here; score: 0.4 trigger + 0.3 sample + 0.3 aligned.
    left_out: why it could not be chosen; empty where it could, and only then it has a sample and a score.
    """

    id: str
    intent: float
    time: float
    sentiment: float
    topic: float
    trigger: float
    confidence: float
    ups: float
    downs: float
    aligned: float
    sample: float = 0.0
    score: float = 0.0
    left_out: str = ""


class Choice(Struct, frozen=True, kw_only=True):
    """The account of one choice, the best arm first. chosen: its style's id, None where none fits.

    epsilon: how likely any of the arms was to be taken whatever it scored; explored: whether that happened.
    ratings: how many answers with this intent were rated. pinned: the person named the style.
    """

    situation: Situation
    arms: tuple[ArmAccount, ...] = ()
    chosen: str | None = None
    epsilon: float = 0.0
    explored: bool = False
    pinned: bool = False
    ratings: float = 0.0
    at: float = 0.0


def choose_style(
    situation: Situation,
    skills: Iterable[StyleSkill],
    state: StyleState,
    rng: random.Random,
    now: float,
    topic: TopicSimilarity,
) -> Choice:
    """Return the choice for a turn. Scores the five styles with the best trigger; ties go to the better rewards."""
    arms = [_weighed(skill, situation, state, now, topic) for skill in skills]
    rng.shuffle(arms)  # of those nobody has rated, each is among the five equally often
    arms.sort(key=lambda arm: -_mean(arm))
    applicable = [(arm, arm.trigger, 1.0) for arm in arms]
    five = select_candidates(applicable)
    fit = {arm.id for arm in five if arm.confidence >= MIN_CONFIDENCE}
    accounts: list[ArmAccount] = []
    ratings = state.ratings(situation.bucket)
    epsilon = compute_exploration_rate(int(ratings))
    explored = rng.random() < epsilon
    for arm in sorted(arms, key=lambda arm: arm.id):  # so that the same seed draws the same for the same styles
        if arm.id not in fit:
            accounts.append(structs.replace(arm, left_out=_why_not(arm, five)))
            continue
        sample = rng.betavariate(1.0 + arm.ups, 1.0 + arm.downs)
        score = compute_hybrid_score(arm.trigger, sample, arm.aligned)
        accounts.append(structs.replace(arm, sample=sample, score=score))
    weighed = [arm for arm in accounts if not arm.left_out]
    chosen: str | None = None
    if weighed:
        chosen = rng.choice(weighed).id if explored else max(weighed, key=lambda arm: arm.score).id
    return Choice(
        situation=situation,
        arms=tuple(sorted(accounts, key=lambda arm: (bool(arm.left_out), -arm.score, -arm.trigger, arm.id))),
        chosen=chosen,
        epsilon=epsilon,
        explored=explored and chosen is not None,
        ratings=ratings,
        at=now,
    )


def _weighed(
    skill: StyleSkill, situation: Situation, state: StyleState, now: float, topic: TopicSimilarity
) -> ArmAccount:
    when = skill.trigger
    fits = {
        "intent": is_trigger_match(when.intents, situation.intent),
        "time": is_trigger_match(when.times, situation.time_of_day),
        "sentiment": is_trigger_match(when.sentiments, situation.sentiment),
    }
    similarity = topic(when.topics) if when.topics else None
    earned = state.earned(situation.bucket, skill.id, now)
    return ArmAccount(
        id=skill.id,
        intent=INTENT_WEIGHT * fits["intent"],
        time=TIME_WEIGHT * fits["time"],
        sentiment=SENTIMENT_WEIGHT * fits["sentiment"],
        topic=TOPIC_WEIGHT * (similarity or 0.0),
        trigger=compute_trigger_score(**fits, topic_similarity=similarity),
        confidence=earned.confidence,
        ups=earned.ups,
        downs=earned.downs,
        aligned=state.aligned(situation.bucket, skill.dimensions),
    )


def _mean(arm: ArmAccount) -> float:
    return (1.0 + arm.ups) / (2.0 + arm.ups + arm.downs)


def _why_not(arm: ArmAccount, five: Sequence[ArmAccount]) -> str:
    if not is_applicable(arm.trigger):
        return f"does not fit: {arm.trigger:.2f} of the {MIN_TRIGGER_SCORE:.2f} it needs"
    if arm not in five:
        return f"not among the {MAX_CANDIDATES} that fit best"
    return f"too little confidence: {arm.confidence:.2f} of the {MIN_CONFIDENCE:.2f} it needs"
