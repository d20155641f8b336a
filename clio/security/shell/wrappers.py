"""Programs that start other programs, and how to find the one they start. Pure."""

import re
from collections.abc import Callable
from itertools import pairwise

from msgspec.structs import replace

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.peel import Options, Peeled, Words, joined, options, skip, splits, unclear, value
from clio.security.shell.state import SET_NAMES, SHOPT_NAMES
from clio.security.shell.words import Word, names

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})

"""Shells a line of bash may be handed to, on its input too."""
OTHER_GRAMMARS = names(
    "zsh ksh mksh fish csh tcsh yash nu elvish xonsh rc es pwsh powershell powershell.exe pwsh.exe cmd"
)
"""Shells whose text is not read: too much of it means something else."""
SAME_SHELL = names("eval trap mapfile readarray compgen complete")
"""Builtins that have the shell of the line itself read a text."""


def _plain(known: Options, positionals: int = 0, keep: bool = False) -> Callable[[Words], Peeled | None]:
    """A wrapper of the form `name [options] [positionals] command …`."""

    def peel(words: Words) -> Peeled | None:
        place = skip(words, known)
        if place < 0:
            return unclear(words)
        inner = words[place + positionals :]
        if any(map(splits, words[place : place + positionals])):
            return unclear(words)
        env: list[tuple[str, str]] = []
        while inner and (match := _ASSIGNS.match(inner[0].text)):  # `time A=1 make`
            env.append((match[1], inner[0].text[match.end() :]))
            inner = inner[1:]
        if inner and inner[0].text.startswith("-"):  # `flock file -c text`
            return unclear(words)
        return Peeled(calls=(inner,), env=tuple(env), keep=keep) if inner else None

    return peel


_ASSIGNS = LatePattern(r"([A-Za-z_]\w*)\+?=")
_ENV = options("-i --ignore-environment - -0 --null -v --debug", "-u --unset -C --chdir -a --argv0")


def _called_as(inner: Words, name: str, *, dynamic: bool = False) -> tuple[Words, ...]:
    """A call that is given another name: programs such as busybox decide by it what they do."""
    return (inner, (Word(name.removeprefix("-"), dynamic), *inner[1:])) if name and inner else (inner,)


def _exec(words: Words) -> Peeled | None:
    """`exec -a NAME program`: bash reads the options `-c`, `-l` and `-a NAME`, joined or apart."""
    place, name, cleared = 1, Word(""), False
    while place < len(words) and words[place].text.startswith("-") and words[place].text != "--":
        text = words[place].text
        letters, glued, value = text[1:].partition("a")
        if splits(words[place]) or not set(letters) <= {"c", "l"}:
            return unclear(words)
        cleared = cleared or "c" in letters
        if glued and not value:
            place += 1
            name = words[place] if place < len(words) else name
        elif glued:
            name = Word(value)
        place += 1
    inner = words[place + (place < len(words) and words[place].text == "--") :]
    if splits(name):
        return unclear(words)
    return Peeled(calls=_called_as(inner, name.text), withholds=cleared) if inner else None


def _env(words: Words) -> Peeled | None:
    if any(word.text.startswith(("-S", "--split", "-vS")) for word in words[1:]):
        return unclear(words)
    place, env = skip(words, _ENV), list[tuple[str, str]]()
    if place < 0:
        return unclear(words)
    moved = any(word.text.startswith(("-C", "--chdir")) for word in words[1:place])
    name = next(filter(None, (value(words, each, ("--argv0", "-a")) for each in range(1, place))), "")
    place += place < len(words) and words[place].text == "-"
    withholds = any(word.text not in ("-v", "--debug", "--") for word in words[1:place])
    while place < len(words) and "=" in words[place].text and not words[place].text.startswith(("=", "$")):
        if splits(words[place]):
            return unclear(words)
        variable, _, given = words[place].text.partition("=")
        env.append((variable, given))
        place += 1
    inner = words[place:]
    if not inner:
        return None
    return Peeled(calls=_called_as(inner, name), env=tuple(env), folder_unknown=moved, withholds=withholds)


_SHELL_LONG = names("--login --norc --noprofile --noediting --verbose --version --help")
# Not x: what a trace prints is what variables hold.
_SHELL_LETTERS = LatePattern(r"[-+][abcefhilmnopsuvBCEHOT]+")


def _shell(words: Words) -> Peeled | None:
    """`sh -c text`; None where the shell reads a file or its input. Only shells of bash's grammar can be followed."""
    if words[0].text.rsplit("/", 1)[-1] in OTHER_GRAMMARS:
        return unclear(words) if len(words) > 1 and words[1].text != "--version" else None
    place, letters = _shell_options(words)
    if place < 0:
        return unclear(words)
    if "c" not in letters:
        return None
    if place == len(words):
        return unclear(words)
    return Peeled(scripts=(words[place],), arguments=words[place + 1 :])


def reads_input(words: Words) -> bool:
    """Whether a shell takes what it runs from its input, because no text and no file is given."""
    if words[0].text.rsplit("/", 1)[-1] in OTHER_GRAMMARS:
        return len(words) == 1
    place, letters = _shell_options(words)
    says = any(word.text in ("--version", "--help") for word in words)
    return "c" not in letters and not says and (place == len(words) or "s" in letters)


def reads_device(words: Words) -> bool:
    """Whether a shell, or `source`, is given its own input or a pipe as the file to run."""
    return any(word.text.startswith(("/dev/", "/proc/", "<(")) for word in words[1:])


def _may_be_option(word: Word) -> bool:
    return word.dynamic or word.text[:1] in ("-", "+") or (word.glob and word.text[:1] in ("*", "?", "["))


def _shell_options(words: Words) -> tuple[int, str]:
    """The place behind a shell's options, and their letters; -1 where one is not known."""
    place, letters = 1, ""
    while place < len(words) and _may_be_option(words[place]):
        text = words[place].text
        if "c" in letters and words[place].dynamic:
            break
        if splits(words[place]):
            return -1, letters
        place += 1
        if text in ("-", "--"):
            break
        if text in _SHELL_LONG:
            continue
        if not _SHELL_LETTERS.fullmatch(text):
            return -1, letters
        letters += text
        for letter in re.findall(
            "[oO]", text
        ):  # each takes a word of its own, behind the letters: `-ceo pipefail text`
            known = SET_NAMES - {"xtrace"} if letter == "o" else SHOPT_NAMES
            if place == len(words) or splits(words[place]) or words[place].text not in known:
                return -1, letters
            place += 1
    return place, letters


_XARGS = options(
    "-0 --null -r --no-run-if-empty -t --verbose -x --exit -o --open-tty -p --interactive -i -l -e --replace --eof"
    " --max-lines",
    "-n --max-args -P --max-procs -I -L -d --delimiter -a --arg-file -s --max-chars -E -J -R -S",
)


# `-irep` replaces `rep`, as `-0Irep` does: what looks like further letters is what stands for the input.
_HIDDEN_MARK = LatePattern(r"-[^-]*[iel].|-[^-IJ]+[IJ]")


def _xargs(words: Words) -> Peeled | None:
    place = skip(words, _XARGS)
    if place < 0 or any(_HIDDEN_MARK.match(word.text) for word in words[1:place]):
        return unclear(words)
    inner = words[place:]
    if not inner:
        return Peeled(calls=((Word("echo"), Word("$INPUT", dynamic=True)),))
    marks = [
        "{}" if words[number].text in ("-i", "--replace") else value(words, number, ("-I", "-J", "--replace"))
        for number in range(1, place)
    ]
    marks = [mark for mark in marks if mark]
    if marks:
        return Peeled(calls=(tuple(_filled(word, marks) for word in inner),))
    return Peeled(calls=((*inner, Word("$INPUT", dynamic=True)),))


def _filled(word: Word, marks: list[str]) -> Word:
    """A word in which a place-holder stands is only known when it runs."""
    return Word(word.text, dynamic=True) if any(mark in word.text for mark in marks) else word


_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _ends_call(before: Word, word: Word) -> bool:
    """Whether a word ends what `-exec` runs: a `+` does so only behind `{}`."""
    return word.text == ";" or (word.text == "+" and before.text == "{}")


def _find(words: Words) -> Peeled | None:
    calls = list[Words]()
    place = 1
    while place < len(words):
        if words[place].text not in _FIND_EXEC:
            place += 1
            continue
        end = place + 1
        while end < len(words) and not _ends_call(words[end - 1], words[end]):
            end += 1
        inner = tuple(_filled(word, ["{}"]) for word in words[place + 1 : end])
        if end == len(words) or not inner or inner[0].text.startswith("-"):
            return unclear(words)
        calls.append(inner)
        place = end + 1
    moves = any(word.text in ("-execdir", "-okdir") for word in words)
    return Peeled(calls=tuple(calls), keep=True, folder_unknown=moves) if calls else None


def _fd(words: Words) -> Peeled | None:
    for place, word in enumerate(words):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            inner = [_filled(each, ["{"]) for each in words[place + 1 :] if each.text != ";"]
            return Peeled(calls=((*inner, Word("$INPUT", dynamic=True)),), keep=True) if inner else unclear(words)
        if word.text.startswith(("--exec", "-x", "-X")):
            return unclear(words)
    return None


def _eval(words: Words) -> Peeled | None:
    inner = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    return Peeled(scripts=(joined(inner),)) if inner else None


def _trap(words: Words) -> Peeled | None:
    inner = [word for word in words[1:] if word.text not in ("--",)]
    if len(inner) < 2 or inner[0].text in ("-", "-l", "-p", ""):
        return None
    return Peeled(scripts=(inner[0],), folder_unknown=True)


_SSH = options(
    "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
    "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
)


def _ssh(words: Words) -> Peeled | None:
    place = skip(words, _SSH)
    inner = words[place + 1 :] if place >= 0 else ()
    return Peeled(scripts=(joined(inner),), keep=True, folder_unknown=True) if inner else None


def _setarch(words: Words) -> Peeled | None:
    """`i386 rm x`, `setarch x86_64 -R rm x`: another kind of machine is pretended."""
    known = options(
        "-B --32bit -F --fdpic-funcptrs -I --short-inode -L --addr-compat-layout -R --addr-no-randomize"
        " -S --whole-seconds -T --sticky-timeouts -X --read-implies-exec -Z --mmap-page-zero -3 --3gb --4gb"
        " --uname-2.6 -v --verbose --list",
        "-p --pid",
    )
    machine = words[1:2] if words[0].text.rsplit("/", 1)[-1] == "setarch" else ()
    if any(map(splits, machine)):
        return unclear(words)
    place = skip(words, known, 2 if machine and not machine[0].text.startswith("-") else 1)
    if place < 0:
        return unclear(words)
    return Peeled(calls=(words[place:],)) if place < len(words) else None


_GIT = options(
    "-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --no-optional-locks",
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix",
)


def git_subcommand(words: Words) -> int:
    """The place of git's sub-command; -1 where an option before it is not known, `len(words)` where there is none."""
    return skip(words, _GIT)


def _git(words: Words) -> Peeled | None:
    place = git_subcommand(words)
    aliases = [
        Word(value.text.split("=", 1)[1][1:], dynamic=value.dynamic)
        for option, value in pairwise(words)
        if option.text == "-c" and value.text.lower().startswith("alias.") and "=!" in value.text
    ]
    if aliases:
        return Peeled(scripts=tuple(aliases), keep=True, folder_unknown=True)
    if place < 0 or place >= len(words):
        return None
    rest = words[place + 1 :]
    match words[place].text, [word.text for word in rest[:1]]:
        case "bisect", ["run"]:
            return Peeled(calls=(rest[1:],), keep=True, folder_unknown=True) if rest[1:] else None
        case "submodule", _ if any(word.text == "foreach" for word in rest):
            at = next(number for number, word in enumerate(rest) if word.text == "foreach")
            inner = tuple(word for word in rest[at + 1 :] if word.text not in ("--recursive", "--quiet", "-q"))
            return Peeled(scripts=(joined(inner),), keep=True, folder_unknown=True) if inner else None
        case "rebase", _:
            scripts = [value(rest, number, ("--exec", "-x")) for number in range(len(rest))]
            found = tuple(Word(script) for script in scripts if script)
            return Peeled(scripts=found, keep=True, folder_unknown=True) if found else None
        case _:
            return None


def _watch(words: Words) -> Peeled | None:
    place = skip(words, options("-d -t -b -e -g -c -x -p -w -r --color --no-title --exec", "-n --interval"))
    if place < 0:
        return unclear(words)
    return Peeled(scripts=(joined(words[place:]),)) if words[place:] else None


def _runner(
    lead: str, positionals: int = 0, *, optional: bool = False, known: Options | None = None
) -> Callable[[Words], Peeled | None]:
    """`uv run pytest`, `poetry run pytest`: the words after the lead are the call, unless options stand there.

    positionals: the words between the lead and the call. optional: whether the lead may be left out. known: the options
    that may stand before and behind the lead.
    """

    def peel(words: Words) -> Peeled | None:
        place = skip(words, known) if known else 1
        leads = 0 <= place < len(words) and words[place].text == lead and not words[place].dynamic
        if place < 0 or not (leads or optional):
            return None
        place += leads
        place = skip(words, known, place) if known else place
        inner = words[place + positionals :] if place >= 0 else ()
        if not inner:
            return None
        inner = inner[1:] if inner[0].text == "--" else inner
        if not inner or inner[0].text.startswith("-"):
            return None
        return Peeled(calls=(inner,))

    return peel


def _command(words: Words) -> Peeled | None:
    place = skip(words, options("-p", ""))
    if place < 0:
        return None if words[1].text in ("-v", "-V") and not words[1].dynamic else unclear(words)
    return Peeled(calls=(words[place:],)) if place < len(words) else None


_STARTERS = names("""
    sem rush script expect unbuffer unshare nsenter systemd-run systemd-inhibit chrt numactl prlimit cgexec capsh
    schedtool trickle eatmydata cset nsjail minijail0 systemd-nspawn machinectl lxc-attach lxc-execute uwsgi
    supervise multilog envdir setlock setuidgid s6-setuidgid s6-envdir execlineb with-contenv dbx lldb qemu-i386
    qemu-x86_64 qemu-aarch64 box64 wine firejail bwrap proot gosu su-exec tini dumb-init catchsegv valgrind gdb perf
    rlwrap faketime chpst softlimit torsocks proxychains xvfb-run dbus-run-session dbus-launch start-stop-daemon
    entr watchexec direnv nix-shell tmux screen dtach runuser run-parts sg newgrp noglob nocorrect repeat foreach
    """)
"""Programs that start others in ways too many to tell."""
_COMPOUND = names("{ ( (( [[ if while until for case select function !")


def _coproc(words: Words) -> Peeled | None:
    if any(word.text in _COMPOUND or "=" in word.text for word in words[1:3]):
        return unclear(words)
    return Peeled(calls=(words[1:],)) if words[1:] else None


def _callback(words: Words) -> Peeled | None:
    """`mapfile -C text`, `complete -C text`, `compgen -F name`: text that runs for each line or guess."""
    texts = [value(words, place, ("-C",)) for place in range(1, len(words))]
    if any(word.text.startswith("-") and len(word.text) > 2 and set("CFW") & set(word.text[1:]) for word in words[1:]):
        return unclear(words)
    if any(word.text in ("-F", "-W") for word in words[1:]):
        return unclear(words)
    scripts = tuple(Word(f"{text} $INPUT") for text in texts if text)
    return Peeled(scripts=scripts, keep=True) if scripts else None


def _jobs(words: Words) -> Peeled | None:
    place = next((place for place, word in enumerate(words) if word.text == "-x"), None)
    inner = () if place is None else words[place + 1 :]
    return Peeled(calls=(inner,)) if inner else None


def _su(words: Words) -> Peeled | None:
    texts = [word.text for word in words]
    for place, text in enumerate(texts[:-1]):
        if text in ("-c", "--command"):
            return Peeled(scripts=(words[place + 1],), keep=True)
    return None


_SUDO = options(
    "-A --askpass -b --background -E --preserve-env -H --set-home -n --non-interactive -P -S --stdin -k",
    "-u --user -g --group -p --prompt -C -T -h --host -r -t -U",
)


def _loader(words: Words) -> Peeled | None:
    """`ld-linux-x86-64.so.2 /bin/rm x`: the dynamic loader started by its name.

    It looks for no program on PATH, and most of its options choose libraries, whose code runs first.
    """
    known = options(
        "--list --verify --inhibit-cache --list-tunables --list-diagnostics --help --version",
        "--library-path --glibc-hwcaps-prepend --glibc-hwcaps-mask --inhibit-rpath --audit --preload --argv0",
    )
    place = skip(words, known)
    if place < 0:
        return unclear(words)
    name = next(filter(None, (value(words, each, ("--argv0",)) for each in range(1, place))), "")
    inner = words[place:]
    if not inner:
        return None
    if "/" not in inner[0].text:
        inner = (replace(inner[0], text=f"./{inner[0].text}"), *inner[1:])
    chooses = any(not word.text.startswith(_LOADER_LOOKS) for word in words[1:place] if word.text.startswith("-"))
    return Peeled(calls=_called_as(inner, name), keep=chooses, unknown=unclear(words).unknown if chooses else "")


_LOADER_LOOKS = ("--list", "--verify", "--argv0", "--help", "--version", "--inhibit-cache")


def _arch(words: Words) -> Peeled | None:
    """`arch -x86_64 rm x` of macOS; the `arch` of Linux takes no words."""
    place, changes = 1, False
    while place < len(words) and words[place].text.startswith("-"):
        if splits(words[place]):
            return unclear(words)
        changes = changes or words[place].text not in _MACHINES
        place += 2 if words[place].text in ("-arch", "-d", "-e") else 1
    if place >= len(words):
        return None
    return Peeled(calls=(words[place:],), keep=changes, unknown=unclear(words).unknown if changes else "")


_MACHINES = names("-arch -32 -64 -i386 -x86_64 -x86_64h -arm64 -arm64e")
_CMAKE_REMOVES = {"rm": ("rm",), "remove": ("rm",), "remove_directory": ("rm", "-r")}


def _cmake(words: Words) -> Peeled | None:
    """`cmake -E env rm x`, `cmake -E rm x`: the tools that cmake has in itself."""
    if len(words) < 4 or words[1].text != "-E":
        return None
    tool, rest = words[2].text, words[3:]
    if tool in _CMAKE_REMOVES:
        return Peeled(calls=((*map(Word, _CMAKE_REMOVES[tool]), *rest),), keep=True)
    if tool == "env":
        rest = tuple(word for word in rest if not word.text.startswith("--modify") and word.text != "--")
        inner = _env((Word("env"), *_without_unset(rest)))
        return replace(inner, withholds=True) if inner and _without_unset(rest) != rest else inner
    return Peeled(calls=(rest,)) if tool == "time" else None


def _without_unset(words: Words) -> Words:
    return tuple(word for word in words if not word.text.startswith("--unset="))


def _coreutils(words: Words) -> Peeled | None:
    """`coreutils --coreutils-prog=rm x`, or the program as the first word, as in busybox."""
    first = words[1] if len(words) > 1 else None
    if first is None or splits(first):
        return unclear(words) if first else None
    for option in ("--coreutils-prog=", "--coreutils-prog-shebang="):
        if first.text.startswith(option):
            return Peeled(calls=((Word(first.text.removeprefix(option)), *words[2:]),))
    return Peeled(calls=(words[1:],)) if not first.text.startswith("-") else None


def _socat(words: Words) -> Peeled | None:
    """`socat EXEC:'rm x' -`: an address may be a program or a line of shell."""
    scripts = tuple(
        Word(rest.partition(",")[0], word.dynamic)
        for word in words[1:]
        for kind, colon, rest in (word.text.partition(":"),)
        if colon and kind.casefold() in ("exec", "system", "shell")
    )
    return Peeled(scripts=scripts, keep=True, folder_unknown=True) if scripts else None


def _parallel(words: Words) -> Peeled | None:
    """`parallel rm -rf ::: a b`, where all is written out: each call it makes. Otherwise it cannot be told."""
    place = skip(words, options("-k --keep-order --bar --eta -q --quote --will-cite -u --ungroup", "-j --jobs"))
    mark = next((at for at, word in enumerate(words) if word.text == ":::"), None)
    if place < 0 or mark is None or place >= mark or any(word.text[:3] == ":::" for word in words[mark + 1 :]):
        return unclear(words)
    inner = words[place:mark]
    filled = any("{}" in word.text for word in inner)
    calls = tuple(
        tuple(
            Word(word.text.replace("{}", each.text), each.dynamic, each.glob) if "{}" in word.text else word
            for word in inner
        )
        if filled
        else (*inner, each)
        for each in words[mark + 1 :]
    )
    # The words are put together to a text for a shell, which may read more in them than is seen here.
    return Peeled(calls=calls, keep=True, unknown=unclear(words).unknown)


_WRAPPERS: dict[str, Callable[[Words], Peeled | None]] = {
    **dict.fromkeys(SHELLS | OTHER_GRAMMARS, _shell),
    "env": _env,
    "command": _command,
    "builtin": _plain(options()),
    "exec": _exec,
    "nohup": _plain(options()),
    "setsid": _plain(options("-c -f -w --fork --wait --ctty")),
    "time": _plain(options("-p -v --verbose --portability", "-f --format")),
    "timeout": _plain(options("-v --verbose --preserve-status --foreground -f -p", "-k --kill-after -s --signal"), 1),
    "gtimeout": _plain(options("-v --preserve-status --foreground", "-k --kill-after -s --signal"), 1),
    "nice": _plain(options(" ".join(f"-{number}" for number in range(20)), "-n --adjustment")),
    "ionice": _plain(options("-t", "-c --class -n --classdata")),
    "stdbuf": _plain(options("", "-i -o -e --input --output --error")),
    "taskset": _plain(options("-a -c", ""), 1),
    "caffeinate": _plain(options("-d -i -m -s -u", "-t")),
    "sudo": _plain(_SUDO),
    "doas": _plain(options("-n -s -L", "-u -C")),
    "xargs": _xargs,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "eval": _eval,
    "trap": _trap,
    "ssh": _ssh,
    "git": _git,
    "watch": _watch,
    "su": _su,
    "busybox": _plain(options()),
    "coproc": _coproc,
    "!": _plain(options()),
    "mapfile": _callback,
    "readarray": _callback,
    "compgen": _callback,
    "complete": _callback,
    "jobs": _jobs,
    "toybox": _plain(options()),
    "coreutils": _coreutils,
    "parallel": _parallel,
    "cmake": _cmake,
    "socat": _socat,
    "arch": _arch,
    **dict.fromkeys(names("i386 i486 i586 i686 x86_64 linux32 linux64 uname26 setarch"), _setarch),
    "setpriv": _plain(
        options(
            "--clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env -d --dump --ptracer",
            "--ambient-caps --bounding-set --inh-caps --groups --reuid --regid --ruid --euid --rgid --egid --pdeathsig"
            " --securebits --selinux-label --apparmor-profile --landlock-access --landlock-rule --seccomp-filter",
        )
    ),
    "pkexec": _plain(options("--disable-internal-agent --keep-cwd", "-u --user"), keep=True),
    "uclampset": _plain(options("-a --all-tasks -R --reset-on-fork -s --system", "-m -M --min --max -p --pid")),
    "daemonize": _plain(options("-a -v", "-c -e -E -l -o -p -u"), keep=True),
    "rustup": _runner("run", positionals=1),
    "meson": _runner("devenv", known=options("", "-C -w --workdir")),
    "dotenv": _runner("run", optional=True, known=options("-o --override --no-override", "-f --file -e -v -p -c -q")),
    "fakeroot": _plain(options()),
    "strace": _plain(options("-f -c -q -v -t", "-e -o -p -s"), keep=True),
    "ltrace": _plain(options("-f -c", "-e -o"), keep=True),
    "chroot": _plain(options(), 1, keep=True),
    "flock": _plain(options("-n -x -s -u --nonblock --exclusive --shared", "-w --timeout -E"), 1, keep=True),
    **dict.fromkeys(_STARTERS, unclear),
    "uv": _runner("run"),
    "poetry": _runner("run"),
    "pipenv": _runner("run"),
    "pdm": _runner("run"),
    "bundle": _runner("exec"),
}


_LOADER = LatePattern(r"ld(?:-linux[\w-]*|-musl-\w+|64|-\d[\d.]*)?\.so(?:\.\d+)?")


def is_loader(name: str) -> bool:
    """Whether a program is the dynamic loader, which starts another one."""
    return _LOADER.fullmatch(name) is not None


def is_wrapper(name: str) -> bool:
    """Whether some calls of a program start another one that its arguments name."""
    return name in _WRAPPERS or is_loader(name)


def peel(words: Words) -> Peeled | None:
    """What a call starts instead of, or besides, itself; None where the call is what it seems."""
    if not words or words[0].dynamic:
        return None
    name = words[0].text.rsplit("/", 1)[-1]
    wrapper = _loader if is_loader(name) else _WRAPPERS.get(name)
    return wrapper(words) if wrapper else None
