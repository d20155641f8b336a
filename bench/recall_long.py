"""Generate long conversations with an assistant for `bench/recall_quality.py` from topics in `bench/data/recall_long/`.

They are harder than those of `bench.recall_made`. The answer is stated once, in passing, in a request about something
else. One of its two questions has different words. Three more sessions are about the same topic. Other requests and
long replies on the topic contain words of the question, and half of the replies repeat what the user stated. Nothing
is copied from public sets.

A topic has requests (`ask`), follow-up requests (`more`) and sentences of replies (`say`), separated by ` | `:

    fact: KIND | STATEMENT OF THE USER | QUESTION
    two: KIND | STATEMENT | STATEMENT IN A LATER SESSION | QUESTION     both answer; for an update only the later one
    told: STATEMENT OF THE ASSISTANT | QUESTION

QUESTION is a question in different words, then ` || `, then one with some words of the statement.
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
"""Sessions of each topic without an answer to any question."""
_REMARK_OPENINGS = ("By the way, ", "Oh, and ", "I should mention that ", "On a different note, ", "")
_GENERAL_SENTENCES = (
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
"""Shares of the other turns that contain two words of a question about their topic."""
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
_SECOND_PERSON = {"i": "you", "me": "you", "we": "you", "my": "your", "our": "your"} | {"i'm": "you are"}


class Topic(Struct):
    """The texts of one topic. facts: what is stated once: kind, speaker, statements, questions."""

    requests: list[str]
    more: list[str]
    replies: list[str]
    facts: list[tuple[str, str, list[str], str]]


def read_topics(half: str) -> list[Topic]:
    """Return the topics of a half, "development" or "test"."""
    topics: list[Topic] = []
    for line in (FOLDER / f"{half}.txt").read_text(encoding="utf-8").splitlines():
        label, _, rest = line.partition(": ")
        parts = [part.strip() for part in rest.split(" | ")]
        if line.startswith("["):
            topics.append(Topic(requests=[], more=[], replies=[], facts=[]))
        elif label in ("ask", "more", "say"):
            texts = {"ask": topics[-1].requests, "more": topics[-1].more, "say": topics[-1].replies}
            texts[label].extend(parts)
        elif label in ("fact", "two"):
            topics[-1].facts.append((parts[0], "user", parts[1:-1], parts[-1]))
        elif label == "told":
            topics[-1].facts.append(("assistant", "assistant", parts[:1], parts[1]))
    return topics


def make_long_talk(half: str, seed: int) -> History:
    """Return about 70 sessions of about 8 turns, and two questions for each fact."""
    rng = random.Random(seed)
    history = History(sessions=[], queries=[])
    day = datetime(2023, 3, 1, 9, 0, tzinfo=UTC)
    topics = read_topics(half)
    facts = [(topic, fact) for topic in topics for fact in topic.facts]
    # One session for each statement of a fact; the statements stay in order.
    fact_numbers = [number for number, (_, fact) in enumerate(facts) for _ in fact[2]]
    plan: list[tuple[Topic, int | None]] = [(facts[number][0], number) for number in fact_numbers]
    plan += [(topic, None) for topic in topics for _ in range(DISTRACTORS)]
    rng.shuffle(plan)
    gold: dict[int, list[list[str | int]]] = {}

    def add_turn(text: str, role: str) -> list[str | int]:
        session = history.sessions[-1]
        session.turns.append(Turn(turn_id=str(len(session.turns) + 1), text=text, role=role))
        return [session.session_id, str(len(session.turns))]

    def make_related_sentence(topic: Topic, templates: tuple[str, ...]) -> str:
        """Return a sentence with two words of a question about the topic, which does not answer it."""
        _, _, _, questions = rng.choice(topic.facts)
        words = [word for word in re.findall(r"[\w-]+", questions) if word.lower() not in STOP_WORDS]
        a, b = rng.sample(words[-6:], 2)
        return rng.choice(templates).format(a=a, b=b)

    def add_reply(topic: Topic, extra: str = "", echo: str = "") -> list[str | int]:
        sentences = [*rng.sample(topic.replies, rng.randrange(6, 10)), *rng.sample(_GENERAL_SENTENCES, 3)]
        if rng.random() < _REPLIES_WITH_WORDS:
            sentences.append(make_related_sentence(topic, _WORDS_IN_REPLIES))
        rng.shuffle(sentences)
        if extra:
            sentences.insert(rng.randrange(2, len(sentences)), extra)
        if echo:
            sentences.insert(0, f"It is good to know that {_to_second_person(echo)}")
        return add_turn(" ".join(sentences), "assistant")

    for topic, number in plan:
        day += timedelta(days=rng.randrange(1, 4), hours=rng.randrange(1, 6))
        history.sessions.append(Session(session_id=str(len(history.sessions) + 1), turns=[], date=day.isoformat()[:16]))
        exchanges = rng.randrange(3, 6)
        remark_position = rng.randrange(exchanges)
        first_requests = rng.sample(topic.requests, 2)
        for place in range(exchanges):
            request = first_requests[0] if place == 0 else first_requests[1] if place == 2 else rng.choice(topic.more)
            if number is None or place != remark_position:
                if rng.random() < _REQUESTS_WITH_WORDS:
                    request = f"{request} {make_related_sentence(topic, _WORDS_IN_REQUESTS)}"
                add_turn(request, "user")
                add_reply(topic)
                continue
            _, speaker, statements, _ = facts[number][1]
            statement = statements[len(gold.setdefault(number, []))]
            if speaker == "assistant":
                add_turn(request, "user")
                gold[number].append(add_reply(topic, extra=statement))
                continue
            remark = f"{rng.choice(_REMARK_OPENINGS)}{statement}"
            remark = remark[0].upper() + remark[1:]
            text = f"{request} {remark}" if rng.random() < 0.6 else f"{remark} {request}"
            gold[number].append(add_turn(text, "user"))
            add_reply(topic, echo=statement if rng.random() < 0.5 else "")
    for number, (_, (kind, _, _, questions)) in enumerate(facts):
        answers = gold[number][-1:] if kind == "update" else gold[number]
        for paraphrase, text in zip((" in other words", ""), questions.split(" || "), strict=True):
            history.queries.append(
                Question(qid=f"{number}{paraphrase}", text=text, gold=answers, cat=kind + paraphrase)
            )
    return history


def _to_second_person(text: str) -> str:
    """Return a statement of the user in the second person, as the assistant repeats it."""
    return re.sub(r"[\w']+", lambda word: _SECOND_PERSON.get(word[0].lower(), word[0]), text)
