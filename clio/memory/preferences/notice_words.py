"""The words by which orders and tastes are told from talk about the work: verbs, leads, what points at now."""

import re

from clio.text.lazy_regex import LazyRegex

VERBS = frozenset(
    """
    abbreviate add address alter annotate answer append apply approve ask assume auto-commit auto-format avoid backport
    bother branch break bring build bump cache call catch change check cherry-pick clean clear close comment commit
    compile compress consult copy cover create cut declare default delete deploy describe disable discard display
    document download drop duplicate echo edit embed emit enable end ensure escape estimate execute expect explain
    export expose extract fetch file fill find fix follow force force-push forget format generate give give guess
    handle hard-code hardcode hide ignore import include indent inform inherit initialise initialize inline insert
    install introduce invent join keep kill launch leave limit link lint list load lock log make mark measure mention
    merge migrate mix mock modify move name nest note notify omit open optimise optimize output overwrite package pad
    paraphrase parse paste pin pipe place post prefer prefix prepare present print proceed propose provide publish pull
    push put quote raise re-run read rebase recommend record redirect refactor refer reference reformat refuse release
    remember remind remove rename reorder repeat replace reply report request rerun reset resolve respond restart
    restate retry return reuse revert review rewrite rotate round run save say scan see send separate set share shorten
    show sign skip sort speak split squash start state stage stash stick store submit suggest summarise summarize
    suppress swallow switch tag take talk tell test thank throw touch track translate treat trim truncate trust try type
    understand unwrap update upgrade upload use validate verify wait wrap write yield apologise apologize introduce
    commit-squash propagate reply scaffold simulate stub praise compliment greet narrate recap disclose leak expose
    reveal hand-edit hotfix pass rely supply multiply pin hallucinate truncate obey deviate
    trim claim pretend invoke spawn restrict favour favor shadow amend quantify paraphrase stay bypass
    """.split()
)
"""Base forms that begin an order. A verb that is not here makes an order doubtful."""
BEHAVIOUR = frozenset("return raise throw retry yield emit fail block exit accept respond wait close load pass".split())
"""What code does as well: an order with one of these may describe the code that is wanted."""
MANNER = frozenset(
    """apologise apologize add use explain summarise summarize repeat thank praise compliment ask write put include
    comment guess assume mention narrate recap restate greet create generate print""".split()
)
"""What is mostly about the way clio works: "don't …" with one of these may be meant for good."""
NOT_VERBS = frozenset(
    """mind again ever say said saw seen knew known been be is was were are had has have did does do done got get gets
    heard met thought found made went came it i you he she they we the a an this that these those mine yours null none
    true false empty better worse enough quite more less so too really actually worked going gonna give stop forget
    fear surrender there here on in off up down out""".split()
)
MANNER_GERUNDS = LazyRegex(
    r"(?:apologi[sz]|add|us|explain|summari[sz]|repeat|thank|prais|compliment|ask|writ|putt|includ|comment|guess|assum"
    r"|mention|say|tell|narrat|recapp|restat|greet|creat|generat|print|talk|flatter|hedg|creating|reformatt|renam|ignor"
    r"|swear|emphasi[sz]|quot|hallucinat|invent|lectur|suggest|propos|offer|recommend|interrupt"
    r"|overexplain|overengineer|over-engineer)ing\b",
    re.IGNORECASE,
    needs="ing",
)
LEAD = LazyRegex(
    r"(?:(?:ok(?:ay)?|right|alright|great|good|thanks?(?: you)?(?: a lot| so much)?|thx|perfect|nice|cool|yes|yeah|yep"
    r"|no(?=[,.!])|hey|hi|hello|clio|hm+|ah|oh|well|so|and|but|also|btw|by the way|please|pls|listen|look|again"
    r"|once (?:more|again)"
    r"|actually|rules?|(?:very )?important(?:ly)?|nb|note|reminder|p\.?s|as a rule|(?:in )?general(?:ly)?|personally"
    r"|honestly|one (?:more |last )?thing|first|second|third|finally|lastly|remember|my rule|to be clear"
    r"|i(?:'ve)? (?:said|told you) (?:it |this |that )?(?:before|already)|i repeat|just)\b[\s,:!.–—-]*)+",
    re.IGNORECASE,
)
STANDING = LazyRegex(
    r"(?:from (?:now|here|this point|today) (?:on|onwards?|forward)|in (?:the )?future|going forward|moving forward"
    r"|henceforth|as of (?:now|today))[\s,:]+",
    re.IGNORECASE,
    needs="from future forward henceforth of",
)
STANDING_END = LazyRegex(
    r"[\s,]+(?:from (?:now|here|this point|today) (?:on|onwards?|forward)|in (?:the )?future|going forward"
    r"|in all (?:my )?projects|for all future \w+|every single time)$",
    re.IGNORECASE,
    needs="from future forward projects time",
)
NOW = LazyRegex(
    r"\b(?:yet|for now|right now|now|today|tonight|tomorrow|at the moment|for the moment|this time|just now|so far"
    r"|until i|till i|before i|while i|in the meantime|for the time being|first thing)\b",
    re.IGNORECASE,
)
HERE = LazyRegex(
    r"\b(?:this|these|here|the (?:new|old|other|first|second|last|former|latter|same) ones?|line \d+|lines \d+)\b",
    re.IGNORECASE,
)
POINTS = LazyRegex(
    r"(?:this|that|it|these|those|them|him|her|one|ones|so|there|here|again|way|like|the|same|either|both|all|anything"
    r"|something|everything|please|thing|things|ever|do|doing|done|too|as|well|you|what|i|asked|said|told)(?:\s+|$)",
    re.IGNORECASE,
)
TAIL = LazyRegex(
    r"(?<![\s,.!;:…])(?:[\s,](?:please|pls|thanks?(?: you)?|thx|ok(?:ay)?|ever again|again|any ?more|ever|in general"
    r"|generally|for me|if possible|by the way|btw|will you|would you|right|for good)?|[.!;:…])+$",
    re.IGNORECASE,
)
"""There is one way through a run of blanks: with two, a sentence whose code was blanked out would take for ever."""
FINITE = LazyRegex(
    r"\b(?:is|are|was|were|has|have|had|do|does|must|should|can|can't|cannot|will|won't|may|use|uses|used|run|runs|need"
    r"|needs|live|lives|lies|listen|listens|take|takes|expect|expects|require|requires|release|releases|go|goes|come"
    r"|comes|work|works|belong|belongs|mean|means|depend|depends|want|wants|like|likes|prefer|prefers|sit|sits|store"
    r"|stores|support|supports|start|starts|end|ends|deploy|deploys|get|gets|give|gives|keep|keeps|make|makes|break"
    r"|breaks|fail|fails|call|calls|point|points|contain|contains|hold|holds|owns|hosts|handles|maintains|reviews|equals|returns|reads|writes|builds|isn't|aren't|doesn't|don't|stands|stays)\b",
    re.IGNORECASE,
)


def is_pointing(words: str) -> bool:
    """Whether words only point at something that is not said: "that", "it like this"."""
    rest = words.strip(" .,!")
    while rest:
        found = POINTS.match(rest)
        if not found:
            return False
        rest = rest[found.end() :]
    return True


def is_order(word: str) -> bool | None:
    """Whether a word begins an order: True for a known verb, None where nobody knows, False for what is none."""
    word = word.lower().strip(",")
    if word in VERBS:
        return True
    if not word or word in NOT_VERBS or not word[0].isalpha():
        return False
    return False if word.endswith(("ed", "ing", "ly", "s")) and not word.endswith("ss") else None
