"""Check a parse: compare the results of both parsers, and name what the bash grammar did not account for. Pure."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from clio.security.shell import command_line as shell_state
from clio.security.shell.command_line import DECLARES, Word
from clio.security.shell.hand_parser import Outline
from clio.security.shell.wrappers import SHELLS, reads_input

if TYPE_CHECKING:
    from tree_sitter import Node


Words = tuple[Word, ...]


def same_calls(outline: Outline, seen: Mapping[int, Words]) -> bool:
    """Whether the same calls begin at the same positions, with the same words."""
    found = {place: _plain(words) for place, words in seen.items() if words}
    own = {place: _plain(words) for place, words in outline.calls.items()}
    return own.keys() == found.keys() and all(
        len(words) == len(found[place]) and all(map(_alike, words, found[place])) for place, words in own.items()
    )


def same_redirects(outline: Outline, seen: Mapping[int, tuple[str, Word]]) -> bool:
    """Whether the same files are read and written at the same positions."""
    return outline.redirects.keys() == seen.keys() and all(
        operator == seen[place][0] and _alike(target, seen[place][1])
        for place, (operator, target) in outline.redirects.items()
    )


def same_inputs(outline: Outline, seen: Mapping[int, str | None]) -> bool:
    """Whether each shell receives the same text, which it would run."""
    for place, words in outline.calls.items():
        if any(_reads(words[start:]) for start in range(len(words))):
            fed = outline.inputs.get(place)
            own = outline.documents.get(fed, "") if isinstance(fed, int) else fed
            other = seen.get(place)
            if (own if own is None else own.rstrip("\n")) != (other if other is None else other.rstrip("\n")):
                return False
    return True


def same_settings(outline: Outline, seen: Mapping[int, tuple[str, Word]]) -> bool:
    """Whether each assignment was found; the other parser also reports parts of arithmetic as assignments."""
    return all(
        place in seen and name == seen[place][0] and (value.dynamic or value.text == seen[place][1].text)
        for place, (name, value) in outline.settings.items()
    )


def _reads(words: Words) -> bool:
    """Whether this would be a shell that runs its input."""
    return words[0].text.rsplit("/", 1)[-1] in SHELLS and reads_input(words)


def _plain(words: Words) -> Words:
    """Normalize the words of a call for comparison: `[` without its test, the names after `export` sorted."""
    if words[0] == Word("[", glob=words[0].glob):
        return (Word("["),)
    if words[0].text not in DECLARES:
        return words
    return (words[0], *sorted((_named(word) for word in words[1:]), key=lambda word: word.text))


def _named(word: Word) -> Word:
    """Return a name and the value assigned to it; the value is compared only if it is plain."""
    name, sign, _ = word.text.partition("=")
    return Word(f"{name}=", dynamic=True) if sign else word


def _alike(own: Word, other: Word) -> bool:
    """Whether a word of the other parser is no more specific than this one's."""
    if own.dynamic or other.dynamic:
        return other.dynamic
    return own.text == other.text and other.glob >= own.glob


_EXPANDS = ("simple_expansion", "expansion", "command_substitution")
_CALCULATING = frozenset({"arithmetic_expansion", "c_style_for_statement"})
# Nodes that own the text between their parts.
_WHOLE = frozenset({"string", "heredoc_body", "expansion", "ansi_c_string", "raw_string", "translated_string"})
# Constructs that the shell reads only up to the end of the line.
_ON_ONE_LINE = frozenset(
    {"command", "declaration_command", "unset_command", "redirected_statement", "variable_assignments"}
    | {"file_redirect", "herestring_redirect", "negated_command"}
)
_SKIPPED = re.compile(rb"\\(?!\n)|[^\x00 \t\n\\]")
_BARE = frozenset({"word", "extglob_pattern", "regex"})
_SIGN = re.compile(r"(?<!\\)(?:\\\\)*[<>;&|()`]")
_SUBSTITUTION = re.compile(r"`|\$\(|[<>]\(")
_DESCRIPTOR = re.compile(r"\d+|\{\w+\}")
_INDEX = re.compile(r"\[(?!\d+\]=)[^\n]*\]\+?=")
_DOLLARS = frozenset({"simple_expansion", "translated_string"})
_DOUBLE = re.compile(r"\$\(\(")
_BLANK = re.compile(r"(?<!\\)(?:\\\\)*[ \t]")
_TWICE = re.compile(r"\\[$`\\\"]")
_BROKEN_WORD = re.compile(r"(?:[^ \t\n;&|\\]|\\[ \t;&|]|(?<!\\)(?:\\\\)+)\\\n[^ \t\n]")
_SEVERAL = re.compile(r"\$@|\$\{[@!]|\[@\]|@\}")


def find_unaccounted(root: "Node", source: bytes, counted: frozenset[str]) -> list[str]:
    """Return what a tree does not account for, in a few words each; empty if every byte is understood.

    Every substitution in the raw text must be known to the grammar, or be in a position the shell does not expand.

    Args:
        counted: the variables that contain nothing but a number.
    """
    found: list[str] = []
    opened: set[int] = set()
    sums: set[int] = set()
    quiet: list[tuple[int, int]] = []
    seen = bytearray(len(source))
    for node in below(root):
        if _is_arithmetic(node) and shell_state.calculates(_calculated(node, source), counted):
            found.append(shell_state.CALCULATES)
        if node.type == "word" and _BLANK.search(_text(node, source)):
            found.append("a word holds a blank the shell would part it at")
        if node.type == "command" and any(
            before.type == "variable_assignment" and before.end_byte == after.start_byte
            for before, after in pairwise(node.children)
        ):
            found.append("a value and a program are not parted")
        if any(
            before.end_byte == after.start_byte and _parted(before, after) for before, after in pairwise(node.children)
        ):
            found.append("a word goes on behind a redirect")
        if _breaks(node, source):
            found.append("the end of a line parts what the shell grammar joins")
        if node.type == "array" and any(_INDEX.match(_text(child, source)) for child in node.children):
            found.append(shell_state.CALCULATES)
        if node.type == "arithmetic_expansion":
            sums.add(node.start_byte)
        if node.type in _DOLLARS and source[node.start_byte + 1 : node.start_byte + 2].isspace():
            found.append("a lone $ may part words otherwise")
        if node.type == "file_descriptor" and not _DESCRIPTOR.fullmatch(_text(node, source)):
            found.append("the word before a redirect is taken for its number")
        if node.type == "heredoc_end" and not _ends_its_line(node, source):
            found.append("a here-document may go on behind its end")
        if node.type in ("`", "$(", "$((", "((", "<(", ">("):
            opened.update((node.start_byte, node.end_byte - len(node.type)))
        elif node.type in ("raw_string", "ansi_c_string", "comment") or _literal_heredoc(node, source):
            quiet.append((node.start_byte, node.end_byte))
        size = node.end_byte - node.start_byte
        if (dash := lone_dash(node, source)) is not None:
            seen[dash] = ord("x")
        if not node.child_count or node.type in _WHOLE:
            seen[node.start_byte : node.end_byte] = b"x" * size
        elif node.type == "command_substitution":  # even inside a text, its parts must be accounted for one by one
            seen[node.start_byte : node.end_byte] = bytes(size)
            if source[node.start_byte : node.start_byte + 1] == b"`" and _TWICE.search(_text(node, source)):
                found.append("backslashes in backquotes are taken off twice")
        if node.type == "comment" and source[node.start_byte - 1 : node.start_byte].strip(b" \t\n;&|()"):
            found.append("a comment may not be one")
    if b"<<" in source and b"\n\\\n" in source:
        found.append("a here-document may begin otherwise")
    if any(each.type == "test_command" and _redirects(each, source) for each in below(root)):
        found.append("a redirect stands inside a test")
    skipped = bytes(0 if mark else byte for mark, byte in zip(seen, source, strict=True))
    if _SKIPPED.search(skipped):
        found.append("the shell grammar left a part of it out")
    visible = bytearray(source)
    for start, end in quiet:
        visible[start:end] = b"_" * (end - start)
    return [*found, *_raw_look(visible.decode("latin-1"), opened, sums)]


def _raw_look(shown: str, opened: set[int], sums: set[int]) -> list[str]:
    """Return findings in the raw text, given the substitutions and arithmetic that the grammar found."""
    found = [why] if (why := shell_state.explain_hidden_effect(shown)) else []
    if any(match.start() not in sums and not _escaped(shown, match.start()) for match in _DOUBLE.finditer(shown)):
        found.append("it may be arithmetic, or a shell in a shell")
    if _BROKEN_WORD.search(shown):
        found.append("a word goes on over the end of a line")
    places = (match.start() for match in _SUBSTITUTION.finditer(shown))
    if any(place not in opened and not _escaped(shown, place) for place in places):
        found.append("a substitution could not be followed")
    return found


def is_test_node_unsafe(node: "Node", source: bytes, counted: frozenset[str]) -> bool:
    """Whether a test may run something in its texts and variables; those in `counted` contain a number."""
    inside = list(below(node))
    literals = [_text(each, source) for each in inside if each.type in ("raw_string", "ansi_c_string")]
    splits = any(
        each.type in _EXPANDS
        and (not _in_string(each, node) or _SEVERAL.search(_text(each, source)))
        and _text(each, source) not in ("$#", "$?", "$$", "$!")
        and _text(each, source).strip("${}") not in counted
        for each in inside
    )
    return shell_state.is_test_unsafe(_text(node, source), literals, counted, splits=splits)


def _redirects(node: "Node", source: bytes) -> bool:
    """Whether an unquoted operator in a `[ … ]` redirects or ends it instead of comparing."""
    if node.children[0].type != "[":
        return False
    inside = list(below(node))
    compared = (each for each in inside if each.parent is not None and each.parent.type == "binary_expression")
    bare = (each for each in inside if each.type in _BARE and not each.child_count)
    return any(not each.is_named and set("<>") & set(each.type) for each in compared) or any(
        _SIGN.search(_text(each, source)) for each in bare
    )


def _parted(before: "Node", after: "Node") -> bool:
    """Whether a word adjacent to the one before may belong to the file, text or delimiter of a redirect."""
    if before.type not in ("file_redirect", "herestring_redirect", "heredoc_start"):
        return False
    return after.is_named and not after.type.endswith("_redirect") and after.type != "heredoc_body"


def lone_dash(node: "Node", source: bytes) -> int | None:
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


def below(node: "Node") -> Iterator["Node"]:
    """Yield all descendants of a node, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(current.children)


def _text(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")


def _is_arithmetic(node: "Node") -> bool:
    return node.type in _CALCULATING or (node.type == "compound_statement" and node.children[0].type == "((")


def _calculated(node: "Node", source: bytes) -> str:
    """Return what a node evaluates: all of it, or for a loop the part before its body."""
    body = node.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    text = source[node.start_byte : end].decode("utf-8", "surrogatepass")
    return text.removeprefix("$").removeprefix("for").rstrip().removesuffix("do")


def _literal_heredoc(node: "Node", source: bytes) -> bool:
    """Whether a here-document's body is literal, because its delimiter is quoted."""
    if node.type != "heredoc_body" or node.parent is None:
        return False
    starts = [child for child in node.parent.children if child.type == "heredoc_start"]
    return any(mark in source[start.start_byte : start.end_byte] for start in starts for mark in (b"'", b'"', b"\\"))


def _breaks(node: "Node", source: bytes) -> bool:
    """Whether an unescaped line end is between two words of a construct that must be on one line."""
    single = node.type == "test_command" and node.children[0].type == "["
    if node.type not in _ON_ONE_LINE and not single:
        return False
    joins = [pair for each in (below(node) if single else (node,)) for pair in pairwise(each.children)]
    gaps = (source[before.end_byte : after.start_byte] for before, after in joins)
    return any(b"\n" in gap.replace(b"\\\n", b"") for gap in gaps)


def _in_string(node: "Node", end: "Node") -> bool:
    """Whether a node is in double quotes, or in an expansion, below another node."""
    while node.parent is not None and node.parent != end:
        node = node.parent
        if node.type in ("string", "expansion", "command_substitution"):
            return True
    return False


def _ends_its_line(node: "Node", source: bytes) -> bool:
    """Whether the delimiter of a here-document is alone on its line, as the shell requires."""
    before = source[: node.start_byte].rsplit(b"\n", 1)[-1]
    after = source[node.end_byte : node.end_byte + 1]
    tabs = node.parent is not None and node.parent.children[0].type == "<<-"
    return after in (b"", b"\n") and not (before.strip(b"\t") if tabs else before)


def _escaped(text: str, place: int) -> bool:
    before = text[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
