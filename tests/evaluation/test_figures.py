"""Every figure of an outcome is explained, and the explanations of some are tried on exported traces."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from tests.evaluation import recomputed
from tests.evaluation.playing import played_by
from tests.source_code import REPO

from tradefair.catalog import load_scenario, market_names, market_type
from tradefair.evaluation.evaluator import Evaluator, Group, evaluator_of
from tradefair.evaluation.figure import Figure, explained, fields_of, figure, records_in
from tradefair.evaluation.figures import common_figures, figure_of, figures_of, heading_of
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.outcome import MarketOutcome, Outcome, PrimaryMetric, SeatOutcome
from tradefair.evaluation.verdict.terminal import show_evaluations
from tradefair.tracestore import Trace, jsonl_lines, open_trace

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


def optional(annotation: Any) -> bool:
    """Whether a value of this type can be null, or have a null in it, records inside left out."""
    return annotation is type(None) or any(map(optional, get_args(annotation)))


def fields_under(record: type, base: type | None = None) -> dict[str, Any]:
    """Dotted names and types of a record's fields, those of `base` left out."""
    found: dict[str, Any] = {}
    for name, field in fields_of(record).items():
        if base is None or name not in fields_of(base):
            found[name] = field.annotation
            for inner in records_in(field.annotation):
                found |= {f"{name}.{key}": kind for key, kind in fields_under(inner).items()}
    return found


def unlike(rows: Mapping[str, Figure], fields: Mapping[str, Any]) -> list[str]:
    """Fields that say nothing of themselves, those without a formula, and those that are wrong about null."""
    found = [f"no figure: {name}" for name in sorted(fields.keys() - rows.keys())]
    found += [f"no formula: {name}" for name, row in rows.items() if not (row.title and row.formula and row.unit)]
    wrong = [
        name for name in rows.keys() & fields.keys() if rows[name].null.startswith("never") == optional(fields[name])
    ]
    return found + [f"null of {name}: {rows[name].null!r}" for name in wrong]


class Planted(SeatOutcome):
    """Three fields of which nothing is right."""

    bare: int
    silent: int = figure("silent", "points", "lower", on="primary compare", role="buyer")
    wrong: Annotated[float | None, figure("wrong", "points", on="table", scales="silent")] = None
    """never null, it says"""


class Told(Evaluator):
    """Takes from `Planted` what it does not say itself."""

    market_columns = ("efficiency", "more")

    def outcomes(self, trace: Trace) -> Outcome[Planted, MarketOutcome]:
        """Never asked."""
        raise NotImplementedError


def test_every_field_of_a_market_says_what_it_is_and_when_it_is_null() -> None:
    wrong = unlike(explained(Planted), fields_under(Planted))
    assert wrong == ["no figure: bare", "no formula: silent", "null of wrong: 'never'"]
    for market in MARKETS:
        models, known = evaluator_of(market).models, figures_of(market)
        assert unlike(known.seat, fields_under(models["seat"], SeatOutcome)) == [], market
        assert unlike(known.market, fields_under(models["market"])) == [], market
        assert unlike(known.relative, fields_under(models["relative"])) == [], market


def test_fields_of_every_market_are_explained_once() -> None:
    assert unlike(common_figures().seat, fields_under(SeatOutcome)) == []
    assert unlike(common_figures().episode, fields_under(Outcome)) == []


def test_columns_metrics_and_roles_come_from_the_models_unless_the_evaluator_names_them() -> None:
    assert Told.primary_metrics == (PrimaryMetric(name="silent", unit="points", higher_is_better=False),)
    assert (Told.compared_columns, Told.seat_columns) == (("silent",), ("wrong",))
    assert (Told.closeness, Told.fields_of_roles) == ({"wrong": "silent"}, {"buyer": frozenset({"silent"})})
    assert Told.market_columns == ("efficiency", "more")
    # A stranger's `outcomes` may say nothing of what it returns.
    assert type("Silent", (Evaluator,), {"outcomes": str}).models == Evaluator.models


def test_an_evaluation_reads_no_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = played_by(tmp_path / "played.trace", "teaching/pie", {"P1": "half", "P2": "half"}, 3)
    monkeypatch.setattr(inspect, "getsource", None)
    explained.cache_clear()
    show_evaluations([evaluate_file(path)])
    assert heading_of("teaching", "payoff") in capsys.readouterr().out


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
        whole = {*fields_of(evaluator.models["market"]), *(rating.market_figures if rating else ())}
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
    texts = [REPO / "docs" / "reference" / "figures.md", *room.rglob("*.py")]
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
