"""Links in Markdown, for terminals that can open them: the target stays in sight, so that no text can hide it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clio.ui.terminal_links import may_open

if TYPE_CHECKING:
    from markdown_it.token import Token


def linked(tokens: "list[Token]") -> "list[Token]":
    """The tokens with every link as "text (target)", both to be clicked; one that may not be opened is plain text."""
    for token in tokens:
        if token.children:
            token.children = list(_linked_inline(token.children))
    return tokens


def _linked_inline(children: "list[Token]") -> "Iterator[Token]":
    opened: Token | None = None
    said = ""
    for token in children:
        if token.type == "link_open":
            opened, said = token, ""
            if may_open(_target(token)):
                yield token
        elif token.type == "link_close" and opened is not None:
            yield from _end(opened, token, said)
            opened = None
        else:
            said += token.content
            yield token


def _end(opened: "Token", closed: "Token", said: str) -> "Iterator[Token]":
    target = _target(opened)
    can_open = may_open(target)
    if can_open:
        yield closed
    if said == target:
        return
    yield _text(closed, " (")
    yield from (opened, _text(closed, target), closed) if can_open else (_text(closed, target),)
    yield _text(closed, ")")


def _target(opened: "Token") -> str:
    return str(opened.attrs.get("href", ""))


def _text(like: "Token", content: str) -> "Token":
    return like.copy(type="text", tag="", nesting=0, content=content, attrs={})
