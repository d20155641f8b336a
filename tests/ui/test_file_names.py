"""File names for "@": listed in advance, offered immediately, updated in the background."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from clio.ui import completer as file_names
from clio.ui.completer import REFRESH_AFTER_S, FileListing, LineCompleter
from clio.ui.prompt_line import PromptLine
from tests.support.waiting import wait_until_async


class Project:
    """Files; counts the listings and their threads, and can delay a listing."""

    def __init__(self, *files: str) -> None:
        self.files = list(files)
        self.asked: list[threading.Thread] = []
        self.may_end = threading.Event()
        self.may_end.set()
        self.now = 100.0

    def __call__(self) -> list[str]:
        self.asked.append(threading.current_thread())
        self.may_end.wait(20)
        return list(self.files)

    def names(self) -> FileListing:
        return FileListing(self, clock=lambda: self.now)

    def end_of_listing(self) -> None:
        self.may_end.set()
        self.asked[-1].join(20)


def offered(names: FileListing, query: str) -> list[str]:
    return names.get_files_and_index()[1].find_best(query, 9)


def test_names_listed_in_advance_are_not_listed_again() -> None:
    project = Project("src/app.py")
    names = project.names()
    names.list_in_advance()
    assert offered(names, "app") == ["src/app.py"]
    assert offered(names, "src") == ["src/", "src/app.py"]
    assert len(project.asked) == 1


def test_a_first_request_waits_for_the_listing_in_progress() -> None:
    project = Project("app.py")
    names = project.names()
    project.may_end.clear()
    ahead = threading.Thread(target=names.list_in_advance)
    ahead.start()
    while not project.asked:
        pass
    found: list[list[str]] = []
    asking = threading.Thread(target=lambda: found.append(offered(names, "app")))
    asking.start()
    project.may_end.set()
    for thread in (ahead, asking):
        thread.join(20)
    assert (found, len(project.asked)) == ([["app.py"]], 1)


def test_very_many_files_are_listed_only_on_request() -> None:
    project = Project("app.py")
    names = FileListing(project, lambda: None, clock=lambda: project.now)
    names.list_in_advance()
    assert not project.asked
    assert offered(names, "app") == ["app.py"]


def test_an_old_listing_is_used_at_once_and_updated_in_the_background() -> None:
    project = Project("app.py")
    names = project.names()
    reported: list[list[str]] = []
    names.on_changed = lambda: reported.append(offered(names, "py"))
    names.list_in_advance()
    project.files.append("new.py")
    project.now += REFRESH_AFTER_S
    assert offered(names, "py") == ["app.py"]  # still recent
    project.now += 1
    project.may_end.clear()
    for _ in range(3):
        assert offered(names, "py") == ["app.py"]  # returned while the listing is delayed
    assert len(project.asked) == 2 and project.asked[1] is not threading.current_thread()
    project.end_of_listing()
    assert reported == [["app.py", "new.py"]]


def test_no_change_is_not_reported_and_a_failed_listing_keeps_the_old_names() -> None:
    project = Project("app.py")
    names = project.names()
    names.on_changed = lambda: pytest.fail("nothing changed")
    names.list_in_advance()
    index = names.get_files_and_index()[1]
    project.now += REFRESH_AFTER_S + 1
    names.get_files_and_index()
    project.end_of_listing()
    assert names.get_files_and_index()[1] is index

    def fails() -> list[str]:
        project.asked.append(threading.current_thread())
        raise OSError("gone")

    project.now += REFRESH_AFTER_S + 1
    names._list_files = fails  # type: ignore[assignment]
    assert offered(names, "app") == ["app.py"]
    project.end_of_listing()
    assert offered(names, "app") == ["app.py"]


def test_an_open_menu_is_updated_with_new_names(monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project("app.py")

    async def run_turns() -> list[list[str]]:
        with create_pipe_input() as pipe:
            completer = LineCompleter(lambda: None, project)
            line = PromptLine(
                text="> ",
                history=InMemoryHistory(),
                completer=completer,
                status=lambda: (),
                input=pipe,
                output=DummyOutput(),
            )
            ready = asyncio.Event()
            reading = asyncio.create_task(line.read(on_ready=ready.set))
            await ready.wait()
            await asyncio.to_thread(line.prepare_completions)
            monkeypatch.setattr(file_names, "REFRESH_AFTER_S", -1.0)
            project.files.append("apply.py")
            project.may_end.clear()
            pipe.send_text("@app")
            seen = [await wait_for_choices(line, lambda offers: bool(offers))]
            project.may_end.set()
            seen.append(await wait_for_choices(line, lambda offers: len(offers) == 2))
            monkeypatch.setattr(file_names, "REFRESH_AFTER_S", 5.0)
            pipe.send_text("\x03\x04")
            with pytest.raises(EOFError):
                await reading
        return seen

    assert asyncio.run(run_turns()) == [["@app.py"], ["@app.py", "@apply.py"]]


async def wait_for_choices(line: PromptLine, is_so: Callable[[list[str]], bool]) -> list[str]:
    await wait_until_async(lambda: is_so(line.list_completions()))
    return line.list_completions()
