"""Give clio knowledge from another program, and search what it remembers. No model is asked.

python docs/examples/remember.py path/to/project "deployments run on Thursdays" "when do we deploy?"
"""

import sys

from clio import Agent

with Agent(sys.argv[1], provider="offline") as agent:
    agent.memory.add(sys.argv[2])
    for found in agent.memory.search(sys.argv[3]):
        print(f"{found.score:.2f}  {found.kind}  {found.text}")
