"""Commands that mode "all" asks about because they delete or overwrite files outside the project or clio's settings."""

import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from glob import iglob
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clio.config.command_line import is_reading_call
from clio.security import command_risk
from clio.security.actions import resolve_links
from clio.security.command_risk import assess_command, has_option, judge_reading
from clio.security.data_tables import ByName, WordSet, load_tables
from clio.security.readonly.judge import NAME_PASSING_PROGRAMS
from clio.security.shell.command_line import CommandLine, SimpleCommand, Word, word_set
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import SCRIPT_BUILTINS, SHELLS, UNPARSED_WRAPPERS
from clio.security.targets import PROCESS_LINK, Expansion, is_device, list_mounts, list_operands, map_to_machine
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr


class _OutsideChangeTables(Struct, frozen=True):
    """Which arguments of a program name files that it changes, and which programs only read what they name.

    Attributes:
        compressors, changing_programs: change or replace each file they name.
        copying_programs: read all operands but the last, and write that one.
        output_options: options whose value is a file or folder that is written.
        unpacking_programs: write names below a folder that the line does not contain.
        mode_first_programs, script_first_programs: the first operand is no file.
        data_tools: build tools of `command_risk` that change no files of their own.
        folder_options, program_folder_options: options by which build tools and package managers select the folder to
            work in or write to; those of all of them, and those of one.
        system_folders: folders with the system's programs and settings, which other programs read.
        path_readers: programs whose paths are only read, or judged by what is known about the program.
        package_runners: programs that start the program named by the next word.
        text_starters: programs that start another one, which clio's shell parser does not analyze.
    """

    removal_programs: WordSet
    compressors: WordSet
    changing_programs: WordSet
    overwriting_programs: WordSet
    copying_programs: WordSet
    in_place_editors: WordSet
    output_options: ByName[tuple[str, ...]]
    unpacking_programs: WordSet
    value_options: ByName[WordSet]
    mode_first_programs: WordSet
    script_first_programs: WordSet
    data_tools: WordSet
    folder_options: tuple[str, ...]
    program_folder_options: ByName[tuple[str, ...]]
    system_folders: tuple[str, ...]
    input_options: WordSet
    formatters: WordSet
    path_readers: WordSet
    info_words: WordSet
    package_runners: tuple[tuple[str, ...], ...]
    text_starters: WordSet
    git_folder_options: WordSet


_TABLES = load_tables("outside_changes", _OutsideChangeTables)
_CHANGING_PROGRAMS = _TABLES.compressors | _TABLES.changing_programs
_FILE_CHANGERS = _TABLES.removal_programs | _CHANGING_PROGRAMS | _TABLES.copying_programs | _TABLES.in_place_editors
_BUILD_TOOLS = command_risk.BUILD_TOOLS - command_risk.INTERPRETERS - _TABLES.data_tools
_PATH_READERS = (
    (_BUILD_TOOLS - _TABLES.formatters)
    | command_risk.INTERPRETERS
    | command_risk.FILE_PROGRAMS
    | SHELLS
    | _TABLES.path_readers
    | _TABLES.removal_programs
    | _CHANGING_PROGRAMS
    | _TABLES.overwriting_programs
    | _TABLES.copying_programs
)

_CODE_FLAGS = LazyRegex(r"-\w*[cerEn]\w*|--eval|--execute|--print|-p|eval|-[Cc]ommand")
_AWKS = word_set("awk gawk mawk nawk")
_SED_WRITE = LazyRegex(r"(?:^|[;{}/\d$|,#]|\n)[gpIiMm\d]*[wW]\s*(?P<path>[^\s;'\"]+)")
_APPLESCRIPT_REMOVAL = LazyRegex(r"\btell app(?:lication)?\b.*\b(?:delete|empty|erase|move|do shell script)\b")
_HOME_IN_CODE = LazyRegex(r"\bHOME\b|\bhome\(\)|expanduser|expand_path|homedir\(")
_SHELL_CALL_IN_CODE = LazyRegex(
    r"\b(?:system|popen|exec\w*|spawn\w*|run|call|check_\w+|shell_exec|passthru|do shell script)\b|`|\|\s*\""
)
_QUOTED_SHELL_TEXT = LazyRegex(r"\"([^\"\n]*\s[^\"\n]*)\"|'([^'\n]*\s[^'\n]*)'|`([^`\n]+)`")
_AWK_WRITE = LazyRegex(r">\s*\"([^\"\n]+)\"")
_CHANGE_IN_CODE = LazyRegex(
    r"\b(?:unlink\w*|rm|rm_\w+|rmSync|rmdir\w*|rmtree|remove\w*|rimraf|delete\w*|destroy\w*|truncate\w*|rename\w*|move|mv"
    r"|chmod\w*|chown\w*|system|exec\w*|spawn\w*|popen|write_?[tTbB]\w*|writeFile\w*|copy\w*|append\w*|cpSync|extract\w*"
    r"|file_put_contents|symlink\w*|(?i:remove-item|set-content|out-file|move-item|clear-content))\b|\b(?:File|IO)\.write\b"
    r"|(?:open|fopen|File\.\w+)\s*\([^()]*,\s*[\"'](?:[wax]b?\+?|r\+|\+?>)|:w|\bwq|\bw!"
)
_PATH_IN_CODE = LazyRegex(
    r"[\"'](?P<text>(?:[~/]|\.\./|\.\.(?=[\"']))[^\"'\n]{0,300})[\"']|(?<![\w\"'.:/])(?P<bare>(?:~/|\.\./|/\w)[\w./@+-]{1,300})"
)
# Limits that bound the time of a check: matches of one pattern, and nested scripts or containers.
_MAX_MATCHES = 200
_MAX_DEPTH = 3


def find_outside_change(line: CommandLine, text: str, start: str, home: str, root: str) -> str:
    """What a line removes or overwrites outside the project, as the reason of a question; "" for nothing.

    Args:
        text: the line as typed.
        start: the folder it starts in.
        home: the user's home folder.
        root: the project's folder.
    """
    return _OutsideChangeFinder(line, text, start, _FreePaths(root, home)).find()


class _FreePaths:
    """Decides which files may be changed without asking."""

    def __init__(self, root: str, home: str) -> None:
        self.home = os.path.realpath(home)
        self._root = os.path.realpath(root)
        temporary = (tempfile.gettempdir(), os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm")
        self._temporary = tuple({os.path.realpath(place) for place in temporary if place.startswith("/")})
        caches = (os.environ.get("XDG_CACHE_HOME", ""), f"{home}/.cache", f"{home}/Library/Caches")
        caches += ("/var/cache", "/var/lib/apt/lists")
        self._caches = tuple({os.path.realpath(place) for place in caches if place.startswith("/")})

    def is_project_name(self, name: str) -> bool:
        """Whether a name is the one compose derives from this project folder, or the folder's own name."""
        own = posixpath.basename(self._root).casefold()
        return name.casefold() in (own, re.sub(r"[^a-z0-9_-]", "", own))

    def is_free(self, path: str, *, removes: bool) -> bool:
        """Whether an absolute path is in the project, temporary, a cache, or a device that stores nothing."""
        if "\0" in path:
            return True  # no program can receive such an argument
        real = _resolve_links(path, follows=not removes)
        if _is_below(real, self._root):
            return True
        if removes and _is_below(self._root, real):
            return False
        if real.startswith("/dev/") and not is_device(real):
            return True
        if any(_is_below(real, place) for place in self._caches):
            return True
        home_is_temporary = any(_is_below(self.home, place) for place in self._temporary)
        if home_is_temporary and (_is_below(real, self.home) or (removes and _is_below(self.home, real))):
            return False
        return any(_is_below(real, place) for place in self._temporary)


class _OutsideChangeFinder:
    """Judges the commands of one line."""

    def __init__(self, line: CommandLine, text: str, start: str, places: _FreePaths, depth: int = 0) -> None:
        self._line = line = command_risk.show_fed_programs(line)
        self._text = text
        self._start = start
        self._free_paths = places
        self._depth = depth
        self._expansion = Expansion(line, text, start, places.home)

    def find(self) -> str:
        """Return the reason for asking about the line; "" for none."""
        for redirect in self._line.redirects:
            if redirect.writes and (found := self._find_changed([redirect.target], redirect.folders, removes=False)):
                return tr("overwrites {found!r}, outside the project", found=found)
        for command in self._line.commands:
            if command.words and (why := self._explain(command)):
                return why
        for script in self._line.runtime_scripts if self._depth < _MAX_DEPTH else ():
            for text in self._expansion.expand_script(script):
                if why := self._judge_text(text):
                    return why
        return ""

    def _judge_text(self, text: str) -> str:
        """Return the reason for asking about a nested script."""
        if self._depth >= _MAX_DEPTH:
            return ""
        return _OutsideChangeFinder(
            parse_command_line(text), text, self._start, self._free_paths, self._depth + 1
        ).find()

    def _explain_passed_text(self, command: SimpleCommand) -> str:
        """Return the reason for asking about text passed to a shell, or to a program that runs it later."""
        program, argv = command.program, command.argv[1:]
        texts = [command.stdin] if command.stdin and program in SHELLS | {"at", "batch"} else []
        # `echo "rm -rf ~" | sh`: the text is in the call that feeds the shell.
        if program in SHELLS | {"at", "batch", "parallel"}:
            feeding = [each for each in self._line.commands if each.program in command.upstream]
            texts += [" ".join(each.argv[1:]) for each in feeding if each.program in ("echo", "printf")]
        if program in UNPARSED_WRAPPERS:
            # The options of these programs are not listed here: `unshare -r clio config trust`.
            texts += [" ".join(["clio", *argv[at + 1 :]]) for at, text in enumerate(argv) if _is_clio(text)]
        if program in _TABLES.text_starters:
            texts += [argv[at + 1] for at, text in enumerate(argv[:-1]) if text in ("-c", "--command")]
            texts += [
                " ".join(argv[at:])
                for at, text in enumerate(argv)
                if at and text in _TABLES.removal_programs | _CHANGING_PROGRAMS
            ]
            texts += [" ".join(argv)] if argv[:1] and argv[0] in _TABLES.removal_programs | _CHANGING_PROGRAMS else []
        if "parallel" in command.wrappers:
            texts.append(" ".join(command.argv).replace("{}", ""))
        if program == "env":
            texts += [value.text for value in _iter_option_values(command.words[1:], ("-S", "--split-string"))]
        if program in _AWKS | command_risk.INTERPRETERS:
            for code in argv:
                if _SHELL_CALL_IN_CODE.search(code):
                    texts += [next(filter(None, match.groups())) for match in _QUOTED_SHELL_TEXT.finditer(code)]
        return next((why for text in texts if (why := self._judge_text(text))), "")

    def _explain(self, command: SimpleCommand) -> str:
        """Return the reason for asking about one call; "" for none."""
        program, rest = command.program, command.words[1:]
        argv = command.argv[1:]
        options = tuple(text for text in argv if text.startswith("-"))
        if argv in (("--help",), ("--version",)):
            return ""
        if why := self._explain_piped_names(command) or self._explain_passed_text(command):
            return why
        if command.words[0].dynamic and (why := self._explain_computed_program(command)):
            return why
        if _is_acting_for_user(command):
            return tr("clio would change trust, settings or memory in your name")
        if inner := _unwrap_package_runner(command.words):
            return self._explain(replace(command, words=inner))
        if moved := [
            Word(value.text)
            for value in _iter_option_values(command.written, ("-C", "--chdir"))
            if "env" in command.wrappers
        ]:
            command = replace(command, folders=tuple(path for _, path in self._iter_paths(moved, command.folders)))
        if program == "git":
            return self._explain_git(command)
        if program in ("docker", "podman", "nerdctl", "docker-compose", "podman-compose"):
            return self._explain_container(command)
        runs_code = program in command_risk.INTERPRETERS | {"awk", "gawk", "vim", "vi", "ex", "nvim", "emacs"}
        if runs_code and (found := self._find_path_in_code(argv)):
            return tr("its code mentions {found!r}, outside the project, and may change it", found=found)
        if program in ("find", "fd", "fdfind") and self._is_changing_search(command):
            starts = self._list_search_folders(command)
            if found := self._find_changed(starts, command.folders, removes=True):
                return tr(
                    "{program} may remove or change what is in {found!r}, outside the project",
                    program=program,
                    found=found,
                )
        remote = program == "rsync" and rest and re.match(r"(?:[\w.-]+@)?[\w.-]+:", rest[-1].text)
        if remote and any(text.startswith("--del") for text in argv):
            return tr("rsync removes files on another machine, {text!r}", text=rest[-1].text)
        if "ssh" in command.wrappers and (command.stdin or command.upstream or program == "ssh"):
            return tr("a shell on another machine runs the text it receives")
        removed, written = self._list_targets(program, rest, argv, options)
        # ssh runs the command on another machine, where nothing belongs to the project.
        if "ssh" in command.wrappers and (removed or written):
            return tr("{program} removes or overwrites files on another machine", program=program)
        if found := self._find_changed(removed, command.folders, removes=True):
            return tr(
                "{program} removes, moves or changes {found!r}, outside the project", program=program, found=found
            )
        if found := self._find_changed(written, command.folders, removes=False, sources=rest, program=program):
            return tr("{program} overwrites {found!r}, outside the project", program=program, found=found)
        return self._explain_build_tool(command) or self._explain_unknown(command)

    def _explain_computed_program(self, command: SimpleCommand) -> str:
        """Return the reason for asking about a call whose program is the value of a variable of the line."""
        # `$(which clio) config trust`
        if "clio" in _WORD_IN_LINE.findall(command.words[0].text) and (
            why := self._explain(replace(command, words=(Word("clio"), *command.words[1:])))
        ):
            return why
        for value in self._expansion.expand_word(command.words[0]):
            if not value.dynamic and value.text:
                words = (value, *command.words[1:])
                if why := self._explain(replace(command, words=words)):
                    return why
        return ""

    def _explain_build_tool(self, command: SimpleCommand) -> str:
        """Why a build tool or package manager may change another project, by its folder or an option."""
        program, rest = command.program, command.words[1:]
        if program not in _BUILD_TOOLS or (len(rest) == 1 and rest[0].text in _TABLES.info_words):
            return ""
        aimed = list(
            _iter_option_values(rest, (*_TABLES.folder_options, *_TABLES.program_folder_options.get(program, ())))
        )
        for word, path in self._iter_paths([*aimed, Word(".")], command.folders):
            free = f"{path}/".startswith(_TABLES.system_folders) or self._free_paths.is_free(path, removes=False)
            if free or not os.path.lexists(path) or not isinstance(judge_reading(command, self._line), str):
                continue
            named = path if word.text == "." else word.text
            return tr("{program} may change what is in {named!r}, outside the project", program=program, named=named)
        return ""

    def _explain_unknown(self, command: SimpleCommand) -> str:
        """Why a program not known to be read-only may change its operands outside the project."""
        program, rest = command.program, command.words[1:]
        if program in _PATH_READERS or command.words[0].dynamic:
            return ""
        named = [word for at, word in enumerate(rest) if not at or rest[at - 1].text not in _TABLES.input_options]
        given = [word for word in named if not word.text.startswith("-") and not word.dynamic]
        for word in named:
            name, sign, value = word.text.partition("=")
            if sign and name.startswith("-") and name not in _TABLES.input_options:
                given.append(Word(value, word.dynamic, word.glob))
        for word, path in self._iter_paths(given, command.folders):
            if (
                not f"{path}/".startswith(_TABLES.system_folders)
                and os.path.lexists(path)
                and not self._free_paths.is_free(path, removes=False)
            ):
                reads = not isinstance(judge_reading(command, self._line), str)
                return (
                    ""
                    if reads
                    else tr("{program} may change {text!r}, outside the project", program=program, text=word.text)
                )
        return ""

    def _list_targets(
        self, program: str, rest: tuple[Word, ...], argv: tuple[str, ...], options: tuple[str, ...]
    ) -> tuple[list[Word], list[Word]]:
        """Return the words that a call removes or changes, and the words it overwrites."""
        operands = list(list_operands(rest, _TABLES.value_options.get(program, frozenset())))
        written = list(_iter_option_values(rest, _TABLES.output_options.get(program, ())))
        if program == "mv":
            # `mv -t FOLDER a b` names the target first.
            aimed = bool(written)
            return (operands, written) if aimed else (operands[:-1], operands[-1:])
        if program in ("gio", "gvfs-trash"):
            return (operands[1:] if argv[:1] in (("trash",), ("remove",), ("move",)) else []), []
        if program in _TABLES.removal_programs:
            return operands, []
        if program == "rsync" and any(text.startswith("--remove-s") for text in options):
            return operands, []
        if program in ("tar", "zip", "7z") and any(
            text in ("--remove-files", "-m", "--move", "-sdel") for text in argv
        ):
            return operands, written
        if program in ("tar", "bsdtar") and any(re.fullmatch(r"-?[A-Za-z]*[cru][A-Za-z]*", text) for text in argv[:1]):
            # `tar cf x.tar a` overwrites x.tar; without a dash the archive is the first operand.
            packed = list(_iter_option_values(rest, ("-f", "--file")))
            packed += operands[1:2] if argv and not argv[0].startswith("-") and "f" in argv[0] else []
            return [], packed
        if (
            program in ("tar", "bsdtar", "unzip", "cpio", "7z")
            and not written
            and not has_option(options, "t", ("list",))
        ):
            # An archive is unpacked where the command runs, whatever names it contains.
            return [], [Word(".")]
        if program == "zip":
            return [], operands[:1]
        if program.startswith("python") and argv[:1] == ("-m",) and argv[1:2] in (("zipfile",), ("tarfile",)):
            return [], operands[-1:] if "-e" in argv else []
        if program in ("uniq", "xxd"):
            return [], operands[1:2]
        if program in ("sed", "gsed") and not has_option(options, "i", ("in-place",)):
            writes = [match["path"] for text in argv for match in _SED_WRITE.finditer(text)]
            return [], [Word(path) for path in writes]
        if program in _AWKS and not has_option(options, "i", ("in-place",)):
            return [], [Word(match[1]) for text in argv for match in _AWK_WRITE.finditer(text)]
        if program in ("dd", "dcfldd", "dc3dd"):
            return [], [Word(word.text[3:], word.dynamic) for word in rest if word.text.startswith("of=")]
        if program in _TABLES.copying_programs:
            # Without -f, ln fails where the name exists.
            links = program == "ln" and not has_option(options, "f", ("force",))
            return [], written or ([] if links else operands[-1:] if len(operands) > 1 else [])
        if program in _TABLES.overwriting_programs:
            return [], operands
        if program in _CHANGING_PROGRAMS:
            unchanged = program in _TABLES.compressors and has_option(
                options, "cktl", ("stdout", "keep", "test", "list")
            )
            # `chmod 644 x`: the first operand is the mode.
            skipped = 1 if program in _TABLES.mode_first_programs and len(operands) > 1 else 0
            return ([] if unchanged else operands[skipped:]), written
        in_place = has_option(options, "i", ("in-place", "write", "inplace")) or (program != "sed" and "-w" in options)
        if program in _TABLES.in_place_editors and in_place:
            given = has_option(options, "e", ("expression", "file")) or program not in _TABLES.script_first_programs
            return (operands if given else operands[1:]), []
        if program == "sqlite3" and isinstance(judge_reading(SimpleCommand(words=(Word(program), *rest))), str):
            return [], operands[:1]
        return [], written

    def _explain_piped_names(self, command: SimpleCommand) -> str:
        """Why names outside the project, passed on by find or a pipe, may be removed."""
        changes = command.program in _FILE_CHANGERS | {"dd"}
        if not changes or command.program in ("tee", "touch", "patch", "sponge"):
            return ""
        if not (NAME_PASSING_PROGRAMS | {"parallel"} | SHELLS | SCRIPT_BUILTINS) & set(command.wrappers) and not any(
            word.dynamic for word in command.words[1:]
        ):
            return ""
        sources = [each for each in self._line.commands if each is not command and each.program in command.upstream]
        sources += [each for each in self._line.commands if each.program in command.wrappers]
        for source in sources:
            starts = (
                self._list_search_folders(source)
                if source.program in NAME_PASSING_PROGRAMS
                else [*list_operands(source.words[1:])]
            )
            absolute = [word for word in starts if word.text.startswith(("/", "~", "..", "$HOME", "${HOME"))]
            if found := self._find_changed(absolute, source.folders, removes=True):
                return tr(
                    "{program} may remove or change what is in {found!r}, outside the project",
                    program=command.program,
                    found=found,
                )
        return ""

    def _explain_git(self, command: SimpleCommand) -> str:
        """Why a git call may change a repository other than the project's."""
        places = list(_iter_option_values(command.words[1:], tuple(_TABLES.git_folder_options)))
        places += [Word(value) for name, value in command.env if name in ("GIT_DIR", "GIT_WORK_TREE")]
        argv = command.argv[1:]
        shared = {"--global", "--system"} & set(argv) and "config" in argv
        if (
            shared
            and not {"--help", "-e", "--edit"} & set(argv)
            and isinstance(judge_reading(command, self._line), str)
        ):
            return "git config changes settings that other projects use"
        operands = list(_iter_git_operands(command.words[1:]))
        if "config" in [word.text for word in operands[:1]] and isinstance(judge_reading(command, self._line), str):
            given = list(_iter_option_values(command.words[1:], ("-f", "--file")))
            if found := self._find_changed(given, command.folders, removes=True):
                return f"git config changes {found!r}, outside the project"
        if (
            [word.text for word in operands[:1]] == ["worktree"]
            and operands[1:]
            and operands[1].text in ("remove", "move")
        ) and (found := self._find_changed(operands[2:], command.folders, removes=True)):
            return f"git worktree {operands[1].text} removes {found!r}, outside the project"
        place = self._find_outside(places or [Word(".")], command.folders, removes=False)
        if not place or isinstance(judge_reading(command, self._line), str) is False:
            return ""
        subcommand = next((word.text for word in _iter_git_operands(command.words[1:])), "")
        if subcommand in ("clone", "fetch", "init", "--version", "help", ""):
            return ""
        return f"git {subcommand} changes the repository in {place!r}, outside the project"

    def _explain_container(self, command: SimpleCommand) -> str:
        """Why a container may remove host files mounted into it: `run -v /etc:/e image rm -rf /e/ssh`."""
        if found := self._find_changed(
            list(_iter_option_values(command.words[1:], ("-o", "--output"))), command.folders, removes=False
        ):
            return tr("{program} overwrites {found!r}, outside the project", program=command.program, found=found)
        options = ("-f", "--file", "--project-directory")
        projects = _iter_option_values(command.words[1:], ("-p", "--project-name"))
        ends = word_set("down rm stop kill") & set(command.argv[1:])
        if ends and "compose" in "".join(command.argv[:2]):
            if found := self._find_outside(
                tuple(_iter_option_values(command.words[1:], options)), command.folders, removes=True
            ):
                return tr(
                    "{program} removes what {found!r} describes, outside the project",
                    program=command.program,
                    found=found,
                )
            if foreign := next((word.text for word in projects if not self._free_paths.is_project_name(word.text)), ""):
                return tr(
                    "{program} removes what belongs to the project {foreign!r}",
                    program=command.program,
                    foreign=foreign,
                )
        mounts = list(list_mounts(command.argv[1:]))
        rest = command.words[1:]
        for place, word in enumerate(rest if mounts and self._depth < _MAX_DEPTH else ()):
            name = word.text.rsplit("/", 1)[-1]
            if name in SHELLS:
                texts = [each.text for each in rest[place + 1 :] if " " in each.text]
                calls = [each.words for text in texts for each in parse_command_line(text).commands]
            elif name in _FILE_CHANGERS | {"find"}:
                calls = [rest[place:]]
            else:
                continue
            for call in calls:
                words = tuple(
                    Word(map_to_machine(each.text, mounts, "/tmp/container"), each.dynamic, each.glob) if at else each
                    for at, each in enumerate(call)
                )
                inner = SimpleCommand(words=words, written=words, folders=("/tmp",))
                if words and (why := self._explain(inner)):
                    return tr("in a container, {why}", why=why)
        return ""

    def _find_path_in_code(self, argv: tuple[str, ...]) -> str:
        """Return a path outside the project in inline code that also removes, writes or starts something."""
        if argv[:1] == ("-e",) and any(_APPLESCRIPT_REMOVAL.search(text) for text in argv):
            return tr("another application")
        if not any(_CODE_FLAGS.fullmatch(text) for text in argv):
            return ""
        for code in argv:
            if not _CHANGE_IN_CODE.search(code):
                continue
            if home := _HOME_IN_CODE.search(code):
                return home[0]
            for match in _PATH_IN_CODE.finditer(code):
                text = match["text"] or match["bare"]
                path = posixpath.join(
                    self._start, text.replace("~", self._free_paths.home, 1) if text[0] == "~" else text
                )
                if not text.strip("/") or text.startswith(("//", "/usr/bin/", "/bin/")):
                    continue
                known = os.path.lexists(path) or os.path.lexists("/" + path.split("/")[1])
                if known and not self._free_paths.is_free(path, removes=False):
                    return text
        return ""

    def _is_changing_search(self, command: SimpleCommand) -> bool:
        """Whether find or fd deletes or changes what it finds."""
        argv = command.argv[1:]
        if "-delete" in argv or any(text.startswith("-fprint") for text in argv) or "-fls" in argv:
            return True
        acts = word_set("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
        started = {each.rsplit("/", 1)[-1] for at, each in enumerate(argv) if at and argv[at - 1] in acts}
        starts_shell = bool(started & SHELLS) and any(
            set(_CHANGE_IN_CODE.findall(text)) or each.program in _TABLES.removal_programs | _CHANGING_PROGRAMS
            for text in argv
            if " " in text
            for each in parse_command_line(text).commands
        )
        return (
            bool(started & (_FILE_CHANGERS | _TABLES.overwriting_programs | {"dd"}))
            and (bool(started - _TABLES.in_place_editors) or "-i" in argv)
        ) or starts_shell

    def _list_search_folders(self, command: SimpleCommand) -> list[Word]:
        """Return the folders in which a search starts."""
        words = command.words[1:]
        if command.program == "find":
            while words and words[0].text in ("-H", "-L", "-P"):
                words = words[1:]
            place = next((at for at, word in enumerate(words) if word.text.startswith(("-", "(", "!"))), len(words))
            return list(words[:place]) or [Word(".")]
        return [word for word in words if "/" in word.text or word.text in ("..", "~")] or [Word(".")]

    def _find_changed(
        self,
        words: "list[Word] | tuple[Word, ...]",
        folders: tuple[str, ...] | None,
        *,
        removes: bool,
        sources: tuple[Word, ...] = (),
        program: str = "",
    ) -> str:
        """Return the first word that names something outside; for a mere write, only if the target exists."""
        for word, path in self._iter_paths(words, folders):
            if self._free_paths.is_free(path, removes=removes):
                continue
            if removes or any(map(os.path.lexists, _list_written_paths(path, sources, program))):
                return word.text
        return ""

    def _find_outside(
        self, words: "list[Word] | tuple[Word, ...]", folders: tuple[str, ...] | None, *, removes: bool
    ) -> str:
        """Return the first path outside that words may expand to; "" for none."""
        return next(
            (
                path
                for _, path in self._iter_paths(words, folders)
                if not self._free_paths.is_free(path, removes=removes)
            ),
            "",
        )

    def _iter_paths(
        self, words: "list[Word] | tuple[Word, ...]", folders: tuple[str, ...] | None
    ) -> Iterator[tuple[Word, str]]:
        """Yield every absolute path that words may expand to, as far as the line determines it; patterns with their
        matches.
        """
        bases = folders if folders is not None else self._expansion.folders
        homes = {"~": self._free_paths.home, "$HOME": self._free_paths.home, "${HOME}": self._free_paths.home}
        for word in words:
            for value in self._expansion.expand_word(word):
                text = value.text
                for name, home in homes.items():
                    if text == name or text.startswith(f"{name}/"):
                        text = home + text[len(name) :]
                if not text or "\0" in text or text[0] in "-$`" or text == "{}":
                    continue
                if text.startswith("~") and not text.startswith("~+"):
                    text = os.path.expanduser(text)  # noqa: PTH111
                for folder in bases:
                    base = self._expansion.follow_link(folder)
                    if base == "~" or base.startswith("~/"):
                        base = self._free_paths.home + base[1:]
                    if not text.startswith("/") and ("$" in base or "`" in base):
                        continue
                    path = posixpath.join(self._start, base, text)
                    if "$" in path or "`" in path:
                        fixed = path[: min(at for mark in "$`" if (at := path.find(mark)) >= 0)]
                        path = posixpath.dirname(fixed) or "/"
                        yield word, path + "/?"
                        continue
                    while match := PROCESS_LINK.match(path):
                        path = (self._start if match[1] == "cwd" else "") + path[match.end() :] or "/"
                    yield word, path
                    if value.glob:
                        yield from ((word, match) for match in islice(iglob(path), _MAX_MATCHES))  # noqa: PTH207


def _list_written_paths(path: str, sources: tuple[Word, ...], program: str) -> Iterator[str]:
    """Yield the paths that a copy writes: one per source below an existing folder, otherwise the path itself."""
    if not os.path.isdir(path) or program not in _TABLES.copying_programs | {"mv", "wget"}:  # noqa: PTH112
        yield path
        return
    if program in _TABLES.unpacking_programs:
        yield path
    for word in sources:
        name = posixpath.basename(word.text.rstrip("/"))
        if not word.text.startswith("-"):
            yield path if word.dynamic or word.glob or name in (".", "..", "") else posixpath.join(path, name)


def _resolve_links(path: str, *, follows: bool) -> str:
    """Resolve the links in a path. Without `follows`, a final link is kept, because removal affects only the link."""
    path = "/" + posixpath.normpath(path).lstrip("/") if ".." not in path else path
    if follows or path.endswith(("/", "/.", "/..")):
        return str(resolve_links(path))
    folder, name = posixpath.split(path)
    return posixpath.join(resolve_links(folder), name)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _iter_option_values(words: tuple[Word, ...], options: tuple[str, ...]) -> Iterator[Word]:
    """Yield the values of these options, given as the next word, after `=` or attached."""
    for place, word in enumerate(words):
        for option in options:
            clustered = len(option) == 2 and re.fullmatch(rf"-[A-Za-z]*{option[1]}", word.text)
            if (word.text == option or clustered) and place + 1 < len(words):
                yield words[place + 1]
            elif word.text.startswith(f"{option}=") and option.startswith("--"):
                yield Word(word.text.partition("=")[2], word.dynamic, word.glob)
            elif len(option) == 2 and word.text.startswith(option) and len(word.text) > 2:
                yield Word(word.text[2:], word.dynamic, word.glob)


def _unwrap_package_runner(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the call that `npx`, `pnpm dlx`, `uvx` and similar programs start; nothing for other programs."""
    texts = tuple(word.text for word in words)
    runner_length = next((len(each) for each in _TABLES.package_runners if texts[: len(each)] == each), 0)
    if not runner_length:
        return ()
    while runner_length < len(words) and (option := words[runner_length].text) in _RUNNER_OPTIONS:
        runner_length += 1 + (option in _RUNNER_VALUES)
    return words[runner_length:]


_RUNNER_VALUES = word_set("--from --with --with-editable -w --python -p --spec --index-url -i --package --index")
_RUNNER_OPTIONS = _RUNNER_VALUES | word_set("-y --yes -q --quiet -- --isolated --no-cache --offline --refresh -U")


def _iter_git_operands(words: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the words of a git call that are neither its own options nor their values."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"):
            skip = True
        elif not word.text.startswith("-"):
            yield word


_SETTINGS_COPIERS = frozenset({"cp", "install", "rsync"})
_MAX_PATHS = 500
"""Matches of one pattern that are compared with the protected files."""


_NOT_EXAMINED = LazyRegex(r"longer than|has too many|nested too deeply|can't parse all of it")
_UNPARSED = LazyRegex(r"can't parse|parsers? (?:stops|find)|words follow|may be code")
_WORD_IN_LINE = LazyRegex(r"[\w.-]+")
_MOST_FILE_CHANGERS = _FILE_CHANGERS | _TABLES.overwriting_programs | {"dd", "clio"}


def find_unseen_part(line: CommandLine, text: str) -> str:
    """Why a part of a line that may remove or overwrite something was not examined; "" if there is none.

    Without this, padding, deep nesting or a rare form such as `((rm x); y)` would avoid all checks of mode "all".
    """
    if not line.unknown:
        return ""
    reason = next((why for why in line.unknown if _NOT_EXAMINED.search(why)), "")
    unparsed = next((why for why in line.unknown if _UNPARSED.search(why)), "")
    if reason or not line.commands:
        return reason or unparsed
    seen = {command.program for command in line.commands}
    words = (word.rsplit("/", 1)[-1] for word in _WORD_IN_LINE.findall(text)) if unparsed else ()
    return unparsed if any(word in _MOST_FILE_CHANGERS and word not in seen for word in words) else ""


def _is_clio(text: str) -> bool:
    """Whether a word names clio's program or its package."""
    return posixpath.basename(text).partition("@")[0].partition("=")[0] in ("clio", "clio-shell")


def _is_acting_for_user(command: SimpleCommand) -> bool:
    """Whether a command is clio itself and may do more than read, such as `clio config trust`."""
    rest = command.argv[1:]
    if command.program in command_risk.INTERPRETERS and "-m" in rest:
        place = rest.index("-m") + 1
        if rest[place : place + 1] != ("clio",):
            return False
        rest = rest[place + 1 :]
    elif not _is_clio(command.program):
        return False
    plain = [text for text in rest if not text.startswith("-")]
    known = is_reading_call(plain)
    return not (set(rest) - set(plain) <= {"--json", "--help", "-h", "--version"} and (known or (rest and not plain)))


def explain_written_settings(
    line: CommandLine, start: str, why_not: Callable[[Path], str], clio_home: Path | None = None
) -> str:
    """What a line writes and why that matters, as the end of a sentence; "" if no such write is found.

    Reads the file system to resolve links.

    Args:
        start: the folder it runs in.
        why_not: returns why a path must not be written, as the end of a sentence.
        clio_home: clio's own folder, which only commands known to read may be given.
    """

    def explain_own_path(path: Path) -> str:
        return why_not(path) if clio_home is not None and (path == clio_home or clio_home in path.parents) else ""

    for redirect in line.redirects:
        if redirect.writes and (why := _explain_written_words([redirect.target], redirect.folders, start, why_not)):
            return why
    for command in line.commands:
        changes = command.program in command_risk.FILE_PROGRAMS and assess_command(command).level != "low"
        if changes and (why := _explain_written_words(_list_written_words(command), command.folders, start, why_not)):
            return why
        if command.words and not changes and assess_command(command).level != "low":
            words = (*command.words[1:], Word("."))
            if why := _explain_written_words(words, command.folders, start, explain_own_path):
                return why
    return ""


def _list_written_words(command: SimpleCommand) -> Sequence[Word]:
    """Return the words that may name what a command writes: for a copy the last, unless an option names another."""
    words = command.words[1:]
    named = any(word.text.startswith(("-t", "--target-directory")) for word in words)
    return words[-1:] if command.program in _SETTINGS_COPIERS and not named else words


def _explain_written_words(
    words: Sequence[Word], folders: tuple[str, ...] | None, start: str, why_not: Callable[[Path], str]
) -> str:
    """Why one of these words must not be written, as the end of a sentence; "" if each may be."""
    for word in words:
        for folder in folders or ():
            for text in _iter_word_paths(word.text):
                path = posixpath.join(start, _expand_variables(folder), _expand_variables(text))
                for place in _iter_places(path, glob=word.glob):
                    if why := why_not(place):
                        return tr("{text!r}, which {why}", text=text, why=why)
    return ""


def _expand_variables(text: str) -> str:
    """Expand `~`, and variables that clio's environment has too, such as `$HOME`."""
    return os.path.expanduser(os.path.expandvars(text))  # noqa: PTH111


def _iter_word_paths(text: str) -> Iterator[str]:
    """Yield the parts of a word that may name a file: the word itself, what follows `=`, or a one-letter option."""
    yield text[2:] if text.startswith("-") and not text.startswith("--") else text
    if "=" in text:
        yield text.partition("=")[2]


def _iter_places(path: str, *, glob: bool) -> Iterator[Path]:
    """Yield where a path leads: as written, with links resolved, and the matches of a pattern."""
    if "\0" in path:
        return
    yield Path(posixpath.normpath(path))
    yield resolve_links(path)
    if glob:
        yield from map(resolve_links, islice(iglob(path, include_hidden=True), _MAX_PATHS))  # noqa: PTH207
