"""Parsing of Python source on Python versions whose parser can fail by chance."""

import ast
from collections.abc import Iterator


def parse_source(text: str) -> ast.Module:
    """Return the syntax tree of a module. Raises SyntaxError.

    CPython before 3.11.8 can raise SystemError ("AST constructor recursion depth mismatch") for valid source
    when another thread parses at the same time (CPython issue 106905); a second try succeeds.
    """
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


def walk_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield every statement of a module, outer ones first: a tenth of the nodes that `ast.walk` visits."""
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            if isinstance(inner, list):  # `x if y else z` and lambdas have a body that is an expression
                waiting += inner
