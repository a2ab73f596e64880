"""`python -m benchmarks.audit_agentrx [--data FOLDER] [--map FILE] [--json] [--write PAGE]`: audits on public failures.

Failed and passed runs of AgentRx's tau_retail set (arXiv 2602.02475), from `TRADEFAIR_DATA`: what the map of
`examples/audit`, a draft that nobody corrected, and the references locate, and how often each raises a passed run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tradefair.evaluation.compare.judgement import p_text
from tradefair.evaluation.foreign.audit.auditing import Asked, Audit, audit_traces, references_in
from tradefair.evaluation.foreign.audit.draft import draft_map
from tradefair.evaluation.foreign.audit.map_file import load_map, read_map
from tradefair.evaluation.foreign.audit.rates import ANY, REFERENCE, Label, RuleRate, labels_in, rates_of
from tradefair.evaluation.foreign.audit.run import read_run
from tradefair.evaluation.foreign.importers.importing import import_files

MAP = Path(__file__).parents[1] / "examples" / "audit" / "tau_retail.toml"
PERMUTATIONS = 100
SIGNIFICANT = 0.05
_BLOCK = re.compile(r"(?<=<!-- begin agentrx -->\n).*?(?=<!-- end agentrx -->)", re.DOTALL)


class Measured(NamedTuple):
    """What was measured. `calls` and `answered` of the import; `permuted`: permutations with a significant rule.

    `audit` is under the map alone, `drafted` under a draft from the same runs, `compared` against references alone,
    `together` under map and references together.
    """

    calls: int
    answered: int
    audit: Audit
    drafted: Audit
    compared: Audit
    together: Audit
    permuted: int
    permutations: int


def measure(data: Path, map_file: Path = MAP, permutations: int = PERMUTATIONS) -> Measured:
    """Import the runs of a folder and audit them. Raises ScenarioError, TraceError."""
    labels, wrong = labels_in(data / "labels.jsonl")
    references, odd = references_in(data / "references.jsonl")
    assert not wrong + odd, wrong + odd
    with TemporaryDirectory() as folder:
        imported = import_files([data / "trajectories.jsonl"], Path(folder))
        files = sorted(Path(folder).glob("*.trace"))
        drafted = read_map(draft_map([read_run(file) for file in files]), source="the draft")
        wanted = load_map(map_file)
        together = audit_traces(files, Asked(wanted, labels, references))
        return Measured(
            sum(file.total("calls") for file in imported.files),
            sum(file.total("answered") for file in imported.files),
            audit_traces(files, Asked(wanted, labels)),
            audit_traces(files, Asked(drafted, labels)),
            audit_traces(files, Asked(None, labels, references)),
            together,
            sum(_significant(together, labels, seed) for seed in range(permutations)),
            permutations,
        )


def _significant(audit: Audit, labels: Mapping[str, Label], seed: int) -> bool:
    """Whether any rule tells failed from passed runs after who passed was drawn anew."""
    ids = sorted(labels)
    drawn = random.Random(seed).sample([labels[name].passed for name in ids], len(ids))
    permuted = {name: Label(name, passed) for name, passed in zip(ids, drawn, strict=True)}
    found = rates_of([run.raised for run in audit.runs], permuted, (), references=True)
    return any(rule.p_holm is not None and rule.p_holm <= SIGNIFICANT for rule in found.rules)


def rule_of(audit: Audit, name: str) -> RuleRate:
    """The rates of one rule."""
    return next(rate for rate in audit.rates.rules if rate.rule == name)


def figures(found: Measured) -> Iterator[tuple[str, str, str]]:
    """(what, measured, goal for these runs), in the order of the page."""
    roots, mechanical = found.compared.rates.roots, found.audit.rates.mechanical
    drafted = found.drafted.rates.mechanical
    yield "calls answered", f"{found.answered} of {found.calls}", "all"
    yield "references: root cause within 3 steps", f"{roots.within_3} of {roots.of}", "at least 9 of 15"
    yield "references: passed runs raised", _passed(found.compared, REFERENCE), "at most 6 of 37"
    yield (
        "map: labelled mechanical failures within 1 step",
        f"{mechanical.within_1} of {mechanical.of}",
        "at least 5 of 7",
    )
    yield "map: passed runs raised", _passed(found.audit, ANY), "at most 7 of 37"
    yield "draft that nobody corrected: mechanical failures within 1 step", f"{drafted.within_1} of {drafted.of}", ""
    yield "draft that nobody corrected: passed runs raised", _passed(found.drafted, ANY), ""
    yield "map and references: passed runs raised", _passed(found.together, ANY), ""
    yield "permuted labels: a rule significant at 5 %", f"{found.permuted} of {found.permutations}", "at most 5 of 100"


def _passed(audit: Audit, name: str) -> str:
    share = rule_of(audit, name).passed
    return f"{share.raised} of {share.of}"


def page(found: Measured) -> str:
    """The tables of the page, as Markdown: figures beside goals, rates by rule, what was located by category."""
    rules = [
        (
            f"`{rate.rule}`" if rate.rule != ANY else "any of them",
            f"{rate.failed.raised} of {rate.failed.of}",
            f"{rate.passed.raised} of {rate.passed.of}",
            p_text(rate.p),
        )
        for rate in found.together.rates.rules
        if rate.failed.raised + rate.passed.raised
    ]
    by_rules, roots = found.audit.rates.by_category, _roots(found.compared)
    categories = [
        (name, f"{located.within_1} of {located.of}", roots.get(name, "")) for name, located in sorted(by_rules.items())
    ]
    return "\n".join(
        [
            *_table(("", "measured", "goal"), figures(found)),
            "",
            *_table(("rule", "failed runs", "passed runs", "Fisher p"), rules),
            "",
            *_table(("labelled failure", "map within 1 step", "as root cause: reference within 3 steps"), categories),
            "",
        ]
    )


def _roots(audit: Audit) -> dict[str, str]:
    """By category of the root cause, how many of them the divergence is within 3 steps of."""
    return {name: f"{located.within_3} of {located.of}" for name, located in audit.rates.roots_by_category.items()}


def _table(titles: Sequence[str], rows: Any) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit_agentrx", description=__doc__)
    default = Path(os.environ.get("TRADEFAIR_DATA", ".")) / "agentrx"
    parser.add_argument("--data", type=Path, default=default, help="folder of the set; default: TRADEFAIR_DATA/agentrx")
    parser.add_argument("--map", type=Path, default=MAP, help="map file; default: examples/audit/tau_retail.toml")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", type=Path, help="write the tables into this page")
    given = parser.parse_args(arguments)
    found = measure(given.data, given.map)
    if given.write:
        given.write.write_text(
            _BLOCK.sub(lambda _: page(found), given.write.read_text(encoding="utf-8")), encoding="utf-8"
        )
    if given.json:
        rows = [{"what": what, "measured": measured, "goal": goal} for what, measured, goal in figures(found)]
        print(json.dumps({"figures": rows, **found.together.rates.to_json()}))
    else:
        print(page(found))


if __name__ == "__main__":
    main()
