"""Tokens: a bearer token stands for one seat of one episode, or for an observer of it, and nothing else does.

Tokens carry 256 random bits and are shown once; only their SHA-256 digest is kept. A fast digest is enough, because no
dictionary holds such text. Looking a token up by its digest leaks nothing through timing: an attacker who measures the
look-up learns about digests, which cannot be inverted.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tradefair.contract import SeatError, SeatId, TradefairError
from tradefair.contract.seats import check_seat_id

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken

GrantScope: TypeAlias = Literal["seat", "observer"]

SEAT_SCOPE: GrantScope = "seat"
OBSERVER_SCOPE: GrantScope = "observer"
OBSERVER: SeatId = "observer"
"""What stands in place of a seat where an observer reads."""
MAX_TOKENS = 100
"""Tokens of one seat, or of the observers of one episode. Each change of the registry writes all of them."""
_PREFIX = "tf_"
_MAX_TOKEN_CHARS = 200

_security_log = logging.getLogger("tradefair.security")


class TooManyTokens(TradefairError):
    """A seat, or the observers of an episode, have MAX_TOKENS tokens."""


@dataclass(frozen=True)
class Grant:
    """What one token stands for. `id` names it in lists and logs; `digest` is the SHA-256 of the token, in hex.

    An observer's grant has `OBSERVER` in place of a seat; its scope, not that word, is what tells it apart.
    """

    id: str
    episode: str
    seat: SeatId
    digest: str
    scope: GrantScope = SEAT_SCOPE

    @property
    def whose(self) -> tuple[str, GrantScope, SeatId]:
        """What the token opens: (episode, scope, seat)."""
        return self.episode, self.scope, self.seat


class SeatTokens:
    """The grants of a host, by id and by token."""

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        self._by_digest = {grant.digest: grant for grant in grants}
        self._issued = Counter(grant.whose for grant in self)

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._by_digest.values())

    def of(self, episode: str) -> list[Grant]:
        """The grants of an episode, oldest first."""
        return [grant for grant in self if grant.episode == episode]

    def issue(self, episode: str, seat: SeatId, scope: GrantScope = SEAT_SCOPE) -> tuple[str, Grant]:
        """Make a token of a seat or of an observer; the token and its grant. Raises TooManyTokens.

        The token is stored nowhere: it must be shown now.
        """
        token = _PREFIX + secrets.token_urlsafe(32)
        grant = Grant(secrets.token_hex(6), episode, check_seat_id(seat), token_digest(token), scope)
        if self._issued[grant.whose] >= MAX_TOKENS:
            raise TooManyTokens(f"{seat} of {episode} has {MAX_TOKENS} tokens, as many as it may")
        self._by_digest[grant.digest] = grant
        self._issued[grant.whose] += 1
        return token, grant

    def find(self, token: str) -> Grant | None:
        """The grant of a token; None for an unknown or revoked one.

        A text that is longer than any token is not hashed at all.
        """
        if len(token) > _MAX_TOKEN_CHARS:
            return None
        digest = token_digest(token)
        grant = self._by_digest.get(digest)
        if grant is None or not hmac.compare_digest(grant.digest, digest):
            return None
        return grant

    def good(self, digest: str) -> bool:
        """Whether the token with this digest is known and not revoked.

        Taken instead of `find` where only the digest is at hand.
        """
        return digest in self._by_digest

    def revoke(self, grant_id: str) -> Grant:
        """Forget a token; it never works again. Raises SeatError when there is no such grant.

        The caller closes what was opened with it.
        """
        for grant in self:
            if grant.id == grant_id:
                del self._by_digest[grant.digest]
                self._issued[grant.whose] -= 1
                return grant
        raise SeatError(f"there is no token {grant_id[:40]!r}")

    def expire(self, episode: str) -> list[Grant]:
        """Forget all tokens of an episode; returns their grants."""
        gone = self.of(episode)
        for grant in gone:
            del self._by_digest[grant.digest]
            del self._issued[grant.whose]
        return gone


class SeatVerifier:
    """The SDK's TokenVerifier over a host's tokens.

    `client_id` is the grant's id, so that a session of the handshake era belongs to the token that opened it.
    """

    def __init__(self, tokens: SeatTokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        """The claims of a token; None, and a line in the security log, for an unknown or revoked one."""
        from mcp.server.auth.provider import AccessToken

        grant = self._tokens.find(token)
        if grant is None:
            _security_log.warning("refused a token with digest %s…", token_digest(token)[:8])
            return None
        claims = {"iss": "tradefair", "episode": grant.episode, "seat": grant.seat, "scope": grant.scope}
        # The SDK keeps this object with the request and may log it: it gets the digest, never the token.
        return AccessToken(
            token=grant.digest, client_id=grant.id, scopes=[grant.scope], subject=grant.seat, claims=claims
        )


def token_digest(token: str) -> str:
    """What is kept of a token: the SHA-256 of it, in hex.

    `surrogatepass`: a header may hold bytes that are no text, and must be refused, not raise.
    """
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
