"""What an answer without code needs of rich, and that one with code still has its colours."""

import subprocess
import sys

PROGRAM = """
import io, sys
from rich.console import Console
from clio.ui.markdown import preload, whole
from clio.ui.painter import Painter
from clio.ui.theme import Theme
preload()
painter = Painter(Theme(), lambda: (80, 24))
print("".join(map(painter.lines, whole("a *word* and `code`", Theme()))).strip() != "")
print(any(name.startswith(("pygments", "rich.syntax")) for name in sys.modules))
code = "".join(map(painter.lines, whole("- first\\n\\n  ```python\\n  def f(): pass\\n  ```\\n", Theme())))
print("\\x1b[" in code.partition("def")[0], "pygments" in sys.modules)
from rich.syntax import Syntax
print(Syntax.__module__)
"""


def test_pygments_comes_with_the_first_code() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True", "False", "True True", "rich.syntax"], done.stderr
