"""A scripted GitHub and GitLab on 127.0.0.1: the API calls that a review needs, and real git over HTTP.

    with ForgeServer(folder) as forge:  # folder/owner/name.git is served at forge.url + "/owner/name.git"
        forge.permissions["mia"] = "write"
        ...
    assert forge.comments[0]["body"].startswith("<!-- clio:review -->")

Every API call and git request needs the token; without it the answer is 401.
"""

import base64
import json
import os
import re
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.repositories import git

TOKEN = "forge-token-41c6a7b2d9e8"
BOT = "github-actions[bot]"
LEVELS = {"admin": 50, "write": 30, "read": 10}


@dataclass
class ForgeServer:
    """The repository `owner/name`, or project 7, with one pull or merge request, number 5."""

    folder: Path
    title: str = "Add a retry"
    description: str = ""
    author: str = "mia"
    draft: bool = False
    base: str = "main"
    head: str = "change"
    permissions: dict[str, str] = field(default_factory=dict)
    """Permission by login: admin, write or read."""
    comments: list[dict[str, Any]] = field(default_factory=list)
    """Comments and notes, in the order they were written; `by` is the author's login."""
    replies: list[dict[str, Any]] = field(default_factory=list)
    """Replies in the thread of a review."""
    calls: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                forge._answer(self)

            do_GET = do_POST = do_PATCH = do_PUT = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="forge-server", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def repository(self) -> Path:
        return self.folder / "owner" / "name.git"

    def __enter__(self) -> "ForgeServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def add_comment(self, by: str, body: str) -> int:
        self.comments.append({"id": len(self.comments) + 1, "by": by, "body": body})
        return len(self.comments)

    def written(self) -> list[str]:
        """The comments that the review wrote."""
        return [row["body"] for row in self.comments if row["by"] == BOT]

    def _commit(self, branch: str) -> str:
        return git(self.repository, "rev-parse", branch)

    def _answer(self, http: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(http.path)
        raw = http.rfile.read(int(http.headers.get("Content-Length") or 0))
        self.calls.append((http.command, http.path))
        if parts.path.startswith("/owner/name.git/"):
            self._answer_git(http, parts.path, parts.query, raw)
            return
        if TOKEN not in (
            http.headers.get("Authorization", "").removeprefix("Bearer "),
            http.headers.get("PRIVATE-TOKEN"),
        ):
            self._send(http, 401, {"message": "Bad credentials"})
            return
        body = json.loads(raw) if raw else {}
        page = parse_qs(parts.query).get("page", ["1"])[0]
        result = self._route(http.command, unquote(parts.path), body, int(page))
        self._send(http, 404 if result is None else 200, {"message": "Not Found"} if result is None else result)

    def _send(self, http: BaseHTTPRequestHandler, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        http.send_response(status)
        http.send_header("Content-Type", "application/json")
        http.send_header("Content-Length", str(len(data)))
        http.end_headers()
        http.wfile.write(data)

    def _route(self, method: str, path: str, body: dict[str, Any], page: int) -> Any:
        github, gitlab = "/api/repos/owner/name", "/api/projects/7"
        request = rf"{gitlab}/merge_requests/5"
        start, end = 100 * (page - 1), 100 * page
        if path == "/api/user":
            return {"id": number_of(BOT), "username": BOT}
        if found := re.fullmatch(rf"{github}/collaborators/([^/]+)/permission", path):
            return {"permission": self.permissions[found[1]]} if found[1] in self.permissions else None
        if found := re.fullmatch(rf"{gitlab}/members/all/(\d+)", path):
            for name, permission in self.permissions.items():
                if number_of(name) == int(found[1]):
                    return {"id": number_of(name), "access_level": LEVELS[permission], "state": "active"}
            return None
        if path == f"{github}/pulls/5":
            return self._pull()
        if path.startswith(f"{github}/compare/"):
            base, _, head = path.removeprefix(f"{github}/compare/").partition("...")
            return {"merge_base_commit": {"sha": git(self.repository, "merge-base", base, head)}}
        if path == request:
            return self._merge_request()
        if path in (f"{github}/issues/5/comments", f"{request}/notes"):
            if method == "POST":
                return {"id": self.add_comment(BOT, body["body"])}
            return [self._show(row) for row in self.comments[start:end]]
        if found := re.fullmatch(rf"(?:{github}/issues/comments|{request}/notes)/(\d+)", path):
            row = self.comments[int(found[1]) - 1]
            if method != "GET":
                row["body"] = body["body"]
            return self._show(row)
        if found := re.fullmatch(rf"{github}/pulls/5/comments/(\d+)/replies", path):
            self.replies.append({"to": int(found[1]), "body": body["body"]})
            return {"id": 900}
        return None

    def _show(self, row: dict[str, Any]) -> dict[str, Any]:
        kind = "Bot" if row["by"] == BOT else "User"
        return {
            "id": row["id"],
            "body": row["body"],
            "system": False,
            "user": {"login": row["by"], "type": kind},
            "author": {"id": number_of(row["by"]), "username": row["by"]},
        }

    def _pull(self) -> dict[str, Any]:
        return {
            "number": 5,
            "title": self.title,
            "body": self.description,
            "draft": self.draft,
            "user": {"login": self.author},
            "base": {"sha": self._commit(self.base)},
            "head": {"sha": self._commit(self.head)},
        }

    def _merge_request(self) -> dict[str, Any]:
        base, head = self._commit(self.base), self._commit(self.head)
        merge_base = git(self.repository, "merge-base", base, head)
        return {
            "iid": 5,
            "title": self.title,
            "description": self.description,
            "draft": self.draft,
            "author": {"id": number_of(self.author), "username": self.author},
            "diff_refs": {"base_sha": merge_base, "head_sha": head, "start_sha": base},
        }

    def _answer_git(self, http: BaseHTTPRequestHandler, path: str, query: str, raw: bytes) -> None:
        """Serve the repository with `git http-backend`."""
        logins = [f"{login}:{TOKEN}".encode() for login in ("x-access-token", "oauth2")]
        if http.headers.get("Authorization") not in [f"Basic {base64.b64encode(one).decode()}" for one in logins]:
            self._send(http, 401, {"message": "Bad credentials"})
            return
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": http.command,
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": http.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(raw)),
            "GIT_PROTOCOL": http.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": os.devnull,
            "HTTP_CONTENT_ENCODING": http.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=raw, env=env, capture_output=True, check=True)
        head, _, data = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        http.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            http.send_header(name, value)
        http.send_header("Content-Length", str(len(data)))
        http.end_headers()
        http.wfile.write(data)


def number_of(login: str) -> int:
    """Return the numeric id of a user, as GitLab identifies users."""
    return int.from_bytes(login.encode()[:4]) + len(login)
