"""Turns written as text with what consolidation must extract from them, and turns made of a few steps."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.memory.consolidation.command_findings import find_fixes
from clio.memory.consolidation.experiences import Experience, Finding, list_completed_calls, split_into_turns
from clio.memory.consolidation.stated_facts import find_statements
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

DATA = Path(__file__).parent / "data"


class Turn(Struct, frozen=True, kw_only=True):
    """One turn of a corpus. teaches: kind and text of exactly what must be extracted."""

    experience: Experience
    teaches: tuple[tuple[str, str], ...]


def find_statements_and_fixes(experience: Experience) -> list[Finding]:
    """Return the statements and then the fixes of one turn."""
    return [*find_statements(experience, list_completed_calls(experience.messages)), *find_fixes((experience,))]


class Score(Struct, frozen=True, kw_only=True):
    """Results for a corpus. given: findings; right: correct findings; wanted: labels; found: labels found."""

    turns: int
    given: int
    right: int
    wanted: int
    found: int
    wrong: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()


def turn(*steps: str, session: str = "s1", at: float = 1_000_000.0, message: str = "m1") -> Experience:
    """Return a turn of steps in the notation of the corpus: "> text", "$ command => 1 | output", "~ file", …."""
    experiences = split_into_turns(session, list(_messages(list(steps), at, message)))
    assert len(experiences) == 1
    return experiences[0]


def corpus(name: str) -> list[Turn]:
    """Return the turns of one file."""
    blocks = (DATA / name).read_text(encoding="utf-8").split("\n\n")
    turns: list[Turn] = []
    for block in blocks:
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            labels = [line[2:].partition(": ") for line in lines if line.startswith("= ")]
            steps = [line for line in lines if not line.startswith("= ")]
            teaches = tuple((kind, text) for kind, _, text in labels)
            turns.append(Turn(experience=turn(*steps), teaches=teaches))
    return turns


def score(turns: list[Turn]) -> Score:
    """Compare findings with labels. A finding is correct if it begins with a label's text."""
    given = right = wanted = found = 0
    wrong: list[str] = []
    missed: list[str] = []
    for one in turns:
        findings = find_statements_and_fixes(one.experience)
        hit = {label for label in one.teaches if any(_is(finding, label) for finding in findings)}
        good = [finding for finding in findings if any(_is(finding, label) for label in one.teaches)]
        given, right = given + len(findings), right + len(good)
        wanted, found = wanted + len(one.teaches), found + len(hit)
        wrong += [f"{finding.kind}: {finding.text}" for finding in findings if finding not in good]
        missed += [f"{kind}: {text}" for kind, text in one.teaches if (kind, text) not in hit]
    return Score(
        turns=len(turns),
        given=given,
        right=right,
        wanted=wanted,
        found=found,
        wrong=tuple(wrong),
        missed=tuple(missed),
    )


def _is(finding: Finding, label: tuple[str, str]) -> bool:
    return finding.kind == label[0] and finding.text.startswith(label[1])


def _messages(lines: list[str], at: float, message: str) -> Iterator[Message]:
    user_text = "\n".join(line[2:] for line in lines if line.startswith("> "))
    yield UserMessage(content=user_text, id=message, created=at)
    closing = next((line[2:] for line in lines if line.startswith("< ")), "Done.")
    for number, line in enumerate(lines):
        if line[:2] not in ("> ", "< "):
            yield from _call(f"c{number}", line[0], line[2:])
    yield AssistantMessage(content=closing)


def _call(id: str, sign: str, text: str) -> Iterator[Message]:
    before, _, after = text.partition(" => ")
    if sign == "$":
        code, _, output = after.partition(" |")
        output = output.strip().replace(" ⏎ ", "\n")
        commits: tuple[Commit, ...] = ()
        if output.startswith("[main "):
            commits = (Commit(hash=output[6:13], subject=output[15:]),)
        ran = not output.startswith("The user doesn't")
        effects = SideEffects(command=before, exit_code=int(code), commits=commits) if ran else None
        yield from _pair(
            id,
            "run_command",
            {"command": before},
            f"[exit {code} in 0.1 s]\n{output}" if ran else output,
            effects,
            ok=code == "0",
        )
    elif sign == "?":
        yield from _pair(id, "ask_user", {"question": before}, after, SideEffects(question=before, answer=after))
    else:
        kind = "add" if sign == "+" else "update"
        effects = SideEffects(changed=(ChangedFile(path=text, kind=kind),))
        yield from _pair(id, "write_file" if sign == "+" else "edit_file", {"path": text}, "done", effects)


def _pair(
    id: str, name: str, arguments: dict[str, str], output: str, effects: SideEffects | None, *, ok: bool = True
) -> Iterator[Message]:
    call = ToolCall(id=id, name=name, arguments=msgspec.json.encode(arguments).decode())
    yield AssistantMessage(tool_calls=(call,))
    yield ToolMessage(tool_call_id=id, name=name, content=output, ok=ok, side_effects=effects)
