"""Times vectors: embedding, adding, opening, searching, exactly and by a graph; and what paraphrases give.

    python bench/vectors.py            up to 50,000 vectors, a minute
    python bench/vectors.py --large    100,000 as well

Texts are made here, in a temporary folder, one vector each. The graph needs `pip install '.[hnsw]'`.
"""

import argparse
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from clio.memory.vectors.vector_index import VectorIndex
from clio.memory.vectors.vector_store import VectorItem, VectorStore
from clio.text.embedding import HashedEmbedder, embed_text

SIZES = (2_000, 18_000, 50_000)
LARGE = 100_000
QUESTIONS = 200
PAIRS = Path(__file__).parent.parent / "tests" / "memory" / "vectors" / "pairs.txt"
_WORDS = """
parser token window session atomic lock journal prompt cache redact config yaml retry stream diff index port staging
database login password cookie migration branch deploy release license queue worker server proxy timeout websocket
coverage linter commit review docker image cluster node backup export invoice customer order basket shipping tax
currency locale translation theme editor keyboard terminal colour screen cursor history search memory vector embedding
""".split()


def sentence(rng: random.Random) -> str:
    """Words of the trade, the frequent ones more often, and a number."""
    words = [_WORDS[min(int(rng.paretovariate(0.6)) - 1, len(_WORDS) - 1)] for _ in range(5)]
    return f"{' '.join(words + rng.sample(_WORDS, 4))} {rng.randrange(5_000)}"


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1_000


def spread(times: list[float]) -> str:
    """Median and 95th percentile."""
    ordered = sorted(times)
    return f"{statistics.median(ordered):7.2f} ms (p95 {ordered[int(len(ordered) * 0.95)]:.2f})"


def paraphrases() -> None:
    """How many related and how many unrelated pairs come nearer than a limit."""
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    found: dict[str, list[float]] = {"=": [], "!": []}
    for line in lines:
        if line[0] in found:
            question, said = line[2:].split(" | ")
            found[line[0]].append(math.dist(embed_text(question), embed_text(said)))
    print(f"\nparaphrases: {len(found['='])} pairs about the same, {len(found['!'])} that only share a word or tone")
    for limit in (0.8, 0.9, 1.0, 1.1, 1.2):
        near, wrong = (sum(d < limit for d in found[mark]) / len(found[mark]) for mark in "=!")
        print(f"  distance < {limit:.1f}: {near:5.0%} of the first, {wrong:5.1%} of the second")


def at_size(folder: Path, size: int, rng: random.Random) -> None:
    """Everything about a store of so many vectors."""
    texts = [sentence(rng) for _ in range(size)]
    items = [VectorItem(id=f"s/{number}", group="s", text=text) for number, text in enumerate(texts)]
    store = VectorStore(folder, HashedEmbedder(), graph_from=10**9)
    built = timed(lambda: store.put(items))
    one_more = [
        timed(lambda number=number: store.put([VectorItem(id=f"t/{number}", group="t", text=sentence(rng))]))
        for number in range(50)
    ]
    questions = [sentence(rng) for _ in range(QUESTIONS)]
    opened = timed(lambda: VectorStore(folder, HashedEmbedder(), graph_from=10**9).search(questions[0], 3))
    store.search(questions[0], 3)
    asked = [timed(lambda question=question: store.search(question, 3)) for question in questions]
    matrix = [embed_text(text) for text in texts]
    exact = VectorIndex(matrix, graph_from=10**9)
    vectors = [embed_text(question) for question in questions]
    looked = [timed(lambda vector=vector: exact.search(vector, 3)) for vector in vectors]
    print(f"\n{size:,} vectors")
    print(f"  put all           {built / 1_000:7.2f} s, {built / size:.3f} ms each with embedding and fsync of each 64")
    print(f"  put one more      {spread(one_more)}")
    print(f"  open and ask      {opened:7.2f} ms")
    print(f"  ask, whole way    {spread(asked)}")
    print(f"  exact search      {spread(looked)}")
    graph = VectorIndex(matrix, graph_from=1)
    took = timed(graph.build)
    if graph.lacks_graph:
        print("  graph             not installed")
        return
    walked = [timed(lambda vector=vector: graph.search(vector, 3)) for vector in vectors]
    same = [
        len({place for place, _ in exact.search(vector, 3)}
            & {place for place, _ in graph.search(vector, 3)})
        for vector in vectors
    ]  # fmt: skip
    print(
        f"  graph             built in {took / 1_000:.1f} s; {spread(walked)}; recall@3 {sum(same) / 3 / len(same):.4f}"
    )


def import_cost() -> None:
    """What the first search of a process pays for."""
    code = (
        "import time; a = time.process_time(); from clio.memory.vectors.vector_index import load_numpy; load_numpy(); "
    )
    code += "load_numpy(); print(round((time.process_time() - a) * 1000))"
    costs = sorted(int(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5))
    print(f"import of numpy: {costs[2]} ms of CPU, at the first search or the first trim")


def main() -> None:
    """Print it all."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--large", action="store_true")
    rng = random.Random(7)
    import_cost()
    texts = [sentence(rng) for _ in range(3_000)]
    embedding_ms = timed(lambda: [embed_text(text) for text in texts])
    print(f"embedding, hashed: {embedding_ms / len(texts) * 1_000:.0f} µs a sentence")
    paraphrases()
    sizes = (*SIZES, LARGE) if arguments.parse_args().large else SIZES
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            at_size(Path(folder) / str(size), size, rng)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory: {peak:.0f} MB, for several copies of all vectors")


if __name__ == "__main__":
    main()
