"""Generate long sessions from a seed, with a list of what happened in them; make context windows of any session."""

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


def generate_session(seed: int, turns: int) -> tuple[list[Message], Truth]:
    """Return the messages of a session, and what happened in it."""
    rng = random.Random(seed)
    messages: list[Message] = []
    requests, commits, files, answers = list[str](), list[str](), list[str](), list[str]()
    command = ""

    def add_call(name: str, arguments: dict[str, str], output: str, side_effects: SideEffects) -> None:
        call = ToolCall(id=f"c{len(messages)}", name=name, arguments=json.dumps(arguments))
        messages.append(AssistantMessage(content=" ".join(rng.choices(_WORDS, k=12)), tool_calls=(call,)))
        messages.append(ToolMessage(tool_call_id=call.id, name=name, content=output, side_effects=side_effects))

    for turn in range(turns):
        requests.append(f"{turn}: " + " ".join(rng.choices(_WORDS, k=rng.randint(4, 60))))
        messages.append(UserMessage(content=requests[-1]))
        for step in range(rng.randint(2, 6)):
            path = f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{turn}_{step}.py"
            source = "".join(f"{' '.join(rng.choices(_WORDS, k=9))}\n" for _ in range(rng.randint(5, 80)))
            if step % 2:
                files.append(path)
                side_effects = SideEffects(changed=(ChangedFile(path=path, kind="update"),))
                add_call("edit_file", {"path": path, "old": source[:80], "new": source[80:160]}, "edited", side_effects)
            else:
                add_call("read_file", {"path": path}, source, SideEffects(read=(path,)))
        command = f"pytest -q tests/test_{turn}.py"
        add_call(
            "run_command",
            {"command": command},
            "[exit 0 in 1.2 s]\n12 passed",
            SideEffects(command=command, exit_code=0),
        )
        if turn % 4 == 3:
            answers.append(f"answer {turn} {rng.choice(_WORDS)}")
            side_effects = SideEffects(question=f"Which way for {turn}?", answer=answers[-1])
            add_call("ask_user", {"question": side_effects.question}, f"The user answered: {answers[-1]}", side_effects)
        if turn % 3 == 2:
            commits.append(f"{rng.getrandbits(28):07x}")
            side_effects = SideEffects(commits=(Commit(hash=commits[-1], subject=f"feat: part {turn}"),))
            add_call("git", {"operation": "commit"}, f"committed {commits[-1]}", side_effects)
        messages.append(AssistantMessage(content=" ".join(rng.choices(_WORDS, k=40))))
    truth = Truth(
        requests=tuple(requests),
        commits=tuple(commits),
        files=tuple(dict.fromkeys(files)),
        decisions=tuple(answers),
        last_command=command,
    )
    return messages, truth


def store_session(messages: Sequence[Message], folder: Path) -> Session:
    """Write the messages to a new session on disk."""
    session = SessionStore(folder / ".clio" / "sessions").new(folder)
    for message in messages:
        session.append(message)
    return session


def make_window(session: Session, tokens: int, system: str = "") -> ContextWindow:
    """Make the context window of a session for a model with `tokens` tokens."""
    builder = ContextBuilder(
        project=Path(), prefixes=[lambda: Prefix(system=system, tools=())], estimator=TokenEstimator()
    )
    return ContextWindow(
        session, builder, ModelLimits(context_window=tokens, max_output_tokens=tokens, source="config")
    )


def take_next_step(rest: Iterator[Message]) -> Iterator[Message]:
    """Yield the messages up to the next tool result, inclusive, with new ids."""
    for message in rest:
        yield msgspec.structs.replace(message, id=f"{message.id}.2")
        if isinstance(message, ToolMessage):
            return
