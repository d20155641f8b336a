"""A process to kill: appends to one session endlessly, sometimes closes and reopens it, and prints what it has done.

`python -m tests.sessions.crash_writer FOLDER SEED [SESSION_ID]` prints the session's id, then each message's as soon as
`append` has returned.
"""

import random
import sys
from pathlib import Path

from clio.messages import UserMessage
from clio.sessions.store import SessionStore


def main() -> None:
    """Runs until it is killed."""
    rng = random.Random(int(sys.argv[2]))
    store = SessionStore(Path(sys.argv[1]))
    session = store.open(sys.argv[3]) if len(sys.argv) > 3 else store.new(Path("/project"))
    print(session.id, flush=True)
    while True:
        for _ in range(rng.randrange(1, 12)):
            message = UserMessage(content="ü" * rng.choice([1, 100, 30_000]))
            session.append(message)
            print(message.id, flush=True)
        session.close()
        session = store.open(session.id)


if __name__ == "__main__":
    main()
