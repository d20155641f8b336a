"""The turns of phrase by which an English message is told to want work done, each with its weight, up to 5.

`^` is the beginning of a clause, after "ok, please" and the like.
"""

_BROKEN = (
    r"(?:crash(?:es|ed|ing)?|hangs?|hung|hanging|leak(?:s|ed|ing)?|broken|breaks?|broke|fail(?:s|ed|ing|ure"
    r"|ures)?|bugs?|buggy"
    r"|wrong|errors?|exceptions?|stuck|flaky|incorrect(?:ly)?|missing|corrupt(?:ed)?|freez(?:es|ing))"
)

_FIX = (
    (
        3.5,
        r"\b(?:flickers?|flickering|stutters?|lags|laggy|overlaps?|disappears?|vanish(?:es|ed)|dies|died"
        r"|is killed|drops|loses|swallow(?:s|ed)|differs|mismatch"
        r"|ignores|is ignored|duplicat(?:es|ed)|takes (?:forever|ages|too long)|(?:too|very|so|really) slow"
        r"|exit(?:s|ed)? (?:code |with (?:code )?)[1-9]\w*|(?:hours?|rows?|pixels?|days?|bytes?) off)\b",
    ),
    (4, r"^(?:can'?t|cannot|couldn'?t|unable to)\b"),
    (
        4,
        r"\bexpected\b.{1,40}\b(?:got|but|actual|received|was)\b"
        r"|\b(?:gives?|gave|tells?|says|shows?) (?:me )?(?:\"|¤)",
    ),
    (
        1.5,
        r"^(?:the|this|that|it|its|my|our|after|since|when|whenever|as soon as|on|in|every|all|some|half"
        r"|[\w-]+ (?:\w+ )?(?:is|are|was|were|has|have|\w+[^s\W]s)) (?!.*\b(?:should|needs?|must|want|would"
        r"|could|let'?s)\b)",
    ),
    (
        4.5,
        r"\b(?:and|to|then) (?:try to |please |also )?(?:fix|solve|debug|repair|(?:find|figure) out (?:why"
        r"|what is|what's))\b",
    ),
    (5, r"^(?:get|make) .{1,40}\b(?:green|passing|to (?:work|pass|compile|build|start)|working again)\b"),
    (
        3.5,
        r"\b(?:is|are|was|shows?(?: up)?|comes? (?:out|back)|renders?|looks?|ends? up|displayed"
        r"|returns?) (?:\w+ ){0,2}"
        r"(?:empty|blank|gone|upside down|twice|slow(?:er)?|off by|cut off|garbled|null|undefined|nothing|wrong"
        r"|unreadable|stale)\b",
    ),
    (
        3,
        r"\bsince (?:the|my|our|this|last|i|we|yesterday|today|upgrading|updating|switching)\b|\b(?:made|makes"
        r"|making) (?:it|things) worse\b",
    ),
    (
        3.5,
        r"\b(?:getting|get|returns?|throws?|answers? with|gives?(?: me)?|responds? with|see|seeing|hit) (?:a "
        r"|an |the |lots of )?(?:[45]\d\ds?|timeouts?)\b",
    ),
    (
        3,
        r"\b(?:it|this|that|they|which|the (?:[\w-]+ ){1,3}?|\w+) (?:still |just |simply |suddenly "
        r"|also |often )?"
        r"(?:doesn'?t|does not|won'?t|isn'?t|aren'?t|didn'?t|did not|can'?t|cannot|do not"
        r"|don'?t)\b(?! (?:\w+ )?(?:matter|need|have to|seem|want|understand|know|think))",
    ),
    (
        3,
        r"\b(?:off by one|double[- ]?(?:free|counted)|upside down|goes? up by|keeps? growing|out of memory"
        r"|unknown command|no such file|not found)\b",
    ),
    (
        3,
        r"\b(?:panic|fatal error|runtime error|assertion failed|command not found|permission denied"
        r"|segmentation fault|core dumped)\b",
    ),
    (
        3,
        r"\b(?:reports?|complains?|shows?|gives?) \d* ?(?:errors?|warnings?|failures?)\b|\bregressed\b"
        r"|\bused to work\b|\bworked (?:yesterday|before|until)\b",
    ),
    (4.5, r"^(?:fix|debug|solve|resolve|repair|diagnose|troubleshoot|hotfix|unbreak|mend)(?:es|ing)?\b"),
    (5, r"^(?:investigate|track down|look into|(?:find|figure) out (?:why|what)|see why|check why)\b"),
    (
        4.5,
        r"\b(?:find|look for|locate|hunt)\b.{0,30}\b(?:bug|leak|culprit|root cause|problem|reason|mistake)\b"
        r"|\broot cause\b",
    ),
    (
        4.5,
        rf"\bwhy (?:is|are|do|does|did|am|was|would|has|have|can)\b.{{0,80}}\b(?:{_BROKEN}|not|never|slow|empty"
        rf"|keeps?|twice|still)\b",
    ),
    (4.5, r"\bwhy (?:isn't|aren't|doesn't|don't|didn't|wasn't|won't|can't)\b"),
    (
        3.5,
        rf"\b(?:is|are|was|were|it's|still|now|keeps?|gets?|got|just|always|sometimes|randomly"
        rf"|suddenly) (?:\w+ )?{_BROKEN}\b",
    ),
    (
        3.5,
        r"(?<!when it )(?<!if it )\b(?:crashes|crashed|hangs|fails|(?<!the )failed|throws|threw|breaks|broke"
        r"|segfaults|freezes|complains|times out|leaks)\b",
    ),
    (
        3.5,
        r"\b(?:doesn'?t|does not|don'?t|isn'?t|is not|aren'?t|won'?t|no longer|stopped|can'?t|cannot|not|didn'?t"
        r"|never) "
        r"(?:\w+ )?(?:work(?:s|ing)?|start(?:s|ing)?|load(?:s|ing)?|run|respond|compil(?:e|es|ing)|return"
        r"|show(?:s|ing)?|build|pass|open"
        r"|connect|render|update|updating|found|recogni[sz]ed|showing up|appear(?:ing)?|fire|trigger(?:ing)?"
        r"|do anything)\b",
    ),
    (3.5, r"\b(?:does|do|did) nothing\b|\bno effect\b|\bnothing happens\b|\bnot what i (?:asked|meant|wanted)\b"),
    (
        3,
        r"\b\w+(?:error|exception)\b|\b(?:eresolve|enoent|eacces|econnrefused|sigsegv|oom|nan)\b|\b(?:status"
        r"|http|error) [45]\d\d\b",
    ),
    (
        3.5,
        r"\bi(?:'m| am| keep)? (?:still )?(?:get|getting|see|seeing|got|hit|hitting)\b.{0,40}\b(?:error"
        r"|exception|warning|failure|\w+error|50\d|40\d)\b",
    ),
    (
        3,
        r"\b(?:there(?:'s| is| are| seems to be)|found|have|got) (?:a |an |some |another "
        r"|one )?(?:\w+ )?(?:bugs?|errors?|problems?|issues?|regressions?|leaks?)\b",
    ),
    (
        2.5,
        r"\b(?:bug|regression|traceback|segfault|stack ?trace|race condition|deadlock|memory leak|failing"
        r"|failures?)\b",
    ),
    (2.5, r"\b(?:users?|customers?|people|ci|linter|lint|compiler) (?:report|complain|say|fail)s?\b"),
    (2, rf"\b(?:{_BROKEN}|fix(?:ed)?)\b"),
)
_BUILD = (
    (3.5, r"\bneeds? (?:a|an|another|more|some|to (?:be|have|support|accept|know|return|show))\b"),
    (
        4.5,
        r"^(?:get rid of|take (?:it|that|this|them) out|edit|try|have an? (?!look\b)\w+|pass|inject|restore|fill"
        r"|fold|trim|paint|colou?r|point|turn|adapt|adopt|throw out|go with|do (?:the )?(?:same|task|step"
        r"|finding|item))\b",
    ),
    (4, r"^same (?:thing )?(?:for|with|in)\b|^(?:for|in|on) (?:each|every|all)\b"),
    (
        3,
        r"\b(?:users?|people|we|one|it|they|admins?|callers?) should (?:also )?(?:be able|see|get|have|be)\b"
        r"|\bno longer needed?\b|\bdon'?t need\b",
    ),
    (
        4,
        r"^(?:add|implement|refactor|rename|extract|inline|create|build|make|modify|change|replace|remove|delete"
        r"|drop|move|split"
        r"|convert|migrate|port|support|use|switch|bump|upgrade|downgrade|update|introduce|enable|disable|set"
        r"|allow|turn|integrate"
        r"|clean ?up|simplify|optimi[sz]e|hook|wire|rewrite|generate|improve|adjust|include|expose|wrap|put"
        r"|ensure|handle|style|swap"
        r"|increase|reduce|decrease|keep|redesign|mock|cover|parametri[sz]e|sort|cache|log|validate|hide"
        r"|scaffold|deduplicate|merge the|combine|consolidate"
        r"|unify|address|apply|restructure|reorgani[sz]e|tweak|append|insert|store|save|display|render|align"
        r"|center|strip|format|write|populate|extend|connect|develop|code|give (?:it|the|each|every))\b",
    ),
    (
        4.5,
        r"^(?:write|create|add|make|generate) .{0,40}\b(?:functions?|class(?:es)?|scripts?|tests?|cases?"
        r"|modules?|hooks?|helpers?|quer(?:y|ies)|endpoints?"
        r"|components?|parsers?|regex|decorators?|migrations?|fixtures?|methods?|types?|flags?|commands?)\b",
    ),
    (4, r"\bdo the same\b|\bsame (?:for|with) the\b"),
    (
        3.5,
        r"\b(?:i|we)(?:'d| would)? (?:want|need|like)(?!ed)(?: (?:a|an|the|it|this|that|to|all|some|more|it to"
        r"|this to)\b)(?! (?:understand|know|see|learn|discuss|review))",
    ),
    (
        3,
        r"\b(?:it|this|that|they|there|we|the [\w-]+|\w+s)(?: \w+)? should (?!we|i\b)(?:not |also |only |always "
        r"|never |just )?\w+",
    ),
    (
        2.5,
        r"\b(?:instead of|rather than)\b|\b(?:can|could) (?:we|you) (?:also |please )?(?:add|make|have|use"
        r"|change|remove|move|get rid)\b",
    ),
    (
        4,
        r"\b(?:get rid of|turn (?:it|this|that|the \w+) into|clean (?:it|this|that) up|make (?:it|this|that|sure"
        r"|the))\b",
    ),
    (2, r"\b(?:feature|refactor(?:ing)?|implementation of)\b"),
)
_RUN = (
    (
        4.5,
        r"^(?:once more|one more time|again with|now with|(?:try|run|do) (?:it |that )?again|next (?:step|phase"
        r"|task|one|finding)|phase \w+$|step \w+$|finding \w+$|option \w+\b|(?:\d|[a-d])$)",
    ),
    (
        4.5,
        r"^(?:go on with|continue with|proceed (?:with|to)|move on|on to|check in|bring (?:it|the \w+) up"
        r"|test it|format (?:the|all|every)|fetch|pull|sync|download|upload|clone|open|close"
        r"|switch to (?:the )?branch)\b",
    ),
    (3, r"\bproceed\b|\bthen move on\b|\bcarry on\b"),
    (
        4.5,
        r"^(?:run|re-?run|execute|commit|push|deploy|launch|restart|install|uninstall|revert|undo|rebase|stash"
        r"|publish|ship|kill|squash|amend|cherry-?pick|checkout|check out|tag|release|lint|benchmark|profile"
        r"|merge (?:it|this|main|the (?:pr|branch)|into))\b",
    ),
    (
        4.5,
        r"^(?:git|npm|pnpm|yarn|pip|uv|pytest|cargo|docker|make|kubectl|terraform|curl|ls|cd|cat|grep|rm"
        r"|python3?|node|gh|brew|go)"
        r" (?:-|\.|\w*[/.]|status|log|diff|add|commit|push|pull|install|run|build|test|up|up -d|ps|apply|start"
        r"|stash|fetch|check|clean|reset|show|ci|sync|mod|get|all|checkout|clone)"
        r"(?!.{0,40}\b(?:throws|fails|gives|says|complains|hangs|errors|crashes|doesn't|exits|returns)\b)",
    ),
    (
        4.5,
        r"^(?:start|stop|boot|spin up|bring up|shut down) (?:the |a |up )?(?:\w+ )?(?:server|app|service"
        r"|container|docker|database|db|dev|watcher|worker|build|job|process|it|cluster)\b",
    ),
    (
        4.5,
        r"^(?:open|create|make|submit|raise|merge|close) (?:a |the |an )?(?:new )?(?:draft )?(?:pr|pull request"
        r"|branch|mr|release|tag)\b",
    ),
    (
        4.5,
        r"^(?:go ahead|proceed|continue|keep going|carry on|do it|do that|do this|go for it|make it so"
        r"|try (?:it )?again|retry|resume|move on|go on|ship it|let'?s (?:do it|go)|just do it|start|stop"
        r"|option \w+$)\b",
    ),
    (
        5,
        r"^(?:build|compile) (?:it|the (?:\w+ )?(?:project|app|image|container|docs|binary|wheel|package)|again"
        r"|everything)\b",
    ),
    (3, r"\b(?:and|then) (?:run|commit|push|deploy|re-?run|restart|install)\b"),
    (
        3.5,
        r"\b(?:commit|push|deploy|run|merge) (?:it|this|that|them|everything|all)\b|\b(?:run|rerun"
        r"|running) (?:the |all |all the |only the )?(?:\w+ )?(?:tests?|suite|linter|build|benchmarks?)\b",
    ),
)
WORK: dict[str, tuple[tuple[float, str], ...]] = {
    "fix": _FIX,
    "build": _BUILD,
    "run": _RUN,
}
"""By intent, the cues; `clio.memory.styles.intents` compiles them."""
