"""Measure how well the rule distinguishes a new value from another subject, on labelled pairs of statements.

    python bench/statement_pairs.py [FILE …]

Prints precision and recall of each relation for the pairs with which the rule was written, for held-out pairs, for
pairs that were written before the rule was seen (development and test halves), for statements in nearly the same words,
of which many have swapped roles, and for owners of several things and plain names of tools. Both halves of the last
were written by one author before the rules; only the failures of the development half were read. Before the rules,
precision and recall of "supersedes" were 0.58 and 0.82 in the development half and 0.63 and 0.77 in the test half.
The pairs of relations (places, owners, durations, ports, tools, causes, defaults) in seven languages were written like
these; precision and recall of "same" were 0.89 and 0.37 before the rules, 0.84 and 0.32 in the test half.

The second table compares statements about different properties of one thing ("the billing server listens on port 8080",
"the billing bucket is now otter-2"), each with each, and the same property of different things. None of these replaces
another, neither when memories are compared nor as a correction in a conversation. The misses of the development and
second set were read; the test set was written afterwards and run once. Of the third set, which is all about one thing,
those of the first two lines (who owns or maintains it) were not read.
"""

import sys
from collections import Counter
from itertools import permutations, product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from clio.memory.consolidation.new_values import MADE  # noqa: E402 the path must be set first
from clio.memory.consolidation.value_changes import find_change  # noqa: E402
from clio.memory.statement_relation import relate_statements  # noqa: E402

DATA = ROOT / "tests" / "memory" / "data"
RELATIONS = ("supersedes", "different", "same")
THINGS = ("billing", "mobile app", "Orion")
"""The things that the statements about properties are about."""


def main() -> None:
    """Measure and print."""
    files = [Path(name) for name in sys.argv[1:]] or sorted(DATA.glob("statement_pairs*.tsv"))
    print("| pairs | number | relation | precision | recall |")
    print("|---|--:|---|--:|--:|")
    for file in files:
        rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        counts = Counter((expected, relate_statements(old, new)) for expected, old, new in rows)
        for relation in [one for one in RELATIONS if any(label == one for label, _ in counts)]:
            correct = counts[relation, relation]
            predicted = sum(count for (_, got), count in counts.items() if got == relation)
            expected = sum(count for (label, _), count in counts.items() if label == relation)
            precision, recall = correct / max(predicted, 1), correct / max(expected, 1)
            print(f"| {file.stem} | {len(rows)} | {relation} | {precision:.3f} | {recall:.3f} |")
    if len(sys.argv) == 1:
        measure_properties()


def replaces(old: str, new: str) -> bool:
    """Whether a statement takes the place of an older one, as a memory of its own or as a correction."""
    is_changed = find_change(old, new, is_reply=False).probability >= MADE
    return relate_statements(old, new) in ("supersedes", "same") or is_changed


def measure_properties() -> None:
    """Count statements about another property or thing that are mistaken for a new value, and the new values found."""
    print("\n| properties | number | other property replaced | other thing replaced | new value found |")
    print("|---|--:|--:|--:|--:|")
    for file in sorted(DATA.glob("statement_properties*.tsv")):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        rows = [tuple(line.split("\t")) for line in lines]
        properties = [
            (old.format(thing), new.format(thing))
            for thing in THINGS
            for one, other in product(rows, repeat=2)
            if one is not other
            for old, new in product(one, other)
        ]
        things = [
            (old.format(one), new.format(other))
            for one, other in permutations(THINGS, 2)
            for row in rows
            for old, new in product(row, repeat=2)
        ]
        values = [(old.format(thing), new.format(thing)) for thing in THINGS for old, new in rows]
        replaced = [sum(replaces(*pair) for pair in pairs) for pairs in (properties, things)]
        found = sum(relate_statements(*pair) == "supersedes" for pair in values)
        print(
            f"| {file.stem} | {len(rows)} | {replaced[0]} of {len(properties):,} | {replaced[1]} of {len(things):,} "
            f"| {found} of {len(values)} |"
        )


if __name__ == "__main__":
    main()
