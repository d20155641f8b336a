"""Regular expressions with weights that tell the intent of a message, in English and other languages."""

_PROSE = (
    r"(?:docs?|documentation|read-?me|docstrings?|guides?|tutorials?|change ?log|manual|release notes"
    r"|blog ?posts?|faq"
    r"|articles?|paragraphs?|chapters?|essays?|wording|prose|introduction|man ?page|commit message"
    r"|pr description"
    r"|(?:pull request|issue) (?:description|text|title)|e-?mails?|announcements?|status updates?"
    r"|slack message|tweets?"
    r"|comments? (?:for|to|in|on|explaining)|(?:code )?comments|license|adr|translations?|spec sheet"
    r"|summary for|\S+\.(?:md|rst|adoc))\b"
)
_CODE_NOUN = (
    r"(?:diff|patch|pr|mr|pull request|code|changes?|branch|commits?|implementation|module|file|function"
    r"|class|approach)"
)
_MINE = r"(?:my|this|the|our|these|that|his|her|their|it|those)"

_REVIEW = (
    (
        5,
        r"\b(?:did|have|do) (?:i|we) (?:forget|miss|forgotten|missed|overlook\w*|break)\b"
        r"|\bwhat would you (?:change|improve|do differently)\b|\bhow would you rate\b|\bcritical eye\b"
        r"|\brate (?:my|this|the)\b",
    ),
    (
        4.5,
        r"^(?:(?:have|take) a (?:\w+ )?look at|look at|verify|check (?:my|our|this|these|whether my|whether our"
        r"|if my|that my))\b",
    ),
    (
        4.5,
        r"\b(?:worr(?:y|ies|ied) you|red flags?|be honest|nitpick|thoughts on (?:this|my|the)|how (?:bad|good"
        r"|clean|solid|ugly|risky) (?:is|are))\b",
    ),
    (
        5,
        r"\b(?:does|do|is|are) (?:this|that|the|my|these|our|it)\b.{0,30}\b(?:look|looks|seem|safe|sound"
        r"|idiomatic|reasonable|right|correct|good|ok(?:ay)?|fine|thread-safe|readable)\b(?!-)",
    ),
    (
        4,
        r"\b(?:follows?|match(?:es)?|conforms? to|complies with|according to|agrees? with) (?:the|our"
        r"|my) (?:\w+ )?(?:spec\w*|guide\w*|rules|conventions|style|rfc|requirements)\b",
    ),
    (5, r"^(?:(?:code[- ]?)?review|audit|critique|evaluate|assess|inspect)\b"),
    (
        4.5,
        r"\b(?:look over|go over|sanity[- ]check|double[- ]check|second opinion|nitpicks?|code review"
        r"|poke holes)\b",
    ),
    (
        4.5,
        rf"^(?:check|look at|read|verify|examine|go through"
        rf"|take a look at) (?:through )?{_MINE} (?:\w+ )?{_CODE_NOUN}\b",
    ),
    (4.5, rf"\bwhat do you think (?:of|about) {_MINE}(?: \w+)? {_CODE_NOUN}"),
    (
        4.5,
        r"\b(?:any|see|are there|is there)\w* (?:\w+ )?(?:issues?|problems?|concerns?|smells?|mistakes?|wrong"
        r"|smelly|missing|risks?) (?:with|in|here|about)\b",
    ),
    (
        4.5,
        r"\bfeedback on\b|\bgive me (?:\w+ )?feedback\b|\bis (?:this|it|that) (?:good|ok(?:ay)?|safe|correct"
        r"|idiomatic|clean|right)\b",
    ),
    (
        4,
        rf"\b(?:is|does|are) {_MINE} (?:\w+ )?{_CODE_NOUN}\b.{{0,40}}\b(?:good|ok(?:ay)?|safe|correct|idiomatic"
        rf"|clean|right|sound|make sense|reasonable|smelly)\b",
    ),
    (
        3,
        r"\b(?:security holes?|vulnerabilit\w+|code quality|best practices|did i miss|anything i missed|smelly"
        r"|code smells?)\b",
    ),
    (2, r"\breview\b"),
)
_PLAN = (
    (
        6,
        r"\bwould you (?:rather|prefer|go with|recommend|use)\b|\bwhat would you (?:recommend|suggest|use"
        r"|do)\b(?! differently)",
    ),
    (
        5,
        r"\bhow (?:you|we|i|one)(?:'d| would| could| should| might)\b|\bno code yet\b|\bjust (?:a|the) plan\b"
        r"|\b(?:two|three|some|few|\d) (?:or \w+ )?(?:options|approaches|alternatives|ideas|ways)\b",
    ),
    (
        5,
        r"\b(?:talk|think|reason) (?:it |this |that )?(?:through|about|over)\b|\bbefore (?:anyone|you|we"
        r"|i) (?:\w+ )?(?:write|writes|start|starts|implement\w*|cod\w+|chang\w+|touch\w*)\b|\blet'?s (?:discuss"
        r"|think)\b",
    ),
    (
        5,
        r"\bwhat should (?:we|i)\b|\b(?:overkill|worth it|worth the|makes? more sense|scale better|a good idea"
        r"|a bad idea)\b|\bwhich (?:one )?(?:would you|should (?:we|i)|is better)\b",
    ),
    (4.5, r"\b(?:requirements document|prd|design doc|milestones?|phases|rfc for|estimate of|effort)\b"),
    (
        5,
        r"^(?:plan|design|propose|outline|brainstorm|sketch|estimate|prioriti[sz]e|think (?:about|through|of)"
        r"|consider(?! \w*(?:ing|ly)\b)|compare|suggest|discuss|weigh|recommend)\b",
    ),
    (
        6,
        r"\b(?:make|write|create|draft|need|come up with|give me|propose|put together)\b.{0,20}\b(?:plan|roadmap"
        r"|design(?: doc)?|proposal|strategy|breakdown)\b",
    ),
    (
        4.5,
        r"\bhow (?:should|would|could|might|can|do you (?:think|suggest|propose)|best to)\b(?: (?:we|i|you"
        r"|one))?\b(?! (?:that|this|it) (?:work|be))"
        r".{0,20}\b(?:structure|approach|design|implement|organi[sz]e|architect|tackle|split|handle|model|do"
        r"|build|go about|migrate|add|get|make|store|scale|support|test)\b",
    ),
    (4.5, r"\b(?:should (?:we|i)|would it be better|is it better|what if we|does it make sense to|is it worth)\b"),
    (
        5,
        r"\b(?:pros and cons|trade-?offs?|options? (?:for|do we|are there)|our options|alternatives? (?:to|for)"
        r"|best (?:way|approach|option|practice)|better (?:way|approach))\b",
    ),
    (
        4.5,
        r"\b(?:don'?t|do not|before (?:you|we)|without) (?:write|writing|implement|implementing|change|changing"
        r"|touch|touching|code|coding)\b",
    ),
    (
        4,
        r"\b(?:i'm|i am|we're|we are|i was|was) (?:considering|thinking (?:about|of)|wondering (?:whether"
        r"|if) (?:we|i))\b",
    ),
    (
        4.5,
        r"\bbreak (?:it|this|that|the \w+) (?:down|up) into\b|\bwhat would (?:it take|be (?:the|a))\b|\bwhat(?:'s"
        r"| is) the (?:plan|approach|strategy|next step)\b",
    ),
    (
        4,
        r"\b(?:architecture|approach|design) (?:for|would|first|options)\b|\bwhat (?:approach|strategy|design"
        r"|architecture)\b",
    ),
)
_WRITE = (
    (
        5.5,
        rf"^(?:put|give me|suggest|find|bring) .{{0,50}}?\b(?:docstrings?|pr (?:title|description)|commit message"
        rf"|title|headline|wording|{_PROSE})",
    ),
    (
        5,
        r"\b(?:phrase|say|put|word) (?:this|it|that) (?:more |less |in )?\w+(?:ly|er|\s(?:words|english|german"
        r"|terms))?\b(?=.*\b(?:polite|friend|short|clear|formal|better|nice|english|german|simpl)\w*)",
    ),
    (5, rf"\b{_PROSE}.{{0,40}}\b(?:outdated|out of date|up to date|stale|wrong|misleading|missing|unclear)\b"),
    (
        5.5,
        rf"^(?:write|update|add|create|improve|draft|edit|rewrite|translate|shorten|polish|fix|extend|expand"
        rf"|generate|make|prepare|compose|summari[sz]e .{{0,30}} in) .{{0,60}}?\b{_PROSE}",
    ),
    (5, r"^(?:document|proof-?read|reword|rephrase|draft|translate|copy-?edit|paraphrase|spell-?check)\b"),
    (4.5, r"\b(?:fix|correct) (?:the |a |all |some )?(?:\w+ )?(?:typos?|spelling|grammar)\b"),
    (
        4.5,
        r"\b(?:answer|reply to|respond to) (?:the |this |that |his |her |their )?(?:\w+ )?(?:comment|e-?mail"
        r"|review(?:er)?|issue|ticket|message)\b",
    ),
    (
        3,
        r"\b(?:should be |is |are |un)documented\b|\b(?:docs|documentation|readme)\b.{0,20}\b(?:should|needs?"
        r"|must|outdated|out of date)\b",
    ),
)
_EXPLAIN = (
    (5.5, r"^show (?:me|us) .{0,30}\b(?:how|why|examples?)\b"),
    (
        5,
        r"\b(?:go|walk|run|talk) (?:me )?through .{1,40}\bwith me\b|\bunder the hood\b|\bin plain (?:words"
        r"|english)\b|\b(?:short|quick|brief) version\b|\b(?:lose|lost) (?:the thread|track|me)\b",
    ),
    (
        5,
        r"^(?:guide me|help me (?:get|see)|break down (?:how|what)|illustrate|demonstrate"
        r"|outline how .{1,30} works)\b",
    ),
    (
        5,
        r"^(?:explain|describe|teach|walk (?:me|us) through|clarify|elaborate|eli5|summari[sz]e|tell me (?:about"
        r"|more|how|why)|understand|learn|recap)\b",
    ),
    (
        5,
        r"\b(?:help me understand|i (?:don'?t|do not) (?:\w+ )?(?:understand|get (?:it|this|how|why|what))"
        r"|walk (?:me )?through|can you explain|explain (?:it|this|that|how|why|what|to me))\b",
    ),
    (
        5,
        r"\bshow me (?:how|an example|some examples|examples)\b|\bgive me (?:an? )?(?:\w+ )?(?:overview|example"
        r"|explanation|summary|rundown|tour|recap|idea)\b",
    ),
    (
        5,
        r"\bwhat(?:'s| is| are) the (?:\w+ )?(?:difference|differences|idea|purpose|reason(?:ing)?|rationale"
        r"|point|meaning|relation|relationship)\b|\bdifference between\b",
    ),
    (4, r"\bwhy\b"),
    (
        4,
        r"^(?:.{0,40}[,.:] ?)?how (?!many|much|long|often|old|big|large|far|few|come)(?:does|do|did|is|are|can"
        r"|would|to|was|were|it|this|the|exactly|will|come)\b",
    ),
    (3, r"\bhow (?:does|do|did) (?:the |this |that |it |we |i )?"),
    (
        4,
        r"\bwhat is (?:this|that|going on|happening) (?:in|here|with)\b|\bwhat does (?:this"
        r"|that) (?:\w+ )?(?:mean|imply)\b|\bwhat are you talking about\b|\blost me\b|\bhow come\b",
    ),
    (3, r"\bexplain\b|\bexplanation\b|\bin simple terms\b|\bstep by step\b|\bline by line\b"),
)
_QUESTION = (
    (2, r"^give me\b"),
    (5, r"^(?:is there (?:a |any )?(?:way|option|flag|setting|command))\b"),
    (3.5, r"^(?:what|whats|where|which|who|whose|when|wheres|whos)\b"),
    (4.5, r"\bhow (?:many|much|long|often|old|big|large|far|few)\b"),
    (
        3,
        r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|am|isn'?t|aren'?t|doesn'?t|don'?t"
        r"|didn'?t|any)\b",
    ),
    (
        4.5,
        r"^(?:show me|tell me|list|find(?! out)|search|grep|print|count|look up|remind me|get me|point me to"
        r"|check (?:if|whether|that|what|which|for)|see (?:if|whether))\b",
    ),
    (1.5, r"\b(?:where|which|who|when|whether) (?:is|are|was|does|do|did|we|it|the|file|of)\b"),
)
WORDS: dict[str, tuple[tuple[float, str], ...]] = {
    "review": _REVIEW,
    "plan": _PLAN,
    "write": _WRITE,
    "explain": _EXPLAIN,
    "question": _QUESTION,
}
"""By intent, the cues; `clio.memory.styles.situation` compiles them."""


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
"""By intent, the cues; `clio.memory.styles.situation` compiles them."""


_FIX_OTHER = (
    (
        4,
        r"\b(?:behebe\w*|beheben|korrigiere|repariere|schlägt fehl|schlagen fehl|funktioniert (?:\w+ )?nicht"
        r"|geht (?:\w+ )?nicht|stürzt)\b",
    ),
    (3, r"\b(?:kaputt|fehler|absturz|erreur|plante|error en|fallo)\b"),
    (4.5, r"^(?:corrige[rz]?|répare|résous|arregla\w*|soluciona\w*|depura)\b"),
    (
        4,
        r"\bne (?:marche|fonctionne|compile) (?:pas|plus)\b|\bno (?:funciona|compila|arranca)\b"
        r"|\bsigue fallando\b",
    ),
)
_BUILD_OTHER = (
    (
        4.5,
        r"^(?:füge|implementier\w*|erstell\w*|benenn\w*|ersetz\w*|entfern\w*|änder\w*|ergänz\w*|verschieb\w*"
        r"|bau\w*|lösch\w*|nutze|verwende)\b",
    ),
    (
        4.5,
        r"^(?:ajout\w+|implément\w+|cré(?:e|er|ez)|renomm\w+|remplac\w+|supprim\w+|déplac\w+|modifi\w+|chang\w+"
        r"|utilis\w+)\b",
    ),
    (
        4.5,
        r"^(?:añad\w+|agreg\w+|implement(?:a|ar|e)|cre(?:a|ar)|renombr\w+|reemplaz\w+|elimin\w+|quita\w*|mueve"
        r"|mover|cambi\w+|usa)\b",
    ),
)
_REVIEW_OTHER = (
    (4.5, r"^(?:über)?prüf\w*\b"),
    (4.5, r"\bschau dir\b.{0,40}\ban\b|\b(?:code-?)?review\b.{0,10}\bbitte\b"),
    (4.5, r"^(?:relis|relire|vérifi\w+|fais une (?:revue|relecture)|revis[ae]\w*|examin\w+)\b"),
)
_PLAN_OTHER = (
    (
        5,
        r"\b(?:mach\w*|erstell\w*|schreib\w*) .{0,12}\bplan\b|\bsollten wir\b|\bwie (?:sollten|könnten) wir\b"
        r"|\bvergleich\w*\b|\bentwirf\b",
    ),
    (
        6,
        r"\bmeilleure (?:approche|façon|solution)\b|\bpropose\w*\b.{0,15}\b(?:plan|approche)\b|\b(?:fais"
        r"|faire) un plan\b|\bdevrait-on\b|\bplanifi\w+\b",
    ),
    (5, r"\bmejor (?:manera|forma|enfoque|opción)\b|\bhaz un plan\b|\bplanifica\b|\bdeberíamos\b|\bcompara\b"),
)
_WRITE_OTHER = (
    (
        5,
        r"\b(?:dokumentier\w*|übersetz\w*|formulier\w*)\b|\bschreib\w*\b.{0,30}\b(?:anleitung|doku\w*|mail"
        r"|nachricht|text|readme|kommentar\w*|hilfe)\b",
    ),
    (
        5,
        r"\b(?:rédig\w+|document(?:e|er|ez) |tradui\w+|reformul\w+)\b|\b(?:écri\w+)\b.{0,30}\b(?:doc\w*|message"
        r"|mail|texte|guide)\b",
    ),
    (5, r"\b(?:redact\w+|documenta |traduc\w+)\b|\bescrib\w+\b.{0,30}\b(?:doc\w*|mensaje|correo|texto|guía)\b"),
)
_RUN_OTHER = (
    (
        5,
        r"^führ\w*\b.{0,40}\baus\b|^(?:starte\w*|installier\w*|commit(?:te)?|pushe?|lass .{0,20} laufen"
        r"|mach weiter|weiter)\b",
    ),
    (5, r"^(?:lance\w*|exécut\w+|démarr\w+|installe\w*|déploi\w+|committe|continue\w*|vas-y)\b"),
    (
        5,
        r"^(?:ejecut\w+|corre|lanza\w*|arranca\w*|instala\w*|despliega\w*|haz (?:un )?commit|sigue|continúa"
        r"|adelante)\b",
    ),
)
_EXPLAIN_OTHER = (
    (5, r"\b(?:erklär|expliqu|explic)\w*\b"),
    (5, r"^(?:warum|wieso|weshalb|wie)\b(?! (?:viele?|oft|lange|groß)\b)"),
    (5, r"^(?:pourquoi|comment)\b"),
    (5, r"^(?:por qué|cómo)\b"),
)
_QUESTION_OTHER = (
    (4.5, r"^(?:wo|was|welche[rsnm]?|wer|wann|wie viele?|gibt es|ist|sind|hat|haben|zeig\w*|zeige)\b"),
    (4.5, r"^(?:où|quel(?:le)?s?|qui|quand|combien|est-ce|y a-t-il|qu'est-ce|montre)\b"),
    (4.5, r"^(?:dónde|qué|cuál(?:es)?|quién|cuándo|cuánt[oa]s?|hay|muéstra\w*)\b"),
)
ABROAD: dict[str, tuple[tuple[float, str], ...]] = {
    "fix": _FIX_OTHER,
    "build": _BUILD_OTHER,
    "review": _REVIEW_OTHER,
    "plan": _PLAN_OTHER,
    "write": _WRITE_OTHER,
    "run": _RUN_OTHER,
    "explain": _EXPLAIN_OTHER,
    "question": _QUESTION_OTHER,
}
"""By intent, the cues; `clio.memory.styles.situation` compiles them."""
