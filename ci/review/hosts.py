"""GitHub and GitLab: what triggered the job, what the change is, and posting."""

import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from common import MAX_TEXT, Change, Request, ReviewFailed, Skip, log, read_variable, shorten

REVIEW_MARK = "<!-- clio:review -->"

MAX_PAGES = 20


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a redirect would take the token to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Api:
    """JSON over HTTP at one address."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        self._address, self._headers = address.rstrip("/"), dict(headers)
        self._opener = urllib.request.build_opener(_NoRedirect)

    def call(self, method: str, path: str, body: Any = None, *, missing: Any = None) -> Any:
        """Return the answer. missing: returned for 404, if not None. Raises ReviewFailed."""
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers | {"Content-Type": "application/json", "User-Agent": "clio-review"}
        request = urllib.request.Request(self._address + path, data, headers, method=method)
        for attempt in range(3):
            try:
                with self._opener.open(request, timeout=60) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                if error.code == 404 and missing is not None:
                    return missing
                if error.code < 500 or method != "GET" or attempt == 2:
                    log(f"{method} {path}: {error.code}")
                    raise ReviewFailed(f"the code host answered {error.code}") from None
            except (OSError, ValueError) as error:
                if method != "GET" or attempt == 2:
                    log(f"{method} {path}: {type(error).__name__}")
                    raise ReviewFailed("the code host did not answer") from None
            time.sleep(1 + attempt)
        raise AssertionError("unreachable")

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, of all its pages."""
        for page in range(1, MAX_PAGES + 1):
            rows = self.call("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
            yield from rows
            if len(rows) < 100:
                return


_CALL = re.compile(r"\s*[@/]clio(?![\w-])[ \t]*[,:]?(.*)", re.S | re.I)


def parse_call(body: str) -> str | None:
    """Return the question of a comment that calls clio, "" for a review; None if it does not call clio."""
    found = _CALL.fullmatch(body or "")
    if found is None:
        return None
    question = found[1].strip()
    return "" if question.lower().rstrip(".!") in ("", "review") else shorten(question, MAX_TEXT)


def read_event(name: str) -> dict[str, Any]:
    """Return the JSON in the file that this variable names."""
    try:
        event = json.loads(Path(read_variable(name)).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ReviewFailed(f"the file in {name} is not JSON") from None
    if not isinstance(event, dict):
        raise ReviewFailed(f"the file in {name} is not an object")
    return event


def make_comment_text(author: Any, body: Any) -> str:
    """Return a comment as clio reads it."""
    return f"## {author}\n\n{shorten(str(body or ''), 4000)}"


class GitHub:
    """A job of GitHub Actions: pull_request, pull_request_target, issue_comment, pull_request_review_comment."""

    def __init__(self) -> None:
        self._name = read_variable("GITHUB_REPOSITORY")
        self._server = read_variable("GITHUB_SERVER_URL").rstrip("/")
        self._token = read_variable("CLIO_FORGE_TOKEN")
        self._bot = os.environ.get("REVIEW_BOT", "").strip() or "github-actions[bot]"
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        self._api = Api(read_variable("GITHUB_API_URL"), headers | {"Authorization": f"Bearer {self._token}"})
        self._repository = f"/repos/{self._name}"

    def read_request(self) -> Request:
        kind = read_variable("GITHUB_EVENT_NAME")
        event = read_event("GITHUB_EVENT_PATH")
        action = event.get("action")
        if kind in ("pull_request", "pull_request_target"):
            if action not in ("opened", "reopened", "synchronize", "ready_for_review"):
                raise Skip(f"nothing to do for {kind} {action}")
            return Request(int(event["pull_request"]["number"]), automatic=True)
        if kind not in ("issue_comment", "pull_request_review_comment") or action != "created":
            raise Skip(f"nothing to do for {kind} {action}")
        if kind == "issue_comment" and not event["issue"].get("pull_request"):
            raise Skip("the comment is not on a pull request")
        comment = event["comment"]
        question = parse_call(comment.get("body") or "")
        if question is None:
            raise Skip("the comment does not call clio")
        if comment["user"].get("type") == "Bot" or not self._can_write(comment["user"]["login"]):
            raise Skip("the author of the comment has no write access")
        if kind == "issue_comment":
            return Request(int(event["issue"]["number"]), question, f"issue {int(comment['id'])}")
        place = f"About `{comment.get('path')}`, line {comment.get('line')}:\n\n{comment.get('diff_hunk') or ''}\n\n"
        thread = int(comment.get("in_reply_to_id") or comment["id"])
        return Request(
            int(event["pull_request"]["number"]),
            place + (question or "What is wrong here?"),
            f"thread {thread}",
        )

    def _can_write(self, login: str) -> bool:
        path = f"{self._repository}/collaborators/{urllib.parse.quote(login, safe='')}/permission"
        return self._api.call("GET", path, missing={}).get("permission") in ("admin", "write", "maintain")

    def read_change(self, number: int) -> Change:
        pull = self._api.call("GET", f"{self._repository}/pulls/{number}")
        base, head = pull["base"]["sha"], pull["head"]["sha"]
        compared = self._api.call("GET", f"{self._repository}/compare/{base}...{head}?per_page=1")
        return Change(
            title=pull.get("title") or "",
            description=shorten(pull.get("body") or "", MAX_TEXT),
            author=pull["user"]["login"],
            author_can_write=self._can_write(pull["user"]["login"]),
            draft=bool(pull.get("draft")),
            base=check_commit(compared["merge_base_commit"]["sha"]),
            head=check_commit(head),
            ref=f"refs/pull/{number}/head",
            url=f"{self._server}/{self._name}/pull/{number}",
            comments=tuple(
                make_comment_text(row["user"]["login"], row.get("body"))
                for row in self._comments(number)
                if row["user"]["login"] != self._bot
            ),
        )

    def git_source(self) -> tuple[str, str]:
        return f"{self._server}/{self._name}.git", f"x-access-token:{self._token}"

    def _comments(self, number: int) -> Iterator[dict[str, Any]]:
        for row in self._api.pages(f"{self._repository}/issues/{number}/comments"):
            if row.get("user"):
                yield row

    def post_review(self, number: int, body: str) -> None:
        self._post(number, REVIEW_MARK, body)

    def post_answer(self, request: Request, body: str) -> None:
        kind, _, comment = request.reply.partition(" ")
        if kind == "thread":
            self._api.call(
                "POST", f"{self._repository}/pulls/{request.number}/comments/{comment}/replies", {"body": body}
            )
        else:
            self._post(request.number, f"<!-- clio:answer:{comment} -->", body)

    def _post(self, number: int, mark: str, body: str) -> None:
        """Write the comment with this mark. Only one of our own is changed: everyone can write a mark."""
        body = f"{mark}\n{body}"
        for row in self._comments(number):
            if row["user"]["login"] == self._bot and (row.get("body") or "").startswith(mark):
                self._api.call("PATCH", f"{self._repository}/issues/comments/{int(row['id'])}", {"body": body})
                return
        self._api.call("POST", f"{self._repository}/issues/{number}/comments", {"body": body})

    def file_url(self, commit: str, path: str, line: int | None) -> str:
        return f"{self._server}/{self._name}/blob/{commit}/{quote_path(path)}" + (f"#L{line}" if line else "")


class GitLab:
    """A pipeline that a webhook of the project triggers on its default branch; TRIGGER_PAYLOAD has the event.

    Anyone who knows the trigger's token can write the event. So it only tells where to look: comment, author and
    membership are read from the server.
    """

    def __init__(self) -> None:
        self._url = read_variable("CI_PROJECT_URL")
        self._token = read_variable("CLIO_FORGE_TOKEN")
        self._api = Api(read_variable("CI_API_V4_URL"), {"PRIVATE-TOKEN": self._token})
        self._id = int(read_variable("CI_PROJECT_ID"))
        self._project = f"/projects/{self._id}"
        self._me: int | None = None

    def read_request(self) -> Request:
        event = read_event("TRIGGER_PAYLOAD")
        if event.get("project", {}).get("id") != self._id:
            raise Skip("the event is of another project")
        attributes = event.get("object_attributes") or {}
        if event.get("object_kind") == "merge_request":
            action = attributes.get("action")
            if action not in ("open", "reopen") and not (action == "update" and attributes.get("oldrev")):
                raise Skip(f"nothing to do for merge_request {action}")
            return Request(int(attributes["iid"]), automatic=True)
        if event.get("object_kind") != "note" or attributes.get("noteable_type") != "MergeRequest":
            raise Skip(f"nothing to do for {event.get('object_kind')}")
        if parse_call(attributes.get("note") or "") is None:
            raise Skip("the comment does not call clio")
        number, note_id = int(event["merge_request"]["iid"]), int(attributes["id"])
        note = self._api.call("GET", f"{self._project}/merge_requests/{number}/notes/{note_id}", missing={})
        question = parse_call(note.get("body") or "")
        if question is None or note.get("system"):
            raise Skip("the comment does not call clio")
        if note["author"]["id"] == self._own_id() or not self._can_write(note["author"]["id"]):
            raise Skip("the author of the comment has no write access")
        return Request(number, question, str(note_id))

    def _own_id(self) -> int:
        if self._me is None:
            self._me = int(self._api.call("GET", "/user")["id"])
        return self._me

    def _can_write(self, user: Any) -> bool:
        member = self._api.call("GET", f"{self._project}/members/all/{int(user)}", missing={})
        return int(member.get("access_level") or 0) >= 30 and member.get("state", "active") == "active"

    def read_change(self, number: int) -> Change:
        change = self._api.call("GET", f"{self._project}/merge_requests/{number}")
        return Change(
            title=change.get("title") or "",
            description=shorten(change.get("description") or "", MAX_TEXT),
            author=change["author"]["username"],
            author_can_write=self._can_write(change["author"]["id"]),
            draft=bool(change.get("draft")),
            base=check_commit(change["diff_refs"]["base_sha"]),
            head=check_commit(change["diff_refs"]["head_sha"]),
            ref=f"refs/merge-requests/{number}/head",
            url=f"{self._url}/-/merge_requests/{number}",
            comments=tuple(
                make_comment_text(row["author"]["username"], row.get("body"))
                for row in self._notes(number)
                if not row.get("system") and row["author"]["id"] != self._own_id()
            ),
        )

    def git_source(self) -> tuple[str, str]:
        return f"{self._url}.git", f"oauth2:{self._token}"

    def _notes(self, number: int) -> Iterator[dict[str, Any]]:
        return self._api.pages(f"{self._project}/merge_requests/{number}/notes?sort=asc&order_by=created_at")

    def post_review(self, number: int, body: str) -> None:
        self._post(number, REVIEW_MARK, body)

    def post_answer(self, request: Request, body: str) -> None:
        self._post(request.number, f"<!-- clio:answer:{request.reply} -->", body)

    def _post(self, number: int, mark: str, body: str) -> None:
        body = f"{mark}\n{body}"
        notes = f"{self._project}/merge_requests/{number}/notes"
        for row in self._notes(number):
            if row["author"]["id"] == self._own_id() and (row.get("body") or "").startswith(mark):
                self._api.call("PUT", f"{notes}/{int(row['id'])}", {"body": body})
                return
        self._api.call("POST", notes, {"body": body})

    def file_url(self, commit: str, path: str, line: int | None) -> str:
        return f"{self._url}/-/blob/{commit}/{quote_path(path)}" + (f"#L{line}" if line else "")


def check_commit(name: Any) -> str:
    """Return the name of a commit. Raises ReviewFailed if it is anything else, such as an option of git."""
    if isinstance(name, str) and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name):
        return name
    raise ReviewFailed("the code host named no commit")


def quote_path(path: str) -> str:
    """Return the path for an address."""
    return urllib.parse.quote(str(PurePosixPath(path)), safe="/")
