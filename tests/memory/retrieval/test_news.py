"""Memory changes since the prompt was made."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from clio.memory.retrieval.prompt_prefix import (
    NEWS_CAP_TOKENS,
    MemoryChanges,
    find_memory_changes,
    make_changes_block,
)
from clio.memory.store.record import LtmMemories, MemoryRecord, Provenance
from clio.tokens import DEFAULT_RATIO, text_units
from tests.support.wording import mentions


def entry(id: str, text: str = "", confirmed: float = 0.0) -> MemoryRecord:
    return MemoryRecord(kind="discovery", id=id, content=text or id, updated=confirmed, confidence=0.8)


def knowledge(*entries: MemoryRecord) -> LtmMemories:
    return LtmMemories(entries=entries)


def test_new_changed_and_removed_entries_are_distinguished() -> None:
    before = knowledge(entry("same"), entry("changed"), entry("gone"), entry("unseen"))
    now = knowledge(entry("same"), entry("changed", "says more"), entry("new"))
    changes = find_memory_changes(before, now, shown={"same", "changed", "gone"})
    assert changes == MemoryChanges(
        new=(entry("new"),), changed=(entry("changed", "says more"),), gone=(entry("gone"),)
    )
    assert find_memory_changes(before, now).gone == (entry("gone"), entry("unseen"))
    block = make_changes_block(changes, {"new": "drifted", "gone": "gone"}, "ltm.json")
    assert block is not None
    assert block.fragment.text.split("\n") == [
        "New in project memory:",
        "- new [example changed since]",
        "Changed in project memory:",
        "- says more",
        "No longer in project memory:",
        "- gone",
    ]
    assert block.fragment.name == "knowledge_news"
    assert mentions(block.fragment.reason, "3 of 3 changes")
    assert [item.entry.id for item in block.items] == ["new", "changed", "gone"]


def test_a_confirmation_alone_is_no_change() -> None:
    first = entry("d-1")
    again = structs.replace(first, updated=9.0, times=2, confidence=1.0, provenance=Provenance())
    changes = find_memory_changes(knowledge(first), knowledge(again))
    assert changes == MemoryChanges()
    assert make_changes_block(changes, {}, "ltm.json") is None


def test_expired_entries_are_kept_longest_then_the_newest() -> None:
    new = tuple(entry(f"d-{number}", f"fact {number} " + "x" * 90, confirmed=number) for number in range(9))
    block = make_changes_block(MemoryChanges(new=new, gone=(entry("old", "old " + "x" * 90),)), {}, "ltm.json", 120)
    assert block is not None
    assert [item.entry.id for item in block.items] == ["d-8", "d-7", "old"]
    assert block.left_out == 7
    assert mentions(block.fragment.text.split("\n")[-1], "7 more", 'memory_operations(operation="recall"')


texts = st.text(min_size=1, max_size=400)


@given(st.lists(texts, max_size=60), st.lists(texts, max_size=20), st.integers(0, NEWS_CAP_TOKENS))
def test_the_cap_is_respected_and_every_change_is_counted(new: list[str], gone: list[str], cap_tokens: int) -> None:
    changes = MemoryChanges(
        new=tuple(entry(f"n-{number}", text) for number, text in enumerate(new)),
        gone=tuple(entry(f"g-{number}", text) for number, text in enumerate(gone)),
    )
    block = make_changes_block(changes, {}, "ltm.json", cap_tokens)
    if block is None:
        return
    assert text_units(block.fragment.text) <= cap_tokens * DEFAULT_RATIO
    assert len(block.items) + block.left_out == len(new) + len(gone)
    assert sum(line.startswith("- ") for line in block.fragment.text.split("\n")) == len(block.items)
