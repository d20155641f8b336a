"""Find limits in clauses about people and things.

"you must not …", "I don't want …", "we use … here"; "… is off limits", "tests must never …", "line length is 100 here".
"""

import re

from clio.memory.preferences.limit_clause import (
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
from clio.memory.preferences.stated_preferences import is_order
from clio.text.lazy_regex import LazyRegex

_BUG_STATES = frozenset(
    """work works run runs pass passes finish finishes fail fails compile compiles start starts stop stops load loads
    match find exist exists terminate terminates return returns hang hangs happen happens seem appear render show
    close closes get gets reach exit exits disappear disappears show""".split()
)


_CHANGES = LazyRegex(
    r"(?:ever )?(?:change|break|move|grow|be (?:changed|edited|touched|modified|renamed|moved|deleted|removed"
    r"|upgraded|written"
    r"|committed|broken|reformatted|rebased|squashed|bumped|altered|restarted|dropped|checked in|reordered"
    r"|public)|stay"
    r"|remain|keep|leak|use|depend|import|call|phone home|know|talk|contain|mutate|rely|exceed|be under|be below"
    r"|be over"
    r"|go|come|have|need|live|hit|touch|access|write|read|log|throw|raise|swallow|block|sleep|run on|work (?:on|with)"
    r"|compile|build|be (?:reversible|pure|typed|documented|tested|async|sorted|small|short|in|at|a|one|full"
    r"|written|named"
    r"|prefixed|signed|immutable|frozen|idempotent|deterministic|used|added|merged|pushed|published|skipped|mocked)"
    r"|end|start|begin|follow|support|take|introduce|add|create|show|include|carry|cost|fit|share|drop|require"
    r"|mix|nest)\b"
)


_TOOL_VERBS = LazyRegex(
    r"(?:ci|the ci|our ci|cd|pipeline|the pipeline|our pipeline|the build|build|pre-commit|pre-commit hooks?"
    r"|the pre-commit hook.*"
    r"|the linter|linter|our linter|(?:our |the |my )?(?:(?:code|coding) )?(?:style ?guide|style)"
    r"|(?:our |the )(?:guidelines?|conventions?|standards?|architecture|rules)|the licen[cs]e.*"
    r"|security|compliance|legal|(?:our "
    r"|company |the )*policy"
    r"|my boss|my team|our (?:clients?|customers?|reviewers?)|the (?:reviewers?|maintainers?)|github|gitlab|sonar"
    r"|the hook|"
    r"the (?:ci|gate) check) (?:only |also |will )?(?:rejects?|treats?|forbids?|doesn't allow|requires?|enforces?"
    r"|disallows?|doesn't want"
    r"|won't accept|doesn't accept|prohibits?|insists? on|blocks|refuses?|demands?|(?:fails?|breaks?"
    r"|complains?) (?:on|about|if|for)"
    r" (?:any |every |all |a |an |single )?(?!main|master|windows|linux|macos|mac|friday|it|this|that|the)\w+)"
)


_NOT_TO_BE = LazyRegex(
    r"(?P<subject>.+?) (?:isn't|aren't|is never|are never|is not|are not|not|never) to be \w+(?:ed|en|t|un)\b"
)


_FORBIDDEN = LazyRegex(
    r"(?:(?P<subject>.+?) )?(?P<verb>is|are|it's|isn't|aren't|remains?|stays?|be|that's|was|were)(?: (?:strictly"
    r"|absolutely|really|also|all|now|still|considered"
    r"|declared|simply|generally|always|currently))* (?:off limits|off-limits|out of scope|none of your business"
    r"|carved in stone|set in stone|a no-no|cheating|frowned upon|not part of this|out$|taboo|forbidden"
    r"|prohibited|banned"
    r"|verboten|disallowed|illegal"
    r"|(?:a )?(?:absolute |hard |strict )?no-go|a no go|out of bounds|out of the question|untouchable|sacred"
    r"|unacceptable|no option"
    r"|(?:not )?(?:allowed|permitted|ok(?:ay)?|acceptable|welcome|wanted|an option|a fix|fine|desired|tolerated"
    r"|yours to \w+|for you"
    r"|(?:not )?your (?:job|business|call|responsibility|decision|task)|(?:not )?(?:a goal|in scope"
    r"|up for (?:discussion|debate)|negotiable)|my (?:job|business|call|responsibility|decision|task)|on me)"
    r"|too (?:much|deep|long) don't)\b"
)


_STATE = LazyRegex(
    r"(?P<subject>.+?) (?:is|are|stays?|remains?|gets?|get|has been|have been|must (?:stay|be|remain)"
    r"|should (?:stay|be|remain))"
    r"(?: \w+ly| all| also| build| now| still)* (?:frozen|read-only|readonly|immutable|generated|produced|put"
    r"|owned|mine|hers|theirs|auto-?generated|machine-generated|output|managed"
    r"|protected|dangerous|personal|disposable|compiled|rendered|overwritten|(?:written|bumped|updated|done"
    r"|handled|created|released|published|made|produced) by (?!me\b|us\b|him\b|her\b)\S+|maintained by|owned by"
    r"|vendored|append-only"
    r"|as (?:it|they) (?:is|are)|byte-identical|untouched|unchanged|the same|identical|stable"
    r"|backwards?[- ]compatible|compatible|private"
    r"|done by|checked in)\b"
)


_BELONGS = LazyRegex(
    r"(?P<subject>.+?) (?:belongs?|don't belong|doesn't belong|goes|go|lives?) (?:to|in|into|under|on|below"
    r"|next to|through)\b"
)


_QUANTITY = LazyRegex(
    r"(?:(?:max(?:imum)?|at most|no more than|not more than|up to|under|below|less than)\.? (?:line length "
    r"|file size |)?"
    r"(?:\d+|one|two|three|four|five|ten)\S* ?(?:\w+ )?(?:lines?|files?|commits?|functions?|params?|parameters?"
    r"|columns?|chars?|characters?"
    r"|class(?:es)?|levels?|arguments?|methods?|words?|kb|mb|sentences?|indentation)|(?:\d+|two|four|eight)(?: "
    r"|-)(?:columns?|chars?|spaces?|space)\b"
    r"|(?:max(?:imum)?|the max(?:imum)?|minimum|min)? ?(?:line|file|function|method|class|name) (?:length|size"
    r"|width) .*\d|one \w+ per \w+"
    r"|line length \d+)(?P<rest>.*)"
)


_MODAL = LazyRegex(
    r"(?P<subject>\S+(?: \S+){0,8}?) (?P<modal>mustn't|must never|may never|should never|shouldn't|can't"
    r"|must always|should always"
    r"|must only|may only|can only|should only|must|may|should|shall|never|always|don't|doesn't|won't|no-longer"
    r"|only)(?: (?:ever|even|also|all|both"
    r"|directly|really))* (?P<rest>\S.*)"
)


_CONVENTION = LazyRegex(
    r"(?P<subject>\S+(?: \S+){0,6}?) (?:(?:always|only|usually|strictly|all|also) )?(?P<verb>is|are|start|starts"
    r"|end|ends|follow|follows|mirror|mirrors|use|uses"
    r"|get|gets|need|needs|return|returns|have|has|carry|carries|take|takes)(?: (?:always|only|strictly|all"
    r"|also))* (?P<rest>\S.*)"
)


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
    if topic and re.match(
        r"(?:strictly )?(?:forbidden|not allowed|off limits|off-limits|banned(?: \w+)?|avoid|never|must have"
        r"|must-haves?|no-gos?|don'ts?|taboo"
        r"|prohibited|don't|do)$",
        line,
    ):
        clause.end = len(clause.sentence.words)
        return "policy"
    if re.match(
        r"(?!this|that|it)\S.* (?:requires?|needs?|must (?:be|get|have)) (?:my |an? |prior )?(?:approval"
        r"|permission|sign-off|approved by me|discussed first"
        r"|cleared with me|discussion|consent)\b|.* only (?:after|with) (?:asking|approval|permission|my)\b",
        line,
    ):
        return strength_of(clause)
    if re.match(
        r"(?:i'm|i am) the only one (?:who|that) (?:merges|pushes|commits|deploys|releases|tags|edits"
        r"|approves|touches|rebases)",
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
        positive = re.search(
            r"\b(?:allowed|permitted|ok|okay|acceptable|welcome|wanted|an option|a fix|fine|desired|tolerated"
            r"|yours|for you|your (?:job|business|call|responsibility|decision|task)|a goal|in scope|up for"
            r"|negotiable)\b",
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
    if re.match(
        r"(?:it's|it is|it isn't) (?:strictly |absolutely )?(?:not )?(?:forbidden|prohibited|banned|not ok|ok"
        r"|okay|acceptable|allowed|permitted)\b.* to \w+",
        line,
    ):
        return "policy" if "not" in line or "isn't" in line or "forbidden" in line or "prohibited" in line else None
    if re.match(
        r"(?:there (?:must|should|may|shall|can) (?:only )?be no|there (?:mustn't|shouldn't|may) be"
        r"|there's no place for|there is no place for|there's no need to ever)\b",
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
    if re.match(
        r"(?!it |this |that )\S.* must (?:stay|remain|be kept) (?:\w+ly )?(?:the same|identical|unchanged"
        r"|untouched|stable|as is|at |on |byte)",
        line,
    ):
        return strength_of(clause)
    if re.match(r"\S+ (?:never|no|nope|taboo)$", line) and has_path(raw_text(clause)):
        clause.start = 0
        return "policy"
    if re.match(
        r"the (?!file|screen|page|app\b).+ (?:is|are) (?:frozen|immutable|read-only"
        r"|append-only)(?: until .*| for .*)?$",
        line,
    ) and has_artefact(line):
        return "policy"
    state = _STATE.match(line)
    if state is not None and not re.match(r"(?:it|this|that|what|which|he|she|they|i|you)\b", state["subject"]):
        project = (
            clause.in_project
            or has_path(raw_text(clause))
            or bool(
                re.match(
                    r"(?:the )?(?:main|master|develop|trunk|release|staging|prod|production)(?: branch)? (?:is"
                    r"|stays|remains)",
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
    nobody = re.match(
        r"(?:nobody|nothing)(?: (?:but|except|in|outside|under|else|personal|here"
        r"|of)(?: \S+){0,5}?)? (?P<verb>may|must|should|can|is allowed|is|are|gets|goes|ever|ships|gets|(?!this\b"
        r"|is\b|has\b)\w+s)(?P<rest> .*|$)",
        line,
    )
    if nobody is not None:
        verb = nobody["verb"]
        if (
            verb
            in (
                "knows",
                "has",
                "happens",
                "works",
                "uses",
                "cares",
                "told",
                "reads",
                "understands",
                "helps",
                "changes",
                "gets",
            )
            and not (
                verb == "gets"
                and re.search(
                    r"gets (?:merged|pushed|committed|deployed|released|deleted|changed|added|installed|shipped"
                    r"|tagged)",
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
    if re.match(
        r"(?:legal|security|compliance|ops|(?:our|the|my) (?:legal|security|ops|boss|lead|team|policy|contract"
        r"|style ?guide)(?: team| lead)?) (?:says?|said|wants?) (?:no|never|only|not to)\b",
        line,
    ):
        return "policy"
    if _TOOL_VERBS.match(line):
        return "policy" if clause.in_project or not re.search(r"\b(?:main|master|yesterday|timeout)\b", line) else None
    found = _MODAL.match(line)
    if found is None:
        return None
    subject, modal, rest = found["subject"], found["modal"], found["rest"]
    heads = subject.split()
    if (
        heads[0]
        in (
            "i",
            "you",
            "we",
            "it",
            "he",
            "she",
            "they",
            "this",
            "that",
            "there",
            "what",
            "users",
            "user",
            "one",
            "don't",
            "let's",
        )
        and "this repo" not in line
        and "this project" not in line
        and not re.match(
            r"this (?:package|repo|project|service|module|app|codebase|crate|api|library|lib|tool|plugin|cli|gem"
            r"|framework|application|server|client|sdk)\b",
            line,
        )
    ):
        return None
    if re.match(r"our (?:users?|customers?|clients?|visitors?|competitors?|guests?|partners?|boss|manager)$", subject):
        return None
    if heads[0] in ("let's", "who", "which", "whenever", "when", "if"):
        return None
    if modal in ("mustn't", "must never", "shouldn't", "should never", "may never") and re.match(
        r"(?:(?:come|creep|sneak|slip|find its way) (?:back|in|into)|return$|return to the"
        r"|be (?:reintroduced|re-introduced|re-added|brought back|added again|added back))\b",
        rest,
    ):
        return strength_of(clause)
    first = rest.split()[0]
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
        if re.match(
            r"(?:stay|remain|change|break|be (?:changed|edited|touched|modified|renamed|moved|rebased))\b", rest
        ) and (artefact or clause.in_project):
            return strength_of(clause)
        if re.match(
            r"the (?:code|build|app|binary|bundle|library|project|package|api|cli|program|tool|script|whole thing"
            r"|public \w+)$",
            subject,
        ) and (changes or re.match(r"(?:run|work|build|compile) (?:on|with|in|under|without|offline)\b", rest)):
            return strength_of(clause)
        return "policy" if IN_PROJECT.search(line) and changes and artefact else None
    is_negative = re.search(r"\b(?:not|never|only|mustn't|shouldn't|can't|don't|no-longer|doesn't|nothing|no)\b", line)
    is_done = re.match(
        r"be (?:skipped|used|added|deleted|removed|reset|merged|read|loaded|shown|moved|created|written to)\b", rest
    )
    if not is_negative and (
        (path and modal == "should" and not re.match(r"(?:stay|remain|keep|be)\b", rest))
        or is_done
        or (modal == "always" and first.endswith("s") and heads[0] in ("our", "the", "this"))
    ):
        return None
    is_core = re.match(
        r"(?:\w+ )?(?:tests|functions|commits|files|classes|methods|modules|components|handlers|views|controllers"
        r"|services|branches|migrations|comments"
        r"|names|queries|endpoints|routes|imports|variables|prs|docs|docstrings)$",
        subject,
    )
    if is_core and modal in ("must", "should") and heads[0] not in ("the", "these", "my", "your", "our", "some"):
        if re.match(r"(?:be \w+ing|have been|pass|cover|be (?:broken|wrong|missing)|run on|need)\b", rest):
            return None
        return strength_of(clause)
    is_layer = re.match(
        r"the (?:\w+ )?(?:layer|frontend|backend|core|ui|domain|model|client|server|api|library"
        r"|view|database)s?$",
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
        and re.search(
            r"\b(?:commits?|prs?|functions?|tests?|files?|branch(?:es)?|modules?|class(?:es)?|methods?|packages?"
            r"|services?|migrations?|changes?|merges?|releases?|endpoints?)\b",
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


_DOUBT = LazyRegex(
    r"\b(?:wrong|broken|fail(?:s|ed|ing)?|missing|slow|cut|off|lost|stale|up|flaky|red|green|full of|outdated|gone"
    r"|empty|too|why|but|was"
    r"|were|did|didn't|just|already|currently|weird|strange"
    r"|there|used|what|which|seems?|looks?|not found|unused|needed|no longer|also|down|up|ready|done|fine|good|ok"
    r"|great|nice|bad|better|dead|red|same|different"
    r"|called|printed|shown|displayed|sent|created|loaded|parsed|executed|triggered)\b"
)


_VALUE = LazyRegex(
    r"\d|\b(?:upper_case|tabs|spaces|pascalcase|newline|underscore|integer|utf8|german|english|dutch|french"
    r"|spanish|italian"
    r"|british|american|utc|iso|unix|ascii|utf-8|uppercase"
    r"|lowercase|snake_case|camelcase|kebab-case|strings?|ints?|cents|seconds|sentences|c89|c99|es5|es6|always"
    r"|never|only|conventional|wrapped|named|prefixed|sorted|written|mandatory|required|optional|imperative"
    r"|singular|plural|lower|upper|tests?|type|annotation|ticket|set|exactly|single|minimum|maximum|floor"
    r"|standard|capital|letter|full stop|verb|noun|plain text|english)\b"
)


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
    if re.match(
        r"the (?:only|one and only) (?:\w+ )?(?:manager|formatter|linter|database|library|tool|framework"
        r"|runner|language"
        r"|compiler|browser|shell|dependency|dependencies|charset|encoding|orm|logger|runtime|editor|branch|remote"
        r"|version|platform|format)s?(?: (?:allowed|permitted|we \w+|you may \w+|here|in this \w+))* (?:is|are) ",
        line,
    ) and not re.search(r"\b(?:broken|wrong|slow|missing|problem|failing|old|outdated|installed)\b", line):
        return "policy"
    if re.match(
        r"(?:every|each|all) (?:new )?(?:bug ?fix|bug|fix|feature|commit|pr|change|function|method"
        r"|module|class|endpoint"
        r"|migration|release|package)(?:e?s)? (?:comes?|ships?|arrives?) with \S+",
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
        re.match(
            r"(?:line length|max line length|maximum line length|the minimum supported|the minimum|minimum"
            r"|indentation|indent|encoding|target|coverage|the target|the style|python|node|java) ",
            line,
        )
        and re.search(r"\d", line)
        and not _DOUBT.search(line)
    ):
        return "policy" if scoped else "plain"
    if (
        HEDGES.match(line)
        or _DOUBT.search(line)
        or re.match(
            r"(?:i|you|he|she|it|they|there|what|this|that|let's|nothing|none|some|we|we're|here|please)\b", line
        )
    ) and not re.match(r"this (?:package|repo|project|service|module|app|codebase|crate)\b", line):
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
        and re.search(
            r"\b(?:docstrings?|type hints?|annotations?|tests?|reviews?|comments?|tickets?|approvals?|changelog|checks?"
            r"|types)$",
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
    if subject.split()[0] in (
        "the",
        "a",
        "an",
        "his",
        "her",
        "only",
        "two",
        "three",
        "some",
        "many",
        "several",
        "which",
    ) and not (has_path(raw_text(clause)) or IN_PROJECT.search(line)):
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
        if re.match(
            r"(?:each|every) (?!public|function|method|class|module|file|commit|pr|test|package|service|component"
            r"|endpoint|migration|query|feature|change|bug)",
            line,
        ):
            return None
        return strength_of(clause)
    return None


_ENVIRONMENT = LazyRegex(
    r"(?:our|my|the|this|production|prod|customers?|clients?) .*\b(?:have no|has no|don't have|doesn't have"
    r"|lacks?|can't (?:show|reach|access|render|open)|without)"
    r" (?:\w+ )?(?:internet|network|root|sudo|access|gpu|shell|outbound|unicode|colou?rs?|docker|admin)\b"
)


def judge_environment(clause: Clause) -> Strength | None:
    """Judge statements about what the environment cannot do, such as missing internet access."""
    return "policy" if _ENVIRONMENT.match(clause.line) and not starts_task(clause) else None


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
