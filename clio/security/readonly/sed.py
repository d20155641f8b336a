"""Judge calls of sed: only scripts that print, delete and replace, parsed like every common sed. Pure."""

import re

from msgspec import Struct

from clio.security.readonly.grammar import Judge, Judgement, ParsedCall, UnknownWord, parse_call, read_grammar
from clio.security.shell.command_line import Word

_OPTIONS = """
    -n -E -r -s -z -u -b -e= -l=number --quiet --silent --regexp-extended --separate --null-data --zero-terminated
    --unbuffered --binary --posix --sandbox --debug --expression= --line-length=number --version --help
    ; path*
    """
_SCRIPT_OPTIONS = ("-e", "--expression")
_DELIMITERS = frozenset("/|#,:@!%~+=_;")
_MAX_SCRIPT = 20_000
"""Longer scripts, in characters, are not parsed."""

_BLANKS = re.compile(r"[ \t]*")
_SEPARATORS = re.compile(r"[ \t\n;]*")
_NUMBER = re.compile(r"\d+", re.ASCII)
_LINE_ADDRESS = re.compile(r"\d+(?:~\d+)?|\$", re.ASCII)
_OFFSET_ADDRESS = re.compile(r"[+~]\d+", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9_.-]*")
_FLAGS = re.compile(r"[gpiImM0-9]*")
_FILE_NAME = re.compile(r"[\w./+-]+", re.ASCII)
_BRACKET_CLASS = re.compile(r"\[:[a-z]+:\]")
_TEXT = re.compile(r"[^\\\n]+(?:\\\n[^\\\n]+)*")
_ONE_LINE = re.compile(r"[^\\\n]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# In some East Asian encodings, the second of these is part of the character before it.
_HALF_CHARACTER = re.compile(r"[^\x00-\x7f][\\|\[\]@_~^{}]")

_PLAIN_COMMANDS = frozenset("=dDgGhHnNpPxzF")
_REFUSED_COMMANDS = {
    "w": "writes a file",
    "W": "writes a file",
    "e": "runs a command",
    "v": "asks for a version of sed",
    "L": "is obsolete",
}


class Address(Struct, frozen=True):
    """An address of a command, as written, with delimiters and modifiers."""

    text: str


class Command(Struct, frozen=True):
    """One command of a script.

    Attributes:
        leading: blanks, newlines and semicolons before it.
        addresses: what precedes the command's letter, including blanks and commas.
        argument: the rest, as written.
    """

    leading: str
    addresses: tuple[Address, ...]
    name: str
    argument: str

    def render(self) -> str:
        """Return the text of the command."""
        return self.leading + "".join(address.text for address in self.addresses) + self.name + self.argument


class Script(Struct, frozen=True):
    """A parsed script. files: the files its `r` and `R` commands read."""

    commands: tuple[Command, ...]
    trailing: str
    files: tuple[str, ...]

    def render(self) -> str:
        """Return the text of the script."""
        return "".join(command.render() for command in self.commands) + self.trailing


def parse_script(fragments: tuple[str, ...]) -> Script:
    """Parse the parts of a script, each the value of one `-e`; sed joins them with newlines.

    Raises:
        UnknownWord: if it is not known to be harmless.
    """
    text = "\n".join(fragments)
    parser = _SedParser(text)
    place = -1
    for fragment in fragments[:-1]:
        place += len(fragment) + 1
        parser.ends.add(place)
    script = parser.parse_script()
    if script.render() != text:
        raise UnknownWord("the sed script is not understood as a whole")
    return script


class _SedParser:
    """Reads one script from left to right. ends: the ends of its parts, which only inserted text may cross."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ends: set[int] = set()
        self.files: list[str] = []
        self.label_line = False
        """Whether the current line contains a label, which in BSD sed extends to the end of the line."""

    def parse_script(self) -> Script:
        """Parse all commands up to the end."""
        if len(self.text) > _MAX_SCRIPT:
            raise UnknownWord("the sed script is too long to check")
        if _CONTROL.search(self.text) or _HALF_CHARACTER.search(self.text):
            raise UnknownWord("the sed script has characters that sed may read in several ways")
        commands: list[Command] = []
        depth = 0
        while True:
            leading = self.take_match(_SEPARATORS)
            if "\n" in leading:
                self.label_line = False
            if self.at == len(self.text):
                break
            command = self.parse_command(leading)
            commands.append(command)
            depth += {"{": 1, "}": -1}.get(command.name, 0)
            if depth < 0:
                break
        if depth:
            raise UnknownWord("the braces of the sed script do not match")
        return Script(commands=tuple(commands), trailing=leading, files=tuple(self.files))

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take_match(self, pattern: re.Pattern[str]) -> str:
        """Consume and return the text that a pattern matches here; "" for none."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def parse_command(self, leading: str) -> Command:
        """Parse one command with its addresses and argument."""
        addresses = self.parse_addresses()
        name = self.peek()
        self.at += len(name)
        begin = self.at
        if name in _REFUSED_COMMANDS:
            raise UnknownWord(f"the sed script uses the command {name!r}, which {_REFUSED_COMMANDS[name]}")
        if name in ("#", "}", ":") and addresses:
            raise UnknownWord(f"the sed script has an address before {name!r}")
        if name == "{":
            pass
        elif name == "}" or (name and name in _PLAIN_COMMANDS):
            self.check_command_end()
        elif name == "#":
            self.parse_comment()
        elif name == "s":
            self.parse_substitute()
        elif name == "y":
            self.parse_transliterate()
        elif name and name in "aic":
            self.parse_inserted_text(name)
        elif name and name in "rR":
            self.parse_file_name(name)
        elif name and name in "qQl":
            self.take_match(_BLANKS)
            self.take_match(_NUMBER)
            self.check_command_end()
        elif name and name in ":btT":
            self.parse_label(name)
        else:
            raise UnknownWord(f"the sed script uses {name!r}, which is no command clio knows" if name else _INCOMPLETE)
        return Command(leading=leading, addresses=addresses, name=name, argument=self.text[begin : self.at])

    def parse_addresses(self) -> tuple[Address, ...]:
        """Parse what precedes a command's letter: up to two addresses, and `!`."""
        found: list[Address] = []
        begin = self.at
        if self.parse_address(second=False):
            found.append(Address(self.text[begin : self.at]))
            begin = self.at
            self.take_match(_BLANKS)
            if self.peek() == ",":
                self.at += 1
                self.take_match(_BLANKS)
                if not self.parse_address(second=True):
                    raise UnknownWord("the sed script has no address after a comma")
                found.append(Address(self.text[begin : self.at]))
                begin = self.at
                self.take_match(_BLANKS)
        if self.peek() == "!":
            self.at += 1
            self.take_match(_BLANKS)
        if self.at > begin:
            found.append(Address(self.text[begin : self.at]))
        return tuple(found)

    def parse_address(self, *, second: bool) -> bool:
        """Parse one address, if there is one."""
        if self.take_match(_LINE_ADDRESS) or (second and self.take_match(_OFFSET_ADDRESS)):
            return True
        delimiter = self.peek()
        if delimiter == "\\":
            self.at += 1
            delimiter = self.peek()
        elif delimiter != "/":
            return False
        self.at += 1
        self.check_delimiter(delimiter)
        self.parse_regex(delimiter)
        while self.peek() and self.peek() in "IM":
            self.at += 1
        return True

    def check_delimiter(self, delimiter: str) -> None:
        if delimiter not in _DELIMITERS:
            raise UnknownWord(f"the sed script uses {delimiter!r} as a delimiter" if delimiter else _INCOMPLETE)

    def parse_regex(self, delimiter: str) -> None:
        """Parse a regular expression and its closing delimiter.

        Every sed skips the character after a backslash, and ignores delimiters in brackets. Versions disagree on where
        brackets end if they contain a backslash or a character class.
        """
        while (letter := self.peek()) != delimiter:
            if letter in ("", "\n"):
                raise UnknownWord("a regular expression of the sed script does not end on its line")
            if letter == "[":
                self.parse_brackets(delimiter)
                continue
            if letter == "\\":
                self.at += 1
                if self.peek() in ("", "\n"):
                    raise UnknownWord("a regular expression of the sed script does not end on its line")
            self.at += 1
        self.at += 1

    def parse_brackets(self, delimiter: str) -> None:
        """Parse a bracket expression in a regular expression."""
        begin = self.at
        self.at += 1
        if self.peek() == "^":
            self.at += 1
        if self.peek() == "]":
            self.at += 1
        classes = False
        while (letter := self.peek()) != "]":
            if letter in ("", "\n"):
                raise UnknownWord("brackets of the sed script are not closed")
            if letter == "[" and self.text[self.at + 1 : self.at + 2] in (":", ".", "="):
                if not self.take_match(_BRACKET_CLASS):
                    raise UnknownWord("brackets of the sed script are read in different ways")
                classes = True
                continue
            if letter == "\\" and self.text[self.at + 1 : self.at + 2] == "]":
                raise UnknownWord("brackets of the sed script are read in different ways")
            self.at += 1
        self.at += 1
        if classes and delimiter in self.text[begin : self.at]:
            raise UnknownWord("brackets of the sed script are read in different ways")

    def parse_replacement(self, delimiter: str, *, lines: bool) -> str:
        """Parse the replacement of `s`, or one half of `y`, with its delimiter. lines: newlines are allowed."""
        begin = self.at
        while (letter := self.peek()) != delimiter:
            if letter in ("", "\n"):
                raise UnknownWord("a replacement of the sed script does not end on its line")
            if letter == "\\":
                self.at += 1
                if self.peek() == "\n":
                    self.take_continuation(lines=lines)
                elif not self.peek():
                    raise UnknownWord("a replacement of the sed script does not end on its line")
            self.at += 1
        self.at += 1
        return self.text[begin : self.at - 1]

    def take_continuation(self, *, lines: bool) -> None:
        if not lines or self.at in self.ends:
            raise UnknownWord("a part of the sed script goes on where it may not")
        self.check_label_line()

    def check_label_line(self) -> None:
        """Refuse a new line after a label: GNU sed ends the label at `;`, BSD sed at the end of the line."""
        if self.label_line:
            raise UnknownWord("the sed script goes on in a new line after a label, which is read in different ways")

    def parse_substitute(self) -> None:
        """Parse `s/…/…/flags`, of which the flags `e` and `w` are refused."""
        delimiter = self.peek()
        self.at += 1
        self.check_delimiter(delimiter)
        self.parse_regex(delimiter)
        self.parse_replacement(delimiter, lines=True)
        self.take_match(_FLAGS)
        flag = self.peek()
        if flag == "e":
            raise UnknownWord("the sed script uses the flag 'e', which runs a command")
        if flag == "w":
            raise UnknownWord("the sed script uses the flag 'w', which writes a file")
        self.check_command_end()

    def parse_transliterate(self) -> None:
        """Parse `y/…/…/`."""
        delimiter = self.peek()
        self.at += 1
        self.check_delimiter(delimiter)
        halves = self.parse_replacement(delimiter, lines=False), self.parse_replacement(delimiter, lines=False)
        if any("[" in half for half in halves):
            raise UnknownWord("the sed script has a bracket in 'y', which is read in different ways")
        self.check_command_end()

    def parse_inserted_text(self, name: str) -> None:
        """Parse the text of `a`, `i` or `c`: on the same line, or on the next lines after a backslash."""
        blanks = self.take_match(_BLANKS)
        if self.peek() != "\\":
            if not self.take_match(_ONE_LINE):
                raise UnknownWord(f"the sed script has no text after {name!r}")
        else:
            self.at += 1
            if self.peek() == "\n":
                self.check_label_line()
                self.at += 1
                if not self.take_match(_TEXT):
                    raise UnknownWord(f"the sed script has no text after {name!r}")
            elif blanks or not self.take_match(_ONE_LINE):
                raise UnknownWord(f"the text after {name!r} in the sed script is read in different ways")
        if self.peek() not in ("", "\n"):
            raise UnknownWord(f"the text after {name!r} in the sed script is read in different ways")

    def parse_file_name(self, name: str) -> None:
        self.take_match(_BLANKS)
        file = self.take_match(_FILE_NAME)
        if not file or self.peek() not in ("", "\n"):
            raise UnknownWord(f"the file that {name!r} reads in the sed script is not named plainly")
        self.files.append(file)

    def parse_label(self, name: str) -> None:
        """Parse the label of `:`, `b`, `t` or `T`."""
        self.take_match(_BLANKS)
        label = self.take_match(_LABEL)
        if name == ":" and not label:
            raise UnknownWord("the sed script has a label without a name")
        self.take_match(_BLANKS)
        if self.peek() not in ("", "\n"):
            self.label_line = True
        self.check_command_end()

    def parse_comment(self) -> None:
        while self.peek() not in ("", "\n"):
            self.at += 1
        if self.text[self.at - 1] == "\\":
            raise UnknownWord("a comment of the sed script ends in a backslash")

    def check_command_end(self) -> None:
        self.take_match(_BLANKS)
        if self.peek() not in ("", "\n", ";", "}", "#"):
            raise UnknownWord(f"the sed script has {self.peek()!r} where a command ends")


_INCOMPLETE = "the sed script is not complete"


def _judge_sed(words: tuple[Word, ...]) -> Judgement:
    """Judge sed: known options, a script that only prints, and the files it reads."""
    call = _parse_options(words[1:])
    if call.has_option("--version", "--help") and len(words) == 2:
        return Judgement()
    scripts, operands = call.values(*_SCRIPT_OPTIONS), call.operands
    if not scripts:
        if not operands:
            raise UnknownWord("sed has no script")
        if operands[0].glob:
            raise UnknownWord("the sed script is computed at run time")
        scripts, operands = (operands[0].text,), operands[1:]
    script = parse_script(scripts)
    return Judgement(paths=(*operands, *map(Word, script.files)))


def _parse_options(arguments: tuple[Word, ...]) -> ParsedCall:
    """Return the options and operands. GNU sed accepts options anywhere, BSD sed only before the first operand."""
    try:
        call = parse_call(read_grammar(_OPTIONS), arguments)
        leading = parse_call(read_grammar(_OPTIONS, order="stop"), arguments)
    except UnknownWord:
        for word in arguments:
            if word.text == "--":
                break
            if word.text.startswith(("-i", "-I", "--in-place")):
                raise UnknownWord("sed changes files in place") from None
            if word.text.startswith(("-f", "--file")):
                raise UnknownWord("sed reads its script from a file") from None
        raise
    if call.values(*_SCRIPT_OPTIONS, "-l", "--line-length") != leading.values(*_SCRIPT_OPTIONS, "-l", "--line-length"):
        raise UnknownWord("an option of sed with a value comes after a file name")
    if not call.has_option(*_SCRIPT_OPTIONS) and call.operands[:1] != leading.operands[:1]:
        raise UnknownWord("the place of the sed script is read in different ways")
    return call


JUDGES: dict[str, Judge] = dict.fromkeys(("sed", "gsed"), _judge_sed)
