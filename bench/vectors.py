"""Measure vectors: embedding, adding, opening, exact search and search by a graph; and distances of paraphrases.

    python bench/vectors.py            up to 50,000 vectors, takes a minute
    python bench/vectors.py --large    also 100,000

The texts are generated, with one vector each. The graph needs `pip install '.[hnsw]'`.
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
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.measurements import percentile_95, time_ms
from clio.memory.vectors.vector_index import VectorIndex
from clio.memory.vectors.vector_store import VectorItem, VectorStore
from clio.text.embedding import HashedEmbedder, embed_text

SIZES = (2_000, 18_000, 50_000)
LARGE_SIZE = 100_000
QUESTIONS_COUNT = 200
PAIRS = Path(__file__).parent.parent / "tests" / "memory" / "vectors" / "pairs.txt"
_WORDS = """
parser token window session atomic lock journal prompt cache redact config yaml retry stream diff index port staging
database login password cookie migration branch deploy release license queue worker server proxy timeout websocket
coverage linter commit review docker image cluster node backup export invoice customer order basket shipping tax
currency locale translation theme editor keyboard terminal colour screen cursor history search memory vector embedding
""".split()


def make_sentence(rng: random.Random) -> str:
    """Return nine technical words, some more frequent than others, and a number."""
    words = [_WORDS[min(int(rng.paretovariate(0.6)) - 1, len(_WORDS) - 1)] for _ in range(5)]
    return f"{' '.join(words + rng.sample(_WORDS, 4))} {rng.randrange(5_000)}"


def format_spread(times: list[float]) -> str:
    """Format the median and the 95th percentile."""
    return f"{statistics.median(times):7.2f} ms (p95 {percentile_95(times):.2f})"


def measure_paraphrases() -> None:
    """Print the shares of related and unrelated pairs that are nearer than a limit."""
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    distances: dict[str, list[float]] = {"=": [], "!": []}
    for line in lines:
        if line[0] in distances:
            question, text = line[2:].split(" | ")
            distances[line[0]].append(math.dist(embed_text(question), embed_text(text)))
    print(f"\nparaphrases: {len(distances['='])} related pairs, {len(distances['!'])} that only share a word or tone")
    for limit in (0.8, 0.9, 1.0, 1.1, 1.2):
        near, wrong = (sum(d < limit for d in distances[mark]) / len(distances[mark]) for mark in "=!")
        print(f"  distance < {limit:.1f}: {near:5.0%} of the related pairs, {wrong:5.1%} of the others")


def measure_size(folder: Path, size: int, rng: random.Random) -> None:
    """Measure a store of `size` vectors."""
    texts = [make_sentence(rng) for _ in range(size)]
    items = [VectorItem(id=f"s/{number}", group="s", text=text) for number, text in enumerate(texts)]
    store = VectorStore(folder, HashedEmbedder(), graph_from=10**9)
    build_ms = time_ms(lambda: store.put(items))
    add_ms = [
        time_ms(lambda number=number: store.put([VectorItem(id=f"t/{number}", group="t", text=make_sentence(rng))]))
        for number in range(50)
    ]
    questions = [make_sentence(rng) for _ in range(QUESTIONS_COUNT)]
    open_ms = time_ms(lambda: VectorStore(folder, HashedEmbedder(), graph_from=10**9).search(questions[0], 3))
    store.search(questions[0], 3)
    search_ms = [time_ms(lambda question=question: store.search(question, 3)) for question in questions]
    matrix = [embed_text(text) for text in texts]
    exact = VectorIndex(matrix, graph_from=10**9)
    vectors = [embed_text(question) for question in questions]
    exact_ms = [time_ms(lambda vector=vector: exact.search(vector, 3)) for vector in vectors]
    print(f"\n{size:,} vectors")
    each = f"{build_ms / size:.3f} ms each with embedding and one fsync per 64"
    print(f"  add all           {build_ms / 1_000:7.2f} s, {each}")
    print(f"  add one           {format_spread(add_ms)}")
    print(f"  open and search   {open_ms:7.2f} ms")
    print(f"  search            {format_spread(search_ms)}")
    print(f"  exact search      {format_spread(exact_ms)}")
    graph = VectorIndex(matrix, graph_from=1)
    graph_build_ms = time_ms(graph.build)
    if graph.lacks_graph:
        print("  graph             not installed")
        return
    graph_ms = [time_ms(lambda vector=vector: graph.search(vector, 3)) for vector in vectors]
    same = [
        len({place for place, _ in exact.search(vector, 3)}
            & {place for place, _ in graph.search(vector, 3)})
        for vector in vectors
    ]  # fmt: skip
    recall = f"recall@3 {sum(same) / 3 / len(same):.4f}"
    print(f"  graph             built in {graph_build_ms / 1_000:.1f} s; {format_spread(graph_ms)}; {recall}")


def measure_import() -> None:
    """Print the import time of numpy, which the first search of a process pays."""
    code = (
        "import time; a = time.process_time(); from clio.memory.vectors.vector_index import load_numpy; load_numpy(); "
    )
    code += "load_numpy(); print(round((time.process_time() - a) * 1000))"
    costs = sorted(int(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5))
    print(f"import of numpy: {costs[2]} ms of CPU, at the first search or the first trim")


def main() -> None:
    """Print all measurements."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--large", action="store_true")
    rng = random.Random(7)
    measure_import()
    texts = [make_sentence(rng) for _ in range(3_000)]
    embedding_ms = time_ms(lambda: [embed_text(text) for text in texts])
    print(f"embedding, hashed: {embedding_ms / len(texts) * 1_000:.0f} µs a sentence")
    measure_paraphrases()
    sizes = (*SIZES, LARGE_SIZE) if arguments.parse_args().large else SIZES
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            measure_size(Path(folder) / str(size), size, rng)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory: {peak:.0f} MB, for several copies of all vectors")


if __name__ == "__main__":
    main()
