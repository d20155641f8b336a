"""What clios confirmed, and whether all of it is there: asked of clio itself, in a process of its own."""

import contextlib
import io
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torture.job import Fact, Job, Said, said_in
from torture.jobs import checkpoints_of
from torture.process import Ended, start, why_it_broke
from torture.world import World

STORES: dict[str, tuple[str, ...]] = {
    "ltm": ("memory", "list", "--all", "--json"),
    "memories": ("memory", "recall", "--limit", "100000", "--json"),
    "prefs": ("prefs", "show", "--json"),
    "notes": ("note", "list", "--json"),
    "styles": ("style", "list", "--json"),
    "documents": ("docs", "list", "--json"),
    "log": ("memory", "log", "--json"),
}
BUG = re.compile(r"this is a bug in clio|Traceback \(most recent|unhandled exception", re.IGNORECASE)


class Oracle:
    """Grows with each run of clio; `check` gives what is wrong, in sentences."""

    def __init__(self) -> None:
        self.said: dict[str, list[str]] = {}
        self.facts: set[Fact] = set()
        self.problems: list[str] = []

    def note(self, job: Job, ended: Ended) -> None:
        """Take in what a run confirmed. What cannot be understood of it is a problem, and no end of the torture."""
        self.facts -= set(job.begins)
        try:
            for session, message in said_in(ended.out) if "stream-json" in job.arguments else ():
                self.said.setdefault(session, []).append(message)
            self.facts |= set(job.confirms(ended))
        except Exception:
            self.problems.append(f"{job.kind}: what it said cannot be read: {ended.out[-1000:]}: {why_it_broke()}")
        if ended.code is None:
            self.problems.append(f"{job.kind}: hung\n{ended.err[-4000:]}")
        elif not ended.killed and (ended.code not in job.codes or BUG.search(ended.err)):
            self.problems.append(f"{job.kind}: exit code {ended.code}: {ended.err[-2000:]}")

    def take(self, said: Sequence[Said], facts: Sequence[Fact], problems: Sequence[str]) -> None:
        """Take in what another process's oracle heard."""
        for session, message in said:
            self.said.setdefault(session, []).append(message)
        self.facts |= set(facts)
        self.problems += problems

    def check(self, world: World, *, ordered: bool = True) -> list[str]:
        """Everything opens; all that was confirmed is there, once; nothing was set aside. Sentences of what is not."""
        ended = start((), world.project, world.env, work=lambda: look(list(self.said))).finish()
        if ended.code != 0:
            return [f"looking failed with {ended.code}: {ended.err[-3000:]}"]
        try:
            wrong = self.compare(json.loads(ended.out), ordered=ordered)
        except Exception:
            return [f"what looking found cannot be read: {ended.out[-1000:]}: {why_it_broke()}"]
        return wrong + [f"{name} of the project is torn" for name in world.torn()]

    def compare(self, found: dict[str, Any], *, ordered: bool = True) -> list[str]:
        """The same for what `look` gave. ordered: False where several were heard, nobody knows in which order."""
        wrong = [f"opening: {sentence}" for sentence in found["errors"]]
        for session, ids in self.said.items():
            there = found["sessions"].get(session)
            if there is None:
                wrong.append(f"session {session} with {len(ids)} confirmed messages is gone")
                continue
            missing = [one for one in ids if one not in set(there)]
            wrong += [f"session {session}: confirmed message {one} is gone" for one in missing]
            wrong += [f"session {session}: {one} is there {n} times" for one, n in Counter(there).items() if n > 1]
            order = [one for one in there if one in set(ids)]
            if ordered and not missing and order != list(dict.fromkeys(ids)):
                wrong.append(f"session {session}: the messages stand in another order")
        for fact in sorted(self.facts, key=str):
            wrong += _not_so(fact, found)
        return wrong + [f"set aside without damage: {name}" for name in found["corrupt"]]


def _not_so(fact: Fact, found: dict[str, Any]) -> list[str]:
    """What is wrong about one fact, if anything."""
    gone, store = fact.store.startswith("gone "), fact.store.removeprefix("gone ")
    if store not in found["kept"]:
        times = found["texts"][store].count(fact.text)
        if gone:
            return [f"{store}: {fact.text!r} was forgotten and is there {times} times"] if times else []
        return [f"{store}: {fact.text!r} is there {times} times"] if times != 1 else []
    kept: dict[str, str] = found["kept"][store]
    if gone:
        back = [f"{key} {text}" for key, text in kept.items() if key.startswith(fact.key)]
        return [f"{store}: {fact.key!r} was forgotten and is there: {back}"] if back else []
    there = kept.get(fact.key)
    if there is None or not _alike(there, fact.text):
        return [f"{store}: {fact.key!r} is {there!r} and was confirmed as {fact.text!r}"]
    return []


def _alike(one: str, other: str) -> bool:
    """Whether two texts are the same, or numbers that differ by what fades within hours."""
    if one == other:
        return True
    try:
        pairs = list(zip(map(float, one.split()), map(float, other.split()), strict=True))
    except ValueError:
        return False
    return all(abs(a - b) < 0.02 for a, b in pairs)


def look(sessions: Sequence[str]) -> dict[str, Any]:
    """What clio finds in the current folder: runs in a process in which nothing was read before."""
    from clio.cli import main
    from clio.errors import ClioError
    from clio.sessions.store import SessionStore

    texts: dict[str, list[str]] = {}
    errors: list[str] = []
    for store, words in STORES.items():
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(words))
        said, complained = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
        if code != 0 or complained.strip():
            errors.append(f"clio {' '.join(words)}: {code}: {complained[-1000:]}")
        texts[store] = texts_in(store, said)
    store = SessionStore(Path(".clio/sessions").absolute())
    ids: dict[str, list[str]] = {}
    for info in store.list():
        try:
            session = store.open(info.id) if info.imported is None else None
        except ClioError as error:
            errors.append(f"session {info.id}: {error}")
            continue
        if session is None:
            ids[info.id] = [message.id for message in store.read(info.id)]
            continue
        ids[info.id] = [message.id for message in session.messages]
        errors += [f"session {info.id}: {warning}" for warning in session.warnings]
        session.close()
    world = World(Path.cwd().parent, "")
    checkpoints = checkpoints_of(world)
    checkpoints.recover()
    checkpoints.pop_messages()
    checkpoints.recover()
    errors += [f"checkpoints, the second time: {news}" for news in checkpoints.pop_messages()]
    checkpoints.list_turns()
    kept = world.kept()
    return {
        "texts": texts,
        "kept": _kept(errors),
        "sessions": ids,
        "errors": errors,
        "corrupt": [str(path) for path in kept if ".corrupt-" in path.name],
        "temporary": [str(path) for path in kept if path.name.endswith(".tmp")],
        "locks": [str(path) for path in kept if path.name.endswith(".lock")],
    }


def _kept(errors: list[str]) -> dict[str, dict[str, str]]:
    """What stands under a name: ratings by answer, what styles earned by style and context, what is switched on."""
    import os

    from clio.config.layers import load_config
    from clio.config.options import Options
    from clio.entrypoints.subcommand import SubcommandContext
    from clio.errors import ClioError

    kept: dict[str, dict[str, str]] = {"ratings": {}, "styles": {}, "switches": {}}
    shell = SubcommandContext(load_config(Options(cwd=Path.cwd()), os.environ))
    try:
        for one in shell.memory.feedback.trajectories.all():
            mine = [rating for rating in one.ratings if rating.source == "you" and not rating.withdrawn]
            kept["ratings"] |= {rating.message: str(rating.reward) for rating in mine}
        state, now = shell.memory.styles.state(), time.time()
    except (ClioError, OSError) as error:
        errors.append(f"styles and ratings: {error}")
        return kept
    finally:
        shell.close()
    for context, arms in state.contexts.items():
        for style in arms:
            earned = state.earned(context, style, now)
            kept["styles"][f"{style} {context}"] = f"{earned.ups} {earned.downs}"
    kept["switches"] = {"on": str(state.on), "pinned": state.pinned}
    return kept


def texts_in(store: str, out: str) -> list[str]:
    """The texts of one store, as its command prints them in JSON; none where it printed none."""
    try:
        data = json.loads(out)
    except ValueError:
        return []
    match store:
        case "ltm":
            return [entry["text"] for entry in data["entries"]]
        case "memories":
            return [one["content"] for one in data]
        case "prefs":
            return [one["item"] for one in data]
        case "notes":
            return [one["content"] for one in data]
        case _:
            return []
