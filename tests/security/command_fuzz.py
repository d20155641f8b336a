"""Random command lines, really run, and compared with what clio says they run.

    python -m tests.security.command_fuzz 5000 [seed]      (make fuzz-commands N=5000)

Prints why lines are not understood, and every line that did something not in the judgement. A line is run by bash; if
a plain `sh` would read it alike, also by the shells that `sh` may be.
"""

import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from clio.security.command_risk import assess_variables
from clio.security.shell.parser import parse_command_line
from tests.security import command_chance
from tests.security.command_stage import SHELLS, Stage

OTHERS = tuple(name for name in SHELLS if name != "bash")
_NAMED = re.compile(r"(?<!\w)'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<=variable )\w+")


def run_lines(number: int, seed: int) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Run this many lines from a seed on; return those that did something not in the judgement, with counts.

    Counted are lines understood, those run by another shell too, and the reasons why others are not understood.
    """
    found: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder).resolve())
        for each in range(seed, seed + number):
            line = command_chance.line(each)
            parsed = parse_command_line(line)
            if any(assess_variables(command).level == "high" for command in parsed.commands):
                counts["it sets a variable that decides"] += 1
                continue
            if parsed.unknown:
                counts.update({_NAMED.sub("…", reason) for reason in parsed.unknown})
                continue
            counts["understood"] += 1
            if why := stage.unjudged(line, parsed):
                found.append((line, f"{each}: {why}"))
            plain = parse_command_line(line, plain=True)
            other = OTHERS[each % len(OTHERS)]
            if plain.unknown or shutil.which(SHELLS[other][0]) is None:
                continue
            counts[f"of them run by {' '.join(SHELLS[other])} too"] += 1
            if why := stage.unjudged(line, plain, other):
                found.append((line, f"{each}: by {other}: {why}"))
    return found, counts


def main() -> int:
    """Print the findings; return 1 if there are any."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found, counts = run_lines(number, seed)
    for line, why in found:
        print(f"{line!r}\n    {why}")
    for reason, times in counts.most_common():
        print(f"{times:7} {reason}")
    print(f"{number} lines, {counts['understood']} understood and run, {len(found)} did what was not judged")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
