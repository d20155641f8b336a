"""Long sessions made up from a seed, with what happened in them; and windows over any session."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from bench.truth import Truth
from clio.context.request_builder import ContextBuilder, Prefix
from clio.context.window import ContextWindow
from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    Message,
    SideEffects,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.providers.base import ModelLimits
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.tokens import TokenEstimator

_WORDS = "read the parser module fix test value when it should return an error for empty input and keep order".split()


def generated(seed: int, turns: int) -> tuple[list[Message], Truth]:
    """A session as clio stores it, and what happened in it."""
    rng = random.Random(seed)
    messages: list[Message] = []
    asks, commits, written, answers = list[str](), list[str](), list[str](), list[str]()
    command = ""

    def did(name: str, arguments: dict[str, str], output: str, deeds: SideEffects) -> None:
        call = ToolCall(id=f"c{len(messages)}", name=name, arguments=json.dumps(arguments))
        messages.append(AssistantMessage(content=" ".join(rng.choices(_WORDS, k=12)), tool_calls=(call,)))
        messages.append(ToolMessage(tool_call_id=call.id, name=name, content=output, side_effects=deeds))

    for turn in range(turns):
        asks.append(f"{turn}: " + " ".join(rng.choices(_WORDS, k=rng.randint(4, 60))))
        messages.append(UserMessage(content=asks[-1]))
        for step in range(rng.randint(2, 6)):
            path = f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{turn}_{step}.py"
            source = "".join(f"{' '.join(rng.choices(_WORDS, k=9))}\n" for _ in range(rng.randint(5, 80)))
            if step % 2:
                written.append(path)
                deeds = SideEffects(changed=(ChangedFile(path=path, kind="update"),))
                did("edit_file", {"path": path, "old": source[:80], "new": source[80:160]}, "edited", deeds)
            else:
                did("read_file", {"path": path}, source, SideEffects(read=(path,)))
        command = f"pytest -q tests/test_{turn}.py"
        did(
            "run_command",
            {"command": command},
            "[exit 0 in 1.2 s]\n12 passed",
            SideEffects(command=command, exit_code=0),
        )
        if turn % 4 == 3:
            answers.append(f"answer {turn} {rng.choice(_WORDS)}")
            deeds = SideEffects(question=f"Which way for {turn}?", answer=answers[-1])
            did("ask_user", {"question": deeds.question}, f"The user answered: {answers[-1]}", deeds)
        if turn % 3 == 2:
            commits.append(f"{rng.getrandbits(28):07x}")
            deeds = SideEffects(commits=(Commit(hash=commits[-1], subject=f"feat: part {turn}"),))
            did("git", {"operation": "commit"}, f"committed {commits[-1]}", deeds)
        messages.append(AssistantMessage(content=" ".join(rng.choices(_WORDS, k=40))))
    truth = Truth(
        asks=tuple(asks),
        commits=tuple(commits),
        written=tuple(dict.fromkeys(written)),
        decisions=tuple(answers),
        outcome=command,
    )
    return messages, truth


def stored(messages: Sequence[Message], folder: Path) -> Session:
    """The messages as a new session on disk."""
    session = SessionStore(folder / ".clio" / "sessions").new(folder)
    for message in messages:
        session.append(message)
    return session


def window_of(session: Session, tokens: int, system: str = "") -> ContextWindow:
    """The window of a session for a model with that many tokens."""
    builder = ContextBuilder(
        project=Path(), prefixes=[lambda: Prefix(system=system, tools=())], estimator=TokenEstimator()
    )
    return ContextWindow(
        session, builder, ModelLimits(context_window=tokens, max_output_tokens=tokens, source="config")
    )


def next_step(rest: Iterator[Message]) -> Iterator[Message]:
    """The messages up to and with the next result of a tool, with ids of their own."""
    for message in rest:
        yield msgspec.structs.replace(message, id=f"{message.id}.2")
        if isinstance(message, ToolMessage):
            return
