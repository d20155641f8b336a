"""/prefs and /scenario: preferences and hard limits of the user, their decay, and the task type."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clio.commands.arguments import ParsedArguments, parse_count, parse_number, parse_options, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    Suggestion,
    SuggestWord,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import (
    format_date,
    format_short_age,
    format_time_ago,
    make_user_provenance,
    requires_memory,
)
from clio.config.paths import display_path, home_config, user_home
from clio.config.yaml_edit import store_setting
from clio.errors import ClioError, UsageError, UserError
from clio.memory.preferences.preferences import (
    DEFAULT_TOP,
    Fading,
    Preferences,
    Touch,
    Weighed,
    context_block,
    extract_subject,
    stance_of,
)
from clio.memory.store.record import MemoryRecord, Saved, get_short_id
from clio.memory.store.typed_store import Scope
from clio.text.scoring import (
    BAND_ALIASES,
    DEFAULT_SCORE,
    HARD_LIMIT_SCORE,
    SCORE_BANDS,
    compute_score_exponent,
    describe_preference,
    find_score_bands,
    resolve_band_name,
)
from clio.text.translation import mark, tr, tr_count

_MAX_SUGGESTED = 60


def make_preference_table(preferences: Iterable[Weighed], now: float) -> Table:
    """Return a table of preferences in the given order; `now` in seconds since the epoch."""
    rows = tuple(
        (
            get_short_id(one.record),
            one.record.content,
            f"{one.score:g}",
            f"{one.weight:.1f}",
            describe_strength(one),
            ", ".join(one.record.scenarios),
            format_short_age(now, one.record.seen),
        )
        for one in preferences
    )
    return Table(
        columns=(tr("id"), tr("what"), tr("score"), tr("weight"), tr("is"), tr("for"), tr("age")),
        rows=rows,
        wide_column=1,
    )


def describe_strength(one: Weighed) -> str:
    """Return "hard limit", "rule" if it was stated as one, otherwise liked, neutral or disliked by its score."""
    return tr(describe_preference(one.score, is_rule=one.record.explicit))


def make_preference_data(one: Weighed) -> dict[str, Any]:
    """Return a preference as the document that preferences come from prints one; times in ISO 8601, UTC."""
    record = one.record
    return {
        "id": record.id,
        "item": record.content,
        "reason": record.reason,
        "keywords": list(record.keywords),
        "scenarios": list(record.scenarios),
        "base_score": one.score,
        "score": one.score,
        "bands": list(one.bands),
        "explicit": record.explicit,
        "source": _get_source(record),
        "added_at": _format_time(record.created),
        "last_seen": _format_time(record.seen),
        "touch_count": record.touch_count,
        "score_exponent": round(compute_score_exponent(one.score), 6),
        "decay_coefficient": round(one.coefficient, 6),
        "effective_weight": round(one.weight, 6),
    }


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _get_source(record: MemoryRecord) -> str:
    """Return the `source` field of the preferences document: "manual" if the user gave it, else "analysis"."""
    return "manual" if record.is_stated_by_user else "analysis"


def find_weighed(preferences: Preferences, id: str) -> Weighed:
    """Return the preference of that id, which must exist, with its weight."""
    return next(one for one in preferences.all() if one.record.id == id)


def parse_bands(text: str) -> tuple[str, ...]:
    """Parse band names such as "taboo,like". Raises UsageError listing the valid names."""
    try:
        return tuple(dict.fromkeys(resolve_band_name(name) for name in split_list(text)))
    except ValueError as error:
        raise UsageError(
            tr("{error}; also {band_aliases}", error=error, band_aliases=", ".join(BAND_ALIASES))
        ) from error


def split_list(text: str) -> list[str]:
    """Split a list at commas, without empty parts."""
    return [part for raw in text.split(",") if (part := " ".join(raw.split()))]


def parse_score(given: ParsedArguments, option: str) -> float | None:
    """Return the score given by an option, if any. Raises UsageError unless it is from 0 to 10."""
    raw = given.options.get(option)
    # `parse_number` reads "50%" as 0.5, which is not what half a score would mean; "?" makes it an error.
    return None if raw is None else parse_number(raw.replace("%", "?"), option, low=0, high=10)


def suggest_prefs(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete the ends of ids for the first word, described by their items, highest weight first."""
    return () if " " in argument else suggest_several_prefs(ctx, argument)


def suggest_several_prefs(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
    """Complete each word as `suggest_prefs`, without ids already given."""
    named = argument.split(" ")[:-1]
    shown = (one.record for one in _list_known(ctx) if get_short_id(one.record) not in named)
    return [Suggestion(text=get_short_id(record), note=record.content[:120]) for record in shown][:_MAX_SUGGESTED]


def suggest_items(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the items themselves, highest weight first."""
    return [Suggestion(text=one.record.content, note=describe_strength(one)) for one in _list_known(ctx)][
        :_MAX_SUGGESTED
    ]


def suggest_filters(*options: str) -> SuggestWord:
    """Return a function that completes filter options, and after an option its values."""

    def suggest(ctx: CommandContext, argument: str) -> Iterable[Suggestion]:
        before = argument.split(" ")[:-1]
        match before[-1] if before else "":
            case "--scenario":
                return [Suggestion(text=name) for name in _list_scenarios(ctx)]
            case "--type":
                return [
                    Suggestion(text=name, note=tr("{low:g} to {high:g}", low=low, high=high))
                    for name, (low, high) in SCORE_BANDS.items()
                ]
            case "--format":
                return [Suggestion(text="context", note=tr("as text for another program")), Suggestion(text="table")]
            case _:
                return [Suggestion(text=name, note=tr(_NOTES[name])) for name in options if name not in before]

    return suggest


def scenario_names(ctx: CommandContext) -> Sequence[str]:
    """Return the task types; empty if memory is off."""
    return _list_scenarios(ctx)


_NOTES = {
    "--type": mark("score bands, separated by commas"),
    "--scenario": mark("only this task type"),
    "--min-score": mark("from 0 to 10"),
    "--limit": mark("at most this many"),
    "--touch": mark("confirm what is found"),
    "--format": mark("context: as text for another program"),
    "--yes": mark("do not ask"),
    "--score": mark("from 0, never, to 10, always"),
    "--reason": mark("why, in a few words"),
    "--keywords": mark("keywords, separated by commas"),
    "--scenarios": mark("task types, separated by commas"),
    "--item": mark("its text"),
    "--rule": mark("a rule: its score is set, not averaged"),
}


def _list_known(ctx: CommandContext) -> list[Weighed]:
    """Return all preferences; empty if the file is damaged, which the command reports, not its completion."""
    try:
        return [] if ctx.config.incognito else ctx.memory.preferences.all()
    except (ClioError, OSError):
        return []


def _list_scenarios(ctx: CommandContext) -> Sequence[str]:
    try:
        return () if ctx.config.incognito else ctx.memory.preferences.book.names
    except (ClioError, OSError):
        return ()


_FORMATS = ("table", "context")
_SHORT_OPTIONS = {"-t": "--type", "-l": "--limit", "-s": "--score"}
"""The one-letter options of the preferences document."""
_SHORT_FILTERS = _SHORT_OPTIONS | {"-s": "--scenario"}
"""The same for searches, which have no score."""
_NOTHING = mark(
    "No preferences yet. `/prefs add ITEM` adds one; clio also remembers preferences you state in a message."
)


@requires_memory
def show_top_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the preferences with the highest weight; changes nothing."""
    given = parse_options(argument, valued=("--type", "--scenario"), short=_SHORT_FILTERS)
    if len(given.words) > 1:
        return make_refusal(tr("/prefs top takes a number, not {text!r}; /prefs recall searches", text=given.text))
    number = parse_count(given.words[0], "/prefs top") if given.words else DEFAULT_TOP
    found = ctx.memory.preferences.recall("", types=_parse_types(given), scenario=given.options.get("--scenario"))
    return _show_list(ctx, found[:number], given, of=len(found))


@requires_memory
def recall_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Search item, reason and keywords for a text; highest weight first."""
    given = parse_options(
        argument,
        switches=("--touch", "--no-touch"),
        valued=("--type", "--scenario", "--min-score", "--limit"),
        short=_SHORT_FILTERS,
    )
    limit = given.options.get("--limit")
    found = ctx.memory.preferences.recall(
        given.text,
        types=_parse_types(given),
        scenario=given.options.get("--scenario"),
        min_score=parse_score(given, "--min-score"),
        limit=None if limit is None else parse_count(limit, "--limit"),
        touch="--touch" in given.options,
    )
    return _show_list(ctx, found, given)


@requires_memory
def show_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Show all preferences, as a table or as text for another program, or one in full."""
    given = parse_options(argument, valued=("--format",))
    form = given.options.get("--format", "table").lower()
    if form not in _FORMATS:
        return make_refusal(
            tr(
                "--format takes {formats}, not {form!r}; --json prints JSON",
                formats=tr(" or ").join(_FORMATS),
                form=form,
            )
        )
    if given.text:
        return _show_one(ctx, given.text)
    everything = ctx.memory.preferences.all()
    if form == "context":
        block = context_block(everything)
        return CommandResult(verbatim=block, data={"context": block})
    return _show_list(ctx, everything, given)


@requires_memory
def show_keywords(ctx: CommandContext, argument: str) -> CommandResult:
    """List every keyword with its number of preferences."""
    if argument:
        return make_refusal(tr("/prefs keywords takes no argument; /prefs recall WORD searches for one"))
    found = ctx.memory.preferences.keywords()
    if not found:
        return CommandResult(
            text=tr("No preference has keywords; `/prefs update ID --keywords a,b` adds some."), data={}
        )
    rows = tuple((word, str(number)) for word, number in found.items())
    return CommandResult(table=Table(columns=(tr("keyword"), tr("preferences")), rows=rows), data=found)


@requires_memory
def show_scenarios(ctx: CommandContext, argument: str) -> CommandResult:
    """List the task types with their number of preferences."""
    if argument:
        return make_refusal(tr("/prefs scenarios takes no argument; /scenario NAME sets the task type"))
    preferences = ctx.memory.preferences
    book, used = preferences.book, preferences.scenarios()
    rows = tuple(
        (name, str(number), ", ".join(book.aliases(name)), ", ".join(book.keywords(name)))
        for name, number in used.items()
    )
    data = {
        "scenarios": {
            name: {"preferences": number, "aliases": list(book.aliases(name)), "keywords": list(book.keywords(name))}
            for name, number in used.items()
        },
        "problem": book.problem,
    }
    table = Table(columns=(tr("task type"), tr("preferences"), tr("aliases"), tr("keywords")), rows=rows, wide_column=3)
    return CommandResult(text=f"{book.problem}." if book.problem else "", table=table, data=data)


@requires_memory
def show_preference_info(ctx: CommandContext, argument: str) -> CommandResult:
    """Show where preferences are stored, how many of each kind, and how they decay."""
    if argument:
        return make_refusal(tr("/prefs info takes no argument"))
    preferences = ctx.memory.preferences
    everything = preferences.all()
    bands = dict.fromkeys(SCORE_BANDS, 0)
    for one in everything:
        for name in find_score_bands(one.score):
            bands[name] += 1
    limits = sum(one.score <= HARD_LIMIT_SCORE for one in everything)
    rules = sum(one.record.explicit for one in everything)
    rows = (
        (tr("file"), str(preferences.path)),
        (
            tr("preferences"),
            tr(
                "{count}, of them {hard_limits}, {explicit_rules}",
                count=len(everything),
                hard_limits=tr_count(limits, "hard limit"),
                explicit_rules=tr_count(rules, "explicit rule"),
            ),
        ),
        (tr("by band"), ", ".join(f"{name} {number}" for name, number in bands.items())),
        (
            tr("decay"),
            tr(
                "half-life {half_life_days:g} days, floor {floor:g}",
                half_life_days=preferences.fading.half_life_days,
                floor=preferences.fading.floor,
            ),
        ),
        (tr("task type"), ctx.memory.scenario or tr("detected per turn")),
    )
    data = {
        "file": str(preferences.path),
        "count": len(everything),
        "hard_limits": limits,
        "explicit": rules,
        "bands": bands,
        "half_life_days": preferences.fading.half_life_days,
        "floor": preferences.fading.floor,
    }
    return CommandResult(
        text=tr("Bands overlap, so one preference may count twice."),
        table=Table(columns=("", ""), rows=rows, wide_column=1),
        data=data,
    )


def _show_one(ctx: CommandContext, wanted: str) -> CommandResult:
    preferences = ctx.memory.preferences
    one = find_weighed(preferences, preferences.find(wanted).id)
    record = one.record
    authors = {"user": "you", "model": tr("the model"), "tool": "a tool"}
    by = authors[record.provenance.asserted_by] if record.provenance else tr("unknown")
    rows = [
        (tr("what"), record.content),
        (tr("score"), f"{one.score:g}, {describe_strength(one)} ({', '.join(one.bands)})"),
        (tr("weight"), tr("{weight:.2f} now, decay {coefficient:.2f}", weight=one.weight, coefficient=one.coefficient)),
        (tr("reason"), record.reason),
        (tr("keywords"), ", ".join(record.keywords)),
        (tr("for"), ", ".join(record.scenarios)),
        (tr("stated"), tr("as a rule, by {by}", by=by) if record.explicit else tr("not as a rule, by {by}", by=by)),
        (tr("added"), format_date(record.created)),
        (
            tr("confirmed"),
            ", ".join(
                (
                    f"{format_date(record.seen)} ({format_time_ago(time.time(), record.seen)})",
                    tr_count(record.touch_count, "use"),
                )
            ),
        ),
    ]
    table = Table(columns=(tr("id"), record.id), rows=tuple(row for row in rows if row[1]), wide_column=1)
    return CommandResult(table=table, data=make_preference_data(one))


def _show_list(
    ctx: CommandContext, found: Sequence[Weighed], given: ParsedArguments, of: int | None = None
) -> CommandResult:
    preferences = ctx.memory.preferences
    data = [make_preference_data(one) for one in found]
    hint = _describe_unknown_scenario(ctx, given)
    if not found:
        nothing = f"No matching preferences. {hint}".strip() if preferences.all() else tr(_NOTHING)
        return CommandResult(text=nothing, data=data)
    shown = (
        tr("{preferences}, {count} shown.", preferences=tr_count(of, "preference"), count=len(found))
        if of and of > len(found)
        else ""
    )
    text = " ".join(part for part in (shown or f"{tr_count(len(found), 'preference')}.", hint) if part)
    return CommandResult(text=text, table=make_preference_table(found, time.time()), data=data)


def _describe_unknown_scenario(ctx: CommandContext, given: ParsedArguments) -> str:
    """Return a list of known task types if an unknown one was given."""
    name = given.options.get("--scenario")
    book = ctx.memory.preferences.book
    if name is None or book.knows(name) or name.lower() in ctx.memory.preferences.scenarios():
        return ""
    return tr(
        "There is no task type {name}; {suggest_name}",
        name=quote_code(name),
        suggest_name=suggest_name(name, book.names),
    )


def _parse_types(given: ParsedArguments) -> tuple[str, ...]:
    raw = given.options.get("--type")
    return () if raw is None or not split_list(raw) else parse_bands(raw)


ALWAYS_SCORE, NEVER_SCORE = 10.0, 0.5
_TOUCHES: dict[Touch, str] = {
    "touched": "confirmed",
    "cooldown": mark("confirmed already within the last 12 hours"),
    "not_found": mark("not found"),
}


@requires_memory
def add_preference(ctx: CommandContext, argument: str) -> CommandResult:
    """Add a preference of the user, or reinforce the existing one of that name."""
    return save_preference(ctx, argument, "user")


def save_preference(ctx: CommandContext, argument: str, scope: Scope) -> CommandResult:
    """Add a preference to a scope, or reinforce the existing one of that name. argument: that of `/prefs add`."""
    given = parse_options(
        argument,
        switches=("--rule",),
        valued=("--score", "--reason", "--keywords", "--scenarios", "--importance"),
        short=_SHORT_OPTIONS,
    )
    item, reason = _parse_item_and_reason(ctx, given)
    stance = stance_of(item)
    by_words = {"never": NEVER_SCORE, "always": ALWAYS_SCORE}.get(stance or "", DEFAULT_SCORE)
    given_score = parse_score(given, "--score")
    score = by_words if given_score is None else given_score
    # A rule is set as stated; other scores are averaged with the earlier one (0.6 new, 0.4 old).
    explicit = "--rule" in given.options or stance is not None or score <= HARD_LIMIT_SCORE
    importance = given.options.get("--importance")
    preferences = ctx.memory.preferences if scope == "user" else ctx.memory.project_preferences
    done = preferences.add(
        item,
        reason,
        score,
        keywords=_parse_list(ctx, given, "--keywords") or (),
        scenarios=_parse_list(ctx, given, "--scenarios") or (),
        explicit=explicit,
        importance=None if importance is None else parse_number(importance, "--importance", low=0, high=1),
        provenance=make_user_provenance(ctx),
    )
    one = find_weighed(preferences, done.record.id)
    data = {"action": done.action, "preference": make_preference_data(one)}
    return CommandResult(
        text=tr(
            "{saved}: {content} (score {score:g}, {strength}){note_limit} · `/memory undo`{note_score}",
            saved=_describe_saved(done, score, scope),
            content=quote_code(done.record.content),
            score=one.score,
            strength=describe_strength(one),
            note_score=_note_score(done, score),
            note_limit=_note_limit(ctx, done),
        ),
        data=data,
    )


@requires_memory
def update_preference(ctx: CommandContext, argument: str) -> CommandResult:
    """Set the given fields of one preference."""
    given = parse_options(
        argument, valued=("--item", "--reason", "--score", "--keywords", "--scenarios"), short=_SHORT_OPTIONS
    )
    if not given.text:
        return make_refusal(tr("Which preference? Write /prefs update ID --score 8; /prefs shows the ids"))
    preferences = ctx.memory.preferences
    before = preferences.find(given.text)
    fields: dict[str, Any] = {
        "item": _clean(ctx, given.options.get("--item")),
        "reason": _clean(ctx, given.options.get("--reason")),
        "score": parse_score(given, "--score"),
        "keywords": _parse_list(ctx, given, "--keywords"),
        "scenarios": _parse_list(ctx, given, "--scenarios"),
    }
    if all(value is None for value in fields.values()):
        return make_refusal(tr("Nothing to change; give one of --item, --reason, --score, --keywords, --scenarios"))
    after = preferences.update(before.id, **fields)
    one = find_weighed(preferences, after.id)
    return CommandResult(
        text=(
            tr(
                "Changed in user memory: {content} (score {score:g}, {strength}) · `/memory undo`",
                content=quote_code(after.content),
                score=one.score,
                strength=describe_strength(one),
            )
        ),
        data=make_preference_data(one),
    )


@requires_memory
def apply_preference(ctx: CommandContext, argument: str) -> CommandResult:
    """Record which preferences were used; each is reinforced at most once in twelve hours."""
    words = parse_options(argument).words
    if not words:
        return make_refusal(tr("Which were used? Write /prefs apply ID, or several ids; /prefs shows them"))
    preferences = ctx.memory.preferences
    ids = {word: _complete_id(ctx, word) for word in dict.fromkeys(words)}
    results = dict(preferences.apply(list(ids.values())))
    if set(results.values()) == {"not_found"}:
        return make_refusal(
            tr("There is no preference {item!r}; /prefs recall searches, /prefs apply takes ids", item=words[0])
        )
    rows = tuple((word, tr(_TOUCHES[results[id]])) for word, id in ids.items())
    data = [{"id": id, "status": status} for id, status in results.items()]
    touched = sum(status == "touched" for status in results.values())
    table = Table(columns=(tr("id"), ""), rows=rows, wide_column=1)
    return CommandResult(
        text=tr("{preferences} confirmed.", preferences=tr_count(touched, "preference")), table=table, data=data
    )


@requires_memory
def touch_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Record the use of one preference, found by its text."""
    item = parse_options(argument).text
    if not item:
        return make_refusal(tr("Which preference? Write /prefs touch ITEM; /prefs apply takes ids"))
    status = ctx.memory.preferences.touch(item)
    if status == "not_found":
        return make_refusal(
            tr("There is no preference {item!r}; /prefs recall searches, /prefs apply takes ids", item=item)
        )
    return CommandResult(text=f"{quote_code(item)}: {tr(_TOUCHES[status])}.", data={"item": item, "status": status})


@requires_memory
def remove_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Move a preference to the archive."""
    wanted = parse_options(argument).text
    if not wanted:
        return make_refusal(tr("Which preference? Write /prefs remove ID, or its text; /prefs shows them"))
    preferences = ctx.memory.preferences
    one = find_weighed(preferences, preferences.find(wanted).id)
    preferences.remove(one.record.id)
    return CommandResult(
        text=tr("Moved to the archive: {content} · `/memory undo`", content=quote_code(one.record.content)),
        data={"removed": make_preference_data(one)},
    )


@requires_memory
def clear_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Move all preferences to the archive; asks first."""
    given = parse_options(argument, switches=("--yes",))
    if given.words:
        return make_refusal(tr("/prefs clear takes only --yes; /prefs remove removes one"))
    preferences = ctx.memory.preferences
    everything = preferences.all()
    if not everything:
        return CommandResult(text=tr("There are no preferences."), data={"cleared": 0})
    if "--yes" not in given.options:
        limits = sum(one.score <= HARD_LIMIT_SCORE for one in everything)
        question = tr(
            "Clear {preferences}, {hard_limits} among them?",
            preferences=tr_count(len(everything), "preference"),
            hard_limits=tr_count(limits, "hard limit"),
        )
        return CommandResult(follow_up=Confirm(question=question, then="/prefs clear --yes"))
    number = preferences.clear()
    return CommandResult(
        text=tr("Cleared {preferences} · `/memory undo`", preferences=tr_count(number, "preference")),
        data={"cleared": number},
    )


def _parse_item_and_reason(ctx: CommandContext, given: ParsedArguments) -> tuple[str, str]:
    """Return item and reason: an unquoted text is the item; of two quoted texts, the second is the reason."""
    quoted = given.words_as_typed.split() != list(given.words)  # parsing removed quotes, so there were some
    reason = given.options.get("--reason", "")
    item = given.text
    if quoted and len(given.words) == 2:
        item = given.words[0]
        reason = reason or given.words[1]
    elif quoted and len(given.words) > 2:
        raise UsageError(tr("/prefs add takes an item and a reason; put quotes around each, or give --reason"))
    if not item.strip():
        raise UsageError(tr("Which preference? Write /prefs add ITEM, such as /prefs add never use tabs"))
    return ctx.redactor.redact(item).text, ctx.redactor.redact(reason).text


def _describe_saved(done: Saved, score: float, scope: Scope) -> str:
    if done.action == "new":
        return tr("Saved to user memory") if scope == "user" else tr("Saved to project memory")
    if done.record.score != score:
        return tr("Confirmed")
    return tr("Changed in user memory") if scope == "user" else tr("Changed in project memory")


def _note_score(done: Saved, score: float) -> str:
    """Return a note on unexpected effects: scores are averaged, and rules stay."""
    if done.other is None or done.record.score == score:
        return ""
    if done.record.score == done.other.score and done.other.explicit:
        return tr(" It is a rule, so its score is unchanged; `/prefs update ID --score X` sets another.")
    return tr(
        " Its score was {score:g}; the result is 60 % of the new score and 40 % of the old one.", score=done.other.score
    )


def _note_limit(ctx: CommandContext, done: Saved) -> str:
    """Return a note if a hard limit exists on the same item, which a new preference does not lift."""
    about = extract_subject(done.record.content)
    books = (ctx.memory.preferences, ctx.memory.project_preferences)
    limits = [limit for book in books for limit in book.hard_limits() if extract_subject(limit.content) == about]
    others = [limit.content for limit in limits if limit.id != done.record.id]
    return tr(". The hard limit {others} still applies", others=quote_code(others[0])) if others else ""


def _complete_id(ctx: CommandContext, word: str) -> str:
    """Return the id of the preference that a shortened id or a text names; the word itself if there is none."""
    try:
        return ctx.memory.preferences.find(word).id
    except UserError:
        return word


def _clean(ctx: CommandContext, text: str | None) -> str | None:
    return None if text is None else ctx.redactor.redact(text).text


def _parse_list(ctx: CommandContext, given: ParsedArguments, option: str) -> list[str] | None:
    raw = given.options.get(option)
    return None if raw is None else [ctx.redactor.redact(part).text for part in split_list(raw)]


_SETTINGS = {"set-half-life": "preference_half_life_days", "set-floor": "preference_floor"}


@requires_memory
def configure_preferences(ctx: CommandContext, argument: str) -> CommandResult:
    """Show or change how preferences decay."""
    words = parse_options(argument).words
    match [words[0].lower(), *words[1:]] if words else ["show"]:
        case ["show"]:
            return _show_decay(ctx, "")
        case [("set-half-life" | "set-floor") as verb, value]:
            return _store_setting_value(ctx, _SETTINGS[verb], value)
        case _:
            return make_refusal(tr("/prefs config takes show, set-half-life DAYS or set-floor SHARE"))


def suggest_config(ctx: CommandContext) -> list[Suggestion]:
    """Complete the forms of the argument."""
    return [
        Suggestion(text="show", note=tr("how preferences decay")),
        Suggestion(text="set-half-life ", note=tr("days, above 0")),
        Suggestion(text="set-floor ", note=tr("from 0 to below 1")),
    ]


def _store_setting_value(ctx: CommandContext, name: str, value: str) -> CommandResult:
    path = home_config(ctx.loaded.home)
    store_setting(path, name, value)
    origin = _get_origin(ctx, name)
    elsewhere = origin != "default" and Path(origin.rpartition(":")[0]).expanduser() != path
    preferences = ctx.memory.preferences
    before = preferences.fading
    days = float(value) if name == "preference_half_life_days" else before.half_life_days
    floor = float(value) if name == "preference_floor" else before.floor
    shown = display_path(path, project=None, user_home=user_home(os.environ))
    if elsewhere:  # a flag or the project's file overrides the value, so this run keeps the one in use
        return _show_decay(ctx, tr("Written to {path}, but {origin} overrides it.", path=shown, origin=origin))
    preferences.fading = Fading(half_life_days=days, floor=floor)
    return _show_decay(ctx, tr("Written to {path}.", path=shown), {name: shown})


def _show_decay(ctx: CommandContext, text: str, said_by: Mapping[str, str] | None = None) -> CommandResult:
    fading = ctx.memory.preferences.fading
    said = {name: _get_origin(ctx, name) for name in _SETTINGS.values()} | dict(said_by or {})
    rows = (
        (
            tr("half-life"),
            tr("{half_life_days:g} days", half_life_days=fading.half_life_days),
            said["preference_half_life_days"],
        ),
        (tr("floor"), f"{fading.floor:g}", said["preference_floor"]),
    )
    data = {"half_life_days": fading.half_life_days, "floor": fading.floor}
    return CommandResult(
        text=text, table=Table(columns=("", tr("value"), tr("from")), rows=rows, wide_column=2), data=data
    )


def _get_origin(ctx: CommandContext, name: str) -> str:
    return ctx.loaded.origins.get(name, "default")


AUTO = "auto"


@requires_memory
def set_scenario(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the task type, set one, or let it be detected in each turn."""
    book = ctx.memory.preferences.book
    wanted = argument.strip().lower()
    if wanted and wanted != AUTO:
        if not book.knows(wanted):
            return make_refusal(
                tr(
                    "There is no task type {argument!r}; {suggest_name}",
                    argument=argument.strip(),
                    suggest_name=suggest_name(wanted, [*book.names, AUTO]),
                )
            )
        ctx.memory.scenario = book.resolve(wanted)
    elif wanted == AUTO:
        ctx.memory.scenario = None
    named = ctx.memory.scenario
    state = (
        tr("The task type is {named} until `/scenario auto`.", named=quote_code(named))
        if named
        else tr("The task type is detected per turn.")
    )
    problem = f" {book.problem}." if book.problem else ""
    choice = (
        ""
        if wanted
        else tr(" Task types: {names}; `/scenario NAME` sets one.", names=", ".join(map(quote_code, book.names)))
    )
    data = {"scenario": named, "names": list(book.names), "problem": book.problem}
    return CommandResult(text=f"{state}{choice}{problem}", data=data)


def _suggest(ctx: CommandContext) -> Iterable[Suggestion]:
    yield from (Suggestion(text=name) for name in scenario_names(ctx))
    yield Suggestion(text=AUTO, note=tr("detected per turn"))


SCENARIO = (
    Command(
        name="scenario",
        argument="[NAME|auto]",
        summary=mark("set the task type, for preferences that depend on it"),
        handler=set_scenario,
        suggest=_suggest,
    ),
)


_FIELDS = ("--score", "--reason", "--keywords", "--scenarios")
_FIELDS_FORM = mark("[--score X] [--reason TEXT] [--keywords a,b] [--scenarios a,b]")

PREFS = (
    Command(
        name="prefs",
        aliases=("preferences", "pref"),
        summary=mark("what you like, dislike and forbid, in all projects"),
        handler=show_preferences,
        subcommands=(
            Command(
                name="add",
                argument=f"ITEM {_FIELDS_FORM} [--rule]",
                summary=mark("add a preference; never … and always … are rules"),
                handler=add_preference,
                suggest_word=suggest_filters(*_FIELDS, "--rule"),
            ),
            Command(
                name="top",
                argument="[N] [--type BANDS] [--scenario NAME]",
                summary=mark("those with the highest weight"),
                handler=show_top_preferences,
                suggest_word=suggest_filters("--type", "--scenario"),
            ),
            Command(
                name="show",
                argument="[ID] [--format context]",
                summary=mark("all preferences, or one in full"),
                handler=show_preferences,
                suggest=suggest_items,
                suggest_word=suggest_filters("--format"),
            ),
            Command(
                name="recall",
                argument="[QUERY] [--type BANDS] [--scenario NAME] [--min-score X] [--limit N] [--touch]",
                summary=mark("search preferences"),
                handler=recall_preferences,
                suggest_word=suggest_filters("--type", "--scenario", "--min-score", "--limit", "--touch"),
            ),
            Command(
                name="update",
                argument=f"ID [--item TEXT] {_FIELDS_FORM}",
                summary=mark("change fields of one"),
                handler=update_preference,
                suggest_word=lambda ctx, argument: (
                    *suggest_prefs(ctx, argument),
                    *(suggest_filters("--item", *_FIELDS)(ctx, argument) if " " in argument else ()),
                ),
            ),
            Command(
                name="apply",
                argument="ID…",
                summary=mark("confirm those that were used"),
                handler=apply_preference,
                suggest_word=suggest_several_prefs,
            ),
            Command(
                name="touch",
                argument="ITEM",
                summary=mark("confirm one by its text"),
                handler=touch_preferences,
                suggest=suggest_items,
            ),
            Command(
                name="remove",
                argument="ID",
                summary=mark("archive one"),
                handler=remove_preferences,
                suggest=suggest_items,
                suggest_word=suggest_prefs,
            ),
            Command(name="keywords", summary=mark("all keywords, how often each is used"), handler=show_keywords),
            Command(
                name="scenarios",
                summary=mark("the task types and how many preferences each has"),
                handler=show_scenarios,
            ),
            Command(name="info", summary=mark("number, file and decay"), handler=show_preference_info),
            Command(
                name="config",
                argument="[show|set-half-life DAYS|set-floor SHARE]",
                summary=mark("show or set the decay"),
                handler=configure_preferences,
                suggest=suggest_config,
            ),
            Command(
                name="clear",
                argument="[--yes]",
                summary=mark("archive all"),
                handler=clear_preferences,
                suggest_word=suggest_filters("--yes"),
            ),
        ),
    ),
)
