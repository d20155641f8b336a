"""/style: response styles, and what was learned about them."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clio.commands.arguments import parse_options
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Confirm,
    Suggestion,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.feedback_commands import format_votes
from clio.commands.memory.memory_text import format_short_age, format_time_ago, requires_memory, suggest_options
from clio.errors import ClioError
from clio.memory.styles.style_state import DIMENSIONS, StyleSkill, Trigger
from clio.storage.files import write_atomic
from clio.text.formatting import format_bytes
from clio.text.scoring import DAY_S
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.memory.styles.selection import Choice, StyleScore
    from clio.memory.styles.style_state import Earned
    from clio.memory.styles.styles import Styles, StyleView

OFF = mark("Response styles are off. `/style on` lets clio choose one for each answer, and learn from `+` and `-`.")
_LEAST_TASTE = 0.05
"""How far from the middle a dimension must be to be listed as the user's taste."""
_TASTES = 4

BUILT_IN_SUMMARIES = (
    mark("relaxed, like a colleague at the next desk"),
    mark("the answer in as few words as it takes"),
    mark("the whole picture: causes, limits and alternatives"),
    mark("warm and patient, says what works and what is already solved"),
    mark("technical and exact: names, versions, lines and limits"),
    mark("the answer, then what to think of next"),
    mark("what was asked, and nothing else"),
    mark("findings by severity, each with its place, its reason and a remedy"),
    mark("key points first, as a short list"),
    mark("explains step by step, with an example, so that it is understood"),
)
"""What the styles in `prompts/styles` say of themselves."""


@requires_memory
def show_style_state(ctx: CommandContext, argument: str) -> CommandResult:
    """Show whether styles are on, the style of the last answer, and what was learned."""
    if argument:
        return make_refusal(
            tr(
                "/style: unknown argument {argument!r}; /style use NAME sets one style for every answer",
                argument=argument,
            )
        )
    styles = ctx.memory.styles
    views = styles.views()
    data = {
        "on": styles.is_on,
        "pinned": styles.pinned,
        "last": _make_last_data(styles),
        "styles": msgspec.to_builtins(list(views)),
    }
    if not styles.is_on:
        rated = sum(one.ratings for view in views for one in view.earned.values())
        kept = (
            tr(" What was learned from {ratings} is kept.", ratings=tr_count(round(rated), "rating"))
            if rated >= 1
            else ""
        )
        return CommandResult(text=tr(OFF) + kept, data=data)
    lines = [
        _describe_selection(styles),
        _describe_last_style(styles),
        *_list_favourites(views),
        *_describe_problems(styles),
    ]
    return CommandResult(text="\n\n".join(line for line in lines if line), data=data)


@requires_memory
def list_styles(ctx: CommandContext, argument: str) -> CommandResult:
    """List every style with its ratings."""
    if argument:
        return make_refusal(tr("/style list takes no argument; /style show NAME shows one in full"))
    styles = ctx.memory.styles
    views = styles.views()
    last = styles.current.skill.id if styles.current else None
    now = time.time()
    rows = tuple(
        (
            "●" if view.skill.id == (styles.pinned or last) else "",
            _name_with_owner(view.skill, is_from_project=styles.is_from_project(view.skill)),
            tr(view.skill.summary) or view.skill.name,
            _sum_ratings(view.earned.values()),
            _format_confidences(view.earned.values()),
            f"{view.use.count:,} · {format_short_age(now, view.use.last)}" if view.use.count else "",
        )
        for view in views
    )
    own = sum(not view.skill.built_in and not styles.is_from_project(view.skill) for view in views)
    mark = tr("● used for every answer") if styles.pinned else tr("● used for the last answer") if last else ""
    notes = [note for note in (mark, tr("* your own") if own else "") if note]
    text = f"{tr_count(len(views), 'style')}{('; ' + ', '.join(notes) if notes else '')}."
    return CommandResult(
        text="\n\n".join([text if styles.is_on else f"{tr(OFF)} {text}", *_describe_problems(styles)]),
        table=Table(
            columns=("", tr("style"), tr("description"), tr("rated"), tr("confidence"), tr("used")),
            rows=rows,
            wide_column=2,
            is_truncated=True,
        ),
        data=msgspec.to_builtins(list(views)),
    )


@requires_memory
def explain_style(ctx: CommandContext, argument: str) -> CommandResult:
    """Explain how the style of the last answer was chosen: every style, its weight, and what was learned there."""
    if argument:
        return make_refusal(tr("/style why takes no argument; it explains the last answer"))
    styles = ctx.memory.styles
    choice = styles.why()
    if choice is None:
        return CommandResult(text=tr(OFF) if not styles.is_on else tr("No answer had a style yet."), data=None)
    bucket = choice.situation.bucket
    tastes = styles.state().vector(bucket)
    data = msgspec.to_builtins(choice) | {
        "bucket": bucket,
        "likes": dict(zip(DIMENSIONS, (round(value, 3) for value in tastes), strict=True)),
    }
    off = "" if styles.is_on else tr("Styles are off now. ")
    paragraphs = [
        off + _describe_choice(choice),
        _describe_chance(choice),
        _describe_tastes(tastes),
        _describe_left_out(choice.arms),
    ]
    rows = tuple(_make_arm_row(arm, choice) for arm in choice.arms if not arm.left_out)
    columns = ("", tr("style"), "intent+time+mood+topic", tr("rated"), "conf.", tr("draw"), tr("fit"), tr("score"))
    return CommandResult(
        text="\n\n".join(line for line in paragraphs if line),
        table=Table(columns=columns, rows=rows, wide_column=1) if rows else None,
        data=data,
    )


@requires_memory
def show_style(ctx: CommandContext, argument: str) -> CommandResult:
    """Show one style in full: when it applies, its description, its prompt text, its ratings."""
    styles = ctx.memory.styles
    if not argument:
        return make_refusal(tr("Which style? Write /style show NAME; /style list has the names"))
    wanted = styles.find(argument).id
    view = next(one for one in styles.views() if one.skill.id == wanted)
    skill = view.skill
    sound = [f"{name} {value:.2f}" for name, value in _mark_names(skill.dimensions)]
    rows = [
        (tr("name"), skill.name),
        (tr("fits"), _format_fit(skill.trigger)),
        (tr("sounds"), ", ".join(sound) or tr("neutral: every dimension is 0.5")),
        (tr("prompt text"), skill.text),
        *(
            (
                tr("with {intent}", intent=intent),
                tr(
                    "{votes}, confidence {confidence:.2f}",
                    votes=format_votes(one.ups, one.downs),
                    confidence=one.confidence,
                ),
            )
            for intent, one in view.earned.items()
        ),
        (
            tr("used"),
            tr(
                "{times}, last {time_ago}",
                times=tr_count(view.use.count, "time"),
                time_ago=format_time_ago(time.time(), view.use.last),
            )
            if view.use.count
            else "",
        ),
        (tr("from"), tr("built in") if skill.built_in else skill.source),
    ]
    table = Table(columns=(skill.id, tr(skill.summary)), rows=tuple(row for row in rows if row[1]), wide_column=1)
    return CommandResult(table=table, data=msgspec.to_builtins(view))


def suggest_styles(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the ids of styles."""
    return (Suggestion(text=one.id, note=tr(one.summary)) for one in _list_completed_styles(ctx))


def suggest_own_styles(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the ids of styles that are not built in."""
    return (Suggestion(text=one.id, note=tr(one.summary)) for one in _list_completed_styles(ctx) if not one.built_in)


def _list_completed_styles(ctx: CommandContext) -> Sequence[StyleSkill]:
    try:
        return () if ctx.config.incognito else ctx.memory.styles.skills().skills
    except (ClioError, OSError):
        return ()  # the command reports a damaged file; completion does not


def _describe_selection(styles: "Styles") -> str:
    pinned = styles.pinned
    if pinned:
        return tr(
            "Every answer uses {pinned}, as you chose; `/style auto` lets clio choose again.", pinned=quote_code(pinned)
        )
    return tr("Styles are on: clio chooses one for each answer, and learns from `+` and `-`.")


def _describe_last_style(styles: "Styles") -> str:
    choice = styles.why()
    if choice is None or choice.chosen is None:
        return "" if choice is None else tr("No style fitted the last answer.")
    tried = tr(", tried out") if choice.explored else ""
    return tr(
        "The last answer: {chosen}{tried}, for {bucket}; `/style why` explains it.",
        chosen=quote_code(choice.chosen),
        tried=tried,
        bucket=choice.situation.bucket,
    )


def _list_favourites(views: "Sequence[StyleView]") -> Iterable[str]:
    """Yield the best rated style for each intent that has ratings."""
    best: dict[str, tuple[float, str, Earned]] = {}
    for view in views:
        for intent, one in view.earned.items():
            # With one vote of each kind added, a single good rating does not beat nine of ten.
            mean = (1 + one.ups) / (2 + one.ups + one.downs)
            if mean > best.get(intent, (0.5,))[0]:
                best[intent] = (mean, view.skill.id, one)
    parts = [
        f"{intent} {quote_code(id)} {format_votes(one.ups, one.downs)}" for intent, (_, id, one) in sorted(best.items())
    ]
    if parts:
        yield tr("Best rated: {parts}.", parts=", ".join(parts))


def _describe_problems(styles: "Styles") -> Iterable[str]:
    return (tr("Not read: {problem}.", problem=problem) for problem in styles.skills().problems)


def _describe_choice(choice: "Choice") -> str:
    situation = choice.situation
    kind = f"{situation.intent} · {situation.sentiment} · {situation.time_of_day}"
    if choice.chosen is None:
        return tr("No style fitted the last answer ({kind}).", kind=kind)
    how = tr("you chose it") if choice.pinned else tr("tried out") if choice.explored else tr("it scored best")
    when = time.time() - choice.at
    age = f", {format_time_ago(time.time(), choice.at)}" if choice.at and when > DAY_S else ""
    return tr(
        "{chosen} for the last answer{age}: {how}. Classified as {kind}.",
        chosen=quote_code(choice.chosen),
        age=age,
        how=how,
        kind=kind,
    )


def _describe_chance(choice: "Choice") -> str:
    if choice.pinned:
        return ""
    known = (
        tr("{answers} with this intent rated", answers=tr_count(round(choice.ratings), "answer"))
        if choice.ratings >= 0.5
        else tr("None rated")
    )
    rolled = tr("this one did") if choice.explored else tr("this one did not")
    return tr(
        "{known}; {epsilon:.0%} of the answers try any style that fits, and {rolled}.",
        known=known,
        epsilon=choice.epsilon,
        rolled=rolled,
    )


def _describe_tastes(vector: Sequence[float]) -> str:
    marked = [f"{name.replace('_', ' ')} {value:.2f}" for name, value in _mark_names(vector)][:_TASTES]
    return tr("Your learned preferences there (0.50 is neutral): {marked}.", marked=", ".join(marked)) if marked else ""


def _describe_left_out(arms: "Sequence[StyleScore]") -> str:
    """Return the styles that could not be chosen, by reason."""
    reasons: dict[str, list[str]] = {}
    for arm in arms:
        if arm.left_out:
            reasons.setdefault(arm.left_out, []).append(arm.id)
    parts = [f"{', '.join(ids)} ({reason})" for reason, ids in reasons.items()]
    return tr("Left out: {parts}.", parts="; ".join(parts)) if parts else ""


def _mark_names(vector: Sequence[float]) -> list[tuple[str, float]]:
    """Return the dimensions far from the middle, the farthest first."""
    named = [pair for pair in zip(DIMENSIONS, vector, strict=True) if abs(pair[1] - 0.5) >= _LEAST_TASTE]
    return sorted(named, key=lambda pair: -abs(pair[1] - 0.5))


def _make_arm_row(arm: "StyleScore", choice: "Choice") -> tuple[str, ...]:
    parts = "+".join(_shorten(part) for part in (arm.intent, arm.time, arm.sentiment, arm.topic))
    return (
        "●" if arm.id == choice.chosen else "",
        arm.id,
        f"{parts} = {_shorten(arm.trigger)}",
        format_votes(arm.ups, arm.downs) if arm.ups or arm.downs else "–",
        _shorten(arm.confidence),
        _shorten(arm.sample),
        _shorten(arm.aligned),
        _shorten(arm.score),
    )


def _shorten(value: float) -> str:
    """Format with two digits and no zero before them: ".40", "1"."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"


def _format_fit(trigger: Trigger) -> str:
    parts = [
        f"{name} {', '.join(values)}"
        for name, values in (("intent", trigger.intents), ("time", trigger.times), ("mood", trigger.sentiments))
        if values
    ]
    topics = tr("; topics {topics}", topics=", ".join(trigger.topics)) if trigger.topics else ""
    return "; ".join(parts) + topics


def _sum_ratings(rated: "Iterable[Earned]") -> str:
    kept = list(rated)
    return format_votes(sum(one.ups for one in kept), sum(one.downs for one in kept)) if kept else ""


def _format_confidences(rated: "Iterable[Earned]") -> str:
    """Return the range of confidence over the intents, lowest to highest."""
    values = [one.confidence for one in rated]
    if not values:
        return ""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low}–{high}"


def _make_last_data(styles: "Styles") -> Any:
    choice = styles.why()
    if choice is None:
        return None
    return {
        "style": choice.chosen,
        "context": choice.situation.bucket,
        "explored": choice.explored,
        "pinned": choice.pinned,
    }


def _name_with_owner(skill: StyleSkill, *, is_from_project: bool) -> str:
    """Return the style's id, with its owner if it is not built in."""
    return skill.id if skill.built_in else tr("{id} (project)", id=skill.id) if is_from_project else f"{skill.id} *"


@requires_memory
def turn_styles_on(ctx: CommandContext, argument: str) -> CommandResult:
    """Use styles from the next turn on."""
    if argument:
        return make_refusal(tr("/style on takes no argument; /style use NAME sets one style for every answer"))
    styles = ctx.memory.styles
    styles.turn_on()
    number = len(styles.skills().skills)
    pinned = styles.pinned
    does = (
        tr("every answer uses {pinned}", pinned=quote_code(pinned))
        if pinned
        else tr("clio chooses one of {styles} for each answer", styles=tr_count(number, "style"))
    )
    text = tr(
        "Styles are on: from the next answer on {does}. Rate an answer with `+` or `-` and Enter "
        "on an empty line; `/style why` explains the choice.",
        does=does,
    )
    return CommandResult(text=text, data={"on": True, "pinned": styles.pinned})


@requires_memory
def turn_styles_off(ctx: CommandContext, argument: str) -> CommandResult:
    """Stop using styles."""
    if argument:
        return make_refusal(tr("/style off takes no argument"))
    styles = ctx.memory.styles
    styles.turn_off()
    text = tr("Styles are off. What was learned stays until `/style reset`.")
    return CommandResult(text=text, data={"on": False, "pinned": styles.pinned})


@requires_memory
def use_style(ctx: CommandContext, argument: str) -> CommandResult:
    """Use one style for every answer."""
    if not argument:
        return make_refusal(
            tr("Which style? Write /style use NAME; /style list has the names, /style auto lets clio choose")
        )
    if argument.lower() == "auto":
        return choose_style_again(ctx, "")
    skill = ctx.memory.styles.use(argument)
    assert skill is not None
    text = tr(
        "Every answer uses {id} from now on: {summary}. `/style auto` lets clio choose again.",
        id=quote_code(skill.id),
        summary=tr(skill.summary) or skill.name,
    )
    return CommandResult(text=text, data={"on": True, "pinned": skill.id})


@requires_memory
def choose_style_again(ctx: CommandContext, argument: str) -> CommandResult:
    """Let clio choose the style of each answer again."""
    if argument:
        return make_refusal(tr("/style auto takes no argument; /style use NAME sets one style for every answer"))
    ctx.memory.styles.use(None)
    return CommandResult(text=tr("clio chooses the style of each answer."), data={"on": True, "pinned": None})


@requires_memory
def reset_styles(ctx: CommandContext, argument: str) -> CommandResult:
    """Reset what was learned about one style or about all; asks before the latter."""
    given = parse_options(argument, switches=("--yes",))
    styles = ctx.memory.styles
    if given.text:
        skill = styles.find(given.text)
        styles.reset(skill.id)
        return CommandResult(
            text=tr("Deleted what was learned about {id}.", id=quote_code(skill.id)), data={"reset": [skill.id]}
        )
    rated = [view for view in styles.views() if view.earned]
    if not rated and not styles.state().vectors:
        return CommandResult(text=tr("Nothing has been learned about styles yet."), data={"reset": []})
    if "--yes" not in given.options:
        question = tr(
            "Forget everything learned about {styles}? This cannot be undone.", styles=tr_count(len(rated), "style")
        )
        return CommandResult(follow_up=Confirm(question=question, then="/style reset --yes"))
    styles.reset()
    return CommandResult(
        text=tr("Everything learned about styles was deleted; `/feedback` still lists the ratings."),
        data={"reset": [view.skill.id for view in rated]},
    )


@requires_memory
def delete_style(ctx: CommandContext, argument: str) -> CommandResult:
    """Delete the file of a style that is not built in; asks first."""
    given = parse_options(argument, switches=("--yes",))
    if not given.text:
        return make_refusal(
            tr("Which style? Write /style delete NAME; only styles that are not built in can be deleted")
        )
    styles = ctx.memory.styles
    skill = styles.find(given.text)
    if not skill.built_in and "--yes" not in given.options:
        question = tr("Delete {source}? This cannot be undone.", source=skill.source)
        return CommandResult(follow_up=Confirm(question=question, then=f"/style delete {skill.id} --yes"))
    path = styles.delete(skill.id)
    again = styles.skills().get(skill.id)
    built_in = (
        tr(" The {value}style of that name is used again.", value=tr("built-in ") if again.built_in else "")
        if again
        else ""
    )
    return CommandResult(
        text=tr("Deleted {path}.{built_in}", path=quote_code(str(path)), built_in=built_in), data={"deleted": str(path)}
    )


@requires_memory
def export_style(ctx: CommandContext, argument: str) -> CommandResult:
    """Write what was learned, and the styles that are not built in, to a file or to the screen."""
    given = parse_options(argument, switches=("--force",))
    if len(given.words) > 1:
        return make_refusal(
            tr("/style export takes one path, not {text!r}; put quotes around a path with spaces", text=given.text)
        )
    styles = ctx.memory.styles
    own = [skill for skill in styles.skills().skills if not skill.built_in]
    document = msgspec.to_builtins({"state": styles.state(), "skills": own})
    # The user's own styles are free text, and the file is made to be passed on.
    text = ctx.redactor.redact(msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8")).text
    if not given.words:
        return CommandResult(verbatim=text, data=msgspec.json.decode(text))
    path = Path(given.words[0]).expanduser()
    if path.is_dir():
        return make_refusal(
            tr(
                "{path!r} is a folder; name a file in it, such as {example!r}",
                path=str(path),
                example=str(path / "styles.json"),
            )
        )
    if path.exists() and "--force" not in given.options:
        return make_refusal(tr("{path!r} exists; --force replaces it", path=str(path)))
    if not path.parent.is_dir():
        return make_refusal(
            tr(
                "There is no folder {parent!r} to write {path!r} into; create it first",
                parent=str(path.parent),
                path=path.name,
            )
        )
    written = text.encode("utf-8") + b"\n"
    try:
        write_atomic(path, written)
    except OSError as error:
        return make_refusal(
            tr(
                "{path!r} cannot be written ({strerror}); choose a path you can write to",
                path=str(path),
                strerror=error.strerror,
            )
        )
    return CommandResult(
        text=tr(
            "Wrote what was learned about styles to {path} ({bytes}).",
            path=quote_code(str(path)),
            bytes=format_bytes(len(written)),
        ),
        data={"path": str(path), "bytes": len(written)},
    )


STYLE = (
    Command(
        name="style",
        aliases=("styles",),
        summary=mark("response styles, chosen per answer and learned from your ratings"),
        handler=show_style_state,
        subcommands=(
            Command(name="on", summary=mark("let clio choose the style of each answer"), handler=turn_styles_on),
            Command(name="off", summary=mark("no styles; what was learned stays"), handler=turn_styles_off),
            Command(name="list", summary=mark("the styles and their ratings"), handler=list_styles),
            Command(
                name="use",
                argument="NAME",
                summary=mark("use one style for every answer"),
                handler=use_style,
                suggest=suggest_styles,
            ),
            Command(name="auto", summary=mark("choose for each answer again"), handler=choose_style_again),
            Command(name="why", summary=mark("how the last answer's style was chosen"), handler=explain_style),
            Command(
                name="show",
                argument="NAME",
                summary=mark("show one in full"),
                handler=show_style,
                suggest=suggest_styles,
            ),
            Command(
                name="reset",
                argument="[NAME]",
                summary=mark("forget what was learned, of one or of all"),
                handler=reset_styles,
                suggest=suggest_styles,
            ),
            Command(
                name="export",
                argument="[PATH] [--force]",
                summary=mark("what was learned, and your own styles, as JSON"),
                handler=export_style,
                suggest_word=suggest_options(("--force", mark("replace the file that is there"))),
            ),
            Command(
                name="delete",
                argument="NAME",
                summary=mark("delete one of your own styles"),
                handler=delete_style,
                suggest=suggest_own_styles,
            ),
        ),
    ),
)
