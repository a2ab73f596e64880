"""`trace`: our own traces. A trace in JSONL is copied after its chain was checked; nothing is to be imported in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tradefair.contract.errors import TradefairError
from tradefair.evaluation.foreign.importers.items import Head, Odd, Taken, WholeReader
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.read.objects import mapping
from tradefair.files.folders import drafted
from tradefair.files.user_files import MAX_FILE, regular

_SQLITE = b"SQLite format 3\0"
# Above what a manifest may have, so that the first line is a value of the head.
_MANIFEST = frozenset({"about", "core"})


def sniff(head: Head) -> int:
    """Sure of a manifest as first line, and of a database."""
    return 100 if set(mapping(head.value)) >= _MANIFEST or head.raw.startswith(_SQLITE) else 0


def take(file: Path, out: Path) -> Taken:
    """Copy it if its chain holds; a damaged one is named and left."""
    check = verify_file(file, chain_only=True)
    if check.verdict != "intact":
        return Taken(None, None, [Odd(0, f"event {check.seq}" if check.seq else "", check.sentence)])
    target = out / file.name
    try:
        with regular(file, MAX_FILE) as source, drafted(target) as draft, draft.open("wb") as copy:
            # In pieces: a trace may be larger than memory.
            shutil.copyfileobj(source, copy, 1 << 20)
    except (OSError, TradefairError) as error:
        return Taken(None, None, [Odd(0, "", f"cannot be copied: {error}")])
    return Taken(str(target), None, [])


READER = WholeReader("trace", "our own traces, copied", sniff, take)
