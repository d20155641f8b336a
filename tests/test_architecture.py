"""Imports go from higher layers to lower ones, never in a cycle, and heavy packages are imported by named functions."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.python_source import parse_source, walk_statements
from tests.support.rows import each_row

PACKAGE = Path(__file__).parent.parent / "clio"

# Top to bottom. A file imports from lower layers, or from its own package without a cycle.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("entrypoints",),
    ("ui", "app"),
    ("commands",),
    ("agent", "export", "importing", "sync"),
    ("hooks", "checks"),
    ("lsp",),
    ("tools", "context"),
    ("memory", "skills", "git", "plugins", "telemetry"),
    ("sessions", "security", "providers", "mcp", "checkpoints", "sandbox", "jobs"),
    ("tokens", "time_expressions"),
    ("config", "images", "messages", "prompt_files"),
    ("readonly_git",),
    ("storage",),
    ("threads", "errors", "ids", "installation"),
    ("text",),
)
LAYER_OF = {package: number for number, packages in enumerate(LAYERS) for package in packages}

# Packages that take longer to import than a keystroke may, and the only modules that may import them, in functions.
HEAVY: dict[str, set[str]] = {
    "openai": {"clio.providers.openai_transport"},
    "httpx2": {
        "clio.providers.openai_transport",
        "clio.mcp.client",
        "clio.mcp.bound_tokens",
        "clio.mcp.oauth",
        "clio.mcp.unattended_login",
    },
    "truststore": {"clio.providers.http1"},
    "git": {"clio.tools.git"},
    "yaml": {"clio.config.yaml_file", "clio.checks.diagnostics"},
    "tiktoken": {"clio.context.encoding_child"},
    "numpy": {"clio.memory.vectors.vector_index"},
    "rensa": {"clio.text.similarity"},
    "usearch": {"clio.memory.vectors.vector_index"},
    "mcp": {
        "clio.entrypoints.mcp_http",
        "clio.entrypoints.mcp_server",
        "clio.mcp.client",
        "clio.mcp.oauth",
        "clio.mcp.server_requests",
        "clio.mcp.unattended_login",
    },
    "anyio": {"clio.mcp.client"},
    "jwt": {"clio.mcp.bound_tokens", "clio.mcp.unattended_login"},
    "cryptography": {"clio.mcp.bound_tokens", "clio.mcp.unattended_login"},
    "acp": {
        "clio.entrypoints.acp.server",
        "clio.entrypoints.acp.session",
        "clio.entrypoints.acp.updates",
    },
    "jsonschema": {"clio.entrypoints.headless_json"},
    "referencing": {"clio.entrypoints.headless_json"},
    "json_repair": {"clio.agent.tool_arguments"},
    "tree_sitter": {
        "clio.checks.diagnostics",
        "clio.lsp.outline",
        "clio.security.shell.parser",
        "clio.security.shell.parse_checks",
    },
    "tree_sitter_bash": {"clio.security.shell.parser"},
    "rich.markdown": {"clio.ui.markdown"},
    "rich.table": {"clio.ui.markdown"},
    "rich.syntax": set(),
    "markdown_it": {
        "clio.ui.markdown",
        "clio.ui.reader.spoken_text",
        "clio.export.html_page",
        "clio.export.export_session",
    },
    "psycopg": {"clio.memory.database.connection"},
    "psycopg_pool": {"clio.memory.database.connection"},
    "pypdf": {"clio.tools.files.pdf_child"},
    "pygments": {"clio.ui.markdown", "clio.export.html_page"},
}
pytestmark = pytest.mark.usefixtures("no_garbage_collection")


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(path: Path) -> list[tuple[str, str]]:
    """Return each imported module name and where it is imported: "top", "typing" (never run) or "lazy"."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    tree = parse_source(path.read_text(encoding="utf-8"))
    top = set(ast.iter_child_nodes(tree))
    typing = {
        inner
        for node in top
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in node.body
    }
    for node in walk_statements(tree):
        place = "top" if node in top else "typing" if node in typing else "lazy"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, place
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield module, place
            for alias in node.names:
                yield f"{module}.{alias.name}", place


@cache
def own_imports() -> dict[str, set[str]]:
    """Return the imports between clio's own modules."""
    known = modules()
    return {name: {target for target, _ in imports(path) if target in known} - {name} for name, path in known.items()}


def package_of(module: str) -> str:
    """Return the package or module directly in `clio` that contains this module; empty for `clio` itself."""
    return module.split(".")[1] if "." in module else ""


def test_every_module_has_a_layer() -> None:
    assert {package_of(name) for name in modules()} - {""} <= set(LAYER_OF)


def test_imports_go_to_lower_layers() -> None:
    wrong = [
        f"{name} -> {target}"
        for name, targets in own_imports().items()
        for target in targets
        if package_of(name) and package_of(target) and package_of(name) != package_of(target)
        if LAYER_OF[package_of(name)] >= LAYER_OF[package_of(target)]
    ]
    assert wrong == []


def test_there_are_no_import_cycles() -> None:
    # Importing `clio` itself imports no other module, which a test of the Python interface checks; it only names them.
    imported = own_imports() | {"clio": set[str]()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path, name])
        if name not in done:
            for target in imported[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in imported:
        visit(name, ())


def test_package_init_files_are_empty() -> None:
    init_files = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert [str(path) for path in init_files if path.read_text(encoding="utf-8").strip()] == []


@each_row("package", sorted(HEAVY))
def test_heavy_packages_are_imported_when_needed(package: str) -> None:
    for name, path in modules().items():
        for target, place in imports(path):
            if target == package or target.startswith(package + "."):
                assert name in HEAVY[package], f"{name} imports {target}"
                assert place != "top", f"{name} imports {target} before it is needed"


def test_the_page_of_lazy_imports_is_complete() -> None:
    """`python bench/imports.py` writes it: each heavy package, and each module that compiles its patterns lazily."""
    page = (PACKAGE.parent / "docs" / "development" / "imports.md").read_text(encoding="utf-8")
    lazy = {name for name, path in modules().items() if ("clio.text.lazy_regex.LazyRegex", "top") in imports(path)}
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted({*HEAVY, *lazy})


def test_files_name_their_encoding() -> None:
    """Without an encoding, `open` and similar functions depend on the user's locale."""
    wrong: list[str] = []
    for name, path in modules().items():
        text = path.read_text(encoding="utf-8")
        if "read_text(" not in text and "write_text(" not in text:
            continue
        for node in ast.walk(parse_source(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                words = {keyword.arg for keyword in node.keywords}
                if node.func.attr in ("read_text", "write_text") and "encoding" not in words:
                    wrong.append(f"{name}:{node.lineno}")
    assert wrong == []


THREAD_STARTERS = {
    "Thread",
    "Timer",
    "ThreadPoolExecutor",
    "ProcessPoolExecutor",
    "InterpreterPoolExecutor",
    "Process",
    "Pool",
    "ThreadPool",
    "start_new_thread",
    "start_joinable_thread",
}
THREAD_MODULES = {"threading", "_thread", "concurrent.futures", "multiprocessing", "multiprocessing.pool"}
MAY_START_THREADS = {
    "clio.threads": {"Thread"},
    "clio.checkpoints.checkpoints": {"ThreadPoolExecutor"},  # clio must not exit before changes are recorded
    "clio.entrypoints.background_work": {"ThreadPoolExecutor"},  # a long command must be finished
    "clio.entrypoints.mcp_http": {"ThreadPoolExecutor"},  # calls of a server that wait for its database
    "clio.context.encoding_child": {"Timer"},  # a script of its own process: its time limit
}


def find_thread_starters(source: str) -> set[str]:
    """Return names that start Python threads or processes and that the source uses outside annotations."""
    if not any(module.partition(".")[0] in source for module in THREAD_MODULES):
        return set()
    tree = parse_source(source)
    full_names: dict[str, str] = {}
    annotations: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            full_names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                full_names[one.asname or first] = one.name if one.asname else first
        for given in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if given is not None:
                annotations |= set(ast.walk(given))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and node not in annotations:
            first, dot, rest = ast.unparse(node).partition(".")
            module, _, name = f"{full_names.get(first, '')}{dot}{rest}".rpartition(".")
            if module in THREAD_MODULES and name in THREAD_STARTERS:
                found.add(name)
    return found


def test_threads_are_started_in_one_module() -> None:
    found = {name: find_thread_starters(path.read_text(encoding="utf-8")) for name, path in modules().items()}
    assert {name: starters for name, starters in found.items() if starters} == MAY_START_THREADS


@each_row(
    ("source", "starters"),
    [
        ("import threading\nthreading.Thread(target=print).start()", {"Thread"}),
        ("import threading as t\nt.Timer(1, print).start()", {"Timer"}),
        ("from threading import Thread as Worker\nWorker(target=print).start()", {"Thread"}),
        ("import threading\nclass Own(threading.Thread): ...", {"Thread"}),
        ("import threading\nmake = threading.Thread", {"Thread"}),
        ("if 1:\n    from concurrent.futures import ThreadPoolExecutor as P\n    P(1)", {"ThreadPoolExecutor"}),
        ("import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor()", {"ProcessPoolExecutor"}),
        ("import concurrent.futures as c\nc.ThreadPoolExecutor()", {"ThreadPoolExecutor"}),
        ("from concurrent import futures\nfutures.ThreadPoolExecutor()", {"ThreadPoolExecutor"}),
        ("import _thread\n_thread.start_new_thread(print, ())", {"start_new_thread"}),
        ("from multiprocessing.pool import ThreadPool\nThreadPool()", {"ThreadPool"}),
        ("import threading as t\na: t.Thread | None = None\ndef f(x: t.Thread) -> t.Thread: ...", set()),
        ("from msgspec import Struct\nclass Thread(Struct): ...\nThread()", set()),
        ("import threading\nthreading.Lock(); threading.current_thread()", set()),
    ],
)  # fmt: skip
def test_every_way_to_start_a_thread_is_found(source: str, starters: set[str]) -> None:
    assert find_thread_starters(source) == starters


_SECTION = re.compile(r"^(?:Args|Attributes):\n((?:    .*\n|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^    (?! )(\*{0,2}[a-z_]\w*(?:, \*{0,2}[a-z_]\w*)*): ", re.MULTILINE)


def find_unknown_documented_names(source: str) -> list[str]:
    """Return "line: name" for each name under "Args:" or "Attributes:" that its function or class does not have."""
    found: list[str] = []
    if "    Args:" not in source and "    Attributes:" not in source:
        return found
    for node in walk_statements(parse_source(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        text = ast.get_docstring(node, clean=False) or ""
        if "Args:\n" not in text and "Attributes:\n" not in text:
            continue
        sections = _SECTION.findall(inspect.cleandoc(text) + "\n")
        names = [
            name.strip(" *") for section in sections for entry in _ENTRY.findall(section) for name in entry.split(",")
        ]
        if not names:
            continue
        inner = node.args if not isinstance(node, ast.ClassDef) else node
        known = {part.arg for part in ast.walk(inner) if isinstance(part, ast.arg)}
        if isinstance(node, ast.ClassDef):
            known |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            known |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
            known |= {part.name for part in ast.walk(node) if isinstance(part, ast.FunctionDef)}
        found += [f"{node.lineno}: {name}" for name in names if name not in known]
    return found


def test_documented_names_exist() -> None:
    """A parameter or field that was renamed is renamed in the docstring too."""
    found = {name: find_unknown_documented_names(path.read_text(encoding="utf-8")) for name, path in modules().items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f(new):\n    """F.\n\n    Args:\n        old: one.\n    """', ["1: old"]),
        ('def f(a, *b):\n    """F.\n\n    Args:\n        a, b: ones,\n            c: two.\n    """', []),
        ('class C:\n    """C.\n\n    Attributes:\n        x: one.\n\n    More.\n    """\n    y: int', ["1: x"]),
        ('class C:\n    """C.\n\n    Attributes:\n        y: one.\n    """\n    y: int', []),
    ],
)
def test_unknown_documented_names_are_found(source: str, found: list[str]) -> None:
    assert find_unknown_documented_names(source) == found


# Who may write a command line of git, see decision 0079.
MAY_NAME_GIT = {
    "clio.readonly_git",  # all read-only commands
    "clio.security.git_safety",  # asks where the hooks are, which a read-only command would hide
    "clio.git.repository",  # with the hooks and filters the user allowed
    "clio.git.commits",  # the user's commit
    "clio.entrypoints.upgrade",  # asks clio's own repository for a newer version
    "clio.sync.repository",  # only objects of a bare clone made by clio
    "clio.tools.git",  # what the model asked to change, after approval
    "clio.plugins.repositories",  # fetches plugins into an empty repository, whose objects it reads
}
_STARTERS = {"run", "Popen", "check_output", "create_subprocess_exec", "start_process", "run_process", "run_sandboxed"}


def test_git_is_started_only_by_modules_that_prevent_it_from_starting_other_programs() -> None:
    found: set[str] = set()
    for name, path in modules().items():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(parse_source(text)) if '"git"' in text else ():
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                first = node.args[0] if node.args else None
                if isinstance(first, ast.List) and first.elts:
                    first = first.elts[0]
                if called in _STARTERS and isinstance(first, ast.Constant) and first.value == "git":
                    found.add(name)
            elif isinstance(node, ast.List) and node.elts and name not in MAY_NAME_GIT:
                # A list that begins with the program and options is a command line, wherever it is run.
                words = [item.value for item in node.elts[:2] if isinstance(item, ast.Constant)]
                if words[:1] == ["git"] and len(node.elts) > 2:
                    found.add(name)
    assert found <= MAY_NAME_GIT
