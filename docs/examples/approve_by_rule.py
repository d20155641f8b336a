"""Decide about each action in Python: allow edits below docs/, and deny everything else with a reason.

python docs/examples/approve_by_rule.py path/to/project
"""

import sys
from pathlib import Path

from clio import Agent, Approval

DOCS = Path(sys.argv[1]).resolve() / "docs"


def decide(request: Approval) -> bool | str:
    """Return True to allow the action, or the reason that the model is told."""
    if request.kind == "edit" and all(DOCS in Path(name).parents for name in request.files):
        print(request.diff)
        return True
    return "only files below docs/ may be changed"


with Agent(sys.argv[1], on_approval=decide) as agent:
    print(agent.run("Bring docs/ up to date with the code.").text)
