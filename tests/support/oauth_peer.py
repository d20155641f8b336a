"""A small authorization server and an MCP server that wants its tokens, both on 127.0.0.1, with every bad habit."""

import base64
import hashlib
import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.mcp_peer import Peer

Json = dict[str, Any]


class OAuthPeer:
    """Both servers at one address. heard: method and path of each request. Attributes are changed by tests."""

    def __init__(self) -> None:
        peer = self
        self.heard: list[tuple[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.token_endpoint = "/oauth/give-token"  # not the address a client would guess
        self.metadata: Json = {}
        self.redirects_to = ""
        self.floods = ""
        """The content type of an answer without an end to questions about the authorization server."""
        self.metadata_is_at = ""
        """Where questions about the authorization server are redirected to."""
        self.drips = False
        """Whether that answer comes one byte at a time, without an end."""
        self.access, self.refresh, self.count = "", "", 0
        self.authorizations: list[str] = []
        """The Authorization headers of the requests for a token."""
        self.offers_no_login = False
        """Whether it wants a token and names no authorization server, as a server with tokens of its own."""
        self.is_modern = False
        """Whether it refuses the handshake of older versions of the protocol, whoever asks."""
        self.error: Json = {}
        """The answer to requests for a token, instead of one."""
        self.forbidden_tool = False
        """Whether calls of tools need a permission that no token has."""
        self.revoked: list[str] = []
        self._challenge = ""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                peer.heard.append(("GET", parts.path))
                if peer.offers_no_login:
                    self._send(404, b"")
                    return
                if (peer.floods or peer.drips) and parts.path == "/.well-known/oauth-authorization-server":
                    self._answer_for_ever()
                    return
                if peer.metadata_is_at and parts.path.startswith("/.well-known/oauth-authorization-server"):
                    self._send(302, b"", {"Location": peer.metadata_is_at})
                elif parts.path == "/.well-known/oauth-protected-resource/mcp":
                    self._json(200, {"resource": peer.url, "authorization_servers": [peer.base]})
                elif parts.path == "/.well-known/oauth-authorization-server":
                    endpoints = {
                        "issuer": peer.base,
                        "authorization_endpoint": f"{peer.base}/authorize",
                        "token_endpoint": f"{peer.base}{peer.token_endpoint}",
                        "registration_endpoint": f"{peer.base}/register",
                        "revocation_endpoint": f"{peer.base}/revoke",
                        "code_challenge_methods_supported": ["S256"],
                    }
                    self._json(200, endpoints | peer.metadata)
                elif parts.path == "/authorize":
                    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                    peer._challenge = query["code_challenge"]
                    answer = urlencode({"code": "the-code", "state": query["state"]})
                    self._send(302, b"", {"Location": f"{query['redirect_uri']}?{answer}"})
                else:
                    self._send(405 if parts.path == "/mcp" else 404, b"")

            def _answer_for_ever(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", peer.floods or "application/json")
                self.end_headers()
                with suppress(OSError):
                    while peer.floods or peer.drips:
                        self.wfile.write(b" " if peer.drips else b" " * 4_096)
                        self.wfile.flush()
                        time.sleep(0.05 if peer.drips else 0)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                peer.heard.append(("POST", self.path))
                if self.path == "/register" and peer.offers_no_login:
                    self._send(404, b"There is only /mcp.")
                elif self.path == "/register":
                    self._json(201, json.loads(body) | {"client_id": "registered"})
                elif self.path == peer.token_endpoint:
                    self._give_token({key: values[0] for key, values in parse_qs(body.decode()).items()})
                elif self.path == "/revoke":
                    peer.revoked.append(parse_qs(body.decode())["token"][0])
                    self._send(200, b"")
                elif peer.redirects_to:
                    self._send(307, b"", {"Location": peer.redirects_to})
                elif peer.is_modern and b'"initialize"' in body:
                    self._json(400, {"error": "Missing MCP-Protocol-Version header"})
                elif not peer.access or self.headers.get("Authorization") != f"Bearer {peer.access}":
                    where = f"{peer.base}/.well-known/oauth-protected-resource/mcp"
                    self._send(401, b"", {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'})
                else:
                    if peer.forbidden_tool and b'"tools/call"' in body:
                        challenge = 'Bearer error="insufficient_scope", scope="write"'
                        self._send(403, b"", {"WWW-Authenticate": challenge})
                        return
                    said: list[Json] = []
                    Peer(said.append).hear(json.loads(body))
                    self._send(200 if said else 202, json.dumps(said[-1]).encode() if said else b"")

            def _give_token(self, form: dict[str, str]) -> None:
                peer.forms.append(form)
                peer.authorizations.append(self.headers.get("Authorization", ""))
                if peer.error:
                    self._json(400, peer.error)
                    return
                if form["grant_type"].endswith(":token-exchange"):
                    kind = "urn:ietf:params:oauth:token-type:id-jag"
                    assertion = {"access_token": "the-assertion", "issued_token_type": kind, "token_type": "N_A"}
                    self._json(200, assertion)
                    return
                if form["grant_type"] in ("client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"):
                    good = True
                elif form["grant_type"] == "authorization_code":
                    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                    good = base64.urlsafe_b64encode(digest).decode().rstrip("=") == peer._challenge
                else:
                    good = form["refresh_token"] == peer.refresh  # each one only once
                if not good:
                    self._json(400, {"error": "invalid_grant"})
                    return
                peer.count += 1
                peer.access, peer.refresh = f"access-{peer.count}-of-the-peer", f"refresh-{peer.count}-of-the-peer"
                self._json(
                    200,
                    {
                        "access_token": peer.access,
                        "refresh_token": peer.refresh,
                        "token_type": "bearer",
                        "expires_in": 3600,
                    },
                )

            def _json(self, status: int, value: Json) -> None:
                self._send(status, json.dumps(value).encode())

            def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.base}/mcp"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
