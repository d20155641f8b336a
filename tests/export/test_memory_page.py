"""The page of memories: hostile text, its policy, and its behaviour in a real browser."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from clio.export.export_session import remove_terminal_sequences, spell_out_invisible
from clio.export.memory_page import render_memory_page
from tests.export.sample import HOSTILE, START
from tests.support.browser import Browser, BrowserFailed, find_browser


def make_memory(text: str, *, id: str = "d-000001", **fields: Any) -> dict[str, Any]:
    memory: dict[str, Any] = {
        "id": id, "kind": "discovery", "is_named": False, "scope": "project", "state": "live", "because": "",
        "text": text, "by": "you", "session": "", "trust": "", "confidence": 0.8, "importance": None, "score": None,
        "created": START, "confirmed": START, "uses": 2, "times": 1, "files": [], "versions": [],
        "replaced_by": None, "against": None,
    }  # fmt: skip
    return memory | fields


def make_change(text: str) -> dict[str, Any]:
    return {
        "at": START, "what": "learned", "kind": "fact", "id": "x", "text": text, "before": text, "by": "you",
        "action": "learned",
    }  # fmt: skip


def keep(text: str) -> str:
    return text


def hide(text: str) -> str:
    return text.replace("hunter2", "[REDACTED]")


def render(
    *memories: dict[str, Any],
    changes: tuple[dict[str, Any], ...] = (),
    project: str = "shop",
    warning: str = "",
    redact: Callable[[str], str] = keep,
) -> str:
    memory = {"memories": list(memories), "changes": list(changes)}
    return render_memory_page(memory, project=project, warning=warning, redact=redact, now=START)


def hostile() -> str:
    text = "\n".join(HOSTILE)
    version = {"text": text, "since": START, "until": START, "because": text, "by": text}
    other = {"id": text, "text": text}
    memory = make_memory(
        text,
        id=text, kind=text, scope=text, by=text, session=text, because=text, state="archived",
        files=[{"path": text, "state": "drifted"}], versions=[version, version], replaced_by=other, against=other,
    )  # fmt: skip
    return render(memory, changes=(make_change(text),), project=HOSTILE[0], warning=text)


class Tags(HTMLParser):
    """All elements of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]


SHOP = (
    make_memory("Money is stored in cents", files=[{"path": "shop/" + "w" * 300, "state": "gone"}]),
    make_memory("The server listens on port 8080", id="f-2", kind="fact", state="superseded",
                replaced_by={"id": "f-3", "text": "The server listens on port 9090"}),
    make_memory("The server listens on port 9090", id="f-3", kind="fact", scope="user"),
    make_memory("w" * 3_000, id="n" * 90, kind="note", is_named=True),
)  # fmt: skip


def test_hostile_text_is_escaped_everywhere() -> None:
    page = hostile()
    body = page[page.index("<body>") :]
    for harm in ("<script", "<style", "<img", "<svg", "<!--", "</title>"):
        assert harm not in body.lower()
    assert page.count("<script>") == page.count("<style>") == 1
    tags = Tags()
    tags.feed(page)
    assert [name for name, _ in tags.attributes if name.startswith("on") or name == "style"] == []
    assert all(value.startswith("#") for name, value in tags.attributes if name in ("href", "src"))


def test_the_policy_allows_exactly_one_style_and_one_script() -> None:
    page = render(*SHOP)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    for name in ("style", "script"):
        found = re.search(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        assert found
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_secrets_are_redacted_and_the_same_memory_gives_the_same_page() -> None:
    secret = make_memory("the key is hunter2", versions=[], session="hunter2")
    page = render(secret, project="hunter2", redact=hide)
    assert "hunter2" not in page
    assert render(*SHOP) == render(*SHOP)


def test_an_empty_memory_says_so() -> None:
    assert "No memories yet" in render()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium or Chrome on this machine")
    try:
        started = Browser(path)
    except BrowserFailed as error:
        pytest.skip(f"{path} does not start: {error}")
    with started:
        yield started


def write(folder: Path, text: str) -> Path:
    path = folder / "memory.html"
    path.write_text(text, encoding="utf-8")
    return path


def list_shown(browser: Browser) -> list[str]:
    shown: list[str] = browser.run(
        "[...document.querySelectorAll('.memory')].filter(m => m.offsetHeight).map(m => "
        "m.querySelector('.plain').textContent.slice(0, 40))"
    )
    return shown


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("name", ["shop", "hostile"])
def test_the_page_fits_and_requests_nothing(
    browser: Browser, tmp_path: Path, name: str, width: int, dark: bool
) -> None:
    page = write(tmp_path, hostile() if name == "hostile" else render(*SHOP, changes=(make_change("w" * 500),)))
    browser.open(page, width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    paper = "rgb(22, 24, 26)" if dark else "rgb(251, 250, 247)"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == paper


def test_hostile_text_is_displayed_as_written(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, hostile()))
    text = browser.run("document.querySelector('.memory > .plain').textContent")
    for words in HOSTILE:
        assert spell_out_invisible(remove_terminal_sequences(words)) in text
    assert browser.run("window.bad") is None
    assert browser.run("document.scripts.length") == 1


def test_search_and_filters_narrow_the_list(browser: Browser, tmp_path: Path) -> None:
    browser.open(write(tmp_path, render(*SHOP)))
    assert len(list_shown(browser)) == 4
    browser.run("document.getElementById('find').focus()")
    browser.type("CENTS money")
    assert list_shown(browser) == ["Money is stored in cents"]
    assert browser.run("document.getElementById('hits').textContent") == "1 of 4"
    choose = "(b => {{ b.value = {!r}; b.dispatchEvent(new Event('change')); }})(document.getElementById({!r}))"
    browser.run("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.getElementById('find'))")
    browser.run(choose.format("fact", "kind"))
    assert len(list_shown(browser)) == 2
    browser.run(choose.format("user", "scope"))
    assert list_shown(browser) == ["The server listens on port 9090"]
    browser.run(choose.format("project", "scope"))
    browser.run("document.querySelector('.superseded .other a').click()")
    assert len(list_shown(browser)) == 4


def test_the_number_of_hits_leaves_the_filters_of_a_narrow_window_their_width(browser: Browser, tmp_path: Path) -> None:
    widths = "[...document.querySelectorAll('.tools select')].map(select => select.offsetWidth)"
    browser.open(write(tmp_path, render(*SHOP)), width=390)
    before = browser.run(widths)
    browser.run("document.getElementById('find').focus()")
    browser.type("cents")
    assert browser.run("document.getElementById('hits').textContent") == "1 of 4"
    assert browser.run(widths) == before


def test_the_page_is_readable_without_scripts(browser: Browser, tmp_path: Path) -> None:
    page = write(tmp_path, render(*SHOP))
    browser.open(page, script=False)
    assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert len(list_shown(browser)) == 4
    assert "Money is stored in cents" in browser.run("document.body.innerText")
    assert browser.complaints() == []


CHANGES = (
    make_change("Money is stored in cents") | {"kind": "discovery", "id": "d-000001"},
    make_change("Penguins sign the releases") | {"what": "archived", "at": START - 90_000},
)


def test_the_timeline_is_a_separate_view_and_is_searched_too(browser: Browser, tmp_path: Path) -> None:
    listed = "[...document.querySelectorAll('#timeline li')].filter(li => li.offsetHeight).map(li => li.textContent)"
    page = write(tmp_path, render(*SHOP, changes=CHANGES))
    browser.open(page)
    assert browser.run(listed) == [], "the memories come first"
    browser.run("document.querySelector('.views a[href=\"#timeline\"]').click()")
    browser.wait_until(f"{listed}.length === 2")
    assert list_shown(browser) == []
    browser.run("document.getElementById('find').focus()")
    browser.type("penguins")
    assert len(browser.run(listed)) == 1
    assert browser.run("document.getElementById('hits').textContent") == "1 of 2"
    assert browser.run("[...document.querySelectorAll('.day')].filter(day => day.offsetHeight).length") == 1
    browser.run("(f => { f.value = ''; f.dispatchEvent(new Event('input')); })(document.getElementById('find'))")
    browser.run("document.querySelector('#timeline li a').click()")
    browser.wait_until("document.querySelector('#timeline').hidden")
    assert list_shown(browser)[0] == "Money is stored in cents"


def test_kinds_and_trust_have_the_names_used_in_lists() -> None:
    confirmed = make_memory("Money is in cents", trust="confirmed in 2 sessions")
    page = render(confirmed, make_memory("Old", trust="unverified"))
    assert '<span class="kind">fact</span>' in page
    assert '<span class="badge confirmed">confirmed in 2 sessions</span>' in page
    assert '<span class="badge">unverified</span>' in page


def test_a_keyed_note_is_no_note_and_a_confirmation_in_the_same_minute_is_not_repeated() -> None:
    page = render(
        make_memory("first this", id="plan", kind="keyed note", is_named=True), make_memory("x", confirmed=START + 1)
    )
    assert '<span class="kind">keyed note</span>' in page
    assert "confirmed" not in page.rpartition("<main")[2]
    assert "confirmed" in render(make_memory("x", confirmed=START + 90)).rpartition("<main")[2]


def test_thousands_of_memories_open_quickly(browser: Browser, tmp_path: Path) -> None:
    numbers = range(5_000)
    many = [make_memory(f"The server number {one} listens on port {one}", id=f"d-{one}") for one in numbers]
    page = write(tmp_path, render(*many))
    assert page.stat().st_size < 4_000_000
    browser.open(page)
    style = "getComputedStyle(document.querySelector('.memory')).contentVisibility"
    assert browser.run(style) == "auto", "without it, the layout of all of them took eight times as long"
    assert browser.run("document.querySelectorAll('*').length") < 60_000
    browser.run("document.getElementById('find').focus()")
    browser.type("number 4999")
    assert browser.run("document.getElementById('hits').textContent") == "1 of 5000"
