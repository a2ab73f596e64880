"""A folder of traces as a site: whole, the same bytes again, and only what changed is written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.ratings.playing import play_seats
from tests.evaluation.site.links import broken_links

from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.evaluation.judge.evaluate import Evaluation
from tradefair.evaluation.ledger import Extent
from tradefair.evaluation.prove.verify import Checker
from tradefair.evaluation.site import index as indexing
from tradefair.evaluation.site.build import build_site
from tradefair.evaluation.site.plan import Wanted
from tradefair.evaluation.statistics.luck import luck_share
from tradefair.tracestore import Trace

_WANTED = Wanted("Our runs")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRADEFAIR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two players on two seeds, one trace whose events were changed, one that is none."""
    place = tmp_path_factory.mktemp("played")
    for policy in ("zip", "truthful"):
        for seed in (1, 2):
            seats = {"B1": policy, "B2": "truthful", "S1": "zic", "S2": "truthful"}
            path = place / policy / f"{seed}.trace"
            play_seats(path, "double_auction/smoke", seats, seed, compared=("B1",), created=f"2026-11-0{seed}")
    parts = parts_of(place / "zip" / "1.trace")
    write_parts(parts, place / "cut.trace")
    (place / "none.trace").write_bytes(b"damaged")
    return place


@pytest.fixture
def runs(played: Path, tmp_path: Path) -> Path:
    shutil.copytree(played, tmp_path / "runs")
    return tmp_path / "runs"


def contents(site: Path) -> dict[str, bytes]:
    return {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_a_site_is_whole_and_the_same_again(runs: Path, tmp_path: Path) -> None:
    built = build_site(runs, tmp_path / "site", _WANTED)
    files = contents(tmp_path / "site")
    assert (built.episodes, built.removed) == (4, 0)
    assert built.written == len(files)
    assert list(broken_links(tmp_path / "site")) == []
    assert len([name for name in files if name.startswith("episode/")]) == 4
    assert {"boards/double-auction-smoke.html", "index.json", "figures.html", "data/episodes.csv"} <= files.keys()
    assert len([name for name in files if name.startswith("pair/")]) == 1
    # Nothing of this machine, and nothing from elsewhere.
    everything = b"".join(files.values())
    assert str(tmp_path).encode() not in everything
    # A second run writes nothing; elsewhere, from a copy and without what was remembered, it gives the same bytes.
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*")}
    again = build_site(runs, tmp_path / "site", _WANTED)
    assert (again.written, again.kept) == (0, len(files))
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "site").rglob("*")} == times
    shutil.copytree(runs, tmp_path / "copy" / "runs")
    build_site(tmp_path / "copy" / "runs", tmp_path / "other", _WANTED)
    assert contents(tmp_path / "other") == files


def test_each_trace_is_re_executed_once(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    plain = Checker.__init__

    def counted(checker: Checker, trace: Trace, *, rules: bool = True, seats: bool = True) -> None:
        checked.extend([trace.path.relative_to(runs).as_posix()] * rules)
        plain(checker, trace, rules=rules, seats=seats)

    monkeypatch.setattr(Checker, "__init__", counted)
    # Rows, pages and the verdicts on series all name the check.
    assert build_site(runs, tmp_path / "site", _WANTED).episodes == 4
    assert sorted(checked) == [
        "cut.trace",
        *(f"{policy}/{seed}.trace" for policy in ("truthful", "zip") for seed in (1, 2)),
    ]


def test_one_trace_more_or_less_changes_only_its_pages(runs: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    build_site(runs, site, _WANTED)
    before = contents(site)
    seats = {"B1": "zip", "B2": "truthful", "S1": "zic", "S2": "truthful"}
    play_seats(runs / "zip" / "3.trace", "double_auction/smoke", seats, 3, compared=("B1",))
    build_site(runs, site, _WANTED)
    after = contents(site)
    assert {name for name in before if name.startswith(("episode/", "assets/", "figures."))} <= {
        name for name in before if before[name] == after.get(name)
    }
    (new,) = (name for name in after.keys() - before.keys() if name.startswith("episode/"))
    (runs / "zip" / "3.trace").unlink()
    built = build_site(runs, site, _WANTED)
    assert built.removed >= 1
    assert contents(site) == before
    assert new not in before


def test_what_is_not_reproduced_is_listed_apart_and_ranked_nowhere(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = runs / "zip" / "2.trace"
    parts = parts_of(path)
    parts.bodies[5] = parts.bodies[5].replace(b'"seq":6', b'"seq": 6')
    write_parts(parts, path)
    assert run(["site", str(runs), "-o", str(tmp_path / "site"), "--json"]) == 1
    said = orjson.loads(capsys.readouterr().out)
    assert said["episodes"] == 3
    reasons = dict(said["left_out"])
    assert set(reasons) == {"none.trace", "zip/2.trace"}
    assert reasons["zip/2.trace"].startswith("not reproduced (")
    assert "zip/2.trace" not in (tmp_path / "site" / "data" / "episodes.csv").read_text()
    assert "not reproduced" in (tmp_path / "site" / "index.html").read_text()


def test_since_leaves_out_what_began_before(runs: Path, tmp_path: Path) -> None:
    assert build_site(runs, tmp_path / "site", Wanted("x", since="2026-11-02")).episodes == 2


def test_a_list_is_split(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MAX_ROWS", 3)
    build_site(runs, tmp_path / "site", _WANTED)
    names = [path.name for path in sorted((tmp_path / "site").glob("index*"))]
    assert names == ["index-2.html", "index-2.json", "index.html", "index.json"]
    parts = [orjson.loads((tmp_path / "site" / name).read_bytes())["episodes"] for name in names if name[-1] == "n"]
    assert sorted(map(len, parts)) == [1, 3]
    assert list(broken_links(tmp_path / "site")) == []


def test_other_folders_are_left_alone(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="lies within"):
        build_site(runs, runs / "site", _WANTED)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("mine")
    with pytest.raises(ScenarioError, match="no site of ours"):
        build_site(runs, tmp_path / "home", _WANTED)
    site, outside = tmp_path / "site", tmp_path / "home" / "letter.txt"
    build_site(runs, site, _WANTED)
    manifest = orjson.loads((site / "site.json").read_bytes())
    manifest["units"]["episode/x"] = {"inputs": "x", "files": {"../home/letter.txt": "x"}}
    (site / "site.json").write_bytes(orjson.dumps(manifest))
    build_site(runs, site, _WANTED)
    assert outside.exists()
    # A page that somebody has changed or deleted is made again.
    (site / "figures.html").write_text("mine")
    page = next((site / "episode").iterdir())
    page.unlink()
    assert build_site(runs, site, _WANTED).written == 2
    assert page.exists()


def test_a_broken_link_is_found(runs: Path, tmp_path: Path) -> None:
    build_site(runs, tmp_path / "site", _WANTED)
    page = next((tmp_path / "site" / "episode").iterdir())
    page.unlink()
    assert list(broken_links(tmp_path / "site")) != []


def test_the_seeds_share_of_the_variance() -> None:
    same = [[float(seed), float(seed)] for seed in range(8)]
    found = luck_share(same)
    assert found is not None
    assert found == (1.0, 1.0, 1.0)
    assert luck_share(same[:7]) is None
    assert luck_share([[1.0, 1.0]] * 9) is None
    # By hand: within = 2, means 0 and 4, their variance 32/7, less 2/2: 25/7 of 25/7 + 2.
    mixed = luck_share([[-1.0, 1.0], [3.0, 5.0]] * 4)
    assert mixed is not None
    assert mixed.share == pytest.approx((25 / 7) / (25 / 7 + 2))
    assert mixed.low < mixed.share <= mixed.high


def test_reports_of_a_site_say_what_turns_lost_where_it_is_asked_for(runs: Path, tmp_path: Path) -> None:
    asked: list[Path] = []

    def ledgers(path: Path, evaluation: Evaluation) -> Evaluation:
        asked.append(path)
        return evaluation.with_ledgers({}, "nobody knows it")

    built = build_site(runs, tmp_path / "site", _WANTED._replace(ledger=Extent.AUTO), ledgers=ledgers)
    pages = sorted((tmp_path / "site" / "episode").glob("*.html"))
    assert len(asked) == len(pages) == built.episodes
    assert all(b"nobody knows it" in page.read_bytes() for page in pages)
    # Without it they are made anew, and nothing is played.
    asked.clear()
    build_site(runs, tmp_path / "site", _WANTED)
    assert (asked, [page for page in pages if b"nobody knows it" in page.read_bytes()]) == ([], [])
