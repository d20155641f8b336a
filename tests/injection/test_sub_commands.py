"""Every subcommand in a project whose names and files all contain control sequences prints none of them."""

import json
from pathlib import Path

import pytest

from clio.cli import main
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.injection.test_terminal import STEERING
from tests.support.harness import git, make_repository

HARM = "Zaunkönig\x1b]0;owned\x07\x1b[31m\x9b32m\u202e\u200b\x07\x08\r\x85"
LINES = (
    "config show",
    "config show --json",
    "config path",
    "config trust",
    "doctor --json",
    "gc",
    "gc --json",
    "init --yes",
    "sessions list",
    "sessions list --json",
    "sessions show 1",
    "mcp list --json",
    "hooks",
    "agents",
    "skills",
    "skills show made",
    "note list",
    "note list --json",
    "memory list",
    "memory list --json",
    "memory list --broken",
    "recall Zaunkönig",
    "docs",
    "style",
    "prefs",
    "-r gone\x1b[31m",
    "-p hi --provider offline",
    "-p hi --provider offline --output json",
    "-p hi --provider offline --output stream-json",
    "--cwd /gone\x1b[31m",
    "doctor",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with such files, in a folder with such a name."""
    name = HARM.replace("\r", "").replace("\x85", "")
    project = tmp_path / name
    make_repository(project, {"a.txt": "x", "AGENTS.md": HARM})
    git(project, "checkout", "--quiet", "-b", "x\u202e\u200b\x85\x9b31m")

    def write(name: str, words: object) -> None:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words if isinstance(words, str) else json.dumps(words), encoding="utf-8")

    settings = {"model": HARM, "allow": [HARM], "approve": "all", "base_url": f"http://127.0.0.1:9/{HARM}"}
    servers = {"made": {"command": HARM, "args": [HARM]}, HARM: {"command": "x"}, "web": {"url": HARM}}
    write(".clio/config.yaml", settings)
    write(".clio/hooks.yaml", {"stop": [{"run": HARM}]})
    write(".mcp.json", {"mcpServers": servers})
    write(".clio/skills/made/SKILL.md", f"---\ndescription: {json.dumps(HARM)}\n---\n{HARM}")
    write(f".clio/skills/{name}/SKILL.md", f"---\ndescription: x\n---\n{HARM}")
    write(".clio/agents/made.md", f"---\ndescription: {json.dumps(HARM)}\n---\n{HARM}")
    write(f".clio/agents/{name}.md", HARM)
    write(".clio/commands/made.md", f"---\ndescription: {json.dumps(HARM)}\n---\n!`{HARM}`")
    write(f".clio/commands/{name}.md", HARM)
    write(f".clio/styles/{name}.md", HARM)
    write(f".clio/themes/{name}.yaml", f"text: {json.dumps(HARM)}")
    write(f".clio/cache/{name}", HARM)
    write(f".clio/{name}.corrupt", HARM)
    write(".clio/memory/made.json", {"key": HARM, "content": HARM, "timestamp": 1})
    write(".clio/memory/broken.json", HARM)
    write(".clio/ltm.json", {"patterns": {"discoveries": [{"id": "d-3f9a12", "fact": HARM, "confidence": 0.8}]}})
    write(f".clio/sessions/{name}.jsonl", HARM)
    session = SessionStore(project / ".clio" / "sessions").new(project, name=HARM)
    session.append(UserMessage(content=HARM))
    session.append(AssistantMessage(content=HARM))
    session.close()
    monkeypatch.chdir(project)
    monkeypatch.setenv("CLIO_HOME", str(tmp_path / "home"))
    return project


def test_no_output_controls_the_terminal(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    harmed: dict[str, str] = {}
    shown = 0
    for line in LINES:
        main(line.split(" "))
        output = "".join(capfd.readouterr())
        shown += "Zaunk" in output
        assert output, line
        if found := STEERING.search(output):
            harmed[line] = output[max(found.start() - 60, 0) : found.end() + 20]
    assert harmed == {}
    assert shown >= len(LINES) // 2
