"""What `tradefair scenarios check marketplace --data DIR` says of a data set: its faults, baselines and ceilings."""

from __future__ import annotations

from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from tradefair.contract.market import DataCheck
from tradefair.contract.money import divide_half_even, from_minor
from tradefair.marketplace.analysis import Baselines, Ceiling, Expectation, baselines, ceilings, match_sets
from tradefair.marketplace.data.loader import read_folder
from tradefair.marketplace.model import BASIS_POINTS

DEFAULT_MULTIPLIER_BP = 2 * BASIS_POINTS
PAGE_SIZES = (1, 3, 10, 30, 100)
_SHARE_DECIMALS = 6


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BaselineReport(_Part):
    """A baseline in currency units: expectation to the cent and exactly, its deviation, its share of the optimum."""

    expected: str
    exact_cents: str
    deviation: str
    share_of_optimal: float | None


class CeilingReport(_Part):
    """A search-limited ceiling in currency units, and the share of all fitting businesses that is on the page."""

    query: str
    page_size: int
    welfare: str
    share_of_optimal: float | None
    recall: float | None


class CustomerReport(_Part):
    """One customer: value in currency units, businesses with all items (B_i), those with all amenities too (A_i)."""

    id: str
    value: str
    matches: int
    fits: int
    cheapest_tied: bool


class Measures(_Part):
    """The figures of a data set at list prices; money in currency units."""

    customers: int
    businesses: int
    value_multiplier_bp: int
    value: str
    baselines: dict[str, BaselineReport]
    optimal_or_nothing: str
    first_best: str
    first_best_exact_cents: str
    price_ties: int
    no_match: int
    no_fit: int
    cheapest_fits: int
    ceilings: list[CeilingReport]
    by_customer: list[CustomerReport]


class DataReport(_Part):
    """The whole report; `measures` is null when the data cannot be played."""

    problems: list[str]
    findings: list[str]
    measures: Measures | None


def check_folder(folder: str, multiplier_bp: int = DEFAULT_MULTIPLIER_BP) -> DataCheck:
    """Reads the data set in `folder` and measures it with V = `multiplier_bp`/10,000 · Σ mean."""
    loaded = read_folder(folder)
    problems, findings = list(loaded.problems), list(loaded.findings)
    if loaded.catalogue is None:
        return DataCheck(DataReport(problems=problems, findings=findings, measures=None), (), loaded.problems)
    catalogue = loaded.catalogue
    sets = match_sets(catalogue, multiplier_bp)
    found = baselines(sets)
    measures = Measures(
        customers=len(catalogue.customers),
        businesses=len(catalogue.businesses),
        value_multiplier_bp=multiplier_bp,
        value=from_minor(found.value),
        baselines=_baseline_reports(found),
        optimal_or_nothing=from_minor(found.optimal_or_nothing),
        first_best=from_minor(found.first_best),
        first_best_exact_cents=str(found.first_best_unrounded),
        price_ties=found.price_ties,
        no_match=found.no_match,
        no_fit=found.no_fit,
        cheapest_fits=found.cheapest_fits,
        ceilings=[_ceiling_report(each, found.optimal) for each in ceilings(catalogue, sets, PAGE_SIZES)],
        by_customer=[
            CustomerReport(
                id=customer.id,
                value=from_minor(each.value),
                matches=len(each.matches),
                fits=len(each.fits),
                cheapest_tied=len(each.cheapest) > 1,
            )
            for customer, each in zip(catalogue.customers, sets, strict=True)
        ],
    )
    report = DataReport(problems=problems, findings=findings, measures=measures)
    return DataCheck(report, _rows(measures), loaded.problems)


def _baseline_reports(found: Baselines) -> dict[str, BaselineReport]:
    certain = Expectation(Fraction(found.optimal), Fraction(0))
    rows = {
        "random_items": found.random_items,
        "cheapest": found.cheapest,
        "random_items_and_amenities": found.random_fits,
        "optimal": certain,
    }
    return {
        name: BaselineReport(
            expected=_currency(each.mean),
            exact_cents=str(each.mean),
            deviation=f"{each.deviation / 100:.2f}",
            share_of_optimal=_share(each.mean, found.optimal),
        )
        for name, each in rows.items()
    }


def _ceiling_report(each: Ceiling, optimal: int) -> CeilingReport:
    return CeilingReport(
        query=each.query,
        page_size=each.page_size,
        welfare=from_minor(each.welfare),
        share_of_optimal=_share(Fraction(each.welfare), optimal),
        recall=None if each.recall is None else round(float(each.recall), _SHARE_DECIMALS),
    )


def _currency(cents: Fraction) -> str:
    """To the nearest cent."""
    return from_minor(divide_half_even(cents.numerator, cents.denominator))


def _share(part: Fraction, optimal: int) -> float | None:
    return round(float(part / optimal), _SHARE_DECIMALS) if optimal > 0 else None


def _rows(measures: Measures) -> tuple[tuple[str, str, str], ...]:
    """The figures as a person reads them: what, how much, share of the optimum."""
    rows = [
        ("customers / businesses", f"{measures.customers} / {measures.businesses}", ""),
        ("value of all orders", measures.value, ""),
    ]
    for name, each in measures.baselines.items():
        rows.append((f"baseline {name}", each.expected, _shown(each.share_of_optimal)))
    for each in measures.ceilings:
        rows.append((f"ceiling {each.query}, {each.page_size} results", each.welfare, _shown(each.share_of_optimal)))
    rows.append(("first best at floors", measures.first_best, ""))
    rows.append(("cheapest match fits", f"{measures.cheapest_fits} of {measures.customers}", ""))
    rows.append(("no match / no fit", f"{measures.no_match} / {measures.no_fit}", ""))
    rows.append(("ties of the cheapest price", str(measures.price_ties), ""))
    return tuple(rows)


def _shown(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"
