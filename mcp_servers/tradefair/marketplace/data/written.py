"""A catalogue as a trace holds it: JSON documents of at most 1 MiB with rows of businesses, menus and requests. Pure.

Whoever has the file can compute matches, baselines and ceilings again without what generated or loaded the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from tradefair.marketplace.model import Catalogue

MAX_PART = 1 << 20
"""Bytes of one document: a reader of a stranger's trace knows how much to expect."""
_TABLES = ("businesses", "menu", "requests")


def parts_of(catalogue: Catalogue) -> list[bytes]:
    """The documents, in order; each is an object with the rows of some of the three tables."""
    parts: list[bytes] = []
    rows = dict[str, list[bytes]]()
    size = 0
    for table, row in _rows(catalogue):
        # A comma, and the table's name the first time, come on top of each row.
        cost = len(row) + len(table) + 8
        if rows and size + cost > MAX_PART:
            parts.append(_document(rows))
            rows, size = {}, 0
        rows.setdefault(table, []).append(row)
        size += cost
    return [*parts, _document(rows)]


def _document(rows: Mapping[str, Sequence[bytes]]) -> bytes:
    tables = (b'"' + table.encode() + b'":[' + b",".join(lines) + b"]" for table, lines in rows.items())
    return b"{" + b",".join(tables) + b"}"


def _rows(catalogue: Catalogue) -> Iterator[tuple[str, bytes]]:
    for shop in catalogue.businesses:
        amenities = [[amenity.name, int(amenity.offered)] for amenity in shop.amenities]
        head = [shop.id, shop.name, shop.description, shop.rating_bp, shop.progenitor_customer, shop.floor_bp]
        yield "businesses", orjson.dumps([*head, amenities])
    # Behind all businesses, by index: a menu has many lines, and an id in each would double them.
    for index, shop in enumerate(catalogue.businesses):
        yield from (("menu", orjson.dumps([index, line.item, line.price_cents])) for line in shop.menu)
    for customer in catalogue.customers:
        wants = [[want.item, want.quantity, want.mean_cents] for want in customer.wants]
        yield "requests", orjson.dumps([customer.id, customer.name, customer.request, wants, customer.amenities])


def catalogue_from(parts: Iterable[Any]) -> Catalogue:
    """The catalogue of decoded documents. ValueError, TypeError or LookupError for what `parts_of` did not write."""
    tables = {table: list[Any]() for table in _TABLES}
    for part in parts:
        for table in _TABLES:
            tables[table] += part.get(table, ())
    menus: dict[int, list[dict[str, Any]]] = {index: [] for index in range(len(tables["businesses"]))}
    for index, item, price in tables["menu"]:
        menus[index].append({"item": item, "price_cents": price})
    customers = tuple(map(_customer, tables["requests"]))
    businesses = tuple(map(_business, tables["businesses"], menus.values()))
    # All records are checked and made by one call.
    return Catalogue.model_validate({"customers": customers, "businesses": businesses})


def _customer(row: Sequence[Any]) -> dict[str, Any]:
    name, shown, request, wants, amenities = row
    lines = tuple({"item": item, "quantity": quantity, "mean_cents": mean} for item, quantity, mean in wants)
    return {"id": name, "name": shown, "request": request, "wants": lines, "amenities": tuple(amenities)}


def _business(row: Sequence[Any], menu: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name, shown, description, rating, progenitor, floor, amenities = row
    return {
        "id": name,
        "name": shown,
        "description": description,
        "rating_bp": rating,
        "progenitor_customer": progenitor,
        "menu": tuple(menu),
        # Written as 0 and 1.
        "amenities": tuple({"name": amenity, "offered": bool(offered)} for amenity, offered in amenities),
        "floor_bp": floor,
    }
