"""The tour: every picture exists, is drawn by the script, is named on the page, and shows the current program."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from clio.commands.registry import find_command
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tour"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tour", ROOT / "docs" / "make_tour.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(path: Path) -> list[str]:
    """Return the picture's lines of text, the title first."""
    lines: dict[float, str] = {}
    for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text"):
        height = float(text.attrib["y"])
        lines[height] = lines.get(height, "") + (text.text or "")
    return [lines[height] for height in sorted(lines)]


def test_pictures_are_drawn_by_the_script_and_shown_on_the_page(script: ModuleType) -> None:
    page = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\(tour/([\w-]+)\.svg\)", page)
    assert shown == list(script.SCENES) == sorted(path.stem for path in FOLDER.glob("*.svg"))
    assert len(shown) == 11


@each_row(
    ("name", "shows"),
    [
        ("01-first-start", ["gpt-5.6 at openai · key from OPENAI_API_KEY", "~/shop · main", "/help"]),
        ("02-question", ["合計", "✅", "def", "2 requests"]),
        ("03-approval", ["edit prices.py", "/ 100", "yes, for this session"]),
        ("04-command", ["1 failed, 1 passed", "run pytest -q"]),
        ("05-context", ["window 64,000 tokens", "next trim"]),
        ("06-memory", ["Saved to user memory: never use floats", "hard limit"]),
        ("07-steering", ["queued 1: then write the changelog", "steering: keep the signature", "esc to interrupt"]),
        ("08-undo", ["Undid turn 1", "/redo restores it"]),
        ("09-plan", ["端数処理", "yes, approval mode ask"]),
        ("10-cost", ["cached", "session (2 turns)", "$0.0085"]),
        ("11-rewind", ["make the discount a percentage", "enter to choose"]),
    ],
)
def test_each_picture_shows_its_moment(name: str, shows: list[str]) -> None:
    text = "\n".join(rows(FOLDER / f"{name}.svg"))
    squeezed = re.sub(r"\s+", "", text)
    for words in shows:
        assert re.sub(r"\s+", "", words) in squeezed


def test_no_picture_shows_a_machine_name_or_an_invalid_command() -> None:
    for path in [*FOLDER.glob("*.svg"), ROOT / "docs" / "session.svg"]:
        text = "\n".join(rows(path))
        assert "127.0.0.1" not in text and "/tmp" not in text
        assert "bug in clio" not in text and "Traceback" not in text
        for typed in re.findall(r"(?m)^❯\s*/(\w+)", text):
            assert find_command(typed) is not None


def test_varying_parts_are_replaced_by_the_same_number_of_cells(script: ModuleType) -> None:
    from picture_stage import still  # pyright: ignore[reportMissingImports]  # the script has put docs/ on the path

    from tests.support.terminal_picture import render_bytes, screen_lines

    screen = render_bytes("合計 1 request · 12.7 s in 14 s · committed abcdef0 · ⠴ writing".encode())
    still(screen)
    assert screen_lines(screen)[0] == "合計 1 request · 1.25 s in 12 s · committed 4f1c9d2 · ⠹ writing"


def test_the_animated_picture_shows_both_sessions_and_ends_readably() -> None:
    text = (ROOT / "docs" / "session.svg").read_text(encoding="utf-8")
    frames = re.findall(r'<g id="(f\d+)" class="(f(?: last)?)">(.*?)</g>', text)
    assert len(frames) > 20 and [kind for _, kind, _ in frames].count("f last") == 1 and frames[-1][1] == "f last"
    drawn = dict(re.findall(r'<g id="(r\d+)">(.*?)</g>', text))
    shown = [" ".join(drawn[name] for name in re.findall(r'href="#(r\d+)"', uses)) for _, _, uses in frames]
    assert "no memories yet" in shown[3] or "no memories yet" in shown[4]
    assert any("low risk" in frame for frame in shown)  # approval was requested
    assert "2 memories" in shown[-1] and "percentages everywhere in this project" in shown[-1]
    assert f"@keyframes k{len(frames) - 1}{{" in text and "prefers-reduced-motion" in text
    assert "<script" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert len(text) < 60_000
