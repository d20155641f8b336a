"""The files for contributors are correct: workflows, make targets, paths, tests of promises."""

import re
import shlex
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.skipped_tests import find_unexpected, main, read_allowed, read_skips, render_summary

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGES = ["CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "CODE_OF_CONDUCT.md", "ROADMAP.md"]
_MAKE = re.compile(r"^make ((?:[a-z-]+ ?)+)|`make ((?:[a-z-]+ ?)+)", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def load(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", read("Makefile"), re.MULTILINE))


def list_steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_few_permissions_and_pinned_actions(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, name
        assert set(job.get("permissions", {}).items()) <= {("contents", "read"), ("id-token", "write")}, name
    for step in list_steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"]), step
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # What an attacker may name, such as a branch, must not become part of a script.
        assert "${{ github." not in step.get("run", ""), step


def test_only_the_publishing_job_gets_an_identity_token() -> None:
    jobs = load(ROOT / ".github/workflows/release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["publish"]
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert not any("run" in step for step in jobs["publish"]["steps"])


def test_the_matrix_has_every_python_version_of_the_metadata() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    versions = {found[1] for line in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", line))}
    matrix = load(ROOT / ".github/workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert versions <= set(matrix["python"])
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_every_named_make_target_exists_and_is_listed() -> None:
    targets = make_targets()
    names = [*PAGES, "README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("**/*.md"))]
    pages = {name: read(name) for name in names if "decisions/" not in name}
    pages |= {path.name: "\n".join(step.get("run", "") for step in list_steps(load(path))) for path in WORKFLOWS}
    examples = {"ship", "tag"}  # of other projects, in sentences that a user might type
    named = {
        (page, word)
        for page, text in pages.items()
        for found in _MAKE.findall(text)
        for word in "".join(found).split()
        if page in (*PAGES, "README.md") or page.startswith("docs/development") or word in targets
    }
    assert {(page, word) for page, word in named if word not in targets | examples} == set()
    assert {"setup", "test-fast", "check", "docs"} <= {word for _, word in named}
    help_text = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in help_text.splitlines()}
    assert listed == targets


@pytest.mark.parametrize("name", [*PAGES, ".github/PULL_REQUEST_TEMPLATE.md"])
def test_paths_and_links_exist(name: str) -> None:
    text = read(name)
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    paths = re.findall(r"`((?:clio|docs|tests|prompts|share|bench|torture)/[\w./-]*)(?:::\w+)?`", text)
    missing = [each for each in (*links, *paths) if "NAME" not in each and not (ROOT / each).exists()]
    assert missing == []


def test_every_security_promise_names_an_existing_test() -> None:
    promised = read("SECURITY.md").partition("## Promised")[2].partition("## Not promised")[0]
    rows = [line for line in promised.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 20
    for row in rows:
        names = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert names, row
        for file, function in names:
            assert re.search(rf"^(?:async )?def {function or 'test_'}", read(file), re.MULTILINE), row


def test_hooks_run_programs_of_the_venv_only() -> None:
    config = load(ROOT / ".pre-commit-config.yaml")
    assert {repository["repo"] for repository in config["repos"]} == {"local"}
    hooks = config["repos"][0]["hooks"]
    assert {shlex.split(hook["entry"])[0].rpartition("/")[0] for hook in hooks} == {".venv/bin"}
    assert {hook["language"] for hook in hooks} == {"system"}


NO_BWRAP = '<skipped message="bwrap does not work here: no program"/>'
REPORT = f"""<testsuites><testsuite>
<testcase classname="tests.sandbox.test_escapes" name="a">{NO_BWRAP}</testcase>
<testcase classname="tests.sandbox.test_escapes" name="b">{NO_BWRAP}</testcase>
<testcase classname="tests.test_minilm" name="c"><skipped message="the weights are not installed (90 MB)"/></testcase>
<testcase classname="tests.test_minilm" name="d"/>
</testsuite></testsuites>"""


def test_a_skip_without_an_expected_reason_is_reported() -> None:
    skips = read_skips(REPORT)
    assert sum(skips.values()) == 3
    allowed = read_allowed(read("tests/allowed_skips.txt"), "linux")
    unexpected = find_unexpected(skips, allowed)
    assert unexpected == [("tests/sandbox/test_escapes.py", "bwrap does not work here: no program")]
    assert find_unexpected(skips, read_allowed(read("tests/allowed_skips.txt"), "win32")) == []
    first, *_ = [line for line in render_summary(skips, unexpected).splitlines() if line.startswith("| 2")]
    assert "**should run**" in first
    assert find_unexpected(Counter(), allowed) == []


def test_the_gate_fails_for_an_unexpected_skip_and_for_a_missing_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, summary = tmp_path / "results.xml", tmp_path / "summary.md"
    assert main([str(report)]) == 1
    report.write_text(REPORT, encoding="utf-8")
    assert main([str(report), "--platform", "linux", "--summary", str(summary)]) == 1
    report.write_text(REPORT.replace("bwrap does not work here: no program", "the weights are not installed"), "utf-8")
    assert main([str(report), "--platform", "linux"]) == 0
    assert "3 tests skipped, 2 of them should run here" in summary.read_text(encoding="utf-8")
    capsys.readouterr()
