"""The names that a file defines, found by parsing it: Python by itself, other languages with tree-sitter grammars."""

import ast
import importlib
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from clio.lsp.catalog import GRAMMARS, PARSED_SUFFIXES, can_outline, is_grammar_installed
from clio.lsp.language_server import Symbol, read_source
from clio.text.untrusted_text import to_inert_line
from clio.tools.files.file_index import list_files

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_SEARCH_FILES = 5_000
_SEARCH_LIMIT_S = 5.0
_MAX_SYMBOLS = 2_000
_MAX_DEPTH = 60
"""Levels of a syntax tree that are looked at; definitions are near the top."""
_DEFINITIONS: Mapping[str, str] = {
    "function_definition": "function", "function_declaration": "function", "function_item": "function",
    "generator_function_declaration": "function", "function_signature_item": "function",
    "method_definition": "method", "method_declaration": "method", "method": "method", "singleton_method": "method",
    "constructor_declaration": "constructor", "class_definition": "class", "class_declaration": "class",
    "abstract_class_declaration": "class", "class_specifier": "class", "class": "class",
    "struct_specifier": "struct", "struct_item": "struct", "struct_declaration": "struct", "union_item": "struct",
    "record_declaration": "class", "enum_item": "enum", "enum_declaration": "enum", "enum_specifier": "enum",
    "interface_declaration": "interface", "trait_item": "interface", "trait_declaration": "interface",
    "impl_item": "class", "type_alias_declaration": "type", "type_item": "type", "type_spec": "type",
    "type_definition": "type", "mod_item": "module", "module": "module", "namespace_definition": "namespace",
    "namespace_declaration": "namespace", "const_item": "constant", "static_item": "constant",
    "macro_definition": "function", "variable_declarator": "function", "object_definition": "class",
}  # fmt: skip
_FUNCTIONS = frozenset(("function", "method", "constructor"))
_FUNCTION_VALUES = ("arrow_function", "function_expression", "function", "class")


def parse_with_grammar(data: bytes, suffix: str) -> "Node | None":
    """Return the root of the syntax tree; None if no grammar is installed for the suffix."""
    if not is_grammar_installed(suffix):
        return None
    import tree_sitter

    package, function = GRAMMARS[suffix]
    language = tree_sitter.Language(getattr(importlib.import_module(package), function)())  # pyright: ignore[reportDeprecated]
    return tree_sitter.Parser(language).parse(data).root_node


def outline_file(path: Path) -> list[Symbol] | None:
    """Return the names a file defines, in its order; None if it cannot be parsed. Blocks."""
    text = read_source(path)
    if text is None:
        return None
    if path.suffix in PARSED_SUFFIXES:
        return _outline_python(text, path)
    root = parse_with_grammar(text.encode(), path.suffix)
    return list(_walk_tree(root, path, 0, 0)) if root is not None else None


def _outline_python(text: str, path: Path) -> list[Symbol] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    # Python 3.11's parser raises the last three for text that is nested too deeply.
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return None
    return list(_walk_python(tree.body, path, 0))


def _walk_python(body: list[ast.stmt], path: Path, depth: int) -> Iterator[Symbol]:
    for node in body:
        match node:
            case ast.ClassDef():
                yield Symbol(name=node.name, kind="class", path=path, line=node.lineno, depth=depth)
                yield from _walk_python(node.body, path, depth + 1)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kind = "method" if depth else "function"
                yield Symbol(name=node.name, kind=kind, path=path, line=node.lineno, depth=depth)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name) and depth < 2:
                        yield Symbol(name=target.id, kind="variable", path=path, line=node.lineno, depth=depth)
            case ast.If() | ast.Try() | ast.With():
                yield from _walk_python(node.body, path, depth)
            case _:
                pass


def _walk_tree(node: "Node", path: Path, depth: int, level: int) -> Iterator[Symbol]:
    if level > _MAX_DEPTH:
        return
    for child in node.named_children:
        kind = _DEFINITIONS.get(child.type, "")
        if child.type == "variable_declarator":
            value = child.child_by_field_name("value")
            kind = kind if value is not None and value.type in _FUNCTION_VALUES else ""
        name = _find_name(child) if kind else ""
        if name:
            yield Symbol(name=name, kind=kind, path=path, line=child.start_point[0] + 1, depth=depth)
        # The inside of a function has only local names.
        if kind not in _FUNCTIONS and not child.type.endswith(("_expression", "parameters")):
            yield from _walk_tree(child, path, depth + bool(name), level + 1)


def _find_name(node: "Node") -> str:
    """Return the name that a definition gives; "" if it has none. In C it is inside of declarators."""
    found = node.child_by_field_name("name") or node.child_by_field_name("type" if node.type == "impl_item" else "name")
    inner = node.child_by_field_name("declarator")
    for _ in range(10):
        if found is not None or inner is None:
            break
        if inner.type.endswith("identifier"):
            found = inner
        inner = inner.child_by_field_name("declarator")
    if found is None or (node.type.endswith("_specifier") and node.child_by_field_name("body") is None):
        return ""
    return to_inert_line((found.text or b"").decode("utf-8", "replace")[:200])


def search_outlines(root: Path, query: str, *, exact: bool = False) -> tuple[list[Symbol], bool]:
    """Return the names in the project that contain `query`, and whether all files could be searched. Blocks.

    exact: the whole name must be `query`.
    """
    found: list[Symbol] = []
    deadline = time.monotonic() + _SEARCH_LIMIT_S
    paths = [name for name in list_files(root) if can_outline(Path(name).suffix)]
    wanted = query.casefold()
    for name in paths[:_MAX_SEARCH_FILES]:
        if time.monotonic() > deadline or len(found) >= _MAX_SYMBOLS:
            return found, False
        path = root / name
        text = read_source(path)
        # Most files do not contain the name at all, and need not be parsed.
        if text is None or wanted not in text.casefold():
            continue
        for symbol in outline_file(path) or ():
            # C++ names a method outside its class with that class: `Shape::area`.
            names = (symbol.name, symbol.name.rpartition("::")[2])
            if query in names if exact else wanted in symbol.name.casefold():
                found.append(symbol)
    return found, len(paths) <= _MAX_SEARCH_FILES
