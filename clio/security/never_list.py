"""Commands refused in every approval mode, because no session needs them and their damage cannot be undone."""

import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from clio.security import command_risk as tables
from clio.security.command_risk import has_option
from clio.security.readonly.system_programs import PROGRAMS
from clio.security.shell.command_line import CommandLine, SimpleCommand, Word, word_set
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import SHELLS
from clio.security.targets import (
    Expansion,
    WholePaths,
    is_device,
    is_disk,
    is_matching_many_processes,
    is_narrowed_find,
    list_mounts,
    list_operands,
    map_to_machine,
    read_option_values,
)
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

_MAX_DEPTH = 2
"""Nested scripts (`sh -c`, `eval`) that are parsed and checked."""
_STOP_PROGRAMS = frozenset({"shutdown", "reboot", "halt", "poweroff"})
# Searched in the raw text where the parser cannot look: code in other languages and scripts built at run time.
_DESTRUCTIVE_TEXT = LazyRegex(
    r"\brm\s{1,9}(?:-\S{1,40}\s{1,9}){0,9}-\w{0,20}[rR]\w{0,20}\s{1,9}(?:-\S{1,40}\s{1,9}){0,9}[\"']?(?:/|~|\$HOME|\$\{HOME\})/?[\"']?\*?(?=[\s;&|)\"']|$)"
    r"|\bmkfs(?:\.\w{1,20})?\s{1,9}(?:-\S{1,40}\s{1,9}){0,9}/dev/|\bdd\s[^\n;|&]{0,400}\bof=/dev/(?:sd|hd|vd|nvme|disk|mmcblk)"
    r"|:\(\)\s*\{\s*:\s*\|\s*:|>\s*/dev/(?:sd|hd|vd|nvme|disk|mmcblk)"
    r"|\b(?:rmtree|rm(?:dir)?(?:Sync)?|rm_r[f]?|remove(?:Sync|_tree|_dir_all|_entry_secure)?|rimraf(?:\.sync)?|RemoveAll)"
    r"\(?\s*r?[\"'`](?:/|~)/?[\"'`]"
)
_ENDLESS_LOOP = LazyRegex(
    r"\b(?:while|until)\s+(?:true|false|:|1|\[ 1 \]|\(\(\s*1\s*\)\))\s*[;\n]\s*do\b(?P<body>.{0,400}?)\bdone\b"
    r"|\bfor\s*\(\(\s*;\s*;\s*\)\)\s*[;\n]?\s*do\b(?P<other>.{0,400}?)\bdone\b",
    re.DOTALL,
)
_BACKGROUND = LazyRegex(r"(?<![&>|])&(?![&>|\d])")
_PAUSE_OR_END = LazyRegex(r"\b(?:sleep|wait|read|inotifywait|break|exit)\b")
_ENDLESS_FORK = LazyRegex(
    r"(?:while|until)\s*\(?\s*(?:1|true|True)\b.{0,80}\bfork\b|\bfork\b.{0,40}\bwhile\b\s*\(?(?:1|true)|\bloop\b.{0,20}\bfork\b"
    r"|for\s*\(\s*;\s*;\s*\).{0,40}\bfork\b|\bfork\s+and\s+redo\b",
    re.DOTALL,
)
_SELF_START = LazyRegex(
    r"(?:\$0|\$\{0\}|\$BASH_SOURCE)[\"']?\s*(?:\||&(?!&)).{0,20}(?:\$0|\$\{0\}|\$BASH_SOURCE)", re.DOTALL
)
# What follows is for `has_endless_starts`, after which clio asks; the patterns above make it refuse.
_LOOP = LazyRegex(
    r"\b(?P<kind>while|until)\b(?P<test>.{0,400}?)[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b"
    r"|\bfor\s*\(\((?P<sum>.{0,200}?)\)\)\s*[;\n]?\s*(?:do\b|\{)(?P<body2>.{0,2000}?)(?:\bdone\b|\})"
    r"|\bfor\s+\w+\s+in\s+(?P<items>[^;\n]{0,400})[;\n]\s*do\b(?P<body3>.{0,2000}?)\bdone\b",
    re.DOTALL,
)
_LOOP_WORD = LazyRegex(r"\b(?:while|until|for)\b")
_MAX_LOOPS = 200
_BACKGROUND_START = LazyRegex(r"(?<![&>|<])&(?![&>|\d])|\b(?:setsid|daemonize|disown|systemd-run|start-stop-daemon)\b")
_LOOP_END = LazyRegex(r"\b(?:wait|break|exit|return)\b")
_ENDLESS_INPUT = LazyRegex(r"\byes\b|\bseq\b|/dev/(?:zero|u?random)|\{\d+\.\.\d{4,}")
_LONG_RANGE = LazyRegex(r"\{-?\d+\.\.-?\d{4,}|\bseq\b[^|;)]*\d{4,}|\byes\b")
_PARALLEL_WITHOUT_LIMIT = LazyRegex(r"(?:-P|--max-procs[= ]?|-j|--jobs[= ]?)\s*0\b|-\w*P0\b")


def explain_forbidden_command(line: CommandLine, text: str, start: str, home: str, depth: int = 0) -> str | None:
    """Why a line must not run even in mode "all"; None if the other rules may judge it.

    Args:
        text: the line as typed.
        start: the folder the line starts in.
        home: the user's home folder.
        depth: number of nested shells around the line.
    """
    if line.fork_bomb or _is_fork_bomb(line, text):
        return tr("starts itself endlessly (a fork bomb)")
    expansion = Expansion(line, text, start, home)
    for redirect in line.redirects:
        if not redirect.writes:
            continue
        for target in expansion.expand_word(redirect.target):
            for folder in redirect.folders or (start,):
                if is_device(posixpath.join(start, folder, target.text)):
                    return tr("writes to the device {text}", text=redirect.target.text)
            # Appending to a file leaves its content.
            empties = ">>" not in redirect.operator and redirect.operator != "<>"
            whole = WholePaths(redirect.folders or ("",), start, home)
            if empties and not target.dynamic and whole.is_essential_file(target):
                return tr("overwrites the system file {text!r}", text=target.text)
    for command in line.commands:
        if reason := _CommandJudge(command, expansion, start, home).explain():
            return reason
    for script in line.runtime_scripts if depth < _MAX_DEPTH else ():
        for each in expansion.expand_script(script):
            if reason := explain_forbidden_command(parse_command_line(each), each, start, home, depth + 1):
                return reason
    # The crude pattern has false positives (quoted text), so it is used only for lines that were not fully parsed.
    unseen = line.unknown or any(map(_is_running_unseen_code, line.commands))
    if unseen and _DESTRUCTIVE_TEXT.search(text):
        return tr("contains a command that destroys a whole disk or home folder")
    return None


def _is_fork_bomb(line: CommandLine, text: str) -> bool:
    """Whether a line starts processes without end: a loop with `&` and no pause, or a script that runs itself twice."""
    for loop in _ENDLESS_LOOP.finditer(text):
        body = loop["body"] or loop["other"] or ""
        if _BACKGROUND.search(body) and not _PAUSE_OR_END.search(body):
            return True
    if _SELF_START.search(text):
        return True
    return any(map(_is_running_unseen_code, line.commands)) and _ENDLESS_FORK.search(text) is not None


def has_endless_starts(text: str) -> bool:
    """Whether a loop starts a background process in each iteration, and nothing visible ends it."""
    starts = _BACKGROUND_START.search(text) is not None
    # The pattern is slow for very many loops within each other, which no ordinary line has.
    if starts and len(_LOOP_WORD.findall(text)) > _MAX_LOOPS:
        return True
    for loop in _LOOP.finditer(text) if starts else ():
        body = loop["body"] or loop["body2"] or loop["body3"] or ""
        if not _BACKGROUND_START.search(body) or _LOOP_END.search(body):
            continue
        reads = re.search(r"\bread\b", loop["test"] or "") is not None
        if loop["items"] is not None and not _LONG_RANGE.search(loop["items"]):
            continue
        if reads and not _ENDLESS_INPUT.search(text):
            continue
        return True
    return ("xargs" in text or "parallel" in text) and bool(
        _PARALLEL_WITHOUT_LIMIT.search(text) and re.search(r"\b(?:seq|yes)\b|\.\.\d{3,}", text)
    )


_EDITORS_AND_AWKS = word_set("awk gawk mawk nawk vim vi nvim ex ed emacs")


def _is_running_unseen_code(command: SimpleCommand) -> bool:
    """Whether a command runs code the parser has not seen: input piped to a shell, or a program given to an
    interpreter.
    """
    text = any(word.text.startswith(("-c", "-e", "-r", "-E", "--eval")) for word in command.words[1:])
    if command.program in SHELLS and command.upstream:
        return True
    fed = tables.is_program_fed(command)
    return command.program in _EDITORS_AND_AWKS or fed or (command.program in tables.INTERPRETERS and text)


_PACKAGE_RUNNERS = word_set("npx pnpx bunx")
_FD_EXEC_OPTIONS = word_set("-x --exec -X --exec-batch")
_FD_VALUE_OPTIONS = word_set(
    "-t --type -d --max-depth --min-depth -E --exclude -e --extension -S --size -j --threads -o --owner"
)
_REMOVAL_PROGRAMS = frozenset(
    {"rm", "unlink", "shred", "srm", "wipe", "rimraf", "trash", "trash-put", "truncate", "rmdir", "mv"}
)
_PERMISSION_PROGRAMS = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"})
_COMPRESSORS = word_set("gzip bzip2 xz zstd lzma lz4 compress pigz pbzip2 pxz")
_MODE_WITHOUT_ACCESS = LazyRegex(r"0*[0-7]?[0-7]?[0-6]?|[ugoa]*[-=][rwxX]*|[ugoa]*=")
_FORMATTERS = ("mkfs", "mke2fs", "mkdosfs", "mkntfs", "mkswap", "newfs", "mkreiserfs", "mkudffs", "mkexfatfs")
_DEVICE_READERS = (PROGRAMS.keys() - {"uniq"}) | word_set(
    """
    mount umount lsblk blkid file stat ls head tail hexdump xxd od strings md5sum sha256sum smartctl df findmnt lsof
    udevadm fsck e2fsck dumpe2fs blockdev test [ echo printf cat grep find docker podman ssh fuser eject sort wc cmp
    diff git
    """
)
_DISPLAY_ARGUMENTS = {
    "fdisk": ("-l", "--list", "-s", "-x"),
    "sfdisk": ("-l", "--list", "-d", "--dump", "-s", "-J", "--json"),
    "sgdisk": ("-p", "--print", "-i", "--info", "-v", "--verify"),
    "gdisk": ("-l",),
    "parted": ("-l", "--list", "print"),
    "badblocks": ("-v", "-s", "-sv", "-b"),
    "hdparm": ("-I", "-i", "-t", "-T", "-tT", "-g", "-C"),
    "wipefs": ("-n", "--no-act"),
    "cryptsetup": ("luksDump", "isLuks", "status", "open", "luksOpen", "close"),
    "tune2fs": ("-l",),
    "nvme": ("list", "id-ctrl", "id-ns", "smart-log"),
    "diskutil": ("list", "info", "mount", "unmount", "eject"),
    "losetup": ("-a", "-l", "-f", "-d", "--list", "--find", "--detach", "--show"),
    "mdadm": ("--detail", "-D", "--examine", "-E"),
}
"""Disk programs, with the arguments that make them only display information."""
_LAST_OPERAND_WRITERS = frozenset({"cp", "mv", "install", "rsync", "ln", "qemu-img", "ddrescue", "scp"})
_OUTPUT_OPTIONS = {
    "pv": ("-o", "--output"),
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "sort": ("-o", "--output"),
    "tar": ("-f", "--file"),
    "dd": ("of",),
    "dcfldd": ("of",),
    "dc3dd": ("of", "hof", "wipe"),
}
_DEVICE_WRITERS = (
    _LAST_OPERAND_WRITERS | _OUTPUT_OPTIONS.keys() | {"tee", "truncate", "shred", "wipefs", "blkdiscard", "badblocks"}
)
_DISKUTIL_ERASERS = ("erase", "partitiondisk", "zerodisk", "randomdisk", "secureerase", "reformat", "deletecontainer")
_NUMBER_RANGE = LazyRegex(r"\{(\d+)\.\.(\d+)\}")


class _CommandJudge:
    """One simple command with its words expanded."""

    def __init__(self, command: SimpleCommand, expansion: Expansion, start: str, home: str) -> None:
        self.command = command
        self.expansion = expansion
        folders = command.folders if command.folders is not None else expansion.folders
        self.whole = WholePaths(tuple(map(expansion.follow_link, folders)), start, home)
        self.start, self.home = start, home
        self.words = command.words
        self.rest: tuple[Word, ...] = ()
        self.argv: tuple[str, ...] = ()
        self.operands: tuple[Word, ...] = ()

    def explain(self) -> str | None:
        """Why the command must never run; None if it may."""
        words = self.words
        while words:
            values = self.expansion.expand_word(words[0])
            known = [place for place, value in enumerate(values) if not value.dynamic]
            self.words = words = words[1:]
            after = tuple(each for word in words for each in self.expansion.expand_word(word))
            for place in known:
                self.rest = (*values[place + 1 :], *after)
                self.argv = tuple(word.text for word in self.rest)
                self.operands = list_operands(self.rest)
                if why := self._explain_named(values[place]):
                    return why
            if known and not any(values[place].text in _PACKAGE_RUNNERS for place in known):
                break  # otherwise the word may expand to nothing, and the next word is the program
            while known and words and words[0].text.startswith("-"):
                words = words[1:]
        return None

    def _explain_named(self, first: Word) -> str | None:
        """Why the call of the program with this name must never run; None if it may."""
        name = first.text.rsplit("/", 1)[-1]
        if name[:1] == "g" and name[1:] in _CHECKS:
            name = name[1:]  # GNU programs are installed with a `g` prefix on BSD and macOS: `grm`
        found = [each for each in _CHECKS if fnmatchcase(each, name)] if first.glob else [name]
        whys = (self._explain_program("mkfs" if each.startswith(_FORMATTERS) else each) for each in found)
        return next(filter(None, whys), None)

    def _explain_program(self, program: str) -> str | None:
        check = _CHECKS.get(program)
        return (check(self, program) if check is not None else None) or self._explain_device_write(program)

    # Checks for removing a whole folder, or changing its permissions.

    def check_removal(self, program: str) -> str | None:
        """Reject removing a whole folder, or changing its permissions recursively."""
        options = tuple(text for text in self.argv if text.startswith("-"))
        may_recurse = any(word.dynamic and not word.text.startswith("/") and word.glob for word in self.words)
        recursive = has_option(options, "R" if program == "chattr" else "rR", ("recursive", "no-preserve-root"))
        always = program in ("rimraf", "trash", "trash-put", "srm", "wipe", "mv")
        operands = self.operands[1:] if program in _PERMISSION_PROGRAMS - {"setfacl"} else self.operands
        # `chmod 000 /` without -R locks everyone out as well.
        shuts = program == "chmod" and any(_MODE_WITHOUT_ACCESS.fullmatch(text) for text in self.argv)
        shuts = shuts or (program == "chattr" and any(re.fullmatch(r"[+=]\w*i\w*", text) for text in self.argv))
        for word in operands:
            if shuts and self.whole.is_whole(word):
                return tr("{program} would lock everyone out of {text!r}", program=program, text=word.text)
            if self.whole.is_everything_in(word) or ((recursive or always) and self.whole.is_whole(word)):
                return tr("{program} would remove or change all of {text!r}", program=program, text=word.text)
            if may_recurse and not word.dynamic and self.whole.is_whole(word):
                return tr("{program} would remove or change all of {text!r}", program=program, text=word.text)
        fed = self.expansion.find_whole_input(self.command, self.whole)
        if fed and (recursive or always or program in _REMOVAL_PROGRAMS):
            return tr("{program} would remove or change all of {fed!r}", program=program, fed=fed)
        return None

    def check_move(self, program: str) -> str | None:
        """Reject moving a whole folder away."""
        aimed = any(text.startswith(("-t", "--target-directory")) for text in self.argv)
        sources = self.operands if aimed else self.operands[:-1]
        found = next((word for word in sources if self.whole.is_whole(word) or self.whole.is_everything_in(word)), None)
        fed = self.expansion.find_whole_input(self.command, self.whole)
        name = found.text if found else fed
        return tr("mv would remove or change all of {name!r}", name=name) if name else None

    def check_overwrite(self, program: str) -> str | None:
        if program == "shred" and (why := self.check_removal(program)):
            return why
        found = next((word for word in self.operands if self.whole.is_system_file(word)), None)
        return (
            tr("{program} would destroy the system file {text!r}", program=program, text=found.text)
            if found
            else self.check_removal(program)
        )

    def check_find(self, program: str) -> str | None:
        """Reject `find / -delete` and similar searches over a whole folder."""
        # Search folders come before the first test; only -H, -L and -P may precede them.
        starts: list[Word] = []
        for word in self.rest:
            if word.text.startswith(("-", "(", "!")) and word.text not in ("-H", "-L", "-P", "--"):
                break
            if not word.text.startswith("-"):
                starts.append(word)
        if not _is_destroying_find(self.argv) or is_narrowed_find(self.argv, self.whole):
            return None
        found = next((word for word in starts or [Word(".")] if self.whole.is_whole(word, follows=True)), None)
        if found is None:
            found = next((word for word in starts if self.whole.is_everything_in(word)), None)
        return tr("find would delete all of {text!r}", text=found.text) if found else None

    def check_fd(self, program: str) -> str | None:
        """Reject `fd pattern folder -X rm` if it removes the contents of a whole folder."""
        place = next((at for at, text in enumerate(self.argv) if text in _FD_EXEC_OPTIONS), len(self.argv))
        if not any(
            text.rsplit("/", 1)[-1] in _REMOVAL_PROGRAMS | _PERMISSION_PROGRAMS for text in self.argv[place + 1 :]
        ):
            return None
        operands = list_operands(self.rest[:place], _FD_VALUE_OPTIONS)
        narrow = any(re.search(r"\w{2}", word.text) for word in operands[:1]) or "-e" in self.argv[:place]
        starts = operands[1:] or (Word("."),)
        found = next((word for word in starts if not narrow and self.whole.is_whole(word, follows=True)), None)
        return (
            tr("{program} would remove or change all of {text!r}", program=program, text=found.text) if found else None
        )

    def check_archiver(self, program: str) -> str | None:
        """Reject `zip -m` and `7z a -sdel`, which delete files after adding them to the archive."""
        options = tuple(text for text in self.argv if text.startswith("-"))
        removes = has_option(options, "m", ("move",)) if program == "zip" else "-sdel" in options
        found = next((word for word in self.operands if removes and self._is_whole_or_all_in(word)), None)
        return tr("{program} would remove all of {text!r}", program=program, text=found.text) if found else None

    def check_compressor(self, program: str) -> str | None:
        """Reject `gzip -r /`, which replaces each file by a compressed one."""
        keeps = has_option(self.argv, "ckltd", ("stdout", "keep", "list", "test", "decompress"))
        recursive = has_option(self.argv, "r", ("recursive",))
        for word in () if keeps else self.operands:
            if self.whole.is_everything_in(word) or (recursive and self.whole.is_whole(word)):
                return tr("{program} would replace all of {text!r}", program=program, text=word.text)
        return None

    def check_edit_in_place(self, program: str) -> str | None:
        """Reject `sed -i d /etc/*`, which edits all files of a folder in place."""
        options = tuple(text for text in self.argv if text.startswith("-"))
        in_place = has_option(options, "i", ("in-place",))
        found = next((word for word in self.operands if in_place and self.whole.is_everything_in(word)), None)
        return tr("{program} would change all of {text!r}", program=program, text=found.text) if found else None

    def check_trash(self, program: str) -> str | None:
        """Reject `gio trash`, `gio remove` and similar programs, which remove a folder with its contents."""
        if program in ("gio", "kioclient", "kioclient5") and self.argv[:1] not in (("trash",), ("remove",), ("move",)):
            return None
        found = next((word for word in self.operands if self._is_whole_or_all_in(word)), None)
        return (
            tr("{program} would remove or change all of {text!r}", program=program, text=found.text) if found else None
        )

    def _is_whole_or_all_in(self, word: Word) -> bool:
        return self.whole.is_whole(word) or self.whole.is_everything_in(word)

    def check_essential_file(self, program: str) -> str | None:
        """Reject overwriting a file that the system cannot run without."""
        if program == "tee":
            over = () if has_option(self.argv, "a", ("append",)) else self.operands
        elif program == "dd":
            over = tuple(map(Word, read_option_values(self.argv, ("of",))))
        else:
            over = self.operands[-1:] if self.argv and "/dev/null" in self.argv[:-1] else ()
        found = next((word for word in over if self.whole.is_essential_file(word)), None)
        return (
            tr("{program} would destroy the system file {text!r}", program=program, text=found.text) if found else None
        )

    def check_container(self, program: str) -> str | None:
        """Reject damage by a container to mounted host folders: `docker run -v /:/host image rm -rf /host`."""
        mounts = list(list_mounts(self.argv))
        if not mounts:
            return None
        for place, word in enumerate(self.rest):
            name = word.text.rsplit("/", 1)[-1]
            if name in SHELLS and place > 0:
                texts = [each.text for each in self.rest[place + 1 :] if " " in each.text]
                calls = [each.words for text in texts for each in parse_command_line(text).commands]
            else:
                calls = [self.rest[place:]] if name in _CHECKS and name not in ("docker", "podman") else []
            for call in calls:
                words = tuple(
                    Word(map_to_machine(each.text, mounts), each.dynamic, each.glob) if at else each
                    for at, each in enumerate(call)
                )
                command = SimpleCommand(words=words, written=words)
                if why := _CommandJudge(command, self.expansion, self.start, self.home).explain():
                    return tr("in a container, {why}", why=why)
        return None

    def check_sync_or_tar(self, program: str) -> str | None:
        """Reject `rsync --delete x/ /`, which empties its target, and `tar --remove-files /`."""
        if program == "tar":
            whole_operand = next((word for word in self.operands if self.whole.is_whole(word)), None)
            return (
                tr("tar would remove {text!r}", text=whole_operand.text)
                if whole_operand and "--remove-files" in self.argv
                else None
            )
        if not self.operands:
            return None
        target, sources = self.operands[-1], self.operands[:-1]
        if any(text.startswith("--del") for text in self.argv) and self.whole.is_whole(target, follows=True):
            return tr("{program} would empty {text!r}", program=program, text=target.text)
        if any(text.startswith("--remove-s") for text in self.argv) and any(map(self.whole.is_whole, sources)):
            return tr("{program} would empty {text!r}", program=program, text=sources[0].text)
        return None

    def check_git_clean(self, program: str) -> str | None:
        """Reject `git clean` with a whole system or home folder as its working tree."""
        if "clean" not in self.argv or "-n" in self.argv or "--dry-run" in self.argv:
            return None
        given = [value for name, value in self.command.env if name == "GIT_WORK_TREE"]
        where = [Word("."), *map(Word, (*given, *self.expansion.get_assigned_values("GIT_WORK_TREE")))]
        paths = self.argv[self.argv.index("clean") + 1 :]
        for place, text in enumerate(self.argv[:-1]):
            if text in ("-C", "--work-tree"):
                where.append(self.rest[place + 1])
            elif text.startswith("--work-tree="):
                where.append(Word(text.partition("=")[2]))
        where += [Word(text) for text in paths if not text.startswith("-")]
        found = next((word for word in where if self.whole.is_whole(word, follows=True)), None)
        return f"git clean would empty {found.text!r}" if found else None

    # Checks for ending processes or stopping the machine.

    def check_stop(self, program: str) -> str | None:
        """Reject stopping the machine."""
        asks = program not in _STOP_PROGRAMS and not any(
            text.removesuffix(".target")
            in ("0", "1", "6", "s", "S", *_STOP_PROGRAMS, "kexec", "emergency", "rescue", "halt", "soft-reboot")
            for text in self.argv
        )
        if program == "loginctl" and any(text.startswith(("terminate-", "kill-")) for text in self.argv):
            return tr("loginctl would kill every process of a session")
        return (
            None
            if asks or "-c" in self.argv or "--help" in self.argv
            else tr("{program} shuts down or restarts the machine", program=program)
        )

    def check_kill(self, program: str) -> str | None:
        """Reject `kill -1`, and killing a long range of process ids."""
        signal_first = self.argv[:1] and re.fullmatch(r"-(?:\d+|[A-Z][A-Z\d+-]*|[a-z]+)", self.argv[0])
        targets = self.argv[1:] if signal_first and len(self.argv) > 1 else self.argv if "--" in self.argv else ()
        if "-1" in targets:
            return tr("kill would kill every process")
        for word in self.words:
            numbers = _NUMBER_RANGE.search(word.text) if word.dynamic else None
            if numbers and int(numbers[2]) - int(numbers[1]) > 100:
                return tr("kill would kill every process")
        return tr("kill would kill every process") if self.expansion.has_all_processes_as_input(self.command) else None

    def check_kill_by_name(self, program: str) -> str | None:
        return (
            tr("{program} would kill every process", program=program)
            if is_matching_many_processes(program, self.rest)
            else None
        )

    def check_fuser(self, program: str) -> str | None:
        """Reject `fuser -k /`, which kills every process that has a file there open or runs from there."""
        ends = has_option(tuple(text for text in self.argv if text.startswith("-")), "k", ("kill",))
        found = next((word for word in self.operands if ends and self._is_whole_or_all_in(word)), None)
        return (
            tr("{program} would kill every process that uses {text!r}", program=program, text=found.text)
            if found
            else None
        )

    def check_kill_all(self, program: str) -> str | None:
        return tr("{program} would kill every process", program=program)

    # Checks for writing to a disk below its file system.

    def check_format(self, program: str) -> str | None:
        """Reject formatting anything but an ordinary file; formatting a file is how disk images are made."""
        if self.argv in (("--help",), ("-V",), ("--version",)):
            return None
        open_words = any(word.dynamic or "=" in word.text[1:] for word in self.operands)
        devices = any(self._is_device(word.text, strictly=True) for word in self.rest)
        return tr("{program} formats a disk", program=program) if not self.operands or open_words or devices else None

    def check_diskutil(self, program: str) -> str | None:
        found = next((text for text in self.argv if text.casefold().startswith(_DISKUTIL_ERASERS)), None)
        return tr("{program} {found} destroys a disk", program=program, found=found) if found else None

    def check_volume(self, program: str) -> str | None:
        destroys = program in ("vgremove", "pvremove", "pvcreate") or "destroy" in self.argv
        return tr("{program} destroys a volume", program=program) if destroys else None

    def check_devices_only(self, program: str) -> None:
        """Return None: these programs are judged only by the devices they name."""

    def _explain_device_write(self, program: str) -> str | None:
        """Why a program writes to a device it names; None if it does not."""
        if program == "find":
            files = read_option_values(self.argv, ("-fprint", "-fprint0", "-fprintf", "-fls"))
            written = next((text for text in files if self._is_device(text, strictly=True)), None)
            return tr("find writes to the device {written}", written=written) if written else None
        if program in _DEVICE_READERS:
            return None
        display_arguments = _DISPLAY_ARGUMENTS.get(program, ())
        overwrites = program == "badblocks" and {"-w", "-n"} & set(self.argv)
        if not overwrites and any(text in display_arguments for text in self.argv):
            return None
        texts = list(self.argv)
        if program in _OUTPUT_OPTIONS:
            texts = read_option_values(self.argv, _OUTPUT_OPTIONS[program])
        elif program in _LAST_OPERAND_WRITERS:
            texts = [
                *(word.text for word in self.operands[-1:]),
                *read_option_values(self.argv, ("-t", "--target-directory")),
            ]
        values = [text.partition("=")[2] if "=" in text else text for text in texts]
        writes = program in _DEVICE_WRITERS
        found = next((text for text in values if self._is_device(text, strictly=writes)), None)
        return tr("{program} writes to the device {found}", program=program, found=found) if found else None

    def _is_device(self, text: str, *, strictly: bool = False) -> bool:
        known = is_device if strictly else is_disk
        return any(known(posixpath.join(folder, text)) for folder in self.whole.folders)


def _is_destroying_find(argv: tuple[str, ...]) -> bool:
    """Whether a find call deletes what it finds, itself or through a program it starts."""
    executes = any(text in ("-exec", "-execdir", "-ok", "-okdir") for text in argv)
    destroys = any(
        text.rsplit("/", 1)[-1] in _REMOVAL_PROGRAMS | _PERMISSION_PROGRAMS | _COMPRESSORS | {"dd"} for text in argv
    )
    destroys = destroys or ("/dev/null" in argv and any(text in ("cp", "install", "ln", "tee") for text in argv))
    scripted = any(re.search(r"\b(?:rm|unlink|shred|truncate|mv|chmod|chown)\b", text) for text in argv if " " in text)
    return "-delete" in argv or (executes and (destroys or scripted))


_Check = Callable[[_CommandJudge, str], str | None]
_CHECKS: dict[str, _Check] = {
    **dict.fromkeys(_PERMISSION_PROGRAMS, _CommandJudge.check_removal),
    **dict.fromkeys(("rm", "unlink", "rimraf", "srm", "wipe", "trash", "trash-put"), _CommandJudge.check_removal),
    **dict.fromkeys(("truncate", "shred"), _CommandJudge.check_overwrite),
    **dict.fromkeys(_COMPRESSORS, _CommandJudge.check_compressor),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby"), _CommandJudge.check_edit_in_place),
    "mkfs": _CommandJudge.check_format,
    **dict.fromkeys(("zpool", "vgremove", "pvremove", "pvcreate"), _CommandJudge.check_volume),
    **dict.fromkeys((*_STOP_PROGRAMS, "init", "telinit", "systemctl", "loginctl"), _CommandJudge.check_stop),
    "killall5": _CommandJudge.check_kill_all,
    **dict.fromkeys(("rsync", "tar"), _CommandJudge.check_sync_or_tar),
    **dict.fromkeys(("zip", "7z", "7za", "7zr", "7zz"), _CommandJudge.check_archiver),
    **dict.fromkeys(("gio", "gvfs-trash", "kioclient", "kioclient5", "rmtrash"), _CommandJudge.check_trash),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _CommandJudge.check_container),
    "diskutil": _CommandJudge.check_diskutil,
    "find": _CommandJudge.check_find,
    **dict.fromkeys(("fd", "fdfind"), _CommandJudge.check_fd),
    "fuser": _CommandJudge.check_fuser,
    "git": _CommandJudge.check_git_clean,
    "kill": _CommandJudge.check_kill,
    **dict.fromkeys(("pkill", "killall", "skill"), _CommandJudge.check_kill_by_name),
    "mv": _CommandJudge.check_move,
    **dict.fromkeys(("dd", "tee", "cp", "install"), _CommandJudge.check_essential_file),
    **dict.fromkeys(("wipefs", "badblocks", "blkdiscard"), _CommandJudge.check_devices_only),
}
