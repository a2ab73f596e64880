"""The file of a report: one page, nothing executable from data, the same bytes again, honest about what was cut.

Also here:
- Two traces side by side: what is said of their decisions, and what is not.
- The committed bundle is what its sources make, the board included, and the sources make no element from text.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import zlib
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.compare.conftest import play
from tests.evaluation.mutations import Harm, Parts, harms, parts_of, write_parts
from tests.evaluation.playing import played
from tests.evaluation.report.playing import HOSTILE_TEXT, hostile_trace, note
from tests.waiting import LONGER

import tradefair.evaluation.report as report
import tradefair.host as host
from tradefair.contract import TraceError
from tradefair.evaluation.report import PageData, build_report, episode_page, html_page
from tradefair.evaluation.report.packing import LIMITS, fitting_limit, pack_texts
from tradefair.evaluation.report.page_data import Packed
from tradefair.evaluation.report.pair import pair_page


@pytest.fixture(scope="module")
def game(folder: Path) -> Path:
    return played(folder / "game.trace", "double_auction/smoke", "zip", seed=2)


class Elements(HTMLParser):
    """Names of all elements with their attributes, and the text of scripts by type."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag == name]


def rows_of(packed: Packed) -> list[list[list[str | int | None]]]:
    chunks = [orjson.loads(zlib.decompress(base64.b64decode(chunk), -15)) for chunk in packed.chunks]
    return [row for chunk in chunks for row in chunk]


def test_a_page_is_one_file_of_at_most_480_kilobytes_plus_data() -> None:
    shell = html_page(PageData(mode="report", version="0"))
    assert len(shell) <= 480_000
    elements = Elements(shell)
    assert [attributes.get("src") for attributes in elements.named("script")] == [None, None]
    assert [link["href"] for link in elements.named("link")] == ["data:,"]
    assert elements.named("img") == []


def test_the_policy_lets_nothing_run_but_the_bundle() -> None:
    elements = Elements(html_page(PageData(mode="report", version="0")))
    (policy,) = (meta["content"] for meta in elements.named("meta") if meta.get("http-equiv"))
    assert policy is not None
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", directives["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", directives["style-src"])
    assert "connect-src" not in directives
    assert "unsafe" not in policy


def test_hostile_text_cannot_leave_the_data(game: Path, folder: Path) -> None:
    page = build_report([hostile_trace(game, folder / "hostile.trace")], check=False).html
    assert [tag for tag, _ in Elements(page).found] == [
        tag for tag, _ in Elements(build_report([game], check=False).html).found
    ]
    data = page[page.index(b'id="data">') :].partition(b"</script>")[0]
    assert all(symbol not in data[10:] for symbol in (b"<", b">", b"&", "\u2028".encode(), "\u2029".encode()))
    held = orjson.loads(data[10:])
    assert held["episodes"][0]["description"] == HOSTILE_TEXT


def test_the_same_trace_gives_the_same_page(game: Path) -> None:
    assert build_report([game]).html == build_report([game]).html


def test_a_page_names_no_folder(game: Path) -> None:
    assert str(game.parent).encode() not in build_report([game]).html


def test_every_event_is_on_the_page_as_it_is_stored(game: Path) -> None:
    episode = episode_page(game)
    bodies = [stored.decode() for stored in parts_of(game).bodies]
    assert [row[0] for row in rows_of(episode.bodies)] == [[body, None] for body in bodies]
    assert episode.verification is not None
    assert episode.verification.verdict == "reproduced"


def test_large_results_are_found_beside_their_events(folder: Path) -> None:
    store = played(folder / "store.trace", "retail/smoke", "careful_reader", seed=3)
    parts = parts_of(store)
    assert parts.blobs
    rows = rows_of(episode_page(store, check=False).bodies)
    assert [row[1][0] for row in rows if row[1][0] is not None] == [blob.decode() for blob in parts.blobs.values()]


def test_a_reply_is_tied_to_the_calls_that_it_asked_for(game: Path, folder: Path) -> None:
    parts = parts_of(game)
    parts.notes = [("B1", note(1, ["view_my_value"])), ("B1", note(1, ["unknown_tool", "submit_quote"]))]
    episode = episode_page(write_parts(parts, folder / "noted.trace"), check=False)
    columns = orjson.loads(zlib.decompress(base64.b64decode(episode.events.chunks[0]), -15))
    words = columns["names"]
    asked = [(words[columns["tool"][row]], reply) for row, reply in enumerate(columns["reply"]) if reply >= 0]
    assert asked == [("view_my_value", 0), ("submit_quote", 1)]
    account = next(seat.account for seat in episode.seats if seat.id == "B1")
    assert (account["input_tokens"], account["cost_usd_micro"]) == (2400, 620)


def test_long_texts_are_cut_and_say_how_long_they_were() -> None:
    packed = pack_texts([["x" * 300, None], ["short", "y" * 256]], 256)
    assert rows_of(packed) == [[["x" * 256, 300], [None, None]], [["short", None], ["y" * 256, None]]]
    assert (packed.rows, packed.cut, packed.limit) == (2, 1, 256)


def test_the_more_there_is_the_shorter_texts_are_cut() -> None:
    assert fitting_limit([100] * 10, budget=1_000) == LIMITS[0]
    assert fitting_limit([10_000] * 10, budget=50_000) == 4_096
    assert fitting_limit([10**9] * 10**4, budget=1_000) == LIMITS[-1]


@given(st.lists(st.lists(st.none() | st.text(), min_size=2, max_size=2)))
def test_packed_texts_are_found_again(rows: list[list[str | None]]) -> None:
    packed = pack_texts(rows, 10_000)
    assert [[text for text, _ in row] for row in rows_of(packed)] == rows


@cache
def taken_apart(path: Path) -> Parts:
    parts = parts_of(path)
    parts.notes.append(("B1", note(1, ["submit_quote"])))
    return parts


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(harm=harms())
def test_a_spoilt_trace_gives_a_page_or_a_trace_error(game: Path, folder: Path, harm: Harm) -> None:
    spoilt = harm.write(taken_apart(game), folder / "spoilt.trace")
    try:
        page = build_report([spoilt]).html
    except TraceError:
        return
    assert page.endswith(b"</html>\n")


def test_episodes_of_other_luck_have_no_first_decision_that_differs(tmp_path: Path) -> None:
    same, other, later = (tmp_path / f"{name}.trace" for name in ("same", "other", "later"))
    play(same, "zip", 1, overrides={"rounds": 2})
    play(other, "truthful", 1, overrides={"rounds": 2})
    play(later, "truthful", 2, overrides={"rounds": 2})
    assert pair_page(same, other).divergence is not None
    page = pair_page(same, later)
    assert page.divergence is None
    assert page.note == (
        "Two different episodes, double_auction seed 1 and double_auction seed 2: their decisions were made under "
        "other luck."
    )


REPORT = Path(report.__file__).parent
WEB, ASSETS = REPORT / "web", REPORT / "assets"
HOST_ASSETS = Path(host.__file__).parent / "assets"
MAX_PAGE = 450_000
# Of XML, which charts are.
NAMES = {
    f"http://www.w3.org/{name}"
    for name in ("1999/xhtml", "1999/xlink", "2000/svg", "2000/xmlns/", "XML/1998/namespace")
}
BUNDLE = orjson.loads((ASSETS / "bundle.json").read_bytes())
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(.on")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def asset(name: str) -> Path:
    # The board's pages are the host's: it is installed where nothing is evaluated.
    return (HOST_ASSETS if name.endswith(".html") else ASSETS) / name


def test_the_bundle_was_made_from_these_sources() -> None:
    sources = {"build.mjs", "package.json", "package-lock.json", "tsconfig.json"}
    sources |= {f"src/{path.name}" for path in (WEB / "src").iterdir()}
    assert {name: digest(WEB / name) for name in sources} == BUNDLE["sources"], "run npm run build in report/web"
    assert {name: digest(asset(name)) for name in BUNDLE["made"]} == BUNDLE["made"]


def test_the_licence_of_every_bundled_package_lies_beside_it() -> None:
    text = (ASSETS / "LICENCES.txt").read_text()
    packages = orjson.loads((WEB / "package-lock.json").read_bytes())["packages"]
    bundled = [name.removeprefix("node_modules/") for name, about in packages.items() if name and not about.get("dev")]
    named = set(re.findall(r"^(\S+) [\d.]+ \(", text, re.MULTILINE))
    assert "@observablehq/plot" in named
    assert named <= set(bundled)
    # Whatever is installed but not named was left out of the bundle by the bundler.
    assert len(named) > 20


@pytest.mark.parametrize("name", ["board.html", "person.html"])
def test_a_page_of_the_board_is_small_loads_nothing_and_runs_only_its_own_script(name: str) -> None:
    page = asset(name).read_text()
    assert len(page.encode()) <= MAX_PAGE
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    inside = re.search(r"<style>(.*)</style>.*<script>(.*)</script>", page, re.DOTALL)
    assert inside is not None
    for content in inside.groups():
        assert f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" in policy[1]
    # Name spaces are names and no addresses; nothing else may look like a place to load from.
    assert set(re.findall(r"https?://[\w./-]+", page)) <= NAMES
    assert re.findall(r"<(?:link|img|script|iframe)[^>]*(?:src|href)=\"(?!data:)", page) == []


def test_sources_make_text_nodes_and_never_markup() -> None:
    found = {path.name: MARKUP.findall(path.read_text()) for path in (WEB / "src").iterdir()}
    assert {name: marks for name, marks in found.items() if marks} == {}
    assert MARKUP.search("element.innerHTML = text")


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text()


@pytest.mark.interop
def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    made = tmp_path / "made"
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "check"], ["run", "build", "--", str(made)]):
        done = subprocess.run([npm, *command], cwd=tmp_path / "web", capture_output=True, text=True, timeout=LONGER)
        if command[0] == "ci" and done.returncode:
            pytest.skip(f"the npm registry cannot be reached: {done.stderr[-200:]}")
        assert done.returncode == 0, done.stdout + done.stderr
    assert {name: digest(made / name) for name in BUNDLE["made"]} == BUNDLE["made"]
