"""The input line on a terminal that can only print."""

import asyncio
import io
import os
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from clio.ui.plain_line import PlainLine
from tests.support.rows import each_row


def drive(data: bytes, use: Callable[[PlainLine], Coroutine[Any, Any, object]]) -> tuple[object, str]:
    """Return the result of `use` for this input, and the output."""
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    output = io.StringIO()
    try:
        result = asyncio.run(asyncio.wait_for(use(PlainLine(text="> ", output=output, fd=reader)), 10))
    finally:
        os.close(reader)
    return result, output.getvalue()


async def read_all(line: PlainLine) -> list[str]:
    messages: list[str] = []
    try:
        while True:
            messages.append(await line.read())
    except EOFError:
        return messages


def test_messages_are_read() -> None:
    assert drive("one\r\n\n  \nzwei é\nlast".encode(), read_all) == (["one", "zwei é", "last"], "> > > > > > \n")


def test_incomplete_messages_continue_on_the_next_line() -> None:
    assert drive(b"f(1,\n2)\na \\\nb\n", read_all) == (["f(1,\n2)", "a \nb"], "> ... > ... > \n")


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert drive(b"a\xffb\n", read_all)[0] == ["a\ufffdb"]


@each_row(("data", "answer"), [(b"y\n", True), (b" YES \n", True), (b"n\n", False), (b"\n", False), (b"", False)])
def test_confirmations_are_read(data: bytes, answer: bool) -> None:
    result, printed = drive(data, lambda line: line.confirm("Delete?"))
    assert result is answer
    assert printed.startswith("Delete? [y/N] ")


def test_stop_and_interrupt_end_the_line() -> None:
    async def use() -> str:
        reader, writer = os.pipe()
        output = io.StringIO()
        line = PlainLine(text="> ", output=output, fd=reader)

        def ready() -> None:
            loop.call_soon(line.handle_interrupt)
            loop.call_soon(line.stop_reading, ValueError("no model"))

        loop = asyncio.get_running_loop()
        try:
            with pytest.raises(ValueError, match="no model"):
                await line.read(on_ready=lambda: loop.call_soon(ready))
        finally:
            os.close(reader)
            os.close(writer)
        return output.getvalue()

    assert asyncio.run(asyncio.wait_for(use(), 10)) == "> \nCtrl-D to exit\n> "
