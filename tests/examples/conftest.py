"""Examples of several files are run from their folder, as a reader runs them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "dominicks"))
