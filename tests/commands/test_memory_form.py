"""The form of an entry in the editor, written and parsed."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clio.commands.memory.field_syntax import FormError, add_problem_line, read_form, write_form
from clio.memory.store.record import PROJECT_KINDS, MemoryRecord

TEXT = st.text(alphabet="ab:# \n\té→\"'", min_size=1, max_size=30)
ITEMS = st.lists(TEXT.map(lambda text: " ".join(text.split())).filter(bool), max_size=3).map(tuple)
ENTRIES = st.builds(
    MemoryRecord,
    kind=st.sampled_from(PROJECT_KINDS),
    id=st.just("x-1"),
    content=TEXT.filter(str.strip),
    solution=TEXT.filter(str.strip),
    impact=TEXT,
    context=TEXT,
    steps=ITEMS.filter(bool),
    examples=ITEMS,
    confidence=st.floats(0, 1),
    success_rate=st.none() | st.floats(0, 1),
)
FACT = MemoryRecord(
    kind="discovery", id="d-1", content="We deploy with make ship", confidence=0.9, examples=("Makefile", "a/b.py")
)


@given(ENTRIES)
def test_an_unchanged_form_changes_nothing(entry: MemoryRecord) -> None:
    assert read_form(write_form(entry), entry) == {}
    assert read_form(write_form(entry).replace("\n", "\r\n"), entry) == {}


@given(ENTRIES, ENTRIES)
def test_only_edited_fields_change(entry: MemoryRecord, other: MemoryRecord) -> None:
    for each in (entry, other):  # the name of a workflow without one is derived from its steps elsewhere
        assume(each.content.strip() != " → ".join(each.steps).strip())
    other = msgspec.structs.replace(other, kind=entry.kind)
    new = msgspec.structs.replace(entry, **read_form(write_form(other), entry))
    assert read_form(write_form(new), other) == {}


def test_the_form_of_a_fact() -> None:
    form = write_form(FACT)
    assert [line for line in form.splitlines() if not line.startswith("#")] == [
        "text: We deploy with make ship",
        "confidence: 0.9",
        "examples:",
        "  Makefile",
        "  a/b.py",
    ]
    edited = form.replace("make ship", "make ship,\n  on Fridays").replace("0.9", "75%").replace("  a/b.py\n", "")
    assert read_form(edited, FACT) == {
        "content": "We deploy with make ship,\non Fridays",
        "confidence": 0.75,
        "examples": ("Makefile",),
    }


def test_a_workflow_without_a_name_gets_none() -> None:
    flow = MemoryRecord(kind="workflow", id="w-1", content="lint → test", steps=("lint", "test"), confidence=0.8)
    form = write_form(flow)
    assert "name:\n" in form
    assert read_form(form.replace("  test", "  type\n  test"), flow) == {"steps": ("lint", "type", "test")}
    assert read_form(form.replace("name:", "name: check"), flow) == {"content": "check"}
    named = msgspec.structs.replace(flow, content="check")
    assert read_form(write_form(named).replace("name: check", "name:"), named) == {"content": "lint → test"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("confidence:", "confidense:", "line 4 names no field: 'confidense'; did you mean 'confidence'?"),
        ("confidence: 0.9", "confidence: 9", "line 4: confidence takes a number from 0 to 1, not '9'"),
        ("confidence: 0.9", "confidence:", "line 4: 'confidence' must not be empty"),
        ("text: We deploy with make ship", "text:", "line 3: 'text' must not be empty"),
        ("text: We deploy with make ship\n", "", "the line 'text:' is missing"),
        ("  Makefile", "Makefile", "line 6 has no colon: 'Makefile'"),
        ("examples:", "text: twice", "line 5 gives 'text' again; line 3 has it already"),
        ("text: We", "  set in\ntext: We", "line 3 is indented, but there is no field above it: 'set in'"),
    ],
)
def test_an_error_names_the_line_and_the_cause(old: str, new: str, message: str) -> None:
    form = write_form(FACT)
    assert form.count(old) == 1
    with pytest.raises(FormError) as error:
        read_form(form.replace(old, new), FACT)
    assert message in str(error.value)


def test_the_error_is_above_the_text_once() -> None:
    text = add_problem_line(add_problem_line(write_form(FACT), "first"), "second")
    assert text.startswith("# NOT SAVED: second\n# continuation lines are indented")
    assert text.splitlines()[1:] == write_form(FACT).splitlines()[1:]
    assert add_problem_line("text: x\n", "late") == "# NOT SAVED: late\ntext: x\n"
    assert read_form(text, FACT) == {}
