"""Another clio that has every store open: it reads all, waits for a line, works on, and prints the result. FOLDER"""

import sys
from pathlib import Path

from clio.memory.store.record import MemoryDraft
from clio.memory.styles.feedback import Trajectories
from clio.memory.styles.style_state import StyleFile
from tests.memory.portability.home_support import BY_USER, MemoryHome


def main() -> None:
    home = MemoryHome(Path(sys.argv[1]))
    styles = StyleFile(home.places.styles)
    known = home.live_texts() | {note.key for note in home.notes.newest_first()} | styles.read().contexts.keys()
    print(len(known), flush=True)
    sys.stdin.readline()
    print(*sorted(home.live_texts()), *styles.read().contexts, len(Trajectories(home.places.ratings).all()), flush=True)
    home.memories.add(MemoryDraft(content="work goes on", kind="fact"), provenance=BY_USER)
    home.memories.compact()
    home.ltm.add(MemoryDraft(kind="discovery", content="it was wiped"), BY_USER)
    home.notes.store("later", "still here")
    styles.change(lambda state: state.used("concise", home.now))
    print(*sorted(home.live_texts()), flush=True)


if __name__ == "__main__":
    main()
