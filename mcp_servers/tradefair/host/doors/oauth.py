"""Access tokens of an issuer elsewhere: who an OAuth token names, where it was made for this host.

A host is a resource server only (RFC 9728): it makes no logins and keeps no passwords. Tokens are JWTs (RFC 9068).
PyJWT checks signature, issuer, audience and time, by keys that the issuer publishes.
"""

from __future__ import annotations

import logging
import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

import anyio
import httpx2
import jwt
import orjson

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.text import clean_line
from tradefair.host.server.seat_auth import MAX_SUBJECT, Refused

# Signatures with two keys: with a shared secret the host could make tokens itself.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_MAX_TOKEN = 8_192
_MAX_ANSWER = 262_144  # bytes of what an issuer publishes about itself
_ASK_S = 5.0
# How long keys are believed; and how soon after a look an unknown key makes the host look again, whoever shows one.
_FRESH_S, _AGAIN_S = 600.0, 30.0
_LEEWAY_S = 30
_PLAIN_JSON = {"Accept": "application/json", "Accept-Encoding": "identity"}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_security_log = logging.getLogger("tradefair.security")


class Issuer:
    """Whose access tokens a host takes. `url` is the issuer, `resource` the audience that tokens must name.

    Both are https URLs, or http ones of this machine, without user, query and fragment: ScenarioError else.
    """

    def __init__(self, url: str, resource: str = "") -> None:
        self.url = _checked("--issuer", url)
        self.resource = _checked("--resource", resource) if resource else ""
        self._keys: list[jwt.PyJWK] = []
        self._asked_at = -_FRESH_S
        self._asking = anyio.Lock()

    def metadata(self) -> dict[str, Any]:
        """What clients are told: the protected resource's metadata of RFC 9728."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.url],
            "bearer_methods_supported": ["header"],
            "resource_name": "tradefair",
        }

    @property
    def metadata_url(self) -> str:
        """Where `metadata` is: named in every refusal, so that clients find the issuer."""
        parts = urlsplit(self.resource)
        return f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path.rstrip('/')}"

    async def subject(self, token: str) -> str:
        """Whom a token names. Raises Refused, with a reason that says which check it failed."""
        if len(token) > _MAX_TOKEN:
            raise Refused(f"the token has more than {_MAX_TOKEN:,} characters")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise Refused("this is neither a token of this host nor an access token of its issuer") from None
        algorithm, name = header.get("alg"), header.get("kid")
        if algorithm not in _ALGORITHMS:
            raise Refused(f"the token is signed otherwise than by {', '.join(_ALGORITHMS)}")
        key = await self._key(name)
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=[self.resource, f"{self.resource}/"],
                issuer=self.url,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            raise Refused(self._reason(error)) from None
        subject = claims["sub"]
        if not subject or len(subject) > MAX_SUBJECT:
            raise Refused(f"the token's subject has not 1 to {MAX_SUBJECT} characters")
        return subject

    def _reason(self, error: jwt.PyJWTError) -> str:
        match error:
            case jwt.ExpiredSignatureError():
                return "the token has expired"
            case jwt.ImmatureSignatureError():
                return "the token is not valid yet"
            case jwt.InvalidAudienceError():
                return f"the token is for another audience than {self.resource}"
            case jwt.InvalidIssuerError():
                return f"the token is from another issuer than {self.url}"
            case jwt.MissingRequiredClaimError():
                return f"the token lacks the claim {error.claim}"
            case jwt.InvalidSignatureError():
                return "the token's signature does not fit"
            case _:
                return "the token is damaged"

    async def _key(self, name: object) -> jwt.PyJWK:
        """The issuer's key of this name. Raises Refused."""
        if self._found(name) is None or self._due(name):
            # Also where none is due: a look that is under way may be about to find it.
            async with self._asking:
                if self._due(name):
                    try:
                        await self.fetch_keys()
                    except HarnessFailure as error:
                        # The keys that are known stay good: an issuer that is away for a while locks nobody out.
                        _security_log.warning("%s", error)
        key = self._found(name)
        if key is None:
            if not self._keys:
                raise Refused("the issuer cannot be asked for its keys now: try again later", 503)
            raise Refused(f"the token's key is none that {self.url} publishes")
        return key

    def _due(self, name: object) -> bool:
        ago_s = time.monotonic() - self._asked_at
        return ago_s > (_AGAIN_S if self._found(name) is None else _FRESH_S)

    def _found(self, name: object) -> jwt.PyJWK | None:
        if name is None:
            # A token need not name its key where there is one only.
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == name), None)

    async def fetch_keys(self) -> None:
        """Ask the issuer for its keys. Raises HarnessFailure where it does not answer, or not as an issuer does."""
        self._asked_at = time.monotonic()
        async with httpx2.AsyncClient(timeout=_ASK_S, follow_redirects=False) as http:
            told = await self._told(http)
            place = str(told.get("jwks_uri", ""))
            try:
                _checked("jwks_uri", place, query=True)
            except ScenarioError as error:
                raise HarnessFailure(f"the issuer {self.url}: {error}") from None
            answer = await self._ask(http, place)
        try:
            found = jwt.PyJWKSet.from_dict(answer).keys
            # No shared secrets, no keys that encrypt, and no private ones: whoever reads those can sign.
            self._keys = [
                key
                for key in found
                if key.algorithm_name in _ALGORITHMS
                and key.public_key_use in (None, "sig")
                and not hasattr(key.key, "private_bytes")
            ]
        except (jwt.PyJWTError, KeyError, TypeError, ValueError, AttributeError):
            raise HarnessFailure(f"the issuer {self.url} publishes no usable keys") from None

    async def _told(self, http: httpx2.AsyncClient) -> dict[str, Any]:
        """What the issuer says about itself (RFC 8414, or OpenID Connect's discovery)."""
        parts = urlsplit(self.url)
        origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        places = (
            f"{origin}/.well-known/oauth-authorization-server{path}",
            f"{origin}{path}/.well-known/openid-configuration",
        )
        failures: list[HarnessFailure] = []
        for place in places:
            try:
                told = await self._ask(http, place)
            except HarnessFailure as failure:
                failures.append(failure)
                continue
            # Else anybody's keys would be taken for the issuer's.
            if told.get("issuer") != self.url:
                raise HarnessFailure(f"{place} speaks for another issuer: {clean_line(str(told.get('issuer')))[:200]}")
            return told
        raise failures[0]

    async def _ask(self, http: httpx2.AsyncClient, place: str) -> dict[str, Any]:
        try:
            # Of the whole answer, for the client's timeout is that of each byte; and not packed, or a small answer
            # could fill the memory.
            with anyio.fail_after(_ASK_S):
                async with http.stream("GET", place, headers=_PLAIN_JSON) as answer:
                    body = b""
                    async for part in answer.aiter_raw():
                        body += part
                        if len(body) > _MAX_ANSWER:
                            raise HarnessFailure(f"{place} answers with more than {_MAX_ANSWER:,} bytes")
                    if answer.status_code != 200:
                        raise HarnessFailure(f"{place} answers {answer.status_code}")
            told: Any = orjson.loads(body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise HarnessFailure(f"{place} cannot be reached: {str(error) or type(error).__name__}") from None
        except TimeoutError:
            raise HarnessFailure(f"{place} does not answer within {_ASK_S:.0f} s") from None
        except orjson.JSONDecodeError:
            raise HarnessFailure(f"{place} answers with no JSON") from None
        if not isinstance(told, dict):
            raise HarnessFailure(f"{place} answers with no JSON object")
        return told  # pyright: ignore[reportUnknownVariableType]


def _checked(option: str, url: str, *, query: bool = False) -> str:
    """A URL that tokens can be bound to. ScenarioError, which says what is allowed."""
    allowed = f"{option} takes an https URL (http on this machine only), without user or fragment"
    try:
        parts: SplitResult = urlsplit(url)
        local = parts.hostname in _LOOPBACK
    except ValueError:
        raise ScenarioError(allowed) from None
    known = parts.scheme == "https" or (parts.scheme == "http" and local)
    if not (known and parts.hostname and url.isascii() and url.isprintable()):
        raise ScenarioError(allowed)
    if parts.username or parts.password or parts.fragment or (parts.query and not query):
        raise ScenarioError(allowed)
    return url
