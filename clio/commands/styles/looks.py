"""/style: looking at how answers are worded, why, and what was learned about that."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clio.algorithms.decay import DAY_S
from clio.commands.command import Shell, Suggestion
from clio.commands.markdown_code import code
from clio.commands.memory.access import remembers
from clio.commands.memory.words import ago, count, short_age
from clio.commands.result import CommandResult, refuse
from clio.commands.styles.feedback_words import earned
from clio.commands.tables import Table
from clio.errors import ClioError
from clio.memory.styles.skill import DIMENSIONS, StyleSkill, Trigger

if TYPE_CHECKING:  # the line can be typed on before these are needed
    from clio.memory.styles.chooser import ArmAccount, Choice
    from clio.memory.styles.state import Earned
    from clio.memory.styles.styles import Styles, StyleView

OFF = (
    "Styles are off: answers are worded as the model words them. `/style on` lets clio choose, and learn from `+` "
    "and `-`."
)
_LEAST_TASTE = 0.05
"""How far from the middle a dimension must be to be told as something the person likes."""
_TASTES = 4


@remembers
def state(shell: Shell, argument: str) -> CommandResult:
    """Whether styles are on, what the last answer had, and what was learned."""
    if argument:
        return refuse(f"/style does not know {argument!r}; /style use NAME gives every answer one style")
    styles = shell.memory.styles
    views = styles.views()
    data = {"on": styles.is_on, "pinned": styles.pinned, "last": _last_data(styles), "styles": _views_data(views)}
    if not styles.is_on:
        rated = sum(one.ratings for view in views for one in view.earned.values())
        kept = f" What {count(round(rated), 'rating')} taught is kept." if rated >= 1 else ""
        return CommandResult(text=OFF + kept, data=data)
    lines = [_how(styles), _last(styles), *_favourites(views), *_problems(styles)]
    return CommandResult(text="\n\n".join(line for line in lines if line), data=data)


@remembers
def list_styles(shell: Shell, argument: str) -> CommandResult:
    """Every style, with what it earned."""
    if argument:
        return refuse("/style list takes nothing; /style show NAME shows one whole")
    styles = shell.memory.styles
    views = styles.views()
    last = styles.current.skill.id if styles.current else None
    now = time.time()
    rows = tuple(
        (
            "●" if view.skill.id == (styles.pinned or last) else "",
            _name_with_owner(view.skill, is_projects=styles.is_projects(view.skill)),
            view.skill.summary or view.skill.name,
            _totals(view.earned.values()),
            _confidences(view.earned.values()),
            f"{view.use.count:,} · {short_age(now, view.use.last)}" if view.use.count else "",
        )
        for view in views
    )
    own = sum(not view.skill.built_in and not styles.is_projects(view.skill) for view in views)
    mark = "● every answer has it" if styles.pinned else "● the last answer had it" if last else ""
    notes = [note for note in (mark, "* your own" if own else "") if note]
    text = f"{count(len(views), 'style')}{'; ' + ', '.join(notes) if notes else ''}."
    return CommandResult(
        text="\n\n".join([text if styles.is_on else f"{OFF} {text}", *_problems(styles)]),
        table=Table(columns=("", "style", "what it is", "rated", "sure", "used"), rows=rows, wide=2, cut=True),
        data=_views_data(views),
    )


@remembers
def why(shell: Shell, argument: str) -> CommandResult:
    """How the style of the last answer was chosen: every style, how it was weighed, and what was learned there."""
    if argument:
        return refuse("/style why takes nothing; it tells of the last answer")
    styles = shell.memory.styles
    choice = styles.why()
    if choice is None:
        return CommandResult(text=OFF if not styles.is_on else "No answer had a style yet.", data=None)
    bucket = choice.situation.bucket
    tastes = styles.vector(bucket)
    data = msgspec.to_builtins(choice) | {
        "bucket": bucket,
        "likes": dict(zip(DIMENSIONS, (round(value, 3) for value in tastes), strict=True)),
    }
    off = "" if styles.is_on else "Styles are off now. "
    told = [off + _chosen_line(choice), _chance_line(choice), _tastes_line(tastes), _left_out_line(choice.arms)]
    rows = tuple(_arm_row(arm, choice) for arm in choice.arms if not arm.left_out)
    columns = ("", "style", "intent+time+mood+topic", "earned", "sure", "draw", "taste", "score")
    return CommandResult(
        text="\n\n".join(line for line in told if line),
        table=Table(columns=columns, rows=rows, wide=1) if rows else None,
        data=data,
    )


@remembers
def show(shell: Shell, argument: str) -> CommandResult:
    """One style whole: when it fits, how it sounds, what the model reads, what it earned."""
    styles = shell.memory.styles
    if not argument:
        return refuse("Which style? Write /style show NAME; /style list has the names")
    wanted = styles.find(argument).id
    view = next(one for one in styles.views() if one.skill.id == wanted)
    skill = view.skill
    sound = [f"{name} {value:.2f}" for name, value in _marked(skill.dimensions)]
    rows = [
        ("name", skill.name),
        ("fits", _fits(skill.trigger)),
        ("sounds", ", ".join(sound) or "like nothing in particular: every dimension is 0.5"),
        ("model reads", skill.text),
        *(
            (f"with {intent}", f"{earned(one.ups, one.downs)}, confidence {one.confidence:.2f}")
            for intent, one in view.earned.items()
        ),
        ("used", f"{count(view.use.count, 'time')}, last {ago(time.time(), view.use.last)}" if view.use.count else ""),
        ("from", "built in" if skill.built_in else skill.source),
    ]
    table = Table(columns=(skill.id, skill.summary), rows=tuple(row for row in rows if row[1]), wide=1)
    return CommandResult(table=table, data=_view_data(view))


def style_word(shell: Shell) -> str:
    """The last answer's style for the status line: "concise", "concise?" where it was tried out, "" without one."""
    if shell.config.incognito or shell.memory.is_off:
        return ""
    chosen = shell.memory.styles.current
    return f"{chosen.skill.id}{'?' if chosen.explored else ''}" if chosen else ""


def suggest_styles(shell: Shell) -> Iterable[Suggestion]:
    """The styles by their ids."""
    if shell.config.incognito:
        return ()
    try:
        return [Suggestion(text=one.id, note=one.summary) for one in shell.memory.styles.skills().skills]
    except (ClioError, OSError):
        return ()  # a damaged file is told by the command, not while its name is typed


def suggest_own_styles(shell: Shell) -> Iterable[Suggestion]:
    """Those that are not built in."""
    if shell.config.incognito:
        return ()
    try:
        own = (one for one in shell.memory.styles.skills().skills if not one.built_in)
        return [Suggestion(text=one.id, note=one.summary) for one in own]
    except (ClioError, OSError):
        return ()


def _how(styles: "Styles") -> str:
    pinned = styles.pinned
    if pinned:
        return f"Every answer is {code(pinned)}, as you said; `/style auto` lets clio choose again."
    return "Styles are on: clio chooses how each answer is worded, and learns from `+` and `-`."


def _last(styles: "Styles") -> str:
    choice = styles.why()
    if choice is None or choice.chosen is None:
        return "" if choice is None else "No style fitted the last answer."
    tried = ", tried out" if choice.explored else ""
    return f"The last answer: {code(choice.chosen)}{tried}, for {choice.situation.bucket}; `/style why` tells more."


def _favourites(views: "Sequence[StyleView]") -> Iterable[str]:
    """What earned most with each intent, as far as anything was rated."""
    best: dict[str, tuple[float, str, Earned]] = {}
    for view in views:
        for intent, one in view.earned.items():
            mean = (1 + one.ups) / (2 + one.ups + one.downs)
            if mean > best.get(intent, (0.5,))[0]:
                best[intent] = (mean, view.skill.id, one)
    parts = [f"{intent} {code(id)} {earned(one.ups, one.downs)}" for intent, (_, id, one) in sorted(best.items())]
    if parts:
        yield f"Liked best: {', '.join(parts)}."


def _problems(styles: "Styles") -> Iterable[str]:
    return (f"Not read: {problem}." for problem in styles.skills().problems)


def _chosen_line(choice: "Choice") -> str:
    situation = choice.situation
    kind = f"{situation.intent} · {situation.sentiment} · {situation.time_of_day}"
    if choice.chosen is None:
        return f"No style fitted the last answer ({kind})."
    how = "you named it" if choice.pinned else "tried out" if choice.explored else "it scored best"
    when = time.time() - choice.at
    age = f", {ago(time.time(), choice.at)}" if choice.at and when > DAY_S else ""
    return f"{code(choice.chosen)} for the last answer{age}: {how}. Taken for {kind}."


def _chance_line(choice: "Choice") -> str:
    if choice.pinned:
        return ""
    known = (
        f"{count(round(choice.ratings), 'answer')} with this intent rated" if choice.ratings >= 0.5 else "None rated"
    )
    rolled = "this one did" if choice.explored else "this one did not"
    return f"{known}; {choice.epsilon:.0%} of the answers try any style that fits, and {rolled}."


def _tastes_line(vector: Sequence[float]) -> str:
    marked = [f"{name.replace('_', ' ')} {value:.2f}" for name, value in _marked(vector)][:_TASTES]
    return f"Learned of your taste there, 0.50 being nothing: {', '.join(marked)}." if marked else ""


def _left_out_line(arms: "Sequence[ArmAccount]") -> str:
    """The styles that could not be chosen, by the reason."""
    reasons: dict[str, list[str]] = {}
    for arm in arms:
        if arm.left_out:
            reasons.setdefault(arm.left_out, []).append(arm.id)
    parts = [f"{', '.join(ids)} ({reason})" for reason, ids in reasons.items()]
    return f"Left out: {'; '.join(parts)}." if parts else ""


def _marked(vector: Sequence[float]) -> list[tuple[str, float]]:
    """The dimensions that are far from the middle, the farthest first."""
    named = [pair for pair in zip(DIMENSIONS, vector, strict=True) if abs(pair[1] - 0.5) >= _LEAST_TASTE]
    return sorted(named, key=lambda pair: -abs(pair[1] - 0.5))


def _arm_row(arm: "ArmAccount", choice: "Choice") -> tuple[str, ...]:
    parts = "+".join(_short(part) for part in (arm.intent, arm.time, arm.sentiment, arm.topic))
    return (
        "●" if arm.id == choice.chosen else "",
        arm.id,
        f"{parts} = {_short(arm.trigger)}",
        earned(arm.ups, arm.downs) if arm.ups or arm.downs else "–",
        _short(arm.confidence),
        _short(arm.sample),
        _short(arm.aligned),
        _short(arm.score),
    )


def _short(value: float) -> str:
    """Two digits and no zero before them: ".40", "1"."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"


def _fits(trigger: Trigger) -> str:
    parts = [
        f"{name} {', '.join(values)}"
        for name, values in (("intent", trigger.intents), ("time", trigger.times), ("mood", trigger.sentiments))
        if values
    ]
    topics = f"; topics {', '.join(trigger.topics)}" if trigger.topics else ""
    return "; ".join(parts) + topics


def _totals(rated: "Iterable[Earned]") -> str:
    kept = list(rated)
    return earned(sum(one.ups for one in kept), sum(one.downs for one in kept)) if kept else ""


def _confidences(rated: "Iterable[Earned]") -> str:
    """From the lowest to the highest over the intents."""
    values = [one.confidence for one in rated]
    if not values:
        return ""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low}–{high}"


def _last_data(styles: "Styles") -> Any:
    choice = styles.why()
    if choice is None:
        return None
    return {
        "style": choice.chosen,
        "context": choice.situation.bucket,
        "explored": choice.explored,
        "pinned": choice.pinned,
    }


def _views_data(views: "Iterable[StyleView]") -> list[Any]:
    return [_view_data(view) for view in views]


def _view_data(view: "StyleView") -> Any:
    return msgspec.to_builtins(view)


def _name_with_owner(skill: StyleSkill, *, is_projects: bool) -> str:
    """The style's id, with whose it is where it is not built in."""
    return skill.id if skill.built_in else f"{skill.id} (project)" if is_projects else f"{skill.id} *"
