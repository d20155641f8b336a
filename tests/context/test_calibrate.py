"""A real tokenizer in a real child process, with a small encoding of its own."""

import asyncio
import base64
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clio.context.encodings import (
    CHILD_SCRIPT,
    CL100K,
    ENCODINGS,
    O200K,
    Calibration,
    Encoding,
    count_tokens,
    find_encoding,
    get_encoding,
    is_intact,
    list_encoding_folders,
    list_prefix_texts,
)
from clio.context.request_builder import Prefix
from clio.providers.base import ToolSpec
from clio.tokens import DEFAULT_RATIO, TokenEstimator
from tests.support.waiting import wait_until_async

TEXT = "the other then" * 40


def tiny_file() -> bytes:
    """Return an encoding of single bytes and two longer tokens: "th" and "the"."""
    tokens = [bytes([number]) for number in range(256)] + [b"th", b"the"]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


TINY = Encoding(
    name="o200k_base", url="https://unreachable.invalid/tiny.tiktoken", sha256=hashlib.sha256(tiny_file()).hexdigest()
)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / TINY.file_name
    path.write_bytes(tiny_file())
    return path


def run_child(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)


def test_the_file_names_are_those_tiktoken_uses() -> None:
    """Compares the table with tiktoken's source, so that an update is noticed here."""
    source = Path(pytest.importorskip("tiktoken_ext.openai_public").__file__).read_text(encoding="utf-8")
    for encoding in ENCODINGS:
        assert encoding.url in source
        assert encoding.sha256 in source
    assert O200K.file_name == "fb374d419588a4632f3f557e76b4b70aebbca790"


def test_which_encoding_is_used_for_which_model() -> None:
    for model in ("gpt-4o", "gpt-4.1-mini", "gpt-5", "o3", "openai/gpt-5", "llama-3", "claude-x", ""):
        assert get_encoding(model) == O200K, model
    for model in ("gpt-4", "gpt-4-turbo", "openai/gpt-3.5-turbo"):
        assert get_encoding(model) == CL100K, model


def test_where_encodings_are_searched(tmp_path: Path, tiny: Path) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"
    folders = list_encoding_folders({"TIKTOKEN_CACHE_DIR": str(cache)}, home)
    assert list(folders) == [home / "encodings", cache]
    assert Path(tempfile.gettempdir(), "data-gym-cache") in list_encoding_folders(os.environ, home)
    assert find_encoding(TINY, [*folders, Path("/" + "x" * 5_000)]) is None  # one that the system cannot open
    cache.mkdir()
    tiny.rename(cache / tiny.name)
    assert find_encoding(TINY, folders) == cache / tiny.name
    assert is_intact(cache / tiny.name, TINY)
    assert not is_intact(cache / tiny.name, O200K)


@pytest.mark.fast
def test_the_child_process_counts_tokens(tiny: Path) -> None:
    done = run_child(str(CHILD_SCRIPT), "count", str(tiny), TINY.sha256, TINY.name, stdin="the thé".encode())
    assert (done.returncode, done.stdout) == (0, b"5\n")  # the, blank, th, and é in two


def test_the_child_process_refuses_a_file_with_another_hash(tiny: Path) -> None:
    tiny.write_bytes(tiny_file() + b"\n")
    done = run_child(str(CHILD_SCRIPT), "count", str(tiny), TINY.sha256, TINY.name, stdin=b"x")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is not the encoding" in done.stderr
    assert tiny.exists()  # tiktoken itself would have deleted it


def test_the_child_process_cannot_reach_the_network(tiny: Path) -> None:
    """Even a package that tries to download is stopped."""
    code = (
        "import sys, socket; sys.path.insert(0, sys.argv[1]); import encoding_child;"
        "sys.addaudithook(encoding_child.refuse_network);"
        "sys.exit(any(not fails(call) for call in (lambda: socket.getaddrinfo('localhost', 1),"
        " lambda: socket.create_connection(('127.0.0.1', 1)), lambda: socket.socket())))"
    )
    helper = "def fails(call):\n  try: call()\n  except PermissionError: return True\n  return False\n"
    done = run_child("-c", f"{helper}{code}", str(CHILD_SCRIPT.parent))
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_project_cannot_inject_modules_into_the_child_process(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tiktoken", "base64", "clio"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken over')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert asyncio.run(count_tokens("the the", TINY, tiny)) == 3


def prefix() -> Prefix:
    spec = ToolSpec(name="look", description="the other", parameters=msgspec.Raw(b'{"type":"object"}'))
    return Prefix(system=TEXT, tools=(spec,))


def test_an_estimator_without_usage_starts_from_the_count(tiny: Path) -> None:
    async def run() -> TokenEstimator:
        estimator = TokenEstimator()
        texts = list_prefix_texts(prefix())
        calibration = Calibration(estimator, texts, TINY, tiny, delay_s=0)
        calibration.begin()
        calibration.begin()
        assert estimator.ratio == DEFAULT_RATIO  # nothing is waited for
        await calibration.wait()
        counted = await count_tokens("\n".join(texts), TINY, tiny)
        assert counted is not None
        assert sum(map(estimator.estimate_text, texts)) == pytest.approx(counted, rel=0.02)
        return estimator

    estimator = asyncio.run(run())
    assert estimator.ratio < 2.0
    assert (estimator.has_learned, estimator.has_changed) == (False, False)
    estimator.learn_from_bill(4_000.0, 1_000)
    assert estimator.ratio == 4.0  # the first usage replaces it completely


def test_usage_that_arrives_first_takes_precedence(tiny: Path) -> None:
    async def run() -> float:
        estimator = TokenEstimator()
        calibration = Calibration(estimator, [TEXT], TINY, tiny, delay_s=0)
        calibration.begin()
        estimator.learn_from_bill(3_000.0, 1_000)  # before the child process was started
        await calibration.wait()
        estimator.set_initial_ratio(4_000.0, 2_000)
        return estimator.ratio

    assert asyncio.run(run()) == 3.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a file whose reader waits for ever")
def test_counting_is_stopped_at_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def watched(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
    os.mkfifo(tmp_path / "endless")

    async def run() -> float:
        estimator = TokenEstimator()
        calibration = Calibration(estimator, [TEXT], TINY, tmp_path / "endless", delay_s=0)
        calibration.begin()
        await wait_until_async(lambda: started)
        await calibration.close()
        return estimator.ratio

    assert asyncio.run(run()) == DEFAULT_RATIO
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_a_failed_count_changes_nothing(tiny: Path, tmp_path: Path) -> None:
    async def run(path: Path, encoding: Encoding) -> float:
        estimator = TokenEstimator()
        calibration = Calibration(estimator, [TEXT], encoding, path, delay_s=0)
        calibration.begin()
        await calibration.wait()
        return estimator.ratio

    for path, encoding in ((tmp_path / "gone", TINY), (tiny, O200K)):
        assert asyncio.run(run(path, encoding)) == DEFAULT_RATIO
