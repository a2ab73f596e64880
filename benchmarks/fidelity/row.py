"""One published figure beside ours, and what may be said about the two."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A figure of a source, and the same figure of ours.

    Numbers are written by `form`; text stands as it is (signs, ranges, "not published"). `low` and `high` are our 95 %
    interval, None where no chance enters. `within` is the relative tolerance that was agreed before, None where the
    interval decides. `command` makes our figure. `differs` says what differs and why; a row whose published figure
    lies outside must say it.
    """

    what: str
    published: float | str | None
    ours: float | str
    low: float | None
    high: float | None
    command: str
    form: str = ".2f"
    within: float | None = None
    differs: str = ""

    @property
    def meets(self) -> bool | None:
        """Whether ours is the published figure; None where the two are no numbers and are not the same text."""
        if isinstance(self.published, str) or isinstance(self.ours, str) or self.published is None:
            return True if self.published == self.ours else None
        if self.within is not None:
            return abs(self.ours - self.published) <= self.within * abs(self.published)
        if self.low is not None and self.high is not None:
            return self.low <= self.published <= self.high
        return format(self.ours, self.form) == format(self.published, self.form)

    @property
    def verdict(self) -> str:
        """What the last column says: that it is met, and by which measure, or what differs."""
        if self.meets is False and not self.differs:
            raise ValueError(f"{self.what}: {self.ours} for {self.published}, and nothing says what differs")
        if not self.meets:
            return self.differs
        bound = "in the interval" if self.within is None else f"within {self.within:.0%}".replace("%", " %")
        exact = self.within is None and self.low is None
        return f"{'equal' if exact else bound}{'; ' * bool(self.differs)}{self.differs}"

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text: figure, published, ours, interval, what differs."""
        ends = (self.low, self.high)
        interval = "–" if None in ends else " to ".join(self._text(end) for end in ends)
        return (self.what, self._text(self.published), self._text(self.ours), interval, self.verdict)

    def _text(self, value: float | str | None) -> str:
        return "–" if value is None else value if isinstance(value, str) else format(value, self.form)
