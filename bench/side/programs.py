"""The agents to compare: their command lines, and how each is configured to use the benchmark's server."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
TASK = "TASK in {folder}: read a.py, make it 42, run it and say what it prints."


class Program(Struct, frozen=True, kw_only=True):
    """One agent. Arguments may contain {url}, {root}, {folder} and {home}.

    ask: arguments before a prompt that is answered once; task: the same with tools, empty for an agent without tools
    for files. shell: arguments for its prompt, None if it has none. resume: arguments to resume its newest session.
    """

    name: str
    command: str
    version: tuple[str, ...] = ("--version",)
    ask: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    shell: tuple[str, ...] | None = None
    resume: tuple[str, ...] | None = None
    env: dict[str, str] = {}
    prepare: Callable[[Path, Path, str], None] | None = None


def _codex(home: Path, folder: Path, url: str) -> None:
    lines = [
        'model = "test"', 'model_provider = "bench"', "check_for_update_on_startup = false",
        "[analytics]", "enabled = false",
        "[model_providers.bench]", 'name = "bench"', f'base_url = "{url}"', 'wire_api = "responses"',
        'env_key = "OPENAI_API_KEY"', f'[projects."{folder}"]', 'trust_level = "trusted"',
    ]  # fmt: skip
    (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _claude(home: Path, folder: Path, url: str) -> None:
    state = {
        "hasCompletedOnboarding": True, "theme": "dark", "autoUpdates": False,
        "customApiKeyResponses": {"approved": ["sk-none"], "rejected": []},
        "projects": {str(folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }  # fmt: skip
    (home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")


def _llm(home: Path, folder: Path, url: str) -> None:
    row = f'- model_id: bench\n  model_name: test\n  api_base: "{url}"\n  can_stream: true\n'
    (home / "extra-openai-models.yaml").write_text(row, encoding="utf-8")


def _mini(home: Path, folder: Path, url: str) -> None:
    (home / ".env").write_text("MSWEA_CONFIGURED=true\nMSWEA_COST_TRACKING=ignore_errors\n", encoding="utf-8")


def _pi(home: Path, folder: Path, url: str) -> None:
    model = {"id": "test", "name": "test", "input": ["text"], "contextWindow": 200_000, "maxTokens": 8_000}
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "sk-none", "models": [model]}
    (home / "models.json").write_text(json.dumps({"providers": {"bench": provider}}), encoding="utf-8")


def _opencode(home: Path, folder: Path, url: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "bench", "options": {"baseURL": url, "apiKey": "sk-none"},
        "models": {"test": {"name": "test"}},
    }  # fmt: skip
    settings = {"autoupdate": False, "share": "disabled", "model": "bench/test", "small_model": "bench/test"}
    text = json.dumps(settings | {"provider": {"bench": provider}})
    (home / "opencode.json").write_text(text, encoding="utf-8")


def _gemini(home: Path, folder: Path, url: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
    }  # fmt: skip
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


_CLIO = ("--base-url", "{url}", "--model", "test")
_MINI = ("-m", "openai/test", "-y", "--exit-immediately", "-t")
_PI = ("--provider", "bench", "--model", "test")
_GEMINI = ("--skip-trust", "--model", "gemini-2.5-flash")
_AIDER = (
    "--model", "openai/test", "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-gitignore",
    "--yes-always",
)  # fmt: skip
_CLAUDE_TOOLS = ("--allowedTools", "Read,Edit,Bash")

PROGRAMS: tuple[Program, ...] = (
    Program(
        name="clio", command="clio", env={"CLIO_HOME": "{home}", "CLIO_APPROVE": "all"},
        ask=(*_CLIO, "--new", "-p"), task=(*_CLIO, "--new", "--approve", "all", "-p"),
        shell=_CLIO, resume=(*_CLIO, "-c"),
    ),
    Program(
        name="codex", command="codex", env={"CODEX_HOME": "{home}"}, prepare=_codex,
        ask=("exec", "--skip-git-repo-check"),
        task=("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        shell=(), resume=("resume", "--last"),
    ),
    Program(
        name="Claude Code", command="claude", prepare=_claude,
        env={
            "CLAUDE_CONFIG_DIR": "{home}", "ANTHROPIC_BASE_URL": "{root}", "ANTHROPIC_API_KEY": "sk-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        },
        ask=("--model", "claude-sonnet-4-5", "-p"), task=("--model", "claude-sonnet-4-5", *_CLAUDE_TOOLS, "-p"),
        shell=("--model", "claude-sonnet-4-5"), resume=("--model", "claude-sonnet-4-5", "-c"),
    ),
    Program(
        name="pi", command="pi", env={"PI_CODING_AGENT_DIR": "{home}", "PI_OFFLINE": "1"}, prepare=_pi,
        ask=(*_PI, "-p"), task=(*_PI, "-p"), shell=_PI, resume=(*_PI, "-c"),
    ),
    Program(name="llm", command="llm", env={"LLM_USER_PATH": "{home}"}, prepare=_llm, ask=("-m", "bench")),
    Program(
        name="aider", command="aider", env={"OPENAI_API_BASE": "{url}", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        ask=(*_AIDER, "--message"), shell=_AIDER,
    ),
    Program(
        name="mini-swe-agent", command="mini", version=("--help",), prepare=_mini,
        env={"MSWEA_GLOBAL_CONFIG_DIR": "{home}", "OPENAI_API_BASE": "{url}", "OPENAI_BASE_URL": "{url}",
             "MSWEA_SILENT_STARTUP": "1", "MSWEA_COST_TRACKING": "ignore_errors",
             "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        task=_MINI,
    ),
    Program(
        name="opencode", command="opencode", prepare=_opencode,
        env={"OPENCODE_CONFIG_DIR": "{home}", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        ask=("run",), task=("run",), shell=(), resume=("-c",),
    ),
    Program(
        name="gemini-cli", command="gemini", prepare=_gemini,
        env={"GEMINI_API_KEY": "sk-none", "GOOGLE_GEMINI_BASE_URL": "{root}"},
        ask=(*_GEMINI, "-p"), task=(*_GEMINI, "--yolo", "-p"), shell=_GEMINI, resume=(*_GEMINI, "--resume"),
    ),
)  # fmt: skip


def find_program(program: Program) -> str | None:
    """Return the path of the program on PATH, or for clio beside this Python."""
    if program.name == "clio":
        path = Path(sys.executable).with_name("clio")
        return str(path) if path.exists() else shutil.which("clio")
    return shutil.which(program.command)


def make_environment(program: Program, placeholders: dict[str, str]) -> dict[str, str]:
    """Return a minimal environment with its own home directory and a fake API key."""
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    own = {name: value.format(**placeholders) for name, value in program.env.items()}
    return inherited | {"HOME": placeholders["home"], "OPENAI_API_KEY": "sk-none", "TERM": "xterm-256color"} | own
