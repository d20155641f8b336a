"""What tortured clios are asked to do, and what their output confirms."""

import json
import random
from collections.abc import Callable

from msgspec import structs

from clio.checkpoints.checkpoints import Checkpoints
from tests.checkpoints.support import list_all
from torture.endings import ALONE, ENDINGS, UNSETTLES, Known
from torture.job import Fact, Job, if_done, if_named, remembered_in
from torture.world import SCRIPTS, World, words_of


def turn(rng: random.Random, _: World) -> Job:
    """One to three turns over pipes, in the newest session or a new one."""
    lines = [
        {"type": "user", "text": f"{words_of(rng, 3)} script:{rng.randrange(SCRIPTS)}"}
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
    words = f"{words_of(rng, 3)} script:{rng.randrange(SCRIPTS)}"
    which = rng.choice([("-c",), ()])
    arguments = ("-p", words, "--output", "stream-json", "--approve", "all", *which)
    return Job(kind="-p", arguments=arguments, confirms=remembered_in, codes=(0, 1, 2))


def learn(rng: random.Random, _: World) -> Job:
    """`clio memory add`."""
    words = words_of(rng)
    kind = rng.choice(["discovery", "pattern", "failure", "rule"])
    return Job(kind="memory add", arguments=("memory", "add", kind, words, "--json"), confirms=if_named("ltm", words))


def remember(rng: random.Random, _: World) -> Job:
    """`clio memory remember`."""
    words, kind = words_of(rng), rng.choice(["fact", "event", "note"])
    arguments = ("memory", "remember", words, "--type", kind, "--json")
    return Job(kind="memory remember", arguments=arguments, confirms=if_named("memories", words))


def prefer(rng: random.Random, _: World) -> Job:
    """`clio prefs add`."""
    words = words_of(rng)
    arguments = ("prefs", "add", words, "--score", str(rng.randint(2, 10)))
    return Job(kind="prefs add", arguments=arguments, confirms=if_done(Fact("prefs", words)))


def note(rng: random.Random, _: World) -> Job:
    """`clio note set`."""
    words, key = words_of(rng), words_of(rng, 3).replace(" ", "-")  # two notes of one key are one note
    return Job(kind="note set", arguments=("note", "set", key, words), confirms=if_done(Fact("notes", words, key)))


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
    return Job(kind="undo", work=lambda: undo(world, rng.choice([1, 1, 2])), codes=(0, 1))


def undo(world: World, turns: int) -> None:
    """Take the last turns back, or what was taken back forth again. Runs in a process of its own.

    Raises UserError where another clio has changed a file this moment.
    """
    checkpoints = checkpoints_of(world)
    checkpoints.recover()
    taken = checkpoints.list_undone_turns()
    last = [turn for turn in checkpoints.list_turns() if turn.message not in taken][-turns:]
    plan = checkpoints.plan_redo({turn.session for turn in checkpoints.list_turns()}) if taken else None
    if plan is None and last:
        plan = checkpoints.plan_undo([turn.message for turn in last], "undo")
    if plan is not None:
        checkpoints.carry_out(plan, last[-1].session if last else "")


def checkpoints_of(world: World) -> Checkpoints:
    """What is kept of the project's files."""
    return Checkpoints(world.project, world.home / ".clio" / "checkpoints", list_files=list_all)


KINDS: dict[Callable[[random.Random, World], Job], int] = {
    turn: 6, prompt: 3, learn: 4, remember: 4, prefer: 3, note: 2, sleep: 3, compact: 1, share: 4, bring: 2,
    documents: 2, search: 2, take_back: 3,
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


def any_job(rng: random.Random, world: World, known: Known = (), *, alone: bool = False) -> Job:
    """One of all kinds.

    known: what may be forgotten. alone: whether no other clio rates answers or changes styles in this project's home,
    so that what is known of them stays until a clio of this oracle changes it; else nothing is taken to be confirmed.
    """
    makers = {**KINDS, **ENDINGS, **ALONE}
    job = None
    while job is None:
        [maker] = rng.choices(list(makers), list(makers.values()))
        if maker in KINDS:
            job = maker(rng, world)
        elif maker in ENDINGS or alone:
            job = maker(rng, known)
        else:
            job = structs.replace(maker(rng, ()), confirms=lambda _: ())
    ended = UNSETTLES.get(job.kind, frozenset[str]())
    return structs.replace(job, begins=(*job.begins, *(fact for fact in known if fact.store in ended)))
