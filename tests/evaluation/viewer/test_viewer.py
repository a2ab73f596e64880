"""What the viewer answers, and to whom."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.evaluation.mutations import parts_of, write_parts
from tests.evaluation.playing import played
from tests.evaluation.ratings.playing import play_seats
from tests.evaluation.viewer.serving import Client, serving

from tradefair.cli import run
from tradefair.evaluation.viewer.folder import Folder
from tradefair.tracestore.locks import Lease


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    """A folder with two games, a damaged file, what is no trace, and a link that leads out."""
    place = folder / "runs"
    played(place / "zip.trace", "double_auction/smoke", "zip", seed=4)
    played(place / "deeper" / "truthful.trace", "double_auction/smoke", "truthful", seed=5)
    (place / "damaged.trace").write_bytes((place / "zip.trace").read_bytes()[:700])
    (place / "notes.txt").write_text("no trace")
    secret = played(folder / "secret.trace", "double_auction/smoke", "zip", seed=6)
    (place / "out.trace").symlink_to(secret)
    (place / "elsewhere").symlink_to(folder)
    return place


def test_the_list_says_what_each_trace_is(viewer: Client) -> None:
    rows = viewer.rows()
    assert sorted(rows) == ["damaged.trace", "deeper/truthful.trace", "zip.trace"]
    game = rows["deeper/truthful.trace"]
    assert (game["market"], game["scenario"], game["seed"]) == ("double_auction", "double_auction/smoke", 5)
    assert (game["end"], game["ended"], game["problem"]) == ("terminated:rounds_completed", "completed", None)
    assert (game["seats"], game["players"], game["state"]) == ([], ["policy:truthful"], "ended")
    # Nothing is evaluated for a list.
    assert game["judged"] is None


def test_a_damaged_file_is_listed_as_such(viewer: Client) -> None:
    row = viewer.rows()["damaged.trace"]
    assert row["problem"]
    assert "/" not in row["problem"]
    assert viewer.ask(f"/trace/{row['id']}").status == 422
    assert viewer.ask(f"/judged.json?ids={row['id']}").json()[row["id"]]["judged"] is None
    listing = viewer.ask("/rows.json").json()
    assert row["id"] not in listing["waiting"]
    assert listing["skipped"] == [["out.trace", "a link out of the folder"]]


def test_verdicts_are_made_when_they_are_asked_for(viewer: Client) -> None:
    wanted = viewer.rows()["zip.trace"]["id"]
    rows = viewer.ask(f"/judged.json?ids={wanted},nonsense").json()
    assert list(rows) == [wanted]
    judged = rows[wanted]["judged"]
    # All seats were scripted and none of them under test: their mean would be nobody's score.
    assert (judged["check"], judged["score"], judged["raised"], judged["problem"]) == ("reproduced", None, None, None)


def test_the_address_filters_and_orders(viewer: Client) -> None:
    def paths(query: str) -> list[str]:
        return [row["path"] for row in viewer.ask(f"/rows.json?{query}").json()["rows"]]

    assert paths("q=by:truthful") == ["deeper/truthful.trace"]
    # What is not known comes last in either direction.
    assert paths("sort=seed&down=1") == ["deeper/truthful.trace", "zip.trace", "damaged.trace"]
    assert paths("sort=seed&down=0") == ["zip.trace", "deeper/truthful.trace", "damaged.trace"]
    assert viewer.ask("/rows.json?q=sed:1").json()["problem"].startswith("there is no filter key 'sed'")
    assert viewer.ask("/rows.json?limit=x").status == 400


def test_a_trace_two_traces_and_one_event_have_addresses(viewer: Client, runs: Path) -> None:
    rows = viewer.rows()
    first, second = rows["zip.trace"]["id"], rows["deeper/truthful.trace"]["id"]
    assert b'"mode":"report"' in viewer.ask(f"/trace/{first}").body
    assert b'"mode":"compare"' in viewer.ask(f"/compare/{first}/{second}").body
    event = viewer.ask(f"/trace/{first}/event/3.json")
    assert parts_of(runs / "zip.trace").bodies[2] in event.body
    assert event.json()["seq"] == 3
    assert viewer.ask(f"/trace/{first}/event/99999.json").status == 404
    assert viewer.ask(f"/trace/{first}/event/x.json").status == 400
    assert viewer.ask(f"/trace/{first}/event/{'9' * 40}.json").status == 400
    assert viewer.ask(f"/trace/{first}/verify.json").json()["verdict"] == "reproduced"


@pytest.mark.parametrize(
    "path",
    [
        "/trace/../../secret.trace", "/trace/..%2f..%2fsecret.trace", "/trace/%2e%2e/secret", "/../secret.trace",
        "//etc/passwd", "/trace/zip.trace", "/trace/%00", "/trace/" + "a" * 16, "/compare/x/y", "/trace/x/event/1.json",
    ],
)  # fmt: skip
def test_no_path_names_a_file(viewer: Client, path: str) -> None:
    answer = viewer.ask(path)
    assert answer.status == 404
    assert b"secret" not in answer.body


def test_links_out_of_the_folder_are_no_traces(runs: Path) -> None:
    folder = Folder(runs)
    assert [place.shown for place in folder.scan()] == ["damaged.trace", "deeper/truthful.trace", "zip.trace"]


def test_a_file_that_becomes_a_link_out_is_gone(folder: Path) -> None:
    place = folder / "swapped"
    inner = played(place / "sub" / "game.trace", "double_auction/smoke", "zip", seed=4)
    outside = played(folder / "outside" / "game.trace", "double_auction/smoke", "zip", seed=5)
    known = Folder(place)
    (found,) = known.scan()
    assert known.find(found.id) is not None
    inner.unlink()
    inner.symlink_to(outside)
    assert known.find(found.id) is None
    inner.unlink()
    inner.parent.rmdir()
    inner.parent.symlink_to(outside.parent)
    assert known.find(found.id) is None


def test_odd_names_are_listed_and_served(folder: Path) -> None:
    place = folder / "odd"
    place.mkdir()
    source = played(folder / "plain.trace", "double_auction/smoke", "zip", seed=4)
    names = [b"<b>x.trace", b"caf\xe9 \xff.trace", b"..trace", b"a\nb.trace", "שלום ‮.trace".encode()]
    for name in names:
        with open(os.path.join(os.fsencode(place), name), "wb") as file:
            file.write(source.read_bytes())
    os.mkfifo(place / "pipe.trace")
    with serving(place) as client:
        rows = client.rows()
        assert len(rows) == len(names)
        assert {row["problem"] for row in rows.values()} == {None}
        assert {client.ask(f"/trace/{row['id']}").status for row in rows.values()} == {200}


def test_only_the_viewers_own_address_is_answered(viewer: Client) -> None:
    for host in (
        "evil.example",
        f"evil.example:{viewer.port}",
        "127.0.0.1",
        f"127.0.0.1:{viewer.port}.evil.example",
        "",
    ):
        answer = viewer.ask("/", host=host)
        assert answer.status == 421, host
        assert b"data" not in answer.body
    assert viewer.ask("/", host=f"LOCALHOST:{viewer.port}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_only_get_is_answered(viewer: Client, method: str) -> None:
    assert viewer.ask("/", method).status in (405, 400)


def test_every_answer_is_closed_to_other_sites(viewer: Client) -> None:
    for path in ("/", "/nothing", "/rows.json?q=x"):
        headers = viewer.ask(path, origin="http://evil.example").headers
        assert not [name for name in headers if name.startswith("access-control-")]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_a_running_episode_is_followed(folder: Path) -> None:
    place = folder / "live"
    finished = played(place / "game.trace", "double_auction/smoke", "zip", seed=4)
    parts = parts_of(finished)
    about = parts.about
    half = len(parts.bodies) // 2
    write_parts(parts, finished)
    # As the host writes: nothing is sealed, and events come through the write-ahead log.
    with closing(sqlite3.connect(finished)) as writer:
        later = writer.execute("SELECT * FROM events WHERE seq > ?", (half,)).fetchall()
        sealed = writer.execute("SELECT value FROM meta WHERE key = 'about'").fetchone()[0]
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("DELETE FROM events WHERE seq > ?", (half,))
        writer.execute("UPDATE meta SET value = ? WHERE key = 'about'", (b"{}",))
        writer.commit()
        with serving(place) as client:
            (row,) = client.rows().values()
            assert (row["state"], row["end"]) == ("stopped", None)
            lease = Lease(finished)
            (row,) = client.rows().values()
            lease.release()
            assert row["state"] == "running"
            assert b'"live":[{"id"' in client.ask(f"/trace/{row['id']}").body
            known = client.ask(f"/trace/{row['id']}/live.json?after={half}").json()
            assert (known["count"], known["open"]) == (0, True)
            slots = ", ".join("?" * len(later[0]))
            writer.executemany(f"INSERT INTO events VALUES ({slots})", later)
            writer.execute("UPDATE meta SET value = ? WHERE key = 'about'", (sealed,))
            writer.commit()
            news = client.ask(f"/trace/{row['id']}/live.json?after={half}").json()
            assert (news["count"], news["open"], news["closed"]) == (len(later), False, True)
            (row,) = client.rows().values()
            assert (row["state"], row["end"]) == ("ended", about["end_reason"])


def test_view_refuses_what_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(tmp_path / "nowhere"), "--no-open"]) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_an_address_that_others_can_reach_is_taken_only_where_that_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", str(tmp_path), "--no-open", "--host", "0.0.0.0"]) == 2
    assert "add --allow-remote if that is meant" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_in_a_line(runs: Path, viewer: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(runs), "--no-open", "--port", str(viewer.port)]) == 2
    assert "--port 0 takes a free one" in capsys.readouterr().err


def test_several_traces_of_two_players_are_compared(folder: Path) -> None:
    place = folder / "versus"
    for policy in ("zip", "truthful", "zic"):
        for seed in (1, 2):
            seats = {"B1": policy, "B2": "truthful", "S1": "zic", "S2": "truthful"}
            play_seats(place / policy / f"{seed}.trace", "double_auction/smoke", seats, seed, compared=("B1",))
    with serving(place) as client:
        rows = client.rows()
        ids = {path: row["id"] for path, row in rows.items()}
        two = ",".join(known for path, known in ids.items() if not path.startswith("zic"))
        page = client.ask(f"/versus?ids={two}")
        assert page.status == 200
        assert b'"mode":"figure"' in page.body
        assert b'"kind":"comparison"' in page.body
        assert client.ask(f"/versus?ids={','.join(ids.values())}").status == 400
        assert client.ask(f"/versus?ids={ids['zip/1.trace']}").status == 400
        assert client.ask("/versus").status == 400


def test_the_newest_reply_is_told_while_an_episode_runs(folder: Path) -> None:
    trace = played(folder / "replying" / "game.trace", "double_auction/smoke", "zip", seed=4)
    with closing(sqlite3.connect(trace)) as writer, serving(folder / "replying") as client:
        (row,) = client.rows().values()
        address = f"/trace/{row['id']}/live.json"
        assert client.ask(address).json()["reply"] is None
        writer.execute("UPDATE meta SET value = '{}' WHERE key = 'about'")
        for body in (b'{"text":"first"}', b'{"text":"' + b"x" * 2_000 + b'"}'):
            writer.execute("INSERT INTO agent_events (seat, body) VALUES ('B1', ?)", (body,))
        writer.commit()
        assert client.ask(address).json()["reply"] == ["B1", "x" * 1_000]
        writer.execute("INSERT INTO agent_events (seat, body) VALUES ('B1', '[1')")
        writer.commit()
        assert client.ask(address).json()["reply"] is None
