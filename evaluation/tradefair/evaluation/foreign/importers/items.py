"""What a reader is, with all that one needs: what it is given, and what it yields (`interchange.items`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tradefair.evaluation.foreign.importers.counting import ANSWERS as ANSWERS
from tradefair.evaluation.foreign.importers.counting import CALLS as CALLS
from tradefair.evaluation.foreign.importers.counting import LONG_ID as LONG_ID
from tradefair.evaluation.foreign.importers.counting import Counts as Counts
from tradefair.evaluation.foreign.importers.counting import Seen as Seen
from tradefair.evaluation.foreign.importers.counting import Spans as Spans
from tradefair.evaluation.foreign.importers.source import Head as Head
from tradefair.evaluation.foreign.importers.source import Source as Source
from tradefair.evaluation.foreign.interchange.items import EVERYBODY as EVERYBODY
from tradefair.evaluation.foreign.interchange.items import Answer as Answer
from tradefair.evaluation.foreign.interchange.items import Call as Call
from tradefair.evaluation.foreign.interchange.items import Fact as Fact
from tradefair.evaluation.foreign.interchange.items import Item as Item
from tradefair.evaluation.foreign.interchange.items import Odd as Odd
from tradefair.evaluation.foreign.interchange.items import Said as Said
from tradefair.evaluation.foreign.interchange.items import Tallied as Tallied

if TYPE_CHECKING:
    from tradefair.evaluation.foreign.importers.report import ImportReport


class Reader(NamedTuple):
    """One format. `sniff` gives 0 to 100: how sure it is that a file with this head is its own.

    `unit` is what `Tallied` counts. `joins`: a run may go on in another file of the same import (sub-agents, rotated
    logs), where its id is one that nobody else has (`LONG_ID`).
    """

    name: str
    title: str
    sniff: Callable[[Head], int]
    read: Callable[[Source], Iterator[Item]]
    version: int = 1
    unit: str = "lines"
    joins: bool = False
    counts: Counts | None = None
    """How calls are counted in its raw records, beside how it reads them; None: nothing is compared."""


class WholeReader(NamedTuple):
    """A kind of log that makes its traces itself: games that are re-executed, traces in another form.

    `take` gives the JSON of its report for the file, the trace that it wrote (None: none) and whether all was well.
    """

    name: str
    title: str
    sniff: Callable[[Head], int]
    take: Callable[[Path, Path], Taken]
    report: Callable[[Sequence[Path], Path], ImportReport] | None = None
    """For `import KIND PATH…`: the report of all files at once."""


class Taken(NamedTuple):
    """What a `WholeReader` made of one file; `findings` are what it could not use."""

    trace: str | None
    report: dict[str, Any] | None
    findings: Sequence[Odd]
