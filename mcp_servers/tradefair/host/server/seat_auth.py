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
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tradefair.contract import SeatError, SeatId, TradefairError
from tradefair.contract.scenario import check_seat_id
from tradefair.contract.text import clean_line

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken

GrantScope: TypeAlias = Literal["seat", "observer"]

SEAT_SCOPE: GrantScope = "seat"
OBSERVER_SCOPE: GrantScope = "observer"
OBSERVER: SeatId = "observer"
"""What stands in place of a seat where an observer reads."""
MAX_TOKENS = 100
"""Tokens of one seat, or of the observers of one episode. Each change of the registry writes all of them."""
MAX_SUBJECT = 200
"""Characters of a subject's name."""
_PREFIX = "tf_"
_MAX_TOKEN_CHARS = 200

_security_log = logging.getLogger("tradefair.security")


class Refused(TradefairError):
    """An issuer's access token that opens nothing; the text says why. `status` is the HTTP status of the answer."""

    def __init__(self, reason: str, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


class TooManyTokens(TradefairError):
    """A seat, or the observers of an episode, have MAX_TOKENS tokens."""


@dataclass(frozen=True)
class Grant:
    """What one token stands for. `id` names it in lists and logs; `digest` is the SHA-256 of the token, in hex.

    With a `subject` it stands for all access tokens of the host's issuer that name this person or program, and `digest`
    is that of issuer and subject. An observer's grant has `OBSERVER` in place of a seat; its scope, not that word, is
    what tells it apart.
    """

    id: str
    episode: str
    seat: SeatId
    digest: str
    scope: GrantScope = SEAT_SCOPE
    subject: str | None = None

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
        self._keep(grant)
        return token, grant

    def seat_subject(self, episode: str, seat: SeatId, issuer: str, subject: str) -> Grant:
        """Let a subject of an issuer take a seat with its own access tokens. Raises SeatError, TooManyTokens.

        A subject has one seat of a host at a time: its tokens name no other.
        """
        digest = subject_digest(issuer, check_subject(subject))
        if held := self._by_digest.get(digest):
            raise SeatError(f"{subject} has {held.seat} of {held.episode} already: revoke grant {held.id} first")

        grant = Grant(secrets.token_hex(6), episode, check_seat_id(seat), digest, subject=subject)
        self._keep(grant)
        return grant

    def _keep(self, grant: Grant) -> None:
        if self._issued[grant.whose] >= MAX_TOKENS:
            raise TooManyTokens(f"{grant.seat} of {grant.episode} has {MAX_TOKENS} tokens, as many as it may")
        self._by_digest[grant.digest] = grant
        self._issued[grant.whose] += 1

    def find(self, token: str) -> Grant | None:
        """The grant of a token; None for an unknown or revoked one.

        A text that is longer than any token is not hashed at all.
        """
        return None if len(token) > _MAX_TOKEN_CHARS else self._with(token_digest(token))

    def of_subject(self, issuer: str, subject: str) -> Grant | None:
        """The grant of an issuer's subject; None for one that has no seat here."""
        return self._with(subject_digest(issuer, subject))

    def _with(self, digest: str) -> Grant | None:
        grant = self._by_digest.get(digest)
        return grant if grant is not None and hmac.compare_digest(grant.digest, digest) else None

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


class Subjects(Protocol):
    """Who tells whom an access token names (`oauth.py`)."""

    url: str

    async def subject(self, token: str) -> str:
        """Raises Refused."""
        ...


class SeatVerifier:
    """The SDK's TokenVerifier over a host's tokens.

    `client_id` is the grant's id, so that a session of the handshake era belongs to the token that opened it.
    """

    def __init__(self, tokens: SeatTokens, issuer: Subjects | None = None) -> None:
        self._tokens = tokens
        self._issuer = issuer

    async def verify_token(self, token: str) -> AccessToken | None:
        """The claims of a token; None, and a line in the security log, for an unknown or revoked one.

        With an issuer its access tokens count, too; Refused says why one of them opens nothing.
        """
        from mcp.server.auth.provider import AccessToken

        grant = self._tokens.find(token)
        if grant is None and self._issuer is not None and not token.startswith(_PREFIX):
            grant = await self._of_subject(token, self._issuer)
        if grant is None:
            _security_log.warning("refused a token with digest %s…", token_digest(token)[:8])
            return None
        claims = {"iss": "tradefair", "episode": grant.episode, "seat": grant.seat, "scope": grant.scope}
        # The SDK keeps this object with the request and may log it: it gets the digest, never the token.
        return AccessToken(
            token=grant.digest, client_id=grant.id, scopes=[grant.scope], subject=grant.seat, claims=claims
        )

    async def _of_subject(self, token: str, issuer: Subjects) -> Grant:
        try:
            subject = await issuer.subject(token)
            grant = self._tokens.of_subject(issuer.url, subject)
            if grant is None:
                raise Refused(f"{subject} has no seat here: ask whoever runs this host for an invitation", 403)
        except Refused as refused:
            _security_log.warning("refused an access token: %s", clean_line(str(refused)))
            raise
        return grant


def check_subject(subject: str) -> str:
    """A subject as an issuer's tokens name it. SeatError for a text that none would."""
    if not 0 < len(subject) <= MAX_SUBJECT or clean_line(subject) != subject:
        raise SeatError(f"a subject is 1 to {MAX_SUBJECT} printable characters, as a token's `sub` has them")
    return subject


def subject_digest(issuer: str, subject: str) -> str:
    """What is looked up of a subject: a SHA-256 in hex that no token's digest equals."""
    return hashlib.sha256(f"subject\n{issuer}\n{subject}".encode(errors="surrogatepass")).hexdigest()


def token_digest(token: str) -> str:
    """What is kept of a token: the SHA-256 of it, in hex.

    `surrogatepass`: a header may hold bytes that are no text, and must be refused, not raise.
    """
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
