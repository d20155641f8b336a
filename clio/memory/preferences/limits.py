"""Find the limits that a message states ("never …", "we only use …", "nie …") by rules, without a model.

Clauses about the user, the agent or the team are judged here, like others in `limit_statements` and `limit_orders`:
each `judge_…` function tries small rules in order.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.foreign_statements import (
    detect_language,
    is_own_english,
    list_foreign_texts,
    read_statements,
)
from clio.memory.preferences.limit_clauses import (
    DASHES,
    DEFINITE,
    HEDGES,
    HERE,
    IDLE,
    IN_PROJECT,
    LASTING_WORDS,
    NO_LIMIT,
    TASK_HEADING,
    UNTIL_TOLD,
    Clause,
    OwnSentence,
    Strength,
    Verdict,
    Word,
    find_strength,
    has_artefact,
    has_path,
    is_lead,
    is_task,
    is_told_of_others,
    read_clause,
    read_sentences,
    split_clauses,
    strength_of,
    text_before,
    whole_sentence,
)
from clio.memory.preferences.limit_orders import (
    judge_always,
    judge_ask_first,
    judge_avoid,
    judge_instead,
    judge_keep,
    judge_manner,
    judge_negated_order,
    judge_no_thing,
    judge_no_way,
    judge_only,
    judge_stop,
    judge_verbless,
    judge_without,
)
from clio.memory.preferences.limit_statements import judge_convention, judge_environment, judge_forbidden, judge_modal
from clio.memory.preferences.rule_files import FILLER, Triggers, english_rules
from clio.memory.preferences.stated_preferences import is_order, lower_first_letter

_EN = english_rules("limits")
_SEE = _EN.word_set("see")
_BUG_VERBS = _EN.word_set("bug_verbs")


# The agent: "you must not …"

_YOU_ASK = _EN.pattern("you_ask")
_ALWAYS_SHOW = _EN.pattern("always_show")
_ALLOWED_EXCEPT = _EN.pattern("allowed_except")
_IF_YOU_NEVER = _EN.pattern("if_you_never")
_YOU = _EN.pattern("you")
_PRAISED_OR_BLAMED = _EN.word_set("praised_or_blamed")
"""Verbs after "you always" that report what the agent did, good or bad."""
_NEGATIVE_MODALS = ("mustn't", "shouldn't", "can't", "won't", "never", "must never", "should never", "may never")
_EXCLUSIVE_MODALS = ("don't", "aren't", "not", "are not", "are never", "may only", "must only", "should only")


def judge_you(clause: Clause) -> Strength | None:
    """ "You must not …", "you may only …", "could you please never …"."""
    return find_strength((_you_are_asked, _you_may_not, _you_may_except, _if_you_never, _you_must), clause)


def _you_are_asked(clause: Clause) -> Verdict | None:
    """ "Could you please never reformat", "can you stop adding comments"; not "can you stop the server"."""
    line = _YOU_ASK.sub(r"you ask \g<rest>", clause.line)
    if not line.startswith("you ask "):
        return None
    more = line[8:]
    if more.startswith(("stop ", "avoid ", "refrain")):
        verb = more.split()[1] if len(more.split()) > 1 else ""
        if verb in ("the", "a", "an", "that", "this"):
            return NO_LIMIT
        return "policy" if verb.endswith("ing") or verb == "from" or more.startswith("avoid") else NO_LIMIT
    if _ALWAYS_SHOW.match(more):
        return NO_LIMIT
    return strength_of(clause, "policy" if more.startswith(("never", "always")) else "plain")


def _you_may_not(clause: Clause) -> Verdict | None:
    """ "You can look but not touch", "you may commit but never push"."""
    line = clause.line
    if not re.match(r"you (?:can|may) .*\b(?:not|never|nothing)\b", line):
        return None
    if re.match(r"you (?:can|may) (?:not|never) (?:see|be)\b", line):
        return None
    verb = line.split()[2]
    return "policy" if is_order(verb) is True or verb in ("look", "not") else NO_LIMIT


def _you_may_except(clause: Clause) -> Verdict | None:
    """ "Feel free to edit anything except setup.py", "you have read access"."""
    is_limited = _ALLOWED_EXCEPT.search(clause.line) or re.match(r"you have (?:my|no|only|read)\b", clause.line)
    return "policy" if is_limited else None


def _if_you_never(clause: Clause) -> Verdict | None:
    """ "… if you never used mocks", "… if you asked first"."""
    line = clause.line
    if not _IF_YOU_NEVER.match(line):
        return None
    return "policy" if "never" in line or "stop" in line or "always" in line else "plain"


def _you_must(clause: Clause) -> Verdict | None:
    """ "You must never push", "you always run the linter first"; not "you can't see it"."""
    found = _YOU.match(clause.line)
    if found is None:
        return None
    modal, rest = found["modal"], found["rest"] or ""
    verb = rest.split()[0] if rest else ""
    if modal in _NEGATIVE_MODALS or modal.startswith(_EXCLUSIVE_MODALS):
        return _you_must_not(clause, modal, verb, rest)
    if modal in ("must always", "should always", "always", "are to", "to") and is_order(verb) is True:
        return NO_LIMIT if modal == "always" and verb in _PRAISED_OR_BLAMED else "policy"
    if modal == "must" and is_order(verb) is True:
        return strength_of(clause)
    return "policy" if modal in ("may", "can") and rest.startswith("not ") else NO_LIMIT


def _you_must_not(clause: Clause, modal: str, verb: str, rest: str) -> Verdict:
    """Judge what follows "you must not"; a weak modal verb needs an order or a word that makes it permanent."""
    line = clause.line
    if modal == "don't":
        is_denied = rest.startswith(("have permission", "have my", "get to", "have access"))
        return "policy" if is_denied else NO_LIMIT
    if rest.startswith("have permission"):
        return "policy"
    if verb in _SEE or verb.endswith("ed") or rest.startswith(("be able", "have ")):
        return NO_LIMIT
    is_weak = modal in ("can't", "won't", "never", "shouldn't") and is_order(verb) is not True
    if is_weak and verb != "assume" and not (modal == "shouldn't" and UNTIL_TOLD.search(line)):
        return NO_LIMIT
    if modal == "can't" and not (clause.in_project or LASTING_WORDS.search(line) or is_order(verb) is True):
        return NO_LIMIT
    return strength_of(clause, "policy" if modal not in ("shouldn't", "can't", "won't") else "plain")


# The user: "I don't want …"

_I_WOULD = _EN.pattern("i_would")
_I_REVIEW_ALL = _EN.pattern("i_review_all")
_TIRED_OF = _EN.pattern("tired_of")
_TEAM_PREFERS = _EN.pattern("team_prefers")
_I_DO_MYSELF = _EN.pattern("i_do_myself")
_EXPECT_EVERY = _EN.pattern("expect_every")
_I_DO = _EN.pattern("i_do")


def judge_i(clause: Clause) -> Strength | None:
    """ "I don't want …", "I'd rather you didn't …", "I do the commits"."""
    return find_strength(_I_RULES, clause)


def _i_would_rather(clause: Clause) -> Verdict | None:
    """ "I'd rather you didn't rename files", "it annoys me when you apologise"."""
    line = clause.line
    if _I_WOULD.match(line):
        return strength_of(clause, "policy" if line.startswith(("i hate", "i don't like")) else "plain")
    is_annoyed = re.match(r"it (?:bugs|annoys|bothers) me (?:when|if) you\b|it drives me (?:mad|crazy|nuts)", line)
    return "policy" if is_annoyed else None


def _i_handle(clause: Clause) -> Verdict | None:
    """ "I'll push myself", "I review every change before it lands", "I take care of releases"."""
    line = clause.line
    if re.match(r"i'll (?:handle|do|take care of|run|commit|push|deploy|merge) .*\b(?:myself|always)\b", line):
        return strength_of(clause)
    if _I_REVIEW_ALL.match(line):
        return "policy"
    return strength_of(clause) if re.match(r"i take care of (?!it|this|that)\S+", line) else None


def _i_am_tired_of(clause: Clause) -> Verdict | None:
    """ "I'm sick of flaky tests"."""
    return strength_of(clause) if _TIRED_OF.match(clause.line) and has_artefact(clause.line) else None


def _team_prefers(clause: Clause) -> Verdict | None:
    """ "The team prefers composition over inheritance"."""
    prefers = _TEAM_PREFERS.match(clause.line)
    if prefers is None:
        return None
    what = prefers["what"]
    if not has_artefact(what.split()[0]) and not re.search(r" (?:over|to|instead of|rather than) \S+", what):
        return None
    return strength_of(clause, "policy" if "team" in clause.line else "plain")


def _i_decide(clause: Clause) -> Verdict | None:
    """Return NO_LIMIT for "… and I choose the name"."""
    return NO_LIMIT if re.match(r"i (?:decide|choose|pick) \w*", clause.line) and clause.first else None


def _you_write_i_commit(clause: Clause) -> Verdict | None:
    """ "You write, I commit": the limit includes the part about the agent."""
    is_mine = re.match(r"i (?:commit|push|merge|deploy|release|tag|review|decide)$", clause.line)
    if not is_mine or not text_before(clause).startswith("you "):
        return None
    clause.start = 0
    return "policy"


def _i_do_myself(clause: Clause) -> Verdict | None:
    """ "I merge by hand"."""
    return "policy" if _I_DO_MYSELF.match(clause.line) else None


def _i_want_all(clause: Clause) -> Verdict | None:
    """ "I want all commits to be signed"."""
    line = clause.line
    is_wish = re.match(r"(?:i|we)(?:'d)? (?:like|want|expect|need) (?:all|every|each|any|new) ", line)
    if not is_wish or not re.search(r" (?:to be|in|to (?:have|use|follow|come|go|start|end|pass|carry)) ", line):
        return None
    return strength_of(clause) if has_artefact(line) else NO_LIMIT


def _i_expect_every(clause: Clause) -> Verdict | None:
    """ "We need tests for every endpoint"; not "I need a list of all users"."""
    line = clause.line
    is_of_program = re.search(r"\b(?:users?|rows?|items?|list|see|know)\b", line)
    return strength_of(clause) if _EXPECT_EVERY.match(line) and has_artefact(line) and not is_of_program else None


def _i_want_or_not(clause: Clause) -> Verdict | None:
    """ "I don't want new dependencies", "I insist on small commits", "I do the releases"."""
    found = _I_DO.match(clause.line)
    if found is None:
        return None
    if found["mine"]:
        return "policy"
    rest = found["rest"] or ""
    return _i_want(found["wanted"], rest) if found["wanted"] else _i_do_not_want(clause, found["unwanted"], rest)


def _i_want(wanted: str, rest: str) -> Verdict:
    if wanted in ("want every", "want all") and not has_artefact(" ".join(rest.split()[:2])):
        return NO_LIMIT
    if wanted == "only want" and re.match(r"(?:a|an|the|one|you to (?:show|tell|explain|look))\b", rest):
        return "task"
    is_wish_to_do = wanted in ("only want", "always want") and rest.startswith("to ")
    is_to_control = rest.startswith(("to see", "to review", "to approve", "to know", "to be asked"))
    return NO_LIMIT if is_wish_to_do and not is_to_control else "policy"


def _i_do_not_want(clause: Clause, unwanted: str, rest: str) -> Verdict:
    if re.match(r"to\b", rest) and unwanted != "refuse":
        is_of_results = re.match(r"to (?:see|read|have|find)\b", rest) and not re.match(
            r"to see (?:the|this|that)\b", rest
        )
        return strength_of(clause, "policy" if "never" in unwanted else "plain") if is_of_results else NO_LIMIT
    if not rest or re.match(r"(?:this|that|it|these|those|the|them|its)\b(?! \w+ to\b)", rest):
        return NO_LIMIT
    return strength_of(clause)


_I_RULES = (
    _i_would_rather,
    _i_handle,
    _i_am_tired_of,
    _team_prefers,
    _i_decide,
    _you_write_i_commit,
    _i_do_myself,
    _i_want_all,
    _i_expect_every,
    _i_want_or_not,
)


# The team: "we use X here, not Y"

_MOVED = _EN.pattern("moved")
_HAVE_MOVED = _EN.pattern("have_moved")
_WE_MUST = _EN.pattern("we_must")
_MUST_VERBS = _EN.word_set("must_verbs")
_NO_MUST_VERBS = _EN.word_set("no_must_verbs")
_TASK_VERBS_AFTER_MUST = _EN.word_set("task_verbs_after_must")
_NOT_DOING = _EN.pattern("not_doing")
_WONT_SUPPORT = _EN.pattern("wont_support")
_WE_DECIDED = _EN.pattern("we_decided")
_WE_AVOID = _EN.pattern("we_avoid")
_WE_DO = _EN.pattern("we_do")
_HAS_POLICY = _EN.pattern("has_policy")
_TEAM_HABIT_VERBS = _EN.word_set("team_habit_verbs")
_ONE_PLACE = _EN.pattern("one_place")


def judge_we(clause: Clause) -> Strength | None:
    """ "We use X here, not Y", "we never …", "we've moved off X", "let's not …"."""
    return find_strength(_WE_RULES, clause)


def _let_us(clause: Clause) -> Verdict | None:
    """ "Let's never rebase", "let's keep functions small", "let's not add dependencies"."""
    let = re.match(
        r"let's (?P<how>never|not|always|keep|agree|stick|avoid|stop|leave)\b(?: (?P<rest>.*))?$", clause.line
    )
    if let is None:
        return None
    rest = let["rest"] or ""
    match let["how"]:
        case "never" | "always":
            return "policy"
        case "agree" | "avoid":
            return strength_of(clause, "policy" if let["how"] == "agree" else "plain")
        case "not":
            verb = rest.split()[0] if rest else ""
            return strength_of(clause) if is_order(verb) is True and verb not in IDLE else NO_LIMIT
        case "keep":
            is_manner = re.search(r"\b(?:out of|as|to|under|below|small|unchanged|away|free)\b", rest)
            return strength_of(clause) if is_manner else NO_LIMIT
        case "stick":
            is_general = rest.startswith(("to ", "with ")) and not re.match(r"\w+ (?:it|that|this|the)\b", rest)
            return "plain" if is_general else NO_LIMIT
        case _:
            return NO_LIMIT


def _we_have_moved(clause: Clause) -> Verdict | None:
    """ "We've moved off Jenkins", "we're stuck on Python 3.8 here"."""
    line, whole = clause.line, whole_sentence(clause)
    if _MOVED.match(line) and not re.search(r"\b(?:yesterday|by accident|before|but)\b", line):
        return "policy"
    if _HAVE_MOVED.match(line):
        return "policy"
    is_bound = clause.in_project or HERE.search(whole) or re.search(r"\bno \w+|stuck|<", whole)
    return "policy" if re.match(r"(?:we're|we are)(?: still| stuck| all)* on \S+", line) and is_bound else None


def _we_must(clause: Clause) -> Verdict | None:
    """ "We can't use GPL libraries", "we must support Python 3.8 here"; not "we must fix it"."""
    line = clause.line
    if not _WE_MUST.match(line):
        return None
    rest = line.split(" ", 2)[2] if len(line.split()) > 2 else ""
    verb = rest.split()[0] if rest else ""
    is_known = (
        verb in _SEE or verb in _MUST_VERBS or line.startswith(("we mustn't", "we promised")) or is_order(verb) is True
    )
    if not is_known or verb in _NO_MUST_VERBS:
        return NO_LIMIT
    is_scoped = clause.in_project or HERE.search(whole_sentence(clause))
    if line.startswith(("we must", "we still")) and verb not in ("keep", "stay") and not is_scoped:
        return NO_LIMIT
    if line.startswith(("we must", "we still", "we should")) and verb in _TASK_VERBS_AFTER_MUST:
        return NO_LIMIT
    return strength_of(clause, "policy" if clause.in_project else "plain")


def _we_decided(clause: Clause) -> Verdict | None:
    """ "We're not using Docker", "we won't support IE", "we agreed to use tabs"."""
    line = clause.line
    if _NOT_DOING.match(line) and not re.search(r"\b(?:there yet|yet|correctly|right)\b", line):
        return "policy"
    if _WONT_SUPPORT.match(line):
        return "policy"
    return "policy" if _WE_DECIDED.match(line) and not re.search(r"\b(?:going to|but)\b", line) else None


def _we_do_not_like(clause: Clause) -> Verdict | None:
    """ "We don't want mocks in this repo", "we avoid globals", "we do trunk-based development here"."""
    line = clause.line
    is_lack = re.match(r"we don't (?:need|have) (?:a|an|the|any|tests?)\b", line)
    if re.match(r"we don't (?:like|want|need|have) ", line) and clause.in_project and not is_lack:
        return "policy"
    if _WE_AVOID.match(f"{line} "):
        return "policy"
    is_scoped = clause.in_project or HERE.search(whole_sentence(clause))
    return "policy" if re.match(r"we do (?!a|the|not|this|that|it|have|need)\S+ ", f"{line} ") and is_scoped else None


def _we_are_a_shop(clause: Clause) -> Verdict | None:
    """ "We're a Java shop"."""
    is_shop = re.match(r"we're an? \S+(?: \S+)? (?:shop|team|house|company|project)\b", clause.line)
    return "policy" if is_shop else None


def _we_use(clause: Clause) -> Verdict | None:
    """ "We never vendor", "this project supports only Linux", "we use uv here, not pip"; not "we never saw it"."""
    line, whole = clause.line, whole_sentence(clause)
    found = _WE_DO.match(line)
    if found is None:
        return None
    verb, rest = found["verb"], found["rest"] or ""
    if _HAS_POLICY.match(line):
        return "policy"
    if clause.is_reminded and line.startswith("we ") and is_order(verb) is True and verb not in _SEE | _BUG_VERBS:
        return "policy"
    is_bound = re.search(r"\d", rest) or re.search(r"\b(?:no|never|only|don't|without)\b", whole)
    if line.startswith("this ") and verb in ("supports", "targets", "requires") and is_bound:
        return "policy"
    is_scoped = bool(
        clause.in_project or clause.is_reminded or HERE.search(whole) or re.search(r"\banymore\b|any more\b", line)
    )
    if verb in ("never", "don't", "no-longer", "won't", "doesn't", "can't", "mustn't"):
        return _we_never(clause, verb, rest, is_scoped=is_scoped)
    if verb in ("always", "only", "strictly"):
        head = rest.split()[0] if rest else ""
        is_known = is_order(head) is True or (is_scoped and is_order(head) is not False)
        return (
            "policy"
            if is_known and not re.search(r"\b(?:get|see|have|had|end|wait|lose|spend|waste|forget)\b", head)
            else NO_LIMIT
        )
    return _we_habitually(clause, verb, rest, is_scoped=is_scoped) if verb in _TEAM_HABIT_VERBS else NO_LIMIT


def _we_never(clause: Clause, verb: str, rest: str, *, is_scoped: bool) -> Verdict:
    """Judge what follows "we never" or "we don't": a habit of the team, not what the program does or what happened."""
    head = rest.split()[0] if rest else ""
    if clause.line.startswith("this ") and head.endswith("s") and is_order(head[:-1]) is True:
        return "policy"
    if head in IDLE - {"build", "start", "want", "stop", "apply"} or is_order(head) is False or not head:
        is_of_support = head == "have" and verb == "doesn't" and "and won't" in whole_sentence(clause)
        return "policy" if is_of_support else NO_LIMIT
    if re.match(r"do \S+", rest) and verb == "don't":
        return "policy" if is_scoped else "plain"
    if head in _BUG_VERBS and (not is_scoped or re.search(r"\bthat (?:path|case|branch|function)\b", rest)):
        return NO_LIMIT
    is_story = re.search(r"\b(?:that path|this path|that case|the buffer|because|yesterday|last)\b", rest)
    if is_story and not is_scoped:
        return NO_LIMIT
    is_known = is_order(head) is not None or head in ("throw", "backport", "mock", "squash", "vendor")
    if not is_known and not is_scoped:
        return "plain" if len(rest.split()) > 1 else NO_LIMIT
    return "policy"


def _we_habitually(clause: Clause, verb: str, rest: str, *, is_scoped: bool) -> Verdict:
    """Judge what follows "we use": a limit if it excludes something else, or is said to hold for this project."""
    if _ONE_PLACE.search(clause.line):
        return NO_LIMIT
    if rest.startswith("to ") or re.search(r"\b(?:is|are|was|does|but|because)\b", rest):
        return NO_LIMIT
    behind = " ".join(word.low for word in clause.sentence.words[clause.end : clause.end + 6])
    is_exclusive = re.search(
        r"\b(?:not|never|instead of|rather than|over|only|no|without|nothing but|exclusively)\b", rest
    ) or re.match(r"(?:and |so |but )?(?:not|never|no|nothing|don't|instead of|rather than)\b", behind)
    if is_exclusive or is_scoped:
        return "policy"
    is_form = verb in ("name", "write", "follow", "indent", "log", "prefix", "stick", "pin")
    return "plain" if is_form else NO_LIMIT


_WE_RULES = (
    _let_us,
    _we_have_moved,
    _we_must,
    _we_decided,
    _we_do_not_like,
    _we_are_a_shop,
    _we_use,
)


_ORDER_HEADS = _EN.word_set("order_heads")
_REPAIR_PRONOUN = _EN.pattern("repair_pronoun")
_LASTING_REQUEST = _EN.pattern("lasting_request")
_CONTENT_LEADS = _EN.word_set("content_leads")

Term = Literal["lasting", "unclear", "task"]


LimitScope = Literal["project", "user"]


MAX_LASTING = 12
"""Maximum number of lasting limits in one message; with more, all apply to the current task only."""


_MARKERS = _EN.word_set("markers")
"""Words of which every sentence with a limit contains one."""
MAX_CHARS = 240
MAX_CLAUSES = 30
_WORD_PARTS = re.compile(r"[a-z]+|\w+")
"""Maximum number of clauses read in one sentence."""


class StatedLimit(Struct, frozen=True, kw_only=True):
    """One limit that the user stated.

    Attributes:
        content: the limit in the user's words, understandable without the rest of the message.
        quote: the sentence as written.
        term: "lasting": permanent; "unclear": the user must be asked; "task": for the current task only.
        scope: "project" if it names a path, this project or a team; otherwise "user".
    """

    content: str
    quote: str
    term: Term
    scope: LimitScope


class _Rule(Struct, frozen=True):
    """One rule of the grammar of limits.

    Attributes:
        judge: returns the strength of a clause that is a limit; None for any other clause.
        triggers: words without which no clause is one.
    """

    judge: Callable[[Clause], "Strength | None"]
    triggers: Triggers


def find_limits(text: str) -> tuple[StatedLimit, ...]:
    """Return the limits in a message, in its order and without repetitions. Takes time linear in its length."""
    language = detect_language(text)
    english = [one for one in _english_limits(text) if is_own_english(one.quote, text, language)]
    foreign = [limit for language, part in list_foreign_texts(text) for limit in _limits_in(part, language)]
    found: dict[str, StatedLimit] = {}
    for one in (*english, *foreign):
        found.setdefault(one.content.casefold(), one)
    return tuple(found.values())


def _limits_in(text: str, language: str) -> tuple[StatedLimit, ...]:
    """Return the limits of a message in another language, by the rules of its data file."""
    limits = [one for one in read_statements(text, language) if one.kind == "limit"]
    lasting = sum(one.term != "task" for one in limits) <= MAX_LASTING
    return tuple(
        StatedLimit(
            content=one.content[:MAX_CHARS],
            quote=one.quote[:MAX_CHARS],
            term=one.term if lasting else "task",
            scope="project" if one.in_project or has_path(one.content) else "user",
        )
        for one in limits
    )


def _english_limits(text: str) -> tuple[StatedLimit, ...]:
    sentences = list(read_sentences(text))
    judged = [_judge_sentence(sentence) for sentence in sentences]
    if not any(limits for limits, _ in judged):
        return ()
    found: dict[str, tuple[Clause, Strength, str]] = {}
    has_task = False
    for number, (sentence, (limits, asks)) in enumerate(zip(sentences, judged, strict=True)):
        if limits and number + 1 < len(sentences) and _is_repaired(limits, sentences[number + 1]):
            limits = []
        if _REBUKE.match(" ".join(word.low for word in sentence.words[:8])):
            continue
        has_task = has_task or asks or (not limits and len(sentence.words) > 2 and not _THANKS.match(sentence.text))
        for clause, strength in limits:
            content = _content(clause)
            found.setdefault(content.casefold(), (clause, strength, content))
    limits = [_make(clause, strength, content, has_task) for clause, strength, content in found.values()]
    if sum(one.term != "task" for one in limits) > MAX_LASTING:
        limits = [StatedLimit(content=one.content, quote=one.quote, term="task", scope=one.scope) for one in limits]
    return tuple(limits)


_THANKS = _EN.pattern("thanks")


def _judge_sentence(sentence: OwnSentence) -> tuple[list[tuple[Clause, Strength]], bool]:
    """Return the limits in one sentence, and whether the sentence asks for work."""
    words = sentence.words
    lows = [word.low for word in words]
    asks = sentence.is_question or is_task(lows)
    vocabulary = _list_vocabulary(words)
    rules = [rule for rule in _RULES if sentence.heading or rule.triggers.occur_in(vocabulary)]
    is_possible = bool(rules) or _DEMAND.occur_in(vocabulary)
    if not sentence.heading and not (is_possible and _MARKERS.intersection(lows)):
        return [], asks
    if sentence.is_question and not _is_request(lows):
        return [], True
    found: list[tuple[Clause, Strength]] = []
    spans = split_clauses(words)
    if len(spans) > MAX_CLAUSES:
        return [], True  # a list of data
    asks = False
    for number, (first, end) in enumerate(spans):
        before = words[first - 1] if first else None
        if (
            before is not None
            and ":" in before.mark
            and (is_told_of_others(words[:first]) or _REPORT_TOPIC.match(" ".join(lows[:first])))
        ):
            break
        if ":" in words[end - 1].mark and is_told_of_others(words[first:end]):
            break
        if number + 1 < len(spans) and is_lead(lows[first:end]):
            continue
        clause = read_clause(sentence, first, end, spans[:number])
        if clause is None:
            if first == 0:
                asks = True
                break  # a question, a guess, a report: what follows belongs to it
            continue
        strength = _judge(clause, rules)
        if strength is not None and _is_problem(clause, spans[number + 1 :]):
            return found, True
        if strength is None:
            asks = asks or is_task(clause.line.split())
            if number == 0 and HEDGES.match(clause.line) and not clause.has_condition:
                break
            continue
        if found and found[-1][0].end == first and not clause.is_standing and _joins(found[-1][0], clause):
            last, before_strength = found[-1]
            last.end = end
            found[-1] = (last, "policy" if "policy" in (before_strength, strength) else strength)
        else:
            found.append((clause, strength))
    return found, asks or (sentence.is_question and not found)


_REPORT_TOPIC = _EN.pattern("report_topic")
_REPAIR = _EN.pattern("repair")
_ASKS_WHY = _EN.pattern("asks_why")


def _is_problem(clause: Clause, later: Sequence[tuple[int, int]]) -> bool:
    """Whether a statement describes a problem, which the rest of the sentence asks to repair or explain."""
    head = clause.line.split()[0]
    if head in _ORDER_HEADS and (head not in ("no", "nobody", "nothing") or not later):
        return False
    if is_order(head) is True and not has_artefact(head):
        return False
    lows = [word.low for word in clause.sentence.words]
    for first, end in later:
        rest = " ".join(low for low in lows[first:end] if low not in DASHES)
        if _REPAIR.match(rest) or _ASKS_WHY.match(rest):
            return True
    return False


def _is_repaired(limits: Sequence[tuple[Clause, Strength]], following: OwnSentence) -> bool:
    """Whether the next sentence asks to repair what they describe: "Our deploys take an hour. Make them faster." """
    lows = [word.low for word in following.words]
    if not _REPAIR_PRONOUN.match(" ".join(lows)):
        return False
    return all(
        re.match(r"(?:our|the|it|this|we|there|all|every|\w+s)\b", clause.line)
        and is_order(clause.line.split()[0]) is not True
        for clause, _ in limits
    )


def _joins(one: Clause, other: Clause) -> bool:
    """Whether two successive clauses form one limit: "no click, no typer", "we use uv, not pip"."""
    return (
        other.line.startswith(("no ", "not ", "never ", "nor "))
        or one.line.split(" ", 1)[0] == other.line.split(" ", 1)[0]
    )


def _is_request(lows: Sequence[str]) -> bool:
    text = " ".join(lows)
    return bool(_LASTING_REQUEST.search(text))


_NOW = _EN.pattern("now")
_ONE_TASK = _EN.pattern("one_task")
_REBUKE = _EN.pattern("rebuke")
_JUST_TELL = _EN.pattern("just_tell")
_JUST_THIS = _EN.pattern("just_this")
_FOR_NOW = _EN.pattern("for_now")
_POINTS = _EN.pattern("points")


def _judge(clause: Clause, rules: Sequence[_Rule]) -> Strength | None:
    """Return the strength of a clause that is a limit; None for any other clause."""
    line = clause.line
    if not line:
        return None
    for rule in rules:
        found = rule.judge(clause)
        if found is not None:
            return found
    if clause.is_demanded and len(line.split()) > 1:
        return "policy"
    if clause.in_rules and not clause.has_condition and clause.first == 0 and len(line.split()) > 1:
        return strength_of(clause)
    return None


_RULES = tuple(
    _Rule(judge, _EN.trigger(name))
    for name, judge in (
        ("no_way", judge_no_way),
        ("environment", judge_environment),
        ("verbless", judge_verbless),
        ("ask_first", judge_ask_first),
        ("manner", judge_manner),
        ("negated_order", judge_negated_order),
        ("stop", judge_stop),
        ("avoid", judge_avoid),
        ("keep", judge_keep),
        ("only", judge_only),
        ("no_thing", judge_no_thing),
        ("i", judge_i),
        ("you", judge_you),
        ("we", judge_we),
        ("forbidden", judge_forbidden),
        ("modal", judge_modal),
        ("convention", judge_convention),
        ("instead", judge_instead),
        ("without", judge_without),
        ("always", judge_always),
    )
)
"""In the order in which they are tried."""
_DEMAND = _EN.trigger("demand")
"""Words that call what follows a demand, whatever it is: "my only condition:"."""


def _list_vocabulary(words: Sequence[Word]) -> frozenset[str]:
    """Return the words and the parts of compounds: "read-only" is also "read" and "only".

    ":" is in it if a word ends with it, and "." if a word may be a path or code that was masked.
    """
    found = {word.low for word in words}
    for low in [low for low in found if not low.isalpha()]:
        found.update(_WORD_PARTS.findall(low))
        if "." in low or "/" in low or FILLER in low:
            found.add(".")
    if any(":" in word.mark for word in words):
        found.add(":")
    return frozenset(found)


_TEAM = _EN.pattern("team")


def _make(clause: Clause, strength: Strength, content: str, has_task: bool) -> StatedLimit:
    line = " ".join(word.low for word in clause.sentence.words[min(clause.first, clause.start) : clause.end])
    quote = clause.sentence.text[clause.sentence.words[0].start :].strip()
    lead = " ".join(word.low for word in clause.sentence.words[: clause.first + 6])
    behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
    term: Term
    if (
        strength == "task"
        or _ONE_TASK.match(lead)
        or (re.search(r"\banything$", clause.line) and _JUST_TELL.match(behind))
        or (strength == "plain" and _JUST_THIS.match(behind))
        or _FOR_NOW.search(line)
        or (
            _NOW.search(line)
            and not clause.is_standing
            and not IN_PROJECT.search(line)
            and not LASTING_WORDS.search(line)
        )
    ):
        term = "task"
    elif strength == "policy":
        term = (
            "lasting"
            if not re.search(r"\b(?:this time|in this (?:function|pr|commit|change|file|task))\b", line)
            else "unclear"
        )
        if (
            has_task
            and _POINTS.search(clause.line)
            and not re.search(r"\b(?:never|always|ever|nobody)\b", line)
            and not clause.in_project
        ):
            term = "unclear"
    elif TASK_HEADING.search(clause.sentence.heading) or (
        has_task and (_POINTS.search(clause.line) or DEFINITE.search(clause.line))
    ):
        term = "task"
    elif has_task or _POINTS.search(clause.line) or (clause.is_contrast and not clause.is_standing):
        term = "unclear"
    else:
        term = "lasting" if not DEFINITE.search(clause.line) else "unclear"
    return StatedLimit(content=content, quote=quote[:MAX_CHARS], term=term, scope=_scope(clause, content))


def _scope(clause: Clause, content: str) -> LimitScope:
    line = " ".join(word.low for word in clause.sentence.words)
    if has_path(content) or clause.in_project or HERE.search(line):
        return "project"
    return "project" if _TEAM.search(clause.line) else "user"


_PRONOUN = _EN.pattern("pronoun")


def _content(clause: Clause) -> str:
    """Return the text of a limit in the user's words, without the rest of the sentence."""
    sentence = clause.sentence
    end = clause.end
    while end < len(sentence.words):
        mark = sentence.words[end - 1].mark
        following = sentence.words[end].low
        if following in ("and", "but", "so", "then", "also", "please") or (mark and mark[-1] in ".!?;"):
            break
        more = next(
            (
                at
                for at in range(end + 1, len(sentence.words))
                if sentence.words[at - 1].mark or sentence.words[at].low in DASHES
            ),
            len(sentence.words),
        )
        if sentence.words[more - 1].end - sentence.words[clause.start].start > MAX_CHARS // 2:
            break
        end = more
    start = clause.start
    if (
        start
        and _PRONOUN.search(clause.line)
        and sentence.words[end - 1].end - sentence.words[0].start <= MAX_CHARS // 2
    ):
        start = 0
    while start < end - 1 and sentence.words[start].low in _CONTENT_LEADS:
        start += 1
    text = " ".join(sentence.slice(start, end).split()).rstrip(" .,;:!-–—")
    return lower_first_letter(text[:MAX_CHARS])
