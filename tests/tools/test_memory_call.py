"""Arguments that a model writes for memory_operations, and their meaning."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import ToolRetry
from clio.tools.memory_call import MemoryCall, is_writing, parse_memory_call
from clio.tools.schemas import LISTED_OPERATIONS, MEMORY_OPERATIONS, MemoryArgs, make_args_schema
from tests.support.rows import each_row


def read(operation: str, **arguments: Any) -> MemoryCall:
    return parse_memory_call(msgspec.convert({"operation": operation, **arguments}, MemoryArgs, strict=False))


def test_documented_calls_are_understood() -> None:
    assert read("store", key="k", content="c").content == "c"
    assert read("retrieve", key="k").key == "k"
    assert read("search", query="token refresh").query == "token refresh"
    assert read("list").operation == "list"
    assert read("delete", key="k").key == "k"
    call = read("recall_sessions", query="why atomic writes", max_sessions=3, max_results=7)
    assert (call.query, call.max_sessions, call.max_results) == ("why atomic writes", 3, 7)
    call = read("add_discovery", fact="Config is YAML", confidence=0.9)
    assert (call.text, call.confidence) == ("Config is YAML", 0.9)
    call = read("add_solution", error="denied", solution="chown", examples=["lib/State.pm"])
    assert (call.text, call.solution, call.examples) == ("denied", "chown", ("lib/State.pm",))
    assert read("add_pattern", pattern="atomic writes", confidence=0.95).text == "atomic writes"
    call = read("prune_ltm", max_age_days=30, min_confidence=0.5)
    assert (call.max_age_days, call.min_confidence, call.dry_run) == (30, 0.5, None)
    assert read("ltm_stats").operation == "ltm_stats"
    call = read("add_workflow", steps=["make test", "make ship", "make test"], key="release")
    assert (call.text, call.steps) == ("release", ("make test", "make ship", "make test"))
    call = read("add_failure", what="fork", impact="hangs", prevention="spawn")
    assert (call.text, call.impact, call.solution) == ("fork", "hangs", "spawn")
    call = read("add_context_rule", rule="no prints", path="lib/")
    assert (call.text, call.path) == ("no prints", "lib/")
    call = read("update_ltm", id="d-1", fact="new", confidence=0.4)
    assert (call.ids, call.text, call.given) == (("d-1",), "new", {"ids", "text", "confidence"})
    assert read("forget_ltm", id="d-1").ids == ("d-1",)
    call = read("remember", content="Alice deploys", type="fact", importance=0.9)
    assert (call.text, call.type, call.importance) == ("Alice deploys", "fact", 0.9)
    call = read("recall", query="deploys", limit=-1, type="!preference")
    assert (call.query, call.limit, call.type) == ("deploys", -1, "!preference")
    assert read("forget", id="0a1b2c3d").ids == read("apply", ids=["0a1b2c3d"]).ids == ("0a1b2c3d",)
    assert read("history", id="0a1b2c3d").operation == "history"
    assert read("compact").operation == "compact"


def test_omitted_parameters_have_their_documented_defaults() -> None:
    call = read("recall_sessions", query="q")
    assert (call.max_sessions, call.max_results) == (10, 5)
    call = read("prune_ltm")
    assert (call.max_age_days, call.min_confidence) == (90, 0.3)
    assert read("search", query="q").max_results == 10
    call = read("remember", content="c")
    assert (call.type, call.importance, call.scope) == ("", 0.5, "")
    assert (read("recall").query, read("recall").limit, read("recall").type) == ("", 10, "")
    assert read("search", query="q", max_results=5).max_results == 5


@pytest.mark.parametrize("content", ["", "0", "é\n漢字", " "])
def test_any_text_is_a_valid_note(content: str) -> None:
    assert read("store", key="0", content=content).content == content


@each_row(
    ("operation", "arguments", "slot", "value"),
    [
        ("add_discovery", {"content": "F"}, "text", "F"),
        ("add_discovery", {"text": "F", "fact": ""}, "text", "F"),
        ("add_discovery", {"fact": "F", "text": "F "}, "text", "F"),
        ("add_solution", {"error": "E", "content": "S"}, "solution", "S"),
        ("add_solution", {"content": "E", "solution": "S"}, "text", "E"),
        ("add_workflow", {"sequence": "make test -> make ship"}, "steps", ("make test", "make ship")),
        ("add_workflow", {"content": "1. make test\n2. make ship"}, "steps", ("make test", "make ship")),
        ("add_failure", {"error": "E", "solution": "S"}, "solution", "S"),
        ("add_context_rule", {"content": "R", "context": "lib/"}, "path", "lib/"),
        ("add_pattern", {"pattern": "P", "examples": "a.py, b/c.py"}, "examples", ("a.py", "b/c.py")),
        ("add_pattern", {"pattern": "P", "examples": '["a.py"]'}, "examples", ("a.py",)),
        ("add_pattern", {"pattern": "P", "confidence": "0.9"}, "confidence", 0.9),
        ("recall_sessions", {"text": "q", "limit": "3"}, "max_results", 3),
        ("recall_messages", {"from": 12}, "first", "12"),
        ("forget_ltm", {"ids": ["d-1", "d-2", "d-1"]}, "ids", ("d-1", "d-2")),
        ("forget_ltm", {"id": "d-1, d-2"}, "ids", ("d-1", "d-2")),
        ("prune_ltm", {"dry_run": "false"}, "dry_run", False),
        ("store", {"name": "k", "value": {"a": 0}}, "content", '{"a":0}'),
        ("store", {"key": 0, "content": 0}, "content", "0"),
        (" Add-Discovery ", {"fact": "F"}, "operation", "add_discovery"),
        ("remember", {"fact": "F", "type": "Facts"}, "text", "F"),
        ("remember", {"content": "F", "type": "Facts"}, "type", "fact"),
        ("remember", {"content": "F", "examples": "a.py"}, "examples", ("a.py",)),
        ("recall", {"text": "q", "max_results": 3}, "limit", 3),
        ("recall", {"type": "all"}, "type", ""),
    ],
)
def test_similar_words_are_understood_if_only_one_meaning_is_possible(
    operation: str, arguments: dict[str, Any], slot: str, value: object
) -> None:
    assert getattr(read(operation, **arguments), slot) == value


@each_row(
    ("operation", "arguments", "message"),
    [
        ("memorise", {}, "no operation 'memorise'; there are: remember, recall, update"),
        ("recal", {}, "did you mean recall"),
        ("remember", {}, "needs content; content is missing"),
        ("remember", {"content": " ", "type": "fact"}, "content is missing"),
        ("remember", {"content": "c", "text": "d"}, "text together with content"),
        ("remember", {"content": "c", "type": "opinion"}, "type is fact, preference, event or note; 'opinion' is none"),
        ("remember", {"content": "c", "importance": 7}, "importance is a number from 0 to 1, such as 0.9; 7 is not"),
        ("remember", {"content": "c", "importance": "nan"}, "'nan' is not"),
        ("remember", {"content": "c", "scope": "team"}, 'scope is "project" or "user"; \'team\' is neither'),
        ("recall", {"limit": -2}, "limit is a whole number up to 1,000, or -1 for all; -2 is not"),
        ("recall", {"type": "!opinion"}, "'!opinion' is none of them"),
        ("history", {}, "needs id"),
        ("apply", {"ids": []}, "needs id"),
        ("add_rule", {}, "did you mean add_context_rule"),
        ("store", {"key": "k"}, r"needs key and content; content is missing \(given: key\)"),
        ("store", {"key": " ", "content": "c"}, "key is missing"),
        ("add_solution", {}, "needs error and solution; error and solution are missing"),
        ("add_discovery", {"fact": "a", "content": "b"}, "content together with fact; it accepts fact"),
        ("add_solution", {"error": "a", "solution": "b", "text": "c"}, "does not accept text"),
        ("search", {"query": " "}, "needs query; query is missing"),
        ("update_ltm", {"content": "x"}, "needs id; id is missing"),
        ("add_discovery", {"fact": "f", "confidence": 1.4}, "from 0 to 1, such as 0.9; 1.4 is not"),
        ("add_discovery", {"fact": "f", "confidence": 90}, "did you mean 0.9"),
        ("add_discovery", {"fact": "f", "confidence": 5}, "5 is not$"),
        (
            "remember",
            {"content": "c", "id": "d-3f9a12"},
            r'to change d-3f9a12, call .*operation="update", id="d-3f9a12"',
        ),
        ("remember", {"content": "c", "kind": "note", "ids": ["0a1b2c3d"]}, 'does not accept ids.*"update"'),
        ("add_solution", {"error": "a", "solution": "b", "id": "s-1"}, 'does not accept id;.*"update"'),
        ("add_discovery", {"fact": "f", "confidence": "high"}, "'high' is not"),
        ("add_discovery", {"fact": "f", "confidence": True}, "True is not"),
        ("add_discovery", {"fact": "f", "examples": [1]}, r"a list of paths, as in examples=\[\"src/app.py\"\]"),
        ("add_workflow", {"steps": {"a": 1}}, "a list of steps in order"),
        ("recall_sessions", {"query": "q", "max_results": 0}, "max_results is a whole number from 1 to 50; 0 is not"),
        ("recall_sessions", {"query": "q", "max_results": 1000}, "from 1 to 50; 1000 is not"),
        ("recall_sessions", {"query": "q", "max_sessions": 2.5}, "whole number from 1 to 1,000; 2.5 is not"),
        ("recall_messages", {"from": "1", "offset": "nan"}, "'nan' is not"),
        ("prune_ltm", {"max_age_days": 0}, "number of days from 1 to 36,500"),
        ("prune_ltm", {"min_confidence": -1}, "min_confidence is a number from 0 to 1"),
        ("prune_ltm", {"dry_run": "maybe"}, "true or false; 'maybe' is neither"),
    ],
)
def test_invalid_calls_are_answered_with_the_valid_ones(
    operation: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolRetry, match=message):
        read(operation, **arguments)


def test_parameters_of_other_operations_are_ignored() -> None:
    """Some models fill in every parameter of the schema."""
    filled = {"key": "", "content": "", "query": "", "steps": [], "max_results": 0, "confidence": 7, "dry_run": None}
    assert read("list", **filled).operation == "list"
    assert read("search", **filled | {"query": "q", "max_results": 2}).query == "q"


def test_only_an_explicit_prune_writes() -> None:
    assert not is_writing(read("prune_ltm"))
    assert not is_writing(read("prune_ltm", dry_run=True))
    assert is_writing(read("prune_ltm", dry_run=False))
    assert [name for name in ("list", "search", "ltm_stats", "recall_sessions") if name in MEMORY_OPERATIONS]
    assert not is_writing(read("ltm_stats"))
    assert is_writing(read("forget_ltm", id="d-1"))
    assert not is_writing(read("recall", query="q"))
    assert not is_writing(read("history", id="0a1b"))
    assert all(is_writing(read(name, id="0a1b")) for name in ("forget", "apply", "compact"))
    assert is_writing(read("remember", content="c"))


def test_the_schema_is_flat_and_smaller_for_small_windows() -> None:
    whole, compact = make_args_schema(MemoryArgs), make_args_schema(MemoryArgs, describe=False)
    assert whole["properties"]["operation"] == {"enum": list(LISTED_OPERATIONS)}
    eight = "remember recall update forget history search_sessions read_messages stats"
    assert list(LISTED_OPERATIONS) == eight.split(), "all other operations are accepted, and not listed"
    assert whole["required"] == compact["required"] == ["operation"]
    documented = (
        "key content kind query id solution impact steps path files confidence importance at handle max_results"
    )
    assert set(documented.split()) <= set(whole["properties"])
    assert {"text", "sequence", "limit", "fact", "type", "layer", "examples"}.isdisjoint(whole["properties"]), (
        "understood, and not sent"
    )
    assert set(compact["properties"]) < set(whole["properties"])
    assert "x-rare" not in str(whole) + str(compact)
    assert len(msgspec.json.encode(whole)) <= 1_360
    assert len(msgspec.json.encode(compact)) <= 920


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip
names = st.sampled_from([name.rstrip("_") for name in MemoryArgs.__struct_fields__ if name != "operation"])


@given(st.sampled_from(MEMORY_OPERATIONS), st.dictionaries(names, anything, max_size=6))
def test_any_call_is_understood_or_refused_in_a_sentence(operation: str, arguments: dict[str, Any]) -> None:
    try:
        call = read(operation, **arguments)
    except ToolRetry as error:
        assert str(error)
    else:
        assert 0.0 <= call.confidence <= 1.0
        assert 1 <= call.max_results <= 50
