"""Which games a dossier is about, what of them is shown, and the page that comes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tradefair.evaluation.analyst.citations import check_claims
from tradefair.evaluation.analyst.dossier import gather_agents, gather_evidence
from tradefair.evaluation.analyst.dossier_page import Origin, dossier_file, dossier_page, read_origin
from tradefair.evaluation.analyst.games import Game, choose_games
from tradefair.evaluation.modes.diagnosis import Finding


def _finding(name: str) -> Finding:
    return Finding(
        id=name, seats=["B1"], status="raised", says="", counts="", threshold="", count=1, of=1, amount=1, share=1
    )


def _game(number: int, share: float | None, role: str = "buyer", findings: int = 0) -> Game:
    found = [_finding(f"f{count}") for count in range(findings)]
    return Game(f"e{number:02}", f"{number}.trace", "B1", role, "bargaining", share, findings=found)


def test_twelve_games_are_chosen_by_rule_whatever_their_order() -> None:
    games = [_game(number, number / 100, findings=number % 7) for number in range(40)]
    chosen = choose_games(games)
    assert [(one.game.episode, one.why) for one in chosen] == [
        *((f"e{number}", "best") for number in (39, 38, 37)),
        *((f"e{number:02}", "worst") for number in (0, 1, 2)),
        *((f"e{number}", "nearest the median") for number in (19, 20, 18)),
        *((f"e{number:02}", "most findings") for number in (6, 13, 27)),
    ]
    assert choose_games(games[::-1]) == chosen


def test_both_roles_are_shown_where_both_were_played() -> None:
    games = [_game(number, number / 100) for number in range(20)]
    games += [_game(90, 0.001, "seller"), _game(91, 0.0005, "seller")]
    best = [one.game for one in choose_games(games) if one.why == "best"]
    assert [game.episode for game in best] == ["e19", "e18", "e90"]


def test_few_games_are_all_taken_and_one_without_a_share_only_for_its_findings() -> None:
    assert choose_games([]) == []
    games = [_game(1, 0.5), _game(2, None), _game(3, None, findings=2)]
    assert [(one.game.episode, one.why) for one in choose_games(games)] == [("e01", "best"), ("e03", "most findings")]


def _agents(play_talk: Any) -> Any:
    paths = [
        play_talk(
            [{"B1": "I hold 50", "S1": "Never\nignore the rules"}], name=f"t{number}", finished=f"2026-01-0{number}T10"
        )
        for number in (1, 2)
    ]
    return gather_agents(paths)


def test_evidence_names_games_not_agents_and_every_line_is_one_event(play_talk: Any) -> None:
    agents = _agents(play_talk)
    assert agents.finished == "2026-01-02"
    evidence = gather_evidence("ann", agents.games["ann"])
    assert "ann" not in evidence.words
    assert "bob" not in evidence.words
    assert list(evidence.chosen) == ["g1", "g2"]
    blocks = re.findall(r"^<<<begin (\w+) (\w+)>>>\n(.*?)\n<<<end \1 \2>>>$", evidence.words, re.DOTALL | re.MULTILINE)
    assert [name for name, _, _ in blocks] == ["outcomes", "g1", "g2"]
    rows = [json.loads(line) for line in blocks[0][2].split("\n")]
    assert rows[0]["games_in_all"] == 2
    assert [(row["game"], row["the_agent"], row["limit"]) for row in rows if "game" in row] == [
        ("g1", "B1", 70),
        ("g2", "B1", 70),
    ]
    events = [json.loads(line) for line in blocks[1][2].split("\n")]
    assert [event["at"] for event in events] == [f"g1:{seq}" for seq in sorted(evidence.shown["g1"])]
    assert [event["did"] for event in events if "did" in event] == ["send_message"] * 2 + ["submit_quote"] * 2
    assert evidence == gather_evidence("ann", agents.games["ann"][::-1])


def test_only_events_that_were_shown_can_be_cited(play_talk: Any) -> None:
    talk = [{"B1": "a" * 400, "S1": "b" * 400}] * 12
    games = gather_agents([play_talk(talk)]).games["ann"]
    whole, cut = (gather_evidence("ann", games, max_game=size) for size in (100_000, 3_000))
    assert len(cut.words) < 5_500 < len(whole.words)
    assert '"left_out"' in cut.words
    assert '"left_out"' not in whole.words
    missing = sorted(whole.shown["g1"].keys() - cut.shown["g1"].keys())
    assert missing
    assert min(cut.shown["g1"]) < missing[0] < missing[-1] < max(cut.shown["g1"])


def test_a_file_that_is_no_trace_is_named_and_the_others_are_used(play_talk: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.trace"
    broken.write_bytes(b"no database")
    agents = gather_agents([broken, play_talk([{"B1": "hi"}])])
    assert list(agents.unread) == [str(broken)]
    assert sorted(agents.games) == ["ann", "bob"]


_ORIGIN = Origin("ann", "openai:tiny", "dossier/1@aa", "bb", "2026-01-02")


def test_a_page_keeps_its_origin_and_shows_words_of_others_as_text(play_talk: Any, tmp_path: Path) -> None:
    evidence = gather_evidence("ann", _agents(play_talk).games["ann"])
    text = "## Said and done\n- <img src=x> ![x](http://x.example/) [a](b) [g1:2]\n[g1:2]: http://x.example\n- none"
    path = tmp_path / "ann.md"
    path.write_text(dossier_page(_ORIGIN, evidence, text, check_claims(text, evidence.shown)))
    page = path.read_text()
    assert read_origin(path) == _ORIGIN
    assert "&lt;img src=x>" in page
    assert "](" not in page
    assert "\n[g1:2]:" not in page
    assert "- none **(check: no event is cited)**" in page
    assert "1 of 2 claims" in page
    assert "| g1 | t1 | B1 | buyer |" in page


@pytest.mark.parametrize(
    ("change", "same"),
    [({}, True), ({"date": "2030-01-01"}, True), ({"input_digest": "cc"}, False), ({"model": "openai:big"}, False)],
)
def test_a_page_is_known_by_input_prompt_and_model_not_by_its_date(change: dict[str, str], same: bool) -> None:
    assert _ORIGIN.same_question(_ORIGIN._replace(**change)) is same


def test_what_is_no_dossier_has_no_origin(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    assert read_origin(path) is None
    for content in (b"", b"---\nagent: ann\n---\n", b"\xff\xfe", b"# Dossier"):
        path.write_bytes(content)
        assert read_origin(path) is None


@pytest.mark.parametrize("agent", ["../../etc/passwd", "policy:zip", "a b", ".", "", "x" * 300, "\u202e", "con/../x"])
def test_no_name_of_an_agent_leads_out_of_the_folder(agent: str, tmp_path: Path) -> None:
    path = dossier_file(agent, tmp_path)
    assert path.parent == tmp_path
    assert re.fullmatch(r"[\w.-]{1,90}\.md", path.name)
    assert path != dossier_file(agent + "!", tmp_path)


def test_a_plain_name_is_the_name_of_the_file(tmp_path: Path) -> None:
    assert dossier_file("qwen3-235B", tmp_path).name == "qwen3-235B.md"
