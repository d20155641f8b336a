"""Runs a command shut in, and keeps it; run as a program, by its path, with nothing but Python's own library.

Arguments: a filter of system calls in hexadecimal (see `seccomp`), "lingers" or "attended", a count, so many paths that
may be written, the command and its arguments. Two processes: one shuts itself in and becomes the command; the other,
which nothing holds and which from Linux 6.12 on the command cannot signal, stays until all has ended that the command
started. What leaves its session or loses its parent becomes the keeper's child, so that nothing gets away.
Ends with 126 and a sentence where it cannot: a command never runs less shut in than was asked for.
Source: linux/landlock.h, linux/seccomp.h, prctl(2).
"""

import contextlib
import ctypes
import os
import signal
import stat
import struct
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same number on every machine
_MIN_VERSION = 3
"""Before it, of Linux 6.2, files outside could be emptied."""
_WRITES = 0x1FF2 | 1 << 13 | 1 << 14
"""The rights to write, remove and make; to link to another folder; to truncate."""
_FILE_RIGHTS = (1 << 1) | (1 << 14)
_SCOPES_ABI, _SCOPES = 6, 0b11  # abstract sockets and signals reach no process outside
_CAPSET = {"x86_64": 126, "aarch64": 91}
_HEARD = (signal.SIGCHLD, signal.SIGTERM)
_ENDING_S = 0.05
"""What ends by itself, right after the command, is not said to have been left running."""
_TERM_GRACE_S = 1.0
_KILLED_S = 2.0
_LEFT = b"[processes it left running were stopped, background=true would keep them]\n"


class Unable(Exception):
    """The kernel does not do what is needed."""


def missing() -> str:
    """Why it cannot be done here; "" where it may."""
    if os.uname().machine not in _CAPSET:
        return f"clio knows no system calls of {os.uname().machine}"
    try:
        version = _call(_CREATE_RULESET, None, 0, 1)
    except OSError as error:
        return f"the kernel has no Landlock, or it is switched off ({error.strerror})"
    return "" if version >= _MIN_VERSION else "the kernel is older than Linux 6.2"


def shut_in(places: list[str], seccomp_filter: bytes) -> None:
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
    buffer = ctypes.create_string_buffer(seccomp_filter)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, struct.pack("@HP", len(seccomp_filter) // 8, ctypes.addressof(buffer)))


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


def keep(command: int, *, lingers: bool) -> int:
    """Wait for a command and all it started; how the command ended, as `subprocess` has it.

    lingers: what it left running may go on; else it is asked to end, and killed a second later. Asked to end itself, or
    when clio has died, the keeper kills everything at once.
    """
    code = None
    while True:
        code, left = _ended(command, code)
        if not left or (code is not None and not lingers):
            break
        _listen(None)
    if left and not _none_left_within(_ENDING_S):
        _say(_LEFT)
        _signal_all(signal.SIGTERM)
        if not _none_left_within(_TERM_GRACE_S):
            _kill_all()
    return 0 if code is None else code


def _ended(command: int, code: int | None) -> tuple[int | None, bool]:
    """Take leave of the children that have ended: how the command did, None before; and whether any are left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code, False
        if pid == 0:
            return code, True
        code = os.waitstatus_to_exitcode(status) if pid == command else code


def _none_left_within(seconds: float) -> bool:
    until = time.monotonic() + seconds
    while _ended(0, None)[1]:
        if (rest := until - time.monotonic()) <= 0:
            return False
        _listen(rest)
    return True


def _listen(seconds: float | None) -> None:
    """Return when a child has ended; does not return from a request to end."""
    heard = signal.sigwaitinfo(_HEARD) if seconds is None else signal.sigtimedwait(_HEARD, seconds)
    if heard is not None and heard.si_signo == signal.SIGTERM:
        _kill_all()
        os._exit(128 + signal.SIGTERM)


def _kill_all() -> None:
    """Again and again, for what is started meanwhile; whole groups, in which nothing is started meanwhile."""
    until = time.monotonic() + _KILLED_S
    while _ended(0, None)[1] and time.monotonic() < until:
        _signal_all(signal.SIGKILL)
        signal.sigtimedwait((signal.SIGCHLD,), 0.01)


def _signal_all(number: int) -> None:
    below, own = _below(os.getpid()), os.getpgrp()
    for send, found in ((os.killpg, {group for _, group in below} - {own}), (os.kill, {pid for pid, _ in below})):
        for one in found:
            try:
                send(one, number)
            except OSError:
                continue  # it has ended


def _below(top: int) -> list[tuple[int, int]]:
    """All processes that one has started, and those that they have; the group of each."""
    children: dict[int, list[tuple[int, int]]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would take longer to import than the command to start
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                words = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append((int(name), int(words[2])))
    found = children.get(top, [])
    for pid, _ in found:  # which grows meanwhile
        found += children.get(pid, [])
    return found


def _say(line: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody may read any more
        os.write(1, line)


def _become(arguments: list[str], seccomp_filter: bytes, count: int) -> int:
    """Shut in and become the command; a number only where that failed."""
    places, command = arguments[:count], arguments[count:]
    try:
        shut_in(places, seccomp_filter)
    except (Unable, OSError) as error:
        sys.stderr.write(f"the command was not run, because the sandbox landlock cannot be had: {error}\n")
        return 126
    try:
        os.setpgid(0, 0)  # it leads its group, as it would without a keeper
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]!r} could not be started: {error.strerror}\n")
    return 127


def _end_as(code: int) -> int:
    """End by the signal that ended the command; an exit code as it is."""
    if code < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
        os.kill(os.getpid(), -code)
    return abs(code)


def main(arguments: list[str]) -> int:
    """Start the command and keep it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody is told how a child ended
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        code = _become(arguments[3:], bytes.fromhex(arguments[0]), int(arguments[2]))
        sys.stderr.flush()
        os._exit(code)
    return _end_as(keep(child, lingers=arguments[1] == "lingers"))


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # at once: there is nothing to tidy up
