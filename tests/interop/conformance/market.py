"""The teaching market with the tools that the official conformance suite looks for; for that suite only."""

from __future__ import annotations

from pydantic import BaseModel

from tradefair.contract import IllegalAction, Result, SeatId, ToolTable, tool
from tradefair.teaching import MARKET as TEACHING
from tradefair.teaching.rules import Pie


class Text(Result):
    """One text."""

    text: str


class address(BaseModel):
    """A nested argument, which a schema keeps under `$defs` by this name."""

    street: str = ""
    city: str = ""


@tool("read", title="Simple text")
def test_simple_text(market: Pie, seat: SeatId) -> Text:
    """Answer with one text."""
    return Text(text="This is a simple text response for testing.")


@tool("read", title="A template's text")
def template_data(market: Pie, seat: SeatId, *, number: str) -> Text:
    """Answer with the number that was asked for."""
    return Text(text=f"data of {number}")


@tool("action", title="An error")
def test_error_handling(market: Pie, seat: SeatId) -> Text:
    """Refuse whatever is asked."""
    raise IllegalAction("intended", "This tool intentionally returns an error for testing", hint="call another")


@tool("analysis", title="Schema keywords")
def json_schema_2020_12_tool(market: Pie, seat: SeatId, *, name: str, address: address) -> Text:
    """Tool with JSON Schema 2020-12 features."""
    return Text(text=f"{name} of {address.city}")


FIXTURES = (test_simple_text, template_data, test_error_handling, json_schema_2020_12_tool)


class _Conformance(type(TEACHING)):
    name = "conformance"
    tools = ToolTable(*TEACHING.tools.values(), *FIXTURES)
    errors = {**TEACHING.errors, "intended": "the suite wants an error"}  # noqa: RUF012 - a constant table


MARKET = _Conformance()
