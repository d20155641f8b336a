"""Programs that start other programs, and how to find the one they start. Pure."""

from collections.abc import Callable
from itertools import pairwise

from msgspec import Struct

from clio.security.shell_words import Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})


class Peeled(Struct, frozen=True, kw_only=True):
    """What a wrapper starts.

    calls: the inner calls, each with its words. scripts: texts the wrapper hands to a shell.
    env: variables it sets. keep: the wrapper must be judged as well, for what it does itself.
    unknown: why the inner call cannot be told; "" when it can. folder_unknown: it changes the folder.
    """

    calls: tuple[tuple[Word, ...], ...] = ()
    scripts: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    keep: bool = False
    unknown: str = ""
    folder_unknown: bool = False


Words = tuple[Word, ...]


class _Options(Struct, frozen=True):
    """The options a wrapper takes before its command: bare ones, and those that take a value."""

    flags: frozenset[str]
    valued: frozenset[str]


def _options(flags: str = "", valued: str = "") -> _Options:
    return _Options(frozenset(flags.split()), frozenset(valued.split()))


def _skip(words: Words, options: _Options, start: int = 1) -> int:
    """The place of the first word after the options; -1 where an option is dynamic or not known."""
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
        if name in options.valued:
            place += 1 if "=" in text else 2
        elif text in options.flags or _glued(text, options):
            place += 1
        else:
            return -1
    return place


def _glued(text: str, options: _Options) -> bool:
    """Whether an option is a known one with its value attached, or several one-letter flags in one word."""
    if text.startswith("--"):
        return False
    letters = text[1:]
    for place, letter in enumerate(letters):
        if f"-{letter}" in options.valued:
            return place + 1 < len(letters)
        if f"-{letter}" not in options.flags:
            return False
    return True


def _unclear(words: Words) -> Peeled:
    return Peeled(keep=True, unknown=f"what {words[0].text!r} starts cannot be told")


def _plain(options: _Options, positionals: int = 0, keep: bool = False) -> Callable[[Words], Peeled | None]:
    """A wrapper of the form `name [options] [positionals] command …`."""

    def peel(words: Words) -> Peeled | None:
        place = _skip(words, options)
        if place < 0:
            return _unclear(words)
        inner = words[place + positionals :]
        return Peeled(calls=(inner,), keep=keep) if inner else None

    return peel


_ENV = _options("-i --ignore-environment - -0 --null -v --debug", "-u --unset -C --chdir")


def _env(words: Words) -> Peeled | None:
    if any(word.text.startswith(("-S", "--split", "-vS")) for word in words[1:]):
        return _unclear(words)
    place, env = _skip(words, _ENV), list[tuple[str, str]]()
    if place < 0:
        return _unclear(words)
    moved = any(word.text.startswith(("-C", "--chdir")) for word in words[1:place])
    place += place < len(words) and words[place].text == "-"
    while place < len(words) and "=" in words[place].text and not words[place].text.startswith(("=", "$")):
        name, value = words[place].text.split("=", 1)
        env.append((name, value))
        place += 1
    inner = words[place:]
    return Peeled(calls=(inner,), env=tuple(env), folder_unknown=moved) if inner else None


_SHELL = _options(
    "-e -u -x -v -i -l -s -n -f --login --norc --noprofile --posix +e +x +u", "-o -O --rcfile --init-file"
)


def _shell(words: Words) -> Peeled | None:
    """`sh -c text`; None where the shell reads a file or its input."""
    place = 1
    while place < len(words):
        word = words[place]
        if word.dynamic:
            return _unclear(words)
        text = word.text
        if text.startswith(("--rcfile", "--init-file")):
            return _unclear(words)
        if text.startswith("-") and not text.startswith("--") and "c" in text[1:]:
            rest = [each for each in words[place + 1 :] if each.text != "--"]
            while rest and rest[0].text.startswith(("-", "+")) and not rest[0].dynamic:
                rest = rest[2:] if rest[0].text in ("-o", "-O", "+o", "+O") else rest[1:]
            return Peeled(scripts=(rest[0],)) if rest else _unclear(words)
        if text in _SHELL.valued:
            place += 2
        elif text.startswith(("-", "+")) and text != "-":
            place += 1
        else:
            return None
    return None


_XARGS = _options(
    "-0 --null -r --no-run-if-empty -t --verbose -x --exit -o --open-tty -p --interactive",
    "-n --max-args -P --max-procs -I -L --max-lines -d --delimiter -a --arg-file -s --max-chars -E -J -R -S --replace",
)


def _xargs(words: Words) -> Peeled | None:
    place = _skip(words, _XARGS)
    if place < 0:
        return _unclear(words)
    inner = words[place:]
    if not inner:
        return Peeled(calls=((Word("echo"), Word("$INPUT", dynamic=True)),))
    marks = [_value(words, number, ("-I", "-J", "--replace")) for number in range(1, place)]
    marks = [mark for mark in marks if mark]
    if marks:
        return Peeled(calls=(tuple(_filled(word, marks) for word in inner),))
    return Peeled(calls=((*inner, Word("$INPUT", dynamic=True)),))


def _value(words: Words, place: int, names: tuple[str, ...]) -> str:
    """The value of an option that stands at a place: glued, after `=`, or the next word."""
    text = words[place].text
    for name in names:
        if text == name:
            return words[place + 1].text if place + 1 < len(words) else ""
        if text.startswith(name):
            return text[len(name) :].removeprefix("=")
    return ""


def _filled(word: Word, marks: list[str]) -> Word:
    """A word in which a place-holder stands is only known when it runs."""
    return Word(word.text, dynamic=True) if any(mark in word.text for mark in marks) else word


_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _find(words: Words) -> Peeled | None:
    calls = list[Words]()
    place = 1
    while place < len(words):
        if words[place].text not in _FIND_EXEC:
            place += 1
            continue
        end = place + 1
        while end < len(words) and words[end].text not in (";", "+"):
            end += 1
        inner = tuple(_filled(word, ["{}"]) for word in words[place + 1 : end])
        if end == len(words) or not inner:
            return _unclear(words)
        calls.append(inner)
        place = end + 1
    return Peeled(calls=tuple(calls), keep=True) if calls else None


def _fd(words: Words) -> Peeled | None:
    for place, word in enumerate(words):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            inner = [_filled(each, ["{"]) for each in words[place + 1 :] if each.text != ";"]
            return Peeled(calls=((*inner, Word("$INPUT", dynamic=True)),), keep=True) if inner else _unclear(words)
        if word.text.startswith(("--exec", "-x", "-X")):
            return _unclear(words)
    return None


def _joined(words: Words) -> Word:
    return Word(" ".join(word.text for word in words), dynamic=any(word.dynamic for word in words))


def _eval(words: Words) -> Peeled | None:
    inner = words[2:] if len(words) > 1 and words[1].text == "--" else words[1:]
    return Peeled(scripts=(_joined(inner),)) if inner else None


def _trap(words: Words) -> Peeled | None:
    inner = [word for word in words[1:] if word.text not in ("--",)]
    if len(inner) < 2 or inner[0].text in ("-", "-l", "-p", ""):
        return None
    return Peeled(scripts=(inner[0],), folder_unknown=True)


_SSH = _options(
    "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y",
    "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
)


def _ssh(words: Words) -> Peeled | None:
    place = _skip(words, _SSH)
    inner = words[place + 1 :] if place >= 0 else ()
    return Peeled(scripts=(_joined(inner),), keep=True, folder_unknown=True) if inner else None


_GIT = _options(
    "-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --no-optional-locks",
    "-C -c --git-dir --work-tree --namespace --config-env --super-prefix",
)


def git_subcommand(words: Words) -> int:
    """The place of git's sub-command; -1 where an option before it is not known, `len(words)` where there is none."""
    return _skip(words, _GIT)


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
            return Peeled(calls=(rest[1:],), keep=True) if rest[1:] else None
        case "submodule", _ if any(word.text == "foreach" for word in rest):
            at = next(number for number, word in enumerate(rest) if word.text == "foreach")
            inner = tuple(word for word in rest[at + 1 :] if word.text not in ("--recursive", "--quiet", "-q"))
            return Peeled(scripts=(_joined(inner),), keep=True, folder_unknown=True) if inner else None
        case "rebase", _:
            scripts = [_value(rest, number, ("--exec", "-x")) for number in range(len(rest))]
            found = tuple(Word(script) for script in scripts if script)
            return Peeled(scripts=found, keep=True) if found else None
        case _:
            return None


def _watch(words: Words) -> Peeled | None:
    place = _skip(words, _options("-d -t -b -e -g -c -x -p -w -r --color --no-title --exec", "-n --interval"))
    if place < 0:
        return _unclear(words)
    return Peeled(scripts=(_joined(words[place:]),)) if words[place:] else None


def _runner(*lead: str) -> Callable[[Words], Peeled | None]:
    """`uv run pytest`, `poetry run pytest`: the words after the lead are the call, unless options stand there."""

    def peel(words: Words) -> Peeled | None:
        texts = tuple(word.text for word in words[1 : len(lead) + 1])
        inner = words[len(lead) + 1 :]
        if texts != lead or not inner:
            return None
        inner = inner[1:] if inner[0].text == "--" else inner
        if not inner or inner[0].text.startswith("-"):
            return None
        return Peeled(calls=(inner,))

    return peel


def _command(words: Words) -> Peeled | None:
    place = _skip(words, _options("-p", ""))
    return Peeled(calls=(words[place:],)) if 0 <= place < len(words) else None


def _su(words: Words) -> Peeled | None:
    texts = [word.text for word in words]
    for place, text in enumerate(texts[:-1]):
        if text in ("-c", "--command"):
            return Peeled(scripts=(words[place + 1],), keep=True)
    return None


_SUDO = _options(
    "-A --askpass -b --background -E --preserve-env -H --set-home -n --non-interactive -P -S --stdin -k",
    "-u --user -g --group -p --prompt -C -T -h --host -r -t -U",
)

_WRAPPERS: dict[str, Callable[[Words], Peeled | None]] = {
    **dict.fromkeys(SHELLS, _shell),
    "env": _env,
    "command": _command,
    "builtin": _plain(_options()),
    "exec": _plain(_options("-c -l", "-a")),
    "nohup": _plain(_options()),
    "setsid": _plain(_options("-c -f -w --fork --wait --ctty")),
    "time": _plain(_options("-p -v --verbose --portability", "-f --format")),
    "timeout": _plain(_options("-v --verbose --preserve-status --foreground -f -p", "-k --kill-after -s --signal"), 1),
    "gtimeout": _plain(_options("-v --preserve-status --foreground", "-k --kill-after -s --signal"), 1),
    "nice": _plain(_options(" ".join(f"-{number}" for number in range(20)), "-n --adjustment")),
    "ionice": _plain(_options("-t", "-c --class -n --classdata")),
    "stdbuf": _plain(_options("", "-i -o -e --input --output --error")),
    "taskset": _plain(_options("-a -c", ""), 1),
    "caffeinate": _plain(_options("-d -i -m -s -u", "-t")),
    "sudo": _plain(_SUDO),
    "doas": _plain(_options("-n -s -L", "-u -C")),
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
    "busybox": _plain(_options()),
    "coproc": _plain(_options()),
    "strace": _plain(_options("-f -c -q -v -t", "-e -o -p -s"), keep=True),
    "ltrace": _plain(_options("-f -c", "-e -o"), keep=True),
    "chroot": _plain(_options(), 1, keep=True),
    "flock": _plain(_options("-n -x -s -u --nonblock --exclusive --shared", "-w --timeout -E"), 1, keep=True),
    "parallel": _unclear,
    "script": _unclear,
    "expect": _unclear,
    "unshare": _unclear,
    "nsenter": _unclear,
    "systemd-run": _unclear,
    "uv": _runner("run"),
    "poetry": _runner("run"),
    "pipenv": _runner("run"),
    "pdm": _runner("run"),
    "bundle": _runner("exec"),
}


def peel(words: Words) -> Peeled | None:
    """What a call starts instead of, or besides, itself; None where the call is what it seems."""
    if not words or words[0].dynamic:
        return None
    wrapper = _WRAPPERS.get(words[0].text.rsplit("/", 1)[-1])
    return wrapper(words) if wrapper else None
