"""Judge whether a clause about a thing states a limit: what is forbidden, what must hold, how things are done.

Each `judge_…` function returns how binding a clause is: "policy" for a permanent limit, "plain" for one that may hold
for this task only; None if it is no limit. It tries small rules in order, each for one form of clause. A rule returns
None for another form, and NO_LIMIT for a clause of its form that is no limit, which ends the search. Some rules extend
the clause, so that the stored text includes what the limit is about.

Clauses about the user, the agent and the team are judged in `limits`, imperative ones in `limit_orders`.
The regular expressions are in `languages/en.json`, and were adjusted to sentences that were judged wrongly.
"""

import re

from msgspec import Struct

from clio.memory.preferences.limit_clauses import (
    HEDGES,
    HERE,
    IN_PROJECT,
    NO_LIMIT,
    Clause,
    Strength,
    Verdict,
    find_strength,
    has_artefact,
    has_path,
    is_generic,
    raw_text,
    starts_task,
    strength_of,
    text_before,
    whole_sentence,
)
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import is_order

_EN = english_rules("limits")


# What is forbidden: "X is off limits", "gen/ is generated"

_FORBIDDEN_TOPIC = _EN.pattern("forbidden_topic")
_NEEDS_APPROVAL = _EN.pattern("needs_approval")
_ONLY_ONE_WHO = _EN.pattern("only_one_who")
_NOT_TO_BE = _EN.pattern("not_to_be")
_FORBIDDEN = _EN.pattern("forbidden")
_PERMISSION = _EN.pattern("permission")
_FORBIDDEN_TO = _EN.pattern("forbidden_to")
_THERE_MUST_BE_NO = _EN.pattern("there_must_be_no")
_MUST_STAY_SAME = _EN.pattern("must_stay_same")
_FROZEN_THING = _EN.pattern("frozen_thing")
_STATE = _EN.pattern("state")
_BRANCH_STATE = _EN.pattern("branch_state")


def judge_forbidden(clause: Clause) -> Strength | None:
    """ "X is off limits", "skipping hooks is a no-go", "poetry.lock: don't touch", "gen/ is generated"."""
    return None if starts_task(clause) else find_strength(_FORBIDDEN_RULES, clause)


def _is_taboo(clause: Clause) -> Verdict | None:
    """ "Hard no on global state", "rebasing is a no-go", "secrets.yml: off limits"."""
    line = clause.line
    if not re.match(r"(?:that's )?(?:a )?hard (?:no|pass)\b|\S+ (?:is a )?no-go$", line) and not re.search(
        r"\b(?:off limits|off-limits|taboo|verboten)$", line
    ):
        return None
    if clause.first and line.startswith(("hard", "a hard", "off")):
        clause.start = 0  # what is off limits was named before
    return "policy"


def _is_heading_of_forbidden_things(clause: Clause) -> Verdict | None:
    """ "Forbidden: eval, exec", "don't: force-push"."""
    if not clause.sentence.words[clause.end - 1].mark.endswith(":") or not _FORBIDDEN_TOPIC.match(clause.line):
        return None
    clause.end = len(clause.sentence.words)
    return "policy"


def _needs_approval(clause: Clause) -> Verdict | None:
    """ "New dependencies need my approval"."""
    return strength_of(clause) if _NEEDS_APPROVAL.match(clause.line) else None


def _is_done_by_user(clause: Clause) -> Verdict | None:
    """ "I'm the only one who merges", "deploying is something I do"."""
    is_mine = re.match(
        r"(?:merg|push|commit|deploy|releas|tagg|rebas)ing (?:\S+ )*?is something i (?:do|handle)", clause.line
    )
    return "policy" if is_mine or _ONLY_ONE_WHO.match(clause.line) else None


def _contain_none(clause: Clause) -> Verdict | None:
    """ "Commit messages contain no emojis"."""
    line = clause.line
    if re.match(r"(?:\w+ )?\w+s contain no \w+", line) and has_artefact(line) and not line.startswith("the "):
        return strength_of(clause)
    return None


def _is_not_to_be(clause: Clause) -> Verdict | None:
    """ "The lockfile is not to be edited"."""
    found = _NOT_TO_BE.match(clause.line)
    return "policy" if found and not re.match(r"(?:it|this|that|he|she)\b", found["subject"]) else None


def _is_forbidden(clause: Clause) -> Verdict | None:
    """ "Force pushes are forbidden", "the schema is none of your business"; not "sudo is allowed"."""
    line = clause.line
    found = _FORBIDDEN.match(line)
    if found is None:
        return None
    said, subject = found[0], found["subject"] or ""
    is_negative = re.search(r"\b(?:not|isn't|aren't|no|nobody|nothing|only|never)\b", said)
    if found["verb"] in ("was", "were") or (_PERMISSION.search(said) and not is_negative):
        return NO_LIMIT
    if subject in ("it", "this", "that", "he", "she", "what", "the result", "the output", "the screen"):
        names_action = line.startswith(("it isn't", "it's", "it is", "that's a")) and re.search(r"\bto \w+", line)
        return "policy" if names_action else NO_LIMIT
    is_pointing = re.match(r"(?:this|that|it)\b", subject)
    is_complaint = re.search(r"\b(?:not fine|isn't fine|not ok|isn't ok)$", line) and (
        is_pointing or re.match(r"the\b", subject)
    )
    is_my_task = is_pointing and re.search(r"\b(?:my (?:job|business|call|responsibility|decision|task)|on me)\b", said)
    return NO_LIMIT if is_complaint or is_my_task or re.search(r"\bis prod\b", line) else "policy"


def _is_forbidden_to(clause: Clause) -> Verdict | None:
    """ "It's forbidden to edit migrations"."""
    line = clause.line
    if not _FORBIDDEN_TO.match(line):
        return None
    return "policy" if any(word in line for word in ("not", "isn't", "forbidden", "prohibited")) else NO_LIMIT


def _there_must_be_no(clause: Clause) -> Verdict | None:
    """ "There must be no network access in tests", "there's no place for globals"."""
    line = clause.line
    if not _THERE_MUST_BE_NO.match(line):
        return None
    if "no place for" in line or "no need to ever" in line:
        return "policy"
    thing = re.split(r" (?:in|between|at|on|of|from|for|left)\b", line.partition(" no ")[2] or line)[0]
    is_of_work = clause.in_project or has_artefact(thing) or "network" in thing
    return strength_of(clause, "policy") if is_of_work else NO_LIMIT


def _there_is_no(clause: Clause) -> Verdict | None:
    """ "In this repo there are no mocks"; not "in the docs there is no example"."""
    line = clause.line
    if not re.match(r"there (?:is|are) no \S+.*", line) or not clause.in_project:
        return None
    if re.search(r"\bthere won't be\b|\bnever\b", " ".join(word.low for word in clause.sentence.words)):
        return "policy"
    begins_with_place = clause.sentence.words[clause.first].low in ("in", "inside", "within")
    may_be_a_lack = re.search(r"\b(?:tests?|docs?|documentation|licen[cs]e|readme|ci|examples?|types?|errors?)\b", line)
    return "policy" if begins_with_place and not may_be_a_lack else None


def _is_not_fine_either(clause: Clause) -> Verdict | None:
    """ "Docs are fine to edit, but code isn't": the limit includes what is fine."""
    if not re.match(r".+ (?:isn't|aren't|isn't ok|is off|is out|are out)$", clause.line):
        return None
    if not re.search(r"\b(?:fine|ok|okay|allowed|good)\b", text_before(clause)):
        return None
    clause.start = 0
    return "policy"


def _would_break(clause: Clause) -> Verdict | None:
    """ "Reordering src/registry.py breaks plugins"."""
    if not re.match(r"\w+ing .+ (?:breaks|ruins|corrupts|voids|kills|destroys) ", clause.line):
        return None
    return "policy" if clause.in_project or has_path(raw_text(clause)) else None


def _must_stay_same(clause: Clause) -> Verdict | None:
    """ "The wire format must stay identical"."""
    return strength_of(clause) if _MUST_STAY_SAME.match(clause.line) else None


def _is_never_for_path(clause: Clause) -> Verdict | None:
    """ "vendor/ never"."""
    if not re.match(r"\S+ (?:never|no|nope|taboo)$", clause.line) or not has_path(raw_text(clause)):
        return None
    clause.start = 0
    return "policy"


def _is_frozen(clause: Clause) -> Verdict | None:
    """ "The API is frozen until May"."""
    return "policy" if _FROZEN_THING.match(clause.line) and has_artefact(clause.line) else None


def _is_untouchable_state(clause: Clause) -> Verdict | None:
    """ "gen/ is generated", "main is protected": a state that forbids changes of something in this project."""
    line = clause.line
    state = _STATE.match(line)
    if state is None or re.match(r"(?:it|this|that|what|which|he|she|they|i|you)\b", state["subject"]):
        return None
    if re.search(r"\b(?:as (?:it|they) (?:is|are)|byte-identical|untouched|unchanged)\b", line) and "must" not in line:
        return "policy"
    is_of_project = clause.in_project or has_path(raw_text(clause)) or bool(_BRANCH_STATE.match(line))
    behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
    is_order_behind = re.search(r"\b(?:don't|never|edit|change|instead|hands|leave|only|not)\b", behind)
    is_of_program = re.match(r"the (?:screen|app|page|ui|window)\b", line)
    if not is_of_project and (not is_order_behind or is_of_program):
        return None
    return NO_LIMIT if re.search(r"\b(?:where|why|how|since|during)\b", line) else "policy"


_FORBIDDEN_RULES = (
    _is_taboo,
    _is_heading_of_forbidden_things,
    _needs_approval,
    _is_done_by_user,
    _contain_none,
    _is_not_to_be,
    _is_forbidden,
    _is_forbidden_to,
    _there_must_be_no,
    _there_is_no,
    _is_not_fine_either,
    _would_break,
    _must_stay_same,
    _is_never_for_path,
    _is_frozen,
    _is_untouchable_state,
)


# What must hold: "tests must never hit the network"

_NOBODY_MAY = _EN.pattern("nobody_may")
_FACTS_ABOUT_NOBODY = _EN.word_set("facts_about_nobody")
_GETS_DONE = _EN.pattern("gets_done")
_TEAM_SAYS = _EN.pattern("team_says")
_TOOL_VERBS = _EN.pattern("tool_verbs")
_SYSTEMS = _EN.pattern("systems")
"""Machines, whose behavior is a fact unless it is said to hold for this project: "CI rejects warnings here"."""
_MODAL = _EN.pattern("modal")
_VAGUE_SUBJECTS = _EN.word_set("vague_subjects")
_THIS_PROJECT = _EN.pattern("this_project")
_OUR_USERS = _EN.pattern("our_users")
_COMES_BACK = _EN.pattern("comes_back")
_PERMITTING_VERBS = _EN.word_set("permitting_verbs")
_MAKERS_OF_RULES = _EN.pattern("makers_of_rules")
_CHANGES = _EN.pattern("changes")
_BUG_STATES = _EN.word_set("bug_states")
_STAYS_OR_CHANGES = _EN.pattern("stays_or_changes")
_WHOLE_PRODUCT = _EN.pattern("whole_product")
_IS_DONE = _EN.pattern("is_done")
_CORE_THINGS = _EN.pattern("core_things")
_LAYER = _EN.pattern("layer")
_THINGS_OF_WORK = _EN.pattern("things_of_work")
_FINITE = ("never", "don't", "doesn't", "always", "no-longer", "only", "won't")
"""Words that report what something does as often as they demand it."""


def judge_modal(clause: Clause) -> Strength | None:
    """Judge a subject with a modal verb: a limit if developers work on the subject, otherwise a requirement."""
    if starts_task(clause) or HEDGES.match(clause.line):
        return None
    return find_strength((_nobody_may, _team_says, _tool_demands, _thing_must), clause)


def _nobody_may(clause: Clause) -> Verdict | None:
    """ "Nobody pushes to main", "nothing in src/ may import tests"; not "nobody knows why"."""
    line = clause.line
    nobody = _NOBODY_MAY.match(line)
    if nobody is None:
        return None
    verb = nobody["verb"]
    is_action = (verb == "gets" and _GETS_DONE.search(line)) or (verb == "changes" and clause.in_project)
    if verb in _FACTS_ABOUT_NOBODY and not is_action:
        return NO_LIMIT
    if verb == "is" and not re.search(r"\ballowed|permitted\b", line):
        return NO_LIMIT
    base = verb[:-2] if verb.endswith("es") and is_order(verb[:-2]) is True else verb[:-1]
    is_limit = (
        verb in ("may", "must", "should", "can", "is allowed", "ever", "is")
        or (verb in ("goes", "gets", "ships") and (clause.in_project or nobody["rest"]))
        or is_order(base) is True
    )
    return "policy" if is_limit else NO_LIMIT


def _team_says(clause: Clause) -> Verdict | None:
    """ "Legal says no GPL code"."""
    return "policy" if _TEAM_SAYS.match(clause.line) else None


def _tool_demands(clause: Clause) -> Verdict | None:
    """ "The linter rejects wildcard imports here", "our reviewers insist on small commits"."""
    line = clause.line
    if not _TOOL_VERBS.match(line):
        return None
    if clause.in_project:
        return "policy"
    is_plain_fact = _SYSTEMS.match(line) and not HERE.search(whole_sentence(clause))
    is_report = re.search(r"\b(?:main|master|yesterday|timeout)\b", line)
    return NO_LIMIT if is_plain_fact or is_report else "policy"


class _Demand(Struct, frozen=True, kw_only=True):
    """A clause of a subject, a modal verb and the rest.

    Attributes:
        heads: the words of the subject.
        first: the first word after the modal verb.
        is_finite: whether the modal verb may as well report what the subject does: "never", "don't".
        changes: whether the rest says what becomes of code or how it behaves.
        is_negative: whether a word of the clause negates or excludes.
    """

    subject: str
    modal: str
    rest: str
    heads: tuple[str, ...]
    first: str
    is_finite: bool
    has_path: bool
    has_artefact: bool
    is_generic: bool
    changes: bool
    is_negative: bool


def _thing_must(clause: Clause) -> Verdict | None:
    """ "Tests must never hit the network", "src/gen.py should not be edited"; not "the button must be blue"."""
    found = _MODAL.match(clause.line)
    if found is None:
        return None
    heads = tuple(found["subject"].split())
    if heads[0] in ("let's", "who", "which", "whenever", "when", "if") or _OUR_USERS.match(found["subject"]):
        return NO_LIMIT
    names_project = any(name in clause.line for name in ("this repo", "this project")) or _THIS_PROJECT.match(
        clause.line
    )
    if heads[0] in _VAGUE_SUBJECTS and not names_project:
        return NO_LIMIT
    said = _Demand(
        subject=found["subject"],
        modal=found["modal"],
        rest=found["rest"],
        heads=heads,
        first=found["rest"].split()[0],
        is_finite=found["modal"] in _FINITE,
        has_path=has_path(raw_text(clause)),
        has_artefact=has_artefact(found["subject"]),
        is_generic=is_generic(heads),
        changes=_CHANGES.match(found["rest"]) is not None,
        is_negative=bool(
            re.search(r"\b(?:not|never|only|mustn't|shouldn't|can't|don't|no-longer|doesn't|nothing|no)\b", clause.line)
        ),
    )
    return next((verdict for rule in _DEMAND_RULES if (verdict := rule(clause, said)) is not None), None)


def _must_not_return(clause: Clause, said: _Demand) -> Verdict | None:
    """ "jQuery must not come back"."""
    is_never = said.modal in ("mustn't", "must never", "shouldn't", "should never", "may never")
    return strength_of(clause) if is_never and _COMES_BACK.match(said.rest) else None


def _is_no_demand(clause: Clause, said: _Demand) -> Verdict | None:
    """Facts and wishes: "the CI doesn't allow force pushes", "tests should pass", "the job never finishes"."""
    if said.first in _PERMITTING_VERBS and not clause.in_project and not _MAKERS_OF_RULES.search(said.subject):
        return NO_LIMIT
    if re.match(r"(?:pass|be green|be fixed|be possible|be able|work$|exist|be visible|be shown)\b", said.rest):
        return NO_LIMIT
    is_convention = said.has_artefact and said.is_generic and said.first in ("start", "return", "fail", "close")
    is_bug = said.first in _BUG_STATES and not re.match(r"gets? \w+ed\b", said.rest) and not is_convention
    return NO_LIMIT if said.is_finite and is_bug else None


def _lacks_scope(clause: Clause, said: _Demand) -> Verdict | None:
    """Statements about one thing that is no part of this project: "the user never sees it", "it may fail"."""
    if said.is_finite:
        if said.modal == "always" and not (said.is_generic or clause.in_project):
            return NO_LIMIT
        if not (said.is_generic or said.has_path or clause.in_project or said.changes):
            return NO_LIMIT
        is_of_work = said.has_artefact or said.has_path or clause.in_project
        if said.modal in ("don't", "doesn't") and not is_of_work:
            return NO_LIMIT
    if said.modal in ("may", "can only", "should", "shall", "must") and not said.has_artefact and not said.has_path:
        if said.modal == "may" and not re.match(r"not |at most|only|never", said.rest):
            return NO_LIMIT
        if not (clause.in_project and said.changes):
            return NO_LIMIT
    is_bound = re.match(r"(?:not|only|never|have at most|take at most|take|have|contain at most)\b", said.rest)
    return NO_LIMIT if said.modal == "may" and not is_bound else None


def _one_thing_must(clause: Clause, said: _Demand) -> Verdict | None:
    """ "The public API must not change"; other statements about "the …" are requirements."""
    if said.heads[0] not in ("the", "this", "that") or said.has_path:
        return None
    if _STAYS_OR_CHANGES.match(said.rest) and (said.has_artefact or clause.in_project):
        return strength_of(clause)
    runs_somewhere = re.match(r"(?:run|work|build|compile) (?:on|with|in|under|without|offline)\b", said.rest)
    if _WHOLE_PRODUCT.match(said.subject) and (said.changes or runs_somewhere):
        return strength_of(clause)
    return "policy" if IN_PROJECT.search(clause.line) and said.changes and said.has_artefact else NO_LIMIT


def _asks_for_work(clause: Clause, said: _Demand) -> Verdict | None:
    """ "config.py should read the port", "the cache must be reset": what is to be done once."""
    if said.is_negative:
        return None
    is_task_on_path = said.has_path and said.modal == "should" and not re.match(r"(?:stay|remain|keep|be)\b", said.rest)
    is_report = said.modal == "always" and said.first.endswith("s") and said.heads[0] in ("our", "the", "this")
    return NO_LIMIT if is_task_on_path or _IS_DONE.match(said.rest) or is_report else None


def _all_of_a_kind_must(clause: Clause, said: _Demand) -> Verdict | None:
    """ "Tests must be deterministic"; not "tests must pass"."""
    if not _CORE_THINGS.match(said.subject) or said.modal not in ("must", "should"):
        return None
    if said.heads[0] in ("the", "these", "my", "your", "our", "some"):
        return None
    is_goal = re.match(r"(?:be \w+ing|have been|pass|cover|be (?:broken|wrong|missing)|run on|need)\b", said.rest)
    return NO_LIMIT if is_goal else strength_of(clause)


def _layer_is_kept_apart(clause: Clause, said: _Demand) -> Verdict | None:
    """ "The core must never import the UI"."""
    is_kept_apart = re.match(r"(?:know|talk|touch|import|call|depend|access|contain|use|write|read)s? ", said.rest)
    is_never = said.modal in ("never", "mustn't", "shouldn't", "must never", "should never")
    return strength_of(clause, "policy") if _LAYER.match(said.subject) and is_kept_apart and is_never else None


def _describes_behavior(clause: Clause, said: _Demand) -> Verdict | None:
    """ "The parser doesn't trim lines", "a.py always logs twice"."""
    is_habit = re.match(r"(?:know|import|depend|use|call|touch|write)\b", said.rest)
    if not is_habit and (said.modal == "doesn't" or (said.modal == "don't" and said.heads[0] == "the")):
        return NO_LIMIT
    is_exclusive = re.search(r"\b(?:not|never|only|mustn't|shouldn't|can't|don't|no-longer|doesn't)\b", clause.line)
    return NO_LIMIT if said.has_path and not said.changes and not is_exclusive else None


def _part_of_project_must(clause: Clause, said: _Demand) -> Verdict | None:
    """ "gen/api.py must not be edited", "commits in this repo must be signed"."""
    if not said.has_path and not (clause.in_project and (said.has_artefact or said.changes)):
        return None
    return NO_LIMIT if re.match(r"be \d|contain|accept|produce", said.rest) else "policy"


def _every_must(clause: Clause, said: _Demand) -> Verdict | None:
    """ "Every commit must build"."""
    is_all = said.heads[0] in ("every", "each", "all") and said.modal in ("must", "should", "shall")
    return strength_of(clause) if is_all and _THINGS_OF_WORK.search(said.subject) else None


def _things_never(clause: Clause, said: _Demand) -> Verdict | None:
    """ "Handlers never touch the database"."""
    if not said.has_artefact or not said.is_generic:
        return None
    is_strict = said.modal in (
        *("mustn't", "shouldn't", "must never", "should never", "may never", "must always", "should always"),
        "must only",
    )
    if not said.changes and not is_strict:
        return None
    is_permanent = said.modal in ("never", "must never", "should never", "always", "must always")
    return strength_of(clause, "policy" if is_permanent else "plain")


def _doing_must_never(clause: Clause, said: _Demand) -> Verdict | None:
    """ "Skipping hooks must never happen"."""
    is_never = said.modal in ("mustn't", "shouldn't", "must never", "should never")
    return strength_of(clause) if is_never and re.match(r"(?:\w+ing)\b", said.heads[0]) else None


_DEMAND_RULES = (
    _must_not_return,
    _is_no_demand,
    _lacks_scope,
    _one_thing_must,
    _asks_for_work,
    _all_of_a_kind_must,
    _layer_is_kept_apart,
    _describes_behavior,
    _part_of_project_must,
    _every_must,
    _things_never,
    _doing_must_never,
)


# How things are done: "line length is 100 here"

_DOUBT = _EN.pattern("doubt")
_VALUE = _EN.pattern("value")
_THE_ONLY = _EN.pattern("the_only")
_COMES_WITH = _EN.pattern("comes_with")
_QUANTITY = _EN.pattern("quantity")
_MEASURE = _EN.pattern("measure")
_VAGUE_START = _EN.pattern("vague_start")
_BELONGS = _EN.pattern("belongs")
_CONVENTION = _EN.pattern("convention")
_NEEDED_DOCUMENTS = _EN.pattern("needed_documents")
_SINGLE_DETERMINERS = _EN.word_set("single_determiners")
_EACH_OTHER_THING = _EN.pattern("each_other_thing")
_BINDING = _EN.pattern("binding")
"""Words that make a rule of a description."""
_AMOUNT = _EN.pattern("amount")
_PLACE_OR_TIME = _EN.pattern("place_or_time")
_WAY_OF_WRITING = _EN.pattern("way_of_writing")
"""Words for how code and texts are written, about which a description is a rule: "our line length is 100"."""


def judge_convention(clause: Clause) -> Strength | None:
    """Judge conventions of a project or its user: "line length is 100 here", "tests live in spec/"."""
    return None if starts_task(clause) else find_strength(_CONVENTION_RULES, clause)


def _is_scoped(clause: Clause) -> bool:
    """Whether the sentence says that it applies to this project, or to all things of a kind."""
    whole = whole_sentence(clause)
    return bool(IN_PROJECT.search(whole) or HERE.search(whole) or re.match(r"(?:all |and |our )", clause.line))


def _has_label(clause: Clause) -> Verdict | None:
    """ "Commits: imperative mood", "dependencies: none"."""
    line = clause.line
    if not clause.sentence.words[clause.end - 1].mark.endswith(":") or len(line.split()) > 3 or not has_artefact(line):
        return None
    behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
    is_bound = re.match(r"(?:max|no|none|never|not (?!ready|done|found|working|set)|only|always|at most)\b", behind)
    return strength_of(clause) if is_bound or (_VALUE.match(behind) and not behind[:1].isdigit()) else None


def _is_the_only(clause: Clause) -> Verdict | None:
    """ "The only formatter is black"."""
    is_state = re.search(r"\b(?:broken|wrong|slow|missing|problem|failing|old|outdated|installed)\b", clause.line)
    return "policy" if _THE_ONLY.match(clause.line) and not is_state else None


def _comes_with(clause: Clause) -> Verdict | None:
    """ "Every fix comes with a test"."""
    return strength_of(clause) if _COMES_WITH.match(clause.line) else None


def _is_quantity(clause: Clause) -> Verdict | None:
    """ "At most 80 columns", "functions under 30 lines"; not "at most 3 retries", which the program makes."""
    line = clause.line
    if not _QUANTITY.match(line):
        return None
    if _DOUBT.search(line) or re.search(r"\b(?:retries|requests|results|attempts|rows|items|seconds)\b", line):
        return NO_LIMIT
    return strength_of(clause, "policy" if _is_scoped(clause) else "plain")


def _is_kind_of_project(clause: Clause) -> Verdict | None:
    """ "This is a library, not an app, in this repo"."""
    line, whole = clause.line, whole_sentence(clause)
    if not re.match(r"(?:it's|it is|this is an?) \S+(?: \w+)?", line):
        return None
    is_of_project = IN_PROJECT.search(whole) or re.search(r"\brepo\b", line)
    return "policy" if is_of_project and re.search(r"\bnot\b|\bbreaks\b|\bno\b", whole) else None


def _is_measure(clause: Clause) -> Verdict | None:
    """ "Indentation is 2 spaces", "coverage stays at 90"."""
    line = clause.line
    if not _MEASURE.match(line) or not re.search(r"\d", line) or _DOUBT.search(line):
        return None
    return "policy" if _is_scoped(clause) else "plain"


def _is_vague(clause: Clause) -> Verdict | None:
    """Guesses, states and clauses that only point: "it seems slow", "that is done already"."""
    line = clause.line
    is_vague = HEDGES.match(line) or _DOUBT.search(line) or _VAGUE_START.match(line)
    names_project = re.match(r"this (?:package|repo|project|service|module|app|codebase|crate)\b", line)
    return NO_LIMIT if is_vague and not names_project else None


def _belongs_to(clause: Clause) -> Verdict | None:
    """ "SQL belongs in queries/", "new handlers go in src/handlers"."""
    line = clause.line
    belongs = _BELONGS.match(line)
    if belongs is None or not (clause.in_project or "belong" in line) or re.match(r"the \w+ (?:live|go)", line):
        return None
    is_placed = has_path(raw_text(clause)) or _is_scoped(clause)
    is_misplaced = "don't belong" in line or "doesn't belong" in line
    if not (has_artefact(belongs["subject"]) or "belong" in line) or not (is_placed or is_misplaced):
        return None
    return "policy" if is_placed else "plain"


def _are_all_so(clause: Clause) -> Verdict | None:
    """ "Our commits are signed", "every endpoint has a schema", "tests in this repo use pytest"."""
    line, whole = clause.line, whole_sentence(clause)
    found = _CONVENTION.match(line)
    if found is None or line.startswith(("my ", "your ")):
        return NO_LIMIT
    subject, verb, rest = found["subject"], found["verb"], found["rest"]
    if re.search(r" (?:that|which|who) ", f"{subject} "):
        return NO_LIMIT
    is_of_kind = has_artefact(subject) and is_generic(subject.split())
    if is_of_kind and verb in ("need", "needs") and _NEEDED_DOCUMENTS.search(rest):
        return strength_of(clause)
    is_bound = re.match(r"(?:at most|no more than|not more than|max(?:imum)?|up to) \S+ \w+", rest)
    if is_of_kind and verb in ("take", "takes", "have", "has") and is_bound:
        return strength_of(clause)
    names_path, names_project = has_path(raw_text(clause)), IN_PROJECT.search(line)
    if names_project and not names_path and _describes_project(subject, verb, rest, whole):
        return NO_LIMIT
    if not has_artefact(subject) and not names_path and not names_project:
        return NO_LIMIT
    if subject.split()[0] in _SINGLE_DETERMINERS and not (names_path or names_project):
        return NO_LIMIT
    is_lasting_state = re.search(r"\b(?:stay that way|zero|always)\b", whole)
    if verb in ("has", "have") and re.match(r"(?:no|a|an|the|any)\b", rest) and not is_lasting_state:
        return NO_LIMIT
    if names_project or names_path:
        is_description = verb in ("has", "is", "are") and re.match(
            r"(?:a|an|the|no|not|full|about|very|really)\b", rest
        )
        if is_description and not re.search(r"\b(?:never|not|only|always|zero)\b", rest):
            return NO_LIMIT
        is_limit = (
            _VALUE.search(rest)
            or re.search(r"\b(?:never|not|no|only|always|must)\b", whole)
            or not names_path
            or re.search(r"\bunder\b", rest)
        )
        return "policy" if is_limit else NO_LIMIT
    is_plain_verb = verb in ("take", "takes", "have", "get", "is", "are")
    is_strict = re.search(r"\b(?:always|never|only|not|in|written|named)\b", line)
    if subject.startswith("our ") and is_plain_verb and not is_strict:
        return NO_LIMIT
    is_of_all = _VALUE.search(rest) or re.match(r"(?:every|each|our|all)\b", subject)
    if is_generic(subject.split()) and is_of_all and verb not in ("take", "takes"):
        return NO_LIMIT if _EACH_OTHER_THING.match(line) else strength_of(clause)
    return NO_LIMIT


def _describes_project(subject: str, verb: str, rest: str, whole: str) -> bool:
    """Whether a clause says what something of the project has, takes or is, which is no rule for work on it.

    "our build takes 12 minutes", "this repo has two frontends", "our office is in Lyon"; not "our commits are signed",
    "our line length is 100".
    """
    if _BINDING.search(whole):
        return False
    is_artefact, is_amount = has_artefact(subject), _AMOUNT.match(rest) is not None
    if verb in ("take", "takes"):
        return is_amount
    if verb in ("has", "have", "need", "needs", "get", "gets"):
        return is_amount and not (is_artefact and verb in ("have", "need", "get"))
    if verb in ("is", "are") and not is_artefact:
        return not _WAY_OF_WRITING.search(f"{subject} {rest}")
    is_plain = is_amount or _PLACE_OR_TIME.match(rest) is not None
    return verb == "is" and is_plain and not _WAY_OF_WRITING.search(subject)


_CONVENTION_RULES = (
    _has_label,
    _is_the_only,
    _comes_with,
    _is_quantity,
    _is_kind_of_project,
    _is_measure,
    _is_vague,
    _belongs_to,
    _are_all_so,
)


_ENVIRONMENT = _EN.pattern("environment")


def judge_environment(clause: Clause) -> Strength | None:
    """Judge statements about what the environment cannot do, such as missing internet access."""
    return "policy" if _ENVIRONMENT.match(clause.line) and not starts_task(clause) else None
