"""Adapters for the vectors whose function takes numbers and texts and gives the same: one small function per kind."""

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from clio.memory.styles import feedback_signals
from clio.text import bandit, consolidate, scoring, similarity
from clio.text import embedding as rag
from clio.text.vocabulary import rough_tokens

Input = Mapping[str, Any]
Output = dict[str, Any]
Adapter = Callable[[Input], Output]

HOUR = 3600.0
DRAWS = 20_000


def aizo_weight(given: Input) -> Output:
    score, days = given["base_score"], given["days_since_last_seen"]
    half_life, floor = given["half_life_days"], given["floor"]
    return {
        "decay_coefficient": scoring.decay_coefficient(days, half_life, floor),
        "score_exponent": scoring.score_exponent(score),
        "effective_weight": scoring.effective_weight(score, days, half_life, floor),
    }


def aizo_sample(given: Input) -> Output:
    return {"effective_weight": scoring.weight_of(given["base_score"], given["decay_coefficient"])}


def aizo_smooth(given: Input) -> Output:
    first, *rest = given["scores_added_in_order"]
    score = float(first)
    for incoming in rest:
        score = scoring.smoothed(score, incoming)
    return {"base_score": score}


def aizo_bands(given: Input) -> Output:
    return {"bands": list(scoring.bands_of(given["base_score"]))}


def aizo_aliases(given: Input) -> Output:
    return {"map": {alias: scoring.band_name(alias) for alias in given["aliases"]}}


def aizo_labels(given: Input) -> Output:
    return {"labels": [scoring.label_of(score) for score in given["scores"]]}


def aizo_clamp(given: Input) -> Output:
    return {"ranges": [list(pair) for pair in scoring.ranges_of(given["types"], given["min_score"])]}


def aizo_tokens(given: Input) -> Output:
    texts = [given["item"], given["reason"], *given["keywords"]]
    return {"token_count": sum(map(rough_tokens, texts))}


def brain_session_budget(given: Input) -> Output:
    budget = scoring.session_budget(given["context_max_tokens"], given["assistant_minimum_context_tokens"])
    return {
        "budget": budget,
        "eject_at_budget": scoring.must_eject(budget, budget),
        "eject_at_budget_plus_1": scoring.must_eject(budget + 1, budget),
    }


def brain_budget(given: Input) -> Output:
    return {"brain_max_tokens": scoring.share_of_window(given["context_max_tokens"])}


def brain_eject(given: Input) -> Output:
    talk = given["conversation"]
    sizes = [turn["tokens"] for turn in talk]
    count = scoring.eject_pairs(sizes, given["preamble_tokens"], given["budget"])
    left = [turn["role"] for turn in talk[:count]]
    return {
        "ejected_pairs": [left[at : at + 2] for at in range(0, count, 2)],
        "remaining_tokens": sizes[count:],
    }


def brain_gate(given: Input) -> Output:
    found = scoring.distances(given["query"], given["items"])
    injected = scoring.gate(found, given.get("top_k", scoring.NEAREST), given.get("threshold", scoring.GATE))
    return {"distances": found, "injected": injected}


def brain_cosine(given: Input) -> Output:
    distance = scoring.distance_of(given["cosine"])
    return {"distance": distance, "squared": distance**2, "injected": scoring.gate([distance]) == [0]}


def brain_evict(given: Input) -> Output:
    overhead = given["envelope_overhead_tokens"]
    kept = scoring.evict_oldest(given["memory_tokens"], lambda entries: overhead + sum(entries), given["max_tokens"])
    return {"kept": list(kept)}


def rag_windows(given: Input) -> Output:
    return {"windows": [list(pair) for pair in rag.windows(given["length"], given["chunk"], given["overlap"])]}


def rag_gate(given: Input) -> Output:
    return {"kept": rag.near_the_best(given["distances"])}


def rag_least(given: Input) -> Output:
    return {
        "kept": [length for length in given["lengths"] if rag.is_worth_keeping(f" {'x' * length} ")],
        "default_top_k": rag.TOP_K,
    }


def ams_confidence(given: Input) -> Output:
    confidence, steps = given["start"], []
    for uses, reward in enumerate(given["rewards"]):
        confidence = bandit.confidence_after(confidence, reward, uses)
        steps.append(confidence)
    return {"confidence": steps}


def ams_confidence_once(given: Input) -> Output:
    return {"confidence": bandit.confidence_after(given["current"], given["reward"], given["usage_count"])}


def ams_epsilon(given: Input) -> Output:
    return {"epsilon": bandit.exploration_rate(given["feedback_count"])}


def ams_beta(given: Input) -> Output:
    posterior = bandit.posterior_of(given["rewards"])
    return {name: getattr(posterior, name) for name in ("alpha", "beta", "mean", "variance")}


def ams_thompson(given: Input) -> Output:
    """The exact probability, and that seeded draws agree with it."""
    one, other = (bandit.Posterior(ups=a - 1, downs=b - 1) for a, b in (given["x"], given["y"]))
    exact = bandit.win_probability(one, other)
    rng = random.Random(7)
    share = sum(one.sample(rng) > other.sample(rng) for _ in range(DRAWS)) / DRAWS
    assert abs(share - exact) < 0.015, (share, exact)
    return {"p_x_wins": exact}


def ams_vector(given: Input) -> Output:
    vector = tuple(given["start"])
    for reward in given["rewards"]:
        vector = bandit.vector_after(vector, given["skill"], reward)
    return {"vector": list(vector)}


def ams_alignment(given: Input) -> Output:
    return {"alignment": bandit.alignment(given["user"], given["skill"])}


def ams_trigger(given: Input) -> Output:
    score = bandit.trigger_score(
        intent=given["intent"],
        time=given["time"],
        sentiment=given["sentiment"],
        topic_similarity=given["topic_similarity"],
    )
    return {"score": score, "applicable": bandit.is_applicable(score)}


def ams_trigger_list(given: Input) -> Output:
    return {"intent_match": bandit.matches(given["trigger_intents"], given["context_intent"])}


def ams_trigger_absent(given: Input) -> Output:
    wanted, there = given["trigger"], given["context"]
    score = bandit.trigger_score(
        intent=bandit.matches(wanted.get("intent"), there.get("intent")),
        time=bandit.matches(wanted.get("time_of_day"), there.get("time_of_day")),
        sentiment=bandit.matches(wanted.get("sentiment"), there.get("sentiment")),
        topic_similarity=None,
    )
    return {"score": score}


def ams_trigger_any(given: Input) -> Output:
    return {"time_match": bandit.matches(given["trigger_time"], given["context_time"])}


def ams_hybrid(given: Input) -> Output:
    return {"score": bandit.hybrid_score(given["trigger"], given["thompson"], given["alignment"])}


def ams_bucket(given: Input) -> Output:
    """The bucket in two processes whose string hashes differ."""
    code = f"from clio.text.bandit import context_bucket; print(context_bucket(*{given['context']!r}))"
    found = {
        int(subprocess.check_output([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, text=True))
        for seed in ("1", "2")
    }
    assert all(0 <= bucket < bandit.BUCKETS for bucket in found)
    return {"equal": len(found) == 1, "range": [0, bandit.BUCKETS - 1]}


def ams_candidates(given: Input) -> Output:
    return {"candidates": bandit.candidates((skill["id"], skill["t"], skill["c"]) for skill in given["skills"])}


def ams_eviction(given: Input) -> Output:
    skills = {skill["id"]: (skill["type"] == "base", skill["c"], skill["last"]) for skill in given["skills"]}
    return {"order": bandit.eviction_order(skills)}


def ams_replay(given: Input) -> Output:
    priority = consolidate.replay_priority(given["importance"], given["days"], given["has_feedback"])
    return {"priority": priority, "weight_alpha_0_6": consolidate.replay_weight(priority)}


def ams_first_pick(given: Input) -> Output:
    """The exact probabilities, and that seeded draws agree with them."""
    exact = consolidate.pick_probabilities(given["priorities"])
    items = list(enumerate(given["priorities"]))
    rng = random.Random(11)
    first = [consolidate.sample_replay(items, rng, 1)[0] for _ in range(DRAWS)]
    for place, wanted in enumerate(exact):
        assert abs(first.count(place) / DRAWS - wanted) < 0.015
    return {"p_first": exact}


def ams_sample_size(given: Input) -> Output:
    items = [(place, 1.0 + place) for place in range(given["available"])]
    chosen = consolidate.sample_replay(items, random.Random(3), given["batch"])
    return {"k": len(chosen), "unique": len(set(chosen)) == len(chosen)}


def ams_reconsolidate(given: Input) -> Output:
    became = consolidate.reconsolidate(given["new"], given["existing"], given["variants"], given["max_variants"])
    return {"action": became.action, "superseded_by_set_on_old": became.action == "updated"}


def ams_variant(given: Input) -> Output:
    return {
        "deleted": consolidate.variant_expires(given["confidence"], given["age_days"], given.get("is_variant", True))
    }


def ams_retention(given: Input) -> Output:
    return {"result": consolidate.retention(given["age_days"], given["feedback"] is not None, given["archived"])}


def ams_merged_confidence(given: Input) -> Output:
    pairs = [(given[name]["confidence"], given[name]["access_count"]) for name in ("a", "b")]
    confidence, count = consolidate.merged_confidence(*pairs)
    return {"confidence": confidence, "access_count": count}


def ams_idle(given: Input) -> Output:
    return {"fires_at_sample_index": consolidate.idle_since(given["samples_60s"])}


def ams_temporal(given: Input) -> Output:
    return {"confidence": scoring.confidence_after(given["confidence"], given["days"])}


def ams_feedback(given: Input) -> Output:
    return {"categories": feedback_signals.similar_categories(given["similarities"], given["threshold"])}


def ams_feedback_texts(given: Input) -> Output:
    return {"categories": [feedback_signals.classify(text) for text in given["texts"]]}


def ams_feedback_validation(given: Input) -> Output:
    return {
        "ok": [_accepts(bandit.check_reward, reward) for reward in given["rewards"]],
        "text_ok": [_accepts(feedback_signals.check_words, "x" * length) for length in given["free_text_lengths"]],
    }


def ams_trend(given: Input) -> Output:
    found = scoring.trend_of(given["values"])
    return {name: getattr(found, name) for name in found.__struct_fields__}


def ams_shift(given: Input) -> Output:
    return {"shifted": [list(pair) for pair in scoring.shifts(given["first"], given["last"])]}


def ams_rrf(given: Input) -> Output:
    return {"scores": [scoring.rrf(ranks, given["k"]) for ranks in given["ranks"]]}


def ams_rrf_k(given: Input) -> Output:
    return {"k": [scoring.rrf_k(count) for count in given["n"]]}


def ams_bm25(given: Input) -> Output:
    return {"scores": _bm25(given, min_idf=0.0)}


def ams_bm25_min_idf(given: Input) -> Output:
    return {"scores": _bm25(given, min_idf=0.6)}


def ams_context(given: Input) -> Output:
    score = scoring.context_score(given["relevance"], given["tier"], given["hours"])
    return {"score": score, "kept": scoring.is_context_worthy(score)}


def typed_decay(given: Input) -> Output:
    kind, importance, age = given["type"], given["importance"], given["age_days"]
    return {
        "effective_importance": scoring.effective_importance(kind, importance, age),
        "pruned": scoring.is_faded(kind, importance, age),
    }


def typed_score_of(given: Input) -> Output:
    names = ("keyword_hits", "similarity", "importance", "recency")
    return {"score": scoring.recall_score(*(given[name] for name in names))}


def typed_recency(given: Input) -> Output:
    return {"recency": scoring.recency_of(given["hours_since_access"] * HOUR)}


def typed_empty(given: Input) -> Output:
    recency = scoring.recency_of(given["hours_since_access"] * HOUR)
    return {"score": scoring.load_score(given["importance"], recency)}


def typed_plural(given: Input) -> Output:
    content = similarity.tokens_of(given["content"])
    return {
        "hits": [scoring.keyword_hits(similarity.words_of(query), content) for query in given["queries"]],
    }


def typed_minhash(given: Input) -> Output:
    """The largest error over ten-word sets of these overlaps."""
    worst = 0.0
    for wanted in given["true"]:
        shared = round(2 * 10 * wanted / (1 + wanted))
        for trial in range(50):
            words = [f"w{trial}x{place}" for place in range(20 - shared)]
            one, other = words[:10], words[10 - shared :]
            exact = similarity.jaccard(one, other)
            assert abs(exact - wanted) < 0.001
            worst = max(worst, abs(similarity.estimate(similarity.signature(one), similarity.signature(other)) - exact))
    assert similarity.estimate(similarity.signature(["a"]), similarity.signature(["a"])) == 1.0
    return {"max_abs_error": worst}


def _bm25(given: Input, min_idf: float) -> list[float]:
    documents = [text.split() for text in given["docs"]]
    return scoring.bm25(documents, given["query"].split(), min_idf=given.get("min_idf", min_idf))


def _accepts(check: Callable[[Any], object], value: object) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True


ADAPTERS: dict[str, Adapter] = {
    "aizo.weight": aizo_weight,
    "aizo.readme_example_is_stale": aizo_sample,
    "aizo.smooth": aizo_smooth,
    "aizo.bands": aizo_bands,
    "aizo.band_aliases": aizo_aliases,
    "aizo.score_labels": aizo_labels,
    "aizo.min_score_clamps_band": aizo_clamp,
    "aizo.tokens": aizo_tokens,
    "awful_aj.budget": brain_session_budget,
    "awful_aj.brain": brain_budget,
    "awful_aj.eject": brain_eject,
    "awful_aj.gate_unit_vectors": brain_gate,
    "awful_aj.gate_top_of_four_close": brain_gate,
    "awful_aj.gate_boundary_excluded": brain_cosine,
    "awful_aj.cos": brain_cosine,
    "awful_aj.brain_2": brain_evict,
    "awful_aj.rag": rag_windows,
    "awful_aj.rag_2": rag_gate,
    "awful_aj.rag_min_chunk": rag_least,
    "ams.confidence": ams_confidence,
    "ams.confidence_established": ams_confidence_once,
    "ams.confidence_floor": ams_confidence_once,
    "ams.epsilon": ams_epsilon,
    "ams.beta": ams_beta,
    "ams.thompson": ams_thompson,
    "ams.prefvec": ams_vector,
    "ams.alignment": ams_alignment,
    "ams.trigger": ams_trigger,
    "ams.trigger_list_membership": ams_trigger_list,
    "ams.trigger_absent_is_no_match": ams_trigger_absent,
    "ams.trigger_any_wildcard": ams_trigger_any,
    "ams.hybrid": ams_hybrid,
    "ams.bucket_stable": ams_bucket,
    "ams.skill_applicable_threshold": ams_candidates,
    "ams.eviction_order": ams_eviction,
    "ams.replay": ams_replay,
    "ams.replay_first_pick_probability": ams_first_pick,
    "ams.replay_sample_size": ams_sample_size,
    "ams.reconsolidate": ams_reconsolidate,
    "ams.variant": ams_variant,
    "ams.retention": ams_retention,
    "ams.merge_weighted_confidence": ams_merged_confidence,
    "ams.idle_consolidation": ams_idle,
    "ams.temporal": ams_temporal,
    "ams.feedback": ams_feedback,
    "ams.feedback_examples": ams_feedback_texts,
    "ams.feedback_validation": ams_feedback_validation,
    "ams.trend_increasing": ams_trend,
    "ams.shift_detect": ams_shift,
    "ams.rrf": ams_rrf,
    "ams.rrf_adaptive_k": ams_rrf_k,
    "ams.bm": ams_bm25,
    "ams.bm_min_idf": ams_bm25_min_idf,
    "ams.context": ams_context,
    "scriptling.decay": typed_decay,
    "scriptling.decay_note_exact_d": typed_decay,
    "scriptling.score": typed_score_of,
    "scriptling.recency": typed_recency,
    "scriptling.empty": typed_empty,
    "scriptling.plural_hit": typed_plural,
    "scriptling.minhash_estimate": typed_minhash,
}
