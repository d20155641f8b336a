"""Measure what statements in natural wording change in memory: facts, corrections, limits, preferences, withdrawals.

    python bench/memory_phrasings.py [--half dev|test|"fourth test"] [--class corrected] [--failures]

Each line of `bench/data/memory_phrasings.jsonl` is a conversation of one or more sessions, run as whole turns with a
server that answers "Ok.". It passes if memory contains what it should and nothing else, both immediately and after
consolidation. Patterns are regular expressions that ignore case.

- `remembered`: a memory, preference or limit matches; `gone`: none does.
- `once`: exactly one memory matches.
- `limits`: a hard limit matches, for this session or permanently; `no_limit`: nothing is saved permanently.
- A session "(consolidate)" ends the previous one and consolidates.

Number of cases that pass before and after the rules were improved:

- dev, test: split by number; the rules were improved with both.
- second test: 155 cases written before that. 88 before, 135 in the first run after it. Its failures were read later.
- third test: 80 cases in seven languages. 64 before (42 of the 58 that ask for a change, all 22 that must change
  nothing), 80 after.
- fourth test: 60 cases in seven languages: prohibitions with and without a sign that they are permanent, and corrected
  names. 37 before, 60 after.
- fifth test: 300 cases in six languages other than English, 60 each of limits, statements to remember, corrections,
  corrections that name the former value ("not X but Y"), and withdrawals. 133 before, 195 after (56, 58, 17, 29 and 35
  of 60), 279 after its failures were read and with the rules of the sixth halves.
- sixth development, sixth test: 427 cases in seven languages, written together before their rules. Only the failures of
  the development half were read, except two limits beside a label that a first version of the rules lost. Development
  and test half before and after: new value only 10 and 6, 49 and 47 of 50; "not X but Y" 17 and 10, 36 and 34 of 36;
  withdrawals 6 and 3, 40 and 39 of 40; nothing changed 24 and 27, 25 of 25 and 28 of 28 (the last after its failure was
  read); text of others 23 and 28, 45 of 45 each; own limits beside such text 14 and 13 of 16, unchanged.
- mixed development, mixed test (several languages in one statement, such as German with English terms), permission
  development, permission test (bans, permissions and their withdrawal, mostly in Japanese): written before their rules.
  Before, and after only the failures of the development halves were read: mixed 26 and 34 of 34, in the test half 25
  and 33 of 36; permissions 27 and 41 of 41, in the test half 28 and 36 of 42. The failures of the test halves were read
  later.
- words development, words second, words test: 1,000 cases of corrections at once and some turns later, changes over
  time, withdrawals, facts told again in other words, and sentences that must change nothing; by three writers who had
  not seen the rules. Before the comparison by words 212, 77 and 121 passed of 500, 200 and 300. The failures of the
  first two were read while it was written, of the test half only those of "corrected", afterwards: 190 of 300
  (corrected 37 of 50, later 39 of 70, changed 40 of 70, unchanged 57 of 60, told again 17 of 50). 197 since one
  property no longer replaces another (39, 36, 40, 60 and 22). With the
  relations of `statement_pairs.py`, "told again" rose from 57 to 73 of 82, 19 to 29 of 32, and 18 to 20 of 50.
  After the failures of all three were read, with one comparison for denied values: 453, 157 and 201, all 60 of the test
  half that must change nothing.
- seventh development, seventh test: 300 cases in seven languages by a writer who had not seen the rules: corrections,
  changes over time, facts that both stay, facts told again, limits, and preferences in loose grammar. Before their
  rules 90 of 153 and 93 of 147 passed; after them, with only the failures of the development half read, 116 and 99;
  103 of the test half after those about preferences were read.
- hard negatives: 60 pairs in seven languages, of a statement to remember and a sentence with a word of change about
  another property or thing, an addition, a plan, a task or the past. The statement must stay. They were written before
  the rules, their failures read: 49 before, 60 after.
- eighth development: 80 changes, corrections some turns later and facts told again in seven languages. 52 before their
  failures were read, 73 after. With their rules the words test rose to 202, the seventh test to 108.
- everyday development, everyday second, everyday test: 1,120 cases in seven languages by writers who had not seen the
  rules and were asked for what developers type at work: requests to remember in any words, corrections, changes told in
  passing, wishes about how clio works, limits, and messages that must change nothing. Of everyday test 89 of 240 passed
  before (24 of 80 English, 27 of 60 in other languages, 38 of 100 wishes and limits); 140 after (42, 40, 58), with
  none of its cases read; 150 after its English failures were read; 169 with the classifier of `intents.py`, which was
  trained with the other halves. The words test rose to 232, the seventh test to 113, and with the classifier to 116.
  Of the other two, whose failures were read, 122 of 290 and 181 of 590 passed before, 263 and 442 before the
  classifier, 249 and 453 with it. Some of its messages had been read when the examples were chosen that the writers of
  its training data were given, so that its figure for wishes is too high.
- independent test: 90 messages by a writer who was given no examples, written after the classifier was finished:
  43 lasting wishes and limits, and 47 that must save none. Run once, before and after the classifier; see 0091.
- second independent test: 500 cases by two writers who were given no examples from these data, written before the
  models of 0092; only sums of them were looked at. 300 messages, of which 140 state a lasting wish or limit, and 200
  facts with a later message, half of which gives them another value.
"""

import argparse
import asyncio
import json
import logging
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.memory.consolidation.runner import run_consolidation
from clio.memory.system import MemorySystem
from clio.text.scoring import HARD_LIMIT_SCORE
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness, make_repository

CASES = Path(__file__).parent / "data" / "memory_phrasings.jsonl"
HALVES = (
    *("dev", "test", "second test", "third test", "fourth test", "fifth test", "sixth development", "sixth test"),
    *("mixed development", "mixed test", "permission development", "permission test"),
    *(
        "words development",
        "words second",
        "words test",
        "seventh development",
        "seventh test",
        "hard negatives",
        "eighth development",
        "everyday development",
        "everyday second",
        "everyday test",
        "independent test",
        "second independent test",
    ),
)
CONSOLIDATE = "(consolidate)"
MAX_TURNS = 5_000


def find_errors(case: dict[str, Any], memory: MemorySystem, session_limits: list[str], *, is_later: bool) -> list[str]:
    """Return what is missing from memory, or should not be in it. held: the limits of the session only."""
    preferences = [one.record for book in (memory.preferences, memory.project_preferences) for one in book.all()]
    facts = [one.content for one in memory.store.records() if one.kind in ("fact", "note", "discovery")]
    everything = [*facts, *(one.content for one in preferences), *session_limits]
    limits = [one.content for one in preferences if one.score is not None and one.score <= HARD_LIMIT_SCORE]

    def is_in(pattern: str, texts: list[str]) -> bool:
        return any(re.search(pattern, text, re.IGNORECASE) for text in texts)

    errors = [f"lacks {one}" for one in case.get("remembered", ()) if not is_in(one, everything)]
    errors += [f"still has {one}" for one in case.get("gone", ()) if is_in(one, everything)]
    told = list(dict.fromkeys(everything))
    errors += [f"not once: {one}" for one in case.get("once", ()) if sum(is_in(one, [text]) for text in told) != 1]
    if case["class"] == "nothing changed" and len(everything) != len(case["remembered"]):
        errors.append(f"has {everything}")
    if not is_later:
        errors += [f"no limit {one}" for one in case.get("limits", ()) if not is_in(one, [*limits, *session_limits])]
    if case.get("no_limit") and preferences:
        errors.append(f"saved {preferences[0].content}")
    return errors


async def run_case(case: dict[str, Any], server: ChatServer, folder: Path) -> list[str]:
    """Run the sessions of a case and return its errors."""
    make_repository(folder / "p", {"calc.py": "def add(a, b):\n    return a - b\n"})
    harness = Harness(folder / "p", folder / "home", server)

    async def restart() -> None:
        await harness.app.close()
        harness.app = harness.build()

    for number, messages in enumerate(case["sessions"]):
        if number:
            await restart()
        if messages == [CONSOLIDATE]:
            run_consolidation(harness.app.memory.consolidation)
            continue
        for message in messages:
            await harness.turn(message)
    session_limits = list(harness.app.memory.held_limits)
    errors = find_errors(case, harness.app.memory, session_limits, is_later=False)
    if not errors:
        await restart()
        run_consolidation(harness.app.memory.consolidation)
        errors = [f"later {fault}" for fault in find_errors(case, harness.app.memory, session_limits, is_later=True)]
    await harness.app.close()
    return errors


def main() -> None:
    """Run the selected cases, and print how many of each class pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--class", dest="kind")
    parser.add_argument("--failures", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    passed, total = Counter[str](), Counter[str]()
    with ChatServer([text("Ok.")] * MAX_TURNS) as server:
        for line in CASES.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if options.half not in (None, case["half"]) or options.kind not in (None, case["class"]):
                continue
            with tempfile.TemporaryDirectory() as folder:
                errors = asyncio.run(run_case(case, server, Path(folder)))
            total[case["class"]] += 1
            passed[case["class"]] += not errors
            if errors and options.failures:
                print(f"{case['class']}: {case['sessions']}: {'; '.join(errors)}", flush=True)
    for kind, count in total.items():
        print(f"{kind:16} {passed[kind]:3} of {count:3}")
    print(f"{'all':16} {passed.total():3} of {total.total():3}")


if __name__ == "__main__":
    main()
