"""The turns of phrase by which what stays true of a project is told from talk about the work at hand. English only."""

import re

from clio.memory.preferences.rule_files import english_rules
from clio.text.lazy_regex import LazyRegex

_EN = english_rules("facts")

_I = re.IGNORECASE
LEAD = _EN.pattern("lead")
"""What stands before a statement and says nothing of it."""
WE = _EN.pattern("we")
ONLY_NOT = frozenset("touch edit commit push merge change mock allow accept".split()) | {"check in"}
"""Verbs that say something lasting of a team only with never, always or only; a task has them as well."""
LASTING = _EN.pattern("lasting")
SLOT = _EN.pattern("slot")
NAMED = _EN.pattern("named")
NO_SUBJECT = _EN.pattern("no_subject")
"""How something begins that does not stand alone, or is about the work at hand."""
DOUBT = _EN.pattern("doubt")
"""What makes a sentence a complaint, a guess, a story, a wish, a report of others, or something for today alone."""
NOW_IS_FINE = _EN.pattern("now_is_fine")
"""Where "now" is said of what has changed for good: another name, place or number of something."""
POINTING_REST = _EN.pattern("pointing_rest")
CREDENTIAL = _EN.pattern("credential")
CUT = _EN.pattern("cut")
"""Where a statement ends and the request that rests on it begins."""
PASTED_ISSUE = _EN.pattern("pasted_issue")
DECISION = _EN.pattern("decision")
NO_CHOICE = _EN.pattern("no_choice")
"""What a decision names that means nothing outside of its conversation."""
REASON = _EN.pattern("reason")
PROCEDURE = _EN.pattern("procedure")
"""Questions about how to go on, which say nothing once they are answered."""
NO_CHOICE_AT_ALL = _EN.pattern("no_choice_at_all")
NAMES = _EN.pattern("names")
"""What makes a choice one of the project: a name, or what was not chosen."""
NO_ANSWER = _EN.pattern("no_answer")
NOTICEABLE = _EN.pattern("noticeable")
"""Without one of these the live noticing finds nothing that the rules here could take for a statement as well."""
STATEMENT_LIKE = _EN.pattern("statement_like")
"""A quick look that spares most messages the long one."""
OF_THE_TEAM = _EN.pattern("of_the_team")
NOBODY = _EN.pattern("nobody")
ONLY = _EN.pattern("only")
RULE = _EN.pattern("rule")
NEEDS_PLACE = _EN.pattern("needs_place")
PLACE = _EN.pattern("place")
NEEDS_PROJECT = _EN.pattern("needs_project")
OF_PROJECT = _EN.pattern("of_project")
COMPLETE = _EN.pattern("complete")


def base(verb: str) -> str:
    """A verb as the tables have it: "pushes" is "push"."""
    verb = verb.casefold()
    return next((one for one in (verb, verb.removesuffix("s"), verb.removesuffix("es")) if one in ONLY_NOT), verb)


def going(how: str | None, late: str | None, going_on: str | None) -> str:
    """What stands between "decided:" and what was chosen, where the choice is not simply to use it."""
    said = (how or late or going_on or "").casefold()
    if "against" in said or "drop" in said:
        return "against "
    if said.startswith(("keep", "stick", "stay")) or said.endswith(("keep", "stay with", "stay on")):
        return "keep "
    return ""


TURNED = _EN.pattern("turned")
"""What is cut off and takes the statement before it for what is to be changed."""
POINTS_AT_CHOICE = _EN.pattern("points_at_choice")
"""An answer that means nothing without the list it was chosen from."""
ALL_OF = _EN.pattern("all_of")
AND_DO = _EN.pattern("and_do")
CALLED = _EN.pattern("called")
PROPER = LazyRegex(r"[A-Z][\w+#]*[a-zA-Z0-9+#](?![\w'])")
"""A name, which what is called by it keeps."""
LISTED = LazyRegex(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]", re.MULTILINE)
TO_BUILD = _EN.pattern("to_build")
"""A list in a message that asks for something to be made is what is to be made."""
OPEN_QUESTION = _EN.pattern("open_question")
"""A question that a yes or a no does not answer."""
THAT_THING = _EN.pattern("that_thing")
"""A thing that is pointed at, of which nothing is said."""
CHOOSES = _EN.pattern("chooses")
