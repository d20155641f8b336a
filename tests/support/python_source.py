"""Parsing of Python source in tests, on Pythons whose parser can fail by chance."""

import ast


def parse_source(text: str) -> ast.Module:
    """The syntax tree of a module. Raises SyntaxError.

    CPython before 3.11.8 can raise SystemError ("AST constructor recursion depth mismatch") for sound source
    when another thread parses at the same time (CPython issue 106905); a second try succeeds.
    """
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)
