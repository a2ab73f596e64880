"""What `tradefair check marketplace --data DIR` says about a data set: its faults, baselines and ceilings.

Money is shown in currency units, as text with two decimals; exact figures stay fractions of a cent. Shares are
rounded to six decimals.
"""

from __future__ import annotations

from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from tradefair.contract.market import DataCheck
from tradefair.contract.money import cents_text, from_minor
from tradefair.marketplace.analysis import Baselines, Ceiling, Expectation, baselines, ceilings, match_sets
from tradefair.marketplace.data.loader import read_folder
from tradefair.marketplace.model import BASIS_POINTS

# The scenario's default α = 2: what is checked is what would be played.
DEFAULT_MULTIPLIER_BP = 2 * BASIS_POINTS
# The page sizes of the plan `consideration_set`.
PAGE_SIZES = (1, 3, 10, 30, 100)
_SHARE_DECIMALS = 6


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BaselineReport(_Part):
    """A baseline: its expectation to the cent and exactly, its standard deviation, its share of the optimum.

    The share is None where the optimum is not positive.
    """

    expected: str
    # Text: a fraction of a cent has no exact float.
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
    """The figures of a data set at list prices; `baselines` by name, `by_customer` in order of the data.

    `price_ties` to `cheapest_fits` count customers; `first_best` is the surplus at exact floors.
    """

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
    """Faults, what was ignored, and the figures; `measures` is null when the data cannot be played."""

    # Problems stop the data from being played, findings do not.
    problems: list[str]
    findings: list[str]
    measures: Measures | None


def check_folder(folder: str, multiplier_bp: int = DEFAULT_MULTIPLIER_BP) -> DataCheck:
    """Read the data set in `folder` and measure it with V = `multiplier_bp`/10,000 · Σ mean.

    Never raises for the content: what is wrong with it is in the report, by file and field.
    """
    loaded = read_folder(folder)
    problems, findings = list(loaded.problems), list(loaded.findings)
    # The problems are the result: a check of damaged data must not end in a traceback.
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
        # Next to `optimal`, which buys even at a loss: they differ where some customer is better off without.
        optimal_or_nothing=from_minor(found.optimal_or_nothing),
        # Exact floors: whole cents are what sellers can offer, and would move the figure by up to a cent a customer.
        first_best=cents_text(found.first_best_unrounded),
        first_best_exact_cents=str(found.first_best_unrounded),
        price_ties=found.price_ties,
        no_match=found.no_match,
        no_fit=found.no_fit,
        cheapest_fits=found.cheapest_fits,
        ceilings=[_ceiling_report(ceiling, found.optimal) for ceiling in ceilings(catalogue, sets, PAGE_SIZES)],
        by_customer=[
            CustomerReport(
                id=customer.id,
                value=from_minor(found_for.value),
                matches=len(found_for.matches),
                fits=len(found_for.fits),
                cheapest_tied=len(found_for.cheapest) > 1,
            )
            for customer, found_for in zip(catalogue.customers, sets, strict=True)
        ],
    )
    report = DataReport(problems=problems, findings=findings, measures=measures)
    return DataCheck(report, _rows(measures), loaded.problems)


def _baseline_reports(found: Baselines) -> dict[str, BaselineReport]:
    # The optimum is no draw: a row without variance, so that all rows have the same columns.
    certain = Expectation(Fraction(found.optimal), Fraction(0))
    rows = {
        "random_items": found.random_items,
        "cheapest": found.cheapest,
        "random_items_and_amenities": found.random_fits,
        "optimal": certain,
    }
    return {
        name: BaselineReport(
            expected=cents_text(row.mean),
            exact_cents=str(row.mean),
            deviation=cents_text(row.deviation),
            share_of_optimal=_share(row.mean, found.optimal),
        )
        for name, row in rows.items()
    }


def _ceiling_report(ceiling: Ceiling, optimal: int) -> CeilingReport:
    return CeilingReport(
        query=ceiling.query,
        page_size=ceiling.page_size,
        welfare=from_minor(ceiling.welfare),
        share_of_optimal=_share(Fraction(ceiling.welfare), optimal),
        recall=None if ceiling.recall is None else round(float(ceiling.recall), _SHARE_DECIMALS),
    )


def _share(part: Fraction, optimal: int) -> float | None:
    return round(float(part / optimal), _SHARE_DECIMALS) if optimal > 0 else None


def _rows(measures: Measures) -> tuple[tuple[str, str, str], ...]:
    """The figures as a person reads them: what, how much, share of the optimum."""
    rows = [
        ("customers / businesses", f"{measures.customers} / {measures.businesses}", ""),
        ("value of all orders", measures.value, ""),
    ]
    for name, baseline in measures.baselines.items():
        rows.append((f"baseline {name}", baseline.expected, _shown(baseline.share_of_optimal)))
    for ceiling in measures.ceilings:
        label = f"ceiling {ceiling.query}, {ceiling.page_size} results"
        rows.append((label, ceiling.welfare, _shown(ceiling.share_of_optimal)))
    rows.append(("first best at floors", measures.first_best, ""))
    rows.append(("cheapest match fits", f"{measures.cheapest_fits} of {measures.customers}", ""))
    rows.append(("no match / no fit", f"{measures.no_match} / {measures.no_fit}", ""))
    rows.append(("ties of the cheapest price", str(measures.price_ties), ""))
    return tuple(rows)


def _shown(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"
