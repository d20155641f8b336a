"""What the offline provider searches for in answer to a question."""

import asyncio

from clio.messages import ToolMessage
from clio.providers.offline import (
    LookupResult,
    OfflineProvider,
    compose_answer,
    find_search_words,
    plan_further_lookups,
    plan_lookups,
)
from tests.support.rows import each_row


@each_row(
    ("question", "kind", "tool", "argument"),
    [
        ("remember that tests run with pytest -q", "remember", "memory_operations", "tests run with pytest -q"),
        ("Please note: deploys happen on Fridays", "remember", "memory_operations", "deploys happen on Fridays"),
        ("forget d-3f9a12", "forget", "memory_operations", "d-3f9a12"),
        ("Please forget that deploys happen on Fridays.", "forget", "memory_operations", "deploys happen fridays"),
        ("don't forget that tests are slow", "remember", "memory_operations", "tests are slow"),
        ("git status", "show", "git", "status"),
        ("what are the recent commits?", "show", "git", "log"),
        ("show me the diff", "show", "git", "diff"),
        ("read clio/app.py", "show", "read_file", "clio/app.py"),
        ("show README.md:3-9", "show", "read_file", "README.md"),
        ("run `pytest -q`", "show", "run_command", "pytest -q"),
        ("list the files", "show", "list_files", None),
        ('replace "MAX = 3" with "MAX = 5" in src/retry.py', "edit", "edit_file", "MAX = 5"),
        ("Change `a = 'x'` to `a = ''` in the file `b.py`.", "edit", "edit_file", "a = ''"),
        ('replace "x" with "" in b.py', "edit", "edit_file", ""),
        ("replace the tests with better ones", "search", "memory_operations", None),
        ("where is the retry policy?", "search", "memory_operations", "retry policy"),
        ("¿?", "nothing", None, None),
        ("Hi!", "nothing", None, None),
        ("hello, clio", "nothing", None, None),
    ],
)
def test_the_first_matching_rule_is_used(question: str, kind: str, tool: str | None, argument: str | None) -> None:
    made = plan_lookups(question)
    assert made.kind == kind
    assert (made.lookups[0].tool if made.lookups else None) == tool
    if argument is not None:
        assert argument in made.lookups[0].arguments.values()


def test_a_range_of_lines_becomes_an_offset_and_a_limit() -> None:
    assert plan_lookups("show README.md:3-9").lookups[0].arguments == {"path": "README.md", "offset": 3, "limit": 7}


def test_a_question_about_the_past_does_not_search_the_code() -> None:
    tools = {lookup.tool for lookup in plan_lookups("what did we decide about caching?").lookups}
    assert tools == {"memory_operations"}


@each_row(
    ("question", "words"),
    [
        ("where is the retry policy?", ["retry", "policy"]),
        ("what does `make_provider` do?", ["make_provider"]),
        ("how does readFile work", ["readFile", "work"]),
        ("wo ist die Größe", ["wo", "ist", "die", "größe"]),
        ("just", ["just"]),
        ("code?", ["code"]),
        ("R", ["r"]),
        ("find the code", ["find", "code"]),
    ],
)
def test_words_to_search_for(question: str, words: list[str]) -> None:
    assert find_search_words(question) == words


def test_the_window_is_the_users_or_larger_than_any_conversation() -> None:
    assert asyncio.run(OfflineProvider().limits()).context_window == 1_000_000
    limits = asyncio.run(OfflineProvider(8_000).limits())
    assert (limits.context_window, limits.max_output_tokens, limits.source) == (8_000, 2_000, "config")


def test_lines_of_a_file_are_shown_once() -> None:
    source = ['"""The retry policy."""', "", "", "def retry():", "    pass"]
    hits = [
        "retry.py",
        f"1:{source[0]}",
        f"4:{source[3]}",
        "12:retry()",
        "",
        "other.py",
        "31:# the retry policy, again",
    ]
    plan = plan_lookups("where is the retry policy?")
    search = next(lookup for lookup in plan.lookups if lookup.tool == "search_text")
    found = LookupResult(lookup=search, result=ToolMessage(tool_call_id="1", content="\n".join(hits)))
    reads = plan_further_lookups(plan, [found])
    assert [(read.arguments["path"], read.arguments["offset"]) for read in reads] == [("retry.py", 1), ("other.py", 30)]
    numbered = "\n".join(f"{number}|{line}" for number, line in enumerate(source, 1))
    read = LookupResult(lookup=reads[0], result=ToolMessage(tool_call_id="2", content=numbered))
    answer = compose_answer(plan, [[found], [read]], introduce=False)
    assert answer.count("def retry():") == 1
    assert "- `other.py:31` `# the retry policy, again`" in answer
