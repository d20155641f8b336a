"""The account of the last turn is saved next to the caches, and a damaged one is ignored."""

import json
from pathlib import Path

import pytest

from clio.memory.retrieval.prompt_prefix import Injected, InjectedItem
from clio.memory.retrieval.scoring import WhyItem, WhyReport, report_project_memory
from clio.memory.store.record import MemoryRecord
from clio.messages import Fragment
from clio.storage.documents import load_cached, save_cached

REPORT = WhyReport(
    session="s",
    at=5.0,
    question="which port",
    scenario="coding",
    items=(
        WhyItem(source="memory", id="m", text="port 8443", reason="matches port", signals={"hits": 1.0}, age_s=3.0),
        WhyItem(source="turn", id="t", text="x", reason="close in meaning", included=False, tokens=7),
    ),
)


def test_a_saved_account_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "why.json"
    save_cached(path, REPORT)
    assert load_cached(path, WhyReport) == REPORT
    assert json.loads(path.read_bytes())["items"][1]["included"] is False


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"items": 3}', b"\xff\xfe", b'{"items": [{"source": 1}]}'])
def test_a_damaged_account_is_read_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "why.json"
    path.write_bytes(content)
    assert load_cached(path, WhyReport) is None


def test_a_missing_account_is_read_as_none(tmp_path: Path) -> None:
    assert load_cached(tmp_path / "why.json", WhyReport) is None


def test_project_knowledge_is_listed_by_entry_with_the_number_left_out() -> None:
    def given(left_out: int, *confirmed: float) -> Injected:
        items = tuple(
            InjectedItem(
                entry=MemoryRecord(id="", kind="discovery", content=f"fact {number}", confidence=0.8, updated=at),
                text="x" * 35,
                score=0.7,
            )
            for number, at in enumerate(confirmed)
        )
        fragment = Fragment(name="project_knowledge", text="…", source="ltm.json", reason="…")
        return Injected(fragment=fragment, items=items, left_out=left_out)

    dated, undated, left = report_project_memory([given(4, 40.0, 0.0)], now=100.0)
    assert (dated.text, dated.age_s, dated.tokens, dated.included) == ("fact 0", 60.0, 9, True)
    assert dated.signals == {"worth": 0.7, "confidence": 0.8}
    assert undated.age_s is None
    assert (left.count, left.included, left.text) == (4, False, "4 more memories")
    assert not list(report_project_memory([given(0)], now=1.0))
