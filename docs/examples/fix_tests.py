"""Let clio fix failing tests, and stop with an exit code that a script understands.

python docs/examples/fix_tests.py path/to/project
"""

import sys

from clio import Agent

with Agent(sys.argv[1], approve="edits", settings={"allow": ["pytest *"], "max_cost": "0.50"}) as agent:
    turn = agent.run("Run the tests and fix what fails. Change only what is necessary.")

print(turn.text)
for path in turn.files_changed:
    print("changed:", path)
if turn.cost is not None:
    print("cost:", turn.cost)
sys.exit(0 if turn.ok else 1)
