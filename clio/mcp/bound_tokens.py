"""Tokens that only the holder of a key can use: proofs of possession for the requests of a login (DPoP, RFC 9449).

A server that wants them says so with the scheme DPoP in its 401, or in its metadata. The token request and each request
with the token then carry a proof: a JWT for this method and address, signed with a key of this login. A stolen token is
of no use without the key.
"""

import hashlib
import re
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    import httpx2

_ALGORITHM = "ES256"
_SCHEME = re.compile(r"(?:^|,)\s*DPoP(?:\s|$)", re.IGNORECASE)
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,500}")
_WANTS_NONCE = "use_dpop_nonce"


class _TokenAnswer(Struct):
    token_type: str = ""
    error: str = ""


class TokenProofs:
    """The key and the proofs of one login.

    Args:
        key: the private key of a stored login in PEM format; "" if its token is bound to none.
        is_required: whether the server's metadata says that it only takes bound tokens.
    """

    def __init__(self, key: str = "", is_required: Callable[[], bool] = lambda: False) -> None:
        self._key = key
        self._is_bound = bool(key)
        self._is_required = is_required
        self._is_demanded = False
        self._nonces: dict[str, str] = {}

    @property
    def stored_key(self) -> str:
        """The key to store with the token; "" if the token is bound to none."""
        return self._key if self._is_bound else ""

    def use_stored_key(self, key: str) -> None:
        """Use the key of a login that was read again; "" if its token is bound to none."""
        self._key, self._is_bound = key or self._key, bool(key)

    async def follow(
        self, flow: "AsyncGenerator[httpx2.Request, httpx2.Response]", request: "httpx2.Request"
    ) -> "AsyncGenerator[httpx2.Request, httpx2.Response]":
        """Pass on the requests of the SDK's flow, with proofs where they are wanted.

        A request that is refused for want of the server's nonce is sent again once.

        request: the one that needs a token.
        """
        async with aclosing(flow):
            try:
                outgoing = await anext(flow)
                while True:
                    is_for_token = _asks_for_token(outgoing)
                    self._add_proof(outgoing, is_for_token=is_for_token)
                    response = yield outgoing
                    if await self._wants_another_nonce(outgoing, response):
                        self._add_proof(outgoing, is_for_token=is_for_token)
                        response = yield outgoing
                    if is_for_token:
                        response = await self._read_token_answer(response)
                    elif outgoing is request and response.status_code == 401:
                        self._is_demanded |= _SCHEME.search(response.headers.get("www-authenticate", "")) is not None
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return

    def _add_proof(self, request: "httpx2.Request", *, is_for_token: bool) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if is_for_token:
            if self._key or self._is_demanded or self._is_required():
                self._key = self._key or _make_key()
                request.headers["DPoP"] = self._sign(request)
        elif self._is_bound and scheme in ("Bearer", "DPoP"):
            request.headers["Authorization"] = f"DPoP {token}"
            request.headers["DPoP"] = self._sign(request, token)

    def _sign(self, request: "httpx2.Request", token: str = "") -> str:
        """Return the proof for a request (RFC 9449, section 4.2)."""
        import jwt
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
        from jwt.algorithms import ECAlgorithm

        key = load_pem_private_key(self._key.encode(), password=None)
        assert isinstance(key, EllipticCurvePrivateKey)
        claims: dict[str, Any] = {
            "jti": str(uuid.uuid4()),
            "htm": request.method,
            "htu": str(request.url.copy_with(query=None, fragment=None)),
            "iat": int(time.time()),
        }
        if nonce := self._nonces.get(_get_origin(request)):
            claims["nonce"] = nonce
        if token:
            claims["ath"] = urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        public = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        return jwt.encode(claims, key, _ALGORITHM, headers={"typ": "dpop+jwt", "jwk": public})

    async def _wants_another_nonce(self, request: "httpx2.Request", response: "httpx2.Response") -> bool:
        """Note the nonce that a server gives for the next proof; whether it refuses this request for want of it."""
        nonce = response.headers.get("dpop-nonce", "")
        if "DPoP" not in request.headers or not _NONCE.fullmatch(nonce):
            return False
        is_new = self._nonces.get(_get_origin(request)) != nonce
        self._nonces[_get_origin(request)] = nonce
        if response.status_code == 401:
            return is_new and _WANTS_NONCE in response.headers.get("www-authenticate", "")
        if response.status_code == 400 and _asks_for_token(request):
            return is_new and _decode_answer(await response.aread()).error == _WANTS_NONCE
        return False

    async def _read_token_answer(self, response: "httpx2.Response") -> "httpx2.Response":
        """Note whether the new token is bound; the SDK only knows bearer tokens, so the answer is given as one."""
        if response.status_code not in (200, 201):
            return response
        import httpx2

        content = await response.aread()
        self._is_bound = _decode_answer(content).token_type.lower() == "dpop"
        if not self._is_bound:
            return response
        changed = msgspec.json.encode({**msgspec.json.decode(content, type=dict[str, object]), "token_type": "Bearer"})
        return httpx2.Response(
            response.status_code,
            headers={"Content-Type": "application/json"},
            content=changed,
            request=response.request,
        )


def _asks_for_token(request: "httpx2.Request") -> bool:
    if request.method != "POST" or "x-www-form-urlencoded" not in request.headers.get("content-type", ""):
        return False
    return b"grant_type" in parse_qs(request.content)


def _decode_answer(content: bytes) -> _TokenAnswer:
    try:
        return msgspec.json.decode(content, type=_TokenAnswer)
    except msgspec.DecodeError:
        return _TokenAnswer()


def _get_origin(request: "httpx2.Request") -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode('ascii', 'replace')}"


def _make_key() -> str:
    """Return a new private key in PEM format."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = generate_private_key(SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
