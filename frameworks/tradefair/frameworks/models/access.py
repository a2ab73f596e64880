"""Which endpoints may be asked, with which key, and how they are named in messages: never with credentials."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tradefair.cli import ports
from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.text import is_bare_url

if TYPE_CHECKING:
    from ssl import SSLContext

ALLOW_MODELS = "TRADEFAIR_ALLOW_MODELS"
"""Environment switch: at 0 every endpoint that is not on this machine's loopback is refused. Tests set it."""

KEY_NAME = "OPENAI_API_KEY"
DEFAULT_URL = "https://api.openai.com/v1"


class ProviderUnavailable(HarnessFailure):
    """An endpoint did not answer or had no room for us, for all of its client's retries: asking later may succeed.

    A failure that a sweep may try again; every other HarnessFailure would only repeat itself.
    """


IDLE_ROUNDS = "idle_rounds"
"""The limit of rounds in a row without a call that was carried out."""


class Stopped(HarnessFailure):
    """A limit of the episode was reached. The run stops there, and goes on under a larger `limit`."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


def endpoint_url(base_url: str | None) -> str:
    """The URL that is asked: the given one, else OPENAI_BASE_URL, else OpenAI's.

    An empty text counts as absent, both as an argument and in the environment. Raises ScenarioError for a URL with
    user, password, query or fragment: it is written into traces, and a path is put behind it.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL
    # What is no URL at all is refused in other words, by whoever checks the address.
    if not is_bare_url(url) and any(sign in url for sign in "@?#"):
        raise ScenarioError(f"the base URL must not hold a name, password or key; set {KEY_NAME}")
    return url


def check_allowed(url: str) -> None:
    """Raises HarnessFailure where the switch refuses the URL.

    Called before a client is made: tests set the switch, so that none of them asks a real provider.
    """
    if os.environ.get(ALLOW_MODELS) == "0" and not is_loopback(url):
        raise HarnessFailure(
            f"{ALLOW_MODELS}=0 refuses the model endpoint at {_host(url) or 'an unknown host'}: not loopback"
        )


def api_key(url: str) -> str:
    """The key from the environment; HarnessFailure when OpenAI's own endpoint would be asked without one."""
    key = os.environ.get(KEY_NAME)
    # Only OpenAI's own URL is known to need a key; others may stand on this machine and need none.
    if not key and url == DEFAULT_URL:
        raise HarnessFailure(f"set {KEY_NAME}, or name another endpoint by its base URL (--base-url)")
    # Local endpoints take any key, but the header must be there.
    return key or "none"


def shown_url(url: str) -> str:
    """The URL without user, password, query and fragment."""
    # `port` is parsed when it is read, and raises for text such as `:abc`.
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        host = parts.hostname or ""
        # An address of version 6 keeps its brackets: a shown URL may be asked again.
        return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"
    except ValueError:
        return "a URL that cannot be read"


def is_loopback(url: str) -> bool:
    """Whether the URL leads to this machine alone.

    No name is resolved: only `localhost` and addresses of the loopback count.
    """
    # No address is empty, as the host of an unreadable URL is.
    return ports.is_loopback(_host(url))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@cache
def certificates(*, from_environment: bool) -> SSLContext:
    """Whom clients of endpoints trust; with `from_environment` also by SSL_CERT_FILE and SSL_CERT_DIR.

    Read once in a process: there is a client per seat, and reading takes longer than twenty requests.
    """
    import httpx2

    return httpx2.create_ssl_context(trust_env=from_environment)
