"""Commands that mode "all" asks about: damage to the system or a home folder, or a target not known before the run."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from clio.security import command_risk
from clio.security.command_risk import has_option, judge_reading
from clio.security.data_tables import ByName, WordSet, load_tables
from clio.security.never_list import has_endless_starts
from clio.security.shell.command_line import STDIN_FROM_FILE, CommandLine, SimpleCommand, Word, word_set
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import SCRIPT_BUILTINS, SHELLS
from clio.security.targets import (
    KILL_VALUE_OPTIONS,
    Expansion,
    WholePaths,
    is_narrowed_find,
    iter_substitutions,
    list_operands,
    list_variable_names,
)
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr


class _SystemChangeTables(Struct, frozen=True):
    """Calls of system programs that cannot make a machine unusable, and what a system cannot do without.

    Attributes:
        harmless_system_calls: programs that change the machine, with the first operands or options of harmless or
            everyday calls.
        always_asked: programs of which no call is harmless.
        needed_units: services without which a machine, or the session on it, does not work.
        package_removals: package managers, with the words that make them remove packages.
        irreplaceable_folders: folders in a home folder whose files cannot be restored from elsewhere.
    """

    harmless_system_calls: ByName[tuple[str, ...]]
    always_asked: WordSet
    needed_units: LazyRegex
    essential_packages: LazyRegex
    package_removals: ByName[WordSet]
    irreplaceable_folders: WordSet
    kernel_folders: tuple[str, ...]
    program_folders: tuple[str, ...]


_TABLES = load_tables("system_changes", _SystemChangeTables)

_LAST_OPERAND_WRITERS = word_set("cp install ln scp mv rsync mkdir touch")
"""Programs that write only to their last operand. What they can destroy is covered by the never-list."""
_HARMLESS_PROGRAMS = word_set(
    "cd pushd popd code open xdg-open export declare typeset local readonly [ [[ test exit return echo printf"
)
_PREFIX_OPTION = LazyRegex(r"(?i)[-\w]*prefix")
_REMOVERS = word_set("rm rmdir unlink shred srm wipe rimraf trash trash-put truncate mv gzip bzip2 xz")
_OVERWRITERS = word_set("cp install ln tee dd truncate")
_CODE_FLAGS = LazyRegex(r"-\w*[cerEn]\w*|--eval|--execute|--print|-p")
_EDITORS = word_set("vim vi nvim ex emacs awk gawk mawk nawk")
_CHANGE_IN_CODE = LazyRegex(
    r"\b(?:unlink\w*|rm\w*|remove\w*|rimraf|delete\w*|destroy\w*|truncate\w*|rename\w*|replace\(|move|mv|chmod\w*|chown\w*"
    r"|system|exec\w*|spawn\w*|popen|run|write\w*)\b",
    re.IGNORECASE,
)
_LITERAL_IN_CODE = LazyRegex(
    r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|<([^<>\n]{1,200})>|\b[qQ][qwx]?[{(/|]([^\n{}()|]{1,200})[})/|]"
)
_WORD_IN_CODE = LazyRegex(r"[^\s\"'();,<>`]+")


def find_system_change(line: CommandLine, text: str, start: str, home: str) -> str:
    """Why a line may make the system or the home folder unusable, as the reason of a question; "" if it may not.

    Args:
        text: the line as typed.
        start: the folder it starts in.
        home: the user's home folder.
    """
    if has_endless_starts(text):
        return tr("may start an endless number of processes")
    expansion = Expansion(line, text, start, home)
    written = (value.text for each in line.redirects if each.writes for value in expansion.expand_word(each.target))
    if found := next((target for target in written if target.startswith(_TABLES.kernel_folders)), ""):
        return tr("writes {found!r}, a kernel setting", found=found)
    for command in command_risk.show_fed_programs(line).commands:
        if command.words and (why := _explain_command(command, line, expansion, start, home)):
            return why
    return ""


def _explain_command(command: SimpleCommand, line: CommandLine, expansion: Expansion, start: str, home: str) -> str:
    """Why one call may make the system or the home folder unusable; "" if it may not."""
    values = tuple(value for word in command.words[1:] for value in expansion.expand_word(word))
    program = command.program
    argv = tuple(value.text for value in values)
    if why := _explain_administration(program, argv, values):
        return why
    folders = command.folders if command.folders is not None else expansion.folders
    whole = WholePaths(tuple(map(expansion.follow_link, folders)), start, home)
    in_place = program in ("sed", "gsed", "perl", "ruby") and has_option(argv, "i", ("in-place",))
    if (in_place or program in _REMOVERS | _OVERWRITERS) and (found := _find_installed_target(program, values, whole)):
        return tr("{program} may remove or overwrite {found!r}, which can't be restored", program=program, found=found)
    if found := _find_whole_path_in_code(program, argv, whole):
        return tr("its code mentions {found!r} and may change it", found=found)
    if program in _TABLES.harmless_system_calls or (program == "find" and is_narrowed_find(argv, whole)):
        return ""
    found = next((text for text in _iter_whole_operands(program, values, argv, whole)), "")
    if found and program not in _HARMLESS_PROGRAMS and isinstance(judge_reading(command, line), str):
        return tr("{program} is given all of {found!r} and may do more than read it", program=program, found=found)
    return ""


def _explain_administration(program: str, argv: tuple[str, ...], values: tuple[Word, ...]) -> str:
    """Why a system administration program may make the machine unusable."""
    name = "mkfs" if program.startswith("mkfs") else program
    operands = [word.text for word in list_operands(values)]
    if name in _TABLES.always_asked and argv not in (("--help",), ("--version",)):
        return tr("{program} changes accounts, volumes or how the machine boots", program=program)
    if name in _TABLES.harmless_system_calls:
        harmless = _TABLES.harmless_system_calls[name]
        first = argv[0] if argv else ""
        call_words = {first, " ".join(operands[:2]), operands[0] if operands else ""}
        if call_words.isdisjoint(harmless) or (name == "systemctl" and any("*" in text for text in operands)):
            return f"{program} {first} changes the system".replace("  ", " ")
        ends = name == "systemctl" and operands[0] in ("stop", "disable") if operands else False
        if ends and (unit := next(filter(_TABLES.needed_units.fullmatch, operands[1:]), "")):
            return tr("systemctl {operands} removes {unit}, which the system needs", operands=operands[0], unit=unit)
        if name == "ip" and any(text in ("del", "delete", "flush", "set", "down") for text in operands):
            return tr("ip changes network settings")
    if name == "umount" and has_option(argv, "aR", ("all", "recursive")):
        return tr("umount unmounts all file systems")
    if name == "ifconfig" and "down" in argv:
        return tr("ifconfig changes network settings")
    if name == "kill" and any(text in ("0", "1", "-1", "-0") for text in list_operands(values)[-1:] and operands[-1:]):
        return tr("kill may end the whole session or stop the machine")
    removal = _TABLES.package_removals.get(name)
    if removal and removal & set(argv) and any(_TABLES.essential_packages.fullmatch(text) for text in operands):
        return tr("{program} removes packages that the system needs", program=program)
    return ""


def _iter_whole_operands(
    program: str, values: tuple[Word, ...], argv: tuple[str, ...], whole: WholePaths
) -> Iterator[str]:
    """Yield the words, and values after `=`, that are a whole system folder or home folder."""
    replaces = program == "ln" and has_option(argv, "nT", ("no-dereference", "no-target-directory"))
    for word in values:
        if word.dynamic or (program in _LAST_OPERAND_WRITERS and not replaces):
            continue
        name, sign, value = word.text.partition("=")
        if sign and not _PREFIX_OPTION.fullmatch(name.lstrip("-")):
            word = Word(value, glob=word.glob)
        if word.text and not word.text.startswith("-") and _is_outermost(word, whole):
            yield word.text


def _is_outermost(word: Word, whole: WholePaths) -> bool:
    """Whether a word is a top-level system folder or a home folder, as opposed to `/usr/local/bin`."""
    trimmed = word.text.rstrip("/*.[]?") or "/"
    deep = trimmed.startswith("/") and trimmed.count("/") > 1 and not trimmed.startswith(("/home/", "/Users/"))
    return (not deep or trimmed == whole.home) and whole.is_whole(word, follows=True)


def _find_installed_target(program: str, values: tuple[Word, ...], whole: WholePaths) -> str:
    """Return a file of the installed system that a call removes or overwrites; "" for none."""
    operands = list(list_operands(values))
    if program == "dd":
        operands = [Word(word.text[3:]) for word in values if word.text.startswith("of=")]
    elif program in _OVERWRITERS - {"tee", "truncate"}:
        operands = operands[-1:] if len(operands) > 1 else []
        return next((word.text for word in operands if whole.is_essential_file(word)), "")
    elif program == "mv" and len(operands) > 1:
        if whole.is_essential_file(operands[-1]):
            return operands[-1].text
        operands = operands[:-1]
    for word in operands:
        if program in _OVERWRITERS and word.text.startswith(_TABLES.kernel_folders):
            return word.text
        below_home = word.text.removeprefix("~").removeprefix("$HOME").removeprefix(whole.home)
        if program in _REMOVERS and below_home != word.text and below_home.strip("/*") in _TABLES.irreplaceable_folders:
            return word.text
        needed = (
            word.text.startswith(_TABLES.program_folders)
            and "node_modules" not in word.text
            and "/python" not in word.text
        )
        if whole.is_essential_file(word) or (program in _REMOVERS and needed and whole.is_system_file(word)):
            return word.text
    return ""


def _find_whole_path_in_code(program: str, argv: tuple[str, ...], whole: WholePaths) -> str:
    """Return a whole folder or essential file that inline code names next to something that deletes."""
    if program not in command_risk.INTERPRETERS | _EDITORS:
        return ""
    given = any(_CODE_FLAGS.fullmatch(text) for text in argv)
    for code in argv if given or program in _EDITORS else ():
        if not _CHANGE_IN_CODE.search(code):
            continue
        literals = [next(filter(None, match.groups()), "") for match in _LITERAL_IN_CODE.finditer(code)]
        words = [word for literal in (*literals, code) for word in _WORD_IN_CODE.findall(literal)]
        for text in dict.fromkeys((*literals, *words)):
            word = Word(text, glob=True)
            separates = not text.strip("/") or (text.startswith("/*") and text not in literals)
            absolute = text.startswith(("/", "~", "$HOME")) and not separates
            if absolute and (whole.is_whole(word) or whole.is_essential_file(word)):
                return text
    return ""


_CHANGING_PROGRAMS = word_set("""
    rm rmdir unlink shred srm wipe rimraf trash trash-put truncate mv tee ln cp install rsync dd dcfldd dc3dd ddrescue
    wipefs blkdiscard badblocks fdisk sfdisk sgdisk gdisk parted mkswap cryptsetup diskutil split csplit gio scp
    gzip gunzip bzip2 xz zstd patch
    """)
"""Programs that delete or overwrite all operands. Those in `_COPYING_PROGRAMS` only read all but the last."""
_COPYING_PROGRAMS = word_set("cp install rsync ln scp dd dcfldd dc3dd ddrescue")
_PERMISSION_PROGRAMS = word_set("chmod chown chgrp setfacl chattr")
_OUTPUT_OPTIONS = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "sort": ("-o", "--output"),
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
}
"""Options whose value is a file or folder to write."""
_PARALLEL_PROGRAMS = word_set("parallel rush")
_KILL_BY_NAME = word_set("pkill killall skill")
_IN_PLACE_EDITORS = word_set("sed gsed perl ruby")
_ASKED_IF_COMPOSED = word_set("kill systemctl init telinit loginctl docker podman nerdctl zpool")
"""Programs on the never-list for other reasons than a path. Asked about only if their arguments are computed."""
_PRINTERS = word_set("echo printf")
_TEXT_FILTERS = word_set(
    "sed awk gawk mawk tr cut rev printf base64 base32 basenc xxd od head tail fold fmt tac paste column openssl perl"
    " python python3 ruby nl expand sort uniq cat hexdump dd iconv gzip gunzip zcat"
)
_DISK_MAKERS = ("mkfs", "mke2fs", "newfs")

_NUMBER_PARAMETER = LazyRegex(
    r"\$(?:[$!?#]|\{#\w+\}|\{?(?:RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|PPID|UID|EUID|LINENO)\b\}?)"
)
_ARITHMETIC = LazyRegex(r"\$\(\((?:[^()$`]|\$\w+|\$\{\w+\}|\([^()]*\))*\)\)")
_PROCESS_SUBSTITUTION = LazyRegex(r"[<>]\([^()]*\)")
_DATE_FORMAT = LazyRegex(r"\+(?:%[YmdHMSsFTjuVy]|[\w.:-])+")
_LINE_COUNT = LazyRegex(r"-(?:n\s*)?\d+|--lines=\d+")
_SHELL_VARIABLE = LazyRegex(r"[-_0]|BASH\w*|OLDPWD|PWD|DIRSTACK|IFS|REPLY|OPTARG|PIPESTATUS|FUNCNAME|MAPFILE|COPROC")
_MAX_DEPTH = 3
_MAX_VALUES = 64
_OUTPUT_PLACEHOLDER = "name"


def find_unknown_target(line: CommandLine, text: str, start: str, home: str, depth: int = 0) -> str:
    """What a line would delete or overwrite at a location it does not determine, as the reason of a question; "" for
    none.

    Args:
        text: the line as typed.
        start: the folder it starts in.
        home: the user's home folder.
        depth: number of nested shells around the line.
    """
    expansion = Expansion(line, text, start, home)
    known = _TargetAnalysis(expansion, line, text, start, home)
    for redirect in line.redirects:
        if redirect.writes and not known.is_determined(redirect.target):
            return tr("overwrites {text!r}, which is computed at run time", text=redirect.target.text)
    for command in line.commands:
        if why := known.explain(command):
            return why
    for script in line.runtime_scripts:
        if known.is_composed(script.text):
            return tr("runs {text!r}, which is built at run time", text=script.text)
        inner = parse_command_line(script.text)
        filled = "$" not in script.text and "`" not in script.text  # then xargs or find inserts names
        if filled and any(_list_targets(each.program, each) for each in inner.commands):
            return tr("runs {text!r}, which contains names computed at run time", text=script.text)
        for each in expansion.expand_script(script) if depth < _MAX_DEPTH and not filled else ():
            if why := find_unknown_target(parse_command_line(each), each, start, home, depth + 1):
                return why
    return ""


class _TargetAnalysis:
    """What is known about the words of one line."""

    def __init__(self, expansion: Expansion, line: CommandLine, text: str, start: str, home: str) -> None:
        self._expansion = expansion
        self._line = line
        self._text = text
        self._start, self._home = start, home

    def explain(self, command: SimpleCommand) -> str:
        """Why a call may delete or overwrite an unknown target; "" if it does not."""
        if not command.words:
            return ""
        fed = set(command.upstream)
        reads_shell_text = command.program in SHELLS | SCRIPT_BUILTINS and len(command.words) == 1
        sources = [each for each in self._line.commands if each.program in fed]
        made = fed & _TEXT_FILTERS and fed <= _TEXT_FILTERS | _PRINTERS and any(map(_is_processing_text, sources))
        if reads_shell_text and made:
            return tr("{program} runs text built at run time", program=command.program)
        first = command.words[0]
        if first.dynamic and self._is_undetermined(first) and (why := self._explain_program(command)):
            return why
        for program in self._list_programs(first):
            targets = _list_targets(program, command)
            unknown = next((word for word in targets if not self.is_determined(word, command)), None)
            if unknown is not None:
                subject = tr("piped input") if unknown.text == "$INPUT" else repr(unknown.text)
                return tr(
                    "{program} would delete or overwrite {subject}, which is computed at run time",
                    program=program,
                    subject=subject,
                )
            if targets and (command.folders is None or any("$" in one or "`" in one for one in command.folders)):
                anywhere = WholePaths(("/", self._home), self._start, self._home)
                if found := next((word for word in targets if anywhere.is_whole(word)), None):
                    return tr(
                        "{program} would delete or overwrite {text!r} in a folder computed at run time",
                        program=program,
                        text=found.text,
                    )
            by_text = program in _ASKED_IF_COMPOSED or program.startswith(_DISK_MAKERS)
            made = next((word for word in command.words[1:] if by_text and self.is_composed(word.text)), None)
            if made is not None:
                return tr("{program} receives {text!r}, which is built at run time", program=program, text=made.text)
        return ""

    def _list_programs(self, first: Word) -> list[str]:
        texts = [value.text for value in self._expansion.expand_word(first)] if first.dynamic else [first.text]
        return list(dict.fromkeys(text.rsplit("/", 1)[-1] for text in texts))

    def _explain_program(self, command: SimpleCommand) -> str:
        """Why a call of an unknown program may delete a whole folder."""
        name = command.words[0].text
        inner = list(iter_substitutions(name))
        if inner and all(_is_program_lookup(text) for text in inner):
            return ""
        whole = WholePaths(command.folders or ("",), self._start, self._home)
        for word in command.words[1:]:
            if any(whole.is_whole(value) for value in self._expansion.expand_word(word)) or self.is_composed(word.text):
                return tr("{name!r} is computed at run time, and would receive {text!r}", name=name, text=word.text)
        return tr("{name!r} is built at run time", name=name) if self.is_composed(name) else ""

    def is_determined(self, word: Word, command: SimpleCommand | None = None) -> bool:
        """Whether the line determines what a path may expand to, so that the never-list has judged it."""
        if not word.dynamic:
            return True
        if "INPUT" in list_variable_names(word.text) or "{}" in word.text:
            # Such a name is relative or below a plain folder, unless something is put in front of it.
            placed = word.text.startswith(("/", "~", "..")) or "/.." in word.text
            return command is not None and not placed and self._has_determined_input(command)
        return not self._is_undetermined(word, command)

    def is_composed(self, text: str, depth: int = 0) -> bool:
        """Whether a word contains the output of commands that only compose text."""
        for inner in iter_substitutions(text):
            commands = parse_command_line(inner).commands
            only_text = all(each.program in _PRINTERS | _TEXT_FILTERS for each in commands)
            if only_text and any(map(_is_processing_text, commands)) and not self._is_determined_output(inner, depth):
                return True
        if depth > _MAX_DEPTH:
            return False
        values = [value for name in list_variable_names(text) for value in self._expansion.get_assigned_values(name)]
        return any(self.is_composed(value, depth + 1) for value in values)

    def _is_undetermined(self, word: Word, command: SimpleCommand | None = None) -> bool:
        """Whether a path may expand to something that the line does not determine, or to a whole folder."""
        closed = self._resolve_known_parts(word.text, command, 0)
        if closed is None:
            return True
        if f"{_OUTPUT_PLACEHOLDER}/.." in closed:
            return True  # the parent of a folder named by an output
        values = self._expansion.expand_word(Word(closed, dynamic=True, glob=word.glob))
        if len(values) >= _MAX_VALUES or any(value.dynamic for value in values):
            return True
        # An output that may be empty leaves only the path before or after it.
        whole = WholePaths((command.folders if command else None) or ("",), self._start, self._home)
        emptied = (
            closed.replace(_OUTPUT_PLACEHOLDER, "")
            if _OUTPUT_PLACEHOLDER in closed and _OUTPUT_PLACEHOLDER not in word.text
            else ""
        )
        rest = self._expansion.expand_word(Word(emptied, dynamic=True, glob=word.glob)) if emptied else ()
        return any(whole.is_whole(value) or whole.is_everything_in(value) for value in rest)

    def _resolve_known_parts(self, text: str, command: SimpleCommand | None, depth: int) -> str | None:
        """Replace the parts of a word that are known not to matter; None if a part cannot be determined."""
        if depth > _MAX_DEPTH:
            return None
        if list_variable_names(text) and any(value.strip() for value in self._expansion.get_assigned_values("IFS")):
            return None
        text = _PROCESS_SUBSTITUTION.sub("/dev/fd/63", _NUMBER_PARAMETER.sub("1", _ARITHMETIC.sub("1", text)))
        for inner in iter_substitutions(text):
            if not self._is_determined_output(inner, depth):
                return None
            for written in (f"$({inner})", f"`{inner}`"):
                text = text.replace(written, _OUTPUT_PLACEHOLDER) if not _is_known_to_expansion(inner) else text
        for name in list_variable_names(text):
            values = self._expansion.get_assigned_values(name)
            if re.search(rf"\b{re.escape(name)}(?:\[[^\]]*\])?\+=", self._text):
                return None
            if self._expansion.is_read_by_line(name) and name not in dict(self._line.loops):
                if values or command is None or not self._has_determined_input(command):
                    return None
                text = re.sub(rf"\$\{{?{re.escape(name)}\b\}}?", _OUTPUT_PLACEHOLDER, text)
                continue
            if _SHELL_VARIABLE.fullmatch(name) and name != "PWD" and not values:
                return None
            plain = re.search(rf"\$(?:\{{{re.escape(name)}\}}|{re.escape(name)}\b)", text) is not None
            for value in values:
                if not plain and ("$" in value or "`" in value):
                    return None  # the result of a form such as `${x%/}` applied to an output is unknown
                closed = self._resolve_known_parts(value, command, depth + 1)
                if closed is None:
                    return None
                if closed != value:  # only known outputs and numbers were replaced
                    text = re.sub(
                        rf"\$(?:\{{{re.escape(name)}\}}|{re.escape(name)}\b)", closed.replace("\\", r"\\"), text
                    )
        return text

    def _is_determined_output(self, text: str, depth: int) -> bool:
        line = parse_command_line(text)
        if line.unknown or not line.commands or depth > _MAX_DEPTH:
            return False
        return self._are_outputs_determined(line.commands, depth + 1)

    def _has_determined_input(self, command: SimpleCommand) -> bool:
        """Whether the arguments from a pipe, `find -exec` or `read` are known to be below a plain folder."""
        upstream = set(command.upstream)
        if "find" in command.wrappers or "fd" in command.wrappers or "fdfind" in command.wrappers:
            upstream |= set(command.wrappers) & {"find", "fd", "fdfind"}
        if not upstream:
            return command.stdin not in (None, "", STDIN_FROM_FILE)
        sources = [each for each in self._line.commands if each is not command and each.program in upstream]
        return {each.program for each in sources} == upstream and self._are_outputs_determined(sources, 1)

    def _are_outputs_determined(self, commands: Sequence[SimpleCommand], depth: int) -> bool:
        return all(self._is_output_determined(each, depth) for each in commands)

    def _is_output_determined(self, command: SimpleCommand, depth: int) -> bool:
        """Whether a program prints only paths that the never-list judges, or names that lead nowhere else."""
        rest = command.words[1:]
        argv = command.argv[1:]
        options = tuple(text for text in argv if text.startswith("-") and text != "-")
        operands = [word for word in rest if not word.text.startswith("-")]
        determined = all(self._resolve_known_parts(word.text, None, depth) is not None for word in rest)
        match command.program:
            case "pwd" | "whoami" | "nproc" | "hostname" | "arch":
                return not operands
            case "dirname":
                inner = [
                    each.program
                    for word in rest
                    for text in iter_substitutions(word.text)
                    for each in parse_command_line(text).commands
                ]
                return determined and set(inner) <= {"pwd", "dirname", "readlink", "realpath", "which", "command"}
            case "mktemp" | "uname" | "id" | "basename" | "realpath" | "readlink" | "cd":
                return determined
            case "echo":
                return determined and not any("\\" in text for text in argv)
            case "printf":
                return determined and argv[0] in ("%s", "%s\\n", "%d", "%s\\0") and len(argv) == 2
            case "date":
                formats = [text for text in argv if text.startswith("+")]
                return determined and all(_DATE_FORMAT.fullmatch(text) for text in formats)
            case "ls":
                return determined and not command.upstream
            case "find" | "fd" | "fdfind":
                return determined and self._is_narrow_search(command)
            case "git":
                return determined and _is_name_listing(argv)
            case "rg" | "grep" | "egrep" | "fgrep" if not command.upstream:
                listing = has_option(options, "lL", ("files-with-matches", "files-without-match"))
                paths = operands[1:] or [Word(".")]
                whole = WholePaths(command.folders or ("",), self._start, self._home)
                return determined and listing and not any(map(whole.is_whole, paths))
            case "grep" | "egrep" | "fgrep" | "rg":
                return not has_option(options, "orcbnH", ("only-matching", "replace", "count", "line-number"))
            case "head" | "tail":
                joined = " ".join(argv)
                return not argv or all(_LINE_COUNT.fullmatch(part) for part in re.split(r" (?=-)", joined))
            case "sort":
                return all(re.fullmatch(r"-[urnVzf]+", text) for text in argv)
            case "uniq" | "cat" | "read" | "xargs" | "true" | ":":
                return not argv or command.program in ("read", "xargs")
            case _:
                return False

    def _is_narrow_search(self, command: SimpleCommand) -> bool:
        """Whether find prints only paths below folders that are not a whole home or system folder."""
        words = command.words[1:]
        acts = (
            "-printf",
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        )
        destroys = command.program == "find" and any(word.text in acts[:1] + acts[5:] for word in words)
        place = next((at for at, word in enumerate(words) if word.text.startswith(("-", "(", "!"))), len(words))
        starts = words[:place] if command.program == "find" else [word for word in words if "/" in word.text]
        whole = WholePaths(command.folders or ("",), self._start, self._home)
        values = [value for word in starts or (Word("."),) for value in self._expansion.expand_word(word)]
        return not destroys and not any(whole.is_whole(value, follows=True) for value in values)


def _list_targets(program: str, command: SimpleCommand) -> tuple[Word, ...]:
    """Return the words that name what a call deletes or overwrites."""
    rest = command.words[1:]
    argv = command.argv[1:]
    options = tuple(text for text in argv if text.startswith("-"))
    if program in _OUTPUT_OPTIONS:
        return tuple(
            word
            for at, word in enumerate(rest)
            if (at and argv[at - 1] in _OUTPUT_OPTIONS[program])
            or word.text.startswith(tuple(f"{o}=" for o in _OUTPUT_OPTIONS[program]))
        )
    if program.startswith(_DISK_MAKERS):
        return rest
    if program in _KILL_BY_NAME:
        return list_operands(rest, valued=KILL_VALUE_OPTIONS)
    if program in _IN_PLACE_EDITORS and has_option(options, "i", ("in-place",)):
        return list_operands(rest)[1:]
    if program in _PARALLEL_PROGRAMS and any(text in _CHANGING_PROGRAMS for text in argv):
        return rest if ":::" in argv else (*rest, Word("$INPUT", dynamic=True))
    if program == "find" and ("-delete" in argv or any(text in ("-exec", "-execdir") for text in argv)):
        place = next((at for at, text in enumerate(argv) if text.startswith(("-", "(", "!"))), len(rest))
        return rest[:place] if "-delete" in argv else ()
    if program == "git":
        return rest if "clean" in argv else ()
    if program in _PERMISSION_PROGRAMS:
        return (
            tuple(word for word in rest if not word.text.startswith("-"))[1:]
            if has_option(options, "R", ("recursive",))
            else ()
        )
    if program not in _CHANGING_PROGRAMS:
        return ()
    if program in ("dd", "dcfldd", "dc3dd"):
        return tuple(word for word in rest if word.text.startswith("of=") or word.text.startswith("$"))
    if program in _COPYING_PROGRAMS:
        aimed = any(text.startswith(("-t", "--target-directory", "--del", "--remove-s")) for text in options)
        return rest if aimed else rest[-1:]
    return rest


def _is_processing_text(command: SimpleCommand) -> bool:
    """Whether a call processes text given in the line, and not the content of a file."""
    given = command.stdin not in (None, STDIN_FROM_FILE)
    own = any("BEGIN" in text or text.startswith(("-c", "-e")) for text in command.argv[1:])
    return command.program in _PRINTERS or given or (own and command.program not in ("head", "tail", "cut", "sed"))


def _is_known_to_expansion(text: str) -> bool:
    """Whether `Expansion` knows the values of a substitution by itself."""
    commands = parse_command_line(text).commands
    return len(commands) == 1 and commands[0].program in (
        "pwd",
        "echo",
        "dirname",
        "basename",
        "realpath",
        "readlink",
        "ls",
    )


def _is_program_lookup(text: str) -> bool:
    """Whether a substitution prints the path of a program whose name it contains."""
    commands = parse_command_line(text).commands
    return len(commands) == 1 and commands[0].program in ("which", "command", "type") and not commands[0].dynamic


def _is_name_listing(argv: Sequence[str]) -> bool:
    """Whether a git call prints names inside its repository, a branch name, or a hash."""
    subcommand = argv[0] if argv else ""
    if subcommand == "rev-parse":
        return all(text.startswith(("--short", "--show-toplevel", "--abbrev-ref", "HEAD")) for text in argv[1:])
    if subcommand == "ls-files":
        plain = word_set("-o --others --exclude-standard -i --ignored -m --modified -d --deleted -c --cached -z --")
        return all(text in plain or not text.startswith("-") for text in argv[1:])
    return subcommand == "diff" and "--name-only" in argv
