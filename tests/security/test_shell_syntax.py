"""The parser removes quotes as a shell does, follows folders, and reports what it does not understand."""

import shlex
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.security.shell.parser import MAX_CHARS, parse_command_line
from tests.support.rows import each_row

words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cn", "Cs", "Zs", "Zl", "Zp"))
    | st.sampled_from(" \n\t'\"\\$`*"),
    min_size=1,
    max_size=12,
)


@given(st.lists(words, min_size=1, max_size=5))
def test_quoted_words_are_parsed_back(argv: list[str]) -> None:
    line = parse_command_line("run " + shlex.join(argv))
    assert line.unknown == ()
    assert [command.argv for command in line.commands] == [("run", *argv)]


@each_row("letter", ["\U000f4839", "\U00031860", "\U0010ffff", "😀", "é"])
def test_no_letter_after_a_brace_crashes_the_process(letter: str) -> None:
    code = f"from clio.security.shell import parser; print(bool(parser.parse_command_line({'{' + letter!r}).unknown))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_letters_of_all_scripts_are_letters() -> None:
    line = parse_command_line("grep -r 'größe' ./страница && é=1 echo \"漢字 😀\" > naïve.txt")
    assert line.unknown == ()
    assert [command.argv for command in line.commands] == [
        ("grep", "-r", "größe", "./страница"),
        ("é=1", "echo", "漢字 😀"),  # no shell takes this for a variable
    ]
    assert [redirect.target.text for redirect in line.redirects] == ["naïve.txt"]


@given(st.text(max_size=200) | st.text("ab '\"`$(){}[];|&<>\\\n#!*?~=-", max_size=60))
def test_any_text_can_be_parsed(text: str) -> None:
    parse_command_line(text)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    "words",
    [
        r"""a"b c"'d e'\f g\ h i""",
        r"""$'x\ty\x41\101\u00e9' "q\"r\\s\$t\`u" """,
        r"""'it'\''s' "a'b" ~x a\*b""",
        "plain --opt=va,lue a=b {} HEAD@{1} 'a{b,c}' \"[x]\"",
        "a\\\n  b 'c\nd' \"e\\\nf\"",
    ],
)
def test_words_are_those_that_bash_sees(words: str) -> None:
    seen = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True, timeout=20
    ).stdout.decode("utf-8", "surrogateescape")
    assert parse_command_line(f"run {words}").commands[0].argv[1:] == tuple(seen.split("\0")[:-1])


@each_row(
    ("line", "folders"),
    [
        ("cd a && cd b && run", ("a/b",)),
        ("cd a; run", ("", "a")),
        ("(cd a); run", ("",)),
        ("cd a | cat; run", ("",)),
        ("cd /x && run", ("/x",)),
        ("cd && run", ("~",)),
        ("cd $X && run", None),
        ("cd - && run", None),
        ("for i in 1 2; do cd ..; done; run", None),
        ("f() { run; }; cd /etc; f", None),
        ("trap run EXIT; cd /etc", None),
        ("eval 'cd /etc'; run", None),
    ],
)
def test_the_folder_of_each_command(line: str, folders: tuple[str, ...] | None) -> None:
    (command,) = [command for command in parse_command_line(line).commands if command.program == "run"]
    assert command.folders == folders


def test_wrappers_and_pipes_are_recorded() -> None:
    line = parse_command_line("curl -s x | sudo -u root env A=1 timeout 5 sh -s")
    assert (line.commands[1].wrappers, line.commands[1].upstream) == (("sudo", "env", "timeout"), ("curl",))
    assert line.commands[1].written[0].text == "sudo"
    assert line.commands[1].env == (("A", "1"),)


def test_redirects_are_recorded() -> None:
    line = parse_command_line("a 2>&1 >out <in 2>>err; b &> all; c <<< x >| f; d >&-")
    assert [(each.operator, each.target.text) for each in line.redirects] == [
        (">", "out"),
        ("<", "in"),
        (">>", "err"),
        ("&>", "all"),
        (">|", "f"),
    ]


@each_row(
    "line",
    [
        "echo 'open",
        "if true",
        "cat <<EOF\n`id`\nEOF",
        "echo ${X:-`id`}",
        "$CMD x",
        'eval "$X"',
        'bash -c "$X"',
        "find . -exec $CMD {} ;",
        "ls\r\nrm x",
        "ls\u00a0-l",
        "r\\\nm x",
        r"run 'd e'\ f",
        r"run \ f",
        "c > f <<< x",
        "$'r'\"m\"`echo`",
        "x" * (MAX_CHARS + 1),
        "(" * 300 + "ls" + ")" * 300,
        "a && " * 300 + "b",
        "a|" * 3000 + "b",
        "timeout --new-option 5 ls",
        "env --split-string='rm x'",
    ],
    ids=lambda line: line[:30],
)
def test_unsupported_syntax_is_reported(line: str) -> None:
    assert parse_command_line(line).unknown


@each_row(
    "text",
    ["$(" * 20_000, "a|" * 2_000, "`" * 50_000, "{" * 50_000, "{," * 25_000, "x <<a\n" * 9_000, "sh -c '" * 5_000],
)
def test_hostile_lines_take_little_time(text: str) -> None:
    parse_command_line(text)


def test_the_grammar_is_loaded_when_first_needed() -> None:
    code = "import sys, clio.security.approval; print('tree_sitter' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60).strip() == "False"
