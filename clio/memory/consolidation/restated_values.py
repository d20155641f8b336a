"""Change the memories to which the user's message gives another value beside anything else it says.

`value_changes` finds the changes; here the rules have a say that know what limits a clause, doubts and roles of people.
"""

import math
from collections.abc import Collection, Sequence

from clio.memory.consolidation.alignment import list_statements
from clio.memory.consolidation.corrections import (
    NOT_LASTING,
    SOMEONE_LEFT,
    Replaced,
    is_just_said,
    keep_related,
    replace_memories,
    search_memories,
)
from clio.memory.consolidation.experiences import Correction
from clio.memory.consolidation.forget_requests import find_forget_requests
from clio.memory.consolidation.value_changes import FoundChange, are_alike, find_change
from clio.memory.consolidation.value_corrections import (
    is_limited,
    list_content_words,
    list_free_clauses,
    shares_word,
)
from clio.memory.preferences.own_sentences import FILLER, WrittenSentence, read_own_sentences, remove_pasted_text
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_parser import parse_statement
from clio.memory.statement_reader import have_other_roles, read_said_words, read_statement_words, word_tables
from clio.memory.store.record import MemoryRecord
from clio.memory.system import MemorySystem
from clio.messages import Message, UserMessage

_RESTATED, _RESTATED_AT_ONCE = 0.8, 0.92
"""Least probability that a message gives a memory another value, and that of one directly after the statement."""
_CERTAIN = 0.97
"""Least probability from which on rules that find doubts do not matter."""
_ENDED = 0.9
"""Least probability that a memory no longer holds from which on it is archived."""
_CLEARLY = 3.0
"""How many times as probable a change must be as those of other memories to be the one that is meant, as odds."""
_MAX_COMPARED = 50
"""Number of memories that are compared with a message: those that share most words with it and the message before."""
_MAX_READ = 500
"""Characters of the user's own sentences that are compared with memories."""


def restate_values(
    memory: MemorySystem, text: str, session: str, before: Sequence[Message], done: Collection[str] = ()
) -> list[Replaced]:
    """Replace the value that a message gives beside anything else it says; see `value_changes`.

    If it gives none, a memory is archived that no longer holds by what the message says: "das VPN ist abgeschafft".

    Args:
        before: the messages before, the last of the user's may have stated what it corrects.
        done: sentences of the message that have an effect already.

    Raises UserError, StorageError, OSError.
    """
    own = read_own_sentences(text)
    clean = memory.redacted(remove_pasted_text(text))[:_MAX_READ]
    last = next((one.content for one in reversed(before) if isinstance(one, UserMessage) and one.origin == "user"), "")
    known: dict[str, MemoryRecord] = {}
    search_memories(memory, last, known)(Correction(text=clean, quote=text, session=session, message="", at=math.inf))
    changes: list[tuple[MemoryRecord, FoundChange]] = []
    ended: list[tuple[MemoryRecord, FoundChange]] = []
    words = list_content_words(f"{clean} {last}")
    related = keep_related(known.values(), f"{clean} {last}")
    related.sort(key=lambda one: -len(words & list_content_words(one.content)))
    for record in related[:_MAX_COMPARED]:
        is_reply = is_just_said(record, session, last)
        is_named = shares_word(record.content, clean)
        if record.is_variant or not (is_reply or is_named):
            continue
        if list_statements(read_statement_words(record.content)):
            continue  # only rules divide it
        found = find_change(record.content, clean, is_reply=is_reply)
        new = clean[slice(*found.new)]
        least = _RESTATED if not is_reply else _RESTATED_AT_ONCE if is_named else _CERTAIN
        if not is_named and new.isalpha() and new.islower() and not read_said_words(clean).is_corrected:
            continue  # "weird!", of "the relay is wired"
        if found.probability >= least and new and new.casefold() not in record.content.casefold():
            changes.append((record, found))
        elif found.ended >= _ENDED and is_named:
            ended.append((record, found))
    if not changes and ended:
        return _archive_ended(memory, ended, session, own, done)
    changes.sort(key=lambda one: -one[1].probability)
    if not changes or (len(changes) > 1 and changes[0][1].odds < changes[1][1].odds * _CLEARLY):
        return []
    [(record, found), *_] = changes
    new = clean[slice(*found.new)]
    said = next((one for one in own if new in one.text), None)
    if said is None or _is_in_quotation(new, said):
        return []
    quote = said.text
    old = record.content[slice(*found.old)]
    if any(one in quote or quote in one for one in done):
        return []
    is_corrected = any(read_said_words(one.text).is_corrected for one in own)
    if _is_doubtful(record.content, quote, found, old, new, is_corrected=is_corrected):
        return []
    content = f"{record.content[: found.old[0]]}{new}{record.content[found.old[1] :]}"
    return [replace_memories(memory, content, session, quote, [record])]


def _archive_ended(
    memory: MemorySystem,
    ended: Sequence[tuple[MemoryRecord, FoundChange]],
    session: str,
    own: Sequence[WrittenSentence],
    done: Collection[str],
) -> list[Replaced]:
    """Archive the memory that most probably no longer holds."""
    record, _ = max(ended, key=lambda one: one[1].ended)
    said = next((one for one in own if not one.is_question and shares_word(record.content, one.text)), None)
    if said is None or FILLER in said.masked or any(one in said.text or said.text in one for one in done):
        return []
    if is_limited(said.text) or find_forget_requests(said.text):
        return []
    return [replace_memories(memory, "", session, said.text, [record])]


def _is_in_quotation(value: str, said: WrittenSentence) -> bool:
    """Whether a value is a part of what a sentence quotes, and not all of it as in "it's `pnpm` now"."""
    start = said.text.index(value)
    end = start + len(value)
    around = said.masked[max(start - 2, 0) : start - 1] + said.masked[end + 1 : end + 2]
    return FILLER in said.masked[start:end] and FILLER in around


def _is_doubtful(statement: str, sentence: str, change: FoundChange, old: str, new: str, *, is_corrected: bool) -> bool:
    """Whether rules contradict a change that the model has found. is_corrected: the user says that it was wrong.

    They know what limits a clause ("on staging, …"), doubts, hearsay, roles of people, orders, and kinds of values.
    """
    clauses = [one for one in list_free_clauses(sentence) if new in one]
    if not clauses or is_limited(sentence) or SOMEONE_LEFT.match(sentence) or find_forget_requests(sentence):
        return True
    if is_order(new) is True and is_order(old.partition(" ")[0]) is not True:
        return True  # "delete the queue", of "the queue is paused"
    if have_other_roles(read_statement_words(statement), read_said_words(clauses[0])):
        return True
    if change.probability >= _CERTAIN:
        return False
    known, said = parse_statement(statement), parse_statement(clauses[0])
    # "the default retry limit is 17", of "the retry limit is 5"
    is_narrower = known.topic < said.topic and known.topic_ids <= said.topic_ids and said.predicate not in ("", "*")
    is_passing = NOT_LASTING.search(clauses[0]) or word_tables().doubts.search(clauses[0])
    return is_narrower or (bool(is_passing) and not is_corrected) or not are_alike(old, new)
