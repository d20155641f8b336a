"""A repository with a proposed change on a scripted code host, and a job that reviews it with a scripted model."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import workflow_runner
from tests.support.chat_server import ChatServer, Reply, text
from tests.support.forge_server import TOKEN, ForgeServer, number_of
from tests.support.repositories import git, make, write
from tests.support.repository_copies import make_or_copy
from tests.support.workflow_runner import Result

ROOT = Path(__file__).parents[2]
KEY = "sk-model-9f3b7c1e5a2d8f60"
FINDING = {"file": "retry.py", "line": 2, "severity": "high", "problem": "`MAX_TRIES` is zero, so nothing is tried."}


def read_workflow() -> dict[Any, Any]:
    """Return the workflow in docs/ci.md."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    return yaml.safe_load(page.partition("<!-- workflow -->\n```yaml\n")[2].partition("```")[0])


def answer_review(*findings: dict[str, Any], summary: str = "It adds a retry.") -> Reply:
    return text(json.dumps({"summary": summary, "findings": list(findings)}))


@dataclass
class Job:
    """Runs the documented workflow, or the GitLab template, for one event."""

    forge: ForgeServer
    model: ChatServer
    temporary: Path
    marker: Path
    """A file that exists if anything of the change was executed."""
    inputs: dict[str, str] = field(default_factory=dict)
    key: str = KEY

    def sent(self) -> str:
        """Everything that was sent to the model."""
        return "\n".join(json.dumps(one.body, ensure_ascii=False) for one in self.model.requests)

    def _environment(self) -> dict[str, str]:
        home = self.temporary / "runner-home"
        home.mkdir(exist_ok=True)
        return {"HOME": str(home), "TMPDIR": str(self.temporary), "NO_PROXY": "127.0.0.1", "OTHER_SECRET": "hunter-2-x"}

    def pull_request(self, action: str = "opened", *, event: str = "pull_request") -> Result:
        """Run what GitHub runs for a pull request, in an event with these names."""
        return self._github(event, {"action": action, "pull_request": {"number": 5, "title": self.forge.title}})

    def comment(self, by: str, body: str) -> Result:
        number = self.forge.add_comment(by, body)
        comment = {"id": number, "body": body, "user": {"login": by, "type": "User"}}
        issue = {"number": 5, "pull_request": {"url": "x"}}
        return self._github("issue_comment", {"action": "created", "issue": issue, "comment": comment})

    def line_comment(self, by: str, body: str) -> Result:
        comment = {"id": 77, "body": body, "user": {"login": by, "type": "User"}, "path": "retry.py", "line": 2}
        pull = {"number": 5}
        return self._github(
            "pull_request_review_comment", {"action": "created", "pull_request": pull, "comment": comment}
        )

    def _github(self, name: str, event: dict[str, Any]) -> Result:
        workflow = read_workflow()
        payload = self.temporary / "event.json"
        payload.write_text(json.dumps(event), encoding="utf-8")
        contexts: dict[str, Any] = {
            "github": {"event_name": name, "event": event, "token": TOKEN},
            "secrets": {"CLIO_API_KEY": self.key},
        }
        (job,) = workflow["jobs"].values()
        assert name in workflow[True]
        if not workflow_runner.evaluate(job["if"], contexts):
            return Result(0, "skipped by the workflow", ())
        (step,) = job["steps"]
        env = {
            **self._environment(),
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_SERVER_URL": self.forge.url,
            "GITHUB_API_URL": self.forge.url + "/api",
            "GITHUB_RUN_ID": "12",
            "RUNNER_TEMP": str(self._new_folder()),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md"),
        }
        given = {**step["with"], "base-url": self.model.url, "model": "test-model", **self.inputs}
        given.pop("provider", None)
        return workflow_runner.run_action(ROOT, given, contexts, env, python=sys.executable)

    def merge_request(self, **attributes: Any) -> Result:
        event = {"object_kind": "merge_request", "object_attributes": {"iid": 5, "action": "open", **attributes}}
        return self._gitlab(event)

    def note(self, by: str, body: str, *, claimed: str = "") -> Result:
        """Add a note to the merge request. claimed: a different text for the event, as a forger would write it."""
        attributes = {"id": self.forge.add_comment(by, body), "note": claimed or body, "noteable_type": "MergeRequest"}
        user = {"id": number_of("mia")}
        return self._gitlab(
            {"object_kind": "note", "object_attributes": attributes, "merge_request": {"iid": 5}, "user": user}
        )

    def _gitlab(self, event: dict[str, Any]) -> Result:
        template = workflow_runner.load(ROOT / "ci" / "gitlab.yml")
        job = template["clio-review"]
        folder = self._new_folder()
        workflow_runner.make_environment(folder / "venv", sys.executable)
        (folder / "clio-shell").symlink_to(ROOT)
        payload = folder / "payload.json"
        payload.write_text(json.dumps({**event, "project": {"id": 7}}), encoding="utf-8")
        env = {
            **self._environment(),
            **{name: row["value"] for name, row in template["variables"].items()},
            "TRIGGER_PAYLOAD": str(payload),
            "CI_PROJECT_ID": "7",
            "CI_API_V4_URL": self.forge.url + "/api",
            "CI_PROJECT_URL": self.forge.url + "/owner/name",
            "CI_JOB_URL": self.forge.url + "/-/jobs/3",
            "CLIO_FORGE_TOKEN": TOKEN,
            "CLIO_API_KEY": self.key,
            "CLIO_BASE_URL": self.model.url,
            "CLIO_MODEL": "test-model",
        }
        script = [line for line in job["script"] if line.startswith("venv/bin/python -I clio-shell/")]
        assert script == job["script"][-1:]
        done = workflow_runner.run_bash("\n".join(script), str(folder), env)
        return Result(done.returncode, done.stdout, ())

    def _new_folder(self) -> Path:
        folder = self.temporary / f"run-{len(list(self.temporary.glob('run-*')))}"
        folder.mkdir()
        return folder


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    """A change by mia, who may write: it adds retry.py. The base has guidelines."""
    work, folder = tmp_path / "work", tmp_path / "served"
    make_or_copy(work, "a proposed change", _make_change, lambda target: git(target, "update-index", "--refresh"))
    bare = folder / "owner" / "name.git"
    make_or_copy(bare, "a published change", lambda target: publish(work, target), lambda _: None)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with (
        ForgeServer(folder, permissions={"mia": "write", "ada": "admin", "rob": "read"}) as forge,
        ChatServer() as model,
    ):
        yield Job(forge, model, temporary, tmp_path / "pwned")


def _make_change(work: Path) -> None:
    make(work, {"AGENTS.md": "Indent with tabs. BASE-GUIDELINE\n", "main.py": "print('main')\n"})
    git(work, "checkout", "--quiet", "-b", "change")
    write(work, {"retry.py": "def retry():\n    MAX_TRIES = 0\n"})
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "Add a retry")


def publish(work: Path, bare: Path) -> None:
    """Push main and change, and the refs that code hosts make for a request."""
    if not bare.exists():
        bare.mkdir(parents=True)
        git(bare, "init", "--bare", "--quiet", "--initial-branch=main")
        git(bare, "config", "uploadpack.allowReachableSHA1InWant", "true")
    refs = ("main", "change", "change:refs/pull/5/head", "change:refs/merge-requests/5/head")
    git(work, "push", "--quiet", "--force", str(bare), *refs)
