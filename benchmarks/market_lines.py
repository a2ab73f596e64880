"""Lines of code per market, room by room: `python -m benchmarks.market_lines`.

Lines with code in Python: no blank lines, comments, docstrings. Tables, texts and scenarios are data and do not count.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "mcp_servers" / "tradefair"
EVALUATION = ROOT / "evaluation" / "tradefair" / "evaluation" / "markets"
ROOMS: Mapping[str, tuple[str, ...]] = {
    "rules": ("model", "state", "engine", "rules"),
    "tools": ("answers", "views", "tools", "analysis"),
    "seats": ("seats", "policies"),
    "data": ("data",),
    "outcomes": ("evaluator", "outcomes", "charts", "insight"),
    "modes": ("modes",),
}
"""Rooms that every market has; what else its evaluation holds are studies of its own."""
_ORDER = ("teaching", "bargaining", "double_auction", "pricing", "order_book", "supply_chain", "retail", "marketplace")
_SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(path: Path) -> int:
    """Lines of a module that hold code."""
    text = path.read_text(encoding="utf-8")
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _SKIPPED
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - set(_docstring_lines(ast.parse(text))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        # Texts below an attribute are docstrings, too.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def rooms_of(market: str) -> dict[str, int]:
    """Code lines of a market by room; `studies` is what else its evaluation holds, `sum` all of them."""
    held = {name: sum(map(code_lines, _modules(market, parts))) for name, parts in ROOMS.items()}
    whole = sum(code_lines(path) for folder in (SERVERS, EVALUATION) for path in (folder / market).rglob("*.py"))
    return {**held, "studies": whole - sum(held.values()), "sum": whole}


def _modules(market: str, parts: Iterable[str]) -> Iterator[Path]:
    for part in parts:
        for folder in (SERVERS / market, EVALUATION / market):
            yield from [path for path in [folder / f"{part}.py"] if path.is_file()]
            yield from (folder / part).rglob("*.py")


def table() -> str:
    """The table in Markdown, small markets first."""
    names = [*ROOMS, "studies", "sum"]
    rows = [f"| market | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for market in _ORDER:
        lines = rooms_of(market)
        rows.append(f"| `{market}` | {' | '.join(f'{lines[name]:,}' for name in names)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
