"""Choose the response style of a turn: load styles from files, rate how well each fits, and use Thompson sampling."""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from operator import mul
from pathlib import Path

from msgspec import Struct, structs

from clio.errors import UserError
from clio.memory.styles.situation import Situation
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
from clio.text.vocabulary import STOP_WORDS, has_phrase, stem_word, tokenize

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
