"""The catalogue that a market wrote into its trace, as rows of the tables `businesses`, `menu` and `requests`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.store.tables import Row

TABLES = ("businesses", "menu", "requests")
_SHARE = 10_000
"""Basis points in 1."""


def catalogue_rows(episode: str, parts: Sequence[object]) -> Iterator[tuple[str, Row]]:
    """(table, row) of decoded parts, in order. ValueError, TypeError or LookupError where a row is none."""
    ids: list[str] = []
    for part in map(mapping, parts):
        for shop in sequence(part.get("businesses")):
            name, shown, description, rating, progenitor, floor, amenities = sequence(shop)
            ids.append(str(name))
            has = _json({str(amenity): bool(offered) for amenity, offered in map(sequence, sequence(amenities))})
            figures = int(rating) / _SHARE, int(floor) / _SHARE
            yield "businesses", (episode, str(name), str(shown), str(description), *figures, str(progenitor or ""), has)
        for index, item, price in map(sequence, sequence(part.get("menu"))):
            # A negative index would name a business from the end.
            yield "menu", (episode, ids[int(index)] if int(index) >= 0 else "", str(item), int(price) / 100)
        for name, shown, request, wants, amenities in map(sequence, sequence(part.get("requests"))):
            items = [
                {"item": item, "quantity": quantity, "mean_price": int(mean) / 100}
                for item, quantity, mean in map(sequence, sequence(wants))
            ]
            yield "requests", (episode, str(name), str(shown), str(request), _json(items), _json(amenities))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
