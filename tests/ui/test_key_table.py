"""The help page of keys lists exactly the keys that the input line binds."""

from pathlib import Path

from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import DummyInput
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from clio.commands.registry import KEYS
from clio.ui.completer import LineCompleter
from clio.ui.prompt_line import PromptLine

_NO_KEYS = {Keys.BracketedPaste.value, Keys.Any.value}
_ALIASES = {"c-m": "enter", "c-h": "backspace"}
_BOUND_BY_THE_SHELL = {"c-o", "s-tab"}  # see Repl


def test_the_page_lists_exactly_the_bound_keys(tmp_path: Path) -> None:
    line = PromptLine(
        text="> ",
        history=InMemoryHistory(),
        completer=LineCompleter(lambda: None, list),
        status=tuple,
        input=DummyInput(),
        output=DummyOutput(),
    )
    merged = line._session.key_bindings  # pyright: ignore[reportPrivateUsage]
    bindings = merged.bindings if merged is not None else []
    bound = {" ".join(_name(key) for key in binding.keys) for binding in bindings} - _NO_KEYS
    named = {name for _, keys in KEYS for key in keys for name in key.bound}
    assert bound - named == set(), "say in clio/commands/registry.py what they do"
    assert named - bound == _BOUND_BY_THE_SHELL


def _name(key: Keys | str) -> str:
    text = key.value if isinstance(key, Keys) else key
    return _ALIASES.get(text, text)
