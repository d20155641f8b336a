"""Train the classifier of intents, and measure how well it reads messages that it was not trained with.

    python bench/intents.py              # measure clio/memory/preferences/intents.bin
    python bench/intents.py --train      # train it, write it, and measure it
    python bench/intents.py --folds      # train five times without a fifth of the messages, and measure that
    python bench/intents.py --wrong      # also print each part that is taken for a lasting statement, or missed

`bench/data/intents.jsonl` has messages that writers made up who had not seen clio's rules, each with the intent of its
parts: several joined by "|" if it may be any of them, and "!limit!once" for any but these. The halves whose names end
with "test" are never trained with, nor are the messages of real coding sessions in `recall_coding.json`.
Those of `memory_phrasings.jsonl`, except "everyday test" and "independent test", are trained with only by what their
case allows them to mean; so are the pairs of `preference_endings.jsonl`, of which the preferences are lasting. The
development half of `stated_limits.jsonl` and messages of the tests are among the training messages; those of the half
"varied" are such messages with other nouns, verbs and times, and tasks.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, structs

sys.path.insert(0, str(Path(__file__).parent.parent))


from bench.training import fit
from clio.memory.preferences.intents import INTENTS, LASTING, MODEL, classify, find_parts, list_features
from clio.memory.preferences.lasting_wishes import find_wishes
from clio.memory.preferences.own_sentences import mask_quotes, read_own_sentences

DATA = Path(__file__).parent / "data"
OTHER = frozenset(INTENTS) - set(LASTING)
ENDING = frozenset(INTENTS) - {"limit", "once", "dislike", "remember"}
"""Intents of a message that ends a preference; of one that is liked again it may be a wish."""
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
CASE_WEIGHT = 0.5
"""Weight of a message of which only is known what it does not mean."""
FACTS = frozenset(
    (
        *("corrected", "corrected later", "changed", "told again", "both stay", "unchanged", "replaced", "later"),
        *("not corrected", "new value only", "not X but Y", "remembered", "nothing changed", "taken back in words"),
    )
)


class Example(Struct, frozen=True):
    """A text, and the intents that it may have."""

    text: str
    allowed: frozenset[str]
    language: str = ""
    weight: float = 1.0


def read_messages(half: str) -> Iterator[list[tuple[str, str, str]]]:
    """Yield the messages of a half, each as the text, intent and language of its parts."""
    for line in (DATA / "intents.jsonl").read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        if message["half"] == half:
            yield [(mask_quotes(text), intent, message["language"]) for text, intent in message["parts"]]


def read_allowed(label: str) -> frozenset[str]:
    """Return the intents that a label allows."""
    return frozenset(INTENTS).difference(label.split("!")) if label.startswith("!") else frozenset(label.split("|"))


def list_examples(messages: Sequence[Sequence[tuple[str, str, str]]]) -> list[Example]:
    """Return the parts of messages, and messages of several parts as a whole: lasting if a part of it is."""
    examples: list[Example] = []
    for parts in messages:
        examples += (Example(text.strip(" ,;\n"), read_allowed(intent), language) for text, intent, language in parts)
        if len(parts) > 1:
            whole = frozenset[str]().union(*(read_allowed(intent) for _, intent, _ in parts if intent[0] != "!"))
            lasting = whole.intersection(LASTING)
            text = "".join(text for text, _, _ in parts).strip()
            if len(lasting) < 2 and all(intent[0] != "!" for _, intent, _ in parts):
                examples.append(Example(text, lasting or whole, parts[0][2]))
        for text, intent, language in parts:
            sentences = read_own_sentences(text) if intent == "other" else []
            if len(sentences) > 1:
                examples += (Example(one.masked + one.mark, frozenset([intent]), language) for one in sentences)
    return [one for one in examples if one.text]


def list_cases(*, is_test: bool) -> list[Example]:
    """Return the messages of the cases of `memory_phrasings.jsonl`, by the class of the case and their place in it."""
    found: list[Example] = []
    for line in (DATA / "memory_phrasings.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["half"].endswith("independent test") or (case["half"] == "everyday test") is not is_test:
            continue
        for number, session in enumerate(case["sessions"]):
            for at, message in enumerate(session):
                allowed = _list_allowed(case["class"], is_first=not number and not at, begins_session=not at)
                if allowed and not message.startswith("(consolidate"):
                    found.append(Example(mask_quotes(message), allowed, "", CASE_WEIGHT))
    return found


def _list_allowed(kind: str, *, is_first: bool, begins_session: bool) -> frozenset[str] | None:
    """Return what a message of a case may mean, None if that is not known."""
    lasting = frozenset(LASTING)
    if kind == "limit":
        return frozenset(["limit"]) if is_first else OTHER
    if kind in ("preference", "changed preference"):
        return frozenset(["wish", "dislike"]) if is_first or (begins_session and kind != "preference") else OTHER
    if "liking" in kind:
        return lasting if is_first else None
    if kind in ("this turn only", "limit for now"):
        return frozenset(["once"]) if is_first else None
    if kind in ("no limit", "no preference"):
        return OTHER if is_first else None
    if kind in ("lifted limit", "lifted", "taken back", "not taken back"):
        return lasting | {"remember"} if is_first else None if kind == "not taken back" else OTHER
    if kind in FACTS:
        return frozenset(["remember", "other"]) if is_first else OTHER
    return None


def list_preferences() -> list[Example]:
    """Return the preferences and limits of `preference_endings.jsonl`, and the messages that end one."""
    lines = list(map(json.loads, (DATA / "preference_endings.jsonl").read_text(encoding="utf-8").splitlines()))
    lines = [one for one in lines if one["half"] == "training"]
    known = {one["memory"]: one["language"] for one in lines}
    ended = {one["message"]: one["language"] for one in lines if one["effect"] == "ended"}
    return [
        *(Example(mask_quotes(text), frozenset(LASTING), language) for text, language in known.items()),
        *(Example(mask_quotes(text), ENDING, language, CASE_WEIGHT) for text, language in ended.items()),
    ]


def train_intents(examples: Sequence[Example]) -> bytes:
    """Return the weights fitted to the examples."""
    return fit(
        [list_features(one.text) for one in examples],
        np.array([[intent in one.allowed for intent in INTENTS] for one in examples], float),
        [one.weight for one in examples],
    )


def measure(title: str, examples: Sequence[Example], *, shows: bool = False) -> None:
    """Print which part of the lasting statements is found at each level of probability, and how many others are."""
    found = [classify(one.text) for one in examples]
    lasting = [sum(one[INTENTS.index(intent)] for intent in LASTING) for one in found]
    is_lasting = [one.allowed <= set(LASTING) for one in examples]
    exact = sum(INTENTS[one.index(max(one))] in example.allowed for one, example in zip(found, examples, strict=True))
    print(f"{title}: {len(examples)} texts, {sum(is_lasting)} lasting; intent right {exact / len(examples):.3f}")
    for level in LEVELS:
        hits = sum(one >= level and right for one, right in zip(lasting, is_lasting, strict=True))
        wrong = sum(one >= level and not right for one, right in zip(lasting, is_lasting, strict=True))
        rest = len(examples) - sum(is_lasting)
        print(f"  {level:.1f}  found {hits / max(sum(is_lasting), 1):.3f}  wrong {wrong} of {rest}")
    for level, right, example in sorted(zip(lasting, is_lasting, examples, strict=True), key=lambda one: -one[0]):
        if shows and (level >= LEVELS[0]) is not right:
            print(f"    {level:.2f} {'missed' if right else 'wrong'} {sorted(example.allowed)} {example.text}")


def measure_division(messages: Sequence[Sequence[tuple[str, str, str]]]) -> None:
    """Print how many messages of several parts are divided into parts with the same lasting intents."""
    several = [one for one in messages if len(one) > 1]
    right = 0
    for parts in several:
        expected = [intent for _, intent, _ in parts if intent in LASTING]
        text = "".join(text for text, _, _ in parts).strip()
        right += [one.intent for one in find_parts(text) if one.intent in LASTING] == expected
    print(f"messages of several parts, divided right: {right} of {len(several)}")


def measure_real_messages(*, shows: bool) -> None:
    """Print how many messages of real coding sessions have a part that is taken for a lasting statement."""
    histories = json.loads((DATA / "recall_coding.json").read_text(encoding="utf-8"))["histories"]
    sessions = [session for history in histories for session in history["sessions"]]
    said = [turn["text"] for session in sessions for turn in session["turns"] if turn["role"] == "user"]
    wrong = [text for text in said if find_wishes(text, "")]
    print(f"real sessions: {len(wrong)} of {len(said)} messages")
    for text in wrong if shows else ():
        print(f"    {text[:300]!r}: {[one.statement.content for one in find_wishes(text, '')]}")


def main() -> None:
    """Train the classifier if asked to, and measure it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    messages = list(read_messages("training"))
    varied = [structs.replace(one, weight=CASE_WEIGHT) for one in list_examples(list(read_messages("varied")))]
    cases = [*list_cases(is_test=False), *list_preferences(), *varied]
    if options.folds:
        held: list[Example] = []
        for fold in range(5):
            rest = [one for at, one in enumerate(messages) if at % 5 != fold]
            MODEL.use(train_intents([*list_examples(rest), *cases]))
            part = list_examples([one for at, one in enumerate(messages) if at % 5 == fold])
            measure(f"fold {fold + 1}", part, shows=options.wrong)
            held += part
        return
    if options.train:
        MODEL.path.write_bytes(weights := train_intents([*list_examples(messages), *cases]))
        MODEL.use(weights)
    test = list(read_messages("test"))
    measure("test", list_examples(test), shows=options.wrong)
    measure("everyday test", list_cases(is_test=True), shows=options.wrong)
    second = list(read_messages("second test"))
    measure("second test", list_examples(second), shows=options.wrong)
    limits = list(read_messages("limits test"))
    measure("limits test", list_examples(limits), shows=options.wrong)
    measure("terse test", list_examples(list(read_messages("terse test"))), shows=options.wrong)
    measure_division([*test, *second, *limits])
    measure_real_messages(shows=options.wrong)


if __name__ == "__main__":
    main()
