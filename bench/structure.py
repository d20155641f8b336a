"""Count the structure of clio: modules, lines, importers, imports inside functions, file names used twice.

python bench/structure.py [FOLDER ...]     one column for each source tree (default: this one)
"""

import ast
import statistics
import sys
from collections import Counter
from pathlib import Path

from msgspec import Struct


class Figures(Struct, frozen=True, kw_only=True):
    """The figures of one source tree, without empty modules."""

    modules: int
    modules_outside_memory: int
    lines: int
    median_lines: int
    single_importer: int
    inline_imports: int
    lazy_patterns: int
    repeated_names: int
    comment_lines: int


def count_structure(root: Path) -> Figures:
    """Count the package `clio` below `root`. Raises SyntaxError for a file that cannot be parsed."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((root / "clio").rglob("*.py"))}
    sources = {path: text for path, text in sources.items() if text.strip()}
    names = {path: ".".join(path.relative_to(root).with_suffix("").parts) for path in sources}
    known = set(names.values())
    importers: dict[str, set[str]] = {}
    inline = 0
    for path, text in sources.items():
        tree = ast.parse(text)
        at_top = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "clio":
                inline += id(node) not in at_top and node.col_offset > 4
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    importers.setdefault(whole if whole in known else node.module, set()).add(names[path])
    sizes = [len(text.splitlines()) for text in sources.values()]
    stems = Counter(path.stem for path in sources if path.stem != "__init__")
    return Figures(
        modules=len(sources),
        modules_outside_memory=sum("memory" not in path.relative_to(root).parts[:2] for path in sources),
        lines=sum(sizes),
        median_lines=int(statistics.median(sizes)),
        single_importer=sum(len(found) == 1 for name, found in importers.items() if name in known),
        inline_imports=inline,
        lazy_patterns=sum(text.count("LatePattern(") + text.count("LazyRegex(") for text in sources.values()),
        repeated_names=sum(count > 1 for count in stems.values()),
        comment_lines=sum(line.strip().startswith("#") for text in sources.values() for line in text.splitlines()),
    )


def main(folders: list[str]) -> None:
    """Print the table."""
    roots = [Path(folder) for folder in folders] or [Path(__file__).resolve().parent.parent]
    counted = [count_structure(root) for root in roots]
    print("| figure | " + " | ".join(root.name or str(root) for root in roots) + " |")
    print("|---|" + "--:|" * len(roots))
    for name in Figures.__struct_fields__:
        print(f"| {name.replace('_', ' ')} | " + " | ".join(f"{getattr(one, name):,}" for one in counted) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
