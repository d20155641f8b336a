"""Confine a command with Landlock and supervise it. Runs as a script by its path and imports only the standard library.

Arguments: a seccomp filter in hexadecimal, "lingers" or "attended", a count, that many writable paths, then the command
and its arguments. There are two processes: one confines itself and becomes the command; the supervisor is not confined,
cannot be signalled by the command from Linux 6.12 on, and stays until everything the command has started ends.
Processes that leave its session or lose their parent become children of the supervisor, so none escapes. Exits with 126
and a message if it cannot confine the command: a command never runs with weaker limits than requested.
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
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_MIN_VERSION = 3
"""ABI 3 (Linux 6.2) added the right to truncate; before it, files outside could be emptied."""
_WRITES = 0x1FF2 | 1 << 13 | 1 << 14
"""Rights to write, remove and create; to link into another folder (bit 13); to truncate (bit 14)."""
_FILE_RIGHTS = (1 << 1) | (1 << 14)
"""Rights that apply to a file rather than a folder: to write (bit 1) and to truncate (bit 14)."""
_SCOPES_ABI, _SCOPES = 6, 0b11  # no abstract sockets of, and no signals to, processes outside
_CAPSET = {"x86_64": 126, "aarch64": 91}
"""System call numbers of capset(2)."""
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM)
_ENDING_S = 0.05
"""Seconds in which background processes may end by themselves before they are reported as left running."""
_TERM_GRACE_S = 1.0
"""Seconds between SIGTERM and SIGKILL."""
_KILLED_S = 2.0
"""Seconds after which the supervisor gives up on processes that SIGKILL does not end (in uninterruptible sleep)."""
_LEFT = b"[processes it left running were stopped, background=true would keep them]\n"
"""Last line of the output, for the model."""


class LandlockUnavailable(Exception):
    """The kernel does not support what is needed."""


def explain_missing() -> str:
    """Why commands cannot be confined here; "" if they may be."""
    if os.uname().machine not in _CAPSET:
        return f"clio knows no system calls of {os.uname().machine}"
    try:
        version = _call(_CREATE_RULESET, None, 0, 1)
    except OSError as error:
        return f"the kernel has no Landlock, or it is switched off ({error.strerror})"
    return "" if version >= _MIN_VERSION else "the kernel is older than Linux 6.2"


def confine_process(places: list[str], seccomp_filter: bytes) -> None:
    """Restrict this process and all it starts to writing below `places`, for the rest of their lives.

    Raises LandlockUnavailable, OSError.
    """
    if reason := explain_missing():
        raise LandlockUnavailable(reason)
    version = _call(_CREATE_RULESET, None, 0, 1)
    rules = struct.pack("=QQQ", _WRITES, 0, _SCOPES if version >= _SCOPES_ABI else 0)
    rules = rules if version >= _SCOPES_ABI else rules[:16] if version >= 4 else rules[:8]
    ruleset = _call(_CREATE_RULESET, rules, len(rules), 0)
    for place in places:
        try:
            fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # a path that does not exist cannot be written either
        rights = _WRITES if stat.S_ISDIR(os.fstat(fd).st_mode) else _FILE_RIGHTS
        _call(_ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, fd), 0)
        os.close(fd)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    # Root could load kernel modules to escape. With no_new_privs set, the capabilities dropped here never return.
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


def run_and_supervise(command: int, *, lingers: bool) -> int:
    """Wait for a command and all processes it started. Returns its exit code, negative for a signal, as `subprocess`
    does.

    SIGTERM, also sent by the kernel when clio exits, makes the supervisor kill everything at once.

    Args:
        lingers: let background processes go on; otherwise they get SIGTERM and, a second later, SIGKILL.
    """
    code = None
    while True:
        code, left = _reap_children(command, code)
        if not left or (code is not None and not lingers):
            break
        _wait_for_child(None)
    if left and not _none_left_within(_ENDING_S):
        _print_line(_LEFT)
        _signal_all(signal.SIGTERM)
        if not _none_left_within(_TERM_GRACE_S):
            _kill_all()
    return 0 if code is None else code


def _reap_children(command: int, code: int | None) -> tuple[int | None, bool]:
    """Reap ended children. Returns the command's exit code (None while it runs) and whether any children are left."""
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
    while _reap_children(0, None)[1]:
        if (rest := until - time.monotonic()) <= 0:
            return False
        _wait_for_child(rest)
    return True


def _wait_for_child(seconds: float | None) -> None:
    """Return when a child has ended. On SIGTERM, kill everything and exit."""
    heard = signal.sigwaitinfo(_SIGNALS) if seconds is None else signal.sigtimedwait(_SIGNALS, seconds)
    if heard is not None and heard.si_signo == signal.SIGTERM:
        _kill_all()
        os._exit(128 + signal.SIGTERM)


def _kill_all() -> None:
    """Kill repeatedly, to catch new processes, and by whole process groups, which leaves no time to start more."""
    until = time.monotonic() + _KILLED_S
    while _reap_children(0, None)[1] and time.monotonic() < until:
        _signal_all(signal.SIGKILL)
        signal.sigtimedwait((signal.SIGCHLD,), 0.01)


def _signal_all(number: int) -> None:
    below, own = _list_descendants(os.getpid()), os.getpgrp()
    for send, found in ((os.killpg, {group for _, group in below} - {own}), (os.kill, {pid for pid, _ in below})):
        for one in found:
            try:
                send(one, number)
            except OSError:
                continue  # it has ended already


def _list_descendants(top: int) -> list[tuple[int, int]]:
    """Return (pid, process group) of all descendants of a process."""
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
    for pid, _ in found:  # the list grows during the loop
        found += children.get(pid, [])
    return found


def _print_line(line: bytes) -> None:
    with contextlib.suppress(OSError):  # the reader may have closed the pipe
        os.write(1, line)


def _run_confined(arguments: list[str], seccomp_filter: bytes, count: int) -> int:
    """Confine this process and become the command. Returns an exit code only on failure."""
    places, command = arguments[:count], arguments[count:]
    try:
        confine_process(places, seccomp_filter)
    except (LandlockUnavailable, OSError) as error:
        sys.stderr.write(f"the command was not run, because the sandbox landlock is not available: {error}\n")
        return 126
    try:
        os.setpgid(0, 0)  # lead a process group, as without a supervisor
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and the command would inherit that
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]!r} could not be started: {error.strerror}\n")
    return 127


def _exit_like(code: int) -> int:
    """Exit by the signal that ended the command; return an exit code unchanged."""
    if code < 0:
        import resource

        # The command may have dumped core already; the supervisor must not dump a second one.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
        os.kill(os.getpid(), -code)
    return abs(code)


def main(arguments: list[str]) -> int:
    """Start the command and supervise it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an inherited SIG_IGN would hide the exit status of children
    # Blocked before the fork, so that the end of a fast child is not missed; sigwaitinfo receives it later.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    # Orphaned descendants become children of this process instead of init.
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Sent by the kernel when clio exits, even if it is killed.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        code = _run_confined(arguments[3:], bytes.fromhex(arguments[0]), int(arguments[2]))
        sys.stderr.flush()
        os._exit(code)
    return _exit_like(run_and_supervise(child, lingers=arguments[1] == "lingers"))


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # skip interpreter cleanup, there is nothing to clean up
