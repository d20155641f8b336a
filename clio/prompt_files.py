"""Load the prompt files.

In a checkout they are in `prompts/` next to the package; a wheel contains them inside the package.
"""

import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\$([a-z_][a-z0-9_]*)")


_ROOTS = (_PACKAGE / "_prompts", _PACKAGE.parent / "prompts")


@cache
def load_prompt(name: str) -> str:
    """Return the text of `prompts/<name>.md` without its final newline. Raises FileNotFoundError if there is none."""
    for root in _ROOTS:
        path = root / f"{name}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8").rstrip("\n")
    raise FileNotFoundError(f"no prompt named {name!r}: the installation is incomplete, reinstall clio")


@cache
def list_prompt_names(folder: str) -> tuple[str, ...]:
    """Return the names of all prompts in `prompts/<folder>`, sorted, as `load_prompt` takes them."""
    for root in _ROOTS:
        if (root / folder).is_dir():
            return tuple(sorted(f"{folder}/{path.stem}" for path in (root / folder).glob("*.md")))
    return ()


def find_prompt_folder(folder: str) -> Path:
    """Return the path of `prompts/<folder>`, which is missing if the installation is incomplete."""
    return next((root / folder for root in _ROOTS if (root / folder).is_dir()), _ROOTS[0] / folder)


def fill_prompt(name: str, **values: str) -> str:
    """Return the prompt with each `$name` replaced. Raises ValueError for a missing or an unused value."""
    text = load_prompt(name)
    placeholders = set(_PLACEHOLDER.findall(text))
    if placeholders != set(values):
        raise ValueError(f"prompt {name!r} needs {sorted(placeholders)} and got {sorted(values)}")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)
