"""What `tradefair check supply_chain --data DIR` says of a folder: tribes, texts, items, what is wrong."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tradefair.contract import ScenarioError
from tradefair.contract.market import DataCheck
from tradefair.contract.money import from_minor
from tradefair.contract.scenario import build_scenario
from tradefair.supply_chain.data.bundled import GENERIC, bundled_slogans
from tradefair.supply_chain.data.data_source import TABLES, DataFile, lacks_data, parse_tables, read_file, with_data
from tradefair.supply_chain.engine import lexical
from tradefair.supply_chain.model import Item, SupplyChainScenario, Tribe

# A wrong folder, such as a home directory, should not be read for minutes.
_LIMIT_FILES = 100
_CHECK_ID = "supply_chain/data"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TribeReport(_Part):
    """One tribe: share of the buyers, λ, μ, and how many persona texts it has."""

    id: str
    weight: float
    sensitivity: float
    reservation_centre: float
    texts: int


class PersonasReport(_Part):
    """A file of tribes. `calibration_gap` (lexical embedder) is null where no tribe has a bundled slogan."""

    file: str
    sha256: str
    tribes: list[TribeReport]
    texts: int
    calibration_gap: float | None


class ItemReport(_Part):
    """One item of a catalogue; base in currency units."""

    id: str
    label: str
    category: str
    quantity: int
    base: str


class ItemsReport(_Part):
    """A file of items; units per round, and their value at base prices in currency units."""

    file: str
    sha256: str
    items: list[ItemReport]
    units: int
    value: str


class DataReport(_Part):
    """The whole report. `problems` cannot be played; `findings` can, and should be known."""

    problems: list[str]
    findings: list[str]
    personas: list[PersonasReport]
    items: list[ItemsReport]
    scenarios: list[str]


def check_folder(folder: str) -> DataCheck:
    """Reads every `.toml` file of the folder, as one of tribes, of items, or a scenario; never raises for a file."""
    report = DataReport(problems=[], findings=[], personas=[], items=[], scenarios=[])
    base = Path(folder)
    # One more than the limit: enough to know that there are more.
    names = sorted(path.name for path in islice(base.glob("*.toml"), _LIMIT_FILES + 1))
    if not names:
        report.problems.append(
            "the folder holds no .toml file; see docs/explanation/markets/supply_chain.md for what one holds"
        )
    if len(names) > _LIMIT_FILES:
        report.problems.append(f"more than {_LIMIT_FILES} .toml files; the others are not checked")
    for name in names[:_LIMIT_FILES]:
        try:
            _check_file(base, read_file(base, name), report)
        except ScenarioError as error:
            report.problems.append(str(error))
    return DataCheck(report, _rows(report), tuple(report.problems))


def _check_file(folder: Path, file: DataFile, report: DataReport) -> None:
    """Add what a file holds to the report. Raises ScenarioError for what cannot be played."""
    # Only scenarios have an id; the other two kinds are told apart by their table.
    if "id" in file.content:
        scenario = build_scenario(SupplyChainScenario, file.content, source=file.name)
        # A scenario of this folder names files of this folder, or it could not be played from it.
        if lacks_data(with_data(scenario, str(folder))):
            raise ScenarioError(f"{file.name}: data: names a file that is not in this folder")
        report.scenarios.append(file.name)
    elif TABLES["items"] in file.content:
        report.items.append(_items_report(file))
    else:
        _check_personas(file, report)


def _check_personas(file: DataFile, report: DataReport) -> None:
    """Report a file of tribes, and the texts that the lexical embedder has no word for."""
    tables = parse_tables("personas", file)
    scenario = build_scenario(SupplyChainScenario, {"id": _CHECK_ID, "tribes": tables}, source=file.name)
    tribes = scenario.tribes
    # Calibration needs slogans that were written for a tribe; only bundled ids have them.
    slogans = [tribe.id for tribe in tribes if tribe.id in bundled_slogans() and tribe.id != GENERIC]
    report.personas.append(
        PersonasReport(
            file=file.name,
            sha256=file.sha256,
            tribes=[_tribe_report(tribe) for tribe in tribes],
            texts=len(scenario.persona_texts),
            calibration_gap=scenario.calibration_gap if slogans else None,
        )
    )
    for place, tribe in enumerate(tribes):
        # No fault: the scenario can be played. But such a text is found by equal words only, and its tribe may hear no
        # slogan.
        unknown = [number for number, text in enumerate(tribe.texts) if not lexical.knows(text)]
        if unknown:
            places = ", ".join(map(str, unknown))
            report.findings.append(
                f"{file.name}: tribes.{place}.texts ({places}) of {tribe.id}: no word of the lexicon; the lexical "
                "embedder finds a slogan close by equal words only"
            )
    if not slogans:
        report.findings.append(
            f"{file.name}: no tribe is one of the bundled slogans' ({', '.join(lexical.GROUPS)}): there is no "
            "calibration gap, and tau = auto is refused; scripted retailers keep the bundled slogans"
        )


def _tribe_report(tribe: Tribe) -> TribeReport:
    return TribeReport(
        id=tribe.id,
        weight=tribe.weight,
        sensitivity=tribe.sensitivity,
        reservation_centre=tribe.reservation_centre,
        texts=len(tribe.texts),
    )


def _items_report(file: DataFile) -> ItemsReport:
    """Report a file of items. Raises ScenarioError for what cannot be traded."""
    tables = parse_tables("items", file)
    # The other values refuse as little as possible: only the items are on trial here.
    content = {"id": _CHECK_ID, "items": tables, "tick": "0.01", "retailers": 2, "funds_factor": 10.0}
    items = build_scenario(SupplyChainScenario, content, source=file.name).items
    return ItemsReport(
        file=file.name,
        sha256=file.sha256,
        items=[_item_report(item) for item in items],
        units=sum(item.quantity for item in items),
        value=from_minor(sum(item.quantity * item.base_cents for item in items)),
    )


def _item_report(item: Item) -> ItemReport:
    return ItemReport(id=item.id, label=item.label, category=item.category, quantity=item.quantity, base=item.base)


def _rows(report: DataReport) -> tuple[tuple[str, str, str], ...]:
    """The report as a person reads it: what, how much."""
    rows: list[tuple[str, str]] = []
    for personas in report.personas:
        rows.append((f"{personas.file}: tribes / texts", f"{len(personas.tribes)} / {personas.texts}"))
        rows += [(f"  {row.id}", f"{row.weight:.0%} of the buyers; texts: {row.texts}") for row in personas.tribes]
        gap = "–" if personas.calibration_gap is None else f"{personas.calibration_gap:.3f}"
        rows.append(("  calibration gap (lexical)", gap))
        rows.append(("  SHA-256", f"{personas.sha256[:12]}…"))
    for items in report.items:
        rows.append((f"{items.file}: items / units", f"{len(items.items)} / {items.units}"))
        rows += [(f"  {item.id}", f"{item.quantity} {item.category} at {item.base}") for item in items.items]
        rows.append(("  value of a round at base", items.value))
        rows.append(("  SHA-256", f"{items.sha256[:12]}…"))
    rows += [(name, "a scenario that can be loaded") for name in report.scenarios]
    rows += [("note", finding) for finding in report.findings]
    return tuple((what, figure, "") for what, figure in rows)
