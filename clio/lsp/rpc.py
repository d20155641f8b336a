"""JSON-RPC with a language server over its standard input and output, bounded in size, time and memory.

The server is a program that may be broken or hostile: it may never answer, answer garbage, announce a message of a
gigabyte, read nothing, write without end, or die. Each of these ends the connection with a reason and nothing else.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from clio.errors import ToolFailed
from clio.sandbox.fence import EnclosedCommand
from clio.text.formatting import truncate
from clio.text.json_data import decode_json
from clio.text.translation import tr
from clio.text.untrusted_text import to_inert_line
from clio.threads import start_process
from clio.tools.shell.launcher import LaunchRequest, launch_command
from clio.tools.shell.processes import BoundedText, RunningProcess, stop_started_process

MAX_MESSAGE_BYTES = 16_000_000
"""Limit of one message: the symbols of a very large project take a few megabytes."""
_MAX_HEADER_BYTES = 8_000
_MAX_UNASKED_BYTES = 64_000_000
"""What a server may send between two requests."""
_MAX_UNSENT_BYTES = 32_000_000
"""What may wait for a server that does not read."""
_MAX_PENDING = 200
_MAX_UNANSWERED = 3
"""Questions in a row without an answer, after which a server is ended."""
_MAX_ERROR_CHARS = 4_000
_METHOD_NOT_FOUND = -32601


class ServerFailed(Exception):
    """A server cannot be used, or did not answer; the text is the reason, as the end of a sentence."""


class RequestRefused(ServerFailed):
    """The server answered a request with an error; it can be used further. code: of the protocol."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.code = code


class MessageReader:
    """Splits a byte stream into messages. It never holds more than one message of `MAX_MESSAGE_BYTES`."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length = -1

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete now. Raises ServerFailed for anything that is not the protocol."""
        self._buffer += data
        while True:
            if self._length < 0:
                end = self._buffer.find(b"\r\n\r\n", 0, _MAX_HEADER_BYTES)
                if end < 0:
                    if len(self._buffer) >= _MAX_HEADER_BYTES:
                        raise ServerFailed(tr("its output is not that of a language server"))
                    return
                self._length = _read_length(bytes(self._buffer[:end]))
                del self._buffer[: end + 4]
            if len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = -1
            try:
                yield decode_json(body, type=Any)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                raise ServerFailed(tr("it sent a message that is not JSON")) from None


def _read_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value) < 20:
            length = int(value)
            if length > MAX_MESSAGE_BYTES:
                raise ServerFailed(tr("it announced a message of {length} bytes", length=f"{length:,}"))
            return length
    raise ServerFailed(tr("its output is not that of a language server"))


class _ServerProcess(RunningProcess):
    """The process of a server: its output goes to the connection, the end of its error output is kept."""

    def __init__(self, on_output: Callable[[bytes], None], on_end: Callable[[], None], *, has_keeper: bool) -> None:
        super().__init__(has_keeper=has_keeper)
        self.output = BoundedText(_MAX_ERROR_CHARS)
        self._on_output = on_output
        self._on_end = on_end

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass output on; called by asyncio."""
        if fd == 1:
            self._on_output(data)
        else:
            super().pipe_data_received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note the end of the output; called by asyncio."""
        if fd == 1:
            self._on_end()
        elif fd == 2:
            super().pipe_connection_lost(fd, exc)

    def process_exited(self) -> None:
        """Note the end of the process; called by asyncio."""
        super().process_exited()
        self._on_end()

    def write_to(self) -> asyncio.WriteTransport | None:
        """Return the transport of its standard input, where asyncio itself started it."""
        pipe = self._transport.get_pipe_transport(0) if self._transport is not None else None
        return cast("asyncio.WriteTransport | None", pipe)

    def list_processes(self) -> list[int]:
        """Return the process ids of the server and everything it started."""
        leader = [self._transport.get_pid()] if self._transport is not None else []
        return list(dict.fromkeys((*leader, *self._members())))


class Connection:
    """An open connection to one server process.

    Args:
        answer: returns the result for a request of the server; raises KeyError for a method that is not supported.
        on_notification: called with the method and parameters of each notification.

    Attributes:
        failure: why it ended; "" while it is open.
    """

    def __init__(
        self, answer: Callable[[str, Any], Any], on_notification: Callable[[str, Mapping[str, Any]], None]
    ) -> None:
        self.failure = ""
        self.ended = asyncio.Event()
        self._answer = answer
        self._on_notification = on_notification
        self._reader = MessageReader()
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._unasked_bytes = 0
        self._unanswered = 0
        self._process: _ServerProcess | None = None
        self._writer: asyncio.WriteTransport | None = None
        self._end_task: asyncio.Task[None] | None = None

    async def open(self, command: EnclosedCommand, cwd: Path, env: Mapping[str, str]) -> None:
        """Start the process; it ends with clio at the latest, however clio ends. Raises ServerFailed."""

        def make() -> _ServerProcess:
            return _ServerProcess(self._receive, self._note_end, has_keeper=command.keeper)

        environment = dict(env) | dict(command.env)
        try:
            if sys.platform == "win32":
                starting = asyncio.get_running_loop().subprocess_exec(
                    make,
                    *command.argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=str(cwd),
                    env=environment,
                    creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
                )
                _, self._process = await start_process(starting, stop_started_process)
                self._writer = self._process.write_to()
            else:
                await self._launch(make, command, cwd, environment)
        except (OSError, ValueError, ToolFailed) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            raise ServerFailed(tr("it can't be started: {reason}", reason=reason)) from None

    async def _launch(
        self, make: Callable[[], _ServerProcess], command: EnclosedCommand, cwd: Path, env: Mapping[str, str]
    ) -> None:
        read_fd, write_fd = os.pipe()
        try:
            request = LaunchRequest(
                argv=command.argv, cwd=cwd, env=env, script=command.script, input_bytes=command.given
            )
            starting = launch_command(make, request, stdin=read_fd, separate_stderr=True)
            _, self._process = await start_process(starting, stop_started_process)
        except BaseException:
            os.close(write_fd)
            raise
        finally:
            os.close(read_fd)
        file = os.fdopen(write_fd, "wb", buffering=0)
        self._writer, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, file)

    async def request(self, method: str, params: Any, timeout_s: float) -> Any:
        """Send a request and return its result. Raises ServerFailed; after a timeout the server is told to cancel."""
        if len(self._pending) >= _MAX_PENDING:
            raise ServerFailed(tr("it left {count} requests unanswered", count=len(self._pending)))
        self._next_id += 1
        number, future = self._next_id, asyncio.get_running_loop().create_future()
        self._unasked_bytes = 0
        self._send({"id": number, "method": method, "params": params})
        self._pending[number] = future
        try:
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError:
            self._cancel(number)
            self._unanswered += 1
            if self._unanswered >= _MAX_UNANSWERED:
                self._fail(tr("it stopped answering"))
            raise ServerFailed(tr("it did not answer within {timeout_s:g} s", timeout_s=timeout_s)) from None
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            self._pending.pop(number, None)

    def _cancel(self, number: int) -> None:
        with contextlib.suppress(ServerFailed):
            self.notify("$/cancelRequest", {"id": number})

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises ServerFailed if the connection has ended."""
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        if self.failure or self._writer is None:
            raise ServerFailed(self.failure or tr("it is not running"))
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        if self._writer.get_write_buffer_size() > _MAX_UNSENT_BYTES:
            self._fail(tr("it does not read its standard input"))

    def _receive(self, data: bytes) -> None:
        if self.failure:
            return
        self._unasked_bytes += len(data)
        try:
            if self._unasked_bytes > _MAX_UNASKED_BYTES:
                raise ServerFailed(tr("it sent too much"))
            for message in self._reader.feed(data):
                self._handle(message)
        except ServerFailed as error:
            self._fail(str(error))

    def _handle(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise ServerFailed(tr("it sent a message that is not an object"))
        fields = cast("dict[str, Any]", message)
        method, number = fields.get("method"), fields.get("id")
        params: Any = fields.get("params")
        if isinstance(method, str):
            if number is None:
                self._on_notification(method, cast("dict[str, Any]", params) if isinstance(params, dict) else {})
            elif isinstance(number, int | str):
                try:
                    self._send({"id": number, "result": self._answer(method, params)})
                except KeyError:
                    self._send({"id": number, "error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}})
        elif isinstance(number, int) and (future := self._pending.get(number)) is not None and not future.done():
            self._unanswered = 0
            error: Any = fields.get("error")
            if error is None:
                future.set_result(fields.get("result"))
            else:
                details = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
                code = details.get("code")
                text = truncate(to_inert_line(str(details.get("message") or "")), 200)
                reason = tr("it refused the request: {text}", text=text)
                future.set_exception(RequestRefused(reason, code if isinstance(code, int) else 0))

    def _note_end(self) -> None:
        self._fail("")

    def _fail(self, reason: str) -> None:
        """End the connection. reason: "" if the server ended by itself."""
        if self.failure or self.ended.is_set():
            return
        # The event loop may not have read the last lines of the error output yet, so they are read when it has ended.
        self.failure = reason or tr("it has ended")
        self.ended.set()
        self._end_task = asyncio.ensure_future(self._end(bool(reason)))

    async def _end(self, has_reason: bool) -> None:
        if self._process is not None:
            await self._process.stop(0.2)
            lines = [line for line in self._process.output.text().splitlines() if line.strip()]
            if not has_reason:
                code, last = self._process.exit_code, truncate(to_inert_line(lines[-1]), 200) if lines else ""
                if last:
                    self.failure = tr("it exited with code {code}: {last}", code=code, last=last)
                else:
                    self.failure = tr("it exited with code {code}", code=code)
        if self._writer is not None and not self._writer.is_closing():  # the server may have closed its input first
            self._writer.abort()
        for future in list(self._pending.values()):
            if not future.done():
                future.set_exception(ServerFailed(self.failure))

    def list_processes(self) -> list[int]:
        """Return the process ids of the server and everything it started."""
        return self._process.list_processes() if self._process is not None and not self.failure else []

    def end(self, reason: str) -> None:
        """End the connection for this reason, without waiting for its processes."""
        self._fail(reason)

    async def close(self) -> None:
        """End the process and everything it started, and wait for that."""
        self._fail(tr("it was stopped"))
        if self._end_task is not None:
            await asyncio.shield(self._end_task)
