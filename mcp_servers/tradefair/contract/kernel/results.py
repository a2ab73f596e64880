"""Results as bytes: what an answer carries, what an event holds or names by its digest."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tradefair.contract.chain import digest
from tradefair.contract.kernel.records import Encoded
from tradefair.contract.tool import Tool

# Results that are shared between seats; a market with more public answers per phase encodes some of them twice.
_MAX_MEMO = 64


class Results:
    """Encodes results; an object that several seats are answered is encoded once, until `forget`."""

    def __init__(self) -> None:
        # id(result) -> (result, its bytes); holding the result keeps its id from being given to another object
        self._memo: dict[int, tuple[BaseModel, Encoded]] = {}

    def encoded(self, tool: Tool, result: BaseModel) -> Encoded:
        """A result's bytes and their digest."""
        # An action's result belongs to one call; keeping it would only fill the memo.
        if tool.kind == "action":
            return _encoded(result)
        known = self._memo.get(id(result))
        if known is not None and known[0] is result:
            return known[1]
        encoded = _encoded(result)
        if len(self._memo) >= _MAX_MEMO:
            self._memo.clear()
        self._memo[id(result)] = (result, encoded)
        return encoded

    def forget(self) -> None:
        """No result that was encoded before will come again."""
        self._memo.clear()


def json_of(model: BaseModel) -> bytes:
    """A model as JSON, without the detour of `model_dump_json`."""
    return model.__pydantic_serializer__.to_json(model)


def plain_of(model: BaseModel) -> dict[str, Any]:
    """A model as plain data, without the detour of `model_dump`."""
    return model.__pydantic_serializer__.to_python(model, mode="json")


def _encoded(result: BaseModel) -> Encoded:
    body = json_of(result)
    return Encoded(body, digest(body))
