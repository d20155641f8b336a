"""A console of Windows is asked to understand control sequences, which it does not by itself."""

import ctypes
from typing import Any

_STANDARD_OUTPUT = -11
_UNDERSTANDS = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING; known from Windows 10 on


def switch_on(kernel: Any) -> bool:
    """Ask for it. kernel: the functions of kernel32. False where the console is too old, or there is none."""
    output, mode = kernel.GetStdHandle(_STANDARD_OUTPUT), ctypes.c_uint32()
    if not kernel.GetConsoleMode(output, ctypes.byref(mode)):
        return False
    return bool(mode.value & _UNDERSTANDS or kernel.SetConsoleMode(output, mode.value | _UNDERSTANDS))
