"""A small authorization server and an MCP server that requires its tokens, both on 127.0.0.1, with many faults."""

import base64
import hashlib
import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt

from tests.support.mcp_peer import Peer

Json = dict[str, Any]


class OAuthPeer:
    """Both servers at one address; tests change the attributes. heard: method and path of each request."""

    def __init__(self) -> None:
        peer = self
        self.heard: list[tuple[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.token_endpoint = "/oauth/give-token"  # not the address that a client would guess
        self.metadata: Json = {}
        self.redirects_to = ""
        self.floods = ""
        """The content type of an endless answer to requests for the authorization server's metadata."""
        self.metadata_is_at = ""
        """Where requests for the authorization server's metadata are redirected to."""
        self.drips = False
        """Whether that answer is sent one byte at a time, endlessly."""
        self.access, self.refresh, self.count = "", "", 0
        self.authorizations: list[str] = []
        """The Authorization headers of the requests for a token."""
        self.offers_no_login = False
        """Whether it requires a token and names no authorization server, as a server that issues tokens elsewhere."""
        self.is_modern = False
        """Whether it refuses the handshake of older protocol versions."""
        self.error: Json = {}
        """The answer to token requests, instead of a token."""
        self.forbidden_tool = False
        """Whether tool calls need a permission that no token has."""
        self.binds = False
        """Whether tokens are bound to a key of the client (DPoP)."""
        self.nonce = ""
        """The nonce that DPoP proofs must have."""
        self.proofs: list[Json] = []
        """The claims of all valid DPoP proofs, with the thumbprint of their key as `jkt`."""
        self.revoked: list[str] = []
        self._challenge = ""
        self.key_of_token = ""
        """The thumbprint of the key that the token is bound to."""

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
                elif not self._has_token():
                    where = f"{peer.base}/.well-known/oauth-protected-resource/mcp"
                    scheme = "DPoP" if peer.binds else "Bearer"
                    self._send(401, b"", {"WWW-Authenticate": f'{scheme} resource_metadata="{where}"'})
                elif peer.binds and peer.nonce not in ("", peer.proofs[-1].get("nonce")):
                    self._send(401, b"", {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": peer.nonce})
                else:
                    if peer.forbidden_tool and b'"tools/call"' in body:
                        challenge = 'Bearer error="insufficient_scope", scope="write"'
                        self._send(403, b"", {"WWW-Authenticate": challenge})
                        return
                    replies: list[Json] = []
                    Peer(replies.append).hear(json.loads(body))
                    self._send(200 if replies else 202, json.dumps(replies[-1]).encode() if replies else b"")

            def _has_token(self) -> bool:
                given = self.headers.get("Authorization")
                if not peer.binds or not peer.access:
                    return peer.access != "" and given == f"Bearer {peer.access}"
                ath = base64.urlsafe_b64encode(hashlib.sha256(peer.access.encode()).digest()).decode().rstrip("=")
                key = peer.key_of_token
                return given == f"DPoP {peer.access}" and self._has_proof(peer.url, {"ath": ath, "jkt": key})

            def _has_proof(self, url: str, claims: Json) -> bool:
                """Whether the request has a new DPoP proof for this URL with these claims."""
                if not (proof := self.headers.get("DPoP")):
                    return False
                header = jwt.get_unverified_header(proof)
                key = jwt.PyJWK(header["jwk"])
                found = jwt.decode(proof, key, algorithms=["ES256"])
                members = {name: header["jwk"][name] for name in ("crv", "kty", "x", "y")}
                text = json.dumps(members, separators=(",", ":"), sort_keys=True)
                found["jkt"] = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
                wanted = {"htm": "POST", "htu": url} | claims
                is_new = found["jti"] not in [other["jti"] for other in peer.proofs]
                if (
                    header["typ"] != "dpop+jwt"
                    or "d" in header["jwk"]
                    or not is_new
                    or not wanted.items() <= found.items()
                ):
                    return False
                peer.proofs.append(found)
                return abs(found["iat"] - time.time()) < 60

            def _give_token(self, form: dict[str, str]) -> None:
                if peer.binds and self.headers.get("DPoP"):
                    if not self._has_proof(f"{peer.base}{peer.token_endpoint}", {}):
                        self._json(400, {"error": "invalid_dpop_proof"})
                        return
                    if peer.nonce not in ("", peer.proofs[-1].get("nonce")):
                        self._send(400, b'{"error": "use_dpop_nonce"}', {"DPoP-Nonce": peer.nonce})
                        return
                    peer.key_of_token = peer.proofs[-1]["jkt"]
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
                    good = form["refresh_token"] == peer.refresh  # each only once
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
                        "token_type": "DPoP" if peer.binds and self.headers.get("DPoP") else "bearer",
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
