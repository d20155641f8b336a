"""What a line of bash runs, and where, found a second time by a reader written by hand. Pure.

The grammar of tree-sitter guesses where a line is odd. This reader follows bash's own rules, knows far fewer of them,
and gives up on all else. Only what both find alike is understood, and where a command runs is what this one says.
"""

import re
from collections.abc import Callable

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.moves import DECIDES_MOVES, Exits, Paths, either
from clio.security.shell.scan import MAX_DEPTH, Lost
from clio.security.shell.simple import CLOSING, COMPOUND, PARENS, Simple
from clio.security.shell.words import Word

_FUNCTION = LatePattern(r"[A-Za-z_][\w.-]*", re.ASCII)
_NAME = LatePattern(r"[A-Za-z_]\w*", re.ASCII)
_IN_TEST = LatePattern(r"&&|\|\||[()]|[<>](?!\()")
_SPLIT_SIGN = LatePattern(r"[;&|<>($]\\\n(?:\\\n)*[;&|<>({\[]")
_CASE_END = LatePattern(r";;&|;;|;&")


class Outline(Simple):
    """All that one line runs; see `Simple` for what is kept.

    lost: why the line could not be read; "" where it could. plain: a shell less than bash reads it, in which the end of
    a pipe may move the line.
    """

    def __init__(self, source: bytes, *, plain: bool) -> None:
        super().__init__(source.decode("latin-1"))
        self.plain = plain
        self.lost = ""
        try:
            if _SPLIT_SIGN.search(self.text):
                raise Lost("a sign may go on over the end of a line")
            self.commands("")
            if self.at < self.end or self.waiting:
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
        except (Lost, RecursionError) as error:
            self.lost = str(error) or "it is nested too deeply"
        if self.moved and self.deferred:
            # A function, or the next round of a loop, runs wherever the line is by then.
            self.places = dict.fromkeys(self.places)

    def commands(self, closing: str) -> None:
        """All statements up to the end or the sign that closes them, in a shell of their own."""
        place = self.here
        self.statements(closing)
        self.here = place

    def statements(self, *closing: str) -> Exits:
        """Statements up to one of these words or signs, which is not read; where the last one leaves the line."""
        exits: Exits = (self.here, self.here)
        while True:
            self.gap()
            if self.at >= self.end or self.peek() == ")" or self.reserved(*closing):
                return exits
            if "esac" in closing and self.peek(2) in (";;", ";&"):  # `a & ;;`
                return exits
            start = self.here
            exits = self.chain()
            self.here = either(exits[1], exits[0])
            if self.peek() == "&" and self.peek(2) != "&&":
                # zsh runs all but the last pipe of it in the shell itself.
                self.here = either(start, *exits) if self.plain else start
                exits = (self.here, self.here)
            elif "esac" in closing and self.peek(2) in (";;", ";&"):
                return exits
            elif self.peek() not in (";", "\n", ")", ""):
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
            if self.peek() in (";", "&"):
                self.at += 1

    def chain(self) -> Exits:
        """Pipes joined by `&&` and `||`."""
        worked, failed = self.pipeline()
        while (joint := self.peek(2)) in ("&&", "||"):
            self.at += 2
            self.gap()
            self.here = worked if joint == "&&" else failed
            again = self.pipeline()
            worked, failed = (
                (again[0], either(failed, again[1])) if joint == "&&" else (either(worked, again[0]), again[1])
            )
        return worked, failed

    def pipeline(self) -> Exits:
        """One command, or several, each in a shell of its own."""
        negated = self.reserved("!")
        if negated:
            self.at += 1
            if self.peek() not in (" ", "\t"):
                raise Lost("a ! touches what is behind it")
            self.blanks()
        start = self.here
        exits = self.command()
        while self.peek() == "|" and self.peek(2) != "||":
            self.at += len("|&") if self.peek(2) == "|&" else 1
            self.here = start
            self.gap()
            last = either(start, *self.command())
            exits = (last, last) if self.plain else (start, start)
        self.here = start
        return (exits[1], exits[0]) if negated else exits

    def expect(self, *words: str) -> str:
        """Go over one of these words, and say which it was."""
        word = self.reserved(*words)
        if not word:
            raise Lost(f"{' or '.join(words)} is missing")
        self.at += len(word)
        return word

    def command(self) -> Exits:
        """A call or a compound command, with its redirects and the blanks behind it."""
        if self.reserved(*CLOSING):
            raise Lost(f"it cannot go on at {self.peek(20)!r}")
        start = self.here
        word = self.reserved(*COMPOUND)
        if word or self.peek() == "(":
            self.places[self.at] = start
            exits = self.compound(word)
            self.here = start  # where its redirects lead
            self.blanks()
            while self.redirect():
                self.blanks()
        else:
            exits = self.simple()
        return exits

    def compound(self, word: str) -> Exits:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Lost("it is nested too deeply")
        start = self.here
        readers: dict[str, Callable[[], Exits]] = {
            "if": self.choice,
            "while": self.loop,
            "until": self.loop,
            "for": self.walk,
            "case": self.cases,
            "[[": self.test,
        }
        self.at += len(word)
        if word in readers:
            exits = readers[word]()
        elif word == "{":
            exits = self.statements("}")
            self.expect("}")
        elif word == "function":
            self.blanks()
            exits = self.function(Word(self.skip(_FUNCTION)))
        elif self.peek(2) == "((":
            self.at += 2
            self.sum()
            exits = start, start
        else:
            self.take("(")
            self.statements(")")
            self.take(")")
            exits = start, start
        self.depth -= 1
        return exits

    def choice(self) -> Exits:
        ends = list[Paths]()
        worked, failed = self.statements("then")
        self.expect("then")
        while True:
            self.here = worked
            ends.append(either(*self.statements("elif", "else", "fi")))
            self.here = failed
            match self.expect("elif", "else", "fi"):
                case "elif":
                    worked, failed = self.statements("then")
                    self.expect("then")
                    continue
                case "else":
                    ends.append(either(*self.statements("fi")))
                    self.expect("fi")
                case _:
                    ends.append(failed)
            return either(*ends), either(*ends)

    def loop(self) -> Exits:
        start = self.here
        self.loops += 1
        before = either(*self.statements("do"))
        self.here = before
        return self.body(start, before)

    def walk(self) -> Exits:
        """`for x in …` and `for ((…))`."""
        start = self.here
        self.loops += 1
        self.blanks()
        if self.peek(2) == "((":
            self.at += 2
            self.sum(parted=True)
        else:
            if not self.skip(_NAME):
                raise Lost("a loop has no name")
            self.gap()
            if self.reserved("in"):
                self.at += 2
                self.words("\n;")
        self.blanks()
        if self.peek() == ";":
            self.at += 1
        self.gap()
        return self.body(start, start)

    def body(self, start: Paths, before: Paths) -> Exits:
        self.expect("do")
        after = either(start, before, *self.statements("done"))
        self.expect("done")
        self.loops -= 1
        return after, after

    def words(self, ends: str) -> None:
        """Words up to one of these signs."""
        self.blanks()
        while self.at < self.end and self.peek() not in ends:
            begin = self.at
            self.word()
            if self.at == begin:
                raise Lost(f"it cannot go on at {self.peek(20)!r}")
            self.blanks()

    def cases(self) -> Exits:
        self.blanks()
        self.word()
        self.gap()
        self.expect("in")
        place = self.here
        self.gap()
        while not self.reserved("esac"):
            if self.peek() == "(":
                self.at += 1
            self.blanks()
            while True:
                begin = self.at
                self.word()
                if self.at == begin:
                    raise Lost("a pattern is missing")
                self.blanks()
                if self.peek() != "|":
                    break
                self.at += 1
                self.blanks()
            self.take(")")
            place = either(place, *self.statements("esac"))
            self.here = place
            if not self.skip(_CASE_END) and not self.reserved("esac"):
                raise Lost("a case has no end")
            self.gap()
        self.expect("esac")
        return place, place

    def test(self) -> Exits:
        """`[[ … ]]`."""
        start, sought = self.here, False
        while True:
            self.gap()
            if self.reserved("]]") or self.peek(2) == "]]":
                break
            begin = self.at
            if not sought and self.skip(_IN_TEST):
                continue
            word = self.word()
            while sought and self.peek() in ("(", ")", "|"):  # a pattern behind =~
                self.at += 1
                self.word()
            if self.at == begin:
                raise Lost("a test cannot be read")
            sought = word == Word("=~")
        self.take("]]")
        return start, start

    def function(self, name: Word) -> Exits:
        """A function, whose name is read."""
        start = self.here
        self.blanks()
        self.skip(PARENS)
        self.gap()
        if _FUNCTION.fullmatch(name.text) is None or name.dynamic or name.text in DECIDES_MOVES:
            raise Lost("a function has a strange name")
        if not self.reserved(*COMPOUND - {"function"}) and self.peek() != "(":
            raise Lost("a function has no body")
        self.deferred = True
        self.command()
        return start, start
