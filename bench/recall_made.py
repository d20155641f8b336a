"""Makes large sets of questions for `bench/recall_quality.py` from the templates in `bench/data/recall_made/`.

They resemble public sets, of which nothing is copied: conversations of two people (600 turns over two years, with small
talk), of a user with an assistant (long answers), and coding sessions with tool outputs. The development half and the
test half have different templates, names and values, and the test half was not looked at while weights were chosen.

The file has sections `[name]`; `{x}` is a value from `slots:`, `{n}` a person's name.

    [two], [assistant]  blocks of lines; `q: s: r: s2:` and `u: a: x: v:` are turns, `a:` sentences of long answers;
                        `? KIND | QUESTION | TURNS` asks, and these turns answer
    [filler]            questions and sentences of conversations that are not asked about
    [work]              components, tasks and what is asked about sessions that worked on them; `did:` has one question
                        for each task, in their order
"""

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from bench.recall_sets import History, Question, Session, Turn

FOLDER = Path(__file__).parent / "data" / "recall_made"
_SLOT = re.compile(r"\{(\w+)\}")
_FILLER_SESSIONS = 34
_VAGUE_REQUESTS = (
    "ok, next one",
    "let's go on with what we discussed",
    "continue",
    "do the same as yesterday for the rest",
    "and now the other part of it",
    "please finish this",
    "hm, still not right. have another look",
)
_STEPS = ("I read the code first.", "Now I change it.", "The tests run next.", "One more place needs the change.")
_MORE_CODING = {
    "development_coding": "with I and we",
    "development_requests": "in a report's words",
    "development_technical": "in identifiers",
    "development_prose": "in sentences",
    "development_vague": "vaguely",
}
"""Further sets of coding sessions of the development half, by file, and how they are asked about."""
_MONTHS = "January February March April May June July August September October November December".split()


class Block(Struct):
    """A template: its turns by label, its questions (kind, text, labels of answers) and the values of its slots."""

    turns: dict[str, str]
    questions: list[tuple[str, str, list[str]]]
    slots: dict[str, list[str]]


def read_sections(half: str) -> dict[str, list[str]]:
    """Return the lines of each section of a file of templates, such as "development" or "test"."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in (FOLDER / f"{half}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            sections[name] = []
        elif name:
            sections[name].append(line)
    return sections


def read_blocks(lines: list[str]) -> list[Block]:
    """Return the blocks of a section, which empty lines separate."""
    blocks: list[Block] = []
    for text in "\n".join(lines).strip().split("\n\n"):
        block = Block(turns={}, questions=[], slots={})
        for line in text.splitlines():
            label, _, rest = line.partition(": ")
            if line.startswith("? "):
                kind, question, places = (part.strip() for part in line[2:].split("|"))
                block.questions.append((kind, question, places.split()))
            elif label == "slots":
                block.slots = read_slots(rest)
            else:
                block.turns[label] = rest
        blocks.append(block)
    return blocks


def read_slots(text: str) -> dict[str, list[str]]:
    """Return the values of each slot."""
    return {name: values.split("/") for name, _, values in (slot.strip().partition("=") for slot in text.split(";"))}


def fill(text: str, values: dict[str, str]) -> str:
    """Return the text with the values of its slots."""
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), text)


class _Talk:
    """Sessions and questions as they are made. add: begin a session; say: a turn, whose number is returned."""

    def __init__(self) -> None:
        self.history = History(sessions=[], queries=[])

    def add(self, at: datetime, title: str | None = None) -> str:
        number = str(len(self.history.sessions) + 1)
        self.history.sessions.append(Session(session_id=number, turns=[], date=at.isoformat()[:16], title=title))
        return number

    def say(self, text: str, *, role: str | None = None, speaker: str | None = None, output: str = "") -> str:
        turns = self.history.sessions[-1].turns
        turns.append(Turn(turn_id=str(len(turns) + 1), text=text, role=role, speaker=speaker, output=output))
        return str(len(turns))

    def ask(self, kind: str, text: str, gold: list[list[str | int]]) -> None:
        """Add a question; one that was asked before is about several turns."""
        queries = self.history.queries
        same = next((one for one in queries if one.text == text), None)
        if same is None:
            queries.append(Question(qid=len(queries) + 1, text=text, gold=gold, cat=kind))
        else:
            same.gold += gold
            same.cat = "several"


def make_two_people(half: str, seed: int) -> History:
    """Return one long conversation of two people and questions about what they told."""
    rng = random.Random(seed)
    sections = read_sections(half)
    chat = [line for line in sections["chat"] if line]
    blocks = read_blocks(sections["two"])
    first, second = (line.split()[rng.randrange(2)] for line in sections["people"] if line)
    # Each topic is told by both people, and by one of them again with other values.
    told = [(block, person) for block in blocks for person in (first, second, rng.choice((first, second)))]
    rng.shuffle(told)
    offers = {id(block): [rng.sample(values, len(values)) for values in block.slots.values()] for block in blocks}
    talk = _Talk()
    day = datetime(2022, rng.randrange(1, 13), rng.randrange(1, 28), 18, 30, tzinfo=UTC)

    def chatter(times: int) -> None:
        for _ in range(times):
            turns = talk.history.sessions[-1].turns
            said = " ".join(rng.sample(chat, rng.randrange(1, 4)))  # so that few lines repeat others exactly
            talk.say(said, speaker=second if turns and turns[-1].speaker == first else first)

    while told:
        day += timedelta(days=rng.randrange(9, 35))
        session = talk.add(day)
        chatter(rng.randrange(2, 5))
        for _ in range(min(rng.randrange(2, 4), len(told))):
            block, person = told.pop()
            other = second if person == first else first
            values = dict(zip(block.slots, (one.pop() for one in offers[id(block)]), strict=True)) | {"n": person}
            places = {
                label: talk.say(fill(text, values), speaker=person if label.startswith("s") else other)
                for label, text in block.turns.items()
            }
            for kind, text, labels in block.questions:
                talk.ask(kind, fill(text, values), [[session, places[label]] for label in labels])
            if rng.random() < 0.35:
                question = f"What did {person} tell {other} about in {_MONTHS[day.month - 1]} {day.year}?"
                talk.ask("date", question, [[session, at] for label, at in places.items() if label.startswith("s")])
            chatter(rng.randrange(1, 5))
    return talk.history


def make_assistant(half: str, seed: int) -> History:
    """Return conversations with an assistant that gives long answers, and questions about both sides."""
    rng = random.Random(seed)
    sections = read_sections(half)
    blocks = read_blocks(sections["assistant"])
    (filler,) = read_blocks(sections["filler"])
    requests, pool = filler.turns["u"].split(" | "), filler.turns["a"].split(" | ")
    sentences = [sentence for block in blocks for sentence in block.turns["a"].split(" | ")]
    talk = _Talk()
    day = datetime(2023, 2, 1, 9, 0, tzinfo=UTC)

    def reply(own: list[str], last: str = "") -> str:
        # Long answers share much with those to other questions, as those of real assistants do.
        said = [*rng.sample(own, min(len(own), 8)), *rng.sample(pool, 4), *rng.sample(sentences, 3)]
        rng.shuffle(said)
        if last:
            said.insert(rng.randrange(2, len(said)), last)
        return talk.say(" ".join(said), role="assistant")

    def small_talk(times: int) -> None:
        for _ in range(times):
            values = {name: rng.choice(choices) for name, choices in filler.slots.items()}
            talk.say(fill(rng.choice(requests), values), role="user")
            reply(pool)

    plan: list[Block | None] = [*blocks, *[None] * _FILLER_SESSIONS]
    rng.shuffle(plan)
    for block in plan:
        day += timedelta(days=rng.randrange(1, 6), hours=rng.randrange(1, 5))
        session = talk.add(day)
        if block is None:
            small_talk(rng.randrange(2, 5))
            continue
        values = {name: rng.choice(choices) for name, choices in block.slots.items()}
        own = block.turns["a"].split(" | ")
        places: dict[str, str] = {}
        small_talk(rng.randrange(0, 2))
        places["u"] = talk.say(fill(block.turns["u"], values), role="user")
        reply(own)
        talk.say("That is helpful. Can you tell me more, and be specific?", role="user")
        places["x"] = reply(own, fill(block.turns["x"], values))
        small_talk(rng.randrange(0, 2))
        places["v"] = talk.say(fill(block.turns["v"], values), role="user")
        reply(own)
        for kind, text, labels in block.questions:
            talk.ask(kind, fill(text, values), [[session, places[label]] for label in labels])
    return talk.history


class Work(Struct):
    """The templates of coding sessions: components (name, files, things), tasks (kind, request, report, output)."""

    components: list[tuple[str, list[str], list[str]]]
    tasks: list[tuple[str, str, str, str]]
    asks: dict[str, list[str]]
    slots: dict[str, list[str]]


def read_work(lines: list[str]) -> Work:
    """Return the section `[work]`."""
    work = Work(components=[], tasks=[], asks={}, slots={})
    for line in lines:
        label, _, rest = line.partition(": ")
        parts = [part.strip() for part in rest.split(" | ")]
        if label == "component":
            work.components.append((parts[0], parts[1].split(), parts[2].split(", ")))
        elif label == "task":
            work.tasks.append((parts[0], parts[1], parts[2], parts[3]))
        elif label == "slots":
            work.slots = read_slots(rest)
        elif label:
            work.asks[label] = parts
    return work


class _Job(Struct):
    """One piece of work: its component and thing, its sessions, and the output that only the working session has."""

    component: str
    thing: str
    planned: str
    done: str
    place: str
    shown: str
    output: str


def make_work(half: str, seed: int) -> History:
    """Return coding sessions, up to three for each piece of work: planned, done, mentioned later; and questions.

    Only the second session does the work; its request is vague, and its errors are only in the outputs of tools.
    """
    rng = random.Random(seed)
    work = read_work(read_sections(half)["work"])
    talk = _Talk()
    day = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)
    tasks = [(component, place) for component in work.components for place in range(len(work.tasks))]
    rng.shuffle(tasks)
    jobs: list[_Job] = []
    asked: list[tuple[str, str, int]] = []

    def begin(title: str) -> str:
        nonlocal day
        day += timedelta(hours=rng.randrange(4, 40))
        return talk.add(day, title)

    def step(text: str, output: str = "") -> str:
        said = talk.say(text, role="assistant")
        name = rng.choice(work.components)[0].split()[-1]
        code = [f"{line:4}  def {name}_{rng.randrange(99)}(value): {rng.choice(_STEPS)}" for line in range(12)]
        talk.say("", role="tool", output="\n".join([*code, output, *code[:3]]))
        return said

    for number, ((component, (file, other), things), task) in enumerate(tasks):
        _, request, done, output = work.tasks[task]
        thing = things[number % len(things)]
        values = {name: rng.choice(choices) for name, choices in work.slots.items()}
        values |= {"c": component, "w": thing, "f": file, "o": other}
        wanted, report = fill(request, values), fill(done, values)
        planned = begin(wanted[:60])
        talk.say(wanted, role="user")
        step(f"I would look at {file} first. Shall I begin?\nread {file}")
        talk.say("not today, only make a plan and we do it tomorrow", role="user")
        talk.say(f"The plan: read {file}, then {other}, change it, run the tests.", role="assistant")
        doing = begin(f"work on {day:%d %B}")
        talk.say(rng.choice(_VAGUE_REQUESTS), role="user")
        shown = ""
        for place in range(rng.randrange(3, 7)):
            action = rng.choice((f"edited {file}", f"read {other}", "ran the tests → exit 1", f"edited {other}"))
            step(f"{rng.choice(_STEPS)}\n{action}")
            if place == 1:
                shown = step("ran the tests → exit 1: see above", fill(output, values))
        end = talk.say(f"Done: {report}.\ncommitted a1b2c3d {report}", role="assistant")
        talk.say("great, thanks", role="user")
        jobs.append(_Job(component, thing, planned, doing, end, shown, fill(output, values)))
        if number % 2:
            begin(f"notes on {component}")
            others = rng.choice(rng.choice(work.components)[2])
            talk.say(f"before the release: list what changed for {thing} and {others}", role="user")
            talk.say(f"Since the last release the {component} treats {thing} in a new way.", role="assistant")
            talk.say(f"and is the {component} still slow with {others}?", role="user")
            talk.say("I cannot tell without a measurement.", role="assistant")
        kind = ("did", "vague", "did", "output")[number % 4]
        texts = work.asks[kind]
        slots = set(_SLOT.findall(output))
        fitting = [text for text in texts if kind != "output" or slots.issuperset(_SLOT.findall(text))]
        text = texts[task] if kind == "did" else rng.choice(fitting)
        asked.append((kind, fill(text, values), number))
    for kind, text, number in asked:
        job = jobs[number]
        # Two pieces of work may share a thing or an error; then either answers.
        same = [one for one in jobs if _answers_too(one, job, kind, text)]
        gold = [(one.done, one.place) for one in same]
        gold += [(one.planned, "1") for one in same if kind == "vague"]
        gold += [(one.done, one.shown) for one in same if kind == "output"]
        talk.history.queries.append(Question(qid=number, text=text, gold=[[*place] for place in gold], cat=kind))
    return talk.history


def _answers_too(one: _Job, asked: _Job, kind: str, text: str) -> bool:
    """Whether a piece of work answers a question about another one, because it has the same thing or the same error."""
    if kind == "vague":
        return (one.component, one.thing) == (asked.component, asked.thing)
    shown = {word for word in re.findall(r"\w+", text) if word in asked.output}
    return one is asked or (kind == "output" and all(word in one.output for word in shown))


def make_sets(half: str) -> dict[str, list[History]]:
    """Return the made sets of a half by kind."""
    base = 100 if half == "development" else 900
    sets = {
        f"made two people, {half}": [make_two_people(half, base + number) for number in range(3)],
        f"made assistant talk, {half}": [make_assistant(half, base + 10 + number) for number in range(3)],
        f"made coding sessions, {half}": [make_work(half, base + 20 + number) for number in range(3)],
    }
    if half == "development":
        for name, about in _MORE_CODING.items():
            sets[f"coding asked {about}, development"] = [make_work(name, base + 30 + number) for number in range(3)]
    return sets
