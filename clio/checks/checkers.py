"""The checkers of a project: known programs, the user's commands, parsers, and whether they may run."""

import asyncio
import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
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
from clio.sandbox.fence import EnclosedCommand
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.tools.shell.processes import run_process
from clio.tools.shell.sandboxed_run import build_confined_environment, remove_private_tmp, run_sandboxed

CHECKS_TRUST_KEY = "checks"
# Not derived from the project's settings: the user's answer stays valid when they change.
_CHECKS_FINGERPRINT = f"checks:{hashlib.sha256(b'run code of the project').hexdigest()}"


def are_checks_trusted(owner: Path, home: Path) -> bool:
    """Whether the user allowed checkers that run code of this project. home: clio's own folder."""
    return _CHECKS_FINGERPRINT in TrustStore(home).fingerprints(owner)


def describe_checks_trust(programs: Sequence[str]) -> TrustRequest:
    """Return what the user is asked to allow."""
    names = ", ".join(programs)
    value = f"{names}: may run code of this project after edits, confined"
    return TrustRequest(key=CHECKS_TRUST_KEY, value=value, where="project", fingerprint=_CHECKS_FINGERPRINT)


CHECKER_TIMEOUT_S = 30.0
"""Time limit for a checker that continues in the background."""
_FILES_PLACEHOLDER = "{files}"
_PROJECT_PROGRAM_FOLDERS = ("node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts", "vendor/bin")
"""Folders in which a project's own environment has its programs."""
_WITHOUT_STDERR = ("/bin/sh", "-c", 'exec "$@" 2>/dev/null', "sh")
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
        is_parser: it finds every parse error in its files.
        keeps_errors: standard error is part of its output.
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
    is_parser: bool = True
    keeps_errors: bool = False
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
        keeps_errors=True,
    ),
    CheckerProgram(
        name="node", arguments=("--check",), suffixes=(".js", ".cjs", ".mjs"), parse=parse_node, keeps_errors=True,
        one_path_only=True, shell=_CHECK_AS_SCRIPT_OR_MODULE,
    ),
    CheckerProgram(name="bash", arguments=("-n",), suffixes=(".sh", ".bash"), keeps_errors=True, one_path_only=True),
    CheckerProgram(
        name="mypy",
        arguments=(
            "--no-error-summary", "--show-error-codes", "--no-color-output", "--hide-error-context", "--no-pretty",
            f"--cache-dir={os.devnull}", "--",
        ),
        suffixes=(".py", ".pyi"),
        config_files=("mypy.ini", ".mypy.ini", "pyproject.toml:[tool.mypy", "setup.cfg:[mypy"),
        runs_code=True,
        is_parser=False,
    ),
    CheckerProgram(
        name="pyright",
        arguments=("--outputjson",),
        suffixes=(".py", ".pyi"),
        parse=parse_pyright,
        config_files=("pyrightconfig.json", "pyproject.toml:[tool.pyright"),
        runs_code=True,
        is_parser=False,
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
        is_parser=False,
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
        is_parser=False,
        keeps_errors=True,
        shell='GOCACHE="$TMPDIR/go" exec "$@"',
    ),
    CheckerProgram(
        name="cargo",
        arguments=("check", "--quiet", "--offline", "--message-format=short", "--color=never"),
        suffixes=(".rs",),
        config_files=("Cargo.toml",),
        runs_code=True,
        checks_project=True,
        keeps_errors=True,
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
        owner: the project folder for which the user grants trust; not `root` in a worktree.
        home: clio's own folder.
    """

    setting: tuple[str, ...]
    root: Path
    owner: Path
    home: Path
    confinement: Confinement | None = None
    sandbox: Sandbox | None = None


class ProgramChecker:
    """Runs a known program as a checker."""

    def __init__(self, installed: InstalledProgram, context: CheckContext) -> None:
        self._installed = installed
        self._program = installed.program
        self._context = context
        self.name = installed.program.name
        self.checks_project = installed.program.checks_project
        self.is_parser = installed.program.is_parser

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
        elif sys.platform != "win32" and not program.keeps_errors:
            argv = (*_WITHOUT_STDERR, *argv)
        env, enclosed = await asyncio.to_thread(self._confine, argv)
        if enclosed is None and self._installed.needs_trust:
            raise CheckerFailed("it can't be confined here")
        try:
            process, is_late = await run_process(enclosed or argv, root, timeout_s=CHECKER_TIMEOUT_S, env=env)
        except ToolFailed as error:
            raise CheckerFailed(str(error)) from None
        finally:
            if enclosed is not None:
                remove_private_tmp(enclosed)
        output, code = process.output.text(), process.exit_code
        if is_late:
            raise CheckerFailed(f"it did not end within {CHECKER_TIMEOUT_S:g} s")
        if code is None or code < 0 or code in (*program.failure_codes, 126, 127) or output.startswith("bwrap: "):
            raise CheckerFailed(f"it ended with exit code {code}")
        found = program.parse(output, root)
        if code and not found:
            raise CheckerFailed(f"it ended with exit code {code}")
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
            raise CheckerFailed(f"it did not end within {CHECKER_TIMEOUT_S:g} s")
        output = process.output.text()
        found = parse_lines(output, root)
        if not found and process.exit_code:
            last_line = next((text.strip() for text in reversed(output.splitlines()) if text.strip()), "")
            path = "" if self.checks_project else to_project_path(paths[0], root)
            return [
                Diagnostic(path=path, line=0, code=f"exit {process.exit_code}", message=self.name, detail=last_line)
            ]
        return found


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


def open_checkers(around: CheckContext) -> list[Checker]:
    """Return the checkers that may run in this project.

    Reads the project's folder and starts no program; call it in a thread.
    """
    entries = _find_effective_entries(around.setting)
    checkers: list[Checker] = [CommandChecker(entry, around) for entry in entries if entry != CHECKS_AUTO]
    if CHECKS_AUTO in entries:
        found = find_programs(around.root)
        trusted = any(program.needs_trust for program in found) and are_checks_trusted(around.owner, around.home)
        checkers += [ProgramChecker(program, around) for program in found if trusted or not program.needs_trust]
    return checkers


def find_programs(root: Path) -> list[InstalledProgram]:
    """Return the known programs that are installed and useful for the project."""
    user_folders, project_folders = _split_path_folders(root)
    found: list[InstalledProgram] = []
    for program in CHECKER_PROGRAMS:
        if not _is_configured(program, root):
            continue
        # A program that runs the project's code anyway is the project's own, so that its version fits.
        order = (project_folders, user_folders) if program.runs_code else (user_folders, project_folders)
        for folders in order:
            if path := shutil.which(program.name, path=os.pathsep.join(folders)):
                is_in_project = folders is project_folders or _is_below(Path(path).resolve(), root)
                found.append(
                    InstalledProgram(program=program, path=Path(path), needs_trust=program.runs_code or is_in_project)
                )
                break
    return found


def _split_path_folders(root: Path) -> tuple[list[str], list[str]]:
    """Return two lists: the folders on the user's PATH outside the project, and those of the project's own programs."""
    user_folders: list[str] = []
    project_folders = [str(root / name) for name in _PROJECT_PROGRAM_FOLDERS]
    for name in os.environ.get("PATH", "").split(os.pathsep):
        if not Path(name).is_absolute():
            continue  # "." and other relative paths depend on the project
        folder = Path(name).resolve()
        (project_folders if folder == root or root in folder.parents else user_folders).append(name)
    return user_folders, project_folders


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


def list_untrusted_programs_of_checks(setting: Sequence[str], root: Path, owner: Path, home: Path) -> list[str]:
    """Return the names of the programs that wait for the user's trust in the project. wanted: the setting `checks`."""
    if CHECKS_AUTO not in _find_effective_entries(setting):
        return []
    found = [program.program.name for program in find_programs(root.resolve()) if program.needs_trust]
    return found if found and not are_checks_trusted(owner, home) else []
