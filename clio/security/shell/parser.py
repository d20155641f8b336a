"""Find every simple command that a shell line would run, with tree-sitter's bash grammar. Pure.

`CommandCollector` follows wrappers and scripts inside the line, `NodeReader` turns nodes of the syntax tree into words,
and `_TreeWalker` visits the nodes. The hand-written parser in `hand_parser` reads the same line; if the two disagree,
the line counts as not understood, and the user is asked.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from msgspec.structs import replace

from clio.security.actions import MAX_PATH_CHARS
from clio.security.shell import command_line as syntax
from clio.security.shell.command_line import (
    CD_BUILTINS,
    DECLARATION_BUILTINS,
    STDIN_FROM_FILE,
    TRANSPARENT_PREFIXES,
    UNSAFE_ARITHMETIC,
    CommandLine,
    Redirect,
    SimpleCommand,
    Word,
    explain_plain_shell_doubt,
    explain_state_risk,
    has_arithmetic_argument,
    has_quoted_array,
    merge_folders,
    split_declaration,
    word_set,
)
from clio.security.shell.hand_parser import HandParser
from clio.security.shell.parse_checks import (
    find_lone_dash,
    find_unaccounted,
    has_same_assignments,
    has_same_calls,
    has_same_inputs,
    has_same_redirects,
    is_test_node_unsafe,
    iter_descendants,
)
from clio.security.shell.wrappers import (
    CLEARS_ENVIRONMENT,
    SCRIPT_BUILTINS,
    SHELLS,
    UNPARSED_SHELLS,
    UnwrappedCommand,
    has_script_from_device,
    has_script_from_input,
    unwrap_command,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


_MAX_NESTING = 6
"""Scripts within scripts (`sh -c "sh -c …"`) and wrappers of wrappers that are followed."""
_RESERVED = word_set("if then else elif fi do done case esac while until for select function { } [[ in ((")
"""Reserved words. A call of a program with such a name means that the grammar misread the line."""


class NodeContext(Struct, frozen=True):
    """What surrounds a node of the tree: programs piped into it, its standard input, its depth in the tree."""

    upstream: tuple[str, ...] = ()
    stdin: str | None = None
    depth: int = 0


class CommandCollector:
    """Collects the simple commands of one line; `parse` parses scripts found inside it.

    Attributes:
        unknown: see `CommandLine`; most other attributes have the names of its fields, too.
        has_cd_in_wrapper: a `cd` may run where its effect cannot be followed, so no folder is known.

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
        self.runtime_scripts: list[Word] = []
        self.second_parser_calls: list[SimpleCommand] = []
        self.hidden_programs: list[str] = []
        self.fork_bomb = False
        self.has_cd_in_wrapper = False

    def build_result(self) -> CommandLine:
        """Return everything collected so far."""
        commands, redirects = self.commands, self.redirects
        if self.has_cd_in_wrapper:
            commands = [replace(command, folders=None) for command in commands]
            redirects = [replace(each, folders=None) for each in redirects]
        return CommandLine(
            commands=tuple(commands),
            redirects=tuple(redirects),
            unknown=tuple(dict.fromkeys(self.unknown)),
            fork_bomb=self.fork_bomb,
            loops=tuple(self.loops),
            arguments=tuple(self.arguments),
            runtime_scripts=tuple(self.runtime_scripts),
            second_parser_calls=tuple(self.second_parser_calls),
            hidden_programs=tuple(dict.fromkeys(self.hidden_programs)),
        )

    def note_hidden_program(self, why: str) -> None:
        """Note that programs may run which the line does not name."""
        self.unknown.append(why)
        self.hidden_programs.append(why)

    def unwrap_and_add(self, command: SimpleCommand, context: NodeContext, depth: int = 0) -> None:
        """Add a call, or what it starts if it is a wrapper."""
        if depth > _MAX_NESTING:
            self.unknown.append("wrappers are nested too deeply")
            self.commands.append(command)
            return
        if command.words and (command.words[0].dynamic or (command.words[0].glob and command.words[0].text != "[")):
            self.unknown.append(f"the program {command.words[0].text!r} is computed at run time")
        if command.program in _RESERVED:
            self.unknown.append(f"clio can't parse {command.program!r} here")
        if command.program in DECLARATION_BUILTINS:
            if has_quoted_array(command):
                self.unknown.append(UNSAFE_ARITHMETIC)
            words, env = split_declaration(command)
            named = (name for name, _ in env[len(command.env) :])
            command = replace(command, words=words, env=env, declares=(*command.declares, *named))
        if self.plain and has_arithmetic_argument(command):
            self.unknown.append(UNSAFE_ARITHMETIC)
        if why := explain_state_risk(command):
            self.unknown.append(why)
        if command.program in CD_BUILTINS and not TRANSPARENT_PREFIXES.issuperset(command.wrappers):
            self.has_cd_in_wrapper = True
        if command.program in SHELLS | {".", "source"} and has_script_from_device(command.words):
            self.note_hidden_program(f"clio can't tell what {command.program!r} reads")
        if command.program in ("enable", "hash") and any(word.text[:2] in ("-f", "-p") for word in command.words[1:]):
            self.note_hidden_program(f"{command.program!r} makes a name run another program")
        unwrapped = unwrap_command(command.words)
        if unwrapped is None:
            self.commands.append(command)
            if command.program in SHELLS | UNPARSED_SHELLS:
                self.add_shell_input(command, context)
            return
        self.add_wrapped_calls(command, unwrapped, context, depth)

    def add_wrapped_calls(
        self, command: SimpleCommand, unwrapped: UnwrappedCommand, context: NodeContext, depth: int
    ) -> None:
        """Add what a wrapper starts, and the wrapper itself if it must be judged as well."""
        if unwrapped.unknown:
            self.unknown.append(unwrapped.unknown)
        if unwrapped.folder_unknown:
            command = replace(command, folders=None)
        if unwrapped.keep or unwrapped.unknown:
            self.commands.append(command)
        wrappers = (*command.wrappers, command.program, *([CLEARS_ENVIRONMENT] if unwrapped.clears_environment else []))
        for call in unwrapped.calls:
            inner = SimpleCommand(
                words=call,
                written=command.written,
                env=(*command.env, *unwrapped.env),
                wrappers=wrappers,
                upstream=command.upstream,
                folders=command.folders,
                stdin=command.stdin,
            )
            self.unwrap_and_add(inner, context, depth + 1)
        if unwrapped.arguments:
            self.arguments.append(unwrapped.arguments)
        for script in unwrapped.scripts:
            self.add_script(script, command, context)

    def add_shell_input(self, command: SimpleCommand, context: NodeContext) -> None:
        """Handle what a shell reads from its input: a here-document is parsed; a pipe, or a function's input, is
        unknown.
        """
        if command.stdin == STDIN_FROM_FILE:  # as if the file were its argument, except for the output of `< <(…)`
            if any(each.operator in ("<", "<>") and each.target.text.startswith("<(") for each in self.redirects):
                self.note_hidden_program(f"clio can't tell what {command.program!r} reads")
            return
        if command.stdin is not None:
            self.add_script(Word(command.stdin, dynamic=not command.stdin), command, context)
        elif has_script_from_input(command.words):
            self.note_hidden_program(f"clio can't tell what {command.program!r} reads")

    def add_script(self, script: Word, command: SimpleCommand, context: NodeContext) -> None:
        """Parse text that another shell will read as a command line."""
        if script.dynamic or script.glob:
            self.unknown.append(f"the script {command.program!r} runs is computed at run time")
            self.runtime_scripts.append(script)
            return
        if command.program in UNPARSED_SHELLS:
            self.unknown.append(f"clio can't tell what {command.program!r} starts")
            return
        own = command.program in SCRIPT_BUILTINS
        line = self.parse(script.text, self.plain if own else command.program not in ("bash", "rbash"))
        self.unknown += line.unknown
        self.arguments += line.arguments
        self.runtime_scripts += line.runtime_scripts
        self.second_parser_calls += line.second_parser_calls
        self.hidden_programs += line.hidden_programs
        self.fork_bomb = self.fork_bomb or line.fork_bomb
        wrappers = (*command.wrappers, command.program)
        for each in line.commands:
            self.commands.append(
                SimpleCommand(
                    words=each.words,
                    written=each.written,
                    env=(*command.env, *each.env),
                    wrappers=(*wrappers, *each.wrappers),
                    upstream=(*command.upstream, *each.upstream),
                    folders=_join_folders(command.folders, each.folders),
                    stdin=each.stdin,
                )
            )
        self.redirects += [
            Redirect(operator=each.operator, target=each.target, folders=_join_folders(command.folders, each.folders))
            for each in line.redirects
        ]
        if own and any(each.program in CD_BUILTINS for each in line.commands):
            self.has_cd_in_wrapper = True


def _join_folders(outer: tuple[str, ...] | None, inner: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return every folder the inner line may be in, if the outer one is in any of its own."""
    if outer is None or inner is None:
        return inner if inner is not None and all(path.startswith("/") for path in inner) else None
    found = [
        path if path.startswith(("/", "~")) or not base else (f"{base}/{path}" if path else base)
        for base in outer
        for path in inner
    ]
    return merge_folders(tuple(found))


EXPANSION_TYPES = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
    | {"brace_expression", "arithmetic_expression"}
)
# Nodes of the grammar whose text the shell reads without quotes.
_UNQUOTED_TYPES = frozenset({"word", "number", "variable_name", "special_variable_name", "test_operator"})
_UNESCAPED_OPERATOR = re.compile(r"(?<!\\)(?:\\\\)*[;|&<>()\n]")


class NodeReader(CommandCollector):
    """A collector that builds words from the nodes of one tree. source: the text that was parsed."""

    def __init__(self, source: bytes, parse: Callable[[str, bool], CommandLine], *, plain: bool) -> None:
        super().__init__(parse, plain=plain)
        self.source = source

    def get_text(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def read_assignment(self, node: "Node") -> tuple[str, str]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        return (self.get_text(name) if name else "", self.read_word(value).text if value else "")

    def read_word(self, node: "Node") -> Word:
        """Return a word without its quotes."""
        match node.type:
            case "word" | "number" | "variable_name" | "test_operator" | "special_variable_name":
                raw = self.get_text(node)
                if node.child_count:
                    return Word(raw, dynamic=True)
                if _UNESCAPED_OPERATOR.search(raw):
                    self.unknown.append(f"clio can't split the word {raw[:40]!r} as the shell does")
                return Word(syntax.unquote_word(raw), syntax.has_braces(raw), syntax.has_glob(raw))
            case "raw_string":
                return Word(self.get_text(node)[1:-1])
            case "ansi_c_string":
                return Word(syntax.unquote_ansi_quoted(self.get_text(node)[2:-1]))
            case "string":
                return self.read_string(node)
            case "command_name" if len(node.children) == 1:
                return self.read_word(node.children[0])
            case "concatenation":
                return self.read_concatenation(node)
            case _ if not node.is_named and not node.child_count:
                return Word(self.get_text(node))
            case _:
                return Word(self.get_text(node), dynamic=True, glob=True)

    def read_string(self, node: "Node") -> Word:
        dynamic = any(child.type in EXPANSION_TYPES or child.is_error for child in node.children)
        inside = self.get_text(node)[1:-1]
        return Word(inside if dynamic else syntax.unquote_double_quoted(inside), dynamic=dynamic)

    def read_concatenation(self, node: "Node") -> Word:
        """Return the word made of adjacent quoted and unquoted parts."""
        parts = [self.read_word(child) for child in node.children]
        for before, after in pairwise(node.children):
            if self.get_text(before).endswith("$") and after.type in ("string", "raw_string"):
                self.unknown.append(f"the shell may translate the word {self.get_text(node)[:40]!r}")
        bare = "".join(
            self.get_text(child) if child.type in ("word", "number", "brace_expression") else "x"
            for child in node.children
        )
        dynamic = any(part.dynamic for part in parts) or syntax.has_braces(bare)
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
                    count = syntax.count_brace_words(bare) if "{" in bare else 1
                    total, bare = total + (count if count > 1 else 0), ""
                if child is not None:
                    bare += self._get_unquoted_text(child)
                    end = child.end_byte
        if total >= syntax.MANY_WORDS:
            self.unknown.append("its braces expand to too many words")

    def _get_unquoted_text(self, node: "Node") -> str:
        """Return the text of a word outside quotes and expansions, with one letter in place of each of these."""
        if node.type == "concatenation":
            return "".join(map(self._get_unquoted_text, node.children))
        if not node.child_count and (node.type in _UNQUOTED_TYPES or not node.is_named):
            return self.get_text(node)
        return self.get_text(node) if node.type == "brace_expression" else "x"

    def join_adjacent(self, first: Word, second: Word) -> Word:
        """Join two nodes that the grammar separates but the shell does not, because nothing is between them."""
        word = Word(first.text + second.text, first.dynamic or second.dynamic, first.glob or second.glob)
        if first.text.endswith("$"):
            self.unknown.append(f"the shell may translate the word {word.text[:40]!r}")
        return word


MAX_CHARS = 60_000
"""Longer lines are not parsed. They are not written by hand, and the user could not review them."""
_MAX_DEPTH = 120
"""Levels of the syntax tree; the walk is recursive."""
_MAX_UPSTREAM = 32
"""Programs of a pipe that are remembered, nearest last."""
# The parser's time grows with the square of this: about 0.1 s at the limit.
_MAX_OPERATORS = 2000
# The time to judge a line grows with the square of these: under a second at the limits.
_MAX_WORDS = 250
_MAX_CALLS = 200
_MAX_PATTERN_PARTS = 64
"""Folders in one file pattern, such as `*/*/*`."""

_INVISIBLE_CHARACTERS = (
    "\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
)
# The grammar's scanner passes each character to C functions for single bytes, and may crash the process with one that
# is not (tree-sitter-bash 337). The shell treats a comma as an ordinary character too; texts are taken from the source.
_TO_ASCII = bytes(code if code < 128 else ord(",") for code in range(256))
# The user could not see such a character in the approval dialog, or would see another line than the one that runs.
_CONTROL_OR_INVISIBLE = re.compile(rf"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f{_INVISIBLE_CHARACTERS}]")
_SUBSTITUTION = re.compile(r"`|\$\(|[<>]\(")
# Characters that the shell expands or removes: a word without them means what it says.
_EXPANDED_CHARACTER = re.compile(r"[$`\\'\"~*?\[{]")


NO_GRAMMAR = "clio can't check shell commands: tree-sitter is not installed"
"""Entry of `unknown` for every command if the grammar cannot be imported."""


def has_grammar() -> bool:
    """Whether command lines can be parsed at all. Loads the grammar."""
    try:
        _load_parser()
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
    """Parse a line. nesting: number of shells around it."""
    if len(command) > MAX_CHARS:
        return CommandLine(unknown=(f"is longer than {MAX_CHARS:,} characters",))
    if sum(map(command.count, "|&;")) > _MAX_OPERATORS:
        return CommandLine(unknown=("has too many commands",))
    if sum(map(command.count, "[({`")) > _MAX_OPERATORS:
        return CommandLine(unknown=("has too many brackets",))
    if nesting > _MAX_NESTING:
        return CommandLine(unknown=("shells are nested too deeply",))
    if not has_grammar():
        return CommandLine(unknown=(NO_GRAMMAR,))
    try:
        source = command.encode("utf-8")
    except UnicodeEncodeError:
        return CommandLine(unknown=("clio can't parse all of it: a character is not valid",))
    root = _load_parser().parse(source.translate(_TO_ASCII)).root_node
    # The text of a nested shell does not determine the variables it inherits.
    numeric = syntax.find_numeric_variables(command) if nesting == 0 else frozenset[str]()
    walk = _TreeWalker(source, nesting, numeric, plain=plain)
    if plain and (why := explain_plain_shell_doubt(command)):
        walk.unknown.append(why)
    if _CONTROL_OR_INVISIBLE.search(command):
        walk.unknown.append("contains a control character or an invisible one")
    walk.visit_node(root, NodeContext())
    if "{" in command:
        walk.check_braces(root)
    if len(walk.commands) > _MAX_CALLS or any(len(each.written) > _MAX_WORDS for each in walk.commands):
        return CommandLine(unknown=("has too many words or commands",))
    words = [word for each in walk.commands for word in each.written]
    words += [redirect.target for redirect in walk.redirects]
    if any(word.glob and _is_long_pattern(word.text) for word in words):
        return CommandLine(unknown=("has too many parts in a file pattern",))
    walk.unknown += walk.find_disagreements()
    walk.unknown += find_unaccounted(root, source, numeric)
    if syntax.has_array_set_from_text(walk.commands) or any(
        syntax.can_overwrite_number(each, numeric) for each in walk.commands
    ):
        walk.unknown.append(syntax.UNSAFE_ARITHMETIC)
    if walk.unknown:
        walk.second_parser_calls += [
            SimpleCommand(words=call, written=call, folders=None)
            for at, call in walk.hand_parser.calls.items()
            if at not in walk.seen_calls or (call[0].glob and walk.seen_calls[at][0].text != call[0].text)
        ]
    if root.has_error and not walk.unknown:
        walk.unknown.append("clio can't parse all of it")
    return replace(walk.build_result(), text=command)


def _is_long_pattern(text: str) -> bool:
    """Whether finding the matches of a pattern could exceed Python's recursion limit, or take minutes."""
    return text.count("/") > _MAX_PATTERN_PARTS or len(text) > MAX_PATH_CHARS


@lru_cache(maxsize=1)
def _load_parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _TreeWalker(NodeReader):
    """Visits the nodes of one tree, and records what the comparison with the second parser needs.

    Args:
        nesting: number of shells around this line, as in `sh -c "sh -c …"`.
        numeric: variables of the line that contain nothing but a number.

    Attributes:
        seen_calls, seen_inputs, seen_assignments, seen_redirects: what the tree contains, by start position.
    """

    def __init__(self, source: bytes, nesting: int, numeric: frozenset[str], *, plain: bool) -> None:
        super().__init__(source, lambda script, plainly: _parse(script, nesting + 1, plainly), plain=plain)
        self.numeric = numeric
        self.hand_parser = HandParser(source, plain=plain)
        self.folders_at = self.hand_parser.folders_at
        self.seen_calls: dict[int, tuple[Word, ...]] = {}
        self.seen_inputs: dict[int, str | None] = {}
        self.seen_assignments: dict[int, tuple[str, Word]] = {}
        self.seen_redirects: dict[int, tuple[str, Word]] = {}

    def find_disagreements(self) -> list[str]:
        """Return what the second parser found otherwise, in a few words each."""
        if self.hand_parser.failure:
            return [f"clio's second parser stops: {self.hand_parser.failure}"]
        calls, redirects = (
            has_same_calls(self.hand_parser, self.seen_calls),
            has_same_redirects(self.hand_parser, self.seen_redirects),
        )
        settings = has_same_assignments(self.hand_parser, self.seen_assignments)
        texts = has_same_inputs(self.hand_parser, self.seen_inputs)
        return [] if calls and redirects and settings and texts else ["clio's two parsers find different commands"]

    def get_folders(self, node: "Node") -> tuple[str, ...] | None:
        """Return where the line may be at a node, according to the second parser."""
        return self.folders_at.get(node.start_byte)

    def record_assignment(self, node: "Node") -> tuple[str, str]:
        """Record an assignment for the comparison."""
        name, value = self.read_assignment(node)
        self.seen_assignments[node.start_byte] = (name, Word(value))
        return name, value

    def visit_node(self, node: "Node", context: NodeContext) -> None:
        """Walk one node of the tree. Commands are collected in their order in the line."""
        if context.depth > _MAX_DEPTH:
            self.unknown.append("is nested too deeply")
            return
        context = replace(context, depth=context.depth + 1)
        if node.is_error or node.is_missing:
            self.unknown.append(f"clio can't parse {self.get_text(node)[:40]!r}")
        if node.type == "for_statement" and (variable := node.child_by_field_name("variable")) is not None:
            self.check_loop_variable(self.get_text(variable))
            values = node.children_by_field_name("value")
            self.loops.append((self.get_text(variable), tuple(self.read_word(value) for value in values)))
        match node.type:
            case "command":
                self.visit_call(node, context, [])
            case "redirected_statement":
                self.visit_redirected_statement(node, context)
            case "pipeline":
                self.visit_pipeline(node, context)
            case "function_definition":
                self.visit_function(node, context)
            case "declaration_command" | "unset_command":
                self.visit_declaration(node, context)
            case "variable_assignment":
                setting = self.record_assignment(node)
                # The grammar reports a part of `for ((i=0;;))` as a command, which has no entry here.
                folders = self.folders_at.get(node.start_byte, ("",))
                self.commands.append(SimpleCommand(words=(), env=(setting,), folders=folders))
                self.visit_children(node, context)
            case "test_command":
                dynamic = any(each.type in EXPANSION_TYPES for each in iter_descendants(node))
                if is_test_node_unsafe(node, self.source, self.numeric):
                    self.unknown.append(syntax.UNSAFE_ARITHMETIC)
                word = Word(self.get_text(node), dynamic=dynamic)
                if node.children[0].type == "[":
                    self.seen_calls[node.start_byte] = (Word("["),)
                self.commands.append(
                    SimpleCommand(words=(Word("["), word), written=(Word("["),), folders=self.get_folders(node))
                )
                self.visit_children(node, context)
            case "case_statement":
                value = node.child_by_field_name("value")
                if value is not None and self.read_word(value).dynamic:
                    # Which branch runs depends on the value, as in a test.
                    subject = Word(self.get_text(value), dynamic=True)
                    self.commands.append(SimpleCommand(words=(Word("["), subject), written=(Word("["),)))
                self.visit_children(node, context)
            case "file_redirect" | "herestring_redirect" | "heredoc_redirect":  # without a command: `$(<x)`
                self.visit_lone_redirect(node, context)
            case "compound_statement" if node.children and node.children[0].type == "((":
                self.commands.append(
                    SimpleCommand(words=(Word("let"), Word(self.get_text(node), dynamic=True)), written=(Word("let"),))
                )
                self.visit_children(node, context)
            case _:
                self.visit_children(node, context)

    def check_loop_variable(self, name: str) -> None:
        if syntax.is_influential_variable(name) or syntax.is_arithmetic_variable(name):
            self.unknown.append(f"sets the variable {name}, which can change which code runs")

    def visit_children(self, node: "Node", context: NodeContext) -> None:
        for child in node.children:
            self.visit_node(child, context)

    def visit_pipeline(self, node: "Node", context: NodeContext) -> None:
        """Walk a pipeline; each part reads the output of those before it."""
        upstream = context.upstream
        for child in node.children:
            if not child.is_named:
                continue
            before = len(self.commands)
            self.visit_node(child, replace(context, upstream=upstream))
            context = replace(context, stdin=None)
            upstream = (*upstream, *(command.program for command in self.commands[before:]))[-_MAX_UPSTREAM:]

    def visit_function(self, node: "Node", context: NodeContext) -> None:
        """Walk a function definition. One that calls itself twice, in a pipe or the background, is a fork bomb."""
        name = node.child_by_field_name("name")
        before = len(self.commands)
        self.visit_children(node, context)
        own = [command for command in self.commands[before:] if name and command.program == self.get_text(name)]
        body = self.get_text(node)
        if len(own) > 1 and ("|" in body or "&" in body):
            self.fork_bomb = True

    def visit_declaration(self, node: "Node", context: NodeContext) -> None:
        """Walk `export`, `declare`, `unset` and similar built-ins."""
        words = [Word(self.get_text(node.children[0]))]
        env: list[tuple[str, str]] = []
        end, named = -1, False
        for child in node.children[1:]:
            if child.start_byte == end:  # `export PA"TH=x"` is one word, which the grammar splits
                last = Word("=".join(filter(None, env.pop()))) if named else words.pop()
                part = (
                    Word(self.get_text(child), dynamic=True)
                    if child.type == "variable_assignment"
                    else self.read_word(child)
                )
                words.append(Word(last.text + part.text, last.dynamic or part.dynamic, last.glob or part.glob))
                if last.text.endswith("$"):
                    self.unknown.append(f"the shell may translate the word {words[-1].text[:40]!r}")
                named = False
            elif named := child.type == "variable_assignment":
                env.append(self.read_assignment(child))
            elif named := child.type == "variable_name" and words[0].text == "export":
                env.append((self.get_text(child), ""))
            else:
                words.append(self.read_word(child))
            end = child.end_byte
            self.visit_children(child, context)
        call = tuple(words)
        given = (Word(f"{name}={value}" if value else name) for name, value in env)
        self.seen_calls[node.start_byte] = (*call, *given)
        self.unwrap_and_add(
            SimpleCommand(
                words=call,
                written=call,
                env=tuple(env),
                folders=self.get_folders(node),
                declares=tuple(name for name, _ in env),
            ),
            context,
        )

    def visit_redirected_statement(self, node: "Node", context: NodeContext) -> None:
        """Walk a statement with redirects. The grammar assigns words after a redirect to the redirect."""
        body = node.child_by_field_name("body")
        extra: list[Word] = []
        after: list[tuple[Node, str | None]] = []
        if find_lone_dash(node, self.source) is not None:
            extra.append(Word("-"))
        for child in node.children:
            if child == body or not child.is_named:
                continue
            stdin = self.visit_redirect(child, context, extra, after)
            context = replace(context, stdin=stdin) if stdin is not None else context
        before = len(self.commands)
        if body is not None and body.type == "command":
            self.visit_call(body, context, extra)
        elif body is not None:
            self.visit_node(body, context)
        if extra and (body is None or body.type != "command") and not self.append_lone_dash(body, extra):
            self.unknown.append("words follow a redirect")
        programs = tuple(command.program for command in self.commands[before:])
        for late, operator in after:
            piped = operator in ("|", "|&") or late.type == "pipeline"
            self.visit_node(late, replace(context, stdin=None, upstream=programs if piped else context.upstream))

    def visit_lone_redirect(self, node: "Node", context: NodeContext) -> None:
        """Walk a redirect outside any command or statement."""
        extra: list[Word] = []
        after: list[tuple[Node, str | None]] = []
        self.visit_redirect(node, context, extra, after)
        if extra or after:
            self.unknown.append("words follow a redirect")

    def append_lone_dash(self, body: "Node | None", extra: list[Word]) -> bool:
        """Append a `-` before a here-document to the last command of a list; False if that is not plain."""
        last, found = body, self.commands[-1:]
        while last is not None and last.type in ("list", "pipeline"):
            last = last.children[-1]
        if extra != [Word("-")] or last is None or last.type != "command" or not found:
            return False
        name = last.child_by_field_name("name")
        if found[0].words != found[0].written or name is None or self.get_text(name) != found[0].program:
            return False
        words = (*found[0].words, *extra)
        self.commands[-1] = structs.replace(found[0], words=words, written=words)
        self.seen_calls[name.start_byte] = words
        return True

    def visit_redirect(
        self, node: "Node", context: NodeContext, extra: list[Word], after: list[tuple["Node", str | None]]
    ) -> str | None:
        """Record one redirect. The grammar nests words and statements in it that belong to the command.

        Args:
            extra: collects those words.
            after: collects those statements, each with the operator before it.

        Returns:
            The text the redirect feeds to standard input; "" if computed, None if it feeds none.
        """
        stdin: str | None = None
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = list[Word]()
        quoted, joined, end, begin = False, "", -1, -1
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    quoted = any(mark in self.get_text(child) for mark in "'\"\\")
                case "heredoc_body":
                    fixed = quoted or not (_SUBSTITUTION.search(self.get_text(child)) or "$" in self.get_text(child))
                    stdin = self.get_text(child) if fixed else ""
                    self.visit_children(child, context)
                case "file_redirect" | "herestring_redirect":
                    self.visit_redirect(child, context, extra, after)
                case "heredoc_end" | "file_descriptor":
                    pass
                case "pipeline" | "list" | "command" | "redirected_statement" | "subshell" | "compound_statement":
                    after.append((child, joined))
                case _ if child.is_named:
                    whole = (
                        self.join_adjacent(targets.pop(), self.read_word(child)) if end == child.start_byte else None
                    )
                    begin = begin if targets or whole else child.start_byte
                    targets.append(whole or self.read_word(child))
                    end = child.end_byte
                    self.visit_children(child, context)
                    if child.is_error:
                        self.unknown.append("clio can't parse a redirect")
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
            if operator in (">&", "<&") and _EXPANDED_CHARACTER.search(targets[0].text):
                self.unknown.append("the shell expands this redirect's target twice")
            descriptor = operator in (">&", "<&") and (targets[0].text.rstrip("-").isdigit() or targets[0].text == "-")
            if not descriptor:
                self.seen_redirects[begin] = (operator, targets[0])
                self.redirects.append(
                    Redirect(operator=operator, target=targets[0], folders=self.folders_at.get(begin))
                )
                stdin = STDIN_FROM_FILE if operator in ("<", "<>") else None
            extra += targets[1:]
        elsewhere = any(child.type == "file_descriptor" and self.get_text(child) != "0" for child in node.children)
        return None if elsewhere else stdin

    def visit_call(self, node: "Node", context: NodeContext, extra: list[Word]) -> None:
        """Walk one program call with its assignments and redirects."""
        words: list[Word] = []
        env: list[tuple[str, str]] = []
        after: list[tuple[Node, str | None]] = []
        end, begin = -1, -1
        for child in node.children:
            if child.type == "variable_assignment":
                env.append(self.record_assignment(child))
                self.visit_children(child, context)
            elif child.type.endswith("_redirect"):
                stdin = self.visit_redirect(child, context, words, after)
                context = replace(context, stdin=stdin) if stdin is not None else context
            else:
                word = self.read_word(child)
                begin = child.start_byte if begin < 0 else begin
                if end == child.start_byte and words:
                    word = self.join_adjacent(words.pop(), word)
                words.append(word)
                self.visit_children(child, context)
                end = child.end_byte
        for late, _ in after:
            self.visit_node(late, replace(context, stdin=None, upstream=tuple(word.text for word in words[:1])))
        call = tuple(words + extra)
        self.seen_calls[begin] = call
        self.seen_inputs[begin] = context.stdin
        self.unwrap_and_add(
            SimpleCommand(
                words=call,
                written=call,
                env=tuple(env),
                upstream=context.upstream,
                folders=self.folders_at.get(begin),
                stdin=context.stdin,
            ),
            context,
        )
