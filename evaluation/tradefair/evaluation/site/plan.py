"""What a site consists of: units, each with what it is made of and the files that it gives.

Nothing is made here. A unit whose inputs have not changed is not made again (`build.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import orjson

from tradefair.evaluation.ledger import Extent
from tradefair.evaluation.progress import Progress
from tradefair.evaluation.reading import agent_seats, seating_in
from tradefair.evaluation.report.build import Ledgers, episode_page
from tradefair.evaluation.report.packing import pack_json
from tradefair.evaluation.report.page import html_page, shared_assets
from tradefair.evaluation.report.page_data import Packed, PageData
from tradefair.evaluation.report.transcript import transcript_of
from tradefair.evaluation.site.index import glossary, ranked_pages
from tradefair.evaluation.viewer.folder import Place
from tradefair.evaluation.viewer.index import Index
from tradefair.evaluation.viewer.row import Row, versions_of
from tradefair.tracestore import open_trace

# Of the pages' form: another one makes all of them anew.
_FORMAT = "1"
# Characters of an episode's id, the beginning of its head hash.
_ID = 16

Files = Mapping[str, bytes]
"""Contents by path below the site's folder."""


class Wanted(NamedTuple):
    """What the caller asks for: the title, episodes from a date on, prompts published or not, how far ledgers go."""

    title: str
    since: str = ""
    prompts: bool = False
    ledger: Extent = Extent.OFF


class Episode(NamedTuple):
    """A sound trace of the site. `row.id` is the beginning of the head hash, and no time of a file is in it."""

    place: Place
    row: Row
    beside: str


class Unit(NamedTuple):
    """Files that are made together, from what `inputs` is the digest of."""

    name: str
    inputs: str
    make: Callable[[], Files]


class Plan(NamedTuple):
    """The units of a site, its episodes, and what is left out: (path, reason)."""

    units: Sequence[Unit]
    episodes: Sequence[Episode]
    left_out: Sequence[tuple[str, str]]


def plan_site(
    index: Index, wanted: Wanted, *, drawn: bool, progress: Progress | None = None, ledgers: Ledgers | None = None
) -> Plan:
    """What the site of a folder consists of; evaluates and re-executes what the index does not know yet.

    `drawn`: with pictures as SVG files; `ledgers` adds what turns lost. References are no episodes; what is not
    reproduced, or is still played, is left out with its reason.
    """
    episodes, left_out = _sorted_out(index, wanted.since, progress)
    assets = shared_assets()
    known = [version("tradefair"), _FORMAT, *assets, *sorted({versions_of(episode.row.market) for episode in episodes})]
    markets = sorted({episode.row.market for episode in episodes})
    units = [
        Unit("assets", _digest([*assets]), lambda: {f"assets/{name}": content for name, content in assets.items()}),
        Unit("figures", _digest(known), partial(_figures, markets)),
    ]
    for episode in episodes:
        made_of = [episode.row.model_dump(mode="json"), episode.beside, wanted.prompts, wanted.ledger, known]
        make = partial(_page, index, episode, wanted.prompts, ledgers)
        units.append(Unit(f"episode/{episode.row.id}", _digest(made_of), make))
    rows = [[episode.row.model_dump(mode="json"), episode.beside] for episode in episodes]
    inputs = _digest([rows, left_out, wanted.title, drawn, known])
    played = [(item.place, item.row) for item in episodes]
    make = partial(ranked_pages, index, wanted.title, played, left_out, drawn)
    return Plan([*units, Unit("boards", inputs, make)], episodes, left_out)


def _sorted_out(index: Index, since: str, progress: Progress | None) -> tuple[list[Episode], list[tuple[str, str]]]:
    """Each sound episode once, in an order that no file name or time decides; the others with their reasons."""
    found: dict[str, Episode] = {}
    left_out: list[tuple[str, str]] = []
    for place, row in index.judged_rows(progress):
        judged = row.judged
        if row.state == "running":
            left_out.append((row.path, "still being played"))
        elif judged is None or judged.problem is not None:
            left_out.append((row.path, row.problem or (judged.problem if judged else "") or "cannot be read"))
        elif judged.refused:
            left_out.append((row.path, f"{judged.refused} ({judged.check}): {judged.text}"))
        elif row.created >= since:
            # Times of files are of this machine: a copy of the folder gives the same site.
            public = row.model_copy(update={"id": judged.head[:_ID], "changed": ""})
            found.setdefault(public.id, Episode(place, public, index.beside(place)))
    return sorted(found.values(), key=_order), left_out


def _order(item: Episode) -> tuple[object, ...]:
    row = item.row
    return row.market, row.scenario, row.seed or 0, row.players, row.id


def _page(index: Index, episode: Episode, prompts: bool, ledgers: Ledgers | None) -> Files:
    """The report of one episode."""
    page = episode_page(episode.place.path, check=index.check(episode.place), ledgers=ledgers)
    # Next steps are commands that name folders of this machine.
    changed: dict[str, object] = {"verdict": page.verdict.model_copy(update={"next": ()})}
    if page.diagnosis is not None:
        # The cases that a page shows stand in its `raised`; a third of its bytes would be the same once more.
        findings = [finding.model_copy(update={"cases": []}) for finding in page.diagnosis.findings]
        changed["diagnosis"] = page.diagnosis.model_copy(update={"findings": findings})
    if not prompts:
        changed["transcript"] = _replies(episode.place.path)
    page = page.model_copy(update=changed)
    data = PageData(mode="report", version=version("tradefair"), episodes=[page])
    return {f"episode/{episode.row.id}.html": html_page(data, shared="../assets/", home="../index.html")}


def _replies(path: Path) -> Packed:
    """The transcript without what the models were sent."""
    with open_trace(path) as trace:
        seats = transcript_of(trace, agent_seats(seating_in(trace)))
    for seat in seats:
        seat.update(messages=[], tools=[], remark="the prompts are not published: replies only")
        for call in seat["calls"]:
            call.update(same=0, shown=[], new=[], tools=-1)
    return pack_json(seats)


def _figures(markets: Sequence[str]) -> Files:
    return {"figures.html": html_page(glossary(markets), shared="assets/", home="index.html")}


def _digest(content: object) -> str:
    return sha256(orjson.dumps(content)).hexdigest()
