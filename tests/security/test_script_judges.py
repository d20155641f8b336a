"""Calls of sed, awk, jq, find, xargs and archivers: which are judged read-only, what they read, and why not."""

import shutil
import sys

import pytest

from clio.security.readonly.awk import Node, parse_program
from clio.security.readonly.grammar import Judgement, UnknownWord
from clio.security.readonly.jq import parse_filter
from clio.security.readonly.judge import NAME_PASSING_PROGRAMS, judge_read_only
from clio.security.readonly.sed import Command, parse_script
from clio.security.shell.parser import parse_command_line
from tests.security.script_corpus import corpus_lines, read_corpus
from tests.security.script_fuzz import LANGUAGES, run_scripts
from tests.support.rows import each_row

LINES = corpus_lines()


def judge_line(line: str) -> str:
    """Return "run" if every call is judged read-only, else the reason; with xargs, only what it starts counts."""
    parsed = parse_command_line(line)
    if parsed.unknown:
        return parsed.unknown[0]
    fed = [command for command in parsed.commands if "xargs" in command.wrappers]
    found = [judge_read_only(command, parsed) for command in fed or parsed.commands]
    return next((each for each in found if isinstance(each, str)), "run")


def judgement_of(line: str) -> Judgement:
    """Return the judgement of the last call of a line."""
    parsed = parse_command_line(line)
    found = judge_read_only(parsed.commands[-1], parsed)
    assert isinstance(found, Judgement), found
    return found


def paths_of(line: str) -> list[str]:
    return [word.text for word in judgement_of(line).paths]


def test_the_corpus_has_enough_of_each_language() -> None:
    for program in ("sed", "awk"):
        ordinary, attacks = read_corpus(program)
        assert len(ordinary) >= 150
        assert len(attacks) >= 145
    assert len(set(LINES)) == len(LINES) >= 1000


def test_everyday_lines_run_and_attacks_do_not() -> None:
    wrong = [
        (verdict, line, found)
        for verdict, line in LINES
        if ((found := judge_line(line)) == "run") != (verdict == "run")
    ]
    assert wrong == []


@each_row(
    ("line", "why"),
    [
        ("sed 'w PWN' f", "command 'w', which writes a file"),
        ("sed 's/a/b/w PWN' f", "flag 'w', which writes a file"),
        ("sed 's/a/b/e' f", "flag 'e', which runs a command"),
        ("sed '1e touch PWN' f", "command 'e', which runs a command"),
        (r"sed -n '/[/p;s|]/e touch PWN #|x|' f", "command 'e', which runs a command"),
        ("sed -i s/a/b/ f", "changes files in place"),
        ("sed -ni p f", "'-i' is not known"),
        ("sed -f x f", "script from a file"),
        ("awk '{print > \"x\"}'", "writes to a file with '>'"),
        ("awk '{print (a)(b) > \"x\"}'", "writes to a file with '>'"),
        ("awk '{print | \"sh\"}'", "runs a command with '|'"),
        ("awk 'BEGIN{system(\"x\")}'", "runs a command with system()"),
        ("awk '{getline}'", "getline"),
        ("awk 'BEGIN{print ENVIRON[\"X\"]}'", "environment"),
        ("awk -f x", "program from a file"),
        ("jq env", "environment"),
        ('jq \'"\\("\\($ENV)")"\'', "environment"),
        ("jq 'include \"a\"; .'", "loads a module"),
        ("jq -rf x", "filter from a file"),
        ("find . -delete", "deletes what it finds"),
        ("find . -fprint x", "writes a file"),
        ("find . -exec rm {} +", "'rm'"),
        ("echo /etc/passwd | xargs head", "'echo', which may name any file"),
        ("tar -tf host:x", "another machine"),
        ("gunzip x.gz", "replaces the files"),
        ("unzip x.zip", "writes the files"),
    ],
)
def test_the_reason_names_the_problem(line: str, why: str) -> None:
    parsed = parse_command_line(line)
    reasons = [judge_read_only(command, parsed) for command in parsed.commands]
    assert any(isinstance(reason, str) and why in reason for reason in reasons), reasons


def test_files_read_by_a_script_are_among_its_paths() -> None:
    assert paths_of("sed -e '1r ../secret' -e p f g") == ["f", "g", "../secret"]
    assert paths_of("sed 'R /etc/passwd' f") == ["f", "/etc/passwd"]
    assert paths_of("awk -F: '{print $1}' x=1 f ../g") == ["f", "../g"]
    assert paths_of("jq --slurpfile a /etc/passwd --rawfile b c . d") == ["d", "/etc/passwd", "c"]
    assert paths_of("find src ../x -newer y -name z -samefile w") == ["src", "../x", "y", "w"]
    assert paths_of("tar -tvf ../x.tar one two") == ["../x.tar"]
    assert paths_of("tar tvf x.tar") == ["x.tar"]


def test_names_that_a_program_tries_itself_are_among_its_paths() -> None:
    assert {"x", "x.gz", "x.Z"} <= set(paths_of("zcat x"))
    assert {"x", "x.zip"} <= set(paths_of("unzip -l x"))


def test_links_are_followed_if_names_are_passed_to_a_reader() -> None:
    assert not judgement_of("find . -name x").follows_links
    assert judgement_of("find -L . -name x").follows_links
    assert judgement_of("find . -name x -follow").follows_links
    assert judgement_of("find . -exec grep x {} +").follows_links
    assert judgement_of("fd -L x").follows_links
    assert judgement_of("fd -x head").lists_arguments
    assert judgement_of("find . | xargs head").lists_arguments


def test_the_start_folder_of_find_is_among_its_paths() -> None:
    assert paths_of("find -name x") == ["."]
    assert paths_of("find -exec grep -lf x {} +") == ["x"]
    outer = judge_read_only(parse_command_line("find -exec grep -lf x {} +").commands[0])
    assert isinstance(outer, Judgement)
    assert [word.text for word in outer.paths] == [".", "x"]
    assert paths_of("fd x") == ["."]


def test_what_xargs_starts_is_not_known_without_its_line() -> None:
    parsed = parse_command_line("find . | xargs head")
    assert isinstance(judge_read_only(parsed.commands[-1]), str)
    assert isinstance(judge_read_only(parsed.commands[-1], parsed), Judgement)
    assert parsed.commands[-1].wrappers[-1] in NAME_PASSING_PROGRAMS


def test_a_parser_that_drops_a_part_of_a_script_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(parse_script(("1,3s/a/b/;p;$!d",)).commands) == 3
    monkeypatch.setattr(Command, "render", lambda command: command.leading + command.name + command.argument)
    assert parse_script(("p;d",)).render() == "p;d"
    with pytest.raises(UnknownWord, match="as a whole"):
        parse_script(("1p",))
    monkeypatch.setattr(Node, "render", lambda node: "".join(getattr(part, "text", "") for part in node.parts))
    with pytest.raises(UnknownWord, match="as a whole"):
        parse_program("{ print }")


@each_row("text", ["(" * 500 + "1" + ")" * 500, "{" * 3000, "[" * 300, "-" * 30_000, "a" * 30_000])
def test_deep_and_long_scripts_are_refused(text: str) -> None:
    with pytest.raises(UnknownWord):
        parse_program(text)
    with pytest.raises(UnknownWord):
        parse_filter(text)
    with pytest.raises(UnknownWord):
        parse_script((text,))


@pytest.mark.skipif(sys.platform != "linux", reason="runs the programs of a Linux system")
def test_nothing_judged_read_only_does_anything_else() -> None:
    """A small sample; `make fuzz-scripts` runs as many as requested."""
    names = tuple(language.name for language in LANGUAGES if language.name != "xargs")
    finds, counts = run_scripts(10, 7, names)
    more, _ = run_scripts(2, 7, ("xargs",))
    assert finds + more == []
    for program in ("sed", "find", "tar", "gzip"):
        assert shutil.which(program) is None or counts[f"{program} judged read-only"] == 10
