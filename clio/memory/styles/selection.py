"""Choose the response style of a turn: determine the situation of the message by rules, then score the styles for it.

The situation consists of intent, sentiment, time of day and topic. Styles whose trigger matches it compete by Thompson
sampling; with a probability that falls with the number of ratings, any of them is tried out.
"""

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
from clio.memory.preferences.own_sentences import WrittenSentence, read_own_sentences
from clio.memory.preferences.rule_files import RuleSection
from clio.memory.preferences.task_types import trace
from clio.memory.styles.style_state import StyleSkill, StyleState, parse_skill
from clio.prompt_files import list_prompt_names, load_prompt
from clio.storage.files import open_regular
from clio.text.bandit import (
    INTENT_WEIGHT,
    MAX_CANDIDATES,
    MIN_CONFIDENCE,
    MIN_TRIGGER_SCORE,
    SENTIMENT_WEIGHT,
    TIME_WEIGHT,
    TOPIC_WEIGHT,
    Posterior,
    compute_alignment,
    compute_exploration_rate,
    compute_hybrid_score,
    compute_trigger_score,
    is_applicable,
    is_trigger_match,
    select_candidates,
)
from clio.text.embedding import Embedder, EmbeddingFailed, HashedEmbedder, Row
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr
from clio.text.vocabulary import STOP_WORDS, has_phrase, stem_word, tokenize

_MAX_SMALL_TALK_WORDS = 9
# In the languages users mix. Small talk consists of its own words and those that may accompany them.
_RULES = msgspec.json.decode(Path(__file__).with_name("situations.json").read_bytes(), type=RuleSection)
_CORE_WORDS = _RULES.word_set("small_talk")
_SMALL_TALK_WORDS = _CORE_WORDS | _RULES.word_set("beside_small_talk")
_POLITE = _RULES.word_set("polite")


def is_small_talk(words: Sequence[str]) -> bool:
    """Whether a message consists only of a greeting, thanks or a short answer."""
    if not 0 < len(words) <= _MAX_SMALL_TALK_WORDS:
        return False
    return _SMALL_TALK_WORDS.issuperset(words) and not _CORE_WORDS.isdisjoint(words)


def is_polite(words: Sequence[str]) -> bool:
    """Whether a message is short and contains a greeting, thanks or an apology."""
    return len(words) <= _MAX_SMALL_TALK_WORDS and not _POLITE.isdisjoint(words)


Sentiment: TypeAlias = Literal["frustrated", "neutral", "pleased"]
SENTIMENTS: tuple[Sentiment, ...] = get_args(Sentiment)

_FRUSTRATED, _PLEASED = _RULES.pattern("frustrated"), _RULES.pattern("pleased")
_SHOUTING = LazyRegex(r"\b[A-Z]{2,}(?:'[A-Z]+)?(?:[ ,]+[A-Z]{1,}(?:'[A-Z]+)?\b){2,}")
# Capitals are frustration only with one of these words, and never in an SQL statement.
_SHOUTED_WORDS, _SQL_WORDS = _RULES.word_set("shouted"), _RULES.word_set("sql")
_MARKS = LazyRegex(r"!{2,}|\?!|!\?|\?{3,}")


def infer_sentiment(sentences: Sequence[WrittenSentence]) -> Sentiment:
    """Return the user's sentiment. Signs of frustration count before signs of pleasure; "neutral" without either."""
    if any(_FRUSTRATED.search(sentence.masked) or _is_shouted(sentence.masked) for sentence in sentences):
        return "frustrated"
    if any(_PLEASED.search(sentence.masked) for sentence in sentences):
        return "pleased"
    return "frustrated" if any(_MARKS.search(sentence.mark) for sentence in sentences) else "neutral"


def _is_shouted(masked: str) -> bool:
    """Whether a text contains three words in capitals in a row, one of them common, that are no SQL statement."""
    for run in _SHOUTING.finditer(masked):
        words = set(re.findall(r"[A-Z']+", run[0]))
        if words & _SHOUTED_WORDS and not words & _SQL_WORDS:
            return True
    return False


Intent: TypeAlias = Literal["question", "explain", "fix", "build", "review", "plan", "write", "run", "chat"]
Cue: TypeAlias = tuple[float, re.Pattern[str], bool]
"""A weight, a pattern, and whether a clause must begin with it."""
INTENTS: tuple[Intent, ...] = get_args(Intent)
# Of two intents with equal points, the first one, which means more work.
_INTENT_ORDER: tuple[Intent, ...] = ("fix", "write", "review", "plan", "build", "run", "explain", "question")

_OPENING = _RULES.pattern("opening")
"""Words before the first significant word of a clause."""
_TAG = LazyRegex(
    r"[,.;]\s*(?:does (?:that|this) make sense|make sense|no|yes|yeah|yep|right|ok(?:ay)?|correct)$"
    r"|^does (?:that|this) make sense$"
)
_CLAUSE = LazyRegex(
    r"[,;]\s+(?=(?:just|please|so|then|now|and then|and please|and now)\b|\w+ (?:it|this|that|them)\b)|\s[-–—]\s"
)
# Points for "fix" if the message contains a pasted traceback or a complaint, for "question" if it asks something.
_TRACE_POINTS, _COMPLAINT_POINTS, _QUESTION_POINTS = 3.0, 1.5, 1.0
_MIN_CLEAR_POINTS = 3.0
"""Points from which an intent counts even in a polite phrase such as "thanks, …"."""
_MAX_WORDS_WITHOUT_INTENT = 2
_MAX_PASTED_LINES = 20
_MAX_CLAUSES, _MAX_CLAUSE_CHARS = 40, 400


def infer_intent(sentences: Sequence[tuple[str, bool]], raw: str, *, frustrated: bool = False) -> Intent:
    """Return the intent of a message.

    Args:
        sentences: sentences that the user wrote, each with whether it is a question.
        raw: the whole message including pasted text; its first lines are used if there are no sentences.
        frustrated: the user complains, which makes the intent "fix" more likely.
    """
    sentences = sentences or [(line, False) for line in raw.splitlines()[:_MAX_PASTED_LINES]]
    words = tokenize("\n".join(text for text, _ in sentences))
    if is_small_talk(words):
        return "chat"
    clauses = [clause for text, is_question in sentences for clause in _split_clauses(text, is_question)]
    if len(clauses) > _MAX_CLAUSES:
        clauses = clauses[: _MAX_CLAUSES // 2] + clauses[-_MAX_CLAUSES // 2 :]
    points = {intent: _count_points(cues, clauses) for intent, cues in _compile_cues().items()}
    if trace().search("\n".join(line for line in raw.splitlines() if line.strip())):
        points["fix"] += _TRACE_POINTS
    if frustrated:
        points["fix"] += _COMPLAINT_POINTS
    if any(is_question for _, is_question in sentences):
        points["question"] += _QUESTION_POINTS
    best = max(_INTENT_ORDER, key=lambda intent: points[intent])
    if points[best] < _MIN_CLEAR_POINTS and is_polite(words):
        return "chat"
    if points[best] > 0.0:
        return best
    return "build" if len(words) > _MAX_WORDS_WITHOUT_INTENT else "chat"


def _count_points(cues: Sequence[Cue], clauses: Sequence[str]) -> float:
    """Return the weight of the strongest cue found, plus a quarter of the other ones."""
    whole = "\n".join(clauses)
    found = [weight for weight, cue, opens in cues if (any(map(cue.match, clauses)) if opens else cue.search(whole))]
    return max(found) + (sum(found) - max(found)) / 4 if found else 0.0


def _split_clauses(sentence: str, is_question: bool) -> list[str]:
    """Return the clauses of a sentence in lower case, without leading words such as "ok, please"."""
    clauses = _CLAUSE.sub("\n", _TAG.sub("", f"{sentence.lower()[:_MAX_CLAUSE_CHARS]}")).split("\n")
    clauses = [_OPENING.sub("", clause, 1) or clause for clause in clauses]
    return [*clauses[:-1], clauses[-1] + "?" * is_question]


@cache
def _compile_cues() -> dict[Intent, tuple[Cue, ...]]:
    """Return the cues by intent. Compiled on first use."""
    cues = _RULES.cue_patterns()
    return {
        intent: tuple(
            (weight, re.compile(cue.pattern, cue.flags), cue.pattern.startswith("^")) for weight, cue in cues[intent]
        )
        for intent in _INTENT_ORDER
    }


TimeOfDay: TypeAlias = Literal["night", "morning", "afternoon", "evening"]
TIMES: tuple[TimeOfDay, ...] = get_args(TimeOfDay)
MAX_CHARS = 4_000
"""Characters of a message that are examined, half from its beginning and half from its end."""
MAX_TOPIC_CHARS = 1_000
_MAX_SENTENCE_CHARS = 1_000
_HOURS_PER_TIME = 24 // len(TIMES)


class Situation(Struct, frozen=True, kw_only=True):
    """The situation of a turn. text: what the user wrote, cut to MAX_TOPIC_CHARS, for comparison with topics."""

    intent: Intent
    sentiment: Sentiment = "neutral"
    time_of_day: TimeOfDay = "morning"
    text: str = ""

    @property
    def bucket(self) -> str:
        """The context that ratings are stored for, such as "fix/neutral/morning"."""
        return f"{self.intent}/{self.sentiment}/{self.time_of_day}"


def infer_situation(text: str, now: float) -> Situation:
    """Return the situation of a message. now: seconds since the epoch; the time of day is local."""
    half = MAX_CHARS // 2
    examined = text if len(text) <= MAX_CHARS else f"{text[:half]}\n{text[-half:]}"
    sentences = read_own_sentences(examined, max_chars=_MAX_SENTENCE_CHARS)
    sentiment = infer_sentiment(sentences)
    masked = [(sentence.masked, sentence.is_question) for sentence in sentences]
    return Situation(
        intent=infer_intent(masked, examined, frustrated=sentiment == "frustrated"),
        sentiment=sentiment,
        time_of_day=time_of_day(now),
        text="\n".join(sentence.text for sentence in sentences)[:MAX_TOPIC_CHARS],
    )


def time_of_day(now: float) -> TimeOfDay:
    """Return the local time of day: night from 0 to 6, morning to 12, afternoon to 18, evening to 24 o'clock."""
    return TIMES[time.localtime(now).tm_hour // _HOURS_PER_TIME]


MAX_FILES = 100
MAX_BYTES = 16_384


class SkillSet(Struct, frozen=True, kw_only=True):
    """All styles, each id once, built-in ones first.

    The user's own style replaces a built-in one with the same id; the project's never replaces another one.

    problems: one sentence for each file that contains no valid style.
    """

    skills: tuple[StyleSkill, ...]
    problems: tuple[str, ...] = ()

    def get(self, id: str) -> StyleSkill | None:
        """Return the style with that id, or None."""
        return next((skill for skill in self.skills if skill.id == id), None)


class SkillFolders:
    """Reads the style files of the user and of the project; reads them again only after a file changed.

    The project's files may come from a repository, so a file with the id or name of another style is left out: it
    could change what the user's own choice means.
    """

    def __init__(self, own: Path, project: Path) -> None:
        self._own, self._project = own, project
        self._stamp: tuple[tuple[str, int, int], ...] | None = None
        self._found = SkillSet(skills=())

    def read(self) -> SkillSet:
        """Return all styles."""
        files = [*_list_files(self._own), *(() if self._project == self._own else _list_files(self._project))]
        stamp = tuple((str(path), size, changed) for path, size, changed in files)
        if stamp != self._stamp:
            self._found = _read_styles((path for path, _, _ in files), self._own)
            self._stamp = stamp
        return self._found


@cache
def load_built_in_styles() -> tuple[StyleSkill, ...]:
    """Return the built-in styles."""
    names = list_prompt_names("styles")
    return tuple(parse_skill(load_prompt(name), f"prompts/{name}.md", built_in=True) for name in names)


def _list_files(folder: Path) -> Iterable[tuple[Path, int, int]]:
    """Yield path, size and modification time of the first 100 style files of a folder."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md")[:MAX_FILES]
    except OSError:
        return  # the folder does not exist or is not readable: it has no styles
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        yield path, status.st_size, status.st_mtime_ns


def _read_styles(paths: Iterable[Path], own: Path) -> SkillSet:
    """Return the built-in styles and those in these files. own: the folder of the user's style files."""
    found = {skill.id: skill for skill in load_built_in_styles()}
    problems: list[str] = []
    for path in paths:
        try:
            with open_regular(path) as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise UserError(tr("a style file has at most {max_bytes:,} bytes; shorten it", max_bytes=MAX_BYTES))
            skill = parse_skill(data.decode("utf-8", "replace"), str(path))
            if path.parent != own and (existing := _find_same(found.values(), skill)) is not None:
                raise UserError(
                    tr(
                        "the project's style {id!r} is left out because there already is a style {id2!r}; give it "
                        "another id and name, or copy it to ~/.clio/styles",
                        id=skill.id,
                        id2=existing.id,
                    )
                )
            found[skill.id] = skill
        except UserError as error:
            problems.append(f"{str(path)!r}: {error}")
        except OSError as error:
            problems.append(str(error))
    return SkillSet(skills=tuple(found.values()), problems=tuple(problems))


def _find_same(known: Iterable[StyleSkill], skill: StyleSkill) -> StyleSkill | None:
    """Return a known style with the same id or name, or None. Users refer to styles by either."""
    names = {skill.id.casefold(), skill.name.casefold()}
    return next((style for style in known if names & {style.id.casefold(), style.name.casefold()}), None)


MAX_WORDS = 300
_MAX_CACHED_ROWS = 2_000
_cached_rows: dict[tuple[str, str], Row] = {}
"""Vectors by name of the embedder and text. Topics are the same in every turn, and a turn's text for every style."""
_failed: set[tuple[str, str]] = set()
"""The last (name of the embedder, text) that could not be embedded."""


def compute_topic_similarity(topics: Sequence[str], text: str, embedder: Embedder | None) -> float | None:
    """Return the similarity of the text to the most similar topic, 0.0 to 1.0; None without topics or words.

    The similarity to a topic is 1.0 if the text contains its stemmed words next to each other. Otherwise it is the
    share of its words that the text contains or the cosine of the vectors, whichever is greater. The cosine is used
    only if a model makes the vectors (the default embedder compares words too) and the embedder does not fail.
    """
    stems = [stem_word(word) for word in tokenize(text)[:MAX_WORDS]]
    usable = [topic for topic in topics if _stem_topic(topic)]
    if not usable or not stems:
        return None
    stem_set = frozenset(stems)
    best = max(_compute_share(_stem_topic(topic), stems, stem_set) for topic in usable)
    if best < 1.0 and embedder is not None and not isinstance(embedder, HashedEmbedder):
        best = max(best, _compute_cosine(usable, text, embedder))
    return min(best, 1.0)


@lru_cache(maxsize=_MAX_CACHED_ROWS)
def _stem_topic(topic: str) -> tuple[str, ...]:
    """Return the stems of a topic. Cached, because topics are the same in every turn."""
    return tuple(stem_word(word) for word in tokenize(topic))


def _compute_share(topic: Sequence[str], stems: Sequence[str], stem_set: frozenset[str]) -> float:
    """Return the share of a topic's words in the text; words such as "the" count only if the text has all of them."""
    if stem_set.issuperset(topic) and has_phrase(stems, topic):
        return 1.0
    return sum(word in stem_set for word in topic if word not in STOP_WORDS) / len(topic)


def _compute_cosine(topics: Sequence[str], text: str, embedder: Embedder) -> float:
    if (embedder.name, text) in _failed:
        return 0.0
    try:
        vector, *rows = _embed_cached([text, *topics], embedder)
    except EmbeddingFailed:
        # Every style compares the same text: only the first one waits for a server that does not answer.
        _failed.clear()
        _failed.add((embedder.name, text))
        return 0.0
    return max(sum(map(mul, vector, row)) for row in rows)


def _embed_cached(texts: Sequence[str], embedder: Embedder) -> list[Row]:
    keys = [(embedder.name, text) for text in texts]
    missing = list(dict.fromkeys(key for key in keys if key not in _cached_rows))
    if missing:
        if len(_cached_rows) + len(missing) > _MAX_CACHED_ROWS:
            _cached_rows.clear()
            missing = list(dict.fromkeys(keys))
        _cached_rows.update(zip(missing, embedder.embed([text for _, text in missing]), strict=True))
    return [_cached_rows[key] for key in keys]


TopicSimilarity = Callable[[Sequence[str]], float | None]
"""Similarity of a style's topics to the text of the turn, 0.0 to 1.0; None without topics or text."""


class StyleScore(Struct, frozen=True, kw_only=True):
    """How one style was scored.

    Attributes:
        intent, time, sentiment, topic: the summands of `trigger`.
        ups, downs: its weighted good and bad ratings in this context.
        aligned: how close it is to the user's taste in this context, 0.0 to 1.0.
        sample: the number drawn from Beta(1 + ups, 1 + downs).
        score: 0.4 trigger + 0.3 sample + 0.3 aligned.
        left_out: why it could not be chosen. Only if this is empty, there is a sample and a score.
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

    @property
    def posterior(self) -> Posterior:
        """Its ratings as a distribution."""
        return Posterior(ups=self.ups, downs=self.downs)


class Choice(Struct, frozen=True, kw_only=True):
    """The account of one choice, saved for `/style why`.

    Attributes:
        arms: all styles, best first.
        chosen: the id of the chosen style; None if none applies.
        epsilon: the probability of choosing any applicable style at random.
        explored: whether that happened.
        pinned: the user set the style.
        ratings: the number of rated answers with this intent.
        at: the time of the choice, in seconds since the epoch.
    """

    situation: Situation
    arms: tuple[StyleScore, ...] = ()
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
    arms = [_score_trigger(skill, situation, state, now, topic) for skill in skills]
    rng.shuffle(arms)  # so that each unrated style is equally often among the five
    arms.sort(key=lambda arm: -arm.posterior.mean)
    applicable = [(arm, arm.trigger, 1.0) for arm in arms]
    five = select_candidates(applicable)
    fit = {arm.id for arm in five if arm.confidence >= MIN_CONFIDENCE}
    accounts: list[StyleScore] = []
    ratings = state.ratings(situation.bucket)
    epsilon = compute_exploration_rate(int(ratings))
    explored = rng.random() < epsilon
    for arm in sorted(arms, key=lambda arm: arm.id):  # so that equal seeds draw equal numbers for equal styles
        if arm.id not in fit:
            accounts.append(structs.replace(arm, left_out=_describe_exclusion(arm, five)))
            continue
        sample = arm.posterior.sample(rng)
        score = compute_hybrid_score(arm.trigger, sample, arm.aligned)
        accounts.append(structs.replace(arm, sample=sample, score=score))
    scored = [arm for arm in accounts if not arm.left_out]
    chosen: str | None = None
    if scored:
        chosen = rng.choice(scored).id if explored else max(scored, key=lambda arm: arm.score).id
    return Choice(
        situation=situation,
        arms=tuple(sorted(accounts, key=lambda arm: (bool(arm.left_out), -arm.score, -arm.trigger, arm.id))),
        chosen=chosen,
        epsilon=epsilon,
        explored=explored and chosen is not None,
        ratings=ratings,
        at=now,
    )


def _score_trigger(
    skill: StyleSkill, situation: Situation, state: StyleState, now: float, topic: TopicSimilarity
) -> StyleScore:
    """Return the account of a style without sample and score."""
    trigger = skill.trigger
    fits = {
        "intent": is_trigger_match(trigger.intents, situation.intent),
        "time": is_trigger_match(trigger.times, situation.time_of_day),
        "sentiment": is_trigger_match(trigger.sentiments, situation.sentiment),
    }
    similarity = topic(trigger.topics) if trigger.topics else None
    earned = state.earned(situation.bucket, skill.id, now)
    return StyleScore(
        id=skill.id,
        intent=INTENT_WEIGHT * fits["intent"],
        time=TIME_WEIGHT * fits["time"],
        sentiment=SENTIMENT_WEIGHT * fits["sentiment"],
        topic=TOPIC_WEIGHT * (similarity or 0.0),
        trigger=compute_trigger_score(**fits, topic_similarity=similarity),
        confidence=earned.confidence,
        ups=earned.ups,
        downs=earned.downs,
        aligned=compute_alignment(state.vector(situation.bucket), skill.dimensions),
    )


def _describe_exclusion(arm: StyleScore, five: Sequence[StyleScore]) -> str:
    if not is_applicable(arm.trigger):
        return tr(
            "does not apply: {trigger:.2f}, minimum {min_trigger_score:.2f}",
            trigger=arm.trigger,
            min_trigger_score=MIN_TRIGGER_SCORE,
        )
    if arm not in five:
        return tr("not among the {max_candidates} best matches", max_candidates=MAX_CANDIDATES)
    return tr(
        "low confidence: {confidence:.2f}, minimum {min_confidence:.2f}",
        confidence=arm.confidence,
        min_confidence=MIN_CONFIDENCE,
    )
