"""Draws docs/themes.svg: the same screen of a real clio in three themes, one below the other.

python docs/make_themes.py [FILE.svg]
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from picture_stage import ROOT, stage

from tests.support.chat_server import text, tool_calls
from tests.support.terminal_picture import Paper

FILES = {
    "prices.py": 'def total(prices, discount):\n    """Sum after a discount in percent."""\n'
    "    return sum(prices) - discount\n",
}
FIX = ("edit_file", {"path": "prices.py", "old_string": "- discount", "new_string": "* (100 - discount) / 100"})
ANSWER = """\
## What `total` does

> Sum after a discount in percent.

1. It subtracts the **amount**, in [prices.py](prices.py):

```python
return sum(prices) - discount  # 10 is not 10 %
```
"""
THEMES = {
    "dark": Paper(),
    "light": Paper(back="#fdf6e3", front="#1c1c1c", dim="#767676"),
    "high-contrast": Paper(back="#000000", front="#ffffff", dim="#b2b2b2"),
}
_SIZE = re.compile(r'<svg [^>]* width="([\d.]+)" height="([\d.]+)"')


def scene(theme: str, paper: Paper) -> str:
    """A question, its answer, and a change that is asked about, in the colours of this theme."""
    replies = [text(ANSWER, usage=(5_400, 96, 4_096)), tool_calls([FIX], usage=(5_120, 48, 4_096))]
    colours = {"CLIO_THEME": theme, "COLORTERM": "truecolor", "COLORFGBG": "15;0"}
    with stage(replies, FILES, lines=30, **colours) as on:
        on.ask("what does total() do with the discount?", "1 request")
        on.terminal.line("make it a percentage")
        on.wait_question("edit prices.py")
        return on.picture(f"theme: {theme}", paper=paper)


def below_each_other(pictures: list[str]) -> str:
    """The pictures as one."""
    width = height = 0.0
    placed: list[str] = []
    for picture in pictures:
        size = _SIZE.match(picture)
        assert size is not None
        placed.append(picture.replace("<svg ", f'<svg y="{height:g}" ', 1))
        width, height = max(width, float(size[1])), height + float(size[2]) + 12
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
    return "\n".join([f'{head}height="{height:g}" role="img" aria-label="three themes">', *placed, "</svg>", ""])


def main(target: Path) -> None:
    """Play the session in each theme and write the picture."""
    target.write_text(below_each_other([scene(*one) for one in THEMES.items()]), encoding="utf-8")
    sys.stdout.write(f"{target}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "themes.svg")
