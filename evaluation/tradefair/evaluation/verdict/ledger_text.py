"""A ledger in words for people: the same rows on a terminal and in a page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tradefair.contract.money import nearest
from tradefair.contract.text import clean_line
from tradefair.evaluation.ledger import Action, Ledger, LedgerSeries, LedgerTurn
from tradefair.evaluation.table import Table, decimals

if TYPE_CHECKING:
    from tradefair.cli.console import Console

MAX_ROWS = 10
"""Rows of a table: the turns that lost most."""
MOST_TURNS, MOST_KINDS = 4, 8
"""Rows below the sentences of a verdict, of an episode and of a series: all stays within a screen."""
_FIGURES = frozenset({"lost", "lost, mean", "of the gap", "episodes"})
_MAX_ARGUMENTS = 60
_MAX_ACTIONS = 3
# Of one turn by itself, where there is room.
_MAX_LINE, _MAX_LINES = 1_000, 12
_DASH = "–"


class LedgerRow(NamedTuple):
    """Consecutive turns in which the seat did the same, most often one.

    `turns` is how many they are, `lost` what they lost together; `seq` is the first event of the costliest of them.
    """

    place: str
    turns: int
    lost: float
    did: str
    would: str
    names: tuple[str, ...]
    seq: int | None


def ledger_table(ledger: Ledger, *, word: str = "round", most: int | None = MAX_ROWS) -> Table:
    """The turns that lost most, a line about all others, and the sum; `word` is what the market calls a round.

    `most`: how many rows at most; None for all that lost something.
    """
    ledger = ledger.in_money()
    shown = ledger_rows(ledger, word=word, most=most)
    rows = [(row.place, amount_text(row.lost), row.did, row.would, ", ".join(row.names) or _DASH) for row in shown]
    if rest := rest_text(ledger, most):
        rows.append((rest, "", "", "", ""))
    rows.append(("sum", amount_text(ledger.gap), _sides(ledger), "", ""))
    return Table(f"what {ledger.seat} lost, in {ledger.unit}", ledger_columns(ledger), rows)


def series_table(series: LedgerSeries, who: str, *, most: int | None = MAX_ROWS) -> Table:
    """How much of the mean gap each kind of turn holds, the costliest kinds first, and their sum; `who` played.

    `most`: how many rows at most; None for all kinds that lost or gained something.
    """
    series = series.in_money()
    kinds = [kind for kind in series.kinds if kind.lost]
    rows = [
        (
            _short(kind.name) or "no name",
            _phase(kind.phase),
            clean_line(kind.tool) or "nothing",
            amount_text(kind.lost),
            _share(kind.lost, series.gap),
            str(kind.episodes),
        )
        for kind in kinds[:most]
    ]
    if rest := kinds[len(rows) :]:
        lost = math.fsum(kind.lost for kind in rest)
        rows.append((f"… {len(rest)} more", "", "", amount_text(lost), _share(lost, series.gap), ""))
    episodes = f"{series.episodes} of {series.of}"
    rows.append(("mean gap", "", _sides(series), amount_text(series.gap), _share(series.gap, series.gap), episodes))
    columns = ("kind of turn", "phase", "it did", "lost, mean", "of the gap", "episodes")
    return Table(f"what kinds of turns of {clean_line(who)} lost, in {series.unit}", columns, rows)


def show_ledgers(console: Console, tables: Sequence[Table], *, frozen: bool, whole: bool = False) -> None:
    """Print tables of what turns lost, behind a blank line each; `frozen`: other agents kept to what they did."""
    # Imported here: rich takes long, and pages need none of it.
    from tradefair.cli.tables import Column, show_table, show_text

    for table in tables:
        console.print()
        if len(tables) > 1:
            show_text(console, table.title, style="bold")
        if frozen:
            show_text(console, "other agents kept to what they did", style="dim")
        figures = [place for place, title in enumerate(table.columns) if title in _FIGURES]
        columns = [
            Column(title, "figure" if place in figures else "name" if place < figures[0] else "text")
            for place, title in enumerate(table.columns)
        ]
        show_table(console, columns, table.rows, whole=whole, more="--all or --json")


def ledger_columns(ledger: Ledger) -> tuple[str, ...]:
    """The headings of a ledger's table."""
    return "turn", "lost", "it did", f"{clean_line(ledger.of[0])} would have done", "named"


def ledger_rows(ledger: Ledger, *, word: str = "round", most: int | None = MAX_ROWS) -> list[LedgerRow]:
    """The rows that lost most, the costliest first."""
    ledger = ledger.in_money()
    return [_row(ledger, group, word) for group in _costliest(ledger)[:most]]


def rest_text(ledger: Ledger, most: int | None = MAX_ROWS) -> str:
    """What all turns behind the first rows lost and gained; empty where there are none."""
    shown = {turn.turn for group in _costliest(ledger)[:most] for turn in group}
    rest = [turn for turn in ledger.turns if turn.turn not in shown]
    lost, gained, nothing = (
        [turn for turn in rest if turn.lost > 0],
        [turn for turn in rest if turn.lost < 0],
        [turn for turn in rest if turn.lost == 0],
    )
    parts: list[str] = []
    if lost:
        more, count = " more" * bool(shown), count_turns(lost)
        parts.append(f"{count}{more} turn{'s' * (count != 1)} lost {amount_text(_sum(lost))}")
    if gained:
        parts.append(f"{_turns(gained, parts)} gained {amount_text(-_sum(gained))}")
    if nothing:
        parts.append(f"{_turns(nothing, parts)} lost nothing")
    return ", ".join(parts)


def place_text(ledger: Ledger, first: LedgerTurn, last: LedgerTurn | None = None, *, word: str = "round") -> str:
    """Where turns stand: 'round 4', 'period 1, step 25', 'days 41 to 47'. Phase and step where a round has several."""
    last = last or first
    places = Counter((turn.round, turn.phase) for turn in ledger.turns)
    phased = len({phase for _, phase in places}) > 1
    stepped = any(turns > 1 for turns in places.values())
    # Some markets count their steps from 0, as the tape does.
    from_one = int(any(turn.step == 0 for turn in ledger.turns))
    begun, ended = first.round, last.last_round
    if first is last and first.until > first.turn and begun == ended:
        return f"{word} {begun}, {first.until - first.turn + 1} turns"
    if begun != ended:
        return f"{word}s {begun} to {ended}"
    parts = [f"{word} {begun}"]
    if phased:
        parts.append(_phase(first.phase))
    if stepped:
        low, high = first.step + from_one, last.step + from_one
        parts.append(f"step {low}" if low == high else f"steps {low} to {high}")
    return ", ".join(parts)


def actions_text(actions: Sequence[Action]) -> str:
    """Actions with their arguments, shortly: `submit_quote price 40`; of none: nothing."""
    if not actions:
        return "nothing"
    shown = [_action(tool, arguments) for tool, arguments in actions[:_MAX_ACTIONS]]
    more = f" and {len(actions) - _MAX_ACTIONS} more" if len(actions) > _MAX_ACTIONS else ""
    return "; ".join(shown) + more


def called(say: Callable[[Sequence[Action]], str], actions: Sequence[Action], nothing: str = "done nothing") -> str:
    """What somebody did, behind who it was: `called submit_quote price 40`; `say` words the actions."""
    return f"called {say(actions)}" if actions else nothing


def lines_of(actions: Sequence[Action], others: Sequence[Action]) -> list[str]:
    """A line for each action that is not among the `others`, of none for all; at most twelve, then how many remain."""
    apart = [action for action in actions if action not in others] or list(actions)
    lines = [_action(tool, arguments, _MAX_LINE) for tool, arguments in apart[:_MAX_LINES]]
    if len(apart) > _MAX_LINES:
        lines.append(f"and {len(apart) - _MAX_LINES} more")
    if same := len(actions) - len(apart):
        lines.append(f"{same} action{'s' * (same != 1)} in common")
    return lines or ["nothing"]


def tools_text(actions: Sequence[Action]) -> str:
    """The tools of a stretch of turns, with how often each was used."""
    tools = Counter(clean_line(tool) for tool, _ in actions)
    shown = [f"{tool} × {times}" if times > 1 else tool for tool, times in tools.most_common(_MAX_ACTIONS)]
    return ", ".join(shown) + " …" * (len(tools) > _MAX_ACTIONS) or "nothing"


def actions_apart(did: Sequence[Action], would: Sequence[Action]) -> tuple[list[Action], list[Action]]:
    """What is only in one of two lists of actions: of calls of one tool only the arguments, or parts, that differ."""
    left = [action for action in did if action not in would]
    right = [action for action in would if action not in did]
    if [tool for tool, _ in left] != [tool for tool, _ in right]:
        return left, right
    mine, theirs = [arguments for _, arguments in left], [arguments for _, arguments in right]
    tools = [tool for tool, _ in left]
    return (
        list(zip(tools, map(_apart, mine, theirs), strict=True)),
        list(zip(tools, map(_apart, theirs, mine), strict=True)),
    )


def _apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `one` that `other` has otherwise; what names their object stays. Of lists of records as well."""
    found: dict[str, Any] = {}
    for name, value in one.items():
        beside = other.get(name)
        if isinstance(value, list) and isinstance(beside, list):
            parts: list[Any] = [part for part in value if part not in beside]  # pyright: ignore[reportUnknownVariableType]
            found |= {name: parts} if parts else {}
        elif value != beside or isinstance(value, str):
            found[name] = value
    return found


def amount_text(value: float) -> str:
    """An amount of the ledger's unit, with thousands apart; from 10,000 on without decimals."""
    shown = f"{nearest(value, 0):,}" if abs(value) >= 10_000 else decimals(value, ",")
    return shown.replace("-", "−")


def count_turns(turns: Iterable[LedgerTurn]) -> int:
    """How many turns these are; a stretch is several."""
    return sum(turn.until - turn.turn + 1 for turn in turns)


def _costliest(ledger: Ledger) -> list[list[LedgerTurn]]:
    """Groups of consecutive turns with the same actions that lost something, the costliest first."""
    groups = [group for group in _groups(ledger.turns) if _sum(group) > 0]
    return sorted(groups, key=lambda group: (-_sum(group), group[0].turn))


def _groups(turns: Iterable[LedgerTurn]) -> Iterator[list[LedgerTurn]]:
    group: list[LedgerTurn] = []
    for turn in turns:
        if group and not _same(group[-1], turn):
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def _same(before: LedgerTurn, turn: LedgerTurn) -> bool:
    # A stretch holds the actions of many turns: it stands alone.
    single = before.turn == before.until and turn.turn == turn.until
    return single and (before.phase, before.did) == (turn.phase, turn.did)


def _row(ledger: Ledger, group: Sequence[LedgerTurn], word: str) -> LedgerRow:
    first, last = group[0], group[-1]
    costliest = max(group, key=lambda turn: turn.lost)
    names = tuple(dict.fromkeys(_short(name) for turn in group for name in turn.names))
    turns = count_turns(group)
    did = tools_text(first.did) if first.until > first.turn else actions_text(first.did)
    if len(group) > 1:
        did += f" ({turns} turns)"
    wanted = [turn.would for turn in group]
    would = _DASH if costliest.would is None else actions_text(costliest.would)
    if would != _DASH and any(other != wanted[0] for other in wanted):
        # The turns of a row ask for different answers: shown is that of the costliest.
        would += f" in {place_text(ledger, costliest, word=word)}"
    place = place_text(ledger, first, last, word=word)
    return LedgerRow(place, turns, _sum(group), did, would, names, min(costliest.seqs, default=None))


def _sides(ledger: Ledger | LedgerSeries) -> str:
    """The gap as a difference of two figures, the better one first."""
    more, less = (ledger.reachable, ledger.own) if ledger.higher_is_better else (ledger.own, ledger.reachable)
    taken = f"({amount_text(less)})" if less < 0 else amount_text(less)
    return f"= {amount_text(more)} − {taken}"


def _share(lost: float, gap: float) -> str:
    # Of a gap that is all but nothing no share can be told.
    share = 100 * lost / gap if gap > 0 else math.inf
    return f"{round(share)} %".replace("-", "−") if math.isfinite(share) else _DASH


def _short(name: str) -> str:
    """A mistake without its market."""
    return clean_line(name).rpartition(".")[2]


def _phase(phase: str) -> str:
    return clean_line(phase).replace("_", " ")


def _action(tool: str, arguments: Any, most: int = _MAX_ARGUMENTS) -> str:
    told = " ".join(f"{name} {_value(value)}" for name, value in arguments.items() if value is not None)
    told = clean_line(told)
    if len(told) > most:
        # Never within a number.
        told = told[:most].rpartition(" ")[0].rstrip(",") + " …"
    return f"{clean_line(tool)} {told}".rstrip()


def _value(value: Any) -> str:
    match value:
        case str():
            return value if value and not any(sign.isspace() for sign in value) else f'"{value}"'
        case bool() | int():
            return str(value).lower()
        case float():
            return decimals(value)
        case [dict(), *_]:
            records: Sequence[Any] = value
            return ", ".join(_record(part) if part and isinstance(part, Mapping) else _value(part) for part in records)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return orjson.dumps(value, default=str).decode(errors="replace")


def _record(part: Mapping[str, Any]) -> str:
    """A record of a list: a text that comes first names it, as `beans quantity 10 price 11`."""
    first = next(iter(part.values()))
    named = [_value(first)] if isinstance(first, str) else []
    others = list(part.items())[len(named) :]
    return " ".join([*named, *(f"{name} {_value(value)}" for name, value in others if value is not None)])


def _turns(turns: Sequence[LedgerTurn], told: Sequence[str]) -> str:
    """How many they are; the word itself stands at the first number only."""
    count = count_turns(turns)
    return str(count) if told else f"{count} turn{'s' * (count != 1)}"


def _sum(turns: Iterable[LedgerTurn]) -> float:
    return math.fsum(turn.lost for turn in turns)
