"""Another clio that has everything open: it reads all there is, waits for a line, goes on working, and tells. FOLDER"""

import sys
from pathlib import Path

from clio.memory.store.record import MemoryDraft
from clio.memory.styles.style_state import StyleFile
from clio.memory.styles.trajectories import Trajectories
from tests.memory.portability.home_support import BY_USER, House


def main() -> None:
    house = House(Path(sys.argv[1]))
    styles = StyleFile(house.places.styles)
    known = house.said() | {note.key for note in house.notes.newest_first()} | styles.read().contexts.keys()
    print(len(known), flush=True)
    sys.stdin.readline()
    print(*sorted(house.said()), *styles.read().contexts, len(Trajectories(house.places.ratings).all()), flush=True)
    house.memories.add(MemoryDraft(content="work goes on", kind="fact"), provenance=BY_USER)
    house.memories.compact()
    house.ltm.add(MemoryDraft(kind="discovery", content="it was wiped"), BY_USER)
    house.notes.store("later", "still here")
    styles.change(lambda state: state.used("concise", house.now))
    print(*sorted(house.said()), flush=True)


if __name__ == "__main__":
    main()
