"""Ask for an answer as data: the answer must fit a JSON schema. Plan mode lets clio read but change nothing.

python docs/examples/review_as_data.py path/to/project
"""

import sys

from clio import Agent

SCHEMA = {
    "type": "object",
    "required": ["findings"],
    "properties": {
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["file", "problem"],
                "properties": {"file": {"type": "string"}, "line": {"type": "integer"}, "problem": {"type": "string"}},
            },
        }
    },
}

with Agent(sys.argv[1], approve="plan") as agent:
    turn = agent.run("Review the last commit. List real faults only.", schema=SCHEMA).raise_for_status()

for finding in turn.structured["findings"]:
    print(f"{finding['file']}:{finding.get('line', '?')}: {finding['problem']}")
