"""What the menu offers after "@": the project's files by fuzzy match, earlier sessions, notes, servers' resources."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.context.message_parts import write_mention
from clio.messages import Message, ToolMessage, UserMessage
from clio.text.fuzzy import score
from clio.ui.line.file_names import FileNames
from clio.ui.plain import clean_line

if TYPE_CHECKING:
    from clio.commands.command import Shell

MAX_SHOWN = 60
RECENT_BOOST = 12.0
"""Points of the file used last; earlier ones get less, down to a quarter."""
_MAX_RECENT = 40
_MAX_LOOKED_AT = 300  # messages, from the newest
_WORDS = {"session": "an earlier session", "note": "a note"}


class Offer(Struct, frozen=True, kw_only=True):
    """One thing to name. text: as it is written, "@" included. shown: in the menu. note: what it is."""

    text: str
    shown: str
    note: str = ""


class MentionMenu:
    """Offers for a mention that is being typed; called in a thread, one call at a time.

    shell: gives the running App, None while it is being built.
    """

    def __init__(self, shell: "Callable[[], Shell | None]", files: FileNames) -> None:
        self._shell = shell
        self._files = files

    def offers(self, typed: str) -> Iterator[Offer]:
        """What may stand for `typed`, the text behind the "@", quotes included."""
        kind, colon, rest = typed.partition(":")
        bare = typed.removeprefix('"')
        resources = self._resources() if typed else {}
        if colon and kind in resources:
            yield from _matching(resources[kind], rest)
        elif colon and kind in _WORDS:
            yield from self._remembered(kind, rest.removeprefix('"'))
        elif bare.startswith(("/", "~")):
            for path in folder_entries(bare)[:MAX_SHOWN]:
                yield Offer(text=write_mention(path), shown=path)
        else:
            yield from self._paths(bare)
            for word in _WORDS:
                if typed and word.startswith(typed):
                    yield Offer(
                        text=f"@{word}:", shown=f"{word}:", note=f"an earlier {word}" if word != "note" else word
                    )
            for server in resources:
                if server.lower().startswith(bare.lower()):
                    yield Offer(text=f"@{server}:", shown=f"{server}:", note="resources of an MCP server")

    def _resources(self) -> dict[str, list[Offer]]:
        """By server what it offers, as far as it has been asked."""
        shell, found = self._shell(), dict[str, list[Offer]]()
        for server, one in shell.servers.resources() if shell else ():
            note = clean_line(" - ".join(filter(None, (one.name, one.description))))[:60]
            uri = clean_line(one.uri)
            found.setdefault(server, []).append(Offer(text=f"@{server}:{uri}", shown=uri, note=note))
        return found

    def _paths(self, typed: str) -> Iterator[Offer]:
        files, names = self._files.now()
        shell = self._shell()
        boosts = recent_boosts(shell.session.messages if shell else ())
        if typed and not typed.endswith("/"):
            found = names.best(typed.removeprefix("./"), MAX_SHOWN, boosts)
        else:
            used = sorted(boosts, key=lambda path: -boosts[path]) if not typed else []
            known = set(files) if used else set[str]()
            found = [path for path in used if path in known]
            found = list(dict.fromkeys((*found, *next_steps(files, typed.removeprefix("./")))))[:MAX_SHOWN]
        for path in found:
            yield Offer(text=write_mention(path), shown=path)

    def _remembered(self, kind: str, typed: str) -> Iterator[Offer]:
        shell = self._shell()
        if shell is None or shell.config.incognito:
            return
        rows: list[tuple[float, Offer]] = []
        if kind == "session":
            for info in shell.store.list():
                if info.id == shell.session.id:
                    continue
                name = info.name or info.id[:8]
                points = score(typed, f"{name} {info.id} {info.first_words}")
                if points is not None:
                    note = f"from the repository: {info.first_words}" if info.came_with_project else info.first_words
                    rows.append((points, _offer(kind, name, note)))
        else:
            for note in shell.memory.list_notes():
                points = score(typed, note.key)
                if points is not None:
                    rows.append((points, _offer(kind, note.key, " ".join(note.content[:200].split())[:60])))
        if typed:
            rows.sort(key=lambda row: -row[0])
        yield from (offer for _, offer in rows[:MAX_SHOWN])


def recent_boosts(messages: Sequence[Message]) -> dict[str, float]:
    """Points for the files a session's tools have read or changed, and those its messages named; the newest most."""
    used: dict[str, None] = {}
    for message in reversed(messages[-_MAX_LOOKED_AT:]):
        if isinstance(message, ToolMessage) and message.deeds is not None:
            changed = (deed.moved_to or deed.path for deed in message.deeds.changed if deed.kind != "delete")
            used.update(dict.fromkeys((*changed, *message.deeds.read)))
        elif isinstance(message, UserMessage) and "@" in message.content:
            words = (word.lstrip("@").strip('",.') for word in message.content.split() if word.startswith("@"))
            used.update(dict.fromkeys(words))
        if len(used) >= _MAX_RECENT:
            break
    names = list(used)[:_MAX_RECENT]
    return {name: RECENT_BOOST * max(1.0 - place / _MAX_RECENT, 0.25) for place, name in enumerate(names)}


def next_steps(files: Sequence[str], start: str) -> list[str]:
    """The files and folders directly below `start`, a folder with its slash or "" for the top; folders end in one."""
    steps: dict[str, None] = {}
    for path in files:
        if path.startswith(start):
            end = path.find("/", len(start))
            steps[path if end < 0 else path[: end + 1]] = None
    return sorted(steps)


def folder_entries(typed: str) -> list[str]:
    """What lies on disk under an absolute path that is being typed; "~" is the home folder."""
    folder, slash, start = typed.rpartition("/")
    if not slash:
        return ["~/"]
    found: list[str] = []
    try:
        with os.scandir(Path(folder + "/").expanduser()) as entries:
            for entry in entries:
                if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                    found.append(f"{folder}/{entry.name}{'/' if entry.is_dir() else ''}")
    except (OSError, RuntimeError):  # nothing can be listed there, so there is nothing to offer
        return []
    return sorted(found)


def _matching(offers: Sequence[Offer], typed: str) -> Iterator[Offer]:
    """Those of a server's resources that match, best first."""
    rows = [(points, one) for one in offers if (points := score(typed, f"{one.shown} {one.note}")) is not None]
    if typed:
        rows.sort(key=lambda row: -row[0])
    yield from (one for _, one in rows[:MAX_SHOWN])


def _offer(kind: str, name: str, note: str) -> Offer:
    plain = name if name and not any(char.isspace() or char in "\"'`<>|" for char in name) else f'"{name}"'
    return Offer(text=f"@{kind}:{plain}", shown=name, note=note)
