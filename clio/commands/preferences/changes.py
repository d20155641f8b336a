"""/prefs: what changes what a person likes, dislikes and forbids. Each change can be taken back with /memory undo."""

from typing import Any

from clio.algorithms.bands import DEFAULT_SCORE, HARD_LIMIT
from clio.commands.arguments import Given, read
from clio.commands.command import Shell
from clio.commands.follow_ups import Confirm
from clio.commands.markdown_code import code
from clio.commands.memory.access import by_user, remembers
from clio.commands.memory.words import count, short_id
from clio.commands.preferences.words import parted, pref_data, score_of, standing, weighed
from clio.commands.result import CommandResult, refuse
from clio.commands.tables import Table
from clio.errors import UsageError
from clio.memory.preferences.book import Touch
from clio.memory.preferences.stance import stance_of, thing
from clio.memory.typed.record import Remembered

ALWAYS_SCORE, NEVER_SCORE = 10.0, 0.5
_TOUCHES: dict[Touch, str] = {
    "touched": "confirmed",
    "cooldown": "confirmed already within the last 12 hours",
    "not_found": "there is none",
}


@remembers
def add(shell: Shell, argument: str) -> CommandResult:
    """Note a preference, or reinforce the one of that name."""
    given = read(argument, switches=("--rule",), valued=("--score", "--reason", "--keywords", "--scenarios"))
    item, reason = _item_and_reason(shell, given)
    stance = stance_of(item)
    by_words = {"never": NEVER_SCORE, "always": ALWAYS_SCORE}.get(stance or "", DEFAULT_SCORE)
    given_score = score_of(given, "--score")
    score = by_words if given_score is None else given_score
    explicit = "--rule" in given.options or stance is not None or score <= HARD_LIMIT
    preferences = shell.memory.preferences
    done = preferences.add(
        item,
        reason,
        score,
        keywords=_list(shell, given, "--keywords") or (),
        scenarios=_list(shell, given, "--scenarios") or (),
        explicit=explicit,
        provenance=by_user(shell),
    )
    one = weighed(preferences, done.record.id)
    data = {"action": done.action, "preference": pref_data(one)}
    return CommandResult(
        text=f"{_added(done, score)}: {code(done.record.content)}, score {one.score:g}, {standing(one)}, id "
        f"{short_id(one.record)}.{_kept(done, score)}{_against(shell, done)} `/memory undo` takes that back.",
        data=data,
    )


@remembers
def update(shell: Shell, argument: str) -> CommandResult:
    """Set what is given of one preference."""
    given = read(argument, valued=("--item", "--reason", "--score", "--keywords", "--scenarios"))
    if not given.text:
        return refuse("Which preference? Write /prefs update ID --score 8; /prefs shows the ids")
    preferences = shell.memory.preferences
    before = preferences.find(given.text)
    fields: dict[str, Any] = {
        "item": _clean(shell, given.options.get("--item")),
        "reason": _clean(shell, given.options.get("--reason")),
        "score": score_of(given, "--score"),
        "keywords": _list(shell, given, "--keywords"),
        "scenarios": _list(shell, given, "--scenarios"),
    }
    if all(value is None for value in fields.values()):
        return refuse("Nothing to change was given; name one of --item, --reason, --score, --keywords, --scenarios")
    after = preferences.update(before.id, **fields)
    one = weighed(preferences, after.id)
    return CommandResult(
        text=f"Changed: {code(after.content)}, score {one.score:g}, {standing(one)}. `/memory undo` takes that back.",
        data=pref_data(one),
    )


@remembers
def apply(shell: Shell, argument: str) -> CommandResult:
    """Say which were used; each is confirmed twelve hours after the last time, or later."""
    words = read(argument).words
    if not words:
        return refuse("Which were used? Write /prefs apply ID, or several ids; /prefs shows them")
    preferences = shell.memory.preferences
    ids = {word: _id(shell, word) for word in dict.fromkeys(words)}
    results = dict(preferences.apply(list(ids.values())))
    rows = tuple((word, _TOUCHES[results[id]]) for word, id in ids.items())
    data = [{"id": id, "status": status} for id, status in results.items()]
    touched = sum(status == "touched" for status in results.values())
    table = Table(columns=("id", ""), rows=rows, wide=1)
    return CommandResult(text=f"{count(touched, 'preference')} confirmed.", table=table, data=data)


@remembers
def touch(shell: Shell, argument: str) -> CommandResult:
    """The same for one, by its words."""
    item = read(argument).text
    if not item:
        return refuse("Which preference? Write /prefs touch ITEM; /prefs apply takes ids")
    status = shell.memory.preferences.touch(item)
    if status == "not_found":
        return refuse(f"There is no preference {item!r}; /prefs recall looks for words, /prefs apply takes ids")
    return CommandResult(text=f"{code(item)}: {_TOUCHES[status]}.", data={"item": item, "status": status})


@remembers
def remove(shell: Shell, argument: str) -> CommandResult:
    """Put one into the archive."""
    wanted = read(argument).text
    if not wanted:
        return refuse("Which preference? Write /prefs remove ID, or its words; /prefs shows them")
    preferences = shell.memory.preferences
    one = weighed(preferences, preferences.find(wanted).id)
    preferences.remove(one.record.id)
    return CommandResult(
        text=f"Removed: {code(one.record.content)}. `/memory undo` brings it back.", data={"removed": pref_data(one)}
    )


@remembers
def clear(shell: Shell, argument: str) -> CommandResult:
    """Put all of them into the archive; asks first."""
    given = read(argument, switches=("--yes",))
    if given.words:
        return refuse("/prefs clear takes only --yes; /prefs remove takes one out")
    preferences = shell.memory.preferences
    everything = preferences.all()
    if not everything:
        return CommandResult(text="There was no preference.", data={"cleared": 0})
    if "--yes" not in given.options:
        limits = sum(one.score <= HARD_LIMIT for one in everything)
        question = f"Clear {count(len(everything), 'preference')}, {count(limits, 'hard limit')} among them?"
        return CommandResult(follow_up=Confirm(question=question, then="/prefs clear --yes"))
    number = preferences.clear()
    return CommandResult(
        text=f"Cleared {count(number, 'preference')}. `/memory undo` brings them back.", data={"cleared": number}
    )


def _item_and_reason(shell: Shell, given: Given) -> tuple[str, str]:
    """Words without quotes are all the item; of words in quotes, the first is the item and the second the reason."""
    quoted = given.typed.split() != list(given.words)
    reason = given.options.get("--reason", "")
    item = given.text
    if quoted and len(given.words) == 2:
        item = given.words[0]
        reason = reason or given.words[1]
    elif quoted and len(given.words) > 2:
        raise UsageError("/prefs add takes an item and a reason; put quotes round each, or give --reason")
    if not item.strip():
        raise UsageError("What do you like, or not? Write /prefs add ITEM, such as /prefs add never use tabs")
    return shell.redactor.redact(item).text, shell.redactor.redact(reason).text


def _added(done: Remembered, score: float) -> str:
    if done.action == "new":
        return "Remembered"
    return "Set" if done.record.score == score else "Reinforced"


def _kept(done: Remembered, score: float) -> str:
    """What a person may not expect: scores are averaged, and rules stay."""
    if done.old is None or done.record.score == score:
        return ""
    if done.record.score == done.old.score and done.old.explicit:
        return " It was set as a rule, so its score stays; `/prefs update ID --score X` sets another."
    return f" It had {done.old.score:g}; 0.6 of the new score and 0.4 of the old one make its score."


def _against(shell: Shell, done: Remembered) -> str:
    """A hard limit on the same thing is not lifted by liking it."""
    about = thing(done.record.content)
    limits = [limit for limit in shell.memory.preferences.hard_limits() if thing(limit.content) == about]
    others = [limit.content for limit in limits if limit.id != done.record.id]
    return f" The hard limit {code(others[0])} stands all the same." if others else ""


def _id(shell: Shell, word: str) -> str:
    """The id a word stands for; the word itself where there is none."""
    known = [record.record.id for record in shell.memory.preferences.all()]
    wanted = word.lower()
    fitting = [id for id in known if id == wanted or (len(wanted) >= 4 and id.endswith(wanted))]
    return fitting[0] if len(fitting) == 1 else word


def _clean(shell: Shell, text: str | None) -> str | None:
    return None if text is None else shell.redactor.redact(text).text


def _list(shell: Shell, given: Given, option: str) -> list[str] | None:
    raw = given.options.get(option)
    return None if raw is None else [shell.redactor.redact(part).text for part in parted(raw)]
