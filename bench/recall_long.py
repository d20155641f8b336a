"""Makes long talks with an assistant for `bench/recall_quality.py` from the topics in `bench/data/recall_long/`.

They are harder than those of `bench.recall_made`: what is asked for was said once, in passing, in a request about
something else; one of its two questions has other words; three more sessions are about the same topic; requests and
long replies of the topic have some words of the question, as those of real talks do, and half of the replies repeat
what the user said. Nothing is copied from public sets.

A topic has requests (`ask`), what is asked next (`more`) and sentences of replies (`say`), separated by ` | `:

    fact: KIND | SAID BY THE USER | QUESTION
    two: KIND | SAID | SAID IN A LATER SESSION | QUESTION     both turns answer; of an update only the later one
    told: SAID BY THE ASSISTANT | QUESTION

QUESTION is one in other words, then ` || ` and one with some of the words that were said.
"""

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bench.recall_sets import History, Question, Session, Turn
from clio.text.vocabulary import STOP_WORDS

FOLDER = Path(__file__).parent / "data" / "recall_long"
DISTRACTORS = 3
"""Sessions of each topic in which nothing is asked for."""
_PASSING = ("By the way, ", "Oh, and ", "I should mention that ", "On a different note, ", "")
_GENERAL = (
    "Here are some ideas that you can adapt to your situation.",
    "Everybody is different, so treat this as a starting point and see what works for you.",
    "If you tell me more about your budget and your time, I can be more specific.",
    "Start small and change one thing at a time, so that you notice what helps.",
    "It is a good idea to keep a record of what you try.",
    "Do not hesitate to ask a professional if you are not sure.",
    "Remember that progress takes time, and that a bad day is part of it.",
    "Many people find it helpful to plan for the week on a Sunday.",
    "I hope this helps, and I wish you a lot of fun with it!",
    "Is there anything else that you would like to know?",
)
_REPLIES_WITH_WORDS, _REQUESTS_WITH_WORDS = 0.7, 0.35
"""Shares of the other turns that have two words of a question about their topic."""
_WORDS_IN_REPLIES = (
    "When it comes to {a}, think about {b} as well.",
    "People often ask about {a} and {b}, and the answer depends on your situation.",
    "A word on {a}: it is closely linked to {b}.",
    "As for {a}, there are several options, from {b} to none at all.",
)
_WORDS_IN_REQUESTS = (
    "Do you have any tips about {a} and {b}?",
    "I was wondering about {a}, and {b} too.",
    "What do you think of {a}, in general, compared with {b}?",
    "My friend keeps talking about {a} and {b}, is there anything to it?",
)
_TURNED = {"i": "you", "i'm": "you are", "i've": "you have", "my": "your", "we": "you", "our": "your", "me": "you"}


class Topic(Struct):
    """The texts of one topic, and what is said once about it: kind, speaker, what is said, question."""

    asks: list[str]
    more: list[str]
    says: list[str]
    facts: list[tuple[str, str, list[str], str]]


def read_topics(half: str) -> list[Topic]:
    """Return the topics of a half, "development" or "test"."""
    topics: list[Topic] = []
    for line in (FOLDER / f"{half}.txt").read_text(encoding="utf-8").splitlines():
        label, _, rest = line.partition(": ")
        parts = [part.strip() for part in rest.split(" | ")]
        if line.startswith("["):
            topics.append(Topic(asks=[], more=[], says=[], facts=[]))
        elif label in ("ask", "more", "say"):
            texts = {"ask": topics[-1].asks, "more": topics[-1].more, "say": topics[-1].says}
            texts[label].extend(parts)
        elif label in ("fact", "two"):
            topics[-1].facts.append((parts[0], "user", parts[1:-1], parts[-1]))
        elif label == "told":
            topics[-1].facts.append(("assistant", "assistant", parts[:1], parts[1]))
    return topics


def make_long_talk(half: str, seed: int) -> History:
    """Return about 70 sessions of about 8 turns, and one question for each thing said once."""
    rng = random.Random(seed)
    history = History(sessions=[], queries=[])
    day = datetime(2023, 3, 1, 9, 0, tzinfo=UTC)
    topics = read_topics(half)
    facts = [(topic, fact) for topic in topics for fact in topic.facts]
    # The parts of a fact keep their order, which tells what was said later.
    places = [number for number, (_, fact) in enumerate(facts) for _ in fact[2]]
    plan: list[tuple[Topic, int | None]] = [(facts[number][0], number) for number in places]
    plan += [(topic, None) for topic in topics for _ in range(DISTRACTORS)]
    rng.shuffle(plan)
    gold: dict[int, list[list[str | int]]] = {}

    def say(text: str, role: str) -> list[str | int]:
        session = history.sessions[-1]
        session.turns.append(Turn(turn_id=str(len(session.turns) + 1), text=text, role=role))
        return [session.session_id, str(len(session.turns))]

    def add_words(topic: Topic, templates: tuple[str, ...]) -> str:
        """A sentence with two words of a question about the topic, which does not answer it."""
        _, _, _, questions = rng.choice(topic.facts)
        words = [word for word in re.findall(r"[\w-]+", questions) if word.lower() not in STOP_WORDS]
        a, b = rng.sample(words[-6:], 2)
        return rng.choice(templates).format(a=a, b=b)

    def reply(topic: Topic, extra: str = "", echo: str = "") -> list[str | int]:
        said = [*rng.sample(topic.says, rng.randrange(6, 10)), *rng.sample(_GENERAL, 3)]
        if rng.random() < _REPLIES_WITH_WORDS:
            said.append(add_words(topic, _WORDS_IN_REPLIES))
        rng.shuffle(said)
        if extra:
            said.insert(rng.randrange(2, len(said)), extra)
        if echo:
            said.insert(0, f"It is good to know that {_turn_around(echo)}")
        return say(" ".join(said), "assistant")

    for topic, number in plan:
        day += timedelta(days=rng.randrange(1, 4), hours=rng.randrange(1, 6))
        history.sessions.append(Session(session_id=str(len(history.sessions) + 1), turns=[], date=day.isoformat()[:16]))
        exchanges = rng.randrange(3, 6)
        at = rng.randrange(exchanges)
        asks = rng.sample(topic.asks, 2)
        for place in range(exchanges):
            request = asks[0] if place == 0 else asks[1] if place == 2 else rng.choice(topic.more)
            if number is None or place != at:
                if rng.random() < _REQUESTS_WITH_WORDS:
                    request = f"{request} {add_words(topic, _WORDS_IN_REQUESTS)}"
                say(request, "user")
                reply(topic)
                continue
            _, speaker, statements, _ = facts[number][1]
            statement = statements[len(gold.setdefault(number, []))]
            if speaker == "assistant":
                say(request, "user")
                gold[number].append(reply(topic, extra=statement))
                continue
            passing = f"{rng.choice(_PASSING)}{statement}"
            passing = passing[0].upper() + passing[1:]
            said = f"{request} {passing}" if rng.random() < 0.6 else f"{passing} {request}"
            gold[number].append(say(said, "user"))
            reply(topic, echo=statement if rng.random() < 0.5 else "")
    for number, (_, (kind, _, _, questions)) in enumerate(facts):
        answers = gold[number][-1:] if kind == "update" else gold[number]
        for paraphrase, text in zip((" in other words", ""), questions.split(" || "), strict=True):
            history.queries.append(
                Question(qid=f"{number}{paraphrase}", text=text, gold=answers, cat=kind + paraphrase)
            )
    return history


def _turn_around(text: str) -> str:
    """Return what the user said as the assistant repeats it: "you" for "I"."""
    return re.sub(r"[\w']+", lambda word: _TURNED.get(word[0].lower(), word[0]), text)
