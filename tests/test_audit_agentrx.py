"""Audits of public failures keep their goals, their page says what was measured, and its three commands work."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from benchmarks.audit_agentrx import Measured, main, measure, page, rule_of

from tests.sample import sample
from tradefair.cli import run
from tradefair.evaluation.foreign.audit.draft import draft_map
from tradefair.evaluation.foreign.audit.flows import entities_of, uses_of
from tradefair.evaluation.foreign.audit.map_file import read_map
from tradefair.evaluation.foreign.audit.rates import ANY, REFERENCE
from tradefair.evaluation.foreign.audit.run import Run, read_run
from tradefair.evaluation.foreign.importers.importing import import_files

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-to" / "audit.md"


@pytest.fixture(scope="module")
def data() -> Path:
    """The folder of the set."""
    return sample("agentrx")


@pytest.fixture(scope="module")
def found(data: Path) -> Measured:
    """What the benchmark measures."""
    return measure(data)


def test_every_call_is_answered(found: Measured) -> None:
    assert (found.answered, found.calls) == (432, 432)


def test_references_locate_nine_of_fifteen_root_causes_and_raise_six_of_37_passed_runs(found: Measured) -> None:
    rates = found.compared.rates
    assert (rates.roots.of, rule_of(found.compared, REFERENCE).passed.of) == (15, 37)
    assert rates.roots.within_3 >= 9
    assert rule_of(found.compared, REFERENCE).passed.raised <= 6


def test_the_map_and_its_draft_find_five_of_seven_mechanical_failures_and_raise_seven_of_37(found: Measured) -> None:
    for audit in (found.audit, found.drafted):
        assert audit.rates.mechanical.of == 7
        assert audit.rates.mechanical.within_1 >= 5
        assert rule_of(audit, ANY).passed.raised <= 7


def test_no_rule_is_significant_in_95_of_100_permutations_of_labels(found: Measured) -> None:
    assert (found.permutations, found.permuted <= 5) == (100, True)
    # With the true labels one is: the test can tell.
    assert any(rule.p_holm is not None and rule.p_holm < 0.01 for rule in found.together.rates.rules)


def test_the_page_says_what_was_measured(found: Measured, data: Path, tmp_path: Path) -> None:
    shown = re.search(r"<!-- begin agentrx -->\n(.*?)<!-- end agentrx -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert shown[1] == page(found)
    copy = tmp_path / "page.md"
    copy.write_text("<!-- begin agentrx -->\nold\n<!-- end agentrx -->\n", encoding="utf-8")
    main(["--data", str(data), "--write", str(copy)])
    assert page(found) in copy.read_text(encoding="utf-8")


def test_a_draft_links_each_id_to_the_read_that_shows_it(data: Path, tmp_path: Path) -> None:
    import_files([data / "trajectories.jsonl"], tmp_path)
    runs: list[Run] = [read_run(file) for file in sorted(tmp_path.glob("*.trace"))]
    objects = {thing.arguments[0]: thing.look for thing in read_map(draft_map(runs), source="draft").objects.values()}
    assert objects == {
        "order_id": ("get_order_details",),
        "item_ids": ("get_order_details",),
        "new_item_ids": ("get_product_details",),
        "payment_method_id": ("get_user_details",),
        "product_id": ("get_product_details",),
        "user_id": ("get_user_details",),
    }
    reads = frozenset(call.tool for run in runs for call in run.calls if call.kind == "read")
    uses = [use for run in runs for use in uses_of(run) if use.call.kind == "action"]
    flows = entities_of(uses, reads)
    for name in ("order", "item", "new_item", "payment_method"):
        assert flows[name].known == flows[name].uses > 50


def test_three_commands_lead_from_a_session_to_a_page_with_a_cited_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "audit", tmp_path, dirs_exist_ok=True)
    section = PAGE.read_text(encoding="utf-8").partition("## Three commands")[2].partition("\n## ")[0]
    commands = re.findall(r"^\$ tradefair (.+)$", section, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["import", "audit", "report"]
    assert [run(command.split()) for command in commands[:2]] == [0, 0]
    assert re.search(r"shop-hours +8 +map\.look: Edit on file /shop/deploy\.yaml", capsys.readouterr().out)
    # A foreign trace cannot be re-executed.
    assert run(commands[2].split()) in (0, 1)
    assert "map.look" in Path("report.html").read_text(encoding="utf-8")
