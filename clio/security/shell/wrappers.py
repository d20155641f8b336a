"""Find the command started by programs that start others (`env`, `sudo`, `xargs`, …). Pure.

Such a program is called a wrapper. Each `_unwrap_…` function takes the words of a wrapper's call and returns what it
starts; None if this call starts nothing. `_WRAPPERS` maps program names to these functions.
"""

import re
from collections.abc import Callable
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from clio.security.shell.command_line import HARMLESS_SET_NAMES, HARMLESS_SHOPT_NAMES, Word, word_set


class UnwrappedCommand(Struct, frozen=True, kw_only=True):
    """What a wrapper starts.

    Attributes:
        calls: the words of each inner call.
        scripts: texts the wrapper passes to a shell.
        env: variables it sets.
        keep: the wrapper itself must be judged as well, because of what it does.
        arguments: the `$0`, `$1` and so on of the scripts.
        unknown: why the inner call cannot be determined; "" if it can.
        folder_unknown: it changes the folder.
        clears_environment: it removes environment variables for what it starts.
    """

    calls: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    keep: bool = False
    unknown: str = ""
    arguments: tuple[Word, ...] = ()
    folder_unknown: bool = False
    clears_environment: bool = False


Words = tuple[Word, ...]
CLEARS_ENVIRONMENT = "without the environment"
"""Listed among the wrappers of a call if one of them removes environment variables. No program has this name."""


class Options(Struct, frozen=True):
    """The options a wrapper takes before its command: flags, and those with a value."""

    flags: frozenset[str]
    valued: frozenset[str]


def make_options(flags: str = "", valued: str = "") -> Options:
    """Create options from two strings of words."""
    return Options(frozenset(flags.split()), frozenset(valued.split()))


def skip_options(words: Words, known: Options, start: int = 1) -> int:
    """Return the index of the first word after the options; -1 if an option is dynamic or unknown."""
    place = start
    while place < len(words):
        word = words[place]
        if word.dynamic and (word.text.startswith("-") or not word.text):
            return -1
        text = word.text
        if text == "--":
            return place + 1
        if not text.startswith("-") or text == "-":
            return place
        name = text.split("=", 1)[0]
        if name in known.valued:
            if any(can_split(each) for each in words[place : place + (1 if "=" in text else 2)]):
                return -1
            place += 1 if "=" in text else 2
        elif text in known.flags or _is_known_cluster(text, known) or (name.startswith("--") and name in known.flags):
            place += 1
        else:
            return -1
    return place


_PROCESS_SUBSTITUTION = re.compile(r"<\([^()]*\)")
"""A process substitution, which expands to the name of one file."""


def can_split(word: Word) -> bool:
    """Whether a word may expand to several, which could be a program and its arguments."""
    return (word.dynamic or word.glob) and _PROCESS_SUBSTITUTION.fullmatch(word.text) is None


def _is_known_cluster(text: str, known: Options) -> bool:
    """Whether an option is known with an attached value, or a cluster of known flags."""
    if text.startswith("--"):
        return False
    letters = text[1:]
    for place, letter in enumerate(letters):
        if f"-{letter}" in known.valued:
            return place + 1 < len(letters)
        if f"-{letter}" not in known.flags:
            return False
    return True


def make_unknown_call(words: Words) -> UnwrappedCommand:
    """Return the result for a wrapper that starts something unknown."""
    return UnwrappedCommand(keep=True, unknown=f"clio can't tell what {words[0].text!r} starts")


def get_option_value(words: Words, place: int, names: tuple[str, ...]) -> str:
    """Return the value of the option at an index: attached, after `=`, or the next word."""
    text = words[place].text
    for name in names:
        if text == name:
            return words[place + 1].text if place + 1 < len(words) else ""
        if text.startswith(name):
            return text[len(name) :].removeprefix("=")
    return ""


def join_words(words: Words) -> Word:
    """Join words to one text, as `eval` and `ssh` do."""
    return Word(" ".join(word.text for word in words), dynamic=any(map(can_split, words)))


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})
"""Shells that may receive a line of bash, also as input."""
UNPARSED_SHELLS = word_set(
    "zsh ksh mksh fish csh tcsh yash nu elvish xonsh rc es pwsh powershell powershell.exe pwsh.exe cmd"
)
"""Shells whose scripts are not parsed, because too much of their syntax differs."""
SCRIPT_BUILTINS = word_set("eval trap mapfile readarray compgen complete")
"""Built-ins that make the current shell parse a text."""


def _make_prefix_unwrapper(
    known: Options, positionals: int = 0, keep: bool = False
) -> Callable[[Words], UnwrappedCommand | None]:
    """Handle wrappers of the form `name [options] [positionals] command …`."""

    def unwrap(words: Words) -> UnwrappedCommand | None:
        place = skip_options(words, known)
        if place < 0:
            return make_unknown_call(words)
        inner = words[place + positionals :]
        # `timeout $T ls`: $T may contain the duration and the program.
        if any(map(can_split, words[place : place + positionals])):
            return make_unknown_call(words)
        env: list[tuple[str, str]] = []
        while inner and (match := _ASSIGNMENT.match(inner[0].text)):  # `time A=1 make`
            env.append((match[1], inner[0].text[match.end() :]))
            inner = inner[1:]
        if inner and inner[0].text.startswith("-"):  # `flock file -c text`
            return make_unknown_call(words)
        return UnwrappedCommand(calls=(inner,), env=tuple(env), keep=keep) if inner else None

    return unwrap


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_ENV = make_options("-i --ignore-environment - -0 --null -v --debug", "-u --unset -C --chdir -a --argv0")


def _list_call_names(inner: Words, name: str) -> tuple[Words, ...]:
    """Return a call under another name; programs such as busybox act by that name."""
    return (inner, (Word(name.removeprefix("-")), *inner[1:])) if name and inner else (inner,)


def _unwrap_exec(words: Words) -> UnwrappedCommand | None:
    """Handle `exec -a NAME program`. bash accepts the options `-c`, `-l` and `-a NAME`, combined or separate."""
    place, name, cleared = 1, Word(""), False
    while place < len(words) and words[place].text.startswith("-") and words[place].text != "--":
        text = words[place].text
        letters, glued, value = text[1:].partition("a")
        if can_split(words[place]) or not set(letters) <= {"c", "l"}:
            return make_unknown_call(words)
        cleared = cleared or "c" in letters
        if glued and not value:
            place += 1
            name = words[place] if place < len(words) else name
        elif glued:
            name = Word(value)
        place += 1
    inner = words[place + (place < len(words) and words[place].text == "--") :]
    if can_split(name):
        return make_unknown_call(words)
    return UnwrappedCommand(calls=_list_call_names(inner, name.text), clears_environment=cleared) if inner else None


def _unwrap_env(words: Words) -> UnwrappedCommand | None:
    """Handle `env A=1 rm x`, its options included."""
    if any(word.text.startswith(("-S", "--split", "-vS")) for word in words[1:]):
        return make_unknown_call(words)
    place, env = skip_options(words, _ENV), list[tuple[str, str]]()
    if place < 0:
        return make_unknown_call(words)
    moved = any(word.text.startswith(("-C", "--chdir")) for word in words[1:place])
    # busybox and others act by the name they are started under.
    name = next(filter(None, (get_option_value(words, each, ("--argv0", "-a")) for each in range(1, place))), "")
    place += place < len(words) and words[place].text == "-"
    # Without clio's variables git would start pagers and hooks, and package managers would reach the network.
    withholds = any(word.text not in ("-v", "--debug", "--") for word in words[1:place])
    while place < len(words) and "=" in words[place].text and not words[place].text.startswith(("=", "$")):
        if can_split(words[place]):
            return make_unknown_call(words)
        variable, _, given = words[place].text.partition("=")
        env.append((variable, given))
        place += 1
    inner = words[place:]
    if not inner:
        return None
    return UnwrappedCommand(
        calls=_list_call_names(inner, name), env=tuple(env), folder_unknown=moved, clears_environment=withholds
    )


_SHELL_LONG_OPTIONS = word_set("--login --norc --noprofile --noediting --verbose --version --help")
# Without x: a trace prints the values of variables.
_SHELL_LETTERS = re.compile(r"[-+][abcefhilmnopsuvBCEHOT]+")


def _unwrap_shell(words: Words) -> UnwrappedCommand | None:
    """Handle `sh -c text`; None if the shell reads a file or its input. Only bash's syntax can be followed."""
    # fish, zsh and others read the same text differently from bash.
    if words[0].text.rsplit("/", 1)[-1] in UNPARSED_SHELLS:
        return make_unknown_call(words) if len(words) > 1 and words[1].text != "--version" else None
    place, letters = _skip_shell_options(words)
    if place < 0:
        return make_unknown_call(words)
    if "c" not in letters:
        return None
    if place == len(words):
        return make_unknown_call(words)
    return UnwrappedCommand(scripts=(words[place],), arguments=words[place + 1 :])


def has_script_from_input(words: Words) -> bool:
    """Whether a shell reads its script from standard input, because no text and no file is given."""
    if words[0].text.rsplit("/", 1)[-1] in UNPARSED_SHELLS:
        return len(words) == 1
    place, letters = _skip_shell_options(words)
    says = any(word.text in ("--version", "--help") for word in words)
    return "c" not in letters and not says and (place == len(words) or "s" in letters)


def has_script_from_device(words: Words) -> bool:
    """Whether a shell, or `source`, gets its own input or a pipe as the file to run."""
    return any(word.text.startswith(("/dev/", "/proc/", "<(")) for word in words[1:])


def _may_be_option(word: Word) -> bool:
    return word.dynamic or word.text[:1] in ("-", "+") or (word.glob and word.text[:1] in ("*", "?", "["))


def _skip_shell_options(words: Words) -> tuple[int, str]:
    """Return the index after a shell's options, and their letters; -1 if one is unknown."""
    place, letters = 1, ""
    while place < len(words) and _may_be_option(words[place]):
        text = words[place].text
        # After `-c` this word is the text itself and not an option.
        if "c" in letters and words[place].dynamic:
            break
        if can_split(words[place]):
            return -1, letters
        place += 1
        if text in ("-", "--"):
            break
        if text in _SHELL_LONG_OPTIONS:
            continue
        if not _SHELL_LETTERS.fullmatch(text):
            return -1, letters
        letters += text
        for letter in re.findall("[oO]", text):  # each takes its own word after the letters: `-ceo pipefail text`
            known = HARMLESS_SET_NAMES - {"xtrace"} if letter == "o" else HARMLESS_SHOPT_NAMES
            if place == len(words) or can_split(words[place]) or words[place].text not in known:
                return -1, letters
            place += 1
    return place, letters


_XARGS = make_options(
    "-0 --null -r --no-run-if-empty -t --verbose -x --exit -o --open-tty -p --interactive -i -l -e --replace --eof"
    " --max-lines",
    "-n --max-args -P --max-procs -I -L -d --delimiter -a --arg-file -s --max-chars -E -J -R -S",
)


# `-irep` and `-0Irep` replace `rep`: the letters after `i` or `I` are the placeholder for the input.
_ATTACHED_PLACEHOLDER = re.compile(r"-[^-]*[iel].|-[^-IJ]+[IJ]")


def _unwrap_xargs(words: Words) -> UnwrappedCommand | None:
    """Handle `xargs rm`. What xargs inserts becomes `$INPUT`, or the placeholder of `-I`, known only at run time."""
    place = skip_options(words, _XARGS)
    if place < 0 or any(_ATTACHED_PLACEHOLDER.match(word.text) for word in words[1:place]):
        return make_unknown_call(words)
    inner = words[place:]
    if not inner:
        return UnwrappedCommand(calls=((Word("echo"), Word("$INPUT", dynamic=True)),))
    marks = [
        "{}"
        if words[number].text in ("-i", "--replace")
        else get_option_value(words, number, ("-I", "-J", "--replace"))
        for number in range(1, place)
    ]
    marks = [mark for mark in marks if mark]
    if marks:
        return UnwrappedCommand(calls=(tuple(_mark_placeholder(word, marks) for word in inner),))
    return UnwrappedCommand(calls=((*inner, Word("$INPUT", dynamic=True)),))


def _mark_placeholder(word: Word, marks: list[str]) -> Word:
    """Mark a word that contains a placeholder as known only at run time."""
    return Word(word.text, dynamic=True) if any(mark in word.text for mark in marks) else word


_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _is_end_of_exec(before: Word, word: Word) -> bool:
    """Whether a word ends the command of `-exec`; a `+` does so only after `{}`."""
    return word.text == ";" or (word.text == "+" and before.text == "{}")


def _unwrap_find(words: Words) -> UnwrappedCommand | None:
    """Handle `find . -exec rm {} ;`. The inserted names are known only at run time."""
    calls = list[Words]()
    place = 1
    while place < len(words):
        if words[place].text not in _FIND_EXEC:
            place += 1
            continue
        end = place + 1
        # Several `-exec` may follow each other in one call.
        while end < len(words) and not _is_end_of_exec(words[end - 1], words[end]):
            end += 1
        inner = tuple(_mark_placeholder(word, ["{}"]) for word in words[place + 1 : end])
        if end == len(words) or not inner or inner[0].text.startswith("-"):
            return make_unknown_call(words)
        calls.append(inner)
        place = end + 1
    moves = any(word.text in ("-execdir", "-okdir") for word in words)
    return UnwrappedCommand(calls=tuple(calls), keep=True, folder_unknown=moves) if calls else None


def _unwrap_fd(words: Words) -> UnwrappedCommand | None:
    """Handle `fd pattern -x rm`. The inserted names are known only at run time."""
    for place, word in enumerate(words):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            inner = [_mark_placeholder(each, ["{"]) for each in words[place + 1 :] if each.text != ";"]
            return (
                UnwrappedCommand(calls=((*inner, Word("$INPUT", dynamic=True)),), keep=True)
                if inner
                else make_unknown_call(words)
            )
        if word.text.startswith(("--exec", "-x", "-X")):
            return make_unknown_call(words)
    return None


def _unwrap_eval(words: Words) -> UnwrappedCommand | None:
    inner = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    return UnwrappedCommand(scripts=(join_words(inner),)) if inner else None


def _unwrap_trap(words: Words) -> UnwrappedCommand | None:
    inner = [word for word in words[1:] if word.text not in ("--",)]
    if len(inner) < 2 or inner[0].text in ("-", "-l", "-p", ""):
        return None
    return UnwrappedCommand(scripts=(inner[0],), folder_unknown=True)


_SSH = make_options(
    "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
    "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
)


def _unwrap_ssh(words: Words) -> UnwrappedCommand | None:
    place = skip_options(words, _SSH)
    inner = words[place + 1 :] if place >= 0 else ()
    return UnwrappedCommand(scripts=(join_words(inner),), keep=True, folder_unknown=True) if inner else None


def _unwrap_setarch(words: Words) -> UnwrappedCommand | None:
    """Handle `i386 rm x` and `setarch x86_64 -R rm x`, which report another architecture to the command."""
    known = make_options(
        "-B --32bit -F --fdpic-funcptrs -I --short-inode -L --addr-compat-layout -R --addr-no-randomize"
        " -S --whole-seconds -T --sticky-timeouts -X --read-implies-exec -Z --mmap-page-zero -3 --3gb --4gb"
        " --uname-2.6 -v --verbose --list",
        "-p --pid",
    )
    machine = words[1:2] if words[0].text.rsplit("/", 1)[-1] == "setarch" else ()
    if any(map(can_split, machine)):
        return make_unknown_call(words)
    place = skip_options(words, known, 2 if machine and not machine[0].text.startswith("-") else 1)
    if place < 0:
        return make_unknown_call(words)
    return UnwrappedCommand(calls=(words[place:],)) if place < len(words) else None


_GIT = make_options(
    "-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --no-optional-locks",
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix",
)


def find_git_subcommand(words: Words) -> int:
    """Return the index of git's sub-command; -1 after an unknown option, `len(words)` if there is none."""
    return skip_options(words, _GIT)


def _unwrap_git(words: Words) -> UnwrappedCommand | None:
    """Handle `git -c alias.x=!…`, `git bisect run`, `git submodule foreach` and `git rebase --exec`."""
    place = find_git_subcommand(words)
    aliases = [
        Word(value.text.split("=", 1)[1][1:], dynamic=value.dynamic)
        for option, value in pairwise(words)
        if option.text == "-c" and value.text.lower().startswith("alias.") and "=!" in value.text
    ]
    if aliases:
        return UnwrappedCommand(scripts=tuple(aliases), keep=True, folder_unknown=True)
    if place < 0 or place >= len(words):
        return None
    rest = words[place + 1 :]
    match words[place].text, [word.text for word in rest[:1]]:
        case "bisect", ["run"]:
            return UnwrappedCommand(calls=(rest[1:],), keep=True, folder_unknown=True) if rest[1:] else None
        case "submodule", _ if any(word.text == "foreach" for word in rest):
            at = next(number for number, word in enumerate(rest) if word.text == "foreach")
            inner = tuple(word for word in rest[at + 1 :] if word.text not in ("--recursive", "--quiet", "-q"))
            return UnwrappedCommand(scripts=(join_words(inner),), keep=True, folder_unknown=True) if inner else None
        case "rebase", _:
            scripts = [get_option_value(rest, number, ("--exec", "-x")) for number in range(len(rest))]
            found = tuple(Word(script) for script in scripts if script)
            return UnwrappedCommand(scripts=found, keep=True, folder_unknown=True) if found else None
        case _:
            return None


def _unwrap_watch(words: Words) -> UnwrappedCommand | None:
    """Handle `watch text`, which passes its words to a shell."""
    place = skip_options(
        words, make_options("-d -t -b -e -g -c -x -p -w -r --color --no-title --exec", "-n --interval")
    )
    if place < 0:
        return make_unknown_call(words)
    return UnwrappedCommand(scripts=(join_words(words[place:]),)) if words[place:] else None


def _make_runner_unwrapper(
    lead: str, positionals: int = 0, *, optional: bool = False, known: Options | None = None
) -> Callable[[Words], UnwrappedCommand | None]:
    """Handle `uv run pytest` and `poetry run pytest`: the words after the lead are the call, unless they are options.

    Args:
        lead: the first words of such a call.
        positionals: number of words between the lead and the call.
        optional: whether the lead may be omitted.
        known: options allowed before and after the lead.
    """

    def unwrap(words: Words) -> UnwrappedCommand | None:
        place = skip_options(words, known) if known else 1
        leads = 0 <= place < len(words) and words[place].text == lead and not words[place].dynamic
        if place < 0 or not (leads or optional):
            return None
        place += leads
        place = skip_options(words, known, place) if known else place
        inner = words[place + positionals :] if place >= 0 else ()
        if not inner:
            return None
        inner = inner[1:] if inner[0].text == "--" else inner
        if not inner or inner[0].text.startswith("-"):
            return None
        return UnwrappedCommand(calls=(inner,))

    return unwrap


def _unwrap_command_builtin(words: Words) -> UnwrappedCommand | None:
    place = skip_options(words, make_options("-p", ""))
    if place < 0:
        return None if words[1].text in ("-v", "-V") and not words[1].dynamic else make_unknown_call(words)
    return UnwrappedCommand(calls=(words[place:],)) if place < len(words) else None


UNPARSED_WRAPPERS = word_set("""
    sem rush script expect unbuffer unshare nsenter systemd-run systemd-inhibit chrt numactl prlimit cgexec capsh
    schedtool trickle eatmydata cset nsjail minijail0 systemd-nspawn machinectl lxc-attach lxc-execute uwsgi
    supervise multilog envdir setlock setuidgid s6-setuidgid s6-envdir execlineb with-contenv dbx lldb qemu-i386
    qemu-x86_64 qemu-aarch64 box64 wine firejail bwrap proot gosu su-exec tini dumb-init catchsegv valgrind gdb perf
    rlwrap faketime chpst softlimit torsocks proxychains xvfb-run dbus-run-session dbus-launch start-stop-daemon
    entr watchexec direnv nix-shell tmux screen dtach runuser run-parts sg newgrp noglob nocorrect repeat foreach
    """)
"""Programs that start others in too many ways to parse."""
_COMPOUND = word_set("{ ( (( [[ if while until for case select function !")


def _unwrap_coproc(words: Words) -> UnwrappedCommand | None:
    if any(word.text in _COMPOUND or "=" in word.text for word in words[1:3]):
        return make_unknown_call(words)
    return UnwrappedCommand(calls=(words[1:],)) if words[1:] else None


def _unwrap_callback(words: Words) -> UnwrappedCommand | None:
    """Handle `mapfile -C text`, `complete -C text` and `compgen -F name`, whose text runs per line or completion."""
    texts = [get_option_value(words, place, ("-C",)) for place in range(1, len(words))]
    if any(word.text.startswith("-") and len(word.text) > 2 and set("CFW") & set(word.text[1:]) for word in words[1:]):
        return make_unknown_call(words)
    if any(word.text in ("-F", "-W") for word in words[1:]):
        return make_unknown_call(words)
    scripts = tuple(Word(f"{text} $INPUT") for text in texts if text)
    return UnwrappedCommand(scripts=scripts, keep=True) if scripts else None


def _unwrap_jobs(words: Words) -> UnwrappedCommand | None:
    place = next((place for place, word in enumerate(words) if word.text == "-x"), None)
    inner = () if place is None else words[place + 1 :]
    return UnwrappedCommand(calls=(inner,)) if inner else None


def _unwrap_su(words: Words) -> UnwrappedCommand | None:
    texts = [word.text for word in words]
    for place, text in enumerate(texts[:-1]):
        if text in ("-c", "--command"):
            return UnwrappedCommand(scripts=(words[place + 1],), keep=True)
    return None


_SUDO = make_options(
    "-A --askpass -b --background -E --preserve-env -H --set-home -n --non-interactive -P -S --stdin -k",
    "-u --user -g --group -p --prompt -C -T -h --host -r -t -U",
)


def _unwrap_loader(words: Words) -> UnwrappedCommand | None:
    """Handle `ld-linux-x86-64.so.2 /bin/rm x`: the dynamic loader called by name.

    It does not search PATH, and most of its options select libraries, whose code runs first.
    """
    known = make_options(
        "--list --verify --inhibit-cache --list-tunables --list-diagnostics --help --version",
        "--library-path --glibc-hwcaps-prepend --glibc-hwcaps-mask --inhibit-rpath --audit --preload --argv0",
    )
    place = skip_options(words, known)
    if place < 0:
        return make_unknown_call(words)
    name = next(filter(None, (get_option_value(words, each, ("--argv0",)) for each in range(1, place))), "")
    inner = words[place:]
    if not inner:
        return None
    if "/" not in inner[0].text:
        inner = (replace(inner[0], text=f"./{inner[0].text}"), *inner[1:])
    chooses = any(
        not word.text.startswith(_HARMLESS_LOADER_OPTIONS) for word in words[1:place] if word.text.startswith("-")
    )
    return UnwrappedCommand(
        calls=_list_call_names(inner, name), keep=chooses, unknown=make_unknown_call(words).unknown if chooses else ""
    )


_HARMLESS_LOADER_OPTIONS = ("--list", "--verify", "--argv0", "--help", "--version", "--inhibit-cache")


def _unwrap_arch(words: Words) -> UnwrappedCommand | None:
    """Handle `arch -x86_64 rm x` of macOS; the `arch` of Linux takes no operands."""
    place, changes = 1, False
    while place < len(words) and words[place].text.startswith("-"):
        if can_split(words[place]):
            return make_unknown_call(words)
        changes = changes or words[place].text not in _ARCH_OPTIONS
        place += 2 if words[place].text in ("-arch", "-d", "-e") else 1
    if place >= len(words):
        return None
    return UnwrappedCommand(
        calls=(words[place:],), keep=changes, unknown=make_unknown_call(words).unknown if changes else ""
    )


_ARCH_OPTIONS = word_set("-arch -32 -64 -i386 -x86_64 -x86_64h -arm64 -arm64e")
_CMAKE_REMOVAL_TOOLS = {"rm": ("rm",), "remove": ("rm",), "remove_directory": ("rm", "-r")}


def _unwrap_cmake(words: Words) -> UnwrappedCommand | None:
    """Handle `cmake -E env rm x` and `cmake -E rm x`, the tools built into cmake."""
    if len(words) < 4 or words[1].text != "-E":
        return None
    tool, rest = words[2].text, words[3:]
    if tool in _CMAKE_REMOVAL_TOOLS:
        return UnwrappedCommand(calls=((*map(Word, _CMAKE_REMOVAL_TOOLS[tool]), *rest),), keep=True)
    if tool == "env":
        rest = tuple(word for word in rest if not word.text.startswith("--modify") and word.text != "--")
        inner = _unwrap_env((Word("env"), *_drop_unset(rest)))
        return replace(inner, clears_environment=True) if inner and _drop_unset(rest) != rest else inner
    return UnwrappedCommand(calls=(rest,)) if tool == "time" else None


def _drop_unset(words: Words) -> Words:
    return tuple(word for word in words if not word.text.startswith("--unset="))


def _unwrap_coreutils(words: Words) -> UnwrappedCommand | None:
    """Handle `coreutils --coreutils-prog=rm x`, and the program as the first word, as in busybox."""
    first = words[1] if len(words) > 1 else None
    if first is None or can_split(first):
        return make_unknown_call(words) if first else None
    for option in ("--coreutils-prog=", "--coreutils-prog-shebang="):
        if first.text.startswith(option):
            return UnwrappedCommand(calls=((Word(first.text.removeprefix(option)), *words[2:]),))
    return UnwrappedCommand(calls=(words[1:],)) if not first.text.startswith("-") else None


def _unwrap_socat(words: Words) -> UnwrappedCommand | None:
    """Handle `socat EXEC:'rm x' -`: an address may be a program or a shell script."""
    scripts = tuple(
        Word(rest.partition(",")[0], word.dynamic)
        for word in words[1:]
        for kind, colon, rest in (word.text.partition(":"),)
        if colon and kind.casefold() in ("exec", "system", "shell")
    )
    return UnwrappedCommand(scripts=scripts, keep=True, folder_unknown=True) if scripts else None


def _unwrap_parallel(words: Words) -> UnwrappedCommand | None:
    """Handle `parallel rm -rf ::: a b` with literal arguments: returns each call. Other forms are unknown."""
    place = skip_options(
        words, make_options("-k --keep-order --bar --eta -q --quote --will-cite -u --ungroup", "-j --jobs")
    )
    mark = next((at for at, word in enumerate(words) if word.text == ":::"), None)
    if place < 0 or mark is None or place >= mark or any(word.text[:3] == ":::" for word in words[mark + 1 :]):
        return make_unknown_call(words)
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
    # The words are joined to a text for a shell, which may find more in them than is visible here.
    return UnwrappedCommand(calls=calls, keep=True, unknown=make_unknown_call(words).unknown)


_WRAPPERS: dict[str, Callable[[Words], UnwrappedCommand | None]] = {
    **dict.fromkeys(SHELLS | UNPARSED_SHELLS, _unwrap_shell),
    "env": _unwrap_env,
    "command": _unwrap_command_builtin,
    "builtin": _make_prefix_unwrapper(make_options()),
    "exec": _unwrap_exec,
    "nohup": _make_prefix_unwrapper(make_options()),
    "setsid": _make_prefix_unwrapper(make_options("-c -f -w --fork --wait --ctty")),
    "time": _make_prefix_unwrapper(make_options("-p -v --verbose --portability", "-f --format")),
    "timeout": _make_prefix_unwrapper(
        make_options("-v --verbose --preserve-status --foreground -f -p", "-k --kill-after -s --signal"), 1
    ),
    "gtimeout": _make_prefix_unwrapper(
        make_options("-v --preserve-status --foreground", "-k --kill-after -s --signal"), 1
    ),
    "nice": _make_prefix_unwrapper(make_options(" ".join(f"-{number}" for number in range(20)), "-n --adjustment")),
    "ionice": _make_prefix_unwrapper(make_options("-t", "-c --class -n --classdata")),
    "stdbuf": _make_prefix_unwrapper(make_options("", "-i -o -e --input --output --error")),
    "taskset": _make_prefix_unwrapper(make_options("-a -c", ""), 1),
    "caffeinate": _make_prefix_unwrapper(make_options("-d -i -m -s -u", "-t")),
    "sudo": _make_prefix_unwrapper(_SUDO),
    "doas": _make_prefix_unwrapper(make_options("-n -s -L", "-u -C")),
    "xargs": _unwrap_xargs,
    "find": _unwrap_find,
    "fd": _unwrap_fd,
    "fdfind": _unwrap_fd,
    "eval": _unwrap_eval,
    "trap": _unwrap_trap,
    "ssh": _unwrap_ssh,
    "git": _unwrap_git,
    "watch": _unwrap_watch,
    "su": _unwrap_su,
    "busybox": _make_prefix_unwrapper(make_options()),
    "coproc": _unwrap_coproc,
    "!": _make_prefix_unwrapper(make_options()),
    "mapfile": _unwrap_callback,
    "readarray": _unwrap_callback,
    "compgen": _unwrap_callback,
    "complete": _unwrap_callback,
    "jobs": _unwrap_jobs,
    "toybox": _make_prefix_unwrapper(make_options()),
    "coreutils": _unwrap_coreutils,
    "parallel": _unwrap_parallel,
    "cmake": _unwrap_cmake,
    "socat": _unwrap_socat,
    "arch": _unwrap_arch,
    **dict.fromkeys(word_set("i386 i486 i586 i686 x86_64 linux32 linux64 uname26 setarch"), _unwrap_setarch),
    "setpriv": _make_prefix_unwrapper(
        make_options(
            "--clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env -d --dump --ptracer",
            "--ambient-caps --bounding-set --inh-caps --groups --reuid --regid --ruid --euid --rgid --egid --pdeathsig"
            " --securebits --selinux-label --apparmor-profile --landlock-access --landlock-rule --seccomp-filter",
        )
    ),
    "pkexec": _make_prefix_unwrapper(make_options("--disable-internal-agent --keep-cwd", "-u --user"), keep=True),
    "uclampset": _make_prefix_unwrapper(
        make_options("-a --all-tasks -R --reset-on-fork -s --system", "-m -M --min --max -p --pid")
    ),
    "daemonize": _make_prefix_unwrapper(make_options("-a -v", "-c -e -E -l -o -p -u"), keep=True),
    "rustup": _make_runner_unwrapper("run", positionals=1),
    "meson": _make_runner_unwrapper("devenv", known=make_options("", "-C -w --workdir")),
    "dotenv": _make_runner_unwrapper(
        "run", optional=True, known=make_options("-o --override --no-override", "-f --file -e -v -p -c -q")
    ),
    "fakeroot": _make_prefix_unwrapper(make_options()),
    "strace": _make_prefix_unwrapper(make_options("-f -c -q -v -t", "-e -o -p -s"), keep=True),
    "ltrace": _make_prefix_unwrapper(make_options("-f -c", "-e -o"), keep=True),
    "chroot": _make_prefix_unwrapper(make_options(), 1, keep=True),
    "flock": _make_prefix_unwrapper(
        make_options("-n -x -s -u --nonblock --exclusive --shared", "-w --timeout -E"), 1, keep=True
    ),
    **dict.fromkeys(UNPARSED_WRAPPERS, make_unknown_call),
    "uv": _make_runner_unwrapper("run"),
    "poetry": _make_runner_unwrapper("run"),
    "pipenv": _make_runner_unwrapper("run"),
    "pdm": _make_runner_unwrapper("run"),
    "bundle": _make_runner_unwrapper("exec"),
}


_LOADER = re.compile(r"ld(?:-linux[\w-]*|-musl-\w+|64|-\d[\d.]*)?\.so(?:\.\d+)?")


def is_loader(name: str) -> bool:
    """Whether a program is the dynamic loader, which starts another program."""
    return _LOADER.fullmatch(name) is not None


def is_wrapper(name: str) -> bool:
    """Whether some calls of a program start another one named by its arguments."""
    return name in _WRAPPERS or is_loader(name)


def unwrap_command(words: Words) -> UnwrappedCommand | None:
    """Return what a call starts instead of, or besides, itself; None if it starts nothing else."""
    if not words or words[0].dynamic:
        return None
    name = words[0].text.rsplit("/", 1)[-1]
    wrapper = _unwrap_loader if is_loader(name) else _WRAPPERS.get(name)
    return wrapper(words) if wrapper else None
