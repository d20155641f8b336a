"""Find limits in clauses about people: "you must not …", "I don't want …", "we use … here"."""

import re

from clio.memory.preferences.limit_clause import (
    HERE,
    IDLE,
    LASTING_WORDS,
    UNTIL_TOLD,
    Clause,
    Strength,
    has_artefact,
    strength_of,
    text_before,
)
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

_SEE = frozenset(
    "see be find have imagine believe expect notice know get reproduce tell run_it help seem need want hear".split()
)


_BUG_VERBS = frozenset(
    "call close free release check handle catch set reset clear await update return pass get see validate test cover "
    "reach hit find reproduce verify measure figure work win agree change_that know think".split()
)


_WE_DO = LazyRegex(
    r"(?:we|our team|this team|the team|this (?:project|repo|repository|codebase|app|service|package|team)"
    r"|the (?:project|codebase))"
    r"(?: (?:also|still|all|really|strictly|generally|deliberately|currently|in \w+|as a team|here))*"
    r" (?P<verb>\S+)(?: (?:ever|really|also|all|even|only))*(?: (?P<rest>.*))?"
)


_PRAISED_OR_BLAMED = frozenset("say get forget find fix do make know help solve break miss".split())
"""Verbs after "you always" that report what the agent did, good or bad."""


_YOU = LazyRegex(
    r"(?:you|clio|you're|you are)(?: (?:really|please|also|ever|generally|simply))* (?P<modal>mustn't|shouldn't"
    r"|can't|won't|don't get to|don't|never|must never|should never"
    r"|may never|may only|must only|should only|can only|must always|should always|may|must|should"
    r"|aren't (?:allowed )?to|aren't to|(?:are )?(?:not )(?:allowed |permitted |supposed )?to"
    r"|are never to|are to|to|are|are never|always|only|can|have)(?: (?:ever|always|please"
    r"|under any circumstances))*(?: (?P<rest>.*))?"
)


_NEGATIVE_MODALS = ("mustn't", "shouldn't", "can't", "won't", "never", "must never", "should never", "may never")


def judge_you(clause: Clause) -> Strength | None:
    """ "You must not …", "you may only …", "could you please never …"."""
    line = re.sub(
        r"^(?:can|could|would|will) you (?:please |kindly )?(?P<rest>not|never|stop|always|avoid|refrain|mind not)",
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
        if re.match(
            r"always (?:show|send|display|return|render|load|print|store|save|open|close) (?:the|a|an)\b", more
        ):
            return None
        return strength_of(clause, "policy" if more.startswith(("never", "always")) else "plain")
    if re.match(r"you (?:can|may) .*\b(?:not|never|nothing)\b", line) and not re.match(
        r"you (?:can|may) (?:not|never) (?:see|be)\b", line
    ):
        return "policy" if is_order(line.split()[2]) is True or line.split()[2] in ("look", "not") else None
    if re.search(
        r"^(?:you (?:can|may|have)|feel free|edit freely|read)\b.*\b(?:except|but (?:not|never)|but \w+ nothing"
        r"|apart from)\b",
        line,
    ) or re.match(r"you have (?:my|no|only|read)\b", line):
        return "policy"
    if re.match(
        r"if you (?:never|didn't|don't|stopped|asked (?:me )?(?:before|first)|checked with me"
        r"|left \S+ alone|could (?:stop|not|never)|always|would (?:stop|not|never))\b",
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


_I_DO = LazyRegex(
    r"(?:i|we)(?: (?:really|absolutely|just|definitely|explicitly|also|simply))* (?:"
    r"(?P<unwanted>don't want|never want|no-longer want|don't ever want|don't wanna|don't allow|won't accept"
    r"|don't accept|don't tolerate|won't tolerate|refuse|forbid"
    r"|can't have|can't stand|don't permit|won't have|don't do|won't allow)"
    r"|(?P<wanted>only want|always want|insist on|insist that|demand|must approve|must review|must sign off"
    r"|want no(?! more than)|want zero|want only|want you to never|want you not to"
    r"|want you to not|want you to always|want you to only|want you to stop|want you to leave|want you to ask"
    r"|want you to avoid|need you to never|need you to stop"
    r"|expect zero|expect no|expect you (?:to|not)|expect every|want every|want all)"
    r"|do (?:the|all|my) (?P<mine>commits?|commit|pushes|releases?|deploys?|merges?|git|pushing|committing"
    r"|tagging|deployments?)"
    r")(?: (?P<rest>.*))?$"
)


_I_WOULD = LazyRegex(
    r"(?:i'd|i would|we'd|we would|i|we)(?: (?:really|much|strongly))* (?:"
    r"rather (?:you |that you |not have you |not have |have you not )|prefer (?:it "
    r"|that )?(?:if )?(?:that )?you (?:not|never|didn't|don't|stopped|wouldn't|to not|left|kept|asked|always)"
    r"|like you to (?:stop|never|not|avoid|always|leave|refrain|ask)|hate it (?:when|if) you"
    r"|appreciate (?:it )?if you|be grateful if you|don't like (?:it )?(?:when|if) you)"
)


def judge_i(clause: Clause) -> Strength | None:
    """ "I don't want …", "I'd rather you didn't …", "I do the commits"."""
    line = clause.line
    if _I_WOULD.match(line):
        return strength_of(clause, "plain" if not line.startswith(("i hate", "i don't like")) else "policy")
    if re.match(r"it (?:bugs|annoys|bothers) me (?:when|if) you\b|it drives me (?:mad|crazy|nuts)", line):
        return "policy"
    if re.match(r"i'll (?:handle|do|take care of|run|commit|push|deploy|merge) .*\b(?:myself|always)\b", line):
        return strength_of(clause)
    if re.match(
        r"i (?:review|approve|check|read|sign off) (?:everything|all|every|each)\b.*\b(?:before|first)\b", line
    ):
        return "policy"
    if re.match(r"i take care of (?!it|this|that)\S+", line):
        return strength_of(clause)
    if re.match(
        r"(?:i'm|i am) (?:\w+ )?(?:sick|tired|fed up|done) (?:of|with) (?!this|that|it|the|waiting)", line
    ) and has_artefact(line):
        return strength_of(clause)
    prefers = re.match(
        r"(?:i'd|we'd|our team|the team|we|this team) prefers? (?!the|a|an|this|that|it|to|if|you|not)(?P<what>.+)",
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
    if re.match(
        r"i(?:'ll)? (?:do (?:the )?)?(?:commit|push|merge|deploy|release|publish|tag|rebase)(?:ing|s)?"
        r"(?: (?:and|or) \w+)?(?: \S+){0,3} (?:myself|by hand|on my own)$",
        line,
    ):
        return "policy"
    if re.match(r"(?:i|we)(?:'d)? (?:like|want|expect|need) (?:all|every|each|any|new) ", line) and re.search(
        r" (?:to be|in|to (?:have|use|follow|come|go|start|end|pass|carry)) ", line
    ):
        return strength_of(clause) if has_artefact(line) else None
    is_for_all = re.match(
        r"(?:i|we) (?:must have|need|expect|want) (?!an? |the |some |this |that |to ).*\b(?:every|each|all)\b", line
    )
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


_MOVED = LazyRegex(
    r"(?:we|we've|we have|the team|i|i've)(?: (?:just|recently|finally|now|all|completely|have|already))* (?:"
    r"(?:moved|migrated|switched|gone|went|got|changed|come) (?:off|away from|over from|from \S+ (?:\S+ )?to)\b"
    r"|(?:abandoned|ditched|dropped|retired|banned|got rid of|deprecated|removed|"
    r"given up|stopped using|phased out|left) (?!the |a |an |it|this|that|by|support)\S+|stopped \w+ing)"
)


_HAVE_MOVED = LazyRegex(
    r"(?:we've|we have)(?: \w+ly)? (?:moved|migrated|switched|standardi[sz]ed|settled) (?:to|on|over to) (?!the|a"
    r"|an)\S+"
)


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
    if re.match(r"(?:we must|we promised|we still must|we can't|we mustn't|we may|we should(?:n't)? never)\b", line):
        rest = line.split(" ", 2)[2] if len(line.split()) > 2 else ""
        verb = rest.split()[0] if rest else ""
        if (
            verb in _SEE
            or verb in ("use", "support", "keep", "vendor", "break", "stay", "rely", "depend", "change", "our")
            or line.startswith(("we mustn't", "we promised"))
            or is_order(verb) is True
        ):
            if verb in (
                "reproduce",
                "see",
                "find",
                "figure",
                "tell",
                "get",
                "just",
                "wait",
                "be",
                "know",
                "log",
                "connect",
                "open",
                "start",
                "run",
            ):
                return None
            if (
                line.startswith(("we must", "we still"))
                and verb not in ("keep", "stay")
                and not clause.in_project
                and not HERE.search(whole)
            ):
                return None
            if line.startswith(("we must", "we still", "we should")) and verb in (
                "get",
                "do",
                "make",
                "fix",
                "add",
                "write",
                "find",
                "check",
                "talk",
                "update",
            ):
                return None
            return strength_of(clause, "policy" if clause.in_project else "plain")
        return None
    if re.match(
        r"(?:we're (?:not|no-longer)|we aren't|we are no-longer|i'm not) (?:using|doing|supporting|adding"
        r"|adopting|shipping|going|upgrading|touching|changing|rewriting|maintaining|taking|writing)\b",
        line,
    ) and not re.search(r"\b(?:there yet|yet|correctly|right)\b", line):
        return "policy"
    if re.match(
        r"we won't (?:support|use|add|ship|accept|take|upgrade|maintain|adopt|merge|have)\b|we're allergic to\b"
        r"|we (?:gave up|have given up) on \w+",
        line,
    ):
        return "policy"
    if re.match(
        r"we(?:'ve| have)? (?:agreed|decided) (?:not to|to (?:use|stay|keep|avoid|never|stick|only)|against|on)\b"
        r"|the team (?:has )?(?:agreed|decided) (?:not to|to|against|on)\b|we're (?:sticking|staying|keeping"
        r"|going) (?:with |on |to )?\w+",
        line,
    ) and not re.search(r"\b(?:going to|but)\b", line):
        return "policy"
    if (
        re.match(r"we don't (?:like|want|need|have) ", line)
        and clause.in_project
        and not re.match(r"we don't (?:need|have) (?:a|an|the|any|tests?)\b", line)
    ):
        return "policy"
    if re.match(
        r"we (?:(?:try to |always |generally )*avoid (?!the|a|an|it|this|that)|prefer (?!to|the|a|an|it)"
        r"|require (?!the|a|an|it|to)|stay away from |stick to "
        r"|keep (?!the|a|an|it|getting|on|having|seeing)\w+ (?:\w+ )?(?:thin|small|short|simple|pure|flat|private"
        r"|separate|in|out of) ?"
        r"|treat \w+ as (?:errors|failures|bugs)|follow (?!the|a)\S+ |want (?:zero|no) warnings)",
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
    if re.match(
        r"(?:this|our|the) \w+ has (?:a|one) (?:\S+ )*?(?:rule|policy|convention)\b(?! (?:engine|file|parser))", line
    ):
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
    if verb in (
        "use",
        "uses",
        "run",
        "write",
        "log",
        "name",
        "follow",
        "build",
        "target",
        "support",
        "ship",
        "release",
        "deploy",
        "test",
        "indent",
        "format",
        "store",
        "return",
        "pin",
        "stick",
        "commit",
        "tag",
        "branch",
        "prefix",
    ):
        behind = " ".join(word.low for word in clause.sentence.words[clause.end : clause.end + 6])
        contrast = re.search(
            r"\b(?:not|never|instead of|rather than|over|only|no|without|nothing but|exclusively)\b", f"{rest}"
        ) or re.match(r"(?:and |so |but )?(?:not|never|no|nothing|don't|instead of|rather than)\b", behind)
        if re.search(
            r"\bthis (?:function|method|class|file|variable|module)\b|\bin (?:two|three|four|\d+|many"
            r"|several) places\b|\bhere for\b|\bused to\b",
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
