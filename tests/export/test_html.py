"""The exported page as text: complete, reproducible, and without anything that loads, runs or misleads."""

import hashlib
import json
import os
import re
import subprocess
import sys
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import SessionNotFound
from clio.export.export_session import export_session, remove_terminal_sequences, spell_out_invisible
from clio.export.html_page import (
    MAX_BRACKETS,
    MAX_COLOURED_BLOCK_CHARS,
    MAX_LINES,
    MAX_MARKDOWN,
    CodeColouring,
    DiffRenderer,
    ProseRenderer,
    is_diff,
    is_link_allowed,
    render_page,
)
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.state import SessionState, Trim
from clio.sessions.store import SessionStore
from tests.export.conftest import collected
from tests.export.sample import START, hostile_messages, make_session, state_with_text_everywhere, typical_messages
from tests.support.rows import each_row

NOW = START + 86_400
KNOWN = frozenset(
    "html head meta title style script body a div input output span button label main header p h1 h2 h3 h4 h5 h6 "
    "dl dt dd nav ol ul li section small details summary table thead tbody tfoot tr th td article aside pre code "
    "time footer strong em b s hr blockquote br".split()
)


def same(text: str) -> str:
    return text


def prose() -> ProseRenderer:
    return ProseRenderer(CodeColouring(), DiffRenderer())


class Tags(HTMLParser):
    """All elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_has_the_complete_session(store: SessionStore) -> None:
    id = make_session(store, typical_messages(), name="A cent short", trims=True)
    page = export_session(store, id, "html", redact=same, now=NOW)
    for part in (
        "<title>A cent short</title>",
        '<h1 dir="auto">A cent short</h1>',
        "clio session · shop",
        "50,900 in, 387 out",
        "2 turns, 12 messages",
        "6 calls, 1 failed",
        "qwen3-coder:30b",
        "Tokens of 4 requests",
        "step 2 · 11,500 in · 95 out",
        "failed · exit 1 in 2.3 s",
        "8 messages removed from the context window, about 4,321 tokens freed",
        "1 of 4 done",
        "exported 2025-10-10 08:53 UTC",
        "<h4>What I changed</h4>",
        '<td class="right">2.68</td>',
        "No result: the call was still running",
        "Yes, and __init__ too.\n    keep   the spaces &lt;b&gt;as they are&lt;/b&gt;",
        f'<a href="#m-{typical_messages()[1].id}">The totals in shop/prices.py',
    ):
        assert part in page, part


def test_the_first_message_of_a_day_has_its_date() -> None:
    times = (START, START + 60, START + 86_400, 0.0, START + 86_401)
    state = SessionState(
        id="s", messages=[UserMessage(id=f"u{n}", content="x", created=t) for n, t in enumerate(times)]
    )
    shown = re.findall(r"<time [^>]*>(.*?)</time>", render_page(collected(state)))
    assert shown == ["2025-10-09 08:53", "08:54:20", "2025-10-10 08:53", "08:53:21"]


def test_the_same_session_gives_the_same_bytes_in_another_process(store: SessionStore) -> None:
    id = make_session(store, [*typical_messages(), *hostile_messages()[:-1]])
    here = [export_session(store, id, form, redact=same, now=NOW) for form in ("html", "md", "json")]
    program = (
        "import hashlib, pathlib, sys\n"
        "from clio.export.export_session import export_session\n"
        "from clio.sessions.store import SessionStore\n"
        "store = SessionStore(pathlib.Path(sys.argv[1]))\n"
        "for form in ('html', 'md', 'json'):\n"
        "    text = export_session(store, sys.argv[2], form, redact=str, now=float(sys.argv[3]))\n"
        "    print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, str(store.folder), id, str(NOW)],
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == [hashlib.sha256(text.encode()).hexdigest() for text in here]


def test_a_running_session_is_exported_and_no_file_is_changed(store: SessionStore) -> None:
    session = store.new(Path("/home/dev/shop"))
    session.append(UserMessage(content="still talking"))
    whole = session.write_blob("the whole output\n" * 10)
    assert session.read_blob(whole)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in store.folder.rglob("*") if path.is_file()}
    assert "still talking" in export_session(store, session.id, "html", redact=same, now=NOW)
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in store.folder.rglob("*") if path.is_file()}
    assert after == before
    session.close()


@pytest.mark.parametrize("id", ["../../etc/passwd", "", "nobody"])
def test_a_missing_session_is_reported_in_one_sentence(store: SessionStore, id: str) -> None:
    with pytest.raises(SessionNotFound, match=r"No session '.*'; `/session list`"):
        export_session(store, id, "html", redact=same, now=NOW)


def test_an_empty_conversation_is_a_page_too(store: SessionStore) -> None:
    id = make_session(store, [AssistantMessage(content="", created=START)])
    page = export_session(store, id, "html", redact=same, now=NOW)
    assert "An empty session" in page
    assert '<nav class="toc"' not in page


def test_the_policy_allows_one_style_and_one_script_by_their_hash(store: SessionStore) -> None:
    page = export_session(store, make_session(store, hostile_messages()), "html", redact=same, now=NOW)
    style, script = re.findall(r"<style>(.*?)</style>", page, re.S), re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(style) == len(script) == 1
    policy = next(tag["content"] or "" for name, tag in Tags(page).found if tag.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for text, name in ((style[0], "style-src"), (script[0], "script-src")):
        digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy


def test_nothing_hostile_becomes_an_element_or_an_attribute(store: SessionStore) -> None:
    page = export_session(store, make_session(store, hostile_messages()), "html", redact=same, now=NOW)
    tags = Tags(page).found
    assert {name for name, _ in tags} <= KNOWN
    assert [name for name, attrs in tags if any(key.startswith("on") or key in ("src", "style") for key in attrs)] == []
    outside = {attrs["href"] for name, attrs in tags if name == "a" and not str(attrs["href"]).startswith("#")}
    # The last is a file next to the page: an encoded backslash is no separator.
    assert outside == {"https://tracker.invalid/pixel.png", "https://ci.invalid/run", "%5Cevil.invalid"}
    assert all(
        attrs.get("rel") == "noopener noreferrer"
        for name, attrs in tags
        if name == "a" and str(attrs["href"]).startswith("http")
    )
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))


@each_row("tag", ["<img src=x onerror=y>", "<!-- open", '"><script>x</script>', "' onclick='x", "&lt;i&gt;"])
def test_no_field_can_contain_a_tag(tag: str) -> None:
    text = render_page(collected(state_with_text_everywhere(tag), blobs=lambda handle: tag))
    tags = Tags(text)
    assert {name for name, _ in tags.found} <= KNOWN
    assert sum(name in ("script", "style") for name, _ in tags.found) == 2
    assert not any(key.startswith("on") or key == "src" for _, attrs in tags.found for key in attrs)
    marked_up = text.partition("<body>")[2]
    assert "<!--" not in marked_up
    assert '="">' not in marked_up
    assert re.findall(r"&(?!(?:amp|lt|gt|quot|#x27|#\d+);)", marked_up) == []
    links = prose().markdown(f"![a](https://x.invalid/{tag.replace(' ', '')}) [b](<https://x.invalid/{tag}>)")
    assert {name for name, _ in Tags(links).found} <= {"a", "p"}


@given(
    st.lists(st.text(st.characters() | st.sampled_from("<>&\"'`*_[]()!#|\n\x00\u202e\ud800"), max_size=40), min_size=4)
)
def test_any_text_is_on_the_page_as_text(texts: list[str]) -> None:
    first, second, third, fourth, *_ = texts
    messages = [
        UserMessage(id=fourth, content=first, context=second, created=START),
        AssistantMessage(
            id="a",
            content=second,
            reasoning=third,
            model=fourth,
            tool_calls=(
                ToolCall(id="c", name=first, arguments=json.dumps({"path": second, "content": third, fourth: [first]})),
                ToolCall(id="d", name="edit_file", arguments=json.dumps({"old_string": first, "new_string": second})),
                ToolCall(id="e", name="run_command", arguments=third),
            ),
        ),
        ToolMessage(tool_call_id="c", name=first, content=fourth, summary=third),
    ]
    state = SessionState(id="s", name=third, messages=messages, trims=[Trim(handle=fourth, dropped=(fourth,))])
    text = render_page(collected(state))
    text.encode("utf-8")
    tags = Tags(text)
    assert {name for name, _ in tags.found} <= KNOWN
    assert sum(name in ("script", "style") for name, _ in tags.found) == 2
    rendered = text.partition('<div class="prose" dir="auto">')[2].partition("</article>")[0]
    assert (
        "".join(Tags(rendered).text).replace("Copy", "").split()
        == spell_out_invisible(remove_terminal_sequences(first)).split()
        or "```" in first
    )


@each_row(
    "url",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        " java\tscript:alert(1)",
        "java\nscript:x",
        "\x01javascript:x",
        "data:text/html,x",
        "data:image/png;base64,AAAA",
        "vbscript:x",
        "file:///etc/passwd",
        "//other.invalid/x",
        "\\\\other.invalid\\x",
        "/\\other.invalid",
        "blob:x",
        "view-source:x",
    ],
)
def test_links_that_could_run_something_stay_text(url: str) -> None:
    assert not is_link_allowed(url)


@each_row("url", ["https://x.invalid/a?b#c", "http://x", "mailto:a@b.c", "#m-1", "a/b.py", "a/b.py:3", "?q"])
def test_harmless_links_stay_links(url: str) -> None:
    assert is_link_allowed(url)


def test_an_image_is_a_link_and_only_its_text_within_a_link() -> None:
    assert 'href="https://x.invalid/a.png" rel="noopener noreferrer">image: a &lt;b&gt;</a>' in prose().markdown(
        "![a <b>](https://x.invalid/a.png)"
    )
    assert 'href="https://x.invalid/?a=1&amp;lt=2"' in prose().markdown("![a](https://x.invalid/?a=1&lt=2)")
    nested = prose().markdown("[![badge](https://x.invalid/a.svg)](https://x.invalid/run)")
    assert nested.count("<a ") == 1
    assert ">image: badge</a>" in nested


def test_markdown_that_is_slow_to_render_is_shown_as_source() -> None:
    for text in ("*a* " * (MAX_MARKDOWN // 4 + 1), "[" * (MAX_BRACKETS + 1)):
        shown = prose().markdown(text)
        assert "<em>" not in shown
        assert re.sub(r"<summary>.*?</summary>|<[^>]*>", "", shown) == text


def test_the_amount_of_rendered_markdown_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.export.html_page.MAX_PROSE_CHARS", 100_000)
    page = prose()
    text = "*a* " * 1_000  # takes far longer than prose
    shown = [page.markdown(text) for _ in range(5)]
    assert "<em>" in shown[0]
    assert "<em>" not in shown[-1]


def test_user_messages_are_shown_as_written_with_fences_as_code() -> None:
    shown = prose().plain("__init__ *x*\n\n```python\ndef f(): pass\n```\n  two <b>\n\n~~~\nopen")
    assert '<div class="plain">__init__ *x*</div>' in shown
    assert '<span class="k">def </span>' in shown
    assert '<div class="plain">  two &lt;b&gt;</div>' in shown
    assert "<code>open</code>" in shown


def test_the_rest_of_a_long_message_is_collapsed() -> None:
    text = "\n".join(f"row {number}" for number in range(2_000))
    shown = prose().plain(text)
    assert "more characters</summary>" in shown
    assert re.sub(r"<summary>.*?</summary>|<[^>]*>", "", shown) == text


def test_code_keeps_its_text_in_any_language() -> None:
    code = "\n\n  def f(x):\n\treturn '<b>&amp;' # é\n\n"
    for language in ("python", "no-such-language", "", "html", "console", "diff"):
        plain = re.sub(r"<[^>]*>", "", CodeColouring().code(code, language))
        assert plain == code.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;")


def test_code_too_long_to_highlight_is_plain() -> None:
    assert "<span" in CodeColouring().code("x = 1\n", "python")
    assert "<span" not in CodeColouring().code("x = 1\n" * (MAX_COLOURED_BLOCK_CHARS // 6 + 1), "python")
    assert "<span" not in CodeColouring().code("x = 1;" * 1_000, "python")


def test_a_diff_marks_lines_and_the_words_that_changed() -> None:
    shown = DiffRenderer().html("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f\n same\n-old value = 1\n+new value = 1\n")
    assert shown == (
        '<span class="l file">--- a/x\n+++ b/x\n</span><span class="l hunk">@@ -1,2 +1,2 @@ def f\n</span> same\n'
        '<span class="l del">-<b>old</b> value = 1\n</span><span class="l ins">+<b>new</b> value = 1\n</span>'
    )


@each_row(
    ("old", "new"),
    [("<a> b c", "<i> b c"), ("<a>" * 90, "<i>"), ("<a> one two three", "<i>"), ("<a>", ""), ("", "<i>")],
)
def test_no_line_of_a_diff_can_contain_a_tag(old: str, new: str) -> None:
    shown = DiffRenderer().html(f"@@ -1 +1 @@ <u>\n-{old}\n+{new}\n <u>\n\\ <u>")
    assert {name for name, _ in Tags(shown).found} <= {"span", "b"}
    assert "".join(Tags(shown).text) == f"@@ -1 +1 @@ <u>\n-{old}\n+{new}\n <u>\n\\ <u>\n"


def test_a_changed_line_of_dashes_is_no_file_name() -> None:
    shown = DiffRenderer().html("@@ -1 +1 @@\n--- old rule\n+++ new rule\n-- more")
    assert 'class="l file">--- old rule' in shown
    shown = DiffRenderer().html("@@ -1 +1 @@\n--- a comment\n+ other\n")
    assert 'class="l del">--- ' in shown


def test_a_diff_too_long_to_highlight_is_plain() -> None:
    assert "<span" not in DiffRenderer().html("+<b>\n" * (MAX_LINES + 1))
    assert "&lt;b&gt;" in DiffRenderer().html("+<b>\n" * (MAX_LINES + 1))


@each_row(
    ("text", "expected"),
    [
        ("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", True),
        ("commit 1a2b\n\n    fix\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n", True),
        ("- a list\n+ another\n", False),
        ("--- a line of dashes", False),
        ("", False),
    ],
)
def test_diffs_are_distinguished_from_other_outputs(text: str, expected: bool) -> None:
    assert is_diff(text) is expected
