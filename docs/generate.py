"""Writes what can be made from the code: reference pages, evidence maps; output, code and graphs in other pages.

`python docs/generate.py` writes; with `--check` it only says what is out of date (exit code 1).
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from tradefair.agents.graphs.drawing import to_mermaid
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.catalog.listing import LISTING, listing_of, listing_toml
from tradefair.cli import EXIT_CODES
from tradefair.contract import MarketType, Need, Tool, ToolTable
from tradefair.contract.errors import SHARED_CODES
from tradefair.contract.kernel.core import full_table
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.contract.schema_text import allowed_text
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.figure import Figure
from tradefair.evaluation.figures import common_figures, figures_of
from tradefair.evaluation.foreign.audit.mapped import MAP_MODES
from tradefair.evaluation.judge.diagnosing import talk_reading
from tradefair.evaluation.modes.base_rates import shipped
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.modes.published import published_paths, published_toml
from tradefair.evaluation.modes.table import Mode
from tradefair.evaluation.table import number_text
from tradefair.frameworks import find
from tradefair.frameworks.langgraph import GRAPHS
from tradefair.host.clients.client_config import Client, Server, clients, shell_line, snippet, token_advice
from tradefair.host.clients.client_files import rendered
from tradefair.tracestore import redaction

Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
FORMATS = {"json": "JSON", "jsonc": "JSON with comments", "toml": "TOML", "yaml": "YAML"}
DEMO = ("demo", "--out", "runs/demo")
NOTE = "<!-- Written by `make docs`; edit docs/generate.py or the tool itself. -->"


def main() -> int:
    """Write or check every page."""
    check = "--check" in sys.argv[1:]
    made = pages()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'out of date, run make docs' if check else 'written'}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
    return 1 if check and stale else 0


def pages() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    made = whole_pages()
    readme, how_to = ROOT / "README.md", DOCS / "how-to"
    made[readme] = filled(
        readme,
        r"<!-- begin (?:demo|code (\S+) ([^>]+)) -->",
        lambda found: excerpt(found[1], found[2].split()) if found[1] else fenced("text", demo_output()),
    )
    made |= {page: with_output(page) for page in sorted((DOCS / "tutorials").glob("*.md"))}
    made[how_to / "audit.md"] = with_output(how_to / "audit.md", ROOT / "examples" / "audit")
    for page in (how_to / f"{name}.md" for name in ("writing-a-market", "frameworks", "python", "train")):
        made[page] = filled(
            page, r"<!-- begin code (\S+) ([^>]+) -->", lambda found: excerpt(found[1], found[2].split())
        )
    found = DOCS / "reference" / "failure-modes.md"
    made[found] = filled(
        found,
        r"<!-- begin (?:diagnostics (\S+)|reading) -->",
        lambda match: diagnostics_table(match[1]) if match[1] else reading_table(),
    )
    rated = DOCS / "explanation" / "base_rates.md"
    made[rated] = filled(rated, "<!-- begin rates -->", lambda _: rates_table())
    seated = how_to / "seat-a-client.md"
    made[seated] = filled(seated, "<!-- begin clients -->", lambda _: "\n".join(client_sections()))
    graphs = how_to / "graphs.md"
    made[graphs] = filled(graphs, r"<!-- begin graph (\S+) -->", lambda found: fenced("mermaid", drawn(found[1])))
    return made


def whole_pages() -> dict[Path, str]:
    """The files that are generated from first line to last; of the other ones parts are filled in."""
    folder = DOCS / "reference" / "tools"
    made = {folder / f"{name}.md": market_page(market_type(name)) for name in market_names()}
    made[folder / "kernel.md"] = kernel_page()
    made[DOCS / "reference" / "figures.md"] = figures_page()
    made[DOCS / "reference" / "exit-codes.md"] = exit_codes_page()
    made[DOCS / "reference" / "redaction.md"] = redaction_page()
    made |= {path: published_toml(market) for market, path in published_paths().items()}
    made |= {
        ROOT / "mcp_servers" / "tradefair" / name / LISTING: listing_toml(listing_of(market_type(name)))
        for name in market_names()
    }
    made[ROOT / "llms.txt"] = llms_text()
    return made


def llms_text() -> str:
    """An index of the pages for language models: a line per page, with its first sentence."""
    lines = ["# tradefair", "", "> Economic markets as MCP servers; any agent takes a seat; audits of what it did.", ""]
    for section in ("tutorials", "how-to", "reference", "explanation"):
        lines += [f"## {section}", ""]
        for page in sorted((DOCS / section).rglob("*.md")):
            text = re.sub(r"<!--.*?-->|```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            title, _, rest = text.strip().partition("\n")
            # The first paragraph that is prose: no heading, no table, no list.
            prose = (" ".join(part.split()) for part in rest.split("\n\n") if part.strip()[:1].isalpha())
            about = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", next(prose, "")).partition(". ")[0].rstrip(".")
            lines.append(f"- [{title.lstrip('# ')}]({page.relative_to(ROOT).as_posix()}): {about}")
        lines.append("")
    return "\n".join(lines)


def drawn(name: str) -> str:
    """A compiled graph as mermaid text."""
    return to_mermaid(find(GRAPHS, name, "graph").build_graph()).rstrip()


# --- clients ----------------------------------------------------------------------------------------------------------


def client_sections() -> Iterator[str]:
    """A section per client: its file, what a hosted seat looks like in it, where its token comes from."""
    for name, client in clients().items():
        yield f"### {client.title}"
        form = f"{FORMATS[client.format]}, under `{client.key}`"
        yield f"`--client {name}` · {places(client)} · {form} · [documentation]({client.page})"
        server = Server("tradefair", ["/path/to/tradefair"], "https://market.example/mcp")
        # A place that is the same for everybody.
        server = server if client.remote else replace(server, token_file=Path("/home/you/.tradefair/token"))
        yield from ("", fenced(client.format, rendered(snippet(client, server), client.format).rstrip()), "")
        advice = token_advice(client, server)
        yield f"{advice[0].upper()}{advice[1:]}."
        if line := shell_line(client, server):
            yield f"Or: `{line}`."
        if client.unconfirmed:
            yield f"Not in the documentation: {client.unconfirmed}."
        yield ""


def places(client: Client) -> str:
    """The files of a client, per system where they differ."""
    systems = {"Linux": client.linux, "macOS": client.macos, "Windows": client.windows}
    own = [f"on {system} `{path}`" for system, path in systems.items() if path]
    return ", ".join([*([f"`{client.file}`"] if client.file else []), *own])


# --- tools ------------------------------------------------------------------------------------------------------------


def market_page(kind: MarketType) -> str:
    """The tools of one market."""
    lines = [
        NOTE,
        f"# Tools of {kind.name}",
        "",
        f"{kind.title[:1].upper()}{kind.title[1:]}. Rules version {kind.version}; tool schema digest",
        f"`{full_table(kind).schema_digest}`.",
        "",
        "Every market also has the [tools of the kernel](kernel.md).",
        *tool_sections(kind.tools),
        "",
        "## What an action should rest on",
        *evidence_lines(kind),
        "",
        "## Errors of this market",
        *code_table(kind.errors),
    ]
    return "\n".join(lines) + "\n"


def kernel_page() -> str:
    """The tools and error codes that all markets share."""
    lines = [
        NOTE,
        "# Tools of the kernel",
        "",
        "Every market has them. `execute_code` has [a page of its own](../../how-to/execute_code.md).",
        *tool_sections(KERNEL_TOOLS),
        "",
        "## Shared errors",
        "A refused call answers `{code, message, hint, retryable}` with `isError`; `hint` names the next useful call.",
        "",
        *code_table(SHARED_CODES),
    ]
    return "\n".join(lines) + "\n"


def tool_sections(table: ToolTable) -> Iterator[str]:
    """A section per tool."""
    for tool in table.values():
        yield from ("", f"## `{tool.name}`: {tool.title}", "", f"*{facts(tool)}*", "", *tool.description.splitlines())
        given = tool.input_schema.get("properties", {})
        if given:
            yield from ("", "| argument | what it is | allowed | default |", "|---|---|---|---|")
            required = tool.input_schema.get("required", ())
            for name, schema in given.items():
                default = f"`{shown(schema['default'])}`" if "default" in schema else "left out"
                default = "required" if name in required else default
                yield f"| `{name}` | {schema['description']} | {allowed_text(schema, tool.input_schema)} | {default} |"
        yield from ("", "Answers " + ", ".join(f"`{name}`" for name in tool.result_schema.get("properties", {})) + ".")


def facts(tool: Tool) -> str:
    """Kind and marks in a few words."""
    words = [tool.kind]
    if tool.evidence:
        words.append("evidence: " + ", ".join(tool.evidence))
    if tool.roles is not None:
        words.append("for " + ", ".join(sorted(tool.roles)))
    marks = {
        "only in some scenarios": tool.when is not None,
        "ends the turn": tool.ends_turn,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent,
        f"needs the service {tool.needs}": tool.needs is not None,
        "recorded, not re-executed": tool.recorded,
    }
    return " · ".join([*words, *(word for word, holds in marks.items() if holds)])


def evidence_lines(kind: MarketType) -> Iterator[str]:
    """One line per need."""
    if not kind.evidence_map:
        yield "Nothing is asked for."
    for action, needs in kind.evidence_map.items():
        for need in needs:
            yield f"- `{action}`: {' or '.join(need.any_of)}, {window(need)}"


def window(need: Need) -> str:
    """When the evidence should have been looked at."""
    fixed = {"round": "in the same round", "episode": "once in the episode", "since_close": "since the last closure"}
    text = fixed[need.window] if isinstance(need.window, str) else f"within {need.window} rounds"
    return text + (f", from round {need.from_round} on" if need.from_round > 1 else "")


def code_table(codes: Mapping[str, str]) -> Iterable[str]:
    """Codes and their meaning."""
    if not codes:
        return ["None beyond the [shared ones](kernel.md#shared-errors)."]
    return ["| code | meaning |", "|---|---|", *(f"| `{code}` | {meaning} |" for code, meaning in codes.items())]


def shown(value: Any) -> str:
    """A default as JSON spells it."""
    return orjson.dumps(value).decode()


# --- diagnostics ------------------------------------------------------------------------------------------------------


def diagnostics_table(market: str) -> str:
    """The failure modes of one market, or those of all: what they say, how they are counted, when they are raised."""
    own = MAP_MODES if market == "map" else evaluator_of(market).modes
    table, prefix = (GENERAL, "") if market == "general" else (own, f"{market}.")
    head = ("id", "sentence", "counts", "raised when", "provoked by", "not by")
    rows = [mode_row(prefix + name, mode) for name, mode in table.rows.items()]
    version = f"Digest of `modes.toml`: `{table.digest}`."
    return "\n".join([version, "", table_row(*head), "|---" * len(head) + "|", *rows])


def rates_table() -> str:
    """What competent seats raise and lose in every preset that ships references."""
    head = (
        "preset",
        "seeds",
        "competent policies",
        "seats",
        "findings",
        "ledgers",
        "median gap",
        "noise of a turn",
        "unit",
    )
    rows: list[str] = []
    without: list[str] = []
    for market in market_names():
        evaluator, rules = evaluator_of(market), market_type(market).version
        for scenario in scenario_ids(market):
            content = load_scenario(market, scenario.partition("/")[2]).model_dump(mode="json")
            found = shipped(type(evaluator).__module__.rpartition(".")[0], content, rules)
            if found is not None and (usual := found.usual) is not None:
                # Without a seat that could win something there is neither gap nor noise.
                money = ["–" if value is None else number_text(value) for value in (usual.median_gap, usual.noise)]
                names = ", ".join(f"`{name}`" for name in found.competent)
                seats, ledgers = str(usual.seats), str(usual.ledgers)
                unit = evaluator.primary_metrics[0].unit
                row = (f"`{scenario}`", str(found.rated), names, seats, f"{usual.findings:.2f}", ledgers, *money, unit)
                rows.append(table_row(*row))
            else:
                without.append(f"`{scenario}`")
    lacking = ["", f"Without base rates: {', '.join(without)}."]
    return "\n".join([table_row(*head), "|---" * len(head) + "|", *rows, *lacking])


def reading_table() -> str:
    """Recall beside precision of the reading of talk, per class and set of sentences."""
    sets = {"fresh": "", "test half": "test_", "development half": "dev_"}
    head = ("class", *(f"{name}: {figure}" for name in sets for figure in ("recall", "precision", "numbers")))
    rows = [
        table_row(
            f"`{claim}`",
            *(
                f"{row[prefix + figure]:{form}}"
                for prefix in sets.values()
                for figure, form in (("recall", ".2f"), ("precision", ".2f"), ("n", ".0f"))
            ),
        )
        for claim, row in talk_reading().items()
    ]
    return "\n".join([table_row(*head), "|---" * len(head) + "|", *rows])


def mode_row(name: str, mode: Mode) -> str:
    """One failure mode."""
    few = f"; of at least {mode.least_of:g} {mode.unit}" if mode.least_of > 1 else ""
    params = "".join(f"; {key.replace('_', ' ')} {value}" for key, value in mode.params.items())
    counts = f"{mode.counts} / {mode.of}{params}"
    judged = f" ({', '.join(mode.judged)})" if mode.judged else ""
    cells = (mode.sentence, counts, mode.threshold + few, mode.provoked_by, mode.not_by)
    return table_row(f"`{name}` v{mode.version}{judged}", *cells)


def table_row(*cells: str) -> str:
    """A row whose cells break nothing."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


# --- figures ----------------------------------------------------------------------------------------------------------


def exit_codes_page() -> str:
    """What commands end with, for scripts."""
    rows = [table_row(str(code), meaning) for code, meaning in EXIT_CODES.items()]
    intro = "Every command ends with one of these. A failure mode that was found in a trace is a result, no error."
    return "\n".join([NOTE, "", "# Exit codes", "", intro, "", "| code | meaning |", "|---|---|", *rows, ""])


def redaction_page() -> str:
    """What is taken out of texts, as `tracestore/redaction.toml` has it; examples stand there."""
    found = redaction.rows()

    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    hows = {
        "hidden": "its text goes, whatever it is, and every text below it",
        "shown": "its text goes; an object of this name is looked into; in a text only what has a digit or quotes goes",
        "shaped": "what has the shape of a credential goes: 16 characters and more, of mixed classes, few words in it",
        "numbers": "numbers go, too, from three digits on; a number in any other field stays",
        "about": "as the last word of a name: it says something about a secret, only the shape of a credential goes",
        "never": "stays, unless its value has a known shape",
        "nothing": "as a value: stays",
        "prose": "as a value without quotes in a text: stays",
    }
    parts = {
        "Fields": [("names, as whole words", "what becomes of the value")]
        + [(listed(found["fields"][name]), said) for name, said in hows.items()],
        "Objects and lists": [("list", "words")] + [(name, listed(words)) for name, words in found["data"].items()],
        "Places in a text": [("rule", "what")] + [(row["rule"], row["about"]) for row in found["places"]],
        "Values by their beginning": [("service", "beginnings; what follows has 14 characters and more")]
        + [(name, listed(prefixes.split())) for name, prefixes in found["prefixes"].items()],
        "Values of which more is known": [("rule", "what")] + [(row["rule"], row["about"]) for row in found["shapes"]],
    }
    lines = [
        NOTE.replace("docs/generate.py or the tool itself", "tracestore/redaction.toml"),
        "# What is taken out of texts",
    ]
    lines += ["", found["intro"].strip()]
    for title, (head, *rest) in parts.items():
        lines += ["", f"## {title}", "", table_row(*head), "|---|---|", *(table_row(*row) for row in rest)]
    harmless = [
        f"`{example}`" for example in found["harmless"]["examples"] if "\\n" not in example and "`" not in example
    ]
    return "\n".join(
        [*lines, "", "## What stays", "", found["stays"].strip(), "", *(f"- {one}" for one in harmless), ""]
    )


def figures_page() -> str:
    """Every field of every outcome, as `figure(...)` in its model and the docstring below have it."""
    common = common_figures()
    lines = [
        NOTE.replace("docs/generate.py or the tool itself", "the models of a market's outcomes"),
        "# Every figure of an outcome",
        "",
        "What `tradefair evaluate --json` gives, field by field. Σ is a sum; floats have nine decimals. A field that",
        "is never null is 0 where nothing was played, unless its row says otherwise; *better* is where a gain lies.",
        "A name with a dot is a field of the record before the dot: of each of its entries, where there are several.",
        "Commands and pages print titles, above columns the shorter words in brackets.",
        *figure_table("The episode", common.episode),
        *figure_table("Every seat", common.seat),
    ]
    for market in market_names():
        own = figures_of(market)
        lines += ["", f"## {market}", *(["", said] if (said := letters(market)) else [])]
        lines += figure_table("Seats", own.seat, "###")
        lines += figure_table("The market", own.market, "###")
        lines += figure_table("Seats beside references", own.relative, "###")
    return "\n".join(lines) + "\n"


def letters(market: str) -> str:
    """What the letters of a market's formulas stand for, the last paragraph of the docstring of its seats' outcome."""
    _, _, said = (evaluator_of(market).models["seat"].__doc__ or "").partition("Letters: ")
    return " ".join(said.split())


def figure_table(title: str, figures: Mapping[str, Figure], level: str = "##") -> list[str]:
    """One group of fields; nothing where there is none."""
    head = ("field", "title", "formula", "unit", "null", "better")
    rows = [
        table_row(f"`{name}`", titled(row), formula(row), row.unit, row.null, row.better.replace("none", "–"))
        for name, row in figures.items()
    ]
    return ["", f"{level} {title}", "", table_row(*head), "|---" * len(head) + "|", *rows] if rows else []


def titled(row: Figure) -> str:
    """The title, and the words above columns where they are others."""
    return f"{row.title} (*{row.short}*)" if row.short else row.title


def formula(row: Figure) -> str:
    """The formula, what could be misread, and who published it."""
    return row.formula + f". **Mind**: {row.caution}" * bool(row.caution) + f" ({row.source})" * bool(row.source)


# --- README -----------------------------------------------------------------------------------------------------------


def demo_output() -> str:
    """What `make demo` prints."""
    with tempfile.TemporaryDirectory() as folder:
        return steady(run(folder, *DEMO))


def with_output(page: Path, files: Path | None = None) -> str:
    """A page with its excerpts of code and files, and with what its commands print, one after another in one folder.

    The folder is empty but for copies of `files`.
    """
    with tempfile.TemporaryDirectory() as folder:
        if files is not None:
            shutil.copytree(files, folder, dirs_exist_ok=True)

        def content(found: re.Match[str]) -> str:
            if found["source"]:
                return excerpt(found["source"], found["names"].split())
            if found["file"]:
                return fenced(
                    Path(found["file"]).suffix[1:], Path(folder, found["file"]).read_text(encoding="utf-8").rstrip()
                )
            output = steady(run(folder, *found["command"].split()))
            if found["first"]:
                output = "\n".join([*output.splitlines()[: int(found["first"])], "…"])
            return fenced("console", f"$ tradefair {found['command']}\n{output}")

        command = r"(?:first (?P<first>\d+) lines of )?output tradefair (?P<command>.+?)"
        begin = rf"<!-- begin (?:{command}|code (?P<source>\S+) (?P<names>[^>]+)|file (?P<file>\S+)) -->"
        return filled(page, begin, content)


def steady(text: str) -> str:
    """Output without what differs from run to run: names of episodes, seals (they cover times of day), seconds."""
    text = re.sub(r"\b[0-9a-f]{12}(?=\.trace)", "x" * 12, text)
    for seal in re.findall(r"(?:seal |[0-9a-f]{16}  )([0-9a-f]{16})", text):
        text = text.replace(seal, "x" * 16)
    text = re.sub(r"\b[\d.]+ s\b", "… s", text)
    # "0.04 s" leaves room for a word on its line, "0.041 s" does not: the rest of the paragraph gets a line of its own.
    text = re.sub(r"(?<=… s;)\s(.+?)(?=\n\n|$)", lambda found: "\n" + " ".join(found[1].split()), text, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def run(folder: str, *arguments: str) -> str:
    """What a command prints on a plain terminal of 80 columns."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "tradefair.cli", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment, timeout=120)
    return done.stdout


# --- blocks -----------------------------------------------------------------------------------------------------------


def filled(path: Path, begin: str, content: Callable[[re.Match[str]], str]) -> str:
    """The page with everything between `begin` and the next end mark made anew."""
    page = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"^{begin}\n(?P<old>.*?)(?P<end><!-- end [a-z]+ -->)$", re.DOTALL | re.MULTILINE)
    if not pattern.search(page):
        raise SystemExit(f"{path.relative_to(ROOT)}: there is no block {begin}")
    return pattern.sub(lambda found: found[0].split("\n", 1)[0] + f"\n{content(found)}\n{found['end']}", page)


def excerpt(source: str, names: Sequence[str]) -> str:
    """Definitions of a module as they stand in its file: names of its own, or `Class.name` of one class.

    The name `*` is the whole file without its docstring.
    """
    text = (ROOT / source).read_text(encoding="utf-8")
    if names == ["*"]:
        return fenced("python", "\n".join(text.splitlines()[ast.parse(text).body[0].end_lineno :]).strip())
    owner = names[0].rpartition(".")[0]
    parts = [_lines(text, definition(ast.parse(text), name.split("."))) for name in names]
    return fenced("python", f"class {owner}:\n" + "\n\n".join(parts) if owner else "\n\n\n".join(parts))


def _lines(text: str, node: Definition) -> str:
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def definition(scope: ast.Module | Definition, path: Sequence[str]) -> Definition:
    """The class or function at `path` below `scope`."""
    for node in scope.body:
        if isinstance(node, Definition) and node.name == path[0]:
            return node if len(path) == 1 else definition(node, path[1:])
    raise SystemExit(f"there is no {path[0]} to show")


def fenced(language: str, text: str) -> str:
    """A code block."""
    return f"```{language}\n{text}\n```"


if __name__ == "__main__":
    sys.exit(main())
