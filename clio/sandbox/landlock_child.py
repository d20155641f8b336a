"""Shuts its own process in and becomes a command; run as a program, by its path, with nothing but Python's own library.

Arguments: "network" or "no-network", a count, so many paths that may be written, the command and its arguments.
Ends with 126 and a sentence where it cannot: a command never runs less shut in than was asked for.
Source: linux/landlock.h, linux/seccomp.h, linux/filter.h.
"""

import ctypes
import os
import signal
import stat
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same number on every machine
_MIN_VERSION = 3
"""Before it, of Linux 6.2, files outside could be emptied."""
_WRITES = 0x1FF2 | 1 << 13 | 1 << 14
"""The rights to write, remove and make; to link to another folder; to truncate."""
_FILE_RIGHTS = (1 << 1) | (1 << 14)
_SCOPES_ABI, _SCOPES = 6, 0b11  # abstract sockets and signals reach no process outside
_CAPSET = {"x86_64": 126, "aarch64": 91}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_IO_URING_SETUP = 425
_X32_BIT = 0x40000000
_ALLOW, _REFUSE, _NOT_KNOWN = 0x7FFF0000, 0x00050000 | 13, 0x00050000 | 38  # EACCES, ENOSYS
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_AF_UNIX = 1


class Unable(Exception):
    """The kernel does not do what is needed."""


def missing() -> str:
    """Why it cannot be done here; "" where it may."""
    if os.uname().machine not in _SOCKET:
        return f"clio knows no system calls of {os.uname().machine}"
    try:
        version = _call(_CREATE_RULESET, None, 0, 1)
    except OSError as error:
        return f"the kernel has no Landlock, or it is switched off ({error.strerror})"
    return "" if version >= _MIN_VERSION else "the kernel is older than Linux 6.2"


def shut_in(places: list[str], *, network: bool) -> None:
    """From here on this process and all it starts write only below `places`. Raises Unable, OSError."""
    if reason := missing():
        raise Unable(reason)
    version = _call(_CREATE_RULESET, None, 0, 1)
    rules = struct.pack("=QQQ", _WRITES, 0, _SCOPES if version >= _SCOPES_ABI else 0)
    rules = rules if version >= _SCOPES_ABI else rules[:16] if version >= 4 else rules[:8]
    ruleset = _call(_CREATE_RULESET, rules, len(rules), 0)
    for place in places:
        try:
            fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there cannot be written either
        rights = _WRITES if stat.S_ISDIR(os.fstat(fd).st_mode) else _FILE_RIGHTS
        _call(_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, fd), 0)
        os.close(fd)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    # Root could load modules past all this. With no new rights to be had, those given up here never return.
    _call(_CAPSET[os.uname().machine], struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", *[0] * 6))
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    _filter_sockets(network=network)


def _filter_sockets(*, network: bool) -> None:
    """No socket at all, or none but those of the network: a socket in a folder leads to programs that nothing holds.

    Pairs of sockets, which lead nowhere else, stay.
    """
    machine = os.uname().machine
    socket = [_step(_LOAD, 16), _step(_JUMP_EQUAL, _AF_UNIX, 0, 1), _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)]
    socket = socket if network else [_step(_RETURN, _REFUSE)]
    program = [
        _step(_LOAD, 4),
        _step(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _step(_RETURN, _NOT_KNOWN),  # programs for another machine, such as 32 bits: their calls have other numbers
        _step(_LOAD, 0),
        _step(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        _step(_RETURN, _NOT_KNOWN),
        _step(_JUMP_EQUAL, _IO_URING_SETUP, 0, 1),
        _step(_RETURN, _NOT_KNOWN),  # it would open sockets past this filter
        _step(_JUMP_EQUAL, _SOCKET[machine], 1, 0),
        _step(_RETURN, _ALLOW),
        *socket,
    ]
    code = ctypes.create_string_buffer(b"".join(program))
    filter_ = struct.pack("@HP", len(program), ctypes.addressof(code))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, filter_)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _call(number: int, *arguments: bytes | int | None) -> int:
    found: int = _library().syscall(ctypes.c_long(number), *map(_word, arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _prctl(option: int, value: int, more: bytes | int = 0) -> None:
    if _library().prctl(option, ctypes.c_ulong(value), _word(more), ctypes.c_ulong(0), ctypes.c_ulong(0)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _word(value: bytes | int | None) -> object:
    return ctypes.c_long(value) if isinstance(value, int) else value


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Shut in and become the command; a number only where that failed."""
    count = int(arguments[1])
    places, command = arguments[2 : 2 + count], arguments[2 + count :]
    try:
        shut_in(places, network=arguments[0] == "network")
    except (Unable, OSError) as error:
        sys.stderr.write(f"the command was not run, because the sandbox landlock cannot be had: {error}\n")
        return 126
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]!r} could not be started: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
