"""`make gate-power`: how often the gate is red, green or neither, of agents whose true loss is known.

`python -m benchmarks.gate [--write PAGE] [--markets M …]`. Each policy, flawed policy and drawing policy plays its
seeds once, natively; then gates are decided on these rewards in many orders of the seeds, by the gate's own `Deciding`.
What was played lies in build/gate, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import orjson

from benchmarks.planted.flaw import Altered, Flaw, Scene, Wrap
from benchmarks.planted.measure import flaws
from benchmarks.planted.play import PRESETS, Setting, write
from tradefair.contract import Chance, ToolCall
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.reward import reward_of
from tradefair.runner.gate.deciding import Deciding, Rule
from tradefair.tracestore import open_trace

PLAYED = Path("build/gate")
FIRST, MOST, MARGIN = 16, 32, 0.05
SEEDS, SLOW = 40, {"supply_chain": 2, "retail": 8}
"""Seeds of a market; of the slow ones as many as a gate has, one bundled flaw in so many, and half of the sizes."""
ORDERS, AGREE, TOGETHER = 20, 1_000, 4
"""Gates of each deterioration, and of each agent that is held against itself; scenarios of a gate of several."""
PLAYS = 6
"""Plays of an agent that draws, on each seed: two are the baseline's, one is judged."""
SIZES = (0.05, 0.1, 0.2, 0.4)
STRAYS = (0.1, 0.3)
_TRIED, _WITHOUT = 50, 5
_CLASSES = (
    ("> 20 %", 0.2, math.inf),
    ("5 to 20 %", MARGIN, 0.2),
    ("2 to 5 %", 0.02, MARGIN),
    ("within 2 %", -0.02, 0.02),
    ("a gain of more", -math.inf, -0.02),
)
LOST = {"one game in ten lost whole": 0.1, "one game in four lost whole": 0.25}
_TABLE = re.compile(r"(<!-- begin gate -->\n).*?(<!-- end gate -->)", re.DOTALL)
_NUMBERS = frozenset({"quantity", "total"})

Change = Callable[[Scene, float], float]


def _altered(value: Any, by: float, name: str = "") -> Any:
    """A call's arguments with every price and quantity so many times as high."""
    match value:
        case dict():
            return {key: _altered(inner, by, key) for key, inner in cast(dict[str, Any], value).items()}
        case list():
            return [_altered(inner, by, name) for inner in cast(list[Any], value)]
        case int() if not isinstance(value, bool) and (name in _NUMBERS or "price" in name):
            return max(1, round(value * by))
        case float() if name in _NUMBERS or "price" in name:
            return round(value * by, 2)
        case _:
            return value


def _times(by: Change, size: float) -> Wrap:
    def call_made(scene: Scene, call: ToolCall) -> Altered:
        return ToolCall(call.tool, _altered(call.arguments, by(scene, size)))

    return Wrap(call=call_made)


def _sits_out(scene: Scene, size: float) -> tuple[()] | None:
    return () if scene.round <= size * scene.rounds else None


def _gives_ground(scene: Scene, size: float) -> float:
    """More and more to the others: a buyer pays up to `size` more, anybody else asks as much less."""
    return 1 + (size if scene.buys else -size) * scene.round / scene.rounds


def _halves(scene: Scene, size: float) -> float:
    return 0.5 if scene.chance(size, "halves", scene.now.revision) else 1.0


def _strays(scene: Scene, size: float) -> float:
    return 1 + size * (2 * scene.draw.uniform("strays", scene.now.revision) - 1)


def _repeats(scene: Scene, call: ToolCall, size: float) -> Altered:
    """The numbers of an earlier turn, sent again with this turn's clock."""
    kept = scene.notes.setdefault(f"kept {call.tool}", call.arguments)
    if scene.chance(size, "repeats", scene.now.revision):
        old = {key: value for key, value in kept.items() if key in _NUMBERS or "price" in key}
        return ToolCall(call.tool, {**call.arguments, **old})
    scene.notes[f"kept {call.tool}"] = call.arguments
    return call


def _wavers(scene: Scene, call: ToolCall, size: float) -> Altered:
    """Every number half the size up or down: which way, the tool and the round say."""
    up = scene.chance(0.5, "wavers", call.tool)
    return ToolCall(call.tool, _altered(call.arguments, 1 + size / 2 if up else 1 - size / 2))


def _deaf(scene: Scene, call: ToolCall, data: Any, size: float) -> Any:
    """In a share of the turns what the first call of its kind was answered."""
    first = scene.notes.setdefault(f"first {call}", data)
    return first if scene.chance(size, "deaf", scene.now.revision) else data


KINDS: Mapping[str, Callable[[float], Wrap]] = {
    "sits out the first rounds": lambda size: Wrap(instead=partial(_sits_out, size=size)),
    "gives ground": lambda size: _times(_gives_ground, size),
    "halves its numbers now and then": lambda size: _times(_halves, size),
    "repeats itself": lambda size: Wrap(call=partial(_repeats, size=size)),
    "wavers": lambda size: Wrap(call=partial(_wavers, size=size)),
    "reads old answers": lambda size: Wrap(answer=partial(_deaf, size=size)),
}
"""Deteriorations that were made for this table, each of four sizes."""


class Side(NamedTuple):
    """Who plays: a setting's base policy (`name` empty), with a flaw in it, or one of the deteriorations above."""

    setting: Setting
    name: str = ""
    size: float = 0.0
    draws: int = 0

    @property
    def flaw(self) -> Flaw | None:
        """What is planted."""
        if not self.name:
            return None
        if not self.size:
            return next(flaw for flaw in flaws([self.setting.market]) if flaw.name == self.name)
        wrap = _times(_strays, self.size) if self.name == "strays" else KINDS[self.name](self.size)
        return Flaw(self.name, self.setting.market, "judgement", self.setting.base, frozenset(), self.name, wrap)

    @property
    def file(self) -> Path:
        """Where its rewards lie."""
        return PLAYED / f"{hashlib.blake2b(repr(self).encode(), digest_size=10).hexdigest()}.json"


def reward(side: Side, seed: int) -> tuple[float, float | None]:
    """What a side earns on a seed, more always being better, and what there was to win."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "game.trace"
        seat, _ = write(side.setting, side.flaw, seed, path, side.draws)
        with open_trace(path) as trace:
            outcome = evaluate(trace)
    found = reward_of(outcome, seat)
    earned = float(found.value or 0)
    stake = evaluator_of(side.setting.market).at_stake(outcome, seat)
    return (earned if found.higher_is_better else -earned), stake


def seeds_of(setting: Setting) -> dict[int, float]:
    """The seeds of a setting as `gate record` chooses them, with what doing nothing earns there."""
    side = Side(setting._replace(base="passive"))
    if side.file.is_file():
        return {int(seed): earned for seed, earned in orjson.loads(side.file.read_bytes())}
    found: dict[int, float] = {}
    without = 0
    wanted = MOST if setting.market in SLOW else SEEDS
    for seed in range(1001, 1001 + _TRIED * wanted):
        earned, stake = reward(side, seed)
        idle = stake is not None and stake <= 0
        if not idle or _WITHOUT * without < len(found):
            found[seed] = earned
            without += idle
        if len(found) == wanted:
            break
    side.file.write_bytes(orjson.dumps([*found.items()]))
    return found


def rewards(side: Side) -> list[float]:
    """What a side earns on each seed of its setting."""
    if not side.file.is_file():
        side.file.write_bytes(orjson.dumps([reward(side, seed)[0] for seed in seeds_of(side.setting)]))
    return orjson.loads(side.file.read_bytes())


class Gates(NamedTuple):
    """What gates found of one agent whose true loss is known."""

    market: str
    kind: str
    loss: float
    found: list[tuple[str, int]]


def sides_of(market: str) -> tuple[list[Side], list[Side]]:
    """The deteriorated sides of a market, and its drawing ones: `PLAYS` plays of each, one after another."""
    bundled = [Side(Setting.of(flaw), flaw.name) for flaw in flaws([market])[:: SLOW.get(market, 1)]]
    # Not the commonest base of its flaws but the one after it; of seats that name prices where only some do.
    common = [setting for setting, _ in Counter(side.setting for side in bundled).most_common()]
    other = next((setting for setting in common if setting.role == "business"), common[1])
    sizes, strays = (SIZES[1::2], STRAYS[:1]) if market in SLOW else (SIZES, STRAYS)
    own = [Side(other, kind, size) for kind in KINDS for size in sizes]
    drawing = [Side(other, "strays", size, 1 + play) for size in strays for play in range(PLAYS)]
    return [*bundled, *own], drawing


def decide(losses: Sequence[float], red: float = 0.05) -> Deciding:
    """One gate, a look after every game."""
    deciding = Deciding(Rule(MARGIN, FIRST, MOST, red))
    for loss in losses:
        if deciding.look([loss]):
            break
    return deciding


def order_of(key: str, gate: int, size: int) -> list[int]:
    """As many of the seeds as a gate has, in an order of its own."""
    draws = Chance(key).uniforms("order", gate, n=size)
    return sorted(range(size), key=draws.__getitem__)[:MOST]


def of_deterioration(side: Side) -> Gates | None:
    """Gates of a deteriorated side; None where the base is no better than doing nothing."""
    base, other, passive = rewards(Side(side.setting)), rewards(side), [*seeds_of(side.setting).values()]
    scale = fmean(base) - fmean(passive)
    if scale <= 0:
        return None
    found: list[tuple[str, int]] = []
    for gate in range(ORDERS):
        order = order_of(repr(side), gate, len(base))
        known = fmean(base[seed] - passive[seed] for seed in order)
        done = decide([(base[seed] - other[seed]) / known for seed in order] if known > 0 else [])
        found.append((str(done.status), len(done.losses)))
    kind = "own" if side.size else "bundled"
    return Gates(side.setting.market, kind, (fmean(base) - fmean(other)) / scale, found)


def of_lost_games(setting: Setting, kind: str) -> Gates | None:
    """Gates of an agent that does nothing in some games, and in all others plays as its baseline."""
    base, passive = rewards(Side(setting)), [*seeds_of(setting).values()]
    if fmean(base) <= fmean(passive):
        return None
    found: list[tuple[str, int]] = []
    for gate in range(ORDERS):
        order = order_of(f"{setting} {kind}", gate, len(base))
        lost = Chance(kind).uniforms("lost", gate, repr(setting), n=len(base))
        known = fmean(base[seed] - passive[seed] for seed in order)
        losses = [(base[seed] - passive[seed]) / known * (lost[seed] < LOST[kind]) for seed in order]
        done = decide(losses if known > 0 else [])
        found.append((str(done.status), len(done.losses)))
    return Gates(setting.market, kind, LOST[kind], found)


def own_losses(plays: Sequence[Sequence[float]], passive: Sequence[float], key: str, gate: int) -> list[float]:
    """Losses of an agent against itself: on each seed two of its plays are the baseline's, another one is judged."""
    order, drawn = order_of(key, gate, len(passive)), Chance(key)
    sides: list[tuple[float, float]] = []
    for seed in order:
        draws = drawn.uniforms("plays", gate, seed, n=len(plays))
        first, second, judged = sorted(range(len(plays)), key=draws.__getitem__)[:3]
        sides.append(((plays[first][seed] + plays[second][seed]) / 2, plays[judged][seed]))
    scale = fmean(before for before, _ in sides) - fmean(passive[seed] for seed in order)
    return [(before - own) / scale for before, own in sides] if scale > 0 else []


class Agent(NamedTuple):
    """An agent that draws: its plays, what doing nothing earns, and how much its single games differ."""

    market: str
    size: float
    plays: list[list[float]]
    passive: list[float]

    def losses(self, gate: int) -> list[float]:
        """The losses of one gate of it against itself; none where it is no better than doing nothing."""
        return own_losses(self.plays, self.passive, f"{self.market} {self.size}", gate)


def wilson(count: int, of: int) -> float:
    """The upper end of the 95 % interval of a share (Wilson 1927)."""
    z, share = 1.96, count / of
    return (share + z * z / 2 / of + z * math.sqrt(share * (1 - share) / of + (z / of / 2) ** 2)) / (1 + z * z / of)


def _row(name: str, group: Sequence[Gates]) -> str:
    found = [one for gates in group for one in gates.found]
    if not found:
        return f"| {name} | 0 |" + " – |" * 5
    states = Counter(status for status, _ in found)
    early = sum(status == "worse" and games <= FIRST for status, games in found)
    shares = [early, states["worse"], states["not_worse"], states["unknown"]]
    cells = " | ".join(f"{share / len(found):.3f}" for share in shares)
    return f"| {name} | {len(group)} | {cells} | {fmean(games for _, games in found):.1f} |"


def power_table(all_gates: Sequence[Gates]) -> Iterator[str]:
    """Rows by true loss for each set, then by market of losses above the margin."""
    yield "| true loss | agents | red by game 16 | red | green | could not tell | games |"
    yield "|---|---|---|---|---|---|---|"
    for kind in ("bundled", "own"):
        for name, low, high in _CLASSES:
            some = [gates for gates in all_gates if gates.kind == kind and low < gates.loss <= high]
            yield _row(f"{kind}, {name}", some)
    for kind in LOST:
        yield _row(kind, [gates for gates in all_gates if gates.kind == kind])
    all_gates = [gates for gates in all_gates if gates.kind not in LOST]
    worse = [gates for gates in all_gates if gates.loss > MARGIN]
    for market in dict.fromkeys(gates.market for gates in all_gates):
        yield _row(f"{market}, > 5 %", [gates for gates in worse if gates.market == market])
    yield _row("all, > 5 %", worse)


def agree_table(agents: Sequence[Agent]) -> Iterator[str]:
    """Gates of equal agents, of one scenario and of several at once."""
    yield "| agent | gates | red | upper bound | green | could not tell |"
    yield "|---|---|---|---|---|---|"
    total: list[str] = []
    for agent in agents:
        states = [str(decide(agent.losses(gate)).status) for gate in range(AGREE)] if agent.losses(0) else []
        name = f"{agent.market}, numbers off by up to {100 * agent.size:.0f} %"
        yield _agree_row(name, states)
        total += states
    yield _agree_row("all", total)
    usable = [agent for agent in agents if agent.losses(0)]
    several = [_several(usable, gate) for gate in range(AGREE if len(usable) >= TOGETHER else 0)]
    yield _agree_row(f"{TOGETHER} scenarios in one gate", several)


def _several(agents: Sequence[Agent], gate: int) -> str:
    """A gate of several scenarios: red where one is, at its share of the error."""
    draws = Chance("several").uniforms("agents", gate, n=len(agents))
    some = sorted(range(len(agents)), key=draws.__getitem__)[:TOGETHER]
    found = {str(decide(agents[one].losses(AGREE + gate), 0.05 / TOGETHER).status) for one in some}
    return "worse" if "worse" in found else "not_worse" if found == {"not_worse"} else "unknown"


def _agree_row(name: str, states: Sequence[str]) -> str:
    if not states:
        return f"| {name} | no better than doing nothing | – | – | – | – |"
    counts, of = Counter(states), len(states)
    cells = (counts["worse"] / of, wilson(counts["worse"], of), counts["not_worse"] / of, counts["unknown"] / of)
    return f"| {name} | {of} | {' | '.join(f'{cell:.3f}' for cell in cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Play what is not there yet, decide the gates, print or write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--markets", nargs="*", choices=list(PRESETS), default=list(PRESETS))
    parser.add_argument("--write", type=Path, help="page whose tables are written anew")
    given = parser.parse_args(arguments)
    PLAYED.mkdir(parents=True, exist_ok=True)
    power: list[Gates] = []
    agents: list[Agent] = []
    with ProcessPoolExecutor(2) as pool:
        for market in given.markets:
            worse, drawing = sides_of(market)
            settings = [*dict.fromkeys(side.setting for side in worse)]
            trials = dict(zip(settings, pool.map(seeds_of, settings), strict=True))
            list(pool.map(rewards, [*map(Side, settings), *worse, *drawing]))
            power += filter(None, pool.map(of_deterioration, worse))
            power += filter(None, (of_lost_games(setting, kind) for setting in settings for kind in LOST))
            for start in range(0, len(drawing), PLAYS):
                side = drawing[start]
                plays = [rewards(play) for play in drawing[start : start + PLAYS]]
                agents.append(Agent(market, side.size, plays, [*trials[side.setting].values()]))
            print(market, "is played", flush=True)
    text = "\n".join([*power_table(power), "", *agree_table(agents)])
    print(text)
    if given.write is not None:
        page = given.write.read_text(encoding="utf-8")
        given.write.write_text(_TABLE.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page), encoding="utf-8")


if __name__ == "__main__":
    main()
