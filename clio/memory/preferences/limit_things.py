"""Find limits in clauses about things: "… is off limits", "tests must never …", "line length is 100 here"."""

import re

from clio.memory.preferences.limit_clause import (
    HEDGES,
    HERE,
    IN_PROJECT,
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
