"""No module of vectors is imported before there is something to find."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memory.vectors.support import a_session, make_messages, turns

ROOT = Path(__file__).parents[3]
TURN = """
import sys
from pathlib import Path
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore

project = Path(sys.argv[1])
store = SessionStore(project / ".clio" / "sessions")
session = store.open(sys.argv[2], persist=False) if len(sys.argv) > 2 else store.new(project, persist=False)
memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
memory.begin(window_tokens=32_000, session=session)
memory.turn_fragments("which port does staging listen on")
memory.refresh_index()
memory.close()
print(sorted({"numpy", "usearch", "urllib.request"} & set(sys.modules)))
"""


def imported(project: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", TURN, str(project), *arguments]
    return subprocess.check_output(command, text=True, cwd=ROOT).strip()


@pytest.mark.parametrize("others", [False, True], ids=["an empty project", "turns of another session"])
def test_a_session_without_trims_imports_nothing(tmp_path: Path, others: bool) -> None:
    if others:
        other = a_session(tmp_path, make_messages("the staging database listens on port 5433"))
        turns(tmp_path).index(other)
        other.close()
    assert imported(tmp_path) == "[]"
    assert (tmp_path / ".clio" / "cache" / "vectors").exists() == others


def test_a_session_with_trims_imports_what_it_needs(tmp_path: Path) -> None:
    session = a_session(tmp_path, make_messages("the staging database listens on port 5433"))
    session.close()
    assert imported(tmp_path, session.id) == "['numpy']"


def test_turns_and_documents_are_found_without_numpy(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["numpy"] = None
from pathlib import Path
from clio.memory.vectors.semantic_index import Documents
from clio.memory.vectors.vector_store import VectorStore
from clio.text.embedding import HashedEmbedder
from tests.memory.vectors.support import a_session, make_messages, turns

project = Path(sys.argv[1])
session = a_session(project, make_messages("the staging database listens on port 5433", "noted"))
found = turns(project)
found.index(session)
print(found.search("which port does staging listen on", sessions=[session.id])[0].text)
path = project / "manual.md"
path.write_text({"the production database listens on port 6432 and is restored every night"!r}, encoding="utf-8")
documents = Documents(project, VectorStore(project / "vectors", HashedEmbedder()), redact=str, clock=lambda: 1.0)
documents.add(path, [path])
print(documents.search("on which port does production listen")[0].path)
"""
    output = subprocess.check_output([sys.executable, "-c", code, str(tmp_path)], text=True, cwd=ROOT)
    assert output.splitlines() == ["the staging database listens on port 5433", "manual.md"]


@pytest.mark.parametrize("given", [None, "3"])
def test_numpy_uses_one_thread_and_commands_do_not_inherit_that_setting(given: str | None) -> None:
    code = """
import os
from clio.memory.vectors.vector_index import load_numpy

numpy = load_numpy()
rows = numpy.ones((1500, 1500), dtype=numpy.float32)
rows @ rows
threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
print(os.environ.get("OPENBLAS_NUM_THREADS"), threads if os.environ.get("OPENBLAS_NUM_THREADS") is None else "")
"""
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    found = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT, env=env).split()
    assert found == ([given] if given else ["None", "1"])
