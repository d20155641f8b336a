"""Random calls of sed, awk, jq, find, fd, xargs and archivers, with dangerous constructs in odd places.

Each is the arguments of the program. Payloads write `PWN…`, run `touch PWN…`, show the variable CANARY or read
`../secret`; most are hidden where a parser that is wrong about brackets, slashes or line ends takes them for text.
"""

from collections.abc import Callable, Iterator
from random import Random

from tests.security.script_corpus import read_corpus

EVIL_SED = ("w PWN1", "e touch PWN2", "W PWN3", "e", "r ../secret", "R ../secret", "s/a/touch PWN4/e", "s/a/b/w PWN5")
EVIL_AWK = (
    'system("touch PWN1")',
    'print "x" > "PWN2"',
    'print "touch PWN3" | "sh"',
    'while ((getline l < "../secret") > 0) print l',
    '"touch PWN4" | getline',
    'print ENVIRON["CANARY"]',
    'print "x" >> "PWN5"',
    'printf("x") > "PWN6"',
    'print SYMTAB["ENVIRON"]["CANARY"]',
    'ARGV[1]="../secret"',
    "@f()",
)
EVIL_JQ = ("env.CANARY", "$ENV.CANARY", 'import "a" as a; .', 'include "a"; .', "env", "$ENV", "get_search_list")
MUTATIONS = {
    "sed": (*"[]^/\\|#{};\n wea!,p$&*", "[^", "\\n", "}\n", "\\\n", "w PWN9\n", "[[:alpha:]]", "/e", ":a", "[/]"),
    "awk": (*'[]/\\|{}()";\n >?:,!~=+-$@#', " > ", '"PWN9"', "print ", "/a/", " in ", "++", "\\\n", "[/]", "||"),
    "jq": (*'[]{}()\\".|,;:$?# \n', "env", "\\(", "$ENV", " as ", '"', "::", "def env: ", "#\\\n"),
}


def lines(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the everyday scripts and the attacks in the corpus of a language."""
    return read_corpus(language)


def mutate(random: Random, text: str, pieces: tuple[str, ...]) -> str:
    """Return a text with some characters removed, doubled, moved, or inserted."""
    for _ in range(random.choice((0, 1, 1, 2, 3, 5))):
        at = random.randrange(len(text) + 1)
        match random.randrange(4):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = text[:at] + random.choice(pieces) + text[at:]
            case 2:
                to = min(len(text), at + random.randrange(6))
                text = text[:to] + text[at:to] + text[to:]
            case _:
                text = text[:at] + random.choice(pieces) + text[at + 1 :]
    return text


def one_of(random: Random, *choices: str) -> str:
    return random.choice(choices)


# -- sed


def sed_regex(random: Random, mark: str) -> str:
    pieces = ("a", "b", ".", "*", "^", "$", "\\.", f"\\{mark}", "\\[", "\\]", "x")
    brackets = (
        *("[ab]", "[^a]", "[]a]", "[^]a]", "[[:alpha:]]", f"[{mark}]", "[[]", "[^[:space:]x]", "[$]"),
        *(f"[[:digit:]{mark}]", "[\\]", f"[\\{mark}]", "[", "[[.a.]]", "[a\\]b]", "[^", f"[]{mark}]", "[\\n]"),
    )
    return "".join(
        random.choice(brackets) if random.random() < 0.3 else random.choice(pieces) for _ in range(random.randrange(4))
    )


def sed_address(random: Random) -> str:
    mark = one_of(random, *"/|#,:")
    regex = sed_regex(random, mark)
    return one_of(
        random,
        *("", "", "", "1", "$", "2,3", "1~2", "0,/a/", "$!", "2,+1", "1!", "/a/I"),
        f"/{sed_regex(random, '/')}/",
        f"\\{mark}{regex}{mark}",
        f"/{sed_regex(random, '/')}/,/{sed_regex(random, '/')}/",
        f"/{sed_regex(random, '/')}/ ",
    )


def sed_command(random: Random, depth: int = 0) -> str:
    mark, evil = one_of(random, *"////|#,:@"), random.choice(EVIL_SED)
    text = one_of(random, "x", "hello", evil, f"a;{evil}", "}", "b\\")
    match random.randrange(16):
        case 0 | 1 | 2 | 3:
            body = one_of(random, "x", "&", "\\1", f"\\{mark}", "a\\\nb", f"\\\n{evil}\n", evil.replace(mark, ""), "")
            flags = one_of(random, "", "", "g", "p", "2", "gp", "I", "Ig", "e", "w PWN6", "m", "gw PWN6", " ")
            return f"s{mark}{sed_regex(random, mark)}{mark}{body}{mark}{flags}"
        case 4:
            return one_of(random, "y/abc/xyz/", "y|a|b|", "y/a\\/b/123/", "y/[/]/", f"y/a/b/;{evil}", "y/a/\\\n/")
        case 5 | 6:
            name = one_of(random, *"aic")
            return name + one_of(random, f" {text}", f"\\\n{text}", f"\\{text}", f"\\\n{text}\\\nmore", text)
        case 7:
            label = one_of(random, ":a", ":x;n", ": b", "b", "t", "tx", "$!{n;b}", ":l\n$!{N;bl\n}", f":a;{evil}")
            return label + one_of(random, "", "", "}", ";p", "\n")
        case 8 if depth < 2:
            inner = one_of(random, ";", "\n").join(sed_command(random, depth + 1) for _ in range(random.randrange(3)))
            return "{" + inner + one_of(random, "}", ";}", "\n}", "")
        case 9:
            return "#" + one_of(random, "n", " text", evil, " text\\", "n\n") + one_of(random, "\n", "")
        case 10 if random.random() < 0.3:
            return evil
        case 11:
            return one_of(random, "r f", "r f\n", f"r f;{evil}", "R f\n", "q", "Q", "q5", "l", "l 3", "=", "F", "z")
        case _:
            return one_of(random, *"pdnNgGhHxDP=")


def sed(random: Random) -> list[str]:
    if random.random() < 0.4:
        script = mutate(random, random.choice(random.choice(lines("sed"))), MUTATIONS["sed"])
    else:
        script = one_of(random, ";", ";", "\n", " ; ", "").join(
            sed_address(random) + sed_command(random) for _ in range(random.randrange(1, 4))
        )
    options = [one_of(random, "-n", "-E", "-s", "-z", "-r", "--debug", "-u") for _ in range(random.choice((0, 0, 1)))]
    match random.randrange(6):
        case 0:
            parts = script.split("\n")
            call = [word for part in parts for word in ("-e", part)] + ["f"]
        case 1:
            call = [f"-e{script}", "f"]
        case 2:
            call = [f"-ne{script}", "f", *options]
        case _:
            call = [script, "f"]
    return [*options, *call]


# -- awk


def awk_value(random: Random, depth: int = 0) -> str:
    deep = depth > 2
    match random.randrange(3 if deep else 14):
        case 0:
            return one_of(random, "$1", "$0", "x", "NR", "NF", "1", "2.5", "a[1]", "length", '"s"', "y", "$NF")
        case 1:
            regex = one_of(random, "a", "a|b", "[/]", "[^/]", "\\/", "[", "[]a]", "[[:alpha:]]", "=", "a > b", "|")
            return f"/{regex}/"
        case 2:
            return one_of(random, '"a\\"b"', '"> x"', '"| sh"', '"\\\\"', '"/"', '"system(1)"', '"a')
        case 3 | 4 | 5:
            sign = one_of(
                random, " + ", " / ", "/", " > ", ">", " == ", " ~ ", " && ", " || ", " ", " in ", "/=", " = "
            )
            return awk_value(random, depth + 1) + sign + awk_value(random, depth + 1)
        case 6:
            return f"({awk_value(random, depth + 1)})"
        case 7:
            name = one_of(
                random, "length", "substr", "index", "tolower", "sprintf", "f", "system", "close", "sub", "int"
            )
            return f"{name}({awk_value(random, depth + 1)}, {awk_value(random, depth + 1)})"
        case 8:
            values = (awk_value(random, depth + 1) for _ in range(3))
            return "{} ? {} : {}".format(*values)
        case 9:
            return one_of(random, "x++", "++x", "!", "-") + awk_value(random, depth + 1)
        case 10:
            return f"a[{awk_value(random, depth + 1)}]"
        case 11:
            return f"({awk_value(random, depth + 1)}, {awk_value(random, depth + 1)}) in a"
        case _:
            return one_of(random, "x", "$2", "x = 1", "y += 2", "!s[$0]++")


def awk_statement(random: Random, depth: int = 0) -> str:
    value = awk_value(random)
    match random.randrange(14 if depth < 2 else 7):
        case 0 | 1 | 2:
            target = one_of(random, "", "", "", f", {awk_value(random)}", ' > "PWN7"', ' | "sh"', f"({value})", ">x")
            return f"{one_of(random, 'print', 'printf')} {value}{target}"
        case 3:
            return f"x = {value}"
        case 4:
            return one_of(random, "next", "exit", "delete a", "delete a[1]", "a[$1]++", "$2 = 3", "nextfile", "print")
        case 5 if random.random() < 0.3:
            return random.choice(EVIL_AWK)
        case 7 | 8:
            other = f" else {awk_statement(random, depth + 1)}" if random.random() < 0.4 else ""
            return f"if ({value}) {awk_statement(random, depth + 1)}{one_of(random, ';', '') if other else ''}{other}"
        case 9:
            return f"for (k in a) {awk_statement(random, depth + 1)}"
        case 10:
            return f"for (i = 0; i < 2; i++) {awk_statement(random, depth + 1)}"
        case 11:
            return "{ " + awk_statement(random, depth + 1) + one_of(random, "; ", "\n", " # c\n") + "}"
        case _:
            return value


def awk_rule(random: Random) -> str:
    body = one_of(random, "; ", "\n", ";").join(awk_statement(random) for _ in range(random.randrange(1, 3)))
    match random.randrange(7):
        case 0:
            return f"BEGIN {{ {body} }}"
        case 1:
            return f"END {{ {body} }}"
        case 2:
            return awk_value(random)
        case 3:
            return f"function f(a, b) {{ {body} }}"
        case 4:
            return f"{awk_value(random)}, {awk_value(random)} {{ {body} }}"
        case _:
            return f"{awk_value(random)} {{ {body} }}"


def awk(random: Random) -> list[str]:
    if random.random() < 0.5:
        program = mutate(random, random.choice(random.choice(lines("awk"))), MUTATIONS["awk"])
    else:
        program = one_of(random, "\n", " ", "; ").join(awk_rule(random) for _ in range(random.randrange(1, 3)))
    options = random.choice(([], [], ["-F:"], ["-F", "/"], ["-v", "x=1"], ["-vx=a"], ["--"]))
    return [*options, program, *random.choice((["f"], ["f"], ["x=3", "f"], ["f", "f2"]))]


# -- jq


def jq_value(random: Random, depth: int = 0) -> str:
    def deeper() -> str:
        return jq_value(random, depth + 1)

    match random.randrange(3 if depth > 2 else 12):
        case 0 | 1:
            return one_of(random, ".", ".a", ".[]?", ".env", "1", '"s"', "$x", "keys?", "length", "..", ".a.b?", "null")
        case 2:
            return one_of(
                random, *EVIL_JQ, "input_filename", "$__loc__", "now", "@json", "env?", "$__prog_args", "inputs"
            )
        case 3 | 4:
            sign = one_of(random, " | ", ", ", " + ", " // ", " == ", " and ", " |= ", "|", " as $x | ")
            return deeper() + sign + deeper()
        case 5:
            return f'"a\\({deeper()})b"'
        case 6:
            return f"[{deeper()}]"
        case 7:
            return f"{{a: {deeper().replace(',', '')}, env: 1, ({deeper()}): 2}}"
        case 8:
            return f"{one_of(random, 'map', 'select', 'try', 'first', 'del', 'f', 'paths')}({deeper()})"
        case 9:
            return f"if {deeper()} then {deeper()} else {deeper()} end"
        case 10:
            return f"def {one_of(random, 'f', 'env', 'g')}: {deeper()}; {deeper()}"
        case _:
            return f"reduce {one_of(random, '.[]?', '1')} as $x ({deeper()}; {deeper()})"


def jq(random: Random) -> list[str]:
    if random.random() < 0.6:
        text = mutate(random, random.choice(random.choice(lines("jq"))), MUTATIONS["jq"])
    else:
        text = jq_value(random)
    options = random.choice(([], ["-c"], ["-r"], ["-nr"], ["--arg", "x", "1"], ["--rawfile", "x", "f"], ["-f", "f"]))
    return [*options, text, *random.choice(([], ["data.json"], ["data.json", "--tab"]))]


# -- find, fd and archivers: words from lists, in any order

FIND_WORDS = tuple(
    """
    . sub f -name *.py -type f -maxdepth 2 -print -print0 -prune -o -a ! ( ) -not -empty -newer f -size +0 -L -H -P
    -delete -fprint PWN1 -fprintf -fls -exec touch {} + ; -exec grep -l a {} ; -exec head -1 {} + -exec rm {} ;
    -printf %p\\n -quit -execdir -ok ls -regex .* -mtime -1 -newermt 2020-01-01 -samefile -files0-from
    -exec uniq {} PWN2 ; -exec sort -o PWN3 {} ; -exec sed -n wPWN4 {} ; -exec awk {print} {} + -exec gzip -l
    {} + -exec gzip {} ; -depth -ls -exec sed {} f ;
    """.split()
)
FD_WORDS = tuple(
    """
    . f sub -e py -t f -H -I -x -X touch rm head {} {.} -1 -L -l --exec=touch -E a -d 2 ; --exec-batch wc grep a -0 -g
    *.py --exec sort -o PWN1 -p -a
    """.split()
)
TAR_WORDS = tuple(
    """
    tf t.tar tvf -tf -t -f t.tgz -z -v xf -x cf -c rf --list --file=t.tar --delete --to-command=touch\\ PWN1
    --checkpoint=1 --checkpoint-action=exec=touch\\ PWN2 -I touch --use-compress-program=touch --index-file=PWN3 -C
    sub -O --wildcards *.py one -T f tvIf -vtf --extract --get -u -A --totals --exclude=a -tIf -F touch
    --info-script=touch
    -j -J
    """.split()
)
PACK_WORDS = tuple(
    "-l -d -c -t -dc -v -k -f -z -n -9 -q --list --test --stdout -r -S .x --rm -o PWN1 -T2 -1 -cd".split()
)
UNZIP_WORDS = tuple("-l -v -t -p -c -z -Z -1 -q -o -d sub -x -n -u -T -a -C -j -Z1 -ql one t t.zip --".split())


def words_of(random: Random, words: tuple[str, ...], fixed: list[str], most: int) -> list[str]:
    """Return some of these words in any order, neighbours often together, and the fixed ones somewhere."""
    found = list(fixed)
    for _ in range(random.randrange(most)):
        at, size = random.randrange(len(words)), random.choice((1, 1, 2, 4, 5))
        found[(place := random.randrange(len(found) + 1)) : place] = words[at : at + size]
    return found


def find(random: Random) -> list[str]:
    return words_of(random, FIND_WORDS, [] if random.random() < 0.5 else ["."], 4)


def fd(random: Random) -> list[str]:
    return words_of(random, FD_WORDS, [], 4)


def tar(random: Random) -> list[str]:
    return words_of(random, TAR_WORDS, [one_of(random, "tf", "-tf", "-tvf"), "t.tar"], 3)


def packer(name: str) -> Callable[[Random], list[str]]:
    return lambda random: words_of(random, PACK_WORDS, [name], 4)


def unzip(random: Random) -> list[str]:
    return words_of(random, UNZIP_WORDS, ["t.zip"], 4)


def xargs_line(random: Random) -> str:
    """Return a pipeline that ends in xargs."""
    source = one_of(
        random,
        *("find . -name '*.py'", "find .", "ls", "ls -1", "ls -A", "ls -a", "ls sub", "grep -rl a .", "grep -l a f f2"),
        *(
            "echo ../secret",
            "cat f",
            "find . -printf '../secret\\n'",
            "printf '../secret\\n'",
            "ls -l",
            "head f3",
            "tac f3",
        ),
        *("grep -h secret f3", "grep -l --label=../secret a -", "ls -d ../secret", "find .. -name secret", "sed '' f3"),
        *("find . -print0", "find . -exec head -1 {} +", "(ls; cat f3)", "{ cat f3; }", "ls; cat f3", "ls && tac f3"),
        *("ls() { cat f3; }; ls", "cd sub && ls", "ls < f3", "find . -name f3 -exec cat {} \\;"),
    )
    filters = [
        one_of(
            random,
            "grep f",
            "head -3",
            "sort -u",
            "cat f3",
            "grep secret f3",
            "head f3",
            "tac f3",
            "tail -n 2",
            "sed p",
        )
        for _ in range(random.choice((0, 0, 1, 2)))
    ]
    options = one_of(random, "", "", "-n 1", "-0", "-I{}", "-a f3", "-d '\\n'", "-L 1", "-P 2", "-d /", "-t", "-i")
    inner = one_of(
        random,
        *("head -1", "grep -l a", "wc -l", "cat", "touch", "rm", "sh -c 'touch PWN1'", "sort -o", "head {}", "grep -f"),
        *("sed -n p", "tee", "head -1 {}", "cp f", "uniq", "uniq f", "", "head {}/../../secret", "awk 1", "env head"),
    )
    end = one_of(random, "", "", "", " | sort", "; cat f", " < f3", " | xargs head -1", " <<< ../secret")
    return " | ".join([source, *filters, f"xargs {options} {inner}"]) + end


def many(make: Callable[[Random], list[str]], seed: int) -> Iterator[list[str]]:
    """Yield calls endlessly, from a seed on."""
    while True:
        yield make(Random(seed))
        seed += 1
