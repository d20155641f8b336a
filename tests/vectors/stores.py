"""Adapters for test vectors about what a store saves, ranks, merges and forgets.

Each works on real files in a temporary folder, with a clock that it sets itself.
"""

import asyncio
import hashlib
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clio.context.request_builder import ContextBuilder, Prefix
from clio.errors import UserError
from clio.memory.preferences.preferences import Fading, Preferences, context_block
from clio.memory.preferences.task_types import TaskTypes, belongs
from clio.memory.retrieval.turn_memory import frame_seed_question, make_seed_message, make_seed_preamble
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from clio.memory.vectors.semantic_index import ArchivedTurns
from clio.memory.vectors.vector_store import VectorItem, VectorStore
from clio.messages import AssistantMessage, Fragment, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore
from clio.text.bandit import Arm, choose_arm
from clio.text.embedding import HashedEmbedder
from clio.text.scoring import DEFAULT_SCORE
from clio.text.similarity import compute_jaccard, extract_distinctive_words
from clio.tokens import TokenEstimator
from tests.memory.store.typed_support import recall
from tests.support.clock import Clock
from tests.vectors.pure import Adapter, Input, Output, posterior_after

DAY = 86_400.0
HOUR = 3_600.0
NOW = 1_800_000_000.0


@contextmanager
def a_store() -> Iterator[tuple[TypedStore, Clock]]:
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock(NOW)
        yield TypedStore(Path(folder, "memories.json"), clock=clock), clock


@contextmanager
def a_profile() -> Iterator[tuple[Preferences, Clock]]:
    with a_store() as (store, clock):
        yield Preferences(store, TaskTypes(), clock=clock), clock


def liked(profile: Preferences, clock: Clock, item: str, score: float, age_days: float = 0.0, **more: Any) -> str:
    """Add a preference that was last seen `age_days` ago; return its id."""
    clock.now = NOW - age_days * DAY
    id = profile.add(item, score=score, **more).record.id
    clock.now = NOW
    return id


# Preferences


def explicit_rule(given: Input) -> Output:
    with a_profile() as (profile, _):
        profile.add("x", score=given["existing"])
        record = profile.add("x", score=given["incoming"], explicit=given["explicit_rule"]).record
        band = "taboo" if record in profile.hard_limits() else "other"
        assert record.score is not None and record.score <= 1.5
        return {"must_be_in_band": band, "base_score_max": 1.5}


def min_score_drops_taboo(given: Input) -> Output:
    with a_profile() as (profile, clock):
        for number, score in enumerate(given["entries"]):
            liked(profile, clock, f"item {number}", score)
        return {"returned": [one.score for one in profile.recall(types=given["types"], min_score=given["min_score"])]}


def sop_hides_taboos(given: Input) -> Output:
    with a_profile() as (profile, clock):
        for number, score in enumerate(given["scores"]):
            liked(profile, clock, f"item {number}", score)
        literal = profile.recall(types=given["types"], min_score=given["min_score"])
        return {
            "literal_result": [one.score for one in literal],
            "hard_limits_must_still_reach_prompt": [record.score for record in profile.hard_limits()],
        }


def top_order(given: Input) -> Output:
    with a_profile() as (profile, clock):
        for entry in given["entries"]:
            liked(profile, clock, entry["item"], entry["base_score"], entry["age_days"])
        top = profile.top(len(given["entries"]))
        return {
            "order": [one.record.content for one in top],
            "weights": {one.record.content: one.weight for one in top},
        }


def taboo_never_in_top(given: Input) -> Output:
    with a_profile() as (profile, clock):
        for number in range(given["liked"]):
            liked(profile, clock, f"liked {number}", 9.0)
        for number in range(given["taboo"]):
            liked(profile, clock, f"never {number}", 0.5)
        top = profile.top(given["n"])
        return {
            "taboo_in_top": any(one.score <= 1.5 for one in top),
            "must_be_injected_anyway": len(profile.hard_limits()) == given["taboo"],
        }


def cooldown(given: Input) -> Output:
    with a_profile() as (profile, clock):
        id = liked(profile, clock, "x", 9.0, given["hours_since_last_seen"] / 24)
        [(_, status)] = profile.apply([id])
        return {"status": status, "touch_count_delta": profile.find(id).touch_count}


def apply_dedupes(given: Input) -> Output:
    """The first number is the id of a preference seen 13 hours ago; the others are unknown ids."""
    with a_profile() as (profile, clock):
        known = given["ids"][0]
        names = {known: liked(profile, clock, "x", 9.0, 13 / 24)}
        back = {id: number for number, id in names.items()}
        results = profile.apply([names.get(number, str(number)) for number in given["ids"]])
        return {"results": [[back.get(id) or int(id), status] for id, status in results]}


def recall_is_read_only(given: Input) -> Output:
    with a_profile() as (profile, clock):
        id = liked(profile, clock, "x", 9.0, 5)
        before = profile.find(id).seen
        profile.recall("x", touch="--touch" in given["flags"])
        return {"last_seen_changed": profile.find(id).seen != before}


def preference_validation(given: Input) -> Output:
    with a_profile() as (profile, clock):
        id = liked(profile, clock, "x", 9.0)
        return {
            "add_11": outcome(lambda: profile.add("y", score=11)),
            "add_neg1": outcome(lambda: profile.add("y", score=-1)),
            "half_life_0": outcome(lambda: Fading(half_life_days=0)),
            "floor_1_0": outcome(lambda: Fading(floor=1.0)),
            "floor_1_5": outcome(lambda: Fading(floor=1.5)),
            "floor_neg": outcome(lambda: Fading(floor=-0.1)),
            "floor_0_05": outcome(lambda: Fading(floor=0.05)),
            "default_score": profile.add("z").record.score or DEFAULT_SCORE,
            "update_nothing": outcome(lambda: profile.update(id)),
            "unknown_band": outcome(lambda: profile.recall(types=["nonsense"])),
        }


def query_is_substring(given: Input) -> Output:
    with a_profile() as (profile, _):
        ids = [
            profile.add(entry["item"], entry["reason"], keywords=entry["keywords"]).record.id
            for entry in given["entries"]
        ]
        return {
            "hits": {
                query: sorted(ids.index(one.record.id) for one in profile.recall(query)) for query in given["queries"]
            }
        }


def scenario_aliases(given: Input) -> Output:
    task_types = TaskTypes()
    return {"resolved": [task_types.resolve(name) for name in given["names"]]}


def backfill(given: Input) -> Output:
    [(name, keywords)] = given["scenario_keywords"].items()
    return {"tagged": [belongs(name, keywords, words) for words in given["keyword_sets"]]}


def block(given: Input) -> Output:
    with a_profile() as (profile, clock):
        for item, score in given["entries"]:
            liked(profile, clock, item, score, given["age_days"])
        return {"lines": context_block(profile.all()).splitlines()}


def case_insensitive(given: Input) -> Output:
    with a_profile() as (profile, _):
        profile.add("Dark Mode", score=8)
        record = profile.add("dark mode", score=6).record
        return {"rows": len(profile.all()), "base_score": record.score}


def tags_stay(given: Input) -> Output:
    with a_profile() as (profile, _):
        profile.add("x", keywords=["a", "b"], scenarios=["coding"])
        record = profile.add("x").record
        return {"keywords": list(record.keywords), "scenarios": list(record.scenarios)}


# Typed memories


def irrelevant(given: Input) -> Output:
    with a_store() as (store, _):
        for content in given["memories"]:
            store.remember(content.partition(" (importance")[0], "fact", 1.0)
        return {"returned": [hit.record.content for hit in recall(store, given["query"])]}


def ranking(given: Input) -> Output:
    with a_store() as (store, _):
        for content, importance in given["memories"]:
            store.remember(content, "fact", importance)
        return {"order": [hit.record.content for hit in recall(store, given["query"])]}


def limits(given: Input) -> Output:
    with a_store() as (store, _):
        for number in range(given["stored"]):
            store.remember(f"entry{number} alpha{number} beta{number}", "fact")
        return {
            "limit0": len(recall(store, "", 0, "fact")),
            "limit_minus1": len(recall(store, "", -1, "fact")),
            "default": len(recall(store, "", type="fact")),
        }


def context_load(given: Input) -> Output:
    with a_store() as (store, _):
        for number in range(given["preferences"]):
            store.remember(f"liking{number} gamma{number}", "preference")
        for number in range(given["others"]):
            store.remember(f"entry{number} alpha{number} beta{number}", "fact")
        found = recall(store, limit=given["limit"])
        assert len({hit.record.id for hit in found}) == len(found)
        return {
            "returned": len(found),
            "preferences_returned": sum(hit.record.kind == "preference" for hit in found),
        }


def clamp(given: Input) -> Output:
    with a_store() as (store, _):
        plain = store.remember("plain words").record
        return {
            "high": store.remember("high words", importance=2.0).record.importance,
            "low": store.remember("low ones", importance=-1).record.importance,
            "type": plain.kind,
            "importance": plain.importance,
        }


DECISIONS = {"merged": "merge", "kept_both": "ask_llm_or_new", "new": "new", "superseded": "supersede"}


def dedup(given: Input) -> Output:
    with a_store() as (store, _):
        store.remember(given["existing"], given["type"])
        action = store.remember(given["new"], given["type"]).action
        return {
            "true_jaccard": compute_jaccard(
                extract_distinctive_words(given["existing"]), extract_distinctive_words(given["new"])
            ),
            "decision": DECISIONS[action],
            "count": store.count(),
        }


def never_overwritten(given: Input) -> Output:
    with a_store() as (store, _):
        store.remember(given["existing"], given["type"])
        record = store.remember(given["new"], given["type"]).record
        contents = {one.content for one in (*store.history(record.id), *store.records())}
        return {
            "old_value_retrievable": {given["existing"], given["new"]} <= contents,
            "jaccard_all_tokens": compute_jaccard(
                extract_distinctive_words(given["existing"]), extract_distinctive_words(given["new"])
            ),
        }


def non_ascii(given: Input) -> Output:
    with a_store() as (store, _):
        for content in given["contents"]:
            store.remember(content, given["type"])
        return {"count": store.count()}


def merge_importance(given: Input) -> Output:
    with a_store() as (store, _):
        records = [store.remember("the same words", "fact", value).record for value in given["importances"]]
        return {"importance": records[-1].importance, "same_id": len({record.id for record in records}) == 1}


def dedup_per_type(given: Input) -> Output:
    with a_store() as (store, _):
        store.remember("the same words", "fact")
        store.remember("the same words", "preference")
        return {"count": store.count()}


ALIKE = ("the office wants short commit messages", "the office wants short commit messages please always")


def model_merges(given: Input) -> Output:
    with a_store() as (store, _):
        store.remember(ALIKE[0], "fact", given["old"])
        answer = json.dumps(given["llm"])
        record = store.remember(ALIKE[1], "fact", given["new"], decide=lambda prompt: answer).record
        return {"content": record.content, "importance": record.importance, "count": store.count()}


def model_keeps(given: Input) -> Output:
    counts: set[int] = set()
    for answer in given["answers"]:
        with a_store() as (store, _):
            store.remember(ALIKE[0], "fact")
            store.remember(ALIKE[1], "fact", decide=lambda prompt, answer=answer: answer)
            counts.add(store.count())
    [count] = counts
    return {"count": count}


def model_answer(given: Input) -> Output:
    with a_store() as (store, _):
        store.remember(ALIKE[0], "fact")
        record = store.remember(ALIKE[1], "fact", decide=lambda prompt: given["answer"]).record
        return {"content": record.content, "importance": record.importance}


def forget(given: Input) -> Output:
    with a_store() as (store, _):
        id = store.remember("something").record.id
        results = {"first": store.forget(id), "second": store.forget(id)}
        assert store.count() == 0
        return results


def compact_counts(given: Input) -> Output:
    """`note_08` stands for notes of importance 0.8, `pref_09` for preferences of 0.9."""
    kinds = {"note": "note", "pref": "preference", "fact": "fact", "event": "event"}
    with a_store() as (store, clock):
        for name, ages in given["ages_days"].items():
            kind, _, importance = name.partition("_")
            for age in ages:
                clock.now = NOW - age * DAY
                store.remember(f"{name} aged{age} word{age} other{age}", kinds[kind], int(importance) / 10)
        clock.now = NOW
        compacted = store.compact()
        return {"removed": compacted.removed, "remaining": compacted.remaining}


def recall_protects(given: Input) -> Output:
    with a_store() as (store, clock):
        store.remember("the gate code is under the mat", "note", 0.8)
        clock.now = NOW + 20 * DAY
        recall(store, "gate code")
        clock.now = NOW + 40 * DAY
        store.compact()
        return {"survives": store.count() == 1}


# Adaptive memory


def temporal_metadata(given: Input) -> Output:
    """Return the fields of a record under the names that the document gives them."""
    with a_store() as (store, _):
        record: MemoryRecord | None = None
        for operation in given["ops"]:
            if operation == "create":
                record = store.remember("words of a memory", "fact").record
                continue
            assert record is not None
            if operation == "access":
                [hit] = recall(store, "words memory")
                record = hit.record
            elif operation == "update":
                record = store.update(record.id, content=f"{record.content} again")
            elif operation == "supersede":
                store.remember("words of a memory 2", "fact")
                [record] = [one for one in store.records(superseded=True) if one.id == record.id]
            else:
                pytest.fail(f"unknown operation {operation!r}")
        assert record is not None
        fields = {
            "created_at": record.created,
            "last_updated": record.updated,
            "last_accessed": record.accessed,
            "access_count": record.access_count,
            "confidence": record.confidence,
            "version": record.version,
            "superseded_by": record.superseded_by,
        }
        return fields | {"keys": list(fields)}


# Recalled turns and their envelope


@contextmanager
def a_project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def archived_turns(project: Path) -> ArchivedTurns:
    return ArchivedTurns(VectorStore(project / "vectors", HashedEmbedder()))


def trimmed_session(project: Path, turns: list[tuple[str, str]]) -> Session:
    """Return a saved session whose turns have all been trimmed from its context."""
    session = SessionStore(project / ".clio" / "sessions").new(project)
    for role, text in turns:
        session.append(UserMessage(content=text) if role == "user" else AssistantMessage(content=text))
    ids = tuple(message.id for message in session.messages)
    session.add_trim(Trim(handle="t1", dropped=ids, freed_tokens=1, created=NOW))
    return session


def brain_envelope(given: Input) -> Output:
    lead, brace, rest = make_seed_message(given["memories"]).partition("{")
    return {"lead": lead, "json": json.loads(brace + rest)}


def preamble_shape(given: Input) -> Output:
    brain = make_seed_message(())

    def render_preamble(documents: str | None) -> list[str]:
        found = make_seed_preamble(given["system_prompt"], (), documents)
        return [f"{role}:{'<brain>' if content == brain else content}" for role, content in found]

    return {"without_rag": render_preamble(None), "with_rag": render_preamble("<ctx>")}


def pre_post(given: Input) -> Output:
    """The session saves only the question; the text before it is saved as its context."""
    sent = frame_seed_question(given["pre"], given["question"], given["post"])
    stored = UserMessage(content=given["question"], context=given["pre"])
    return {"sent": sent, "stored": stored.content}


def sessions_isolated(given: Input) -> Output:
    """Return the document's session ids, which collide, and whether clio's groups stay separate."""
    names = given["sessions"]
    sums = [sum(hashlib.sha256(name.encode()).hexdigest().encode()) for name in names]
    with a_project() as project:
        vectors = VectorStore(project / "vectors", HashedEmbedder())
        for number, name in enumerate(names):
            vectors.put([VectorItem(id=f"{name}/1", group=name, text=f"the zebra of number {number}")])
        found = {name: {item.group for item, _ in vectors.search("zebra number", 9, groups=[name])} for name in names}
    return {"their_ids": sums, "must_be_isolated": all(found[name] == {name} for name in names)}


def role_preserved(given: Input) -> Output:
    with a_project() as project:
        texts = {label: f"{label} zebra giraffe" for _, label in given["ejected"]}
        session = trimmed_session(project, [(role, texts[label]) for role, label in given["ejected"]])
        turns = archived_turns(project)
        turns.index(session)
        found = {turn.text: turn.role for turn in turns.search("zebra giraffe", sessions=[session.id], count=9)}
        return {"roles": [found[texts[label]] for _, label in given["ejected"]]}


def survives_restart(given: Input) -> Output:
    with a_project() as project:
        session = trimmed_session(project, [("user", "the gate code is under the mat"), ("assistant", "noted")])
        archived_turns(project).index(session)
        code = (
            "import sys; from pathlib import Path; from tests.vectors.stores import archived_turns;"
            "print(len(archived_turns(Path(sys.argv[1])).search('where is the gate code', sessions=[sys.argv[2]])))"
        )
        root = Path(__file__).parents[2]
        out = subprocess.check_output([sys.executable, "-c", code, str(project), session.id], text=True, cwd=root)
        return {"recalled": int(out) > 0}


def no_reinsertion(given: Input) -> Output:
    with a_project() as project:
        pair = [("user", "the first question"), ("assistant", "the first answer")]
        session = trimmed_session(project, pair * given["overflowing_pairs"])
        for _ in range(given["asks"]):
            turns = archived_turns(project)  # as a resumed session would
            turns.index(session)
        return {"vectors": len(VectorStore(project / "vectors", HashedEmbedder()))}


def learns_end_to_end(given: Input) -> Output:
    """Feedback in one context changes the choice there, and the chosen style is in the request."""
    templates = {"concise": "Answer in a few words.", "detailed": "Explain every step."}
    arms = [
        Arm(id="concise", trigger=0.7, posterior=posterior_after([1] * given["up"])),
        Arm(id="detailed", trigger=0.7, posterior=posterior_after([-1] * given["down"])),
    ]
    rng = random.Random(5)
    chosen = [arm for _ in range(1_000) if (arm := choose_arm(arms, given["up"] + given["down"], rng)) is not None]
    share = sum(arm.id == "concise" for arm in chosen) / len(chosen)
    style = Fragment(name="style", text=templates[chosen[-1].id], source="styles", reason="chosen")

    async def fragments(text: str) -> list[Fragment]:
        return [style]

    with a_project() as project:
        builder = ContextBuilder(
            project=project,
            prefixes=[lambda: Prefix(system="S", tools=())],
            estimator=TokenEstimator(),
            turn_fragments=fragments,
        )
        context = asyncio.run(builder.make_turn_context(NOW, "hello"))
        request = builder.assemble([UserMessage(content="hello", context=context)], 1.0).request
    [message] = request.messages
    assert isinstance(message, UserMessage)
    assert share > 0.9, share
    return {"min_share": 0.9, "template_in_request": templates[chosen[-1].id] in message.context}


def outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except (UserError, ValueError):
        return "error"
    return "ok"


ADAPTERS: dict[str, Adapter] = {
    "awful_aj.brain_envelope": brain_envelope,
    "awful_aj.brain_envelope_empty": brain_envelope,
    "awful_aj.preamble_shape": preamble_shape,
    "awful_aj.pre_post_content": pre_post,
    "awful_aj.session_id_collision": sessions_isolated,
    "awful_aj.ejected_role_preserved": role_preserved,
    "awful_aj.long_term_survives_restart": survives_restart,
    "awful_aj.no_reinsertion": no_reinsertion,
    "ams.end_to_end_learning": learns_end_to_end,
    "aizo.explicit_never_must_stay_hard_limit": explicit_rule,
    "aizo.min_score_drops_taboo": min_score_drops_taboo,
    "aizo.sop_hides_taboos": sop_hides_taboos,
    "aizo.top_order": top_order,
    "aizo.taboo_never_in_top": taboo_never_in_top,
    "aizo.cooldown": cooldown,
    "aizo.apply_dedupes_ids": apply_dedupes,
    "aizo.recall_is_read_only": recall_is_read_only,
    "aizo.validation": preference_validation,
    "aizo.query_is_phrase_substring": query_is_substring,
    "aizo.scenario_aliases": scenario_aliases,
    "aizo.backfill_rule": backfill,
    "aizo.context_block": block,
    "aizo.case_insensitive_unique": case_insensitive,
    "aizo.re_add_keeps_tags": tags_stay,
    "ams.temporal_metadata": temporal_metadata,
    "scriptling.irrelevant_excluded": irrelevant,
    "scriptling.rank_deploy_pipeline": ranking,
    "scriptling.limits": limits,
    "scriptling.context_load": context_load,
    "scriptling.clamp": clamp,
    "scriptling.dedup": dedup,
    "scriptling.must": never_overwritten,
    "scriptling.non_ascii": non_ascii,
    "scriptling.merge_importance": merge_importance,
    "scriptling.dedup_is_per_type": dedup_per_type,
    "scriptling.llm_merge": model_merges,
    "scriptling.llm_keep_or_garbage": model_keeps,
    "scriptling.llm_answer_cleaning": model_answer,
    "scriptling.forget": forget,
    "scriptling.compact_counts": compact_counts,
    "scriptling.recall_protects": recall_protects,
}
