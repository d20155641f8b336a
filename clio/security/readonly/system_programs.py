"""Grammars of coreutils, text filters, archivers and shell built-ins that only read. Pure."""

import re
import shlex
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from clio.security.readonly.grammar import (
    Judge,
    Judgement,
    Order,
    ParsedCall,
    UnknownWord,
    make_judge,
    parse_call,
    read_grammar,
)
from clio.security.shell.command_line import Word, has_glob, word_set

_GREP = """
    -E -F -G -P -i -y -v -w -x -z -c -L -l -q -s -b -H -h -n -o -T -Z -a -I -U -r -R -u -#
    -e= -f=path -m=number -A=number -B=number -C=number -D=(skip|read) -d=(skip|read|recurse)
    --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp= --file=path --ignore-case --no-ignore-case
    --invert-match --word-regexp --line-regexp --null-data --count --color? --colour? --files-without-match
    --files-with-matches --max-count=number --only-matching --quiet --silent --no-messages --byte-offset
    --with-filename --no-filename --label= --line-number --initial-tab --null --after-context=number
    --before-context=number --context=number --text --binary-files= --exclude= --exclude-from=path --exclude-dir=
    --include= --recursive --dereference-recursive --line-buffered --binary --version --help
    """
_RG = """
    -A=number -B=number -C=number -E= -F -H -I -L -M=number -N -P -S -T= -U -V -a -b -c -d=number -e= -f=path -g= -h -i
    -j=number -l -m=number -n -o -p -q -r= -s -t= -u -v -w -x -0 -.
    --after-context=number --before-context=number --context=number --encoding= --fixed-strings --with-filename
    --no-filename --follow --max-columns=number --max-columns-preview --no-line-number --pcre2 --smart-case --type-not=
    --multiline --multiline-dotall --version --text --byte-offset --count --count-matches --max-depth=number --regexp=
    --file=path --glob= --iglob= --glob-case-insensitive --help --ignore-case --threads=number --files-with-matches
    --files-without-match --max-count=number --line-number --only-matching --pretty --quiet --replace= --case-sensitive
    --type= --type-list --unrestricted --invert-match --word-regexp --line-regexp --null --null-data --hidden
    --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --no-ignore-files
    --no-ignore-exclude --no-require-git --one-file-system --no-config --no-messages --no-heading --heading --column
    --no-column --color= --colors= --crlf --engine= --field-context-separator= --field-match-separator= --files
    --include-zero --json --line-buffered --block-buffered --max-filesize=number --mmap --no-mmap --no-unicode
    --passthru --path-separator= --sort=(path|modified|accessed|created|none)
    --sortr=(path|modified|accessed|created|none) --stats --stop-on-nonmatch --trim --no-trim --vimgrep --binary
    --context-separator= --no-context-separator
    """
_LS = """
    -a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z -1
    -w=number --all --almost-all --author --escape --block-size= --ignore-backups --color? --directory --classify?
    --file-type --format= --full-time --group-directories-first --no-group --human-readable --si
    --dereference-command-line --dereference --hide= --hyperlink? --indicator-style= --inode --ignore= --kibibytes
    --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse
    --recursive --size --sort= --time= --time-style= --width=number --context --zero ; path*
    """
_DIFF = """
    -q -s -c -u -e -n -y -p -t -T -r -N -P -i -E -Z -b -w -B -a -d -H -# -C=number -U=number -F= -W=number -x= -X=path
    -S= -L= -I= --brief --report-identical-files --context? --unified? --ed --rcs --normal --side-by-side --width=number
    --left-column --suppress-common-lines --show-c-function --show-function-line= --label= --expand-tabs --initial-tab
    --tabsize=number --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case
    --exclude= --exclude-from=path --starting-file= --ignore-case --ignore-tab-expansion --ignore-trailing-space
    --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr
    --minimal --speed-large-files --color? ; path path
    """
_PS = """
    -e -f -A -a -l -F -H -T -w -j -y -L -c -o= -p= --sort= --no-headers --forest --pid= --format=
    ; text(aux|auxww|auxf|auxwwf|axu|ax|axww|a|x|l|u|ux|f|j|axf|axjf|w|ww)*
    """
_PS_COLUMNS = word_set("""
    args cmd comm command cpu %cpu pcpu %mem pmem etime etimes fname gid group lstart lwp ni nice nlwp pgid pid ppid pri
    psr rss sid sess start start_time stat state s tid time tname tt tty ucmd uid user vsz wchan wcpu
    """)
_FILE_TEST = re.compile(r"-[a-hkprsuwxGLNOS]")
_TREE_VALUES = "-L=number -P= -I="
_TREE = f"""
    -a -d -l -f -x -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -i -A -S -n -C -J -X {_TREE_VALUES} --filelimit=number
    --charset= --filesfirst --dirsfirst --noreport --gitignore --matchdirs --ignore-case --prune --du --si
    --sort=(name|version|size|mtime|ctime|none) --timefmt= --inodes --device --nolinks --metafirst ; path*
    """
_EZA = """
    -1 -l -G -x -R -T -F -a -d -r -s= -b -B -g -h -H -i -m -S -t= -u -U -@ -D -f -L=number -I= --oneline --long --grid
    --across --recurse --tree --level=number --classify? --color? --colour? --icons? --no-icons --all --list-dirs
    --reverse --sort= --group-directories-first --only-dirs --only-files --git-ignore --ignore-glob= --binary --bytes
    --group --header --links --inode --modified --blocksize --time= --accessed --created --time-style=
    --no-permissions --octal-permissions --no-filesize --no-user --no-time --total-size ; path*
    """
_SUM = "-b -t -w -z --binary --text --tag --zero ; path*"
_SCREEN = "cols|lines|colors|bold|sgr0|smul|rmul|rev|setaf|setab|cuu|cub|el|ed|longname"


def _make_program_judge(
    spec: str,
    *,
    order: Order = "permute",
    check: Callable[[ParsedCall], None] | None = None,
    follows: tuple[str, ...] = (),
) -> Judge:
    """Create the judge of a program in this table. Its help and version are always allowed."""
    spec = f"--help --version {spec}"
    return make_judge(spec, order=order, check=check, follows=follows)


def make_search_judge(spec: str, *, given: tuple[str, ...], follows: tuple[str, ...]) -> Judge:
    """Create the judge of a program whose first operand is a pattern, unless one of the options in `given` has it."""

    def judge(words: tuple[Word, ...]) -> Judgement:
        call = parse_call(read_grammar(f"{spec} ; path*"), words[1:])
        if not call.has_option(*given):
            call = parse_call(read_grammar(f"{spec} ; text path*"), words[1:])
        return Judgement(paths=call.paths, follows_links=call.has_option(*follows))

    return judge


def _judge_diff(words: tuple[Word, ...]) -> Judgement:
    """Judge diff, which compares two directories by their contents and follows every link in them."""
    call = parse_call(read_grammar(f"--help --version {_DIFF}"), words[1:])
    return Judgement(paths=call.paths, follows_links=True)


def _judge_tree(words: tuple[Word, ...]) -> Judgement:
    """Judge tree. Older versions take the values of `-L`, `-P` and `-I` only from the next word, and parse the rest of
    this one as more options.
    """
    for word in words[1:]:
        if re.match(r"-[^-]*[LPI].", word.text):
            raise UnknownWord(f"the option {word.text!r} means different things to versions of tree")
    call = parse_call(read_grammar(f"--help --version {_TREE}"), words[1:])
    return Judgement(paths=call.paths, follows_links=call.has_option("-l"))


def _judge_xxd(words: tuple[Word, ...]) -> Judgement:
    """Judge xxd, which tests only the first letters of each option and writes to a second operand."""
    spec = """
        -a -b -C -d -e -E -h -i -p -ps -plain -u -v -c=number -cols=number -g=number -l=number -len=number
        -o=number -s=number -seek=number -n= ; path?
        """
    split: list[Word] = []
    for word in words[1:]:
        match = re.fullmatch(r"(-[cglos])([-+]?\d+)", word.text)
        split += [Word(match[1]), Word(match[2])] if match and not word.glob else [word]
    call = parse_call(read_grammar(spec, order="first", long_single_dash=True), tuple(split))
    return Judgement(paths=call.paths)


def _check_date(call: ParsedCall) -> None:
    if len(call.operands) > 1 or not all(word.text.startswith("+") for word in call.operands):
        raise UnknownWord("an operand that is not a +FORMAT may set the clock")


def _check_strings(call: ParsedCall) -> None:
    """Refuse `@file`, which is replaced by the options and names in that file."""
    values = (value for _, value in call.options)
    if any(text.startswith("@") for text in (*values, *(word.text for word in call.operands))):
        raise UnknownWord("an argument like '@file' stands for further arguments")
    if any(word.glob and not word.text.startswith("./") for word in call.operands):
        raise UnknownWord("an unquoted pattern may match a name like '@file'; begin it with './'")


def _check_ps(call: ParsedCall) -> None:
    """Refuse what ps would parse again in another style of options, in which `e` shows the environment."""
    if not all(re.fullmatch(r"\d+(,\d+)*", value, re.ASCII) for value in call.values("-p", "--pid")):
        raise UnknownWord("-p takes process numbers")
    columns = (name for value in call.values("-o", "--format") for name in value.rstrip("=").split(","))
    if other := next((name for name in columns if name not in _PS_COLUMNS), None):
        raise UnknownWord(f"the column {other!r} is not known to be harmless")
    if call.operands and any(not name.startswith("--") for name, _ in call.options):
        raise UnknownWord("options with and without a dash are mixed")


def _check_netstat(call: ParsedCall) -> None:
    if not call.has_option("-n", "--numeric"):
        raise UnknownWord("without -n it asks a name server")


def _judge_echo(words: tuple[Word, ...]) -> Judgement:
    """Judge echo, which prints its words. The shell itself expands any patterns in them."""
    return Judgement(paths=tuple(word for word in words[1:] if word.glob))


def _judge_printf(words: tuple[Word, ...]) -> Judgement:
    """Judge printf. bash's `%n` assigns a number to a variable, such as PATH."""
    call = parse_call(read_grammar("; text text*", order="stop"), words[1:])
    if call.operands[0].glob or re.search(r"%[^%a-zA-Z]*[hlLjztq]*n", call.operands[0].text):
        raise UnknownWord("'%n' in a format sets a variable")
    return Judgement(paths=call.paths)


def _judge_test(words: tuple[Word, ...]) -> Judgement:
    """Judge test, which examines texts and files. The parser of the line examines its arithmetic."""
    if any(word.text in ("-v", "-R") for word in words[1:]):
        raise UnknownWord("the tests -v and -R may run what stands in a subscript")
    return Judgement(paths=words[1:])


def _judge_bracket(words: tuple[Word, ...]) -> Judgement:
    """Judge `[[`. The second word is the whole test as written; the parser of the line examines its arithmetic."""
    try:
        texts = shlex.split(words[1].text) if len(words) > 1 else []
    except ValueError as error:
        raise UnknownWord("its quotes cannot be read") from error
    paths: list[Word] = []
    for before, text, after in zip(["", *texts], texts, [*texts[1:], ""], strict=False):
        if _FILE_TEST.fullmatch(text):
            paths.append(Word(after, glob=has_glob(after)))
        elif text in ("-nt", "-ot", "-ef"):
            paths += [Word(before, glob=has_glob(before)), Word(after, glob=has_glob(after))]
    if any(path.text.startswith("$") for path in paths):
        raise UnknownWord("asks about a file that is computed at run time")
    return Judgement(paths=tuple(paths))


PROGRAMS: dict[str, Judge] = {
    # files and their contents
    "cat": _make_program_judge(
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs"
        " --show-nonprinting ; path*"
    ),
    "head": _make_program_judge(
        "-c=number -n=number -q -v -z -# --bytes=number --lines=number --quiet --silent --verbose --zero-terminated"
        " ; path*"
    ),
    # It may follow a file without end; commands have a time limit.
    "tail": _make_program_judge(
        "-c=number -n=number -q -v -z -f -F -r -s=number -# --bytes=number --lines=number --quiet --silent --verbose"
        " --zero-terminated --follow? --retry --sleep-interval=number ; path*"
    ),
    "wc": _make_program_judge("-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total= ; path*"),
    "ls": _make_program_judge(_LS, follows=("-L", "--dereference")),
    "dir": _make_program_judge(_LS, follows=("-L", "--dereference")),
    "stat": _make_program_judge(
        "-L -f -t -x -n -q -r -s -c= --format= --printf= --terse --file-system --dereference ; path*"
    ),
    # These query the file system of a path and open nothing.
    "df": _make_program_judge(
        "-a -B= -h -H -i -k -l -m -P -T -t= -x= --all --block-size= --human-readable --si --inodes --local"
        " --portability --print-type --type= --exclude-type= --total --output? ; text*"
    ),
    "du": _make_program_judge(
        "-a -A -b -B= -c -d=number -h -H -k -l -L -m -P -s -S -t= -x -0 --all --apparent-size --block-size= --bytes"
        " --total --max-depth=number --human-readable --si --count-links --dereference --dereference-args"
        " --no-dereference --null --separate-dirs --summarize --threshold= --time? --time-style= --exclude="
        " --one-file-system --inodes ; path*",
        follows=("-L", "--dereference"),
    ),
    "file": _make_program_judge(
        "-b -i -I -k -L -h -n -N -r -0 --brief --mime --mime-type --mime-encoding --keep-going --dereference"
        " --no-dereference --no-buffer --no-pad --raw --print0 --extension ; path+"
    ),
    "strings": _make_program_judge(
        "-a -f -w -n=number -t=(d|o|x) -e=(s|S|b|l|B|L) -o -# --all --print-file-name --bytes=number --radix=(d|o|x)"
        " --encoding=(s|S|b|l|B|L) --include-all-whitespace ; path*",
        check=_check_strings,
    ),
    # Without the options that search debug information elsewhere, or download it: -l, -S, -g, -t, -x, -w.
    "nm": _make_program_judge(
        "-a -A -C -D -g -n -o -p -P -r -S -s -u --debug-syms --print-file-name --demangle --dynamic --extern-only"
        " --numeric-sort --no-sort --portability --reverse-sort --print-size --size-sort --print-armap --undefined-only"
        " --defined-only ; path+",
        check=_check_strings,
    ),
    "readelf": _make_program_judge(
        "-a -h -l -S -s -d -r -n -V -A -W -e -g -t -I -u -c -x= -p= --all --file-header --program-headers --segments"
        " --section-headers --sections --headers --section-groups --section-details --symbols --syms --dyn-syms --notes"
        " --relocs --unwind --dynamic --version-info --arch-specific --archive-index --histogram --wide --hex-dump="
        " --string-dump= ; path+",
        check=_check_strings,
    ),
    "objdump": _make_program_judge(
        "-a -f -h -p -d -D -r -R -T -s -C -w -z -j= -M= --archive-headers --file-headers --section-headers --headers"
        " --private-headers --disassemble --disassemble-all --reloc --dynamic-reloc --dynamic-syms --full-contents"
        " --demangle --wide --disassemble-zeroes --no-show-raw-insn --show-raw-insn --no-addresses --section="
        " --start-address= --stop-address= --disassembler-options= ; path+",
        check=_check_strings,
    ),
    "sort": _make_program_judge(
        "-b -c -C -d -f -g -h -i -m -M -n -r -R -s -u -V -z -k= -t= -S=number --ignore-leading-blanks --check?"
        " --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting --merge"
        " --month-sort --numeric-sort --reverse --random-sort --stable --unique --version-sort --zero-terminated"
        " --key= --field-separator= --sort= --parallel=number --debug ; path*"
    ),
    # It writes to a second operand.
    "uniq": _make_program_judge(
        "-c -d -D -i -u -z -f=number -s=number -w=number --count --repeated --all-repeated? --ignore-case --unique"
        " --zero-terminated --skip-fields=number --skip-chars=number --check-chars=number --group? ; path?",
        order="first",
    ),
    "cut": _make_program_judge(
        "-b= -c= -d= -f= -n -s -z --bytes= --characters= --delimiter= --fields= --only-delimited --complement"
        " --output-delimiter= --zero-terminated ; path*"
    ),
    "tr": _make_program_judge("-c -C -d -s -t -u --complement --delete --squeeze-repeats --truncate-set1 ; text text?"),
    "paste": _make_program_judge("-d= -s -z --delimiters= --serial --zero-terminated ; path*"),
    "join": _make_program_judge(
        "-a=number -e= -i -j=number -o= -t= -v=number -1=number -2=number -z --ignore-case --check-order"
        " --nocheck-order --header --zero-terminated ; path path"
    ),
    "comm": _make_program_judge(
        "-1 -2 -3 -i -z --check-order --nocheck-order --output-delimiter= --total --zero-terminated ; path path"
    ),
    "nl": _make_program_judge(
        "-b= -d= -f= -h= -i=number -l=number -n= -p -s= -v=number -w=number --body-numbering= --number-format="
        " --number-separator= --number-width=number --starting-line-number=number ; path*"
    ),
    "tac": _make_program_judge("-b -r -s= --before --regex --separator= ; path*"),
    "rev": _make_program_judge("; path*"),
    "fold": _make_program_judge("-b -s -w=number -# --bytes --spaces --width=number ; path*"),
    "fmt": _make_program_judge(
        "-c -s -t -u -w=number -g=number -p= -# --crown-margin --split-only --tagged-paragraph --uniform-spacing"
        " --width=number --goal=number --prefix= ; path*"
    ),
    "column": _make_program_judge(
        "-t -x -s= -c=number -o= -N= -R= -J -e -l=number --table --separator= --output-separator= --output-width=number"
        " --table-columns= --table-right= --json --fillrows --keep-empty-lines --table-noheadings ; path*"
    ),
    "expand": _make_program_judge("-i -t= -# --initial --tabs= ; path*"),
    "unexpand": _make_program_judge("-a -t= --all --first-only --tabs= ; path*"),
    "shuf": _make_program_judge("-e -i= -n=number -r -z --echo --input-range= --head-count=number --repeat ; path*"),
    "tsort": _make_program_judge("; path?"),
    "numfmt": _make_program_judge(
        "-d= -z --delimiter= --field= --format= --from= --from-unit= --grouping --header? --invalid= --padding=number"
        " --round= --suffix= --to= --to-unit= --zero-terminated ; text*"
    ),
    "od": _make_program_judge(
        "-a -b -c -d -f -i -l -o -s -x -A=(d|o|x|n) -j=number -N=number -S=number -t= -v -w?number"
        " --address-radix=(d|o|x|n) --skip-bytes=number --read-bytes=number --strings?number --format="
        " --output-duplicates --width?number --endian=(big|little) ; path*"
    ),
    "hexdump": _make_program_judge("-b -c -C -d -o -x -v -e= -f=path -n=number -s=number ; path*"),
    "xxd": _judge_xxd,
    "base64": _make_program_judge("-d -D -w=number --decode --wrap=number --ignore-garbage ; path?", order="first"),
    "base32": _make_program_judge("-d -D -w=number --decode --wrap=number --ignore-garbage ; path?", order="first"),
    "cksum": _make_program_judge("-a= --algorithm= --untagged --tag --raw --base64 ; path*"),
    "b2sum": _make_program_judge(f"-l=number --length=number {_SUM}"),
    **dict.fromkeys(
        ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"),
        _make_program_judge(_SUM),
    ),
    "sum": _make_program_judge("-r -s --sysv ; path*"),
    "md5": _make_program_judge("-q -r -n ; path*"),
    "shasum": _make_program_judge("-a=number -b -t --algorithm=number --binary --text ; path*"),
    "cmp": _make_program_judge(
        "-b -i= -l -n=number -s --print-bytes --ignore-initial= --verbose --bytes=number --quiet --silent"
        " ; path path text? text?"
    ),
    "diff": _judge_diff,
    **dict.fromkeys(("zcat", "gzcat", "bzcat", "xzcat", "zstdcat"), _make_program_judge("; path*")),
    "basename": _make_program_judge("-a -s= -z --multiple --suffix= --zero ; text+"),
    "dirname": _make_program_judge("-z --zero ; text+"),
    "realpath": _make_program_judge(
        "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip"
        " --no-symlinks --zero --relative-to=path --relative-base=path ; path+"
    ),
    "readlink": _make_program_judge(
        "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline ; path+"
    ),
    "tree": _judge_tree,
    **dict.fromkeys(("eza", "exa"), _make_program_judge(_EZA)),
    **dict.fromkeys(
        ("grep", "egrep", "fgrep"),
        make_search_judge(
            _GREP,
            given=("-e", "-f", "--regexp", "--file", "--help", "--version"),
            follows=("-R", "--dereference-recursive"),
        ),
    ),
    "rg": make_search_judge(
        _RG,
        given=("-e", "-f", "--regexp", "--file", "--files", "--type-list", "--help", "--version", "-V", "-h"),
        follows=("-L", "--follow"),
    ),
    # texts, numbers and tests
    "echo": _judge_echo,
    "printf": _judge_printf,
    "test": _judge_test,
    "[": _judge_bracket,
    "[[": _judge_bracket,
    "true": _judge_echo,
    "false": _judge_echo,
    ":": _judge_echo,
    "expr": _make_program_judge("-# ; text+"),
    "seq": _make_program_judge("-# -w -f= -s= --equal-width --format= --separator= ; number+"),
    "factor": _make_program_judge("; number*"),
    "sleep": _make_program_judge("; number+"),
    # the machine, its user and its clock
    "pwd": _make_program_judge("-L -P --logical --physical ;"),
    "date": _make_program_judge(
        "-d= -R -u -I?(date|hours|minutes|seconds|ns) -r=path -f=path -j -n --date= --utc --universal --rfc-email"
        " --iso-8601?(date|hours|minutes|seconds|ns) --rfc-3339=(date|seconds|ns) --reference=path --file=path"
        " --debug ; text?",
        check=_check_date,
    ),
    "cal": _make_program_judge(
        "-1 -3 -y -m -s -j -w -n=number --one --three --year --monday --sunday --julian ; text? text? text?"
    ),
    "whoami": _make_program_judge(";"),
    "id": _make_program_judge("-a -g -G -n -r -u -z -p -P --group --groups --name --real --user --zero ; text?"),
    "groups": _make_program_judge("; text*"),
    "logname": _make_program_judge(";"),
    "uname": _make_program_judge(
        "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine"
        " --processor --hardware-platform --operating-system ;"
    ),
    "arch": _make_program_judge(";"),
    "nproc": _make_program_judge("--all --ignore=number ;"),
    "uptime": _make_program_judge("-p -s --pretty --since ;"),
    "free": _make_program_judge(
        "-b -k -m -g -h -w -t -l -v --bytes --kibi --mebi --gibi --kilo --mega --giga --human --wide --total --si ;"
    ),
    # The other forms query a name server, or set the name.
    "hostname": _make_program_judge("-I -s --all-ip-addresses --short ;"),
    "getconf": _make_program_judge("-a ; text? text?"),
    "locale": _make_program_judge("-a -c -k -m --all-locales --category-name --keyword-name --charmaps ; text*"),
    "tty": _make_program_judge("-s --silent --quiet ;"),
    "tput": _make_program_judge(f"; text({_SCREEN}) number? number?"),
    "lscpu": _make_program_judge(
        "-a -b -c -e? -p? -J -x -y --all --online --offline --extended? --parse? --json --hex --physical ;"
    ),
    "lsblk": _make_program_judge(
        "-a -b -d -f -i -J -l -m -n -o= -p -P -r -S -t --all --bytes --fs --json --list --output= --paths ;"
    ),
    "ps": _make_program_judge(_PS, check=_check_ps),
    "pgrep": _make_program_judge(
        "-a -c -d= -f -g= -G= -i -l -n -o -P=number -s= -t= -u= -U= -v -w -x --count --full --list-name --list-full"
        " --newest --oldest --exact --parent=number --ignore-case ; text?"
    ),
    "pidof": _make_program_judge("-s -q ; text+"),
    "pstree": _make_program_judge("-a -A -c -g -h -l -n -p -s -t -T -u -U ; text?"),
    "ss": _make_program_judge(
        "-h -a -l -n -p -t -u -w -x -s -4 -6 -e -m -i -o -H -O --all --listening --numeric --processes --tcp --udp ;"
    ),
    "netstat": _make_program_judge(
        "-a -l -n -t -u -r -i -s -4 -6 -p -e -w -x -W --all --listening --numeric --tcp --udp ;", check=_check_netstat
    ),
    "which": _make_program_judge("-a -s ; text+"),
    "whereis": _make_program_judge("-b -m -s -u ; text+"),
}


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
_HELP_OPTIONS = ("--version", "--help", "-V", "-h", "-L", "-H", "--license")
_GZIP_ENDINGS = (".gz", "-gz", ".z", "-z", "_z", ".Z", ".tgz", ".taz")
_ZIP_ENDINGS = (".zip", ".ZIP")
_WILDCARDS = frozenset("*?[")


def _judge_tar(words: tuple[Word, ...]) -> Judgement:
    """Judge tar: only listing an archive, without a program for decompression."""
    call = parse_call(read_grammar(_TAR), _expand_tar_letters(words[1:]))
    if _is_help_call(call, words):
        return Judgement()
    if not call.has_option("-t", "--list"):
        raise UnknownWord(f"{words[0].text} does not only list an archive")
    if not call.has_option("-f", "--file"):
        raise UnknownWord(f"{words[0].text} reads a tape or what a variable names, as no archive is given")
    _check_no_host(call.paths)
    if any(word.text.startswith("@") for word in call.operands):
        raise UnknownWord("an argument that begins with '@' may name another archive")
    return Judgement(paths=tuple(word for word in call.paths if word.text != "-"))


def _expand_tar_letters(arguments: tuple[Word, ...]) -> tuple[Word, ...]:
    """Expand an old-style first word of tar (`tar tvf x`) to separate options.

    Each letter with a value takes the next word, in the order of the letters.
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


def _check_no_host(paths: tuple[Word, ...]) -> None:
    """Refuse archive names with a colon, which tar and cpio take for a file on another machine."""
    if any(":" in word.text for word in paths):
        raise UnknownWord("an archive with a colon in its name may be on another machine")


def _is_help_call(call: ParsedCall, words: tuple[Word, ...]) -> bool:
    """Whether the call is only `program --help` or similar."""
    return len(words) == 2 and call.has_option(*_HELP_OPTIONS)


def _judge_unzip(words: tuple[Word, ...]) -> Judgement:
    """Judge unzip: only listing, testing or printing."""
    if len(words) == 2 and words[1].text in ("-v", "-h", "-hh"):
        return Judgement()
    if len(words) > 1 and words[1].text.startswith("-Z"):
        return _judge_zipinfo(words)
    call = _parse_zip_call(_UNZIP, words)
    if not call.has_option(*_UNZIP_MODES):
        raise UnknownWord("unzip writes the files it unpacks")
    return Judgement(paths=_list_zip_paths(call))


def _judge_zipinfo(words: tuple[Word, ...]) -> Judgement:
    return Judgement(paths=_list_zip_paths(_parse_zip_call(_ZIPINFO, words)))


def _parse_zip_call(spec: str, words: tuple[Word, ...]) -> ParsedCall:
    """Parse a call. A second dash negates an option, so `unzip -l -- -v x` unpacks."""
    if any(word.text.startswith("--") for word in words[1:]):
        raise UnknownWord("an option with two dashes means something else to unzip")
    return parse_call(read_grammar(spec, order="first"), words[1:])


def _list_zip_paths(call: ParsedCall) -> tuple[Word, ...]:
    archive = call.operands[0]
    if not archive.glob and _WILDCARDS & set(archive.text):
        raise UnknownWord("unzip looks for archives by a pattern")
    return (*_list_tried_names(archive, _ZIP_ENDINGS), *call.paths[1:])


def _list_tried_names(word: Word, endings: tuple[str, ...]) -> tuple[Word, ...]:
    """Return a path and the other names a program tries for it. The files of a shell pattern exist, so it has no
    others.
    """
    if word.glob or word.text == "-":
        return (word,)
    return (word, *(Word(word.text + ending) for ending in endings))


def _judge_compressor(
    words: tuple[Word, ...], spec: str, *, endings: tuple[str, ...] = (), prints: bool = False
) -> Judgement:
    """Judge a compressor that prints, lists or tests.

    Args:
        prints: it prints by default.
    """
    call = parse_call(read_grammar(spec), words[1:])
    if _is_help_call(call, words):
        return Judgement()
    # The last of several modes applies: `xz -l -d` unpacks.
    if not prints and not call.has_option(*_PRINTS) and (call.has_option(*_CHANGES) or not call.has_option(*_TESTS)):
        raise UnknownWord(f"{words[0].text} replaces the files it is given")
    return Judgement(paths=tuple(found for word in call.paths for found in _list_tried_names(word, endings)))


def _make_compressor_judge(spec: str, *, endings: tuple[str, ...] = (), prints: bool = False) -> Judge:
    judge: Callable[[tuple[Word, ...]], Judgement] = partial(
        _judge_compressor, spec=spec, endings=endings, prints=prints
    )
    return judge


def _judge_zgrep(words: tuple[Word, ...]) -> Judgement:
    """Judge zgrep, a shell script. Older versions run a newline in a file name as a sed command."""
    if any(word.glob or "\n" in word.text for word in words):
        raise UnknownWord("zgrep may take the name of a file for a command")
    call = parse_call(read_grammar(_ZGREP, order="first"), words[1:])
    files = call.operands if call.has_option("-e", "--regexp") else call.operands[1:]
    return Judgement(paths=tuple(found for word in files for found in _list_tried_names(word, _GZIP_ENDINGS)))


_list_7z = make_judge("-slt -ba -bd ; text(l|t) path text*", long_single_dash=True)


def _judge_7z(words: tuple[Word, ...]) -> Judgement:
    """Judge 7z: only listing or testing an archive."""
    judgement = _list_7z(words)
    if any(word.glob or word.text.startswith(("@", "!")) or _WILDCARDS & set(word.text) for word in words[1:]):
        raise UnknownWord(f"{words[0].text} takes an argument for a list or a pattern of names")
    return replace(
        judgement, paths=tuple(found for word in judgement.paths for found in _list_tried_names(word, (".7z",)))
    )


def _judge_cpio(words: tuple[Word, ...]) -> Judgement:
    call = parse_call(read_grammar(_CPIO), words[1:])
    if not _is_help_call(call, words) and not call.has_option("-t", "--list"):
        raise UnknownWord("cpio does not only list an archive")
    _check_no_host(call.paths)
    return Judgement(paths=call.paths)


JUDGES: dict[str, Judge] = {
    **dict.fromkeys(word_set("tar gtar bsdtar"), _judge_tar),
    "unzip": _judge_unzip,
    "zipinfo": _judge_zipinfo,
    **dict.fromkeys(word_set("gzip gunzip"), _make_compressor_judge(_GZIP, endings=_GZIP_ENDINGS)),
    **dict.fromkeys(word_set("zcat gzcat"), _make_compressor_judge(_CAT, endings=_GZIP_ENDINGS, prints=True)),
    **dict.fromkeys(word_set("xz unxz lzma unlzma"), _make_compressor_judge(_XZ)),
    **dict.fromkeys(word_set("bzip2 bunzip2"), _make_compressor_judge(_BZIP2)),
    **dict.fromkeys(word_set("zstd unzstd"), _make_compressor_judge(_ZSTD)),
    **dict.fromkeys(word_set("xzcat lzcat bzcat zstdcat"), _make_compressor_judge(_CAT, prints=True)),
    **dict.fromkeys(word_set("zgrep zegrep zfgrep"), _judge_zgrep),
    **dict.fromkeys(word_set("7z 7za 7zr 7zz"), _judge_7z),
    "cpio": _judge_cpio,
}


# `-x` and `-v` print every later command with its values, including those of the environment.
_SET = re.compile(r"[-+][euf]+|[-+][euf]*o")
_SET_NAMES = frozenset({"pipefail", "errexit", "nounset", "errtrace", "noglob"})


def _judge_set(words: tuple[Word, ...]) -> Judgement:
    """Judge set. Without arguments it prints every variable; other options change how later words are parsed."""
    texts = [word.text for word in words[1:]]
    if not texts:
        raise UnknownWord("shows every variable, secrets included")
    for before, text in zip(["", *texts], texts, strict=False):
        named = before.endswith("o") and text in _SET_NAMES
        if not named and not _SET.fullmatch(text):
            raise UnknownWord(f"{text!r} is not known to be harmless")
    if texts[-1].endswith("o"):
        raise UnknownWord("an argument is missing")
    return Judgement()


def _judge_declaration(words: tuple[Word, ...]) -> Judgement:
    """Judge `export` and similar built-ins, which only mark the variables named; without names they print all."""
    call = parse_call(read_grammar("-r -x -g -a -A -t ; text*"), words[1:])
    if not call.operands or any(word.text[:1] in ("+", "-", "") for word in call.operands):
        raise UnknownWord("shows every variable, secrets included")
    return Judgement()


def _judge_command(words: tuple[Word, ...]) -> Judgement:
    """Judge command. `command -v name` reports what a name means; otherwise the started program is judged."""
    call = parse_call(read_grammar("-v -V -p ; text+", order="stop"), words[1:])
    if not call.has_option("-v", "-V"):
        raise UnknownWord("runs a command")
    return Judgement()


def _judge_let(words: tuple[Word, ...]) -> Judgement:
    """Judge let. The parser of the line examines its arithmetic."""
    return Judgement()


BUILTINS: dict[str, Judge] = {
    "cd": make_judge("-L -P -e ; path?"),
    "pushd": make_judge("-n ; path?"),
    "popd": make_judge("-n ; text?"),
    "dirs": make_judge("-c -l -p -v ; text?"),
    "exit": make_judge("; number?"),
    "return": make_judge("; number?"),
    "break": make_judge("; number?"),
    "continue": make_judge("; number?"),
    "shift": make_judge("; number?"),
    "wait": make_judge("-n -f ; text*"),
    "jobs": make_judge("-l -n -p -r -s ; text*"),
    "times": make_judge(";"),
    # The other options change how later words are parsed or patterns expanded (nocaseglob, nullglob).
    "shopt": make_judge("-s -u -q ; text(globstar|dotglob|failglob|extglob)+"),
    "umask": make_judge("-p -S ; text?"),
    "ulimit": make_judge("-a -c -d -f -l -m -n -s -t -u -v -H -S ;"),
    "read": make_judge("-r -s -e -a= -d= -n=number -N=number -p= -t=number ; text*"),
    "mapfile": make_judge("-t -d= -n=number -O=number -s=number ; text?"),
    "readarray": make_judge("-t -d= -n=number -O=number -s=number ; text?"),
    "getopts": make_judge("; text text text*", order="stop"),
    "unset": make_judge("-v -f ; text+"),
    "let": _judge_let,
    "set": _judge_set,
    "type": make_judge("-a -f -p -P -t ; text+"),
    "command": _judge_command,
    # The text of a trap is judged as a separate command line.
    "trap": make_judge("-l -p ; text*"),
    **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _judge_declaration),
}
