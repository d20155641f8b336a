"""Error texts begin in lower case after "clio:", and with a capital on a line of their own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import clio
from clio.text.formatting import begin_lower, begin_upper

RAISED = ("Error", "NotFound", "Locked", "Refused", "Failed", "Retry", "make_refusal", "make_problem")


def list_error_texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the beginning of each text that a user may read as an error."""
    root = Path(clio.__file__).parent
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and node.args):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            first = node.args[0]
            if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "tr":
                first = first.args[0]  # a sentence of the catalogue
            start = first.values[0] if isinstance(first, ast.JoinedStr) and first.values else first
            if name.endswith(RAISED) and isinstance(start, ast.Constant) and isinstance(start.value, str):
                yield f"{path.relative_to(root)}:{node.lineno}", start.value


def test_an_error_begins_as_its_place_requires() -> None:
    texts = list(list_error_texts())
    assert len(texts) > 500
    for place, text in texts:
        first = text.split(" ")[0]
        if not first.isalpha() or not (first.islower() or first.istitle()):
            continue  # a value, a flag, an acronym
        assert begin_lower(begin_upper(text)) == begin_lower(text), place
        lower, upper = begin_lower(text), begin_upper(text)
        if lower[0].isupper() or upper[0].islower():
            assert lower == upper == text and first in KEPT, place  # a name, in its usual spelling


KEPT = frozenset(
    "Python clio git gh rg Ollama Landlock Enter Windows Esc Docker bwrap pip python bedrock azure vertex".split()
)


def test_names_keep_their_first_letter() -> None:
    assert begin_upper("git is not installed") == "git is not installed"
    assert begin_lower("Ollama does not answer") == "Ollama does not answer"
    assert begin_lower("No session matches 'x'") == "no session matches 'x'"
    assert begin_upper("no session matches 'x'") == "No session matches 'x'"
    assert begin_upper("'x' is no session") == begin_lower("'x' is no session")
    assert begin_lower("MCP servers are off") == "MCP servers are off"
    assert begin_upper("keys.output: c-o is taken") == "keys.output: c-o is taken"
