"""Judge whether a simple command is read-only; includes find, fd and xargs, which start other programs.

`judge_read_only` looks up the judge of the program, a function made from the tables of the other modules in this
package. find, fd and xargs pass file names to the program they start. In the call that is judged, each such name is
replaced by a placeholder.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from clio.security.readonly import awk, jq, sed, system_programs
from clio.security.readonly.developer_tools import DEVELOPER_TOOLS
from clio.security.readonly.git_grammar import GIT_JUDGES, OBJECT_PLACEHOLDER, find_object_revisions
from clio.security.readonly.grammar import Judge, Judgement, ParsedCall, UnknownWord, parse_call, read_grammar
from clio.security.readonly.system_programs import BUILTINS, PROGRAMS
from clio.security.shell.command_line import CommandLine, SimpleCommand, Word, word_set

NAME_PASSING_PROGRAMS = frozenset({"find", "fd", "fdfind", "xargs"})
"""Programs that start another one with file names; the inner call is judged here."""

_NAME_PLACEHOLDER = "\0"
"""Placeholder text for a file name. No word of a command line can contain it."""

_HARMLESS_WITH_ANY_OPTION = word_set("""
    wc cat head tail ls stat grep egrep fgrep md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum
    basename dirname echo nl cut du
    """)
"""Programs without any option that writes or runs something."""

_NEVER_STARTED = NAME_PASSING_PROGRAMS | word_set(
    "env timeout nice nohup time sudo doas sh bash dash zsh ksh command exec eval source ."
)
"""Programs that start another one, or run the text of a file; not followed when find, fd or xargs starts them."""

# -- find

_FIND_FLAGS = word_set("""
    -empty -executable -readable -writable -false -true -nogroup -nouser -print -print0 -ls -prune -quit -depth -d
    -daystart -mount -xdev -noleaf -ignore_readdir_race -noignore_readdir_race -warn -nowarn -not -and -or -a -o ! ( ) ,
    -follow
    """)
_ONLY_PRINT_NAMES = frozenset({"echo", "basename", "dirname"})
"""Programs that open none of the files whose names they receive."""
_FIND_TEXT_OPTIONS = word_set("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime -mmin
    -atime -amin -ctime -cmin -used -uid -gid -user -group -perm -links -inum -maxdepth -mindepth -regextype -printf
    -fstype
    """)
_FIND_PATH_OPTIONS = word_set("-newer -anewer -cnewer -samefile")
_FIND_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_PLACEHOLDER_IN_WORD = re.compile(r"\{(?:|/|//|\.|/\.)\}")
_PLAIN_NAME = re.compile(r"(?![-~])[\w./@:+,=%*?-]+", re.ASCII)
_FIND_OPTIMIZATION = re.compile(r"-O[0-3]")
_FIND_REFUSED = {
    "-delete": "deletes what it finds",
    "-fprint": "writes a file",
    "-fprint0": "writes a file",
    "-fprintf": "writes a file",
    "-fls": "writes a file",
    "-execdir": "runs a command in other directories",
    "-ok": "asks before each command",
    "-okdir": "runs a command in other directories",
    "-files0-from": "reads where to start from a file",
}

# -- fd

_FD_GRAMMAR = """
    -H -I -u -s -i -g -F -a -L -p -q -1 -0 -d=number -E= -t= -e= -S= -o= -c=(auto|always|never) -j=number
    --hidden --no-ignore --unrestricted --no-ignore-vcs --no-ignore-parent --no-global-ignore-file --case-sensitive
    --ignore-case --glob --regex --fixed-strings --absolute-path --follow --full-path --quiet --print0 --prune
    --show-errors --one-file-system --max-depth=number --min-depth=number --exact-depth=number --exclude= --type=
    --extension= --size= --owner= --changed-within= --changed-before= --color=(auto|always|never) --threads=number
    --max-results=number --and= --search-path=path --version --help
    ; text? path*
    """
_FD_EXEC_OPTIONS = word_set("-x -X --exec --exec-batch")
_FD_FOLLOW_OPTIONS = ("-L", "--follow")

# -- xargs and the commands that feed it

_XARGS_GRAMMAR = """
    -0 -r -t -x -n=number -P=number -L=number -s=number -I= -d=(\\n|\\0|\\000) --null --no-run-if-empty --verbose
    --exit --max-args=number --max-procs=number --max-chars=number --delimiter=(\\n|\\0|\\000)
    ; text*
    """
_GIT_FILE_LISTINGS: dict[str, str] = {
    "ls-files": "-c -m -o -d -z --cached --modified --others --deleted --exclude-standard --ignored ; path*",
    "grep": "-l -i -w -E -F -G -P -v -I -z -e= --name-only --files-with-matches --untracked ; text?",
}
_FILE_LISTINGS: dict[str, str] = {
    "ls": "-1 -A -t -r -S -U -X -d --almost-all --reverse --directory ; path*",
    "rg": """
        -l -i -s -S -w -x -F -P -v -u -0 -g= -t= -T= -e= -. --files --files-with-matches --files-without-match --null
        --hidden --no-ignore --glob= --type= --type-not= --ignore-case --fixed-strings ; path*
        """,
    "grep": """
        -l -L -r -i -E -F -G -P -w -x -v -s -I -Z -e= --files-with-matches --files-without-match --recursive --null
        --ignore-case --include= --exclude= --exclude-dir= ; path*
        """,
}
_LISTING_OPTIONS: dict[str, tuple[str, ...]] = {
    "rg": ("-l", "--files", "--files-with-matches", "--files-without-match"),
    "grep": ("-l", "-L", "--files-with-matches", "--files-without-match"),
    "git grep": ("-l", "--name-only", "--files-with-matches"),
}
_LINE_FILTERS: dict[str, str] = {
    "grep": "-v -i -E -F -G -P -w -x -z -e= --invert-match --ignore-case --extended-regexp --fixed-strings ; text*",
    "head": "-n=number -z -# --lines=number ;",
    "tail": "-n=number -z -# --lines=number ;",
    "sort": "-u -r -z -f -n -V --unique --reverse ;",
    "uniq": "-u -d -z ;",
    "tr": "; text(\\n) text(\\0|\\000)",
}
"""Filters that pass on whole lines of their input unchanged."""


def make_search_judges(judge_call: Judge) -> dict[str, Judge]:
    """Return the judges of find and fd.

    Args:
        judge_call: judges any call, for the programs they start.
    """

    def judge_find(words: tuple[Word, ...]) -> Judgement:
        return _judge_find(words, judge_call)

    def judge_fd(words: tuple[Word, ...]) -> Judgement:
        return _judge_fd(words, judge_call)

    return {"find": judge_find, "fd": judge_fd, "fdfind": judge_fd}


def _judge_find(words: tuple[Word, ...], judge_call: Judge) -> Judgement:
    """Judge find: its tests and actions, and the programs it starts with `-exec`."""
    if any(name.dynamic for name in words):
        raise UnknownWord("has arguments computed at run time")
    if [name.text for name in words[1:]] in (["--help"], ["-help"], ["--version"], ["-version"]):
        return Judgement()
    index, follows = _skip_leading_options(words)
    paths: list[Word] = []
    while index < len(words) and not _is_expression_start(words[index].text):
        paths.append(words[index])
        index += 1
    paths = paths or [Word(".")]
    inner: list[Judgement] = []
    while index < len(words):
        name = words[index].text
        if words[index].glob:
            raise UnknownWord("find has an unquoted pattern in its expression")
        if name == "-exec":
            end = _find_end_of_exec(words, index + 1)
            call = words[index + 1 : end]
            inner.append(_judge_find_exec(call, words[end].text == "+", judge_call))
            index = end + 1
            continue
        arity = _count_find_values(name)
        values = words[index + 1 : index + 1 + arity]
        if len(values) < arity or any(value.glob for value in values):
            raise UnknownWord(f"the value of {name} is missing or an unquoted pattern")
        if name in _FIND_PATH_OPTIONS or (_FIND_NEWER.fullmatch(name) and not name.endswith("t")):
            paths += values
        follows = follows or name == "-follow"
        index += 1 + arity
    return Judgement(
        paths=(*paths, *(path for each in inner for path in each.paths)), follows_links=follows or bool(inner)
    )


def _skip_leading_options(words: tuple[Word, ...]) -> tuple[int, bool]:
    """Return the index after find's options before its starting points, and whether it follows links."""
    index, follows = 1, False
    while index < len(words) and not words[index].glob:
        text = words[index].text
        if text == "-D":
            index += 1
        elif text in ("-H", "-L"):
            follows = True
        elif text not in ("-P", "-E", "-s", "-x") and not _FIND_OPTIMIZATION.fullmatch(text):
            break
        index += 1
    return index, follows


def _is_expression_start(text: str) -> bool:
    return text.startswith("-") or text in ("(", ")", "!", ",")


def _count_find_values(word: str) -> int:
    """Return how many values a test or action takes. Raises UnknownWord if it is not listed."""
    if word in _FIND_FLAGS:
        return 0
    if word in _FIND_TEXT_OPTIONS or word in _FIND_PATH_OPTIONS or _FIND_NEWER.fullmatch(word):
        return 1
    if why := _FIND_REFUSED.get(word):
        raise UnknownWord(f"find {why} ({word})")
    raise UnknownWord(f"find's {word!r} is not known to be harmless")


def _find_end_of_exec(words: tuple[Word, ...], start: int) -> int:
    """Return the index of the `;`, or of the `+` after `{}`, that ends the command of `-exec`."""
    for index in range(start, len(words)):
        if words[index].text == ";" or (words[index].text == "+" and words[index - 1].text == "{}" and index > start):
            return index
    raise UnknownWord("the command after -exec has no end (`;` or `+`)")


def _judge_find_exec(call: tuple[Word, ...], several: bool, judge_call: Judge) -> Judgement:
    """Judge a command that is started with `{}` for one file name or for several."""
    filled = tuple(Word(_NAME_PLACEHOLDER, glob=several) if word.text == "{}" else word for word in call)
    return judge_with_names(filled, judge_call)


def judge_with_names(words: tuple[Word, ...], judge_call: Judge, *, names_may_be_options: bool = False) -> Judgement:
    """Judge a call whose words may be placeholders for file names.

    Args:
        names_may_be_options: a name may begin with "-", so only programs without a harmful option are accepted. find
            puts the path it starts from before each name.
    """
    if not words or words[0].dynamic or words[0].glob or "/" in words[0].text or words[0].text == _NAME_PLACEHOLDER:
        raise UnknownWord("starts something other than a plain program for each file")
    program = words[0].text
    if program in _NEVER_STARTED or (names_may_be_options and program not in _HARMLESS_WITH_ANY_OPTION):
        raise UnknownWord(f"starts {program!r} with file names, which is not known to be harmless")
    if any(_PLACEHOLDER_IN_WORD.search(word.text) for word in words):
        raise UnknownWord("inserts a file name into an argument of the program it starts")
    judgement = judge_call(words)
    if judgement.network or judgement.git or judgement.lists_arguments:
        raise UnknownWord(f"starts {program!r} for each file, which is not known to be harmless")
    return replace(judgement, paths=tuple(word for word in judgement.paths if word.text != _NAME_PLACEHOLDER))


def _judge_fd(words: tuple[Word, ...], judge_call: Judge) -> Judgement:
    """Judge fd, and the program it starts with `-x` or `-X`."""
    split = next((split for split, word in enumerate(words) if word.text in _FD_EXEC_OPTIONS), len(words))
    own, inner = words[1:split], words[split + 1 :]
    if split < len(words) and any(word.text == "--" for word in own):
        raise UnknownWord("clio can't tell where the command for fd to start begins")
    call = parse_call(read_grammar(_FD_GRAMMAR), own)
    paths = list(_list_fd_paths(call)) or [Word(".")]
    follows = call.has_option(*_FD_FOLLOW_OPTIONS)
    if split == len(words):
        return Judgement(paths=tuple(paths), follows_links=follows)
    if inner and inner[-1].text == ";":
        inner = inner[:-1]
    if any(word.dynamic or word.text == ";" for word in inner):
        raise UnknownWord("has arguments computed at run time")
    several = words[split].text in ("-X", "--exec-batch")
    filled = tuple(Word(_NAME_PLACEHOLDER, glob=several) if word.text == "{}" else word for word in inner)
    if not any(word.text == _NAME_PLACEHOLDER for word in filled):
        filled = (*filled, Word(_NAME_PLACEHOLDER, glob=several))
    if not all(map(_is_below, paths)):
        raise UnknownWord("fd starts a command with names of files outside this directory")
    started = judge_with_names(filled, judge_call, names_may_be_options=True)
    return Judgement(paths=(*paths, *started.paths), follows_links=True, lists_arguments=True)


def _list_fd_paths(call: ParsedCall) -> tuple[Word, ...]:
    """Return the directories that fd searches; its first operand is a pattern."""
    named = tuple(Word(value) for value in call.values("--search-path"))
    if any(word.glob for word in call.operands):
        return (*named, *call.operands)
    return (*named, *call.operands[1:])


def judge_started_call(command: SimpleCommand, line: CommandLine | None, judge_call: Judge) -> Judgement:
    """Judge a call started by find, fd or xargs, as the parser returns it: computed words are file names.

    A call started by find or fd was already judged with the call of find or fd itself; the parser returns it as a
    command of its own too. For xargs, the line must show where the names come from.

    Raises:
        UnknownWord: if the call is not known to be harmless.
    """
    starter = command.wrappers[-1]
    if starter not in NAME_PASSING_PROGRAMS:
        raise UnknownWord(f"{starter!r} starts it with file names, which is not known to be harmless")
    if starter != "xargs":
        words = tuple(_replace_by_placeholder(word, ("{}", "$INPUT")) for word in command.words)
        started = judge_with_names(words, judge_call, names_may_be_options=starter != "find")
        return replace(started, follows_links=True, lists_arguments=starter != "find")
    mark = _find_xargs_placeholder(command)
    words = tuple(_replace_by_placeholder(word, (mark, "$INPUT")) for word in command.words)
    if line is None:
        raise UnknownWord("clio can't tell where xargs gets its arguments")
    if command.program == "git" and _is_reading_object_names(command, line):
        names_given = ((), (Word(OBJECT_PLACEHOLDER),), (Word(OBJECT_PLACEHOLDER), Word(OBJECT_PLACEHOLDER)))
        calls = [
            tuple(each for word in words for each in (given if word.text == _NAME_PLACEHOLDER else (word,)))
            for given in names_given
        ]
        return [judge_call(call) for call in calls][1]
    check_names_from_pipe(command, line)
    started = judge_with_names(words, judge_call, names_may_be_options=True)
    opens = command.program not in _ONLY_PRINT_NAMES
    return replace(started, follows_links=opens, lists_arguments=opens)


def _replace_by_placeholder(word: Word, marks: tuple[str, ...]) -> Word:
    if word.dynamic and word.text in marks:
        return Word(_NAME_PLACEHOLDER, glob=True)
    if word.dynamic:
        raise UnknownWord("has arguments computed at run time")
    return word


def _find_xargs_placeholder(command: SimpleCommand) -> str:
    """Return the text xargs replaces by each line (`-I {}`), "" for none. Raises UnknownWord for unlisted options."""
    inner = command.words[:-1] if command.words[-1:] == (Word("$INPUT", dynamic=True),) else command.words
    for index, word in enumerate(command.written):
        if word.text.rsplit("/", 1)[-1] != "xargs":
            continue
        call = parse_call(read_grammar(_XARGS_GRAMMAR, order="stop"), command.written[index + 1 :])
        started = tuple(word.text for word in call.operands) or ("echo",)
        if started == tuple(word.text for word in inner):
            marks = call.values("-I")
            if len(marks) > 1 or "" in marks:
                raise UnknownWord("xargs replaces several words")
            return marks[0] if marks else ""
    raise UnknownWord("clio can't parse the options of xargs")


def _is_reading_object_names(command: SimpleCommand, line: CommandLine) -> bool:
    """Whether xargs reads object names printed by git, and no other command precedes it in the line."""
    position = next((position for position, other in enumerate(line.commands) if other is command), -1)
    if position != 1 or command.upstream != ("git",) or command.stdin is not None:
        return False
    first, *_ = line.commands
    is_rest_fed_by_git = all(other.upstream[:2] == ("git", "git") for other in line.commands[2:])
    is_first_plain = not (first.env or first.wrappers or first.upstream) and first.stdin is None
    return (
        is_rest_fed_by_git
        and is_first_plain
        and first.argv[1:2] != ("rev-parse",)
        and find_object_revisions(first) is not None
    )


def check_names_from_pipe(command: SimpleCommand, line: CommandLine) -> None:
    """Check that xargs reads the names of project files.

    Every command of the line must list such names, or select among the lines it receives, or read what xargs starts;
    `cd` is allowed too. This way no function defined in the line can replace a listing program.

    Raises:
        UnknownWord: if the names may be anything.
    """
    position = next((position for position, other in enumerate(line.commands) if other is command), -1)
    upstream = command.upstream
    if position < 0 or not upstream or command.stdin is not None:
        raise UnknownWord("clio can't tell where xargs gets its arguments")
    is_listing_found = False
    for index, other in enumerate(line.commands):
        reads_from_started = index > position and other.upstream[: len(upstream) + 1] == (*upstream, command.program)
        if index == position or reads_from_started:
            continue
        if other.stdin is not None:
            raise UnknownWord("xargs may get its arguments from a file")
        if is_file_listing(other):
            is_listing_found = True
        elif other.program != "cd" and not is_line_filter(other):
            raise UnknownWord(f"xargs gets its arguments from {other.program!r}, which may name any file")
    if not is_listing_found:
        raise UnknownWord("clio can't tell where xargs gets its arguments")


def is_file_listing(command: SimpleCommand) -> bool:
    """Whether a command prints nothing but names of files below its directory."""
    program, arguments = command.program, command.words[1:]
    if not all(map(_is_below, arguments)):
        return False
    if program in ("fd", "fdfind"):
        return _matches_grammar(_FD_GRAMMAR, arguments)
    if program == "echo":
        return bool(arguments) and all(not word.dynamic and _PLAIN_NAME.fullmatch(word.text) for word in arguments)
    if program == "seq":  # its numbers may be file names, if such files exist
        return bool(arguments) and all(not word.dynamic and word.text.isdecimal() for word in arguments)
    if program == "find":
        return not any(word.text in ("-printf", "-ls", "-exec") for word in arguments)
    if program == "git":
        return _is_git_file_listing(arguments)
    if program == "grep" and command.wrappers[-1:] == ("xargs",):
        arguments = tuple(
            Word(_NAME_PLACEHOLDER) if word == Word("$INPUT", dynamic=True) else word for word in arguments
        )
    spec, needs = _FILE_LISTINGS.get(program), _LISTING_OPTIONS.get(program)
    return spec is not None and _matches_grammar(spec, arguments, needs)


def _is_below(word: Word) -> bool:
    """Whether a word, taken as a path, is below the directory of the call, where links are checked."""
    return not word.text.startswith(("/", "~")) and ".." not in word.text


def _is_git_file_listing(arguments: tuple[Word, ...]) -> bool:
    """Whether git lists files of the working tree. Without `--`, a word after a pattern may be a revision."""
    subcommand = arguments[0].text if arguments else ""
    spec, needs = _GIT_FILE_LISTINGS.get(subcommand), _LISTING_OPTIONS.get(f"git {subcommand}")
    rest = arguments[1:]
    if subcommand == "grep" and Word("--") in rest:
        if any(word.dynamic for word in rest):
            return False
        rest = rest[: rest.index(Word("--"))]
    return spec is not None and _matches_grammar(spec, rest, needs)


def is_line_filter(command: SimpleCommand) -> bool:
    """Whether a command passes on whole lines of its input unchanged."""
    spec, arguments = _LINE_FILTERS.get(command.program), command.words[1:]
    if spec is None or not command.upstream or not _matches_grammar(spec, arguments):
        return False
    if command.program != "grep":
        return True
    call = parse_call(read_grammar(spec), arguments)
    return len(call.operands) == (0 if call.has_option("-e") else 1)


def _matches_grammar(spec: str, arguments: tuple[Word, ...], needs: tuple[str, ...] | None = None) -> bool:
    """Whether arguments match a grammar and include one of these options."""
    try:
        call = parse_call(read_grammar(spec), arguments)
    except UnknownWord:
        return False
    return needs is None or call.has_option(*needs)


_FUNCTION_DEFINITION = re.compile(r"\(\s*\)|\bfunction\b")
_NUL_OPTIONS = re.compile(r"-print0|--(?:null|print0|zero)\S*|-\w*[zZ0]\w*")
"""Options that end names with NUL, which the shell drops: `.` and `./a` would become `../a`."""
_OBJECT_NAME_READERS = word_set("git echo printf")
_FILE_NAME_READERS = word_set("""
    wc cat head tail ls stat grep egrep fgrep md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum
    basename dirname echo nl cut du printf sed sort file git test [
    """)


class SubstitutionOutput(Struct, frozen=True):
    """The possible output of a substitution.

    Attributes:
        values: each alternative; a text with blanks is several words if the shell splits it.
        files: whether the words are names of project files, represented by a pattern.
        programs: the programs that may receive them.
    """

    values: tuple[Word, ...]
    programs: frozenset[str] | None = None
    files: bool = False


FILE_NAMES_OUTPUT = SubstitutionOutput((Word("*", glob=True), Word("")), _FILE_NAME_READERS, files=True)
_CURRENT_FOLDER_OUTPUT = SubstitutionOutput((Word("."),))


def has_function(text: str) -> bool:
    """Whether a line may define a function, so that program names may mean something else."""
    return _FUNCTION_DEFINITION.search(text) is not None


def find_substitution_output(line: CommandLine) -> SubstitutionOutput | None:
    """Return what the commands of a substitution may print; None if it cannot be determined."""
    commands = line.commands
    plain = all(
        not (each.env or each.wrappers or each.declares or each.dynamic) and each.stdin is None for each in commands
    )
    if not commands or not plain or line.unknown or line.redirects or line.loops:
        return None
    if is_file_listing_pipe(commands):
        return FILE_NAMES_OUTPUT
    first, *more = commands
    if more:
        return None
    return _CURRENT_FOLDER_OUTPUT if first.words == (Word("pwd"),) else _find_object_output(first)


def is_file_listing_pipe(commands: tuple[SimpleCommand, ...]) -> bool:
    """Whether the commands of a pipe list project files: the first lists them, the others select among its lines."""
    first, rest = commands[0], commands[1:]
    in_order = all(
        each.upstream[-count:] == tuple(one.program for one in commands[:count]) for count, each in enumerate(rest, 1)
    )
    if any(each.program == "tr" or any(map(_NUL_OPTIONS.fullmatch, each.argv)) for each in commands):
        return False
    return in_order and not first.upstream and is_file_listing(first) and all(map(is_line_filter, rest))


def _find_object_output(command: SimpleCommand) -> SubstitutionOutput | None:
    """Return the object names git prints. `git rev-parse x` prints `x` itself if there is no such object."""
    operands = find_object_revisions(command)
    if operands is None:
        return None
    given = operands if "rev-parse" in command.argv else ()
    texts = ("", OBJECT_PLACEHOLDER, f"{OBJECT_PLACEHOLDER} {OBJECT_PLACEHOLDER}", *given)
    return SubstitutionOutput(tuple(map(Word, texts)), _OBJECT_NAME_READERS)


def _judge_words(words: tuple[Word, ...]) -> Judgement:
    """Judge the words of a call, including one that another program starts."""
    program = words[0].text.rsplit("/", 1)[-1]
    judge = _JUDGES.get(program)
    if judge is None:
        raise UnknownWord(f"clio does not know the program {program!r}")
    return judge(words)


_JUDGES: dict[str, Judge] = {
    **PROGRAMS,
    **BUILTINS,
    **DEVELOPER_TOOLS,
    **GIT_JUDGES,
    **sed.JUDGES,
    **awk.JUDGES,
    **jq.JUDGES,
    **system_programs.JUDGES,
    **make_search_judges(_judge_words),
}


def has_readonly_grammar(program: str) -> bool:
    """Whether a program has a grammar, so that some of its calls are known to be harmless."""
    return program in _JUDGES


def list_readonly_programs() -> tuple[str, ...]:
    """Return the programs that have a grammar, sorted."""
    return tuple(sorted(_JUDGES))


def get_judge(program: str) -> Judge:
    """Return the judge of a listed program."""
    return _JUDGES[program]


def is_started_by_search(command: SimpleCommand) -> bool:
    """Whether find, fd or xargs starts the command, so that some of its words are file names."""
    return not NAME_PASSING_PROGRAMS.isdisjoint(command.wrappers)


def judge_read_only(command: SimpleCommand, line: CommandLine | None = None) -> Judgement | str:
    """Return what a command reads if it provably does nothing else; otherwise the reason why that is not known.

    A call without a word, which only sets variables, reads nothing.

    The reason is a verb phrase without a subject ("has arguments computed at run time") or names the word ("the option
    '-o' is not known to be harmless"). The caller judges the variables set for the command, its wrappers, and where its
    paths lead.

    Args:
        line: the line that contains the command; needed for what xargs starts.
    """
    if not command.words:
        return Judgement()
    try:
        if is_started_by_search(command):
            return judge_started_call(command, line, _judge_words)
        return _judge_words(command.words)
    except UnknownWord as error:
        return str(error)
