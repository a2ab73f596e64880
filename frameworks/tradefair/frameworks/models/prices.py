"""What model calls cost, from a table of list prices (`prices.toml`) and a user's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradefair.contract import ScenarioError
from tradefair.files.user_files import parse_toml, text_file

PRICES = "TRADEFAIR_PRICES"
"""Environment: a file of the form of `prices.toml` that goes before it, model by model."""

_FREE = ("policy:", "local:")
# Providers date their snapshots in two ways, or call the newest one `latest`.
_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)\Z")


class Price(BaseModel):
    """US dollars per million tokens, which is micro-dollars per token; cached input costs as input unless stated.

    Decimals, so that a price such as 0.1 is exact and equal runs cost the same to the last micro-dollar.
    """

    # Unknown fields are refused: a mistyped `cached_inputs` would silently price the cached tokens as new ones.
    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(ge=0, allow_inf_nan=False)
    output: Decimal = Field(ge=0, allow_inf_nan=False)
    cached_input: Decimal | None = Field(default=None, ge=0, allow_inf_nan=False)


class _List(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    as_of: str
    source: str
    models: dict[str, Price]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(ge=1, le=1)
    lists: list[_List]


def cost_usd_micro(
    model: str | None,
    input_tokens: int | None,
    cached_input_tokens: int | None,
    output_tokens: int | None,
    *,
    prices: Path | None = None,
) -> int | None:
    """The cost of one call in micro-dollars, half a micro-dollar to the even one; None where it is not known.

    `model` is a model's name, with `provider:` or a snapshot's date or without; `policy:` and `local:` ones are free.
    `input_tokens` include the cached ones. `prices` goes before the table, as the file of TRADEFAIR_PRICES does.
    Raises ScenarioError for a file that is none.
    """
    # The runner plays policies and local models under these labels; nothing was paid for them.
    if model is not None and model.startswith(_FREE):
        return 0
    price = None if model is None else _find(model, load_prices(prices))
    if price is None or input_tokens is None or output_tokens is None:
        return None
    # More cached tokens than tokens would make the rest negative.
    cached = min(cached_input_tokens or 0, input_tokens)
    cached_price = price.input if price.cached_input is None else price.cached_input
    cost = (input_tokens - cached) * price.input + cached * cached_price + output_tokens * price.output
    return int(cost.to_integral_value(ROUND_HALF_EVEN))


def check_priced(model: str | None, limit: str) -> None:
    """Raises ScenarioError where no price of a model is known, so that a `limit` in dollars would hold nothing."""
    if cost_usd_micro(model, 1, None, 1) is None:
        raise ScenarioError(f"{limit}: the price of {model} is not known: name it in {PRICES}")


def load_prices(path: Path | None = None) -> Mapping[str, Price]:
    """Every model's price: the table's, and before it those of `path`, else of TRADEFAIR_PRICES's file.

    Raises ScenarioError for a file that cannot be read or is no table.
    """
    chosen = path or (Path(named) if (named := os.environ.get(PRICES)) else None)
    return _table() if chosen is None else {**_table(), **_own(chosen)}


def _find(model: str, prices: Mapping[str, Price]) -> Price | None:
    # The name as it is goes first: a user's table may price a name with a colon in it.
    # Fields of its requests, in parentheses, change no price.
    model = model.partition("(")[0]
    bare = model.partition(":")[2] if model not in prices and ":" in model else model
    # Last without the snapshot's date: a dated price of its own must win over the family's.
    return prices.get(model) or prices.get(bare) or prices.get(_SNAPSHOT.sub("", bare))


@cache
# Part of the package: found wherever that is installed.
def _table() -> Mapping[str, Price]:
    text = files("tradefair.frameworks.models").joinpath("prices.toml").read_text(encoding="utf-8")
    return _models(text, "prices.toml")


def _own(path: Path) -> Mapping[str, Price]:
    try:
        # By the time of its last change, so that an edited file is read again within a long process.
        return _of_file(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


@cache
def _of_file(path: Path, changed: int) -> Mapping[str, Price]:
    return _models(text_file(path), str(path))


def _models(text: str, name: str) -> Mapping[str, Price]:
    try:
        # `parse_float`: a float of the file would carry its rounding into every cost.
        content = _File.model_validate(parse_toml(text, source=name, parse_float=Decimal))
    # The first error only: a wrong table has one for every line.
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ScenarioError(f"{name}: not a table of prices: {place}: {first['msg']}") from None
    return {model: price for prices in content.lists for model, price in prices.models.items()}
