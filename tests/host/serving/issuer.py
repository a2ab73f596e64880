"""An OAuth issuer for tests: authlib's own authorization server, on this machine, with keys of its own.

`/token` takes client credentials (client id = subject, any secret) and, as RFC 8707 says, a `resource`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from flask import Flask, jsonify, request
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from tests.waiting import LONGER
from werkzeug.serving import make_server


class _Client(ClientMixin):
    """Whoever asks: who may have a token is the issuer's business and not the host's."""

    def __init__(self, name: str) -> None:
        self.client_id = name

    def get_client_id(self) -> str:
        return self.client_id

    def check_client_secret(self, client_secret: str) -> bool:
        return True

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return True

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "client_credentials"

    def get_allowed_scope(self, scope: Any) -> Any:
        return scope or ""


def _unkept(token: object, asked_by: object) -> None:
    """An issuer that remembers no token."""


class IssuerProcess(NamedTuple):
    """A running issuer. `keys` are those that it publishes: tests may take one away or add one."""

    url: str
    keys: list[RSAKey]
    asked: list[str]

    def token(self, subject: str, resource: str) -> str:
        """What its token endpoint gives."""
        wanted = {"grant_type": "client_credentials", "resource": resource, "scope": "seat"}
        answer = httpx2.post(f"{self.url}/token", data=wanted, auth=(subject, "secret"))
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]

    def signed(self, key: RSAKey | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token of its making with other claims, or another key; None leaves a claim out."""
        key = key or self.keys[0]
        now = int(time.time())
        usual = {"iss": self.url, "sub": "alice", "exp": now + LONGER, "iat": now}
        content = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": key.kid, "typ": "at+jwt", **(header or {})}, content, key)


def new_key() -> RSAKey:
    """A fresh key with a name."""
    return RSAKey.generate_key(2048, parameters={"use": "sig"}, auto_kid=True)


@contextmanager
def running_issuer(port: int = 0) -> Generator[IssuerProcess]:
    """An issuer that answers until the body ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app, keys = Flask("issuer"), [new_key()]
    asked: list[str] = []
    server = make_server("127.0.0.1", port, app, threaded=True)
    url = f"http://127.0.0.1:{server.server_port}"

    class Generator(JWTBearerTokenGenerator):
        def get_jwks(self) -> KeySet:
            return KeySet([*keys[:1]])

        def get_audiences(self, client: Any, user: Any, scope: Any) -> str:
            return request.form["resource"]

    oauth = AuthorizationServer(app, query_client=_Client, save_token=_unkept)
    oauth.register_grant(grants.ClientCredentialsGrant)
    oauth.register_token_generator("default", Generator(url))

    @app.post("/token")
    def token() -> Any:
        return oauth.create_token_response()  # pyright: ignore[reportUnknownMemberType]  # authlib has no types

    @app.get("/.well-known/oauth-authorization-server")
    def metadata() -> Any:
        asked.append("metadata")
        return jsonify(issuer=url, token_endpoint=f"{url}/token", jwks_uri=f"{url}/keys", response_types_supported=[])

    @app.get("/keys")
    def published() -> Any:
        return jsonify(KeySet([*keys]).as_dict(private=False))

    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield IssuerProcess(url, keys, asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
