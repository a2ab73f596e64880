"""Scenarios come with strangers' traces: whatever is counted in one has a bound, in every market."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tradefair.catalog import market_names, market_type

# What JSON Schema may say of a value's size, by its type; one of each row must be there.
BOUNDS = {
    "integer": (("maximum", "exclusiveMaximum"), ("minimum", "exclusiveMinimum")),
    "array": (("maxItems",),),
    "object": (("maxProperties", "properties"),),
}
MOST = 1_000_000_000_000


def _parts(schema: Any, defs: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every value that a schema describes, by its path. Models do not contain themselves."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    yield path, schema
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for option in schema.get(key, ()):
            yield from _parts(option, defs, path)
    for name, inner in schema.get("properties", {}).items():
        yield from _parts(inner, defs, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _parts(schema[key], defs, f"{path}[]")


@pytest.mark.parametrize("market", market_names())
def test_every_number_of_a_scenario_has_a_maximum_and_every_list_a_length(market: str) -> None:
    schema = market_type(market).scenario_model.model_json_schema()
    parts = list(_parts(schema, schema.get("$defs", {}), market))
    assert len(parts) > 20
    unbounded = [
        f"{path}: no {' or '.join(names)}"
        for path, part in parts
        if "const" not in part and "enum" not in part
        for names in BOUNDS.get(part.get("type", ""), ())
        if not any(name in part for name in names)
    ]
    assert unbounded == []
    sizes = [part[name] for _, part in parts for name in ("maximum", "maxItems", "maxProperties") if name in part]
    assert max(sizes) <= MOST
