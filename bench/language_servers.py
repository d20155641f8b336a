"""Test clio with the language servers that are installed.

    python -m bench.language_servers [SERVER ...]

Each server on PATH gets a project of two files and the requests that clio sends: references, a definition, the symbols
of a file, a name in the project, and the problems before an edit, after it and after it was reverted. Prints the
answers and their times. Confined programs cannot read /tmp, so no server may be installed there. The exit code is 1 if
a server does not find the use in the other file, or the problem that the edit causes.
"""

import argparse
import asyncio
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from clio.lsp.catalog import SERVERS
from clio.lsp.language_server import LanguageServer, Location, ServerProblem, Symbol
from clio.lsp.rpc import ServerFailed
from clio.lsp.servers import LanguageServers, ServerContext
from clio.sandbox.sandbox import Confinement


class Project(Struct, frozen=True, kw_only=True):
    """A name defined in one file and used in another.

    Attributes:
        defined, used: file, line and column of the name, from 0.
        right, wrong: text in the file of the use, and the text that the edit puts in its place.
    """

    files: dict[str, str]
    name: str
    defined: tuple[str, int, int]
    used: tuple[str, int, int]
    right: str
    wrong: str


PYTHON = Project(
    files={
        "a.py": "def plus(left: int, right: int) -> int:\n    return left + right\n",
        "b.py": "from a import plus\n\nprint(plus(1, 2))\n",
    },
    name="plus",
    defined=("a.py", 0, 4),
    used=("b.py", 2, 6),
    right="plus(1, 2)",
    wrong='plus(1, "two")',
)
PROJECTS = {
    "basedpyright-langserver": PYTHON,
    "pyright-langserver": PYTHON,
    "ty": PYTHON,
    "pylsp": PYTHON,
    "typescript-language-server": Project(
        files={
            "a.ts": "export function twice(n: number): number { return n * 2; }\n",
            "b.ts": 'import { twice } from "./a";\nconsole.log(twice(2));\n',
            "tsconfig.json": "{}\n",
        },
        name="twice",
        defined=("a.ts", 0, 16),
        used=("b.ts", 1, 12),
        right="twice(2)",
        wrong='twice("two")',
    ),
    "intelephense": Project(
        files={
            "a.php": "<?php\nfunction twice(int $n): int { return 2 * $n; }\n",
            "b.php": "<?php\nrequire 'a.php';\necho twice(2);\n",
        },
        name="twice",
        defined=("a.php", 1, 9),
        used=("b.php", 2, 5),
        right="twice(2)",
        wrong="twise(2)",
    ),
    "bash-language-server": Project(
        files={
            "a.sh": "#!/bin/bash\ntwice() { echo $((2 * $1)); }\n",
            "b.sh": "#!/bin/bash\nsource ./a.sh\ntwice 3\n",
        },
        name="twice",
        defined=("a.sh", 1, 0),
        used=("b.sh", 2, 0),
        right="twice 3",
        wrong="if twice 3",
    ),
    "clangd": Project(
        files={
            "t.hpp": "inline int twice(int n) { return 2 * n; }\n",
            "m.cpp": '#include "t.hpp"\n\nint main() { return twice(2); }\n',
        },
        name="twice",
        defined=("t.hpp", 0, 11),
        used=("m.cpp", 2, 20),
        right="twice(2)",
        wrong="twice(2, 3)",
    ),
    "gopls": Project(
        files={
            "go.mod": "module example.com/twice\n\ngo 1.16\n",
            "a.go": "package main\n\nfunc Twice(n int) int { return 2 * n }\n",
            "m.go": "package main\n\nfunc main() {\n\tprintln(Twice(2))\n}\n",
        },
        name="Twice",
        defined=("a.go", 2, 5),
        used=("m.go", 3, 9),
        right="Twice(2)",
        wrong='Twice("two")',
    ),
}
EXPECTED = {
    "pylsp": "reports problems only with a checker beside it, and pyflakes knows no types",
    "bash-language-server": "reports problems only with shellcheck installed",
}


async def try_server(server: LanguageServer, project: Project, root: Path) -> bool:
    """Send all requests and print the answers. Return whether the use and the problem were found."""
    (defined, *at), (used, *use) = project.defined, project.used
    file = root / used
    before = file.read_text(encoding="utf-8")

    async def ask(label: str, call: Callable[[], Awaitable[list[Location] | list[Symbol]]]) -> set[str]:
        started = time.monotonic()
        try:
            places = {f"{place.path.name}:{place.line}" for place in await call()}
        except ServerFailed as error:
            print(f"  {label:<11} failed: {error}")
            return set()
        print(f"  {label:<11} {time.monotonic() - started:4.1f} s  {' '.join(sorted(places))}")
        return places

    async def find(label: str, texts: dict[Path, str]) -> list[ServerProblem]:
        started = time.monotonic()
        found = (await server.find_problems([file], texts)).get(file, [])
        problems_text = "; ".join(f"line {problem.line}: {problem.message[:60]}" for problem in found)
        print(f"  {label:<11} {time.monotonic() - started:4.1f} s  {problems_text or 'no problem'}")
        return found

    uses = await ask("references", lambda: server.find_locations("references", root / defined, at[0], at[1]))
    await ask("definition", lambda: server.find_locations("definition", file, use[0], use[1]))
    await ask("symbols", lambda: server.list_symbols(root / defined))
    await ask("name", lambda: server.search_symbols(project.name, root / defined))
    file.write_text(before.replace(project.right, project.wrong), encoding="utf-8")
    before_edit = await find("before edit", {file: before})
    after_edit = await find("after edit", {})
    file.write_text(before, encoding="utf-8")
    after_revert = await find("reverted", {})
    knows_problem = not before_edit and bool(after_edit) and not after_revert
    return f"{used}:{use[0] + 1}" in uses and knows_problem


async def run(name: str, program: str, project: Project) -> bool:
    """Start one server as clio does, confined if that works here, and test it."""
    arguments = next(spec.arguments for spec in SERVERS if spec.name == name)
    # Confined programs cannot read /tmp.
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix="clio-bench-") as place:
        root = Path(place, "project").resolve()
        root.mkdir()
        for path, text in project.files.items():
            (root / path).write_text(text, encoding="utf-8")
        confinement = Confinement(enabled=True, home=None, user_home=Path(place), env=os.environ)
        context = ServerContext(
            setting=("off", f"{name} {shlex.join([program, *arguments])}"),
            root=root,
            owner=root,
            home=Path(place, "home"),
            confinement=confinement,
            warn=lambda text: print(f"  {text}"),
        )
        servers = LanguageServers(context)
        started = time.monotonic()
        try:
            server = await servers.open_for(root / project.defined[0])
            print(f"{name}: started in {time.monotonic() - started:.1f} s, sandbox {confinement.level()}")
            is_good = await try_server(server, project, root)
            if not is_good and name in EXPECTED:
                print(f"  expected: it {EXPECTED[name]}")
            return is_good or name in EXPECTED
        except ServerFailed as error:
            print(f"{name}: {error}")
            return False
        finally:
            await servers.close()


def main() -> int:
    """Test the servers that are installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", metavar="SERVER")
    names = parser.parse_args().servers or list(PROJECTS)
    failed: list[str] = []
    for name in names:
        program = shutil.which(name)
        if program is None:
            print(f"{name}: not installed")
        elif not asyncio.run(run(name, program, PROJECTS[name])):
            failed.append(name)
    print(f"not as expected: {', '.join(failed)}" if failed else "all as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
