"""The turns of phrase by which an English message is told to want words, each with its weight, up to 6.

`^` is the beginning of a clause, after "ok, please" and the like.
"""

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
"""By intent, the cues; `clio.memory.styles.intents` compiles them."""
