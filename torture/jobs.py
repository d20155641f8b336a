"""What tortured clios are asked to do, and what their output confirms."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from clio.checkpoints.checkpoints import Checkpoints
from tests.checkpoints.support import list_all
from torture.process import Ended
from torture.world import World, words_of


class Fact(Struct, frozen=True):
    """One thing a clio confirmed. store: where it must be found from then on, or with "gone " before it, must not."""

    store: str
    text: str


Said = tuple[str, str]
"""A session, and a message in it."""


class Job(Struct, frozen=True, kw_only=True):
    """One run of clio.

    begins: facts that end now, whatever comes of the run: they may be there afterwards or not.
    confirms: the facts in what it said. Its messages are read from every job's stream.
    codes: exit codes it may end with when nobody kills it.
    work: runs in place of the command line, for what only a terminal offers.
    """

    kind: str
    arguments: tuple[str, ...] = ()
    words: bytes = b""
    begins: tuple[Fact, ...] = ()
    confirms: Callable[[Ended], Sequence[Fact]] = lambda _: ()
    codes: tuple[int, ...] = (0,)
    work: Callable[[], Any] | None = None


def said_in(out: str) -> Iterator[Said]:
    """The messages a stream of events confirmed: each was on disk before its line was written."""
    session = ""
    for event in events(out):
        if event["type"] == "session":
            session = event["session_id"]
        elif event["type"] == "message":
            yield session, event["message"]["id"]


def events(out: str) -> Iterator[dict[str, Any]]:
    """The whole lines of a stream of events."""
    for line in out.split("\n")[:-1]:
        if line.startswith("{"):
            yield json.loads(line)


def remembered_in(ended: Ended) -> list[Fact]:
    """What a turn's tools kept: the calls whose results are messages that say they went well."""
    calls: dict[str, dict[str, Any]] = {}
    facts: list[Fact] = []
    for event in events(ended.out):
        if event["type"] == "message":
            for call in event["message"].get("tool_calls", ()):
                if call["name"] == "memory_operations":
                    calls[call["id"]] = json.loads(call["arguments"])
        elif event["type"] == "tool_finished" and event["ok"] and event["call_id"] in calls:
            given = calls[event["call_id"]]
            match given["operation"]:
                case "add_discovery":
                    facts.append(Fact("ltm", given["fact"]))
                case "remember":
                    facts.append(Fact("memories", given["content"]))
                case "store":
                    facts.append(Fact("notes", given["content"]))
    return facts


def if_done(*facts: Fact) -> Callable[[Ended], Sequence[Fact]]:
    """These facts, once the clio has said anything about them or is done."""
    return lambda ended: facts if ended.code == 0 or "\n" in ended.out else ()


def turn(rng: random.Random, _: World) -> Job:
    """One to three turns over pipes, in the newest session or a new one."""
    lines = [
        {"type": "user", "text": f"{words_of(rng, 3)} script:{rng.randrange(10**6)}"}
        for _ in range(rng.choice([1, 1, 3]))
    ]
    which = rng.choice([("-c",), ("--new",)])
    return Job(
        kind="turns",
        arguments=("--input", "stream-json", "--output", "stream-json", "--approve", "all", *which),
        words="".join(json.dumps(line) + "\n" for line in lines).encode(),
        confirms=remembered_in,
        codes=(0, 1, 2),
    )


def prompt(rng: random.Random, _: World) -> Job:
    """One prompt, one answer."""
    words = f"{words_of(rng, 3)} script:{rng.randrange(10**6)}"
    which = rng.choice([("-c",), ()])
    arguments = ("-p", words, "--output", "stream-json", "--approve", "all", *which)
    return Job(kind="-p", arguments=arguments, confirms=remembered_in, codes=(0, 1, 2))


def learn(rng: random.Random, _: World) -> Job:
    """`clio memory add`."""
    words = words_of(rng)
    kind = rng.choice(["discovery", "pattern", "failure", "rule"])
    return Job(kind="memory add", arguments=("memory", "add", kind, words), confirms=if_done(Fact("ltm", words)))


def remember(rng: random.Random, _: World) -> Job:
    """`clio memory remember`."""
    words, kind = words_of(rng), rng.choice(["fact", "event", "note"])
    arguments = ("memory", "remember", words, "--type", kind)
    return Job(kind="memory remember", arguments=arguments, confirms=if_done(Fact("memories", words)))


def prefer(rng: random.Random, _: World) -> Job:
    """`clio prefs add`."""
    words = words_of(rng)
    arguments = ("prefs", "add", words, "--score", str(rng.randint(2, 10)))
    return Job(kind="prefs add", arguments=arguments, confirms=if_done(Fact("prefs", words)))


def note(rng: random.Random, _: World) -> Job:
    """`clio note set`."""
    words = words_of(rng)
    arguments = ("note", "set", words_of(rng, 3).replace(" ", "-"), words)  # two notes of one key are one note
    return Job(kind="note set", arguments=arguments, confirms=if_done(Fact("notes", words)))


def rate(rng: random.Random, _: World) -> Job:
    """`clio feedback`: there may be no answer to rate."""
    return Job(kind="feedback", arguments=("feedback", rng.choice("+-0")), codes=(0, 1, 2))


def style(rng: random.Random, _: World) -> Job:
    """`clio style on`, `use`, `auto`, `off`."""
    words = rng.choice([("on",), ("use", "concise"), ("auto",), ("off",), ("reset", "casual")])
    return Job(kind="style", arguments=("style", *words), codes=(0, 1, 2))


def sleep(_: random.Random, __: World) -> Job:
    """A night; refused while another clio has one."""
    return Job(kind="memory sleep", arguments=("memory", "sleep"), codes=(0, 1, 2))


def compact(_: random.Random, __: World) -> Job:
    """Archives what has faded; nothing here has."""
    return Job(kind="memory compact", arguments=("memory", "compact"))


def share(rng: random.Random, _: World) -> Job:
    """From one file of project knowledge to a folder of them, and back."""
    words = rng.choice([("on", "--yes"), ("off", "--yes"), ("tidy", "--yes"), ("status",)])
    return Job(kind="memory share", arguments=("memory", "share", *words), codes=(0, 1, 2))


def bring(_: random.Random, __: World) -> Job:
    """Sessions of another agent."""
    return Job(kind="import", arguments=("import", "aider", "--again"))


def documents(rng: random.Random, _: World) -> Job:
    """Vectors of a document, taken in and let go."""
    words = rng.choice([("add", "doc.md"), ("remove", "doc.md"), ("refresh",), ("search", "marmots")])
    return Job(kind="docs", arguments=("docs", *words), codes=(0, 1, 2))


def search(rng: random.Random, _: World) -> Job:
    """Builds the index of sessions as far as it is behind."""
    words = rng.choice([("sessions", "search", "marmot"), ("recall", "burrow", "Done")])
    return Job(kind="index", arguments=words)


def take_back(rng: random.Random, world: World) -> Job:
    """`/undo` and `/redo` of files, as the shell does them: the last turn, or two."""
    return Job(kind="undo", work=lambda: undo(world, rng.choice([1, 1, 2])))


def undo(world: World, turns: int) -> None:
    """Take the last turns back, or what was taken back forth again. Runs in a process of its own."""
    checkpoints = checkpoints_of(world)
    checkpoints.recover()
    taken = checkpoints.taken_back()
    last = [turn for turn in checkpoints.turns() if turn.message not in taken][-turns:]
    plan = checkpoints.plan_redo({turn.session for turn in checkpoints.turns()}) if taken else None
    if plan is None and last:
        plan = checkpoints.plan_back([turn.message for turn in last], "undo")
    if plan is not None:
        checkpoints.carry_out(plan, last[-1].session if last else "")


def checkpoints_of(world: World) -> Checkpoints:
    """What is kept of the project's files."""
    return Checkpoints(world.project, world.home / ".clio" / "checkpoints", lister=list_all)


KINDS: dict[Callable[[random.Random, World], Job], int] = {
    turn: 6, prompt: 3, learn: 4, remember: 4, prefer: 3, note: 2, rate: 1, style: 1, sleep: 2, compact: 1, share: 3,
    bring: 2, documents: 2, search: 2, take_back: 3,
}  # fmt: skip
"""How often each comes up."""


def settling(rng: random.Random, world: World) -> list[Job]:
    """What happens in a project before anybody is killed: there is a session, and styles are on."""
    first = Job(
        kind="first",
        arguments=("-p", f"{words_of(rng)} script:5", "--output", "stream-json", "--approve", "all"),
        confirms=remembered_in,
    )
    return [Job(kind="style", arguments=("style", "on")), first, learn(rng, world)]


def any_job(rng: random.Random, world: World) -> Job:
    """One of all kinds."""
    [kind] = rng.choices(list(KINDS), list(KINDS.values()))
    return kind(rng, world)
