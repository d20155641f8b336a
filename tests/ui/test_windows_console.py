"""The Windows console, simulated by an object with its three functions."""

from typing import Any

import pytest

from clio.ui.terminal_handoff import enable_windows_escapes


class Kernel:
    """known: whether the console supports the mode. mode: the current one; None if standard output is no console."""

    def __init__(self, mode: int | None, *, known: bool = True) -> None:
        self.mode = mode
        self.known = known

    def GetStdHandle(self, number: int) -> int:
        assert number == -11
        return 7

    def GetConsoleMode(self, handle: int, mode: Any) -> bool:
        assert handle == 7
        mode._obj.value = self.mode or 0
        return self.mode is not None

    def SetConsoleMode(self, handle: int, mode: int) -> bool:
        assert handle == 7
        self.mode = mode if self.known else self.mode
        return self.known


@pytest.mark.parametrize(
    ("kernel", "able", "mode"),
    [
        (Kernel(3), True, 7),
        (Kernel(7), True, 7),
        (Kernel(3, known=False), False, 3),
        (Kernel(None), False, None),
    ],
)
def test_the_mode_is_added_to_the_others(kernel: Kernel, able: bool, mode: int | None) -> None:
    assert enable_windows_escapes(kernel) is able
    assert kernel.mode == mode
