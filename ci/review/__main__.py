"""Review a pull or merge request with `clio -p`, or answer a comment on one, and post the result.

`python -I ci/review github` runs in a job of GitHub Actions, `python -I ci/review gitlab` in one of GitLab. It needs
git and clio; docs/ci.md describes the settings, which are environment variables.

These rules apply to every request, no matter who wrote it:

- Nothing of it is run. Its files are written one by one from git's objects to a folder `head/` of a temporary project,
  without checkout, filters, attributes, links or submodules. So none of them is a file that controls clio.
- clio gets a fixed prompt. Title, description, comments and diff are files that the prompt names.
- clio runs in plan mode, without hooks, instructions and memory, with an empty home folder, and in an environment
  that holds the model's key but no token of the code host.
- What clio answers is rendered as Markdown without links, pictures, mentions, HTML and commands of the code host.
"""

import base64
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from comment import Renderer
from common import Change, Forge, Request, ReviewFailed, Skip, log, read_secrets
from hosts import GitHub, GitLab
from project import Repository, run_clio, write_project


def review(forge: Forge, request: Request, change: Change, folder: Path) -> tuple[str, bool]:
    """Return the comment to post, and whether it is an answer rather than what went wrong."""
    renderer = Renderer(forge, change, frozenset(), read_secrets())
    log_url = os.environ.get("CI_JOB_URL", "")
    if run := os.environ.get("GITHUB_RUN_ID", ""):
        log_url = f"{os.environ['GITHUB_SERVER_URL']}/{os.environ['GITHUB_REPOSITORY']}/actions/runs/{run}"
    try:
        url, login = forge.git_source()
        repository = Repository(folder / "git", url, base64.b64encode(login.encode()).decode())
        head = repository.fetch(change.ref, change.base)
        change = replace(change, head=head)
        files = write_project(folder / "project", repository, request, change)
        renderer = Renderer(forge, change, files, renderer.secrets)
        report = run_clio(folder / "project", folder / "home", question=bool(request.question))
        if request.question:
            return renderer.answer(report["text"]), True
        return renderer.review(report["structured"]), True
    except ReviewFailed as error:
        log(str(error))
        return renderer.failure(str(error), log_url), False
    except (OSError, ValueError, LookupError, TypeError, subprocess.SubprocessError) as error:
        log(f"{type(error).__name__}: {error}")
        return renderer.failure("the review script failed", log_url), False


def decide(request: Request, change: Change) -> None:
    """Raise Skip if this request is not to be reviewed."""
    if request.automatic and change.draft:
        raise Skip("drafts are not reviewed by themselves")
    if request.automatic and not change.author_can_write and os.environ.get("REVIEW_UNTRUSTED", "").lower() != "true":
        raise Skip("the author has no write access: a member can start the review with /clio review")
    if not os.environ.get("CLIO_API_KEY") and not os.environ.get("CLIO_BASE_URL"):
        raise Skip("this job has no key for a model, as always for a fork's pull_request event")


def main(arguments: list[str]) -> int:
    """Do what the job asks; return its exit code: 0 if done or nothing to do, 1 if it failed, 2 for wrong usage."""
    hosts: dict[str, type[GitHub] | type[GitLab]] = {"github": GitHub, "gitlab": GitLab}
    if len(arguments) != 1 or arguments[0] not in hosts:
        log("usage: python -I ci/review github|gitlab")
        return 2
    try:
        forge = hosts[arguments[0]]()
        request = forge.read_request()
        change = forge.read_change(request.number)
        decide(request, change)
        with tempfile.TemporaryDirectory(dir=os.environ.get("RUNNER_TEMP") or None, prefix="clio-") as folder:
            body, done = review(forge, request, change, Path(folder).resolve())
        if request.question:
            forge.post_answer(request, body)
        else:
            forge.post_review(request.number, body)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(body + "\n")
    except Skip as reason:
        log(f"nothing done: {reason}")
        return 0
    except ReviewFailed as error:
        log(f"failed: {error}")
        return 1
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # an event or answer of an unknown form
        log(f"failed: the event or an answer of the code host has an unknown form ({type(error).__name__}: {error})")
        return 1
    log(f"posted to {change.url}")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
