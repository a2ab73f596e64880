"""The account of a seat: what it lost against the best reference, and how much of that its findings explain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.modes.diagnosis import Finding, Seen
from tradefair.evaluation.modes.judged import Frame, findings_of, look
from tradefair.evaluation.modes.table import load_modes
from tradefair.evaluation.table import number_text

UNEXPLAINED = "unexplained_loss"


class Account(NamedTuple):
    """`best` and `own` are results in `unit`, higher is better; `best` is that of `reference` in the same seat.

    `prices` (replayed) and `costs` (told by the trace) are by id of finding; `direct` are the ids of which the cost is
    money that is gone.
    """

    unit: str
    reference: str
    best: float
    own: float
    prices: Mapping[str, float] = {}
    costs: Mapping[str, float] = {}
    direct: frozenset[str] = frozenset()

    @property
    def regret(self) -> float:
        """What the reference earned more; 0 where the seat earned as much."""
        return max(0.0, round(self.best - self.own, 9))

    @property
    def costliest(self) -> tuple[str, float]:
        """The finding that explains most, and how much; a cost beyond the regret explains the regret."""
        explains = {**{name: min(cost, self.regret) for name, cost in self.costs.items()}, **self.prices}
        return max(explains.items(), key=lambda item: item[1], default=("", 0.0))

    @property
    def others(self) -> float:
        """Direct costs of the other findings. They may be taken off: one fact is told by one finding."""
        return sum(cost for name, cost in self.costs.items() if name in self.direct and name != self.costliest[0])

    @property
    def left(self) -> float:
        """What no finding explains."""
        return max(0.0, round(self.regret - max(0.0, self.costliest[1]) - self.others, 9))

    def line(self) -> str:
        """The account in one line."""
        if not self.regret:
            return f"no regret: {self.reference} earns {number_text(self.best)} {self.unit} here"
        name, explained = self.costliest
        told = f"the costliest finding explains {number_text(explained)}" if name else "no finding explains any of it"
        # Their number is not printed: a line that adds costs of findings would be read as what went wrong "in all".
        direct = ", money lost by the others is taken off" if self.others else ""
        return (
            f"regret against {self.reference} {number_text(self.regret)}; {told}{direct}; left {number_text(self.left)}"
        )


def _unexplained_loss(account: Account) -> Seen:
    # Of a reference that earned nothing every regret is more than two hundredths.
    part = account.regret / abs(account.best) if account.best else float(bool(account.regret))
    parts = {"unexplained": ratio(account.left, account.regret), "regret": part}
    return Seen((), account.regret, parts=parts, note=account.line())


_CLOSING = load_modes("tradefair.evaluation.modes", {UNEXPLAINED: _unexplained_loss}, "closing.toml")


def closing(seat: SeatId, account: Account) -> Finding:
    """The finding `unexplained_loss` of a seat: raised where the findings explain less than half of a real regret."""
    words = {"left": number_text(account.left), "reference": account.reference}
    frame = Frame("", account.unit, {seat: ""}, {"": words})
    (finding,) = findings_of(look(_CLOSING, {seat: account}, frame), [(_CLOSING, frame)])
    return finding
