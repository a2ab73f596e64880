"""How thorough property tests are: the slow group tries more examples than the fast one; detectors fail loudly."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fast", max_examples=40, deadline=None)
settings.load_profile("fast")
# A typo in a detector is to fail a test instead of reading "cannot be computed"; tests of damaged traces take it away.
os.environ["TRADEFAIR_STRICT"] = "1"
