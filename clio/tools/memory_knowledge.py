"""What memory_operations answers about the project knowledge: adding, mending, forgetting, pruning, its size."""

from collections.abc import Iterable

from clio.errors import ToolRetry
from clio.memory.records import Added, Entry, Kind, LtmStats, Provenance, Pruned
from clio.memory.system import MemorySystem
from clio.tools.base import ToolOutput
from clio.tools.memory_args import Operation
from clio.tools.memory_call import MemoryCall
from clio.tools.memory_text import day, many, short

KIND_OF: dict[Operation, Kind] = {
    "add_discovery": "discovery",
    "add_solution": "solution",
    "add_pattern": "pattern",
    "add_workflow": "workflow",
    "add_failure": "failure",
    "add_context_rule": "rule",
}
# Slot: the parameters that name it for this kind.
_PARTS: dict[Kind, dict[str, tuple[str, ...]]] = {
    "discovery": {"text": ("fact",)},
    "solution": {"text": ("error", "what"), "solution": ("solution",)},
    "pattern": {"text": ("pattern", "fact")},
    "workflow": {"text": ("key", "name"), "steps": ("steps",)},
    "failure": {"text": ("what", "error"), "impact": ("impact",), "solution": ("prevention",)},
    "rule": {"text": ("rule", "pattern"), "path": ("path",)},
}
_NEUTRAL = ("content", "text")
_FIELDS = {"path": "context"}
_STALE = {"drifted": "its examples have changed since", "gone": "its examples are gone"}
_SHOWN = 20
_ENTRY_CHARS = 200


def draft(call: MemoryCall) -> Entry:
    """The entry a call of add_… asks for, as yet without an id."""
    kind = KIND_OF[call.operation]
    return Entry(
        kind=kind,
        text=call.text or " → ".join(call.steps),
        solution=call.solution,
        impact=call.impact,
        steps=call.steps,
        context=call.path,
        confidence=call.confidence,
        examples=call.examples,
    )


def advice(call: MemoryCall) -> tuple[str, ...]:
    """The part of a call that later sessions would follow; an error stands in a tool's result by its nature."""
    return call.steps or tuple(text for text in (call.solution or call.text,) if text)


def add(memory: MemorySystem, call: MemoryCall, provenance: Provenance) -> ToolOutput:
    """Add an entry, or confirm the one that says the same."""
    added = memory.add(draft(call), provenance)
    return ToolOutput(text=_added_text(added, provenance), summary=_added_summary(added))


def update(memory: MemorySystem, call: MemoryCall, provenance: Provenance) -> ToolOutput:
    """Change what the call names of one entry; who now says it is kept with it.

    Raises ToolRetry for a part that entries of this kind do not have, and where nothing is to change.
    """
    if len(call.ids) != 1:
        raise ToolRetry("update_ltm changes one entry at a time; give one id")
    old = memory.find(call.ids[0])
    parts = _PARTS[old.kind]
    known = {*parts, "confidence", "examples", "ids"}
    if call.given - known or (call.text and call.said_as not in (*_NEUTRAL, *parts["text"])):
        raise ToolRetry(f"{old.id} is a {old.kind}; what can be changed is {_changeable(old.kind)}")
    changes = {_FIELDS.get(slot, slot): getattr(call, slot) for slot in sorted(call.given - {"ids"})}
    if not changes:
        raise ToolRetry(f"update_ltm needs what to change beside id: {_changeable(old.kind)}")
    if _followed(old) in call.given:
        changes["provenance"] = provenance
    entry = memory.update(old.id, **changes)
    return ToolOutput(text=f"Updated {described(entry)}", summary=f"updated {entry.id}")


def forget(memory: MemorySystem, call: MemoryCall) -> ToolOutput:
    """Move entries to the archive."""
    if not call.ids:
        raise ToolRetry(f"forget_ltm needs id{_candidates(memory, call.query)}")
    gone = memory.forget(list(dict.fromkeys(memory.find(id).id for id in call.ids)))
    lines = [f"Forgotten: {described(entry)}" for entry in gone]
    lines.append("The archive keeps it; the user can bring it back with /memory undo.")
    return ToolOutput(text="\n".join(lines), summary=f"forgot {', '.join(entry.id for entry in gone)}")


def prune(memory: MemorySystem, call: MemoryCall) -> ToolOutput:
    """Say what pruning would archive; do it where the call says dry_run=false."""
    pruned = memory.prune(
        max_age_days=call.max_age_days, min_confidence=call.min_confidence, dry_run=call.dry_run is not False
    )
    bounds = (
        f"old (not confirmed for {call.max_age_days:g} days) or doubtful (confidence below {call.min_confidence:g})"
    )
    if not pruned.removed:
        text = f"Nothing to prune: no entry is {bounds}; {many(pruned.kept, 'entry')} kept."
        return ToolOutput(text=text, summary="nothing to prune")
    return ToolOutput(text="\n".join(_pruned_lines(pruned, bounds)), summary=_pruned_summary(pruned))


def stats(memory: MemorySystem) -> ToolOutput:
    """The size of the project knowledge in a few lines."""
    found = memory.ltm_stats()
    return ToolOutput(text=_stats_text(found), summary=many(found.total, "entry"))


def described(entry: Entry) -> str:
    """An entry with its id on one line of bounded length."""
    return f"{entry.id} ({entry.kind}): {short(entry.line, _ENTRY_CHARS)}"


def labels(memory: MemorySystem, ids: set[str]) -> dict[str, str]:
    """What has to be said beside an entry when it is shown: that it is a quotation, that its examples have changed."""
    entries = [entry for entry in memory.knowledge().entries if entry.id in ids]
    state = memory.freshness(entries)
    found: dict[str, str] = {}
    for entry in entries:
        quoted = entry.provenance is not None and entry.provenance.asserted_by == "tool"
        said = ["quoted from a tool's result", _STALE.get(state.get(entry.id, ""), "")][0 if quoted else 1 :]
        if any(said):
            found[entry.id] = "; ".join(text for text in said if text)
    return found


def _changeable(kind: Kind) -> str:
    return ", ".join([*(names[0] for names in _PARTS[kind].values()), "confidence, examples"])


def _followed(entry: Entry) -> str:
    """The slot of the words later sessions would follow."""
    if entry.kind == "workflow":
        return "steps"
    return "solution" if entry.solution else "text"


def _added_text(added: Added, provenance: Provenance) -> str:
    entry = added.entry
    if added.restored:
        text = f"Remembered again as {entry.id}, back from the archive with its history."
    elif added.new:
        text = f"Remembered for later sessions as {entry.id}."
    else:
        how = f"said {many(entry.times, 'time')}, confidence {entry.confidence:g}"
        text = f"Known already as {entry.id}, and confirmed: {how}."
    if added.beside:
        others = "; ".join(f"{other.id}: {short(other.solution, _ENTRY_CHARS)}" for other in added.beside[:3])
        text += f" Kept beside {many(len(added.beside), 'other solution')} to the same error ({others})."
    if entry.also:
        text += (
            f" It keeps {many(len(entry.also), 'other prevention')} too ({short('; '.join(entry.also), _ENTRY_CHARS)})."
        )
    if added.new and provenance.asserted_by == "tool":
        text += " A tool's result says it word for word, so it is kept as a quotation."
    return text


def _added_summary(added: Added) -> str:
    return f"{'remembered' if added.new else 'confirmed'} {added.entry.id}"


def _candidates(memory: MemorySystem, query: str) -> str:
    if not query:
        return '; memory_operations(operation="search", query=…) names the ids'
    hits = [hit for hit in memory.search(query, 5) if hit.kind != "note"]
    listed = "; ".join(f"{hit.id}: {short(hit.text, 80)}" for hit in hits)
    return f"; nearest to what you said: {listed}" if listed else "; no entry shares a word with what you said"


def _pruned_lines(pruned: Pruned, bounds: str) -> list[str]:
    count = many(len(pruned.removed), "entry")
    verb = "is" if len(pruned.removed) == 1 else "are"
    if pruned.dry_run:
        head = f"{count} {verb} {bounds}; nothing was moved yet. dry_run=false moves them to the archive:"
    else:
        head = f"Archived {count}, {bounds}; {pruned.kept:,} kept. The user can bring them back with /memory undo:"
    shown = [
        f"- {described(entry)} [confidence {entry.confidence:g}, confirmed {day(entry.confirmed)}]"
        for entry in pruned.removed[:_SHOWN]
    ]
    left = len(pruned.removed) - len(shown)
    return [head, *shown, *([f"… and {left:,} more"] if left else [])]


def _pruned_summary(pruned: Pruned) -> str:
    return f"{len(pruned.removed):,} {'would be archived' if pruned.dry_run else 'archived'}"


def _stats_text(stats: LtmStats) -> str:
    kinds = ", ".join(many(count, kind) for kind, count in stats.counts.items() if count)
    lines = [
        f"{many(stats.total, 'entry')}{f': {kinds}' if kinds else ''}; {stats.archived:,} archived; "
        f"{stats.file_bytes:,} bytes.",
        _counted("Last confirmed", [(bar.label, bar.count) for bar in stats.ages]),
        _counted("Confidence", [(bar.label, bar.count) for bar in stats.confidences]),
        _counted("Examples", stats.freshness.items()),
        _counted("Asserted by", stats.asserted.items()),
    ]
    if stats.newest:
        lines.append(f"Oldest confirmation {day(stats.oldest)}, newest {day(stats.newest)}.")
    return "\n".join(line for line in lines if line)


def _counted(title: str, counts: Iterable[tuple[str, int]]) -> str:
    found = ", ".join(f"{label} {count:,}" for label, count in counts if count)
    return f"{title}: {found}." if found else ""
