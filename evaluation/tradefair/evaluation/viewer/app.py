"""The pages of the viewer and the data that they ask for. Files are read in threads, one evaluation at a time.

Everything is read-only: no request changes a file, and a running episode is read without its lease.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import anyio
import orjson
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tradefair.contract import TraceError, TradefairError
from tradefair.evaluation.compare.comparing import Options, compare_sides
from tradefair.evaluation.compare.runs import load_files
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.prove.verify import Check, Checker, verify_file
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.results import GameResult, Unread, gathered, read_files
from tradefair.evaluation.report.boards import Boards, boards_of
from tradefair.evaluation.report.build import Ledgers, episode_page, verification
from tradefair.evaluation.report.comparison_figure import figure_of
from tradefair.evaluation.report.events import pack_bodies, read_events
from tradefair.evaluation.report.outputs import page_of
from tradefair.evaluation.report.page import html_page
from tradefair.evaluation.report.page_data import EpisodePage, Live, PageData
from tradefair.evaluation.report.pair import pair_page
from tradefair.evaluation.report.runs import Asked
from tradefair.evaluation.viewer.folder import Folder, Place
from tradefair.evaluation.viewer.index import Index, Remembered
from tradefair.evaluation.viewer.listing import Listing, listing_of
from tradefair.evaluation.viewer.shield import Shield
from tradefair.evaluation.wings import of_wing
from tradefair.files.folders import cache_folder
from tradefair.tracestore import MAX_TRACES, Trace, is_reference, open_trace

# The list asks for verdicts a few at a time; a request that names thousands would keep the only slow worker busy.
_MAX_IDS = 64
_MAX_COMPARED = 500
# Live traces that are checked as they grow: each holds a market in memory.
_MAX_FOLLOWED = 8
# Characters. The page polls every second, and the whole text of an event is one click away.
_LIVE_TEXT = 16_384
_REPLY = 1_000

T = TypeVar("T")


def viewer_app(folder: Folder, hosts: Iterable[str], ledgers: Ledgers | None = None) -> ASGIApp:
    """The ASGI application for one folder. `hosts` are the values of the Host header that are answered.

    Rows of a folder are remembered in the user's cache; those of copies, which go with the viewer, in memory.

    `/` lists the traces, `?q=` filters them; `/trace/ID` and `/compare/ID/ID` are pages; what ends in `.json` is data
    that pages ask for. `ledgers` says what turns lost, of a trace whose page is opened; without it no page does.
    """
    viewer = _Viewer(folder, ledgers)
    routes = [
        Route("/", viewer.list_page),
        Route("/rows.json", viewer.rows_json),
        Route("/judged.json", viewer.judged_json),
        Route("/leaderboards", viewer.leaderboards_page),
        Route("/leaderboards.json", viewer.leaderboards_json),
        Route("/trace/{id}", viewer.trace_page),
        Route("/trace/{id}/page.json", viewer.page_json),
        Route("/trace/{id}/ledger.json", viewer.ledger_json),
        Route("/trace/{id}/live.json", viewer.live_json),
        Route("/trace/{id}/verify.json", viewer.verify_json),
        Route("/trace/{id}/event/{seq}.json", viewer.event_json),
        Route("/compare/{a}/{b}", viewer.compare_page),
        Route("/versus", viewer.versus_page),
    ]
    return Shield(Starlette(routes=routes), hosts)


class _Viewer:
    """One folder with what is remembered of its files."""

    def __init__(self, folder: Folder, ledgers: Ledgers | None) -> None:
        self._folder = folder
        self._ledgers = ledgers
        self._index = Index(folder, cache_folder() if folder.leases else None)
        # Entries, not bytes: a page can be megabytes, hence only four.
        self._verdicts = Remembered[Check](1_000)
        # Live traces, each with its market as of the last check.
        self._checkers: dict[str, Checker] = {}
        self._pages = Remembered[EpisodePage](4)
        # With what turns lost: asked for apart, since it plays dozens of episodes.
        self._priced = Remembered[EpisodePage](4)
        self._results = Remembered[GameResult | Unread](100_000)
        # Evaluations keep a core busy: one at a time leaves the other for the pages.
        self._slow = anyio.CapacityLimiter(1)
        # Thousands of traces are read for minutes, and ledgers are played; pages of one trace do not wait for that.
        self._long = anyio.CapacityLimiter(1)

    # --- pages ---

    async def list_page(self, request: Request) -> Response:
        """The traces that the filter in the address lets through; nothing is evaluated for it."""
        data = PageData(
            mode="list",
            version=version("tradefair"),
            listing=(await self._listing(request)).model_dump(mode="json"),
            folder=self._folder.root.name or "/",
        )
        return _html(data)

    async def trace_page(self, request: Request) -> Response:
        """One trace, without verification: the page asks for that apart, because it takes as long as playing did."""
        place = self._place(request, "id")
        page = await self._page(place)
        return _html(self._data("report", [place], [page]))

    async def compare_page(self, request: Request) -> Response:
        """Two traces side by side, and their first decision that differs. 422 when one cannot be read."""
        places = [self._place(request, "a"), self._place(request, "b")]
        pages = [await self._page(place) for place in places]
        pair = await self._work(partial(pair_page, places[0].path, places[1].path), self._slow)
        return _html(self._data("compare", places, pages).model_copy(update={"pair": pair}))

    async def versus_page(self, request: Request) -> Response:
        """The comparison of the two players of the traces that `ids` names (separated by commas).

        400 unless exactly two players sit in the seats under test; 422 where their episodes cannot be compared.
        """
        ids = request.query_params.get("ids", "").split(",")[:_MAX_COMPARED]
        places = [place for trace_id in ids if (place := self._folder.find(trace_id)) is not None]
        players: dict[str, list[Path]] = {}
        for row, place in zip(await to_thread.run_sync(self._index.known, places), places, strict=True):
            players.setdefault(", ".join(row.players), []).append(place.path)
        if len(players) != 2:
            raise HTTPException(400, f"a comparison is between two players; these are {len(players)}")

        def work() -> PageData:
            a, b = (load_files(self._folder.root, paths) for paths in players.values())
            return page_of(figure_of(compare_sides(a, b, Options())))

        return _html(await self._work(work, self._slow))

    async def leaderboards_page(self, _: Request) -> Response:
        """The leaderboards of the folder; the page asks for them, and says so while it waits."""
        folder = self._folder.root.name or "/"
        return _html(PageData(mode="boards", version=version("tradefair"), folder=folder, ask="/leaderboards.json"))

    # --- data ---

    async def leaderboards_json(self, _: Request) -> Response:
        """Every trace of the folder rated; what was read before is remembered."""
        boards = await to_thread.run_sync(self._rate, limiter=self._long)
        return _json({"pages": [page.model_dump(mode="json") for page in boards.pages], "rated": boards.rated})

    async def rows_json(self, request: Request) -> Response:
        """The same rows for a page that is open: `q` filters, `sort` and `down` order them, `limit` is their number."""
        return _json((await self._listing(request)).model_dump(mode="json"))

    async def judged_json(self, request: Request) -> Response:
        """Rows with their verdicts of the traces that `ids` names (separated by commas), at most 64.

        The answer maps ids to rows; unknown ids are left out.
        """
        ids = request.query_params.get("ids", "").split(",")[:_MAX_IDS]
        places = [place for trace_id in ids if (place := self._folder.find(trace_id)) is not None]
        rows = [await self._work(partial(self._index.judge, place), self._slow) for place in places]
        return _json({row.id: row.model_dump(mode="json") for row in rows})

    async def page_json(self, request: Request) -> Response:
        """The data of a trace's page, for a page that draws itself again after a round has closed."""
        page = await self._page(self._place(request, "id"))
        return _json(page.model_dump(mode="json"))

    async def ledger_json(self, request: Request) -> Response:
        """The data of a trace's page once more with what its turns lost, or why that is not known.

        404 where nobody says it.
        """
        place = self._place(request, "id")
        if self._ledgers is None:
            raise HTTPException(404, "this viewer does not say what turns lost")
        make = partial(self._made, ledgers=self._ledgers)
        page = await self._remembered(self._priced, place, make, self._long)
        return _json(page.model_dump(mode="json"))

    async def verify_json(self, request: Request) -> Response:
        """The full check of a trace, by re-execution."""
        place = self._place(request, "id")
        verdict = await self._remembered(self._verdicts, place, self._verified)
        return _json(verification(verdict).model_dump(mode="json"))

    async def live_json(self, request: Request) -> Response:
        """Events after `after`, whether a round has closed among them, whether the trace is still open.

        The page polls this address while an episode runs, and draws its charts again when a round has closed. Where no
        rules close rounds every event may bring a finding, and counts as one.
        """
        place = self._place(request, "id")
        after = request.query_params.get("after", "0")
        return _json(await self._work(partial(_news, place, _number(after))))

    async def event_json(self, request: Request) -> Response:
        """One event and its result, byte for byte as they are stored. 404 where there is no such event."""
        place = self._place(request, "id")
        found = await self._work(partial(_event, place, _number(request.path_params["seq"])))
        if found is None:
            raise HTTPException(404, "there is no such event")
        return Response(found, media_type="application/json")

    # --- the work ---

    def _place(self, request: Request, name: str) -> Place:
        """The trace file of an id in the address; 404 where the folder has none."""
        # One answer for an unknown id, a deleted file and a link that leads outside: nothing outside
        # can be probed.
        place = self._folder.find(request.path_params[name])
        if place is None:
            raise HTTPException(404, "there is no such trace in this folder")
        return place

    def _verified(self, place: Place) -> Check:
        """The check of a file; of a live episode only what has come since the last one."""
        known = self._checkers.pop(place.id, None)
        try:
            with open_trace(place.path) as trace:
                checker = known or Checker(trace)
                check = checker.advance(trace)
        except TraceError:
            return verify_file(place.path)
        # Another episode may have come under the name of the one that was followed.
        if known is not None and not check.sound:
            return verify_file(place.path)
        if check.sound and not check.sealed:
            self._checkers[place.id] = checker
            while len(self._checkers) > _MAX_FOLLOWED:
                del self._checkers[next(iter(self._checkers))]
        return check

    async def _listing(self, request: Request) -> Listing:
        asked = request.query_params
        query, key, down = asked.get("q", ""), asked.get("sort", "when"), asked.get("down", "1") == "1"
        limit = min(_number(asked.get("limit", "300")), MAX_TRACES)

        def work() -> Listing:
            rows = self._index.rows()
            return listing_of(rows, query, key, down=down, limit=limit, skipped=self._folder.skipped)

        # Not under the limit of the slow tasks: the list must appear while an evaluation runs.
        return await to_thread.run_sync(work)

    def _rate(self) -> Boards:
        """The leaderboards of the folder. Only files that are new or have changed are read."""
        places = [
            # Reference populations are what episodes are measured against; they are no contestants.
            place
            for place in self._folder.scan()
            if not is_reference(place.path, self._folder.root)
        ]
        unknown = [place for place in places if self._results.get(place) is None]
        # A file that cannot be rated is remembered as well, or it would be read again at every visit.
        for place, result in zip(unknown, read_files([place.path for place in unknown]), strict=True):
            self._results.put(place, result)
        return boards_of(leaderboards(gathered(known for place in places if (known := self._results.get(place)))))

    async def _page(self, place: Place) -> EpisodePage:
        """The page's record of a trace, remembered while its file does not change; with ledgers if these are known."""
        return self._priced.get(place) or await self._remembered(self._pages, place, self._made)

    def _made(self, place: Place, ledgers: Ledgers | None = None) -> EpisodePage:
        return episode_page(place.path, check=False, asked=Asked(self._folder.foreign), ledgers=ledgers)

    def _data(self, mode: str, places: list[Place], pages: list[EpisodePage]) -> PageData:
        """The data of a page of one trace or two, with the addresses at which it follows open traces."""
        asked = self._ledgers is not None
        live = [
            Live(id=place.id, open=page.end_reason is None, ledger=asked)
            for place, page in zip(places, pages, strict=True)
        ]
        known = "compare" if mode == "compare" else "report"
        return PageData(mode=known, version=version("tradefair"), episodes=pages, live=live)

    async def _remembered(
        self,
        memory: Remembered[T],
        place: Place,
        make: Callable[[Place], T],
        limiter: anyio.CapacityLimiter | None = None,
    ) -> T:
        """The value that is known for this state of the file, or a new one from `make`.

        Two requests at once may both make it; the second result replaces the first and is equal.
        """
        known = memory.get(place)
        if known is not None:
            return known
        return memory.put(place, await self._work(partial(make, place), limiter or self._slow))

    async def _work(self, task: Callable[[], T], limiter: anyio.CapacityLimiter | None = None) -> T:
        """Run a task in a thread; a trace that cannot be read is a 422 with the reason."""
        try:
            return await to_thread.run_sync(task, limiter=limiter)
        except TradefairError as error:
            raise HTTPException(422, f"this trace cannot be shown: {error}") from None


def _number(text: str) -> int:
    """A number from an address. 400 for anything else than up to 15 ASCII digits."""
    # `isdecimal` alone admits digits of other scripts. 15 digits stay below 2**53, which a browser holds exactly.
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise HTTPException(400, "an event is named by its number")
    return int(text)


def _news(place: Place, after: int) -> dict[str, object]:
    """What has been added to a trace since event `after`, for a page that follows it."""
    with open_trace(place.path) as trace:
        # The two passes below, columns and texts, must see the same events although the episode goes on.
        trace.freeze()
        columns = read_events(trace, after)
        without_rules = is_foreign(trace.manifest.core)
        packed = of_wing("foreign.run_page:pack_said") if without_rules else pack_bodies
        kinds = {columns.name(columns.event, row) for row in range(len(columns.seq))}
        return {
            "events": columns.packed().model_dump(mode="json"),
            "bodies": packed(trace, columns, after, _LIVE_TEXT).model_dump(mode="json"),
            "count": len(columns.seq),
            "closed": "round_closed" in kinds or (without_rules and bool(kinds)),
            "open": not trace.manifest.sealed,
            "reply": None if trace.manifest.sealed else _reply(trace),
        }


def _reply(trace: Trace) -> tuple[str, str] | None:
    """The seat and the text of the newest reply of a model, noted before its calls come; null without one."""
    for seat, body in deque(trace.notes(), maxlen=1):
        try:
            note = orjson.loads(body)
            return seat, str(note["text"])[:_REPLY]
        except (orjson.JSONDecodeError, LookupError, TypeError):
            return None
    return None


def _event(place: Place, seq: int) -> bytes | None:
    """An event as JSON with its number, hash and result; None when no event has that number."""
    with open_trace(place.path) as trace:
        # In a trace with a gap the next event is another one: no answer, instead of a wrong event.
        stored = next(trace.events(seq - 1), None)
        if stored is None or stored.seq != seq:
            return None
        result = b"null"
        try:
            ref = orjson.loads(stored.body).get("result_ref")
            result = (trace.blob(ref) if isinstance(ref, str) else None) or b"null"
        except (orjson.JSONDecodeError, AttributeError):
            pass
        # Joined as bytes: decoding and encoding again could change number formats and escapes of what is stored.
        head = orjson.dumps({"seq": seq, "hash": stored.hash.hex()})[:-1]
        return head + b',"event":' + stored.body + b',"result":' + result + b"}\n"


def _html(data: PageData) -> Response:
    return Response(html_page(data, connect=True), media_type="text/html")


def _json(content: object) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
