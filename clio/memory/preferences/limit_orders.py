"""Find limits in imperative clauses: "never …", "don't …", "no …", "only …", "leave … alone", "ask before …"."""

import re

from clio.memory.preferences.limit_clauses import (
    DEFINITE,
    FINITE,
    HEDGES,
    IDLE,
    IN_PROJECT,
    LASTING_WORDS,
    TASK_VERBS,
    TURN_VERBS,
    UNTIL_TOLD,
    Clause,
    Strength,
    has_artefact,
    has_path,
    raw_text,
    strength_of,
    text_before,
)
from clio.memory.preferences.rule_files import FILLER, english_rules
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("limits")
_WAY_OF_WORKING = _EN.pattern("way_of_working")
_IDLE_ALONE = _EN.word_set("idle_alone")
_ABOUT_WORK = _EN.pattern("about_work")
_STATED_USE = _EN.pattern("stated_use")
_PROGRAM_STEP = _EN.pattern("program_step")
_NO_ORDER_AFTER_NEVER = _EN.word_set("no_order_after_never")
_PLACED_RULE = _EN.pattern("placed_rule")
_IDLE_STOP = _EN.pattern("idle_stop")
_CUT_OUT = _EN.pattern("cut_out")
_STAY_AWAY = _EN.pattern("stay_away")
_SKIP_ENTIRELY = _EN.pattern("skip_entirely")
_LET_DO = _EN.pattern("let_do")
_LET_BOT = _EN.pattern("let_bot")
_KEEP_THINGS = _EN.pattern("keep_things")
_KEEP_POINTED = _EN.pattern("keep_pointed")
_KEEP_PLURAL = _EN.pattern("keep_plural")
_ONLY_WORK = _EN.pattern("only_work")
_ONLY_ROLE = _EN.pattern("only_role")
_NOTHING_BUT = _EN.pattern("nothing_but")
_FREE_EXCEPT = _EN.pattern("free_except")
_STAY_WITHIN = _EN.pattern("stay_within")
_NO_MORE_ERRORS = _EN.pattern("no_more_errors")
_FORMAT_ORDER = _EN.pattern("format_order")
_LANGUAGE_ORDER = _EN.pattern("language_order")
_MUST_RUN = _EN.pattern("must_run")
_SIZE_BOUND = _EN.pattern("size_bound")
_ANSWER_FORM = _EN.pattern("answer_form")
_ASK_IN_DOUBT = _EN.pattern("ask_in_doubt")
_TRIGGER = _EN.pattern("trigger")
_BEFORE_FINISHING = _EN.pattern("before_finishing")
_NAME_THINGS = _EN.pattern("name_things")
_ANSWER_LANGUAGE = _EN.pattern("answer_language")
_USE_INSTEAD = _EN.pattern("use_instead")
_RELY_ON = _EN.pattern("rely_on")
_BARE_INSTEAD = _EN.pattern("bare_instead")
_ALL_IN = _EN.pattern("all_in")
_TREAT_AS = _EN.pattern("treat_as")
_NO_WAY = _EN.pattern("no_way")
_ALL_ARE = _EN.pattern("all_are")
_SIZE_LIMIT = _EN.pattern("size_limit")
_PROGRAM_VERBS = _EN.word_set("program_verbs")
_OF_PROGRAM = _EN.pattern("of_program")


_IDENTIFIER = LazyRegex(r"\b(?:in|from|of|by|to) (?:[a-z]+[A-Z]\w*|[a-z]+_\w+|\w+\(\))|\b[a-z]+[a-z0-9]*\(\)")


def _is_of_code_to_write(clause: Clause, verb: str, rest: str) -> bool:
    """Whether an order describes the behavior of the program to write: "don't send the email twice"."""
    if verb not in _PROGRAM_VERBS or IN_PROJECT.search(clause.line) or clause.is_standing:
        return False
    return bool(_OF_PROGRAM.search(rest) or _IDENTIFIER.search(raw_text(clause)))


_ALLOWED_AFTER_NEVER = _EN.word_set("allowed_after_never")
_ASK_FIRST = _EN.pattern("ask_first")
_HABIT_TRIGGER = _EN.pattern("habit_trigger")
_HABIT_TAIL = _EN.pattern("habit_tail")
_NO_IDIOMS = _EN.pattern("no_idioms")
_NEGATED = _EN.pattern("negated")


def judge_negated_order(clause: Clause) -> Strength | None:
    """ "never push", "don't touch X", "not a single commit until …", "never tabs" behind what is wanted instead."""
    found = _NEGATED.match(clause.line)
    if found is None:
        if clause.line in ("don't", "never") and len(clause.sentence.words) > 2:
            clause.start = 0
            clause.end = clause.end if clause.first else len(clause.sentence.words)
            return "policy"
        return None
    neg, verb, rest = found["neg"], found["verb"], found["rest"] or ""
    is_again = clause.line.startswith("never again")
    if neg == "not":
        return _not_phrase(clause, verb, rest)
    if neg == "neither":
        return "plain" if " nor " in clause.line else None
    if neg == "don't" and not rest and order_unknown(verb):
        return strength_of(clause)
    if verb == "do" and rest in ("it", "that", "this") and clause.first and neg in ("don't", "never"):
        clause.start = 0
        return strength_of(clause)
    if verb == "tell" and rest.startswith("me you"):
        return None
    if is_again and len(clause.line.split()) < 4 and not rest:
        return None
    idle = verb in IDLE and not (verb in _ALLOWED_AFTER_NEVER and rest)
    if _is_of_code_to_write(clause, verb, rest):
        return None
    if verb in ("work", "go", "look", "do", "think") and _WAY_OF_WORKING.match(rest):
        return strength_of(clause)
    if verb == "be" and re.match(
        r"(?:clever|smart|creative|verbose|lazy|cute|fancy|chatty|overly|too|polite|wordy)\b", rest
    ):
        return strength_of(clause)
    if verb == "let" and "down" in rest:
        return None
    if verb.startswith(FILLER):
        return strength_of(clause)
    order = None if idle else is_order(verb)
    if order is None and not idle and not rest and neg == "don't":
        order = True if verb in ("commit", "push", "deploy") else None
    if verb in _IDLE_ALONE and neg == "don't" and not rest:
        return None
    if neg in ("never", "no-longer") and not (order is True or (order is None and not idle and rest)):
        return _never_this(clause, verb, rest)
    if neg == "don't" and (idle or order is False):
        if verb == "bother" and rest.startswith(("with ", "to ")):
            return "task"
        if verb == "be" and rest:
            return None
        if verb in ("have",) and rest:
            return "plain"
        return None
    if neg == "don't" and order is None and not rest:
        return None
    if rest in ("that", "so", "it like this", "this", "do that"):
        return "task" if neg == "don't" else None
    if clause.has_condition and neg == "don't" and DEFINITE.search(rest or "it") and _is_of_program(clause.condition):
        return None
    if clause.has_condition and neg == "never" and verb in _PROGRAM_VERBS and _is_of_program(clause.condition):
        return None
    if clause.has_condition and rest in ("it", "them", "") and _is_of_program(clause.condition) and neg == "don't":
        return None
    return strength_of(clause, "policy" if neg in ("never", "no-longer") else "plain")


def _is_of_program(condition: str) -> bool:
    """Whether a condition refers to the program ("as long as the token is valid"), not to the work on it."""
    return not _ABOUT_WORK.search(condition)


def _not_phrase(clause: Clause, verb: str, rest: str) -> Strength | None:
    """ "not X" behind what is used instead, "not a single …", "not without asking"."""
    line = clause.line
    if line.startswith(("not a single ", "not one ", "not without ")) or UNTIL_TOLD.search(line):
        return strength_of(clause, "policy" if UNTIL_TOLD.search(line) else "plain")
    before = text_before(clause)
    if clause.is_demanded and is_order(verb) is True:
        return "policy"
    if (
        line.startswith("not to ")
        and is_order(verb) is True
        and re.search(
            r"\b(?:asked you|careful|care|sure|remember|try|out)\b",
            " ".join(word.low for word in clause.sentence.words),
        )
    ):
        return strength_of(clause)
    if before and clause.sentence.words[clause.first - 1].mark.endswith(":") and not has_artefact(before):
        return None
    if (
        not before
        or len(line.split()) > 7
        or verb in ("sure", "yet", "bad", "only", "just", "really", "so", "that", "because", "all")
    ):
        return None
    first = before.split()
    if line.startswith(("not to ",)) and clause.first == 0:
        return None
    if _STATED_USE.match(before):
        is_short = len(first) <= 2 and not clause.is_standing and not clause.in_project
        if is_short and (is_order(first[0]) is True or first[0] in ("no", "yes", "why")):
            return None
        clause.start = 0 if not clause.start or len(before.split()) <= 10 else clause.start
        if _PROGRAM_STEP.match(before) and not clause.in_project:
            return None
        if before.startswith(("use the", "use a", "use an")):
            return "task"
        return strength_of(
            clause, "policy" if clause.is_standing or clause.in_project or before.startswith("we") else "plain"
        )
    return None


def _never_this(clause: Clause, verb: str, rest: str) -> Strength | None:
    """ "never tabs", "never in euros" behind the wanted thing; "never ever", "never again without asking"."""
    if UNTIL_TOLD.search(clause.line):
        clause.start = clause.first
        return "policy"
    if clause.is_standing:
        return "policy"
    before = text_before(clause)
    said = _NO_ORDER_AFTER_NEVER
    if clause.sentence.words[clause.first].low == "or" or (verb == "say" and rest.startswith("never")):
        return None
    if verb.endswith("s") and is_order(verb[:-1]) is True:
        return None
    if rest.startswith("than ") and verb == "more":
        return "policy"
    if not before or verb in said or verb.endswith("ed"):
        return None
    is_place = verb in ("in", "on", "at", "with", "without", "for", "by", "from", "to", "anywhere", "into")
    if is_place and not _PLACED_RULE.match(before):
        return None
    if re.match(r"(?:\S+ ){0,4}(?:passes|fails|works|runs|happens|crashes)\b", before):
        return None
    clause.start = 0 if len(before.split()) <= 12 else clause.start
    return "policy"


def order_unknown(verb: str) -> bool:
    """Whether a verb is neither known nor part of an idiom: "don't over-engineer"."""
    return verb not in IDLE and is_order(verb) is None and len(verb) > 4


def judge_stop(clause: Clause) -> Strength | None:
    """ "Stop adding summaries", "cut out the comments"."""
    found = re.match(r"stop (?:it with|\w+[-\w]*ing|all|with)\b ?(?P<rest>.*)", clause.line)
    if found is not None:
        is_habit = bool(found["rest"]) and LASTING_WORDS.search(clause.line)
        if not is_habit and _IDLE_STOP.match(clause.line):
            return None
        if _is_of_code_to_write(clause, clause.line.split()[1], found["rest"]):
            return None
        return "task" if re.match(r"(?:this|that|these|it)\b", found["rest"]) else "policy"
    if _CUT_OUT.match(clause.line):
        is_manner = clause.line.startswith(("cut", "enough", "spare", "save"))
        return strength_of(clause) if is_manner or clause.is_standing else None
    return None


def judge_avoid(clause: Clause) -> Strength | None:
    """ "Avoid global state", "refrain from …", "stay away from …"."""
    found = re.match(r"(?:try to |you should |always )*avoid (?P<rest>.+)", clause.line)
    if found is not None:
        rest = found["rest"]
        if rest == "it" and clause.first:
            return strength_of(clause)
        if rest.split()[0] in ("the", "a", "an", "this", "that", "it", "these") and not LASTING_WORDS.search(rest):
            return None
        if re.search(r"\b(?:when|while|if) (?:the|a|an|it|no|there)\b", rest) or _IDENTIFIER.search(
            clause.sentence.text
        ):
            return None
        if _is_of_code_to_write(clause, rest.split()[0], rest) or re.search(
            r"\bin the (?:output|result|list|response)\b", rest
        ):
            return None
        return strength_of(clause)
    if _STAY_AWAY.match(clause.line):
        return strength_of(clause, "policy")
    return None


_KEEP = _EN.pattern("keep")


def judge_keep(clause: Clause) -> Strength | None:
    """ "Leave X alone", "keep X as it is", "hands off X"."""
    line = clause.line
    if _SKIP_ENTIRELY.match(line):
        return strength_of(clause)
    if _LET_DO.match(line):
        is_agent = _LET_BOT.match(line)
        if is_agent and not re.match(
            r"let me (?:know|see|do (?:it|that|this))\b|leave .+ to the (?:right|left|top)", line
        ):
            return strength_of(clause)
    if _KEEP_THINGS.match(line):
        return strength_of(clause)
    if re.match(r"(?:keep )?(?:your |my )?hands off\b", line):
        return strength_of(clause, "policy" if not re.search(r"while you're at it", line) else "task")
    found = _KEEP.match(line)
    if found is not None:
        what = found["object"] or ""
        if what in ("it", "me", "") or line.startswith(("leave it to", "leave it at", "keep it up", "keep me")):
            return "task" if what == "it" and found["how"] not in ("to me", "be", "simple", "short") else None
        if what.startswith("only ") or (
            found["how"] == "out"
            and line.startswith("leave")
            and not re.match(r"(?:step|the)\b.*$", what + (found["rest"] or "x"))
        ):
            return None
        if found["how"] in ("small", "short", "minimal", "pure", "simple", "on", "working") and _KEEP_POINTED.match(
            what
        ):
            return None
        return strength_of(clause)
    if _KEEP_PLURAL.match(line):
        return strength_of(clause)
    if re.match(r"(?:while |by )?keeping (?:all |the |every |existing )", line) and clause.first:
        return "task"
    if re.search(r" while keeping (?:all|the|every)\b", f" {line}") and is_order(line.split()[0]) is True:
        return "task"
    return None


def judge_only(clause: Clause) -> Strength | None:
    """ "Only use X", "commit only when …", "double quotes only"."""
    line = clause.line
    if re.match(r"use (?:only|nothing but|any .+ (?:but|except|apart from))\b", line):
        return strength_of(clause)
    found = re.match(r"only (?:ever )?(?P<verb>\S+)(?: (?P<rest>.*))?$", line)
    if found:
        verb, rest = found["verb"], found["rest"] or ""
        if is_order(verb) is True and verb not in TURN_VERBS:
            return strength_of(
                clause, "policy" if UNTIL_TOLD.search(line) or re.search(r"\bwhen i\b", rest) else "plain"
            )
        if re.match(r"(?:that|this|these|those) (?:file|one|function|class|module|folder|files)\b", f"{verb} {rest}"):
            return "task"
        if verb == "the" and clause.is_contrast and has_path(raw_text(clause)):
            return "task"
        is_count = re.match(r"(?:one|two|three|four|five|a few|few|\d+)\b", f"{verb} {rest}")
        if is_count and not re.search(r"\b(?:may|can|must|should|shall|allowed|approves?)\b", rest):
            return None  # "only two people know the deploy process"
        if _ONLY_WORK.search(f" {rest} ") and (clause.in_project or has_artefact(rest)):
            return "policy"
        who = _ONLY_ROLE.match(f"{verb} {rest}")
        if who is not None:
            return "policy"
        if re.search(r" (?:in|for) (?:source|code|commit|test|doc)\w*", f" {rest}"):
            return strength_of(clause)
        return None
    if re.match(r"(?:\S+ ){0,2}?\S+ only (?:when|after|if|once) (?:i|my)\b", line):
        return "policy"
    found = re.match(r"(?P<verb>\S+) only (?!one|two|a |an |the (?:first|last)|\d)(?P<rest>.+)$", line)
    if (
        found
        and found["verb"] not in ("ensure", "keep", "make")
        and is_order(found["verb"]) is True
        and found["verb"] not in TURN_VERBS
    ):
        return strength_of(clause)
    if re.match(r"(?:touch|change|edit|modify|use|write|update) (?:\S+ ){1,4}?only$", line):
        return strength_of(clause)
    if re.match(r"except (?:for )?\S+ .*\b(?:must|stay|stays|never|remain)", line):
        return strength_of(clause)
    if (
        re.match(r"(?:\S+ ){1,5}only$", line)
        and is_order(line.split()[0]) is not True
        and not FINITE.search(line.split()[0])
    ):
        if re.match(r"you have\b|read access", line):
            return "policy"
        return strength_of(clause) if not re.match(r"(?:it|this|that|i|he|she|the)\b", line) else None
    return None


def judge_no_thing(clause: Clause) -> Strength | None:
    """ "no emojis", "no more mocks", "zero tolerance", "nothing but plain CSS"."""
    line = clause.line
    if _NOTHING_BUT.match(line):
        return strength_of(clause, "policy")
    if _FREE_EXCEPT.match(line):
        return "policy"
    found = re.match(r"(?P<verb>\w+) (?:nothing|nobody|none|no(?! longer\b|-)|zero)\b ?(?P<rest>.*)", line)
    if (
        found
        and is_order(found["verb"]) is True
        and found["verb"] not in TURN_VERBS
        and not re.match(r"(?:error|errors|result|results|match)", found["rest"])
    ):
        return strength_of(clause)
    if re.match(r"do nothing (?:to|with|in|about)\b|make no \w+", line):
        return strength_of(clause)
    if (
        re.match(r"(?:zero|not (?:one|a)) (?:new |more |extra )?\w+", line)
        and has_artefact(line)
        and not FINITE.search(line)
    ):
        return strength_of(clause)
    if _STAY_WITHIN.match(line):
        if line == "keep out":
            clause.start = 0
        return strength_of(clause)
    if clause.is_contrast and re.match(r"nothing (?:with|that|using|from|from|in|else|over|under|beyond) \w+", line):
        return "plain"
    if re.match(r"no (?:access|users?|entries|rows|data|commits since|logs|traffic)\b", line):
        return None
    if re.match(r"the (?:fewer|less) .* the better$|the (?:fewer|less) \w+", line):
        clause.end = len(clause.sentence.words)
        return strength_of(clause)
    if re.match(r"none of .+ (?:may|must|should|can|shall) ", line):
        return strength_of(clause)
    if re.match(r"nothing (?:else|more)$|one \w+ at a time|no big bang", line):
        return "task"
    needless = re.match(r"no (?:need for|must|need to) (?P<verb>\S+)", line)
    if needless:
        return None if needless["verb"] in IDLE else "task"
    if re.match(r"no (?:\w+ )?\w+ (?:needed|required|necessary)$", line):
        return "task" if has_artefact(line) else None
    match = re.match(r"no (?P<what>.+)$", line)
    if match is None:
        return None
    what = match["what"]
    if (_NO_IDIOMS.match(line) and not re.match(r"no (?:more|other) \w+s?$", line)) or len(what.split()) > 12:
        return None
    if _NO_MORE_ERRORS.match(what) or re.search(r"\b(?:yet|so far)$", what):
        return None
    head = re.split(
        r" (?:without|unless|until|before|after|while|because|since|if|in|on|to|from|for|of|when"
        r"|please|whatsoever|at all|ever) ",
        what,
    )[0]
    if re.match(r"\w+ (?:cover|use|call|test|handle|check|match|need|want|fit|exist|contain|show)s? ", what):
        return None
    if FINITE.search(head) or what.endswith("anymore") or re.search(r"\b(?:was|were) \w+", what):
        return None
    if re.match(r"\w+ed\b", what) and len(what.split()) == 1:
        return None
    if (
        clause.first
        and not clause.is_contrast
        and re.search(r"\b(?:with|has|have|there(?:'s| is| are))$", text_before(clause))
    ):
        return None
    sentence = " ".join(word.low for word in clause.sentence.words)
    is_wish = _PLEASE.search(sentence) and not _PERMANENT.search(sentence) and not clause.is_standing
    return "task" if is_wish and not clause.in_project else strength_of(clause)


_PLEASE = re.compile(r"\b(?:please|pls|plz)\b")
_PERMANENT = re.compile(
    r"\b(?:never|ever|always|anywhere|rule|policy|project|repo(?:sitory)?|codebase|we|our|commits?|commit messages?)\b"
)
_MANNERS = (_FORMAT_ORDER, _LANGUAGE_ORDER, _SIZE_BOUND, _ANSWER_FORM)
_PER_THING = re.compile(r"(?:one|a single|1|exactly one|only one) (?:\w+ )?\w+ per \w+$")
_SIGNED_COMMITS = re.compile(r"sign(?: off)? (?:all |your |every )?commits?\b")


def judge_manner(clause: Clause) -> Strength | None:
    """Judge orders about the form of code and answers: "use 4 spaces", "answer in French", "one commit per fix"."""
    line = clause.line
    is_manner = (
        any(pattern.match(line) for pattern in _MANNERS)
        or (_MUST_RUN.match(line) and re.search(r"\bmust\b", line))
        or _PER_THING.match(line)
        or _SIGNED_COMMITS.match(line)
    )
    return strength_of(clause) if is_manner else None


def judge_ask_first(clause: Clause) -> Strength | None:
    """ "Ask me before …", "check with me", "before every commit run …"."""
    line = clause.line
    if (
        clause.has_condition
        and _is_of_program(clause.condition)
        and not re.search(r"\bme\b|doubt|unsure|unclear", line + clause.condition)
    ):
        return None
    if re.match(r"(?:stop and )?ask(?: me)?$|stop and ask\b", line) and re.match(
        r"if (?:you|in doubt|unsure|unclear|anything|something|not sure)", clause.condition or ""
    ):
        return "policy"
    if _ASK_IN_DOUBT.match(line):
        return "policy"
    trigger = _TRIGGER.match(line)
    if trigger is not None and any(
        is_order(low) is True
        and low not in ("commit", "push", "change", "test", "file", "release", "merge", "log", "edit")
        and before not in ("be", "should", "must", "is", "are", "to", "the", "a", "can", "will")
        for before, low in zip(trigger["rest"].split(), trigger["rest"].split()[1:], strict=False)
    ):
        return "policy"
    if _ASK_FIRST.match(line) and not re.match(
        r"(?:ask|tell|warn|notify|inform) (?:the|him|her|them|a|an|git)\b", line
    ):
        if re.search(r"\b(?:this time|for now)\b", line):
            return "task"
        return "policy"
    if is_order(line.split()[0]) is True and _BEFORE_FINISHING.search(line):
        return strength_of(clause)
    if _NAME_THINGS.match(line):
        return strength_of(clause)
    if is_order(line.split()[0]) is not False and _HABIT_TAIL.search(line) and is_order(line.split()[0]) is True:
        return "policy"
    if re.match(r"before .*\b(?:ask|always)\b|after (?:every|each) .*", line):
        tail = re.search(r"(?:before|after) (?:every |each )?\S+(?: \S+)? (?:always )?(?P<verb>\w+)", line)
        if tail is not None and is_order(tail["verb"]) is True:
            return "policy"
    if clause.has_condition and _HABIT_TRIGGER.match(clause.condition):
        head = line.split()[0]
        if is_order(head) is True:
            if (
                re.match(r"before you \w+(?: (?:this|it|the)\b.*)?$", clause.condition)
                and "anything" not in clause.condition
            ):
                return "plain"
            return "policy"
    return None


def judge_always(clause: Clause) -> Strength | None:
    """ "Always do X", "do X, always", and any order that is to hold from now on."""
    line = clause.line
    if re.match(r"(?:you )?only ", line) and clause.is_demanded:
        return "policy"
    found = re.match(r"always (?P<verb>\S+)(?: (?P<rest>.*))?$", line)
    if found is not None and _is_of_code_to_write(clause, found["verb"], found["rest"] or ""):
        return None
    if found is not None:
        if (
            is_order(found["verb"]) is not False
            and (found["rest"] or is_order(found["verb"]))
            and found["verb"] not in ("the", "a", "this", "great", "nice", "same")
        ):
            return "policy"
        return None
    words = line.split()
    if is_order(words[0]) is True and words[0] not in ("wait",):
        if clause.is_standing or re.search(r"\balways$|\balways,|\bat all times\b", line):
            return None if re.search(r"\b(?:is|are|was|fails|passes|it's) always\b", line) else "policy"
        if _ANSWER_LANGUAGE.match(line):
            return "policy"
    if (
        clause.is_standing
        and len(words) > 1
        and not HEDGES.match(line)
        and not re.match(r"(?:the|a|an|is|are|it)\b", line)
        and clause.sentence.words
    ):
        return (
            "policy"
            if not re.search(r"\b(?:always|never)\b", " ".join(word.low for word in clause.sentence.words))
            or not FINITE.search(line)
            else None
        )
    return None


def judge_instead(clause: Clause) -> Strength | None:
    """ "Stick to X", "use X instead of Y", "treat X as read-only"."""
    line = clause.line
    found = re.match(r"(?:stick|adhere|keep|hold) (?:to|with) (?P<what>.+)", line)
    if found:
        return (
            None if re.match(r"(?:it|that|this|me|the plan|your plan|plan)\b", found["what"]) else strength_of(clause)
        )
    found = _USE_INSTEAD.match(line)
    if found and (_plain_name(found["this"]) and _plain_name(found["that"])):
        return strength_of(clause)
    if _RELY_ON.match(line):
        return strength_of(clause)
    found = re.match(r"(?:prefer|favou?r) (?P<what>.+)", line)
    if found and re.search(r"\b(?:if|when)\b", line):
        return None
    if found and not re.match(r"(?:the|a|this|that|it)\b", found["what"]):
        return strength_of(clause)
    bare = _BARE_INSTEAD.match(line)
    if (
        bare
        and _plain_name(bare["this"])
        and _plain_name(bare["that"])
        and is_order(bare["this"].split()[0]) is not True
        and not FINITE.search(line)
        and (clause.is_reminded or clause.is_standing or has_artefact(bare["this"]))
    ):
        return strength_of(clause, "policy" if clause.is_reminded else "plain")
    if _ALL_IN.match(line):
        return strength_of(clause)
    found = re.match(r"(?P<this>[\w.+#-]+(?: [\w.+#-]+)?) over (?P<that>[\w.+#-]+(?: [\w.+#-]+)?)$", line)
    if found and clause.is_standing:
        return "policy"
    if _TREAT_AS.match(line):
        return "policy"
    if re.match(r"ignore (?:everything|anything|all files|all) (?:in|under|below|inside)\b", line) and has_path(
        raw_text(clause)
    ):
        return strength_of(clause)
    if re.match(r"forget (?:about )?\S+(?: exists| existed)$", line) and "exist" in line:
        return "policy"
    return None


def _plain_name(text: str) -> bool:
    text = re.sub(r"^(?:the|our|your) (?=(?:\S+ )?(?:tool|command|script|makefile|wrapper|helpers?|cli)s?$)", "", text)
    text = re.sub(r" (?:when|while|if) you .*$", "", text)
    return len(text.split()) <= 3 and not re.match(
        r"(?:a|an|the|this|that|these|those|it|my|your|our|two|one|some|any|all|its|their|\d)\b", text
    )


_WITHOUT = _EN.pattern("without")


def judge_without(clause: Clause) -> Strength | None:
    """ "Do X without touching Y": for the task alone."""
    line = clause.line
    if (
        re.match(r"without (?:any |ever )?\w+ing\b", line)
        and not clause.first
        and clause.end < len(clause.sentence.words)
    ):
        clause.end = len(clause.sentence.words)
        return "task"
    if re.match(r"without (?:any |ever )?\w+ing\b", line) and clause.first:
        clause.start = 0 if len(text_before(clause).split()) <= 12 else clause.start
        return "task"
    found = _WITHOUT.match(line)
    if (
        found is None
        or not (is_order(found["verb"]) is True or found["verb"] in TASK_VERBS)
        or found["verb"] in TURN_VERBS - {"return"}
        or "in mind" in line
    ):
        return None
    if re.match(r"(?:write|do|code|build) (?:everything|things|all)\b", line):
        return "policy"
    return "task"


def judge_no_way(clause: Clause) -> Strength | None:
    """ "Under no circumstances may you …", "in no case should …"."""
    if _NO_WAY.match(clause.line):
        return "policy"
    return None


def judge_verbless(clause: Clause) -> Strength | None:
    """ "All SQL keywords uppercase", "max line length in this repo: 79"."""
    line = clause.line
    if (
        re.match(r"(?:all|every|each) ", line)
        and len(line.split()) <= 8
        and has_artefact(line)
        and not FINITE.search(line)
    ):
        tail = line.split()[-2:]
        if _ALL_ARE.search(" ".join(tail)):
            return strength_of(clause)
    if _SIZE_LIMIT.match(line):
        behind = clause.sentence.words[clause.end : clause.end + 1]
        if re.search(r"\d", line) or (behind and re.match(r"\d", behind[0].low)):
            if behind and re.match(r"\d", behind[0].low):
                clause.end += 1
            return strength_of(clause, "policy" if clause.in_project else "plain")
    return None
