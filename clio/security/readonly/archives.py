"""Judge calls of archivers and compressors: only those that list, test, or print what they unpack. Pure.

Archives are opened where they are named, and some programs try further names: `gzip -l x` reads `x.gz`, and
`unzip -l x` reads `x.zip`. Those names are among the paths of the judgement, since each may be a link. `ar` is not
here: an archive it lists may consist of files elsewhere, which it opens.
"""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from clio.security.readonly.grammar import Judge, Judgement, ParsedCall, UnknownWord, judge_by, parse_call, read_grammar
from clio.security.shell.words import Word, names

_TAR = """
    -t -v -z -j -J -Z -a -R -f=path --list --verbose --gzip --gunzip --ungzip --bzip2 --xz --lzma --lzip --zstd
    --uncompress --auto-compress --file=path --full-time --numeric-owner --utc --block-number --totals? --exclude=
    --wildcards --no-wildcards --wildcards-match-slash --ignore-case --anchored --no-anchored --no-recursion
    --occurrence? --quoting-style=(literal|shell|shell-always|c|escape|locale) --force-local --ignore-zeros
    --strip-components=number --version --help
    ; text*
    """
_TAR_LETTERS = frozenset("tvzjJZaRf")
_UNZIP = "-l -v -t -p -c -z -q -C -a ; path text*"
_UNZIP_MODES = ("-l", "-v", "-t", "-p", "-c", "-z")
_ZIPINFO = "-Z -1 -2 -s -m -l -v -h -t -T -z -C ; path text*"
_GZIP = """
    -c -d -k -l -n -N -q -t -v -f -# --stdout --to-stdout --decompress --uncompress --keep --list --no-name --name
    --quiet --test --verbose --force --fast --best --version --help --license -V -h -L
    ; path*
    """
_XZ = """
    -c -d -k -l -q -t -v -f -e -z -Q -# -T=number -M=number --stdout --to-stdout --decompress --uncompress --keep --list
    --quiet --test --verbose --force --extreme --compress --robot --threads=number --memlimit=number --no-warn
    --ignore-check --single-stream --no-sparse --format=(auto|xz|lzma|alone|raw) --version --help -V -h -H
    ; path*
    """
_BZIP2 = """
    -c -d -k -q -t -v -f -s -z -# --stdout --decompress --keep --quiet --test --verbose --force --small --compress
    --version --help -V -h -L
    ; path*
    """
_ZSTD = """
    -c -d -k -l -q -t -v -f -# --stdout --decompress --uncompress --keep --list --quiet --test --verbose --force
    --version --help -V -h -H
    ; path*
    """
_CAT = "-f -q -v --force --quiet --verbose --version --help -V -h ; path*"
_ZGREP = """
    -i -n -c -l -L -v -w -x -E -F -H -h -o -q -s -e= -m=number -A=number -B=number -C=number --ignore-case --line-number
    --count --files-with-matches --files-without-match --invert-match --word-regexp --line-regexp --extended-regexp
    --fixed-strings --no-filename --with-filename --only-matching --quiet --regexp= --version --help
    ; path*
    """
_CPIO = """
    -i -t -v -n -c -F=path -I=path --list --extract --verbose --numeric-uid-gid --quiet --file=path --nonmatching
    --version --help
    ; text*
    """
_PRINTS = ("-c", "--stdout", "--to-stdout")
_TESTS = ("-t", "--test", "-l", "--list")
_CHANGES = ("-d", "--decompress", "--uncompress", "-z", "--compress")
_SAYS = ("--version", "--help", "-V", "-h", "-L", "-H", "--license")
_GZIP_ENDINGS = (".gz", "-gz", ".z", "-z", "_z", ".Z", ".tgz", ".taz")
_ZIP_ENDINGS = (".zip", ".ZIP")
_WILDCARDS = frozenset("*?[")


def _judge_tar(words: tuple[Word, ...]) -> Judgement:
    call = parse_call(read_grammar(_TAR), _spell_out(words[1:]))
    if _only_says(call, words):
        return Judgement()
    if not call.has("-t", "--list"):
        raise UnknownWord(f"{words[0].text} is not told to list an archive")
    if not call.has("-f", "--file"):
        raise UnknownWord(f"{words[0].text} reads a tape or what a variable names, as no archive is given")
    _refuse_hosts(call.paths)
    if any(word.text.startswith("@") for word in call.operands):
        raise UnknownWord("an argument that begins with '@' may name another archive")
    return Judgement(paths=tuple(word for word in call.paths if word.text != "-"))


def _spell_out(arguments: tuple[Word, ...]) -> tuple[Word, ...]:
    """The arguments of tar with the letters of an old-style first word (`tar tvf x`) as options of their own.

    Each letter that takes a value takes the next word, in the order of the letters.
    """
    if not arguments or arguments[0].text.startswith("-") or arguments[0].dynamic or arguments[0].glob:
        return arguments
    found: list[Word] = []
    rest = list(arguments[1:])
    for letter in arguments[0].text:
        if letter not in _TAR_LETTERS:
            raise UnknownWord(f"the option {letter!r} is not known to be harmless")
        found.append(Word(f"-{letter}"))
        if letter == "f":
            if not rest:
                raise UnknownWord("the name of the archive is missing")
            found.append(rest.pop(0))
    return (*found, *rest)


def _refuse_hosts(paths: tuple[Word, ...]) -> None:
    """Refuse archives with a colon, which tar and cpio take for a name on another machine."""
    if any(":" in word.text for word in paths):
        raise UnknownWord("an archive with a colon in its name may be on another machine")


def _only_says(call: ParsedCall, words: tuple[Word, ...]) -> bool:
    """Whether the call is `program --help` or the like, with nothing else."""
    return len(words) == 2 and call.has(*_SAYS)


def _judge_unzip(words: tuple[Word, ...]) -> Judgement:
    if len(words) == 2 and words[1].text in ("-v", "-h", "-hh"):
        return Judgement()
    if len(words) > 1 and words[1].text.startswith("-Z"):
        return _judge_zipinfo(words)
    call = _parse_zip(_UNZIP, words)
    if not call.has(*_UNZIP_MODES):
        raise UnknownWord("unzip writes the files it unpacks")
    return Judgement(paths=_zip_paths(call))


def _judge_zipinfo(words: tuple[Word, ...]) -> Judgement:
    return Judgement(paths=_zip_paths(_parse_zip(_ZIPINFO, words)))


def _parse_zip(spec: str, words: tuple[Word, ...]) -> ParsedCall:
    """The parsed call. A second dash negates an option, so that `unzip -l -- -v x` unpacks."""
    if any(word.text.startswith("--") for word in words[1:]):
        raise UnknownWord("an option with two dashes means something else to unzip")
    return parse_call(read_grammar(spec, order="first"), words[1:])


def _zip_paths(call: ParsedCall) -> tuple[Word, ...]:
    archive = call.operands[0]
    if not archive.glob and _WILDCARDS & set(archive.text):
        raise UnknownWord("unzip looks for archives by a pattern")
    return (*_with_endings(archive, _ZIP_ENDINGS), *call.paths[1:])


def _with_endings(word: Word, endings: tuple[str, ...]) -> tuple[Word, ...]:
    """A path and the further names a program tries for it; what a shell pattern stands for exists."""
    if word.glob or word.text == "-":
        return (word,)
    return (word, *(Word(word.text + ending) for ending in endings))


def _judge_packer(
    words: tuple[Word, ...], spec: str, *, endings: tuple[str, ...] = (), prints: bool = False
) -> Judgement:
    """A compressor that prints, lists or tests. prints: it does so without being told."""
    call = parse_call(read_grammar(spec), words[1:])
    if _only_says(call, words):
        return Judgement()
    # Of several modes the last one counts: `xz -l -d` unpacks.
    if not prints and not call.has(*_PRINTS) and (call.has(*_CHANGES) or not call.has(*_TESTS)):
        raise UnknownWord(f"{words[0].text} replaces the files it is given")
    return Judgement(paths=tuple(found for word in call.paths for found in _with_endings(word, endings)))


def _packer(spec: str, *, endings: tuple[str, ...] = (), prints: bool = False) -> Judge:
    judge: Callable[[tuple[Word, ...]], Judgement] = partial(_judge_packer, spec=spec, endings=endings, prints=prints)
    return judge


def _judge_zgrep(words: tuple[Word, ...]) -> Judgement:
    """zgrep is a shell script; older ones took a newline in a file name for a command of sed."""
    if any(word.glob or "\n" in word.text for word in words):
        raise UnknownWord("zgrep may take the name of a file for a command")
    call = parse_call(read_grammar(_ZGREP, order="first"), words[1:])
    files = call.operands if call.has("-e", "--regexp") else call.operands[1:]
    return Judgement(paths=tuple(found for word in files for found in _with_endings(word, _GZIP_ENDINGS)))


_list_7z = judge_by("-slt -ba -bd ; text(l|t) path text*", long_single_dash=True)


def _judge_7z(words: tuple[Word, ...]) -> Judgement:
    judgement = _list_7z(words)
    if any(word.glob or word.text.startswith(("@", "!")) or _WILDCARDS & set(word.text) for word in words[1:]):
        raise UnknownWord(f"{words[0].text} takes an argument for a list or a pattern of names")
    return replace(judgement, paths=tuple(found for word in judgement.paths for found in _with_endings(word, (".7z",))))


def _judge_cpio(words: tuple[Word, ...]) -> Judgement:
    call = parse_call(read_grammar(_CPIO), words[1:])
    if not _only_says(call, words) and not call.has("-t", "--list"):
        raise UnknownWord("cpio is not told to list an archive")
    _refuse_hosts(call.paths)
    return Judgement(paths=call.paths)


JUDGES: dict[str, Judge] = {
    **dict.fromkeys(names("tar gtar bsdtar"), _judge_tar),
    "unzip": _judge_unzip,
    "zipinfo": _judge_zipinfo,
    **dict.fromkeys(names("gzip gunzip"), _packer(_GZIP, endings=_GZIP_ENDINGS)),
    **dict.fromkeys(names("zcat gzcat"), _packer(_CAT, endings=_GZIP_ENDINGS, prints=True)),
    **dict.fromkeys(names("xz unxz lzma unlzma"), _packer(_XZ)),
    **dict.fromkeys(names("bzip2 bunzip2"), _packer(_BZIP2)),
    **dict.fromkeys(names("zstd unzstd"), _packer(_ZSTD)),
    **dict.fromkeys(names("xzcat lzcat bzcat zstdcat"), _packer(_CAT, prints=True)),
    **dict.fromkeys(names("zgrep zegrep zfgrep"), _judge_zgrep),
    **dict.fromkeys(names("7z 7za 7zr 7zz"), _judge_7z),
    "cpio": _judge_cpio,
}
