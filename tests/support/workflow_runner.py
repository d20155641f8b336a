"""Run the steps of a GitHub action or the script of a GitLab job from the YAML, as their runners do.

Only features that this repository uses are supported; others are an error, so that a test can't ignore them.
Expressions are evaluated in `env`, `if`, `with` and `working-directory`. In `run` they are an error, because there
they would become code.
"""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)
_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(\d+)|(&&|\|\||==|!=|!|\(|\)|,)|([A-Za-z_][\w.-]*))")


@dataclass(frozen=True)
class Result:
    """How a job ended, and its log."""

    code: int
    log: str
    steps: tuple[str, ...]


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def evaluate(expression: str, contexts: Mapping[str, Any]) -> Any:
    """Return the value of an expression. Raises ValueError for what is not supported."""
    code: list[str] = []
    at = 0
    expression = expression.strip()
    words = {"&&": " and ", "||": " or ", "!": " not ", "true": "True", "false": "False", "null": "None"}
    functions = ("startsWith", "contains", "fromJSON", "format")
    while at < len(expression):
        found = _TOKEN.match(expression, at)
        if found is None:
            raise ValueError(f"not known: {expression[at:]}")
        at = found.end()
        text, number, operator, name = found.groups()
        if text is not None:
            code.append(repr(text[1:-1].replace("''", "'")))
        elif number or operator:
            code.append(words.get(operator, number or operator))
        elif name in words or name in functions:
            code.append(words.get(name, name))
        else:
            code.append(f"look_up({name!r})")

    def look_up(name: str) -> Any:
        value: Any = contexts
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return "" if value is None else value

    scope = {
        "look_up": look_up,
        "startsWith": lambda text, start: str(text).lower().startswith(start.lower()),
        "contains": lambda where, what: what in where,
        "fromJSON": json.loads,
    }
    return eval("".join(code), {"__builtins__": {}}, scope)


def fill(text: str, contexts: Mapping[str, Any]) -> str:
    """Return the text with its expressions replaced by their values."""

    def value(found: re.Match[str]) -> str:
        result = evaluate(found[1], contexts)
        return str(result).lower() if isinstance(result, bool) else str(result)

    return _EXPRESSION.sub(value, str(text))


def run_action(
    folder: Path, given: Mapping[str, Any], contexts: dict[str, Any], env: Mapping[str, str], *, python: str
) -> Result:
    """Run the composite action in `folder` with these inputs.

    python: replaces the result of the step "Install clio"; `uses` steps are not run.
    """
    action = load(folder / "action.yml")
    unknown = set(given) - set(action["inputs"])
    if unknown:
        raise ValueError(f"unknown inputs: {unknown}")
    contexts = {**contexts, "github": {**contexts["github"], "action_path": str(folder)}}
    inputs = {name: fill(given.get(name, row.get("default", "")), contexts) for name, row in action["inputs"].items()}
    contexts["inputs"] = inputs
    assert action["runs"]["using"] == "composite"
    logs: list[str] = []
    ran: list[str] = []
    for step in action["runs"]["steps"]:
        if "uses" in step:
            continue
        if step["name"] == "Install clio":
            make_environment(Path(env["RUNNER_TEMP"]) / "clio-venv", python)
            continue
        result = _run_step(step, contexts, {**env, "GITHUB_ACTION_PATH": str(folder)})
        logs.append(result.stdout)
        ran.append(step["name"])
        if result.returncode:
            return Result(result.returncode, "".join(logs), tuple(ran))
    return Result(0, "".join(logs), tuple(ran))


def make_environment(folder: Path, python: str) -> None:
    """Make a folder with `bin/python` that is this Python, in which clio is installed."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n', encoding="utf-8")
    (folder / "bin" / "python").chmod(0o755)


def _run_step(step: dict[str, Any], contexts: dict[str, Any], env: Mapping[str, str]) -> Any:
    assert set(step) <= {"name", "shell", "working-directory", "env", "run"}, step
    assert step["shell"] == "bash"
    if "${{" in step["run"]:
        raise ValueError("an expression in `run` becomes code")
    own = {name: fill(value, contexts) for name, value in step.get("env", {}).items()}
    return run_bash(step["run"], fill(step["working-directory"], contexts), {**env, **own})


def run_bash(script: str, folder: str, env: Mapping[str, str]) -> Any:
    """Run a script as both runners do: it stops at the first error."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env={**env, "PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", check=False, timeout=110,
    )  # fmt: skip
