"""Programs for the sandbox: a small market's read tools, and running one program over them."""

from __future__ import annotations

from pydantic import JsonValue

from tradefair.contract import ErrorInfo
from tradefair.host.sandbox.running import CodeLimits, CodeReport, InnerAnswer, InnerCall, Sandbox, ToolSignature

LIMITS = CodeLimits()
TOOLS = {
    "view_prices": ToolSignature(("market", "rounds")),
    "view_round": ToolSignature(()),
    "refused": ToolSignature(("text",)),
}
PRICES = {"corn": [100, 104, 99, 107], "wheat": [210, 205]}


def answer(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
    """A small market's read tools; `refused` always refuses."""
    if name == "view_round":
        return InnerAnswer({"round": 3})
    market = arguments.get("market")
    if name == "view_prices" and isinstance(market, str) and market in PRICES:
        return InnerAnswer({"market": market, "prices": list[JsonValue](PRICES[market])})
    if name == "view_prices":
        hint = "view_prices takes market and rounds"
        return InnerAnswer(error=ErrorInfo("invalid_arguments", "market: string required", hint, True))
    return InnerAnswer(error=ErrorInfo("unknown_id", "no such thing.", "view_round shows what there is", True))


def run(sandbox: Sandbox, code: str, call: InnerCall = answer, seed: int = 7, day: int = 3) -> CodeReport:
    """One program over the small market."""
    return sandbox.run(code, constants={"FEE": 2, "NAMES": ["a", "b"]}, tools=TOOLS, call=call, seed=seed, day=day)


def error_of(report: CodeReport) -> ErrorInfo:
    """What ended the program; it must have been ended."""
    assert report.error is not None
    return report.error
