"""A turn imports only the memory modules it needs, because every start of clio waits for these imports."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from clio.memory.store.record import MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore

ROOT = Path(__file__).parents[2]
TURN = """
import sys
from pathlib import Path
import clio.memory.consolidation.learner, clio.memory.system
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore

project = Path(sys.argv[1])
store = SessionStore(project / ".clio" / "sessions")
session = store.new(project, persist=False)
memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
memory.begin(window_tokens=32_000, session=session)
memory.prefix_fragments()
memory.turn_fragments("which port does staging listen on")
memory.end_turn(session, "done")
memory.pop_notices()
memory.close()
print(*sys.modules)
"""
LATE = """
    consolidation.consolidation preferences.session_start retrieval.retriever
    store.deduplication
    store.ltm_store store.notes store.versions styles.feedback styles.selection team.knowledge
    team.share transcripts.index transcripts.session_search transcripts.session_text
    vectors.model_embedders vectors.vector_index
""".split()


@pytest.mark.parametrize("known", [False, True], ids=["an empty project", "one where something is known"])
def test_a_turn_imports_only_what_it_needs(tmp_path: Path, known: bool) -> None:
    if known:
        memory = MemorySystem(
            tmp_path, SessionStore(tmp_path / ".clio" / "sessions"), incognito=False, ltm=True, home=tmp_path / "home"
        )
        memory.store.add(MemoryDraft(kind="discovery", content="staging runs in Frankfurt"), Provenance())
        memory.store.add(MemoryDraft(content="staging listens on port 5433", kind="fact"))
        memory.preferences.add("never use tabs", score=0.5, explicit=True)
        memory.store.add(MemoryDraft(key="staging", content="ask before restarting it"))
        memory.close()
    loaded = subprocess.check_output([sys.executable, "-c", TURN, str(tmp_path)], text=True, cwd=ROOT).split()
    assert "clio.memory.store.typed_store" in loaded
    assert [name for name in LATE if f"clio.memory.{name}" in loaded] == []


@pytest.mark.parametrize("name", LATE)
def test_modules_imported_later_are_available(name: str) -> None:
    assert find_spec(f"clio.memory.{name}")
