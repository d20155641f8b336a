"""Find limits in imperative clauses: "never …", "don't …", "no …", "only …", "leave … alone", "ask before …"."""

import re

from clio.memory.preferences.limit_clause import (
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
from clio.memory.preferences.sentences import FILLER
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

_PROGRAM_VERBS = frozenset(
    """return close retry cache log send show poll call render load throw raise display fetch open print emit wait
    block refresh reload animate scroll hide play trigger fire redirect submit save store delete update polling calling
    sending showing loading fetching rendering returning logging closing retrying refreshing""".split()
)


_OF_PROGRAM = LazyRegex(
    r"\b(?:twice|on (?:mobile|desktop|every \w+|each \w+|page|load|start|startup|\d\w*)|when (?:the|a|no|it"
    r"|there)|while (?:the|a|it)|if (?:the|a|no|it|there)|in the \w+"
    r"|from the \w+|until the|after the|too \w+)\b"
)


_IDENTIFIER = LazyRegex(r"\b(?:in|from|of|by|to) (?:[a-z]+[A-Z]\w*|[a-z]+_\w+|\w+\(\))|\b[a-z]+[a-z0-9]*\(\)")


def _is_of_code_to_write(clause: Clause, verb: str, rest: str) -> bool:
    """Whether an order describes the behavior of the program to write: "don't send the email twice"."""
    if verb not in _PROGRAM_VERBS or IN_PROJECT.search(clause.line) or clause.is_standing:
        return False
    return bool(_OF_PROGRAM.search(rest) or _IDENTIFIER.search(raw_text(clause)))


_ALLOWED_AFTER_NEVER = frozenset(
    "stop build wait listen look let apply find want start hold give pass load say".split()
)


_ASK_FIRST = LazyRegex(
    r"(?:always )?(?:ask|consult|warn|tell|notify|ping|inform) (?:me )?(?:before|first|instead|whenever"
    r"|if in doubt|each time|every time|when)\b"
    r"|(?:always )?(?:check|confirm|clear it|clear this|verify|talk|discuss|align|sync)(?: it| back"
    r"| in)* with me\b|(?:hold off|wait) (?:on|with|from|before) \w+ing|.*\bwithout (?:checking|talking|speaking"
    r"|discussing|clearing|confirming) (?:it )?(?:with|to) me\b|.*\bwithout my \w+|if (?:in doubt|unsure) ask"
    r"|wait (?:for|until) (?:my|i)\b|(?:get|have|obtain|request) my (?:ok|okay|permission|approval|consent|go)\b"
    r"|ask me\b.*\b(?:before|first)"
    r"|show me .*\b(?:before (?:you|every|each|any)|each time|every time)\b|.*\bonly (?:after|when|if|once) (?:i"
    r"|my)\b"
    r"|.*\b(?:needs?|requires?|must have|must get) my (?:ok|okay|permission|approval|review|sign-off)\b"
    r"|ask if (?:unsure|in doubt)"
    r"|ask instead\b|ask don't guess"
)


_HABIT_TRIGGER = LazyRegex(
    r"(?:(?:every|each) time|whenever)\b|(?:when|while) (?:committ|push|merg|deploy|releas|tagg|renam|refactor"
    r"|writ|add|creat|delet|edit|review)ing\b|(?:when|if|once|after|as soon as) you(?:'ve| have)?"
    r" (?:write|add|create|change|edit|touch|rename|modify|delete|remove|commit|push|refactor|fix|review|changed|added"
    r"|touched|edited|modified|written)(?: (?!the\b|this\b|that\b|these\b|it\b|them\b|my\b)\S+|$)"
    r"|(?:before|after) (?:every|each|any|you (?:commit|push|merge|deploy"
    r"|delete|edit|touch|change|release|tag|finish)"
    r"|committing|pushing|merging|deploying|deleting|editing|touching|changing|releasing)\b"
)


_HABIT_TAIL = LazyRegex(
    r"\b(?:in|to|on|with|for|at) (?:every|each|all|any)(?: of (?:my|our|your|the))? (?:commits?|commit messages?|prs?"
    r"|pull requests?|releases?|branch(?:es)?|branch names?|new \w+)\b"
    r"|\bwhen(?:ever)? you (?:write|add|create|change|edit|touch|rename|modify|delete|commit|push|refactor|fix|review)"
    r"(?: (?!the\b|this\b|that\b|these\b|it\b|them\b|my\b)\S+|$)"
    r"|\b(?:after|before|on|with) (?:every|each|any) (?:change|edit|commit|push|merge|step|task|file|session"
    r"|release|save|turn)\b"
)


_NO_IDIOMS = LazyRegex(
    r"no (?:thanks?|thank you|problems?|worries|worry|idea|clue|luck|rush|need|wonder|doubt|matter|way|sweat"
    r"|hurry|biggie|such|one(?= |$)|offense|offence|comment$"
    r"|reason|difference|effect|response|reply|answer|progress|success|errors?|failures?|output|results?|change$"
    r"|changes$|news|point|question|questions|sense"
    r"|use|good|yes|not|it|the|this|that|i|we|you|they|he|she|but|and|pressure|hard feelings|big deal|joke"
    r"|kidding|stress|hits?|matches"
    r"|other|the|longer|more than|nothing|wait|sorry|please|don't|never|now|what|why|how|if|there|still|dice"
    r"|can do|go$|\w+ly\b)\b"
)


_NEGATED = LazyRegex(
    r"(?P<neg>never|don't|not|no-longer|do never|neither)(?: (?:ever|just|please|also|again|you dare(?: to)?"
    r"|you ever|you|even"
    r"|to|use:|under any circumstances|in any case))*"
    r" (?P<verb>\S+)(?: (?P<rest>.*))?$"
)


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
    if verb in ("work", "go", "look", "do", "think") and re.match(
        r"(?:on|in|near|into|at|outside|(?:it|this|that|them|\w+) (?:by hand|yourself|manually|on your own)"
        r"|about \w+ing)\b",
        rest,
    ):
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
    if (
        verb in ("find", "wait", "stop", "look", "start", "pass", "load", "give", "hold", "say")
        and neg == "don't"
        and not rest
    ):
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
    return not re.search(
        r"\b(?:you|i|we|i'm|you're|test|tests|code|sql|unless i|whatever|repo|project|working|due|because|since"
        r"|for|task)\b",
        condition,
    )


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
    if re.match(
        r"(?:(?:and|but|so|also|please|then|always) )*(?:we(?:'re)? (?:use|are|run|on|write|go)|use|it's|prefer"
        r"|write|take|(?:edit|change|modify|touch|update) \S+|new tests|tests|docs|config|ids|amounts|call|return"
        r"|import|[\w-]+(?: [\w-]+)?$)",
        before,
    ):
        is_short = len(first) <= 2 and not clause.is_standing and not clause.in_project
        if is_short and (is_order(first[0]) is True or first[0] in ("no", "yes", "why")):
            return None
        clause.start = 0 if not clause.start or len(before.split()) <= 10 else clause.start
        if (
            re.match(
                r"(?:return|write|sort|log|call|take|import) (?:the|a|an|by|to|in|from|\d)\b|(?:return|sort|log"
                r"|write) \S+$",
                before,
            )
            and not clause.in_project
        ):
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
    said = frozenset(
        "mind seen heard had fear surrender happened happens worked works gets got knew a an late more better "
        "mind: been was is really too quite say".split()
    )
    if clause.sentence.words[clause.first].low == "or" or (verb == "say" and rest.startswith("never")):
        return None
    if verb.endswith("s") and is_order(verb[:-1]) is True:
        return None
    if rest.startswith("than ") and verb == "more":
        return "policy"
    if not before or verb in said or verb.endswith("ed"):
        return None
    if verb in ("in", "on", "at", "with", "without", "for", "by", "from", "to", "anywhere", "into") and not re.match(
        r"(?:\S+ ){0,7}(?:is|are|belong|belongs|go|goes|lives?|use|write|put|wrapped|work|commit|push"
        r"|merge|deploy|develop|branch|rebase|test|install|keep|stay)\b",
        before,
    ):
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
        if not is_habit and re.match(
            r"stop (?:looping|running|waiting|worrying|kidding|crying|joking|trying|here|everything)\b", clause.line
        ):
            return None
        if _is_of_code_to_write(clause, clause.line.split()[1], found["rest"]):
            return None
        return "task" if re.match(r"(?:this|that|these|it)\b", found["rest"]) else "policy"
    if re.match(
        r"(?:cut (?:out )?|enough (?:with|of) |drop |lose |spare me |save (?:yourself|me) )the \w+", clause.line
    ):
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
    if re.match(
        r"(?:refrain|abstain|desist) from \w+|(?:steer|stay|keep) (?:well )?(?:clear of|away from|out of|off)\b",
        clause.line,
    ):
        return strength_of(clause, "policy")
    return None


_KEEP = LazyRegex(
    r"(?:let's |please |while |but |always )*(?:keep|leave|leaving|keeping|preserve|retain|maintain"
    r"|preserving) (?:(?P<object>.+?) )?"
    r"(?P<how>alone|untouched|unchanged|in$|there$|as is|as-is|as it is|as they are|as it was|be|intact"
    r"|the way (?:it|they)"
    r"|out\b|in place|on \S*\d|stable|identical|the same"
    r"|backwards?[- ]compatible|compatible|working|read-only|frozen|for (?:now|later)|to me\b|like that|that way"
    r"|small|short|minimal|pure|simple|(?:under|below|within|at most) (?:\d|one|two|three|four|five|ten|a )\S*"
    r"|off\b|compatibility)(?: (?P<rest>.*))?$"
)


def judge_keep(clause: Clause) -> Strength | None:
    """ "Leave X alone", "keep X as it is", "hands off X"."""
    line = clause.line
    if re.match(
        r"(?:skip|ignore|exclude) .+ (?:entirely|completely|altogether|for good)$|exclude .+ from (?:your"
        r"|all|any) \w+",
        line,
    ):
        return strength_of(clause)
    if re.match(
        r"(?:let|leave) .+ (?:handle|do|manage|decide|take care of|run) .+|leave .+ to (?!it\b"
        r"|us\b)(?:me$|the \w+|\w+$)",
        line,
    ):
        is_agent = re.match(
            r"let (?:me|the ci|ci|the \w*bot|\w*bot|prettier|renovate|\w+-please) |leave (?!it"
            r"|that|this)",
            line,
        )
        if is_agent and not re.match(
            r"let me (?:know|see|do (?:it|that|this))\b|leave .+ to the (?:right|left|top)", line
        ):
            return strength_of(clause)
    if re.match(
        r"keep (?:the )?(?:existing|original|current|all|your (?:answers|replies|changes)|tests|commits|functions"
        r"|comments|secrets|docs) (?!.*\bif\b)"
        r"|keep (?:it|everything|things) \S+[- ]free",
        line,
    ):
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
        if found["how"] in ("small", "short", "minimal", "pure", "simple", "on", "working") and re.match(
            r"(?:the|a|it|this|that)\b(?! (?:answers|replies|responses|explanations|summaries|diffs|commits|prs"
            r"|commit messages|changes|messages)$)",
            what,
        ):
            return None
        return strength_of(clause)
    if re.match(
        r"keep (?!the |a |an |it |this |that |going|up|in |calm|on |me |trying|working|looking|an eye|your"
        r"|an)\w+s \w+$|keep (?:the )?(?:backwards?|wire|public|existing)\b",
        line,
    ):
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
        if re.search(
            r" (?:(?:may|can|should|must) (?:edit|touch|push|merge|commit|change|approve|deploy|write|import|call"
            r"|use)|edits?|touch(?:es)?|push(?:es)?|merges?|commits?|changes?|approves?|deploys?) ",
            f" {rest} ",
        ) and (clause.in_project or has_artefact(rest)):
            return "policy"
        who = re.match(
            r"(?:i|we|ci|the (?:ci|bot|maintainers?|\w+ (?:team|bot))|maintainers?|admins?|\w+ (?:team|bot))"
            r" (?:may |can |should )?(?:push|commit|merge|deploy|release|publish|tag|rebase|approve|bump|edit|touch)"
            r"(?:e?s)?\b",
            f"{verb} {rest}",
        )
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
    if re.match(
        r"(?:zero (?:tolerance|dependencies|runtime)|nothing but|any(?:thing| .+)? (?:but|except|apart from) "
        r"|everything (?:but|except) .+ (?:is|are) (?:fine|ok|okay|allowed))",
        line,
    ):
        return strength_of(clause, "policy")
    if re.match(
        r"(?:do|use|change|touch|edit) (?:whatever|anything|everything)\b.*\b(?:except|but|apart from)\b", line
    ):
        return "policy"
    found = re.match(r"(?P<verb>\w+) (?:nothing|none|no(?! longer\b|-)|zero) ?(?P<rest>.*)", line)
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
    if re.match(
        r"(?:stay|remain|work) (?:within|inside|in) \S+|(?:limit|restrict|confine) (?:yourself|your\w* \w+"
        r"|(?:all )?(?:changes|edits|work|the changes)) to\b|you're limited to\b|keep out$",
        line,
    ):
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
    if re.match(
        r"more (?:errors?|warnings?|failures?|problems?|issues?|crash\w*|complaints?|questions?)\b", what
    ) or re.search(r"\b(?:yet|so far)$", what):
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
    return strength_of(clause)


_LANGUAGES = (
    "english|german|french|spanish|italian|dutch|polish|russian|portuguese|japanese|chinese|korean"
    "|swedish|danish|turkish|czech|british english|american english|simple english|plain english"
)


def judge_manner(clause: Clause) -> Strength | None:
    """Judge orders about the form of code and answers: "use 4 spaces", "answer in French", "one commit per fix"."""
    line = clause.line
    if re.match(
        r"(?:(?:please )?(?:use|indent (?:with|by|using)) (?:\d+|two|four|three|eight|hard"
        r"|soft)[ -]?\w* ?(?:spaces?|tabs?|columns?)|use (?:\w+ )?(?:spelling|indentation|double quotes"
        r"|single quotes|conventional commits"
        r"|feature branches|semantic versioning|present tense|imperative mood|type hints|strict mode|\w+_case"
        r"|camelcase|pascalcase|kebab-case))\b",
        line,
    ):
        return strength_of(clause)
    if re.match(
        rf"(?:(?:always )?(?:talk|speak|answer|reply|respond|write|comment|explain)(?: to me| back| (?:your |all "
        rf"|the )?(?:commit messages|commits|comments|docs|answers|everything|docstrings))?|(?:all "
        rf"|your )?(?:\w+ names|identifiers|answers|explanations|responses|replies|commit messages|comments|docs"
        rf"|docstrings"
        rf"|everything)(?: are)?) (?:in|on) (?:{_LANGUAGES})\b",
        line,
    ):
        return strength_of(clause)
    if re.match(
        r"(?:this|it|the code|everything|the app|the tool|the script|must|the thing|the result)? ?(?:must"
        r"|should)? ?(?:work|run|compile|build|start|install) (?:offline|without (?!the)|on (?:a |an )?\w+|under"
        r"|with \w+ \d|in (?:a )?\w+)",
        line,
    ) and re.search(r"\bmust\b", line):
        return strength_of(clause)
    if re.match(
        r"(?:\w+ )?(?:lines|functions|files|methods|classes|commits|prs|names|messages|modules|tests"
        r"|subjects?)(?: (?:stay|remain|are|is|must be|should be))? (?:below|under|at most|within|shorter than"
        r"|no longer than|smaller than|up to|max) ",
        line,
    ):
        return strength_of(clause)
    if re.match(r"(?:one|a single|1|exactly one|only one) (?:\w+ )?\w+ per \w+$", line):
        return strength_of(clause)
    if re.match(
        r"(?:only )?(?:short|brief|concise|terse|compact|detailed|plain) (?:\w+ )?(?:answers|replies"
        r"|responses|explanations|summaries|messages|commits)\b",
        line,
    ):
        return strength_of(clause)
    if re.match(r"sign(?: off)? (?:all |your |every )?commits?\b", line):
        return strength_of(clause)
    return None


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
    if re.match(
        r"(?:if|when) (?:in doubt|unsure|unclear|not sure|you're (?:unsure|not sure)|you are (?:unsure"
        r"|not sure))(?: \w+)*? (?:ask|stop|check)\b",
        line,
    ):
        return "policy"
    trigger = re.match(
        r"(?:before|after|when|while|whenever) (?:any|every|each|you(?!'?\w* (?:click|press|open|scroll"
        r"|type|select|hover"
        r"|enter|log|visit|submit|drag|resize|tap|zoom|switch|restart|start|run|call|pass|send)\b)|(?:committ|push|merg|deploy|releas|tagg"
        r"|rebas|renam|delet|remov|chang|edit|touch|refactor|writ|add|creat|install"
        r"|upgrad|review|test|modify|finish)ing)\b(?P<rest>.*)",
        line,
    )
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
    if is_order(line.split()[0]) is True and re.search(
        r"\bbefore (?:you (?:hand|finish|commit|push|report|submit|merge|say|tell|are done|stop)|finishing|committing"
        r"|pushing|merging|submitting|reporting)\b",
        line,
    ):
        return strength_of(clause)
    if re.match(
        r"(?:prefix|name|sign|title|label|squash|word|tag|number|sort|group|order) (?:all )?(?:commits"
        r"|branches|prs|tests"
        r"|commit messages|tags|releases|imports|migrations|test files|constants|variables|files|functions)"
        r" (?:with|after|by|in|like|as|into|alphabetically|before|when)\b",
        line,
    ):
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
        if re.match(
            r"(?:answer|reply|respond|write|comment|talk|speak|commit)\b.*\bin (?:german|english|dutch|french"
            r"|spanish|italian|british english)\b.*\beven\b",
            line,
        ):
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
    found = re.match(
        r"(?:use|take|write|prefer|favou?r|choose|pick|opt for|go for"
        r"|go with) (?P<this>.+?) (?:instead of|rather than|over|not) (?P<that>.+)",
        line,
    )
    if found and (_plain_name(found["this"]) and _plain_name(found["that"])):
        return strength_of(clause)
    if re.match(
        r"(?:rely|depend|build) on (?:nothing|only|the \S+ only|\S+ only)\b|write (?:tests|docs|comments"
        r"|code|messages) in ",
        line,
    ):
        return strength_of(clause)
    found = re.match(r"(?:prefer|favou?r) (?P<what>.+)", line)
    if found and re.search(r"\b(?:if|when)\b", line):
        return None
    if found and not re.match(r"(?:the|a|this|that|it)\b", found["what"]):
        return strength_of(clause)
    bare = re.match(
        r"(?P<this>[\w.+#-]+(?: [\w.+#-]+)?) (?:instead of|rather than) (?P<that>[\w.+#-]+(?: [\w.+#-]+)?)$", line
    )
    if (
        bare
        and _plain_name(bare["this"])
        and _plain_name(bare["that"])
        and is_order(bare["this"].split()[0]) is not True
        and not FINITE.search(line)
        and (clause.is_reminded or clause.is_standing or has_artefact(bare["this"]))
    ):
        return strength_of(clause, "policy" if clause.is_reminded else "plain")
    if re.match(
        r"(?:do|write|implement|code|keep|build) (?:everything|all (?:new )?(?:code|of it)|all) in"
        r" (?!the\b|this\b|that\b|a\b|an\b|one\b|it\b|upper|lower)",
        line,
    ):
        return strength_of(clause)
    found = re.match(r"(?P<this>[\w.+#-]+(?: [\w.+#-]+)?) over (?P<that>[\w.+#-]+(?: [\w.+#-]+)?)$", line)
    if found and clause.is_standing:
        return "policy"
    if re.match(
        r"(?:treat|consider|regard) .+ (?:as )?(?:read-only|readonly|untouchable|frozen|off limits|off-limits"
        r"|sacred|generated|immutable|private)\b",
        line,
    ):
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


_WITHOUT = LazyRegex(
    r"(?P<verb>\S+)\b.*?\bwithout (?:any |ever |the )?(?:(?:touch|chang|modify|break|add|us|edit|renam|remov"
    r"|introduc|alter|install|mov|rewrit|creat|delet|reformat|updat|bump|refactor|mock|affect|depend)ing"
    r"|(?:new |external |extra |third-party |third party |additional )?(?:dependencies|libraries|libs|frameworks"
    r"|semicolons|comments|regexes|regex|classes|packages|plugins|jquery))\b(?P<rest>.*)"
)


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
    if re.match(
        r"(?:under no (?:circumstances?|conditions?)|in no (?:case|event)|at no (?:point|time)|on no account"
        r"|by no means|nowhere|not under any circumstances) \S+ \S+",
        clause.line,
    ):
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
        if re.search(
            r"\b(?:uppercase|lowercase|upper|lower|english|german|sorted|typed|tested|pinned|documented|async"
            r"|private|public|snake_case|camelcase|capitali[sz]ed|singular|plural|signed|final|readonly|immutable"
            r"|optional|required|mandatory|prefixed|kebab-case|utc)$",
            " ".join(tail),
        ):
            return strength_of(clause)
    if re.match(
        r"(?:the )?(?:max(?:imum)?|min(?:imum)?) (?:\w+ )?(?:line|file|function|method|class|name|commit|message"
        r"|nesting|test|bundle|image)? ?(?:length|size|width|depth|version|runtime|coverage|lines|complexity)\b",
        line,
    ):
        behind = clause.sentence.words[clause.end : clause.end + 1]
        if re.search(r"\d", line) or (behind and re.match(r"\d", behind[0].low)):
            if behind and re.match(r"\d", behind[0].low):
                clause.end += 1
            return strength_of(clause, "policy" if clause.in_project else "plain")
    return None
