"""Find every simple command that a shell line would run, with tree-sitter's bash grammar. Pure."""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from msgspec.structs import replace

from clio.security.shell import command_line as shell_state
from clio.security.shell import command_line as shell_words
from clio.security.shell.command_line import (
    CALCULATES,
    DECLARES,
    FROM_FILE,
    MOVES,
    PLAINLY_STARTS,
    CommandLine,
    Redirect,
    SimpleCommand,
    Word,
    counts_on,
    declares_array,
    explain_plain_shell_doubt,
    explain_state_risk,
    merge_folders,
    split_declaration,
    word_set,
)
from clio.security.shell.hand_parser import Outline
from clio.security.shell.parse_checks import (
    below,
    find_unaccounted,
    is_test_node_unsafe,
    lone_dash,
    same_calls,
    same_inputs,
    same_redirects,
    same_settings,
)
from clio.security.shell.wrappers import (
    OTHER_GRAMMARS,
    SAME_SHELL,
    SHELLS,
    WITHHOLDS,
    UnwrappedCommand,
    reads_device,
    reads_input,
    unwrap_command,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


_MAX_NESTING = 6
"""Scripts within scripts (`sh -c "sh -c …"`) and wrappers of wrappers that are followed."""
_RESERVED = word_set("if then else elif fi do done case esac while until for select function { } [[ in ((")


class Place(Struct, frozen=True):
    """The context of a node during the walk."""

    upstream: tuple[str, ...] = ()
    stdin: str | None = None
    depth: int = 0


class Collector:
    """Collects the simple commands of one line; `parse` parses scripts found inside it.

    Args:
        plain: the line is read by a shell with fewer features than bash; passed on to `parse`.
    """

    def __init__(self, parse: Callable[[str, bool], CommandLine], *, plain: bool) -> None:
        self.parse = parse
        self.plain = plain
        self.commands: list[SimpleCommand] = []
        self.redirects: list[Redirect] = []
        self.unknown: list[str] = []
        self.loops: list[tuple[str, tuple[Word, ...]]] = []
        self.arguments: list[tuple[Word, ...]] = []
        self.late_scripts: list[Word] = []
        self.second_reading: list[SimpleCommand] = []
        self.hidden_programs: list[str] = []
        self.fork_bomb = False
        self.moved = False

    def result(self) -> CommandLine:
        commands, redirects = self.commands, self.redirects
        if self.moved:
            commands = [replace(command, folders=None) for command in commands]
            redirects = [replace(each, folders=None) for each in redirects]
        return CommandLine(
            commands=tuple(commands),
            redirects=tuple(redirects),
            unknown=tuple(dict.fromkeys(self.unknown)),
            fork_bomb=self.fork_bomb,
            loops=tuple(self.loops),
            arguments=tuple(self.arguments),
            late_scripts=tuple(self.late_scripts),
            second_reading=tuple(self.second_reading),
            hidden_programs=tuple(dict.fromkeys(self.hidden_programs)),
        )

    def add(self, command: SimpleCommand) -> None:
        self.commands.append(command)

    def hide(self, why: str) -> None:
        """Note that programs may run which the line does not name."""
        self.unknown.append(why)
        self.hidden_programs.append(why)

    def expand(self, command: SimpleCommand, place: Place, depth: int = 0) -> None:
        """Add a call, or what it starts if it is a wrapper."""
        if depth > _MAX_NESTING:
            self.unknown.append("wrappers are nested too deeply")
            self.add(command)
            return
        if command.words and (command.words[0].dynamic or (command.words[0].glob and command.words[0].text != "[")):
            self.unknown.append(f"the program {command.words[0].text!r} is only known when it runs")
        if command.program in _RESERVED:
            self.unknown.append(f"the shell grammar takes {command.program!r} for a program")
        if command.program in DECLARES:
            if declares_array(command):
                self.unknown.append(CALCULATES)
            words, env = split_declaration(command)
            named = (name for name, _ in env[len(command.env) :])
            command = replace(command, words=words, env=env, declares=(*command.declares, *named))
        if self.plain and counts_on(command):
            self.unknown.append(CALCULATES)
        if why := explain_state_risk(command):
            self.unknown.append(why)
        if command.program in MOVES and not PLAINLY_STARTS.issuperset(command.wrappers):
            self.moved = True
        if command.program in SHELLS | {".", "source"} and reads_device(command.words):
            self.hide(f"what {command.program!r} reads cannot be told")
        if command.program in ("enable", "hash") and any(word.text[:2] in ("-f", "-p") for word in command.words[1:]):
            self.hide(f"{command.program!r} gives a name another program")
        peeled = unwrap_command(command.words)
        if peeled is None:
            self.add(command)
            if command.program in SHELLS | OTHER_GRAMMARS:
                self.input(command, place)
            return
        self.inside(command, peeled, place, depth)

    def inside(self, command: SimpleCommand, peeled: UnwrappedCommand, place: Place, depth: int) -> None:
        if peeled.unknown:
            self.unknown.append(peeled.unknown)
        if peeled.folder_unknown:
            command = replace(command, folders=None)
        if peeled.keep or peeled.unknown:
            self.add(command)
        wrappers = (*command.wrappers, command.program, *([WITHHOLDS] if peeled.withholds else []))
        for call in peeled.calls:
            inner = SimpleCommand(
                words=call,
                written=command.written,
                env=(*command.env, *peeled.env),
                wrappers=wrappers,
                upstream=command.upstream,
                folders=command.folders,
                stdin=command.stdin,
            )
            self.expand(inner, place, depth + 1)
        if peeled.arguments:
            self.arguments.append(peeled.arguments)
        for script in peeled.scripts:
            self.script(script, command, place)

    def input(self, command: SimpleCommand, place: Place) -> None:
        """Handle what a shell reads from its input: a here-document is parsed; a pipe, or a function's input, is
        unknown.
        """
        if command.stdin == FROM_FILE:  # as if the file were its argument, except for the output of `< <(…)`
            if any(each.operator in ("<", "<>") and each.target.text.startswith("<(") for each in self.redirects):
                self.hide(f"what {command.program!r} reads cannot be told")
            return
        if command.stdin is not None:
            self.script(Word(command.stdin, dynamic=not command.stdin), command, place)
        elif reads_input(command.words):
            self.hide(f"what {command.program!r} reads cannot be told")

    def script(self, script: Word, command: SimpleCommand, place: Place) -> None:
        """Parse text that another shell will read as a command line."""
        if script.dynamic or script.glob:
            self.unknown.append(f"the text {command.program!r} runs is only known when it runs")
            self.late_scripts.append(script)
            return
        if command.program in OTHER_GRAMMARS:
            self.unknown.append(f"what {command.program!r} starts cannot be told")
            return
        own = command.program in SAME_SHELL
        line = self.parse(script.text, self.plain if own else command.program not in ("bash", "rbash"))
        self.unknown += line.unknown
        self.arguments += line.arguments
        self.late_scripts += line.late_scripts
        self.second_reading += line.second_reading
        self.hidden_programs += line.hidden_programs
        self.fork_bomb = self.fork_bomb or line.fork_bomb
        wrappers = (*command.wrappers, command.program)
        for each in line.commands:
            self.add(
                SimpleCommand(
                    words=each.words,
                    written=each.written,
                    env=(*command.env, *each.env),
                    wrappers=(*wrappers, *each.wrappers),
                    upstream=(*command.upstream, *each.upstream),
                    folders=_joined(command.folders, each.folders),
                    stdin=each.stdin,
                )
            )
        self.redirects += [
            Redirect(operator=each.operator, target=each.target, folders=_joined(command.folders, each.folders))
            for each in line.redirects
        ]
        if own and any(each.program in MOVES for each in line.commands):
            self.moved = True


def _joined(outer: tuple[str, ...] | None, inner: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return every folder the inner line may be in, if the outer one is in any of its own."""
    if outer is None or inner is None:
        return inner if inner is not None and all(path.startswith("/") for path in inner) else None
    found = [
        path if path.startswith(("/", "~")) or not base else (f"{base}/{path}" if path else base)
        for base in outer
        for path in inner
    ]
    return merge_folders(tuple(found))


EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
    | {"brace_expression", "arithmetic_expression"}
)
_BARE = frozenset({"word", "number", "variable_name", "special_variable_name", "test_operator"})
_BARE_META = re.compile(r"(?<!\\)(?:\\\\)*[;|&<>()\n]")


class Reader(Collector):
    """A collector that builds words from the nodes of one tree. source: the text that was parsed."""

    def __init__(self, source: bytes, parse: Callable[[str, bool], CommandLine], *, plain: bool) -> None:
        super().__init__(parse, plain=plain)
        self.source = source

    def text(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def assignment(self, node: "Node") -> tuple[str, str]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        return (self.text(name) if name else "", self.word(value).text if value else "")

    def word(self, node: "Node") -> Word:
        """Return a word without its quotes."""
        match node.type:
            case "word" | "number" | "variable_name" | "test_operator" | "special_variable_name":
                raw = self.text(node)
                if node.child_count:
                    return Word(raw, dynamic=True)
                if _BARE_META.search(raw):
                    self.unknown.append(f"the word {raw[:40]!r} was not split")
                return Word(shell_words.unquote_word(raw), shell_words.has_braces(raw), shell_words.has_glob(raw))
            case "raw_string":
                return Word(self.text(node)[1:-1])
            case "ansi_c_string":
                return Word(shell_words.unquote_ansi_quoted(self.text(node)[2:-1]))
            case "string":
                return self.string(node)
            case "command_name" if len(node.children) == 1:
                return self.word(node.children[0])
            case "concatenation":
                return self.concatenation(node)
            case _ if not node.is_named and not node.child_count:
                return Word(self.text(node))
            case _:
                return Word(self.text(node), dynamic=True, glob=True)

    def string(self, node: "Node") -> Word:
        dynamic = any(child.type in EXPANSIONS or child.is_error for child in node.children)
        inside = self.text(node)[1:-1]
        return Word(inside if dynamic else shell_words.unquote_double_quoted(inside), dynamic=dynamic)

    def concatenation(self, node: "Node") -> Word:
        parts = [self.word(child) for child in node.children]
        for before, after in pairwise(node.children):
            if self.text(before).endswith("$") and after.type in ("string", "raw_string"):
                self.unknown.append(f"the word {self.text(node)[:40]!r} may be translated")
        bare = "".join(
            self.text(child) if child.type in ("word", "number", "brace_expression") else "x" for child in node.children
        )
        dynamic = any(part.dynamic for part in parts) or shell_words.has_braces(bare)
        return Word("".join(part.text for part in parts), dynamic, any(part.glob for part in parts))

    def check_braces(self, root: "Node") -> None:
        """Note where brace expansions produce too many words, at any position where the shell expands them.

        Adjacent words count as one, and the words of the whole line together.
        """
        total, waiting = 0, [root]
        while waiting:
            node = waiting.pop()
            waiting += node.children
            bare, end = "", -1
            for child in (*node.children, None):
                if bare and (child is None or child.start_byte != end):
                    count = shell_words.count_expanded(bare) if "{" in bare else 1
                    total, bare = total + (count if count > 1 else 0), ""
                if child is not None:
                    bare += self._bare_text(child)
                    end = child.end_byte
        if total >= shell_words.MANY_WORDS:
            self.unknown.append("its braces stand for too many words")

    def _bare_text(self, node: "Node") -> str:
        """Return the text of a word outside quotes and expansions, with one letter in place of each of these."""
        if node.type == "concatenation":
            return "".join(map(self._bare_text, node.children))
        if not node.child_count and (node.type in _BARE or not node.is_named):
            return self.text(node)
        return self.text(node) if node.type == "brace_expression" else "x"

    def touching(self, first: Word, second: Word) -> Word:
        """Join two nodes that the grammar separates but the shell does not, because nothing is between them."""
        word = Word(first.text + second.text, first.dynamic or second.dynamic, first.glob or second.glob)
        if first.text.endswith("$"):
            self.unknown.append(f"the word {word.text[:40]!r} may be translated")
        return word


MAX_CHARS = 60_000
"""Longer lines are not parsed. They are not written by hand, and the user could not review them."""
_MAX_DEPTH = 120
"""Levels of the syntax tree; the walk is recursive."""
_MAX_UPSTREAM = 32
"""Programs of a pipe that are remembered, nearest last."""
# The parser's time grows with the square of this: about 0.1 s at the limit.
_MAX_JOINTS = 2000
# The time to judge a line grows with the square of these: under a second at the limits.
_MAX_WORDS = 250
_MAX_CALLS = 200

_UNSEEN = "\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
# The grammar's scanner passes each character to C functions for single bytes, and may crash the process with one that
# is not (tree-sitter-bash 337). The shell treats a comma as an ordinary character too; texts are taken from the source.
_ASCII = bytes(code if code < 128 else ord(",") for code in range(256))
_STRANGE = re.compile(rf"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f{_UNSEEN}]")
_SUBSTITUTION = re.compile(r"`|\$\(|[<>]\(")
_SPECIAL = re.compile(r"[$`\\'\"~*?\[{]")


NO_GRAMMAR = "the grammar of shell commands (tree-sitter) is not installed, so none can be read"
"""Entry of `unknown` for every command if the grammar cannot be imported."""


def has_grammar() -> bool:
    """Whether command lines can be parsed at all. Loads the grammar."""
    try:
        _parser()
    except ImportError:
        return False
    return True


def parse_command_line(command: str, *, plain: bool = False) -> CommandLine:
    """Return the simple commands of a line, including pipes, lists, bodies, substitutions and known wrappers.

    Runs nothing and reads no file. Never raises: what cannot be parsed is named in `unknown`. Takes about 20 ms the
    first time, to load the grammar, then well under a millisecond for a line of usual length.

    Args:
        plain: the line is read by a plain POSIX shell; what it may interpret differently than bash is unknown.
    """
    return _parse(command, 0, plain)


@lru_cache(maxsize=128)
def _parse(command: str, nesting: int, plain: bool) -> CommandLine:
    if len(command) > MAX_CHARS:
        return CommandLine(unknown=(f"the command is longer than {MAX_CHARS} characters",))
    if sum(map(command.count, "|&;")) > _MAX_JOINTS:
        return CommandLine(unknown=("too many commands are joined in it",))
    if sum(map(command.count, "[({`")) > _MAX_JOINTS:
        return CommandLine(unknown=("it has too many brackets",))
    if nesting > _MAX_NESTING:
        return CommandLine(unknown=("shells are nested too deeply",))
    if not has_grammar():
        return CommandLine(unknown=(NO_GRAMMAR,))
    source = command.encode("utf-8", "surrogatepass")
    root = _parser().parse(source.translate(_ASCII)).root_node
    # The text of a nested shell does not determine the variables it inherits.
    counted = shell_state.counted(command) if nesting == 0 else frozenset[str]()
    walk = _Walk(source, nesting, counted, plain=plain)
    if plain and (why := explain_plain_shell_doubt(command)):
        walk.unknown.append(why)
    if _STRANGE.search(command):
        walk.unknown.append("it holds a control character, or one that cannot be seen")
    walk.visit(root, Place())
    if "{" in command:
        walk.check_braces(root)
    if len(walk.commands) > _MAX_CALLS or any(len(each.written) > _MAX_WORDS for each in walk.commands):
        return CommandLine(unknown=("it has too many words or commands",))
    walk.unknown += walk.disagreements()
    walk.unknown += find_unaccounted(root, source, counted)
    if shell_state.refills(walk.commands) or any(shell_state.may_set(each, counted) for each in walk.commands):
        walk.unknown.append(shell_state.CALCULATES)
    if walk.unknown:
        walk.second_reading += [
            SimpleCommand(words=call, written=call, folders=None)
            for at, call in walk.outline.calls.items()
            if at not in walk.seen_calls or (call[0].glob and walk.seen_calls[at][0].text != call[0].text)
        ]
    if root.has_error and not walk.unknown:
        walk.unknown.append("the shell grammar cannot read all of it")
    return replace(walk.result(), text=command)


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Walk(Reader):
    def __init__(self, source: bytes, nesting: int, counted: frozenset[str], *, plain: bool) -> None:
        super().__init__(source, lambda script, plainly: _parse(script, nesting + 1, plainly), plain=plain)
        self.counted = counted
        self.outline = Outline(source, plain=plain)
        self.places = self.outline.places
        self.seen_calls: dict[int, tuple[Word, ...]] = {}
        self.seen_inputs: dict[int, str | None] = {}
        self.seen_settings: dict[int, tuple[str, Word]] = {}
        self.seen_redirects: dict[int, tuple[str, Word]] = {}

    def disagreements(self) -> list[str]:
        """Return what the second parser found otherwise, in a few words each."""
        if self.outline.lost:
            return [f"a second reading of it ends: {self.outline.lost}"]
        calls, redirects = same_calls(self.outline, self.seen_calls), same_redirects(self.outline, self.seen_redirects)
        settings = same_settings(self.outline, self.seen_settings)
        texts = same_inputs(self.outline, self.seen_inputs)
        return [] if calls and redirects and settings and texts else ["two readings of it find different commands"]

    def folders(self, node: "Node") -> tuple[str, ...] | None:
        """Return where the line may be at a node, according to the second parser."""
        return self.places.get(node.start_byte)

    def setting(self, node: "Node") -> tuple[str, str]:
        """Record an assignment for the comparison."""
        name, value = self.assignment(node)
        self.seen_settings[node.start_byte] = (name, Word(value))
        return name, value

    def visit(self, node: "Node", place: Place) -> None:
        """Walk one node of the tree. Commands are collected in their order in the line."""
        if place.depth > _MAX_DEPTH:
            self.unknown.append("it is nested too deeply")
            return
        place = replace(place, depth=place.depth + 1)
        if node.is_error or node.is_missing:
            self.unknown.append(f"the shell grammar stops at {self.text(node)[:40]!r}")
        if node.type == "for_statement" and (variable := node.child_by_field_name("variable")) is not None:
            self.sets(self.text(variable))
            values = node.children_by_field_name("value")
            self.loops.append((self.text(variable), tuple(self.word(value) for value in values)))
        match node.type:
            case "command":
                self.call(node, place, [])
            case "redirected_statement":
                self.redirected(node, place)
            case "pipeline":
                self.pipeline(node, place)
            case "function_definition":
                self.function(node, place)
            case "declaration_command" | "unset_command":
                self.declaration(node, place)
            case "variable_assignment":
                setting = self.setting(node)
                # The grammar reports a part of `for ((i=0;;))` as a command, which has no entry here.
                folders = self.places.get(node.start_byte, ("",))
                self.add(SimpleCommand(words=(), env=(setting,), folders=folders))
                self.children(node, place)
            case "test_command":
                dynamic = any(each.type in EXPANSIONS for each in below(node))
                if is_test_node_unsafe(node, self.source, self.counted):
                    self.unknown.append(shell_state.CALCULATES)
                word = Word(self.text(node), dynamic=dynamic)
                if node.children[0].type == "[":
                    self.seen_calls[node.start_byte] = (Word("["),)
                self.add(SimpleCommand(words=(Word("["), word), written=(Word("["),), folders=self.folders(node)))
                self.children(node, place)
            case "case_statement":
                value = node.child_by_field_name("value")
                if value is not None and self.word(value).dynamic:
                    # Which branch runs depends on the value, as in a test.
                    subject = Word(self.text(value), dynamic=True)
                    self.add(SimpleCommand(words=(Word("["), subject), written=(Word("["),)))
                self.children(node, place)
            case "file_redirect" | "herestring_redirect" | "heredoc_redirect":  # without a command: `$(<x)`
                self.lone(node, place)
            case "compound_statement" if node.children and node.children[0].type == "((":
                self.add(
                    SimpleCommand(words=(Word("let"), Word(self.text(node), dynamic=True)), written=(Word("let"),))
                )
                self.children(node, place)
            case _:
                self.children(node, place)

    def sets(self, name: str) -> None:
        if shell_state.decides(name) or shell_state.is_number(name):
            self.unknown.append(f"it sets the variable {name}, which can change which code runs")

    def children(self, node: "Node", place: Place) -> None:
        for child in node.children:
            self.visit(child, place)

    def pipeline(self, node: "Node", place: Place) -> None:
        """Walk a pipeline; each part reads the output of those before it."""
        upstream = place.upstream
        for child in node.children:
            if not child.is_named:
                continue
            before = len(self.commands)
            self.visit(child, replace(place, upstream=upstream))
            place = replace(place, stdin=None)
            upstream = (*upstream, *(command.program for command in self.commands[before:]))[-_MAX_UPSTREAM:]

    def function(self, node: "Node", place: Place) -> None:
        name = node.child_by_field_name("name")
        before = len(self.commands)
        self.children(node, place)
        own = [command for command in self.commands[before:] if name and command.program == self.text(name)]
        body = self.text(node)
        if len(own) > 1 and ("|" in body or "&" in body):
            self.fork_bomb = True

    def declaration(self, node: "Node", place: Place) -> None:
        words = [Word(self.text(node.children[0]))]
        env: list[tuple[str, str]] = []
        end, named = -1, False
        for child in node.children[1:]:
            if child.start_byte == end:  # `export PA"TH=x"` is one word, which the grammar splits
                last = Word("=".join(filter(None, env.pop()))) if named else words.pop()
                part = Word(self.text(child), dynamic=True) if child.type == "variable_assignment" else self.word(child)
                words.append(Word(last.text + part.text, last.dynamic or part.dynamic, last.glob or part.glob))
                if last.text.endswith("$"):
                    self.unknown.append(f"the word {words[-1].text[:40]!r} may be translated")
                named = False
            elif named := child.type == "variable_assignment":
                env.append(self.assignment(child))
            elif named := child.type == "variable_name" and words[0].text == "export":
                env.append((self.text(child), ""))
            else:
                words.append(self.word(child))
            end = child.end_byte
            self.children(child, place)
        call = tuple(words)
        given = (Word(f"{name}={value}" if value else name) for name, value in env)
        self.seen_calls[node.start_byte] = (*call, *given)
        self.expand(
            SimpleCommand(
                words=call,
                written=call,
                env=tuple(env),
                folders=self.folders(node),
                declares=tuple(name for name, _ in env),
            ),
            place,
        )

    def redirected(self, node: "Node", place: Place) -> None:
        """Walk a statement with redirects. The grammar assigns words after a redirect to the redirect."""
        body = node.child_by_field_name("body")
        extra: list[Word] = []
        after: list[tuple[Node, str | None]] = []
        if lone_dash(node, self.source) is not None:
            extra.append(Word("-"))
        for child in node.children:
            if child == body or not child.is_named:
                continue
            stdin = self.redirect(child, place, extra, after)
            place = replace(place, stdin=stdin) if stdin is not None else place
        before = len(self.commands)
        if body is not None and body.type == "command":
            self.call(body, place, extra)
        elif body is not None:
            self.visit(body, place)
        if extra and (body is None or body.type != "command") and not self.append(body, extra):
            self.unknown.append("words follow a redirect")
        programs = tuple(command.program for command in self.commands[before:])
        for late, operator in after:
            piped = operator in ("|", "|&") or late.type == "pipeline"
            self.visit(late, replace(place, stdin=None, upstream=programs if piped else place.upstream))

    def lone(self, node: "Node", place: Place) -> None:
        """Walk a redirect outside any command or statement."""
        extra: list[Word] = []
        after: list[tuple[Node, str | None]] = []
        self.redirect(node, place, extra, after)
        if extra or after:
            self.unknown.append("words follow a redirect")

    def append(self, body: "Node | None", extra: list[Word]) -> bool:
        """Append a `-` before a here-document to the last command of a list; False if that is not plain."""
        last, found = body, self.commands[-1:]
        while last is not None and last.type in ("list", "pipeline"):
            last = last.children[-1]
        if extra != [Word("-")] or last is None or last.type != "command" or not found:
            return False
        name = last.child_by_field_name("name")
        if found[0].words != found[0].written or name is None or self.text(name) != found[0].program:
            return False
        words = (*found[0].words, *extra)
        self.commands[-1] = structs.replace(found[0], words=words, written=words)
        self.seen_calls[name.start_byte] = words
        return True

    def redirect(
        self, node: "Node", place: Place, extra: list[Word], after: list[tuple["Node", str | None]]
    ) -> str | None:
        """Record one redirect. Returns the fixed text it feeds; collects words and statements the grammar put inside
        it.
        """
        stdin: str | None = None
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = list[Word]()
        quoted, joined, end, begin = False, "", -1, -1
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    quoted = any(mark in self.text(child) for mark in "'\"\\")
                case "heredoc_body":
                    fixed = quoted or not (_SUBSTITUTION.search(self.text(child)) or "$" in self.text(child))
                    stdin = self.text(child) if fixed else ""
                    self.children(child, place)
                case "file_redirect" | "herestring_redirect":
                    self.redirect(child, place, extra, after)
                case "heredoc_end" | "file_descriptor":
                    pass
                case "pipeline" | "list" | "command" | "redirected_statement" | "subshell" | "compound_statement":
                    after.append((child, joined))
                case _ if child.is_named:
                    whole = self.touching(targets.pop(), self.word(child)) if end == child.start_byte else None
                    begin = begin if targets or whole else child.start_byte
                    targets.append(whole or self.word(child))
                    end = child.end_byte
                    self.children(child, place)
                    if child.is_error:
                        self.unknown.append("a redirect could not be read")
                case _:
                    joined = child.type
        if node.type == "heredoc_redirect":
            extra += targets
        elif node.type == "herestring_redirect":
            stdin = targets[0].text if targets and not targets[0].dynamic else ""
            extra += targets[1:]
        elif operator in ("<&-", ">&-"):  # closes a descriptor; the following words belong to the command
            extra += targets
        elif targets:
            if operator in (">&", "<&") and _SPECIAL.search(targets[0].text):
                self.unknown.append("the shell expands this redirect's target twice")
            descriptor = operator in (">&", "<&") and (targets[0].text.rstrip("-").isdigit() or targets[0].text == "-")
            if not descriptor:
                self.seen_redirects[begin] = (operator, targets[0])
                self.redirects.append(Redirect(operator=operator, target=targets[0], folders=self.places.get(begin)))
                stdin = FROM_FILE if operator in ("<", "<>") else None
            extra += targets[1:]
        elsewhere = any(child.type == "file_descriptor" and self.text(child) != "0" for child in node.children)
        return None if elsewhere else stdin

    def call(self, node: "Node", place: Place, extra: list[Word]) -> None:
        """Walk one program call with its assignments and redirects."""
        words: list[Word] = []
        env: list[tuple[str, str]] = []
        after: list[tuple[Node, str | None]] = []
        end, begin = -1, -1
        for child in node.children:
            if child.type == "variable_assignment":
                env.append(self.setting(child))
                self.children(child, place)
            elif child.type.endswith("_redirect"):
                stdin = self.redirect(child, place, words, after)
                place = replace(place, stdin=stdin) if stdin is not None else place
            else:
                word = self.word(child)
                begin = child.start_byte if begin < 0 else begin
                if end == child.start_byte and words:
                    word = self.touching(words.pop(), word)
                words.append(word)
                self.children(child, place)
                end = child.end_byte
        for late, _ in after:
            self.visit(late, replace(place, stdin=None, upstream=tuple(word.text for word in words[:1])))
        call = tuple(words + extra)
        self.seen_calls[begin] = call
        self.seen_inputs[begin] = place.stdin
        self.expand(
            SimpleCommand(
                words=call,
                written=call,
                env=tuple(env),
                upstream=place.upstream,
                folders=self.places.get(begin),
                stdin=place.stdin,
            ),
            place,
        )
