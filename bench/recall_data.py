"""Sessions for `bench.recall`: words and code as the standard library has them, in the mix of real coding sessions.

Prose is spun from the comments and docstrings of the standard library, word after word as they follow each other
there, so that words are as common and as rare as in real text. Outputs are pieces of its source, listings and test
runs. By bytes about 75 % are tool outputs, as in the recorded sessions of other tools (`bench.transcripts`).
"""

import os
import random
import re
import sysconfig
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path

from clio.messages import AssistantMessage, Message, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.sessions import session_format
from clio.sessions.state import SessionState, derive_id

_PROSE = re.compile(r'(?s:"""(.+?)""")|#\s?([A-Za-z].+)')
_WORD = re.compile(r"[A-Za-z][\w'.-]*[,;:)]?$")
_OTHERS = {"test", "tests", "encodings", "idlelib", "lib2to3", "site-packages", "dist-packages", "pydoc_data"}
_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
NEWEST = 1_750_000_000.0


class Words:
    """Text that reads like the standard library."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        library = Path(sysconfig.get_paths()["stdlib"])
        sources = [path for path in sorted(library.rglob("*.py")) if not _OTHERS & set(path.relative_to(library).parts)]
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in sources]
        self.files = [path.name for path in sources]
        self.code = [text for text in texts if len(text) > 4_000]
        follow: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for text in texts:
            words = [
                word for found in _PROSE.findall(text) for part in found for word in part.split() if _WORD.match(word)
            ]
            for first, second in pairwise(words):
                follow[first][second] += 1
        self._follow = {word: (list(then), list(accumulate(then.values()))) for word, then in follow.items()}
        self.names = sorted({name for text in texts for name in _NAME.findall(text)})
        self._word = "The"

    def prose(self, count: int) -> str:
        """Some words."""
        found: list[str] = []
        for _ in range(count):
            then, sums = self._follow.get(self._word) or self._follow["the"]
            self._word = then[bisect(sums, self.rng.randrange(sums[-1]))]
            found.append(self._word)
        return " ".join(found)

    def source(self, chars: int) -> str:
        """A piece of source with line numbers, as `read_file` gives it."""
        text = self.rng.choice(self.code)
        at = self.rng.randrange(max(len(text) - chars, 1))
        return "\n".join(f"{number:5}  {line}" for number, line in enumerate(text[at : at + chars].splitlines(), 1))

    def test_run(self) -> str:
        """What a test runner prints."""
        names = self.rng.choices(self.names, k=12)
        lines = [f"tests/test_{name}.py::test_{name}_{self.rng.randrange(99)} PASSED" for name in names]
        error = f"E   AssertionError: {self.prose(8)}"
        return "\n".join([*lines, error, f"1 failed, {self.rng.randrange(400)} passed in 3.{self.rng.randrange(99)}s"])


def conversation(words: Words, size: int, topic: list[str]) -> Iterator[Message]:
    """Messages of about `size` bytes in all; `topic`: names this session is about."""
    rng, number = words.rng, 0
    while size > 0:
        asked = f"{words.prose(rng.randrange(15, 120))} {rng.choice(topic)} {words.prose(10)}"
        yield UserMessage(content=asked)
        size -= len(asked)
        for _ in range(rng.randrange(2, 8)):
            number += 1
            name, file = rng.choice(topic), rng.choice(words.files)
            output, ok, summary, deeds = words.source(rng.randrange(200, 3_600)), True, "", None
            match rng.randrange(4):
                case 0:
                    tool, arguments = "run_command", f'{{"command":"pytest -q tests/test_{name}.py"}}'
                    output, ok, summary = words.test_run(), False, "exit 1"
                    deeds = SideEffects(command=f"pytest -q tests/test_{name}.py", exit_code=1)
                case 1:
                    tool, arguments, summary = "search_text", f'{{"pattern":"{name}","path":"src"}}', "12 matches"
                case 2:
                    tool, arguments = "edit_file", f'{{"path":"src/{file}","old":"{name}","new":"{name}_2"}}'
                    output = output[:400]
                case _:
                    tool, arguments = "read_file", f'{{"path":"src/{file}"}}'
            said = words.prose(rng.randrange(8, 50))
            yield AssistantMessage(
                content=said, tool_calls=(ToolCall(id=f"call_{number}", name=tool, arguments=arguments),)
            )
            yield ToolMessage(
                tool_call_id=f"call_{number}", name=tool, content=output, ok=ok, summary=summary, side_effects=deeds
            )
            size -= len(said) + len(output) + len(arguments)
        answer = f"{words.prose(rng.randrange(30, 160))} `{rng.choice(topic)}`"
        yield AssistantMessage(content=answer)
        size -= len(answer)


def make_sessions(folder: Path, count: int, *, size: int, seed: int = 4, even: bool = False) -> Words:
    """Write `count` closed sessions of `size` bytes on average, the last one the newest; `even`: all alike."""
    words = Words(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        # Many short ones and a few very long ones, unless they are to be alike.
        one = size if even else int(size * words.rng.lognormvariate(-0.28, 0.75))
        write_session(folder, words, number, age=count - number, size=one)
    return words


def write_session(folder: Path, words: Words, number: int, *, age: int, size: int) -> str:
    """Write one closed session that is `age` hours old; its id."""
    at = NEWEST - 3_600.0 * age
    state = SessionState(id=derive_id(b"session %d" % number), created_at=at, updated_at=at)
    topic = words.rng.sample(words.names, 6)
    for place, message in enumerate(conversation(words, size, topic)):
        state.messages.append(
            type(message)(**_fields(message), created=at + place, id=derive_id(b"%d %d" % (number, place)))
        )
    path = folder / f"{state.id}.json"
    path.write_bytes(session_format.encode_snapshot(state, "", session_format.PreservedContent()))
    os.utime(path, (at, at))
    return state.id


def _fields(message: Message) -> dict[str, object]:
    return {name: getattr(message, name) for name in message.__struct_fields__ if name not in ("id", "created")}
