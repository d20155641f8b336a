"""What tortured clios are asked to forget, and what their styles are asked to learn: it hangs on what is known by then.

What was forgotten with a word of it must never come back, whatever nights, shared folders and kills come after.
"""

import random
from collections.abc import Callable, Collection, Sequence

from torture.job import Fact, Job, document, if_done
from torture.process import Ended

Known = Collection[Fact]
LEARNED = frozenset(("styles", "gone styles"))
"""What every turn and every rating may change: signs in a person's next words are ratings too."""


def forget(rng: random.Random, known: Known) -> Job | None:
    """`clio memory forget`, of knowledge or of a memory."""
    return _end(rng, known, ("ltm", "memories"), ("memory", "forget"), by_key=True)


def drop_note(rng: random.Random, known: Known) -> Job | None:
    """`clio note delete`."""
    return _end(rng, known, ("notes",), ("note", "delete"), by_key=True)


def drop_preference(rng: random.Random, known: Known) -> Job | None:
    """`clio prefs remove`."""
    return _end(rng, known, ("prefs",), ("prefs", "remove"), by_key=False)


def _end(
    rng: random.Random, known: Known, stores: Sequence[str], words: tuple[str, str], *, by_key: bool
) -> Job | None:
    """The job that ends one of the facts of these stores; None where there is none that has a name."""
    chosen = sorted((fact for fact in known if fact.store in stores and (fact.key or not by_key)), key=str)
    if not chosen:
        return None
    fact = rng.choice(chosen)
    return Job(
        kind=" ".join(words),
        arguments=(*words, fact.key if by_key else fact.text, *(("--yes",) if words[1] == "forget" else ())),
        begins=(fact,),
        confirms=if_done(Fact(f"gone {fact.store}", fact.text, fact.key)),
    )


def rate(rng: random.Random, known: Known) -> Job | None:
    """`clio feedback`: what it kept of the rating and what the style earned; there may be no answer to rate."""
    return Job(
        kind="feedback",
        arguments=("feedback", rng.choice("++-0"), "--json"),
        begins=tuple(fact for fact in known if fact.store == "ratings"),
        confirms=rated_in,
        codes=(0, 1, 2),
    )


def rated_in(ended: Ended) -> list[Fact]:
    """The rating, by the answer it is for; and what the answer's style has earned, by style and context."""
    noted = document(ended)
    if not noted:
        return []
    facts = [Fact("ratings", str(noted["rating"]["reward"]), noted["rating"]["message"])]
    if learned := noted["learned"]:
        after = learned["after"]
        facts.append(Fact("styles", f"{after['ups']} {after['downs']}", f"{learned['style']} {learned['bucket']}"))
    return facts


def reset_style(rng: random.Random, known: Known) -> Job | None:
    """`clio style reset`, of one about which something is known if there is any."""
    style = rng.choice(sorted({fact.key.split()[0] for fact in known if fact.store == "styles"}) or ["casual"])
    return Job(
        kind="style reset", arguments=("style", "reset", style), confirms=if_done(Fact("gone styles", "", f"{style} "))
    )


def switch_style(rng: random.Random, known: Known) -> Job | None:
    """`clio style on`, `off`, `use`, `auto`."""
    words, facts = rng.choice(_SWITCHES)
    begins = tuple(fact for fact in known if fact.store == "switches")
    # Of what a switch leaves as it was nobody knows more than before.
    left = tuple(fact for fact in begins if fact.key not in {new.key for new in facts})
    return Job(kind="style", arguments=("style", *words), begins=begins, confirms=if_done(*facts, *left))


_ON, _OFF = Fact("switches", "True", "on"), Fact("switches", "False", "on")
_SWITCHES: tuple[tuple[tuple[str, ...], tuple[Fact, ...]], ...] = (
    (("on",), (_ON,)),
    (("on",), (_ON,)),
    (("use", "concise"), (_ON, Fact("switches", "concise", "pinned"))),
    (("auto",), (_ON, Fact("switches", "", "pinned"))),
    (("off",), (_OFF,)),
)

Maker = Callable[[random.Random, Known], Job | None]
ENDINGS: dict[Maker, int] = {forget: 5, drop_note: 2, drop_preference: 2}
"""How often each comes up, wherever something is known that can end."""
ALONE: dict[Maker, int] = {rate: 3, reset_style: 1, switch_style: 2}
"""The same for what is one thing for all clios of a person, which another may change meanwhile."""
UNSETTLES: dict[str, frozenset[str]] = {
    "turns": LEARNED,
    "-p": LEARNED,
    "feedback": LEARNED,
    "style reset": LEARNED | {"switches"},
}
"""The stores whose facts a kind of job may change, whatever comes of it."""
