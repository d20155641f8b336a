"""The project knowledge in the prompt: which entries, in which order, within which cap."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clio.memory.inject import CHARS_PER_TOKEN, best_first, knowledge_fragment
from clio.memory.records import Entry, Knowledge

DAY = 86_400.0


def discovery(text: str, confidence: float = 0.9, confirmed: float = 0.0) -> Entry:
    return Entry(kind="discovery", id=f"d-{text}", text=text, confidence=confidence, confirmed=confirmed)


def test_the_block_of_the_prompt() -> None:
    knowledge = Knowledge(
        entries=(
            discovery("old", confirmed=DAY),
            discovery("new", confirmed=2 * DAY),
            Entry(kind="solution", text="denied", solution="chown", times=3),
            Entry(kind="pattern", text="atomic", examples=("a.py",)),
        )
    )
    block = knowledge_fragment(knowledge, {}, "ltm.json")
    assert block is not None
    assert block.fragment.text.split("\n")[1:] == [
        "Discoveries:",
        "- new",
        "- old",
        "Solutions:",
        "- denied → chown [helped 3 times]",
        "Patterns:",
        "- atomic (e.g. a.py)",
    ]
    assert block.fragment.source == "ltm.json"
    assert block.fragment.reason == "4 of 4 entries, the newest and most certain"


def test_limits_and_the_closing_line() -> None:
    knowledge = Knowledge(
        entries=(
            *(discovery(f"fact {number:02}", confirmed=number * DAY) for number in range(40)),
            *(Entry(kind="solution", text=f"error {number}", solution="s") for number in range(20)),
            *(Entry(kind="pattern", text=f"pattern {number}") for number in range(20)),
        )
    )
    block = knowledge_fragment(knowledge, {}, "ltm.json")
    assert block is not None
    lines = block.fragment.text.split("\n")
    assert [line for line in lines if line.startswith("- fact")] == [
        f"- fact {number:02}" for number in range(39, 24, -1)
    ]
    assert sum(line.startswith("- error") for line in lines) == 15
    assert sum(line.startswith("- pattern") for line in lines) == 10
    assert lines[-1].startswith("40 more are kept:")
    assert (len(block.items), block.left_out) == (40, 40)


def test_certainty_counts_and_fades_with_age() -> None:
    sure, doubtful, old = (
        discovery("sure", 0.9, 100 * DAY),
        discovery("doubtful", 0.3, 101 * DAY),
        discovery("old", 0.9, 0.0),
    )
    assert best_first([old, doubtful, sure]) == [sure, old, doubtful]
    assert best_first([old, discovery("half", 0.5, 100 * DAY)])[0].text == "half"


entries = st.builds(
    Entry,
    kind=st.just("discovery"),
    text=st.text(min_size=1, max_size=700),
    confidence=st.floats(0, 1),
    confirmed=st.floats(0, 2e9),
)


@settings(max_examples=60)
@given(st.lists(entries, max_size=40), st.integers(60, 2000))
def test_the_cap_holds_and_every_entry_is_accounted_for(found: list[Entry], cap_tokens: int) -> None:
    knowledge = Knowledge(entries=tuple(found))
    block = knowledge_fragment(knowledge, {}, "ltm.json", cap_tokens)
    assert block == knowledge_fragment(knowledge, {}, "ltm.json", cap_tokens)
    if block is None:
        return
    lines = block.fragment.text.split("\n")
    shown = sum(line.startswith("- ") for line in lines)
    left = int(lines[-1].split()[0]) if "more are kept" in lines[-1] else 0
    assert len(block.fragment.text) <= cap_tokens * CHARS_PER_TOKEN
    assert (shown, left) == (len(block.items), block.left_out)
    assert shown + left == len(found)
