"""Where the logs of episodes lie, by address: files, or a shared store that is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from tradefair.contract import TraceError
from tradefair.contract.errors import unknown
from tradefair.host.episode.log import FILES, LogStore

_STORES: Mapping[str, str] = {
    "postgresql": "tradefair.host.episode.log_postgres:PostgresStore",
    "postgres": "tradefair.host.episode.log_postgres:PostgresStore",
}
"""Scheme of an address -> `module:class` of its `LogStore`. Drivers are optional, so nothing here imports one."""


def logs_at(store: str | None) -> LogStore:
    """The logs of the shared store at the address `store`, such as `postgresql://host/db`; None: files.

    Raises TraceError for a scheme that no store has, and where the store's driver is missing.
    """
    if store is None:
        return FILES
    scheme = store.partition("://")[0]
    if scheme not in _STORES:
        raise TraceError(unknown("store", f"{scheme}://", [f"{known}://" for known in _STORES]))
    module, _, name = _STORES[scheme].partition(":")
    return cast("Callable[[str], LogStore]", getattr(import_module(module), name))(store)
