"""The Markdown export: no message can change the layout of what follows it."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clio.export.export_session import MarkdownText, export_session, fence_code
from clio.sessions.store import SessionStore
from tests.export.sample import HOSTILE, START, hostile_messages, make_session, typical_messages

NOW = START + 86_400


def same(text: str) -> str:
    return text


def headings(text: str) -> list[str]:
    """Return the headings outside of everything else."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [
        tokens[place + 1].content
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h2", "h3")
    ]


def test_the_whole_conversation_is_exported(store: SessionStore) -> None:
    text = export_session(
        store, make_session(store, typical_messages(), name="A *cent*", trims=True), "md", redact=same, now=NOW
    )
    for part in (
        "# A \\*cent\\*\n",
        "- [x] Find why totals are short\n",
        "- [ ] Round half a cent up (in progress): as the invoices say\n",
        "## 1. User · 2025-10-09 08:53\n",
        "### clio · 2025-10-09 08:53 · step 1 · qwen3-coder:30b · 9,400 in · 92 out\n",
        "<details><summary>read_file shop/prices.py · 3 lines</summary>\n\n- path: `shop/prices.py`\n",
        "<details><summary>run_command pytest -q tests/test_prices.py · failed: exit 1 in 2.3 s</summary>\n",
        "> **8 messages removed from the context window, about 4,321 tokens freed** (t1)\n",
        "| 2.675 | 2.67 | 2.68 |\n",
    ):
        assert part in text, part
    assert text.endswith("</details>\n")


def test_hostile_text_opens_no_heading_and_no_tag(store: SessionStore) -> None:
    text = export_session(store, make_session(store, hostile_messages()), "md", redact=same, now=NOW)
    starts = [heading.partition(" · ")[0] for heading in headings(text)]
    assert starts == ["Todos", "1. User", "clio", "2. User", "clio", "clio"]
    blocks = [token for token in MarkdownIt("commonmark").parse(text) if token.type in ("html_block", "inline")]
    html = [token.content for token in blocks if token.type == "html_block"]
    html += [child.content for token in blocks for child in token.children or () if child.type == "html_inline"]
    assert all(piece.startswith(("<details><summary>", "</details>")) for piece in html)
    assert not any("<script" in piece or "<img" in piece or "<svg" in piece for piece in html)


@given(st.text(st.sampled_from("`~\n ab"), max_size=60))
def test_a_fence_can_contain_any_text(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(f"{fence_code(text)}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.removesuffix("\n") == text.removesuffix("\n")


@given(
    st.lists(
        st.sampled_from([*HOSTILE, "```", "~~~", "> q", "- x", "    code", "[a]: b", "<div>", "text", "---", "``"])
    )
)
def test_no_text_changes_the_layout_of_the_next(lines: list[str]) -> None:
    tokens = MarkdownIt("commonmark").parse(f"{MarkdownText().contain(chr(10).join(lines))}\n\n## after")
    assert [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"]
    assert tokens[-2].content == "after"
    assert tokens[-3].level == 0


def test_text_without_open_markup_is_unchanged() -> None:
    for text in ("plain", "# a\n\n- b\n\n```\ncode\n```", "a `b` [c](https://d.invalid)", "> quoted"):
        assert MarkdownText().contain(text) == text
    for text in ("```\nopen", "<b>tag</b>", "![x](https://y.invalid)", "[x](javascript:y)", "<!-- open"):
        assert (
            MarkdownText().contain(text)
            == f"{'````' if '```' in text else '```'}markdown\n{text}\n{'````' if '```' in text else '```'}"
        )
