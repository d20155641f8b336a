"""Generate large sets of questions for `bench/recall_quality.py` from the templates in `bench/data/recall_made/`.

They resemble public sets, but nothing is copied from them: conversations of two people (600 turns over two years, with
small talk), conversations with an assistant (long answers), and coding sessions with tool outputs. The development half
and the test half have different templates, names and values. The test half was not looked at while weights were chosen.

A file has sections `[name]`. In a template, `{x}` is replaced by a value from `slots:`, and `{n}` by a name.

    [two], [assistant]  blocks of lines: `q: s: r: s2:` and `u: a: x: v:` are turns, `a:` the sentences of long answers;
                        `? KIND | QUESTION | TURNS` is a question and the turns that answer it
    [filler]            requests and sentences of conversations without a question
    [work]              components, tasks, and questions about the sessions that worked on them; `did:` has one question
                        per task, in the same order
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
"""More sets of coding sessions of the development half: the file, and how its questions are worded."""
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


class _HistoryWriter:
    """Builds a history. Its methods return the id of the new session or turn."""

    def __init__(self) -> None:
        self.history = History(sessions=[], queries=[])

    def begin_session(self, at: datetime, title: str | None = None) -> str:
        number = str(len(self.history.sessions) + 1)
        self.history.sessions.append(Session(session_id=number, turns=[], date=at.isoformat()[:16], title=title))
        return number

    def add_turn(self, text: str, *, role: str | None = None, speaker: str | None = None, output: str = "") -> str:
        turns = self.history.sessions[-1].turns
        turns.append(Turn(turn_id=str(len(turns) + 1), text=text, role=role, speaker=speaker, output=output))
        return str(len(turns))

    def add_question(self, kind: str, text: str, gold: list[list[str | int]]) -> None:
        """Add a question. If it exists, the turns are added to its answers, and its kind becomes "several"."""
        queries = self.history.queries
        same = next((one for one in queries if one.text == text), None)
        if same is None:
            queries.append(Question(qid=len(queries) + 1, text=text, gold=gold, cat=kind))
        else:
            same.gold += gold
            same.cat = "several"


def make_two_people(half: str, seed: int) -> History:
    """Return one long conversation of two people, and questions about it."""
    rng = random.Random(seed)
    sections = read_sections(half)
    chat = [line for line in sections["chat"] if line]
    blocks = read_blocks(sections["two"])
    first, second = (line.split()[rng.randrange(2)] for line in sections["people"] if line)
    # Both people talk about each topic, one of them twice with different values.
    topics = [(block, speaker) for block in blocks for speaker in (first, second, rng.choice((first, second)))]
    rng.shuffle(topics)
    unused_values = {
        id(block): [rng.sample(values, len(values)) for values in block.slots.values()] for block in blocks
    }
    writer = _HistoryWriter()
    day = datetime(2022, rng.randrange(1, 13), rng.randrange(1, 28), 18, 30, tzinfo=UTC)

    def add_small_talk(times: int) -> None:
        for _ in range(times):
            turns = writer.history.sessions[-1].turns
            text = " ".join(rng.sample(chat, rng.randrange(1, 4)))  # combined, so that few turns are equal
            writer.add_turn(text, speaker=second if turns and turns[-1].speaker == first else first)

    while topics:
        day += timedelta(days=rng.randrange(9, 35))
        session = writer.begin_session(day)
        add_small_talk(rng.randrange(2, 5))
        for _ in range(min(rng.randrange(2, 4), len(topics))):
            block, speaker = topics.pop()
            other = second if speaker == first else first
            values = dict(zip(block.slots, (one.pop() for one in unused_values[id(block)]), strict=True))
            values["n"] = speaker
            places = {
                label: writer.add_turn(fill(text, values), speaker=speaker if label.startswith("s") else other)
                for label, text in block.turns.items()
            }
            for kind, text, labels in block.questions:
                writer.add_question(kind, fill(text, values), [[session, places[label]] for label in labels])
            if rng.random() < 0.35:
                question = f"What did {speaker} tell {other} about in {_MONTHS[day.month - 1]} {day.year}?"
                writer.add_question(
                    "date", question, [[session, at] for label, at in places.items() if label.startswith("s")]
                )
            add_small_talk(rng.randrange(1, 5))
    return writer.history


def make_assistant(half: str, seed: int) -> History:
    """Return conversations with an assistant that gives long answers, and questions about the turns of both."""
    rng = random.Random(seed)
    sections = read_sections(half)
    blocks = read_blocks(sections["assistant"])
    (filler,) = read_blocks(sections["filler"])
    requests, pool = filler.turns["u"].split(" | "), filler.turns["a"].split(" | ")
    sentences = [sentence for block in blocks for sentence in block.turns["a"].split(" | ")]
    writer = _HistoryWriter()
    day = datetime(2023, 2, 1, 9, 0, tzinfo=UTC)

    def add_reply(own: list[str], last: str = "") -> str:
        # As with real assistants, long answers to different questions have sentences in common.
        answer = [*rng.sample(own, min(len(own), 8)), *rng.sample(pool, 4), *rng.sample(sentences, 3)]
        rng.shuffle(answer)
        if last:
            answer.insert(rng.randrange(2, len(answer)), last)
        return writer.add_turn(" ".join(answer), role="assistant")

    def add_small_talk(times: int) -> None:
        for _ in range(times):
            values = {name: rng.choice(choices) for name, choices in filler.slots.items()}
            writer.add_turn(fill(rng.choice(requests), values), role="user")
            add_reply(pool)

    plan: list[Block | None] = [*blocks, *[None] * _FILLER_SESSIONS]
    rng.shuffle(plan)
    for block in plan:
        day += timedelta(days=rng.randrange(1, 6), hours=rng.randrange(1, 5))
        session = writer.begin_session(day)
        if block is None:
            add_small_talk(rng.randrange(2, 5))
            continue
        values = {name: rng.choice(choices) for name, choices in block.slots.items()}
        own = block.turns["a"].split(" | ")
        turn_ids: dict[str, str] = {}
        add_small_talk(rng.randrange(0, 2))
        turn_ids["u"] = writer.add_turn(fill(block.turns["u"], values), role="user")
        add_reply(own)
        writer.add_turn("That is helpful. Can you tell me more, and be specific?", role="user")
        turn_ids["x"] = add_reply(own, fill(block.turns["x"], values))
        add_small_talk(rng.randrange(0, 2))
        turn_ids["v"] = writer.add_turn(fill(block.turns["v"], values), role="user")
        add_reply(own)
        for kind, text, labels in block.questions:
            writer.add_question(kind, fill(text, values), [[session, turn_ids[label]] for label in labels])
    return writer.history


class WorkTemplates(Struct):
    """The templates of coding sessions: components (name, files, things), tasks (kind, request, report, output)."""

    components: list[tuple[str, list[str], list[str]]]
    tasks: list[tuple[str, str, str, str]]
    asks: dict[str, list[str]]
    slots: dict[str, list[str]]


def read_work_templates(lines: list[str]) -> WorkTemplates:
    """Return the section `[work]`."""
    work = WorkTemplates(components=[], tasks=[], asks={}, slots={})
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


class _Task(Struct):
    """One task: its component and object, its sessions, and the output that is only in the session that did it."""

    component: str
    thing: str
    planned: str
    done: str
    place: str
    output_turn: str
    output: str


def make_coding_sessions(half: str, seed: int) -> History:
    """Return coding sessions, up to three per task, and questions: one plans it, one does it, one mentions it later.

    Only the second session does the task. Its request is vague, and its errors are only in the outputs of tools.
    """
    rng = random.Random(seed)
    work = read_work_templates(read_sections(half)["work"])
    writer = _HistoryWriter()
    day = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)
    tasks = [(component, place) for component in work.components for place in range(len(work.tasks))]
    rng.shuffle(tasks)
    jobs: list[_Task] = []
    questions: list[tuple[str, str, int]] = []

    def begin_session(title: str) -> str:
        nonlocal day
        day += timedelta(hours=rng.randrange(4, 40))
        return writer.begin_session(day, title)

    def add_step(text: str, output: str = "") -> str:
        turn = writer.add_turn(text, role="assistant")
        name = rng.choice(work.components)[0].split()[-1]
        code = [f"{line:4}  def {name}_{rng.randrange(99)}(value): {rng.choice(_STEPS)}" for line in range(12)]
        writer.add_turn("", role="tool", output="\n".join([*code, output, *code[:3]]))
        return turn

    for number, ((component, (file, other), things), task) in enumerate(tasks):
        _, request, done, output = work.tasks[task]
        thing = things[number % len(things)]
        values = {name: rng.choice(choices) for name, choices in work.slots.items()}
        values |= {"c": component, "w": thing, "f": file, "o": other}
        wanted, report = fill(request, values), fill(done, values)
        planned = begin_session(wanted[:60])
        writer.add_turn(wanted, role="user")
        add_step(f"I would look at {file} first. Shall I begin?\nread {file}")
        writer.add_turn("not today, only make a plan and we do it tomorrow", role="user")
        writer.add_turn(f"The plan: read {file}, then {other}, change it, run the tests.", role="assistant")
        doing = begin_session(f"work on {day:%d %B}")
        writer.add_turn(rng.choice(_VAGUE_REQUESTS), role="user")
        output_turn = ""
        for place in range(rng.randrange(3, 7)):
            action = rng.choice((f"edited {file}", f"read {other}", "ran the tests → exit 1", f"edited {other}"))
            add_step(f"{rng.choice(_STEPS)}\n{action}")
            if place == 1:
                output_turn = add_step("ran the tests → exit 1: see above", fill(output, values))
        end = writer.add_turn(f"Done: {report}.\ncommitted a1b2c3d {report}", role="assistant")
        writer.add_turn("great, thanks", role="user")
        jobs.append(_Task(component, thing, planned, doing, end, output_turn, fill(output, values)))
        if number % 2:
            begin_session(f"notes on {component}")
            others = rng.choice(rng.choice(work.components)[2])
            writer.add_turn(f"before the release: list what changed for {thing} and {others}", role="user")
            writer.add_turn(f"Since the last release the {component} treats {thing} in a new way.", role="assistant")
            writer.add_turn(f"and is the {component} still slow with {others}?", role="user")
            writer.add_turn("I cannot tell without a measurement.", role="assistant")
        kind = ("did", "vague", "did", "output")[number % 4]
        texts = work.asks[kind]
        slots = set(_SLOT.findall(output))
        fitting = [text for text in texts if kind != "output" or slots.issuperset(_SLOT.findall(text))]
        text = texts[task] if kind == "did" else rng.choice(fitting)
        questions.append((kind, fill(text, values), number))
    for kind, text, number in questions:
        job = jobs[number]
        # Two tasks may have the same object or error; then both answer the question.
        same = [one for one in jobs if _is_answered_by(one, job, kind, text)]
        gold = [(one.done, one.place) for one in same]
        gold += [(one.planned, "1") for one in same if kind == "vague"]
        gold += [(one.done, one.output_turn) for one in same if kind == "output"]
        writer.history.queries.append(Question(qid=number, text=text, gold=[[*place] for place in gold], cat=kind))
    return writer.history


def _is_answered_by(one: _Task, asked_about: _Task, kind: str, text: str) -> bool:
    """Return whether a task answers a question about another one, because it has the same object or error."""
    if kind == "vague":
        return (one.component, one.thing) == (asked_about.component, asked_about.thing)
    error_words = {word for word in re.findall(r"\w+", text) if word in asked_about.output}
    return one is asked_about or (kind == "output" and all(word in one.output for word in error_words))


def make_sets(half: str) -> dict[str, list[History]]:
    """Return the generated sets of a half by name."""
    base = 100 if half == "development" else 900
    sets = {
        f"generated two people, {half}": [make_two_people(half, base + number) for number in range(3)],
        f"generated assistant talk, {half}": [make_assistant(half, base + 10 + number) for number in range(3)],
        f"generated coding sessions, {half}": [make_coding_sessions(half, base + 20 + number) for number in range(3)],
    }
    if half == "development":
        for name, about in _MORE_CODING.items():
            sets[f"coding asked {about}, development"] = [
                make_coding_sessions(name, base + 30 + number) for number in range(3)
            ]
    return sets
