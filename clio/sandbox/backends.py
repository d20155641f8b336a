"""The ways to confine a command (bubblewrap, Landlock, Seatbelt), and tests of whether one works on this machine."""

import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import structs

from clio.sandbox.fence import (
    FILTER_PLACEHOLDER,
    EnclosedCommand,
    Fence,
    SandboxLevel,
    iter_git_folders,
    list_folders_between,
    list_socket_folders,
    list_tmp_program_folders,
    make_fence,
)
from clio.storage.locks import error_cause
from clio.text.translation import tr

_SOCKET = {"x86_64": 41, "aarch64": 198}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_IO_URING_SETUP = 425
"""The same number on every architecture."""
_X32_BIT = 0x40000000
"""Set in the numbers of x32 calls on x86_64, which bypass a comparison with the plain numbers."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000  # results of a seccomp filter; an error number is added to the second
_EACCES, _EROFS, _ENOSYS, _ENETUNREACH = 13, 30, 38, 101  # error numbers of Linux
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of the packet filter (BPF)
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
    """Whether clio knows the system call numbers of this machine."""
    return platform.machine() in _SOCKET


def make_sandbox_filter(*, network: bool) -> bytes:
    """Build a seccomp filter for sandboxed commands: no sockets, or with `network` all but Unix sockets.

    A Unix socket leads to other programs, which the sandbox does not confine. Socket pairs are allowed, because they
    connect only the command to itself. Raises KeyError if the machine is not known.
    """
    refuse = _encode_step(_RETURN, _ERROR | _EACCES)
    unix = [_encode_step(_LOAD, 16), _encode_step(_JUMP_EQUAL, _AF_UNIX, 0, 1), refuse, _encode_step(_RETURN, _ALLOW)]
    return _assemble_filter([], unix if network else [refuse])


def make_read_only_filter(*, network: bool) -> bytes:
    """Build a seccomp filter that denies changes to the metadata of files and, without `network`, all sockets.

    A denied socket fails with "network unreachable", so that it can be told from a file that may not be read. Raises
    KeyError if the machine is not known.
    """
    machine = platform.machine()
    refuse = _encode_step(_RETURN, _ERROR | _EROFS)
    changes: list[bytes] = []
    for number in (*_METADATA[machine], *_METADATA_EVERYWHERE):
        changes += [_encode_step(_JUMP_EQUAL, number, 0, 1), refuse]
    flags = [step for flag in _SET_FLAGS for step in (_encode_step(_JUMP_EQUAL, flag, 0, 1), refuse)]
    flags = [_encode_step(_LOAD, 24), *flags, _encode_step(_RETURN, _ALLOW)]
    changes += [_encode_step(_JUMP_EQUAL, _IOCTL[machine], 0, len(flags)), *flags]
    return _assemble_filter(changes, [_encode_step(_RETURN, _ALLOW if network else _ERROR | _ENETUNREACH)])


def _assemble_filter(before: list[bytes], socket: list[bytes]) -> bytes:
    """Assemble the filter in the format of the kernel and bubblewrap.

    Args:
        before: steps that test the number of the call.
        socket: steps for a new socket.
    """
    machine = platform.machine()
    unknown = _encode_step(_RETURN, _ERROR | _ENOSYS)
    steps = [
        _encode_step(_LOAD, 4),
        _encode_step(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        unknown,  # programs of another architecture, such as 32 bit, use other call numbers
        _encode_step(_LOAD, 0),
        _encode_step(_JUMP_AT_LEAST, _X32_BIT, 0, 1),
        unknown,
        _encode_step(_JUMP_EQUAL, _IO_URING_SETUP, 0, 1),
        unknown,  # io_uring can open sockets without calling socket(2)
        *before,
        _encode_step(_JUMP_EQUAL, _SOCKET[machine], 1, 0),
        _encode_step(_RETURN, _ALLOW),
        *socket,
    ]
    return b"".join(steps)


def _encode_step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


_RUNTIME_PATHS = tuple(f"/run/{name}" for name in ("systemd/resolve", "NetworkManager", "resolvconf", "current-system"))
"""Paths in /run that commands need: name servers, programs on NixOS. The rest holds sockets of other programs."""
_LEFTOVER_NOTE = "[processes it left running were stopped, background=true would keep them]"
# The shell ignores SIGTERM so that the command has time to handle it; the command does not inherit the trap.
# Two processes always exist: bubblewrap's init and this shell.
_SHELL_PROLOGUE = 'trap : TERM; "$@"; code=$?; set -- /proc/[0-9]*; if [ $# -gt 2 ]; then '
_ATTENDED = f'{_SHELL_PROLOGUE}sleep 0.05; set -- /proc/[0-9]*; [ $# -gt 2 ] && echo "{_LEFTOVER_NOTE}"; fi; exit $code'
_LINGERING = f"{_SHELL_PROLOGUE}while [ $# -gt 2 ]; do sleep 0.3; set -- /proc/[0-9]*; done; fi; exit $code"
_SOCKET_VARIABLES = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "DISPLAY", "WAYLAND_DISPLAY")


def find_bubblewrap() -> str | None:
    """Return the path of bubblewrap; None if it is not installed."""
    return shutil.which("bwrap")


def enclose_with_bubblewrap(
    program: str, fence: Fence, argv: Sequence[str], cwd: Path, *, lingers: bool = False
) -> EnclosedCommand:
    """Confine a command to the fence with bubblewrap.

    A user namespace without capabilities is always created, so that root has no rights outside and mounts cannot be
    undone. A PID namespace ends every process with its first one, including those that started their own session.

    Args:
        lingers: run until everything the command has started ends.
    """
    words = [program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"]
    words += [] if fence.network else ["--unshare-net"]
    words += [*_iter_mount_options(fence), *(word for name in _SOCKET_VARIABLES for word in ("--unsetenv", name))]
    words += ["--setenv", "TMPDIR", "/tmp", "--chdir", str(cwd), "--"]
    words += ["/bin/sh", "-c", _LINGERING if lingers else _ATTENDED, "sh", *argv]
    return EnclosedCommand(argv=tuple(words), keeper=True)


def confine_with_bubblewrap(
    program: str, root: Path, argv: Sequence[str], shown: Sequence[Path], hidden: Sequence[Path],
    *, network: bool, lingers: bool = False,
) -> EnclosedCommand:  # fmt: skip
    """Confine a command so that all files are read-only, with a /tmp of its own and without sockets.

    TMPDIR names an empty folder in that /tmp.

    Sockets are denied by a seccomp filter, which costs no time; a network namespace takes longer to create than all the
    rest (7 of 13 ms). It is used only if clio does not know the machine's system calls.

    Args:
        shown: folders in /tmp or /run that stay readable, such as the project.
        hidden: further folders with sockets of other programs.
        network: keep sockets and /run.
        lingers: run until everything the command has started ends.
    """
    words = [program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", "--die-with-parent"]
    given = b""
    if not network:
        known = is_known_machine()
        given = make_read_only_filter(network=False) if known else b""
        words += ["--seccomp", FILTER_PLACEHOLDER] if known else ["--unshare-net"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if sys.platform != "win32" and os.geteuid() == 0:
        words += ["--remount-ro", "/proc"]  # for the reason given in `_tree`
    temporary = _choose_empty_folder(shown)
    words += ["--tmpfs", "/tmp", "--dir", temporary]
    if not network:
        words += ["--tmpfs", "/run"] if Path("/run").is_dir() else []
        words += [word for name in _RUNTIME_PATHS for word in ("--ro-bind-try", name, name)]
        words += [word for folder in hidden for word in ("--tmpfs", str(folder))]
    covered = [Path("/tmp"), *([] if network else [Path("/run"), *hidden])]
    for folder in shown:
        if any(cover == folder or cover in folder.parents for cover in covered):
            words += ["--ro-bind-try", str(folder), str(folder)]
    words += ["--setenv", "TMPDIR", temporary, "--chdir", str(root), "--"]
    words += ["/bin/sh", "-c", _LINGERING if lingers else _ATTENDED, "sh", *argv]
    return EnclosedCommand(argv=tuple(words), keeper=True, given=given)


def _choose_empty_folder(shown: Sequence[Path]) -> str:
    """Return a folder below /tmp for temporary files, in which nothing is mounted.

    /tmp itself contains mount points if the project or the user's programs are below it.
    """
    names = (f"/tmp/clio-command{number or ''}" for number in range(len(shown) + 1))
    used_paths = [(folder, *folder.parents) for folder in shown]
    return next(name for name in names if not any(Path(name) in paths for paths in used_paths))


def _iter_mount_options(fence: Fence) -> Iterator[str]:
    """Yield the bubblewrap options for the mounts. Each covers those before it."""
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if sys.platform != "win32" and os.geteuid() == 0:
        # A command started by root still owns the settings in /proc/sys, one of which names a program the kernel runs.
        yield from ("--remount-ro", "/proc")
    yield from ("--bind", str(fence.tmp), "/tmp")
    for folder in fence.shown:
        yield from ("--ro-bind-try", str(folder), str(folder))
    if Path("/run").is_dir():
        yield from ("--tmpfs", "/run")
        for name in _RUNTIME_PATHS:
            yield from ("--ro-bind-try", name, name)
    for folder in fence.hidden:
        yield from ("--tmpfs", str(folder))
    for folder in sorted(fence.write):
        yield from ("--bind", str(folder), str(folder))
    # A parent of a sealed path could be renamed and replaced by another folder; a mount point cannot.
    for folder in sorted(
        {way for path in fence.sealed for top in fence.write for way in list_folders_between(top, path)}
    ):
        yield from ("--bind", str(folder), str(folder))
    for path in sorted(fence.sealed):
        yield from ("--ro-bind", str(path), str(path))


CHILD = str(Path(__file__).with_name("landlock_child.py"))
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
_SINK_DEVICES = ("null", "zero", "full")


def enclose_with_landlock(fence: Fence, argv: Sequence[str], *, lingers: bool = False) -> EnclosedCommand:
    """Confine a command to the fence with Landlock: a small Python process confines itself and becomes the command.

    A second process supervises it. This is not done between fork and exec, where no Python code may run while other
    threads exist.

    Args:
        lingers: run until everything the command has started ends.
    """
    writable_paths = [*map(str, fence.write), tempfile.gettempdir(), "/tmp", *(f"/dev/{name}" for name in _DEVICES)]
    return _enclose_with_child(
        partial(make_sandbox_filter, network=fence.network), writable_paths, argv, lingers=lingers
    )


def confine_with_landlock(
    tmp: Path | None, argv: Sequence[str], *, network: bool, lingers: bool = False
) -> EnclosedCommand:
    """Confine a command so that it writes only below `tmp` and has no sockets.

    Args:
        tmp: its folder for temporary files; None for none.
        network: keep sockets.
    """
    writable_paths = [*([str(tmp)] if tmp else []), *(f"/dev/{name}" for name in _SINK_DEVICES)]
    enclosed = _enclose_with_child(
        partial(make_read_only_filter, network=network), writable_paths, argv, lingers=lingers
    )
    if tmp is None:
        return enclosed
    return structs.replace(enclosed, tmp=tmp, env=(("TMPDIR", str(tmp)),))


def _enclose_with_child(
    make_filter: Callable[[], bytes], writable_paths: Sequence[str], argv: Sequence[str], *, lingers: bool
) -> EnclosedCommand:
    # on an unknown machine `landlock_child` reports the error itself
    seccomp_filter = make_filter().hex() if is_known_machine() else ""
    words = (seccomp_filter, "lingers" if lingers else "attended", str(len(writable_paths)), *writable_paths, *argv)
    return EnclosedCommand(argv=words, keeper=True, script=CHILD)


def explain_missing_landlock() -> str:
    """Why Landlock cannot be tried here; "" if it can."""
    if not sys.platform.startswith("linux"):
        return tr("only available on Linux")
    return "" if Path(sys.executable or "").is_file() else tr("the Python executable was not found")


_SEATBELT_DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/dtracehelper",
    "/dev/ptmx",
    "/dev/stdout",
    "/dev/stderr",
)


def find_seatbelt() -> str | None:
    """Return the path of sandbox-exec; None if this is not macOS."""
    return shutil.which("sandbox-exec")


def enclose_with_seatbelt(program: str, fence: Fence, argv: Sequence[str]) -> EnclosedCommand:
    """Confine a command to the fence with Seatbelt."""
    return EnclosedCommand(argv=(program, "-p", render_seatbelt_profile(fence), "env", f"TMPDIR={fence.tmp}", *argv))


def render_seatbelt_profile(fence: Fence) -> str:
    """Render the rules of the fence; of several matching rules the last one applies.

    Everything not named is allowed: programs look up dozens of services whose names change with each macOS version, and
    a list of them would have to be tested on every version.
    """
    return "".join(f"{line}\n" for line in _iter_seatbelt_rules(fence))


def confine_with_seatbelt(program: str, tmp: Path | None, argv: Sequence[str], *, network: bool) -> EnclosedCommand:
    """Confine a command so that it writes only below `tmp` and has no network.

    Args:
        tmp: its folder for temporary files; None for none.
    """
    text = "".join(f"{line}\n" for line in _iter_read_only_rules(tmp, network=network))
    env = (("TMPDIR", str(tmp)),) if tmp is not None else ()
    return EnclosedCommand(argv=(program, "-p", text, *argv), tmp=tmp, env=env)


def _iter_read_only_rules(tmp: Path | None, *, network: bool) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    if tmp is not None:
        yield f"(allow file-write* (subpath {_quote_path(tmp)}))"
    for device in ("/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr"):
        yield f'(allow file-write* (literal "{device}"))'
    yield '(allow file-write* (regex #"^/dev/fd/[0-9]+$"))'
    yield "(deny job-creation)"
    yield "(deny lsopen)"
    yield "(deny appleevent-send)"
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    if not network:
        yield "(deny network*)"


def _iter_seatbelt_rules(fence: Fence) -> Iterator[str]:
    yield "(version 1)"
    yield "(allow default)"
    yield "(deny file-write*)"
    for folder in (*fence.write, fence.tmp):
        yield f"(allow file-write* (subpath {_quote_path(folder)}))"
    for device in _SEATBELT_DEVICES:
        yield f'(allow file-write* (literal "{device}"))'
    yield '(allow file-write* (regex #"^/dev/fd/[0-9]+$"))'  # other names for files that are already open
    # Only terminals the command has created: in the user's terminal it could write, and read what is typed.
    yield "(allow pseudo-tty)"
    yield '(deny file-read-data (regex #"^/dev/ttys[0-9]+$"))'
    own = '(require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty"))'
    yield f"(allow file-read-data file-write* {own})"
    for path in sorted({*fence.sealed, *fence.watched}):
        yield f"(deny file-write* (subpath {_quote_path(path)}))"
    # A parent of a sealed path must not be renamed.
    for folder in sorted(
        {way for path in fence.sealed for top in fence.write for way in list_folders_between(top, path)}
    ):
        yield f"(deny file-write-unlink (literal {_quote_path(folder)}))"
    # Processes started by other programs on request are not confined: launchd jobs, `open`, application scripts.
    yield "(deny job-creation)"
    yield "(deny lsopen)"
    yield "(deny appleevent-send)"
    yield "(deny signal)"
    yield "(allow signal (target same-sandbox))"
    for folder in fence.hidden:
        yield f"(deny network-outbound (subpath {_quote_path(folder)}))"
    if not fence.network:
        yield "(deny network*)"
        yield '(allow network-bind network-inbound (local ip "localhost:*"))'
        yield '(allow network-outbound (remote ip "localhost:*"))'


def _quote_path(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


_LIMIT_S = 10.0
"""Time limit for the command that tests a level; it usually takes 15 to 60 ms."""
_CONFINEMENT_PROBE = 'if mkdir "$1" 2>&-; then rmdir "$1"; echo a command could write; fi; : > /dev/null && echo done'
_SANDBOX_PROBE = 'echo in > inside; echo out > "$1/outside"; echo out > .git/config; echo done'


def enclose_command(
    level: SandboxLevel, fence: Fence, argv: tuple[str, ...], cwd: Path, *, lingers: bool = False
) -> EnclosedCommand:
    """Confine a command to the fence with the given level. Raises OSError if the level's program is missing.

    Args:
        lingers: run until everything the command has started ends, instead of ending it with the command.
    """
    match level:
        case "bwrap":
            return enclose_with_bubblewrap(
                _require_program(find_bubblewrap(), "bwrap"), fence, argv, cwd, lingers=lingers
            )
        case "landlock":
            return enclose_with_landlock(fence, argv, lingers=lingers)
        case "seatbelt":
            return enclose_with_seatbelt(_require_program(find_seatbelt(), "sandbox-exec"), fence, argv)
        case "off":
            return EnclosedCommand(argv=argv)


def explain_unusable_level(level: SandboxLevel, env: Mapping[str, str]) -> str:
    """Why a level does not work on this machine; "" if it does. Runs one small command in 15 to 60 ms."""
    if reason := _explain_absence(level):
        return reason
    try:
        with tempfile.TemporaryDirectory(prefix="clio-probe-", dir=_find_protected_folder()) as name:
            return _probe_level(level, Path(name).resolve(), env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return error_cause(error)


def _probe_level(level: SandboxLevel, folder: Path, env: Mapping[str, str]) -> str:
    root, outside, tmp = folder / "project", folder / "other", folder / "tmp"
    for path in (root / ".git" / "hooks", outside, tmp):
        path.mkdir(parents=True)
    (root / ".git" / "config").write_text("kept", encoding="utf-8")
    fence = make_fence(root, user_home=folder / "home", clio_home=outside, env={}, tmp=tmp, caches=False)
    done = _run_probe(
        enclose_command(level, fence, ("/bin/sh", "-c", _SANDBOX_PROBE, "sh", str(outside)), root), root, env
    )
    if "done" not in done.stdout.splitlines() or not (root / "inside").exists():
        lines = (done.stderr or done.stdout).strip().splitlines()
        return (
            tr("it fails to start: {lines}", lines=lines[-1][:200])
            if lines
            else tr("it exits with code {returncode}", returncode=done.returncode)
        )
    if (outside / "outside").exists():
        return tr("a command could write outside the allowed folders")
    if level != "landlock" and (root / ".git" / "config").read_text(encoding="utf-8") != "kept":
        return tr("a command could write to protected files")
    return ""


def explain_unusable_confinement(level: SandboxLevel, env: Mapping[str, str], user_home: Path) -> str:
    """Why a level cannot confine a read-only command on this machine; "" if it can.

    Runs one small command that tries to create a folder in the user's home folder. Leaves no file if that is denied.
    """
    if reason := _explain_absence(level):
        return reason
    denied_path = str(user_home / f".clio-probe-{os.getpid()}")
    try:
        argv = ("/bin/sh", "-c", _CONFINEMENT_PROBE, "sh", denied_path)
        done = _run_probe(confine_command(level, Path("/"), argv, user_home=user_home, own_tmp=False), Path("/"), env)
    except (OSError, subprocess.TimeoutExpired) as error:
        return error_cause(error)
    if done.stdout.split() != ["done"]:
        lines = (done.stderr or done.stdout).strip().splitlines()
        return (
            tr("it fails to start: {lines}", lines=lines[-1][:200])
            if lines
            else tr("it exits with code {returncode}", returncode=done.returncode)
        )
    return ""


def confine_command(
    level: SandboxLevel, root: Path, argv: tuple[str, ...], *, user_home: Path, env: Mapping[str, str] | None = None,
    network: bool = False, lingers: bool = False, own_tmp: bool = True,
) -> EnclosedCommand:  # fmt: skip
    """Confine a read-only command: it writes only to a /tmp of its own and has no network.

    The caller removes `EnclosedCommand.tmp`, if there is one, after the command. Raises OSError if the level's program
    is missing.

    Args:
        env: programs in /tmp that its PATH names stay visible.
        own_tmp: False if no folder for temporary files may be created; bubblewrap keeps it in memory.
    """
    match level:
        case "bwrap":
            program = _require_program(find_bubblewrap(), "bwrap")
            shown = (root, *list_tmp_program_folders(env or {}), *iter_git_folders(root))
            hidden = list_socket_folders(user_home)
            return confine_with_bubblewrap(program, root, argv, shown, hidden, network=network, lingers=lingers)
        case "landlock":
            return confine_with_landlock(_make_tmp() if own_tmp else None, argv, network=network, lingers=lingers)
        case "seatbelt":
            program = _require_program(find_seatbelt(), "sandbox-exec")
            return confine_with_seatbelt(program, _make_tmp() if own_tmp else None, argv, network=network)
        case "off":
            return EnclosedCommand(argv=argv)


def _make_tmp() -> Path:
    return Path(tempfile.mkdtemp(prefix="clio-command-")).resolve()


def _run_probe(enclosed: EnclosedCommand, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    argv, descriptor = enclosed.command, -1
    try:
        if enclosed.given:
            descriptor, write = os.pipe()
            os.write(write, enclosed.given)
            os.close(write)
            index = argv.index(FILTER_PLACEHOLDER)
            argv = (*argv[:index], str(descriptor), *argv[index + 1 :])
        return subprocess.run(
            argv, cwd=cwd, env={**env, **dict(enclosed.env)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=_LIMIT_S, check=False, pass_fds=() if descriptor < 0 else (descriptor,),
        )  # fmt: skip
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _explain_absence(level: SandboxLevel) -> str:
    find: Mapping[SandboxLevel, Callable[[], str]] = {
        "bwrap": lambda: "" if find_bubblewrap() else tr("bubblewrap is not installed"),
        "landlock": explain_missing_landlock,
        "seatbelt": lambda: "" if find_seatbelt() else tr("only available on macOS"),
    }
    return find[level]() if level in find else ""


def _require_program(program: str | None, name: str) -> str:
    if program is None:
        raise FileNotFoundError(tr("{name} is not installed", name=name))
    return program


def _find_protected_folder() -> str | None:
    """Return a folder that no level lets commands write; /tmp is writable for them."""
    return "/var/tmp" if Path("/var/tmp").is_dir() else None
