"""Judge whether a clause with a subject states a limit: what the agent must always or never do in this project.

Each `judge_…` function takes one clause of a sentence that the user wrote, and returns how binding it is: "policy" for
a permanent limit, "plain" for one that may hold for this task only, "task" for the current task only; None if it is no
limit. Some of them extend the clause, so that the stored text includes what the limit is about. Imperative clauses
("never push") are judged in `limit_orders`. The regular expressions are in `languages/en.json`, and were adjusted to
sentences that were judged wrongly; the conditions after them exclude those.
"""

import re

from clio.memory.preferences.limit_clauses import (
    HEDGES,
    HERE,
    IDLE,
    IN_PROJECT,
    LASTING_WORDS,
    UNTIL_TOLD,
    Clause,
    Strength,
    has_artefact,
    has_path,
    is_generic,
    raw_text,
    starts_task,
    strength_of,
    text_before,
)
from clio.memory.preferences.rule_files import english_rules
from clio.memory.preferences.stated_preferences import is_order

_EN = english_rules("limits")
_FORBIDDEN_TOPIC = _EN.pattern("forbidden_topic")
_NEEDS_APPROVAL = _EN.pattern("needs_approval")
_ONLY_ONE_WHO = _EN.pattern("only_one_who")
_PERMISSION = _EN.pattern("permission")
_FORBIDDEN_TO = _EN.pattern("forbidden_to")
_THERE_MUST_BE_NO = _EN.pattern("there_must_be_no")
_MUST_STAY_SAME = _EN.pattern("must_stay_same")
_FROZEN_THING = _EN.pattern("frozen_thing")
_BRANCH_STATE = _EN.pattern("branch_state")
_NOBODY_MAY = _EN.pattern("nobody_may")
_FACTS_ABOUT_NOBODY = _EN.word_set("facts_about_nobody")
_GETS_DONE = _EN.pattern("gets_done")
_TEAM_SAYS = _EN.pattern("team_says")
_VAGUE_SUBJECTS = _EN.word_set("vague_subjects")
_THIS_PROJECT = _EN.pattern("this_project")
_OUR_USERS = _EN.pattern("our_users")
_COMES_BACK = _EN.pattern("comes_back")
_STAYS_OR_CHANGES = _EN.pattern("stays_or_changes")
_WHOLE_PRODUCT = _EN.pattern("whole_product")
_IS_DONE = _EN.pattern("is_done")
_CORE_THINGS = _EN.pattern("core_things")
_LAYER = _EN.pattern("layer")
_THINGS_OF_WORK = _EN.pattern("things_of_work")
_THE_ONLY = _EN.pattern("the_only")
_COMES_WITH = _EN.pattern("comes_with")
_MEASURE = _EN.pattern("measure")
_VAGUE_START = _EN.pattern("vague_start")
_NEEDED_DOCUMENTS = _EN.pattern("needed_documents")
_SINGLE_DETERMINERS = _EN.word_set("single_determiners")
_EACH_OTHER_THING = _EN.pattern("each_other_thing")
_YOU_ASK = _EN.pattern("you_ask")
_ALWAYS_SHOW = _EN.pattern("always_show")
_ALLOWED_EXCEPT = _EN.pattern("allowed_except")
_IF_YOU_NEVER = _EN.pattern("if_you_never")
_I_REVIEW_ALL = _EN.pattern("i_review_all")
_TIRED_OF = _EN.pattern("tired_of")
_TEAM_PREFERS = _EN.pattern("team_prefers")
_I_DO_MYSELF = _EN.pattern("i_do_myself")
_EXPECT_EVERY = _EN.pattern("expect_every")
_WE_MUST = _EN.pattern("we_must")
_MUST_VERBS = _EN.word_set("must_verbs")
_NO_MUST_VERBS = _EN.word_set("no_must_verbs")
_TASK_VERBS_AFTER_MUST = _EN.word_set("task_verbs_after_must")
_NOT_DOING = _EN.pattern("not_doing")
_WONT_SUPPORT = _EN.pattern("wont_support")
_WE_DECIDED = _EN.pattern("we_decided")
_WE_AVOID = _EN.pattern("we_avoid")
_HAS_POLICY = _EN.pattern("has_policy")
_TEAM_HABIT_VERBS = _EN.word_set("team_habit_verbs")
_ONE_PLACE = _EN.pattern("one_place")
_BUG_STATES = _EN.word_set("bug_states")
_CHANGES = _EN.pattern("changes")
_TOOL_VERBS = _EN.pattern("tool_verbs")
_PERMITTING_VERBS = _EN.word_set("permitting_verbs")
_SYSTEMS = _EN.pattern("systems")
"""Machines, whose behavior is a fact unless it is said to hold for this project: "CI rejects warnings here"."""
_MAKERS_OF_RULES = _EN.pattern("makers_of_rules")
_NOT_TO_BE = _EN.pattern("not_to_be")
_FORBIDDEN = _EN.pattern("forbidden")
_STATE = _EN.pattern("state")
_BELONGS = _EN.pattern("belongs")
_QUANTITY = _EN.pattern("quantity")
_MODAL = _EN.pattern("modal")
_CONVENTION = _EN.pattern("convention")


def judge_forbidden(clause: Clause) -> Strength | None:
    """ "X is off limits", "skipping hooks is a no-go", "poetry.lock: don't touch", "gen/ is generated"."""
    line = clause.line
    if starts_task(clause):
        return None
    if re.match(r"(?:that's )?(?:a )?hard (?:no|pass)\b|\S+ (?:is a )?no-go$", line) or re.search(
        r"\b(?:off limits|off-limits|taboo|verboten)$", line
    ):
        clause.start = 0 if clause.first and line.startswith(("hard", "a hard", "off")) else clause.start
        return "policy"
    topic = clause.sentence.words[clause.end - 1].mark.endswith(":")
    if topic and _FORBIDDEN_TOPIC.match(
        line,
    ):
        clause.end = len(clause.sentence.words)
        return "policy"
    if _NEEDS_APPROVAL.match(
        line,
    ):
        return strength_of(clause)
    if _ONLY_ONE_WHO.match(
        line,
    ):
        return "policy"
    if re.match(r"(?:merg|push|commit|deploy|releas|tagg|rebas)ing (?:\S+ )*?is something i (?:do|handle)", line):
        return "policy"
    if re.match(r"(?:\w+ )?\w+s contain no \w+", line) and has_artefact(line) and not line.startswith("the "):
        return strength_of(clause)
    if (to_be := _NOT_TO_BE.match(line)) and not re.match(r"(?:it|this|that|he|she)\b", to_be["subject"]):
        return "policy"
    found = _FORBIDDEN.match(line)
    if found is not None:
        said, subject = found[0], found["subject"] or ""
        positive = _PERMISSION.search(
            said,
        )
        negative = re.search(r"\b(?:not|isn't|aren't|no|nobody|nothing|only|never)\b", said)
        if found["verb"] in ("was", "were"):
            return None
        if positive and not negative:
            return None
        if subject in ("it", "this", "that", "he", "she", "what", "the result", "the output", "the screen"):
            if not line.startswith(("it isn't", "it's", "it is", "that's a")):
                return None
            return "policy" if re.search(r"\bto \w+", line) else None
        if re.search(r"\b(?:not fine|isn't fine|not ok|isn't ok)$", line) and re.match(
            r"(?:the|this|that|it)\b", subject
        ):
            return None
        if re.search(r"\b(?:my (?:job|business|call|responsibility|decision|task)|on me)\b", said) and re.match(
            r"(?:this|that|it)\b", subject
        ):
            return None
        if re.search(r"\bis prod\b", line):
            return None
        return "policy"
    if _FORBIDDEN_TO.match(
        line,
    ):
        return "policy" if "not" in line or "isn't" in line or "forbidden" in line or "prohibited" in line else None
    if _THERE_MUST_BE_NO.match(
        line,
    ):
        if "no place for" in line or "no need to ever" in line:
            return "policy"
        thing = re.split(r" (?:in|between|at|on|of|from|for|left)\b", line.partition(" no ")[2] or line)[0]
        return strength_of(clause, "policy") if clause.in_project or has_artefact(thing) or "network" in thing else None
    if (
        re.match(r"there (?:is|are) no \S+.*", line)
        and clause.in_project
        and (
            re.search(r"\bthere won't be\b|\bnever\b", " ".join(word.low for word in clause.sentence.words))
            or (
                clause.sentence.words[clause.first].low in ("in", "inside", "within")
                and not re.search(
                    r"\b(?:tests?|docs?|documentation|licen[cs]e|readme|ci|examples?|types?|errors?)\b", line
                )
            )
        )
    ):
        return "policy"
    if re.match(r".+ (?:isn't|aren't|isn't ok|is off|is out|are out)$", line) and re.search(
        r"\b(?:fine|ok|okay|allowed|good)\b", text_before(clause)
    ):
        clause.start = 0
        return "policy"
    if re.match(r"\w+ing .+ (?:breaks|ruins|corrupts|voids|kills|destroys) ", line) and (
        clause.in_project or has_path(raw_text(clause))
    ):
        return "policy"
    if _MUST_STAY_SAME.match(
        line,
    ):
        return strength_of(clause)
    if re.match(r"\S+ (?:never|no|nope|taboo)$", line) and has_path(raw_text(clause)):
        clause.start = 0
        return "policy"
    if _FROZEN_THING.match(
        line,
    ) and has_artefact(line):
        return "policy"
    state = _STATE.match(line)
    if state is not None and not re.match(r"(?:it|this|that|what|which|he|she|they|i|you)\b", state["subject"]):
        project = (
            clause.in_project
            or has_path(raw_text(clause))
            or bool(
                _BRANCH_STATE.match(
                    line,
                )
            )
        )
        behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
        told = re.search(r"\b(?:don't|never|edit|change|instead|hands|leave|only|not)\b", behind)
        if (
            re.search(r"\b(?:as (?:it|they) (?:is|are)|byte-identical|untouched|unchanged)\b", line)
            and "must" not in line
        ):
            return "policy"
        if project or (told and not re.match(r"the (?:screen|app|page|ui|window)\b", line)):
            if re.search(r"\b(?:where|why|how|since|during)\b", line):
                return None
            return "policy"
    return None


def judge_modal(clause: Clause) -> Strength | None:
    """Judge a subject with a modal verb: a limit if developers work on the subject, otherwise a requirement."""
    line = clause.line
    if starts_task(clause) or HEDGES.match(line):
        return None
    nobody = _NOBODY_MAY.match(
        line,
    )
    if nobody is not None:
        verb = nobody["verb"]
        if (
            verb in _FACTS_ABOUT_NOBODY
            and not (
                verb == "gets"
                and _GETS_DONE.search(
                    line,
                )
            )
            and not (verb == "changes" and clause.in_project)
        ):
            return None
        if verb == "is" and not re.search(r"\ballowed|permitted\b", line):
            return None
        base = verb[:-2] if verb.endswith("es") and is_order(verb[:-2]) is True else verb[:-1]
        if (
            verb in ("may", "must", "should", "can", "is allowed", "ever", "is")
            or (verb in ("goes", "gets", "ships") and (clause.in_project or nobody["rest"]))
            or is_order(base) is True
        ):
            return "policy"
        return None
    if _TEAM_SAYS.match(
        line,
    ):
        return "policy"
    if _TOOL_VERBS.match(line):
        if clause.in_project:
            return "policy"
        is_plain_fact = _SYSTEMS.match(line) and not HERE.search(" ".join(word.low for word in clause.sentence.words))
        return None if is_plain_fact or re.search(r"\b(?:main|master|yesterday|timeout)\b", line) else "policy"
    found = _MODAL.match(line)
    if found is None:
        return None
    subject, modal, rest = found["subject"], found["modal"], found["rest"]
    heads = subject.split()
    if (
        heads[0] in _VAGUE_SUBJECTS
        and "this repo" not in line
        and "this project" not in line
        and not _THIS_PROJECT.match(
            line,
        )
    ):
        return None
    if _OUR_USERS.match(subject):
        return None
    if heads[0] in ("let's", "who", "which", "whenever", "when", "if"):
        return None
    if modal in ("mustn't", "must never", "shouldn't", "should never", "may never") and _COMES_BACK.match(
        rest,
    ):
        return strength_of(clause)
    first = rest.split()[0]
    if first in _PERMITTING_VERBS and not clause.in_project and not _MAKERS_OF_RULES.search(subject):
        return None  # what a system permits is a fact about it: "the CI doesn't allow force pushes"
    path = has_path(raw_text(clause))
    finite = modal in ("never", "don't", "doesn't", "always", "no-longer", "only", "won't")
    changes = _CHANGES.match(rest)
    if re.match(r"(?:pass|be green|be fixed|be possible|be able|work$|exist|be visible|be shown)\b", rest):
        return None
    generic = is_generic(heads)
    artefact = has_artefact(subject)
    if finite and (
        first in _BUG_STATES
        and not re.match(r"gets? \w+ed\b", rest)
        and not (artefact and generic and first in ("start", "return", "fail", "close"))
    ):
        return None
    if finite and modal == "always" and not (generic or clause.in_project):
        return None
    if finite and not (generic or path or clause.in_project or changes):
        return None
    if modal in ("may", "can only", "should", "shall", "must") and not artefact and not path:
        if modal == "may" and not re.match(r"not |at most|only|never", rest):
            return None
        if not (clause.in_project and changes):
            return None
    if modal == "may" and not re.match(
        r"(?:not|only|never|have at most|take at most|take|have|contain at most)\b", rest
    ):
        return None
    if finite and (modal in ("don't", "doesn't")) and not (artefact or path or clause.in_project):
        return None
    if heads[0] in ("the", "this", "that") and not path:
        if _STAYS_OR_CHANGES.match(rest) and (artefact or clause.in_project):
            return strength_of(clause)
        if _WHOLE_PRODUCT.match(
            subject,
        ) and (changes or re.match(r"(?:run|work|build|compile) (?:on|with|in|under|without|offline)\b", rest)):
            return strength_of(clause)
        return "policy" if IN_PROJECT.search(line) and changes and artefact else None
    is_negative = re.search(r"\b(?:not|never|only|mustn't|shouldn't|can't|don't|no-longer|doesn't|nothing|no)\b", line)
    is_done = _IS_DONE.match(rest)
    if not is_negative and (
        (path and modal == "should" and not re.match(r"(?:stay|remain|keep|be)\b", rest))
        or is_done
        or (modal == "always" and first.endswith("s") and heads[0] in ("our", "the", "this"))
    ):
        return None
    is_core = _CORE_THINGS.match(
        subject,
    )
    if is_core and modal in ("must", "should") and heads[0] not in ("the", "these", "my", "your", "our", "some"):
        if re.match(r"(?:be \w+ing|have been|pass|cover|be (?:broken|wrong|missing)|run on|need)\b", rest):
            return None
        return strength_of(clause)
    is_layer = _LAYER.match(
        subject,
    )
    is_kept_apart = re.match(r"(?:know|talk|touch|import|call|depend|access|contain|use|write|read)s? ", rest)
    if is_layer and is_kept_apart and modal in ("never", "mustn't", "shouldn't", "must never", "should never"):
        return strength_of(clause, "policy")
    is_habit = re.match(r"(?:know|import|depend|use|call|touch|write)\b", rest)
    if not is_habit and (modal == "doesn't" or (modal == "don't" and heads[0] == "the")):
        return None
    if (
        path
        and not changes
        and not re.search(r"\b(?:not|never|only|mustn't|shouldn't|can't|don't|no-longer|doesn't)\b", line)
    ):
        return None
    if path or (clause.in_project and (artefact or changes)):
        if re.match(r"be \d|contain|accept|produce", rest):
            return None
        return "policy"
    if (
        heads[0] in ("every", "each", "all")
        and modal in ("must", "should", "shall")
        and _THINGS_OF_WORK.search(
            subject,
        )
    ):
        return strength_of(clause)
    if (
        artefact
        and generic
        and (
            changes
            or modal
            in (
                "mustn't",
                "shouldn't",
                "must never",
                "should never",
                "may never",
                "must always",
                "should always",
                "must only",
            )
        )
    ):
        return strength_of(
            clause, "policy" if modal in ("never", "must never", "should never", "always", "must always") else "plain"
        )
    if re.match(r"(?:\w+ing)\b", heads[0]) and modal in ("mustn't", "shouldn't", "must never", "should never"):
        return strength_of(clause)
    return None


_DOUBT = _EN.pattern("doubt")
_VALUE = _EN.pattern("value")


def judge_convention(clause: Clause) -> Strength | None:
    """Judge conventions of a project or its user: "line length is 100 here", "tests live in spec/"."""
    line = clause.line
    if starts_task(clause):
        return None
    whole = " ".join(word.low for word in clause.sentence.words)
    scoped = bool(IN_PROJECT.search(whole)) or bool(HERE.search(whole)) or bool(re.match(r"(?:all |and |our )", line))
    if clause.sentence.words[clause.end - 1].mark.endswith(":") and len(line.split()) <= 3 and has_artefact(line):
        behind = " ".join(word.low for word in clause.sentence.words[clause.end :])
        if (_VALUE.match(behind) and not behind[:1].isdigit()) or re.match(
            r"(?:max|no|none|never|not (?!ready|done|found|working|set)|only|always|at most)\b", behind
        ):
            return strength_of(clause)
    if _THE_ONLY.match(
        line,
    ) and not re.search(r"\b(?:broken|wrong|slow|missing|problem|failing|old|outdated|installed)\b", line):
        return "policy"
    if _COMES_WITH.match(
        line,
    ):
        return strength_of(clause)
    quantity = _QUANTITY.match(line)
    if quantity is not None:
        if _DOUBT.search(line) or re.search(r"\b(?:retries|requests|results|attempts|rows|items|seconds)\b", line):
            return None
        return strength_of(clause, "policy" if scoped else "plain")
    if (
        re.match(r"(?:it's|it is|this is an?) \S+(?: \w+)?", line)
        and (IN_PROJECT.search(whole) or re.search(r"\brepo\b", line))
        and re.search(r"\bnot\b|\bbreaks\b|\bno\b", whole)
    ):
        return "policy"
    if (
        _MEASURE.match(
            line,
        )
        and re.search(r"\d", line)
        and not _DOUBT.search(line)
    ):
        return "policy" if scoped else "plain"
    if (HEDGES.match(line) or _DOUBT.search(line) or _VAGUE_START.match(line)) and not re.match(
        r"this (?:package|repo|project|service|module|app|codebase|crate)\b", line
    ):
        return None
    belongs = _BELONGS.match(line)
    is_placed = has_path(raw_text(clause)) or scoped
    if (
        belongs is not None
        and (clause.in_project or "belong" in line)
        and not re.match(r"the \w+ (?:live|go)", line)
        and (has_artefact(belongs["subject"]) or "belong" in line)
        and (is_placed or "don't belong" in line or "doesn't belong" in line)
    ):
        return "policy" if is_placed else "plain"
    found = _CONVENTION.match(line)
    if found is None or line.startswith(("my ", "your ")):
        return None
    subject, verb, rest = found["subject"], found["verb"], found["rest"]
    if re.search(r" (?:that|which|who) ", f"{subject} "):
        return None
    if (
        verb in ("need", "needs")
        and has_artefact(subject)
        and is_generic(subject.split())
        and _NEEDED_DOCUMENTS.search(
            rest,
        )
    ):
        return strength_of(clause)
    if (
        verb in ("take", "takes", "have", "has")
        and has_artefact(subject)
        and is_generic(subject.split())
        and re.match(r"(?:at most|no more than|not more than|max(?:imum)?|up to) \S+ \w+", rest)
    ):
        return strength_of(clause)
    if not has_artefact(subject) and not has_path(raw_text(clause)) and not IN_PROJECT.search(line):
        return None
    if subject.split()[0] in _SINGLE_DETERMINERS and not (has_path(raw_text(clause)) or IN_PROJECT.search(line)):
        return None
    if (
        verb in ("has", "have")
        and re.match(r"(?:no|a|an|the|any)\b", rest)
        and not re.search(r"\b(?:stay that way|zero|always)\b", whole)
    ):
        return None
    if IN_PROJECT.search(line) or has_path(raw_text(clause)):
        if (
            verb in ("has", "is", "are")
            and re.match(r"(?:a|an|the|no|not|full|about|very|really)\b", rest)
            and not re.search(r"\b(?:never|not|only|always|zero)\b", rest)
        ):
            return None
        return (
            "policy"
            if _VALUE.search(rest)
            or re.search(r"\b(?:never|not|no|only|always|must)\b", whole)
            or not has_path(raw_text(clause))
            or re.search(r"\bunder\b", rest)
            else None
        )
    if (
        subject.startswith("our ")
        and verb in ("take", "takes", "have", "get", "is", "are")
        and not re.search(r"\b(?:always|never|only|not|in|written|named)\b", line)
    ):
        return None
    if (
        is_generic(subject.split())
        and (_VALUE.search(rest) or re.match(r"(?:every|each|our|all)\b", subject))
        and verb not in ("take", "takes")
    ):
        if _EACH_OTHER_THING.match(
            line,
        ):
            return None
        return strength_of(clause)
    return None


_ENVIRONMENT = _EN.pattern("environment")


def judge_environment(clause: Clause) -> Strength | None:
    """Judge statements about what the environment cannot do, such as missing internet access."""
    return "policy" if _ENVIRONMENT.match(clause.line) and not starts_task(clause) else None


_SEE = _EN.word_set("see")
_BUG_VERBS = _EN.word_set("bug_verbs")
_WE_DO = _EN.pattern("we_do")
_PRAISED_OR_BLAMED = _EN.word_set("praised_or_blamed")
"""Verbs after "you always" that report what the agent did, good or bad."""
_YOU = _EN.pattern("you")


_NEGATIVE_MODALS = ("mustn't", "shouldn't", "can't", "won't", "never", "must never", "should never", "may never")


def judge_you(clause: Clause) -> Strength | None:
    """ "You must not …", "you may only …", "could you please never …"."""
    line = _YOU_ASK.sub(
        r"you ask \g<rest>",
        clause.line,
    )
    if line.startswith("you ask "):
        more = line[8:]
        if more.startswith(("stop ", "avoid ", "refrain")):
            verb = more.split()[1] if len(more.split()) > 1 else ""
            if verb in ("the", "a", "an", "that", "this"):
                return None
            return "policy" if verb.endswith("ing") or verb in ("from",) or more.startswith("avoid") else None
        if _ALWAYS_SHOW.match(more):
            return None
        return strength_of(clause, "policy" if more.startswith(("never", "always")) else "plain")
    if re.match(r"you (?:can|may) .*\b(?:not|never|nothing)\b", line) and not re.match(
        r"you (?:can|may) (?:not|never) (?:see|be)\b", line
    ):
        return "policy" if is_order(line.split()[2]) is True or line.split()[2] in ("look", "not") else None
    if _ALLOWED_EXCEPT.search(
        line,
    ) or re.match(r"you have (?:my|no|only|read)\b", line):
        return "policy"
    if _IF_YOU_NEVER.match(
        line,
    ):
        return "policy" if "never" in line or "stop" in line or "always" in line else "plain"
    found = _YOU.match(line)
    if found is None:
        return None
    modal, rest = found["modal"], found["rest"] or ""
    verb = rest.split()[0] if rest else ""
    if modal in _NEGATIVE_MODALS or modal.startswith(
        ("don't", "aren't", "not", "are not", "are never", "may only", "must only", "should only")
    ):
        if modal == "don't":
            return "policy" if rest.startswith(("have permission", "have my", "get to", "have access")) else None
        if rest.startswith("have permission"):
            return "policy"
        if verb in _SEE or verb.endswith("ed") or rest.startswith(("be able", "have ")):
            return None
        is_weak = modal in ("can't", "won't", "never", "shouldn't") and is_order(verb) is not True
        if is_weak and verb != "assume" and not (modal == "shouldn't" and UNTIL_TOLD.search(line)):
            return None
        if modal == "can't" and not (clause.in_project or LASTING_WORDS.search(line) or is_order(verb) is True):
            return None
        return strength_of(clause, "policy" if modal not in ("shouldn't", "can't", "won't") else "plain")
    if modal in ("must always", "should always", "always", "are to", "to") and is_order(verb) is True:
        return None if modal == "always" and verb in _PRAISED_OR_BLAMED else "policy"
    if modal == "must" and is_order(verb) is True:
        return strength_of(clause)
    if modal in ("may", "can") and rest.startswith("not "):
        return "policy"
    return None


_I_DO = _EN.pattern("i_do")
_I_WOULD = _EN.pattern("i_would")


def judge_i(clause: Clause) -> Strength | None:
    """ "I don't want …", "I'd rather you didn't …", "I do the commits"."""
    line = clause.line
    if _I_WOULD.match(line):
        return strength_of(clause, "plain" if not line.startswith(("i hate", "i don't like")) else "policy")
    if re.match(r"it (?:bugs|annoys|bothers) me (?:when|if) you\b|it drives me (?:mad|crazy|nuts)", line):
        return "policy"
    if re.match(r"i'll (?:handle|do|take care of|run|commit|push|deploy|merge) .*\b(?:myself|always)\b", line):
        return strength_of(clause)
    if _I_REVIEW_ALL.match(line):
        return "policy"
    if re.match(r"i take care of (?!it|this|that)\S+", line):
        return strength_of(clause)
    if _TIRED_OF.match(line) and has_artefact(line):
        return strength_of(clause)
    prefers = _TEAM_PREFERS.match(
        line,
    )
    if prefers is not None and (
        has_artefact(prefers["what"].split()[0])
        or re.search(r" (?:over|to|instead of|rather than) \S+", prefers["what"])
    ):
        return strength_of(clause, "policy" if "team" in line else "plain")
    if re.match(r"i (?:decide|choose|pick) \w*", line) and clause.first:
        return None
    if re.match(r"i (?:commit|push|merge|deploy|release|tag|review|decide)$", line) and text_before(clause).startswith(
        "you "
    ):
        clause.start = 0
        return "policy"
    if _I_DO_MYSELF.match(
        line,
    ):
        return "policy"
    if re.match(r"(?:i|we)(?:'d)? (?:like|want|expect|need) (?:all|every|each|any|new) ", line) and re.search(
        r" (?:to be|in|to (?:have|use|follow|come|go|start|end|pass|carry)) ", line
    ):
        return strength_of(clause) if has_artefact(line) else None
    is_for_all = _EXPECT_EVERY.match(line)
    if is_for_all and has_artefact(line) and not re.search(r"\b(?:users?|rows?|items?|list|see|know)\b", line):
        return strength_of(clause)
    found = _I_DO.match(line)
    if found is None:
        return None
    rest = found["rest"] or ""
    if found["mine"]:
        return "policy"
    if found["wanted"]:
        if found["wanted"] in ("want every", "want all") and not has_artefact(" ".join(rest.split()[:2])):
            return None
        if found["wanted"] == "only want" and re.match(r"(?:a|an|the|one|you to (?:show|tell|explain|look))\b", rest):
            return "task"
        if (
            found["wanted"] in ("only want", "always want")
            and rest.startswith("to ")
            and not rest.startswith(("to see", "to review", "to approve", "to know", "to be asked"))
        ):
            return None
        return "policy"
    if re.match(r"to\b", rest) and found["unwanted"] != "refuse":
        if re.match(r"to (?:see|read|have|find)\b", rest) and not re.match(r"to see (?:the|this|that)\b", rest):
            return strength_of(clause, "policy" if "never" in found["unwanted"] else "plain")
        return None
    if not rest or re.match(r"(?:this|that|it|these|those|the|them|its)\b(?! \w+ to\b)", rest):
        return None
    if re.search(r"\b(?:can't stand)\b", line) and not clause.is_contrast:
        return strength_of(clause)
    return strength_of(clause)


_MOVED = _EN.pattern("moved")
_HAVE_MOVED = _EN.pattern("have_moved")


def judge_we(clause: Clause) -> Strength | None:
    """ "We use X here, not Y", "we never …", "we've moved off X", "let's not …"."""
    line = clause.line
    whole = " ".join(word.low for word in clause.sentence.words)
    let = re.match(r"let's (?P<how>never|not|always|keep|agree|stick|avoid|stop|leave)\b(?: (?P<rest>.*))?$", line)
    if let is not None:
        rest = let["rest"] or ""
        match let["how"]:
            case "never" | "always":
                return "policy"
            case "not":
                verb = rest.split()[0] if rest else ""
                return strength_of(clause) if is_order(verb) is True and verb not in IDLE else None
            case "keep":
                return (
                    strength_of(clause)
                    if re.search(r"\b(?:out of|as|to|under|below|small|unchanged|away|free)\b", rest)
                    else None
                )
            case "agree" | "avoid":
                return strength_of(clause, "policy" if let["how"] == "agree" else "plain")
            case "stick":
                return (
                    "plain"
                    if rest.startswith(("to ", "with ")) and not re.match(r"\w+ (?:it|that|this|the)\b", rest)
                    else None
                )
            case _:
                return None
    if _MOVED.match(line) and not re.search(r"\b(?:yesterday|by accident|before|but)\b", line):
        return "policy"
    if _HAVE_MOVED.match(line):
        return "policy"
    if re.match(r"(?:we're|we are)(?: still| stuck| all)* on \S+", line) and (
        clause.in_project or HERE.search(whole) or re.search(r"\bno \w+|stuck|<", whole)
    ):
        return "policy"
    if _WE_MUST.match(line):
        rest = line.split(" ", 2)[2] if len(line.split()) > 2 else ""
        verb = rest.split()[0] if rest else ""
        if (
            verb in _SEE
            or verb in _MUST_VERBS
            or line.startswith(("we mustn't", "we promised"))
            or is_order(verb) is True
        ):
            if verb in _NO_MUST_VERBS:
                return None
            if (
                line.startswith(("we must", "we still"))
                and verb not in ("keep", "stay")
                and not clause.in_project
                and not HERE.search(whole)
            ):
                return None
            if line.startswith(("we must", "we still", "we should")) and verb in _TASK_VERBS_AFTER_MUST:
                return None
            return strength_of(clause, "policy" if clause.in_project else "plain")
        return None
    if _NOT_DOING.match(
        line,
    ) and not re.search(r"\b(?:there yet|yet|correctly|right)\b", line):
        return "policy"
    if _WONT_SUPPORT.match(
        line,
    ):
        return "policy"
    if _WE_DECIDED.match(
        line,
    ) and not re.search(r"\b(?:going to|but)\b", line):
        return "policy"
    if (
        re.match(r"we don't (?:like|want|need|have) ", line)
        and clause.in_project
        and not re.match(r"we don't (?:need|have) (?:a|an|the|any|tests?)\b", line)
    ):
        return "policy"
    if _WE_AVOID.match(
        line + " ",
    ):
        return "policy"
    if re.match(r"we do (?!a|the|not|this|that|it|have|need)\S+ ", line + " ") and (
        clause.in_project or HERE.search(whole)
    ):
        return "policy"
    if re.match(r"we're an? \S+(?: \S+)? (?:shop|team|house|company|project)\b", line):
        return "policy"
    found = _WE_DO.match(line)
    if found is None:
        return None
    verb, rest = found["verb"], found["rest"] or ""
    if _HAS_POLICY.match(line):
        return "policy"
    if clause.is_reminded and line.startswith("we ") and is_order(verb) is True and verb not in _SEE | _BUG_VERBS:
        return "policy"
    if (
        line.startswith("this ")
        and verb in ("supports", "targets", "requires")
        and (re.search(r"\d", rest) or re.search(r"\b(?:no|never|only|don't|without)\b", whole))
    ):
        return "policy"
    scoped = (
        clause.in_project
        or clause.is_reminded
        or bool(HERE.search(whole))
        or bool(re.search(r"\banymore\b|any more\b", line))
    )
    if verb in ("never", "don't", "no-longer", "won't", "doesn't", "can't", "mustn't"):
        head = rest.split()[0] if rest else ""
        if line.startswith("this ") and head.endswith("s") and is_order(head[:-1]) is True:
            return "policy"
        if head in IDLE - {"build", "start", "want", "stop", "apply"} or is_order(head) is False or not head:
            return "policy" if head == "have" and verb == "doesn't" and re.search(r"and won't", whole) else None
        if re.match(r"do \S+", rest) and verb == "don't":
            return "policy" if scoped else "plain"
        if head in _BUG_VERBS and (not scoped or re.search(r"\bthat (?:path|case|branch|function)\b", rest)):
            return None
        if re.search(r"\b(?:that path|this path|that case|the buffer|because|yesterday|last)\b", rest) and not scoped:
            return None
        if is_order(head) is None and not scoped and head not in ("throw", "backport", "mock", "squash", "vendor"):
            return "plain" if len(rest.split()) > 1 else None
        return "policy"
    if verb in ("always", "only", "strictly"):
        head = rest.split()[0] if rest else ""
        known = is_order(head) is True or (scoped and is_order(head) is not False)
        return "policy" if known and not re.search(r"\b(?:get|see|have|had)\b", head) else None
    if verb in _TEAM_HABIT_VERBS:
        behind = " ".join(word.low for word in clause.sentence.words[clause.end : clause.end + 6])
        contrast = re.search(
            r"\b(?:not|never|instead of|rather than|over|only|no|without|nothing but|exclusively)\b", f"{rest}"
        ) or re.match(r"(?:and |so |but )?(?:not|never|no|nothing|don't|instead of|rather than)\b", behind)
        if _ONE_PLACE.search(
            line,
        ):
            return None
        if rest.startswith("to ") or re.search(r"\b(?:is|are|was|does|but|because)\b", rest):
            return None
        if contrast or scoped:
            return "policy"
        if verb in ("name", "write", "follow", "indent", "log", "prefix", "stick", "pin"):
            return "plain"
    return None
