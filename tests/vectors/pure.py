"""Adapters for test vectors of pure functions, one small function per kind of vector."""

import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from clio.memory.styles import feedback
from clio.text import bandit, consolidate, scoring, similarity
from clio.text import embedding as rag

Input = Mapping[str, Any]
Output = dict[str, Any]
Adapter = Callable[[Input], Output]

HOUR = 3600.0
DRAWS = 20_000


def posterior_after(rewards: Iterable[int]) -> bandit.Posterior:
    """Return the posterior of a style after these rewards."""
    posterior = bandit.Posterior()
    for reward in rewards:
        posterior = posterior.add_reward(reward)
    return posterior


def win_probability(one: bandit.Posterior, other: bandit.Posterior) -> float:
    """Return the exact probability that a draw from `one` is larger, for whole numbers of ups.

    Source: Miller, "Formulas for Bayesian A/B testing".
    """

    def log_beta(a: float, b: float) -> float:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    a, b, c, d = one.alpha, one.beta, other.alpha, other.beta
    return sum(
        math.exp(log_beta(c + i, b + d) - math.log(b + i) - log_beta(1 + i, b) - log_beta(c, d))
        for i in range(round(a))
    )


def count_hits(words: Iterable[str], content: Collection[str]) -> int:
    """Count the different words that are in the content as they are or without their plural "s"."""
    return sum(word in content or scoring.strip_plural_s(word) in content for word in set(words))


def aizo_weight(given: Input) -> Output:
    score, days = given["base_score"], given["days_since_last_seen"]
    half_life, floor = given["half_life_days"], given["floor"]
    return {
        "decay_coefficient": scoring.compute_decay_coefficient(days, half_life, floor),
        "score_exponent": scoring.compute_score_exponent(score),
        "effective_weight": scoring.compute_decayed_weight(
            score, scoring.compute_decay_coefficient(days, half_life, floor)
        ),
    }


def aizo_sample(given: Input) -> Output:
    return {"effective_weight": scoring.compute_decayed_weight(given["base_score"], given["decay_coefficient"])}


def aizo_smooth(given: Input) -> Output:
    first, *rest = given["scores_added_in_order"]
    score = float(first)
    for incoming in rest:
        score = scoring.smooth_score(score, incoming)
    return {"base_score": score}


def aizo_bands(given: Input) -> Output:
    return {"bands": list(scoring.find_score_bands(given["base_score"]))}


def aizo_aliases(given: Input) -> Output:
    return {"map": {alias: scoring.resolve_band_name(alias) for alias in given["aliases"]}}


def aizo_labels(given: Input) -> Output:
    return {"labels": [scoring.describe_score(score) for score in given["scores"]]}


def aizo_clamp(given: Input) -> Output:
    return {"ranges": [list(pair) for pair in scoring.list_score_ranges(given["types"], given["min_score"])]}


def brain_budget(given: Input) -> Output:
    return {"brain_max_tokens": scoring.compute_recall_limit(given["context_max_tokens"])}


def brain_gate(given: Input) -> Output:
    found = scoring.compute_distances(given["query"], given["items"])
    injected = scoring.select_nearest(
        found, given.get("top_k", scoring.MAX_NEAREST), given.get("threshold", scoring.MAX_DISTANCE)
    )
    return {"distances": found, "injected": injected}


def brain_cosine(given: Input) -> Output:
    distance = math.sqrt(2.0 - 2.0 * given["cosine"])
    return {"distance": distance, "squared": distance**2, "injected": scoring.select_nearest([distance]) == [0]}


def brain_evict(given: Input) -> Output:
    overhead = given["envelope_overhead_tokens"]
    kept = scoring.drop_oldest(given["memory_tokens"], lambda entries: overhead + sum(entries), given["max_tokens"])
    return {"kept": list(kept)}


def rag_windows(given: Input) -> Output:
    return {"windows": [list(pair) for pair in rag.compute_windows(given["length"], given["chunk"], given["overlap"])]}


def rag_gate(given: Input) -> Output:
    return {"kept": rag.filter_near_best(given["distances"])}


def rag_least(given: Input) -> Output:
    return {
        "kept": [length for length in given["lengths"] if rag.is_long_enough(f" {'x' * length} ")],
        "default_top_k": rag.DEFAULT_TOP_K,
    }


def ams_confidence(given: Input) -> Output:
    confidence, steps = given["start"], []
    for uses, reward in enumerate(given["rewards"]):
        confidence = bandit.update_confidence(confidence, reward, uses)
        steps.append(confidence)
    return {"confidence": steps}


def ams_confidence_once(given: Input) -> Output:
    return {"confidence": bandit.update_confidence(given["current"], given["reward"], given["usage_count"])}


def ams_epsilon(given: Input) -> Output:
    return {"epsilon": bandit.compute_exploration_rate(given["feedback_count"])}


def ams_beta(given: Input) -> Output:
    posterior = posterior_after(given["rewards"])
    return {name: getattr(posterior, name) for name in ("alpha", "beta", "mean", "variance")}


def ams_thompson(given: Input) -> Output:
    """Return the exact probability, and check that seeded draws agree with it."""
    one, other = (bandit.Posterior(ups=a - 1, downs=b - 1) for a, b in (given["x"], given["y"]))
    exact = win_probability(one, other)
    rng = random.Random(7)
    share = sum(one.sample(rng) > other.sample(rng) for _ in range(DRAWS)) / DRAWS
    assert abs(share - exact) < 0.015, (share, exact)
    return {"p_x_wins": exact}


def ams_vector(given: Input) -> Output:
    vector = tuple(given["start"])
    for reward in given["rewards"]:
        vector = bandit.update_preference_vector(vector, given["skill"], reward)
    return {"vector": list(vector)}


def ams_alignment(given: Input) -> Output:
    return {"alignment": bandit.compute_alignment(given["user"], given["skill"])}


def ams_trigger(given: Input) -> Output:
    score = bandit.compute_trigger_score(
        intent=given["intent"],
        time=given["time"],
        sentiment=given["sentiment"],
        topic_similarity=given["topic_similarity"],
    )
    return {"score": score, "applicable": bandit.is_applicable(score)}


def ams_trigger_list(given: Input) -> Output:
    return {"intent_match": bandit.is_trigger_match(given["trigger_intents"], given["context_intent"])}


def ams_trigger_absent(given: Input) -> Output:
    wanted, there = given["trigger"], given["context"]
    score = bandit.compute_trigger_score(
        intent=bandit.is_trigger_match(wanted.get("intent"), there.get("intent")),
        time=bandit.is_trigger_match(wanted.get("time_of_day"), there.get("time_of_day")),
        sentiment=bandit.is_trigger_match(wanted.get("sentiment"), there.get("sentiment")),
        topic_similarity=None,
    )
    return {"score": score}


def ams_trigger_any(given: Input) -> Output:
    return {"time_match": bandit.is_trigger_match(given["trigger_time"], given["context_time"])}


def ams_hybrid(given: Input) -> Output:
    return {"score": bandit.compute_hybrid_score(given["trigger"], given["thompson"], given["alignment"])}


def ams_candidates(given: Input) -> Output:
    return {"candidates": bandit.select_candidates((skill["id"], skill["t"], skill["c"]) for skill in given["skills"])}


def ams_replay(given: Input) -> Output:
    priority = consolidate.compute_replay_priority(given["importance"], given["days"], given["has_feedback"])
    return {"priority": priority, "weight_alpha_0_6": consolidate.compute_replay_weight(priority)}


def ams_first_pick(given: Input) -> Output:
    """Return the exact probabilities, and check that seeded draws agree with them."""
    weights = [consolidate.compute_replay_weight(priority) for priority in given["priorities"]]
    exact = [weight / sum(weights) for weight in weights]
    items = list(enumerate(given["priorities"]))
    rng = random.Random(11)
    first = [consolidate.sample_for_replay(items, rng, 1)[0] for _ in range(DRAWS)]
    for place, wanted in enumerate(exact):
        assert abs(first.count(place) / DRAWS - wanted) < 0.015
    return {"p_first": exact}


def ams_sample_size(given: Input) -> Output:
    items = [(place, 1.0 + place) for place in range(given["available"])]
    chosen = consolidate.sample_for_replay(items, random.Random(3), given["batch"])
    return {"k": len(chosen), "unique": len(set(chosen)) == len(chosen)}


def ams_reconsolidate(given: Input) -> Output:
    became = consolidate.decide_reconsolidation(
        given["new"], given["existing"], given["variants"], given["max_variants"]
    )
    return {"action": became.action, "superseded_by_set_on_old": became.action == "updated"}


def ams_variant(given: Input) -> Output:
    return {
        "deleted": consolidate.is_variant_expired(given["confidence"], given["age_days"], given.get("is_variant", True))
    }


def ams_retention(given: Input) -> Output:
    return {"result": consolidate.decide_retention(given["age_days"], given["feedback"] is not None, given["archived"])}


def ams_temporal(given: Input) -> Output:
    return {"confidence": scoring.decay_confidence(given["confidence"], given["days"])}


def ams_feedback(given: Input) -> Output:
    return {"categories": feedback.filter_similar(given["similarities"], given["threshold"])}


def ams_feedback_texts(given: Input) -> Output:
    return {"categories": [feedback.classify_complaint(text) for text in given["texts"]]}


def ams_feedback_validation(given: Input) -> Output:
    return {
        "ok": [_accepts(bandit.check_reward, reward) for reward in given["rewards"]],
        "text_ok": [_accepts(feedback.check_rating_text, "x" * length) for length in given["free_text_lengths"]],
    }


def ams_shift(given: Input) -> Output:
    return {"shifted": [list(pair) for pair in scoring.find_shifts(given["first"], given["last"])]}


def ams_rrf(given: Input) -> Output:
    return {"scores": [scoring.compute_rrf_score(ranks, given["k"]) for ranks in given["ranks"]]}


def typed_decay(given: Input) -> Output:
    kind, importance, age = given["type"], given["importance"], given["age_days"]
    return {
        "effective_importance": scoring.compute_effective_importance(kind, importance, age),
        "pruned": scoring.is_faded(kind, importance, age),
    }


def typed_score_of(given: Input) -> Output:
    names = ("keyword_hits", "similarity", "importance", "recency")
    return {"score": scoring.compute_recall_score(*(given[name] for name in names))}


def typed_recency(given: Input) -> Output:
    return {"recency": scoring.compute_recency(given["hours_since_access"] * HOUR)}


def typed_empty(given: Input) -> Output:
    recency = scoring.compute_recency(given["hours_since_access"] * HOUR)
    return {"score": scoring.compute_load_score(given["importance"], recency)}


def typed_plural(given: Input) -> Output:
    content = similarity.extract_distinctive_words(given["content"])
    return {
        "hits": [count_hits(similarity.split_words(query), content) for query in given["queries"]],
    }


def typed_minhash(given: Input) -> Output:
    """Return the largest error of the estimate for ten-word sets with these Jaccard similarities."""
    worst = 0.0
    for wanted in given["true"]:
        shared = round(2 * 10 * wanted / (1 + wanted))
        for trial in range(50):
            words = [f"w{trial}x{place}" for place in range(20 - shared)]
            one, other = words[:10], words[10 - shared :]
            exact = similarity.compute_jaccard(one, other)
            assert abs(exact - wanted) < 0.001
            worst = max(
                worst,
                abs(
                    similarity.estimate_jaccard(similarity.compute_signature(one), similarity.compute_signature(other))
                    - exact
                ),
            )
    assert similarity.estimate_jaccard(similarity.compute_signature(["a"]), similarity.compute_signature(["a"])) == 1.0
    return {"max_abs_error": worst}


def _accepts(check: Callable[[Any], object], value: object) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True


NOT_IN_CLIO = {
    "aizo.tokens": "clio estimates tokens with a ratio learned for each model",
    "awful_aj.budget": "clio trims at a share of the room, see docs/context.md",
    "awful_aj.eject": "clio trims units of messages that belong together, not pairs",
    "ams.bucket_stable": "feedback is counted for each situation, not for one of 100 hash buckets",
    "ams.eviction_order": "clio evicts no styles",
    "ams.merge_weighted_confidence": "a merged memory keeps the higher confidence",
    "ams.idle_consolidation": "clio consolidates when the prompt is idle or at exit, whatever the CPU load",
    "ams.trend_increasing": "clio reports changes of preferences, not trends",
    "ams.rrf_adaptive_k": "rankings are fused with the constant k = 60",
    "ams.bm": "words are weighed by rarity, without the length of the document",
    "ams.bm_min_idf": "words are weighed by rarity, without the length of the document",
    "ams.context": "tier and age are factors of the relevance, not summands",
}
"""Kinds of vectors whose formula clio does not use, and what it does instead; see decision 0025."""

ADAPTERS: dict[str, Adapter] = {
    "aizo.weight": aizo_weight,
    "aizo.readme_example_is_stale": aizo_sample,
    "aizo.smooth": aizo_smooth,
    "aizo.bands": aizo_bands,
    "aizo.band_aliases": aizo_aliases,
    "aizo.score_labels": aizo_labels,
    "aizo.min_score_clamps_band": aizo_clamp,
    "awful_aj.brain": brain_budget,
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
    "ams.skill_applicable_threshold": ams_candidates,
    "ams.replay": ams_replay,
    "ams.replay_first_pick_probability": ams_first_pick,
    "ams.replay_sample_size": ams_sample_size,
    "ams.reconsolidate": ams_reconsolidate,
    "ams.variant": ams_variant,
    "ams.retention": ams_retention,
    "ams.temporal": ams_temporal,
    "ams.feedback": ams_feedback,
    "ams.feedback_examples": ams_feedback_texts,
    "ams.feedback_validation": ams_feedback_validation,
    "ams.shift_detect": ams_shift,
    "ams.rrf": ams_rrf,
    "scriptling.decay": typed_decay,
    "scriptling.decay_note_exact_d": typed_decay,
    "scriptling.score": typed_score_of,
    "scriptling.recency": typed_recency,
    "scriptling.empty": typed_empty,
    "scriptling.plural_hit": typed_plural,
    "scriptling.minhash_estimate": typed_minhash,
}
