"""The limits in a message: where they are found, what is not one, how long they last and to whom they apply."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.preferences.limits import MAX_LASTING, StatedLimit, find_limits
from clio.memory.preferences.rule_files import Triggers
from clio.memory.preferences.stated_preferences import find_preferences


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "Fix the parser. {} Then run the tests.",
        "Todo:\n- add the endpoint\n- {}\n- update the docs",
        "## Task\nSpeed it up.\n\n## Constraints\n- {}",
        "```\nnever use tabs\n```\n{}",
        "Here is the output:\n\n    error: never do this\n\nFind the cause. {}",
        "> please use tabs\n\nWhat did he mean? {}",
        "> quoted\n{}",
        "do it like last time and please {}",
        "From now on: {}",
    ],
)
@pytest.mark.parametrize("limit", ["never write to /srv/data", "don't add dependencies", "leave config.yml alone"])
def test_a_limit_is_found_anywhere_in_a_message(frame: str, limit: str) -> None:
    assert [one.content for one in find_limits(frame.format(limit)) if limit in one.content]


@pytest.mark.parametrize(
    "frame",
    [
        "```\n{}\n```",
        "    {}",
        "> {}",
        '"{}"',
        "`{}`",
        "<doc>\n{}\n</doc>",
        "# Readme\n{}",
        "2024-01-01 10:00:00 {}",
        "ERROR: {}",
        "summarise this text:\n{}",
        "Acceptance criteria:\n- {}",
        "the docs say: {}",
        "add a comment that says {}",
        "write a commit message for: {}",
        "should I {}?",
        "stdout: {}",
        "The output: {}",
        "README.md: {}",
        "README.md:3: {}",
        "the error is: {}",
        "The commit message is: {}",
        "@anna: {}",
        "From Anna Bell: {}",
        "-----BEGIN TEXT-----\n{}\n-----END TEXT-----",
        "=== output ===\n{}\n=== end ===",
        "BEGIN LOG\n{}\nEND LOG",
    ],
)
def test_pasted_and_reported_text_contains_no_limit(frame: str) -> None:
    assert find_limits(frame.format("never write to the cache")) == ()
    assert find_preferences(frame.format("never write to the cache")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "the name must not be empty",
        "only admins may see this page",
        "why does it never finish?",
        "I never saw this error",
        "don't worry about it",
        "we used to use pip",
        "no idea why it fails",
        "stop the server",
        "the test always fails",
        "keep going",
        "Our deploys take an hour. Make them faster.",
        "only two people know the deploy process",
        "we always end up rewriting this module",
        "wir haben nur zwei Server",
        "só temos dois servidores",
        "our search index has 4 shards",
        "our build takes 12 minutes",
        "our office is in Lyon",
        "our release is on friday",
        "our service needs 3 replicas",
        "this repo has two frontends",
        "our project has around 30k stars",
        "the pipeline doesn't allow unsigned tags",
        "our gateway won't accept plain http",
        "GitHub rejects files over 100 MB",
        "our docs are hosted on readthedocs",
        "our staging is deployed to AWS",
        "the API docs are read-only for guests",
        "the API is frozen for external customers",
    ],
)
def test_a_description_of_the_program_or_its_state_is_no_limit(text: str) -> None:
    assert find_limits(text) == ()


@pytest.mark.parametrize(
    ("text", "term", "scope"),
    [
        ("never use tabs", "lasting", "user"),
        ("we use uv here, not pip", "lasting", "project"),
        ("Never edit gen/api.py", "lasting", "project"),
        ("nobody touches prod.yaml", "lasting", "project"),
        ("Fix the bug in add, don't change its signature", "task", "user"),
        ("don't commit yet", "task", "user"),
        ("no essay please, just the patch", "task", "user"),
        ("our policy doesn't allow unsigned tags", "lasting", "project"),
        ("our line length is 100", "lasting", "project"),
        ("Merke: niemals Dateien in vendor/ ändern", "unclear", "project"),
        ("only two people may approve releases", "lasting", "user"),
        ("we always squash before merging", "lasting", "project"),
        ("wir haben nur englische Kommentare", "lasting", "project"),
        ("our commits are signed", "lasting", "project"),
        ("our main branch needs two approvals", "lasting", "project"),
        ("our public api has exactly one entry point", "lasting", "project"),
        ("CI rejects unsigned tags in this repo", "lasting", "project"),
        ("Write a tool. No frameworks please.", "task", "user"),
    ],
)
def test_the_duration_and_scope_of_a_limit(text: str, term: str, scope: str) -> None:
    [found] = find_limits(text)
    assert (found.term, found.scope) == (term, scope)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("use uv, not pip", "user"),
        ("use pnpm instead of npm", "user"),
        ("use httpx instead of requests in this project", "project"),
        ("nutze uv, nicht pip", "user"),
        ("statt pip uv verwenden", "user"),
        ("utilise pnpm au lieu de npm", "user"),
        ("usa uv, no pip", "user"),
        ("use pnpm em vez de npm", "user"),
        ("用 uv，不要用 pip", "user"),
        ("npm の代わりに pnpm を使って", "user"),
        ("the core must never import the UI", "project"),
        ("X must not depend on Y", "project"),
        ("the UI may only talk to the core via events", "project"),
        ("das Modul core darf nicht von ui abhängen", "project"),
        ("le noyau ne doit jamais importer l'interface", "project"),
        ("el módulo core no debe depender de ui", "project"),
        ("o núcleo nunca deve importar a interface", "project"),
        ("核心模块不得依赖UI", "project"),
        ("コアはUIに依存してはいけない", "project"),
    ],
)
def test_an_order_that_excludes_something_and_a_rule_of_architecture_are_limits(text: str, scope: str) -> None:
    assert [(one.content.casefold(), one.term, one.scope) for one in find_limits(text)] == [
        (text.casefold(), "lasting", scope)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "use 8081 instead of 8080",
        "use foo.py instead of bar.py",
        "use spaces, not tabs, in the new file",
        "nutze Port 8081 statt 8080",
        "utilise le nouveau parseur au lieu de l'ancien",
        "we don't do code freezes here",
        "we don't do standups",
        "wir machen hier keine Code-Freezes",
        "on ne fait pas de réunions",
        "aquí no hacemos code freezes",
        "não fazemos reuniões",
        "我们不做代码冻结",
        "ここではコードフリーズはしません",
        "the function must not return None",
        "the test must not depend on the clock",
        "keep in mind that the DB is read-only on Sundays",
        "das Skript darf nicht abstürzen",
    ],
)
def test_values_of_a_task_habits_of_a_team_and_facts_are_no_lasting_limits(text: str) -> None:
    assert not [one for one in find_limits(text) if one.term != "task"]


@pytest.mark.parametrize(
    "text",
    [
        "forget it, I'll do it myself",
        "never mind, I'll push it myself",
        "ok forget that, I'll deploy myself",
        "scratch that, I'll run the migration myself",
        "no worries, I'll do it myself",
        "leave it, I'll do it myself",
    ],
)
def test_the_end_of_a_request_is_no_limit(text: str) -> None:
    assert not find_limits(text)


@pytest.mark.parametrize("text", ["releases: I'll do it myself", "I'll do the deploys myself", "I'll push myself"])
def test_what_the_user_does_alone_is_a_limit(text: str) -> None:
    assert find_limits(text)


def test_an_order_that_excludes_something_is_one_limit_beside_a_task() -> None:
    [one] = find_limits("Fix the build. Use uv, not pip.")
    assert (one.content, one.term) == ("use uv, not pip", "unclear")


def test_typing_errors_are_understood() -> None:
    assert [one.content for one in find_limits("pls nevr push to main")] == ["nevr push to main"]
    assert find_limits("plese dont tuoch the lockfile") != ()


def test_a_pasted_document_of_rules_applies_only_to_the_task() -> None:
    rules = "\n".join(f"- never use module{number}" for number in range(MAX_LASTING + 1))
    assert {one.term for one in find_limits(rules)} == {"task"}


def test_the_time_is_linear_in_the_length() -> None:
    text = "the parser reads a line and we never know what comes next, so it must not stop here or there. "
    find_limits(text)
    begin = time.process_time()
    find_limits(text * 100)
    once = time.process_time() - begin
    begin = time.process_time()
    find_limits(text * 1_000)
    assert time.process_time() - begin < 40 * once + 0.2
    begin = time.process_time()
    find_limits("never " * 20_000)
    find_limits("no, " * 20_000)
    find_limits(" " * 100_000 + "x")
    assert time.process_time() - begin < 5


WORDS = st.lists(
    st.sampled_from(
        "never always don't do not no only we use you must may should keep leave alone without as it is the in this "
        "repo src/a.py , . : ; ? - \n ` \" ' > # if when before ask me unless i say and but please off limits tests "
        "are nobody nothing everything touch edit frozen stop avoid using".split(" ")
    ),
    max_size=40,
).map(" ".join)


@given(WORDS | st.text(max_size=200))
def test_any_text_is_accepted_and_found_limits_can_be_saved(text: str) -> None:
    for one in find_limits(text):
        assert one.content == " ".join(one.content.split()) != ""
        assert one.quote


REPOSITORY = Path(__file__).parents[3]


def written_messages() -> list[str]:
    """Return the messages of all labelled data about what users state."""
    texts = [
        json.loads(line)["text"] for line in (REPOSITORY / "bench/data/stated_limits.jsonl").open(encoding="utf-8")
    ]
    for line in (REPOSITORY / "bench/data/memory_phrasings.jsonl").open(encoding="utf-8"):
        texts += [message for session in json.loads(line)["sessions"] for message in session]
    for path in Path(__file__).parent.glob("*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        texts += [line.rpartition("|")[2].strip().replace("\\n", "\n") for line in lines]
    return texts


def find_limits_by_all_rules(text: str) -> tuple[StatedLimit, ...]:
    """Return the limits in a text if each rule is tried on each sentence."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Triggers, "occur_in", lambda self, words: True)
        return find_limits(text)


def test_no_rule_applies_without_its_triggers() -> None:
    texts = written_messages()
    assert len(texts) > 2_000
    assert [text for text in texts if find_limits(text) != find_limits_by_all_rules(text)] == []


@given(st.sampled_from(written_messages()), st.lists(st.tuples(st.integers(0, 30), WORDS), max_size=3))
def test_no_rule_applies_without_its_triggers_in_changed_messages(text: str, changes: list[tuple[int, str]]) -> None:
    words = text.split(" ")
    for place, more in changes:
        words[place % len(words)] = more
    changed = " ".join(words)
    assert find_limits(changed) == find_limits_by_all_rules(changed)


def test_an_ordinary_question_compiles_almost_none_of_the_patterns() -> None:
    program = (
        "import re\n"
        "compiled, compile = [], re._compiler.compile\n"
        "from clio.memory.preferences.limits import find_limits\n"
        "re._compiler.compile = lambda *given: compiled.append(given) or compile(*given)\n"
        "assert find_limits('fix the failing test in tests/test_calc.py and run it again') == ()\n"
        "print(len(compiled))"
    )
    assert int(subprocess.check_output([sys.executable, "-c", program], text=True)) <= 10
