"""The checkers of a project: known programs and the user's own commands, and whether they may run."""

import asyncio
import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.checks.diagnostics import (
    Checker,
    CheckerFailed,
    Diagnostic,
    parse_eslint,
    parse_gofmt,
    parse_lines,
    parse_node,
    parse_pyright,
    to_project_path,
)
from clio.config.loaded import TrustRequest
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.config.trust import TrustStore
from clio.errors import ToolFailed
from clio.lsp.catalog import FoundServer
from clio.lsp.rpc import ServerFailed
from clio.lsp.servers import LanguageServers
from clio.sandbox.fence import EnclosedCommand
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.text.translation import tr
from clio.threads import find_program, split_path_folders
from clio.tools.shell.processes import run_process
from clio.tools.shell.sandboxed_run import build_confined_environment, remove_private_tmp, run_sandboxed

CHECKS_TRUST_KEY = "checks"
# Not derived from the project's settings: the user's answer stays valid when they change.
_CHECKS_FINGERPRINT = f"checks:{hashlib.sha256(b'run code of the project').hexdigest()}"


def are_checks_trusted(owner: Path, home: Path) -> bool:
    """Whether the user allowed checkers that run code of this project. home: clio's own folder."""
    return _CHECKS_FINGERPRINT in TrustStore(home).fingerprints(owner)


def make_checks_trust_request(programs: Sequence[str]) -> TrustRequest:
    """Return the request to let these programs run code of the project."""
    names = ", ".join(programs)
    value = tr("{names}: may run this project's code after edits, in the sandbox", names=names)
    return TrustRequest(key=CHECKS_TRUST_KEY, value=value, where="project", fingerprint=_CHECKS_FINGERPRINT)


CHECKER_TIMEOUT_S = 30.0
"""Time limit for a checker that continues in the background."""
_FILES_PLACEHOLDER = "{files}"
_WITHOUT_STDERR = ("/bin/sh", "-c", ('exec "$@" 2>/dev/null'), "sh")
# Whether a file is a script or a module often depends on its importer, so both are tried. node 20 does not check a file
# at all that is given by name and looks like a module.
_CHECK_AS_SCRIPT_OR_MODULE = (
    "for file; do :; done; "
    'script=$("$1" --check - < "$file" 2>&1) && exit 0; '
    'module=$("$1" --input-type=module --check - < "$file" 2>&1) && exit 0; '
    'printf \'%s\\n%s\\n%s\\n\' "$file" "$script" "$module"; exit 1'
)
_JAVASCRIPT = (".js", ".cjs", ".mjs", ".jsx")
_TYPESCRIPT = (".ts", ".tsx", ".mts", ".cts")
_MAX_CONFIG_BYTES = 500_000

Parse = Callable[[str, Path], list[Diagnostic]]


class CheckerProgram(Struct, frozen=True, kw_only=True):
    """A program that clio can run as a checker.

    Attributes:
        arguments: arguments before the paths.
        suffixes: of the files it checks.
        config_files: files, one of which the project must contain, as "name", or "name:text" if the file must contain
            the text; empty if no configuration is needed.
        runs_code: it runs code of the project.
        checks_project: it checks the whole project and is not given paths.
        finds_syntax_errors: it finds every syntax error in its files, so that they need no other parser.
        reads_stderr: its diagnostics may be on standard error, which is otherwise discarded.
        one_path_only: it accepts a single path only.
        failure_codes: exit codes of a run that says nothing about the files.
        shell: shell command that runs it, if it needs one.
    """

    name: str
    arguments: tuple[str, ...]
    suffixes: tuple[str, ...]
    parse: Parse = parse_lines
    config_files: tuple[str, ...] = ()
    runs_code: bool = False
    checks_project: bool = False
    finds_syntax_errors: bool = True
    reads_stderr: bool = False
    one_path_only: bool = False
    failure_codes: tuple[int, ...] = ()
    shell: str = ""


CHECKER_PROGRAMS: tuple[CheckerProgram, ...] = (
    CheckerProgram(
        name="ruff",
        arguments=("check", "--no-fix", "--no-cache", "--quiet", "--force-exclude", "--output-format=concise", "--"),
        suffixes=(".py", ".pyi"),
        failure_codes=(2,),
    ),
    CheckerProgram(
        name="gofmt",
        arguments=("-l", "-e"),
        suffixes=(".go",),
        parse=parse_gofmt,
        reads_stderr=True,
    ),
    CheckerProgram(
        name="node", arguments=("--check",), suffixes=(".js", ".cjs", ".mjs"), parse=parse_node, reads_stderr=True,
        one_path_only=True, shell=_CHECK_AS_SCRIPT_OR_MODULE,
    ),
    CheckerProgram(name="bash", arguments=("-n",), suffixes=(".sh", ".bash"), reads_stderr=True, one_path_only=True),
    CheckerProgram(
        name="mypy",
        arguments=(
            "--no-error-summary", "--show-error-codes", "--no-color-output", "--hide-error-context", "--no-pretty",
            f"--cache-dir={os.devnull}", "--",
        ),
        suffixes=(".py", ".pyi"),
        config_files=("mypy.ini", ".mypy.ini", "pyproject.toml:[tool.mypy", "setup.cfg:[mypy"),
        runs_code=True,
        finds_syntax_errors=False,
    ),
    CheckerProgram(
        name="pyright",
        arguments=("--outputjson",),
        suffixes=(".py", ".pyi"),
        parse=parse_pyright,
        config_files=("pyrightconfig.json", "pyproject.toml:[tool.pyright"),
        runs_code=True,
        finds_syntax_errors=False,
    ),
    CheckerProgram(
        name="eslint",
        arguments=("--format", "json", "--"),
        suffixes=(*_JAVASCRIPT, *_TYPESCRIPT),
        parse=parse_eslint,
        config_files=(
            "eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", ".eslintrc",
            ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml",
            'package.json:"eslintConfig"',
        ),
        runs_code=True,
        finds_syntax_errors=False,
        failure_codes=(2,),
    ),
    CheckerProgram(
        name="tsc",
        arguments=("--noEmit", "--pretty", "false"),
        suffixes=_TYPESCRIPT,
        config_files=("tsconfig.json",),
        runs_code=True,
        checks_project=True,
    ),
    CheckerProgram(
        name="go",
        arguments=("vet", "./..."),
        suffixes=(".go",),
        config_files=("go.mod",),
        runs_code=True,
        checks_project=True,
        finds_syntax_errors=False,
        reads_stderr=True,
        shell='GOCACHE="$TMPDIR/go" exec "$@"',
    ),
    CheckerProgram(
        name="cargo",
        arguments=("check", "--quiet", "--offline", "--message-format=short", "--color=never"),
        suffixes=(".rs",),
        config_files=("Cargo.toml",),
        runs_code=True,
        checks_project=True,
        reads_stderr=True,
        shell='CARGO_TARGET_DIR="$TMPDIR/target" exec "$@"',
    ),
)  # fmt: skip


class InstalledProgram(Struct, frozen=True, kw_only=True):
    """A known program that is installed and useful for the project. needs_trust: it runs code of the project."""

    program: CheckerProgram
    path: Path
    needs_trust: bool


class CheckContext(Struct, frozen=True, kw_only=True):
    """What checkers need from clio.

    Attributes:
        setting: the entries of the setting `checks`.
        root: the workspace.
        owner: the project folder for which the user grants trust; in a worktree, the folder of its main checkout.
        home: clio's own folder.
        servers: the language servers; None if they are off.
    """

    setting: tuple[str, ...]
    root: Path
    owner: Path
    home: Path
    confinement: Confinement | None = None
    sandbox: Sandbox | None = None
    servers: LanguageServers | None = None


class ProgramChecker:
    """Runs a known program as a checker."""

    def __init__(self, installed: InstalledProgram, context: CheckContext) -> None:
        self._installed = installed
        self._program = installed.program
        self._context = context
        self.name = installed.program.name
        self.checks_project = installed.program.checks_project
        self.finds_syntax_errors = installed.program.finds_syntax_errors

    def can_check(self, path: Path) -> bool:
        """Whether it checks files with this suffix."""
        return path.suffix in self._program.suffixes

    async def check(self, paths: Sequence[Path]) -> list[Diagnostic]:
        """Return its diagnostics for these files. Raises CheckerFailed."""
        root = self._context.root
        if self.checks_project:
            return await self._run(())
        names = [str(path) for path in paths]
        if not self._program.one_path_only:
            return await self._run(names)
        return [
            diagnostic
            for name in names
            for diagnostic in await self._run((name,))
            if root / diagnostic.path == Path(name)
        ]

    async def _run(self, names: Sequence[str]) -> list[Diagnostic]:
        program, root = self._program, self._context.root
        argv = (str(self._installed.path), *program.arguments, *names)
        if sys.platform != "win32" and program.shell:
            argv = ("/bin/sh", "-c", program.shell, "sh", *argv)
        elif sys.platform != "win32" and not program.reads_stderr:
            argv = (*_WITHOUT_STDERR, *argv)
        env, enclosed = await asyncio.to_thread(self._confine, argv)
        if enclosed is None and self._installed.needs_trust:
            raise CheckerFailed(tr("it can't be confined here"))
        try:
            process, is_late = await run_process(enclosed or argv, root, timeout_s=CHECKER_TIMEOUT_S, env=env)
        except ToolFailed as error:
            raise CheckerFailed(str(error)) from None
        finally:
            if enclosed is not None:
                remove_private_tmp(enclosed)
        output, code = process.output.text(), process.exit_code
        if is_late:
            raise CheckerFailed(
                tr("it did not finish within {checker_timeout_s:g} s", checker_timeout_s=CHECKER_TIMEOUT_S)
            )
        if code is None or code < 0 or code in (*program.failure_codes, 126, 127) or output.startswith("bwrap: "):
            raise CheckerFailed(tr("it exited with code {code}", code=code))
        found = program.parse(output, root)
        if code and not found:
            raise CheckerFailed(tr("it exited with code {code}", code=code))
        return found

    def _confine(self, argv: Sequence[str]) -> tuple[dict[str, str], EnclosedCommand | None]:
        confinement, root = self._context.confinement, self._context.root
        env = build_confined_environment(os.environ, root)
        env.pop("NODE_OPTIONS", None)  # it may make node load a file of the project first
        # A link on PATH may lead into /tmp, of which confined commands see only folders that are on PATH.
        env["PATH"] = os.pathsep.join(filter(None, (env.get("PATH"), str(self._installed.path.resolve().parent))))
        return env, confinement.enclose(argv, root, env) if confinement is not None else None


class CommandChecker:
    """Runs a command of the user's own, in the sandbox like every command.

    "{files}" in it is replaced by the changed files; without it, the command checks the whole project.
    """

    def __init__(self, command: str, context: CheckContext) -> None:
        self.name = command
        self.checks_project = _FILES_PLACEHOLDER not in command
        self._context = context

    def can_check(self, path: Path) -> bool:
        """Return True: it is not known what a command reads."""
        return True

    async def check(self, paths: Sequence[Path]) -> list[Diagnostic]:
        """Return the diagnostics it prints: the lines that name a file and a line.

        If there are none and the program failed, the only diagnostic is its exit code.

        Raises CheckerFailed.
        """
        root = self._context.root
        names = " ".join(
            shlex.quote(f"./{path.relative_to(root).as_posix()}") for path in paths if _is_below(path, root)
        )
        if not names and not self.checks_project:
            return []
        line = self.name.replace(_FILES_PLACEHOLDER, names)
        try:
            process, is_late, _ = await run_sandboxed(line, root, self._context.sandbox, timeout_s=CHECKER_TIMEOUT_S)
        except ToolFailed as error:
            raise CheckerFailed(str(error)) from None
        if is_late:
            raise CheckerFailed(
                tr("it did not finish within {checker_timeout_s:g} s", checker_timeout_s=CHECKER_TIMEOUT_S)
            )
        output = process.output.text()
        found = parse_lines(output, root)
        if not found and process.exit_code:
            last_line = next((text.strip() for text in reversed(output.splitlines()) if text.strip()), "")
            path = "" if self.checks_project else to_project_path(paths[0], root)
            return [
                Diagnostic(path=path, line=0, code=f"exit {process.exit_code}", message=self.name, detail=last_line)
            ]
        return found


class ServerChecker:
    """Asks a language server for the problems of files. It can also be asked about earlier texts of them.

    Args:
        root: the workspace; files elsewhere are not checked.
    """

    checks_project = False

    def __init__(self, found: FoundServer, servers: LanguageServers, root: Path) -> None:
        self.name = found.spec.name
        self._suffixes = found.spec.suffixes
        self._servers = servers
        self._root = root

    def can_check(self, path: Path) -> bool:
        """Whether the server knows files with this suffix."""
        return path.suffix in self._suffixes and _is_below(path, self._root)

    def prepare(self, path: Path) -> None:
        """Start the server, because a file will be checked soon."""
        self._servers.begin(path)

    async def check(self, paths: Sequence[Path]) -> list[Diagnostic]:
        """Return the problems of these files. Raises CheckerFailed."""
        return await self._find(paths, {})

    async def check_texts(self, texts: Mapping[Path, str]) -> list[Diagnostic]:
        """Return the problems that these files would have with these texts. Raises CheckerFailed."""
        return await self._find(tuple(texts), texts)

    async def _find(self, paths: Sequence[Path], texts: Mapping[Path, str]) -> list[Diagnostic]:
        try:
            server = await self._servers.open_for(paths[0])
            problems = await server.find_problems([path.resolve() for path in paths], texts)
        except ServerFailed as error:
            raise CheckerFailed(str(error)) from None
        return [
            Diagnostic(
                path=to_project_path(path, self._root),
                line=problem.line,
                code=problem.code,
                message=problem.message,
                is_error=problem.is_error,
            )
            for path, found in problems.items()
            for problem in found
        ]


def _is_below(path: Path, folder: Path) -> bool:
    return folder in path.parents


def _find_effective_entries(setting: Sequence[str]) -> tuple[str, ...]:
    """Return the entries after the last "off": higher layers of the configuration come later."""
    entries = [entry.strip() for entry in setting]
    last = max((index for index, entry in enumerate(entries) if entry == CHECKS_OFF), default=-1)
    effective = tuple(entries[last + 1 :])
    return effective if last >= 0 or effective else (CHECKS_AUTO,)


def describe_checks(setting: Sequence[str], root: Path) -> list[str]:
    """Return what would run after edits, in the order of `open_checkers`, including programs that need trust."""
    entries = _find_effective_entries(setting)
    programs = [found.program.name for found in find_programs(root.resolve())] if CHECKS_AUTO in entries else []
    return [*(repr(entry) for entry in entries if entry != CHECKS_AUTO), *programs]


def open_checkers(context: CheckContext) -> list[Checker]:
    """Return the checkers that may run in this project.

    Reads the project's folder and starts no program; call it in a thread.
    """
    entries = _find_effective_entries(context.setting)
    checkers: list[Checker] = [CommandChecker(entry, context) for entry in entries if entry != CHECKS_AUTO]
    if CHECKS_AUTO in entries:
        found = find_programs(context.root)
        trusted = any(program.needs_trust for program in found) and are_checks_trusted(context.owner, context.home)
        checkers += [ProgramChecker(program, context) for program in found if trusted or not program.needs_trust]
        if context.servers is not None:
            found_servers = [found for found in context.servers.list_found() if found.may_run]
            replaced = {found.spec.replaces for found in found_servers}
            checkers = [checker for checker in checkers if checker.name not in replaced]
            served: set[str] = set()  # of several servers for one language, the first is asked
            for found_server in found_servers:
                if served.isdisjoint(found_server.spec.suffixes):
                    served.update(found_server.spec.suffixes)
                    checkers.append(ServerChecker(found_server, context.servers, context.root))
    return checkers


def find_programs(root: Path) -> list[InstalledProgram]:
    """Return the known programs that are installed and useful for the project."""
    user_folders, project_folders = split_path_folders(root)
    found: list[InstalledProgram] = []
    for program in CHECKER_PROGRAMS:
        if not _is_configured(program, root):
            continue
        # A program that runs the project's code anyway is the project's own, so that its version fits.
        order = (project_folders, user_folders) if program.runs_code else (user_folders, project_folders)
        for folders in order:
            if path := find_program(program.name, path=os.pathsep.join(folders)):
                is_in_project = folders is project_folders or _is_below(Path(path).resolve(), root)
                found.append(
                    InstalledProgram(program=program, path=Path(path), needs_trust=program.runs_code or is_in_project)
                )
                break
    return found


def _is_configured(program: CheckerProgram, root: Path) -> bool:
    return not program.config_files or any(
        _contains_text(root, *entry.partition(":")[::2]) for entry in program.config_files
    )


def _contains_text(root: Path, name: str, text: str) -> bool:
    path = root / name
    try:
        if not path.is_file():
            return False
        return not text or (path.stat().st_size <= _MAX_CONFIG_BYTES and text.encode() in path.read_bytes())
    except OSError:
        return False


def list_untrusted_checkers(setting: Sequence[str], root: Path, owner: Path, home: Path) -> list[str]:
    """Return the names of the programs that wait for the user's trust in the project. setting: the setting `checks`."""
    if CHECKS_AUTO not in _find_effective_entries(setting):
        return []
    found = [program.program.name for program in find_programs(root.resolve()) if program.needs_trust]
    return found if found and not are_checks_trusted(owner, home) else []
