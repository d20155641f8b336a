"""The name a person may have meant."""

from collections.abc import Iterable

from clio.algorithms.slips import nearest_name

ELSEWHERE: dict[str, str] = {
    "add": "@path in a message",
    "bug": "clio doctor, outside",
    "compact": "/session trim",
    "config": "clio config show, outside",
    "doctor": "clio doctor, outside",
    "forget": "/memory forget",
    "history": "/session list",
    "init": "clio init, outside",
    "mode": "/approve",
    "new": "/session new",
    "permissions": "/approve",
    "reasoning": "/effort",
    "remember": "/memory remember",
    "reset": "/session new",
    "resume": "/session list",
    "run": "!command",
    "settings": "clio config show, outside",
    "status": "/session show",
    "think": "/effort",
    "tokens": "/context",
    "usage": "/cost",
}
"""What other agents' commands are called here; never the name of a command that exists."""
_MANY = 4


def nearest(word: str, known: Iterable[str], prefix: str = "", otherwise: str = "") -> str:
    """The end of a sentence that helps on: "did you mean 'x'?", or the whole choice. `prefix` goes before each.

    A beginning that only a few names share gives all of them. otherwise: said in place of a long choice.
    """
    names, typed = list(known), word.lower()
    starts = [name for name in names if typed and name.startswith(typed)]
    near = nearest_name(typed, names)
    best = starts if 0 < len(starts) <= _MANY else [near] if near else []
    if best:
        *others, last = (repr(prefix + name) for name in best)
        return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return otherwise or "choose one of " + ", ".join(prefix + name for name in names)
