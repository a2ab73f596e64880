"""What competent policies do too: base rates of every mode, shipped per preset, and the order of findings by them.

Made by `python -m benchmarks.references`, read lazily: a file per preset in the folder `references` of a market's room.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from tradefair.catalog import load_scenario
from tradefair.contract import SeatId, TradefairError
from tradefair.contract.chain import canonical, digest
from tradefair.contract.kernel.event import ManifestCore
from tradefair.evaluation.modes.diagnosis import BaseRate, Finding
from tradefair.evaluation.modes.judged import Sight
from tradefair.evaluation.record import Record

MAY_DIFFER = ("seats", "rivals", "description", "record", "timing")
"""Parameters that change who plays or what is stored, and nothing of the market that scripted policies meet."""
MOST_FALSE = Fraction(3, 10)
"""Findings that a competent seat may have, on average: more say that competent play looks so in this market."""
_Z = 1.959963984540054
"""97.5 % quantile of the normal distribution, for Wilson's interval."""


class ModeRate(Record):
    """One mode, at a version of its row, in the seats of the competent references.

    `raised` of `of` seats; `by` the same per policy; `p95` the 95th percentile of its count.
    """

    version: int
    raised: int
    of: int
    p95: float
    by: Mapping[str, tuple[int, int]] = {}


class PolicyRow(Record):
    """A policy's primary metric over the seats that it played: how many, mean, standard deviation."""

    n: int
    mean: float
    sd: float


class SeatRates(Record):
    """What is said of `seats` seats of competent policies: how many findings are raised in one of them, the mean.

    Of their `ledgers`, without those of seats in which no known policy earns anything: the median of the gaps, and the
    95th percentile of what a turn lost or gained, both in the unit of the market's first metric.
    """

    seats: int
    findings: float
    ledgers: int
    median_gap: float | None = None
    noise: float | None = None


class References(Record):
    """A file of base rates.

    `scenario_digest` is that of the scenario without who plays; `competent` are the policies whose means reach half of
    the way from `naive` to `best`; `rows` has all policies that were played on `seeds` seeds, the privileged ones too.
    `modes` and `usual` are of the competent ones on the first `rated` seeds.
    """

    preset: str
    scenario_digest: str
    rules_version: str
    seeds: int
    competent: list[str]
    best: str
    naive: str
    rows: dict[str, PolicyRow]
    rated: int = 0
    modes: dict[str, ModeRate]
    usual: SeatRates | None = None


def scenario_key(scenario: Mapping[str, Any]) -> str:
    """Digest of what a scenario says of the market itself, not of who plays."""
    return digest(canonical({name: value for name, value in scenario.items() if name not in MAY_DIFFER}))


def as_shipped(core: ManifestCore, preset: str) -> bool:
    """Whether a scenario is this preset of its market, whoever plays: changed by one number, it is another market.

    False where the preset is not installed.
    """
    return scenario_key(core.scenario) == _preset_key(core.market, preset)


@lru_cache(maxsize=32)
def _preset_key(market: str, preset: str) -> str | None:
    try:
        return scenario_key(load_scenario(market, preset).model_dump(mode="json"))
    except TradefairError:
        return None


def shipped(package: str, scenario: Mapping[str, Any], rules_version: str) -> References | None:
    """What `package` ships for this very scenario (its whole content) and these rules; None where it ships nothing."""
    # An id is `market/preset`; the file is named after the preset.
    found = _shipped(package, str(scenario.get("id", "")).partition("/")[2])
    if found is None or found.rules_version != rules_version:
        return None
    return found if found.scenario_digest == scenario_key(scenario) else None


@cache
def _shipped(package: str, preset: str) -> References | None:
    # A preset's name comes from a manifest: it may not lead out of the folder.
    if not preset.replace("_", "").isalnum():
        return None
    try:
        file = files(package).joinpath("references", f"{preset}.json")
        return References.model_validate_json(file.read_bytes())
    except (OSError, ModuleNotFoundError, ValueError):
        return None


def mode_rates(found: Iterable[tuple[str, Finding]], versions: Mapping[str, int]) -> dict[str, ModeRate]:
    """How often each mode is raised, from the findings of single seats with the policies that sat in them.

    A finding that another one tells was raised, too. A mode for which nothing could be looked has a rate of 0 seats.
    """
    cases: dict[str, list[tuple[str, bool, int]]] = {mode: [] for mode in versions}
    for policy, finding in found:
        if finding.checked:
            raised = finding.status in ("raised", "condition", "merged")
            # What is found in no seat is one finding of them all, and the count is theirs together.
            cases[finding.id].append((policy, raised, finding.count if len(finding.seats) == 1 else 0))
    return {mode: _rate(versions[mode], seats) for mode, seats in cases.items()}


def _rate(version: int, seats: Sequence[tuple[str, bool, int]]) -> ModeRate:
    of, raised = Counter(policy for policy, _, _ in seats), Counter(policy for policy, hit, _ in seats if hit)
    by = {policy: (raised[policy], of[policy]) for policy in raised}
    p95 = percentile_95([count for _, _, count in seats])
    return ModeRate(version=version, raised=raised.total(), of=len(seats), p95=p95, by=by)


def percentile_95(values: Sequence[float]) -> float:
    """The smallest of the numbers that at least 95 % of them do not pass; 0 of none."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1] if values else 0.0


class Played(NamedTuple):
    """What known policies did on this very seed, by the seat that they were put into, in place of base rates."""

    policies: Sequence[str]
    rates: Mapping[SeatId, Mapping[str, ModeRate]]


def conditions(rates: Mapping[str, ModeRate]) -> set[str]:
    """The modes that competent policies raise most, as many as have to go for the others to come to `MOST_FALSE`."""
    shares = sorted((Fraction(rate.raised, rate.of), mode) for mode, rate in rates.items() if rate.raised)
    usual = set[str]()
    while sum(share for share, _ in shares) > MOST_FALSE:
        usual.add(shares.pop()[1])
    return usual


def rate(sights: Iterable[Sight], references: References | None, played: Played | None = None) -> None:
    """Give every sight its base rate; a raised one becomes a condition where competent policies raise it as well.

    It stays raised where its count lies above the 95th percentile of the references'. Rates of another
    version of a mode's row are of another mode and are left out. Of the few that were `played` one is enough: they met
    the same luck as the agent.
    """
    shared = conditions(references.modes) if references and not played else ()
    for sight in sights:
        rates = played.rates.get(sight.seat, {}) if played else references.modes if references else {}
        known = rates.get(sight.id)
        if known is None or not known.of or known.version != sight.mode.version:
            continue
        low, high = wilson(known.raised, known.of)
        sight.rate = BaseRate(raised=known.raised, of=known.of, low=low, high=high)
        enough = known.raised > 0 if played else sight.id in shared
        usual = enough and len(sight.seen.cases) <= known.p95
        if sight.status == "raised" and usual:
            sight.status = "condition"


def wilson(raised: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (Wilson 1927, eq. 5); `of` > 0."""
    share, square = raised / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = _Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)


def ranked(findings: Sequence[Finding], agents: Collection[SeatId] = ()) -> list[Finding]:
    """The findings, with the rank of those raised: what kept a seat from acting first, then what the ledger says.

    Those of `agents` stand before those of the seats that scripted policies play, and those whose turns lost more
    before others; equals keep the order of their tables.
    """
    raised = [place for place, finding in enumerate(findings) if finding.raised]
    weights = {place: _weight(findings[place], agents) for place in raised}
    # Stable: of two of equal weight the one that its table lists first.
    order = {place: rank for rank, place in enumerate(sorted(raised, key=weights.__getitem__), 1)}
    return [finding.model_copy(update={"rank": order.get(place)}) for place, finding in enumerate(findings)]


def _weight(finding: Finding, agents: Collection[SeatId]) -> tuple[bool, bool, float]:
    return finding.seats[0] not in agents, not finding.protocol, -(finding.lost or 0.0)
