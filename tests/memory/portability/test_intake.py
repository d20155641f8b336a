"""Import of a bundle: everything is imported, nothing here is lost, nothing gains trust."""

from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from clio.errors import NewerDocument, UserError
from clio.memory.portability.import_bundle import ImportCounts, ImportSetup, merge_bundle
from clio.memory.portability.memory_files import (
    Bundle,
    MemoriesPart,
    RecordsPart,
    decode_bundle,
    encode_bundle,
    make_bundle,
)
from clio.memory.store.change_log import undo_last
from clio.memory.store.record import TYPED_KINDS, AssertedBy, Kind, MemoryDraft, MemoryRecord, Note, Provenance
from clio.memory.store.typed_store import Scope
from tests.memory.portability.home_support import BY_MODEL, BY_USER, NOW, MemoryHome, tree

MARK = "quokka"
DAY = 86_400.0


@pytest.fixture
def here(tmp_path: Path) -> MemoryHome:
    return MemoryHome(tmp_path / "here")


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    there = MemoryHome(tmp_path / "there")
    there.fill(MARK)
    return make_bundle(there.places, redact=str, now=NOW)


def take(
    home: MemoryHome, bundle: Bundle, *, scope: Scope | None = None, dry_run: bool = False, by: Provenance = BY_MODEL
) -> tuple[ImportCounts, ...]:
    setup = ImportSetup(paths=home.places, logs=home.logs, by=by, now=home.now, redact=str, dry_run=dry_run)
    return merge_bundle(setup, bundle, name="all.json", scope=scope)


def of(*records: MemoryRecord) -> Bundle:
    """Return a bundle of these memories of the project."""
    return Bundle(memories=MemoriesPart(project=RecordsPart(records=records)))


def record(
    content: str,
    *,
    id: str = "01890000-0000-7000-8000-000000000001",
    updated: float = NOW,
    by: AssertedBy = "model",
    type: Kind = "fact",
    score: float | None = None,
) -> MemoryRecord:
    return MemoryRecord(
        id=id,
        kind=type,
        content=content,
        created=NOW - 9 * DAY,
        updated=updated,
        accessed=updated,
        score=score,
        provenance=Provenance(asserted_by=by),
    )


def live_contents(home: MemoryHome) -> list[str]:
    return sorted(one.content for one in home.memories.project.records())


def changes(taken: tuple[ImportCounts, ...]) -> int:
    return sum(one.changes for one in taken)


def test_everything_exported_is_imported_elsewhere(here: MemoryHome, bundle: Bundle) -> None:
    assert changes(take(here, bundle)) > 0
    there = make_bundle(here.places, redact=str, now=NOW)
    assert there.head.counts == bundle.head.counts | {"notes": 1}  # the state of work is not imported
    assert there.scenarios == bundle.scenarios
    assert there.styles == bundle.styles
    assert there.feedback == bundle.feedback
    assert there.memories and bundle.memories
    ids = [one.id for one in bundle.memories.project.records]
    assert [one.id for one in there.memories.project.records] == ids
    assert here.memories.history(ids[-1])[0].record.content == f"the {MARK} listens on 8080"


def test_importing_again_changes_no_byte(here: MemoryHome, bundle: Bundle) -> None:
    take(here, bundle)
    before = tree(here.top)
    assert changes(take(here, bundle)) == 0
    assert tree(here.top) == before


def test_a_dry_run_counts_and_writes_nothing(here: MemoryHome, bundle: Bundle) -> None:
    before = tree(here.top)
    counted = take(here, bundle, dry_run=True)
    assert tree(here.top) == before
    assert counted == take(here, bundle)


def test_an_import_is_undone_as_one_change(here: MemoryHome, bundle: Bundle) -> None:
    here.memories.add(MemoryDraft(content="mine alone", kind="fact"), provenance=BY_USER)
    take(here, bundle)
    assert undo_last(here.logs, here.memories.revert).startswith("Undone: the import of all.json")
    assert here.live_texts() == {"mine alone"}
    assert here.notes.newest_first() == ()


@pytest.mark.parametrize("scope", ["project", "user"])
def test_one_scope_can_be_imported_without_the_other(here: MemoryHome, bundle: Bundle, scope: Scope) -> None:
    take(here, bundle, scope=scope)
    project, home = tree(here.places.project), tree(here.places.home)
    assert (bool(project), bool(home)) == (scope == "project", scope == "user")


def test_an_import_gains_no_trust(here: MemoryHome, bundle: Bundle) -> None:
    take(here, bundle)
    everything = make_bundle(here.places, redact=str, now=NOW)
    assert everything.memories and everything.knowledge
    for part in (everything.memories.project, everything.memories.user):
        assert {one.provenance and one.provenance.asserted_by for one in part.records} == {"model"}
        assert all(b'"asserted_by":"user"' not in bytes(line) for line in part.archive)
    assert b'"user"' not in bytes(everything.knowledge.ltm)
    kept = [kept.entry["provenance"] for kept in everything.knowledge.archive]
    kept += [ending.entry["provenance"] for ending in everything.knowledge.history]
    assert {one["asserted_by"] for one in kept} == {"model"}


def test_text_of_a_tool_stays_text_of_a_tool(here: MemoryHome) -> None:
    take(here, of(record("the log says 5 workers", by="tool")))
    [one] = here.memories.project.records()
    assert one.provenance and one.provenance.asserted_by == "tool"


def test_the_newer_version_of_a_memory_wins(here: MemoryHome) -> None:
    take(here, of(record("deploys take 5 minutes")))
    assert changes(take(here, of(record("deploys take 4 minutes", updated=NOW - DAY)))) == 0
    assert live_contents(here) == ["deploys take 5 minutes"]
    here.now = NOW + 2 * DAY
    assert changes(take(here, of(record("deploys take 6 minutes", updated=NOW + DAY)))) == 1
    assert live_contents(here) == ["deploys take 6 minutes"]
    assert "deploys take 5 minutes" in [version.record.content for version in here.memories.versions(TYPED_KINDS)]


def test_a_statement_of_the_user_here_is_never_overwritten(here: MemoryHome) -> None:
    mine = here.memories.add(MemoryDraft(content="the API listens on 8080", kind="fact"), provenance=BY_USER).record
    here.now = NOW + 9 * DAY
    same_id = record("the API listens on 9999", id=mine.id, updated=NOW + 8 * DAY, by="user")
    other_id = record("the API listens on 9998", updated=NOW + 8 * DAY, by="user")
    assert [one.kept for one in take(here, of(same_id, other_id))] == [2]
    assert live_contents(here) == ["the API listens on 8080"]
    assert [one.record.content for one in here.memories.history(mine.id) if one.record.id != mine.id] == [
        "the API listens on 9998"
    ]


def test_a_newer_statement_of_the_same_rank_replaces_the_older(here: MemoryHome) -> None:
    here.memories.add(MemoryDraft(content="the API listens on 8080", kind="fact"), provenance=BY_MODEL)
    here.now = NOW + 9 * DAY
    take(here, of(record("the API listens on 8081", updated=NOW + DAY)))
    assert live_contents(here) == ["the API listens on 8081"]


def test_the_same_text_is_recognized_whatever_its_id(here: MemoryHome) -> None:
    here.memories.add(MemoryDraft(content="The API listens on 8080.", kind="fact"), provenance=BY_USER)
    [result] = take(here, of(record("the API listens on  8080")))
    assert (result.new, result.known) == (0, 1)


def test_a_rule_of_another_user_does_not_contradict_mine(here: MemoryHome) -> None:
    here.preferences.add("never use tabs", score=0.0, explicit=True, provenance=BY_USER)
    theirs = record("always use tabs", type="preference", score=10.0, updated=NOW + DAY, by="user")
    here.now = NOW + 2 * DAY
    take(here, Bundle(memories=MemoriesPart(user=RecordsPart(records=(theirs,)))))
    assert [one.content for one in here.memories.user.records()] == ["never use tabs"]


def test_a_memory_forgotten_here_stays_forgotten(here: MemoryHome) -> None:
    bundle = of(record("deploys take 5 minutes"))
    take(here, bundle)
    here.memories.forget("01890000")
    [result] = take(here, bundle)
    assert (result.forgotten, live_contents(here)) == (1, [])


def test_a_note_newer_here_is_kept(here: MemoryHome) -> None:
    here.notes.store("plan", "ours")
    older, newer = (Note(key="plan", content=text, timestamp=NOW + at) for text, at in (("old", -DAY), ("new", DAY)))
    assert [one.kept for one in take(here, Bundle(notes=(older,)))] == [1]
    here.now = NOW + 2 * DAY
    assert [one.changed for one in take(here, Bundle(notes=(newer,)))] == [1]
    assert here.notes.newest_first() == (newer,)


def test_future_times_and_out_of_range_numbers_are_clamped(here: MemoryHome) -> None:
    strange = structs.replace(
        record("from afar", updated=NOW + 999 * DAY), confidence=7.0, importance=9.0, access_count=-5, version=-1
    )
    take(here, of(strange, record("   ", id="01890000-0000-7000-8000-000000000002")))
    [one] = here.memories.project.records()
    assert (one.updated, one.confidence, one.importance, one.access_count, one.version) == (NOW, 1.0, 1.0, 0, 1)


def test_no_style_file_is_written_outside_its_folder(here: MemoryHome, bundle: Bundle) -> None:
    assert bundle.styles
    names = ("../evil.md", "/tmp/evil.md", "a/b.md", "plain.txt", ".hidden.md", "ok.md")
    styles = structs.replace(bundle.styles, user=dict.fromkeys(names, "Be kind."), project={})
    take(here, Bundle(styles=styles))
    assert [path.name for path in here.places.own_styles("user").iterdir()] == ["ok.md"]
    assert not (here.places.home / "evil.md").exists()


def test_a_bundle_of_a_newer_version_is_refused(here: MemoryHome, bundle: Bundle) -> None:
    newer = msgspec.json.decode(encode_bundle(bundle)) | {"version": 2}
    with pytest.raises(NewerDocument, match="update clio"):
        decode_bundle(msgspec.json.encode(newer), Path("all.json"))


@pytest.mark.parametrize("place", ["knowledge", "memories", "notes"])
def test_a_damaged_bundle_is_refused_completely(bundle: Bundle, place: str) -> None:
    damaged = msgspec.json.decode(encode_bundle(bundle)) | {place: 7}
    with pytest.raises(UserError, match="is damaged"):
        decode_bundle(msgspec.json.encode(damaged), Path("all.json"))
    with pytest.raises(UserError, match="is damaged"):
        decode_bundle(encode_bundle(bundle)[:-200], Path("all.json"))


def test_errors_inside_are_found_before_anything_changes(here: MemoryHome, bundle: Bundle) -> None:
    assert bundle.knowledge
    bad = structs.replace(bundle.knowledge, ltm=msgspec.Raw(b'{"patterns": {"discoveries": 3}}'))
    before = tree(here.top)
    with pytest.raises(UserError, match=r"not an ltm\.json"):
        take(here, structs.replace(bundle, knowledge=bad))
    assert tree(here.top) == before
