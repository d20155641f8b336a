"""The action, the GitLab template and the documented workflow: few permissions, pinned, no script injection."""

import re
from typing import Any

import yaml

from tests.ci.conftest import ROOT, read_workflow
from tests.support.workflow_runner import evaluate, load

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def test_no_expression_is_part_of_a_script() -> None:
    for step in load(ROOT / "action.yml")["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert "${{" not in step.get("run", "")
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])


def test_only_the_step_that_runs_clio_gets_secrets() -> None:
    steps = {step.get("name"): step for step in load(ROOT / "action.yml")["runs"]["steps"]}
    holding = [name for name, step in steps.items() if re.search("inputs.(api-key|github-token)", str(step))]
    assert holding == ["Review"]


def test_the_documented_workflow_has_few_permissions_and_limits() -> None:
    workflow = read_workflow()
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert job["timeout-minutes"] <= 15
    assert job["concurrency"]["group"].startswith("clio-${{")
    (step,) = job["steps"]
    assert set(step["with"]) <= set(load(ROOT / "action.yml")["inputs"])
    assert "max-cost" in step["with"]


def test_the_workflow_starts_only_for_calls() -> None:
    (job,) = read_workflow()["jobs"].values()
    started = {
        body: evaluate(job["if"], {"github": {"event_name": "issue_comment", "event": {"comment": {"body": body}}}})
        for body in ("/clio review", "@clio why", "thanks", "")
    }
    assert started == {"/clio review": True, "@clio why": True, "thanks": False, "": False}


def test_every_input_is_documented_with_its_default() -> None:
    for name, row in load(ROOT / "action.yml")["inputs"].items():
        line = next(line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line)
        assert row["description"]
        if name in ("max-cost", "max-steps", "timeout-seconds", "review-untrusted", "bot"):
            assert str(row["default"]) in line


def test_the_gitlab_job_runs_only_on_the_default_branch() -> None:
    template: dict[str, Any] = load(ROOT / "ci" / "gitlab.yml")
    job = template["clio-review"]
    (rule,) = job["rules"]
    assert rule["if"].startswith('$CI_PIPELINE_SOURCE == "trigger" && $TRIGGER_PAYLOAD')
    assert "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" in rule["if"]
    assert {"timeout", "resource_group"} <= set(job)
    assert job["variables"]["GIT_STRATEGY"] == "none"
    example = yaml.safe_load(
        re.sub(r"^    ", "", PAGE.partition("<!-- gitlab -->\n")[2].split("```")[1][4:], flags=re.M)
    )
    assert set(example["variables"]) <= set(template["variables"])
