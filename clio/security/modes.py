"""In which order a key goes through the approval modes."""

from clio.config.schema import ApprovalMode

_AFTER: dict[ApprovalMode, ApprovalMode] = {"ask": "edits", "edits": "plan", "plan": "ask", "all": "ask"}


def next_mode(mode: ApprovalMode) -> ApprovalMode:
    """The mode after this one: ask, edits, plan, and ask again. It never comes to "all", which is to be written out."""
    return _AFTER[mode]
