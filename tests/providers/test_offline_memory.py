"""How the offline provider reads results of memory_operations."""

from clio.memory.transcripts.session_text import Recall, RecalledPassage, SessionHit, Signals
from clio.messages import ToolMessage
from clio.providers.offline import (
    Lookup,
    LookupPlan,
    LookupResult,
    compose_answer,
    is_empty_result,
    make_forget_lookup,
    plan_further_lookups,
    plan_lookups,
)
from clio.text.translation import choose_language, set_catalog, tr
from clio.tools.session_answers import render_recall
from tests.support.wording import mentions


def found(operation: str, text: str, *, summary: str = "1 found", ok: bool = True) -> LookupResult:
    lookup = Lookup(tool="memory_operations", arguments={"operation": operation})
    return LookupResult(lookup=lookup, result=ToolMessage(tool_call_id="1", content=text, summary=summary, ok=ok))


def answer(todo: LookupPlan, *items: LookupResult) -> str:
    return compose_answer(todo, [items], introduce=False)


def test_an_earlier_statement_is_quoted_with_its_session() -> None:
    said = [("user", "we decided that caching lives in one small module"), ("tool", "caching caching caching")]
    passages = tuple(
        RecalledPassage(
            session_id="s",
            session_name="perf (old)",
            message_id=f"m-{role}",
            role=role,
            created=0.0,
            snippet=words,
            score=1.0,
            signals=Signals(keywords=1.0),
        )
        for role, words in said
    )
    hit = SessionHit(session_id="s", session_name="perf (old)", updated=0.0, score=1.0, passages=passages)
    output = render_recall(Recall(sessions=(hit,)))
    text = answer(
        plan_lookups("what did we decide about caching?"), found("search_sessions", output.text, summary=output.summary)
    )
    assert text == "**Earlier sessions**\n\n- undated, *perf (old)*: we decided that caching lives in one small module"


def test_a_short_statement_is_quoted_and_the_same_question_asked_before_is_not() -> None:
    lines = [
        "## rewrite (2026-05-01, session 01a2b3c4)",
        "- 10:00 user, 00000001: What is the codename?",
        "- 10:05 user, 00000002: The codename is Basalt.",
    ]
    text = answer(plan_lookups("codename"), found("search_sessions", "\n".join(lines)))
    assert "Basalt" in text and "What is" not in text


def test_only_an_entry_with_every_word_is_forgotten() -> None:
    todo = plan_lookups("forget that deploys happen on Fridays")
    one = found("search", "- discovery d-3f9a12: Deploys happen on Fridays\n- discovery d-000001: deploys need a tag")
    assert plan_further_lookups(todo, [one]) == (make_forget_lookup("d-3f9a12"),)

    two = found("search", "- discovery d-3f9a12: Deploys happen on Fridays\n- rule r-0a0a0a: no Friday deploys happen")
    assert plan_further_lookups(todo, [two]) == ()
    assert "- `forget d-3f9a12`: Deploys happen on Fridays\n- `forget r-0a0a0a`" in answer(todo, two)

    note = found("search", "- note fridays: deploys happen on fridays")
    assert plan_further_lookups(todo, [note]) == ()
    assert "nothing was forgotten" in answer(todo, note)


def test_the_result_is_reported() -> None:
    todo = plan_lookups("forget d-3f9a12")
    result_text = (
        "Forgotten: d-3f9a12 (discovery): deploys happen on Fridays\nIt is in the archive; the user can restore it"
    )
    done = answer(todo, found("forget", result_text, summary="forgot d-3f9a12"))
    assert done.startswith("Moved to the archive: deploys happen on Fridays. ")
    assert mentions(done, "`/memory undo`", "`clio memory undo`") and "the user" not in done
    refused = answer(todo, found("forget", "there is no entry d-3f9a12", summary="none", ok=False))
    assert "there is no entry d-3f9a12" in refused
    assert "memory is off" in answer(todo)


def test_remembering_again_is_a_confirmation() -> None:
    todo = plan_lookups("remember that tests run with pytest -q")
    new = found("remember", "Remembered", summary="saved as d-1 · /memory undo")
    again = found("remember", "Known already", summary="confirmed d-1")
    off = found("remember", "memory is off", summary="off", ok=False)
    assert mentions(answer(todo, new), "Saved to project memory", "tests run with pytest -q")
    assert mentions(answer(todo, again), "Already", "confirmed", "tests run with pytest -q")
    assert answer(todo, off) == "Not saved: memory is off."
    incognito = "not allowed: an incognito session saves nothing to memory; continue without it"
    refused = answer(todo, found("remember", incognito, summary="off", ok=False))
    assert refused == "Not saved: an incognito session saves nothing to memory."


def test_results_in_another_language_are_understood() -> None:
    choose_language({}, "de")
    try:
        todo = plan_lookups("remember that tests run with pytest -q")
        again = found("remember", "Known already", summary=tr("confirmed {id}", id="d-1"))
        assert again.result.summary == "d-1 bestätigt"
        assert "bestätigt" in answer(todo, again)
        nothing = found("search", "No memory matches that.", summary=tr("nothing found"))
        assert nothing.result.summary != "nothing found"
        assert is_empty_result(nothing)
    finally:
        set_catalog(None)
