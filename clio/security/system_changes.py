"""Finds what mode `all` asks about because it may make a system or a home unusable.

The never-list refuses what is known to destroy them. Asked about is the rest: a program not known to only read that is
given a whole system or home folder, programs that change accounts, volumes, mounts and the state of the machine in any
but a known harmless way, and loops that start processes without end. Reads the file system for links; changes nothing.
"""

import re
from collections.abc import Iterator

from clio.algorithms.late_pattern import LatePattern
from clio.security import risk_tables as tables
from clio.security.command_risk import judge_reading
from clio.security.expansion import Expansion
from clio.security.risk import has_option
from clio.security.shell.words import CommandLine, SimpleCommand, Word, names
from clio.security.targets import is_narrowed_find, operands_of
from clio.security.whole_paths import WholePaths

_COPIES = names("cp install ln scp mv rsync mkdir touch")
"""Programs that only read their operands and put something in the last; what they take away is on the never-list."""
_LOOKS = names(
    "cd pushd popd code open xdg-open export declare typeset local readonly [ [[ test exit return echo printf"
)
_PREFIX = LatePattern(r"(?i)[-\w]*prefix")
_REMOVERS = names("rm rmdir unlink shred srm wipe rimraf trash trash-put truncate mv gzip bzip2 xz")
_OVERWRITERS = names("cp install ln tee dd truncate")
_CODE_FLAGS = LatePattern(r"-\w*[cerEn]\w*|--eval|--execute|--print|-p")
_EDITORS = names("vim vi nvim ex emacs awk gawk mawk nawk")
_DELETES = LatePattern(
    r"\b(?:unlink\w*|rm\w*|remove\w*|rimraf|delete\w*|destroy\w*|truncate\w*|rename\w*|replace\(|move|mv|chmod\w*|chown\w*"
    r"|system|exec\w*|spawn\w*|popen|run|write\w*)\b",
    re.IGNORECASE,
)
_LITERALS = LatePattern(
    r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|<([^<>\n]{1,200})>|\b[qQ][qwx]?[{(/|]([^\n{}()|]{1,200})[})/|]"
)
_WORDS = LatePattern(r"[^\s\"'();,<>`]+")
_LOOP = LatePattern(
    r"\b(?P<kind>while|until)\b(?P<test>.{0,400}?)[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b"
    r"|\bfor\s*\(\((?P<sum>.{0,200}?)\)\)\s*[;\n]?\s*(?:do\b|\{)(?P<body2>.{0,2000}?)(?:\bdone\b|\})"
    r"|\bfor\s+\w+\s+in\s+(?P<items>[^;\n]{0,400})[;\n]\s*do\b(?P<body3>.{0,2000}?)\bdone\b",
    re.DOTALL,
)
_STARTS = LatePattern(r"(?<![&>|<])&(?![&>|\d])|\b(?:setsid|daemonize|disown|systemd-run|start-stop-daemon)\b")
_ENDS = LatePattern(r"\b(?:wait|break|exit|return)\b")
_ENDLESS_INPUT = LatePattern(r"\byes\b|\bseq\b|/dev/(?:zero|u?random)|\{\d+\.\.\d{4,}")
_MANY = LatePattern(r"\{-?\d+\.\.-?\d{4,}|\bseq\b[^|;)]*\d{4,}|\byes\b")
_PARALLEL_WITHOUT_LIMIT = LatePattern(r"(?:-P|--max-procs[= ]?|-j|--jobs[= ]?)\s*0\b|-\w*P0\b")

_SYSTEM_PROGRAMS: dict[str, tuple[str, ...]] = {
    "zfs": ("list", "get", "mount", "snapshot", "send", "diff", "holds", "version", "create", "userspace"),
    "zpool": ("list", "get", "status", "iostat", "history", "version", "scrub"),
    "btrfs": (
        "subvolume list",
        "subvolume show",
        "subvolume snapshot",
        "subvolume create",
        "subvolume get-default",
        "filesystem df",
        "filesystem show",
        "filesystem usage",
        "filesystem du",
        "scrub status",
        "device stats",
        "device usage",
        "version",
        "property get",
    ),
    "systemctl": (
        "status",
        "show",
        "cat",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-sockets",
        "list-jobs",
        "list-dependencies",
        "is-active",
        "is-enabled",
        "is-failed",
        "is-system-running",
        "get-default",
        "daemon-reload",
        "daemon-reexec",
        "start",
        "restart",
        "reload",
        "try-restart",
        "reload-or-restart",
        "enable",
        "reset-failed",
        "help",
        "edit",
        "link",
        "preset",
        "unmask",
        "stop",
        "disable",
    ),
    "ip": ("addr show", "a", "addr", "address", "link show", "link", "l", "route", "r", "neigh", "route show"),
    **dict.fromkeys(("iptables", "ip6tables"), ("-L", "-S", "-nL", "-nvL", "-vnL", "-C", "-A", "-I", "--list")),
    "nft": ("list",),
    "ufw": ("status", "allow", "show", "app"),
    "nmcli": ("device status", "device show", "con show", "connection show", "general", "g", "device wifi list"),
    "dmsetup": ("ls", "info", "status", "table", "deps", "targets", "version"),
    "crontab": ("-l",),
    "sysctl": ("-a", "-n", "--all", "-N"),
    "efibootmgr": ("", "-v", "--verbose"),
    "nvram": ("-p", "-xp"),
    "fwupdmgr": ("get-devices", "get-updates", "get-history", "get-remotes", "--version"),
    "launchctl": ("list", "print", "load", "start", "kickstart", "bootstrap", "blame", "version", "help"),
    "csrutil": ("status",),
    "tmutil": ("status", "listbackups", "latestbackup", "destinationinfo", "version", "startbackup", "localsnapshot"),
    "swapoff": ("--help", "--version", "-V"),
    "init": ("q", "Q", "u", "U"),
    "telinit": ("q", "Q", "u", "U"),
    "cryptsetup": (
        "luksDump",
        "isLuks",
        "status",
        "open",
        "close",
        "luksOpen",
        "luksClose",
        "luksUUID",
        "benchmark",
        "--version",
    ),
    "passwd": ("-S", "--status", "--help"),
}
"""Programs that change the machine, with the first operands, or first options, of their harmless or everyday calls."""
_ALWAYS_ASKED = names("""
    lvremove lvreduce vgremove vgreduce pvremove userdel deluser groupdel delgroup usermod chsh pivot_root switch_root
    flashrom fsfreeze asr authselect pam-auth-update grub-install grub2-install update-grub systemd-firstboot kexec
    vipw vigr visudo pwconv pwunconv chpasswd newusers xfs_repair debugfs resize2fs xfs_growfs
    """)
_NEEDED_UNITS = LatePattern(
    r"(?:sshd?|network(?:ing)?|NetworkManager|wpa_supplicant|dbus(?:-broker)?|docker|containerd|systemd-\S+|getty\S*"
    r"|gdm3?|sddm|lightdm|display-manager|polkit|udev|cron|crond|firewalld|ufw|nftables)(?:\.(?:service|socket))?"
)
_ESSENTIAL_PACKAGES = LatePattern(
    r"(?:libc6?|glibc|bash|dash|coreutils|systemd|sysvinit|init|dpkg|rpm|apt|dnf|yum|pacman|util-linux|base-files|musl"
    r"|busybox|linux-image\S*|kernel\S*|grub\S*|sudo|login|passwd|\*|\S*\*\S*)(?::\w+)?"
)
_PACKAGE_REMOVALS = {
    **dict.fromkeys(("apt", "apt-get", "aptitude"), names("remove purge --purge")),
    "dpkg": names("-r -P --remove --purge"),
    "rpm": names("-e --erase -ev"),
    **dict.fromkeys(("dnf", "yum", "zypper"), names("remove erase rm")),
    "pacman": names("-R -Rs -Rns -Rn -Rc -Rsc -Rdd"),
    "apk": names("del"),
}
_IRREPLACEABLE = names(
    ".ssh .gnupg .password-store .aws .kube Documents Desktop Pictures Music Videos Movies Downloads Library Mail"
)
"""What a home holds that nothing brings back."""
_KERNEL = ("/proc/sys", "/sys/")
_INSTALLED = (
    "/bin/",
    "/sbin/",
    "/lib",
    "/boot/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/libexec/",
)


def find_system_change(line: CommandLine, text: str, start: str, home: str) -> str:
    """Why a line may make the system or the home unusable, as a question's reason; "" where it may not.

    text: the line as typed. start: the folder it starts in. home: the user's.
    """
    if starts_without_end(text):
        return "it may start processes without end"
    expansion = Expansion(line, text, start, home)
    written = (value.text for each in line.redirects if each.writes for value in expansion.values(each.target))
    if found := next((target for target in written if target.startswith(_KERNEL)), ""):
        return f"it writes {found!r}, a setting of the kernel"
    for command in line.commands:
        if command.words and (why := _explain(command, line, expansion, start, home)):
            return why
    return ""


def _explain(command: SimpleCommand, line: CommandLine, expansion: Expansion, start: str, home: str) -> str:
    values = tuple(value for word in command.words[1:] for value in expansion.values(word))
    program = command.program
    argv = tuple(value.text for value in values)
    if why := _changes_system(program, argv, values):
        return why
    folders = command.folders if command.folders is not None else expansion.folders
    whole = WholePaths(tuple(map(expansion.follow_link, folders)), start, home)
    in_place = program in ("sed", "gsed", "perl", "ruby") and has_option(argv, "i", ("in-place",))
    if (in_place or program in _REMOVERS | _OVERWRITERS) and (found := _installed_target(program, values, whole)):
        return f"{program} may remove or write over {found!r}, which nothing brings back"
    if found := _whole_in_code(program, argv, whole):
        return f"its code names {found!r}, and may change what is there"
    if program in _SYSTEM_PROGRAMS or (program == "find" and is_narrowed_find(argv, whole)):
        return ""
    found = next((text for text in _whole_operands(program, values, argv, whole)), "")
    if found and program not in _LOOKS and isinstance(judge_reading(command, line), str):
        return f"{program} is given {found!r} as a whole, and is not known to only read it"
    return ""


def _changes_system(program: str, argv: tuple[str, ...], values: tuple[Word, ...]) -> str:
    """Why a program for the machine may make it unusable."""
    name = "mkfs" if program.startswith("mkfs") else program
    operands = [word.text for word in operands_of(values)]
    if name in _ALWAYS_ASKED and argv not in (("--help",), ("--version",)):
        return f"{program} changes accounts, volumes or the start of the machine"
    if name in _SYSTEM_PROGRAMS:
        harmless = _SYSTEM_PROGRAMS[name]
        first = argv[0] if argv else ""
        said = {first, " ".join(operands[:2]), operands[0] if operands else ""}
        if said.isdisjoint(harmless) or (name == "systemctl" and any("*" in text for text in operands)):
            return f"{program} {first} changes the system".replace("  ", " ")
        ends = name == "systemctl" and operands[0] in ("stop", "disable") if operands else False
        if ends and (unit := next(filter(_NEEDED_UNITS.fullmatch, operands[1:]), "")):
            return f"systemctl {operands[0]} takes away {unit}, which the system needs"
        if name == "ip" and any(text in ("del", "delete", "flush", "set", "down") for text in operands):
            return "ip changes the network"
    if name == "umount" and has_option(argv, "aR", ("all", "recursive")):
        return "umount takes away all file systems"
    if name == "ifconfig" and "down" in argv:
        return "ifconfig changes the network"
    if name == "kill" and any(text in ("0", "1", "-1", "-0") for text in operands_of(values)[-1:] and operands[-1:]):
        return "kill may end the whole session or machine"
    removal = _PACKAGE_REMOVALS.get(name)
    if removal and removal & set(argv) and any(_ESSENTIAL_PACKAGES.fullmatch(text) for text in operands):
        return f"{program} removes packages that the system needs"
    return ""


def _whole_operands(program: str, values: tuple[Word, ...], argv: tuple[str, ...], whole: WholePaths) -> Iterator[str]:
    """The words, and the values behind `=`, that are a whole system or home folder."""
    replaces = program == "ln" and has_option(argv, "nT", ("no-dereference", "no-target-directory"))
    for word in values:
        if word.dynamic or (program in _COPIES and not replaces):
            continue
        name, sign, value = word.text.partition("=")
        if sign and not _PREFIX.fullmatch(name.lstrip("-")):
            word = Word(value, glob=word.glob)
        if word.text and not word.text.startswith("-") and _is_outermost(word, whole):
            yield word.text


def _is_outermost(word: Word, whole: WholePaths) -> bool:
    """Whether a word is a whole folder of the system or a home; folders such as `/usr/local/bin` are not meant."""
    trimmed = word.text.rstrip("/*.[]?") or "/"
    deep = trimmed.startswith("/") and trimmed.count("/") > 1 and not trimmed.startswith(("/home/", "/Users/"))
    return (not deep or trimmed == whole.home) and whole.is_whole(word, follows=True)


def _installed_target(program: str, values: tuple[Word, ...], whole: WholePaths) -> str:
    """A file of the installed system that a call removes or writes over; "" for none."""
    operands = list(operands_of(values))
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
        if program in _OVERWRITERS and word.text.startswith(_KERNEL):
            return word.text
        kept = word.text.removeprefix("~").removeprefix("$HOME").removeprefix(whole.home)
        if program in _REMOVERS and kept != word.text and kept.strip("/*") in _IRREPLACEABLE:
            return word.text
        needed = word.text.startswith(_INSTALLED) and "node_modules" not in word.text and "/python" not in word.text
        if whole.is_essential_file(word) or (program in _REMOVERS and needed and whole.is_system_file(word)):
            return word.text
    return ""


def _whole_in_code(program: str, argv: tuple[str, ...], whole: WholePaths) -> str:
    """A whole folder, or a file no machine can be without, that inline code names beside something that deletes."""
    if program not in tables.INTERPRETERS | _EDITORS:
        return ""
    given = any(_CODE_FLAGS.fullmatch(text) for text in argv)
    for code in argv if given or program in _EDITORS else ():
        if not _DELETES.search(code):
            continue
        literals = [next(filter(None, match.groups()), "") for match in _LITERALS.finditer(code)]
        words = [word for literal in (*literals, code) for word in _WORDS.findall(literal)]
        for text in dict.fromkeys((*literals, *words)):
            word = Word(text, glob=True)
            separates = not text.strip("/") or (text.startswith("/*") and text not in literals)
            absolute = text.startswith(("/", "~", "$HOME")) and not separates
            if absolute and (whole.is_whole(word) or whole.is_essential_file(word)):
                return text
    return ""


def starts_without_end(text: str) -> bool:
    """Whether a loop starts a process in the background each time, and nothing is seen that ends it."""
    for loop in _LOOP.finditer(text):
        body = loop["body"] or loop["body2"] or loop["body3"] or ""
        if not _STARTS.search(body) or _ENDS.search(body):
            continue
        reads = re.search(r"\bread\b", loop["test"] or "") is not None
        if loop["items"] is not None and not _MANY.search(loop["items"]):
            continue
        if reads and not _ENDLESS_INPUT.search(text):
            continue
        return True
    return ("xargs" in text or "parallel" in text) and bool(
        _PARALLEL_WITHOUT_LIMIT.search(text) and re.search(r"\b(?:seq|yes)\b|\.\.\d{3,}", text)
    )
