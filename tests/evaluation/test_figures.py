"""Every figure of an outcome is explained, and the explanations of some are tried on exported traces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel
from tests.evaluation import recomputed
from tests.evaluation.playing import played_by
from tests.source_code import REPO

from tradefair.catalog import load_scenario, market_names, market_type
from tradefair.contract import ScenarioError
from tradefair.evaluation import figures
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.figures import Figure, Figures, Group, common_figures, figure_of, figures_of, heading_of
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome
from tradefair.tracestore import jsonl_lines, open_trace

MARKETS = sorted(market_names())
PLAYED: Mapping[str, tuple[str, Mapping[str, str], Mapping[str, Any]]] = {
    "teaching": ("teaching/pie", {"P1": "random_legal", "P2": "half"}, {}),
    "double_auction": ("double_auction/smoke", {"B1": "random_legal", "S2": "forfeiter", "B2": "zip", "S1": "zip"}, {}),
    "bargaining": ("bargaining/smoke", {"B1": "linear_concession", "S1": "conceder"}, {"rounds": 8}),
    "retail": ("retail/smoke", {"manager": "reorder_point"}, {}),
    "supply_chain": ("supply_chain/duel", {"retailer_01": "overpayer", "retailer_02": "timid"}, {}),
    "marketplace": ("marketplace/small_demo", {"customer_0001": "first_taker"}, {}),
    "order_book": ("order_book/thin", {"B1": "kaplan", "B2": "zip", "S1": "gd", "S2": "zi_c"}, {"periods": 3}),
    "pricing": ("pricing/smoke", {"F1": "hill_climber", "F2": "nash"}, {"rounds": 8}),
}
"""Scenario, policies of some seats and what is set, so that the figures differ between seats."""
OTHERS = {"retailer": "cost_plus", "customer": "double_payer", "business": "honest"}


def models(market: str) -> tuple[type[BaseModel], type[BaseModel]]:
    """The models of a seat's and of the market's outcome."""
    outcome: type[BaseModel] = get_type_hints(type(evaluator_of(market)).outcomes)["return"]
    market_outcome: Any = outcome.model_fields["market_outcome"].annotation
    return get_args(outcome.model_fields["seats"].annotation)[1], market_outcome


def optional(annotation: Any) -> bool:
    """Whether a value of this type can be null, or have a null in it, records inside left out."""
    parts = get_args(annotation)
    return annotation is type(None) or any(map(optional, parts))


def records(annotation: Any) -> Iterator[Mapping[str, Any]]:
    """The fields of the records in a type, whatever list or mapping they stand in."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield {name: field.annotation for name, field in annotation.model_fields.items()}
    elif isinstance(annotation, type) and hasattr(annotation, "_fields"):
        yield get_type_hints(annotation)
    for part in get_args(annotation):
        yield from records(part)


def fields_of(model: type[BaseModel], base: type[BaseModel] | None = None) -> dict[str, Any]:
    """Dotted names and types of a model's fields, those of `base` left out."""
    known = base.model_fields if base is not None else {}
    found: dict[str, Any] = {}
    todo = [(name, field.annotation) for name, field in model.model_fields.items() if name not in known]
    while todo:
        name, annotation = todo.pop(0)
        found[name] = annotation
        for fields in records(annotation):
            todo += [(f"{name}.{inner}", kind) for inner, kind in fields.items()]
    return found


def unlike(rows: Mapping[str, Figure], fields: Mapping[str, Any]) -> list[str]:
    """Fields without a row, rows without a field, and rows that are wrong about null."""
    # Two tables of the same record: one of them explains it for both.
    fields = {name: kind for name, kind in fields.items() if not name.startswith("profit.by_category.")}
    found = [f"no row: {name}" for name in sorted(fields.keys() - rows.keys())]
    found += [f"no field: {name}" for name in sorted(rows.keys() - fields.keys())]
    for name in rows.keys() & fields.keys():
        if rows[name].null.startswith("never") == optional(fields[name]):
            found.append(f"null of {name}: {rows[name].null!r}")
    return found


def test_every_field_of_a_market_has_a_row_and_every_row_a_field() -> None:
    rows = figures_of("teaching").seat
    fields = fields_of(models("teaching")[0], SeatOutcome)
    assert unlike({}, fields) == ["no row: payoff", "no row: value"]
    assert unlike({**rows, "more": rows["payoff"]}, fields) == ["no field: more"]
    assert unlike({**rows, "value": rows["payoff"]}, fields) == ["null of value: 'never'"]
    for market in MARKETS:
        seat, whole = models(market)
        assert unlike(figures_of(market).seat, fields_of(seat, SeatOutcome)) == [], market
        assert unlike(figures_of(market).market, fields_of(whole, MarketOutcome)) == [], market


def test_fields_of_every_market_have_rows_in_the_common_file() -> None:
    common = common_figures()
    assert unlike(common.seat, fields_of(SeatOutcome)) == []
    whole = {name: kind for name, kind in fields_of(Outcome[Any, Any]).items() if not name.startswith("seats.")}
    assert unlike(common.episode, {**whole, "seats": dict, "market_outcome": dict}) == []


def test_a_row_says_all_five_and_names_are_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in map(figures_of, MARKETS):
        for rows in (found.seat, found.market, found.relative):
            assert all(row.title and row.formula and row.unit and row.null for row in rows.values())
    row = figures_of("teaching").seat["value"].model_dump(exclude_defaults=True)
    assert row.keys() == {"title", "formula", "unit", "null", "better"}
    for missing in row:
        with pytest.raises(ValueError, match=missing):
            Figures.model_validate({"seat": {"value": {name: row[name] for name in row if name != missing}}})
    with pytest.raises(ValueError, match="better"):
        Figures.model_validate({"seat": {"value": {**row, "better": "more"}}})
    monkeypatch.setattr(figures, "_FILE", "evaluator.py")
    with pytest.raises(ScenarioError, match=r"evaluator\.py cannot be used"):
        figures._read.__wrapped__("tradefair.evaluation.markets.teaching")  # pyright: ignore[reportPrivateUsage]


def test_everything_that_commands_print_has_words_for_its_column() -> None:
    for market in MARKETS:
        evaluator = evaluator_of(market)
        rating = evaluator.rating
        seats = {
            *evaluator.seat_columns,
            *evaluator.compared_columns,
            *(item.name for item in evaluator.primary_metrics),
        }
        seats |= {*rating.scores, *rating.seat_figures} if rating else set()
        whole = {*models(market)[1].model_fields, *(rating.market_figures if rating else ())}
        groups: dict[Group, set[str]] = {"seat": seats, "market": whole, "relative": {*figures_of(market).relative}}
        for group, fields in groups.items():
            assert [field for field in fields if figure_of(market, field, group) is None] == [], (market, group)
        # At 80 columns the words above the first columns leave room for figures.
        heads = [heading_of(market, field) for field in seats]
        assert [head for head in heads if len(head) > 20] == [], market
        assert not any("_" in head for head in heads)
    assert heading_of("double_auction", "q_star", "market") == "trades at equilibrium"
    assert figures_of("double_auction").seat["csa_clean"].title == "against a truthful seat (CSα)"
    # A stranger's market that explains nothing.
    assert heading_of("nobodys", "my_field") == "my field"


def test_a_market_without_a_file_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_FILE", "no_such.toml")
    assert figures._read.__wrapped__("tradefair.evaluation") == Figures()  # pyright: ignore[reportPrivateUsage]


# --- pages that are not shipped ---------------------------------------------------------------------------------------

CITED = re.compile(
    r"\b[Pp]age,? \d|\bsection \d|§ ?\d|\b\d+\.\d+ of the page|(^|\s)\(([2-9]|1\d)(\.\d+)?((,| to| and) [\d.]+)*[),]"
)


def citations(text: str) -> list[str]:
    """Lines that cite a section of a page of the design."""
    return [line for line in text.splitlines() if CITED.search(line)]


def test_no_text_about_figures_cites_a_page_that_is_not_shipped() -> None:
    assert citations("gain (retail page, 9)\nfloored (page, section 12)\nshares (9.1)\nsee §4") == [
        "gain (retail page, 9)",
        "floored (page, section 12)",
        "shares (9.1)",
        "see §4",
    ]
    assert citations("page by page, as the 9 were\n(x − 9)") == []
    room = REPO / "evaluation" / "tradefair" / "evaluation"
    texts = [*room.rglob("figures.toml"), REPO / "docs" / "reference" / "figures.md", *room.rglob("*.py")]
    assert len(texts) > 200
    offenders = {f"{path.relative_to(REPO)}: {line.strip()}" for path in texts for line in citations(prose(path))}
    assert not offenders, "\n".join(sorted(offenders))


def prose(path: Path) -> str:
    """The docstrings and comments of a module; the whole of any other file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    said = [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return "\n".join([*said, *(line for line in text.splitlines() if line.lstrip().startswith("#"))])


# --- recomputed from an exported trace --------------------------------------------------------------------------------


def test_what_recomputes_imports_nothing_of_ours() -> None:
    tree = ast.parse(Path(recomputed.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported == {"__future__", "json", "math", "pathlib", "typing"}


@pytest.fixture(scope="module", params=MARKETS)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Any]:
    """A market, an exported trace of it, and the outcome of the trace."""
    market: str = request.param
    scenario, named, settings = PLAYED[market]
    known = market_type(market).create(load_scenario(market, scenario, settings), 3).seats
    policies = {seat: OTHERS.get(spec.role, "") for seat, spec in known.items()} | dict(named)
    folder = tmp_path_factory.mktemp(market)
    path = played_by(folder / "played.trace", scenario, policies, 3, **settings)
    exported = folder / "exported.jsonl"
    with open_trace(path) as trace:
        exported.write_bytes(b"".join(line + b"\n" for line in jsonl_lines(trace)))
    return market, exported, evaluate_file(path).outcome


def test_figures_come_out_again_from_an_exported_trace(played: tuple[str, Path, Any]) -> None:
    market, exported, outcome = played
    trace = recomputed.Trace(exported)
    rows = recomputed.RECOMPUTED[market](trace)
    own = figures_of(market)
    assert len(rows) >= min(5, len(own.seat) + len(own.market))
    assert rows.keys() <= own.seat.keys() | own.market.keys()
    for field, values in (rows | recomputed.of_every_market(trace)).items():
        for seat, value in values.items():
            told = getattr(outcome.market_outcome if seat == "market" else outcome.seats[seat], field)
            assert told == (pytest.approx(value, abs=1e-8) if isinstance(value, float) else value), (field, seat)


def test_what_a_seat_has_beside_references_has_rows_too(played: tuple[str, Path, Any]) -> None:
    market, _, outcome = played
    seat = next(iter(PLAYED[market][1]))
    relative = evaluator_of(market).relative(seat, {"policy:passive": outcome})
    assert {name for values in relative.values() for name in values} == figures_of(market).relative.keys()
