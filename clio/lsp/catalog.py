"""The language servers clio knows: how to find them, which languages they serve, and whether they may run."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct

from clio.config.loaded import TrustRequest
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.config.trust import TrustStore
from clio.text.translation import tr
from clio.threads import find_program, split_path_folders

SERVERS_TRUST_KEY = "language_servers"
# Not derived from the project's settings: the user's answer stays valid when they change.
_SERVERS_FINGERPRINT = f"language_servers:{hashlib.sha256(b'run servers with code of the project').hexdigest()}"

LANGUAGE_IDS: Mapping[str, str] = {
    ".bash": "shellscript",
    ".c": "c",
    ".cc": "cpp",
    ".cjs": "javascript",
    ".clj": "clojure",
    ".cljs": "clojure",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".cts": "typescript",
    ".cxx": "cpp",
    ".dart": "dart",
    ".ex": "elixir",
    ".exs": "elixir",
    ".go": "go",
    ".h": "c",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hs": "haskell",
    ".hxx": "cpp",
    ".java": "java",
    ".js": "javascript",
    ".jsx": "javascriptreact",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".lua": "lua",
    ".mjs": "javascript",
    ".ml": "ocaml",
    ".mli": "ocaml.interface",
    ".mts": "typescript",
    ".php": "php",
    ".py": "python",
    ".pyi": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".sh": "shellscript",
    ".swift": "swift",
    ".tf": "terraform",
    ".ts": "typescript",
    ".tsx": "typescriptreact",
    ".zig": "zig",
}
"""The protocol's name of a file's language, by suffix."""
GRAMMARS: Mapping[str, tuple[str, str]] = {
    ".bash": ("tree_sitter_bash", "language"),
    ".c": ("tree_sitter_c", "language"),
    ".cc": ("tree_sitter_cpp", "language"),
    ".cpp": ("tree_sitter_cpp", "language"),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".cjs": ("tree_sitter_javascript", "language"),
    ".css": ("tree_sitter_css", "language"),
    ".go": ("tree_sitter_go", "language"),
    ".hpp": ("tree_sitter_cpp", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".js": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".lua": ("tree_sitter_lua", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".mts": ("tree_sitter_typescript", "language_typescript"),
    ".php": ("tree_sitter_php", "language_php"),
    ".rb": ("tree_sitter_ruby", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".scala": ("tree_sitter_scala", "language"),
    ".sh": ("tree_sitter_bash", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""Package and function of the tree-sitter grammar by file suffix; used if the package is installed."""
PARSED_SUFFIXES = (".py", ".pyi")
"""Files whose names clio finds without a server or a grammar."""
_SCRIPTS = (".js", ".cjs", ".mjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_C_FAMILY = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx")
_SKIPPED_FOLDERS = frozenset(("node_modules", "venv", "target", "build", "dist", "vendor", "__pycache__"))
_MAX_SCANNED = 2_000
"""Entries of the project's folders that are looked at to find out its languages."""


class ServerSpec(Struct, frozen=True, kw_only=True):
    """A language server that clio can run.

    Attributes:
        name: of the program, and of the server in the setting `language_servers`.
        arguments: after the program.
        suffixes: of the files it serves.
        root_markers: files of the folder it is started in: the outermost one below the project that has one of them;
            the project itself if none has.
        install: how the user gets it.
        options: initialization options.
        settings: answers to what the server asks for as `workspace/configuration`, by section.
        env: further variables while the project is not trusted, which keep it from running code of the project.
        runs_code: it runs code of the project, whatever its options: build scripts, plug-ins, compilers it names.
        confined_shell: shell command that runs it when it is confined, for one that writes other files than a cache in
            $XDG_CACHE_HOME.
        replaces: name of the checker after edits that reports the same.
        file_list: file of the project, or of its folder `build`, without which it knows only files it is shown; clio
            shows it those with the name that is looked up.
        ready_text: part of the log message with which it says that it knows the project's files; before, it answers
            from the open files alone.
    """

    name: str
    suffixes: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    root_markers: tuple[str, ...] = ()
    install: str = ""
    options: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}
    env: Mapping[str, str] = {}
    runs_code: bool = False
    confined_shell: str = ""
    replaces: str = ""
    file_list: str = ""
    ready_text: str = ""


_PYTHON_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pyrightconfig.json")
_PYRIGHT_SETTINGS = {
    "python": {"analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": True}},
    "basedpyright": {"analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": True}},
}

SERVERS: tuple[ServerSpec, ...] = (
    ServerSpec(
        name="basedpyright-langserver", arguments=("--stdio",), suffixes=(".py", ".pyi"), root_markers=_PYTHON_MARKERS,
        settings=_PYRIGHT_SETTINGS, replaces="pyright", ready_text="ource file",
    ),
    ServerSpec(
        name="pyright-langserver",
        install="pip install pyright",
        arguments=("--stdio",), suffixes=(".py", ".pyi"), root_markers=_PYTHON_MARKERS,
        settings=_PYRIGHT_SETTINGS, replaces="pyright", ready_text="ource file",
    ),
    ServerSpec(
        name="ty", arguments=("server",), suffixes=(".py", ".pyi"), root_markers=_PYTHON_MARKERS,
    ),
    ServerSpec(
        # It finds no references where it cannot change the time of this file; where the file is new, it does not try.
        name="pylsp", suffixes=(".py", ".pyi"), root_markers=_PYTHON_MARKERS,
        confined_shell=(
            'mkdir -p "$XDG_CACHE_HOME/jedi" && : >"$XDG_CACHE_HOME/jedi/PARSO-CACHE-LOCK"; exec "$@"'
        ),
    ),
    ServerSpec(
        name="typescript-language-server",
        arguments=("--stdio",),
        suffixes=_SCRIPTS,
        root_markers=("tsconfig.json", "jsconfig.json", "package.json"),
        install="npm install -g typescript-language-server typescript",
        # tsserver would have npm download type declarations; while it loads the project, a second server, which knows
        # one file only, would answer in its place.
        options={
            "disableAutomaticTypingAcquisition": True, "hostInfo": "clio", "maxTsServerMemory": 2048,
            "tsserver": {"useSyntaxServer": "never"},
        },
    ),
    ServerSpec(
        name="gopls", suffixes=(".go",), root_markers=("go.work", "go.mod"),
        install="go install golang.org/x/tools/gopls@latest",
        env={"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        confined_shell='GOCACHE="$TMPDIR/go-build" GOPLSCACHE="$TMPDIR/gopls" exec "$@"',
    ),
    ServerSpec(
        # With build scripts and macros off it still asks cargo, which runs the compiler wrapper and the toolchain that
        # files of the project name.
        name="rust-analyzer", suffixes=(".rs",), root_markers=("Cargo.toml",), runs_code=True,
        install="rustup component add rust-analyzer",
        options={
            "cargo": {"buildScripts": {"enable": False}}, "procMacro": {"enable": False}, "checkOnSave": False,
            "cachePriming": {"enable": False},
        },
        confined_shell='CARGO_TARGET_DIR="$TMPDIR/target" exec "$@"',
    ),
    ServerSpec(
        name="clangd", arguments=("--background-index", "--log=error"), suffixes=_C_FAMILY,
        root_markers=("compile_commands.json", "compile_flags.txt", ".clangd"),
        install="the package clangd of your system", file_list="compile_commands.json",
    ),
    ServerSpec(
        name="jdtls", suffixes=(".java",), root_markers=("pom.xml", "build.gradle", "build.gradle.kts"),
        runs_code=True, install="the package jdtls of your system",
        confined_shell='exec "$@" -data "$TMPDIR/jdtls"',
    ),
    ServerSpec(
        name="kotlin-language-server", suffixes=(".kt", ".kts"), runs_code=True,
        root_markers=("build.gradle.kts", "build.gradle", "pom.xml"), install="the package kotlin-language-server",
    ),
    ServerSpec(
        name="csharp-ls", suffixes=(".cs",), runs_code=True, install="dotnet tool install --global csharp-ls",
    ),
    ServerSpec(name="ruby-lsp", suffixes=(".rb",), root_markers=("Gemfile",), runs_code=True,
               install="gem install ruby-lsp"),
    ServerSpec(name="intelephense", arguments=("--stdio",), suffixes=(".php",), root_markers=("composer.json",),
               install="npm install -g intelephense", options={"storagePath": "/tmp"}, ready_text="Indexing finished"),
    ServerSpec(name="lua-language-server", suffixes=(".lua",), root_markers=(".luarc.json",), runs_code=True,
               install="the package lua-language-server of your system"),
    ServerSpec(name="bash-language-server", arguments=("start",), suffixes=(".sh", ".bash"),
               install="npm install -g bash-language-server", ready_text="BackgroundAnalysis: Completed"),
    ServerSpec(name="sourcekit-lsp", suffixes=(".swift",), root_markers=("Package.swift",), runs_code=True,
               install="the Swift toolchain"),
    ServerSpec(name="metals", suffixes=(".scala",), root_markers=("build.sbt",), runs_code=True,
               install="cs install metals"),
    ServerSpec(name="elixir-ls", suffixes=(".ex", ".exs"), root_markers=("mix.exs",), runs_code=True,
               install="the package elixir-ls"),
    ServerSpec(name="haskell-language-server-wrapper", arguments=("--lsp",), suffixes=(".hs",),
               root_markers=("cabal.project", "stack.yaml"), runs_code=True, install="ghcup install hls"),
    ServerSpec(name="ocamllsp", suffixes=(".ml", ".mli"), root_markers=("dune-project",), runs_code=True,
               install="opam install ocaml-lsp-server"),
    ServerSpec(name="dart", arguments=("language-server",), suffixes=(".dart",), root_markers=("pubspec.yaml",),
               runs_code=True, install="the Dart SDK"),
    ServerSpec(name="zls", suffixes=(".zig",), root_markers=("build.zig",), runs_code=True,
               install="the package zls of your system"),
    ServerSpec(name="terraform-ls", arguments=("serve",), suffixes=(".tf",), runs_code=True,
               install="the package terraform-ls of your system"),
    ServerSpec(name="clojure-lsp", suffixes=(".clj", ".cljs"), root_markers=("deps.edn", "project.clj"),
               runs_code=True, install="the package clojure-lsp of your system"),
)  # fmt: skip
"""The known servers; of several for one language, the first that is installed and may run is used."""


class FoundServer(Struct, frozen=True, kw_only=True):
    """A server that is installed.

    Attributes:
        argv: the program and its arguments.
        options: its initialization options.
        needs_trust: it is a program of the project, or runs code of the project.
        is_trusted: the user allowed servers of this project to run its code.
    """

    spec: ServerSpec
    argv: tuple[str, ...]
    options: Mapping[str, Any] = {}
    needs_trust: bool = False
    is_trusted: bool = False

    @property
    def may_run(self) -> bool:
        """Whether it may be started, as far as trust decides."""
        return self.is_trusted or not self.needs_trust


class ServerChoices:
    """What the setting `language_servers` selects.

    Entries: "auto" (the servers found here), "off", "NAME off", and "NAME COMMAND …", which replaces the command of a
    known server. Later entries count more, and "off" cancels everything before it.
    """

    def __init__(self, setting: Sequence[str]) -> None:
        entries = [entry.strip() for entry in setting]
        last = max((index for index, entry in enumerate(entries) if entry == CHECKS_OFF), default=-1)
        effective = entries[last + 1 :]
        words = [entry.split(None, 1) for entry in effective if entry != CHECKS_AUTO]
        self._commands = {parts[0]: parts[1] if len(parts) > 1 else "" for parts in words if parts}
        # A list that only adjusts servers leaves the others as they are.
        self.is_auto = CHECKS_AUTO in effective or last < 0
        self.is_off = not self.is_auto and not self._commands

    def get_command(self, name: str) -> str | None:
        """Return the command the user set for a server, "off" if it is switched off, None if nothing is set."""
        return self._commands.get(name) or self._commands.get(name.removesuffix("-langserver")) or None


def find_servers(
    setting: Sequence[str], root: Path, *, is_trusted: bool, specs: Sequence[ServerSpec] = SERVERS
) -> list[FoundServer]:
    """Return the installed servers in the order of the table. Reads folders and starts nothing; blocks."""
    choices = ServerChoices(setting)
    if choices.is_off:
        return []
    user_folders, project_folders = split_path_folders(root)
    found: list[FoundServer] = []
    for spec in specs:
        command = choices.get_command(spec.name)
        if command == CHECKS_OFF:
            continue
        if command is not None:
            import shlex

            try:
                argv = tuple(shlex.split(command))
            except ValueError:
                continue  # an open quotation mark; `clio doctor` reports the server as missing
            found.append(FoundServer(spec=spec, argv=argv, options=spec.options, is_trusted=is_trusted))
            continue
        if not choices.is_auto:
            continue
        # A server that runs the project's code anyway is the project's own, so that its version fits.
        order = (project_folders, user_folders) if spec.runs_code or is_trusted else (user_folders, project_folders)
        for folders in order:
            if path := find_program(spec.name, path=os.pathsep.join(folders)):
                is_own = folders is project_folders or root in Path(path).resolve().parents
                found.append(_make_found(spec, path, root, is_own=is_own, is_trusted=is_trusted))
                break
    return found


def _make_found(spec: ServerSpec, path: str, root: Path, *, is_own: bool, is_trusted: bool) -> FoundServer:
    options, needs_trust = dict(spec.options), spec.runs_code or is_own
    if spec.name == "typescript-language-server" and not needs_trust and not is_trusted:
        # It prefers the project's TypeScript, and that loads the plug-ins beside it: both would be code of the project.
        compiler = _find_own_typescript(Path(path).resolve(), root)
        if compiler is None:
            needs_trust = True
        else:
            options["tsserver"] = {**options["tsserver"], "path": str(compiler)}
    return FoundServer(
        spec=spec, argv=(path, *spec.arguments), options=options, needs_trust=needs_trust, is_trusted=is_trusted
    )


def _find_own_typescript(program: Path, root: Path) -> Path | None:
    """Return the tsserver installed beside the server, outside the project; None if there is none."""
    for folder in program.parents:
        compiler = folder / "node_modules" / "typescript" / "lib" / "tsserver.js"
        if compiler.is_file() and root not in compiler.resolve().parents:
            return compiler
    return None


def are_servers_trusted(owner: Path, home: Path) -> bool:
    """Whether the user allowed language servers that run code of this project. home: clio's own folder."""
    return _SERVERS_FINGERPRINT in TrustStore(home).fingerprints(owner)


def make_servers_trust_request(names: Sequence[str]) -> TrustRequest:
    """Return the request to let these servers run code of the project."""
    value = tr("{names}: may run this project's code while clio runs, in the sandbox", names=", ".join(names))
    return TrustRequest(key=SERVERS_TRUST_KEY, value=value, where="project", fingerprint=_SERVERS_FINGERPRINT)


def list_untrusted_servers(setting: Sequence[str], root: Path, owner: Path, home: Path) -> list[str]:
    """Return the names of the servers for the project's languages that wait for the user's trust in it."""
    suffixes = find_project_suffixes(root)
    found = [
        server.spec.name
        for server in find_servers(setting, root, is_trusted=False)
        if server.needs_trust and not suffixes.isdisjoint(server.spec.suffixes)
    ]
    return found if found and not are_servers_trusted(owner, home) else []


def find_project_suffixes(root: Path) -> set[str]:
    """Return the suffixes of the project's program files, from its folder and those directly in it."""
    found: set[str] = set()
    markers = {marker: spec.suffixes[0] for spec in SERVERS for marker in spec.root_markers}
    left = _MAX_SCANNED
    folders = [str(root)]
    for depth in (0, 1):
        below: list[str] = []
        for folder in folders:
            try:
                entries = os.scandir(folder)
            except OSError:
                continue
            with entries:
                for entry in entries:
                    left -= 1
                    if left < 0:
                        return found
                    _, dot, ending = entry.name.rpartition(".")
                    if dot and f".{ending}" in LANGUAGE_IDS:
                        found.add(f".{ending}")
                    elif depth == 0 and entry.name in markers:
                        found.add(markers[entry.name])
                    elif depth == 0 and not dot and entry.name not in _SKIPPED_FOLDERS and entry.is_dir():
                        below.append(entry.path)
        folders = below
    return found


def find_server_root(spec: ServerSpec, root: Path, path: Path) -> Path:
    """Return the folder in which a server for this file runs; see `ServerSpec.root_markers`."""
    if root not in path.parents:
        return root
    inside = [folder for folder in reversed(path.parents) if folder == root or root in folder.parents]
    return next((folder for folder in inside if any((folder / name).exists() for name in spec.root_markers)), root)


def can_look_up(setting: Sequence[str], root: Path, owner: Path, home: Path) -> bool:
    """Whether a language server or a parser knows one of the project's languages. Takes some milliseconds."""
    suffixes = find_project_suffixes(root)
    if not suffixes:
        return False
    if any(can_outline(suffix) for suffix in suffixes):
        return True
    is_trusted = are_servers_trusted(owner, home)
    wanted = [spec for spec in SERVERS if not suffixes.isdisjoint(spec.suffixes)]
    return any(server.may_run for server in find_servers(setting, root, is_trusted=is_trusted, specs=wanted))


def is_grammar_installed(suffix: str) -> bool:
    """Whether tree-sitter can parse files with this suffix here."""
    return suffix in GRAMMARS and find_spec("tree_sitter") is not None and find_spec(GRAMMARS[suffix][0]) is not None


def can_outline(suffix: str) -> bool:
    """Whether the names in files with this suffix can be found by parsing."""
    return suffix in PARSED_SUFFIXES or is_grammar_installed(suffix)


def suggest_installation(suffixes: Iterable[str]) -> str:
    """Return what to install for these files; "" if no server is known for them."""
    wanted = set(suffixes)
    offers: dict[str, str] = {}
    for spec in SERVERS:
        if spec.suffixes[0] not in offers and not wanted.isdisjoint(spec.suffixes) and spec.name != SERVERS[0].name:
            offers[spec.suffixes[0]] = spec.install
    return "; ".join(offers.values())
