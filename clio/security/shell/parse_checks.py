"""Check a parse: compare the results of both parsers, and name what the bash grammar did not account for. Pure."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from clio.security.shell import command_line as syntax
from clio.security.shell.command_line import DECLARATION_BUILTINS, Word
from clio.security.shell.hand_parser import HandParser
from clio.security.shell.wrappers import SHELLS, has_script_from_input

if TYPE_CHECKING:
    from tree_sitter import Node


Words = tuple[Word, ...]


def has_same_calls(hand_parser: HandParser, seen: Mapping[int, Words]) -> bool:
    """Whether the same calls begin at the same positions, with the same words."""
    found = {place: _normalize_call(words) for place, words in seen.items() if words}
    own = {place: _normalize_call(words) for place, words in hand_parser.calls.items()}
    return own.keys() == found.keys() and all(
        len(words) == len(found[place]) and all(map(_is_compatible, words, found[place]))
        for place, words in own.items()
    )


def has_same_redirects(hand_parser: HandParser, seen: Mapping[int, tuple[str, Word]]) -> bool:
    """Whether the same files are read and written at the same positions."""
    return hand_parser.redirects.keys() == seen.keys() and all(
        operator == seen[place][0] and _is_compatible(target, seen[place][1])
        for place, (operator, target) in hand_parser.redirects.items()
    )


def has_same_inputs(hand_parser: HandParser, seen: Mapping[int, str | None]) -> bool:
    """Whether each shell receives the same text, which it would run."""
    for place, words in hand_parser.calls.items():
        if any(_is_shell_running_input(words[start:]) for start in range(len(words))):
            fed = hand_parser.inputs.get(place)
            own = hand_parser.heredoc_texts.get(fed, "") if isinstance(fed, int) else fed
            other = seen.get(place)
            if (own if own is None else own.rstrip("\n")) != (other if other is None else other.rstrip("\n")):
                return False
    return True


def has_same_assignments(hand_parser: HandParser, seen: Mapping[int, tuple[str, Word]]) -> bool:
    """Whether each assignment was found; the other parser also reports parts of arithmetic as assignments."""
    return all(
        place in seen and name == seen[place][0] and (value.dynamic or value.text == seen[place][1].text)
        for place, (name, value) in hand_parser.assignments.items()
    )


def _is_shell_running_input(words: Words) -> bool:
    """Whether this would be a shell that runs its input."""
    return words[0].text.rsplit("/", 1)[-1] in SHELLS and has_script_from_input(words)


def _normalize_call(words: Words) -> Words:
    """Normalize the words of a call for comparison: `[` without its test, the names after `export` sorted."""
    if words[0] == Word("[", glob=words[0].glob):
        return (Word("["),)
    if words[0].text not in DECLARATION_BUILTINS:
        return words
    return (words[0], *sorted((_mask_assigned_value(word) for word in words[1:]), key=lambda word: word.text))


def _mask_assigned_value(word: Word) -> Word:
    """Return a name and the value assigned to it; the value is compared only if it is plain."""
    name, sign, _ = word.text.partition("=")
    return Word(f"{name}=", dynamic=True) if sign else word


def _is_compatible(own: Word, other: Word) -> bool:
    """Whether a word of the other parser is no more specific than this one's."""
    if own.dynamic or other.dynamic:
        return other.dynamic
    return own.text == other.text and other.glob >= own.glob


_EXPANSION_TYPES = ("simple_expansion", "expansion", "command_substitution")
# Below, sets named `…_TYPES` contain node types of the grammar.
_ARITHMETIC_TYPES = frozenset({"arithmetic_expansion", "c_style_for_statement"})
# Nodes that own the text between their parts.
_TEXT_OWNING_TYPES = frozenset(
    {"string", "heredoc_body", "expansion", "ansi_c_string", "raw_string", "translated_string"}
)
# Constructs that the shell reads only up to the end of the line.
_ON_ONE_LINE = frozenset(
    {"command", "declaration_command", "unset_command", "redirected_statement", "variable_assignments"}
    | {"file_redirect", "herestring_redirect", "negated_command"}
)
_UNACCOUNTED_BYTE = re.compile(rb"\\(?!\n)|[^\x00 \t\n\\]")
_UNQUOTED_TYPES = frozenset({"word", "extglob_pattern", "regex"})
_UNESCAPED_OPERATOR = re.compile(r"(?<!\\)(?:\\\\)*[<>;&|()`]")
_SUBSTITUTION = re.compile(r"`|\$\(|[<>]\(")
_DESCRIPTOR = re.compile(r"\d+|\{\w+\}")
_SUBSCRIPTED_ELEMENT = re.compile(r"\[(?!\d+\]=)[^\n]*\]\+?=")
_DOLLAR_TYPES = frozenset({"simple_expansion", "translated_string"})
_ARITHMETIC_START = re.compile(r"\$\(\(")
_UNESCAPED_BLANK = re.compile(r"(?<!\\)(?:\\\\)*[ \t]")
_ESCAPE_IN_BACKQUOTES = re.compile(r"\\[$`\\\"]")
_BROKEN_WORD = re.compile(r"(?:[^ \t\n;&|\\]|\\[ \t;&|]|(?<!\\)(?:\\\\)+)\\\n[^ \t\n]")
_SEVERAL_WORDS = re.compile(r"\$@|\$\{[@!]|\[@\]|@\}")


def find_unaccounted(root: "Node", source: bytes, numeric: frozenset[str]) -> list[str]:
    """Return what a tree does not account for, in a few words each; empty if every byte is understood.

    Every substitution in the raw text must be known to the grammar, or be in a position the shell does not expand.

    Args:
        numeric: the variables that contain nothing but a number.
    """
    found: list[str] = []
    opened: set[int] = set()
    sums: set[int] = set()
    quiet: list[tuple[int, int]] = []
    seen = bytearray(len(source))
    for node in iter_descendants(root):
        if _is_arithmetic(node) and syntax.is_arithmetic_unsafe(_get_arithmetic_text(node, source), numeric):
            found.append(syntax.UNSAFE_ARITHMETIC)
        if node.type == "word" and _UNESCAPED_BLANK.search(_get_text(node, source)):
            found.append("a word contains a blank at which the shell splits")
        if node.type == "command" and any(
            before.type == "variable_assignment" and before.end_byte == after.start_byte
            for before, after in pairwise(node.children)
        ):
            found.append("no blank separates a value and a program")
        if any(
            before.end_byte == after.start_byte and _can_belong_to_redirect(before, after)
            for before, after in pairwise(node.children)
        ):
            found.append("a word continues after a redirect")
        if _has_line_break(node, source):
            found.append("a line end separates what clio's grammar joins")
        if node.type == "array" and any(
            _SUBSCRIPTED_ELEMENT.match(_get_text(child, source)) for child in node.children
        ):
            found.append(syntax.UNSAFE_ARITHMETIC)
        if node.type == "arithmetic_expansion":
            sums.add(node.start_byte)
        if node.type in _DOLLAR_TYPES and source[node.start_byte + 1 : node.start_byte + 2].isspace():
            found.append("a lone $ may split words differently")
        if node.type == "file_descriptor" and not _DESCRIPTOR.fullmatch(_get_text(node, source)):
            found.append("clio's grammar reads the word before a redirect as its number")
        if node.type == "heredoc_end" and not _is_alone_on_line(node, source):
            found.append("a here-document may continue after its delimiter")
        if node.type in ("`", "$(", "$((", "((", "<(", ">("):
            opened.update((node.start_byte, node.end_byte - len(node.type)))
        elif node.type in ("raw_string", "ansi_c_string", "comment") or _is_literal_heredoc(node, source):
            quiet.append((node.start_byte, node.end_byte))
        size = node.end_byte - node.start_byte
        if (dash := find_lone_dash(node, source)) is not None:
            seen[dash] = ord("x")
        if not node.child_count or node.type in _TEXT_OWNING_TYPES:
            seen[node.start_byte : node.end_byte] = b"x" * size
        elif node.type == "command_substitution":  # even inside a text, its parts must be accounted for one by one
            seen[node.start_byte : node.end_byte] = bytes(size)
            if source[node.start_byte : node.start_byte + 1] == b"`" and _ESCAPE_IN_BACKQUOTES.search(
                _get_text(node, source)
            ):
                found.append("the shell removes backslashes in backquotes twice")
        if node.type == "comment" and source[node.start_byte - 1 : node.start_byte].strip(b" \t\n;&|()"):
            found.append("what looks like a comment may be code")
    if b"<<" in source and b"\n\\\n" in source:
        found.append("a here-document may begin elsewhere")
    if any(each.type == "test_command" and _has_redirect_in_test(each, source) for each in iter_descendants(root)):
        found.append("a test contains a redirect")
    skipped = bytes(0 if mark else byte for mark, byte in zip(seen, source, strict=True))
    if _UNACCOUNTED_BYTE.search(skipped):
        found.append("clio can't parse a part of it")
    visible = bytearray(source)
    for start, end in quiet:
        visible[start:end] = b"_" * (end - start)
    return [*found, *_find_raw_doubts(visible.decode("latin-1"), opened, sums)]


def _find_raw_doubts(shown: str, opened: set[int], sums: set[int]) -> list[str]:
    """Return findings in the raw text, given the substitutions and arithmetic that the grammar found."""
    found = [why] if (why := syntax.explain_hidden_effect(shown)) else []
    if any(
        match.start() not in sums and not _is_escaped(shown, match.start())
        for match in _ARITHMETIC_START.finditer(shown)
    ):
        found.append("may be arithmetic or a nested subshell")
    if _BROKEN_WORD.search(shown):
        found.append("a word continues on the next line")
    places = (match.start() for match in _SUBSTITUTION.finditer(shown))
    if any(place not in opened and not _is_escaped(shown, place) for place in places):
        found.append("clio can't parse a substitution")
    return found


def is_test_node_unsafe(node: "Node", source: bytes, numeric: frozenset[str]) -> bool:
    """Whether a test may run something in its texts and variables; those in `numeric` contain a number."""
    inside = list(iter_descendants(node))
    literals = [_get_text(each, source) for each in inside if each.type in ("raw_string", "ansi_c_string")]
    splits = any(
        each.type in _EXPANSION_TYPES
        and (not _is_in_string(each, node) or _SEVERAL_WORDS.search(_get_text(each, source)))
        and _get_text(each, source) not in ("$#", "$?", "$$", "$!")
        and _get_text(each, source).strip("${}") not in numeric
        for each in inside
    )
    return syntax.is_test_unsafe(_get_text(node, source), literals, numeric, splits=splits)


def _has_redirect_in_test(node: "Node", source: bytes) -> bool:
    """Whether an unquoted operator in a `[ … ]` redirects or ends it instead of comparing."""
    if node.children[0].type != "[":
        return False
    inside = list(iter_descendants(node))
    compared = (each for each in inside if each.parent is not None and each.parent.type == "binary_expression")
    bare = (each for each in inside if each.type in _UNQUOTED_TYPES and not each.child_count)
    return any(not each.is_named and set("<>") & set(each.type) for each in compared) or any(
        _UNESCAPED_OPERATOR.search(_get_text(each, source)) for each in bare
    )


def _can_belong_to_redirect(before: "Node", after: "Node") -> bool:
    """Whether a word adjacent to the one before may belong to the file, text or delimiter of a redirect."""
    if before.type not in ("file_redirect", "herestring_redirect", "heredoc_start"):
        return False
    return after.is_named and not after.type.endswith("_redirect") and after.type != "heredoc_body"


def find_lone_dash(node: "Node", source: bytes) -> int | None:
    """Return where a `-` precedes a here-document, which the grammar omits in `python -  <<E`; None for nowhere."""
    if node.type != "redirected_statement" or len(node.children) < 2:
        return None
    body, after = node.children[:2]
    gap = source[body.end_byte : after.start_byte]
    if (
        body.type not in ("command", "list")
        or after.type != "heredoc_redirect"
        or gap.strip(b" \t") != b"-"
        or gap[:1] == b"-"
    ):
        return None
    return body.end_byte + gap.index(b"-")


def iter_descendants(node: "Node") -> Iterator["Node"]:
    """Yield all descendants of a node, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(current.children)


def _get_text(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")


def _is_arithmetic(node: "Node") -> bool:
    return node.type in _ARITHMETIC_TYPES or (node.type == "compound_statement" and node.children[0].type == "((")


def _get_arithmetic_text(node: "Node", source: bytes) -> str:
    """Return what a node evaluates: all of it, or for a loop the part before its body."""
    body = node.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    text = source[node.start_byte : end].decode("utf-8", "surrogatepass")
    return text.removeprefix("$").removeprefix("for").rstrip().removesuffix("do")


def _is_literal_heredoc(node: "Node", source: bytes) -> bool:
    """Whether a here-document's body is literal, because its delimiter is quoted."""
    if node.type != "heredoc_body" or node.parent is None:
        return False
    starts = [child for child in node.parent.children if child.type == "heredoc_start"]
    return any(mark in source[start.start_byte : start.end_byte] for start in starts for mark in (b"'", b'"', b"\\"))


def _has_line_break(node: "Node", source: bytes) -> bool:
    """Whether an unescaped line end is between two words of a construct that must be on one line."""
    single = node.type == "test_command" and node.children[0].type == "["
    if node.type not in _ON_ONE_LINE and not single:
        return False
    joins = [pair for each in (iter_descendants(node) if single else (node,)) for pair in pairwise(each.children)]
    gaps = (source[before.end_byte : after.start_byte] for before, after in joins)
    return any(b"\n" in gap.replace(b"\\\n", b"") for gap in gaps)


def _is_in_string(node: "Node", end: "Node") -> bool:
    """Whether a node is in double quotes, or in an expansion, below another node."""
    while node.parent is not None and node.parent != end:
        node = node.parent
        if node.type in ("string", "expansion", "command_substitution"):
            return True
    return False


def _is_alone_on_line(node: "Node", source: bytes) -> bool:
    """Whether the delimiter of a here-document is alone on its line, as the shell requires."""
    before = source[: node.start_byte].rsplit(b"\n", 1)[-1]
    after = source[node.end_byte : node.end_byte + 1]
    tabs = node.parent is not None and node.parent.children[0].type == "<<-"
    return after in (b"", b"\n") and not (before.strip(b"\t") if tabs else before)


def _is_escaped(text: str, place: int) -> bool:
    """Whether an odd number of backslashes precedes a position."""
    before = text[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
