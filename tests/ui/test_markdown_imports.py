"""Imports of rich for an answer without code, and colours for one with code."""

import subprocess
import sys

PROGRAM = """
import io, sys
from rich.console import Console
from clio.ui.markdown import preload_markdown, render_markdown
from clio.ui.painter import Painter
from clio.ui.theme import Theme
preload_markdown()
painter = Painter(Theme(), lambda: (80, 24))
print("".join(map(painter.render_lines, render_markdown("a *word* and `code`", Theme()))).strip() != "")
print(any(name.startswith(("pygments", "rich.syntax")) for name in sys.modules))
parts = render_markdown("- first\\n\\n  ```python\\n  def f(): pass\\n  ```\\n", Theme())
code = "".join(map(painter.render_lines, parts))
print("\\x1b[" in code.partition("def")[0], "pygments" in sys.modules)
from rich.syntax import Syntax
print(Syntax.__module__)
"""


def test_pygments_is_imported_with_the_first_code() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True", "False", "True True", "rich.syntax"], done.stderr
