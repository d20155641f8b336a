"""Text of the model rendered by a real Markdown renderer contains no link, picture or HTML."""

import html
import importlib
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

FOLDER = Path(__file__).parents[2] / "ci" / "review"
LOADED: dict[str, ModuleType] = {}


@pytest.fixture(autouse=True, scope="module")
def modules() -> Iterator[None]:
    """Return the script's modules, which are not in a package: Python finds them next to `__main__.py`."""
    names = ("common", "comment", "project", "hosts")
    sys.path.insert(0, str(FOLDER))
    try:
        LOADED.update({name: importlib.import_module(name) for name in names})
        yield
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


class Tags(HTMLParser):
    """Collects tags, and the text outside code."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self._code = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self._code += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.text += data


def render(markdown: str) -> Tags:
    tags = Tags()
    tags.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))
    return tags


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "`",
                "``",
                "```",
                "\n```\n",
                "~~~",
                "\n",
                "\n\n",
                " ",
                "    ",
                "\\",
                "*",
                "_",
                "[",
                "]",
                "(",
                ")",
                "!",
                "<",
                ">",
            ),
            *(
                "@all",
                "a@b.example",
                "#1",
                "GH-2",
                "https://evil.example",
                "www.evil.example",
                "<img src=x>",
                "<!--",
                "-->",
            ),
            *(
                "![x](y)",
                "[x]: y",
                "- ",
                "1. ",
                "# ",
                "> ",
                "/approve",
                "&lt;",
                "|",
                "---",
                "===",
                "\t",
                "word",
                "\x1b[1m",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@given(PIECES)
@settings(max_examples=300, deadline=None)
def test_an_answer_is_only_paragraphs_lists_and_code(text: str) -> None:
    shown = LOADED["comment"].escape_text(LOADED["common"].remove_controls(text))
    page = render(shown)
    assert page.tags <= {"p", "ul", "ol", "li", "code", "pre"}, (text, shown)
    assert not re.search(r"@\w|#\d|://|www\.|GH-\d", page.text), (text, shown)
    assert not re.search(r"^/", shown, re.M), (text, shown)


@given(PIECES)
@settings(max_examples=300, deadline=None)
def test_a_line_contains_no_line_break(text: str) -> None:
    shown = LOADED["comment"].escape_line(LOADED["common"].remove_controls(text))
    assert "\n" not in shown
    page = render(f"- **high** `x`: {shown}")
    assert page.tags <= {"p", "ul", "li", "strong", "code"}, (text, shown)
    assert not re.search(r"@\w|#\d|://|www\.|GH-\d", page.text), (text, shown)


def test_ordinary_text_is_shown_as_it_was_written() -> None:
    text = "Use `a | b` (not a*b), e.g. for x_1 <= 2.\n\n1. One\n2. Two\n\n```python\nx = '@a'\n```"
    rendered = MarkdownIt().render(LOADED["comment"].escape_text(text))
    assert "Use <code>a | b</code> (not a*b), e.g. for x_1 &lt;= 2." in rendered
    assert rendered.count("<li>") == 2
    assert html.unescape(rendered).count("x = '@a'") == 1


@pytest.mark.parametrize("prefix", ["", "a", "ab"])
def test_a_secret_is_found_in_other_spellings(prefix: str) -> None:
    import base64

    secret = "k3y+with/signs=9"
    remove = LOADED["common"].remove_secrets
    for form in (secret, secret[::-1], secret.encode().hex(), "k3y%2Bwith%2Fsigns%3D9"):
        assert form not in remove(f"<{form}>", {"KEY": secret})
    encoded = base64.b64encode((prefix + secret + "tail").encode()).decode()
    assert "[REDACTED:KEY]" in remove(encoded, {"KEY": secret})


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ("/clio", ""),
        ("@clio review", ""),
        ("/clio Review.", ""),
        ("/clio why?\nreally", "why?\nreally"),
        ("/clio: why?", "why?"),
        ("  /CLIO why?", "why?"),
        ("/cliometrics", None),
        ("hello /clio", None),
        ("", None),
    ],
)
def test_calls_of_clio_are_recognized(body: str, question: str | None) -> None:
    assert LOADED["hosts"].parse_call(body) == question


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", "a//b", ".git/config", "a/.GIT/hooks/x", "git~1/x", "a\\b"]
)
def test_a_path_outside_the_repository_is_refused(path: str) -> None:
    assert not LOADED["project"].is_safe_path(path)


@pytest.mark.parametrize("path", ["a.py", ".github/x.yml", ".gitignore", "$(touch x)", "-rf", "a b/ü"])
def test_an_unusual_name_is_only_a_name(path: str) -> None:
    assert LOADED["project"].is_safe_path(path)


@pytest.mark.parametrize("name", ["--upload-pack=x", "main", "", None, "a" * 39, "A" * 40])
def test_only_a_commit_hash_is_accepted(name: Any) -> None:
    with pytest.raises(LOADED["common"].ReviewFailed):
        LOADED["hosts"].check_commit(name)
