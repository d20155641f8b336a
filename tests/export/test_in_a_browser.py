"""The exported page in a real browser: behaviour, not appearance."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.export.export_session import export_session, remove_terminal_sequences, spell_out_invisible
from clio.messages import AssistantMessage, Message
from clio.sessions.store import SessionStore
from tests.export.sample import HOSTILE, START, hostile_messages, make_session, typical_messages
from tests.support.browser import Browser, BrowserFailed, find_browser

LIGHT_PAPER, DARK_PAPER = "rgb(251, 250, 247)", "rgb(22, 24, 26)"


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


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    store = SessionStore(folder / "sessions")
    wide = [
        AssistantMessage(
            id="w1", content=f"{'w' * 3_000}\n\n|{'|'.join('abcdefgh' for _ in range(20))}|\n{'|-' * 20}|\n"
        )
    ]
    talks: dict[str, list[Message]] = {
        "shop": typical_messages(),
        "hostile": hostile_messages(),
        "wide": [*typical_messages(), *wide],
    }
    made: dict[str, Path] = {}
    for name, history in talks.items():
        id = make_session(store, history, name=HOSTILE[0] if name == "hostile" else name, trims=name == "shop")
        made[name] = folder / f"{name}.html"
        text = export_session(store, id, "html", redact=lambda text: text, now=START)
        made[name].write_text(text, encoding="utf-8")
    return made


def look_up(browser: Browser, words: str) -> str:
    """Search for a text; return the displayed information about hits."""
    browser.run("document.getElementById('find').focus(), document.getElementById('find').select()")
    browser.type(words)
    browser.press("Enter")
    return str(browser.run("document.getElementById('hits').textContent"))


def marked(browser: Browser, name: str) -> list[str]:
    found: list[str] = browser.run(f"[...(CSS.highlights.get('{name}') || [])].map(String)")
    return found


def in_sight(browser: Browser, element: str) -> bool:
    return bool(
        browser.run(f"(r => r.top < innerHeight && r.bottom > 0 && r.height > 0)({element}.getBoundingClientRect())")
    )


def colour(browser: Browser, name: str, selector: str = "body") -> Any:
    return browser.run(f"getComputedStyle(document.querySelector({selector!r})).{name}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("width", "dark"), [(360, False), (1200, True)])
@pytest.mark.parametrize("name", ["shop", "hostile", "wide"])
def test_a_page_causes_no_errors_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    browser.open(pages[name], width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    browser.run("scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    assert browser.complaints() == []
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert colour(browser, "backgroundColor") == (DARK_PAPER if dark else LIGHT_PAPER)


def test_hostile_text_is_displayed_as_written(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    browser.run("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    places = ".m.user .prose", ".m.clio .call pre", ".m.user .more .plain", ".m.clio > .more .plain", "#conversation"
    for place in places:
        text = browser.run(f"document.querySelector({place!r}).textContent")
        for words in HOSTILE if place != ".m.user .prose" else HOSTILE[:-2]:
            if place != "#conversation" or "](" not in words:
                assert spell_out_invisible(remove_terminal_sequences(words)) in text, (place, words)
    assert browser.run("document.title") == HOSTILE[0]
    assert browser.run("window.bad") is None
    assert browser.run("document.scripts.length") == 1
    assert (
        browser.run("document.querySelectorAll('img, svg, iframe, object, embed, form, link, base, video').length") == 0
    )
    kept = browser.run("[...new Set([...document.links].map(link => link.protocol))].sort()")
    assert kept == ["file:", "https:"]
    assert browser.run("document.styleSheets.length") == 1
    assert browser.complaints() == []


def test_an_injected_script_would_not_run(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """The policy is a second protection: here the first has been removed."""
    page = pages["shop"].read_text(encoding="utf-8")
    harm = (
        "<script>window.bad = 1</script><img src='https://tracker.invalid/x.png' onerror='window.bad = 2'>"
        "<style>body { display: none }</style><p id='p' style='color: red' onclick='window.bad = 3'>x</p>"
    )
    broken = tmp_path / "broken.html"
    broken.write_text(page.replace('<div id="conversation">', f'<div id="conversation">{harm}'), encoding="utf-8")
    browser.open(broken)
    browser.run("document.getElementById('p').click()")
    assert browser.run("window.bad") is None
    assert colour(browser, "display") == "block"
    assert colour(browser, "color", "#p") == colour(browser, "color")
    # The browser reports the attempt and its refusal; nothing was sent.
    refused = [event["params"] for event in browser.events if event["method"] == "Network.loadingFailed"]
    assert [params["blockedReason"] for params in refused] == ["csp"]
    assert len(browser.complaints()) >= 4


def test_search_finds_and_expands_a_collapsed_hit(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"], height=500)
    assert browser.run("document.querySelectorAll('.call[open]').length") == 0
    assert look_up(browser, "TEST_CASE_39") == "1 of 1"
    assert marked(browser, "hit") == marked(browser, "now") == ["test_case_39"]
    assert browser.run("[...document.querySelectorAll('.call[open] .name')].map(name => name.textContent)") == [
        "run_command"
    ]
    assert in_sight(browser, "[...CSS.highlights.get('now')][0]")


def test_search_goes_forward_back_and_wraps_around(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"])
    assert look_up(browser, "shop/prices.py").startswith("1 of ")
    many = len(marked(browser, "hit"))
    assert many > 5
    hits_text = "document.getElementById('hits').textContent"
    browser.press("Enter")
    assert browser.run(hits_text) == f"2 of {many}"
    browser.press("Enter", modifiers=8)
    browser.press("Enter", modifiers=8)
    assert browser.run(hits_text) == f"{many} of {many}"
    browser.run("document.getElementById('next').click()")
    assert browser.run(hits_text) == f"1 of {many}"


def test_search_ignores_highlighting_and_case(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"])
    assert look_up(browser, "DEF total(prices: list[STR])") == "1 of 1"
    assert marked(browser, "now") == ["def total(prices: list[str])"]
    assert look_up(browser, "not in this session") == "no hits"


def test_only_hits_hides_messages_without_hits_until_the_search_ends(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"])
    shown = "[...document.querySelectorAll('.m')].filter(part => part.offsetHeight > 0).length"
    everything = browser.run(shown)
    look_up(browser, "test_case_39")
    browser.run("document.getElementById('only').click()")
    assert browser.run(shown) == 1
    browser.run("document.getElementById('find').focus()")
    browser.press("Escape")
    assert browser.run(shown) == everything
    assert marked(browser, "hit") == []


def test_the_browsers_own_search_is_not_intercepted(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"])
    how = "ctrlKey: {}, bubbles: true, cancelable: true"
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', " + how + "}}))"
    assert browser.run(press.format("f", "true")) is True
    assert browser.run(press.format("/", "true")) is True
    assert browser.run(press.format("/", "false")) is False
    assert browser.run("document.activeElement.id") == "find"


def test_the_colour_scheme_can_be_switched(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"], dark=True)
    browser.run("document.getElementById('theme').click()")
    assert colour(browser, "backgroundColor") == LIGHT_PAPER
    browser.open(pages["shop"], dark=True)
    assert colour(browser, "backgroundColor") == LIGHT_PAPER, "the choice is remembered"
    browser.run("document.getElementById('theme').click()")
    assert colour(browser, "backgroundColor") == DARK_PAPER
    browser.run("localStorage.clear()")


def test_a_link_leads_to_its_message_even_if_it_is_collapsed(browser: Browser, pages: dict[str, Path]) -> None:
    messages = typical_messages()
    browser.open(pages["shop"], height=400, at=f"#m-{messages[9].id}")
    assert in_sight(browser, f"document.getElementById('m-{messages[9].id}')")
    browser.open(pages["shop"], height=400, at=f"#r-{messages[7].id}")
    assert in_sight(browser, f"document.getElementById('r-{messages[7].id}')")
    assert browser.run(f"document.getElementById('r-{messages[7].id}').open") is True
    browser.run("document.querySelector('.toc a').click()")
    browser.wait_until(f"location.hash === '#m-{messages[1].id}'")
    assert in_sight(browser, f"document.getElementById('m-{messages[1].id}')")


def test_code_is_copied_unchanged(browser: Browser, pages: dict[str, Path]) -> None:
    browser.call(
        "Browser.grantPermissions", on_page=False, permissions=["clipboardReadWrite", "clipboardSanitizedWrite"]
    )
    browser.open(pages["shop"])
    browser.run("document.querySelector('.m.user .copy').click()")
    browser.wait_until("document.querySelector('.m.user .copy').textContent === 'Copied'")
    assert browser.run("navigator.clipboard.readText()") == "total([2.675])  # 2.67"
    browser.run("document.querySelectorAll('.diff')[0].closest('.call').open = true")
    browser.run("document.querySelector('.diff').closest('.code').querySelector('.copy').click()")
    browser.wait_until(
        "document.querySelector('.diff').closest('.code').querySelector('.copy').textContent === 'Copied'"
    )
    lines = browser.run("navigator.clipboard.readText()").split("\n")
    assert lines[:3] == ["@@ -1,3 +1,4 @@", " def total(prices):", '-    """The sum."""']


def test_everything_can_be_expanded_and_collapsed(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"])
    closed = "document.querySelectorAll('.m details:not([open])').length"
    some = browser.run(closed)
    assert some > 8
    browser.run("document.getElementById('fold').click()")
    assert browser.run(closed) == 0
    browser.run("document.getElementById('fold').click()")
    assert browser.run(closed) == some


def test_the_page_is_readable_without_scripts(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"], script=False)
    assert colour(browser, "display", ".tools") == "none"
    assert colour(browser, "display", ".copy") == "none"
    assert "binary floats" in browser.run("document.body.innerText")
    browser.run("document.querySelector('.call > summary').scrollIntoView({block: 'center', behavior: 'instant'})")
    x, y = browser.run("(r => [r.x + 5, r.y + 5])(document.querySelector('.call > summary').getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    assert browser.run("document.querySelector('.call').open") is True
    assert browser.complaints() == []


def test_the_printed_page_is_white_and_without_controls(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["shop"], dark=True)
    browser.look(800, 900, dark=True, media="print")
    assert colour(browser, "backgroundColor") == "rgb(255, 255, 255)"
    assert colour(browser, "display", ".tools") == "none"
    browser.look(800, 900)
