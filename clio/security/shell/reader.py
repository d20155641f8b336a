"""What the words of a tree say, their quotes taken off, and which of them only the run can tell."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell import words as shell_words
from clio.security.shell.collect import Collector
from clio.security.shell.words import CommandLine, Word

if TYPE_CHECKING:
    from tree_sitter import Node

EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
    | {"brace_expression", "arithmetic_expression"}
)
_BARE = frozenset({"word", "number", "variable_name", "special_variable_name", "test_operator"})
_BARE_META = LatePattern(r"(?<!\\)(?:\\\\)*[;|&<>()\n]")


class Reader(Collector):
    """A collector that reads words from the nodes of one tree. source: the text the tree was made of."""

    def __init__(self, source: bytes, parse: Callable[[str, bool], CommandLine], *, plain: bool) -> None:
        super().__init__(parse, plain=plain)
        self.source = source

    def text(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "surrogatepass")

    def assignment(self, node: "Node") -> tuple[str, str]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        return (self.text(name) if name else "", self.word(value).text if value else "")

    def word(self, node: "Node") -> Word:
        """A word with its quotes taken off."""
        match node.type:
            case "word" | "number" | "variable_name" | "test_operator" | "special_variable_name":
                raw = self.text(node)
                if node.child_count:
                    return Word(raw, dynamic=True)
                if _BARE_META.search(raw):
                    self.unknown.append(f"the word {raw[:40]!r} was not split")
                return Word(shell_words.unquoted(raw), shell_words.has_braces(raw), shell_words.has_glob(raw))
            case "raw_string":
                return Word(self.text(node)[1:-1])
            case "ansi_c_string":
                return Word(shell_words.in_ansi_quotes(self.text(node)[2:-1]))
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
        return Word(inside if dynamic else shell_words.in_double_quotes(inside), dynamic=dynamic)

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
        """Note where the brace expansions of a line make too many words, wherever the shell expands them.

        Words that touch are counted as one, and the words of the whole line together.
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
        """The text of a word outside quotes and expansions, each of which counts as a letter."""
        if node.type == "concatenation":
            return "".join(map(self._bare_text, node.children))
        if not node.child_count and (node.type in _BARE or not node.is_named):
            return self.text(node)
        return self.text(node) if node.type == "brace_expression" else "x"

    def touching(self, first: Word, second: Word) -> Word:
        """Two words the grammar parts and the shell does not, as nothing stands between them."""
        word = Word(first.text + second.text, first.dynamic or second.dynamic, first.glob or second.glob)
        if first.text.endswith("$"):
            self.unknown.append(f"the word {word.text[:40]!r} may be translated")
        return word
