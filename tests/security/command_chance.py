"""Random command lines, reproducible by seed: ordinary ones, the same ones disguised, and unusual ones."""

import random
import re
from pathlib import Path

_NAMES = ("hit", "rm", "git", "ls", "touch", "cat", "curl")
_JOINTS = (" ; ", ";", " && ", " || ", " | ", "\n", " |& ", "&&", " & ", "\n\n", " |\n ")
_PIECE = re.compile(r"«(['\"]?)([^»]+)»")
_PLAIN_WORD = re.compile(r"(?<![\w$./\\-])[A-Za-z][\w./-]*[A-Za-z](?![\w=(])")
_DEPTH = 6
# What a template puts after a piece that ends with a here-document.
_HERE_END = re.compile(r"\n(EOF|END|PY)(?:; ?| (?=#)|(?=[)}\"]))")


def line(seed: int) -> str:
    """Return one line: three in four are ordinary, half of them disguised; the others are unusual."""
    chance = random.Random(seed)
    if chance.random() < 0.2:
        return Exotic(chance).line()
    text = Ordinary(chance).line()
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        text = disguised(text, chance)
    return text


def disguised(text: str, chance: random.Random) -> str:
    """Return a line written in another way: with a quoted word, a line break, a comment, a wrapper, or nested."""
    kind = chance.choice(("word", "word", "word", "blank", "blank", "joint", "joint", "nest", "nest", "end", "noise"))
    if kind == "word":
        words = list(_PLAIN_WORD.finditer(text))
        if not words:
            return text
        found = chance.choice(words)
        return text[: found.start()] + spelled(found[0], chance.choice(_EXOTIC["spellings"])) + text[found.end() :]
    if kind == "nest":
        form = chance.choice(_ORDINARY["nests"])
        return _PIECE.sub(lambda match: _QUOTES[match[1]](text), form)
    if kind == "end":
        return text + chance.choice(_ORDINARY["ends"])
    if kind == "noise":
        at = chance.randrange(len(text) + 1)
        return text[:at] + chance.choice(_EXOTIC["noise"]) + text[at:]
    places = [match.end() for match in re.finditer(r" " if kind == "blank" else r"&& |; |\|\|? |\n", text)]
    if not places:
        return text
    at = chance.choice(places)
    return text[:at] + chance.choice(_ORDINARY["blanks" if kind == "blank" else "joints"]) + text[at:]


def spelled(name: str, form: str) -> str:
    """Return a word in a form of [spellings]."""
    half = len(name) // 2
    return form.format(
        name=name,
        head=name[:half],
        tail=name[half:],
        first=name[0],
        rest=name[1:],
        begin=name[:-1],
        last=name[-1],
        hex=f"{ord(name[0]):02x}",
        octal=f"{ord(name[0]):03o}",
    )


class Ordinary:
    """Lines as people and models write them, from the pieces in `command_ordinary.txt`."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def line(self) -> str:
        """Return one line."""
        return _HERE_END.sub(lambda match: f"\n{match[1]}\n", self.piece("line", _DEPTH))

    def piece(self, kind: str, depth: int) -> str:
        """Return a piece of a kind, filled in; the deeper, the simpler."""
        pieces = _ORDINARY[kind]
        form = self.chance.choice(pieces) if depth > 0 else pieces[0]
        return _PIECE.sub(lambda match: _QUOTES[match[1]](self.piece(match[2], depth - 1)), form)


class Exotic:
    """Lines as an attacker may write them, from the pieces in `command_grammar.txt`."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.count = 0

    def line(self) -> str:
        """Return one line, usually a valid one."""
        text = self.list(self.chance.choice((1, 2, 2, 3)))
        if self.chance.random() < 0.08:
            at = self.chance.randrange(len(text) + 1)
            text = text[:at] + self.piece("noise") + text[at:]
        return text

    def piece(self, kind: str) -> str:
        """Return a piece of a kind."""
        return self.chance.choice(_EXOTIC[kind])

    def list(self, depth: int) -> str:
        """Return joined statements."""
        text = self.statement(depth)
        for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2))):
            text += self.chance.choice(_JOINTS) + self.statement(depth)
        return text

    def statement(self, depth: int) -> str:
        """Return a simple or compound command, perhaps with redirects."""
        if depth <= 0 or self.chance.random() < 0.5:
            return self.command(depth)
        lists, calls = [self.list(depth - 1) for _ in range(2)], [self.command(depth - 1), self.command(0)]
        quoted = self.chance.choice((_single, _double))(self.list(depth - 1))
        words = {
            "w": self.word(depth - 1),
            "p": self.word(0),
            "q": quoted,
            "h": self.here(depth - 1),
            "r": self.target(),
            "v": self.piece("names"),
            "s": self.piece("setters"),
            "d": self.piece("declares"),
        }
        text = self.piece("forms").format(*lists, *calls, **words)
        return text + self.redirect() if self.chance.random() < 0.1 and not text.endswith(("E", "\n")) else text

    def command(self, depth: int) -> str:
        """Return a call of a stand-in, perhaps through wrappers, with assignments and redirects in odd places."""
        self.count += 1
        parts = [f"V{self.count}={self.word(0)}"] if self.chance.random() < 0.1 else []
        while self.chance.random() < 0.15:
            parts.append(self.piece("wrappers"))
        parts.append(spelled(self.chance.choice(_NAMES), self.piece("spellings")))
        for _ in range(self.chance.choice((0, 1, 1, 2, 3))):
            parts.append(self.word(depth) if self.chance.random() < 0.85 else self.redirect().strip())
        if self.chance.random() < 0.08:
            parts.insert(0, self.redirect().strip())
        text = self.chance.choice((" ", " ", " ", " ", "  ", "\t", " \\\n")).join(parts)
        return text + (self.chance.choice((" # hit x\n", " #\n", "\n")) if self.chance.random() < 0.03 else "")

    def word(self, depth: int) -> str:
        """Return an argument."""
        if depth <= 0 or self.chance.random() < 0.65:
            return self.piece("words")
        flat, quoted = self.command(0).replace("\\\n", " ").replace("`", ""), self.command(0).replace("'", "")
        return self.piece("substitutions").format(self.list(depth - 1), flat, self.piece("sums"), quoted)

    def here(self, depth: int) -> str:
        """Return a line of a here-document."""
        return f"text {self.word(depth)} 'and' {self.word(depth)} \" $x".replace("\n", " ")

    def target(self) -> str:
        """Return the target of a redirect."""
        return self.piece("targets")

    def redirect(self) -> str:
        """Return a redirect with the blank before it."""
        return self.piece("redirects").format(self.target())


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _double(text: str) -> str:
    return '"' + re.sub(r'([\\"`$])', r"\\\1", text) + '"'


_QUOTES = {"": str, "'": _single, '"': _double}


def _grammar(file: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    for row in text.splitlines():
        if re.fullmatch(r"\[[a-z]+\]", row):
            found[row[1:-1]] = []
        elif found and row:
            next(reversed(found.values())).append(row.translate({ord("␤"): "\n", ord("␉"): "\t", ord("␠"): " "}))
    return found


_EXOTIC = _grammar("command_grammar.txt")
_ORDINARY = _grammar("command_ordinary.txt")
