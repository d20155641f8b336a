"""Attempts to escape, at every level that works on this machine: afterwards everything outside is unchanged."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.ids import new_id
from clio.sandbox.sandbox import Sandbox
from tests.sandbox.range import REASONS, AttackField
from tests.support.waiting import happens_within

FILES = {
    "a relative path": "echo x > ../outside/file",
    "a new file": "echo x > ../outside/new",
    "a new folder": "mkdir ../outside/made",
    "appending": "echo x >> $OUT/file",
    "emptying": ": > $OUT/file",
    "emptying by its path alone": "truncate -s 0 $OUT/file",
    "deleting": "rm -rf $OUT/file $OUT/deep",
    "renaming over it": "echo x > a; mv a $OUT/file",
    "taking it in": "mv $OUT/file taken; echo x > taken",
    "taking a folder in": "mv $OUT taken",
    "a link": "ln -sfn $OUT/file l; echo x > l",
    "a link to a folder": "ln -sfn $OUT d; echo x > d/file; rm d/file",
    "a chain of links": "ln -sfn .. up; ln -sfn up/outside/file chain; echo x > chain",
    "a hard link": "ln $OUT/file hard; echo x >> hard",
    "a hard link of a folder's file by descriptor": "exec 3<$OUT/file; ln -L /proc/self/fd/3 hard3; echo x >> hard3",
    "the root of this process": "echo x > /proc/self/root$OUT/file",
    "the folder of this process": "echo x > /proc/self/cwd/../outside/file",
    "a descriptor opened again": "exec 3<$OUT/file; echo x > /proc/self/fd/3",
    "the root of process 1": "echo x > /proc/1/root$OUT/file",
    "the root of clio": "echo x > /proc/$CLIO/root$OUT/file",
    "the folder of clio": "echo x > /proc/$CLIO/cwd/x-from-inside",
    "the memory of clio": "dd if=/dev/zero of=/proc/$CLIO/mem bs=1 count=1",
    "a child in the background": "(sleep 0.05; echo x > $OUT/file) & wait",
    "a session of its own": "setsid sh -c 'echo x > $OUT/file' & wait",
    "one that outlives its command": "setsid sh -c 'sleep 0.1; echo x > $OUT/late' & exit 0",
    "the user's files": "echo x >> $HOME_OF/.profile; echo x > $HOME_OF/.bashrc",
    "clio's own home": "echo 'approve: all' > $HOME_OF/.clio/config.yaml; rm -rf $HOME_OF/.clio; mv $HOME_OF/.clio x",
    "a new root": "unshare -Urm sh -c 'mount -o remount,bind,rw /; mount -o remount,bind,rw $OUT; echo x > $OUT/file'",
    "mounting over it": "mount --bind . $OUT; mount -t tmpfs none $OUT; umount -l $OUT",
    "chroot": "chroot / sh -c 'echo x > $OUT/file'",
}
DECIDING = {
    "git config core.fsmonitor": "git config core.fsmonitor /bin/evil",
    "git config diff.external": "git config diff.external /bin/evil",
    "git config core.hooksPath": "git config core.hooksPath .",
    "editing the settings": "sed -i s/bare/evil/ .git/config; echo x >> .git/config",
    "renaming over the settings": "cp .git/config a; echo x >> a; mv a .git/config",
    "linking over the settings": "echo x > a; ln -f a .git/config; ln -sf $PWD/a .git/config",
    "a hard link of the settings": "ln .git/config c; echo x >> c",
    "removing the settings": "rm -f .git/config",
    "a new hook": "echo x > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "changing a hook": "echo x >> .git/hooks/pre-commit",
    "making a hook a program": "cp /bin/true .git/hooks/pre-push",
    "another folder of hooks": "mv .git/hooks h; mkdir .git/hooks; echo x > .git/hooks/post-merge",
    "another repository": "cp -r .git g; echo x >> g/config; mv .git old; mv g .git",
    "another common folder": "cp -r .git g; echo x >> g/config; echo ../g > .git/commondir",
    "settings of the worktree": "echo '[core]' > .git/config.worktree",
    "clio's settings": "echo 'approve: all' > .clio/config.yaml",
    "servers for clio": "echo x > .clio/mcp.yaml",
    "hooks for clio": "echo x > .clio/hooks.yaml",
    "another folder for clio": "mv .clio c; mkdir .clio; echo 'approve: all' > .clio/config.yaml",
    "in a namespace of its own": "unshare -Urm sh -c 'umount .git/config; umount -l .git; echo x >> .git/config'",
}


@pytest.fixture(autouse=True)
def surroundings(field: AttackField, monkeypatch: pytest.MonkeyPatch) -> None:
    field.tidy()
    monkeypatch.setenv("OUT", str(field.outside))
    monkeypatch.setenv("HOME_OF", str(field.home))
    monkeypatch.setenv("CLIO", str(os.getpid()))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("attack", FILES.values(), ids=FILES.keys())
def test_nothing_outside_changes(working_sandbox: Sandbox, field: AttackField, attack: str) -> None:
    before = field.intact()
    field.run(working_sandbox, attack)
    assert field.intact() == before
    assert not Path("x-from-inside").exists()


@pytest.mark.sampled(14)
@pytest.mark.parametrize("attack", DECIDING.values(), ids=DECIDING.keys())
def test_files_that_decide_which_programs_run_are_unchanged(
    working_sandbox: Sandbox, field: AttackField, attack: str
) -> None:
    before = field.intact()
    _, _, note = field.run(working_sandbox, attack)
    assert field.intact() == before
    assert note or working_sandbox.known != "landlock", "no notice was shown"
    field.git("status")


NEEDS_MORE_RIGHTS = ("the root of process 1", "the memory of clio", "mounting over it")
"""Attacks that fail here without any sandbox, because they need root outside a namespace."""
NEEDS_ROOT = ("chroot", "the root of clio", "the folder of clio")
"""Attacks that also fail for an ordinary user.

bwrap then starts its own user namespace and drops all capabilities, while `chroot` needs one of that namespace, and
`/proc/PID/root` and `cwd` of a process outside need one of that process's.
"""


@pytest.mark.skipif(bool(REASONS["bwrap"]), reason=REASONS["bwrap"])
def test_without_a_sandbox_the_same_attacks_do_harm() -> None:
    """Otherwise the two tests above would prove nothing. It uses bwrap too, but with everything writable."""
    harmless: list[str] = []
    for name, attack in (FILES | DECIDING).items():
        field = AttackField()
        try:
            before = field.intact()
            env = {**os.environ, "OUT": str(field.outside), "HOME_OF": str(field.home), "CLIO": str(os.getpid())}
            open_door = [
                "bwrap",
                "--dev-bind",
                "/",
                "/",
                "--chdir",
                str(field.project),
                "bash",
                "-c",
                f"{attack}; wait",
            ]
            subprocess.run(open_door, env=env, capture_output=True, timeout=20, check=False)
            escaped_file = Path("x-from-inside")

            def did_harm(
                field: AttackField = field, before: object = before, escaped_file: Path = escaped_file
            ) -> bool:
                return escaped_file.exists() or _looked_at(field) != before

            # Processes that outlive their command do harm later.
            if not happens_within(5.0 if "exit 0" in attack else 0.0, did_harm):
                harmless.append(name)
            escaped_file.unlink(missing_ok=True)
        finally:
            field.close()
    expected = {*NEEDS_MORE_RIGHTS, *(NEEDS_ROOT if os.geteuid() else ())}
    assert set(harmless) <= expected


def _looked_at(field: AttackField) -> dict[str, bytes] | None:
    try:
        return field.intact()
    except OSError:  # a folder that it reads is gone
        return None


class Listener:
    """A server that counts its connections."""

    def __init__(self, family: socket.AddressFamily, address: object) -> None:
        self.socket = socket.socket(family)
        self.socket.bind(address)  # type: ignore[arg-type]
        self.socket.listen()
        self.came = 0
        self.socket.settimeout(10)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                self.socket.accept()
            except OSError:
                return
            self.came += 1

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)  # a thread that waits in `accept` would keep it open
        self.socket.close()


@pytest.fixture(scope="module")
def port() -> Iterator[Listener]:
    listener = Listener(socket.AF_INET, ("127.0.0.1", 0))
    yield listener
    listener.close()


CONNECT = "import socket; s = socket.socket(socket.{family}); s.settimeout(5); s.connect({address!r})"


def python(code: str) -> str:
    return f'/usr/bin/env python3 -S -c "{code}"'


def test_the_network_is_unreachable(working_sandbox: Sandbox, field: AttackField, port: Listener) -> None:
    process, _, note = field.run(
        working_sandbox, python(CONNECT.format(family="AF_INET", address=port.socket.getsockname()))
    )
    assert process.exit_code == 1, process.output.text()
    assert port.came == 0
    assert "sandbox" in note


def test_options_that_start_other_programs_are_removed(
    working_sandbox: Sandbox, field: AttackField, tmp_path: Path
) -> None:
    path, abstract = f"/tmp/clio-door-{new_id()}", f"\0clio-{new_id()}"
    listeners = [Listener(socket.AF_UNIX, path), Listener(socket.AF_UNIX, abstract)]
    try:
        for address in (path, abstract):
            code = CONNECT.format(family="AF_UNIX", address=address).replace("\\x00", "\\\\x00")
            process, _, _ = field.run(working_sandbox, python(code))
            assert process.exit_code == 1, process.output.text()
        assert [listener.came for listener in listeners] == [0, 0]
    finally:
        for listener in listeners:
            listener.close()
        Path(path).unlink()


def test_no_other_kind_of_socket_and_none_for_another_machine_can_be_opened(
    working_sandbox: Sandbox, field: AttackField
) -> None:
    ring = "import ctypes; print(ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120)))"
    process, _, _ = field.run(working_sandbox, python(ring))
    if working_sandbox.known == "landlock":
        assert process.output.text() == "-1\n"
    else:
        assert process.exit_code == 0  # its sockets belong to the network of the sandbox, which leads nowhere


def test_kernel_settings_cannot_be_opened(working_sandbox: Sandbox, field: AttackField) -> None:
    """They are only opened: if root runs the tests, a write would change the machine."""
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/sys/kernel/uevent_helper"):
        if Path(path).exists():
            process, _, _ = field.run(working_sandbox, f"exec 3>>{path}")
            assert process.exit_code == 1, path
    process, _, _ = field.run(working_sandbox, "mknod disk b 8 0 || mknod memory c 1 1 || date --set=@0")
    assert process.exit_code == 1


def test_clio_can_be_neither_ended_nor_read(working_sandbox: Sandbox, field: AttackField) -> None:
    process, _, _ = field.run(working_sandbox, "kill -0 $CLIO")
    assert process.exit_code == 1
    trace = "import ctypes, os; print(ctypes.CDLL(None).ptrace(16, int(os.environ['CLIO']), 0, 0))"
    process, _, _ = field.run(working_sandbox, python(trace))
    assert process.output.text() == "-1\n"


def test_nothing_can_be_typed_into_the_terminal(working_sandbox: Sandbox, field: AttackField) -> None:
    process, _, _ = field.run(working_sandbox, "echo x > /dev/tty")
    assert process.exit_code == 1
