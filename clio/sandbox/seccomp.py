"""The filters of system calls (Linux) that refuse sockets, and changes to files that Landlock leaves open.

Source: linux/seccomp.h, linux/filter.h, asm/unistd.h.
"""

import platform
import struct

_SOCKET = {"x86_64": 41, "aarch64": 198}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_IO_URING_SETUP = 425
_X32_BIT = 0x40000000
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EACCES, _EROFS, _ENOSYS, _ENETUNREACH = 13, 30, 38, 101
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_AF_UNIX = 1
_METADATA = {
    # chmod fchmod chown fchown lchown utime {,l,f}setxattr {,l,f}removexattr utimes fchownat futimesat fchmodat
    # utimensat
    "x86_64": (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280),
    # {,l,f}setxattr {,l,f}removexattr fchmod fchmodat fchownat fchown utimensat
    "aarch64": (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88),
}
_METADATA_EVERYWHERE = (452, 463, 466, 469)  # fchmodat2 setxattrat removexattrat file_setattr
_IOCTL = {"x86_64": 16, "aarch64": 29}
_SET_FLAGS = (0x40086602, 0x40046602, 0x401C5820)  # FS_IOC_SETFLAGS, the same of 32 bits, FS_IOC_FSSETXATTR


def is_known_machine() -> bool:
    """Whether clio knows the system calls of this machine."""
    return platform.machine() in _SOCKET


def sandbox_filter(*, network: bool) -> bytes:
    """No socket at all, or none but those of the network: one in a folder leads to programs that nothing holds.

    Pairs of sockets, which lead nowhere else, stay. Raises KeyError where the machine is not known.
    """
    refuse = _step(_RETURN, _ERROR | _EACCES)
    unix = [_step(_LOAD, 16), _step(_JUMP_EQUAL, _AF_UNIX, 0, 1), refuse, _step(_RETURN, _ALLOW)]
    return _program([], unix if network else [refuse])


def read_only_filter(*, network: bool) -> bytes:
    """No change to modes, owners, times and attributes of files, and without `network` no socket.

    A refused socket says that the network is unreachable, which is told from a file that may not be read. Raises
    KeyError where the machine is not known.
    """
    machine = platform.machine()
    refuse = _step(_RETURN, _ERROR | _EROFS)
    changes: list[bytes] = []
    for number in (*_METADATA[machine], *_METADATA_EVERYWHERE):
        changes += [_step(_JUMP_EQUAL, number, 0, 1), refuse]
    flags = [step for one in _SET_FLAGS for step in (_step(_JUMP_EQUAL, one, 0, 1), refuse)]
    flags = [_step(_LOAD, 24), *flags, _step(_RETURN, _ALLOW)]
    changes += [_step(_JUMP_EQUAL, _IOCTL[machine], 0, len(flags)), *flags]
    return _program(changes, [_step(_RETURN, _ALLOW if network else _ERROR | _ENETUNREACH)])


def _program(before: list[bytes], socket: list[bytes]) -> bytes:
    """The filter as the kernel and bubblewrap take it. before: steps on the call's number. socket: on a new socket."""
    machine = platform.machine()
    unknown = _step(_RETURN, _ERROR | _ENOSYS)
    steps = [
        _step(_LOAD, 4),
        _step(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        unknown,  # programs for another machine, such as 32 bits: their calls have other numbers
        _step(_LOAD, 0),
        _step(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        unknown,
        _step(_JUMP_EQUAL, _IO_URING_SETUP, 0, 1),
        unknown,  # it would open sockets past this filter
        *before,
        _step(_JUMP_EQUAL, _SOCKET[machine], 1, 0),
        _step(_RETURN, _ALLOW),
        *socket,
    ]
    return b"".join(steps)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
