"""The status page: one HTML document without scripts, fonts or pictures, made for each request."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from tradefair.host.doors.status import EpisodeSummary, HostStatus

_REFRESH_S = 5
_COLUMNS = ("Episode", "State", "Scenario", "Seed", "Clock", "Awaited", "Events", "Age", "Ended")

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --quiet: #777; --good: #18794e; --warn: #ad5700; }
@media (prefers-color-scheme: dark) { :root { --quiet: #999; --good: #4cc38a; --warn: #ff9b3d; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0; } h1 small { color: var(--quiet); font-weight: normal; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2.2rem; margin: 1.2rem 0 1.6rem; }
dt { color: var(--quiet); font-size: .8rem; } dd { margin: 0; font-size: 1.25rem; }
dd, td { font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .8rem .35rem 0; text-align: left; white-space: nowrap; }
th { color: var(--quiet); font-size: .8rem; font-weight: normal; } td.n, th.n { text-align: right; }
code { font-size: .92em; } .running, .ready { color: var(--good); } .pending, .draining { color: var(--warn); }
.ended, .closed, footer { color: var(--quiet); } footer { font-size: .85rem; margin-top: 1.5rem; }
"""
_NUMBERS = frozenset({"Seed", "Awaited", "Events", "Age"})


def page(status: HostStatus, url: str) -> str:
    """The document. All text from outside is escaped.

    `url` is where seats are served. Everything is in the one document, as the page's policy allows nothing else.
    """
    state = '<span class="ready">ready</span>'
    if not status.ready:
        state = f'<span class="draining">not ready: {escape("; ".join(status.reasons))}</span>'
    figures = (
        ("Running", f"{status.running:,}"),
        ("Waiting for their start", f"{status.pending:,}"),
        ("Ended, still readable", f"{status.ended:,}"),
        ("Closed", f"{status.closed:,}"),
        ("Room for", f"{max(0, status.max_episodes - status.running - status.pending - status.ended):,}"),
        ("Clients' doors", f"{status.open_doors:,}"),
        ("Memory", status.memory),
        ("Up", _span(status.uptime_s)),
    )
    shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    heads = "".join(f"<th{_number(name)}>{name}</th>" for name in _COLUMNS)
    rows = "".join(map(_row, status.episodes)) or f'<tr><td colspan="{len(_COLUMNS)}">No episode yet.</td></tr>'
    more = status.total - len(status.episodes)
    note = f" {more:,} older ones are not shown." if more > 0 else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="{_REFRESH_S}"><title>tradefair host</title><style>{_STYLE}</style></head>
<body><h1>tradefair host {state} <small>seats at <code>{escape(url)}</code></small></h1>
<dl>{shown}</dl>
<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
<footer>Newest first; renewed every {_REFRESH_S} seconds.{note}
<code>tradefair control status</code> says the same, and more of one episode.</footer>
</body></html>
"""


def _row(line: EpisodeSummary) -> str:
    age = "" if line.created is None else _span((datetime.now(UTC) - line.created).total_seconds())
    clock = "" if line.round is None else f"round {line.round}, {line.phase}"
    live = line.state in ("running", "ended")
    cells = (
        f"<code>{escape(line.episode)}</code>",
        f'<span class="{line.state}">{line.state}</span>',
        escape(line.scenario),
        "sealed" if line.sealed else str(line.seed),
        escape(clock),
        str(line.awaited) if live else "",
        f"{line.events:,}" if live else "",
        age,
        escape(line.end_reason or ""),
    )
    pairs = zip(_COLUMNS, cells, strict=True)
    return f"<tr>{''.join(f'<td{_number(name)}>{cell}</td>' for name, cell in pairs)}</tr>"


def _number(column: str) -> str:
    return ' class="n"' if column in _NUMBERS else ""


def _span(seconds: float) -> str:
    """A length of time in its two largest units.

    For example `1 d 3 h`, `2 h 5 min`, `40 s`; parts are rounded down.
    """
    whole = int(seconds)
    for size, name, below, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // below} {small}"
    return f"{whole} s"
