"""Charts as SVG without a browser: the page's own drawing code in a bare JavaScript engine that can do nothing else."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Literal
from xml.etree import ElementTree

from tradefair.contract.errors import HarnessFailure, ScenarioError, needs_extra
from tradefair.evaluation.charts.chart import Chart

# No wheel of the engine exists for Macs with Intel: whoever installs there should not wonder.
MISSING_ENGINE = needs_extra("drawing SVG (nowhere on Macs with Intel)", "figures")
MAX_MEMORY = 256 * 1024 * 1024
"""Bytes that drawing one chart may take."""
MAX_SECONDS = 20
"""CPU seconds that drawing one chart may take."""

_SVG = "{http://www.w3.org/2000/svg}"
# All that our drawing code makes. Whatever else a picture held could load, run or cover something where it is shown.
_ELEMENTS = {_SVG + name for name in ("svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title", "desc")}
_FORBIDDEN = re.compile(r"://|url\s*\(|@import|javascript:|data:", re.IGNORECASE)
# XML cannot hold these in any form; noncharacters and lone surrogates reach us in names.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def draw_svg(chart: Chart, *, width: int = 720, theme: Literal["light", "dark", "print"] = "light") -> bytes:
    """The chart as an SVG file in UTF-8, `width` pixels wide (200 to 4,000): what the page shows, in a theme's colours.

    The same chart, width and theme give the same bytes. Raises ScenarioError without the extra `figures`, ValueError
    for a width out of range, HarnessFailure where drawing breaks a limit or makes what a picture may not hold.
    """
    if not 200 <= width <= 4_000:
        raise ValueError(f"a width of {width} pixels is not in 200 to 4,000")
    engine = _engine()
    text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", chart.model_dump_json())
    # A fresh one each time: ids that the code counts up would differ in a second drawing.
    context = engine.Context()
    context.set_memory_limit(MAX_MEMORY)
    context.set_time_limit(MAX_SECONDS)
    try:
        context.eval(_script())
        drawn = context.get("draw")(text, width, theme)
    except engine.JSException as fault:
        raise HarnessFailure(f"the chart {chart.id[:40]!r} cannot be drawn: {_reason(str(fault))}") from None
    if wrong := what_is_unsafe(drawn) if isinstance(drawn, str) else "no text":
        raise HarnessFailure(f"the chart {chart.id[:40]!r} is not written: {wrong}")
    return drawn.encode() + b"\n"


def what_is_unsafe(markup: str) -> str | None:
    """Why a picture must not be passed on: no XML, or it holds what could load or run something; else null."""
    # Entities are declared in what begins like this; the parser below would expand them.
    if "<!" in markup or "<?" in markup:
        return "a declaration"
    try:
        root = ElementTree.fromstring(markup)
    except ElementTree.ParseError as error:
        return f"no XML: {error}"
    for element in root.iter():
        if element.tag not in _ELEMENTS:
            return f"the element {element.tag[:60]!r}"
        for name, value in element.attrib.items():
            if name.startswith("on") or "href" in name or _FORBIDDEN.search(value):
                return f"the attribute {name[:40]!r}"
    return None


def _reason(fault: str) -> str:
    # Without memory for its own message the engine throws null.
    if "out of memory" in fault or fault.strip() == "null":
        return f"it takes more than {MAX_MEMORY >> 20} MiB; its numbers can be written as .csv"
    if "interrupted" in fault:
        return f"it takes more than {MAX_SECONDS} s; its numbers can be written as .csv"
    return fault[:200]


def _engine() -> Any:
    """The engine's module. It has no types of its own."""
    try:
        return import_module("quickjs")
    except ImportError:
        raise ScenarioError(MISSING_ENGINE) from None


@cache
def _script() -> str:
    # Of `evaluation`, not of `report`: importing that would load every evaluator.
    return files("tradefair.evaluation").joinpath("report", "assets", "draw.js").read_text(encoding="utf-8")
