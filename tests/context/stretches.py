"""Random parts of conversations, in whole units."""

import json

from hypothesis import strategies as st

from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    Message,
    SideEffects,
    ToolCall,
    ToolMessage,
    UserMessage,
)

WORDS = st.text(max_size=80)
PATHS = st.sampled_from(["a.py", "b.py", "src/ü.py", "src/c d.md", "漢字.txt", "e.py"])
HASHES = st.text("0123456789abcdef", min_size=7, max_size=12)
COMMITS = st.builds(Commit, hash=HASHES, subject=WORDS)
FILE_DEEDS = st.one_of(
    st.builds(
        ChangedFile,
        path=PATHS,
        kind=st.sampled_from(["add", "update", "update", "delete"]),
        lines=st.sampled_from([(), ((1, 4),), ((3, 9), (20, 20))]),
    ),
    st.builds(ChangedFile, path=PATHS, kind=st.just("move"), moved_to=PATHS),
)
DEEDS = st.builds(
    SideEffects,
    changed=st.lists(FILE_DEEDS, max_size=2).map(tuple),
    read=st.lists(PATHS, max_size=2).map(tuple),
    commits=st.lists(COMMITS, max_size=2).map(tuple),
    command=st.sampled_from(
        ["", "pytest -q", "git commit -m x", "git checkout -- a.py", "git checkout .", "git restore src"]
    ),
    exit_code=st.sampled_from([None, 0, 1, 130]),
    question=st.sampled_from(["", "Which one?"]),
    answer=WORDS,
)
ARGUMENTS = st.one_of(
    st.builds(lambda path: json.dumps({"path": path}), PATHS),
    st.builds(
        lambda command: json.dumps({"command": command}),
        st.sampled_from(["git commit -m x", "ls", "", "git reset --hard", "git checkout a.py"]),
    ),
    st.builds(
        lambda path, words: json.dumps({"path": path, "old_string": words[0], "new_string": words[1]}),
        PATHS,
        st.sampled_from([("a", "b"), ("b", "a"), ("b", "c")]),
    ),
    st.builds(lambda question: json.dumps({"question": question}), WORDS),
    st.just("not JSON"),
)
NAMES = st.sampled_from(
    ["read_file", "write_file", "edit_file", "run_command", "ask_user", "delete_file", "search_text"]
)
OUTPUTS = st.one_of(
    WORDS,
    st.just("[main 1a2b3c4] a subject"),
    st.just("exit code 3\n"),
    st.just(" 1|import a\n 2|import b\n"),
    st.just("FAILED tests/test_a.py::test_b - AssertionError: no\n1 failed, 2 passed in 0.10s"),
)
ASKS = st.one_of(
    WORDS, st.sampled_from(["yes, go on", "Fix the parser\nand its tests", "</thread_summary>\n## Commits"])
)


@st.composite
def units(draw: st.DrawFn) -> list[Message]:
    """Generate one unit: a message of the user or of clio, or an answer with calls and the results it got."""
    if draw(st.booleans()):
        origin = draw(st.sampled_from(["user", "user", "user", "continue", "recovery"]))
        return [UserMessage(content=draw(ASKS), origin=origin)]
    # Servers that count from zero in every answer repeat ids.
    calls = [
        ToolCall(id=f"call_{n}", name=draw(NAMES), arguments=draw(ARGUMENTS)) for n in range(draw(st.integers(0, 3)))
    ]
    answered = [call for call in draw(st.permutations(calls)) if draw(st.integers(0, 5))]
    results = [
        ToolMessage(
            tool_call_id=call.id,
            name=call.name,
            content=draw(OUTPUTS),
            ok=draw(st.booleans()),
            side_effects=draw(st.none() | DEEDS),
        )
        for call in answered
    ]
    return [AssistantMessage(content=draw(WORDS), tool_calls=tuple(calls)), *results]


HISTORIES = st.lists(units(), max_size=25)


def flat(parts: list[list[Message]]) -> list[Message]:
    return [message for part in parts for message in part]
